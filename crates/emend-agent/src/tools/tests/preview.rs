//! Previews of editing calls.

use emend_edit::ContentHash;
use emend_llm::{Clock, Shared};
use expect_test::{Expect, expect};
use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::environment::ExecutionEnvironment;
use crate::environment::memory::MemFs;
use crate::profile::Profile;
use crate::session::tests::TickingClock;
use crate::test_support::{covers, tool_context};
use crate::tool::{Preview, ToolContext, ToolRegistry};
use crate::tools::*;
use crate::workspace::{Mode, Workspace};

struct World {
    files: Shared<MemFs>,
    context: ToolContext,
}

fn world() -> World {
    let files = Shared::new(MemFs::from_fixture("//- src/a.txt\none\ntwo\n//- b.txt\nb\n"));
    let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
    let clock: Shared<dyn Clock> = Shared::new(TickingClock::default());
    let workspace = Shared::new(Workspace::new(environment, Mode::Direct, clock));
    let context = tool_context(&workspace, &Shared::default());
    World { files, context }
}

fn all() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Shared::new(SafePatch));
    tools.register(Shared::new(EditLines));
    tools
}

fn preview(world: &World, tools: &ToolRegistry, name: &str, arguments: Value) -> Preview {
    let (_, tool) = tools.get(name).unwrap();
    block_on(tool.preview(arguments.as_object().unwrap(), &world.context))
}

#[track_caller]
fn check(name: &str, arguments: Value, expected: &Expect) {
    let world = world();
    block_on(world.context.workspace.read(&world.context.reads, "src/a.txt", 1, 100)).unwrap();
    let shown = match preview(&world, &all(), name, arguments) {
        Preview::Detail(detail) => serde_json::to_string_pretty(&detail).unwrap(),
        other => format!("{other:?}"),
    };
    expected.assert_eq(&shown);
    assert_eq!(world.files.get("src/a.txt").unwrap(), b"one\ntwo\n", "nothing is written");
    let read = block_on(world.context.workspace.read(&world.context.reads, "b.txt", 1, 1)).unwrap();
    assert_eq!(read.version, 2, "a preview does not count as a read");
}

fn diff() -> Value {
    json!({
        "file_path": "src/a.txt",
        "unified_diff": "@@ -9 +9 @@\n-two\n+2\n",
        "base_content_sha256": ContentHash::of(b"one\ntwo\n").hex(),
    })
}

#[test]
fn an_edit_shows_its_diff_and_both_texts() {
    covers("verified.approval");
    check(
        "safe_patch",
        diff(),
        &expect![[r#"
            {
              "fileName": "a.txt",
              "filePath": "src/a.txt",
              "fileDiff": "@@ -9 +9 @@\n-two\n+2\n",
              "originalContent": "one\ntwo\n",
              "newContent": "one\n2\n",
              "type": "edit",
              "title": "Edit src/a.txt"
            }"#]],
    );
    check(
        "edit_file",
        json!({"file_path": "src/a.txt", "old_string": "two", "new_string": "2"}),
        &expect![[r#"
            {
              "fileName": "a.txt",
              "filePath": "src/a.txt",
              "fileDiff": "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
              "originalContent": "one\ntwo\n",
              "newContent": "one\n2\n",
              "type": "edit",
              "title": "Edit src/a.txt"
            }"#]],
    );
    check(
        "write_file",
        json!({"file_path": "new.txt", "content": "new\n"}),
        &expect![[r#"
            {
              "fileName": "new.txt",
              "filePath": "new.txt",
              "fileDiff": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n",
              "originalContent": null,
              "newContent": "new\n",
              "type": "edit",
              "title": "Create new.txt"
            }"#]],
    );
    let edits = json!([{"operation": "delete", "start_line": 1}]);
    check(
        "edit_lines",
        json!({"file_path": "src/a.txt", "edits": edits}),
        &expect![[r#"
            {
              "fileName": "a.txt",
              "filePath": "src/a.txt",
              "fileDiff": "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,2 +1 @@\n-one\n two\n",
              "originalContent": "one\ntwo\n",
              "newContent": "two\n",
              "type": "edit",
              "title": "Edit src/a.txt"
            }"#]],
    );
}

#[test]
fn a_patch_shows_all_its_files() {
    let patch = "*** Begin Patch\n*** Update File: src/a.txt\n*** Move to: c.txt\n one\n-two\n+2\n*** Delete File: b.txt\n*** End Patch\n";
    check(
        "apply_patch",
        json!({ "patch": patch }),
        &expect![[r#"
            {
              "type": "edit",
              "title": "Move src/a.txt to c.txt; Delete b.txt",
              "fileDiff": "--- a/src/a.txt\n+++ b/c.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n",
              "files": [
                {
                  "fileName": "c.txt",
                  "filePath": "c.txt",
                  "fileDiff": "--- a/src/a.txt\n+++ b/c.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
                  "originalContent": "one\ntwo\n",
                  "newContent": "one\n2\n"
                },
                {
                  "fileName": "b.txt",
                  "filePath": "b.txt",
                  "fileDiff": "--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n",
                  "originalContent": "b\n",
                  "newContent": null
                }
              ]
            }"#]],
    );
}

#[test]
fn nobody_is_asked_about_what_would_be_refused_anyway() {
    covers("verified.approval");
    let futile = [
        (
            "safe_patch",
            json!({"file_path": "src/a.txt", "unified_diff": "@@ -1 +1 @@\n-two\n+2\n", "base_content_sha256": "0"}),
        ),
        ("safe_patch", {
            let mut diff = diff();
            diff["unified_diff"] = json!("@@ -1 +1 @@\n-zwei\n+2\n");
            diff
        }),
        ("edit_file", json!({"file_path": "src/a.txt", "old_string": "zwei", "new_string": "2"})),
        ("edit_file", json!({"file_path": "../a.txt", "old_string": "two", "new_string": "2"})),
        ("write_file", json!({"file_path": "b.txt", "content": "never read"})),
        ("write_file", json!({"file_path": "src/a.txt", "content": "", "expected_hash": "0"})),
        ("edit_lines", json!({"file_path": "b.txt", "edits": [{"operation": "delete", "start_line": 1}]})),
        ("apply_patch", json!({"patch": "nonsense"})),
    ];
    for (name, arguments) in futile {
        check(name, arguments, &expect!["Futile"]);
    }
    check("read_file", json!({"file_path": "b.txt"}), &expect!["Plain"]);
}

#[test]
fn a_profile_shows_the_same() {
    let (world, tools) = (world(), Profile::openai("m").tools);
    let patch = "*** Begin Patch\n*** Update File: b.txt\n-b\n+B\n*** End Patch\n";
    let Preview::Detail(detail) = preview(&world, &tools, "apply_patch", json!({ "input": patch })) else { panic!() };
    assert_eq!(detail["newContent"], "B\n");
}
