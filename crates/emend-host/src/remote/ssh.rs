//! A connection to a host by the system's `ssh`: one connection carries the files and all commands.
//!
//! The process that carries the file protocol is also the master of the connection (`ControlMaster`). So the connection
//! ends with its standard input: a killed process leaves no connection behind. A connection that broke is made again at
//! the next call. `ssh` asks for no password, because the terminal belongs to the conversation.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use emend_llm::Random as _;
use openssh_sftp_client::error::Error as SftpError;
use openssh_sftp_client::{Sftp, SftpOptions};
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::far::{FarError, Runner};
use super::script::{BOOTSTRAP, last_words};
use crate::clock::OsRandom;

/// Options of every start of `ssh`. A connection without an answer for 15 seconds is lost.
const OPTIONS: [&str; 19] = [
    "-oBatchMode=yes",
    "-oConnectTimeout=20",
    "-oConnectionAttempts=1",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oTCPKeepAlive=yes",
    "-oControlPersist=no",
    "-oClearAllForwardings=yes",
    "-oForwardAgent=no",
    "-oForwardX11=no",
    "-oForwardX11Trusted=no",
    "-oGatewayPorts=no",
    "-oTunnel=no",
    "-oRequestTTY=no",
    "-oPermitLocalCommand=no",
    "-oRemoteCommand=none",
    "-oEscapeChar=none",
    "-oLogLevel=ERROR",
    "-x",
];

/// Time for the process of a broken connection to end by itself, so that its message can be shown.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The program `ssh` and options before all others.
#[derive(Clone, Debug)]
pub(crate) struct SshProgram {
    pub(crate) program: OsString,
    pub(crate) options: Vec<OsString>,
}

impl Default for SshProgram {
    fn default() -> Self {
        Self { program: "ssh".into(), options: Vec::new() }
    }
}

/// A host.
pub(super) struct Ssh {
    program: SshProgram,
    host: String,
    live: Mutex<Option<Arc<Live>>>,
    n_connections: AtomicU64,
    sockets: SocketDirectory,
    // Last, because the connection needs it while it is dropped.
    io: IoThread,
}

/// One connection.
struct Live {
    sftp: Option<Sftp>,
    /// The process of the connection.
    process: Mutex<Child>,
    said: Arc<Mutex<Vec<u8>>>,
    socket: PathBuf,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.sftp = None;
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = process.kill();
        let _ = process.wait();
        let _ = fs::remove_file(&self.socket);
    }
}

impl Live {
    fn has_ended(&self) -> bool {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(process.try_wait(), Ok(None))
    }

    /// Waits briefly for the end of the process, and returns its last message.
    fn last_words(&self) -> String {
        let since = Instant::now();
        while !self.has_ended() && since.elapsed() < LAST_WORDS {
            thread::sleep(Duration::from_millis(5));
        }
        // The thread that reads the message may be a moment behind.
        thread::sleep(Duration::from_millis(5));
        last_words(&self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ssh {
    pub(super) fn new(program: SshProgram, host: &str) -> Result<Self, FarError> {
        let failed = |error: std::io::Error| FarError::Other(format!("cannot prepare a connection: {error}"));
        Ok(Self {
            program,
            host: host.to_owned(),
            live: Mutex::default(),
            n_connections: AtomicU64::new(0),
            sockets: SocketDirectory::new().map_err(failed)?,
            io: IoThread::start().map_err(failed)?,
        })
    }

    /// Returns the user, the host and the port that the settings of `ssh` give for the host, as `user@host:port`.
    pub(super) fn address(&self) -> Result<String, FarError> {
        let mut ssh = self.command();
        ssh.arg("-G").arg("--").arg(&self.host).stdin(Stdio::null());
        let output = ssh.output().map_err(|error| self.not_started(&error))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let value = |name: &str| {
            printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or_default().to_owned()
        };
        let (user, host, port) = (value("user"), value("hostname"), value("port"));
        if host.is_empty() {
            return Err(FarError::Lost(format!("ssh does not know {}: {}", self.host, last_words(&output.stderr))));
        }
        Ok(format!("{user}@{host}:{port}"))
    }

    /// Calls `work` with the open file protocol.
    ///
    /// # Errors
    ///
    /// `Lost` if the connection breaks; the next call connects again.
    pub(super) fn call<T>(
        &self,
        work: impl AsyncFnOnce(&Sftp) -> Result<T, SftpError>,
    ) -> Result<Result<T, SftpError>, FarError> {
        let live = self.live()?;
        let Some(sftp) = &live.sftp else { return Err(FarError::Lost("the connection is closed".to_owned())) };
        match self.io.handle.block_on(work(sftp)) {
            Err(error) if is_lost(&error) => Err(self.lost(&live)),
            done => Ok(done),
        }
    }

    /// Returns the open connection; connects if there is none, or if it broke while nothing used it.
    fn live(&self) -> Result<Arc<Live>, FarError> {
        let mut slot = self.slot();
        if let Some(live) = slot.as_ref().filter(|live| !live.has_ended()) {
            return Ok(Arc::clone(live));
        }
        *slot = None;
        let live = Arc::new(self.connect()?);
        *slot = Some(Arc::clone(&live));
        Ok(live)
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lost(&self, live: &Arc<Live>) -> FarError {
        let said = live.last_words();
        let mut slot = self.slot();
        if slot.as_ref().is_some_and(|present| Arc::ptr_eq(present, live)) {
            *slot = None;
        }
        FarError::Lost(format!("the connection to {} was lost: {said}", self.host))
    }

    fn connect(&self) -> Result<Live, FarError> {
        let number = self.n_connections.fetch_add(1, Ordering::Relaxed);
        let socket = self.sockets.path.join(number.to_string());
        let mut ssh = self.command();
        ssh.arg("-oControlMaster=yes").arg("-S").arg(&socket).arg("-s").arg("--").arg(&self.host).arg("sftp");
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = ssh.spawn().map_err(|error| self.not_started(&error))?;
        let said = Arc::<Mutex<Vec<u8>>>::default();
        if let Some(stderr) = process.stderr.take() {
            let said = Arc::clone(&said);
            // It ends with the process.
            thread::spawn(move || keep_last(stderr, &said));
        }
        let pipes = (process.stdin.take(), process.stdout.take());
        let mut live = Live { sftp: None, process: Mutex::new(process), said, socket };
        let (Some(stdin), Some(stdout)) = pipes else {
            return Err(FarError::Other("no pipes to ssh".to_owned()));
        };
        let opened = self.io.handle.block_on(async {
            let stdin = pipe::Sender::from_owned_fd(stdin.into())?;
            let stdout = pipe::Receiver::from_owned_fd(stdout.into())?;
            // Requests are sent at once: the interval would be added to each of them.
            Sftp::new(stdin, stdout, SftpOptions::new().flush_interval(Duration::ZERO)).await
        });
        match opened {
            Ok(sftp) => {
                live.sftp = Some(sftp);
                Ok(live)
            }
            Err(_) => {
                let advice = format!("check that `ssh -o BatchMode=yes {} true` works", self.host);
                Err(FarError::Lost(format!("cannot connect to {}: {}; {advice}", self.host, live.last_words())))
            }
        }
    }

    /// Returns the program with the options of every start.
    fn command(&self) -> Command {
        let mut ssh = Command::new(&self.program.program);
        ssh.args(&self.program.options).args(OPTIONS);
        // Signals of the terminal go to the group in the foreground.
        ssh.process_group(0);
        ssh
    }

    fn not_started(&self, error: &std::io::Error) -> FarError {
        let program = self.program.program.to_string_lossy();
        FarError::Lost(format!("cannot start {program}: {error}; install the OpenSSH client"))
    }

    /// Returns the process that carries the connection, for tests that kill it.
    #[cfg(test)]
    pub(super) fn process(&self) -> Option<u32> {
        self.slot().as_ref().map(|live| live.process.lock().unwrap_or_else(PoisonError::into_inner).id())
    }
}

impl Runner for Ssh {
    fn shell(&self) -> Result<Command, FarError> {
        let live = self.live()?;
        let mut ssh = self.command();
        ssh.arg("-oControlMaster=no").arg("-S").arg(&live.socket).arg("--").arg(&self.host);
        ssh.arg(format!("exec /bin/sh -c '{BOOTSTRAP}'"));
        Ok(ssh)
    }

    fn name(&self) -> String {
        self.host.clone()
    }
}

/// Returns whether an error is not the answer of the server.
fn is_lost(error: &SftpError) -> bool {
    !matches!(error, SftpError::SftpError(..) | SftpError::UnsupportedExtension(_))
}

/// Keeps the end of a stream.
fn keep_last(mut stream: impl std::io::Read, said: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(n_bytes @ 1..) = stream.read(&mut buffer) {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&buffer[..n_bytes]);
        let n_over = said.len().saturating_sub(4 * buffer.len());
        said.drain(..n_over);
    }
}

/// The directory of the sockets of connections, for this user alone. Its path is short, because that of a socket is
/// limited.
struct SocketDirectory {
    path: PathBuf,
}

impl SocketDirectory {
    fn new() -> std::io::Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let above = runtime.filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir);
        let above = if above.as_os_str().len() > 60 { Path::new("/tmp").to_owned() } else { above };
        let path = above.join(format!("emend-{:016x}", OsRandom.next_u64()));
        // Fails if the name is taken.
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A thread that moves the bytes of the file protocol, so that the callers need no runtime.
struct IoThread {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl IoThread {
    fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let work = move || drop(runtime.block_on(stopped));
        let thread = thread::Builder::new().name("emend-remote".to_owned()).spawn(work)?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
