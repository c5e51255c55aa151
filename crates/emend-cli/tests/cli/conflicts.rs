//! Places that both the agent and the user have changed: undo, redo and review show both texts and lose neither.

use std::fs;

use crate::review::answer;
use crate::support::Project;

const WAITING: &str = "x\nalpha 1\ny\n";

/// Returns a project with a pending rename from alpha to omega in `a.txt`.
fn pending(text: &str) -> Project {
    let project = Project::new(&[("a.txt", text.as_bytes())]);
    answer(&project, &["run", "rename alpha to omega", "--review"], "").assert_ok();
    project
}

/// Checks a pending rename after the user wrote `found`: the text after a review with these answers.
#[track_caller]
fn check_review(found: &str, answers: &str, expected: &str) -> String {
    let project = pending(WAITING);
    fs::write(project.path("a.txt"), found).unwrap();
    let outcome = answer(&project, &["review"], answers);
    outcome.assert_ok();
    assert_eq!(project.read("a.txt"), expected);
    outcome.stdout
}

#[test]
fn a_users_line_after_a_pending_line_stays_after_it() {
    check_review("x\nalpha 1\nMINE\ny\n", "a\n", "x\nomega 1\nMINE\ny\n");
    check_review("x\nMINE\nalpha 1\ny\n", "a\n", "x\nMINE\nomega 1\ny\n");
}

#[test]
fn a_users_line_after_an_undone_line_stays_after_it_at_a_redo() {
    #[track_caller]
    fn check(before: &str, found: &str, expected: &str) {
        let project = Project::new(&[("a.txt", before.as_bytes())]);
        project.run(&["run", "rename alpha to omega"]).assert_ok();
        project.run(&["undo"]).assert_ok();
        assert_eq!(project.read("a.txt"), before);
        fs::write(project.path("a.txt"), found).unwrap();
        project.run(&["redo"]).assert_ok();
        assert_eq!(project.read("a.txt"), expected);
        project.run(&["undo"]).assert_ok();
        assert_eq!(project.read("a.txt"), found);
    }
    check(WAITING, "x\nalpha 1\nMINE\ny\n", "x\nomega 1\nMINE\ny\n");
    check(WAITING, "x\nMINE\nalpha 1\ny\n", "x\nMINE\nomega 1\ny\n");
    check("x\nalpha 1\n", "x\nalpha 1\nMINE\n", "x\nomega 1\nMINE\n");
    check("alpha 1\nalpha 2\ny\n", "alpha 1\nMINE\nalpha 2\ny\n", "omega 1\nMINE\nomega 2\ny\n");
    check("alpha 1\nalpha 2\ny\n", "alpha 1\nalpha 2\nMINE\nMORE\ny\n", "omega 1\nomega 2\nMINE\nMORE\ny\n");
}

#[test]
fn a_place_that_the_user_has_changed_is_shown_with_both_texts() {
    let found = "x\nalpha 1, 2\ny\n";
    let shown = check_review(found, "y\n", "x\nomega 1\ny\n");
    assert!(shown.contains("were changed since"), "{shown}");
    assert!(shown.contains("  alpha 1, 2") && shown.contains("-alpha 1, 2\n+omega 1\n"), "{shown}");
    assert!(shown.contains("@@ -1,3 +1,3 @@"), "{shown}");
    check_review(found, "n\n", found);
    let shown = check_review(found, "a\nq\n", found);
    assert!(shown.contains("y write the agent's lines in place of yours"), "`a` is not offered: {shown}");
}

#[test]
fn each_line_that_the_user_has_changed_is_shown_as_removed() {
    for (found, eol) in [("ALPHA one\nALPHA two\ny\n", ""), ("alpha 1\r\nalpha 2\r\ny\r\n", "\r")] {
        let project = pending("alpha 1\nalpha 2\ny\n");
        fs::write(project.path("a.txt"), found).unwrap();
        let shown = answer(&project, &["review"], "q\n").stdout;
        let yours: Vec<&str> = found.lines().collect();
        let expected = format!("@@ -1,3 +1,3 @@\n-{}\n+omega 1\n-{}\n+omega 2\n y\n", yours[0], yours[1]);
        assert!(shown.contains(&expected), "{shown}");
        answer(&project, &["review"], "y\n").assert_ok();
        assert_eq!(project.read("a.txt"), format!("omega 1{eol}\nomega 2{eol}\ny{eol}\n"));
    }
}

#[test]
fn accepting_all_leaves_contested_hunks_pending() {
    let project = pending("alpha 1\n2\n3\n4\n5\n6\n7\n8\n9\nalpha 10\n");
    fs::write(project.path("a.txt"), b"alpha 1\n2\n3\n4\n5\n6\n7\n8\n9\nalpha ten\n").unwrap();
    let outcome = answer(&project, &["review"], "a\n");
    outcome.assert_ok();
    assert_eq!(project.read("a.txt"), "omega 1\n2\n3\n4\n5\n6\n7\n8\n9\nalpha ten\n");
    assert!(outcome.stdout.contains("1 hunk left to review"), "{}", outcome.stdout);
}

#[test]
fn a_file_that_the_user_has_deleted_is_not_made_of_hunks_alone() {
    let project = pending(WAITING);
    fs::remove_file(project.path("a.txt")).unwrap();
    let outcome = answer(&project, &["review"], "n\n");
    outcome.assert_ok();
    assert!(outcome.stdout.contains("were deleted since"), "{}", outcome.stdout);
    assert!(!project.path("a.txt").exists());
}

#[test]
fn a_deleted_file_is_made_of_the_lines_that_its_hunk_shows() {
    let project = pending(WAITING);
    fs::remove_file(project.path("a.txt")).unwrap();
    let outcome = answer(&project, &["review"], "a\ny\n");
    let shown = &outcome.assert_ok().stdout;
    // The lines around the hunk went with the file, so it shows none.
    assert!(shown.contains("a.txt (create) · hunk 1 of 1\n@@ -0,0 +1 @@\n+omega 1\nConflict: "), "{shown}");
    assert!(shown.contains("y write the agent's lines in place of yours"), "`a` is not offered: {shown}");
    assert!(shown.ends_with("1 hunk written, 0 rejected\n"), "{shown}");
    assert_eq!(project.read("a.txt"), "omega 1\n");
    project.run(&["undo"]).assert_ok();
    assert!(!project.path("a.txt").exists());
}

#[test]
fn redo_after_a_conversion_of_line_endings_is_a_conflict() {
    let project = Project::new(&[("a.txt", b"alpha 1\nalpha 2\nalpha 3\n")]);
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    project.run(&["undo"]).assert_ok();
    fs::write(project.path("a.txt"), b"alpha 1\r\nalpha 2\r\nalpha 3\r\n").unwrap();
    let outcome = project.run(&["redo"]);
    assert_eq!(outcome.status, 1);
    assert!(
        outcome.stderr.contains("error [conflict]: nothing was redone: since the undo, a.txt"),
        "{}",
        outcome.stderr
    );
    assert_eq!(project.read("a.txt"), "alpha 1\r\nalpha 2\r\nalpha 3\r\n");
    // Both texts: the present one, and that from before the undo.
    let diff =
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-alpha 1\n-alpha 2\n-alpha 3\n+omega 1\n+omega 2\n+omega 3\n";
    assert_eq!(outcome.stdout.replace('\r', ""), diff);
}

#[test]
fn a_run_that_the_user_took_back_and_restored_can_be_undone() {
    let undo: &[&str] = &["undo"];
    for (refused, then) in [(undo, undo), (undo, &["rollback", "2"]), (&["rollback", "2"], undo)] {
        let project = Project::new(&[("old.txt", b"aaa one\n"), ("d.txt", b"ccc\n")]);
        project.run(&["run", "rename aaa to bbb"]).assert_ok();
        project.run(&["run", "rename ccc to ddd"]).assert_ok();
        // As `git stash` does, and `git stash pop` below.
        fs::write(project.path("d.txt"), b"ccc\n").unwrap();
        let outcome = project.run(refused);
        assert_eq!((outcome.status, project.read("old.txt").as_str()), (1, "bbb one\n"), "{refused:?}");
        assert!(outcome.stderr.contains("nothing left to undo"), "{}", outcome.stderr);
        if refused == undo {
            let expected = "run 2 (rename ccc to ddd) has nothing left to undo: its files are as before it. To undo run 1 \
                            (rename aaa to bbb) instead, repeat the undo";
            assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
        }
        fs::write(project.path("d.txt"), b"ddd\n").unwrap();
        let listed = project.run(&["checkpoints"]).assert_ok().stdout.clone();
        assert!(!listed.contains("(undone)"), "{listed}");
        project.run(then).assert_ok();
        assert_eq!((project.read("d.txt"), project.read("old.txt")), ("ccc\n".to_owned(), "bbb one\n".to_owned()));
        project.run(&["redo"]).assert_ok();
        assert_eq!(project.read("d.txt"), "ddd\n");
    }
}

/// Checks that undo after a change of the user's to the files of the last of two runs undoes neither run.
#[track_caller]
fn check_refused(spoil: impl Fn(&Project), reason: &str) {
    let project = Project::new(&[("old.txt", b"aaa one\n"), ("d.txt", b"ccc\n")]);
    project.run(&["run", "rename aaa to bbb"]).assert_ok();
    project.run(&["run", "rename ccc to ddd"]).assert_ok();
    spoil(&project);
    let before = project.tree();
    let outcome = project.run(&["undo"]);
    assert_eq!(outcome.status, 1);
    let expected = format!("error [conflict]: run 2 (rename ccc to ddd) has nothing left to undo: {reason}");
    assert!(outcome.stderr.contains(&expected), "{}", outcome.stderr);
    let steps = "To undo run 1 (rename aaa to bbb) instead, repeat the undo, or: emend rollback 1";
    assert!(outcome.stderr.contains(steps), "{}", outcome.stderr);
    assert_eq!(project.tree(), before);
    // The steps that the message names.
    let outcome = project.run(&["undo"]);
    assert!(outcome.assert_ok().stdout.starts_with("undid run 1 (rename aaa to bbb)"), "{}", outcome.stdout);
    assert_eq!(project.read("old.txt"), "aaa one\n");
    project.run(&["redo"]).assert_ok();
    project.run(&["rollback", "1"]).assert_ok();
    assert_eq!(project.read("old.txt"), "aaa one\n");
}

#[test]
fn undo_says_why_the_last_run_cannot_be_undone_and_touches_no_older_one() {
    check_refused(|project| fs::remove_file(project.path("d.txt")).unwrap(), "d.txt is no longer there");
    check_refused(
        |project| fs::rename(project.path("d.txt"), project.path("e.txt")).unwrap(),
        "d.txt is no longer there",
    );
    check_refused(
        |project| fs::write(project.path("d.txt"), b"ddd\r\n").unwrap(),
        "d.txt was changed at the same lines since",
    );
    check_refused(
        |project| {
            fs::remove_file(project.path("d.txt")).unwrap();
            fs::create_dir(project.path("d.txt")).unwrap();
        },
        "d.txt is no longer a text file",
    );
}

#[test]
fn a_directory_in_the_place_of_a_text_of_an_older_run_blocks_no_later_run() {
    let project = Project::new(&[("h", b"aaa one\n"), ("d.txt", b"ccc\n")]);
    project.run(&["run", "rename aaa to bbb"]).assert_ok();
    assert_eq!(project.read("h"), "bbb one\n");
    fs::remove_file(project.path("h")).unwrap();
    fs::create_dir(project.path("h")).unwrap();
    project.run(&["run", "rename ccc to ddd"]).assert_ok();
    let undone = project.run(&["undo"]);
    let expected = "undid run 2 (rename ccc to ddd)\nrestored d.txt\n";
    assert!(undone.assert_ok().stdout.starts_with(expected), "{}", undone.stdout);
    assert_eq!(project.read("d.txt"), "ccc\n");
    project.run(&["redo"]).assert_ok();
    assert_eq!(project.read("d.txt"), "ddd\n");
    let rolled_back = project.run(&["rollback", "2"]);
    assert!(rolled_back.assert_ok().stdout.contains("restored d.txt\n"), "{}", rolled_back.stdout);
    assert_eq!(project.read("d.txt"), "ccc\n");
    assert!(project.path("h").is_dir());
}

#[test]
fn undo_names_its_run() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    let outcome = project.run(&["undo"]);
    assert_eq!(outcome.assert_ok().stdout, "undid run 1 (rename alpha to omega)\nrestored a.txt\n");
}
