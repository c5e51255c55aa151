//! The conformance suite on disk, and cases that only a disk has: FIFOs, devices, modes, hard links, swapped directories.

mod commands;
pub(crate) mod escapes;
#[cfg(target_os = "linux")]
mod limits;
mod oracles;
mod same_as_memory;
mod tools;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use emend_agent::environment::conformance::{self, CASES};
use emend_agent::environment::memory::{FixtureContent, MemFs, parse_fixture};
use futures::executor::block_on;
use proptest::test_runner::{Config, RngSeed};
use tempfile::TempDir;

use super::*;
use crate::test_support::covers;

/// Returns the settings of a property test. The seed is fixed, so every run has the same cases.
fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(0x0e3e_4d01), ..Config::default() }
}

/// A directory with a root and a file outside it that must never be reached.
pub(crate) struct Disk {
    pub(crate) around: TempDir,
}

impl Disk {
    pub(crate) fn new(fixture: impl FnOnce(&str) -> String) -> Self {
        // In memory if possible: every write is synced, and no test simulates a power cut.
        let disk = Self { around: TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap() };
        fs::create_dir(disk.root()).unwrap();
        fs::write(disk.outside(), "secret\n").unwrap();
        let fixture = fixture(disk.root().to_str().unwrap());
        for (path, content) in parse_fixture(&fixture) {
            let path = disk.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match content {
                FixtureContent::File(text) => fs::write(path, text).unwrap(),
                FixtureContent::Link(target) => symlink(target, path).unwrap(),
            }
        }
        disk
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.around.path().join("project")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.around.path().join("outside.txt")
    }

    fn environment(&self) -> LocalEnvironment {
        LocalEnvironment::new(self.root()).unwrap()
    }

    /// Checks that nothing outside the root was changed or created.
    #[track_caller]
    pub(crate) fn check_outside(&self) {
        assert_eq!(fs::read(self.outside()).unwrap(), b"secret\n");
        let mut names: Vec<String> = fs::read_dir(self.around.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["outside.txt", "project"]);
    }
}

#[test]
fn a_written_file_is_on_the_disk_before_it_has_its_name() {
    let disk = Disk::new(|_| "//- a.txt\nold\n".to_owned());
    block_on(disk.environment().write(&path("a.txt"), b"new content\n")).unwrap();
    crate::files::synced::check(&disk.root().join("a.txt"));
}

#[test]
fn a_file_keeps_its_content_until_the_first_step_ends() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let disk = Disk::new(|_| "//- a.txt\nold\n".to_owned());
    let (environment, root) = (disk.environment(), disk.root());
    let is_prepared = |root: &std::path::Path| {
        fs::read_dir(root).unwrap().any(|entry| entry.unwrap().file_name().to_string_lossy().ends_with(".emend-tmp"))
    };
    // The new content is prepared while the step runs; only its name is missing.
    let step = || {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !is_prepared(&root) && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(is_prepared(&root));
        // Longer than the preparation of a few bytes takes.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(fs::read(root.join("a.txt")).unwrap(), b"old\n");
        Ok(())
    };
    let change = FileChange {
        path: path("a.txt"),
        before: Some(b"old\n".to_vec()),
        after: Some(b"new\n".to_vec()),
        mode_of: None,
        executable: None,
        over_read_only: false,
    };
    runtime.block_on(environment.change_after(&step, &[change])).unwrap();
    assert_eq!(fs::read(root.join("a.txt")).unwrap(), b"new\n");
    assert!(!is_prepared(&root));
}

fn path(path: &str) -> FilePath {
    FilePath::clean(path).unwrap()
}

#[test]
fn the_local_machine_conforms() {
    covers("environment.local confinement.path confinement.link confinement.directory_link confinement.listing");
    for case in CASES {
        let disk = Disk::new(conformance::fixture);
        assert_eq!(block_on(case.run(&disk.environment())), Ok(()), "{}", case.name);
        disk.check_outside();
    }
}

#[test]
fn two_hundred_calls_give_the_same_answers_as_in_memory() {
    covers("environment.custom");
    for writes in [true, false] {
        let (disk, memory) =
            (Disk::new(conformance::fixture), MemFs::from_fixture(&conformance::fixture("/workspace")));
        let found = block_on(conformance::transcript(&disk.environment(), writes));
        assert_eq!(found, block_on(conformance::transcript(&memory, writes)));
        disk.check_outside();
    }
}

#[test]
fn the_local_machine_conforms_with_a_journal() {
    for case in CASES {
        let (disk, home) = (Disk::new(conformance::fixture), TempDir::new().unwrap());
        let state = StateDir::open_in(home.path(), &disk.root()).unwrap();
        assert_eq!(block_on(case.run(&disk.environment().with_journal(Arc::new(state)))), Ok(()), "{}", case.name);
        disk.check_outside();
    }
}

#[test]
fn the_local_machine_conforms_on_the_threads_of_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for case in CASES {
        let disk = Disk::new(conformance::fixture);
        assert_eq!(runtime.block_on(case.run(&disk.environment())), Ok(()), "{}", case.name);
    }
}

#[test]
fn a_root_behind_a_link_has_two_names() {
    let disk = Disk::new(|_| "//- a.txt\nx\n".to_owned());
    let link = disk.around.path().join("link");
    symlink(disk.root(), &link).unwrap();
    let environment = LocalEnvironment::new(&link).unwrap();
    assert_eq!(environment.working_directory(), link.to_str().unwrap());
    for name in [link.join("a.txt"), disk.root().join("a.txt"), disk.root().canonicalize().unwrap().join("a.txt")] {
        let found = block_on(environment.resolve(name.to_str().unwrap(), Access::Read));
        assert_eq!(found.unwrap().as_str(), "a.txt", "{}", name.display());
    }
}

#[test]
fn the_root_has_a_clean_name() {
    let disk = Disk::new(|_| "//- sub/a.txt\nx\n".to_owned());
    let real = disk.root().canonicalize().unwrap();
    let root = real.to_str().unwrap();
    for name in [root.to_owned(), format!("{root}/"), format!("{root}/."), format!("{root}/sub/..")] {
        let environment = LocalEnvironment::new(&name).unwrap();
        assert_eq!((environment.working_directory().as_str(), environment.root()), (root, real.as_path()), "{name}");
    }
}

#[test]
fn a_root_must_be_a_directory() {
    let disk = Disk::new(|_| String::new());
    let code = |path: PathBuf| LocalEnvironment::new(path).err().map(|error| error.code().as_str());
    assert_eq!(code(disk.root().join("missing")), Some("not_found"));
    assert_eq!(code(disk.outside()), Some("invalid_argument"));
    assert_eq!(code(disk.root()), None);
}

/// Creates entries that are neither files nor directories.
fn make_special(disk: &Disk) {
    let fifo = |name: &str| {
        let directory = fs::File::open(disk.root()).unwrap();
        rustix::fs::mknodat(&directory, name, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    };
    fifo("fifo");
    fifo("sub/.gitignore");
    symlink("fifo", disk.root().join("to_fifo")).unwrap();
    symlink("/dev/zero", disk.root().join("to_device")).unwrap();
    std::os::unix::net::UnixListener::bind(disk.root().join("socket")).unwrap();
}

#[test]
fn special_files_are_rejected_and_nothing_hangs() {
    let disk = Disk::new(|_| "//- a.txt\nneedle\n//- sub/b.txt\nneedle\n".to_owned());
    make_special(&disk);
    let environment = disk.environment();
    let code = |found: Result<FilePath, EnvError>| found.unwrap_err().code().as_str();
    for access in [Access::Read, Access::Write, Access::List] {
        for name in ["fifo", "to_fifo", "socket", "fifo/below"] {
            assert_eq!(code(block_on(environment.resolve(name, access))), "invalid_argument", "{name}");
        }
        assert_eq!(code(block_on(environment.resolve("to_device", access))), "permission_denied");
    }
    for name in ["fifo", "to_fifo", "socket", "to_device"] {
        assert!(block_on(environment.read(&path(name))).is_err(), "{name}");
        assert!(block_on(environment.write(&path(name), b"x")).is_err(), "{name}");
        assert!(block_on(environment.remove(&path(name))).is_err(), "{name}");
        assert!(block_on(environment.list(&path(name), 1)).is_err(), "{name}");
        assert_eq!(block_on(environment.metadata(&path(name))), Ok(None), "{name}");
    }
    let listed = block_on(environment.list(&FilePath::root(), 2)).unwrap();
    let listed: Vec<&str> = listed.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(listed, ["a.txt", "sub", "sub/b.txt"]);
    let found = block_on(environment.glob(&FilePath::root(), "**")).unwrap();
    assert_eq!(found.len(), 2);
    let query = GrepQuery {
        matcher: emend_agent::search::Matcher::new("needle", false).unwrap(),
        path: FilePath::root(),
        glob: None,
        exclude: Vec::new(),
        max_results: 10,
        context_lines: 0,
    };
    assert_eq!(block_on(environment.grep(&query)).unwrap().len(), 2);
}

#[test]
fn a_gitignore_that_is_a_link_is_not_read() {
    let disk = Disk::new(|_| {
        "//- a.txt\nx\n//- .gitignore -> ../rules\n//- sub/.gitignore -> ../rules\n//- sub/a.txt\nx\n//- rules\na.txt\n"
            .to_owned()
    });
    fs::write(disk.around.path().join("rules"), "a.txt\n").unwrap();
    let found = block_on(disk.environment().glob(&FilePath::root(), "**/a.txt")).unwrap();
    assert_eq!(found.len(), 2);
}

#[test]
fn modes_are_kept_and_new_files_get_the_default_mode() {
    let disk = Disk::new(|_| "//- tool.sh\n#!/bin/sh\n//- private\nx\n".to_owned());
    let environment = disk.environment();
    let set = |name: &str, mode| fs::set_permissions(disk.root().join(name), fs::Permissions::from_mode(mode)).unwrap();
    let mode = |name: &str| fs::metadata(disk.root().join(name)).unwrap().mode() & 0o7777;
    set("tool.sh", 0o751);
    set("private", 0o600);
    fs::write(disk.root().join("plain"), "").unwrap();
    for name in ["tool.sh", "private", "new"] {
        block_on(environment.write(&path(name), b"changed")).unwrap();
        assert_eq!(fs::read(disk.root().join(name)).unwrap(), b"changed");
    }
    assert_eq!((mode("tool.sh"), mode("private"), mode("new")), (0o751, 0o600, mode("plain")));
    set("private", 0o400);
    let refused = block_on(environment.write(&path("private"), b"x")).unwrap_err();
    assert_eq!(refused.to_string(), "private: it is read-only");
}

#[test]
fn a_file_with_several_hard_links_is_not_replaced() {
    let disk = Disk::new(|_| "//- a.txt\nx\n".to_owned());
    fs::hard_link(disk.root().join("a.txt"), disk.root().join("b.txt")).unwrap();
    fs::hard_link(disk.outside(), disk.root().join("outside.txt")).unwrap();
    let environment = disk.environment();
    for name in ["a.txt", "b.txt", "outside.txt"] {
        let refused = block_on(environment.write(&path(name), b"x")).unwrap_err();
        assert_eq!(refused.code().as_str(), "permission_denied");
        assert!(refused.to_string().contains("2 hard links"), "{refused}");
    }
    disk.check_outside();
}

#[test]
fn a_failed_write_leaves_no_temporary_file() {
    let disk = Disk::new(|_| "//- full/a.txt\nx\n".to_owned());
    let environment = disk.environment();
    let long = path("full").join(&"x".repeat(300));
    assert_eq!(block_on(environment.write(&long, b"x")).unwrap_err().code().as_str(), "invalid_argument");
    let names: Vec<_> =
        fs::read_dir(disk.root().join("full")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
}

#[test]
fn a_write_removes_temporary_files_of_killed_writers() {
    let (dead, alive) = (".a.txt.2000000000-7.emend-tmp", format!(".a.txt.{}-7.emend-tmp", std::process::id()));
    let kept = [".a.2000000000-0.emend-new", "notes.emend-tmp", alive.as_str()];
    let fixture = |name: &&str| format!("//- d/{name}\nleft\n");
    let disk = Disk::new(|_| [&[dead], &kept[..]].concat().iter().map(fixture).collect());
    fs::write(disk.root().join(dead), "left\n").unwrap();
    symlink("../outside.txt", disk.root().join("d/.b.2000000000-0.emend-tmp")).unwrap();
    let environment = disk.environment();
    let names = |directory: &str| {
        let entries = fs::read_dir(disk.root().join(directory)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    block_on(environment.write(&path("d/a.txt"), b"new")).unwrap();
    let mut expected = [&kept[..], &[".b.2000000000-0.emend-tmp", "a.txt"]].concat();
    expected.sort_unstable();
    assert_eq!(names("d"), expected, "files of living processes, links and other names stay");
    assert_eq!(names(""), [dead, "d"], "other directories are not searched");
    // Files that appear later in a cleaned directory are left to the next process.
    fs::write(disk.root().join("d").join(dead), "left\n").unwrap();
    block_on(environment.write(&path("d/a.txt"), b"newer")).unwrap();
    assert!(names("d").contains(&dead.to_owned()));
    block_on(disk.environment().write(&path("d/a.txt"), b"newest")).unwrap();
    assert_eq!(names("d"), expected);
    // A process that knows which file its predecessor was about to write does not wait for the next write.
    fs::write(disk.root().join("d").join(dead), "left\n").unwrap();
    disk.environment().remove_abandoned([&path("d/a.txt"), &path("gone/b.txt")]);
    assert_eq!(names("d"), expected);
    disk.check_outside();
}

#[test]
fn a_reader_sees_all_old_or_all_new_bytes() {
    let disk = Disk::new(|_| String::new());
    let environment = disk.environment();
    let text = |letter: u8| vec![letter; 1 << 20];
    block_on(environment.write(&path("a"), &text(b'a'))).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for letter in [b'b', b'a'].repeat(10) {
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
fn names_that_are_not_utf8_are_skipped() {
    use std::os::unix::ffi::OsStrExt as _;
    let disk = Disk::new(|_| "//- a.txt\nx\n".to_owned());
    fs::write(disk.root().join(std::ffi::OsStr::from_bytes(b"\xff.txt")), "x").unwrap();
    symlink(std::ffi::OsStr::from_bytes(b"\xff.txt"), disk.root().join("link")).unwrap();
    let environment = disk.environment();
    assert_eq!(block_on(environment.list(&FilePath::root(), 1)).unwrap().len(), 1);
    assert_eq!(block_on(environment.glob(&FilePath::root(), "*")).unwrap().len(), 1);
    assert_eq!(block_on(environment.resolve("link", Access::Read)).unwrap_err().code().as_str(), "invalid_argument");
}

/// Ends the other thread, even if an assertion fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Swaps a directory for a link to the outside and back as fast as possible during all operations.
#[test]
fn a_directory_swapped_for_a_link_leads_nowhere() {
    covers("confinement.link confinement.directory_link");
    let disk = Disk::new(|_| "//- real/outside.txt\nharmless\n//- real/deep/outside.txt\nharmless\n".to_owned());
    symlink(disk.around.path(), disk.root().join("link")).unwrap();
    let root = fs::File::open(disk.root()).unwrap();
    let environment = disk.environment();
    let stop = AtomicBool::new(false);
    let (mut read, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(&root, "real", &root, "link", rustix::fs::RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _stop = StopAtEnd(&stop);
        for _ in 0..200 {
            let mut count = |ok: bool| if ok { read += 1 } else { refused += 1 };
            let found = block_on(environment.read(&path("real/outside.txt")));
            count(found.is_ok());
            assert!(found.is_err() || found == Ok(b"harmless\n".to_vec()), "{found:?}");
            count(block_on(environment.write(&path("real/new.txt"), b"x")).is_ok());
            count(block_on(environment.remove(&path("real/new.txt"))).is_ok());
            let listed = block_on(environment.list(&FilePath::root(), 3)).unwrap();
            let listed = listed
                .iter()
                .chain(&block_on(environment.glob(&FilePath::root(), "**")).unwrap())
                .map(|entry| entry.path.clone())
                .collect::<Vec<_>>();
            assert!(!listed.iter().any(|path| path.as_str().contains("project")), "{listed:?}");
            let found = block_on(environment.resolve("real/outside.txt", Access::Read));
            assert!(matches!(&found, Ok(path) if path.as_str() == "real/outside.txt") || found.is_err(), "{found:?}");
        }
    });
    println!("{read} calls met the directory, {refused} met the link");
    assert!(read > 0 && refused > 0, "{read} {refused}: the swap was never met");
    disk.check_outside();
}
