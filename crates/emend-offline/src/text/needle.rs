//! The text of a search over files: a whole name or a literal text.

use std::ops::Range;

/// A text to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needle {
    /// The text.
    pub(crate) text: String,
    /// Whether occurrences inside longer names are skipped.
    pub(crate) whole: bool,
}

/// The surroundings of an occurrence of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Whole,
    /// Part of a longer word, `Alpha` in `AlphaBeta`.
    InWord,
    /// Part of a hyphenated name, `alpha` in `alpha-beta`.
    InHyphenated,
}

impl Needle {
    /// Returns a regular expression that matches every line with an occurrence, and perhaps other lines.
    ///
    /// A search works line by line, so a text with line endings is searched by its longest line.
    pub(crate) fn pattern(&self) -> String {
        let line = self.text.lines().max_by_key(|line| line.len()).unwrap_or_default();
        let escaped = escape(line);
        if !self.whole {
            return escaped;
        }
        let boundary = |c: Option<char>| if c.is_some_and(is_word) { "\\b" } else { "" };
        format!("{}{escaped}{}", boundary(line.chars().next()), boundary(line.chars().next_back()))
    }

    /// Returns the first occurrence at or after `from`.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        self.places(text, from).find(|(_, place)| *place == Place::Whole).map(|(range, _)| range)
    }

    /// Returns the number of occurrences in `text`.
    pub(crate) fn count(&self, text: &str) -> usize {
        let mut count = 0;
        let mut from = 0;
        while let Some(range) = self.find(text, from) {
            count += 1;
            from = range.end;
        }
        count
    }

    /// Returns the number of occurrences inside hyphenated names, and the first of these names.
    pub(crate) fn hyphenated<'t>(&self, text: &'t str) -> (usize, Option<&'t str>) {
        let mut places = self.places(text, 0).filter(|(_, place)| *place == Place::InHyphenated);
        let Some((first, _)) = places.next() else { return (0, None) };
        let joined = |c: char| is_word(c) || c == '-';
        let start = text[..first.start].trim_end_matches(joined).len();
        let end = text.len() - text[first.end..].trim_start_matches(joined).len();
        (1 + places.count(), Some(&text[start..end]))
    }

    fn places<'t>(&'t self, text: &'t str, from: usize) -> impl Iterator<Item = (Range<usize>, Place)> + 't {
        let mut at = from;
        std::iter::from_fn(move || {
            let start = at + text.get(at..)?.find(&self.text)?;
            let range = start..start + self.text.len();
            let place = if self.whole { place(text, &range) } else { Place::Whole };
            at = if place == Place::Whole {
                range.end
            } else {
                start + self.text.chars().next().map_or(1, char::len_utf8)
            };
            Some((range, place))
        })
    }
}

fn place(text: &str, range: &Range<usize>) -> Place {
    let name = &text[range.clone()];
    let mut before = text[..range.start].chars().rev();
    let mut after = text[range.end..].chars();
    let sides =
        [(name.chars().next(), before.next(), before.next()), (name.chars().next_back(), after.next(), after.next())];
    let mut place = Place::Whole;
    for (edge, near, far) in sides {
        if !edge.is_some_and(is_word) {
            continue;
        }
        match (near, far) {
            (Some(near), _) if is_word(near) => return Place::InWord,
            // `n-1` and `p->x` are not names, `alpha-beta` is.
            (Some('-'), Some(far)) if far.is_alphabetic() || far == '_' => place = Place::InHyphenated,
            _ => {}
        }
    }
    place
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(name: &str, text: &str, expected: usize) {
        assert_eq!(Needle { text: name.to_owned(), whole: true }.count(text), expected, "{name} in {text}");
    }

    #[test]
    fn a_name_is_found_where_it_stands_alone() {
        check("Alpha", "Alpha AlphaBeta BetaAlpha Alpha_ _Alpha Alpha2 Alpha", 2);
        check("Alpha", "Alpha::new(Alpha,&Alpha)", 3);
        check("n", "n-1 + (n->x) - m-n", 2);
        check("alpha", "alpha-beta beta-alpha --alpha", 1);
        check("caf", "café caf", 1);
        check("größe", "größe größer", 1);
        check("$x", "$x $xy a$x", 2);
        check("a.b", "a.b axb a.bc", 1);
        check("foo-bar", "foo-bar foo-bar-baz", 1);
        check("aa", "aaa aa", 1);
    }

    #[test]
    fn hyphenated_names_are_counted_separately() {
        let needle = Needle { text: "alpha".to_owned(), whole: true };
        assert_eq!(needle.hyphenated("x alpha-beta, beta-alpha alpha"), (2, Some("alpha-beta")));
        assert_eq!(needle.hyphenated("alpha"), (0, None));
    }

    #[test]
    fn patterns_are_escaped_and_bounded() {
        let pattern = |text: &str, whole| Needle { text: text.to_owned(), whole }.pattern();
        assert_eq!(pattern("Alpha", true), "\\bAlpha\\b");
        assert_eq!(pattern("$a.b", true), "\\$a\\.b\\b");
        assert_eq!(pattern("a+b", false), "a\\+b");
        assert_eq!(pattern("a\nlonger\n", false), "longer");
    }
}
