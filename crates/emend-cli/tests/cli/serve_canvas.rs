//! The canvas of `emend serve` as a program.

use serde_json::json;

use crate::serve::{RENAME, Server, project};
use crate::served::Terminal;

#[test]
fn a_canvas_in_git_mode_has_no_tools_and_says_so() {
    println!("covers: canvas.storage canvas.flag");
    let project = project();
    for (options, is_refused) in [(&["--canvas", "git"][..], true), (&[], false)] {
        let server = Server::start(&project, options);
        let wanted = json!({ "canvas": { "tools": true } });
        let (status, reply) = server.send("POST", "/api/agent/sessions", &wanted);
        assert_eq!(status >= 400, is_refused, "{reply}");
        let session = server.ok("POST", "/api/agent/sessions", &json!({}));
        let path = format!("/api/agent/sessions/{}/canvas/open", session["session_id"].as_str().unwrap());
        let (status, opened) = server.send("POST", &path, &json!({ "file_path": "notes.md" }));
        assert_eq!(status >= 400, is_refused, "{opened}");
        for reply in [reply, opened].iter().filter(|_| is_refused) {
            let message = reply["error"]["message"].as_str().unwrap();
            assert!(message.contains("Git mode") && message.contains("--canvas git"), "{reply}");
        }
    }
}

#[cfg(unix)]
#[test]
fn servers_of_one_project_share_the_canvas_and_its_lease() {
    let Some(database) = emend_postgres::harness::TestServer::shared() else { return };
    println!("covers: canvas.exclusive canvas.preempt");
    let (project, store) = (project(), database.database());
    project.run(&["db", "migrate", "--store", &store]).assert_ok();
    let [a, b] = [(); 2].map(|()| Server::start(&project, &["--store", &store]));
    let session = a.ok("POST", "/api/agent/sessions", &json!({}));
    let path = |what: &str| format!("/api/agent/sessions/{}/canvas{what}", session["session_id"].as_str().unwrap());
    let refused = |server: &Server, what: &str, body: &serde_json::Value| {
        let (status, reply) = server.send("POST", &path(what), body);
        assert!(status >= 400, "{what}: {reply}");
        reply["error"]["code"].as_str().unwrap().to_owned()
    };
    a.ok("POST", &path("/open"), &json!({ "file_path": "notes.md" }));
    let seen = b.ok("GET", &path(""), &json!(null));
    assert_eq!(seen["file_path"], "notes.md", "{seen}");

    let lease = b.ok("POST", &path("/check_out"), &json!({}));
    assert_eq!(refused(&a, "/check_out", &json!({})), "LOCK_NOT_AVAILABLE");
    assert_eq!(a.ok("GET", &path(""), &json!(null))["held"], true);
    let edit = |lease: &serde_json::Value, base: &serde_json::Value, text: &str| {
        let edits = json!([{ "operation": "replace", "start_line": 1, "end_line": 1, "new_text": text }]);
        json!({ "lease_id": lease["lease_id"], "base_revision_id": base, "edits": edits })
    };
    // Either server knows the lease.
    let edited = a.ok("POST", &path("/edit_lines"), &edit(&lease, &lease["revision_id"], "first"));
    // A keystroke at one server preempts the lease that the other gave.
    let all = b.ok("POST", &path("/read_all"), &json!({ "lease_id": lease["lease_id"] }));
    assert_eq!(all["revision_id"], edited["revision_id"], "{all}");
    a.ok("POST", &path("/user_edit"), &json!({ "content": "mine\n" }));
    assert_eq!(refused(&b, "/edit_lines", &edit(&lease, &edited["revision_id"], "late")), "STALE_EPOCH");
    assert_eq!(project.read("notes.md"), "mine\n");
    // So does the control in the editor, also after another check-out.
    let lease = a.ok("POST", &path("/check_out"), &json!({}));
    b.ok("POST", &path("/take_back"), &json!({}));
    assert_eq!(refused(&a, "/edit_lines", &edit(&lease, &lease["revision_id"], "late")), "STALE_EPOCH");
    let lease = a.ok("POST", &path("/check_out"), &json!({}));
    b.ok("POST", &path("/check_in"), &json!({ "lease_id": lease["lease_id"] }));
    b.ok("POST", &path("/check_out"), &json!({}));
    assert_eq!(project.read("notes.md"), "mine\n");
}

#[cfg(unix)]
#[test]
fn a_user_who_types_between_two_jobs_of_two_servers_is_heard_by_the_model_once() {
    let Some(database) = emend_postgres::harness::TestServer::shared() else { return };
    println!("covers: canvas.hidden_updates");
    let (project, store) = (project(), database.database());
    project.run(&["db", "migrate", "--store", &store]).assert_ok();
    let [a, b] = [(); 2].map(|()| Server::start(&project, &["--store", &store]));
    let (session, _) = a.run_in(&json!({ "canvas": { "tools": true, "enforce_lease": true } }), "hello");
    let path = |what: &str| format!("/api/agent/sessions/{session}{what}");
    a.ok("POST", &path("/canvas/open"), &json!({ "file_path": "notes.md" }));
    let talk = || {
        let job = b.ok("POST", "/api/agent/run", &json!({ "session_id": session, "instruction": "hello" }));
        b.wait(job["job_id"].as_str().unwrap());
    };
    talk();
    for (text, n_told) in [(Some("The colour of the lake.\n"), 1), (None, 1), (Some("Third line.\n"), 2)] {
        if let Some(text) = text {
            a.ok("POST", &path("/canvas/user_edit"), &json!({ "content": text }));
        }
        talk();
        let shown = a.ok("GET", &path("?hidden=true"), &json!(null));
        let hidden = shown["chat"].as_array().unwrap().iter().filter(|entry| entry["role"] == "hidden");
        let told: Vec<&str> = hidden.filter_map(|entry| entry["text"].as_str()).collect();
        assert_eq!(told.len(), n_told, "{shown}");
        assert!(text.is_none_or(|text| told[n_told - 1].contains(&format!("+{text}"))), "{told:?}");
    }
}

#[test]
fn an_attached_terminal_opens_a_file_in_the_canvas_and_takes_the_tools_away() {
    println!("covers: canvas.flag");
    let project = project();
    let server = Server::start(&project, &[]);
    let mut terminal = Terminal::attach(&project, &server, &["--new"]);
    terminal.expect("/help lists the commands");
    let session = server.ok("GET", "/api/agent/sessions?limit=1", &json!(null))["sessions"][0]["session_id"].clone();
    let path = |what: &str| format!("/api/agent/sessions/{}{what}", session.as_str().unwrap());
    let flags = || server.ok("GET", &path(""), &json!(null))["canvas"].clone();
    let file = || server.ok("GET", &path("/canvas"), &json!(null))["file_path"].clone();

    terminal.type_line("/canvas");
    terminal.expect("no file is open in the canvas");
    terminal.expect("the agent has no canvas tools");
    // A file that is not there changes nothing.
    terminal.type_line("/canvas missing.md");
    terminal.type_line("/canvas");
    terminal.expect("no file is open in the canvas");
    assert_eq!(flags(), json!({ "tools": false, "enforce_lease": false }));

    terminal.type_line("/canvas notes.md");
    terminal.expect("notes.md is open in the canvas; the agent has the canvas tools");
    assert_eq!((flags(), file()), (json!({ "tools": true, "enforce_lease": true }), json!("notes.md")));
    // The edit of the open file takes its lease, and works as before.
    terminal.type_line(RENAME);
    terminal.expect("changes wait for review in notes.md");
    terminal.type_line("/canvas other.md");
    terminal.expect("other.md is open in the canvas");
    terminal.type_line("/canvas off");
    terminal.expect("the agent has no canvas tools");
    assert_eq!((flags(), file()), (json!({ "tools": false, "enforce_lease": false }), json!(null)));

    // A file that another client has opened stays open.
    server.ok("POST", &path("/canvas/open"), &json!({ "file_path": "notes.md" }));
    terminal.type_line("/canvas off");
    terminal.expect("notes.md stays open, which another client shows");
    assert_eq!(file(), "notes.md");
    terminal.leave();
}

#[cfg(unix)]
#[test]
fn a_draft_of_one_server_is_promoted_at_another_unless_it_has_changed_there() {
    let Some(database) = emend_postgres::harness::TestServer::shared() else { return };
    println!("covers: canvas.storage canvas.exclusive canvas.preempt");
    let (project, store) = (project(), database.database());
    project.run(&["db", "migrate", "--store", &store]).assert_ok();
    let [a, b] = [(); 2].map(|()| Server::start(&project, &["--store", &store]));
    let (session, _) = a.run_in(&json!({}), "hello");
    let path = |what: &str| format!("/api/agent/sessions/{session}/canvas{what}");
    a.ok("POST", &path("/open"), &json!({ "file_path": "notes.md" }));
    let saved = project.read("notes.md");
    let typed = |server: &Server, content: &str| {
        server.ok("POST", &path("/user_edit"), &json!({ "content": content, "save": false }))
    };
    let refused = |server: &Server, way: &str, body: &serde_json::Value, code: &str| {
        let before = project.read("notes.md");
        let (status, reply) = server.send("POST", way, body);
        assert_eq!((status, &reply["error"]["code"]), (409, &json!(code)), "{reply}");
        assert_eq!(project.read("notes.md"), before);
    };
    let first = typed(&a, "first\n");
    assert_eq!((&first["unsaved"], first["artefact_hash"] == first["draft_hash"]), (&json!(true), false), "{first}");
    assert_eq!(project.read("notes.md"), saved);
    // The other server has the same draft, and a newer one makes that of the first server stale.
    let seen = b.ok("GET", &path(""), &json!(null));
    for field in ["draft_hash", "artefact_hash", "unsaved"] {
        assert_eq!(seen[field], first[field], "{field}");
    }
    let second = typed(&b, "second\n");
    let of = |canvas: &serde_json::Value| json!({ "draft_hash": canvas["draft_hash"] });
    refused(&a, &path("/promote"), &of(&first), "stale");
    // A lease of one server keeps the others from promoting without a message.
    let lease = b.ok("POST", &path("/check_out"), &json!({}));
    refused(&a, &path("/promote"), &of(&second), "LOCK_NOT_AVAILABLE");
    let message = |canvas: &serde_json::Value| json!({ "session_id": session, "instruction": "hello", "draft_hash": canvas["draft_hash"] });
    refused(&a, "/api/agent/run", &message(&first), "stale");
    b.ok("POST", &path("/renew_lease"), &json!({ "lease_id": lease["lease_id"] }));
    let job = a.ok("POST", "/api/agent/run", &message(&second));
    assert_eq!(project.read("notes.md"), "second\n");
    refused(&b, &path("/renew_lease"), &json!({ "lease_id": lease["lease_id"] }), "STALE_EPOCH");
    a.wait(job["job_id"].as_str().unwrap());
    let third = typed(&a, "third\n");
    let promoted = b.ok("POST", &path("/promote"), &of(&third));
    assert_eq!((&promoted["artefact_hash"], &promoted["unsaved"]), (&third["draft_hash"], &json!(false)));
    assert_eq!(project.read("notes.md"), "third\n");
    assert_eq!(a.ok("GET", &path(""), &json!(null))["artefact_hash"], third["draft_hash"]);
}
