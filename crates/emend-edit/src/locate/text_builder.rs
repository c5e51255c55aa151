//! Builds a text out of the lines of another: kept ones byte for byte, new ones with an ending that fits in.
//!
//! The endings of new lines are decided here, for every format that leaves them to the file.

use crate::locate::line_table::LineTable;

/// Which ending a new line gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewEol {
    /// The one of the file's first line, as `apply_patch` has it.
    First,
    /// The one of the deleted line it stands for, else of the last one deleted, of the line above or the line below.
    Counterpart,
}

/// A text under construction. Old lines are kept or deleted in order, new ones inserted between.
pub(crate) struct TextBuilder<'a, 't> {
    table: &'t LineTable<'a>,
    new_eol: NewEol,
    out: String,
    n_lines: usize,
    /// The next old line.
    next: usize,
    // The change under way: where its deleted lines start, and the new lines among them.
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
        self.settle();
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

    /// Inserts a line, given without its ending.
    pub(crate) fn insert(&mut self, line: &'a str) {
        self.inserted.push(line);
    }

    /// Ends the change under way: writes its new lines, each with its ending; LF in a file without any.
    pub(crate) fn settle(&mut self) {
        for index in 0..self.inserted.len() {
            let eol = self.eol_of_new(index);
            self.push_line(self.inserted[index], eol);
        }
        self.inserted.clear();
        self.deleted_from = self.next;
    }

    /// Returns how many lines are written so far.
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
        // After a CR, an LF would end that line instead of an empty one of its own.
        let merges = line.is_empty() && eol == "\n" && self.out.ends_with('\r');
        self.out.push_str(line);
        self.out.push_str(if merges { "\r\n" } else { eol });
        self.n_lines += 1;
    }
}
