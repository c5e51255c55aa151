//! Builds a text from the lines of another one: kept lines byte for byte, new lines with a line ending that fits.
//!
//! This module decides the line endings of new lines, for every format that does not state them.

use crate::locate::line_table::LineTable;

/// Which line ending a new line gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewEol {
    /// That of the first line of the file, as in `apply_patch`.
    First,
    /// That of the deleted line that the new line replaces; otherwise that of the last deleted line, the line above,
    /// or the line below, whichever is first.
    Counterpart,
}

/// A text under construction. Old lines are kept or deleted in order, and new lines are inserted between them.
pub(crate) struct TextBuilder<'a, 't> {
    table: &'t LineTable<'a>,
    new_eol: NewEol,
    out: String,
    n_lines: usize,
    /// Index of the next old line.
    next: usize,
    // The current change: where its deleted lines start, and its new lines.
    deleted_from: usize,
    inserted: Vec<&'a str>,
}

impl<'a, 't> TextBuilder<'a, 't> {
    /// Starts before the first line, with the byte-order mark if there is one.
    pub(crate) fn new(table: &'t LineTable<'a>, new_eol: NewEol) -> Self {
        let mut out = String::with_capacity(table.n_bytes() + 256);
        out.push_str(table.bom());
        Self { table, new_eol, out, n_lines: 0, next: 0, deleted_from: 0, inserted: Vec::new() }
    }

    /// Keeps the old lines before line `index`.
    pub(crate) fn keep_to(&mut self, index: usize) {
        self.end_change();
        let index = index.max(self.next);
        self.out.push_str(self.table.text(self.next..index));
        self.n_lines += index - self.next;
        (self.next, self.deleted_from) = (index, index);
    }

    /// Keeps the next old line.
    pub(crate) fn keep(&mut self) {
        self.keep_to(self.next + 1);
    }

    /// Deletes the next old line.
    pub(crate) fn delete(&mut self) {
        self.next += 1;
    }

    /// Inserts a line, given without line ending.
    pub(crate) fn insert(&mut self, line: &'a str) {
        self.inserted.push(line);
    }

    /// Ends the current change: writes its new lines, each with its line ending. In a file without line endings that
    /// is LF.
    pub(crate) fn end_change(&mut self) {
        for index in 0..self.inserted.len() {
            let eol = self.eol_of_new(index);
            self.push_line(self.inserted[index], eol);
        }
        self.inserted.clear();
        self.deleted_from = self.next;
    }

    /// Returns the number of lines written so far.
    pub(crate) fn n_lines(&self) -> usize {
        self.n_lines
    }

    /// Keeps the remaining lines and returns the text.
    pub(crate) fn finish(mut self) -> String {
        self.keep_to(self.table.len());
        self.out
    }

    fn eol_of_new(&self, index: usize) -> &'a str {
        let ending =
            |line: usize| (line < self.table.len()).then(|| self.table.eol(line)).filter(|eol| !eol.is_empty());
        let deleted = self.deleted_from..self.next;
        let counterpart = || {
            let at = deleted.start + index;
            let own = if at < deleted.end { ending(at) } else { None };
            let above = || deleted.start.checked_sub(1).and_then(ending);
            own.or_else(|| deleted.clone().rev().find_map(ending)).or_else(above).or_else(|| ending(deleted.end))
        };
        let near = if self.new_eol == NewEol::Counterpart { counterpart() } else { None };
        near.or_else(|| ending(0)).unwrap_or("\n")
    }

    fn push_line(&mut self, line: &str, eol: &str) {
        if self.n_lines > 0 && !self.out.ends_with(['\n', '\r']) {
            self.out.push_str(eol);
        }
        // An LF right after a CR would complete a CRLF instead of ending an empty line.
        let merges = line.is_empty() && eol == "\n" && self.out.ends_with('\r');
        self.out.push_str(line);
        self.out.push_str(if merges { "\r\n" } else { eol });
        self.n_lines += 1;
    }
}
