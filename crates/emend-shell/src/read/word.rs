//! Reads words: quotes, expansions, and patterns of file names.

use super::command_line::OPEN;
use super::lexer::{DEPTH_MAX, Lexer, ends_word};

/// A word, or the text of a here-document.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// The text without quotes, with [`OPEN`] for each part that only the shell knows.
    pub(super) text: String,
    /// Whether an expansion may turn the word into several words or none.
    pub(super) may_split: bool,
    /// Command lines in `$(…)`, `<(…)` and `>(…)`.
    pub(super) nested: Vec<String>,
    /// Names that are evaluated as arithmetic, and whether the expression sets them to a number.
    pub(super) arithmetic: Vec<(String, bool)>,
    /// Names of expanded variables; `#` for a length or a count.
    pub(super) variables: Vec<String>,
    /// Whether the rest of the word belongs to a pattern, so that `text` is complete.
    is_cut: bool,
}

impl Word {
    /// Adds text that stands for itself.
    pub(super) fn literal(&mut self, text: &str) {
        if !self.is_cut {
            self.text += text;
        }
    }

    fn open(&mut self) {
        self.literal(OPEN.encode_utf8(&mut [0; 4]));
    }

    /// Adds a pattern that reaches up to the end of the word at most.
    fn open_to_the_end(&mut self) {
        self.open();
        self.is_cut = true;
    }
}

/// Characters that mean themselves inside of `${name-…}`.
fn is_plain_in_operand(char: char) -> bool {
    char.is_ascii_alphanumeric() || " _./,:-+=%#*?@^".contains(char)
}

fn name_length(text: &str) -> usize {
    let length = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    if text.starts_with(|first: char| first.is_ascii_digit()) { 0 } else { length }
}

impl<'a> Lexer<'a> {
    /// Reads the word that starts here.
    pub(super) fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let start = self.at;
        while let Some(next) = self.rest().chars().next().filter(|next| !ends_word(*next)) {
            let after = &self.rest()[next.len_utf8()..];
            match next {
                '`' => return None,
                '\\' if self.skip("\\\n") => {}
                '\\' => {
                    let escaped = after.chars().next()?;
                    word.literal(escaped.encode_utf8(&mut [0; 4]));
                    self.at += 1 + escaped.len_utf8();
                }
                '\'' => {
                    let length = after.find('\'')?;
                    word.literal(&after[..length]);
                    self.at += length + 2;
                }
                '"' => self.quoted(&mut word)?,
                '$' => self.expansion(&mut word, false)?,
                next => {
                    self.at += next.len_utf8();
                    let is_alone = self.source[start..self.at].len() == 1 && self.is_at_end_of_word();
                    let closes = |rest: &str| rest.is_empty() || rest.starts_with(ends_word);
                    let is_condition = self.at == start + 1 && after.strip_prefix('[').is_some_and(closes);
                    match next {
                        '*' | '?' => word.open(),
                        '[' if !is_alone && !is_condition && self.source.get(start..self.at) != Some("[[") => {
                            word.open_to_the_end();
                        }
                        '{' if !is_alone && !after.starts_with('}') => word.open_to_the_end(),
                        '~' if self.at == start + 1 && !after.starts_with('/') => word.open(),
                        next => word.literal(next.encode_utf8(&mut [0; 4])),
                    }
                }
            }
        }
        // A glob that matches several files is several words.
        word.may_split |= word.is_cut;
        (self.at > start).then_some(word)
    }

    /// Reads a text in double quotes.
    fn quoted(&mut self, word: &mut Word) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.rest();
            let next = rest.chars().next()?;
            match next {
                '"' => {
                    self.at += 1;
                    return Some(());
                }
                '`' => return None,
                '$' => self.expansion(word, true)?,
                '\\' if self.skip("\\\n") => {}
                '\\' => {
                    let escaped = rest.chars().nth(1)?;
                    let is_escape = matches!(escaped, '$' | '`' | '"' | '\\');
                    word.literal(&rest[usize::from(is_escape)..1 + escaped.len_utf8()]);
                    self.at += 1 + escaped.len_utf8();
                }
                next => {
                    word.literal(next.encode_utf8(&mut [0; 4]));
                    self.at += next.len_utf8();
                }
            }
        }
    }

    /// Reads what a `$` starts.
    pub(super) fn expansion(&mut self, word: &mut Word, in_quotes: bool) -> Option<()> {
        self.at += 1;
        let rest = self.rest();
        if rest.starts_with("((") {
            let (end, inner) = self.arithmetic(self.at + 2)?;
            word.arithmetic.extend(inner.arithmetic);
            self.at = end;
        } else if rest.starts_with('(') {
            let (end, inner) = self.nested(self.at + 1)?;
            word.nested.push(inner.to_owned());
            word.may_split |= !in_quotes;
            self.at = end;
        } else if self.skip("{") {
            self.parameter(word, in_quotes)?;
        } else if rest.starts_with('[') || !in_quotes && rest.starts_with(['\'', '"']) {
            return None;
        } else {
            let is_special = rest.starts_with(|next: char| next.is_ascii_digit() || "@*#?-$!".contains(next));
            let length = name_length(rest).max(usize::from(is_special));
            if length == 0 {
                word.literal("$");
                return Some(());
            }
            self.variable(word, &rest[..length], in_quotes);
            self.at += length;
        }
        word.open();
        Some(())
    }

    fn variable(&self, word: &mut Word, name: &str, in_quotes: bool) {
        word.may_split |= !in_quotes || name.starts_with('@');
        word.variables.push(name.to_owned());
    }

    /// Reads `${…}` behind its brace. Only forms that evaluate nothing are known.
    fn parameter(&mut self, word: &mut Word, in_quotes: bool) -> Option<()> {
        let is_length = self.rest().starts_with('#') && !self.rest().starts_with("#}") && self.skip("#");
        let rest = self.rest();
        let is_special = rest.starts_with(|next: char| next.is_ascii_digit() || "@*".contains(next));
        let is_count = !is_length && (rest.starts_with("#}") || rest.starts_with("?}"));
        let length = name_length(rest).max(usize::from(is_special || is_count));
        if length == 0 {
            return None;
        }
        let name = &rest[..length];
        self.at += length;
        if self.skip("[") {
            let length = self.rest().find(']')?;
            let index = &self.rest()[..length];
            let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number && !matches!(index, "@" | "*") {
                return None;
            }
            word.may_split |= index == "@" && !is_length;
            self.at += length + 1;
        }
        self.variable(word, if is_length { "#" } else { name }, in_quotes);
        if self.skip("}") {
            return Some(());
        }
        let length = self.rest().find('}').filter(|_| !is_length)?;
        let operand = &self.rest()[..length];
        self.at += length + 1;
        let is_plain = operand.chars().all(is_plain_in_operand);
        let is_part = operand.strip_prefix(':').is_some_and(|places| {
            places.starts_with(|first: char| first.is_ascii_digit())
                && places.chars().all(|char| char.is_ascii_digit() || char == ':')
        });
        let is_known = is_part || operand.starts_with(":-") || operand.starts_with(":+");
        (is_plain && (is_known || operand.starts_with(['-', '+', '#', '%', '/', '^', ',']))).then_some(())
    }

    /// Returns the end of the arithmetic expression that starts at `from` and ends in `))`, and its names.
    pub(super) fn arithmetic(&self, from: usize) -> Option<(usize, Word)> {
        let text = self.source.get(from..)?;
        let mut depth = 0;
        let mut length = None;
        for (at, char) in text.char_indices() {
            match char {
                '(' => depth += 1,
                ')' if depth == 0 => {
                    length = text[at..].starts_with("))").then_some(at);
                    break;
                }
                ')' => depth -= 1,
                '$' => {
                    let is_value =
                        text[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || "_#?".contains(next));
                    is_value.then_some(())?;
                }
                char => (char.is_ascii_alphanumeric() || " \t\n_+-*/%<>=!&|^~?:,;#".contains(char)).then_some(())?,
            }
        }
        let length = length?;
        let mut word = Word { text: text[..length].to_owned(), ..Word::default() };
        let mut rest = &text[..length];
        while let Some(at) = rest.find(|char: char| char.is_ascii_alphanumeric() || char == '_') {
            rest = &rest[at..];
            let end = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let set = after.trim_start().strip_prefix('=').is_some_and(|after| !after.starts_with('='));
            if name_length(name) > 0 {
                word.arithmetic.push((name.to_owned(), set));
            }
            rest = after;
        }
        Some((from + length + 2, word))
    }

    /// Returns the end of the substitution whose command line starts at `from`, and the line.
    pub(super) fn nested(&self, from: usize) -> Option<(usize, &'a str)> {
        let mut inner = Lexer::new(self.source);
        (inner.at, inner.depth) = (from, self.depth + 1);
        if inner.depth > DEPTH_MAX {
            return None;
        }
        let mut depth = 0;
        let mut starts_word = true;
        loop {
            let rest = inner.rest();
            let next = rest.chars().next()?;
            match next {
                '`' => return None,
                '#' if starts_word => return None,
                '$' if rest[1..].starts_with('\'') => return None,
                // A here-document inside of a substitution.
                '<' if rest.starts_with("<<") && !rest.starts_with("<<<") => return None,
                '<' if rest.starts_with("<<<") => inner.at += 3,
                '\'' => inner.at += rest[1..].find('\'')? + 2,
                '"' => inner.quoted(&mut Word::default())?,
                '\\' => inner.at += 1 + rest.chars().nth(1)?.len_utf8(),
                ')' if depth == 0 => return Some((inner.at + 1, &self.source[from..inner.at])),
                next => {
                    depth += i32::from(next == '(') - i32::from(next == ')');
                    inner.at += next.len_utf8();
                }
            }
            starts_word = ends_word(next);
        }
    }

    /// Reads a line of a here-document in which expansions apply.
    pub(super) fn expanded_line(&mut self, word: &mut Word) -> Option<()> {
        while let Some(next) = self.rest().chars().next() {
            match next {
                '`' => return None,
                '$' => self.expansion(word, true)?,
                '\\' => {
                    let escaped = self.rest().chars().nth(1)?;
                    word.literal(escaped.encode_utf8(&mut [0; 4]));
                    self.at += 1 + escaped.len_utf8();
                }
                next => {
                    word.literal(next.encode_utf8(&mut [0; 4]));
                    self.at += next.len_utf8();
                }
            }
        }
        Some(())
    }

    /// Reads `<(…)` or `>(…)` as a word of its own.
    pub(super) fn process_substitution(&mut self) -> Option<Word> {
        let (end, inner) = self.nested(self.at + 2)?;
        self.at = end;
        let mut word = Word::default();
        (word.text, word.nested) = (OPEN.to_string(), vec![inner.to_owned()]);
        self.is_at_end_of_word().then_some(word)
    }
}
