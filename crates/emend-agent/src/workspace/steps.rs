//! Changes of the list of the user's steps, for undo and redo.

use serde::{Deserialize, Serialize};

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

/// The last rollback that restored other files beside texts. The list of steps holds texts alone.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RepeatedRollback {
    pub(super) runs: Vec<u64>,
    /// Whether later changes of the texts went, too.
    pub(super) is_hard: bool,
    /// The numbers of steps after its undo; `None` as long as it is in effect.
    pub(super) undone_at: Option<StepCounts>,
}

/// Numbers of steps and runs. The next step or run changes them.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StepCounts {
    pub(super) done: usize,
    pub(super) undone: usize,
    pub(super) run: u64,
}

/// A step of the user during which the process was killed, and that has reached its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishedStep {
    /// These runs were undone.
    RunsUndone(Vec<u64>),
    /// The last step was undone. If that was the undo of runs, they are redone.
    StepUndone,
    /// Any other step, such as a decision or an edit.
    Other,
}
