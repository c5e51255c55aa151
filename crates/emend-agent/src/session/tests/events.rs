//! Several readers of one session's events at different speeds.

use expect_test::expect;
use futures::FutureExt;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::covers;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
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
    covers("event.kinds");
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
