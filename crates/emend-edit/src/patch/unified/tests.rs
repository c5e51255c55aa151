//! Unified diffs, strict and located: tables of cases, and properties over random diffs.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::error_code::ErrorCode;
use crate::locate::leniency::Leniency;
use crate::patch::change::Change;
use crate::test_support::{Script, cases, covers, pieces, scripts};
use crate::text::{split_bom, start_of_line};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn hunks(diff: &str, mode: DiffMode) -> Result<Vec<UnifiedHunk>, UnifiedParseError> {
    let (mut patch, _) = parse_for("f", diff, mode)?;
    match patch.edits.pop().map(|edit| edit.change) {
        Some(Change::Unified(edit)) => Ok(edit.hunks),
        other => panic!("{other:?}"),
    }
}

fn apply(before: &str, diff: &str, mode: DiffMode) -> Result<String, (ErrorCode, String)> {
    let hunks = hunks(diff, mode).map_err(|error| (error.code(), error.to_string()))?;
    let apply = if mode == DiffMode::Strict { apply_strict } else { apply_located };
    apply(before, &hunks).map(|applied| applied.text).map_err(|error| (error.code(), error.to_string()))
}

#[track_caller]
fn check(before: &str, diff: &str, expected: &str) {
    assert_eq!(apply(before, diff, DiffMode::Strict), Ok(expected.to_owned()));
    assert_eq!(apply(before, diff, DiffMode::Located), Ok(expected.to_owned()));
}

#[track_caller]
fn check_located(before: &str, diff: &str, expected: &str) {
    assert!(apply(before, diff, DiffMode::Strict).is_err(), "the diff matches at its stated lines");
    assert_eq!(apply(before, diff, DiffMode::Located), Ok(expected.to_owned()));
}

#[track_caller]
fn check_error(before: &str, diff: &str, mode: DiffMode, code: &str, expected: Expect) {
    let (actual, message) = apply(before, diff, mode).unwrap_err();
    assert_eq!(actual.as_str(), code);
    expected.assert_eq(&message);
}

#[test]
fn lines_far_down_are_found() {
    let growing: String = (0..100).map(|number| "é".repeat(number) + "\n").collect();
    for text in [growing.as_str(), growing.trim_end(), &"\n".repeat(1_000), &"x".repeat(1_000), "a\nb", ""] {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for number in 0..=lines.len() {
            let start = lines[..number].iter().map(|line| line.len()).sum();
            assert_eq!(start_of_line(text, number), Ok(start), "line {number} of {} bytes", text.len());
        }
        assert_eq!(start_of_line(text, lines.len() + 7), Err(lines.len()));
    }
}

#[test]
fn hunks_at_their_stated_lines_are_applied() {
    check("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n");
    check("a\nb\nc\n", "--- a/f\t2024-01-01\n+++ b/f\n@@ -2 +1,0 @@ heading\n-b\n", "a\nc\n");
    check("a\nb\nc\nd\n", "@@ -1,1 +1,1 @@\n-a\n+A\n@@ -4 +4,2 @@\n d\n+e\n", "A\nb\nc\nd\ne\n");
    check("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n");
    check("a\n", "@@ -1 +0,0 @@\n-a\n", "");
    check("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", "a\r\nB\r\n");
    check("a\rb\nc\n", "@@ -1,2 +1 @@\n a\rb\n-c\n", "a\rb\n");
    check("\u{feff}a\n", "@@ -1 +1 @@\n-\u{feff}a\n+\u{feff}b\n", "\u{feff}b\n");
    // An empty context line that lost its space.
    check("a\n\nb\n", "@@ -1,3 +1,2 @@\n a\n\n-b\n", "a\n\n");
}

#[test]
fn the_diff_decides_about_the_trailing_newline() {
    let open = "\\ No newline at end of file\n";
    check("a\nb", &format!("@@ -1,2 +1,2 @@\n a\n-b\n{open}+B\n{open}"), "a\nB");
    check("a\nb", &format!("@@ -1,2 +1,2 @@\n a\n-b\n{open}+b\n"), "a\nb\n");
    check("a\nb\n", &format!("@@ -1,2 +1,2 @@\n a\n-b\n+b\n{open}"), "a\nb");
    check("a", &format!("@@ -1 +1,2 @@\n-a\n{open}+a\n+b\n"), "a\nb\n");
    // Without that line the diff does not state it, so only located mode keeps the missing newline.
    check_located("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB");
}

#[test]
fn strict_hunks_match_only_at_the_stated_line() {
    covers("canvas.strict_patch");
    let strict = |before, diff, code, expected| check_error(before, diff, DiffMode::Strict, code, expected);
    strict(
        "x\na\n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "conflict",
        expect![[r#"
        hunk 1 of 1 (patch line 1) does not match at line 1; line 1 differs:
          given:   "a\n"
          in file: "x\n""#]],
    );
    strict(
        "a \n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "conflict",
        expect![[r#"
        hunk 1 of 1 (patch line 1) does not match at line 1; line 1 differs:
          given:   "a\n"
          in file: "a \n""#]],
    );
    strict(
        "a\n",
        "@@ -1,2 +1 @@\n a\n-b\n",
        "conflict",
        expect![[r#"hunk 1 of 1 (patch line 1) does not match at line 1; the file ends before line 2, "b\n""#]],
    );
    strict(
        "a\nb\n",
        "@@ -2 +2 @@\n-b\n+B\n@@ -1 +1 @@\n-a\n+A\n",
        "invalid_argument",
        expect!["hunk 2 of 2 (patch line 4) overlaps or precedes the hunk above it at line 1"],
    );
    strict(
        "a\n",
        "@@ -1,2 +1,2 @@\n-a\n+b\n",
        "invalid_argument",
        expect!["line 1: the hunk states 2 old lines but has 1"],
    );
    strict(
        "a\n",
        "@@ -9,0 +9 @@\n+b\n",
        "conflict",
        expect!["hunk 1 of 1 (patch line 1) states line 9, but the file has 1 lines"],
    );
    strict(
        "a",
        "@@ -1,0 +2 @@\n+b\n",
        "conflict",
        expect![
            "hunk 1 of 1 (patch line 1) adds a line after line 1, which has no line ending (`\\ No newline at end of file`)"
        ],
    );
    strict(
        "a\n",
        "@@ ... @@\n-a\n",
        "invalid_argument",
        expect![[r#"line 1: "@@ ... @@" is not a hunk header such as `@@ -1,3 +1,4 @@` with lines below it"#]],
    );
}

#[test]
fn located_hunks_are_found_by_their_lines() {
    let text = "a\nb\nc\nd\ne\nf\n";
    check_located(text, "@@ -40,2 +40,2 @@\n c\n-d\n+D\n", "a\nb\nc\nD\ne\nf\n");
    check_located(text, "@@ -1,9 +1,1 @@\n c\n-d\n+D\n e\n", "a\nb\nc\nD\ne\nf\n");
    check_located(text, "@@ -1 +1 @@\n-b\n@@ -1 +1 @@\n-e\n+E\n", "a\nc\nd\nE\nf\n");
    check_located(text, "@@ @@\n-b\n+B\n", "a\nB\nc\nd\ne\nf\n");
    check_located(text, "```diff\n--- a/f\n+++ b/f\n@@ -9 +9 @@\n-b\n+B\n```\n", "a\nB\nc\nd\ne\nf\n");
    check_located("\tfoo\n  bar\n", "@@ -1,2 +1,2 @@\n foo\n-bar\n+  baz\n", "\tfoo\n  baz\n");
    check_located("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n-b\n+B\n+C\n", "a\r\nB\r\nC\r\n");
    check_located("\u{feff}a\nb\n", "@@ -1 +1 @@\n-a\n+A\n", "\u{feff}A\nb\n");
    check_located("\u{feff}a\nb\n", "@@ -1,2 +1,1 @@\n-a\n b\n", "\u{feff}b\n");
    // A stated line that matches decides which place is meant, even among equal ones.
    check("x\nx\nx\n", "@@ -2 +2 @@\n-x\n+y\n", "x\ny\nx\n");
    check_located("x\nx\nz\nx\n", "@@ -2 +2 @@\n-x\n+y\n@@ -9 +9 @@\n-z\n+Z\n", "x\ny\nZ\nx\n");
}

#[test]
fn located_hunks_are_never_guessed() {
    let located = |before, diff, code, expected| check_error(before, diff, DiffMode::Located, code, expected);
    located(
        "x\ny\nx\n",
        "@@ -2 +2 @@\n-x\n+z\n",
        "ambiguous",
        expect![
            "hunk 1 of 1 (patch line 1) matches in 2 places, lines 1, 3; add context lines or an `@@` line that only one of them has"
        ],
    );
    located(
        "foo(1)\nbar(2)\n",
        "@@ -1,2 +1,2 @@\n foo(1)\n-bar(3)\n+baz\n",
        "conflict",
        expect![[r#"
        hunk 1 of 1 (patch line 1) does not match: its context and deleted lines are not in the file; the nearest place starts at line 1 and first differs at line 2:
          given:   "bar(3)"
          in file: "bar(2)""#]],
    );
    located(
        "a\n",
        "@@ -1,0 +2 @@\n+b\n",
        "invalid_argument",
        expect!["hunk 1 of 1 (patch line 1) only inserts lines and has no context; add context lines that show where"],
    );
    located(
        "a – b\n",
        "@@ -1 +1 @@\n-a - b\n+c\n",
        "conflict",
        expect![[r#"
        hunk 1 of 1 (patch line 1) does not match: its context and deleted lines are not in the file; the nearest place starts at line 1 and first differs at line 1:
          given:   "a - b"
          in file: "a – b""#]],
    );
    located(
        "one two\n",
        "@@ -1 +1 @@\n-zero one\n+one two\n",
        "conflict",
        expect![
            "hunk 1 of 1 (patch line 1) is already applied at line 1: its new lines are there and its old lines are not"
        ],
    );
}

#[test]
fn the_corrected_diff_applies_strictly() {
    let located = hunks("@@ -7,9 +7 @@\n b\n-c\n+C\n", DiffMode::Located).unwrap();
    let applied = apply_located("a\n b\nc\r\n", &located).unwrap();
    assert_eq!(applied.text, "a\n b\nC\r\n");
    assert_eq!(applied.corrected[0].old_start, Some(2));
    assert_eq!(applied.hunks[0].matched, Leniency::Whitespace);
    assert_eq!(render(&applied.corrected), "@@ -2,2 +2,2 @@\n  b\n-c\r\n+C\r\n");
    assert_eq!(apply_strict("a\n b\nc\r\n", &applied.corrected).unwrap().text, applied.text);
}

#[test]
fn commits_of_git_are_parsed_with_their_messages() {
    const HASH: &str = "e593e7c0a1b2c3d4e5f60718293a4b5c6d7e8f90";
    let diff = |old: &str, new: &str| {
        format!("diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-{old}\n+{new}\n same\n")
    };
    let mail = |old: &str, new: &str| {
        format!(
            "From {HASH} Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nDate: today\nSubject: [PATCH 1/2] Rename\n\n--- a note\n\
             ---\n f | 2 +-\n 1 file changed\n\n{}-- \n2.39.2\n\n",
            diff(old, new)
        )
    };
    check("a\nsame\n", &mail("a", "b"), "b\nsame\n");
    let shown = format!("commit {HASH}\nAuthor: A <a@b.c>\n\n    diff of the day\n\n{}", diff("a", "b"));
    check("a\nsame\n", &shown, "b\nsame\n");
    check_files(
        &(mail("a", "b") + &mail("b", "c")),
        expect![[r"
            f Update None 1
            f Update None 1
        "]],
    );
    check_files(
        "Some words\n",
        expect![
            "invalid_argument: line 1: unexpected \"Some words\"; every line of a hunk starts with ` `, `-` or `+`"
        ],
    );
}

#[track_caller]
fn check_files(diff: &str, expected: Expect) {
    let shown = match parse(diff, DiffMode::Strict) {
        Ok((patch, _)) => patch
            .edits
            .iter()
            .map(|edit| match &edit.change {
                Change::Unified(UnifiedEdit { kind, rename_to, hunks, .. }) => {
                    format!("{} {kind:?} {rename_to:?} {}\n", edit.path, hunks.len())
                }
                other => panic!("{other:?}"),
            })
            .collect(),
        Err(error) => format!("{}: {error}", error.code()),
    };
    expected.assert_eq(&shown);
}

#[test]
fn headers_name_the_files() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    check_files(&format!("--- a/x y.txt\n+++ b/x y.txt\n{hunk}"), expect![["x y.txt Update None 1\n"]]);
    check_files(&format!("--- a/old\n+++ new\n{hunk}"), expect![["a/old Update Some(\"new\") 1\n"]]);
    check_files(
        &format!("--- f\n+++ f\n{hunk}--- a/g\n+++ b/g\n{hunk}{hunk}"),
        expect![["f Update None 1\ng Update None 2\n"]],
    );
    check_files(
        &format!(
            "diff --git a/f b/f\nindex 12..34 100644\n--- a/f\n+++ b/f\n{hunk}diff --git a/m b/m\nold mode 100644\nnew mode 100755\n"
        ),
        expect![["f Update None 1\nm Update None 0\n"]],
    );
    check_files(
        "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\ndiff --git a/e b/e\nnew file mode 100644\nindex 0..e69de29\n",
        expect![["n Create None 1\ne Create None 0\n"]],
    );
    check_files(
        "diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        expect![["d Delete None 1\n"]],
    );
    check_files(
        "diff --git a/old name b/new\nsimilarity index 100%\nrename from old name\nrename to new\n",
        expect![["old name Update Some(\"new\") 0\n"]],
    );
    check_files(
        &format!(
            "diff --git \"a/\\303\\251\\t\" \"b/\\303\\251\\t\"\n--- \"a/\\303\\251\\t\"\n+++ \"b/\\303\\251\\t\"\n{hunk}"
        ),
        expect![["é\t Update None 1\n"]],
    );
    check_files("--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", expect![["f Update None 1\n"]]);
}

#[test]
fn reversed_diffs_of_git_name_the_same_files() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    check_files(
        &format!("diff --git b/f a/f\nindex 12..34 100644\n--- b/f\n+++ a/f\n{hunk}"),
        expect![["f Update None 1\n"]],
    );
    check_files(&format!("--- b/d/f\n+++ a/d/f\n{hunk}"), expect![["d/f Update None 1\n"]]);
    check_files(
        "diff --git b/d a/d\ndeleted file mode 100644\nindex 0..1\n--- b/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        expect![["d Delete None 1\n"]],
    );
    check_files(
        "diff --git b/n a/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ a/n\n@@ -0,0 +1 @@\n+a\n",
        expect![["n Create None 1\n"]],
    );
    check_files("diff --git b/m a/m\nold mode 100644\nnew mode 100755\n", expect![["m Update None 0\n"]]);
    // Not of git: two directories.
    check_files(&format!("--- b/f\n+++ a/g\n{hunk}"), expect![["b/f Update Some(\"a/g\") 1\n"]]);
    check_files("--- /dev/null\n+++ a/n\n@@ -0,0 +1 @@\n+a\n", expect![["a/n Create None 1\n"]]);
}

#[test]
fn mode_lines_decide_whether_a_file_is_executable() {
    #[track_caller]
    fn check(headers: &str, expected: Result<Option<bool>, &str>) {
        let diff = format!("diff --git a/f b/f\n{headers}");
        let executable = |(patch, _): (crate::patch::Patch, Vec<_>)| match &patch.edits[0].change {
            Change::Unified(edit) => edit.executable,
            other => panic!("{other:?}"),
        };
        let actual =
            parse(&diff, DiffMode::Strict).map(executable).map_err(|error| format!("{}: {error}", error.code()));
        assert_eq!(actual, expected.map_err(str::to_owned), "{headers}");
    }
    let hunk = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
    check("old mode 100644\nnew mode 100755\n", Ok(Some(true)));
    check("old mode 100755\nnew mode 100644\n", Ok(Some(false)));
    check(&format!("old mode 100644\nnew mode 100755\nindex 1..2\n{hunk}"), Ok(Some(true)));
    check(&format!("index 1..2 100755\n{hunk}"), Ok(None));
    check("new file mode 100755\nindex 0..e69de29\n", Ok(Some(true)));
    check("new file mode 100644\nindex 0..e69de29\n", Ok(None));
    check("deleted file mode 100755\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", Ok(None));
    let refused = "is not that of a regular file; links and submodules are not supported";
    for (headers, mode) in [
        ("new file mode 120000\n", "120000"),
        ("old mode 100644\nnew mode 120000\n", "120000"),
        ("new file mode 160000\n", "160000"),
        ("new file mode 100abc\n", "100abc"),
    ] {
        let line = headers.lines().count() + 1;
        check(headers, Err(&format!("unsupported: line {line}: mode {mode} {refused}")));
    }
    let (patch, _) =
        parse_for("g", &format!("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n{hunk}"), DiffMode::Located)
            .unwrap();
    assert!(matches!(&patch.edits[0].change, Change::Unified(edit) if edit.executable == Some(true)));
}

#[test]
fn invalid_diffs_are_rejected() {
    check_files(
        "",
        expect!["invalid_argument: no diff found: expected `--- a/path`, `+++ b/path` and hunks that start with `@@`"],
    );
    check_files(
        "--- a/f\n+++ b/f\n",
        expect!["invalid_argument: no diff found: expected `--- a/path`, `+++ b/path` and hunks that start with `@@`"],
    );
    check_files(
        "hello\n",
        expect![[r#"invalid_argument: line 1: unexpected "hello"; every line of a hunk starts with ` `, `-` or `+`"#]],
    );
    check_files(
        "@@ -1 +1 @@\n-a\n+b\n",
        expect!["invalid_argument: line 1: this hunk has no `--- a/path` and `+++ b/path` above it"],
    );
    check_files(
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\nrest\n",
        expect![[r#"invalid_argument: line 6: unexpected "rest"; every line of a hunk starts with ` `, `-` or `+`"#]],
    );
    check_files(
        "diff --git a/f b/f\nBinary files a/f and b/f differ\n",
        expect!["unsupported: line 2: binary diffs are not supported"],
    );
    check_files(
        "diff --git a/f b/g\ncopy from f\ncopy to g\n",
        expect!["unsupported: line 2: copying files is not supported; add the copy as a new file"],
    );
    let two = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n";
    assert!(matches!(parse_for("f", two, DiffMode::Located), Err(UnifiedParseError::SeveralFiles { n_files: 2, .. })));
}

/// Returns the script as a diff. `shift` and `miscount` falsify its numbers.
fn diff_of(script: &Script, shift: usize, miscount: usize) -> String {
    use std::fmt::Write;
    let mut diff = String::from("--- a/f\n+++ b/f\n");
    for hunk in script.hunks() {
        let count = |markers: [char; 2]| hunk.lines.iter().filter(|(marker, ..)| markers.contains(marker)).count();
        let (n_old, n_new) = (count([' ', '-']), count([' ', '+']));
        let start = hunk.old_start + usize::from(n_old > 0) + shift;
        let _ = writeln!(diff, "@@ -{start},{} +{start},{} @@", n_old + miscount, n_new + miscount);
        for (marker, content, index) in hunk.lines {
            let eol = index.map_or("\n", |index| script.lines[index].eol);
            let bom = if index == Some(0) { script.bom() } else { "" };
            let open = if eol.is_empty() { "\n\\ No newline at end of file\n" } else { eol };
            let _ = write!(diff, "{marker}{bom}{content}{open}");
        }
    }
    diff
}

/// Returns the result of the script if new lines end in LF.
fn after(script: &Script) -> String {
    let mut out = String::new();
    for (index, line) in script.lines.iter().enumerate() {
        line.inserted.iter().for_each(|new| out.extend([new, "\n"]));
        if !line.deleted {
            out.extend([if index == 0 { script.bom() } else { "" }, &line.content, line.eol]);
        }
    }
    script.appended.iter().for_each(|new| out.extend([new, "\n"]));
    out
}

/// Returns scripts that a diff can express: nothing may follow a line without line ending.
fn sayable(eols: &'static [&'static str]) -> impl Strategy<Value = Script> {
    scripts(eols).prop_map(|mut script| {
        script.bom &= !script.lines.is_empty();
        if script.lines.last().is_some_and(|line| line.eol.is_empty() && !line.deleted) {
            script.appended.clear();
        }
        script
    })
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn a_diff_in_place_is_applied(script in sayable(&["\n", "\r\n"])) {
        if let Ok(hunks) = hunks(&diff_of(&script, 0, 0), DiffMode::Strict) {
            let applied = apply_strict(&script.before(), &hunks);
            prop_assert_eq!(applied.map(|applied| applied.text), Ok(after(&script)));
        }
    }

    // The numbers are shifted by more than the length of the file, so no hunk is at its stated line and all are
    // searched.
    #[test]
    fn a_located_diff_is_applied_at_its_place(script in sayable(&["\n"]), miscount in 0..2_usize) {
        if let Ok(hunks) = hunks(&diff_of(&script, 100, miscount), DiffMode::Located) {
            match apply_located(&script.before(), &hunks) {
                Ok(applied) => {
                    let before = script.before();
                    let (bom, body) = split_bom(&before);
                    // The byte-order mark stays where it is, whatever happens to the line after it.
                    let expected = after(&Script { bom: false, ..script.clone() });
                    prop_assert_eq!(&applied.text, &[bom, &expected].concat());
                    let strict = apply_strict(body, &applied.corrected).map(|applied| [bom, &applied.text].concat());
                    prop_assert_eq!(strict, Ok(applied.text));
                }
                Err(error) => prop_assert!(matches!(error.code(), ErrorCode::Ambiguous | ErrorCode::InvalidArgument), "{}", error),
            }
        }
    }

    // Texts of any characters and line endings, and the diff of this crate between them.
    #[test]
    fn the_diff_of_two_texts_turns_one_into_the_other(
        a in "([ab]|\\PC|\\x00|\u{feff}|\r?\n|\r){0,16}",
        b in "([ab]|\\PC|\\x00|\u{feff}|\r?\n|\r){0,16}",
        n_context in 0..4_usize,
    ) {
        let diff = crate::diff::unified(&a, &b, n_context, crate::diff::Names { old: "a/f", new: "b/f" });
        prop_assert_eq!(diff.is_empty(), a == b);
        if a != b {
            prop_assert_eq!(apply(&a, &diff, DiffMode::Strict), Ok(b.clone()), "{}", diff);
            let strict = hunks(&diff, DiffMode::Strict).expect("it was read before");
            let rendered = render(&strict);
            prop_assert_eq!(apply(&a, &rendered, DiffMode::Strict), Ok(b.clone()), "{}", rendered);
        }
    }

    #[test]
    fn no_input_panics(diff in diffs(), before in pieces(&["a", "b", "\n", "\r", "\u{feff}", " ", "é"])) {
        for mode in [DiffMode::Strict, DiffMode::Located] {
            let _ = parse(&diff, mode);
            let _ = apply(&before, &diff, mode);
        }
    }
}

/// Returns texts that look like diffs.
fn diffs() -> impl Strategy<Value = String> {
    pieces(&[
        "--- a/f\n",
        "+++ b/f\n",
        "--- /dev/null\n",
        "diff --git a/f b/f\n",
        "diff --git \"a/\\3\" b\n",
        "new file mode 1\n",
        "rename from f\n",
        "rename to g\n",
        "@@ -1 +1 @@\n",
        "@@ -1,2 +1,2 @@\n",
        "@@ -0,0 +1 @@\n",
        "@@ -99,1 +99 @@\n",
        "@@\n",
        " a\n",
        "-a\n",
        "+b\n",
        "\n",
        "\r\n",
        "\\ No newline at end of file\n",
        "```\n",
        "-",
        "+",
    ])
}
