//! Steering messages, questions of the agent, model changes, and the end of a session.

use expect_test::expect;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::history::HistoryEntryKind;
use crate::test_support::covers;
use crate::tools::register_subagent_tools;

/// Returns the roles and texts of the last request's messages, without the system prompt.
fn last_request(world: &World) -> String {
    let requests = world.script.requests.lock().unwrap();
    let messages = requests.last().unwrap().messages.iter().skip(1);
    messages.map(|message| format!("{:?} {}\n", message.role, message.text())).collect()
}

#[test]
fn steering_reaches_the_model_after_the_round_of_tools() {
    covers("steering.after_round steering.entry steering.role");
    let world = World::new(NOTES, vec![Answer::Call(vec![read()]), Answer::Say("Yes.")], Setup::default());
    world.session.steer("be brief").unwrap();
    world.when(1, |session| session.steer("only line two").unwrap());
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        STEERING_INJECTED {"content":"be brief"}
        TOOL_CALL_START read_file
        TOOL_CALL_END read_file ok
        STEERING_INJECTED {"content":"only line two"}
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"Ye"}
        ASSISTANT_TEXT_DELTA {"delta":"s."}
        ASSISTANT_TEXT_END {"text":"Yes."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
    "#]]
    .assert_eq(&world.turn("do it"));
    expect![[r#"
        User do it
        User be brief
        Assistant 
        Tool 
        User only line two
    "#]]
    .assert_eq(&last_request(&world));
    let kinds: Vec<HistoryEntryKind> = world.session.entries().iter().map(|turn| turn.kind).collect();
    assert_eq!(kinds[..2], [HistoryEntryKind::User, HistoryEntryKind::Steering]);
}

#[test]
fn steering_during_the_last_answer_is_answered_too() {
    covers("steering.after_round");
    let world = World::new(NOTES, vec![Answer::Say("Done."), Answer::Say("That too.")], Setup::default());
    world.when(1, |session| session.steer("and that").unwrap());
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"Do"}
        ASSISTANT_TEXT_DELTA {"delta":"ne."}
        ASSISTANT_TEXT_END {"text":"Done."}
        STEERING_INJECTED {"content":"and that"}
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"That"}
        ASSISTANT_TEXT_DELTA {"delta":" too."}
        ASSISTANT_TEXT_END {"text":"That too."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
    "#]]
    .assert_eq(&world.turn("do it"));
    expect![[r#"
        User do it
        Assistant Done.
        User and that
    "#]]
    .assert_eq(&last_request(&world));
}

#[test]
fn steering_that_a_stopped_run_did_not_deliver_is_returned() {
    covers("steering.returned");
    let setup = Setup { cancel_at: Some(1), ..Setup::default() };
    let world = World::new(NOTES, vec![Answer::Say("One."), Answer::Say("Two.")], setup);
    world.when(1, |session| session.steer("the old way").unwrap());
    expect![[r#"
        STEERING_RETURNED {"content":"the old way"}
        PROCESSING_END {"reason":"aborted","usage":{"input_tokens":10,"output_tokens":1,"total_tokens":11}}
    "#]]
    .assert_eq(world.turn("first").split_once("ASSISTANT_TEXT_END {\"text\":\"One.\"}\n").unwrap().1);
    assert!(!world.turn("the new way").contains("the old way"));
    expect![[r#"
        User first
        Assistant One.
        User the new way
    "#]]
    .assert_eq(&last_request(&world));
}

#[test]
fn follow_ups_are_worked_on_one_by_one_in_the_same_run() {
    covers("steering.follow_up");
    let answers = vec![Answer::Say("One."), Answer::Say("Two."), Answer::Say("Three.")];
    let world = World::new(NOTES, answers, Setup::default());
    world.when(1, |session| {
        session.follow_up("second").unwrap();
        session.follow_up("third").unwrap();
    });
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"first"}
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"On"}
        ASSISTANT_TEXT_DELTA {"delta":"e."}
        ASSISTANT_TEXT_END {"text":"One."}
        USER_INPUT {"content":"second"}
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"Tw"}
        ASSISTANT_TEXT_DELTA {"delta":"o."}
        ASSISTANT_TEXT_END {"text":"Two."}
        USER_INPUT {"content":"third"}
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"Thr"}
        ASSISTANT_TEXT_DELTA {"delta":"ee."}
        ASSISTANT_TEXT_END {"text":"Three."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":30,"output_tokens":3,"total_tokens":33}}
    "#]]
    .assert_eq(&world.turn("first"));
}

#[test]
fn follow_ups_wait_while_the_turn_was_not_dealt_with() {
    let setup = Setup { cancel_at: Some(1), ..Setup::default() };
    let world = World::new(NOTES, vec![Answer::Say("One."), Answer::Say("Two."), Answer::Say("Three.")], setup);
    world.session.follow_up("later").unwrap();
    assert!(!world.turn("first").contains("later"));
    assert!(world.turn("second").contains("USER_INPUT {\"content\":\"later\"}"));
}

#[test]
fn a_question_of_the_models_ends_the_turn_and_the_answer_is_the_next_message() {
    covers("question.wait steering.follow_up");
    let ask = ("clarify_user", json!({"question": "Which?", "options": ["a", "b"]}));
    let answers = vec![Answer::Call(vec![ask, read()]), Answer::Say("Thanks.")];
    let world = World::new(NOTES, answers, Setup::default());
    world.session.follow_up("not the answer").unwrap();
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        TOOL_CALL_START clarify_user
        TOOL_CALL_END clarify_user ok
        TOOL_CALL_START read_file
        TOOL_CALL_END read_file ok
        PROCESSING_END {"reason":"awaiting_input","usage":{"input_tokens":10,"output_tokens":1,"total_tokens":11}}
    "#]]
    .assert_eq(&world.turn("do it"));
    assert_eq!(world.session.state(), SessionState::AwaitingInput);
    world.session.core.queues().follow_ups.clear();
    world.turn("a");
    expect![[r#"
        User do it
        Assistant 
        Tool 
        User a
    "#]]
    .assert_eq(&last_request(&world));
    assert_eq!(world.session.state(), SessionState::Idle);
}

#[test]
fn a_question_may_have_fields_and_no_other_question_is_asked_with_it() {
    let fields = json!([
        {"name": "tone", "label": "Tone", "options": ["terse", "detailed"], "required": true},
        {"name": "title", "label": "Title"},
    ]);
    let ask = ("clarify_user", json!({"question": "How?", "fields": fields}));
    let other = ("clarify_user", json!({"question": "And which?"}));
    let world = World::new(NOTES, vec![Answer::Call(vec![ask, other]), Answer::Say("Thanks.")], Setup::default());
    let run = world.session.submit("do it", CancelToken::new()).unwrap();
    let events: Vec<Event> = block_on(run.collect());
    let results: Vec<Value> = events.iter().filter_map(|event| event.kind.tool_result()).collect();
    assert_eq!(results[0]["result"], json!({"question": "How?", "options": [], "fields": fields}));
    assert_eq!((&results[1]["ok"], &results[1]["error"]["code"]), (&json!(false), &json!("conflict")));
    assert_eq!(world.session.state(), SessionState::AwaitingInput);
    world.turn("tone: terse\ntitle: no_user_answer");
    assert_eq!(world.session.state(), SessionState::Idle);
}

#[test]
fn a_closing_question_counts_only_where_the_host_wants_it() {
    for (detect_questions, state) in [(false, SessionState::Idle), (true, SessionState::AwaitingInput)] {
        let config = SessionConfig { detect_questions, ..SessionConfig::default() };
        let world = World::new(NOTES, vec![Answer::Say("Which one?")], Setup { config, ..Setup::default() });
        world.turn("do it");
        assert_eq!(world.session.state(), state);
    }
}

#[test]
fn model_and_effort_change_between_two_calls() {
    covers("effort.request effort.change");
    let world = World::new(NOTES, vec![Answer::Call(vec![read()]), Answer::Say("Yes.")], Setup::default());
    world.when(1, |session| {
        session.configure(|config| config.reasoning_effort = Some("high".to_owned()));
        let provider = session.core.settings().provider;
        session.set_model(provider, "larger".to_owned(), false);
    });
    world.turn("do it");
    let requests = world.script.requests.lock().unwrap();
    let sent: Vec<_> = requests.iter().map(|request| (&*request.model, request.reasoning_effort.as_deref())).collect();
    assert_eq!(sent, [("m", None), ("larger", Some("high"))]);
}

#[test]
fn closing_cancels_the_turn_and_comes_last() {
    covers("error.shutdown event.session");
    let world = World::new(NOTES, vec![Answer::Call(vec![read()])], Setup::default());
    world.when(1, Session::close);
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        PROCESSING_END {"reason":"aborted","usage":{"input_tokens":10,"output_tokens":1,"total_tokens":11}}
        SESSION_END {"state":"CLOSED"}
    "#]]
    .assert_eq(&world.turn("do it"));
    assert_eq!(world.session.state(), SessionState::Closed);
    assert_eq!(world.session.submit("x", CancelToken::new()).err(), Some(SubmitError::Closed));
    assert_eq!(world.session.steer("x"), Err(SubmitError::Closed));
    assert_eq!(world.session.follow_up("x"), Err(SubmitError::Closed));
    assert!(is_valid(&world.session.entries()));
}

#[test]
fn closing_ends_the_commands_then_the_subagents_then_the_run_then_the_session() {
    covers("error.shutdown event.session");
    let mut world = World::new(NOTES, vec![], Setup::with_shell());
    let mut tools = core_tools();
    register_subagent_tools(&mut tools);
    let hang = || ("shell", json!({"command": "hang"}));
    // The second answer is the subagent's or the parent's: both run a command that never ends.
    let answers = vec![
        Answer::Call(vec![("spawn_agent", json!({"task": "look"}))]),
        Answer::Call(vec![hang()]),
        Answer::Call(vec![hang()]),
    ];
    world.restart(tools, answers);
    let mut run = world.session.submit("do it", CancelToken::new()).unwrap();
    let label = |kind: &EventKind| match kind {
        EventKind::SubagentEvent { agent_id, event } => {
            format!("{agent_id} {}", line(event).split(" {").next().unwrap_or_default())
        }
        kind => line(kind).split(" {").next().unwrap_or_default().to_owned(),
    };
    let mut lines: Vec<String> = Vec::new();
    while let Some(event) = block_on(run.next()) {
        lines.push(label(&event.kind));
        let n_begun = lines.iter().filter(|line| line.ends_with("TOOL_CALL_START shell")).count();
        if n_begun == 2 && !lines.iter().any(|line| line == "closed") {
            world.session.close();
            lines.push("closed".to_owned());
        }
    }
    let at = lines.iter().position(|line| line == "closed").unwrap();
    expect![[r#"
        closed
        TOOL_CALL_END shell aborted
        agent_1 TOOL_CALL_END shell aborted
        agent_1 PROCESSING_END
        SUBAGENT_END
        PROCESSING_END
        SESSION_END
    "#]]
    .assert_eq(&(lines[at..].join("\n") + "\n"));
}

#[test]
fn an_idle_session_closes_at_once_and_once() {
    let world = World::new(NOTES, vec![], Setup::default());
    assert_eq!(world.session.state(), SessionState::Idle);
    world.session.close();
    world.session.close();
    assert!(world.session.is_closed());
    assert_eq!(block_on(world.session.compact()), Err(SubmitError::Closed));
}

#[test]
fn a_turn_that_is_dropped_while_the_session_closes_still_closes_it() {
    let world = World::new(NOTES, vec![Answer::Call(vec![read()])], Setup::default());
    let mut run = world.session.submit("do it", CancelToken::new()).unwrap();
    block_on(run.next());
    assert_eq!(world.session.state(), SessionState::Processing);
    world.session.close();
    assert_eq!(world.session.state(), SessionState::Processing, "the turn has to end first");
    drop(run);
    assert!(world.session.is_closed());
}

#[test]
fn empty_messages_are_refused_everywhere() {
    let world = World::new(NOTES, vec![], Setup::default());
    assert_eq!(world.session.steer(" "), Err(SubmitError::Empty));
    assert_eq!(world.session.follow_up("\n"), Err(SubmitError::Empty));
}
