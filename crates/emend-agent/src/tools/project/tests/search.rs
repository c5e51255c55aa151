//! `search_project`: order, snippets, limits, and the files that it leaves out.

use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::super::ProjectToolLimits;
use super::Desk;
use crate::test_support::covers;
use crate::workspace::Mode;

const NOTES: &str = "\
//- notes/a.md
the list of tasks
onboarding starts here
//- notes/b.md
onboarding checklist
//- notes/onboarding.md
welcome
checklist for a new colleague
//- notes/c.md
checklist
//- notes/onboarding-plan.md
nothing of interest
//- notes/d.md
Checklist of Onboarding
//- .hidden/onboarding checklist.md
onboarding checklist
//- .git/onboarding.md
onboarding checklist
//- .gitignore
build/
//- build/out.md
onboarding checklist
";

/// Returns each result as `PATH:START-END`.
fn places(data: &Value) -> Vec<String> {
    let place = |result: &Value| {
        let path = result["file_path"].as_str().unwrap();
        format!("{path}:{}-{}", result["start_line"], result["end_line"])
    };
    data["results"].as_array().unwrap().iter().map(place).collect()
}

#[test]
fn results_are_ranked_by_phrase_words_and_path() {
    #[track_caller]
    fn check(arguments: Value, expected: &[&str]) {
        assert_eq!(places(&Desk::new(NOTES).data("search_project", arguments)), expected);
    }
    // The phrase, all words (one in the path first), one word in path and text, one word in the path, one word.
    check(
        json!({"query": "onboarding checklist"}),
        &[
            "notes/b.md:1-1",
            "notes/onboarding.md:1-2",
            "notes/d.md:1-1",
            "notes/onboarding-plan.md:1-1",
            "notes/a.md:1-2",
            "notes/c.md:1-1",
        ],
    );
    check(json!({"query": "  onboarding   checklist ", "limit": 1}), &["notes/b.md:1-1"]);
    // An upper-case letter makes the case count.
    check(json!({"query": "Checklist"}), &["notes/d.md:1-1"]);
    check(json!({"query": "a.md"}), &["notes/a.md:1-2"]);
    check(json!({"query": "checklist", "glob": "b.md"}), &["notes/b.md:1-1"]);
    check(
        json!({"query": "onboarding", "glob": "notes/o*"}),
        &["notes/onboarding-plan.md:1-1", "notes/onboarding.md:1-2"],
    );
    // Words are literal.
    check(json!({"query": "check.*"}), &[]);
}

#[test]
fn a_result_shows_its_lines_and_their_numbers() {
    let desk = Desk::new("//- a.md\none\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    let output = desk.try_call("search_project", json!({"query": "four"})).unwrap();
    let expected = json!({
        "results": [{"file_path": "a.md", "start_line": 2, "end_line": 6, "snippet": "two\nthree\nfour\nfive\nsix"}],
        "truncated": false,
    });
    assert_eq!(output.data, expected);
    assert_eq!(output.text, "[a.md | lines 2-6]\n2 | two\n3 | three\n4 | four\n5 | five\n6 | six");
}

#[test]
fn limits_hold() {
    covers("service.tools");
    let limits = ProjectToolLimits {
        max_search_results_default: 2,
        max_search_results_cap: 3,
        max_search_snippet_lines: 4,
        ..ProjectToolLimits::default()
    };
    let many = format!("//- a.md\n{}//- b.md\nword\n", "word\n".repeat(20));
    let desk = Desk::with(&many, Mode::Staged, limits);
    #[track_caller]
    fn check(desk: &Desk, arguments: Value, expected: &[&str]) {
        let data = desk.data("search_project", arguments);
        assert_eq!(
            (places(&data), &data["truncated"]),
            (expected.iter().map(|&at| at.to_owned()).collect(), &json!(true))
        );
    }
    // Each file shows its best lines before any file shows more.
    check(&desk, json!({"query": "word"}), &["a.md:1-4", "b.md:1-1"]);
    check(&desk, json!({"query": "word", "limit": 1}), &["a.md:1-4"]);
    check(&desk, json!({"query": "word", "limit": 50}), &["a.md:1-4", "b.md:1-1", "a.md:5-8"]);
}

#[test]
fn a_search_without_words_or_results_says_so() {
    let desk = Desk::new(NOTES);
    assert_eq!(desk.refusal("search_project", json!({"query": "  "})).0, "invalid_argument");
    assert_eq!(desk.refusal("search_project", json!({"query": "a", "glob": "{"})).0, "invalid_argument");
    let none = desk.try_call("search_project", json!({"query": "xyzzy"})).unwrap();
    assert_eq!(none.data, json!({"results": [], "truncated": false}));
    assert_eq!(none.text, "Nothing matches. Try fewer or other words.");
}

#[test]
fn pending_edits_are_found_and_deleted_lines_are_not() {
    let desk = Desk::new("//- a.md\nold words\n//- gone.md\nold words\n");
    desk.data("read_file", json!({"file_path": "a.md"}));
    desk.data("read_file", json!({"file_path": "gone.md"}));
    let edits = json!({"edits": [
        {"file_path": "a.md", "operation": "replace", "start_line": 1, "new_text": "new words"},
        {"file_path": "gone.md", "operation": "delete_file"},
        {"file_path": "fresh.md", "operation": "create", "new_text": "new words\n"},
    ]});
    desk.data("propose_edits", edits);
    assert_eq!(places(&desk.data("search_project", json!({"query": "old"}))), Vec::<String>::new());
    assert_eq!(places(&desk.data("search_project", json!({"query": "new words"}))), ["a.md:1-1", "fresh.md:1-1"]);
    assert_eq!(places(&desk.data("search_project", json!({"query": "gone"}))), Vec::<String>::new());
    assert_eq!(places(&desk.data("search_project", json!({"query": "fresh"}))), ["fresh.md:1-1"]);
    assert_eq!(desk.files.get("a.md").as_deref(), Some(&b"old words\n"[..]));
}
