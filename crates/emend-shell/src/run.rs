//! Running one script to its end, within limits.
//!
//! A script that computes without ever waiting cannot be interrupted by a timer: nothing else runs meanwhile, in a page
//! least of all. So there is a limit of steps too, and whoever passes it is told what one whose time is up is told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashkit::{Bash, ExecutionLimits, InMemoryFs, LimitExceeded, MountableFs, PosixFs, SessionLimits};

use crate::files::{Bridge, Files};

/// The most commands, and rounds of loops, of one script.
pub const STEPS_MAX: usize = 100_000;

/// Memory that a script may hold in buffers between its commands.
const BUFFERED_BYTES_MAX: u64 = 64 << 20;

/// A script and how it is run.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    /// What the shell is given, as one would type it.
    pub text: &'a str,
    /// Where it runs: a path below the root, empty for the root.
    pub working_dir: &'a str,
    /// Variables beside `HOME`, `PATH` and the like.
    pub env_vars: BTreeMap<String, String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// How many commands it may run, and rounds of loops it may go through.
    pub steps_max: usize,
}

impl Default for Script<'_> {
    /// Nothing, in the root, with ten seconds.
    fn default() -> Self {
        Self { text: "", working_dir: "", env_vars: BTreeMap::new(), timeout_ms: 10_000, steps_max: STEPS_MAX }
    }
}

/// How a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Exit(i32),
    /// Its time was up, or its steps were.
    TimedOut,
    /// [`Cancel::cancel`] was called.
    Cancelled,
}

/// Which of its outputs a script wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Stops a script before its next command. One that waits is stopped by dropping its future.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks for the end. It cannot be taken back.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A shell over a tree of files. Scripts share the files and nothing else: each begins with fresh variables.
pub struct Shell {
    files: Arc<MountableFs>,
    root: String,
}

impl Shell {
    /// Returns a shell in which `files` stand at `root`, an absolute path.
    #[must_use]
    pub fn new(files: impl Files + 'static, root: &str) -> Self {
        let mounts = MountableFs::new(Arc::new(InMemoryFs::new()));
        // Only a path that is not absolute is refused.
        let root = if root.starts_with('/') { root.to_owned() } else { format!("/{root}") };
        let _ = mounts.mount(&root, Arc::new(PosixFs::new(Bridge(files))));
        Self { files: Arc::new(mounts), root }
    }

    /// Runs a script to its end and hands what it prints to `output`, as bytes that come. Needs a `tokio` runtime with
    /// time, or a page.
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
        // Who takes the output bounds it.
        .max_stdout_bytes(usize::MAX / 4)
        .max_stderr_bytes(usize::MAX / 4)
}

/// Returns whether a script was stopped for what it took to run, not for what it did.
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
