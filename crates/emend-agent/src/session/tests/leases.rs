//! The end of a canvas lease: a lease without activity expires, and a dropped run holds none.

use emend_llm::ToolDefinition;
use serde_json::Map;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::canvas::{GUARD_MS_MAX, LEASE_TTL_MS};
use crate::session::core::EditScope;
use crate::test_support::covers;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// A tool that takes time and touches no file. Records whether the canvas is held before and after.
struct Sleeper {
    clock: Shared<TickingClock>,
    sleep_ms: u64,
    held: Mutex<Vec<bool>>,
}

impl Tool for Sleeper {
    fn definition(&self) -> ToolDefinition {
        let parameters = json!({"type": "object", "properties": {}});
        ToolDefinition { name: "sleep".to_owned(), description: String::new(), parameters }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        _arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async {
            let is_held = || context.workspace.canvas().state(self.clock.now_ms()).held;
            self.held.lock().unwrap().push(is_held());
            self.clock.advance(self.sleep_ms);
            self.held.lock().unwrap().push(is_held());
            Ok(ToolOutput::new("slept".to_owned(), Value::Null))
        })
    }
}

/// Edits the canvas, then sleeps. Returns whether the canvas was held before and after the sleep, and the lease events.
fn sleep_after_an_edit(sleep_ms: u64) -> (Vec<bool>, Vec<String>) {
    let mut world = World::new(NOTES, vec![], Setup { canvas: Some("notes.md"), ..Setup::default() });
    let tool = Shared::new(Sleeper { clock: Shared::clone(&world.clock), sleep_ms, held: Mutex::default() });
    let mut registry = core_tools();
    registry.register(Shared::clone(&tool) as Shared<dyn Tool>);
    let calls = |calls| Answer::Call(calls);
    world.restart(
        registry,
        vec![calls(vec![edit("two", "2")]), calls(vec![("sleep", json!({}))]), Answer::Say("Done.")],
    );
    let leases = leases(&world.turn("do it"));
    (tool.held.lock().unwrap().clone(), leases)
}

/// Returns the states of the lease in a log of events.
pub(super) fn leases(events: &str) -> Vec<String> {
    let states = events.lines().filter_map(|line| {
        let data: Value = serde_json::from_str(line.strip_prefix("CANVAS_LEASE ")?).unwrap();
        Some(data["state"].as_str().unwrap().to_owned())
    });
    states.collect()
}

/// Returns a session with the canvas open whose model gives these responses.
pub(super) fn world(answers: Vec<Answer>) -> World {
    World::new(NOTES, answers, Setup { canvas: Some("notes.md"), ..Setup::default() })
}

/// Text, then calls.
fn say_and_call(calls: Vec<(&'static str, Value)>) -> Answer {
    Answer::End("Now the next step.", calls, FinishKind::ToolCalls)
}

#[test]
fn text_before_calls_keeps_the_lease_and_the_final_answer_ends_it() {
    covers("canvas.lease_end");
    let answers = vec![
        say_and_call(vec![read()]),
        say_and_call(vec![edit("one", "1")]),
        Answer::End("Wait.", vec![], FinishKind::Pause),
        say_and_call(vec![edit("two", "2")]),
        Answer::Say("Done."),
    ];
    let world = world(answers);
    assert_eq!(leases(&world.turn("do it")), ["held", "released"]);
    assert_eq!(world.disk("notes.md"), "1\n2\nthree\n");
}

/// A model that reasons before each response for longer than a call in flight keeps a lease.
struct Slow {
    inner: Shared<dyn Provider>,
    clock: Shared<TickingClock>,
}

impl Provider for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        Box::pin(async move {
            let response = self.inner.stream(request, cancel).await?;
            let clock = Shared::clone(&self.clock);
            let thoughts = futures::stream::iter(0..2 * GUARD_MS_MAX / LEASE_TTL_MS).map(move |_| {
                clock.advance(LEASE_TTL_MS - 1_000);
                Ok(StreamEvent::ReasoningDelta { delta: "Hm. ".to_owned() })
            });
            Ok(Box::pin(thoughts.chain(response)) as EventStream)
        })
    }
}

#[test]
fn each_part_of_a_response_renews_the_lease() {
    covers("canvas.expiry");
    let answers =
        vec![Answer::Call(vec![edit("one", "1")]), Answer::Call(vec![edit("two", "2")]), Answer::Say("Done.")];
    let world = world(Vec::new());
    let options = world.options(answers);
    let slow = Shared::new(Slow { inner: options.provider, clock: Shared::clone(&world.clock) });
    let session = Session::new(SessionOptions { provider: slow, ..options });
    let run = session.submit("do it", CancelToken::new()).unwrap();
    let events: Vec<Event> = block_on(run.collect());
    let events: String = events.iter().map(|event| line(&event.kind) + "\n").collect();
    assert_eq!(leases(&events), ["held", "released"]);
}

#[test]
fn a_message_of_the_user_takes_the_canvas_back_until_the_model_reads_it() {
    covers("canvas.preempt");
    let answers = vec![
        Answer::Call(vec![edit("one", "1")]),
        Answer::Call(vec![edit("two", "2")]),
        Answer::Call(vec![edit("three", "3")]),
        Answer::Say("Done."),
    ];
    let world = world(answers);
    world.when(2, |session| session.steer("not the second").unwrap());
    let events = world.turn("do it");
    assert_eq!(leases(&events), ["held", "preempted", "held", "released"], "{events}");
    assert_eq!(events.matches("TOOL_CALL_END edit_file STALE_EPOCH").count(), 1, "{events}");
    assert_eq!(world.disk("notes.md"), "1\ntwo\n3\n");
}

#[test]
fn a_message_of_a_parent_neither_takes_nor_gives_the_canvas() {
    covers("canvas.preempt");
    for user_types in [false, true] {
        let answers = vec![
            Answer::Call(vec![edit("one", "1")]),
            Answer::Call(vec![read()]),
            Answer::Call(vec![edit("two", "2")]),
            Answer::Say("Done."),
        ];
        let world = world(answers);
        let workspace = &world.session.core.workspace;
        let scope = EditScope { run_id: workspace.begin_run(), epoch: workspace.canvas().take_back() };
        world.session.inherit(Some(scope));
        world.when(2, move |session| {
            if user_types {
                session.core.workspace.canvas().take_back();
            }
            session.steer("from the parent").unwrap();
        });
        let states = leases(&world.turn("do it"));
        assert_eq!(states, ["held", if user_types { "preempted" } else { "released" }]);
        let text = if user_types { "1\ntwo\nthree\n" } else { "1\n2\nthree\n" };
        assert_eq!(world.disk("notes.md"), text);
    }
}

#[test]
fn a_lease_expires_while_a_tool_works_elsewhere() {
    covers("canvas.lease_end canvas.expiry");
    let owned = |states: [&str; 2]| states.map(str::to_owned).to_vec();
    assert_eq!(sleep_after_an_edit(LEASE_TTL_MS / 2), (vec![true, true], owned(["held", "released"])));
    assert_eq!(sleep_after_an_edit(LEASE_TTL_MS), (vec![true, false], owned(["held", "expired"])));
}

#[test]
fn a_dropped_run_gives_the_canvas_back_at_once() {
    covers("canvas.lease_end");
    let setup = Setup { canvas: Some("notes.md"), ..Setup::default() };
    let world = World::new(NOTES, vec![Answer::Call(vec![edit("two", "2")])], setup);
    let held = || world.session.core.workspace.canvas().state(world.clock.now_ms()).held;
    let mut run = world.session.submit("do it", CancelToken::new()).unwrap();
    while !line(&block_on(run.next()).unwrap().kind).starts_with("TOOL_CALL_END") {}
    assert!(held());
    drop(run);
    assert!(!held());
    let events = world.session.poll_events(0, usize::MAX).unwrap();
    let released = events.iter().filter(|event| line(&event.kind).contains("\"state\":\"released\""));
    assert_eq!(released.count(), 1);
}
