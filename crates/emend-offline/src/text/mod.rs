//! Texts of files: finding occurrences, putting a file together from its pages, edits that fit one place.

pub(crate) mod file_reader;
pub(crate) mod needle;
pub(crate) mod unique_edit;
