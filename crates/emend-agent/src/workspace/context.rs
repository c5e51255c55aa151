//! The context of a write: on whose behalf it happens, and its rights.

use emend_llm::CancelToken;

use super::read_tracker::ReadTracker;
use crate::canvas::Ticket;

/// The context of one tool call that writes or runs a command.
#[derive(Clone, Copy)]
pub struct WriteContext<'a> {
    /// The run that the changes belong to; runs are undone together.
    pub run_id: u64,
    /// The id of the tool call, kept with the changes.
    pub call_id: &'a str,
    /// The canvas lease, if the call holds it.
    pub lease: Option<Ticket>,
    /// False if the approval prompt was skipped because the preview predicted a failure. Such a call runs only to produce
    /// its error message; any write it attempts is rejected.
    pub may_write: bool,
    /// The texts that the session has read.
    pub reads: &'a ReadTracker,
    /// Cancels a command.
    pub cancel: &'a CancelToken,
}
