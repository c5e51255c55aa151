//! Single files and directories below the root, opened through its handle.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, OpenOptions};
use emend_agent::environment::resolve::{self, Node, Tree};
use emend_agent::environment::{Access, DirEntry, EntryKind, EnvError, FileChange, FilePath, Metadata};
use emend_agent::suggest::closest;

use super::attributes::{Attributes, RemovedFiles};
use super::directory::{Kind, Reader, entries, is_exhausted};
use super::error::{describe, invalid, is_absence};
use super::late_sync::LateSync;
use super::made_directories::MadeDirectories;
use super::open::{Opened, on_disk, read_text, reading};
use super::sync::SyncContent as _;
use super::temp_files::{self, UNFINISHED, temporary_name};

/// Access to the files below one directory.
pub(crate) struct RootFiles {
    directory: Dir,
    /// Names of the root: as given, and with all links followed.
    roots: Vec<String>,
    removed: Mutex<RemovedFiles>,
    made: Mutex<MadeDirectories>,
    /// Directories already cleaned of temporary files of killed processes.
    swept: Mutex<BTreeSet<FilePath>>,
    /// The note of these directories, for the next process.
    written: Mutex<Option<PathBuf>>,
    late_sync: LateSync,
}

/// The new content of a file, complete in a temporary file beside it.
struct Prepared<'a> {
    path: &'a FilePath,
    directory: FilePath,
    parent: Dir,
    temporary: String,
}

impl RootFiles {
    pub(crate) fn open(root: &Path) -> Result<Self, EnvError> {
        let shown = root.display().to_string();
        let failed = |error| describe(&shown, &error);
        let absolute = std::path::absolute(root).map_err(failed)?;
        let real = absolute.canonicalize().map_err(failed)?;
        // A name with `..` is replaced by the canonical one. Collecting components drops a trailing slash.
        let climbs = absolute.components().any(|part| part == Component::ParentDir);
        let absolute = if climbs { real.clone() } else { absolute.components().collect() };
        if !real.is_dir() {
            return Err(invalid(&shown, "it is not a directory"));
        }
        let name = |path: &Path| {
            let name = path.to_str().ok_or_else(|| invalid(&shown, "its path is not UTF-8"))?;
            // Windows returns canonical paths with the prefix `\\?\`, which users do not type.
            let name = with_slashes(name);
            Ok(match name.strip_prefix("//?/UNC/") {
                Some(share) => format!("//{share}"),
                None => name.strip_prefix("//?/").unwrap_or(&name).to_owned(),
            })
        };
        let roots = vec![name(&absolute)?, name(&real)?];
        let directory = Dir::open_ambient_dir(&real, ambient_authority()).map_err(failed)?;
        Ok(Self {
            directory,
            roots,
            removed: Mutex::default(),
            made: Mutex::default(),
            swept: Mutex::default(),
            written: Mutex::default(),
            late_sync: LateSync::default(),
        })
    }

    /// Returns the root's handle.
    pub(crate) fn directory(&self) -> &Dir {
        &self.directory
    }

    /// Stores the attributes of removed files, and the directories created for files, in the directory `state`.
    pub(crate) fn store_notes(&self, state: &Path) {
        self.removed_files().store_in(state.join("removed.jsonl"));
        self.made_directories().store_in(state.join("directories.jsonl"));
    }

    /// Notes directories that are about to be created for a file.
    ///
    /// # Errors
    ///
    /// They could not be stored.
    pub(crate) fn note_made(&self, directories: impl IntoIterator<Item = FilePath>) -> io::Result<()> {
        self.made_directories().note(directories)
    }

    /// Returns whether a directory was created for files.
    pub(crate) fn has_made(&self, directory: &FilePath) -> bool {
        self.made_directories().has(directory)
    }

    /// Returns the directories above a removed file that were created for files, the innermost first.
    pub(crate) fn made_above(&self, path: &FilePath) -> Vec<FilePath> {
        let made = self.made_directories();
        std::iter::successors(path.parent(), FilePath::parent).take_while(|above| made.has(above)).collect()
    }

    fn made_directories(&self) -> MutexGuard<'_, MadeDirectories> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the attributes of a file before it was removed.
    pub(crate) fn removed(&self, path: &FilePath) -> Option<Attributes> {
        self.removed_files().get(path)
    }

    /// Notes the attributes of files that are about to be removed.
    ///
    /// # Errors
    ///
    /// They could not be stored.
    pub(crate) fn note_removed(&self, files: &[(FilePath, Attributes)]) -> io::Result<()> {
        self.removed_files().note(files)
    }

    /// Records that the next file at `to` gets the owner and mode bits of the file at `from`.
    pub(crate) fn note_moved(&self, from: &FilePath, to: FilePath) {
        let found = self.directory.symlink_metadata(on_disk(from)).ok().filter(cap_std::fs::Metadata::is_file);
        if let Some(was) = found.as_ref().map(Attributes::from).or_else(|| self.removed(from)) {
            // If they cannot be stored, they are known to this process.
            let _ = self.note_removed(&[(to, was)]);
        }
    }

    fn removed_files(&self) -> MutexGuard<'_, RemovedFiles> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn root(&self) -> &str {
        self.roots.first().map_or("", String::as_str)
    }

    pub(crate) fn real_root(&self) -> &Path {
        Path::new(self.roots.last().map_or("", String::as_str))
    }

    pub(crate) fn metadata(&self, path: &FilePath) -> Result<Option<Metadata>, EnvError> {
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

    /// Returns whether a regular file has more than one name.
    #[cfg(unix)]
    pub(crate) fn has_links(&self, path: &FilePath) -> bool {
        use cap_std::fs::MetadataExt as _;
        let found = self.directory.symlink_metadata(on_disk(path));
        found.is_ok_and(|found| found.is_file() && found.nlink() > 1)
    }

    /// Reads a file of at most [`WHOLE_FILE_BYTES_MAX`] bytes.
    ///
    /// [`WHOLE_FILE_BYTES_MAX`]: super::error::WHOLE_FILE_BYTES_MAX
    pub(crate) fn read(&self, path: &FilePath) -> Result<Vec<u8>, EnvError> {
        self.open_to_read(path)?.read(path)
    }

    /// Reads a file as [`read`](Self::read) does; `None` if nothing exists at `path`.
    pub(crate) fn read_existing(&self, path: &FilePath) -> Result<Option<Vec<u8>>, EnvError> {
        self.open_existing(path)?.map(|opened| opened.read(path)).transpose()
    }

    /// Opens a file to be read as a whole.
    pub(crate) fn open_to_read(&self, path: &FilePath) -> Result<Opened, EnvError> {
        Opened::new(path, self.open_file(path)?)
    }

    /// Opens a file as [`open_to_read`](Self::open_to_read) does; `None` if nothing exists at `path`.
    pub(crate) fn open_existing(&self, path: &FilePath) -> Result<Option<Opened>, EnvError> {
        self.open_file_existing(path)?.map(|file| Opened::new(path, file)).transpose()
    }

    /// Opens a file to be read; `None` if nothing exists at `path`.
    fn open_file_existing(&self, path: &FilePath) -> Result<Option<File>, EnvError> {
        match self.directory.symlink_metadata(on_disk(path)) {
            Ok(found) if found.is_file() => return self.open_looked_at(path, found.file_type()).map(Some),
            Ok(_) => {}
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(describe(path.as_str(), &error)),
        }
        match self.metadata(path)? {
            None => Ok(None),
            Some(found) if found.kind == EntryKind::Directory => Err(EnvError::IsDirectory { path: path.to_string() }),
            Some(_) => self.open_file(path).map(Some),
        }
    }

    /// Changes a file if it has the expected content and `may_change` returns true. The new content is prepared before
    /// that is called.
    pub(crate) fn change(&self, change: &FileChange, may_change: impl FnOnce() -> bool) -> Result<(), EnvError> {
        if let Some(from) = &change.mode_of {
            self.note_moved(from, change.path.clone());
        }
        if self.read_existing(&change.path)? != change.before {
            return Err(EnvError::Changed { path: change.path.to_string() });
        }
        let Some(content) = &change.after else {
            return if may_change() { self.remove(&change.path) } else { Ok(()) };
        };
        let prepared = self.prepare(&change.path, content)?;
        let outcome = match may_change() {
            // The preparation takes time, in which another program may have written to the file.
            true => match self.read_existing(&change.path) {
                Ok(now) if now == change.before => return self.publish(prepared),
                Ok(_) => Err(EnvError::Changed { path: change.path.to_string() }),
                Err(error) => Err(error),
            },
            false => Ok(()),
        };
        // The temporary file does no harm, and the next process removes it.
        let _ = prepared.parent.remove_file(&prepared.temporary);
        self.remove_made(&change.path);
        outcome
    }

    /// Removes temporary files of dead processes from a directory, unless this process has done so before.
    pub(crate) fn sweep_once(&self, path: FilePath, directory: &Dir) {
        if !self.swept.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone()) {
            return;
        }
        temp_files::sweep(directory);
        if let Some(notes) = &*self.written.lock().unwrap_or_else(PoisonError::into_inner) {
            let line = serde_json::to_string(&path).unwrap_or_default() + "\n";
            let file = std::fs::File::options().append(true).create(true).open(notes);
            // Without the note, a temporary file of a killed process stays until a later process writes there.
            let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
        }
    }

    /// Removes temporary files from the directories to which the last process wrote, if it was killed meanwhile. Notes
    /// those of this process in the directory `state`, which is locked.
    pub(crate) fn sweep_written(&self, state: &Path) {
        let notes = state.join("written.jsonl");
        let text = std::fs::read_to_string(&notes).unwrap_or_default();
        for path in text.lines().filter_map(|line| serde_json::from_str::<FilePath>(line).ok()) {
            if let Ok(directory) = self.directory.open_dir(on_disk(&path)) {
                temp_files::sweep(&directory);
            }
        }
        let _ = std::fs::remove_file(&notes);
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(notes);
    }

    /// Removes temporary files that dead processes left beside `path`.
    pub(crate) fn remove_abandoned(&self, path: &FilePath) {
        let Some(parent) = path.parent() else { return };
        if let Ok(directory) = self.directory.open_dir(on_disk(&parent)) {
            self.sweep_once(parent, &directory);
        }
    }

    /// Opens a regular file for reading.
    fn open_file(&self, path: &FilePath) -> Result<File, EnvError> {
        let found = self.directory.symlink_metadata(on_disk(path)).map_err(|error| self.describe_at(path, &error))?;
        self.open_looked_at(path, found.file_type())
    }

    /// Opens what had the type `found` just now.
    fn open_looked_at(&self, path: &FilePath, found: FileType) -> Result<File, EnvError> {
        let failed = |error| self.describe_at(path, &error);
        // Checked before opening, because opening a device can have an effect.
        refuse_unless_file(path, found)?;
        let file = self.directory.open_with(on_disk(path), &reading()).map_err(failed)?;
        refuse_unless_file(path, file.metadata().map_err(failed)?.file_type())?;
        Ok(file)
    }

    /// Writes `content` to a temporary file and renames it to `path`. A reader sees all old or all new bytes.
    pub(crate) fn write(&self, path: &FilePath, content: &[u8]) -> Result<(), EnvError> {
        self.publish(self.prepare(path, content)?)
    }

    /// Writes `content` to a temporary file beside `path` and syncs it.
    fn prepare<'a>(&self, path: &'a FilePath, content: &[u8]) -> Result<Prepared<'a>, EnvError> {
        let failed = |error| describe(path.as_str(), &error);
        let Some(parent) = path.parent() else { return Err(invalid(path.as_str(), "it is the root")) };
        let before = match self.directory.symlink_metadata(on_disk(path)) {
            Ok(before) => Some(before),
            Err(error) if is_absence(&error) => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(before) = &before {
            refuse_unless_replaceable(path, before, false)?;
        }
        if !parent.is_root() {
            let is_missing = |above: &FilePath| {
                self.directory.symlink_metadata(on_disk(above)).is_err_and(|error| is_absence(&error))
            };
            let missing = std::iter::successors(Some(parent.clone()), FilePath::parent).take_while(is_missing);
            let missing: Vec<_> = missing.collect();
            if !missing.is_empty() {
                self.note_made(missing).map_err(failed)?;
                self.directory.create_dir_all(on_disk(&parent)).map_err(|error| self.blocked(path, &error))?;
            }
        }
        // One handle for all following calls, so that they use the same directory.
        let directory = parent;
        let parent = self.directory.open_dir(on_disk(&directory)).map_err(|error| self.blocked(path, &error))?;
        self.sweep_once(directory.clone(), &parent);
        #[cfg(unix)]
        if before.is_some() {
            // A rename needs no write permission on the replaced file, so it is checked here.
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
            if let Some(like) = before.as_ref().map(Attributes::from).or_else(|| self.removed(path)) {
                keep_owner(&file, like);
                file.set_permissions(like.permissions(file.metadata()?.permissions()))?;
            }
            file.write_all(content)?;
            file.sync_content()
        })();
        if let Err(error) = written {
            // The temporary file may not exist, and the first error is the one to report.
            let _ = parent.remove_file(&temporary);
            return Err(failed(error));
        }
        Ok(Prepared { path, directory, parent, temporary })
    }

    /// Renames the temporary file to its target.
    fn publish(&self, Prepared { path, directory, parent, temporary }: Prepared<'_>) -> Result<(), EnvError> {
        if let Err(error) = parent.rename(&temporary, &parent, path.name()) {
            // The first error is the one to report.
            let _ = parent.remove_file(&temporary);
            return Err(describe(path.as_str(), &error));
        }
        self.late_sync.sync(directory, parent);
        Ok(())
    }

    /// Returns the reason why the directories above `path` could not be created.
    fn blocked(&self, path: &FilePath, error: &io::Error) -> EnvError {
        let above = std::iter::successors(path.parent(), FilePath::parent);
        let is_file =
            |path: &FilePath| self.directory.symlink_metadata(on_disk(path)).is_ok_and(|found| !found.is_dir());
        if above.into_iter().any(|path| is_file(&path)) {
            return invalid(path.as_str(), "a directory above it is a file");
        }
        describe(path.as_str(), error)
    }

    pub(crate) fn remove(&self, path: &FilePath) -> Result<(), EnvError> {
        let failed = |error| self.describe_at(path, &error);
        let was = self.directory.symlink_metadata(on_disk(path)).map_err(failed)?;
        refuse_unless_file(path, was.file_type())?;
        self.note_removed(&[(path.clone(), Attributes::from(&was))])
            .map_err(|error| describe(path.as_str(), &error))?;
        self.directory.remove_file(on_disk(path)).map_err(failed)?;
        self.remove_made(path);
        Ok(())
    }

    /// Removes the directories above a removed file that were created for files and are empty.
    pub(crate) fn remove_made(&self, path: &FilePath) {
        for above in self.made_above(path) {
            // A directory with other entries stays, and so do those above it.
            if self.directory.remove_dir(on_disk(&above)).is_err() {
                break;
            }
        }
    }

    pub(crate) fn list(&self, path: &FilePath, depth: usize) -> Result<Vec<DirEntry>, EnvError> {
        let (mut reader, mut found) = (Reader::default(), Vec::new());
        let top = Arc::new(self.open_directory(path)?);
        // Iterative, because a tree may be deeper than the stack. A directory is opened only when it is listed.
        let mut ahead = if depth == 0 { Vec::new() } else { vec![(top, ".".to_owned(), path.clone(), depth)] };
        while let Some((above, name, path, depth)) = ahead.pop() {
            let (directory, entries) = match reader.enter(&above, &name) {
                Ok((directory, entries)) => (Arc::new(directory), entries),
                Err(error) if is_exhausted(&error) => return Err(describe(path.as_str(), &error)),
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

    /// Opens a directory. Fails for files and links.
    pub(crate) fn open_directory(&self, path: &FilePath) -> Result<Dir, EnvError> {
        let failed = |error| self.describe_at(path, &error);
        if !self.directory.symlink_metadata(on_disk(path)).map_err(failed)?.is_dir() {
            return Err(invalid(path.as_str(), "it is not a directory"));
        }
        self.directory.open_dir(on_disk(path)).map_err(failed)
    }

    /// Fills `buffer` with a file's content unless it is binary or unreadable. Returns the number of bytes.
    pub(crate) fn read_text(&self, path: &FilePath, buffer: &mut Vec<u8>) -> Option<usize> {
        let file = self.directory.open_with(on_disk(path), &reading()).ok()?;
        read_text(&file, buffer)
    }

    /// Converts an error at `path`, with suggestions if the path does not exist.
    fn describe_at(&self, path: &FilePath, error: &io::Error) -> EnvError {
        if !is_absence(error) {
            return describe(path.as_str(), error);
        }
        let names = self.names(&path.parent().unwrap_or_default());
        let suggestions = closest(path.name(), names.iter().map(String::as_str), 3);
        EnvError::NotFound { path: path.as_str().to_owned(), suggestions }
    }
}

impl Tree for RootFiles {
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

/// Returns the metadata of the file or directory `name` of `directory`; `None` for other kinds.
pub(crate) fn entry_metadata(directory: &Dir, name: &str) -> Option<Metadata> {
    to_metadata(&directory.symlink_metadata(name).ok()?)
}

/// Gives a new file the owner and group of the file it replaces, as far as permitted.
///
/// Needed for root in a container that works on files of other users. Must be called before the mode bits are set, because
/// a change of owner clears some of them.
pub(crate) fn keep_owner(file: &File, before: Attributes) {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        use rustix::fs::{Gid, Uid, fchown};
        let Some(owner) = before.owner else { return };
        let (user, group) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
        let has = file.metadata().map(|new| (new.uid(), new.gid()));
        if has.is_ok_and(|has| has != owner) && fchown(file, Some(user), Some(group)).is_err() {
            // A member of the group may still set the group.
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

/// Rejects a file that a rename over it would harm: read-only files and files with several hard links.
pub(crate) fn refuse_unless_replaceable(
    path: &FilePath,
    before: &cap_std::fs::Metadata,
    over_read_only: bool,
) -> Result<(), EnvError> {
    refuse_unless_file(path, before.file_type())?;
    let denied = |reason: String| EnvError::PermissionDenied { path: path.as_str().to_owned(), reason };
    if before.permissions().readonly() && !over_read_only {
        return Err(denied("it is read-only".to_owned()));
    }
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        let links = before.nlink();
        if links > 1 {
            return Err(denied(format!("it has {links} hard links, and writing would separate it from the others")));
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

/// Replaces backslashes on Windows: all paths here use `/`.
pub(crate) fn with_slashes(path: &str) -> Cow<'_, str> {
    if cfg!(windows) { Cow::Owned(path.replace('\\', "/")) } else { Cow::Borrowed(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_another_program_writes_after_the_preparation_stays() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.txt");
        let files = RootFiles::open(directory.path()).unwrap();
        let change = |before: Option<&str>| FileChange {
            path: FilePath::clean("a.txt").unwrap(),
            before: before.map(|text| text.as_bytes().to_vec()),
            after: Some(b"ours\n".to_vec()),
            mode_of: None,
            executable: None,
            over_read_only: false,
        };
        for before in [None, Some("theirs\n")] {
            let text = format!("{}theirs\n", before.unwrap_or_default());
            let outcome = files.change(&change(before), || std::fs::write(&file, &text).is_ok());
            assert!(matches!(outcome, Err(EnvError::Changed { .. })), "{outcome:?}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
            std::fs::write(&file, "theirs\n").unwrap();
        }
        files.change(&change(Some("theirs\n")), || true).unwrap();
        let left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!((left.len(), std::fs::read_to_string(&file).unwrap().as_str()), (1, "ours\n"), "{left:?}");
    }
}
