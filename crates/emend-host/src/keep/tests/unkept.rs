//! Large ignored directories, of which nothing is kept, and files that commands bring from there or from elsewhere.

use std::fs;
use std::time::Duration;

use emend_agent::environment::FilePath;
use serde_json::json;

use super::Project;
use crate::keep::scan::CROWD;

/// Returns a project with a large ignored directory `out`, older than the clock's precision.
fn with_crowd() -> Project {
    let project = Project::usual();
    fs::create_dir_all(project.path("out/many/deep")).unwrap();
    for number in 0..CROWD {
        fs::write(project.path(&format!("out/many/deep/{number}")), format!("{number}\n")).unwrap();
    }
    std::thread::sleep(Duration::from_millis(80));
    project
}

/// Returns whether the file system knows since when a file exists. Prints a skip otherwise.
fn knows_births(project: &Project) -> bool {
    let is_known = fs::metadata(project.path("a.txt")).unwrap().created().is_ok();
    if !is_known {
        println!("skipped: 1 case (the file system knows no times of birth)");
    }
    is_known
}

#[test]
fn a_file_that_a_command_moved_out_of_a_large_ignored_directory_is_not_removed() {
    let project = with_crowd();
    if !knows_births(&project) {
        return;
    }
    fs::create_dir(project.around.path().join("outside")).unwrap();
    fs::write(project.around.path().join("outside/only"), "only\n").unwrap();
    std::thread::sleep(Duration::from_millis(80));
    let open = project.open();
    let data =
        open.shell("mv out/many/deep/7 important.txt; mv ../outside brought; cp -a a.txt copy.txt; mv b.bin moved");
    assert_eq!(data["not_undoable"], json!(["brought", "important.txt", "out"]));
    assert_eq!(data["changed"], json!(["b.bin", "copy.txt", "moved"]));
    let undone = open.undo();
    assert_eq!(undone.lost.iter().map(FilePath::as_str).collect::<Vec<_>>(), ["brought", "important.txt", "out"]);
    assert_eq!(fs::read_to_string(project.path("important.txt")).unwrap(), "7\n");
    assert_eq!(fs::read_to_string(project.path("brought/only")).unwrap(), "only\n");
    assert!(!project.path("copy.txt").exists() && !project.path("moved").exists() && project.path("b.bin").exists());
}

#[test]
fn any_change_in_a_large_ignored_directory_is_named() {
    for command in [
        "echo x >> out/many/deep/7",
        "chmod 600 out/many/deep/7",
        "rm out/many/deep/7",
        "mkdir out/many/deep/new",
        "touch -d '2020-01-01' out/many/deep/7",
        "mv out/many/deep/7 out/many/deep/seven",
    ] {
        let project = with_crowd();
        let open = project.open();
        assert_eq!(open.shell("cat out/many/deep/7 > /dev/null")["not_undoable"], json!([]));
        assert_eq!(open.shell(command)["not_undoable"], json!(["out"]), "{command}");
        let undone = open.undo();
        assert_eq!(undone.lost.iter().map(FilePath::as_str).collect::<Vec<_>>(), ["out"], "{command}");
    }
}

#[test]
fn a_large_ignored_directory_that_a_command_moved_is_not_removed() {
    let project = with_crowd();
    if !knows_births(&project) {
        return;
    }
    let open = project.open();
    assert_eq!(open.shell("mv out dataset")["not_undoable"], json!(["dataset", "out"]));
    let undone = open.undo();
    assert_eq!((undone.blocked, undone.restored), (vec![], vec![]));
    assert_eq!(fs::read_to_string(project.path("dataset/many/deep/7")).unwrap(), "7\n");
}
