//! What one session has seen of each file: the version counter and which lines at which hash (DESIGN §4.1).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use emend_edit::hash::ContentHash;

use crate::env::FilePath;

/// A session's view of the files. The counter starts at 0 and grows by one with every read or write.
#[derive(Debug, Default)]
pub struct Seen {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    version: u64,
    files: BTreeMap<FilePath, SeenFile>,
}

#[derive(Debug)]
struct SeenFile {
    hash: ContentHash,
    // Half-open ranges of lines, from 0, sorted and disjoint.
    ranges: Vec<(usize, usize)>,
}

impl Seen {
    /// Notes that lines `from..to` (from 0) of a text with this hash were shown, and returns the new version.
    pub fn note(&self, path: &FilePath, hash: ContentHash, from: usize, to: usize) -> u64 {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let file = inner.files.entry(path.clone()).or_insert_with(|| SeenFile { hash, ranges: Vec::new() });
        if file.hash != hash {
            // What was seen of another text says nothing about this one.
            *file = SeenFile { hash, ranges: Vec::new() };
        }
        let at = file.ranges.partition_point(|&range| range < (from, to));
        file.ranges.insert(at, (from, to));
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(file.ranges.len());
        for &(from, to) in &file.ranges {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        file.ranges = merged;
        inner.version += 1;
        inner.version
    }

    /// Returns whether this session has seen all `n_lines` of the text with this hash.
    #[must_use]
    pub fn has_all(&self, path: &FilePath, hash: ContentHash, n_lines: usize) -> bool {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.files.get(path).is_some_and(|file| {
            file.hash == hash
                && (n_lines == 0 || file.ranges.first().is_some_and(|&(from, to)| from == 0 && to >= n_lines))
        })
    }

    /// Returns whether this session has seen any text of the file.
    #[must_use]
    pub fn has_any(&self, path: &FilePath) -> bool {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).files.contains_key(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn versions_count_and_ranges_join() {
        let seen = Seen::default();
        let path = FilePath::clean("a").unwrap();
        let (old, new) = (ContentHash::of(b"old"), ContentHash::of(b"new"));
        assert_eq!(seen.note(&path, old, 0, 10), 1);
        assert!(!seen.has_all(&path, old, 20));
        assert_eq!(seen.note(&path, old, 10, 20), 2);
        assert!(seen.has_all(&path, old, 20));
        assert!(!seen.has_all(&path, new, 20));
        assert_eq!(seen.note(&path, new, 5, 20), 3);
        assert!(!seen.has_all(&path, new, 20), "ranges of another text do not count");
    }
}
