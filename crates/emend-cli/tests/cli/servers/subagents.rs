//! Subagents of a job that several servers share: they work in the process that started them.

use emend_postgres::harness::TestServer;
use serde_json::{Value, json};

use super::model::Model;
use super::users::{Bench, bench};
use super::{ledger, project, word};

fn delegate(number: usize) -> String {
    format!("delegate: append {} to {}", word(0, number), ledger(0))
}

/// Returns the result of the agent's `wait` for its subagent, with everything else that the event tells.
fn wait_result(bench: &Bench<'_>, job: &str) -> Value {
    let page = bench.fleet.get(&format!("{job}/events?limit=5000"));
    let is_wait = |event: &&Value| {
        event["type"] == "tool.call.completed"
            && event["data"]["tool_call_id"].as_str().unwrap().ends_with("_of_parent_1")
    };
    page["events"].as_array().unwrap().iter().find(is_wait).expect("the agent waits for its subagent")["data"].clone()
}

#[test]
fn the_model_is_told_that_a_subagent_ended_with_its_server() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(31, (700, 701)));
    let bench = bench(database, &project, &model);
    let job = bench.job("direct", &delegate(0));
    // The subagent has edited, and waits for its last answer.
    bench.wait(&job, |_| project.read(&ledger(0)).contains(&word(0, 0)) && !model.busy().is_empty());
    bench.fleet.kill(model.busy()[0]);
    bench.wait_for(&job, "completed");
    let result = wait_result(&bench, &job);
    assert_eq!(result["ok"], false, "{result}");
    let text = result.to_string();
    assert!(
        text.contains("agent_1 ended when the server was replaced") && text.contains("edits so far stay"),
        "{text}"
    );
    assert_eq!(project.read(&ledger(0)).matches(&word(0, 0)).count(), 1);
    for kind in ["subagent.started", "job.completed", "message.completed"] {
        assert_eq!(bench.count(&job, kind), 1, "{kind}");
    }
    model.assert_calls_have_results();
}

#[test]
fn a_subagent_that_asks_the_user_goes_on_after_the_answer() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(32, (5, 10)));
    let bench = bench(database, &project, &model);
    // Each server gets an answer, whichever one runs the job.
    for number in 0..4 {
        let before = project.read(&ledger(0));
        let job = bench.job("ask", &delegate(number));
        let state = bench.wait(&job, |state| state["approvals"][0]["tool"] == "edit_file");
        assert_eq!(state["status"], "waiting_for_user");
        let decision = if number < 2 { "allow" } else { "deny" };
        let body = json!({ "tool_call_id": state["approvals"][0]["tool_call_id"], "decision": decision });
        let reply = bench.fleet.send_to(number % 2, "POST", &format!("{job}/approve"), &body).unwrap();
        assert_eq!(reply.0, 200, "{reply:?}");
        bench.wait_for(&job, "completed");
        assert_eq!(wait_result(&bench, &job)["ok"], true, "{}", wait_result(&bench, &job));
        let is_there = project.read(&ledger(0)) == before.replace("END", &format!("{}\nEND", word(0, number)));
        assert_eq!(is_there, number < 2, "{}", project.read(&ledger(0)));
        for kind in ["approval.requested", "approval.resolved", "subagent.completed"] {
            assert_eq!(bench.count(&job, kind), 1, "{kind}");
        }
    }
}

#[test]
fn a_request_of_a_subagent_ends_with_its_server() {
    let Some(database) = TestServer::shared() else { return };
    let (project, model) = (project(1), Model::start(33, (5, 10)));
    let bench = bench(database, &project, &model);
    let before = project.read(&ledger(0));
    let job = bench.job("ask", &delegate(0));
    bench.wait(&job, |state| state["approvals"][0]["tool"] == "edit_file");
    (0..2).for_each(|server| bench.fleet.kill(server));
    let state = bench.wait_for(&job, "completed");
    assert_eq!(state["approvals"], json!([]), "{state}");
    assert_eq!(wait_result(&bench, &job)["ok"], false);
    assert_eq!((bench.count(&job, "approval.requested"), bench.count(&job, "approval.resolved")), (1, 1));
    assert_eq!(project.read(&ledger(0)), before);
}
