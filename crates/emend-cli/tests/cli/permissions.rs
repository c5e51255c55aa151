//! Permissions for the rest of a session: lists and withdrawals, in a conversation and in sessions of a server.

use serde_json::{Value, json};

use crate::serve::Server;
use crate::support::{Outcome, Project};
use crate::terminal::Terminal;

#[test]
fn a_permission_of_a_conversation_is_listed_and_asked_about_again_once_it_is_withdrawn() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("/permissions").wait_for("Nothing is always allowed").wait_for_prompt(2);
    terminal.enter("run touch x").wait_for("    touch x").enter("a").wait_for_prompt(3);
    terminal.enter("/permissions").wait_for("  1. shell: touch x").wait_for_prompt(4);
    terminal.enter("/permissions remove 2").wait_for("no permission has the number 2").wait_for_prompt(5);
    terminal.enter("/permissions drop").wait_for("expected `/permissions").wait_for_prompt(6);
    terminal.enter("run touch x").wait_for_prompt(7);
    terminal.enter("/permissions remove 1").wait_for("Withdrawn: shell: touch x.").wait_for_prompt(8);
    std::fs::remove_file(project.path("x")).unwrap();
    let asked = |screen: &str| screen.matches("reason to refuse:").count() == 2;
    terminal.enter("run touch x").wait_until("a second question", asked).enter("n").wait_for_prompt(9);
    assert!(!project.path("x").exists(), "the command was refused");
}

#[test]
fn permissions_of_a_server_are_listed_and_withdrawn_while_it_runs_and_afterwards() {
    let project = Project::new(&[("notes.md", b"one\n")]);
    let mut server = Server::start(&project, &[]);
    let session = server.ok("POST", "/api/agent/sessions", &json!({ "mode": "direct" }));
    let session = session["session_id"].as_str().unwrap();
    let allow = |server: &Server, instruction: &str| {
        let body = json!({ "session_id": session, "instruction": instruction });
        let job = server.ok("POST", "/api/agent/run", &body)["job_id"].as_str().unwrap().to_owned();
        let state = server.wait(&job);
        if let Some(call) = state["approvals"][0]["tool_call_id"].as_str() {
            let body = json!({ "tool_call_id": call, "decision": "allow_always" });
            server.ok("POST", &format!("/api/agent/jobs/{job}/approve"), &body);
            server.wait(&job);
        }
        state["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(allow(&server, "run touch one"), "waiting_for_user");
    assert_eq!(allow(&server, "run touch two"), "waiting_for_user");
    assert_eq!(allow(&server, "run touch one"), "completed");
    let url = server.url();
    let of_server = |options: &[&str]| {
        project.run(&[&["sessions", "permissions", session, "--server", &url, "--json"], options].concat())
    };
    let permissions = |outcome: &Outcome| -> Vec<(String, String)> {
        let list: Value = serde_json::from_str(&outcome.assert_ok().stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = list["permissions"].as_array().unwrap().iter();
        list.map(|found| (text(&found["permission_id"]), text(&found["command"]))).collect()
    };
    let list = permissions(&of_server(&[]));
    assert_eq!(list.iter().map(|(_, command)| command.as_str()).collect::<Vec<_>>(), ["touch one", "touch two"]);
    assert_eq!(permissions(&of_server(&["--remove", &list[0].0])), list[1..]);
    let unknown = of_server(&["--remove", &list[0].0]);
    assert!(unknown.status != 0 && unknown.stderr.contains("not_found"), "{}", unknown.stderr);
    assert_eq!(allow(&server, "run touch one"), "waiting_for_user", "it is asked about again");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    // The same list without a server.
    let here = |options: &[&str]| project.run(&[&["sessions", "permissions", session], options].concat());
    let shown = here(&[]).assert_ok().stdout.clone();
    assert!(shown.contains("shell: touch two\n") && shown.contains("shell: touch one\n"), "{shown}");
    here(&["--remove", &list[1].0]).assert_ok();
    let again = here(&["--remove", &list[1].0]);
    assert!(again.stderr.contains("the session has no permission perm_"), "{}", again.stderr);
    let unknown = project.run(&["sessions", "permissions", "no-such-session"]);
    assert!(unknown.stderr.contains("no server of this project has a session"), "{}", unknown.stderr);
    let server = Server::start(&project, &[]);
    assert_eq!(allow(&server, "run touch two"), "waiting_for_user");
    assert_eq!(allow(&server, "run touch one"), "completed");
}
