//! The texts that one session has read: the version counter, and the lines of each file with their hash.

use std::collections::BTreeMap;

use emend_edit::{ContentHash, HashTrail};
use emend_llm::runtime::{Mutex, MutexGuard};

use crate::environment::FilePath;

/// The read state of one session. The counter starts at 0 and increases by one with every read or write.
#[derive(Debug, Default)]
pub struct ReadTracker {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    version: u64,
    /// Number of model messages with calls.
    message: u64,
    files: BTreeMap<FilePath, SeenFile>,
    trail: HashTrail,
}

#[derive(Debug)]
struct SeenFile {
    hash: ContentHash,
    // Half-open ranges of lines, from 0, sorted and disjoint.
    ranges: Vec<(usize, usize)>,
    /// Number of the message whose call wrote the file last; 0 if none did.
    written_in: u64,
}

impl ReadTracker {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Returns the hash of a text. After a small edit of a large text this costs less than hashing all of it.
    pub fn hash(&self, text: &str) -> ContentHash {
        self.inner().trail.hash(text)
    }

    /// Starts the calls of another message: the model has now read the results of the calls before.
    pub fn begin_message(&self) {
        self.inner().message += 1;
    }

    /// Records that lines `from..to` (from 0) of a text with this hash were shown; returns the new version.
    pub fn note(&self, path: &FilePath, hash: ContentHash, from: usize, to: usize) -> u64 {
        let mut inner = self.inner();
        let empty = || SeenFile { hash, ranges: Vec::new(), written_in: 0 };
        let file = inner.files.entry(path.clone()).or_insert_with(empty);
        if file.hash != hash {
            // Ranges of another text say nothing about this one.
            *file = empty();
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

    /// Records what an earlier process of this session has shown: lines of a text with this hash, as this version.
    pub fn restore(&self, path: &FilePath, hash: ContentHash, (from, to): (usize, usize), version: u64) {
        let now = self.note(path, hash, from, to);
        // Versions are not given twice.
        self.inner().version = version.max(now - 1);
    }

    /// Records that a call of this session wrote a text of `n_lines` with this hash; returns the new version. The
    /// session knows all lines that it wrote.
    pub fn note_write(&self, path: &FilePath, hash: ContentHash, n_lines: usize) -> u64 {
        let version = self.note(path, hash, 0, n_lines);
        let mut inner = self.inner();
        let message = inner.message;
        if let Some(file) = inner.files.get_mut(path) {
            file.written_in = message;
        }
        version
    }

    /// Returns the lines of the text with this hash that the session has read.
    #[must_use]
    pub fn ranges_of(&self, path: &FilePath, hash: ContentHash) -> Vec<(usize, usize)> {
        let inner = self.inner();
        inner.files.get(path).filter(|file| file.hash == hash).map(|file| file.ranges.clone()).unwrap_or_default()
    }

    /// Records that a call of this session moved a text to `path`, and that the session has read these lines of it;
    /// returns the new version.
    pub fn note_move(&self, path: &FilePath, hash: ContentHash, ranges: Vec<(usize, usize)>) -> u64 {
        let mut inner = self.inner();
        inner.version += 1;
        let written_in = inner.message;
        inner.files.insert(path.clone(), SeenFile { hash, ranges, written_in });
        inner.version
    }

    /// Returns the hash of the text that the session read or wrote last; `None` if it has not read the file.
    #[must_use]
    pub fn hash_of(&self, path: &FilePath) -> Option<ContentHash> {
        self.inner().files.get(path).map(|file| file.hash)
    }

    /// Returns whether the session has read lines `from..to` (from 0) of the text with this hash.
    #[must_use]
    pub fn has_range(&self, path: &FilePath, hash: ContentHash, from: usize, to: usize) -> bool {
        self.inner().files.get(path).is_some_and(|file| {
            file.hash == hash && (from >= to || file.ranges.iter().any(|range| range.0 <= from && to <= range.1))
        })
    }

    /// Returns whether a call of the present message wrote the file. The model has not read its new lines yet, so line
    /// numbers in other calls of the message refer to the text before.
    #[must_use]
    pub fn is_written_in_this_message(&self, path: &FilePath) -> bool {
        let inner = self.inner();
        inner.files.get(path).is_some_and(|file| file.written_in > 0 && file.written_in == inner.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn versions_count_and_ranges_join() {
        covers("verified.counter");
        let seen = ReadTracker::default();
        let path = FilePath::clean("a").unwrap();
        let (old, new) = (ContentHash::of(b"old"), ContentHash::of(b"new"));
        assert_eq!(seen.hash_of(&path), None);
        assert_eq!(seen.note(&path, old, 0, 10), 1);
        assert!(!seen.has_range(&path, old, 0, 20));
        assert_eq!(seen.note(&path, old, 10, 20), 2);
        assert!(seen.has_range(&path, old, 0, 20) && seen.has_range(&path, old, 9, 11));
        assert!(!seen.has_range(&path, new, 0, 20));
        assert_eq!(seen.note(&path, new, 5, 20), 3);
        assert!(!seen.has_range(&path, new, 0, 20), "ranges of another text do not count");
        assert!(seen.has_range(&path, new, 5, 6) && seen.has_range(&path, new, 0, 0));
        assert_eq!(seen.hash_of(&path), Some(new));
    }

    #[test]
    fn a_write_is_news_until_the_next_message() {
        let (seen, path) = (ReadTracker::default(), FilePath::clean("a").unwrap());
        seen.begin_message();
        assert_eq!(seen.note_write(&path, ContentHash::EMPTY, 3), 1);
        assert!(seen.is_written_in_this_message(&path) && seen.has_range(&path, ContentHash::EMPTY, 0, 3));
        seen.begin_message();
        assert!(!seen.is_written_in_this_message(&path));
    }
}
