//! A review outlives the process: line logs in the state of the project, jobs in SQLite.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use emend_agent::environment::EnvError;
use emend_agent::service::store::{Commit, LineLogStore};
use emend_agent::service::{
    AgentPlan, ApiRequest, ApiResult, Method, Service, ServiceHost, ServiceLimits, ServiceParts,
};
use emend_agent::session::SessionBuilder;
use emend_agent::store::StoreError;
use emend_agent::workspace::{Mode, SaveSnapshot, Snapshot, Workspace, WorkspaceError};
use emend_llm::BoxFuture;
use emend_tests::chance::Ticks;
use futures::executor::block_on;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::SqliteServiceStore;
use crate::{LocalEnvironment, OsRandom, StateDir};

/// Directory of the project and its state, for the process that is killed.
const AROUND: &str = "EMEND_TEST_KILLED_REVIEW";

/// The variable with the last step of the process that is killed.
const MOMENT: &str = "EMEND_TEST_MOMENT";

const DOCUMENT: &str = "workspace";

struct Saver(StateDir);

impl SaveSnapshot for Saver {
    fn save(&self, _: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), EnvError> {
        let failed = |error: crate::StateError| EnvError::Io { path: DOCUMENT.to_owned(), reason: error.to_string() };
        self.0.save(DOCUMENT, &whole()).map_err(failed)
    }
}

/// Opens the offline model, and keeps tasks until they are run.
#[derive(Default)]
struct Host(Mutex<Vec<BoxFuture<'static, ()>>>);

impl ServiceHost for Host {
    fn session(&self, plan: AgentPlan<'_>) -> ApiResult<SessionBuilder> {
        let provider = Arc::new(emend_offline::provider(emend_offline::Options::default()));
        Ok(SessionBuilder::new(provider, emend_offline::MODEL, plan.workspace, Arc::new(OsRandom)).offline(true))
    }

    fn default_model(&self) -> String {
        "offline".to_owned()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.0.lock().unwrap().push(task);
    }
}

fn open(around: &Path) -> (Service, Arc<Host>) {
    let root = around.join("project");
    let state = StateDir::open_in(&around.join("state"), &root).unwrap();
    let snapshot: Option<Snapshot> = state.load(DOCUMENT).unwrap();
    let saver = Arc::new(Saver(state));
    let environment = Arc::new(LocalEnvironment::new(&root).unwrap());
    let clock = Arc::new(Ticks::default());
    let workspace = Workspace::new(environment, Mode::Staged, Arc::clone(&clock) as _);
    let workspace = Arc::new(workspace.with_saver(Arc::clone(&saver) as _));
    if let Some(snapshot) = snapshot {
        workspace.restore(snapshot).unwrap();
        block_on(workspace.catch_up());
    }
    let store = Arc::new(SqliteServiceStore::open(&around.join("emend.db")).unwrap());
    let host = Arc::new(Host::default());
    let logs = Arc::clone(&workspace);
    let save = move |_: &Commit| {
        let failed = |error: WorkspaceError| StoreError::Io { name: "line logs".to_owned(), reason: error.to_string() };
        logs.persist().map_err(failed)
    };
    let service = Service::new(ServiceParts {
        workspace: Arc::clone(&workspace),
        host: Arc::clone(&host) as _,
        store: Arc::new(LineLogStore::new(Arc::clone(&store) as _, save)),
        conversations: store,
        clock,
        random: Arc::new(OsRandom),
        limits: ServiceLimits::default(),
    });
    block_on(service.recover()).unwrap();
    (service, host)
}

fn send(service: &Service, method: Method, path: &str, body: Value) -> Value {
    let response = block_on(service.handle(ApiRequest::new(method, path, body)));
    assert!(response.status < 300, "{path}: {:?}", response.body);
    response.body
}

fn review(service: &Service) -> Value {
    send(service, Method::Get, "/api/agent/review", Value::Null)
}

/// Returns the ids of the hunks of the only file.
fn hunks(review: &Value) -> Vec<String> {
    let hunks = review["files"][0]["hunks"].as_array().cloned().unwrap_or_default();
    hunks.iter().map(|hunk| hunk["hunk_id"].as_str().unwrap().to_owned()).collect()
}

/// Runs as the process that is killed: a job proposes three hunks, the user accepts one and rejects one.
fn propose_and_wait(around: &Path) {
    let (service, host) = open(around);
    let session = send(&service, Method::Post, "/api/agent/sessions", json!({}));
    let request = json!({ "session_id": session["session_id"], "instruction": "rename colour to color in notes.md" });
    let job = send(&service, Method::Post, "/api/agent/run", request);
    loop {
        let tasks = std::mem::take(&mut *host.0.lock().unwrap());
        if tasks.is_empty() {
            break;
        }
        block_on(futures::future::join_all(tasks));
    }
    let ids = hunks(&review(&service));
    assert_eq!(ids.len(), 3);
    let tell = |moment: &str| {
        println!("\n{moment} {} {}", job["job_id"].as_str().unwrap(), review(&service));
        // A step that is not told yet must not be under way when the process is killed.
        if std::env::var(MOMENT).is_ok_and(|wanted| wanted == moment) {
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
    };
    tell("proposed");
    for (id, decision) in ids.iter().zip(["accept", "reject"]) {
        send(&service, Method::Post, "/api/agent/decisions", json!({ "decision": decision, "hunk_ids": [id] }));
        tell(&format!("{decision}ed"));
    }
}

#[test]
fn a_review_outlives_a_killed_process() {
    if let Some(around) = std::env::var_os(AROUND) {
        propose_and_wait(Path::new(&around));
        return;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    let gap = "line\n".repeat(20);
    let text = format!("colour one\n{gap}colour two\n{gap}colour three\n");
    for (moment, n_pending) in [("proposed", 3), ("accepted", 2), ("rejected", 1)] {
        let around = TempDir::new().unwrap();
        let notes = around.path().join("project/notes.md");
        fs::create_dir(around.path().join("project")).unwrap();
        fs::write(&notes, &text).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &name, "--nocapture"]).env(AROUND, around.path()).env(MOMENT, moment);
        command.stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.starts_with(moment)).expect("the process prints each step");
        child.kill().unwrap();
        child.wait().unwrap();
        let mut words = line.splitn(3, ' ');
        let (_, job_id) = (words.next(), words.next().unwrap());
        let before: Value = serde_json::from_str(words.next().unwrap()).unwrap();

        let (service, _host) = open(around.path());
        let job = send(&service, Method::Get, &format!("/api/agent/jobs/{job_id}"), Value::Null);
        assert_eq!(job["status"], "awaiting_review", "{moment}: {job}");
        let after = review(&service);
        assert_eq!(hunks(&after).len(), n_pending, "{moment}: {after}");
        assert_eq!(after["files"], before["files"], "{moment}");
        let ids = hunks(&after);
        send(&service, Method::Post, "/api/agent/decisions", json!({ "decision": "accept", "hunk_ids": ids }));
        let job = send(&service, Method::Get, &format!("/api/agent/jobs/{job_id}"), Value::Null);
        assert_eq!(job["status"], "completed", "{moment}: {job}");
        let shown = fs::read_to_string(&notes).unwrap();
        let words: Vec<&str> = shown.lines().filter(|line| *line != "line").collect();
        if moment == "rejected" {
            assert_eq!(words, ["color one", "colour two", "color three"]);
        }
    }
}
