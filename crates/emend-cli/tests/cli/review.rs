//! `--review`: hunks are written to the files only when they are accepted.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::support::{Outcome, Project};

fn project() -> Project {
    Project::new(&[("a.txt", b"alpha\n1\n2\n3\n4\n5\n6\n7\n8\n9\nalpha\n")])
}

pub(crate) fn answer(project: &Project, args: &[&str], decisions: &str) -> Outcome {
    let mut child =
        project.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(decisions.as_bytes()).unwrap();
    Outcome::of(child.wait_with_output().unwrap())
}

#[test]
fn accepted_hunks_are_written_and_rejected_ones_are_not() {
    let project = project();
    answer(&project, &["run", "rename alpha to omega", "--review"], "y\nn\n").assert_ok();
    answer(&project, &["review"], "y\nn\n").assert_ok();
    assert_eq!(project.read("a.txt"), "omega\n1\n2\n3\n4\n5\n6\n7\n8\n9\nalpha\n");
}

#[test]
fn a_review_ends_with_what_was_decided() {
    let project = project();
    answer(&project, &["run", "rename alpha to omega", "--review"], "").assert_ok();
    let outcome = answer(&project, &["review"], "y\n");
    let left = "1 hunk written, 0 rejected\n1 hunk left to review, not yet written; to continue: emend review\n";
    assert!(outcome.assert_ok().stdout.ends_with(left), "{}", outcome.stdout);
    let outcome = answer(&project, &["review"], "n\n");
    assert!(outcome.assert_ok().stdout.ends_with("0 hunks written, 1 rejected\n"), "{}", outcome.stdout);
}

#[test]
fn a_direct_run_says_that_hunks_are_pending() {
    let project = project();
    let note = "emend: 2 pending hunks of a.txt; the run works on the pending text; to decide: emend review\n";
    answer(&project, &["run", "rename alpha to omega", "--review"], "").assert_ok();
    for options in [&[][..], &["--json"], &["-p"]] {
        let outcome = project.run(&[&["run", "rename beta to gamma"][..], options].concat());
        assert!(outcome.assert_ok().stderr.contains(note), "{options:?}: {}", outcome.stderr);
        let review = project.run(&[&["run", "rename beta to gamma", "--review"][..], options].concat());
        assert!(!review.stderr.contains(note), "{options:?}: {}", review.stderr);
    }
    answer(&project, &["review"], "d\n").assert_ok();
    let outcome = project.run(&["run", "rename beta to gamma"]);
    assert!(!outcome.assert_ok().stderr.contains("pending"), "{}", outcome.stderr);
}

#[test]
fn undecided_hunks_wait_outside_the_project_for_a_later_review() {
    let project = project();
    let before = project.tree();
    let outcome = answer(&project, &["run", "rename alpha to omega", "--review"], "");
    outcome.assert_ok();
    assert!(outcome.stderr.contains("2 hunks wait for review; to decide: emend review"), "{}", outcome.stderr);
    assert_eq!(project.tree(), before);
    answer(&project, &["review"], "n\ny\n").assert_ok();
    assert_eq!(project.read("a.txt"), "alpha\n1\n2\n3\n4\n5\n6\n7\n8\n9\nomega\n");
    let outcome = answer(&project, &["review"], "");
    outcome.assert_ok();
    assert!(outcome.stdout.contains("nothing"), "{}", outcome.stdout);
}

#[test]
fn a_hunk_that_cannot_be_cut_is_marked() {
    let note = "This hunk is larger than usual and cannot be cut";
    for (n_bytes, is_marked) in [(100, false), (9_000, true)] {
        let project = project();
        let call = ("write_file", serde_json::json!({"file_path": "b.txt", "content": "x".repeat(n_bytes)}));
        project.run_calls(&[call], &["--review"]).assert_ok();
        let outcome = answer(&project, &["review"], "q\n");
        assert_eq!(outcome.assert_ok().stdout.contains(note), is_marked, "{n_bytes}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_hunk_that_removes_lines_of_the_user_is_marked() {
    use crate::serve::Server;
    for (removed, is_marked) in [("5\n", false), ("MINE\n", true)] {
        let project = project();
        let typed = project.read("a.txt").replace("5\n", "5\nMINE\n");
        // The user types in the editor of the app.
        let server = Server::start(&project, &[]);
        server.ok("POST", "/api/agent/user_edit", &json!({"file_path": "a.txt", "content": typed}));
        drop(server);
        assert_eq!(project.read("a.txt"), typed);
        let call = ("edit_file", json!({"file_path": "a.txt", "old_string": removed, "new_string": ""}));
        project.run_calls(&[call], &["--review"]).assert_ok();
        let shown = answer(&project, &["review"], "q\n").assert_ok().stdout.clone();
        assert!(shown.contains(&format!("\n-{removed}")), "{shown}");
        assert_eq!(shown.contains("\nThis hunk removes lines that you wrote.\n"), is_marked, "{shown}");
    }
}

#[test]
fn a_hunk_is_split_at_a_line_and_decided_in_parts() {
    let project = project();
    let call = ("write_file", serde_json::json!({"file_path": "b.txt", "content": "A\nB\nC\n"}));
    project.run_calls(&[call], &["--review"]).assert_ok();
    let answers = "p\nx\np\n1\np\n3\ny\nn\n";
    let outcome = answer(&project, &["review"], answers);
    let text = &outcome.assert_ok().stdout;
    for part in [
        "   1 +A\n   2 +B\n   3 +C\nStart the second part with which line [2-3]? ",
        "That is not the number of a line; the hunk was not split.",
        "Both parts need a changed line; the hunk was not split.",
        "hunk 1 of 2",
        "hunk 2 of 2",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(project.read("b.txt"), "A\nB\n");
    assert!(answer(&project, &["review"], "").assert_ok().stdout.contains("nothing"));
}

#[test]
fn one_answer_decides_on_all_hunks_that_follow_in_every_file() {
    for (answers, expected) in
        [("n\na\n", ["alpha\n", "omega\n", "omega\n"]), ("y\nd\n", ["omega\n", "alpha\n", "alpha\n"])]
    {
        let project = Project::new(&[("a.txt", b"alpha\n"), ("b.txt", b"alpha\n"), ("c.txt", b"alpha\n")]);
        answer(&project, &["run", "rename alpha to omega", "--review"], "").assert_ok();
        answer(&project, &["review"], answers).assert_ok();
        assert_eq!(["a.txt", "b.txt", "c.txt"].map(|path| project.read(path)), expected, "{answers:?}");
    }
}

#[test]
fn output_for_programs_asks_no_questions() {
    for output in ["json", "stream-json"] {
        let project = project();
        let before = project.tree();
        let outcome = answer(&project, &["run", "rename alpha to omega", "--review", "--output", output], "y\ny\n");
        outcome.assert_ok();
        assert!(outcome.stdout.lines().all(|line| line.starts_with('{')), "{}", outcome.stdout);
        assert_eq!(project.tree(), before, "the answers were not read");
    }
}

#[test]
fn a_hunk_without_a_final_line_feed_says_so() {
    let project = Project::new(&[("a.txt", b"alpha")]);
    let outcome = answer(&project, &["run", "rename alpha to omega", "--review"], "");
    outcome.assert_ok();
    let shown = answer(&project, &["review"], "q\n");
    let mark = "\\ No newline at end of file\n";
    assert!(shown.stdout.contains(&format!("@@ -1 +1 @@\n-alpha\n{mark}+omega\n{mark}")), "{}", shown.stdout);
    let undone = project.run(&["undo"]);
    let name = "undid run 1 (rename alpha to omega)";
    assert_eq!(undone.assert_ok().stdout, format!("{name}\nwithdrew the pending edits of a.txt\n"));
}

#[test]
fn the_next_process_knows_what_was_undone() {
    let project = project();
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    let after = project.tree();
    project.run(&["undo"]).assert_ok();
    assert!(project.run(&["checkpoints"]).assert_ok().stdout.contains("(undone)"));
    project.run(&["redo"]).assert_ok();
    assert_eq!(project.tree(), after);
}

#[test]
fn a_hunk_that_cannot_be_written_does_not_end_the_review() {
    let project = Project::new(&[("d/x", b"alpha\n")]);
    let write = |path: &str| ("write_file", json!({ "file_path": path, "content": "omega\n" }));
    project.run_calls(&[write("d/n"), write("e.txt")], &["--review"]).assert_ok();
    std::fs::remove_dir_all(project.path("d")).unwrap();
    std::fs::write(project.path("d"), "mine\n").unwrap();
    let outcome = answer(&project, &["review"], "y\ny\n");
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("This hunk still waits: "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("1 hunk written, 0 rejected"), "{}", outcome.stdout);
    assert_eq!((project.read("d"), project.read("e.txt")), ("mine\n".to_owned(), "omega\n".to_owned()));
}

#[test]
fn a_redo_of_pending_edits_says_that_they_wait_again() {
    let project = project();
    answer(&project, &["run", "rename alpha to omega", "--review"], "").assert_ok();
    project.run(&["undo"]).assert_ok();
    let redone = project.run(&["redo"]);
    let said = "the edits of a.txt wait for review again";
    assert!(redone.assert_ok().stdout.contains(said), "{}", redone.stdout);
    answer(&project, &["review"], "y\ny\n").assert_ok();
    assert!(!project.read("a.txt").contains("alpha"));
}
