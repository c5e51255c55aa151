//! Tests of the matcher: a table of cases, and an oracle that matches each line by itself.

use proptest::prelude::*;

use super::*;
use crate::test_support::cases;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const LIMITS: SearchLimits = SearchLimits { max_matches: usize::MAX, context_lines: 0, max_line_bytes: 1_000 };

/// Renders a result as `3:text` for a match and `4-text` for context.
fn render(lines: &[LineMatch]) -> Vec<String> {
    lines.iter().map(|line| format!("{}{}{}", line.line, if line.is_match { ':' } else { '-' }, line.text)).collect()
}

#[track_caller]
fn check_with(pattern: &str, content: &[u8], limits: SearchLimits, expected: &[&str]) {
    let matcher = Matcher::new(pattern, false).unwrap();
    assert_eq!(render(&matcher.search(content, limits)), expected, "{pattern:?} in {content:?}");
}

#[track_caller]
fn check(pattern: &str, content: &str, expected: &[&str]) {
    check_with(pattern, content.as_bytes(), LIMITS, expected);
}

#[test]
fn lines_are_found_and_numbered_whatever_ends_them() {
    check("b", "a\nb\nab", &["2:b", "3:ab"]);
    check("b", "a\r\nb\r\nab\r\n", &["2:b", "3:ab"]);
    check("b", "a\rb\rab\r", &["2:b", "3:ab"]);
    check("b", "a\r\n\rb\n\n\rb", &["3:b", "6:b"]);
    check("b", "", &[]);
    check("b b", "b b b b\n", &["1:b b b b"]);
}

#[test]
fn edges_of_lines_are_where_people_see_them() {
    check("^a$", "a\r\na \r\na\ra", &["1:a", "3:a", "4:a"]);
    check(r"\Aa\z", "a\nb\na", &["1:a", "3:a"]);
    check("^$", "a\n\nb\n\r\n\r\r", &["2:", "4:", "5:", "6:"]);
    check("$", "a\n\nb", &["1:a", "2:", "3:b"]);
    check("x*", "a\r\nb", &["1:a", "2:b"]);
    check(r"\B", "a\r\nbc", &["2:bc"]);
    check(r"\bfoo\b", "foo\nfood\n", &["1:foo"]);
}

#[test]
fn escaped_text_matches_itself() {
    check(&escape("<b>"), "b\n<b>", &["2:<b>"]);
    let all: String = (' '..='~').collect();
    check(&escape(&all), &format!("x\n{all}"), &[&format!("2:{all}")]);
}

#[test]
fn nothing_matches_across_lines() {
    check(r"a\s+b", "a\nb\na  b\n", &["3:a  b"]);
    check("a[^x]*b", "a\nb\na,b", &["3:a,b"]);
    check(r"(?s)a.b", "a\nb\na,b", &["3:a,b"]);
    check(r"foo;\r?$", "foo;\r\nfoo", &["1:foo;"]);
    check(r"foo(\n|;)", "foo\nfoo;", &["2:foo;"]);
    check(r"[\s\S]", "\n\nx\n", &["3:x"]);
}

#[test]
fn patterns_that_cannot_match_a_line_are_refused() {
    for pattern in [r"a\nb", r"\n", r"[\r\n]", r"(a\r\n){2}", "(", "a{2", "*", r"(?P<x"] {
        assert!(Matcher::new(pattern, false).is_err(), "{pattern:?} was accepted");
    }
    assert!(Matcher::new(r"a\nb", false).unwrap_err().to_string().contains("one line"));
}

#[test]
fn case_and_unicode() {
    let matcher = Matcher::new("straße|ΣΑΣ", true).unwrap();
    assert_eq!(render(&matcher.search("STRASSE\nStraße\nσας\n".as_bytes(), LIMITS)), ["2:Straße", "3:σας"]);
    check(r"\w+é", "caf\u{e9}\n", &["1:café"]);
    check_with("b", b"a\xffb\n", LIMITS, &["1:a\u{fffd}b"]);
}

#[test]
fn context_is_listed_once_and_ends_at_the_next_match() {
    let text = "1\n2\nx\n4\nx\n6\n7\n8\n9\nx";
    let limits = SearchLimits { context_lines: 2, ..LIMITS };
    check_with("x", text.as_bytes(), limits, &["1-1", "2-2", "3:x", "4-4", "5:x", "6-6", "7-7", "8-8", "9-9", "10:x"]);
    let limits = SearchLimits { context_lines: 1, ..LIMITS };
    check_with("x", text.as_bytes(), limits, &["2-2", "3:x", "4-4", "5:x", "6-6", "9-9", "10:x"]);
    let limits = SearchLimits { max_matches: 1, context_lines: 2, ..LIMITS };
    check_with("x", text.as_bytes(), limits, &["1-1", "2-2", "3:x", "4-4"]);
    check_with("x", text.as_bytes(), SearchLimits { max_matches: 0, ..limits }, &[]);
}

#[test]
fn binary_files_are_skipped_by_their_first_bytes() {
    let mut content = b"needle\n".to_vec();
    content.resize(BINARY_PROBE_BYTES, b'.');
    content.push(0);
    check_with("needle", &content, LIMITS, &["1:needle"]);
    content[BINARY_PROBE_BYTES - 1] = 0;
    check_with("needle", &content, LIMITS, &[]);
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let limits = SearchLimits { max_line_bytes: 8, ..LIMITS };
    check_with("x", b"12345678", limits, &[]);
    check_with("1", b"12345678", limits, &["1:12345678"]);
    check_with("x", b"0123456789x0123456789", limits, &["1:…89x01234…"]);
    check_with("x", b"x0123456789", limits, &["1:x0123456…"]);
    check_with("x", b"0123456789x", limits, &["1:…3456789x"]);
    check_with("x", "éééééééxééééééé".as_bytes(), limits, &["1:…éxéé…"]);
    check_with("x", &[0x80; 20], limits, &[]);
    check_with(
        "(?-u:\\x80)",
        &[0x80; 20],
        limits,
        &["1:\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}…"],
    );
}

#[test]
fn a_pattern_that_would_reach_far_stays_linear() {
    // Each line starts a match that would extend to the end of the file if the pattern were not rewritten.
    let content = "foo\n".repeat(200_000);
    let matcher = Matcher::new("foo([^x]*x)?", false).unwrap();
    assert_eq!(matcher.search(content.as_bytes(), LIMITS).len(), 200_000);
}

/// The oracle splits with the rule of `emend_edit` and matches each line by itself.
fn one_by_one(pattern: &str, case_insensitive: bool, content: &str) -> Vec<usize> {
    let regex = regex::RegexBuilder::new(pattern).case_insensitive(case_insensitive).build().unwrap();
    emend_edit::text::split_lines(content)
        .iter()
        .enumerate()
        .filter(|(_, line)| regex.is_match(emend_edit::text::split_eol(line).0))
        .map(|(index, _)| index + 1)
        .collect()
}

fn content() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["a", "b", "aB", " ", "é", "\n", "\n", "\r\n", "\r", "_"]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn pattern() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(vec![
        "a", "b", ".", r"\s", r"\S", "[^a]", "^", "$", r"\b", r"\B", "é", r"\w", r"(?s:.)", r"[\s\S]", "", r"\n?",
        r"\A", r"\z", "(?:ab|b)",
    ]);
    let part = (atom, prop::sample::select(vec!["", "", "*", "+?", "?", "{2}"])).prop_map(|(atom, times)| {
        let looks = ["^", "$", r"\b", r"\B", "", r"\n?", r"\A", r"\z"];
        if looks.contains(&atom) { atom.to_owned() } else { format!("{atom}{times}") }
    });
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.concat())
}

#[test]
fn a_whole_file_gives_the_lines_that_match_one_by_one() {
    proptest!(cases(2_000), |(pattern in pattern(), content in content())| {
        let found = Matcher::new(&pattern, false).unwrap().search(content.as_bytes(), LIMITS);
        let numbers: Vec<usize> = found.iter().map(|line| line.line).collect();
        prop_assert_eq!(numbers, one_by_one(&pattern, false, &content));
    });
}

#[test]
fn so_it_does_in_either_case() {
    proptest!(cases(500), |(pattern in "[abAB_]{1,3}(b|_)?[ab]{0,2}", content in content())| {
        let found = Matcher::new(&pattern, true).unwrap().search(content.as_bytes(), LIMITS);
        let numbers: Vec<usize> = found.iter().map(|line| line.line).collect();
        prop_assert_eq!(numbers, one_by_one(&pattern, true, &content));
    });
}

#[test]
fn a_text_that_stands_in_many_lines_for_nothing_hides_no_match() {
    let matcher = Matcher::new(r"needle\d+$", false).unwrap();
    let content: String =
        (0..100).map(|line| if line % 40 == 39 { "a needle7\n" } else { "needle needles\n" }).collect();
    let found: Vec<usize> = matcher.search(content.as_bytes(), LIMITS).iter().map(|line| line.line).collect();
    assert_eq!(found, [40, 80]);
}

#[test]
fn truncating_equals_asking_for_less() {
    proptest!(cases(2_000), |(content in content(), max in 0..4_usize, context_lines in 0..4_usize)| {
        let matcher = Matcher::new("a", false).unwrap();
        let limits = SearchLimits { context_lines, ..LIMITS };
        let mut all = matcher.search(content.as_bytes(), limits);
        let less = matcher.search(content.as_bytes(), SearchLimits { max_matches: max, ..limits });
        truncate_matches(&mut all, max, context_lines);
        prop_assert_eq!(all, less);
    });
}

#[test]
fn context_lines_are_the_lines_around() {
    proptest!(cases(2_000), |(content in content(), context_lines in 0..3_usize)| {
        let matcher = Matcher::new("b", false).unwrap();
        let found = matcher.search(content.as_bytes(), SearchLimits { context_lines, ..LIMITS });
        let all: Vec<&str> = emend_edit::text::split_lines(&content);
        let expected: Vec<String> = all
            .iter()
            .enumerate()
            .filter(|(index, _)| {
                let near = index.saturating_sub(context_lines)..=index + context_lines;
                all.iter().enumerate().any(|(other, line)| near.contains(&other) && line.contains('b'))
            })
            .map(|(index, line)| {
                let text = emend_edit::text::split_eol(line).0;
                format!("{}{}{}", index + 1, if text.contains('b') { ':' } else { '-' }, text)
            })
            .collect();
        prop_assert_eq!(render(&found), expected);
    });
}
