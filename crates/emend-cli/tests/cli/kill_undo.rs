//! An undo, redo or rollback is killed at moments spread over its time. Afterwards nothing is lost: the files are wholly
//! old or wholly new, and undo and redo lead from each state to the other.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{Outcome, Project, covers};

const N_FILES: usize = 60;

/// Number of kills of each command; `EMEND_STORM=1` asks for more.
const N_KILLS: u32 = 6;

fn n_kills() -> u32 {
    if std::env::var_os("EMEND_STORM").is_some() { 60 } else { N_KILLS }
}

type Tree = Vec<(String, Vec<u8>)>;

fn rename(project: &Project) {
    project.run(&["run", "rename alpha to beta"]).assert_ok();
}

/// The user appends a line to every file after the run.
fn rename_and_type(project: &Project) {
    rename(project);
    type_lines(project);
}

fn type_lines(project: &Project) {
    for number in 0..N_FILES {
        let name = format!("f{number:03}");
        std::fs::write(project.path(&name), project.read(&name) + "my own line\n").unwrap();
    }
}

/// A command changes texts, deletes a binary file and sets a mode.
fn command(project: &Project) {
    let script = "sed -i s/alpha/gamma/ f*; rm image.bin; chmod +x f001";
    project.run(&["run", "--allow", "shell", &format!("run sh -c '{script}'")]).assert_ok();
}

/// The user appends a line to every file after the command.
fn command_and_type(project: &Project) {
    command(project);
    type_lines(project);
}

fn undone(project: &Project) {
    rename(project);
    project.run(&["undo"]).assert_ok();
}

fn command_undone(project: &Project) {
    command(project);
    project.run(&["undo"]).assert_ok();
}

fn prepared(prepare: fn(&Project)) -> Project {
    let names: Vec<String> = (0..N_FILES).map(|number| format!("f{number:03}")).collect();
    let mut files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"alpha\nkept\n".as_slice())).collect();
    files.push(("image.bin", b"\0\x01\xff"));
    let project = Project::in_memory(&files);
    prepare(&project);
    project
}

/// A command that was killed.
struct Killed {
    /// Whether it was running when it was killed.
    was_running: bool,
    /// Whether it had printed its result.
    has_reported: bool,
}

/// Runs a command and kills it after `time`, or when the first file has changed.
fn kill_after(project: &Project, args: &[&str], time: Option<Duration>) -> Killed {
    let first = project.read("f000");
    let mut child = project.command(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    match time {
        Some(time) => sleep(time),
        None => while child.try_wait().unwrap().is_none() && project.read("f000") == first {},
    }
    let was_running = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    Killed { was_running, has_reported: !output.stdout.is_empty() }
}

fn ok(project: &Project, args: &[&str]) -> Outcome {
    let outcome = project.run(args);
    outcome.assert_ok();
    outcome
}

/// Returns the moment of a kill: each other one when the first file has changed.
fn moment(kill: u32, time: Duration) -> Option<Duration> {
    kill.is_multiple_of(2).then(|| time * (kill + 2) / (n_kills() + 2))
}

/// Kills `args` at moments spread over its time. Repeated where it has had no effect, it has it, and `back` reverts it.
///
/// The changes of commands other than text are restored file by file, so a part of the files may be new. Then `back` leads back
/// at once, too.
#[track_caller]
fn check_killed(prepare: fn(&Project), by_command: bool, args: &[&str], back: &str) {
    let whole = prepared(prepare);
    let before: Tree = whole.tree();
    let start = Instant::now();
    ok(&whole, args);
    let time = start.elapsed();
    let after = whole.tree();
    assert!(before != after);
    let mut histogram: BTreeMap<String, u32> = BTreeMap::new();
    for kill in 0..n_kills() {
        let project = prepared(prepare);
        let Killed { was_running, .. } = kill_after(&project, args, moment(kill, time));
        // Any command recovers the project.
        ok(&project, &["checkpoints"]);
        let found = project.tree();
        let has_effect = found == after;
        let is_partial = !has_effect && found != before;
        assert!(!is_partial || by_command, "{args:?}: the files are neither old nor new");
        if !(has_effect || is_partial && kill % 4 < 2) {
            ok(&project, args);
            assert!(project.tree() == after, "{args:?} after an interrupted one");
        }
        ok(&project, &[back]);
        assert!(project.tree() == before, "{back} after an interrupted {args:?}, which had effect: {has_effect}");
        ok(&project, args);
        assert!(project.tree() == after);
        let effect = if is_partial {
            "partial"
        } else if has_effect {
            "whole"
        } else {
            "none"
        };
        *histogram.entry(format!("running: {was_running}, effect: {effect}")).or_default() += 1;
    }
    println!("{args:?} killed: {histogram:?}");
}

#[test]
fn a_killed_undo_can_be_redone() {
    covers("review.undo");
    check_killed(rename, false, &["undo"], "redo");
    check_killed(command, true, &["undo"], "redo");
}

#[test]
fn a_killed_redo_can_be_undone_and_redone() {
    check_killed(undone, false, &["redo"], "undo");
    check_killed(command_undone, true, &["redo"], "undo");
}

#[test]
fn a_killed_rollback_can_be_redone_with_the_lines_of_the_user() {
    check_killed(rename, false, &["rollback", "1"], "redo");
    check_killed(rename, false, &["rollback", "--scoped", "1"], "redo");
    check_killed(rename_and_type, false, &["rollback", "--hard", "--yes", "1"], "redo");
}

/// Renames twice, so that a repeated undo could undo the first run, too.
fn twice(project: &Project) {
    rename(project);
    project.run(&["run", "rename beta to gamma"]).assert_ok();
}

#[test]
fn an_undo_that_is_repeated_after_a_kill_undoes_no_older_run() {
    let whole = prepared(twice);
    let start = Instant::now();
    ok(&whole, &["undo"]);
    let (time, after) = (start.elapsed(), whole.tree());
    for kill in 0..n_kills() {
        let project = prepared(twice);
        if !kill_after(&project, &["undo"], moment(kill, time)).has_reported {
            let outcome = ok(&project, &["undo"]);
            assert!(project.tree() == after, "{}", outcome.stdout);
            assert!(outcome.stdout.starts_with("undid run 2"), "{}", outcome.stdout);
            assert!(outcome.stdout.contains("\nrestored f059\n"), "{}", outcome.stdout);
            ok(&project, &["redo"]);
            ok(&project, &["undo"]);
            assert!(project.tree() == after);
        }
    }
}

/// Kills `args` and repeats it: wherever it was killed, the repeated one succeeds and leads to the same files.
#[track_caller]
fn check_repeated(prepare: fn(&Project), args: &[&str]) {
    let whole = prepared(prepare);
    let start = Instant::now();
    ok(&whole, args);
    let (time, after) = (start.elapsed(), whole.tree());
    let mut n_finished = 0;
    for kill in 0..n_kills() {
        let project = prepared(prepare);
        if kill_after(&project, args, moment(kill, time)).has_reported {
            continue;
        }
        let repeated = project.run(args);
        assert_eq!((repeated.status, repeated.stderr.contains("error [")), (0, false), "{args:?}: {}", repeated.stderr);
        assert!(project.tree() == after, "{args:?}: {}", repeated.stdout);
        let is_finished = repeated.stdout.starts_with("undid run 1");
        assert!(!is_finished || repeated.stdout.contains("the undo had been interrupted and is now complete"));
        n_finished += u32::from(is_finished);
    }
    println!("{args:?} repeated: {n_finished} had been interrupted and were complete");
}

#[test]
fn a_rollback_that_is_repeated_after_a_kill_succeeds() {
    for prepare in [rename, command] {
        check_repeated(prepare, &["rollback", "1"]);
        check_repeated(prepare, &["rollback", "--scoped", "1"]);
        check_repeated(prepare, &["rollback", "--hard", "--yes", "1"]);
    }
    for prepare in [rename_and_type, command_and_type] {
        check_repeated(prepare, &["rollback", "1"]);
    }
}
