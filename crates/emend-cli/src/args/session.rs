//! Options that `emend`, `emend run` and `emend config` share: conversation, model and permissions.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use emend_agent::store::check_name;
use emend_offline as offline;

/// Headings that group options in the help.
const MODEL: &str = "Model options";
const CONVERSATION: &str = "Conversation options";
const PERMISSION: &str = "Permission options";
pub(super) const OUTPUT: &str = "Output options";

/// Options of a session. A missing option is read from the environment or a settings file: see [`crate::settings`].
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionArgs {
    /// Project directory.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Model to use: `PROVIDER:MODEL`, `offline` or `cassette:FILE`.
    ///
    /// Providers: anthropic, openai, gemini and openai_compatible. Their API keys are read from environment variables.
    /// `emend models` lists known models.
    ///
    /// `offline` is a demo model that needs no API key. It is not an AI; it understands a few instructions, e.g.
    /// "rename a to b". `cassette:FILE` replays a file that `emend run --record` wrote.
    ///
    /// By default a resumed conversation continues with its model. A new conversation uses the newest model of the first
    /// provider that has an API key, else offline. `emend run` uses offline.
    #[arg(long, value_name = "MODEL", help_heading = MODEL)]
    pub(crate) model: Option<Model>,
    /// Reasoning effort of the model. Each model supports only some levels.
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = PossibleValuesParser::new(EFFORTS),
        ignore_case = true,
        help_heading = MODEL
    )]
    pub(crate) effort: Option<String>,
    /// Prompt and tool names to use, by model family.
    ///
    /// A profile imitates the agent of the model's maker: its tool names, parameters and instructions.
    #[arg(long, value_enum, value_name = "FAMILY", help_heading = MODEL)]
    pub(crate) profile: Option<ProfileName>,
    /// Editing tool to give the model. The default depends on the model family.
    #[arg(long, value_enum, value_name = "TOOL", help_heading = MODEL)]
    pub(crate) edits: Option<EditsName>,
    /// Let the model start subagents that work on parts of the task in parallel.
    #[arg(long, help_heading = MODEL)]
    pub(crate) subagents: bool,
    /// Continue a saved conversation: the last one, or the one with this ID.
    ///
    /// With `emend run`, write the task before a --resume without ID. `emend sessions` lists saved conversations.
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = session_id,
        help_heading = CONVERSATION
    )]
    pub(crate) resume: Option<String>,
    /// Start a new conversation with a copy of a saved one. The saved one does not change.
    #[arg(
        long,
        value_name = "ID",
        value_parser = session_id,
        conflicts_with = "resume",
        help_heading = CONVERSATION
    )]
    pub(crate) fork: Option<String>,
    /// With --fork: copy only the first N history entries, as `emend sessions show ID` numbers them.
    #[arg(long, value_name = "N", requires = "fork", help_heading = CONVERSATION)]
    pub(crate) turns: Option<usize>,
    /// Hold back changes until you accept them one by one.
    ///
    /// By default changes are written to the files at once. With --review you decide on each at the end of the task, or
    /// with `emend review`.
    #[arg(long, help_heading = PERMISSION)]
    pub(crate) review: bool,
    /// Allow tool calls without asking, e.g. `shell` or `shell:cargo *`.
    ///
    /// By default edits are allowed, and commands (tool `shell`) and web pages are asked about. PATTERN must match the
    /// whole command or file path; `*` matches any text. Can be given several times. `emend tools list` lists the tools.
    #[arg(long, value_name = "TOOL[:PATTERN]", help_heading = PERMISSION)]
    pub(crate) allow: Vec<String>,
    /// Ask before tool calls, e.g. `edit_file` or `write_file:*.lock`.
    #[arg(long, value_name = "TOOL[:PATTERN]", help_heading = PERMISSION)]
    pub(crate) ask: Vec<String>,
    /// Refuse tool calls, e.g. `shell:git push *` or `edit_file:*.lock`. Overrides --allow, which overrides --ask.
    #[arg(long, value_name = "TOOL[:PATTERN]", help_heading = PERMISSION)]
    pub(crate) deny: Vec<String>,
    /// Restrict where commands can write: the project, the temporary directory, and --sandbox-write.
    ///
    /// Reading, network access and changes of file permissions are not restricted. Needs Linux 6.2 or later.
    #[arg(long, help_heading = PERMISSION)]
    pub(crate) sandbox: bool,
    /// With --sandbox: also let commands write here, e.g. in a package manager's cache.
    #[arg(long, value_name = "PATH", requires = "sandbox", help_heading = PERMISSION)]
    pub(crate) sandbox_write: Vec<PathBuf>,
    /// Let the model fetch public web pages. Emend asks before each, unless --allow web_fetch is given.
    #[arg(long, help_heading = PERMISSION)]
    pub(crate) web: bool,
    /// Also write every event to FILE, as JSON, one object per line.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) trace: Option<PathBuf>,
}

/// Reasoning efforts. Each model supports some of them.
pub(crate) const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Parses a reasoning effort.
pub(crate) fn effort(text: &str) -> Result<String, String> {
    let effort = text.trim().to_lowercase();
    if EFFORTS.contains(&effort.as_str()) {
        return Ok(effort);
    }
    Err(format!("unknown effort {effort:?}; expected one of {}", EFFORTS.join(", ")))
}

/// How a model edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditsName {
    /// The tool of the model family's own agent: patches or text replacement.
    Own,
    /// Diffs with a hash of the text they were made for. Default for Gemini.
    #[value(name = "safe_patch")]
    SafePatch,
}

/// Which profile a session uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// Choose by the model's name.
    #[default]
    Auto,
    /// Tool names and prompt for GPT models.
    Openai,
    /// Tool names and prompt for Claude models.
    Anthropic,
    /// Tool names and prompt for Gemini models.
    Gemini,
    /// Emend's own tool names and prompt.
    None,
}

/// Checks the form of a session ID. The empty text stands for the session used last.
pub(super) fn session_id(text: &str) -> Result<String, String> {
    if text.is_empty() || check_name(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err("expected the ID of a session, from `emend sessions`; write the task before a --resume without ID".to_owned())
}

/// The model of a session, as `--model` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// The offline model.
    Offline,
    /// A provider's model.
    Remote {
        /// The provider's name in [`emend_llm::Client`].
        provider: &'static str,
        /// The model's name at the provider.
        model: String,
    },
    /// A recording that is replayed.
    Cassette(PathBuf),
}

/// Names of the providers.
const PROVIDERS: [&str; 4] = ["anthropic", "openai", "gemini", "openai_compatible"];

impl Model {
    /// Returns the model of a saved session, `None` if its provider is unknown.
    pub(crate) fn of_session(provider: &str, model: &str) -> Option<Self> {
        if model == offline::MODEL { Some(Self::Offline) } else { format!("{provider}:{model}").parse().ok() }
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "offline" => Ok(Self::Offline),
            Some(("cassette", file)) if !file.is_empty() => Ok(Self::Cassette(PathBuf::from(file))),
            Some((provider, model)) if !model.is_empty() => {
                let known = PROVIDERS.into_iter().find(|known| *known == provider);
                let unknown = || format!("unknown provider {provider:?}; expected one of {}", PROVIDERS.join(", "));
                Ok(Self::Remote { provider: known.ok_or_else(unknown)?, model: model.to_owned() })
            }
            _ => Err("expected PROVIDER:MODEL, e.g. openai:gpt-5, or offline, or cassette:FILE".to_owned()),
        }
    }
}

impl std::fmt::Display for Model {
    /// Writes a model as `--model` takes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Offline => f.write_str(offline::MODEL),
            Self::Remote { provider, model } => write!(f, "{provider}:{model}"),
            Self::Cassette(path) => write!(f, "cassette:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_provider_and_name() {
        assert_eq!("offline".parse(), Ok(Model::Offline));
        let remote = |provider, model: &str| Ok(Model::Remote { provider, model: model.to_owned() });
        assert_eq!("anthropic:claude-x".parse(), remote("anthropic", "claude-x"));
        assert_eq!("openai_compatible:qwen3:8b".parse(), remote("openai_compatible", "qwen3:8b"));
        assert_eq!("cassette:a:b.json".parse(), Ok(Model::Cassette(PathBuf::from("a:b.json"))));
        for wrong in ["", "anthropic", "anthropic:", "claude:x", "cassette:"] {
            assert!(wrong.parse::<Model>().is_err(), "{wrong:?}");
        }
        for text in ["offline", "openai_compatible:qwen3:8b", "cassette:a:b.json"] {
            assert_eq!(text.parse::<Model>().unwrap().to_string(), text);
        }
    }
}
