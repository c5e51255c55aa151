//! Several undos of commands are redone one by one, without what an undo had left alone.

use std::fs;

use futures::executor::block_on;

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
