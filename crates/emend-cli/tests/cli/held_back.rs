//! Commands in runs with `--review`: nothing that they change reaches the disk without review or undo, and every change
//! that cannot wait for review is named.

use std::fs;

use crate::review::answer;
use crate::support::{Project, covers};

fn project() -> Project {
    let project = Project::in_memory(&[
        ("a.txt", b"one\n"),
        ("logo.png", b"\x89PNG\0"),
        (".gitignore", b"build/\n*.log\n"),
        ("own.log", b"mine\n"),
    ]);
    fs::create_dir(project.path("build")).unwrap();
    fs::write(project.path("build/out.txt"), "OLD\n").unwrap();
    project
}

#[test]
fn ignored_directories_are_named_and_restored() {
    covers("command.review");
    let project = project();
    let before = project.tree();
    let task = "run echo CHANGED > build/out.txt; echo new > build/new.txt";
    let outcome = project.run(&["run", "--review", "--allow", "shell", task]);
    let warning = "warning: ignored by git, so not held back; undo restores it: build\n";
    assert!(outcome.assert_ok().stderr.contains(warning), "{}", outcome.stderr);
    assert_eq!(project.read("build/out.txt"), "CHANGED\n");
    let listed = project.run(&["checkpoints"]);
    assert!(listed.assert_ok().stdout.contains("run echo CHANGED"), "{}", listed.stdout);
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.tree(), before);
}

#[test]
fn discarded_changes_are_named() {
    covers("command.review");
    let project = project();
    let before = project.tree();
    let task = "run printf '\\0x' > logo.png; chmod +x a.txt; ln -s a.txt link; mkdir empty; echo x > own.log";
    let outcome = project.run(&["run", "--review", "--allow", "shell", task]);
    let warning = "warning: cannot wait for review, so discarded: a.txt, empty, link, logo.png, own.log\n";
    assert!(outcome.assert_ok().stderr.contains(warning), "{}", outcome.stderr);
    assert_eq!(project.tree(), before);
}

#[test]
fn a_command_that_replaces_a_directory_by_a_file_loses_that_file_alone() {
    let project = Project::new(&[("d/x", b"x\n"), ("f.txt", b"a\n")]);
    let task = "run rm -r d; echo file > d; echo more >> f.txt";
    let outcome = project.run(&["run", "--review", "--allow", "shell", task]);
    let warning = "warning: cannot wait for review, so discarded: d\n";
    assert!(outcome.assert_ok().stderr.contains(warning), "{}", outcome.stderr);
    let next = project.run(&["run", "--review", "--allow", "shell", "run true"]);
    assert!(!next.assert_ok().stderr.contains("was killed"), "{}", next.stderr);
    answer(&project, &["review"], "a\n").assert_ok();
    assert_eq!(project.tree(), [("f.txt".to_owned(), b"a\nmore\n".to_vec())]);
}
