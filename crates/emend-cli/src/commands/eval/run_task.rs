//! One agent on one task: a copy of the files, a session, at most two messages, and the score.

use std::path::Path;
use std::sync::Arc;

use emend_agent::error_code::Code;
use emend_eval::judge::{judge, second_message};
use emend_eval::recording::RecordedTask;
use emend_eval::run_log::{RunLog, Taken, names_path};
use emend_eval::score::{Attempt, TaskResult};
use emend_eval::task::{Goal, Kind, Task};
use emend_eval::tree::Tree;
use futures::StreamExt as _;

use super::bench::{Bench, Outcome, broken, mismatch};
use super::check;
use super::entries::{Entry, priced_model};
use crate::approve;
use crate::args::SessionArgs;
use crate::failure::Failure;
use crate::place::Place;
use crate::provider::Record;
use crate::settings::SettingFlags;
use crate::setup::{Host, Setup};

/// Directories of build products and repositories, which are not part of a program's files.
const PRODUCTS: [&str; 5] = [".git", "target", "node_modules", "__pycache__", ".pytest_cache"];

/// The edit of the user, and whether it was made.
struct UserEdit<'a> {
    task: &'a Task,
    is_made: bool,
}

impl UserEdit<'_> {
    /// Makes the edit if the agent's last call used the file.
    async fn after_call(&mut self, arguments: &serde_json::Value, setup: &Setup) -> Result<(), Failure> {
        let Some(edit) = self.task.user_edit.as_ref().filter(|edit| !self.is_made && names_path(arguments, &edit.path))
        else {
            return Ok(());
        };
        let before = self.task.files.text(&edit.path);
        let edited = setup.project.workspace.user_edit(&edit.path, Some(&edit.text), before).await;
        edited.map_err(|error| Failure::new(error.code(), error.to_string()))?;
        self.is_made = true;
        Ok(())
    }

    /// Returns the files as they are without the agent.
    fn base(&self) -> Tree {
        if self.is_made { self.task.base() } else { self.task.files.clone() }
    }
}

/// Runs a task. Returns `None` if the user cancelled it: such a result says nothing about the agent.
pub(super) async fn run(bench: &Bench, entry: &Entry, task: &Task) -> Result<Option<Outcome>, Failure> {
    let directory = tempfile::Builder::new().prefix("emend-eval-").tempdir()?;
    let root = directory.path().canonicalize()?.join("project");
    task.files.write(&root).map_err(broken)?;
    let recorded = entry.recorded(task)?;
    let setup = open(bench, entry, task, &root, &directory.path().join("state")).await?;
    let mut user_edit = UserEdit { task, is_made: false };
    // With a fallback model, the tokens are those of two models.
    let priced = if bench.settings.fallback_model.value.is_some() { "" } else { priced_model(entry) };
    let mut attempts = Vec::new();
    let mut message = task.instruction.clone();
    let (mut messages, mut wall_ms) = (Vec::new(), Vec::new());
    loop {
        let began_at = setup.project.clock.now_ms();
        let log = follow(bench, &setup, &message, &mut user_edit).await?;
        let measured = setup.project.clock.now_ms().saturating_sub(began_at);
        // The times of a replay say nothing; those of the recording do.
        let wall = recorded.and_then(|recorded| recorded.wall_ms.get(attempts.len())).copied().unwrap_or(measured);
        messages.push(message);
        wall_ms.push(wall);
        let after = tree(task, &root)?;
        let outcome = match &task.goal {
            Goal::Check(goal) => Some(check::run(goal, &root, &after, &bench.cancel).await?),
            _ => None,
        };
        if bench.cancel.is_cancelled() {
            setup.project.save()?;
            return Ok(None);
        }
        let verdict = judge(task, &user_edit.base(), &after, &log, outcome.as_ref());
        let problem = verdict.problem.clone();
        attempts.push(Attempt::new(&log, verdict, &after, priced, wall));
        match problem {
            Some(problem) if attempts.len() < bench.attempts_max && log.error.is_none() => {
                message = second_message(task, &problem);
            }
            _ => break,
        }
    }
    setup.project.save()?;
    let cassette = setup.selected.recording();
    let error = attempts.iter().find_map(|attempt| attempt.error.clone());
    let recording = cassette.map(|cassette| RecordedTask { messages: messages.clone(), wall_ms, error, cassette });
    let mismatch = mismatch(recorded, &messages, attempts.iter(), setup.selected.unplayed());
    Ok(Some(Outcome { result: TaskResult::new(&entry.contestant, task, attempts), recording, mismatch }))
}

async fn open(bench: &Bench, entry: &Entry, task: &Task, root: &Path, state: &Path) -> Result<Setup, Failure> {
    let mut settings = bench.settings.clone();
    entry.apply(&mut settings);
    let args = SessionArgs {
        root: root.to_owned(),
        settings: SettingFlags::default(),
        resume: None,
        continues: false,
        fork: None,
        turns: None,
        trace: None,
    };
    // Calls that need an approval are refused: nobody can be asked.
    let approver = approve::approver(true, &settings, &Arc::default());
    let record = if bench.records { Record::Memory } else { Record::No };
    let mut host = Host::new(record, approver, true);
    host.responses = entry.responses(task)?;
    host.state_home = Some(state.to_owned());
    host.has_shell = bench.set.shell;
    Setup::open(&args, &Place::apart(root.to_owned()), settings, host).await
}

/// Sends one message and follows the run to its end.
async fn follow(bench: &Bench, setup: &Setup, message: &str, user_edit: &mut UserEdit<'_>) -> Result<RunLog, Failure> {
    let mut run = setup.session.submit(message, bench.cancel.clone())?;
    let mut log = RunLog::default();
    while let Some(event) = run.next().await {
        let event = serde_json::to_value(&event)
            .map_err(|error| Failure::new(Code::Internal, format!("an event cannot be encoded: {error}")))?;
        if let Taken::Call { arguments } = log.take(&event) {
            user_edit.after_call(&arguments, setup).await?;
        }
    }
    Ok(log)
}

/// Reads the files after a run.
fn tree(task: &Task, root: &Path) -> Result<Tree, Failure> {
    Tree::read(root, &|name| task.kind == Kind::Program && PRODUCTS.contains(&name)).map_err(broken)
}
