//! System prompts of whole sessions.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

fn prompts(world: &World) -> Vec<String> {
    let requests = world.script.requests.lock().unwrap();
    requests.iter().map(|request| request.messages[0].text()).collect()
}

#[test]
fn documents_are_read_anew_for_each_message_and_the_rest_stays() {
    let fixture = "//- AGENTS.md\nUse tabs.\n//- CLAUDE.md\nNot for this model.\n";
    let answers = vec![Answer::Call(vec![("glob", json!({"pattern": "*"}))]), Answer::Say("One."), Answer::Say("Two.")];
    let world = World::new(fixture, answers, Setup::default());
    world.turn("first");
    world.files.insert("AGENTS.md", b"Use spaces.\n".to_vec()).unwrap();
    world.turn("second");
    let [first, again, second] = prompts(&world).try_into().unwrap();
    assert_eq!(first, again);
    assert!(first.contains("Use tabs.") && !first.contains("Not for this model."));
    assert_eq!(second, first.replace("Use tabs.", "Use spaces."));
}

#[test]
fn a_pending_edit_of_the_agents_does_not_instruct_it() {
    let write = ("edit_file", json!({"file_path": "AGENTS.md", "old_string": "tabs", "new_string": "anything"}));
    let answers = vec![Answer::Call(vec![write]), Answer::Say("One."), Answer::Say("Two.")];
    let world = World::new("//- AGENTS.md\nUse tabs.\n", answers, Setup { staged: true, ..Setup::default() });
    world.turn("first");
    world.turn("second");
    assert!(prompts(&world)[2].contains("Use tabs."));
}

#[test]
fn a_host_brings_its_own_base_documents_and_options() {
    let config = SessionConfig {
        base_prompt: Some("You are a poet.".to_owned()),
        project_documents: vec![],
        instructions: Some("In French.".to_owned()),
        provider_options: json!({"script": {"beta": true}}).as_object().cloned().unwrap(),
        ..SessionConfig::default()
    };
    let world =
        World::new("//- AGENTS.md\nUse tabs.\n", vec![Answer::Say("Oui.")], Setup { config, ..Setup::default() });
    world.turn("write");
    let prompt = &prompts(&world)[0];
    assert!(prompt.starts_with("You are a poet.\n\n<environment>\n") && !prompt.contains("tabs"), "{prompt}");
    assert!(prompt.ends_with("<user_instructions>\nIn French.\n</user_instructions>\n"), "{prompt}");
    assert_eq!(world.script.requests.lock().unwrap()[0].provider_options["script"], json!({"beta": true}));
}

#[test]
fn a_provider_that_does_not_stream_is_heard_all_the_same() {
    let world = World::new(NOTES, vec![Answer::Whole("All at once.")], Setup::default());
    expect_test::expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        ASSISTANT_TEXT_START {}
        ASSISTANT_TEXT_DELTA {"delta":"All at once."}
        ASSISTANT_TEXT_END {"text":"All at once."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":10,"output_tokens":1,"total_tokens":11}}
    "#]]
    .assert_eq(&world.turn("do it"));
}
