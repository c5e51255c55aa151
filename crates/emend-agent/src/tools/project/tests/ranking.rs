//! The order of `search_project` beside a plain model of BM25, which counts in whole texts.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::Desk;
use crate::test_support::cases;

/// Texts by path.
type Files = BTreeMap<String, String>;

const WORDS: [&str; 6] = ["ash", "ashen", "elm", "oak", "Oak", "yew"];

/// Returns how often `text` contains `word`, without overlaps.
fn occurrences(text: &str, word: &str) -> usize {
    let (mut n_found, mut at) = (0, 0);
    while at + word.len() <= text.len() {
        let is_here = text.is_char_boundary(at) && text[at..].starts_with(word);
        (n_found, at) = if is_here { (n_found + 1, at + word.len()) } else { (n_found, at + 1) };
    }
    n_found
}

/// A file of the expected result.
struct Expected {
    has_phrase: bool,
    weight: f64,
}

/// Returns the files that the query finds.
fn model(files: &Files, query: &[&str]) -> BTreeMap<String, Expected> {
    let phrase = query.join(" ");
    let fold = |text: &str| if phrase.chars().any(char::is_uppercase) { text.to_owned() } else { text.to_lowercase() };
    let mut words: Vec<&str> = Vec::new();
    for word in query {
        if !words.contains(word) {
            words.push(word);
        }
    }
    let count = |path: &str, text: &str, word: &str| occurrences(&fold(path), word) + occurrences(&fold(text), word);
    let n = files.len() as f64;
    let average = files.values().map(String::len).sum::<usize>() as f64 / n;
    let mut expected = BTreeMap::new();
    for (path, text) in files {
        let mut weight = 0.0;
        for word in &words {
            let n_with = files.iter().filter(|(path, text)| count(path, text, word) > 0).count() as f64;
            let idf = (1.0 + (n - n_with + 0.5) / (n_with + 0.5)).ln();
            let tf = count(path, text, word) as f64;
            weight += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * text.len() as f64 / average));
        }
        if weight > 0.0 {
            let has_phrase = [path.as_str()].into_iter().chain(text.lines()).any(|line| fold(line).contains(&phrase));
            expected.insert(path.clone(), Expected { has_phrase, weight });
        }
    }
    expected
}

fn project() -> impl Strategy<Value = Files> {
    let word = || prop::sample::select([&WORDS[..], &["-", "bark", "bark"]].concat());
    let line = || vec(word(), 1..6).prop_map(|words| words.join(" "));
    let text = vec(line(), 1..12).prop_map(|lines| lines.join("\n") + "\n");
    let name = prop::sample::select(vec!["a", "b", "c", "d/e", "d/oak", "ash/f", "elm yew"]).prop_map(str::to_owned);
    btree_map(name, text, 1..7)
}

#[test]
fn files_come_in_the_order_of_a_plain_model() {
    let query = vec(prop::sample::select(WORDS.to_vec()), 1..4);
    proptest!(cases(500), |(files in project(), query in query)| {
        let fixture: String = files.iter().map(|(path, text)| format!("//- {path}\n{text}")).collect();
        let data = Desk::new(&fixture).data("search_project", json!({"query": query.join(" "), "limit": 50}));
        let mut found: Vec<String> = Vec::new();
        for result in data["results"].as_array().unwrap() {
            let path = result["file_path"].as_str().unwrap().to_owned();
            if !found.contains(&path) {
                found.push(path);
            }
        }
        let expected = model(&files, &query);
        let mut sorted = found.clone();
        sorted.sort();
        prop_assert_eq!(&sorted, &expected.keys().cloned().collect::<Vec<_>>());
        for pair in found.windows(2) {
            let (a, b) = (&expected[&pair[0]], &expected[&pair[1]]);
            let is_in_order = match (a.has_phrase, b.has_phrase) {
                (true, false) => true,
                (false, true) => false,
                // Weights are compared in millionths.
                _ if (a.weight - b.weight).abs() < 1e-9 => pair[0] < pair[1],
                _ => a.weight > b.weight - 1e-6,
            };
            prop_assert!(is_in_order, "{pair:?}: {} before {}, in {found:?}", a.weight, b.weight);
        }
    });
}
