//! What a user who is not root may not do: a walk goes on without it, a write is refused, a command's work is told.

use emend_agent::exec::Command;
use emend_agent::session::call_tool;
use emend_agent::tools::core_tools;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::Shared;
use rustix::process::Uid;
use serde_json::json;

use super::*;
use crate::clock::SystemClock;

const FILES: &str = "//- a.txt\none\n//- closed/b.txt\ntwo\n//- closed/deep/c.txt\nthree\n//- src/d.txt\nfour\n";

/// Does `work` as a user who is not root: on a thread of its own if this one is, since users are a thread's.
fn as_nobody(work: impl FnOnce() + Send) {
    let work = || {
        if rustix::process::geteuid().is_root() {
            let nobody = Uid::from_raw(65_534);
            // In some containers root may not; elsewhere temporary files are root's alone.
            if rustix::thread::set_thread_res_uid(nobody, nobody, nobody).is_err() || TempDir::new().is_err() {
                println!("skipped: 1 case (root cannot be another user here, or that one has no temporary files)");
                return;
            }
        }
        work();
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap());
}

fn allow(disk: &Disk, path: &str, mode: u32) {
    fs::set_permissions(disk.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_may_not_be_read_is_not_found_and_not_copied() {
    as_nobody(|| {
        let disk = Disk::new(|_| FILES.to_owned());
        allow(&disk, "closed", 0o000);
        allow(&disk, "src/d.txt", 0o000);
        let environment = disk.environment();
        let found = block_on(environment.glob_paths(&FilePath::root(), "**")).unwrap();
        assert_eq!(found, [path("a.txt"), path("src/d.txt")]);
        let copy = block_on(environment.scratch(&[])).unwrap();
        let command = Command { command: "find * -type f".to_owned(), timeout_ms: 600_000, ..Command::default() };
        let nowhere = |_: emend_agent::exec::OutputStream, _: &str| {};
        let result = block_on(copy.exec_command(&command, &nowhere, &CancelToken::new())).unwrap();
        assert_eq!((result.exit_code, &*result.stdout), (0, "a.txt\n"));
        allow(&disk, "closed", 0o700);
    });
}

#[test]
fn a_command_that_closes_a_directory_has_its_other_changes_taken_in() {
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
