//! The persistent tree under [`MemFs`](super::MemFs): directories shared between forks, copied where they change.

use std::collections::BTreeMap;

use emend_edit::size::compact_sort::sort_by_key;
use emend_llm::Shared;

use crate::environment::resolve::invalid;
use crate::environment::{EntryKind, EnvError, FilePath, Metadata};

/// What a name in a directory stands for. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    File(Shared<File>),
    Directory(Shared<Directory>),
    /// A link and what it says.
    Link(Shared<str>),
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) content: Vec<u8>,
    pub(super) modified_ms: u64,
    /// The number of the change that made it: no other file that ever stood here had it.
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

    /// Returns how many files and links, and how many bytes, it is.
    pub(super) fn size(&self) -> (u64, u64) {
        match self {
            Self::File(file) => (1, file.content.len() as u64),
            Self::Link(_) => (1, 0),
            Self::Directory(directory) => {
                directory.entries.values().map(Self::size).fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1))
            }
        }
    }

    /// Returns what is known of a file or a directory, `None` of a link.
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

    /// Returns the entries in the order of all paths below them: a directory's come behind its name and a `/`, which a
    /// longer name's `-` or `.` precedes.
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

    /// Returns what stands at `path` below `top`, links not followed.
    pub(super) fn find(top: &Shared<Self>, path: &FilePath) -> Option<Entry> {
        let Some(parent) = path.parent() else { return Some(Entry::Directory(Shared::clone(top))) };
        let mut directory = top;
        for segment in parent.as_str().split('/').filter(|segment| !segment.is_empty()) {
            let Entry::Directory(next) = directory.get(segment)? else { return None };
            directory = next;
        }
        directory.get(path.name()).cloned()
    }

    /// Puts `entry` at `path`, in place of a file or link there; creates the directories above it.
    pub(super) fn put(top: &mut Shared<Self>, path: &FilePath, entry: Entry, now: u64) -> Result<(), EnvError> {
        let Some(parent) = path.parent() else { return Err(invalid(path.as_str(), "it is the root")) };
        if matches!(Self::find(top, path), Some(Entry::Directory(_))) {
            return Err(invalid(path.as_str(), "it is a directory"));
        }
        let blocked = || invalid(path.as_str(), "a file is in the place of a directory above it");
        let directory = Self::make_mut(top, &parent, now).ok_or_else(blocked)?;
        directory.modified_ms = now;
        directory.entries.insert(path.name().into(), entry);
        Ok(())
    }

    /// Takes away and returns what stands at `path`.
    pub(super) fn remove(top: &mut Shared<Self>, path: &FilePath, now: u64) -> Option<Entry> {
        let parent = path.parent()?;
        Self::find(top, path)?;
        let directory = Self::make_mut(top, &parent, now)?;
        directory.modified_ms = now;
        directory.entries.remove(path.name())
    }

    /// Returns the directory at `path` to change it, copying what other forks share, creating what is missing; `None`
    /// if something else stands on the way.
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
