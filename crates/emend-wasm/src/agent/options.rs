//! The options of an agent, read from JSON text.

use emend_agent::approval::{Approver, ToolEffect};
use emend_agent::environment::memory::Quota;
use emend_agent::error_code::Code;
use emend_agent::profile::Edits;
use emend_agent::session::{ProfileChoice, RunBudget, SessionBuilder, SessionConfig};
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::anthropic::{Anthropic, Config};
use emend_llm::{HttpProvider, Provider, Shared, ToolDefinition, Transport, get_latest_model};
use emend_offline as offline;
use js_sys::Function;
use serde_json::Value;
use wasm_bindgen::{JsCast as _, JsValue};

use super::json_fields::{Fields, Problem};
use super::policy::{RuleOptions, policy};
use crate::failure::{Failure, without_place};
use crate::host::BrowserClock;
use crate::host::JsRandom;
use crate::host::{FetchTimeouts, FetchTransport};
use crate::js::{JsApprover, JsProvider, KEY_OPTION, ToolDescription};

/// The options of an agent, except for its files.
pub(crate) struct AgentOptions {
    pub(crate) model: ModelOptions,
    pub(crate) mode: Mode,
    profile: ProfileChoice,
    /// The edit tools, if not those of the family of the model.
    edits: Option<Edits>,
    /// Tools written in JavaScript. The function that runs them is one of the callbacks.
    pub(crate) tools: Vec<ToolDescription>,
    /// Whether the model may ask the user.
    questions: bool,
    /// Whether the model may fetch pages.
    web_fetch: bool,
    /// Whether the model may start subagents.
    subagents: bool,
    instructions: Option<String>,
    effort: Option<String>,
    max_turns: u64,
    max_tool_rounds: u64,
    pub(super) run_budget: RunBudget,
    policy: Option<Vec<RuleOptions>>,
    /// Limits of the files in memory, fixed when the agent is created.
    quota_bytes: Option<u64>,
    quota_files: Option<u64>,
}

const FIELDS: [&str; 18] = [
    "model",
    "mode",
    "profile",
    "edits",
    "tools",
    "questions",
    "webFetch",
    "subagents",
    "instructions",
    "effort",
    "maxTurns",
    "maxToolRounds",
    "maxTokens",
    "maxCostUsd",
    "maxDurationMs",
    "policy",
    "quotaBytes",
    "quotaFiles",
];

impl AgentOptions {
    pub(crate) fn quota(&self) -> Quota {
        Quota { bytes: self.quota_bytes, files: self.quota_files }
    }

    /// Reads the options from JSON text.
    ///
    /// # Errors
    ///
    /// A `configuration` failure that names the wrong option.
    pub(crate) fn parse(json: &str) -> Result<Self, Failure> {
        let value: Result<Value, _> = serde_json::from_str(json);
        let read = value.map_err(|error| without_place(&error)).and_then(|value| Self::read(&value));
        read.map_err(|problem| Failure::new(Code::Configuration, format!("the options are wrong: {problem}")))
    }

    fn read(value: &Value) -> Result<Self, Problem> {
        let fields = Fields::of("options", value)?;
        fields.only(&FIELDS, "")?;
        let tools = fields.list("tools")?.unwrap_or_default().iter().map(read_tool).collect::<Result<_, _>>()?;
        let rules = fields.list("policy")?;
        Ok(Self {
            model: fields.get("model").map_or(Ok(ModelOptions::Offline), ModelOptions::read)?,
            mode: match fields.variant("mode", &["staged", "direct"])? {
                Some("direct") => Mode::Direct,
                _ => Mode::Staged,
            },
            profile: fields
                .variant("profile", &ProfileChoice::NAMES)?
                .and_then(ProfileChoice::from_name)
                .unwrap_or_default(),
            edits: fields.variant("edits", &["own", "safe_patch", "edit_lines"])?.map(|name| match name {
                "own" => Edits::Own,
                "safe_patch" => Edits::SafePatch,
                _ => Edits::EditLines,
            }),
            tools,
            questions: fields.flag("questions")?,
            web_fetch: fields.flag("webFetch")?,
            subagents: fields.flag("subagents")?,
            instructions: fields.text("instructions")?,
            effort: fields.text("effort")?,
            max_turns: fields.number("maxTurns")?.unwrap_or_default(),
            max_tool_rounds: fields.number("maxToolRounds")?.unwrap_or_default(),
            run_budget: RunBudget {
                tokens: fields.number("maxTokens")?.unwrap_or_default(),
                cost_usd: fields.amount("maxCostUsd")?.unwrap_or_default(),
                duration_ms: fields.number("maxDurationMs")?.unwrap_or_default(),
            },
            policy: rules.map(|rules| rules.iter().map(RuleOptions::read).collect()).transpose()?,
            quota_bytes: fields.number("quotaBytes")?,
            quota_files: fields.number("quotaFiles")?,
        })
    }

    /// Returns the settings of a session. `approve` is the function that asks the user, if there is one.
    fn session_config(&self, approve: Option<Function>) -> Result<SessionConfig, Failure> {
        let own: Vec<&str> = self.tools.iter().map(|tool| tool.definition.name.as_str()).collect();
        let policy = policy(self.policy.as_deref(), approve.is_some(), &own)?;
        Ok(SessionConfig {
            instructions: self.instructions.clone(),
            reasoning_effort: self.effort.clone(),
            max_turns: self.max_turns,
            max_tool_rounds_per_input: self.max_tool_rounds,
            run_budget: self.run_budget,
            policy,
            approver: approve.map(|ask| Shared::new(JsApprover::new(ask)) as Shared<dyn Approver>),
            ..SessionConfig::default()
        })
    }

    /// Returns a builder of sessions over `workspace`. Web pages are fetched through `fetch`.
    pub(crate) fn builder(
        &self,
        model: Model,
        workspace: Shared<Workspace>,
        fetch: &Function,
        approve: Option<Function>,
    ) -> Result<SessionBuilder, Failure> {
        let Model { provider, id, offline } = model;
        let (clock, random, config) = (Shared::new(BrowserClock), Shared::new(JsRandom), self.session_config(approve)?);
        let builder = SessionBuilder::new(provider, id, workspace, random)
            .clock(clock)
            .offline(offline)
            .profile(self.profile)
            .edits(self.edits)
            .subagents(self.subagents)
            .questions(self.questions)
            .config(config);
        Ok(if self.web_fetch { builder.web(web_transport(fetch)) } else { builder })
    }
}

/// Limits for web pages that the model requests.
const WEB_TIMEOUTS: FetchTimeouts = FetchTimeouts { head_ms: 20_000, idle_ms: 20_000, total_ms: 30_000 };

fn web_transport(fetch: &Function) -> Shared<dyn Transport> {
    Shared::new(FetchTransport::new(fetch.clone(), WEB_TIMEOUTS).showing_redirects())
}

/// Reads the description of a tool. Without an effect the tool counts as one that writes, so that the user is asked about
/// its calls.
fn read_tool(value: &Value) -> Result<ToolDescription, Problem> {
    let fields = Fields::of("tools", value)?;
    let path_parameters = match fields.list("pathParameters")? {
        Some(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        None => vec!["path".to_owned()],
    };
    Ok(ToolDescription {
        definition: ToolDefinition {
            name: fields.needed_text("name")?,
            description: fields.needed_text("description")?,
            parameters: fields.needed("parameters")?.clone(),
        },
        effect: match fields.variant("effect", &["reads", "writes", "runs"])? {
            Some("reads") => ToolEffect::Reads,
            Some("runs") => ToolEffect::Runs,
            _ => ToolEffect::Writes,
        },
        path_parameters,
    })
}

/// The model that responds.
pub(crate) enum ModelOptions {
    Offline,
    Anthropic {
        model: Option<String>,
        api_key: String,
        base_url: Option<String>,
    },
    /// A provider written in JavaScript. Its function is one of the callbacks.
    Custom {
        name: String,
        model: Option<String>,
        idle_timeout_ms: Option<u64>,
    },
}

impl ModelOptions {
    pub(crate) fn read(value: &Value) -> Result<Self, Problem> {
        let fields = Fields::of("model", value)?;
        fields.needed("provider")?;
        match fields.variant("provider", &["offline", "anthropic", "custom"])? {
            Some("anthropic") => {
                fields.only(&["model", "apiKey", "baseUrl"], "provider")?;
                Ok(Self::Anthropic {
                    model: fields.text("model")?,
                    api_key: fields.needed_text("apiKey")?,
                    base_url: fields.text("baseUrl")?,
                })
            }
            Some("custom") => {
                fields.only(&["name", "model", "idleTimeoutMs"], "provider")?;
                Ok(Self::Custom {
                    name: fields.needed_text("name")?,
                    model: fields.text("model")?,
                    idle_timeout_ms: fields.number("idleTimeoutMs")?,
                })
            }
            _ => {
                fields.only(&["paceMs"], "provider")?;
                // Only checked here: the JavaScript layer delays the response.
                fields.number("paceMs")?;
                Ok(Self::Offline)
            }
        }
    }
}

/// A provider and the id of the model that a session requests.
pub(crate) struct Model {
    pub(crate) provider: Shared<dyn Provider>,
    pub(crate) id: String,
    pub(crate) offline: bool,
}

impl ModelOptions {
    /// Returns the model. `network` is called only for a model behind a network. `open_answer` opens responses of a
    /// provider written in JavaScript, or replaces `fetch` for the offline model.
    pub(crate) fn model(
        &self,
        network: impl FnOnce() -> Shared<dyn Transport>,
        open_answer: Option<&Function>,
    ) -> Model {
        let open = || open_answer.cloned().unwrap_or_else(|| JsValue::UNDEFINED.unchecked_into());
        match self {
            Self::Custom { name, model, idle_timeout_ms } => {
                let provider = Shared::new(JsProvider::new(name.clone(), open(), *idle_timeout_ms));
                Model { provider, id: model.clone().unwrap_or_default(), offline: false }
            }
            Self::Offline => {
                let transport = Shared::new(FetchTransport::new(open(), FetchTimeouts::default()));
                let provider = Shared::new(offline::provider_over(transport));
                Model { provider, id: offline::MODEL.to_owned(), offline: true }
            }
            Self::Anthropic { model, api_key, base_url } => {
                let adapter = Anthropic::new(Config {
                    api_key: api_key.trim().to_owned(),
                    base_url: base_url.clone(),
                    key_variable: Some(KEY_OPTION.to_owned()),
                    // Without it the API rejects requests from a page; elsewhere it has no effect.
                    browser: true,
                    ..Config::default()
                });
                let newest = || get_latest_model("anthropic", Some("tools")).map(|info| info.id.to_owned());
                let id = model.clone().or_else(newest).unwrap_or_default();
                Model { provider: Shared::new(HttpProvider::new(Shared::new(adapter), network())), id, offline: false }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check_refused(json: &str, reason: &str) {
        let refused = AgentOptions::parse(json).err().map(|failure| failure.message().to_owned());
        assert_eq!(refused.as_deref(), Some(format!("the options are wrong: {reason}").as_str()));
    }

    #[test]
    fn wrong_options_are_named() {
        check_refused(
            r#"{"modle": {}}"#,
            "unknown field `modle`, expected one of `model`, `mode`, `profile`, `edits`, `tools`, `questions`, \
             `webFetch`, `subagents`, `instructions`, `effort`, `maxTurns`, `maxToolRounds`, `maxTokens`, `maxCostUsd`, `maxDurationMs`, `policy`, `quotaBytes`, `quotaFiles`",
        );
        check_refused(
            r#"{"profile": "codex"}"#,
            "unknown variant `codex`, expected one of `auto`, `openai`, `anthropic`, `gemini`, `none`",
        );
        check_refused(r#"{"tools": [{"name": "a", "description": "b"}]}"#, "missing field `parameters`");
        check_refused(r#"{"mode": "both"}"#, "unknown variant `both`, expected `staged` or `direct`");
        check_refused(r#"{"model": {"provider": "anthropic"}}"#, "missing field `apiKey`");
        check_refused(r#"{"model": {"provider": "offline", "pace": 3}}"#, "unknown field `pace`, expected `paceMs`");
        check_refused(
            r#"{"model": {"provider": "acme"}}"#,
            "unknown variant `acme`, expected one of `offline`, `anthropic`, `custom`",
        );
    }

    #[test]
    fn no_options_mean_the_offline_model() {
        let options = AgentOptions::parse("{}").unwrap();
        let model = options.model.model(|| panic!("the offline model needs no network"), None);
        assert!(model.offline);
        assert_eq!(model.id, offline::MODEL);
    }
}
