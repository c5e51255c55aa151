//! Commands that resist are ended, and the output that is kept is bounded.
//!
//! No test depends on the speed of the machine: tests wait for conditions, and of two limits one is out of reach.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use emend_agent::environment::ExecutionEnvironment as _;
use emend_agent::environment::command::{Capture, Command, ExecResult, OutputStream};
use emend_llm::CancelToken;
use futures::executor::block_on;
use tempfile::TempDir;

use super::{EnvPolicy, Inherit};
use crate::local::LocalEnvironment;
use crate::test_support::covers;

/// A timeout that no test reaches.
const LONG_MS: u64 = 3_600_000;
/// A timeout that tests wait for, as their only limit.
const SHORT_MS: u64 = 50;

struct Place {
    directory: TempDir,
    environment: LocalEnvironment,
}

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let environment = LocalEnvironment::new(directory.path()).unwrap();
        Self { directory, environment }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, command: &str, timeout_ms: u64) -> ExecResult {
        let command = Command { command: command.to_owned(), timeout_ms, ..Command::default() };
        block_on(self.environment.exec_command(&command, &|_: OutputStream, _: &str| {}, &CancelToken::new())).unwrap()
    }

    /// Runs a command and cancels it once it has printed `word`.
    fn run_until(&self, command: &str, word: &'static str) -> ExecResult {
        let cancel = CancelToken::new();
        let (stop, seen) = (cancel.clone(), Mutex::new(String::new()));
        let sink = move |_: OutputStream, text: &str| {
            let mut seen = seen.lock().unwrap();
            seen.push_str(text);
            if seen.contains(word) {
                stop.cancel();
            }
        };
        let command = Command { command: command.to_owned(), timeout_ms: LONG_MS, ..Command::default() };
        block_on(self.environment.exec_command(&command, &sink, &cancel)).unwrap()
    }

    /// Reads process ids from a file that a command wrote, one per line.
    #[track_caller]
    fn ids(&self, name: &str, count: usize) -> Vec<u32> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        let ids: Vec<u32> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
        assert_eq!(ids.len(), count, "{text}");
        ids
    }
}

/// Returns whether a process runs. A zombie does not count.
fn is_alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z') && !rest.starts_with('X'))
}

#[track_caller]
fn check_gone(ids: &[u32]) {
    for id in ids {
        assert!(!is_alive(*id), "process {id} is left");
    }
}

/// Waits for a condition that must become true.
#[track_caller]
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} never came");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn output_status_and_duration_are_reported() {
    let place = Place::new();
    let result = place.run("printf out; printf err >&2; exit 7", LONG_MS);
    assert_eq!((&*result.stdout, &*result.stderr, result.exit_code), ("out", "err", 7));
    assert_eq!(
        (result.timed_out, result.cancelled, result.n_left_behind, result.n_bytes_dropped),
        (false, false, 0, 0)
    );
    let result = place.run("sleep 0.05; kill -SEGV $$", LONG_MS);
    assert_eq!(result.exit_code, 128 + 11);
    assert!(result.duration_ms >= 50);
}

#[test]
fn a_command_has_no_terminal_and_an_empty_input() {
    let place = Place::new();
    let result = place.run("cat; (echo x > /dev/tty) 2> /dev/null || echo no terminal", LONG_MS);
    assert_eq!(result.stdout, "no terminal\n");
}

#[test]
fn a_command_is_ended_at_its_timeout() {
    covers("environment.kill");
    let place = Place::new();
    let result = place.run("echo $$ > id; exec sleep 3600", SHORT_MS);
    assert!(result.timed_out && !result.cancelled);
    assert_eq!(result.exit_code, 128 + 15);
    assert!(result.duration_ms >= SHORT_MS);
}

#[test]
fn a_cancelled_command_is_ended_and_its_output_is_kept() {
    let place = Place::new();
    let result = place.run_until("echo $$ > id; echo begun; exec sleep 3600", "begun");
    assert!(result.cancelled && !result.timed_out);
    assert_eq!(result.stdout, "begun\n");
    check_gone(&place.ids("id", 1));
}

#[test]
fn a_command_cancelled_before_its_start_does_not_run() {
    let place = Place::new();
    let cancel = CancelToken::new();
    cancel.cancel();
    let command = Command { command: "touch ran".to_owned(), timeout_ms: LONG_MS, ..Command::default() };
    let run = place.environment.exec_command(&command, &|_: OutputStream, _: &str| {}, &cancel);
    assert!(block_on(run).unwrap().cancelled);
    assert!(!place.path("ran").exists());
}

#[test]
fn a_process_may_clean_up_after_sigterm() {
    let place = Place::new();
    let tidy = "trap 'echo tidied; exit 5' TERM; echo begun; while :; do sleep 0.02; done";
    let result = place.run_until(tidy, "begun");
    assert_eq!((&*result.stdout, result.exit_code), ("begun\ntidied\n", 5));
}

#[test]
fn a_process_has_time_to_clean_up() {
    let place = Place::new();
    let tidy = "trap 'sleep 0.5; echo tidied; exit 5' TERM; echo begun; while :; do sleep 0.02; done";
    let result = place.run_until(tidy, "begun");
    assert_eq!((&*result.stdout, result.exit_code), ("begun\ntidied\n", 5));
}

#[test]
#[cfg(target_os = "linux")]
fn a_stopped_process_wakes_up_to_clean_up() {
    let place = Place::new();
    let stopped = "trap 'echo tidied; exit 5' TERM
        (until grep -q '^State:.T' /proc/$$/status; do sleep 0.02; done; echo begun) &
        kill -STOP $$; while :; do sleep 0.02; done";
    let result = place.run_until(stopped, "begun");
    assert_eq!((&*result.stdout, result.exit_code), ("begun\ntidied\n", 5));
}

#[test]
fn a_process_that_ignores_sigterm_is_killed() {
    covers("environment.kill");
    let place = Place::new();
    let result = place.run_until("trap '' TERM; echo $$ > id; echo begun; while :; do sleep 1; done", "begun");
    assert!(result.cancelled);
    assert_eq!(result.exit_code, 128 + 9);
    check_gone(&place.ids("id", 1));
}

#[test]
fn a_process_that_ignores_its_timeout_is_killed_two_seconds_later() {
    // Long enough for the shell to set its trap.
    const TIMEOUT_MS: u64 = 2_000;
    covers("environment.kill");
    let place = Place::new();
    let result = place.run("trap '' TERM; echo $$ > id; while :; do sleep 0.1; done", TIMEOUT_MS);
    assert!(result.timed_out && !result.cancelled);
    assert_eq!(result.exit_code, 128 + 9);
    let grace_ms = result.duration_ms - TIMEOUT_MS;
    // The upper bound allows for a busy machine.
    assert!((2_000..20_000).contains(&grace_ms), "killed after {grace_ms} ms");
    check_gone(&place.ids("id", 1));
}

#[test]
fn children_and_grandchildren_end_with_their_command() {
    let place = Place::new();
    let family = "trap '' TERM
        for i in 1 2 3; do (echo $BASHPID >> ids; sleep 3600 & echo $! >> ids; wait) & done
        until [ \"$(cat ids 2> /dev/null | wc -l)\" = 6 ]; do sleep 0.02; done
        echo begun; wait";
    place.run_until(family, "begun");
    check_gone(&place.ids("ids", 6));
}

#[test]
fn processes_that_a_command_leaves_running_are_ended() {
    let place = Place::new();
    // The first process holds the pipes open, the second does not.
    let result =
        place.run("sleep 3600 & echo $! >> ids; sleep 3600 > /dev/null 2>&1 & echo $! >> ids; echo done", LONG_MS);
    assert_eq!((&*result.stdout, result.exit_code, result.n_left_behind), ("done\n", 0, 2));
    assert!(!result.timed_out && !result.cancelled);
    check_gone(&place.ids("ids", 2));
}

#[test]
fn the_last_output_of_remaining_processes_is_read() {
    let place = Place::new();
    let result = place.run("(sleep 0.05; echo last) & echo first", LONG_MS);
    assert!(result.stdout.starts_with("first\n"), "{result:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_makes_its_own_session_is_found() {
    let place = Place::new();
    // The second process has also lost its parent, the third its variables. All ignore SIGTERM.
    let escape = "
        setsid bash -c 'trap \"\" TERM; echo $$ >> ids; while :; do sleep 1; done' &
        (setsid bash -c 'trap \"\" TERM; echo $$ >> ids; while :; do sleep 1; done' > /dev/null 2>&1 &)
        (env -i setsid bash -c 'trap \"\" TERM; echo $$ >> ids; while :; do sleep 1; done' > /dev/null 2>&1 &)
        until [ \"$(cat ids 2> /dev/null | wc -l)\" = 3 ]; do sleep 0.02; done
        echo begun";
    let left = place.run(&format!("{escape}; exit 0"), LONG_MS);
    assert_eq!((&*left.stdout, left.exit_code), ("begun\n", 0));
    check_gone(&place.ids("ids", 3));
    fs::remove_file(place.path("ids")).unwrap();
    place.run_until(&format!("{escape}; wait; sleep 3600"), "begun");
    check_gone(&place.ids("ids", 3));
}

#[test]
fn commands_inside_commands_belong_to_both() {
    let place = Place::new();
    let result =
        place.run("EMEND_COMMAND=\"$EMEND_COMMAND inner\" bash -c 'echo \"${EMEND_COMMAND% inner}\"'", LONG_MS);
    assert_eq!(result.stdout.trim().split(' ').next_back().unwrap().len(), 32, "{result:?}");
}

/// Returns the peak memory of this process, in KiB.
#[cfg(target_os = "linux")]
fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_flood_of_output_takes_little_memory_and_its_processes_are_ended() {
    const FLOOD: u64 = 1 << 30;
    // Both processes ignore SIGTERM, have their own sessions, and hold the pipes open; the second has lost its parent.
    const ESCAPEES: &str = "trap '' TERM
        stay() { setsid bash -c 'trap \"\" TERM; echo $$ >> ids; while :; do sleep 1; done'; }
        stay &
        (stay &)
        until [ \"$(cat ids 2> /dev/null | wc -l)\" = 2 ]; do sleep 0.02; done";
    let place = Place::new();
    let shown = Arc::new(Mutex::new(0));
    let count = Arc::clone(&shown);
    let before = peak_memory_kib();
    let command = Command {
        command: format!("{ESCAPEES}\necho first; head -c {FLOOD} /dev/zero | tr '\\0' 'x'; echo; echo last"),
        timeout_ms: LONG_MS,
        ..Command::default()
    };
    let sink = move |_: OutputStream, text: &str| *count.lock().unwrap() += text.len();
    let result = block_on(place.environment.exec_command(&command, &sink, &CancelToken::new())).unwrap();
    let grown_kib = peak_memory_kib().saturating_sub(before);
    println!("1 GiB of output: memory grew by {grown_kib} KiB, {} bytes were shown", shown.lock().unwrap());
    assert_eq!(result.exit_code, 0);
    // Both processes, the shells around them, and one `sleep` of each.
    assert!(result.n_left_behind >= 2, "{}", result.n_left_behind);
    check_gone(&place.ids("ids", 2));
    assert!(result.stdout.starts_with("first\nxxx") && result.stdout.ends_with("xxx\nlast\n"));
    let whole = FLOOD + "first\n\nlast\n".len() as u64;
    assert_eq!(result.n_bytes_dropped, whole - Capture::BYTES_MAX as u64);
    // Other tests run in this process too, so the limit is only far below the size of the flood.
    assert!(grown_kib < 100 << 10, "{grown_kib} KiB");
}

#[test]
fn endless_output_ends_at_the_timeout() {
    let place = Place::new();
    let result = place.run("yes", SHORT_MS);
    assert!(result.timed_out);
}

#[test]
fn dropping_a_running_command_ends_its_processes() {
    let place = Place::new();
    let command = Command {
        command: "trap '' TERM; echo $$ > id; mv id ids; while :; do sleep 1; done".to_owned(),
        timeout_ms: LONG_MS,
        ..Command::default()
    };
    let (sink, cancel) = (|_: OutputStream, _: &str| {}, CancelToken::new());
    let mut run = place.environment.exec_command(&command, &sink, &cancel);
    assert!(futures::FutureExt::now_or_never(&mut run).is_none(), "the command runs forever");
    wait_for("the command", || place.path("ids").exists());
    let ids = place.ids("ids", 1);
    assert!(is_alive(ids[0]));
    drop(run);
    block_on(place.environment.cleanup());
    check_gone(&ids);
}

#[test]
fn dropping_an_environment_waits_for_its_commands() {
    let Place { directory, environment } = Place::new();
    let command = Command {
        command: "trap '' TERM; echo $$ > id; mv id ids; while :; do sleep 1; done".to_owned(),
        timeout_ms: LONG_MS,
        ..Command::default()
    };
    let ids = directory.path().join("ids");
    let (sink, cancel) = (|_: OutputStream, _: &str| {}, CancelToken::new());
    let mut run = environment.exec_command(&command, &sink, &cancel);
    assert!(futures::FutureExt::now_or_never(&mut run).is_none(), "the command runs forever");
    wait_for("the command", || ids.exists());
    drop(run);
    drop(environment);
    check_gone(&[fs::read_to_string(ids).unwrap().trim().parse().unwrap()]);
}

fn seen_by(policy: EnvPolicy) -> Vec<String> {
    let directory = TempDir::new().unwrap();
    let environment = LocalEnvironment::new(directory.path()).unwrap().with_variables(policy);
    let mut command = Command { command: "/usr/bin/env".to_owned(), timeout_ms: LONG_MS, ..Command::default() };
    command.env_vars.insert("ASKED_TOKEN".to_owned(), "for".to_owned());
    let (sink, cancel) = (|_: OutputStream, _: &str| {}, CancelToken::new());
    let text = block_on(environment.exec_command(&command, &sink, &cancel)).unwrap().stdout;
    text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn a_command_inherits_the_variables_that_the_policy_selects() {
    covers("environment.secrets");
    assert!(std::env::var_os("PATH").is_some() && Path::new("/usr/bin/env").exists());
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    let harmless = seen_by(EnvPolicy::default());
    assert!(has(&harmless, "PATH") && has(&harmless, "ASKED_TOKEN") && has(&harmless, "EMEND_COMMAND"));
    let none = seen_by(EnvPolicy { inherit: Inherit::None, ..EnvPolicy::default() });
    assert!(has(&none, "ASKED_TOKEN") && !has(&none, "HOME"), "{none:?}");
    // Cargo sets this variable for tests. It is not in the core set.
    assert!(has(&harmless, "CARGO_MANIFEST_DIR"));
    let core = seen_by(EnvPolicy { inherit: Inherit::Core, ..EnvPolicy::default() });
    assert!(has(&core, "PATH") && !has(&core, "CARGO_MANIFEST_DIR"), "{core:?}");
}
