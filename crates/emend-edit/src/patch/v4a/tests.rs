//! V4a patches: one table of cases per rule.

use expect_test::{Expect, expect};

use super::*;
use crate::locate::leniency::Leniency;
use crate::patch::change::Change;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn hunks(body: &str) -> Vec<V4aHunk> {
    let text = format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
    let (mut patch, _) = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    match patch.edits.remove(0).change {
        Change::Update { hunks, .. } => hunks,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(before: &str, body: &str, expected: &str) {
    assert_eq!(apply(before, &hunks(body)).map(|applied| applied.text), Ok(expected.to_owned()));
}

#[track_caller]
fn check_error(before: &str, body: &str, code: &str, expected: Expect) {
    let error = apply(before, &hunks(body)).unwrap_err();
    assert_eq!(error.code().as_str(), code);
    expected.assert_eq(&error.to_string());
}

#[test]
fn hunks_find_their_lines() {
    check("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n");
    check("a\nb\nc\n", " a\n-b\n", "a\nc\n");
    check("a\nb\n", "@@\n-a\n-b\n", "");
    check("a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D1\n+D2\n", "A\nb\nc\nD1\nD2\n");
    check("a\nb\n", "@@\n a\n b\n", "a\nb\n");
}

#[test]
fn hunks_that_only_add() {
    // The line goes below the anchor, not to the end of the file.
    check("a\nb\nc\n", "@@ a\n+new\n", "a\nnew\nb\nc\n");
    check("a\nb\n", "@@\n+new\n", "a\nb\nnew\n");
    check("a\nb\n", "@@\n+new\n*** End of File\n", "a\nb\nnew\n");
    check("", "@@\n+new\n", "new\n");
    check("a\nb\nc\n", "@@\n+end\n@@\n-b\n+B\n", "a\nB\nc\nend\n");
    check_error(
        "a\nx\na\n",
        "@@ a\n+new\n",
        "ambiguous",
        expect![
            "hunk 1 of 1 (patch line 3) matches in 2 places, lines 2, 4; add context lines or an `@@` line that only one of them has"
        ],
    );
}

#[test]
fn anchors_narrow_step_by_step() {
    let before = "class A\n  def f\n    x\nclass B\n  def f\n    x\n  def g\n    x\n";
    check(
        before,
        "@@ class B\n@@   def f\n-    x\n+    y\n",
        &before.replacen("def f\n    x\n  def g", "def f\n    y\n  def g", 1),
    );
    check(
        before,
        "@@ class B\n@@ def g\n-    x\n+    y\n",
        "class A\n  def f\n    x\nclass B\n  def f\n    x\n  def g\n    y\n",
    );
    // The nearest match below an anchor is meant, except if the anchor itself occurs twice.
    check(before, "@@ class A\n-    x\n+    y\n", &before.replacen("    x", "    y", 1));
    check_error(
        before,
        "@@ def f\n-    x\n+    y\n",
        "ambiguous",
        expect![
            "hunk 1 of 1 (patch line 3) matches in 3 places, lines 3, 6, 8; add context lines or an `@@` line that only one of them has"
        ],
    );
    // An anchor above an earlier hunk also holds for later ones.
    check(
        before,
        "@@ class B\n@@ def f\n-    x\n+    1\n@@ class B\n@@ def g\n-    x\n+    2\n",
        "class A\n  def f\n    x\nclass B\n  def f\n    1\n  def g\n    2\n",
    );
    check_error(
        before,
        "@@ class C\n-    x\n",
        "conflict",
        expect![
            "hunk 1 of 1 (patch line 3) names a line that is not in the file: `@@ class C`; the nearest place starts at line 1 and first differs at line 1:\n  given:   \"class C\"\n  in file: \"class A\""
        ],
    );
    check_error(
        "x\nmark\ny\n",
        "@@ mark\n-x\n+X\n",
        "conflict",
        expect![
            "hunk 1 of 1 (patch line 3) is out of order: its lines are at line 1, above the end of the previous hunk or above its `@@` line; write the hunks in file order and each line only once"
        ],
    );
}

#[test]
fn order_resolves_hunks_that_are_ambiguous_alone() {
    // `-x` alone matches either line; below `mark` only one is left.
    check("x\nmark\nx\n", "@@\n-mark\n+MARK\n@@\n-x\n+y\n", "x\nMARK\ny\n");
    check("x\nmark\nx\n", "@@\n-x\n+y\n@@\n-mark\n+MARK\n", "y\nMARK\nx\n");
    check_error(
        "x\nx\n",
        "@@\n-x\n+y\n",
        "ambiguous",
        expect![
            "hunk 1 of 1 (patch line 3) matches in 2 places, lines 1, 2; add context lines or an `@@` line that only one of them has"
        ],
    );
    check("x\nx\n", "@@\n-x\n+1\n@@\n-x\n+2\n", "1\n2\n");
    check_error(
        "x\nx\nx\n",
        "@@\n-x\n+1\n@@\n-x\n+2\n",
        "ambiguous",
        expect![
            "hunk 2 of 2 (patch line 6) matches in 3 places, lines 1, 2, 3; add context lines or an `@@` line that only one of them has"
        ],
    );
    // The hunk changes nothing, so it cannot change the wrong place.
    check("x\nx\n", "@@\n x\n", "x\nx\n");
}

#[test]
fn end_of_file_hunks_match_only_at_the_end() {
    check("x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n", "x\ny\nz\n");
    check_error(
        "x\ny\n",
        "@@\n-x\n+z\n*** End of File\n",
        "conflict",
        expect![
            "hunk 1 of 1 (patch line 3) is marked `*** End of File`, but its lines are at line 1, further up; remove the marker or add the last lines"
        ],
    );
    check("a\nb\n", "@@\n-b\n+B\n*** End of File\n@@\n+c\n", "a\nB\nc\n");
}

#[test]
fn a_missing_final_newline_stays_missing() {
    check("a\nb", "@@\n-a\n+A\n b\n", "A\nb");
    check("a\nb", "@@\n-b\n+B\n", "a\nB\n");
    check("a\nb", "@@\n b\n+c\n", "a\nb\nc\n");
    check("a\nb", "@@\n+c\n", "a\nb\nc\n");
    check("a\nb", "@@\n-b\n", "a\n");
}

#[test]
fn line_endings_and_byte_order_marks_stay() {
    check("a\r\nb\rc\nd", "@@\n a\n-b\n+B\n c\n d\n", "a\r\nB\r\nc\nd");
    check("\u{feff}a\nb\n", "@@\n-a\n+A\n", "\u{feff}A\nb\n");
    check("\u{feff}a\nb\n", "@@\n a\n-b\n", "\u{feff}a\n");
    check("\u{feff}", "@@\n+a\n", "\u{feff}a\n");
    check("a\n\n\n", "@@\n-a\n+b\n", "b\n\n\n");
    // Otherwise an empty line after a CR would become part of a CRLF.
    check("a\nb\r", "@@\n b\n+\n+c\n", "a\nb\r\r\nc\n");
}

#[test]
fn loose_matches_leave_the_context_alone() {
    check("\tfoo  \n\tbar\n", "@@\n foo\n-bar\n+baz\n", "\tfoo  \nbaz\n");
    check("say “hi”\nx\n", "@@\n say \"hi\"\n-x\n", "say “hi”\n");
    // A stricter match elsewhere takes precedence over a looser one before it.
    check("x  \nx\n", "@@\n-x\n+y\n", "x  \ny\n");
    let applied = apply("a \nb\n", &hunks("@@\n a\n-b\n")).unwrap();
    assert_eq!(applied.hunks[0].matched, Leniency::TrailingWhitespace);
}

#[test]
fn blank_lines_at_the_end_of_a_hunk_may_be_spacing() {
    check("a\nb\n", "@@\n-a\n+A\n b\n\n", "A\nb\n");
    check("a\nb\n", "@@\n-a\n+A\n b\n\n\n", "A\nb\n");
    check("a\n\nb\n", "@@\n-a\n+A\n\n", "A\n\nb\n");
    check_error(
        "a\nb\n",
        "@@\n-a\n-\n",
        "conflict",
        expect![[r#"
            hunk 1 of 1 (patch line 3) does not match: its context and deleted lines are not in the file; the nearest place starts at line 1 and first differs at line 2:
              given:   ""
              in file: "b""#]],
    );
}

#[test]
fn errors_show_the_text_of_the_file() {
    let before = "fn main() {\n    let a = 1;\n    let b = 2;\n    run(a, b);\n}\n";
    check_error(
        before,
        "@@\n fn main() {\n-    let a = 2;\n+    let a = 3;\n     let b = 2;\n",
        "conflict",
        expect![[r#"
        hunk 1 of 1 (patch line 3) does not match: its context and deleted lines are not in the file; the nearest place starts at line 1 and first differs at line 2:
          given:   "    let a = 2;"
          in file: "    let a = 1;""#]],
    );
    check_error(
        before,
        "@@\n fn main() {\n-    let a = 0;\n+    let a = 1;\n     let b = 2;\n",
        "conflict",
        expect![
            "hunk 1 of 1 (patch line 3) is already applied at line 1: its new lines are there and its old lines are not"
        ],
    );
    check_error(
        before,
        "@@\n fn main() {\n     // ... rest of code unchanged ...\n-    run(a, b);\n",
        "invalid_argument",
        expect![
            "hunk 1 of 1 (patch line 3) omits text (`// ... rest of code unchanged ...`); write every line of the context as it is in the file"
        ],
    );
    check_error(
        before,
        "@@\n-    run(a, b);\n@@\n-    let a = 1;\n",
        "conflict",
        expect![
            "hunk 2 of 2 (patch line 5) is out of order: its lines are at line 2, above the end of the previous hunk or above its `@@` line; write the hunks in file order and each line only once"
        ],
    );
    let error = apply(before, &hunks("@@\n-    let a = 7;\n-    let b = 2;\n")).unwrap_err();
    assert_eq!(error.suggestions(), ["lines 2-3:\n-    let a = 7;\n+    let a = 1;\n     let b = 2;\n"]);
}

#[test]
fn applied_hunks_report_their_lines() {
    let applied = apply("a\nb\nc\nd\ne\n", &hunks("@@\n-a\n@@\n c\n+x\n+y\n d\n@@\n+z\n")).unwrap();
    let spans: Vec<_> =
        applied.hunks.iter().map(|hunk| (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines)).collect();
    assert_eq!(applied.text, "b\nc\nx\ny\nd\ne\nz\n");
    assert_eq!(spans, [(1, 1, 1, 0), (3, 2, 2, 4), (6, 0, 7, 1)]);
}

#[track_caller]
fn check_parse(text: &str, codes: &[&str], expected: Expect) {
    let (patch, diagnostics) = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(diagnostics.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>(), codes);
    let shown: String = patch.edits.iter().map(|edit| format!("{}: {:?}\n", edit.path, edit.change)).collect();
    expected.assert_eq(&shown);
}

#[test]
fn wrappings_are_removed_with_a_note() {
    let inner = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    let expected = || expect![["a: Delete\n"]];
    check_parse(inner, &[], expected());
    check_parse(&format!("\u{feff}\n  \n{inner}\n \t\n"), &[], expected());
    check_parse(&inner.replace('\n', "\r\n"), &[], expected());
    check_parse(&format!("<<'EOF'\n{inner}\nEOF\n"), &["heredoc"], expected());
    check_parse(&format!("apply_patch <<\"PATCH\"\n{inner}\nPATCH"), &["heredoc"], expected());
    check_parse(&format!("```diff\n{inner}\n```\n"), &["fenced"], expected());
    check_parse(&format!("```\napply_patch <<EOF\n{inner}\nEOF\n```"), &["fenced", "heredoc"], expected());
    check_parse(&inner.replace("Patch", "Patch ***"), &["marker_suffix", "marker_suffix"], expected());
    let json = format!("{{\"input\": {}}}", serde_json::to_string(inner).unwrap());
    check_parse(&json, &["json_wrapped"], expected());
    check_parse(&serde_json::to_string(inner).unwrap(), &["json_wrapped"], expected());
    let environment = inner.replacen('\n', "\n*** Environment ID: one\n", 1);
    check_parse(&environment, &["environment_id"], expected());
}

#[test]
fn all_operations() {
    check_parse(
        "*** Begin Patch\n*** Add File: new.txt\n+a\n+\n+ b \n*** Update File: old name.txt \n*** Move to: x/y.txt\n\
         *** Update File: u\n@@ fn f()\n@@   inner\n a\n-b\n+c\n\n*** End of File\n\n@@ -1,2 +1,2 @@ fn g()\n-d\n*** End Patch",
        &["unified_header"],
        expect![[r#"
            new.txt: Create { text: "a\n\n b \n" }
            old name.txt: Update { move_to: Some("x/y.txt"), hunks: [] }
            u: Update { move_to: None, hunks: [V4aHunk { anchors: ["fn f()", "  inner"], lines: [" a", "-b", "+c", " "], end_of_file: true, patch_line: 9 }, V4aHunk { anchors: [], lines: ["-d"], end_of_file: false, patch_line: 17 }] }
        "#]],
    );
}

#[test]
fn an_indented_end_is_the_end_only_at_the_end() {
    let body = "*** Begin Patch\n*** Update File: f\n@@\n-a\n *** End Patch\n";
    check_parse(
        body,
        &[],
        expect![[
            "f: Update { move_to: None, hunks: [V4aHunk { anchors: [], lines: [\"-a\"], end_of_file: false, patch_line: 3 }] }\n"
        ]],
    );
    check_parse(
        &format!("{body}\n+b\n*** End Patch"),
        &[],
        expect![[
            "f: Update { move_to: None, hunks: [V4aHunk { anchors: [], lines: [\"-a\", \" *** End Patch\", \" \", \"+b\"], end_of_file: false, patch_line: 3 }] }\n"
        ]],
    );
}

#[test]
fn invalid_patches_are_rejected() {
    #[track_caller]
    fn refuse(text: &str, expected: Expect) {
        expected.assert_eq(&parse(text).unwrap_err().to_string());
    }
    let patch = |body: &str| format!("*** Begin Patch\n{body}*** End Patch\n");
    refuse("", expect![[r#"the first line of a patch must be `*** Begin Patch`, but it is """#]]);
    refuse(
        "Here is the patch:\n*** Begin Patch",
        expect![[r#"the first line of a patch must be `*** Begin Patch`, but it is "Here is the patch:""#]],
    );
    refuse(
        "{\"input\": \"*** Begin Patch\\n*** Delete",
        expect![[
            r#"the first line of a patch must be `*** Begin Patch`, but it is "{\"input\": \"*** Begin Patch\\n*** Delete""#
        ]],
    );
    refuse(
        "*** Begin Patch\n*** Delete File: a\n",
        expect!["the last line of a patch must be `*** End Patch`; the patch ends at line 2 without it"],
    );
    refuse(
        &format!("{}more", patch("*** Delete File: a\n")),
        expect![[r#"line 4: only blank lines may follow `*** End Patch`, but there is "more""#]],
    );
    refuse(&patch("*** Update File: a\n"), expect!["line 2: the update of `a` is empty"]);
    refuse(&patch("*** Update File: a\n@@\n"), expect!["line 4: the hunk above has no lines"]);
    refuse(
        &patch("*** Update File: a\n@@\n@@\n-x\n"),
        expect![[
            r#"line 4: unexpected "@@" in an update; every line starts with ` ` (context), `-` (deleted), `+` (inserted) or `@@`"#
        ]],
    );
    refuse(
        &patch("*** Update File: a\nx\n"),
        expect![[
            r#"line 3: unexpected "x" in an update; every line starts with ` ` (context), `-` (deleted), `+` (inserted) or `@@`"#
        ]],
    );
    refuse(
        &patch("*** Update File: a\n-x\n*** End of File\n-y\n"),
        expect![[
            r#"line 5: unexpected "-y" in an update; every line starts with ` ` (context), `-` (deleted), `+` (inserted) or `@@`"#
        ]],
    );
    refuse(
        &patch("*** Update File: a\n-x\n*** Move to: b\n"),
        expect!["line 4: `*** Move to:` must be directly below `*** Update File:`"],
    );
    refuse(&patch("*** Update File:  \n-x\n"), expect![[r#"line 2: "*** Update File:" has no name after the colon"#]]);
    refuse(
        &patch("*** Environment ID:\n*** Delete File: a\n"),
        expect![[r#"line 2: "*** Environment ID:" has no name after the colon"#]],
    );
    refuse(
        &patch("*** Add File: a\nx\n"),
        expect![[
            r#"line 3: "x" is not a file header; expected `*** Add File: path`, `*** Delete File: path`, `*** Update File: path` or `*** End Patch`. Lines of a new file start with `+`"#
        ]],
    );
    refuse(
        &patch("*** update file: a\n-x\n"),
        expect![[
            r#"line 2: "*** update file: a" is not a file header; expected `*** Add File: path`, `*** Delete File: path`, `*** Update File: path` or `*** End Patch`. Lines of a new file start with `+`"#
        ]],
    );
}

#[test]
fn edits_are_visible_while_they_arrive() {
    let mut parser = Parser::new();
    let mut seen = Vec::new();
    for piece in ["*** Begin", " Patch\n*** Add File: a\n+on", "e\n+two\n", "*** Delete File: b\n", "*** End Patch"] {
        parser.push(piece).unwrap();
        seen.push(
            parser.edits().iter().map(|edit| format!("{} {:?}", edit.path, edit.change)).collect::<Vec<_>>().join(", "),
        );
    }
    expect![[r#"
        [
            "",
            "a Create { text: \"\" }",
            "a Create { text: \"one\\ntwo\\n\" }",
            "a Create { text: \"one\\ntwo\\n\" }, b Delete",
            "a Create { text: \"one\\ntwo\\n\" }, b Delete",
        ]
    "#]]
    .assert_debug_eq(&seen);
    assert!(parser.finish().is_ok());
    let mut parser = Parser::new();
    assert!(parser.push("*** Begin Patch\nx\n").is_err());
    assert!(parser.push("*** End Patch\n").is_err());
    assert!(parser.finish().is_err());
}
