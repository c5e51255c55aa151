//! Claims that end, workers that die at random moments, a crash of the database, and waits without a worker.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::harness::TestServer;
use crate::{OpenError, migrate};

fn run<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

async fn place(server: &TestServer) -> (Address, PostgresJobs) {
    let address = Address::parse(&server.database()).unwrap();
    assert!(migrate(&address).await.unwrap().has_jobs);
    let jobs = PostgresJobs::open(&address).await.unwrap();
    (address, jobs)
}

async fn claim(jobs: &PostgresJobs, worker: &str, lease_s: i32) -> Claim {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(claim) = jobs.claim(worker, 1, lease_s).await.unwrap().pop() {
            return claim;
        }
        assert!(Instant::now() < until, "no job can be claimed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_lost<T: std::fmt::Debug>(outcome: Result<T, ClaimError>) -> bool {
    matches!(outcome, Err(ClaimError::Lost { .. }))
}

#[test]
fn a_worker_whose_claim_ended_changes_nothing() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let (_, jobs) = place(server).await;
        let task = jobs.submit("one", &json!({ "n": 1 })).await.unwrap();
        assert_eq!(jobs.submit("one", &json!({ "n": 2 })).await.unwrap(), task, "the key names one job");
        let first = claim(&jobs, "first", 1).await;
        assert_eq!((first.attempt, &first.params), (1, &json!({ "n": 1 })));
        let answer = json!({ "text": "a \0 within a text" });
        jobs.record(&first, "llm:1", &answer).await.unwrap();
        jobs.renew(&first, 1).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        // No other worker has claimed the job yet: Absurd alone would still accept the step.
        assert!(is_lost(jobs.record(&first, "tool:late", &json!(1)).await));
        assert!(is_lost(jobs.renew(&first, 60).await), "a claim that ended stays so");
        assert!(is_lost(jobs.end(&first, &json!(1)).await));
        let second = claim(&jobs, "second", 60).await;
        assert_eq!((second.attempt, &second.task_id), (2, &task));
        assert_eq!(jobs.recorded(&second).await.unwrap(), [("llm:1".to_owned(), answer)]);
        assert!(is_lost(jobs.record(&first, "tool:late", &json!(1)).await));
        jobs.end(&second, &json!("done")).await.unwrap();
        assert!(is_lost(jobs.end(&first, &json!("late")).await));
        assert_eq!(jobs.result(&task).await.unwrap(), Some(("completed".to_owned(), json!("done"))));
        let other = jobs.submit("two", &Value::Null).await.unwrap();
        let claimed = claim(&jobs, "second", 60).await;
        jobs.cancel(&other).await.unwrap();
        assert!(is_lost(jobs.record(&claimed, "llm:1", &json!(1)).await));
    });
}

#[test]
fn a_question_holds_no_worker() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let (_, jobs) = place(server).await;
        jobs.submit("one", &Value::Null).await.unwrap();
        let first = claim(&jobs, "w", 60).await;
        assert_eq!(jobs.wait_for(&first, "tool:ask", "answer:1").await.unwrap(), JobWait::Suspended);
        assert_eq!(jobs.claim("w", 1, 60).await.unwrap(), []);
        jobs.answer("answer:1", &json!("blue")).await.unwrap();
        jobs.answer("answer:1", &json!("red")).await.unwrap();
        let second = claim(&jobs, "w", 60).await;
        let ready = JobWait::Ready(json!("blue"));
        assert_eq!(jobs.wait_for(&second, "tool:ask", "answer:1").await.unwrap(), ready);
        assert_eq!(jobs.wait_for(&second, "tool:ask", "answer:1").await.unwrap(), ready, "the answer is recorded");
        jobs.end(&second, &Value::Null).await.unwrap();
    });
}

#[test]
fn another_version_of_the_engine_is_refused() {
    let Some(server) = TestServer::shared() else { return };
    run(async {
        let (address, _) = place(server).await;
        let later = "CREATE OR REPLACE FUNCTION absurd.get_schema_version() RETURNS text LANGUAGE sql AS
            $$ SELECT '9.0.0'::text $$";
        address.connect().await.unwrap().batch_execute(later).await.unwrap();
        let error = migrate(&address).await.unwrap_err();
        assert!(matches!(error, OpenError::Absurd { .. }) && error.to_string().contains("9.0.0"), "{error}");
    });
}

const STEPS: usize = 4;

/// Works on jobs until it is killed.
async fn work(jobs: PostgresJobs, worker: String) {
    loop {
        let Ok(claims) = jobs.claim(&worker, 1, 1).await else { continue };
        let Some(claim) = claims.into_iter().next() else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Ok(recorded) = jobs.recorded(&claim).await else { continue };
        let mut is_lost = false;
        for n in recorded.len()..STEPS {
            // The latency of a model.
            tokio::time::sleep(Duration::from_millis(15)).await;
            if jobs.record(&claim, &format!("llm:{n}"), &json!(claim.attempt)).await.is_err() {
                is_lost = true;
                break;
            }
        }
        if !is_lost {
            // A lost answer is told by the ledger.
            let _ = jobs.end(&claim, &json!(claim.attempt)).await;
        }
    }
}

#[test]
fn each_job_ends_once_although_workers_die_and_the_database_crashes() {
    const JOBS: usize = 60;
    const WORKERS: usize = 4;
    let Some(server) = TestServer::start(true) else { return };
    let server = Arc::new(server);
    run(async {
        let begun = Instant::now();
        let (address, jobs) = place(&server).await;
        let ledger = "CREATE TABLE ledger (run uuid, task uuid);
            CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO ledger VALUES (new.run_id, new.task_id); RETURN new; END $$;
            CREATE TRIGGER note AFTER UPDATE OF state ON absurd.r_emend FOR EACH ROW
            WHEN (new.state = 'completed') EXECUTE FUNCTION note()";
        address.connect().await.unwrap().batch_execute(ledger).await.unwrap();
        for n in 0..JOBS {
            jobs.submit(&format!("job {n}"), &json!(n)).await.unwrap();
        }
        let start = |n: usize| tokio::spawn(work(jobs.clone(), format!("worker {n}")));
        let mut workers: Vec<_> = (0..WORKERS).map(start).collect();
        let mut n_kills = 0;
        let crash = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let server = Arc::clone(&server);
            tokio::task::spawn_blocking(move || server.crash()).await.unwrap();
        };
        let kill = async {
            let sql = "SELECT count(*) FROM absurd.t_emend WHERE state <> 'completed'";
            while jobs.rows(sql, &[]).await.unwrap()[0].get::<_, i64>(0) > 0 {
                tokio::time::sleep(Duration::from_millis(70)).await;
                // A worker dies in the middle of a step, and another one starts.
                if n_kills < 30 {
                    workers[n_kills % WORKERS].abort();
                    workers[n_kills % WORKERS] = start(n_kills);
                    n_kills += 1;
                }
                assert!(begun.elapsed() < Duration::from_secs(120), "jobs do not end");
            }
        };
        tokio::join!(crash, kill);
        let sql = "SELECT count(*), count(DISTINCT task) FROM ledger";
        let row = jobs.rows(sql, &[]).await.unwrap().remove(0);
        let ended: (i64, i64) = (row.get(0), row.get(1));
        assert_eq!(ended, (JOBS as i64, JOBS as i64), "each job ends once");
        let sql = "SELECT count(*) FROM absurd.c_emend";
        let n_steps: i64 = jobs.rows(sql, &[]).await.unwrap()[0].get(0);
        assert_eq!(n_steps, (JOBS * STEPS) as i64);
        println!("{JOBS} jobs, {n_kills} killed workers, 1 crash of the database, {:.1?}", begun.elapsed());
        workers.iter().for_each(tokio::task::JoinHandle::abort);
    });
}
