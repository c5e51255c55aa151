//! Jobs of two servers on one database: the fence in a commit, sessions that changed meanwhile, waits, and locks.

use std::task::Poll;
use std::time::{Duration, Instant};

use emend_agent::service::jobs::{Claim, Held, Jobs as _, Untold};
use emend_agent::service::store::{Commit, EventScope, NewEvent, Work, WorkChange};
use emend_agent::service::{JobRecord, ServiceStore as _, SessionRecord};
use emend_agent::store::StoreError;
use serde_json::{Value, json};

use super::servers::{ServerJobs, ServerOptions};
use crate::PostgresServiceStore;
use crate::database::Address;
use crate::harness::TestServer;
use crate::migrate;

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

/// Two servers, and the store that both use.
struct Bench {
    a: ServerJobs,
    b: ServerJobs,
    store: PostgresServiceStore,
    address: Address,
}

impl Bench {
    async fn open(server: &TestServer) -> Self {
        let address = Address::parse(&server.database()).unwrap();
        migrate(&address).await.unwrap();
        let open = |name: &str| {
            let (address, options) = (address.clone(), ServerOptions { name: name.to_owned(), lease_s: 1 });
            async move { ServerJobs::open(&address, options).await.unwrap() }
        };
        let store = PostgresServiceStore::open(&address).await.unwrap();
        Self { a: open("a").await, b: open("b").await, store, address }
    }

    /// Stores one event of the job `j`, as a caller that has read the session at `cursor`.
    async fn commit(&self, cursor: u64, work: Work) -> Result<u64, StoreError> {
        let session = SessionRecord { session_id: "s".to_owned(), cursor, ..SessionRecord::default() };
        let job = JobRecord { job_id: "j".to_owned(), session_id: "s".to_owned(), ..JobRecord::default() };
        let events = vec![NewEvent { kind: "x".to_owned(), job_id: Some("j".to_owned()), data: Value::Null }];
        let work = Some(Box::new(Work { job_id: "j".to_owned(), ..work }));
        let done = self.store.commit(Commit { session, jobs: vec![job], events, work, ..Commit::default() }).await?;
        Ok(done.session.cursor)
    }

    async fn submit(&self) {
        let change = Some(WorkChange::Submit { key: "j".to_owned() });
        assert_eq!(self.commit(0, Work { change, ..Work::default() }).await.unwrap(), 1);
    }
}

fn under(claim: &Claim, steps: &[&str], change: Option<WorkChange>) -> Work {
    let steps = steps.iter().map(|step| ((*step).to_owned(), json!({ "step": step }))).collect();
    Work { claim: Some(claim.id.clone()), steps, change, ..Work::default() }
}

async fn claim(jobs: &ServerJobs) -> Claim {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(claim) = jobs.claim(4).await.unwrap().pop() {
            return claim;
        }
        assert!(Instant::now() < until, "no job");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_refused<T>(outcome: &Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::Conflict { .. }))
}

#[test]
fn a_server_that_lost_its_claim_stores_nothing() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let bench = Bench::open(server).await;
        bench.submit().await;
        let first = claim(&bench.a).await;
        assert_eq!(first.params, json!({ "job_id": "j" }));
        assert_eq!(bench.commit(1, under(&first, &["llm:1"], None)).await.unwrap(), 2);
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        // Before another server has the job, and after that.
        assert!(is_refused(&bench.commit(2, under(&first, &["llm:2"], None)).await));
        assert!(is_refused(&bench.a.lock_root(Some(&first.id)).await));
        let second = claim(&bench.b).await;
        assert!(is_refused(&bench.commit(2, under(&first, &["llm:2"], None)).await));
        assert!(is_refused(&bench.a.renew(&first).await));
        assert_eq!(bench.b.recorded(&second).await.unwrap(), [("llm:1".to_owned(), json!({ "step": "llm:1" }))]);
        drop(bench.b.lock_root(Some(&second.id)).await.unwrap());
        let end = Some(WorkChange::End { result: json!({ "answer": "\0" }) });
        assert_eq!(bench.commit(2, under(&second, &[], end)).await.unwrap(), 3);
        let page = bench.store.events(&EventScope::All, 0, 10).await.unwrap();
        assert_eq!(page.events.iter().map(|event| event.cursor).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(bench.a.claim(4).await.unwrap(), []);
    });
}

#[test]
fn a_session_that_another_server_changed_is_not_overwritten() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let bench = Bench::open(server).await;
        bench.submit().await;
        assert_eq!(bench.commit(1, Work::default()).await.unwrap(), 2);
        assert!(is_refused(&bench.commit(1, Work::default()).await));
        assert_eq!(bench.commit(2, Work::default()).await.unwrap(), 3);
    });
}

#[test]
fn a_waiting_job_is_claimed_after_its_answer_and_a_released_one_at_once() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let bench = Bench::open(server).await;
        bench.submit().await;
        let first = claim(&bench.a).await;
        let answer = || "j:1".to_owned();
        bench.commit(1, under(&first, &[], Some(WorkChange::Wait { answer: answer() }))).await.unwrap();
        assert!(is_refused(&bench.commit(2, under(&first, &[], None)).await), "the server has left the job");
        assert_eq!(bench.b.claim(4).await.unwrap(), []);
        let change = Some(WorkChange::Answer { answer: answer() });
        bench.commit(2, Work { change, ..Work::default() }).await.unwrap();
        let second = claim(&bench.b).await;
        bench.b.release(&second).await.unwrap();
        let begun = Instant::now();
        let third = claim(&bench.a).await;
        assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
        bench.a.refuse(&third, json!({ "error": "x" })).await.unwrap();
        assert_eq!(bench.a.claim(4).await.unwrap(), []);
    });
}

#[test]
fn servers_take_turns_and_are_woken() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let bench = Bench::open(server).await;
        for is_root in [true, false] {
            let take = async |jobs: &ServerJobs| match is_root {
                true => drop(jobs.lock_root(None).await.unwrap()),
                false => drop(jobs.lock("s").await.unwrap()),
            };
            let (root, session) = match is_root {
                true => (Some(bench.a.lock_root(None).await.unwrap()), None),
                false => (None, bench.a.lock("s").await.unwrap()),
            };
            let waiting = tokio::time::timeout(Duration::from_millis(300), take(&bench.b)).await;
            assert!(waiting.is_err(), "the other server has its turn");
            drop((root, session));
            tokio::time::timeout(Duration::from_secs(10), take(&bench.b)).await.unwrap();
        }
        // Both listen before the job comes.
        tokio::time::sleep(Duration::from_millis(500)).await;
        bench.submit().await;
        let (mut named, mut has_work) = (false, false);
        let until = Instant::now() + Duration::from_secs(10);
        while !(named && has_work) {
            let woken = bench.b.woken().await;
            let Some(sessions) = woken.sessions else { continue };
            named |= sessions.contains(&"s".to_owned());
            has_work |= woken.has_work;
            assert!(Instant::now() < until, "{sessions:?}");
        }
    });
}

#[test]
fn a_lock_that_is_granted_to_a_caller_that_stopped_waiting_is_given_back() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let bench = Bench::open(server).await;
        drop(bench.a.lock_root(None).await.unwrap());
        let mut n_stopped = 0;
        for step in 0..200 {
            // The caller stops at one of its first waits, whatever the time.
            let mut n_waits_left = step % 10;
            let mut lock = std::pin::pin!(bench.a.lock_root(None));
            let outcome = std::future::poll_fn(|context| match lock.as_mut().poll(context) {
                Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
                Poll::Pending if n_waits_left == 0 => Poll::Ready(None),
                Poll::Pending => {
                    n_waits_left -= 1;
                    Poll::Pending
                }
            });
            n_stopped += usize::from(outcome.await.is_none());
        }
        assert!(n_stopped > 0, "no caller stopped waiting");
        tokio::time::timeout(Duration::from_secs(10), bench.b.lock_root(None)).await.unwrap().unwrap();
    });
}

/// A runtime that stands still between calls, as a process that is paused.
fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn the_lock_of_a_paused_server_is_taken_over_and_what_it_does_later_is_refused() {
    let Some(server) = TestServer::shared() else { return };
    let (first, second) = (paused(), paused());
    let bench = first.block_on(Bench::open(server));
    first.block_on(bench.submit());
    let lock = first.block_on(bench.a.lock("s")).unwrap().unwrap();
    let turn = first.block_on(bench.a.lock_root(None)).unwrap();
    assert!(turn.is_held());
    let address = bench.address.clone();
    let other = async {
        let options = ServerOptions { name: "c".to_owned(), lease_s: 1 };
        let server = ServerJobs::open(&address, options).await.unwrap();
        let wait = Duration::from_secs(5);
        let lock = tokio::time::timeout(wait, server.lock("s")).await.unwrap().unwrap().unwrap();
        let turn = tokio::time::timeout(wait, server.lock_root(None)).await.unwrap().unwrap();
        (server, lock, turn)
    };
    let (_other, new_lock, new_turn) = second.block_on(other);
    assert!(!turn.is_held(), "without a look into the database");
    assert!(new_turn.is_held());
    // The session has not changed meanwhile: only the lock tells.
    let under = |lock: &dyn Held| Work { lock: Some(lock.proof()), ..Work::default() };
    assert!(is_refused(&first.block_on(bench.commit(1, under(&*lock)))));
    assert_eq!(first.block_on(bench.commit(1, under(&*new_lock))).unwrap(), 2);
    // The end of the old lock leaves the new one alone.
    first.block_on(async {
        drop((lock, turn));
        tokio::time::sleep(Duration::from_millis(300)).await;
    });
    assert_eq!(first.block_on(bench.commit(2, under(&*new_lock))).unwrap(), 3);
}

#[test]
fn a_lock_lasts_as_long_as_its_server_lives() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let bench = Bench::open(server).await;
        bench.submit().await;
        let (lock, turn) = (bench.a.lock("s").await.unwrap().unwrap(), bench.a.lock_root(None).await.unwrap());
        let taken = tokio::time::timeout(Duration::from_millis(2_500), bench.b.lock("s")).await;
        assert!(taken.is_err(), "its time is one second, and it is renewed");
        assert!(turn.is_held());
        let work = Work { lock: Some(lock.proof()), ..Work::default() };
        assert_eq!(bench.commit(1, work).await.unwrap(), 2);
        drop(lock);
        tokio::time::timeout(Duration::from_millis(500), bench.b.lock("s")).await.unwrap().unwrap();
    });
}

#[test]
fn changes_without_an_event_are_counted_for_all_servers() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let bench = Bench::open(server).await;
        bench.submit().await;
        // Both listen before the changes come.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(bench.b.untold().await.unwrap(), Untold::default());
        bench.a.tell_edit().await.unwrap();
        assert!(bench.store.remove_session("s").await.unwrap());
        assert!(!bench.store.remove_session("s").await.unwrap());
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let woken = bench.b.woken().await;
            // A look without a notification names no sessions.
            if woken.has_untold && woken.sessions.is_some() {
                break;
            }
            assert!(Instant::now() < until);
        }
        assert_eq!(bench.b.untold().await.unwrap(), Untold { n_edits: 1, n_removed: 1 });
    });
}
