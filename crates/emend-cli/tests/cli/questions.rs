//! Questions of the model on an emulated terminal: options, fields, and the answer of a user who skips.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Project, Requests, answer_each};
use crate::terminal::Terminal;

const CTRL_D: &str = "\u{4}";

fn project() -> Project {
    Project::new(&[("notes.md", b"# alpha\n\nAbout alpha.\n")])
}

/// Returns a server whose model asks with these arguments until a request contains `answered`.
pub(crate) fn asking(arguments: &Value, answered: &'static str) -> (String, Requests) {
    let function = json!({"name": "clarify_user", "arguments": arguments.to_string()});
    let call = json!({"index": 0, "id": "c", "type": "function", "function": function});
    let event = |delta: Value, reason: &str| {
        let event = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        format!("{head}data: {event}\n\ndata: [DONE]\n\n")
    };
    let (ask, done) =
        (event(json!({"tool_calls": [call]}), "tool_calls"), event(json!({"content": "Thanks."}), "stop"));
    answer_each(move |request| if request.contains(answered) { done.clone() } else { ask.clone() })
}

#[test]
fn emend_run_on_a_terminal_asks_the_questions_of_the_model() {
    let project = project();
    let args = ["run", "go", "--model", "openai_compatible:m"];
    for (line, expected) in [("2", "\"right\""), ("straight on", "\"straight on\""), ("", "\"no_user_answer\"")] {
        let (url, _requested) = asking(&json!({"question": "Which one?", "options": ["left", "right"]}), expected);
        let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
        let mut terminal = Terminal::open(&project, &args, (100, 80), &variables);
        terminal.wait_for("  2. right").wait_for("Answer (empty to skip):").enter(line);
        assert_eq!(terminal.end(), 0);
        assert!(terminal.shown().contains("Thanks."), "{}", terminal.shown());
    }
    // A user who leaves ends the run.
    let (url, requested) = asking(&json!({"question": "Which one?"}), "never");
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &args, (100, 80), &variables);
    terminal.wait_for("Answer (empty to skip):").press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert_eq!(requested.try_iter().count(), 1);
    // Without a terminal no user answers, so the model cannot ask.
    let (url, requested) = asking(&json!({"question": "Which one?"}), "unknown_tool");
    project.run_with(&args, &[("OPENAI_COMPATIBLE_BASE_URL", url.as_str())]).assert_ok();
    assert!(!requested.try_iter().next().unwrap().contains("clarify_user"));
}

#[test]
fn a_number_that_no_option_has_is_asked_for_again() {
    let project = project();
    let question = json!({"question": "Which one?", "options": ["left", "right"]});
    for args in [&["run", "go", "--model", "openai_compatible:m"][..], &["--model", "openai_compatible:m"]] {
        let (url, requested) = asking(&question, "\"right\"");
        let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
        let mut terminal = Terminal::open(&project, args, (100, 80), &variables);
        let is_run = args[0] == "run";
        if is_run {
            terminal.wait_for("Answer (empty to skip):");
        } else {
            terminal.wait_for_prompt(1).enter("go").wait_for("  2. right").wait_for_prompt(2);
        }
        terminal.enter("9").wait_for("There is no option 9.").wait_for("options 1 to 2");
        terminal.enter("2").wait_for("Thanks.");
        if !is_run {
            terminal.wait_for_prompt(4).press(CTRL_D);
        }
        assert_eq!(terminal.end(), 0);
        assert_eq!(requested.try_iter().count(), 2, "{args:?}");
    }
}

#[test]
fn long_questions_are_broken_between_words() {
    let words = |n: usize| (0..n).map(|at| format!("word{at:03}")).collect::<Vec<_>>();
    let fields = json!([{"name": "tone", "label": words(9).join(" "), "options": [words(8).join(" "), "no"]}]);
    let question = json!({"question": words(12).join(" "), "options": [words(7).join(" "), "no"], "fields": fields});
    let project = project();
    let (url, _requested) = asking(&question, "tone: no");
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let args = ["run", "go", "--model", "openai_compatible:m"];
    let mut terminal = Terminal::open(&project, &args, (100, 40), &variables);
    terminal.wait_for("Answer (empty to skip):").enter("2").wait_for("Answer:").enter("2").wait_for("Thanks.");
    assert_eq!(terminal.end(), 0);
    let shown = terminal.shown();
    let found = shown.split_whitespace().filter(|word| word.starts_with("word"));
    let found: Vec<&str> = found.map(|word| word.trim_end_matches(['(', ':'])).collect();
    let expected: Vec<String> = [12, 7, 8, 9].into_iter().flat_map(words).collect();
    assert_eq!(found, expected, "{shown}");
}

#[test]
fn fields_of_a_question_are_asked_one_by_one_and_an_empty_line_skips() {
    let fields =
        json!([{"name": "tone", "label": "Tone", "options": ["terse", "long"]}, {"name": "title", "label": "Title"}]);
    let question = json!({"question": "How?", "fields": fields});
    let project = project();
    for args in [&["run", "go", "--model", "openai_compatible:m"][..], &["--model", "openai_compatible:m"]] {
        let (url, _requested) = asking(&question, "tone: terse\\ntitle: no_user_answer");
        let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
        let mut terminal = Terminal::open(&project, args, (100, 80), &variables);
        if args[0] != "run" {
            terminal.wait_for_prompt(1).enter("go");
        }
        terminal.wait_for("  1. terse").wait_for("Tone (empty to skip):").enter("1");
        terminal.wait_for("Title (empty to skip):").enter("").wait_for("Thanks.");
        if args[0] != "run" {
            terminal.wait_for_prompt(2).press(CTRL_D);
        }
        assert_eq!(terminal.end(), 0);
    }
}

#[test]
fn an_empty_line_skips_a_question_of_a_conversation() {
    let (url, _requested) = asking(&json!({"question": "Which one?"}), "\"no_user_answer\"");
    let project = project();
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "openai_compatible:m"], (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("go").wait_for_prompt(2).enter("").wait_for_prompt(3);
    assert!(terminal.shown().contains("Thanks."), "{}", terminal.shown());
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn the_time_in_which_a_question_waits_for_an_answer_does_not_count() {
    let project = project();
    let run = |task: &str| {
        let args = ["run", task, "--model", "offline", "--max-time", "1s"];
        let mut terminal = Terminal::open(&project, &args, (100, 80), &[]);
        terminal.wait_for("or a reason to refuse:");
        std::thread::sleep(Duration::from_millis(1_600));
        let began = Instant::now();
        terminal.enter("y");
        (terminal.end(), began.elapsed())
    };
    assert_eq!(run("run echo first").0, 0);
    // The limit holds for the work after the answer.
    let (status, took) = run("run sleep 20");
    assert_eq!(status, 5);
    assert!(took < Duration::from_secs(15), "{took:?}");
}
