//! Files that rules hide: no tool, mention or command shows them, and the user still sees them.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::subagents::{Stage, call, say, spawn, wait};
use super::*;
use crate::approval::{Action, CommandLine, Policy, Rule};
use crate::environment::command::{Command, ExecResult, OutputSink};
use crate::environment::{
    Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FileMatches, FilePath, GrepQuery, Metadata,
};
use crate::test_support::covers;
use crate::tools::{ProjectToolLimits, project_tools};

const FILES: &str = "//- a.txt\nKEY of a\n//- link.txt -> secrets/key\n//- secrets/key\nKEY=hunter2\n//- secrets/deep/b.txt\nKEY=hunter3\n";

fn setup(rules: &[(Action, &str)]) -> Setup {
    let rules = rules.iter().map(|(action, text)| Rule::parse(*action, text).unwrap()).collect();
    let policy = Policy { rules, otherwise: Action::Allow };
    Setup { config: SessionConfig { policy, ..SessionConfig::default() }, shell: true, ..Setup::default() }
}

/// The rules with which each test must hold.
const RULES: [&str; 5] =
    ["*:secrets/**", "*:secrets", "*:secrets/", "read_file:{key,deep/**,b.txt}", "read_file:**/secrets/**"];

const SEARCHES: fn() -> Vec<(&'static str, Value)> = || {
    vec![
        ("grep", json!({"pattern": "KEY"})),
        ("grep", json!({"pattern": "KEY", "path": "secrets"})),
        ("glob", json!({"pattern": "**/*"})),
        ("list_dir", json!({"path": ".", "depth": 4})),
        ("list_dir", json!({"path": "secrets"})),
        ("read_many_files", json!({"include": ["**/*", "./secrets/key", "a.txt"]})),
        ("read_file", json!({"file_path": "./secrets/key"})),
        ("read_file", json!({"file_path": "x/../secrets/key"})),
        ("read_file", json!({"file_path": "/workspace/secrets/key"})),
        ("read_file", json!({"file_path": "link.txt"})),
        ("read_file", json!({"file_path": "secrets/kez"})),
        ("edit_file", json!({"file_path": "secrets/key", "old_string": "x", "new_string": "y"})),
        ("write_file", json!({"file_path": "secrets/key", "content": "y", "expected_hash": "00"})),
        ("apply_patch", json!({"patch": "*** Begin Patch\n*** Update File: secrets/key\n-x\n+y\n*** End Patch"})),
        ("move_file", json!({"from": "secrets/key", "to": "b.txt"})),
    ]
};

#[test]
fn no_tool_shows_a_file_that_rules_hide() {
    covers("approval.hidden");
    for rule in RULES {
        for staged in [false, true] {
            let answers = vec![Answer::Call(SEARCHES()), Answer::Say("Done.")];
            let world = World::new(FILES, answers, Setup { staged, ..setup(&[(Action::Deny, rule)]) });
            let files = world.session.core.workspace.clone();
            world.turn("do it");
            let shown = world.last_results().join("\n");
            for secret in ["hunter", "b.txt (", "key (", "link.txt (", "[secrets"] {
                assert!(!shown.contains(secret), "{rule}: {secret} in {shown}");
            }
            assert!(shown.contains("a.txt:1:KEY of a"), "{rule}: other files are found: {shown}");
            assert_eq!(world.disk("secrets/key"), "KEY=hunter2\n");
            let own = block_on(files.text("secrets/key")).unwrap();
            assert_eq!(own.as_deref(), Some("KEY=hunter2\n"), "the user sees the file");
        }
    }
}

#[test]
fn the_project_tools_do_not_show_hidden_files() {
    let fixture = "//- a.txt\nKEY of a\n//- certs/site.pem\nKEY=hunter2\n//- id_rsa\nKEY=hunter3\n";
    let policy = Policy::default().hiding_secrets();
    let config = SessionConfig { policy, ..SessionConfig::default() };
    let mut world = World::new(fixture, Vec::new(), Setup { staged: true, config, ..Setup::default() });
    let rename = json!({"edits": [{"file_path": "id_rsa", "operation": "rename", "new_path": "b.txt"}]});
    let create = json!({"edits": [{"file_path": "certs/new.pem", "operation": "create", "new_text": "x"}]});
    let calls = vec![
        ("search_project", json!({"query": "KEY"})),
        ("search_project", json!({"query": "pem"})),
        ("list_files", json!({})),
        ("list_files", json!({"prefix": "certs"})),
        ("read_file", json!({"file_path": "certs/site.pem"})),
        ("propose_edits", rename),
        ("propose_edits", create),
    ];
    let tools = project_tools(ProjectToolLimits::default());
    world.restart(tools, vec![Answer::Call(calls), Answer::Say("Done.")]);
    world.turn("do it");
    let results = world.last_results();
    let shown = results.join("\n");
    assert!(!shown.contains("hunter") && !shown.contains("[certs"), "{shown}");
    assert_eq!((results[0].contains("KEY of a"), results[2].as_str()), (true, "a.txt"));
    for denied in &results[4..] {
        assert!(denied.contains("permission_denied"), "{denied}");
    }
}

#[test]
fn pending_edits_of_a_hidden_file_are_hidden() {
    covers("approval.hidden");
    let calls = vec![
        ("grep", json!({"pattern": "KEY"})),
        ("glob", json!({"pattern": "**"})),
        ("list_dir", json!({"path": "secrets"})),
    ];
    let write = vec![("write_file", json!({"file_path": "secrets/new", "content": "KEY=new\n"}))];
    let answers = vec![Answer::Call(write), Answer::Say("Done."), Answer::Call(calls), Answer::Say("Done.")];
    let world = World::new(FILES, answers, Setup { staged: true, ..Setup::with_shell() });
    world.turn("write");
    let config = setup(&[(Action::Deny, "*:secrets/**")]).config;
    world.session.configure(|current| *current = config);
    world.turn("look");
    let shown = world.last_results().join("\n");
    assert!(!shown.contains("new") && shown.contains("KEY of a"), "{shown}");
    let review = world.session.core.workspace.review();
    assert_eq!(review.files.len(), 1, "the user still reviews the edit");
}

#[test]
fn mentions_and_documents_bring_no_hidden_file() {
    covers("approval.hidden");
    for text in ["@secrets/key", "@secrets/", "@link.txt", "@**/*", "@/workspace/secrets/key"] {
        let fixture = format!("{FILES}//- AGENTS.md\nhunter4\n");
        let world = World::new(
            &fixture,
            vec![Answer::Say("Seen.")],
            setup(&[(Action::Deny, "*:secrets/**"), (Action::Deny, "*:AGENTS.md")]),
        );
        world.turn(text);
        let requests = world.script.requests.lock().unwrap();
        let sent = requests[0].messages.iter().map(Message::text).collect::<String>();
        assert!(!sent.contains("hunter"), "{text}: {sent}");
    }
}

#[test]
fn an_earlier_rule_allows_a_file_in_a_hidden_directory() {
    let rules = [(Action::Allow, "read_file:secrets/key"), (Action::Deny, "*:secrets/**"), (Action::Deny, "shell")];
    let calls = vec![("grep", json!({"pattern": "KEY"})), ("read_file", json!({"file_path": "secrets/key"}))];
    let world = World::new(FILES, vec![Answer::Call(calls), Answer::Say("Done.")], setup(&rules));
    world.turn("do it");
    let shown = world.last_results().join("\n");
    assert!(shown.contains("secrets/key:1:KEY=hunter2") && !shown.contains("hunter3"), "{shown}");
}

#[test]
fn a_command_on_the_systems_files_is_asked_about_if_rules_hide_files() {
    covers("approval.hidden");
    let call = || vec![Answer::Call(vec![("shell", json!({"command": "echo hi"}))]), Answer::Say("Done.")];
    let mut world = World::new(FILES, call(), setup(&[(Action::Allow, "shell"), (Action::Deny, "*:secrets/**")]));
    world.turn("in memory");
    assert!(world.last_results()[0].starts_with("hi\n"), "files in memory are hidden from commands");
    let workspace = Workspace::new(
        Shared::new(OwnFiles(Shared::clone(&world.files), "linux")),
        Mode::Direct,
        Shared::clone(&world.session.core.clock),
    );
    let options = world.options(call());
    world.session = Session::new(SessionOptions { workspace: Shared::new(workspace), ..options });
    let events = world.turn("on the system");
    assert!(events.contains("\"reachesHidden\":\"*:secrets/**\""), "{events}");
    assert!(world.last_results()[0].contains("[permission_denied]"), "{:?}", world.last_results());
}

#[test]
fn files_whose_names_have_no_case_are_hidden_in_every_case() {
    covers("approval.hidden");
    let fixture = "//- a.txt\nKEY of a\n//- Secrets/Key\nKEY=hunter2\n//- b/CERT.Pem\nKEY=hunter3\n";
    let calls = || {
        vec![
            ("grep", json!({"pattern": "KEY"})),
            ("list_dir", json!({"path": ".", "depth": 4})),
            ("read_many_files", json!({"include": ["**/*"]})),
            ("read_file", json!({"file_path": "Secrets/Key"})),
            ("edit_file", json!({"file_path": "Secrets/Key", "old_string": "KEY=hunter2", "new_string": "x"})),
            ("edit_file", json!({"file_path": "A.TXT", "old_string": "x", "new_string": "y"})),
        ]
    };
    for (platform, is_hidden) in [("linux", false), ("darwin", true), ("windows", true)] {
        let rules = [(Action::Deny, "*:secrets/**"), (Action::Deny, "*:*.PEM"), (Action::Deny, "edit_file:a.txt")];
        let answers = || vec![Answer::Call(calls()), Answer::Say("Done.")];
        let mut world = World::new(fixture, answers(), setup(&rules));
        let files = Shared::new(OwnFiles(Shared::clone(&world.files), platform));
        let workspace = Workspace::new(files, Mode::Direct, Shared::clone(&world.session.core.clock));
        let options = world.options(answers());
        world.session = Session::new(SessionOptions { workspace: Shared::new(workspace), ..options });
        world.turn("do it");
        let shown = world.last_results().join("\n");
        assert!(shown.contains("KEY of a"), "{shown}");
        assert_eq!(!shown.contains("hunter2") && !shown.contains("hunter3"), is_hidden, "{platform}: {shown}");
        let kept = world.disk("Secrets/Key").contains("hunter2");
        let is_denied = world.last_results()[5].contains("rules do not allow");
        assert_eq!((kept, is_denied), (is_hidden, is_hidden), "{platform}: {shown}");
    }
}

#[test]
fn a_command_in_memory_cannot_write_to_a_hidden_path() {
    let call = vec![("shell", json!({"command": "write secrets/new x"}))];
    let rules = [(Action::Deny, "read_file:secrets/**")];
    let world = World::new(FILES, vec![Answer::Call(call), Answer::Say("Done.")], setup(&rules));
    world.turn("do it");
    assert!(world.last_results()[0].contains("permission_denied"), "{:?}", world.last_results());
    assert_eq!(world.disk("secrets/new"), "(no file)");
}

#[test]
fn what_rules_hide_is_hidden_from_subagents_too() {
    covers("approval.hidden");
    let rule = Rule::parse(Action::Deny, "*:src/key").unwrap();
    let config =
        SessionConfig { policy: Policy { rules: vec![rule], ..Policy::default() }, ..SessionConfig::default() };
    let looks = || {
        let calls = vec![("grep", json!({"pattern": "KEY"})), ("read_many_files", json!({"include": ["**/*"]}))];
        vec![call(calls), say("Seen.")]
    };
    let inside = ("spawn_agent", json!({"task": "inside", "working_dir": "src"}));
    let start = call(vec![spawn("whole"), inside]);
    let scripts = [
        ("parent", vec![start, call(vec![wait("agent_1"), wait("agent_2")]), say("Thanks.")]),
        ("whole", looks()),
        ("inside", looks()),
    ];
    let stage = Stage::new("//- src/key\nKEY=hunter2\n//- src/a.txt\nKEY of a\n", &scripts, config);
    stage.play();
    for child in ["whole", "inside"] {
        let shown = stage.results(child).join("\n");
        assert!(shown.contains("KEY of a") && !shown.contains("hunter2"), "{child}: {shown}");
    }
}

/// Files without a view for commands, like those of a system with this name.
struct OwnFiles(Shared<MemFs>, &'static str);

type Outcome<'a, T> = BoxFuture<'a, Result<T, EnvError>>;

impl ExecutionEnvironment for OwnFiles {
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> Outcome<'a, FilePath> {
        self.0.resolve(path, access)
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> Outcome<'a, Option<Metadata>> {
        self.0.metadata(path)
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> Outcome<'a, Vec<u8>> {
        self.0.read(path)
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> Outcome<'a, ()> {
        self.0.write(path, content)
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> Outcome<'a, ()> {
        self.0.remove(path)
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> Outcome<'a, ()> {
        self.0.change(changes)
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> Outcome<'a, Vec<DirEntry>> {
        self.0.list(path, depth)
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> Outcome<'a, Vec<DirEntry>> {
        self.0.glob(path, glob)
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> Outcome<'a, Vec<FileMatches>> {
        self.0.grep(query)
    }

    fn has_shell(&self) -> bool {
        true
    }

    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> Outcome<'a, ExecResult> {
        self.0.exec_command(command, output, cancel)
    }

    fn read_command<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        self.0.read_command(line)
    }

    fn working_directory(&self) -> String {
        self.0.working_directory()
    }

    fn platform(&self) -> &'static str {
        self.1
    }

    fn os_version(&self) -> String {
        self.0.os_version()
    }
}
