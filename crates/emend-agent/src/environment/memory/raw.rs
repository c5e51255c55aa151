//! The files as a shell sees them: every entry, `.git` among them, and links themselves instead of what they lead to.
//!
//! Paths are clean and taken as they are. Whoever follows links does it from outside.

use emend_llm::Shared;

use super::MemFs;
use super::tree::{Directory, Entry};
use crate::environment::resolve::{Node, Tree as _, invalid};
use crate::environment::{EnvError, FilePath};

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawEntry {
    /// What it is; a link with what it says.
    pub node: Node,
    /// Bytes; of a link, of what it says; 0 for a directory.
    pub size: u64,
    /// Milliseconds since 1970, or what stands in for them; 0 for a link.
    pub modified_ms: u64,
}

impl RawEntry {
    fn of(entry: &Entry) -> Self {
        match entry {
            Entry::File(file) => {
                Self { node: Node::File, size: file.content.len() as u64, modified_ms: file.modified_ms }
            }
            Entry::Directory(directory) => Self { node: Node::Directory, size: 0, modified_ms: directory.modified_ms },
            Entry::Link(target) => {
                Self { node: Node::Link(target.as_ref().to_owned()), size: target.len() as u64, modified_ms: 0 }
            }
        }
    }
}

impl MemFs {
    /// Returns what stands at `path`, `None` if nothing.
    #[must_use]
    pub fn raw_entry(&self, path: &FilePath) -> Option<RawEntry> {
        self.find(path).as_ref().map(RawEntry::of)
    }

    /// Returns the names in a directory and what they stand for, by name.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InvalidPath` if it is no directory.
    pub fn raw_entries(&self, path: &FilePath) -> Result<Vec<(String, RawEntry)>, EnvError> {
        let directory = self.directory(path)?;
        Ok(directory.entries().map(|(name, entry)| (name.to_owned(), RawEntry::of(entry))).collect())
    }

    /// Makes a link that says `target`, or a directory if that is `None`. What is above has to be there.
    ///
    /// # Errors
    ///
    /// `InvalidPath` if something is there already.
    pub fn raw_make(&self, path: &FilePath, target: Option<&str>) -> Result<(), EnvError> {
        if self.find(path).is_some() {
            return Err(invalid(path.as_str(), "it exists already"));
        }
        self.put(path, |now| match target {
            Some(target) => Entry::Link(target.into()),
            None => Entry::Directory(Shared::new(Directory::new(now))),
        })
    }

    /// Takes away a file, a link or a directory; one that holds anything only if `recursive`.
    ///
    /// # Errors
    ///
    /// `NotFound`; `InvalidPath` for a directory that is not empty, and for the root.
    pub fn raw_remove(&self, path: &FilePath, recursive: bool) -> Result<(), EnvError> {
        match self.find(path) {
            None => Err(self.missing(path)),
            Some(Entry::Directory(directory)) if !recursive && directory.entries().next().is_some() => {
                Err(invalid(path.as_str(), "the directory is not empty"))
            }
            // The root stays; only what is in it goes.
            Some(Entry::Directory(_)) if path.is_root() => {
                self.names(path).iter().for_each(|name| drop(self.take(&path.join(name))));
                Ok(())
            }
            Some(_) => {
                self.take(path);
                Ok(())
            }
        }
    }

    /// Moves what stands at `from`, a directory with all it holds, to `to`, in place of a file, a link or an empty
    /// directory there.
    ///
    /// # Errors
    ///
    /// `NotFound`; `InvalidPath` if `to` holds a directory that is not empty, or one where the other is none, or lies
    /// below `from`. Nothing changed then.
    pub fn raw_rename(&self, from: &FilePath, to: &FilePath) -> Result<(), EnvError> {
        let Some(entry) = self.find(from) else { return Err(self.missing(from)) };
        if from == to {
            return Ok(());
        }
        if from.is_root() || to.is_under(from) {
            return Err(invalid(to.as_str(), "a directory cannot be moved into itself"));
        }
        let is_directory = matches!(entry, Entry::Directory(_));
        match self.find(to) {
            Some(Entry::Directory(there)) if !is_directory || there.entries().next().is_some() => {
                return Err(invalid(to.as_str(), "a directory is in its place"));
            }
            Some(Entry::File(_) | Entry::Link(_)) if is_directory => {
                return Err(invalid(to.as_str(), "a file is in its place"));
            }
            _ => {}
        }
        if to.parent().is_none_or(|parent| !matches!(self.find(&parent), Some(Entry::Directory(_)))) {
            return Err(invalid(to.as_str(), "there is no directory to move it to"));
        }
        self.take(to);
        self.take(from);
        // One of the same size just went.
        self.put(to, |_| entry)
    }
}
