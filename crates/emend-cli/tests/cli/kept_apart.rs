//! Undo of files over the size limit, names that are not UTF-8, repositories and hard links by the program.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::support::Project;

#[test]
fn a_file_over_the_size_limit_survives_undo_and_redo() {
    let project = Project::in_memory(&[("a.txt", b"one\n")]);
    fs::create_dir(project.path("data")).unwrap();
    // 300 MiB with few blocks: more than is kept on any file system.
    fs::File::create(project.path("data/model.bin")).unwrap().set_len(300 << 20).unwrap();
    project.run(&["run", "run mv data/model.bin data/m2.bin; echo x > a.txt", "--allow", "shell"]).assert_ok();
    let undone = project.run(&["undo"]);
    assert!(!undone.assert_ok().stdout.contains("cannot be undone"), "{}", undone.stdout);
    assert_eq!(fs::metadata(project.path("data/model.bin")).unwrap().len(), 300 << 20);
    project.run(&["redo"]).assert_ok();
    assert_eq!(fs::metadata(project.path("data/m2.bin")).unwrap().len(), 300 << 20);
    assert!(!project.path("data/model.bin").exists());
}

#[test]
fn a_run_of_which_nothing_can_be_undone_does_not_make_way_for_an_older_one() {
    let project = Project::in_memory(&[("a.txt", b"one\n")]);
    project.run(&["run", "run echo x > a.txt", "--allow", "shell"]).assert_ok();
    fs::File::create(project.path("big.bin")).unwrap().set_len(300 << 20).unwrap();
    project.run(&["run", "run : > big.bin", "--allow", "shell"]).assert_ok();
    let undone = project.run(&["undo"]);
    let advice = "big.bin cannot be restored. To undo run 1 (run echo x > a.txt) instead, repeat the undo, \
                  or: emend rollback 1";
    assert!(undone.stderr.contains(advice), "{}", undone.stderr);
    assert_eq!(project.read("a.txt"), "x\n");
    project.run(&["rollback", "1"]).assert_ok();
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn names_that_are_not_utf8_and_repositories_come_back_and_are_named() {
    let project = Project::in_memory(&[(".git/HEAD", b"ref: refs/heads/main\n"), ("sub/.git/HEAD", b"x\n")]);
    let odd = project.root.path().join(OsStr::from_bytes(b"caf\xe9.txt"));
    fs::write(&odd, "coffee\n").unwrap();
    let task = "run rm *.txt; rm -r sub; echo evil > .git/hook; mkdir .git/hooks; echo evil > .git/hooks/pre-commit";
    project.run(&["run", task, "--allow", "shell"]).assert_ok();
    let undone = project.run(&["undo"]);
    let lines = &undone.assert_ok().stdout;
    for expected in ["undid the change of caf\\xe9.txt", "restored sub", "removed .git/hooks/pre-commit"] {
        assert!(lines.contains(expected), "{expected}: {lines}");
    }
    assert_eq!(fs::read(&odd).unwrap(), b"coffee\n");
    assert_eq!(project.read("sub/.git/HEAD"), "x\n");
    assert!(!project.path(".git/hooks").exists());
}

#[test]
fn a_hard_link_blocks_only_itself() {
    let project = Project::in_memory(&[("a.txt", b"alpha\n"), ("b.txt", b"alpha\n")]);
    project.run(&["run", "rename alpha to omega"]).assert_ok();
    fs::hard_link(project.path("a.txt"), project.path("twin")).unwrap();
    let undone = project.run(&["undo"]);
    let lines = &undone.assert_ok().stdout;
    assert!(lines.contains("restored b.txt\n") && lines.contains("kept a.txt: it has hard links"), "{lines}");
    assert_eq!((project.read("a.txt").as_str(), project.read("b.txt").as_str()), ("omega\n", "alpha\n"));
}
