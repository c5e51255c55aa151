//! File bytes as UTF-8 text, and the byte-order mark.

use crate::error_code::ErrorCode;

/// Why bytes cannot be decoded as text.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes contain a NUL, which only binary files do.
    #[error("the file is binary (a NUL byte at offset {offset}); only UTF-8 text can be edited")]
    Binary {
        /// Offset of the first NUL, from 0.
        offset: usize,
    },
    /// The bytes are not UTF-8. They may be text in another encoding.
    #[error("the file is not UTF-8 (invalid byte at offset {offset}); convert it to UTF-8 before editing")]
    InvalidUtf8 {
        /// Offset of the first invalid byte, from 0.
        offset: usize,
    },
}

impl DecodeError {
    /// Returns the stable code, [`ErrorCode::Unsupported`].
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::Unsupported
    }
}

/// Decodes the bytes of a file as UTF-8.
///
/// A byte-order mark stays in the text as U+FEFF, so that encoding the text gives the same bytes.
///
/// # Errors
/// Fails on a NUL byte, which marks a binary file, and on bytes that are not UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, DecodeError> {
    if let Some(offset) = memchr::memchr(0, bytes) {
        return Err(DecodeError::Binary { offset });
    }
    std::str::from_utf8(bytes).map_err(|error| DecodeError::InvalidUtf8 { offset: error.valid_up_to() })
}

/// Decodes the bytes of a file as [`decode`] does, without copying them.
///
/// # Errors
/// As [`decode`].
pub fn decode_owned(bytes: Vec<u8>) -> Result<String, DecodeError> {
    if let Some(offset) = memchr::memchr(0, &bytes) {
        return Err(DecodeError::Binary { offset });
    }
    String::from_utf8(bytes).map_err(|error| DecodeError::InvalidUtf8 { offset: error.utf8_error().valid_up_to() })
}

/// The byte-order mark, which some editors write before the first line.
pub const BOM: char = '\u{feff}';

/// Splits `text` into its byte-order mark, empty if there is none, and the rest.
#[must_use]
pub fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn only_utf8_text_is_read() {
        assert_eq!(decode("\u{feff}é\r\n".as_bytes()), Ok("\u{feff}é\r\n"));
        assert_eq!(decode(b"ab\0\xff"), Err(DecodeError::Binary { offset: 2 }));
        assert_eq!(decode(b"caf\xe9"), Err(DecodeError::InvalidUtf8 { offset: 3 }));
        for bytes in ["\u{feff}é\r\n".as_bytes(), b"", b"ab\0\xff", b"caf\xe9"] {
            assert_eq!(decode_owned(bytes.to_vec()), decode(bytes).map(str::to_owned));
        }
    }
}
