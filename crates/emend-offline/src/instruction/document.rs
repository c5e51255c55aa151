//! Parses instructions for one Markdown file: table of contents, sorted list, new heading.

use super::model::{Document, Instruction, Misunderstood, Task};
use super::words::{Word, phrase, skip, starts_with};
use crate::markdown::NewSection;

const ARTICLES: &[&str] = &["a", "an", "the", "new", "this"];

/// Parses `table of contents to FILE`.
pub(crate) fn parse_contents(words: &[Word]) -> Result<Instruction, Misunderstood> {
    let words = skip(words, ARTICLES);
    let phrases: [&[&str]; 3] = [&["table", "of", "contents"], &["table-of-contents"], &["toc"]];
    let phrase = phrases.iter().find(|phrase| starts_with(words, phrase)).ok_or(Misunderstood::Unknown)?;
    let file = parse_file(&words[phrase.len()..], Strictness::Lenient).ok_or(Misunderstood::Unknown)?;
    Ok(Instruction::Document(Document { file, task: Task::Contents }))
}

/// Parses the words after `sort`: `the list under HEADING in FILE`.
pub(crate) fn parse_sort(source: &str, words: &[Word]) -> Result<Instruction, Misunderstood> {
    let words = skip(words, ARTICLES);
    let words = skip(words, &["bullet", "bulleted", "numbered", "ordered", "unordered"]);
    let words = match words.split_last() {
        Some((last, before)) if last.is("alphabetically") => before,
        _ => words,
    };
    let (list, rest) = words.split_first().ok_or(Misunderstood::Unknown)?;
    let rest = skip(rest, &["items", "entries"]);
    let (preposition, rest) = rest.split_first().ok_or(Misunderstood::Unknown)?;
    if !list.is_any(&["list", "items", "entries"]) || !preposition.is_any(&["under", "below", "beneath", "in", "of"]) {
        return Err(Misunderstood::Unknown);
    }
    let (heading, file) = parse_heading(source, rest, parse_file).ok_or(Misunderstood::Unknown)?;
    Ok(Instruction::Document(Document { file, task: Task::SortList(heading) }))
}

/// Parses the words after `add`: `a heading TITLE with TEXT to FILE after HEADING`.
pub(crate) fn parse_section(source: &str, words: &[Word]) -> Result<Instruction, Misunderstood> {
    let words = skip(words, ARTICLES);
    let (mut level, words) = parse_level(words);
    let (noun, words) = words.split_first().ok_or(Misunderstood::Unknown)?;
    if !noun.is_any(&["heading", "headline", "section"]) {
        return Err(Misunderstood::Unknown);
    }
    let words = skip(words, &["called", "named", "titled"]);
    let first = words.first().ok_or(Misunderstood::Unknown)?;
    if first.is_any(&["with", "to", "in", "into", "of", "for", "after", "below", "at"]) {
        // `add a heading to FILE` has no title.
        return Err(Misunderstood::Unknown);
    }
    let title_ends = if first.quoted { 1..=1 } else { 1..=words.len() };
    let strictness = if first.quoted { Strictness::Lenient } else { Strictness::Strict };
    let (end, clauses) = title_ends
        .into_iter()
        .find_map(|end| Some((end, parse_clauses(source, &words[end..], strictness)?)))
        .ok_or(Misunderstood::Unknown)?;
    let mut title = phrase(source, &words[..end]);
    let marks = title.len() - title.trim_start_matches('#').len();
    if (1..=6).contains(&marks) {
        level = level.or(Some(marks));
        title = title[marks..].to_owned();
    }
    let title = title.trim().to_owned();
    if title.is_empty() || title.contains(['\n', '\r']) {
        return Err(Misunderstood::Invalid(
            "The heading needs a text of one line, like `add a heading \"Usage\"`.".to_owned(),
        ));
    }
    let section = NewSection { title, text: clauses.text.replace("\r\n", "\n"), level, after: clauses.after };
    Ok(Instruction::Document(Document { file: clauses.file, task: Task::AddSection(section) }))
}

/// Parses `##`, `h2` or `level 2`.
fn parse_level<'a, 's>(words: &'a [Word<'s>]) -> (Option<usize>, &'a [Word<'s>]) {
    let level_of = |digits: &str| digits.parse().ok().filter(|level| (1..=6).contains(level));
    match words {
        [first, rest @ ..] if (1..=6).contains(&first.text.len()) && first.text.bytes().all(|c| c == b'#') => {
            (Some(first.text.len()), rest)
        }
        [first, second, rest @ ..] if first.is("level") => (level_of(second.text), rest),
        [first, rest @ ..] if first.text.len() == 2 && first.text.to_ascii_lowercase().starts_with('h') => {
            (level_of(&first.text[1..]), rest)
        }
        _ => (None, words),
    }
}

/// The clauses after the title of a new heading.
#[derive(Default)]
struct Clauses {
    text: String,
    file: Option<String>,
    after: Option<String>,
}

/// How a word qualifies as a file. `Strict` requires the form of a file name: between unquoted words, `to go` would
/// otherwise name a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Lenient,
    Strict,
}

/// Parses `with TEXT`, `to FILE`, `after HEADING` and `at the end`, in any order.
fn parse_clauses(source: &str, words: &[Word], strictness: Strictness) -> Option<Clauses> {
    let Some((first, rest)) = words.split_first() else { return Some(Clauses::default()) };
    if first.is_any(&["with", "containing", "saying"]) {
        let rest = skip(rest, &["the", "text", "body", "content"]);
        let (text, clauses) = parse_until(source, rest, |rest, strictness| parse_clauses(source, rest, strictness))?;
        return Some(Clauses { text, ..clauses });
    }
    if first.is_any(&["after", "below", "behind"]) {
        let (after, clauses) = parse_heading(source, rest, |rest, strictness| parse_clauses(source, rest, strictness))?;
        return Some(Clauses { after: Some(after), ..clauses });
    }
    let place = skip(rest, &["the", "very"]);
    if first.is_any(&["at", "to"]) && place.first().is_some_and(|word| word.is_any(&["end", "bottom"])) {
        return parse_clauses(source, &place[1..], strictness);
    }
    // The file name takes the fewest words for which the rest is a clause.
    (2..=words.len()).find_map(|end| {
        let file = parse_file(&words[..end], strictness)?;
        let clauses = parse_clauses(source, &words[end..], strictness)?;
        Some(Clauses { file: file.or(clauses.file), ..clauses })
    })
}

/// Parses the name of a heading and, with `parse_rest`, the words after it.
fn parse_heading<T>(
    source: &str,
    words: &[Word],
    parse_rest: impl Fn(&[Word], Strictness) -> Option<T>,
) -> Option<(String, T)> {
    let nouns = ["heading", "section", "headline"];
    let words = skip(words, &["the"]);
    let words = skip(words, if words.len() > 1 { &nouns } else { &[] });
    parse_until(source, words, |rest, strictness| parse_rest(skip(rest, &nouns), strictness))
}

/// Parses a quoted text, or the fewest words for which `parse_rest` accepts the rest.
fn parse_until<T>(
    source: &str,
    words: &[Word],
    parse_rest: impl Fn(&[Word], Strictness) -> Option<T>,
) -> Option<(String, T)> {
    if words.first()?.quoted {
        return Some((words[0].text.to_owned(), parse_rest(&words[1..], Strictness::Lenient)?));
    }
    (1..=words.len())
        .find_map(|end| Some((phrase(source, &words[..end]), parse_rest(&words[end..], Strictness::Strict)?)))
}

/// Parses `in FILE`, `to this file` or nothing. The outer `None` means none of these, the inner one the open file.
fn parse_file(words: &[Word], strictness: Strictness) -> Option<Option<String>> {
    let Some((preposition, rest)) = words.split_first() else { return Some(None) };
    if preposition.is("here") && rest.is_empty() {
        return Some(None);
    }
    if !preposition.is_any(&["to", "in", "into", "of", "for", "inside", "within"]) || rest.is_empty() {
        return None;
    }
    if rest.iter().all(|word| word.is_any(&["this", "the", "open", "current", "file", "document", "it"])) {
        return Some(None);
    }
    let rest = skip(rest, &["the", "file", "document"]);
    let (file, rest) = rest.split_first()?;
    let fits = strictness == Strictness::Lenient || file.quoted || file.text.contains(['.', '/']);
    let ends = skip(rest, &["file", "document"]).is_empty();
    (fits && ends && !file.text.is_empty()).then(|| Some(file.text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(text: &str, file: Option<&str>, task: Task) {
        let file = file.map(str::to_owned);
        assert_eq!(parse(text), Ok(Instruction::Document(Document { file, task })), "{text}");
    }

    #[test]
    fn tables_of_contents_are_read() {
        for text in [
            "add a table of contents to README.md",
            "Please refresh the table of contents of `README.md`.",
            "update the ToC in the file README.md, thanks",
            "could you generate table of contents for README.md?",
        ] {
            check(text, Some("README.md"), Task::Contents);
        }
        check("Update the table of contents", None, Task::Contents);
        check("add a table of contents to this document please", None, Task::Contents);
        check("add a toc to README", Some("README"), Task::Contents);
    }

    #[test]
    fn sorting_is_read() {
        let list = |heading: &str| Task::SortList(heading.to_owned());
        check("sort the list under \"Features\" in README.md", Some("README.md"), list("Features"));
        check("Sort the bulleted list items under Features", None, list("Features"));
        check(
            "sort the list under Work in progress in docs/a.md alphabetically",
            Some("docs/a.md"),
            list("Work in progress"),
        );
        check("sort the list under the heading Work in progress", None, list("Work in progress"));
        check("sort the list under the `Open questions` section in this file", None, list("Open questions"));
    }

    #[track_caller]
    fn adds(text: &str, file: Option<&str>, expected: (&str, &str, Option<usize>, Option<&str>)) {
        let (title, text_of, level, after) = expected;
        let section =
            NewSection { title: title.to_owned(), text: text_of.to_owned(), level, after: after.map(str::to_owned) };
        check(text, file, Task::AddSection(section));
    }

    #[test]
    fn new_headings_are_read() {
        let usage = ("Usage", "Run it.", None, None);
        adds("add a heading \"Usage\" with \"Run it.\" to README.md", Some("README.md"), usage);
        adds("add a heading \"Usage\" with \"Run it.\" at the end of README.md", Some("README.md"), usage);
        adds(
            "Insert a section called 'Usage' to README.md with the text \"Run it.\", please",
            Some("README.md"),
            usage,
        );
        adds("add a heading Usage with \"Run it.\" to the end", None, usage);
        adds("add a heading \"Usage\"", None, ("Usage", "", None, None));
        adds("add a heading How to use it to a.md", Some("a.md"), ("How to use it", "", None, None));
        adds("add a ### heading \"U\" with x y z to a.md", Some("a.md"), ("U", "x y z", Some(3), None));
        adds(
            "add a heading \"#### U\" with go to the store to a.md",
            Some("a.md"),
            ("U", "go to the store", Some(4), None),
        );
        adds(
            "add a level 3 heading \"U\" with \"line 1\nline 2\" after \"Install it\" in README.md",
            Some("README.md"),
            ("U", "line 1\nline 2", Some(3), Some("Install it")),
        );
        adds("add a heading \"U\" after the Install section to a.md", Some("a.md"), ("U", "", None, Some("Install")));
        adds("add a heading \"U\" with how to run", None, ("U", "how to run", None, None));
    }

    #[test]
    fn similar_sentences_are_not_instructions() {
        for text in [
            "sort",
            "sort the list",
            "sort the files under src",
            "add a table",
            "add a heading",
            "add heading to",
            "update the heading \"X\" to \"Y\"",
        ] {
            assert_eq!(parse(text), Err(Misunderstood::Unknown), "{text}");
        }
        assert!(matches!(parse("add a heading \"\" to a.md"), Err(Misunderstood::Invalid(_))));
    }
}
