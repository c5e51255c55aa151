//! Commands on the far side: started, read and ended there by a script, watched here by a thread each.
//!
//! The script reports the end of a command after all output, when no process of it is left. A connection that breaks
//! before that is an error: the command may have done its work or not. The script notices the break and ends the command.

use std::io::{self, PipeReader, PipeWriter, Read, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use emend_agent::environment::EnvError;
use emend_agent::environment::command::{Capture, Command, ExecResult, OutputStream, TextStream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::far::{FarError, Runner};
use super::script::{encode, last_words, nonce, quote};
use crate::process::Channel;

/// The script of the far side.
const SUPERVISE: &str = include_str!("supervise.sh");

/// Time after the timeout in which the far side ends a command by itself, if the break of a connection is not noticed.
const FAR_LIMIT_EXTRA: Duration = Duration::from_secs(30);
/// Time for the far side to end all processes and to report it.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Time for output that is still under way after the report of the end.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
/// Most bytes of a report.
const REPORT_BYTES_MAX: usize = 100;

/// A running command of the far side.
pub(super) struct FarCommand {
    program: Child,
    line: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Closed at the other end when the command is cancelled or its caller is gone.
    stop: PipeReader,
    nonce: String,
    name: String,
    path: String,
    began: Instant,
    timeout: Duration,
}

/// Starts a command in the directory `root` and `working_dir` below it. Returns it with a pipe end whose closing stops it.
pub(super) fn start(runner: &dyn Runner, root: &str, command: &Command) -> Result<(FarCommand, PipeWriter), EnvError> {
    let at = |error: FarError| error.at(&command.working_dir);
    let failed = |error: io::Error| at(FarError::Other(format!("the command could not be started: {error}")));
    if command.command.contains('\0') {
        return Err(at(FarError::Unfit("the command holds a NUL character".to_owned())));
    }
    let nonce = nonce();
    let timeout = Duration::from_millis(command.timeout_ms);
    let directory = match (root, command.working_dir.as_str()) {
        (root, "") => root.to_owned(),
        ("/", path) => format!("/{path}"),
        (root, path) => format!("{root}/{path}"),
    };
    let is_name = |name: &str| {
        name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    let exports: String = command
        .env_vars
        .iter()
        .filter(|(name, value)| is_name(name) && !value.contains('\0'))
        .map(|(name, value)| format!("export {name}={}\n", quote(value)))
        .collect();
    let script = format!(
        "emend_mark={}\nemend_nonce={nonce}\nemend_directory={}\nemend_command={}\nemend_exports={}\nemend_limit={}\n{SUPERVISE}",
        super::script::nonce(),
        quote(&directory),
        quote(&command.command),
        quote(&exports),
        timeout.saturating_add(FAR_LIMIT_EXTRA).as_secs(),
    );
    let (stop, stop_here) = io::pipe().map_err(failed)?;
    let mut shell = runner.shell().map_err(at)?;
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = shell.spawn().map_err(failed)?;
    let (mut line, stdout, stderr) = (program.stdin.take(), program.stdout.take(), program.stderr.take());
    if let (Some(stdout), Some(stderr)) = (&stdout, &stderr) {
        rustix::io::ioctl_fionbio(stdout, true).map_err(|error| failed(error.into()))?;
        rustix::io::ioctl_fionbio(stderr, true).map_err(|error| failed(error.into()))?;
    }
    if let Some(line) = &mut line {
        // An error means that the program has ended, which the end of its output tells.
        let _ = line.write_all(encode(&script).as_bytes());
    }
    let command = FarCommand {
        program,
        line,
        stdout,
        stderr,
        stop,
        nonce,
        name: runner.name(),
        path: command.working_dir.to_string(),
        began: Instant::now(),
        timeout,
    };
    Ok((command, stop_here))
}

/// The report of the end on standard error.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    status: String,
    n_left: usize,
}

/// Finds the report at the end of standard error and passes on all bytes before it.
struct Reports {
    start: Vec<u8>,
    /// Bytes that may be the beginning of the report.
    held: Vec<u8>,
}

impl Reports {
    fn new(nonce: &str) -> Self {
        Self { start: format!("\u{1}{nonce} ").into_bytes(), held: Vec::new() }
    }

    /// Takes bytes. Returns those that are output, and the report if it is complete.
    fn push(&mut self, bytes: &[u8]) -> (Vec<u8>, Option<Report>) {
        self.held.extend_from_slice(bytes);
        let whole = self.held.windows(self.start.len()).position(|window| window == self.start);
        let at = whole.unwrap_or_else(|| {
            let from = self.held.len().saturating_sub(self.start.len() - 1);
            (from..self.held.len()).find(|&at| self.start.starts_with(&self.held[at..])).unwrap_or(self.held.len())
        });
        let rest = self.held.split_off(at);
        let output = std::mem::replace(&mut self.held, rest);
        if whole.is_none() {
            return (output, None);
        }
        let after = &self.held[self.start.len()..];
        let report = after.iter().position(|&byte| byte == 1).and_then(|end| {
            let (status, n_left) = std::str::from_utf8(&after[..end]).ok()?.split_once(' ')?;
            Some(Report { status: status.to_owned(), n_left: n_left.parse().ok()? })
        });
        // Nothing follows a report. A malformed one counts as missing.
        if report.is_some() || after.len() > REPORT_BYTES_MAX {
            self.held.clear();
        }
        (output, report)
    }

    /// Returns the held bytes at the end of the stream: they were output after all.
    fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// The phase of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The far side was told to end the command.
    Ending {
        since: Instant,
    },
    /// The far side has reported the end.
    Reported {
        since: Instant,
    },
}

/// One output stream.
struct Output {
    stream: OutputStream,
    capture: Capture,
    text: TextStream,
}

impl Output {
    fn new(stream: OutputStream) -> Self {
        Self { stream, capture: Capture::new(Capture::BYTES_MAX), text: TextStream::default() }
    }

    fn take(&mut self, bytes: &[u8], channel: &Channel) {
        self.capture.push(bytes);
        channel.show(self.stream, &self.text.push(bytes));
    }
}

impl FarCommand {
    /// Watches the command until no process of it is left.
    ///
    /// # Errors
    ///
    /// `Io` if the far side did not report the end.
    pub(super) fn run(mut self, channel: &Channel) -> Result<ExecResult, EnvError> {
        let (mut stdout, mut stderr) = (Output::new(OutputStream::Stdout), Output::new(OutputStream::Stderr));
        let mut reports = Reports::new(&self.nonce);
        let (mut phase, mut report) = (Phase::Running, None);
        let (mut stopped, mut timed_out, mut ended_at) = (false, false, None);
        loop {
            let stop = self.wait(phase);
            let ended = read(&mut self.stdout, |bytes| stdout.take(bytes, channel));
            let ended = read(&mut self.stderr, |bytes| {
                let (output, found) = reports.push(bytes);
                stderr.take(&output, channel);
                report = report.take().or(found);
            }) & ended;
            let now = Instant::now();
            if report.is_some() && !matches!(phase, Phase::Reported { .. }) {
                ended_at = Some(now);
                phase = Phase::Reported { since: now };
            }
            if ended {
                break;
            }
            match phase {
                Phase::Running if stop || now.duration_since(self.began) >= self.timeout => {
                    (stopped, timed_out) = (stop, !stop);
                    self.tell_end();
                    phase = Phase::Ending { since: now };
                }
                Phase::Ending { since } if now.duration_since(since) >= END_LIMIT => break,
                Phase::Reported { since } if now.duration_since(since) >= LAST_OUTPUT => break,
                _ => {}
            }
        }
        self.close();
        stderr.take(&reports.finish(), channel);
        let n_bytes_dropped = stdout.capture.n_dropped() + stderr.capture.n_dropped();
        let (stdout, stderr) = (stdout.capture.into_text(), stderr.capture.into_text());
        let Some(Report { status, n_left }) = report else {
            return Err(self.lost(&stderr));
        };
        let exit_code = status.parse().map_err(|_| self.refused(&status))?;
        let duration = ended_at.unwrap_or_else(Instant::now).duration_since(self.began);
        Ok(ExecResult {
            stdout,
            stderr,
            n_bytes_dropped,
            exit_code,
            timed_out,
            cancelled: stopped,
            n_left_behind: if stopped || timed_out { 0 } else { n_left },
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Tells the far side to end the command.
    fn tell_end(&mut self) {
        if let Some(line) = &mut self.line {
            // An error means that the program has ended.
            let _ = line.write_all(b"end\n");
        }
    }

    /// Ends the local program. The end of its input ends what is left on the far side.
    fn close(&mut self) {
        self.line = None;
        let _ = self.program.kill();
        let _ = self.program.wait();
    }

    fn lost(&self, said: &str) -> EnvError {
        let said = last_words(said.as_bytes());
        let reason = format!(
            "the connection to {} was lost while the command ran, so its end is unknown; the far side ends it: {said}",
            self.name
        );
        EnvError::Io { path: self.path.clone(), reason }
    }

    /// Returns the reason why the far side did not start the command.
    fn refused(&self, status: &str) -> EnvError {
        match status {
            "directory" => {
                FarError::Missing.at(&emend_agent::environment::FilePath::clean(&self.path).unwrap_or_default())
            }
            _ => EnvError::Unsupported { what: "a command (the far side needs `setsid` or perl)" },
        }
    }

    /// Waits for output, a stop request or the next limit. Returns whether the command must stop.
    fn wait(&self, phase: Phase) -> bool {
        let limit = match phase {
            Phase::Running => self.timeout.saturating_sub(self.began.elapsed()),
            Phase::Ending { since } => END_LIMIT.saturating_sub(since.elapsed()),
            Phase::Reported { since } => LAST_OUTPUT.saturating_sub(since.elapsed()),
        };
        let mut watched = vec![PollFd::new(&self.stop, PollFlags::IN)];
        watched.extend(self.stdout.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        watched.extend(self.stderr.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let seconds = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos().into() };
        // After a stop request its pipe stays readable, so it is polled only in the first phase.
        let from = usize::from(phase != Phase::Running);
        // An interrupted wait only ends early.
        let _ = poll(&mut watched[from..], Some(&timeout));
        from == 0 && !watched[0].revents().is_empty()
    }
}

/// Reads what a pipe holds. Returns whether it has ended.
fn read<P: Read>(pipe: &mut Option<P>, mut take: impl FnMut(&[u8])) -> bool {
    let Some(open) = pipe else { return true };
    let mut buffer = [0; 1 << 14];
    // Bounded, so that endless output of one pipe does not hide the other.
    for _ in 0..64 {
        match open.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                *pipe = None;
                return true;
            }
            Ok(n_bytes) => take(&buffer[..n_bytes]),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_found_in_any_pieces() {
        let whole = b"some output\x01ab\x01abc 143 2\x01";
        for size in 1..=whole.len() {
            let mut reports = Reports::new("abc");
            let (mut output, mut report) = (Vec::new(), None);
            for piece in whole.chunks(size) {
                let (more, found) = reports.push(piece);
                output.extend(more);
                report = report.or(found);
            }
            assert_eq!(output, b"some output\x01ab", "{size}");
            assert_eq!(report, Some(Report { status: "143".to_owned(), n_left: 2 }), "{size}");
        }
    }

    #[test]
    fn output_without_a_report_is_complete() {
        let mut reports = Reports::new("abc");
        let (mut output, report) = reports.push(b"text\x01ab");
        output.extend(reports.finish());
        assert_eq!((output.as_slice(), report), (&b"text\x01ab"[..], None));
    }
}
