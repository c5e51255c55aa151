//! Changes paths from one kept state to another, without following links.
//!
//! Each path is changed only if it holds the expected state, so an interrupted restoration can be repeated.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, OpenOptions, Permissions, PermissionsExt as _};
use emend_agent::environment::FilePath;
use emend_edit::ContentHash;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat};

use super::node::{Content, Node};
use super::pack::Pack;
use super::scan::{mode_of, parent_of};
use crate::files::temp_files::{UNFINISHED, temporary_name};
use crate::files::{RootFiles, is_absence, sync_directory};

/// From this number of files on, the whole file system is synced once.
const SYNCED_ONE_BY_ONE_MAX: usize = 32;

/// A path with the state to replace and the state to restore.
#[derive(Clone, Debug)]
pub(super) struct Switch<'a> {
    pub(super) path: &'a FilePath,
    pub(super) from: Option<&'a Node>,
    pub(super) to: Option<&'a Node>,
}

/// The outcome for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switched {
    Done,
    /// The path already had its new state.
    Before,
    /// The path has another state.
    LeftAlone,
}

/// Restores paths, all of one command, sorted. Returns the outcomes in the same order.
pub(super) fn restore(files: &RootFiles, pack: &mut Pack, switches: &[Switch<'_>]) -> io::Result<Vec<Switched>> {
    let places = Places::of(files);
    let mut restore = Restore { places, pack, dirty: BTreeMap::new(), n_written: 0 };
    let mut outcomes = Vec::with_capacity(switches.len());
    for switch in switches {
        outcomes.push(restore.places.look(switch)?);
    }
    // Contents of directories go before the directories, and come after them.
    for (switch, outcome) in switches.iter().zip(&mut outcomes).rev() {
        let replaces = switch
            .from
            .zip(switch.to)
            .is_some_and(|(from, to)| from.content.is_like(&to.content) && !matches!(from.content, Content::Link(_)));
        if *outcome == Switched::Done && switch.from.is_some() && !replaces && !restore.remove(switch)? {
            *outcome = Switched::LeftAlone;
        }
    }
    for (switch, outcome) in switches.iter().zip(&mut outcomes) {
        if let (Switched::Done, Some(to)) = (*outcome, switch.to)
            && !restore.create(switch, to)?
        {
            *outcome = Switched::LeftAlone;
        }
    }
    // Last, because a directory without write permission takes no files.
    for (switch, outcome) in switches.iter().zip(&mut outcomes).rev() {
        if let (true, Some(to)) = (*outcome != Switched::LeftAlone, switch.to)
            && restore.set_mode(switch, to)?
        {
            *outcome = Switched::Done;
        }
    }
    restore.sync()?;
    Ok(outcomes)
}

/// The directories of paths.
pub(super) struct Places<'a> {
    files: &'a RootFiles,
    /// The directory of the last path.
    last: Option<(FilePath, Arc<Dir>)>,
}

impl<'a> Places<'a> {
    pub(super) fn of(files: &'a RootFiles) -> Self {
        Self { files, last: None }
    }

    /// Returns the mode bits of a path; `None` if nothing is there.
    pub(super) fn mode(&mut self, path: &FilePath) -> io::Result<Option<u32>> {
        let Some(parent) = self.parent(path)? else { return Ok(None) };
        Ok(statat(&*parent, path.name(), AtFlags::SYMLINK_NOFOLLOW).ok().map(|found| mode_of(&found)))
    }

    /// Returns the directory that holds `path`; `None` if it does not exist or a link is on the way.
    fn parent(&mut self, path: &FilePath) -> io::Result<Option<Arc<Dir>>> {
        let Some(parent) = path.parent() else { return Ok(None) };
        if let Some((known, directory)) = &self.last
            && *known == parent
        {
            return Ok(Some(Arc::clone(directory)));
        }
        let Some(directory) = parent_of(self.files, path)? else { return Ok(None) };
        let directory = Arc::new(directory);
        self.last = Some((parent, Arc::clone(&directory)));
        Ok(Some(directory))
    }

    /// Compares the present state with both states of a switch.
    pub(super) fn look(&mut self, switch: &Switch<'_>) -> io::Result<Switched> {
        let parent = self.parent(switch.path)?;
        let name = switch.path.name();
        let found = match &parent {
            Some(parent) => match statat(&**parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => Some(found),
                Err(rustix::io::Errno::NOENT) => None,
                Err(error) => return Err(error.into()),
            },
            None => None,
        };
        let (Some(parent), Some(found)) = (parent, found) else {
            return Ok(match (switch.from, switch.to) {
                (_, None) => Switched::Before,
                (None, Some(_)) => Switched::Done,
                (Some(_), Some(_)) => Switched::LeftAlone,
            });
        };
        let size = u64::try_from(found.st_size).unwrap_or_default();
        let mut hash = None;
        let mut holds = |node: Option<&Node>| -> io::Result<bool> {
            let Some(node) = node else { return Ok(false) };
            Ok(match (&node.content, FileType::from_raw_mode(found.st_mode)) {
                (Content::File { blob: Some(blob), .. }, FileType::RegularFile) => {
                    blob.len == size && {
                        if hash.is_none() {
                            hash = Some(hash_of(&parent, name)?);
                        }
                        hash.flatten() == Some(blob.hash)
                    }
                }
                (Content::File { blob: None, .. }, FileType::RegularFile) => node.size == size,
                (Content::Link(target), FileType::Symlink) => {
                    readlinkat(&*parent, name, Vec::new())?.to_str() == Ok(target)
                }
                (Content::Directory | Content::Crowd, FileType::Directory) => true,
                _ => false,
            })
        };
        // If both sides have the same content, only the mode differs.
        Ok(match (holds(switch.to)?, holds(switch.from)?) {
            (true, _) => Switched::Before,
            (false, true) => Switched::Done,
            (false, false) => Switched::LeftAlone,
        })
    }
}

struct Restore<'a> {
    places: Places<'a>,
    pack: &'a mut Pack,
    /// The directories whose entries changed.
    dirty: BTreeMap<FilePath, Arc<Dir>>,
    n_written: usize,
}

impl Restore<'_> {
    /// Notes that the entry `path` of `parent` has changed.
    fn note(&mut self, path: &FilePath, parent: Arc<Dir>) {
        // The known directory may be the changed one.
        if self.places.last.as_ref().is_some_and(|(known, _)| known.is_under(path)) {
            self.places.last = None;
        }
        self.dirty.insert(path.parent().unwrap_or_default(), parent);
    }

    /// Removes the present state. Returns false if a directory still has entries.
    fn remove(&mut self, switch: &Switch<'_>) -> io::Result<bool> {
        let Some(parent) = self.places.parent(switch.path)? else { return Ok(true) };
        let is_directory = switch.from.is_some_and(|from| matches!(from.content, Content::Directory | Content::Crowd));
        let done = match is_directory {
            true => parent.remove_dir(switch.path.name()),
            false => parent.remove_file(switch.path.name()),
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(false),
            Err(error) if !is_absence(&error) => return Err(error),
            _ => {}
        }
        self.note(switch.path, parent);
        Ok(true)
    }

    /// Creates the new state. Returns false if something is in the way.
    fn create(&mut self, switch: &Switch<'_>, to: &Node) -> io::Result<bool> {
        let Some(parent) = self.places.parent(switch.path)? else {
            // A directory above was removed since, for example by the user: it is made again with the default mode.
            let Some(above) = switch.path.parent() else { return Ok(false) };
            match self.places.files.directory().create_dir_all(above.as_str()) {
                Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) => {
                    return Ok(false);
                }
                done => done?,
            }
            return if self.places.parent(switch.path)?.is_some() { self.create(switch, to) } else { Ok(false) };
        };
        let name = switch.path.name();
        match &to.content {
            Content::Directory | Content::Crowd => match parent.create_dir(name) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            },
            Content::Link(target) => match rustix::fs::symlinkat(target.as_str(), &*parent, name) {
                Err(rustix::io::Errno::EXIST) => return Ok(false),
                done => done?,
            },
            Content::File { blob: None, .. } => return Ok(false),
            Content::File { blob: Some(blob), .. } => {
                let content = self.pack.read(blob)?;
                let temporary = temporary_name(name, UNFINISHED);
                let written = (|| {
                    // Readable by nobody else until it has its mode.
                    let mut options = OpenOptions::new();
                    options.write(true).create_new(true);
                    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
                    let mut file = parent.open_with(&temporary, &options)?;
                    file.write_all(&content)?;
                    file.set_permissions(Permissions::from_mode(to.mode))?;
                    let file = file.into_std();
                    if to.is_product {
                        let since = Duration::from_nanos(u64::try_from(to.modified).unwrap_or_default());
                        file.set_modified(UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH))?;
                    }
                    self.n_written += 1;
                    if self.n_written <= SYNCED_ONE_BY_ONE_MAX {
                        file.sync_all()?;
                    }
                    parent.rename(&temporary, &parent, name)
                })();
                if let Err(error) = written {
                    let _ = parent.remove_file(&temporary);
                    return Err(error);
                }
            }
        }
        self.note(switch.path, parent);
        Ok(true)
    }

    /// Sets the mode of a path, unless it was changed since. Returns whether it was set.
    fn set_mode(&mut self, switch: &Switch<'_>, to: &Node) -> io::Result<bool> {
        if matches!(to.content, Content::Link(_)) {
            return Ok(false);
        }
        let Some(parent) = self.places.parent(switch.path)? else { return Ok(false) };
        let name = switch.path.name();
        let found = statat(&*parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let mode = mode_of(&found);
        let is_expected = switch.from.is_none_or(|from| from.mode == mode || !from.content.is_like(&to.content));
        if mode == to.mode || !is_expected || FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            return Ok(false);
        }
        parent.set_permissions(name, Permissions::from_mode(to.mode))?;
        Ok(true)
    }

    /// Makes everything durable.
    fn sync(&mut self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if self.n_written > SYNCED_ONE_BY_ONE_MAX || self.dirty.len() > SYNCED_ONE_BY_ONE_MAX {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::syncfs(openat(self.places.files.directory(), ".", flags, Mode::empty())?)?;
            return Ok(());
        }
        for directory in self.dirty.values() {
            sync_directory(directory);
        }
        Ok(())
    }
}

/// Returns the hash of a file; `None` if it cannot be read.
fn hash_of(parent: &Dir, name: &str) -> io::Result<Option<ContentHash>> {
    let mut content = Vec::new();
    match parent.open_with(name, &crate::files::reading()) {
        Ok(mut file) => file.read_to_end(&mut content)?,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(ContentHash::of(&content)))
}
