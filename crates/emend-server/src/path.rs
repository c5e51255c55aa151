//! Decoding of paths.

/// Decodes the segments of a path. A decoded slash or control character would give the path another meaning.
pub(crate) fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (hex, after) = rest.split_at_checked(2)?;
        let value = u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
        if value == b'/' || value == b'\\' || value.is_ascii_control() {
            return None;
        }
        bytes.push(value);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_unless_they_change_the_structure() {
        let table = [
            ("/a/b", Some("/a/b")),
            ("/a%20b/%C3%A4", Some("/a b/\u{e4}")),
            ("/a%2fb", None),
            ("/a%5cb", None),
            ("/a%00", None),
            ("/a%0a", None),
            ("/a%", None),
            ("/a%4", None),
            ("/a%zz", None),
            ("/%ff", None),
        ];
        for (path, expected) in table {
            assert_eq!(decoded(path).as_deref(), expected, "{path}");
        }
    }
}
