//! Connections that break between a commit and its answer, and a database that crashes: each commit is stored once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use emend_agent::service::{JobRecord, JobStatus};

use super::proxy::Proxy;
use super::*;

/// Returns the `n`-th commit of a writer: `n % 4 + 1` events of one job.
fn numbered(writer: usize, n: u64) -> Commit {
    let (id, job_id) = (format!("s{}", writer % 2), format!("j{writer}"));
    let event = |part| NewEvent { kind: "x".to_owned(), job_id: Some(job_id.clone()), data: json!([writer, n, part]) };
    Commit {
        session: SessionRecord { session_id: id.clone(), ..SessionRecord::default() },
        jobs: vec![JobRecord {
            job_id: job_id.clone(),
            session_id: id,
            status: JobStatus::Running,
            ..JobRecord::default()
        }],
        events: (0..n % 4 + 1).map(event).collect(),
        ..Commit::default()
    }
}

/// Checks that the store has `n_commits` of each writer, whole and once, under the acknowledged numbers.
async fn check(store: &PostgresServiceStore, acknowledged: &[Vec<u64>]) {
    let page = store.events(&EventScope::All, 0, usize::MAX).await.unwrap();
    let numbers: Vec<u64> = page.events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=page.last).collect::<Vec<_>>(), "numbers without gaps");
    let mut found: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    for event in &page.events {
        let at = |n: usize| event.data[n].as_u64().unwrap();
        found.entry((at(0), at(1))).or_default().push(event.seq);
    }
    let expected: usize = acknowledged.iter().map(Vec::len).sum();
    assert_eq!(found.len(), expected, "all commits are acknowledged");
    for (writer, firsts) in acknowledged.iter().enumerate() {
        for (n, first) in (0..).zip(firsts) {
            let numbers = &found[&(writer as u64, n)];
            assert_eq!(*numbers, (*first..*first + n % 4 + 1).collect::<Vec<_>>(), "commit {n} of writer {writer}");
        }
    }
}

#[test]
fn a_commit_without_an_answer_is_stored_once() {
    const COMMITS: u64 = 60;
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let address = server.database();
        migrate(&Address::parse(&address).unwrap()).await.unwrap();
        let proxy = Proxy::start(server.socket());
        let store = PostgresServiceStore::open(&Address::parse(&proxy.address(&address)).unwrap()).await.unwrap();
        let mut firsts = Vec::new();
        for n in 0..COMMITS {
            // The answers of a new connection are part of the count: so also logins and preparations are cut.
            if n % 2 == 0 {
                proxy.cut_after(0, i64::try_from(n % 5).unwrap());
            }
            firsts.push(store.commit(numbered(0, n)).await.unwrap().events[0].seq);
        }
        proxy.cut_after(i64::MAX, i64::MAX);
        check(&store, &[firsts]).await;
        println!("{COMMITS} commits, {} connections cut", proxy.n_cuts());
        assert!(proxy.n_cuts() >= COMMITS / 2, "{} cuts", proxy.n_cuts());
    });
}

#[test]
fn a_crash_of_the_database_loses_no_acknowledged_commit() {
    const CRASHES: usize = 3;
    let Some(server) = TestServer::start(true) else { return };
    let server = Arc::new(server);
    run(async {
        let store = Arc::new(PostgresServiceStore::open(&place(&server).await).await.unwrap());
        let is_over = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
                tokio::spawn(async move {
                    let mut firsts = Vec::new();
                    while !is_over.load(Ordering::SeqCst) {
                        let done = store.commit(numbered(writer, firsts.len() as u64)).await.unwrap();
                        firsts.push(done.events[0].seq);
                    }
                    firsts
                })
            })
            .collect();
        for _ in 0..CRASHES {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let server = Arc::clone(&server);
            tokio::task::spawn_blocking(move || server.crash()).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        is_over.store(true, Ordering::SeqCst);
        let mut acknowledged = Vec::new();
        for writer in writers {
            acknowledged.push(writer.await.unwrap());
        }
        check(&store, &acknowledged).await;
        let n_commits: usize = acknowledged.iter().map(Vec::len).sum();
        println!("{CRASHES} crashes, {n_commits} commits");
        assert!(n_commits > 20, "{n_commits} commits");
    });
}
