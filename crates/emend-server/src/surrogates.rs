//! Lone surrogates in JSON. A text of JavaScript may hold half a character, which JSON can escape and Rust cannot hold.

/// The escape of U+FFFD, the replacement character.
const REPLACEMENT: &[u8] = b"\\ufffd";

/// Returns `json` with each escape of a lone surrogate replaced by that of U+FFFD; `None` if there is none.
pub(crate) fn without_lone_surrogates(json: &[u8]) -> Option<Vec<u8>> {
    let (mut replaced, mut n_done, mut at) = (Vec::new(), 0, 0);
    while let Some(offset) = json[at..].iter().position(|byte| *byte == b'\\') {
        at += offset;
        let end = match (unit_at(json, at), unit_at(json, at + REPLACEMENT.len())) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at + 2 * REPLACEMENT.len(),
            (Some(0xd800..=0xdfff), _) => {
                replaced.extend_from_slice(&json[n_done..at]);
                replaced.extend_from_slice(REPLACEMENT);
                n_done = at + REPLACEMENT.len();
                n_done
            }
            // A backslash escapes the next character, perhaps another backslash.
            _ => at + 2,
        };
        at = end.min(json.len());
    }
    if n_done == 0 {
        return None;
    }
    replaced.extend_from_slice(&json[n_done..]);
    Some(replaced)
}

/// Returns the UTF-16 unit that is escaped at `at`, if there is such an escape.
fn unit_at(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + REPLACEMENT.len())?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::without_lone_surrogates;

    #[test]
    fn escapes_of_lone_surrogates_become_the_replacement_character() {
        for (json, expected) in [
            (r#""\ud800x""#, Some("\u{fffd}x")),
            (r#""x\uDC00""#, Some("x\u{fffd}")),
            (r#""\ud83d\ud83d\ude00""#, Some("\u{fffd}😀")),
            (r#""\ude00\ud83d""#, Some("\u{fffd}\u{fffd}")),
            (r#""\ud83d\u0041""#, Some("\u{fffd}A")),
            (r#""\ud83d\\ude00""#, Some("\u{fffd}\\ude00")),
            (r#""\\ud800""#, None),
            (r#""\ud83d\ude00 é \n""#, None),
            (r#""\ud8"#, None),
            (r#""\u+d80""#, None),
            ("\\", None),
            ("", None),
        ] {
            let replaced = without_lone_surrogates(json.as_bytes());
            let text = replaced.map(|json| serde_json::from_slice::<String>(&json).unwrap());
            assert_eq!(text.as_deref(), expected, "{json}");
        }
    }
}
