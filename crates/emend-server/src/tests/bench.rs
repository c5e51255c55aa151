//! A server over files in memory and the offline model.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use emend_agent::environment::ExecutionEnvironment;
use emend_agent::environment::memory::MemFs;
use emend_agent::service::{
    AgentPlan, ApiError, ApiResult, MemServiceStore, Service, ServiceHost, ServiceLimits, ServiceParts,
};
use emend_agent::session::SessionBuilder;
use emend_agent::store::MemStore;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::{BoxFuture, Clock, Random, Shared};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::{ServerConfig, ServerLimits, ServerParts, ServerState, Token, app};

pub(super) const TOKEN: &str = "token-of-the-tests";
pub(super) const FIXTURE: &str = "//- a.txt\nalpha\nbeta\n//- b.txt\none\ntwo\n";

/// The system's clock, and numbers in order.
#[derive(Default)]
pub(super) struct Host(AtomicU64);

impl Clock for Host {
    fn now_ms(&self) -> u64 {
        u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(ms)))
    }
}

impl Random for Host {
    fn next_u64(&self) -> u64 {
        // Odd factor: all values differ.
        self.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

impl ServiceHost for Host {
    fn session(&self, plan: AgentPlan<'_>) -> ApiResult<SessionBuilder> {
        let AgentPlan { session, workspace, .. } = plan;
        if session.model != "offline" {
            let message = format!("there is no model {:?}", session.model);
            return Err(ApiError::new(emend_agent::error_code::Code::Configuration, message));
        }
        let provider = Shared::new(emend_offline::provider(emend_offline::Options::default()));
        Ok(SessionBuilder::new(provider, emend_offline::MODEL, workspace, Shared::new(Self::default())).offline(true))
    }

    fn default_model(&self) -> String {
        "offline".to_owned()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

/// A server under test.
pub(super) struct Bench {
    pub(super) state: ServerState,
    pub(super) files: Shared<MemFs>,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(ServerLimits { requests_per_second: 0, ..ServerLimits::default() }, None, "127.0.0.1:8080")
    }

    pub(super) fn with(limits: ServerLimits, web: Option<PathBuf>, address: &str) -> Self {
        Self::bound(limits, web, address.parse().unwrap(), FIXTURE)
    }

    pub(super) fn bound(limits: ServerLimits, web: Option<PathBuf>, address: SocketAddr, fixture: &str) -> Self {
        let files = Shared::new(MemFs::from_fixture(fixture));
        let host: Shared<Host> = Shared::default();
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        let clock = Shared::clone(&host) as Shared<dyn Clock>;
        let service = Service::new(ServiceParts {
            workspace: Shared::new(Workspace::new(environment, Mode::Staged, Shared::clone(&clock))),
            host: Shared::clone(&host) as Shared<dyn ServiceHost>,
            store: Shared::new(MemServiceStore::new()),
            conversations: Shared::new(MemStore::new()),
            clock: Shared::clone(&clock),
            random: Shared::clone(&host) as Shared<dyn Random>,
            limits: ServiceLimits { max_sessions: 0, max_jobs_per_session: 0, ..ServiceLimits::default() },
        });
        let config = ServerConfig {
            token: Token::parse(TOKEN).unwrap(),
            address,
            allowed_hosts: vec!["emend.example".to_owned()],
            allowed_origins: vec!["https://editor.example".to_owned()],
            web,
            limits,
        };
        let state = ServerState::new(ServerParts { service, clock, random: host, config });
        Self { state, files }
    }

    /// Sends a request with headers in the form `name: value`.
    pub(super) async fn raw(&self, method: &str, path: &str, headers: &[&str], body: impl Into<Body>) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        let has_host = headers.iter().any(|line| line.starts_with("host:"));
        if !has_host {
            request = request.header("host", format!("localhost:{}", self.state.config().address.port()));
        }
        for line in headers {
            let (name, value) = line.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        let response = app(self.state.clone()).oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Reply { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    /// Sends JSON with the token.
    pub(super) async fn send(&self, method: &str, path: &str, body: Value) -> Reply {
        let token = format!("authorization: Bearer {TOKEN}");
        let headers = [token.as_str(), "content-type: application/json"];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.raw(method, path, &headers, body).await
    }

    /// Starts a job in a new session; returns the ids of both.
    pub(super) async fn job(&self, instruction: &str) -> (String, String) {
        self.job_in(serde_json::json!({}), instruction).await
    }

    /// Starts a job that asks before each edit.
    pub(super) async fn asking_job(&self, instruction: &str) -> (String, String) {
        let (session, job) = self.job_in(serde_json::json!({ "mode": "ask" }), instruction).await;
        assert_eq!(self.wait(&job).await["status"], "waiting_for_user");
        (session, job)
    }

    async fn job_in(&self, session: Value, instruction: &str) -> (String, String) {
        let session = self.send("POST", "/api/agent/sessions", session).await.json();
        let id = session["session_id"].as_str().unwrap().to_owned();
        let body = serde_json::json!({ "session_id": id, "instruction": instruction });
        let reply = self.send("POST", "/api/agent/run", body).await;
        assert_eq!(reply.status, 202, "{reply:?}");
        (id, reply.json()["job_id"].as_str().unwrap().to_owned())
    }

    /// Waits until a job has left a set of states.
    pub(super) async fn wait(&self, job: &str) -> Value {
        loop {
            let state = self.send("GET", &format!("/api/agent/jobs/{job}"), Value::Null).await.json();
            if !matches!(state["status"].as_str(), Some("queued" | "running")) {
                return state;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
}
