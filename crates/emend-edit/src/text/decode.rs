//! File bytes as UTF-8 text, and the byte-order mark.

use crate::error_code::ErrorCode;

/// Bytes that are no text this crate edits.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes hold a NUL, as only binary files do.
    #[error("the file is binary (a NUL byte at offset {offset}); only UTF-8 text can be edited")]
    Binary {
        /// Where the first NUL is, from 0.
        offset: usize,
    },
    /// The bytes are not UTF-8, though they may well be text in another encoding.
    #[error("the file is not UTF-8 (invalid byte at offset {offset}); convert it before editing")]
    InvalidUtf8 {
        /// Where the first invalid byte is, from 0.
        offset: usize,
    },
}

impl DecodeError {
    /// Returns the code that callers branch on.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::Unsupported
    }
}

/// Reads the bytes of a file as text.
///
/// A byte-order mark stays in the text as U+FEFF, so that the text's bytes are the file's bytes.
///
/// # Errors
/// Fails on a NUL byte (binary) and on anything that is not UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, DecodeError> {
    if let Some(offset) = memchr::memchr(0, bytes) {
        return Err(DecodeError::Binary { offset });
    }
    std::str::from_utf8(bytes).map_err(|error| DecodeError::InvalidUtf8 { offset: error.valid_up_to() })
}

/// The byte-order mark, which some editors write before the first line.
pub const BOM: char = '\u{feff}';

/// Splits `text` into its byte-order mark, which may be empty, and the rest.
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
    }
}
