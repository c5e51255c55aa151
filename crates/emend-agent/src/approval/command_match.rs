//! Matches patterns of rules with commands.

use super::command_line::{is_assignment, read, unquoted, words};
use crate::search::glob::GlobPattern;

/// Returns whether `pattern` matches the whole of `text`: `*` matches any characters, `?` one character. A pattern that
/// ends in ` *` also matches the text without arguments.
pub(super) fn covers(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix(" *").is_some_and(|bare| matches(bare, text)) || matches(pattern, text)
}

/// Returns whether `pattern` matches a part of `text` that starts at a word.
fn occurs(pattern: &str, text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let starts = |at: &usize| *at == 0 || !is_inner(text.as_bytes()[at - 1]);
    let open = format!("{pattern}*");
    let bare = pattern.strip_suffix(" *");
    let mut places = text.char_indices().map(|(at, _)| at).filter(starts);
    places.any(|at| matches(&open, &text[at..]) || bare.is_some_and(|bare| begins(bare, &text[at..])))
}

/// Returns whether `pattern` matches the start of `text` up to the end of a word.
fn begins(pattern: &str, text: &str) -> bool {
    let ends = text.match_indices(|char: char| !char.is_alphanumeric() && !matches!(char, '-' | '_' | '.'));
    ends.map(|(at, _)| at).chain([text.len()]).any(|end| matches(pattern, &text[..end]))
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
/// quotes and backslashes inside of words, and with options between its words.
pub(super) fn concerns(pattern: &str, command: &str) -> bool {
    let (pattern, command) = (spaced(pattern), command.replace("\\\n", ""));
    let text = spaced(&command.replace(['\n', ';', '|', '&', '(', ')', '{', '}', '`'], " "));
    let plain: Vec<String> = words(&text).into_iter().map(unquoted).collect();
    occurs(&pattern, &command)
        || occurs(&pattern, &text)
        || occurs(&pattern, &plain.join(" "))
        || occurs(&pattern, &spaced(&unquoted(&text)))
        || has_with_options(&pattern, &plain)
}

/// Returns whether the words of `pattern` occur one after the other, with options between them. The word after an option
/// may be its value.
fn has_with_options(pattern: &str, words: &[String]) -> bool {
    let pattern: Vec<&str> = pattern.strip_suffix(" *").unwrap_or(pattern).split(' ').collect();
    // The places where the next word of the pattern may be.
    let mut places = vec![true; words.len()];
    for (index, wanted) in pattern.iter().enumerate() {
        let mut next = vec![false; words.len() + 1];
        for at in 0..words.len() {
            if !places[at] {
                continue;
            }
            let name = words[at].rsplit('/').next().filter(|_| index == 0);
            next[at + 1] |= matches(wanted, &words[at]) || name.is_some_and(|name| matches(wanted, name));
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

/// Programs that run the text which they are given.
const INTERPRETERS: [&str; 13] =
    [".", "alias", "bash", "dash", "eval", "fish", "ksh", "parallel", "sh", "source", "trap", "xargs", "zsh"];

/// Words that may stand before the name of a command.
const PREFIXES: [&str; 21] = [
    "!", "builtin", "command", "coproc", "do", "doas", "elif", "else", "env", "exec", "if", "nice", "nohup", "setsid",
    "stdbuf", "sudo", "then", "time", "timeout", "until", "while",
];

/// Returns whether a line might run a command that `pattern` is about, although its text does not show it.
pub(super) fn may_hide(pattern: &str, line: &str) -> bool {
    read(line).is_none_or(|found| found.commands.iter().any(|command| may_be(pattern, command)))
}

fn may_be(pattern: &str, command: &str) -> bool {
    let expands = |word: &str| word.contains(['$', '*', '?', '[']);
    let mut rest = words(command).into_iter().skip_while(|word| {
        let plain = unquoted(word);
        is_assignment(&plain) || plain.starts_with('-') || PREFIXES.contains(&plain.as_str())
    });
    let Some(first) = rest.next() else { return false };
    let name = unquoted(first.rsplit('/').next().unwrap_or(first));
    let arguments: Vec<&str> = rest.collect();
    let mut literals = pattern.split_whitespace();
    let program = literals.next().unwrap_or_default();
    let is_same = program == name || expands(program);
    // Opened by a file name with a pattern in it, such as `git pus?` beside a file named push.
    let may_become = |word: &&str| {
        let glob = || GlobPattern::new(&unquoted(word)).ok();
        word.contains('$')
            || expands(word) && literals.clone().any(|text| glob().is_some_and(|glob| glob.is_match(text)))
    };
    let is_dynamic = |word: &str| word.contains(['$', '`', '\\']);
    expands(first)
        || is_same && arguments.iter().any(may_become)
        || INTERPRETERS.contains(&name.as_str())
            && (arguments.iter().any(|word| is_dynamic(word) || *word == program)
                || arguments.iter().all(|word| word.starts_with('-')))
}
