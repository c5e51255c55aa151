//! The content hash that identifies one state of a file: SHA-256 over its bytes.
//!
//! Read tools report it, writes pass it back, and a write whose hash no longer matches is rejected. The caller knows
//! to which file a hash belongs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error_code::ErrorCode;

/// The SHA-256 of a file's bytes.
///
/// It is written as `sha256:` and 64 lower-case hexadecimal digits. Parsing accepts this form and the digits alone, in
/// upper or lower case, because models copy hashes in both forms.
///
/// ```
/// use emend_edit::ContentHash;
/// let hash = ContentHash::of(b"hello world");
/// assert_eq!(hash.hex(), "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9");
/// assert_eq!(hash.hex().parse(), Ok(hash));
/// assert_eq!(hash.to_string().parse(), Ok(hash));
/// assert_eq!(ContentHash::from_bytes(hash.to_bytes()), hash);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ContentHash([u8; 32]);

/// Parsing a content hash failed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{text}` is not a SHA-256 hash: expected 64 hexadecimal digits, with or without `sha256:` before them")]
pub struct ParseHashError {
    /// The text that was parsed.
    pub text: String,
}

impl ParseHashError {
    /// Returns the stable code, [`ErrorCode::InvalidArgument`].
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::InvalidArgument
    }
}

impl ContentHash {
    /// The hash of the empty content, used as the base of a file that does not exist yet.
    pub const EMPTY: Self = Self([
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae,
        0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
    ]);

    /// Returns the hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the hash of the bytes that `state` has read.
    pub(super) fn of_state(state: Sha256) -> Self {
        Self(state.finalize().into())
    }

    /// Returns the hash with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the hash.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// Returns the 64 hexadecimal digits, without `sha256:`.
    #[must_use]
    pub fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({})", self.hex())
    }
}

impl FromStr for ContentHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, ParseHashError> {
        let error = || ParseHashError { text: text.to_owned() };
        let trimmed = text.trim();
        let digits = match trimmed.split_at_checked(7) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case("sha256:") => rest,
            _ => trimmed,
        };
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return Err(error());
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let value = |digit: u8| char::from(digit).to_digit(16).ok_or_else(error);
            *byte = u8::try_from(value(pair[0])? * 16 + value(pair[1])?).map_err(|_| error())?;
        }
        Ok(Self(bytes))
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for ContentHash {
    type Error = ParseHashError;

    fn try_from(text: String) -> Result<Self, ParseHashError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn both_written_forms_are_parsed() {
        let hash = ContentHash::of(b"123");
        let hex = "a665a45920422f9d417e4867efdc4fb8a04a1f3fff1fa07e998e86f7f7a27ae3";
        assert_eq!(hash.hex(), hex);
        assert_eq!(hash.to_string(), format!("sha256:{hex}"));
        for text in [hex.to_owned(), hash.to_string(), hex.to_uppercase(), format!(" SHA256:{hex}\n")] {
            assert_eq!(text.parse(), Ok(hash), "{text:?}");
        }
        assert_eq!(ContentHash::of(b""), ContentHash::EMPTY);
    }

    #[test]
    fn other_texts_are_rejected() {
        let hex = ContentHash::EMPTY.hex();
        for text in ["", "sha256:", "sha1:", &hex[1..], &format!("{hex}0"), &hex.replace('e', "g"), &"é".repeat(32)] {
            assert_eq!(text.parse::<ContentHash>(), Err(ParseHashError { text: text.to_owned() }));
        }
    }

    #[test]
    fn serialises_as_its_written_form() {
        let json = serde_json::to_string(&ContentHash::EMPTY).unwrap();
        assert_eq!(json, format!("\"sha256:{}\"", ContentHash::EMPTY.hex()));
        assert_eq!(serde_json::from_str::<ContentHash>(&json).unwrap(), ContentHash::EMPTY);
    }
}
