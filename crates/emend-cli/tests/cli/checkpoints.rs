//! `emend checkpoints`, `rollback` and `redo`, and the trace file.

use expect_test::expect;
use serde_json::Value;

use crate::support::{Outcome, Project};

fn project() -> Project {
    let project = Project::new(&[("a.txt", b"alpha\n"), ("b.txt", b"beta\n")]);
    for task in ["rename alpha to omega", "rename beta to gamma", "rename omega to psi"] {
        project.run(&["run", task]).assert_ok();
    }
    project
}

fn listed(project: &Project) -> Vec<(u64, String, bool)> {
    let outcome = project.run(&["checkpoints", "--json"]);
    let lines = outcome.assert_ok().stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| {
            assert!(line["at_ms"].as_u64() > Some(1_600_000_000_000) && line["session"].is_string(), "{line}");
            (line["id"].as_u64().unwrap(), line["label"].as_str().unwrap().to_owned(), line["undone"] == true)
        })
        .collect()
}

#[test]
fn every_run_can_be_rolled_back_and_redone() {
    let project = project();
    let row = |run: u64, label: &str, undone: bool| (run, label.to_owned(), undone);
    let all = |undone: [bool; 3]| {
        [
            row(3, "rename omega to psi", undone[0]),
            row(2, "rename beta to gamma", undone[1]),
            row(1, "rename alpha to omega", undone[2]),
        ]
    };
    assert_eq!(listed(&project), all([false; 3]));
    let before = project.tree();
    let outcome = project.run(&["rollback", "2", "--check"]);
    expect![[r#"
        --- a/a.txt
        +++ b/a.txt
        @@ -1 +1 @@
        -psi
        +omega
        --- a/b.txt
        +++ b/b.txt
        @@ -1 +1 @@
        -gamma
        +beta
    "#]]
    .assert_eq(&outcome.assert_ok().stdout);
    assert_eq!(project.tree(), before, "a look changes nothing");
    std::fs::write(project.path("a.txt"), "psi\nmine\n").unwrap();
    let outcome = project.run(&["rollback", "2"]);
    assert_eq!(outcome.assert_ok().stdout, "restored a.txt\nrestored b.txt\n");
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("omega\nmine\n".to_owned(), "beta\n".to_owned()));
    assert_eq!(listed(&project), all([true, true, false]));
    for options in [&[][..], &["--preview"]] {
        let outcome = project.run(&[&["rollback", "2"][..], options].concat());
        let says_so = outcome.stderr.contains("run 2 and later runs have nothing left to undo");
        assert_eq!((outcome.status, says_so), (1, true));
    }
    project.run(&["redo"]).assert_ok();
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("psi\nmine\n".to_owned(), "gamma\n".to_owned()));
    assert_eq!(project.run(&["redo"]).status, 1, "there is nothing more to redo");
    let outcome = project.run(&["rollback", "9"]);
    assert!(outcome.stderr.contains("[not_found]: there is no run 9"), "{}", outcome.stderr);
    let text = project.run(&["checkpoints"]).assert_ok().stdout.clone();
    assert!(text.contains("rename beta to gamma\n      b.txt\n"), "{text}");
}

#[test]
fn one_run_is_rolled_back_where_no_later_edit_depends_on_it() {
    let project = project();
    let before = project.tree();
    let preview = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-gamma\n+beta\n";
    assert_eq!(project.run(&["rollback", "2", "--scoped", "--preview"]).assert_ok().stdout, preview);
    let kept = "kept 1 hunk of a.txt: later edits depend on it\n";
    // No diff: nothing would be undone.
    assert_eq!(project.run(&["rollback", "1", "--scoped", "--preview"]).assert_ok().stdout, kept);
    assert_eq!(project.run(&["rollback", "1", "--scoped"]).assert_ok().stdout, kept);
    assert_eq!(project.tree(), before);
    assert_eq!(project.run(&["rollback", "2", "--scoped"]).assert_ok().stdout, "restored b.txt\n");
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("psi\n".to_owned(), "beta\n".to_owned()));
    let again = project.run(&["rollback", "2", "--scoped"]);
    assert!(again.stderr.contains("run 2 has nothing left to undo"), "{}", again.stderr);
    project.run(&["redo"]).assert_ok();
    assert_eq!(project.tree(), before);
}

#[test]
fn a_trace_holds_every_event_and_no_secret() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let place = tempfile::tempdir().unwrap();
    let trace = place.path().join("trace.jsonl");
    let task = "run echo 'sk-marked\"secret-value'";
    let mut command = project.command(&["run", task, "--allow", "shell", "--json", "--trace"]);
    command.arg(&trace).env("SOME_TOKEN", "sk-marked\"secret-value");
    let outcome = Outcome::of(command.output().unwrap());
    let read = |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    let events = read(&outcome.assert_ok().stdout);
    let text = std::fs::read_to_string(&trace).unwrap();
    let traced = read(&text);
    let kinds = |events: &[Value]| {
        let mut kinds: Vec<Value> = events.iter().map(|event| event["kind"].clone()).collect();
        // Deltas of one text are written as one event.
        kinds.dedup();
        kinds
    };
    assert_eq!(kinds(&traced), kinds(&events));
    assert!(traced.len() < events.len());
    assert!(outcome.stdout.contains("secret-value") && !text.contains("secret-value"), "{text}");
    assert!(text.contains("[redacted]"));
    let outcome = project.run(&["run", "x", "--trace", "no/such/file"]);
    assert!(outcome.stderr.contains("cannot write the trace to no/such/file"), "{}", outcome.stderr);
}

#[test]
fn each_undo_goes_back_by_one_run() {
    let project = project();
    for (said, a, b) in [
        ("undid run 3 (rename omega to psi)\nrestored a.txt\n", "omega\n", "gamma\n"),
        ("undid run 2 (rename beta to gamma)\nrestored b.txt\n", "omega\n", "beta\n"),
        ("undid run 1 (rename alpha to omega)\nrestored a.txt\n", "alpha\n", "beta\n"),
    ] {
        // A process of its own: it must not take the undo before it for an interrupted one.
        assert_eq!(project.run(&["undo"]).assert_ok().stdout, said);
        assert_eq!((project.read("a.txt"), project.read("b.txt")), (a.to_owned(), b.to_owned()));
    }
    assert_eq!(project.run(&["undo"]).status, 1, "there is nothing more to undo");
}

#[test]
fn undo_says_what_became_of_each_file_and_redo_names_the_run() {
    let project = Project::new(&[("a.txt", b"alpha\n"), ("b.txt", b"bee\n")]);
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Delete File: b.txt\n*** End Patch";
    let arguments = serde_json::json!({ "patch": patch }).to_string();
    project.run(&["tools", "call", "apply_patch", &arguments]).assert_ok();
    assert_eq!(project.run(&["undo"]).assert_ok().stdout, "undid run 1\nrestored b.txt\nremoved new.txt\n");
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    project.run(&["undo"]).assert_ok();
    let expected = "redid run 2 (rename alpha to omega)\nreapplied a.txt\n";
    assert_eq!(project.run(&["redo"]).assert_ok().stdout, expected);
}

#[test]
fn a_hard_rollback_names_what_is_lost_and_can_be_redone() {
    let project = Project::new(&[("a.txt", b"alpha\nmine\n")]);
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    std::fs::write(project.path("a.txt"), "omega\nmine, changed\n").unwrap();
    let refused = project.run(&["rollback", "1", "--hard"]);
    let losses = "a.txt: 1 change of the agent and 1 change of yours";
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("--hard loses {losses}; add --yes")), "{}", refused.stderr);
    assert_eq!(project.read("a.txt"), "omega\nmine, changed\n");
    let preview = project.run(&["rollback", "1", "--hard", "--preview"]).assert_ok().stdout.clone();
    assert!(preview.contains("-mine, changed\n") && preview.contains("+alpha\n"), "{preview}");
    let done = project.run(&["rollback", "1", "--hard", "--yes"]).assert_ok().stdout.clone();
    assert_eq!(done, format!("took back {losses}\nemend redo restores them, until the next run changes a file\n"));
    assert_eq!(project.read("a.txt"), "alpha\nmine\n");
    assert_eq!(project.run(&["rollback", "1", "--hard", "--yes"]).status, 1);
    project.run(&["redo"]).assert_ok();
    assert_eq!(project.read("a.txt"), "omega\nmine, changed\n");
}
