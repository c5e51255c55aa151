//! Mode bits of files that accepted edits have replaced: an undo restores them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use emend_agent::workspace::Mode;
use futures::executor::block_on;
use serde_json::json;

use super::{Project, check_same};

#[test]
fn mode_bits_that_accepted_edits_changed_come_back() {
    let deletion = |path: &str| {
        ("apply_patch", json!({ "patch": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch") }))
    };
    let moved = |from: &str, to: &str| ("move_file", json!({ "from": from, "to": to, "overwrite": true }));
    let cases = [
        vec![moved("run.sh", "key")],
        vec![moved("key", "new/in"), moved("run.sh", "key")],
        vec![moved("a.txt", "key"), deletion("key"), deletion("run.sh")],
    ];
    for calls in cases {
        for accepts_each in [false, true] {
            let project = Project::usual();
            let before = project.tree();
            let open = project.open_in(Mode::Staged);
            for (tool, arguments) in &calls {
                for path in ["from", "to"].iter().filter_map(|name| arguments[*name].as_str()) {
                    let _ = open.call("read_file", json!({ "file_path": path }));
                }
                open.call(tool, arguments.clone()).unwrap();
                if accepts_each {
                    block_on(open.workspace.accept_all(None)).unwrap();
                }
            }
            block_on(open.workspace.accept_all(None)).unwrap();
            let after = project.tree();
            let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
            for _ in 0..2 {
                block_on(open.workspace.undo_runs(&runs)).unwrap();
                check_same(&before, &project.tree());
                block_on(open.workspace.redo_runs()).unwrap();
                check_same(&after, &project.tree());
            }
        }
    }
}

#[test]
fn mode_bits_that_the_user_sets_after_an_accepted_edit_stay_at_its_undo() {
    let project = Project::usual();
    let open = project.open_in(Mode::Staged);
    for (old, new) in [("one", "1"), ("two", "2")] {
        open.call("read_file", json!({ "file_path": "a.txt" })).unwrap();
        open.call("edit_file", json!({ "file_path": "a.txt", "old_string": old, "new_string": new })).unwrap();
        // Only the first edit is accepted.
        if old == "one" {
            block_on(open.workspace.accept_all(None)).unwrap();
        }
    }
    fs::set_permissions(project.path("a.txt"), fs::Permissions::from_mode(0o700)).unwrap();
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs)).unwrap();
    assert_eq!(project.tree()["a.txt"], (0o700, "one\ntwo\n".to_owned()));
}
