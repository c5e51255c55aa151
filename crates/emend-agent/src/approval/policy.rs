//! Rules, and the decision of a policy on a call.

#[cfg(not(target_family = "wasm"))]
use std::fmt;

use emend_llm::Shared;
use serde::{Deserialize, Serialize};

use super::command_line::SimpleCommand;
use super::command_match::{concerns, covers, may_be, seems_to_concern};
use super::{Target, ToolEffect};
use crate::error_code::Code;
use crate::search::glob::GlobPattern;

/// The names of the tool that runs commands, under every profile. Their patterns need not be globs.
pub(crate) const COMMAND_TOOLS: [&str; 4] = ["shell", "Bash", "exec_command", "run_shell_command"];

/// Returns whether the tool with this name runs commands, under any profile. Its patterns are about commands.
#[must_use]
pub fn is_command_tool(name: &str) -> bool {
    COMMAND_TOOLS.contains(&name)
}

/// Action of a rule, in increasing strictness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The call runs.
    #[default]
    Allow,
    /// The user is asked.
    Ask,
    /// The call does not run.
    Deny,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) action: Action,
    subject: Subject,
    // Shared, because rules are copied for every view of the files.
    pattern: Option<Shared<Pattern>>,
}

/// The tools that a rule is for.
#[derive(Clone, Debug)]
enum Subject {
    /// The tool with this canonical or exposed name; `*` for all.
    Name(String),
    /// All tools with this effect, and an embedder's tool with its name.
    Effect(ToolEffect),
}

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    /// `None` if the pattern is not a valid glob; the rule is then for commands, or for the paths of a test.
    glob: Option<GlobPattern>,
    /// A page has no files of which more than their names matters.
    #[cfg(not(target_family = "wasm"))]
    test: Option<Shared<dyn PathTest>>,
}

impl Pattern {
    fn new(text: &str, glob: Option<GlobPattern>) -> Self {
        Self {
            text: text.to_owned(),
            glob,
            #[cfg(not(target_family = "wasm"))]
            test: None,
        }
    }
}

/// Tells which paths a rule is about, where that depends on more than their names.
#[cfg(not(target_family = "wasm"))]
pub trait PathTest: Send + Sync {
    /// Returns whether the rule is about `path`, relative to the root and without `.` and `..`.
    fn is_about(&self, path: &str) -> bool;
}

#[cfg(not(target_family = "wasm"))]
impl fmt::Debug for dyn PathTest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PathTest")
    }
}

/// Why a rule is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The rule does not name a tool.
    #[error("a rule is TOOL or TOOL:PATTERN, such as shell:git *; {text:?} names no tool")]
    NoTool {
        /// The rule as written.
        text: String,
    },
    /// The pattern is not a glob, and the rule is not for commands.
    #[error("{text:?} can never match: {reason}")]
    BadPattern {
        /// The rule as written.
        text: String,
        /// The reason.
        reason: String,
    },
    /// The pattern is empty.
    #[error("{text:?} has an empty pattern; leave the colon out to mean every call")]
    NoPattern {
        /// The rule as written.
        text: String,
    },
}

impl RuleError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        Code::InvalidArgument
    }
}

impl Rule {
    /// Returns a rule for calls of `tool` (canonical name, exposed name, or `*`) whose subject matches `pattern`: a
    /// glob for paths, or a pattern for commands in which `*` matches any text.
    ///
    /// `read`, `edit` and `run` stand for all tools with that effect: `edit:docs/**` is about every tool that changes files
    /// there.
    ///
    /// # Errors
    ///
    /// Returns a [`RuleError`] if the tool or the pattern is empty.
    pub fn new(action: Action, tool: &str, pattern: Option<&str>) -> Result<Self, RuleError> {
        let text = || pattern.map_or_else(|| tool.to_owned(), |pattern| format!("{tool}:{pattern}"));
        let (tool, pattern) = (tool.trim(), pattern.map(str::trim));
        if tool.is_empty() {
            return Err(RuleError::NoTool { text: text() });
        }
        if pattern == Some("") {
            return Err(RuleError::NoPattern { text: text() });
        }
        // A directory may be written with a slash at its end.
        let compiled = |text: &str| match GlobPattern::new(text.trim_end_matches('/')) {
            Ok(glob) => Ok(Pattern::new(text, Some(glob))),
            Err(_) if COMMAND_TOOLS.contains(&tool) => Ok(Pattern::new(text, None)),
            Err(error) => Err(error.to_string()),
        };
        let pattern = pattern.map(compiled).transpose();
        let pattern = pattern.map_err(|reason| RuleError::BadPattern { text: text(), reason })?;
        let subject = ToolEffect::named(tool).map_or_else(|| Subject::Name(tool.to_owned()), Subject::Effect);
        Ok(Self { action, subject, pattern: pattern.map(Shared::new) })
    }

    /// Returns a rule for all calls of tools with this effect.
    #[must_use]
    pub fn for_effect(action: Action, effect: ToolEffect) -> Self {
        Self { action, subject: Subject::Effect(effect), pattern: None }
    }

    /// Returns a rule for calls of tools with this effect on a path that matches the glob `pattern`.
    ///
    /// # Errors
    ///
    /// Returns a [`RuleError`] if the pattern is not a glob.
    pub fn for_effect_on(action: Action, effect: ToolEffect, pattern: &str) -> Result<Self, RuleError> {
        Ok(Self { subject: Subject::Effect(effect), ..Self::new(action, "*", Some(pattern))? })
    }

    /// Returns a rule for calls of tools with this effect on a path that `test` accepts. `text` stands for its pattern.
    #[cfg(not(target_family = "wasm"))]
    #[must_use]
    pub fn for_effect_where(action: Action, effect: ToolEffect, text: &str, test: Shared<dyn PathTest>) -> Self {
        let pattern = Pattern { test: Some(test), ..Pattern::new(text, None) };
        Self { action, subject: Subject::Effect(effect), pattern: Some(Shared::new(pattern)) }
    }

    /// Returns the rule for the tool with this canonical name. A rule with the name of one profile would not hold in others.
    #[must_use]
    pub fn for_tool(self, canonical: &str) -> Self {
        Self { subject: Subject::Name(canonical.to_owned()), ..self }
    }

    /// Returns whether the rule is for all tools with an effect.
    #[must_use]
    pub fn is_for_effect(&self) -> bool {
        matches!(self.subject, Subject::Effect(_))
    }

    /// Returns whether the rule is limited to some commands or paths.
    #[must_use]
    pub fn has_pattern(&self) -> bool {
        self.pattern.is_some()
    }

    /// Parses `TOOL` or `TOOL:PATTERN`.
    ///
    /// # Errors
    ///
    /// Returns a [`RuleError`] if the tool or the pattern is empty.
    pub fn parse(action: Action, text: &str) -> Result<Self, RuleError> {
        match text.split_once(':') {
            Some((tool, pattern)) => Self::new(action, tool, Some(pattern)),
            None => Self::new(action, text, None),
        }
    }

    /// Returns the rule as written, without its action.
    #[must_use]
    pub fn text(&self) -> String {
        let tool = match &self.subject {
            Subject::Name(name) => name,
            Subject::Effect(effect) => effect.text(),
        };
        match &self.pattern {
            Some(pattern) => format!("{tool}:{}", pattern.text),
            None => tool.to_owned(),
        }
    }

    /// Returns the rule for files whose names have no case.
    fn ignoring_case(&self) -> Self {
        let folded = |pattern: &Shared<Pattern>| {
            #[cfg(not(target_family = "wasm"))]
            if pattern.test.is_some() {
                return Shared::clone(pattern);
            }
            let glob = GlobPattern::ignoring_case(pattern.text.trim_end_matches('/')).ok();
            Shared::new(Pattern::new(&pattern.text, glob))
        };
        Self { pattern: self.pattern.as_ref().map(folded), ..self.clone() }
    }

    pub(super) fn is_for(&self, names: &[&str], effect: ToolEffect) -> bool {
        match &self.subject {
            Subject::Name(name) => name == "*" || names.contains(&name.as_str()),
            Subject::Effect(of) => *of == effect || names.contains(&of.text()),
        }
    }

    /// Returns whether the rule is about the file at `path`. A rule that denies a directory denies all that is in it.
    pub(super) fn is_about(&self, path: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        #[cfg(not(target_family = "wasm"))]
        if let Some(test) = &pattern.test {
            return test.is_about(path);
        }
        let Some(glob) = &pattern.glob else { return false };
        let denies_below = self.action == Action::Deny && !glob.is_negated();
        glob.is_match_or_name(path)
            || denies_below && path.match_indices('/').any(|(at, _)| glob.is_match_or_name(&path[..at]))
    }

    fn matches(&self, names: &[&str], effect: ToolEffect, part: Part<'_>) -> bool {
        if !self.is_for(names, effect) {
            return false;
        }
        let Some(pattern) = &self.pattern else { return true };
        match part {
            Part::Nothing => false,
            Part::Path(path) => self.is_about(path),
            Part::Command(command) if self.action == Action::Allow => {
                command.is_plain && covers(&pattern.text, &command.text)
            }
            // A rule never allows a command line that hides commands.
            Part::Opaque(_) if self.action == Action::Allow => false,
            // Rather ask or refuse once too often.
            Part::Command(command) => concerns(&pattern.text, command),
            Part::Opaque(line) => seems_to_concern(&pattern.text, line),
        }
    }

    /// Returns whether the rule stops commands, and might stop this one if its text showed all that it runs.
    fn may_stop(&self, names: &[&str], effect: ToolEffect, part: Part<'_>) -> bool {
        let pattern = self.pattern.as_ref().filter(|_| self.action != Action::Allow && self.is_for(names, effect));
        pattern.is_some_and(|pattern| match part {
            Part::Command(command) => may_be(&pattern.text, command),
            Part::Opaque(_) => true,
            _ => false,
        })
    }
}

/// A part of the subject of a call, which is decided by itself.
#[derive(Clone, Copy)]
enum Part<'a> {
    Nothing,
    Path(&'a str),
    Command(&'a SimpleCommand),
    /// A command line without a reading.
    Opaque(&'a str),
}

/// The decision of a policy on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The action.
    pub action: Action,
    /// The rule behind the decision, as [`Rule::text`] writes it; `None` for the default.
    pub rule: Option<String>,
}

impl Verdict {
    /// Returns whether the rule is about some commands or paths only.
    pub(crate) fn is_about_some(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.contains(':'))
    }
}

/// Ordered rules: the first that matches decides. A call with several files or commands gets the strictest of their
/// decisions.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The rules, first match wins.
    pub rules: Vec<Rule>,
    /// Action for calls without a matching rule.
    pub otherwise: Action,
}

impl Policy {
    /// Returns the decision on a call of the tool with these names and this effect.
    #[must_use]
    pub fn decide(&self, names: &[&str], effect: ToolEffect, target: &Target) -> Verdict {
        let (names, effect): (&[&str], _) = match &target.tool {
            Some((tool, effect)) => (&[tool], *effect),
            None => (names, effect),
        };
        let parts = parts(target);
        // Every call has at least one part.
        let verdicts = parts.into_iter().map(|part| self.decide_part(names, effect, part));
        // Among equal decisions that of a rule about some paths counts: a permission must not go beyond it.
        let rank = |verdict: &Verdict| (verdict.action, verdict.is_about_some());
        let strictest = verdicts.reduce(|a, b| if rank(&b) > rank(&a) { b } else { a });
        strictest.unwrap_or(Verdict { action: self.otherwise, rule: None })
    }

    /// Returns the policy for files whose names have no case: its rules match paths in upper and lower case.
    #[must_use]
    pub fn ignoring_case(&self) -> Self {
        Self { rules: self.rules.iter().map(Rule::ignoring_case).collect(), otherwise: self.otherwise }
    }

    /// Returns whether decisions on calls of this tool depend on the commands of a line.
    #[must_use]
    pub fn reads_commands(&self, names: &[&str], effect: ToolEffect) -> bool {
        self.rules.iter().any(|rule| rule.has_pattern() && rule.is_for(names, effect))
    }

    fn decide_part(&self, names: &[&str], effect: ToolEffect, part: Part<'_>) -> Verdict {
        let at = self.rules.iter().position(|rule| rule.matches(names, effect, part));
        let (earlier, rule) = at.map_or((&self.rules[..], None), |at| (&self.rules[..at], self.rules.get(at)));
        let action = rule.map_or(self.otherwise, |rule| rule.action);
        // A command that cannot be read could be one that a rule stops.
        if action == Action::Allow
            && let Some(rule) = earlier.iter().find(|rule| rule.may_stop(names, effect, part))
        {
            return Verdict { action: Action::Ask, rule: Some(rule.text()) };
        }
        Verdict { action, rule: rule.map(Rule::text) }
    }
}

fn parts(target: &Target) -> Vec<Part<'_>> {
    if let Some(line) = &target.command {
        return match &target.reading {
            Some(reading) if !reading.commands.is_empty() => reading.commands.iter().map(Part::Command).collect(),
            _ => vec![Part::Opaque(line)],
        };
    }
    if target.paths.is_empty() {
        return vec![Part::Nothing];
    }
    target.paths.iter().map(|path| Part::Path(path)).collect()
}
