//! Writes that require the file to be as the session last read it, and the answers of `safe_patch`.

use emend_edit::ContentHash;
use expect_test::expect;
use futures::FutureExt;
use serde_json::Value;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::fixed_texts;
use crate::test_support::covers;
use crate::tools::{EditLines, SafePatch};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
const DONE: &str = "1\n2\n3\n4\n5\n6\n7\n8\nnine\n10\n";

fn hash(text: &str) -> String {
    ContentHash::of(text.as_bytes()).hex()
}

fn world(fixture: &str, answers: Vec<Answer>) -> World {
    let mut world = World::new(fixture, vec![], Setup::default());
    let mut tools = tools();
    tools.register(Shared::new(SafePatch));
    tools.register(Shared::new(EditLines));
    world.restart(tools, answers);
    world
}

/// The session's knowledge of `a.txt` at the time of the write.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// All lines, unchanged since.
    AsItIs,
    /// All lines, but the user has inserted a line before them since.
    Changed,
    /// The first three lines.
    Partly,
    /// No line.
    Unseen,
    /// All lines, but the file was deleted since.
    Deleted,
}

/// Reads the file as `known` says, makes the call, and returns its result.
fn write(known: Known, call: (&'static str, Value)) -> (World, String) {
    let read = |arguments: Value| Answer::Call(vec![("read_file", arguments)]);
    let mut answers = match known {
        Known::AsItIs | Known::Changed | Known::Deleted => vec![read(json!({"file_path": "a.txt"}))],
        Known::Partly => vec![read(json!({"file_path": "a.txt", "limit": 3}))],
        Known::Unseen => vec![],
    };
    let at = answers.len() + 1;
    answers.extend([Answer::Call(vec![call]), Answer::Say("Done.")]);
    let world = world(&format!("//- a.txt\n{TEN}"), answers);
    let files = Shared::clone(&world.files);
    world.when(at, move |_| match known {
        Known::Changed => files.insert("a.txt", format!("0\n{TEN}")).unwrap(),
        Known::Deleted => {
            let path = crate::environment::FilePath::clean("a.txt").unwrap();
            crate::environment::ExecutionEnvironment::remove(&*files, &path).now_or_never().unwrap().unwrap();
        }
        _ => {}
    });
    world.turn("do it");
    let result = world.last_results().join("\n");
    (world, result)
}

/// The call of each tool that changes line 9 of `a.txt`.
fn nine(tool: &str) -> (&'static str, Value) {
    let lines = |edit: Value| ("edit_lines", json!({"file_path": "a.txt", "edits": [edit]}));
    match tool {
        "edit_file" => ("edit_file", json!({"file_path": "a.txt", "old_string": "8\n9\n", "new_string": "8\nnine\n"})),
        "apply_patch" => (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: a.txt\n 8\n-9\n+nine\n 10\n*** End Patch\n"}),
        ),
        "edit_lines" => lines(json!({"operation": "replace", "start_line": 9, "new_text": "nine"})),
        "edit_lines, lines' hash" => {
            lines(json!({"operation": "replace", "start_line": 9, "new_text": "nine", "expected_hash": hash("9\n")}))
        }
        "write_file" => ("write_file", json!({"file_path": "a.txt", "content": DONE})),
        "write_file, hash" => (
            "write_file",
            json!({"file_path": "a.txt", "content": DONE, "expected_hash": format!("sha256:{}", hash(TEN))}),
        ),
        "safe_patch" => safe_patch(&hash(TEN), "@@ -7,4 +7,4 @@\n 7\n 8\n-9\n+nine\n 10\n"),
        tool => panic!("{tool}"),
    }
}

fn safe_patch(base: &str, diff: &str) -> (&'static str, Value) {
    ("safe_patch", json!({"file_path": "a.txt", "unified_diff": diff, "base_content_sha256": base}))
}

#[test]
fn each_write_finds_its_place_or_needs_the_file_as_it_was_seen() {
    covers("edit.stale");
    use Known::{AsItIs, Changed, Deleted, Partly, Unseen};
    let all = [AsItIs, Changed, Partly, Unseen, Deleted];
    let table: [(&str, [&str; 5]); 7] = [
        ("edit_file", ["ok", "located", "ok", "ok", "not_found"]),
        ("apply_patch", ["ok", "located", "ok", "ok", "not_found"]),
        ("edit_lines", ["ok", "stale", "stale", "stale", "stale"]),
        ("edit_lines, lines' hash", ["ok", "stale", "ok", "ok", "not_found"]),
        ("write_file", ["ok", "stale", "stale", "stale", "stale"]),
        ("write_file, hash", ["ok", "stale", "stale", "stale", "stale"]),
        ("safe_patch", ["ok", "stale", "ok", "ok", "stale"]),
    ];
    for (tool, row) in table {
        for (known, expected) in all.into_iter().zip(row) {
            let (world, result) = write(known, nine(tool));
            let (text, code) = match expected {
                "ok" => (DONE.to_owned(), None),
                "located" => (format!("0\n{DONE}"), None),
                code => {
                    let before = match known {
                        Changed => format!("0\n{TEN}"),
                        Deleted => "(no file)".to_owned(),
                        _ => TEN.to_owned(),
                    };
                    (before, Some(code))
                }
            };
            assert_eq!(world.disk("a.txt"), text, "{tool}, {known:?}: {result}");
            assert_eq!(result.starts_with("error"), code.is_some(), "{tool}, {known:?}: {result}");
            if let Some(code) = code {
                assert!(result.contains(&format!("[{code}]")), "{tool}, {known:?}: {result}");
            }
            if code == Some("stale") && !matches!(known, Deleted) {
                assert!(result.ends_with(&format!("]\n{text}")), "{tool}, {known:?}: the state is shown: {result}");
            }
        }
    }
}

#[test]
fn what_was_stale_can_be_written_once_it_was_shown() {
    for tool in ["write_file", "edit_lines"] {
        let world = world(
            &format!("//- a.txt\n{TEN}"),
            vec![Answer::Call(vec![nine(tool)]), Answer::Call(vec![nine(tool)]), Answer::Say("Done.")],
        );
        world.turn("do it");
        assert_eq!(world.disk("a.txt"), DONE, "{tool}: {:?}", world.last_results());
    }
}

#[test]
fn calls_of_one_message_run_in_order_each_over_what_the_one_before_left() {
    let edit = |old: &str, new: &str| {
        ("edit_file", json!({"file_path": "a.txt", "old_string": format!("{old}\n"), "new_string": format!("{new}\n")}))
    };
    let call = |calls| {
        vec![
            Answer::Call(vec![("read_file", json!({"file_path": "a.txt"}))]),
            Answer::Call(calls),
            Answer::Say("Done."),
        ]
    };
    let fixture = format!("//- a.txt\n{TEN}");
    let three = world(&fixture, call(vec![edit("1\n2", "A"), edit("A\n3", "B"), edit("B\n4", "C")]));
    three.turn("do it");
    assert_eq!(three.disk("a.txt"), "C\n5\n6\n7\n8\n9\n10\n");
    // Line numbers refer to the text as it was shown, which the first call has changed.
    let insert = (
        "edit_lines",
        json!({"file_path": "a.txt", "edits": [{"operation": "insert", "start_line": 1, "new_text": "0"}]}),
    );
    let two = world(&fixture, call(vec![insert, nine("edit_lines")]));
    two.turn("do it");
    assert_eq!(two.disk("a.txt"), format!("0\n{TEN}"));
    assert!(two.last_results()[1].contains("earlier call of the same message"), "{:?}", two.last_results());
    // The hash of the second diff is that of the text before the first diff.
    let insert = safe_patch(&hash(TEN), "@@ -1,1 +1,2 @@\n+0\n 1\n 2\n");
    let two = world(&fixture, call(vec![insert, nine("safe_patch")]));
    two.turn("do it");
    assert_eq!(two.disk("a.txt"), format!("0\n{TEN}"));
    assert!(two.last_results()[1].contains(fixed_texts::STATE_MISMATCH), "{:?}", two.last_results());
}

/// Runs one `safe_patch` over `before`; returns its outcome as data and the text that the model reads.
fn patch(before: Option<&str>, base: &str, diff: &str) -> (World, Value, String) {
    let fixture = before.map(|text| format!("//- a.txt\n{text}")).unwrap_or_default();
    let world = world(&fixture, vec![Answer::Call(vec![safe_patch(base, diff)]), Answer::Say("Done.")]);
    let run = world.session.submit("do it", CancelToken::new()).unwrap();
    let events: Vec<Event> = block_on(run.collect());
    let outcome = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolCallEnd { error_info: Some(error), .. } => error.data.clone(),
        _ => None,
    });
    let text = world.last_results().join("\n");
    (world, outcome.unwrap_or_default(), text)
}

#[track_caller]
fn check_patch(before: Option<&str>, base: &str, diff: &str, after: &str, expected: &Expect) {
    let (world, _, text) = patch(before, base, diff);
    assert_eq!(world.disk("a.txt"), after);
    expected.assert_eq(&text);
}

#[test]
fn a_diff_over_the_right_text_is_applied() {
    covers("verified.apply");
    check_patch(
        Some("one\ntwo\nthree\n"),
        &hash("one\ntwo\nthree\n"),
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        "one\n2\nthree\n",
        &expect![[r#"
            Patch applied successfully.
            [a.txt | version 1 | sha256:bc85caa9b61bcf3a54ccfc800e2b0eda6c11fa5df4e0481c896d31cda2462eb2]
            one
            2
            three
        "#]],
    );
}

#[test]
fn wrong_numbers_are_put_right() {
    covers("verified.line_numbers");
    check_patch(
        Some("one\ntwo\nthree\n"),
        &format!("sha256:{}", hash("one\ntwo\nthree\n").to_uppercase()),
        "@@ -40,9 +41,2 @@\n two\n-three\n+3\n",
        "one\ntwo\n3\n",
        &expect![[r#"
            Patch applied successfully.
            Note: the hunk states 9 old lines but has 2
            Note: hunk 1 states line 40 but was found at line 2
            [a.txt | version 1 | sha256:4d3778b594aa150e0117e76f222a3c57775dd34398c7b4d04114b187670e575d]
            one
            two
            3
        "#]],
    );
}

#[test]
fn a_diff_over_another_text_is_a_state_mismatch_that_shows_the_file() {
    covers("verified.hash_mismatch");
    check_patch(
        Some("one\n"),
        &hash("another\n"),
        "@@ -1 +1 @@\n-one\n+1\n",
        "one\n",
        &expect![[r#"
        error: Tool error (safe_patch): [stale] State Mismatch: File has changed on disk since it was last read.
        [a.txt | version 1 | sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806]
        one
    "#]],
    );
    check_patch(
        Some("one\n"),
        "the newest",
        "@@ -1 +1 @@\n-one\n+1\n",
        "one\n",
        &expect![[r#"
        error: Tool error (safe_patch): [stale] State Mismatch: File has changed on disk since it was last read.
        `the newest` is not a SHA-256 hash: expected 64 hexadecimal digits, with or without `sha256:` before them.
        [a.txt | version 1 | sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806]
        one
    "#]],
    );
}

#[test]
fn a_diff_whose_lines_are_not_there_is_invalid_and_shows_the_file() {
    covers("verified.invalid_diff");
    check_patch(
        Some("one\n"),
        &hash("one\n"),
        "@@ -1 +1 @@\n-uno\n+1\n",
        "one\n",
        &expect![[r#"
        error: Tool error (safe_patch): [conflict] Invalid Diff: The provided diff content does not match the file's content. The context or lines to be removed may be incorrect.
        a.txt: hunk 1 of 1 (patch line 1) does not match: its context and deleted lines are not in the file; nothing in the file resembles it
        [a.txt | version 1 | sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806]
        one
    "#]],
    );
    check_patch(
        Some("a\na\n"),
        &hash("a\na\n"),
        "@@ -9 +9 @@\n-a\n+b\n",
        "a\na\n",
        &expect![[r#"
        error: Tool error (safe_patch): [ambiguous] Invalid Diff: The provided diff content does not match the file's content. The context or lines to be removed may be incorrect.
        a.txt: hunk 1 of 1 (patch line 1) matches in 2 places, lines 1, 2; add context lines or an `@@` line that only one of them has
        Try: line 1; line 2
        [a.txt | version 1 | sha256:7da0810372718aaba44c608981aa81247cee8c3fc0ece1f7f7dd0e3152b41715]
        a
        a
    "#]],
    );
    check_patch(
        Some("one\n"),
        &hash("one\n"),
        "one -> 1",
        "one\n",
        &expect![[r#"
        error: Tool error (safe_patch): [invalid_argument] Invalid Diff: The provided diff content does not match the file's content. The context or lines to be removed may be incorrect.
        line 1: unexpected "one -> 1"; every line of a hunk starts with ` `, `-` or `+`
        [a.txt | version 1 | sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806]
        one
    "#]],
    );
}

#[test]
fn a_file_is_created_over_the_hash_of_nothing() {
    covers("verified.create");
    check_patch(
        None,
        &hash(""),
        "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n",
        "one\ntwo\n",
        &expect![[r#"
            Patch applied successfully.
            [a.txt | version 1 | sha256:c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8]
            one
            two
        "#]],
    );
    check_patch(
        Some(""),
        &hash(""),
        "@@ -0,0 +1 @@\n+one\n",
        "one\n",
        &expect![[r#"
        Patch applied successfully.
        [a.txt | version 1 | sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806]
        one
    "#]],
    );
    check_patch(
        None,
        &hash("one\n"),
        "@@ -0,0 +1 @@\n+one\n",
        "(no file)",
        &expect![[r#"
            error: Tool error (safe_patch): [stale] State Mismatch: File has changed on disk since it was last read.
            There is no a.txt: its state is that of an empty file.
            [a.txt | version 1 | sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855]
        "#]],
    );
}

#[test]
fn answers_have_the_fields_of_the_design() {
    let (_, mismatch, _) = patch(Some("one\n"), &hash("x"), "@@ -1 +1 @@\n-one\n+1\n");
    let state = json!({"file_path": "a.txt", "version": 1, "sha256": hash("one\n"), "content": "one\n"});
    assert_eq!(mismatch, json!({"latest_file_state": state, "success": false, "message": fixed_texts::STATE_MISMATCH}));
    let (_, invalid, _) = patch(Some("one\n"), &hash("one\n"), "@@ -1 +1 @@\n-uno\n+1\n");
    assert_eq!(invalid, json!({"latest_file_state": state, "success": false, "message": fixed_texts::INVALID_DIFF}));
    let world = world("//- a.txt\none\n", vec![]);
    let arguments = safe_patch(&hash("one\n"), "@@ -1 +1 @@\n-one\n+1\n").1;
    let done = block_on(call_tool(
        &world.session.core.settings().tools,
        &world.session.core.workspace,
        "safe_patch",
        arguments,
    ));
    let state = json!({"file_path": "a.txt", "version": 1, "sha256": hash("1\n"), "content": "1\n"});
    let data = done.unwrap().data;
    assert_eq!((&data["success"], &data["message"]), (&json!(true), &json!(fixed_texts::PATCH_APPLIED)));
    assert_eq!(data["latest_file_state"], state);
}

#[test]
fn each_session_counts_its_own_versions() {
    covers("verified.counter");
    let read = || Answer::Call(vec![("read_file", json!({"file_path": "a.txt"}))]);
    let versions = |world: &World| {
        world.turn("do it");
        let result = world.last_results().remove(0);
        result.split(" | ").nth(1).unwrap().to_owned()
    };
    let mut world = world("//- a.txt\none\n", vec![read(), Answer::Say("Read.")]);
    assert_eq!(versions(&world), "version 1");
    world.script.answers.lock().unwrap().extend([read(), Answer::Say("Read.")]);
    assert_eq!(versions(&world), "version 2");
    // Another session over the same workspace.
    world.restart(tools(), vec![read(), Answer::Say("Read.")]);
    assert_eq!(versions(&world), "version 1");
}

#[test]
fn a_mismatch_is_a_read_and_the_next_diff_may_rest_on_it() {
    covers("verified.counter");
    let world = world(
        "//- a.txt\none\n",
        vec![
            Answer::Call(vec![("read_file", json!({"file_path": "a.txt"}))]),
            Answer::Call(vec![safe_patch(&hash("old\n"), "@@ -1 +1 @@\n-one\n+1\n")]),
            Answer::Call(vec![safe_patch(&hash("one\n"), "@@ -1 +1 @@\n-one\n+1\n")]),
            Answer::Call(vec![("write_file", json!({"file_path": "a.txt", "content": "2\n"}))]),
            Answer::Say("Done."),
        ],
    );
    world.turn("do it");
    let results: Vec<String> = world
        .session
        .history()
        .iter()
        .flat_map(|message| message.content.clone())
        .filter_map(|part| match part {
            ContentPart::ToolResult(result) => result.content.as_str().map(str::to_owned),
            _ => None,
        })
        .collect();
    for (result, version) in results.iter().zip(1..) {
        assert!(result.contains(&format!("version {version} ")), "{version}: {result}");
    }
    assert_eq!((results.len(), world.disk("a.txt").as_str()), (4, "2\n"));
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn whoever_holds_no_lease_of_the_open_file_is_refused_with_its_state() {
    let mut world = World::new("//- a.txt\none\n", vec![], Setup { canvas: Some("a.txt"), ..Setup::default() });
    let mut tools = tools();
    tools.register(Shared::new(SafePatch));
    world.restart(
        tools,
        vec![Answer::Call(vec![safe_patch(&hash("one\n"), "@@ -1 +1 @@\n-one\n+1\n")]), Answer::Say("Done.")],
    );
    world.turn("do it");
    assert_eq!(world.disk("a.txt"), "1\n", "the session takes the lease for it: {:?}", world.last_results());
    let arguments = safe_patch(&hash("1\n"), "@@ -1 +1 @@\n-1\n+one\n").1;
    let outcome = block_on(call_tool(
        &world.session.core.settings().tools,
        &world.session.core.workspace,
        "safe_patch",
        arguments,
    ));
    let error = outcome.unwrap_err();
    assert_eq!(error.code, crate::error_code::Code::LockNotOwned);
    assert_eq!(error.data.unwrap()["latest_file_state"]["content"], "1\n");
}
