//! The end of a run: its last event and the state of the session, also if the run is dropped.

use emend_llm::{Shared, Usage};

use crate::event::{EndReason, EventKind, SessionState};
use crate::session::core::{CANCELLED, Core};

/// Marks a session as running until the end of the run, however it ends.
pub(in crate::session) struct Running {
    pub(in crate::session) core: Shared<Core>,
    ended: bool,
}

impl Running {
    /// Marks the start of a run of this session.
    pub(in crate::session) fn new(core: &Shared<Core>) -> Self {
        Self { core: Shared::clone(core), ended: false }
    }

    /// Ends the run and emits `PROCESSING_END`.
    pub(in crate::session) fn end(mut self, reason: EndReason, usage: Usage) {
        self.close(reason, usage);
    }

    fn close(&mut self, reason: EndReason, usage: Usage) {
        self.ended = true;
        if reason == EndReason::Aborted {
            // After a regular end the children have ended too; after a drop they are not polled again.
            self.core.subagents.drop_all();
        }
        self.core.answer_calls(CANCELLED);
        // Otherwise the model would read it after the user's next message.
        let undelivered = std::mem::take(&mut self.core.queues().steering);
        for message in undelivered {
            self.core.emitter.emit(EventKind::SteeringReturned { content: message.text });
        }
        let closes = {
            let mut status = self.core.status();
            status.cancel = None;
            // A host that submits again on this event must not find the session busy.
            if !status.closing {
                status.state = match reason {
                    EndReason::AwaitingInput => SessionState::AwaitingInput,
                    _ => SessionState::Idle,
                };
            }
            status.closing
        };
        self.core.emitter.emit(EventKind::ProcessingEnd { reason, usage });
        if closes {
            self.core.end();
        }
    }
}

impl Drop for Running {
    /// A dropped run counts as cancelled; other readers of the session's events are informed.
    fn drop(&mut self) {
        if !self.ended {
            self.close(EndReason::Aborted, Usage::default());
        }
    }
}
