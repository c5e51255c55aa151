//! The effects, paths and output limits of tools, and the behaviour that follows from them.

use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{CancelToken, Shared};
use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::approval::{Action, Policy, Rule};
use crate::session::tests::{Answer, Setup, World};
use crate::session::{Session, SessionConfig, SessionOptions};
use crate::test_support::covers;
use crate::tool::{Tool, ToolEffect, ToolRegistry};
use crate::tools::{
    ClarifyUser, EditLines, SafePatch, built_in, core_tools, output_limits_of, register_subagent_tools,
};

fn all() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Shared::new(EditLines));
    tools.register(Shared::new(SafePatch));
    tools.register(Shared::new(ClarifyUser));
    register_subagent_tools(&mut tools);
    tools
}

#[test]
fn concurrency_and_interruption_follow_from_the_effect_with_few_exceptions() {
    let tools = all();
    let names = |is: fn(&dyn Tool) -> bool| {
        let chosen = tools.filtered(is);
        chosen.names().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(|tool| tool.concurrent() != tool.effect().is_concurrent()), "read_file read_many_files");
    assert_eq!(names(|tool| tool.interruptible() != tool.effect().is_interruptible()), "");
    assert_eq!(names(|tool| tool.effect() == ToolEffect::Runs), "shell");
    assert_eq!(names(|tool| tool.effect() == ToolEffect::Asks), "clarify_user");
    assert_eq!(names(|tool| tool.effect() == ToolEffect::Delegates), "spawn_agent send_input wait close_agent");
    assert_eq!(names(|tool| tool.concurrent() && tool.effect() != ToolEffect::Reads), "");
}

#[test]
fn every_tool_has_its_output_limits_and_is_found_by_its_canonical_name() {
    let tools = all();
    for name in tools.names() {
        let (_, tool) = tools.get(name).unwrap();
        assert_eq!(output_limits_of(name), tool.output_limits(), "{name}");
        assert_eq!(built_in(name).unwrap().definition().name, name);
    }
}

#[test]
fn the_default_output_limits_are_the_documented_ones() {
    covers("truncate.defaults");
    let head_tail = |chars_max, lines_max| OutputLimits { chars_max, mode: Mode::HeadTail, lines_max };
    let tail = |chars_max, lines_max| OutputLimits { chars_max, mode: Mode::Tail, lines_max };
    for (name, expected) in [
        ("read_file", head_tail(50_000, None)),
        ("shell", head_tail(30_000, Some(256))),
        ("grep", tail(20_000, Some(200))),
        ("glob", tail(20_000, Some(500))),
        ("edit_file", tail(10_000, None)),
        ("apply_patch", tail(10_000, None)),
        ("write_file", tail(1_000, None)),
        ("spawn_agent", head_tail(20_000, None)),
        ("list_dir", head_tail(30_000, None)),
    ] {
        assert_eq!(all().get(name).unwrap().1.output_limits(), expected, "{name}");
    }
}

/// Makes one call in a session over `fixture`. Returns the result that the model sees.
fn seen(fixture: &str, call: (&'static str, Value)) -> String {
    let world = World::new(fixture, vec![], Setup::default());
    let options = world.options(vec![Answer::Call(vec![call]), Answer::Say("Done.")]);
    let session = Session::new(SessionOptions { tools: all(), ..options });
    let _: Vec<_> = block_on(session.submit("do it", CancelToken::new()).unwrap().collect());
    world.last_results().remove(0)
}

#[test]
fn the_model_sees_outputs_up_to_the_limits_of_their_tool() {
    covers("truncate.defaults truncate.characters truncate.lines");
    let files: String = (0..520).map(|number| format!("//- {number:03}.txt\n")).collect();
    let result = seen(&files, ("glob", json!({"pattern": "*.txt"})));
    assert!(result.contains("\n[... 20 lines omitted ...]\n"), "{result}");
    let line = "x".repeat(180);
    let lines: String = (0..150).map(|number| format!("{number:03} {line}\n")).collect();
    let result = seen(&format!("//- a.txt\n{lines}"), ("grep", json!({"pattern": "x", "max_results": 150})));
    assert!(result.starts_with("[WARNING: Tool output was truncated. First "), "{result}");
    assert!(result.contains(&format!("149 {line}")) && !result.contains("\n000 "), "{result}");
    let shown = result.split_once("\n\n").unwrap().1;
    assert_eq!(shown.chars().count(), 20_000);
    let text: String = (0..60_000).map(|number| char::from(b'a' + (number % 26) as u8)).collect();
    let result = seen(&format!("//- a.txt\n{text}\n"), ("read_file", json!({"file_path": "a.txt"})));
    let (head, rest) = result.split_once("\n\n[WARNING: Tool output was truncated. ").unwrap();
    assert_eq!((head.chars().count(), rest.split_once("\n\n").unwrap().1.chars().count()), (25_000, 25_000));
}

#[test]
fn path_rules_see_every_path_of_a_call() {
    #[track_caller]
    fn check(name: &'static str, arguments: Value, expected: &str) {
        let world = World::new("//- secrets/key\nk\n//- src/a.rs\nx\n", vec![], Setup::default());
        let options = world.options(vec![Answer::Call(vec![(name, arguments)]), Answer::Say("Done.")]);
        let tools = all();
        let rules = vec![Rule::parse(Action::Deny, "*:secrets/**").unwrap()];
        let policy = Policy { rules, otherwise: Action::Allow };
        let config = SessionConfig { policy, ..SessionConfig::default() };
        let session = Session::new(SessionOptions { tools, config, ..options });
        let _: Vec<_> = block_on(session.submit("do it", CancelToken::new()).unwrap().collect());
        let result = &world.last_results()[0];
        assert!(result.contains(expected), "{name}: {result}");
    }
    let denied = "[permission_denied] The user's rules do not allow this call";
    check("move_file", json!({"from": "src/a.rs", "to": "src/b.rs"}), "Moved src/a.rs to src/b.rs");
    check("move_file", json!({"from": "secrets/key", "to": "src/key"}), denied);
    check("move_file", json!({"from": "src/a.rs", "to": "src/../secrets/a"}), denied);
    check("read_many_files", json!({"include": ["src/a.rs", "secrets/key"]}), denied);
    check("grep", json!({"pattern": "k", "path": "secrets/key"}), denied);
    check("list_dir", json!({"path": "secrets/key"}), denied);
    check("glob", json!({"pattern": "*", "path": "secrets/key"}), denied);
    check("write_file", json!({"file_path": "secrets/key", "content": "x"}), denied);
    check("apply_patch", json!({"patch": "*** Begin Patch\n*** Delete File: secrets/key\n*** End Patch"}), denied);
    check("read_file", json!({"file_path": "src/a.rs"}), "1 | x");
    check("move_file", json!({"from": "src/a.rs", "to": "secrets/key", "overwrite": true}), denied);
}
