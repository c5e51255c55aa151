//! Directories that were created for new files, so that they disappear with the last of these files.
//!
//! They are stored with the project's state, because a later process may undo the files. An empty directory of the user
//! is never removed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use emend_agent::environment::FilePath;

use super::append::append;

#[derive(Debug, Default)]
pub(super) struct MadeDirectories {
    known: BTreeSet<FilePath>,
    /// The file in which they are stored, one JSON string per line, if they are.
    stored: Option<PathBuf>,
}

impl MadeDirectories {
    pub(super) fn has(&self, path: &FilePath) -> bool {
        self.known.contains(path)
    }

    /// Loads the stored directories, and stores further ones there. A file that cannot be read counts as empty.
    pub(super) fn store_in(&mut self, stored: PathBuf) {
        let text = fs::read_to_string(&stored).unwrap_or_default();
        // The last line is broken if the process was killed.
        self.known.extend(text.lines().filter_map(|line| serde_json::from_str::<FilePath>(line).ok()));
        self.stored = Some(stored);
    }

    /// Notes directories that are about to be created, durably.
    ///
    /// # Errors
    ///
    /// They could not be stored.
    pub(super) fn note(&mut self, directories: impl IntoIterator<Item = FilePath>) -> io::Result<()> {
        let new: Vec<FilePath> = directories.into_iter().filter(|path| !self.has(path)).collect();
        if let (Some(stored), false) = (&self.stored, new.is_empty()) {
            let lines: Result<Vec<String>, _> = new.iter().map(serde_json::to_string).collect();
            append(stored, (lines?.join("\n") + "\n").as_bytes())?;
        }
        self.known.extend(new);
        Ok(())
    }
}
