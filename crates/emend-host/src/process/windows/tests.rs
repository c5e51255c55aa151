//! Commands of `cmd.exe` run, are bounded, and end with all their processes.
//!
//! No test depends on the speed of the machine: of two limits one is out of reach.

use std::sync::Mutex;

use emend_agent::environment::ExecutionEnvironment as _;
use emend_llm::CancelToken;
use futures::executor::block_on;
use tempfile::TempDir;

use super::*;
use crate::local::LocalEnvironment;
use crate::process::{EnvPolicy, Inherit};

/// A timeout that no test reaches.
const LONG_MS: u64 = 3_600_000;

/// A command that runs for a minute, with a process between it and `cmd.exe`.
const SLEEP: &str = "cmd /c ping -n 60 127.0.0.1 > nul";

fn command(line: &str, timeout_ms: u64) -> Command {
    Command { command: line.to_owned(), timeout_ms, ..Command::default() }
}

fn run_in(environment: &LocalEnvironment, command: &Command) -> ExecResult {
    block_on(environment.exec_command(command, &|_: OutputStream, _: &str| {}, &CancelToken::new())).unwrap()
}

fn run(line: &str, timeout_ms: u64) -> ExecResult {
    let directory = TempDir::new().unwrap();
    run_in(&LocalEnvironment::new(directory.path()).unwrap(), &command(line, timeout_ms))
}

#[test]
fn output_status_and_duration_are_reported() {
    let result = run("echo out& echo err>&2& exit 7", LONG_MS);
    assert_eq!((&*result.stdout, &*result.stderr, result.exit_code), ("out\r\n", "err\r\n", 7));
    assert_eq!(
        (result.timed_out, result.cancelled, result.n_left_behind, result.n_bytes_dropped),
        (false, false, 0, 0)
    );
}

#[test]
fn quotes_reach_the_command_as_they_are() {
    let result = run(r#"echo "a b" "c & d" \"#, LONG_MS);
    assert_eq!(result.stdout, "\"a b\" \"c & d\" \\\r\n");
    assert_eq!(run(r#""%SystemRoot%\System32\cmd.exe" /c "echo in quotes""#, LONG_MS).stdout, "in quotes\r\n");
}

#[test]
fn a_command_runs_in_its_working_directory_with_an_empty_input() {
    let directory = TempDir::new().unwrap();
    std::fs::create_dir_all(directory.path().join("a b/c")).unwrap();
    std::fs::write(directory.path().join("a b/c/here.txt"), "found").unwrap();
    let environment = LocalEnvironment::new(directory.path()).unwrap();
    let working_dir = block_on(environment.resolve("a b/c", emend_agent::environment::Access::Read)).unwrap();
    let result = run_in(&environment, &Command { working_dir, ..command("type here.txt& set /p line=", LONG_MS) });
    assert!(result.stdout.starts_with("found"), "{result:?}");
}

#[test]
fn a_command_is_ended_at_its_timeout_with_its_descendants() {
    let result = run(SLEEP, 500);
    assert!(result.timed_out && !result.cancelled, "{result:?}");
    assert!((500..30_000).contains(&result.duration_ms), "{result:?}");
    assert_eq!(result.exit_code, 137);
}

#[test]
fn a_cancelled_command_is_ended_and_its_output_is_kept() {
    let directory = TempDir::new().unwrap();
    let environment = LocalEnvironment::new(directory.path()).unwrap();
    let cancel = CancelToken::new();
    let (stop, seen) = (cancel.clone(), Mutex::new(String::new()));
    let sink = move |_: OutputStream, text: &str| {
        let mut seen = seen.lock().unwrap();
        seen.push_str(text);
        if seen.contains("begun\r\n") {
            stop.cancel();
        }
    };
    let began = Instant::now();
    let result = block_on(environment.exec_command(&command(&format!("echo begun& {SLEEP}"), LONG_MS), &sink, &cancel));
    let result = result.unwrap();
    assert!(result.cancelled && !result.timed_out, "{result:?}");
    assert_eq!(result.stdout, "begun\r\n");
    assert!(began.elapsed() < Duration::from_secs(30), "its processes were waited for");
}

#[test]
fn processes_that_a_command_leaves_running_are_ended() {
    let began = Instant::now();
    let result = run("start /b ping -n 60 127.0.0.1 > nul& echo done", LONG_MS);
    assert_eq!((&*result.stdout, result.exit_code, result.timed_out), ("done\r\n", 0, false), "{result:?}");
    assert!(result.n_left_behind >= 1, "{result:?}");
    assert!(began.elapsed() < Duration::from_secs(30), "the process was waited for");
}

#[test]
fn a_flood_of_output_is_bounded() {
    let result = run("for /l %i in (1,1,30000) do @echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx%i", LONG_MS);
    assert!(result.stdout.len() < Capture::BYTES_MAX + 100, "{}", result.stdout.len());
    assert!(result.stdout.ends_with("x30000\r\n") && result.n_bytes_dropped > 0, "{}", result.n_bytes_dropped);
}

#[test]
fn dropping_an_environment_ends_its_commands() {
    let directory = TempDir::new().unwrap();
    let environment = LocalEnvironment::new(directory.path()).unwrap();
    let line = command(SLEEP, LONG_MS);
    let (sink, cancel) = (|_: OutputStream, _: &str| {}, CancelToken::new());
    let began = Instant::now();
    let mut run = environment.exec_command(&line, &sink, &cancel);
    assert!(futures::FutureExt::now_or_never(&mut run).is_none(), "the command runs for a minute");
    drop(run);
    drop(environment);
    assert!(began.elapsed() < Duration::from_secs(30), "the command was waited for");
}

#[test]
fn a_command_of_several_lines_is_refused() {
    let directory = TempDir::new().unwrap();
    let environment = LocalEnvironment::new(directory.path()).unwrap();
    let (line, cancel) = (command("echo a\necho b", LONG_MS), CancelToken::new());
    let refused = block_on(environment.exec_command(&line, &|_: OutputStream, _: &str| {}, &cancel)).unwrap_err();
    assert!(refused.to_string().contains("cmd.exe runs one line"), "{refused}");
    assert_eq!(run("\n echo a \r\n", LONG_MS).stdout.trim(), "a");
}

#[test]
fn a_command_inherits_the_variables_that_the_policy_selects() {
    let seen = |policy: EnvPolicy| {
        let directory = TempDir::new().unwrap();
        let environment = LocalEnvironment::new(directory.path()).unwrap().with_variables(policy);
        let mut set = command("set", LONG_MS);
        set.env_vars.insert("ASKED_TOKEN".to_owned(), "for".to_owned());
        let text = run_in(&environment, &set).stdout;
        text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_uppercase())).collect::<Vec<_>>()
    };
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    let core = seen(EnvPolicy { inherit: Inherit::Core, ..EnvPolicy::default() });
    assert!(has(&core, "PATH") && has(&core, "SYSTEMROOT") && has(&core, "ASKED_TOKEN"), "{core:?}");
    let none = seen(EnvPolicy { inherit: Inherit::None, ..EnvPolicy::default() });
    assert!(has(&none, "ASKED_TOKEN") && !has(&none, "USERPROFILE"), "{none:?}");
}

#[test]
fn a_working_directory_has_a_drive() {
    #[track_caller]
    fn check(root: &str, below: &str, expected: &str) {
        assert_eq!(working_directory(Path::new(root), below).unwrap(), Path::new(expected));
        assert_eq!(working_directory(Path::new(root), below).unwrap().to_str(), Some(expected));
    }
    check("C:/a/b", "", r"C:\a\b");
    check("C:/a/b", "c/d e", r"C:\a\b\c\d e");
    check(r"\\?\D:\a", "c", r"D:\a\c");
    for root in ["//server/share/a", r"\\?\UNC\server\share", "a"] {
        assert!(working_directory(Path::new(root), "").is_err(), "{root}");
    }
}
