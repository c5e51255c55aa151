//! The emulated shell over files in memory: the conformance suite, and the changes that commands make.

use std::sync::Arc;

use emend_agent::approval::{Action, Policy, Rule};
use emend_agent::environment::ExecutionEnvironment;
use emend_agent::environment::conformance::{CASES, fixture};
use emend_agent::environment::memory::Quota;
use emend_agent::session::call_tool;
use emend_agent::tools::core_tools;
use emend_agent::workspace::{Mode, Workspace};
use futures::executor::block_on;
use serde_json::{Value, json};

use super::*;
use crate::SystemClock;
use crate::test_support::covers;

/// A timeout that no test reaches.
const LONG_MS: u64 = 600_000;

fn with_shell(files: MemFs, steps_max: usize) -> MemFs {
    files.with_shell(Arc::new(EmulatedShell::new().with_steps_max(steps_max)))
}

fn run(files: &MemFs, text: &str) -> ExecResult {
    let command = Command { command: text.to_owned(), timeout_ms: LONG_MS, ..Command::default() };
    block_on(files.exec_command(&command, &|_, _: &str| {}, &CancelToken::new())).unwrap()
}

#[test]
fn files_in_memory_with_a_shell_conform() {
    covers("environment.custom");
    for case in CASES {
        let files = with_shell(MemFs::from_fixture(&fixture("/workspace")), STEPS_MAX);
        assert_eq!(block_on(case.run(&files)), Ok(()), "{}", case.name);
    }
}

#[track_caller]
fn check(command: &str, expected: &str) {
    let files = with_shell(MemFs::from_fixture("//- a.txt\none\ntwo\n//- d/b.txt\nbee\n//- link -> d\n"), STEPS_MAX);
    let result = run(&files, command);
    assert_eq!(result.stdout, expected, "{command}: {}", result.stderr);
}

#[test]
fn links_lead_to_the_same_targets_as_for_tools() {
    check("cat link/b.txt; echo x > link/b.txt; cat d/b.txt; readlink link", "bee\nx\nd\n");
    check("ls link; mv link other; cat other/b.txt; rm other; ls", "b.txt\nbee\na.txt\nd\n");
    check(
        "ln -s /workspace/a.txt abs; cat abs; ln -s ../../home/me/.ssh/id out; cat d/../out > /dev/null; echo $?",
        "one\ntwo\n1\n",
    );
    check("mv d moved; ls moved; mkdir -p x/y; mv moved x/y/; find x -type f", "b.txt\nx/y/moved/b.txt\n");
}

#[test]
fn output_is_bounded_and_failures_are_results() {
    let files = with_shell(MemFs::new(), STEPS_MAX);
    files.insert("big.txt", "x".repeat(5_000_000)).unwrap();
    let result = run(&files, "cat big.txt");
    assert!(result.stdout.len() < Capture::BYTES_MAX + 200, "{}", result.stdout.len());
    assert_eq!(
        (result.n_bytes_dropped, result.exit_code),
        (5_000_000 - Capture::BYTES_MAX as u64, 0),
        "{}",
        result.stderr
    );
    assert_eq!(run(&files, "no-such-command").exit_code, 127);
    let full = with_shell(MemFs::new().with_quota(Quota { bytes: Some(10), files: None }), STEPS_MAX);
    let refused = run(&full, "echo 0123456789 > a.txt");
    assert_eq!(refused.exit_code, 1);
    assert!(refused.stderr.contains("more than the 10 bytes"), "{}", refused.stderr);
}

#[test]
fn a_computing_script_ends_as_timed_out() {
    let files = with_shell(MemFs::new(), 5_000);
    let result = run(&files, "echo begun > a.txt; while :; do :; done");
    assert!(result.timed_out && !result.cancelled, "{result:?}");
    assert_eq!(files.get("a.txt").as_deref(), Some(&b"begun\n"[..]), "earlier changes stay");
}

#[test]
fn a_computing_script_can_be_cancelled_and_dropped() {
    // A limit of steps that would take hours.
    let files = with_shell(MemFs::new(), usize::MAX);
    let cancel = CancelToken::new();
    let sink = |_, _: &str| cancel.cancel();
    let text = "echo begun; while :; do echo x >> log; done".to_owned();
    let command = Command { command: text, timeout_ms: LONG_MS, ..Command::default() };
    let result = block_on(files.exec_command(&command, &sink, &cancel)).unwrap();
    assert!(result.cancelled && !result.timed_out && result.stdout.starts_with("begun"), "{result:?}");
    // A dropped command ends too: it stops writing.
    let never = CancelToken::new();
    let mut dropped = files.exec_command(&command, &|_, _: &str| {}, &never).boxed();
    assert!((&mut dropped).now_or_never().is_none());
    drop(dropped);
    let log = || files.get("log").map_or(0, |log| log.len());
    let begun = Instant::now();
    loop {
        let before = log();
        thread::sleep(std::time::Duration::from_millis(50));
        if log() == before {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "the dropped command still writes");
    }
}

/// Runs a command as the agent. Returns the workspace and the command's data about changes.
fn changed_by(files: &Arc<MemFs>, mode: Mode, text: &str) -> (Arc<Workspace>, Value) {
    let environment = Arc::clone(files) as Arc<dyn ExecutionEnvironment>;
    let workspace = Arc::new(Workspace::new(environment, mode, Arc::new(SystemClock)));
    let arguments = json!({ "command": text, "timeout_ms": LONG_MS });
    let output = block_on(call_tool(&core_tools(), &workspace, "shell", arguments)).unwrap();
    (workspace, output.data["changed"].clone())
}

const CHANGING: &str =
    "sed -i s/two/2/ a.txt; rm b.txt; mkdir -p new && echo hi | tee new/c.txt > /dev/null; mv d.txt e.txt";

fn project() -> Arc<MemFs> {
    let files = MemFs::from_fixture("//- a.txt\none\ntwo\n//- b.txt\nbee\n//- d.txt\ndee\n");
    Arc::new(with_shell(files, STEPS_MAX))
}

#[test]
fn direct_changes_of_a_command_can_be_undone() {
    let files = project();
    let (workspace, changed) = changed_by(&files, Mode::Direct, CHANGING);
    assert_eq!(changed, json!(["a.txt", "b.txt", "d.txt", "e.txt", "new/c.txt"]));
    assert_eq!(files.get("a.txt").as_deref(), Some(&b"one\n2\n"[..]));
    block_on(workspace.undo_runs(&[workspace.last_run()])).unwrap();
    let left: Vec<String> = files.paths().iter().map(ToString::to_string).collect();
    assert_eq!(left, ["a.txt", "b.txt", "d.txt"]);
    assert_eq!(files.get("a.txt").as_deref(), Some(&b"one\ntwo\n"[..]));
}

#[test]
fn staged_a_command_works_in_a_fork_and_its_changes_are_hunks() {
    let files = project();
    let (workspace, changed) = changed_by(&files, Mode::Staged, CHANGING);
    assert_eq!(changed, json!(["a.txt", "b.txt", "d.txt", "e.txt", "new/c.txt"]));
    let left: Vec<String> = files.paths().iter().map(ToString::to_string).collect();
    assert_eq!(left, ["a.txt", "b.txt", "d.txt"], "nothing is saved before the user accepts it");
    let review = workspace.review();
    let found: Vec<_> =
        review.files.iter().map(|file| (file.path.as_str(), file.operation, file.hunks.len())).collect();
    let expected = [
        ("a.txt", "update", 1),
        ("b.txt", "delete", 1),
        ("d.txt", "delete", 1),
        ("e.txt", "create", 1),
        ("new/c.txt", "create", 1),
    ];
    assert_eq!(found, expected);
    block_on(workspace.accept_all(None)).unwrap();
    assert_eq!(files.get("new/c.txt").as_deref(), Some(&b"hi\n"[..]));
}

#[test]
fn no_spelling_shows_a_command_what_rules_hide() {
    covers("approval.hidden");
    let fixture = "//- secrets/key\nhunter2\n//- a.txt\nKEY of a\n//- link -> secrets/key\n";
    let hidden = {
        let rule = Rule::new(Action::Deny, "*", Some("secrets/**")).unwrap();
        Policy { rules: vec![rule], otherwise: Action::Allow }.hidden("read_file")
    };
    for command in [
        "cat secrets/key",
        "cd secrets; cat key",
        "cat sec*/k*",
        "cat s\"\"ecrets/key",
        "cat link",
        "grep -r hunter .",
        "find . -type f -exec cat {} +",
        "mv secrets public; cat public/key",
        "cp -r secrets public; cat public/key",
        "ln -s secrets s; cat s/key",
        "rm -rf secrets",
        "echo x > secrets/key",
    ] {
        let files = with_shell(MemFs::from_fixture(fixture), STEPS_MAX);
        let view = files.view(&hidden).unwrap();
        let command = Command { command: command.to_owned(), timeout_ms: LONG_MS, ..Command::default() };
        let result = block_on(view.exec_command(&command, &|_, _: &str| {}, &CancelToken::new())).unwrap();
        let printed = result.stdout + &result.stderr;
        assert!(!printed.contains("hunter2"), "{}: {printed}", command.command);
        assert_eq!(files.get("secrets/key").as_deref(), Some(&b"hunter2\n"[..]), "{}", command.command);
    }
}
