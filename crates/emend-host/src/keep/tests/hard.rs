//! Hard rollbacks of texts that commands made something else in between.

use emend_agent::workspace::{Rollback, RollbackMode, RollbackRequest};
use futures::executor::block_on;
use serde_json::json;

use super::{Open, Project, check_same};

/// A step of the agent in `a.txt`.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Replaces the first text by the second one.
    Edit(&'static str, &'static str),
    Shell(&'static str),
}
use Step::{Edit, Shell};

const BINARY: Step = Shell("printf 'b\\0' > a.txt");
const TEXT: Step = Shell("printf 'x\\n' > a.txt");
const LINK: Step = Shell("rm a.txt; ln -s deep a.txt");
const GONE: Step = Shell("rm a.txt");
const DIRECTORY: Step = Shell("rm a.txt; mkdir a.txt; echo in > a.txt/in");
const TEXT_AGAIN: Step = Shell("rm -rf a.txt; printf 'x\\n' > a.txt");
const EDIT_TEXT: Step = Edit("x", "y");

fn hard(open: &Open) -> Rollback {
    roll_back(open, false)
}

fn roll_back(open: &Open, preview: bool) -> Rollback {
    let runs = open.workspace.runs().iter().map(|run| run.run_id).collect();
    let request = RollbackRequest { runs, mode: RollbackMode::HardAll, preview, ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap()
}

/// Rolls the steps back, twice if wanted, and redoes them. Returns the number of changes of the agent and of the user that
/// the rollback says it has taken back from `a.txt`.
#[track_caller]
fn check_times(steps: &[Step], times: usize) -> (usize, usize) {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    for step in steps {
        match step {
            Edit(old, new) => {
                open.call("read_file", json!({ "file_path": "a.txt" })).unwrap();
                let edit = json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
                open.call("edit_file", edit).unwrap();
            }
            Shell(command) => _ = open.shell(command),
        }
    }
    let after = project.tree();
    let mut counts = Vec::new();
    for _ in 0..times {
        let rollback = hard(&open);
        check_same(&before, &project.tree());
        assert_eq!(rollback.kept, [], "{steps:?}");
        assert!(open.workspace.runs().iter().all(|run| !run.is_on), "{steps:?}: a run is in effect");
        let file = rollback.files.into_iter().find(|file| file.file_path.as_str() == "a.txt").unwrap();
        assert!(!file.refused, "{steps:?}");
        assert_eq!(file.texts.after.as_deref(), Some("one\ntwo\n"), "{steps:?}");
        counts.push((file.reverted, file.reverted_from_user));
    }
    let redone = block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
    assert_eq!(redone.kept, [], "{steps:?}");
    assert!(counts[1..].iter().all(|again| *again == (0, 0)), "{steps:?}: {counts:?}");
    counts[0]
}

#[track_caller]
fn check(steps: &[Step], expected: (usize, usize)) {
    for times in [1, 2] {
        assert_eq!(check_times(steps, times), expected, "{steps:?}");
    }
}

#[test]
fn texts_that_commands_made_something_else_in_between_come_back_at_a_hard_rollback() {
    const EDIT: Step = Edit("one", "1");
    for other in [BINARY, LINK, DIRECTORY] {
        check(&[EDIT, other], (1, 0));
        check(&[EDIT, other, TEXT_AGAIN], (1, 1));
        check(&[EDIT, other, TEXT_AGAIN, EDIT_TEXT], (2, 1));
        check(&[other, TEXT_AGAIN, EDIT_TEXT], (1, 0));
        check(&[EDIT, other, TEXT_AGAIN, EDIT_TEXT, other], (2, 1));
        check(&[EDIT, other, TEXT_AGAIN, EDIT_TEXT, other, TEXT_AGAIN, EDIT_TEXT], (2, 1));
        check(&[EDIT, BINARY, other, TEXT_AGAIN, EDIT_TEXT], (2, 1));
        check(&[TEXT, other, TEXT_AGAIN, EDIT_TEXT], (2, 0));
    }
    check(&[EDIT, GONE], (2, 0));
    check(&[EDIT, GONE, TEXT], (3, 0));
    check(&[EDIT, GONE, TEXT, EDIT_TEXT], (4, 0));
}

#[test]
fn a_text_that_a_later_command_made_binary_is_named_before_a_hard_rollback() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.shell("echo tt > a.txt");
    open.shell("printf 'b\\0' > a.txt");
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    let others = block_on(open.workspace.other_changes(&runs, true)).unwrap();
    let named: Vec<_> = others.iter().map(|change| (change.path.as_str(), change.is_blocked)).collect();
    assert_eq!(named, [("a.txt", false)]);
    hard(&open);
    check_same(&before, &project.tree());
}

#[test]
fn the_preview_of_a_hard_rollback_refuses_no_text_that_the_keeper_restores() {
    for other in [BINARY, LINK, DIRECTORY] {
        let Shell(command) = other else { unreachable!() };
        let project = Project::usual();
        let before = project.tree();
        let open = project.open();
        open.call("edit_file", json!({ "file_path": "a.txt", "old_string": "one", "new_string": "1" })).unwrap();
        open.shell(command);
        let changed = project.tree();
        let previewed = roll_back(&open, true);
        check_same(&changed, &project.tree());
        let done = hard(&open);
        check_same(&before, &project.tree());
        for (name, rollback) in [("preview", previewed), ("rollback", done)] {
            let refused =
                |path: &str| rollback.files.iter().any(|file| file.refused && file.file_path.as_str() == path);
            assert_eq!(rollback.files[0].file_path.as_str(), "a.txt", "{name}: {command}");
            assert!(!refused("a.txt"), "{name}: {command}");
        }
    }
}
