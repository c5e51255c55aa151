//! The canvas of `emend serve` with a model of each wire format: check out, search, read, edit, check in, and the user who
//! wins in the middle of the edit.
//!
//! The responses are those of the cassettes `canvas-*`. After a change of the prompt or of a tool,
//! `EMEND_RECORD=1` records their requests again.

use std::time::Instant;

use serde_json::{Value, json};

use crate::serve::Server;
use crate::support::{PATIENCE, Project};
use crate::tape::{Tape, path};

/// The models, and the variables of their addresses and keys.
const MODELS: [(&str, &str, &str); 4] = [
    ("anthropic:claude-sonnet-5-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    ("openai:gpt-5.6-sol", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    ("openai_compatible:qwen3-coder", "OPENAI_COMPATIBLE_BASE_URL", "OPENAI_COMPATIBLE_API_KEY"),
    ("gemini:gemini-3.8-flash", "GEMINI_BASE_URL", "GEMINI_API_KEY"),
];

const TEXT: &str = "# Plan\n\none\ntwo\n";
const EDITED: &str = "# Plan\n\none\nTWO\n";

/// The response with the edit.
const EDIT: usize = 4;

fn cassette(model: &str) -> String {
    format!("canvas-{}", model.split(':').next().unwrap())
}

/// A session with an open canvas whose job has begun.
struct Story {
    server: Server,
    session: String,
    job: String,
}

impl Story {
    fn begin(server: Server) -> Self {
        // The tools of a small set: a change of another tool does not change the requests.
        let canvas = json!({ "tools": "project", "canvas": { "tools": true, "enforce_lease": true } });
        let session = server.ok("POST", "/api/agent/sessions", &canvas);
        let session = session["session_id"].as_str().unwrap().to_owned();
        let mut story = Self { server, session, job: String::new() };
        story.canvas("open", &json!({ "file_path": "plan.md" }));
        let body = json!({ "session_id": story.session, "instruction": "make two loud" });
        let job = story.server.ok("POST", "/api/agent/run", &body);
        job["job_id"].as_str().unwrap().clone_into(&mut story.job);
        story
    }

    /// Begins the story with a provider that keeps back the end of a response.
    fn with_tape(project: &Project, (model, url, key): (&str, &str, &str), tape: &Tape) -> Self {
        let variables = [(url, tape.url.as_str()), (key, "key")];
        Self::begin(Server::start_with(project, &["--model", model], &variables))
    }

    fn path(&self, action: &str) -> String {
        format!("/api/agent/sessions/{}/canvas{action}", self.session)
    }

    fn canvas(&self, action: &str, body: &Value) -> Value {
        self.server.ok("POST", &self.path(&format!("/{action}")), body)
    }

    fn state(&self) -> Value {
        self.server.ok("GET", &self.path(""), &Value::Null)
    }

    fn text(&self) -> Value {
        self.server.ok("GET", "/api/agent/buffer?file_path=plan.md", &Value::Null)["content"].clone()
    }

    /// Waits until the job has the lease.
    fn wait_for_lease(&self) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let state = self.state();
            if state["held"] == true {
                return state;
            }
            assert!(Instant::now() < until, "{state}");
        }
    }

    /// Returns the events of a kind.
    fn events(&self, kind: &str) -> Vec<Value> {
        let path = format!("/api/agent/jobs/{}/events?limit=500", self.job);
        let page = self.server.ok("GET", &path, &Value::Null);
        let events = page["events"].as_array().unwrap().iter().filter(|event| event["type"] == kind);
        events.map(|event| event["data"].clone()).collect()
    }

    /// Returns the tools that were called, with the code of the failure or "ok".
    fn calls(&self) -> Vec<(String, String)> {
        let word = |value: &Value| value.as_str().unwrap_or("ok").to_owned();
        self.events("tool.call.completed")
            .iter()
            .map(|data| (word(&data["tool"]), word(&data["error"]["code"])))
            .collect()
    }

    fn leases(&self) -> Vec<Value> {
        self.events("canvas.lease").iter().map(|data| data["state"].clone()).collect()
    }
}

fn project() -> Project {
    Project::new(&[("plan.md", TEXT.as_bytes())])
}

#[test]
fn an_agent_edits_the_canvas_with_a_recorded_model_of_each_wire_format() {
    println!("covers: canvas.wire_formats canvas.check_out canvas.reads");
    for model in MODELS {
        let name = cassette(model.0);
        if std::env::var_os("EMEND_RECORD").is_some() {
            let (project, tape) = (project(), Tape::start(&name, 0));
            let story = Story::with_tape(&project, model, &tape);
            story.server.wait(&story.job);
            tape.record(&name, &project);
        }
        let project = project();
        let model = format!("cassette:{}", path(&name).display());
        let story = Story::begin(Server::start(&project, &["--model", &model]));
        let job = story.server.wait(&story.job);
        assert_eq!(job["status"], "awaiting_review", "{name}: {job}");
        let calls = ["check_out", "grep", "read_lines", "edit_lines", "check_in"];
        let calls: Vec<_> = calls.iter().map(|call| (format!("canvas_{call}"), "ok".to_owned())).collect();
        assert_eq!(story.calls(), calls, "{name}");
        assert_eq!(story.leases(), ["held", "released"], "{name}");
        assert_eq!((story.text(), project.read("plan.md")), (json!(EDITED), TEXT.to_owned()), "{name}");
        let applied = story.server.ok("POST", "/api/agent/apply", &crate::serve::apply(&story.session, &job));
        assert_eq!(project.read("plan.md"), EDITED, "{name}: {applied}");
    }
}

#[test]
fn a_keystroke_in_the_middle_of_the_edit_is_kept_and_the_edit_of_each_wire_format_fails() {
    println!("covers: canvas.preempt");
    for model in MODELS {
        let (project, tape) = (project(), Tape::start(&cassette(model.0), EDIT));
        let story = Story::with_tape(&project, model, &tape);
        tape.wait_halfway();
        assert_eq!(story.state()["held"], true, "{}", model.0);
        let typed = format!("{TEXT}x");
        let after = story.canvas("user_edit", &json!({ "content": typed }));
        tape.go_on();
        story.server.wait(&story.job);
        let call = ("canvas_edit_lines".to_owned(), "STALE_EPOCH".to_owned());
        assert_eq!(story.calls()[EDIT - 1], call, "{}: {:?}", model.0, story.calls());
        assert_eq!(story.leases(), ["held", "preempted"], "{}", model.0);
        // The model got the failure with the revision of the user's text.
        let result = tape.asked()[EDIT].clone();
        let revision = after["revision_id"].as_str().unwrap();
        assert!(result.contains("STALE_EPOCH") && result.contains(revision), "{}: {result}", model.0);
        assert_eq!((story.text(), project.read("plan.md")), (json!(typed), typed), "{}", model.0);
        assert_eq!((&story.state()["revision_id"], &after["held"]), (&json!(revision), &json!(false)), "{}", model.0);
    }
}

#[test]
fn a_stop_in_the_middle_of_the_edit_takes_the_canvas_from_a_model_of_each_wire_format() {
    println!("covers: canvas.preempt");
    for model in MODELS {
        let (project, tape) = (project(), Tape::start(&cassette(model.0), EDIT));
        let story = Story::with_tape(&project, model, &tape);
        tape.wait_halfway();
        let before = story.wait_for_lease();
        let lease = story.events("tool.call.completed")[0]["output"].clone();
        let lease: Value = serde_json::from_str(lease.as_str().unwrap()).unwrap();
        story.server.ok("POST", &format!("/api/agent/jobs/{}/cancel", story.job), &json!({}));
        let edits = json!([{ "operation": "delete", "start_line": 1 }]);
        let late = json!({ "lease_id": lease["lease_id"], "base_revision_id": before["revision_id"], "edits": edits });
        let (status, reply) = story.server.send("POST", &story.path("/edit_lines"), &late);
        assert_eq!((status, &reply["error"]["code"]), (409, &json!("STALE_EPOCH")), "{}: {reply}", model.0);
        tape.go_on();
        let job = story.server.wait(&story.job);
        assert_eq!(job["status"], "cancelled", "{}: {job}", model.0);
        let after = story.state();
        assert_eq!((&after["held"], &after["revision_id"]), (&json!(false), &before["revision_id"]), "{}", model.0);
        assert!(after["epoch"].as_u64() > before["epoch"].as_u64(), "{}: {after}", model.0);
        assert_eq!((story.text(), project.read("plan.md")), (json!(TEXT), TEXT.to_owned()), "{}", model.0);
    }
}
