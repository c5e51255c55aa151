//! The second half of a commit: puts prepared files in their places, or removes every trace of them.
//!
//! A commit that goes on and the next run after a crash do the same thing here. What stands at a path, judged by its
//! hash just before, decides what is done to it, so it does not matter how far an earlier run came.

use emend_agent::environment::FilePath;
use emend_edit::ContentHash;

use super::disk::{Disk, DiskError, with_executable};
use super::journal::{Journal, JournalEntry, Stage};

/// What stands at the path of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryState {
    /// The new state.
    Done,
    /// The old state, and the new one waits beside it.
    Ready,
    /// Neither: someone else changed it, or took the file away that waits beside it.
    Changed,
}

pub(super) fn entry_state(disk: &mut Disk<'_>, entry: &JournalEntry) -> Result<EntryState, DiskError> {
    let current = hash_at(disk, &entry.path)?;
    // Where only the mode changes, what waits beside the file is all that tells old from new.
    let is_same = entry.before == entry.after;
    if current == Some(entry.after) && !is_same {
        return Ok(EntryState::Done);
    }
    let is_ready = current == Some(entry.before)
        && match &entry.temporary {
            Some(temporary) => hash_at(disk, temporary)? == Some(entry.after),
            None => true,
        };
    let otherwise = if is_same && current == Some(entry.after) { EntryState::Done } else { EntryState::Changed };
    Ok(if is_ready { EntryState::Ready } else { otherwise })
}

/// Returns the hash of the file at `path`: `Some(None)` if nothing is there, `None` if it is no file.
#[expect(clippy::option_option, reason = "no file has a hash, absent or not, that equals a directory")]
pub(super) fn hash_at(disk: &mut Disk<'_>, path: &FilePath) -> Result<Option<Option<ContentHash>>, DiskError> {
    match disk.look(path)? {
        None => Ok(Some(None)),
        Some(found) if found.is_file() => Ok(Some(Some(ContentHash::of(&disk.read(path)?)))),
        Some(_) => Ok(None),
    }
}

/// Completes a prepared commit and returns the files that were left alone because someone else changed them.
///
/// Files are written before any is removed: a file that moves is at one of its two places at every moment.
pub(super) fn roll_forward(disk: &mut Disk<'_>, journal: &Journal) -> Result<Vec<FilePath>, DiskError> {
    let mut left_alone = Vec::new();
    for entry in &journal.entries {
        let state = entry_state(disk, entry)?;
        match (&entry.temporary, state) {
            (Some(temporary), EntryState::Ready) => {
                keep_mode(disk, entry, temporary)?;
                disk.rename(temporary, &entry.path)?;
            }
            (Some(temporary), _) => disk.remove_if_there(temporary)?,
            (None, EntryState::Ready) => disk.remove(&entry.path)?,
            (None, _) => {}
        }
        if state == EntryState::Changed {
            left_alone.push(entry.path.clone());
        }
    }
    for directory in journal.directories() {
        disk.sync_directory(&directory)?;
    }
    disk.remove_journal()?;
    Ok(left_alone)
}

/// Gives the new file the mode bits of the old one once more: they may have been changed since it was prepared.
fn keep_mode(disk: &mut Disk<'_>, entry: &JournalEntry, temporary: &FilePath) -> Result<(), DiskError> {
    let (Some(old), Some(new)) = (disk.look(&entry.path)?, disk.look(temporary)?) else { return Ok(()) };
    let mode = with_executable(old.permissions(), entry.executable);
    if mode != new.permissions() {
        disk.set_mode(temporary, mode)?;
    }
    Ok(())
}

/// Takes a commit back of which nothing has landed.
pub(super) fn roll_back(disk: &mut Disk<'_>, journal: &Journal) -> Result<(), DiskError> {
    if journal.stage == Stage::Prepared {
        // Whoever goes on after a crash in the middle of this must not complete what was refused.
        disk.save(&journal.at(Stage::Preparing))?;
    }
    for temporary in journal.temporaries() {
        disk.remove_if_there(temporary)?;
    }
    for directory in journal.made.iter().rev() {
        disk.remove_if_empty(directory)?;
    }
    disk.remove_journal()
}
