//! The defaults of settings that have no value of their own: those of the core, of the model and of the router.

use std::borrow::Cow;

use emend_agent::profile::Profile;
use emend_agent::session::SessionConfig;
use emend_llm::router::RouterPolicy;
use emend_llm::{RetryPolicy, get_model_info};
use serde_json::{Value, json};

use super::serve;
use crate::provider;
use crate::settings::{Model, ProfileName, SettingRow, Settings, Source};

/// Gives each setting without value its default, if that is a value.
pub(super) fn filled(rows: Vec<SettingRow>, settings: &Settings) -> Vec<SettingRow> {
    let defaults = Defaults::of(settings);
    let fill = |row: SettingRow| match row.source == Source::Default && row.value.is_null() {
        true => defaults.rows(row.name),
        false => vec![row],
    };
    rows.into_iter().flat_map(fill).collect()
}

/// Returns the words for a setting without a value.
pub(super) fn words(name: &str) -> &'static str {
    match name {
        "env" => "this machine",
        "effort" => "the provider's",
        "edits" => "Emend's own tools",
        "system_prompt" => "by family",
        "context_window" => "unknown",
        "allow" => "edits",
        "ask" => "commands, web pages",
        "output_chars" | "output_lines" => "by tool",
        "max_tokens"
        | "max_cost"
        | "max_time"
        | "max_responses"
        | "max_tool_calls"
        | "session_max_tokens"
        | "session_max_cost"
        | "session_max_time"
        | "fallback_after"
        | "routing.hybrid_remote_on_timeout_ms" => "no limit",
        _ => "none",
    }
}

struct Defaults<'a> {
    settings: &'a Settings,
    config: SessionConfig,
    router: RouterPolicy,
    profile: Option<Profile>,
    /// Name of the model.
    model: String,
}

impl<'a> Defaults<'a> {
    fn of(settings: &'a Settings) -> Self {
        let model = settings.model.value.clone().or_else(provider::newest).unwrap_or(Model::Offline);
        let (of_provider, name) = match &model {
            Model::Remote { provider, model } => (Profile::of(provider.name, model), model.clone()),
            Model::Offline | Model::Cassette(_) => (None, String::new()),
        };
        let profile = match settings.profile.value {
            ProfileName::Auto => of_provider,
            ProfileName::Openai => Some(Profile::openai(&name)),
            ProfileName::Anthropic => Some(Profile::anthropic(&name)),
            ProfileName::Gemini => Some(Profile::gemini(&name)),
            ProfileName::None => None,
        };
        let router = provider::router_policy(settings);
        Self { settings, config: SessionConfig::default(), router, profile, model: name }
    }

    /// Returns the rows of a setting without value: one, or one for each entry of a list.
    fn rows(&self, name: String) -> Vec<SettingRow> {
        let row = |value| SettingRow { name: name.clone(), value, source: Source::Default };
        if name == "documents" {
            let own = &self.config.project_documents;
            let names = self.profile.as_ref().map_or(own, |profile| &profile.project_documents);
            return names.iter().map(|name| row(name.as_str().into())).collect();
        }
        vec![row(self.value(&name))]
    }

    fn value(&self, name: &str) -> Value {
        let Self { config, router, profile, .. } = self;
        let seconds = |ms: u64| Value::from(format!("{}s", ms / 1000));
        match name {
            "model" => provider::newest().unwrap_or(Model::Offline).to_string().into(),
            "edits" => match profile.as_ref().map(|profile| profile.id) {
                Some("gemini") => "safe_patch".into(),
                Some(_) => "own".into(),
                None => Value::Null,
            },
            "fallback_attempts" => RouterPolicy::default().hybrid_max_local_attempts.into(),
            "retries" => RetryPolicy::default().max_retries.into(),
            "context_window" => match profile {
                Some(profile) => profile.context_window_size.into(),
                None => get_model_info(&self.model).map(|info| info.context_window).into(),
            },
            "loop_window" => config.loop_detection_window.into(),
            "max_schema_retries" => config.max_schema_retries.into(),
            "max_subagents" => config.max_subagents.into(),
            "max_subagent_depth" => config.max_subagent_depth.into(),
            "max_command_timeout" => seconds(config.max_command_timeout_ms),
            "command_timeout" => {
                let own = profile.as_ref().and_then(|profile| profile.default_command_timeout_ms);
                let max_ms = self.settings.max_command_timeout.value.ms.unwrap_or(config.max_command_timeout_ms);
                seconds(own.unwrap_or(config.default_command_timeout_ms).min(max_ms))
            }
            "web_app" => serve::web_app(self.settings).ok().flatten().map(|path| path.display().to_string()).into(),
            "routing.agent_mode" => json!(router.agent_mode),
            "routing.hybrid_max_local_attempts" => router.hybrid_max_local_attempts.into(),
            "routing.hybrid_remote_on_schema_fail" => router.hybrid_remote_on_schema_fail.into(),
            "routing.hybrid_remote_on_context_overflow" => router.hybrid_remote_on_context_overflow.into(),
            "routing.hybrid_remote_on_timeout_ms" => router.hybrid_remote_on_timeout_ms.into(),
            _ => Value::Null,
        }
    }
}

/// Returns a value as the table shows it.
pub(super) fn shown<'a>(name: &str, value: &'a Value) -> Cow<'a, str> {
    match value {
        Value::Null => words(name).into(),
        Value::String(text) => text.as_str().into(),
        value => value.to_string().into(),
    }
}
