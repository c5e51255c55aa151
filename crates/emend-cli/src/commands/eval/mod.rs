//! `emend eval`: runs agents on a task set and prints a comparison.
//!
//! Each task runs in a copy of its files, in a session that opens as that of `emend run` does. Only the options count:
//! settings files, variables and instructions of the user have no effect, so that others can repeat the result.

mod bench;
mod browser;
mod check;
mod entries;
mod foreign;
mod page_server;
mod recorder;
mod run_task;

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use emend_agent::error_code::Code;
use emend_eval::report;
use emend_eval::score::{Matrix, TaskResult};
use emend_eval::task::{Task, TaskSet};
use emend_llm::CancelToken;
use futures::StreamExt as _;
use serde_json::{Value, json};

use self::bench::{Bench, Outcome};
use self::entries::{Entry, entries};
use crate::args::{Backend, EvalArgs, ReportName};
use crate::failure::Failure;
use crate::settings::Settings;
use crate::signals::CancelOnSignal;

pub(crate) async fn eval(args: EvalArgs) -> Result<ExitCode, Failure> {
    let set = chosen_set(&args)?;
    if args.list {
        return list(&set, args.output);
    }
    let entries = entries(&args, &set)?;
    if let Some(file) = &args.judge {
        let outcomes = foreign::judged_file(file, &set, &entries)?;
        return report(&args, &set, &entries, outcomes);
    }
    if args.backend == Backend::Browser {
        let runs = browser::runs(&args, &set, &entries).await?;
        let outcomes = foreign::judged("the page", &runs, &set, &entries)?;
        return report(&args, &set, &entries, outcomes);
    }
    let settings = Settings::of_flags(&args.settings.0)?;
    if settings.fallback_model.value.is_some() && (args.record.is_some() || args.replay.is_some()) {
        let message =
            "recordings hold the responses of one model; leave out --fallback-model, or --record and --replay";
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    if let Some(directory) = &args.record {
        recorder::check(directory, &set, &entries)?;
    }
    let bench = Arc::new(Bench {
        settings,
        attempts_max: usize::from(args.attempts),
        records: args.record.is_some(),
        cancel: CancelToken::new(),
        set,
    });
    let outcomes = run_all(&bench, &entries, args.jobs.get()).await?;
    if let Some(directory) = &args.record {
        recorder::write(directory, &bench.set, &entries, &outcomes)?;
    }
    let status = report(&args, &bench.set, &entries, outcomes);
    if bench.cancel.is_cancelled() {
        // The tasks that have ended may have cost money, so they are recorded and shown all the same.
        writeln!(std::io::stderr(), "emend: interrupted; the report has only the tasks that had ended")?;
        return Ok(ExitCode::from(Code::Aborted.row().exit_status));
    }
    status
}

/// Returns the set with the chosen tasks.
fn chosen_set(args: &EvalArgs) -> Result<TaskSet, Failure> {
    let wrong = |error: emend_eval::task::SetError| {
        Failure::new(Code::InvalidArgument, format!("cannot use the set {}: {error}", args.set))
    };
    let mut set = emend_eval::sources::open(&args.set).map_err(wrong)?;
    if let Some(unknown) = args.tasks.iter().find(|id| !set.tasks.iter().any(|task| task.id == **id)) {
        let message = format!("the set {} has no task {unknown:?}; --list lists its tasks", args.set);
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    set.tasks.retain(|task| args.tasks.is_empty() || args.tasks.contains(&task.id));
    if set.tasks.is_empty() {
        return Err(Failure::new(Code::InvalidArgument, format!("the set {} has no tasks", args.set)));
    }
    Ok(set)
}

fn list(set: &TaskSet, output: ReportName) -> Result<ExitCode, Failure> {
    let mut stdout = std::io::stdout().lock();
    for task in &set.tasks {
        let line = match output {
            ReportName::Jsonl => task_json(task).to_string(),
            _ => {
                let first = task.instruction.lines().next().unwrap_or_default();
                format!("{:<28} {:<13} {first}", task.id, task.kind.name())
            }
        };
        writeln!(stdout, "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the parts of a task that its agent may see, and the edit of the user.
fn task_json(task: &Task) -> Value {
    let texts: BTreeMap<&String, _> =
        task.files.0.iter().map(|(path, bytes)| (path, String::from_utf8_lossy(bytes))).collect();
    json!({
        "id": task.id, "kind": task.kind, "instruction": task.instruction, "files": texts,
        "user_edit": task.user_edit,
    })
}

/// Runs every agent on every task, `jobs` of them at the same time.
async fn run_all(bench: &Arc<Bench>, entries: &[Entry], jobs: usize) -> Result<Vec<Outcome>, Failure> {
    let all = entries.iter().flat_map(|entry| bench.set.tasks.iter().map(move |task| (entry.clone(), task.clone())));
    let queue: Arc<Mutex<VecDeque<(Entry, Task)>>> = Arc::new(Mutex::new(all.collect()));
    let (sender, mut outcomes) = futures::channel::mpsc::unbounded();
    for _ in 0..jobs {
        let (bench, queue, sender) = (Arc::clone(bench), Arc::clone(&queue), sender.clone());
        // Each thread has its own runtime, because a session may stay on one thread.
        thread::spawn(move || {
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            while let Some((entry, task)) = next().filter(|_| !bench.cancel.is_cancelled()) {
                if sender.unbounded_send(on_own_runtime(&bench, &entry, &task)).is_err() {
                    return;
                }
            }
        });
    }
    drop(sender);
    let mut signals = CancelOnSignal::begin(&bench.cancel);
    let (mut done, mut failure) = (Vec::new(), None);
    loop {
        let outcome = tokio::select! {
            outcome = outcomes.next() => outcome,
            () = signals.interrupted() => {
                bench.cancel.cancel();
                continue;
            }
        };
        match outcome {
            Some(Ok(outcome)) => done.extend(outcome),
            Some(Err(error)) => {
                // The setup is wrong, and would be for the other tasks too.
                failure.get_or_insert(error);
                bench.cancel.cancel();
            }
            None => return failure.map_or(Ok(done), Err),
        }
    }
}

fn on_own_runtime(bench: &Bench, entry: &Entry, task: &Task) -> Result<Option<Outcome>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run_task::run(bench, entry, task))
}

/// Prints the comparison. The exit status reports runs that say nothing about an agent: those that differ from their
/// recording, and those that the provider broke.
fn report(args: &EvalArgs, set: &TaskSet, entries: &[Entry], outcomes: Vec<Outcome>) -> Result<ExitCode, Failure> {
    let mut stderr = std::io::stderr();
    let mut n_mismatches = 0;
    for outcome in &outcomes {
        if let Some(mismatch) = &outcome.mismatch {
            n_mismatches += 1;
            let result = &outcome.result;
            writeln!(stderr, "emend: {}, task {}: {mismatch}", result.contestant, result.task)?;
        }
    }
    let contestants: Vec<_> = entries.iter().map(|entry| entry.contestant.clone()).collect();
    let (attempts, is_replay) = (usize::from(args.attempts), args.replay.is_some());
    let results: Vec<TaskResult> = outcomes.into_iter().map(|outcome| outcome.result).collect();
    let broken = results.iter().filter(|result| result.attempts.iter().any(|attempt| attempt.error.is_some()));
    let n_broken = broken.count();
    let matrix = Matrix::new(set, &contestants, attempts, is_replay, results);
    let text = match args.output {
        ReportName::Table => report::table(&matrix),
        ReportName::Jsonl => report::json_lines(&matrix),
        ReportName::Html => report::page(&matrix),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    if n_mismatches > 0 {
        let message =
            format!("runs that differ from their recordings: {n_mismatches}; record them again if this is intended");
        return Err(Failure::new(Code::Conflict, message));
    }
    if n_broken > 0 {
        let message = format!("tasks that ended with an error: {n_broken}; their scores say nothing about the model");
        return Err(Failure::new(Code::Provider, message));
    }
    Ok(ExitCode::SUCCESS)
}
