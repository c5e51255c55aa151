//! The last lines of the output of running commands. A flood of output takes little memory and little of the screen.

use std::collections::VecDeque;

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
            let text = piece.trim_end_matches(['\r', '\n']);
            if let Some(line) = self.lines.back_mut() {
                let n_free = LINE_CHARS_MAX.saturating_sub(line.n_chars);
                line.text.extend(text.chars().take(n_free));
                line.n_chars += text.chars().count();
            }
            self.is_open = !piece.ends_with('\n');
        }
    }

    /// Returns the lines to show; the first one says how many are hidden, if any are.
    pub(super) fn lines(&self) -> Vec<String> {
        let noun = if self.n_hidden == 1 { "line" } else { "lines" };
        let hidden = (self.n_hidden > 0).then(|| format!("… {} earlier {noun} not shown", self.n_hidden));
        let shown = self.lines.iter().map(|line| match line.n_chars.saturating_sub(LINE_CHARS_MAX) {
            0 => line.text.clone(),
            n_more => format!("{}… {n_more} more characters", line.text),
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
        let numbers: String = (1..=3_000).map(|number| format!("{number}\n")).collect();
        let last = ["2993", "2994", "2995", "2996", "2997", "2998", "2999", "3000"];
        check(&[&numbers], &[&["… 2992 earlier lines not shown"][..], &last].concat());
        let long = "ü".repeat(1_000);
        let shown = format!("{}… 1600 more characters", "ü".repeat(400));
        check(&[&long, &long, "\n"], &[&shown]);
    }
}
