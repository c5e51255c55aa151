//! Several undos of commands are redone one by one, without what an undo had left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use emend_agent::workspace::{RollbackMode, RollbackRequest};
use futures::executor::block_on;
use serde_json::json;

use super::{Project, check_same};

#[test]
fn undone_commands_are_redone_one_by_one() {
    let project = Project::usual();
    let open = project.open();
    let mut trees = vec![project.tree()];
    for command in ["rm b.bin", "printf 'c\\0' > c.bin; echo x >> a.txt", "chmod 600 run.sh", "rm a.txt c.bin"] {
        open.shell(command);
        trees.push(project.tree());
    }
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    for (run, tree) in runs.iter().zip(&trees).rev() {
        block_on(open.workspace.undo_runs(&[*run])).unwrap();
        check_same(tree, &project.tree());
    }
    drop(open);
    // A later process goes on.
    for tree in &trees[1..] {
        let open = project.open();
        block_on(open.workspace.redo_runs()).unwrap();
        check_same(tree, &project.tree());
    }
    assert!(block_on(project.open().workspace.redo_runs()).is_err());
}

#[test]
fn a_redo_leaves_alone_what_the_undo_left_alone() {
    let project = Project::usual();
    let open = project.open();
    open.shell("printf 'c\\0' > b.bin; echo new > new.txt");
    fs::write(project.path("b.bin"), b"a\0b\xff").unwrap();
    open.shell("rm key");
    let before = project.tree();
    block_on(open.workspace.undo_runs(&[2])).unwrap();
    block_on(open.workspace.undo_runs(&[1])).unwrap();
    block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), b"a\0b\xff", "the user restored it, not the undo");
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&before, &project.tree());
}

#[test]
fn an_undo_of_a_command_is_redone_although_an_edit_followed_an_older_undo() {
    let project = Project::usual();
    let open = project.open();
    let edit = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" });
    open.call("read_file", json!({ "file_path": "a.txt" })).unwrap();
    open.call("edit_file", edit).unwrap();
    open.undo();
    thread::sleep(Duration::from_millis(2));
    open.call("write_file", json!({ "file_path": "w.txt", "content": "w\n" })).unwrap();
    open.shell("printf 'x\\0' > new.bin; chmod 700 run.sh");
    let after = project.tree();
    open.undo();
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
    // An edit after the undo ends the redo.
    open.undo();
    thread::sleep(Duration::from_millis(2));
    open.call("write_file", json!({ "file_path": "w2.txt", "content": "w\n" })).unwrap();
    assert!(block_on(open.workspace.redo_runs()).is_err());
}

#[test]
fn a_scoped_rollback_is_redone_before_an_older_undo_of_a_command() {
    let project = Project::usual();
    let open = project.open();
    open.shell("rm -rf ./*");
    open.undo();
    thread::sleep(Duration::from_millis(2));
    open.call("read_file", json!({ "file_path": "a.txt" })).unwrap();
    open.call("edit_file", json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" })).unwrap();
    open.call("write_file", json!({ "file_path": "w.txt", "content": "w\n" })).unwrap();
    let after = project.tree();
    let run = open.workspace.last_run() - 1;
    let request = RollbackRequest { runs: vec![run], ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), "one\ntwo\n");
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}

#[test]
fn a_scoped_rollback_of_a_command_that_changed_texts_alone_is_recorded_as_its_undo() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.shell("echo more >> a.txt; echo new > new.txt");
    let after = project.tree();
    let request = RollbackRequest { runs: vec![open.workspace.last_run()], ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    check_same(&before, &project.tree());
    assert!(!open.workspace.runs().iter().any(|run| run.is_on));
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
    // A change that is not of a text stays in effect.
    open.shell("echo more >> a.txt; printf 'x\\0' > new.bin");
    let request = RollbackRequest { runs: vec![open.workspace.last_run()], ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    assert!(project.path("new.bin").exists() && open.workspace.runs().last().unwrap().is_on);
}

#[test]
fn a_file_that_the_user_made_executable_is_so_after_undo_and_redo() {
    let project = Project::usual();
    let open = project.open();
    open.shell("echo new > new.sh");
    fs::set_permissions(project.path("new.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let after = project.tree();
    open.undo();
    assert!(!project.path("new.sh").exists());
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}

#[test]
fn a_scoped_rollback_and_a_later_undo_of_the_rest_are_redone_one_by_one() {
    let project = Project::usual();
    let mut trees = vec![project.tree()];
    let open = project.open();
    open.shell("rm a.txt b.bin");
    trees.push(project.tree());
    let request = RollbackRequest { runs: vec![open.workspace.last_run()], ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    trees.push(project.tree());
    open.undo();
    check_same(&trees[0], &project.tree());
    for tree in [&trees[2], &trees[1]] {
        block_on(open.workspace.redo_runs()).unwrap();
        check_same(tree, &project.tree());
    }
}

#[test]
fn an_edit_after_the_redo_of_a_hard_rollback_is_undone_with_the_others() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    let call = |tool: &str, path: &str, arguments: serde_json::Value| {
        let _ = open.call("read_file", json!({ "file_path": path }));
        open.call(tool, arguments).unwrap();
    };
    call("move_file", "deep/er/c.txt", json!({ "from": "deep/er/c.txt", "to": "new/in" }));
    open.shell("mv a.txt away");
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    let after = project.tree();
    let request = RollbackRequest { mode: RollbackMode::HardAll, runs: runs.clone(), ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    check_same(&before, &project.tree());
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
    call("edit_file", "new/in", json!({ "file_path": "new/in", "old_string": "sea", "new_string": "lake" }));
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs)).unwrap();
    check_same(&before, &project.tree());
}

#[test]
fn a_hard_rollback_after_an_undo_of_the_same_runs_is_redone_alone() {
    let project = Project::usual();
    let open = project.open();
    open.shell("ln -sfn key link");
    fs::copy(project.path("run.sh"), project.path("../saved")).unwrap();
    open.shell("rm -rf run.sh");
    open.shell("cp -p ../saved run.sh");
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs)).unwrap();
    let undone = project.tree();
    let request = RollbackRequest { mode: RollbackMode::HardAll, runs: vec![runs[2]], ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    assert!(!project.path("run.sh").exists(), "the second command had removed it");
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&undone, &project.tree());
}

#[test]
fn an_undo_without_effect_ends_no_redo() {
    let project = Project::usual();
    let open = project.open();
    open.shell("printf '\\0' > n.bin; rm -r deep/er; echo file > deep/er");
    open.shell("rm deep/er");
    open.shell("printf '\\0' > two.bin");
    let after = project.tree();
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    for run in runs.iter().rev() {
        block_on(open.workspace.undo_runs(&[*run])).unwrap();
    }
    let before = project.tree();
    let again = block_on(open.workspace.undo_runs(&runs)).unwrap();
    assert_eq!(again.restored, []);
    check_same(&before, &project.tree());
    while block_on(open.workspace.redo_runs()).is_ok() {}
    check_same(&after, &project.tree());
}

#[test]
fn a_redo_leaves_alone_what_is_no_text_by_now() {
    let project = Project::usual();
    let open = project.open();
    open.shell("echo x >> a.txt; printf '\\0' > n.bin");
    open.undo();
    fs::write(project.path("a.txt"), b"mine\0").unwrap();
    let redone = block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!(redone.kept.iter().map(|path| path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    assert_eq!(fs::read(project.path("a.txt")).unwrap(), b"mine\0");
    assert_eq!(fs::read(project.path("n.bin")).unwrap(), b"\0");
}
