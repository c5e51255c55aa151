//! The structure of a Markdown text: headings, list items, and the lines that are not Markdown.
//!
//! It reads lines and is not a full parser: it knows ATX and setext headings, fences, front matter and comments.

use std::ops::Range;

use super::inline::plain;

/// A heading of the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// Its range of lines; a setext heading has two lines.
    pub(crate) lines: Range<usize>,
    /// Level, 1 to 6.
    pub(crate) level: usize,
    /// Text with its inline markup.
    pub(crate) text: String,
}

/// The structure of a text.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) headings: Vec<Heading>,
    /// For each line: whether it is code, a comment or front matter, which is not Markdown.
    pub(crate) opaque: Vec<bool>,
}

impl Outline {
    /// Parses the structure of `lines`.
    pub(crate) fn of(lines: &[&str]) -> Self {
        let mut outline = Self { headings: Vec::new(), opaque: opaque_lines(lines) };
        for (index, line) in lines.iter().enumerate() {
            if outline.opaque[index] {
                continue;
            }
            if let Some((level, text)) = atx_heading(line) {
                outline.headings.push(Heading { lines: index..index + 1, level, text: text.to_owned() });
            } else if let Some(level) = setext_underline(line)
                && index > 0
                && !outline.opaque[index - 1]
                && is_one_line_paragraph(lines, index - 1)
            {
                let text = lines[index - 1].trim().to_owned();
                outline.headings.push(Heading { lines: index - 1..index + 1, level, text });
            }
        }
        outline
    }

    /// Returns the heading called `name`: its text with or without markup and marks, in any case.
    ///
    /// # Errors
    ///
    /// A text that lists the headings of the file.
    pub(crate) fn heading(&self, name: &str) -> Result<&Heading, String> {
        let wanted = plain(name.trim().trim_start_matches('#')).trim().to_lowercase();
        if let Some(heading) = self.headings.iter().find(|heading| plain(&heading.text).to_lowercase() == wanted) {
            return Ok(heading);
        }
        let names: Vec<String> =
            self.headings.iter().take(12).map(|heading| format!("\"{}\"", plain(&heading.text))).collect();
        let known =
            if names.is_empty() { "it has no headings".to_owned() } else { format!("it has {}", names.join(", ")) };
        Err(format!("FILE has no heading \"{}\"; {known}.", name.trim()))
    }
}

/// Marks front matter, fenced code and multi-line comments.
fn opaque_lines(lines: &[&str]) -> Vec<bool> {
    let mut opaque = vec![false; lines.len()];
    let mut index = 0;
    if lines.first().is_some_and(|line| line.trim_end() == "---")
        && let Some(end) = lines.iter().skip(1).position(|line| matches!(line.trim_end(), "---" | "..."))
    {
        index = end + 2;
        opaque[..index].fill(true);
    }
    while index < lines.len() {
        let end = if let Some((mark, length)) = fence(lines[index]) {
            let closes = |line: &&str| {
                let line = line.trim();
                line.len() >= length && line.chars().all(|c| c == mark)
            };
            lines[index + 1..].iter().position(closes).map_or(lines.len(), |at| index + at + 2)
        } else if lines[index].trim_start().starts_with("<!--") && !lines[index].contains("-->") {
            lines[index..].iter().position(|line| line.contains("-->")).map_or(lines.len(), |at| index + at + 1)
        } else {
            index += 1;
            continue;
        };
        opaque[index..end].fill(true);
        index = end;
    }
    opaque
}

/// Returns the character and length of a fence that opens on this line.
fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3 && !(mark == '`' && line[length..].contains('`'))).then_some((mark, length))
}

fn atx_heading(line: &str) -> Option<(usize, &str)> {
    let trimmed = line.trim_start_matches(' ');
    let level = trimmed.len() - trimmed.trim_start_matches('#').len();
    if line.len() - trimmed.len() > 3 || !(1..=6).contains(&level) {
        return None;
    }
    let text = &trimmed[level..];
    if !text.is_empty() && !text.starts_with([' ', '\t']) {
        return None;
    }
    let text = text.trim();
    let open = text.trim_end_matches('#');
    Some((level, if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { text }))
}

fn setext_underline(line: &str) -> Option<usize> {
    if line.starts_with("    ") {
        return None;
    }
    let line = line.trim();
    let all = |mark: char| !line.is_empty() && line.chars().all(|c| c == mark);
    if all('=') {
        Some(1)
    } else if all('-') {
        Some(2)
    } else {
        None
    }
}

fn is_one_line_paragraph(lines: &[&str], index: usize) -> bool {
    let line = lines[index].trim();
    let is_text = !line.is_empty()
        && atx_heading(line).is_none()
        && item_marker(lines[index]).is_none()
        && !lines[index].starts_with("    ")
        && !line.starts_with(['>', '|', '<'])
        && setext_underline(line).is_none();
    is_text && (index == 0 || lines[index - 1].trim().is_empty())
}

/// The marker of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker<'a> {
    /// Number of spaces before it.
    pub(crate) indent: usize,
    /// `-`, `*`, `+`, or a number with `.` or `)`.
    pub(crate) mark: &'a str,
}

impl Marker<'_> {
    /// Returns the character that neighbouring items of one list share: the bullet, or the character after the number.
    pub(crate) fn kind(&self) -> Option<char> {
        self.mark.chars().next_back()
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.mark.len() > 1
    }
}

pub(crate) fn item_marker(line: &str) -> Option<Marker<'_>> {
    let trimmed = line.trim_start_matches(' ');
    let indent = line.len() - trimmed.len();
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length = match trimmed[digits..].chars().next()? {
        '-' | '*' | '+' if digits == 0 => 1,
        '.' | ')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    let (mark, rest) = trimmed.split_at(length);
    let is_item = rest.is_empty() || rest.starts_with([' ', '\t']);
    // `* * *` and `- - -` are horizontal rules.
    let bare: String = trimmed.chars().filter(|c| !c.is_whitespace()).collect();
    let is_rule = bare.len() >= 3 && digits == 0 && mark != "+" && bare.chars().all(|c| mark.starts_with(c));
    (is_item && !is_rule).then_some(Marker { indent, mark })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check_headings(text: &str, expected: &[(usize, &str)]) {
        let lines: Vec<&str> = text.split('\n').collect();
        let outline = Outline::of(&lines);
        let found: Vec<(usize, &str)> =
            outline.headings.iter().map(|heading| (heading.level, heading.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn headings_are_distinguished_from_similar_lines() {
        check_headings("# A\n## B ##\n###\tC\n#D\n####### E\n    # F\n#", &[(1, "A"), (2, "B"), (3, "C"), (1, "")]);
        check_headings("A\n===\n\nB\n---\n\n- c\n---\n\nd\ne\n---\n", &[(1, "A"), (2, "B")]);
        check_headings("```\n# A\n```\n# B\n~~~~ x\n# C\n~~~\n# D\n~~~~\n# E", &[(1, "B"), (1, "E")]);
        check_headings("- x\n  ```\n# A\n  ```\n# B", &[(1, "B")]);
        check_headings("---\ntitle: x\n# A\n---\n# B", &[(1, "B")]);
        check_headings("<!--\n# A\n-->\n# B\n<!-- x -->\n# C", &[(1, "B"), (1, "C")]);
        check_headings("# C#\n# \\#\n# a `#`", &[(1, "C#"), (1, "\\#"), (1, "a `#`")]);
        check_headings("``` a ` b\n# A", &[(1, "A")]);
    }

    #[test]
    fn list_items_are_distinguished_from_rules() {
        for (line, expected) in [
            ("- a", Some((0, "-"))),
            ("  * a", Some((2, "*"))),
            ("12. a", Some((0, "12."))),
            ("3) a", Some((0, "3)"))),
            ("+", Some((0, "+"))),
            ("-a", None),
            ("* * *", None),
            ("---", None),
            ("1.5 a", None),
            ("1234567890. a", None),
            ("", None),
        ] {
            assert_eq!(item_marker(line).map(|marker| (marker.indent, marker.mark)), expected, "{line}");
        }
    }
}
