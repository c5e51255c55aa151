//! `propose_edits`: operations, refusals, stale files, and the names of edits in a review.

use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::super::ProjectToolLimits;
use super::{Desk, hash};
use crate::test_support::covers;
use crate::tool::{Preview, Tool};
use crate::tools::project::propose::ProposeEdits;
use crate::workspace::Mode;

const THREE: &str = "//- a.md\none\ntwo\nthree\n//- b.md\nbee\n";

/// Returns a desk that has read `a.md` and `b.md`.
fn desk(mode: Mode) -> Desk {
    let desk = Desk::with(THREE, mode, ProjectToolLimits::default());
    desk.data("read_file", json!({"file_path": "a.md"}));
    desk.data("read_file", json!({"file_path": "b.md"}));
    desk
}

fn replace(path: &str, line: usize, text: &str) -> Value {
    json!({"file_path": path, "operation": "replace", "start_line": line, "new_text": text})
}

/// Returns the texts of all files that the agent sees.
fn texts(desk: &Desk) -> Vec<(String, String)> {
    let files = desk.data("list_files", json!({}))["files"].as_array().unwrap().clone();
    let path = |file: &Value| file.as_str().unwrap().to_owned();
    files.iter().map(|file| (path(file), desk.visible(&path(file)).unwrap())).collect()
}

#[test]
fn each_operation_does_what_its_name_says() {
    #[track_caller]
    fn check(edits: Value, expected: &[(&str, &str)]) {
        for mode in [Mode::Staged, Mode::Direct] {
            let desk = desk(mode);
            desk.data("propose_edits", json!({ "edits": edits }));
            let expected: Vec<_> = expected.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
            assert_eq!(texts(&desk), expected);
            let is_saved = desk.files.get("a.md") == desk.visible("a.md").map(String::into_bytes)
                && desk.files.get("b.md") == desk.visible("b.md").map(String::into_bytes);
            assert_eq!(is_saved, mode == Mode::Direct);
        }
    }
    let b = ("b.md", "bee\n");
    check(json!([replace("a.md", 2, "2")]), &[("a.md", "one\n2\nthree\n"), b]);
    check(
        json!([{"file_path": "a.md", "operation": "replace", "start_line": 1, "end_line": 2, "new_text": "x\ny\nz\n"}]),
        &[("a.md", "x\ny\nz\nthree\n"), b],
    );
    check(
        json!([{"file_path": "./a.md", "operation": "insert", "start_line": 1, "end_line": 1, "new_text": "zero"}]),
        &[("a.md", "zero\none\ntwo\nthree\n"), b],
    );
    check(
        json!([{"file_path": "a.md", "operation": "insert", "start_line": 4, "new_text": "four"}]),
        &[("a.md", "one\ntwo\nthree\nfour\n"), b],
    );
    check(
        json!([{"file_path": "a.md", "operation": "delete", "start_line": 1, "end_line": 2, "new_text": ""}]),
        &[("a.md", "three\n"), b],
    );
    check(
        json!([{"file_path": "new/c.md", "operation": "create", "new_text": "sea\n"}, replace("a.md", 1, "1")]),
        &[("a.md", "1\ntwo\nthree\n"), b, ("new/c.md", "sea\n")],
    );
    check(json!([{"file_path": "a.md", "operation": "delete_file"}]), &[b]);
    check(
        json!([{"file_path": "a.md", "operation": "rename", "new_path": "c.md"}]),
        &[b, ("c.md", "one\ntwo\nthree\n")],
    );
    // Line numbers of a renamed file are those of the old path.
    check(
        json!([{"file_path": "a.md", "operation": "rename", "new_path": "c.md"}, replace("a.md", 3, "3")]),
        &[b, ("c.md", "one\ntwo\n3\n")],
    );
    // All numbers are those before the call.
    check(
        json!([
            {"file_path": "a.md", "operation": "insert", "start_line": 1, "new_text": "x\ny"},
            replace("b.md", 1, "B"),
            {"file_path": "a.md", "operation": "delete", "start_line": 3},
            {"file_path": "a.md", "operation": "insert", "start_line": 1, "new_text": "z"},
        ]),
        &[("a.md", "x\ny\nz\none\ntwo\n"), ("b.md", "B\n")],
    );
}

#[test]
fn a_call_with_one_bad_edit_changes_nothing() {
    #[track_caller]
    fn check(edit: Value, code: &str, expected: &str) {
        let desk = desk(Mode::Staged);
        let good = json!({"file_path": "b.md", "operation": "insert", "start_line": 1, "new_text": "x"});
        let (found, message) = desk.refusal("propose_edits", json!({"edits": [good, edit]}));
        assert_eq!(found, code, "{message}");
        assert!(message.contains(expected), "{message}");
        assert_eq!(
            (desk.visible("a.md").unwrap().as_str(), desk.visible("b.md").unwrap().as_str()),
            ("one\ntwo\nthree\n", "bee\n")
        );
    }
    let edit = |operation: &str, more: Value| {
        let mut edit = json!({"edit_id": "mine", "file_path": "a.md", "operation": operation});
        edit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        edit
    };
    let invalid = "invalid_argument";
    check(edit("replace", json!({})), invalid, "Edit mine is a replace without start_line");
    check(edit("insert", json!({"start_line": 1})), invalid, "Edit mine inserts nothing");
    check(edit("delete", json!({"start_line": 1, "new_text": "x"})), invalid, "new_text must be empty");
    check(edit("delete_file", json!({"start_line": 1})), invalid, "omit start_line");
    check(edit("delete_file", json!({"new_text": "x"})), invalid, "new_text must be empty");
    check(edit("rename", json!({})), invalid, "without new_path");
    check(edit("rename", json!({"new_path": "./a.md"})), invalid, "to its own path");
    check(edit("delete_file", json!({"new_path": "c.md"})), invalid, "cannot have new_path");
    check(edit("replace", json!({"start_line": 3, "end_line": 4})), "stale", "never read");
    check(edit("replace", json!({"start_line": 3, "end_line": 2})), invalid, "edit 1 is mine");
    check(edit("insert", json!({"start_line": 5, "new_text": "x"})), "stale", "never read");
    check(edit("create", json!({"new_text": "x"})), "already_exists", "a.md: the file already exists");
    check(edit("rename", json!({"new_path": "b.md"})), invalid, "Edits mine (rename) and e_1 (insert) overlap at b.md");
    check(edit("replace", json!({"file_path": "c.md", "start_line": 1})), "not_found", "c.md: no such file");
    check(edit("rename", json!({"file_path": "c.md", "new_path": "d.md"})), "not_found", "c.md");
    check(edit("create", json!({"file_path": "../c.md", "new_text": "x"})), "permission_denied", "c.md");
    check(
        json!({"edit_id": "e_1", "file_path": "a.md", "operation": "delete_file"}),
        invalid,
        "Edit e_1 has the edit_id of another edit",
    );
    check(edit("replace", json!({"start_line": 1, "expected_hash": "abc"})), invalid, "expected_hash");
}

#[test]
fn edits_that_overlap_are_refused() {
    #[track_caller]
    fn check(edits: Value, expected: &str) {
        let (code, message) = desk(Mode::Staged).refusal("propose_edits", json!({ "edits": edits }));
        assert_eq!(code, "invalid_argument");
        assert!(message.contains(expected), "{message}");
    }
    let lines = |operation: &str, start: usize, end: usize, text: &str| json!({"file_path": "a.md", "operation": operation, "start_line": start, "end_line": end, "new_text": text});
    check(json!([lines("replace", 1, 2, "x"), lines("delete", 2, 3, "")]), "edit 1 is e_1 and edit 2 is e_2");
    check(json!([lines("replace", 1, 3, "x"), lines("insert", 2, 2, "y")]), "overlap");
    let whole = |operation: &str, to: &str| json!({"file_path": "a.md", "operation": operation, "new_path": to});
    check(json!([whole("delete_file", ""), lines("replace", 1, 1, "x")]), "Edits e_1 (delete_file) and e_2 (replace)");
    check(json!([whole("delete_file", ""), whole("rename", "c.md")]), "overlap at a.md");
    check(
        json!([whole("rename", "c.md"), {"file_path": "b.md", "operation": "rename", "new_path": "c.md"}]),
        "overlap at c.md",
    );
    check(
        json!([whole("rename", "b.md"), {"file_path": "b.md", "operation": "rename", "new_path": "a.md"}]),
        "overlap at b.md",
    );
}

#[test]
fn a_stale_file_is_refused_with_its_state() {
    let desk = desk(Mode::Staged);
    desk.user_writes("a.md", "zero\none\ntwo\nthree\n");
    desk.user_writes("b.md", "wasp\n");
    let edits = json!({"edits": [replace("a.md", 2, "2"), replace("b.md", 1, "B")]});
    let error = desk.try_call("propose_edits", edits.clone()).unwrap_err();
    assert_eq!(error.code.as_str(), "stale");
    let data = error.data.as_ref().unwrap();
    let state = |path: &str, version: u64, text: &str| {
        let sha256 = hash(text)["sha256:".len()..].to_owned();
        json!({"file_path": path, "version": version, "sha256": sha256, "content": text})
    };
    let (a, b) = (state("a.md", 3, "zero\none\ntwo\nthree\n"), state("b.md", 4, "wasp\n"));
    assert_eq!((&data["latest_file_state"], &data["stale_files"]), (&a, &json!([a, b])));
    let text = error.text();
    assert!(text.contains("\nwasp\n") && text.contains("\nzero\none\n"), "{text}");
    // The refusal has shown both files.
    desk.data("propose_edits", edits);
    assert_eq!(desk.visible("a.md").as_deref(), Some("zero\n2\ntwo\nthree\n"));
    assert_eq!(desk.visible("b.md").as_deref(), Some("B\n"));
}

#[test]
fn hashes_of_the_file_or_of_the_lines_are_checked() {
    #[track_caller]
    fn check(edit: Value, expected: Option<&str>) {
        let desk = Desk::new(THREE);
        match (desk.try_call("propose_edits", json!({"edits": [edit]})), expected) {
            (Ok(_), None) => {}
            (Err(error), Some(code)) => assert_eq!(error.code.as_str(), code, "{error}"),
            (outcome, _) => panic!("{outcome:?}"),
        }
    }
    let with = |hash: String, mut edit: Value| {
        edit["expected_hash"] = Value::from(hash);
        edit
    };
    let whole = || hash("one\ntwo\nthree\n");
    let remove = || json!({"file_path": "a.md", "operation": "delete_file"});
    let rename = || json!({"file_path": "a.md", "operation": "rename", "new_path": "c.md"});
    let create = || json!({"file_path": "c.md", "operation": "create", "new_text": "x"});
    check(with(whole(), replace("a.md", 2, "2")), None);
    check(with(whole()["sha256:".len()..].to_owned(), replace("a.md", 2, "2")), None);
    check(with(hash("two\n"), replace("a.md", 2, "2")), None);
    check(with(hash("two"), replace("a.md", 2, "2")), None);
    check(with(hash("one\n"), replace("a.md", 2, "2")), Some("stale"));
    check(replace("a.md", 2, "2"), Some("stale"));
    check(with(whole(), remove()), None);
    check(with(hash("other"), remove()), Some("stale"));
    check(remove(), Some("stale"));
    check(rename(), None);
    check(with(hash("other"), rename()), Some("stale"));
    check(create(), None);
    check(with(hash(""), create()), None);
    check(with(hash("other"), create()), Some("stale"));
}

#[test]
fn a_review_names_the_edit_of_each_hunk_and_the_result_its_reason() {
    covers("service.edits");
    let desk = desk(Mode::Staged);
    let edits = json!({"edits": [
        {"edit_id": "first", "file_path": "a.md", "operation": "replace", "start_line": 1, "new_text": "1", "rationale": "Short."},
        {"edit_id": "second", "file_path": "a.md", "operation": "replace", "start_line": 3, "new_text": "3"},
        {"edit_id": "gone", "file_path": "b.md", "operation": "delete_file"},
        {"edit_id": "new", "file_path": "c.md", "operation": "create", "new_text": "x\n"},
    ]});
    let data = desk.data("propose_edits", edits);
    assert_eq!(
        data["edits"][0],
        json!({
            "edit_id": "first", "file_path": "a.md", "operation": "replace", "start_line": 1, "end_line": 1,
            "new_text": "1", "rationale": "Short.",
        })
    );
    let states = data["states"].as_array().unwrap();
    assert_eq!(states[0], json!({"file_path": "a.md", "hash": hash("1\ntwo\n3\n"), "version": 3, "deleted": false}));
    let mut named = Vec::new();
    for file in desk.workspace.review().files {
        for hunk in file.hunks {
            named.push((file.path.to_string(), desk.workspace.edits_of_hunk(&hunk.id).unwrap()));
        }
    }
    let expected = [("a.md", "call/first"), ("a.md", "call/second"), ("b.md", "call/gone"), ("c.md", "call/new")];
    assert_eq!(named, expected.map(|(path, edit)| (path.to_owned(), vec![edit.to_owned()])));
    assert!(desk.workspace.edits_of_hunk("f1:h999").is_err());
    // Edits that touch are one hunk.
    desk.data("propose_edits", json!({"edits": [replace("a.md", 2, "2")]}));
    let review = desk.workspace.review();
    let edits = desk.workspace.edits_of_hunk(&review.files[0].hunks[0].id).unwrap();
    assert_eq!(edits, ["call/first", "call/second", "call/e_1"]);
}

#[test]
fn a_preview_shows_the_files_and_reads_nothing() {
    let desk = desk(Mode::Staged);
    #[track_caller]
    fn preview(desk: &Desk, edits: Value) -> Preview {
        let Value::Object(arguments) = json!({ "edits": edits }) else { panic!() };
        block_on(ProposeEdits.preview(&arguments, &desk.context()))
    }
    let Preview::Detail(detail) = preview(&desk, json!([replace("a.md", 1, "1"), replace("b.md", 1, "B")])) else {
        panic!("no detail");
    };
    assert_eq!(detail["title"], "Edit a.md; Edit b.md");
    assert!(matches!(preview(&desk, json!([replace("a.md", 9, "1")])), Preview::Futile));
    desk.user_writes("a.md", "new\n");
    assert!(matches!(preview(&desk, json!([replace("a.md", 1, "1")])), Preview::Futile));
    assert_eq!(desk.refusal("propose_edits", json!({"edits": [replace("a.md", 1, "1")]})).0, "stale");
}

#[test]
fn the_paths_of_a_call_are_all_that_it_names() {
    let edits = json!({"edits": [
        replace("a.md", 1, "1"), replace("a.md", 2, "2"),
        {"file_path": "b.md", "operation": "rename", "new_path": "c.md"},
    ]});
    assert_eq!(ProposeEdits.paths(edits.as_object().unwrap()), ["a.md", "b.md", "c.md"]);
}
