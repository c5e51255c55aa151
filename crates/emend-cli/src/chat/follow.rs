//! Follows one run on the terminal: passes its events, the user's keys and approval questions to the view.

use std::io::Write;

use emend_agent::session::Run;
use emend_llm::CancelToken;
use futures::StreamExt as _;
use futures::channel::mpsc::UnboundedReceiver;

use super::asker::Question;
use super::run_view::{RunOutcome, RunView, Stop, TICK};
use super::screen::Screen;
use super::terminal_input::{KeyReader, TerminalInput};
use crate::failure::Failure;
use crate::project::RunNotes;
use crate::setup::Setup;
use crate::signals::CancelOnSignal;
use crate::trace::Trace;

/// Shows a run until it ends.
pub(super) async fn follow<O: Write>(
    mut run: Run,
    (cancel, signals): (&CancelToken, &mut CancelOnSignal),
    setup: &Setup,
    questions: &mut UnboundedReceiver<Question>,
    screen: &mut Screen<O>,
    trace: &mut Trace,
) -> Result<RunOutcome, Failure> {
    let mut keys = KeyReader::open(screen.is_live());
    screen.mark_pastes(true)?;
    let mut view = RunView::new(screen, &setup.project.workspace, !setup.selected.offline);
    let mut notes = RunNotes::new(setup.session.id());
    let mut ticks = tokio::time::interval(TICK);
    let mut leaves = false;
    // An error of the view cancels the run. Its remaining events are still recorded.
    let mut broken: Option<Failure> = None;
    loop {
        let outcome = tokio::select! {
            event = run.next() => {
                let Some(event) = event else { break };
                let recorded = trace.write(&event).and(notes.take(&event.kind, &setup.project));
                match &broken {
                    None => view.show(&event).await.and(recorded),
                    Some(_) => recorded,
                }
            }
            Some(asked) = questions.next() => {
                // Keys that were read before the question do not answer it.
                let before = keys.waiting();
                let stop = view.input(TerminalInput::Keys(before), &setup.session)?;
                if stop.is_some() {
                    cancel.cancel();
                }
                view.ask(asked).map_err(Failure::from)
            }
            input = keys.next() => match view.input(input, &setup.session) {
                Ok(Some(stop)) => {
                    leaves = stop == Stop::Interrupt && cancel.is_cancelled();
                    cancel.cancel();
                    Ok(())
                }
                outcome => outcome.map(drop).map_err(Failure::from),
            },
            () = signals.interrupted() => {
                // The run still ends with its events.
                leaves = cancel.is_cancelled();
                cancel.cancel();
                Ok(())
            }
            _ = ticks.tick() => Ok(()),
        };
        let drawn = match &broken {
            None => outcome.and_then(|()| Ok(view.draw(cancel.is_cancelled())?)),
            Some(_) => outcome,
        };
        if let Err(failure) = drawn {
            cancel.cancel();
            broken.get_or_insert(failure);
        }
    }
    trace.flush()?;
    if let Some(failure) = broken {
        return Err(failure);
    }
    let rest = keys.stop();
    drop(keys);
    let outcome = view.finish(rest, &setup.session)?;
    screen.mark_pastes(false)?;
    screen.clear()?;
    Ok(RunOutcome { leaves, ..outcome })
}
