//! Walks the parser's tree beside the tokens, and collects commands.

use std::collections::BTreeSet;

use bashkit::parser::{
    CaseCommand, Command, CompoundCommand, CoprocCommand, ForCommand, FunctionDef, IfCommand, ListOperator,
    ParseOptions, Parser, Word as Parsed, WordPart,
};

use super::command_line::{OPEN, SimpleCommand};
use super::lexer::DEPTH_MAX;
use super::meaning::{bare, is_evaluated, is_harmless_name};
use super::tokens::{Kind, Token, tokens};
use super::word::Word;

/// Limit of the parser's steps.
const STEPS_MAX: usize = 100_000;

/// The findings in a line and in the lines inside of it.
#[derive(Default)]
pub(super) struct Found {
    pub(super) commands: Vec<FoundCommand>,
    /// Names that are evaluated as arithmetic. Their values are evaluated, too.
    arithmetic: BTreeSet<String>,
    /// Names that the line sets to numbers, and those that it sets to texts.
    numbers: BTreeSet<String>,
    texts: BTreeSet<String>,
    /// Functions that exist from their definition on.
    pub(super) functions: BTreeSet<String>,
    /// Whether a builtin may set variables.
    pub(super) sets_variables: bool,
    /// Whether functions may cease to exist.
    pub(super) may_unset: bool,
}

pub(super) struct FoundCommand {
    pub(super) command: SimpleCommand,
    pub(super) may_evaluate: bool,
    pub(super) is_inert: bool,
}

impl Found {
    /// Returns the commands, or `None` if arithmetic may evaluate text as code.
    pub(super) fn commands(self) -> Option<Vec<SimpleCommand>> {
        let is_number = |name: &String| self.numbers.contains(name) && !self.texts.contains(name);
        if !self.arithmetic.is_empty() && (self.sets_variables || !self.arithmetic.iter().all(is_number)) {
            return None;
        }
        let controls_values = self.sets_variables || !self.texts.is_empty() || !self.functions.is_empty();
        let all_are_inert = self.commands.iter().all(|found| found.is_inert);
        let kept = self.commands.into_iter().filter(|found| all_are_inert || !found.is_inert);
        let command = |found: FoundCommand| {
            let mut command = found.command;
            if found.may_evaluate && controls_values {
                (command.is_plain, command.hides) = (false, true);
            }
            command
        };
        Some(kept.map(command).collect())
    }

    pub(super) fn assign(&mut self, name: &str, is_number: bool) {
        let names = if is_number { &mut self.numbers } else { &mut self.texts };
        names.insert(name.to_owned());
    }

    /// Adds what the expansions of a word run and evaluate.
    pub(super) fn expand(&mut self, word: &Word, depth: usize) -> Option<()> {
        self.arithmetic(&word.arithmetic)?;
        word.nested.iter().try_for_each(|line| read(line, depth + 1, self))
    }

    fn arithmetic(&mut self, names: &[(String, bool)]) -> Option<()> {
        for (name, is_set) in names {
            if *is_set {
                self.assign(name, true);
            }
            self.arithmetic.insert(name.clone());
            is_harmless_name(name).then_some(())?;
        }
        Some(())
    }
}

/// Adds the commands of a line to `found`. Returns `None` if it has no reading.
pub(super) fn read(line: &str, depth: usize, found: &mut Found) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    let tokens = tokens(line)?;
    if tokens.iter().all(|token| matches!(token.kind, Kind::Newline)) {
        return Some(());
    }
    // The parser keeps the source of words only in functions. A line that ends the function has no reading.
    let script = format!("f() {{\n{line}\n}}");
    let parser = Parser::with_limits(&script, 60, STEPS_MAX);
    let parsed = parser.with_options(ParseOptions { aliases: None, extglob: false }).parse().ok()?;
    let [Command::Function(FunctionDef { body, .. })] = parsed.commands.as_slice() else { return None };
    let Command::Compound(CompoundCommand::BraceGroup(commands), redirects) = &**body else { return None };
    if !redirects.is_empty() {
        return None;
    }
    let mut walk = Walk { line, tokens: &tokens, at: 0, depth, found };
    for command in commands {
        walk.top_level(command)?;
    }
    walk.skip_separators();
    (walk.at == tokens.len()).then_some(())
}

pub(super) struct Walk<'a> {
    pub(super) line: &'a str,
    pub(super) tokens: &'a [Token],
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) found: &'a mut Found,
}

impl<'a> Walk<'a> {
    pub(super) fn next(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    pub(super) fn raw(&self, token: &Token) -> &'a str {
        self.line.get(token.start..token.end).unwrap_or_default()
    }

    /// Returns the text from the token at index `from` to the last one that was read.
    pub(super) fn text(&self, from: usize) -> &'a str {
        let start = self.tokens.get(from).map_or(0, |token| token.start);
        let end = self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(start, |token| token.end);
        self.line.get(start..end).unwrap_or_default()
    }

    fn is_operator(&self, operator: &str) -> bool {
        matches!(self.tokens.get(self.at), Some(Token { kind: Kind::Operator(found), .. }) if *found == operator)
    }

    pub(super) fn operator(&mut self, operator: &str) -> Option<()> {
        self.is_operator(operator).then(|| self.at += 1)
    }

    pub(super) fn skip_newlines(&mut self) {
        while matches!(self.tokens.get(self.at), Some(Token { kind: Kind::Newline, .. })) {
            self.at += 1;
        }
    }

    /// Skips what ends commands. The tree says which commands there are.
    fn skip_separators(&mut self) {
        while let Some(Token { kind: Kind::Newline | Kind::Operator(";" | "&"), .. }) = self.tokens.get(self.at) {
            self.at += 1;
        }
    }

    /// Reads a reserved word, which has no quotes.
    fn reserved(&mut self, word: &str) -> Option<()> {
        let token = self.next()?;
        (matches!(token.kind, Kind::Word(_)) && self.raw(token) == word).then_some(())
    }

    /// Reads a word that the parser has read as `parsed`.
    pub(super) fn word(&mut self, parsed: &Parsed) -> Option<&'a Word> {
        let token = self.next()?;
        let Kind::Word(word) = &token.kind else { return None };
        let is_same = match &parsed.raw {
            Some(raw) => raw == self.raw(token),
            None => matches!(parsed.parts.as_slice(), [WordPart::Literal(text)] if text == self.raw(token)),
        };
        is_same.then_some(())?;
        self.found.expand(word, self.depth)?;
        Some(word)
    }

    fn commands(&mut self, commands: &[Command]) -> Option<()> {
        commands.iter().try_for_each(|command| self.command(command))
    }

    /// Reads a command of the line itself. A function that it defines is known to the commands after it.
    fn top_level(&mut self, command: &Command) -> Option<()> {
        let commands: Vec<&Command> = match command {
            Command::List(list) if list.rest.iter().all(|(operator, _)| *operator == ListOperator::Semicolon) => {
                [&*list.first].into_iter().chain(list.rest.iter().map(|(_, command)| command)).collect()
            }
            command => vec![command],
        };
        for command in commands {
            self.command(command)?;
            if let Command::Function(function) = command
                && self.depth == 0
                && !self.found.may_unset
            {
                self.found.functions.insert(function.name.clone());
            }
        }
        Some(())
    }

    fn command(&mut self, command: &Command) -> Option<()> {
        self.skip_separators();
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Pipeline(pipeline) => {
                if pipeline.negated {
                    self.reserved("!")?;
                }
                for (index, command) in pipeline.commands.iter().enumerate() {
                    if index > 0 {
                        self.operator("|")?;
                    }
                    self.command(command)?;
                }
                Some(())
            }
            Command::List(list) => {
                self.command(&list.first)?;
                for (operator, command) in &list.rest {
                    match operator {
                        ListOperator::And => self.operator("&&")?,
                        ListOperator::Or => self.operator("||")?,
                        ListOperator::Semicolon | ListOperator::Background => {}
                    }
                    self.command(command)?;
                }
                Some(())
            }
            Command::Compound(compound, redirects) => {
                let start = self.at;
                self.compound(compound)?;
                let is_plain = self.redirects(redirects)?;
                if !is_plain {
                    let text = self.text(start).to_owned();
                    self.add(bare(&text, false, false));
                }
                Some(())
            }
            Command::Function(function) => self.function(function),
        }
    }

    pub(super) fn add(&mut self, command: SimpleCommand) {
        self.found.commands.push(FoundCommand { command, may_evaluate: false, is_inert: false });
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Option<()> {
        match compound {
            CompoundCommand::If(command) => self.if_command(command),
            CompoundCommand::For(command) => self.for_command(command),
            CompoundCommand::ArithmeticFor(command) => {
                self.reserved("for")?;
                self.arithmetic()?;
                self.body("do", &command.body, "done")
            }
            CompoundCommand::While(command) => {
                self.body("while", &command.condition, "do")?;
                self.body("", &command.body, "done")
            }
            CompoundCommand::Until(command) => {
                self.body("until", &command.condition, "do")?;
                self.body("", &command.body, "done")
            }
            CompoundCommand::Case(command) => self.case(command),
            CompoundCommand::Subshell(commands) => {
                self.operator("(")?;
                self.commands(commands)?;
                self.skip_separators();
                self.operator(")")
            }
            CompoundCommand::BraceGroup(commands) => self.body("{", commands, "}"),
            CompoundCommand::Arithmetic(_) => self.arithmetic(),
            CompoundCommand::Time(time) => {
                let is_plain =
                    time.format.is_none() && time.output.is_none() && !time.verbose && time.option_error.is_none();
                is_plain.then(|| self.reserved("time"))??;
                if time.posix_format {
                    self.reserved("-p")?;
                }
                time.command.as_ref().map_or(Some(()), |command| self.command(command))
            }
            CompoundCommand::Conditional(_) => self.conditional(),
            CompoundCommand::Coproc(command) => self.coprocess(command),
            CompoundCommand::Select(_) => None,
        }
    }

    /// Reads commands between two reserved words. `before` may be empty.
    fn body(&mut self, before: &str, commands: &[Command], after: &str) -> Option<()> {
        self.skip_separators();
        if !before.is_empty() {
            self.reserved(before)?;
        }
        self.commands(commands)?;
        self.skip_separators();
        self.reserved(after)
    }

    fn if_command(&mut self, command: &IfCommand) -> Option<()> {
        self.body("if", &command.condition, "then")?;
        self.commands(&command.then_branch)?;
        for (condition, branch) in &command.elif_branches {
            self.body("elif", condition, "then")?;
            self.commands(branch)?;
        }
        self.skip_separators();
        if let Some(branch) = &command.else_branch {
            return self.body("else", branch, "fi");
        }
        self.reserved("fi")
    }

    fn for_command(&mut self, command: &ForCommand) -> Option<()> {
        let start = self.at;
        self.reserved("for")?;
        self.reserved(&command.variable)?;
        let mut are_numbers = command.words.is_some();
        if let Some(words) = &command.words {
            self.skip_newlines();
            self.reserved("in")?;
            for parsed in words {
                let is_range = self.tokens.get(self.at).is_some_and(|token| is_range(self.raw(token)));
                are_numbers &= is_number(&self.word(parsed)?.text) || is_range;
            }
        }
        if !is_harmless_name(&command.variable) {
            let text = self.text(start).to_owned();
            self.add(bare(&text, true, is_evaluated(&command.variable)));
        }
        self.found.assign(&command.variable, are_numbers);
        self.body("do", &command.body, "done")
    }

    fn case(&mut self, command: &CaseCommand) -> Option<()> {
        self.reserved("case")?;
        self.word(&command.word)?;
        self.skip_newlines();
        self.reserved("in")?;
        let is_end = |walk: &Self| [";;", ";&", ";;&"].into_iter().any(|operator| walk.is_operator(operator));
        for (index, item) in command.cases.iter().enumerate() {
            self.skip_newlines();
            if self.is_operator("(") {
                self.at += 1;
            }
            for (index, pattern) in item.patterns.iter().enumerate() {
                if index > 0 {
                    self.operator("|")?;
                }
                self.word(pattern)?;
            }
            self.operator(")")?;
            self.commands(&item.commands)?;
            self.skip_separators();
            match is_end(self) {
                true => self.at += 1,
                false if index + 1 == command.cases.len() => {}
                false => return None,
            }
        }
        self.skip_newlines();
        self.reserved("esac")
    }

    fn function(&mut self, function: &FunctionDef) -> Option<()> {
        let is_keyword = self.tokens.get(self.at).is_some_and(|token| self.raw(token) == "function");
        if is_keyword {
            self.at += 1;
        }
        self.reserved(&function.name)?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        function.name.bytes().all(is_name).then_some(())?;
        if self.is_operator("(") || !is_keyword {
            self.operator("(")?;
            self.operator(")")?;
        }
        let is_group = matches!(
            &*function.body,
            Command::Compound(CompoundCommand::BraceGroup(_) | CompoundCommand::Subshell(_), _)
        );
        is_group.then(|| self.command(&function.body))?
    }

    fn coprocess(&mut self, command: &CoprocCommand) -> Option<()> {
        self.reserved("coproc")?;
        if command.name != "COPROC" {
            is_harmless_name(&command.name).then(|| self.reserved(&command.name))??;
            self.found.assign(&command.name, false);
        }
        self.command(&command.body)
    }

    fn arithmetic(&mut self) -> Option<()> {
        let Kind::Arithmetic(word) = &self.next()?.kind else { return None };
        self.found.arithmetic(&word.arithmetic)
    }

    /// Reads `[[ … ]]`. Its operands are words; those of `-eq` and the like are evaluated as arithmetic.
    fn conditional(&mut self) -> Option<()> {
        self.reserved("[[")?;
        let mut words: Vec<&Word> = Vec::new();
        loop {
            let token = self.next()?;
            match &token.kind {
                Kind::Word(_) if self.raw(token) == "]]" => break,
                Kind::Word(word) => {
                    self.found.expand(word, self.depth)?;
                    words.push(word);
                }
                Kind::Operator("&&" | "||" | "(" | ")") | Kind::Newline => {}
                Kind::Redirection { operator: "<" | ">", fd: None } => {}
                _ => return None,
            }
        }
        for (at, word) in words.iter().enumerate() {
            match word.text.as_str() {
                "-v" | "-R" => return None,
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    self.operand(words.get(at.checked_sub(1)?)?)?;
                    self.operand(words.get(at + 1)?)?;
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Adds an operand that is evaluated as arithmetic.
    fn operand(&mut self, word: &Word) -> Option<()> {
        let is_whole = word.text.chars().count() == 1 && word.text.contains(OPEN) && word.nested.is_empty();
        match word.variables.as_slice() {
            _ if is_number(&word.text) => Some(()),
            [] if is_whole && !word.arithmetic.is_empty() => Some(()),
            [name] if is_whole && matches!(name.as_str(), "#" | "?") => Some(()),
            [name] if is_whole => self.found.arithmetic(&[(name.clone(), false)]),
            [] => self.found.arithmetic(&[(word.text.clone(), false)]),
            _ => None,
        }
    }
}

pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a word is a range of numbers, such as `{1..5}`.
fn is_range(text: &str) -> bool {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inner.and_then(|inner| inner.split_once("..")).is_some_and(|(from, to)| is_number(from) && is_number(to))
}
