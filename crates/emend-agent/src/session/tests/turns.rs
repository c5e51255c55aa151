//! Runs: reads and edits, errors that teach the model, retries, cancellation, the canvas.

use expect_test::expect;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use emend_llm::RetryPolicy;
use futures::FutureExt as _;

use super::*;
use crate::test_support::covers;

#[test]
fn a_turn_reads_edits_and_ends_when_no_tool_is_asked_for() {
    covers("loop.session loop.rounds loop.natural_end tool.registry event.stream streaming.text");
    let world = check(
        NOTES,
        vec![
            Answer::Call(vec![read()]),
            Answer::Call(vec![edit("two", "2"), edit("three", "3")]),
            Answer::Say("Done."),
        ],
        Setup::default(),
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            TOOL_CALL_START read_file
            TOOL_CALL_END read_file ok
            TOOL_CALL_START edit_file
            TOOL_CALL_END edit_file ok
            FILE_CHANGED {"path":"notes.md","revision":1,"pending_hunks":0}
            TOOL_CALL_START edit_file
            TOOL_CALL_END edit_file ok
            FILE_CHANGED {"path":"notes.md","revision":2,"pending_hunks":0}
            ASSISTANT_TEXT_START {}
            ASSISTANT_TEXT_DELTA {"delta":"Do"}
            ASSISTANT_TEXT_DELTA {"delta":"ne."}
            ASSISTANT_TEXT_END {"text":"Done."}
            PROCESSING_END {"reason":"natural","usage":{"input_tokens":30,"output_tokens":3,"total_tokens":33}}
        "#]],
    );
    assert_eq!(world.disk("notes.md"), "one\n2\n3\n");
    assert_eq!(world.session.history().len(), 6);
}

#[test]
fn a_run_without_tools_adds_two_messages_and_each_round_two_more() {
    covers("streaming.entries");
    let answers = vec![Answer::Say("Hi."), Answer::Call(vec![read()]), Answer::Say("Done.")];
    let world = World::new(NOTES, answers, Setup::default());
    let roles = || world.session.history().iter().map(|message| message.role).collect::<Vec<_>>();
    world.turn("hello");
    assert_eq!(roles(), [Role::User, Role::Assistant]);
    world.turn("read");
    assert_eq!(roles()[2..], [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
}

#[test]
fn unknown_tools_and_bad_arguments_are_error_results_that_teach() {
    covers("tool.unknown tool.arguments error.tool");
    let world = check(
        NOTES,
        vec![
            Answer::Call(vec![("read_fil", json!({})), ("read_file", json!({"path": "a"})), ("read_file", json!("{"))]),
            Answer::Say("I see."),
        ],
        Setup::default(),
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            TOOL_CALL_START read_fil
            TOOL_CALL_END read_fil unknown_tool
            TOOL_CALL_START read_file
            TOOL_CALL_END read_file invalid_argument
            TOOL_CALL_START read_file
            TOOL_CALL_END read_file invalid_argument
            ASSISTANT_TEXT_START {}
            ASSISTANT_TEXT_DELTA {"delta":"I s"}
            ASSISTANT_TEXT_DELTA {"delta":"ee."}
            ASSISTANT_TEXT_END {"text":"I see."}
            PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
        "#]],
    );
    // A session whose environment has no shell leaves that tool out.
    let tools = world.session.core.settings().tools.names().collect::<Vec<_>>().join(", ");
    assert!(tools.starts_with("read_file, read_many_files, ") && tools.ends_with(", clarify_user"), "{tools}");
    assert!(!tools.contains("shell"), "{tools}");
    let results = world.last_results().join("\n");
    expect![[r#"
        error: Tool error (read_fil): [unknown_tool] Unknown tool: read_fil. The tools are TOOLS.
        Did you mean read_file?
        error: Tool error (read_file): [invalid_argument] Invalid arguments for tool: read_file: /file_path: required but missing; received path. Example: {"file_path":"src/main.rs"} Schema: {"type":"object","required":["file_path"],"properties":{"file_path":{"type":"string","description":"Path under the working directory."},"offset":{"type":"integer","minimum":1,"description":"First line to show, from 1. Default 1."},"limit":{"type":"integer","minimum":1,"description":"Most lines to show. Default 2000."}}}
        Try: file_path instead of path
        error: Tool error (read_file): [invalid_argument] Invalid arguments for tool: read_file: The JSON of the arguments is truncated. The call did not run. Send it again, in smaller pieces. Example: {"file_path":"src/main.rs"} Schema: {"type":"object","required":["file_path"],"properties":{"file_path":{"type":"string","description":"Path under the working directory."},"offset":{"type":"integer","minimum":1,"description":"First line to show, from 1. Default 1."},"limit":{"type":"integer","minimum":1,"description":"Most lines to show. Default 2000."}}}"#]].assert_eq(&results.replace(&tools, "TOOLS"));
}

#[test]
fn a_file_that_is_missing_is_an_error_result_with_a_suggestion() {
    covers("tool.error debug.suggestion error.tool");
    let calls = vec![("read_file", json!({"file_path": "note.md"})), ("read_file", json!({"file_path": "../x"}))];
    let world = World::new(NOTES, vec![Answer::Call(calls), Answer::Say("I see.")], Setup::default());
    world.turn("do it");
    expect![[r#"
        error: Tool error (read_file): [not_found] note.md does not exist
        Did you mean notes.md?
        error: Tool error (read_file): [permission_denied] ../x is outside the project root
        Try: use a path relative to the project root, e.g. ".""#]]
    .assert_eq(&world.last_results().join("\n"));
}

#[test]
fn staged_edits_wait_and_the_model_sees_them() {
    let setup = Setup { staged: true, ..Setup::default() };
    let answers = vec![Answer::Call(vec![edit("two", "2")]), Answer::Call(vec![read()]), Answer::Say("Done.")];
    let world = check(
        NOTES,
        answers,
        setup,
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            TOOL_CALL_START edit_file
            TOOL_CALL_END edit_file ok
            FILE_CHANGED {"path":"notes.md","revision":1,"pending_hunks":1}
            TOOL_CALL_START read_file
            TOOL_CALL_END read_file ok
            ASSISTANT_TEXT_START {}
            ASSISTANT_TEXT_DELTA {"delta":"Do"}
            ASSISTANT_TEXT_DELTA {"delta":"ne."}
            ASSISTANT_TEXT_END {"text":"Done."}
            PROCESSING_END {"reason":"natural","usage":{"input_tokens":30,"output_tokens":3,"total_tokens":33}}
        "#]],
    );
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
    assert!(world.last_results()[0].contains("2 | 2"));
}

#[test]
fn a_cancelled_turn_answers_every_call_and_the_session_goes_on() {
    covers("loop.cancel loop.next_message call.one_result");
    let setup = Setup { cancel_at: Some(2), ..Setup::default() };
    let answers = vec![Answer::Call(vec![read()]), Answer::Call(vec![edit("two", "2")]), Answer::Say("Again.")];
    let world = check(
        NOTES,
        answers,
        setup,
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            TOOL_CALL_START read_file
            TOOL_CALL_END read_file ok
            PROCESSING_END {"reason":"aborted","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
        "#]],
    );
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
    assert!(!world.session.is_closed());
    assert!(world.turn("go on").contains("Again."));
}

#[test]
fn a_reader_who_cancels_when_a_call_begins_stops_that_call() {
    let answers = vec![Answer::Call(vec![read()]), Answer::Call(vec![edit("two", "2")]), Answer::Say("Again.")];
    let world = World::new(NOTES, answers, Setup::default());
    let cancel = CancelToken::new();
    let mut run = world.session.submit("do it", cancel.clone()).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = block_on(run.next()) {
        lines.push(line(&event.kind));
        if lines.last().unwrap() == "TOOL_CALL_START edit_file" {
            cancel.cancel();
        }
    }
    assert!(lines.contains(&"TOOL_CALL_END edit_file aborted".to_owned()), "{lines:?}");
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
    assert!(world.turn("go on").contains("Again."));
}

#[test]
fn a_turn_that_is_dropped_half_way_leaves_a_session_that_goes_on() {
    let answers = vec![Answer::Call(vec![read()]), Answer::Say("Again.")];
    let world = World::new(NOTES, answers, Setup::default());
    let mut run = world.session.submit("do it", CancelToken::new()).unwrap();
    for _event in 0..3 {
        block_on(run.next());
    }
    assert_eq!(world.session.submit("x", CancelToken::new()).err(), Some(SubmitError::Busy));
    drop(run);
    let next = world.turn("go on");
    assert!(next.starts_with("USER_INPUT {\"content\":\"go on\"}") && next.contains("Again."), "{next}");
}

#[test]
fn a_stream_that_breaks_off_keeps_what_was_said() {
    let answers = vec![Answer::SayThenBreakOff("I will"), Answer::Say("Again.")];
    let world = check(
        NOTES,
        answers,
        Setup::default(),
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            ASSISTANT_TEXT_START {}
            ASSISTANT_TEXT_DELTA {"delta":"I w"}
            ASSISTANT_TEXT_DELTA {"delta":"ill"}
            ASSISTANT_TEXT_END {"text":"I will"}
            ERROR {"code":"stream","message":"the answer broke off","suggestions":[],"data":{"kind":"stream"}}
            PROCESSING_END {"reason":"error","usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}}
        "#]],
    );
    assert_eq!(world.session.history().last().unwrap().text(), "I will");
    assert!(world.turn("go on").contains("Again."));
}

#[test]
fn a_call_that_fails_for_now_is_tried_again_and_each_time_told() {
    covers("error.retry event.retry");
    let answers = vec![Answer::Refuse(ErrorKind::Server), Answer::Refuse(ErrorKind::RateLimit), Answer::Say("Done.")];
    check(
        NOTES,
        answers,
        Setup::default(),
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            WARNING {"code":"retry","message":"refused by the script. Trying again in 0.5 s (1 of 2)."}
            WARNING {"code":"retry","message":"refused by the script. Trying again in 1.0 s (2 of 2)."}
            ASSISTANT_TEXT_START {}
            ASSISTANT_TEXT_DELTA {"delta":"Do"}
            ASSISTANT_TEXT_DELTA {"delta":"ne."}
            ASSISTANT_TEXT_END {"text":"Done."}
            PROCESSING_END {"reason":"natural","usage":{"input_tokens":10,"output_tokens":1,"total_tokens":11}}
        "#]],
    );
}

#[test]
fn a_failure_that_stays_ends_the_turn_and_not_the_session() {
    let failures = [ErrorKind::Server, ErrorKind::Network, ErrorKind::Server].map(Answer::Refuse);
    let mut answers = Vec::from(failures);
    answers.push(Answer::Say("Again."));
    let world = check(
        NOTES,
        answers,
        Setup::default(),
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            WARNING {"code":"retry","message":"refused by the script. Trying again in 0.5 s (1 of 2)."}
            WARNING {"code":"retry","message":"refused by the script. Trying again in 1.0 s (2 of 2)."}
            ERROR {"code":"provider","message":"refused by the script","suggestions":[],"data":{"kind":"server"}}
            PROCESSING_END {"reason":"error","usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}}
        "#]],
    );
    assert!(world.turn("go on").contains("Again."));
    let none = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
    let config = SessionConfig { retry: none, ..SessionConfig::default() };
    let answers = vec![Answer::Refuse(ErrorKind::Server)];
    let events = World::new(NOTES, answers, Setup { config, ..Setup::default() }).turn("do it");
    assert!(!events.contains("WARNING"), "{events}");
}

#[test]
fn cancelling_ends_the_wait_for_another_try() {
    let setup = Setup { cancel_at: Some(1), ..Setup::default() };
    let events = World::new(NOTES, vec![Answer::Refuse(ErrorKind::Server)], setup).turn("do it");
    assert!(events.contains("PROCESSING_END {\"reason\":\"aborted\""), "{events}");
}

#[test]
fn a_refused_key_closes_the_session() {
    covers("error.authentication event.session");
    let world = check(
        NOTES,
        vec![Answer::Refuse(ErrorKind::Authentication)],
        Setup::default(),
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            ERROR {"code":"authentication","message":"refused by the script","suggestions":[],"data":{"kind":"authentication"}}
            PROCESSING_END {"reason":"error","usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}}
            SESSION_END {"state":"CLOSED"}
        "#]],
    );
    assert_eq!(world.session.submit("x", CancelToken::new()).err(), Some(SubmitError::Closed));
}

#[test]
fn a_session_that_a_failure_closed_goes_on_with_its_id_and_cursors() {
    let world =
        World::new(NOTES, vec![Answer::Refuse(ErrorKind::Authentication), Answer::Say("Yes.")], Setup::default());
    let (id, mut reader) = (world.session.id().to_owned(), world.session.subscribe(0).unwrap());
    world.turn("do it");
    assert!(world.session.is_closed());
    world.session.follow_up("later").unwrap_err();
    world.session.open_again();
    world.session.open_again();
    let events = world.turn("again");
    assert!(events.starts_with("SESSION_START ") && events.contains("Yes."), "{events}");
    assert_eq!((world.session.id(), world.session.history().len()), (id.as_str(), 3));
    let ready = std::iter::from_fn(|| reader.next().now_or_never().flatten());
    let told: Vec<String> = ready.map(|event| line(&event.kind).split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(told.iter().filter(|kind| *kind == "SESSION_START").count(), 2, "{told:?}");
    assert_eq!(told.last().unwrap(), "PROCESSING_END");
    world.session.close();
    assert_eq!(block_on(reader.next()).map(|event| line(&event.kind)).unwrap(), r#"SESSION_END {"state":"CLOSED"}"#);
    assert!(block_on(reader.next()).is_none(), "a session that its host closes ends the streams");
    world.session.open_again();
    assert!(world.session.is_closed());
}

#[test]
fn a_session_that_a_failure_closed_can_be_closed_for_good() {
    let world = World::new(NOTES, vec![Answer::Refuse(ErrorKind::Authentication)], Setup::default());
    world.turn("do it");
    world.session.close();
    let told: Vec<Event> = block_on(world.session.subscribe(0).unwrap().collect());
    let n_ends = told.iter().filter(|event| matches!(event.kind, EventKind::SessionEnd { .. })).count();
    world.session.open_again();
    assert_eq!((n_ends, world.session.is_closed()), (1, true));
}

#[test]
fn a_call_that_the_output_limit_cut_off_is_never_run() {
    covers("call.truncated");
    let (name, arguments) = edit("two", "");
    let cut = Answer::End("", vec![(name, arguments)], FinishKind::Length);
    let answers = vec![cut, Answer::Say("I will try smaller.")];
    let world = World::new(NOTES, answers, Setup::default());
    world.turn("do it");
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
    expect![[r#"error: Tool error (edit_file): [limit_reached] This call was cut off by the output limit and was not run. Its arguments so far: {"file_path":"notes.md","old_string":"two","new_string":""} Repeat it in smaller pieces."#]].assert_eq(&world.last_results().join("\n"));
}

#[test]
fn a_limit_on_rounds_ends_the_turn() {
    covers("loop.round_limit");
    let config = SessionConfig { max_tool_rounds_per_input: 1, ..SessionConfig::default() };
    let world = World::new(NOTES, vec![Answer::Call(vec![read()])], Setup { config, ..Setup::default() });
    assert!(
        world
            .turn("do it")
            .contains("TURN_LIMIT {\"round\":1,\"total_turns\":1}\nPROCESSING_END {\"reason\":\"turn_limit\"")
    );
}

#[test]
fn an_empty_message_is_refused_before_anything_happens() {
    let world = World::new(NOTES, Vec::new(), Setup::default());
    assert_eq!(world.session.submit(" \n", CancelToken::new()).err(), Some(SubmitError::Empty));
    assert!(world.session.history().is_empty());
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn the_open_file_is_leased_while_the_agent_works_on_it() {
    let setup = Setup { staged: true, canvas: Some("notes.md"), ..Setup::default() };
    let answers = vec![Answer::Call(vec![read()]), Answer::Call(vec![edit("two", "2")]), Answer::Say("Done.")];
    check(
        NOTES,
        answers,
        setup,
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            TOOL_CALL_START read_file
            CANVAS_LEASE {"path":"notes.md","state":"held","epoch":2}
            TOOL_CALL_END read_file ok
            TOOL_CALL_START edit_file
            TOOL_CALL_END edit_file ok
            FILE_CHANGED {"path":"notes.md","revision":1,"pending_hunks":1}
            ASSISTANT_TEXT_START {}
            ASSISTANT_TEXT_DELTA {"delta":"Do"}
            ASSISTANT_TEXT_DELTA {"delta":"ne."}
            ASSISTANT_TEXT_END {"text":"Done."}
            CANVAS_LEASE {"path":"notes.md","state":"released","epoch":2}
            PROCESSING_END {"reason":"natural","usage":{"input_tokens":30,"output_tokens":3,"total_tokens":33}}
        "#]],
    );
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn a_cancelled_run_gives_the_canvas_back_to_the_user() {
    let setup = Setup { canvas: Some("notes.md"), cancel_at: Some(2), ..Setup::default() };
    let answers = vec![Answer::Call(vec![read()]), Answer::Call(vec![edit("two", "2")])];
    check(
        NOTES,
        answers,
        setup,
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            TOOL_CALL_START read_file
            CANVAS_LEASE {"path":"notes.md","state":"held","epoch":2}
            TOOL_CALL_END read_file ok
            CANVAS_LEASE {"path":"notes.md","state":"preempted","epoch":3}
            PROCESSING_END {"reason":"aborted","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
        "#]],
    );
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn a_user_who_takes_the_canvas_back_keeps_it_for_the_rest_of_the_turn() {
    let setup = Setup { canvas: Some("notes.md"), preempt_at: Some(2), ..Setup::default() };
    let answers = vec![
        Answer::Call(vec![read()]),
        Answer::Call(vec![edit("two", "2")]),
        Answer::Call(vec![edit("two", "2")]),
        Answer::Say("You took over."),
        Answer::Call(vec![edit("two", "2")]),
        Answer::Say("Done."),
    ];
    let world = check(
        NOTES,
        answers,
        setup,
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            TOOL_CALL_START read_file
            CANVAS_LEASE {"path":"notes.md","state":"held","epoch":2}
            TOOL_CALL_END read_file ok
            CANVAS_LEASE {"path":"notes.md","state":"preempted","epoch":3}
            TOOL_CALL_START edit_file
            TOOL_CALL_END edit_file STALE_EPOCH
            TOOL_CALL_START edit_file
            TOOL_CALL_END edit_file STALE_EPOCH
            ASSISTANT_TEXT_START {}
            ASSISTANT_TEXT_DELTA {"delta":"You too"}
            ASSISTANT_TEXT_DELTA {"delta":"k over."}
            ASSISTANT_TEXT_END {"text":"You took over."}
            PROCESSING_END {"reason":"natural","usage":{"input_tokens":40,"output_tokens":4,"total_tokens":44}}
        "#]],
    );
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n", "no write of the old epoch landed");
    world.turn("go on");
    assert_eq!(world.disk("notes.md"), "one\n2\nthree\n", "a new message gives it back");
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn a_move_from_or_onto_the_open_file_needs_its_lease() {
    for (from, to) in [("notes.md", "c.md"), ("other.md", "notes.md")] {
        let files = format!("{NOTES}//- other.md\nother\n");
        let call = || Answer::Call(vec![("move_file", json!({"from": from, "to": to, "overwrite": true}))]);
        let setup = || Setup { canvas: Some("notes.md"), ..Setup::default() };
        let world = World::new(&files, vec![call(), Answer::Say("Done.")], setup());
        let events = world.turn("do it");
        assert!(events.contains(r#"CANVAS_LEASE {"path":"notes.md","state":"held""#), "{events}");
        assert!(world.last_results()[0].starts_with(&format!("Moved {from} to {to}")), "{:?}", world.last_results());
        let answers = vec![Answer::Call(vec![read()]), call(), Answer::Say("Done.")];
        let world = World::new(&files, answers, Setup { preempt_at: Some(2), ..setup() });
        assert!(world.turn("do it").contains("TOOL_CALL_END move_file STALE_EPOCH"));
        assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
        assert_eq!(world.disk("c.md"), "(no file)");
    }
}

#[test]
fn an_image_that_was_read_reaches_the_model_with_the_result() {
    let answers = vec![Answer::Call(vec![("read_file", json!({"file_path": "a.png"}))]), Answer::Say("A dot.")];
    let world = World::new("", answers, Setup::default());
    world.files.insert("a.png", b"\x89PNG\r\n\x1a\n\0").unwrap();
    world.turn("what is in a.png?");
    assert!(world.last_results()[0].contains("image/png, 9 bytes"));
    let requests = world.script.requests.lock().unwrap();
    let [ContentPart::ToolResult(result)] = &requests[1].messages.last().unwrap().content[..] else {
        panic!("one result");
    };
    assert_eq!(result.image.as_ref().unwrap().data.as_deref(), Some("iVBORw0KGgoA"));
}
