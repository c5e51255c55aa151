//! Owner and mode bits of removed files, so that a file that is created again gets them back.
//!
//! They are stored with the project's state, because a later process may create the file again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead as _};
use std::path::PathBuf;

use cap_std::fs::{Metadata, Permissions};
use emend_agent::environment::FilePath;
use serde::{Deserialize, Serialize};

use super::append::append;

/// From this number of lines on, the file is written anew at the next start.
const LINES_MAX: usize = 10_000;

/// Owner and mode bits of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attributes {
    pub(crate) mode: u32,
    /// User and group; absent if unknown.
    pub(crate) owner: Option<(u32, u32)>,
}

impl From<&Metadata> for Attributes {
    #[cfg(unix)]
    fn from(found: &Metadata) -> Self {
        use cap_std::fs::MetadataExt as _;
        Self { mode: found.mode() & 0o7777, owner: Some((found.uid(), found.gid())) }
    }

    #[cfg(not(unix))]
    fn from(found: &Metadata) -> Self {
        Self { mode: if found.permissions().readonly() { 0o444 } else { 0o644 }, owner: None }
    }
}

impl Attributes {
    /// Returns the mode bits as permissions; `like` are those of the file that gets them.
    pub(crate) fn permissions(self, like: Permissions) -> Permissions {
        #[cfg(unix)]
        {
            let _ = like;
            cap_std::fs::PermissionsExt::from_mode(self.mode)
        }
        #[cfg(not(unix))]
        {
            like
        }
    }
}

/// The attributes of removed files, and of files about to move, under their new paths.
#[derive(Debug, Default)]
pub(super) struct RemovedFiles {
    known: BTreeMap<FilePath, Attributes>,
    /// The file in which they are stored, if they are.
    stored: Option<PathBuf>,
}

impl RemovedFiles {
    pub(super) fn get(&self, path: &FilePath) -> Option<Attributes> {
        self.known.get(path).copied()
    }

    /// Loads the stored attributes, and stores further ones there. A file that cannot be read counts as empty.
    pub(super) fn store_in(&mut self, stored: PathBuf) {
        let lines = File::open(&stored).map(|file| io::BufReader::new(file).lines().map_while(Result::ok));
        let mut n_lines = 0;
        for line in lines.into_iter().flatten() {
            n_lines += 1;
            // The last line is broken if the process was killed.
            if let Ok((path, attributes)) = serde_json::from_str(&line) {
                self.known.insert(path, attributes);
            }
        }
        if n_lines > LINES_MAX {
            let lines = self.known.iter().filter_map(|line| serde_json::to_string(&line).ok());
            // Without the new file, the old one only stays long.
            let _ = fs::write(&stored, lines.map(|line| line + "\n").collect::<String>());
        }
        self.stored = Some(stored);
    }

    /// Notes the attributes of several files, durably.
    ///
    /// # Errors
    ///
    /// They could not be stored.
    pub(super) fn note(&mut self, files: &[(FilePath, Attributes)]) -> io::Result<()> {
        let is_new = |(path, attributes): &&(FilePath, Attributes)| self.known.get(path) != Some(attributes);
        let new: Vec<_> = files.iter().filter(is_new).cloned().collect();
        if let (Some(stored), false) = (&self.stored, new.is_empty()) {
            let mut text = String::new();
            for line in &new {
                text.push_str(&serde_json::to_string(line)?);
                text.push('\n');
            }
            append(stored, text.as_bytes())?;
        }
        self.known.extend(new);
        Ok(())
    }
}
