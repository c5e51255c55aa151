//! Follows one run on the terminal: passes its events, the user's keys and approval questions to the view.

use std::io::{self, Write};

use emend_agent::session::{Run, Session};
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
                let recorded = trace.write(&event).and(notes.take(&event.kind, &setup.project)).and(setup.count(&event.kind));
                match &broken {
                    None => view.show(&event).await.and(recorded),
                    Some(_) => recorded,
                }
            }
            Some(asked) = questions.next() => match ask(asked, &mut keys, &mut view, &setup.session) {
                Ok(Some(_)) => {
                    cancel.cancel();
                    Ok(())
                }
                outcome => outcome.map(drop).map_err(Failure::from),
            },
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

/// Shows a question. Keys that were read before it do not answer it. Returns how they stop the run, if so.
fn ask<O: Write>(
    asked: Question,
    keys: &mut KeyReader,
    view: &mut RunView<'_, O>,
    session: &Session,
) -> io::Result<Option<Stop>> {
    let stop = view.input(TerminalInput::Keys(keys.waiting()), session)?;
    view.ask(asked)?;
    Ok(stop)
}

#[cfg(all(test, unix))]
mod tests {
    use emend_agent::approval::{Approval, ApprovalRequest};
    use emend_agent::environment::memory::MemFs;
    use emend_agent::session::SessionBuilder;
    use emend_agent::workspace::{Mode, Workspace};
    use emend_llm::Shared;
    use emend_offline as offline;
    use emend_tests::chance::Ticks;
    use futures::channel::mpsc::unbounded;
    use futures::channel::oneshot;
    use serde_json::{Value, json};

    use super::*;
    use crate::style::Painter;

    #[test]
    fn keys_that_were_read_before_a_question_do_not_answer_it() {
        #[track_caller]
        fn check(before: &str, after: &str, expected: Option<Approval>) {
            let ticks = Shared::new(Ticks::default());
            let workspace = Workspace::new(Shared::new(MemFs::new()), Mode::Direct, Shared::clone(&ticks) as _);
            let workspace = Shared::new(workspace);
            let provider = Shared::new(offline::provider(offline::Options::default()));
            let session = SessionBuilder::new(provider, offline::MODEL, Shared::clone(&workspace), ticks);
            let session = session.build().unwrap();
            let mut screen = Screen::new(Vec::new(), Painter::new(false), true, || (80, 24));
            let mut view = RunView::new(&mut screen, &workspace, false);
            let (sender, bytes) = unbounded();
            let mut keys = KeyReader::of(bytes);
            let (answer, mut answered) = oneshot::channel();
            let (call_id, tool_name) = ("c".to_owned(), "shell".to_owned());
            let arguments = json!({"command": "touch x"});
            let request = ApprovalRequest { call_id, tool_name, arguments, detail: Value::Null };
            sender.unbounded_send(before.into()).unwrap();
            ask((request, answer), &mut keys, &mut view, &session).unwrap();
            sender.unbounded_send(after.into()).unwrap();
            view.input(TerminalInput::Keys(keys.waiting()), &session).unwrap();
            assert_eq!(answered.try_recv().unwrap(), expected, "{before:?} {after:?}");
        }
        check("", "yes\r", Some(Approval::Allow));
        check("", "no\r", Some(Approval::Deny { reason: None }));
        check("yes", "\r", None);
        check("yes\r", "\r", None);
        check("y", "es\r", None);
        check("yes\r", "no\r", Some(Approval::Deny { reason: None }));
    }
}
