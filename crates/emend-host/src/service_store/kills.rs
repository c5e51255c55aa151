//! A process that commits is killed at random moments. Its file has every acknowledged commit, and no half of one.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use emend_agent::service::store::{Commit, EventScope, NewEvent, SessionQuery};
use emend_agent::service::{JobRecord, JobStatus, ServiceStore as _, SessionRecord, Timestamp};
use futures::executor::block_on;
use serde_json::json;
use tempfile::TempDir;

use super::SqliteServiceStore;

/// Path of the file, for the process that is killed.
const FILE: &str = "EMEND_TEST_KILLED_STORE";

const KILLS: u64 = 120;

/// Maximum number of acknowledged commits before a kill.
const COMMITS: u64 = 12;

/// Sessions of the process.
const SESSIONS: u64 = 4;

/// Returns the `n`-th commit: `n % 5 + 1` events of one job, and a text with the number.
fn commit(n: u64) -> Commit {
    let id = format!("s{}", n % SESSIONS);
    let job_id = format!("j{}", n / 10 * SESSIONS + n % SESSIONS);
    let job = JobRecord {
        job_id: job_id.clone(),
        session_id: id.clone(),
        status: JobStatus::Running,
        instruction: format!("commit {n}"),
        ..JobRecord::default()
    };
    let event = |part| NewEvent { kind: "x".to_owned(), job_id: Some(job_id.clone()), data: json!([n, part]) };
    Commit {
        at: Timestamp(n),
        session: SessionRecord { session_id: id, title: format!("commit {n}"), ..SessionRecord::default() },
        jobs: vec![job],
        events: (0..n % 5 + 1).map(event).collect(),
        text: format!("<{n}> {}", "some text of a conversation ".repeat(n as usize % 40)),
        ..Commit::default()
    }
}

/// Runs as the process that is killed: prints each commit before and after it.
fn commit_until_killed(path: &Path) {
    let store = SqliteServiceStore::open(path).unwrap();
    let done = block_on(store.events(&EventScope::All, 0, usize::MAX)).unwrap();
    let first = done.events.last().map_or(0, |event| event.data[0].as_u64().unwrap() + 1);
    let mut out = std::io::stdout();
    writeln!(out).unwrap();
    for n in first.. {
        writeln!(out, "begin {n}").unwrap();
        out.flush().unwrap();
        let done = block_on(store.commit(commit(n))).unwrap();
        writeln!(out, "done {n} {}", done.events[0].seq).unwrap();
        out.flush().unwrap();
    }
}

/// The process that is killed, with the lines that it has printed.
struct Victim {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Victim {
    fn start(path: &Path, test: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(FILE, path).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Reads a line; `None` at the end.
    fn line(&mut self) -> Option<Vec<String>> {
        let mut line = String::new();
        (self.output.read_line(&mut line).unwrap() > 0).then(|| line.split_whitespace().map(str::to_owned).collect())
    }
}

/// The lines of the process that tell about commits.
#[derive(Default)]
struct Printed {
    /// Number of the first event of each acknowledged commit.
    done: BTreeMap<u64, u64>,
    begun: Option<u64>,
}

impl Printed {
    fn read(&mut self, line: &[String]) {
        match line {
            [word, n] if word == "begin" => self.begun = n.parse().ok(),
            [word, n, seq] if word == "done" => {
                self.done.insert(n.parse().unwrap(), seq.parse().unwrap());
            }
            _ => {}
        }
    }
}

fn mix(seed: u64) -> u64 {
    let mixed = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seed << 7)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 29)
}

/// Kills a process after a random number of commits and a random time. Returns its lines.
fn run_and_kill(path: &Path, test: &str, seed: u64, printed: &mut Printed) {
    let mut victim = Victim::start(path, test);
    let (n_commits, pause_us) = (mix(seed) % COMMITS, mix(seed + 1_000) % 4_000);
    let mut n_done = 0;
    while n_done < n_commits || printed.begun.is_none() {
        let line = victim.line().expect("the process commits until it is killed");
        n_done += u64::from(line.first().is_some_and(|word| word == "done"));
        printed.read(&line);
    }
    let begun = Instant::now();
    // A sleep is too coarse for a commit.
    while begun.elapsed() < Duration::from_micros(pause_us) {
        std::hint::spin_loop();
    }
    victim.child.kill().unwrap();
    while let Some(line) = victim.line() {
        printed.read(&line);
    }
    victim.child.wait().unwrap();
}

/// Checks the file and returns the number of whole commits.
fn check(path: &Path, printed: &Printed, case: &str) -> u64 {
    let store = SqliteServiceStore::open(path).unwrap();
    block_on(store.check()).unwrap();
    let page = block_on(store.events(&EventScope::All, 0, usize::MAX)).unwrap();
    let numbers: Vec<u64> = page.events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=page.last).collect::<Vec<_>>(), "{case}: numbers without gaps");
    let mut found: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for event in &page.events {
        found.entry(event.data[0].as_u64().unwrap()).or_default().push(event.seq);
    }
    let n_commits = found.len() as u64;
    for (n, expected) in found.keys().zip(0..) {
        assert_eq!(*n, expected, "{case}: commits without gaps");
        assert_eq!(found[n].len() as u64, n % 5 + 1, "{case}: commit {n} is whole");
    }
    for (n, seq) in &printed.done {
        assert_eq!(found.get(n).and_then(|numbers| numbers.first()), Some(seq), "{case}: commit {n} was acknowledged");
    }
    for last in n_commits.saturating_sub(SESSIONS)..n_commits {
        // The newest commit of a session set its title, its job and a text.
        let commit = commit(last);
        let session = block_on(store.session(&commit.session.session_id)).unwrap().unwrap();
        assert_eq!(session.title, commit.session.title, "{case}");
        let job = block_on(store.job(&commit.jobs[0].job_id)).unwrap().unwrap();
        assert_eq!((job.instruction, job.cursor), (commit.session.title, session.cursor), "{case}");
        let query = SessionQuery { text: format!("<{last}>"), limit: 9, ..SessionQuery::default() };
        assert_eq!(block_on(store.sessions(&query)).unwrap().total, 1, "{case}: the text of commit {last}");
    }
    let query = SessionQuery { text: format!("<{n_commits}>"), limit: 9, ..SessionQuery::default() };
    assert_eq!(block_on(store.sessions(&query)).unwrap().total, 0, "{case}: no text of a commit that did not happen");
    n_commits
}

#[test]
fn a_killed_process_leaves_whole_commits_only() {
    if let Some(path) = std::env::var_os(FILE) {
        commit_until_killed(Path::new(&path));
        return;
    }
    let test = std::thread::current().name().unwrap().to_owned();
    let around = TempDir::new().unwrap();
    let path = around.path().join("emend.db");
    let mut moments: BTreeMap<&str, u32> = BTreeMap::new();
    let mut n_commits = 0;
    for seed in 1..=KILLS {
        let mut printed = Printed::default();
        run_and_kill(&path, &test, seed, &mut printed);
        n_commits = check(&path, &printed, &format!("seed {seed}"));
        let n_acknowledged = printed.done.keys().last().map_or(0, |n| n + 1).max(printed.begun.unwrap_or_default());
        let is_within = printed.begun.is_some_and(|begun| !printed.done.contains_key(&begun));
        let moment = match (is_within, n_commits > n_acknowledged) {
            (false, _) => "between two commits",
            (true, false) => "before the commit was durable",
            (true, true) => "after the commit was durable, before its acknowledgement",
        };
        *moments.entry(moment).or_default() += 1;
    }
    println!("{KILLS} kills, seeds 1 to {KILLS}, {n_commits} commits: {moments:?}");
}
