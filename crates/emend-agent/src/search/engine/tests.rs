//! Tests of the engines: each finds the matches of the `regex` crate.

use proptest::prelude::*;

use super::*;
use crate::test_support::cases;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn parse(pattern: &str) -> Hir {
    regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern).unwrap()
}

/// Compares both engines of this host with the oracle, from each position in `haystack`.
#[track_caller]
fn check(pattern: &str, haystack: &[u8]) {
    let oracle = regex::bytes::Regex::new(pattern).unwrap();
    let hir = parse(pattern);
    let (host, small) = (Regex::new(&hir).unwrap(), lazy::Engine::new(&hir).unwrap());
    assert_eq!(host.is_match(haystack), oracle.is_match(haystack), "{pattern:?} in {haystack:?}");
    assert_eq!(small.is_match(haystack), oracle.is_match(haystack), "{pattern:?} in {haystack:?}, lazily");
    for from in 0..=haystack.len() {
        let expected = oracle.find_at(haystack, from).map(|found| found.range());
        assert_eq!(host.find_start(haystack, from..haystack.len()), expected.as_ref().map(|range| range.start));
        let found = small.find(haystack, from..haystack.len()).map(|span| span.range());
        assert_eq!(found, expected, "{pattern:?} in {haystack:?} from {from}, lazily");
    }
}

#[test]
fn the_leftmost_match_is_found_and_earlier_alternatives_win() {
    check("b|ab|abc", b"xabcab");
    check("a|ab", b"xab");
    check("ab|a", b"xab");
    check("a+?|b+", b"aabb");
    check("(a|b)*c|a", b"abab");
    check("", b"ab");
    check("x*", b"axxa");
    check("(?m)^a$", b"b\na\na");
    check(r"\Aa|a\z", b"aba");
    check("(?i)straße", "STRASSE Straße STRAßE".as_bytes());
    check(r"(?-u:\xff)+", b"a\xff\xffb");
    check(".", b"\xff\xc3\xa9\xc3");
}

#[test]
fn what_the_lazy_dfa_gives_up_on_is_simulated() {
    let haystack = "é foo égal foo-é é".as_bytes();
    for pattern in [r"\bfoo\b", r"\b\w+\b", r"foo\B|\Bgal", r"\b"] {
        check(pattern, haystack);
        let small = lazy::Engine::new(&parse(pattern)).unwrap();
        assert!(small.gives_up(haystack), "{pattern:?} is no example of it");
    }
    check(r"(?-u:\b)foo(?-u:\b)", haystack);
    assert!(!lazy::Engine::new(&parse("foo")).unwrap().gives_up(haystack));
}

#[test]
fn a_pattern_with_more_states_than_the_cache_holds_is_simulated() {
    // A state for each set of positions of an `a` among the last 18 letters.
    let pattern = "a[ab]{18}c";
    let mut bits = 0x2545_f491_u32;
    let mut letter = || {
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        b"ab"[usize::from(bits & 0x100 != 0)]
    };
    let mut haystack: Vec<u8> = (0..200_000).map(|_| letter()).collect();
    haystack.extend(b"abbbbbbbbbbbbbbbbbbcb");
    let small = lazy::Engine::new(&parse(pattern)).unwrap();
    assert!(small.gives_up(&haystack));
    let expected = regex::bytes::Regex::new(pattern).unwrap().find(&haystack).map(|found| found.range());
    assert_eq!(expected, Some(200_000..200_020));
    assert_eq!(small.find(&haystack, 0..haystack.len()).map(|span| span.range()), expected);
    assert!(small.is_match(&haystack));
}

#[test]
fn a_pattern_that_would_take_too_much_memory_is_refused() {
    let hir = parse(r"(?:\w{300}){300}");
    let expected = "Compiled regex exceeds size limit of 10485760 bytes.";
    assert_eq!(Regex::new(&hir).unwrap_err().to_string(), expected);
    assert_eq!(lazy::Engine::new(&hir).unwrap_err().to_string(), expected);
    assert!(regex::bytes::Regex::new(r"(?:\w{300}){300}").is_err());
}

fn pattern() -> impl Strategy<Value = String> {
    let atoms = vec![
        "a",
        "b",
        "é",
        ".",
        r"\w",
        r"\s",
        "[^a]",
        "[a-b]",
        r"(?-u:\xc3)",
        r"(?-u:[\x80-\xff])",
        "(?s-u:.)",
        "^",
        "$",
        r"\b",
        r"\B",
        r"(?-u:\b)",
        "(?m:^)",
        "(?m:$)",
        "(?mR:$)",
        r"\A",
        r"\z",
        "",
        "É",
    ];
    let atom = prop::sample::select(atoms).prop_map(str::to_owned);
    let nested = atom.prop_recursive(3, 12, 4, |inner| {
        let times = prop::sample::select(vec!["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner, times).prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    });
    (any::<bool>(), nested).prop_map(|(ignore_case, part)| if ignore_case { format!("(?i){part}") } else { part })
}

fn haystack() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> =
        vec![b"a", b"b", b"A", "é".as_bytes(), "É".as_bytes(), b" ", b"\n", b"\r\n", b"\xff", b"\xc3"];
    prop::collection::vec(prop::sample::select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}

#[test]
fn both_engines_find_what_the_regex_crate_finds() {
    proptest!(cases(2_000), |(pattern in pattern(), haystack in haystack())| check(&pattern, &haystack));
}
