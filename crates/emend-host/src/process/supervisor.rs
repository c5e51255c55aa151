//! The thread that watches one command: reads its output, knows when its time is up, and ends what is left of it.

use std::io::{self, PipeReader, Read as _};
use std::os::fd::AsFd as _;
use std::process::Child;
use std::time::{Duration, Instant};

use emend_agent::environment::command::{Capture, ExecResult, OutputStream, TextStream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

use super::process_tree::ProcessTree;

/// How long processes have to end by themselves once they are asked to (S2 §5.4).
const GRACE: Duration = Duration::from_secs(2);
/// How long what a command leaves running may go on: `tee` behind `>(…)` still has the last lines to write.
const LINGER: Duration = Duration::from_millis(300);
/// How long to go on killing what does not die: a process that waits for a disk cannot be killed.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often to look whether processes are gone.
const LOOK: Duration = Duration::from_millis(25);
/// How often to look whether the command has exited, where the system cannot tell by itself.
const LOOK_SLOWLY: Duration = Duration::from_millis(250);

/// A command that runs.
pub(super) struct Supervisor {
    pub(super) child: Child,
    pub(super) tree: ProcessTree,
    /// Its outputs; `None` once they are at their end.
    pub(super) stdout: Option<PipeReader>,
    pub(super) stderr: Option<PipeReader>,
    /// Is closed at the other end when nobody wants the command any more.
    pub(super) stop: PipeReader,
    pub(super) began: Instant,
    pub(super) timeout: Duration,
}

/// Where a command is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// It has exited; what it left may finish.
    Exited {
        since: Instant,
    },
    /// What is left was asked to end.
    Ending {
        since: Instant,
    },
    /// What is left is being killed.
    Killing {
        since: Instant,
    },
}

/// What has been read of one output.
struct Output {
    stream: OutputStream,
    capture: Capture,
    text: TextStream,
}

impl Output {
    fn new(stream: OutputStream) -> Self {
        Self { stream, capture: Capture::new(Capture::BYTES_MAX), text: TextStream::default() }
    }

    /// Reads what is there and shows it. Returns whether that was the end.
    fn read(&mut self, pipe: &mut PipeReader, show: &mut dyn FnMut(OutputStream, &str)) -> bool {
        let mut buffer = [0; 1 << 14];
        // A bounded number of times: a command that floods must not keep its own end from being noticed.
        for _ in 0..64 {
            match pipe.read(&mut buffer) {
                Ok(0) => return true,
                Ok(n_bytes) => {
                    self.capture.push(&buffer[..n_bytes]);
                    show(self.stream, &self.text.push(&buffer[..n_bytes]));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
        false
    }
}

impl Supervisor {
    /// Watches until nothing of the command is left.
    pub(super) fn run(mut self, show: &mut dyn FnMut(OutputStream, &str)) -> ExecResult {
        let mut result = ExecResult::default();
        let (mut stdout, mut stderr) = (Output::new(OutputStream::Stdout), Output::new(OutputStream::Stderr));
        let mut phase = Phase::Running;
        let mut exited = false;
        let mut exited_at = None;
        loop {
            let stopped = self.wait(phase, exited);
            for (pipe, output) in [(&mut self.stdout, &mut stdout), (&mut self.stderr, &mut stderr)] {
                if pipe.as_mut().is_some_and(|pipe| output.read(pipe, show)) {
                    *pipe = None;
                }
            }
            if !exited && self.has_exited() {
                exited = true;
                exited_at = Some(Instant::now());
                if phase == Phase::Running {
                    phase = Phase::Exited { since: Instant::now() };
                    // What was written just before the exit is in the pipes by now; the next round reads it.
                    if self.stdout.is_some() || self.stderr.is_some() {
                        continue;
                    }
                }
            }
            let now = Instant::now();
            match phase {
                Phase::Running if stopped || now.duration_since(self.began) >= self.timeout => {
                    result.cancelled = stopped;
                    result.timed_out = !stopped;
                    phase = self.end(now);
                }
                Phase::Running => {}
                Phase::Exited { since } => {
                    let n_others = self.tree.n_others();
                    let is_silent = self.stdout.is_none() && self.stderr.is_none();
                    if n_others == 0 && (is_silent || now.duration_since(since) >= LINGER) {
                        break;
                    }
                    if n_others > 0 && (stopped || now.duration_since(since) >= LINGER) {
                        result.n_left_behind = n_others;
                        phase = self.end(now);
                    }
                }
                Phase::Ending { .. } | Phase::Killing { .. } if exited && self.tree.n_others() == 0 => break,
                Phase::Ending { since } if now.duration_since(since) >= GRACE => {
                    self.tree.signal(Signal::KILL);
                    phase = Phase::Killing { since: now };
                }
                Phase::Ending { .. } => {}
                // What forks while it is killed is caught by the next look.
                Phase::Killing { since } if now.duration_since(since) < PATIENCE => self.tree.signal(Signal::KILL),
                Phase::Killing { .. } => break,
            }
        }
        // The last words of what was ended.
        for (pipe, output) in [(&mut self.stdout, &mut stdout), (&mut self.stderr, &mut stderr)] {
            if let Some(pipe) = pipe {
                output.read(pipe, show);
            }
        }
        result.exit_code = if exited { self.reap() } else { 128 + Signal::KILL.as_raw() };
        result.duration_ms = millis(exited_at.unwrap_or_else(Instant::now).duration_since(self.began));
        result.n_bytes_dropped = stdout.capture.n_dropped() + stderr.capture.n_dropped();
        result.stdout = stdout.capture.into_text();
        result.stderr = stderr.capture.into_text();
        result
    }

    /// Asks everything to end.
    fn end(&self, now: Instant) -> Phase {
        self.tree.signal(Signal::TERM);
        // What is stopped would not notice.
        self.tree.signal(Signal::CONT);
        Phase::Ending { since: now }
    }

    /// Waits until there is something to do. Returns whether nobody wants the command any more.
    fn wait(&self, phase: Phase, exited: bool) -> bool {
        let limit = match phase {
            Phase::Running => self.timeout.saturating_sub(self.began.elapsed()),
            _ => LOOK,
        };
        #[cfg(target_os = "linux")]
        let handle = rustix::process::pidfd_open(self.tree.leader, rustix::process::PidfdFlags::empty()).ok();
        #[cfg(not(target_os = "linux"))]
        let handle: Option<std::os::fd::OwnedFd> = None;
        let limit = if handle.is_some() || exited { limit } else { limit.min(LOOK_SLOWLY) };
        let pipes = [&self.stdout, &self.stderr].into_iter().flatten();
        let mut watched: Vec<PollFd<'_>> = vec![PollFd::new(&self.stop, PollFlags::IN)];
        watched.extend(pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        if let Some(handle) = handle.as_ref().filter(|_| !exited) {
            watched.push(PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN));
        }
        let seconds = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos().into() };
        // The end of the stop pipe stays readable, and must not keep what is being ended from being waited for.
        let from = usize::from(phase != Phase::Running);
        // An interrupted wait is a short one.
        let _ = poll(&mut watched[from..], Some(&timeout));
        from == 0 && !watched[0].revents().is_empty()
    }

    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // A child that is gone altogether was waited for by someone else.
        !matches!(waitid(WaitId::Pid(self.tree.leader), options), Ok(None))
    }

    /// Gives the leader's id back to the system and returns how it exited.
    fn reap(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt as _;
        let status = self.child.wait().ok();
        let code = status.and_then(|status| status.code().or_else(|| status.signal().map(|signal| 128 + signal)));
        code.unwrap_or(-1)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
