//! The text that models put around a patch: code fences, here-documents, JSON. It is removed with a note.
//!
//! [`super::parser`] parses the patch inside.

use crate::patch::model::Diagnostic;

/// The wrappings that were opened before the patch and may be closed after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    /// The backticks of an open code fence.
    fence: Option<String>,
    /// The last line of an open here-document.
    heredoc: Option<String>,
}

impl Envelope {
    /// Records `line`, trimmed, if it opens a wrapping, and returns a note about it.
    pub(crate) fn opens(&mut self, line: &str) -> Option<Diagnostic> {
        let note = |code, message: &str| Some(Diagnostic { code, message: message.to_owned(), line: None });
        if self.fence.is_none() && line.starts_with("```") {
            let fence: String = line.chars().take_while(|&c| c == '`').collect();
            if line[fence.len()..].contains('`') {
                return None;
            }
            self.fence = Some(fence);
            return note("fenced", "send the patch without a Markdown code fence around it");
        }
        if self.heredoc.is_none() {
            self.heredoc = Some(heredoc_tag(line)?.to_owned());
            return note("heredoc", "send the patch itself, not a shell command or here-document around it");
        }
        None
    }

    /// Returns whether `line` closes an open wrapping.
    pub(crate) fn closes(&mut self, line: &str) -> bool {
        let line = line.trim();
        if self.heredoc.as_deref() == Some(line) {
            self.heredoc = None;
            return true;
        }
        if self.fence.as_deref() == Some(line) {
            self.fence = None;
            return true;
        }
        false
    }
}

/// Returns the tag of `<<TAG`, `<<'TAG'` or `<<"TAG"`, with or without the command `apply_patch` before it.
fn heredoc_tag(line: &str) -> Option<&str> {
    let rest = ["apply_patch", "applypatch"].iter().find_map(|command| line.strip_prefix(command)).unwrap_or(line);
    let tag = rest.trim_start().strip_prefix("<<")?.trim();
    let bare = match tag.chars().next()? {
        quote @ ('\'' | '"') => tag.strip_prefix(quote)?.strip_suffix(quote)?,
        _ => tag,
    };
    let is_word = !bare.is_empty() && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word.then_some(bare)
}

/// Returns whether `line` is a hunk header of a unified diff, as in `@@ -1,3 +1,4 @@`.
pub(crate) fn is_unified_header(line: &str) -> bool {
    let is_range = |word: &str, sign: char| {
        word.strip_prefix(sign).is_some_and(|range| {
            let mut numbers = range.splitn(2, ',');
            numbers.all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    let mut words = line.split_whitespace();
    words.next() == Some("@@")
        && words.next().is_some_and(|word| is_range(word, '-'))
        && words.next().is_some_and(|word| is_range(word, '+'))
        && words.next() == Some("@@")
}

/// Returns the first string of a JSON text that starts as a patch does.
///
/// The JSON may be incomplete, but that string must be complete, so a patch that was cut off is not returned.
pub(crate) fn patch_in_json(json: &str) -> Option<String> {
    let mut rest = json;
    while let Some(at) = memchr::memchr(b'"', rest.as_bytes()) {
        let (string, after) = json_string(&rest[at + 1..])?;
        if string.trim_start().starts_with("*** Begin Patch") {
            return Some(string);
        }
        rest = after;
    }
    None
}

/// Decodes a JSON string whose opening quote was read. Also returns the text after its closing quote.
///
/// Control characters are accepted unescaped, because models write line breaks into strings.
fn json_string(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut rest = text;
    loop {
        let at = memchr::memchr2(b'"', b'\\', rest.as_bytes())?;
        out.push_str(&rest[..at]);
        if rest.as_bytes()[at] == b'"' {
            return Some((out, &rest[at + 1..]));
        }
        let escape = rest[at + 1..].chars().next()?;
        rest = &rest[at + 1 + escape.len_utf8()..];
        match escape {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '"' | '\\' | '/' => out.push(escape),
            'u' => {
                let (c, after) = unicode_escape(rest)?;
                out.push(c);
                rest = after;
            }
            _ => return None,
        }
    }
}

/// Decodes the digits after `\u`, and a second escape if they are the first half of a surrogate pair.
fn unicode_escape(text: &str) -> Option<(char, &str)> {
    let unit = |text: &str| text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let high = unit(text)?;
    let rest = &text[4..];
    if let Some(c) = char::from_u32(u32::from(high)) {
        return Some((c, rest));
    }
    let low = unit(rest.strip_prefix("\\u")?)?;
    let c = char::decode_utf16([high, low]).next()?.ok()?;
    Some((c, &rest[6..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn tags_of_here_documents() {
        for (line, tag) in [
            ("<<EOF", Some("EOF")),
            ("<<'EOF'", Some("EOF")),
            ("apply_patch <<\"PATCH_1\"", Some("PATCH_1")),
            ("<<'EOF\"", None),
            ("<< ", None),
            ("cat <<EOF", None),
            ("<<a b", None),
        ] {
            assert_eq!(heredoc_tag(line), tag, "{line}");
        }
    }

    #[test]
    fn strings_in_json_are_decoded() {
        let found = |json| patch_in_json(json);
        assert_eq!(
            found(r#"{"command":["apply_patch","*** Begin Patch\n+\"\u00e9\ud83d\ude00\\\n"]}"#).as_deref(),
            Some("*** Begin Patch\n+\"é😀\\\n")
        );
        assert_eq!(found(r#"{"input":"*** Begin Patch\n+cut"#), None);
        assert_eq!(found(r#""*** Begin Patch\ud83d""#), None);
        assert_eq!(found(r#""*** Begin Patch\x""#), None);
        assert_eq!(found(r#"{"a":"b"}"#), None);
    }

    #[test]
    fn headers_of_unified_hunks() {
        assert!(is_unified_header("@@ -1,3 +1,4 @@") && is_unified_header("@@ -1 +1 @@ fn main()"));
        assert!(
            !is_unified_header("@@ fn main()") && !is_unified_header("@@ -a +b @@") && !is_unified_header("@@ -1,3")
        );
    }
}
