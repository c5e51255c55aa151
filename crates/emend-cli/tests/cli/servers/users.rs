//! Requests of the user to any server: approvals, answers and cancellations of a job that another one runs.

use std::time::{Duration, Instant};

use emend_postgres::harness::TestServer;
use serde_json::{Value, json};

use super::fleet::Fleet;
use super::model::Model;
use super::{ledger, project, word};
use crate::support::Project;

pub(super) struct Bench<'a> {
    database: &'a TestServer,
    address: String,
    pub(super) fleet: Fleet<'a>,
}

impl Bench<'_> {
    pub(super) fn post(&self, path: &str, body: &Value) -> Value {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            match self.fleet.send("POST", path, body) {
                Some((200..300, reply)) => return reply,
                reply => assert!(Instant::now() < until, "{path}: {reply:?}"),
            }
        }
    }

    /// Starts a job in a new session of a mode; returns its path.
    pub(super) fn job(&self, mode: &str, instruction: &str) -> String {
        let session = self.session(&json!({ "mode": mode }));
        self.job_in(&session, &json!({ "instruction": instruction }))
    }

    /// Creates a session; returns its id.
    pub(super) fn session(&self, body: &Value) -> String {
        self.post("/api/agent/sessions", body)["session_id"].as_str().unwrap().to_owned()
    }

    /// Starts a job in a session; returns its path.
    pub(super) fn job_in(&self, session: &str, body: &Value) -> String {
        let mut body = body.clone();
        body["session_id"] = json!(session);
        format!("/api/agent/jobs/{}", self.post("/api/agent/run", &body)["job_id"].as_str().unwrap())
    }

    pub(super) fn wait(&self, job: &str, is_there: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let state = self.fleet.get(job);
            if is_there(&state) {
                return state;
            }
            assert!(Instant::now() < until, "{state}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    pub(super) fn wait_for(&self, job: &str, status: &str) -> Value {
        self.wait(job, |state| state["status"] == status)
    }

    /// Returns how often each type of event is in a job.
    pub(super) fn count(&self, job: &str, kind: &str) -> usize {
        let page = self.fleet.get(&format!("{job}/events?limit=5000"));
        page["events"].as_array().unwrap().iter().filter(|event| event["type"] == kind).count()
    }

    pub(super) fn sql(&self, sql: &str) -> String {
        self.database.query(&self.address, sql).unwrap()
    }

    fn tasks(&self, state: &str) -> String {
        let sql = format!("SELECT count(*) FROM absurd.t_emend WHERE state = '{state}'");
        self.database.query(&self.address, &sql).unwrap()
    }
}

pub(super) fn bench<'a>(database: &'a TestServer, project: &'a Project, model: &'a Model) -> Bench<'a> {
    let address = database.database();
    project.run(&["db", "migrate", "--store", &address]).assert_ok();
    let fleet = Fleet::start(project, model, &address, 2, 11);
    Bench { database, address, fleet }
}

#[test]
fn a_job_that_waits_for_the_user_holds_no_server() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(11, (5, 20)));
    let bench = bench(database, &project, &model);
    for decision in ["allow", "deny"] {
        let before = project.read(&ledger(0));
        let word = word(0, usize::from(decision == "deny"));
        let job = bench.job("ask", &format!("append {word} to {}", ledger(0)));
        let state = bench.wait_for(&job, "waiting_for_user");
        assert_eq!((bench.tasks("sleeping"), bench.tasks("running")), ("1".to_owned(), "0".to_owned()));
        // Nobody waits in these processes.
        (0..2).for_each(|server| bench.fleet.kill(server));
        let call = &state["approvals"][0]["tool_call_id"];
        bench.post(&format!("{job}/approve"), &json!({ "tool_call_id": call, "decision": decision }));
        let state = bench.wait_for(&job, "completed");
        assert_eq!(state["answer"], format!("appended {word}"));
        let is_there = project.read(&ledger(0)) == before.replace("END", &format!("{word}\nEND"));
        assert_eq!(is_there, decision == "allow", "{}", project.read(&ledger(0)));
        for kind in ["approval.requested", "approval.resolved", "tool.call.requested", "tool.call.completed"] {
            assert_eq!(bench.count(&job, kind), 1, "{kind} after {decision}");
        }
    }
}

#[test]
fn a_question_is_answered_to_any_server() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(12, (5, 20)));
    let bench = bench(database, &project, &model);
    let job = bench.job("direct", "ask me");
    let state = bench.wait(&job, |state| state["question"].is_object());
    assert_eq!((bench.tasks("sleeping"), bench.tasks("running")), ("1".to_owned(), "0".to_owned()));
    (0..2).for_each(|server| bench.fleet.kill(server));
    let answer = json!({ "question_id": state["question"]["question_id"], "answer": "blue" });
    bench.post(&format!("{job}/clarify"), &answer);
    let state = bench.wait_for(&job, "completed");
    assert_eq!(state["answer"], "the answer was blue");
    for kind in ["clarification.requested", "clarification.received", "job.started", "job.completed"] {
        assert_eq!(bench.count(&job, kind), 1, "{kind}");
    }
}

#[test]
fn any_server_cancels_a_job() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(13, (5, 20)));
    let bench = bench(database, &project, &model);
    // Each server is asked at least once with a great chance, whichever one runs the job.
    for _ in 0..4 {
        let job = bench.job("direct", "sleep for a minute");
        bench.wait(&job, |state| state["status"] == "running" && !model.busy().is_empty());
        let begun = Instant::now();
        let reply = bench.post(&format!("{job}/cancel"), &Value::Null);
        assert_eq!(reply["status"], "cancelled", "{reply}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        assert_eq!(bench.count(&job, "job.cancelled"), 1);
    }
    let until = Instant::now() + Duration::from_secs(10);
    while bench.tasks("completed") != "4" {
        assert!(Instant::now() < until, "the queue has work of ended jobs");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_the_user_always_allows_holds_on_every_server() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(16, (5, 20)));
    let bench = bench(database, &project, &model);
    let session = bench.session(&json!({ "mode": "ask" }));
    let first = bench.job_in(&session, &json!({ "instruction": format!("append {} to {}", word(0, 0), ledger(0)) }));
    let state = bench.wait_for(&first, "waiting_for_user");
    let call = &state["approvals"][0]["tool_call_id"];
    bench.post(&format!("{first}/approve"), &json!({ "tool_call_id": call, "decision": "allow_always" }));
    bench.wait_for(&first, "completed");
    // The session is shown as it was.
    let shown = bench.fleet.get(&format!("/api/agent/sessions/{session}"));
    assert!(shown["session_id"] == session && shown.get("grants").is_none(), "{shown}");
    for number in 1..4 {
        // Any server may get the job, and none knows the answer from its memory.
        (0..2).for_each(|server| bench.fleet.kill(server));
        let instruction = format!("append {} to {}", word(0, number), ledger(0));
        let job = bench.job_in(&session, &json!({ "instruction": instruction }));
        let state = bench.wait(&job, |state| state["status"] != "queued" && state["status"] != "running");
        assert_eq!(state["status"], "completed", "{state}");
        assert_eq!(bench.count(&job, "approval.requested"), 0);
        assert!(project.read(&ledger(0)).contains(&word(0, number)));
    }
    // Another session has its own answers.
    let other = bench.job("ask", &format!("append {} to {}", word(0, 9), ledger(0)));
    bench.wait_for(&other, "waiting_for_user");
}

#[test]
fn clients_of_every_server_learn_of_changes_that_have_no_event() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(17, (5, 20)));
    let bench = bench(database, &project, &model);
    let (kept, removed) = (bench.session(&json!({})), bench.session(&json!({})));
    let is_changed = |message: &Value| message["type"] == "state.changed";
    let streams: Vec<_> = (0..2).map(|server| bench.fleet.read_stream(server, is_changed)).collect();
    let told = |which: &str| {
        let wait = Duration::from_secs(10);
        streams.iter().map(|stream| stream.recv_timeout(wait).expect(which)["state"].clone()).collect::<Vec<_>>()
    };
    for (server, text) in [(0, "BEGIN\none\nEND\n"), (1, "BEGIN\ntwo\nEND\n")] {
        let body = json!({ "file_path": ledger(0), "content": text });
        let reply = bench.fleet.send_to(server, "POST", "/api/agent/user_edit", &body).unwrap();
        assert_eq!(reply.0, 200, "{reply:?}");
        let states = told("an edit");
        assert_eq!(states[0], states[1], "one revision");
        let review = bench.fleet.get("/api/agent/review");
        assert_eq!(states[0]["revision"], review["revision"], "{review}");
    }
    let reply = bench.fleet.send_to(1, "DELETE", &format!("/api/agent/sessions/{removed}"), &Value::Null).unwrap();
    assert_eq!(reply.0, 200, "{reply:?}");
    for state in told("a deletion") {
        assert_eq!(state["n_deleted_sessions"], 1);
    }
    bench.fleet.get(&format!("/api/agent/sessions/{kept}"));
    // One message for each change.
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(streams.iter().all(|stream| stream.try_recv().is_err()));
}

#[test]
fn a_paused_server_stops_no_other_one() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(18, (1, 3)));
    let bench = bench(database, &project, &model);
    let session = bench.session(&json!({ "mode": "direct" }));
    let seed = super::seed();
    println!("seed {seed}");
    let random = super::random::Seeded::new(seed);
    let n_rounds = if super::is_full() { 90 } else { 6 };
    for round in 0..n_rounds {
        let instruction = format!("append {} to {}", word(0, round), ledger(0));
        let body = json!({ "session_id": session, "instruction": instruction });
        let reply = bench.fleet.send_to(0, "POST", "/api/agent/run", &body).unwrap();
        assert!((200..300).contains(&reply.0), "{reply:?}");
        let job = format!("/api/agent/jobs/{}", reply.1["job_id"].as_str().unwrap());
        std::thread::sleep(Duration::from_millis(random.below(60)));
        bench.fleet.pause(0, true);
        let until = Instant::now() + Duration::from_secs(30);
        // The other server completes the job and changes files and the session meanwhile.
        loop {
            let state = bench.fleet.send_to(1, "GET", &job, &Value::Null);
            let state = state.unwrap_or_else(|reason| {
                let sql = "SELECT wait_event, state, query FROM pg_stat_activity WHERE application_name = 'emend'";
                panic!("round {round}: {reason}\n{}", bench.sql(sql))
            });
            let state = state.1;
            if state["status"] == "completed" {
                break;
            }
            assert!(Instant::now() < until, "round {round}: {state}");
            std::thread::sleep(Duration::from_millis(30));
        }
        let title = json!({ "title": format!("round {round}") });
        let reply = bench.fleet.send_to(1, "PATCH", &format!("/api/agent/sessions/{session}"), &title).unwrap();
        assert_eq!(reply.0, 200, "{reply:?}");
        bench.fleet.pause(0, false);
    }
    std::thread::sleep(Duration::from_millis(500));
    let text = project.read(&ledger(0));
    for round in 0..n_rounds {
        assert_eq!(text.matches(&word(0, round)).count(), 1, "round {round}: {text}");
    }
    let shown = bench.fleet.get(&format!("/api/agent/sessions/{session}"));
    assert_eq!(shown["title"], format!("round {}", n_rounds - 1));
}
