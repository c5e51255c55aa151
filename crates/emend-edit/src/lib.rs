//! Text in, text out: patch formats, diff and hunks, the line log, truncation.
//!
//! Nothing here waits, reads a file, tells the time or knows JSON; callers bring texts and take texts away.
#![forbid(unsafe_code)]

pub mod diff;
pub mod edit;
mod fingerprint;
pub mod hash;
pub mod hunk;
pub mod lines;
pub mod log;
pub mod merge;
pub mod mismatch;
pub mod nearest;
pub mod order;
mod place;
pub mod plan;
pub mod replace;
mod splice;
pub mod stretches;
mod table;
#[cfg(test)]
mod test_support;
pub mod text;
pub mod truncate;
pub mod unified;
pub mod v4a;
pub mod words;
