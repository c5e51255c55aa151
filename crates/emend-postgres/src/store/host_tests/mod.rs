//! The suite of stores, and the rules of the database.

mod kills;
mod proxy;

use std::sync::Arc;

use emend_agent::service::store::{Commit, NewEvent, conformance};
use emend_agent::service::{ServiceStore as _, SessionRecord};
use emend_agent::store::StoreError;
use serde_json::json;

use super::*;
use crate::harness::TestServer;
use crate::{Migrated, migrate};

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

/// Returns the address of a new migrated database.
async fn place(server: &TestServer) -> Address {
    let address = Address::parse(&server.database()).unwrap();
    migrate(&address).await.unwrap();
    address
}

async fn execute(address: &Address, sql: &str) {
    address.connect().await.unwrap().batch_execute(sql).await.unwrap();
}

fn commit(id: &str, n_events: usize) -> Commit {
    let event = NewEvent { kind: "x".to_owned(), job_id: None, data: json!({}) };
    let session = SessionRecord { session_id: id.to_owned(), ..SessionRecord::default() };
    Commit { session, events: vec![event; n_events], ..Commit::default() }
}

#[test]
fn the_store_passes_the_suite() {
    let Some(server) = TestServer::shared() else { return };
    run(conformance::check(|| async { Arc::new(PostgresServiceStore::open(&place(server).await).await.unwrap()) }));
}

#[test]
fn several_programs_share_a_database() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let address = place(server).await;
        let mut handles = Vec::new();
        for _ in 0..3 {
            handles.push(Arc::new(PostgresServiceStore::open(&address).await.unwrap()));
        }
        conformance::check_shared(&handles).await;
    });
}

#[test]
fn a_commit_that_fails_stores_nothing() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let address = place(server).await;
        let store = PostgresServiceStore::open(&address).await.unwrap();
        let trap = "CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'a planted fault'; END $$;
            CREATE TRIGGER trap BEFORE INSERT ON emend.events FOR EACH ROW WHEN (new.kind = 'fault')
            EXECUTE FUNCTION trap()";
        execute(&address, trap).await;
        conformance::check_failure(&store).await;
    });
}

#[test]
fn a_reopened_database_has_everything_and_its_numbers_continue() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let address = place(server).await;
        let store = PostgresServiceStore::open(&address).await.unwrap();
        store.commit(commit("a", 3)).await.unwrap();
        let before = conformance::dump(&store).await.unwrap();
        drop(store);
        let store = PostgresServiceStore::open(&address).await.unwrap();
        assert_eq!(conformance::dump(&store).await.unwrap(), before);
        assert!(store.remove_session("a").await.unwrap());
        let done = store.commit(commit("a", 1)).await.unwrap();
        assert_eq!((done.events[0].seq, done.events[0].cursor), (4, 1));
    });
}

#[test]
fn versions_are_checked_and_migrations_run_once() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let address = Address::parse(&server.database()).unwrap();
        let refused = |error: OpenError| (error.to_string(), error.code().as_str());
        let error = refused(PostgresServiceStore::open(&address).await.err().unwrap());
        assert_eq!(error.1, "configuration");
        assert!(error.0.contains("emend db migrate"), "{}", error.0);
        let known = crate::known_version();
        let (first, second) = tokio::join!(migrate(&address), migrate(&address));
        let mut outcomes = [first.unwrap(), second.unwrap()];
        outcomes.sort_by_key(|outcome| outcome.from);
        let has_jobs = cfg!(absurd);
        let expected = [0, known].map(|from| Migrated { from, to: known, has_jobs });
        assert_eq!(outcomes, expected);
        PostgresServiceStore::open(&address).await.unwrap();
        execute(&address, "INSERT INTO emend.versions (version) VALUES (99)").await;
        let expected = format!("the database has version 99; this program knows versions up to {known}");
        for error in [PostgresServiceStore::open(&address).await.err().unwrap(), migrate(&address).await.unwrap_err()] {
            let error = refused(error);
            assert!(error.0.contains(&expected) && error.1 == "configuration", "{}", error.0);
        }
    });
}

#[test]
fn ids_with_a_nul_are_those_of_no_record() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let store = PostgresServiceStore::open(&place(server).await).await.unwrap();
        assert_eq!(store.session("a\0").await, Ok(None));
        assert_eq!(store.job("a\0").await, Ok(None));
        assert_eq!(store.remove_session("a\0").await, Ok(false));
        assert_eq!(store.events(&EventScope::Job("\0".to_owned()), 0, 9).await, Ok(EventPage::default()));
        let error = store.commit(commit("a\0", 0)).await.unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        store.commit(commit("a", 1)).await.unwrap();
    });
}

#[test]
fn a_dropped_future_of_a_change_is_carried_out() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let store = PostgresServiceStore::open(&place(server).await).await.unwrap();
        drop(store.commit(commit("a", 2)));
        while store.session("a").await.unwrap().is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(store.session("a").await.unwrap().unwrap().cursor, 2);
    });
}
