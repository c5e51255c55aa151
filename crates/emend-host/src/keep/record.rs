//! The record of commands and edits: lines that are appended durably, and the state that they lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use emend_agent::environment::{FilePath, KeptInterrupted, KeptRun, ReplacedDirectories};
use serde::{Deserialize, Serialize};

use super::names;
use super::node::{Change, Content, Node, is_directory};
use crate::files::append;

pub(super) const CHANGES: &str = "changes.jsonl";

/// The state of a path; `None` if nothing is there.
pub(super) type State = (FilePath, Option<Node>);

/// The mode bits of a file before an edit; `None` if there was no file.
pub(super) type NotedMode = (FilePath, Option<u32>);

/// The mode bits of some files before an edit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NotedModes {
    pub(super) run: u64,
    pub(super) modes: Vec<NotedMode>,
}

/// The mode bits of a file before and after an undo of edits; `None` if there was no file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UndoneMode {
    pub(super) path: FilePath,
    pub(super) before: Option<u32>,
    pub(super) left: Option<u32>,
}

/// An undo or redo of edits that had noted mode bits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SwitchedEdits {
    pub(super) runs: Vec<u64>,
    pub(super) modes: Vec<UndoneMode>,
    pub(super) is_on: bool,
}

/// A step of the record that says something about mode bits.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A command, by number.
    Command(usize),
    /// Mode bits that were noted before an edit, by number.
    Edit(usize),
    /// Commands, by number, were undone or redone, except `kept` paths of them.
    Switched {
        commands: Vec<usize>,
        is_on: bool,
        kept: BTreeSet<FilePath>,
    },
    SwitchedEdits(SwitchedEdits),
}

/// The recorded changes of one command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recorded {
    pub(super) run: u64,
    pub(super) at_ms: u64,
    pub(super) changes: Vec<Change>,
    pub(super) lost: Vec<FilePath>,
    /// Changed texts whose change no line log holds.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) unlogged: BTreeSet<FilePath>,
    /// Number of changed paths in each ignored directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ignored: BTreeMap<FilePath, usize>,
    /// Texts in ignored directories whose change a line log holds.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    logged_products: BTreeSet<FilePath>,
    /// Whether changes of the command are in effect.
    #[serde(skip, default = "yes")]
    pub(super) is_on: bool,
    /// The paths whose changes are in effect, if an undo or redo left some paths alone. Empty for all.
    #[serde(skip)]
    partly: BTreeSet<FilePath>,
}

impl Recorded {
    /// Returns a command whose changes are all in effect.
    pub(super) fn new(run: u64, at_ms: u64, changes: Vec<Change>, lost: Vec<FilePath>) -> Self {
        let (unlogged, ignored, logged_products, partly) = Default::default();
        Self { run, at_ms, changes, lost, unlogged, ignored, logged_products, is_on: true, partly }
    }

    /// Returns the command with these texts whose changes no line log holds.
    pub(super) fn without_logs(self, unlogged: BTreeSet<FilePath>) -> Self {
        Self { unlogged, ..self }
    }

    /// Returns the command with these numbers of changes in ignored directories, and the texts there that have line logs.
    pub(super) fn with_ignored(self, ignored: BTreeMap<FilePath, usize>, logged_products: BTreeSet<FilePath>) -> Self {
        Self { ignored, logged_products, ..self }
    }

    /// Returns whether the line log of a file in `logged` holds a change.
    pub(super) fn is_in_log(&self, change: &Change, logged: &BTreeSet<FilePath>) -> bool {
        let has_log = !change.is_product() || self.logged_products.contains(&change.path);
        change.is_text() && has_log && logged.contains(&change.path) && !self.unlogged.contains(&change.path)
    }

    /// Forgets the former contents, so that nothing of the command can be undone.
    pub(super) fn forget(&mut self) {
        self.lost.extend(self.changes.drain(..).map(|change| change.path));
        self.ignored.clear();
    }

    /// Returns the change of a path.
    pub(super) fn change_of(&self, path: &FilePath) -> Option<&Change> {
        let found = self.changes.binary_search_by(|change| change.path.cmp(path)).ok()?;
        self.changes.get(found)
    }

    /// Returns whether the change of a path is in effect.
    pub(super) fn is_live(&self, path: &FilePath) -> bool {
        self.is_on && (self.partly.is_empty() || self.partly.contains(path))
    }

    /// Switches all changes on or off, except those of the paths in `kept`.
    fn switch(&mut self, is_on: bool, kept: &BTreeSet<FilePath>) {
        let paths = self.changes.iter().map(|change| &change.path);
        let n_kept = paths.clone().filter(|path| kept.contains(*path)).count();
        self.partly = match n_kept {
            0 => BTreeSet::new(),
            _ => paths.filter(|path| kept.contains(*path) != is_on).cloned().collect(),
        };
        self.is_on = if n_kept == 0 { is_on } else { !self.partly.is_empty() };
    }

    /// Returns whether the command made the whole repository that a path is in.
    pub(super) fn makes_repository_of(&self, path: &FilePath) -> bool {
        let top = names::repository(path).and_then(|(directory, _)| FilePath::clean(directory));
        top.and_then(|top| self.change_of(&top)).is_some_and(|change| change.before.is_none())
    }
}

fn yes() -> bool {
    true
}

/// A line of `changes.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Command(Recorded),
    /// An edit is about to create, delete or replace files.
    Modes(NotedModes),
    /// Edits were undone or redone.
    SwitchedEdits(SwitchedEdits),
    /// Commands, by number, are about to be undone or redone. Until that is recorded as done, both are possible.
    Switching(Switching),
    /// Commands, by number, were undone or redone.
    Switch {
        commands: Vec<usize>,
        is_on: bool,
        /// Paths that were not switched, because they have another state. A later undo or redo tries them again.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        kept: BTreeSet<FilePath>,
        /// Of an undo.
        #[serde(default)]
        undone: Undone,
    },
}

impl Line {
    /// Returns the line of an undo or redo that says nothing for another redo. Without commands, it ends every redo.
    pub(super) fn switch(commands: Vec<usize>, is_on: bool, kept: BTreeSet<FilePath>) -> Self {
        Self::Switch { commands, is_on, kept, undone: Undone::default() }
    }

    /// Returns the line after which no undo can be redone.
    pub(super) fn no_undo() -> Self {
        Self::switch(Vec::new(), false, BTreeSet::new())
    }
}

/// An undo or redo that has begun.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Switching {
    /// The commands, by number.
    pub(super) commands: Vec<usize>,
    /// Whether they are redone.
    #[serde(default)]
    pub(super) is_on: bool,
    /// Of an undo, the number of the user's steps before it.
    #[serde(default)]
    pub(super) n_steps: usize,
    /// Of an undo, the states before it of the paths that it may change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) states: Vec<State>,
    /// Of an undo, the texts whose line logs take part in it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) logged: BTreeSet<FilePath>,
    /// Of an undo that is resumed, the texts whose line logs had done their part before the process was killed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) settled: BTreeSet<FilePath>,
}

/// An undo that can be redone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Undone {
    /// The undone commands, by number.
    #[serde(skip)]
    pub(super) commands: Vec<usize>,
    /// The paths that it changed, sorted, with their states before and after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Change>,
    /// The user's steps that line logs took in it, by number.
    pub(super) steps: Range<usize>,
    /// Its time in milliseconds since 1970, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at_ms: Option<u64>,
    /// Its runs, also those without commands: a redo redoes their edits with the commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) runs: Vec<u64>,
}

/// The commands and edits of the record.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) commands: Vec<Recorded>,
    /// Mode bits of files before edits, in order.
    pub(super) noted: Vec<NotedModes>,
    /// The steps of both, in order.
    pub(super) order: Vec<Step>,
    /// Each undo of edits with noted mode bits that can be redone, in order.
    pub(super) undone_edits: Vec<SwitchedEdits>,
    /// Each undo that can be redone, in order.
    pub(super) undone: Vec<Undone>,
    /// The undo or redo that is not complete.
    pub(super) switching: Option<Switching>,
}

impl Record {
    /// Reads the record in the keeper's directory. Also returns its length without a broken last line, if there is one.
    ///
    /// # Errors
    ///
    /// The record cannot be read, or a line is damaged.
    pub(super) fn read(directory: &Path) -> io::Result<(Self, Option<u64>)> {
        let (lines, n_whole) = lines(&directory.join(CHANGES))?;
        let mut record = Self::default();
        lines.into_iter().for_each(|line| record.take(line));
        Ok((record, n_whole))
    }

    /// Applies a line of the record.
    pub(super) fn take(&mut self, line: Line) {
        match line {
            Line::Command(recorded) => {
                self.switching = None;
                self.order.push(Step::Command(self.commands.len()));
                self.commands.push(recorded);
                self.undone.clear();
                self.undone_edits.clear();
            }
            Line::Modes(noted) => {
                self.order.push(Step::Edit(self.noted.len()));
                self.noted.push(noted);
                self.undone_edits.clear();
            }
            Line::SwitchedEdits(switched) => {
                if switched.is_on {
                    self.undone_edits.pop();
                } else {
                    self.undone_edits.push(switched.clone());
                }
                self.order.push(Step::SwitchedEdits(switched));
            }
            Line::Switching(switching) => {
                for &number in &switching.commands {
                    if let Some(recorded) = self.commands.get_mut(number) {
                        recorded.is_on = true;
                    }
                }
                self.switching = Some(switching);
            }
            Line::Switch { commands, is_on, kept, undone } => {
                self.switching = None;
                if !commands.is_empty() {
                    self.order.push(Step::Switched { commands: commands.clone(), is_on, kept: kept.clone() });
                }
                for &number in &commands {
                    if let Some(recorded) = self.commands.get_mut(number) {
                        recorded.switch(is_on, &kept);
                    }
                }
                match is_on {
                    true => {
                        let last = self.undone.iter().rposition(|undone| undone.commands == commands);
                        let mut undone = last.map(|last| self.undone.remove(last)).unwrap_or_default();
                        undone.changes.retain(|change| kept.contains(&change.path));
                        undone.steps.end = undone.steps.start;
                        self.push_undone(undone);
                    }
                    false if commands.is_empty() => self.undone.clear(),
                    false => self.push_undone(Undone { commands, ..undone }),
                }
            }
        }
    }

    /// Returns the lines that lead to the same commands and edits, some of which may be forgotten by now, without undos
    /// that can be redone.
    pub(super) fn steps(&self) -> impl Iterator<Item = Line> {
        self.order.iter().filter_map(|step| match step {
            Step::Command(number) => self.commands.get(*number).cloned().map(Line::Command),
            Step::Edit(number) => self.noted.get(*number).cloned().map(Line::Modes),
            Step::Switched { commands, is_on, kept } => Some(Line::switch(commands.clone(), *is_on, kept.clone())),
            Step::SwitchedEdits(switched) => Some(Line::SwitchedEdits(switched.clone())),
        })
    }

    /// Returns the undo of these commands that has begun and is not complete.
    pub(super) fn undoing(&self, commands: &[usize]) -> Option<&Switching> {
        self.switching.as_ref().filter(|switching| !switching.is_on && switching.commands == commands)
    }

    /// Returns whether the redo of these commands has begun and is not complete.
    pub(super) fn is_redoing(&self, commands: &[usize]) -> bool {
        self.switching.as_ref().is_some_and(|switching| switching.is_on && switching.commands == commands)
    }

    /// Returns the states that a redo, or the completion of an undo, may need.
    pub(super) fn nodes_of_undos(&self) -> impl Iterator<Item = &Node> {
        let changes = self.undone.iter().flat_map(|undone| &undone.changes);
        let states = self.switching.iter().flat_map(|switching| &switching.states);
        changes.flat_map(|change| [&change.before, &change.after]).chain(states.map(|(_, state)| state)).flatten()
    }

    /// Adds an undo, unless it has changed nothing that could be redone. An undone deletion of a file that the undo of a command
    /// removes again is in its log alone.
    fn push_undone(&mut self, undone: Undone) {
        if !undone.changes.is_empty() || !undone.steps.is_empty() {
            self.undone.push(undone);
        }
    }

    /// Returns whether the last change of a path was in an ignored directory.
    pub(super) fn is_product(&self, path: &FilePath) -> bool {
        let mut changes = self.commands.iter().rev().filter_map(|recorded| recorded.change_of(path));
        changes.next().is_some_and(Change::is_product)
    }

    /// Returns the paths that commands changed.
    pub(super) fn paths_of(&self, commands: &[usize]) -> impl Iterator<Item = &FilePath> {
        let commands = commands.iter().filter_map(|&number| self.commands.get(number));
        commands.flat_map(|recorded| &recorded.changes).map(|change| &change.path)
    }

    /// Returns the runs of the last undo.
    pub(super) fn undone_runs(&self) -> Vec<u64> {
        let Some(undone) = self.undone.last() else { return Vec::new() };
        let runs = self.runs_of(&undone.commands).into_iter().chain(undone.runs.iter().copied());
        runs.collect::<BTreeSet<u64>>().into_iter().collect()
    }

    /// Returns the undo or redo that is not complete.
    pub(super) fn interrupted(&self) -> Option<KeptInterrupted> {
        let Switching { commands, is_on, .. } = self.switching.as_ref()?;
        Some(if *is_on { KeptInterrupted::Redo } else { KeptInterrupted::Undo(self.runs_of(commands)) })
    }

    pub(super) fn runs_of(&self, commands: &[usize]) -> Vec<u64> {
        let runs = commands.iter().filter_map(|&number| Some(self.commands.get(number)?.run));
        runs.collect::<BTreeSet<u64>>().into_iter().collect()
    }

    /// Returns the commands that an undo of `runs` switches off, the last one first. A run of which nothing can be undone
    /// stays in effect, unless other runs are undone with it.
    pub(super) fn commands_to_undo(&self, runs: &[u64], has_edits: bool) -> Vec<usize> {
        let live = self.live_commands(runs);
        if live.is_empty() && !has_edits && runs.len() < 2 {
            return live;
        }
        let is_meant = |recorded: &Recorded| recorded.is_on && runs.contains(&recorded.run);
        let numbers = (0..self.commands.len()).rev();
        numbers.filter(|&number| self.commands.get(number).is_some_and(is_meant)).collect()
    }

    /// Returns the commands of `runs` that are in effect, the last one first.
    pub(super) fn live_commands(&self, runs: &[u64]) -> Vec<usize> {
        let is_meant =
            |recorded: &Recorded| recorded.is_on && !recorded.changes.is_empty() && runs.contains(&recorded.run);
        let numbers = (0..self.commands.len()).rev();
        numbers.filter(|&number| self.commands.get(number).is_some_and(is_meant)).collect()
    }

    /// Returns whether a command other than `commands`, later than all of them, has changed the content of a path and that is in
    /// effect. If the path has the state from before `commands`, then that command has put it there: its undo takes it away
    /// again, so the changes of `commands` are not undone.
    pub(super) fn is_changed_later(&self, commands: &[usize], path: &FilePath) -> bool {
        let after = commands.iter().max().map_or(0, |last| last + 1);
        let later = self.commands.iter().skip(after).filter(|recorded| recorded.is_live(path));
        later.filter_map(|recorded| recorded.change_of(path)).any(|change| !change.keeps_content())
    }

    /// Returns the paths that were directories before the first command of `runs` that changed them, each with the hash of the
    /// file that this command put in its place, if it put one there.
    pub(super) fn directories_before(&self, runs: &[u64]) -> ReplacedDirectories {
        let mut first: BTreeMap<&FilePath, &Change> = BTreeMap::new();
        let commands = self.commands.iter().filter(|recorded| runs.contains(&recorded.run));
        for change in commands.flat_map(|recorded| &recorded.changes) {
            first.entry(&change.path).or_insert(change);
        }
        let file = |change: &Change| match change.after.as_ref()?.content {
            Content::File { blob, .. } => blob.map(|blob| blob.hash),
            _ => None,
        };
        let directories = first.into_values().filter(|change| is_directory(change.before.as_ref()));
        directories.map(|change| (change.path.clone(), file(change))).collect()
    }

    /// Returns run and time of the first change of each path by a command of `runs` that no line log holds.
    pub(super) fn first_unlogged(&self, runs: &[u64]) -> BTreeMap<FilePath, (u64, u64)> {
        let mut first = BTreeMap::new();
        for recorded in self.commands.iter().filter(|recorded| runs.contains(&recorded.run)) {
            let has_no_log = |change: &&Change| {
                !change.keeps_content() && !recorded.is_in_log(change, &BTreeSet::from([change.path.clone()]))
            };
            for change in recorded.changes.iter().filter(has_no_log) {
                first.entry(change.path.clone()).or_insert((recorded.run, recorded.at_ms));
            }
        }
        first
    }

    /// Returns the number of changes in each ignored directory by commands of `runs`; with `only_live`, only by those that
    /// are in effect. A path counts once for each command.
    pub(super) fn ignored(&self, runs: &[u64], only_live: bool) -> BTreeMap<FilePath, usize> {
        let mut ignored = BTreeMap::new();
        let is_meant = |recorded: &&Recorded| runs.contains(&recorded.run) && (recorded.is_on || !only_live);
        for (path, n_changes) in self.commands.iter().filter(is_meant).flat_map(|recorded| &recorded.ignored) {
            *ignored.entry(names::shown(path)).or_default() += n_changes;
        }
        ignored
    }

    /// Returns the runs with recorded changes.
    pub(super) fn runs(&self) -> Vec<KeptRun> {
        let mut runs: Vec<KeptRun> = Vec::new();
        for recorded in &self.commands {
            if runs.last().is_none_or(|run| run.run_id != recorded.run) {
                let (run_id, at_ms) = (recorded.run, recorded.at_ms);
                runs.push(KeptRun { run_id, at_ms, files: Vec::new(), lost: Vec::new(), is_on: false });
            }
            let Some(run) = runs.last_mut() else { continue };
            let shown = recorded.changes.iter().filter(|change| !change.is_product());
            run.files.extend(names::all_shown(shown.map(|change| &change.path)));
            run.lost.extend(names::all_shown(&recorded.lost));
            // Also if nothing of it can be undone: an undo must say that rather than undo an older run.
            run.is_on |= recorded.is_on;
        }
        for run in &mut runs {
            for paths in [&mut run.files, &mut run.lost] {
                paths.sort_unstable();
                paths.dedup();
            }
        }
        runs
    }
}

/// Appends a line to the record, durably.
pub(super) fn append_line(directory: &Path, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    append(&directory.join(CHANGES), &text)
}

/// Returns the lines of the record, and its length without a broken last line, if there is one.
fn lines(path: &Path) -> io::Result<(Vec<Line>, Option<u64>)> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), None)),
        Err(error) => return Err(error),
    };
    let n_whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    for line in text.get(..n_whole).unwrap_or_default().split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        lines.push(serde_json::from_slice(line)?);
    }
    Ok((lines, (n_whole < text.len()).then_some(n_whole as u64)))
}
