//! Runs commands: passes their output and result to the caller, and waits for all of them when the environment is
//! dropped.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use emend_agent::environment::EnvError;
use emend_agent::environment::command::{Command, ExecResult, OutputSink};
use emend_llm::CancelToken;

use super::channel::{Channel, End};
use super::options::SpawnOptions;
#[cfg(unix)]
use super::unix::start;
#[cfg(windows)]
use super::windows::start;

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

/// Closes the channel when it is dropped, however the supervisor ends.
struct CloseOnDrop(Arc<Channel>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.change(|state| state.closed = true);
    }
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
    supervise(processes, move |channel| Ok(supervisor.run(channel)), stop, command, (output, cancel)).await
}

/// Runs `work`, which supervises a command until none of its processes is left, on a thread of its own.
///
/// Cancelling, or dropping the future, closes `stop`.
///
/// # Errors
///
/// The error of `work`, or `Io` if there is no thread for it.
pub(crate) async fn supervise(
    processes: &Processes,
    work: impl FnOnce(&Arc<Channel>) -> End + Send + 'static,
    stop: impl Sized,
    command: &Command,
    (output, cancel): (&dyn OutputSink, &CancelToken),
) -> End {
    let failed = |error: io::Error| EnvError::Io {
        path: command.working_dir.to_string(),
        reason: format!("the command could not be started: {error}"),
    };
    let channel = Arc::new(Channel::default());
    let (close_on_drop, guard) = (CloseOnDrop(Arc::clone(&channel)), InFlightGuard::new(&processes.shared));
    let work = move || {
        let result = work(&close_on_drop.0);
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
            // Dropping it stops the command. Dropping the future drops it too.
            stop = None;
        }
        channel.poll(context, output)
    });
    let gone = || failed(io::Error::other("its supervisor thread panicked"));
    result.await.ok_or_else(gone)?
}
