//! The thread of one command: reads its output, enforces its timeout, and ends its remaining processes.

use std::io::{self, PipeReader, Read as _};
use std::os::fd::AsFd as _;
use std::process::Child;
use std::time::{Duration, Instant};

use emend_agent::environment::command::{Capture, ExecResult, OutputStream, TextStream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

use super::channel::Channel;
use super::process_tree::ProcessTree;
use super::watcher::Watcher;

/// Time between SIGTERM and SIGKILL, for processes to end by themselves.
const GRACE: Duration = Duration::from_secs(2);
/// Time for processes that a command leaves running: `tee` in `>(…)` still has to write the last lines.
const LINGER: Duration = Duration::from_millis(300);
/// Time after which killing is given up: a process that waits for a disk cannot be killed.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// Interval of the checks whether processes are gone.
const CHECK_INTERVAL: Duration = Duration::from_millis(25);
/// Interval of the checks whether the command has exited, on systems without process handles.
const EXIT_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// A running command.
pub(super) struct Supervisor {
    #[expect(dead_code, reason = "held because dropping it ends the helper, after the command")]
    pub(super) watcher: Option<Watcher>,
    pub(super) child: Child,
    pub(super) tree: ProcessTree,
    /// The command's output; `None` after its end.
    pub(super) stdout: Option<PipeReader>,
    pub(super) stderr: Option<PipeReader>,
    /// Closed at the other end when the command is cancelled or its caller is gone.
    pub(super) stop: PipeReader,
    pub(super) began: Instant,
    pub(super) timeout: Duration,
}

/// The phase of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// The shell has exited; remaining processes may finish.
    Exited {
        since: Instant,
    },
    /// The remaining processes got SIGTERM.
    Ending {
        since: Instant,
    },
    /// The remaining processes are being killed.
    Killing {
        since: Instant,
    },
}

/// One output stream: its captured bytes and its decoder.
struct Output {
    stream: OutputStream,
    capture: Capture,
    text: TextStream,
}

impl Output {
    fn new(stream: OutputStream) -> Self {
        Self { stream, capture: Capture::new(Capture::BYTES_MAX), text: TextStream::default() }
    }

    /// Reads the available output and shows it in `channel`. Returns whether the stream has ended.
    fn read(&mut self, pipe: &mut PipeReader, channel: &Channel) -> bool {
        let mut buffer = [0; 1 << 14];
        // Bounded, so that a command with endless output cannot hide its own end.
        for _ in 0..64 {
            match pipe.read(&mut buffer) {
                Ok(0) => return true,
                Ok(n_bytes) => {
                    self.capture.push(&buffer[..n_bytes]);
                    channel.show(self.stream, &self.text.push(&buffer[..n_bytes]));
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
    /// Supervises the command until none of its processes is left.
    pub(super) fn run(mut self, channel: &Channel) -> ExecResult {
        let mut result = ExecResult::default();
        let (mut stdout, mut stderr) = (Output::new(OutputStream::Stdout), Output::new(OutputStream::Stderr));
        let mut phase = Phase::Running;
        let mut exited = false;
        let mut exited_at = None;
        loop {
            let stopped = self.wait(phase, exited);
            for (pipe, output) in [(&mut self.stdout, &mut stdout), (&mut self.stderr, &mut stderr)] {
                if pipe.as_mut().is_some_and(|pipe| output.read(pipe, channel)) {
                    *pipe = None;
                }
            }
            if !exited && self.has_exited() {
                exited = true;
                exited_at = Some(Instant::now());
                if phase == Phase::Running {
                    phase = Phase::Exited { since: Instant::now() };
                    // Output from before the exit is in the pipes now; the next iteration reads it.
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
                // A process that forks while it is killed is found by the next check.
                Phase::Killing { since } if now.duration_since(since) < KILL_LIMIT => self.tree.signal(Signal::KILL),
                Phase::Killing { .. } => break,
            }
        }
        // The last output of the ended processes.
        for (pipe, output) in [(&mut self.stdout, &mut stdout), (&mut self.stderr, &mut stderr)] {
            if let Some(pipe) = pipe {
                output.read(pipe, channel);
            }
        }
        result.exit_code = if exited { self.reap() } else { 128 + Signal::KILL.as_raw() };
        result.duration_ms = millis(exited_at.unwrap_or_else(Instant::now).duration_since(self.began));
        result.n_bytes_dropped = stdout.capture.n_dropped() + stderr.capture.n_dropped();
        result.stdout = stdout.capture.into_text();
        result.stderr = stderr.capture.into_text();
        result
    }

    /// Sends SIGTERM to all processes.
    fn end(&self, now: Instant) -> Phase {
        self.tree.signal(Signal::TERM);
        // A stopped process handles SIGTERM only after it continues.
        self.tree.signal(Signal::CONT);
        Phase::Ending { since: now }
    }

    /// Waits for output, an exit, a stop request or the next check. Returns whether the command must stop.
    fn wait(&self, phase: Phase, exited: bool) -> bool {
        let limit = match phase {
            Phase::Running => self.timeout.saturating_sub(self.began.elapsed()),
            _ => CHECK_INTERVAL,
        };
        #[cfg(target_os = "linux")]
        let handle = rustix::process::pidfd_open(self.tree.leader, rustix::process::PidfdFlags::empty()).ok();
        #[cfg(not(target_os = "linux"))]
        let handle: Option<std::os::fd::OwnedFd> = None;
        let limit = if handle.is_some() || exited { limit } else { limit.min(EXIT_CHECK_INTERVAL) };
        let pipes = [&self.stdout, &self.stderr].into_iter().flatten();
        let mut watched: Vec<PollFd<'_>> = vec![PollFd::new(&self.stop, PollFlags::IN)];
        watched.extend(pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        if let Some(handle) = handle.as_ref().filter(|_| !exited) {
            watched.push(PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN));
        }
        let seconds = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos().into() };
        // After a stop request its pipe stays readable, so it is polled only in the first phase.
        let from = usize::from(phase != Phase::Running);
        // An interrupted wait only ends early.
        let _ = poll(&mut watched[from..], Some(&timeout));
        from == 0 && !watched[0].revents().is_empty()
    }

    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that another part of this process has reaped the child.
        !matches!(waitid(WaitId::Pid(self.tree.leader), options), Ok(None))
    }

    /// Reaps the leader and returns its exit status (128 + signal if a signal ended it).
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
