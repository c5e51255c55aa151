//! System prompts of whole sessions.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::covers;

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

/// Runs one message in a session with this profile and returns the request.
fn request_with(profile: Profile) -> Request {
    let world = World::new("//- AGENTS.md\nUse tabs.\n", vec![], Setup::with_shell());
    let other = world.options(vec![Answer::Say("Done.")]);
    let session = Session::new(with_profile(profile, other, SessionConfig::default()));
    let _: Vec<Event> = block_on(session.submit("do it", CancelToken::new()).unwrap().collect());
    world.script.requests.lock().unwrap().pop().unwrap()
}

#[test]
fn each_familys_prompt_covers_the_topics_of_its_own_agent() {
    covers("profile.instructions prompt.instructions");
    #[track_caller]
    fn check(profile: Profile, topics: &[&str], foreign: &[&str]) {
        let instructions = profile.instructions();
        let prompt = request_with(profile).messages[0].text();
        assert!(prompt.starts_with(instructions.trim_end()), "{prompt}");
        for topic in [&["You are Emend", "can reject or undo each", "If the user took a file back"], topics].concat() {
            assert!(prompt.contains(topic), "{topic} is not in {prompt}");
        }
        // Where edits are saved at once, the user does not review each.
        for topic in [&["reviews every change"], foreign].concat() {
            assert!(!prompt.contains(topic), "{topic} is in {prompt}");
        }
    }
    let patch = ["*** Begin Patch", "*** Update File: path", "`apply_patch`"];
    let replacement = ["has to be unique", "For anything but new files and complete rewrites, use Edit"];
    check(
        Profile::openai("m"),
        &[&patch[..], &["AGENTS.md and .codex/instructions.md", "Fix the cause", "A result may be an error"]].concat(),
        &[&replacement[..], &["CLAUDE.md", "GEMINI.md"]].concat(),
    );
    check(
        Profile::anthropic("m"),
        &[&replacement[..], &["Read a file before you edit it", "AGENTS.md and CLAUDE.md", "Prefer editing"]].concat(),
        &[&patch[..], &["GEMINI.md", ".codex"]].concat(),
    );
    check(
        Profile::gemini("m"),
        &["AGENTS.md and GEMINI.md", "**Conventions:**", "`grep_search`", "**Errors:**"],
        &[&patch[..], &replacement[..], &["CLAUDE.md", ".codex"]].concat(),
    );
}

#[test]
fn the_prompt_lists_every_tool_and_the_request_describes_it_completely() {
    covers("prompt.tools");
    for profile in [Profile::openai, Profile::anthropic, Profile::gemini] {
        let registered: Vec<_> = profile("m").tools.definitions();
        let request = request_with(profile("m"));
        assert_eq!(request.tools, registered);
        let prompt = request.messages[0].text();
        let list = prompt.split_once("\n<tools>\n").unwrap().1.split_once("</tools>\n").unwrap().0;
        let listed: Vec<(&str, &str)> = list.lines().map(|line| line[2..].split_once(": ").unwrap()).collect();
        assert_eq!(listed.len(), registered.len());
        for ((name, sentence), tool) in listed.into_iter().zip(&registered) {
            assert_eq!(name, tool.name);
            assert!(sentence.len() > 15 && sentence.ends_with('.'), "{name}: {sentence}");
            assert!(tool.description.starts_with(sentence), "{name}: {sentence}");
            let properties = tool.parameters["properties"].as_object().unwrap();
            let undescribed =
                properties.iter().find(|(_, schema)| schema["type"].is_null() && schema["enum"].is_null());
            assert_eq!(undescribed, None, "{name}");
        }
    }
}
