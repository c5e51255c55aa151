//! Events: the ordered record of a session for its host, with a cursor.
//!
//! [`EventLog`] keeps events within a limit and coalesces text deltas for slow readers; the emitter adds the time and
//! wakes readers.

mod emitter;
mod kinds;
mod log;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod samples;
mod state;

pub(crate) use emitter::Emitter;
pub use emitter::Subscription;
pub use kinds::{AgentStatus, BudgetKind, EndReason, ErrorInfo, Event, EventKind, LeaseChange};
pub use log::{EventLog, ReaderId, ResyncRequired};
pub use state::SessionState;
