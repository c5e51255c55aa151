//! The emulated shell for files in memory: connects `emend-shell` to [`MemFs`].
//!
//! Each command has a thread of its own, because a computing script never yields and would block its caller's executor. A
//! command changes the files directly, so its changes up to a cancellation stay.
//!
//! Rules about commands read lines with the same parser, in every environment.

use std::thread;
use std::time::Instant;

use emend_agent::approval::CommandLine;
use emend_agent::environment::command::{Capture, Command, ExecResult, OutputSink, OutputStream, TextStream};
use emend_agent::environment::memory::{CommandRunner, MemFs, RawEntry};
use emend_agent::environment::resolve::Node;
use emend_agent::environment::{EnvError, ExecutionEnvironment as _, FilePath};
use emend_llm::{BoxFuture, CancelToken};
use emend_shell::{Cancel, End, Entry, Files, FilesError, Kind, STEPS_MAX, Script, Stream, async_trait};
use futures::channel::{mpsc, oneshot};
use futures::future::{Either, select};
use futures::{FutureExt as _, StreamExt as _};

/// Stack size of a command's thread. The interpreter recurses with the nesting of the script.
const STACK_BYTES: usize = 16 << 20;
/// Upper limit of pieces of output that wait for the caller. Faster output is not shown live, but it is in the result.
const PIECES_MAX: usize = 256;

/// Runs commands over files in memory. Install it with `MemFs::with_shell(Shared::new(EmulatedShell::new()))`.
pub struct EmulatedShell {
    steps_max: usize,
}

impl EmulatedShell {
    /// Returns a shell with the default limit of steps, [`STEPS_MAX`].
    #[must_use]
    pub fn new() -> Self {
        Self { steps_max: STEPS_MAX }
    }

    /// Sets the limit of steps: a script that exceeds `steps_max` commands or loop iterations counts as timed out.
    #[must_use]
    pub fn with_steps_max(mut self, steps_max: usize) -> Self {
        self.steps_max = steps_max;
        self
    }
}

/// Returns the commands of a line as bash reads it.
pub(crate) fn read_as_bash(line: &str) -> Option<CommandLine> {
    CommandLine::decode(&emend_shell::read_command_line(line)?.encoded())
}

impl Default for EmulatedShell {
    fn default() -> Self {
        Self::new()
    }
}

impl CommandRunner for EmulatedShell {
    fn run<'a>(
        &'a self,
        files: MemFs,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        Box::pin(async move {
            let mut running = RunningScript::start(files, command.clone(), self.steps_max)?;
            let mut cancelled = cancel.cancelled().fuse();
            loop {
                match select(running.shown.next(), &mut cancelled).await {
                    Either::Left((Some((stream, text)), _)) => output.output(stream, &text),
                    Either::Left((None, _)) => break,
                    Either::Right(_) => running.stop(),
                }
            }
            let lost = || EnvError::Io {
                path: command.command.clone(),
                reason: "the shell's thread ended without a result".to_owned(),
            };
            (&mut running.result).await.map_err(|_| lost())
        })
    }

    fn read<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        Box::pin(std::future::ready(read_as_bash(line)))
    }
}

/// A running command. Dropping it cancels the command.
struct RunningScript {
    shown: mpsc::Receiver<(OutputStream, String)>,
    result: oneshot::Receiver<ExecResult>,
    cancel: Cancel,
    /// Ends a waiting script when it is dropped.
    waited_for: Option<oneshot::Sender<()>>,
}

impl RunningScript {
    fn start(files: MemFs, command: Command, steps_max: usize) -> Result<Self, EnvError> {
        let (shown_sender, shown) = mpsc::channel(PIECES_MAX);
        let (result_sender, result) = oneshot::channel();
        let (waited_for, given_up) = oneshot::channel();
        let cancel = Cancel::default();
        let stop = cancel.clone();
        let failed =
            |error: std::io::Error, command: &str| EnvError::Io { path: command.to_owned(), reason: error.to_string() };
        let text = command.command.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| failed(error, &text))?;
        let work = move || {
            let result = runtime.block_on(run(files, &command, steps_max, &stop, given_up, shown_sender));
            // The caller may be gone.
            let _ = result_sender.send(result);
        };
        thread::Builder::new()
            .name("emulated shell".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(work)
            .map_err(|error| failed(error, &text))?;
        Ok(Self { shown, result, cancel, waited_for: Some(waited_for) })
    }

    fn stop(&mut self) {
        self.cancel.cancel();
        self.waited_for = None;
    }
}

impl Drop for RunningScript {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(
    files: MemFs,
    command: &Command,
    steps_max: usize,
    cancel: &Cancel,
    given_up: oneshot::Receiver<()>,
    mut shown: mpsc::Sender<(OutputStream, String)>,
) -> ExecResult {
    let begun = Instant::now();
    let shell = emend_shell::Shell::new(MemFsFiles(files.handle()), &files.working_directory());
    let script = Script {
        text: &command.command,
        working_dir: command.working_dir.as_str(),
        env_vars: command.env_vars.clone(),
        timeout_ms: command.timeout_ms,
        steps_max,
    };
    let (mut out, mut err) = (CapturedStream::new(OutputStream::Stdout), CapturedStream::new(OutputStream::Stderr));
    let end = {
        let running = shell.run(script, cancel, |stream, bytes: &[u8]| {
            let captured = match stream {
                Stream::Stdout => &mut out,
                Stream::Stderr => &mut err,
            };
            // Output that is not taken in time is skipped.
            let _ = shown.try_send(captured.take(bytes));
        });
        match select(Box::pin(running), given_up).await {
            Either::Left((end, _)) => end,
            Either::Right(_) => End::Cancelled,
        }
    };
    ExecResult {
        n_bytes_dropped: out.capture.n_dropped() + err.capture.n_dropped(),
        stdout: out.capture.into_text(),
        stderr: err.capture.into_text(),
        // The status of a command that a signal ended (128 + SIGTERM).
        exit_code: match end {
            End::Exit(status) => status,
            End::TimedOut | End::Cancelled => 128 + 15,
        },
        timed_out: end == End::TimedOut,
        cancelled: end == End::Cancelled,
        n_left_behind: 0,
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

/// One output stream: its captured bytes and its decoder.
struct CapturedStream {
    stream: OutputStream,
    capture: Capture,
    text: TextStream,
}

impl CapturedStream {
    fn new(stream: OutputStream) -> Self {
        Self { stream, capture: Capture::new(Capture::BYTES_MAX), text: TextStream::default() }
    }

    fn take(&mut self, bytes: &[u8]) -> (OutputStream, String) {
        self.capture.push(bytes);
        (self.stream, self.text.push(bytes))
    }
}

/// Files in memory as the shell's storage.
struct MemFsFiles(MemFs);

fn clean(path: &str) -> Result<FilePath, FilesError> {
    FilePath::clean(path).ok_or(FilesError::NotFound)
}

fn refused(error: EnvError) -> FilesError {
    match error {
        EnvError::NotFound { .. } => FilesError::NotFound,
        EnvError::InvalidPath { reason, .. } => FilesError::InTheWay(reason),
        EnvError::QuotaExceeded { .. } => FilesError::Full(error.to_string()),
        error => FilesError::Failed(error.to_string()),
    }
}

fn entry(raw: &RawEntry) -> Entry {
    let kind = match raw.node {
        Node::Directory => Kind::Directory,
        Node::Link(_) => Kind::Link,
        _ => Kind::File,
    };
    Entry { kind, size: raw.size, modified_ms: raw.modified_ms }
}

#[async_trait]
impl Files for MemFsFiles {
    async fn entry(&self, path: &str) -> Result<Option<Entry>, FilesError> {
        Ok(self.0.raw_entry(&clean(path)?).as_ref().map(entry))
    }

    async fn entries(&self, path: &str) -> Result<Vec<(String, Entry)>, FilesError> {
        let entries = self.0.raw_entries(&clean(path)?).map_err(refused)?;
        Ok(entries.into_iter().map(|(name, raw)| (name, entry(&raw))).collect())
    }

    async fn read(&self, path: &str) -> Result<Vec<u8>, FilesError> {
        self.0.read(&clean(path)?).await.map_err(refused)
    }

    async fn write(&self, path: &str, content: &[u8]) -> Result<(), FilesError> {
        self.0.write(&clean(path)?, content).await.map_err(refused)
    }

    async fn make_directory(&self, path: &str) -> Result<(), FilesError> {
        self.0.raw_make(&clean(path)?, None).map_err(refused)
    }

    async fn make_link(&self, path: &str, target: &str) -> Result<(), FilesError> {
        self.0.raw_make(&clean(path)?, Some(target)).map_err(refused)
    }

    async fn read_link(&self, path: &str) -> Result<String, FilesError> {
        match self.0.raw_entry(&clean(path)?).map(|raw| raw.node) {
            Some(Node::Link(target)) => Ok(target),
            Some(_) => Err(FilesError::Failed("Invalid argument".to_owned())),
            None => Err(FilesError::NotFound),
        }
    }

    async fn remove(&self, path: &str, recursive: bool) -> Result<(), FilesError> {
        self.0.raw_remove(&clean(path)?, recursive).map_err(refused)
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), FilesError> {
        self.0.raw_rename(&clean(from)?, &clean(to)?).map_err(refused)
    }
}

#[cfg(test)]
mod tests;
