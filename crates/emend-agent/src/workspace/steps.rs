//! Steps of the user, for undo and redo: which files each step changed, and what becomes of the list when files change.

use serde::{Deserialize, Serialize};

use super::state::State;
use crate::environment::FilePath;

/// A change of the list of steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StepKind {
    /// A new step. It ends the redo of earlier ones.
    New,
    /// The last step is undone.
    Undone,
    /// The last undone step is redone.
    Redone,
}

/// A change of the list of steps, and the files of the step.
///
/// It is saved with the line logs before the files change, so that the next process knows the step if this one is killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    pub(super) paths: Vec<FilePath>,
    /// The runs that the step undoes as a whole; empty for any other step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) runs: Vec<u64>,
}

impl Step {
    pub(super) fn new(paths: Vec<FilePath>) -> Self {
        Self { kind: StepKind::New, paths, runs: Vec::new() }
    }
}

impl State {
    /// Changes the list of steps.
    ///
    /// A step that reached some of its files only, because the process was killed, stays in its old list with the others.
    pub(super) fn take_step(&mut self, step: Step) {
        let Step { kind, paths, .. } = step;
        if paths.is_empty() {
            return;
        }
        let (from, to) = match kind {
            StepKind::New => {
                self.undone.clear();
                self.done.push(paths);
                return;
            }
            StepKind::Undone => (&mut self.done, &mut self.undone),
            StepKind::Redone => (&mut self.undone, &mut self.done),
        };
        if let Some(last) = from.last_mut() {
            last.retain(|path| !paths.contains(path));
            if last.is_empty() {
                from.pop();
            }
        }
        to.push(paths);
    }
}
