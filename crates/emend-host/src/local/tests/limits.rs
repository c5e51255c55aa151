//! Limits of the system: missing permissions, the number of open directories, and very deep trees.

use emend_agent::environment::command::Command;
use emend_agent::session::call_tool;
use emend_agent::tools::core_tools;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::Shared;
use serde_json::json;

use super::*;
use crate::clock::SystemClock;
use crate::test_support::as_nobody;

const FILES: &str = "//- a.txt\none\n//- closed/b.txt\ntwo\n//- closed/deep/c.txt\nthree\n//- src/d.txt\nfour\n";

fn allow(disk: &Disk, path: &str, mode: u32) {
    fs::set_permissions(disk.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn unreadable_files_are_neither_found_nor_copied() {
    as_nobody(|| {
        let disk = Disk::new(|_| FILES.to_owned());
        allow(&disk, "closed", 0o000);
        allow(&disk, "src/d.txt", 0o000);
        let environment = disk.environment();
        let found = block_on(environment.glob_paths(&FilePath::root(), "**")).unwrap();
        assert_eq!(found, [path("a.txt"), path("src/d.txt")]);
        let copy = block_on(environment.scratch(&[])).unwrap();
        let command = Command { command: "find * -type f".to_owned(), timeout_ms: 600_000, ..Command::default() };
        let nowhere = |_: emend_agent::environment::command::OutputStream, _: &str| {};
        let result = block_on(copy.exec_command(&command, &nowhere, &CancelToken::new())).unwrap();
        assert_eq!((result.exit_code, &*result.stdout), (0, "a.txt\n"));
        allow(&disk, "closed", 0o700);
    });
}

#[test]
fn other_changes_are_recorded_if_a_command_makes_a_directory_unreadable() {
    as_nobody(|| {
        let disk = Disk::new(|_| FILES.to_owned());
        let workspace = Workspace::new(Arc::new(disk.environment()), Mode::Direct, Shared::new(SystemClock));
        let arguments = json!({ "command": "chmod 000 closed; echo more >> a.txt", "timeout_ms": 600_000 });
        let outcome = block_on(call_tool(&core_tools(), &Shared::new(workspace), "shell", arguments));
        allow(&disk, "closed", 0o700);
        let data = outcome.unwrap().data;
        assert_eq!(data["changed"], json!(["a.txt"]));
        assert_eq!(data["left_out"], json!(["closed/b.txt", "closed/deep/c.txt"]));
    });
}

#[test]
fn a_file_of_another_user_is_not_replaced() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: 1 case (only root can make files of another user)");
        return;
    }
    let disk = Disk::new(|_| FILES.to_owned());
    for (name, mode) in [("theirs.txt", 0o644), ("shared.txt", 0o666)] {
        fs::write(disk.root().join(name), "theirs\n").unwrap();
        allow(&disk, name, mode);
    }
    for directory in [disk.around.path(), &disk.root()] {
        std::os::unix::fs::chown(directory, Some(65_534), None).unwrap();
    }
    as_nobody(|| {
        let environment = disk.environment();
        let refused = block_on(environment.write(&path("theirs.txt"), b"mine\n")).unwrap_err();
        assert_eq!(refused.code().as_str(), "permission_denied");
        block_on(environment.write(&path("shared.txt"), b"mine\n")).unwrap();
        let read = |name: &str| fs::read_to_string(disk.root().join(name)).unwrap();
        assert_eq!((read("theirs.txt"), read("shared.txt")), ("theirs\n".to_owned(), "mine\n".to_owned()));
    });
}

#[test]
fn a_file_that_is_too_large_is_searched_but_not_read() {
    let disk = Disk::new(|_| FILES.to_owned());
    let large = fs::File::create(disk.root().join("large.txt")).unwrap();
    fs::write(disk.root().join("large.txt"), "a line of a log\n".repeat(4 << 20) + "needle\n").unwrap();
    fs::write(disk.root().join("ten.txt"), "a line of a log\n".repeat(10 << 16) + "needle\n").unwrap();
    let workspace = Workspace::new(Arc::new(disk.environment()), Mode::Direct, Shared::new(SystemClock));
    let workspace = Shared::new(workspace);
    let call = |tool: &str, arguments| block_on(call_tool(&core_tools(), &workspace, tool, arguments));
    for (tool, arguments) in [
        ("read_file", json!({ "file_path": "large.txt", "limit": 1 })),
        ("edit_file", json!({ "file_path": "large.txt", "old_string": "needle", "new_string": "pin" })),
    ] {
        let error = call(tool, arguments).unwrap_err();
        assert_eq!(error.code.as_str(), "limit_reached");
        assert!(error.text().contains("67108871 bytes") && error.text().contains("grep"), "{}", error.text());
    }
    assert!(call("grep", json!({ "pattern": "needle" })).unwrap().text.contains("large.txt"));
    assert!(call("read_file", json!({ "file_path": "ten.txt", "limit": 1 })).unwrap().text.contains("a line"));
    let edit = json!({ "file_path": "ten.txt", "old_string": "needle", "new_string": "pin" });
    assert!(call("edit_file", edit).is_ok());
    // Only the size counts: nothing of a larger file is read.
    large.set_len(1 << 40).unwrap();
    let error = block_on(disk.environment().read(&path("large.txt"))).unwrap_err();
    assert!(error.to_string().contains("1099511627776 bytes"), "{error}");
}

/// Returns `n_levels` nested directories, each with a file and, beside the next level, directories with these names.
fn deep(n_levels: usize, beside: &[&str]) -> Disk {
    let disk = Disk::new(|_| String::new());
    let mut directory = disk.root();
    for level in 0..n_levels {
        fs::write(directory.join("f"), "x").unwrap();
        // File systems list in any order, but in the same one for the same names. So the names differ between levels, and
        // at most levels the next level is not the last one that a walk visits.
        let (before, after) = beside.split_at(beside.len() / 2);
        before.iter().for_each(|name| fs::create_dir(directory.join(format!("{name}{level}"))).unwrap());
        fs::create_dir(directory.join("d")).unwrap();
        after.iter().for_each(|name| fs::create_dir(directory.join(format!("{name}{level}"))).unwrap());
        directory.push("d");
    }
    disk
}

#[test]
fn a_tree_may_be_deeper_than_the_stack() {
    let disk = deep(1_500, &[]);
    let environment = disk.environment();
    let listed = block_on(environment.list(&FilePath::root(), usize::MAX)).unwrap();
    assert_eq!(listed.len(), 2 * 1_500);
    let copy = block_on(environment.scratch(&[])).unwrap();
    assert_eq!(block_on(copy.glob_paths(&FilePath::root(), "**")).unwrap().len(), 1_500);
}

#[test]
fn a_walk_without_free_file_descriptors_is_an_error() {
    const AGAIN: &str = "EMEND_TEST_FEW_HANDLES";
    let name = std::thread::current().name().unwrap().to_owned();
    if std::env::var_os(AGAIN).is_none() {
        // The limit applies to a process, so another process runs with it.
        let mut again = std::process::Command::new("sh");
        again.args(["-c", "ulimit -n 60 && exec \"$0\" --exact \"$1\" --nocapture"]);
        let output = again.arg(std::env::current_exe().unwrap()).arg(name).env(AGAIN, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{output:?}");
        return;
    }
    // One processor, so one thread: others would visit the waiting directories meanwhile, and close those above them.
    let mut one = rustix::thread::CpuSet::new();
    let all = rustix::thread::sched_getaffinity(None).unwrap();
    one.set((0..rustix::thread::CpuSet::MAX_CPU).find(|&at| all.is_set(at)).unwrap());
    rustix::thread::sched_setaffinity(None, &one).unwrap();
    // A directory stays open while several of its subdirectories wait.
    let beside = ["a", "b", "y", "z"];
    let (flat, disk) = (deep(5, &beside), deep(300, &beside));
    assert_eq!(block_on(flat.environment().glob_paths(&FilePath::root(), "**")).unwrap().len(), 5);
    let environment = disk.environment();
    for failed in [
        block_on(environment.glob_paths(&FilePath::root(), "**")).map(|found| found.len()),
        block_on(environment.list(&FilePath::root(), usize::MAX)).map(|found| found.len()),
        block_on(environment.manifest()).map(|found| found.len()),
    ] {
        assert_eq!(failed.map_err(|error| error.code().as_str()), Err("io_error"));
    }
}
