//! Profiles: what the model is shown, and that what it sends reaches the same tools.

use emend_llm::CancelToken;
use expect_test::{Expect, expect};
use futures::StreamExt;
use futures::executor::block_on;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::event::{Event, EventKind};
use crate::session::tests::{Answer, Setup, World, with_profile};
use crate::session::{Session, SessionConfig};
use crate::test_support::covers;
use crate::tool::ExposedNames;
use crate::tools::{CORE, Glob};

const ALL: [fn(&str) -> Profile; 3] = [Profile::openai, Profile::anthropic, Profile::gemini];

/// Writes each tool as `name(required, optional?)`.
fn signatures(profile: &Profile) -> String {
    let of = |definition: emend_llm::ToolDefinition| {
        let required = definition.parameters["required"].as_array().cloned().unwrap_or_default();
        let properties = definition.parameters["properties"].as_object().cloned().unwrap_or_default();
        let params = properties
            .keys()
            .map(|name| if required.contains(&json!(name)) { name.clone() } else { format!("{name}?") });
        format!("{}({})\n", definition.name, params.collect::<Vec<_>>().join(", "))
    };
    profile.tools.definitions().into_iter().map(of).collect()
}

#[track_caller]
fn check(profile: &Profile, expected: &Expect) {
    expected.assert_eq(&signatures(profile));
}

#[test]
fn tools_have_the_names_of_each_familys_own_agent() {
    covers("profile.openai profile.anthropic profile.gemini");
    check(
        &Profile::openai("gpt-5.2").with_questions(),
        &expect![[r#"
            read_file(file_path, offset?, limit?)
            apply_patch(input)
            write_file(file_path, content, expected_hash?)
            move_file(from, to, overwrite?)
            grep_files(pattern, path?, include?, case_insensitive?, output_mode?, context?, before?, after?, limit?, offset?)
            glob(pattern, path?)
            list_dir(dir_path?, depth?)
            exec_command(cmd, timeout_ms?, workdir?, description?)
            request_user_input(question, options?, fields?)
        "#]],
    );
    check(
        &Profile::anthropic("claude-opus-4-6").with_questions(),
        &expect![[r#"
            Read(file_path, offset?, limit?)
            Write(file_path, content, expected_hash?)
            Edit(file_path, old_string, new_string, replace_all?)
            Move(from, to, overwrite?)
            Grep(pattern, path?, glob?, -i?, output_mode?, -C?, -B?, -A?, head_limit?, offset?)
            Glob(pattern, path?)
            LS(path?, depth?)
            Bash(command, timeout?, working_dir?, description?)
            AskUserQuestion(question, options?, fields?)
        "#]],
    );
    check(
        &Profile::gemini("gemini-3-pro").with_questions(),
        &expect![[r#"
            read_file(file_path, offset?, limit?)
            read_many_files(include, exclude?)
            write_file(file_path, content, expected_hash?)
            move_file(from, to, overwrite?)
            grep_search(pattern, dir_path?, include_pattern?, case_insensitive?, output_mode?, context?, before?, after?, total_max_matches?, offset?)
            glob(pattern, dir_path?)
            list_directory(dir_path?, depth?)
            run_shell_command(command, timeout_ms?, dir_path?, description?)
            safe_patch(file_path, unified_diff, base_content_sha256)
            ask_user(question, options?, fields?)
        "#]],
    );
}

#[test]
fn no_text_of_a_profile_names_a_tool_that_it_does_not_have() {
    covers("profile.instructions");
    let canonical =
        ["read_file", "write_file", "edit_file", "apply_patch", "safe_patch", "edit_lines", "list_dir", "clarify_user"];
    let mut n_checked = 0;
    let both = |profile: fn(&str) -> Profile| {
        [Edits::Own, Edits::SafePatch, Edits::EditLines].map(|edits| profile("m").with_edits(edits))
    };
    for profile in ALL.into_iter().flat_map(both).map(Profile::with_questions) {
        assert!(!profile.instructions().contains("{edits}"), "{}", profile.id);
        let names: Vec<String> = profile.tools.names().map(str::to_owned).collect();
        let mut texts = vec![profile.instructions()];
        texts.extend(
            profile
                .tools
                .definitions()
                .iter()
                .map(|definition| format!("{} {}", definition.description, definition.parameters)),
        );
        for text in texts {
            for word in text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_') {
                let is_tool = canonical.contains(&word);
                assert!(!is_tool || names.iter().any(|name| name == word), "{}: {word} in {text}", profile.id);
                n_checked += u32::from(is_tool);
            }
        }
        let instructions = profile.instructions();
        let mentioned = names.iter().filter(|name| instructions.contains(name.as_str()));
        assert!(mentioned.count() >= 5, "{}: the instructions name the tools", profile.id);
    }
    assert!(n_checked >= 5, "{n_checked}");
}

/// Runs one turn of a session with this profile over these files and returns the results the model saw.
fn run(profile: Profile, fixture: &str, calls: Vec<(&'static str, Value)>) -> (World, String) {
    let world = World::new(fixture, vec![], Setup::default());
    let other = world.options(vec![Answer::Call(calls), Answer::Say("Done.")]);
    let config = SessionConfig::default();
    let options = with_profile(profile, other, config);
    let session = Session::new(options);
    let events: Vec<Event> = block_on(session.submit("do it", CancelToken::new()).unwrap().collect());
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::ProcessingEnd { .. })));
    let results = world.last_results().join("\n");
    (world, results)
}

const FILES: &str = "//- src/a.txt\none\ntwo\n//- b.md\nTWO\n";

#[test]
fn each_family_edits_in_its_own_way() {
    covers("profile.openai profile.anthropic profile.gemini");
    let patch = "*** Begin Patch\n*** Update File: src/a.txt\n one\n-two\n+2\n*** End Patch\n";
    let edit = |name| (name, json!({"file_path": "src/a.txt", "old_string": "two", "new_string": "2"}));
    let diff = json!({
        "file_path": "src/a.txt",
        "unified_diff": "@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
        "base_content_sha256": emend_edit::ContentHash::of(b"one\ntwo\n").hex(),
    });
    let safe_patch = || ("safe_patch", diff.clone());
    let hash = emend_edit::ContentHash::of(b"two\n").hex();
    let line = json!({"operation": "replace", "start_line": 2, "new_text": "2\n", "expected_hash": hash});
    let edit_lines = || ("edit_lines", json!({"file_path": "src/a.txt", "edits": [line]}));
    let cases = [
        (Profile::openai("m"), ("apply_patch", json!({ "input": patch }))),
        (Profile::openai("m").with_edits(Edits::SafePatch), safe_patch()),
        (Profile::anthropic("m"), edit("Edit")),
        (Profile::anthropic("m").with_edits(Edits::SafePatch), safe_patch()),
        (Profile::gemini("m"), safe_patch()),
        (Profile::gemini("m").with_edits(Edits::Own), edit("replace")),
        (Profile::gemini("m").with_edits(Edits::EditLines), edit_lines()),
        (Profile::anthropic("m").with_edits(Edits::EditLines), edit_lines()),
        (Profile::openai("m").with_edits(Edits::SafePatch).with_edits(Edits::EditLines), edit_lines()),
    ];
    for (profile, call) in cases {
        let id = profile.id;
        let (world, results) = run(profile, FILES, vec![call]);
        assert_eq!(world.disk("src/a.txt"), "one\n2\n", "{id}: {results}");
    }
}

#[test]
fn one_way_to_edit_can_be_chosen_and_left_again() {
    let names = |profile: &Profile| {
        let mut names: Vec<String> = profile.tools.names().map(str::to_owned).collect();
        names.sort();
        names
    };
    for profile in ALL {
        let own = profile("m").with_edits(Edits::Own);
        let verified = own.clone().with_edits(Edits::SafePatch);
        assert!(
            verified.instructions().contains("`safe_patch`") && !own.instructions().contains("safe_patch"),
            "{}",
            own.id
        );
        let edits = ["Edit", "replace", "apply_patch"];
        assert!(!names(&verified).iter().any(|name| edits.contains(&name.as_str())), "{:?}", names(&verified));
        let again = verified.with_edits(Edits::Own);
        assert_eq!((names(&again), again.instructions()), (names(&own), own.instructions()));
    }
}

#[test]
fn parameters_and_values_are_translated() {
    let grep = json!({"pattern": "two", "glob": "*.md", "-i": true, "output_mode": "files_with_matches"});
    let (_, results) = run(Profile::anthropic("m"), FILES, vec![("Grep", grep)]);
    assert_eq!(results, "b.md");
    let grep = json!({"pattern": "two", "dir_path": "src", "total_max_matches": 1});
    let (_, results) = run(Profile::gemini("m"), FILES, vec![("grep_search", grep)]);
    assert_eq!(results, "src/a.txt:2:two");
    let (_, results) = run(Profile::openai("m"), FILES, vec![("list_dir", json!({"dir_path": "src"}))]);
    assert!(results.contains("a.txt") && !results.contains("b.md"), "{results}");
}

#[test]
fn errors_speak_of_the_tools_as_the_model_knows_them() {
    let (_, results) = run(Profile::anthropic("m"), FILES, vec![("Read", json!({"file_path": "src"}))]);
    assert!(results.contains("or use LS"), "{results}");
    let (_, results) = run(Profile::anthropic("m"), FILES, vec![("Grep", json!({"glob": "*.md"}))]);
    assert!(results.contains("/pattern: required but missing"), "{results}");
    let (_, results) = run(Profile::anthropic("m"), FILES, vec![("apply_patch", json!({"patch": ""}))]);
    assert!(results.contains("[unknown_tool]") && results.contains("Read, Write, Edit"), "{results}");
}

#[test]
fn output_limits_go_by_the_canonical_name() {
    covers("truncate.defaults");
    let fixture = format!("//- a.txt\n{}", "x\n".repeat(300));
    let call = ("Grep", json!({"pattern": "x", "head_limit": 300}));
    let (_, results) = run(Profile::anthropic("m"), &fixture, vec![call]);
    assert!(results.contains("lines omitted"), "grep shows 200 lines, whatever its name");
}

#[test]
fn a_profile_fills_in_what_the_host_left_open() {
    covers("prompt.instructions");
    let options = |config: SessionConfig| {
        let other = World::new("", vec![], Setup::default()).options(vec![]);
        let profile = Profile::anthropic("claude-haiku-4-5");
        with_profile(profile, other, config).config
    };
    let config = options(SessionConfig::default());
    assert_eq!(config.project_documents, ["AGENTS.md", "CLAUDE.md"]);
    assert_eq!((config.default_command_timeout_ms, config.context_window), (120_000, Some(200_000)));
    assert!(config.base_prompt.unwrap().contains("old_string"));
    let own = options(SessionConfig {
        base_prompt: Some("Mine.".to_owned()),
        project_documents: vec!["HOUSE.md".to_owned()],
        max_command_timeout_ms: 60_000,
        context_window: Some(5),
        ..SessionConfig::default()
    });
    assert_eq!((own.base_prompt.as_deref(), own.context_window), (Some("Mine."), Some(5)));
    assert_eq!((&*own.project_documents, own.default_command_timeout_ms), (&["HOUSE.md".to_owned()][..], 60_000));
}

#[test]
fn edits_are_as_was_asked_for_where_they_can_be() {
    use Edits::{EditLines, Own, SafePatch};
    #[track_caller]
    fn check(profile: Option<Profile>, edits: Option<Edits>, offline: bool, expected: Result<&str, EditsError>) {
        let tool = Edits::choose(edits, profile.is_some(), offline).map(|edits| {
            let profile =
                profile.map(|profile| edits.iter().fold(profile, |profile, edits| profile.with_edits(*edits)));
            let names = profile.iter().flat_map(|profile| profile.tools.names());
            let is_edit = |name: &&str| ["safe_patch", "edit_lines", "Edit", "replace", "apply_patch"].contains(name);
            names.filter(is_edit).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(tool, expected.map(str::to_owned));
    }
    let (claude, gemini) = (|| Some(Profile::anthropic("m")), || Some(Profile::gemini("m")));
    check(claude(), None, false, Ok("Edit"));
    check(claude(), Some(SafePatch), false, Ok("safe_patch"));
    check(claude(), Some(EditLines), false, Ok("edit_lines"));
    check(gemini(), None, false, Ok("safe_patch"));
    check(gemini(), Some(EditLines), false, Ok("edit_lines"));
    check(gemini(), Some(EditLines), true, Err(EditsError::Offline));
    check(gemini(), Some(Own), false, Ok("replace"));
    check(gemini(), None, true, Ok("replace"));
    check(gemini(), Some(SafePatch), true, Err(EditsError::Offline));
    check(None, Some(Own), false, Ok(""));
    check(None, None, true, Ok(""));
    check(None, Some(SafePatch), false, Err(EditsError::NoProfile));
    assert_eq!(EditsError::NoProfile.code(), crate::error_code::Code::Configuration);
}

#[test]
fn results_have_the_form_of_each_familys_own_agent() {
    covers("profile.instructions");
    #[track_caller]
    fn check(profile: fn(&str) -> Profile, read: &'static str, shell: (&'static str, &str), expected: &Expect) {
        let world = World::new("//- a.txt\none\n", vec![], Setup::with_shell());
        let calls = vec![
            (read, json!({ "file_path": "b.txt" })),
            ("no_such_tool", json!({})),
            (shell.0, json!({ shell.1: "echo hi; fail 3" })),
            (shell.0, json!({ shell.1: "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch" })),
        ];
        let other = world.options(vec![Answer::Call(calls), Answer::Say("Done.")]);
        let options = with_profile(profile("m"), other, SessionConfig::default());
        let session = Session::new(options);
        let _: Vec<Event> = block_on(session.submit("do it", CancelToken::new()).unwrap().collect());
        let parts = &session.history()[2].content;
        let results = parts.iter().map(|part| match part {
            emend_llm::ContentPart::ToolResult(result) => result.content.to_string() + "\n",
            part => panic!("{part:?}"),
        });
        let tools = profile("m").tools.names().collect::<Vec<_>>().join(", ");
        expected.assert_eq(&results.collect::<String>().replace(&tools, "TOOLS"));
    }
    check(
        Profile::openai,
        "read_file",
        ("exec_command", "cmd"),
        &expect![[r#"
        "Tool error (read_file): [not_found] b.txt does not exist\nDid you mean a.txt?"
        "Tool error (no_such_tool): [unknown_tool] Unknown tool: no_such_tool. The tools are TOOLS."
        "Wall time: 0.001 seconds\nProcess exited with code 3\nOutput:\nhi\n"
        "Deleted a.txt"
    "#]],
    );
    check(
        Profile::anthropic,
        "Read",
        ("Bash", "command"),
        &expect![[r#"
        "Tool error (Read): [not_found] b.txt does not exist\nDid you mean a.txt?"
        "Tool error (no_such_tool): [unknown_tool] Unknown tool: no_such_tool. The tools are TOOLS."
        "hi\n[exit code 3 after 1 ms]"
        "Deleted a.txt"
    "#]],
    );
    check(
        Profile::gemini,
        "read_file",
        ("run_shell_command", "command"),
        &expect![[r#"
        {"ok":false,"error":{"code":"not_found","message":"b.txt does not exist\nDid you mean a.txt?","suggestions":["a.txt"]}}
        {"ok":false,"error":{"code":"unknown_tool","message":"Unknown tool: no_such_tool. The tools are TOOLS.","suggestions":[]}}
        {"ok":true,"data":{"output":"hi\n[exit code 3 after 1 ms]"}}
        {"ok":true,"data":{"output":"Deleted a.txt"}}
    "#]],
    );
}

#[test]
fn options_are_the_providers_own() {
    let profile = Profile::anthropic("m").with_beta_headers(&["a-1", "b-2"]).with_web_search();
    assert_eq!(profile.provider_options["anthropic"]["beta_headers"], json!(["a-1", "b-2"]));
    assert_eq!(profile.provider_options["anthropic"]["tools"][0]["name"], "web_search");
    let profile = Profile::gemini("m").with_safety("HARM", "BLOCK").with_web_search().with_beta_headers(&["a-1"]);
    let expected =
        json!({"safetySettings": [{"category": "HARM", "threshold": "BLOCK"}], "tools": [{"google_search": {}}]});
    assert_eq!(profile.provider_options["gemini"], expected);
    assert!(Profile::openai("m").with_safety("HARM", "BLOCK").provider_options.is_empty());
}

#[test]
fn a_tool_that_is_registered_later_wins() {
    covers("profile.custom_tool profile.name_collision");
    let mut profile = Profile::anthropic("m");
    let n_tools = profile.tools.names().count();
    let row = ProfileTool {
        names: ExposedNames { canonical: "glob", exposed: "Read", params: &[], values: &[] },
        offer: Offer::Always,
        output: OutputLayout::Own,
    };
    profile.tools.register(Shared::new(Renamed::new(Shared::new(Glob), row)));
    assert_eq!(profile.tools.names().count(), n_tools);
    let (_, results) = run(profile, FILES, vec![("Read", json!({"pattern": "*.md"}))]);
    assert_eq!(results, "b.md");
}

/// A profile does not offer a tool without a row, so a missing row would go unnoticed.
#[test]
fn every_core_tool_has_a_row_in_every_profile() {
    // Codex and Claude Code read files one by one.
    let without = [("openai", "read_many_files"), ("anthropic", "read_many_files")];
    for name in CORE {
        assert!(built_in(name).is_some(), "{name} is not a built-in tool");
        for id in ["openai", "anthropic", "gemini"] {
            let has_row = tool_names::of(id).iter().any(|row| row.names.canonical == name);
            assert_eq!(has_row, !without.contains(&(id, name)), "{name} in the profile {id}");
        }
    }
}

#[test]
fn profiles_are_found_by_provider_or_model() {
    let id = |provider: &str, model: &str| Profile::of(provider, model).map(|profile| profile.id);
    assert_eq!(id("anthropic", "new-model"), Some("anthropic"));
    assert_eq!(id("openai_compatible", "gpt-5.2"), Some("openai"));
    assert_eq!(id("openai_compatible", "local-model"), None);
}

#[test]
fn subagents_go_by_the_names_of_the_family() {
    #[track_caller]
    fn check(profile: Profile, expected: &str, params: &[&str]) {
        let own = profile.tools.names().count();
        let with = profile.with_subagents();
        let definitions = with.tools.definitions();
        let added = &definitions[own..];
        assert_eq!(added.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(" "), expected);
        let required = added.iter().map(|one| one.parameters["required"][0].as_str().unwrap());
        assert_eq!(required.collect::<Vec<_>>(), params);
    }
    let ids = ["agent_id"; 3];
    check(Profile::openai("m"), "spawn_agent send_input wait_agent close_agent", &["message", "id", "id", "id"]);
    check(Profile::anthropic("m"), "Task SendMessage TaskOutput TaskStop", &["prompt", "to", "task_id", "task_id"]);
    check(Profile::gemini("m"), "spawn_agent send_input wait close_agent", &["task", ids[0], ids[1], ids[2]]);
}

#[test]
fn a_rule_for_a_tool_that_does_not_exist_names_the_nearest_tool() {
    covers("approval.policy");
    #[track_caller]
    fn check(name: &str, expected: &str) {
        let message = check_tool_name(name, &["run_tests"]).map_or_else(|unknown| unknown.to_string(), str::to_owned);
        assert_eq!(message, expected);
    }
    for known in ["*", "shell", "safe_patch", "web_fetch", "apply_patch", "run_tests"] {
        check(known, known);
    }
    // The name in a profile stands for the tool in every profile.
    for (exposed, canonical) in [
        ("Bash", "shell"),
        ("run_shell_command", "shell"),
        ("exec_command", "shell"),
        ("Read", "read_file"),
        ("replace", "edit_file"),
        ("grep_search", "grep"),
        ("Task", "spawn_agent"),
    ] {
        check(exposed, canonical);
    }
    check("writefile", "unknown tool \"writefile\"; did you mean write_file?");
    check("run_test", "unknown tool \"run_test\"; did you mean run_tests?");
    check("", "unknown tool \"\"");
    check("zzz", "unknown tool \"zzz\"");
}
