//! The facts that all tasks of a comparison share, and the outcome of one of them.

use emend_agent::error_code::Code;
use emend_eval::recording::RecordedTask;
use emend_eval::score::{Attempt, TaskResult};
use emend_eval::task::TaskSet;
use emend_eval::tree::TreeError;
use emend_llm::CancelToken;

use crate::failure::Failure;
use crate::settings::Settings;

/// The facts that all tasks share.
pub(super) struct Bench {
    pub(super) set: TaskSet,
    pub(super) settings: Settings,
    pub(super) attempts_max: usize,
    pub(super) records: bool,
    pub(super) cancel: CancelToken,
}

/// The outcome of one agent on one task.
pub(super) struct Outcome {
    pub(super) result: TaskResult,
    pub(super) recording: Option<RecordedTask>,
    /// The reason why the run is not the recorded one.
    pub(super) mismatch: Option<String>,
}

/// Returns the reason why a replay is not the recorded run.
pub(super) fn mismatch<'a>(
    recorded: Option<&RecordedTask>,
    messages: &[String],
    mut attempts: impl Iterator<Item = &'a Attempt>,
    unplayed: usize,
) -> Option<String> {
    let recorded = recorded?;
    let error = attempts.find_map(|attempt| attempt.error.clone());
    if error != recorded.error {
        return Some(error.unwrap_or_else(|| "the recorded run ended with an error".to_owned()));
    }
    if recorded.messages != messages {
        return Some("the messages to the agent are not the recorded ones".to_owned());
    }
    (unplayed > 0).then(|| format!("{unplayed} recorded responses were not requested"))
}

/// Returns the failure of a directory of tasks.
pub(super) fn broken(error: TreeError) -> Failure {
    Failure::new(Code::IoError, error.to_string())
}
