//! Splits a line into tokens, as strictly as possible.
//!
//! Returns `None` at everything that shells, or versions of bash, read differently: back quotes, `$'…'`, extended globs,
//! several here-documents in a line, and others. The grammar comes from the parser; these tokens only check its result.

use super::lexer::Lexer;
use super::word::Word;

/// A token and its place in the line.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Word(Word),
    Newline,
    /// `;`, `&&`, `(` and others.
    Operator(&'static str),
    /// The operator of a redirection. Its target is the next word.
    Redirection {
        operator: &'static str,
        fd: Option<i32>,
    },
    HereDocument(HereDocument),
    /// `((…))`
    Arithmetic(Word),
}

#[derive(Debug)]
pub(super) struct HereDocument {
    pub(super) strips_tabs: bool,
    delimiter: String,
    is_quoted: bool,
    /// The text as written, without the tabs that the operator removes.
    pub(super) body: String,
    /// The text with its expansions.
    pub(super) word: Word,
}

/// Operators, longer ones first.
const OPERATORS: [&str; 10] = [";;&", ";;", ";&", ";", "&&", "&", "||", "|", "(", ")"];

/// Operators of redirections, longer ones first.
const REDIRECTIONS: [&str; 11] = ["<<<", "<<", "<&", "<>", "<", ">>", ">|", ">&", ">", "&>>", "&>"];

struct Tokenizer<'a> {
    lexer: Lexer<'a>,
    tokens: Vec<Token>,
    /// Index of the here-document whose text starts after the current line.
    pending: Option<usize>,
}

/// Returns the tokens of a line without blanks and comments.
pub(super) fn tokens(source: &str) -> Option<Vec<Token>> {
    let mut tokenizer = Tokenizer { lexer: Lexer::new(source), tokens: Vec::new(), pending: None };
    while tokenizer.token()? {}
    tokenizer.pending.is_none().then_some(tokenizer.tokens)
}

impl Tokenizer<'_> {
    fn push(&mut self, start: usize, kind: Kind) {
        self.tokens.push(Token { start, end: self.lexer.at, kind });
    }

    /// Reads the next token. Returns whether there was one.
    fn token(&mut self) -> Option<bool> {
        self.lexer.skip_blanks();
        let (start, rest) = (self.lexer.at, self.lexer.rest());
        let Some(first) = rest.chars().next() else { return Some(false) };
        if first == '#' {
            self.lexer.at += rest.find('\n').unwrap_or(rest.len());
            return Some(true);
        }
        if self.lexer.skip("\n") {
            self.push(start, Kind::Newline);
            return self.here_document().map(|()| true);
        }
        if rest.starts_with("((") {
            let (end, word) = self.lexer.arithmetic(start + 2)?;
            self.lexer.at = end;
            self.push(start, Kind::Arithmetic(word));
            return Some(true);
        }
        let is_substitution = rest.starts_with("<(") || rest.starts_with(">(");
        // It redirects the command before it.
        if rest.starts_with("|&") {
            return None;
        }
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let redirects = !is_substitution && rest[n_digits..].starts_with(['<', '>']);
        if redirects || rest.starts_with("&>") {
            return self.redirection(start, n_digits).map(|()| true);
        }
        if let Some(operator) = OPERATORS.into_iter().find(|operator| rest.starts_with(operator)) {
            self.lexer.at += operator.len();
            self.push(start, Kind::Operator(operator));
            return Some(true);
        }
        let word = if is_substitution { self.lexer.process_substitution()? } else { self.lexer.word()? };
        let is_split = self.pending.is_some() && self.lexer.source[start..self.lexer.at].contains('\n');
        self.push(start, Kind::Word(word));
        (!is_split).then_some(true)
    }

    fn redirection(&mut self, start: usize, n_digits: usize) -> Option<()> {
        let fd = if n_digits == 0 { None } else { Some(self.lexer.rest()[..n_digits].parse().ok()?) };
        self.lexer.at += n_digits;
        let operator = REDIRECTIONS.into_iter().find(|operator| self.lexer.rest().starts_with(operator))?;
        self.lexer.at += operator.len();
        if operator != "<<" {
            self.push(start, Kind::Redirection { operator, fd });
            return Some(());
        }
        if fd.is_some() || self.pending.is_some() {
            return None;
        }
        let strips_tabs = self.lexer.skip("-");
        self.lexer.skip_blanks();
        let quote = ["'", "\"", "\\", ""].into_iter().find(|quote| self.lexer.skip(quote))?;
        let length = self.lexer.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let delimiter = self.lexer.rest()[..length].to_owned();
        self.lexer.at += length;
        let is_closed = matches!(quote, "" | "\\") || self.lexer.skip(quote);
        if !is_closed || delimiter.is_empty() || !self.lexer.is_at_end_of_word() {
            return None;
        }
        self.pending = Some(self.tokens.len());
        let (is_quoted, body, word) = (!quote.is_empty(), String::new(), Word::default());
        self.push(start, Kind::HereDocument(HereDocument { strips_tabs, delimiter, is_quoted, body, word }));
        Some(())
    }

    /// Reads the text of the pending here-document, if there is one. The next token is the line ending after it.
    fn here_document(&mut self) -> Option<()> {
        let Some(index) = self.pending.take() else { return Some(()) };
        let Some(Token { kind: Kind::HereDocument(document), .. }) = self.tokens.get_mut(index) else { return None };
        loop {
            let rest = self.lexer.source.get(self.lexer.at..)?;
            let length = rest.find('\n').unwrap_or(rest.len());
            let line = &rest[..length];
            let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
            self.lexer.at += length;
            if line == document.delimiter {
                return Some(());
            }
            // A here-document without an end is an error that bash only warns about.
            self.lexer.at += 1;
            self.lexer.source.get(self.lexer.at..)?;
            document.body += line;
            document.body.push('\n');
            match document.is_quoted {
                true => document.word.literal(line),
                false => Lexer::new(line).expanded_line(&mut document.word)?,
            }
            document.word.literal("\n");
        }
    }
}
