//! Questions, approvals, cancellation and budgets, with a scripted model.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::{Budget, ServiceLimits};
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const NOTES: &str = "//- notes.md\none\ntwo\n";

fn edit(from: &'static str, to: &'static str) -> (&'static str, Value) {
    ("edit_file", json!({ "file_path": "notes.md", "old_string": from, "new_string": to }))
}

async fn session(bench: &Bench, mut body: Value) -> String {
    body["model"] = json!("script");
    bench.session(body).await
}

async fn job(bench: &Bench, id: &str) -> Value {
    bench.get(&format!("/api/agent/jobs/{id}")).await.1
}

#[test]
fn a_question_waits_for_its_answer_and_for_no_other() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({})).await;
        let ask = ("clarify_user", json!({ "question": "Terse?", "options": ["yes", "no"] }));
        bench.script().push([Answer::Call(vec![ask]), Answer::Say("Done.")]);
        let id = bench.run(&session, "summarise").await;
        bench.work().await;
        let state = job(&bench, &id).await;
        assert_eq!(state["status"], "waiting_for_user", "{state}");
        assert_eq!(state["question"]["question"], "Terse?");
        assert_eq!(state["question"]["options"], json!(["yes", "no"]));
        let request = json!({ "session_id": session, "instruction": "other" });
        assert_eq!(bench.post("/api/agent/run", request).await.0, 409);
        let attached = bench.service.attached(&crate::service::store::EventScope::All).await.unwrap();
        assert_eq!(attached["jobs"][0]["question"]["question_id"], "q_1");
        let path = format!("/api/agent/jobs/{id}/clarify");
        let (status, body) = bench.post(&path, json!({ "question_id": "q_2", "answer": "yes" })).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("conflict")));
        let (status, _) = bench.post(&path, json!({ "question_id": "q_1", "answer": " " })).await;
        assert_eq!(status, 200);
        let (status, _) = bench.post(&path, json!({ "question_id": "q_1", "answer": "twice" })).await;
        assert_eq!(status, 409, "a question has one answer");
        bench.work().await;
        assert_eq!(job(&bench, &id).await["status"], "completed");
        assert_eq!(bench.script().last_user_texts(), ["summarise", "no_user_answer"]);
        let kinds = bench.kinds(&id).await;
        let order: Vec<&String> = kinds.iter().filter(|kind| kind.starts_with("clarification")).collect();
        assert_eq!(order, ["clarification.requested", "clarification.received"]);
    });
}

#[test]
fn an_edit_in_ask_mode_waits_for_approval() {
    block_on(async {
        for (decision, text) in [("allow", "1\ntwo\n"), ("deny", "one\ntwo\n")] {
            let bench = Bench::new(NOTES);
            let session = session(&bench, json!({ "mode": "ask" })).await;
            bench.script().push([Answer::Call(vec![edit("one", "1")]), Answer::Say("Done.")]);
            let id = bench.run(&session, "edit").await;
            bench.work_a_little(40).await;
            let state = job(&bench, &id).await;
            assert_eq!(state["status"], "waiting_for_user", "{state}");
            assert_eq!(bench.disk("notes.md"), "one\ntwo\n");
            let call = state["approvals"][0]["tool_call_id"].clone();
            let path = format!("/api/agent/jobs/{id}/approve");
            let (status, _) = bench.post(&path, json!({ "tool_call_id": "x", "decision": "allow" })).await;
            assert_eq!(status, 409);
            let (status, body) = bench.post(&path, json!({ "tool_call_id": call, "decision": decision })).await;
            assert_eq!((status, &body["status"]), (200, &json!("running")), "{body}");
            let (status, _) = bench.post(&path, json!({ "tool_call_id": call, "decision": "allow" })).await;
            assert_eq!(status, 409, "the first decision holds");
            bench.work().await;
            let state = job(&bench, &id).await;
            assert_eq!((&state["status"], &state["approvals"]), (&json!("completed"), &json!([])), "{state}");
            assert_eq!(bench.disk("notes.md"), text, "{decision}");
        }
    });
}

#[test]
fn what_the_user_always_allows_holds_in_the_next_process() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let asking = session(&bench, json!({ "mode": "ask" })).await;
        bench.script().push([Answer::Call(vec![edit("one", "1")]), Answer::Say("Done.")]);
        let id = bench.run(&asking, "edit").await;
        bench.work_a_little(40).await;
        let call = job(&bench, &id).await["approvals"][0]["tool_call_id"].clone();
        let body = json!({ "tool_call_id": call, "decision": "allow_always" });
        let (status, reply) = bench.post(&format!("/api/agent/jobs/{id}/approve"), body).await;
        assert_eq!(status, 200, "{reply}");
        bench.work().await;
        let next = bench.reload().await;
        next.script().push([Answer::Call(vec![edit("two", "2")]), Answer::Say("Done.")]);
        let id = next.run(&asking, "edit again").await;
        next.work().await;
        assert_eq!(job(&next, &id).await["status"], "completed");
        assert_eq!(next.disk("notes.md"), "1\n2\n");
        assert!(!next.kinds(&id).await.contains(&"approval.requested".to_owned()));
        // Replies do not show it, and another session is asked.
        let (_, shown) = next.get(&format!("/api/agent/sessions/{asking}")).await;
        assert!(!shown.to_string().contains("grants"), "{shown}");
        let other = session(&next, json!({ "mode": "ask" })).await;
        next.script().push([Answer::Call(vec![edit("1", "one")]), Answer::Say("Done.")]);
        let id = next.run(&other, "edit").await;
        next.work_a_little(40).await;
        assert_eq!(job(&next, &id).await["status"], "waiting_for_user");
    });
}

#[test]
fn one_confirmation_allows_the_edits_of_a_run() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({ "mode": "direct", "confirm_before_edits": true })).await;
        let answers =
            [Answer::Call(vec![edit("one", "1")]), Answer::Call(vec![edit("two", "2")]), Answer::Say("Done.")];
        bench.script().push(answers);
        let id = bench.run(&session, "edit").await;
        bench.work_a_little(40).await;
        let call = job(&bench, &id).await["approvals"][0]["tool_call_id"].clone();
        let body = json!({ "tool_call_id": call, "decision": "allow" });
        bench.post(&format!("/api/agent/jobs/{id}/approve"), body).await;
        bench.work().await;
        assert_eq!(job(&bench, &id).await["status"], "completed");
        assert_eq!(bench.disk("notes.md"), "1\n2\n");
    });
}

#[test]
fn a_decision_during_a_job_is_an_event_of_it() {
    covers("service.events");
    block_on(async {
        let bench = Bench::new(NOTES);
        let id = session(&bench, json!({})).await;
        let ask = ("clarify_user", json!({ "question": "Go on?" }));
        bench.script().push([Answer::Call(vec![edit("one", "1")]), Answer::Call(vec![ask])]);
        let job = bench.run(&id, "count").await;
        bench.work().await;
        assert_eq!(self::job(&bench, &job).await["status"], "waiting_for_user");
        let n_events = bench.kinds(&job).await.len();
        let (status, body) = bench.post("/api/agent/decisions", json!({ "decision": "accept", "all": true })).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(bench.kinds(&job).await[n_events..], ["review.updated"]);
    });
}

#[test]
fn a_cancelled_job_ends_once_and_its_edits_stay_in_review() {
    block_on(async {
        for n_polls in [0, 1, 5, 40] {
            let bench = Bench::new(NOTES);
            let session = session(&bench, json!({})).await;
            bench.script().push([Answer::Call(vec![edit("one", "1")])]);
            let id = bench.run(&session, "edit").await;
            bench.work_a_little(n_polls).await;
            let (status, _) = bench.post(&format!("/api/agent/jobs/{id}/cancel"), Value::Null).await;
            assert_eq!(status, 200);
            bench.work().await;
            assert_eq!(job(&bench, &id).await["status"], "cancelled");
            let kinds = bench.kinds(&id).await;
            assert_eq!(kinds.last().unwrap(), "job.cancelled");
            assert_eq!(kinds.iter().filter(|kind| *kind == "job.cancelled").count(), 1, "{kinds:?}");
            let (status, body) = bench.post(&format!("/api/agent/jobs/{id}/cancel"), Value::Null).await;
            assert_eq!((status, &body["error"]["data"]["status"]), (409, &json!("cancelled")));
            if n_polls == 40 {
                let (_, review) = bench.get("/api/agent/review").await;
                assert_eq!(review["files"][0]["hunks"].as_array().unwrap().len(), 1);
            }
            assert_eq!(bench.disk("notes.md"), "one\ntwo\n");
        }
    });
}

#[test]
fn budgets_stop_a_model_that_loops_for_ever() {
    block_on(async {
        // A response uses 11 tokens.
        let table = [
            (json!({ "job_budget": { "tokens": 30 } }), vec![("failed", 33), ("failed", 33)]),
            (json!({ "budget": { "tokens": 50 } }), vec![("failed", 55)]),
            (
                json!({ "budget": { "tokens": 50 }, "job_budget": { "tokens": 30 } }),
                vec![("failed", 33), ("failed", 22)],
            ),
        ];
        for (body, expected) in table {
            let bench = Bench::new(NOTES);
            let session = session(&bench, body.clone()).await;
            for (status, tokens) in &expected {
                let list = ("list_dir", json!({ "path": "." }));
                bench.script().push((0..20).map(|_| Answer::Call(vec![list.clone()])));
                let id = bench.run(&session, "loop").await;
                bench.work().await;
                let state = job(&bench, &id).await;
                assert_eq!((&state["status"], &state["error"]["code"]), (&json!(status), &json!("limit_reached")));
                assert_eq!(state["usage"]["total_tokens"], *tokens, "{body}");
            }
            let spent: i64 = expected.iter().map(|(_, tokens)| tokens).sum();
            let (_, state) = bench.get(&format!("/api/agent/sessions/{session}")).await;
            assert_eq!(state["spent"]["total_tokens"], spent);
            let is_used_up = body["budget"]["tokens"].as_i64().is_some_and(|limit| spent >= limit);
            let request = json!({ "session_id": session, "instruction": "more" });
            let (status, answer) = bench.post("/api/agent/run", request).await;
            assert_eq!(status, if is_used_up { 429 } else { 202 }, "{body}: {answer}");
        }
    });
}

#[test]
fn each_budget_stops_a_model_within_one_call() {
    block_on(async {
        // A response of this model costs 75 millionths of a dollar: 10 tokens in, 1 token out.
        let table = [("tokens", json!({ "tokens": 40 })), ("cost_usd", json!({ "cost_usd": 0.0002 }))];
        for (limit, budget) in table {
            for of_session in [false, true] {
                let limits = ServiceLimits { max_tool_calls_per_job: 0, ..ServiceLimits::default() };
                let bench = Bench::with_limits(NOTES, limits);
                let name = if of_session { "budget" } else { "job_budget" };
                let body = json!({ "model": "priced", (name): budget });
                let session = bench.session(body).await;
                let list = ("list_dir", json!({ "path": "." }));
                bench.script().push((0..200).map(|_| Answer::Call(vec![list.clone()])));
                let id = bench.run(&session, "loop").await;
                bench.work().await;
                let state = job(&bench, &id).await;
                assert_eq!((&state["status"], &state["error"]["code"]), (&json!("failed"), &json!("limit_reached")));
                assert_eq!(state["error"]["data"]["limit"], limit);
                let field = if limit == "tokens" { "total_tokens" } else { limit };
                let (used, max) = (state["usage"][field].as_f64().unwrap(), budget[limit].as_f64().unwrap());
                let kinds = bench.kinds(&id).await;
                let n_calls = kinds.iter().filter(|kind| *kind == "provider.step").count() as f64;
                assert!(n_calls >= 2.0 && used >= max, "{limit}: {used} of {max} in {n_calls} calls");
                assert!(used < max + 1.5 * used / n_calls, "{limit}: {used} of {max} in {n_calls} calls");
                let more = json!({ "session_id": session, "instruction": "more" });
                let status = bench.post("/api/agent/run", more).await.0;
                assert_eq!(status, if of_session { 429 } else { 202 }, "{limit}");
            }
        }
    });
}

#[test]
fn a_model_that_fails_ends_the_job_with_its_error() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({})).await;
        bench.script().push([Answer::Refuse(emend_llm::ErrorKind::Authentication)]);
        let id = bench.run(&session, "edit").await;
        bench.work().await;
        let state = job(&bench, &id).await;
        assert_eq!(
            (&state["status"], &state["error"]["code"]),
            (&json!("failed"), &json!("authentication")),
            "{state}"
        );
        // The agent has closed its session; the next job opens another.
        bench.script().push([Answer::Say("Hello.")]);
        let id = bench.run(&session, "again").await;
        bench.work().await;
        assert_eq!(job(&bench, &id).await["status"], "completed");
    });
}

#[test]
fn comments_keep_their_snippet_and_go_out_together() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({})).await;
        let path = format!("/api/agent/sessions/{session}/comments");
        for (line, text) in [(1, "Use a digit."), (2, "Keep this.")] {
            let body = json!({ "file_path": "notes.md", "start_line": line, "end_line": line, "text": text });
            assert_eq!(bench.post(&path, body).await.0, 201);
        }
        bench.post("/api/agent/user_edit", json!({ "file_path": "notes.md", "content": "one\n2\n" })).await;
        let (_, list) = bench.get(&path).await;
        let stale: Vec<&Value> = list["comments"].as_array().unwrap().iter().map(|comment| &comment["stale"]).collect();
        assert_eq!((stale, &list["unsent"]), (vec![&json!(false), &json!(true)], &json!(2)));
        bench.script().push([Answer::Say("Done.")]);
        let (status, _) = bench.post(&format!("{path}/send"), Value::Null).await;
        assert_eq!(status, 202);
        bench.work().await;
        let text = bench.script().last_user_texts().remove(0);
        for part in ["notes.md lines 1-1", "one", "Use a digit.", "(the lines have changed since)", "two", "Keep this."]
        {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert_eq!(bench.get(&path).await.1["unsent"], 0);
        assert_eq!(bench.post(&format!("{path}/send"), Value::Null).await.0, 409);
    });
}

#[test]
fn a_job_makes_at_most_as_many_tool_calls_as_it_may() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({})).await;
        let list = ("list_dir", json!({ "path": "." }));
        bench.script().push((0..9).map(|_| Answer::Call(vec![list.clone()])));
        let body = json!({ "session_id": session, "instruction": "loop", "tool_config": { "max_tool_calls": 3 } });
        let (_, body) = bench.post("/api/agent/run", body).await;
        let id = body["job_id"].as_str().unwrap();
        bench.work().await;
        let state = job(&bench, id).await;
        assert_eq!((&state["status"], &state["error"]["code"]), (&json!("failed"), &json!("limit_reached")), "{state}");
        assert_eq!(state["error"]["data"]["limit"], "tool_calls");
        let (_, events) = bench.get(&format!("/api/agent/jobs/{id}/events")).await;
        let completed =
            events["events"].as_array().unwrap().iter().filter(|event| event["type"] == "tool.call.completed");
        let done = completed.filter(|event| event["data"]["ok"] == true).count();
        assert_eq!(done, 3);
    });
}

#[test]
fn queued_instructions_wait_after_a_cancellation_until_the_user_goes_on() {
    covers("service.jobs");
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({})).await;
        bench.script().push([]);
        let first = bench.run(&session, "wait").await;
        bench.work_a_little(40).await;
        let queue = format!("/api/agent/sessions/{session}/follow_ups");
        let (_, queued) = bench.post(&queue, json!({ "text": "next" })).await;
        let id = queued["follow_ups"][0]["follow_up_id"].as_str().unwrap().to_owned();
        bench.post(&format!("/api/agent/jobs/{first}/cancel"), Value::Null).await;
        bench.work().await;
        assert_eq!(job(&bench, &first).await["status"], "cancelled");
        let n_jobs = async || bench.get(&format!("/api/agent/sessions/{session}")).await.1["n_jobs"].clone();
        assert_eq!(n_jobs().await, 1, "the queued instruction waits");
        // The next process does not start it either.
        let bench = bench.reload().await;
        let (_, waiting) = bench.get(&queue).await;
        assert_eq!(waiting["follow_ups"][0]["text"], "next");
        bench.script().push([Answer::Say("Done.")]);
        let (_, sent) = bench.post(&format!("{queue}/{id}/send"), Value::Null).await;
        bench.work().await;
        let started = sent["started_job_id"].as_str().unwrap();
        assert_eq!(job(&bench, started).await["status"], "completed");
    });
}

#[test]
fn a_queued_instruction_is_no_failure_if_it_cannot_start_yet() {
    covers("service.jobs");
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({ "budget": { "tokens": 1 } })).await;
        bench.script().push([Answer::Say("Done."), Answer::Say("Done.")]);
        bench.run(&session, "first").await;
        bench.work().await;
        let path = format!("/api/agent/sessions/{session}");
        let (status, queued) = bench.post(&format!("{path}/follow_ups"), json!({ "text": "second" })).await;
        assert_eq!((status, &queued["started_job_id"]), (201, &Value::Null), "the budget is used up: {queued}");
        assert_eq!(queued["follow_ups"].as_array().map(Vec::len), Some(1));
        // A larger budget lets it start.
        let patch = json!({ "budget": { "tokens": 1_000_000 } });
        let (status, _) = bench.send(crate::service::Method::Patch, &path, patch).await;
        // The request itself starts it, and no later end of another job.
        assert_eq!(bench.get(&path).await.1["n_jobs"], 2);
        bench.work().await;
        let (_, state) = bench.get(&path).await;
        assert_eq!((status, &state["n_jobs"], &state["follow_ups"]), (200, &json!(2), &json!([])));
    });
}

#[test]
fn an_edit_without_a_name_keeps_its_reason() {
    covers("service.edits");
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({ "tools": "project" })).await;
        let edit = |line: u64, text: &str, why: &str| json!({ "file_path": "notes.md", "operation": "replace", "start_line": line, "new_text": text, "rationale": why });
        let edits = json!([edit(1, "eins\n", "first"), edit(2, "zwei\n", "second")]);
        bench.script().push([
            Answer::Call(vec![("read_file", json!({ "file_path": "notes.md" }))]),
            Answer::Call(vec![("propose_edits", json!({ "edits": edits }))]),
            Answer::Say("Done."),
        ]);
        let id = bench.run(&session, "translate").await;
        bench.work().await;
        let state = job(&bench, &id).await;
        let reasons: Vec<&Value> =
            state["proposed_edits"].as_array().unwrap().iter().map(|edit| &edit["rationale"]).collect();
        assert_eq!(reasons, ["first", "second"], "{state}");
    });
}

#[test]
fn a_job_without_tool_calls_left_goes_on_with_the_second_model_if_it_has_no_edits() {
    covers("service.jobs");
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = bench.session(json!({ "model": "routed" })).await;
        let list = ("list_dir", json!({ "path": "." }));
        bench.script().push([Answer::Call(vec![list.clone()]), Answer::Call(vec![list])]);
        let instruction = "rename two to zwei in notes.md";
        let body = json!({ "session_id": session, "instruction": instruction, "tool_config": { "max_tool_calls": 5 } });
        let lists = (0..4).map(|_| Answer::Call(vec![("list_dir", json!({ "path": "." }))]));
        bench.script().push(lists.chain([Answer::Say("No calls left.")]));
        let (_, body) = bench.post("/api/agent/run", body).await;
        let job_id = body["job_id"].as_str().unwrap().to_owned();
        bench.work().await;
        let (_, events) = bench.get(&format!("/api/agent/jobs/{job_id}/events")).await;
        let events = events["events"].as_array().unwrap();
        let chosen: Vec<&Value> =
            events.iter().filter(|event| event["type"] == "provider.selected").map(|event| &event["data"]).collect();
        let n_first = chosen.iter().take_while(|route| route["reason"] == "local_first").count();
        assert!(n_first >= 5 && chosen.len() > n_first, "{chosen:?}");
        for route in &chosen[n_first..] {
            assert_eq!((&route["reason"], &route["local"]), (&json!("escalated"), &json!(false)));
            assert_eq!(route["detail"], format!("job {job_id} used up its tool calls"));
        }
        let state = job(&bench, &job_id).await;
        assert_eq!((&state["status"], &state["error"]), (&json!("awaiting_review"), &Value::Null), "{state}");
        assert_eq!(state["runs"].as_array().map(Vec::len), Some(2));
        let (_, buffer) = bench.get("/api/agent/buffer?file_path=notes.md").await;
        assert_eq!(buffer["content"], "one\nzwei\n");
        let ends = events.iter().filter(|event| event["type"] == "job.failed" || event["type"] == "edits.proposed");
        assert_eq!(ends.count(), 1, "one outcome");
    });
}

#[test]
fn a_session_without_a_router_also_tells_its_provider_once_for_each_run() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({})).await;
        for answers in [vec![Answer::Call(vec![edit("one", "1")]), Answer::Say("Done.")], vec![Answer::Say("Hello.")]] {
            bench.script().push(answers);
            let id = bench.run(&session, "edit").await;
            bench.work().await;
            let (_, events) = bench.get(&format!("/api/agent/jobs/{id}/events")).await;
            let events = events["events"].as_array().unwrap();
            let selected: Vec<&Value> = events.iter().filter(|event| event["type"] == "provider.selected").collect();
            let expected =
                json!({ "provider": "script", "local": false, "reason": "mode", "attempt": 1, "detail": null });
            assert_eq!(selected.iter().map(|event| &event["data"]).collect::<Vec<_>>(), [&expected]);
            let at = |kind: &str| events.iter().position(|event| event["type"] == kind).unwrap();
            assert!(at("provider.selected") < at("provider.step"));
        }
    });
}

#[test]
fn a_session_with_the_project_tools_has_their_instructions() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = session(&bench, json!({ "tools": "project" })).await;
        let edits = json!([{ "edit_id": "e_1", "file_path": "notes.md", "operation": "replace", "start_line": 2,
            "end_line": 2, "new_text": "zwei\n", "rationale": "German" }]);
        bench.script().push([
            Answer::Call(vec![("search_project", json!({ "query": "two" }))]),
            Answer::Call(vec![("read_file", json!({ "file_path": "notes.md" }))]),
            Answer::Call(vec![("propose_edits", json!({ "edits": edits }))]),
            Answer::Say("Done."),
        ]);
        let id = bench.run(&session, "translate the second line").await;
        bench.work().await;
        let request = bench.script().requests().remove(0);
        let system: String = request.messages[0].text();
        assert!(system.starts_with(crate::tools::PROJECT_INSTRUCTIONS), "{system}");
        let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["search_project", "read_file", "list_files", "clarify_user", "propose_edits"]);
        // No tool that the session does not have is named.
        for name in ["edit_file", "apply_patch", "write_file", "shell", "grep"] {
            assert!(!system.contains(name), "{name} in {system}");
        }
        let state = job(&bench, &id).await;
        assert_eq!(state["status"], "awaiting_review", "{state}");
        let proposed = &state["proposed_edits"][0];
        assert_eq!((&proposed["rationale"], &proposed["file_path"]), (&json!("German"), &json!("notes.md")), "{state}");
    });
}

#[test]
fn a_job_without_tool_calls_left_escalates_the_session_and_the_trace_has_the_reasons() {
    block_on(async {
        let bench = Bench::new(NOTES);
        let session = bench.session(json!({ "model": "routed" })).await;
        let list = ("list_dir", json!({ "path": "." }));
        bench.script().push([
            Answer::Call(vec![edit("two", "2")]),
            Answer::Call(vec![list.clone()]),
            Answer::Call(vec![list]),
            Answer::Say("No calls left."),
        ]);
        let body = json!({ "session_id": session, "instruction": "loop", "tool_config": { "max_tool_calls": 2 } });
        let (_, body) = bench.post("/api/agent/run", body).await;
        let first = body["job_id"].as_str().unwrap().to_owned();
        bench.work().await;
        let second = bench.run(&session, "count the words of notes.md").await;
        bench.work().await;
        let reasons = async |job: &str| {
            let (_, events) = bench.get(&format!("/api/agent/jobs/{job}/events")).await;
            let events = events["events"].as_array().unwrap().clone();
            let chosen = events.into_iter().filter(|event| event["type"] == "provider.selected");
            chosen.map(|event| event["data"].clone()).collect::<Vec<_>>()
        };
        let of_first = reasons(&first).await;
        assert!(!of_first.is_empty());
        assert!(
            of_first.iter().all(|route| route["reason"] == "local_first" && route["local"] == true),
            "{of_first:?}"
        );
        let of_second = reasons(&second).await;
        assert!(!of_second.is_empty());
        for route in &of_second {
            assert_eq!((&route["reason"], &route["local"]), (&json!("escalated"), &json!(false)));
            assert_eq!(route["detail"], format!("job {first} used up its tool calls"));
        }
        // The trace of the job has the reasons, too.
        let (_, trace) = bench.get(&format!("/api/agent/jobs/{second}/trace")).await;
        assert!(trace["steps"].to_string().contains("reason=escalated"), "{trace}");
    });
}

#[test]
fn files_with_secrets_do_not_exist_for_the_agent() {
    block_on(async {
        let bench = Bench::new("//- .env\nKEY=1\n//- .env.example\nKEY=\n//- src/id_rsa\nx\n");
        let session = session(&bench, json!({})).await;
        let calls = vec![
            ("read_file", json!({ "file_path": ".env" })),
            ("read_file", json!({ "file_path": ".env.example" })),
            ("grep", json!({ "pattern": "KEY" })),
            ("read_file", json!({ "file_path": "src/id_rsa" })),
        ];
        bench.script().push([Answer::Call(calls), Answer::Say("Done.")]);
        let id = bench.run(&session, "look").await;
        bench.work().await;
        let (_, events) = bench.get(&format!("/api/agent/jobs/{id}/events")).await;
        let completed =
            events["events"].as_array().unwrap().iter().filter(|event| event["type"] == "tool.call.completed");
        let results: Vec<(bool, String)> = completed
            .map(|event| (event["data"]["ok"] == true, event["data"]["output"].as_str().unwrap_or_default().to_owned()))
            .collect();
        assert_eq!(results.iter().map(|(ok, _)| *ok).collect::<Vec<_>>(), [false, true, true, false], "{results:?}");
        assert!(!results.iter().any(|(_, output)| output.contains("KEY=1")), "{results:?}");
    });
}

#[test]
fn a_job_ends_during_a_call_when_its_time_is_over() {
    block_on(async {
        // The sleeps of this clock end at once, and the model never responds.
        for name in ["budget", "job_budget"] {
            let bench = Bench::new(NOTES);
            let session = session(&bench, json!({ (name): { "duration_ms": 60_000 } })).await;
            let id = bench.run(&session, "wait").await;
            bench.work().await;
            let state = job(&bench, &id).await;
            assert_eq!((&state["status"], &state["error"]["code"]), (&json!("failed"), &json!("limit_reached")));
            assert_eq!(state["error"]["data"]["limit"], "duration_ms");
        }
    });
}

#[test]
fn a_limit_of_the_host_holds_for_every_job() {
    let budget = |tokens, cost_usd, duration_ms| Budget { tokens, cost_usd, duration_ms };
    let none = Budget::default();
    let table = [
        (none, none, none),
        (none, budget(5, 0.5, 7), budget(5, 0.5, 7)),
        (budget(9, 0.1, 0), budget(5, 0.5, 7), budget(5, 0.1, 7)),
        (budget(3, 0.0, 8), none, budget(3, 0.0, 8)),
    ];
    for (asked, host, expected) in table {
        assert_eq!(asked.within(&host), expected, "{asked:?} within {host:?}");
    }
}
