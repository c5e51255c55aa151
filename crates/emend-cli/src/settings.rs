//! Settings: what flags, the environment, the project's file and the user's file say, and which of them counts.
//!
//! The user's file is `$XDG_CONFIG_HOME/emend/config.toml` (`~/.config/emend/config.toml`), the project's `.emend.toml`
//! in its root. A flag wins over the environment, that over the project's file, that over the user's; rules of all of
//! them count together. A project comes from anyone, so its file can tighten what the agent may do and never loosen
//! it: it names no model, allows nothing, switches nothing on but review and the sandbox. Keys are in no file.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use emend_agent::error_code::Code;
use emend_agent::suggest::closest;
use toml::{Table, Value};

use crate::args::{EditsName, Model, ProfileName, SessionArgs, effort};
use crate::failure::Failure;

/// The project's file.
pub(crate) const PROJECT_FILE: &str = ".emend.toml";

/// Files of more bytes are no settings.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// The names of all settings, in the order they are printed in.
const NAMES: [&str; 12] = [
    "model",
    "profile",
    "edits",
    "effort",
    "review",
    "sandbox",
    "subagents",
    "web",
    "sandbox_write",
    "allow",
    "ask",
    "deny",
];

/// What a project's file may say.
const OF_PROJECT: [&str; 7] = ["profile", "edits", "effort", "review", "sandbox", "ask", "deny"];

/// Where a value comes from. The later wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

impl<T> Set<T> {
    fn default_of(value: T) -> Self {
        Self { value, source: Source::Default }
    }
}

/// Everything that can be set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Who answers, if anything says so.
    pub(crate) model: Set<Option<Model>>,
    pub(crate) profile: Set<ProfileName>,
    /// How the model edits, if anything says so.
    pub(crate) edits: Set<Option<EditsName>>,
    pub(crate) effort: Set<Option<String>>,
    pub(crate) review: Set<bool>,
    pub(crate) sandbox: Set<bool>,
    pub(crate) subagents: Set<bool>,
    pub(crate) web: Set<bool>,
    /// Where commands in a sandbox may write, each with its own source.
    pub(crate) sandbox_write: Vec<Set<String>>,
    /// Rules, each with its own source.
    pub(crate) allow: Vec<Set<String>>,
    pub(crate) ask: Vec<Set<String>>,
    pub(crate) deny: Vec<Set<String>>,
}

impl Settings {
    /// Reads everything that applies to the project of `args`.
    pub(crate) fn load(args: &SessionArgs) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let mut settings = Self::defaults();
        if let Some(path) = user_file(&variable) {
            settings.take_file(&path, false)?;
        }
        settings.take_file(&args.root.join(PROJECT_FILE), true)?;
        for name in NAMES {
            let variable_name = format!("EMEND_{}", name.to_uppercase());
            if let Some(text) = variable(&variable_name) {
                settings.take_text(name, &text, &Source::Environment(variable_name))?;
            }
        }
        settings.take_flags(args);
        Ok(settings)
    }

    /// What holds if nothing is said.
    pub(crate) fn defaults() -> Self {
        Self {
            model: Set::default_of(None),
            profile: Set::default_of(ProfileName::Auto),
            edits: Set::default_of(None),
            effort: Set::default_of(None),
            review: Set::default_of(false),
            sandbox: Set::default_of(false),
            subagents: Set::default_of(false),
            web: Set::default_of(false),
            sandbox_write: Vec::new(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
        }
    }

    /// Returns each setting as it is printed: its name, its value, where that comes from.
    pub(crate) fn rows(&self) -> Vec<(&'static str, serde_json::Value, Source)> {
        let profile = self.profile.value.to_possible_value().map(|value| value.get_name().to_owned());
        let edits = self.edits.value.and_then(|edits| edits.to_possible_value());
        let edits = edits.map(|value| value.get_name().to_owned());
        let model = self.model.value.as_ref().map(ToString::to_string);
        let mut rows = vec![
            ("model", model.into(), self.model.source.clone()),
            ("profile", profile.into(), self.profile.source.clone()),
            ("edits", edits.into(), self.edits.source.clone()),
            ("effort", self.effort.value.clone().into(), self.effort.source.clone()),
            ("review", self.review.value.into(), self.review.source.clone()),
            ("sandbox", self.sandbox.value.into(), self.sandbox.source.clone()),
            ("subagents", self.subagents.value.into(), self.subagents.source.clone()),
            ("web", self.web.value.into(), self.web.source.clone()),
        ];
        let lists =
            [("sandbox_write", &self.sandbox_write), ("allow", &self.allow), ("ask", &self.ask), ("deny", &self.deny)];
        for (name, rules) in lists {
            rows.extend(rules.iter().map(|rule| (name, rule.value.clone().into(), rule.source.clone())));
        }
        rows
    }

    fn take_file(&mut self, path: &Path, of_project: bool) -> Result<(), Failure> {
        let Some(text) = read(path)? else { return Ok(()) };
        let wrong = |what: String| Failure::new(Code::Configuration, format!("{}: {what}", path.display()));
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.to_string().trim_end().to_owned()))?;
        let source = Source::File(path.to_owned());
        for (name, value) in table {
            let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
                let near = closest(&name, NAMES, 1);
                let near = near.first().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
                let hint = match name.to_lowercase().contains("key") {
                    true => "; API keys are read from environment variables only".to_owned(),
                    false => near,
                };
                return Err(wrong(format!("unknown setting {name:?}{hint}")));
            };
            if of_project && !OF_PROJECT.contains(&name) {
                let may = OF_PROJECT.join(", ");
                return Err(wrong(format!("a project file cannot set {name:?}, only {may}; use your own config.toml")));
            }
            let texts = texts_of(&value).ok_or_else(|| wrong(wrong_type(name, &value)))?;
            if of_project
                && matches!(name, "review" | "sandbox")
                && matches!(texts.as_slice(), [text] if text == "false")
            {
                return Err(wrong(format!("a project file can switch {name} on, not off")));
            }
            for text in texts {
                self.take_text(name, &text, &source)?;
            }
        }
        Ok(())
    }

    /// Takes one value as text; several rules stand on lines of their own.
    fn take_text(&mut self, name: &'static str, text: &str, source: &Source) -> Result<(), Failure> {
        let set = |value: bool| Set { value, source: source.clone() };
        let wrong = |what: String| Failure::new(Code::Configuration, format!("{source}: {name}: {what}"));
        let truth = || match text.trim() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(wrong(format!("expected true or false, not {text:?}"))),
        };
        match name {
            "model" => self.model = Set { value: Some(text.parse().map_err(wrong)?), source: source.clone() },
            "profile" => {
                let value = ProfileName::from_str(text, true).map_err(|_| {
                    wrong(format!("unknown profile {text:?}; expected one of auto, openai, anthropic, gemini, none"))
                })?;
                self.profile = Set { value, source: source.clone() };
            }
            "edits" => {
                let value = EditsName::from_str(text, true)
                    .map_err(|_| wrong(format!("unknown editing tool {text:?}; expected one of own, safe_patch")))?;
                self.edits = Set { value: Some(value), source: source.clone() };
            }
            "effort" => self.effort = Set { value: Some(effort(text).map_err(wrong)?), source: source.clone() },
            "review" => self.review = set(truth()?),
            "sandbox" => self.sandbox = set(truth()?),
            "subagents" => self.subagents = set(truth()?),
            "web" => self.web = set(truth()?),
            name => {
                let rules = text.lines().map(str::trim).filter(|line| !line.is_empty());
                let rules = rules.map(|rule| Set { value: rule.to_owned(), source: source.clone() });
                match name {
                    "sandbox_write" => self.sandbox_write.extend(rules),
                    "allow" => self.allow.extend(rules),
                    "ask" => self.ask.extend(rules),
                    _ => self.deny.extend(rules),
                }
            }
        }
        Ok(())
    }

    fn take_flags(&mut self, args: &SessionArgs) {
        if let Some(model) = &args.model {
            self.model = Set { value: Some(model.clone()), source: Source::Flag("--model") };
        }
        if let Some(profile) = args.profile {
            self.profile = Set { value: profile, source: Source::Flag("--profile") };
        }
        if let Some(edits) = args.edits {
            self.edits = Set { value: Some(edits), source: Source::Flag("--edits") };
        }
        if let Some(effort) = &args.effort {
            self.effort = Set { value: Some(effort.to_lowercase()), source: Source::Flag("--effort") };
        }
        for (given, setting, flag) in [
            (args.review, &mut self.review, "--review"),
            (args.sandbox, &mut self.sandbox, "--sandbox"),
            (args.subagents, &mut self.subagents, "--subagents"),
            (args.web, &mut self.web, "--web"),
        ] {
            if given {
                *setting = Set { value: true, source: Source::Flag(flag) };
            }
        }
        let places = args.sandbox_write.iter().map(|path| path.display().to_string()).collect();
        for (given, rules, flag) in [
            (&places, &mut self.sandbox_write, "--sandbox-write"),
            (&args.allow, &mut self.allow, "--allow"),
            (&args.ask, &mut self.ask, "--ask"),
            (&args.deny, &mut self.deny, "--deny"),
        ] {
            rules.extend(given.iter().map(|rule| Set { value: rule.clone(), source: Source::Flag(flag) }));
        }
    }
}

/// Returns where the user's settings are kept, `None` if there is no home.
pub(crate) fn user_file(variable: &impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".config"));
    // By the XDG rule a path that is not absolute is as good as none.
    let config = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Some(config.or_else(home)?.join("emend/config.toml"))
}

/// Reads a file that may not be there. What is no file is not waited for.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    let wrong = |what: String| Failure::new(Code::Configuration, format!("{}: {what}", path.display()));
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(wrong("not a regular file".to_owned())),
        Ok(found) if found.len() > FILE_BYTES_MAX => Err(wrong(format!("larger than {} KiB", FILE_BYTES_MAX >> 10))),
        Ok(_) => std::fs::read_to_string(path).map(Some).map_err(|error| wrong(error.to_string())),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Returns a value of a file as texts: one, or those of a list.
fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Boolean(value) => Some(vec![value.to_string()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// Says what a setting is, where a file has something else.
fn wrong_type(name: &str, value: &Value) -> String {
    let expected = match name {
        "review" | "sandbox" | "subagents" | "web" => "true or false",
        "model" | "profile" | "edits" | "effort" => "a string",
        _ => "a string or a list of strings",
    };
    format!("{name} must be {expected}, not of type {}", value.type_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Settings {
        /// Returns settings with these rules, each list on lines of its own.
        pub(crate) fn of_rules(allow: &str, ask: &str, deny: &str) -> Self {
            let mut settings = Self::defaults();
            for (name, rules) in [("allow", allow), ("ask", ask), ("deny", deny)] {
                settings.take_text(name, rules, &Source::Default).unwrap();
            }
            settings
        }
    }

    fn taken(text: &str, of_project: bool) -> Result<Settings, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.toml");
        std::fs::write(&path, text).unwrap();
        let mut settings = Settings::defaults();
        let outcome = settings.take_file(&path, of_project);
        outcome.map(|()| settings).map_err(|failure| failure.message.rsplit_once("file.toml: ").unwrap().1.to_owned())
    }

    #[test]
    fn a_users_file_sets_everything_but_keys() {
        let text = "model = \"anthropic:m\"\nprofile = \"gemini\"\nedits = \"own\"\neffort = \"low\"\nreview = true\nweb = true\n\
                    allow = [\"shell:cargo *\"]\ndeny = \"shell:git push *\"\n";
        let rows: Vec<String> =
            taken(text, false).unwrap().rows().into_iter().map(|(name, value, _)| format!("{name} {value}")).collect();
        assert_eq!(
            rows,
            [
                "model \"anthropic:m\"",
                "profile \"gemini\"",
                "edits \"own\"",
                "effort \"low\"",
                "review true",
                "sandbox false",
                "subagents false",
                "web true",
                "allow \"shell:cargo *\"",
                "deny \"shell:git push *\"",
            ]
        );
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named() {
        for (text, of_project, expected) in [
            ("modle = \"x\"", false, "unknown setting \"modle\"; did you mean \"model\"?"),
            (
                "api_key = \"x\"",
                false,
                "unknown setting \"api_key\"; API keys are read from environment variables only",
            ),
            ("model = 3", false, "model must be a string, not of type integer"),
            ("ask = [1]", true, "ask must be a string or a list of strings, not of type array"),
            (
                "effort = \"silly\"",
                true,
                "effort: unknown effort \"silly\"; expected one of none, minimal, low, medium, high, xhigh, max",
            ),
            ("review = \"perhaps\"", true, "review: expected true or false, not \"perhaps\""),
            ("web = \"maybe\"", false, "web: expected true or false, not \"maybe\""),
            (
                "profile = \"x\"",
                false,
                "profile: unknown profile \"x\"; expected one of auto, openai, anthropic, gemini, none",
            ),
            ("edits = \"x\"", false, "edits: unknown editing tool \"x\"; expected one of own, safe_patch"),
            ("review = false", true, "a project file can switch review on, not off"),
        ] {
            assert_eq!(taken(text, of_project).unwrap_err(), expected, "{text}");
        }
        for name in ["model", "allow", "web", "subagents", "sandbox_write"] {
            let refused = taken(&format!("{name} = \"offline\""), true).unwrap_err();
            assert!(refused.starts_with(&format!("a project file cannot set \"{name}\"")), "{refused}");
        }
        let settings = taken("review = true\nask = [\"edit_file\"]\ndeny = [\"shell\"]\n", true).unwrap();
        assert_eq!((settings.review.value, settings.ask.len(), settings.deny.len()), (true, 1, 1));
    }
}
