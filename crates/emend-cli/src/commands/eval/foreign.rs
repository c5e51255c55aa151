//! Scores runs of another host, such as a page, and checks its requests against the recordings.
//!
//! The file has one JSON object per line: `model`, `edits`, `tool_calls`, `task`, and `attempts` with `message`, `events`, `files`,
//! `user_edit_made` and `requests` (`url`, `body`) each.

use std::collections::BTreeMap;
use std::path::Path;

use emend_agent::error_code::Code;
use emend_eval::judge::{judge, second_message};
use emend_eval::run_log::RunLog;
use emend_eval::score::{Attempt, Contestant, TaskResult};
use emend_eval::task::{Goal, TaskSet};
use emend_eval::tree::Tree;
use emend_llm::cassette::{Player, PlayerOptions};
use emend_llm::{CancelToken, Headers, HttpRequest, Transport as _};
use futures::executor::block_on;
use serde::Deserialize;
use serde_json::Value;

use super::bench::{Outcome, mismatch};
use super::entries::{Entry, priced_model};
use crate::failure::Failure;

#[derive(Deserialize)]
struct ForeignTask {
    model: String,
    edits: Option<String>,
    #[serde(default)]
    tool_calls: Option<String>,
    task: String,
    attempts: Vec<ForeignAttempt>,
}

#[derive(Deserialize)]
struct ForeignAttempt {
    message: String,
    events: Vec<Value>,
    files: BTreeMap<String, String>,
    user_edit_made: bool,
    requests: Vec<ForeignRequest>,
}

#[derive(Deserialize)]
struct ForeignRequest {
    url: String,
    body: String,
}

/// Returns the scores of the runs in `file`.
pub(super) fn judged_file(file: &Path, set: &TaskSet, entries: &[Entry]) -> Result<Vec<Outcome>, Failure> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(Code::InvalidArgument, format!("{name}: {error}")))?;
    judged(&name, &text, set, entries)
}

/// Returns the scores of runs, one JSON object per line. `name` is their place, for errors.
pub(super) fn judged(name: &str, text: &str, set: &TaskSet, entries: &[Entry]) -> Result<Vec<Outcome>, Failure> {
    let wrong = |what: String| Failure::new(Code::InvalidArgument, format!("{name}: {what}"));
    let mut outcomes = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let run: ForeignTask = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let contestant =
            Contestant { model: run.model.clone(), edits: run.edits.clone(), tool_calls: run.tool_calls.clone() };
        let is_same = |entry: &&Entry| entry.contestant == contestant;
        let entry = entries.iter().find(is_same);
        let entry = entry.ok_or_else(|| wrong(format!("there is no recording of {}", run.model)))?;
        outcomes.push(outcome(run, set, entry, &wrong)?);
    }
    for entry in entries {
        let judged = outcomes.iter().filter(|outcome| outcome.result.contestant == entry.contestant).count();
        if judged != set.tasks.len() {
            let message =
                format!("it has {judged} runs of {}, and the set has {} tasks", entry.contestant, set.tasks.len());
            return Err(wrong(message));
        }
    }
    Ok(outcomes)
}

fn outcome(
    run: ForeignTask,
    set: &TaskSet,
    entry: &Entry,
    wrong: &dyn Fn(String) -> Failure,
) -> Result<Outcome, Failure> {
    let task = set.tasks.iter().find(|task| task.id == run.task);
    let task = task.ok_or_else(|| wrong(format!("the set has no task {}", run.task)))?;
    if matches!(task.goal, Goal::Check(_)) {
        return Err(wrong(format!("the task {} needs a command; only sets without commands can be scored", run.task)));
    }
    let recorded = entry.recorded(task)?.ok_or_else(|| wrong("there is no recording".to_owned()))?;
    let options = PlayerOptions { root: "/".to_owned(), secrets: Vec::new() };
    let player = Player::new(recorded.cassette.clone(), options);
    let (mut attempts, mut messages): (Vec<Attempt>, Vec<String>) = (Vec::new(), Vec::new());
    let mut expected_message = task.instruction.clone();
    let mut refused = None;
    for attempt in run.attempts {
        if attempt.message != expected_message {
            refused.get_or_insert("the messages to the agent are not those that the scores lead to".to_owned());
        }
        for request in attempt.requests {
            refused = refused.or(refusal(&player, request));
        }
        let mut log = RunLog::default();
        attempt.events.iter().for_each(|event| drop(log.take(event)));
        let files = attempt.files.into_iter().map(|(path, text)| (path, text.into_bytes().into()));
        let after = Tree(files.collect());
        let base = if attempt.user_edit_made { task.base() } else { task.files.clone() };
        let verdict = judge(task, &base, &after, &log, None);
        expected_message = second_message(task, verdict.problem.as_deref().unwrap_or_default());
        let wall_ms = recorded.wall_ms.get(attempts.len()).copied().unwrap_or(0);
        attempts.push(Attempt::new(&log, verdict, &after, priced_model(entry), wall_ms));
        messages.push(attempt.message);
    }
    let mismatch = refused.or_else(|| mismatch(Some(recorded), &messages, attempts.iter(), player.remaining()));
    Ok(Outcome { result: TaskResult::new(&entry.contestant, task, attempts), recording: None, mismatch })
}

/// Returns the reason why a request is not the next recorded one.
fn refusal(player: &Player, request: ForeignRequest) -> Option<String> {
    let request =
        HttpRequest { method: "POST", url: request.url, headers: Headers::default(), body: request.body.into_bytes() };
    block_on(player.send(request, CancelToken::new())).err().map(|error| error.to_string())
}
