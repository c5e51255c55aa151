//! A conversation on an emulated terminal that other terminals join.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::questions::asking;
use crate::serve::Server;
use crate::served::{Api, Terminal as Attached};
use crate::support::Project;
use crate::terminal::Terminal;

#[test]
fn another_terminal_joins_a_conversation_that_is_served() {
    let project = Project::new(&[("notes.md", b"# alpha\n"), ("src/lib.rs", b"pub fn alpha() {}\n")]);
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for_prompt(2).enter("/serve");
    terminal.wait_for("/help lists the commands");
    let raw = terminal.raw.clone();
    let url = raw.split("emend attach '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap().to_owned();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let mut other = project.command(&["attach", &url]);
    let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut expect = |text: &str| assert!(lines.any(|line| line.contains(text)), "{text}");
    // The conversation so far, from before the server.
    expect("> rename alpha to omega");
    writeln!(other.stdin.as_mut().unwrap(), "rename omega to sigma").unwrap();
    expect("[completed]");
    terminal.wait_for("> rename omega to sigma").wait_for("[completed]");
    assert_eq!(project.read("src/lib.rs"), "pub fn sigma() {}\n");
    terminal.type_line("rename sigma to tau");
    expect("> rename sigma to tau");
    expect("[completed]");
    drop(other.stdin.take());
    expect("detached");
    assert!(other.wait().unwrap().success());
    terminal.wait_for("> rename sigma to tau").type_line("/quit");
    terminal.wait_for("the server has stopped");
    assert_eq!(terminal.end(), 0);
    // The saved conversation has all messages, and undo sees all runs.
    let sessions = project.run(&["sessions"]).assert_ok().stdout.clone();
    assert!(sessions.contains("rename alpha to omega"), "{sessions}");
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.read("src/lib.rs"), "pub fn sigma() {}\n");
}

/// Serves the conversation of a terminal, and returns the address with the token.
fn serve(terminal: &mut Terminal) -> String {
    terminal.enter("/serve").wait_for("/help lists the commands");
    let raw = terminal.raw.clone();
    raw.split("emend attach '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap().to_owned()
}

#[test]
fn what_others_decide_is_shown_in_the_terminal_that_serves() {
    let project = Project::new(&[("notes.md", b"# alpha\n")]);
    let mut terminal = Terminal::open(&project, &["--review"], (100, 120), &[]);
    terminal.wait_for_prompt(1);
    let url = serve(&mut terminal);
    let mut other = Attached::attach_at(&project, &url, &[]);
    other.type_line("rename alpha to omega");
    other.expect("/review shows them");
    terminal.wait_for("changes wait for review in notes.md").type_line("/review").wait_for("+# omega");
    other.type_line("/review");
    other.type_line("/accept");
    other.expect("accepted 1 change");
    terminal.wait_for("(elsewhere, changes were accepted or rejected").wait_for("[completed]");
    // The changes that this terminal has shown are decided, so it decides on none by accident.
    terminal.type_line("/accept").wait_for("/review shows the changes first");
    assert_eq!(project.read("notes.md"), "# omega\n");
    other.type_line("/mode ask");
    other.expect("ask mode, from the next job on");
    terminal.wait_for("(the session is in ask mode now)");
    terminal.type_line("rename omega to sigma").wait_for("[a]lways");
    other.expect("[a]lways");
    // A program decides over HTTP.
    let api = Api::of(&url);
    let sessions = api.ok("GET", "/api/agent/sessions", &Value::Null);
    let session = sessions["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    let job = api.ok("GET", &format!("/api/agent/sessions/{session}"), &Value::Null)["job"].clone();
    let decide = |reason: &str, decision: &str| {
        let call = api.ok("GET", &format!("/api/agent/sessions/{session}"), &Value::Null);
        let call = call["job"]["approvals"][0]["tool_call_id"].clone();
        let body = json!({ "tool_call_id": call, "decision": decision, "reason": reason });
        api.ok("POST", &format!("/api/agent/jobs/{}/approve", job["job_id"].as_str().unwrap()), &body);
    };
    decide("not yet", "deny");
    terminal.wait_for("  refused: not yet");
    other.expect("  refused: not yet");
    other.expect("[a]lways");
    decide("", "allow");
    terminal.wait_for("  allowed");
    other.expect("  allowed");
    other.expect("[completed]");
    assert_eq!(project.read("notes.md"), "# sigma\n");
    other.leave();
    terminal.type_line("/quit").wait_for("the server has stopped");
    assert_eq!(terminal.end(), 0);
    // The terminal's own decisions are not said to be of others.
    assert!(!terminal.raw.contains("elsewhere, an edit"), "{}", terminal.raw);
}

#[test]
fn a_question_that_another_terminal_answers_is_closed_everywhere() {
    let project = Project::new(&[("notes.md", b"# alpha\n")]);
    let question = json!({"question": "Which one?", "options": ["left", "right"]});
    let (model, _requested) = asking(&question, "\"right\"");
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", model.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "openai_compatible:m"], (100, 120), &variables);
    terminal.wait_for_prompt(1);
    let url = serve(&mut terminal);
    terminal.type_line("go").wait_for("  2. right");
    // The question is state: a terminal that comes later sees it.
    let mut other = Attached::attach_at(&project, &url, &[]);
    other.expect("  2. right");
    other.type_line("9");
    other.expect("There is no option 9.");
    other.type_line("2");
    other.expect("  answered: right");
    other.expect("Thanks.");
    terminal.wait_for("  answered: right").wait_for("Thanks.").wait_for("[completed]");
    other.leave();
    terminal.type_line("/quit").wait_for("the server has stopped");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn the_page_is_served_from_the_directory_of_the_setting() {
    let file = ("settings/emend/config.toml", &b"web_app = \"app\"\n"[..]);
    let page = ("settings/emend/app/index.html", &b"<!doctype html>The page.\n"[..]);
    let project = Project::new(&[("notes.md", b"# alpha\n"), file, page]);
    let directory = project.path("settings/emend/app");
    let get = |url: &str| {
        let (address, _) = url.trim_start_matches("http://").split_once('/').unwrap();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    let settings = project.path("settings");
    let option = [("--web-app", directory.to_str().unwrap())];
    for (args, variables, has_page) in [
        (&[][..], vec![], false),
        (&option.map(|(name, value)| [name, value]).concat()[..], vec![], true),
        (&[][..], vec![("EMEND_WEB_APP", directory.to_str().unwrap())], true),
        // The path in a file is relative to it.
        (&[][..], vec![("XDG_CONFIG_HOME", settings.to_str().unwrap())], true),
    ] {
        let mut terminal = Terminal::open(&project, args, (100, 160), &variables);
        terminal.wait_for_prompt(1);
        let url = serve(&mut terminal);
        let printed = format!("in a browser: {url}");
        assert_eq!(terminal.raw.contains(&printed), has_page, "{}", terminal.raw);
        assert_eq!(terminal.raw.contains("no web app was found; --web-app DIR"), !has_page, "{}", terminal.raw);
        assert_eq!(get(&url).contains("The page."), has_page, "{}", get(&url));
        terminal.type_line("/quit").wait_for("the server has stopped");
        assert_eq!(terminal.end(), 0);
    }
    // A directory without a page is refused, and the conversation goes on.
    let mut terminal = Terminal::open(&project, &["--web-app", "settings"], (100, 160), &[]);
    terminal.wait_for_prompt(1).enter("/serve").wait_for("--web-app: web_app: settings has no index.html");
    terminal.wait_for_prompt(2).press("\u{4}");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_conversation_is_served_only_if_the_limit_of_sessions_allows_it() {
    let project = Project::new(&[("notes.md", b"# alpha\n")]);
    let server = Server::start(&project, &[]);
    let other = server.ok("POST", "/api/agent/sessions", &json!({ "title": "the other one" }));
    let other = other["session_id"].as_str().unwrap();
    drop(server);
    let variables = [("EMEND_MAX_SESSIONS", "1")];
    let mut terminal = Terminal::open(&project, &[], (100, 120), &variables);
    terminal.wait_for_prompt(1).enter("/serve").wait_for("the limit of active sessions of this project's server is 1");
    terminal.wait_for(&format!("try: /serve archive {other}")).wait_for_prompt(2);
    // The conversation is still open.
    terminal.enter("rename alpha to omega").wait_for_prompt(3);
    assert_eq!(project.read("notes.md"), "# omega\n");
    terminal.enter(&format!("/serve archive {other}")).wait_for(&format!("archived {other}")).wait_for_prompt(4);
    terminal.enter("/serve").wait_for("/help lists the commands").type_line("/sessions all");
    terminal.wait_for("the other one").wait_for("archived").type_line("/quit").wait_for("the server has stopped");
    assert_eq!(terminal.end(), 0);
}

/// A conversation on another address of this computer, as `/serve lan` chooses one: 127.0.0.2 is reached as a phone
/// reaches the computer, by an address that is not the usual one.
#[cfg(target_os = "linux")]
#[test]
fn a_conversation_is_served_on_the_address_that_the_user_names() {
    let project = Project::new(&[("notes.md", b"# alpha\n")]);
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("/serve 127.0.0.2").wait_for("/help lists the commands");
    let raw = terminal.raw.clone();
    let url = raw.split("emend attach '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap().to_owned();
    assert!(url.starts_with("http://127.0.0.2:"), "{url}");
    let mut other = project.command(&["attach", &url]);
    let mut other = other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(other.stdin.as_mut().unwrap(), "rename alpha to omega").unwrap();
    terminal.wait_for("[completed]");
    assert_eq!(project.read("notes.md"), "# omega\n");
    // The usual address does not answer: only the named one is bound.
    let port: u16 = url.trim_start_matches("http://127.0.0.2:").split('/').next().unwrap().parse().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    terminal.type_line("/quit").wait_for("the server has stopped");
    assert_eq!(terminal.end(), 0);
}
