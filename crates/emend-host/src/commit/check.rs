//! The first half of a commit: checks, before anything is written, that all changes are possible.
//!
//! Renaming needs no permission on the replaced file. So this module rejects the targets that must not be replaced:
//! directories, links, files with several hard links, and files without write permission.

use std::collections::BTreeSet;
#[cfg(unix)]
use std::collections::HashMap;

use cap_std::fs::Metadata;
use emend_agent::environment::{EnvError, FileChange, FilePath};
use emend_edit::ContentHash;

use super::disk::{Disk, with_executable};
use super::error::CommitError;
use super::journal::{Journal, JournalEntry};
use crate::files::temp_files::{PREPARED, temporary_name};
use crate::files::{Attributes, invalid, refuse_unless_replaceable};

/// A commit that passed all checks.
pub(super) struct CheckedCommit<'a> {
    pub(super) journal: Journal,
    pub(super) contents: Vec<NewFile<'a>>,
    /// The files to be removed, with their present attributes.
    pub(super) removed: Vec<(FilePath, Attributes)>,
    /// The existing directories in which files are created or removed.
    pub(super) directories: Vec<FilePath>,
}

/// A temporary file to be written.
pub(super) struct NewFile<'a> {
    pub(super) temporary: FilePath,
    /// The owner and mode bits that it gets; the defaults if absent.
    pub(super) like: Option<Attributes>,
    /// The executable bit, if it differs from that file's.
    pub(super) executable: Option<bool>,
    pub(super) bytes: &'a [u8],
}

/// Checks all changes and returns the prepared commit.
///
/// # Errors
///
/// [`CommitError`] for the first change that is impossible.
pub(super) fn check<'a>(disk: &mut Disk<'_>, changes: &'a [FileChange]) -> Result<CheckedCommit<'a>, CommitError> {
    let (mut written, mut removed, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    let mut were = Vec::new();
    let gone = changes.iter().filter(|change| change.before.is_some() && change.after.is_none());
    let mut targets = Targets { gone: gone.map(|change| change.path.clone()).collect(), ..Targets::default() };
    let mut blocked = Vec::new();
    for change in changes {
        if change.after == change.before && (change.after.is_none() || !changes_mode(disk, change)?) {
            continue;
        }
        let Some(parent) = change.path.parent() else { return Err(invalid(".", "it is the root").into()) };
        let old = old_file(disk, change, &mut targets)?;
        let mut entry = JournalEntry {
            path: change.path.clone(),
            temporary: None,
            before: change.before.as_deref().map(ContentHash::of),
            after: change.after.as_deref().map(ContentHash::of),
            executable: change.executable,
        };
        let Some(bytes) = &change.after else {
            targets.enter(disk, &parent)?;
            removed.push(entry);
            were.extend(old.map(|old| (change.path.clone(), Attributes::from(&old))));
            continue;
        };
        let like = match (old, &change.mode_of) {
            (None, Some(other)) => {
                let found = disk.look(other)?.filter(Metadata::is_file);
                found.as_ref().map(Attributes::from).or_else(|| disk.removed(other))
            }
            (None, None) => disk.removed(&change.path),
            (Some(old), _) => Some(Attributes::from(&old)),
        };
        targets.enter(disk, &parent)?;
        // A directory that takes the place of a file does not exist yet.
        let mut above = std::iter::successors(Some(parent), FilePath::parent);
        let beside = above.find(|directory| !targets.late.contains(directory)).unwrap_or_default();
        let temporary = free_name(disk, &beside, change.path.name())?;
        entry.temporary = Some(temporary.clone());
        contents.push(NewFile { temporary, like, executable: change.executable, bytes });
        let is_blocked =
            targets.cleared.contains(&entry.path) || targets.late.iter().any(|late| entry.path.is_under(late));
        if is_blocked { &mut blocked } else { &mut written }.push(entry);
    }
    // Written files come before removed ones: see `roll_forward`.
    written.append(&mut removed);
    written.append(&mut blocked);
    Ok(CheckedCommit {
        journal: Journal::new(targets.missing, written).changing_kinds(targets.cleared, targets.late),
        contents,
        removed: were,
        directories: targets.existing.into_iter().collect(),
    })
}

/// Returns whether a change sets or clears the executable bit.
fn changes_mode(disk: &mut Disk<'_>, change: &FileChange) -> Result<bool, CommitError> {
    if change.executable.is_none() {
        return Ok(false);
    }
    let found = disk.look(&change.path)?.map(|found| found.permissions());
    Ok(found.is_some_and(|mode| with_executable(mode.clone(), change.executable) != mode))
}

/// Checks the file at the target of a change and returns its metadata, if there is a file.
fn old_file(disk: &mut Disk<'_>, change: &FileChange, targets: &mut Targets) -> Result<Option<Metadata>, CommitError> {
    let changed = || CommitError::Changed { path: change.path.clone() };
    let found = match (disk.look(&change.path)?, &change.before) {
        (None, None) => return Ok(None),
        (None, Some(_)) => return Err(changed()),
        (Some(found), None) if found.is_dir() => match targets.clear(disk, &change.path)? {
            true => return Ok(None),
            false => return Err(EnvError::IsDirectory { path: change.path.to_string() }.into()),
        },
        (Some(found), _) => found,
    };
    refuse_unless_replaceable(&change.path, &found, change.over_read_only)?;
    let Some(before) = &change.before else { return Err(changed()) };
    if !change.over_read_only {
        disk.check_writable(&change.path)?;
    }
    if disk.read(&change.path)? != *before {
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

/// Returns an unused name for a temporary file. An earlier process with the same process id may have left files.
fn free_name(disk: &mut Disk<'_>, parent: &FilePath, name: &str) -> Result<FilePath, CommitError> {
    loop {
        let temporary = parent.join(&temporary_name(name, PREPARED));
        if disk.look(&temporary)?.is_none() {
            return Ok(temporary);
        }
    }
}

/// The files and directories that a commit changes.
#[derive(Default)]
struct Targets {
    /// Directories that exist and are writable.
    existing: BTreeSet<FilePath>,
    /// Directories that must be created, outer ones first.
    missing: Vec<FilePath>,
    /// The files that the commit removes.
    gone: BTreeSet<FilePath>,
    /// Directories that give way to files, inner ones first.
    cleared: Vec<FilePath>,
    /// Directories that take the place of removed files, outer ones first.
    late: Vec<FilePath>,
    /// The changed files by device and inode, with their paths.
    #[cfg(unix)]
    files: HashMap<(u64, u64), FilePath>,
}

impl Targets {
    /// Checks that files can be created and removed in `directory`, or that it can be created.
    fn enter(&mut self, disk: &mut Disk<'_>, directory: &FilePath) -> Result<(), CommitError> {
        if [&self.missing, &self.late].iter().any(|known| known.contains(directory))
            || self.existing.contains(directory)
        {
            return Ok(());
        }
        match disk.look(directory)? {
            Some(found) if found.is_dir() => {
                disk.check_directory(directory)?;
                self.existing.insert(directory.clone());
            }
            Some(_) if self.gone.contains(directory) => {
                if let Some(above) = directory.parent() {
                    self.enter(disk, &above)?;
                }
                self.late.push(directory.clone());
            }
            Some(_) => {
                return Err(invalid(directory.as_str(), "it must be a directory, but it is a file").into());
            }
            None => {
                let above = directory.parent();
                if let Some(above) = &above {
                    self.enter(disk, above)?;
                }
                let is_late = above.is_some_and(|above| self.late.contains(&above));
                if is_late { &mut self.late } else { &mut self.missing }.push(directory.clone());
            }
        }
        Ok(())
    }

    /// Notes that a directory gives way to a file, with the directories in it. Returns false if anything would be left in
    /// it, or if one of them was not created for files: the directory stays then.
    fn clear(&mut self, disk: &mut Disk<'_>, path: &FilePath) -> Result<bool, CommitError> {
        let (mut cleared, mut ahead) = (Vec::new(), vec![path.clone()]);
        while let Some(directory) = ahead.pop() {
            if !disk.is_made(&directory) {
                return Ok(false);
            }
            for name in disk.list_all(&directory)? {
                // A name that is not UTF-8 is not that of a text.
                let Some(inner) = name.map(|name| directory.join(&name)) else { return Ok(false) };
                match disk.look(&inner)? {
                    Some(found) if found.is_dir() => ahead.push(inner),
                    Some(_) if !self.gone.contains(&inner) => return Ok(false),
                    _ => {}
                }
            }
            cleared.push(directory);
        }
        self.cleared.extend(cleared.into_iter().rev());
        Ok(true)
    }
}
