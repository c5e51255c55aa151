//! `emend serve` as a program: a job over HTTP, the files on disk, kills and restarts, and `emend attach`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::served::{Api, Terminal};
use crate::support::{PATIENCE, Project};

pub(crate) const TOKEN: &str = "a-token-for-the-tests";

/// A running server; killed when it is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// Reads the log to its end: a full pipe would stop the server.
    log: Option<JoinHandle<String>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn start(project: &Project, options: &[&str]) -> Self {
        Self::start_with(project, options, &[])
    }

    pub(crate) fn start_with(project: &Project, options: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_at(project, "0", options, variables)
    }

    pub(crate) fn start_at(project: &Project, port: &str, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let model: &[&str] = if options.contains(&"--model") { &[] } else { &["--model", "offline"] };
        let args = [&["serve", "--port", port, "--log", "json"], model, options].concat();
        let mut command = project.command(&args);
        command.envs(variables.iter().copied());
        command.env("EMEND_TOKEN", TOKEN).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().trim_end_matches('/').rsplit("http://").next().unwrap().to_owned();
        assert!(line.starts_with("emend serves "), "{line}{}", read_rest(&mut child));
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { child, address, log: Some(log) }
    }

    /// Returns the address with the token, as `emend serve` prints it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/?token={TOKEN}", self.address)
    }

    /// Sends a request; returns status and body.
    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        Api::of(&self.url()).send(method, path, body)
    }

    pub(crate) fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        Api::of(&self.url()).ok(method, path, body)
    }

    /// Runs a job in a new session until it waits or ends; returns the session and the state of the job.
    pub(crate) fn run(&self, instruction: &str) -> (String, Value) {
        self.run_in(&json!({}), instruction)
    }

    /// The same in a session with these settings.
    pub(crate) fn run_in(&self, settings: &Value, instruction: &str) -> (String, Value) {
        let session = self.ok("POST", "/api/agent/sessions", settings);
        let session = session["session_id"].as_str().unwrap().to_owned();
        let body = json!({ "session_id": session, "instruction": instruction });
        let job = self.ok("POST", "/api/agent/run", &body)["job_id"].as_str().unwrap().to_owned();
        (session, self.wait(&job))
    }

    /// Waits until a job waits or ends.
    pub(crate) fn wait(&self, job: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let state = self.ok("GET", &format!("/api/agent/jobs/{job}"), &Value::Null);
            if !matches!(state["status"].as_str(), Some("queued" | "running")) {
                return state;
            }
            assert!(Instant::now() < until, "{state}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the server by Ctrl-C, so that it gives back what it holds of a shared database.
    pub(crate) fn stop(mut self) {
        self.signal(Signal::INT);
        let (status, log) = self.end();
        assert_eq!(status, Some(0), "{log}");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end; returns exit status and standard error.
    fn end(&mut self) -> (Option<i32>, String) {
        let log = self.log.take().unwrap().join().unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

fn read_rest(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.as_mut().unwrap().read_to_string(&mut text).unwrap();
    text
}

pub(crate) fn project() -> Project {
    Project::new(&[("notes.md", b"The colour of the sky.\nSecond line.\n"), ("other.md", b"one\n")])
}

pub(crate) const RENAME: &str = "rename colour to color in notes.md";

pub(crate) fn apply(session: &str, state: &Value) -> Value {
    let hunk = &state["diff_bundle"]["files"][0]["hunks"][0]["hunk_id"];
    assert!(hunk.is_string(), "{state}");
    json!({ "session_id": session, "job_id": state["job_id"], "accepted_hunk_ids": [hunk] })
}

#[test]
fn a_job_over_http_changes_the_disk_only_when_its_hunk_is_applied() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    let (session, state) = server.run(RENAME);
    assert_eq!(state["status"], "awaiting_review");
    assert_eq!(project.read("notes.md"), "The colour of the sky.\nSecond line.\n");
    // The other commands cannot change the project meanwhile, but read it.
    let busy = project.run(&["undo"]);
    assert_ne!(busy.status, 0, "{}", busy.stdout);
    let shown = project.run(&["review"]).assert_ok().stdout.clone();
    for part in ["-The colour of the sky.", "+The color of the sky.", "Read-only: "] {
        assert!(shown.contains(part), "{shown}");
    }
    server.ok("POST", "/api/agent/apply", &apply(&session, &state));
    assert_eq!(project.read("notes.md"), "The color of the sky.\nSecond line.\n");
    server.signal(Signal::INT);
    let (status, log) = server.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("stopping"), "{log}");
    assert!(!log.contains(TOKEN), "{log}");
    // Commands see the session and undo the job.
    assert!(project.run(&["sessions"]).assert_ok().stdout.contains(RENAME));
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.read("notes.md"), "The colour of the sky.\nSecond line.\n");
}

#[test]
fn a_killed_server_loses_no_pending_edit() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    let (session, state) = server.run(RENAME);
    assert_eq!(state["status"], "awaiting_review");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert_eq!(project.read("notes.md"), "The colour of the sky.\nSecond line.\n");
    let server = Server::start(&project, &[]);
    let path = format!("/api/agent/jobs/{}", state["job_id"].as_str().unwrap());
    let state = server.ok("GET", &path, &Value::Null);
    assert_eq!(state["status"], "awaiting_review");
    server.ok("POST", "/api/agent/apply", &apply(&session, &state));
    assert_eq!(project.read("notes.md"), "The color of the sky.\nSecond line.\n");
}

#[test]
fn kills_at_random_moments_leave_the_old_text_or_the_new_one() {
    let project = project();
    let old = "The colour of the sky.\nSecond line.\n";
    for ms in [0, 3, 9, 20, 40, 80] {
        let mut server = Server::start(&project, &[]);
        let session = server.ok("POST", "/api/agent/sessions", &json!({ "mode": "direct" }));
        let body = json!({ "session_id": session["session_id"], "instruction": RENAME });
        server.ok("POST", "/api/agent/run", &body);
        std::thread::sleep(Duration::from_millis(ms));
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        let after = project.read("notes.md");
        assert!(after == old || after == old.replace("colour", "color"), "{ms} ms: {after}");
        // An interrupted commit is completed or reverted by the next command, and an edit that was made can be undone.
        if project.run(&["checkpoints"]).assert_ok().stdout.contains("run ") || after != old {
            project.run(&["undo"]).assert_ok();
        }
        assert_eq!(project.read("notes.md"), old, "{ms} ms");
    }
}

#[test]
fn signals_stop_the_server_although_a_question_is_open() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    let session = server.ok("POST", "/api/agent/sessions", &json!({ "mode": "ask" }));
    let body = json!({ "session_id": session["session_id"], "instruction": RENAME });
    let job = server.ok("POST", "/api/agent/run", &body)["job_id"].as_str().unwrap().to_owned();
    assert_eq!(server.wait(&job)["status"], "waiting_for_user");
    server.signal(Signal::TERM);
    let (status, log) = server.end();
    assert_eq!(status, Some(143), "{log}");
    assert_eq!(project.read("notes.md"), "The colour of the sky.\nSecond line.\n");
}

#[test]
fn the_token_comes_from_a_file_or_is_printed_once() {
    let project = project();
    let file = project.path("token.txt");
    let file = file.to_str().unwrap();
    let mut server = Server::start(&project, &["--token-file", file]);
    // The file is stronger than the variable.
    assert_eq!(server.send("GET", "/api/agent/sessions", &Value::Null).0, 401);
    server.signal(Signal::INT);
    assert_eq!(server.end().0, Some(0));
    let token = project.read("token.txt");
    assert_eq!(token.trim().len(), 64);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let mut command = project.command(&["serve", "--port", "0", "--model", "offline"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines.take(4).map(Result::unwrap).collect();
    let token = lines[1].strip_prefix("token: ").unwrap();
    assert!(lines[3].contains(&format!("/?token={token}")), "{lines:?}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(!read_rest(&mut child).contains(token));
    child.wait().unwrap();
    for (name, value, expected) in [
        ("EMEND_TOKEN", "short", "EMEND_TOKEN: expected at least 16 letters"),
        ("EMEND_MAX_SESSIONS", "many", "EMEND_MAX_SESSIONS: expected a whole number"),
    ] {
        let failed = project.run_with(&["serve", "--port", "0", "--model", "offline"], &[(name, value)]);
        assert_eq!(failed.status, 3, "{}", failed.stderr);
        assert!(failed.stderr.contains(expected), "{}", failed.stderr);
    }
}

#[test]
fn models_of_sessions_are_checked_and_limits_come_from_files() {
    let project = Project::new(&[("a.txt", b"a\n"), (".emend.toml", b"[service]\nmax_sessions = 1\n")]);
    let server = Server::start(&project, &[]);
    let settings = server.ok("GET", "/api/agent/settings", &Value::Null);
    assert_eq!(settings["max_sessions"], 1);
    for model in ["cassette:/etc/passwd", "nonsense:x", "anthropic:claude-sonnet-5"] {
        let (status, reply) = server.send("POST", "/api/agent/sessions", &json!({ "model": model }));
        if status == 201 {
            let body = json!({ "session_id": reply["session_id"], "instruction": "x" });
            let (status, refused) = server.send("POST", "/api/agent/run", &body);
            let job = server.send(
                "GET",
                &format!("/api/agent/jobs/{}", refused["job_id"].as_str().unwrap_or("-")),
                &Value::Null,
            );
            assert!(status >= 400 || job.1["status"] != "completed", "{model}: {refused} {job:?}");
            server.send(
                "DELETE",
                &format!("/api/agent/sessions/{}", reply["session_id"].as_str().unwrap()),
                &Value::Null,
            );
        }
    }
    server.ok("POST", "/api/agent/sessions", &json!({}));
    assert_eq!(server.send("POST", "/api/agent/sessions", &json!({})).0, 429);
}

#[test]
fn two_terminals_join_one_session() {
    let project = project();
    let server = Server::start(&project, &[]);
    let mut first = Terminal::attach(&project, &server, &["--new"]);
    first.expect("/help lists the commands");
    let second = Terminal::attach(&project, &server, &[]);
    second.expect("/help lists the commands");
    first.type_line(RENAME);
    for terminal in [&first, &second] {
        terminal.expect(&format!("> {RENAME}"));
        terminal.expect("changes wait for review in notes.md; /review shows them");
    }
    second.leave();
    first.type_line("/accept");
    first.expect("/review shows the changes first");
    first.type_line("/review");
    first.expect("notes.md (");
    first.expect("-The colour of the sky.");
    first.expect("+The color of the sky.");
    first.type_line("/accept");
    first.expect("[completed]");
    assert_eq!(project.read("notes.md"), "The color of the sky.\nSecond line.\n");
    first.type_line("/review");
    first.expect("no change waits for review");
    // A later terminal sees the conversation.
    let third = Terminal::attach(&project, &server, &[]);
    third.expect(&format!("> {RENAME}"));
    third.leave();
    first.type_line("/nonsense");
    first.expect("there is no command /nonsense");
    first.leave();
}

#[test]
fn an_attached_terminal_shows_the_output_of_a_command_before_its_end() {
    let project = project();
    let server = Server::start(&project, &["--allow", "shell"]);
    server.ok("POST", "/api/agent/sessions", &json!({}));
    let mut terminal = Terminal::attach(&project, &server, &[]);
    terminal.type_line("run echo first; sleep 60");
    terminal.expect("[y]es, [n]o, [a]lways");
    terminal.type_line("y");
    terminal.expect("  │ first");
    terminal.type_line("/cancel");
    terminal.expect("[cancelled]");
    terminal.leave();
}

#[test]
fn an_attached_terminal_decides_on_a_tool_call() {
    let project = project();
    let server = Server::start(&project, &[]);
    server.ok("POST", "/api/agent/sessions", &json!({ "mode": "ask" }));
    let mut terminal = Terminal::attach(&project, &server, &[]);
    terminal.expect("(ask mode)");
    terminal.type_line(RENAME);
    terminal.expect("wants to make this change:");
    terminal.expect("+The color of the sky.");
    terminal.expect("[y]es, [n]o, [a]lways");
    // The request is state: a terminal that comes later sees it, too.
    let late = Terminal::attach(&project, &server, &[]);
    late.expect("[y]es, [n]o, [a]lways");
    late.leave();
    // Neither an unclear answer nor a command with a word that it does not know decides.
    terminal.type_line("/allow all");
    terminal.expect("/allow takes no argument");
    terminal.type_line("yes please");
    terminal.expect("[y]es, [n]o, [a]lways");
    terminal.type_line("not today");
    // The model tries again.
    terminal.expect("wants to make this change:");
    terminal.expect("[y]es, [n]o, [a]lways");
    assert!(project.read("notes.md").contains("colour"));
    terminal.type_line("y");
    terminal.expect("[completed]");
    assert_eq!(project.read("notes.md"), "The color of the sky.\nSecond line.\n");
    terminal.leave();
}

#[test]
fn the_trace_names_the_offline_model_as_its_own_provider() {
    let project = project();
    let server = Server::start_with(&project, &[], &[]);
    let session = server.ok("POST", "/api/agent/sessions", &json!({}));
    let body = json!({ "session_id": session["session_id"], "instruction": RENAME });
    let job = server.ok("POST", "/api/agent/run", &body)["job_id"].clone();
    let job = job.as_str().unwrap();
    assert_eq!(server.wait(job)["status"], "awaiting_review");
    let page = server.ok("GET", &format!("/api/agent/jobs/{job}/events?limit=5000"), &Value::Null);
    let events = page["events"].as_array().unwrap().iter();
    let of = |event: &Value| match event["type"].as_str().unwrap() {
        "provider.selected" => Some(event["data"]["provider"].clone()),
        "provider.step" => Some(event["data"]["raw_usage"]["provider"].clone()),
        _ => None,
    };
    let names: Vec<Value> = events.filter_map(of).collect();
    assert!(names.len() > 2 && names.iter().all(|name| name == "offline"), "{names:?}");
}

#[test]
fn the_trace_has_the_choice_of_the_router_with_its_reason() {
    let project = project();
    // Nothing listens on this port: a request to the first model would fail.
    let address = ("OPENAI_COMPATIBLE_BASE_URL", "http://127.0.0.1:1/v1");
    let variables = [address, ("EMEND_AGENT_MODE", "remote")];
    let server = Server::start_with(&project, &["--fallback-model", "offline"], &variables);
    let session = server.ok("POST", "/api/agent/sessions", &json!({ "model": "openai_compatible:m" }));
    let body = json!({ "session_id": session["session_id"], "instruction": RENAME });
    let job = server.ok("POST", "/api/agent/run", &body)["job_id"].clone();
    let state = server.wait(job.as_str().unwrap());
    assert_eq!(state["status"], "awaiting_review", "{state}");
    let trace = server.ok("GET", &format!("/api/agent/jobs/{}/trace", job.as_str().unwrap()), &Value::Null);
    let steps = trace["steps"].as_array().unwrap().iter().filter(|step| step["type"] == "provider.selected");
    let choices: Vec<&str> = steps.map(|step| step["summary"].as_str().unwrap()).collect();
    assert!(!choices.is_empty());
    assert!(
        choices.iter().all(|choice| choice.contains("local=false") && choice.contains("reason=mode")),
        "{choices:?}"
    );
}

#[test]
fn unsaved_edits_outlive_a_killed_server() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    let edit = json!({ "file_path": "other.md", "content": "one\ntwo\n", "save": false });
    assert_eq!(server.ok("POST", "/api/agent/user_edit", &edit)["unsaved"], true);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert_eq!(project.read("other.md"), "one\n");
    let server = Server::start(&project, &[]);
    assert_eq!(server.ok("GET", "/api/agent/review", &Value::Null)["unsaved"], json!(["other.md"]));
    let saved = server.ok("POST", "/api/agent/save", &json!({}));
    assert_eq!((&saved["saved"][0]["file_path"], &saved["unsaved"]), (&json!("other.md"), &json!([])));
    assert_eq!(project.read("other.md"), "one\ntwo\n");
}

#[test]
fn an_attached_terminal_changes_the_queue_and_saves() {
    let project = project();
    let server = Server::start(&project, &["--max-tokens", "50000"]);
    let session = server.ok("POST", "/api/agent/sessions", &json!({ "mode": "ask" }));
    assert_eq!(session["job_budget"]["tokens"], 50_000, "the limit of the settings holds for every job");
    let mut terminal = Terminal::attach(&project, &server, &[]);
    terminal.expect("(ask mode)");
    terminal.type_line("/queue");
    terminal.expect("no text waits");
    terminal.type_line(RENAME);
    terminal.expect("Allow? [y]es");
    for text in ["rename one to uno in other.md", "rename one to un in other.md"] {
        terminal.type_line(&format!("/next {text}"));
    }
    terminal.type_line("/queue drop 2");
    terminal.expect("1. rename one to uno in other.md");
    terminal.type_line("/queue edit 1 rename one to eins in other.md");
    terminal.expect("1. rename one to eins in other.md");
    let edit = json!({ "file_path": "other.md", "content": "one\nmine\n", "save": false });
    server.ok("POST", "/api/agent/user_edit", &edit);
    terminal.type_line("/status");
    terminal.expect("of 50000 tokens");
    terminal.expect("texts in the queue: 1");
    terminal.expect("unsaved: other.md");
    terminal.type_line("/save");
    terminal.expect("saved other.md");
    terminal.type_line("/undo");
    terminal.expect("undid your last edit or decision");
    assert_eq!(project.read("other.md"), "one\n");
    terminal.type_line("/queue send 9");
    terminal.type_line("/allow");
    terminal.expect("[completed]");
    terminal.expect("> rename one to eins in other.md");
    terminal.leave();
}

#[test]
fn an_attached_terminal_goes_back_to_before_a_job_and_comments_on_lines() {
    let project = project();
    let server = Server::start(&project, &[]);
    server.ok("POST", "/api/agent/sessions", &json!({ "mode": "direct" }));
    let mut terminal = Terminal::attach(&project, &server, &[]);
    terminal.type_line("/rewind");
    terminal.expect("there is no job to go back to");
    terminal.type_line(RENAME);
    terminal.expect("[completed]");
    let before = "The colour of the sky.\nSecond line.\n";
    let after = before.replace("colour", "color");
    assert_eq!(project.read("notes.md"), after);
    terminal.type_line("/rewind");
    terminal.expect(&format!("1. {RENAME} (completed)"));
    terminal.type_line("/rewind 1");
    terminal.expect("files would be changed back: notes.md");
    terminal.expect("/rewind 1 both does it");
    assert_eq!(project.read("notes.md"), after);
    terminal.type_line("/rewind 1 both");
    terminal.expect("files changed back: notes.md");
    terminal.expect(&format!("the message was: {RENAME}"));
    assert_eq!(project.read("notes.md"), before);
    terminal.type_line("/rewind undo");
    terminal.expect("files changed again: notes.md");
    assert_eq!(project.read("notes.md"), after);
    terminal.type_line("/comments");
    terminal.expect("there is no comment");
    terminal.type_line("/comment notes.md:2 too short");
    terminal.expect("1. notes.md:2: too short");
    terminal.type_line("/comment notes.md:9 nothing there");
    terminal.type_line("/comments");
    terminal.expect("1. notes.md:2: too short");
    terminal.type_line("/comments send");
    terminal.expect("too short");
    terminal.type_line("/comments drop 1");
    terminal.expect("there is no comment");
    terminal.leave();
}

#[test]
fn an_attached_terminal_decides_on_one_change_and_understands_every_argument() {
    let project = Project::new(&[("a.md", b"The colour.\n"), ("b.md", b"A colour.\n"), ("c d.md", b"colour\n")]);
    let server = Server::start(&project, &[]);
    let mut terminal = Terminal::attach(&project, &server, &["--new"]);
    terminal.expect("/help lists the commands");
    terminal.type_line("rename colour to color");
    terminal.expect("/review shows them");
    terminal.type_line("/review");
    for number in 1..=3 {
        terminal.expect(&format!("change {number}"));
    }
    for line in ["/accept foo", "/accept 4", "/reject 1 foo", "/accept 0"] {
        terminal.type_line(line);
        terminal.expect("is neither the number nor the file");
    }
    for line in ["/review 1", "/cancel job", "/status all", "/always 1", "/help accept", "/quit now"] {
        terminal.type_line(line);
        terminal.expect("takes no argument");
    }
    terminal.type_line("/next");
    terminal.expect("/next needs the text");
    assert_eq!(project.read("a.md"), "The colour.\n");
    terminal.type_line("/accept 1");
    terminal.expect("accepted 1 change; 2 changes left");
    assert_eq!((project.read("a.md"), project.read("b.md")), ("The color.\n".to_owned(), "A colour.\n".to_owned()));
    terminal.type_line("/accept 1");
    terminal.expect("is neither the number nor the file");
    terminal.type_line("/reject c d.md");
    terminal.expect("rejected 1 change; 1 change left");
    terminal.type_line("/accept");
    terminal.expect("accepted 1 change");
    assert_eq!((project.read("b.md"), project.read("c d.md")), ("A color.\n".to_owned(), "colour\n".to_owned()));
    terminal.leave();
}

#[test]
fn titles_of_clients_reach_a_pipe_without_control_characters() {
    let project = project();
    let server = Server::start(&project, &[]);
    server.ok("POST", "/api/agent/sessions", &json!({ "title": "red \u{1b}[31m\u{7}\nsecond" }));
    let terminal = Terminal::attach(&project, &server, &[]);
    terminal.expect("red \\u{1b}[31m\\u{7}\\nsecond");
    terminal.leave();
}

#[test]
fn the_number_of_streams_is_a_setting() {
    let project = project();
    for (options, variable, n_streams) in
        [(&["--max-streams", "2"][..], "9", 2), (&[][..], "1", 1), (&["--max-streams", "0"][..], "1", 0)]
    {
        let server = Server::start_with(&project, options, &[("EMEND_MAX_STREAMS", variable)]);
        let open = || {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let address = &server.address;
            write!(
                stream,
                "GET /api/agent/stream HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
            )
            .unwrap();
            let mut head = [0; 12];
            stream.read_exact(&mut head).unwrap();
            (String::from_utf8_lossy(&head[9..]).into_owned(), stream)
        };
        let opened: Vec<_> = (0..=n_streams).map(|_| open()).collect();
        let statuses: Vec<&str> = opened.iter().map(|(status, _)| status.as_str()).collect();
        assert_eq!(statuses.iter().filter(|status| **status == "200").count(), n_streams, "{statuses:?}");
        assert_eq!(statuses.last(), Some(&"429"));
    }
    let failed = project.run_with(&["serve", "--port", "0", "--model", "offline"], &[("EMEND_MAX_STREAMS", "many")]);
    assert_eq!(failed.status, 3, "{}", failed.stderr);
    assert!(failed.stderr.contains("EMEND_MAX_STREAMS: expected a whole number"), "{}", failed.stderr);
}
