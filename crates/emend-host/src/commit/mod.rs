//! Changes several files together: all of them or none, also when the process is killed half-way.
//!
//! New contents are written to siblings of their files first. Then a journal, kept outside of the project, says that
//! all of them are complete; then each is renamed into its place, files that go are removed, and the journal with them.
//! Before the journal says so, a crash leaves only siblings, which the next run removes; after, the next run completes
//! what is missing. A file that holds neither its old nor its new content was changed by someone else: it is left as it
//! is, and reported. Which changes there are, and that the caller alone works on the project, is decided elsewhere:
//! see `emend_edit::plan` and [`StateDir`].

mod check;
mod disk;
mod journal;
mod land;
mod sweep;

use emend_agent::code::Code;
use emend_agent::env::{EnvError, FileChange, FilePath};

pub use disk::{Observer, Step, StepKind};

use self::check::Checked;
use self::disk::{Disk, DiskError};
use self::journal::{Journal, Stage};
use self::land::{Standing, roll_back, roll_forward, standing};
use crate::local::LocalEnvironment;
use crate::local::files::Files;
use crate::state::StateDir;

/// Why files were not changed. Unless it says otherwise, none was.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A file or directory must not, or cannot, be changed.
    #[error(transparent)]
    Refused(#[from] EnvError),
    /// A file does not hold what the change was made for.
    #[error("{path} was changed meanwhile; read it again")]
    Changed {
        /// The file.
        path: FilePath,
    },
    /// Two paths name one file, as on file systems that ignore case.
    #[error("{path} and {other} are the same file on this file system; change it by one name")]
    SameFile {
        /// One name.
        path: FilePath,
        /// The other.
        other: FilePath,
    },
    /// An earlier commit waits to be completed.
    #[error("an interrupted change waits to be completed or taken back")]
    Pending,
    /// The disk failed after the first file had changed.
    #[error("{cause}; some files are changed already, and the next emend command here goes on with the others")]
    Unfinished {
        /// What failed.
        #[source]
        cause: EnvError,
    },
    /// The disk failed, and again when what was begun was taken back.
    #[error("{cause}; temporary files are left ({left}), and the next emend command here removes them")]
    Leftover {
        /// Why nothing was changed.
        #[source]
        cause: Box<CommitError>,
        /// Why it was not cleaned up.
        left: EnvError,
    },
    /// Someone else changed files in the moment in which they were to be changed; all others are.
    #[error("{} changed in that very moment and was left alone; everything else is done", names(paths))]
    LeftAlone {
        /// The files.
        paths: Vec<FilePath>,
    },
}

fn names(paths: &[FilePath]) -> String {
    paths.iter().map(FilePath::as_str).collect::<Vec<_>>().join(", ")
}

impl CommitError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(error) => error.code(),
            Self::Changed { .. } | Self::LeftAlone { .. } => Code::Stale,
            Self::SameFile { .. } => Code::Conflict,
            Self::Pending => Code::Busy,
            Self::Unfinished { .. } => Code::IoError,
            Self::Leftover { cause, .. } => cause.code(),
        }
    }

    /// Returns the failure as one of an environment.
    pub(crate) fn into_env_error(self) -> EnvError {
        match self {
            Self::Refused(error) => error,
            Self::Changed { path } => EnvError::Changed { path: path.to_string() },
            error => EnvError::Io { path: ".".to_owned(), reason: error.to_string() },
        }
    }
}

impl From<DiskError> for CommitError {
    fn from(error: DiskError) -> Self {
        Self::Refused(error.described())
    }
}

/// What was done about a commit that an earlier run left unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Whether its changes are in place now; otherwise they were taken back.
    pub completed: bool,
    /// The files it was about.
    pub files: Vec<FilePath>,
    /// Those of them that someone else changed since, which were left alone.
    pub left_alone: Vec<FilePath>,
}

impl LocalEnvironment {
    /// Carries out `changes`, all or none. `observe` is told of each system call before it is made; pass
    /// `&mut |_| Ok(())` unless you are a test.
    ///
    /// # Errors
    ///
    /// [`CommitError`]; no file has changed except where it says so.
    pub fn commit(
        &self,
        state: &StateDir,
        changes: &[FileChange],
        observe: &mut Observer<'_>,
    ) -> Result<(), CommitError> {
        commit(&self.files, state, changes, observe)
    }

    /// Says whether `changes` could be carried out, as far as that can be known without writing anything.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    pub fn check_commit(&self, changes: &[FileChange]) -> Result<(), CommitError> {
        let mut observe = |_: Step<'_>| Ok(());
        // The journal is not looked at.
        let disk = &mut Disk::new(&self.files, std::path::Path::new(""), &mut observe);
        check::check(disk, changes).map(drop)
    }

    /// Returns whether an earlier run left a commit unfinished, without locking or writing anything.
    #[must_use]
    pub fn has_unfinished_commit(&self) -> bool {
        StateDir::holds(self.root(), disk::DOCUMENT)
    }

    /// Completes or takes back the commit that an earlier run left unfinished, if one did.
    ///
    /// # Errors
    ///
    /// `Refused` or `Unfinished` if the disk fails; the commit is still unfinished then.
    pub fn recover(&self, state: &StateDir, observe: &mut Observer<'_>) -> Result<Option<Recovered>, CommitError> {
        let mut observe = |step: Step<'_>| observe(step);
        let disk = &mut Disk::new(&self.files, state.directory(), &mut observe);
        let Some(journal) = disk.journal()? else { return Ok(None) };
        let mut standings = Vec::with_capacity(journal.entries.len());
        if journal.stage == Stage::Prepared {
            for entry in &journal.entries {
                standings.push(standing(disk, entry)?);
            }
        }
        // Once a file has changed there is no way back: its old content is gone. Before that, all or none is still to
        // be had where one of them cannot be changed any more.
        let completed = standings.contains(&Standing::Done)
            || journal.stage == Stage::Prepared && standings.iter().all(|standing| *standing == Standing::Ready);
        let left_alone = if completed {
            complete(disk, &journal)?
        } else {
            let changed = journal.entries.iter().zip(&standings).filter(|(_, standing)| **standing != Standing::Ready);
            let changed = changed.map(|(entry, _)| entry.path.clone()).collect();
            roll_back(disk, &journal)?;
            changed
        };
        Ok(Some(Recovered { completed, files: journal.paths(), left_alone }))
    }
}

pub(crate) fn commit(
    files: &Files,
    state: &StateDir,
    changes: &[FileChange],
    observe: &mut Observer<'_>,
) -> Result<(), CommitError> {
    let mut observe = |step: Step<'_>| observe(step);
    let disk = &mut Disk::new(files, state.directory(), &mut observe);
    if disk.journal()?.is_some() {
        return Err(CommitError::Pending);
    }
    let checked = check::check(disk, changes)?;
    if checked.journal.entries.is_empty() {
        return Ok(());
    }
    let Checked { mut journal, contents, removed, directories } = checked;
    sweep::sweep(disk, &directories);
    if let Err(error) = prepare(disk, &journal, contents) {
        return Err(take_back(disk, &journal, error.into()));
    }
    journal.stage = Stage::Prepared;
    if let Err(error) = disk.save(&journal) {
        return Err(take_back(disk, &journal, error.into()));
    }
    for entry in &journal.entries {
        match standing(disk, entry) {
            Ok(Standing::Ready) => {}
            Ok(_) => return Err(take_back(disk, &journal, CommitError::Changed { path: entry.path.clone() })),
            Err(error) => return Err(take_back(disk, &journal, error.into())),
        }
    }
    let left_alone = complete(disk, &journal)?;
    removed.into_iter().for_each(|(path, was)| files.note_removed(path, was));
    if left_alone.is_empty() { Ok(()) } else { Err(CommitError::LeftAlone { paths: left_alone }) }
}

/// Writes the journal and every new content, each beside its file.
fn prepare(disk: &mut Disk<'_>, journal: &Journal, contents: Vec<check::Content<'_>>) -> Result<(), DiskError> {
    disk.save(journal)?;
    for directory in &journal.made {
        disk.make_directory(directory)?;
    }
    for content in contents {
        disk.create(&content.temporary, content.like.as_ref(), content.executable, content.bytes)?;
    }
    for directory in journal.directories() {
        disk.sync_directory(&directory)?;
    }
    Ok(())
}

fn complete(disk: &mut Disk<'_>, journal: &Journal) -> Result<Vec<FilePath>, CommitError> {
    roll_forward(disk, journal).map_err(|error| CommitError::Unfinished { cause: error.described() })
}

/// Takes a commit back because of `cause`, and returns what to tell the caller.
fn take_back(disk: &mut Disk<'_>, journal: &Journal, cause: CommitError) -> CommitError {
    match roll_back(disk, journal) {
        Ok(()) => cause,
        Err(left) => CommitError::Leftover { cause: Box::new(cause), left: left.described() },
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
