//! `emend run`: does one task, from the message to the last event.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::event::{EndReason, EventKind};
use emend_llm::{CancelToken, Shared};
use futures::StreamExt;
use serde_json::json;

use crate::args::RunArgs;
use crate::chat::Asker;
use crate::commands::review;
use crate::failure::Failure;
use crate::output::{OutputFormat, Printer};
use crate::project::RunNotes;
use crate::settings::{Model, Settings};
use crate::setup::{Host, Setup};
use crate::signals;
use crate::trace::Trace;
use crate::{approve, chat, terminal};

/// Maximum size of a task. Longer texts fit no model.
const TASK_BYTES_MAX: u64 = 16 << 20;

pub(crate) async fn run(args: RunArgs) -> Result<ExitCode, Failure> {
    let task = task(&args)?;
    let settings = Settings::load(&args.session.root, &args.session.settings)?;
    // On a terminal the run is shown as in a conversation, otherwise line by line.
    let (asker, questions) = Asker::new();
    let shown = !args.json && !args.debug && terminal::is_interactive();
    let approver = if shown { Shared::new(asker) } else { approve::approver(args.json) };
    let host = Host { record: args.record.as_deref(), approver, fallback: &Model::Offline, answers_questions: false };
    let setup = Setup::open(&args.session, settings, host).await?;
    let mut trace = Trace::open(args.session.trace.as_deref())?;
    let session = &setup.session;
    if args.debug {
        let line =
            json!({ "debug": "session", "id": session.id(), "from": setup.origin, "model": setup.selected.model });
        writeln!(std::io::stderr(), "{line}")?;
    }
    let cancel = CancelToken::new();
    let mut signals = signals::CancelOnSignal::begin(&cancel);
    let run = session.submit(&task, cancel.clone())?;
    let format = OutputFormat { json: args.json, debug: args.debug };
    let outcome = match shown {
        true => chat::task(run, (&cancel, &mut signals), &setup, questions, &mut trace).await,
        false => follow(run, (cancel, &mut signals), format, &setup, &mut trace).await,
    };
    // Recordings and edits are saved even if the run failed.
    trace.flush()?;
    setup.selected.finish()?;
    setup.project.save()?;
    drop(signals);
    let (reason, failure) = outcome?;
    let status = match (failure, reason) {
        // The view has printed the failure.
        (Some(failure), _) if shown => return Ok(ExitCode::from(failure.code.row().exit_status)),
        (Some(failure), _) => return Err(failure),
        (None, EndReason::Aborted) => ExitCode::from(Code::Aborted.row().exit_status),
        (None, EndReason::TurnLimit) => ExitCode::from(Code::LimitReached.row().exit_status),
        (None, EndReason::ContextLength) => ExitCode::from(Code::ContextLength.row().exit_status),
        (None, EndReason::Natural | EndReason::AwaitingInput | EndReason::Error) => ExitCode::SUCCESS,
    };
    if setup.settings.review.value && !args.json {
        review::decide(&setup.project, &mut review::ask_on_stdin()).await?;
    }
    Ok(status)
}

/// Returns the task: the argument, standard input, or both in this order.
fn task(args: &RunArgs) -> Result<String, Failure> {
    let mut task = args.task.clone().unwrap_or_default();
    if args.stdin {
        let mut bytes = Vec::new();
        std::io::stdin().take(TASK_BYTES_MAX).read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::new(Code::InvalidArgument, "the task on standard input is not UTF-8"))?;
        if !task.is_empty() {
            task.push_str("\n\n");
        }
        task.push_str(&text);
    }
    if task.trim().is_empty() {
        let message = "the task is empty; describe it, e.g. emend run \"rename a to b\"";
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    Ok(task)
}

/// Prints events until the run ends. Ctrl-C cancels the run; its remaining events are printed.
async fn follow(
    mut run: emend_agent::session::Run,
    (cancel, signals): (CancelToken, &mut signals::CancelOnSignal),
    format: OutputFormat,
    setup: &Setup,
    trace: &mut Trace,
) -> Result<(EndReason, Option<Failure>), Failure> {
    let mut printer = Printer::new(format, std::io::stdout(), std::io::stderr());
    let mut notes = RunNotes::new(setup.session.id());
    let mut failure = None;
    let mut end = EndReason::Natural;
    loop {
        let event = tokio::select! {
            event = run.next() => event,
            () = signals.interrupted() => {
                cancel.cancel();
                continue;
            }
        };
        let Some(event) = event else { break };
        trace.write(&event)?;
        if let Err(error) = printer.print(&event) {
            // The reader closed the output (`| head`), so the run is cancelled.
            cancel.cancel();
            failure.get_or_insert(Failure::from(error));
            continue;
        }
        notes.take(&event.kind, &setup.project)?;
        match event.kind {
            EventKind::Error(error) => failure = Some(Failure::of_event(error)),
            EventKind::ProcessingEnd { reason, .. } => end = reason,
            _ => {}
        }
    }
    Ok((end, failure))
}
