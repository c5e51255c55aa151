//! `emend-conformance` with a fake provider: AttractorBench's 19 checks of an agent's loop, by their names.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use emend_tests::http::{read_request, say};
use serde_json::{Value, json};

/// Returns the HTTP response of a provider that streams these events.
fn stream(events: &[Value]) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    head.to_owned() + &events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>()
}

fn anthropic(block: Value, delta: Value, stop_reason: &str) -> String {
    stream(&[
        json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ])
}

/// Returns a greeting in the wire format of the requested provider.
fn hello(request: &str) -> String {
    const TEXT: &str = "Hello from there.";
    match request.split(' ').nth(1).unwrap_or_default() {
        path if path.ends_with("/v1/messages") => {
            anthropic(json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": TEXT}), "end_turn")
        }
        path if path.ends_with("/v1/responses") => stream(&[
            json!({"type": "response.created", "response": {"id": "r"}}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m",
                "role": "assistant", "content": []}}),
            json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": TEXT}),
            json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}),
        ]),
        path if path.contains("GenerateContent") => stream(&[json!({"candidates": [{"content": {"role": "model",
            "parts": [{"text": TEXT}]}, "finishReason": "STOP"}]})]),
        path => panic!("unknown path {path}"),
    }
}

/// Names the items of `tests/it/agent_checklist.txt` that the running test covers.
fn covers(items: &str) {
    println!("covers: {items}");
}

/// A directory to work in, and a fake provider at the addresses of all three families.
struct Bench {
    directory: tempfile::TempDir,
    url: String,
    requests: Receiver<String>,
}

impl Bench {
    fn new(answer: impl Fn(&str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read_request(&mut stream).unwrap_or_default();
                say(&mut stream, answer(&request));
                // Not every test reads the requests.
                let _ = sender.send(request);
            }
        });
        Self { directory: tempfile::tempdir().unwrap(), url, requests }
    }

    /// Runs a command as the bench does, with the environment variables of these families. Returns the exit status and
    /// the lines of standard output.
    fn run_with(&self, families: &[&str], name: &str, input: &Value) -> (i32, Vec<Value>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_emend-conformance"));
        command.arg(name).current_dir(self.directory.path());
        for provider in ["ANTHROPIC", "OPENAI", "OPENAI_COMPATIBLE", "GEMINI", "GOOGLE"] {
            command.env_remove(format!("{provider}_API_KEY")).env_remove(format!("{provider}_BASE_URL"));
        }
        for family in families {
            let version = if *family == "OPENAI" { "/v1" } else { "" };
            command.env(format!("{family}_API_KEY"), "test-key");
            command.env(format!("{family}_BASE_URL"), format!("{}{version}", self.url));
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Commands that read nothing may have closed it.
        let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let lines = stdout.lines().map(|line| serde_json::from_str(line).unwrap());
        (output.status.code().unwrap(), lines.collect())
    }

    fn run(&self, name: &str, input: &Value) -> (i32, Vec<Value>) {
        self.run_with(&["ANTHROPIC", "OPENAI", "GEMINI"], name, input)
    }

    /// Runs a command that has to succeed and to print one JSON object.
    #[track_caller]
    fn one(&self, name: &str, input: &Value) -> Value {
        let (status, mut lines) = self.run(name, input);
        assert_eq!((status, lines.len()), (0, 1), "{lines:?}");
        lines.remove(0)
    }

    /// Returns the requests so far.
    fn asked(&self) -> Vec<String> {
        self.requests.try_iter().filter(|request| request.starts_with("POST ")).collect()
    }
}

#[test]
fn a_session_is_made() {
    covers("cli.conformance");
    let bench = Bench::new(hello);
    // session_create, session_create_format
    let made = bench.one("session-create", &Value::Null);
    assert_eq!(made["session_id"].as_str().unwrap().len(), 36, "{made}");
    assert_eq!((&made["status"], &made["profile"]), (&json!("created"), &json!("anthropic")));
    assert!(bench.asked().is_empty());
    // Without an API key there is no provider.
    let (status, lines) = bench.run_with(&[], "session-create", &Value::Null);
    assert_eq!((status, lines.len()), (3, 0));
}

#[test]
fn input_is_processed() {
    covers("cli.conformance");
    let bench = Bench::new(hello);
    let task = json!({"prompt": "Create a file called hello.py that prints Hello World"});
    // process_input, process_input_calls_llm, process_input_natural_end
    for family in ["ANTHROPIC", "OPENAI", "GEMINI"] {
        let (status, lines) = bench.run_with(&[family], "process-input", &task);
        let [result] = &*lines else { panic!("{family}: {lines:?}") };
        assert_eq!((status, &result["status"], &result["turns"]), (0, &json!("completed"), &json!(1)), "{family}");
        assert_eq!((&result["output"], &result["error"]), (&json!("Hello from there."), &Value::Null), "{family}");
        assert_eq!(bench.asked().len(), 1, "{family}");
    }
    // process_input_system_prompt
    bench.one("process-input", &json!({"prompt": "Test it", "system_prompt": "You are a helpful assistant"}));
    let asked = bench.asked();
    assert!(asked[0].contains("\"system\"") && asked[0].contains("You are a helpful assistant"), "{asked:?}");
    // process_input_graceful_error: the address refuses connections.
    let (status, lines) =
        bench.run("process-input", &json!({"prompt": "test", "_test_base_url": "http://127.0.0.1:1/invalid"}));
    assert_eq!((status, &lines[0]["status"]), (4, &json!("failed")), "{lines:?}");
    assert!(!lines[0]["error"]["message"].as_str().unwrap().is_empty(), "{lines:?}");
    assert!(bench.asked().is_empty());
    let (status, lines) = bench.run("process-input", &json!({"task": "no prompt"}));
    assert_eq!((status, lines.len()), (2, 0));
}

#[test]
fn the_loop_runs_tools_but_no_commands() {
    covers("cli.conformance");
    let calls = [
        ("Write", json!({"file_path": "hello.py", "content": "print('Hello World')\n"})),
        ("Bash", json!({"command": "echo made > made.txt"})),
    ];
    let bench = Bench::new(move |request| match calls.get(request.matches("\"tool_result\"").count()) {
        Some((name, arguments)) => anthropic(
            json!({"type": "tool_use", "id": format!("toolu_{name}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
        None => hello(request),
    });
    let result = bench.one("process-input", &json!({"prompt": "Create hello.py"}));
    assert_eq!((&result["status"], &result["turns"]), (&json!("completed"), &json!(3)));
    assert_eq!(std::fs::read_to_string(bench.directory.path().join("hello.py")).unwrap(), "print('Hello World')\n");
    assert!(!bench.directory.path().join("made.txt").exists(), "nobody could approve it");
    assert!(bench.asked()[2].contains("permission_denied"));
}

#[test]
fn tools_are_dispatched() {
    covers("cli.conformance");
    let bench = Bench::new(hello);
    let call = |name: &str, arguments: Value| {
        let result = bench.one("tool-dispatch", &json!({"tool_name": name, "arguments": arguments}));
        let keys: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["tool_call_id", "name", "ok", "result", "error"]);
        result
    };
    // tool_dispatch, tool_dispatch_format: the file need not be there.
    let missing = call("read_file", json!({"path": bench.directory.path().join("hello.py")}));
    assert_eq!((&missing["ok"], &missing["error"]["code"]), (&json!(false), &json!("not_found")));
    // tool_dispatch_unknown
    let unknown = call("nonexistent_tool_xyz", json!({}));
    assert_eq!(unknown["error"]["code"], "unknown_tool");
    // tool_dispatch_bad_args
    let bad = call("read_file", json!("not_valid_json{{{"));
    assert_eq!(bad["error"]["code"], "invalid_argument");
    // tool_dispatch_read_file: a file in another directory, by its whole path
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("file.txt");
    std::fs::write(&path, "test_content_xyz\n").unwrap();
    let read = call("read_file", json!({ "path": path }));
    assert!(read["ok"] == true && read["result"].as_str().unwrap().contains("test_content_xyz"), "{read}");
    // tool_dispatch_shell
    if cfg!(unix) {
        let shell = call("shell", json!({"command": "echo hello", "timeout_ms": 600_000}));
        assert!(shell["ok"] == true && shell["result"].as_str().unwrap().starts_with("hello\n"), "{shell}");
    }
    assert!(bench.asked().is_empty());
}

#[test]
fn events_are_printed() {
    covers("cli.conformance");
    let bench = Bench::new(hello);
    // events, events_have_type, events_lifecycle, events_minimum_count
    let (status, events) = bench.run("events", &Value::Null);
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(status, 0);
    assert_eq!((kinds.first(), kinds.last()), (Some(&"SESSION_START"), Some(&"SESSION_END")));
    assert!(kinds.len() >= 3 && kinds.contains(&"ASSISTANT_TEXT_END"), "{kinds:?}");
}

#[test]
fn steering_reaches_the_model() {
    covers("cli.conformance");
    let bench = Bench::new(hello);
    // steering, steering_format
    let said = bench.one("steering", &json!({"message": "Actually, use TypeScript instead"}));
    assert_eq!((&said["status"], &said["acknowledged"]), (&json!("injected"), &json!(true)));
    let asked = bench.asked();
    assert!(asked.last().unwrap().contains("Actually, use TypeScript instead"), "{asked:?}");
}
