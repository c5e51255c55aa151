//! Files that rules hide from the agent.

use serde_json::{Value, json};

use crate::support::{Project, covers};

fn project() -> Project {
    let files: &[(&str, &[u8])] = &[
        ("a.txt", b"KEY of a\n"),
        ("secrets.txt", b"KEY=hunter1\n"),
        ("deep/secrets.txt", b"KEY=hunter2\n"),
        ("node_modules/m/secrets.txt", b"KEY=hunter3\n"),
        (".gitignore", b"node_modules/\n"),
    ];
    let project = Project::new(files);
    std::os::unix::fs::symlink("secrets.txt", project.path("link")).unwrap();
    project
}

#[test]
fn no_tool_shows_a_file_that_rules_hide() {
    covers("approval.hidden");
    let project = project();
    let absolute = project.path("secrets.txt");
    let calls: &[(&str, Value)] = &[
        ("grep", json!({"pattern": "KEY"})),
        ("grep", json!({"pattern": "KEY", "path": "deep"})),
        ("glob", json!({"pattern": "**/*"})),
        ("list_dir", json!({"path": "deep"})),
        ("read_many_files", json!({"include": ["*.txt", "deep/*"]})),
        ("read_file", json!({"file_path": "link"})),
        ("read_file", json!({"file_path": "deep/../secrets.txt"})),
        ("read_file", json!({"file_path": absolute})),
    ];
    for rule in ["*:secrets.txt", "read_file:secrets.txt"] {
        let outcome = project.run_calls(calls, &["--deny", rule]);
        let events = &outcome.assert_ok().stdout;
        assert!(!events.contains("hunter") && !events.contains("secrets.txt ("), "{rule}: {events}");
        assert!(events.contains("a.txt:1:KEY of a"), "{events}");
    }
    let events = project.run_calls(calls, &[]).stdout;
    assert!(events.contains("hunter1") && events.contains("hunter2"), "without the rule: {events}");
}

#[test]
fn a_command_is_asked_about_if_it_could_read_what_rules_hide() {
    covers("approval.hidden");
    let project = project();
    let command = [("shell", json!({"command": "touch ran"}))];
    let options = ["--allow", "shell", "--deny", "*:secrets.txt"];
    let outcome = project.run_calls(&command, &options);
    assert_eq!(outcome.status, 1, "nobody could be asked: {}", outcome.stderr);
    assert!(outcome.stdout.contains("\"reachesHidden\":\"*:secrets.txt\""), "{}", outcome.stdout);
    assert!(!project.path("ran").exists());
    project.run_calls(&command, &["--allow", "shell", "--deny", "edit_file:secrets.txt"]).assert_ok();
    assert!(project.path("ran").exists(), "a rule about edits hides nothing");
}

#[test]
#[cfg(target_os = "linux")]
fn the_copy_in_which_commands_run_has_no_hidden_file() {
    let project = project();
    let look = b"cat a.txt s*.txt deep/* node_modules/m/*; find . -name \"sec*\"; echo done\n";
    std::fs::write(project.path("look.sh"), look).unwrap();
    let options = ["--review", "--deny", "*:secrets.txt"];
    let mut terminal = crate::terminal::Terminal::start(&project, &options);
    terminal.wait_for_prompt(1).enter("run sh look.sh").wait_for("reason to refuse:").enter("y").wait_for_prompt(2);
    let shown = terminal.shown();
    assert!(shown.contains("KEY of a") && !shown.contains("hunter") && !shown.contains("./secrets"), "{shown}");
    assert_eq!(project.read("node_modules/m/secrets.txt"), "KEY=hunter3\n");
}

#[test]
fn the_user_still_sees_a_hidden_file() {
    let project = project();
    project.run(&["tools", "call", "read_file", r#"{"file_path": "secrets.txt"}"#]).assert_ok();
    project.run(&["run", "replace \"hunter1\" with \"x\"", "--deny", "*:secrets.txt"]).assert_ok();
    assert_eq!(project.read("secrets.txt"), "KEY=hunter1\n");
    project.run(&["run", "replace \"hunter1\" with \"x\""]).assert_ok();
    assert_eq!(project.read("secrets.txt"), "KEY=x\n");
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.read("secrets.txt"), "KEY=hunter1\n");
}
