//! Splits an instruction into words and quoted texts, without giving them a meaning.

/// A word, or a quoted text without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// The word, without punctuation at its end unless it is quoted.
    pub(crate) text: &'a str,
    /// Whether it was quoted; a quoted word is never a keyword.
    pub(crate) quoted: bool,
    /// Position of its first byte in the source, quote included.
    pub(crate) start: usize,
    /// Position after its last byte in the source, quote and punctuation included.
    pub(crate) end: usize,
}

impl Word<'_> {
    /// Returns whether this is the unquoted word `keyword`, in any case.
    pub(crate) fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text.eq_ignore_ascii_case(keyword)
    }

    /// Returns whether this is one of the unquoted words `keywords`, in any case.
    pub(crate) fn is_any(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is(keyword))
    }
}

const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('«', '»')];

/// Returns the words of `source`. An opening quote without a closing quote is part of a word.
pub(crate) fn words(source: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(offset) = source[at..].find(|c: char| !c.is_whitespace()) {
        let start = at + offset;
        let word = quoted(source, start).unwrap_or_else(|| plain(source, start));
        at = word.end;
        if word.quoted || !word.text.is_empty() {
            words.push(word);
        }
    }
    words
}

fn quoted(source: &str, start: usize) -> Option<Word<'_>> {
    let open = source[start..].chars().next()?;
    let close = QUOTES.iter().find(|(quote, _)| *quote == open)?.1;
    let inner = start + open.len_utf8();
    let ends_here = |at: usize| {
        let mut after = source[at + close.len_utf8()..].trim_start_matches(is_punctuation).chars();
        after.next().is_none_or(char::is_whitespace)
    };
    let end = source[inner..].match_indices(close).map(|(at, _)| inner + at).find(|&at| ends_here(at))?;
    let rest = &source[end + close.len_utf8()..];
    let punctuation = rest.len() - rest.trim_start_matches(is_punctuation).len();
    Some(Word { text: &source[inner..end], quoted: true, start, end: end + close.len_utf8() + punctuation })
}

fn plain(source: &str, start: usize) -> Word<'_> {
    let end = source[start..].find(char::is_whitespace).map_or(source.len(), |length| start + length);
    let whole = &source[start..end];
    let trimmed = whole.trim_end_matches(is_punctuation);
    // `.` and `..` are paths.
    let text = if trimmed.is_empty() && whole.starts_with('.') { whole } else { trimmed };
    Word { text, quoted: false, start, end }
}

fn is_punctuation(c: char) -> bool {
    matches!(c, ',' | ';' | '!' | '?' | '.' | ':')
}

/// Returns `words` without leading words that are in `keywords`.
pub(crate) fn skip<'a, 's>(words: &'a [Word<'s>], keywords: &[&str]) -> &'a [Word<'s>] {
    let count = words.iter().take_while(|word| word.is_any(keywords)).count();
    &words[count..]
}

/// Returns `words` as written in the source; a single quoted text without its quotes.
pub(crate) fn phrase(source: &str, words: &[Word]) -> String {
    match words {
        [] => String::new(),
        [word] => word.text.to_owned(),
        [first, .., last] => {
            let end = if last.quoted { last.end } else { last.start + last.text.len() };
            source[first.start..end].to_owned()
        }
    }
}

pub(crate) fn starts_with(words: &[Word], phrase: &[&str]) -> bool {
    words.len() >= phrase.len() && words.iter().zip(phrase).all(|(word, keyword)| word.is(keyword))
}

pub(crate) fn ends_with(words: &[Word], phrase: &[&str]) -> bool {
    words.len() >= phrase.len() && starts_with(&words[words.len() - phrase.len()..], phrase)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let found: Vec<String> = words(source)
            .iter()
            .map(|word| if word.quoted { format!("<{}>", word.text) } else { word.text.to_owned() })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn quotes_hold_words_together() {
        check("rename a to b.", &["rename", "a", "to", "b"]);
        check("replace \"old text\" with 'new, text'!", &["replace", "<old text>", "with", "<new, text>"]);
        check("a “b c” d", &["a", "<b c>", "d"]);
        check("\"\" x", &["<>", "x"]);
        check("\"say \"hi\" now\" x", &["<say \"hi>", "now\"", "x"]);
        check("don't `unclosed x", &["don't", "`unclosed", "x"]);
        check("in . please", &["in", ".", "please"]);
        check("in ../b", &["in", "../b"]);
    }
}
