//! Turns the bytes of a Unix terminal into keys.

use crate::chat::line_edit::Key;

/// The byte of Ctrl-D.
pub(super) const END_OF_INPUT: u8 = 0x04;

const ESCAPE: u8 = 0x1b;

/// Parses bytes as they come.
#[derive(Debug, Default)]
pub(super) struct KeyParser {
    /// Bytes of an incomplete character or escape sequence.
    pending: Vec<u8>,
    /// Whether the bytes are inside a bracketed paste, where a line break is part of the text.
    is_pasting: bool,
}

impl KeyParser {
    /// Returns the keys that `bytes`, the result of one read, complete.
    pub(super) fn parse(&mut self, bytes: &[u8]) -> Vec<Key> {
        if bytes == [ESCAPE] && self.pending.is_empty() {
            // A terminal sends an escape sequence at once, so this is the key.
            return vec![Key::Escape];
        }
        bytes.iter().filter_map(|byte| self.parse_byte(*byte)).collect()
    }

    fn parse_byte(&mut self, byte: u8) -> Option<Key> {
        if !self.pending.is_empty() || matches!(byte, ESCAPE | 0x80..) {
            self.pending.push(byte);
            return self.parse_pending();
        }
        Some(match byte {
            b'\r' | b'\n' if self.is_pasting => Key::Char('\n'),
            b'\r' | b'\n' => Key::Enter,
            0x08 | 0x7f => Key::Backspace,
            0x03 => Key::Interrupt,
            END_OF_INPUT => Key::EndOfInput,
            0x15 => Key::DeleteLine,
            0x17 => Key::DeleteWord,
            byte if byte == b'\t' || byte >= b' ' => Key::Char(char::from(byte)),
            _ => return None,
        })
    }

    /// Clears the pending bytes if they are complete or invalid. Only the marks of a paste have a meaning among the
    /// escape sequences.
    fn parse_pending(&mut self) -> Option<Key> {
        let key = match self.pending.as_slice() {
            [ESCAPE] | [ESCAPE, b'[' | b'O'] => return None,
            [ESCAPE, b'[', .., last] if !(0x40..=0x7e).contains(last) => return None,
            [ESCAPE, ..] => {
                match self.pending.as_slice() {
                    b"\x1b[200~" => self.is_pasting = true,
                    b"\x1b[201~" => self.is_pasting = false,
                    _ => {}
                }
                None
            }
            bytes => match std::str::from_utf8(bytes) {
                Ok(text) => text.chars().next().map(Key::Char),
                Err(error) if error.error_len().is_none() => return None,
                Err(_) => None,
            },
        };
        self.pending.clear();
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::line_edit::{KeyAction, LineEdit};

    fn typed(pieces: &[&[u8]]) -> (Vec<KeyAction>, LineEdit) {
        let (mut parser, mut edit) = (KeyParser::default(), LineEdit::default());
        let keys: Vec<Key> = pieces.iter().flat_map(|piece| parser.parse(piece)).collect();
        (keys.into_iter().filter_map(|key| edit.press(key)).collect(), edit)
    }

    #[test]
    fn keys_make_lines() {
        #[track_caller]
        fn check(pieces: &[&[u8]], lines: &[&str], left: &str) {
            let (actions, edit) = typed(pieces);
            assert_eq!(actions, lines.iter().map(|line| KeyAction::Enter((*line).to_owned())).collect::<Vec<_>>());
            assert_eq!(edit.text(), left);
        }
        check(&[b"ab", b"c\n", b"d"], &["abc"], "d");
        check(&[b"abc\x7f\x7fx\r"], &["ax"], "");
        check(&[b"one two\x17three\n"], &["one three"], "");
        check(&[b"gone\x15here\n\n  \n"], &["here"], "");
        check(&["ä€".as_bytes(), "ö".as_bytes()], &[], "ä€ö");
        check(&[&[0xe2], &[0x82], &[0xac, b'x']], &[], "€x");
        check(&[b"a\x1b[Ab\x1b[1;5Cc\x1bOPd"], &[], "abcd");
        check(&[b"\x1b[200~one\ntwo\x1b[201~\n"], &["one\ntwo"], "");
    }

    #[test]
    fn esc_alone_stops() {
        assert_eq!(typed(&[b"\x1b"]).0, [KeyAction::Stop]);
        assert_eq!(typed(&[b"\x1b[A"]).0, []);
        assert_eq!(typed(&[b"\x04"]).0, [KeyAction::EndOfInput]);
        assert_eq!(typed(&[b"a\x04"]).0, []);
    }
}
