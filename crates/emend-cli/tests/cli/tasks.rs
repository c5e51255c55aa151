//! Tasks in real directories: the offline model renames with grep, read and edit, and undo restores the files.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Outcome, Project, answer, covers, stall};

fn tree() -> Project {
    Project::new(&[
        ("src/lib.rs", b"pub fn alpha() {}\npub fn alpha_beta() { alpha() }\n"),
        ("src/win.txt", b"alpha one\r\ntwo\r\nalpha three"),
        ("notes/a.md", b"# alpha\n\nAbout `alpha`, not alphabet.\n"),
        ("logo.bin", b"alpha\0alpha"),
        ("ignored/gen.rs", b"alpha\n"),
        (".gitignore", b"ignored/\n"),
    ])
}

#[test]
fn a_rename_touches_whole_identifiers_in_every_text_file_and_nothing_else() {
    let project = tree();
    let outcome = project.run(&["run", "rename alpha to omega"]);
    outcome.assert_ok();
    assert_eq!(project.read("src/lib.rs"), "pub fn omega() {}\npub fn alpha_beta() { omega() }\n");
    assert_eq!(project.read("src/win.txt"), "omega one\r\ntwo\r\nomega three");
    assert_eq!(project.read("notes/a.md"), "# omega\n\nAbout `omega`, not alphabet.\n");
    assert_eq!(std::fs::read(project.path("logo.bin")).unwrap(), b"alpha\0alpha");
    assert_eq!(project.read("ignored/gen.rs"), "alpha\n");
    assert!(outcome.stderr.contains("→ grep"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("no AI"), "the offline model is introduced: {}", outcome.stderr);
}

#[test]
fn events_show_grep_then_read_then_edit() {
    let project = tree();
    let outcome = project.run(&["run", "rename alpha to omega", "--json"]);
    outcome.assert_ok();
    let events: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut tools: Vec<&str> = events
        .iter()
        .filter(|event| event["kind"] == "TOOL_CALL_START")
        .map(|event| event["data"]["tool_name"].as_str().unwrap())
        .collect();
    tools.dedup();
    assert_eq!(tools[..3], ["grep", "read_file", "edit_file"]);
    assert_eq!(events.first().unwrap()["kind"], "SESSION_START");
    assert_eq!(events.last().unwrap()["kind"], "PROCESSING_END");
    let cursors: Vec<u64> = events.iter().map(|event| event["cursor"].as_u64().unwrap()).collect();
    assert_eq!(cursors, (1..=cursors.len() as u64).collect::<Vec<_>>());
}

#[test]
fn undo_restores_every_byte_and_keeps_the_users_own_lines() {
    let project = tree();
    let before = project.tree();
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    assert_ne!(project.tree(), before);
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.tree(), before);

    project.run(&["run", "rename alpha to omega"]).assert_ok();
    let edited = project.read("notes/a.md") + "\nMy own line.\n";
    std::fs::write(project.path("notes/a.md"), edited).unwrap();
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.read("notes/a.md"), "# alpha\n\nAbout `alpha`, not alphabet.\n\nMy own line.\n");
}

#[test]
fn an_unknown_instruction_is_answered_with_examples() {
    let project = tree();
    let before = project.tree();
    let outcome = project.run(&["run", "make it faster"]);
    outcome.assert_ok();
    assert!(outcome.stdout.contains("rename"), "{}", outcome.stdout);
    assert_eq!(project.tree(), before);
}

#[test]
fn debug_lines_go_to_standard_error_as_json() {
    covers("debug.output");
    let project = tree();
    let outcome = project.run(&["run", "rename alpha to omega", "--debug"]);
    outcome.assert_ok();
    let lines: Vec<Value> = outcome.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["debug"] == "tool_call" && line["tool"] == "grep"));
    assert!(lines.iter().any(|line| line["debug"] == "tool_result" && line["result"]["ok"] == true));
    assert!(lines.iter().any(|line| line["debug"] == "processing_end" && line["data"]["reason"] == "natural"));
}

#[test]
fn debug_lines_explain_a_refused_path_and_contain_no_key() {
    let project = tree();
    let mut command = project.command(&["run", "rename alpha to omega in ../outside", "--debug", "--model", "offline"]);
    command.env("ANTHROPIC_API_KEY", "sk-marked-secret").env("OPENAI_API_KEY", "sk-marked-secret");
    let outcome = Outcome::of(command.output().unwrap());
    let lines: Vec<Value> = outcome.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let decision = lines.iter().find(|line| line["debug"] == "sandbox").expect("a decision");
    assert_eq!(decision["decision"]["rel"], "../outside", "{decision}");
    assert!(!format!("{}{}", outcome.stdout, outcome.stderr).contains("marked-secret"));
}

#[test]
fn a_recording_plays_back_to_the_same_bytes() {
    let (project, again) = (tree(), tree());
    let cassette = project.path("../emend-cassette.json");
    let cassette = std::path::absolute(cassette).unwrap();
    project.run(&["run", "rename alpha to omega", "--record", cassette.to_str().unwrap()]).assert_ok();
    let model = format!("cassette:{}", cassette.display());
    again.run(&["run", "rename alpha to omega", "--model", &model]).assert_ok();
    assert_eq!(again.tree(), project.tree());
    let other = again.run(&["run", "rename beta to gamma", "--model", &model]);
    assert_ne!(other.status, 0, "a request that was not recorded is refused: {}", other.stdout);
    std::fs::remove_file(cassette).unwrap();
}

#[test]
fn every_provider_gets_requests_in_its_wire_format() {
    #[track_caller]
    fn check(provider: &str, model: &str, path: &str, events: &[&str]) {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let (url, requested) = answer(format!("{head}{body}"));
        let project = tree();
        let mut command = project.command(&["run", "say hello", "--model", model]);
        command.env(format!("{provider}_API_KEY"), "key").env(format!("{provider}_BASE_URL"), url);
        let outcome = Outcome::of(command.output().unwrap());
        outcome.assert_ok();
        assert!(outcome.stdout.contains("Hello from there."), "{model}: {}", outcome.stdout);
        let request = requested.recv().unwrap();
        assert!(request.contains(path), "{model}: {request}");
    }
    check(
        "OPENAI",
        "openai:gpt-x",
        "/responses HTTP/1.1",
        &[
            r#"{"type":"response.created","response":{"id":"r","status":"in_progress"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"Hello from there."}"#,
            r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2}}}"#,
        ],
    );
    check(
        "GEMINI",
        "gemini:gemini-x",
        "/models/gemini-x:streamGenerateContent",
        &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hello from there."}]},"finishReason":"STOP"}]}"#,
        ],
    );
    check(
        "OPENAI_COMPATIBLE",
        "openai_compatible:qwen3:8b",
        "/chat/completions HTTP/1.1",
        &[r#"{"choices":[{"index":0,"delta":{"content":"Hello from there."},"finish_reason":"stop"}]}"#, "[DONE]"],
    );
}

#[test]
fn a_mentioned_image_is_sent_as_an_image() {
    #[track_caller]
    fn check(task: &str, provider: &str, model: &str, events: &[&str], expected: &str) {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let (url, requested) = answer(format!("{head}{body}"));
        let project =
            Project::new(&[("art/cat.png", b"\x89PNG\r\n\x1a\n\0rest"), ("my cat.png", b"\x89PNG\r\n\x1a\n\0rest")]);
        let mut command = project.command(&["run", task, "--model", model]);
        command.env(format!("{provider}_API_KEY"), "key").env(format!("{provider}_BASE_URL"), url);
        let outcome = Outcome::of(command.output().unwrap());
        assert!(!outcome.assert_ok().stderr.contains("was not read"), "{model}: {}", outcome.stderr);
        let request = requested.recv().unwrap();
        assert!(request.contains(expected), "{model}: {request}");
        assert_eq!(request.matches(DATA).count(), 1, "{model}: {request}");
    }
    const DATA: &str = "iVBORw0KGgoAcmVzdA==";
    let says = r#"{"choices":[{"index":0,"delta":{"content":"A cat."},"finish_reason":"stop"}]}"#;
    let url = format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{DATA}""#);
    for task in ["look at @art/cat.png", r"look at @my\ cat.png, please"] {
        check(task, "OPENAI_COMPATIBLE", "openai_compatible:m", &[says, "[DONE]"], &url);
    }
    let says = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"A cat."}]},"finishReason":"STOP"}]}"#;
    let data = format!(r#""inlineData":{{"mimeType":"image/png","data":"{DATA}"}}"#);
    check("@art/cat.png", "GEMINI", "gemini:gemini-x", &[says], &data);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_run_at_once_and_changes_nothing() {
    covers("loop.cancel");
    let project = tree();
    let before = project.tree();
    let (url, requested) = stall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: wait\n\n");
    let mut command = project.command(&["run", "rename alpha to omega", "--model", "anthropic:claude-sonnet-4-5"]);
    command.env("ANTHROPIC_API_KEY", "key").env("ANTHROPIC_BASE_URL", url);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    requested.recv().unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let outcome = Outcome::of(child.wait_with_output().unwrap());
    assert_eq!(outcome.status, 130, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("interrupted"), "{}", outcome.stderr);
    assert_eq!(project.tree(), before);
}

#[test]
fn tools_are_listed_by_canonical_names_and_by_those_of_each_profile() {
    let project = Project::new(&[]);
    let names = |profile: &[&str]| {
        let outcome = project.run(&[&["tools", "list"], profile].concat());
        outcome.assert_ok();
        let heads = outcome.stdout.lines().filter(|line| !line.is_empty() && !line.starts_with(' '));
        heads.map(str::to_owned).collect::<Vec<_>>()
    };
    let own = names(&[]);
    for name in ["read_file", "read_many_files", "edit_lines", "safe_patch", "clarify_user", "web_fetch"] {
        assert!(own.iter().any(|own| own == name), "{name} is not in {own:?}");
    }
    for (profile, expected) in [
        ("openai", ["apply_patch", "grep_files (grep)", "web_fetch"]),
        ("anthropic", ["Edit (edit_file)", "Grep (grep)", "WebFetch (web_fetch)"]),
        ("gemini", ["read_many_files", "grep_search (grep)", "web_fetch"]),
    ] {
        let named = names(&["--profile", profile]);
        for name in expected {
            assert!(named.iter().any(|named| named == name), "{profile}: {name} is not in {named:?}");
        }
    }
}

#[test]
fn the_editing_tool_can_be_chosen() {
    #[track_caller]
    fn check(args: &[&str], expected: &str) {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let body = r#"data: {"choices":[{"index":0,"delta":{"content":"Hi."},"finish_reason":"stop"}]}"#;
        let (url, requested) = answer(format!("{head}{body}\n\ndata: [DONE]\n\n"));
        let project = Project::new(&[]);
        let mut command = project.command(&["run", "hello", "--model", "openai_compatible:m"]);
        Outcome::of(command.args(args).env("OPENAI_COMPATIBLE_BASE_URL", url).output().unwrap()).assert_ok();
        let request = requested.recv().unwrap();
        let offered = ["apply_patch", "Edit", "safe_patch", "replace"];
        let names = offered.into_iter().filter(|name| request.contains(&format!("\"name\":\"{name}\"")));
        assert_eq!(names.collect::<Vec<_>>(), [expected]);
    }
    check(&["--profile", "anthropic"], "Edit");
    check(&["--profile", "anthropic", "--edits", "safe_patch"], "safe_patch");
    check(&["--profile", "gemini", "--edits", "own"], "replace");
    let project = Project::new(&[]);
    let refused = project.run(&["run", "hello", "--edits", "safe_patch"]);
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("the offline model"), "{}", refused.stderr);
}

#[test]
fn a_local_page_is_not_fetched() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let project = Project::new(&[]);
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let arguments = format!(r#"{{"url": "http://{host}:{port}/"}}"#);
        let outcome = project.run(&["tools", "call", "web_fetch", &arguments]);
        assert!(outcome.stdout.contains("\"permission_denied\""), "{host}: {}", outcome.stdout);
    }
    server.set_nonblocking(true).unwrap();
    assert!(server.accept().is_err(), "no connection was made");
}
