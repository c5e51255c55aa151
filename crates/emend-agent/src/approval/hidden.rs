//! The paths that rules hide from the agent.
//!
//! A rule that denies reading a path is not only about the arguments of a call: no tool may show the file, whatever the
//! arguments say. The environment of the agent therefore leaves these paths out.

use emend_llm::Shared;

use super::policy::{Action, Policy, Rule};
use super::{READ_FILE, ToolEffect};

/// Files that usually hold secrets: variables, private keys, passwords of programs. See [`Policy::hiding_secrets`].
pub const DEFAULT_HIDDEN: [&str; 17] = [
    ".env",
    ".env.*",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    "**/.aws/credentials",
    "**/.docker/config.json",
    "**/.kube/config",
];

/// Files that [`DEFAULT_HIDDEN`] names and that hold no secrets, because they are shared as examples.
pub const DEFAULT_SHOWN: [&str; 3] = [".env.example", ".env.sample", ".env.template"];

/// The paths that rules hide from the agent: those that `read_file` may not read. A directory hides all that is in it.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// The rules that decide on reads, the first match first; `None` if they hide nothing.
    rules: Option<Shared<Vec<Rule>>>,
}

impl Policy {
    /// Returns the policy with rules that hide [`DEFAULT_HIDDEN`] from the agent, except [`DEFAULT_SHOWN`].
    ///
    /// Rules that name paths and precede the first general rule keep precedence: `allow read_file:.env` shows the file.
    /// Commands on local files could read hidden files, so each is asked about.
    #[must_use]
    pub fn hiding_secrets(mut self) -> Self {
        let is_general = |rule: &Rule| !rule.has_pattern() && rule.action != Action::Deny;
        let at = self.rules.iter().position(is_general).unwrap_or(self.rules.len());
        let shown = DEFAULT_SHOWN.iter().map(|path| (Action::Allow, path));
        let hidden = DEFAULT_HIDDEN.iter().map(|path| (Action::Deny, path));
        let rules = shown.chain(hidden);
        let rules = rules.filter_map(|(action, path)| Rule::for_effect_on(action, ToolEffect::Reads, path).ok());
        self.rules.splice(at..at, rules.collect::<Vec<_>>());
        self
    }

    /// Returns the paths that the policy hides. `exposed` is the name under which the model knows `read_file`.
    #[must_use]
    pub fn hidden(&self, exposed: &str) -> Hidden {
        let names = [READ_FILE, exposed];
        // A rule that denies the tool itself says nothing about files.
        let decides = |rule: &&Rule| {
            rule.is_for(&names, ToolEffect::Reads) && (rule.has_pattern() || rule.action != Action::Deny)
        };
        let rules: Vec<Rule> = self.rules.iter().filter(decides).cloned().collect();
        let hides = rules.iter().any(|rule| rule.action == Action::Deny);
        Hidden { rules: hides.then(|| Shared::new(rules)) }
    }
}

impl Hidden {
    /// Returns whether no path is hidden.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_none()
    }

    /// Returns whether `path`, relative to the root and without `.` and `..`, is hidden.
    #[must_use]
    pub fn hides(&self, path: &str) -> bool {
        self.rule(path).is_some()
    }

    /// Returns the text of the rule that hides `path`, if one does.
    #[must_use]
    pub fn rule_for(&self, path: &str) -> Option<String> {
        self.rule(path).map(Rule::text)
    }

    fn rule(&self, path: &str) -> Option<&Rule> {
        let first = self.rules.as_ref()?.iter().find(|rule| rule.is_about(path))?;
        (first.action == Action::Deny).then_some(first)
    }

    /// Returns the text of the first rule that hides paths, if one does.
    #[must_use]
    pub fn first_rule(&self) -> Option<String> {
        self.rules.as_ref()?.iter().find(|rule| rule.action == Action::Deny).map(Rule::text)
    }
}
