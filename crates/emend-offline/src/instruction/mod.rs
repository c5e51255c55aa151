//! Parses instructions: sentences become tasks.

mod document;
mod model;
mod words;

pub(crate) use model::{Document, Instruction, Misunderstood, Substitution, Task};
pub use model::{EXAMPLES, Example};

use crate::text::needle::Needle;
use words::{Word, ends_with, starts_with, words};

/// Parses an instruction: the whole text, or its last line that is an instruction.
pub(crate) fn parse(text: &str) -> Result<Instruction, Misunderstood> {
    let lines = text.lines().rev();
    let mut invalid = None;
    for candidate in std::iter::once(text).chain(lines) {
        match parse_sentence(candidate) {
            Err(Misunderstood::Unknown) => {}
            Err(misunderstood) => invalid = invalid.or(Some(misunderstood)),
            Ok(instruction) => return Ok(instruction),
        }
    }
    Err(invalid.unwrap_or(Misunderstood::Unknown))
}

/// Texts that ask to go on with an unfinished instruction.
const CONTINUE: &[&[&str]] =
    &[&["continue"], &["go", "on"], &["go", "ahead"], &["carry", "on"], &["proceed"], &["resume"]];

/// Returns whether a text asks to go on with an unfinished instruction.
pub(crate) fn is_continue(text: &str) -> bool {
    let words = words(text);
    let words = strip_padding(&words);
    CONTINUE.iter().any(|phrase| words.len() == phrase.len() && starts_with(words, phrase))
}

/// Phrases that may precede an instruction.
const OPENINGS: &[&[&str]] = &[
    &["please"],
    &["hi"],
    &["hello"],
    &["hey"],
    &["ok"],
    &["okay"],
    &["now"],
    &["then"],
    &["and"],
    &["just"],
    &["kindly"],
    &["emend"],
    &["could", "you"],
    &["can", "you"],
    &["would", "you"],
    &["will", "you"],
    &["i", "want", "you", "to"],
    &["i", "would", "like", "you", "to"],
    &["i'd", "like", "you", "to"],
    &["you", "should"],
    &["let's"],
    &["let", "us"],
];

/// Phrases that may follow an instruction.
const CLOSINGS: &[&[&str]] =
    &[&["please"], &["thanks"], &["thank", "you"], &["thanks", "a", "lot"], &["for", "me"], &["now"], &["everywhere"]];

fn parse_sentence(text: &str) -> Result<Instruction, Misunderstood> {
    let words = words(text);
    let words = strip_padding(&words);
    let Some((verb, rest)) = words.split_first() else { return Err(Misunderstood::Unknown) };
    if verb.is("rename") {
        parse_rename(rest)
    } else if verb.is("replace") {
        parse_replace(rest)
    } else if verb.is("sort") {
        document::parse_sort(text, rest)
    } else if verb.is_any(&["add", "insert", "create", "append"]) {
        document::parse_contents(rest).or_else(|_| document::parse_section(text, rest))
    } else if verb.is_any(&["refresh", "update", "generate", "regenerate", "make"]) {
        document::parse_contents(rest)
    } else if verb.is("run") {
        parse_run(&text[verb.end..])
    } else {
        Err(Misunderstood::Unknown)
    }
}

fn strip_padding<'a, 's>(mut words: &'a [Word<'s>]) -> &'a [Word<'s>] {
    while let Some(opening) = OPENINGS.iter().find(|opening| starts_with(words, opening)) {
        words = &words[opening.len()..];
    }
    while let Some(closing) = CLOSINGS.iter().find(|closing| ends_with(words, closing)) {
        words = &words[..words.len() - closing.len()];
    }
    words
}

/// Words that may stand between `rename` and the name.
const KINDS: &[&str] = &[
    "the",
    "a",
    "an",
    "all",
    "every",
    "each",
    "of",
    "uses",
    "use",
    "occurrence",
    "occurrences",
    "reference",
    "references",
    "identifier",
    "identifiers",
    "name",
    "names",
    "symbol",
    "function",
    "method",
    "variable",
    "constant",
    "const",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "field",
    "property",
    "module",
    "macro",
    "parameter",
    "component",
    "word",
    "text",
    "string",
];

fn parse_rename(words: &[Word]) -> Result<Instruction, Misunderstood> {
    let to = (1..words.len()).find(|&index| words[index].is("to")).ok_or(Misunderstood::Unknown)?;
    let (from, rest) = (&words[..to], &words[to + 1..]);
    let (new, rest) = rest.split_first().ok_or(Misunderstood::Unknown)?;
    let old = only_name(from).ok_or(Misunderstood::Unknown)?;
    let path = parse_scope(rest).ok_or(Misunderstood::Unknown)?;
    for (name, which) in [(old, "old"), (new.text, "new")] {
        if name.trim().is_empty() {
            return Err(Misunderstood::Invalid(format!(
                "The {which} name is empty. Write it like `rename Alpha to Beta`."
            )));
        }
        if name.contains(['\n', '\r']) {
            return Err(Misunderstood::Invalid(format!(
                "The {which} name has a line break in it; a name is one line."
            )));
        }
    }
    substitution(Needle { text: old.to_owned(), whole: true }, new.text, path)
}

fn parse_replace(words: &[Word]) -> Result<Instruction, Misunderstood> {
    let with = (1..words.len()).find(|&index| words[index].is("with") || words[index].is("by"));
    let with = with.ok_or(Misunderstood::Unknown)?;
    let (from, rest) = (&words[..with], &words[with + 1..]);
    let (new, rest) = rest.split_first().ok_or(Misunderstood::Unknown)?;
    let old = only_name(from).ok_or(Misunderstood::Unknown)?;
    let path = parse_scope(rest).ok_or(Misunderstood::Unknown)?;
    if old.is_empty() || old.chars().all(|c| c == '\n' || c == '\r') {
        return Err(Misunderstood::Invalid(
            "The text to look for is empty. Write it like `replace \"old text\" with \"new text\"`.".to_owned(),
        ));
    }
    substitution(Needle { text: old.replace("\r\n", "\n"), whole: false }, new.text, path)
}

fn substitution(needle: Needle, to: &str, path: Option<String>) -> Result<Instruction, Misunderstood> {
    if needle.text == to {
        return Err(Misunderstood::Invalid(format!("Old and new are both `{to}`, so there is nothing to do.")));
    }
    Ok(Instruction::Substitute(Substitution { needle, to: to.replace("\r\n", "\n"), path }))
}

/// Parses a command: a single quoted text, or the rest of the line unchanged.
fn parse_run(source: &str) -> Result<Instruction, Misunderstood> {
    let is_one_line = !source.trim_end().contains('\n');
    let source = source.trim();
    let command = match words(source).as_slice() {
        // Nothing, or the punctuation of a sentence: "run!"
        [] => "",
        // Punctuation before the quotes belongs to a command such as `! "x"`.
        [word] if word.quoted && word.start == 0 => word.text.trim(),
        _ => source,
    };
    if command.is_empty() || !is_one_line {
        return Err(Misunderstood::Unknown);
    }
    Ok(Instruction::Run(command.to_owned()))
}

/// Returns the only name in `words`: a single word, or a word after words such as `the function`.
fn only_name<'s>(words: &[Word<'s>]) -> Option<&'s str> {
    let (name, before) = words.split_last()?;
    let (name, rest) = match words.iter().position(|word| word.quoted) {
        Some(index) if index + 1 < words.len() => (&words[index], [&words[..index], &words[index + 1..]].concat()),
        _ => (name, before.to_vec()),
    };
    rest.iter().all(|word| word.is_any(KINDS)).then_some(name.text)
}

/// Words that mean "everywhere" after `in`, `across` and similar prepositions.
const EVERYWHERE: &[&str] = &[
    "the",
    "this",
    "whole",
    "entire",
    "all",
    "every",
    "each",
    "my",
    "project",
    "repository",
    "repo",
    "file",
    "files",
    "code",
    "codebase",
    "tree",
    "text",
];

/// Parses `in PATH`, or a phrase for "everywhere". The outer `None` means neither.
fn parse_scope(words: &[Word]) -> Option<Option<String>> {
    let Some((preposition, rest)) = words.split_first() else { return Some(None) };
    if !preposition.is_any(&["in", "under", "inside", "within", "across", "throughout", "on"]) || rest.is_empty() {
        return None;
    }
    if rest.iter().all(|word| word.is_any(EVERYWHERE)) {
        return Some(None);
    }
    let (path, fillers) = rest.split_last()?;
    let fillers_fit = fillers.iter().all(|word| word.is_any(&["the", "file", "files", "folder", "directory"]));
    // Users mention a file as `@path` to send it along with the message.
    let path = path.text.strip_prefix('@').unwrap_or(path.text);
    (fillers_fit && !path.is_empty()).then(|| Some(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn substitute(text: &str, to: &str, whole: bool, path: Option<&str>) -> Result<Instruction, Misunderstood> {
        Ok(Instruction::Substitute(Substitution {
            needle: Needle { text: text.to_owned(), whole },
            to: to.to_owned(),
            path: path.map(str::to_owned),
        }))
    }

    #[track_caller]
    fn renames(text: &str, path: Option<&str>) {
        assert_eq!(parse(text), substitute("Alpha", "Beta", true, path), "{text}");
    }

    #[test]
    fn renames_are_read() {
        renames("rename Alpha to Beta", None);
        renames("Rename `Alpha` to \"Beta\".", None);
        renames("Please, could you rename the function Alpha to Beta everywhere? Thanks!", None);
        renames("hey, RENAME all occurrences of 'Alpha' TO 'Beta' in the whole project", None);
        renames("rename Alpha to Beta in src", Some("src"));
        renames("rename the class `Alpha` to `Beta` in the file src/main.rs, please", Some("src/main.rs"));
        renames("rename Alpha to Beta in .", Some("."));
        renames("Open file: a.md\n\nrename Alpha to Beta", None);
        assert_eq!(parse("rename to to from"), substitute("to", "from", true, None));
        assert_eq!(parse("rename 'two words' to x"), substitute("two words", "x", true, None));
        assert_eq!(parse("rename type to kind"), substitute("type", "kind", true, None));
    }

    #[test]
    fn replacements_are_read() {
        assert_eq!(parse("replace \"a  b\" with ''"), substitute("a  b", "", false, None));
        assert_eq!(parse("replace foo by bar in docs/a.md"), substitute("foo", "bar", false, Some("docs/a.md")));
        assert_eq!(parse("replace the text “x, y” with \"z\" in all files"), substitute("x, y", "z", false, None));
        assert_eq!(parse("replace \"a\r\nb\" with \"c\""), substitute("a\nb", "c", false, None));
    }

    #[test]
    fn commands_are_kept_verbatim() {
        let run = |command: &str| Ok(Instruction::Run(command.to_owned()));
        assert_eq!(parse("run cargo test -- --nocapture"), run("cargo test -- --nocapture"));
        assert_eq!(parse("please run echo 'a  b' now"), run("echo 'a  b' now"));
        assert_eq!(parse("Run `make all`."), run("make all"));
        assert_eq!(parse("run ! true"), run("! true"));
        assert_eq!(parse("run : ; echo c"), run(": ; echo c"));
        assert_eq!(parse("run ! 'a b'"), run("! 'a b'"));
        assert_eq!(parse("run !"), Err(Misunderstood::Unknown));
        assert_eq!(parse("run ls\nrename A to B"), substitute("A", "B", true, None));
        assert_eq!(parse("Open file: a.md\n\nrun ls"), run("ls"));
        assert_eq!(parse("run"), Err(Misunderstood::Unknown));
    }

    #[test]
    fn impossible_instructions_are_reported() {
        for text in ["rename A to A", "rename '' to B", "rename A to \"\"", "replace '' with b", "replace x with \"x\""]
        {
            assert!(matches!(parse(text), Err(Misunderstood::Invalid(_))), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not_understood() {
        for text in [
            "",
            "hello",
            "rename",
            "rename A",
            "rename A to",
            "rename Foo Bar to Baz",
            "rename A to B and C to D",
            "what does rename A to B do?",
            "replace many words with few",
            "rename A to B in",
            "fix the bug",
        ] {
            assert_eq!(parse(text), Err(Misunderstood::Unknown), "{text}");
        }
    }

    #[test]
    fn the_help_names_every_example_and_every_example_is_understood() {
        let help = Misunderstood::Unknown.answer(true);
        for example in EXAMPLES {
            assert!(help.contains(example.text));
            assert!(parse(example.text).is_ok(), "{}", example.text);
        }
    }

    #[test]
    fn the_documentation_lists_the_same_examples() {
        let page = include_str!("../../../../docs/offline-model.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let expected: Vec<String> =
            EXAMPLES.iter().map(|example| format!("| `{}` | {} |", example.text, example.effect)).collect();
        assert_eq!(rows, expected);
    }
}
