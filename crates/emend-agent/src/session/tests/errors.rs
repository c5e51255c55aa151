//! Drives a session into every documented failure: its code, its report, and the state of the session afterwards.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::failures::{DOCUMENTED, Documented, Shown};
use super::*;
use crate::error_code::Code;
use crate::event::EndReason;
use crate::tools::SafePatch;

/// A tool that fails with each kind of error.
struct Broken;

impl crate::tool::Tool for Broken {
    fn definition(&self) -> emend_llm::ToolDefinition {
        let parameters = json!({"type": "object", "properties": {}});
        emend_llm::ToolDefinition { name: "broken".to_owned(), description: String::new(), parameters }
    }

    fn effect(&self) -> crate::tool::ToolEffect {
        crate::tool::ToolEffect::Writes
    }

    fn paths(&self, _arguments: &serde_json::Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        _arguments: &'a serde_json::Map<String, Value>,
        _context: &'a crate::tool::ToolContext,
    ) -> BoxFuture<'a, Result<crate::tool::ToolOutput, crate::tool::ToolError>> {
        let error = crate::environment::EnvError::Io { path: "a".to_owned(), reason: "input/output error".to_owned() };
        Box::pin(std::future::ready(Err(error.into())))
    }
}

/// The set-up of a failure: the responses of the model and the options of the session.
fn script(row: &Documented) -> (Vec<Answer>, Setup) {
    let call = |name: &'static str, arguments: Value| vec![Answer::Call(vec![(name, arguments)]), Answer::Say("Done.")];
    let patch = |path: &str, base: &str| json!({"file_path": path, "unified_diff": "@@ -1 +1 @@\n-uno\n+1\n", "base_content_sha256": base});
    let refusals = |kind: ErrorKind| vec![Answer::Refuse(kind); 3];
    let answers = match row.name {
        "FileNotFound" => call("read_file", json!({"file_path": "note.md"})),
        "EditConflict" => vec![Answer::Call(vec![edit("four", "4")]), Answer::Say("Done.")],
        "EditConflict, several places" => vec![Answer::Call(vec![edit("e", "E")]), Answer::Say("Done.")],
        "PermissionDenied" => call("read_file", json!({"file_path": "../secret"})),
        "ValidationError" => call("read_file", json!({"path": "notes.md"})),
        "UnknownTool" => call("read_files", json!({"file_path": "notes.md"})),
        "io_error" => call("broken", json!({})),
        "State Mismatch" => call("safe_patch", patch("notes.md", "00")),
        "Invalid Diff" => {
            let hash = emend_edit::ContentHash::of(b"one\ntwo\nthree\n");
            call("safe_patch", patch("notes.md", &hash.hex()))
        }
        "file was never read" => call("write_file", json!({"file_path": "notes.md", "content": "new"})),
        "file exists" => {
            call("apply_patch", json!({"patch": "*** Begin Patch\n*** Add File: notes.md\n+x\n*** End Patch\n"}))
        }
        "binary file" => call("read_file", json!({"file_path": "logo.png"})),
        "STALE_EPOCH" => {
            let setup = Setup { canvas: Some("notes.md"), preempt_at: Some(2), ..Setup::default() };
            let again = Answer::Call(vec![edit("two", "2")]);
            return (vec![Answer::Call(vec![edit("one", "1")]), again, Answer::Say("Done.")], setup);
        }
        "ShellExitError" | "ShellTimeout" => {
            let command = if row.name == "ShellTimeout" { "echo so far; late" } else { "echo no; fail 2" };
            let setup = Setup { shell: true, ..Setup::default() };
            return (call("shell", json!({ "command": command })), setup);
        }
        "cut call" => vec![Answer::End("", vec![edit("one", "1")], FinishKind::Length), Answer::Say("Done.")],
        "ProviderError (429)" => refusals(ErrorKind::RateLimit),
        "ProviderError (500-503)" => refusals(ErrorKind::Server),
        "NetworkError" => refusals(ErrorKind::Network),
        "AuthenticationError" => refusals(ErrorKind::Authentication),
        "ContextLengthError" => refusals(ErrorKind::ContextLength),
        "invalid request" => refusals(ErrorKind::InvalidRequest),
        "configuration" => refusals(ErrorKind::Configuration),
        "broken stream" => vec![Answer::SayThenBreakOff("One moment")],
        "TurnLimitExceeded" => {
            let config = SessionConfig { max_tool_rounds_per_input: 1, ..SessionConfig::default() };
            return (vec![Answer::Call(vec![read()])], Setup { config, ..Setup::default() });
        }
        "BudgetExceeded" => {
            let run_budget = RunBudget { tokens: 1, ..RunBudget::default() };
            let config = SessionConfig { run_budget, ..SessionConfig::default() };
            return (vec![Answer::Call(vec![read()])], Setup { config, ..Setup::default() });
        }
        "abort signal" => return (vec![Answer::Call(vec![read()])], Setup { cancel_at: Some(1), ..Setup::default() }),
        name => panic!("no test drives a session into {name}"),
    };
    (answers, Setup::default())
}

#[test]
fn every_documented_failure_has_its_code_and_leaves_the_session_as_documented() {
    for row in DOCUMENTED {
        if row.name == "STALE_EPOCH" && !crate::canvas::IS_BUILT_IN {
            continue;
        }
        let (answers, setup) = script(row);
        let mut world = World::new(NOTES, answers.clone(), setup);
        world.files.insert("logo.png", b"\x89PNG\0\xff".to_vec()).unwrap();
        let mut tools = tools();
        tools.register(Shared::new(SafePatch));
        tools.register(Shared::new(Broken));
        tools.register(Shared::new(crate::tools::Shell));
        world.restart(tools, answers);
        let run = world.session.submit("do it", CancelToken::new()).unwrap();
        let events: Vec<Event> = block_on(run.collect());
        check_row(row, &world, &events);
    }
}

#[track_caller]
fn check_row(row: &Documented, world: &World, events: &[Event]) {
    let (name, code) = (row.name, row.code.map_or("", Code::as_str));
    assert_eq!(world.session.state(), row.state, "{name}");
    let end = events.iter().find_map(|event| match &event.kind {
        EventKind::ProcessingEnd { reason, .. } => Some(*reason),
        _ => None,
    });
    let codes: Vec<(Shown, &str)> = events.iter().filter_map(|event| shown(&event.kind)).collect();
    match row.shown {
        Shown::ErrorResult | Shown::Result => {
            let result = world.last_results().pop().unwrap();
            assert_eq!(result.starts_with("error: "), row.shown == Shown::ErrorResult, "{name}: {result}");
            assert!(row.code.is_none() || result.contains(&format!("[{code}]")), "{name}: {result}");
            assert_eq!(end, Some(EndReason::Natural), "{name}: the model is told, and the loop goes on");
            assert_eq!(codes.contains(&(row.shown, code)), row.code.is_some(), "{name}: {codes:?}");
        }
        Shown::End => assert_eq!(end, Some(EndReason::Aborted), "{name}"),
        shown => assert!(codes.contains(&(shown, code)), "{name}: {codes:?}"),
    }
    let n_retries =
        events.iter().filter(|event| matches!(event.kind, EventKind::Warning { code: "retry", .. })).count();
    assert_eq!(n_retries > 0, row.retried, "{name}");
}

/// Returns the report of a failure in an event, and its code.
fn shown(kind: &EventKind) -> Option<(Shown, &'static str)> {
    Some(match kind {
        EventKind::ToolCallEnd { error_info: Some(error), .. } => (Shown::ErrorResult, error.code),
        EventKind::Error(error) => (Shown::Error, error.code),
        EventKind::Warning { code, .. } => (Shown::Warning, code),
        EventKind::TurnLimit { .. } => (Shown::TurnLimit, Code::LimitReached.as_str()),
        EventKind::BudgetExceeded { .. } => (Shown::Budget, Code::LimitReached.as_str()),
        _ => return None,
    })
}

#[test]
fn what_does_not_fit_is_shown_with_its_place_and_a_call_that_would() {
    let check = |arguments: Value, expected: &[&str]| {
        let world = World::new(
            NOTES,
            vec![Answer::Call(vec![("read_file", arguments.clone())]), Answer::Say("Done.")],
            Setup::default(),
        );
        world.turn("do it");
        let result = world.last_results().join("\n");
        for part in expected {
            assert!(result.contains(part), "{arguments}: {part} in {result}");
        }
    };
    check(
        json!({"path": "notes.md"}),
        &[
            "/file_path: required but missing; received path.",
            r#"Example: {"file_path":"src/main.rs"}"#,
            "file_path instead of path",
        ],
    );
    check(json!({"file_path": "notes.md", "offset": "two"}), &["/offset: expected integer, got string \"two\"."]);
    check(json!({"file_path": "notes.md", "offset": -1}), &["/offset: expected at least 1, got -1."]);
    check(json!("{\"file_path\": \"notes.md\", \"limit\": "), &["is truncated"]);
    check(json!("{\"file_path\": \"notes.md\"}{\"file_path\": \"other\"}"), &["2 different JSON objects"]);
    check(json!([1]), &["not a JSON object"]);
    check(json!({"file_path": "notes.md", "offset": 0, "limit": null}), &["lines 1-3 of 3"]);
    check(json!("```json\n{\"file_path\": \"notes.md\"}\n```"), &["lines 1-3 of 3"]);
}

#[test]
fn the_history_holds_the_arguments_that_were_run() {
    let call =
        ("edit_file", json!("{\"file_path\": \"notes.md\", \"old_string\": \"one\ntwo\", \"new_string\": \"1\n2\"}"));
    let world = World::new(NOTES, vec![Answer::Call(vec![call]), Answer::Say("Done.")], Setup::default());
    world.turn("do it");
    assert_eq!(world.disk("notes.md"), "1\n2\nthree\n");
    let history = world.session.history();
    let calls: Vec<&ToolCall> = history.iter().flat_map(Message::tool_calls).collect();
    assert_eq!(calls[0].arguments["old_string"], "one\ntwo");
}

#[test]
fn names_that_come_close_are_suggested_for_tools_paths_and_parameters() {
    let fixture = "//- src/config.rs\nx\n//- src/configure.rs\nx\n//- src/my_config.rs\nx\n//- src/confog.rs\nx\n//- src/other.rs\nx\n";
    let result = |name: &'static str, arguments: Value| {
        let world =
            World::new(fixture, vec![Answer::Call(vec![(name, arguments)]), Answer::Say("Done.")], Setup::default());
        world.turn("do it");
        world.last_results().join("\n")
    };
    // By prefix, then by substring, then by edit distance; three at most.
    let path = result("read_file", json!({"file_path": "src/config"}));
    assert!(path.contains("Did you mean one of config.rs, configure.rs, my_config.rs?"), "{path}");
    let path = result("read_file", json!({"file_path": "src/ohter.rs"}));
    assert!(path.contains("Did you mean other.rs?"), "{path}");
    let tool = result("read", json!({}));
    assert!(
        tool.contains("[unknown_tool]") && tool.contains("Did you mean one of read_file, read_many_files?"),
        "{tool}"
    );
    let parameter = result("edit_file", json!({"file_path": "src/other.rs", "old_str": "x", "new_str": "y"}));
    assert!(parameter.contains("Try: old_string instead of old_str; new_string instead of new_str"), "{parameter}");
}
