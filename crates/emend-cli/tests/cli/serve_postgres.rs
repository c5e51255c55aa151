//! `emend db` and `emend serve --store postgres:URL`: kills, another project, and a crash of the database.

use std::process::Child;
use std::time::Duration;

use emend_postgres::harness::TestServer;
use serde_json::{Value, json};

use crate::serve::{RENAME, Server, apply, project};

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Returns the types of the events of a job.
fn kinds(server: &Server, job: &str) -> Vec<String> {
    let page = server.ok("GET", &format!("/api/agent/jobs/{job}/events?limit=1000"), &Value::Null);
    let events = page["events"].as_array().unwrap().iter();
    events.map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn sessions_and_reviews_outlive_a_killed_server_and_a_crashed_database() {
    let Some(database) = TestServer::start(true) else { return };
    let (url, project) = (database.database(), project());
    let store = format!("postgres:{url}");
    let first = project.run(&["db", "migrate", "--store", &store]);
    assert!(first.assert_ok().stdout.contains(" now"), "{}", first.stdout);
    let again = project.run_with(&["db", "migrate", "--store", "postgres"], &[("EMEND_DATABASE_URL", &url)]);
    assert!(again.assert_ok().stdout.contains(" already"), "{}", again.stdout);
    let mut server = Server::start(&project, &["--store", &store]);
    let (session, state) = server.run(RENAME);
    assert_eq!(state["status"], "awaiting_review", "{state}");
    // A server of other files must not run the jobs of this database.
    let other = crate::support::Project::new(&[]);
    let refused = other.run(&["serve", "--port", "0", "--model", "offline", "--store", &store]);
    assert!(refused.stderr.contains("the database belongs to another project"), "{}", refused.stderr);
    kill(&mut server.child);
    let server = Server::start(&project, &["--store", &store]);
    database.crash();
    let job = state["job_id"].as_str().unwrap();
    let state = server.ok("GET", &format!("/api/agent/jobs/{job}"), &Value::Null);
    assert_eq!(state["status"], "awaiting_review", "{state}");
    server.ok("POST", "/api/agent/apply", &apply(&session, &state));
    assert_eq!(project.read("notes.md"), "The color of the sky.\nSecond line.\n");
    let ends = kinds(&server, job).into_iter().filter(|kind| kind == "job.completed").count();
    assert_eq!(ends, 1);
}

#[test]
fn a_job_of_a_killed_server_goes_on_and_ends_once() {
    let Some(database) = TestServer::shared() else { return };
    let project = project();
    let store = database.database();
    project.run(&["db", "migrate", "--store", &store]).assert_ok();
    let mut word = "colour".to_owned();
    for ms in [0, 5, 20, 60] {
        // The edit of the job before is pending.
        let next = format!("color{ms}");
        let instruction = format!("rename {word} to {next} in notes.md");
        word = next;
        let mut server = Server::start(&project, &["--store", &store, "--job-lease", "1"]);
        let session = server.ok("POST", "/api/agent/sessions", &json!({}));
        let body = json!({ "session_id": session["session_id"], "instruction": instruction });
        let job = server.ok("POST", "/api/agent/run", &body)["job_id"].as_str().unwrap().to_owned();
        std::thread::sleep(Duration::from_millis(ms));
        kill(&mut server.child);
        let server = Server::start(&project, &["--store", &store]);
        let state = server.wait(&job);
        let kinds = kinds(&server, &job);
        assert_eq!(state["status"], "awaiting_review", "{ms} ms: {state} {kinds:?}");
        let n_ends = kinds.iter().filter(|kind| *kind == "edits.proposed").count();
        assert_eq!(n_ends, 1, "{ms} ms: {kinds:?}");
        // A killed server would keep its claims and locks for half a minute, and the next job would wait for them.
        server.stop();
    }
}

#[test]
fn refusals_name_the_next_step_and_no_password() {
    let Some(database) = TestServer::shared() else { return };
    let project = project();
    let serve = |store: &str| project.run(&["serve", "--port", "0", "--model", "offline", "--store", store]);
    let table = [
        (database.database(), "run `emend db migrate` on it first"),
        ("postgres://u:hunter2@127.0.0.1:1/x".to_owned(), "Connection refused"),
        ("postgres://u:hunter2@h:x/y".to_owned(), "the address of the database is not valid"),
        ("postgres://u:hunter2@h/y?sslmode=hunter2".to_owned(), "the address of the database is not valid"),
        ("postgres:".to_owned(), "expected postgres:URL"),
        ("postgres".to_owned(), "set EMEND_DATABASE_URL"),
    ];
    for (store, expected) in table {
        let refused = serve(&store);
        assert_ne!(refused.status, 0, "{store}");
        assert!(refused.stderr.contains(expected), "{store}: {}", refused.stderr);
        assert!(!refused.stderr.contains("hunter2"), "{store}: {}", refused.stderr);
    }
}
