//! Tests of diffs: properties over random texts, and their rendering.

use expect_test::{Expect, expect};
use proptest::collection::vec;
use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::cases;
use crate::text::split_lines;

/// Returns texts of few distinct lines with all line endings, so that many lines match in many ways.
pub(super) fn text() -> impl Strategy<Value = String> {
    let content = prop_oneof![
        12 => one_of(&["", "a", "b", "c", "}", "\ta"]),
        2 => one_of(&["--- a", "+++ b", "@@ -1 +1 @@", "\\ No newline at end of file", "-", "+"]),
        1 => ".{0,6}",
    ];
    let eol = prop_oneof![8 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    let line = (content, eol).prop_map(|(content, eol)| format!("{content}{eol}"));
    (vec(line, 0..14), prop_oneof![2 => Just(""), 1 => Just("end"), 1 => Just("a")])
        .prop_map(|(lines, last)| lines.concat() + last)
}

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(texts).prop_map(str::to_owned)
}

/// Returns the length of a longest common subsequence, by the textbook algorithm.
fn longest_common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut best = vec![0; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (at, y) in b.iter().enumerate() {
            let above = best[at + 1];
            best[at + 1] = if x == y { diagonal + 1 } else { above.max(best[at]) };
            diagonal = above;
        }
    }
    best[b.len()]
}

fn cost(ops: &[Op]) -> usize {
    ops.iter().map(|op| op.old.len() + op.new.len()).sum()
}

#[track_caller]
fn check_ops<T: PartialEq + std::fmt::Debug>(ops: &[Op], old: &[T], new: &[T]) {
    let (mut old_at, mut new_at) = (0, 0);
    for (index, op) in ops.iter().enumerate() {
        assert!(!op.old.is_empty() || !op.new.is_empty());
        assert!(index == 0 || op.old.start > old_at, "ranges touch: {ops:?}");
        assert_eq!(old[old_at..op.old.start], new[new_at..op.new.start]);
        (old_at, new_at) = (op.old.end, op.new.end);
    }
    assert_eq!(old[old_at..], new[new_at..]);
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn a_diff_is_correct_and_minimal(a in text(), b in text()) {
        let (old, new) = (split_lines(&a), split_lines(&b));
        let ops = diff_lines(&a, &b);
        check_ops(&ops, &old, &new);
        prop_assert_eq!(cost(&ops), old.len() + new.len() - 2 * longest_common(&old, &new));
    }

    #[test]
    fn the_greedy_search_is_correct_and_minimal_or_gives_up(a in "[abc]{0,14}", b in "[abc]{0,14}", limit in 0..30_usize) {
        let (old, new) = (a.as_bytes(), b.as_bytes());
        let n_common = longest_common(old, new);
        match super::greedy::matches(old, new, limit) {
            Some(matches) => {
                prop_assert_eq!(matches.len(), n_common);
                prop_assert!(matches.iter().all(|&(x, y)| old[x] == new[y]));
                prop_assert!(matches.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
            }
            None => prop_assert!(old.len() + new.len() - 2 * n_common > limit),
        }
    }

    #[test]
    fn hunks_turn_one_text_into_the_other(a in text(), b in text(), context in 0..4_usize) {
        let (old, new) = (split_lines(&a), split_lines(&b));
        let mut patched = old.clone();
        for hunk in hunks(&a, &b, context).iter().rev() {
            for line in &hunk.lines {
                prop_assert_eq!(line.old.map(|number| old[number - 1]), line.old.map(|_| line.text.as_str()));
                prop_assert_eq!(line.new.map(|number| new[number - 1]), line.new.map(|_| line.text.as_str()));
            }
            let from = hunk.old_start - usize::from(hunk.old_lines > 0);
            let kept = hunk.lines.iter().filter(|line| line.kind != LineKind::Removed);
            let kept: Vec<&str> = kept.filter_map(|line| line.new).map(|number| new[number - 1]).collect();
            prop_assert_eq!(kept.len(), hunk.new_lines);
            patched.splice(from..from + hunk.old_lines, kept);
        }
        prop_assert_eq!(patched, new);
    }

    #[test]
    fn unified_text_is_empty_only_for_equal_texts(a in text(), b in text()) {
        let patch = unified(&a, &b, 3, Names { old: "a", new: "b" });
        prop_assert_eq!(patch.is_empty(), a == b);
        prop_assert!(patch.is_empty() || patch.ends_with('\n'));
    }
}

#[test]
fn large_texts_get_a_correct_diff() {
    let line = |i: u32| (i * 7919 % 5003 % 97).to_string();
    let old: Vec<String> = (0..20_000).map(line).collect();
    let mut new = old.clone();
    new.rotate_left(4_001);
    new.splice(100..200, (0..50).map(|i| i.to_string()));
    let ops = diff_slices(&old, &new);
    check_ops(&ops, &old, &new);
    assert!(cost(&ops) < old.len());
}

#[test]
fn an_insertion_slides_down_over_equal_lines() {
    let old = "fn a() {\n}\n\nfn c() {\n}\n";
    let new = "fn a() {\n}\n\nfn b() {\n}\n\nfn c() {\n}\n";
    assert_eq!(diff_lines(old, new), [Op { old: 3..3, new: 3..6 }]);
    assert_eq!(diff_lines("a\na\n", "a\na\na\n"), [Op { old: 2..2, new: 2..3 }]);
    assert_eq!(diff_lines("a\na\nb\n", "a\nb\n"), [Op { old: 1..2, new: 1..1 }]);
}

#[track_caller]
fn check_unified(a: &str, b: &str, context: usize, expected: &Expect) {
    expected.assert_eq(&unified(a, b, context, Names { old: "a/f", new: "b/f" }));
}

#[test]
fn unified_text_equals_gits() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = "1\ntwo\n3\n4\n5\n6\n7\n8\n";
    check_unified(
        old,
        new,
        1,
        &expect![[r"
        --- a/f
        +++ b/f
        @@ -1,3 +1,3 @@
         1
        -2
        +two
         3
        @@ -8,2 +8 @@
         8
        -9
    "]],
    );
    check_unified(
        "",
        "one",
        3,
        &expect![[r"
        --- a/f
        +++ b/f
        @@ -0,0 +1 @@
        +one
        \ No newline at end of file
    "]],
    );
    // A lone CR does not end a line here, and CRLF is the last two characters of a line.
    check_unified(
        "a\rb\r\nc",
        "a\rB\r\nc",
        1,
        &expect![["--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\rb\r\n+a\rB\r\n c\n\\ No newline at end of file\n"]],
    );
}

#[test]
fn names_are_quoted_as_git_quotes_them() {
    let header = |name| unified("a\n", "b\n", 0, Names { old: name, new: "/dev/null" });
    assert!(header("a/my notes.md").starts_with("--- a/my notes.md\t\n+++ /dev/null\n"));
    assert!(header("a/\"q\"\n\u{1}é").starts_with("--- \"a/\\\"q\\\"\\n\\001é\"\n"));
}
