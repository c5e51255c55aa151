//! The persistent tree of [`MemFs`](super::MemFs): forks share directories, and a change copies the path above it.

use std::collections::BTreeMap;

use emend_edit::size::compact_sort::sort_by_key;
use emend_llm::Shared;

use crate::environment::resolve::invalid;
use crate::environment::{EntryKind, EnvError, FilePath, Metadata};

/// An entry of a directory. A clone is cheap.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    File(Shared<File>),
    Directory(Shared<Directory>),
    /// A link with its target.
    Link(Shared<str>),
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) content: Vec<u8>,
    pub(super) modified_ms: u64,
    /// Number of the change that created the file. No other content at this path ever had it.
    pub(super) version: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    entries: BTreeMap<Shared<str>, Entry>,
    pub(super) modified_ms: u64,
}

impl Entry {
    pub(super) fn as_file(&self) -> Option<&Shared<File>> {
        if let Self::File(file) = self { Some(file) } else { None }
    }

    /// Returns the number of files and links, and their bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        match self {
            Self::File(file) => (1, file.content.len() as u64),
            Self::Link(_) => (1, 0),
            Self::Directory(directory) => {
                directory.entries.values().map(Self::size).fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1))
            }
        }
    }

    /// Returns the metadata of a file or a directory; `None` for a link.
    pub(super) fn metadata(&self) -> Option<Metadata> {
        match self {
            Self::File(file) => Some(file.metadata()),
            Self::Directory(directory) => {
                Some(Metadata { kind: EntryKind::Directory, size: 0, modified_ms: directory.modified_ms })
            }
            Self::Link(_) => None,
        }
    }
}

impl File {
    pub(super) fn metadata(&self) -> Metadata {
        Metadata { kind: EntryKind::File, size: self.content.len() as u64, modified_ms: self.modified_ms }
    }
}

impl Directory {
    pub(super) fn new(modified_ms: u64) -> Self {
        Self { entries: BTreeMap::new(), modified_ms }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (&**name, entry))
    }

    /// Returns the entries in the order of the paths below them: a directory sorts as its name with a `/`, which comes
    /// after `-` and `.` of a longer name.
    pub(super) fn in_path_order(&self) -> std::vec::IntoIter<(&str, &Entry)> {
        let mut entries: Vec<(&str, &Entry)> = self.entries().collect();
        let is_directory = |entry: &Entry| matches!(entry, Entry::Directory(_));
        let precedes = |name: &str, next: &str| next.strip_prefix(name).is_some_and(|rest| rest < "/");
        if entries.windows(2).any(|pair| is_directory(pair[0].1) && precedes(pair[0].0, pair[1].0)) {
            let key = |&(name, entry): &(&str, &Entry)| [name, if is_directory(entry) { "/" } else { "" }].concat();
            sort_by_key(&mut entries, key);
        }
        entries.into_iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Returns the entry at `path` below `top`; links are not followed.
    pub(super) fn find(top: &Shared<Self>, path: &FilePath) -> Option<Entry> {
        let Some(parent) = path.parent() else { return Some(Entry::Directory(Shared::clone(top))) };
        let mut directory = top;
        for segment in parent.as_str().split('/').filter(|segment| !segment.is_empty()) {
            let Entry::Directory(next) = directory.get(segment)? else { return None };
            directory = next;
        }
        directory.get(path.name()).cloned()
    }

    /// Puts `entry` at `path`, replaces a file or link there, and creates the parents.
    pub(super) fn put(top: &mut Shared<Self>, path: &FilePath, entry: Entry, now: u64) -> Result<(), EnvError> {
        let Some(parent) = path.parent() else { return Err(invalid(path.as_str(), "it is the root")) };
        if matches!(Self::find(top, path), Some(Entry::Directory(_))) {
            return Err(invalid(path.as_str(), "it is a directory"));
        }
        let blocked = || invalid(path.as_str(), "a directory above it is a file");
        let directory = Self::make_mut(top, &parent, now).ok_or_else(blocked)?;
        directory.modified_ms = now;
        directory.entries.insert(path.name().into(), entry);
        Ok(())
    }

    /// Removes and returns the entry at `path`.
    pub(super) fn remove(top: &mut Shared<Self>, path: &FilePath, now: u64) -> Option<Entry> {
        let parent = path.parent()?;
        Self::find(top, path)?;
        let directory = Self::make_mut(top, &parent, now)?;
        directory.modified_ms = now;
        directory.entries.remove(path.name())
    }

    /// Returns the directory at `path` for a change: copies shared directories and creates missing ones. Returns `None`
    /// if another kind of entry is on the path.
    fn make_mut<'a>(top: &'a mut Shared<Self>, path: &FilePath, now: u64) -> Option<&'a mut Self> {
        let mut directory = Shared::make_mut(top);
        for segment in path.as_str().split('/').filter(|segment| !segment.is_empty()) {
            if directory.get(segment).is_none() {
                directory.modified_ms = now;
            }
            let new = || Entry::Directory(Shared::new(Self::new(now)));
            let Entry::Directory(next) = directory.entries.entry(segment.into()).or_insert_with(new) else {
                return None;
            };
            directory = Shared::make_mut(next);
        }
        Some(directory)
    }
}
