//! Commands on Windows: `cmd.exe /c` in a job object.
//!
//! The differences from Unix:
//!
//! - A command is ended at once. Windows has no SIGTERM for a process without a window.
//! - `cmd.exe` runs one line, so a command of several lines is refused.
//! - `cmd.exe` cannot work in a network directory such as `\\server\share`, so commands there are refused.
//! - Output is read as UTF-8. The commands inside `cmd.exe` write the code page of the console, in which only ASCII is
//!   the same.

mod job;
#[cfg(test)]
mod tests;

use std::io::{self, PipeReader, Read as _};
use std::os::windows::process::CommandExt as _;
use std::path::{Component, Path, PathBuf, Prefix};
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use emend_agent::environment::command::{Capture, Command, ExecResult, OutputStream, TextStream};

use self::job::Job;
use super::channel::Channel;
use super::options::SpawnOptions;

/// Time for processes that a command leaves running, to write their last output.
const LINGER: Duration = Duration::from_millis(300);
/// Time after which waiting for ended processes is given up.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// Interval of the checks whether processes are gone.
const CHECK_INTERVAL: Duration = Duration::from_millis(25);
/// Exit status of processes that are ended: 128 plus SIGKILL, as on Unix.
const KILLED: u32 = 137;

/// A running command.
pub(super) struct Supervisor {
    child: Child,
    job: Job,
    pipes: [(OutputStream, PipeReader); 2],
    progress: Arc<Progress>,
    began: Instant,
    timeout: Duration,
}

/// The state that the threads of one command share: one reads each output stream, one waits for the exit.
#[derive(Default)]
struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    is_stopped: bool,
    exit_code: Option<i32>,
    n_open: usize,
    stdout: Capture,
    stderr: Capture,
}

impl Default for State {
    fn default() -> Self {
        let capture = || Capture::new(Capture::BYTES_MAX);
        Self { is_stopped: false, exit_code: None, n_open: 2, stdout: capture(), stderr: capture() }
    }
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits at most `limit` for a condition, which is checked after each change and regularly.
    fn wait(&self, limit: Duration, is_so: impl Fn(&State) -> bool) {
        let began = Instant::now();
        let mut state = self.lock();
        while !is_so(&state) {
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left.min(CHECK_INTERVAL));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Reads one stream to its end.
    fn read(&self, stream: OutputStream, pipe: &mut PipeReader, channel: &Channel) {
        let (mut buffer, mut text) = (vec![0; 1 << 14], TextStream::default());
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(n_bytes) => {
                    let mut state = self.lock();
                    match stream {
                        OutputStream::Stdout => state.stdout.push(&buffer[..n_bytes]),
                        OutputStream::Stderr => state.stderr.push(&buffer[..n_bytes]),
                    }
                    drop(state);
                    channel.show(stream, &text.push(&buffer[..n_bytes]));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.change(|state| state.n_open -= 1);
    }
}

/// Stops the command when it is dropped.
pub(super) struct StopOnDrop(Arc<Progress>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.change(|state| state.is_stopped = true);
    }
}

/// Starts the command. Returns its supervisor, and a value whose dropping stops the command.
pub(super) fn start(options: SpawnOptions<'_>, command: &Command) -> io::Result<(Supervisor, StopOnDrop)> {
    if options.sandbox.is_some() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let line = command.command.trim();
    if line.contains(['\n', '\r']) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "cmd.exe runs one line; join the commands with `&` or `&&`",
        ));
    }
    let (stdout, stdout_there) = io::pipe()?;
    let (stderr, stderr_there) = io::pipe()?;
    let mut shell = std::process::Command::new(shell());
    shell
        // Without the commands that the registry may name, and with the line as it is between two quotes.
        .raw_arg(format!("/d /s /c \"{line}\""))
        .current_dir(working_directory(options.root, command.working_dir.as_str())?)
        .env_clear()
        .envs(options.variables)
        .envs(&command.env_vars)
        .stdin(Stdio::null())
        .stdout(stdout_there)
        .stderr(stderr_there);
    let job = Job::new()?;
    // Taken before the command begins, as on Unix.
    let began = Instant::now();
    let child = job.start(&mut shell)?;
    // Dropping it closes this process's write ends: the pipes end when the command closes its own.
    drop(shell);
    let progress = Arc::new(Progress::default());
    let supervisor = Supervisor {
        child,
        job,
        pipes: [(OutputStream::Stdout, stdout), (OutputStream::Stderr, stderr)],
        progress: Arc::clone(&progress),
        began,
        timeout: Duration::from_millis(command.timeout_ms),
    };
    Ok((supervisor, StopOnDrop(progress)))
}

impl Supervisor {
    /// Supervises the command until none of its processes is left.
    pub(super) fn run(self, channel: &Arc<Channel>) -> ExecResult {
        let Self { mut child, job, pipes, progress, began, timeout } = self;
        for (stream, mut pipe) in pipes {
            let (progress, channel) = (Arc::clone(&progress), Arc::clone(channel));
            thread::spawn(move || progress.read(stream, &mut pipe, &channel));
        }
        let waiting = Arc::clone(&progress);
        thread::spawn(move || {
            let code = child.wait().ok().and_then(|status| status.code()).unwrap_or(-1);
            waiting.change(|state| state.exit_code = Some(code));
        });
        let mut result = ExecResult::default();
        progress.wait(timeout.saturating_sub(began.elapsed()), |state| state.is_stopped || state.exit_code.is_some());
        let exited_at = progress.lock().exit_code.map(|_| Instant::now());
        if exited_at.is_some() {
            progress.wait(LINGER, |state| state.is_stopped || (job.n_processes() == 0 && state.n_open == 0));
            result.n_left_behind = job.n_processes();
        } else {
            result.cancelled = progress.lock().is_stopped;
            result.timed_out = !result.cancelled;
        }
        job.end(KILLED);
        progress.wait(KILL_LIMIT, |state| state.exit_code.is_some() && state.n_open == 0 && job.n_processes() == 0);
        let elapsed = exited_at.unwrap_or_else(Instant::now).duration_since(began);
        result.duration_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let mut state = progress.lock();
        let State { exit_code, stdout, stderr, .. } = std::mem::take(&mut *state);
        result.exit_code = exit_code.unwrap_or(-1);
        result.n_bytes_dropped = stdout.n_dropped() + stderr.n_dropped();
        result.stdout = stdout.into_text();
        result.stderr = stderr.into_text();
        result
    }
}

/// Returns the path of `cmd.exe`. The project's directory and `PATH` are not searched.
fn shell() -> PathBuf {
    let system = std::env::var_os("SystemRoot").map_or_else(|| PathBuf::from(r"C:\Windows"), PathBuf::from);
    system.join("System32").join("cmd.exe")
}

/// Returns a working directory that `cmd.exe` accepts: with a drive and backslashes.
fn working_directory(root: &Path, below: &str) -> io::Result<PathBuf> {
    let drive = match root.components().next() {
        Some(Component::Prefix(prefix)) => match prefix.kind() {
            Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) => char::from(letter),
            _ => return Err(no_drive(root)),
        },
        _ => return Err(no_drive(root)),
    };
    let mut directory = PathBuf::from(format!("{drive}:\\"));
    directory.extend(root.components().filter(|part| matches!(part, Component::Normal(_))));
    directory.extend(below.split('/').filter(|name| !name.is_empty()));
    Ok(directory)
}

fn no_drive(root: &Path) -> io::Error {
    let reason = format!("cmd.exe cannot work in {}; open the project by a drive letter", root.display());
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
