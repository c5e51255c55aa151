//! Runs one script to its end, within limits.
//!
//! A timer cannot interrupt a script that computes without waiting, because nothing else runs on its thread (in a page,
//! not even the page). So there is also a limit of steps. A script that exceeds it counts as timed out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashkit::{Bash, ExecutionLimits, InMemoryFs, LimitExceeded, MountableFs, PosixFs, SessionLimits};

use crate::files::{Files, TreeBackend};

/// Default limit of steps (commands and loop iterations) of one script.
pub const STEPS_MAX: usize = 100_000;

/// Limit of the memory for buffers between a script's commands, in bytes.
const BUFFERED_BYTES_MAX: u64 = 64 << 20;

/// A script and its settings.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    /// The command line, as typed into a shell.
    pub text: &'a str,
    /// Working directory relative to the root; empty for the root.
    pub working_dir: &'a str,
    /// Environment variables in addition to the shell's own, such as `HOME` and `PATH`.
    pub env_vars: BTreeMap<String, String>,
    /// Timeout in milliseconds.
    pub timeout_ms: u64,
    /// Limit of commands and of loop iterations.
    pub steps_max: usize,
}

impl Default for Script<'_> {
    /// An empty script in the root, with a timeout of ten seconds and [`STEPS_MAX`] steps.
    fn default() -> Self {
        Self { text: "", working_dir: "", env_vars: BTreeMap::new(), timeout_ms: 10_000, steps_max: STEPS_MAX }
    }
}

/// The end of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It ended with this exit status.
    Exit(i32),
    /// It exceeded its timeout or its limit of steps.
    TimedOut,
    /// [`Cancel::cancel`] was called.
    Cancelled,
}

/// An output stream of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Cancels a script before its next command. A waiting script is cancelled by dropping its future.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Requests the cancellation, which is permanent.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A shell over a tree of files. Scripts share only the files: each starts with fresh variables.
pub struct Shell {
    files: Arc<MountableFs>,
    root: String,
}

impl Shell {
    /// Returns a shell with `files` mounted at `root`, an absolute path.
    #[must_use]
    pub fn new(files: impl Files + 'static, root: &str) -> Self {
        let mounts = MountableFs::new(Arc::new(InMemoryFs::new()));
        // Mounting fails only for a path that is not absolute.
        let root = if root.starts_with('/') { root.to_owned() } else { format!("/{root}") };
        let _ = mounts.mount(&root, Arc::new(PosixFs::new(TreeBackend(files))));
        Self { files: Arc::new(mounts), root }
    }

    /// Runs a script to its end and passes its output to `output` as it arrives.
    ///
    /// Needs a `tokio` runtime with timers enabled, or a page. Errors of the script, parse errors included, are written to its
    /// standard error and become its exit status.
    pub async fn run(&self, script: Script<'_>, cancel: &Cancel, output: impl FnMut(Stream, &[u8]) + Send) -> End {
        let directory = format!("{}/{}", self.root.trim_end_matches('/'), script.working_dir);
        let directory = if directory == "/" { "/" } else { directory.trim_end_matches('/') };
        let mut bash = script
            .env_vars
            .iter()
            .fold(Bash::builder(), |builder, (name, value)| builder.env(name, value))
            .fs(Arc::clone(&self.files) as _)
            .cwd(directory)
            .limits(limits(&script))
            .session_limits(SessionLimits::unlimited())
            .build();
        let session = bash.cancellation_token();
        let output = Mutex::new(output);
        let show = |stream, bytes: &[u8]| output.lock().unwrap_or_else(PoisonError::into_inner)(stream, bytes);
        let done = bash
            .execute(script.text)
            .stdout_fn(|bytes| {
                std::future::ready({
                    show(Stream::Stdout, &bytes);
                    Ok(())
                })
            })
            .stderr_fn(|bytes| {
                std::future::ready({
                    show(Stream::Stderr, &bytes);
                    Ok(())
                })
            })
            .cancel_with(Arc::clone(&cancel.0))
            .await;
        drop(session);
        match done {
            Ok(done) => End::Exit(done.exit_code),
            Err(bashkit::Error::Cancelled) => End::Cancelled,
            Err(bashkit::Error::ResourceLimit(limit)) if is_lateness(&limit) => {
                if !matches!(limit, LimitExceeded::Timeout(_)) {
                    show(Stream::Stderr, format!("bash: stopped: {limit}\n").as_bytes());
                }
                End::TimedOut
            }
            Err(error) => {
                show(Stream::Stderr, format!("bash: {error}\n").as_bytes());
                End::Exit(if matches!(error, bashkit::Error::Parse { .. }) { 2 } else { 1 })
            }
        }
    }
}

fn limits(script: &Script<'_>) -> ExecutionLimits {
    let steps = script.steps_max;
    ExecutionLimits::new()
        .timeout(Duration::from_millis(script.timeout_ms))
        .max_commands(steps)
        .max_loop_iterations(steps)
        .max_total_loop_iterations(steps)
        .max_live_intermediate_bytes(BUFFERED_BYTES_MAX)
        // The receiver of the output limits it.
        .max_stdout_bytes(usize::MAX / 4)
        .max_stderr_bytes(usize::MAX / 4)
}

/// Returns whether a limit is one of time or steps, not of memory or nesting.
fn is_lateness(limit: &LimitExceeded) -> bool {
    matches!(
        limit,
        LimitExceeded::Timeout(_)
            | LimitExceeded::ParserTimeout(_)
            | LimitExceeded::ExecutionBudget(_)
            | LimitExceeded::MaxCommands(_)
            | LimitExceeded::MaxLoopIterations(_)
            | LimitExceeded::MaxTotalLoopIterations(_)
    )
}
