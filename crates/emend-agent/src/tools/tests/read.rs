//! `read_file` and `read_many_files`.

use emend_llm::MediaData;
use expect_test::expect;
use serde_json::json;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::Bench;
use crate::test_support::covers;
use crate::tools::read_file::image_type;

#[test]
fn lines_are_numbered_and_ranges_kept() {
    covers("verified.read");
    let lines: String = (1..=12).map(|number| format!("line {number}\n")).collect();
    let bench = Bench::new("//- empty.txt\n//- dir/a.txt\na\n");
    bench.files.insert("a.txt", lines).unwrap();
    bench.files.insert("dos.txt", "\u{feff}one\r\ntwo").unwrap();
    let read = |arguments, expected| bench.check("read_file", arguments, expected);
    read(
        json!({"file_path": "a.txt", "offset": 9, "limit": 2}),
        &expect![[r#"
            [a.txt | version 1 | sha256:… | lines 9-10 of 12]
             9 | line 9
            10 | line 10
            [2 more lines; continue with offset 11]
        "#]],
    );
    read(
        json!({"file_path": "a.txt", "offset": 12}),
        &expect![[r#"
            [a.txt | version 1 | sha256:… | lines 12-12 of 12]
            12 | line 12
        "#]],
    );
    read(
        json!({"file_path": "a.txt", "offset": 13}),
        &expect![[r#"
            [invalid_argument] offset 13 is past the end of a.txt, which has 12 lines
        "#]],
    );
    read(
        json!({"file_path": "empty.txt"}),
        &expect![[r#"
            [empty.txt | version 1 | sha256:… | empty file]
        "#]],
    );
    read(
        json!({"file_path": "dos.txt"}),
        &expect![[r#"
            [dos.txt | version 1 | sha256:… | lines 1-2 of 2 | CRLF line endings | no newline at the end]
            1 | one
            2 | two
        "#]],
    );
    read(
        json!({"file_path": "a.text"}),
        &expect![[r#"
            [not_found] a.text does not exist
            Did you mean a.txt?
        "#]],
    );
    read(
        json!({"file_path": "dir"}),
        &expect![[r#"
            [invalid_argument] "dir": this is a directory; name a file in it, or use list_dir
        "#]],
    );
    read(
        json!({"file_path": "a.txt", "limit": -1}),
        &expect![[r#"
            [invalid_argument] Invalid arguments for tool: read_file: /limit: expected at least 1, got -1. Example: {"file_path":"src/main.rs"} Schema: {"type":"object","required":["file_path"],"properties":{"file_path":{"type":"string","description":"Path under the working directory."},"offset":{"type":"integer","minimum":1,"description":"First line to show, from 1. Default 1."},"limit":{"type":"integer","minimum":1,"description":"Most lines to show. Default 2000."}}}
        "#]],
    );
}

#[test]
fn two_thousand_lines_are_shown_unless_more_are_asked_for() {
    let bench = Bench::new("");
    bench.files.insert("a.txt", "x\n".repeat(2_500)).unwrap();
    let n_lines = |arguments| bench.call("read_file", arguments).lines().count();
    assert_eq!(
        n_lines(json!({"file_path": "a.txt"})),
        2_002,
        "the lines, the line that names the file, the line that names the next offset"
    );
    assert_eq!(n_lines(json!({"file_path": "a.txt", "limit": 2_400})), 2_402);
    assert!(
        bench.call("read_file", json!({"file_path": "a.txt"})).ends_with("[500 more lines; continue with offset 2001]")
    );
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn an_image_is_shown_and_other_binaries_are_refused() {
    let bench = Bench::new("");
    bench.files.insert("logo.dat", PNG).unwrap();
    bench.files.insert("large.gif", [b"GIF89a\0".to_vec(), vec![0; 4_000_000]].concat()).unwrap();
    bench.files.insert("a.out", b"\x7fELF\0").unwrap();
    bench.files.insert("latin.txt", b"caf\xe9").unwrap();
    let output = bench.try_call("read_file", json!({"file_path": "logo.dat"})).unwrap();
    let image = output.image.unwrap();
    // The name of a file says little of what it holds.
    assert_eq!(image.media_type.as_deref(), Some("image/png"));
    assert_eq!(image.data, MediaData::from_file("a.png", PNG).data);
    bench.check(
        "read_file",
        json!({"file_path": "logo.dat"}),
        &expect![[r#"
            [logo.dat | version 1 | sha256:… | image/png, 16 bytes]
        "#]],
    );
    bench.check(
        "read_file",
        json!({"file_path": "large.gif"}),
        &expect![[r#"
            [unsupported] large.gif is an image of 4000007 bytes; models accept at most 3932160 bytes. Make it smaller.
        "#]],
    );
    bench.check(
        "read_file",
        json!({"file_path": "a.out"}),
        &expect![[r#"
            [unsupported] a.out: the file is binary (a NUL byte at offset 4); only UTF-8 text can be edited
        "#]],
    );
    bench.check(
        "read_file",
        json!({"file_path": "latin.txt"}),
        &expect![[r#"
            [unsupported] latin.txt: the file is not UTF-8 (invalid byte at offset 3); convert it to UTF-8 before editing
        "#]],
    );
}

#[test]
fn images_are_told_by_their_first_bytes() {
    for (bytes, expected) in [
        (PNG, Some("image/png")),
        (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
        (b"GIF87a", Some("image/gif")),
        (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("image/webp")),
        (b"RIFF\x01\x02\x03\x04WAVE", None),
        (b"RIFF", None),
        (b"", None),
    ] {
        assert_eq!(image_type(bytes), expected, "{bytes:?}");
    }
}

const TREE: &str = "\
//- src/a.ts
a
//- src/b.ts
b
//- src/b.test.ts
test
//- src/[id].ts
id
//- dist/a.ts
built
//- .gitignore
dist
";

#[test]
fn several_files_are_read_by_path_and_by_glob() {
    covers("verified.read_many");
    let bench = Bench::new(TREE);
    bench.files.insert("src/x.ts", b"\0").unwrap();
    bench.check(
        "read_many_files",
        json!({"include": ["src/b.ts", "src/*.ts", "dist/a.ts", "gone.ts"], "exclude": ["*.test.ts"]}),
        &expect![[r#"
            [src/b.ts | version 1 | sha256:… | lines 1-1 of 1]
            1 | b

            [src/[id].ts | version 2 | sha256:… | lines 1-1 of 1]
            1 | id

            [src/a.ts | version 3 | sha256:… | lines 1-1 of 1]
            1 | a

            [src/x.ts | not read: src/x.ts: the file is binary (a NUL byte at offset 0); only UTF-8 text can be edited]

            [dist/a.ts | version 4 | sha256:… | lines 1-1 of 1]
            1 | built

            [gone.ts | not read: gone.ts does not exist]
        "#]],
    );
    let output = bench.try_call("read_many_files", json!({"include": ["src/[id].ts", "/etc/passwd"]})).unwrap();
    let files = output.data["files"].as_array().unwrap();
    assert_eq!((&files[0]["file_path"], &files[0]["content"]), (&json!("src/[id].ts"), &json!("id\n")));
    assert_eq!(files[1]["error"]["code"], "permission_denied");
}

#[test]
fn a_directory_stands_for_its_files_and_nothing_found_is_an_error() {
    let bench = Bench::new(TREE);
    let output = bench.try_call("read_many_files", json!({"include": ["src"]})).unwrap();
    assert_eq!(output.data["files"].as_array().unwrap().len(), 4);
    bench.check(
        "read_many_files",
        json!({"include": ["*.rs", "lib/**"]}),
        &expect![[r#"
            [not_found] No file matches *.rs, lib/**.
        "#]],
    );
    bench.check(
        "read_many_files",
        json!({"include": ["src/{a"]}),
        &expect![[r#"
            [invalid_argument] "src/{a": the glob has an unclosed {; write \{ for the character itself
        "#]],
    );
    bench.check(
        "read_many_files",
        json!({"include": []}),
        &expect![[r#"
            [invalid_argument] Invalid arguments for tool: read_many_files: /include: expected at least 1 items, got 0. Example: {"include":["..."]} Schema: {"type":"object","required":["include"],"properties":{"include":{"type":"array","items":{"type":"string","minLength":1},"description":"Paths of files or directories, or globs such as `src/**/*.ts`.","minItems":1},"exclude":{"type":"array","items":{"type":"string","minLength":1},"description":"Globs of files to leave out, e.g. `*.test.ts`."}}}
        "#]],
    );
}

#[test]
fn what_does_not_fit_is_named() {
    let bench = Bench::new("");
    for name in ["a", "b", "c", "d"] {
        bench.files.insert(&format!("{name}.txt"), format!("{name}\n").repeat(1_500)).unwrap();
    }
    bench.files.insert("e.txt", "long ".repeat(20_000)).unwrap();
    bench.files.insert("f.txt", "short\n").unwrap();
    let output = bench.try_call("read_many_files", json!({"include": ["*.txt"]})).unwrap();
    assert!(output.text.chars().count() <= 30_000, "the pipeline cuts nothing: {}", output.text.chars().count());
    assert!(output.text.contains("more lines; continue with offset"), "the last one that fits is shown in part");
    let left_out = output.data["left_out"].as_array().unwrap();
    assert!(left_out.contains(&json!("e.txt")) && !left_out.contains(&json!("f.txt")), "{left_out:?}");
    assert!(output.text.contains("did not fit: "), "{}", output.text);
    let files = output.data["files"].as_array().unwrap();
    assert_eq!(files.len() + left_out.len(), 6, "each file is shown or named");
}

#[test]
fn pending_edits_are_read() {
    let bench = Bench::new("//- a.txt\nold\n");
    bench.call("edit_file", json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"}));
    bench.call("edit_file", json!({"file_path": "b.txt", "old_string": "", "new_string": "made\n"}));
    let text = bench.call("read_many_files", json!({"include": ["a.txt", "b.txt"]}));
    assert!(text.contains("1 | new") && text.contains("1 | made"), "{text}");
    assert_eq!(bench.files.get("a.txt").unwrap(), b"old\n");
}
