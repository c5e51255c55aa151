//! Patches of several files: all or nothing, in order, one result per file.

use expect_test::{Expect, expect};

use super::*;
use crate::patch::edit_text::edit_text;
use crate::patch::line_edits::{LineEdit, LineEdits, LineOperation};
use crate::patch::unified::DiffMode;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

type Files = BTreeMap<String, Option<String>>;

fn files(fixture: &[(&str, &str)]) -> Files {
    fixture.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect()
}

fn v4a(body: &str) -> Patch {
    crate::patch::v4a::parse(&format!("*** Begin Patch\n{body}*** End Patch\n")).unwrap().0
}

fn show(planned: &Result<Vec<PlannedFile>, EditError>) -> String {
    match planned {
        Ok(files) => files
            .iter()
            .map(|file| {
                let overwritten = file.overwritten.as_ref().map(|text| format!(" over {text:?}")).unwrap_or_default();
                format!("{}: {:?} {:?} -> {:?}{overwritten}\n", file.path, file.operation, file.before, file.after)
            })
            .collect(),
        Err(error) => format!("{}: {error}", error.code()),
    }
}

#[track_caller]
fn check(fixture: &[(&str, &str)], body: &str, expected: Expect) {
    expected.assert_eq(&show(&plan(&v4a(body), &files(fixture))));
}

#[track_caller]
fn check_change(before: Option<&str>, change: Change, expected: Expect) {
    let files = [("f".to_owned(), before.map(str::to_owned))].into();
    expected.assert_eq(&show(&plan(&Patch::of("f", change), &files)));
}

#[test]
fn a_file_becomes_executable() {
    #[track_caller]
    fn check(fixture: &[(&str, &str)], diff: &str, expected: &[(&str, Option<&str>, Option<bool>)]) {
        let (patch, _) = crate::patch::unified::parse(diff, DiffMode::Strict).unwrap();
        let planned = plan(&patch, &files(fixture)).unwrap();
        let actual: Vec<_> =
            planned.iter().map(|file| (file.path.as_str(), file.after.as_deref(), file.executable)).collect();
        assert_eq!(actual, expected);
    }
    let modes = "old mode 100644\nnew mode 100755\n";
    let hunk = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
    check(&[("f", "a\n")], &format!("diff --git a/f b/f\n{modes}"), &[("f", Some("a\n"), Some(true))]);
    check(&[("f", "a\n")], &format!("diff --git a/f b/f\n{modes}{hunk}"), &[("f", Some("b\n"), Some(true))]);
    check(&[("f", "a\n")], hunk, &[("f", Some("b\n"), None)]);
    check(
        &[("f", "a\n")],
        &format!("diff --git a/f b/g\n{modes}similarity index 100%\nrename from f\nrename to g\n"),
        &[("g", Some("a\n"), Some(true))],
    );
    check(
        &[],
        "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
        &[("n", Some("x\n"), Some(true))],
    );
    let gone = "diff --git a/f b/f\ndeleted file mode 100755\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    check(&[("f", "a\n")], &format!("diff --git a/f b/f\n{modes}{gone}"), &[("f", None, None)]);
}

#[test]
fn edit_text_accepts_only_edits_of_one_text() {
    #[track_caller]
    fn check(body: &str, expected: Expect) {
        let edited = edit_text("a\nb\n", &v4a(body));
        let shown = edited.map(|edited| format!("{:?} {} hunks", edited.text, edited.hunks.len()));
        expected.assert_eq(&shown.unwrap_or_else(|error| format!("{}: {error}", error.code())));
    }
    check("*** Update File: f\n@@\n-a\n+A\n", expect![[r#""A\nb\n" 1 hunks"#]]);
    check("*** Update File: f\n@@\n-a\n+A\n*** Update File: f\n@@\n A\n-b\n+B\n", expect![[r#""A\nB\n" 2 hunks"#]]);
    for body in [
        "*** Update File: f\n@@\n-a\n+A\n*** Update File: g\n@@\n-b\n+B\n",
        "*** Add File: f\n+x\n",
        "*** Delete File: f\n",
        "*** Update File: f\n*** Move to: g\n@@\n-a\n+A\n",
    ] {
        assert!(matches!(edit_text("a\nb\n", &v4a(body)), Err(EditError::NotAnEdit { .. })), "{body}");
    }
    assert_eq!(edit_text("a", &Patch::default()), Err(EditError::Empty));
}

#[test]
fn every_operation() {
    check(
        &[("d", "x"), ("u", "a\n"), ("m", "b\n"), ("r", "c")],
        "*** Add File: n\n+1\n*** Delete File: d\n*** Update File: u\n-a\n+A\n*** Update File: m\n*** Move to: dir/m\n-b\n+B\n*** Update File: r\n*** Move to: s\n",
        expect![[r#"
            n: Create None -> Some("1\n")
            d: Delete Some("x") -> None
            u: Update Some("a\n") -> Some("A\n")
            dir/m: Rename { from: "m" } Some("b\n") -> Some("B\n")
            s: Rename { from: "r" } Some("c") -> Some("c")
        "#]],
    );
}

#[test]
fn one_failure_stops_all() {
    let body = "*** Add File: n\n+1\n*** Update File: u\n-a\n+A\n*** Update File: missing\n-x\n";
    check(&[("u", "a\n")], body, expect!["not_found: missing: no such file to update"]);
    check(
        &[("u", "b\n")],
        body,
        expect![
            "conflict: u: hunk 1 of 1 (patch line 5) does not match: its context and deleted lines are not in the file; nothing in the file resembles it"
        ],
    );
    check(&[], "*** Delete File: d\n", expect!["not_found: d: no such file to delete"]);
    expect!["invalid_argument: No files were modified: the patch is empty."]
        .assert_eq(&show(&plan(&v4a(""), &Files::new())));
}

#[test]
fn overwriting_needs_the_flag() {
    let fixture = [("a", "1\n"), ("b", "2\n")];
    let (add, moved) = ("*** Add File: a\n+x\n", "*** Update File: a\n*** Move to: b\n-1\n+x\n");
    check(&fixture, add, expect!["already_exists: a: the file already exists; update it instead of adding it"]);
    check(&fixture, moved, expect!["already_exists: b: the file already exists; move to another path"]);
    let overwrite = |body| show(&plan(&Patch { overwrite: true, ..v4a(body) }, &files(&fixture)));
    expect![[r#"
        a: Update Some("1\n") -> Some("x\n")
    "#]]
    .assert_eq(&overwrite(add));
    expect![[r#"
        b: Rename { from: "a" } Some("1\n") -> Some("x\n") over "2\n"
    "#]]
    .assert_eq(&overwrite(moved));
}

#[test]
fn a_move_onto_itself_is_an_edit() {
    let expected = || {
        expect![[r#"
        a: Update Some("1\n") -> Some("2\n")
    "#]]
    };
    check(&[("a", "1\n")], "*** Update File: a\n*** Move to: a\n-1\n+2\n", expected());
    check(&[("a", "1\n")], "*** Update File: a\n*** Move to: ./x/../a\n-1\n+2\n", expected());
}

#[test]
fn edits_of_one_file_are_applied_in_order() {
    check(
        &[("f", "a\nb\n")],
        "*** Update File: f\n-a\n+A\n*** Update File: ./f\n A\n-b\n+B\n",
        expect![[r#"
        f: Update Some("a\nb\n") -> Some("A\nB\n")
    "#]],
    );
    check(
        &[("f", "old\n")],
        "*** Delete File: f\n*** Add File: f\n+new\n",
        expect![[r#"
        f: Update Some("old\n") -> Some("new\n")
    "#]],
    );
    check(
        &[],
        "*** Add File: f\n+a\n*** Update File: f\n-a\n+b\n",
        expect![[r#"
        f: Create None -> Some("b\n")
    "#]],
    );
    check(&[], "*** Add File: f\n+a\n*** Delete File: f\n", expect![""]);
    check(
        &[("a", "1\n")],
        "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: c\n-1\n+2\n",
        expect![[r#"
        c: Rename { from: "a" } Some("1\n") -> Some("2\n")
    "#]],
    );
    check(
        &[("a", "1\n")],
        "*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: a\n-1\n+2\n",
        expect![[r#"
        a: Update Some("1\n") -> Some("2\n")
    "#]],
    );
    check(
        &[("a", "1\n")],
        "*** Update File: a\n*** Move to: b\n*** Delete File: b\n",
        expect![[r#"
        a: Delete Some("1\n") -> None
    "#]],
    );
    check(
        &[("a", "1\n")],
        "*** Update File: a\n*** Move to: b\n*** Add File: a\n+2\n",
        expect![[r#"
        a: Update Some("1\n") -> Some("2\n")
        b: Rename { from: "a" } Some("1\n") -> Some("1\n")
    "#]],
    );
    check(
        &[("a", "1\n"), ("b", "2\n")],
        "*** Update File: a\n*** Move to: t\n*** Update File: b\n*** Move to: a\n*** Update File: t\n*** Move to: b\n",
        expect![[r#"
        a: Rename { from: "b" } Some("2\n") -> Some("2\n") over "1\n"
        b: Rename { from: "a" } Some("1\n") -> Some("1\n") over "2\n"
    "#]],
    );
}

#[test]
fn replacements_create_only_missing_or_empty_files() {
    let replace =
        |old: &str, new: &str| Change::Replace { old: old.to_owned(), new: new.to_owned(), replace_all: false };
    check_change(
        None,
        replace("", "new"),
        expect![[r#"
        f: Create None -> Some("new")
    "#]],
    );
    check_change(
        None,
        replace("", ""),
        expect![[r#"
        f: Create None -> Some("")
    "#]],
    );
    check_change(
        Some(""),
        replace("", "new"),
        expect![[r#"
        f: Update Some("") -> Some("new")
    "#]],
    );
    check_change(
        Some(""),
        replace("", ""),
        expect!["invalid_argument: f: the old and the new text give the same file, so there is nothing to change"],
    );
    check_change(
        Some("text"),
        replace("", "new"),
        expect![
            "invalid_argument: f: the old text is empty, which only creates new files, but this file has text; give the text to replace, or insert by line number"
        ],
    );
    check_change(None, replace("old", "new"), expect!["not_found: f: no such file to edit"]);
    check_change(
        Some("an old one"),
        replace("old", "new"),
        expect![[r#"
        f: Update Some("an old one") -> Some("an new one")
    "#]],
    );
}

#[test]
fn line_edits_are_planned_too() {
    let edit = LineEdit {
        operation: LineOperation::Delete,
        start_line: 2,
        end_line: None,
        new_text: String::new(),
        expected_hash: None,
    };
    let change = || Change::Lines(LineEdits { edits: vec![edit.clone()], expected_hash: None });
    check_change(
        Some("a\nb\n"),
        change(),
        expect![[r#"
        f: Update Some("a\nb\n") -> Some("a\n")
    "#]],
    );
    check_change(Some("a\n"), change(), expect!["invalid_argument: f: edit 1 names line 2, but the file has 1 lines"]);
    check_change(None, change(), expect!["not_found: f: no such file to edit"]);
}

#[track_caller]
fn check_diff(fixture: &[(&str, &str)], diff: &str, mode: DiffMode, expected: Expect) {
    let (patch, _) = crate::patch::unified::parse(diff, mode).unwrap();
    expected.assert_eq(&show(&plan(&patch, &files(fixture))));
}

#[test]
fn diffs_create_delete_and_move() {
    let create = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n";
    check_diff(
        &[],
        create,
        DiffMode::Strict,
        expect![[r#"
        n: Create None -> Some("a\n")
    "#]],
    );
    check_diff(
        &[("n", "x")],
        create,
        DiffMode::Strict,
        expect!["already_exists: n: the file already exists; update it instead of adding it"],
    );
    let delete = "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    check_diff(
        &[("d", "a\n")],
        delete,
        DiffMode::Strict,
        expect![[r#"
        d: Delete Some("a\n") -> None
    "#]],
    );
    check_diff(
        &[("d", "a\nb\n")],
        delete,
        DiffMode::Strict,
        expect!["conflict: d: the diff deletes the file but leaves 1 of its lines; delete every line of the file"],
    );
    let moved = "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    check_diff(
        &[("x", "a\n")],
        moved,
        DiffMode::Strict,
        expect![[r#"
        y: Rename { from: "x" } Some("a\n") -> Some("b\n")
    "#]],
    );
    let made_up = "--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+a\n";
    check_diff(
        &[],
        made_up,
        DiffMode::Located,
        expect![[r#"
        n: Create None -> Some("a\n")
    "#]],
    );
    check_diff(&[], made_up, DiffMode::Strict, expect!["not_found: n: no such file to update"]);
    check_diff(
        &[("n", "x\n")],
        made_up,
        DiffMode::Located,
        expect![
            "invalid_argument: n: hunk 1 of 1 (patch line 3) only inserts lines and has no context; add context lines that show where"
        ],
    );
}

#[test]
fn a_hunk_found_elsewhere_is_noted() {
    let (patch, _) = crate::patch::unified::parse("--- f\n+++ f\n@@ -1 +1 @@\n-b\n+B\n", DiffMode::Located).unwrap();
    let planned = plan(&patch, &files(&[("f", "a\nb\n")])).unwrap();
    assert_eq!(planned[0].diagnostics[0].message, "hunk 1 states line 1 but was found at line 2");
}

#[test]
fn loose_matches_are_noted() {
    let notes = |patch: &Patch, before: &str| {
        let planned = plan(patch, &files(&[("f", before)])).unwrap();
        planned[0].diagnostics.iter().map(|note| format!("{}: {}", note.code, note.message)).collect::<Vec<_>>()
    };
    let update = v4a("*** Update File: f\n-a\n+b\n");
    assert_eq!(notes(&update, "a\n"), [""; 0]);
    assert_eq!(notes(&update, "x\na \n"), ["loose_match: hunk 1 matches at line 2 except for whitespace at line ends"]);
    let change = Change::Replace { old: "a\nb".to_owned(), new: "c".to_owned(), replace_all: false };
    let replace = Patch::of("f", change);
    assert_eq!(notes(&replace, "a\nb"), [""; 0]);
    assert_eq!(notes(&replace, "x\r\na\r\nb"), ["loose_match: the old text matches at line 2 except for line endings"]);
}

#[test]
fn a_failed_read_is_returned() {
    #[derive(Debug, PartialEq)]
    enum Failure {
        Read,
        Edit,
    }
    impl From<EditError> for Failure {
        fn from(_: EditError) -> Self {
            Self::Edit
        }
    }
    let patch = v4a("*** Delete File: a\n*** Delete File: a\n*** Delete File: b\n");
    let mut reads = Vec::new();
    let planned = plan_patch(&patch, &mut |path| {
        reads.push(path.to_owned());
        if path == "b" { Err(Failure::Read) } else { Ok(Some(String::new())) }
    });
    assert_eq!(planned, Err(Failure::Edit));
    assert_eq!(reads, ["a"]);
    assert_eq!(plan_patch(&v4a("*** Delete File: b\n"), &mut |_| Err(Failure::Read)), Err(Failure::Read));
}
