//! The paths of all files of a large project, brought up to date by a look at its directories instead of a walk.
//!
//! A directory gets another stamp when an entry is added, removed or renamed. So a look at the stamps of the directories,
//! and of the files with ignore rules, finds the directories that have to be listed again. A change within the last step of
//! the clock may leave the stamp as it was; so a directory that changed just before it was listed is listed again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use emend_agent::environment::FilePath;
use emend_agent::environment::gitignore::IgnoreRules;
use emend_agent::environment::walk::Filter;
use emend_index::Stamp;
use rustix::fs::{AtFlags, FileType, statat};

use super::index::{SETTLED, now_ns, stamp};
use super::search::GITIGNORE;
use crate::files::directory::{Kind, Reader};
use crate::files::{RootFiles, on_disk, read_entry};

/// The list of one root.
#[derive(Default)]
pub(super) struct PathList(Mutex<HashMap<FilePath, Known>>);

/// A directory as it was listed.
struct Known {
    stamp: Stamp,
    /// The stamp of its ignore rules, if it has some.
    gitignore: Option<Stamp>,
    /// Whether a later change has another stamp.
    is_settled: bool,
    /// The rules for its entries.
    rules: IgnoreRules,
    files: Vec<FilePath>,
    inner: Vec<FilePath>,
}

impl Known {
    fn is_as_listed(&self, files: &RootFiles, path: &FilePath, stamp: Stamp) -> bool {
        let is_same = self.is_settled && self.stamp == stamp;
        is_same && self.gitignore.is_none_or(|before| look(files, &path.join(GITIGNORE), false) == Some(before))
    }
}

/// A directory to look at, the rules above it, and whether they have changed.
type Job = (FilePath, IgnoreRules, bool);

impl PathList {
    /// Returns the paths in order, as a walk finds them. `None` if the root cannot be looked at.
    pub(super) fn paths(&self, files: &RootFiles) -> Option<Vec<FilePath>> {
        self.update(files, now_ns()).map(|(paths, _)| paths)
    }

    /// As [`paths`](Self::paths), with the time before the look. Also returns the number of directories that were listed.
    fn update(&self, files: &RootFiles, now_ns: i64) -> Option<(Vec<FilePath>, usize)> {
        let filter = Filter::of_glob(&FilePath::root(), "**").ok()?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *known);
        let (mut reader, mut found, mut n_listed) = (Reader::default(), Vec::new(), 0);
        let mut ahead: Vec<Job> = vec![(FilePath::root(), IgnoreRules::default(), false)];
        while let Some((path, above, is_changed)) = ahead.pop() {
            let Some(stamp) = look(files, &path, true) else {
                // Removed a moment ago, as a walk would find it.
                if path.is_root() {
                    return None;
                }
                continue;
            };
            let old = before.remove(&path).filter(|old| !is_changed && old.is_as_listed(files, &path, stamp));
            let is_new = old.is_none();
            n_listed += usize::from(is_new);
            let listed = match old {
                Some(old) => old,
                None => match list(files, &path, &above, stamp, now_ns, &filter, &mut reader) {
                    Ok(listed) => listed,
                    // A walk tells the error, or skips the directory.
                    Err(Unlisted::Exhausted) => return None,
                    Err(Unlisted::Unreadable) => continue,
                },
            };
            // A directory with other rules may hide other files below it.
            ahead.extend(listed.inner.iter().map(|inner| (inner.clone(), listed.rules.clone(), is_new)));
            found.extend(listed.files.iter().cloned());
            known.insert(path, listed);
        }
        found.sort_unstable();
        Some((found, n_listed))
    }
}

enum Unlisted {
    Exhausted,
    Unreadable,
}

fn list(
    files: &RootFiles,
    path: &FilePath,
    above: &IgnoreRules,
    stamp: Stamp,
    now_ns: i64,
    filter: &Filter,
    reader: &mut Reader,
) -> Result<Known, Unlisted> {
    let directory = files.open_directory(path).map_err(|_| Unlisted::Unreadable)?;
    let (directory, entries) = reader.enter(&directory, ".").map_err(|error| {
        if crate::files::directory::is_exhausted(&error) { Unlisted::Exhausted } else { Unlisted::Unreadable }
    })?;
    let has_rules = entries.iter().any(|(name, _)| name == GITIGNORE);
    let gitignore = if has_rules { look(files, &path.join(GITIGNORE), false) } else { None };
    let text = if has_rules { read_entry(&directory, GITIGNORE) } else { None };
    let rules = above.enter(path, text.as_deref());
    let (mut own, mut inner) = (Vec::new(), Vec::new());
    for (name, kind) in entries {
        let (entry, is_directory) = (path.join(&name), kind == Kind::Directory);
        if rules.skips(&entry, is_directory) {
            continue;
        }
        if is_directory {
            inner.push(entry);
        } else if kind == Kind::File && filter.accepts(&entry) {
            own.push(entry);
        }
    }
    let settled_before = now_ns.saturating_sub(i64::try_from(SETTLED.as_nanos()).unwrap_or(i64::MAX));
    let is_old = |stamp: &Stamp| stamp.modified_ns.max(stamp.changed_ns) < settled_before;
    // Rules that are not in a regular file may be elsewhere, where no stamp tells their changes.
    let is_settled = is_old(&stamp) && gitignore.as_ref().map_or(!has_rules, is_old);
    Ok(Known { stamp, gitignore, is_settled, rules, files: own, inner })
}

/// Returns the stamp of a directory or of a regular file, without following a link.
fn look(files: &RootFiles, path: &FilePath, is_directory: bool) -> Option<Stamp> {
    let found = statat(files.directory(), on_disk(path), AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let wanted = if is_directory { FileType::Directory } else { FileType::RegularFile };
    (FileType::from_raw_mode(found.st_mode) == wanted).then(|| stamp(&found))
}

#[cfg(test)]
mod tests;
