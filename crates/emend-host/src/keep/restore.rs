//! Changes paths from one kept state to another, without following links.
//!
//! Each path is changed only if it holds the expected state, so an interrupted restoration can be repeated. A file whose
//! content is not stored is never deleted or overwritten, but moved aside. A file with hard links is written in place only
//! if it has the links that it had when the state was kept. Otherwise it becomes a file of its own: the other names keep
//! their content and mode bits.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, OpenOptions, Permissions, PermissionsExt as _};
use emend_agent::environment::FilePath;
use emend_edit::ContentHash;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, mknodat, openat, readlinkat, statat};

use super::aside::Aside;
use super::index::staged;
use super::names::{self, on_disk, text_of};
use super::node::{Change, Content, Node, inode_of, is_directory};
use super::pack::Pack;
use super::scan::{mode_of, parent_of, stamp};
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

impl Switch<'_> {
    /// Returns whether both states have the same content, so that at most the mode bits differ.
    pub(super) fn keeps_content(&self) -> bool {
        matches!((self.from, self.to), (Some(from), Some(to)) if from.has_same_content(to))
    }
}

/// Returns the switch that undoes a change.
pub(super) fn backwards(change: &Change) -> Switch<'_> {
    Switch { path: &change.path, from: change.after.as_ref(), to: change.before.as_ref() }
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
///
/// A path that the system does not permit to change is left alone, and does not keep others from being restored.
pub(super) fn restore(places: Places<'_>, pack: &mut Pack, switches: &[Switch<'_>]) -> io::Result<Vec<Switched>> {
    let files = places.files;
    let mut restore = Restore::new(places, pack, switches);
    let mut outcomes = Vec::with_capacity(switches.len());
    for switch in switches {
        outcomes.push(permitted(switch, restore.places.look(switch), Switched::LeftAlone)?);
    }
    for (switch, outcome) in switches.iter().zip(&mut outcomes) {
        if *outcome == Switched::LeftAlone && names::is_index(switch.path) {
            *outcome = permitted(switch, restore.look_at_index(switch), Switched::LeftAlone)?;
        }
    }
    keep_moved_branches(files, switches, &mut outcomes);
    // Contents of directories go before the directories, and come after them.
    for (switch, outcome) in switches.iter().zip(&mut outcomes).rev() {
        let replaces = switch
            .from
            .zip(switch.to)
            .is_some_and(|(from, to)| from.content.is_like(&to.content) && !matches!(from.content, Content::Link(_)));
        if *outcome == Switched::Done
            && switch.from.is_some()
            && !replaces
            && !permitted(switch, restore.remove(switch), false)?
        {
            *outcome = Switched::LeftAlone;
        }
    }
    for (switch, outcome) in switches.iter().zip(&mut outcomes) {
        if let (Switched::Done, Some(to)) = (*outcome, switch.to)
            && !permitted(switch, restore.create(switch, to), false)?
        {
            *outcome = Switched::LeftAlone;
        }
    }
    // Last, because a directory without write permission takes no files.
    for (switch, outcome) in switches.iter().zip(&mut outcomes).rev() {
        if let (true, Some(to)) = (*outcome != Switched::LeftAlone, switch.to)
            && let Some(set) = permitted(switch, restore.set_mode(switch, to), None)?
        {
            *outcome = set;
        }
    }
    restore.sync()?;
    Ok(outcomes)
}

/// Makes each path a file of its own, with the same content and mode bits, if it still is the file that a command left
/// there and has hard links that it had not before. Then a line log can write it.
pub(super) fn separate(places: Places<'_>, pack: &mut Pack, switches: &[Switch<'_>]) -> io::Result<()> {
    let mut restore = Restore::new(places, pack, switches);
    for switch in switches {
        // A file that stays linked is left alone by the line log, which names it.
        permitted(switch, restore.separate(switch), ())?;
    }
    restore.sync()
}

/// Returns `refused` if the system did not permit a change. Any other error names the path.
pub(super) fn permitted<T>(switch: &Switch<'_>, done: io::Result<T>, refused: T) -> io::Result<T> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(refused),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", names::shown(switch.path)))),
        done => done,
    }
}

/// Leaves a repository alone in which a branch was moved or made since: its other branches and its index belong together.
fn keep_moved_branches(files: &RootFiles, switches: &[Switch<'_>], outcomes: &mut [Switched]) {
    let repository = |switch: &Switch<'_>| names::repository(switch.path).map(|(directory, _)| directory.to_owned());
    let is_left = |(switch, outcome): &(&Switch<'_>, &Switched)| {
        **outcome == Switched::LeftAlone && names::is_branch(switch.path)
    };
    let mut moved: BTreeSet<String> =
        switches.iter().zip(&*outcomes).filter(is_left).filter_map(|(switch, _)| repository(switch)).collect();
    let is_known = |path: &FilePath| switches.binary_search_by(|switch| switch.path.cmp(path)).is_ok();
    let mut left_whole = BTreeSet::new();
    for switch in switches.iter().filter(|switch| switch.to.is_none()) {
        let Some((directory, "")) = names::repository(switch.path) else { continue };
        // The whole repository would go.
        let heads = switch.path.join("refs").join("heads");
        let found = files.directory().read_dir(&*on_disk(heads.as_str())).into_iter().flatten().flatten();
        let has_more =
            found.map(|entry| heads.join(&text_of(entry.file_name().as_bytes()))).any(|path| !is_known(&path));
        if has_more || moved.contains(directory) {
            left_whole.insert(directory.to_owned());
        }
    }
    moved.extend(left_whole.iter().cloned());
    for (switch, outcome) in switches.iter().zip(outcomes) {
        let Some(directory) = repository(switch).filter(|directory| moved.contains(directory)) else { continue };
        if names::is_branch(switch.path) || names::is_note(switch.path) || left_whole.contains(&directory) {
            *outcome = Switched::LeftAlone;
        }
    }
}

/// Makes a change in a directory. If the directory permits no changes, its owner permits them meanwhile.
fn in_writable<T>(directory: &Dir, change: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let refused = match change() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        done => return done,
    };
    let mode = Mode::from_raw_mode(fstat(directory)?.st_mode & 0o7777);
    if mode.contains(Mode::WUSR | Mode::XUSR) || fchmod(directory, mode | Mode::RWXU).is_err() {
        return Err(refused);
    }
    let done = change();
    fchmod(directory, mode)?;
    done
}

/// The directories of paths.
pub(super) struct Places<'a> {
    files: &'a RootFiles,
    aside: &'a Aside,
    /// The directory of the last path.
    last: Option<(FilePath, Arc<Dir>)>,
    /// Whether a file that was deleted since comes back. Its content after the change is stored, so nothing is lost.
    restores_deleted: bool,
    /// Whether something can come in the place of a directory that was removed since, such as with the last file in it.
    over_removed_directories: bool,
    /// Directories that were there when the undo began. Something can come in their place when line logs have removed them
    /// with the last file in them.
    gave_way: Option<&'a BTreeSet<FilePath>>,
    /// Whether an earlier process was killed during the same undo or redo. It may have removed the state to replace, and not
    /// yet created the one to restore.
    resumes: bool,
}

impl<'a> Places<'a> {
    pub(super) fn of(files: &'a RootFiles, aside: &'a Aside) -> Self {
        let (last, gave_way) = (None, None);
        let (restores_deleted, over_removed_directories, resumes) = (false, false, false);
        Self { files, aside, last, restores_deleted, over_removed_directories, gave_way, resumes }
    }

    /// Returns these places for an undo that may restore files that were deleted since.
    pub(super) fn restoring_deleted(self, restores_deleted: bool) -> Self {
        Self { restores_deleted, ..self }
    }

    /// Returns these places for a redo: an undo removes the directories of the files that it removes.
    pub(super) fn over_removed_directories(self) -> Self {
        Self { over_removed_directories: true, ..self }
    }

    /// Returns these places for an undo that began with these directories.
    pub(super) fn giving_way(self, directories: &'a BTreeSet<FilePath>) -> Self {
        Self { gave_way: Some(directories), ..self }
    }

    /// Returns these places for an undo or redo that may have been interrupted.
    pub(super) fn resuming(self, resumes: bool) -> Self {
        Self { resumes, ..self }
    }

    fn has_given_way(&self, path: &FilePath) -> bool {
        self.gave_way.is_some_and(|directories| directories.contains(path))
    }

    /// Returns the mode bits of a path; `None` if nothing is there.
    pub(super) fn mode(&mut self, path: &FilePath) -> io::Result<Option<u32>> {
        let Some(parent) = self.parent(path)? else { return Ok(None) };
        Ok(statat(&*parent, &*on_disk(path.name()), AtFlags::SYMLINK_NOFOLLOW).ok().map(|found| mode_of(&found)))
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
        let name = on_disk(switch.path.name());
        let found = match &parent {
            Some(parent) => match statat(&**parent, &*name, AtFlags::SYMLINK_NOFOLLOW) {
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
                // The restoration was interrupted.
                (Some(from), Some(_)) if self.resumes || self.aside.has(from) || self.restores_deleted => {
                    Switched::Done
                }
                (from, Some(_)) if self.over_removed_directories && is_directory(from) => Switched::Done,
                (from, Some(_)) if is_directory(from) && self.has_given_way(switch.path) => Switched::Done,
                (Some(_), Some(_)) => Switched::LeftAlone,
            });
        };
        let kind = FileType::from_raw_mode(found.st_mode);
        if let (Some(from), Some(to), FileType::RegularFile | FileType::Directory) = (switch.from, switch.to, kind)
            && switch.keeps_content()
            && (kind == FileType::Directory) == is_directory(Some(from))
        {
            // Only the mode bits differ. The content may be another one by now.
            let is_known = [from.mode, to.mode].contains(&mode_of(&found));
            return Ok(if is_known { Switched::Before } else { Switched::LeftAlone });
        }
        let mut hash = None;
        let mut holds = |node: Option<&Node>| match node {
            Some(node) => holds(&parent, &name, &found, node, &mut hash),
            None => Ok(false),
        };
        // If both sides have the same content, only the mode differs.
        Ok(match (holds(switch.to)?, holds(switch.from)?) {
            (true, _) => Switched::Before,
            (false, true) => Switched::Done,
            (false, false) => Switched::LeftAlone,
        })
    }
}

/// Returns whether the path `name` of `parent` is as a node says. `hash` is that of the content once it is known.
fn holds(
    parent: &Dir,
    name: &OsStr,
    found: &Stat,
    node: &Node,
    hash: &mut Option<Option<ContentHash>>,
) -> io::Result<bool> {
    let marks = stamp(found);
    Ok(match (&node.content, FileType::from_raw_mode(found.st_mode)) {
        (Content::File { blob: Some(blob), .. }, FileType::RegularFile) => {
            blob.len == marks.size && {
                if hash.is_none() {
                    *hash = Some(hash_of(parent, name)?);
                }
                hash.flatten() == Some(blob.hash)
            }
        }
        (Content::File { blob: None, .. }, FileType::RegularFile) => {
            (node.size, node.modified) == (marks.size, marks.modified)
        }
        (Content::Link(target), FileType::Symlink) => {
            text_of(readlinkat(parent, name, Vec::new())?.to_bytes()) == *target
        }
        (Content::Directory | Content::Crowd, FileType::Directory) | (Content::Fifo, FileType::Fifo) => true,
        _ => false,
    })
}

struct Restore<'a> {
    places: Places<'a>,
    pack: &'a mut Pack,
    /// The directories whose entries changed.
    dirty: BTreeMap<FilePath, Arc<Dir>>,
    n_written: usize,
    /// Number of names that a file had in the state to restore and has no longer, by inode.
    lost_names: BTreeMap<u64, u64>,
}

impl<'a> Restore<'a> {
    fn new(places: Places<'a>, pack: &'a mut Pack, switches: &[Switch<'_>]) -> Self {
        let mut lost_names = BTreeMap::new();
        for switch in switches {
            let (from, to) = (inode_of(switch.from), inode_of(switch.to));
            if let Some(inode) = to.filter(|_| from != to) {
                *lost_names.entry(inode).or_default() += 1;
            }
        }
        Self { places, pack, dirty: BTreeMap::new(), n_written: 0, lost_names }
    }

    /// Returns whether a file has hard links other than those that it had in the state to restore. Nothing may be written
    /// into it then.
    fn has_other_links(&self, found: &Stat, to: Option<&Node>) -> bool {
        let marks = stamp(found);
        let n_lost = self.lost_names.get(&marks.inode).copied().unwrap_or_default();
        let had = |to: &Node| inode_of(Some(to)) == Some(marks.inode) && to.links == marks.links + n_lost;
        FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && marks.links > 1 && !to.is_some_and(had)
    }

    /// Compares what is staged in a git index with both states of a switch: git may have noted other times of files since.
    fn look_at_index(&mut self, switch: &Switch<'_>) -> io::Result<Switched> {
        let content = match self.places.files.read(switch.path) {
            Ok(content) => content,
            Err(_) => return Ok(Switched::LeftAlone),
        };
        let Some(now) = staged(&content) else { return Ok(Switched::LeftAlone) };
        let mut holds = |node: Option<&Node>| match node.map(|node| &node.content) {
            Some(Content::File { blob: Some(blob), .. }) => {
                Ok::<bool, io::Error>(staged(&self.pack.read(blob)?).is_some_and(|kept| kept == now))
            }
            _ => Ok(false),
        };
        Ok(match (holds(switch.to)?, holds(switch.from)?) {
            (true, _) => Switched::Before,
            (false, true) => Switched::Done,
            (false, false) => Switched::LeftAlone,
        })
    }

    fn separate(&mut self, switch: &Switch<'_>) -> io::Result<()> {
        let Some(parent) = self.places.parent(switch.path)? else { return Ok(()) };
        let name = on_disk(switch.path.name());
        let Ok(found) = statat(&*parent, &*name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        match switch.from {
            Some(from)
                if inode_of(Some(from)) == Some(stamp(&found).inode) && self.has_other_links(&found, switch.to) =>
            {
                self.copy_over(switch.path, parent, &Node { mode: mode_of(&found), ..from.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Replaces an entry by a new file with the same content.
    fn copy_over(&mut self, path: &FilePath, parent: Arc<Dir>, like: &Node) -> io::Result<()> {
        let mut content = Vec::new();
        parent.open_with(&*on_disk(path.name()), &crate::files::reading())?.read_to_end(&mut content)?;
        in_writable(&parent, || self.write(&parent, path, like, &content))?;
        self.n_written += 1;
        self.note(path, parent);
        Ok(())
    }

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
        let name = on_disk(switch.path.name());
        let done = in_writable(&parent, || match switch.from {
            Some(from) if matches!(from.content, Content::Directory | Content::Crowd) => {
                parent.remove_dir(&*name).map(|()| true)
            }
            Some(from) if from.marks().is_some() => self.places.aside.take(&parent, &name, from),
            _ => parent.remove_file(&*name).map(|()| true),
        });
        match done {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(false),
            Err(error) if !is_absence(&error) => return Err(error),
            Ok(false) => return Ok(false),
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
            match self.places.files.directory().create_dir_all(&*on_disk(above.as_str())) {
                Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) => {
                    return Ok(false);
                }
                done => done?,
            }
            return if self.places.parent(switch.path)?.is_some() { self.create(switch, to) } else { Ok(false) };
        };
        let name = on_disk(switch.path.name());
        // Nothing that is not stored is overwritten.
        if let Some(from) = switch.from.filter(|from| from.marks().is_some() && from.content.is_like(&to.content)) {
            let is_there = statat(&*parent, &*name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            if is_there && !in_writable(&parent, || self.places.aside.take(&parent, &name, from))? {
                return Ok(false);
            }
        }
        let is_made = match &to.content {
            Content::Directory | Content::Crowd => {
                match in_writable(&parent, || parent.create_dir(&*name)) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
                true
            }
            Content::Link(target) => made(in_writable(&parent, || {
                rustix::fs::symlinkat(&*on_disk(target), &*parent, &*name).map_err(io::Error::from)
            }))?,
            Content::Fifo => made(in_writable(&parent, || {
                let mode = Mode::from_raw_mode(to.mode);
                mknodat(&*parent, &*name, FileType::Fifo, mode, 0).map_err(io::Error::from)
            }))?,
            Content::Special => false,
            Content::File { blob: None, .. } => in_writable(&parent, || self.places.aside.give(&parent, &name, to))?,
            Content::File { blob: Some(blob), .. } => {
                let content = self.pack.read(blob)?;
                let found = statat(&*parent, &*name, AtFlags::SYMLINK_NOFOLLOW).ok();
                let is_linked = |found: &Stat| stamp(found).links > 1 && !self.has_other_links(found, Some(to));
                if found.as_ref().is_some_and(is_linked) && switch.from.is_some() {
                    write_through(&parent, &name, &content)?;
                } else {
                    let is_file = |found: &Stat| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
                    let is_users = |found: &Stat| switch.from.is_some_and(|from| from.mode != mode_of(found));
                    let mode = found.filter(is_file).filter(is_users).map_or(to.mode, |found| mode_of(&found));
                    let to = &Node { mode, ..to.clone() };
                    in_writable(&parent, || self.write(&parent, switch.path, to, &content))?;
                    self.n_written += 1;
                }
                true
            }
        };
        if is_made {
            self.note(switch.path, parent);
        }
        Ok(is_made)
    }

    /// Writes a file whole, then gives it its name.
    fn write(&self, parent: &Dir, path: &FilePath, to: &Node, content: &[u8]) -> io::Result<()> {
        let name = &*on_disk(path.name());
        // Build tools and git compare times.
        let keeps_time = to.is_product || names::repository(path).is_some();
        self.places.files.sweep_once(path.parent().unwrap_or_default(), parent);
        let temporary = temporary_name(&name.to_string_lossy(), UNFINISHED);
        let written = (|| {
            // Readable by nobody else until it has its mode.
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = parent.open_with(&temporary, &options)?;
            file.write_all(content)?;
            file.set_permissions(Permissions::from_mode(to.mode))?;
            let file = file.into_std();
            if keeps_time {
                let since = Duration::from_nanos(u64::try_from(to.modified).unwrap_or_default());
                file.set_modified(UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH))?;
            }
            if self.n_written < SYNCED_ONE_BY_ONE_MAX {
                file.sync_all()?;
            }
            parent.rename(&temporary, parent, name)
        })();
        if written.is_err() {
            let _ = parent.remove_file(&temporary);
        }
        written
    }

    /// Sets the mode of a path, unless it was changed since. Returns the outcome if it had to be set.
    fn set_mode(&mut self, switch: &Switch<'_>, to: &Node) -> io::Result<Option<Switched>> {
        if matches!(to.content, Content::Link(_)) {
            return Ok(None);
        }
        let Some(parent) = self.places.parent(switch.path)? else { return Ok(None) };
        let name = on_disk(switch.path.name());
        let found = statat(&*parent, &*name, AtFlags::SYMLINK_NOFOLLOW)?;
        let mode = mode_of(&found);
        let is_expected = switch.from.is_none_or(|from| from.mode == mode || !from.content.is_like(&to.content));
        if mode == to.mode || !is_expected || FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            return Ok(None);
        }
        if !self.has_other_links(&found, Some(to)) {
            parent.set_permissions(&*name, Permissions::from_mode(to.mode))?;
            return Ok(Some(Switched::Done));
        }
        // A file without a stored content may be too large to be copied.
        let is_stored = matches!(to.content, Content::File { blob: Some(_), .. });
        let is_apart = is_stored && permitted(switch, self.copy_over(switch.path, parent, to).map(|()| true), false)?;
        Ok(Some(if is_apart { Switched::Done } else { Switched::LeftAlone }))
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
fn hash_of(parent: &Dir, name: &OsStr) -> io::Result<Option<ContentHash>> {
    let mut content = Vec::new();
    match parent.open_with(name, &crate::files::reading()) {
        Ok(mut file) => file.read_to_end(&mut content)?,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(ContentHash::of(&content)))
}

/// Returns false if something is in the way of a new entry.
fn made(done: io::Result<()>) -> io::Result<bool> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        done => done.map(|()| true),
    }
}

/// Writes a file in place, because it has other hard links that must not be separated from it.
fn write_through(parent: &Dir, name: &OsStr, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = std::fs::File::from(openat(parent, name, flags, Mode::empty())?);
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

/// Returns the error of an undo or redo that may have changed some paths before.
pub(super) fn partly(error: &io::Error, action: &str) -> io::Error {
    let message = format!("{error}; some files may be changed back already; repeat the {action} to complete it");
    io::Error::new(error.kind(), message)
}
