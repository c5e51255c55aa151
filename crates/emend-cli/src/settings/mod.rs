//! Settings: the values of command-line options, environment variables and settings files, and which of them counts.
//!
//! The user's file is `$XDG_CONFIG_HOME/emend/config.toml` (`~/.config/emend/config.toml`). The project has a file
//! `.emend.toml` in its root, and may have one in every directory from there to the one in which the user works. Options
//! override the environment, which overrides the project's file, which overrides the user's. Lists
//! are joined. Since anyone may have written the project's file it can restrict the agent and never give it more
//! rights: it sets no model, allows no call, switches on nothing but review and the sandbox, and only lowers limits. No
//! file contains API keys.

mod advanced;
mod field;
mod flags;
#[cfg(test)]
mod hosts;
mod limits;
mod routing;
mod service;
mod table;
mod values;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use emend_agent::approval::is_command_tool;
use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_agent::service::LIMITS;
use emend_agent::suggest::closest;
use toml::{Table, Value};

use crate::failure::Failure;
use crate::obeyed::Obeyed;
use crate::place::{Place, Start};
use field::Field;
pub(crate) use field::Source;
pub(crate) use field::Sourced;
pub(crate) use flags::{FixedFlags, SettingFlags};
pub(crate) use limits::{Dollars, Duration, Limit, Tokens};
pub(crate) use table::Settings;
use table::{ADVANCED, ProjectRight, Row, rows};
pub(crate) use values::{CompactionName, EditsName, Effort, InheritName, Model, ProfileName, ToolCalls};

/// Name of the project's settings file.
pub(crate) const PROJECT_FILE: &str = ".emend.toml";

/// Name of the file with the user's instructions, beside their settings file.
const USER_DOCUMENT: &str = "AGENTS.md";

/// Variables with a purpose other than a setting: for tests of `emend patch`, a mark of commands that the agent runs, and
/// the token and the number of streams of `emend serve`.
const OTHER_VARIABLES: [&str; 4] = ["EMEND_STEPS", "EMEND_COMMAND", "EMEND_TOKEN", "EMEND_MAX_STREAMS"];

/// Larger files are rejected.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A setting as it is printed.
pub(crate) struct SettingRow {
    pub(crate) name: String,
    /// Null if the setting has no value.
    pub(crate) value: serde_json::Value,
    pub(crate) source: Source,
}

impl SettingRow {
    /// Returns whether this is a value of a table, such as `service.max_sessions`.
    pub(crate) fn is_of_table(&self) -> bool {
        self.name.contains('.')
    }
}

/// Returns the environment variables of the settings that are not advanced.
pub(crate) fn usual_variables() -> impl Iterator<Item = String> {
    rows().filter(|row| row.heading != ADVANCED).map(Row::variable)
}

/// Returns the directory to work in: `root`, unless an option, the environment or the user's file names a place elsewhere.
pub(crate) fn started(root: &Path, option: Option<&str>) -> Result<Start, Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let mut elsewhere = option.map(str::to_owned).or_else(|| variable("EMEND_ENV"));
    if elsewhere.is_none()
        && let Some(path) = user_file(&variable)
    {
        // Errors in the file are reported by the commands that need its other settings.
        let table = read(&path).ok().flatten().and_then(|text| text.parse::<Table>().ok());
        elsewhere = table.and_then(|table| Some(table.get("env")?.as_str()?.to_owned()));
    }
    Ok(Start { root: root.to_owned(), elsewhere })
}

impl Settings {
    /// Returns the place of a project: the directory `root`, unless these options name a place elsewhere.
    pub(crate) fn place(root: &Path, flags: &SettingFlags) -> Result<Place, Failure> {
        let option = flags.given.iter().find(|(row, _)| row.name == "env").and_then(|(_, values)| values.last());
        Place::of(&started(root, option.map(String::as_str))?)
    }

    /// Reads the settings of the project at `place`. A file in a deeper directory adds to those above, and can replace
    /// only values that restrict nothing.
    pub(crate) fn load(place: &Place, flags: &SettingFlags) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let mut settings = Self::default();
        if let Some(path) = user_file(&variable) {
            settings.read_file(&path, None)?;
        }
        if place.elsewhere().is_none() {
            settings.obeyed = Obeyed::of(place.root());
        }
        for (directory, below) in place.directories() {
            let path = directory.join(PROJECT_FILE);
            refuse_link_to_outside(&path, place.root())?;
            settings.read_file(&path, Some(&below))?;
        }
        for row in rows() {
            let name = row.variable();
            if let Some(text) = variable(&name) {
                settings.set(row, &text, &Source::Environment(name))?;
            }
        }
        for (table, set) in [
            (service::TABLE, service::read_variables(&mut settings.service, variable)?),
            (routing::TABLE, routing::read_variables(&mut settings.routing, variable)?),
        ] {
            let sources =
                set.into_iter().map(|(name, variable)| (format!("{table}.{name}"), Source::Environment(variable)));
            settings.table_sources.extend(sources);
        }
        for (row, values) in &flags.given {
            let source = Source::Flag(row.option);
            values.iter().try_for_each(|value| settings.set(row, value, &source))?;
        }
        for warning in unknown_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())) {
            // A warning is not worth a failure.
            let _ = writeln!(crate::visible::stderr(), "emend: warning: {warning}");
        }
        Ok(settings)
    }

    /// Returns settings with the values of options only: no file and no variable has an effect, so that results of others
    /// can be repeated.
    pub(crate) fn of_flags(flags: &SettingFlags) -> Result<Self, Failure> {
        let mut settings = Self { without_user_files: true, ..Self::default() };
        for (row, values) in &flags.given {
            let source = Source::Flag(row.option);
            values.iter().try_for_each(|value| settings.set(row, value, &source))?;
        }
        Ok(settings)
    }

    /// Returns the base instructions for the model, if the user replaces those of the model family.
    pub(crate) fn system_prompt_text(&self) -> Result<Option<String>, Failure> {
        text_or_file(&self.system_prompt)
    }

    /// Returns the user's instructions for the model: their AGENTS.md, followed by the setting `instructions`.
    pub(crate) fn instructions_text(&self) -> Result<Option<String>, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let own = user_file(&variable).filter(|_| !self.without_user_files);
        let own = own.map(|path| path.with_file_name(USER_DOCUMENT));
        let own = own.map_or(Ok(None), |path| read(&path))?;
        let given = text_or_file(&self.instructions)?;
        let texts = [own, given].into_iter().flatten().map(|text| text.trim().to_owned());
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
    }

    /// Returns all settings as they are printed, those of tables as `table.name`. Lists have one row per entry, and one without
    /// value if there is no entry.
    pub(crate) fn rows(&self) -> Vec<SettingRow> {
        let mut settings = self.clone();
        let rows = rows().flat_map(|row| {
            let shown = (row.field)(&mut settings).shown();
            // A list without entries has its default.
            let shown = if shown.is_empty() { vec![(serde_json::Value::Null, Source::Default)] } else { shown };
            shown.into_iter().map(|(value, source)| SettingRow { name: row.name.to_owned(), value, source })
        });
        let service = service::values(&self.service).map(|value| (service::TABLE, value));
        let routing = routing::values(&self.routing).map(|value| (routing::TABLE, value));
        let of_tables = service.chain(routing).map(|(table, (name, value))| {
            let name = format!("{table}.{name}");
            let source = self.table_sources.get(&name).cloned().unwrap_or_default();
            SettingRow { name, value: value.unwrap_or_default(), source }
        });
        rows.chain(of_tables).collect()
    }

    /// Reads a settings file, if it exists. That of a project is in the directory `below` its root.
    fn read_file(&mut self, path: &Path, below: Option<&FilePath>) -> Result<(), Failure> {
        let is_project = below.is_some();
        let Some(text) = read(path)? else { return Ok(()) };
        let wrong = |what: String| Failure::new(Code::Configuration, format!("{}: {what}", path.display()));
        let table: Table = text.parse().map_err(|error| wrong(unparsed(&text, &error)))?;
        let source = Source::File(path.to_owned());
        for (name, value) in table {
            let set = match name.as_str() {
                service::TABLE => Some(service::read(&mut self.service, &value, is_project)),
                routing::TABLE => Some(routing::read(&mut self.routing, &value, is_project)),
                _ => None,
            };
            if let Some(set) = set {
                let sources = set.map_err(wrong)?.into_iter().map(|set| (format!("{name}.{set}"), source.clone()));
                self.table_sources.extend(sources);
                continue;
            }
            let row = rows().find(|row| row.name == name).ok_or_else(|| wrong(unknown(&name)))?;
            if is_project && row.project == ProjectRight::Never {
                let rows = rows().filter(|row| row.project != ProjectRight::Never);
                let names: Vec<&str> = rows.map(|row| row.name).collect();
                let names = names.join(", ");
                return Err(wrong(format!(
                    "a project file cannot set {name:?}; use your own config.toml. It can set {names}"
                )));
            }
            let field = (row.field)(self);
            let texts = texts(&value, &*field).map_err(|found| {
                let expected = field.expected();
                wrong(format!("{name} must be {expected}, not {found}"))
            })?;
            if is_project
                && row.project == ProjectRight::SwitchOn
                && matches!(texts.as_slice(), [text] if text == "false")
            {
                return Err(wrong(format!("a project file can switch {name} on, not off")));
            }
            let texts = match below {
                Some(below) if ["ask", "deny"].contains(&row.name) => {
                    texts.iter().flat_map(|rule| below_root(rule, below)).collect()
                }
                _ => texts,
            };
            for text in &texts {
                match is_project && row.project == ProjectRight::Lower {
                    true => (row.field)(self)
                        .lower(text, &source)
                        .map_err(|what| Failure::new(Code::Configuration, format!("{source}: {}: {what}", row.name)))?,
                    false => self.set(row, text, &source)?,
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, row: &Row, text: &str, source: &Source) -> Result<(), Failure> {
        let wrong = |what: String| Failure::new(Code::Configuration, format!("{source}: {}: {what}", row.name));
        (row.field)(self).set(text, source).map_err(wrong)
    }
}

/// Returns the text of a setting, or of the file that it names behind an `@`.
fn text_or_file(setting: &Sourced<Option<String>>) -> Result<Option<String>, Failure> {
    let Sourced { value, source } = setting;
    Ok(match value.as_deref().map(|text| (text, text.strip_prefix('@'))) {
        None => None,
        Some((text, None)) => Some(text.to_owned()),
        Some((_, Some(path))) => {
            // The path in a settings file is relative to that file. Otherwise a project could supply the text.
            let path = match source {
                Source::File(file) => file.with_file_name(path),
                _ => Path::new(path).to_owned(),
            };
            let missing = || Failure::new(Code::Configuration, format!("{source}: {} does not exist", path.display()));
            Some(read(&path)?.ok_or_else(missing)?)
        }
    })
}

/// Returns the rules for a rule in the settings of a directory below the root. The paths of a rule are relative to the
/// directory of its file; the patterns of commands are not paths.
fn below_root(rule: &str, below: &FilePath) -> Vec<String> {
    let own = || vec![rule.to_owned()];
    let Some((tool, pattern)) = rule.split_once(':').filter(|(tool, _)| !is_command_tool(tool.trim())) else {
        return own();
    };
    if below.is_root() {
        return own();
    }
    let directory = literal_glob(below.as_str());
    let (not, path) = pattern.trim().strip_prefix('!').map_or(("", pattern.trim()), |path| ("!", path));
    let nested = format!("{tool}:{not}{directory}/{}", path.strip_prefix("./").unwrap_or(path));
    // A name stands for files of this name in all directories.
    if not.is_empty() { vec![nested, rule.to_owned()] } else { vec![nested] }
}

/// Returns a glob that matches this path only.
fn literal_glob(path: &str) -> String {
    let literal = |char: char| if "*?[]{}!\\".contains(char) { vec!['\\', char] } else { vec![char] };
    path.chars().flat_map(literal).collect()
}

/// Returns the error text for a file that is not TOML: the line, and the parser's reason without the text of the file,
/// which may be a secret.
fn unparsed(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
    let place = line.map_or_else(String::new, |line| format!(" at line {line}"));
    format!("TOML parse error{place}: {}", error.message().lines().next().unwrap_or_default())
}

/// Rejects a settings file that is a link out of the project: its content would appear in errors and in the settings.
fn refuse_link_to_outside(path: &Path, root: &Path) -> Result<(), Failure> {
    if !std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Ok(());
    }
    let is_inside = |target: &Path| root.canonicalize().is_ok_and(|root| target.starts_with(root));
    match path.canonicalize() {
        Ok(target) if is_inside(&target) => Ok(()),
        _ => {
            let message = format!("{}: the file is a link that leads out of the project; replace it", path.display());
            Err(Failure::new(Code::Configuration, message))
        }
    }
}

/// Returns the error text for an unknown setting.
fn unknown(name: &str) -> String {
    if name.to_lowercase().contains("key") {
        return format!("unknown setting {name:?}; API keys are read from environment variables only");
    }
    let near = closest(name, rows().map(|row| row.name), 1);
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

/// Returns a value of a settings file as texts. The error describes a value that has no such form.
fn texts(value: &Value, field: &dyn Field) -> Result<Vec<String>, String> {
    match value {
        Value::Table(table) if field.takes_tables() => {
            serde_json::to_string(table).map(|text| vec![text]).map_err(|error| error.to_string())
        }
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Boolean(value) => Ok(vec![value.to_string()]),
        Value::Integer(value) if field.takes_numbers() => Ok(vec![value.to_string()]),
        Value::Float(value) if field.takes_numbers() => Ok(vec![value.to_string()]),
        Value::Array(items) => {
            let text = |item: &Value| {
                item.as_str()
                    .map(str::to_owned)
                    .ok_or_else(|| format!("a list with a value of type {}", item.type_str()))
            };
            items.iter().map(text).collect()
        }
        value => Err(format!("of type {}", value.type_str())),
    }
}

/// Returns a warning for each `EMEND_*` variable that is not a setting.
pub(crate) fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<String> {
    let limits = LIMITS.iter().map(|limit| limit.variable.to_owned());
    let known: Vec<String> = rows().map(Row::variable).chain(limits).chain(routing::variables()).collect();
    let is_known = |name: &String| known.contains(name) || OTHER_VARIABLES.contains(&name.as_str());
    let unknown = names.filter(|name| name.starts_with("EMEND_") && !is_known(name));
    let mut warnings: Vec<String> = unknown
        .map(|name| {
            let near = closest(&name, known.iter().map(String::as_str), 1);
            let near = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            format!("the environment variable {name} is not a setting and has no effect{near}")
        })
        .collect();
    warnings.sort_unstable();
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Settings {
        /// Returns settings with these rules, each list on lines of its own.
        pub(crate) fn of_rules(allow: &str, ask: &str, deny: &str) -> Self {
            let mut settings = Self::default();
            for (name, rules) in [("allow", allow), ("ask", ask), ("deny", deny)] {
                let row = rows().find(|row| row.name == name).unwrap();
                settings.set(row, rules, &Source::Default).unwrap();
            }
            settings
        }

        /// Returns settings with one value, without files of the user.
        pub(crate) fn of_value(name: &str, text: &str) -> Self {
            let mut settings = Self { without_user_files: true, ..Self::default() };
            let row = rows().find(|row| row.name == name).unwrap();
            settings.set(row, text, &Source::Default).unwrap();
            settings
        }

        /// Returns the names of all settings.
        pub(crate) fn names() -> Vec<&'static str> {
            rows().map(|row| row.name).collect()
        }
    }

    fn taken(text: &str, of_project: bool) -> Result<Settings, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.toml");
        std::fs::write(&path, text).unwrap();
        let mut settings = Settings::default();
        let root = FilePath::root();
        let outcome = settings.read_file(&path, of_project.then_some(&root));
        outcome.map(|()| settings).map_err(|failure| failure.message.rsplit_once("file.toml: ").unwrap().1.to_owned())
    }

    #[test]
    fn a_users_file_sets_everything_but_keys() {
        let text = "model = \"anthropic:m\"\nprofile = \"gemini\"\nedits = \"own\"\neffort = \"low\"\nreview = true\nweb = true\n\
                    allow = [\"shell:cargo *\"]\ndeny = \"shell:git push *\"\n\
                    max_tool_rounds = 20\nmax_cost = 1.5\nmax_time = \"10m\"\n";
        let settings = taken(text, false).unwrap();
        let rows = settings.rows().into_iter().filter(|row| !row.is_of_table());
        let rows = rows.map(|row| format!("{} {}", row.name, row.value));
        // Settings that the file does not name stay off or unset.
        let rows: Vec<String> = rows.filter(|row| !row.ends_with(" false") && !row.ends_with(" null")).collect();
        assert_eq!(
            rows,
            [
                "model \"anthropic:m\"",
                "effort \"low\"",
                "profile \"gemini\"",
                "edits \"own\"",
                "max_tool_rounds 20",
                "max_cost 1.5",
                "max_time \"600s\"",
                "review true",
                "allow \"shell:cargo *\"",
                "deny \"shell:git push *\"",
                "web true",
                "tool_calls \"native\"",
                "streaming true",
                "compaction \"prune\"",
                "parallel_tools true",
                "env_inherit \"harmless\"",
                "index true",
            ]
        );
    }

    #[test]
    fn paths_in_a_rule_are_relative_to_the_directory_of_its_file() {
        let check = |rule: &str, below: &str, expected: &[&str]| {
            assert_eq!(below_root(rule, &FilePath::clean(below).unwrap()), expected, "{rule}");
        };
        check("edit_file:gen/**", "", &["edit_file:gen/**"]);
        check("edit_file:gen/**", "a/b", &["edit_file:a/b/gen/**", "edit_file:gen/**"]);
        check("*:./secrets.txt", "a", &["*:a/secrets.txt", "*:./secrets.txt"]);
        check("*:!src/**", "a", &["*:!a/src/**"]);
        check("read_file:x", "[a]", &["read_file:\\[a\\]/x", "read_file:x"]);
        check("shell:rm *", "a", &["shell:rm *"]);
        check("edit_file", "a", &["edit_file"]);
    }

    #[test]
    fn an_error_quotes_no_value_of_a_file_that_is_not_toml() {
        for text in
            ["root:hunter2:0:0\n", "a = 1\nSECRET=hunter2\n", "token = \"hunter2", "[hunter2", "KEY=\"hunter2\" x\n"]
        {
            let message = taken(text, true).unwrap_err();
            assert!(!message.contains("hunter2") && message.contains("line "), "{text:?}: {message}");
        }
        assert!(taken("a = 1\nSECRET=hunter2\n", true).unwrap_err().contains("at line 2: "));
    }

    #[test]
    fn every_setting_is_used() {
        fn sources(directory: &std::path::Path, found: &mut String) {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    sources(&path, found);
                } else {
                    found.push_str(&std::fs::read_to_string(path).unwrap());
                }
            }
        }
        let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        let mut text = String::new();
        for entry in std::fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with("settings") => {}
                true => sources(&path, &mut text),
                false => text.push_str(&std::fs::read_to_string(&path).unwrap()),
            }
        }
        for row in rows() {
            let used = format!("settings.{}", row.name);
            assert!(text.contains(&used), "nothing outside of settings/ reads {used}");
        }
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
            ("ask = [1]", true, "ask must be a string or a list of strings, not a list with a value of type integer"),
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
            ("edits = \"x\"", false, "edits: unknown editing tool \"x\"; expected one of own, safe_patch, edit_lines"),
            ("review = false", true, "a project file can switch review on, not off"),
            ("sandbox = false", true, "a project file can switch sandbox on, not off"),
        ] {
            assert_eq!(taken(text, of_project).unwrap_err(), expected, "{text}");
        }
        for name in ["model", "allow", "web", "subagents", "sandbox_write", "instructions"] {
            let refused = taken(&format!("{name} = \"offline\""), true).unwrap_err();
            assert!(refused.starts_with(&format!("a project file cannot set \"{name}\"")), "{refused}");
        }
        let settings = taken("review = true\nask = [\"edit_file\"]\ndeny = [\"shell\"]\n", true).unwrap();
        assert_eq!((settings.review.value, settings.ask.len(), settings.deny.len()), (true, 1, 1));
        let settings = taken("max_tool_rounds = 500\nmax_tokens = \"50k\"\n", true).unwrap();
        assert_eq!((settings.max_tool_rounds.value.0, settings.max_tokens.value.0), (100, 50_000));
        let refused = taken("max_time = \"soon\"", true).unwrap_err();
        assert_eq!(refused, "max_time: expected a time such as 90s, 10m or 1h, 0 for no limit, not \"soon\"");
    }

    #[test]
    fn a_projects_file_lowers_what_costs_money_or_time() {
        let check = |user: &str, project: &str, expected: (Option<&str>, Option<u64>)| {
            let directory = tempfile::tempdir().unwrap();
            let mut settings = Settings::default();
            for (text, below) in [(user, None), (project, Some(&FilePath::root()))] {
                let path = directory.path().join("file.toml");
                std::fs::write(&path, text).unwrap();
                settings.read_file(&path, below).unwrap();
            }
            let effort = settings.effort.value.map(|effort| effort.0);
            assert_eq!((effort.as_deref(), settings.command_timeout.value.ms), expected, "{user} {project}");
        };
        let (low, high) = ("effort = \"low\"\ncommand_timeout = \"5s\"", "effort = \"max\"\ncommand_timeout = \"1h\"");
        check(low, high, (Some("low"), Some(5_000)));
        check(high, low, (Some("low"), Some(5_000)));
        check("", "effort = \"max\"", (None, None));
        check("", "effort = \"medium\"", (Some("medium"), None));
    }

    #[test]
    fn variables_that_are_no_settings_are_named() {
        let names = ["EMEND_MODLE", "EMEND_MODEL", "OTHER", "EMEND_QQQQQQQQQQQQ"].map(str::to_owned);
        assert_eq!(
            unknown_variables(names.into_iter()),
            [
                "the environment variable EMEND_MODLE is not a setting and has no effect; did you mean EMEND_MODEL?",
                "the environment variable EMEND_QQQQQQQQQQQQ is not a setting and has no effect",
            ]
        );
    }
}
