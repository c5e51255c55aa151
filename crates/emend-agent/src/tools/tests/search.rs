//! `grep`, `glob` and `list_dir`.

use emend_llm::Shared;
use expect_test::{Expect, expect};
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::Bench;
use crate::environment::memory::MemFs;
use crate::test_support::Standstill;

const TREE: &str = "\
//- src/a.rs
one
fn alpha() {}
three
four
fn beta() {}
six
//- src/b.rs
fn Alpha() {}
//- notes.md
fn alpha
//- target/built.rs
fn alpha() {}
//- .hidden.rs
fn alpha() {}
//- .gitignore
target
";

#[track_caller]
fn check(name: &str, arguments: Value, expected: &Expect) {
    Bench::new(TREE).check(name, arguments, expected);
}

#[test]
fn grep_gives_lines_files_or_counts() {
    check(
        "grep",
        json!({"pattern": "^fn"}),
        &expect![[r#"
        notes.md:1:fn alpha
        src/a.rs:2:fn alpha() {}
        src/a.rs:5:fn beta() {}
        src/b.rs:1:fn Alpha() {}
    "#]],
    );
    check(
        "grep",
        json!({"pattern": "ALPHA", "case_insensitive": true, "glob_filter": "*.rs", "output_mode": "count"}),
        &expect![[r#"
            src/a.rs:1
            src/b.rs:1
        "#]],
    );
    check(
        "grep",
        json!({"pattern": "^fn", "output_mode": "files", "path": "src"}),
        &expect![[r#"
        src/a.rs
        src/b.rs
    "#]],
    );
    check(
        "grep",
        json!({"pattern": "beta", "path": "src/a.rs"}),
        &expect![[r#"
        src/a.rs:5:fn beta() {}
    "#]],
    );
    check(
        "grep",
        json!({"pattern": "gamma"}),
        &expect![[r#"
        No matches.
    "#]],
    );
}

#[test]
fn context_is_shown_before_and_after() {
    check(
        "grep",
        json!({"pattern": "alpha|beta", "path": "src/a.rs", "context": 1}),
        &expect![[r#"
        src/a.rs-1-one
        src/a.rs:2:fn alpha() {}
        src/a.rs-3-three
        src/a.rs-4-four
        src/a.rs:5:fn beta() {}
        src/a.rs-6-six
    "#]],
    );
    check(
        "grep",
        json!({"pattern": "alpha|beta", "path": "src/a.rs", "before": 1}),
        &expect![[r#"
        src/a.rs-1-one
        src/a.rs:2:fn alpha() {}
        --
        src/a.rs-4-four
        src/a.rs:5:fn beta() {}
    "#]],
    );
    check(
        "grep",
        json!({"pattern": "alpha|beta", "path": "src/a.rs", "context": 2, "after": 0}),
        &expect![[r#"
        src/a.rs-1-one
        src/a.rs:2:fn alpha() {}
        src/a.rs-3-three
        src/a.rs-4-four
        src/a.rs:5:fn beta() {}
    "#]],
    );
    check(
        "grep",
        json!({"pattern": "alpha|beta", "path": "src/a.rs", "context": 2, "max_results": 1}),
        &expect![[r#"
            src/a.rs-1-one
            src/a.rs:2:fn alpha() {}
            src/a.rs-3-three
            src/a.rs-4-four
            [1 result shown, and there are more; narrow the search or continue with offset 1]
        "#]],
    );
    check(
        "grep",
        json!({"pattern": "alpha|beta", "path": "src/a.rs", "context": 2, "offset": 1}),
        &expect![[r#"
        src/a.rs-3-three
        src/a.rs-4-four
        src/a.rs:5:fn beta() {}
        src/a.rs-6-six
    "#]],
    );
}

#[test]
fn results_come_in_pages() {
    let bench = Bench::new("");
    bench.files.insert("a.txt", "x\n".repeat(150)).unwrap();
    bench.files.insert("b.txt", "x\n".repeat(10)).unwrap();
    let page = |offset: usize| bench.call("grep", json!({"pattern": "x", "offset": offset}));
    let (first, second) = (page(0), page(100));
    assert_eq!((first.lines().count(), second.lines().count()), (101, 60), "a hundred unless more are asked for");
    assert!(
        first.ends_with("[100 results shown, and there are more; narrow the search or continue with offset 100]"),
        "{first}"
    );
    assert!(second.starts_with("a.txt:101:x\n") && second.ends_with("b.txt:10:x"), "{second}");
    assert_eq!(page(160), "There are only 160 results, and 160 were skipped.");
    let files = json!({"pattern": "x", "output_mode": "files", "max_results": 1, "offset": 1});
    assert_eq!(bench.call("grep", files), "b.txt");
    let all = bench.try_call("grep", json!({"pattern": "x", "max_results": 160})).unwrap();
    assert_eq!((all.data["matches"].as_array().unwrap().len(), &all.data["truncated"]), (160, &json!(false)));
}

#[test]
fn searches_that_cannot_be_are_refused() {
    check(
        "grep",
        json!({"pattern": "(", "path": "src"}),
        &expect![[r#"
        [invalid_argument] the pattern is not a valid regular expression: regex parse error:
            (
            ^
        error: unclosed group
    "#]],
    );
    check(
        "grep",
        json!({"pattern": "x", "path": "scr"}),
        &expect![[r#"
        [not_found] scr does not exist
        Did you mean src?
    "#]],
    );
    check(
        "grep",
        json!({"pattern": "x", "glob_filter": "{a"}),
        &expect![[r#"
        [invalid_argument] the glob has an unclosed {; write \{ for the character itself
    "#]],
    );
    check(
        "glob",
        json!({"pattern": "[a"}),
        &expect![[r#"
        [invalid_argument] "[a": the glob has an unclosed [; write \[ for the character itself
    "#]],
    );
    check(
        "glob",
        json!({"pattern": "*", "path": "scr"}),
        &expect![[r#"
        [not_found] scr does not exist
        Did you mean src?
    "#]],
    );
    check(
        "list_dir",
        json!({"path": "../x"}),
        &expect![[r#"
        [permission_denied] ../x is outside the project root
        Try: use a path relative to the project root, e.g. "."
    "#]],
    );
    check(
        "list_dir",
        json!({"path": "notes.md"}),
        &expect![[r#"
        [invalid_argument] "notes.md": it is not a directory
    "#]],
    );
}

#[test]
fn glob_gives_the_newest_first_and_pending_edits_are_the_newest() {
    let bench = Bench::new("");
    for name in ["b.ts", "a.ts", "c.ts"] {
        bench.files.insert(name, "x\n").unwrap();
    }
    assert_eq!(bench.call("glob", json!({"pattern": "*.ts"})), "c.ts\na.ts\nb.ts");
    // The files' own clock counts writes, the workspace's counts looks: let the latter be ahead.
    for _ in 0..10 {
        bench.call("edit_file", json!({"file_path": "a.ts", "old_string": "x", "new_string": "xx"}));
        bench.call("edit_file", json!({"file_path": "a.ts", "old_string": "xx", "new_string": "x"}));
    }
    bench.call("edit_file", json!({"file_path": "b.ts", "old_string": "x", "new_string": "y"}));
    bench.call("edit_file", json!({"file_path": "d.ts", "old_string": "", "new_string": "new\n"}));
    assert_eq!(bench.call("glob", json!({"pattern": "*.ts"})), "d.ts\nb.ts\nc.ts\na.ts");
    assert_eq!(bench.call("glob", json!({"pattern": "*.rs"})), "No files match.");
}

#[test]
fn files_of_the_same_time_are_in_the_order_of_their_paths() {
    let bench = Bench::over(MemFs::new().with_clock(Shared::new(Standstill(7))));
    for name in ["b.ts", "a/z.ts", "c.ts", "a.ts"] {
        bench.files.insert(name, "x\n").unwrap();
    }
    assert_eq!(bench.call("glob", json!({"pattern": "**/*.ts"})), "a.ts\na/z.ts\nb.ts\nc.ts");
}

#[test]
fn directories_are_listed_by_path_to_a_depth() {
    check(
        "list_dir",
        json!({"depth": 2}),
        &expect![[r#"
        .gitignore (7 bytes)
        .hidden.rs (14 bytes)
        notes.md (9 bytes)
        src/
        src/a.rs (46 bytes)
        src/b.rs (14 bytes)
        target/
        target/built.rs (14 bytes)
    "#]],
    );
    check(
        "list_dir",
        json!({"path": "src"}),
        &expect![[r#"
        src/a.rs (46 bytes)
        src/b.rs (14 bytes)
    "#]],
    );
    let bench = Bench::new("");
    bench.files.insert_directory("empty").unwrap();
    assert_eq!(bench.call("list_dir", json!({"path": "empty"})), "empty is empty.");
}

#[test]
fn a_listing_that_is_too_long_shows_what_is_near() {
    let bench = Bench::new("");
    for index in 0..600 {
        bench.files.insert(&format!("a/{index:03}.txt"), "").unwrap();
        bench.files.insert(&format!("b/c/{index:03}.txt"), "").unwrap();
    }
    let near = bench.call("list_dir", json!({"depth": 3}));
    assert_eq!(near.lines().count(), 604, "{near}");
    assert!(near.contains("\nb/c/\n"));
    assert!(near.ends_with("[600 entries deeper than level 2 not shown; list a subdirectory or use glob]"), "{near}");
    for index in 0..600 {
        bench.files.insert(&format!("a/more-{index:03}.txt"), "").unwrap();
    }
    let cut = bench.call("list_dir", json!({"path": "a"}));
    assert_eq!(cut.lines().count(), 1_001);
    assert!(cut.ends_with("\n[200 entries not shown; list a subdirectory or use glob]"), "{cut}");
}
