//! An index of the text files below one directory. It tells a search which files cannot have a match.
//!
//! The index holds for each file its [`Stamp`] and, for each sequence of three bytes, the files that contain it. A
//! [`Plan`] is a condition on these sequences that every match of a pattern meets. A search leaves a file out only if
//! the condition fails *and* the file still has the stamp of the index. All other files are searched as without an
//! index, so an index changes the time of a search and never its result.
//!
//! The crate neither walks directories nor opens files of the project: its caller does both. It reads and writes only
//! the files of the index, in a directory that the caller chooses.

mod batch;
mod bits;
mod index;
mod merge;
mod plan;
mod segment;
mod stamp;
mod trigram;
mod update;
mod varint;
mod writer;

pub use index::{Index, Scope, Selection, Verdict};
pub use plan::Plan;
pub use stamp::Stamp;
pub use update::{Content, FILES_MAX, Files, Reading, TEXT_BYTES_MAX, Updated, update};
