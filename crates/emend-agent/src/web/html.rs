//! Converts HTML to text: headings, lists, links and code in Markdown, without scripts, styles and navigation data.
//!
//! The conversion takes one pass and linear time, also for malformed pages, and builds no tree. Layout is ignored.

use memchr::memchr;

/// Returns the text of an HTML page.
///
/// ```
/// assert_eq!(emend_agent::web::to_text("<h1>Hi</h1><p>a <b>b</b> &amp; <a href=/c>c</a>"), "# Hi\n\na b & [c](/c)");
/// ```
#[must_use]
pub fn to_text(html: &str) -> String {
    let mut writer = Writer::default();
    let mut rest = html;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        writer.text(&rest[..at]);
        rest = markup(&rest[at..], &mut writer);
    }
    writer.text(rest);
    writer.finish()
}

/// Handles markup that starts with `<`; returns the text behind it.
fn markup<'a>(html: &'a str, writer: &mut Writer) -> &'a str {
    let after =
        |end: &str, from: usize| html.get(from..).and_then(|rest| rest.split_once(end)).map_or("", |(_, after)| after);
    match html.as_bytes().get(1) {
        Some(b'!') if html.starts_with("<!--") => after("-->", 4),
        Some(b'!') if html.starts_with("<![CDATA[") => {
            let rest = after("]]>", 9);
            let end = html.len() - rest.len();
            writer.text(html[9..end].strip_suffix("]]>").unwrap_or(&html[9..end]));
            rest
        }
        Some(b'!' | b'?') => after(">", 2),
        Some(b'/') if html.as_bytes().get(2).is_some_and(u8::is_ascii_alphabetic) => {
            let tag = Tag::parse(&html[2..]);
            writer.close(&tag.name);
            tag.rest
        }
        Some(first) if first.is_ascii_alphabetic() => {
            let tag = Tag::parse(&html[1..]);
            if is_unread(&tag.name) {
                return skip_element(tag.rest, &tag.name);
            }
            writer.open(&tag);
            tag.rest
        }
        _ => {
            writer.text("<");
            &html[1..]
        }
    }
}

/// Returns whether the content of such elements is not meant for readers.
fn is_unread(name: &str) -> bool {
    matches!(name, "script" | "style" | "template" | "svg" | "math" | "iframe" | "object" | "canvas")
}

/// Returns the text behind the end tag of an element.
fn skip_element<'a>(html: &'a str, name: &str) -> &'a str {
    let mut rest = html;
    while let Some((_, after)) = rest.split_once("</") {
        rest = after;
        let is_end = rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if is_end && !rest.as_bytes().get(name.len()).is_some_and(u8::is_ascii_alphanumeric) {
            return memchr(b'>', rest.as_bytes()).map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

/// A tag without its `<` or `</`.
struct Tag<'a> {
    /// Name in lower case.
    name: String,
    /// The relevant attributes, as written.
    link: Option<&'a str>,
    alt: Option<&'a str>,
    /// The text behind the tag.
    rest: &'a str,
}

impl<'a> Tag<'a> {
    fn parse(html: &'a str) -> Self {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':');
        let end = html.bytes().position(|byte| !is_name(&byte)).unwrap_or(html.len());
        let mut tag = Tag { name: html[..end].to_ascii_lowercase(), link: None, alt: None, rest: "" };
        let mut rest = &html[end..];
        loop {
            rest = rest.trim_start_matches(|char: char| char.is_ascii_whitespace() || char == '/');
            match rest.as_bytes().first() {
                None => return tag,
                Some(b'>') => {
                    tag.rest = &rest[1..];
                    return tag;
                }
                Some(_) => {}
            }
            // An attribute name may start with any character, even `=`.
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let ends_name = |char: char| char.is_ascii_whitespace() || matches!(char, '=' | '>' | '/');
            let end = rest[first..].find(ends_name).map_or(rest.len(), |at| first + at);
            let (name, after) = rest.split_at(end);
            rest = after.trim_start_matches(|char: char| char.is_ascii_whitespace());
            let Some(value) = rest.strip_prefix('=') else { continue };
            let (value, after) = attribute_value(value.trim_start_matches(|char: char| char.is_ascii_whitespace()));
            if name.eq_ignore_ascii_case("href") {
                tag.link = Some(value);
            } else if name.eq_ignore_ascii_case("alt") {
                tag.alt = Some(value);
            }
            rest = after;
        }
    }
}

/// Splits an attribute value off the start of the text.
fn attribute_value(html: &str) -> (&str, &str) {
    let quoted = html.strip_prefix('"').map(|rest| (rest, '"')).or(html.strip_prefix('\'').map(|rest| (rest, '\'')));
    match quoted {
        Some((rest, quote)) => rest.split_once(quote).unwrap_or((rest, "")),
        None => html.split_at(html.find(|char: char| char.is_ascii_whitespace() || char == '>').unwrap_or(html.len())),
    }
}

/// Separator between existing and following text; the larger one wins.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

#[derive(Default)]
struct Writer {
    out: String,
    gap: Gap,
    /// Marker of a heading or list item, written before the next text of the line.
    mark: &'static str,
    /// Nesting depth of `pre`, in which spaces and line breaks are kept.
    pre: usize,
    /// Start of the text of the open link in `out`, and the target.
    link: Option<(usize, String)>,
}

impl Writer {
    fn text(&mut self, html: &str) {
        let mut rest = html;
        while let Some(at) = memchr(b'&', rest.as_bytes()) {
            self.plain(&rest[..at]);
            let (char, after) = entity(&rest[at..]);
            self.plain(char.encode_utf8(&mut [0; 4]));
            rest = after;
        }
        self.plain(rest);
    }

    fn plain(&mut self, text: &str) {
        if self.pre > 0 {
            if !text.is_empty() {
                self.flush();
                self.out.push_str(text);
            }
            return;
        }
        for char in text.chars() {
            if char.is_whitespace() {
                self.gap = self.gap.max(Gap::Space);
            } else {
                self.flush();
                self.out.push(char);
            }
        }
    }

    /// Writes the pending separator and marker before text.
    fn flush(&mut self) {
        if !self.out.is_empty() {
            self.out.push_str(match self.gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.out.push_str(std::mem::take(&mut self.mark));
        self.gap = Gap::None;
    }

    fn part(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match &*tag.name {
            "a" => {
                self.end_link();
                if let Some(link) = tag.link.filter(|link| !link.is_empty() && !link.starts_with(['#', 'j', 'J'])) {
                    self.flush();
                    self.link = Some((self.out.len(), decoded(link)));
                }
            }
            "img" => self.text(tag.alt.unwrap_or_default()),
            "br" => self.part(Gap::Line),
            "hr" => self.part(Gap::Paragraph),
            "td" | "th" => {
                if self.gap < Gap::Line && !self.out.is_empty() {
                    self.gap = Gap::None;
                    self.mark = " | ";
                }
            }
            "pre" => {
                self.part(Gap::Paragraph);
                self.flush();
                self.out.push_str("```\n");
                self.pre += 1;
            }
            "code" | "kbd" | "samp" if self.pre == 0 => {
                self.flush();
                self.out.push('`');
            }
            name => {
                self.part(gap_around(name));
                self.mark = match name {
                    "h1" => "# ",
                    "h2" => "## ",
                    "h3" => "### ",
                    "h4" => "#### ",
                    "h5" => "##### ",
                    "h6" => "###### ",
                    "li" => "- ",
                    "blockquote" => "> ",
                    _ => self.mark,
                };
            }
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "a" => self.end_link(),
            "pre" if self.pre > 0 => {
                self.pre -= 1;
                self.out.truncate(self.out.trim_end().len());
                self.out.push_str("\n```");
                self.part(Gap::Paragraph);
            }
            "code" | "kbd" | "samp" if self.pre == 0 && !self.out.is_empty() => self.out.push('`'),
            name => {
                self.part(gap_around(name));
                // An item or heading without text leaves no marker.
                if !matches!(gap_around(name), Gap::None) {
                    self.mark = "";
                }
            }
        }
    }

    /// Ends the open link. A link without text is dropped.
    fn end_link(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        // The text before may have been trimmed since, with the spaces at the end of a `pre`.
        if self.out.get(start..).is_none_or(|text| text.trim().is_empty()) {
            return;
        }
        self.out.insert(start, '[');
        self.out.push_str("](");
        self.out.push_str(&target);
        self.out.push(')');
    }

    fn finish(mut self) -> String {
        self.end_link();
        if self.pre > 0 {
            self.out.push_str("\n```");
        }
        self.out.truncate(self.out.trim_end().len());
        self.out
    }
}

/// Returns the text before and after an element.
fn gap_around(name: &str) -> Gap {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "dl" | "table" | "blockquote" | "section"
        | "article" | "header" | "footer" | "nav" | "main" | "aside" | "form" | "figure" | "title" | "body"
        | "details" => Gap::Paragraph,
        "div" | "li" | "tr" | "dt" | "dd" | "option" | "summary" | "figcaption" | "address" | "fieldset" | "label" => {
            Gap::Line
        }
        "button" => Gap::Space,
        _ => Gap::None,
    }
}

fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let (char, after) = entity(&rest[at..]);
        out.push(char);
        rest = after;
    }
    out + rest
}

/// Length of the longest name in [`ENTITIES`], and of the longest useful number.
const ENTITY_BYTES_MAX: usize = 10;

/// Named entities in common use; others stay as written.
const ENTITIES: [(&str, char); 31] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("hellip", '…'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("bull", '•'),
    ("middot", '·'),
    ("times", '×'),
    ("deg", '°'),
    ("euro", '€'),
    ("larr", '←'),
    ("rarr", '→'),
    ("le", '≤'),
    ("ge", '≥'),
    ("para", '¶'),
];

/// Reads an entity that starts with `&`; returns its character and the text behind it.
fn entity(html: &str) -> (char, &str) {
    let end = html.bytes().take(ENTITY_BYTES_MAX).position(|byte| byte == b';');
    let found = end.and_then(|end| {
        let name = &html[1..end];
        let char = match name.strip_prefix('#') {
            Some(number) => {
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => number.parse(),
                };
                // A number may denote a control character, which text must not contain.
                char::from_u32(code.ok()?).filter(|char| !char.is_control() || *char == '\n')
            }
            None => ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, char)| *char),
        };
        Some((char?, &html[end + 1..]))
    });
    found.unwrap_or(('&', &html[1..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(to_text(html), expected, "{html}");
    }

    #[test]
    fn structure_becomes_markdown() {
        check(
            "<!doctype html><html><head><title>T &amp; U</title><style>p{}</style></head><body>\n<h1>One</h1><p>Some\n   \
             text<br>next</p><ul><li>a<li>b <b>bold</b></ul><h2>Two</h2><div>x</div><div>y</div>",
            "T & U\n\n# One\n\nSome text\nnext\n\n- a\n- b bold\n\n## Two\n\nx\ny",
        );
        check("<table><tr><th>a<th>b</tr><tr><td>1<td>2</table>after", "a | b\n1 | 2\n\nafter");
        check(
            "<p>run <code>make</code>:</p><pre><code>a  b\n  c\n</code></pre><p>z",
            "run `make`:\n\n```\na  b\n  c\n```\n\nz",
        );
        check("<img src=a.png alt='a &lt; b'> <img src=b.png>", "a < b");
        check("<ul><li></li><li>x</li></ul>", "- x");
    }

    #[test]
    fn links_keep_where_they_lead() {
        check("see <a href=\"/a?b=1&amp;c=2\">the <b>page</b></a>.", "see [the page](/a?b=1&c=2).");
        check("<a href=#top>top</a> <a name=x>here</a> <a href='javascript:x()'>go</a>", "top here go");
        check("<a href=/x></a>y<a href=/z> ", "y");
        check("<a href=/x>one<a href=/y>two", "[one](/x)[two](/y)");
    }

    #[test]
    fn what_is_not_for_readers_is_left_out() {
        check(
            "a<script>if (a < b) { '</p>' }</script>b<STYLE>x</Style >c<!-- <p>no --> d",
            "ab c d".replace(" c", "c").as_str(),
        );
        check("<svg><path d='M0'/><text>no</text></svg>x<template><p>no</template>", "x");
        check("<![CDATA[a<b]]> c", "a<b c");
        check("<?xml version='1'?><p title='a > b'>x", "x");
    }

    #[test]
    fn broken_pages_give_what_can_be_read() {
        check("a < b && c <3 &unknown; &#x41;&#66;&#0;", "a < b && c <3 &unknown; AB&#0;");
        check("<p>x</p><script>never closed", "x");
        check("<!-- never closed", "");
        check("x<a href=\"never closed>y", "x");
        check("x<", "x<");
        check("x</", "x</");
        check("é<é>&é;", "é<é>&é;");
        check("", "");
    }

    #[test]
    fn whatever_a_page_holds_it_is_read_to_its_end() {
        let piece = prop::sample::select(vec![
            "<",
            ">",
            "</",
            "<a href=",
            "\"",
            "'",
            "<p>",
            "</p>",
            "<pre>",
            "</pre>",
            "&",
            "&amp;",
            "&#",
            ";",
            "<!--",
            "-->",
            "<script",
            "</script",
            " ",
            "\n",
            "é",
            "x",
            "=",
            "/",
            "<td>",
            "<li>",
            "</a>",
            "<h1",
            "<![CDATA[",
            "<code>",
        ]);
        let cases = if crate::test_support::FEW_CASES { 300 } else { 5_000 };
        let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let pages = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat());
        runner
            .run(&pages, |page| {
                let text = to_text(&page);
                // `<pre>` grows the most, by its fences.
                prop_assert!(text.len() <= 4 * page.len() + 16, "{page:?} became {text:?}");
                Ok(())
            })
            .unwrap();
    }
}
