//! The last lines of the output of running commands. A flood of output takes little memory and little of the screen.

use std::collections::VecDeque;

use crate::visible::without_colours;

/// Lines that are shown.
const LINES_MAX: usize = 8;

/// Characters of a line that are shown.
const LINE_CHARS_MAX: usize = 400;

/// The last lines of an output.
#[derive(Debug, Default)]
pub(super) struct OutputTail {
    lines: VecDeque<Line>,
    /// Lines before the last ones.
    n_hidden: usize,
    /// Whether the last line may continue.
    is_open: bool,
}

#[derive(Debug, Default)]
struct Line {
    text: String,
    n_chars: usize,
    /// Whether the next text is written over this one, as progress is.
    is_over: bool,
}

impl Line {
    /// Takes text without line feeds. A terminal would write the text after a carriage return over the one before.
    fn push(&mut self, text: &str) {
        for (number, text) in text.split('\r').enumerate() {
            self.is_over |= number > 0;
            if text.is_empty() {
                continue;
            }
            if std::mem::take(&mut self.is_over) {
                (self.text, self.n_chars) = (String::new(), 0);
            }
            let n_free = LINE_CHARS_MAX.saturating_sub(self.n_chars);
            self.text.extend(text.chars().take(n_free));
            self.n_chars += text.chars().count();
        }
    }
}

impl OutputTail {
    /// Takes the next piece of the output.
    pub(super) fn push(&mut self, delta: &str) {
        for piece in delta.split_inclusive('\n') {
            if !self.is_open {
                self.lines.push_back(Line::default());
                if self.lines.len() > LINES_MAX {
                    self.lines.pop_front();
                    self.n_hidden += 1;
                }
            }
            if let Some(line) = self.lines.back_mut() {
                line.push(piece.trim_end_matches('\n'));
            }
            self.is_open = !piece.ends_with('\n');
        }
    }

    /// Returns the lines to show; the first one says how many are hidden, if any are.
    pub(super) fn lines(&self) -> Vec<String> {
        let noun = if self.n_hidden == 1 { "line" } else { "lines" };
        let hidden = (self.n_hidden > 0).then(|| format!("… {} earlier {noun} not shown", self.n_hidden));
        let shown = self.lines.iter().map(|line| match line.n_chars.saturating_sub(LINE_CHARS_MAX) {
            0 => without_colours(&line.text).into_owned(),
            n_more => format!("{}… {n_more} more characters", without_colours(&line.text)),
        });
        hidden.into_iter().chain(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(deltas: &[&str], expected: &[&str]) {
        let mut tail = OutputTail::default();
        deltas.iter().for_each(|delta| tail.push(delta));
        assert_eq!(tail.lines(), expected);
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        check(&[], &[]);
        check(&["a", "b\nc\r\n"], &["ab", "c"]);
        check(&["1 %\r2", " %\r", "3 %\r\n", "done\r"], &["3 %", "done"]);
        check(&["\u{1b}[1;3", "1mred\u{1b}[0m \u{1b}[2Jx\n"], &["red \u{1b}[2Jx"]);
        let numbers: String = (1..=3_000).map(|number| format!("{number}\n")).collect();
        let last = ["2993", "2994", "2995", "2996", "2997", "2998", "2999", "3000"];
        check(&[&numbers], &[&["… 2992 earlier lines not shown"][..], &last].concat());
        let long = "ü".repeat(1_000);
        let shown = format!("{}… 1600 more characters", "ü".repeat(400));
        check(&[&long, &long, "\n"], &[&shown]);
    }
}
