//! Damaged, deep and very large texts: no panic, no overflow of the stack, and an end within the limits.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{lines, sample};
use crate::{Language, Limits, OutlineError, outline, walk};

#[test]
fn definitions_around_damage_stay() {
    #[track_caller]
    fn check(language: Language, text: &str, expected: &[&str]) {
        assert_eq!(lines(language, text), expected);
    }
    check(Language::Rust, "fn a() {}\n)))\nfn b() {}\n", &["1-1 fn a", "3-3 fn b"]);
    check(Language::C, "int a() { return 1; }\n@@@\nint b() { return 1; }\n", &["1-1 fn a", "3-3 fn b"]);
    check(Language::Python, "def a():\n    pass\n)))\ndef b():\n    pass\n", &["1-2 fn a", "4-5 fn b"]);
    check(
        Language::TypeScript,
        "class A {\n  b() {\n}\nfunction c() {}\n",
        &["1-4 class A", "  2-3 fn b", "  4-4 fn c"],
    );
    check(Language::Rust, "fn () {}\nfn b() {}\n", &["2-2 fn b"]);
    for language in Language::ALL {
        check(language, "", &[]);
        check(language, "\0\u{1}\u{fffd}\n", &[]);
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    const DEPTH: usize = 100_000;
    let limits = Limits { time_max: Duration::from_secs(60), ..Limits::default() };
    // Also called from a thread with a small stack.
    let on_small_stack = move |language: Language, text: String| {
        let work = move || outline(language, &text, &limits).map(|found| found.symbols.len());
        std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap().join().unwrap()
    };
    for (at, language) in Language::ALL.into_iter().enumerate() {
        // Unoptimized grammars take half a second for each, so not all languages have all of them.
        for (open, close) in [[("(", ")"), ("{", "")], [("[", "]"), ("", "}")], [("{", "}"), ("(", "")]][at % 3] {
            let text = format!("{}{}{}", open.repeat(DEPTH), close.repeat(DEPTH), sample(language));
            let found = on_small_stack(language, text);
            assert!(found.is_ok(), "{language:?} {open}{close}: {found:?}");
        }
    }
    let nested = format!("{}{}", "mod a { ".repeat(4_000), "}".repeat(4_000));
    assert_eq!(on_small_stack(Language::Rust, nested), Ok(4_000));
}

/// Tree-sitter releases the states of these texts by recursion. On a usual stack the process ended.
#[test]
fn states_of_damaged_text_do_not_overflow_the_stack() {
    let limits = Limits { time_max: Duration::from_millis(500), ..Limits::default() };
    for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
        let text = "{ a: ".repeat(limits.bytes_max / 5);
        let found = outline(language, &text, &limits).map(|found| found.symbols.len());
        assert!(matches!(found, Ok(0) | Err(OutlineError::TooSlow { .. })), "{language:?}: {found:?}");
    }
}

#[test]
fn limits_hold() {
    let text = "fn a() {}\n".repeat(1_000);
    let with = |limits: Limits| outline(Language::Rust, &text, &limits);
    let all = with(Limits::default()).unwrap();
    assert_eq!((all.symbols.len(), all.truncated), (1_000, false));
    let some = with(Limits { symbols_max: 999, ..Limits::default() }).unwrap();
    assert_eq!((some.symbols.as_slice(), some.truncated), (&all.symbols[..999], true));
    let exact = with(Limits { symbols_max: 1_000, bytes_max: 10_000, ..Limits::default() }).unwrap();
    assert_eq!(exact, all);
    let long = with(Limits { bytes_max: 9_999, ..Limits::default() });
    assert_eq!(long, Err(OutlineError::TooLong { n_bytes: 10_000, bytes_max: 9_999 }));
    assert_eq!(long.unwrap_err().to_string(), "the text has 10000 bytes, and at most 9999 are parsed");
    let slow = with(Limits { time_max: Duration::ZERO, ..Limits::default() });
    assert_eq!(slow, Err(OutlineError::TooSlow { time_max: Duration::ZERO }));
}

#[test]
fn the_walk_ends_with_the_time() {
    let text = "fn a() {}\n".repeat(1_000);
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&Language::Rust.grammar().unwrap()).unwrap();
    let tree = parser.parse(&text, None).unwrap();
    let n_symbols = |has_time: bool| {
        let found = walk::symbols(&tree, Language::Rust, text.as_bytes(), 5_000, || has_time);
        found.map(|found| found.symbols.len())
    };
    assert_eq!([n_symbols(true), n_symbols(false)], [Some(1_000), None]);
}

#[test]
fn names_have_a_letter_and_at_most_120_characters() {
    assert_eq!(lines(Language::JavaScript, "const t = { '+': function () {} };\n"), ["1-1 const t"]);
    let long = "é".repeat(130);
    let found = lines(Language::Rust, &format!("impl A<{long}> {{}}\nfn b() {{}}\n"));
    assert_eq!(found, [format!("1-1 impl A<{}…", &long[..2 * 118]), "2-2 fn b".to_owned()]);
}

#[test]
fn a_text_of_the_largest_size_ends_within_the_time() {
    let limits = Limits { time_max: Duration::from_millis(50), ..Limits::default() };
    for language in Language::ALL {
        for piece in ["((((((((", "a<b,", "\"'`", "#define x(", "*&&", "a("] {
            let text = piece.repeat(limits.bytes_max / piece.len());
            let start = Instant::now();
            let found = outline(language, &text, &limits);
            let time = start.elapsed();
            // Steps between two looks at the clock come on top, and other work of the machine.
            assert!(time < Duration::from_secs(10), "{language:?} {piece}: {time:?}, {:?}", found.map(|_| ()));
        }
    }
}

/// A change of a text: some bytes replaced by a piece.
fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, &'static str)>> {
    let pieces =
        ["", "{", "}", "(", "\"", "'", "é", "\n", "/*", "R\"x(", "    ", "<", "fn ", "=", "\0", "#if", "`${", "\\"];
    prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize, prop::sample::select(pieces.to_vec())), 1..12)
}

#[test]
fn damaged_texts_have_ordered_outlines() {
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(language in prop::sample::select(Language::ALL.to_vec()), damage in damage())| {
        let mut text: Vec<char> = sample(language).repeat(3).chars().collect();
        for (at, n_removed, piece) in damage {
            let at = at.index(text.len() + 1);
            let end = (at + n_removed).min(text.len());
            text.splice(at..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        let found = outline(language, &text, &Limits::default()).unwrap();
        let n_lines = text.split(['\n', '\r']).count();
        let mut before = (1, 0);
        for symbol in &found.symbols {
            prop_assert!(before.0 <= symbol.first_line && symbol.first_line <= symbol.last_line, "{symbol}");
            prop_assert!(symbol.last_line <= n_lines, "{symbol} of {n_lines} lines");
            prop_assert!(symbol.depth <= before.1 && !symbol.name.is_empty() && !symbol.name.contains('\n'), "{symbol}");
            before = (symbol.first_line, symbol.depth + 1);
        }
    });
}

/// Returns a text that repeats some pieces of code, which puts the parser into many states at once.
fn repeated() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        "a",
        " a: ",
        ",",
        ";",
        "=",
        "=>",
        "\"",
        "'",
        "`",
        "\n",
        "\n  ",
        "fn ",
        "class A ",
        "def f(",
        "if ",
        "else ",
        "#if\n",
        "#endif\n",
        "/*",
        "*",
        "&",
        "|x|",
        "::",
        ".",
        "template<",
        "R\"(",
        "func ",
        "type ",
        "lambda ",
        "case ",
        "$",
        "${",
        "<a ",
        "/>",
    ];
    let some = move |n| prop::collection::vec(prop::sample::select(pieces.to_vec()), n).prop_map(|some| some.concat());
    (some(0..20), some(1..7)).prop_map(|(start, period)| {
        let times = (256 << 10) / period.len();
        start + &period.repeat(times)
    })
}

#[test]
fn long_damaged_texts_end_in_order() {
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    let limits = Limits { time_max: Duration::from_millis(40), ..Limits::default() };
    proptest!(config, |(language in prop::sample::select(Language::ALL.to_vec()), text in repeated())| {
        let found = outline(language, &text, &limits).map(|found| found.symbols.len());
        prop_assert!(matches!(found, Ok(..=5_000) | Err(OutlineError::TooSlow { .. })), "{language:?}: {found:?}");
    });
}
