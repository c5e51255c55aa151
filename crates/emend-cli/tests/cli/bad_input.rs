//! Bad input: error code, exit status, advice in the message, and no changed file.

use crate::support::{Outcome, Project, covers, serve};

const NOT_UTF8: &[u8] = b"caf\xe9\n";

/// The expected code, exit status and words of advice.
struct Expected {
    code: &'static str,
    status: i32,
    advice: &'static str,
}

#[track_caller]
fn check(args: &[&str], env: &[(&str, &str)], expected: Expected) {
    let project = Project::new(&[("a.txt", b"alpha\n"), ("latin1.txt", NOT_UTF8)]);
    let before = project.tree();
    let mut command = project.command(args);
    command.envs(env.iter().copied());
    let outcome = Outcome::of(command.output().unwrap());
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(said.contains(expected.code), "{args:?}: code {} in {said}", expected.code);
    assert_eq!(outcome.status, expected.status, "{args:?}: {said}");
    assert!(said.contains(expected.advice), "{args:?}: {:?} in {said}", expected.advice);
    assert!(!said.contains("sk-secret"), "{args:?}: the key is shown: {said}");
    assert_eq!(project.tree(), before, "{args:?}: no byte of the project changed");
}

fn remote(url: &str) -> Vec<(&'static str, String)> {
    vec![("ANTHROPIC_API_KEY", "sk-secret-key".to_owned()), ("ANTHROPIC_BASE_URL", url.to_owned())]
}

#[track_caller]
fn check_remote(url: &str, expected: Expected) {
    let env = remote(url);
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    check(&["run", "rename alpha to beta", "--model", "anthropic:claude-sonnet-4-5"], &env, expected);
}

#[test]
fn an_empty_task_is_refused() {
    check(&["run", " "], &[], Expected { code: "invalid_argument", status: 2, advice: "describe it" });
}

#[test]
fn an_unknown_model_is_refused() {
    check(&["run", "x", "--model", "gtp-5"], &[], Expected { code: "--model", status: 2, advice: "openai:gpt-5" });
}

#[test]
fn an_invalid_rule_or_value_is_refused() {
    let refused = |advice| Expected { code: "invalid_argument", status: 2, advice };
    check(&["run", "x", "--deny", "shel:rm *"], &[], refused("--deny: unknown tool \"shel\"; did you mean shell?"));
    let setup = Expected { code: "configuration", status: 3, advice: "EMEND_ASK: unknown tool \"edits\"" };
    check(&["config"], &[("EMEND_ASK", "edits")], setup);
    let wrong = |code, advice| Expected { code, status: 2, advice };
    check(&["run", "x", "--effort", "silly"], &[], wrong("--effort", "medium"));
    check(&["rollback", "last"], &[], wrong("<ID>", "from `emend checkpoints`"));
}

#[test]
fn a_state_directory_that_cannot_be_written_is_an_error_with_advice() {
    let advice = "set XDG_STATE_HOME to another directory";
    check(&["undo"], &[("XDG_STATE_HOME", "/proc/none")], Expected { code: "io_error", status: 1, advice });
}

#[test]
fn a_missing_root_is_named() {
    check(&["run", "x", "--root", "no/such/dir"], &[], Expected { code: "configuration", status: 3, advice: "--root" });
}

#[test]
fn a_missing_api_key_names_its_variable() {
    for (model, advice) in [
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-x", "OPENAI_API_KEY"),
        ("gemini:gemini-x", "GEMINI_API_KEY"),
        ("openai_compatible:qwen3:8b", "OPENAI_COMPATIBLE_BASE_URL"),
    ] {
        check(&["run", "x", "--model", model], &[], Expected { code: "configuration", status: 3, advice });
    }
}

#[test]
fn a_rejected_api_key_names_its_variable() {
    let url = serve(
        b"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n\
          {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid x-api-key\"}}",
    );
    check_remote(&url, Expected { code: "authentication", status: 3, advice: "ANTHROPIC_API_KEY" });
}

#[test]
fn an_unreachable_host_is_named() {
    check_remote("http://127.0.0.1:1", Expected { code: "network", status: 4, advice: "127.0.0.1:1" });
}

#[test]
fn a_stream_cut_in_the_middle_is_an_error() {
    let url = serve(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
          event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"c\",\"usage\":{}}}\n\n\
          event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
          event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"I will\"}}\n\n",
    );
    check_remote(&url, Expected { code: "stream", status: 4, advice: "I will" });
}

#[test]
fn malformed_events_are_an_error() {
    let url =
        serve(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {not json\n\n");
    check_remote(&url, Expected { code: "stream", status: 4, advice: "emend: error" });
}

#[test]
fn a_file_that_is_not_utf8_is_left_alone() {
    for call in [
        ["read_file", r#"{"file_path": "latin1.txt"}"#],
        ["edit_file", r#"{"file_path": "latin1.txt", "old_string": "caf", "new_string": "CAF"}"#],
        ["write_file", r#"{"file_path": "latin1.txt", "content": "x"}"#],
    ] {
        check(&["tools", "call", call[0], call[1]], &[], Expected { code: "unsupported", status: 1, advice: "UTF-8" });
    }
}

#[test]
fn a_path_outside_the_root_is_denied() {
    covers("confinement.path");
    for path in ["../outside.txt", "/etc/hosts", "a/../../outside.txt"] {
        let arguments = format!(r#"{{"file_path": "{path}", "content": "x"}}"#);
        check(
            &["tools", "call", "write_file", &arguments],
            &[],
            Expected { code: "permission_denied", status: 1, advice: "relative to the project root" },
        );
    }
}

#[test]
fn an_empty_path_is_refused() {
    check(
        &["tools", "call", "read_file", r#"{"file_path": ""}"#],
        &[],
        Expected { code: "invalid_argument", status: 1, advice: "name a path" },
    );
}

#[test]
fn unknown_tools_and_arguments_are_named() {
    check(&["tools", "call", "read_fil", "{}"], &[], Expected { code: "unknown_tool", status: 1, advice: "read_file" });
    check(
        &["tools", "call", "read_file", "{}"],
        &[],
        Expected { code: "invalid_argument", status: 1, advice: "required but missing" },
    );
    check(
        &["tools", "call", "read_file", "{nonsense"],
        &[],
        Expected { code: "invalid_argument", status: 2, advice: "not JSON" },
    );
}

#[test]
fn nothing_to_undo_is_an_error() {
    check(&["undo"], &[], Expected { code: "not_found", status: 1, advice: "nothing to undo" });
}
