//! Opens the provider of a model, and records its exchanges. API keys come from the environment only.

use std::path::{Path, PathBuf};

use emend_agent::error_code::Code;
use emend_host::{ReqwestTransport, Timeouts};
use emend_llm::cassette::{Cassette, Player, PlayerOptions, Recorder, RecorderOptions, secrets_of_environment};
use emend_llm::constrained::ConstrainedTools;
use emend_llm::router::{AgentMode, Route, RouteObserver, Router, RouterPolicy, ValidationGate};
use emend_llm::{
    Api, Client, Config, HttpProvider, PROVIDERS, Provider, ProviderInfo, Shared, Transport, get_latest_model,
};
use emend_offline::{self as offline, OfflineTransport};

use crate::failure::Failure;
use crate::project::Project;
use crate::settings::{Model, Settings, ToolCalls};

/// The model of a session with its open provider.
pub(crate) struct SelectedModel {
    pub(crate) provider: Shared<dyn Provider>,
    pub(crate) model: String,
    pub(crate) offline: bool,
    /// Name of the provider of the fallback model.
    fallback: Option<String>,
    /// The provider, if it chooses between the model and the fallback model.
    pub(crate) router: Option<Shared<Router>>,
    recorder: Option<(Shared<Recorder>, PathBuf)>,
}

impl SelectedModel {
    /// Returns the names of the providers that may get requests.
    pub(crate) fn providers(&self) -> Vec<&str> {
        [Some(self.provider.name()).filter(|_| !self.offline), self.fallback.as_deref()].into_iter().flatten().collect()
    }

    /// Writes the recording, if there is one.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let Some((recorder, path)) = &self.recorder else { return Ok(()) };
        std::fs::write(path, recorder.cassette().to_json() + "\n").map_err(|error| {
            Failure::new(Code::IoError, format!("cannot write the recording to {}: {error}", path.display()))
        })
    }
}

/// Opens the provider of a model, with the fallback model and the form of tool calls that the settings name. Fails before
/// a request is sent if the setup is invalid.
pub(crate) fn select(
    name: &Model,
    record: Option<&Path>,
    project: &Project,
    settings: &Settings,
) -> Result<SelectedModel, Failure> {
    select_observed(name, record, project, settings, None)
}

/// The parts of a service that a router needs: its observer sees each choice between the model and the fallback model, and
/// its gate rejects responses of the model.
pub(crate) type Watch = (Shared<dyn RouteObserver>, Shared<dyn ValidationGate>);

/// Opens the provider of a model as [`select`] does, for a service that watches the router.
pub(crate) fn select_observed(
    name: &Model,
    record: Option<&Path>,
    project: &Project,
    settings: &Settings,
    watch: Option<Watch>,
) -> Result<SelectedModel, Failure> {
    let mut selected = open(name, record, project)?;
    if settings.tool_calls.value == ToolCalls::Constrained && !selected.offline {
        selected.provider = Shared::new(ConstrainedTools::new(selected.provider));
    }
    if let Some(fallback) = settings.fallback_model.value.as_ref().filter(|fallback| *fallback != name) {
        let second = open(fallback, None, project)?;
        let usual = RouterPolicy::default();
        let attempts = settings.fallback_attempts.value.0.and_then(|n| u32::try_from(n).ok());
        let policy = RouterPolicy {
            agent_mode: AgentMode::HybridAuto,
            hybrid_max_local_attempts: attempts.unwrap_or(usual.hybrid_max_local_attempts),
            hybrid_remote_on_timeout_ms: settings.fallback_after.value.ms,
            ..usual
        };
        let policy = settings.routing.over(policy);
        selected.fallback = Some(second.provider.name().to_owned());
        let first = Route { provider: selected.provider, model: None };
        let second = Route { provider: second.provider, model: Some(second.model) };
        let clock = Shared::clone(&project.clock);
        let mut router = Router::new(Some(first), Some(second), policy, clock);
        if let Some((observer, gate)) = watch {
            router = router.with_observer(observer).with_gate(gate);
        }
        let router = Shared::new(router);
        selected.router = Some(Shared::clone(&router));
        selected.provider = router;
    }
    Ok(selected)
}

/// Opens the provider of one model.
fn open(name: &Model, record: Option<&Path>, project: &Project) -> Result<SelectedModel, Failure> {
    let root = project.agents.environment().working_directory();
    let secrets = secrets_of_environment(
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    );
    let transport: Shared<dyn Transport> = match name {
        Model::Offline => Shared::new(OfflineTransport::new(offline::Options::default())),
        Model::Remote { .. } => Shared::new(ReqwestTransport::new(Timeouts::default())),
        Model::Cassette(path) => {
            let options = PlayerOptions { root: root.clone(), secrets: secrets.clone() };
            Shared::new(Player::new(load(path)?, options))
        }
    };
    let (transport, recorder) = match record {
        None => (transport, None),
        Some(path) => {
            let options = RecorderOptions { clock_ms: project.clock.now_ms(), seed: 0, root, secrets };
            let recorder = Shared::new(Recorder::new(transport, options));
            (Shared::clone(&recorder) as Shared<dyn Transport>, Some((recorder, path.to_owned())))
        }
    };
    // The offline model and recordings need no API key, but the adapters want one.
    let keyless = |api: Api| {
        let config = Config { api_key: "none".to_owned(), ..Config::default() };
        Shared::new(HttpProvider::new(api.adapter(config), Shared::clone(&transport))) as Shared<dyn Provider>
    };
    let (provider, model) = match name {
        Model::Offline => (keyless(Api::AnthropicMessages), offline::MODEL.to_owned()),
        Model::Remote { provider, model } => (remote(provider, &transport)?, model.clone()),
        Model::Cassette(path) => {
            let (api, model) = recorded(&load(path)?);
            (keyless(api), model)
        }
    };
    let offline = model == offline::MODEL;
    Ok(SelectedModel { provider, model, offline, fallback: None, router: None, recorder })
}

/// Returns a provider with the API key and address that the environment gives.
fn remote(info: &ProviderInfo, transport: &Shared<dyn Transport>) -> Result<Shared<dyn Provider>, Failure> {
    let client = Client::from_env(variable, Shared::clone(transport), false);
    client.provider(Some(info.name)).map(Shared::clone).map_err(|_| {
        let what = if info.needs_base_url { "address" } else { "API key" };
        let message = format!("no {what} for {}; set {}, or use --model offline", info.name, info.required_variable());
        Failure::new(Code::Configuration, message)
    })
}

/// Returns the providers that need an API key.
pub(crate) fn with_key() -> impl Iterator<Item = &'static ProviderInfo> {
    PROVIDERS.iter().filter(|info| !info.needs_base_url)
}

/// Returns whether the environment has an API key for a provider.
pub(crate) fn has_key(info: &ProviderInfo) -> bool {
    info.key_variables.iter().any(|name| variable(name).is_some())
}

/// Returns the newest known model of the first provider that the environment has an API key for.
pub(crate) fn newest() -> Option<Model> {
    with_key().filter(|info| has_key(info)).find_map(|provider| {
        let model = get_latest_model(provider.name, None)?.id.clone();
        Some(Model::Remote { provider, model })
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn load(path: &Path) -> Result<Cassette, Failure> {
    let wrong = |what: String| Failure::new(Code::Configuration, format!("cannot replay {}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Cassette::from_json(&text).map_err(|error| wrong(error.to_string()))
}

/// Returns the wire format and model of a recording. Requests of others would not match it.
fn recorded(cassette: &Cassette) -> (Api, String) {
    let Some(first) = cassette.exchanges.first() else {
        return (Api::AnthropicMessages, offline::MODEL.to_owned());
    };
    // Gemini has the model in the URL: …/models/NAME:streamGenerateContent.
    let in_address = || first.request.url.split_once("/models/").and_then(|(_, rest)| rest.split(':').next());
    let model = first.request.body.get("model").and_then(|model| model.as_str()).or_else(in_address);
    let api = Api::from_name(&first.api).unwrap_or(Api::AnthropicMessages);
    (api, model.unwrap_or(offline::MODEL).to_owned())
}
