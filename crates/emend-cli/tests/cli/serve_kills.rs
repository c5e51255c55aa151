//! `emend serve`, killed while it applies a review: the next start leaves bytes, statuses and events that agree, and
//! nothing is applied twice.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serve::{Server, TOKEN};
use crate::support::{PATIENCE, Project};

const N_FILES: usize = 12;
/// The offline model reads and edits each file with a call of its own.
const CALLS: (&str, &str) = ("EMEND_MAX_TOOL_CALLS_PER_JOB", "0");
/// Number of kills, spread over twice the time of an application. The last one comes after the reply.
const N_KILLS: u32 = 16;
const OLD: &str = "The colour of the sky.\nSecond line.\n";
const NEW: &str = "The color of the sky.\nSecond line.\n";

/// A job whose edits await review.
struct Review {
    project: Project,
    server: Server,
    job: String,
    /// Accepts all hunks but that of the last file.
    application: Value,
}

impl Review {
    fn new() -> Self {
        let names: Vec<String> = (0..N_FILES).map(name).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), OLD.as_bytes())).collect();
        let project = Project::new(&files);
        let server = Server::start_with(&project, &[], &[CALLS]);
        let (session, state) = server.run("rename colour to color");
        assert_eq!(state["status"], "awaiting_review", "{state}");
        let bundle = state["diff_bundle"]["files"].as_array().unwrap();
        assert_eq!(bundle.len(), N_FILES);
        let accepted: Vec<&Value> = bundle[..N_FILES - 1].iter().map(|file| &file["hunks"][0]["hunk_id"]).collect();
        let job = state["job_id"].as_str().unwrap().to_owned();
        let application = json!({ "session_id": session, "job_id": job, "accepted_hunk_ids": accepted });
        Self { project, server, job, application }
    }

    /// Sends the application and does not wait for the reply.
    fn begin(&self) -> TcpStream {
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        let (address, body) = (&self.server.address, self.application.to_string());
        write!(
            stream,
            "POST /api/agent/apply HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        stream
    }

    fn restart(&mut self) {
        self.server.child.kill().unwrap();
        self.server.child.wait().unwrap();
        self.server = Server::start_with(&self.project, &[], &[CALLS]);
    }

    fn texts(&self) -> Vec<String> {
        (0..N_FILES).map(|n| self.project.read(&name(n))).collect()
    }

    fn status(&self) -> String {
        let state = self.server.ok("GET", &format!("/api/agent/jobs/{}", self.job), &Value::Null);
        state["status"].as_str().unwrap().to_owned()
    }

    /// Returns the data of the events of a type.
    fn events(&self, kind: &str) -> Vec<Value> {
        let path = format!("/api/agent/jobs/{}/events?limit=5000", self.job);
        let events = self.server.ok("GET", &path, &Value::Null);
        let events = events["events"].as_array().unwrap().iter();
        events.filter(|event| event["type"] == kind).map(|event| event["data"].clone()).collect()
    }
}

fn name(n: usize) -> String {
    format!("notes-{n:02}.md")
}

#[test]
fn a_server_killed_while_it_applies_a_review_tells_at_the_next_start_what_it_did() {
    let applied: Vec<&str> = [[NEW; N_FILES - 1].as_slice(), &[OLD]].concat();
    let first = Review::new();
    let began = Instant::now();
    let reply = first.server.ok("POST", "/api/agent/apply", &first.application);
    let time = began.elapsed();
    assert_eq!((first.texts(), reply["status"].as_str().unwrap()), (owned(&applied), "completed"));
    let mut histogram: BTreeMap<&str, u32> = BTreeMap::new();
    for kill in 0..N_KILLS {
        let mut review = Review::new();
        let mut answer = review.begin();
        if kill == N_KILLS - 1 {
            answer.read_exact(&mut [0; 12]).unwrap();
        } else {
            std::thread::sleep(time * 2 * kill / N_KILLS + Duration::from_micros(300));
        }
        review.restart();
        let at = format!("kill {kill}");
        let told = review.events("apply.completed");
        let outcome = match review.status().as_str() {
            "completed" if review.events("review.updated").iter().any(|data| data["by"] == "recovery") => {
                "told by the next start"
            }
            "completed" => "told before",
            "awaiting_review" => {
                assert_eq!((review.texts(), told), (owned(&[OLD; N_FILES]), Vec::new()), "{at}");
                review.server.ok("POST", "/api/agent/apply", &review.application);
                "without effect"
            }
            status => panic!("{at}: {status}"),
        };
        *histogram.entry(outcome).or_default() += 1;
        assert_eq!(review.texts(), owned(&applied), "{at}, {outcome}");
        let told: Vec<Value> =
            review.events("apply.completed").iter().map(|data| data["applied_files"].clone()).collect();
        assert_eq!(told, [reply["applied_files"].clone()], "{at}, {outcome}");
        assert_eq!(review.events("job.completed").len(), 1, "{at}, {outcome}");
        assert_eq!(review.server.send("POST", "/api/agent/apply", &review.application).0, 409, "{at}, {outcome}");
    }
    println!("an application takes {time:.1?}; {N_KILLS} kills: {histogram:?}");
    assert!(histogram.contains_key("told before"), "{histogram:?}");
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_command_that_was_allowed_before_a_kill_is_neither_asked_about_nor_run_again() {
    let project = Project::new(&[("notes.md", OLD.as_bytes())]);
    let mut server = Server::start(&project, &[]);
    let (_, state) = server.run_in(&json!({ "mode": "direct" }), "run echo begun >> notes.md; sleep 60");
    let (job, call) = (format!("/api/agent/jobs/{}", state["job_id"].as_str().unwrap()), &state["approvals"][0]);
    assert_eq!(call["tool"], "shell", "{state}");
    let answer = json!({ "tool_call_id": call["tool_call_id"], "decision": "allow" });
    server.ok("POST", &format!("{job}/approve"), &answer);
    let until = Instant::now() + PATIENCE;
    while !project.read("notes.md").contains("begun") {
        assert!(Instant::now() < until, "the command does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let server = Server::start(&project, &[]);
    let state = server.wait(state["job_id"].as_str().unwrap());
    assert!(matches!(state["status"].as_str(), Some("completed" | "awaiting_review")), "{state}");
    let events = server.ok("GET", &format!("{job}/events?limit=1000"), &Value::Null);
    let of = |kind: &str| {
        let events = events["events"].as_array().unwrap().iter();
        events.filter(|event| event["type"] == kind).cloned().collect::<Vec<_>>()
    };
    let n_asked = of("approval.requested").len();
    let results = of("tool.call.completed");
    assert!(n_asked == 1 && results.len() == 1, "{n_asked}: {results:?}");
    assert!(results[0].to_string().contains("was lost"), "{results:?}");
    assert_eq!(project.read("notes.md").matches("begun").count(), 1);
}
