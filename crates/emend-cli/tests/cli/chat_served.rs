//! A conversation on an emulated terminal that other terminals join.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

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
    terminal.enter("rename sigma to tau");
    expect("> rename sigma to tau");
    expect("[completed]");
    drop(other.stdin.take());
    expect("detached");
    assert!(other.wait().unwrap().success());
    terminal.wait_for("> rename sigma to tau").enter("/quit");
    terminal.wait_for("the server has stopped");
    assert_eq!(terminal.end(), 0);
    // The saved conversation has all messages, and undo sees all runs.
    let sessions = project.run(&["sessions"]).assert_ok().stdout.clone();
    assert!(sessions.contains("rename alpha to omega"), "{sessions}");
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.read("src/lib.rs"), "pub fn sigma() {}\n");
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
    terminal.enter("/quit").wait_for("the server has stopped");
    assert_eq!(terminal.end(), 0);
}
