//! Undo and redo of the recorded changes of commands, around the part of the line logs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;

use emend_agent::environment::{FilePath, KeptRestored, KeptUndo, UndoStep};
use emend_llm::Clock as _;

use super::modes::mode_at;
use super::node::{Change, Node, is_directory};
use super::record::{Line, SwitchedEdits, Undone, UndoneMode};
use super::restore::{Places, Switch, Switched, backwards, forwards, permitted, restore, separate};
use super::{Loaded, names};
use crate::clock::SystemClock;
use crate::files::RootFiles;

impl Loaded {
    pub(super) fn undo(
        &mut self,
        files: &RootFiles,
        KeptUndo { runs, logged, left, restores_deleted }: &KeptUndo,
        step: UndoStep,
    ) -> io::Result<KeptRestored> {
        let commands = self.record.commands_to_undo(runs, !logged.is_empty());
        if step == UndoStep::BeforeLogs {
            self.put_back.clear();
            if commands.is_empty() || !self.record.is_undoing(&commands) {
                self.at_start.clear();
            }
            self.at_start.extend(self.record.modes_of_edits(files, runs, logged, &self.at_start));
        }
        if step == UndoStep::BeforeLogs && !commands.is_empty() {
            self.undoing = match self.record.is_undoing(&commands) {
                // Not known after a kill.
                true => self.undoing.take(),
                false => {
                    let restored_before = self.restored_before(files, &commands, logged)?;
                    Some(Undoing { restored_before, ..Undoing::default() })
                }
            };
            self.append(Line::Switching { commands: commands.clone(), is_on: false })?;
            self.let_give_way(files, &commands, logged, |change| (change.after.as_ref(), change.before.as_ref()))?;
        }
        // The changes of a killed process are not known, so each path counts as begun.
        let resumes = self.undoing.is_none();
        let mut outcome = Outcome::default();
        for &number in &commands {
            let Some(recorded) = self.record.commands.get(number) else { continue };
            let is_logged = |change: &&Change| recorded.is_in_log(change, logged);
            // A file that became a directory comes back only when the directory is empty.
            let is_replaced = |path: &FilePath| {
                let found = recorded.changes.binary_search_by(|change| change.path.cmp(path)).ok();
                let change = found.and_then(|at| recorded.changes.get(at));
                let was_file = |change: &Change| change.before.is_some() && !is_directory(change.before.as_ref());
                change.is_some_and(|change| was_file(change) && is_directory(change.after.as_ref()))
            };
            // The log has put the text there that was there before the first of the runs. A later one of them may have put
            // back what this command changed, so the texts of this command say nothing. Only mode bits are missing.
            let is_done = |change: &&Change| {
                step == UndoStep::AfterLogs
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
                        // A change that no log holds, such as that of a command in a killed process, is later than the text
                        // of the log, or is tried again after it.
                        !recorded.is_in_log(change, logged) || above.any(|above| is_replaced(&above))
                    }
                    UndoStep::AfterLogs => {
                        // The log has put a text there that may be the one of before this undo.
                        let is_logs = logged.contains(&change.path) && !left.contains(&change.path);
                        let was_done = |undoing: &Undoing| undoing.done.contains(&(number, change.path.clone()));
                        let is_settled = is_logs && self.undoing.as_ref().is_some_and(was_done) || is_removed(change);
                        !is_settled && (change.before.is_some() || !is_done(change))
                    }
                }
            };
            let live = || recorded.changes.iter().filter(|change| recorded.is_live(&change.path));
            let places = Places::of(files, &self.aside).restoring_deleted(*restores_deleted).resuming(resumes);
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
            let outcomes = restore(places, &mut self.pack, &switches).map_err(|error| partly(&error, "undo"))?;
            outcome.take(&switches, &outcomes);
            if step == UndoStep::BeforeLogs {
                let reached = switches.iter().zip(&outcomes).filter(|(_, outcome)| **outcome != Switched::LeftAlone);
                self.put_back.extend(reached.map(|(switch, _)| switch.path.clone()));
                if let Some(undoing) = &mut self.undoing {
                    for (change, outcome) in due.iter().zip(&outcomes) {
                        if *outcome == Switched::Done && recorded.is_in_log(change, logged) {
                            undoing.taken.insert(change.path.clone());
                        }
                        if *outcome != Switched::LeftAlone && !change.is_text() {
                            undoing.done.insert((number, change.path.clone()));
                        }
                    }
                }
            }
            if step == UndoStep::AfterLogs {
                // Directories that the edits had created, and the command had removed.
                recorded.changes.iter().filter(is_removed).for_each(|change| files.remove_made(&change.path));
            }
            // A log says itself which lines it kept. It has also put a text in the place of a directory, or has changed a text
            // that the first step had put in the place of something else.
            let is_settled = |change: &&Change| {
                let is_text = change.before.as_ref().is_none_or(|before| before.content.is_text());
                let is_logs = change.is_of_directory_alone() || is_text && self.put_back.contains(&change.path);
                is_logged(change) || logged.contains(&change.path) && !left.contains(&change.path) && is_logs
            };
            recorded.changes.iter().filter(is_settled).for_each(|change| {
                outcome.forget_kept(&change.path);
            });
        }
        match step {
            UndoStep::BeforeLogs => {
                // Tried again after the logs have removed their files.
                outcome.kept.clear();
                outcome.kept_modes.clear();
                if let Some(undoing) = &mut self.undoing {
                    undoing.touched.extend(outcome.restored.iter().cloned());
                }
            }
            UndoStep::AfterLogs => {
                // A text that stays as it is keeps its mode bits, too.
                let restored = logged.difference(left).cloned().collect();
                outcome.kept.extend(self.record.restore_modes(files, runs, &restored, &self.at_start)?);
                let at_start = std::mem::take(&mut self.at_start).into_iter();
                let restored = at_start.filter(|(path, _)| restored.contains(path));
                let modes: Vec<UndoneMode> =
                    restored.map(|(path, before)| UndoneMode { left: mode_at(files, &path), path, before }).collect();
                if !modes.is_empty() {
                    let runs = runs.clone();
                    self.append(Line::SwitchedEdits(SwitchedEdits { runs, modes, is_on: false }))?;
                }
                // The logs may have removed their files before the directories beside these were removed.
                let changes = commands.iter().filter_map(|&number| self.record.commands.get(number));
                let is_made = |change: &&Change| change.before.is_none() && is_directory(change.after.as_ref());
                let made = changes.flat_map(|recorded| &recorded.changes).filter(is_made).map(|change| &change.path);
                made.chain(logged).for_each(|path| files.remove_made(path));
                // Edits of a later run than the undone ones were made after that undo, and end its redo.
                let is_later = runs.iter().max() > self.record.undone_runs().last();
                let ends_redo = !self.record.undone.is_empty() && !logged.is_empty() && is_later;
                if !commands.is_empty() || ends_redo {
                    let is_touched = |path: &FilePath, undoing: &Undoing| {
                        undoing.touched.contains(path)
                            || outcome.restored.contains(path)
                            || (logged.contains(path)
                                && !left.contains(path)
                                && !undoing.restored_before.contains(path))
                    };
                    let (untouched, taken) = self.undoing.take().map_or_else(Default::default, |undoing| {
                        let paths = self.record.paths_of(&commands);
                        let untouched = paths.filter(|path| !is_touched(path, &undoing)).cloned().collect();
                        (untouched, undoing.taken)
                    });
                    let kept = outcome.left_alone().union(left).cloned().collect();
                    let at_ms = Some(SystemClock.now_ms());
                    let (alone, runs) = (logged.is_empty() && !resumes, runs.clone());
                    self.append(Line::Switch { commands, is_on: false, untouched, taken, alone, kept, at_ms, runs })?;
                }
            }
        }
        Ok(outcome.shown())
    }

    /// Returns the files of the line logs that already have their content before `commands`, named from the last one on:
    /// the user restored them. A redo leaves them as the user wants them.
    fn restored_before(
        &self,
        files: &RootFiles,
        commands: &[usize],
        logged: &BTreeSet<FilePath>,
    ) -> io::Result<BTreeSet<FilePath>> {
        let mut places = Places::of(files, &self.aside);
        let (mut restored, mut seen, mut as_left) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let recorded = commands.iter().filter_map(|number| self.record.commands.get(*number));
        for change in recorded.flat_map(|recorded| &recorded.changes).filter(|change| !change.keeps_content()) {
            if !change.is_text() || !logged.contains(&change.path) {
                continue;
            }
            // The last command may have put back what the others changed.
            let last = Switch { path: &change.path, from: None, to: change.after.as_ref() };
            if seen.insert(&change.path)
                && permitted(&last, places.look(&last), Switched::LeftAlone)? == Switched::Before
            {
                as_left.insert(&change.path);
            }
            let switch = backwards(change);
            // The first command that changed the file decides.
            if permitted(&switch, places.look(&switch), Switched::LeftAlone)? == Switched::Before {
                restored.insert(change.path.clone());
            } else {
                restored.remove(&change.path);
            }
        }
        restored.retain(|path| !as_left.contains(path));
        Ok(restored)
    }

    /// Notes the directories that an undo or redo of `commands` removes and in whose place line logs may put `texts`, so that
    /// they give way. `states` are those of a change: the one to replace, and the one to restore.
    fn let_give_way(
        &self,
        files: &RootFiles,
        commands: &[usize],
        texts: &BTreeSet<FilePath>,
        states: fn(&Change) -> (Option<&Node>, Option<&Node>),
    ) -> io::Result<()> {
        let is_in_the_way = |change: &&Change| {
            let (from, to) = states(change);
            let mut at_or_above = std::iter::successors(Some(change.path.clone()), FilePath::parent);
            is_directory(from) && !is_directory(to) && at_or_above.any(|path| texts.contains(&path))
        };
        let changes = commands.iter().filter_map(|number| self.record.commands.get(*number));
        let directories = changes.flat_map(|recorded| &recorded.changes).filter(is_in_the_way);
        files.note_made(directories.map(|change| change.path.clone()))
    }

    /// Makes the directories again that line logs need to redo `texts` and in whose place the last undo has put a file or
    /// link. The redo is not recorded as begun: until the logs have done their part, the undo stands.
    pub(super) fn make_room(&mut self, files: &RootFiles, texts: &BTreeSet<FilePath>) -> io::Result<KeptRestored> {
        let Some(Undone { mut commands, untouched, .. }) = self.record.undone.last().cloned() else {
            return Ok(KeptRestored::default());
        };
        self.let_give_way(files, &commands, texts, |change| (change.before.as_ref(), change.after.as_ref()))?;
        let is_there = |path: &FilePath| files.directory().symlink_metadata(crate::files::on_disk(path)).is_ok();
        self.absent = texts.iter().filter(|path| !is_there(path)).cloned().collect();
        commands.sort_unstable();
        self.in_room.clear();
        for &number in &commands {
            let Some(recorded) = self.record.commands.get(number) else { continue };
            let is_needed = |change: &&Change| {
                let had_other = change.before.is_some() && !is_directory(change.before.as_ref());
                let becomes_directory = had_other && is_directory(change.after.as_ref());
                let is_above = texts.iter().any(|text| *text != change.path && text.is_under(&change.path));
                // In a directory that becomes a file again.
                let is_below = had_other && change.after.is_none() && {
                    let mut above = std::iter::successors(change.path.parent(), FilePath::parent);
                    !texts.contains(&change.path) && above.any(|above| texts.contains(&above))
                };
                // A log continues what an earlier command had left there without it, such as a text in an ignored directory,
                // a text in the place of a link, or nothing.
                let is_base =
                    !change.keeps_content() && texts.contains(&change.path) && !recorded.is_in_log(change, texts);
                (becomes_directory && is_above || is_below || is_base) && !untouched.contains(&change.path)
            };
            let needed = recorded.changes.iter().filter(is_needed);
            let switches: Vec<Switch<'_>> = needed.map(forwards).collect();
            if !switches.is_empty() {
                let places = Places::of(files, &self.aside);
                let outcomes = restore(places, &mut self.pack, &switches).map_err(|error| partly(&error, "redo"))?;
                let reached = switches.iter().zip(&outcomes).filter(|(_, outcome)| **outcome != Switched::LeftAlone);
                let bases = reached.map(|(switch, _)| switch.path).filter(|path| texts.contains(path));
                self.in_room.extend(bases.map(|path| (number, path.clone())));
            }
        }
        Ok(KeptRestored::default())
    }

    /// Gives files whose edits line logs have redone their mode bits.
    pub(super) fn redo_modes(&mut self, files: &RootFiles, redone: &BTreeSet<FilePath>) -> io::Result<()> {
        match self.record.redo_modes(files, redone)? {
            Some(switched) => self.append(Line::SwitchedEdits(switched)),
            None => Ok(()),
        }
    }

    /// Redoes the last undo. `logged` are the texts with line logs, and `redone` those that these have just redone.
    pub(super) fn redo(
        &mut self,
        files: &RootFiles,
        logged: &BTreeSet<FilePath>,
        redone: &BTreeSet<FilePath>,
    ) -> io::Result<KeptRestored> {
        let Some(Undone { commands, untouched, taken, .. }) = self.record.undone.last().cloned() else {
            return Ok(KeptRestored::default());
        };
        let resumes = self.record.is_redoing(&commands);
        self.append(Line::Switching { commands: commands.clone(), is_on: true })?;
        // A later redo without the first step must not find them.
        let in_room = std::mem::take(&mut self.in_room);
        let mut outcome = Outcome::default();
        // An undo names the last command first.
        let mut forth = commands.clone();
        forth.sort_unstable();
        for &number in &forth {
            let Some(recorded) = self.record.commands.get(number) else { continue };
            // The log does not know a text that the undo removed without it.
            let is_done = |change: &Change| {
                recorded.is_in_log(change, redone) && !change.keeps_content() && !taken.contains(&change.path)
            };
            let is_there = |path: &FilePath| files.directory().symlink_metadata(crate::files::on_disk(path)).is_ok();
            // The log has made the file with the mode bits that it had when the undo removed it.
            let is_made = |change: &Change| change.before.is_none() && self.absent.contains(&change.path);
            // The path had the new state before the logs removed it, and an earlier command of this redo has made it anew.
            let is_made_anew = |change: &Change| !change.is_text() && outcome.restored.contains(&change.path);
            let is_in_room =
                |change: &Change| in_room.contains(&(number, change.path.clone())) && !is_made_anew(change);
            let due = recorded.changes.iter();
            let due = due.filter(|change| !untouched.contains(&change.path) && !is_in_room(change));
            // The log has put the text there that the last of its runs left. Only mode bits are missing.
            let due = due.filter(|change| {
                !is_done(change) || !is_made(change) && change.after.is_some() && is_there(&change.path)
            });
            let due: Vec<Cow<'_, Change>> = due
                .map(|change| if is_done(change) { Cow::Owned(change.of_mode_alone()) } else { Cow::Borrowed(change) })
                .collect();
            let switches: Vec<Switch<'_>> = due.iter().map(|change| forwards(change)).collect();
            let places = Places::of(files, &self.aside).over_removed_directories().resuming(resumes);
            let outcomes = restore(places, &mut self.pack, &switches).map_err(|error| partly(&error, "redo"))?;
            outcome.take(&switches, &outcomes);
            let is_settled = |change: &&Change| {
                change.is_text() && logged.contains(&change.path)
                    || redone.contains(&change.path) && change.is_of_directory_alone()
            };
            recorded.changes.iter().filter(is_settled).for_each(|change| {
                outcome.forget_kept(&change.path);
            });
        }
        self.redo_modes(files, redone)?;
        let kept = outcome.left_alone();
        self.append(Line::Switch {
            commands,
            is_on: true,
            untouched: BTreeSet::new(),
            taken: BTreeSet::new(),
            alone: false,
            kept,
            at_ms: None,
            runs: Vec::new(),
        })?;
        Ok(outcome.shown())
    }
}

/// Returns the error of an undo or redo that may have changed some paths before.
fn partly(error: &io::Error, action: &str) -> io::Error {
    let message = format!("{error}; some files may be changed back already; repeat the {action} to complete it");
    io::Error::new(error.kind(), message)
}

/// The first step of an undo, before the line logs do their part of it.
#[derive(Debug, Default)]
pub(super) struct Undoing {
    /// Paths that it has changed.
    touched: BTreeSet<FilePath>,
    /// Texts of the line logs that it has changed without them, because a file comes in the place of their directory.
    taken: BTreeSet<FilePath>,
    /// The changes of commands, by number, that no line log can hold and that it has undone, or found undone.
    done: BTreeSet<(usize, FilePath)>,
    /// Files of the line logs that the user had restored before.
    restored_before: BTreeSet<FilePath>,
}

/// Paths by the outcome of a restoration.
#[derive(Default)]
struct Outcome {
    restored: BTreeSet<FilePath>,
    /// Paths that were left alone.
    kept: BTreeSet<FilePath>,
    /// Paths of which only the mode bits were left alone.
    kept_modes: BTreeSet<FilePath>,
}

impl Outcome {
    fn take(&mut self, switches: &[Switch<'_>], outcomes: &[Switched]) {
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
                    self.restored.insert(switch.path.clone());
                }
                Switched::Before => {}
            }
        }
    }

    /// Returns the paths that were left alone.
    fn left_alone(&self) -> BTreeSet<FilePath> {
        self.kept.union(&self.kept_modes).cloned().collect()
    }

    /// Forgets that a path was left alone: its line log says that.
    fn forget_kept(&mut self, path: &FilePath) {
        self.kept.remove(path);
        self.kept_modes.remove(path);
    }

    /// Returns the paths as they are shown.
    fn shown(&self) -> KeptRestored {
        let kept = names::left_shown(self.left_alone().iter());
        let mut restored = names::all_shown(&self.restored);
        restored.retain(|path| !kept.contains(path));
        KeptRestored { kept: kept.into_iter().collect(), restored: restored.into_iter().collect() }
    }
}
