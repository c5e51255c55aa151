//! The channel from the threads of a command to its caller: live output and the result.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use emend_agent::environment::EnvError;
use emend_agent::environment::command::{ExecResult, OutputSink, OutputStream};

/// The end of a command: its result, or the reason why that is unknown.
pub(crate) type End = Result<ExecResult, EnvError>;

/// Upper limit of output that waits for the caller, in bytes. Faster output is not shown live, but it is in the result.
const SHOWN_BYTES_MAX: usize = 1 << 18;

/// The channel from a supervisor to its caller.
#[derive(Default)]
pub(crate) struct Channel {
    state: Mutex<ChannelState>,
}

#[derive(Default)]
pub(super) struct ChannelState {
    shown: Vec<(OutputStream, String)>,
    n_bytes: usize,
    pub(super) result: Option<End>,
    /// Whether the supervisor has ended, with a result or with a panic.
    pub(super) closed: bool,
    waker: Option<Waker>,
}

impl Channel {
    pub(super) fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut ChannelState)) {
        let waker = {
            let mut state = self.lock();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn show(&self, stream: OutputStream, text: &str) {
        self.change(|state| {
            if text.is_empty() || state.n_bytes >= SHOWN_BYTES_MAX {
                return;
            }
            state.n_bytes += text.len();
            match state.shown.last_mut() {
                Some((last, shown)) if *last == stream => shown.push_str(text),
                _ => state.shown.push((stream, text.to_owned())),
            }
        });
    }

    /// Passes pending output to `output`. Ready with the result at the end; with `None` if the supervisor panicked.
    pub(super) fn poll(&self, context: &mut Context<'_>, output: &dyn OutputSink) -> Poll<Option<End>> {
        loop {
            let shown = {
                let mut state = self.lock();
                if state.shown.is_empty() {
                    if state.closed {
                        return Poll::Ready(state.result.take());
                    }
                    state.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
                state.n_bytes = 0;
                std::mem::take(&mut state.shown)
            };
            for (stream, text) in shown {
                output.output(stream, &text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_nobody_takes_is_bounded() {
        let channel = Channel::default();
        let piece = "x".repeat(1 << 14);
        for _ in 0..200 {
            channel.show(OutputStream::Stdout, &piece);
        }
        let n_bytes: usize = channel.lock().shown.iter().map(|(_, text)| text.len()).sum();
        assert!(n_bytes < SHOWN_BYTES_MAX + piece.len(), "{n_bytes}");
    }
}
