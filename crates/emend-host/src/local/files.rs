//! Single files and directories below the root, opened through its handle.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, OpenOptions};
use emend_agent::env::{Access, DirEntry, EntryKind, EnvError, FilePath, Metadata};
use emend_agent::resolve::{self, Node, Tree};
use emend_agent::suggest::closest;

use super::directory::{self, Kind, Reader};
use super::leftover;

/// The directory that everything happens below.
pub(crate) struct Files {
    directory: Dir,
    /// The root's names: as it was given, and with all links followed.
    roots: Vec<String>,
    /// The files that were removed through here, as they were: one that comes back gets its owner and mode bits again.
    /// And for a file that is about to move, under its new name.
    removed: Mutex<BTreeMap<FilePath, cap_std::fs::Metadata>>,
    /// The directories that were written to, and so hold no leftovers of killed processes.
    swept: Mutex<BTreeSet<FilePath>>,
}

impl Files {
    pub(super) fn open(root: &Path) -> Result<Self, EnvError> {
        let shown = root.display().to_string();
        let failed = |error| describe(&shown, &error);
        let absolute = std::path::absolute(root).map_err(failed)?;
        let real = absolute.canonicalize().map_err(failed)?;
        // A name with `..` in it is no name anyone would use; collecting drops a slash at the end.
        let climbs = absolute.components().any(|part| part == Component::ParentDir);
        let absolute = if climbs { real.clone() } else { absolute.components().collect() };
        if !real.is_dir() {
            return Err(invalid(&shown, "it is not a directory"));
        }
        let name = |path: &Path| {
            let name = path.to_str().ok_or_else(|| invalid(&shown, "its path is not UTF-8"))?;
            // Windows spells canonical paths `\\?\C:\…`, which nobody would type.
            let name = with_slashes(name);
            Ok(name.strip_prefix("//?/").unwrap_or(&name).to_owned())
        };
        let roots = vec![name(&absolute)?, name(&real)?];
        let directory = Dir::open_ambient_dir(&real, ambient_authority()).map_err(failed)?;
        Ok(Self { directory, roots, removed: Mutex::default(), swept: Mutex::default() })
    }

    /// Returns the handle that every path is opened through.
    pub(crate) fn directory(&self) -> &Dir {
        &self.directory
    }

    /// Returns what a file was before it was removed through here.
    pub(crate) fn removed(&self, path: &FilePath) -> Option<cap_std::fs::Metadata> {
        self.removed_files().get(path).cloned()
    }

    /// Keeps what a file was that is removed now.
    pub(crate) fn note_removed(&self, path: FilePath, was: cap_std::fs::Metadata) {
        self.removed_files().insert(path, was);
    }

    /// Has the file that is about to come to `to` get the owner and mode bits of the one at `from`.
    pub(super) fn note_moved(&self, from: &FilePath, to: FilePath) {
        let found = self.directory.symlink_metadata(on_disk(from)).ok().filter(cap_std::fs::Metadata::is_file);
        if let Some(was) = found.or_else(|| self.removed(from)) {
            self.note_removed(to, was);
        }
    }

    fn removed_files(&self) -> MutexGuard<'_, BTreeMap<FilePath, cap_std::fs::Metadata>> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn root(&self) -> &str {
        self.roots.first().map_or("", String::as_str)
    }

    pub(super) fn real_root(&self) -> &Path {
        Path::new(self.roots.last().map_or("", String::as_str))
    }

    pub(super) fn metadata(&self, path: &FilePath) -> Result<Option<Metadata>, EnvError> {
        let found = match self.directory.symlink_metadata(on_disk(path)) {
            Ok(found) => found,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(describe(path.as_str(), &error)),
        };
        if !found.is_symlink() {
            return Ok(to_metadata(&found));
        }
        let Ok(target) = resolve::resolve(self, path.as_str(), Access::Read) else { return Ok(None) };
        let found = self.directory.symlink_metadata(on_disk(&target));
        Ok(found.ok().as_ref().and_then(to_metadata))
    }

    pub(super) fn read(&self, path: &FilePath) -> Result<Vec<u8>, EnvError> {
        let file = self.open_file(path)?;
        let content = file.metadata().and_then(|found| read_up_to(file, bytes_to_read(found.len())));
        content.map_err(|error| describe(path.as_str(), &error))
    }

    /// Opens a regular file to read it.
    fn open_file(&self, path: &FilePath) -> Result<File, EnvError> {
        let failed = |error| self.describe_at(path, &error);
        // Looked at before it is opened: opening a device may already do something.
        refuse_unless_file(path, self.directory.symlink_metadata(on_disk(path)).map_err(failed)?.file_type())?;
        let file = self.directory.open_with(on_disk(path), &reading()).map_err(failed)?;
        refuse_unless_file(path, file.metadata().map_err(failed)?.file_type())?;
        Ok(file)
    }

    /// Writes `content` to a sibling, then puts that in the place of the file: a reader sees all old or all new bytes.
    pub(super) fn write(&self, path: &FilePath, content: &[u8]) -> Result<(), EnvError> {
        let failed = |error| describe(path.as_str(), &error);
        let Some(parent) = path.parent() else { return Err(invalid(path.as_str(), "it is the root")) };
        let before = match self.directory.symlink_metadata(on_disk(path)) {
            Ok(before) => Some(before),
            Err(error) if is_absence(&error) => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(before) = &before {
            refuse_unless_replaceable(path, before)?;
        }
        if !parent.is_root() {
            self.directory.create_dir_all(on_disk(&parent)).map_err(|error| self.blocked(path, &error))?;
        }
        // One handle for all that follows, so that all of it happens in the same directory.
        let directory = parent;
        let parent = self.directory.open_dir(on_disk(&directory)).map_err(failed)?;
        if self.swept.lock().unwrap_or_else(PoisonError::into_inner).insert(directory) {
            leftover::sweep(&parent);
        }
        #[cfg(unix)]
        if before.is_some() {
            // Taking the place of a file needs no right to write it, which is no reason to do it without.
            use rustix::fs::{Access, AtFlags, accessat};
            if let Err(error @ rustix::io::Errno::ACCESS) =
                accessat(&parent, path.name(), Access::WRITE_OK, AtFlags::empty())
            {
                return Err(failed(error.into()));
            }
        }
        let temporary = temporary_name(path.name(), UNFINISHED);
        let written = (|| {
            let mut file = parent.open_with(&temporary, OpenOptions::new().write(true).create_new(true))?;
            if let Some(like) = before.or_else(|| self.removed(path)) {
                keep_owner(&file, &like);
                file.set_permissions(like.permissions())?;
            }
            file.write_all(content)?;
            file.sync_all()?;
            parent.rename(&temporary, &parent, path.name())
        })();
        if let Err(error) = written {
            // It may not exist; what failed first is what matters.
            let _ = parent.remove_file(&temporary);
            return Err(failed(error));
        }
        sync_directory(&parent);
        Ok(())
    }

    /// Says why the directories above `path` could not be made.
    fn blocked(&self, path: &FilePath, error: &io::Error) -> EnvError {
        let above = std::iter::successors(path.parent(), FilePath::parent);
        let is_file =
            |path: &FilePath| self.directory.symlink_metadata(on_disk(path)).is_ok_and(|found| !found.is_dir());
        if above.into_iter().any(|path| is_file(&path)) {
            return invalid(path.as_str(), "a file is in the place of a directory above it");
        }
        describe(path.as_str(), error)
    }

    pub(super) fn remove(&self, path: &FilePath) -> Result<(), EnvError> {
        let failed = |error| self.describe_at(path, &error);
        let was = self.directory.symlink_metadata(on_disk(path)).map_err(failed)?;
        refuse_unless_file(path, was.file_type())?;
        self.directory.remove_file(on_disk(path)).map_err(failed)?;
        self.note_removed(path.clone(), was);
        Ok(())
    }

    pub(super) fn list(&self, path: &FilePath, depth: usize) -> Result<Vec<DirEntry>, EnvError> {
        let (mut reader, mut found) = (Reader::default(), Vec::new());
        let top = Arc::new(self.open_directory(path)?);
        // Not by recursion: a tree may be deeper than a stack. A directory is opened when its turn comes.
        let mut ahead = if depth == 0 { Vec::new() } else { vec![(top, ".".to_owned(), path.clone(), depth)] };
        while let Some((above, name, path, depth)) = ahead.pop() {
            let (directory, entries) = match reader.enter(&above, &name) {
                Ok((directory, entries)) => (Arc::new(directory), entries),
                Err(error) if directory::is_exhausted(&error) => return Err(describe(path.as_str(), &error)),
                Err(_) => continue,
            };
            for (name, kind) in entries {
                if name == ".git" {
                    continue;
                }
                let path = path.join(&name);
                let metadata = match kind {
                    Kind::Other => self.metadata(&path).ok().flatten(),
                    _ => entry_metadata(&directory, &name),
                };
                let Some(metadata) = metadata else { continue };
                if kind == Kind::Directory && depth > 1 {
                    ahead.push((Arc::clone(&directory), name, path.clone(), depth - 1));
                }
                found.push(DirEntry { path, metadata });
            }
        }
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Opens a directory, refusing files and links.
    pub(super) fn open_directory(&self, path: &FilePath) -> Result<Dir, EnvError> {
        let failed = |error| self.describe_at(path, &error);
        if !self.directory.symlink_metadata(on_disk(path)).map_err(failed)?.is_dir() {
            return Err(invalid(path.as_str(), "it is not a directory"));
        }
        self.directory.open_dir(on_disk(path)).map_err(failed)
    }

    /// Fills `buffer` with a file's content unless it is binary or unreadable. Returns how many bytes are filled.
    pub(super) fn read_text(&self, path: &FilePath, buffer: &mut Vec<u8>) -> Option<usize> {
        let file = self.directory.open_with(on_disk(path), &reading()).ok()?;
        read_text(&file, buffer)
    }

    /// Says what went wrong at `path`, with suggestions if it is not there.
    fn describe_at(&self, path: &FilePath, error: &io::Error) -> EnvError {
        if !is_absence(error) {
            return describe(path.as_str(), error);
        }
        let names = self.names(&path.parent().unwrap_or_default());
        let suggestions = closest(path.name(), names.iter().map(String::as_str), 3);
        EnvError::NotFound { path: path.as_str().to_owned(), suggestions }
    }
}

impl Tree for Files {
    fn roots(&self) -> &[String] {
        &self.roots
    }

    fn look(&self, path: &FilePath) -> Result<Node, EnvError> {
        let found = match self.directory.symlink_metadata(on_disk(path)) {
            Ok(found) => found.file_type(),
            Err(error) if is_absence(&error) => return Ok(Node::Missing),
            Err(error) => return Err(describe(path.as_str(), &error)),
        };
        Ok(if found.is_file() {
            Node::File
        } else if found.is_dir() {
            Node::Directory
        } else if found.is_symlink() {
            let target = self.directory.read_link_contents(on_disk(path));
            let target = target.map_err(|error| describe(path.as_str(), &error))?;
            let target = target.to_str().ok_or_else(|| invalid(path.as_str(), "a link whose target is not UTF-8"))?;
            Node::Link(with_slashes(target).into_owned())
        } else {
            Node::Special
        })
    }

    fn names(&self, directory: &FilePath) -> Vec<String> {
        let Ok(directory) = self.directory.open_dir(on_disk(directory)) else { return Vec::new() };
        entries(&directory).map(|(name, _)| name).collect()
    }
}

/// Returns the names and types in a directory, in no order, as far as they can be read.
pub(super) fn entries(directory: &Dir) -> impl Iterator<Item = (String, FileType)> {
    let entries = directory.entries().into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?)))
}

/// Returns what is known of the file or directory `name` of `directory`, `None` of anything else.
pub(super) fn entry_metadata(directory: &Dir, name: &str) -> Option<Metadata> {
    to_metadata(&directory.symlink_metadata(name).ok()?)
}

/// Reads the file `name` of `directory` if it is a regular one, not a link.
pub(super) fn read_entry(directory: &Dir, name: &str) -> Option<Vec<u8>> {
    let file = directory.open_with(name, &reading()).ok()?;
    let mut buffer = Vec::new();
    let filled = read_text(&file, &mut buffer)?;
    buffer.truncate(filled);
    Some(buffer)
}

/// Returns how much is read of a file of `len` bytes: what it had when it was opened. A log may grow faster than it is
/// read, and would never come to its end. Files that the kernel makes up say that they are empty.
fn bytes_to_read(len: u64) -> u64 {
    if len == 0 { 1 << 20 } else { len }
}

fn read_up_to(file: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(bytes_max).read_to_end(&mut content)?;
    Ok(content)
}

fn read_text(file: &File, buffer: &mut Vec<u8>) -> Option<usize> {
    let found = file.metadata().ok().filter(cap_std::fs::Metadata::is_file)?;
    fill_with_text(file, usize::try_from(bytes_to_read(found.len())).ok()?, buffer)
}

/// Fills `buffer` with up to `bytes_max` bytes unless they are binary. Returns how many are filled.
fn fill_with_text(mut file: impl Read, bytes_max: usize, buffer: &mut Vec<u8>) -> Option<usize> {
    let mut filled = 0;
    while filled < bytes_max {
        // The first read stops where binary files are told apart, so that large ones are not read for nothing.
        let until = if filled == 0 { bytes_max.min(emend_agent::search::BINARY_PROBE_BYTES) } else { bytes_max };
        if buffer.len() < until {
            buffer.resize(until, 0);
        }
        match file.read(&mut buffer[filled..until]) {
            Ok(0) => return Some(filled),
            Ok(count) if filled == 0 && emend_agent::search::is_binary(&buffer[..count]) => return None,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(filled)
}

/// Returns how a file is opened to be read: a FIFO does not block, and a link in the last place is not followed.
pub(crate) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options
}

/// What ends the name of a file while it is written; worth nothing once its process is dead.
pub(crate) const UNFINISHED: &str = ".emend-tmp";

/// What ends the name of a file that a commit has prepared; worth keeping for as long as there is a journal of it.
pub(crate) const PREPARED: &str = ".emend-new";

/// Returns a name for a new sibling of `name` that nobody else uses at the same time.
pub(crate) fn temporary_name(name: &str, suffix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // A name has at most 255 bytes on the usual file systems.
    let mut end = name.len().min(200);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!(".{}.{}-{count}{suffix}", &name[..end], std::process::id())
}

/// Makes a rename survive a power cut, where the system can. That it is done does not hang on this.
fn sync_directory(directory: &Dir) {
    // Opened as a file: a directory's own handle only stands for its path, and cannot be synced.
    if cfg!(unix)
        && let Ok(directory) = directory.open_with(".", &reading())
    {
        let _ = directory.sync_all();
    }
}

/// Gives a new file the owner and group of the one it replaces, as far as this process may: root in a container works
/// on files of other users. Comes before the mode bits, some of which this clears.
pub(crate) fn keep_owner(file: &File, before: &cap_std::fs::Metadata) {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        use rustix::fs::{Gid, Uid, fchown};
        let (user, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
        let has = file.metadata().map(|new| (new.uid(), new.gid()));
        if has.is_ok_and(|has| has != (before.uid(), before.gid())) && fchown(file, Some(user), Some(group)).is_err() {
            // A member of the group may still give it the group.
            let _ = fchown(file, None, Some(group));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, before);
}

fn refuse_unless_file(path: &FilePath, found: FileType) -> Result<(), EnvError> {
    let reason = if found.is_file() {
        return Ok(());
    } else if found.is_dir() {
        "it is a directory"
    } else if found.is_symlink() {
        "it is a link"
    } else {
        "it is not a regular file"
    };
    Err(invalid(path.as_str(), reason))
}

/// Refuses what putting a new file in its place would harm.
pub(crate) fn refuse_unless_replaceable(path: &FilePath, before: &cap_std::fs::Metadata) -> Result<(), EnvError> {
    refuse_unless_file(path, before.file_type())?;
    let denied = |reason: String| EnvError::PermissionDenied { path: path.as_str().to_owned(), reason };
    if before.permissions().readonly() {
        return Err(denied("it is read-only".to_owned()));
    }
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        let links = before.nlink();
        if links > 1 {
            return Err(denied(format!("it has {links} hard links, and writing would part it from the others")));
        }
    }
    Ok(())
}

fn to_metadata(found: &cap_std::fs::Metadata) -> Option<Metadata> {
    let (kind, size) = match found.file_type() {
        kind if kind.is_file() => (EntryKind::File, found.len()),
        kind if kind.is_dir() => (EntryKind::Directory, 0),
        _ => return None,
    };
    let modified = found.modified().ok().map(cap_std::time::SystemTime::into_std);
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified_ms = since.and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or_default();
    Some(Metadata { kind, size, modified_ms })
}

pub(crate) fn on_disk(path: &FilePath) -> &OsStr {
    OsStr::new(if path.is_root() { "." } else { path.as_str() })
}

/// Writes a path with `/`, as all paths here are.
pub(super) fn with_slashes(path: &str) -> Cow<'_, str> {
    if cfg!(windows) { Cow::Owned(path.replace('\\', "/")) } else { Cow::Borrowed(path) }
}

pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(crate) fn invalid(path: &str, reason: &str) -> EnvError {
    EnvError::InvalidPath { path: path.to_owned(), reason: reason.to_owned() }
}

pub(crate) fn describe(path: &str, error: &io::Error) -> EnvError {
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.kind() {
        io::ErrorKind::NotFound => EnvError::NotFound { path, suggestions: Vec::new() },
        io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::InvalidInput => EnvError::InvalidPath { path, reason },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            EnvError::PermissionDenied { path, reason }
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => EnvError::NoSpace { path, reason },
        _ => EnvError::Io { path, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_faster_than_it_is_read_is_what_it_was() {
        for (len, expected) in [(5, 5), (0, 1 << 20)] {
            assert_eq!(read_up_to(io::repeat(b'x'), bytes_to_read(len)).unwrap().len(), expected, "{len}");
        }
        let mut buffer = vec![b'?'; 3];
        for (bytes_max, expected) in [(5, 5), (100_000, 100_000), (2, 2)] {
            assert_eq!(fill_with_text(io::repeat(b'x'), bytes_max, &mut buffer), Some(expected));
            assert!(buffer[..expected].iter().all(|&byte| byte == b'x'), "{bytes_max}");
        }
        assert_eq!(fill_with_text(&b"short"[..], 100_000, &mut buffer), Some(5));
        assert_eq!(fill_with_text(&b"a\0b"[..], 3, &mut buffer), None);
    }

    #[test]
    fn errors_of_the_system_have_their_codes() {
        #[track_caller]
        fn check(kind: io::ErrorKind, expected: &str) {
            assert_eq!(describe("a.txt", &kind.into()).code().as_str(), expected, "{kind}");
        }
        check(io::ErrorKind::NotFound, "not_found");
        check(io::ErrorKind::IsADirectory, "invalid_argument");
        check(io::ErrorKind::PermissionDenied, "permission_denied");
        check(io::ErrorKind::ReadOnlyFilesystem, "permission_denied");
        check(io::ErrorKind::StorageFull, "limit_reached");
        check(io::ErrorKind::QuotaExceeded, "limit_reached");
        check(io::ErrorKind::TimedOut, "io_error");
    }
}
