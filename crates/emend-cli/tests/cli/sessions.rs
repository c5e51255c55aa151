//! Saved sessions: resume, fork, list, show, delete. Profiles, since they determine the content of sessions.

use emend_agent::profile::Profile;
use emend_agent::tool::ToolRegistry;
use emend_agent::tools::core_tools;
use serde_json::{Value, json};

use crate::support::{Outcome, Project, answer};

fn project() -> Project {
    Project::new(&[
        ("src/lib.rs", b"pub fn alpha() {}\npub fn beta() { alpha() }\n"),
        ("win.txt", b"alpha one\r\nalpha two\r\nlast alpha"),
        ("notes.md", b"# alpha\n\nalpha\nalpha\n"),
    ])
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the session ID of a run with `--json`.
fn id_of(outcome: &Outcome) -> String {
    lines(&outcome.assert_ok().stdout)[0]["session_id"].as_str().unwrap().to_owned()
}

fn list(project: &Project) -> Vec<Value> {
    lines(&project.run(&["sessions", "list", "--json"]).assert_ok().stdout)
}

fn tools_called(events: &[Value]) -> Vec<&str> {
    let starts = events.iter().filter(|event| event["kind"] == "TOOL_CALL_START");
    let mut names: Vec<&str> = starts.map(|event| event["data"]["tool_name"].as_str().unwrap()).collect();
    names.dedup();
    names
}

#[test]
fn the_offline_model_does_the_same_under_every_profile() {
    #[track_caller]
    fn check(profile: &str, expected: [&str; 3]) {
        let project = project();
        let outcome = project.run(&["run", "rename alpha to omega", "--profile", profile, "--json"]);
        let events = lines(&outcome.assert_ok().stdout);
        assert_eq!(tools_called(&events)[..3], expected, "{profile}");
        let failed = events.iter().find(|event| event["kind"] == "TOOL_CALL_END" && event["data"]["ok"] != true);
        assert_eq!(failed, None, "{profile}");
        assert_eq!(project.read("src/lib.rs"), "pub fn omega() {}\npub fn beta() { omega() }\n", "{profile}");
        // The v4a format cannot express a missing trailing newline.
        let end = if expected[2] == "apply_patch" { "\r\n" } else { "" };
        assert_eq!(project.read("win.txt"), format!("omega one\r\nomega two\r\nlast omega{end}"), "{profile}");
        assert_eq!(project.read("notes.md"), "# omega\n\nomega\nomega\n", "{profile}");
    }
    check("auto", ["grep", "read_file", "edit_file"]);
    check("none", ["grep", "read_file", "edit_file"]);
    check("openai", ["grep_files", "read_file", "apply_patch"]);
    check("anthropic", ["Grep", "Read", "Edit"]);
    check("gemini", ["grep_search", "read_file", "replace"]);
}

#[test]
fn a_model_gets_the_tools_of_its_family_by_default() {
    #[track_caller]
    fn check(args: &[&str], expected: &str) {
        let body = r#"data: {"choices":[{"index":0,"delta":{"content":"Hi."},"finish_reason":"stop"}]}"#;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let (url, requested) = answer(format!("{head}{body}\n\ndata: [DONE]\n\n"));
        let project = project();
        let recording = project.path("../recording.json");
        let recording = std::path::absolute(recording).unwrap();
        let recording =
            recording.with_file_name(format!("emend-{}.json", project.root.path().display()).replace('/', "_"));
        let mut command = project.command(&["run", "hello", "--record", recording.to_str().unwrap()]);
        command.args(args).env("OPENAI_COMPATIBLE_BASE_URL", url);
        Outcome::of(command.output().unwrap()).assert_ok();
        requested.recv().unwrap();
        let cassette = std::fs::read_to_string(&recording).unwrap();
        std::fs::remove_file(recording).unwrap();
        let cassette: Value = serde_json::from_str(&cassette).unwrap();
        let tools = cassette["exchanges"][0]["request"]["body"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
        assert_eq!(names.join(" "), expected);
    }
    // The snapshots of the profiles list the names; here it counts which of the lists is sent.
    let names = |tools: &ToolRegistry| tools.names().collect::<Vec<_>>().join(" ");
    let (own, anthropic, gemini) =
        (names(&core_tools()), names(&Profile::anthropic("m").tools), names(&Profile::gemini("m").tools));
    let own = own.as_str();
    assert!(own.starts_with("read_file ") && anthropic.starts_with("Read ") && gemini.contains("grep_search"));
    check(&["--model", "openai_compatible:qwen3:8b"], own);
    check(&["--model", "openai_compatible:claude-sonnet-4-5"], &anthropic);
    check(&["--model", "openai_compatible:claude-sonnet-4-5", "--profile", "none"], own);
    check(&["--model", "openai_compatible:qwen3:8b", "--profile", "gemini"], &gemini);
}

#[test]
fn a_conversation_continues_where_it_ended() {
    let project = project();
    let first = id_of(&project.run(&["run", "rename alpha to omega", "--json"]));
    let second = id_of(&project.run(&["run", "rename beta to gamma", "--json"]));
    assert_ne!(first, second);
    let by_id = project.run(&["run", "rename omega to psi", "--resume", &first, "--json"]);
    assert_eq!(id_of(&by_id), first);
    // The session that was used last is listed first.
    let latest = project.run(&["run", "rename psi to chi", "--json", "--resume"]);
    assert_eq!(id_of(&latest), first);
    let saved = list(&project);
    assert_eq!(saved.iter().map(|one| one["id"].as_str().unwrap()).collect::<Vec<_>>(), [&first, &second]);
    assert_eq!(saved[0]["title"], "rename alpha to omega");
    let shown = project.run(&["sessions", "show", &first, "--json"]);
    let shown: Value = serde_json::from_str(&shown.assert_ok().stdout).unwrap();
    let turns = shown["turns"].as_array().unwrap();
    let users: Vec<&str> = turns
        .iter()
        .filter(|turn| turn["kind"] == "user")
        .map(|turn| turn["message"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(users, ["rename alpha to omega", "rename omega to psi", "rename psi to chi"]);
    let text = project.run(&["sessions", "show", &first]);
    assert!(text.assert_ok().stdout.contains("→ edit_file"), "{}", text.stdout);
}

#[test]
fn a_fork_does_not_change_its_origin() {
    let project = project();
    let origin = id_of(&project.run(&["run", "rename alpha to omega", "--json"]));
    let before = list(&project);
    let fork = id_of(&project.run(&["run", "rename omega to psi", "--fork", &origin, "--turns", "1", "--json"]));
    let saved = list(&project);
    assert_eq!(saved.len(), 2);
    assert_eq!(saved[1], before[0]);
    assert_eq!(saved[0]["id"], fork.as_str());
    assert_eq!(saved[0]["forked_from"], serde_json::json!({ "id": origin, "n_turns": 1 }));
    let table = project.run(&["sessions"]);
    let rows: Vec<&str> = table.assert_ok().stdout.lines().collect();
    assert!(
        rows[0].starts_with("session ") && rows[1].starts_with(&fork[..8]) && rows[2].starts_with(&origin[..8]),
        "{rows:?}"
    );
}

#[test]
fn a_resumed_session_keeps_its_model_and_needs_its_key() {
    let body = r#"data: {"choices":[{"index":0,"delta":{"content":"Hi."},"finish_reason":"stop"}]}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let (url, _requested) = answer(format!("{head}{body}\n\ndata: [DONE]\n\n"));
    let project = project();
    let mut command = project.command(&["run", "hello", "--model", "openai_compatible:qwen3:8b"]);
    Outcome::of(command.env("OPENAI_COMPATIBLE_BASE_URL", url).output().unwrap()).assert_ok();
    let outcome = project.run(&["run", "and now?", "--resume"]);
    assert_eq!(outcome.status, 3, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("OPENAI_COMPATIBLE_BASE_URL"), "{}", outcome.stderr);
    project.run(&["run", "rename alpha to omega", "--model", "offline", "--resume"]).assert_ok();
    assert_eq!(project.read("src/lib.rs"), "pub fn omega() {}\npub fn beta() { omega() }\n");
}

#[test]
fn a_deleted_session_is_gone_and_files_stay() {
    let project = project();
    let id = id_of(&project.run(&["run", "rename alpha to omega", "--json"]));
    let tree = project.tree();
    let outcome = project.run(&["sessions", "delete", &id]);
    assert_eq!(outcome.assert_ok().stdout, format!("deleted {id}\n"));
    assert_eq!(list(&project), Vec::<Value>::new());
    assert_eq!(project.run(&["sessions", "delete", &id]).status, 1);
    assert_eq!(project.tree(), tree);
    project.run(&["undo"]).assert_ok();
}

#[test]
fn the_outputs_of_a_session_are_deleted_with_it() {
    let project = Project::new(&[("long.md", "one line\n".repeat(10_000).as_bytes())]);
    let call = ("read_file", json!({ "file_path": "long.md", "limit": 20_000 }));
    let id = id_of(&project.run_calls(&[call], &[]));
    let directory = project.lock().directory().join("sessions");
    let n_files = || std::fs::read_dir(&directory).unwrap().count();
    assert_eq!(n_files(), 2, "the conversation and the output of the call");
    project.run(&["sessions", "delete", &id]).assert_ok();
    assert_eq!(n_files(), 0);
}

#[test]
fn wrong_ids_are_refused_and_nothing_is_done() {
    #[track_caller]
    fn check(project: &Project, args: &[&str], status: i32, expected: &str) {
        let tree = project.tree();
        let outcome = project.run(args);
        assert_eq!(outcome.status, status, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{args:?}: {}", outcome.stderr);
        assert_eq!(project.tree(), tree);
    }
    let project = project();
    check(&project, &["run", "x", "--resume"], 1, "this project has no saved session");
    check(&project, &["sessions", "show", "sess_1"], 1, "[not_found]: there is no saved session \"sess_1\"");
    let id = id_of(&project.run(&["run", "nothing much", "--json"]));
    let near = format!("{}0", &id[..id.len() - 1]);
    let near = if near == id { format!("{}1", &id[..id.len() - 1]) } else { near };
    for args in [&["run", "x", "--resume", &near][..], &["run", "x", "--fork", &near], &["sessions", "delete", &near]] {
        check(&project, args, 1, "[not_found]");
        check(&project, args, 1, &format!("try: {id}"));
    }
    for wrong in ["../x", "a b", ".hidden"] {
        check(&project, &["run", "x", "--resume", wrong], 2, "expected the ID of a session");
        check(&project, &["sessions", "show", wrong], 2, "expected the ID of a session");
    }
    check(&project, &["run", "x", "--fork", &id, "--resume"], 2, "cannot be used with");
    check(&project, &["run", "x", "--turns", "2"], 2, "--fork");
    check(&project, &["sessions", "--root", "no/such/place"], 3, "--root");
    assert_eq!(list(&project).len(), 1);
}

#[test]
fn sessions_can_be_listed_while_a_run_has_the_project() {
    let project = project();
    let id = id_of(&project.run(&["run", "nothing much", "--json"]));
    let lock = project.lock();
    assert_eq!(list(&project)[0]["id"], id.as_str());
    let outcome = project.run(&["sessions", "delete", &id]);
    assert_eq!((outcome.status, outcome.stderr.contains("[busy]")), (1, true), "{}", outcome.stderr);
    drop(lock);
    project.run(&["sessions", "delete", &id]).assert_ok();
}

#[test]
fn debug_lines_name_the_session() {
    let project = project();
    let outcome = project.run(&["run", "nothing much", "--debug"]);
    let line = lines(&outcome.assert_ok().stderr).remove(0);
    assert_eq!((&line["debug"], &line["from"]), (&"session".into(), &Value::Null));
    assert_eq!(list(&project)[0]["id"], line["id"]);
}

#[test]
fn commands_that_only_read_work_while_another_process_has_the_project() {
    let project = project();
    let id = id_of(&project.run(&["run", "rename alpha to omega", "--json"]));
    let lock = project.lock();
    for args in [
        &["checkpoints"][..],
        &["rollback", "1", "--check"],
        &["sessions", "list"],
        &["sessions", "show", &id],
        &["config"],
        &["tools", "call", "read_file", r#"{"file_path": "notes.md"}"#],
        &["tools", "call", "grep", r#"{"pattern": "omega"}"#],
        &["run", "--read-only", "find omega"],
        &["run", "--read-only", "--fork", &id, "find omega"],
    ] {
        let state = project.documents();
        project.run(args).assert_ok();
        assert_eq!(project.documents(), state, "{args:?}");
    }
    assert_eq!(list(&project).len(), 3);
    // Both processes would write the same conversation.
    let outcome = project.run(&["run", "--read-only", "--continue", "x"]);
    assert_eq!((outcome.status, outcome.stderr.contains("[busy]")), (1, true), "{}", outcome.stderr);
    let holder = format!("another emend process (pid {}) has", std::process::id());
    for args in [&["undo"][..], &["run", "x"], &["sessions", "delete", &id]] {
        let outcome = project.run(args);
        assert_eq!((outcome.status, outcome.stderr.contains(&holder)), (1, true), "{args:?}: {}", outcome.stderr);
    }
    let waiting = project.command(&["undo"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(lock);
    assert!(waiting.wait_with_output().unwrap().status.success(), "a writer waits for a short time");
}

#[test]
fn a_damaged_workspace_does_not_prevent_the_deletion_of_a_session() {
    let project = project();
    let id = id_of(&project.run(&["run", "rename alpha to omega", "--json"]));
    let state = project.lock().directory().to_owned();
    std::fs::write(state.join("workspace.json"), "{").unwrap();
    project.run(&["sessions", "delete", &id]).assert_ok();
    assert_eq!(std::fs::read_dir(state.join("sessions")).unwrap().count(), 0, "nothing of it is left");
}

#[test]
fn a_word_after_resume_that_is_no_task_is_an_id() {
    let project = project();
    let outcome = project.run(&["run", "--resume", "zzz", "rename a to b"]);
    let message = "there is no saved session \"zzz\" in this project";
    assert_eq!((outcome.status, outcome.stderr.contains(message)), (1, true), "{}", outcome.stderr);
}

#[test]
fn conversations_have_titles_are_searched_and_archived() {
    let project = Project::new(&[("a.txt", b"alpha\nbeta\n")]);
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    project.run(&["run", "rename beta to psi"]).assert_ok();
    let ids = |args: &[&str]| {
        let listed = project.run(&[&["sessions", "--json", "list"], args].concat()).assert_ok().stdout.clone();
        let line =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
        listed.lines().map(line).collect::<Vec<_>>()
    };
    let all = ids(&[]);
    let [second, first] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(ids(&["--search", "BETA"]), [second.as_str()]);
    // The text is in a message, not in the title.
    assert_eq!(ids(&["--search", "renamed alpha"]), [first.as_str()]);
    project.run(&["sessions", "title", first, "Greek\nletters"]).assert_ok();
    let table = project.run(&["sessions"]).assert_ok().stdout.clone();
    assert!(table.contains("Greek letters") && !table.contains("rename alpha"), "{table}");
    assert_eq!(ids(&["--search", "greek"]), [first.as_str()]);
    project.run(&["sessions", "archive", second]).assert_ok();
    assert_eq!(ids(&[]), [first.as_str()]);
    assert_eq!(ids(&["--archived"]), [second.as_str()]);
    // The last conversation that is not archived goes on.
    project.run(&["run", "rename omega to alpha", "--continue"]).assert_ok();
    let shown = project.run(&["sessions", "show", first]).assert_ok().stdout.clone();
    assert!(shown.contains("rename omega to alpha"), "{shown}");
    // The archive loses nothing.
    assert!(project.run(&["sessions", "show", second]).assert_ok().stdout.contains("rename beta"));
    project.run(&["sessions", "unarchive", second]).assert_ok();
    project.run(&["sessions", "title", first, ""]).assert_ok();
    assert_eq!(ids(&[]).len(), 2);
    assert!(project.run(&["sessions"]).assert_ok().stdout.contains("rename alpha"));
    let none = project.run(&["sessions", "list", "--search", "nothing like it"]).assert_ok().stdout.clone();
    assert!(none.contains("There are no saved sessions with \"nothing like it\""), "{none}");
}
