//! Signals: interrupt (Ctrl-C), terminate and hang-up.
//!
//! A thread listens for them, since the prompt and approval questions block the main thread. While a [`CancelOnSignal`]
//! exists, terminate and hang-up cancel its run, which stops its commands and saves its edits. Otherwise they end the
//! program at once. Ctrl-C is left to the run, which decides what a second one means.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use emend_llm::CancelToken;

#[cfg(unix)]
use tokio::signal::unix::Signal as Interrupts;
#[cfg(not(unix))]
use tokio::signal::windows::{CtrlC as Interrupts, ctrl_c as interrupts};
#[cfg(unix)]
use unix::interrupts;
#[cfg(unix)]
pub(crate) use unix::watch;

/// The state that the thread and the program share.
static STATE: Mutex<State> =
    Mutex::new(State { run: None, in_conversation: false, interrupted_at: None, requested: None, farewell: None });

/// The thread hears a Ctrl-C at most so long after the run that it was for.
const LATE_MAX: Duration = Duration::from_secs(1);

struct State {
    /// Cancels the active run.
    run: Option<CancelToken>,
    in_conversation: bool,
    /// Time of the last Ctrl-C that a run has heard.
    interrupted_at: Option<Instant>,
    /// The signal that requested the end of the program.
    requested: Option<u8>,
    /// The message to the user if a signal ends the program now.
    farewell: Option<String>,
}

impl State {
    /// Returns whether a Ctrl-C without an active run ends the program. In a conversation it was meant for a run, and so it was
    /// if a run that is over by now has just heard it: the thread may hear it later than the run.
    #[cfg_attr(not(unix), expect(dead_code, reason = "Ctrl-C ends the program by itself"))]
    fn ends_at_interrupt(&self, now: Instant) -> bool {
        let is_late = self.interrupted_at.is_some_and(|heard| now.saturating_duration_since(heard) < LATE_MAX);
        !self.in_conversation && !is_late
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cancels a run on terminate and hang-up, until it is dropped. The program ends after the run.
pub(crate) struct CancelOnSignal {
    interrupts: io::Result<Interrupts>,
}

impl CancelOnSignal {
    pub(crate) fn begin(cancel: &CancelToken) -> Self {
        let interrupts = interrupts();
        let mut state = state();
        if state.requested.is_some() {
            cancel.cancel();
        }
        state.run = Some(cancel.clone());
        Self { interrupts }
    }

    /// Waits for the next Ctrl-C. None is lost between two calls.
    pub(crate) async fn interrupted(&mut self) {
        let come = match &mut self.interrupts {
            Ok(interrupts) => interrupts.recv().await,
            // Without a listener Ctrl-C ends the program by itself.
            Err(_) => None,
        };
        if come.is_none() {
            std::future::pending().await
        }
        state().interrupted_at = Some(Instant::now());
    }
}

/// Waits for requests to stop a server: interrupt, terminate and hang-up. A second one can be told from the first.
pub(crate) struct StopSignals {
    first: CancelOnSignal,
    #[cfg(unix)]
    others: unix::Others,
}

impl StopSignals {
    pub(crate) fn begin() -> Self {
        Self {
            first: CancelOnSignal::begin(&CancelToken::new()),
            #[cfg(unix)]
            others: unix::Others::new(),
        }
    }

    /// Waits for the next request.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            () = self.first.interrupted() => {}
            () = self.others.next() => {}
        }
        #[cfg(not(unix))]
        self.first.interrupted().await;
    }
}

impl Drop for CancelOnSignal {
    fn drop(&mut self) {
        state().run = None;
    }
}

/// Makes the program ignore the signal of Ctrl-C between runs. At the prompt Ctrl-C is a key, and a signal that comes
/// just after a run was meant for the run.
pub(crate) fn begin_conversation() {
    state().in_conversation = true;
}

/// Sets what the user is told if a signal ends the program while it waits for an answer; `None` for nothing.
pub(crate) fn set_farewell(text: Option<String>) {
    state().farewell = text;
}

/// Returns the exit status if a signal requested the end: 128 + the number of the signal, as in shells.
pub(crate) fn exit_status() -> Option<u8> {
    state().requested.map(|signal| 128 + signal)
}

/// Does nothing: on Windows Ctrl-C ends the program by itself.
#[cfg(not(unix))]
pub(crate) fn watch() {}

#[cfg(unix)]
mod unix {
    use std::future::poll_fn;
    use std::io::{self, IsTerminal as _, Write as _};
    use std::sync::mpsc::{Sender, channel};
    use std::task::Poll;
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::process::{Signal, getpgrp};
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
    use tokio::signal::unix::{SignalKind, signal};

    use super::state;
    use crate::terminal::PASTE_MARKS_OFF;

    /// Time for a run to end after it was cancelled. It is far longer than the time that commands get to end.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Starts to listen. Without a thread for it, signals end the program as usual.
    pub(crate) fn watch() {
        let terminal = tcgetattr(rustix::stdio::stdin()).ok();
        let (listens, is_listening) = channel();
        let listening =
            thread::Builder::new().name("emend-signals".to_owned()).spawn(move || listen(terminal.as_ref(), &listens));
        if listening.is_ok() {
            // If the thread cannot listen it drops the sender.
            let _ = is_listening.recv();
        }
    }

    /// Terminate and hang-up, without those that the parent process made this one ignore.
    pub(super) struct Others(Vec<super::Interrupts>);

    impl Others {
        pub(super) fn new() -> Self {
            let heard = [Signal::TERM, Signal::HUP].into_iter().filter(|number| !is_ignored(*number));
            Self(heard.filter_map(|number| signal(SignalKind::from_raw(number.as_raw())).ok()).collect())
        }

        pub(super) async fn next(&mut self) {
            poll_fn(|context| {
                let is_ready = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
                if is_ready { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
    }

    pub(super) fn interrupts() -> io::Result<super::Interrupts> {
        signal(SignalKind::interrupt())
    }

    fn listen(terminal: Option<&Termios>, listens: &Sender<()>) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let heard = [Signal::INT, Signal::TERM, Signal::HUP].into_iter().filter(|signal| !is_ignored(*signal));
            let mut heard: Vec<_> = heard
                .filter_map(|number| Some((number, signal(SignalKind::from_raw(number.as_raw())).ok()?)))
                .collect();
            // The receiver is gone if the program is already ending.
            let _ = listens.send(());
            loop {
                let next = poll_fn(|context| {
                    let mut heard = heard.iter_mut();
                    let ready =
                        heard.find_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number));
                    ready.map_or(Poll::Pending, Poll::Ready)
                });
                let number = next.await;
                let status = {
                    let mut state = state();
                    let raw = u8::try_from(number.as_raw()).unwrap_or_default();
                    match state.run.clone() {
                        None if number == Signal::INT && !state.ends_at_interrupt(Instant::now()) => None,
                        None => Some(128 + raw),
                        Some(_) if number == Signal::INT => None,
                        Some(run) => {
                            run.cancel();
                            state.requested = Some(raw);
                            // A run may hang, e.g. because the terminal accepts no output.
                            thread::spawn(move || {
                                thread::sleep(PATIENCE);
                                std::process::exit(i32::from(128 + raw));
                            });
                            None
                        }
                    }
                };
                if let Some(status) = status {
                    give_back(terminal);
                    if let Some(text) = state().farewell.take() {
                        // The program ends all the same if standard output is closed.
                        let _ = writeln!(std::io::stdout(), "\n{text}");
                    }
                    std::process::exit(i32::from(status));
                }
            }
        });
    }

    /// Restores the mode of the terminal if the prompt changed it and the program is in the foreground.
    fn give_back(terminal: Option<&Termios>) {
        let stdin = rustix::stdio::stdin();
        let (Some(before), Ok(now)) = (terminal, tcgetattr(stdin)) else { return };
        // A background process that sets the mode would be stopped.
        if now.local_modes == before.local_modes || tcgetpgrp(stdin) != Ok(getpgrp()) {
            return;
        }
        // A terminal that was closed has no mode to restore. The line editor had switched bracketed paste on.
        let _ = tcsetattr(stdin, OptionalActions::Now, before);
        let _ = writeln!(std::io::stdout(), "{PASTE_MARKS_OFF}");
    }

    /// Returns whether the parent process made this one ignore a signal, as `nohup` does.
    fn is_ignored(signal: Signal) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        match mask {
            Some(mask) => mask >> (signal.as_raw() - 1) & 1 == 1,
            // Without /proc: under nohup the program has no terminal.
            None => signal == Signal::HUP && !std::io::stdin().is_terminal() && !std::io::stdout().is_terminal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ctrl_c_that_a_run_has_heard_does_not_end_the_program_later() {
        let now = Instant::now();
        #[track_caller]
        fn check(in_conversation: bool, interrupted_at: Option<Instant>, now: Instant, expected: bool) {
            let state = State { run: None, in_conversation, interrupted_at, requested: None, farewell: None };
            assert_eq!(state.ends_at_interrupt(now), expected);
        }
        check(false, None, now, true);
        check(true, None, now, false);
        check(false, Some(now), now, false);
        check(false, Some(now), now + LATE_MAX / 2, false);
        check(false, Some(now), now + LATE_MAX, true);
        // The thread may have read the clock first.
        check(false, Some(now + LATE_MAX), now, false);
    }
}
