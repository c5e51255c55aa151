//! Jobs whose process is killed at every poll: the next process goes on, and nothing happens twice.
//!
//! A module for browsers has no code to record steps, so these tests run natively.

use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, CancelToken, EventStream, LlmError, Provider, Request, Role, Shared, ToolDefinition};
use futures::FutureExt as _;
use futures::executor::block_on;
use serde_json::{Map, Value, json};

use super::super::Bench;
use super::super::resuming::{FILES, status};
use crate::service::ServiceLimits;
use crate::session::tests::{Answer, events_of};
use crate::test_support::{covers, wait};
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// Events that a second process may emit again: parts of a message, and views of a state.
const MAY_REPEAT: [&str; 6] =
    ["message.started", "message.delta", "reasoning.started", "reasoning.delta", "review.updated", "job.resumed"];

/// Returns the types of the events that must happen once each, in order.
async fn once(bench: &Bench, job: &str) -> Vec<String> {
    let mut kinds = bench.kinds(job).await;
    kinds.retain(|kind| !MAY_REPEAT.contains(&kind.as_str()));
    kinds
}

/// Runs a job that is killed after `n_polls` polls, again after `n_more`, and then to its end. Returns the last service,
/// the job, and whether a kill hit it.
async fn killed(mode: &str, n_polls: usize, n_more: usize) -> (Bench, String, bool) {
    let mut bench = Bench::recording(FILES);
    let session = bench.session(json!({ "mode": mode })).await;
    let job = bench.run(&session, "rename alpha to omega").await;
    let mut was_hit = false;
    for n in [n_polls, n_more] {
        bench.work_a_little(n).await;
        was_hit |= status(&bench, &job).await == "running";
        bench.kill();
        bench = Bench::open(bench.disk.clone(), ServiceLimits::default());
        bench.service.recover().await.unwrap();
    }
    bench.work().await;
    (bench, job, was_hit)
}

#[test]
fn a_job_killed_at_any_poll_goes_on_without_doubles() {
    covers("service.resumed");
    block_on(async {
        for (mode, end) in [("direct", "completed"), ("review", "awaiting_review")] {
            let (bench, job, _) = killed(mode, 100_000, 0).await;
            assert_eq!(status(&bench, &job).await, end);
            let expected = once(&bench, &job).await;
            assert!(expected.iter().filter(|kind| *kind == "tool.call.completed").count() >= 4, "{expected:?}");
            let mut n_hits = 0;
            for n_polls in 0.. {
                let (bench, job, was_hit) = killed(mode, n_polls, n_polls % 7).await;
                let at = format!("{mode}, killed after {n_polls} polls");
                assert_eq!(status(&bench, &job).await, end, "{at}");
                assert_eq!(once(&bench, &job).await, expected, "{at}");
                let texts = |bench: &Bench| (bench.disk("a.md"), bench.disk("b.md"));
                if mode == "review" {
                    assert_eq!(texts(&bench), ("alpha one\n".to_owned(), "alpha two\n".to_owned()), "{at}");
                    let (_, review) = bench.get("/api/agent/review").await;
                    let ids: Vec<Value> = review["files"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .flat_map(|file| file["hunks"].as_array().unwrap())
                        .map(|hunk| hunk["hunk_id"].clone())
                        .collect();
                    assert_eq!(ids.len(), 2, "{at}: {review}");
                    let body = json!({ "decision": "accept", "hunk_ids": ids });
                    let (status, reply) = bench.post("/api/agent/decisions", body).await;
                    assert_eq!(status, 200, "{at}: {reply}");
                }
                assert_eq!(texts(&bench), ("omega one\n".to_owned(), "omega two\n".to_owned()), "{at}");
                n_hits += usize::from(was_hit);
                if !was_hit && n_polls > 4 {
                    break;
                }
            }
            assert!(n_hits > 10, "{mode}: {n_hits} kills during the job");
        }
    });
}

/// Calls of a job of [`Counted`].
const N_CALLS: usize = 3;

/// A model that calls the tool `count` three times and then answers, and that tool. Both count their uses, and both
/// return to the executor in the middle of their work.
#[derive(Default)]
struct Counted {
    n_requests: Mutex<usize>,
    n_begun: Mutex<usize>,
    n_done: Mutex<usize>,
}

impl Counted {
    /// Returns the numbers of requests, of begun calls and of calls that came to their end.
    fn uses(&self) -> [usize; 3] {
        [*self.n_requests.lock(), *self.n_begun.lock(), *self.n_done.lock()]
    }
}

impl Provider for Counted {
    fn name(&self) -> &str {
        "counted"
    }

    fn stream(&self, request: Request, _cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        *self.n_requests.lock() += 1;
        // The history alone decides the response: the model does not remember a request of a killed process.
        let n_results = request.messages.iter().filter(|message| message.role == Role::Tool).count();
        let answer = match n_results {
            N_CALLS.. => Answer::Say("all is counted"),
            _ => Answer::Call(vec![("count", json!({}))]),
        };
        Box::pin(async move {
            wait(1).await;
            Ok(Box::pin(futures::stream::iter(events_of(&answer, n_results))) as EventStream)
        })
    }
}

impl Tool for Counted {
    fn definition(&self) -> ToolDefinition {
        let parameters = json!({ "type": "object", "properties": {} });
        ToolDefinition { name: "count".to_owned(), description: "Counts its calls.".to_owned(), parameters }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Reads
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        _arguments: &'a Map<String, Value>,
        _context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            *self.n_begun.lock() += 1;
            wait(12).await;
            *self.n_done.lock() += 1;
            Ok(ToolOutput::new("counted", Value::Null))
        })
    }
}

#[test]
fn a_job_killed_at_any_poll_makes_no_recorded_request_or_call_again() {
    covers("service.resumed");
    let open = |bench: &Bench, counted: &Shared<Counted>| {
        bench.serve_model(Shared::clone(counted) as Shared<dyn Provider>);
        bench.give_tool(Shared::clone(counted) as Shared<dyn Tool>);
    };
    let count = |kinds: &[String], wanted: &str| kinds.iter().filter(|kind| *kind == wanted).count();
    block_on(async {
        let mut expected = Vec::new();
        let (mut n_inside, mut n_after) = (0, 0);
        for n_polls in (0..).map(|n| if n == 0 { 100_000 } else { n - 1 }) {
            let counted: Shared<Counted> = Shared::default();
            let bench = Bench::recording(FILES);
            open(&bench, &counted);
            let session = bench.session(json!({ "mode": "direct", "model": "other" })).await;
            let job = bench.run(&session, "count").await;
            bench.work_a_little(n_polls).await;
            let was_running = status(&bench, &job).await == "running";
            let stored = bench.kinds(&job).await;
            let [n_requests, n_begun, n_done] = counted.uses();
            bench.kill();

            let next = Bench::open(bench.disk.clone(), ServiceLimits::default());
            open(&next, &counted);
            next.service.recover().await.unwrap();
            next.work().await;
            let at = format!("killed after {n_polls} polls");
            assert_eq!(status(&next, &job).await, "completed", "{at}");
            let kinds = once(&next, &job).await;
            if expected.is_empty() {
                expected = kinds;
                continue;
            }
            assert_eq!(kinds, expected, "{at}");
            let left = [
                N_CALLS + 1 - count(&stored, "provider.step"),
                N_CALLS - count(&stored, "tool.call.completed"),
                N_CALLS - count(&stored, "tool.call.completed"),
            ];
            let uses = counted.uses();
            assert_eq!([uses[0] - n_requests, uses[1] - n_begun, uses[2] - n_done], left, "{at}");
            n_inside += usize::from(n_begun > n_done && count(&stored, "tool.call.requested") == n_begun);
            n_after += usize::from(was_running && n_begun == n_done && count(&stored, "tool.call.completed") == n_done);
            if !was_running && n_polls > 4 {
                break;
            }
        }
        println!("kills: {n_inside} inside a call whose request was stored, {n_after} after a stored result");
        assert!(n_inside >= N_CALLS && n_after >= N_CALLS, "{n_inside} kills inside a call, {n_after} after one");
    });
}

#[test]
fn a_job_after_one_that_was_killed_has_runs_of_its_own() {
    covers("service.resumed");
    block_on(async {
        let mut n_without_edit = 0;
        for n_polls in 1..80 {
            let bench = Bench::recording(FILES);
            let session = bench.session(json!({})).await;
            let first = bench.run(&session, "rename one to uno").await;
            bench.work_a_little(n_polls).await;
            let (_, state) = bench.get(&format!("/api/agent/jobs/{first}")).await;
            let has_edit = !bench.disk.has_no_logs();
            n_without_edit += usize::from(state["runs"] != json!([]) && !has_edit);
            bench.kill();
            // The next process knows the line logs, and no run without an edit.
            let next = bench.reload().await;
            next.work().await;
            let session = next.session(json!({})).await;
            let second = next.run(&session, "rename two to due").await;
            next.work().await;
            let job = async |id: &str| next.get(&format!("/api/agent/jobs/{id}")).await.1;
            let (first, second) = (job(&first).await, job(&second).await);
            let runs = |job: &Value| job["runs"].as_array().unwrap().clone();
            assert!(runs(&first).iter().all(|run| !runs(&second).contains(run)), "{n_polls} polls: {first} {second}");
            assert_eq!(second["status"], "awaiting_review", "{n_polls} polls: its edits are not lost: {second}");
        }
        assert!(n_without_edit > 3, "{n_without_edit} kills between the run and its first edit");
    });
}

/// Sends a request while the tasks go on: a task may hold what the request waits for.
async fn post(bench: &Bench, path: &str, body: Value) -> u16 {
    let mut request = Box::pin(bench.post(path, body));
    loop {
        if let Some((status, _)) = request.as_mut().now_or_never() {
            return status;
        }
        bench.work_a_little(1).await;
    }
}

#[test]
fn a_call_whose_approval_was_lost_with_its_process_is_asked_about_again() {
    covers("service.resumed");
    block_on(async {
        let bench = Bench::recording(FILES);
        let session = bench.session(json!({ "mode": "ask" })).await;
        let job = bench.run(&session, "rename one to uno").await;
        let state = async |bench: &Bench| bench.get(&format!("/api/agent/jobs/{job}")).await.1;
        let asked = async |bench: &Bench| {
            for _ in 0..2_000 {
                bench.work_a_little(1).await;
                if let Some(open) = state(bench).await["approvals"].as_array().and_then(|open| open.first().cloned()) {
                    return open["tool_call_id"].clone();
                }
            }
            panic!("no call waits for approval: {}", state(bench).await)
        };
        let path = format!("/api/agent/jobs/{job}/approve");
        let allow = |call: &Value| json!({ "tool_call_id": call, "decision": "allow" });
        let call = asked(&bench).await;
        assert_eq!(post(&bench, &path, allow(&call)).await, 200);
        bench.kill();
        let next = bench.reload().await;
        let again = asked(&next).await;
        assert_eq!((&again, &state(&next).await["status"]), (&call, &json!("waiting_for_user")));
        // Every later call is asked about, too.
        for _ in 0..20 {
            let open = state(&next).await["approvals"].as_array().unwrap().clone();
            for open in &open {
                assert_eq!(post(&next, &path, allow(&open["tool_call_id"])).await, 200);
            }
            next.work_a_little(200).await;
        }
        next.work_a_little(2_000).await;
        assert_eq!(state(&next).await["status"], "completed", "{}", state(&next).await);
    });
}

#[test]
fn a_call_that_needs_an_earlier_read_is_asked_about_again_and_can_be_made() {
    covers("service.resumed");
    block_on(async {
        let bench = Bench::recording(FILES);
        let session = bench.session(json!({ "model": "script", "mode": "ask" })).await;
        let read = ("read_file", json!({ "file_path": "a.md" }));
        let write = ("write_file", json!({ "file_path": "a.md", "content": "written\n" }));
        bench.script().push([Answer::Call(vec![read]), Answer::Call(vec![write])]);
        let job = bench.run(&session, "write it anew").await;
        bench.work_a_little(2_000).await;
        let state = async |bench: &Bench| bench.get(&format!("/api/agent/jobs/{job}")).await.1;
        let open = state(&bench).await["approvals"].clone();
        assert_eq!(open.as_array().map(Vec::len), Some(1), "{open}");
        bench.kill();
        let next = bench.reload().await;
        next.script().push([Answer::Say("Done.")]);
        next.work_a_little(2_000).await;
        assert_eq!(state(&next).await["approvals"], open, "{}", state(&next).await);
        let allow = json!({ "tool_call_id": open[0]["tool_call_id"], "decision": "allow" });
        assert_eq!(post(&next, &format!("/api/agent/jobs/{job}/approve"), allow).await, 200);
        next.work_a_little(2_000).await;
        assert_eq!(state(&next).await["status"], "completed", "{}", state(&next).await);
        assert_eq!(next.disk("a.md"), "written\n");
    });
}

#[test]
fn messages_of_the_user_survive_a_kill() {
    covers("service.resumed");
    block_on(async {
        let mut n_kept = 0;
        for (n_polls, is_killed) in (0..60).flat_map(|n_polls| [(n_polls, true), (n_polls, false)]) {
            let mut bench = Bench::recording(FILES);
            let session = bench.session(json!({})).await;
            // The second job of a session finds the agent of the first.
            bench.run(&session, "rename beta to gamma").await;
            bench.work().await;
            let job = bench.run(&session, "rename alpha to omega").await;
            bench.work_a_little(n_polls).await;
            let path = format!("/api/agent/jobs/{job}/steer");
            let mut steer = Box::pin(bench.post(&path, json!({ "text": "mind it" })));
            let reply = loop {
                if let Some(reply) = (&mut steer).now_or_never() {
                    break reply;
                }
                bench.work_a_little(1).await;
            };
            drop(steer);
            if is_killed {
                bench.kill();
                bench = Bench::open(bench.disk.clone(), ServiceLimits::default());
                bench.service.recover().await.unwrap();
            }
            bench.work().await;
            let kinds = bench.kinds(&job).await;
            let n_told = kinds.iter().filter(|kind| ["message.steered", "message.returned"].contains(&kind.as_str()));
            assert_eq!(n_told.count(), usize::from(reply.0 == 200), "{n_polls} polls: {reply:?} {kinds:?}");
            n_kept += usize::from(reply.0 == 200);
        }
        assert!(n_kept > 20, "{n_kept}");
    });
}
