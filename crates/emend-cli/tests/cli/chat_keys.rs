//! Keys at the prompt of a conversation, and the output of a command that is longer than the screen.

use serde_json::{Value, json};

use crate::support::{Project, gated};
use crate::terminal::Terminal;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const CTRL_R: &str = "\u{12}";

/// Returns the messages of the user in the session that was used last.
#[track_caller]
fn messages(project: &Project) -> Vec<String> {
    let listed = project.run(&["sessions", "list", "--json"]);
    let summary: Value = serde_json::from_str(listed.assert_ok().stdout.lines().next().unwrap()).unwrap();
    let shown = project.run(&["sessions", "show", summary["id"].as_str().unwrap(), "--json"]);
    let session: Value = serde_json::from_str(&shown.assert_ok().stdout).unwrap();
    let turns = session["turns"].as_array().unwrap().iter().filter(|turn| turn["kind"] == "user");
    turns.map(|turn| turn["message"]["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn pasted_lines_are_one_message() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let mut terminal = Terminal::start(&project, &[]);
    let lines: Vec<String> = (1..=200).map(|number| format!("line {number}")).collect();
    let pasted = lines.join("\r");
    terminal.wait_for_prompt(1).press(&format!("\u{1b}[200~{pasted}\u{1b}[201~")).wait_for("line 200").press("\r");
    terminal.wait_for_end().wait_until("a prompt", |screen| screen.trim_end().ends_with("\n›")).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert_eq!(messages(&project), [lines.join("\n")]);
}

#[test]
fn a_former_message_is_found_in_the_history() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for_prompt(2).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("rename omega to alpha").wait_for_prompt(2);
    terminal.press(CTRL_R).wait_for("search").press("to om").wait_for("rename alpha to omega").press("\r");
    terminal.wait_for_prompt(3).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert_eq!(project.read("a.txt"), "omega\n");
    assert_eq!(messages(&project), ["rename omega to alpha", "rename alpha to omega"]);
}

#[test]
fn a_conversation_shows_the_last_lines_of_an_output_and_counts_the_others() {
    let project = Project::new(&[]);
    let mut terminal = Terminal::start(&project, &["--allow", "shell"]);
    terminal.wait_for_prompt(1).enter("run seq 101 130").wait_for_prompt(2);
    let shown = terminal.shown();
    assert!(shown.contains("… 22 earlier lines not shown\n"), "{shown}");
    assert!(shown.contains("130") && !shown.contains("122\n") && !shown.contains("101\n"), "{shown}");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    // A program that reads the progress gets all of it.
    let outcome = project.run(&["run", "run seq 101 130", "--allow", "shell"]);
    let lines: String = (101..=130).map(|number| format!("  | {number}\n")).collect();
    assert!(outcome.assert_ok().stderr.contains(&lines), "{}", outcome.stderr);
}

#[test]
fn a_lone_esc_takes_no_later_key_with_it() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).press("rename ").wait_for("rename ").press("\u{1b}");
    // Much longer than the time between the characters of one key, also on a busy machine.
    std::thread::sleep(std::time::Duration::from_secs(2));
    terminal.press("alpha to omega").wait_for("rename alpha to omega").press("\r");
    terminal.wait_for_prompt(2).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert_eq!(messages(&project), ["rename alpha to omega"]);
    assert_eq!(project.read("a.txt"), "omega\n");
}

#[test]
fn an_answer_that_was_not_entered_is_not_part_of_the_next_message() {
    for (typed, prompt, next, answer) in [
        ("y", "0 s\n\n›", "rename alpha to omega", "Renamed alpha"),
        ("not that one, ", "0 s\n\n› not that one,", "not that one, rename alpha to omega", "none of them"),
    ] {
        let project = Project::new(&[("a.txt", b"alpha\n")]);
        let mut terminal = Terminal::start(&project, &[]);
        terminal.wait_for_prompt(1).enter("run echo hi").wait_for("reason to refuse:").press(typed);
        terminal.wait_for(&format!("refuse: {}", typed.trim())).press(CTRL_C).wait_for(prompt);
        terminal.press("rename alpha to omega").wait_for("rename alpha to omega").press("\r");
        terminal.wait_for(answer).wait_until("a prompt", |screen| screen.trim_end().ends_with("\n›"));
        terminal.press(CTRL_D);
        assert_eq!(terminal.end(), 0);
        assert_eq!(messages(&project), ["run echo hi", next]);
    }
}

#[test]
fn enter_at_a_question_allows_nothing_that_was_typed_before_it() {
    let project = Project::new(&[]);
    let url = gated(project.path("go"), &[("shell", json!({"command": "touch x"}))]);
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "openai_compatible:m"], (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("go").wait_for("thinking").press("yes");
    std::fs::write(project.path("go"), "").unwrap();
    terminal.wait_for("reason to refuse:").press("\r");
    // Keys after a pause are the answer.
    std::thread::sleep(std::time::Duration::from_secs(1));
    terminal.press("n\r").wait_for("Done.");
    assert!(terminal.shown().contains("reason to refuse: n\n"), "{}", terminal.shown());
    assert!(!project.path("x").exists());
}
