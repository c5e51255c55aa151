//! A storm kills connections at random moments, over SSH and to containers: no file is half-written, no process is left on
//! the far side, and the next call connects again.
//!
//! Four storms run at the same time. `EMEND_STORM=1` kills ten times as many connections. `EMEND_STORM_SEED` repeats the random choices, up to the timing of processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use emend_agent::environment::command::{Command, OutputStream};
use emend_agent::environment::{ExecutionEnvironment as _, FileChange, FilePath};
use emend_llm::{CancelToken, Random as _};
use futures::executor::block_on;

use super::commands::check_gone;
use super::podman::Podman;
use super::sshd::Sshd;
use crate::clock::OsRandom;
use crate::local::tests::Disk;
use crate::remote::environment::RemoteEnvironment;

/// Kills one process by its id.
pub(super) fn kill(process: i32) {
    use rustix::process::{Pid, Signal, kill_process};
    // An error means that it has ended already.
    let _ = Pid::from_raw(process).map(|id| kill_process(id, Signal::KILL));
}

/// Random numbers from a seed (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Files of a change, each as large as several packets.
const NAMES: [&str; 3] = ["a.txt", "b.txt", "sub/c.txt"];

fn content(name: &str, number: u64) -> Vec<u8> {
    format!("{name} {number}\n").repeat(60_000).into_bytes()
}

/// A far side whose connections can be killed.
trait FarSide: Sync {
    /// The longest time between the start of a call and the kill: about as long as the call takes.
    const PAUSE_MAX: Duration;

    fn connect(&self, root: &Path) -> RemoteEnvironment;

    /// Returns a function that kills the connections of the environment, at the far end if there is a choice.
    fn aim(&self, environment: &RemoteEnvironment, at_far_end: bool) -> impl FnOnce() + Send;

    /// Returns processes that should have ended with their connections, as far as all of them can be told.
    fn left(&self) -> Vec<String> {
        Vec::new()
    }
}

impl FarSide for Sshd {
    const PAUSE_MAX: Duration = Duration::from_millis(60);

    fn connect(&self, root: &Path) -> RemoteEnvironment {
        self.environment(root)
    }

    fn aim(&self, environment: &RemoteEnvironment, at_far_end: bool) -> impl FnOnce() + Send {
        let local = environment.ssh.as_ref().unwrap().process();
        move || match local {
            Some(local) if !at_far_end => kill(i32::try_from(local).unwrap()),
            _ => self.connections().into_iter().for_each(kill),
        }
    }
}

impl FarSide for Podman {
    /// Each step starts a program.
    const PAUSE_MAX: Duration = Duration::from_millis(800);

    fn connect(&self, root: &Path) -> RemoteEnvironment {
        self.environment(root)
    }

    fn aim(&self, _: &RemoteEnvironment, _: bool) -> impl FnOnce() + Send {
        || self.connections().into_iter().for_each(kill)
    }

    fn left(&self) -> Vec<String> {
        self.processes().into_iter().map(|(_, line)| line).collect()
    }
}

struct Storm<'a, F> {
    far_side: &'a F,
    disk: Disk,
    environment: RemoteEnvironment,
    numbers: Numbers,
    histogram: BTreeMap<String, u32>,
}

impl<F: FarSide> Storm<'_, F> {
    /// Runs `work` and kills the connection after a random time, at one of its two ends.
    fn kill_during<T>(&mut self, work: impl FnOnce(&RemoteEnvironment) -> T) -> T {
        let pause_max = u64::try_from(F::PAUSE_MAX.as_micros()).unwrap();
        let pause = Duration::from_micros(self.numbers.below(pause_max));
        let at_far_end = self.numbers.below(2) == 0;
        let (far_side, environment) = (self.far_side, &self.environment);
        let shoot = far_side.aim(environment, at_far_end);
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(pause);
                shoot();
            });
            work(environment)
        })
    }

    /// Makes a call that may find the connection broken, because the kill came after the last call. The next one connects
    /// again.
    fn settle(&self) {
        let root = FilePath::root();
        if block_on(self.environment.metadata(&root)).is_err() {
            block_on(self.environment.metadata(&root)).unwrap();
        }
    }

    fn count(&mut self, what: String) {
        *self.histogram.entry(what).or_default() += 1;
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.disk.root().join(name)).unwrap()
    }

    /// One file has its old or its new content.
    fn write(&mut self, number: u64) {
        let (name, new) = (NAMES[0], content(NAMES[0], number + 1));
        let path = FilePath::clean(name).unwrap();
        let done = self.kill_during(|environment| block_on(environment.write(&path, &new)));
        let (found, old) = (self.read(name), content(name, number));
        assert!(found == new || found == old, "{number}: half-written: {} bytes", found.len());
        assert!(done.is_err() || found == new, "{number}: a write that succeeded is not there");
        if let Err(error) = &done {
            assert_eq!(error.code().as_str(), "io_error", "{error}");
            assert!(error.to_string().contains("lost") || error.to_string().contains("connect"), "{error}");
        }
        let state = if found == new { "new" } else { "old" };
        self.count(format!("write: {}, the file is {state}", if done.is_ok() { "done" } else { "lost" }));
        self.settle();
        // The next write repairs what is left.
        block_on(self.environment.write(&path, &content(name, number + 1))).unwrap();
    }

    /// Several files have their old or their new contents, all of them.
    fn change(&mut self, number: u64) {
        let changes: Vec<FileChange> = NAMES
            .iter()
            .map(|name| FileChange {
                path: FilePath::clean(name).unwrap(),
                before: Some(content(name, number)),
                after: Some(content(name, number + 1)),
                mode_of: None,
                executable: None,
                over_read_only: false,
            })
            .collect();
        let done = self.kill_during(|environment| block_on(environment.change(&changes)));
        let n_new = NAMES.iter().filter(|name| self.read(name) == content(name, number + 1)).count();
        let n_old = NAMES.iter().filter(|name| self.read(name) == content(name, number)).count();
        let expected = if done.is_ok() { (NAMES.len(), 0) } else { (0, NAMES.len()) };
        assert_eq!((n_new, n_old), expected, "{number}: {done:?}");
        self.count(format!("change: {}", if done.is_ok() { "done" } else { "lost, all files are old" }));
        self.settle();
        for name in NAMES {
            let path = FilePath::clean(name).unwrap();
            block_on(self.environment.write(&path, &content(name, number + 1))).unwrap();
        }
    }

    /// No process of the command is left.
    fn command(&mut self, number: u64) {
        let word = format!("{}.{}", 8000 + number, std::process::id());
        // It outlives a kill by far, and ends if the kill came before its start: the call connects again then.
        let text = format!("setsid sleep {word} & for i in $(seq 25); do echo line; sleep {word} & sleep 0.02; done");
        let command = Command { command: text, timeout_ms: 600_000, ..Command::default() };
        let sink = |_: OutputStream, _: &str| {};
        let done =
            self.kill_during(|environment| block_on(environment.exec_command(&command, &sink, &CancelToken::new())));
        let state = match done {
            Ok(result) => {
                assert_eq!((result.exit_code, result.n_left_behind > 0), (0, true), "{number}");
                "done"
            }
            Err(error) => {
                assert_eq!(error.code().as_str(), "io_error", "{error}");
                "lost"
            }
        };
        check_gone(&word);
        self.count(format!("command: {state}, no process is left"));
    }
}

/// Number of storms at the same time, each with a far side of its own. Most of a storm is waiting.
const N_STORMS: u64 = 4;

/// Kills connections `n_kills` times. Returns the number of each outcome.
fn storm<F: FarSide>(far_side: &F, index: u64, seed: u64, n_kills: u64) -> BTreeMap<String, u32> {
    let disk = Disk::new(|_| String::new());
    fs::create_dir(disk.root().join("sub")).unwrap();
    for name in NAMES {
        fs::write(disk.root().join(name), content(name, 0)).unwrap();
    }
    let environment = far_side.connect(&disk.root());
    // A state of 0 would stay 0.
    let numbers = Numbers(seed.wrapping_add(index).max(1));
    let mut storm = Storm { far_side, disk, environment, numbers, histogram: BTreeMap::new() };
    let mut number = 0;
    for kill in 0..n_kills {
        storm.settle();
        match storm.numbers.below(3) {
            0 => {
                storm.write(number);
                for name in &NAMES[1..] {
                    let path = FilePath::clean(name).unwrap();
                    block_on(storm.environment.write(&path, &content(name, number + 1))).unwrap();
                }
                number += 1;
            }
            1 => {
                storm.change(number);
                number += 1;
            }
            // The numbers of two storms never meet.
            _ => storm.command(kill * N_STORMS + index),
        }
    }
    let since = Instant::now();
    while !far_side.left().is_empty() {
        assert!(since.elapsed() < Duration::from_secs(60), "processes are left: {:?}", far_side.left());
        thread::sleep(Duration::from_millis(20));
    }
    let mut names: Vec<String> = fs::read_dir(storm.disk.root())
        .unwrap()
        .chain(fs::read_dir(storm.disk.root().join("sub")).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["a.txt", "b.txt", "c.txt", "sub"], "a temporary file is left");
    storm.histogram
}

/// Runs a storm on each far side and prints how often each outcome was.
fn storms<F: FarSide>(far_sides: &[F]) {
    let seed = std::env::var("EMEND_STORM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| OsRandom.next_u64());
    let n_kills: u64 = if std::env::var_os("EMEND_STORM").is_some() { 520 } else { 52 };
    println!("EMEND_STORM_SEED={seed}");
    let histogram = thread::scope(|scope| {
        let storms: Vec<_> = (0..N_STORMS)
            .zip(far_sides)
            .map(|(index, far_side)| scope.spawn(move || storm(far_side, index, seed, n_kills / N_STORMS)))
            .collect();
        let mut histogram: BTreeMap<String, u32> = BTreeMap::new();
        for (what, count) in storms.into_iter().flat_map(|storm| storm.join().unwrap()) {
            *histogram.entry(what).or_default() += count;
        }
        histogram
    });
    for (what, count) in &histogram {
        println!("{count:4} {what}");
    }
    assert_eq!(u64::from(histogram.values().sum::<u32>()), n_kills);
    assert!(histogram.keys().filter(|what| what.contains("lost")).count() >= 2, "{histogram:?}");
}

#[test]
fn connections_killed_at_random_moments_leave_no_half_file_and_no_process() {
    let servers: Vec<Sshd> = (0..N_STORMS).map_while(|_| Sshd::start()).collect();
    if servers.is_empty() {
        println!("skipped: 1 case (sshd is not installed, which `cargo xtask setup` does, or no user may run it)");
        return;
    }
    storms(&servers);
}

#[test]
fn programs_of_containers_killed_at_random_moments_leave_no_half_file_and_no_process() {
    let containers: Result<Vec<Podman>, String> = (0..N_STORMS).map(|_| Podman::start()).collect();
    match containers {
        Ok(containers) => storms(&containers),
        Err(reason) => println!("skipped: 1 case ({reason})"),
    }
}
