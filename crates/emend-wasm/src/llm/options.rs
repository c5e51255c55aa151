//! The options of a client, read from JSON text.

use std::collections::BTreeMap;

use emend_agent::error_code::Code;
use emend_llm::constrained::ConstrainedTools;
use emend_llm::router::{AgentMode, Route, Router, RouterPolicy};
use emend_llm::{Api, Client, Config, Headers, HttpProvider, Provider, Shared, Transport};
use js_sys::{Array, Function};
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use crate::failure::{Failure, without_place};
use crate::host::BrowserClock;
use crate::js::{JsProvider, KEY_OPTION};

/// The options of a client.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct ClientOptions {
    providers: Vec<ProviderOptions>,
    env: Option<BTreeMap<String, String>>,
    default_provider: Option<String>,
    fallback: Option<FallbackOptions>,
}

/// The model that responds if the default provider fails.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FallbackOptions {
    provider: String,
    model: String,
    attempts: Option<u32>,
    after_ms: Option<u64>,
}

/// One provider: a wire format and its address, or a provider written in JavaScript.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ProviderOptions {
    #[serde(default)]
    pub(super) api: String,
    name: Option<String>,
    /// For a provider written in JavaScript: the index of its function in the client's list of functions.
    custom: Option<u32>,
    idle_timeout_ms: Option<u64>,
    #[serde(default)]
    api_key: String,
    base_url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    betas: Vec<String>,
    /// Whether the model writes tool calls as text, because it has no native ones.
    #[serde(default)]
    constrained_tools: bool,
}

impl ProviderOptions {
    pub(super) fn config(self) -> Config {
        Config {
            api_key: self.api_key.trim().to_owned(),
            base_url: self.base_url,
            // Without it some APIs reject requests from a page; elsewhere it has no effect.
            browser: true,
            name: self.name,
            key_variable: Some(KEY_OPTION.to_owned()),
            betas: self.betas,
            headers: Headers(self.headers.into_iter().collect()),
        }
    }
}

/// Returns the wire format with this name.
pub(super) fn api(name: &str) -> Result<Api, Failure> {
    Api::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Api::ALL.iter().map(|api| api.name()).collect();
        configuration(format!("unknown api {name:?}; use one of {}", names.join(", ")))
    })
}

/// Replaces the default provider by a router of the same name.
fn with_fallback(client: Client, fallback: FallbackOptions) -> Result<Client, Failure> {
    let first = Route { provider: Shared::clone(client.provider(None)?), model: None };
    let provider = Shared::clone(client.provider(Some(&fallback.provider))?);
    let second = Route { provider, model: Some(fallback.model) };
    let usual = RouterPolicy::default();
    let policy = RouterPolicy {
        agent_mode: AgentMode::HybridAuto,
        hybrid_max_local_attempts: fallback.attempts.unwrap_or(usual.hybrid_max_local_attempts),
        hybrid_remote_on_timeout_ms: fallback.after_ms,
        ..usual
    };
    let router = Router::new(Some(first), Some(second), policy, Shared::new(BrowserClock));
    Ok(client.with_provider(Shared::new(router)))
}

fn configuration(message: String) -> Failure {
    Failure::new(Code::Configuration, message)
}

impl ClientOptions {
    pub(super) fn read(json: &str) -> Result<Self, Failure> {
        serde_json::from_str(json)
            .map_err(|error| configuration(format!("the options are wrong: {}", without_place(&error))))
    }

    /// Creates the client. `custom` holds the functions of providers written in JavaScript.
    pub(super) fn client(self, transport: &Shared<dyn Transport>, custom: &Array) -> Result<Client, Failure> {
        let mut client = match &self.env {
            Some(env) => Client::from_env(|name| env.get(name).cloned(), Shared::clone(transport), true),
            None => Client::new(),
        };
        for provider in self.providers {
            let constrained = provider.constrained_tools;
            let opened: Shared<dyn Provider> = match provider.custom {
                Some(index) => {
                    let name = provider.name.unwrap_or_default();
                    let open = custom.get(index).dyn_into::<Function>();
                    let open = open.map_err(|_| configuration(format!("{name} has no `stream` function")))?;
                    Shared::new(JsProvider::new(name, open, provider.idle_timeout_ms))
                }
                None => {
                    let adapter = api(&provider.api)?.adapter(provider.config());
                    Shared::new(HttpProvider::new(adapter, Shared::clone(transport)))
                }
            };
            client =
                client.with_provider(if constrained { Shared::new(ConstrainedTools::new(opened)) } else { opened });
        }
        if let Some(name) = self.default_provider {
            client = client.with_default_provider(name);
        }
        if let Some(fallback) = self.fallback {
            client = with_fallback(client, fallback)?;
        }
        client.initialize()?;
        client.provider(None)?;
        Ok(client)
    }
}
