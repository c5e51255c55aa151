//! Starts a command on Unix: a shell that leads a session of its own, with a supervisor.

use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use emend_agent::environment::command::Command;
use emend_llm::Random as _;
use rustix::process::Pid;

use super::options::SpawnOptions;
use super::process_tree::{LimitMark, MARK, ProcessTree};
use super::sandbox::Sandbox;
use super::supervisor::Supervisor;
use super::watcher::Watcher;
use crate::clock::OsRandom;

/// Starts the command. Returns its supervisor, and a pipe end whose closing stops the command.
#[expect(unsafe_code, reason = "a new session can only be created between fork and exec")]
pub(super) fn start(options: SpawnOptions<'_>, command: &Command) -> io::Result<(Supervisor, PipeWriter)> {
    let (stdout, stdout_there) = io::pipe()?;
    let (stderr, stderr_there) = io::pipe()?;
    let (stop, stop_here) = io::pipe()?;
    for pipe in [&stdout, &stderr] {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    let own_mark = format!("{:016x}{:016x}", OsRandom.next_u64(), OsRandom.next_u64());
    // A command inside a command carries both marks, because it belongs to both.
    let outer = std::env::var(MARK).unwrap_or_default();
    let mark = format!("{outer} {own_mark} {}", options.mark.unwrap_or_default());
    let mut shell = std::process::Command::new(shell());
    shell
        .arg("-c")
        .arg(&command.command)
        .current_dir(options.root.join(command.working_dir.as_str()))
        .env_clear()
        .envs(options.variables)
        .envs(&command.env_vars)
        .env(MARK, mark.trim())
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
    // Taken before the command begins: a busy machine can return from `spawn` long after that.
    let began = Instant::now();
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
        began,
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

/// Returns whether the shell is bash.
#[cfg(feature = "shell")]
pub(super) fn is_bash() -> bool {
    shell().ends_with("bash")
}

/// Returns the path of the shell: bash if it is installed.
fn shell() -> &'static str {
    let found = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].into_iter().find(|path| Path::new(path).exists());
    found.unwrap_or("/bin/sh")
}
