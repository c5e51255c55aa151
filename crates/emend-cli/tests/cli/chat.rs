//! Conversations on an emulated terminal: keys that are typed, and the screen.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::support::{Project, answer, answer_each, gated, stall};
use crate::terminal::{Terminal, has_ended};

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

fn project() -> Project {
    Project::new(&[("notes.md", b"# alpha\n\nAbout alpha.\n"), ("src/lib.rs", b"pub fn alpha() {}\n")])
}

/// Compares the screen with everything that scrolled up.
#[track_caller]
fn check(terminal: &Terminal, expected: &Expect) {
    expected.assert_eq(&terminal.shown());
}

#[test]
fn a_run_is_shown_and_its_changes_can_be_listed_undone_and_redone() {
    let project = project();
    let before = project.tree();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for_prompt(2);
    check(
        &terminal,
        &expect![[r#"
            emend · offline · ROOT
            No API key is set, so the offline model answers. It is not an AI; it
            understands a few instructions such as "rename a to b". To use an AI model, set
            ANTHROPIC_API_KEY or OPENAI_API_KEY or GEMINI_API_KEY.
            Type a task, or /help for the commands. Ctrl-D quits.

            › rename alpha to omega
            Offline stand-in model (no AI): looking for alpha as a whole name in every text
            file.
            → grep "\\balpha\\b"
            Reading 2 files.
            → read_file notes.md
            → read_file src/lib.rs
            Changing 3 places in 2 files.
            → edit_file notes.md
            --- a/notes.md
            +++ b/notes.md
            @@ -1,3 +1,3 @@
            -# alpha
            +# omega

             About alpha.
            → edit_file notes.md
            --- a/notes.md
            +++ b/notes.md
            @@ -1,3 +1,3 @@
             # omega

            -About alpha.
            +About omega.
            → edit_file src/lib.rs
            --- a/src/lib.rs
            +++ b/src/lib.rs
            @@ -1 +1 @@
            -pub fn alpha() {}
            +pub fn omega() {}
            Checking that nothing is left.
            → grep "\\balpha\\b"
            Renamed alpha to omega: 3 places in 2 files.
            N s

            ›"#]],
    );
    assert_eq!(project.read("src/lib.rs"), "pub fn omega() {}\n");
    let after = project.tree();
    terminal.enter("/undo").wait_for_prompt(3);
    assert_eq!(project.tree(), before);
    terminal.enter("/redo").wait_for_prompt(4);
    assert_eq!(project.tree(), after);
    terminal.enter("/diff").wait_for_prompt(5).enter("/modle").wait_for_prompt(6).enter("/quit");
    assert_eq!(terminal.end(), 0);
    let shown = terminal.shown();
    let (_, rest) = shown.split_once("› /undo").unwrap();
    expect![[r#"

        undid run 1 (rename alpha to omega)
        restored notes.md
        restored src/lib.rs

        › /redo
        redid run 1 (rename alpha to omega)
        reapplied notes.md
        reapplied src/lib.rs

        › /diff
        --- a/notes.md
        +++ b/notes.md
        @@ -1,3 +1,3 @@
        -# alpha
        +# omega

        -About alpha.
        +About omega.
        --- a/src/lib.rs
        +++ b/src/lib.rs
        @@ -1 +1 @@
        -pub fn alpha() {}
        +pub fn omega() {}

        › /modle
        error [not_found]: unknown command /modle; did you mean /model?

        › /quit
        To continue this conversation: emend --resume SESSION"#]]
    .assert_eq(rest);
}

#[test]
fn approval_questions_are_answered_in_the_conversation() {
    let project = project();
    let mut terminal = Terminal::start(&project, &[]);
    terminal
        .wait_for_prompt(1)
        .enter("run touch refused")
        .wait_for("reason to refuse:")
        .enter("not today")
        .wait_for_prompt(2);
    assert!(!project.path("refused").exists());
    terminal.enter("run touch x").wait_for("    touch x").enter("a").wait_for_prompt(3);
    std::fs::remove_file(project.path("x")).unwrap();
    terminal.enter("run touch x").wait_for_prompt(4);
    assert!(project.path("x").exists(), "always is not asked again");
    check(
        &terminal,
        &expect![[r#"
            emend · offline · ROOT
            No API key is set, so the offline model answers. It is not an AI; it
            understands a few instructions such as "rename a to b". To use an AI model, set
            ANTHROPIC_API_KEY or OPENAI_API_KEY or GEMINI_API_KEY.
            Type a task, or /help for the commands. Ctrl-D quits.

            › run touch refused
            Offline stand-in model (no AI): running touch refused.
            → shell touch refused
            ? shell wants to run:
                touch refused
            [y]es, [n]o, [a]lways this command here, or a reason to refuse: not today
              shell was refused: This call was not allowed and did not run. Reason: not
              today
            touch refused was not run. Reason: not today
            N s

            › run touch x
            Offline stand-in model (no AI): running touch x.
            → shell touch x
            ? shell wants to run:
                touch x
            [y]es, [n]o, [a]lways this command here, or a reason to refuse: a
              exit code N after N.N s
            --- /dev/null
            +++ b/x
            touch x ended: exit code N after N ms
            N s

            › run touch x
            Offline stand-in model (no AI): running touch x.
            → shell touch x
              exit code N after N.N s
            --- /dev/null
            +++ b/x
            touch x ended: exit code N after N ms
            N s

            ›"#]],
    );
}

#[test]
fn the_question_about_an_edit_shows_its_diff() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let mut terminal = Terminal::start(&project, &["--ask", "edit_file"]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for("reason to refuse:").enter("d");
    let asked = |n: usize| move |screen: &str| screen.matches("-alpha").count() == n && screen.ends_with("refuse: ");
    terminal.wait_until("the diff again", asked(2)).enter("no").wait_until("a second try", asked(3));
    assert_eq!(project.read("a.txt"), "alpha\n");
    terminal.enter("y").wait_for_prompt(2);
    assert_eq!(project.read("a.txt"), "omega\n");
}

#[test]
fn ctrl_c_stops_the_run_and_quits_if_pressed_twice() {
    let project = project();
    let mut terminal = Terminal::start(&project, &["--allow", "shell"]);
    terminal.wait_for_prompt(1).enter("run echo begun; sleep 600").wait_for("│ begun").press(CTRL_C).wait_for_prompt(2);
    assert!(terminal.shown().contains("shell was stopped\ninterrupted · N s"), "{}", terminal.shown());
    terminal.enter("rename alpha to omega").wait_for_prompt(3);
    assert_eq!(project.read("src/lib.rs"), "pub fn omega() {}\n", "the next run works");
    // The first Ctrl-C discards the typed text, the second one asks for confirmation.
    terminal.press("text").wait_for("› text").press(CTRL_C).wait_for_prompt(4);
    terminal.press(CTRL_C).wait_for("Press Ctrl-C again, or Ctrl-D, to quit.").wait_for_prompt(5).press(CTRL_C);
    assert_eq!(terminal.end(), 0);
    assert!(
        terminal.shown().ends_with("To continue this conversation: emend --resume SESSION"),
        "{}",
        terminal.shown()
    );
}

#[test]
fn ctrl_c_and_esc_stop_a_run_that_waits_for_an_answer_or_a_response() {
    let project = project();
    let (url, requested) = stall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: wait\n\n");
    let variables = [("ANTHROPIC_API_KEY", "key"), ("ANTHROPIC_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "anthropic:claude-sonnet-4-5"], (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("hello").wait_for("thinking");
    requested.recv().unwrap();
    terminal.press(CTRL_C).wait_for_prompt(2).enter("hello?").wait_for("thinking");
    requested.recv().unwrap();
    terminal.press("\u{1b}").wait_for_prompt(3);
    assert_eq!(terminal.shown().matches("interrupted").count(), 2);
    terminal
        .enter("/model offline")
        .wait_for_prompt(4)
        .enter("run touch x")
        .wait_for("reason to refuse:")
        .press(CTRL_C);
    terminal.wait_for_prompt(5).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert!(!project.path("x").exists());
}

#[test]
fn changes_of_a_killed_run_can_be_undone() {
    let project = project();
    let before = project.tree();
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"write_file","arguments":"{\"file_path\": \"new.md\", \"content\": \"new\\n\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let (url, _requested) = answer_each(move |body| match body.contains("tool_call_id") {
        false => format!("{head}data: {call}\n\ndata: [DONE]\n\n"),
        // Without a response the run never ends.
        true => loop {
            std::thread::park();
        },
    });
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "openai_compatible:m"], (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("go").wait_for("+new");
    drop(terminal);
    assert_eq!(project.read("new.md"), "new\n");
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("/undo").wait_for("Undo it? [y]es, [n]o:").enter("y");
    terminal.wait_for_prompt(2).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert_eq!(project.tree(), before);
}

#[test]
fn lines_entered_during_a_run_steer_it_and_an_unfinished_line_stays() {
    let project = project();
    let mut terminal = Terminal::start(&project, &["--allow", "shell"]);
    terminal.wait_for_prompt(1).enter("run while [ ! -e go ]; do sleep 0.01; done").wait_for("Ctrl-C to stop");
    terminal.enter("mind the gap").wait_for("(sent to the model").press("/he").wait_for("› /he");
    std::fs::write(project.path("go"), "").unwrap();
    terminal.wait_until("the line at the prompt", |screen| {
        has_ended(screen) && screen.trim_end().lines().last().is_some_and(|line| line.trim_end() == "› /he")
    });
    terminal.press("lp\r").wait_for("/compact").wait_for_prompt(4).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    let listed = project.run(&["sessions", "list", "--json"]);
    let summary: Value = serde_json::from_str(listed.assert_ok().stdout.lines().next().unwrap()).unwrap();
    let shown = project.run(&["sessions", "show", summary["id"].as_str().unwrap(), "--json"]);
    let session: Value = serde_json::from_str(&shown.assert_ok().stdout).unwrap();
    let steering = session["turns"].as_array().unwrap().iter().find(|turn| turn["kind"] == "steering").unwrap();
    assert!(steering.to_string().contains("mind the gap"), "{steering}");
}

#[test]
fn text_from_before_a_question_does_not_answer_it() {
    let project = project();
    let url = gated(project.path("go"), &[("shell", json!({"command": "touch x"}))]);
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "openai_compatible:m"], (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("go").wait_for("thinking").press("yes").wait_for("› yes");
    std::fs::write(project.path("go"), "").unwrap();
    terminal.wait_for("reason to refuse:");
    // Keys after a pause are the answer.
    std::thread::sleep(std::time::Duration::from_secs(1));
    terminal.press("n\r").wait_until("the text at the prompt", |screen| {
        screen.contains("Done.") && screen.trim_end().lines().last().is_some_and(|line| line.trim_end() == "› yes")
    });
    assert!(terminal.shown().contains("reason to refuse: n\n"), "{}", terminal.shown());
    assert!(!project.path("x").exists());
}

#[test]
fn steering_that_a_stopped_run_did_not_deliver_returns_to_the_prompt() {
    let project = project();
    let (url, requested) = stall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: wait\n\n");
    let variables = [("ANTHROPIC_API_KEY", "key"), ("ANTHROPIC_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "anthropic:claude-sonnet-4-5"], (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("hello").wait_for("thinking");
    requested.recv().unwrap();
    terminal.enter("mind the gap").wait_for("(sent to the model").press(CTRL_C);
    terminal.wait_until("the message at the prompt", |screen| {
        screen.contains("interrupted")
            && screen.trim_end().lines().last().is_some_and(|line| line.trim_end() == "› mind the gap")
    });
    // Ctrl-C discards it; the next one warns before it quits.
    terminal.press(CTRL_C).wait_for_prompt(4).press(CTRL_C).wait_for("Press Ctrl-C again");
    terminal.wait_for_prompt(5).press(CTRL_C);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_conversation_asks_whether_to_continue_after_a_limit() {
    let project = project();
    std::fs::write(project.path("go"), "").unwrap();
    let url = gated(project.path("go"), &[("shell", json!({"command": "touch x"}))]);
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let args = ["--model", "openai_compatible:m", "--allow", "shell", "--max-turns", "1"];
    let mut terminal = Terminal::open(&project, &args, (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("go").wait_for("Continue? [y]es, [n]o:").enter("y").wait_for("Done.");
    let shown = terminal.shown();
    assert!(shown.contains("the limit is reached after 1 round of tool calls\nlimit reached · N s"), "{shown}");
}

#[test]
fn a_conversation_says_that_edits_are_held_back() {
    let project = project();
    let mut terminal = Terminal::start(&project, &["--review"]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for("hunks wait for review: /review");
    assert!(terminal.shown().contains("Edits are held back for review: /review asks about each hunk"));
    terminal.wait_for_prompt(2).press(CTRL_D).wait_for("hunks wait for review; to decide: emend review");
    assert_eq!(terminal.end(), 0);
    let mut again = Terminal::start(&project, &["--continue", "--review"]);
    let shown = again.wait_for_prompt(1).shown();
    assert!(shown.contains("Edits are held back") && shown.contains("hunks wait for review: /review"), "{shown}");
}

#[test]
fn conversations_are_resumed_by_flag_and_by_command() {
    let project = project();
    let mut first = Terminal::start(&project, &[]);
    first.wait_for_prompt(1).enter("rename alpha to omega").wait_for_prompt(2).press(CTRL_D);
    assert_eq!(first.end(), 0);
    let mut second = Terminal::start(&project, &["--resume"]);
    second.wait_for_prompt(1).press("\u{10}").wait_for("› rename alpha to omega").press(CTRL_C).wait_for_prompt(2);
    second.enter("/clear").wait_for_prompt(3).enter("rename omega to alpha").wait_for_prompt(4);
    second.enter("/resume").wait_for("to cancel): ").enter("1").wait_for_prompt(5);
    let shown = second.shown();
    let (head, _) = shown.split_once("/clear").unwrap();
    expect![[r#"
        emend · offline · ROOT
        No API key is set, so the offline model answers. It is not an AI; it
        understands a few instructions such as "rename a to b". To use an AI model, set
        ANTHROPIC_API_KEY or OPENAI_API_KEY or GEMINI_API_KEY.
        Continuing SESSION (10 entries).
        Type a task, or /help for the commands. Ctrl-D quits.

        › rename alpha to omega
        › "#]]
    .assert_eq(head);
    let (_, rest) = shown.split_once("› /resume").unwrap();
    expect![[r#"

          1  just now      SESSION  rename alpha to omega
        Number of the conversation (Enter to cancel): 1
        Continuing SESSION (10 entries): rename alpha to omega

        ›"#]]
    .assert_eq(rest);
}

#[test]
fn rewind_goes_back_to_before_a_message() {
    let project = project();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for_prompt(2);
    std::fs::write(project.path("notes.md"), "# omega\n\nAbout omega.\nMine.\n").unwrap();
    terminal.enter("rename omega to delta").wait_for_prompt(3);
    assert_eq!(project.read("notes.md"), "# delta\n\nAbout delta.\nMine.\n");
    terminal.enter("/rewind").wait_for("(Enter to cancel): ").enter("9").wait_for("there is no message 9");
    terminal.wait_for_prompt(4).enter("/rewind").wait_for("(Enter to cancel): ").enter("2");
    terminal.wait_for("only (Enter to cancel): ").enter("b").wait_for("is in the input.\n\n› rename omega to delta");
    let shown = terminal.shown();
    let (_, rest) = shown.rsplit_once("› /rewind").unwrap();
    for part in
        ["1  just now      rename alpha to omega", "2  just now      rename omega to delta", "-# delta", "+# omega"]
    {
        assert!(rest.contains(part), "{part} is missing in {rest}");
    }
    // Files of the user and of the run before stay; the message can be edited and sent again.
    assert_eq!(project.read("notes.md"), "# omega\n\nAbout omega.\nMine.\n");
    assert_eq!(project.read("src/lib.rs"), "pub fn omega() {}\n");
    terminal.press("\u{15}").enter("/rewind").wait_for("(Enter to cancel): ").enter("1");
    terminal.wait_for("only (Enter to cancel): ").enter("f").wait_for("restored src/lib.rs\n\n›");
    assert_eq!(project.read("notes.md"), "# alpha\n\nAbout alpha.\nMine.\n");
}

#[test]
fn pending_edits_are_reviewed_hunk_by_hunk() {
    let project = Project::new(&[("a.txt", b"alpha\n1\n2\n3\n4\n5\n6\n7\nalpha\n1\n2\n3\n4\n5\n6\n7\nalpha\n")]);
    let mut terminal = Terminal::start(&project, &["--review"]);
    terminal.wait_for_prompt(1).enter("rename alpha to omega").wait_for_prompt(2);
    assert_eq!(project.read("a.txt").matches("alpha").count(), 3);
    terminal.enter("/review");
    for (n, answer) in [(1, "y"), (2, "n"), (3, "s")] {
        let asked = move |screen: &str| screen.matches("?]?").count() == n && screen.ends_with("?]? ");
        terminal.wait_until("a question", asked).enter(answer);
    }
    terminal.wait_for_prompt(3);
    assert_eq!(project.read("a.txt"), "omega\n1\n2\n3\n4\n5\n6\n7\nalpha\n1\n2\n3\n4\n5\n6\n7\nalpha\n");
    let shown = terminal.shown();
    let (_, rest) = shown.split_once("› /review").unwrap();
    expect![[r#"


        a.txt (update) · hunk 1 of 3
        @@ -1,4 +1,4 @@
        -alpha
        +omega
         1
         2
         3
        Accept this hunk [y,n,s,p,a,d,q,?]? y

        a.txt (update) · hunk 2 of 3
        @@ -6,7 +6,7 @@
         5
         6
         7
        -alpha
        +omega
         1
         2
         3
        Accept this hunk [y,n,s,p,a,d,q,?]? n

        a.txt (update) · hunk 3 of 3
        @@ -14,4 +14,4 @@
         5
         6
         7
        -alpha
        +omega
        Accept this hunk [y,n,s,p,a,d,q,?]? s
        1 hunk written, 1 rejected
        1 hunk left to review, not yet written; to continue: /review

        ›"#]]
    .assert_eq(rest);
}

#[test]
fn questions_of_the_model_are_answered_by_number() {
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"clarify_user","arguments":"{\"question\": \"Which one?\", \"options\": [\"left\", \"right\"]}"}}]},"finish_reason":"tool_calls"}]}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let (url, requested) = answer(format!("{head}data: {call}\n\ndata: [DONE]\n\n"));
    let project = project();
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "openai_compatible:m"], (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("go").wait_for_prompt(2).enter("2").wait_for_prompt(3);
    check(
        &terminal,
        &expect![[r#"
            emend · openai_compatible:m · ROOT
            Type a task, or /help for the commands. Ctrl-D quits.

            › go
            ? Which one?
              1. left
              2. right
            N s · N tokens in, N out

            › 2
            ? Which one?
              1. left
              2. right
            N s · N tokens in, N out

            ›"#]],
    );
    terminal.press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert_eq!(requested.try_iter().count(), 2);
    let shown = project.run(&["sessions", "list", "--json"]);
    let summary: Value = serde_json::from_str(&shown.assert_ok().stdout).unwrap();
    let shown = project.run(&["sessions", "show", summary["id"].as_str().unwrap()]);
    assert!(shown.stdout.contains("\nright\n"), "{}", shown.stdout);
}

#[test]
fn emend_run_on_a_terminal_looks_like_a_conversation() {
    let project = project();
    let mut terminal = Terminal::start(&project, &["run", "run touch x"]);
    terminal.wait_for("reason to refuse:").enter("not today");
    assert_eq!(terminal.end(), 0);
    assert!(terminal.shown().contains("Reason: not today") && !project.path("x").exists(), "{}", terminal.shown());
    let mut terminal = Terminal::start(&project, &["run", "rename alpha to omega"]);
    assert_eq!(terminal.end(), 0);
    assert!(terminal.shown().contains("+pub fn omega() {}"), "{}", terminal.shown());
    let mut terminal = Terminal::start(&project, &["run", "run sleep 600", "--allow", "shell"]);
    terminal.wait_for("shell sleep 600 · Ctrl-C to stop").press(CTRL_C);
    assert_eq!(terminal.end(), 130);
    let (url, _requested) =
        answer("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_owned());
    let variables = [("OPENAI_COMPATIBLE_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["run", "x", "--model", "openai_compatible:m"], (100, 80), &variables);
    assert_eq!(terminal.end(), 4);
    assert_eq!(terminal.shown().matches("error [").count(), 1, "{}", terminal.shown());
}

#[test]
fn model_and_effort_are_shown_and_changed() {
    let project = project();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).enter("/effort").wait_for_prompt(2).enter("/effort high").wait_for_prompt(3);
    terminal.enter("/effort silly").wait_for_prompt(4).enter("/model").wait_for_prompt(5);
    terminal.enter("/model openai:m").wait_for_prompt(6).enter("/compact").wait_for_prompt(7).enter("/review");
    terminal.wait_for_prompt(8);
    let shown = terminal.shown();
    let (_, rest) = shown.split_once("› /effort").unwrap();
    expect![[r#"

        Effort: the model's own default. To change it: /effort LEVEL, one of none,
        minimal, low, medium, high, xhigh, max. Each model supports some of them.

        › /effort high
        Effort: high, from the next message on.

        › /effort silly
        error [invalid_argument]: unknown effort "silly"; expected one of none,
        minimal, low, medium, high, xhigh, max

        › /model
        Model: offline. To change it: /model MODEL, e.g. one of
          offline
          anthropic:…  (needs ANTHROPIC_API_KEY)
          openai:…  (needs OPENAI_API_KEY)
          gemini:…  (needs GEMINI_API_KEY)

        › /model openai:m
        error [configuration]: no API key for openai; set OPENAI_API_KEY, or use /model
        offline

        › /compact
        Context: about N tokens before, N now.

        › /review
        Nothing waits for review: changes are written to the files at once. /diff shows
        them, /undo undoes them. With emend --review you decide on each change first.

        ›"#]]
    .assert_eq(rest);
}

#[test]
fn a_backslash_continues_a_line() {
    let project = project();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).press("rename alpha \\\r").press("to omega\r").wait_for("places").wait_for_prompt(2);
    assert_eq!(project.read("src/lib.rs"), "pub fn omega() {}\n");
}

#[test]
fn without_a_terminal_the_error_names_emend_run() {
    let project = project();
    let outcome = project.run(&[]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("emend run"), "{}", outcome.stderr);
    assert!(project.state_is_untouched());
}
