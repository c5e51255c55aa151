//! Help, completions, manual pages and exit statuses.

use std::io::Write as _;
use std::process::Stdio;

use expect_test::expect_file;

use crate::support::{Outcome, Project, answer};

/// Returns the help of a command and of all commands below it.
fn help(project: &Project, path: &[&str], all: &mut String) {
    let outcome = project.run(&[path, &["--help"]].concat());
    let text = &outcome.assert_ok().stdout;
    let lines: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    all.push_str(&format!("$ emend{}\n\n{lines}\n", path.iter().map(|name| format!(" {name}")).collect::<String>()));
    let commands = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = commands.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        help(project, &[path, &[name]].concat(), all);
    }
}

#[test]
fn every_command_has_its_help() {
    let mut all = String::new();
    help(&Project::new(&[]), &[], &mut all);
    expect_file!["help.txt"].assert_eq(&all);
}

#[test]
fn shells_and_man_know_every_command() {
    let project = Project::new(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = project.run(&["completions", shell]);
        for name in ["rollback", "checkpoints", "--trace"] {
            let name = if shell == "fish" { name.trim_start_matches('-') } else { name };
            assert!(script.assert_ok().stdout.contains(name), "{shell}: {name}");
        }
    }
    let page = project.run(&["man"]);
    assert!(page.assert_ok().stdout.contains("emend\\-rollback(1)"), "{}", page.stdout);
    project.run(&["man", "--dir", "."]).assert_ok();
    assert!(project.read("emend-run.1").contains("\\-\\-stdin"));
    project.run(&["man", "--dir", "share/man/man1"]).assert_ok();
    assert!(project.path("share/man/man1/emend.1").exists());
    assert_eq!(project.run(&["man", "--dir", "emend-run.1/x"]).status, 1);
}

#[test]
fn bash_completes_commands() {
    let project = Project::new(&[]);
    std::fs::write(project.path("emend.bash"), &project.run(&["completions", "bash"]).assert_ok().stdout).unwrap();
    let ask =
        "source emend.bash; COMP_WORDS=(emend roll); COMP_CWORD=1; _emend emend roll emend; echo \"${COMPREPLY[@]}\"";
    let Ok(output) = std::process::Command::new("bash").args(["-c", ask]).current_dir(project.root.path()).output()
    else {
        println!("skipped: there is no bash");
        return;
    };
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "rollback\n");
}

#[test]
fn exit_statuses_are_as_documented() {
    #[track_caller]
    fn check(args: &[&str], variables: &[(&str, &str)], expected: i32) {
        let project = Project::new(&[("a.txt", b"alpha\n")]);
        let outcome = Outcome::of(project.command(args).envs(variables.iter().copied()).output().unwrap());
        assert_eq!(outcome.status, expected, "{args:?}: {}{}", outcome.stdout, outcome.stderr);
    }
    check(&["run", "rename alpha to omega"], &[], 0);
    check(&["undo"], &[], 1);
    check(&["rollback", "1"], &[], 1);
    check(&["redo"], &[], 1);
    check(&["patch", "a.txt"], &[], 1);
    check(&["patch", "missing.patch"], &[], 2);
    check(&["patch", "a.txt", "--root", "no/such"], &[], 1);
    check(&["patch", "--root", "no/such"], &[], 1);
    check(&["run", "x", "--deny", "no_tool"], &[], 2);
    check(&["run", "x"], &[("EMEND_DENY", "no_tool")], 3);
    check(&["diff", "a.txt", "a.txt"], &[], 0);
    check(&["diff", "a.txt", ".gitignore"], &[], 2);
    check(&["review"], &[], 0);
    check(&["checkpoints"], &[], 0);
    check(&["rollback", "x"], &[], 2);
    check(&["config"], &[], 0);
    check(&["models"], &[], 0);
    check(&["sessions", "list"], &[], 0);
    check(&["sessions", "show", "sess_1"], &[], 1);
    check(&["sessions", "delete", "sess_1"], &[], 1);
    check(&["tools", "list"], &[], 0);
    check(&["tools", "call", "read_file", r#"{"file_path": "a.txt"}"#], &[], 0);
    check(&["tools", "call", "read_file", r#"{"file_path": "b.txt"}"#], &[], 1);
    check(&["tools", "call", "read_file", "x"], &[], 2);
    check(&["truncate", "--tool", "shell"], &[], 0);
    check(&["completions", "bash"], &[], 0);
    check(&["completions", "tcsh"], &[], 2);
    check(&["man"], &[], 0);
    check(&["debug", "decode", "--api", "gemini", "missing"], &[], 1);
    check(&["debug", "encode", "--api", "openai-chat", "a.txt"], &[], 2);
    check(&["debug", "decode", "--api", "no-such-api", "a.txt"], &[], 2);
    check(&["sessions", "title", "sess_1", "x"], &[], 1);
    check(&["sessions", "archive", "sess_1"], &[], 1);
    check(&["sessions", "unarchive", "sess_1"], &[], 1);
    check(&["serve", "--port", "x"], &[], 2);
    check(&["serve", "--store", "no-such-store"], &[], 2);
    check(&["attach"], &[], 2);
    check(&["attach", "http://127.0.0.1:1"], &[("EMEND_TOKEN", "t")], 4);
    check(&["db", "no-such-command"], &[], 2);
    check(&["db", "migrate"], &[], 2);
    check(&["db", "migrate", "--store", "no-such-store"], &[], 2);
    check(&["eval", "no-such-set"], &[], 2);
    check(&["login"], &[], 2);
    check(&["no-such-command"], &[], 2);
    check(&["run", " "], &[], 2);
    check(&["run"], &[], 2);
    check(&[], &[], 2);
    check(&["run", "x", "--model", "openai:m"], &[], 3);
    check(&["run", "x", "--root", "no/such"], &[], 3);
    check(&["config"], &[("EMEND_MODEL", "nobody:m")], 3);
    let (url, _requested) =
        answer("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_owned());
    check(&["run", "x", "--model", "openai_compatible:m"], &[("OPENAI_COMPATIBLE_BASE_URL", &url)], 4);
    // 5 is in settings.rs. 130 and the statuses of signals are in tasks.rs, commands.rs and kill.rs.
}

#[test]
fn a_closed_output_is_not_an_error() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    for args in [&["tools", "list"][..], &["config"], &["man"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let outcome = Outcome::of(project.command(args).stdout(writer).stderr(Stdio::piped()).output().unwrap());
        assert_eq!(outcome.stderr, "", "{args:?}");
    }
}

#[test]
fn a_reader_that_leaves_does_not_end_the_run() {
    for output in ["text", "json", "stream-json"] {
        let project = Project::new(&[("a.txt", b"alpha\n")]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = project.command(&["run", "rename alpha to omega", "--output", output]);
        let outcome = Outcome::of(command.stdout(writer).stderr(Stdio::piped()).output().unwrap());
        assert_eq!((outcome.status, project.read("a.txt").as_str()), (0, "omega\n"), "{output}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.matches("standard output was closed").count(), 1, "{output}: {}", outcome.stderr);
    }
}

#[test]
fn only_the_answer_is_on_standard_output() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let outcome = project.run(&["run", "rename alpha to omega"]);
    assert_eq!(outcome.assert_ok().stdout, "Renamed alpha to omega: 1 place in 1 file.\n");
    assert!(outcome.stderr.contains("→ edit_file a.txt\n"), "{}", outcome.stderr);
    let outcome = project.run(&["-p", "rename omega to beta", "--output", "json"]);
    let result: serde_json::Value = serde_json::from_str(&outcome.assert_ok().stdout).unwrap();
    assert_eq!(result["text"], "Renamed omega to beta: 1 place in 1 file.");
    assert_eq!((&result["reason"], &result["error"]), (&"natural".into(), &serde_json::Value::Null));
    assert_eq!(result["files_changed"], serde_json::json!(["a.txt"]));
    let events = project.run(&["run", "--continue", "rename beta to gamma", "--output=stream-json"]);
    assert_eq!(events.assert_ok().stdout.lines().count(), events.stdout.matches("\"cursor\":").count());
    assert!(events.stdout.contains(result["session_id"].as_str().unwrap()), "{}", events.stdout);
    let resumed = project.run(&["run", "--resume", "rename gamma to delta"]);
    assert_eq!(resumed.assert_ok().stdout, "Renamed gamma to delta: 1 place in 1 file.\n");
}

#[test]
fn a_task_can_come_from_standard_input() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let run = |args: &[&str], text: &[u8]| {
        let mut command = project.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        Outcome::of(child.wait_with_output().unwrap())
    };
    run(&["run", "--stdin"], b"rename alpha to omega\n").assert_ok();
    assert_eq!(project.read("a.txt"), "omega\n");
    let both = run(&["run", "rename omega", "--stdin", "--json"], b"to alpha");
    assert!(both.assert_ok().stdout.contains("rename omega\\n\\nto alpha"), "{}", both.stdout);
    assert_eq!(run(&["run", "--stdin"], b" \n").status, 2);
    assert_eq!(run(&["run", "--stdin"], b"\xff").status, 2);
}
