//! Undo of several runs at once when a later one had put back what an earlier one changed, or had put a hard link there.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::support::Project;

const TEXT: &str = "alpha one\nbeta two\ngamma three\n";
const MINE: &str = "uncommitted precious\n";

fn project() -> Project {
    let project = Project::in_memory(&[("a.txt", TEXT.as_bytes()), ("n.txt", MINE.as_bytes())]);
    fs::write(project.path("backup"), TEXT).unwrap();
    project
}

/// Runs a task, a command if it begins with `$`.
#[track_caller]
fn run(project: &Project, task: &str) {
    let task = task.strip_prefix('$').map_or_else(|| task.to_owned(), |command| format!("run{command}"));
    project.run(&["run", &task, "--allow", "*"]).assert_ok();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_rollback_ends_before_the_first_run_although_a_later_one_put_a_text_back() {
    for tasks in [
        &["$ mv n.txt m.txt", "$ mv m.txt n.txt"][..],
        &["$ rm a.txt", "$ cp backup a.txt"],
        &["replace \"one\" with \"keep\"", "$ cp backup a.txt"],
        &["replace \"one\" with \"keep\"", "replace \"two\" with \"zwei\"", "$ cp backup a.txt"],
        &["$ sed -i s/one/uno/ a.txt", "replace \"uno\" with \"one\""],
        &[
            "$ sed -i s/one/uno/ a.txt",
            "replace \"uno\" with \"one\"",
            "$ rm a.txt",
            "$ cp backup a.txt; chmod 600 a.txt",
        ],
    ] {
        for options in [&[][..], &["--hard", "--yes"]] {
            let project = project();
            let before = (project.tree(), mode(&project.path("a.txt")));
            tasks.iter().for_each(|task| run(&project, task));
            let after = (project.tree(), mode(&project.path("a.txt")));
            let done = project.run(&[&["rollback", "1"][..], options].concat());
            let found = (project.tree(), mode(&project.path("a.txt")));
            assert!(found == before, "{tasks:?} {options:?}: {}{}", done.assert_ok().stdout, done.stderr);
            let redone = project.run(&["redo"]);
            let found = (project.tree(), mode(&project.path("a.txt")));
            assert!(found == after, "redo of {tasks:?} {options:?}: {}{}", redone.stdout, redone.stderr);
        }
    }
}

#[test]
fn a_rollback_keeps_a_line_of_the_user_beside_a_text_that_was_put_back() {
    let project = project();
    run(&project, "replace \"one\" with \"keep\"");
    run(&project, "$ cp backup a.txt");
    fs::write(project.path("a.txt"), format!("{TEXT}mine\n")).unwrap();
    project.run(&["rollback", "1"]).assert_ok();
    assert_eq!(project.read("a.txt"), format!("{TEXT}mine\n"));
}

#[test]
fn mode_bits_of_a_directory_and_a_text_in_it_are_undone_once() {
    for command in [
        "chmod 700 d; sed -i s/line/OM/ d/n.txt",
        "chmod 700 d; rm d/n.txt",
        "chmod 700 d; echo new > d/q",
        "chmod 700 d; sed -i s/x/y/ d/n.txt a.txt; echo new > d/q",
    ] {
        for is_at_once in [true, false] {
            let project = Project::in_memory(&[("a.txt", b"x alpha\n"), ("d/n.txt", b"x alpha\n")]);
            fs::set_permissions(project.path("d"), fs::Permissions::from_mode(0o755)).unwrap();
            let mut trees = vec![project.tree()];
            for task in ["replace \"alpha\" with \"line\"", &format!("$ {command}")] {
                run(&project, task);
                trees.push(project.tree());
            }
            trees.pop();
            if is_at_once {
                project.run(&["rollback", "1"]).assert_ok();
                trees.truncate(1);
            }
            while let Some(tree) = trees.pop() {
                if !is_at_once {
                    let undone = project.run(&["undo"]);
                    assert!(!undone.assert_ok().stdout.contains("kept"), "{command}: {}", undone.stdout);
                }
                assert_eq!(project.tree(), tree, "{command} {is_at_once}");
                assert_eq!(mode(&project.path("d")), 0o755, "{command} {is_at_once}");
            }
        }
    }
}

#[test]
fn an_undo_never_writes_into_a_file_that_a_command_linked() {
    for (path, content, before) in [
        ("a.txt", &b"precious\n"[..], &[][..]),
        ("a.txt", b"precious\n", &["replace \"one\" with \"keep\""]),
        ("a.txt", b"precious\n", &["$ rm a.txt"]),
        ("a.txt", TEXT.as_bytes(), &[]),
        ("b.bin", b"\0precious", &[]),
        ("ign/f", b"precious\n", &[]),
    ] {
        for is_at_once in [true, false] {
            let project = project();
            fs::write(project.path("b.bin"), b"\0\x01").unwrap();
            fs::write(project.path(".gitignore"), "ign/\n").unwrap();
            fs::create_dir(project.path("ign")).unwrap();
            fs::write(project.path("ign/f"), "keep\n").unwrap();
            let outside = project.state().join("outside");
            fs::write(&outside, content).unwrap();
            fs::set_permissions(&outside, fs::Permissions::from_mode(0o640)).unwrap();
            let start = (project.tree(), mode(&project.path(path)));
            before.iter().for_each(|task| run(&project, task));
            run(&project, &format!("$ ln -f {} {path}", outside.display()));
            let undone = match is_at_once {
                true => vec![project.run(&["rollback", "1"])],
                false => (0..=before.len()).map(|_| project.run(&["undo"])).collect(),
            };
            let said: String = undone.iter().map(|undone| undone.assert_ok().stdout.as_str()).collect();
            let what = format!("{path} {before:?} {is_at_once}: {said}");
            assert_eq!((fs::read(&outside).unwrap().as_slice(), mode(&outside)), (content, 0o640), "{what}");
            assert!((project.tree(), mode(&project.path(path))) == start, "{what}");
            assert_ne!(
                fs::metadata(&outside).unwrap().ino(),
                fs::metadata(project.path(path)).unwrap().ino(),
                "{what}"
            );
        }
    }
}

#[test]
fn a_refused_edit_is_not_a_run_and_hides_no_command() {
    let project = project();
    fs::remove_file(project.path("backup")).unwrap();
    fs::hard_link(project.path("a.txt"), project.path("hard.txt")).unwrap();
    project.run(&["run", "rename beta to zeta"]);
    let listed = project.run(&["checkpoints"]).stdout;
    assert!(!listed.contains("a.txt"), "{listed}");
    run(&project, "$ truncate -s 3 a.txt");
    let listed = project.run(&["checkpoints"]).assert_ok().stdout.clone();
    assert!(listed.contains("run truncate -s 3 a.txt"), "{listed}");
    project.run(&["undo"]).assert_ok();
    assert_eq!((project.read("a.txt"), project.read("hard.txt")), (TEXT.to_owned(), TEXT.to_owned()));
}
