//! Subagents: their number, their shared state, their reports to the parent, and their end.

use std::collections::BTreeMap;

use super::*;
use crate::approval::{Action, Approval, ApprovalRequest, Approver, Policy, Rule};
use crate::event::EndReason;
use crate::test_support::covers;
use crate::tools::register_subagent_tools;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The next response of a conversation.
#[derive(Clone)]
pub(super) enum Line {
    Now(Answer),
    /// No response until the request is cancelled.
    Never,
}

/// Answers each conversation from its own script, selected by its first message.
#[derive(Default)]
struct Cast {
    scripts: Mutex<BTreeMap<String, VecDeque<Line>>>,
    requests: Mutex<Vec<(String, Request)>>,
}

impl Provider for Cast {
    fn name(&self) -> &str {
        "cast"
    }

    fn stream(&self, request: Request, _cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        assert_history_is_valid(&request.messages);
        let who = request.messages[1].text();
        let line = self.scripts.lock().unwrap().get_mut(&who).and_then(VecDeque::pop_front);
        let n_requests = {
            let mut requests = self.requests.lock().unwrap();
            requests.push((who.clone(), request));
            requests.len()
        };
        Box::pin(async move {
            match line.unwrap_or_else(|| panic!("the script of {who:?} is over")) {
                Line::Now(Answer::Refuse(kind)) => Err(LlmError::new(kind, "refused by the script")),
                Line::Now(answer) => Ok(Box::pin(futures::stream::iter(events_of(&answer, n_requests))) as EventStream),
                Line::Never => std::future::pending().await,
            }
        })
    }
}

/// A clock that a test advances.
#[derive(Clone, Default)]
struct HandClock {
    state: Shared<Mutex<(u64, Vec<std::task::Waker>)>>,
}

impl HandClock {
    fn advance(&self, ms: u64) {
        let wakers = {
            let mut state = self.state.lock().unwrap();
            state.0 += ms;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(std::task::Waker::wake);
    }
}

impl Clock for HandClock {
    fn now_ms(&self) -> u64 {
        self.state.lock().unwrap().0
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        let (state, until) = (Shared::clone(&self.state), self.now_ms() + ms);
        Box::pin(std::future::poll_fn(move |context| {
            let mut state = state.lock().unwrap();
            if state.0 >= until {
                return std::task::Poll::Ready(());
            }
            state.1.push(context.waker().clone());
            std::task::Poll::Pending
        }))
    }
}

/// Records that there is work to do.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Polls a run until it ends or waits for an action of the test.
fn until_still(run: &mut Run) -> Vec<Event> {
    let woken = std::sync::Arc::new(Woken::default());
    let waker = std::task::Waker::from(std::sync::Arc::clone(&woken));
    let mut context = std::task::Context::from_waker(&waker);
    let mut events = Vec::new();
    loop {
        match run.poll_next_unpin(&mut context) {
            std::task::Poll::Ready(Some(event)) => events.push(event),
            std::task::Poll::Ready(None) => return events,
            std::task::Poll::Pending if woken.0.swap(false, std::sync::atomic::Ordering::Relaxed) => {}
            std::task::Poll::Pending => return events,
        }
    }
}

pub(super) struct Stage {
    files: Shared<MemFs>,
    cast: Shared<Cast>,
    clock: HandClock,
    session: Session,
}

impl Stage {
    pub(super) fn new(fixture: &str, scripts: &[(&str, Vec<Line>)], config: SessionConfig) -> Self {
        let files = Shared::new(MemFs::from_fixture(fixture));
        let clock = HandClock::default();
        let shared_clock: Shared<dyn Clock> = Shared::new(clock.clone());
        let environment = Shared::clone(&files) as Shared<dyn crate::environment::ExecutionEnvironment>;
        let workspace = Shared::new(Workspace::new(environment, Mode::Direct, Shared::clone(&shared_clock)));
        let cast = Shared::new(Cast::default());
        for (who, lines) in scripts {
            cast.scripts.lock().unwrap().insert((*who).to_owned(), lines.clone().into());
        }
        let mut tools = tools();
        register_subagent_tools(&mut tools);
        let session = Session::new(SessionOptions {
            provider: Shared::clone(&cast) as Shared<dyn Provider>,
            model: "m".to_owned(),
            offline: false,
            tools,
            workspace,
            clock: shared_clock,
            random: Shared::new(Counter(Mutex::new(0))),
            config,
        });
        Self { files, cast, clock, session }
    }

    /// Runs the parent to the end of its run.
    pub(super) fn play(&self) -> Vec<Event> {
        let mut run = self.session.submit("parent", CancelToken::new()).unwrap();
        let events = until_still(&mut run);
        let last = events.last().map(|event| &event.kind);
        assert!(
            matches!(last, Some(EventKind::ProcessingEnd { .. })),
            "the turn stands still after {last:?}: {:#?}",
            subagent_events(&events)
        );
        events
    }

    /// Returns the result texts of the conversation's last round, one per call.
    pub(super) fn results(&self, who: &str) -> Vec<String> {
        let requests = self.cast.requests.lock().unwrap();
        let (_, last) = requests.iter().rev().find(|(name, _)| name == who).unwrap();
        let parts = &last.messages.iter().rev().find(|message| message.role == Role::Tool).unwrap().content;
        let text = |part: &ContentPart| match part {
            ContentPart::ToolResult(result) => result.content.as_str().unwrap().to_owned(),
            part => panic!("{part:?}"),
        };
        parts.iter().map(text).collect()
    }

    fn disk(&self, path: &str) -> String {
        String::from_utf8(self.files.get(path).unwrap_or_else(|| b"(no file)".to_vec())).unwrap()
    }
}

pub(super) fn spawn(task: &str) -> (&'static str, Value) {
    ("spawn_agent", json!({ "task": task }))
}

pub(super) fn wait(id: &str) -> (&'static str, Value) {
    ("wait", json!({ "agent_id": id }))
}

pub(super) fn say(text: &'static str) -> Line {
    Line::Now(Answer::Say(text))
}

pub(super) fn call(calls: Vec<(&'static str, Value)>) -> Line {
    Line::Now(Answer::Call(calls))
}

fn subagent_events(events: &[Event]) -> Vec<String> {
    let lines = events.iter().filter_map(|event| match &event.kind {
        EventKind::SubagentStart { agent_id, task, .. } => Some(format!("{agent_id} start {task}")),
        EventKind::SubagentEvent { agent_id, event } => {
            Some(format!("{agent_id} {}", line(event).split(' ').take(2).collect::<Vec<_>>().join(" ")))
        }
        EventKind::SubagentEnd { agent_id, status, output, turns_used } => {
            Some(format!("{agent_id} end {} {turns_used} {output}", status.name()))
        }
        _ => None,
    });
    lines.collect()
}

#[test]
fn a_subagent_works_by_itself_and_its_result_is_the_parents() {
    covers("subagent.spawn subagent.history subagent.depth subagent.result");
    let scripts = [
        ("parent", vec![call(vec![spawn("look")]), call(vec![wait("agent_1")]), say("Thanks.")]),
        ("look", vec![call(vec![("read_file", json!({ "file_path": "a.txt" }))]), say("It says one.")]),
    ];
    let stage = Stage::new("//- a.txt\none\n", &scripts, SessionConfig::default());
    let events = stage.play();
    assert_eq!(stage.results("parent"), ["agent_1: completed after 2 turns.\nIt says one."]);
    expect_test::expect![[r#"
        agent_1 start look
        agent_1 USER_INPUT {"content":"look"}
        agent_1 TOOL_CALL_START read_file
        agent_1 TOOL_CALL_END read_file
        agent_1 ASSISTANT_TEXT_START {}
        agent_1 ASSISTANT_TEXT_END {"text":"It
        agent_1 PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
        agent_1 end completed 2 It says one."#]]
    .assert_eq(&subagent_events(&events).join("\n"));
    let requests = stage.cast.requests.lock().unwrap();
    let child = &requests.iter().find(|(who, _)| who == "look").unwrap().1;
    let offered = |name: &str| child.tools.iter().any(|tool| tool.name == name);
    assert!(offered("read_file") && offered("edit_file"));
    for name in ["spawn_agent", "send_input", "wait", "close_agent", "clarify_user"] {
        assert!(!offered(name), "{name}");
    }
    assert!(child.messages[0].text().contains("for another agent"), "{}", child.messages[0].text());
    // Neither conversation contains the other's messages.
    assert_eq!(stage.session.entries().len(), 6);
}

#[test]
fn eight_work_and_a_ninth_is_refused_until_one_is_done() {
    let names: Vec<String> = (1..=11).map(|number| format!("task {number}")).collect();
    let mut scripts: Vec<(&str, Vec<Line>)> = names.iter().map(|name| (name.as_str(), vec![Line::Never])).collect();
    (scripts[9].1, scripts[10].1) = (vec![say("Tenth.")], vec![say("Eleventh.")]);
    let close = |number: usize| ("close_agent", json!({ "agent_id": format!("agent_{number}") }));
    let parent = vec![
        call(names[..9].iter().map(|name| spawn(name)).collect()),
        call(vec![close(1), spawn("task 10"), wait("agent_9"), spawn("task 11"), wait("agent_10")]),
        call((2..=8).map(close).collect()),
        say("Done."),
    ];
    scripts.push(("parent", parent));
    let stage = Stage::new("", &scripts, SessionConfig::default());
    let events = stage.play();
    let refused: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolCallEnd { error_info: Some(error), .. } => Some(error.code),
            _ => None,
        })
        .collect();
    assert_eq!(refused, ["limit_reached"]);
    let started = subagent_events(&events).iter().filter(|line| line.contains(" start ")).count();
    assert_eq!(started, 10, "one that is closed and one that is done make room");
    let closed = stage.results("parent");
    assert!(closed.iter().all(|result| result.contains("failed after 0 turns")), "{closed:?}");
    assert!(matches!(events.last().unwrap().kind, EventKind::ProcessingEnd { reason: EndReason::Natural, .. }));
}

#[test]
fn the_limit_is_a_setting_and_depth_is_one() {
    covers("subagent.depth");
    let scripts = [
        ("parent", vec![call(vec![spawn("a"), spawn("b")]), call(vec![wait("agent_1")]), say("Done.")]),
        ("a", vec![call(vec![spawn("c")]), say("There is no such tool.")]),
    ];
    let stage = Stage::new("", &scripts, SessionConfig { max_subagents: 1, ..SessionConfig::default() });
    let events = stage.play();
    let text = subagent_events(&events).join("\n");
    assert!(text.contains("agent_1 TOOL_CALL_END spawn_agent"), "{text}");
    assert!(stage.results("a")[0].contains("[unknown_tool]"), "{:?}", stage.results("a"));
    assert!(!text.contains("agent_2"), "{text}");

    let scripts = [
        ("parent", vec![call(vec![spawn("a")]), call(vec![wait("agent_1")]), say("Done.")]),
        ("a", vec![call(vec![spawn("b")]), call(vec![wait("agent_1")]), say("It says deep.")]),
        ("b", vec![call(vec![spawn("c")]), say("Deep.")]),
    ];
    let stage = Stage::new("", &scripts, SessionConfig { max_subagent_depth: 2, ..SessionConfig::default() });
    stage.play();
    assert_eq!(stage.results("parent"), ["agent_1: completed after 3 turns.\nIt says deep."]);
    assert_eq!(stage.results("a"), ["agent_1: completed after 2 turns.\nDeep."]);
    assert!(stage.results("b")[0].contains("[unknown_tool]"), "{:?}", stage.results("b"));

    let scripts = [("parent", vec![call(vec![spawn("a")]), say("Done.")])];
    let stage = Stage::new("", &scripts, SessionConfig { max_subagent_depth: 0, ..SessionConfig::default() });
    stage.play();
    assert!(stage.results("parent")[0].contains("[limit_reached]"));
}

#[test]
fn a_wait_ends_with_its_time_and_the_subagent_goes_on() {
    covers("subagent.control");
    let scripts = [
        (
            "parent",
            vec![
                call(vec![spawn("slow")]),
                call(vec![("wait", json!({ "agent_id": "agent_1", "timeout_ms": 500 }))]),
                call(vec![("close_agent", json!({ "agent_id": "agent_1" })), wait("agent_1")]),
                say("Done."),
            ],
        ),
        ("slow", vec![Line::Never]),
    ];
    let stage = Stage::new("", &scripts, SessionConfig::default());
    let mut run = stage.session.submit("parent", CancelToken::new()).unwrap();
    // All events that need no time to pass.
    until_still(&mut run);
    assert_eq!(stage.cast.requests.lock().unwrap().len(), 3, "the parent waits");
    stage.clock.advance(499);
    assert_eq!(until_still(&mut run), []);
    stage.clock.advance(1);
    let _: Vec<Event> = block_on(run.collect());
    let requests = stage.cast.requests.lock().unwrap();
    let answer = |at: usize| match &requests[at].1.messages.last().unwrap().content[0] {
        ContentPart::ToolResult(result) => result.content.as_str().unwrap().to_owned(),
        part => panic!("{part:?}"),
    };
    assert_eq!(answer(3), "agent_1: running after 0 turns. It is not done after 500 ms; wait again.");
    drop(requests);
    let last = stage.results("parent");
    assert_eq!(last[0], "agent_1: failed after 0 turns.\nIt was aborted.");
    assert!(last[1].contains("[not_found] There is no subagent agent_1."), "{last:?}");
}

#[test]
fn the_use_of_a_run_has_each_response_at_the_price_of_its_own_model() {
    let dear = ("spawn_agent", json!({ "task": "look", "model": "claude-sonnet-4-5" }));
    let scripts = [
        ("parent", vec![call(vec![dear]), call(vec![wait("agent_1")]), say("Thanks.")]),
        ("look", vec![call(vec![("list_dir", json!({}))]), say("Nothing.")]),
    ];
    let stage = Stage::new("", &scripts, SessionConfig::default());
    stage.play();
    let (tokens, cost_usd) = stage.session.used();
    assert_eq!((tokens, (cost_usd * 1e6).round()), (5 * 11, 90.0), "45 for each response of the priced model");
}

#[test]
fn a_subagent_that_fails_says_why() {
    let scripts = [
        (
            "parent",
            vec![
                call(vec![
                    spawn("refused"),
                    ("spawn_agent", json!({ "task": "limited", "max_turns": 1 })),
                    ("spawn_agent", json!({ "task": "lost", "working_dir": "no/such" })),
                ]),
                call(vec![wait("agent_1"), wait("agent_2"), wait("agent_3")]),
                say("Done."),
            ],
        ),
        ("refused", vec![Line::Now(Answer::Refuse(ErrorKind::InvalidRequest))]),
        ("limited", vec![call(vec![("list_dir", json!({}))])]),
    ];
    let stage = Stage::new("", &scripts, SessionConfig::default());
    let events = stage.play();
    let results = stage.results("parent");
    assert!(results[0].starts_with("agent_1: failed after 0 turns.\nIts call to the model failed."), "{results:?}");
    assert!(results[0].contains("refused by the script"), "{results:?}");
    assert_eq!(results[1], "agent_2: failed after 1 turns.\nIt reached its limit of turns.");
    assert!(results[2].contains("[not_found]"), "{results:?}");
    assert!(matches!(events.last().unwrap().kind, EventKind::ProcessingEnd { reason: EndReason::Natural, .. }));
}

#[test]
fn a_subagent_hears_what_it_is_told_at_work_and_afterwards() {
    covers("subagent.control");
    let send = |message: &str| ("send_input", json!({ "agent_id": "agent_1", "message": message }));
    let scripts = [
        (
            "parent",
            vec![
                call(vec![spawn("child"), send("and be quick")]),
                call(vec![wait("agent_1"), send("once more")]),
                call(vec![wait("agent_1")]),
                say("Done."),
            ],
        ),
        ("child", vec![call(vec![("list_dir", json!({}))]), say("Quickly."), say("Again.")]),
    ];
    let stage = Stage::new("", &scripts, SessionConfig::default());
    stage.play();
    assert_eq!(stage.results("parent"), ["agent_1: completed after 3 turns.\nAgain."]);
    let requests = stage.cast.requests.lock().unwrap();
    let child: Vec<&Request> = requests.iter().filter(|(who, _)| who == "child").map(|(_, request)| request).collect();
    let said = |request: &Request| {
        let users = request.messages.iter().filter(|message| message.role == Role::User);
        users.map(Message::text).collect::<Vec<_>>()
    };
    assert_eq!(said(child[1]), ["child", "and be quick"]);
    assert_eq!(said(child[2]), ["child", "and be quick", "once more"]);
}

#[test]
fn aborting_the_parent_aborts_its_subagents_and_leaves_all_whole() {
    covers("error.shutdown");
    let scripts = [
        ("parent", vec![call(vec![spawn("a"), spawn("b")]), call(vec![wait("agent_1")])]),
        ("a", vec![Line::Never]),
        ("b", vec![Line::Never]),
    ];
    for drops in [false, true] {
        let stage = Stage::new("", &scripts, SessionConfig::default());
        let cancel = CancelToken::new();
        let mut run = stage.session.submit("parent", cancel.clone()).unwrap();
        until_still(&mut run);
        if drops {
            drop(run);
        } else {
            cancel.cancel();
            let events: Vec<Event> = block_on(run.collect());
            let end = &events.last().unwrap().kind;
            assert!(matches!(end, EventKind::ProcessingEnd { reason: EndReason::Aborted, .. }), "{end:?}");
        }
        let all = stage.session.poll_events(0, usize::MAX).unwrap();
        let ends: Vec<String> = subagent_events(&all).into_iter().filter(|line| line.contains(" end ")).collect();
        assert_eq!(ends, ["agent_1 end failed 0 It was aborted.", "agent_2 end failed 0 It was aborted."], "{drops}");
        assert!(is_valid(&stage.session.entries()));
    }
}

#[test]
fn between_turns_a_subagent_pauses_and_closing_the_session_ends_it() {
    covers("subagent.control");
    let scripts = [
        ("parent", vec![call(vec![spawn("a"), spawn("b")]), say("Later."), call(vec![wait("agent_1")]), say("Done.")]),
        ("a", vec![call(vec![("list_dir", json!({}))]), call(vec![("list_dir", json!({}))]), say("There.")]),
        ("b", vec![Line::Never]),
    ];
    let stage = Stage::new("", &scripts, SessionConfig::default());
    let events = stage.play();
    let warned = events.iter().any(|event| matches!(&event.kind, EventKind::Warning { code: "subagents_paused", .. }));
    assert!(warned);
    let n_requests = stage.cast.requests.lock().unwrap().len();
    assert!(n_requests < 6, "the child did not get to its end: {n_requests}");
    let _: Vec<Event> = block_on(stage.session.submit("go on", CancelToken::new()).unwrap().collect());
    assert_eq!(stage.results("parent"), ["agent_1: completed after 3 turns.\nThere."]);
    stage.session.close();
    let all = stage.session.poll_events(0, usize::MAX).unwrap();
    let last: Vec<String> = all[all.len() - 2..].iter().map(|event| line(&event.kind)).collect();
    assert!(last[0].starts_with("SUBAGENT_END") && last[1].starts_with("SESSION_END"), "{last:?}");
}

#[test]
fn a_subagent_stays_in_its_directory_and_shares_files_and_undo() {
    covers("subagent.environment");
    let edit = |path: &str| ("edit_file", json!({ "file_path": path, "old_string": "one", "new_string": "1" }));
    let read = |path: &str| ("read_file", json!({ "file_path": path }));
    let scripts = [
        (
            "parent",
            vec![
                call(vec![edit("a.txt"), ("spawn_agent", json!({ "task": "child", "working_dir": "src" }))]),
                call(vec![wait("agent_1")]),
                call(vec![read("src/a.txt")]),
                say("Done."),
            ],
        ),
        (
            "child",
            vec![
                call(vec![edit("a.txt"), read("../a.txt"), ("list_dir", json!({})), read("src/a.txt")]),
                say("Changed."),
            ],
        ),
    ];
    let fixture = "//- a.txt\none\n//- src/a.txt\none\n//- AGENTS.md\nRoot rules.\n//- src/AGENTS.md\nSource rules.\n";
    let stage = Stage::new(fixture, &scripts, SessionConfig::default());
    let events = stage.play();
    let results = stage.results("child");
    assert!(results[0].contains("[src/a.txt | version 1"), "{results:?}");
    assert!(results[1].contains("[permission_denied]"), "{results:?}");
    assert!(!results[2].contains("AGENTS.md\nsrc"), "{results:?}");
    assert!(results[3].contains("1 | 1"), "{results:?}");
    assert!(stage.results("parent")[0].contains("1 | 1"), "the parent reads what the child wrote");
    let changed = events
        .iter()
        .filter(|event| matches!(&event.kind, EventKind::FileChanged { path, .. } if path.as_str() == "src/a.txt"));
    assert!(changed.count() >= 1);
    let prompt =
        stage.cast.requests.lock().unwrap().iter().find(|(who, _)| who == "child").unwrap().1.messages[0].text();
    assert!(prompt.contains("Root rules.") && prompt.contains("Source rules."), "{prompt}");
    assert!(prompt.contains("/src"), "{prompt}");
    // One run: both edits are undone together.
    let workspace = &stage.session.core.workspace;
    assert_eq!(workspace.last_run(), 1);
    block_on(workspace.undo_runs(&[1])).unwrap();
    assert_eq!((stage.disk("a.txt"), stage.disk("src/a.txt")), ("one\n".to_owned(), "one\n".to_owned()));
}

#[test]
fn parent_and_child_on_one_file_never_write_over_each_other() {
    let write = |text: &str| ("write_file", json!({ "file_path": "a.txt", "content": text }));
    let read = ("read_file", json!({ "file_path": "a.txt" }));
    let scripts = [
        (
            "parent",
            vec![
                call(vec![read.clone(), spawn("child")]),
                call(vec![wait("agent_1")]),
                call(vec![write("mine\n")]),
                say("Done."),
            ],
        ),
        ("child", vec![call(vec![write("blind\n")]), call(vec![read, write("theirs\n")]), say("Written.")]),
    ];
    let stage = Stage::new("//- a.txt\none\n", &scripts, SessionConfig::default());
    let events = stage.play();
    // The child had not read the file, although its parent had; afterwards the parent had read another version.
    let stale: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolCallEnd { error_info: Some(error), .. } => Some(format!("parent {}", error.code)),
            EventKind::SubagentEvent { event, .. } => match &**event {
                EventKind::ToolCallEnd { error_info: Some(error), .. } => Some(format!("child {}", error.code)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(stale, ["child stale", "parent stale"]);
    assert_eq!(stage.disk("a.txt"), "theirs\n");
}

/// A user who takes time to answer and must not get a second question meanwhile. The first answer is `always`.
#[derive(Default)]
struct Slow {
    asking: Mutex<bool>,
    asked: Mutex<Vec<String>>,
}

impl Approver for Slow {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        let command = request.arguments["file_path"].as_str().unwrap_or_default().to_owned();
        let is_first = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(format!("{} {command}", request.tool_name));
            asked.len() == 1
        };
        let mut looks = 0;
        let mut begun = false;
        Box::pin(std::future::poll_fn(move |context| {
            let was = std::mem::replace(&mut *self.asking.lock().unwrap(), true);
            assert!(begun || !was, "one question at a time");
            begun = true;
            looks += 1;
            if looks < 20 {
                context.waker().wake_by_ref();
                return std::task::Poll::Pending;
            }
            *self.asking.lock().unwrap() = false;
            std::task::Poll::Ready(if is_first { Approval::AllowAlways } else { Approval::Allow })
        }))
    }
}

#[test]
fn a_session_and_its_subagents_ask_one_question_at_a_time_and_share_what_is_always_allowed() {
    covers("approval.policy");
    let write = |path: &str| call(vec![("write_file", json!({ "file_path": path, "content": "x" }))]);
    let edit = call(vec![("edit_file", json!({"file_path": "a.txt", "old_string": "one", "new_string": "1"}))]);
    let done = || call(vec![wait("agent_1"), wait("agent_2")]);
    let scripts = [
        ("parent", vec![call(vec![spawn("a"), spawn("b")]), edit, write("p.txt"), done(), say("Done.")]),
        ("a", vec![write("b.txt"), write("c.txt"), say("A.")]),
        ("b", vec![write("d.txt"), write("e.txt"), say("B.")]),
    ];
    let slow = Shared::new(Slow::default());
    let rules = ["write_file", "edit_file"].map(|text| Rule::parse(Action::Ask, text).unwrap());
    let config = SessionConfig {
        policy: Policy { rules: rules.into(), otherwise: Action::Allow },
        approver: Some(Shared::clone(&slow) as Shared<dyn Approver>),
        ..SessionConfig::default()
    };
    let stage = Stage::new("//- a.txt\none\n", &scripts, config);
    stage.play();
    let on_disk = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "p.txt"].map(|path| stage.disk(path));
    assert_eq!(on_disk, ["1\n", "x", "x", "x", "x", "x"]);
    assert_eq!(*slow.asked.lock().unwrap(), ["write_file b.txt", "edit_file a.txt"], "it holds for all agents");
}

#[test]
fn a_call_outside_of_a_conversation_has_no_subagents() {
    let stage = Stage::new("", &[], SessionConfig::default());
    let mut tools = ToolRegistry::new();
    register_subagent_tools(&mut tools);
    let outcome = block_on(call_tool(&tools, &stage.session.core.workspace, "spawn_agent", json!({ "task": "x" })));
    assert_eq!(outcome.unwrap_err().code.as_str(), "unsupported");
}
