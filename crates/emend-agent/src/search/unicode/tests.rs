//! Tests of the expansion: `regex-syntax` with its full tables is the oracle.

use proptest::prelude::*;
use regex_syntax::hir::Hir;

use super::*;
use crate::test_support::cases;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn oracle(pattern: &str, case_insensitive: bool) -> Result<Hir, regex_syntax::Error> {
    regex_syntax::ParserBuilder::new()
        .utf8(false)
        .multi_line(true)
        .crlf(true)
        .case_insensitive(case_insensitive)
        .build()
        .parse(pattern)
}

/// Compares the expressions, or the error messages.
#[track_caller]
fn check(pattern: &str) {
    for case_insensitive in [false, true] {
        let (found, expected) = (parse(pattern, case_insensitive), oracle(pattern, case_insensitive));
        let text = |error: regex_syntax::Error| error.to_string();
        assert_eq!(found.map_err(text), expected.map_err(text), "{pattern:?}, {case_insensitive}");
    }
}

#[test]
fn classes_are_those_of_the_full_tables() {
    check(r"\w\W\d\D\s\S");
    check(r"[\w-][^\W_][\d\S][\w&&\D][\w--[_]][\s~~\d][^[^\s]]");
    check(r"(?-u)\w\W\d\D\s\S[\w\xff][^\d](?u:\w)");
    check(r"\p{Nd}\P{Nd}[\p{digit}a]\p{gc=Decimal_Number}\p{is general-category:isND}\p{gc!=Nd}\P{gc!=nd}");
    assert_ne!(parse(r"\w", false).unwrap(), parse(r"(?-u)\w", false).unwrap());
}

#[test]
fn flags_hold_where_they_do_by_the_rules() {
    check("a(?i)b|c(?-i)d|e");
    check("(a(?i)b)c(?i:d(?-i)e)f");
    check("(?i-u)k(?u)k(?-i)k");
    check("(?is-mx)a.b $");
    check("(?i)(?i)");
    check(r"(?i:a)\b(?x) b # c");
}

#[test]
fn either_case_is_that_of_the_full_tables() {
    for pattern in [
        "kKſsµΩß",
        "[k][^k][a-z][^A-Z][a-z--k][a-z&&[^s]][k~~K]",
        "[[:lower:]][[:upper:]][[:alpha:]][[:^lower:]][[:^alnum:]][[:xdigit:]][[:^xdigit:]][[:punct:]][[:ascii:]]",
        r"[\x00-\u{10ffff}][\u{80}-\u{10ffff}][^\x{1e00}-\x{1fff}]",
        r"\xe9\u{e9}é[\xe9][à-þ]",
        "straße|ΣΑΣ{2,3}?",
    ] {
        check(pattern);
        check(&format!("(?i){pattern}"));
    }
    check(r"(?-u)k[a-z][[:lower:]][[:^upper:]][\x50-\xff]\xe9");
    assert_ne!(parse("k", false).unwrap(), parse("k", true).unwrap());
}

#[test]
fn errors_are_the_parser_s() {
    for pattern in ["(", "[z-a]", r"a\p{Nope}b", r"\p{gc=Nope}", r"(?-u)\p{Nd}", "(?-u)[é]", "(?i", "(?i)*"] {
        assert!(parse(pattern, true).is_err(), "{pattern:?} was accepted");
        check(pattern);
    }
}

fn class() -> impl Strategy<Value = String> {
    let item = prop::sample::select(vec![
        "k",
        "S",
        "ſ",
        "é",
        "a-f",
        "Q-t",
        "α-ω",
        r"\w",
        r"\W",
        r"\d",
        r"\S",
        "[:lower:]",
        "[:^upper:]",
        "[:word:]",
        r"\p{Nd}",
        "Ā-ſ",
        "Ა-Ჿ",
    ]);
    let items = (prop::bool::ANY, prop::collection::vec(item, 1..4))
        .prop_map(|(negated, items)| format!("[{}{}]", if negated { "^" } else { "" }, items.concat()));
    items.prop_recursive(3, 8, 2, |inner| {
        let op = prop::sample::select(vec!["", "&&", "--", "~~"]);
        (inner.clone(), op, inner, prop::bool::ANY)
            .prop_map(|(left, op, right, negated)| format!("[{}{left}{op}{right}]", if negated { "^" } else { "" }))
    })
}

fn pattern() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        class(),
        prop::sample::select(vec![
            "a", "k", "ß", "(?i)", "(?-i)", "(?-u)", "(?u)", "(?i-u)", "|", ".", r"\w", r"\D", r"\b", "é", "ǅ", "x*",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(atom, 0..5).prop_map(|atoms| atoms.concat()).prop_recursive(3, 12, 3, |inner| {
        let open = prop::sample::select(vec!["(", "(?:", "(?i:", "(?-i:", "(?i-u:"]);
        (inner.clone(), open, inner).prop_map(|(before, open, inner)| format!("{before}{open}{inner})"))
    })
}

#[test]
fn any_pattern_is_what_it_is_with_the_full_tables() {
    proptest!(cases(200), |(pattern in pattern())| {
        check(&pattern);
    });
}

#[cfg(not(target_family = "wasm"))]
mod host_tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

    use super::*;

    fn put(table: &mut Vec<u8>, mut number: u32) {
        while number >= 0x80 {
            table.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        table.push(number as u8);
    }

    /// Generates the table of a class from that of `regex-syntax`.
    fn table_of(class: &str) -> Vec<u8> {
        let hir = oracle(class, false).unwrap();
        let HirKind::Class(Class::Unicode(class)) = hir.kind() else { panic!("{class} is no class") };
        let (mut table, mut at) = (Vec::new(), 0);
        for range in class.ranges() {
            let (start, end) = (u32::from(range.start()), u32::from(range.end()));
            put(&mut table, start - at);
            put(&mut table, end - start);
            at = end + 1;
        }
        table
    }

    /// Returns all characters that differ from `char` only in case, itself included, by the table of `regex-syntax`.
    fn kin(char: char) -> ClassUnicode {
        let mut kin = ClassUnicode::new([ClassUnicodeRange::new(char, char)]);
        kin.try_case_fold_simple().unwrap();
        kin
    }

    /// Returns a link from the smallest character of each case group to each other one: the smallest character and the
    /// distance.
    fn links() -> BTreeSet<(u32, u32)> {
        let smallest = |char| u32::from(kin(char).ranges()[0].start());
        ('\0'..=char::MAX)
            .map(|char| (smallest(char), u32::from(char) - smallest(char)))
            .filter(|link| link.1 > 0)
            .collect()
    }

    /// Generates the table of links. Each entry holds the distance from the last start, the number of links of the same
    /// length that follow each other (its lowest bit means a step of two), and the length.
    fn table_of_links() -> Vec<u8> {
        let all = links();
        let (mut table, mut left, mut at) = (Vec::new(), all.clone(), 0);
        for (start, distance) in all {
            let follows = |step: u32| (1..).take_while(|n| left.contains(&(start + n * step, distance))).count() as u32;
            if !left.contains(&(start, distance)) {
                continue;
            }
            let (more, step) = if follows(2) > follows(1) { (follows(2), 2) } else { (follows(1), 1) };
            for n in 0..=more {
                left.remove(&(start + n * step, distance));
            }
            put(&mut table, start - at);
            put(&mut table, more << 1 | (step - 1));
            put(&mut table, distance);
            at = start;
        }
        table
    }

    #[test]
    fn the_tables_are_made_of_the_parser_s() {
        let mut file = "//! The tables of `unicode`, as numbers that `Numbers` decodes. A test generates them from those of `regex-syntax`.\n\
             //!\n\
             //! The data is derived from files of the Unicode Character Database, under the Unicode licence.\n"
            .to_owned();
        let tables = [
            (
                "DIGIT",
                "`\\d`: for each range its distance from the one before and the number of characters after its first.",
                table_of(r"\d"),
            ),
            ("SPACE", "`\\s`, in the same encoding.", table_of(r"\s")),
            ("WORD", "`\\w`, in the same encoding.", table_of(r"\w")),
            ("CASES", "Characters that differ only in case; ASCII first.", table_of_links()),
        ];
        for (name, doc, table) in tables {
            let _ = write!(file, "\n/// {doc}\npub(super) const {name}: &[u8] = &");
            let numbers: Vec<String> = table.iter().map(u8::to_string).collect();
            // Wrapped like rustfmt does.
            if numbers.len() < 30 {
                let _ = writeln!(file, "[{}];", numbers.join(", "));
                continue;
            }
            file.push('[');
            let mut column = usize::MAX;
            for number in numbers {
                if column.saturating_add(number.len() + 2) > 119 {
                    file.push_str("\n   ");
                    column = 3;
                }
                let _ = write!(file, " {number},");
                column += number.len() + 2;
            }
            file.push_str("\n];\n");
        }
        expect_test::expect_file!["tables.rs"].assert_eq(&file);
    }

    #[test]
    fn each_character_has_the_cases_it_has_in_the_full_table() {
        let members: BTreeSet<char> = links()
            .into_iter()
            .flat_map(|(start, distance)| [start, start + distance])
            .filter_map(char::from_u32)
            .collect();
        assert!(members.len() > 2_900, "{}", members.len());
        for &char in &members {
            let expected = kin(char);
            let mut found = vec![(u32::from(char), u32::from(char))];
            add_other_cases(&mut found, true);
            let ranges = found.into_iter().map(|(char, _)| char::from_u32(char).unwrap());
            let found = ClassUnicode::new(ranges.map(|char| ClassUnicodeRange::new(char, char)));
            assert_eq!(found, expected, "{char:?}");
        }
        let all = linked(&[(0, u32::from(char::MAX))], true);
        assert_eq!(all.into_iter().filter_map(char::from_u32).collect::<BTreeSet<char>>(), members);
    }
}
