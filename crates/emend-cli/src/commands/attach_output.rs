//! The output of commands in an attached terminal: each line when it is complete, up to a number of lines for each call.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Lines of one call that are shown.
const LINES_MAX: usize = 200;

/// Characters of a line that are shown.
const LINE_CHARS_MAX: usize = 400;

/// The open lines of running commands, by the ID of the call.
#[derive(Debug, Default)]
pub(super) struct LiveOutput {
    calls: BTreeMap<String, Open>,
}

#[derive(Debug, Default)]
struct Open {
    line: String,
    n_lines: usize,
}

impl Open {
    fn end_line(&mut self, shown: &mut String) {
        let line = std::mem::take(&mut self.line);
        self.n_lines += 1;
        if self.n_lines <= LINES_MAX {
            let text: String = line.trim_end_matches('\r').chars().take(LINE_CHARS_MAX).collect();
            let _ = writeln!(shown, "  │ {text}");
        }
    }
}

impl LiveOutput {
    /// Takes the next piece of an output. Returns the lines that are complete now.
    pub(super) fn push(&mut self, call: &str, delta: &str) -> String {
        let open = self.calls.entry(call.to_owned()).or_default();
        let mut shown = String::new();
        for piece in delta.split_inclusive('\n') {
            let text = piece.trim_end_matches('\n');
            // The rest of a long line is not kept.
            let n_free = (LINE_CHARS_MAX + 1).saturating_sub(open.line.chars().count());
            open.line.extend(text.chars().take(n_free));
            if piece.ends_with('\n') {
                open.end_line(&mut shown);
            }
        }
        shown
    }

    /// Ends the output of a call. Returns its last line, and the number of lines that were not shown.
    pub(super) fn end(&mut self, call: &str) -> String {
        let mut shown = String::new();
        let Some(mut open) = self.calls.remove(call) else { return shown };
        if !open.line.is_empty() {
            open.end_line(&mut shown);
        }
        match open.n_lines.saturating_sub(LINES_MAX) {
            0 => {}
            1 => shown += "  │ … 1 more line\n",
            n_more => drop(writeln!(shown, "  │ … {n_more} more lines")),
        }
        shown
    }
}

/// The message that the model writes. After a restart of the server it begins anew, and what was shown is not shown again.
#[derive(Debug, Default)]
pub(super) struct MessageText {
    /// The text of the message so far.
    text: String,
    /// The text that was shown before the message began anew, as far as it did not come again.
    shown_before: String,
}

impl MessageText {
    /// Begins a message.
    pub(super) fn begin(&mut self) {
        self.text.clear();
    }

    /// Begins the message anew that was interrupted.
    pub(super) fn begin_again(&mut self) {
        if self.shown_before.is_empty() {
            self.shown_before = std::mem::take(&mut self.text);
        }
        self.text.clear();
    }

    /// Takes more text. Returns what to show: nothing of a text that was shown, and the whole text if it differs.
    pub(super) fn push(&mut self, delta: &str) -> String {
        self.text += delta;
        if self.shown_before.is_empty() {
            return delta.to_owned();
        }
        if self.shown_before.starts_with(&self.text) {
            return String::new();
        }
        let before = std::mem::take(&mut self.shown_before);
        match self.text.strip_prefix(&before) {
            Some(rest) => rest.to_owned(),
            None => format!("\n{}", self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_begins_anew_is_shown_once() {
        let mut message = MessageText::default();
        message.begin();
        assert_eq!((message.push("The "), message.push("sky")), ("The ".to_owned(), "sky".to_owned()));
        for _ in 0..2 {
            message.begin_again();
            message.begin();
            assert_eq!(message.push("The s"), "");
        }
        assert_eq!((message.push("ky is"), message.push(" blue")), (" is".to_owned(), " blue".to_owned()));
        message.begin_again();
        message.begin();
        assert_eq!((message.push("The"), message.push("re")), (String::new(), "\nThere".to_owned()));
        assert_eq!(message.push(" it is"), " it is");
    }

    #[test]
    fn complete_lines_are_shown_at_once_and_the_rest_at_the_end() {
        let mut output = LiveOutput::default();
        assert_eq!(output.push("1", "a"), "");
        assert_eq!(output.push("2", "other\r\n"), "  │ other\n");
        assert_eq!(output.push("1", "b\n\nc"), "  │ ab\n  │ \n");
        assert_eq!(
            (output.end("1"), output.end("2"), output.end("3")),
            ("  │ c\n".to_owned(), String::new(), String::new())
        );
    }

    #[test]
    fn a_flood_is_cut_and_counted() {
        let mut output = LiveOutput::default();
        let shown = output.push("1", &"x\n".repeat(LINES_MAX + 2));
        assert_eq!(shown.lines().count(), LINES_MAX);
        assert_eq!(output.end("1"), "  │ … 2 more lines\n");
        assert_eq!(output.push("1", &("ü".repeat(LINE_CHARS_MAX + 9) + "\n")).chars().count(), LINE_CHARS_MAX + 5);
    }
}
