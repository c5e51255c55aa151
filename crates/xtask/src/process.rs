//! Runs other programs with a time limit; their output is shown, returned or written to a log.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process_tree;
use crate::progress::say;

/// Interval between two checks of a running program.
const POLL: Duration = Duration::from_millis(40);

/// Longest time for the mutants of an area, of which each is built and tested by itself.
pub(crate) const LONG_LIMIT: Duration = Duration::from_secs(12 * 60 * 60);

/// Returns a command that runs in `folder`.
///
/// `cargo xtask` sets environment variables that describe this crate. They are removed, so that builds and compilers
/// started from here do not take them for their own.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let foreign = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|prefix| text.starts_with(prefix))
            || matches!(&*text, "CARGO" | "CARGO_CRATE_NAME" | "LD_LIBRARY_PATH");
        if foreign {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end with the output on the terminal.
///
/// # Errors
/// The program does not start or does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| shown(command))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Returns the standard output of a command.
///
/// # Errors
/// The program does not start or does not succeed; the error holds its standard error.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| shown(command))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", shown(command), output.status, stderr.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The result of a logged program.
pub(crate) struct Logged {
    /// The program ended by itself with status 0.
    pub(crate) success: bool,
    /// Standard output and standard error, in the order of the writes.
    pub(crate) text: String,
}

/// Bounds of a program.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The program and its processes are killed after this time.
    pub(crate) whole: Duration,
    /// After this time without output, the processes of its processes are killed: a test that waits for one of them
    /// fails by name, and the tests after it run.
    pub(crate) silence: Duration,
}

impl Limits {
    /// A bound for the whole time alone.
    pub(crate) const fn whole(whole: Duration) -> Self {
        Self { whole, silence: whole }
    }
}

/// Runs a command with both outputs written to the file `log`; shows each line for which `show` returns true.
///
/// A program that exceeds a limit is described in the log, with its processes. The output goes through a file because
/// children of the program may outlive it and would keep a pipe open.
pub(crate) fn logged(
    command: &mut Command,
    log: &Path,
    limits: Limits,
    mut show: impl FnMut(&str) -> bool,
) -> Result<Logged> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let file = File::create(log).with_context(|| log.display().to_string())?;
    command.stdout(file.try_clone()?).stderr(file);
    let mut reader = File::open(log).with_context(|| log.display().to_string())?;
    let mut child = command.spawn().with_context(|| shown(command))?;
    let mut seen = Seen::default();
    let mut last_output = Instant::now();
    let mut notes = String::new();
    let id = child.id();
    let status = wait(&mut child, limits.whole, || {
        let n_bytes = seen.bytes.len();
        seen.read_on(&mut reader, &mut show)?;
        if seen.bytes.len() > n_bytes {
            last_output = Instant::now();
        } else if last_output.elapsed() > limits.silence {
            let running = process_tree::below(id);
            notes.push_str(&format!("\nno output for {} s; ", limits.silence.as_secs()));
            notes.push_str(&format!("killed below its children:\n{}", process_tree::shown(&running)));
            process_tree::kill(running.iter().filter(|process| process.depth > 0));
            last_output = Instant::now();
        }
        Ok(())
    })?;
    seen.read_on(&mut reader, &mut show)?;
    let mut text = String::from_utf8_lossy(&seen.bytes).into_owned();
    if let Ended::Killed(running) = &status {
        notes.push_str(&format!("\nkilled after {} s, with\n{running}", limits.whole.as_secs()));
    }
    if !notes.is_empty() {
        text.push_str(&notes);
        std::fs::write(log, &text).with_context(|| log.display().to_string())?;
    }
    let status = status.by_itself();
    Ok(Logged { success: status.is_some_and(|status| status.success()), text })
}

/// Runs a command silently; returns false if the program fails, is missing, or exceeds `limit`.
pub(crate) fn succeeds(command: &mut Command, limit: Duration) -> bool {
    let Ok(mut child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        return false;
    };
    matches!(wait(&mut child, limit, || Ok(())), Ok(Ended::ByItself(status)) if status.success())
}

/// The end of a program.
enum Ended {
    ByItself(ExitStatus),
    /// Killed with the processes that it had started, which are listed.
    Killed(String),
}

impl Ended {
    fn by_itself(&self) -> Option<ExitStatus> {
        match self {
            Self::ByItself(status) => Some(*status),
            Self::Killed(_) => None,
        }
    }
}

/// Waits for `child` and calls `meanwhile` at each interval.
fn wait(child: &mut Child, limit: Duration, mut meanwhile: impl FnMut() -> Result<()>) -> Result<Ended> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::ByItself(status));
        }
        if started.elapsed() > limit {
            let running = process_tree::below(child.id());
            child.kill()?;
            process_tree::kill(&running);
            child.wait()?;
            return Ok(Ended::Killed(process_tree::shown(&running)));
        }
        meanwhile()?;
        sleep(POLL);
    }
}

/// The part of a log that has been read and shown.
#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    shown: usize,
}

impl Seen {
    fn read_on(&mut self, reader: &mut File, show: &mut impl FnMut(&str) -> bool) -> Result<()> {
        reader.seek(SeekFrom::Start(self.bytes.len() as u64))?;
        reader.read_to_end(&mut self.bytes)?;
        while let Some(length) = self.bytes[self.shown..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.bytes[self.shown..self.shown + length]);
            if show(&line) {
                say!("  {line}");
            }
            self.shown += length + 1;
        }
        Ok(())
    }
}

/// Formats the command line as a user would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Finds a program on PATH.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits::whole(Duration::from_secs(20));

    fn shell(script: &str) -> Command {
        let mut shell = command("sh", Path::new("/"));
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn both_outputs_reach_the_log_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("logs/step.log");
        let mut seen = Vec::new();
        let output = logged(&mut shell("echo one; echo two >&2; printf three; exit 3"), &log, LIMITS, |line| {
            seen.push(line.to_owned());
            false
        });
        let output = output.unwrap();
        assert!(!output.success);
        assert_eq!(output.text, "one\ntwo\nthree");
        assert_eq!(std::fs::read_to_string(log).unwrap(), output.text);
        assert_eq!(seen, ["one", "two"]);
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let output =
            logged(&mut shell("echo begun; sleep 60 & wait"), &log, Limits::whole(Duration::from_millis(200)), |_| {
                false
            })
            .unwrap();
        assert!(!output.success);
        assert!(output.text.starts_with("begun\n") && output.text.contains("killed after"), "{}", output.text);
        if cfg!(target_os = "linux") {
            assert!(output.text.ends_with("S sleep 60\n"), "{}", output.text);
        }
        assert!(!succeeds(&mut shell("exec sleep 60"), Duration::from_millis(200)));
        assert!(succeeds(&mut shell("exit 0"), Duration::from_secs(20)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_silent_child_waits_for_is_ended_and_the_rest_runs() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { silence: Duration::from_millis(300), ..LIMITS };
        let script = "sh -c 'sleep 61 || echo failed; echo next'; echo done; exit 1";
        let output = logged(&mut shell(script), &folder.path().join("log"), limits, |_| false).unwrap();
        // The shell may say by itself that its child was killed.
        let lines: Vec<&str> = output.text.lines().filter(|line| !line.contains("Killed")).collect();
        assert_eq!(lines[..3], ["failed", "next", "done"], "{}", output.text);
        assert!(output.text.contains("no output for 0 s; ") && output.text.contains("S sleep 61"), "{}", output.text);
    }

    #[test]
    fn a_failure_carries_the_programs_own_words() {
        let error = stdout_of(&mut shell("echo no room >&2; exit 1")).unwrap_err().to_string();
        assert!(error.contains("no room") && error.contains("exit status: 1"), "{error}");
        assert_eq!(stdout_of(&mut shell("echo fine; echo noise >&2")).unwrap(), "fine\n");
    }
}
