//! The canvas end to end for each wire format: check out, search, read, edit, check in, and the user who wins.
//!
//! Requests go to the service as HTTP and JavaScript hand them over. The clock stands still unless a test moves it, and its
//! sleeps never end, as those of a throttled tab.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;

use emend_agent::environment::memory::MemFs;
use emend_agent::service::{
    AgentPlan, ApiRequest, ApiResult, MemServiceStore, Method, Service, ServiceHost, ServiceLimits, ServiceParts,
};
use emend_agent::session::SessionBuilder;
use emend_agent::store::MemStore;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::runtime::Mutex;
use emend_llm::{
    Api, BoxFuture, CancelToken, Clock, Config, Headers, HttpProvider, HttpRequest, HttpResponse, Shared, Transport,
    TransportError,
};
use emend_tests::chance::Ticks;
use futures::FutureExt as _;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::parity::wire::say;

const APIS: [Api; 4] = [Api::OpenAiChat, Api::OpenAiResponses, Api::Gemini, Api::AnthropicMessages];

const TEXT: &str = "# Plan\n\none\ntwo\n";
const EDITED: &str = "# Plan\n\none\nTWO\n";

/// The request whose response is the edit.
const EDIT: usize = 4;

#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now_ms(&self) -> u64 {
        1_000_000 + self.0.load(Ordering::Relaxed)
    }

    fn sleep(&self, _: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// A model that edits the canvas step by step, in one wire format.
struct Model {
    api: Api,
    /// Text before each call.
    prose: &'static str,
    asked: Mutex<Vec<String>>,
    /// Number of the request whose response waits; 0 for none.
    silent_at: Shared<AtomicUsize>,
}

/// Returns the last value of a text field in a request, at any depth of quoting.
fn last_field(body: &str, name: &str) -> String {
    let field = format!("\"{name}\":\"");
    let start = body.rfind(&field).map_or(body.len(), |at| at + field.len());
    body[start..].split('"').next().unwrap_or_default().to_owned()
}

impl Model {
    /// Returns text and call of a response to a request.
    fn response(&self, n: usize, body: &str) -> (&'static str, Option<(&'static str, Value)>) {
        let (lease, revision) = (last_field(body, "lease_id"), last_field(body, "revision_id"));
        let edit = json!([{ "operation": "replace", "start_line": 4, "new_text": "TWO\n" }]);
        match n {
            1 => (self.prose, Some(("canvas_check_out", json!({})))),
            2 => (self.prose, Some(("canvas_grep", json!({ "lease_id": lease, "query": "two" })))),
            3 => {
                (self.prose, Some(("canvas_read_lines", json!({ "lease_id": lease, "start_line": 4, "end_line": 4 }))))
            }
            EDIT => {
                let arguments = json!({ "lease_id": lease, "base_revision_id": revision, "edits": edit });
                (self.prose, Some(("canvas_edit_lines", arguments)))
            }
            5 => (self.prose, Some(("canvas_check_in", json!({ "lease_id": lease })))),
            _ => ("Done.", None),
        }
    }
}

impl Transport for Model {
    fn send(&self, request: HttpRequest, _: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let body = String::from_utf8(request.body.to_vec()).unwrap().replace('\\', "");
        let n = {
            let mut asked = self.asked.lock();
            asked.push(body.clone());
            asked.len()
        };
        let (text, call) = self.response(n, &body);
        let calls: Vec<_> = call.into_iter().map(|(name, arguments)| (format!("c{n}"), name, arguments)).collect();
        let body = say(self.api, text, &calls);
        let silent_at = Shared::clone(&self.silent_at);
        Box::pin(async move {
            std::future::poll_fn(
                |_| if silent_at.load(Ordering::Relaxed) == n { Poll::Pending } else { Poll::Ready(()) },
            )
            .await;
            let headers = Headers(vec![("content-type".to_owned(), "text/event-stream".to_owned())]);
            let chunks: Vec<_> = body.as_bytes().chunks(50).map(|chunk| Ok(chunk.to_vec())).collect();
            Ok(HttpResponse { status: 200, headers, body: Box::pin(futures::stream::iter(chunks)) })
        })
    }
}

struct Host {
    model: Shared<Model>,
    clock: Shared<Hand>,
    tasks: Mutex<Vec<BoxFuture<'static, ()>>>,
}

impl ServiceHost for Host {
    fn session(&self, plan: AgentPlan<'_>) -> ApiResult<SessionBuilder> {
        let config = Config { api_key: "key".into(), ..Config::default() };
        let transport = Shared::clone(&self.model) as Shared<dyn Transport>;
        let provider = Shared::new(HttpProvider::new(self.model.api.adapter(config), transport));
        let random: Shared<Ticks> = Shared::default();
        let clock = Shared::clone(&self.clock) as Shared<dyn Clock>;
        Ok(SessionBuilder::new(provider, "m", plan.workspace, random).clock(clock))
    }

    fn default_model(&self) -> String {
        "m".to_owned()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tasks.lock().push(task);
    }
}

/// A service with an open canvas, whose job has reached a silent response.
struct Bench {
    service: Service,
    host: Shared<Host>,
    files: Shared<MemFs>,
    session: String,
    job: String,
}

impl Bench {
    /// Starts the job; the model writes text before its calls, and is silent at a request (0: never).
    fn start(api: Api, silent_at: usize) -> Self {
        Self::start_with(api, "Now the next step.", silent_at)
    }

    fn start_with(api: Api, prose: &'static str, silent_at: usize) -> Self {
        let clock: Shared<Hand> = Shared::default();
        let silent_at = Shared::new(AtomicUsize::new(silent_at));
        let model = Shared::new(Model { api, prose, asked: Mutex::default(), silent_at });
        let host = Shared::new(Host { model, clock: Shared::clone(&clock), tasks: Mutex::default() });
        let files = Shared::new(MemFs::from_fixture(&format!("//- plan.md\n{TEXT}")));
        let environment = Shared::clone(&files) as _;
        let service = Service::new(ServiceParts {
            workspace: Shared::new(Workspace::new(environment, Mode::Staged, Shared::clone(&clock) as _)),
            host: Shared::clone(&host) as Shared<dyn ServiceHost>,
            store: Shared::new(MemServiceStore::new()),
            conversations: Shared::new(MemStore::new()),
            clock,
            random: Shared::<Ticks>::default(),
            limits: ServiceLimits::default(),
        });
        let mut bench = Self { service, host, files, session: String::new(), job: String::new() };
        let canvas = json!({ "tools": true, "enforce_lease": true });
        let session = bench.ok(Method::Post, "/api/agent/sessions", json!({ "canvas": canvas }));
        session["session_id"].as_str().unwrap().clone_into(&mut bench.session);
        bench.canvas("open", json!({ "file_path": "plan.md" }));
        let body = json!({ "session_id": bench.session, "instruction": "make two loud" });
        let job = bench.ok(Method::Post, "/api/agent/run", body);
        job["job_id"].as_str().unwrap().clone_into(&mut bench.job);
        bench.pump();
        bench
    }

    /// Polls the tasks until they wait for the model or have ended.
    fn pump(&self) {
        for _ in 0..300 {
            let mut tasks = std::mem::take(&mut *self.host.tasks.lock());
            tasks.retain_mut(|task| task.now_or_never().is_none());
            self.host.tasks.lock().extend(tasks);
        }
    }

    fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let mut handling = pin!(self.service.handle(ApiRequest::new(method, path, body)));
        for _ in 0..100 {
            if let Some(reply) = (&mut handling).now_or_never() {
                return (reply.status, reply.body);
            }
            self.pump();
        }
        panic!("{path} gets no reply");
    }

    fn ok(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, reply) = self.send(method, path, body);
        assert!((200..300).contains(&status), "{path}: {status} {reply}");
        reply
    }

    fn canvas(&self, action: &str, body: Value) -> Value {
        self.ok(Method::Post, &format!("/api/agent/sessions/{}/canvas/{action}", self.session), body)
    }

    fn state(&self) -> Value {
        self.ok(Method::Get, &format!("/api/agent/sessions/{}/canvas", self.session), Value::Null)
    }

    fn text(&self) -> String {
        let buffer = self.ok(Method::Get, "/api/agent/buffer?file_path=plan.md", Value::Null);
        buffer["content"].as_str().unwrap().to_owned()
    }

    /// Lets the model speak, and runs the job to its end.
    fn go_on(&self) -> Value {
        self.host.model.silent_at.store(0, Ordering::Relaxed);
        self.pump();
        self.ok(Method::Get, &format!("/api/agent/jobs/{}", self.job), Value::Null)
    }

    /// Returns the result of the edit, as the model got it.
    fn result_of_edit(&self) -> String {
        self.host.model.asked.lock()[EDIT].clone()
    }
}

#[test]
fn an_agent_edits_the_canvas_in_every_wire_format() {
    for (api, prose) in APIS.into_iter().flat_map(|api| ["", "Now the next step."].map(|prose| (api, prose))) {
        let bench = Bench::start_with(api, prose, 0);
        let job = bench.go_on();
        assert_eq!(job["status"], "awaiting_review", "{api:?}: {job}");
        assert_eq!(bench.text(), EDITED, "{api:?}");
        assert_eq!(bench.files.get("plan.md").unwrap(), TEXT.as_bytes(), "the edit waits for review");
        assert_eq!((&bench.state()["held"], bench.host.model.asked.lock().len()), (&json!(false), 6), "{api:?}");
        let path = format!("/api/agent/jobs/{}/events", bench.job);
        let events = bench.ok(Method::Get, &path, Value::Null);
        let done = events["events"].as_array().unwrap().iter().filter(|event| event["type"] == "tool.call.completed");
        let done: Vec<bool> = done.map(|event| event["data"]["ok"] == true).collect();
        assert_eq!(done, [true; 5], "{api:?}: {events}");
        let leases = events["events"].as_array().unwrap().iter().filter(|event| event["type"] == "canvas.lease");
        let states: Vec<&Value> = leases.map(|event| &event["data"]["state"]).collect();
        assert_eq!(states, ["held", "released"], "{api:?} {prose:?}: {events}");
    }
}

#[test]
fn a_user_who_types_meanwhile_keeps_the_keystroke_and_the_canvas() {
    for api in APIS {
        let bench = Bench::start(api, EDIT);
        assert_eq!(bench.state()["held"], true, "{api:?}");
        let typed = format!("{TEXT}x");
        let after = bench.canvas("user_edit", json!({ "content": typed }));
        assert_eq!(after["held"], false);
        bench.go_on();
        assert!(bench.result_of_edit().contains("STALE_EPOCH"), "{api:?}: {}", bench.result_of_edit());
        assert_eq!(bench.text(), typed, "{api:?}");
        assert_eq!(bench.state()["revision_id"], after["revision_id"], "{api:?}");
    }
}

#[test]
fn a_user_who_writes_meanwhile_has_the_canvas_until_the_model_reads_the_message() {
    for api in APIS {
        let bench = Bench::start(api, EDIT);
        assert_eq!(bench.state()["held"], true, "{api:?}");
        let path = format!("/api/agent/jobs/{}/steer", bench.job);
        bench.ok(Method::Post, &path, json!({ "text": "leave line four" }));
        assert_eq!(bench.state()["held"], false, "{api:?}");
        bench.go_on();
        assert!(bench.result_of_edit().contains("STALE_EPOCH"), "{api:?}: {}", bench.result_of_edit());
        assert_eq!(bench.text(), TEXT, "{api:?}");
    }
}

#[test]
fn a_user_who_stops_the_job_has_the_canvas() {
    for api in APIS {
        let bench = Bench::start(api, EDIT);
        let before = bench.state();
        let lease = last_field(&bench.host.model.asked.lock()[EDIT - 1], "lease_id");
        let job = bench.ok(Method::Post, &format!("/api/agent/jobs/{}/cancel", bench.job), Value::Null);
        assert_eq!(job["status"], "cancelled", "{api:?}");
        let edits = json!([{ "operation": "delete", "start_line": 1 }]);
        let body = json!({ "lease_id": lease, "base_revision_id": before["revision_id"], "edits": edits });
        let path = format!("/api/agent/sessions/{}/canvas/edit_lines", bench.session);
        let (status, reply) = bench.send(Method::Post, &path, body);
        assert_eq!((status, &reply["error"]["code"]), (409, &json!("STALE_EPOCH")), "{api:?}: {reply}");
        bench.go_on();
        assert_eq!(bench.text(), TEXT, "{api:?}");
        let after = bench.state();
        assert_eq!((&after["revision_id"], &after["held"]), (&before["revision_id"], &json!(false)), "{api:?}");
        assert!(after["epoch"].as_u64() > before["epoch"].as_u64(), "{api:?}");
    }
}

#[test]
fn a_silent_model_keeps_the_lease_for_a_minute_and_a_hung_one_loses_it() {
    for api in APIS {
        for (silence_ms, is_kept) in [(60_000, true), (121_000, false)] {
            let bench = Bench::start(api, EDIT);
            bench.host.clock.0.fetch_add(silence_ms, Ordering::Relaxed);
            let during = bench.state();
            assert_eq!(during["held"], is_kept, "{api:?} after {silence_ms} ms: {during}");
            bench.go_on();
            assert_eq!(bench.text(), if is_kept { EDITED } else { TEXT }, "{api:?} after {silence_ms} ms");
            if !is_kept {
                assert!(bench.result_of_edit().contains("LEASE_EXPIRED"), "{}", bench.result_of_edit());
                assert_eq!(bench.state()["revision_id"], during["revision_id"], "{api:?}");
            }
        }
    }
}
