//! Tests of plans: the condition of each kind of pattern, and that no file with a match is left out.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use regex_automata::meta::Regex;

use super::*;
use crate::batch::Batch;
use crate::segment::{Document, Header, Kind};
use crate::stamp::Stamp;

fn parse(pattern: &str) -> Hir {
    let mut parser = regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).crlf(true).build();
    parser.parse(pattern).unwrap()
}

fn shown(condition: &Condition) -> String {
    let joined = |parts: &[Condition], by: &str| parts.iter().map(shown).collect::<Vec<_>>().join(by);
    match condition {
        Condition::Any => "*".to_owned(),
        Condition::Has(trigram) => String::from_utf8_lossy(&trigram.to_be_bytes()[1..]).into_owned(),
        Condition::All(parts) => joined(parts, " "),
        Condition::One(parts) => format!("({})", joined(parts, "|")),
    }
}

/// Checks the condition of a pattern: trigrams that must all occur, with alternatives in parentheses.
#[track_caller]
fn check(pattern: &str, expected: &str) {
    assert_eq!(shown(&Plan::new(&parse(pattern)).0), expected, "{pattern:?}");
}

#[test]
fn literals_need_all_their_trigrams_in_lower_case() {
    check("abcd", "abc bcd");
    check("ABcD", "abc bcd");
    check("abab", "aba bab");
    check("ab", "*");
    check("", "*");
    check("^abc$", "abc");
    check(r"\bab\bcd", "abc bcd");
}

#[test]
fn one_of_several_branches_suffices() {
    check("abcd|efgh", "(abc bcd|efg fgh)");
    check("abc|ab", "*");
    check("ab(cd|ef)gh", "(abc bcd cdg dgh|abe bef efg fgh)");
}

#[test]
fn repeated_and_optional_parts() {
    check("abc+d", "abc");
    check("ab?c", "*");
    check("abc?d", "(abd|abc bcd)");
    check("(abc)*def", "def");
    check("(abc)+", "abc");
    check("(ab){3}", "aba bab");
    check("x{3,}", "xxx");
    check("abc.*def", "abc def");
    check("abc.def", "abc def");
}

#[test]
fn small_classes_are_alternatives() {
    check("[aA][bB]c", "abc");
    check("ab[cd]e", "(abc bce|abd bde)");
    check("ab[k\u{212a}]", "(abk|ab\u{fffd} b\u{fffd} \u{212a})");
    check(r"abc[^x]def", "abc def");
    check("[a-z][a-z][a-z]", "*");
    check("(?-u:[\\xff])ab", "\u{fffd}ab");
}

/// Patterns of few letters, so that they match often.
fn patterns() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => "[abcAB]{1,6}",
        1 => Just("[ab]".to_owned()),
        1 => Just("[^a]".to_owned()),
        1 => Just("[k\u{212a}K]".to_owned()),
        1 => Just("ä|Ä".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(r"\b".to_owned()),
        1 => Just("^".to_owned()),
        1 => Just("$".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join("|"))),
            3 => (inner, prop::sample::select(vec!["?", "*", "+", "{2}", "{2,3}", "{3,}", "{0,2}", "{7}"]))
                .prop_map(|(part, times)| format!("({part}){times}")),
        ]
    })
}

#[test]
fn no_text_with_a_match_is_left_out() {
    let seed = [7; 32];
    let config = ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let texts: Vec<String> =
        (0..300).map(|_| "[abcABkKäÄ\u{212a} \n]{0,40}".new_tree(&mut runner).unwrap().current()).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut batch = Batch::new();
    for (number, text) in texts.iter().enumerate() {
        let document = Document { stamp: Stamp::default(), hash: [0; 16], kind: Kind::Text };
        batch.push(format!("{number:04}"), document, text.as_bytes());
    }
    let path = folder.path().join("segment");
    batch.write(&path, Header::default()).unwrap();
    let segment = Segment::open(&path, &[0; 16]).unwrap();
    let (n_left_out, n_matches) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    runner
        .run(&patterns(), |pattern| {
            let hir = parse(&pattern);
            let Ok(regex) = Regex::builder().build_from_hir(&hir) else { return Ok(()) };
            let plan = Plan::new(&hir);
            let selected = plan.select(&segment);
            for (number, text) in texts.iter().enumerate() {
                // A pattern that crosses lines has another meaning here than in a search of lines.
                let is_match = text.split('\n').any(|line| regex.is_match(line));
                let is_selected = selected.as_ref().is_none_or(|bits| bits.contains(number as u32));
                prop_assert!(is_selected || !is_match, "{pattern:?} matches {text:?}, but not {}", shown(&plan.0));
                n_left_out.set(n_left_out.get() + usize::from(!is_selected));
                n_matches.set(n_matches.get() + usize::from(is_match));
            }
            Ok(())
        })
        .unwrap();
    let counts = (n_left_out.get(), n_matches.get());
    assert!(counts.0 > 100_000 && counts.1 > 100_000, "the test sees both outcomes: {counts:?}");
}
