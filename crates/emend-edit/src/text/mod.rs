//! Texts: decoding bytes, splitting lines, hashing contents and lines.

mod decode;
mod hash;
mod hash_trail;
pub(crate) mod line_hash;
mod lines;
pub mod truncate;

pub use decode::{BOM, DecodeError, decode, decode_owned, split_bom};
pub use hash::{ContentHash, ParseHashError};
pub use hash_trail::HashTrail;
pub(crate) use lines::{LineCounter, line_ends, same_bytes, start_of_line, starts_with};
pub use lines::{LineIndex, first_eol, lines, split_eol, split_lines};
