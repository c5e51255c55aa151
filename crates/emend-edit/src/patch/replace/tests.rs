//! Replacements: the text they find, the text they leave alone, and their errors.

use expect_test::{Expect, expect};
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use proptest::strategy::Strategy as Generator;

use super::*;
use crate::error_code::ErrorCode;
use crate::test_support::cases;
use crate::text::{split_eol, split_lines};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[track_caller]
fn check(before: &str, old: &str, new: &str, strategy: Strategy, expected: &str) {
    let replaced = replace(before, old, new, false).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((replaced.text.as_str(), replaced.strategy, replaced.count), (expected, strategy, 1));
}

#[track_caller]
fn check_error(before: &str, old: &str, new: &str, code: &str, expected: Expect) {
    let error = replace(before, old, new, false).unwrap_err();
    assert_eq!(error.code().as_str(), code);
    let suggestions: String = error.suggestions().iter().map(|text| format!("\n> {text}")).collect();
    expected.assert_eq(&format!("{error}{suggestions}"));
}

#[test]
fn exact_text_is_spliced_in() {
    use Strategy::Exact;
    check("a b c", "b", "x", Exact, "a x c");
    check("a\nb\nc\n", "a\nb\n", "", Exact, "c\n");
    check("a\nb", "b", "c\nd", Exact, "a\nc\nd");
    check("\u{feff}a b\n", "a", "x", Exact, "\u{feff}x b\n");
    check("costs $1 \\1", "$1 \\1", "$2 \\2", Exact, "costs $2 \\2");
    // Only the line endings change, so that is the intended edit.
    check("a\nb\n", "a\n", "a\r\n", Exact, "a\r\nb\n");
}

#[test]
fn new_lines_get_the_line_endings_of_the_file() {
    use Strategy::{Exact, LineEndings};
    check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", LineEndings, "x\r\ny\r\nz\r\nc\r\n");
    check("a\rb\rc", "a\nb", "x\ny", LineEndings, "x\ry\rc");
    check("a\nb\n", "a\r\nb\r\n", "x\r\ny\r\n", LineEndings, "x\ny\n");
    check("a\r\nb\nc\r\nd", "b\nc", "B\nC\nD", Exact, "a\r\nB\nC\nD\r\nd");
    check("a\r\nb\r\n", "a", "x\ny", Exact, "x\r\ny\r\nb\r\n");
    check("a\nb\n", "a", "x\r\ny", Exact, "x\ny\nb\n");
    check("\u{feff}a\r\nb", "\u{feff}a\nb", "\u{feff}c\nd", LineEndings, "\u{feff}c\r\nd");
}

#[test]
fn the_last_line_may_lack_its_line_ending() {
    use Strategy::LineEndings;
    check("a\nb", "b\n", "c\n", LineEndings, "a\nc");
    check("a\r\nb", "a\nb\n", "c\nd\n", LineEndings, "c\r\nd");
    check("a\nb", "b\n", "", LineEndings, "a\n");
    check("a\nb", "b\n", "c\nd", LineEndings, "a\nc\nd");
    // To a reader who does not see line endings, both are the same.
    check_error(
        "b\na\nb",
        "b\n",
        "c\n",
        "ambiguous",
        expect![[r#"
        the old text is in the file 2 times, at lines 1, 3; add lines around it until it occurs once, or replace all occurrences
        > line 1
        > line 3"#]],
    );
}

#[test]
fn typographic_characters_and_trailing_whitespace_match() {
    use Strategy::UnicodeConfusables;
    check("a  \nb\t\nc\n", "a\nb\nc", "a\nX\nc", UnicodeConfusables, "a  \nX\nc\n");
    check("a\nb\n", "a \nb", "a \nc", UnicodeConfusables, "a\nc\n");
    check(
        "say “hi” – now\nx\n",
        "say \"hi\" - now\nx",
        "say \"hi\" - now\ny",
        UnicodeConfusables,
        "say “hi” – now\ny\n",
    );
    check("x a\u{a0}b y\r\n", "a b", "c d", UnicodeConfusables, "x c d y\r\n");
    // Whitespace trimmed from the end must not match the rest of a line.
    check_error(
        "ab c“d\n",
        "ab c\"  ",
        "x",
        "conflict",
        expect![[r#"
            the old text is not in the file; the nearest place starts at line 1 and first differs at line 1:
              given:   "ab c\"  "
              in file: "ab c“d"
            > line 1:
            -ab c"  
            +ab c“d
        "#]],
    );
    check("a \nb\n", "a\nb", "b", UnicodeConfusables, "b\n");
}

#[test]
fn one_indentation_is_exchanged_for_another() {
    use Strategy::Indentation;
    let before = "class A:\n    def f(self):\n        if x:\n            return 1\n\n    def g(self):\n        pass\n";
    check(
        before,
        "def f(self):\n    if x:\n        return 1\n",
        "def f(self):\n    return 2\n",
        Indentation,
        "class A:\n    def f(self):\n        return 2\n\n    def g(self):\n        pass\n",
    );
    check(
        "\tif a {\n\t\tb();\n\t}\n",
        "    if a {\n    \tb();\n    }",
        "    if a {\n    \tc();\n    \n    }",
        Indentation,
        "\tif a {\n\t\tc();\n    \n\t}\n",
    );
    check("  a\r\n  b\r\n", "a\nb\n", "a\nc\nb\n", Indentation, "  a\r\n  c\r\n  b\r\n");
    check("  a\n  b", "a\nb\n", "a\nc\n", Indentation, "  a\n  c");
    // The difference is not the same on every line, or it is unclear for the new text.
    let refuse = |before: &str, old: &str, new: &str| {
        assert_eq!(replace(before, old, new, false).unwrap_err().code(), ErrorCode::Conflict)
    };
    refuse("  a\n    b\n", "a\nb\n", "c\nd\n");
    refuse("a\nb\n", "  a\n  b\n", "c\nd\n");
    refuse("  a\n  b\n", "a\nb", "  a\n  c");
    refuse("  a\n  b\n\n    a\n    b\n", "a\nb", "a\nc");
}

#[test]
fn several_places_are_rejected() {
    check_error(
        "fn f() {\n    x();\n}\n\nfn g() {\n    x();\n}\n",
        "    x();\n",
        "    y();\n",
        "ambiguous",
        expect![[r#"
        the old text is in the file 2 times, at lines 2, 6; add lines around it until it occurs once, or replace all occurrences
        > line 2, in `fn f() {`
        > line 6, in `fn g() {`"#]],
    );
    check_error(
        "aaa",
        "aa",
        "b",
        "ambiguous",
        expect![[r#"
        the old text is in the file 2 times, at lines 1 and 1 more; add lines around it until it occurs once, or replace all occurrences
        > line 1"#]],
    );
    let many = "x\n".repeat(30);
    let ReplaceError::Ambiguous { lines, n_places, .. } = replace(&many, "x\n", "y\n", false).unwrap_err() else {
        panic!()
    };
    assert_eq!((lines.len(), n_places), (30, 30));
    // A line with LF and one with CRLF look the same too.
    assert_eq!(replace("a\r\nb\r\na\nb\n", "a\nb\n", "c\n", false).unwrap_err().code(), ErrorCode::Ambiguous);
}

#[test]
fn replace_all_replaces_every_place() {
    let all = |before: &str, old: &str, new: &str| {
        replace(before, old, new, true).map(|replaced| (replaced.text, replaced.count))
    };
    assert_eq!(all("foo bar foo", "foo", "x"), Ok(("x bar x".to_owned(), 2)));
    assert_eq!(all("a\r\nb\r\na\nb\n", "a\nb\n", "c\nd\n"), Ok(("c\r\nd\r\nc\nd\n".to_owned(), 2)));
    assert_eq!(all("aaa", "aa", "b"), Ok(("ba".to_owned(), 1)));
    assert_eq!(all("x", "y", "z").unwrap_err().code(), ErrorCode::Conflict);
    let replaced = replace("a\nx\nx\n", "x\n", "y\ny\n", true).unwrap();
    let spans: Vec<_> =
        replaced.applied_hunks().iter().map(|hunk| (hunk.old_start, hunk.new_start, hunk.new_lines)).collect();
    assert_eq!(spans, [(2, 2, 2), (3, 4, 2)]);
}

#[test]
fn invalid_replacements_are_rejected() {
    check_error(
        "a",
        "a",
        "a",
        "invalid_argument",
        expect!["the old and the new text give the same file, so there is nothing to change"],
    );
    check_error(
        "a\r\nb",
        "a\nb",
        "a\r\nb",
        "invalid_argument",
        expect!["the old and the new text give the same file, so there is nothing to change"],
    );
    check_error(
        "a",
        "",
        "b",
        "invalid_argument",
        expect![
            "the old text is empty, which only creates new files, but this file has text; give the text to replace, or insert by line number"
        ],
    );
    check_error(
        "a\nb\n",
        "a",
        "a\n// ... rest of code unchanged ...\n",
        "invalid_argument",
        expect!["the new text omits text (`// ... rest of code unchanged ...`); write every line literally"],
    );
    check_error(
        "fn f() {\n    a();\n    b();\n}\n",
        "fn f() {\n    ...\n}\n",
        "",
        "invalid_argument",
        expect!["the old text omits text (`...`); write every line literally"],
    );
    // Text that the file or the old text contains literally is not a placeholder.
    check(
        "// ... rest of code ...\na\n",
        "// ... rest of code ...\na",
        "// ... rest of code ...\nb",
        Strategy::Exact,
        "// ... rest of code ...\nb\n",
    );
    check("def f():\n    ...\n", "...", "pass", Strategy::Exact, "def f():\n    pass\n");
}

#[test]
fn similar_text_is_shown_and_rejected() {
    let before = "def f(x):\n    a = torch.zeros(3, dtype=torch.int64)\n    return a\n\ndef g(x):\n    return x\n";
    check_error(
        before,
        "def f(x):\n    a = torch.zeros(3, dtype=torch.int32)\n    return a\n",
        "x\n",
        "conflict",
        expect![[r#"
        the old text is not in the file; the nearest place starts at line 1 and first differs at line 2:
          given:   "    a = torch.zeros(3, dtype=torch.int32)"
          in file: "    a = torch.zeros(3, dtype=torch.int64)"
        > lines 1-3:
         def f(x):
        -    a = torch.zeros(3, dtype=torch.int32)
        +    a = torch.zeros(3, dtype=torch.int64)
             return a
    "#]],
    );
    check_error(
        before,
        "def f(x):\n    return a\n",
        "",
        "conflict",
        expect![[r#"
        the old text is not in the file; the nearest place starts at line 1 and has one more line, line 2: "    a = torch.zeros(3, dtype=torch.int64)"
        > lines 1-3:
         def f(x):
        +    a = torch.zeros(3, dtype=torch.int64)
             return a
    "#]],
    );
    // Matching only the first and the last line is not enough.
    assert_eq!(
        replace(before, "def f(x):\n    anything\n    return a\n", "x", false).unwrap_err().code(),
        ErrorCode::Conflict
    );
    check_error(
        before,
        "    return b\n\ndef h",
        "    return x\n",
        "conflict",
        expect!["already applied at line 6: the new text is there and the old text is not"],
    );
    check_error(
        "say(\"a\\n\")\nx\n",
        "say(\\\"a\\\\n\\\")",
        "say(\\\"b\\\")",
        "conflict",
        expect![
            "the old text is not in the file, but would match at line 1 without its backslash escapes; send quotes, line breaks and tabs unescaped"
        ],
    );
}

const PLAIN: &[&str] = &["a", "a", "b", "b", "a", "b", "\n", "\n", "\r\n", " ", "  ", "“", "\"", "é"];
const ODD: &[&str] = &["a", "a", "b", "b", "\n", "\n", "\r\n", "\r", " ", "“", "\"", "é", "\u{feff}"];

/// Returns texts of few distinct pieces, so that strings repeat and nearly match.
fn texts(pieces: &'static [&'static str]) -> impl Generator<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), 0..16).prop_map(|pieces| pieces.concat())
}

fn flat(text: &str) -> String {
    split_lines(text)
        .iter()
        .map(|line| {
            let (content, eol) = split_eol(line);
            [content, if eol.is_empty() { "" } else { "\n" }].concat()
        })
        .collect()
}

proptest! {
    #![proptest_config(cases(20_000))]

    // An accepted replacement leaves every line outside the reported ones unchanged, byte for byte.
    #[test]
    fn no_other_line_changes(before in texts(ODD), old in texts(ODD), new in texts(ODD)) {
        if let Ok(replaced) = replace(&before, &old, &new, false) {
            let (first, last) = replaced.lines[0];
            let lines = split_lines(&before);
            prop_assert!(replaced.text.starts_with(&lines[..first - 1].concat()), "{:?}", replaced);
            prop_assert!(replaced.text.ends_with(&lines[last..].concat()), "{:?}", replaced);
        }
    }

    // A part of the file that occurs once is replaced, with whatever line endings it is written.
    #[test]
    fn text_that_occurs_once_is_found(before in texts(PLAIN), new in texts(PLAIN), ends in any::<[prop::sample::Index; 2]>()) {
        let is_between = |at: usize| before.is_char_boundary(at) && !before[..at].ends_with('\r');
        let boundaries: Vec<usize> = (0..=before.len()).filter(|&at| is_between(at)).collect();
        let mut ends = ends.map(|end| boundaries[end.index(boundaries.len())]);
        ends.sort_unstable();
        let [start, end] = ends;
        let (haystack, old) = (flat(&before), flat(&before[start..end]));
        if old.is_empty() {
            return Ok(());
        }
        let stands_at = |at: usize| haystack.is_char_boundary(at) && haystack[at..].starts_with(&old);
        let n_places = (0..haystack.len()).filter(|&at| stands_at(at)).count();
        match replace(&before, &old, &new, false) {
            Ok(replaced) => {
                prop_assert_eq!(n_places, 1);
                prop_assert!(replaced.strategy <= Strategy::LineEndings);
                prop_assert_eq!(flat(&replaced.text), flat(&[&before[..start], &new, &before[end..]].concat()));
            }
            Err(ReplaceError::NoChange) => prop_assert_eq!(flat(&old), flat(&new)),
            Err(error) => prop_assert_eq!(error.code(), ErrorCode::Ambiguous, "{}", error),
        }
    }
}

#[test]
fn a_place_at_the_end_that_overlaps_the_previous_one_is_not_replaced() {
    let replaced = replace("x\nr\nr", "\nr\n", "\ns\n", true).unwrap();
    assert_eq!((replaced.text.as_str(), replaced.count), ("x\ns\nr", 1));
    assert_eq!(replace("x\nr\nr", "\nr\n", "\ns\n", false).unwrap_err().code(), ErrorCode::Ambiguous);
}
