//! Styled text on a terminal: its width in columns, and breaking or truncating lines.

use std::io::IsTerminal;

use anstream::adapter::strip_str;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::style::{Painter, Style};
use crate::terminal;

/// A piece of text with one style.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// Breaks one line of text at spaces into lines of at most `width` columns.
///
/// The first line begins with `first`, the others with `rest`, which must be equally wide.
pub(crate) fn wrap_text(
    text: &str,
    style: Style,
    painter: Painter,
    width: usize,
    first: &str,
    rest: &str,
) -> Vec<String> {
    wrap(&[Span { text: text.to_owned(), style }], painter, width, first, rest)
}

/// Breaks the lines of a text at spaces, if standard output is a terminal. A program reads each line whole.
pub(crate) fn folded(text: &str) -> String {
    folded_on(&std::io::stdout(), text)
}

/// Breaks the lines of a text for `stream`, as [`folded`] does for standard output.
pub(crate) fn folded_on(stream: &impl IsTerminal, text: &str) -> String {
    if !stream.is_terminal() {
        return text.to_owned();
    }
    let width = terminal::size().0.saturating_sub(1).max(1);
    let lines: Vec<String> = text.split('\n').map(|line| folded_line(line, width)).collect();
    lines.join("\n")
}

/// Breaks a line that is too wide. The following lines have the indentation of the first.
fn folded_line(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let rest = line.trim_start_matches(' ');
    let margin = &line[..line.len() - rest.len()];
    wrap_text(rest, Style::new(), Painter::OFF, width, margin, margin).join("\n")
}

/// Breaks spans at spaces into lines, as [`wrap_text`] does. A word that is wider than a line is broken inside.
pub(crate) fn wrap(spans: &[Span], painter: Painter, width: usize, first: &str, rest: &str) -> Vec<String> {
    let room = width.saturating_sub(columns(rest)).max(1);
    let mut lines = Vec::new();
    let mut line = Line::default();
    for span in spans {
        for word in span.text.split_inclusive(' ') {
            let text = word.trim_end_matches(' ');
            if line.columns > 0 && !fits(text, room.saturating_sub(line.columns)) {
                lines.push(std::mem::take(&mut line));
            }
            let mut left = text;
            // The width of a long word is not measured again for each line.
            while !fits(left, room) {
                let cut = fitting_bytes(left, room - line.columns.min(room - 1));
                line.push(&left[..cut], span.style);
                lines.push(std::mem::take(&mut line));
                left = &left[cut..];
            }
            line.push(left, span.style);
            if word.len() > text.len() && line.columns > 0 && line.columns < room {
                line.push(" ", span.style);
            }
        }
    }
    if line.columns > 0 || lines.is_empty() {
        lines.push(line);
    }
    let begins = std::iter::once(first).chain(std::iter::repeat(rest));
    lines.iter().zip(begins).map(|(line, begin)| format!("{begin}{}", line.painted(painter))).collect()
}

#[derive(Debug, Default)]
struct Line {
    spans: Vec<Span>,
    columns: usize,
}

impl Line {
    fn push(&mut self, text: &str, style: Style) {
        self.columns += text.width();
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style }),
        }
    }

    /// Returns the line with its styles, without trailing whitespace.
    fn painted(&self, painter: Painter) -> String {
        let last = self.spans.iter().rposition(|span| !span.text.trim_end().is_empty());
        let spans = self.spans.iter().take(last.map_or(0, |last| last + 1)).enumerate();
        let painted = spans.map(|(index, span)| {
            let text = if Some(index) == last { span.text.trim_end() } else { span.text.as_str() };
            painter.paint(span.style, text)
        });
        painted.collect()
    }
}

/// Returns whether a text takes at most `columns`. Looks only at the characters up to there.
fn fits(text: &str, columns: usize) -> bool {
    let mut taken = 0;
    text.chars().all(|char| {
        taken += char.width().unwrap_or(0);
        taken <= columns
    })
}

/// Returns how many bytes of `text` fit into `columns`: at least those of one character.
pub(crate) fn fitting_bytes(text: &str, columns: usize) -> usize {
    let mut taken = 0;
    for (at, char) in text.char_indices() {
        taken += char.width().unwrap_or(0);
        if taken > columns && at > 0 {
            return at;
        }
    }
    text.len()
}

/// Returns how many columns a text takes. Escape sequences take none.
pub(crate) fn columns(text: &str) -> usize {
    strip_str(text).to_string().width()
}

/// Truncates a line with escape sequences to `width` columns.
pub(crate) fn truncated(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let (mut text, mut left, mut rest) = (String::new(), width, line);
    while !rest.is_empty() && left > 0 {
        if let Some(end) = rest.strip_prefix('\x1b').and_then(|code| code.find(|char: char| char.is_ascii_alphabetic()))
        {
            text.push_str(&rest[..end + 2]);
            rest = &rest[end + 2..];
            continue;
        }
        let run = &rest[..rest.find('\x1b').unwrap_or(rest.len())];
        let taken = if run.width() <= left { run.len() } else { fitting_bytes(run, left) };
        text.push_str(&run[..taken]);
        left = left.saturating_sub(run[..taken].width());
        if taken < run.len() {
            break;
        }
        rest = &rest[taken..];
    }
    if text.contains('\x1b') { text + "\x1b[0m" } else { text }
}

/// Returns the end of a line without escape sequences if it is wider than `width`.
pub(crate) fn end_of(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let mut begin = line.len();
    for (at, char) in line.char_indices().rev() {
        let Some(left) = room.checked_sub(char.width().unwrap_or_default()) else { break };
        (begin, room) = (at, left);
    }
    format!("…{}", &line[begin..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_folded_between_words_and_keep_their_indentation() {
        for (line, expected) in [
            ("  aaa bbb ccc", "  aaa\n  bbb\n  ccc"),
            ("aaa bbb", "aaa bbb"),
            ("  a  b", "  a  b"),
            ("0123456789", "01234567\n89"),
            ("", ""),
        ] {
            assert_eq!(folded_line(line, 8), expected, "{line:?}");
        }
    }

    #[test]
    fn painted_lines_are_cut_by_what_is_seen() {
        assert_eq!(truncated("\x1b[31mabcdef\x1b[39m", 3), "\x1b[31mabc\x1b[0m");
        assert_eq!(truncated("\x1b[31mab\x1b[39mcd", 3), "\x1b[31mab\x1b[39mc\x1b[0m");
        assert_eq!(truncated("日本語", 4), "日本");
        assert_eq!(truncated("abc", 3), "abc");
    }
}
