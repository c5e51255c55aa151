//! Approval questions of a run that is shown on the terminal.

use emend_agent::approval::{Approval, ApprovalRequest, Approver};
use emend_llm::BoxFuture;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::channel::oneshot;

/// A question and where its answer is sent.
pub(crate) type Question = (ApprovalRequest, oneshot::Sender<Approval>);

/// Passes approval questions on to the view of the run.
pub(crate) struct Asker(UnboundedSender<Question>);

impl Asker {
    pub(crate) fn new() -> (Self, UnboundedReceiver<Question>) {
        let (sender, questions) = unbounded();
        (Self(sender), questions)
    }
}

impl Approver for Asker {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        let (sender, answer) = oneshot::channel();
        // If the view is gone the sender is dropped, which refuses the call.
        let _ = self.0.unbounded_send((request.clone(), sender));
        Box::pin(async move { answer.await.unwrap_or(Approval::Deny { reason: None }) })
    }

    /// A person decides, who may be away.
    fn stops_the_clock(&self) -> bool {
        true
    }
}
