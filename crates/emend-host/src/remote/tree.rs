//! The rules of the sandbox on the far side: paths are resolved as everywhere, and every step first checks that nothing
//! on the way to its file is a link.
//!
//! Between the check and the step, a program on the far side can still swap a directory for a link. Such a program has
//! the rights of the same user, so it gains nothing by it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emend_agent::environment::resolve::{self, Node, Tree};
use emend_agent::environment::{Access, DirEntry, EntryKind, EnvError, FileChange, FilePath, Metadata, in_order};
use emend_agent::suggest::closest;

use super::far::{Attributes, Far, FarError, Found, Kind};
use crate::files::{WHOLE_FILE_BYTES_MAX, invalid, too_large};

/// An entry: its directory, its name, and its kind.
pub(super) type Entry = (FilePath, (String, Found));

/// Directories that are listed in one step.
pub(super) const DIRECTORIES_AT_ONCE: usize = 128;

/// The files below a directory on the far side.
pub(super) struct FarTree {
    pub(super) far: Box<dyn Far>,
    /// Names of the root: as given, and with all links followed.
    roots: Vec<String>,
    notes: Mutex<Notes>,
}

/// Notes of this process about files.
#[derive(Default)]
struct Notes {
    /// Attributes of removed files, and of files about to move, under their new paths.
    attributes: BTreeMap<FilePath, Attributes>,
    /// Directories created for files.
    made: BTreeSet<FilePath>,
}

/// A tree for the resolution of one path, with the entries on the way already looked up.
struct Looked<'a> {
    tree: &'a FarTree,
    known: RefCell<BTreeMap<FilePath, Node>>,
}

impl Tree for Looked<'_> {
    fn roots(&self) -> &[String] {
        &self.tree.roots
    }

    fn look(&self, path: &FilePath) -> Result<Node, EnvError> {
        if let Some(node) = self.known.borrow().get(path) {
            return Ok(node.clone());
        }
        let node = node(path, self.tree.look(path)?)?;
        self.known.borrow_mut().insert(path.clone(), node.clone());
        Ok(node)
    }

    fn names(&self, directory: &FilePath) -> Vec<String> {
        self.tree.names(directory)
    }
}

fn node(path: &FilePath, found: Option<Found>) -> Result<Node, EnvError> {
    Ok(match found.map(|found| found.kind) {
        None => Node::Missing,
        Some(Kind::File) => Node::File,
        Some(Kind::Directory) => Node::Directory,
        Some(Kind::Special) => Node::Special,
        Some(Kind::Link(Some(target))) => Node::Link(target),
        Some(Kind::Link(None)) => return Err(invalid(path.as_str(), "a link whose target is not UTF-8")),
    })
}

/// Returns `path` and the directories above it, the topmost first, without the root.
fn way(path: &FilePath) -> Vec<FilePath> {
    let mut way: Vec<FilePath> = std::iter::successors(Some(path.clone()), FilePath::parent).collect();
    way.pop();
    way.reverse();
    way
}

impl FarTree {
    pub(super) fn new(far: Box<dyn Far>, roots: Vec<String>) -> Self {
        Self { far, roots, notes: Mutex::default() }
    }

    /// Returns the root as the user named it.
    pub(super) fn root(&self) -> &str {
        self.roots.first().map_or("", String::as_str)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at one path whose directory is known to be free of links.
    fn look(&self, path: &FilePath) -> Result<Option<Found>, EnvError> {
        let found = self.far.look(std::slice::from_ref(path)).pop().unwrap_or(Ok(None));
        found.map_err(|error| error.at(path))
    }

    pub(super) fn resolve(&self, given: &str, access: Access) -> Result<FilePath, EnvError> {
        let looked = Looked { tree: self, known: RefCell::default() };
        // Most paths have no link, so all entries on the way are looked up in one step.
        let below = self.roots.iter().find_map(|root| given.strip_prefix(root.as_str())?.strip_prefix('/'));
        if let Some(path) =
            FilePath::clean(below.unwrap_or(given)).filter(|_| below.is_some() || !given.starts_with('/'))
        {
            let way = if given.contains('\0') { Vec::new() } else { way(&path) };
            let found = if way.is_empty() { Vec::new() } else { self.far.look(&way) };
            for (path, found) in way.iter().zip(found) {
                let Some(Ok(node)) = found.ok().map(|found| node(path, found)) else { break };
                let goes_on = node == Node::Directory;
                looked.known.borrow_mut().insert(path.clone(), node);
                if !goes_on {
                    break;
                }
            }
        }
        resolve::resolve(&looked, given, access)
    }

    /// Returns the entry at a path; `None` if it does not exist, or if the way there has a link or a file.
    pub(super) fn find(&self, path: &FilePath) -> Result<Option<Found>, EnvError> {
        Ok(self.find_with_way(path)?.1)
    }

    /// Returns the number of directories on the way that exist, and the entry at the path.
    fn find_with_way(&self, path: &FilePath) -> Result<(usize, Option<Found>), EnvError> {
        // A server may read a name up to the NUL only, and `..` can end there.
        if path.as_str().contains('\0') {
            return Err(invalid(path.as_str(), "the path holds a NUL character"));
        }
        let way = if path.is_root() { vec![FilePath::root()] } else { way(path) };
        for (index, found) in self.far.look(&way).into_iter().enumerate() {
            let found = found.map_err(|error| error.at(path))?;
            let is_directory = found.as_ref().is_some_and(|found| found.kind == Kind::Directory);
            if index + 1 == way.len() {
                return Ok((index, found));
            }
            if !is_directory {
                return match found.map(|found| found.kind) {
                    Some(Kind::Link(_)) => Err(invalid(path.as_str(), "a directory above it is a link")),
                    Some(_) => Ok((usize::MAX, None)),
                    None => Ok((index, None)),
                };
            }
        }
        Ok((0, None))
    }

    pub(super) fn metadata(&self, path: &FilePath) -> Result<Option<Metadata>, EnvError> {
        let found = match self.find(path) {
            Err(EnvError::InvalidPath { .. }) => None,
            found => found?,
        };
        match found {
            Some(Found { kind: Kind::Link(_), .. }) => Ok(self.target_metadata(path)),
            found => Ok(found.and_then(|found| found.metadata())),
        }
    }

    /// Returns the metadata of the target of a link inside the root.
    pub(super) fn target_metadata(&self, link: &FilePath) -> Option<Metadata> {
        let target = self.resolve(link.as_str(), Access::Read).ok()?;
        self.find(&target).ok()??.metadata()
    }

    pub(super) fn read(&self, path: &FilePath) -> Result<Vec<u8>, EnvError> {
        let found = self.find(path)?.ok_or_else(|| self.missing(path))?;
        refuse_unless_file(path, &found.kind)?;
        if found.size > WHOLE_FILE_BYTES_MAX {
            return Err(too_large(path.as_str(), found.size));
        }
        let read = self.far.read(std::slice::from_ref(path), WHOLE_FILE_BYTES_MAX).pop();
        read.unwrap_or(Err(FarError::Missing)).map_err(|error| error.at(path))
    }

    pub(super) fn read_existing(&self, path: &FilePath) -> Result<Option<Vec<u8>>, EnvError> {
        match self.metadata(path)? {
            None => Ok(None),
            Some(found) if found.kind == EntryKind::Directory => Err(EnvError::IsDirectory { path: path.to_string() }),
            Some(_) => self.read(path).map(Some),
        }
    }

    pub(super) fn write(&self, path: &FilePath, content: &[u8]) -> Result<(), EnvError> {
        self.write_over(path, content, false)
    }

    fn write_over(&self, path: &FilePath, content: &[u8], over_read_only: bool) -> Result<(), EnvError> {
        if path.is_root() {
            return Err(invalid(path.as_str(), "it is the root"));
        }
        let (n_present, found) = self.find_with_way(path)?;
        let attributes = match &found {
            Some(found) => {
                refuse_unless_replaceable(path, found, over_read_only)?;
                Attributes { mode: Some(found.mode), owner: found.owner, replaces: !over_read_only }
            }
            None if n_present == usize::MAX => return Err(invalid(path.as_str(), "a directory above it is a file")),
            None => self.notes().attributes.get(path).copied().unwrap_or_default(),
        };
        let above = path.parent().map(|parent| way(&parent)).unwrap_or_default();
        for directory in above.iter().skip(n_present) {
            self.notes().made.insert(directory.clone());
            self.far.make_directory(directory).map_err(|error| error.at(path))?;
        }
        self.far.put(path, content, attributes).map_err(|error| error.at(path))
    }

    pub(super) fn remove(&self, path: &FilePath) -> Result<(), EnvError> {
        let found = self.find(path)?.ok_or_else(|| self.missing(path))?;
        refuse_unless_file(path, &found.kind)?;
        self.note(path, &found);
        self.far.remove_file(path).map_err(|error| error.at(path))?;
        let made: Vec<FilePath> = {
            let notes = self.notes();
            std::iter::successors(path.parent(), FilePath::parent)
                .take_while(|above| notes.made.contains(above))
                .collect()
        };
        for above in made {
            // A directory with other entries stays, and so do those above it.
            if self.far.remove_directory(&above).is_err() {
                break;
            }
            self.notes().made.remove(&above);
        }
        Ok(())
    }

    fn note(&self, path: &FilePath, found: &Found) {
        let attributes = Attributes { mode: Some(found.mode), owner: found.owner, replaces: false };
        self.notes().attributes.insert(path.clone(), attributes);
    }

    /// Records that the next file at `to` gets the owner and mode bits of the file at `from`.
    pub(super) fn note_moved(&self, from: &FilePath, to: &FilePath) -> Result<(), EnvError> {
        match self.find(from)? {
            Some(found) if found.kind == Kind::File => self.note(to, &found),
            _ => {
                let known = self.notes().attributes.get(from).copied();
                if let Some(known) = known {
                    self.notes().attributes.insert(to.clone(), known);
                }
            }
        }
        Ok(())
    }

    /// Changes a file if it has the expected content.
    pub(super) fn change(&self, change: &FileChange) -> Result<(), EnvError> {
        if let Some(from) = &change.mode_of {
            self.note_moved(from, &change.path)?;
        }
        if self.read_existing(&change.path)? != change.before {
            return Err(EnvError::Changed { path: change.path.to_string() });
        }
        match &change.after {
            Some(content) => self.write_over(&change.path, content, change.over_read_only),
            None => self.remove(&change.path),
        }
    }

    pub(super) fn list(&self, path: &FilePath, depth: usize) -> Result<Vec<DirEntry>, EnvError> {
        self.directory(path)?;
        let mut listed = Vec::new();
        let mut level = if depth == 0 { Vec::new() } else { vec![path.clone()] };
        for depth in (1..=depth).rev() {
            let mut below = Vec::new();
            for (directory, (name, found)) in self.entries(&level)? {
                if name == ".git" {
                    continue;
                }
                let path = directory.join(&name);
                let metadata = match found.kind {
                    Kind::Link(_) => self.target_metadata(&path),
                    _ => found.metadata(),
                };
                if found.kind == Kind::Directory && depth > 1 {
                    below.push(path.clone());
                }
                listed.extend(metadata.map(|metadata| DirEntry { path, metadata }));
            }
            if below.is_empty() {
                break;
            }
            level = below;
        }
        Ok(in_order(listed))
    }

    /// Returns the entries of directories, without those that cannot be read.
    pub(super) fn entries(&self, directories: &[FilePath]) -> Result<Vec<Entry>, EnvError> {
        let mut entries = Vec::new();
        for some in directories.chunks(DIRECTORIES_AT_ONCE) {
            let listed = self.far.list(some).map_err(|error| error.at(&some[0]))?;
            for (directory, listed) in some.iter().zip(listed) {
                entries.extend(listed.into_iter().flatten().map(|entry| (directory.clone(), entry)));
            }
        }
        Ok(entries)
    }

    /// Checks that a path is a directory.
    pub(super) fn directory(&self, path: &FilePath) -> Result<(), EnvError> {
        match self.find(path)? {
            None => Err(self.missing(path)),
            Some(found) if found.kind == Kind::Directory => Ok(()),
            Some(_) => Err(invalid(path.as_str(), "it is not a directory")),
        }
    }

    fn names(&self, directory: &FilePath) -> Vec<String> {
        let listed = self.far.list(std::slice::from_ref(directory)).unwrap_or_default();
        listed.into_iter().flatten().flatten().map(|(name, _)| name).collect()
    }

    pub(super) fn missing(&self, path: &FilePath) -> EnvError {
        let names = self.names(&path.parent().unwrap_or_default());
        let suggestions = closest(path.name(), names.iter().map(String::as_str), 3);
        EnvError::NotFound { path: path.as_str().to_owned(), suggestions }
    }
}

fn refuse_unless_file(path: &FilePath, kind: &Kind) -> Result<(), EnvError> {
    let reason = match kind {
        Kind::File => return Ok(()),
        Kind::Directory => "it is a directory",
        Kind::Link(_) => "it is a link",
        Kind::Special => "it is not a regular file",
    };
    Err(invalid(path.as_str(), reason))
}

/// Rejects a file that a rename over it would harm.
fn refuse_unless_replaceable(path: &FilePath, found: &Found, over_read_only: bool) -> Result<(), EnvError> {
    refuse_unless_file(path, &found.kind)?;
    let denied = |reason: String| EnvError::PermissionDenied { path: path.as_str().to_owned(), reason };
    if found.mode & 0o222 == 0 && !over_read_only {
        return Err(denied("it is read-only".to_owned()));
    }
    match found.n_links {
        Some(n_links @ 2..) => {
            Err(denied(format!("it has {n_links} hard links, and writing would separate it from the others")))
        }
        _ => Ok(()),
    }
}

/// A tree that several threads use.
pub(super) type SharedTree = Arc<FarTree>;
