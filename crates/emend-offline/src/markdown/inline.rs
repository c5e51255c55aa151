//! Markdown inside a line: its visible text, and anchors of headings.

use std::collections::HashMap;

/// A part of inline text.
enum Inline {
    Text(String),
    Code(String),
}

/// Returns the visible text of inline Markdown.
pub(crate) fn plain(source: &str) -> String {
    let texts = inlines(source).into_iter().map(|inline| match inline {
        Inline::Text(text) | Inline::Code(text) => text,
    });
    texts.collect::<String>().trim().to_owned()
}

/// Returns inline Markdown as the text of a link: code stays code, all other markup is removed.
pub(crate) fn link_text(source: &str) -> String {
    let mut label = String::new();
    for inline in inlines(source.trim()) {
        match inline {
            Inline::Code(code) => label.push_str(&format!("`{code}`")),
            Inline::Text(text) => {
                for c in text.chars() {
                    if matches!(c, '[' | ']' | '*' | '<' | '\\' | '`') {
                        label.push('\\');
                    }
                    label.push(c);
                }
            }
        }
    }
    label
}

fn inlines(source: &str) -> Vec<Inline> {
    let mut inlines = Vec::new();
    let mut text = String::new();
    let mut rest = source;
    let mut before = None;
    let is_text = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    // Inside a word an underscore is a letter of it, and a single underscore marks no emphasis.
    let in_word = |before: Option<char>, next: Option<char>| {
        before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric)
    };
    let emphasised = source
        .match_indices('_')
        .filter(|(at, _)| !in_word(source[..*at].chars().next_back(), source[at + 1..].chars().next()));
    let emphasised = emphasised.count() > 1;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let next = after.chars().next();
        let mut taken = c.len_utf8();
        match c {
            '\\' if next.is_some_and(|c| c.is_ascii_punctuation()) => {
                text.extend(next);
                taken += 1;
            }
            '`' => {
                let ticks = rest.len() - rest.trim_start_matches('`').len();
                if let Some(end) = rest[ticks..].find(&rest[..ticks]) {
                    inlines.push(Inline::Text(std::mem::take(&mut text)));
                    inlines.push(Inline::Code(rest[ticks..ticks + end].trim().to_owned()));
                    taken = 2 * ticks + end;
                } else {
                    text.push_str(&rest[..ticks]);
                    taken = ticks;
                }
            }
            '!' if next == Some('[') && link(after).is_some() => taken += link(after).map_or(0, |(_, length)| length),
            '[' if link(rest).is_some() => {
                if let Some((label, length)) = link(rest) {
                    inlines.push(Inline::Text(std::mem::take(&mut text)));
                    inlines.extend(self::inlines(label));
                    taken = length;
                }
            }
            '<' if next.is_some_and(|c| c.is_ascii_alphabetic() || c == '/') && after.contains('>') => {
                taken = rest.find('>').map_or(1, |end| end + 1);
            }
            '*' if is_text(before) || is_text(next) => {}
            '~' if next == Some('~') => taken += 1,
            '_' if emphasised && !in_word(before, next) => {}
            c => text.push(c),
        }
        before = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
    inlines.push(Inline::Text(text));
    inlines
}

/// Returns the label of the link at the start of `source`, and the link's length.
fn link(source: &str) -> Option<(&str, usize)> {
    let mut depth = 0;
    let close = source.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        (depth == 0).then_some(at)
    })?;
    let target = &source[close + 1..];
    let end = match target.chars().next()? {
        '(' => target.find(')')?,
        '[' => target.find(']')?,
        _ => return None,
    };
    Some((&source[1..close], close + end + 2))
}

/// Makes the anchors that GitHub gives to headings, unique within one document.
#[derive(Default)]
pub(crate) struct Anchors {
    used: HashMap<String, usize>,
}

impl Anchors {
    /// Returns the anchor of the next heading.
    pub(crate) fn next(&mut self, heading: &str) -> String {
        let base: String = plain(heading)
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let mut anchor = base.clone();
        while self.used.contains_key(&anchor) {
            let count = self.used.entry(base.clone()).or_default();
            *count += 1;
            anchor = format!("{base}-{count}");
        }
        self.used.insert(anchor.clone(), 0);
        anchor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check_inline(source: &str, seen: &str, link: &str) {
        assert_eq!((plain(source).as_str(), link_text(source).as_str()), (seen, link));
    }

    #[test]
    fn inline_markup_is_parsed() {
        check_inline("plain", "plain", "plain");
        check_inline("`a_b` and **bold**", "a_b and bold", "`a_b` and bold");
        check_inline("[text](url) ![alt](img) [ref][1]", "text  ref", "text  ref");
        check_inline("_it_ snake_case __init__ _x", "it snake_case init x", "it snake_case init x");
        check_inline("_x alone", "_x alone", "_x alone");
        check_inline("a * b <br> \\* [x]", "a * b  * [x]", "a \\* b  \\* \\[x\\]");
        check_inline("[see [1]](u)", "see [1]", "see \\[1\\]");
        check_inline("unclosed ` tick", "unclosed ` tick", "unclosed \\` tick");
    }

    #[test]
    fn anchors_match_those_of_github() {
        let mut anchors = Anchors::default();
        for (heading, expected) in [
            ("Hello, World!", "hello-world"),
            ("Hello World", "hello-world-1"),
            ("hello world 1", "hello-world-1-1"),
            ("`read_file` — a tool", "read_file--a-tool"),
            ("Größe & Maß", "größe--maß"),
            ("Hello World", "hello-world-2"),
            ("[Link](x) v1.2", "link-v12"),
        ] {
            assert_eq!(anchors.next(heading), expected, "{heading}");
        }
    }
}
