//! A position in a line.

/// Depth to which command lines inside of a command line are read.
pub(super) const DEPTH_MAX: usize = 12;

/// Reads a line from its start to its end.
pub(super) struct Lexer<'a> {
    pub(super) source: &'a str,
    pub(super) at: usize,
    /// Number of substitutions around this place.
    pub(super) depth: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0, depth: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    /// Moves behind `text` if the rest starts with it.
    pub(super) fn skip(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.skip(" ") || self.skip("\t") || self.skip("\\\n") {}
    }

    pub(super) fn is_at_end_of_word(&self) -> bool {
        self.rest().chars().next().is_none_or(ends_word)
    }
}

/// Returns whether a character ends a word.
pub(super) fn ends_word(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}
