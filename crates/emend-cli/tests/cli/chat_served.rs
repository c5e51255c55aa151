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
