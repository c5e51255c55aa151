//! `emend serve` over SQLite, killed while a client decides on hunks. A decision that was answered is there at the next
//! start. A decision without an answer is there as a whole or not at all. The review shows exactly the other hunks.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serve::{Server, TOKEN};
use crate::support::Project;

/// Number of kills that a request without an answer must see.
const N_UNANSWERED: usize = 100;
/// Maximum number of kills: some come after the answer.
const N_KILLS_MAX: usize = 180;
const N_FILES: usize = 12;
/// Number of changed lines of a file. Each is a hunk of its own.
const N_PLACES: usize = 8;
/// Number of answered decisions between two kills, not included.
const N_BETWEEN: u64 = 2;
/// The offline model reads and edits each file with a call of its own.
const CALLS: (&str, &str) = ("EMEND_MAX_TOOL_CALLS_PER_JOB", "0");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Pending,
    Accepted,
    Rejected,
}

/// The review as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Model {
    places: Vec<Place>,
    /// The places before each decision that can be undone, and after each that can be redone.
    done: Vec<Vec<Place>>,
    undone: Vec<Vec<Place>>,
}

impl Model {
    fn new() -> Self {
        Self { places: vec![Place::Pending; N_FILES * N_PLACES], done: Vec::new(), undone: Vec::new() }
    }

    fn pending(&self) -> Vec<usize> {
        (0..self.places.len()).filter(|at| self.places[*at] == Place::Pending).collect()
    }

    fn decided(&self, wanted: &[usize], decision: Place) -> Self {
        let mut next = self.clone();
        next.done.push(self.places.clone());
        next.undone.clear();
        for at in wanted {
            next.places[*at] = decision;
        }
        next
    }

    fn undo(&self) -> Option<Self> {
        let mut next = self.clone();
        let before = next.done.pop()?;
        next.undone.push(std::mem::replace(&mut next.places, before));
        Some(next)
    }

    fn redo(&self) -> Option<Self> {
        let mut next = self.clone();
        let after = next.undone.pop()?;
        next.done.push(std::mem::replace(&mut next.places, after));
        Some(next)
    }

    fn text(&self, file: usize) -> String {
        let is_new = |n: usize| self.places[file * N_PLACES + n] == Place::Accepted;
        text(file, |n| if is_new(n) { "color" } else { "colour" })
    }
}

/// Returns the text of a file whose places have these words.
fn text(file: usize, word: impl Fn(usize) -> &'static str) -> String {
    let between: String = (0..8).map(|line| format!("Line {line} of file {file}.\n")).collect();
    (0..N_PLACES).map(|n| format!("The {} {file}-{n}.\n{between}", word(n))).collect()
}

fn name(file: usize) -> String {
    format!("notes-{file:02}.md")
}

/// A generator with a seed, so that a failure can be repeated.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// A decision: its name in the output, its request, and the review after it.
struct Decision {
    kind: &'static str,
    path: &'static str,
    body: Value,
    after: Model,
}

/// The server with its project, and the review that it must have.
struct World {
    project: Project,
    server: Server,
    store: String,
    job: String,
    model: Model,
    /// Id of the hunk of each place.
    ids: HashMap<usize, String>,
    /// The decisions so far, for the message of a failure.
    history: Vec<String>,
}

impl World {
    fn new() -> Self {
        let texts: Vec<(String, String)> = (0..N_FILES).map(|file| (name(file), text(file, |_| "colour"))).collect();
        let files: Vec<(&str, &[u8])> = texts.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let project = Project::new(&files);
        let store = format!("sqlite:{}", project.state().join("reviews.db").display());
        let server = Server::start_with(&project, &["--store", &store], &[CALLS]);
        let (_, state) = server.run("rename colour to color");
        assert_eq!(state["status"], "awaiting_review", "{state}");
        let job = state["job_id"].as_str().unwrap().to_owned();
        let mut world =
            Self { project, server, store, job, model: Model::new(), ids: HashMap::new(), history: Vec::new() };
        assert_eq!(world.found("at the start"), world.model.places);
        assert_eq!(world.ids.len(), N_FILES * N_PLACES);
        world
    }

    fn kill(&mut self) {
        self.server.child.kill().unwrap();
        self.server.child.wait().unwrap();
    }

    /// Returns the places as review and disk show them together.
    fn found(&mut self, at: &str) -> Vec<Place> {
        let review = self.server.ok("GET", "/api/agent/review", &Value::Null);
        self.ids.clear();
        for hunk in review["files"].as_array().unwrap().iter().flat_map(|file| file["hunks"].as_array().unwrap()) {
            let lines = hunk["lines"].as_array().unwrap();
            let added: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "added").collect();
            let [line] = added[..] else { panic!("{at}: a hunk has one new line: {hunk}") };
            let place = line["text"].as_str().unwrap().trim_end_matches(".\n").rsplit(' ').next().unwrap();
            let (file, n) = place.split_once('-').unwrap();
            let place = file.parse::<usize>().unwrap() * N_PLACES + n.parse::<usize>().unwrap();
            let known = self.ids.insert(place, hunk["hunk_id"].as_str().unwrap().to_owned());
            assert_eq!(known, None, "{at}: a place has one hunk");
        }
        let texts: Vec<String> = (0..N_FILES).map(|file| self.project.read(&name(file))).collect();
        let place =
            |at: usize| match texts[at / N_PLACES].contains(&format!("color {}-{}.", at / N_PLACES, at % N_PLACES)) {
                _ if self.ids.contains_key(&at) => Place::Pending,
                true => Place::Accepted,
                false => Place::Rejected,
            };
        (0..N_FILES * N_PLACES).map(place).collect()
    }

    /// Compares the texts on the disk and the job with the review that must be there.
    fn check(&self, at: &str) {
        for file in 0..N_FILES {
            assert_eq!(self.project.read(&name(file)), self.model.text(file), "{at}: file {file}");
        }
        let state = self.server.ok("GET", &format!("/api/agent/jobs/{}", self.job), &Value::Null);
        assert_eq!(state["status"], "awaiting_review", "{at}: {state}");
    }

    /// Chooses a decision that changes at least one place.
    fn choose(&self, random: &mut Seeded) -> Decision {
        let pending = self.model.pending();
        let step = |kind, path, after| Decision { kind, path, body: json!({}), after };
        let choice = random.below(100);
        // Some hunks stay pending, so that the job stays in review.
        let is_short = pending.len() <= 2 * N_PLACES;
        if (choice < 30 || is_short)
            && let Some(after) = self.model.undo()
        {
            return step("undo", "/api/agent/undo", after);
        }
        if choice < 45
            && let Some(after) = self.model.redo()
        {
            return step("redo", "/api/agent/redo", after);
        }
        let (decision, accepts) = random.of(&[("accept", true), ("reject", false)]);
        let place = if accepts { Place::Accepted } else { Place::Rejected };
        let first = random.of(&pending);
        let decide = |kind, selection: (&str, Value), wanted: &[usize]| {
            let body = json!({ "decision": decision, selection.0: selection.1 });
            Decision { kind, path: "/api/agent/decisions", body, after: self.model.decided(wanted, place) }
        };
        let kind = |accept, reject| if accepts { accept } else { reject };
        match choice {
            ..65 => {
                let file = first / N_PLACES;
                let wanted: Vec<usize> = pending.into_iter().filter(|at| at / N_PLACES == file).collect();
                decide(kind("accept a file", "reject a file"), ("file_path", json!(name(file))), &wanted)
            }
            65..80 => {
                let mut wanted = vec![first, random.of(&pending), random.of(&pending), random.of(&pending)];
                wanted.sort_unstable();
                wanted.dedup();
                let ids: Vec<&String> = wanted.iter().map(|at| &self.ids[at]).collect();
                decide(
                    kind("accept hunks of several files", "reject hunks of several files"),
                    ("hunk_ids", json!(ids)),
                    &wanted,
                )
            }
            _ => decide(kind("accept a hunk", "reject a hunk"), ("hunk_ids", json!([self.ids[&first]])), &[first]),
        }
    }

    /// Sends a decision and waits for the answer; returns its time.
    fn decide(&mut self, decision: &Decision, at: &str) -> Duration {
        let began = Instant::now();
        let (status, reply) = self.server.send("POST", decision.path, &decision.body);
        let time = began.elapsed();
        assert_eq!(status, 200, "{at}: {} {}: {reply}", decision.kind, decision.body);
        self.history.push(format!("{} {}", decision.kind, decision.body));
        self.model = decision.after.clone();
        time
    }

    /// Sends a decision and kills the server after a while. Returns whether the answer came.
    fn decide_and_kill(&mut self, decision: &Decision, pause: Duration) -> bool {
        let address = self.server.address.clone();
        let mut stream = TcpStream::connect(&address).unwrap();
        let body = decision.body.to_string();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            decision.path,
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let began = Instant::now();
        // A sleep is too coarse for a commit.
        while began.elapsed() < pause {
            std::hint::spin_loop();
        }
        self.kill();
        let mut answer = Vec::new();
        // A connection of a killed program may end with an error; the bytes before it count.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        !answer.is_empty()
    }
}

/// Returns the places that differ: as they were, as they would be after the decision, and as they are.
fn differences(before: &Model, after: &Model, found: &[Place]) -> Vec<(String, Place, Place, Place)> {
    let place =
        |at: usize| (format!("{}-{}", at / N_PLACES, at % N_PLACES), before.places[at], after.places[at], found[at]);
    let places = (0..found.len()).map(place);
    places.filter(|(_, before, after, found)| before != after || found != before).collect()
}

#[test]
fn a_server_killed_a_hundred_times_while_it_commits_decisions_keeps_each_of_them() {
    let seed = std::env::var("EMEND_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_129);
    println!("seed {seed}");
    let mut random = Seeded(seed);
    let mut world = World::new();
    let begun = Instant::now();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    // Kills by the part of the usual time of a decision that had passed, in tenths.
    let mut moments: BTreeMap<u64, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut times: Vec<Duration> = Vec::new();
    let (mut n_answered, mut n_unanswered, mut n_kills) = (0, 0, 0);
    while n_unanswered < N_UNANSWERED && n_kills < N_KILLS_MAX {
        let at = format!("seed {seed}, kill {n_kills}");
        for _ in 0..random.below(N_BETWEEN) + u64::from(n_kills == 0) {
            let decision = world.choose(&mut random);
            times.push(world.decide(&decision, &at));
            n_answered += 1;
            let found = world.found(&at);
            let last = &world.history[world.history.len().saturating_sub(12)..];
            assert_eq!(found, world.model.places, "{at}: after {last:#?}");
        }
        let decision = world.choose(&mut random);
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let tenths = random.below(11);
        let pause = sorted[sorted.len() / 2].mul_f64((tenths as f64 + random.below(100) as f64 / 100.0) / 10.0);
        let has_answer = world.decide_and_kill(&decision, pause);
        n_kills += 1;
        let is_inside = world.project.has_journal();
        world.server = Server::start_with(&world.project, &["--store", &world.store], &[CALLS]);
        let at = format!("{at}: {} {} after {pause:.1?}", decision.kind, decision.body);
        let found = world.found(&at);
        let outcome = if has_answer {
            "after the reply"
        } else if is_inside {
            "inside the write of the files"
        } else if found == world.model.places {
            "before the commit"
        } else {
            "after the commit, before the reply"
        };
        let is_there = found == decision.after.places;
        world.history.push(format!("{} {}, killed {outcome}", decision.kind, decision.body));
        let is_absent = !has_answer && found == world.model.places;
        if !is_there && !is_absent {
            let last = &world.history[world.history.len().saturating_sub(12)..];
            panic!("{at}: {:?} after {last:#?}", differences(&world.model, &decision.after, &found));
        }
        if is_there {
            world.model = decision.after;
        }
        world.check(&at);
        n_unanswered += usize::from(!has_answer);
        *kinds.entry(decision.kind).or_default() += 1;
        *outcomes.entry(outcome).or_default() += 1;
        *moments.entry(tenths).or_default().entry(outcome).or_default() += 1;
    }
    times.sort_unstable();
    println!(
        "{n_kills} kills, {n_answered} answered decisions between them in {:.1?}; a decision takes {:.1?}",
        begun.elapsed(),
        times[times.len() / 2]
    );
    println!("kills by decision: {kinds:?}");
    println!("kills by moment: {outcomes:?}");
    for (tenths, outcomes) in moments {
        println!("{:>4} % of the time of a decision: {outcomes:?}", tenths * 10);
    }
    assert!(n_unanswered >= N_UNANSWERED, "{n_unanswered} of {n_kills}");
    for outcome in ["before the commit", "after the commit, before the reply"] {
        assert!(outcomes.get(outcome).is_some_and(|n| *n > 4), "{outcome}: {outcomes:?}");
    }
    // The rest of the review can still be decided.
    let all = json!({ "decision": "accept", "all": true });
    world.server.ok("POST", "/api/agent/decisions", &all);
    let pending = world.model.pending();
    world.model = world.model.decided(&pending, Place::Accepted);
    assert_eq!(world.found("at the end"), world.model.places);
}
