//! Commands of a conversation and answers to its questions, when they are not what is expected.

use std::fs;

use crate::review::answer;
use crate::support::Project;
use crate::terminal::Terminal;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

fn project() -> Project {
    Project::new(&[("a.txt", b"alpha\n"), ("b.txt", b"beta\n")])
}

#[test]
fn a_command_refuses_an_argument_that_it_does_not_know() {
    let project = project();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for_prompt(2);
    let commands = [
        "/undo foo",
        "/undo 1",
        "/redo 1",
        "/diff a.txt",
        "/rewind 1",
        "/review 1",
        "/compact all",
        "/clear it",
        "/help undo",
        "/exit 1",
        "/quit now",
    ];
    for (index, command) in commands.iter().enumerate() {
        terminal.enter(command).wait_for_prompt(3 + index);
        let name = command.split(' ').next().unwrap();
        assert!(terminal.shown().contains(&format!("{name} takes no argument")), "{}", terminal.shown());
    }
    assert_eq!(project.read("a.txt"), "omega\n");
    let n = 3 + commands.len();
    terminal.enter("/model nonsense:x").wait_for_prompt(n).enter("/effort foo").wait_for_prompt(n + 1);
    terminal.enter("/resume foo").wait_for_prompt(n + 2).enter("/serve 1").wait_for_prompt(n + 3).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert!(terminal.shown().contains("expected `lan`, an IP address"), "{}", terminal.shown());
    assert_eq!(terminal.shown().matches("error [").count(), commands.len() + 4, "{}", terminal.shown());
}

#[test]
fn a_command_is_no_answer_to_an_approval_question() {
    let project = project();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("run touch x").wait_for("reason to refuse:");
    terminal.enter("/diff").wait_for("(/diff is not an answer.").enter("/undo").wait_for("(/undo is not an answer.");
    assert!(!project.path("x").exists());
    terminal.wait_for("reason to refuse:").enter("/allow").wait_for_prompt(2);
    assert!(project.path("x").exists());
    terminal.enter("run touch y").wait_for("    touch y").enter("/deny not now").wait_for_prompt(3);
    assert!(!project.path("y").exists() && terminal.shown().contains("Reason: not now"), "{}", terminal.shown());
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn undo_in_a_conversation_asks_before_it_undoes_a_run_of_another() {
    let project = project();
    project.run(&["run", "rename beta to gamma"]).assert_ok();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("/undo").wait_for("not of this conversation: run 1 (rename beta to gamma)");
    terminal.wait_for("Undo it? [y]es, [n]o:").enter("n").wait_for("Nothing was undone.").wait_for_prompt(2);
    assert_eq!(project.read("b.txt"), "gamma\n");
    terminal.enter("rename alpha to omega").wait_for_prompt(3).enter("/undo").wait_for_prompt(4);
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("alpha\n".to_owned(), "gamma\n".to_owned()));
    terminal.enter("/undo").wait_until("the question", |screen| screen.matches("Undo it?").count() == 2);
    terminal.enter("y").wait_for_prompt(5);
    assert_eq!(project.read("b.txt"), "beta\n");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn changes_that_are_not_text_are_shown_when_they_happen_and_by_diff() {
    let project = Project::new(&[("b.bin", b"a\0b")]);
    let mut terminal = Terminal::start(&project, &["--allow", "shell"]);
    terminal.wait_for_prompt(1).enter("run rm b.bin; ln -s b.bin link").wait_for_prompt(2);
    let lines = ["b.bin: binary file of 3 bytes → nothing", "link: nothing → link to b.bin"];
    assert!(lines.iter().all(|line| terminal.shown().contains(line)), "{}", terminal.shown());
    terminal.enter("/diff").wait_for_prompt(3);
    assert!(lines.iter().all(|line| terminal.shown().matches(line).count() == 2), "{}", terminal.shown());
    terminal.enter("/rewind").wait_for("to go back to").enter("1").wait_for("b.bin: nothing → binary file of 3 bytes");
    terminal.wait_for("Enter to cancel): ").enter("f").wait_for_prompt(4).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert!(project.path("b.bin").exists() && fs::symlink_metadata(project.path("link")).is_err());
}

#[test]
fn ctrl_c_during_a_review_says_what_was_decided() {
    let project = Project::new(&[("a.txt", b"alpha\n1\n2\n3\n4\n5\n6\n7\n8\n9\nalpha\n")]);
    answer(&project, &["run", "rename alpha to omega", "--review"], "").assert_ok();
    let mut terminal = Terminal::start(&project, &["review"]);
    terminal.wait_for("Accept this hunk").enter("y").wait_for("hunk 2 of 2");
    terminal.wait_until("the question", |screen| screen.matches("Accept this hunk").count() == 2).press(CTRL_C);
    assert_eq!(terminal.end(), 130);
    let shown = terminal.shown().replace('\n', " ");
    let left = "1 hunk written, 0 rejected 1 hunk left to review, not yet written; to continue: emend review";
    assert!(shown.contains(left), "{}", terminal.shown());
}

#[test]
fn help_of_a_review_and_the_lines_of_an_undo_break_between_words() {
    let project = project();
    let long = "x".repeat(30);
    project.run(&["run", &format!("run echo {long} {long} {long} > a.txt"), "--allow", "shell"]).assert_ok();
    let mut terminal = Terminal::start(&project, &["undo"]);
    assert_eq!(terminal.end(), 0);
    let shown = terminal.shown();
    assert_eq!(shown.matches(&long).count(), 3, "the command is named once: {shown}");
    answer(&project, &["run", "rename alpha to omega", "--review"], "").assert_ok();
    let mut terminal = Terminal::start(&project, &["review"]);
    terminal
        .wait_for("Accept this hunk")
        .enter("?")
        .wait_until("the question again", |screen| screen.matches("Accept this hunk").count() == 2);
    for word in ["(decide", "hunk", "follow", "later)"] {
        let is_whole = |line: &str| line.split(' ').any(|found| found == word);
        assert!(terminal.shown().lines().any(is_whole), "{word}: {}", terminal.shown());
    }
    assert!(terminal.shown().lines().all(|line| line.chars().count() < 80), "{}", terminal.shown());
}
