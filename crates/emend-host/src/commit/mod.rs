//! Changes several files together: all of them or none, also when the process is killed half-way.
//!
//! New contents are written to siblings of their files first. Then a journal, kept outside of the project, says that
//! all of them are complete; then each is renamed into its place, files that go are removed, and the journal with them.
//! Before the journal says so, a crash leaves only siblings, which the next run removes; after, the next run completes
//! what is missing. A file that holds neither its old nor its new content was changed by someone else: it is left as it
//! is, and reported. Which changes there are, and that the caller alone works on the project, is decided elsewhere:
//! see `emend_edit::patch::plan` and [`StateDir`].

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
use crate::files::RootFiles;
use crate::state::StateDir;

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
    clean_up::remove_abandoned(disk, &directories);
    if let Err(error) = prepare(disk, &journal, contents) {
        return Err(take_back(disk, &journal, error.into()));
    }
    journal.stage = Stage::Prepared;
    if let Err(error) = disk.save(&journal) {
        return Err(take_back(disk, &journal, error.into()));
    }
    for entry in &journal.entries {
        match entry_state(disk, entry) {
            Ok(EntryState::Ready) => {}
            Ok(_) => return Err(take_back(disk, &journal, CommitError::Changed { path: entry.path.clone() })),
            Err(error) => return Err(take_back(disk, &journal, error.into())),
        }
    }
    let left_alone = complete(disk, &journal)?;
    removed.into_iter().for_each(|(path, was)| files.note_removed(path, was));
    if left_alone.is_empty() { Ok(()) } else { Err(CommitError::LeftAlone { paths: left_alone }) }
}

/// Checks whether `changes` could be carried out, without writing anything.
pub(crate) fn check_commit(files: &RootFiles, changes: &[FileChange]) -> Result<(), CommitError> {
    let mut observe = |_: Step<'_>| Ok(());
    // The journal is not looked at.
    let disk = &mut Disk::new(files, Path::new(""), &mut observe);
    check::check(disk, changes).map(drop)
}

/// Completes or takes back the commit that an earlier run left unfinished, if one did.
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
            states.push(entry_state(disk, entry)?);
        }
    }
    // Once a file has changed there is no way back: its old content is gone. Before that, all or none is still to
    // be had where one of them cannot be changed any more.
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

/// Writes the journal and every new content, each beside its file.
fn prepare(disk: &mut Disk<'_>, journal: &Journal, contents: Vec<check::NewFile<'_>>) -> Result<(), DiskError> {
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
