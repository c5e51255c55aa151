//! Runs over files whose operations wait: cancelled in the middle of a write, and with calls that overtake each other.

use emend_llm::ToolDefinition;
use serde_json::Map;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::{Interleaved, covers};
use crate::tool::{SubagentTask, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

const PATCH: &str = "*** Begin Patch\n*** Update File: notes.md\n@@\n-two\n+2\n*** Add File: new.md\n+new\n*** Delete File: old.md\n*** End Patch\n";

#[test]
fn a_write_that_is_cancelled_half_way_is_completed() {
    covers("calls.whole_write");
    let mut n_completed = 0;
    for point in 0.. {
        let files = Shared::new(MemFs::from_fixture(&format!("{NOTES}//- old.md\nold\n")));
        let environment = Interleaved::new(&files, 2);
        let shared = Shared::clone(&environment) as Shared<dyn ExecutionEnvironment>;
        let answers =
            vec![Answer::Call(vec![("apply_patch", json!({ "patch": PATCH })), read()]), Answer::Say("Done.")];
        let world = World::over(files, shared, answers, Setup::default());
        let cancel = CancelToken::new();
        let cancelled = cancel.clone();
        environment.at(point, move || cancelled.cancel());
        let events: Vec<Event> = block_on(world.session.submit("do it", cancel).unwrap().collect());
        let lines: Vec<String> = events.iter().map(|event| line(&event.kind)).collect();
        if !environment.has_acted() {
            assert_eq!(lines.iter().filter(|line| line.ends_with(" ok")).count(), 2, "{lines:?}");
            break;
        }
        let at = format!("point {point} of {:?}: {lines:?}", environment.passed());
        let end = lines.iter().find_map(|line| line.strip_prefix("TOOL_CALL_END apply_patch "));
        let expected = match end {
            Some("ok") => {
                n_completed += 1;
                ["one\n2\nthree\n", "new\n", "(no file)"]
            }
            // Cancelled before the call began.
            Some("aborted") | None => ["one\ntwo\nthree\n", "(no file)", "old\n"],
            Some(other) => panic!("{at}: {other}"),
        };
        assert_eq!(["notes.md", "new.md", "old.md"].map(|path| world.disk(path)), expected, "{at}");
        assert!(lines.last().unwrap().contains("\"aborted\""), "{at}");
        let workspace = &world.session.core.workspace;
        for run in workspace.runs() {
            block_on(workspace.undo_runs(&[run.run_id])).unwrap();
        }
        let undone = ["notes.md", "new.md", "old.md"].map(|path| world.disk(path));
        assert_eq!(undone, ["one\ntwo\nthree\n", "(no file)", "old\n"], "undone, {at}");
    }
    assert!(n_completed > 10, "{n_completed} writes were cancelled half-way");
}

/// A tool of a host that starts a subagent. Its calls run at the same time, unlike those of `spawn_agent`.
struct Delegate;

impl Tool for Delegate {
    fn definition(&self) -> ToolDefinition {
        let parameters = json!({"type": "object", "properties": {}});
        ToolDefinition { name: "delegate".to_owned(), description: String::new(), parameters }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
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
            let task = SubagentTask { task: "look", working_dir: Some("src"), model: None, max_turns: 0 };
            let id = context.subagents.as_ref().unwrap().spawn(task).await?;
            Ok(ToolOutput::new(id, Value::Null))
        })
    }
}

#[test]
fn calls_at_the_same_time_do_not_start_more_subagents_than_allowed() {
    let files = Shared::new(MemFs::from_fixture("//- src/a.txt\na\n"));
    let environment = Interleaved::new(&files, 1);
    let config = SessionConfig { max_subagents: 1, ..SessionConfig::default() };
    let mut world = World::over(files, environment, vec![], Setup { config, ..Setup::default() });
    let mut tools = core_tools();
    tools.register(Shared::new(Delegate));
    let calls = Answer::Call(vec![("delegate", json!({})); 3]);
    world.restart(tools, vec![calls, Answer::Say("Done."), Answer::Say("Done.")]);
    let events = world.turn("do it");
    let count = |start: &str| events.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("SUBAGENT_START"), 1, "{events}");
    assert_eq!((count("TOOL_CALL_END delegate ok"), count("TOOL_CALL_END delegate limit_reached")), (1, 2), "{events}");
}
