//! Files over SSH: the conformance suite, the script of 200 calls, the ways out, and special cases of the protocol.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emend_agent::environment::conformance::{self, CASES};
use emend_agent::environment::memory::MemFs;
use emend_agent::environment::{EnvError, ExecutionEnvironment as _, FilePath};
use futures::executor::block_on;

use super::sshd::{Sshd, give};
use crate::local::tests::Disk;
use crate::local::tests::escapes::{check_escapes, place};
use crate::remote::environment::RemoteEnvironment;

fn path(path: &str) -> FilePath {
    FilePath::clean(path).unwrap()
}

/// Runs the conformance suite, several cases at the same time: most of each is waiting for the far side.
pub(super) fn check_cases(connect: &(dyn Fn(&Path) -> RemoteEnvironment + Sync)) {
    std::thread::scope(|scope| {
        for some in CASES.chunks(CASES.len().div_ceil(4)) {
            scope.spawn(move || {
                for case in some {
                    let disk = Disk::new(conformance::fixture);
                    assert_eq!(block_on(case.run(&connect(&disk.root()))), Ok(()), "{}", case.name);
                    disk.check_outside();
                }
            });
        }
    });
}

/// Runs the script of 200 calls there and in memory.
pub(super) fn check_calls(connect: &dyn Fn(&Path) -> RemoteEnvironment, writes: bool) {
    let disk = Disk::new(conformance::fixture);
    let memory = MemFs::from_fixture(&conformance::fixture("/workspace"));
    let found = block_on(conformance::transcript(&connect(&disk.root()), writes));
    assert_eq!(found, block_on(conformance::transcript(&memory, writes)));
    disk.check_outside();
}

#[test]
fn a_host_conforms() {
    let Some(sshd) = Sshd::shared() else { return };
    check_cases(&|root| sshd.environment(root));
}

/// The client of the file protocol refuses the whole list of a directory with such a name.
#[test]
fn a_name_that_is_not_utf8_is_left_out() {
    let Some(sshd) = Sshd::shared() else { return };
    let disk = Disk::new(|_| "//- sub/a.txt\nword\n//- b.txt\nword\n".to_owned());
    fs::write(disk.root().join(OsStr::from_bytes(b"sub/bad\xFF.txt")), "word\n").unwrap();
    let environment = sshd.environment(&disk.root());
    for _ in 0..2 {
        let found = block_on(environment.list(&FilePath::root(), 3)).unwrap();
        let names: Vec<_> = found.iter().map(|entry| entry.path.as_str().to_owned()).collect();
        assert_eq!(names, ["b.txt", "sub", "sub/a.txt"]);
    }
    block_on(environment.write(&path("sub/a.txt"), b"new\n")).unwrap();
    assert_eq!(block_on(environment.read(&path("sub/a.txt"))).unwrap(), b"new\n");
}

#[test]
fn a_host_conforms_on_the_threads_of_a_runtime() {
    let Some(sshd) = Sshd::shared() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let disk = Disk::new(conformance::fixture);
    let environment = sshd.environment(&disk.root());
    for case in CASES.iter().filter(|case| case.name.contains("greps") || case.name.contains("commands")) {
        assert_eq!(runtime.block_on(case.run(&environment)), Ok(()), "{}", case.name);
    }
}

#[test]
fn two_hundred_calls_give_the_same_answers_as_in_memory() {
    let Some(sshd) = Sshd::shared() else { return };
    for writes in [true, false] {
        check_calls(&|root| sshd.environment(root), writes);
    }
}

#[test]
fn no_path_leads_out_of_a_host_and_every_path_inside_works() {
    let Some(sshd) = Sshd::shared() else { return };
    let disk = place();
    let environment = Arc::new(sshd.environment(&disk.root()));
    check_escapes(&disk, 1, &mut || Arc::clone(&environment) as _);
}

/// Ends the other thread, even if an assertion fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_file_swapped_for_a_link_is_not_read_through_it() {
    let Some(sshd) = Sshd::shared() else { return };
    let disk = place();
    symlink(disk.outside(), disk.root().join("swapped")).unwrap();
    let environment = sshd.environment(&disk.root());
    let root = fs::File::open(disk.root()).unwrap();
    let stop = AtomicBool::new(false);
    let (mut n_read, mut n_refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(&root, "a.txt", &root, "swapped", rustix::fs::RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _stop = StopAtEnd(&stop);
        while n_read < 20 || n_refused < 20 {
            match block_on(environment.read(&path("a.txt"))) {
                Ok(content) => {
                    assert_eq!(content, b"inside\n");
                    n_read += 1;
                }
                Err(_) => n_refused += 1,
            }
        }
    });
    println!("{n_read} reads met the file, {n_refused} the link");
}

#[test]
fn modes_are_kept_and_read_only_files_stay() {
    let Some(sshd) = Sshd::shared() else { return };
    let disk = Disk::new(|_| "//- tool.sh\n#!/bin/sh\n//- private\nx\n".to_owned());
    let set = |name: &str, mode| fs::set_permissions(disk.root().join(name), fs::Permissions::from_mode(mode)).unwrap();
    let mode = |name: &str| fs::metadata(disk.root().join(name)).unwrap().permissions().mode() & 0o7777;
    set("tool.sh", 0o751);
    set("private", 0o600);
    let environment = sshd.environment(&disk.root());
    for name in ["tool.sh", "private"] {
        block_on(environment.write(&path(name), b"changed")).unwrap();
        assert_eq!(fs::read(disk.root().join(name)).unwrap(), b"changed");
    }
    assert_eq!((mode("tool.sh"), mode("private")), (0o751, 0o600));
    // A file that is created again gets its mode back.
    block_on(environment.remove(&path("tool.sh"))).unwrap();
    block_on(environment.write(&path("tool.sh"), b"again")).unwrap();
    assert_eq!(mode("tool.sh"), 0o751);
    set("private", 0o400);
    let refused = block_on(environment.write(&path("private"), b"x")).unwrap_err();
    assert_eq!(refused.to_string(), "private: it is read-only");
    let names: Vec<_> = fs::read_dir(disk.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_reader_sees_all_old_or_all_new_bytes() {
    let Some(sshd) = Sshd::shared() else { return };
    let disk = Disk::new(|_| String::new());
    let environment = sshd.environment(&disk.root());
    let text = |letter: u8| vec![letter; 1 << 20];
    block_on(environment.write(&path("a"), &text(b'a'))).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for letter in [b'b', b'a'].repeat(5) {
                block_on(environment.write(&path("a"), &text(letter))).unwrap();
            }
        });
        while !writer.is_finished() {
            let found = fs::read(disk.root().join("a")).unwrap();
            assert!(found == text(b'a') || found == text(b'b'), "torn: {} bytes", found.len());
        }
    });
}

#[test]
fn two_names_of_a_directory_are_one_project() {
    let Some(sshd) = Sshd::shared() else { return };
    let disk =
        Disk::new(|_| "//- app/.git/HEAD\nref: refs/heads/main\n//- app/src/a.txt\nx\n//- link -> app\n".to_owned());
    let app = sshd.environment(&disk.root().join("app"));
    let link = sshd.environment(&disk.root().join("link"));
    let below = sshd.environment(&disk.root().join("app/src"));
    let other = sshd.environment(&disk.root());
    assert_eq!((app.key(), app.key()), (link.key(), below.key()));
    assert_ne!(app.key(), other.key());
    assert!(app.key().starts_with("ssh:") && app.key().contains("@127.0.0.1:"), "{}", app.key());
    assert_eq!((app.start().as_str(), below.start().as_str()), ("", "src"));
    assert_eq!(block_on(below.read(&path("src/a.txt"))), Ok(b"x\n".to_vec()));
    assert_eq!(link.working_directory(), disk.root().join("link").to_str().unwrap());
}

#[test]
fn a_connection_that_cannot_be_made_is_explained() {
    let Some(sshd) = Sshd::shared() else { return };
    let error = |place: &str| RemoteEnvironment::connect_by(&place.parse().unwrap(), sshd.programs()).err().unwrap();
    let missing = error("ssh:box:/not/there");
    assert_eq!(missing.code().as_str(), "not_found", "{missing}");
    let file = error("ssh:box:/etc/passwd");
    assert_eq!(file.code().as_str(), "invalid_argument", "{file}");
    let EnvError::Io { reason, .. } = error("ssh:no-such-host.invalid:/srv") else {
        panic!("a host without an address")
    };
    assert!(reason.contains("cannot connect") && reason.contains("BatchMode"), "{reason}");
}

#[test]
fn a_directory_of_another_user_is_left_out_and_refused() {
    let Some(sshd) = Sshd::shared() else { return };
    let disk = Disk::new(|_| "//- a.txt\nx\n//- closed/b.txt\ny\n".to_owned());
    let environment = sshd.environment(&disk.root());
    if !rustix::process::geteuid().is_root() {
        println!("skipped: 1 case (only root can make files of another user)");
        return;
    }
    give(&disk.root().join("closed"), (0, 0));
    fs::set_permissions(disk.root().join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    let found = block_on(environment.glob_paths(&FilePath::root(), "**")).unwrap();
    assert_eq!(found, [path("a.txt")]);
    let refused = block_on(environment.read(&path("closed/b.txt"))).unwrap_err();
    assert_eq!(refused.code().as_str(), "permission_denied");
    let refused = block_on(environment.write(&path("closed/new.txt"), b"x")).unwrap_err();
    assert_eq!(refused.code().as_str(), "permission_denied");
}
