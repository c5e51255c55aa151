//! The suite of stores, and the rules of the file.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use emend_agent::service::store::{Commit, EventScope, NewEvent, conformance};
use emend_agent::service::{ServiceStore as _, SessionRecord};
use emend_agent::store::{Store as _, StoreError};
use futures::executor::block_on;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn place() -> (TempDir, PathBuf) {
    let around = TempDir::new().unwrap();
    let path = around.path().join("state/emend.db");
    (around, path)
}

fn commit(id: &str, n_events: usize) -> Commit {
    let event = NewEvent { kind: "x".to_owned(), job_id: None, data: json!({}) };
    let session = SessionRecord { session_id: id.to_owned(), ..SessionRecord::default() };
    Commit { session, events: vec![event; n_events], ..Commit::default() }
}

#[test]
fn the_store_passes_the_suite() {
    let around = TempDir::new().unwrap();
    let n_opened = Cell::new(0);
    block_on(conformance::check(|| async {
        n_opened.set(n_opened.get() + 1);
        Arc::new(SqliteServiceStore::open(&around.path().join(format!("{}.db", n_opened.get()))).unwrap())
    }));
}

#[test]
fn several_connections_share_a_file() {
    let (_around, path) = place();
    let handles: Vec<_> = (0..3).map(|_| Arc::new(SqliteServiceStore::open(&path).unwrap())).collect();
    block_on(conformance::check_shared(&handles));
    block_on(handles[0].check()).unwrap();
}

#[test]
fn a_commit_that_fails_stores_nothing() {
    let (_around, path) = place();
    let store = SqliteServiceStore::open(&path).unwrap();
    let trap = "CREATE TRIGGER trap BEFORE INSERT ON events WHEN instr(new.body, '\"type\":\"fault\"')
        BEGIN SELECT raise(ABORT, 'a planted fault'); END";
    Connection::open(&path).unwrap().execute_batch(trap).unwrap();
    block_on(conformance::check_failure(&store));
}

#[test]
fn a_reopened_file_has_everything_and_its_numbers_continue() {
    let (_around, path) = place();
    let store = SqliteServiceStore::open(&path).unwrap();
    block_on(store.commit(commit("a", 3))).unwrap();
    block_on(store.append("a", "line\n")).unwrap();
    let before = block_on(conformance::dump(&store)).unwrap();
    drop(store);
    let store = SqliteServiceStore::open(&path).unwrap();
    assert_eq!(block_on(conformance::dump(&store)).unwrap(), before);
    assert_eq!(block_on(store.load("a")).unwrap().as_deref(), Some("line\n"));
    assert!(block_on(store.remove_session("a")).unwrap());
    drop(store);
    let store = SqliteServiceStore::open(&path).unwrap();
    let done = block_on(store.commit(commit("a", 1))).unwrap();
    assert_eq!((done.events[0].seq, done.events[0].cursor), (4, 1));
    for (after, floor) in [(0, 0), (1, 3)] {
        let page = block_on(store.events(&EventScope::All, after, 9)).unwrap();
        assert_eq!((page.floor, page.last, page.events.len()), (floor, 4, 1), "after {after}");
    }
}

#[cfg(unix)]
#[test]
fn other_users_cannot_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_around, path) = place();
    let store = SqliteServiceStore::open(&path).unwrap();
    block_on(store.commit(commit("a", 1))).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let log = path.with_extension("db-wal");
    assert_eq!((mode(path.parent().unwrap()), mode(&path), mode(&log)), (0o700, 0o600, 0o600));
}

#[test]
fn files_of_others_and_later_versions_are_refused_unchanged() {
    type Make = fn(&Path);
    let sql = |path: &Path, sql: &str| Connection::open(path).unwrap().execute_batch(sql).unwrap();
    let ours = |path: &Path| drop(SqliteServiceStore::open(path).unwrap());
    let table: [(&str, Make, &str, &str); 5] = [
        ("a text", |path| fs::write(path, "x".repeat(5_000)).unwrap(), "damaged or not a database", "io_error"),
        ("a short text", |path| fs::write(path, "x").unwrap(), "damaged or not a database", "io_error"),
        (
            "another program",
            |path| Connection::open(path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap(),
            "is a database of another program",
            "configuration",
        ),
        ("a later version", |_| {}, "has version 99; this program reads versions up to 4", "configuration"),
        ("a cut file", |_| {}, "damaged or not a database", "io_error"),
    ];
    for (name, make, message, code) in table {
        let around = TempDir::new().unwrap();
        let path = around.path().join("emend.db");
        make(&path);
        match name {
            "a later version" => {
                ours(&path);
                sql(&path, "PRAGMA user_version = 99");
            }
            "a cut file" => {
                ours(&path);
                fs::File::options().write(true).open(&path).unwrap().set_len(8_192).unwrap();
            }
            _ => {}
        }
        let before = fs::read(&path).unwrap();
        let Err(error) = SqliteServiceStore::open(&path) else { panic!("{name} was opened") };
        assert!(error.to_string().contains(message), "{name}: {error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{name}: {error}");
        assert_eq!(error.code().as_str(), code, "{name}");
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
    }
}

#[test]
fn damage_inside_the_file_is_reported_with_its_path() {
    let (_around, path) = place();
    let store = SqliteServiceStore::open(&path).unwrap();
    for n in 0..200 {
        block_on(store.commit(commit(&format!("session {n}"), 5))).unwrap();
    }
    drop(store);
    let mut content = fs::read(&path).unwrap();
    // The header and the schema stay whole.
    let end = content.len();
    content[48 * 4_096..end].fill(0xa5);
    fs::write(&path, &content).unwrap();
    let store = SqliteServiceStore::open(&path).unwrap();
    let error = block_on(conformance::dump(&store)).unwrap_err();
    let StoreError::Io { name, reason } = &error else { panic!("{error}") };
    assert!(name == path.to_str().unwrap() && reason.contains("damaged"), "{error}");
    let error = block_on(store.check()).unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), content);
}

#[test]
fn documents_are_those_of_other_stores() {
    let (_around, path) = place();
    let store = SqliteServiceStore::open(&path).unwrap();
    assert_eq!(block_on(Store::load(&store, "one")), Ok(None));
    block_on(store.append("one", "first\n")).unwrap();
    block_on(store.append("one", "second\nthi")).unwrap();
    block_on(store.append("one", "fourth\n")).unwrap();
    assert_eq!(block_on(store.load("one")), Ok(Some("first\nsecond\nthi\nfourth\n".to_owned())));
    block_on(store.append("one.out-1", "x")).unwrap();
    assert_eq!(block_on(store.names()).unwrap(), ["one", "one.out-1"]);
    assert_eq!(block_on(store.remove("one")), Ok(true));
    assert_eq!(block_on(store.remove("one")), Ok(false));
    for name in ["", "../x", "a/b", ".hidden", "ä"] {
        let refused = StoreError::BadName { name: name.to_owned() };
        assert_eq!(block_on(store.append(name, "x\n")), Err(refused.clone()), "{name:?}");
        assert_eq!(block_on(store.load(name)), Err(refused.clone()), "{name:?}");
        assert_eq!(block_on(store.remove(name)), Err(refused), "{name:?}");
    }
}

#[test]
fn a_second_writer_of_a_document_is_a_conflict() {
    let (_around, path) = place();
    let (first, second) = (SqliteServiceStore::open(&path).unwrap(), SqliteServiceStore::open(&path).unwrap());
    let conflict = Err(StoreError::Conflict { name: "one".to_owned() });
    block_on(first.append("one", "a\n")).unwrap();
    assert_eq!(block_on(second.load("one")), Ok(Some("a\n".to_owned())));
    block_on(second.append("one", "b\n")).unwrap();
    assert_eq!(block_on(first.append("one", "c\n")), conflict);
    assert_eq!(block_on(first.load("one")), Ok(Some("a\nb\n".to_owned())));
    block_on(first.append("one", "c\n")).unwrap();
    assert_eq!(block_on(second.append("one", "d\n")), conflict);
    assert_eq!(block_on(first.remove("one")), Ok(true));
    assert_eq!(block_on(second.append("one", "d\n")), conflict);
    // A document that a reader did not find and that another writer creates.
    assert_eq!(block_on(first.load("two")), Ok(None));
    block_on(second.append("two", "a\n")).unwrap();
    let conflict = Err(StoreError::Conflict { name: "two".to_owned() });
    assert_eq!(block_on(first.append("two", "b\n")), conflict);
    assert_eq!(block_on(first.load("two")), Ok(Some("a\n".to_owned())));
}
