//! Texts of files: occurrences, files read in pages, edits that match only one place.

pub(crate) mod file_reader;
pub(crate) mod needle;
pub(crate) mod unique_edit;
