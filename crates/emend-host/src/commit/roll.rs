//! The second half of a commit: moves temporary files to their targets, or removes them.
//!
//! A continuing commit and recovery after a crash run the same code. The hash of each file, read just before the change,
//! decides what is done to it. So the progress of an earlier run does not matter.

use emend_agent::environment::FilePath;
use emend_edit::ContentHash;

use super::disk::{Disk, DiskError, with_executable};
use super::journal::{Journal, JournalEntry, Stage};

/// The state of an entry's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryState {
    /// The file is in its new state.
    Done,
    /// The file is in its old state, and the temporary file is complete.
    Ready,
    /// Another program changed the file or the temporary file.
    Changed,
}

/// Returns the state of an entry's file.
pub(super) fn entry_state(
    disk: &mut Disk<'_>,
    journal: &Journal,
    entry: &JournalEntry,
) -> Result<EntryState, DiskError> {
    // A directory that gives way, or that has taken the place of a removed file, counts as nothing.
    let current = match hash_at(disk, &entry.path)? {
        None if journal.cleared.contains(&entry.path) || journal.late.contains(&entry.path) => Some(None),
        current => current,
    };
    // If only the mode changes, the temporary file alone distinguishes old from new.
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

/// Returns the hash of the file at `path`: `Some(None)` if nothing is there, `None` if it is not a file.
#[expect(clippy::option_option, reason = "a missing file equals an absent hash, and a directory equals no hash at all")]
pub(super) fn hash_at(disk: &mut Disk<'_>, path: &FilePath) -> Result<Option<Option<ContentHash>>, DiskError> {
    match disk.look(path)? {
        None => Ok(Some(None)),
        Some(found) if found.is_file() => Ok(Some(Some(ContentHash::of(&disk.read(path)?)))),
        Some(_) => Ok(None),
    }
}

/// Completes a prepared commit. Returns the files that were left alone because another program changed them.
///
/// All files are written before any is removed, so a moved file exists at one of its two paths at every moment. Files come
/// last for which a file or directory of the commit has to give way; their contents are in their temporary files until then.
pub(super) fn roll_forward(disk: &mut Disk<'_>, journal: &Journal) -> Result<Vec<FilePath>, DiskError> {
    let (mut left_alone, mut has_cleared) = (Vec::new(), false);
    for entry in &journal.entries {
        let is_blocked = journal.is_blocked(entry);
        if is_blocked && !has_cleared {
            clear_the_way(disk, journal)?;
            has_cleared = true;
        }
        let state = match entry_state(disk, journal, entry)? {
            // Another program has put something in the way.
            EntryState::Ready if is_blocked && is_obstructed(disk, &entry.path)? => EntryState::Changed,
            state => state,
        };
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
    for entry in journal.entries.iter().filter(|entry| entry.after.is_none()) {
        for directory in disk.made_above(&entry.path) {
            disk.remove_if_empty(&directory)?;
        }
    }
    for directory in journal.directories() {
        disk.sync_directory(&directory)?;
    }
    disk.remove_journal()?;
    Ok(left_alone)
}

/// Removes the directories that give way to files, and makes those that take the place of files.
fn clear_the_way(disk: &mut Disk<'_>, journal: &Journal) -> Result<(), DiskError> {
    for directory in &journal.cleared {
        disk.remove_if_empty(directory)?;
    }
    for directory in &journal.late {
        if disk.look(directory)?.is_none() && !is_obstructed(disk, directory)? {
            disk.make_directory(directory)?;
        }
    }
    Ok(())
}

/// Returns whether a directory is at a path, or something else than a directory above it.
fn is_obstructed(disk: &mut Disk<'_>, path: &FilePath) -> Result<bool, DiskError> {
    if disk.look(path)?.is_some_and(|found| found.is_dir()) {
        return Ok(true);
    }
    let Some(parent) = path.parent().filter(|parent| !parent.is_root()) else { return Ok(false) };
    Ok(!disk.look(&parent)?.is_some_and(|found| found.is_dir()))
}

/// Copies the mode bits of the old file again: they may have changed since the temporary file was written.
fn keep_mode(disk: &mut Disk<'_>, entry: &JournalEntry, temporary: &FilePath) -> Result<(), DiskError> {
    let (Some(old), Some(new)) = (disk.look(&entry.path)?, disk.look(temporary)?) else { return Ok(()) };
    let mode = with_executable(old.permissions(), entry.executable);
    if mode != new.permissions() {
        disk.set_mode(temporary, mode)?;
    }
    Ok(())
}

/// Rolls back a commit that has changed no file.
pub(super) fn roll_back(disk: &mut Disk<'_>, journal: &Journal) -> Result<(), DiskError> {
    if journal.stage == Stage::Prepared {
        // After a crash during the rollback, the next run must not complete the rejected commit.
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
