//! Shared by the tests: a project in a temporary directory, the built binary, and fake providers.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryIter, channel};
use std::thread;
use std::time::Duration;

use emend_tests::http::read_request;
use serde_json::{Value, json};

/// Gives the programs that tests start the default dispositions of signals, even if `nohup` or a shell's `&` made this
/// process ignore some of them.
///
/// A program inherits ignored signals, while a caught signal gets its default disposition in a new program. So this
/// process catches the signals that it ignores, which changes nothing for itself.
#[cfg(target_os = "linux")]
fn restore_default_signals() {
    use rustix::process::Signal;
    use tokio::signal::unix::{SignalKind, signal};
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let _context = runtime.enter();
        for kind in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::TSTP].map(Signal::as_raw) {
            if mask >> (kind - 1) & 1 == 1 {
                drop(signal(SignalKind::from_raw(kind)).unwrap());
            }
        }
    });
}

/// A project and its state directory. Both are removed when it is dropped.
pub(crate) struct Project {
    pub(crate) root: tempfile::TempDir,
    state: tempfile::TempDir,
    /// ID of the user who runs the program, `None` for the user who runs the tests.
    user: Option<u32>,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        Self::below(&std::env::temp_dir(), files)
    }

    /// Creates a project in memory if the system supports it, since syncing many files to disk is slow.
    #[cfg(unix)]
    pub(crate) fn in_memory(files: &[(&str, &[u8])]) -> Self {
        let memory = PathBuf::from("/dev/shm");
        let has_memory = tempfile::tempdir_in(&memory).is_ok();
        Self::below(&if has_memory { memory } else { std::env::temp_dir() }, files)
    }

    fn below(directory: &Path, files: &[(&str, &[u8])]) -> Self {
        #[cfg(target_os = "linux")]
        restore_default_signals();
        let make = || tempfile::tempdir_in(directory).unwrap();
        let project = Self { root: make(), state: make(), user: None };
        for (path, content) in files {
            let path = project.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        project
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Returns the state directory.
    #[cfg(unix)]
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.path(path)).unwrap()).unwrap()
    }

    /// Returns the program with this project's state directory, without API keys and settings.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_emend"));
        command.args(args).current_dir(self.root.path()).env("XDG_STATE_HOME", self.state.path());
        // Settings and terminal of the user who runs the tests must not have an effect.
        command.env("XDG_CONFIG_HOME", self.state.path().join("config")).env("COLUMNS", "100");
        for name in ["CI", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("EMEND_") {
                command.env_remove(name);
            }
        }
        for provider in ["ANTHROPIC", "OPENAI", "OPENAI_COMPATIBLE", "GEMINI", "GOOGLE"] {
            command.env_remove(format!("{provider}_API_KEY")).env_remove(format!("{provider}_BASE_URL"));
        }
        #[cfg(unix)]
        if let Some(user) = self.user {
            std::os::unix::process::CommandExt::uid(&mut command, user);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Outcome {
        Outcome::of(self.command(args).output().unwrap())
    }

    /// Runs the program with these environment variables.
    pub(crate) fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Outcome {
        Outcome::of(self.command(args).envs(variables.iter().copied()).output().unwrap())
    }

    /// Runs a task with a model that makes these tool calls, and returns its events with their results.
    pub(crate) fn run_calls(&self, calls: &[(&str, Value)], options: &[&str]) -> Outcome {
        let mut command = self.command(&["run", "go", "--json", "--model", "openai_compatible:m"]);
        Outcome::of(command.args(options).env("OPENAI_COMPATIBLE_BASE_URL", scripted(calls)).output().unwrap())
    }

    /// Returns whether no command has written to the state directory.
    pub(crate) fn state_is_untouched(&self) -> bool {
        fs::read_dir(self.state.path()).unwrap().count() == 0
    }

    /// Returns whether an unfinished commit exists.
    #[cfg(unix)]
    pub(crate) fn has_journal(&self) -> bool {
        let projects = fs::read_dir(self.state.path().join("emend")).unwrap();
        projects.into_iter().any(|project| project.unwrap().path().join("commit.json").exists())
    }

    /// Returns the documents in the state of the project, without its conversations.
    pub(crate) fn documents(&self) -> Vec<(std::ffi::OsString, Vec<u8>)> {
        let projects = fs::read_dir(self.state.path().join("emend")).unwrap();
        let entries = projects.filter_map(|project| fs::read_dir(project.unwrap().path()).ok()).flatten();
        let files = entries.map(|entry| entry.unwrap()).filter(|entry| entry.file_type().unwrap().is_file());
        let mut documents: Vec<_> = files.map(|file| (file.file_name(), fs::read(file.path()).unwrap())).collect();
        documents.sort();
        documents
    }

    /// Remembers that the user trusts the project, unless another process uses it.
    #[cfg(target_os = "linux")]
    pub(crate) fn trust(&self) {
        let state = emend_host::StateDir::open_in(&self.state.path().join("emend"), self.root.path());
        if let Ok(state) = state {
            state.save("trust", &true).unwrap();
        }
    }

    /// Locks the project like another running program.
    pub(crate) fn lock(&self) -> emend_host::StateDir {
        emend_host::StateDir::open_in(&self.state.path().join("emend"), self.root.path()).unwrap()
    }

    /// Gives the project to an unprivileged user who then runs the program. Returns whether that works.
    #[cfg(unix)]
    pub(crate) fn give_to_nobody(&mut self) -> bool {
        const NOBODY: u32 = 65_534;
        for directory in [self.root.path(), self.state.path()] {
            give_away(directory, NOBODY);
        }
        self.user = Some(NOBODY);
        self.command(&["--version"]).output().is_ok_and(|output| output.status.success())
    }

    /// Returns every file of the project with its bytes.
    pub(crate) fn tree(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        collect(self.root.path(), self.root.path(), &mut files);
        files.sort();
        files
    }
}

#[cfg(unix)]
fn give_away(path: &Path, user: u32) {
    std::os::unix::fs::chown(path, Some(user), None).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give_away(&entry.unwrap().path(), user));
    }
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.push((path.strip_prefix(root).unwrap().display().to_string(), fs::read(&path).unwrap()));
        }
    }
}

/// The output and exit status of a command.
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn assert_ok(&self) -> &Self {
        assert_eq!(self.status, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// Time limit for an expected output or request.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The requests that a server has received.
pub(crate) struct Requests<T = String>(Receiver<T>);

impl<T> Requests<T> {
    /// Waits for the next request.
    ///
    /// # Errors
    /// None arrives in time: the program has ended, or waits for something else.
    pub(crate) fn recv(&self) -> Result<T, RecvTimeoutError> {
        self.0.recv_timeout(PATIENCE)
    }

    /// Returns the requests that have arrived.
    pub(crate) fn try_iter(&self) -> TryIter<'_, T> {
        self.0.try_iter()
    }
}

/// Serves `answer` for every request on a local port, and returns the URL.
pub(crate) fn serve(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            read_request(&mut stream);
            // The client may close the connection first.
            let _ = stream.write_all(answer);
        }
    });
    address
}

/// Serves the same response for every request. Returns the URL and the requests.
pub(crate) fn answer(answer: String) -> (String, Requests) {
    answer_each(move |_| answer.clone())
}

/// Serves a response that depends on the request. Returns the URL and the requests.
pub(crate) fn answer_each(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let request = read_request(&mut stream).unwrap_or_default();
            let _ = stream.write_all(answer(&request).as_bytes());
            // Not every test reads the requests.
            let _ = sender.send(request);
        }
    });
    (address, Requests(receiver))
}

/// Starts a response to every request and never completes it. Returns the URL and a message for each request.
pub(crate) fn stall(beginning: &'static [u8]) -> (String, Requests<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            read_request(&mut stream);
            stream.write_all(beginning).unwrap();
            open.push(stream);
            sender.send(()).unwrap();
        }
    });
    (address, Requests(receiver))
}

/// Serves a model of the Chat Completions API that makes these tool calls, and then says "Done.". Returns the URL for
/// `OPENAI_COMPATIBLE_BASE_URL`.
pub(crate) fn scripted(calls: &[(&str, Value)]) -> String {
    scripted_when(calls, |_| ())
}

/// Serves a model as [`scripted`] does. Its responses wait until a file exists.
#[cfg(unix)]
pub(crate) fn gated(gate: PathBuf, calls: &[(&str, Value)]) -> String {
    scripted_when(calls, move |_| {
        while !gate.exists() {
            thread::sleep(Duration::from_millis(5));
        }
    })
}

/// Serves a model as [`scripted`] does. It calls `wait` with each request before it responds.
pub(crate) fn scripted_when(calls: &[(&str, Value)], wait: impl Fn(&str) + Send + 'static) -> String {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function })
    });
    let calls = json!({ "tool_calls": calls.collect::<Vec<_>>() });
    let body = |delta: Value, reason: &str| {
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        format!("{head}data: {chunk}\n\ndata: [DONE]\n\n")
    };
    let (first, last) = (body(calls, "tool_calls"), body(json!({ "content": "Done." }), "stop"));
    let (url, _requests) = answer_each(move |request| {
        wait(request);
        if request.contains("tool_call_id") { last.clone() } else { first.clone() }
    });
    url
}

/// Names the items of `tests/it/agent_checklist.txt` that the running test covers.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}
