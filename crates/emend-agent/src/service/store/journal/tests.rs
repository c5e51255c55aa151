//! The suite, and journals that end at any byte.

use emend_llm::runtime;
use futures::executor::block_on;
use serde_json::json;

use super::*;
use crate::service::records::{JobStatus, SessionStatus};
use crate::service::store::{NewEvent, conformance};
use crate::service::time::Timestamp;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A journal of lines in memory. It fails after half of a record with a fault.
#[derive(Default)]
struct Lines(runtime::Mutex<Vec<u8>>);

fn ready<T: MaybeSend + 'static>(value: T) -> BoxFuture<'static, T> {
    Box::pin(std::future::ready(value))
}

impl Journal for Lines {
    fn load(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        let text = String::from_utf8_lossy(&self.0.lock()).into_owned();
        ready(Ok(text.split_terminator('\n').map(str::to_owned).collect()))
    }

    fn append<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut bytes = self.0.lock();
        if record.contains("\"kind\":\"fault\"") {
            bytes.extend_from_slice(&record.as_bytes()[..record.len() / 2]);
            return ready(Err(failed("a planted fault".to_owned())));
        }
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(record.as_bytes());
        bytes.push(b'\n');
        ready(Ok(()))
    }

    fn replace<'a>(&'a self, records: &'a [String]) -> BoxFuture<'a, Result<(), StoreError>> {
        *self.0.lock() = records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect();
        ready(Ok(()))
    }
}

fn open(lines: &Shared<Lines>) -> Result<JournalServiceStore, StoreError> {
    block_on(JournalServiceStore::open(Shared::clone(lines) as Shared<dyn Journal>))
}

fn of_bytes(bytes: &[u8]) -> Shared<Lines> {
    Shared::new(Lines(runtime::Mutex::new(bytes.to_vec())))
}

fn dump(store: &JournalServiceStore) -> conformance::StoreDump {
    block_on(conformance::dump(store)).unwrap()
}

/// Returns the `n`-th change of a series with every kind of part.
fn commit(n: u64) -> Commit {
    let id = format!("s{}", n % 3);
    let job_id = format!("{id}/{}", n % 2);
    let job = JobRecord {
        job_id: job_id.clone(),
        session_id: id.clone(),
        status: JobStatus::Running,
        ..JobRecord::default()
    };
    let event = |job_id: Option<&str>| NewEvent {
        kind: "ä".to_owned(),
        job_id: job_id.map(str::to_owned),
        data: json!({ "n": n }),
    };
    Commit {
        work: None,
        at: Timestamp(n),
        session: SessionRecord {
            session_id: id,
            updated_at: Timestamp(n),
            status: SessionStatus::Active,
            ..SessionRecord::default()
        },
        jobs: if n % 4 == 3 { vec![] } else { vec![job] },
        events: vec![event(Some(&job_id)), event(None), event(Some("s0/0"))],
        text: format!("Text {n}\n"),
        purged_jobs: if n % 7 == 6 { vec![job_id] } else { vec![] },
        events_per_job_max: n % 3,
    }
}

fn change(store: &JournalServiceStore, n: u64) {
    if n % 9 == 8 {
        block_on(store.remove_session("s1")).unwrap();
    } else {
        block_on(store.commit(commit(n))).unwrap();
    }
}

#[test]
fn the_store_with_a_journal_passes_the_suite() {
    block_on(conformance::check(|| async {
        let lines: Shared<Lines> = Shared::default();
        Shared::new(JournalServiceStore::open(lines).await.unwrap())
    }));
}

#[test]
fn a_commit_that_fails_stores_nothing_also_after_a_restart() {
    let lines = Shared::default();
    let store = open(&lines).unwrap();
    block_on(conformance::check_failure(&store));
    assert_eq!(dump(&open(&lines).unwrap()), dump(&store));
}

#[test]
fn an_opened_journal_has_the_same_content_before_and_after_a_replacement() {
    let lines = Shared::default();
    let store = open(&lines).unwrap();
    for n in 0..60 {
        change(&store, n);
        let expected = dump(&store);
        assert_eq!(dump(&open(&lines).unwrap()), expected, "change {n}");
        let replaced = of_bytes(&lines.0.lock());
        let copy = open(&replaced).unwrap();
        block_on(async { copy.replace(&mut *copy.book.lock().await).await }).unwrap();
        let copy = open(&replaced).unwrap();
        assert_eq!(dump(&copy), expected, "change {n}, replaced");
        change(&copy, n + 1);
        let other = open(&of_bytes(&lines.0.lock())).unwrap();
        change(&other, n + 1);
        assert_eq!(dump(&copy), dump(&other), "the change after {n}");
    }
}

#[test]
fn a_journal_may_end_at_any_byte() {
    let lines = Shared::default();
    let store = open(&lines).unwrap();
    let mut ends = vec![(0, dump(&store))];
    for n in 4..9 {
        change(&store, n);
        ends.push((lines.0.lock().len(), dump(&store)));
    }
    let bytes = lines.0.lock().clone();
    for cut in 0..=bytes.len() {
        let rest = of_bytes(&bytes[..cut]);
        let store = open(&rest).unwrap();
        // A record without its line break is whole.
        let n_whole = ends.iter().filter(|(end, _)| *end <= cut + 1).count() - 1;
        assert_eq!(dump(&store), ends[n_whole].1, "cut after {cut} bytes");
        block_on(store.commit(commit(99))).unwrap();
        assert_eq!(dump(&open(&rest).unwrap()), dump(&store), "reopened after a cut at {cut} bytes");
    }
}

#[test]
fn damage_before_the_last_record_is_an_error_with_its_position() {
    let lines = Shared::default();
    let store = open(&lines).unwrap();
    (0..4).for_each(|n| change(&store, n));
    let whole: Vec<String> = block_on(lines.load()).unwrap();
    block_on(async { store.replace(&mut *store.book.lock().await).await }).unwrap();
    let content: Vec<String> = block_on(lines.load()).unwrap();
    let n = content.len();
    let with = |records: &[String], at: usize, text: &str| {
        let mut records = records.to_vec();
        text.clone_into(&mut records[at]);
        records
    };
    let table = [
        ("broken", with(&whole, 1, "{\"commit\""), "record 2 of 4 cannot be read".to_owned()),
        ("twice", with(&whole, 2, &whole[1]), "record 3 of 4 does not follow".to_owned()),
        ("missing", [&whole[..1], &whole[2..]].concat(), "record 2 of 3 does not follow".to_owned()),
        ("content cut", content[..n - 1].to_vec(), "1 records are missing at the end".to_owned()),
        ("content broken", with(&content, n - 1, "{"), format!("record {n} of {n} cannot be read")),
        ("content late", [&whole[..1], &content[..1]].concat(), "record 2 of 2 is not a change".to_owned()),
    ];
    for (name, records, expected) in table {
        let lines: Shared<Lines> = Shared::default();
        block_on(lines.replace(&records)).unwrap();
        let error = open(&lines).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(&expected), "{name}: {error}");
    }
}

#[test]
fn a_journal_does_not_grow_without_end() {
    let lines = Shared::default();
    let store = open(&lines).unwrap();
    let mut largest = 0;
    for _ in 0..1_000 {
        let commit = Commit { events_per_job_max: 1, text: String::new(), ..commit(0) };
        let events = vec![NewEvent { data: json!("x".repeat(500)), ..commit.events[0].clone() }];
        block_on(store.commit(Commit { events, ..commit })).unwrap();
        largest = largest.max(lines.0.lock().len());
    }
    assert!(largest > CHANGES_MIN && largest < 2 * CHANGES_MIN, "{largest} bytes");
    assert_eq!(dump(&open(&lines).unwrap()), dump(&store));
}
