//! Splits a command line into simple commands for approval rules, if it can be understood.
//!
//! The splitter follows the grammar of bash and gives up early: a construct that it does not know makes the line opaque.
//! On Windows, where `cmd.exe` runs commands, a line that both shells read differently is opaque, too.

/// The simple commands of a command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Commands<'a> {
    pub(super) commands: Vec<&'a str>,
    /// Whether the line does more than run these commands one by one: it redirects to a file, groups commands, or has a
    /// comment.
    pub(super) is_complex: bool,
}

/// Returns the simple commands of a line that does nothing but run them. Returns `None` if the line hides commands or
/// writes files itself: by a substitution, a subshell, a here-document, or a redirection to a file. No rule with a pattern
/// allows such a line.
#[must_use]
pub fn split(line: &str) -> Option<Vec<&str>> {
    let commands = read(line).filter(|commands| !commands.is_complex)?.commands;
    (!commands.iter().any(|command| evaluates(command))).then_some(commands)
}

/// Returns the simple commands of a line. Returns `None` if the line may run commands that are not in its text.
pub(super) fn read(line: &str) -> Option<Commands<'_>> {
    if cfg!(windows) && differs_in_cmd(line) {
        return None;
    }
    let bytes = line.as_bytes();
    let mut found = Commands::default();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let end = at + 1;
        match bytes[at] {
            b'\\' => at += 2,
            b'\'' => at = end + line.get(end..)?.find('\'')? + 1,
            b'"' => at = quoted_end(bytes, end)?,
            b'`' => return None,
            b'}' if at > 0 && !bytes[at - 1].is_ascii_whitespace() && !is_separator(bytes[at - 1]) => return None,
            b'$' if matches!(bytes.get(end), Some(b'\'' | b'"' | b'(' | b'[' | b'{')) => return None,
            b'(' if matches!(bytes.get(end), Some(b'(')) => return None,
            b'{' if !bytes.get(end).is_some_and(u8::is_ascii_whitespace) => return None,
            b'<' if matches!(bytes.get(end), Some(b'<' | b'(')) => return None,
            b'>' if matches!(bytes.get(end), Some(b'(')) => return None,
            b'#' if at == 0 || bytes[at - 1].is_ascii_whitespace() || is_separator(bytes[at - 1]) => {
                found.commands.push(&line[start..at]);
                found.is_complex = true;
                at = line[at..].find('\n').map_or(line.len(), |length| at + length);
                start = at;
            }
            b'<' => (found.is_complex, at) = (true, operator_end(bytes, end)),
            b'>' => match redirection_end(line, end) {
                Some(harmless) => at = harmless,
                None => (found.is_complex, at) = (true, operator_end(bytes, end)),
            },
            b'&' if bytes.get(end) == Some(&b'>') => match redirection_end(line, end + 1) {
                Some(harmless) => at = harmless,
                None => (found.is_complex, at) = (true, end + 1),
            },
            b'(' | b')' | b'{' | b'}' => {
                found.commands.push(&line[start..at]);
                found.is_complex = true;
                (start, at) = (end, end);
            }
            byte if is_separator(byte) => {
                found.commands.push(&line[start..at]);
                (start, at) = (end, end);
            }
            _ => at = end,
        }
    }
    found.commands.push(line.get(start..)?);
    found.commands = found.commands.into_iter().map(str::trim).filter(|command| !command.is_empty()).collect();
    Some(found)
}

/// Returns whether `cmd.exe` may find other commands in a line than bash: for `cmd.exe`, single quotes and backslashes
/// quote nothing, `^` quotes, `%NAME%` is replaced first, and a second line does not run.
pub(super) fn differs_in_cmd(line: &str) -> bool {
    let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '*');
    line.contains(['\'', '^', '%', '\n', '\r'])
        || line.match_indices('\\').any(|(at, _)| !line[at + 1..].starts_with(is_plain))
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b';' | b'\n' | b'&' | b'|')
}

/// Returns the end of the double-quoted text that starts at `at`, if the quotes contain no substitution. `$NAME` and
/// `${NAME}` insert a value and run nothing.
fn quoted_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            b'`' => return None,
            b'$' if matches!(bytes.get(at + 1), Some(b'(' | b'[')) => return None,
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
                at += 2 + bytes[at + 2..].iter().take_while(is_name).count();
                if bytes.get(at) != Some(&b'}') {
                    return None;
                }
            }
            _ => at += 1,
        }
    }
}

/// Returns the end of a redirection's operator, such as `>|` or `<&`. `at` is in it.
fn operator_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| matches!(byte, b'<' | b'>' | b'&' | b'|')).count()
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

/// Builtins of bash that evaluate their arguments once more.
const EVALUATING: &str = ". [[ alias bind builtin command compgen complete declare eval export let local mapfile read \
                          readarray readonly source trap typeset unset wait";

/// Returns whether a list of words has this one. A list in one text needs less space in the module than an array.
pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Returns whether a simple command may run code that its quotes hide, such as `printf -v 'a[$(code)]' x`.
fn evaluates(command: &str) -> bool {
    if !command.contains(['$', '`', '[']) {
        return false;
    }
    let mut words = words(command).into_iter().map(unquoted).skip_while(|word| is_assignment(word));
    let Some(name) = words.next() else { return command.contains(['$', '`', '[']) };
    is_listed(EVALUATING, &name)
        || is_listed("printf test [", &name) && words.any(|word| word.starts_with("-v") || word == "-R")
}

/// Returns the words of a simple command as written, with their quotes and without redirections.
pub(super) fn words(command: &str) -> Vec<&str> {
    let bytes = command.as_bytes();
    let (mut found, mut start, mut at, mut quote, mut is_target) = (Vec::new(), 0, 0, 0, false);
    while at <= bytes.len() {
        let byte = bytes.get(at).copied().unwrap_or(b'\n');
        let redirects = matches!(byte, b'<' | b'>') && quote == 0;
        if redirects || at >= bytes.len() || byte.is_ascii_whitespace() && quote == 0 {
            let word = command.get(start..at).unwrap_or_default();
            let is_stream = redirects && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'&');
            if !is_stream && !word.is_empty() && !std::mem::take(&mut is_target) {
                found.push(word.strip_suffix('&').filter(|_| redirects).unwrap_or(word));
            }
            at = if redirects { operator_end(bytes, at) } else { at + 1 };
            is_target |= redirects;
            start = at;
            continue;
        }
        match byte {
            b'\\' if quote != b'\'' && at + 1 < bytes.len() => at += 1,
            byte if byte == quote => quote = 0,
            byte @ (b'\'' | b'"') if quote == 0 => quote = byte,
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns a word without its quotes and backslashes.
pub(super) fn unquoted(word: &str) -> String {
    word.replace("\\\n", "").replace(['\'', '"', '\\'], "")
}

/// Returns whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}
