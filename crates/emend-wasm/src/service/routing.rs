//! Routing of a service: the second model of its sessions, and when a request goes there.

use emend_agent::service;
use emend_llm::Shared;
use emend_llm::router::{AgentMode, Route, RouteObserver, Router, RouterPolicy, ValidationGate};

use crate::agent::json_fields::{Fields, Problem};
use crate::agent::options::Model;
use crate::host::BrowserClock;

/// The names of the options.
const NAMES: [&str; 7] = [
    "fallback",
    "agentMode",
    "maxLocalAttempts",
    "remoteOnSchemaFail",
    "remoteOnContextOverflow",
    "remoteOnTimeoutMs",
    "strictLocal",
];

/// The option `routing`.
pub(super) struct Routing {
    /// Name of the second model.
    pub(super) fallback: String,
    policy: RouterPolicy,
}

impl Routing {
    pub(super) fn read(fields: Fields<'_>) -> Result<Self, Problem> {
        fields.only(&NAMES, "")?;
        let usual = RouterPolicy::default();
        let agent_mode = match fields.variant("agentMode", &["local", "remote", "hybrid_auto"])? {
            Some("local") => AgentMode::Local,
            Some("remote") => AgentMode::Remote,
            _ => AgentMode::HybridAuto,
        };
        let attempts = fields.number("maxLocalAttempts")?.and_then(|n| u32::try_from(n).ok());
        let is_on = |name| Ok::<_, Problem>(fields.get(name).is_none() || fields.flag(name)?);
        Ok(Self {
            fallback: fields.needed_text("fallback")?,
            policy: RouterPolicy {
                agent_mode,
                hybrid_max_local_attempts: attempts.unwrap_or(usual.hybrid_max_local_attempts),
                hybrid_remote_on_schema_fail: is_on("remoteOnSchemaFail")?,
                hybrid_remote_on_context_overflow: is_on("remoteOnContextOverflow")?,
                hybrid_remote_on_timeout_ms: fields.number("remoteOnTimeoutMs")?,
                strict_local: fields.flag("strictLocal")?,
            },
        })
    }

    /// Returns a router between two models. A `mode` of the session replaces that of the options.
    pub(super) fn between(
        &self,
        first: Model,
        second: Model,
        mode: Option<service::AgentMode>,
        observer: Shared<dyn RouteObserver>,
        gate: Shared<dyn ValidationGate>,
    ) -> (Shared<Router>, Model) {
        let route = |model: &Model| Route { provider: Shared::clone(&model.provider), model: Some(model.id.clone()) };
        let agent_mode = mode.map_or(self.policy.agent_mode, Into::into);
        let policy = RouterPolicy { agent_mode, ..self.policy.clone() };
        let router = Router::new(Some(route(&first)), Some(route(&second)), policy, Shared::new(BrowserClock))
            .with_observer(observer)
            .with_gate(gate);
        let router = Shared::new(router);
        let provider = Shared::clone(&router) as _;
        (router, Model { provider, ..first })
    }
}
