//! Undo of the recorded changes of commands, around the part of the line logs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use emend_agent::environment::{FilePath, KeptRestored, KeptUndo, UndoStep};
use emend_llm::Clock as _;

use super::merge::Unlogged;
use super::modes::mode_at;
use super::node::{Change, Node, is_directory};
use super::record::{Line, Record, State, SwitchedEdits, Switching, Undone, UndoneMode};
use super::restore::{Places, Switch, Switched, backwards, partly, restore, separate};
use super::{Keeper, Loaded, names};
use crate::clock::SystemClock;
use crate::files::RootFiles;

impl Keeper {
    /// Returns run and time of the last change of each path that has made it a text and that is not in its line log.
    pub(crate) fn last_unlogged(&mut self, files: &RootFiles, undo: &KeptUndo) -> BTreeMap<FilePath, (u64, u64)> {
        if self.only_reads || !self.directory.exists() {
            return BTreeMap::new();
        }
        self.with(files, |loaded| Ok(loaded.last_unlogged(undo))).unwrap_or_default()
    }

    /// Returns run and time of the first change of each path by a command of `runs` that no line log holds.
    pub(crate) fn first_unlogged(&mut self, files: &RootFiles, runs: &[u64]) -> BTreeMap<FilePath, (u64, u64)> {
        if !self.directory.exists() {
            return BTreeMap::new();
        }
        if self.only_reads {
            let read = Record::read(&self.directory);
            return read.map(|(record, _)| record.first_unlogged(runs)).unwrap_or_default();
        }
        self.with(files, |loaded| Ok(loaded.record.first_unlogged(runs))).unwrap_or_default()
    }
}

impl Loaded {
    /// Begins an undo, durably: notes the states of the paths that it may change, among them `texts`, for its redo. A killed
    /// undo of the same commands is resumed.
    pub(super) fn begin_undo(
        &mut self,
        files: &RootFiles,
        (runs, n_steps): (&[u64], usize),
        texts: &BTreeSet<FilePath>,
    ) -> io::Result<()> {
        let commands = self.record.commands_to_undo(runs, !texts.is_empty());
        if commands.is_empty() {
            return Ok(());
        }
        // The changes of a killed process are not known.
        self.undoing = None;
        let (n_steps, states, settled) = match self.record.undoing(&commands) {
            Some(known) => {
                let settled =
                    known.logged.union(&known.settled).filter(|path| !texts.contains(*path)).cloned().collect();
                (known.n_steps, known.states.clone(), settled)
            }
            None => {
                self.undoing = Some(Undoing::default());
                let paths = self.paths_around(&commands, texts);
                let states = self.states(files, paths)?;
                self.pack.sync()?;
                (n_steps, states, BTreeSet::new())
            }
        };
        let logged = texts.clone();
        self.append(Line::Switching(Switching { commands, is_on: false, n_steps, states, logged, settled }))
    }

    /// Returns run and time of the last change of each path that has made it a text, that no line log holds and that is not
    /// undone yet. The log takes that text for one of another program.
    pub(super) fn last_unlogged(&self, KeptUndo { runs, logged, .. }: &KeptUndo) -> BTreeMap<FilePath, (u64, u64)> {
        let mut last: BTreeMap<FilePath, (u64, u64)> = BTreeMap::new();
        for number in self.commands_of(runs, logged) {
            let Some(recorded) = self.record.commands.get(number) else { continue };
            let is_left = |change: &&Change| {
                let is_done = |undoing: &Undoing| undoing.done.contains(&(number, change.path.clone()));
                // A log does not read anything else.
                let is_text = change.after.as_ref().is_some_and(|after| after.content.is_text());
                logged.contains(&change.path)
                    && is_text
                    && recorded.is_live(&change.path)
                    && !change.keeps_content()
                    && !recorded.is_in_log(change, logged)
                    && !self.undoing.as_ref().is_some_and(is_done)
            };
            for change in recorded.changes.iter().filter(is_left) {
                let known = last.entry(change.path.clone()).or_default();
                *known = (*known).max((recorded.run, recorded.at_ms));
            }
        }
        last
    }

    /// Returns the commands of an undo that has begun; otherwise those that it would undo.
    fn commands_of(&self, runs: &[u64], logged: &BTreeSet<FilePath>) -> Vec<usize> {
        let begun = self.record.switching.as_ref().filter(|switching| !switching.is_on).map(|begun| &begun.commands);
        let is_meant = |commands: &&Vec<usize>| self.record.runs_of(commands).iter().all(|run| runs.contains(run));
        begun.filter(is_meant).cloned().unwrap_or_else(|| self.record.commands_to_undo(runs, !logged.is_empty()))
    }

    pub(super) fn undo(&mut self, files: &RootFiles, undo: &KeptUndo, step: UndoStep) -> io::Result<KeptRestored> {
        let KeptUndo { runs, logged, last_edits, edited, first_edits, left, restores_deleted, n_steps, .. } = undo;
        let mut commands = self.commands_of(runs, logged);
        if step == UndoStep::BeforeLogs {
            if !commands.is_empty() && self.record.undoing(&commands).is_none() {
                self.begin_undo(files, (runs, *n_steps), logged)?;
                commands = self.commands_of(runs, logged);
            }
            self.put_back.clear();
            if commands.is_empty() || self.undoing.is_some() {
                self.at_start.clear();
            }
            self.at_start.extend(self.record.modes_of_edits(files, runs, logged, &self.at_start));
            self.let_give_way(files, &commands, logged)?;
        }
        let own = logged;
        // The user's lines in a text say nothing of the part of its log, which a killed process has done.
        let logged = &match self.record.undoing(&commands) {
            Some(begun) => logged.union(&begun.settled).cloned().collect(),
            None => logged.clone(),
        };
        // The changes of a killed process are not known, so each path counts as begun.
        let resumes = self.undoing.is_none();
        let begun = self.record.undoing(&commands).filter(|_| step != UndoStep::BeforeLogs);
        let was_directory = |(path, found): &State| is_directory(found.as_ref()).then(|| path.clone());
        let gave_way = begun.into_iter().flat_map(|begun| &begun.states).filter_map(was_directory).collect();
        let mut outcome = Outcome::default();
        for &number in &commands {
            let Some(recorded) = self.record.commands.get(number) else { continue };
            let is_logged = |change: &&Change| recorded.is_in_log(change, logged);
            // A file that became a directory comes back only when the directory is empty.
            let is_replaced = |path: &FilePath| {
                let was_file = |change: &Change| change.before.is_some() && !is_directory(change.before.as_ref());
                recorded.change_of(path).is_some_and(|change| was_file(change) && is_directory(change.after.as_ref()))
            };
            // The log has put the text there that was there before the first of the runs. A later one of them may have put
            // back what this command changed, so the texts of this command say nothing. Only mode bits are missing.
            let is_done = |change: &&Change| {
                step != UndoStep::BeforeLogs
                    && is_logged(change)
                    && !change.keeps_content()
                    && !left.contains(&change.path)
            };
            // The log has removed a file that an edit of the same runs had created.
            let is_removed = |change: &&Change| {
                is_logged(change)
                    && !left.contains(&change.path)
                    && files.directory().symlink_metadata(crate::files::on_disk(&change.path)).is_err()
            };
            let is_due = |change: &&Change| {
                let mut above = std::iter::successors(change.path.parent(), FilePath::parent);
                if names::is_object(&change.path)
                    && change.before.is_none()
                    && !recorded.makes_repository_of(&change.path)
                {
                    // A later commit of the user may need it.
                    return false;
                }
                match step {
                    UndoStep::BeforeLogs => {
                        // The log undoes later changes first.
                        let is_last = last_edits.get(&change.path) <= Some(&(recorded.run, recorded.at_ms));
                        // A change that no log holds, such as that of a command in a killed process, is tried again after it.
                        !recorded.is_in_log(change, logged) && is_last || above.any(|above| is_replaced(&above))
                    }
                    UndoStep::BetweenLogs | UndoStep::AfterLogs => {
                        // The log has put a text there that may be the one of before this undo.
                        let was_done = |undoing: &Undoing| undoing.done.contains(&(number, change.path.clone()));
                        let is_settled = self.undoing.as_ref().is_some_and(was_done) || is_removed(change);
                        !is_settled && (change.before.is_some() || !is_done(change))
                    }
                }
            };
            let live = || recorded.changes.iter().filter(|change| recorded.is_live(&change.path));
            let places = Places::of(files, &self.aside).restoring_deleted(*restores_deleted).resuming(resumes);
            let places = places.giving_way(&gave_way);
            if step == UndoStep::BeforeLogs {
                let linked: Vec<Switch<'_>> =
                    live().filter(|change| is_logged(change) && !is_due(change)).map(backwards).collect();
                let apart = separate(Places::of(files, &self.aside), &mut self.pack, &linked);
                apart.map_err(|error| partly(&error, "undo"))?;
            }
            let due = live().filter(is_due);
            let due: Vec<Cow<'_, Change>> = due
                .map(|change| if is_done(&change) { Cow::Owned(change.of_mode_alone()) } else { Cow::Borrowed(change) })
                .collect();
            let switches: Vec<Switch<'_>> = due.iter().map(|change| backwards(change)).collect();
            let mut outcomes = restore(places, &mut self.pack, &switches).map_err(|error| partly(&error, "undo"))?;
            let states = self.record.undoing(&commands).map(|begun| begun.states.as_slice()).unwrap_or_default();
            // A hard rollback leaves no lines of the user.
            for (change, outcome) in due.iter().zip(&mut outcomes).filter(|_| !restores_deleted) {
                if *outcome == Switched::LeftAlone
                    && recorded.unlogged.contains(&change.path)
                    && !left.contains(&change.path)
                    && !self.record.is_changed_later(&commands, &change.path)
                {
                    let unlogged = Unlogged { change, begun: states };
                    *outcome = unlogged.take_back((files, &self.aside), &mut self.pack, self.state)?;
                }
            }
            for (switch, outcome) in switches.iter().zip(&mut outcomes) {
                if *outcome == Switched::Before && self.record.is_changed_later(&commands, switch.path) {
                    *outcome = Switched::LeftAlone;
                }
            }
            outcome.take(&switches, &outcomes);
            if let (UndoStep::BetweenLogs | UndoStep::AfterLogs, Some(undoing)) = (step, &self.undoing) {
                // The last switch of a path decides, also if it was made in an earlier step.
                let is_done = |change: &&Change| undoing.done.contains(&(number, change.path.clone()));
                let done = live().filter(|change| !change.keeps_content()).filter(is_done);
                done.for_each(|change| outcome.forget_kept(&change.path));
            }
            if step == UndoStep::BeforeLogs {
                let reached = switches.iter().zip(&outcomes).filter(|(_, outcome)| **outcome != Switched::LeftAlone);
                self.put_back.extend(reached.map(|(switch, _)| switch.path.clone()));
                if let Some(undoing) = &mut self.undoing {
                    for (change, outcome) in due.iter().zip(&outcomes) {
                        // Where nothing was and is to be, an edit may have deleted the file, which its log creates again.
                        let is_absent = *outcome == Switched::Before && change.before.is_none();
                        if *outcome != Switched::LeftAlone && !is_absent && !recorded.is_in_log(change, logged) {
                            undoing.done.insert((number, change.path.clone()));
                        }
                    }
                }
            }
            if let (UndoStep::BetweenLogs, Some(undoing)) = (step, &mut self.undoing) {
                let done = switches.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == Switched::Done);
                undoing.done.extend(done.map(|(switch, _)| (number, switch.path.clone())));
            }
            // A log says itself which lines it kept. It has also put a text in the place of a directory, or has changed a text
            // that the first step had put in the place of something else.
            let is_settled = |change: &&Change| {
                let is_text = change.before.as_ref().is_none_or(|before| before.content.is_text());
                let is_logs = change.is_of_directory_alone() || is_text && self.put_back.contains(&change.path);
                // The log has put the text of before the first edit there, in the place of all that came after it.
                let is_older = |first: &(u64, u64)| *first <= (recorded.run, recorded.at_ms);
                let is_logs = is_logs || first_edits.get(&change.path).is_some_and(is_older);
                is_logged(change) || logged.contains(&change.path) && !left.contains(&change.path) && is_logs
            };
            recorded.changes.iter().filter(is_settled).for_each(|change| {
                outcome.forget_kept(&change.path);
            });
        }
        match step {
            UndoStep::BeforeLogs | UndoStep::BetweenLogs => {
                // Tried again after the logs have removed their files.
                outcome.forget_left_alone();
            }
            UndoStep::AfterLogs => {
                // The logs may have removed their files before the directories beside these were removed.
                let changes = commands.iter().filter_map(|&number| self.record.commands.get(number));
                let is_made = |change: &&Change| change.before.is_none() && is_directory(change.after.as_ref());
                let made = changes.flat_map(|recorded| &recorded.changes).filter(is_made).map(|change| &change.path);
                made.chain(logged).for_each(|path| files.remove_made(path));
                self.restore_missing(files, &commands, undo, &mut outcome)?;
                // A text that stays as it is keeps its mode bits, too.
                let restored = own.difference(left).cloned().collect();
                outcome.kept.extend(self.record.restore_modes(files, runs, &restored, (&self.at_start, edited))?);
                let at_start = std::mem::take(&mut self.at_start).into_iter();
                let restored = at_start.filter(|(path, _)| restored.contains(path));
                let modes: Vec<UndoneMode> =
                    restored.map(|(path, before)| UndoneMode { left: mode_at(files, &path), path, before }).collect();
                if !modes.is_empty() {
                    let runs = runs.clone();
                    self.append(Line::SwitchedEdits(SwitchedEdits { runs, modes, is_on: false }))?;
                }
                if !commands.is_empty() {
                    self.undoing = None;
                    let begun = self.record.undoing(&commands).cloned().unwrap_or_default();
                    let kept = outcome.left_alone().union(left).cloned().collect();
                    let changes = self.changes_since(files, begun.states)?;
                    self.pack.sync()?;
                    let undone = Undone {
                        changes,
                        steps: begun.n_steps..*n_steps,
                        at_ms: Some(SystemClock.now_ms()),
                        runs: runs.clone(),
                        ..Undone::default()
                    };
                    self.append(Line::Switch { commands, is_on: false, kept, undone })?;
                }
            }
        }
        Ok(outcome.shown())
    }

    /// Restores the files that were there before the undone runs and when the undo began, and that the undo removed. The line
    /// logs take a removal by the keeper for one by another program, and leave it in effect.
    fn restore_missing(
        &mut self,
        files: &RootFiles,
        commands: &[usize],
        undo: &KeptUndo,
        outcome: &mut Outcome,
    ) -> io::Result<()> {
        let Some(begun) = self.record.undoing(commands) else { return Ok(()) };
        // The first change of each path, because the last command comes first.
        let mut first: BTreeMap<&FilePath, (&Change, (u64, u64))> = BTreeMap::new();
        for recorded in commands.iter().filter_map(|number| self.record.commands.get(*number)) {
            let at = (recorded.run, recorded.at_ms);
            first.extend(recorded.changes.iter().map(|change| (&change.path, (change, at))));
        }
        let is_file = |node: &&Node| !is_directory(Some(*node));
        let mut missing = Vec::new();
        for (path, begun) in &begun.states {
            let Some(begun) = begun.as_ref().filter(is_file).filter(|_| is_missing(files, path)) else { continue };
            if names::repository(path).is_some() || self.record.is_changed_later(commands, path) {
                continue;
            }
            let change = first.get(path);
            let edited = undo.first_edits.get(path).filter(|edited| change.is_none_or(|(_, at)| *edited <= at));
            let before = match (edited, change) {
                (Some(_), _) => match undo.bases.get(path) {
                    Some(text) => self.pack.add(text.as_bytes())?.map(|blob| Node::of_text(blob, begun)),
                    None => None,
                },
                (None, change) => change.and_then(|(change, _)| change.before.clone()),
            };
            missing.extend(before.filter(|node| is_file(&node)).map(|node| (path.clone(), node)));
        }
        let switches: Vec<Switch<'_>> =
            missing.iter().map(|(path, node)| Switch { path, from: None, to: Some(node) }).collect();
        let places = Places::of(files, &self.aside);
        let outcomes = restore(places, &mut self.pack, &switches).map_err(|error| partly(&error, "undo"))?;
        outcome.take(&switches, &outcomes);
        Ok(())
    }

    /// Notes the directories that an undo of `commands` removes and in whose place line logs may put `texts`, so that they
    /// give way.
    fn let_give_way(&self, files: &RootFiles, commands: &[usize], texts: &BTreeSet<FilePath>) -> io::Result<()> {
        let is_in_the_way = |change: &&Change| {
            let (from, to) = (change.after.as_ref(), change.before.as_ref());
            let mut at_or_above = std::iter::successors(Some(change.path.clone()), FilePath::parent);
            is_directory(from) && !is_directory(to) && at_or_above.any(|path| texts.contains(&path))
        };
        let changes = commands.iter().filter_map(|number| self.record.commands.get(*number));
        let directories = changes.flat_map(|recorded| &recorded.changes).filter(is_in_the_way);
        files.note_made(directories.map(|change| change.path.clone()))
    }
}

/// Returns whether nothing is at a path, but the directory above it is there.
fn is_missing(files: &RootFiles, path: &FilePath) -> bool {
    let is_there = |path: &FilePath| files.directory().symlink_metadata(crate::files::on_disk(path)).is_ok();
    !is_there(path) && path.parent().is_none_or(|above| above.is_root() || is_there(&above))
}

/// The first step of an undo, before the line logs do their part of it.
#[derive(Debug, Default)]
pub(super) struct Undoing {
    /// The changes of commands, by number, that no line log can hold and that it has undone, or found undone.
    done: BTreeSet<(usize, FilePath)>,
}

/// Paths by the outcome of a restoration.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    restored: BTreeSet<FilePath>,
    /// Paths of which only the mode bits were restored.
    restored_modes: BTreeSet<FilePath>,
    /// Paths that were left alone.
    kept: BTreeSet<FilePath>,
    /// Paths of which only the mode bits were left alone.
    kept_modes: BTreeSet<FilePath>,
}

impl Outcome {
    pub(super) fn take(&mut self, switches: &[Switch<'_>], outcomes: &[Switched]) {
        for (switch, outcome) in switches.iter().zip(outcomes) {
            // The last switch of a path decides. One of mode bits says nothing of a content that was left alone.
            if !switch.keeps_content() {
                self.kept.remove(switch.path);
            }
            self.kept_modes.remove(switch.path);
            match outcome {
                Switched::LeftAlone if switch.keeps_content() => {
                    self.kept_modes.insert(switch.path.clone());
                }
                Switched::LeftAlone => {
                    self.kept.insert(switch.path.clone());
                }
                Switched::Done => {
                    let restored = if switch.keeps_content() { &mut self.restored_modes } else { &mut self.restored };
                    restored.insert(switch.path.clone());
                }
                Switched::Before => {}
            }
        }
    }

    /// Returns the paths that were left alone.
    pub(super) fn left_alone(&self) -> BTreeSet<FilePath> {
        self.kept.union(&self.kept_modes).cloned().collect()
    }

    /// Forgets that a path was left alone: its line log says that.
    pub(super) fn forget_kept(&mut self, path: &FilePath) {
        self.kept.remove(path);
        self.kept_modes.remove(path);
    }

    /// Forgets the paths that were left alone, because they are tried again. Of those, restored mode bits are not shown.
    fn forget_left_alone(&mut self) {
        let kept = self.left_alone();
        self.restored_modes.retain(|path| !kept.contains(path));
        self.kept.clear();
        self.kept_modes.clear();
    }

    /// Returns the paths as they are shown. A path of which a part of the changes was undone is among both.
    pub(super) fn shown(&self) -> KeptRestored {
        let kept = names::left_shown(self.left_alone().iter());
        let mut restored = names::all_shown(&self.restored_modes);
        restored.retain(|path| !kept.contains(path));
        // A repository is named once.
        let is_shown = |path: &FilePath| !kept.contains(path) || names::repository(path).is_none();
        restored.extend(names::all_shown(&self.restored).into_iter().filter(is_shown));
        KeptRestored { kept: kept.into_iter().collect(), restored: restored.into_iter().collect() }
    }
}
