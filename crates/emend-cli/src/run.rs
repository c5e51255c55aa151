//! `emend run`: does one task, from the message to the last event.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use emend_agent::error_code::Code;
use emend_agent::event::{EndReason, EventKind};
use emend_llm::{CancelToken, Shared, get_model_info};
use futures::StreamExt;
use serde_json::json;

use crate::args::{OutputName, RunArgs};
use crate::chat::Asker;
use crate::commands::review;
use crate::failure::Failure;
use crate::output::{OutputFormat, Printer};
use crate::project::RunNotes;
use crate::provider::Record;
use crate::settings::{Model, Settings};
use crate::setup::{Host, Setup};
use crate::signals;
use crate::style::Painter;
use crate::trace::Trace;
use crate::{approve, chat, terminal, visible};

/// Maximum size of a task. Longer texts fit no model.
const TASK_BYTES_MAX: u64 = 16 << 20;

pub(crate) async fn run(args: RunArgs) -> Result<ExitCode, Failure> {
    let task = task(&args)?;
    let place = Settings::place(&args.session.root, &args.session.settings)?;
    let settings = Settings::load(&place, &args.session.settings)?;
    let (asker, questions) = Asker::new();
    let format = format(&args);
    let can_ask = matches!(format, OutputFormat::Together | OutputFormat::Apart);
    // On a terminal the run is shown as in a conversation, otherwise line by line.
    let shown = format == OutputFormat::Together && !args.debug && terminal::is_interactive();
    let n_unasked = Arc::default();
    let approver = if shown { Shared::new(asker) } else { approve::approver(!can_ask, &settings, &n_unasked) };
    let host = Host::new(Record::to(args.record.as_deref()), approver, shown);
    let setup = Setup::open(&args.session, &place, settings, host).await?;
    let mut trace = Trace::open(args.session.trace.as_deref())?;
    let session = &setup.session;
    let mut stderr = std::io::stderr();
    if args.debug {
        let line =
            json!({ "debug": "session", "id": session.id(), "from": setup.origin, "model": setup.selected.model });
        writeln!(stderr, "{line}")?;
    } else if can_ask && setup.is_default_model && setup.model != Model::Offline {
        // A note is not worth a failure.
        let _ = writeln!(stderr, "emend: the model is {}; --model selects another", setup.model);
    }
    let cancel = CancelToken::new();
    let mut signals = signals::CancelOnSignal::begin(&cancel);
    if !args.debug {
        for note in approve::notes(&setup.settings) {
            // A note is not worth a failure.
            let _ = writeln!(visible::stderr(), "emend: {note}");
        }
    }
    if !args.debug
        && let Some(note) = setup.project.pending_note(&setup.review_command())
    {
        // A note is not worth a failure.
        let _ = writeln!(visible::stderr(), "emend: {note}");
    }
    setup.begin_run(true).await?;
    setup.tell_decisions()?;
    let run = session.submit(&task, cancel.clone())?;
    let outcome = match shown {
        true => chat::task(run, (&cancel, &mut signals), &setup, questions, &mut trace).await,
        false => follow(run, (cancel, &mut signals), (format, args.debug), &setup, &mut trace).await,
    };
    // Recordings and edits are saved even if the run failed.
    trace.flush()?;
    setup.selected.finish()?;
    setup.project.save()?;
    drop(signals);
    let (reason, failure) = outcome?;
    if let Some(line) = setup.meter.exhausted().filter(|_| !args.debug) {
        // A note is not worth a failure.
        let _ = writeln!(visible::stderr(), "emend: {line}");
    }
    let status = match (failure, reason) {
        // The view has printed the failure.
        (Some(failure), _) if shown => return Ok(ExitCode::from(failure.code.row().exit_status)),
        (Some(failure), _) => return Err(failure),
        // A program that started this one must learn that a call was refused without a question.
        (None, EndReason::Natural) if n_unasked.load(Ordering::Relaxed) > 0 => exit_code(Code::PermissionDenied),
        (None, reason) => exit_status(reason),
    };
    if setup.settings.review.value && can_ask && !setup.settings.read_only.value {
        match format {
            // The questions would mix with the answer on standard output.
            OutputFormat::Apart => note_review(&setup)?,
            _ => review::decide(&setup.project, "emend review", &mut review::ask_on_stdin()).await?,
        }
    }
    Ok(status)
}

/// Returns the format of the output.
fn format(args: &RunArgs) -> OutputFormat {
    match args.output.unwrap_or(if args.json { OutputName::StreamJson } else { OutputName::Text }) {
        OutputName::Json => OutputFormat::Json,
        OutputName::StreamJson => OutputFormat::Events,
        OutputName::Text if args.print || !std::io::stdout().is_terminal() => OutputFormat::Apart,
        OutputName::Text => OutputFormat::Together,
    }
}

/// Returns the exit status for the end of a run without a failure.
fn exit_status(reason: EndReason) -> ExitCode {
    let code = match reason {
        EndReason::Aborted => Code::Aborted,
        EndReason::TurnLimit | EndReason::Budget => Code::LimitReached,
        EndReason::ContextLength => Code::ContextLength,
        EndReason::Natural | EndReason::AwaitingInput | EndReason::Error => return ExitCode::SUCCESS,
    };
    exit_code(code)
}

fn exit_code(code: Code) -> ExitCode {
    ExitCode::from(code.row().exit_status)
}

/// Prints how many hunks wait for review, if any.
fn note_review(setup: &Setup) -> Result<(), Failure> {
    if let Some(waiting) = setup.project.waiting() {
        writeln!(visible::stderr(), "emend: {waiting}; to decide: {}", setup.review_command())?;
    }
    Ok(())
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
    (format, debug): (OutputFormat, bool),
    setup: &Setup,
    trace: &mut Trace,
) -> Result<(EndReason, Option<Failure>), Failure> {
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    // A pipe may lead to a terminal, e.g. through tee. Standard output keeps its bytes for programs.
    let guards = (stdout.is_terminal(), true);
    let printer = Printer::new(format, debug, (stdout, stderr), guards);
    let mut printer = printer.with_painter(Painter::stdout());
    let began_at = setup.project.clock.now_ms();
    let mut changed = BTreeSet::new();
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
            // The answer could not be delivered, so the run is cancelled.
            cancel.cancel();
            failure.get_or_insert(Failure::from(error));
            continue;
        }
        notes.take(&event.kind, &setup.project)?;
        setup.count(&event.kind)?;
        match event.kind {
            EventKind::Error(error) => failure = Some(Failure::of_event(error)),
            EventKind::FileChanged { path, .. } => drop(changed.insert(path.as_str().to_owned())),
            EventKind::ProcessingEnd { reason, usage } => {
                end = reason;
                let error = failure.as_ref().map(|failure| {
                    json!({ "code": failure.code.as_str(), "message": failure.message, "suggestions": failure.suggestions })
                });
                let price = get_model_info(&setup.selected.model).and_then(|info| info.cost_usd(&usage));
                printer.finish(json!({
                    "session_id": setup.session.id(),
                    "model": setup.model.to_string(),
                    "reason": reason,
                    "text": "",
                    "error": error,
                    "files_changed": changed,
                    "usage": usage,
                    "cost_usd": price,
                    "duration_ms": setup.project.clock.now_ms().saturating_sub(began_at),
                }))?;
            }
            _ => {}
        }
    }
    Ok((end, failure))
}
