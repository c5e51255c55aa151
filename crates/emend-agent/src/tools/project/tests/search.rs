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
fn results_are_ranked_by_phrase_and_weight() {
    #[track_caller]
    fn check(arguments: Value, expected: &[&str]) {
        assert_eq!(places(&Desk::new(NOTES).data("search_project", arguments)), expected);
    }
    // The phrase, then by weight. The shortest file has one word and precedes a long one with both.
    check(
        json!({"query": "onboarding checklist"}),
        &[
            "notes/b.md:1-1",
            "notes/d.md:1-1",
            "notes/c.md:1-1",
            "notes/onboarding.md:1-2",
            "notes/onboarding-plan.md:1-1",
            "notes/a.md:1-2",
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
fn files_are_ranked_by_frequency_rarity_and_length() {
    #[track_caller]
    fn check(fixture: &str, query: &str, expected: &[&str]) {
        let data = Desk::new(fixture).data("search_project", json!({ "query": query }));
        let files = data["results"].as_array().unwrap().iter().map(|result| result["file_path"].as_str().unwrap());
        assert_eq!(files.collect::<Vec<_>>(), expected, "{query}");
    }
    // Each pair of files has one length, so that only the named difference counts.
    const FREQUENT: &str = "//- a.md\ntree leaf leaf\n//- b.md\ntree tree leaf\n";
    check(FREQUENT, "tree", &["b.md", "a.md"]);
    check(FREQUENT, "leaf", &["a.md", "b.md"]);
    // One occurrence of a rare word weighs more than one of a common word.
    const RARE: &str = "//- a.md\ntree.\n//- b.md\nbirch\n//- c.md\ntree.\n//- d.md\ntree.\n";
    check(RARE, "tree birch", &["b.md", "a.md", "c.md", "d.md"]);
    // The same occurrences weigh less in a longer file.
    const LONG: &str = "//- a.md\ntree\nno more\nno more\nno more\nno more\n//- b.md\ntree\nno more\n";
    check(LONG, "tree", &["b.md", "a.md"]);
    // The phrase precedes every weight.
    const PHRASE: &str = "//- a.md\nleaf tree leaf tree leaf\n//- b.md\ntree leaf and a lot of other text in a line\n";
    check(PHRASE, "leaf and", &["b.md", "a.md"]);
    // An occurrence in the path is one more.
    const PATH: &str = "//- a.md\ntree\n//- tree.md\nleaf\n//- tree-b.md\ntree\n";
    check(PATH, "tree", &["tree-b.md", "a.md", "tree.md"]);
    // Parts of words count, in any case if the query has no upper-case letter.
    check("//- a.md\nTreetop\n//- b.md\nTree tree\n", "tree", &["b.md", "a.md"]);
    check("//- a.md\nTreetop\n//- b.md\nTree tree\n", "Tree", &["a.md", "b.md"]);
}

#[test]
fn weights_count_pending_texts_and_the_files_of_the_glob() {
    let desk = Desk::new("//- a.md\ntree tree leaf\n//- b.md\ntree leaf leaf\n//- c.txt\ntree leaf\n");
    let first = |query: &str| places(&desk.data("search_project", json!({"query": query, "glob": "*.md"})))[0].clone();
    assert_eq!((first("tree"), first("leaf")), ("a.md:1-1".to_owned(), "b.md:1-1".to_owned()));
    desk.data("read_file", json!({"file_path": "a.md"}));
    let new_text = "leaf leaf leaf tree and many more words, so that the file is long";
    let edit = json!({"file_path": "a.md", "operation": "replace", "start_line": 1, "new_text": new_text});
    desk.data("propose_edits", json!({ "edits": [edit] }));
    assert_eq!((first("tree"), first("leaf")), ("b.md:1-1".to_owned(), "b.md:1-1".to_owned()));
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
