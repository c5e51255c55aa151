//! Opens the provider of a model, and records or replays its exchanges. API keys come from the environment only.

use std::ffi::OsString;
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
    recorder: Option<(Shared<Recorder>, Option<PathBuf>)>,
    /// The recording that responds, if it is one of the host's own.
    player: Option<Shared<Player>>,
}

/// The place for a recording of the exchanges.
#[derive(Clone, Copy)]
pub(crate) enum Record<'a> {
    /// Nothing is recorded.
    No,
    /// A file, written by [`SelectedModel::finish`].
    File(&'a Path),
    /// Memory, for [`SelectedModel::recording`].
    Memory,
}

impl<'a> Record<'a> {
    pub(crate) fn to(path: Option<&'a Path>) -> Self {
        path.map_or(Self::No, Self::File)
    }
}

/// Responses that do not come from the model of the settings.
pub(crate) enum OwnResponses {
    /// A transport that answers in Anthropic's wire format as a model with this name.
    Transport(Shared<dyn Transport>, &'static str),
    /// A recording. Any request that differs from it fails.
    Cassette(Cassette),
}

impl SelectedModel {
    /// Returns the names of the providers that may get requests.
    pub(crate) fn providers(&self) -> Vec<&str> {
        [Some(self.provider.name()).filter(|_| !self.offline), self.fallback.as_deref()].into_iter().flatten().collect()
    }

    /// Writes the recording, if there is one.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let Some((recorder, Some(path))) = &self.recorder else { return Ok(()) };
        std::fs::write(path, recorder.cassette().to_json() + "\n").map_err(|error| {
            Failure::new(Code::IoError, format!("cannot write the recording to {}: {error}", path.display()))
        })
    }

    /// Returns the recording so far, if there is one.
    pub(crate) fn recording(&self) -> Option<Cassette> {
        self.recorder.as_ref().map(|(recorder, _)| recorder.cassette())
    }

    /// Returns the number of recorded exchanges that were not requested; 0 without a replay.
    pub(crate) fn unplayed(&self) -> usize {
        self.player.as_ref().map_or(0, |player| player.remaining())
    }
}

/// Opens the provider of a model, with the fallback model and the form of tool calls that the settings name. Fails before
/// a request is sent if the setup is invalid.
pub(crate) fn select(
    name: &Model,
    record: Record<'_>,
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
    record: Record<'_>,
    project: &Project,
    settings: &Settings,
    watch: Option<Watch>,
) -> Result<SelectedModel, Failure> {
    let mut selected = open(name, record, project)?;
    if settings.tool_calls.value == ToolCalls::Constrained && !selected.offline {
        selected.provider = Shared::new(ConstrainedTools::new(selected.provider));
    }
    if let Some(fallback) = settings.fallback_model.value.as_ref().filter(|fallback| *fallback != name) {
        let second = open(fallback, Record::No, project)?;
        let policy = router_policy(settings);
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

/// Returns the policy of the router between the model and the fallback model.
pub(crate) fn router_policy(settings: &Settings) -> RouterPolicy {
    let usual = RouterPolicy::default();
    let attempts = settings.fallback_attempts.value.0.and_then(|n| u32::try_from(n).ok());
    settings.routing.over(RouterPolicy {
        agent_mode: AgentMode::HybridAuto,
        hybrid_max_local_attempts: attempts.unwrap_or(usual.hybrid_max_local_attempts),
        hybrid_remote_on_timeout_ms: settings.fallback_after.value.ms,
        ..usual
    })
}

/// Opens a provider whose responses are the host's own.
pub(crate) fn select_own(
    own: OwnResponses,
    record: Record<'_>,
    project: &Project,
    settings: &Settings,
) -> Result<SelectedModel, Failure> {
    let (transport, api, model, player) = match own {
        OwnResponses::Transport(transport, model) => (transport, Api::AnthropicMessages, model.to_owned(), None),
        OwnResponses::Cassette(cassette) => {
            let (api, model) = recorded(&cassette);
            let player = Shared::new(player(cassette, project));
            (Shared::clone(&player) as Shared<dyn Transport>, api, model, Some(player))
        }
    };
    let (transport, recorder) = recorded_to(record, transport, project);
    let mut provider = keyless(api, &transport, &model);
    let offline = model == offline::MODEL;
    if settings.tool_calls.value == ToolCalls::Constrained && !offline {
        provider = Shared::new(ConstrainedTools::new(provider));
    }
    Ok(SelectedModel { provider, model, offline, fallback: None, router: None, recorder, player })
}

/// Opens the provider of one model.
fn open(name: &Model, record: Record<'_>, project: &Project) -> Result<SelectedModel, Failure> {
    let transport: Shared<dyn Transport> = match name {
        Model::Offline => Shared::new(OfflineTransport::new(offline::Options::default())),
        Model::Remote { .. } => Shared::new(ReqwestTransport::new(Timeouts::default())),
        Model::Cassette(path) => Shared::new(player(load(path)?, project)),
    };
    let (transport, recorder) = recorded_to(record, transport, project);
    let (provider, model) = match name {
        Model::Offline => (keyless(Api::AnthropicMessages, &transport, offline::MODEL), offline::MODEL.to_owned()),
        Model::Remote { provider, model } => (remote(provider, &transport)?, model.clone()),
        Model::Cassette(path) => {
            let (api, model) = recorded(&load(path)?);
            (keyless(api, &transport, &model), model)
        }
    };
    let offline = model == offline::MODEL;
    Ok(SelectedModel { provider, model, offline, fallback: None, router: None, recorder, player: None })
}

fn secrets() -> Vec<String> {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    secrets_of_environment(std::env::vars_os().filter_map(text))
}

fn player(cassette: Cassette, project: &Project) -> Player {
    let root = project.agents.environment().working_directory();
    Player::new(cassette, PlayerOptions { root, secrets: secrets() })
}

/// A recorder with the file that it is written to, if any.
type RecorderAndFile = (Shared<Recorder>, Option<PathBuf>);

/// Returns a transport that records, if it should, with its recorder.
fn recorded_to(
    record: Record<'_>,
    transport: Shared<dyn Transport>,
    project: &Project,
) -> (Shared<dyn Transport>, Option<RecorderAndFile>) {
    let path = match record {
        Record::No => return (transport, None),
        Record::File(path) => Some(path.to_owned()),
        Record::Memory => None,
    };
    let root = project.agents.environment().working_directory();
    let options = RecorderOptions { clock_ms: project.clock.now_ms(), seed: 0, root, secrets: secrets() };
    let recorder = Shared::new(Recorder::new(transport, options));
    (Shared::clone(&recorder) as Shared<dyn Transport>, Some((recorder, path)))
}

/// Returns a provider for the offline model and for recordings. They need no API key, but the adapters want one.
fn keyless(api: Api, transport: &Shared<dyn Transport>, model: &str) -> Shared<dyn Provider> {
    // The offline model has the wire format of another provider, and is none of its models.
    let name = (model == offline::MODEL).then(|| offline::MODEL.to_owned());
    let config = Config { api_key: "none".to_owned(), name, ..Config::default() };
    Shared::new(HttpProvider::new(api.adapter(config), Shared::clone(transport)))
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
