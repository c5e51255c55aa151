//! Patterns that make comments hard to read, found in sources and Markdown: see CONTRIBUTING.md, Writing.
//!
//! A sentence may not open with a free relative ("What is written …"), a noun is not negated by "is no", and no section of
//! a document outside the repository is cited. Questions and quoted text do not count.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::repo::Repo;

/// Words that open a sentence as a noun phrase.
const OPENERS: [&str; 4] = ["What ", "Who ", "Whoever ", "Whatever "];

/// Words after "is no" that do not negate a noun.
const IDIOMS: [&str; 7] = ["longer", "more", "less", "other", "need", "way", "one's"];

/// Extensions of the files that are checked.
const ENDINGS: [&str; 7] = ["rs", "ts", "tsx", "mjs", "md", "toml", "css"];

/// Returns a line for each sentence with one of the patterns.
pub(super) fn problems(repo: &Repo) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in repo.files()? {
        let ending = file.extension().unwrap_or_default().to_string_lossy().into_owned();
        if !ENDINGS.contains(&&*ending) || is_data(&file) {
            continue;
        }
        let text = std::fs::read_to_string(repo.root().join(&file)).with_context(|| file.display().to_string())?;
        let blocks = if ending == "md" { paragraphs(&text) } else { comments(&text, &ending) };
        for (line, block) in blocks {
            let bad = sentences(&block).into_iter().filter(|sentence| is_hard(sentence));
            found.extend(bad.map(|sentence| format!("{}:{line}: {}", file.display(), shortened(&sentence))));
        }
    }
    Ok(found)
}

/// Files that tests read as data.
fn is_data(file: &Path) -> bool {
    let path = file.to_string_lossy();
    path.starts_with("web/sample") || path.starts_with("tests/fuzz/cases")
}

/// Returns blocks of comment lines that follow each other, each with the number of its first line.
fn comments(text: &str, ending: &str) -> Vec<(usize, String)> {
    let marks: &[&str] = match ending {
        "toml" => &["#"],
        "css" => &["/*", "*/", "*"],
        "rs" => &["//!", "///", "//"],
        _ => &["///", "//", "/**", "/*", "*/", "*"],
    };
    let comment = |line: &str| {
        let line = line.trim();
        let mark = marks.iter().find(|mark| line.starts_with(**mark))?;
        Some(line[mark.len()..].trim_end_matches("*/").trim().to_owned())
    };
    blocks(text.lines().map(comment))
}

/// Returns the paragraphs, list items and table cells of a Markdown text, without its code.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut lines: Vec<Option<String>> = Vec::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        let words = line.trim().trim_start_matches(['#', '-', '*', '|', '>', ' ']);
        let is_text = !in_code && !is_fence && !line.starts_with("    ") && !words.is_empty();
        // A list item or a table row is a sentence of its own: the full stop separates it from the line before.
        let begins = line.trim_start().starts_with(['-', '*', '|', '#']);
        lines.push(is_text.then(|| if begins { format!(". {words}") } else { words.to_owned() }));
    }
    blocks(lines.into_iter())
}

fn blocks(lines: impl Iterator<Item = Option<String>>) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (index, line) in lines.enumerate() {
        let line = line.filter(|line| !line.is_empty());
        match (line, is_open) {
            (Some(line), true) => {
                if let Some((_, block)) = blocks.last_mut() {
                    block.push(' ');
                    block.push_str(&line);
                }
            }
            (Some(line), false) => {
                blocks.push((index + 1, line));
                is_open = true;
            }
            (None, _) => is_open = false,
        }
    }
    blocks
}

/// Splits at full stops, colons, question marks and table cells that a space follows. Code in backticks becomes one word.
fn sentences(block: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut in_code = false;
    let mut previous = ' ';
    for character in block.chars() {
        match character {
            '`' => {
                in_code = !in_code;
                if in_code {
                    push(&mut sentences, 'X');
                }
            }
            _ if in_code => {}
            ' ' if matches!(previous, '.' | ':' | '?' | '!' | ';' | '|') => sentences.push(String::new()),
            _ => push(&mut sentences, character),
        }
        previous = character;
    }
    let trimmed = sentences.iter().map(|sentence| sentence.trim_matches(['*', '"', ' ', '(', '[']).to_owned());
    trimmed.filter(|sentence| sentence.len() > 3).collect()
}

fn push(sentences: &mut [String], character: char) {
    if let Some(sentence) = sentences.last_mut() {
        sentence.push(character);
    }
}

/// A section number of a document that is not in the repository: `S2 §5`, `S2.9.1`, `DESIGN §4`.
fn cites_outside(sentence: &str) -> bool {
    let mut words = sentence.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', '.', '`']));
    let is_document = |word: &str| matches!(word, "S0" | "S1" | "S2" | "S3" | "S4" | "DESIGN" | "002b");
    let is_section = |word: &str| {
        let rest = word.strip_prefix('S').and_then(|rest| rest.strip_prefix(['0', '1', '2', '3', '4']));
        rest.is_some_and(|rest| {
            rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    words.any(|word| is_document(word) || is_section(word))
}

fn is_hard(sentence: &str) -> bool {
    let is_question = sentence.ends_with('?');
    // With a comma, "Where" opens a clause; without, the sentence stands for a noun.
    let is_place = sentence.starts_with("Where ") && !sentence.contains(',');
    let opens = is_place || OPENERS.iter().any(|opener| sentence.starts_with(opener));
    (opens && !is_question) || negates_a_noun(sentence) || cites_outside(sentence)
}

/// "is no" or "are no" before a noun, except after "there".
fn negates_a_noun(sentence: &str) -> bool {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    words.windows(3).enumerate().any(|(at, window)| {
        let negates = matches!(window[0], "is" | "are" | "was" | "were") && window[1] == "no";
        let subject = at.checked_sub(1).map(|before| words[before].to_lowercase());
        let idiom = IDIOMS.contains(&window[2].trim_matches(|character: char| !character.is_alphabetic()));
        negates && !idiom && subject.as_deref() != Some("there")
    })
}

fn shortened(sentence: &str) -> String {
    if sentence.chars().count() <= 90 {
        sentence.to_owned()
    } else {
        sentence.chars().take(89).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hard(text: &str, ending: &str) -> Vec<(usize, String)> {
        let blocks = if ending == "md" { paragraphs(text) } else { comments(text, ending) };
        let each =
            blocks.into_iter().flat_map(|(line, block)| sentences(&block).into_iter().map(move |found| (line, found)));
        each.filter(|(_, sentence)| is_hard(sentence)).collect()
    }

    #[track_caller]
    fn check(text: &str, ending: &str, expected: &[(usize, &str)]) {
        let expected: Vec<(usize, String)> = expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
        assert_eq!(hard(text, ending), expected);
    }

    #[test]
    fn a_free_relative_at_the_head_of_a_sentence_is_found() {
        check("//! What is written stays.\n", "rs", &[(1, "What is written stays.")]);
        check("/// Returns it. Whoever asks\n/// gets it.\n", "rs", &[(1, "Whoever asks gets it.")]);
        check("fn what() {} // nothing\n\n// What now?\n", "rs", &[]);
        check("// Where it ends.\n", "rs", &[(1, "Where it ends.")]);
        check("// Where it ends, a line begins.\n", "rs", &[]);
        check("let text = \"What is new\";\n", "rs", &[]);
    }

    #[test]
    fn a_negated_noun_is_found() {
        check("# A link is no file.\n", "toml", &[(1, "A link is no file.")]);
        check("/// There is no file, and it is no longer open.\n", "ts", &[]);
        check("/** Those are no files. */\n", "ts", &[(1, "Those are no files.")]);
    }

    #[test]
    fn a_section_of_another_document_is_found() {
        check("//! Works as asked (S2 §5.4).\n", "rs", &[(1, "Works as asked (S2 §5.4).")]);
        check(
            "/// See S2.9.1.\n/// Set S3_BUCKET and S3.\n",
            "rs",
            &[(1, "See S2.9.1."), (1, "Set S3_BUCKET and S3.")],
        );
        check("/// The bucket S3_BUCKET of S3.example.\n", "rs", &[]);
    }

    #[test]
    fn code_in_markdown_does_not_count() {
        check("```\nWhat is this\n```\n\n- What is listed.\n", "md", &[(5, "What is listed.")]);
        check("| a | What it is |\n", "md", &[(1, "What it is |")]);
        check("`What` is a word.\n", "md", &[]);
    }
}
