//! Redo of an undo: every path that still is as the undo left it gets the state from before the undo.
//!
//! An undo notes the states of its paths before and after it. Its redo is one restoration of them, whichever of line logs
//! and commands had changed a path. Texts that the user has changed since are left to their line logs, which merge them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use emend_agent::environment::{FilePath, KeptRestored};

use super::aside::Aside;
use super::node::{Change, Content, Node, is_directory};
use super::record::{Line, State, Switching};
use super::restore::{Places, Switch, Switched, backwards, partly, permitted, restore};
use super::scan::entry_at;
use super::undo::Outcome;
use super::{Loaded, names};
use crate::files::{Attributes, RootFiles};

impl Loaded {
    /// Returns the paths that commands changed, these texts, and the directories above all of them, sorted.
    pub(super) fn paths_around(&self, commands: &[usize], texts: &BTreeSet<FilePath>) -> Vec<FilePath> {
        let mut paths = BTreeSet::new();
        for path in self.record.paths_of(commands).chain(texts) {
            let around = std::iter::successors(Some(path.clone()), FilePath::parent);
            // The directories above a known path are known.
            let _ = around.take_while(|path| !path.is_root()).try_for_each(|path| match paths.insert(path) {
                true => Ok(()),
                false => Err(()),
            });
        }
        paths.into_iter().collect()
    }

    /// Returns the present states of paths, and stores their contents. A path that cannot be read is left out.
    pub(super) fn states(&mut self, files: &RootFiles, paths: Vec<FilePath>) -> io::Result<Vec<State>> {
        let mut states = Vec::with_capacity(paths.len());
        for path in paths {
            let known = self.tree.binary_search_by(|entry| entry.path.cmp(&path)).ok().and_then(|at| self.tree.get(at));
            let is_product = known.map_or_else(|| self.record.is_product(&path), |known| known.is_product);
            let Ok(mut found) = entry_at(files, self.state, &path, is_product) else { continue };
            if let Some(entry) = &mut found {
                self.pack.add_entry(files, entry, known)?;
            }
            states.push((path, found.as_ref().map(Node::from)));
        }
        Ok(states)
    }

    /// Returns the paths whose states have changed, with these states and the present ones.
    pub(super) fn changes_since(&mut self, files: &RootFiles, states: Vec<State>) -> io::Result<Vec<Change>> {
        let paths = states.iter().map(|(path, _)| path.clone()).collect();
        let mut now: BTreeMap<FilePath, Option<Node>> = self.states(files, paths)?.into_iter().collect();
        let change = |(path, before)| {
            let after = now.remove(&path)?;
            let change = Change { path, before, after };
            differs(&change).then_some(change)
        };
        Ok(states.into_iter().filter_map(change).collect())
    }

    /// Returns the paths that a redo would give the states from before the last undo, or that have them already.
    pub(super) fn preview_redo(&mut self, files: &RootFiles) -> io::Result<BTreeSet<FilePath>> {
        let Some(undone) = self.record.undone.last() else { return Ok(BTreeSet::new()) };
        let mut places = places(files, &self.aside, self.record.is_redoing(&undone.commands));
        let mut settled = BTreeSet::new();
        for switch in undone.changes.iter().map(backwards) {
            if permitted(&switch, places.look(&switch), Switched::LeftAlone)? != Switched::LeftAlone {
                settled.insert(switch.path.clone());
            }
        }
        Ok(settled)
    }

    /// Restores the states from before the last undo, as far as the paths still are as it left them. Returns the paths that
    /// have these states now. Line logs may then merge texts among the others.
    pub(super) fn redo(&mut self, files: &RootFiles) -> io::Result<BTreeSet<FilePath>> {
        let Some(undone) = self.record.undone.last().cloned() else { return Ok(BTreeSet::new()) };
        let resumes = self.record.is_redoing(&undone.commands);
        self.append(Line::Switching(Switching { commands: undone.commands, is_on: true, ..Switching::default() }))?;
        let is_made = |change: &&Change| change.after.is_none() && is_directory(change.before.as_ref());
        // They go with the last file in them, if edits made them.
        files.note_made(undone.changes.iter().filter(is_made).map(|change| change.path.clone()))?;
        let removed = undone.changes.iter().filter_map(|change| match (&change.before, &change.after) {
            (None, Some(after @ Node { content: Content::File { .. }, .. }))
                if names::repository(&change.path).is_none() =>
            {
                Some((change.path.clone(), Attributes { mode: after.mode, owner: None }))
            }
            _ => None,
        });
        // A line log that creates such a file again gives it its mode bits at once.
        files.note_removed(&removed.collect::<Vec<_>>())?;
        let switches: Vec<Switch<'_>> = undone.changes.iter().map(backwards).collect();
        let places = places(files, &self.aside, resumes);
        let outcomes = restore(places, &mut self.pack, &switches).map_err(|error| partly(&error, "redo"))?;
        let mut outcome = Outcome::default();
        outcome.take(&switches, &outcomes);
        self.redone = Some(outcome);
        let settled = switches.iter().zip(outcomes).filter(|(_, outcome)| *outcome != Switched::LeftAlone);
        Ok(settled.map(|(switch, _)| switch.path.clone()).collect())
    }

    /// Completes a redo. `merged` are the texts that line logs have redone into texts of the user.
    pub(super) fn complete_redo(
        &mut self,
        files: &RootFiles,
        merged: &BTreeSet<FilePath>,
        by_logs: &BTreeSet<FilePath>,
    ) -> io::Result<KeptRestored> {
        let Some(undone) = self.record.undone.last().cloned() else { return Ok(KeptRestored::default()) };
        if self.redone.is_none() {
            self.redo(files)?;
        }
        let mut outcome = self.redone.take().unwrap_or_default();
        let of_modes: Vec<Change> = undone.changes.iter().filter_map(|change| mode_alone(change, merged)).collect();
        let switches: Vec<Switch<'_>> = of_modes.iter().map(backwards).collect();
        let places = Places::of(files, &self.aside);
        let outcomes = restore(places, &mut self.pack, &switches).map_err(|error| partly(&error, "redo"))?;
        outcome.take(&switches, &outcomes);
        merged.iter().for_each(|path| outcome.forget_kept(path));
        self.redo_modes(files, by_logs)?;
        let (commands, kept) = (undone.commands, outcome.left_alone());
        self.append(Line::switch(commands, true, kept))?;
        Ok(outcome.shown())
    }

    /// Gives files whose edits line logs have redone their mode bits.
    pub(super) fn redo_modes(&mut self, files: &RootFiles, redone: &BTreeSet<FilePath>) -> io::Result<()> {
        match self.record.redo_modes(files, redone)? {
            Some(switched) => self.append(Line::SwitchedEdits(switched)),
            None => Ok(()),
        }
    }
}

/// Returns the places for a redo, which an earlier process may have begun.
fn places<'a>(files: &'a RootFiles, aside: &'a Aside, resumes: bool) -> Places<'a> {
    Places::of(files, aside).over_removed_directories().resuming(resumes)
}

/// Returns whether the states of a change differ in content or mode bits.
fn differs(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (None, None) => false,
        (Some(before), Some(after)) => {
            let is_directory = |node: &Node| matches!(node.content, Content::Directory | Content::Crowd);
            let is_same = before.has_same_content(after) || is_directory(before) && is_directory(after);
            !is_same || before.mode != after.mode && !matches!(before.content, Content::Link(_))
        }
        _ => true,
    }
}

/// Returns the change of the mode bits of a file among `merged`, as a change that keeps the content.
fn mode_alone(change: &Change, merged: &BTreeSet<FilePath>) -> Option<Change> {
    let is_file = |node: &Node| matches!(node.content, Content::File { .. });
    match (&change.before, &change.after) {
        (Some(before), Some(after)) if merged.contains(&change.path) && is_file(before) && is_file(after) => {
            (before.mode != after.mode).then(|| change.of_mode_alone())
        }
        _ => None,
    }
}
