//! What `emend` and `emend run` have in common: which conversation is had, with whom, and what it may do.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use emend_agent::store::check_name;
use emend_llm::offline;

/// What is left out is taken from the environment and the configuration: see [`crate::settings`].
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionArgs {
    /// The project directory.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Who answers: `offline` (a stand-in without AI), `PROVIDER:MODEL` (anthropic, openai, gemini,
    /// openai_compatible; keys come from the environment), or `cassette:FILE`. Default: the model of the session that
    /// is resumed or forked, else `offline`; in a conversation the newest one that there is a key for, else `offline`.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<Model>,
    /// The names of tools and parameters, and the instructions, that the model works best with.
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) profile: Option<ProfileName>,
    /// How the model edits. Default: as its family's own agent does, and Gemini's by safe_patch.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) edits: Option<EditsName>,
    /// How much the model is to spend on reasoning; its own default when absent. Each model knows some of these.
    #[arg(long, value_name = "EFFORT", value_parser = PossibleValuesParser::new(EFFORTS), ignore_case = true)]
    pub(crate) effort: Option<String>,
    /// Let the model start subagents, which work on parts of the task at the same time.
    #[arg(long)]
    pub(crate) subagents: bool,
    /// Go on with a saved conversation: the one used last, or the one of this id. Write the task before a bare
    /// `--resume`.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "", value_parser = session_id)]
    pub(crate) resume: Option<String>,
    /// Begin a new conversation with what a saved one holds, which stays as it is.
    #[arg(long, value_name = "ID", value_parser = session_id, conflicts_with = "resume")]
    pub(crate) fork: Option<String>,
    /// With --fork: only the first N entries of the conversation.
    #[arg(long, value_name = "N", requires = "fork")]
    pub(crate) turns: Option<usize>,
    /// Keep edits back until you have accepted them one by one.
    #[arg(long)]
    pub(crate) review: bool,
    /// Let calls run that would be asked about, e.g. `shell`, `shell:cargo *`. A pattern covers a whole command (`*` is
    /// any text) or a path.
    #[arg(long, value_name = "TOOL[:PATTERN]")]
    pub(crate) allow: Vec<String>,
    /// Ask before calls that would run, e.g. `edit_file`, `write_file:*.lock`.
    #[arg(long, value_name = "TOOL[:PATTERN]")]
    pub(crate) ask: Vec<String>,
    /// Refuse calls, e.g. `shell`, `shell:git push *`, `edit_file:*.lock`. This wins over --allow, which wins over
    /// --ask.
    #[arg(long, value_name = "TOOL[:PATTERN]")]
    pub(crate) deny: Vec<String>,
    /// Confine commands: they write only in the project, in the directory for temporary files and where
    /// --sandbox-write says. What they read, what they send over the network and whom they let use a file is not
    /// limited. Linux 6.2 or later.
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// With --sandbox: another place where commands may write, e.g. a package manager's cache.
    #[arg(long, value_name = "PATH", requires = "sandbox")]
    pub(crate) sandbox_write: Vec<PathBuf>,
    /// Let the model fetch pages of the public web. Each is asked about, unless --allow says otherwise.
    #[arg(long)]
    pub(crate) web: bool,
    /// Write every event to this file as a JSON line, beside what is printed.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// The efforts that models know; each knows some of them.
pub(crate) const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Reads an effort.
pub(crate) fn effort(text: &str) -> Result<String, String> {
    let effort = text.trim().to_lowercase();
    if EFFORTS.contains(&effort.as_str()) {
        return Ok(effort);
    }
    Err(format!("there is no effort {effort:?}; there are {}; each model knows some of them", EFFORTS.join(", ")))
}

/// How a model edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditsName {
    /// By patches or by replacing texts, as its family does.
    Own,
    /// By diffs over exactly the text they were made for.
    #[value(name = "safe_patch")]
    SafePatch,
}

/// Which profile a run goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// That of the model's family; none for models of no known family.
    #[default]
    Auto,
    Openai,
    Anthropic,
    Gemini,
    /// The tools by their own names.
    None,
}

/// Checks what could be a session's id; the empty text stands for the session used last.
pub(super) fn session_id(text: &str) -> Result<String, String> {
    if text.is_empty() || check_name(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err("a session's id is one word, as `emend sessions` prints it; write the task before a bare --resume".to_owned())
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// The stand-in.
    Offline,
    /// A provider's model.
    Remote {
        /// The provider's name in [`emend_llm::Client`].
        provider: &'static str,
        /// The model's name at the provider.
        model: String,
    },
    /// A recording.
    Cassette(PathBuf),
}

/// Providers that the environment can hold a key for.
const PROVIDERS: [&str; 4] = ["anthropic", "openai", "gemini", "openai_compatible"];

impl Model {
    /// Returns the model that a session began with, `None` if this program knows no such provider.
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
                let unknown = || format!("there is no provider {provider:?}; there are: {}", PROVIDERS.join(", "));
                Ok(Self::Remote { provider: known.ok_or_else(unknown)?, model: model.to_owned() })
            }
            _ => Err("expected offline, PROVIDER:MODEL such as anthropic:NAME, or cassette:FILE".to_owned()),
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
