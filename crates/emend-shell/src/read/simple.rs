//! Simple commands: their words, assignments and redirections.

use bashkit::parser::{Assignment, AssignmentValue, Redirect, RedirectKind, SimpleCommand as Simple, WordPart};

use super::command_line::{OPEN, SimpleCommand};
use super::meaning::{bare, is_evaluated, is_harmless_name, is_reserved, meaning};
use super::tokens::{HereDocument, Kind, Token};
use super::walk::{Found, FoundCommand, Walk, is_number, read};
use super::word::Word;

/// The target of a redirection.
struct Target<'a> {
    /// Whether it is not a file.
    is_plain: bool,
    /// Text that the command gets.
    input: Option<&'a Word>,
}

impl<'a> Walk<'a> {
    /// Reads redirections. Returns whether they use no file.
    pub(super) fn redirects(&mut self, redirects: &[Redirect]) -> Option<bool> {
        let mut is_plain = true;
        for redirect in redirects {
            is_plain &= self.redirect(redirect)?.is_plain;
        }
        Some(is_plain)
    }

    fn redirect(&mut self, redirect: &Redirect) -> Option<Target<'a>> {
        let token = self.next()?;
        let expected = match redirect.kind {
            RedirectKind::Output => ">",
            RedirectKind::Clobber => ">|",
            RedirectKind::Append => ">>",
            RedirectKind::Input => "<",
            RedirectKind::HereString => "<<<",
            RedirectKind::DupOutput => ">&",
            RedirectKind::DupInput => "<&",
            RedirectKind::OutputBoth => "&>",
            RedirectKind::ReadWrite => "<>",
            RedirectKind::HereDoc | RedirectKind::HereDocStrip => "",
        };
        if redirect.fd_var.is_some() {
            return None;
        }
        match &token.kind {
            Kind::HereDocument(document) if expected.is_empty() => self.here_document(document, redirect),
            Kind::Redirection { operator, fd } if *operator == expected => {
                let usual = match *operator {
                    ">&" => Some(1),
                    "<&" => Some(0),
                    _ => None,
                };
                (redirect.fd == *fd || fd.is_none() && redirect.fd == usual).then_some(())?;
                let at = self.at;
                let target = self.word(&redirect.target)?;
                let raw = self.tokens.get(at).map(|token| self.raw(token));
                let is_plain = match *operator {
                    "<<<" => true,
                    ">&" => matches!(raw, Some("1" | "2")),
                    "<&" | "<>" => false,
                    _ => raw == Some("/dev/null"),
                };
                Some(Target { is_plain, input: (*operator == "<<<").then_some(target) })
            }
            _ => None,
        }
    }

    fn here_document(&mut self, document: &'a HereDocument, redirect: &Redirect) -> Option<Target<'a>> {
        let strips = redirect.kind == RedirectKind::HereDocStrip;
        let is_same = strips == document.strips_tabs && redirect.target.raw.as_ref() == Some(&document.body);
        is_same.then(|| self.found.expand(&document.word, self.depth))??;
        Some(Target { is_plain: true, input: Some(&document.word) })
    }

    /// Reads an assignment. Returns whether its variable matters to nobody else.
    fn assignment(&mut self, assignment: &Assignment) -> Option<bool> {
        let token = self.next()?;
        let Kind::Word(word) = &token.kind else { return None };
        let rest = self.raw(token).strip_prefix(assignment.name.as_str())?;
        let rest = match &assignment.index {
            Some(index) if is_number(index) => rest.strip_prefix(format!("[{index}]").as_str())?,
            Some(_) => return None,
            None => rest,
        };
        let rest = rest.strip_prefix(if assignment.append { "+=" } else { "=" })?;
        self.found.expand(word, self.depth)?;
        let is_expression = rest.starts_with("$((")
            && word.text.ends_with(OPEN)
            && word.variables.is_empty()
            && word.nested.is_empty()
            && rest.matches("$((").count() == 1
            && rest.ends_with("))");
        let mut has_number = is_number(rest) || is_expression;
        match &assignment.value {
            AssignmentValue::Scalar(value) => {
                let is_same = value.raw.as_deref().is_none_or(|raw| raw == rest);
                is_same.then_some(())?;
            }
            AssignmentValue::Array(elements) => {
                has_number = false;
                rest.is_empty().then_some(())?;
                let is_adjacent = self.tokens.get(self.at).is_some_and(|next| next.start == token.end);
                is_adjacent.then(|| self.operator("("))??;
                for element in elements {
                    self.skip_newlines();
                    let starts_with_key =
                        self.tokens.get(self.at).is_some_and(|token| self.raw(token).starts_with('['));
                    (!starts_with_key).then(|| self.word(element))??;
                }
                self.skip_newlines();
                self.operator(")")?;
            }
        }
        self.found.assign(&assignment.name, has_number);
        Some(is_harmless_name(&assignment.name))
    }

    pub(super) fn simple(&mut self, simple: &Simple) -> Option<()> {
        let is_bare = simple.name.raw.is_none()
            && matches!(simple.name.parts.as_slice(), [WordPart::Literal(text)] if text.is_empty());
        let name = (!is_bare).then_some(&simple.name);
        let mut parsed = name.into_iter().chain(&simple.args).peekable();
        let (mut assignments, mut redirects) =
            (simple.assignments.iter().peekable(), simple.redirects.iter().peekable());
        let (mut start, mut is_at_start) = (self.at, true);
        let (mut words, mut input) = (Vec::new(), None);
        let (mut is_plain, mut is_harmless) = (true, true);
        while parsed.peek().is_some() || assignments.peek().is_some() || redirects.peek().is_some() {
            let is_word = matches!(self.tokens.get(self.at)?.kind, Kind::Word(_));
            if is_word && std::mem::take(&mut is_at_start) {
                // Redirections before the first word are not in patterns.
                start = self.at;
            }
            match self.tokens.get(self.at)?.kind {
                Kind::Word(_) => match assignments.next() {
                    Some(assignment) => is_harmless &= self.assignment(assignment)?,
                    None => words.push(self.word(parsed.next()?)?),
                },
                _ => {
                    let target = self.redirect(redirects.next()?)?;
                    is_plain &= target.is_plain;
                    input = target.input.or(input);
                }
            }
        }
        let text = self.text(start).to_owned();
        let sets_code = simple.assignments.iter().any(|assignment| is_evaluated(&assignment.name));
        if words.is_empty() {
            if !(is_plain && is_harmless) {
                self.add(bare(&text, is_plain, sets_code));
            }
            return Some(());
        }
        // Behind a redirection it is a program's name, and in a print of bash it would not be.
        let is_reserved = |token: &Token| is_reserved(self.raw(token));
        if self.tokens[start..self.at].iter().find(|token| matches!(token.kind, Kind::Word(_))).is_some_and(is_reserved)
        {
            return None;
        }
        let is_call = simple.assignments.is_empty() && self.found.functions.contains(&words[0].text);
        if is_call && is_plain {
            return Some(());
        }
        let n_before = self.found.commands.len();
        self.called(text, &words, input, is_plain);
        self.found.commands.iter_mut().skip(n_before).for_each(|found| found.command.hides |= sets_code);
        Some(())
    }

    /// Adds a command with its words.
    fn called(&mut self, text: String, words: &[&Word], input: Option<&Word>, is_plain: bool) {
        let meaning = meaning(words, input);
        let mut runs = vec![words.iter().map(|word| word.text.clone()).collect::<Vec<_>>()];
        if meaning.adds_words {
            runs[0].push(OPEN.to_string());
        }
        let mut hides = meaning.hides;
        for text in &meaning.texts {
            let mut inner = Found::default();
            match read(text, self.depth + 1, &mut inner).and_then(|()| inner.commands()) {
                Some(commands) => {
                    hides |= commands.iter().any(|command| command.hides);
                    runs.extend(commands.into_iter().flat_map(|command| command.runs));
                }
                None => hides = true,
            }
        }
        self.found.sets_variables |= meaning.sets_variables || words[0].text.contains(OPEN);
        let command = SimpleCommand { text, runs, is_plain: is_plain && !meaning.evaluates, hides };
        let (may_evaluate, is_inert) = (meaning.may_evaluate, meaning.is_inert && is_plain);
        self.found.commands.push(FoundCommand { command, may_evaluate, is_inert });
    }
}
