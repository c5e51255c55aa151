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
const TEXT_AGAIN: Step = Shell("rm -r a.txt; printf 'x\\n' > a.txt");
const EDIT_TEXT: Step = Edit("x", "y");

fn hard(open: &Open, preview: bool) -> Rollback {
    let runs = open.workspace.runs().iter().map(|run| run.run_id).collect();
    let request = RollbackRequest { runs, mode: RollbackMode::HardAll, preview, ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap()
}

/// Rolls back steps. Returns the number of changes that the rollback says it has taken back, of the agent and of the user.
#[track_caller]
fn check(steps: &[Step]) -> (usize, usize) {
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
    let rollback = hard(&open, false);
    check_same(&before, &project.tree());
    assert_eq!(rollback.kept, [], "{steps:?}");
    assert!(rollback.files.iter().all(|file| !file.refused), "{steps:?} {:?}", rollback.files);
    assert!(open.workspace.runs().iter().all(|run| !run.is_on), "{steps:?}: a run is in effect");
    // A second one has nothing to do.
    let again = hard(&open, false);
    check_same(&before, &project.tree());
    assert_eq!(again.kept, [], "{steps:?}");
    let redone = block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
    assert_eq!(redone.kept, [], "{steps:?}");
    let count = |count: fn(&emend_agent::workspace::RolledBackFile) -> usize| rollback.files.iter().map(count).sum();
    (count(|file| file.reverted), count(|file| file.reverted_from_user))
}

#[test]
fn probe() {
    for steps in [
        &[Edit("one", "1"), BINARY][..],
        &[Edit("one", "1"), BINARY, TEXT],
        &[Edit("one", "1"), BINARY, TEXT, EDIT_TEXT],
        &[BINARY, TEXT, EDIT_TEXT],
        &[TEXT, BINARY, TEXT, EDIT_TEXT],
        &[Edit("one", "1"), LINK],
        &[Edit("one", "1"), LINK, TEXT_AGAIN],
        &[Edit("one", "1"), LINK, TEXT_AGAIN, EDIT_TEXT],
        &[LINK, TEXT_AGAIN, EDIT_TEXT],
        &[Edit("one", "1"), GONE],
        &[Edit("one", "1"), GONE, TEXT],
        &[Edit("one", "1"), GONE, TEXT, EDIT_TEXT],
        &[Edit("one", "1"), DIRECTORY],
        &[Edit("one", "1"), DIRECTORY, TEXT_AGAIN],
        &[Edit("one", "1"), DIRECTORY, TEXT_AGAIN, EDIT_TEXT],
        &[Edit("one", "1"), BINARY, TEXT, EDIT_TEXT, BINARY],
        &[Edit("one", "1"), BINARY, TEXT, EDIT_TEXT, BINARY, TEXT, EDIT_TEXT],
        &[Edit("one", "1"), BINARY, LINK, TEXT_AGAIN, EDIT_TEXT],
        &[DIRECTORY, TEXT_AGAIN, EDIT_TEXT],
    ] {
        let result = std::panic::catch_unwind(|| check(steps));
        println!("P {steps:?}: {result:?}");
    }
}
