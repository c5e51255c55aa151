//! Runs one command through the `shell` tool and reports how it ended.

use serde_json::json;

use crate::current_run::CurrentRun;
use crate::step::{PlannedCall, Step};

/// The first sentence of a refusal.
const REFUSED: &str = "This call was not allowed and did not run.";

/// Returns the next step of `run COMMAND`.
pub(crate) fn next(run: &CurrentRun, command: &str) -> Step {
    if let Some(refusal) = run.missing_tools(&["shell"]) {
        return refusal;
    }
    let Some(done) = run.done.last() else {
        return Step::call(
            format!("running `{command}`."),
            vec![PlannedCall::new("shell", [("command", json!(command))])],
        );
    };
    let text = done.result.text.trim_end();
    if done.result.is_error {
        return Step::say(match text.split_once("[permission_denied] ") {
            Some((_, why)) => format!("`{command}` was not run. {}", why.trim_start_matches(REFUSED).trim()),
            None => format!("`{command}` did not run to its end: {}", last_line(text)),
        });
    }
    // The last line of the tool's output reports how the command ended.
    Step::say(format!("`{command}` ended: {}", last_line(text).trim_matches(['[', ']'])))
}

fn last_line(text: &str) -> &str {
    text.lines().next_back().unwrap_or_default()
}
