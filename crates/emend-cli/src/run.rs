//! `emend run`: one task, from the message to the last event.

use std::process::ExitCode;

use emend_agent::code::Code;
use emend_agent::event::{EndReason, EventKind};
use emend_agent::session::{Session, SessionConfig, SessionOptions};
use emend_agent::tools::core_tools;
use emend_agent::workspace::Mode;
use emend_host::OsRandom;
use emend_llm::{CancelToken, Shared};
use futures::StreamExt;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{Printer, Style};
use crate::project::Project;
use crate::{provider, review};

pub(crate) async fn run(args: RunArgs) -> Result<ExitCode, Failure> {
    if args.task.trim().is_empty() {
        return Err(Failure::new(
            Code::InvalidArgument,
            "the task is empty; say what to do, e.g. emend run \"rename a to b\"",
        ));
    }
    let mode = if args.review { Mode::Staged } else { Mode::Direct };
    let project = Project::open(&args.root, mode)?;
    let chosen = provider::choose(&args, &project)?;
    let session = Session::new(SessionOptions {
        provider: Shared::clone(&chosen.provider),
        model: chosen.model.clone(),
        offline: chosen.offline,
        tools: core_tools(),
        workspace: Shared::clone(&project.workspace),
        clock: Shared::clone(&project.clock),
        random: Shared::new(OsRandom),
        config: SessionConfig::default(),
    });
    let cancel = CancelToken::new();
    let turn =
        session.submit(&args.task, cancel.clone()).map_err(|error| Failure::new(error.code(), error.to_string()))?;
    let style = Style { json: args.json, debug: args.debug };
    let outcome = follow(turn, cancel, style, &project).await;
    // What was recorded and what was edited is kept, however the turn ended.
    chosen.finish(&args)?;
    project.save()?;
    let status = outcome?;
    if args.review && !args.json {
        return review::decide(&project, status).await;
    }
    Ok(status)
}

/// Prints events until the turn ends. Ctrl-C cancels the turn; the rest of its events still come.
async fn follow(
    mut turn: emend_agent::session::Run,
    cancel: CancelToken,
    style: Style,
    project: &Project,
) -> Result<ExitCode, Failure> {
    let mut printer = Printer::new(style, std::io::stdout(), std::io::stderr());
    let mut failure = None;
    let mut end = EndReason::Natural;
    loop {
        let event = tokio::select! {
            event = turn.next() => event,
            signal = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => {
                signal?;
                cancel.cancel();
                continue;
            }
        };
        let Some(event) = event else { break };
        if let Err(error) = printer.print(&event) {
            // Nobody reads any more (`| head`): stop working for no one.
            cancel.cancel();
            failure.get_or_insert(Failure::from(error));
            continue;
        }
        match event.kind {
            // A crash later must find what was changed so far.
            EventKind::FileChanged { .. } => project.save()?,
            EventKind::Error(error) => {
                let code = Code::from_name(error.code).unwrap_or(Code::Internal);
                failure = Some(Failure { code, message: error.message, suggestions: error.suggestions });
            }
            EventKind::ProcessingEnd { reason, .. } => end = reason,
            _ => {}
        }
    }
    match (failure, end) {
        (Some(failure), _) => Err(failure),
        (None, EndReason::Aborted) => Ok(ExitCode::from(Code::Aborted.row().exit_status)),
        (None, EndReason::TurnLimit) => Ok(ExitCode::from(Code::LimitReached.row().exit_status)),
        (None, EndReason::ContextLength) => Ok(ExitCode::from(Code::ContextLength.row().exit_status)),
        (None, EndReason::Natural | EndReason::AwaitingInput | EndReason::Error) => Ok(ExitCode::SUCCESS),
    }
}
