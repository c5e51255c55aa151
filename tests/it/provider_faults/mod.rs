//! Random whole sessions with a faulty provider: it is slow, disconnects, rejects requests and sends garbage, at every
//! possible moment, in all four wire formats. While it is slow the user interferes. `emend-agent` simulates the
//! interference of user and host with a working provider. Each session follows from its seed.

mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use emend_agent::environment::memory::MemFs;
use emend_agent::event::SessionState;
use emend_agent::event::{Event, EventKind};
use emend_agent::history::is_valid;
use emend_agent::session::{Session, SessionConfig, SessionOptions};
use emend_agent::store::{MemStore, Store};
use emend_agent::tool::ToolRegistry;
use emend_agent::tools::core_tools;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::{
    Api, BoxFuture, CancelToken, Clock, Config, Headers, HttpProvider, HttpRequest, HttpResponse, Random, Shared,
    Transport, TransportError,
};
use futures::StreamExt;
use futures::executor::block_on;
use serde_json::json;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use self::wire::{MOMENTS, Moment, TEXT, answer, assert_acceptable};
use crate::parity::wire::WireCall;

/// Names the items of the checklist that the running test demonstrates.
fn covers(items: &str) {
    println!("covers: {items}");
}

/// Random numbers from a seed. Also the session's randomness and its clock, which advances through sleeps.
struct Dice {
    state: AtomicU64,
    now_ms: AtomicU64,
}

impl Dice {
    fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1), now_ms: AtomicU64::new(1) }
    }

    /// Returns a number below `n`.
    fn below(&self, n: usize) -> usize {
        (self.next_u64() >> 33) as usize % n
    }
}

impl Random for Dice {
    fn next_u64(&self) -> u64 {
        let mut state = self.state.load(Ordering::Relaxed);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.state.store(state, Ordering::Relaxed);
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

impl Clock for Dice {
    fn now_ms(&self) -> u64 {
        self.now_ms.fetch_add(1, Ordering::Relaxed)
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }
}

/// A fault of the provider, and the user's action while the provider is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Slow,
    SlowThenCancel,
    SlowThenDrop,
    SlowThenSteer,
    /// The connection ends as after a complete response.
    Cut,
    /// The connection fails.
    Broken,
    /// An error status, or an error inside the response.
    Refused,
    /// Bytes without meaning, or with an unknown meaning.
    Garbage,
}

const FAULTS: [Fault; 8] = [
    Fault::Slow,
    Fault::SlowThenCancel,
    Fault::SlowThenDrop,
    Fault::SlowThenSteer,
    Fault::Cut,
    Fault::Broken,
    Fault::Refused,
    Fault::Garbage,
];

/// Responses that arrive completely and are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Oddity {
    UnknownTool,
    WrongArguments,
    /// Arguments that are not JSON.
    BrokenArguments,
    SameIdTwice,
    /// An id that an earlier response used.
    SameIdAgain,
    NoName,
    Empty,
    /// The output limit was reached in the middle of a call.
    CutByLength,
}

const ODDITIES: [Oddity; 8] = [
    Oddity::UnknownTool,
    Oddity::WrongArguments,
    Oddity::BrokenArguments,
    Oddity::SameIdTwice,
    Oddity::SameIdAgain,
    Oddity::NoName,
    Oddity::Empty,
    Oddity::CutByLength,
];

/// The number of times that each event happened.
#[derive(Default)]
struct Histogram {
    faults: BTreeMap<(Moment, Fault), u32>,
    oddities: BTreeMap<Oddity, u32>,
}

/// The provider: responds at random, and checks the requests.
struct Faulty {
    api: Api,
    dice: Shared<Dice>,
    histogram: Shared<Mutex<Histogram>>,
    n_answers: AtomicU64,
    /// Set while a response waits: the user's action during the wait.
    waits: Shared<Mutex<Option<Fault>>>,
    opened: Shared<AtomicBool>,
}

impl Faulty {
    /// Returns the events of the next response, as they are sent.
    fn next_answer(&self) -> Vec<String> {
        let n = self.n_answers.fetch_add(1, Ordering::Relaxed);
        // A run must end eventually.
        let calls = if n % 4 == 3 { Vec::new() } else { self.calls(n) };
        let odd = (self.dice.below(4) == 0).then(|| ODDITIES[self.dice.below(ODDITIES.len())]);
        let mut events = answer(self.api, self.dice.below(4) > 0, TEXT, &calls);
        if let Some(odd) = odd.filter(|_| !calls.is_empty()) {
            *self.histogram.lock().unwrap().oddities.entry(odd).or_default() += 1;
            events = self.odd_answer(odd, n, calls);
        }
        let mut texts: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        if odd == Some(Oddity::BrokenArguments) {
            // In the pieces where arguments are text; not possible in Gemini's format.
            for text in texts.iter_mut().filter(|text| text.contains("\\\"file_path\\\"")) {
                *text = text.replace("\\\"file_path\\\":", "\\\"file_path\\\" ");
            }
        }
        texts
    }

    fn calls(&self, n: u64) -> Vec<WireCall> {
        let edit = |old: &str, new: &str| json!({"file_path": "notes.md", "old_string": old, "new_string": new});
        let call = |at: usize| {
            let (name, arguments) = match self.dice.below(4) {
                0 => ("read_file", json!({"file_path": "notes.md"})),
                1 | 2 => ("edit_file", edit("two", "2")),
                _ => ("edit_file", edit("2", "two")),
            };
            (format!("c{n}_{at}"), name, arguments)
        };
        (0..=self.dice.below(2)).map(call).collect()
    }

    fn odd_answer(&self, odd: Oddity, n: u64, mut calls: Vec<WireCall>) -> Vec<serde_json::Value> {
        match odd {
            Oddity::UnknownTool => calls[0].1 = "no_such_tool",
            Oddity::WrongArguments => calls[0].2 = json!({"file_path": 7, "path": ["x"]}),
            Oddity::SameIdTwice => calls.push((calls[0].0.clone(), "read_file", json!({"file_path": "notes.md"}))),
            Oddity::SameIdAgain => calls[0].0 = format!("c{}_0", n.saturating_sub(1)),
            Oddity::NoName => calls[0].1 = "",
            Oddity::Empty => return answer(self.api, false, "", &[]),
            Oddity::BrokenArguments | Oddity::CutByLength => {}
        }
        let mut events = answer(self.api, false, TEXT, &calls);
        if odd == Oddity::CutByLength {
            for event in &mut events {
                cut_by_length(self.api, event);
            }
        }
        events
    }

    fn wait(&self, fault: Fault) -> BoxFuture<'static, ()> {
        let (waits, opened) = (Shared::clone(&self.waits), Shared::clone(&self.opened));
        let _long = self.dice.sleep(60_000);
        Box::pin(async move {
            opened.store(false, Ordering::Relaxed);
            *waits.lock().unwrap() = Some(fault);
            std::future::poll_fn(|_| if opened.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending })
                .await;
        })
    }

    fn broken(&self) -> TransportError {
        let (host, reason) = ("h".to_owned(), "gone".to_owned());
        match self.dice.below(3) {
            0 => TransportError::Connect { host, reason },
            1 => TransportError::Interrupted { host, reason },
            _ => TransportError::Timeout { host, after_ms: 1, phase: "idle" },
        }
    }

    /// Returns the status and the body of an error response.
    fn refusal(&self) -> (u16, String) {
        let error =
            |name: &str| json!({"error": {"type": name, "code": name, "status": name, "message": "no"}}).to_string();
        match self.dice.below(6) {
            0 => (429, error("rate_limit_error")),
            1 => (500, error("api_error")),
            2 => (529, error("overloaded_error")),
            3 => (400, error("invalid_request_error")),
            4 => (413, "too large".to_owned()),
            _ => (401, error("authentication_error")),
        }
    }

    fn garbage(&self) -> Vec<u8> {
        let pieces: [&[u8]; 6] = [
            b"data: {\"cut\": \n\n",
            b"data: {\"type\": \"something.new\", \"foo\": [1]}\n\n",
            b"\xff\xfe\x00",
            b"data: [1, null]\n\n",
            b"<!doctype html>",
            b"event: x\nid: 1\n\n\n: \n",
        ];
        pieces[self.dice.below(pieces.len())].to_vec()
    }
}

/// Changes the last event of a response to report that the output limit was reached.
fn cut_by_length(api: Api, event: &mut serde_json::Value) {
    match api {
        Api::AnthropicMessages if event["type"] == "message_delta" => {
            event["delta"]["stop_reason"] = "max_tokens".into()
        }
        Api::OpenAiResponses if event["type"] == "response.completed" => {
            event["type"] = "response.incomplete".into();
            event["response"]["status"] = "incomplete".into();
            event["response"]["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        Api::OpenAiChat if !event["choices"][0]["finish_reason"].is_null() => {
            event["choices"][0]["finish_reason"] = "length".into();
        }
        Api::Gemini if event["candidates"][0]["finishReason"].is_string() => {
            event["candidates"][0]["finishReason"] = "MAX_TOKENS".into();
        }
        _ => {}
    }
}

impl Transport for Faulty {
    fn send(&self, request: HttpRequest, _: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        assert_acceptable(self.api, &request.body);
        let events = self.next_answer();
        let fault = (self.dice.below(3) > 0).then(|| FAULTS[self.dice.below(FAULTS.len())]);
        let moment = MOMENTS[self.dice.below(MOMENTS.len())];
        let place = moment.place(&events, self.dice.below(1 << 20));
        let body = events.concat().into_bytes();
        let (Some(fault), Some(place)) = (fault, place) else {
            return Box::pin(std::future::ready(Ok(respond(200, vec![Ok(body)]))));
        };
        *self.histogram.lock().unwrap().faults.entry((moment, fault)).or_default() += 1;
        let (start, rest) = (body[..place].to_vec(), body[place..].to_vec());
        Box::pin(async move {
            let at_connect = moment == Moment::Connect;
            Ok(match fault {
                Fault::Cut => respond(200, vec![Ok(start)]),
                Fault::Broken if at_connect => return Err(self.broken()),
                Fault::Broken => respond(200, vec![Ok(start), Err(self.broken())]),
                Fault::Refused if at_connect => {
                    let (status, body) = self.refusal();
                    respond(status, vec![Ok(body.into_bytes())])
                }
                Fault::Refused => {
                    let said = format!(
                        "\n\ndata: {}\n\n",
                        json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}})
                    );
                    respond(200, vec![Ok(start), Ok(said.into_bytes()), Ok(rest)])
                }
                Fault::Garbage => respond(200, vec![Ok(start), Ok(self.garbage()), Ok(rest)]),
                _ if at_connect => {
                    self.wait(fault).await;
                    respond(200, vec![Ok(body)])
                }
                _ => {
                    let (waiting, start) = (self.wait(fault), futures::stream::iter([Ok(start)]));
                    let rest = futures::stream::once(async move {
                        waiting.await;
                        Ok(rest)
                    });
                    HttpResponse { body: Box::pin(start.chain(rest)), ..respond(200, Vec::new()) }
                }
            })
        })
    }
}

fn respond(status: u16, chunks: Vec<Result<Vec<u8>, TransportError>>) -> HttpResponse {
    let headers = Headers(vec![("content-type".to_owned(), "text/event-stream".to_owned())]);
    HttpResponse { status, headers, body: Box::pin(futures::stream::iter(chunks)) }
}

const BEFORE: &str = "one\ntwo\n";
const AFTER: &str = "one\n2\n";

/// Records a wake-up: then polling continues without outside help.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct World {
    tools: ToolRegistry,
    faulty: Shared<Faulty>,
    files: Shared<MemFs>,
    workspace: Shared<Workspace>,
    store: Shared<MemStore>,
    dice: Shared<Dice>,
}

impl World {
    fn new(seed: u64, tools: &ToolRegistry, histogram: &Shared<Mutex<Histogram>>) -> Self {
        let dice = Shared::new(Dice::new(seed));
        let files = Shared::new(MemFs::from_fixture(&format!("//- notes.md\n{BEFORE}")));
        let workspace =
            Shared::new(Workspace::new(Shared::clone(&files) as _, Mode::Direct, Shared::clone(&dice) as _));
        let faulty = Shared::new(Faulty {
            api: Api::ALL[dice.below(Api::ALL.len())],
            dice: Shared::clone(&dice),
            histogram: Shared::clone(histogram),
            n_answers: AtomicU64::new(0),
            waits: Shared::default(),
            opened: Shared::default(),
        });
        Self { tools: tools.clone(), faulty, files, workspace, store: Shared::default(), dice }
    }

    fn store(&self) -> Shared<dyn Store> {
        Shared::clone(&self.store) as _
    }

    fn options(&self) -> SessionOptions {
        let config = Config { api_key: "key-0123456789".to_owned(), ..Config::default() };
        let adapter = self.faulty.api.adapter(config);
        SessionOptions {
            provider: Shared::new(HttpProvider::new(adapter, Shared::clone(&self.faulty) as Shared<dyn Transport>)),
            model: "m".to_owned(),
            offline: false,
            tools: self.tools.clone(),
            workspace: Shared::clone(&self.workspace),
            clock: Shared::clone(&self.dice) as _,
            random: Shared::clone(&self.dice) as _,
            config: SessionConfig { base_prompt: Some("Work.".to_owned()), ..SessionConfig::default() },
        }
    }

    /// Runs one run of the session. While the provider is slow, the user acts as the fault says.
    fn turn(&self, session: &Session) -> Vec<Event> {
        let cancel = CancelToken::new();
        let after = session.cursor();
        let mut run = Some(session.submit("do it", cancel.clone()).unwrap());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        while let Some(polled) = run.as_mut().map(|run| run.poll_next_unpin(&mut context)) {
            match polled {
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => break,
                Poll::Pending if woken.0.swap(false, Ordering::Relaxed) => {}
                Poll::Pending => {
                    let fault = self.faulty.waits.lock().unwrap().take().expect("nobody will ever wake it");
                    match fault {
                        Fault::SlowThenCancel => cancel.cancel(),
                        Fault::SlowThenDrop => run = None,
                        Fault::SlowThenSteer => session.steer("and be quick").unwrap(),
                        _ => {}
                    }
                    // After a cancelled wait no reader is left; in all other cases the response continues.
                    self.faulty.opened.store(fault != Fault::SlowThenCancel, Ordering::Relaxed);
                }
            }
        }
        session.poll_events(after, usize::MAX).unwrap()
    }
}

/// Checks the events of one run.
fn check_events(events: &[Event]) {
    let (mut open, mut in_text, mut in_reasoning, mut ended) = (Vec::new(), false, false, false);
    let mut aborted = false;
    for event in events {
        let kind = &event.kind;
        assert!(!ended || matches!(kind, EventKind::SessionEnd { .. }), "after the end: {kind:?}");
        match kind {
            EventKind::AssistantTextStart {} => assert!(!std::mem::replace(&mut in_text, true)),
            EventKind::AssistantTextEnd { .. } => assert!(std::mem::replace(&mut in_text, false)),
            EventKind::ReasoningStart {} => assert!(!std::mem::replace(&mut in_reasoning, true)),
            EventKind::ReasoningEnd { .. } => assert!(std::mem::replace(&mut in_reasoning, false)),
            EventKind::ToolCallStart { call_id, .. } => open.push(call_id.clone()),
            EventKind::ToolCallEnd { call_id, .. } => {
                let at = open.iter().position(|id| id == call_id).expect("the call began");
                open.remove(at);
            }
            EventKind::ProcessingEnd { reason, .. } => {
                ended = true;
                aborted = *reason == emend_agent::event::EndReason::Aborted;
            }
            _ => {}
        }
    }
    // A dropped run cannot report more than that.
    assert!(ended && (aborted || open.is_empty() && !in_text && !in_reasoning), "{events:?}");
}

fn simulate(seed: u64, tools: &ToolRegistry, histogram: &Shared<Mutex<Histogram>>) {
    let world = World::new(seed, tools, histogram);
    let mut session = Session::new(world.options()).with_store(world.store());
    let n_turns = 1 + world.dice.below(2);
    for at in 1..=n_turns {
        let events = world.turn(&session);
        check_events(&events);
        assert_ne!(session.state(), SessionState::Processing);
        let turns = session.entries();
        assert!(is_valid(&turns), "{turns:?}");
        let text = String::from_utf8(world.files.get("notes.md").unwrap()).unwrap();
        assert!(text == BEFORE || text == AFTER, "half written: {text:?}");
        // Each successful edit is on the disk, and no other.
        let n_changes = events.iter().filter(|event| matches!(event.kind, EventKind::FileChanged { .. })).count();
        let edited = |event: &&Event| matches!(&event.kind, EventKind::ToolCallEnd { tool_name, ok: true, .. } if tool_name == "edit_file");
        assert_eq!(n_changes, events.iter().filter(edited).count(), "{events:?}");
        if at < n_turns && !session.is_closed() && world.dice.below(4) > 0 {
            continue;
        }
        // The saved history equals the history in memory, except for the end of a dropped run.
        session = block_on(Session::resume(world.options(), world.store(), session.id())).unwrap();
        let saved = session.entries();
        assert!(is_valid(&saved) && saved.len() + 1 >= turns.len(), "{saved:?} of {turns:?}");
        let n_same = saved.len().min(turns.len()) - 1;
        assert_eq!(saved[..n_same], turns[..n_same]);
    }
}

#[test]
fn session_invariants_hold_with_a_faulty_provider() {
    covers("call.truncated call.one_result session.saved event.text_end canvas.wire_formats");
    let histogram: Shared<Mutex<Histogram>> = Shared::default();
    // `EMEND_SEED=7 cargo test -p emend-tests --test it provider_faults` runs one seed alone.
    let one: Option<u64> = option_env!("EMEND_SEED").and_then(|seed| seed.parse().ok());
    // Few tools and short instructions; otherwise the time is spent encoding them.
    let tools = core_tools().filtered(|tool| ["read_file", "edit_file"].contains(&tool.definition().name.as_str()));
    let n_seeds = if cfg!(target_family = "wasm") { 150 } else { 10_000 };
    for seed in one.map_or(0..n_seeds, |seed| seed..seed + 1) {
        // After a failure the last line shows how to repeat it.
        println!("EMEND_SEED={seed} cargo test -p emend-tests --test it whatever_the_provider");
        simulate(seed, &tools, &histogram);
    }
    let Histogram { faults, oddities } = &*histogram.lock().unwrap();
    for moment in MOMENTS {
        let counts = FAULTS.map(|fault| format!("{fault:?} {}", faults.get(&(moment, fault)).unwrap_or(&0)));
        println!("{moment:?}: {}", counts.join(", "));
    }
    println!("{oddities:?}");
    if n_seeds >= 10_000 && one.is_none() {
        assert_eq!((faults.len(), oddities.len()), (MOMENTS.len() * FAULTS.len(), ODDITIES.len()));
        let rarest = faults.values().chain(oddities.values()).min();
        assert!(rarest.is_some_and(|count| *count >= 50), "{rarest:?} of the rarest");
    }
}
