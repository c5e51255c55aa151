//! Mode bits of files that edits and commands both have created, deleted or replaced.
//!
//! A line log holds texts, not mode bits. An edit in place keeps the mode bits; before any other edit they are noted in
//! the record of the commands, so that the order of both is known. An undo of edits notes the mode bits that it replaces, so
//! that its redo restores them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use cap_std::fs::{MetadataExt as _, Permissions, PermissionsExt as _};
use emend_agent::environment::FilePath;

use super::node::{Content, Node};
use super::record::{Record, Step, SwitchedEdits, UndoneMode};
use crate::files::{RootFiles, on_disk};

/// The mode bits of files; `None` where there is no regular file.
pub(super) type Modes = BTreeMap<FilePath, Option<u32>>;

/// One change of a path: by an edit, or by a command, whose mode bits afterwards are known too.
struct Event {
    run: u64,
    /// The number of the command, unless it is an edit.
    command: Option<usize>,
    before: Option<u32>,
    after: Option<Option<u32>>,
    /// Inode and number of hard links of the file before a command.
    file: Option<(u64, u64)>,
    is_on: bool,
}

/// Returns the present mode bits of a file; `None` if there is no regular file.
pub(super) fn mode_at(files: &RootFiles, path: &FilePath) -> Option<u32> {
    let found = files.directory().symlink_metadata(on_disk(path)).ok().filter(cap_std::fs::Metadata::is_file)?;
    Some(found.permissions().mode() & 0o7777)
}

/// Gives a file mode bits.
fn set_mode(files: &RootFiles, path: &FilePath, mode: u32) -> io::Result<()> {
    files.directory().set_permissions(on_disk(path), Permissions::from_mode(mode))
}

impl Record {
    /// Returns the present mode bits of those paths that edits of `runs` have created, deleted or replaced and that are
    /// not `known`.
    pub(super) fn modes_of_edits(
        &self,
        files: &RootFiles,
        runs: &[u64],
        paths: &BTreeSet<FilePath>,
        known: &Modes,
    ) -> Modes {
        let edits = self.noted.iter().filter(|noted| runs.contains(&noted.run)).flat_map(|noted| &noted.modes);
        let edited = edits.filter(|(path, _)| paths.contains(path) && !known.contains_key(path));
        edited.map(|(path, _)| (path.clone(), mode_at(files, path))).collect()
    }

    /// Gives files that line logs have restored the mode bits from before the undone runs. `at_start` are the mode bits at
    /// the start of the undo, and `edited` the runs whose edits of each file were made.
    ///
    /// A file that a later run has changed, or whose mode bits the user has changed since, keeps its mode bits. Returns
    /// the files that keep them because they have other hard links than before the runs.
    pub(super) fn restore_modes(
        &self,
        files: &RootFiles,
        runs: &[u64],
        paths: &BTreeSet<FilePath>,
        (at_start, edited): (&Modes, &BTreeMap<FilePath, BTreeSet<u64>>),
    ) -> io::Result<BTreeSet<FilePath>> {
        let mut left = BTreeSet::new();
        for path in paths {
            let mut events = self.events(path);
            let is_made = |run: u64| edited.get(path).is_some_and(|made| made.contains(&run));
            events.retain(|event| event.command.is_some() || is_made(event.run));
            let is_undone = |event: &&Event| !event.is_on || runs.contains(&event.run);
            let first = events.iter().rev().take_while(is_undone).last();
            let (Some(now), Some(newest), Some(first)) = (mode_at(files, path), events.last(), first) else { continue };
            let was = at_start.get(path).copied().flatten().unwrap_or(now);
            let is_users = newest.is_on && newest.after.flatten().is_some_and(|after| after != was);
            let Some(mode) = first.before.filter(|mode| *mode != now && !is_users) else { continue };
            let found = files.directory().symlink_metadata(on_disk(path))?;
            if found.nlink() > 1 && first.file != Some((found.ino(), found.nlink())) {
                left.insert(path.clone());
                continue;
            }
            set_mode(files, path, mode)?;
        }
        Ok(left)
    }

    /// Gives files that line logs have redone the mode bits from before the undo of their edits, unless these were changed
    /// since. Returns the record of that; `None` if the last undo of edits was of other files.
    pub(super) fn redo_modes(
        &self,
        files: &RootFiles,
        redone: &BTreeSet<FilePath>,
    ) -> io::Result<Option<SwitchedEdits>> {
        let is_meant = |undone: &SwitchedEdits| undone.modes.iter().any(|mode| redone.contains(&mode.path));
        let Some(undone) = self.undone_edits.last().filter(|undone| is_meant(undone)) else { return Ok(None) };
        for UndoneMode { path, before, left } in undone.modes.iter().filter(|mode| redone.contains(&mode.path)) {
            let (Some(now), Some(before)) = (mode_at(files, path), *before) else { continue };
            if now != before && left.is_none_or(|left| left == now) {
                set_mode(files, path, before)?;
            }
        }
        Ok(Some(SwitchedEdits { is_on: true, ..undone.clone() }))
    }

    /// Returns the changes of a path that are in effect, oldest first, and those that were undone after the last of them.
    fn events(&self, path: &FilePath) -> Vec<Event> {
        let mode = |node: &Option<Node>| match node {
            Some(Node { content: Content::File { .. }, mode, .. }) => Some(*mode & 0o7777),
            _ => None,
        };
        let mut events: Vec<Event> = Vec::new();
        for step in &self.order {
            let event = match step {
                Step::Command(number) => self.commands.get(*number).and_then(|recorded| {
                    let change = recorded.change_of(path)?;
                    let (before, after) = (mode(&change.before), Some(mode(&change.after)));
                    let file = change.before.as_ref().map(|node| (node.inode, node.links));
                    Some(Event { run: recorded.run, command: Some(*number), before, after, file, is_on: true })
                }),
                Step::Edit(number) => self.noted.get(*number).and_then(|noted| {
                    let (_, before) = noted.modes.iter().find(|(known, _)| known == path)?;
                    let (run, before) = (noted.run, *before);
                    Some(Event { run, command: None, before, after: None, file: None, is_on: true })
                }),
                Step::Switched { commands, is_on, kept } => {
                    let is_meant = |event: &&mut Event| event.command.is_some_and(|number| commands.contains(&number));
                    if !kept.contains(path) {
                        events.iter_mut().filter(is_meant).for_each(|event| event.is_on = *is_on);
                    }
                    None
                }
                Step::SwitchedEdits(SwitchedEdits { runs, modes, is_on }) => {
                    let is_meant = |event: &&mut Event| event.command.is_none() && runs.contains(&event.run);
                    if modes.iter().any(|mode| mode.path == *path) {
                        events.iter_mut().filter(is_meant).for_each(|event| event.is_on = *is_on);
                    }
                    None
                }
            };
            if let Some(event) = event {
                // The mode bits before it are those after the last change that was in effect.
                while events.pop_if(|last| !last.is_on).is_some() {}
                events.push(event);
            }
        }
        events
    }
}
