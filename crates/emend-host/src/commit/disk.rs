//! The system calls of a commit. Each is reported to an observer before it is made.
//!
//! No other file of this module accesses the disk. So a test that stops or fails at each reported step covers every call.
//! The other files decide on the order of the calls.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, Metadata, OpenOptions, Permissions};
use emend_agent::environment::{EnvError, FilePath};

use super::journal::Journal;
use crate::files::{Attributes, RootFiles, describe, is_absence, keep_owner, on_disk, reading};

/// Name of the journal among the documents of the state directory.
pub(crate) const DOCUMENT: &str = "commit";

/// File name of the journal.
const JOURNAL: &str = "commit.json";
/// File name of the next journal while it is written.
const NEXT_JOURNAL: &str = "commit.json.new";

/// A kind of system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names describe the calls")]
pub enum StepKind {
    Look,
    OpenToRead,
    Read,
    OpenToWrite,
    CheckDirectory,
    List,
    MakeDirectory,
    Create,
    SetOwner,
    SetMode,
    Write,
    Sync,
    SyncDirectory,
    Rename,
    Remove,
    RemoveDirectory,
    ReadJournal,
    CreateJournal,
    WriteJournal,
    SyncJournal,
    RenameJournal,
    RemoveJournal,
    SyncState,
}

/// One system call of a commit, before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// The kind of call.
    pub kind: StepKind,
    /// Path of the project's file, relative to the root; empty for the journal.
    pub path: &'a str,
}

/// A function that is called before each step. Its error makes the step fail.
pub type Observer<'a> = dyn FnMut(Step<'_>) -> io::Result<()> + 'a;

/// A system call that failed.
#[derive(Debug)]
pub(super) struct DiskError {
    pub(super) path: String,
    pub(super) source: io::Error,
}

impl DiskError {
    /// Converts the failure to an error of an environment.
    pub(super) fn described(&self) -> EnvError {
        describe(&self.path, &self.source)
    }
}

/// The project's files and the journal, with the observer.
pub(super) struct Disk<'a> {
    files: &'a RootFiles,
    root: &'a Dir,
    state: PathBuf,
    observe: &'a mut Observer<'a>,
}

impl<'a> Disk<'a> {
    pub(super) fn new(files: &'a RootFiles, state: &Path, observe: &'a mut Observer<'a>) -> Self {
        Self { files, root: files.directory(), state: state.to_owned(), observe }
    }

    fn step<T>(
        &mut self,
        kind: StepKind,
        path: &FilePath,
        call: impl FnOnce(&Dir) -> io::Result<T>,
    ) -> Result<T, DiskError> {
        let done = (self.observe)(Step { kind, path: path.as_str() }).and_then(|()| call(self.root));
        done.map_err(|source| DiskError { path: path.to_string(), source })
    }

    /// Returns the attributes of a file before an earlier change removed it.
    pub(super) fn removed(&self, path: &FilePath) -> Option<Attributes> {
        self.files.removed(path)
    }

    /// Returns the directories above a removed file that were created for files, the innermost first.
    pub(super) fn made_above(&self, path: &FilePath) -> Vec<FilePath> {
        self.files.made_above(path)
    }

    /// Returns whether a directory was created for files.
    pub(super) fn is_made(&self, directory: &FilePath) -> bool {
        self.files.has_made(directory)
    }

    /// Returns the metadata at `path` without following links; `None` if nothing is there.
    pub(super) fn look(&mut self, path: &FilePath) -> Result<Option<Metadata>, DiskError> {
        self.step(StepKind::Look, path, |root| match root.symlink_metadata(on_disk(path)) {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Returns the content of a regular file.
    pub(super) fn read(&mut self, path: &FilePath) -> Result<Vec<u8>, DiskError> {
        let mut file = self.step(StepKind::OpenToRead, path, |root| root.open_with(on_disk(path), &reading()))?;
        let mut content = Vec::new();
        self.step(StepKind::Read, path, |_| file.read_to_end(&mut content))?;
        Ok(content)
    }

    /// Fails if the file is not writable: a rename over it would succeed anyway.
    pub(super) fn check_writable(&mut self, path: &FilePath) -> Result<(), DiskError> {
        let mut options = reading();
        options.read(false).write(true);
        self.step(StepKind::OpenToWrite, path, |root| root.open_with(on_disk(path), &options)).map(drop)
    }

    /// Fails if files cannot be created and removed in the directory.
    pub(super) fn check_directory(&mut self, path: &FilePath) -> Result<(), DiskError> {
        self.step(StepKind::CheckDirectory, path, |root| {
            #[cfg(unix)]
            {
                use rustix::fs::{Access, AtFlags, accessat};
                accessat(root, on_disk(path), Access::WRITE_OK | Access::EXEC_OK, AtFlags::empty())?;
            }
            #[cfg(not(unix))]
            let _ = root;
            Ok(())
        })
    }

    /// Returns the names in a directory.
    pub(super) fn list(&mut self, path: &FilePath) -> Result<Vec<String>, DiskError> {
        self.step(StepKind::List, path, |root| {
            let entries = root.read_dir(on_disk(path))?;
            Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        })
    }

    /// Returns all names in a directory; `None` for one that is not UTF-8.
    pub(super) fn list_all(&mut self, path: &FilePath) -> Result<Vec<Option<String>>, DiskError> {
        self.step(StepKind::List, path, |root| {
            let entries = root.read_dir(on_disk(path))?.collect::<io::Result<Vec<_>>>()?;
            Ok(entries.into_iter().map(|entry| entry.file_name().into_string().ok()).collect())
        })
    }

    pub(super) fn make_directory(&mut self, path: &FilePath) -> Result<(), DiskError> {
        self.step(StepKind::MakeDirectory, path, |root| match root.create_dir(on_disk(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done,
        })
    }

    /// Creates a file and syncs it. It gets the owner and mode bits of `like`, and the executable bit from `executable` if
    /// given.
    pub(super) fn create(
        &mut self,
        path: &FilePath,
        like: Option<Attributes>,
        executable: Option<bool>,
        content: &[u8],
    ) -> Result<(), DiskError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = self.step(StepKind::Create, path, |root| root.open_with(on_disk(path), &options))?;
        if let Some(like) = like {
            self.step(StepKind::SetOwner, path, |_| {
                keep_owner(&file, like);
                Ok(())
            })?;
        }
        if like.is_some() || executable.is_some() {
            self.step(StepKind::SetMode, path, |_| {
                let new = file.metadata()?.permissions();
                let mode = like.map_or(new.clone(), |like| like.permissions(new));
                file.set_permissions(with_executable(mode, executable))
            })?;
        }
        self.step(StepKind::Write, path, |_| file.write_all(content))?;
        self.step(StepKind::Sync, path, |_| file.sync_all())
    }

    pub(super) fn set_mode(&mut self, path: &FilePath, mode: Permissions) -> Result<(), DiskError> {
        self.step(StepKind::SetMode, path, |root| root.set_permissions(on_disk(path), mode))
    }

    pub(super) fn rename(&mut self, from: &FilePath, to: &FilePath) -> Result<(), DiskError> {
        self.step(StepKind::Rename, to, |root| root.rename(on_disk(from), root, on_disk(to)))
    }

    pub(super) fn remove(&mut self, path: &FilePath) -> Result<(), DiskError> {
        self.step(StepKind::Remove, path, |root| root.remove_file(on_disk(path)))
    }

    pub(super) fn remove_if_there(&mut self, path: &FilePath) -> Result<(), DiskError> {
        match self.remove(path) {
            Err(error) if is_absence(&error.source) => Ok(()),
            done => done,
        }
    }

    /// Removes a directory unless it has entries or is protected. No file depends on it.
    pub(super) fn remove_if_empty(&mut self, path: &FilePath) -> Result<(), DiskError> {
        self.step(StepKind::RemoveDirectory, path, |root| {
            let _ = root.remove_dir(on_disk(path));
            Ok(())
        })
    }

    /// Syncs a directory, so that its changes survive a power cut. A directory that does not exist is skipped.
    pub(super) fn sync_directory(&mut self, path: &FilePath) -> Result<(), DiskError> {
        self.step(StepKind::SyncDirectory, path, |root| {
            if !cfg!(unix) {
                return Ok(());
            }
            // Opened as a file: a `Dir` may be a handle of the path only, which cannot be synced.
            match root.open_with(on_disk(path), &reading()) {
                Ok(directory) => tolerant(directory.sync_all()),
                Err(error) if is_absence(&error) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }

    fn state_step<T>(&mut self, kind: StepKind, call: impl FnOnce(&Path) -> io::Result<T>) -> Result<T, DiskError> {
        let done = (self.observe)(Step { kind, path: "" }).and_then(|()| call(&self.state));
        done.map_err(|source| DiskError { path: self.state.join(JOURNAL).display().to_string(), source })
    }

    /// Returns the journal of an earlier commit, if there is one.
    pub(super) fn journal(&mut self) -> Result<Option<Journal>, DiskError> {
        self.state_step(StepKind::ReadJournal, |state| match fs::read(state.join(JOURNAL)) {
            Ok(text) => Journal::decode(&text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Replaces the journal. After a crash the old or the new journal is there.
    pub(super) fn save(&mut self, journal: &Journal) -> Result<(), DiskError> {
        let mut file = self.state_step(StepKind::CreateJournal, |state| fs::File::create(state.join(NEXT_JOURNAL)))?;
        self.state_step(StepKind::WriteJournal, |_| file.write_all(&journal.encode()?))?;
        self.state_step(StepKind::SyncJournal, |_| file.sync_all())?;
        self.state_step(StepKind::RenameJournal, |state| fs::rename(state.join(NEXT_JOURNAL), state.join(JOURNAL)))?;
        self.sync_state()
    }

    pub(super) fn remove_journal(&mut self) -> Result<(), DiskError> {
        self.state_step(StepKind::RemoveJournal, |state| match fs::remove_file(state.join(JOURNAL)) {
            // The journal does not exist if writing it was the step that failed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        })?;
        self.sync_state()
    }

    fn sync_state(&mut self) -> Result<(), DiskError> {
        self.state_step(StepKind::SyncState, |state| {
            if !cfg!(unix) {
                return Ok(());
            }
            // The directory itself may be new, so its parent is synced too.
            for directory in state.ancestors().take(2) {
                tolerant(fs::File::open(directory)?.sync_all())?;
            }
            Ok(())
        })
    }
}

/// Ignores the error of file systems that cannot sync a directory.
fn tolerant(synced: io::Result<()>) -> io::Result<()> {
    match synced {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

/// Returns `mode` with the executable bit set for everyone who may read the file, or cleared for everyone, as git does.
pub(super) fn with_executable(mode: Permissions, executable: Option<bool>) -> Permissions {
    #[cfg(unix)]
    if let Some(executable) = executable {
        use cap_std::fs::PermissionsExt as _;
        let bits = mode.mode() & 0o7777;
        let bits = if executable { bits | (bits & 0o444) >> 2 } else { bits & !0o111 };
        return if bits == mode.mode() & 0o7777 { mode } else { Permissions::from_mode(bits) };
    }
    #[cfg(not(unix))]
    let _ = executable;
    mode
}
