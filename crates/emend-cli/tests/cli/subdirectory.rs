//! A program that starts below the root of a git repository works on the same project.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Outcome, Project, answer, scripted};

/// Returns a repository with these settings in its root, and a subdirectory.
fn project(settings: &str) -> Project {
    let files: &[(&str, &[u8])] = &[
        (".emend.toml", settings.as_bytes()),
        ("AGENTS.md", b"Root instructions.\n"),
        ("a.txt", b"alpha root\n"),
        ("sub/a.txt", b"alpha sub\n"),
        ("sub/deep/AGENTS.md", b"Deep instructions.\n"),
        ("sub/deep/a.txt", b"alpha deep\n"),
    ];
    let project = Project::new(files);
    fs::create_dir(project.path(".git")).unwrap();
    project
}

fn run_in(project: &Project, directory: &str, args: &[&str]) -> Outcome {
    Outcome::of(project.command(args).current_dir(project.path(directory)).output().unwrap())
}

#[test]
fn the_rules_of_the_root_hold_in_every_directory() {
    let rules = project("deny = [\"shell:touch *\"]\n");
    let outcome = run_in(&rules, "sub", &["run", "run touch x", "--allow", "shell"]);
    assert!(outcome.assert_ok().stdout.contains("deny shell:touch *"), "{}", outcome.stdout);
    assert!(!rules.path("sub/x").exists());
    for settings in ["deny = [\"edit_file:sub/deep/**\"]\n", "review = true\n"] {
        let project = project(settings);
        run_in(&project, "sub/deep", &["run", "rename alpha to omega"]).assert_ok();
        assert_eq!(project.read("sub/deep/a.txt"), "alpha deep\n", "{settings}");
    }
    let hidden = project("deny = [\"*:sub/deep/a.txt\"]\n");
    let mut command = hidden.command(&["run", "go", "--json", "--model", "openai_compatible:m"]);
    let url = scripted(&[("grep", json!({"pattern": "alpha"})), ("read_file", json!({"file_path": "deep/a.txt"}))]);
    let output = command.current_dir(hidden.path("sub")).env("OPENAI_COMPATIBLE_BASE_URL", url).output().unwrap();
    let events = Outcome::of(output).stdout;
    assert!(events.contains("alpha sub") && !events.contains("alpha deep"), "{events}");
}

#[test]
fn a_nearer_file_adds_rules_and_cannot_remove_any() {
    let project =
        project("deny = [\"shell:touch *\"]\neffort = \"low\"\nstreaming = true\nreview = true\nmax_tool_rounds = 5\n");
    fs::write(
        project.path("sub/.emend.toml"),
        "deny = [\"edit_file:gen/**\"]\neffort = \"high\"\nstreaming = false\nmax_tool_rounds = 9\n",
    )
    .unwrap();
    let shown = run_in(&project, "sub", &["config", "--json"]).assert_ok().stdout.clone();
    let rows: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let values = |name: &str| -> Vec<Value> {
        rows.iter().filter(|row| row["name"] == name).map(|row| row["value"].clone()).collect()
    };
    assert_eq!(values("deny"), ["shell:touch *", "edit_file:sub/gen/**", "edit_file:gen/**"]);
    assert_eq!((values("streaming"), values("review")), (vec![json!(false)], vec![json!(true)]));
    assert_eq!(values("effort"), [json!("low")]);
    assert_eq!(values("max_tool_rounds"), [json!(5)]);
    for weaker in ["review = false", "sandbox = false", "allow = [\"shell\"]"] {
        fs::write(project.path("sub/.emend.toml"), weaker).unwrap();
        let outcome = run_in(&project, "sub", &["config"]);
        assert_eq!(outcome.status, 3, "{weaker}: {}", outcome.stdout);
    }
    // A directory beside it has other settings.
    assert!(run_in(&project, ".", &["config"]).assert_ok().stdout.contains("low"));
}

#[test]
fn lock_undo_and_conversations_belong_to_the_whole_project() {
    let project = project("");
    run_in(&project, "sub", &["run", "rename alpha to omega"]).assert_ok();
    assert_eq!(project.read("sub/a.txt"), "omega sub\n");
    assert_eq!(project.read("sub/deep/a.txt"), "omega deep\n");
    assert_eq!(project.read("a.txt"), "alpha root\n", "the agent works below the directory in which it was started");
    let sessions = |directory: &str| run_in(&project, directory, &["sessions", "list", "--json"]).stdout;
    assert_eq!((sessions("sub"), sessions("sub").lines().count()), (sessions("."), 1));
    let listed = run_in(&project, "sub/deep", &["checkpoints"]).stdout.clone();
    assert!(listed.contains("sub/a.txt sub/deep/a.txt"), "{listed}");
    let locked = project.lock();
    for args in [&["run", "rename alpha to beta"][..], &["undo"]] {
        let outcome = run_in(&project, "sub", args);
        assert!(outcome.stderr.contains("[busy]"), "{args:?}: {}", outcome.stderr);
    }
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-omega sub\n+other\n*** End Patch\n";
    fs::write(project.path("fix.patch"), patch).unwrap();
    let patched = run_in(&project, "sub", &["patch", "../fix.patch"]);
    assert!(patched.stderr.contains("[busy]"), "{}", patched.stderr);
    drop(locked);
    run_in(&project, ".", &["undo"]).assert_ok();
    assert_eq!(project.read("sub/a.txt"), "alpha sub\n");
    let patched = run_in(&project, "sub", &["patch", "../fix.patch"]);
    assert!(patched.stderr.contains("a.txt"), "the text to replace was undone: {}", patched.stderr);
}

#[test]
fn tools_and_commands_start_in_the_directory_and_documents_come_from_the_root() {
    let project = project("");
    run_in(&project, "sub/deep", &["run", "run pwd > here", "--allow", "shell"]).assert_ok();
    let here = project.read("sub/deep/here");
    assert_eq!(here.trim_end(), project.path("sub/deep").canonicalize().unwrap().to_str().unwrap());
    run_in(&project, ".", &["undo"]).assert_ok();
    assert!(!project.path("sub/deep/here").exists());
    let read = run_in(&project, "sub/deep", &["tools", "call", "read_file", r#"{"file_path": "a.txt"}"#]);
    assert!(read.assert_ok().stdout.contains("alpha deep"), "{}", read.stdout);
    let outside = run_in(&project, "sub/deep", &["tools", "call", "read_file", r#"{"file_path": "../a.txt"}"#]);
    assert!(outside.stdout.contains("permission_denied"), "{}", outside.stdout);
    // In review mode, commands run in a copy of the whole project.
    let staged =
        run_in(&project, "sub", &["run", "run cat ../a.txt a.txt; touch ../b.txt", "--review", "--allow", "shell"]);
    assert!(
        staged.assert_ok().stderr.contains("alpha root") && staged.stderr.contains("alpha sub"),
        "{}",
        staged.stderr
    );
    assert!(!project.path("b.txt").exists());
    let body = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{}";
    let (url, requests) = answer(body.to_owned());
    let mut command = project.command(&["run", "go", "--model", "openai_compatible:m"]);
    command.current_dir(project.path("sub/deep")).env("OPENAI_COMPATIBLE_BASE_URL", url).output().unwrap();
    let request = requests.recv().unwrap();
    let at = |text: &str| request.find(text).unwrap_or_else(|| panic!("{text} in {request}"));
    assert!(at("Root instructions.") < at("Deep instructions."), "deeper documents come later");
}

#[test]
fn without_a_repository_the_directory_is_the_project() {
    let project = project("deny = [\"edit_file\"]\n");
    fs::remove_dir(project.path(".git")).unwrap();
    run_in(&project, "sub", &["run", "rename alpha to omega"]).assert_ok();
    assert_eq!(project.read("sub/a.txt"), "omega sub\n");
    assert!(run_in(&project, ".", &["sessions"]).stdout.contains("no saved sessions"));
}

#[test]
#[cfg(unix)]
fn a_settings_file_that_leads_out_of_the_project_or_is_no_file_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "root:hunter2:0\n").unwrap();
    for (target, is_refused) in
        [(outside.path().join("secret"), true), ("/dev/null".into(), true), ("sub/own.toml".into(), false)]
    {
        let project = project("");
        fs::write(project.path("sub/own.toml"), "review = true\n").unwrap();
        fs::remove_file(project.path(".emend.toml")).unwrap();
        std::os::unix::fs::symlink(&target, project.path(".emend.toml")).unwrap();
        let outcome = run_in(&project, "sub", &["config"]);
        assert_eq!(outcome.status == 3, is_refused, "{}: {}", target.display(), outcome.stderr);
        assert!(!outcome.stderr.contains("hunter2"), "{}", outcome.stderr);
    }
}
