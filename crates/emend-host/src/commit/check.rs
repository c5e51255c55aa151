//! The first half of a commit: finds out, before anything is written, whether all of it can be done.
//!
//! Renaming asks no file for permission, so what must not be replaced is refused here: directories, links, hard links
//! that would be parted, files that may not be written.

#[cfg(unix)]
use std::collections::HashMap;

use cap_std::fs::Metadata;
use emend_agent::environment::{FileChange, FilePath};
use emend_edit::ContentHash;

use super::disk::{Disk, with_executable};
use super::error::CommitError;
use super::journal::{Journal, JournalEntry};
use crate::files::temp_files::{PREPARED, temporary_name};
use crate::files::{invalid, refuse_unless_replaceable};

/// A commit that can be begun.
pub(super) struct CheckedCommit<'a> {
    pub(super) journal: Journal,
    pub(super) contents: Vec<NewFile<'a>>,
    /// The files that go, as they are now.
    pub(super) removed: Vec<(FilePath, Metadata)>,
    /// The directories that exist and in which names come and go.
    pub(super) directories: Vec<FilePath>,
}

/// A file to be prepared.
pub(super) struct NewFile<'a> {
    pub(super) temporary: FilePath,
    /// The file whose owner and mode bits it gets; those of any new file if none.
    pub(super) like: Option<Metadata>,
    /// Whether it can be run, if that is not as with that file.
    pub(super) executable: Option<bool>,
    pub(super) bytes: &'a [u8],
}

pub(super) fn check<'a>(disk: &mut Disk<'_>, changes: &'a [FileChange]) -> Result<CheckedCommit<'a>, CommitError> {
    let (mut written, mut removed, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    let mut were = Vec::new();
    let mut targets = Targets::default();
    for change in changes {
        let after = change.after.as_deref().map(ContentHash::of);
        if after == change.before && (after.is_none() || !changes_mode(disk, change)?) {
            continue;
        }
        let Some(parent) = change.path.parent() else { return Err(invalid(".", "it is the root").into()) };
        let old = old_file(disk, change, &mut targets)?;
        let executable = change.executable;
        let mut entry =
            JournalEntry { path: change.path.clone(), temporary: None, before: change.before, after, executable };
        let Some(bytes) = &change.after else {
            targets.enter(disk, &parent)?;
            removed.push(entry);
            were.extend(old.map(|old| (change.path.clone(), old)));
            continue;
        };
        let like = match (old, &change.mode_of) {
            (None, Some(other)) => disk.look(other)?.or_else(|| disk.removed(other)),
            (None, None) => disk.removed(&change.path),
            (old, _) => old,
        };
        targets.enter(disk, &parent)?;
        let temporary = free_name(disk, &parent, change.path.name())?;
        entry.temporary = Some(temporary.clone());
        contents.push(NewFile { temporary, like, executable, bytes });
        written.push(entry);
    }
    // Written before removed: see `roll_forward`.
    written.append(&mut removed);
    Ok(CheckedCommit {
        journal: Journal::new(targets.missing, written),
        contents,
        removed: were,
        directories: targets.existing,
    })
}

/// Returns whether the file cannot be run and shall be, or the other way round.
fn changes_mode(disk: &mut Disk<'_>, change: &FileChange) -> Result<bool, CommitError> {
    if change.executable.is_none() {
        return Ok(false);
    }
    let found = disk.look(&change.path)?.map(|found| found.permissions());
    Ok(found.is_some_and(|mode| with_executable(mode.clone(), change.executable) != mode))
}

/// Checks what stands where a file changes, and returns it if there is a file.
fn old_file(disk: &mut Disk<'_>, change: &FileChange, targets: &mut Targets) -> Result<Option<Metadata>, CommitError> {
    let changed = || CommitError::Changed { path: change.path.clone() };
    let found = match (disk.look(&change.path)?, change.before) {
        (None, None) => return Ok(None),
        (None, Some(_)) => return Err(changed()),
        (Some(found), _) => found,
    };
    refuse_unless_replaceable(&change.path, &found)?;
    let Some(before) = change.before else { return Err(changed()) };
    disk.check_writable(&change.path)?;
    if ContentHash::of(&disk.read(&change.path)?) != before {
        return Err(changed());
    }
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        if let Some(other) = targets.files.insert((found.dev(), found.ino()), change.path.clone()) {
            return Err(CommitError::SameFile { path: change.path.clone(), other });
        }
    }
    #[cfg(not(unix))]
    let _ = targets;
    Ok(Some(found))
}

/// Returns a name beside `name` that nothing has: an earlier process with the same number may have left some.
fn free_name(disk: &mut Disk<'_>, parent: &FilePath, name: &str) -> Result<FilePath, CommitError> {
    loop {
        let temporary = parent.join(&temporary_name(name, PREPARED));
        if disk.look(&temporary)?.is_none() {
            return Ok(temporary);
        }
    }
}

/// Where the commit works.
#[derive(Default)]
struct Targets {
    /// Directories that exist and may be written to.
    existing: Vec<FilePath>,
    /// Directories that have to be made, outer ones first.
    missing: Vec<FilePath>,
    /// The files that change: device and inode, and the path they were reached by.
    #[cfg(unix)]
    files: HashMap<(u64, u64), FilePath>,
}

impl Targets {
    /// Checks that names may come and go in `directory`, or that it can be made.
    fn enter(&mut self, disk: &mut Disk<'_>, directory: &FilePath) -> Result<(), CommitError> {
        if self.existing.contains(directory) || self.missing.contains(directory) {
            return Ok(());
        }
        match disk.look(directory)? {
            Some(found) if found.is_dir() => {
                disk.check_directory(directory)?;
                self.existing.push(directory.clone());
            }
            Some(_) => {
                return Err(invalid(directory.as_str(), "a file is in the place of this directory").into());
            }
            None => {
                if let Some(above) = directory.parent() {
                    self.enter(disk, &above)?;
                }
                self.missing.push(directory.clone());
            }
        }
        Ok(())
    }
}
