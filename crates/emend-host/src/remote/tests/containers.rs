//! Containers: real ones of Podman, and a script in place of `docker`, `podman` and `kubectl` that runs their commands on this
//! machine. Tests with the script check the scripts and the parser, and not the real programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use emend_agent::environment::{ExecutionEnvironment as _, FilePath};
use futures::executor::block_on;
use tempfile::TempDir;

use super::files::{check_calls, check_cases};
use super::podman::Podman;
use crate::local::tests::Disk;
use crate::local::tests::escapes::{check_escapes, place};
use crate::remote::environment::{Programs, RemoteEnvironment};

/// Answers a question for the id, and runs the shell of `exec` here.
const FAKE: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    container | get)
      echo 0123456789abcdef
      exit 0
      ;;
    /bin/sh) exec "$@" ;;
  esac
  shift
done
exit 1
"#;

/// A program that stands for those of containers.
pub(super) struct Fake(TempDir);

impl Fake {
    pub(super) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let program = directory.path().join("program");
        // A process that another thread starts meanwhile would inherit the open file, and nobody could run it: its writer is a
        // program of its own.
        let mut writer = Command::new("sh");
        let script = "printf '%s' \"$2\" > \"$1\" && chmod 755 \"$1\"";
        assert!(writer.args(["-c", script, "sh"]).arg(&program).arg(FAKE).status().unwrap().success());
        Self(directory)
    }

    /// Connects to a directory of this machine.
    pub(super) fn environment(&self, kind: &str, root: &Path) -> RemoteEnvironment {
        let place = format!("{kind}:box:{}", root.display()).parse().unwrap();
        let programs = Programs { container: Some(self.0.path().join("program").into()), ..Programs::default() };
        RemoteEnvironment::connect_by(&place, programs).unwrap()
    }
}

fn path(path: &str) -> FilePath {
    FilePath::clean(path).unwrap()
}

#[test]
fn a_container_conforms() {
    let fake = Fake::new();
    check_cases(&|root| fake.environment("docker", root));
    println!("the program of the container is a script on this machine");
}

/// Returns the container of tests that take minutes, because each operation starts programs in it: only in a storm.
fn in_a_storm() -> Option<&'static Podman> {
    if std::env::var_os("EMEND_STORM").is_some() {
        return Podman::shared();
    }
    println!("skipped: 1 case (it takes minutes; `cargo xtask test --all` runs it)");
    None
}

#[test]
fn a_container_of_podman_conforms() {
    let Some(podman) = in_a_storm() else { return };
    check_cases(&|root| podman.environment(root));
}

#[test]
fn two_hundred_calls_in_a_container_of_podman_give_the_same_answers_as_in_memory() {
    let Some(podman) = in_a_storm() else { return };
    check_calls(&|root| podman.environment(root), true);
}

#[test]
fn no_path_leads_out_of_a_container_of_podman() {
    let Some(podman) = Podman::shared() else { return };
    let disk = place();
    let environment = Arc::new(podman.environment(&disk.root()));
    check_escapes(&disk, step(24), &mut || Arc::clone(&environment) as _);
}

#[test]
fn two_hundred_calls_in_a_container_give_the_same_answers_as_in_memory() {
    let fake = Fake::new();
    check_calls(&|root| fake.environment("kubectl", root), true);
}

/// Each operation starts programs, so a part of the ways out takes as long as all others together. Returns `usual` unless a
/// storm was asked for, which tries all of them.
fn step(usual: usize) -> usize {
    if std::env::var_os("EMEND_STORM").is_some() { 1 } else { usual }
}

#[test]
fn no_path_leads_out_of_a_container() {
    let fake = Fake::new();
    let disk = place();
    let environment = Arc::new(fake.environment("podman", &disk.root()));
    check_escapes(&disk, step(12), &mut || Arc::clone(&environment) as _);
}

#[test]
fn a_container_keeps_modes_and_hard_links() {
    let fake = Fake::new();
    let disk = Disk::new(|_| "//- tool.sh\n#!/bin/sh\n//- a.txt\nx\n".to_owned());
    let tool = disk.root().join("tool.sh");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o751)).unwrap();
    fs::hard_link(disk.root().join("a.txt"), disk.root().join("b.txt")).unwrap();
    let environment = fake.environment("docker", &disk.root());
    block_on(environment.write(&path("tool.sh"), b"changed")).unwrap();
    assert_eq!(fs::metadata(&tool).unwrap().permissions().mode() & 0o7777, 0o751);
    let refused = block_on(environment.write(&path("a.txt"), b"x")).unwrap_err();
    assert!(refused.to_string().contains("2 hard links"), "{refused}");
    assert_eq!(environment.key(), format!("docker:0123456789abcdef:{}", disk.root().display()));
}

/// A connection that breaks while content is under way looks like the end of the content.
#[test]
fn content_that_does_not_arrive_whole_is_not_written() {
    let fake = Fake::new();
    let disk = Disk::new(|_| "//- a.txt\nold\n".to_owned());
    let environment = fake.environment("docker", &disk.root());
    let program = fake.0.path().join("program");
    // The line with the script comes whole, and the content of a write does not.
    let relay = "{ IFS= read -r line; printf '%s\\n' \"$line\"; case $line in *emend_temporary=*) head -c 4 ;; *) cat ;; esac; }";
    let cut = FAKE.replace("exec \"$@\"", &format!("{relay} | exec \"$@\""));
    fs::write(&program, cut).unwrap();
    let error = block_on(environment.write(&path("a.txt"), b"new content\n")).unwrap_err();
    assert_eq!(error.code().as_str(), "io_error", "{error}");
    assert!(error.to_string().contains("before all of the content had arrived"), "{error}");
    assert_eq!(fs::read(disk.root().join("a.txt")).unwrap(), b"old\n");
    let names: Vec<_> = fs::read_dir(disk.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
    fs::write(&program, FAKE).unwrap();
    block_on(environment.write(&path("a.txt"), b"new content\n")).unwrap();
    assert_eq!(fs::read(disk.root().join("a.txt")).unwrap(), b"new content\n");
}
