//! Conversations on unusual terminals: narrow, without cursor movement, stopped, or closed.

use expect_test::expect;
use serde_json::Value;

use crate::support::{Outcome, Project, stall};
use crate::terminal::Terminal;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

fn project() -> Project {
    Project::new(&[("notes.md", b"# alpha\n\nAbout alpha.\n"), ("src/lib.rs", b"pub fn alpha() {}\n")])
}

#[test]
fn a_run_continues_after_the_program_was_stopped() {
    let project = project();
    let mut terminal = Terminal::start(&project, &["--allow", "shell"]);
    terminal.wait_for_prompt(1).enter("run while [ ! -e go ]; do sleep 0.01; done").wait_for("Ctrl-C to stop");
    assert!(terminal.marks_pastes());
    // Like Ctrl-Z, and the shell that uses the terminal meanwhile.
    terminal.signal("-STOP").use_line_by_line().signal("-CONT");
    terminal
        .press("\u{1b}[200~mind\rthe gap\u{1b}[201~")
        .wait_for("› mind⏎the gap")
        .press("\r")
        .wait_for("(sent to the model");
    std::fs::write(project.path("go"), "").unwrap();
    terminal.wait_for_end().wait_until("a prompt", |screen| screen.trim_end().ends_with("\n›")).press(CTRL_D);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_terminate_signal_ends_commands_and_restores_the_terminal() {
    let project = project();
    let mut terminal = Terminal::start(&project, &["--allow", "shell"]);
    terminal.wait_for_prompt(1).enter("run echo begun; sleep 600").wait_for("│ begun").signal("-TERM");
    assert_eq!(terminal.end(), 143);
    assert!(terminal.shown().contains("shell was stopped\ninterrupted · N s"), "{}", terminal.shown());
    assert!(terminal.is_line_by_line());
    let mut terminal = Terminal::start(&project, &["--resume"]);
    terminal.wait_for_prompt(1);
    assert!(!terminal.is_line_by_line());
    terminal.signal("-TERM");
    assert_eq!(terminal.end(), 143);
    assert!(terminal.is_line_by_line());
    let mut terminal = Terminal::start(&project, &["--allow", "shell"]);
    terminal.wait_for_prompt(1).enter("run echo $PPID > id; sleep 600").wait_for("sleep 600 · Ctrl-C to stop");
    terminal.hang_up();
    // The last events could not be printed, but were saved.
    let shown = project.run(&["sessions", "show", &newest(&project)]);
    assert!(shown.assert_ok().stdout.contains("← shell failed"), "{}", shown.stdout);
}

/// Returns the ID of the session that was used last.
fn newest(project: &Project) -> String {
    let listed = project.run(&["sessions", "list", "--json"]);
    let summary: Value = serde_json::from_str(listed.assert_ok().stdout.lines().next().unwrap()).unwrap();
    summary["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_conversation_works_on_twenty_columns_and_on_dumb_terminals() {
    let narrow = project();
    let mut terminal = Terminal::open(&narrow, &[], (100, 20), &[]);
    terminal.wait_until("a prompt", |screen| screen.trim_end().ends_with('›'));
    terminal.press("rename alpha to omega\r").wait_for_end();
    terminal.wait_until("a prompt", |screen| screen.trim_end().ends_with('›'));
    assert_eq!(narrow.read("src/lib.rs"), "pub fn omega() {}\n");
    let shown = terminal.shown();
    let (_, rest) = shown.split_once("rename alpha").unwrap();
    expect![[r#"
         to om
        ega
        Offline stand-in
        model (no AI):
        looking for alpha
        as a whole name in
        every text file.
        → grep "\\balpha\\b"
        Reading 2 files.
        → read_file notes.md
        → read_file src/lib.rs
        Changing 3 places
        in 2 files.
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
        Checking that
        nothing is left.
        → grep "\\balpha\\b"
        Renamed alpha to
        omega: 3 places in
        2 files.
        N s

        ›"#]]
    .assert_eq(rest);

    let dumb = project();
    let mut terminal = Terminal::open(&dumb, &[], (100, 80), &[("TERM", "dumb")]);
    terminal
        .wait_for("quits.")
        .press("run touch x\n")
        .wait_for("reason to refuse:")
        .press("y\n")
        .wait_for_end()
        .wait_for_prompt(2)
        .press(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert!(dumb.path("x").exists());
    assert!(!terminal.raw.contains('\u{1b}'), "{:?}", terminal.raw);
}

#[test]
fn output_and_typed_text_fit_a_narrow_terminal() {
    let project = project();
    let mut terminal = Terminal::open(&project, &[], (100, 40), &[]);
    terminal.wait_for_prompt(1).enter("/help").wait_for_prompt(2).enter("/modle").wait_for_prompt(3);
    let shown = terminal.shown();
    let (_, rest) = shown.split_once("/quit").unwrap();
    expect![[r#"

            quit; emend --resume continues
            later

        @PATH in a message attaches a file or
        an image. End a line with \ to continue
        it on the next line.
        While the agent works: enter a message
        to steer it, Ctrl-C or Esc to stop it,
        Ctrl-C twice to quit.

        › /modle
        error [not_found]: unknown command
        /modle; did you mean /model?

        ›"#]]
    .assert_eq(rest);
    terminal.enter("run touch x").wait_for("y/n/a or reason:");
    terminal
        .press("not before the 日本語 documentation is written")
        .wait_for("…re the 日本語 documentation is written");
}

#[test]
fn the_greeting_fits_a_narrow_terminal() {
    let project = Project::new(&[]);
    let mut terminal = Terminal::open(&project, &["--review"], (100, 40), &[]);
    terminal.wait_for_prompt(1);
    let shown = terminal.shown();
    // The first lines have the place of the project, whose length differs.
    let (_, rest) = shown.split_once("\nNo API key").unwrap();
    expect![[r#"
         is set, so the offline model
        answers. It is not an AI; it
        understands a few instructions such as
        "rename a to b". To use an AI model,
        set ANTHROPIC_API_KEY or OPENAI_API_KEY
        or GEMINI_API_KEY.
        Edits are held back for review: /review
        asks about each hunk, and saves those
        that you accept.
        Type a task, or /help for the commands.
        Ctrl-D quits.

        ›"#]]
    .assert_eq(rest);
}

#[test]
fn the_question_of_emend_run_fits_a_narrow_terminal() {
    let project = project();
    for (args, variables, expected) in [
        (
            &["run", "run touch x", "-p"][..],
            &[][..],
            expect![[r#"
             wants to run:
                touch x
            Allow? [y]es, [n]o, [a]lways this
            command here, or type a reason to
            refuse:"#]],
        ),
        (
            &["run", "run touch x"],
            &[("TERM", "dumb")],
            expect![[r#"
             wants to run:
                touch x
            y/n/a or reason:"#]],
        ),
        (
            &["run", "run touch x"],
            &[],
            expect![[r#"
             wants to run:
                touch x
            y/n/a or reason:"#]],
        ),
    ] {
        let mut terminal = Terminal::open(&project, args, (100, 40), variables);
        terminal.wait_until("the question", |screen| {
            ["reason:", "refuse:"].iter().any(|end| screen.trim_end().ends_with(end))
        });
        let shown = terminal.shown();
        let (_, asked) = shown.split_once("? shell").unwrap();
        expected.assert_eq(asked);
        terminal.press("y\r").wait_for("ended: exit");
        assert_eq!(terminal.end(), 0);
        std::fs::remove_file(project.path("x")).unwrap();
    }
}

#[test]
fn colours_follow_the_conventions() {
    for (variables, painted) in [
        (&[][..], true),
        (&[("NO_COLOR", "1")], false),
        (&[("NO_COLOR", "")], true),
        (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
        (&[("CLICOLOR", "0")], false),
        (&[("TERM", "dumb")], false),
        (&[("TERM", "dumb"), ("CI", "true")], false),
        (&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], true),
        (&[("CI", "true")], true),
    ] {
        let project = project();
        let mut terminal = Terminal::open(&project, &[], (100, 80), variables);
        terminal.wait_for("quits.").press("rename alpha to omega\r").wait_for_end();
        assert_eq!(terminal.raw.contains("\u{1b}[32m+"), painted, "{variables:?}");
        assert_eq!(terminal.raw.contains("\u{1b}[1m"), painted, "{variables:?}");
    }
    let project = project();
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    for (variables, painted) in
        [(&[][..], false), (&[("CLICOLOR_FORCE", "1")], true), (&[("CLICOLOR_FORCE", "0")], false)]
    {
        let mut command = project.command(&["rollback", "1", "--check"]);
        let outcome = Outcome::of(command.envs(variables.iter().copied()).output().unwrap());
        assert_eq!(outcome.assert_ok().stdout.contains("\u{1b}[32m+"), painted, "piped: {variables:?}");
    }
}

#[test]
fn lists_and_completions_fit_the_terminal() {
    let project = project();
    for number in 1..=9 {
        project.run(&["run", &format!("do {number}{}", " and more".repeat(20))]).assert_ok();
    }
    let mut terminal = Terminal::open(&project, &[], (10, 60), &[]);
    terminal.wait_for("›").press("/re\t\t").wait_until("what could be meant", |screen| {
        ["/redo", "/resume", "/review"].iter().all(|name| screen.contains(name))
    });
    terminal.press("\u{15}/resume\r").wait_for("to cancel): ");
    expect![[r#"
        /review   /redo     /rewind   /resume
        › /resume
          1  just now      SESSION  do 9 and more and more and mor
          2  just now      SESSION  do 8 and more and more and mor
          3  just now      SESSION  do 7 and more and more and mor
          4  just now      SESSION  do 6 and more and more and mor
          5  just now      SESSION  do 5 and more and more and mor
          6  just now      SESSION  do 4 and more and more and mor
             3 more; `emend sessions` lists all
        Number of the conversation (Enter to cancel):"#]]
    .assert_eq(&terminal.shown());
}

#[test]
fn tab_completes_the_path_of_a_mentioned_file() {
    let project = project();
    std::fs::create_dir_all(project.path("src")).unwrap();
    std::fs::write(project.path("src/mainly.rs"), "x\n").unwrap();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).press("read @mainl\t").wait_for("read @src/mainly.rs");
    // A file that was created since is found, too.
    std::fs::write(project.path("src/made later.rs"), "x\n").unwrap();
    terminal.press(" and @src/mad\t").wait_for(r"and @src/made\ later.rs");
}

#[test]
fn lines_typed_ahead_are_handled_one_by_one() {
    let project = project();
    let mut terminal = Terminal::start(&project, &[]);
    terminal.wait_for_prompt(1).press("/effort\r/model\r").wait_for("Effort: ").wait_for("Model: offline.");
}

#[test]
fn the_key_that_stopped_a_run_does_not_also_leave_the_conversation() {
    let project = project();
    let (url, requested) = stall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: wait\n\n");
    let variables = [("ANTHROPIC_API_KEY", "key"), ("ANTHROPIC_BASE_URL", url.as_str())];
    let mut terminal = Terminal::open(&project, &["--model", "anthropic:claude-sonnet-4-5"], (100, 80), &variables);
    terminal.wait_for_prompt(1).enter("hello").wait_for("thinking");
    requested.recv().unwrap();
    terminal.press(CTRL_C).wait_for("interrupted");
    // At an empty prompt, the first Ctrl-C only warns.
    terminal.wait_for_prompt(2).press(CTRL_C).wait_for("Press Ctrl-C again");
    terminal.wait_for_prompt(3).press(CTRL_C);
    assert_eq!(terminal.end(), 0);
}
