//! Calls of one message that run concurrently, and calls that wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use emend_llm::ToolDefinition;
use expect_test::expect;
use serde_json::Map;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::covers;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// A tool that counts its concurrent calls; earlier calls take longer.
#[derive(Default)]
struct Slow {
    reads: bool,
    n_running: AtomicUsize,
    n_running_max: AtomicUsize,
}

impl Tool for Slow {
    fn definition(&self) -> ToolDefinition {
        let name = if self.reads { "look" } else { "change" };
        let parameters = json!({"type": "object", "properties": {"turns": {"type": "integer"}}});
        ToolDefinition { name: name.to_owned(), description: String::new(), parameters }
    }

    fn effect(&self) -> ToolEffect {
        if self.reads { ToolEffect::Reads } else { ToolEffect::Writes }
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        _context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut turns_left = arguments["turns"].as_u64().unwrap();
            let n_running = self.n_running.fetch_add(1, Ordering::SeqCst) + 1;
            self.n_running_max.fetch_max(n_running, Ordering::SeqCst);
            std::future::poll_fn(|context| {
                if turns_left == 0 {
                    return Poll::Ready(());
                }
                turns_left -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            self.n_running.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::new(format!("waited {}", arguments["turns"]), Value::Null))
        })
    }
}

/// Runs one message with calls; returns the world and the highest number of concurrent calls of `look` and of `change`.
fn run(calls: Vec<(&'static str, Value)>, parallel: bool) -> (World, String, [usize; 2]) {
    let mut world = World::new(NOTES, vec![], Setup::default());
    let tools = [true, false].map(|reads| Shared::new(Slow { reads, ..Slow::default() }));
    let mut registry = core_tools();
    for tool in &tools {
        registry.register(Shared::clone(tool) as Shared<dyn Tool>);
    }
    world.restart(registry, vec![Answer::Call(calls), Answer::Say("Done.")]);
    world.session.configure(|config| config.parallel_tool_calls = parallel);
    let events = world.turn("do it");
    let counts = tools.map(|tool| tool.n_running_max.load(Ordering::SeqCst));
    (world, events, counts)
}

fn wait(name: &'static str, turns: u64) -> (&'static str, Value) {
    (name, json!({ "turns": turns }))
}

#[test]
fn concurrent_calls_run_together_and_answer_in_their_order() {
    covers("tool.parallel calls.one_message");
    let (world, events, counts) = run(vec![wait("look", 5), wait("look", 1), wait("look", 3)], true);
    assert_eq!(counts, [3, 0]);
    assert_eq!(world.last_results(), ["waited 5", "waited 1", "waited 3"]);
    let tools: Vec<&str> = events.lines().filter(|line| line.starts_with("TOOL")).collect();
    assert!(tools[..3].iter().all(|line| line.starts_with("TOOL_CALL_START")), "{tools:?}");
}

#[test]
fn calls_run_one_by_one_where_the_host_wants_it() {
    covers("calls.one_message");
    assert_eq!(run(vec![wait("look", 2), wait("look", 2)], false).2, [1, 0]);
}

#[test]
fn a_call_that_changes_something_waits_and_is_waited_for() {
    let calls = vec![wait("change", 2), wait("change", 2), wait("look", 2), wait("look", 2), wait("change", 1)];
    assert_eq!(run(calls, true).2, [2, 1]);
    let (world, events, _) = run(vec![read(), edit("two", "2"), read()], true);
    let results = world.last_results();
    assert!(results[0].contains("2 | two") && results[2].contains("2 | 2"), "{results:?}");
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        TOOL_CALL_START read_file
        TOOL_CALL_END read_file ok
        TOOL_CALL_START edit_file
        TOOL_CALL_END edit_file ok
        FILE_CHANGED {"path":"notes.md","revision":1,"pending_hunks":0}
        TOOL_CALL_START read_file
        TOOL_CALL_END read_file ok
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"Do"}
        ASSISTANT_TEXT_DELTA {"delta":"ne."}
        ASSISTANT_TEXT_END {"text":"Done."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
    "#]]
    .assert_eq(&events);
}

#[test]
fn reads_are_counted_in_the_order_of_the_calls() {
    let tools = core_tools();
    let concurrent = |name: &str| tools.get(name).unwrap().1.concurrent();
    assert_eq!(["grep", "glob", "list_dir"].map(concurrent), [true; 3]);
    assert_eq!(["read_file", "write_file", "edit_file", "apply_patch"].map(concurrent), [false; 4]);
}

#[test]
fn cancelling_ends_all_calls_that_run() {
    let mut world = World::new(NOTES, vec![], Setup::default());
    let mut registry = core_tools();
    registry.register(Shared::new(Slow { reads: true, ..Slow::default() }));
    let answers = vec![Answer::Call(vec![wait("look", u64::MAX), wait("look", u64::MAX)]), Answer::Say("Again.")];
    world.restart(registry, answers);
    let cancel = CancelToken::new();
    let mut run = world.session.submit("do it", cancel.clone()).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = block_on(run.next()) {
        lines.push(line(&event.kind));
        if lines.iter().filter(|line| line.starts_with("TOOL_CALL_START")).count() == 2 {
            cancel.cancel();
        }
    }
    let ends: Vec<&String> = lines.iter().filter(|line| line.starts_with("TOOL_CALL_END")).collect();
    assert_eq!(ends, ["TOOL_CALL_END look aborted"; 2]);
    assert!(is_valid(&world.session.entries()));
    assert!(world.turn("go on").contains("Again."));
}
