//! Changes of one server that another one has not read yet: edits and decisions, approvals, and
//! conversations.

use std::time::Duration;

use emend_postgres::harness::TestServer;
use serde_json::{Value, json};

use super::model::Model;
use super::users::{Bench, bench};
use super::{ledger, project, word};

/// Waits for a state of a job by its events. Unlike a look at the job, that makes no server read the line logs.
fn wait_unseen(bench: &Bench<'_>, job: &str, is_there: impl Fn(&Value) -> bool) {
    bench.wait(&format!("{job}/events?limit=5000"), is_there);
}

fn has_event(page: &Value, kind: &str) -> bool {
    page["events"].as_array().unwrap().iter().any(|event| event["type"] == kind)
}

fn append(number: usize) -> String {
    format!("append {} to {}", word(0, number), ledger(0))
}

#[test]
fn a_decision_through_the_other_server_ends_the_job_that_works_on() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(21, (700, 701)));
    let bench = bench(database, &project, &model);
    let job = bench.job("review", &append(0));
    wait_unseen(&bench, &job, |page| has_event(page, "tool.call.completed") && !model.busy().is_empty());
    let other = usize::from(model.busy() == [0]);
    let review = bench.fleet.get("/api/agent/review");
    let hunk = &review["files"][0]["hunks"][0]["hunk_id"];
    let body = json!({ "hunk_ids": [hunk], "decision": "accept" });
    let reply = bench.fleet.send_to(other, "POST", "/api/agent/decisions", &body).unwrap();
    assert_eq!(reply.0, 200, "{reply:?}");
    // Nothing is left to review, so the job is over with its run.
    wait_unseen(&bench, &job, |page| page["status"] == "completed");
    assert_eq!(bench.count(&job, "edits.proposed"), 0);
}

#[test]
fn a_job_whose_server_was_killed_after_its_edit_awaits_review() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(22, (700, 701)));
    let bench = bench(database, &project, &model);
    let job = bench.job("review", &append(0));
    wait_unseen(&bench, &job, |page| has_event(page, "tool.call.completed") && !model.busy().is_empty());
    bench.fleet.kill(model.busy()[0]);
    wait_unseen(&bench, &job, |page| page["status"] == "awaiting_review");
    assert_eq!(bench.count(&job, "edits.proposed"), 1);
    assert_eq!(bench.fleet.get("/api/agent/review")["files"][0]["hunks"].as_array().unwrap().len(), 1);
}

/// Holds each commit that records the result of a call, while `held` has a row.
const HOLD: &str = "
    CREATE TABLE public.held ();
    INSERT INTO public.held DEFAULT VALUES;
    CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT FROM public.held) THEN PERFORM pg_sleep(60); END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER hold BEFORE INSERT ON emend.events FOR EACH ROW WHEN (NEW.kind = 'tool.call.completed')
        EXECUTE FUNCTION public.hold();";

#[test]
fn a_server_killed_between_its_write_and_the_record_of_the_step_has_written_once() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(30, (5, 10)));
    let bench = bench(database, &project, &model);
    bench.sql(HOLD);
    let job = bench.job("direct", &append(0));
    wait_unseen(&bench, &job, |_| {
        let waits =
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";
        project.read(&ledger(0)).contains(&word(0, 0)) && bench.sql(waits) == "1"
    });
    bench.sql("DELETE FROM public.held");
    (0..2).for_each(|server| bench.fleet.kill(server));
    // The database does not notice that the client is gone.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE wait_event = 'PgSleep' AND datname = current_database()";
    assert_eq!(bench.sql(end), "t");
    bench.wait_for(&job, "completed");
    assert_eq!(project.read(&ledger(0)), format!("BEGIN\n{}\nEND\n", word(0, 0)));
    let page = bench.fleet.get(&format!("{job}/events?limit=5000"));
    let results: Vec<_> =
        page["events"].as_array().unwrap().iter().filter(|event| event["type"] == "tool.call.completed").collect();
    assert_eq!(results.len(), 1, "{results:?}");
    assert!(results[0].to_string().contains("The server was replaced during this call"), "{results:?}");
    model.assert_calls_have_results();
}

#[test]
fn the_end_of_a_job_leaves_the_jobs_of_other_servers_in_review() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(23, (300, 301)));
    let bench = bench(database, &project, &model);
    // Each round, the two jobs are on different servers with a chance of a half.
    for round in 0..6 {
        let talk = bench.job("direct", "say a word");
        let edit = bench.job("review", &append(round));
        wait_unseen(&bench, &edit, |page| page["status"] == "awaiting_review");
        wait_unseen(&bench, &talk, |page| page["status"] == "completed");
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(bench.fleet.get(&edit)["status"], "awaiting_review", "round {round}");
    }
}

#[test]
fn rejected_edits_are_told_by_a_server_that_did_not_hear_of_them() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(24, (5, 10)));
    let bench = bench(database, &project, &model);
    let session = bench.session(&json!({ "mode": "review" }));
    for round in 0..4 {
        let job = bench.job_in(&session, &json!({ "instruction": append(round) }));
        bench.wait_for(&job, "awaiting_review");
        let send = |server: usize, path: &str, body: &Value| {
            let reply = bench.fleet.send_to(server, "POST", path, body).unwrap();
            assert!((200..300).contains(&reply.0), "{path}: {reply:?}");
            reply.1
        };
        send(round % 2, "/api/agent/decisions", &json!({ "all": true, "decision": "reject" }));
        bench.wait_for(&job, "completed");
        let body = json!({ "session_id": session, "instruction": "say a word" });
        let next = send(1 - round % 2, "/api/agent/run", &body);
        bench.wait_for(&format!("/api/agent/jobs/{}", next["job_id"].as_str().unwrap()), "completed");
        let told = model.asked().pop().unwrap();
        assert!(told.contains("rejected 1 edit") && told.contains("say a word"), "round {round}: {told}");
    }
}

/// Answers the open approval of a job.
fn answer(bench: &Bench<'_>, job: &str, tool: &str, decision: &str) {
    let is_open = |state: &Value| state["approvals"][0]["tool"] == tool;
    let state = bench.wait(job, is_open);
    let call = &state["approvals"][0]["tool_call_id"];
    bench.post(&format!("{job}/approve"), &json!({ "tool_call_id": call, "decision": decision }));
}

#[test]
fn an_allowed_command_confirms_no_edit() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(25, (5, 10)));
    let bench = bench(database, &project, &model);
    let session = bench.session(&json!({ "mode": "direct", "confirm_before_edits": true }));
    let before = project.read(&ledger(0));
    let job = bench.job_in(&session, &json!({ "instruction": format!("check and {}", append(0)) }));
    answer(&bench, &job, "shell", "allow");
    answer(&bench, &job, "edit_file", "deny");
    bench.wait_for(&job, "completed");
    assert_eq!(project.read(&ledger(0)), before);
}

#[test]
fn a_call_that_waits_for_the_user_counts_once() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(26, (5, 10)));
    let bench = bench(database, &project, &model);
    let session = bench.session(&json!({ "mode": "ask" }));
    let body = json!({
        "instruction": format!("check and {}", append(0)), "tool_config": { "max_tool_calls": 2 },
    });
    let job = bench.job_in(&session, &body);
    answer(&bench, &job, "shell", "allow");
    answer(&bench, &job, "edit_file", "allow");
    let state = bench.wait(&job, |state| ["completed", "failed"].contains(&state["status"].as_str().unwrap()));
    assert_eq!(state["n_tool_calls"], 2, "{state}");
    assert!(project.read(&ledger(0)).contains(&word(0, 0)), "{state}");
}

#[test]
fn a_call_of_a_cancelled_job_has_a_result_in_the_next_one() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(27, (5, 10)));
    let bench = bench(database, &project, &model);
    let session = bench.session(&json!({ "mode": "ask" }));
    let job = bench.job_in(&session, &json!({ "instruction": append(0) }));
    bench.wait_for(&job, "waiting_for_user");
    bench.post(&format!("{job}/cancel"), &Value::Null);
    bench.wait_for(&job, "cancelled");
    let next = bench.job_in(&session, &json!({ "instruction": "say a word" }));
    bench.wait_for(&next, "completed");
    model.assert_calls_have_results();
}

#[test]
fn an_instruction_that_no_server_started_is_started_by_one_that_looks() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(28, (5, 10)));
    let bench = bench(database, &project, &model);
    let session = bench.session(&json!({ "mode": "direct" }));
    let job = bench.job_in(&session, &json!({ "instruction": append(0) }));
    bench.wait_for(&job, "completed");
    // As a server leaves it that is killed between two jobs.
    let waiting = json!([{ "follow_up_id": "fu_1", "text": append(1), "created_at": "2026-01-01T00:00:00.000Z" }]);
    let sql = format!(
        "UPDATE emend.sessions SET body = jsonb_set(body::jsonb, '{{follow_ups}}', '{waiting}')::json WHERE id = '{session}'"
    );
    bench.sql(&sql);
    bench.wait(&format!("/api/agent/sessions/{session}/jobs"), |page| {
        // Other sessions keep the server busy.
        bench.sql("NOTIFY emend_commits, 'other'");
        let jobs = page["jobs"].as_array().unwrap();
        jobs.len() == 2 && jobs.iter().all(|job| job["status"] == "completed")
    });
    assert!(project.read(&ledger(0)).contains(&word(0, 1)));
}

#[test]
fn a_rewind_of_a_killed_server_is_completed_before_the_next_job() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(29, (5, 10)));
    let bench = bench(database, &project, &model);
    let session = bench.session(&json!({ "mode": "direct" }));
    let mut jobs = Vec::new();
    for number in 0..2 {
        let job = bench.job_in(&session, &json!({ "instruction": append(number) }));
        jobs.push(bench.wait_for(&job, "completed"));
    }
    let n_kept = jobs[1]["n_messages_before"].as_u64().unwrap();
    let plan = json!({
        "is_undo": false, "job_id": jobs[1]["job_id"], "conversation": true, "n_kept": n_kept, "n_removed": n_kept,
        "files": true, "runs": jobs[1]["runs"],
    });
    let sql = format!(
        "UPDATE emend.sessions SET body = jsonb_set(body::jsonb, '{{rewinding}}', '{plan}')::json WHERE id = '{session}'"
    );
    bench.sql(&sql);
    let next = bench.job_in(&session, &json!({ "instruction": "say a word" }));
    let next = bench.wait_for(&next, "completed");
    assert_eq!(next["n_messages_before"], n_kept);
    let text = project.read(&ledger(0));
    assert!(text.contains(&word(0, 0)) && !text.contains(&word(0, 1)), "{text}");
}
