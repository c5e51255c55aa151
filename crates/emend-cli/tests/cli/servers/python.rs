//! A worker in Python, written with PyPI's `absurd-sdk`, beside two servers.

use std::path::PathBuf;
use std::process::Command;

use emend_postgres::harness::TestServer;
use serde_json::{Value, json};

use super::fleet::Fleet;
use super::model::Model;
use super::{ledger, project, word};

/// Returns Python with the SDK, or prints that the test is skipped.
fn python() -> Option<PathBuf> {
    let python = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/py/bin/python"));
    let imports = Command::new(&python).args(["-c", "import absurd_sdk, psycopg"]).output();
    if imports.is_ok_and(|done| done.status.success()) {
        return Some(python);
    }
    println!("skipped: 1 case (absurd-sdk is not installed; `cargo xtask setup` installs it)");
    None
}

#[test]
fn a_worker_in_python_enqueues_jobs_and_reads_their_results() {
    let Some(python) = python() else { return };
    let Some(database) = TestServer::shared() else { return };
    let (project, address) = (project(2), database.database());
    project.run(&["db", "migrate", "--store", &address]).assert_ok();
    let model = Model::start(7, (10, 50));
    let fleet = Fleet::start(&project, &model, &address, 2, 7);
    let (status, session) = fleet.send("POST", "/api/agent/sessions", &json!({ "mode": "direct" })).unwrap();
    assert_eq!(status, 201, "{session}");
    let session = session["session_id"].as_str().unwrap();
    let instructions = [0, 1].map(|n| format!("append {} to {}", word(n, 0), ledger(n)));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/servers/worker.py");
    let done = Command::new(python).arg(script).args([&address, session]).args(&instructions).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let report: Value = serde_json::from_str(&said)
        .unwrap_or_else(|error| panic!("{error}: {said}{}", String::from_utf8_lossy(&done.stderr)));
    assert_eq!(report["state"], "completed", "{report}");
    for (n, status) in ["completed", "awaiting_review"].into_iter().enumerate() {
        let result = &report["results"][n]["result"];
        assert_eq!(result["status"], status, "{report}");
        assert_eq!(result["answer"], format!("appended {}", word(n, 0)), "{report}");
        let job = fleet.get(&format!("/api/agent/jobs/{}", result["job_id"].as_str().unwrap()));
        assert_eq!((&job["status"], &job["session_id"]), (&json!(status), &result["session_id"]), "{job}");
    }
    for (n, code) in [(2, "invalid_argument"), (3, "not_found")] {
        assert_eq!(report["results"][n]["result"]["error"]["code"], code, "{report}");
    }
    assert_eq!(report["results"][0]["result"]["session_id"], session);
    assert_eq!(project.read(&ledger(0)), format!("BEGIN\n{}\nEND\n", word(0, 0)));
    assert_eq!(project.read(&ledger(1)), "BEGIN\nEND\n", "a session of its own waits for review");
}
