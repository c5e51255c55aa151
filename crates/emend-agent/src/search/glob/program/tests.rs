//! Tests of the small matcher: it agrees with the regular expression that stands for the glob.

use proptest::prelude::*;

use super::super::expression::Compiled;
use super::super::parts::{Braces, read};
use super::*;
use crate::test_support::cases;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Compares both ways to match a glob.
#[track_caller]
fn check(glob: &str, paths: &[&str]) {
    for (braces, ignores_case) in
        [(Braces::Alternatives, false), (Braces::Alternatives, true), (Braces::Literal, false)]
    {
        let Ok(parts) = read(glob, braces) else { continue };
        let (small, expected) = (Program::new(&parts, ignores_case), Compiled::new(&parts, ignores_case));
        assert_eq!(small.is_some(), expected.is_some(), "{glob}");
        let (Some(small), Some(expected)) = (small, expected) else { continue };
        for path in paths {
            assert_eq!(small.is_match(path), expected.is_match(path), "{glob:?} against {path:?}, {ignores_case}");
        }
    }
}

#[test]
fn each_part_matches_as_its_expression_does() {
    let paths = ["", "a", "b", "ab", "a/b", "a/b/c", "/", "é", "\n", "ſ", "K", "K", "k", "{a,b}", "x]", "-"];
    for glob in [
        "*", "?", "**", "**/b", "a/**", "a/**/c", "{a,b}", "{a,{b,}}", "{}", "{,}x]", "[!a]", "[k-s]", "[^K]", "k", "S",
    ] {
        check(glob, &paths);
    }
}

#[test]
fn each_named_class_has_the_characters_of_its_expression() {
    let chars: Vec<String> = (0..0x250).chain(0x1e00..0x2200).filter_map(char::from_u32).map(String::from).collect();
    let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
    for name in
        ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"]
    {
        check(&format!("[[:{name}:]]"), &chars);
        check(&format!("[![:{name}:]x]"), &chars);
    }
}

#[test]
fn any_glob_matches_as_its_expression_does() {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "K",
        "k",
        "ß",
        "ſ",
        "/",
        "*",
        "**",
        "**/",
        "/**",
        "?",
        "{",
        ",",
        "}",
        "[",
        "]",
        "!",
        "-",
        "[a-k]",
        "[!b/]",
        "[[:alpha:]]",
        "[[:upper:]k]",
        "\\",
        ".",
        "$",
        "\n",
    ]);
    let glob = prop::collection::vec(piece, 1..10).prop_map(|pieces| pieces.concat());
    let path = prop::collection::vec(prop::sample::select("aAbkKſſß/{},]-.$\n".chars().collect::<Vec<_>>()), 0..8)
        .prop_map(|chars| chars.into_iter().collect::<String>());
    proptest!(cases(3_000), |(glob in glob, paths in prop::collection::vec(path, 10))| {
        check(&glob, &paths.iter().map(String::as_str).collect::<Vec<_>>());
    });
}

#[test]
fn globs_may_be_as_deep_as_their_expressions() {
    for inner in ["", "a", "ab", "*", "?", "[a]", "[ab]", "[[:alpha:]]", "**", "**/b", "a,b", "a,*b"] {
        for around in [["{", "}"], ["{x", "}"], ["{x,", "}"], ["{xy,", "y}"], ["{*", ",}"]] {
            for depth in 1..260 {
                let glob = around[0].repeat(depth) + inner + &around[1].repeat(depth);
                // Compiling deep expressions takes long, so only those near the limit are compiled.
                if (NESTING_MAX - 3..NESTING_MAX + 6).contains(&nesting(&read(&glob, Braces::Alternatives).unwrap())) {
                    check(&glob, &[]);
                }
            }
        }
    }
}
