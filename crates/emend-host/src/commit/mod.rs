//! Changes several files together: all of them or none, even if the process is killed.
//!
//! A commit has these steps:
//!
//! 1. Write each new content to a temporary file beside its target.
//! 2. Record in a journal, outside the project, that all temporary files are complete.
//! 3. Rename each temporary file to its target, remove the files to be removed, and remove the journal. A file that takes
//!    the place of a directory, or a directory that takes the place of a file, comes after the removals.
//!
//! A crash before the end of step 2 leaves only temporary files, which the next run removes. After a crash in step 3 the
//! next run completes the commit. A file with neither its old nor its new content was changed by another program: it is
//! left alone and reported.
//!
//! The caller decides on the changes and holds the lock of the project (see [`StateDir`]).

mod check;
mod clean_up;
mod disk;
mod error;
mod journal;
mod roll;

use std::path::Path;

use emend_agent::environment::{FileChange, FilePath};

pub(crate) use disk::DOCUMENT;
pub use disk::{Observer, Step, StepKind};
pub use error::CommitError;

use self::check::CheckedCommit;
use self::disk::{Disk, DiskError};
use self::journal::{Journal, Stage};
use self::roll::{EntryState, entry_state, roll_back, roll_forward};
use crate::files::{RootFiles, describe};
use crate::state::StateDir;

/// The outcome of recovering a commit that an earlier run left unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Whether the commit is complete now; otherwise it was rolled back.
    pub completed: bool,
    /// The files of the commit.
    pub files: Vec<FilePath>,
    /// The files that another program has changed since, which were left alone.
    pub left_alone: Vec<FilePath>,
}

/// Commits `changes`, all or none. `observe` is called before each system call.
///
/// # Errors
///
/// [`CommitError`]; no file has changed unless the variant says so.
pub(crate) fn commit(
    files: &RootFiles,
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
    let CheckedCommit { mut journal, contents, removed, directories } = checked;
    // Known before the files are gone, even if the process is killed.
    if let Err(error) = files.note_removed(&removed) {
        return Err(CommitError::Refused(describe("the attributes of removed files", &error)));
    }
    if let Err(error) = files.note_made(journal.made.iter().chain(&journal.late).cloned()) {
        return Err(CommitError::Refused(describe("the new directories", &error)));
    }
    clean_up::remove_abandoned(disk, &directories);
    if let Err(error) = prepare(disk, &journal, contents) {
        return Err(roll_back_after(disk, &journal, error.into()));
    }
    journal.stage = Stage::Prepared;
    if let Err(error) = disk.save(&journal) {
        return Err(roll_back_after(disk, &journal, error.into()));
    }
    for entry in &journal.entries {
        match entry_state(disk, &journal, entry) {
            Ok(EntryState::Ready) => {}
            Ok(_) => return Err(roll_back_after(disk, &journal, CommitError::Changed { path: entry.path.clone() })),
            Err(error) => return Err(roll_back_after(disk, &journal, error.into())),
        }
    }
    let left_alone = complete(disk, &journal)?;
    if left_alone.is_empty() { Ok(()) } else { Err(CommitError::LeftAlone { paths: left_alone }) }
}

/// Checks whether `changes` could be committed, without writing anything.
///
/// # Errors
///
/// As [`commit`].
pub(crate) fn check_commit(files: &RootFiles, changes: &[FileChange]) -> Result<(), CommitError> {
    let mut observe = |_: Step<'_>| Ok(());
    // The check does not use the journal, so the directory is never read.
    let disk = &mut Disk::new(files, Path::new(""), &mut observe);
    check::check(disk, changes).map(drop)
}

/// Completes or rolls back the commit that an earlier run left unfinished, if there is one.
///
/// # Errors
///
/// `Refused` or `Unfinished` if the disk fails.
pub(crate) fn recover(
    files: &RootFiles,
    state: &StateDir,
    observe: &mut Observer<'_>,
) -> Result<Option<Recovered>, CommitError> {
    let mut observe = |step: Step<'_>| observe(step);
    let disk = &mut Disk::new(files, state.directory(), &mut observe);
    let Some(journal) = disk.journal()? else { return Ok(None) };
    let mut states = Vec::with_capacity(journal.entries.len());
    if journal.stage == Stage::Prepared {
        for entry in &journal.entries {
            states.push(entry_state(disk, &journal, entry)?);
        }
    }
    // After the first change there is no way back: the old content is gone. Before it, a commit that cannot be completed
    // in all files can still be rolled back in all files.
    let completed = states.contains(&EntryState::Done)
        || journal.stage == Stage::Prepared && states.iter().all(|state| *state == EntryState::Ready);
    let left_alone = if completed {
        complete(disk, &journal)?
    } else {
        let changed = journal.entries.iter().zip(&states).filter(|(_, state)| **state != EntryState::Ready);
        let changed = changed.map(|(entry, _)| entry.path.clone()).collect();
        roll_back(disk, &journal)?;
        changed
    };
    Ok(Some(Recovered { completed, files: journal.paths(), left_alone }))
}

/// Writes the journal, and every new content to its temporary file.
fn prepare(disk: &mut Disk<'_>, journal: &Journal, contents: Vec<check::NewFile<'_>>) -> Result<(), DiskError> {
    disk.save(journal)?;
    for directory in &journal.made {
        disk.make_directory(directory)?;
    }
    for content in contents {
        disk.create(&content.temporary, content.like, content.executable, content.bytes)?;
    }
    for directory in journal.directories() {
        disk.sync_directory(&directory)?;
    }
    Ok(())
}

/// Completes a prepared commit and returns the files that were left alone.
fn complete(disk: &mut Disk<'_>, journal: &Journal) -> Result<Vec<FilePath>, CommitError> {
    roll_forward(disk, journal).map_err(|error| CommitError::Unfinished { cause: error.described() })
}

/// Rolls a commit back because of `cause`, and returns the error for the caller.
fn roll_back_after(disk: &mut Disk<'_>, journal: &Journal, cause: CommitError) -> CommitError {
    match roll_back(disk, journal) {
        Ok(()) => cause,
        Err(left) => CommitError::Leftover { cause: Box::new(cause), left: left.described() },
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
