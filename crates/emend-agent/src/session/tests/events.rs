//! Several readers of one session's events at different speeds.

use expect_test::expect;
use futures::FutureExt;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::approval::{Action, Approval, ApprovalRequest, Approver, Policy, Rule};
use crate::test_support::covers;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::tools::register_subagent_tools;
use emend_llm::ToolDefinition;
use serde_json::Map;

fn lines(events: &[Event]) -> String {
    events.iter().map(|event| line(&event.kind) + "\n").collect()
}

#[test]
fn a_second_reader_sees_the_same_whenever_it_reads() {
    covers("event.readers event.stream");
    let answers = vec![Answer::Call(vec![read()]), Answer::Say("Done."), Answer::Say("Again.")];
    let world = World::new(NOTES, answers, Setup::default());
    let mut late = world.session.subscribe(0).unwrap();
    assert_eq!(line(&late.next().now_or_never().unwrap().unwrap().kind).split(' ').next(), Some("SESSION_START"));
    assert!(late.next().now_or_never().is_none(), "nothing has happened yet");
    world.turn("do it");
    let rest: Vec<Event> = std::iter::from_fn(|| late.next().now_or_never().flatten()).collect();
    expect![[r#"
        USER_INPUT {"content":"do it"}
        TOOL_CALL_START read_file
        TOOL_CALL_END read_file ok
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"Done."}
        ASSISTANT_TEXT_END {"text":"Done."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
    "#]]
    .assert_eq(&lines(&rest));
    let from_the_middle = world.session.poll_events(rest[3].cursor, 2).unwrap();
    assert_eq!(from_the_middle[..], rest[4..6]);
    world.session.close();
    assert_eq!(line(&late.next().now_or_never().unwrap().unwrap().kind), "SESSION_END {\"state\":\"CLOSED\"}");
    assert!(block_on(late.next()).is_none(), "the stream ends with the session");
}

#[test]
fn a_reader_outside_the_turn_is_told_when_the_turn_was_dropped() {
    let world = World::new(NOTES, vec![Answer::Call(vec![read()])], Setup::default());
    let mut run = world.session.submit("do it", CancelToken::new()).unwrap();
    for _event in 0..3 {
        block_on(run.next());
    }
    drop(run);
    let events = world.session.poll_events(0, usize::MAX).unwrap();
    assert!(
        lines(&events)
            .ends_with("PROCESSING_END {\"reason\":\"aborted\",\"usage\":{\"input_tokens\":0,\"output_tokens\":0,\"total_tokens\":0}}\n")
    );
}

#[test]
fn a_stream_of_events_ends_when_nobody_holds_the_session() {
    let World { session, script, .. } = World::new(NOTES, vec![], Setup::default());
    let mut events = session.subscribe(0).unwrap();
    drop((session, script));
    assert!(block_on(events.next()).is_some());
    assert!(block_on(events.next()).is_none());
}

#[test]
fn what_is_no_longer_kept_has_to_be_read_anew() {
    let config = SessionConfig { event_bytes_max: 2_000, ..SessionConfig::default() };
    let world = World::new(NOTES, vec![Answer::Say("Done."); 3], Setup { config, ..Setup::default() });
    for _turn in 0..3 {
        assert!(world.turn("do it").contains("Done."), "the run itself misses nothing");
    }
    let gone = world.session.subscribe(0).err().unwrap();
    assert_eq!(gone.last, world.session.cursor());
    assert!(!world.session.poll_events(gone.floor, 99).unwrap().is_empty());
}

/// A tool that produces output while it runs.
struct Chatty;

impl Tool for Chatty {
    fn definition(&self) -> ToolDefinition {
        let parameters = json!({"type": "object", "properties": {}});
        ToolDefinition { name: "chatty".to_owned(), description: "Prints.".to_owned(), parameters }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
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
            context.progress.show("one\n");
            context.progress.show("");
            context.progress.show(&"x".repeat(2 << 20));
            Ok(ToolOutput::new("one\ntwo\n", Value::Null))
        })
    }
}

#[test]
fn what_a_tool_prints_is_shown_as_it_comes_up_to_a_bound() {
    let mut world = World::new(NOTES, vec![], Setup::default());
    let mut tools = core_tools();
    tools.register(Shared::new(Chatty));
    world.restart(tools, vec![Answer::Call(vec![("chatty", json!({}))]), Answer::Say("Done.")]);
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        TOOL_CALL_START chatty
        TOOL_CALL_OUTPUT_DELTA {"call_id":"call_1_0","delta":"one\n"}
        TOOL_CALL_END chatty ok
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"Do"}
        ASSISTANT_TEXT_DELTA {"delta":"ne."}
        ASSISTANT_TEXT_END {"text":"Done."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
    "#]]
    .assert_eq(&world.turn("do it"));
}

/// Allows every call.
struct Allows;

impl Approver for Allows {
    fn approve<'a>(&'a self, _request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::ready(Approval::Allow))
    }
}

/// Every kind of event. The compiler rejects a kind that is missing here.
fn name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::SessionStart { .. } => "SESSION_START",
        EventKind::SessionEnd { .. } => "SESSION_END",
        EventKind::UserInput { .. } => "USER_INPUT",
        EventKind::ProcessingEnd { .. } => "PROCESSING_END",
        EventKind::AssistantTextStart {} => "ASSISTANT_TEXT_START",
        EventKind::AssistantTextDelta { .. } => "ASSISTANT_TEXT_DELTA",
        EventKind::AssistantTextEnd { .. } => "ASSISTANT_TEXT_END",
        EventKind::ReasoningStart {} => "REASONING_START",
        EventKind::ReasoningDelta { .. } => "REASONING_DELTA",
        EventKind::ReasoningEnd { .. } => "REASONING_END",
        EventKind::ToolCallStart { .. } => "TOOL_CALL_START",
        EventKind::ApprovalRequested(_) => "APPROVAL_REQUESTED",
        EventKind::ApprovalResolved { .. } => "APPROVAL_RESOLVED",
        EventKind::ToolCallOutputDelta { .. } => "TOOL_CALL_OUTPUT_DELTA",
        EventKind::ToolCallEnd { .. } => "TOOL_CALL_END",
        EventKind::FileChanged { .. } => "FILE_CHANGED",
        EventKind::CanvasLease { .. } => "CANVAS_LEASE",
        EventKind::SubagentStart { .. } => "SUBAGENT_START",
        EventKind::SubagentEvent { .. } => "SUBAGENT_EVENT",
        EventKind::SubagentEnd { .. } => "SUBAGENT_END",
        EventKind::SteeringInjected { .. } => "STEERING_INJECTED",
        EventKind::SteeringReturned { .. } => "STEERING_RETURNED",
        EventKind::TurnLimit { .. } => "TURN_LIMIT",
        EventKind::BudgetExceeded { .. } => "BUDGET_EXCEEDED",
        EventKind::LoopDetection { .. } => "LOOP_DETECTION",
        EventKind::Warning { .. } => "WARNING",
        EventKind::Error(_) => "ERROR",
    }
}

/// Number of kinds in [`name`].
const N_KINDS: usize = 27;

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn every_kind_of_event_comes_at_its_moment() {
    covers("event.kinds event.session");
    let config = SessionConfig {
        loop_detection_window: 2,
        policy: Policy { rules: vec![Rule::parse(Action::Ask, "shell").unwrap()], otherwise: Action::Allow },
        approver: Some(Shared::new(Allows)),
        ..SessionConfig::default()
    };
    let setup = Setup { config, canvas: Some("notes.md"), staged: true, ..Setup::with_shell() };
    let mut world = World::new(NOTES, vec![], setup);
    let mut tools = core_tools();
    register_subagent_tools(&mut tools);
    let call = |name, arguments| Answer::Call(vec![(name, arguments)]);
    world.restart(
        tools,
        vec![
            Answer::Call(vec![edit("two", "2")]),
            call("shell", json!({"command": "echo hi"})),
            Answer::Reason("Hm.", "Done."),
            // A subagent, whose only answer is the second one.
            Answer::Call(vec![("spawn_agent", json!({"task": "look"})), ("wait", json!({"agent_id": "agent_1"}))]),
            Answer::Say("Nothing."),
            Answer::Say("Done."),
            // A loop, and the limit on rounds.
            Answer::Call(vec![read()]),
            Answer::Call(vec![read()]),
            // A message for a run that is cancelled.
            Answer::Say("Too late."),
            Answer::Say(""),
            // The budget.
            Answer::Call(vec![read()]),
            Answer::Refuse(ErrorKind::Authentication),
        ],
    );
    world.when(2, |session| session.steer("be brief").unwrap());
    world.turn("edit");
    world.turn("delegate");
    world.session.configure(|config| config.max_tool_rounds_per_input = 2);
    world.turn("loop");
    let cancel = CancelToken::new();
    let cancelled = cancel.clone();
    world.when(9, move |session| {
        session.steer("the other way").unwrap();
        cancelled.cancel();
    });
    let _: Vec<Event> = block_on(world.session.submit("cancel", cancel).unwrap().collect());
    world.turn("say nothing");
    world.session.configure(|config| config.run_budget.tokens = 1);
    world.turn("spend");
    world.turn("fail");
    let events = world.session.poll_events(0, usize::MAX).unwrap();
    let mut kinds: Vec<&str> = events.iter().map(|event| name(&event.kind)).collect();
    let mut shown = kinds.join(" ").replace("PROCESSING_END ", "PROCESSING_END\n");
    shown.push('\n');
    expect![[r#"
        SESSION_START USER_INPUT TOOL_CALL_START CANVAS_LEASE TOOL_CALL_END FILE_CHANGED CANVAS_LEASE TOOL_CALL_START APPROVAL_REQUESTED APPROVAL_RESOLVED TOOL_CALL_OUTPUT_DELTA TOOL_CALL_END STEERING_INJECTED REASONING_START REASONING_DELTA REASONING_END ASSISTANT_TEXT_START ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_END PROCESSING_END
        USER_INPUT TOOL_CALL_START SUBAGENT_START TOOL_CALL_END TOOL_CALL_START SUBAGENT_EVENT SUBAGENT_EVENT SUBAGENT_EVENT SUBAGENT_EVENT TOOL_CALL_END SUBAGENT_END ASSISTANT_TEXT_START ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_END PROCESSING_END
        USER_INPUT TOOL_CALL_START CANVAS_LEASE TOOL_CALL_END TOOL_CALL_START TOOL_CALL_END LOOP_DETECTION TURN_LIMIT CANVAS_LEASE PROCESSING_END
        USER_INPUT ASSISTANT_TEXT_START ASSISTANT_TEXT_DELTA ASSISTANT_TEXT_END STEERING_RETURNED PROCESSING_END
        USER_INPUT WARNING PROCESSING_END
        USER_INPUT TOOL_CALL_START CANVAS_LEASE TOOL_CALL_END BUDGET_EXCEEDED CANVAS_LEASE PROCESSING_END
        USER_INPUT ERROR PROCESSING_END
        SESSION_END
    "#]].assert_eq(&shown);
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), N_KINDS, "{kinds:?}");
}

#[test]
fn ends_of_texts_and_calls_have_the_reasoning_and_the_data() {
    let answers = vec![
        Answer::Call(vec![
            ("read_file", json!({ "file_path": "notes.md" })),
            ("read_file", json!({ "file_path": "no" })),
        ]),
        Answer::Reason("Hm.", "Done."),
    ];
    let world = World::new(NOTES, answers, Setup::default());
    let run = world.session.submit("go", CancelToken::new()).unwrap();
    let events: Vec<Event> = block_on(run.collect());
    let mut ends = events.into_iter().filter_map(|event| match serde_json::to_value(&event.kind).unwrap() {
        kind if kind["kind"] == "TOOL_CALL_END" || kind["kind"] == "ASSISTANT_TEXT_END" => Some(kind["data"].clone()),
        _ => None,
    });
    let (read, failed, text) = (ends.next().unwrap(), ends.next().unwrap(), ends.next().unwrap());
    assert_eq!((&read["data"]["file_path"], &read["data"]["version"]), (&json!("notes.md"), &json!(1)), "{read}");
    assert_eq!((read.get("error"), read.get("error_info")), (None, None));
    assert_eq!(failed["error"], failed["error_info"]["message"]);
    assert_eq!((&failed["error_info"]["code"], failed.get("data")), (&json!("not_found"), None));
    assert_eq!(text, json!({ "text": "Done.", "reasoning": "Hm." }));
}
