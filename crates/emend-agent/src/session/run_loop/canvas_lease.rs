//! Holds the canvas lease for a run: acquires it before a tool uses the canvas, keeps it during calls in flight,
//! releases it after the final answer, and reports a preemption.

use emend_llm::{Clock, Shared};

use crate::canvas::{LeaseError, Ticket};
use crate::environment::FilePath;
use crate::event::{Emitter, EventKind, LeaseChange};
use crate::tool::ToolError;
use crate::workspace::Workspace;

/// The lease of one run. All uses name the epoch in which the run started, or the last message of the user reached it, so a
/// user who preempts keeps the canvas until the next message.
pub(in crate::session) struct LeaseHolder<'a> {
    workspace: &'a Workspace,
    clock: Shared<dyn Clock>,
    emitter: &'a Emitter,
    epoch: u64,
    held: Option<(FilePath, Ticket)>,
}

impl<'a> LeaseHolder<'a> {
    /// Starts with the epoch of the user message, or of the parent's run for a subagent.
    pub(in crate::session) fn new(
        workspace: &'a Workspace,
        clock: Shared<dyn Clock>,
        emitter: &'a Emitter,
        epoch: u64,
    ) -> Self {
        Self { workspace, clock, emitter, epoch, held: None }
    }

    /// Goes on in the present epoch and returns it: the model has a message of the user.
    pub(in crate::session) fn begin_epoch(&mut self) -> u64 {
        self.notice_loss();
        self.epoch = self.workspace.canvas().with_lease(|lease| lease.epoch());
        self.epoch
    }

    /// Acquires or keeps the lease if one of `paths` is the canvas. Call [`end_guard`](Self::end_guard) afterwards.
    pub(in crate::session) async fn acquire_for_tool(&mut self, paths: &[String]) -> Result<Option<Ticket>, ToolError> {
        let Some(canvas) = self.workspace.canvas().path() else { return Ok(None) };
        let mut touches = false;
        for path in paths {
            touches |= self.workspace.resolve_for_lease(path).await.as_ref() == Some(&canvas);
        }
        if !touches {
            return Ok(None);
        }
        #[cfg(not(target_family = "wasm"))]
        let _turn = {
            let turn = self.workspace.canvas_turn().await;
            turn.map_err(|error| ToolError::new(error.code(), error.to_string()))?
        };
        self.take(canvas).map(Some).map_err(|error| ToolError::new(error.code(), error.to_string()))
    }

    fn take(&mut self, canvas: FilePath) -> Result<Ticket, LeaseError> {
        self.notice_loss();
        let now_ms = self.clock.now_ms();
        let ticket = match &self.held {
            Some((_, ticket)) => *ticket,
            None => {
                let ticket = self.workspace.canvas().with_lease(|lease| lease.check_out(self.epoch, now_ms))?;
                self.held = Some((canvas.clone(), ticket));
                self.emit(canvas, LeaseChange::Held);
                ticket
            }
        };
        self.workspace.canvas().with_lease(|lease| lease.begin_guard(ticket, now_ms))?;
        Ok(ticket)
    }

    /// Keeps the lease during a model call, if it is held.
    pub(in crate::session) fn keep_for_model(&mut self) {
        self.notice_loss();
        let now_ms = self.clock.now_ms();
        if let Some((_, ticket)) = &self.held {
            // Verified just before by notice_loss; a preemption in between is noticed at the next step.
            let _ = self.workspace.canvas().with_lease(|lease| lease.begin_guard(*ticket, now_ms));
        }
    }

    /// Ends the guard of [`acquire_for_tool`](Self::acquire_for_tool) or [`keep_for_model`](Self::keep_for_model).
    pub(in crate::session) fn end_guard(&mut self) {
        let now_ms = self.clock.now_ms();
        if let Some((_, ticket)) = &self.held {
            self.workspace.canvas().with_lease(|lease| lease.end_guard(*ticket, now_ms));
        }
        self.notice_loss();
    }

    /// Renews the lease, if it is held: a part of a response has arrived.
    pub(in crate::session) fn renew(&mut self) {
        if let Some((_, ticket)) = &self.held {
            let now_ms = self.clock.now_ms();
            // A loss is noticed at the next step.
            let _ = self.workspace.canvas().with_lease(|lease| lease.renew(*ticket, now_ms));
        }
    }

    /// Leaves the canvas to others while the user decides about a call, however long that takes. Returns the lease to
    /// [resume](Self::resume) then.
    pub(in crate::session) fn pause(&mut self) -> Option<Ticket> {
        self.notice_loss();
        let (canvas, now_ms) = (self.workspace.canvas(), self.clock.now_ms());
        let pauses = |(_, ticket): &mut (_, Ticket)| canvas.with_lease(|lease| lease.pause(*ticket, now_ms));
        let (path, ticket) = self.held.take_if(pauses)?;
        self.emit(path, LeaseChange::Released);
        Some(ticket)
    }

    /// Takes a lease again after the decision, unless the user or another agent has taken the canvas since.
    pub(in crate::session) fn resume(&mut self, ticket: Ticket) {
        let (canvas, now_ms) = (self.workspace.canvas(), self.clock.now_ms());
        if self.held.is_none()
            && let Some(path) = canvas.path()
            && canvas.with_lease(|lease| lease.resume(ticket, now_ms))
        {
            self.emit(path.clone(), LeaseChange::Held);
            self.held = Some((path, ticket));
        }
    }

    /// Returns the epoch in which the run uses the canvas.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::session) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Releases the lease: the message is answered, or the run ends.
    pub(in crate::session) fn release(&mut self) {
        self.notice_loss();
        if let Some((path, ticket)) = self.held.take() {
            self.workspace.canvas().with_lease(|lease| lease.check_in(ticket));
            self.emit(path, LeaseChange::Released);
        }
    }

    fn notice_loss(&mut self) {
        let now_ms = self.clock.now_ms();
        let Some((path, ticket)) = &self.held else { return };
        let change = match self.workspace.canvas().with_lease(|lease| lease.verify(*ticket, now_ms)) {
            Ok(()) => return,
            Err(LeaseError::Expired) => LeaseChange::Expired,
            // A tool checked the canvas in.
            Err(LeaseError::NotOwned) => LeaseChange::Released,
            Err(_) => LeaseChange::Preempted,
        };
        let path = path.clone();
        self.held = None;
        self.emit(path, change);
    }

    fn emit(&self, path: FilePath, state: LeaseChange) {
        let epoch = self.workspace.canvas().with_lease(|lease| lease.epoch());
        self.emitter.emit(EventKind::CanvasLease { path, state, epoch });
    }
}

impl Drop for LeaseHolder<'_> {
    /// A dropped run must not leave the canvas locked.
    fn drop(&mut self) {
        self.release();
    }
}
