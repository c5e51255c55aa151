//! File operations for a shell: on every entry, `.git` included, and on links themselves instead of their targets.
//!
//! Paths must be normalised. Callers follow links themselves.

use emend_llm::Shared;

use super::MemFs;
use super::tree::{Directory, Entry};
use crate::environment::resolve::{Node, Tree as _, invalid};
use crate::environment::{EnvError, FilePath};

/// The entry at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawEntry {
    /// Its kind; a link with its target.
    pub node: Node,
    /// Bytes of a file, or of the target of a link; 0 for a directory.
    pub size: u64,
    /// Modification time in milliseconds since 1970, or a change count; 0 for a link.
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
    /// Returns the entry at `path`, if any.
    #[must_use]
    pub fn raw_entry(&self, path: &FilePath) -> Option<RawEntry> {
        self.find(path).as_ref().map(RawEntry::of)
    }

    /// Returns the entries of a directory, sorted by name.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InvalidPath` if the entry is not a directory.
    pub fn raw_entries(&self, path: &FilePath) -> Result<Vec<(String, RawEntry)>, EnvError> {
        let directory = self.directory(path)?;
        let visible = directory.entries().filter(|(name, _)| !self.hidden.hides(path.join(name).as_str()));
        Ok(visible.map(|(name, entry)| (name.to_owned(), RawEntry::of(entry))).collect())
    }

    /// Creates a link to `target`, or a directory if `target` is `None`. The parent must exist.
    ///
    /// # Errors
    ///
    /// `InvalidPath` if an entry exists.
    pub fn raw_make(&self, path: &FilePath, target: Option<&str>) -> Result<(), EnvError> {
        if self.find(path).is_some() {
            return Err(invalid(path.as_str(), "it exists already"));
        }
        self.put(path, |now| match target {
            Some(target) => Entry::Link(target.into()),
            None => Entry::Directory(Shared::new(Directory::new(now))),
        })
    }

    /// Removes a file, a link or a directory; a non-empty directory only if `recursive`.
    ///
    /// # Errors
    ///
    /// `NotFound`; `InvalidPath` for a non-empty directory and for the root; `PermissionDenied` if the entry contains a
    /// hidden path.
    pub fn raw_remove(&self, path: &FilePath, recursive: bool) -> Result<(), EnvError> {
        let found = self.find(path);
        if recursive {
            self.refuse_hidden(path, found.as_ref())?;
        }
        match found {
            None => Err(self.missing(path)),
            Some(Entry::Directory(directory)) if !recursive && directory.entries().next().is_some() => {
                Err(invalid(path.as_str(), "the directory is not empty"))
            }
            // The root itself stays; only its content is removed.
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

    /// Moves the entry at `from`, a directory with its content, to `to`; replaces a file, a link or an empty directory
    /// there.
    ///
    /// # Errors
    ///
    /// `NotFound`; `InvalidPath` if `to` is a non-empty directory, if only one of both is a directory, or if `to` lies
    /// below `from`; `PermissionDenied` if `from` contains a hidden path. Nothing changes then.
    pub fn raw_rename(&self, from: &FilePath, to: &FilePath) -> Result<(), EnvError> {
        let Some(entry) = self.find(from) else { return Err(self.missing(from)) };
        if from == to {
            return Ok(());
        }
        self.refuse_hidden(from, Some(&entry))?;
        self.refuse_hidden(to, None)?;
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
        // An entry of the same size has just been removed.
        self.put(to, |_| entry)
    }
}
