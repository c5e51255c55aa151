//! Conditions that end a run or cause a warning: limits, loops, truncated responses, a full context.

use expect_test::expect;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use emend_llm::ToolChoice;

use super::*;
use crate::environment::EnvError;
use crate::environment::command::{Command, ExecResult, OutputSink};
use crate::environment::memory::CommandRunner;
use crate::history::{HistoryEntry, HistoryEntryKind};
use crate::test_support::covers;

fn with_config(fixture: &str, answers: Vec<Answer>, config: SessionConfig) -> World {
    World::new(fixture, answers, Setup { config, ..Setup::default() })
}

/// Returns the lines that start with `prefix`.
fn only(events: &str, prefix: &str) -> String {
    events.lines().filter(|line| line.starts_with(prefix)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn defaults_are_the_seeds() {
    let config = SessionConfig::default();
    assert_eq!((config.max_turns, config.max_tool_rounds_per_input), (0, 0));
    assert_eq!((config.max_tool_calls, config.max_schema_retries), (0, 5));
    assert_eq!((config.default_command_timeout_ms, config.max_command_timeout_ms), (10_000, 600_000));
    assert_eq!((config.enable_loop_detection, config.loop_detection_window), (true, 10));
    assert_eq!((config.max_subagent_depth, config.reasoning_effort), (1, None));
    assert!(config.tool_output_limits.is_empty() && config.tool_line_limits.is_empty());
}

/// A shell that records the timeouts of its commands and runs none.
#[derive(Default)]
struct Timeouts(Mutex<Vec<u64>>);

impl CommandRunner for Timeouts {
    fn run<'a>(
        &'a self,
        _files: MemFs,
        command: &'a Command,
        _output: &'a dyn OutputSink,
        _cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        self.0.lock().unwrap().push(command.timeout_ms);
        Box::pin(std::future::ready(Ok(ExecResult::default())))
    }
}

#[test]
fn commands_run_with_the_timeout_of_their_call_or_of_the_session() {
    covers("environment.default_timeout environment.call_timeout");
    let timeouts = |config: SessionConfig| {
        let shell = Shared::new(Timeouts::default());
        let runner = Shared::clone(&shell) as Shared<dyn CommandRunner>;
        let files = Shared::new(MemFs::new().with_shell(runner));
        let calls = [json!({}), json!({"timeout_ms": 5_000}), json!({"timeout_ms": 700_000})].map(|mut arguments| {
            arguments["command"] = "true".into();
            ("shell", arguments)
        });
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        let answers = vec![Answer::Call(calls.to_vec()), Answer::Say("Done.")];
        World::over(files, environment, answers, Setup { config, ..Setup::default() }).turn("do it");
        shell.0.lock().unwrap().clone()
    };
    assert_eq!(timeouts(SessionConfig::default()), [10_000, 5_000, 600_000]);
    let config =
        SessionConfig { default_command_timeout_ms: 2_000, max_command_timeout_ms: 4_000, ..SessionConfig::default() };
    assert_eq!(timeouts(config), [2_000, 4_000, 4_000]);
}

#[test]
fn a_limit_on_turns_holds_for_the_whole_session() {
    covers("loop.turn_limit");
    let config = SessionConfig { max_turns: 2, ..SessionConfig::default() };
    let world = with_config(NOTES, vec![Answer::Say("One."), Answer::Call(vec![read()])], config);
    world.turn("first");
    world.session.follow_up("waits").unwrap();
    let events = world.turn("second");
    assert!(events.contains("TURN_LIMIT {\"round\":1,\"total_turns\":2}\nPROCESSING_END {\"reason\":\"turn_limit\""));
    world.session.configure(|config| config.max_turns = 0);
    *world.script.answers.lock().unwrap() = vec![Answer::Say("Three."), Answer::Say("Four.")].into();
    assert!(world.turn("third").contains("waits"), "limits can be raised, and what waited is done");
}

/// Runs a script of rounds until the budget stops it. Returns the events about limits and the number of requests.
fn with_budget(budget: RunBudget, model: &str) -> (String, usize) {
    let config = SessionConfig { run_budget: budget, ..SessionConfig::default() };
    let answers = vec![Answer::Call(vec![read()]), Answer::Call(vec![edit("two", "2")]), Answer::Say("Done.")];
    let world = with_config(NOTES, answers, config);
    let provider = Shared::clone(&world.script) as Shared<dyn Provider>;
    world.session.set_model(provider, model.to_owned(), false);
    let events = world.turn("do it");
    let told = ["WARNING", "BUDGET_EXCEEDED", "PROCESSING_END"].map(|kind| only(&events, kind)).concat();
    let n_requests = world.script.requests.lock().unwrap().len();
    (told, n_requests)
}

#[test]
fn a_run_stops_when_its_tokens_are_used_up() {
    let (events, n_requests) = with_budget(RunBudget { tokens: 20, ..RunBudget::default() }, "m");
    assert_eq!(n_requests, 2);
    expect![[r#"
        BUDGET_EXCEEDED {"budget":"tokens","limit":20.0,"used":22.0}
        PROCESSING_END {"reason":"budget","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
    "#]]
    .assert_eq(&events);
    assert_eq!(with_budget(RunBudget { tokens: 1_000, ..RunBudget::default() }, "m").1, 3);
}

/// Runs a script with at most two tool calls. Returns the events about limits, the last results, and the choice of tools
/// of each request.
fn with_two_calls(answers: Vec<Answer>) -> (String, Vec<String>, String) {
    let config = SessionConfig { max_tool_calls: 2, ..SessionConfig::default() };
    let world = with_config(NOTES, answers, config);
    let events = world.turn("do it");
    let told = ["ASSISTANT_TEXT_END", "BUDGET_EXCEEDED", "PROCESSING_END"].map(|kind| only(&events, kind)).concat();
    let results = world.last_results();
    let requests = world.script.requests.lock().unwrap();
    let choices = requests.iter().map(|request| match &request.tool_choice {
        None => "any",
        Some(ToolChoice::None) => "none",
        Some(_) => "other",
    });
    let answered = |entry: &&HistoryEntry| entry.kind == HistoryEntryKind::ToolResults;
    let n_answered = world.session.entries().iter().filter(answered).count();
    (told, results, format!("{}; {n_answered} answered", choices.collect::<Vec<_>>().join(" ")))
}

#[test]
fn after_its_last_tool_call_the_model_responds_once_without_tools() {
    let calls = || Answer::Call(vec![read(), read(), edit("two", "2")]);
    let (told, results, choices) = with_two_calls(vec![calls(), Answer::Say("So far.")]);
    expect![[r#"
        ASSISTANT_TEXT_END {"text":"So far."}
        BUDGET_EXCEEDED {"budget":"tool_calls","limit":2.0,"used":2.0}
        PROCESSING_END {"reason":"budget","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
    "#]]
    .assert_eq(&told);
    assert_eq!(choices, "any none; 1 answered");
    assert!(
        results[1].contains("two") && results[2].contains("The tool calls of this task are used up"),
        "{results:?}"
    );
    // A model that calls tools all the same gets no third chance.
    let (told, results, choices) = with_two_calls(vec![calls(), calls(), Answer::Say("Never.")]);
    assert!(told.contains("\"reason\":\"budget\"") && !told.contains("Never"), "{told}");
    assert_eq!((choices.as_str(), results.len()), ("any none; 2 answered", 3));
    // The limit is not exceeded if the model stops by itself.
    let (told, _, choices) = with_two_calls(vec![Answer::Call(vec![read(), read()]), Answer::Say("Done.")]);
    assert!(told.contains("natural") && !told.contains("BUDGET"), "{told}");
    assert_eq!(choices, "any any; 1 answered");
}

#[test]
fn the_limit_on_tool_calls_holds_for_each_run() {
    let config = SessionConfig { max_tool_calls: 1, ..SessionConfig::default() };
    let answers = || vec![Answer::Call(vec![read()]), Answer::Say("Done.")];
    let world = with_config(NOTES, [answers(), answers()].concat(), config);
    for _ in 0..2 {
        assert!(world.turn("do it").contains("\"reason\":\"natural\""));
    }
}

#[test]
fn a_model_whose_calls_never_match_the_schema_is_stopped() {
    covers("service.schema_retry");
    let bad = || ("read_file", json!({"path": "notes.txt"}));
    let rounds = |rounds: Vec<Vec<(&'static str, Value)>>, max_schema_retries: u64| {
        let answers = rounds.into_iter().map(Answer::Call).chain([Answer::Say("Done.")]).collect();
        let config = SessionConfig { max_schema_retries, enable_loop_detection: false, ..SessionConfig::default() };
        let world = with_config(NOTES, answers, config);
        let events = world.turn("do it");
        let told = ["ERROR", "PROCESSING_END"].map(|kind| only(&events, kind)).concat();
        let n_requests = world.script.requests.lock().unwrap().len();
        (told, n_requests, world.last_results())
    };
    let (told, n_requests, results) = rounds(vec![vec![bad()]; 7], 2);
    expect![[r#"
        ERROR {"code":"limit_reached","message":"The model's tool calls did not match their schemas 3 times in a row, the last one of read_file. Try another model, or describe the task differently.","suggestions":[]}
        PROCESSING_END {"reason":"error","usage":{"input_tokens":30,"output_tokens":3,"total_tokens":33}}
    "#]]
    .assert_eq(&told);
    assert_eq!(n_requests, 3);
    assert!(results[0].contains(" Schema: {") && results[0].contains("\"offset\":{"), "{results:?}");
    // A call that matches starts the count again, also beside one that does not; so does a call that fails otherwise.
    let missing = || ("read_file", json!({"file_path": "missing"}));
    for good in [vec![read()], vec![bad(), read()], vec![missing()], vec![("no_such_tool", json!({}))]] {
        let script = vec![vec![bad()], vec![bad(), bad()], good, vec![bad()], vec![bad()]];
        let (told, n_requests, _) = rounds(script, 2);
        assert!(told.contains("\"reason\":\"natural\""), "{told}");
        assert_eq!(n_requests, 6);
    }
    assert_eq!(rounds(vec![vec![bad()]; 7], 0).1, 8);
    assert_eq!(rounds(vec![vec![bad()]; 7], SessionConfig::default().max_schema_retries).1, 6);
}

#[test]
fn a_run_stops_when_its_money_is_spent() {
    // Each response costs 45 millionths of a dollar.
    let budget = RunBudget { cost_usd: 0.000_05, ..RunBudget::default() };
    let (events, n_requests) = with_budget(budget, "claude-sonnet-4-5");
    assert_eq!((n_requests, events.contains("\"budget\":\"cost_usd\",\"limit\":0.00005")), (2, true), "{events}");
    let (events, n_requests) = with_budget(budget, "m");
    assert_eq!((n_requests, events.contains("\"price_unknown\"")), (3, true), "{events}");
}

#[test]
fn a_run_stops_when_its_time_is_over() {
    // The clock of these tests does not wait.
    let (events, n_requests) = with_budget(RunBudget { duration_ms: 5_000, ..RunBudget::default() }, "m");
    assert_eq!(n_requests, 0);
    expect![[r#"
        BUDGET_EXCEEDED {"budget":"duration_ms","limit":5000.0,"used":5000.0}
        PROCESSING_END {"reason":"budget","usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}}
    "#]]
    .assert_eq(&events);
}

#[test]
fn output_limits_are_the_sessions() {
    covers("truncate.marker truncate.event truncate.configurable event.full_output");
    let fixture = format!("//- notes.md\n{}\n", "x".repeat(5_000));
    let config =
        SessionConfig { tool_output_limits: [("read_file".to_owned(), 100)].into(), ..SessionConfig::default() };
    let world = with_config(&fixture, vec![Answer::Call(vec![read()]), Answer::Say("Long.")], config);
    let run = world.session.submit("do it", CancelToken::new()).unwrap();
    let events: Vec<Event> = block_on(run.collect());
    let full = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolCallEnd { output, .. } => Some(output.len()),
        _ => None,
    });
    assert!(full.unwrap() > 5_000, "the event has all of it");
    assert!(world.last_results()[0].contains("[WARNING: Tool output was truncated."));
}

#[test]
fn a_model_that_repeats_itself_is_told() {
    covers("loop.detection");
    let config = SessionConfig { loop_detection_window: 4, ..SessionConfig::default() };
    let mut answers = vec![Answer::Call(vec![read()]); 4];
    answers.push(Answer::Say("I see."));
    let world = with_config(NOTES, answers.clone(), config.clone());
    expect![[r#"
        LOOP_DETECTION {"message":"Loop detected: the last 4 tool calls follow a repeating pattern. Try a different approach."}
    "#]].assert_eq(&only(&world.turn("do it"), "LOOP_DETECTION"));
    let turns = world.session.entries();
    let steering = turns.iter().find(|turn| turn.kind == HistoryEntryKind::Steering).unwrap();
    assert_eq!(
        (steering.message.role, &*steering.message.text()),
        (Role::User, &*crate::fixed_texts::loop_detected(4))
    );
    let off = SessionConfig { enable_loop_detection: false, ..config };
    assert!(!with_config(NOTES, answers, off).turn("do it").contains("LOOP_DETECTION"));
}

#[test]
fn a_model_that_reads_one_file_after_the_other_is_not_told() {
    covers("loop.detection");
    let files: String = (0..10).map(|number| format!("//- {number}.txt\n{number}\n")).collect();
    let read = |number: usize| {
        let path = format!("{number}.txt");
        Answer::Call(vec![("read_file", json!({ "file_path": path }))])
    };
    let told = |paths: [usize; 10]| {
        let answers = paths.into_iter().map(read).chain([Answer::Say("Done.")]).collect();
        with_config(&files, answers, SessionConfig::default()).turn("do it").contains("LOOP_DETECTION")
    };
    assert!(!told([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert!(!told([0, 1, 0, 2, 0, 3, 0, 4, 0, 5]));
    assert!(told([0, 1, 0, 1, 0, 1, 0, 1, 0, 1]));
}

#[test]
fn answers_that_end_badly_end_the_turn_with_a_warning() {
    #[track_caller]
    fn check(text: &'static str, finish: FinishKind, expected: &str) {
        let world = World::new(NOTES, vec![Answer::End(text, vec![], finish)], Setup::default());
        let events = world.turn("do it");
        assert_eq!(only(&events, "WARNING"), expected);
        assert!(only(&events, "PROCESSING_END").contains("natural"));
        assert_eq!(world.session.history().len(), if text.is_empty() { 1 } else { 2 }, "nothing empty is kept");
    }
    let warning = |code: &str, message: &str| format!("WARNING {}\n", json!({"code": code, "message": message}));
    check("Half", FinishKind::Length, &warning("output_limit", "The answer was cut off by the output limit."));
    let blocked = "The provider's filter blocked the answer, or the model refused.";
    check("", FinishKind::ContentFilter, &warning("content_filter", blocked));
    check("I can't", FinishKind::ContentFilter, &warning("content_filter", blocked));
    check("", FinishKind::Error, &warning("answer_failed", "The provider reported that the answer failed."));
    let empty = "The model answered nothing; say \"go on\" or ask differently.";
    check("", FinishKind::Stop, &warning("empty_answer", empty));
    check("Done.", FinishKind::Stop, "");
    check("Done.", FinishKind::Other, "");
}

#[test]
fn calls_of_an_answer_that_a_filter_stopped_are_not_run() {
    covers("call.truncated");
    let (name, arguments) = edit("two", "2");
    let answers = vec![Answer::End("", vec![(name, arguments)], FinishKind::ContentFilter), Answer::Say("Again.")];
    let world = World::new(NOTES, answers, Setup::default());
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        TOOL_CALL_START edit_file
        TOOL_CALL_END edit_file limit_reached
        WARNING {"code":"content_filter","message":"The provider's filter blocked the answer, or the model refused."}
        PROCESSING_END {"reason":"natural","usage":{"input_tokens":10,"output_tokens":1,"total_tokens":11}}
    "#]]
    .assert_eq(&world.turn("do it"));
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
    assert!(world.turn("go on").contains("Again."));
}

#[test]
fn a_long_cut_call_is_quoted_in_part() {
    let (name, arguments) = edit(&"a".repeat(900), "b");
    let cut = Answer::End("", vec![read(), (name, arguments)], FinishKind::Length);
    let world = World::new(NOTES, vec![cut, Answer::Say("Smaller.")], Setup::default());
    expect![[r#"
        TOOL_CALL_START read_file
        TOOL_CALL_END read_file limit_reached
        TOOL_CALL_START edit_file
        TOOL_CALL_END edit_file limit_reached
    "#]]
    .assert_eq(&only(&world.turn("do it"), "TOOL"));
    let results = world.last_results();
    assert!(
        results[1].contains("957 characters of its arguments were received, from {\"file_path\""),
        "{}",
        results[1]
    );
    assert!(results[1].len() < 700);
}

#[test]
fn an_answer_that_the_provider_paused_is_sent_back() {
    let pause = |text| Answer::End(text, vec![], FinishKind::Pause);
    let world = World::new(NOTES, vec![pause("Searching."), Answer::Say("Found.")], Setup::default());
    let events = world.turn("do it");
    assert!(events.contains("Searching.") && events.contains("Found.") && !events.contains("WARNING"));
    let requests = world.script.requests.lock().unwrap();
    assert_eq!(requests[1].messages.last().unwrap().text(), "Searching.");
    drop(requests);
    let world = World::new(NOTES, vec![pause("Still."); 9], Setup::default());
    assert!(only(&world.turn("do it"), "WARNING").contains("\"paused\""), "not for ever");
}

#[test]
fn a_conversation_that_does_not_fit_is_a_warning_and_the_session_stays() {
    covers("error.context_length");
    let answers = vec![Answer::Refuse(ErrorKind::ContextLength), Answer::Say("Again.")];
    let world = World::new(NOTES, answers, Setup::default());
    expect![[r#"
        SESSION_START {"model":"m","provider":"script","offline":false}
        USER_INPUT {"content":"do it"}
        WARNING {"code":"context_length","message":"The conversation no longer fits the model (refused by the script). Compact it, or start a new session."}
        PROCESSING_END {"reason":"context_length","usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}}
    "#]].assert_eq(&world.turn("do it"));
    assert_eq!(world.session.state(), SessionState::Idle);
    assert!(world.turn("go on").contains("Again."));
}

#[test]
fn the_context_is_reported_once_for_each_step_from_eighty_percent() {
    covers("context.warning");
    // The window is 4,000 characters; each message uses a part of it.
    let config =
        SessionConfig { context_window: Some(1_000), context: Shared::new(KeepEverything), ..SessionConfig::default() };
    let world = with_config("", vec![Answer::Say("."); 6], config);
    let warnings = |n_chars: usize| only(&world.turn(&"x".repeat(n_chars)), "WARNING");
    assert_eq!(warnings(3_200), "", "80 percent are not more than 80");
    expect![[r#"
        WARNING {"code":"context_usage","message":"Context usage at ~83% of context window"}
    "#]]
    .assert_eq(&warnings(100));
    assert_eq!(warnings(10), "", "the same step");
    expect![[r#"
        WARNING {"code":"context_usage","message":"Context usage at ~92% of context window"}
    "#]]
    .assert_eq(&warnings(350));
    assert_eq!(world.session.context_use().window, Some(1_000));
}

/// Keeps the last message.
struct KeepLast;

impl ContextStrategy for KeepLast {
    fn is_due(&self, _usage: ContextUse) -> bool {
        false
    }

    fn compact<'a>(&'a self, entries: Vec<HistoryEntry>, _usage: ContextUse) -> BoxFuture<'a, Vec<HistoryEntry>> {
        Box::pin(std::future::ready(entries.into_iter().rev().take(1).collect()))
    }
}

#[test]
fn a_context_that_fills_again_after_room_was_made_is_reported_again() {
    covers("context.warning");
    // The window is 4,000 characters.
    let config =
        SessionConfig { context_window: Some(1_000), context: Shared::new(KeepLast), ..SessionConfig::default() };
    let world = with_config("", vec![Answer::Say("."); 6], config);
    let warnings = |n_chars: usize| only(&world.turn(&"x".repeat(n_chars)), "WARNING").matches("~85%").count();
    assert_eq!(warnings(3_400), 1);
    block_on(world.session.compact()).unwrap();
    assert_eq!(warnings(10), 0, "there is room");
    assert_eq!(warnings(3_400), 1, "the room is used up");
    assert_eq!(warnings(10), 0, "the same step");
    block_on(world.session.compact()).unwrap();
    assert_eq!(warnings(3_400), 1, "the next message uses up the room at once");
}

#[test]
fn room_is_made_by_pruning_old_outputs() {
    let fixture = format!("//- notes.md\n{}\n", "x".repeat(4_000));
    let config = SessionConfig { context_window: Some(4_000), ..SessionConfig::default() };
    let mut answers = vec![Answer::Call(vec![read()]); 5];
    answers.push(Answer::Say("Done."));
    let world = with_config(&fixture, answers, config);
    expect![[r#"
        WARNING {"code":"context_usage","message":"Context usage at ~104% of context window"}
        WARNING {"code":"context_compacted","message":"The conversation was shortened from about 4152 to 2148 tokens to make room."}
    "#]].assert_eq(&only(&world.turn("do it"), "WARNING"));
    assert!(is_valid(&world.session.entries()));
    let made = block_on(world.session.compact()).unwrap();
    assert!(made.tokens_after < made.tokens_before, "{made:?}");
    let again = block_on(world.session.compact()).unwrap();
    assert_eq!(again.tokens_after, again.tokens_before);
}

/// Drops the last message.
struct DropLast;

impl ContextStrategy for DropLast {
    fn is_due(&self, _usage: ContextUse) -> bool {
        true
    }

    fn compact<'a>(&'a self, mut turns: Vec<HistoryEntry>, _usage: ContextUse) -> BoxFuture<'a, Vec<HistoryEntry>> {
        turns.pop();
        Box::pin(std::future::ready(turns))
    }
}

#[test]
fn a_strategy_may_not_separate_a_call_from_its_result() {
    covers("context.compaction");
    let config = SessionConfig { context: Shared::new(DropLast), ..SessionConfig::default() };
    let world = with_config(NOTES, vec![Answer::Call(vec![read()]), Answer::Say("Done.")], config);
    let events = world.turn("do it");
    expect![[r#"
        WARNING {"code":"context_compacted","message":"The conversation was shortened from about 1 to 0 tokens to make room."}
        WARNING {"code":"context_strategy","message":"The context strategy separated a tool call from its result; the conversation stays as it was."}
    "#]].assert_eq(&only(&events, "WARNING"));
    assert!(is_valid(&world.session.entries()));
}
