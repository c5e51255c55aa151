//! Starts commands, passes their output and result to the caller, and waits for all of them when the environment is
//! dropped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::poll_fn;
use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use emend_agent::environment::EnvError;
use emend_agent::environment::command::{Command, ExecResult, OutputSink, OutputStream};
use emend_llm::{CancelToken, Random as _};
use rustix::process::Pid;

use super::process_tree::{LimitMark, MARK, ProcessTree};
use super::sandbox::Sandbox;
use super::supervisor::Supervisor;
use super::watcher::Watcher;
use crate::clock::OsRandom;

/// Upper limit of output that waits for the caller, in bytes. Faster output is not shown live, but it is in the result.
const SHOWN_BYTES_MAX: usize = 1 << 18;

/// The commands of one environment. Dropping it waits until all commands have ended.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    shared: Arc<InFlight>,
}

#[derive(Debug, Default)]
struct InFlight {
    n_running: Mutex<usize>,
    changed: Condvar,
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.n_running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Processes {
    /// Returns a function that blocks until no process of any command is left. It does not cancel commands.
    pub(crate) fn ended(&self) -> impl FnOnce() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || {
            let mut n_running = shared.lock();
            while *n_running > 0 {
                n_running = shared.changed.wait(n_running).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.ended()();
    }
}

/// Counts one command as running while this lives.
struct InFlightGuard(Arc<InFlight>);

impl InFlightGuard {
    fn new(count: &Arc<InFlight>) -> Self {
        *count.lock() += 1;
        Self(Arc::clone(count))
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.changed.notify_all();
    }
}

/// The channel from a supervisor to its caller.
#[derive(Default)]
struct Channel {
    state: Mutex<ChannelState>,
}

#[derive(Default)]
struct ChannelState {
    shown: Vec<(OutputStream, String)>,
    n_bytes: usize,
    result: Option<ExecResult>,
    /// Whether the supervisor has ended, with a result or with a panic.
    closed: bool,
    waker: Option<Waker>,
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut ChannelState)) {
        let waker = {
            let mut state = self.lock();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn show(&self, stream: OutputStream, text: &str) {
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
    fn poll(&self, context: &mut Context<'_>, output: &dyn OutputSink) -> Poll<Option<ExecResult>> {
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

/// Closes the channel when it is dropped, however the supervisor ends.
struct CloseOnDrop(Arc<Channel>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.change(|state| state.closed = true);
    }
}

/// The settings that a command is started with.
pub(crate) struct SpawnOptions<'a> {
    /// Root of the project. Working directories are relative to it.
    pub(crate) root: &'a Path,
    /// The inherited environment variables. A command's own variables override them.
    pub(crate) variables: BTreeMap<OsString, OsString>,
    /// Confinement of writes, if any.
    pub(crate) sandbox: Option<&'a Sandbox>,
}

/// Runs `command` to its end.
///
/// Cancelling, or dropping the future, ends the command and its descendants.
///
/// # Errors
///
/// `Io` if the command cannot be started.
pub(crate) async fn exec(
    processes: &Processes,
    options: SpawnOptions<'_>,
    command: &Command,
    output: &dyn OutputSink,
    cancel: &CancelToken,
) -> Result<ExecResult, EnvError> {
    let failed = |error: io::Error| EnvError::Io {
        path: command.working_dir.to_string(),
        reason: format!("the command could not be started: {error}"),
    };
    if cancel.is_cancelled() {
        return Ok(ExecResult { cancelled: true, exit_code: 130, ..ExecResult::default() });
    }
    let (supervisor, stop) = start(options, command).map_err(failed)?;
    let channel = Arc::new(Channel::default());
    let (close_on_drop, guard) = (CloseOnDrop(Arc::clone(&channel)), InFlightGuard::new(&processes.shared));
    let work = move || {
        let result = supervisor.run(&mut |stream, text| close_on_drop.0.show(stream, text));
        close_on_drop.0.lock().result = Some(result);
        // When the caller has the result, the command no longer counts as running.
        drop(guard);
        drop(close_on_drop);
    };
    thread::Builder::new().name("emend-command".to_owned()).spawn(work).map_err(failed)?;
    let mut stop = Some(stop);
    let mut cancelled = cancel.cancelled();
    let result = poll_fn(|context| {
        if stop.is_some() && cancelled.as_mut().poll(context).is_ready() {
            // The supervisor polls the other end. Dropping the future closes it too.
            stop = None;
        }
        channel.poll(context, output)
    });
    let gone = || failed(io::Error::other("its supervisor thread panicked"));
    result.await.ok_or_else(gone)
}

/// Starts the command. Returns its supervisor, and a pipe end whose closing stops the command.
#[expect(unsafe_code, reason = "a new session can only be created between fork and exec")]
fn start(options: SpawnOptions<'_>, command: &Command) -> io::Result<(Supervisor, PipeWriter)> {
    let (stdout, stdout_there) = io::pipe()?;
    let (stderr, stderr_there) = io::pipe()?;
    let (stop, stop_here) = io::pipe()?;
    for pipe in [&stdout, &stderr] {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    let own_mark = format!("{:016x}{:016x}", OsRandom.next_u64(), OsRandom.next_u64());
    // A command inside a command carries both marks, because it belongs to both.
    let outer = std::env::var(MARK).unwrap_or_default();
    let mark = format!("{outer} {own_mark}");
    let mut shell = std::process::Command::new(shell());
    shell
        .arg("-c")
        .arg(&command.command)
        .current_dir(options.root.join(command.working_dir.as_str()))
        .env_clear()
        .envs(options.variables)
        .envs(&command.env_vars)
        .env(MARK, mark.trim_start())
        .stdin(Stdio::null())
        .stdout(stdout_there)
        .stderr(stderr_there);
    let limit = LimitMark::new();
    let begin = move || {
        if let Some(limit) = limit {
            limit.set();
        }
        rustix::process::setsid().map(|_| ()).map_err(io::Error::from)
    };
    // SAFETY: both functions make one system call each, which takes no lock and allocates no memory.
    unsafe {
        shell.pre_exec(begin);
    }
    // Without the helper, only the end of a killed process is less tidy.
    let mut watcher = Watcher::start(&own_mark).ok();
    let child = spawn(&mut shell, options.root, options.sandbox)?;
    // Dropping it closes this process's write ends: the pipes end when the command closes its own.
    drop(shell);
    let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("no id"))?;
    if let Some(watcher) = &mut watcher {
        watcher.watch(leader);
    }
    let supervisor = Supervisor {
        watcher,
        child,
        tree: ProcessTree { leader, mark: own_mark, limit },
        stdout: Some(stdout),
        stderr: Some(stderr),
        stop,
        began: Instant::now(),
        timeout: Duration::from_millis(command.timeout_ms),
    };
    Ok((supervisor, stop_here))
}

#[cfg(target_os = "linux")]
fn spawn(shell: &mut std::process::Command, root: &Path, sandbox: Option<&Sandbox>) -> io::Result<Child> {
    match sandbox {
        Some(sandbox) => super::sandbox::confined(sandbox, root, || shell.spawn()),
        None => shell.spawn(),
    }
}

#[cfg(not(target_os = "linux"))]
fn spawn(shell: &mut std::process::Command, _: &Path, sandbox: Option<&Sandbox>) -> io::Result<Child> {
    match sandbox {
        Some(_) => Err(io::ErrorKind::Unsupported.into()),
        None => shell.spawn(),
    }
}

/// Returns the path of the shell: bash if it is installed.
fn shell() -> &'static str {
    let found = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].into_iter().find(|path| Path::new(path).exists());
    found.unwrap_or("/bin/sh")
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
