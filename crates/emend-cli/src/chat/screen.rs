//! The screen during a run: printed lines scroll up, and live lines below them are redrawn.
//!
//! Each live line is truncated to the width of the terminal. It takes one row, so that the next drawing knows how far
//! to move up. A terminal that cannot move its cursor gets no live lines.

use std::io::{self, Write};

use crossterm::cursor::MoveUp;
use crossterm::terminal::{Clear, ClearType};

use crate::failure::Failure;
use crate::style::{self, Painter, Style};
use crate::terminal::{PASTE_MARKS_OFF, PASTE_MARKS_ON};
use crate::visible::visible;
use crate::wrap::{columns, truncated, wrap_text};

/// The terminal that a run is shown on.
pub(super) struct Screen<O> {
    out: O,
    pub(super) painter: Painter,
    /// Whether the terminal can redraw lines.
    is_live: bool,
    /// The live lines on the terminal.
    live: Vec<String>,
    size: fn() -> (usize, usize),
}

impl<O: Write> Screen<O> {
    pub(super) fn new(out: O, painter: Painter, is_live: bool, size: fn() -> (usize, usize)) -> Self {
        Self { out, painter, is_live, live: Vec::new(), size }
    }

    /// Returns the columns of a line: one less than the terminal has, since a full line may wrap.
    pub(super) fn width(&self) -> usize {
        (self.size)().0.saturating_sub(1).max(1)
    }

    /// Returns the number of rows.
    pub(super) fn height(&self) -> usize {
        (self.size)().1.max(1)
    }

    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Prints lines above the live lines.
    pub(super) fn print(&mut self, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = self.erased();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(&drawn(&self.live));
        self.write(&text)
    }

    /// Prints text, wrapped at spaces and indented by `indent` columns.
    pub(super) fn say(&mut self, indent: usize, text: &str, style: Style) -> io::Result<()> {
        let margin = " ".repeat(indent);
        let (painter, width) = (self.painter, self.width());
        let lines = text.lines().flat_map(|line| wrap_text(line, style, painter, width, &margin, &margin));
        self.print(&lines.collect::<Vec<_>>())
    }

    /// Prints a failure and its suggestions.
    pub(super) fn fail(&mut self, failure: &Failure) -> io::Result<()> {
        let shown = |text: &str| text.lines().map(visible).collect::<Vec<_>>().join("\n");
        self.say(0, &shown(&failure.line()), style::RED)?;
        failure
            .suggestions
            .iter()
            .try_for_each(|suggestion| self.say(2, &format!("try: {}", shown(suggestion)), Style::new()))
    }

    /// Replaces the live lines. Only those that fit the terminal are drawn, the last ones.
    pub(super) fn draw(&mut self, mut lines: Vec<String>) -> io::Result<()> {
        if !self.is_live {
            return Ok(());
        }
        let (width, height) = (self.width(), self.height());
        lines.drain(..lines.len().saturating_sub(height.saturating_sub(1).max(1)));
        for line in &mut lines {
            *line = truncated(line, width);
        }
        if lines == self.live {
            return Ok(());
        }
        let text = self.erased() + &drawn(&lines);
        self.live = lines;
        self.write(&text)
    }

    /// Switches bracketed paste on or off. It distinguishes the lines of a pasted text from entered lines.
    pub(super) fn mark_pastes(&mut self, on: bool) -> io::Result<()> {
        match (self.is_live, on) {
            (false, _) => Ok(()),
            (true, true) => self.write(PASTE_MARKS_ON),
            (true, false) => self.write(PASTE_MARKS_OFF),
        }
    }

    /// Forgets the live lines without erasing them: something else was printed since, and the cursor moved.
    pub(super) fn forget(&mut self) {
        self.live.clear();
    }

    /// Erases the live lines.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.draw(Vec::new())
    }

    /// Returns the escape sequence that erases the live lines and moves the cursor to their start.
    ///
    /// Terminals that became narrower since have wrapped the lines.
    fn erased(&self) -> String {
        let width = (self.size)().0.max(1);
        match self.live.iter().map(|line| columns(line).div_ceil(width).max(1)).sum::<usize>() {
            0 => String::new(),
            // On a terminal of one row, some terminals scroll up what is erased to the end of the screen.
            1 => format!("\r{}", Clear(ClearType::UntilNewLine)),
            n => format!("\r{}{}", MoveUp(u16::try_from(n - 1).unwrap_or(u16::MAX)), Clear(ClearType::FromCursorDown)),
        }
    }

    /// Writes text unchanged.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// Returns the text that draws live lines. The cursor stays at the end of the last one.
fn drawn(lines: &[String]) -> String {
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_lines_are_drawn_over_and_what_is_printed_stays_above() {
        let mut screen = Screen::new(Vec::new(), Painter::new(false), true, || (11, 4));
        screen.draw(vec!["a".to_owned(), "work".to_owned()]).unwrap();
        screen.print(&["said".to_owned()]).unwrap();
        screen.draw(vec!["0123456789abc".to_owned()]).unwrap();
        screen.clear().unwrap();
        screen.print(&["end".to_owned()]).unwrap();
        let written = String::from_utf8(screen.out).unwrap();
        let mut terminal = vt100::Parser::new(4.try_into().unwrap(), 11.try_into().unwrap(), 0);
        let at = written.find("0123456789").unwrap() + 10;
        // The terminal driver of the system translates line feeds; this emulator has none.
        let system = |text: &str| text.replace('\n', "\r\n");
        terminal.process(system(&written[..at]).as_bytes());
        assert_eq!(terminal.screen().contents(), "said\n0123456789");
        terminal.process(system(&written[at..]).as_bytes());
        assert_eq!(terminal.screen().contents(), "said\nend");
    }

    #[test]
    fn what_a_narrower_terminal_broke_is_taken_away_too() {
        thread_local! {
            static COLUMNS: std::cell::Cell<usize> = const { std::cell::Cell::new(20) };
        }
        let mut screen = Screen::new(Vec::new(), Painter::new(false), true, || (COLUMNS.get(), 9));
        screen.draw(vec!["0123456789abcdefghi".to_owned(), "日本語".to_owned()]).unwrap();
        COLUMNS.set(5);
        screen.clear().unwrap();
        assert!(screen.out.ends_with(b"\r\x1b[5A\x1b[J"), "{:?}", String::from_utf8_lossy(&screen.out));
    }
}
