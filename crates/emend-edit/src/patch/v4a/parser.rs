//! Parses v4a patches line by line, whole or as they arrive.
//!
//! Each line is looked at once, and every edit parsed so far can be shown before the patch is complete. A patch may be
//! applied only after [`Parser::finish`] has seen its end.

use crate::diff::LineKind;
use crate::patch::change::{Change, FileEdit, Patch};
use crate::patch::model::Diagnostic;
use crate::patch::v4a::envelope::{self, Envelope};
use crate::patch::v4a::model::V4aHunk;
use crate::patch::v4a::parse_error::V4aParseError;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// Parses a whole patch. Also returns notes about mistakes that were accepted.
///
/// # Errors
/// Fails if the text is not a v4a patch or is cut off. No part of such a patch may be applied.
///
/// ```
/// use emend_edit::patch::v4a;
/// let text = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch\n";
/// let (patch, diagnostics) = v4a::parse(text).unwrap();
/// assert_eq!(patch.paths(), ["a.txt"]);
/// assert!(diagnostics.is_empty());
/// ```
pub fn parse(text: &str) -> Result<(Patch, Vec<Diagnostic>), V4aParseError> {
    let mut parser = Parser::new();
    parser.push(text)?;
    parser.finish()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before `*** Begin Patch`.
    Start,
    /// Directly after it, where an environment may be named.
    Begun,
    /// In an added file.
    Add,
    /// After a deleted file.
    Deleted,
    /// In an updated file.
    Update,
    /// After `*** End Patch`.
    Ended,
}

/// Parses a patch that arrives in pieces, in time linear in its length.
///
/// ```
/// use emend_edit::patch::v4a::Parser;
/// let mut parser = Parser::new();
/// parser.push("*** Begin Patch\n*** Delete Fi").unwrap();
/// assert_eq!(parser.edits().len(), 0);
/// parser.push("le: a.txt\n*** End Patch").unwrap();
/// assert_eq!(parser.edits()[0].path, "a.txt");
/// let (patch, _) = parser.finish().unwrap();
/// assert_eq!(patch.paths(), ["a.txt"]);
/// ```
#[derive(Clone, Debug)]
pub struct Parser {
    state: State,
    patch: Patch,
    diagnostics: Vec<Diagnostic>,
    error: Option<V4aParseError>,
    envelope: Envelope,
    /// Whether anything has arrived. After that, U+FEFF is not a byte-order mark.
    pushed: bool,
    /// Whether the first non-whitespace character was seen, which distinguishes JSON from a patch.
    started: bool,
    /// The text from its start, if it is JSON that contains the patch.
    json: Option<String>,
    /// The start of a line whose end has not arrived.
    partial: String,
    /// Number of the current line.
    line: usize,
    /// Line of the last file header.
    header_line: usize,
    /// Whether `*** End of File` has closed the current hunk.
    hunk_closed: bool,
    /// An indented `*** End Patch` and its line. It is the end of the patch, or context if more text follows.
    pending_end: Option<(String, usize)>,
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Parser {
    /// Returns a parser for a new patch.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::Start,
            patch: Patch::default(),
            diagnostics: Vec::new(),
            error: None,
            envelope: Envelope::default(),
            pushed: false,
            started: false,
            json: None,
            partial: String::new(),
            line: 0,
            header_line: 0,
            hunk_closed: false,
            pending_end: None,
        }
    }

    /// Parses the next piece of the text.
    ///
    /// # Errors
    /// Fails as soon as the text can no longer become a patch, and on every later call.
    pub fn push(&mut self, text: &str) -> Result<(), V4aParseError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let mut rest = text;
        if !self.started {
            if !self.pushed {
                rest = rest.strip_prefix('\u{feff}').unwrap_or(rest);
                self.pushed = !text.is_empty();
            }
            let first = rest.trim_start().chars().next();
            self.started = first.is_some();
            self.json = first.filter(|c| matches!(c, '{' | '[' | '"')).map(|_| String::new());
        }
        if let Some(json) = &mut self.json {
            json.push_str(rest);
            return Ok(());
        }
        while let Some(at) = memchr::memchr(b'\n', rest.as_bytes()) {
            let (head, tail) = (&rest[..at], &rest[at + 1..]);
            let result = if self.partial.is_empty() {
                self.read_line(head)
            } else {
                let mut line = std::mem::take(&mut self.partial);
                line.push_str(head);
                self.read_line(&line)
            };
            result.inspect_err(|error| self.error = Some(error.clone()))?;
            rest = tail;
        }
        self.partial.push_str(rest);
        Ok(())
    }

    /// Returns the edits parsed so far. The last one may still grow.
    #[must_use]
    pub fn edits(&self) -> &[FileEdit] {
        &self.patch.edits
    }

    /// Returns the patch, and notes about mistakes that were accepted.
    ///
    /// # Errors
    /// Fails if the patch is incomplete or if an earlier piece failed.
    pub fn finish(mut self) -> Result<(Patch, Vec<Diagnostic>), V4aParseError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if let Some(json) = self.json {
            return finish_json(&json);
        }
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            self.read_line(&last)?;
        }
        if self.pending_end.is_some() {
            self.end()?;
        }
        match self.state {
            State::Start => Err(V4aParseError::MissingBegin { received: String::new() }),
            State::Ended => Ok((self.patch, self.diagnostics)),
            _ => Err(V4aParseError::MissingEnd { line: self.line }),
        }
    }

    fn read_line(&mut self, line: &str) -> Result<(), V4aParseError> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if self.state != State::Start {
            self.line += 1;
        }
        if self.pending_end.is_some() {
            return self.after_pending_end(line);
        }
        match self.state {
            State::Start => self.start(line.trim()),
            State::Begun | State::Deleted => self.between(line),
            State::Add => match line.strip_prefix('+') {
                Some(content) => {
                    if let Some(Change::Create { text }) = self.patch.edits.last_mut().map(|edit| &mut edit.change) {
                        text.push_str(content);
                        text.push('\n');
                    }
                    Ok(())
                }
                None => self.between(line),
            },
            State::Update => self.update(line),
            State::Ended if line.trim().is_empty() || self.envelope.closes(line) => Ok(()),
            State::Ended => Err(V4aParseError::TextAfterEnd { line: self.line, text: excerpt(line) }),
        }
    }

    fn start(&mut self, line: &str) -> Result<(), V4aParseError> {
        if line.is_empty() {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix(BEGIN)
            && (rest.is_empty() || rest.trim() == "***")
        {
            (self.state, self.line) = (State::Begun, 1);
            if !rest.is_empty() {
                self.note("marker_suffix", "write `*** Begin Patch` without `***` after it".to_owned());
            }
            return Ok(());
        }
        match self.envelope.opens(line) {
            Some(diagnostic) => {
                self.diagnostics.push(diagnostic);
                Ok(())
            }
            None => Err(V4aParseError::MissingBegin { received: excerpt(line) }),
        }
    }

    /// Parses a line where only a file header, or the end, is allowed.
    fn between(&mut self, line: &str) -> Result<(), V4aParseError> {
        let text = line.trim();
        if let Some(id) = text.strip_prefix("*** Environment ID:")
            && self.state == State::Begun
            && self.line == 2
        {
            return match id.trim() {
                "" => Err(V4aParseError::EmptyName { line: self.line, header: text.to_owned() }),
                id => {
                    self.note("environment_id", format!("environment `{id}` is ignored: there is only one here"));
                    Ok(())
                }
            };
        }
        if self.marker(text)? {
            Ok(())
        } else {
            Err(V4aParseError::NotAHeader { line: self.line, text: excerpt(line) })
        }
    }

    /// Parses `text` if it is a file header or the end of the patch.
    fn marker(&mut self, text: &str) -> Result<bool, V4aParseError> {
        if let Some(rest) = text.strip_prefix(END)
            && (rest.is_empty() || rest.trim() == "***")
        {
            if !rest.is_empty() {
                self.note("marker_suffix", "write `*** End Patch` without `***` after it".to_owned());
            }
            self.end()?;
            return Ok(true);
        }
        let headers = [
            ("*** Add File:", State::Add, Change::Create { text: String::new() }),
            ("*** Delete File:", State::Deleted, Change::Delete),
            ("*** Update File:", State::Update, Change::Update { move_to: None, hunks: Vec::new() }),
        ];
        for (header, state, change) in headers {
            let Some(path) = text.strip_prefix(header) else { continue };
            self.close_edit()?;
            let path = self.name(path, text)?;
            self.patch.edits.push(FileEdit { path, change });
            (self.state, self.header_line, self.hunk_closed) = (state, self.line, false);
            return Ok(true);
        }
        Ok(false)
    }

    fn name(&self, name: &str, header: &str) -> Result<String, V4aParseError> {
        match name.trim() {
            "" => Err(V4aParseError::EmptyName { line: self.line, header: header.to_owned() }),
            name => Ok(name.to_owned()),
        }
    }

    fn end(&mut self) -> Result<(), V4aParseError> {
        self.close_edit()?;
        self.pending_end = None;
        self.state = State::Ended;
        Ok(())
    }

    /// Checks that the last edit is complete.
    fn close_edit(&self) -> Result<(), V4aParseError> {
        let Some(FileEdit { path, change: Change::Update { move_to, hunks } }) = self.patch.edits.last() else {
            return Ok(());
        };
        match hunks.last() {
            Some(hunk) if hunk.lines.is_empty() => Err(V4aParseError::EmptyHunk { line: self.line }),
            None if move_to.is_none() => Err(V4aParseError::EmptyUpdate { line: self.header_line, path: path.clone() }),
            _ => Ok(()),
        }
    }

    fn update(&mut self, line: &str) -> Result<(), V4aParseError> {
        let (number, closed) = (self.line, self.hunk_closed);
        let (kind, content) = match line.bytes().next() {
            None => (LineKind::Context, ""),
            Some(b'+') => (LineKind::Added, &line[1..]),
            Some(b'-') => (LineKind::Removed, &line[1..]),
            Some(b' ' | b'\t') if line.trim() == END => {
                self.pending_end = Some((line.to_owned(), number));
                return Ok(());
            }
            Some(b' ') => (LineKind::Context, &line[1..]),
            Some(b'*') => return self.update_marker(line.trim_end()),
            Some(b'@') if line.starts_with("@@ ") || line.trim_end() == "@@" => {
                return self.hunk_header(line.trim_end());
            }
            Some(_) => return Err(V4aParseError::UnexpectedLine { line: number, text: excerpt(line) }),
        };
        let Some(hunks) = self.hunks() else { return Ok(()) };
        if closed || hunks.is_empty() {
            // Empty lines between a header and its first hunk, or after the end of the file, are spacing of the patch.
            if line.is_empty() || (closed && line.trim().is_empty()) {
                return Ok(());
            }
            if closed {
                return Err(V4aParseError::UnexpectedLine { line: number, text: excerpt(line) });
            }
            hunks.push(V4aHunk { patch_line: number, ..V4aHunk::default() });
        }
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(kind, content);
        }
        Ok(())
    }

    /// Parses a line below an indented `*** End Patch`, which was the end only if nothing but whitespace follows.
    fn after_pending_end(&mut self, line: &str) -> Result<(), V4aParseError> {
        if line.trim().is_empty() {
            return Ok(());
        }
        if self.envelope.closes(line) {
            return self.end();
        }
        let Some((end, at)) = self.pending_end.take() else { return Ok(()) };
        let Some(content) = end.strip_prefix(' ').filter(|_| !self.hunk_closed) else {
            return Err(V4aParseError::UnexpectedLine { line: at, text: excerpt(&end) });
        };
        let n_blank = self.line - at - 1;
        if let Some(hunks) = self.hunks() {
            if hunks.is_empty() {
                hunks.push(V4aHunk { patch_line: at, ..V4aHunk::default() });
            }
            if let Some(hunk) = hunks.last_mut() {
                hunk.lines.push(LineKind::Context, content);
                (0..n_blank).for_each(|_| hunk.lines.push(LineKind::Context, ""));
            }
        }
        self.update(line)
    }

    fn update_marker(&mut self, text: &str) -> Result<(), V4aParseError> {
        let line = self.line;
        if text == END_OF_FILE {
            return match self.hunks().and_then(|hunks| hunks.last_mut()) {
                Some(hunk) if !hunk.lines.is_empty() => {
                    hunk.end_of_file = true;
                    self.hunk_closed = true;
                    Ok(())
                }
                _ => Err(V4aParseError::EmptyHunk { line }),
            };
        }
        if let Some(path) = text.strip_prefix("*** Move to:") {
            let path = self.name(path, text)?;
            return match self.patch.edits.last_mut().map(|edit| &mut edit.change) {
                Some(Change::Update { move_to: target @ None, hunks }) if hunks.is_empty() => {
                    *target = Some(path);
                    Ok(())
                }
                _ => Err(V4aParseError::MisplacedMove { line }),
            };
        }
        if self.marker(text)? { Ok(()) } else { Err(V4aParseError::UnexpectedLine { line, text: excerpt(text) }) }
    }

    fn hunk_header(&mut self, text: &str) -> Result<(), V4aParseError> {
        let line = self.line;
        let mut anchor = text.strip_prefix("@@ ").unwrap_or_default();
        if envelope::is_unified_header(text) {
            self.note("unified_header", format!("`{text}`: line numbers are ignored; write `@@` or `@@ line above`"));
            anchor = "";
        }
        let Some(hunks) = self.hunks() else { return Ok(()) };
        match hunks.last_mut().filter(|hunk| hunk.lines.is_empty()) {
            Some(_) if anchor.is_empty() => return Err(V4aParseError::UnexpectedLine { line, text: text.to_owned() }),
            Some(hunk) => hunk.anchors.push(anchor.to_owned()),
            None => {
                let anchors = Some(anchor.to_owned()).filter(|anchor| !anchor.is_empty()).into_iter().collect();
                hunks.push(V4aHunk { anchors, patch_line: line, ..V4aHunk::default() });
            }
        }
        self.hunk_closed = false;
        Ok(())
    }

    fn hunks(&mut self) -> Option<&mut Vec<V4aHunk>> {
        match self.patch.edits.last_mut().map(|edit| &mut edit.change) {
            Some(Change::Update { hunks, .. }) => Some(hunks),
            _ => None,
        }
    }

    fn note(&mut self, code: &'static str, message: String) {
        self.diagnostics.push(Diagnostic { code, message, line: Some(self.line) });
    }
}

fn finish_json(json: &str) -> Result<(Patch, Vec<Diagnostic>), V4aParseError> {
    let Some(text) = envelope::patch_in_json(json) else {
        return Err(V4aParseError::MissingBegin { received: excerpt(json.trim_start()) });
    };
    let mut parser = Parser::new();
    parser.push(&text)?;
    let (patch, mut diagnostics) = parser.finish()?;
    let message = "send the patch itself, not JSON that holds it".to_owned();
    diagnostics.insert(0, Diagnostic { code: "json_wrapped", message, line: None });
    Ok((patch, diagnostics))
}

/// Returns the start of a line, short enough for an error message.
fn excerpt(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
