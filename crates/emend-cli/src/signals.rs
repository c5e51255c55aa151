//! What is asked of the program from outside: to end, by an interrupt, a request or a terminal that is gone.
//!
//! A thread listens, since whoever reads a line of the user's holds up everything else. While [`CancelOnSignal`] lives a request
//! stops the turn, which ends what it started and keeps what was done; otherwise the program ends at once. Ctrl-C
//! belongs to the turn alone: it says what a second one means.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use emend_llm::CancelToken;

#[cfg(unix)]
use tokio::signal::unix::Signal as Interrupts;
#[cfg(not(unix))]
use tokio::signal::windows::{CtrlC as Interrupts, ctrl_c as interrupts};
#[cfg(unix)]
use unix::interrupts;
#[cfg(unix)]
pub(crate) use unix::watch;

/// What runs now, and what was asked.
static STATE: Mutex<State> = Mutex::new(State { turn: None, in_conversation: false, asked: None });

struct State {
    turn: Option<CancelToken>,
    in_conversation: bool,
    /// The signal that asked for the end.
    asked: Option<u8>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that is stopped before the program ends, until this is dropped.
pub(crate) struct CancelOnSignal {
    interrupts: io::Result<Interrupts>,
}

impl CancelOnSignal {
    pub(crate) fn begin(cancel: &CancelToken) -> Self {
        let interrupts = interrupts();
        let mut state = state();
        if state.asked.is_some() {
            cancel.cancel();
        }
        state.turn = Some(cancel.clone());
        Self { interrupts }
    }

    /// Waits for the next Ctrl-C. None is lost between one wait and the next.
    pub(crate) async fn interrupted(&mut self) {
        let come = match &mut self.interrupts {
            Ok(interrupts) => interrupts.recv().await,
            // They end the program by themselves.
            Err(_) => None,
        };
        if come.is_none() {
            std::future::pending().await
        }
    }
}

impl Drop for CancelOnSignal {
    fn drop(&mut self) {
        state().turn = None;
    }
}

/// Lets Ctrl-C between turns pass, for there it is a key: one that comes when a turn has just ended was meant for that.
pub(crate) fn begin_conversation() {
    state().in_conversation = true;
}

/// Returns the status to end with if the end was asked for: as a shell says it of a program that a signal ended.
pub(crate) fn asked() -> Option<u8> {
    state().asked.map(|signal| 128 + signal)
}

/// Nothing comes from outside here but Ctrl-C, which ends the program by itself.
#[cfg(not(unix))]
pub(crate) fn watch() {}

#[cfg(unix)]
mod unix {
    use std::future::poll_fn;
    use std::io::{self, IsTerminal as _, Write as _};
    use std::sync::mpsc::{Sender, channel};
    use std::task::Poll;
    use std::thread;
    use std::time::Duration;

    use rustix::process::{Signal, getpgrp};
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
    use tokio::signal::unix::{SignalKind, signal};

    use super::state;
    use crate::terminal::PASTE_MARKS_OFF;

    /// How long a turn may take to end: far longer than what it runs is given.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Begins to listen. Where no thread can be had, signals end the program as they do any other.
    pub(crate) fn watch() {
        let terminal = tcgetattr(rustix::stdio::stdin()).ok();
        let (listens, is_listening) = channel();
        let listening =
            thread::Builder::new().name("emend-signals".to_owned()).spawn(move || listen(terminal.as_ref(), &listens));
        if listening.is_ok() {
            // A thread that cannot listen hangs up.
            let _ = is_listening.recv();
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
            // The program may have ended already.
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
                    match state.turn.clone() {
                        None if number == Signal::INT && state.in_conversation => None,
                        None => Some(128 + raw),
                        Some(_) if number == Signal::INT => None,
                        Some(turn) => {
                            turn.cancel();
                            state.asked = Some(raw);
                            // One that cannot end, because its terminal takes no more, must not keep the program.
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
                    std::process::exit(i32::from(status));
                }
            }
        });
    }

    /// Gives the terminal back as it was found, if it is ours and was changed to read a line.
    fn give_back(terminal: Option<&Termios>) {
        let stdin = rustix::stdio::stdin();
        let (Some(before), Ok(now)) = (terminal, tcgetattr(stdin)) else { return };
        // Setting a terminal that is another's would stop the program instead.
        if now.local_modes == before.local_modes || tcgetpgrp(stdin) != Ok(getpgrp()) {
            return;
        }
        // A terminal that was closed has no mode to restore. The line editor had switched bracketed paste on.
        let _ = tcsetattr(stdin, OptionalActions::Now, before);
        let _ = writeln!(std::io::stdout(), "{PASTE_MARKS_OFF}");
    }

    /// Returns whether whoever started the program wants it to live through a signal, as `nohup` does.
    fn is_ignored(signal: Signal) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        match mask {
            Some(mask) => mask >> (signal.as_raw() - 1) & 1 == 1,
            // Where the system does not say: nohup leaves a program no terminal.
            None => signal == Signal::HUP && !std::io::stdin().is_terminal() && !std::io::stdout().is_terminal(),
        }
    }
}
