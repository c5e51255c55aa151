//! The effects, paths and output limits of tools, and the behaviour that follows from them.

use emend_llm::{BoxFuture, CancelToken, Shared, ToolDefinition};
use expect_test::expect;
use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Map, Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::approval::{Action, Policy, Rule};
use crate::session::tests::{Answer, Setup, World};
use crate::session::{Session, SessionConfig, SessionOptions};
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput, ToolRegistry};
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
    let line = |name: &str| {
        let (_, tool) = tools.get(name).unwrap();
        let yes = |flag: bool, text: &'static str| if flag { text } else { "" };
        let flags = [yes(tool.concurrent(), " concurrent"), yes(tool.interruptible(), " interruptible")].concat();
        format!("{name} {:?}{flags}\n", tool.effect())
    };
    expect![[r"
        read_file Reads interruptible
        read_many_files Reads interruptible
        write_file Writes
        edit_file Writes
        apply_patch Writes
        grep Reads concurrent interruptible
        glob Reads concurrent interruptible
        list_dir Reads concurrent interruptible
        shell Runs
        edit_lines Writes
        safe_patch Writes
        clarify_user Asks interruptible
        spawn_agent Delegates interruptible
        send_input Delegates interruptible
        wait Delegates interruptible
        close_agent Delegates interruptible
    "]]
    .assert_eq(&tools.names().map(line).collect::<String>());
}

#[test]
fn every_tool_has_its_output_limits_and_is_found_by_its_canonical_name() {
    let tools = all();
    let line = |name: &str| {
        let (_, tool) = tools.get(name).unwrap();
        let limits = tool.output_limits();
        assert_eq!(output_limits_of(name), limits, "{name}");
        assert_eq!(built_in(name).unwrap().definition().name, name);
        let lines = limits.lines_max.map_or_else(String::new, |lines_max| format!(" {lines_max} lines"));
        format!("{name} {} {:?}{lines}\n", limits.chars_max, limits.mode)
    };
    expect![[r"
        read_file 50000 HeadTail
        read_many_files 30000 HeadTail
        write_file 1000 Tail
        edit_file 10000 Tail
        apply_patch 10000 Tail
        grep 20000 Tail 200 lines
        glob 20000 Tail 500 lines
        list_dir 30000 HeadTail
        shell 30000 HeadTail 256 lines
        edit_lines 30000 HeadTail
        safe_patch 30000 HeadTail
        clarify_user 30000 HeadTail
        spawn_agent 20000 HeadTail
        send_input 30000 HeadTail
        wait 30000 HeadTail
        close_agent 30000 HeadTail
    "]]
    .assert_eq(&tools.names().map(line).collect::<String>());
}

/// Claims to move a file.
struct MoveFile;

impl Tool for MoveFile {
    fn definition(&self) -> ToolDefinition {
        let parameters =
            json!({"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}}});
        ToolDefinition { name: "move_file".to_owned(), description: "Moves a file.".to_owned(), parameters }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        ["from", "to"].iter().filter_map(|name| arguments.get(*name)?.as_str()).map(str::to_owned).collect()
    }

    fn call<'a>(
        &'a self,
        _arguments: &'a Map<String, Value>,
        _context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::new("moved", Value::Null))))
    }
}

#[test]
fn path_rules_see_every_path_of_a_call() {
    #[track_caller]
    fn check(name: &'static str, arguments: Value, expected: &str) {
        let world = World::new("//- secrets/key\nk\n//- src/a.rs\nx\n", vec![], Setup::default());
        let options = world.options(vec![Answer::Call(vec![(name, arguments)]), Answer::Say("Done.")]);
        let mut tools = all();
        tools.register(Shared::new(MoveFile));
        let rules = vec![Rule::parse(Action::Deny, "*:secrets/**").unwrap()];
        let policy = Policy { rules, otherwise: Action::Allow };
        let config = SessionConfig { policy, ..SessionConfig::default() };
        let session = Session::new(SessionOptions { tools, config, ..options });
        let _: Vec<_> = block_on(session.submit("do it", CancelToken::new()).unwrap().collect());
        let result = &world.last_results()[0];
        assert!(result.contains(expected), "{name}: {result}");
    }
    let denied = "[permission_denied] The user's rules do not allow this call";
    check("move_file", json!({"from": "src/a.rs", "to": "src/b.rs"}), "moved");
    check("move_file", json!({"from": "secrets/key", "to": "src/key"}), denied);
    check("move_file", json!({"from": "src/a.rs", "to": "src/../secrets/a"}), denied);
    check("read_many_files", json!({"include": ["src/a.rs", "secrets/key"]}), denied);
    check("grep", json!({"pattern": "k", "path": "secrets/key"}), denied);
    check("list_dir", json!({"path": "secrets/key"}), denied);
    check("glob", json!({"pattern": "*", "path": "secrets/key"}), denied);
    check("write_file", json!({"file_path": "secrets/key", "content": "x"}), denied);
    check("apply_patch", json!({"patch": "*** Begin Patch\n*** Delete File: secrets/key\n*** End Patch"}), denied);
    check("read_file", json!({"file_path": "src/a.rs"}), "1 | x");
}
