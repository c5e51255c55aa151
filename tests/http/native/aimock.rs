//! aimock (npm) in all four formats, through reqwest.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use emend_host::{ReqwestTransport, Timeouts};
use emend_llm::{Api, Provider, Shared};
use serde_json::{Value, json};

use crate::cases::{self, KEY};
use crate::parity::{Answer, Cell, Connection, FAMILIES, Family, ROWS, Row};
use crate::support::{covers, provider, run};

/// The server. It ends with this process, because its standard input closes.
struct Mock {
    url: String,
    _child: Child,
}

/// Starts the server once for all tests.
fn url() -> &'static str {
    static MOCK: OnceLock<Mock> = OnceLock::new();
    let mock = MOCK.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("http");
        assert!(folder.join("node_modules").is_dir(), "aimock is not installed: run `cargo xtask setup`");
        let mut child = Command::new("node")
            .arg("mock.mjs")
            .env("EMEND_SESSIONS", sessions().to_string())
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Node.js starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("http://127.0.0.1:"), "aimock printed {line:?} instead of its address");
        Mock { url: line.trim().to_owned(), _child: child }
    });
    &mock.url
}

fn provide(api: Api, key: &str) -> Shared<dyn Provider> {
    provider(api, url(), key)
}

#[test]
fn text_streams_in_every_format() {
    covers("generate.text_deltas");
    run(cases::text_streams_in_every_format(&provide));
}

#[test]
fn reasoning_is_separate_from_text() {
    run(cases::reasoning_is_separate_from_text(&provide));
}

#[test]
fn parallel_calls_stream_and_their_results_go_back() {
    covers("tool_loop.active tool_loop.concurrent tool_loop.one_message");
    run(cases::parallel_calls_stream_and_their_results_go_back(&provide));
}

#[test]
fn long_arguments_stream_in_pieces_that_add_up() {
    covers("stream.partial_json");
    run(cases::long_arguments_stream_in_pieces_that_add_up(&provide));
}

#[test]
fn errors_have_their_class_and_rate_limits_are_retried() {
    covers("adapter.error_class adapter.retry_after");
    run(cases::errors_have_their_class_and_rate_limits_are_retried(&provide, [3000, 3000]));
}

#[test]
fn cancelling_ends_a_running_response() {
    covers("generate.cancel");
    run(cases::cancelling_ends_a_running_response(&provide));
}

/// Runs the smoke test as with real keys; the mock answers like a capable model.
#[test]
fn the_smoke_test_passes_with_every_format() {
    let Some(program) = std::env::var_os("EMEND_SMOKE") else {
        println!("skipped: the smoke test (cargo xtask test --only http builds it)");
        return;
    };
    let variables = ["ANTHROPIC", "OPENAI", "GEMINI", "OPENAI_COMPATIBLE"];
    let variables = variables
        .iter()
        .flat_map(|name| [(format!("{name}_BASE_URL"), url().to_owned()), (format!("{name}_API_KEY"), KEY.to_owned())]);
    let output = Command::new(program).envs(variables).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    println!("{text}");
    assert!(output.status.success());
    // Each provider has six client steps and seven session steps; one provider accepts any model, so it skips one step.
    let n_passed = text.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(n_passed, 4 * 13 - 1);
    assert!(text.lines().last().is_some_and(|line| line.starts_with("51 passed, 0 failed, ")), "{text}");
}

/// Returns the mock's script for every cell: the prompt and the responses.
fn sessions() -> Value {
    let session = |prompt: String, script: Vec<Answer>, family: &Family| {
        let answers = family.answers(&script).into_iter().map(|(text, calls)| {
            let call = |(id, name, arguments): (String, &str, Value)| {
                json!({"id": id, "name": name, "arguments": arguments.to_string()})
            };
            let calls: Vec<Value> = calls.into_iter().map(call).collect();
            if text.is_empty() { json!({ "toolCalls": calls }) } else { json!({ "content": text }) }
        });
        json!({"prompt": prompt, "answers": answers.collect::<Vec<_>>()})
    };
    let mut sessions = Vec::new();
    for row in ROWS.iter().filter(|row| !row.is_skipped()) {
        for family in &FAMILIES {
            sessions.push(session(row.prompt(family), (row.script)(), family));
            let subagent = (row.subagent)();
            if !subagent.is_empty() {
                sessions.push(session(Row::task(family), subagent, family));
            }
        }
    }
    sessions.into()
}

/// Runs the matrix of `docs/parity.md` over HTTP, with responses from a third-party mock of each provider.
#[test]
fn the_parity_matrix_holds_over_http() {
    let (mut n_passed, mut n_skipped) = (0, 0);
    for row in &ROWS {
        for family in &FAMILIES {
            let transport = Shared::new(ReqwestTransport::new(Timeouts::default()));
            let connection = Connection { transport, base_url: Some(url().to_owned()), key: KEY };
            match run(row.run_with(family, connection)) {
                Cell::Passed(bodies) => n_passed += usize::from(!bodies.is_empty()),
                Cell::Skipped => n_skipped += 1,
            }
        }
    }
    println!("{n_passed} of {} cells passed", ROWS.len() * FAMILIES.len());
    if n_skipped > 0 {
        println!("skipped: {n_skipped} cells (there is no shell)");
    }
}
