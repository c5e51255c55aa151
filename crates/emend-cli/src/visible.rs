//! Text from models, commands and files, made safe for a terminal.
//!
//! A control character can set the title, move the cursor or hide a part of the output. Data for programs, such as a diff
//! or an answer, stays as it is where standard output is not a terminal. Text for people is made safe everywhere: a pipe
//! or a log can lead to a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, StderrLock, StdoutLock, Write};

/// Escapes control characters of a line, so that they do not reach the terminal.
pub(crate) fn visible(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for char in line.chars() {
        match char {
            '\t' => text.push(char),
            char if char.is_control() => text.extend(char.escape_default()),
            char if turns(char) || hides(char) || breaks(char) => text.extend(char.escape_unicode()),
            char => text.push(char),
        }
    }
    text
}

/// Returns a line of a command's output without the sequences that set colours. Others stay, and [`visible`] shows them.
pub(crate) fn without_colours(line: &str) -> Cow<'_, str> {
    const START: &str = "\u{1b}[";
    if !line.contains(START) {
        return Cow::Borrowed(line);
    }
    let (mut plain, mut rest) = (String::with_capacity(line.len()), line);
    while let Some((before, after)) = rest.split_once(START) {
        plain.push_str(before);
        let end = after.find(|char: char| !char.is_ascii_digit() && !matches!(char, ';' | ':'));
        rest = match end.map(|end| after.split_at(end)) {
            Some((_, colour)) if colour.starts_with('m') => &colour[1..],
            _ => {
                plain.push_str(START);
                after
            }
        };
    }
    Cow::Owned(plain + rest)
}

/// As [`visible`], with the characters that join others escaped, too: in a question, every character counts.
pub(crate) fn visible_whole(line: &str) -> String {
    visible(line).replace('\u{200c}', "\\u{200c}").replace('\u{200d}', "\\u{200d}")
}

/// Returns whether a character changes the direction of writing, which can make a command look like another one.
fn turns(char: char) -> bool {
    matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character ends a line or paragraph for some programs, and not for others.
fn breaks(char: char) -> bool {
    matches!(char, '\u{2028}' | '\u{2029}')
}

/// Returns whether a character is drawn as nothing or as a blank, so that two different texts look the same. The joiners
/// of letters and emoji are not among them.
fn hides(char: char) -> bool {
    matches!(
        char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Escapes the control characters of a text of several lines, see [`visible`].
pub(crate) fn visible_lines(text: &str) -> String {
    let line = |line: &str| match line.strip_suffix('\n') {
        Some(line) => visible(line.strip_suffix('\r').unwrap_or(line)) + "\n",
        None => visible(line),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Escapes the characters of JSON text that a terminal could obey. The JSON stays the same.
pub(crate) fn visible_json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\t' => shown.push(char),
            char if char.is_control() || turns(char) || hides(char) || breaks(char) => {
                shown.extend(char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
            }
            char => shown.push(char),
        }
    }
    shown
}

/// A stream to which text is written as it is, or made safe for a terminal.
pub(crate) struct Guarded<W> {
    inner: W,
    is_on: bool,
}

impl<W: Write> Guarded<W> {
    pub(crate) fn new(inner: W, is_on: bool) -> Self {
        Self { inner, is_on }
    }

    /// Writes a text without control characters of others, such as a styled line of the program.
    pub(crate) fn write_own(&mut self, text: &str) -> io::Result<()> {
        self.inner.write_all(text.as_bytes())
    }

    /// Writes JSON text and a line feed.
    pub(crate) fn write_json(&mut self, text: &str) -> io::Result<()> {
        let text = if self.is_on { visible_json(text) } else { text.to_owned() };
        self.inner.write_all((text + "\n").as_bytes())
    }
}

/// Returns standard output, made safe if it is a terminal.
pub(crate) fn stdout() -> Guarded<StdoutLock<'static>> {
    Guarded::new(io::stdout().lock(), io::stdout().is_terminal())
}

/// Returns standard output for a text that only people read, made safe.
pub(crate) fn listing() -> Guarded<StdoutLock<'static>> {
    Guarded::new(io::stdout().lock(), true)
}

/// Returns standard error, made safe.
pub(crate) fn stderr() -> Guarded<StderrLock<'static>> {
    Guarded::new(io::stderr().lock(), true)
}

impl<W: Write> Write for Guarded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.is_on {
            true => self.inner.write_all(visible_lines(&String::from_utf8_lossy(bytes)).as_bytes())?,
            false => self.inner.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_commands_are_left_out() {
        for (line, expected) in [
            ("plain", "plain"),
            ("\u{1b}[1;31mred\u{1b}[0m\u{1b}[m", "red"),
            ("\u{1b}[38:5:1mred", "red"),
            // Other sequences are shown.
            ("a\u{1b}[2Jb\u{1b}[31", "a\u{1b}[2Jb\u{1b}[31"),
            ("\u{1b}[\u{1b}[31mx\u{1b}", "\u{1b}[x\u{1b}"),
        ] {
            assert_eq!(without_colours(line), expected, "{line:?}");
        }
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let guarded = |text: &str, is_on: bool| {
            let mut written = Vec::new();
            Guarded::new(&mut written, is_on).write_all(text.as_bytes()).unwrap();
            String::from_utf8(written).unwrap()
        };
        for (text, expected) in [
            ("a\u{1b}]0;x\u{7}b\n", "a\\u{1b}]0;x\\u{7}b\n"),
            ("a\u{9b}31mb", "a\\u{9b}31mb"),
            ("a\r\nb\rc\td\u{7f}", "a\nb\\rc\td\\u{7f}"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
            ("grün 日本\n", "grün 日本\n"),
            ("r\u{200b}m\u{ad}\u{feff}", "r\\u{200b}m\\u{ad}\\u{feff}"),
            ("\u{3164}\u{115f}\u{e0041}", "\\u{3164}\\u{115f}\\u{e0041}"),
            ("👩\u{200d}💻", "👩\u{200d}💻"),
        ] {
            assert_eq!((guarded(text, true).as_str(), guarded(text, false).as_str()), (expected, text));
        }
        let json = serde_json::json!({ "a": "\u{1b}[31m\u{9b}\u{202e}\u{7f}ü\n\u{200b}\u{e0041}" }).to_string();
        let shown = visible_json(&json);
        assert_eq!(shown, r#"{"a":"\u001b[31m\u009b\u202e\u007fü\n\u200b\udb40\udc41"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap().to_string(), json);
    }
}
