//! `emend attach` and `emend sessions --server`: sessions, modes and budgets of a server from a terminal.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::{RENAME, Server, TOKEN, project};
use crate::served::Terminal;
use crate::support::Project;

/// Returns the number of active sessions.
fn n_active(server: &Server) -> u64 {
    server.ok("GET", "/api/agent/sessions?status=active&limit=1", &Value::Null)["total"].as_u64().unwrap()
}

#[test]
fn an_attached_terminal_lists_and_archives_sessions() {
    let project = project();
    let server = Server::start_with(&project, &[], &[("EMEND_MAX_SESSIONS", "3")]);
    let ids = ["red", "green", "blue"].map(|title| {
        let session = server.ok("POST", "/api/agent/sessions", &json!({ "title": title }));
        session["session_id"].as_str().unwrap().to_owned()
    });
    let mut terminal = Terminal::attach(&project, &server, &[]);
    terminal.expect("/help lists the commands");
    terminal.type_line("/sessions");
    let first = terminal.expect("  1. ");
    assert!(first.contains(&ids[2]) && first.ends_with("active    blue  (this one)"), "{first}");
    terminal.type_line("/sessions green");
    assert!(terminal.expect("  1. ").ends_with("green"));
    terminal.type_line("/archive 1");
    terminal.expect(&format!("archived {}  green", ids[1]));
    assert_eq!(n_active(&server), 2);
    // The number of a list that is not there does nothing.
    terminal.type_line("/archive 2");
    terminal.type_line("/sessions archived");
    let line = terminal.expect("  1. ");
    assert!(line.contains("archived  green"), "{line}");
    terminal.type_line("/sessions all no-such-text");
    terminal.expect("no such session");
    terminal.type_line(&format!("/unarchive {}", ids[1]));
    terminal.expect("active again: ");
    assert_eq!(n_active(&server), 3);
    terminal.type_line("/archive");
    terminal.expect("It accepts no messages until /unarchive.");
    assert_eq!(n_active(&server), 2);
    terminal.type_line("/unarchive");
    terminal.expect(&format!("active again: {}", ids[2]));
    terminal.leave();
}

#[test]
fn the_sessions_of_a_server_are_listed_and_archived_by_a_command() {
    let project = project();
    let server = Server::start_with(&project, &[], &[("EMEND_MAX_SESSIONS", "2")]);
    let (first, _) = server.run(RENAME);
    server.ok("POST", "/api/agent/sessions", &json!({ "title": "second" }));
    let url = server.url();
    let run = |args: &[&str]| project.run(&[&["sessions"], args, &["--server", &url]].concat());
    let listed = run(&[]).assert_ok().stdout.clone();
    assert!(listed.contains(&first) && listed.contains("active    second"), "{listed}");
    assert_eq!(run(&["list", "--search", "colour"]).assert_ok().stdout.lines().count(), 1);
    assert!(run(&["show", &first]).assert_ok().stdout.contains(&format!("[user]\n{RENAME}")));
    // A terminal that wants another session learns how to make room.
    let refused = project.run(&["attach", &url, "--new"]);
    assert_eq!(refused.status, 5, "{}", refused.stderr);
    let advice = format!("try: emend sessions archive {first} --server http://{}", server.address);
    assert!(refused.stderr.contains(&advice), "{}", refused.stderr);
    assert_eq!(run(&["archive", &first]).assert_ok().stdout, format!("archived {first}\n"));
    assert_eq!(n_active(&server), 1);
    let archived = run(&["list", "--archived", "--json"]).assert_ok().stdout.clone();
    let archived: Value = serde_json::from_str(&archived).unwrap();
    assert_eq!((&archived["session_id"], &archived["status"]), (&json!(first), &json!("archived")));
    run(&["title", &first, "done"]).assert_ok();
    run(&["unarchive", &first]).assert_ok();
    assert!(run(&["list"]).assert_ok().stdout.contains("active    done"));
    // The token may be in the environment, as for `emend attach`.
    let bare = format!("http://{}", server.address);
    project.run_with(&["sessions", "--server", &bare], &[("EMEND_TOKEN", TOKEN)]).assert_ok();
    run(&["delete", &first]).assert_ok();
    assert_eq!(run(&["show", &first]).status, 1);
}

#[test]
fn a_session_is_archived_while_no_server_runs() {
    let project = project();
    let server = Server::start(&project, &[]);
    let (with_job, _) = server.run(RENAME);
    let empty = server.ok("POST", "/api/agent/sessions", &json!({}))["session_id"].clone();
    let empty = empty.as_str().unwrap();
    drop(server);
    project.run(&["sessions", "archive", &with_job[..8]]).assert_ok();
    project.run(&["sessions", "archive", empty]).assert_ok();
    assert_ne!(project.run(&["sessions", "archive", "00000000-0000-0000-0000-000000000000"]).status, 0);
    // The way back obeys the limit.
    project.run(&["sessions", "unarchive", empty]).assert_ok();
    let full = project.run_with(&["sessions", "unarchive", &with_job], &[("EMEND_MAX_SESSIONS", "1")]);
    assert_eq!(full.status, 5, "{}", full.stderr);
    assert!(full.stderr.contains(&format!("try: emend sessions archive {empty}")), "{}", full.stderr);
    let server = Server::start(&project, &[]);
    assert_eq!(n_active(&server), 1);
    let state = server.ok("GET", &format!("/api/agent/sessions/{with_job}"), &Value::Null);
    assert_eq!(state["status"], "archived");
}

#[test]
fn an_attached_terminal_chooses_the_mode_and_the_budgets() {
    let project = Project::new(&[("a.md", b"The colour.\n")]);
    let server = Server::start(&project, &[]);
    let mut terminal = Terminal::attach(&project, &server, &["--new"]);
    terminal.expect("(review mode)");
    terminal.type_line("/mode");
    terminal.expect("* review");
    terminal.type_line("/mode careful");
    terminal.type_line("/mode direct");
    terminal.expect("direct mode, from the next job on");
    terminal.type_line("/budget");
    terminal.expect("session: 0 tokens, $0.0000, 0.0 s");
    terminal.type_line("/budget money 3");
    terminal.type_line("/budget cost 2.50");
    terminal.expect("session: 0 tokens, $0.0000 of $2.5000, 0.0 s");
    terminal.type_line("/budget job time 10m");
    terminal.expect("each job: 0 tokens, $0.0000, 0.0 s of 600.0 s");
    terminal.type_line("/budget none");
    terminal.expect("session: 0 tokens, $0.0000, 0.0 s");
    terminal.type_line("/budget tokens 1");
    terminal.expect("session: 0 of 1 tokens");
    terminal.type_line("rename colour to color");
    // The model used up the budget by its first response.
    terminal.expect("[failed]");
    terminal.type_line("/status");
    terminal.expect("direct mode");
    terminal.expect(" of 1 tokens");
    terminal.type_line("/budget none");
    terminal.expect("session: ");
    terminal.type_line("rename colour to color");
    terminal.expect("[completed]");
    assert_eq!(project.read("a.md"), "The color.\n");
    terminal.leave();
}

#[test]
fn a_server_that_goes_away_and_comes_back_is_told_once_each() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    let mut terminal = Terminal::attach(&project, &server, &["--new"]);
    terminal.expect("/help lists the commands");
    terminal.type_line(RENAME);
    terminal.expect("/review shows them");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    terminal.expect("(the server cannot be reached; this terminal tries again)");
    terminal.type_line("/status");
    // It stays away for a few attempts.
    std::thread::sleep(Duration::from_millis(2_500));
    let server = Server::start_at(&project, &port, &[], &[]);
    let seen = terminal.lines_until("(the server is reached again)");
    assert_eq!(seen, Vec::<String>::new(), "nothing is repeated");
    terminal.type_line("rename one to two in other.md");
    let seen = terminal.lines_until("> rename one to two in other.md");
    assert_eq!(seen, Vec::<String>::new(), "nothing is repeated");
    terminal.expect("/review shows them");
    terminal.leave();
    drop(server);
}

#[test]
fn a_terminal_that_joins_sees_the_last_messages() {
    let project = project();
    let server = Server::start(&project, &[]);
    server.ok("POST", "/api/agent/sessions", &json!({ "mode": "direct" }));
    let mut first = Terminal::attach(&project, &server, &[]);
    let mut shown = "one".to_owned();
    for at in 0..30 {
        let next = format!("word{at}");
        first.type_line(&format!("rename {shown} to {next} in other.md"));
        first.expect("[completed]");
        shown = next;
    }
    first.leave();
    let terminal = Terminal::attach(&project, &server, &[]);
    let earlier = terminal.expect(" earlier messages");
    assert!(earlier.starts_with("… "), "{earlier}");
    let seen = terminal.lines_until("> rename word28 to word29 in other.md");
    assert!(!seen.iter().any(|line| line == "> rename one to word0 in other.md"), "{seen:?}");
    assert!(seen.len() < 120, "{seen:?}");
    terminal.leave();
}

#[test]
fn a_request_for_approval_that_outlives_a_restart_is_shown_once_and_answered() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    server.ok("POST", "/api/agent/sessions", &json!({ "mode": "ask" }));
    let mut terminal = Terminal::attach(&project, &server, &[]);
    terminal.type_line(RENAME);
    terminal.expect("wants to make this change:");
    terminal.expect("[y]es, [n]o, [a]lways");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    terminal.expect("(the server cannot be reached");
    let server = Server::start_at(&project, &port, &[], &[]);
    terminal.expect("(the server is reached again)");
    // The job goes on from its last recorded step.
    let session = server.ok("GET", "/api/agent/sessions", &Value::Null)["sessions"][0]["session_id"].clone();
    let path = format!("/api/agent/sessions/{}", session.as_str().unwrap());
    while server.ok("GET", &path, &Value::Null)["job"]["approvals"][0].is_null() {
        std::thread::sleep(Duration::from_millis(20));
    }
    terminal.type_line("y");
    let seen = terminal.lines_until("[completed]");
    assert!(!seen.iter().any(|line| line.contains("wants to make")), "{seen:?}");
    assert!(seen.iter().any(|line| line == "  allowed"), "{seen:?}");
    assert_eq!(project.read("notes.md"), "The color of the sky.\nSecond line.\n");
    terminal.leave();
}

#[test]
fn a_terminal_that_missed_the_end_of_a_job_starts_the_next_one() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    let session = server.ok("POST", "/api/agent/sessions", &json!({ "mode": "ask" }))["session_id"].clone();
    let mut terminal = Terminal::attach(&project, &server, &[]);
    terminal.type_line(RENAME);
    terminal.expect("[y]es, [n]o, [a]lways");
    // While the terminal sleeps, its job ends and is purged with its events.
    terminal.signal(Signal::STOP);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let server = Server::start_at(&project, &port, &[], &[("EMEND_MAX_JOBS_PER_SESSION", "1")]);
    let path = format!("/api/agent/sessions/{}", session.as_str().unwrap());
    let job = server.ok("GET", &path, &Value::Null)["job"]["job_id"].clone();
    server.ok("POST", &format!("/api/agent/jobs/{}/cancel", job.as_str().unwrap()), &json!({}));
    for _ in 0..200 {
        if server.send("PATCH", &path, &json!({ "mode": "direct" })).0 == 200 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    for instruction in ["rename one to two in other.md", "rename two to three in other.md"] {
        let body = json!({ "session_id": session, "instruction": instruction });
        let job = server.ok("POST", "/api/agent/run", &body)["job_id"].clone();
        assert_eq!(server.wait(job.as_str().unwrap())["status"], "completed");
    }
    terminal.signal(Signal::CONT);
    terminal.expect("some events are no longer kept");
    terminal.type_line("rename three to four in other.md");
    terminal.expect("> rename three to four in other.md");
    terminal.expect("[completed]");
    assert_eq!(project.read("other.md"), "four\n");
    terminal.leave();
}
