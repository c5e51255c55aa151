//! Moves of files: texts, refusals, reads, previews and review.

use emend_llm::Shared;
use expect_test::{Expect, expect};
use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::Bench;
use crate::environment::memory::MemFs;
use crate::test_support::{covers, tool_context};
use crate::tool::Preview;

const FILES: &str = "//- a.txt\none\ntwo\n//- src/b.txt\nb\n";

#[track_caller]
fn check(arguments: Value, expected: &Expect) {
    Bench::new(FILES).check("move_file", arguments, expected);
}

#[test]
fn a_file_is_moved_with_its_text() {
    check(
        json!({"from": "a.txt", "to": "new/dir/c.txt"}),
        &expect![[r#"
        Moved a.txt to new/dir/c.txt | version 2 | sha256:…
    "#]],
    );
    check(
        json!({"from": "./src/../a.txt", "to": "A.txt"}),
        &expect![[r#"
        Moved a.txt to A.txt | version 2 | sha256:…
    "#]],
    );
    check(
        json!({"from": "a.txt", "to": "src/b.txt", "overwrite": true}),
        &expect![[r#"
        Moved a.txt to src/b.txt, which replaced the file there | version 2 | sha256:…
    "#]],
    );
}

#[test]
fn a_move_that_cannot_be_made_says_why() {
    check(
        json!({"from": "a.txt", "to": "src/b.txt"}),
        &expect![[r#"
        [already_exists] src/b.txt exists; nothing was moved. Choose another path, or set `overwrite` to replace the file.
    "#]],
    );
    check(
        json!({"from": "a.txt", "to": "./a.txt"}),
        &expect![[r#"
        [invalid_argument] a.txt cannot be moved to itself. Give another path.
    "#]],
    );
    check(
        json!({"from": "a.txt", "to": "src/../a.txt", "overwrite": true}),
        &expect![[r#"
        [invalid_argument] a.txt cannot be moved to itself. Give another path.
    "#]],
    );
    check(
        json!({"from": "src", "to": "lib"}),
        &expect![[r#"
        [invalid_argument] src is a directory. Move its files one by one, or move it with a command.
    "#]],
    );
    check(
        json!({"from": "a.txt", "to": "src", "overwrite": true}),
        &expect![[r#"
        [invalid_argument] src names a directory. Give the whole new path, such as src/a.txt.
    "#]],
    );
    check(
        json!({"from": "a.txt", "to": "lib/"}),
        &expect![[r#"
        [invalid_argument] lib names a directory. Give the whole new path, such as lib/a.txt.
    "#]],
    );
    check(
        json!({"from": "b.txt", "to": "c.txt"}),
        &expect![[r#"
        [not_found] b.txt does not exist
        Did you mean a.txt?
    "#]],
    );
    check(
        json!({"from": "src/c.txt", "to": "c.txt"}),
        &expect![[r#"
        [not_found] src/c.txt does not exist
        Did you mean b.txt?
    "#]],
    );
    check(
        json!({"from": "a.txt", "to": "../a.txt"}),
        &expect![[r#"
        [permission_denied] ../a.txt is outside the project root
        Try: use a path relative to the project root, e.g. "."
    "#]],
    );
    check(
        json!({"from": "../a.txt", "to": "a.txt"}),
        &expect![[r#"
        [permission_denied] ../a.txt is outside the project root
        Try: use a path relative to the project root, e.g. "."
    "#]],
    );
    check(
        json!({"from": "a.txt", "to": "src/b.txt/c"}),
        &expect![[r#"
        [invalid_argument] "src/b.txt/c": src/b.txt is a file, not a directory
    "#]],
    );
    check(
        json!({"from": "a.txt"}),
        &expect![[r#"
            [invalid_argument] Invalid arguments for tool: move_file: /to: required but missing; received from. Example: {"from":"...","to":"..."} Schema: {"type":"object","required":["from","to"],"properties":{"from":{"type":"string","description":"Path of the file, under the working directory."},"to":{"type":"string","description":"Its new path, including the file name."},"overwrite":{"type":"boolean","description":"Replace the content of a file at the new path. Its permissions stay. Default false."}}}
        "#]],
    );
}

#[test]
fn a_binary_file_stays_where_it_is() {
    covers("edit.text_only");
    let files = MemFs::from_fixture(FILES);
    files.insert("logo.png", vec![0x89, b'P', 0, 0xff]).unwrap();
    Bench::over(files).check(
        "move_file",
        json!({"from": "logo.png", "to": "img/logo.png"}),
        &expect![[r#"
        [unsupported] logo.png: the file is binary (a NUL byte at offset 2); only UTF-8 text can be edited
    "#]],
    );
}

#[test]
fn the_bytes_of_a_moved_file_stay_the_same() {
    for text in ["\u{feff}one\r\ntwo\r\n", "one\ntwo", "a\rb\r\nc\n", ""] {
        let files = MemFs::default();
        files.insert("a.txt", text.as_bytes().to_vec()).unwrap();
        let bench = Bench::over(files);
        bench.try_call("move_file", json!({"from": "a.txt", "to": "b.txt"})).unwrap();
        assert_eq!(bench.files.get("a.txt").unwrap(), text.as_bytes(), "a staged move waits for its acceptance");
        block_on(bench.workspace.accept_all(None)).unwrap();
        assert_eq!(bench.files.get("b.txt").unwrap(), text.as_bytes());
        assert!(bench.files.get("a.txt").is_none());
    }
}

#[test]
fn a_file_that_the_user_makes_where_another_one_was_moved_away_can_be_moved() {
    let bench = Bench::new(FILES);
    let arguments = |to: &str| json!({"from": "a.txt", "to": to});
    bench.try_call("move_file", arguments("b.txt")).unwrap();
    let missing = bench.try_call("move_file", arguments("c.txt")).unwrap_err();
    assert_eq!(missing.code.as_str(), "not_found", "the disk has the file until the move is accepted");
    block_on(bench.workspace.accept_all(None)).unwrap();
    bench.files.insert("a.txt", b"mine\n".to_vec()).unwrap();
    bench.try_call("move_file", arguments("c.txt")).unwrap();
    let visible = ["a.txt", "b.txt", "c.txt"].map(|path| block_on(bench.workspace.text(path)).unwrap());
    assert_eq!(visible, [None, Some("one\ntwo\n".to_owned()), Some("mine\n".to_owned())]);
}

#[test]
fn a_staged_move_is_rejected_and_undone_whole() {
    let bench = Bench::new(FILES);
    let visible = |path: &str| block_on(bench.workspace.text(path)).unwrap();
    let arguments = json!({"from": "a.txt", "to": "src/b.txt", "overwrite": true});
    bench.try_call("move_file", arguments.clone()).unwrap();
    assert_eq!((visible("a.txt"), visible("src/b.txt").as_deref()), (None, Some("one\ntwo\n")));
    block_on(bench.workspace.reject_all(None)).unwrap();
    let start = (Some("one\ntwo\n".to_owned()), Some("b\n".to_owned()));
    assert_eq!((visible("a.txt"), visible("src/b.txt")), start);
    bench.try_call("move_file", arguments).unwrap();
    let run = bench.workspace.runs().last().unwrap().run_id;
    block_on(bench.workspace.undo_runs(&[run])).unwrap();
    assert_eq!((visible("a.txt"), visible("src/b.txt")), start);
    block_on(bench.workspace.redo_runs()).unwrap();
    assert_eq!((visible("a.txt"), visible("src/b.txt").as_deref()), (None, Some("one\ntwo\n")));
}

#[test]
fn a_moved_file_is_as_well_known_as_before() {
    let bench = Bench::new(FILES);
    let reads = Shared::default();
    let context = tool_context(&bench.workspace, &reads);
    let call = |name: &str, arguments: Value| {
        let (_, tool) = bench.tools.get(name).unwrap();
        let arguments = arguments.as_object().unwrap().clone();
        block_on(tool.call(&arguments, &context)).map_err(|error| error.code.as_str())
    };
    call("move_file", json!({"from": "a.txt", "to": "c.txt"})).unwrap();
    let write = |path: &str| call("write_file", json!({"file_path": path, "content": "new\n"})).err();
    assert_eq!(write("c.txt"), Some("stale"), "a move does not show the text");
    call("read_file", json!({"file_path": "src/b.txt"})).unwrap();
    call("move_file", json!({"from": "src/b.txt", "to": "d.txt"})).unwrap();
    assert_eq!(write("d.txt"), None, "the text was read under its old path");
}

#[test]
fn the_preview_of_a_move_shows_both_paths() {
    let bench = Bench::new(FILES);
    let context = tool_context(&bench.workspace, &Shared::default());
    let (_, tool) = bench.tools.get("move_file").unwrap();
    let preview = |arguments: Value| block_on(tool.preview(arguments.as_object().unwrap(), &context));
    let Preview::Detail(detail) = preview(json!({"from": "a.txt", "to": "c.txt"})) else { panic!("no detail") };
    assert_eq!(detail["title"], "Move a.txt to c.txt");
    for arguments in [json!({"from": "a.txt", "to": "a.txt"}), json!({"from": "a.txt", "to": "src/b.txt"})] {
        assert!(matches!(preview(arguments), Preview::Futile));
    }
}
