//! Settings: the values of command-line options, environment variables and settings files, and which of them counts.
//!
//! The user's file is `$XDG_CONFIG_HOME/emend/config.toml` (`~/.config/emend/config.toml`), the project's `.emend.toml`
//! in its root. Options override the environment, which overrides the project's file, which overrides the user's. Lists
//! are joined. Since anyone may have written the project's file it can restrict the agent and never give it more
//! rights: it sets no model, allows no call and switches on nothing but review and the sandbox. No file contains API
//! keys.

mod field;
mod flags;
mod table;
mod values;

use std::path::{Path, PathBuf};

use emend_agent::error_code::Code;
use emend_agent::suggest::closest;
use toml::{Table, Value};

use crate::failure::Failure;
pub(crate) use field::Source;
pub(crate) use flags::SettingFlags;
pub(crate) use table::Settings;
use table::{ProjectRight, Row, TABLE};
pub(crate) use values::{EditsName, Effort, Model, ProfileName};

/// Name of the project's settings file.
pub(crate) const PROJECT_FILE: &str = ".emend.toml";

/// Larger files are rejected.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A setting as it is printed.
pub(crate) struct SettingRow {
    pub(crate) name: &'static str,
    /// Null if the setting has no value.
    pub(crate) value: serde_json::Value,
    pub(crate) source: Source,
}

/// Returns the environment variables of all settings.
pub(crate) fn variables() -> impl Iterator<Item = String> {
    TABLE.iter().map(Row::variable)
}

impl Settings {
    /// Reads the settings of the project in `root`.
    pub(crate) fn load(root: &Path, flags: &SettingFlags) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let mut settings = Self::default();
        if let Some(path) = user_file(&variable) {
            settings.read_file(&path, false)?;
        }
        settings.read_file(&root.join(PROJECT_FILE), true)?;
        for row in &TABLE {
            let name = row.variable();
            if let Some(text) = variable(&name) {
                settings.set(row, &text, &Source::Environment(name))?;
            }
        }
        for (row, values) in &flags.given {
            let source = Source::Flag(row.option);
            values.iter().try_for_each(|value| settings.set(row, value, &source))?;
        }
        Ok(settings)
    }

    /// Returns all settings as they are printed. Lists have one row per entry.
    pub(crate) fn rows(&self) -> Vec<SettingRow> {
        let mut settings = self.clone();
        let rows = TABLE.iter().flat_map(|row| {
            let shown = (row.field)(&mut settings).shown();
            shown.into_iter().map(|(value, source)| SettingRow { name: row.name, value, source })
        });
        rows.collect()
    }

    /// Reads a settings file, if it exists.
    fn read_file(&mut self, path: &Path, is_project: bool) -> Result<(), Failure> {
        let Some(text) = read(path)? else { return Ok(()) };
        let wrong = |what: String| Failure::new(Code::Configuration, format!("{}: {what}", path.display()));
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.to_string().trim_end().to_owned()))?;
        let source = Source::File(path.to_owned());
        for (name, value) in table {
            let row = TABLE.iter().find(|row| row.name == name).ok_or_else(|| wrong(unknown(&name)))?;
            if is_project && row.project == ProjectRight::Never {
                let rows = TABLE.iter().filter(|row| row.project != ProjectRight::Never);
                let names: Vec<&str> = rows.map(|row| row.name).collect();
                let names = names.join(", ");
                return Err(wrong(format!(
                    "a project file cannot set {name:?}, only {names}; use your own config.toml"
                )));
            }
            let texts = texts(&value).ok_or_else(|| {
                let expected = (row.field)(self).expected();
                wrong(format!("{name} must be {expected}, not of type {}", value.type_str()))
            })?;
            if is_project
                && row.project == ProjectRight::SwitchOn
                && matches!(texts.as_slice(), [text] if text == "false")
            {
                return Err(wrong(format!("a project file can switch {name} on, not off")));
            }
            texts.iter().try_for_each(|text| self.set(row, text, &source))?;
        }
        Ok(())
    }

    fn set(&mut self, row: &Row, text: &str, source: &Source) -> Result<(), Failure> {
        let wrong = |what: String| Failure::new(Code::Configuration, format!("{source}: {}: {what}", row.name));
        (row.field)(self).set(text, source).map_err(wrong)
    }
}

/// Returns the error text for an unknown setting.
fn unknown(name: &str) -> String {
    if name.to_lowercase().contains("key") {
        return format!("unknown setting {name:?}; API keys are read from environment variables only");
    }
    let near = closest(name, TABLE.iter().map(|row| row.name), 1);
    let near = near.first().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
    format!("unknown setting {name:?}{near}")
}

/// Returns the path of the user's settings file, `None` without a home directory.
pub(crate) fn user_file(variable: &impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".config"));
    // The XDG specification says to ignore relative paths.
    let config = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Some(config.or_else(home)?.join("emend/config.toml"))
}

/// Reads a file, `None` if it does not exist. Anything else but a regular file is rejected: a FIFO would block.
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

/// Returns a value of a settings file as texts, `None` if its type has no such form.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Boolean(value) => Some(vec![value.to_string()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Settings {
        /// Returns settings with these rules, each list on lines of its own.
        pub(crate) fn of_rules(allow: &str, ask: &str, deny: &str) -> Self {
            let mut settings = Self::default();
            for (name, rules) in [("allow", allow), ("ask", ask), ("deny", deny)] {
                let row = TABLE.iter().find(|row| row.name == name).unwrap();
                settings.set(row, rules, &Source::Default).unwrap();
            }
            settings
        }
    }

    fn taken(text: &str, of_project: bool) -> Result<Settings, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.toml");
        std::fs::write(&path, text).unwrap();
        let mut settings = Settings::default();
        let outcome = settings.read_file(&path, of_project);
        outcome.map(|()| settings).map_err(|failure| failure.message.rsplit_once("file.toml: ").unwrap().1.to_owned())
    }

    #[test]
    fn a_users_file_sets_everything_but_keys() {
        let text = "model = \"anthropic:m\"\nprofile = \"gemini\"\nedits = \"own\"\neffort = \"low\"\nreview = true\nweb = true\n\
                    allow = [\"shell:cargo *\"]\ndeny = \"shell:git push *\"\n";
        let rows: Vec<String> =
            taken(text, false).unwrap().rows().iter().map(|row| format!("{} {}", row.name, row.value)).collect();
        assert_eq!(
            rows,
            [
                "model \"anthropic:m\"",
                "effort \"low\"",
                "profile \"gemini\"",
                "edits \"own\"",
                "subagents false",
                "review true",
                "allow \"shell:cargo *\"",
                "deny \"shell:git push *\"",
                "sandbox false",
                "web true",
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
