//! The tool `outline`, called by the user and by a model.

use serde_json::{Value, json};

use crate::support::Project;
#[cfg(target_os = "linux")]
use crate::{serve::Server, support::answer_each};

#[test]
fn a_call_prints_the_definitions_as_data() {
    let project =
        Project::new(&[("src/a.rs", b"struct A;\nimpl A {\n    fn new() -> A { A }\n}\n"), ("b.py", b"new = 1\n")]);
    #[track_caller]
    fn check(project: &Project, arguments: Value, expected: &[&str]) {
        let outcome = project.run(&["tools", "call", "outline", &arguments.to_string()]);
        let printed: Value = serde_json::from_str(&outcome.assert_ok().stdout).unwrap();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let line = |symbol: &Value| {
            let path = symbol.get("file_path").map_or_else(String::new, |path| text(path) + ":");
            format!("{path}{} {} {}", symbol["first_line"], text(&symbol["kind"]), text(&symbol["name"]))
        };
        let symbols = printed["data"]["symbols"].as_array().unwrap();
        assert_eq!(symbols.iter().map(line).collect::<Vec<_>>(), expected);
    }
    check(&project, json!({"file_path": "src/a.rs"}), &["1 struct A", "2 impl A", "3 fn new"]);
    check(&project, json!({"symbol": "new"}), &["b.py:1 var new", "src/a.rs:3 fn new"]);
    let refused = project.run(&["tools", "call", "outline", "{}"]);
    assert_eq!((refused.status, refused.stdout.contains("Give file_path or symbol.")), (1, true), "{}", refused.stdout);
}

#[test]
fn an_outline_shows_no_file_that_rules_hide() {
    let files: &[(&str, &[u8])] = &[("a.py", b"def shown(): pass\n"), ("secrets.py", b"def shown_secret(): pass\n")];
    let project = Project::new(files);
    let calls = [("outline", json!({"symbol": "shown"})), ("outline", json!({"file_path": "secrets.py"}))];
    let options = ["--outline", "--deny", "*:secrets.py"];
    let events = project.run_calls(&calls, &options).assert_ok().stdout.clone();
    assert!(events.contains("a.py:1-1 fn shown") && !events.contains("shown_secret"), "{events}");
    let events = project.run_calls(&calls, &["--outline"]).stdout;
    assert!(events.contains("secrets.py:1-1 fn shown_secret"), "without the rule: {events}");
    let events = project.run_calls(&calls, &[]).stdout;
    assert!(events.contains("unknown_tool"), "without the option: {events}");
    let refused = project.run(&["run", "x", "--deny", "outlin:*.py"]);
    assert!(refused.stderr.contains("did you mean outline?"), "{}", refused.stderr);
}

/// Returns the requests of a job on a server with these options, whose model looks for a name and then says "Done.".
#[cfg(target_os = "linux")]
fn requests_of_a_job(options: &[&str]) -> Vec<String> {
    let files: &[(&str, &[u8])] =
        &[("src/a.py", b"# text\ndef shown(): pass\n"), ("secrets.py", b"def shown_not(): pass\n")];
    let project = Project::new(files);
    let (url, requests) = answer_each(|request| {
        let function = json!({ "name": "outline", "arguments": json!({ "symbol": "shown" }).to_string() });
        let (delta, reason) = match request.contains("tool_call_id") {
            true => (json!({ "content": "Done." }), "stop"),
            false => {
                let call = json!({ "index": 0, "id": "call_0", "type": "function", "function": function });
                (json!({ "tool_calls": [call] }), "tool_calls")
            }
        };
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        format!("{head}data: {chunk}\n\ndata: [DONE]\n\n")
    });
    let server = Server::start_with(&project, options, &[("OPENAI_COMPATIBLE_BASE_URL", &url)]);
    let (_, state) = server.run_in(&json!({ "model": "openai_compatible:m" }), "Where is shown defined?");
    assert_eq!(state["status"], "completed", "{state}");
    requests.try_iter().collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_model_behind_a_server_finds_definitions_and_none_that_rules_hide() {
    let offered =
        |request: &str| request.contains("\"name\":\"outline\"") && request.contains("source file with their lines");
    let requests = requests_of_a_job(&["--outline"]);
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(offered(&requests[0]), "{}", requests[0]);
    assert!(requests[1].contains("src/a.py:2-2 fn shown"), "{}", requests[1]);
    assert!(requests[1].contains("secrets.py:1-1 fn shown_not"), "without a rule: {}", requests[1]);
    let requests = requests_of_a_job(&["--outline", "--deny", "*:secrets.py"]);
    assert!(requests[1].contains("src/a.py:2-2 fn shown"), "{}", requests[1]);
    assert!(!requests.iter().any(|request| request.contains("shown_not")), "{requests:?}");
    let requests = requests_of_a_job(&[]);
    assert!(!offered(&requests[0]), "{}", requests[0]);
    assert!(!requests[1].contains("fn shown"), "without the option: {}", requests[1]);
}
