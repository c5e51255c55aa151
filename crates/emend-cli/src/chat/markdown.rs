//! Lays out streamed Markdown for a terminal, block by block: a block is printed once it is complete.
//!
//! The text comes from the model, so control characters are escaped.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::style::{self, Painter, Style, combined};
use crate::visible::visible;
use crate::wrap::{Span, columns, fitting_bytes, truncated, wrap, wrap_text};

/// Markdown that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct Stream {
    rest: String,
    /// Whether a block was printed, so that the next one needs an empty line before it.
    any: bool,
    /// Length of `rest` from which it is worth to look for complete blocks again.
    next_look: usize,
    /// Bytes that were looked at so far.
    #[cfg(test)]
    work: std::cell::Cell<usize>,
}

/// Up to this length the text of an incomplete block is parsed with each line. Longer texts are parsed when they have
/// grown by half, so that the work stays proportional to the text.
const PARSE_EACH_LINE_BYTES: usize = 4 << 10;

/// Bytes at the end of an incomplete block that are laid out while it grows.
const UNFINISHED_BYTES: usize = 16 << 10;

impl Stream {
    /// Adds a piece and returns the lines of the blocks that it completes.
    pub(super) fn push(&mut self, piece: &str, painter: Painter, width: usize) -> Vec<String> {
        self.rest.push_str(piece);
        // A block can only end at the end of a line.
        if !piece.contains('\n') || self.rest.len() < self.next_look {
            return Vec::new();
        }
        self.note_work(self.rest.len());
        let length = self.rest.len();
        self.next_look = if length < PARSE_EACH_LINE_BYTES { 0 } else { length + length / 2 };
        let Some(last) = blocks(&self.rest).pop().filter(|last| last.start > 0) else { return Vec::new() };
        let finished: String = self.rest.drain(..last.start).collect();
        self.next_look = 0;
        self.set_off(&finished, painter, width)
    }

    /// Returns the lines of the remaining text.
    pub(super) fn finish(&mut self, painter: Painter, width: usize) -> Vec<String> {
        let rest = std::mem::take(&mut self.rest);
        let lines = self.set_off(&rest, painter, width);
        (self.any, self.next_look) = (false, 0);
        lines
    }

    fn set_off(&mut self, text: &str, painter: Painter, width: usize) -> Vec<String> {
        let mut lines = render(text, painter, width);
        if !lines.is_empty() && std::mem::replace(&mut self.any, true) {
            lines.insert(0, String::new());
        }
        lines
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "only tests count"))]
    fn note_work(&self, _n_bytes: usize) {
        #[cfg(test)]
        self.work.set(self.work.get() + _n_bytes);
    }

    /// Returns the end of the source text of the incomplete block, in lines of at most `width` columns.
    pub(super) fn unfinished(&self, width: usize) -> Vec<String> {
        let text = self.rest.trim_end();
        let mut begin = text.len().saturating_sub(UNFINISHED_BYTES);
        while !text.is_char_boundary(begin) {
            begin += 1;
        }
        self.note_work(text.len() - begin);
        let lines = text[begin..].lines();
        lines.flat_map(|line| wrap_text(&visible(line), Style::new(), Painter::OFF, width, "", "")).collect()
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Returns the ranges of the blocks of a text.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    blocks.push(range);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => blocks.push(range),
            _ => {}
        }
    }
    blocks
}

/// Lays out a text in lines of at most `width` columns. Cells of wide tables are wrapped.
pub(super) fn render(text: &str, painter: Painter, width: usize) -> Vec<String> {
    let mut layout = Layout {
        painter,
        width,
        lines: Vec::new(),
        spans: Vec::new(),
        styles: Vec::new(),
        nest: Vec::new(),
        table: None,
        link: None,
        code: None,
        begins_quote: false,
    };
    for event in Parser::new_ext(text, options()) {
        layout.event(event);
    }
    layout.lines
}

/// A block that contains other blocks.
#[derive(Debug)]
enum Nest {
    Quote,
    /// The number of the next item, `None` for a list with bullets.
    List(Option<u64>),
    /// The bullet or number for its first line, until that is written.
    Item {
        mark: Option<String>,
        indent: usize,
    },
}

/// The rows of a table with their cells.
type Table = Vec<Vec<String>>;

struct Layout {
    painter: Painter,
    width: usize,
    lines: Vec<String>,
    spans: Vec<Span>,
    /// The styles around the current position, outermost first.
    styles: Vec<Style>,
    nest: Vec<Nest>,
    table: Option<Table>,
    /// The address of the open link, and the index of its first span.
    link: Option<(String, usize)>,
    code: Option<String>,
    /// Whether a quote was opened and is still empty.
    begins_quote: bool,
}

impl Layout {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.span(&text, None),
            },
            Event::Code(text) => self.span(&text, Some(style::CYAN)),
            Event::SoftBreak => self.span(" ", None),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                let rule = self.painter.paint(style::DIM, &"─".repeat(self.width.min(40)));
                self.line(&rule);
            }
            Event::TaskListMarker(done) => self.span(if done { "[x] " } else { "[ ] " }, None),
            Event::Html(text) | Event::InlineHtml(text) => self.span(text.trim_end(), Some(style::DIM)),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.span(&text, None)
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.styles.push(style::BOLD);
                if level == HeadingLevel::H1 {
                    self.styles.push(style::UNDERLINE);
                }
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.nest.push(Nest::Quote);
                self.begins_quote = true;
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let language = self.painter.paint(style::DIM, &visible(&language));
                    self.line(&language);
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.flush();
                if self.nest.is_empty() {
                    self.gap();
                }
                self.nest.push(Nest::List(first));
            }
            Tag::Item => {
                let mark = match self.nest.last_mut() {
                    Some(Nest::List(Some(number))) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let indent = mark.width();
                self.nest.push(Nest::Item { mark: Some(mark), indent });
            }
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styles.push(style::ITALIC),
            Tag::Strong => self.styles.push(style::BOLD),
            Tag::Strikethrough => self.styles.push(style::STRIKETHROUGH),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), self.spans.len()));
                self.styles.push(style::UNDERLINE);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(level) => {
                self.flush();
                self.styles.truncate(self.styles.len().saturating_sub(if level == HeadingLevel::H1 { 2 } else { 1 }));
            }
            TagEnd::CodeBlock => {
                for line in self.code.take().unwrap_or_default().replace('\t', "    ").lines() {
                    self.code_line(&visible(line));
                }
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => {
                self.flush();
                self.nest.pop();
            }
            TagEnd::TableCell => {
                let cell: String = self.spans.drain(..).map(|span| span.text).collect();
                if let Some(row) = self.table.as_mut().and_then(|table| table.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.draw_table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some((address, from)) = self.link.take() {
                    let shown: String = self.spans[from..].iter().map(|span| span.text.as_str()).collect();
                    if !address.is_empty() && shown != address {
                        self.span(&format!(" ({address})"), Some(style::DIM));
                    }
                }
            }
            _ => {}
        }
    }

    fn span(&mut self, text: &str, style: Option<Style>) {
        let style = self.styles.iter().copied().chain(style).reduce(combined).unwrap_or_default();
        self.spans.push(Span { text: visible(text), style });
    }

    /// Adds an empty line before a block, unless the block is the first of an item or a quote.
    fn gap(&mut self) {
        self.flush();
        let begins_item = matches!(self.nest.last(), Some(Nest::Item { mark: Some(_), .. }));
        let begins_quote = std::mem::take(&mut self.begins_quote);
        if !self.lines.is_empty() && !begins_item && !begins_quote {
            let (_, rest) = self.indent();
            self.lines.push(rest.trim_end().to_owned());
        }
    }

    /// Wraps the collected spans into lines.
    fn flush(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.iter().all(|span| span.text.trim().is_empty()) {
            return;
        }
        let (first, rest) = self.indent();
        self.lines.extend(wrap(&spans, self.painter, self.width, &first, &rest));
    }

    /// Adds a line of code. A line that is wider than the terminal continues with a mark at its own indent.
    fn code_line(&mut self, line: &str) {
        let (_, rest) = self.indent();
        let room = self.width.saturating_sub(columns(&rest) + 2).max(8);
        let own = line.len() - line.trim_start().len();
        let indent = " ".repeat(own.min(room / 2));
        let mut left = line;
        let mut begin = String::new();
        loop {
            let cut = fitting_bytes(left, room - columns(&begin));
            let text = self.painter.paint(style::CYAN, &left[..cut]);
            self.line(&format!("  {begin}{text}"));
            left = &left[cut..];
            if left.is_empty() {
                return;
            }
            begin = format!("{indent}{}", self.painter.paint(style::DIM, "↪ "));
        }
    }

    /// Adds a line without wrapping it.
    fn line(&mut self, text: &str) {
        let (first, _) = self.indent();
        self.lines.push(format!("{first}{text}").trim_end().to_owned());
    }

    /// Returns the indents of the next line and of the lines after it. Bullets and numbers are returned once.
    fn indent(&mut self) -> (String, String) {
        let (mut first, mut rest) = (String::new(), String::new());
        for nest in &mut self.nest {
            match nest {
                Nest::Quote => {
                    let bar = self.painter.paint(style::DIM, "│ ");
                    first.push_str(&bar);
                    rest.push_str(&bar);
                }
                Nest::List(_) => {}
                Nest::Item { mark, indent } => {
                    let blank = " ".repeat(*indent);
                    first.push_str(&mark.take().unwrap_or_else(|| blank.clone()));
                    rest.push_str(&blank);
                }
            }
        }
        (first, rest)
    }

    fn draw_table(&mut self) {
        let table = self.table.take().unwrap_or_default();
        let n_columns = table.iter().map(Vec::len).max().unwrap_or_default();
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let mut widths: Vec<usize> = (0..n_columns)
            .map(|column| table.iter().map(|row| cell(row, column).width()).max().unwrap_or_default())
            .collect();
        let (_, rest) = self.indent();
        let room = self.width.saturating_sub(columns(&rest) + 2 * n_columns.saturating_sub(1));
        // The widest columns give way first.
        let mut too_many = widths.iter().sum::<usize>().saturating_sub(room);
        while let Some(widest) = widths.iter_mut().max().filter(|width| too_many > 0 && **width > CELL_COLUMNS_MIN) {
            *widest -= 1;
            too_many -= 1;
        }
        for (index, row) in table.iter().enumerate() {
            let style = if index == 0 { style::BOLD } else { Style::new() };
            let cells: Vec<Vec<String>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| wrap_text(&cell(row, column), style, self.painter, (*width).max(1), "", ""))
                .collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or_default() {
                let texts = cells.iter().zip(&widths).map(|(lines, width)| {
                    let text = lines.get(at).cloned().unwrap_or_default();
                    let blank = " ".repeat(width.saturating_sub(columns(&text)));
                    text + &blank
                });
                let line = texts.collect::<Vec<_>>().join("  ");
                self.line(&truncated(line.trim_end(), self.width));
            }
        }
    }
}

/// Columns that a cell of a wide table keeps.
const CELL_COLUMNS_MIN: usize = 6;

#[cfg(test)]
mod tests;
