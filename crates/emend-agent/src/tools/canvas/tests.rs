//! The canvas tools over files in memory: a check-out, reads, edits, and the user who takes the canvas back.

use emend_llm::Shared;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::*;
use crate::environment::memory::MemFs;
use crate::environment::{ExecutionEnvironment, FilePath};
use crate::test_support::{Standstill, covers, tool_context};
use crate::tool::ToolRegistry;
use crate::workspace::{Mode, ReadTracker};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const NOTES: &str = "//- notes.md\n# Notes\none\ntwo\n## Plan\n- a\n- b\n";

struct Bench {
    workspace: Shared<Workspace>,
    tools: ToolRegistry,
    context: ToolContext,
}

impl Bench {
    fn new(enforced: bool) -> Self {
        let files = Shared::new(MemFs::from_fixture(NOTES));
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        let workspace = Shared::new(Workspace::new(environment, Mode::Staged, Shared::new(Standstill(1_000))));
        workspace.canvas().open(FilePath::clean("notes.md"));
        let mut tools = ToolRegistry::new();
        for tool in canvas_tools(&workspace, enforced) {
            assert_eq!(tools.register(tool), Vec::<String>::new(), "every keyword of the schemas is checked");
        }
        let context = tool_context(&workspace, &Shared::new(ReadTracker::default()));
        Self { workspace, tools, context }
    }

    fn call(&self, name: &str, arguments: Value) -> Result<Value, (Code, String)> {
        let (_, tool) = self.tools.get(name).unwrap();
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let outcome = block_on(tool.call(&arguments, &self.context));
        outcome.map(|output| output.data).map_err(|error| (error.code, error.message))
    }

    fn check_out(&self) -> (String, String) {
        let out = self.call("canvas_check_out", json!({})).unwrap();
        let text = |name: &str| out[name].as_str().unwrap().to_owned();
        (text("lease_id"), text("revision_id"))
    }

    fn text(&self) -> String {
        block_on(self.workspace.text("notes.md")).unwrap().unwrap()
    }
}

#[test]
fn the_model_locates_inspects_and_edits() {
    covers("canvas.check_out canvas.reads canvas.addresses canvas.revision");
    let bench = Bench::new(true);
    let (lease, revision) = bench.check_out();
    let renewed = bench.call("canvas_renew_lease", json!({ "lease_id": lease })).unwrap();
    assert_eq!((&renewed["revision_id"], &renewed["expires_at"]), (&json!(revision), &json!(16_000)));
    let found = bench.call("canvas_grep", json!({ "lease_id": lease, "query": "tw" })).unwrap();
    assert_eq!(found["matches"], json!([{ "line": 3, "text": "two" }]));
    assert_eq!(found["revision_id"], revision);
    let read = bench.call("canvas_read_lines", json!({ "lease_id": lease, "section": "## Plan", "item": 2 })).unwrap();
    assert_eq!((&read["text"], &read["start_line"], &read["end_line"]), (&json!("- b\n"), &json!(6), &json!(6)));
    let edits = json!([
        { "operation": "replace", "start_line": 3, "new_text": "2\n" },
        { "operation": "insert", "start_line": 7, "new_text": "- c\n" },
    ]);
    let request = json!({ "lease_id": lease, "base_revision_id": revision, "edits": edits });
    let done = bench.call("canvas_edit_lines", request.clone()).unwrap();
    assert_eq!(bench.text(), "# Notes\none\n2\n## Plan\n- a\n- b\n- c\n");
    assert_eq!((&done["ok"], &done["applied_hunks"]), (&json!(true), &json!(2)));
    assert_ne!(done["new_revision_id"], revision);
    let (code, message) = bench.call("canvas_edit_lines", request).unwrap_err();
    assert_eq!(code, Code::Stale);
    assert!(message.contains(done["new_revision_id"].as_str().unwrap()), "{message}");
    let patch = "@@ -2,2 +2,2 @@\n-one\n+1\n 2\n";
    let request = json!({ "lease_id": lease, "base_revision_id": done["revision_id"], "patch": patch });
    bench.call("canvas_apply_patch", request).unwrap();
    assert_eq!(bench.text(), "# Notes\n1\n2\n## Plan\n- a\n- b\n- c\n");
    assert_eq!(bench.call("canvas_check_in", json!({ "lease_id": lease })).unwrap()["released"], true);
    assert_eq!(bench.call("canvas_check_in", json!({ "lease_id": lease })).unwrap()["released"], false);
    assert_eq!(bench.call("canvas_read_all", json!({ "lease_id": lease })).unwrap_err().0, Code::LockNotOwned);
}

#[test]
fn a_rejected_patch_changes_nothing_and_names_the_revision() {
    covers("canvas.revision canvas.strict_patch");
    let bench = Bench::new(true);
    let (lease, revision) = bench.check_out();
    let before = bench.text();
    for patch in [
        "@@ -3,1 +3,1 @@\n-one\n+1\n",
        "@@ -2,1 +2,1 @@\n-one \n+1\n",
        "@@ -2,1 +2,1 @@\n-one\n+1\n@@ -9,1 +9,1 @@\n-x\n+y\n",
        "no diff",
        "",
    ] {
        let request = json!({ "lease_id": lease, "base_revision_id": revision, "patch": patch });
        let (code, message) = bench.call("canvas_apply_patch", request).unwrap_err();
        assert_eq!(code, Code::PatchRejected, "{patch}: {message}");
        assert!(message.contains(&revision), "{message}");
        assert_eq!(bench.text(), before, "{patch}");
    }
}

#[test]
fn a_user_who_takes_the_canvas_back_wins() {
    let bench = Bench::new(true);
    let (lease, revision) = bench.check_out();
    block_on(bench.workspace.user_edit("notes.md", Some("mine\n"), None)).unwrap();
    let edits = json!([{ "operation": "replace", "start_line": 1, "new_text": "x\n" }]);
    let table = [
        ("canvas_renew_lease", json!({})),
        ("canvas_grep", json!({ "query": "x" })),
        ("canvas_read_lines", json!({ "start_line": 1 })),
        ("canvas_read_all", json!({})),
        ("canvas_edit_lines", json!({ "base_revision_id": revision, "edits": edits })),
        ("canvas_apply_patch", json!({ "base_revision_id": revision, "patch": "@@ -1,1 +1,1 @@\n-mine\n+x\n" })),
    ];
    for (name, mut arguments) in table {
        arguments["lease_id"] = json!(lease);
        let (code, message) = bench.call(name, arguments).unwrap_err();
        assert_eq!(code, Code::StaleEpoch, "{name}: {message}");
        assert!(message.contains("sha256:"), "{name}: {message}");
        assert_eq!(bench.text(), "mine\n");
    }
}

#[test]
fn tools_without_a_lease_are_refused_only_if_it_is_enforced() {
    covers("canvas.check_out canvas.flag");
    for (enforced, expected) in [(true, Err(Code::LockNotOwned)), (false, Ok(()))] {
        let bench = Bench::new(enforced);
        let revision = block_on(CanvasDesk::new(&bench.workspace, 0, false).revision_id()).unwrap();
        for (name, arguments) in [
            ("canvas_grep", json!({ "query": "one" })),
            ("canvas_read_lines", json!({ "start_line": 1, "end_line": 2 })),
            ("canvas_read_all", json!({})),
        ] {
            let found = bench.call(name, arguments).map(drop).map_err(|(code, _)| code);
            assert_eq!(found, expected, "{name}");
        }
        let (_, tool) = bench.tools.get("canvas_grep").unwrap();
        let required = tool.definition().parameters["required"].clone();
        assert_eq!(required, if enforced { json!(["lease_id", "query"]) } else { json!(["query"]) });
        let edits = json!([{ "operation": "delete", "start_line": 1 }]);
        let request = json!({ "base_revision_id": revision, "edits": edits });
        let code = bench.call("canvas_edit_lines", request).map(drop).map_err(|(code, _)| code);
        // Without a session, nothing takes the lease for the edit.
        assert_eq!(code, Err(Code::LockNotOwned));
    }
}

#[test]
fn without_a_canvas_every_tool_says_so() {
    let bench = Bench::new(true);
    bench.workspace.canvas().open(None);
    for operation in Operation::ALL {
        let (name, ..) = operation.parts();
        let arguments = json!({ "lease_id": "lease_1_1", "query": "x", "start_line": 1, "patch": "", "edits": [] });
        let (code, message) = bench.call(name, arguments).unwrap_err();
        assert_eq!(code, Code::NotFound, "{name}: {message}");
    }
}
