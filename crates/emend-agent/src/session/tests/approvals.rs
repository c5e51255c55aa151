//! Calls that rules refuse, calls that need approval, and commands during a run.

use std::collections::VecDeque;
use std::sync::Mutex;

use expect_test::expect;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::approval::{Action, Approval, ApprovalRequest, Approver, Policy, Rule};
use crate::environment::layers::{LogEvent, Logging};
use crate::test_support::covers;

/// Answers from a list; after its end, cancels the run and never answers.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<Approval>>,
    asked: Mutex<Vec<ApprovalRequest>>,
    cancel: CancelToken,
}

impl Scripted {
    fn new(answers: Vec<Approval>) -> Shared<Self> {
        Shared::new(Self { answers: Mutex::new(answers.into()), ..Self::default() })
    }

    fn n_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Approver for Scripted {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
        self.asked.lock().unwrap().push(request.clone());
        match self.answers.lock().unwrap().pop_front() {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => {
                self.cancel.cancel();
                Box::pin(std::future::pending())
            }
        }
    }
}

fn setup(rules: &[(Action, &str)], approver: Option<&Shared<Scripted>>) -> Setup {
    let rules = rules.iter().map(|(action, text)| Rule::parse(*action, text).unwrap()).collect();
    let config = SessionConfig {
        policy: Policy { rules, otherwise: Action::Allow },
        approver: approver.map(|approver| Shared::clone(approver) as Shared<dyn Approver>),
        ..SessionConfig::default()
    };
    Setup { config, shell: true, ..Setup::default() }
}

fn shell(command: &str) -> (&'static str, Value) {
    ("shell", json!({ "command": command }))
}

#[test]
fn a_call_that_the_user_allows_runs() {
    let approver = Scripted::new(vec![Approval::Allow]);
    let world = check(
        NOTES,
        vec![Answer::Call(vec![shell("echo hi; write notes.md x")]), Answer::Say("Done.")],
        setup(&[(Action::Ask, "shell")], Some(&approver)),
        &expect![[r#"
            SESSION_START {"model":"m","provider":"script","offline":false}
            USER_INPUT {"content":"do it"}
            TOOL_CALL_START shell
            APPROVAL_REQUESTED {"call_id":"call_1_0","tool_name":"shell","arguments":{"command":"echo hi; write notes.md x"},"detail":{"command":"echo hi; write notes.md x","workingDir":".","timeoutMs":10000,"description":""}}
            APPROVAL_RESOLVED {"call_id":"call_1_0","decision":"allowed"}
            TOOL_CALL_OUTPUT_DELTA {"call_id":"call_1_0","delta":"hi\n"}
            TOOL_CALL_END shell ok
            FILE_CHANGED {"path":"notes.md","revision":1,"pending_hunks":0}
            ASSISTANT_TEXT_START {}
            ASSISTANT_TEXT_DELTA {"delta":"Do"}
            ASSISTANT_TEXT_DELTA {"delta":"ne."}
            ASSISTANT_TEXT_END {"text":"Done."}
            PROCESSING_END {"reason":"natural","usage":{"input_tokens":20,"output_tokens":2,"total_tokens":22}}
        "#]],
    );
    assert_eq!(world.last_results(), ["hi\n[changed: notes.md]\n[exit code 0 after 1 ms]"]);
}

#[test]
fn an_edit_is_asked_about_with_its_diff_and_not_at_all_if_it_would_be_refused_anyway() {
    let approver = Scripted::new(vec![Approval::Allow]);
    let patch = |base: &str| json!({"file_path": "notes.md", "unified_diff": "@@ -2 +2 @@\n-two\n+2\n", "base_content_sha256": base});
    let hash = emend_edit::ContentHash::of(b"one\ntwo\nthree\n").hex();
    let answers =
        vec![Answer::Call(vec![("safe_patch", patch("00")), ("safe_patch", patch(&hash))]), Answer::Say("Done.")];
    let mut world = World::new(NOTES, vec![], setup(&[(Action::Ask, "safe_patch")], Some(&approver)));
    let mut tools = tools();
    tools.register(Shared::new(crate::tools::SafePatch));
    world.restart(tools, answers);
    world.turn("do it");
    assert_eq!(world.disk("notes.md"), "one\n2\nthree\n", "{:?}", world.last_results());
    assert_eq!(approver.n_asked(), 1, "a hash that does not fit is nothing to ask about");
    let detail = approver.asked.lock().unwrap()[0].detail.clone();
    assert_eq!(detail["fileDiff"], "@@ -2 +2 @@\n-two\n+2\n");
    assert_eq!((&detail["fileName"], &detail["originalContent"]), (&json!("notes.md"), &json!("one\ntwo\nthree\n")));
}

#[test]
fn an_edit_that_nobody_was_asked_about_writes_nothing_if_its_file_changes_meanwhile() {
    covers("approval.policy verified.approval");
    let edit = |name: &'static str, key: &str| (name, json!({"file_path": "notes.md", "old_string": "four", key: "4"}));
    let patch = "*** Begin Patch\n*** Update File: notes.md\n-four\n+4\n*** End Patch";
    let hash = emend_edit::ContentHash::of(LATER.as_bytes()).hex();
    let diff =
        json!({"file_path": "notes.md", "unified_diff": "@@ -1 +1 @@\n-four\n+4\n", "base_content_sha256": hash});
    let calls = [
        edit("edit_file", "new_string"),
        ("apply_patch", json!({ "patch": patch })),
        ("shell", json!({ "command": patch })),
        ("safe_patch", diff),
    ];
    for call in calls {
        let name = call.0;
        let approver = Scripted::new(vec![]);
        let mut world = World::new(NOTES, vec![], setup(&[(Action::Ask, "*")], Some(&approver)));
        let mut tools = tools();
        tools.register(Shared::new(crate::tools::SafePatch));
        // The file changes right after the preview; without a check, the new content would be edited unasked.
        let files = Shared::clone(&world.files);
        let change = move |event: &LogEvent<'_>| {
            if matches!(event, LogEvent::Finished { operation: "read", path: "notes.md", .. }) {
                files.insert("notes.md", LATER).unwrap();
            }
        };
        let core = &world.session.core;
        let files: Shared<dyn crate::environment::ExecutionEnvironment> = Shared::clone(&world.files) as _;
        let environment = Logging::new(files, Shared::clone(&core.clock), Shared::new(change));
        let workspace = Workspace::new(Shared::new(environment), Mode::Direct, Shared::clone(&core.clock));
        let options = world.options(vec![Answer::Call(vec![call]), Answer::Say("Done.")]);
        world.session = Session::new(SessionOptions { tools, workspace: Shared::new(workspace), ..options });
        world.turn("do it");
        let told = &world.last_results()[0];
        assert!(told.contains("[stale] The file changed while the edit was being checked;"), "{name}: {told}");
        assert_eq!((world.disk("notes.md").as_str(), approver.n_asked()), (LATER, 0), "{name}");
    }
}

/// The content of the notes after the preview.
const LATER: &str = "four\n";

#[test]
fn a_call_that_the_user_refuses_does_not_run_and_the_model_is_told_why() {
    covers("approval.policy");
    let reason = |reason: &str| Approval::Deny { reason: Some(reason.to_owned()) };
    let approver = Scripted::new(vec![Approval::Deny { reason: None }, reason("use make")]);
    let calls = vec![shell("write notes.md x"), shell("write notes.md y")];
    let answers = vec![Answer::Call(calls), Answer::Say("Done.")];
    let world = World::new(NOTES, answers, setup(&[(Action::Ask, "shell")], Some(&approver)));
    let events = world.turn("do it");
    assert!(events.contains(r#"APPROVAL_RESOLVED {"call_id":"call_1_1","decision":"denied","reason":"use make"}"#));
    let told = "error: Tool error (shell): [permission_denied] This call was not allowed and did not run.";
    assert_eq!(world.last_results(), [told.to_owned(), format!("{told} Reason: use make")]);
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
}

#[test]
fn what_is_always_allowed_is_asked_once() {
    let approver = Scripted::new(vec![Approval::AllowAlways, Approval::Allow, Approval::AllowAlways]);
    let calls =
        vec![shell("echo a"), shell("echo a"), shell("echo b"), shell("echo a"), edit("one", "1"), edit("two", "2")];
    let answers = vec![Answer::Call(calls), Answer::Say("Done.")];
    let rules = [(Action::Ask, "shell"), (Action::Ask, "edit_file")];
    let world = World::new(NOTES, answers, setup(&rules, Some(&approver)));
    world.turn("do it");
    let asked: Vec<Value> =
        approver.asked.lock().unwrap().iter().map(|request| request.arguments["command"].clone()).collect();
    assert_eq!(asked, [json!("echo a"), json!("echo b"), Value::Null]);
    assert_eq!(world.disk("notes.md"), "1\n2\nthree\n");
}

#[test]
fn rules_refuse_without_asking() {
    covers("approval.policy");
    let approver = Scripted::new(vec![]);
    let rules = [(Action::Deny, "shell:remove *"), (Action::Deny, "*:*.md"), (Action::Allow, "*")];
    let calls = vec![
        shell("echo a; remove notes.md"),
        read(),
        ("edit_file", json!({"file_path": "./x/../notes.md", "old_string": "one", "new_string": "1"})),
        shell("*** Begin Patch\n*** Delete File: notes.md\n*** End Patch"),
        shell("echo fine"),
    ];
    let answers = vec![Answer::Call(calls), Answer::Say("Done.")];
    let world = World::new(NOTES, answers, setup(&rules, Some(&approver)));
    let events = world.turn("do it");
    let results = world.last_results();
    let refused = |tool: &str, rule: &str| {
        format!(
            "error: Tool error ({tool}): [permission_denied] The user's rules do not allow this call of {tool} (deny \
             {rule}). It did not run."
        )
    };
    assert_eq!(results[0], refused("shell", "shell:remove *"));
    assert_eq!(
        results[1..4],
        [refused("read_file", "*:*.md"), refused("edit_file", "*:*.md"), refused("shell", "*:*.md")]
    );
    assert!(results[4].starts_with("fine\n"), "{}", results[4]);
    assert!(!events.contains("APPROVAL") && approver.n_asked() == 0);
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
}

#[test]
fn what_nobody_can_be_asked_about_is_refused() {
    let answers = vec![Answer::Call(vec![shell("echo a")]), Answer::Say("Done.")];
    let world = World::new(NOTES, answers, setup(&[(Action::Ask, "shell")], None));
    world.turn("do it");
    assert!(world.last_results()[0].ends_with("Reason: there is nobody here to ask."), "{:?}", world.last_results());
}

#[test]
fn a_turn_can_be_cancelled_while_the_user_is_asked() {
    let approver = Scripted::new(vec![]);
    let answers = vec![Answer::Call(vec![shell("write notes.md x"), shell("echo b")])];
    let world = World::new(NOTES, answers, setup(&[(Action::Ask, "shell")], Some(&approver)));
    let run = world.session.submit("do it", approver.cancel.clone()).unwrap();
    let events: String = block_on(run.collect::<Vec<_>>()).iter().map(|event| line(&event.kind) + "\n").collect();
    assert!(events.contains(r#"APPROVAL_RESOLVED {"call_id":"call_1_0","decision":"aborted"}"#), "{events}");
    assert!(events.contains("TOOL_CALL_END shell aborted") && events.contains(r#""reason":"aborted""#), "{events}");
    assert_eq!((approver.n_asked(), world.disk("notes.md")), (1, "one\ntwo\nthree\n".to_owned()));
    assert_eq!(world.session.state(), SessionState::Idle);
}

#[test]
fn a_command_ends_with_the_turn_that_is_cancelled() {
    covers("loop.cancel error.shutdown");
    let answers = vec![Answer::Call(vec![shell("echo begun; write notes.md x; hang")])];
    let world = World::new(NOTES, answers, setup(&[], None));
    let cancel = CancelToken::new();
    let mut run = world.session.submit("do it", cancel.clone()).unwrap();
    let (mut ended, mut last) = (None, String::new());
    while let Some(event) = block_on(run.next()) {
        last = line(&event.kind);
        match event.kind {
            EventKind::ToolCallOutputDelta { .. } => cancel.cancel(),
            EventKind::ToolCallEnd { error_info, .. } => ended = error_info,
            _ => {}
        }
    }
    // The run is over, without another call of the model. The session is not: only `close` ends it.
    assert!(last.starts_with(r#"PROCESSING_END {"reason":"aborted""#), "{last}");
    assert_eq!(world.script.requests.lock().unwrap().len(), 1);
    assert_eq!(world.session.state(), SessionState::Idle);
    let ended = ended.unwrap();
    assert_eq!(ended.code, "aborted");
    // The changes until then are known and can be undone.
    assert_eq!(ended.data.unwrap()["changed"], json!(["notes.md"]));
    block_on(world.session.core.workspace.undo_runs(&[1])).unwrap();
    assert_eq!(world.disk("notes.md"), "one\ntwo\nthree\n");
    world.session.close();
    assert_eq!(world.session.state(), SessionState::Closed);
}

#[test]
fn where_there_is_no_shell_the_model_is_offered_none() {
    let of = |shell: bool| {
        let world = World::new(NOTES, vec![], Setup { shell, ..Setup::default() });
        world.session.core.settings().tools.get("shell").is_some()
    };
    assert_eq!((of(true), of(false)), (true, false));
}

#[test]
fn always_covers_no_more_than_the_question_showed() {
    covers("approval.policy");
    let write = |path: &str| ("write_file", json!({ "file_path": path, "content": "x\n" }));
    let there = |command: &str, dir: &str| ("shell", json!({ "command": command, "working_dir": dir }));
    let calls = vec![
        // An answer about a file that a pattern names is about this file only,
        write("hooks/a"),
        write("hooks/a"),
        write("hooks/b"),
        // also after an answer about the whole tool,
        write("c"),
        write("d"),
        write("hooks/c"),
        // and one about a command is about its directory.
        shell("echo a"),
        there("echo a", "hooks"),
        there("echo a", "hooks"),
    ];
    let n_questions = 6;
    let approver = Scripted::new(vec![Approval::AllowAlways; n_questions]);
    let answers = vec![Answer::Call(calls), Answer::Say("Done.")];
    let rules = [(Action::Ask, "edit:hooks/**"), (Action::Ask, "write_file"), (Action::Ask, "shell")];
    let world = World::new(NOTES, answers, setup(&rules, Some(&approver)));
    world.turn("do it");
    let subject = |request: &ApprovalRequest| {
        let of = |key: &str| request.arguments[key].as_str().map(str::to_owned);
        let what = of("file_path").or_else(|| of("command")).unwrap_or_default();
        format!("{what} {} {}", of("working_dir").unwrap_or_default(), request.detail["paths"])
    };
    let asked: Vec<String> = approver.asked.lock().unwrap().iter().map(subject).collect();
    assert_eq!(
        asked,
        [
            r#"hooks/a  ["hooks/a"]"#,
            r#"hooks/b  ["hooks/b"]"#,
            "c  null",
            r#"hooks/c  ["hooks/c"]"#,
            "echo a  null",
            "echo a hooks null",
        ]
    );
}
