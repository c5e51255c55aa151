//! `read_file` and `list_files` of the project tools.

use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::super::ProjectToolLimits;
use super::{Desk, hash};
use crate::test_support::covers;
use crate::workspace::Mode;

fn small() -> ProjectToolLimits {
    ProjectToolLimits {
        max_read_bytes_default: 12,
        max_read_bytes_cap: 16,
        max_read_lines_default: 3,
        max_listed_files: 2,
        ..ProjectToolLimits::default()
    }
}

#[test]
fn a_read_returns_the_lines_and_says_if_there_are_more() {
    covers("service.tools");
    #[track_caller]
    fn check(fixture: &str, range: Value, expected: Value) {
        let desk = Desk::with(fixture, Mode::Staged, small());
        let mut arguments = json!({"file_path": "a.md"});
        arguments.as_object_mut().unwrap().extend(range.as_object().unwrap().clone());
        let data = desk.data("read_file", arguments);
        let fields = ["content", "start_line", "end_line", "truncated"].map(|name| data[name].clone());
        assert_eq!(Value::from(fields.to_vec()), expected);
        let text = String::from_utf8(desk.files.get("a.md").unwrap()).unwrap();
        assert_eq!((&data["file_path"], &data["hash"]), (&json!("a.md"), &json!(hash(&text))));
    }
    let five = "//- a.md\none\ntwo\nthr\nfou\nfiv\n";
    check(five, json!({}), json!(["one\ntwo\nthr\n", 1, 3, true]));
    check(five, json!({"start_line": 3}), json!(["thr\nfou\nfiv\n", 3, 5, false]));
    check(five, json!({"start_line": 2, "end_line": 2}), json!(["two\n", 2, 2, false]));
    check(five, json!({"end_line": 5}), json!(["one\ntwo\nthr\n", 1, 3, true]));
    check(five, json!({"end_line": 5, "max_bytes": 100}), json!(["one\ntwo\nthr\nfou\n", 1, 4, true]));
    check(five, json!({"start_line": 5, "end_line": 9}), json!(["fiv\n", 5, 5, false]));
    check("//- a.md\n", json!({}), json!(["", 1, 0, false]));
    check("//- a.md\n0123456789abcdef\nx\n", json!({}), json!(["0123456789ab", 1, 1, true]));
    check("//- a.md\n0123456789äö\nx\n", json!({"max_bytes": 13}), json!(["0123456789ä", 1, 1, true]));
}

#[test]
fn a_read_past_the_end_and_a_range_that_runs_backwards_are_refused() {
    let desk = Desk::new("//- a.md\none\n");
    #[track_caller]
    fn check(desk: &Desk, arguments: Value, code: &str, text: &str) {
        let (found, message) = desk.refusal("read_file", arguments);
        assert_eq!(found, code);
        assert!(message.contains(text), "{message}");
    }
    check(
        &desk,
        json!({"file_path": "a.md", "start_line": 2}),
        "invalid_argument",
        "past the end of a.md, which has 1 line",
    );
    check(
        &desk,
        json!({"file_path": "a.md", "start_line": 3, "end_line": 2}),
        "invalid_argument",
        "end_line 2 is before",
    );
    check(&desk, json!({"file_path": "b.md"}), "not_found", "b.md");
    check(&desk, json!({"file_path": "../b.md"}), "permission_denied", "b.md");
}

#[test]
fn the_text_has_line_numbers() {
    let desk = Desk::with("//- a.md\none\ntwo\nthr\nfou\n", Mode::Staged, small());
    let text = desk.try_call("read_file", json!({"file_path": "a.md"})).unwrap().text;
    let head = format!("[a.md | version 1 | {} | lines 1-3 of 4]", hash("one\ntwo\nthr\nfou\n"));
    assert_eq!(text, format!("{head}\n1 | one\n2 | two\n3 | thr\n[truncated; continue with start_line 4]"));
}

#[test]
fn a_line_that_was_cut_cannot_be_replaced_unread() {
    let desk = Desk::with("//- a.md\n0123456789abcdef\nx\n", Mode::Staged, small());
    desk.data("read_file", json!({"file_path": "a.md"}));
    let edit = json!({"edits": [{"file_path": "a.md", "operation": "delete", "start_line": 1}]});
    assert_eq!(desk.refusal("propose_edits", edit).0, "stale");
}

#[test]
fn files_are_listed_by_directory_prefix_and_glob() {
    covers("service.tools");
    let fixture =
        "//- notes/team/a.md\n1\n//- notes/team/b.txt\n1\n//- notes/team2/c.md\n1\n//- d.md\n1\n//- .env\n1\n";
    #[track_caller]
    fn check(fixture: &str, arguments: Value, expected: &[&str]) {
        let desk = Desk::new(fixture);
        assert_eq!(desk.data("list_files", arguments), json!({"files": expected, "truncated": false}));
    }
    let all = ["d.md", "notes/team/a.md", "notes/team/b.txt", "notes/team2/c.md"];
    check(fixture, json!({}), &all);
    check(fixture, json!({"prefix": ".", "glob": "**/*"}), &all);
    check(fixture, json!({"prefix": "notes/team"}), &all[1..3]);
    check(fixture, json!({"prefix": "./notes/team/"}), &all[1..3]);
    check(fixture, json!({"prefix": "notes/te"}), &all[1..]);
    check(fixture, json!({"prefix": "notes", "glob": "*.md"}), &["notes/team/a.md", "notes/team2/c.md"]);
    check(fixture, json!({"glob": "notes/*/*.txt"}), &["notes/team/b.txt"]);
    let desk = Desk::with(fixture, Mode::Staged, small());
    assert_eq!(desk.data("list_files", json!({})), json!({"files": ["d.md", "notes/team/a.md"], "truncated": true}));
    assert_eq!(desk.refusal("list_files", json!({"prefix": "nothing"})).0, "not_found");
    assert_eq!(desk.refusal("list_files", json!({"prefix": "../x"})).0, "permission_denied");
}

#[test]
fn pending_files_are_listed() {
    let desk = Desk::new("//- a.md\none\n");
    let edits = json!({"edits": [{"file_path": "new/b.md", "operation": "create", "new_text": "x\n"}]});
    desk.data("propose_edits", edits);
    assert_eq!(desk.data("list_files", json!({"prefix": "new"}))["files"], json!(["new/b.md"]));
    assert_eq!(desk.data("list_files", json!({}))["files"], json!(["a.md", "new/b.md"]));
}
