//! Files that are not kept: those of large ignored directories, and those that a command moves from there or from outside the
//! root.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use emend_agent::environment::FilePath;

use super::node::{Change, Content, Entry, Node};
use super::scan::{has_changed_since, is_older, scan};
use super::{Keeper, Loaded, RUNNING, names};
use crate::files::RootFiles;
use crate::state::create_private;

impl Keeper {
    /// Returns the ignored directories that are not kept, as the last command found them.
    pub(crate) fn unkept(&mut self, files: &RootFiles) -> io::Result<Vec<FilePath>> {
        if self.only_reads {
            return Ok(Vec::new());
        }
        create_private(&self.directory)?;
        self.with(files, |loaded| loaded.unkept(files))
    }
}

impl Loaded {
    /// Returns the ignored directories that are not kept, as the last command found them.
    pub(super) fn unkept(&self, files: &RootFiles) -> io::Result<Vec<FilePath>> {
        let is_unkept = |entry: &&Entry| entry.content == Content::Crowd && entry.is_product;
        let paths = |tree: &[Entry]| names::all_shown(tree.iter().filter(is_unkept).map(|entry| &entry.path));
        let found = if self.tree.is_empty() { paths(&scan(files, self.state)?) } else { paths(&self.tree) };
        Ok(found.into_iter().collect())
    }

    /// Returns the time at which the command was about to start, in nanoseconds since 1970, by the clock of the file system.
    pub(super) fn since(&self) -> io::Result<i64> {
        let found = fs::metadata(self.directory.join(RUNNING))?;
        Ok(found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()))
    }

    /// Takes the new paths out of `changes` whose files were there before the command: it has moved them from a directory that
    /// is not kept, or from outside the root. To remove them would lose them. `since` is its start. Returns them, without those
    /// below them.
    pub(super) fn brought(&self, files: &RootFiles, changes: &mut Vec<Change>, since: i64) -> BTreeSet<FilePath> {
        let known: BTreeSet<u64> = match changes.iter().any(|change| change.before.is_none()) {
            true => {
                let kept = self.tree.iter().filter(|entry| entry.content != Content::Crowd);
                kept.map(|entry| entry.stamp.inode).collect()
            }
            false => BTreeSet::new(),
        };
        let mut brought = BTreeSet::new();
        let is_in = |brought: &BTreeSet<FilePath>, path: &FilePath| {
            let mut at_or_above = std::iter::successors(Some(path.clone()), FilePath::parent);
            !brought.is_empty() && at_or_above.any(|path| brought.contains(&path))
        };
        for Change { path, before, after } in &*changes {
            let is_new = |node: &Node| {
                let has_content = matches!(node.content, Content::File { .. } | Content::Directory);
                before.is_none() && has_content && !known.contains(&node.inode)
            };
            let is_outer = names::repository(path).is_none() && !is_in(&brought, path);
            if is_outer && after.as_ref().is_some_and(is_new) && is_older(files, path, since) {
                brought.insert(path.clone());
            }
        }
        changes.retain(|change| change.before.is_some() || !is_in(&brought, &change.path));
        brought
    }

    /// Returns the large ignored directories of `tree` in which anything has changed since the start of the command, also those
    /// that did not exist before. The former files of a directory that was smaller before are kept.
    pub(super) fn changed_crowds(&self, files: &RootFiles, tree: &[Entry], since: i64) -> io::Result<Vec<FilePath>> {
        let mut changed = Vec::new();
        for crowd in tree.iter().filter(|entry| entry.content == Content::Crowd && entry.is_product) {
            let before = self.tree.binary_search_by(|known| known.path.cmp(&crowd.path)).ok();
            let was_kept = before.and_then(|at| self.tree.get(at)).is_some_and(|known| known.content != Content::Crowd);
            if !was_kept && names::repository(&crowd.path).is_none() && has_changed_since(files, &crowd.path, since)? {
                changed.push(crowd.path.clone());
            }
        }
        Ok(changed)
    }
}
