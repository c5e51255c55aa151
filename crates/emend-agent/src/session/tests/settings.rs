//! Settings that change between calls, and responses that few models give.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::approval::{Action, Policy};

const FILES: &str = "//- notes.md\none\n";

#[test]
fn every_profile_choice_has_a_name() {
    use ProfileChoice::{Anthropic, Auto, Gemini, None as No, Openai};
    let named = ProfileChoice::NAMES.map(ProfileChoice::from_name);
    assert!(named == [Auto, Openai, Anthropic, Gemini, No].map(Some));
    assert!(ProfileChoice::from_name("other").is_none());
}

#[test]
fn tools_can_be_replaced_between_calls() {
    let answers = vec![Answer::Call(vec![read()]), Answer::Call(vec![read()]), Answer::Say("Done.")];
    let world = World::new(FILES, answers, Setup::default());
    let mut others = ToolRegistry::new();
    others.register(Shared::new(ClarifyUser));
    world.when(2, move |session| session.set_tools(others.clone()));
    world.turn("go");
    assert!(world.last_results()[0].contains("[unknown_tool]"), "{:?}", world.last_results());
}

#[test]
fn without_a_rule_the_default_decides() {
    for (otherwise, runs) in [(Action::Deny, false), (Action::Allow, true)] {
        let config = SessionConfig { policy: Policy { rules: Vec::new(), otherwise }, ..SessionConfig::default() };
        let answers = vec![Answer::Call(vec![read()]), Answer::Say("Done.")];
        let world = World::new(FILES, answers, Setup { config, ..Setup::default() });
        world.turn("go");
        assert_eq!(world.last_results()[0].contains("do not allow"), !runs, "{:?}", world.last_results());
    }
}

#[test]
fn calls_with_the_same_id_get_different_ones() {
    let answers = vec![Answer::Call(vec![read()]), Answer::Repeat(vec![read(), read()]), Answer::Say("Done.")];
    let world = World::new(FILES, answers, Setup::default());
    world.turn("go");
    let requests = world.script.requests.lock().unwrap();
    let calls = requests.last().unwrap().messages.iter().flat_map(Message::tool_calls);
    let ids: Vec<String> = calls.map(|call| call.id.clone()).collect();
    assert_eq!(ids, ["call_1_0", "call_1_0_", "call_1_0__"]);
}

#[test]
fn a_blank_response_is_left_out_of_the_next_request() {
    let answers = vec![Answer::Say(" \n "), Answer::Say("Done.")];
    let world = World::new(FILES, answers, Setup::default());
    world.turn("go");
    world.turn("go on");
    let requests = world.script.requests.lock().unwrap();
    let last = requests.last().unwrap();
    assert!(last.messages.iter().all(|message| message.role != Role::Assistant), "{:?}", last.messages);
}

#[test]
fn a_cut_call_is_quoted_from_both_ends() {
    let content = format!("BEGIN{}END", "x".repeat(5_000));
    let call = ("write_file", json!({ "content": content, "file_path": "z" }));
    let answers = vec![Answer::End("", vec![call], FinishKind::Length), Answer::Say("Done.")];
    let world = World::new(FILES, answers, Setup::default());
    world.turn("go");
    let result = world.last_results().remove(0);
    assert!(result.contains("BEGINx") && result.contains("xEND\""), "{result}");
}

#[test]
fn the_family_of_the_model_chooses_the_tools_unless_the_model_is_the_offline_one() {
    let tools_for = |model: &str, offline: bool| -> Vec<String> {
        let world = World::new(FILES, Vec::new(), Setup::default());
        let files = Shared::clone(&world.files) as Shared<dyn ExecutionEnvironment>;
        let clock = Shared::clone(&world.clock) as Shared<dyn Clock>;
        let workspace = Shared::new(Workspace::new(files, Mode::Direct, clock));
        let provider = Shared::clone(&world.script) as Shared<dyn Provider>;
        let builder = SessionBuilder::new(provider, model, workspace, Shared::new(Counter(Mutex::new(0))));
        let options = builder.offline(offline).options().unwrap();
        options.tools.names().map(str::to_owned).collect()
    };
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let (claude, offline) = (tools_for("claude-sonnet-4-5", false), tools_for("claude-sonnet-4-5", true));
    assert!(has(&claude, "Read") && !has(&claude, "read_file"), "{claude:?}");
    assert!(has(&offline, "read_file") && !has(&offline, "Read"), "{offline:?}");
}
