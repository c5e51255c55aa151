//! Mode bits of files that edits and commands both have created, deleted or replaced.
//!
//! A line log holds texts, not mode bits. An edit in place keeps the mode bits; before any other edit they are noted in
//! the record of the commands, so that the order of both is known.

use std::collections::BTreeSet;
use std::io;

use cap_std::fs::{MetadataExt as _, Permissions, PermissionsExt as _};
use emend_agent::environment::FilePath;

use super::node::{Content, Node};
use super::record::Record;
use crate::files::{RootFiles, on_disk};

/// One change of a path: by an edit, or by a command, whose mode bits afterwards are known too.
struct Event {
    run: u64,
    before: Option<u32>,
    after: Option<Option<u32>>,
    /// Inode and number of hard links of the file before a command.
    file: Option<(u64, u64)>,
}

/// Returns the present mode bits of a file; `None` if there is no regular file.
pub(super) fn mode_at(files: &RootFiles, path: &FilePath) -> Option<u32> {
    let found = files.directory().symlink_metadata(on_disk(path)).ok().filter(cap_std::fs::Metadata::is_file)?;
    Some(found.permissions().mode() & 0o7777)
}

impl Record {
    /// Gives files that line logs have restored the mode bits from before the undone runs.
    ///
    /// A file that a later run has changed, or whose mode bits the user has changed since, keeps its mode bits. Returns
    /// the files that keep them because they have other hard links than before the runs.
    pub(super) fn restore_modes(
        &self,
        files: &RootFiles,
        runs: &[u64],
        paths: &BTreeSet<FilePath>,
    ) -> io::Result<BTreeSet<FilePath>> {
        let mut left = BTreeSet::new();
        for path in paths {
            let events = self.events(path);
            let undone = events.iter().rev().take_while(|event| runs.contains(&event.run));
            let (Some(now), Some(newest)) = (mode_at(files, path), events.last()) else { continue };
            let is_users = newest.after.flatten().is_some_and(|after| after != now);
            let first = undone.last();
            let Some(mode) = first.and_then(|first| first.before).filter(|mode| *mode != now && !is_users) else {
                continue;
            };
            let found = files.directory().symlink_metadata(on_disk(path))?;
            if found.nlink() > 1 && first.and_then(|first| first.file) != Some((found.ino(), found.nlink())) {
                left.insert(path.clone());
                continue;
            }
            files.directory().set_permissions(on_disk(path), Permissions::from_mode(mode))?;
        }
        Ok(left)
    }

    /// Returns the recorded changes of a path that are in effect, oldest first, and all noted edits of it.
    fn events(&self, path: &FilePath) -> Vec<Event> {
        let mode = |node: &Option<Node>| match node {
            Some(Node { content: Content::File { .. }, mode, .. }) => Some(*mode & 0o7777),
            _ => None,
        };
        let mut events = Vec::new();
        let mut noted = self.noted.iter().peekable();
        for number in 0..=self.commands.len() {
            while let Some(edit) = noted.next_if(|edit| edit.n_commands <= number) {
                let modes = edit.modes.iter().filter(|(noted, _)| noted == path);
                events.extend(modes.map(|(_, before)| Event {
                    run: edit.run,
                    before: *before,
                    after: None,
                    file: None,
                }));
            }
            // The mode bits after a change that was undone say nothing.
            let Some(recorded) = self.commands.get(number).filter(|known| known.is_live(path)) else { continue };
            let found = recorded.changes.binary_search_by(|change| change.path.cmp(path)).ok();
            if let Some(change) = found.and_then(|at| recorded.changes.get(at)) {
                let (before, after) = (mode(&change.before), mode(&change.after));
                let file = change.before.as_ref().map(|node| (node.inode, node.links));
                events.push(Event { run: recorded.run, before, after: Some(after), file });
            }
        }
        events
    }
}
