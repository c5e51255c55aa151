//! Splits a command line into simple commands for approval rules, if it can be understood.

/// Returns the simple commands of a line. Returns `None` if the line hides commands or writes files itself: by a
/// substitution, a subshell, a here-document, or a redirection to a file.
pub(super) fn split(line: &str) -> Option<Vec<&str>> {
    let bytes = line.as_bytes();
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let end = at + 1;
        match bytes[at] {
            b'\\' => at += 2,
            b'\'' => at = end + line.get(end..)?.find('\'')? + 1,
            b'"' => at = quoted_end(bytes, end)?,
            b'`' | b'(' | b')' | b'<' | b'{' | b'}' | b'#' => return None,
            b'$' if matches!(bytes.get(end), Some(b'\'' | b'"')) => return None,
            b'>' => at = redirection_end(line, end)?,
            b'&' if bytes.get(end) == Some(&b'>') => at = redirection_end(line, end + 1)?,
            b';' | b'\n' | b'&' | b'|' => {
                parts.push(&line[start..at]);
                (start, at) = (end, end);
            }
            _ => at = end,
        }
    }
    parts.push(line.get(start..)?);
    Some(parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect())
}

/// Returns the end of the double-quoted text that starts at `at`, if the quotes contain no substitution.
fn quoted_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            b'`' => return None,
            b'$' if bytes.get(at + 1) == Some(&b'(') => return None,
            _ => at += 1,
        }
    }
}

/// Returns the end of a harmless redirection whose target starts at `at`.
fn redirection_end(line: &str, at: usize) -> Option<usize> {
    let rest = line.get(at..)?;
    let target = rest.trim_start_matches(' ');
    let known = ["&1", "&2", "/dev/null"].into_iter().find(|known| target.starts_with(known))?;
    let after = &target[known.len()..];
    let is_whole = after.is_empty() || after.starts_with([' ', '\n', ';', '|', '&', ')']);
    is_whole.then(|| line.len() - after.len())
}

/// Returns whether `pattern` matches the whole of `text`: `*` matches any characters, `?` one character. A pattern that
/// ends in ` *` also matches the text without arguments.
pub(super) fn covers(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix(" *").is_some_and(|bare| matches(bare, text)) || matches(pattern, text)
}

/// Returns whether `pattern` matches a part of `text` that starts at a word.
pub(super) fn occurs(pattern: &str, text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let starts = |at: &usize| *at == 0 || !is_inner(text.as_bytes()[at - 1]);
    let open = format!("{pattern}*");
    let bare = pattern.strip_suffix(" *");
    let mut places = text.char_indices().map(|(at, _)| at).filter(starts);
    places.any(|at| matches(&open, &text[at..]) || bare.is_some_and(|bare| begins(bare, &text[at..])))
}

/// Returns whether `pattern` matches the start of `text` up to the end of a word.
fn begins(pattern: &str, text: &str) -> bool {
    let ends = text.match_indices(|char: char| !char.is_alphanumeric() && !matches!(char, '-' | '_' | '.'));
    ends.map(|(at, _)| at).chain([text.len()]).any(|end| matches(pattern, &text[..end]))
}

fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, bytes) = (pattern.as_bytes(), text.as_bytes());
    let after_char = |at: usize| (at + 1..=bytes.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(bytes.len());
    let (mut at, mut in_text, mut star) = (0, 0, None);
    while in_text < bytes.len() {
        match pattern.get(at) {
            Some(b'*') if at + 1 == pattern.len() => return true,
            Some(b'*') => {
                star = Some((at, in_text));
                at += 1;
            }
            Some(b'?') => (at, in_text) = (at + 1, after_char(in_text)),
            Some(byte) if *byte == bytes[in_text] => (at, in_text) = (at + 1, in_text + 1),
            // The last star matches one more character.
            _ => match star {
                Some((star_at, from)) => {
                    let from = after_char(from);
                    star = Some((star_at, from));
                    (at, in_text) = (star_at + 1, from);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}
