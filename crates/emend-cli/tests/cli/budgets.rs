//! The budget of a conversation over all its runs: its options, its commands, and what stays of it.

use crate::serve::Server;
use crate::served::Terminal as Attached;
use crate::support::Project;
use crate::terminal::Terminal;

fn project() -> Project {
    Project::new(&[("notes.md", b"# alpha\n")])
}

const CTRL_D: &str = "\u{4}";

#[test]
fn the_budget_of_a_conversation_holds_over_its_runs() {
    let project = project();
    let run = |args: &[&str], task: &str| project.run(&[&["run", "--model", "offline", task], args].concat());
    // The first response uses it up, after which the run makes no other.
    let first = run(&["--session-max-tokens", "10"], "rename alpha to omega");
    assert_eq!(first.status, 5, "{}", first.stderr);
    assert!(first.stderr.contains("the budget of the conversation is used up (used: "), "{}", first.stderr);
    assert_eq!(project.read("notes.md"), "# alpha\n");
    // Neither a continuation nor its own limit of a run makes room.
    for args in [&["--continue"][..], &["--continue", "--max-tokens", "1M"]] {
        let refused = run(args, "rename alpha to omega");
        assert_eq!((refused.status, refused.stdout.as_str()), (5, ""), "{}", refused.stderr);
        assert!(refused.stderr.contains(" of 10 tokens"), "{}", refused.stderr);
        assert!(refused.stderr.contains("try: --session-max-tokens N"), "{}", refused.stderr);
    }
    // Another conversation has its own.
    run(&[], "rename alpha to beta").assert_ok();
    let id = project.run(&["sessions", "--json"]).assert_ok().stdout.clone();
    let ids: Vec<serde_json::Value> = id.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = ids.iter().find(|session| session["title"] == "rename alpha to omega").unwrap();
    let first = first["id"].as_str().unwrap();
    // A higher limit continues.
    run(&["--resume", first, "--session-max-tokens", "1M"], "rename beta to omega").assert_ok();
    assert_eq!(project.read("notes.md"), "# omega\n");
    // A project's file lowers it.
    std::fs::write(project.path(".emend.toml"), "session_max_time = \"1s\"\n").unwrap();
    let shown = project.run(&["config", "--session-max-time", "1h"]).assert_ok().stdout.clone();
    assert!(shown.lines().any(|line| line.starts_with("session_max_time") && line.contains(" 3600s ")), "{shown}");
    let shown = project.run(&["config"]).assert_ok().stdout.clone();
    assert!(shown.lines().any(|line| line.starts_with("session_max_time") && line.contains(" 1s ")), "{shown}");
}

#[test]
fn a_conversation_shows_and_changes_its_budget() {
    let project = project();
    let mut terminal = Terminal::open(&project, &["--max-time", "5m"], (100, 100), &[]);
    terminal.wait_for_prompt(1).enter("/status").wait_for("conversation: 0 tokens, $0.0000, 0.0 s");
    terminal.wait_for("each message: 0 tokens, $0.0000, 0.0 s of 300.0 s").wait_for_prompt(2);
    terminal.enter("/budget tokens 10").wait_for("conversation: 0 of 10 tokens").wait_for_prompt(3);
    terminal.enter("rename alpha to omega").wait_for("the budget of the conversation is used up");
    // There is nothing to continue.
    terminal.wait_for_prompt(4);
    assert!(!terminal.raw.contains("Continue?"), "{}", terminal.raw);
    assert_eq!(project.read("notes.md"), "# alpha\n");
    // The message returns to the prompt.
    terminal.enter("rename alpha to sigma").wait_for("error [limit_reached]");
    terminal.wait_until("the message at the prompt", |screen| {
        screen.trim_end().lines().last().is_some_and(|line| line.trim_end() == "› rename alpha to sigma")
    });
    terminal.press("\u{15}").enter("/budget money").wait_for("expected tokens N").wait_for_prompt(6);
    terminal.enter("/budget none").wait_for_prompt(7).enter("rename alpha to omega").wait_for_prompt(8);
    assert_eq!(project.read("notes.md"), "# omega\n");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_conversation_that_is_served_keeps_its_budget_and_its_use() {
    let project = project();
    let mut terminal = Terminal::open(&project, &["--session-max-tokens", "1M"], (100, 100), &[]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for_prompt(2).enter("/serve");
    terminal.wait_for("/help lists the commands").type_line("/status").wait_for(" of 1000000 tokens");
    let line = |screen: &str, begin: &str| screen.lines().rev().find(|line| line.starts_with(begin)).map(str::to_owned);
    let before = line(&terminal.shown(), "session: ").unwrap();
    assert!(!before.starts_with("session: 0 of"), "{before}");
    terminal
        .type_line("/budget tokens 5")
        .wait_for(" of 5 tokens")
        .type_line("/quit")
        .wait_for("the server has stopped");
    assert_eq!(terminal.end(), 0);
    let refused = project.run(&["run", "--model", "offline", "--continue", "rename omega to sigma"]);
    assert_eq!(refused.status, 5, "{}", refused.stderr);
    assert!(refused.stderr.contains(" of 5 tokens"), "{}", refused.stderr);
    // A server counts on.
    let server = Server::start(&project, &[]);
    let mut other = Attached::attach(&project, &server, &[]);
    other.type_line("/budget");
    other.expect(" of 5 tokens");
    other.leave();
}

#[test]
fn the_limits_of_a_conversation_hold_for_new_sessions_of_clients() {
    let project = project();
    let server = Server::start(&project, &["--session-max-tokens", "1000", "--session-max-cost", "5"]);
    let asked = |budget: serde_json::Value| {
        let session = server.ok("POST", "/api/agent/sessions", &serde_json::json!({ "budget": budget }));
        (session["session_id"].as_str().unwrap().to_owned(), session["budget"].clone())
    };
    let limits =
        |tokens: u64, cost_usd: f64| serde_json::json!({ "tokens": tokens, "cost_usd": cost_usd, "duration_ms": 0 });
    let (id, budget) = asked(serde_json::json!({}));
    assert_eq!(budget, limits(1000, 5.0));
    assert_eq!(asked(serde_json::json!({ "tokens": 10, "cost_usd": 9.0 })).1, limits(10, 5.0));
    // A change that a client asks for holds, as `/budget` in a conversation.
    let more = serde_json::json!({ "budget": { "tokens": 2000 } });
    let changed = server.ok("PATCH", &format!("/api/agent/sessions/{id}"), &more);
    assert_eq!(changed["budget"], limits(2000, 0.0));
    drop(server);
    let server = Server::start(&project, &["--session-max-tokens", "10"]);
    let (_, state) = server.run("rename alpha to omega");
    assert_eq!((&state["status"], &state["error"]["code"]), (&"failed".into(), &"limit_reached".into()), "{state}");
}
