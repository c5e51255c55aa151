//! Types of setting values: models, profiles, editing tools, reasoning efforts.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use emend_agent::suggest::closest;
use emend_llm::{PROVIDERS, ProviderInfo, get_latest_model, get_model_info, list_models};
use emend_offline as offline;

/// Names of model families, and their providers.
const FAMILIES: [(&str, &str); 4] =
    [("claude", "anthropic"), ("gpt", "openai"), ("chatgpt", "openai"), ("google", "gemini")];

/// The model of a session, as `--model` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// The offline model.
    Offline,
    /// A provider's model.
    Remote {
        provider: &'static ProviderInfo,
        /// The provider's name of the model.
        model: String,
    },
    /// A recording that is replayed.
    Cassette(PathBuf),
}

impl Model {
    /// Returns the model of a saved session, `None` if its provider is unknown.
    pub(crate) fn of_session(provider: &str, model: &str) -> Option<Self> {
        if model == offline::MODEL { Some(Self::Offline) } else { format!("{provider}:{model}").parse().ok() }
    }

    /// Returns the model with a name without provider: the id or alias of a known model, or the newest model of a
    /// provider or family.
    fn of_name(name: &str) -> Result<Self, String> {
        let family =
            FAMILIES.iter().find(|(family, _)| family.eq_ignore_ascii_case(name)).map(|(_, provider)| *provider);
        let newest = || get_latest_model(family.unwrap_or(name), None);
        let known = get_model_info(name).or_else(|| get_model_info(&name.to_lowercase())).or_else(newest);
        let found = known.and_then(|info| Some((ProviderInfo::of_name(&info.provider)?, info.id.clone())));
        if let Some((provider, model)) = found {
            return Ok(Self::Remote { provider, model });
        }
        let near = closest(name, list_models(None).map(|info| info.id.as_str()), 1);
        let near = near.first().and_then(|id| get_model_info(id));
        Err(match near {
            Some(info) => format!("unknown model {name:?}; did you mean {}:{}?", info.provider, info.id),
            None => format!(
                "unknown model {name:?}; `emend models` lists known models, and PROVIDER:MODEL selects any other, e.g. \
                 openai_compatible:{name}"
            ),
        })
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == offline::MODEL => Ok(Self::Offline),
            Some(("cassette", file)) if !file.is_empty() => Ok(Self::Cassette(PathBuf::from(file))),
            Some((name, model)) if !model.is_empty() => {
                let names = || PROVIDERS.map(|info| info.name).join(", ");
                let unknown = || format!("unknown provider {name:?}; expected one of {}", names());
                Ok(Self::Remote { provider: ProviderInfo::of_name(name).ok_or_else(unknown)?, model: model.to_owned() })
            }
            None if !text.trim().is_empty() => Self::of_name(text.trim()),
            _ => Err("expected PROVIDER:MODEL, e.g. openai:gpt-5, or offline, or cassette:FILE".to_owned()),
        }
    }
}

impl std::fmt::Display for Model {
    /// Writes a model as `--model` takes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Offline => f.write_str(offline::MODEL),
            Self::Remote { provider, model } => write!(f, "{}:{model}", provider.name),
            Self::Cassette(path) => write!(f, "cassette:{}", path.display()),
        }
    }
}

/// The profile of a session.
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

/// The editing tool of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditsName {
    /// The tool of the model family's own agent: patches or text replacement.
    Own,
    /// Diffs with a hash of the text they were made for. Default for Gemini.
    #[value(name = "safe_patch")]
    SafePatch,
    /// Edits of lines by number, in files that the model has read.
    #[value(name = "edit_lines")]
    EditLines,
}

/// The form of tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolCalls {
    /// The provider's own tool calls.
    #[default]
    Native,
    /// JSON objects in the model's text, enforced by a schema, for models without tool calls.
    Constrained,
}

/// The environment variables that commands inherit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InheritName {
    /// All variables, except those that look like secrets.
    #[default]
    Harmless,
    /// All variables, including secrets.
    All,
    /// Variables that most programs need, such as PATH, HOME and `CARGO_HOME`.
    Core,
    /// No variables.
    None,
}

/// The treatment of a history that fills the model's context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompactionName {
    /// Replace old tool results by a note when 80 % of the window are used.
    #[default]
    Prune,
    /// Keep the history as it is.
    None,
}

/// A switch that is on unless it is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch(pub(crate) bool);

impl Default for Switch {
    fn default() -> Self {
        Self(true)
    }
}

/// A reasoning effort. Each model supports some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effort(pub(crate) String);

impl Effort {
    pub(crate) const ALL: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

    /// Returns the position among all efforts, the lowest first.
    pub(super) fn rank(&self) -> usize {
        Self::ALL.iter().position(|effort| *effort == self.0).unwrap_or(Self::ALL.len())
    }
}

impl FromStr for Effort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let effort = text.trim().to_lowercase();
        if Self::ALL.contains(&effort.as_str()) {
            return Ok(Self(effort));
        }
        Err(format!("unknown effort {effort:?}; expected one of {}", Self::ALL.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_provider_and_name() {
        assert_eq!("offline".parse(), Ok(Model::Offline));
        let remote = |provider: &str, model: &str| {
            Ok(Model::Remote { provider: ProviderInfo::of_name(provider).unwrap(), model: model.to_owned() })
        };
        assert_eq!("anthropic:claude-x".parse(), remote("anthropic", "claude-x"));
        assert_eq!("openai_compatible:qwen3:8b".parse(), remote("openai_compatible", "qwen3:8b"));
        assert_eq!("cassette:a:b.json".parse(), Ok(Model::Cassette(PathBuf::from("a:b.json"))));
        for (text, expected) in [("gpt-5", "openai:gpt-5"), ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5")] {
            assert_eq!(text.parse::<Model>().unwrap().to_string(), expected);
        }
        for (family, provider) in
            [("opus", "anthropic"), ("Claude", "anthropic"), ("gpt", "openai"), ("gemini", "gemini")]
        {
            let model = family.parse::<Model>().unwrap().to_string();
            assert!(model.starts_with(&format!("{provider}:")), "{family}: {model}");
        }
        assert_eq!("gtp-5".parse::<Model>(), Err("unknown model \"gtp-5\"; did you mean openai:gpt-5?".to_owned()));
        assert!("xyzzy".parse::<Model>().unwrap_err().ends_with("e.g. openai_compatible:xyzzy"));
        for wrong in ["", "anthropic:", "claude:x", "cassette:"] {
            assert!(wrong.parse::<Model>().is_err(), "{wrong:?}");
        }
        for text in ["offline", "openai_compatible:qwen3:8b", "cassette:a:b.json"] {
            assert_eq!(text.parse::<Model>().unwrap().to_string(), text);
        }
    }
}
