//! Matches patterns of rules with commands.

use super::command_line::{OPEN, SimpleCommand};

/// Returns whether `pattern` matches the whole of `text`: `*` matches any characters, `?` one character. A pattern that
/// ends in ` *` also matches the text without arguments.
pub(super) fn covers(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix(" *").is_some_and(|bare| matches(bare, text)) || matches(pattern, text)
}

/// Returns whether `pattern` matches a part of `text` that starts at a word.
fn occurs(pattern: &str, text: &str) -> bool {
    let is_word_end = |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric() && !"-_.".contains(next));
    let bare = pattern.strip_suffix(" *");
    is_found(pattern, text, |_| true) || bare.is_some_and(|bare| is_found(bare, text, is_word_end))
}

/// Returns whether `pattern` matches a part of `text` that starts at a word and ends before a character that `may_end` accepts.
///
/// All places of the text are tried at once, so the time does not grow with the square of its length: a model chooses it.
fn is_found(pattern: &str, text: &str, may_end: impl Fn(Option<char>) -> bool) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let is_inner = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    // Each number of matched characters of the pattern that some place has reached.
    let mut reached = vec![false; pattern.len() + 1];
    let mut before = None;
    let mut chars = text.chars();
    loop {
        let next = chars.clone().next();
        reached[0] |= next.is_some() && before.is_none_or(|before| !is_inner(before));
        for at in 0..pattern.len() {
            // A star may match nothing.
            reached[at + 1] |= reached[at] && pattern[at] == '*';
        }
        if reached[pattern.len()] && may_end(next) {
            return true;
        }
        let Some(next) = chars.next() else { return false };
        for at in (0..=pattern.len()).rev() {
            let stays = reached[at] && pattern.get(at) == Some(&'*');
            let comes = at > 0 && reached[at - 1] && (pattern[at - 1] == next || pattern[at - 1] == '?');
            reached[at] = stays || comes;
        }
        before = Some(next);
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, bytes) = (pattern.as_bytes(), text.as_bytes());
    let after_char = |at: usize| (at + 1..=bytes.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(bytes.len());
    let (mut at, mut in_text, mut star) = (0, 0, None);
    while in_text < bytes.len() {
        match pattern.get(at) {
            Some(b'*') if at + 1 == pattern.len() => return true,
            Some(b'*') => {
                star = Some((at, in_text));
                at += 1;
            }
            Some(b'?') => (at, in_text) = (at + 1, after_char(in_text)),
            Some(byte) if *byte == bytes[in_text] => (at, in_text) = (at + 1, in_text + 1),
            // The last star matches one more character.
            _ => match star {
                Some((star_at, from)) => {
                    let from = after_char(from);
                    star = Some((star_at, from));
                    (at, in_text) = (star_at + 1, from);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Returns whether a command is one that `pattern` is about, in any of its usual spellings: with other blanks, with
/// quotes and backslashes inside of words, with redirections and options between its words, and with its options in
/// another order, joined or split.
pub(super) fn concerns(pattern: &str, command: &SimpleCommand) -> bool {
    let pattern = spaced(pattern);
    // A variable before the program can name another one, as GIT_EDITOR does.
    if let [words] = &command.runs[..]
        && !command.hides
        && command.is_plain
        && words.first().is_some_and(|program| command.text.starts_with(program.as_str()))
        && only_mentions(words)
    {
        return runs_program(&pattern, words);
    }
    let runs_joined = |joined: String| command.runs.iter().any(|words| runs_program(&joined, words));
    is_in_text(&pattern, &command.text)
        || command.runs.iter().any(|words| has_words(&pattern, words))
        || joined(&pattern).is_some_and(runs_joined)
}

/// Programs that search for the text of their arguments.
const TEXT_PROGRAMS: &str = "egrep fgrep grep";

/// Subcommands of git that store a text. Others can print one into a pipe, or run it as a pager.
const TEXT_SUBCOMMANDS: &str = "commit tag";

/// Returns whether a command only finds or stores the text of its arguments. Commands that stand in the arguments, such as
/// `$(git push)`, are commands of their own.
fn only_mentions(words: &[String]) -> bool {
    let is_listed = |list: &str, word: &String| list.split(' ').any(|listed| listed == word);
    match words {
        [program, subcommand, ..] if program == "git" => is_listed(TEXT_SUBCOMMANDS, subcommand),
        // `--label` prints its value, for example into a pipe.
        [program, rest @ ..] => is_listed(TEXT_PROGRAMS, program) && !rest.iter().any(|word| word.starts_with("--l")),
        [] => false,
    }
}

/// Returns whether a line that cannot be read seems to have a command that `pattern` is about.
pub(super) fn seems_to_concern(pattern: &str, line: &str) -> bool {
    let words: Vec<String> = flat(line).split(' ').map(str::to_owned).collect();
    let pattern = spaced(pattern);
    let seems = |pattern: &String| is_in_text(pattern, line) || has_words(pattern, &words);
    seems(&pattern) || joined(&pattern).is_some_and(|joined| seems(&joined))
}

/// Returns a pattern with its first two words joined: git is also a directory of programs, in which `git push` has the
/// name `git-push`.
fn joined(pattern: &str) -> Option<String> {
    let (program, rest) =
        pattern.split_once(' ').filter(|(_, rest)| rest.starts_with(|first: char| first.is_alphanumeric()))?;
    Some(format!("{program}-{rest}"))
}

/// Programs that run another one, which their arguments name.
const RUNNERS: &str =
    "command doas env exec find nice nohup parallel setsid stdbuf strace sudo time timeout watch xargs";

/// Returns whether a command runs the program that `pattern` begins with. A mention of its name is not a run.
fn runs_program(pattern: &str, words: &[String]) -> bool {
    let is_runner = |word: &String| RUNNERS.split(' ').any(|runner| word.rsplit('/').next() == Some(runner));
    let n_places = if words.first().is_some_and(is_runner) { words.len() } else { 1 };
    (0..n_places).any(|at| {
        let name = words[at].rsplit('/').next().unwrap_or_default();
        let first = pattern.split(' ').next().unwrap_or_default();
        matches(first, name) && has_words(pattern, &words[at..])
    })
}

/// Returns a text without quotes, backslashes and operators.
fn flat(text: &str) -> String {
    let unquoted = text.replace("\\\n", "").replace(['\'', '"', '\\'], "");
    spaced(&unquoted.replace([';', '|', '&', '(', ')', '{', '}', '`'], " "))
}

fn is_in_text(pattern: &str, text: &str) -> bool {
    occurs(pattern, &flat(text)) || occurs(pattern, &spaced(text))
}

/// Returns whether a simple command has the words of `pattern` in their order, and its options at any place.
fn has_words(pattern: &str, words: &[String]) -> bool {
    let (mut wanted, mut given, mut others) = (String::new(), String::new(), String::new());
    for word in pattern.split(' ') {
        match letters(word) {
            Some(letters) => wanted += letters,
            None => others = others + " " + word,
        }
    }
    words.iter().for_each(|word| given += letters(word).unwrap_or_default());
    // `R` and `r` often mean the same.
    let is_given = |letter| given.contains(letter) || matches!(letter, 'r' | 'R') && given.contains(['r', 'R']);
    wanted.chars().all(is_given) && has_with_options(others.trim_start(), words, false)
}

/// Returns the letters of short options, such as `rf` of `-rf*`, and `r` of `--recursive`; `None` for other words.
fn letters(word: &str) -> Option<&str> {
    let name = word.trim_end_matches('*').strip_prefix('-').filter(|name| !matches!(*name, "" | "-"))?;
    match name.strip_prefix('-') {
        Some(long) if "recursive".starts_with(long) => Some("r"),
        Some(long) if "force".starts_with(long) => Some("f"),
        Some(_) => None,
        None => Some(name),
    }
}

/// Returns whether the words of `pattern` occur one after the other, with options between them. The word after an option
/// may be its value. With `expands`, a variable may stand for the program.
fn has_with_options(pattern: &str, words: &[String], expands: bool) -> bool {
    let pattern: Vec<&str> = pattern.strip_suffix(" *").unwrap_or(pattern).split(' ').collect();
    let is_dynamic = expands && pattern.len() > 1;
    // The places where the next word of the pattern may be.
    let mut places = vec![true; words.len()];
    for (index, wanted) in pattern.iter().enumerate() {
        let mut next = vec![false; words.len() + 1];
        for at in 0..words.len() {
            if !places[at] {
                continue;
            }
            let name = words[at].rsplit('/').next().filter(|_| index == 0);
            next[at + 1] |= matches(wanted, &words[at])
                || name.is_some_and(|name| matches(wanted, name) || is_dynamic && words[at].contains(OPEN));
            if index > 0 && words[at].starts_with('-') {
                places.iter_mut().skip(at + 1).take(2).for_each(|place| *place = true);
            }
        }
        if index + 1 == pattern.len() {
            return next.contains(&true);
        }
        next.truncate(words.len());
        places = next;
    }
    false
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a command might be one that `pattern` is about, although its words do not show it.
pub(super) fn may_be(pattern: &str, command: &SimpleCommand) -> bool {
    let mut literals = pattern.split_whitespace();
    let program = literals.next().unwrap_or_default();
    // The value of a variable, or a file name with a pattern in it, such as `git pus?` beside a file named push.
    let may_become = |word: &String| {
        let pattern = word.replace(OPEN, "*");
        word.contains(OPEN) && literals.clone().any(|literal| matches(&pattern, literal))
    };
    let is_program = |word: &String| matches(program, word.rsplit('/').next().unwrap_or_default());
    let may_run = |words: &Vec<String>| {
        let at = words.iter().position(is_program);
        has_with_options(pattern, words, true) || at.is_some_and(|at| words[at + 1..].iter().any(may_become))
    };
    command.hides || command.runs.iter().filter(|words| !only_mentions(words)).any(may_run)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::test_support::covers;

    /// Returns every text of at most `length_max` of these characters.
    fn texts(alphabet: &str, length_max: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..length_max {
            last = last.iter().flat_map(|text| alphabet.chars().map(move |char| format!("{text}{char}"))).collect();
            all.extend(last.clone());
        }
        all
    }

    /// As [`occurs`], place by place.
    fn occurs_somewhere(pattern: &str, text: &str) -> bool {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let starts = |at: &usize| *at == 0 || !is_inner(text.as_bytes()[at - 1]);
        let ends = |text: &str| -> Vec<usize> {
            let is_end = |char: char| !char.is_alphanumeric() && !matches!(char, '-' | '_' | '.');
            text.match_indices(is_end).map(|(at, _)| at).chain([text.len()]).collect()
        };
        let begins = |bare: &str, text: &str| ends(text).into_iter().any(|end| matches(bare, &text[..end]));
        text.char_indices().map(|(at, _)| at).filter(starts).any(|at| {
            let rest = &text[at..];
            matches(&format!("{pattern}*"), rest) || pattern.strip_suffix(" *").is_some_and(|bare| begins(bare, rest))
        })
    }

    #[test]
    fn a_pattern_is_found_at_all_places_at_once() {
        covers("approval.policy");
        let samples = texts("a é-", 4);
        let mut n_found = 0;
        for pattern in texts("aé *?", 4) {
            for text in &samples {
                let is_found = occurs(&pattern, text);
                assert_eq!(is_found, occurs_somewhere(&pattern, text), "{pattern:?} {text:?}");
                n_found += usize::from(is_found);
            }
        }
        assert!(n_found > 1_000);
    }

    #[test]
    fn the_time_of_a_search_does_not_grow_with_the_square_of_the_text() {
        for (pattern, text) in [("rm *", "if "), ("git * push *", "git "), ("*x*y", "x ")] {
            assert!(!occurs(pattern, &text.repeat(200_000)));
        }
    }
}
