//! Tests of commands: their changes become changes of the agent, on the files themselves and in a copy.

use emend_llm::Shared;
use futures::FutureExt as _;
use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::environment::layers::{LogEvent, Logging};
use crate::environment::memory::MemFs;
use crate::environment::{ExecutionEnvironment, FilePath};
use crate::error_code::Code;
use crate::session::tests::TickingClock;
use crate::test_support::ToyShell;
use crate::test_support::{covers, tool_context};
use crate::tool::{Progress, Tool as _, ToolContext, ToolError};
use crate::tools::{Shell, WriteFile};

struct World {
    files: Shared<MemFs>,
    workspace: Shared<Workspace>,
    reads: Shared<ReadTracker>,
}

const FILES: &str =
    "//- a.txt\none\ntwo\n//- b.txt\nbee\n//- .gitignore\nout/\n//- out/made.txt\nold\n//- src/c.txt\nsea\n";

impl World {
    fn new(mode: Mode) -> Self {
        let files = Shared::new(MemFs::from_fixture(FILES).with_shell(Shared::new(ToyShell)));
        Self::over(Shared::clone(&files) as Shared<dyn ExecutionEnvironment>, files, mode)
    }

    fn over(environment: Shared<dyn ExecutionEnvironment>, files: Shared<MemFs>, mode: Mode) -> Self {
        let workspace = Workspace::new(environment, mode, Shared::new(TickingClock::default()));
        workspace.begin_run();
        Self { files, workspace: Shared::new(workspace), reads: Shared::new(ReadTracker::default()) }
    }

    fn context(&self) -> ToolContext {
        tool_context(&self.workspace, &self.reads)
    }

    fn call(&self, arguments: Value) -> Result<crate::tool::ToolOutput, ToolError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        block_on(Shell.call(&arguments, &self.context()))
    }

    /// Runs a command and returns its result as the model reads it.
    fn shell(&self, command: &str) -> String {
        match self.call(json!({ "command": command })) {
            Ok(output) => output.text,
            Err(error) => format!("{}: {}", error.code.as_str(), error.text()),
        }
    }

    fn disk(&self, path: &str) -> Option<String> {
        self.files.get(path).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn visible(&self, path: &str) -> Option<String> {
        block_on(self.workspace.text(path)).unwrap()
    }

    fn undo(&self) -> Vec<String> {
        let undone = block_on(self.workspace.undo_runs(&[self.workspace.last_run()])).unwrap();
        undone.restored.iter().map(ToString::to_string).collect()
    }

    fn write(&self, path: &str, text: &str) -> Result<crate::tool::ToolOutput, ToolError> {
        let arguments = serde_json::Map::from_iter([
            ("file_path".to_owned(), Value::from(path)),
            ("content".to_owned(), Value::from(text)),
        ]);
        block_on(WriteFile.call(&arguments, &self.context()))
    }
}

const ALL: &str = "write a.txt one\\nTWO\\n; remove b.txt; write src/new.txt new; write out/made.txt x; echo done";

#[test]
fn direct_what_a_command_changed_can_be_undone() {
    covers("command.review");
    let world = World::new(Mode::Direct);
    let text = world.shell(ALL);
    assert_eq!(text, "done\n[changed: a.txt, b.txt, src/new.txt]\n[exit code 0 after 1 ms]");
    assert_eq!((world.disk("a.txt").as_deref(), world.disk("b.txt")), (Some("one\nTWO\n"), None));
    assert_eq!(world.undo(), ["a.txt", "b.txt", "src/new.txt"]);
    assert_eq!(world.disk("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(world.disk("b.txt").as_deref(), Some("bee\n"));
    assert_eq!(world.disk("src/new.txt"), None);
    assert_eq!(world.disk("out/made.txt").as_deref(), Some("x"), "what git ignores is left alone");
}

#[test]
fn lines_of_the_user_before_a_command_are_not_the_commands() {
    covers("command.review");
    let world = World::new(Mode::Direct);
    world.write("fresh.txt", "1\n2\n").unwrap();
    world.files.insert("fresh.txt", "1\nmine\n2\n").unwrap();
    world.shell("write fresh.txt 3\\n");
    assert!(world.workspace.has_external_change(&FilePath::clean("fresh.txt").unwrap(), 1));
    assert_eq!(world.undo(), ["fresh.txt"]);
    assert_eq!(world.disk("fresh.txt").as_deref(), Some("mine\n"));
}

#[test]
fn a_command_that_changes_again_what_the_user_restored_is_a_change() {
    covers("command.review");
    for world in [World::new(Mode::Direct), without_snapshots()] {
        for (change, found) in [("write a.txt x\\n", "x\n"), ("remove b.txt", "bee\n"), ("remove b.txt", "brand new\n")]
        {
            let path = if change.starts_with("write") { "a.txt" } else { "b.txt" };
            world.workspace.begin_run();
            world.shell(change);
            let text = if path == "a.txt" { "one\ntwo\n" } else { found };
            world.files.insert(path, text).unwrap();
            world.workspace.begin_run();
            assert!(world.shell(change).contains(&format!("[changed: {path}]")), "{change}");
            let run = world.workspace.last_run();
            let shown = block_on(world.workspace.texts_of_runs(&[run], None)).unwrap();
            assert_eq!(shown[0].before.as_deref(), Some(text), "{change}");
            assert_eq!(world.undo(), [path], "{change}");
            assert_eq!(world.disk(path).as_deref(), Some(text), "{change}");
            assert_eq!(block_on(world.workspace.redo_runs()).unwrap().restored.len(), 1, "{change}");
            assert!(world.workspace.runs().last().unwrap().is_on, "{change}");
            world.undo();
        }
    }
}

#[test]
fn staged_a_command_may_delete_again_what_the_user_restored() {
    covers("command.review");
    let world = World::new(Mode::Staged);
    world.shell("remove b.txt");
    block_on(world.workspace.accept_all(None)).unwrap();
    assert_eq!(world.disk("b.txt"), None);
    world.files.insert("b.txt", "bee\n").unwrap();
    let text = world.shell("remove b.txt; write a.txt x\\n");
    assert!(text.contains("[changed: a.txt, b.txt]"), "{text}");
    assert_eq!((world.disk("b.txt").as_deref(), world.visible("b.txt")), (Some("bee\n"), None));
    block_on(world.workspace.accept_all(None)).unwrap();
    assert_eq!((world.disk("a.txt").as_deref(), world.disk("b.txt")), (Some("x\n"), None));
}

#[test]
fn direct_commands_and_edits_of_one_run_are_undone_together() {
    let world = World::new(Mode::Direct);
    world.write("fresh.txt", "1\n").unwrap();
    world.shell("write fresh.txt 2\\n; write a.txt x\\n");
    assert_eq!(world.visible("fresh.txt").as_deref(), Some("2\n"));
    world.shell("write a.txt y\\n");
    block_on(world.workspace.user_edit("b.txt", Some("mine\n"), None)).unwrap();
    world.shell("echo nothing of yours");
    assert_eq!(world.undo(), ["a.txt", "fresh.txt"]);
    assert_eq!(world.disk("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!((world.disk("fresh.txt"), world.disk("b.txt").as_deref()), (None, Some("mine\n")));
}

#[test]
fn direct_what_was_not_kept_is_named() {
    let files = Shared::new(MemFs::from_fixture(FILES).with_shell(Shared::new(ToyShell)));
    // Without a snapshot, as on a disk.
    let inner = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
    let logging = Logging::new(inner, Shared::new(TickingClock::default()), Shared::new(|_: &LogEvent<'_>| {}));
    let world = World::over(Shared::new(logging), files, Mode::Direct);
    world.files.insert("big.txt", "x".repeat(2 << 20)).unwrap();
    world.files.insert("image.bin", "a\0b").unwrap();
    let text =
        world.shell("write big.txt small; write image.bin c\\0d; write b.txt \\0; write new.bin \\0; write a.txt 1");
    let notes = "[changed: a.txt]\n[changed, cannot be undone: b.txt, big.txt, image.bin, new.bin]\n";
    assert_eq!(text, format!("(no output)\n{notes}[exit code 0 after 1 ms]"));
    assert_eq!(world.undo(), ["a.txt"]);
}

/// Returns a world without snapshots, as on a disk without a keeper.
fn without_snapshots() -> World {
    let files = Shared::new(MemFs::from_fixture(FILES).with_shell(Shared::new(ToyShell)));
    let inner = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
    let logging = Logging::new(inner, Shared::new(TickingClock::default()), Shared::new(|_: &LogEvent<'_>| {}));
    World::over(Shared::new(logging), files, Mode::Direct)
}

#[test]
fn texts_of_up_to_one_mebibyte_are_kept() {
    let most = "x".repeat(1 << 20);
    for (old, new, is_kept) in [
        (most.clone(), "small".to_owned(), true),
        (format!("{most}x"), "small".to_owned(), false),
        ("small".to_owned(), most.clone(), true),
        ("small".to_owned(), format!("{most}x"), false),
    ] {
        let world = without_snapshots();
        world.files.insert("b.txt", old.clone()).unwrap();
        let text = world.shell(&format!("write b.txt {new}"));
        let (n_old, n_new) = (old.len(), new.len());
        assert_eq!(text.contains("[changed: b.txt]"), is_kept, "{n_old} {n_new}");
        assert_eq!(text.contains("[changed, cannot be undone: b.txt]"), !is_kept, "{n_old} {n_new}");
        world.undo();
        assert_eq!(world.disk("b.txt"), Some(if is_kept { old } else { new }), "{n_old} {n_new}");
    }
}

#[test]
fn a_text_that_changes_between_commands_is_kept_again() {
    let world = without_snapshots();
    world.shell("echo first");
    world.files.insert("a.txt", "mine\n").unwrap();
    world.shell("write a.txt other\\n; write b.txt b\\n");
    assert_eq!(world.undo(), ["a.txt", "b.txt"]);
    assert_eq!((world.disk("a.txt").as_deref(), world.disk("b.txt").as_deref()), (Some("mine\n"), Some("bee\n")));
}

#[test]
fn a_file_that_a_command_ignores_has_not_changed() {
    let world = without_snapshots();
    world.files.insert("image.bin", "a\0b").unwrap();
    assert!(world.shell(r"write .gitignore out/\n*.bin").starts_with("(no output)\n[changed: .gitignore]\n[exit"));
}

#[test]
fn direct_whatever_text_a_snapshot_has_can_be_undone() {
    let world = World::new(Mode::Direct);
    let big = "x".repeat(2 << 20);
    world.files.insert("big.txt", big.clone()).unwrap();
    world.files.insert("image.bin", "a\0b").unwrap();
    let text = world.shell("write big.txt small; write .hidden new; write image.bin c\\0d");
    let notes = "[changed: .hidden, big.txt]\n[changed, cannot be undone: image.bin]\n";
    assert_eq!(text, format!("(no output)\n{notes}[exit code 0 after 1 ms]"));
    assert_eq!(world.undo(), [".hidden", "big.txt"]);
    assert_eq!((world.disk("big.txt"), world.disk(".hidden")), (Some(big), None));
}

#[test]
fn a_change_of_the_same_size_in_the_same_millisecond_is_seen() {
    let world = World::new(Mode::Direct);
    assert!(world.shell("write a.txt one\\ntwO\\n").contains("[changed: a.txt]"));
    assert!(world.shell("write a.txt one\\ntw0\\n").contains("[changed: a.txt]"));
    assert_eq!(world.undo(), ["a.txt"]);
    assert_eq!(world.disk("a.txt").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn a_write_over_what_a_command_changed_is_refused_until_it_was_read() {
    let world = World::new(Mode::Direct);
    let read = |path| block_on(world.workspace.read(&world.reads, path, 1, 2000)).unwrap();
    read("a.txt");
    world.shell("write a.txt changed\\n");
    let refused = world.write("a.txt", "mine\n").unwrap_err();
    assert_eq!((refused.code, world.disk("a.txt").as_deref()), (Code::Stale, Some("changed\n")));
    world.write("a.txt", "mine\n").unwrap();
    // A file that the command did not change may be overwritten.
    read("b.txt");
    world.shell("write b.txt bee\\n");
    world.write("b.txt", "mine\n").unwrap();
}

#[test]
fn what_the_user_wrote_while_a_command_ran_is_theirs() {
    covers("command.review");
    let world = World::new(Mode::Direct);
    let workspace = Shared::clone(&world.workspace);
    let context = ToolContext {
        progress: Progress::new(move |_| {
            // Returns at once: the workspace is not locked while a command runs.
            workspace.user_edit("b.txt", Some("mine\n"), None).now_or_never().unwrap().unwrap();
        }),
        ..world.context()
    };
    let arguments = serde_json::Map::from_iter([("command".to_owned(), json!("echo now; write a.txt x"))]);
    let output = block_on(Shell.call(&arguments, &context)).unwrap();
    assert_eq!(output.data["changed"], json!(["a.txt"]));
    world.undo();
    assert_eq!(world.disk("b.txt").as_deref(), Some("mine\n"));
}

#[test]
fn staged_a_command_changes_a_copy_and_waits_for_the_user() {
    covers("command.review");
    let world = World::new(Mode::Staged);
    let text = world.shell(ALL);
    assert_eq!(text, "done\n[changed: a.txt, b.txt, src/new.txt]\n[exit code 0 after 1 ms]");
    assert_eq!(world.disk("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(world.disk("b.txt").as_deref(), Some("bee\n"));
    assert_eq!(world.disk("out/made.txt").as_deref(), Some("old\n"));
    let review = world.workspace.review();
    let files: Vec<_> = review.files.iter().map(|file| (file.path.as_str(), file.operation)).collect();
    assert_eq!(files, [("a.txt", "update"), ("b.txt", "delete"), ("src/new.txt", "create")]);
    block_on(world.workspace.accept_all(None)).unwrap();
    assert_eq!((world.disk("a.txt").as_deref(), world.disk("b.txt")), (Some("one\nTWO\n"), None));
}

#[test]
fn staged_an_edit_of_the_user_during_a_command_stays_beside_the_commands() {
    covers("command.review");
    for (command, expected) in [
        ("echo now; write a.txt ONE\\ntwo\\n", "ONE\nmine\n"),
        // On the same line, the user's text stands.
        ("echo now; write a.txt one\\nTWO\\n", "one\nmine\n"),
    ] {
        let world = World::new(Mode::Staged);
        let workspace = Shared::clone(&world.workspace);
        let context = ToolContext {
            progress: Progress::new(move |_| {
                workspace.user_edit("a.txt", Some("one\nmine\n"), None).now_or_never().unwrap().unwrap();
            }),
            ..world.context()
        };
        let arguments = serde_json::Map::from_iter([("command".to_owned(), json!(command))]);
        block_on(Shell.call(&arguments, &context)).unwrap();
        assert_eq!(world.visible("a.txt").as_deref(), Some(expected), "{command}");
        assert_eq!(world.disk("a.txt").as_deref(), Some("one\nmine\n"), "{command}");
    }
}

#[test]
fn staged_both_outputs_of_a_command_are_shown() {
    for mode in [Mode::Direct, Mode::Staged] {
        let text = World::new(mode).shell("echo plain; warn careful");
        assert_eq!(text, "plain\ncareful\n[exit code 0 after 1 ms]");
    }
}

#[test]
fn staged_a_command_sees_what_is_pending() {
    let world = World::new(Mode::Staged);
    world.write("new/d.txt", "pending\n").unwrap();
    world.call(json!({ "command": "write d.txt more\\n", "working_dir": "/workspace/new" })).unwrap();
    assert_eq!(world.visible("new/d.txt").as_deref(), Some("more\n"));
    assert_eq!(world.disk("new/d.txt"), None);
    world.shell("remove new/d.txt");
    assert_eq!(world.visible("new/d.txt"), None);
}

#[test]
fn staged_what_is_no_text_is_left_out() {
    let world = World::new(Mode::Staged);
    let text = world.shell("write b.txt \\0");
    assert!(text.contains("[cannot wait for review, so discarded: b.txt]"), "{text}");
    assert_eq!(world.disk("b.txt").as_deref(), Some("bee\n"));
}

#[test]
#[cfg_attr(not(feature = "canvas"), ignore = "needs the canvas")]
fn the_file_that_is_open_in_the_editor_is_not_the_commands() {
    let world = World::new(Mode::Staged);
    world.workspace.canvas().open(FilePath::clean("a.txt"));
    assert!(world.shell("write a.txt x").contains("so discarded: a.txt]"));
    assert_eq!(world.visible("a.txt").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn a_patch_sent_to_the_shell_is_an_edit() {
    let world = World::new(Mode::Staged);
    let patch = "*** Begin Patch\n*** Update File: a.txt\n one\n-two\n+2\n*** End Patch";
    let text = world.shell(&format!("apply_patch <<'EOF'\n{patch}\nEOF"));
    assert!(text.starts_with("Updated a.txt (1 place)"), "{text}");
    assert_eq!(world.visible("a.txt").as_deref(), Some("one\n2\n"));
    let text = world.shell(&format!("apply_patch <<'EOF'\n{patch}\nEOF\ncargo test"));
    assert!(text.starts_with("invalid_argument") && text.contains("Send the patch alone, to apply_patch."), "{text}");
}

#[test]
fn failures_are_results_and_lateness_is_an_error() {
    covers("environment.call_timeout");
    let world = World::new(Mode::Direct);
    assert_eq!(world.shell("echo no; fail 2"), "no\n[exit code 2 after 1 ms]");
    let late = world.call(json!({ "command": "echo part; late", "timeout_ms": 700_000 })).unwrap_err();
    assert_eq!(late.code, Code::Timeout);
    // The maximum of the session.
    assert_eq!(late.message, format!("part\n{}", crate::environment::command::timeout_text(600_000, "timeout_ms")));
    assert_eq!(late.data.unwrap()["timed_out"], true);
}

#[test]
fn where_there_is_no_shell_the_tool_says_so() {
    let files: Shared<dyn ExecutionEnvironment> = Shared::new(MemFs::from_fixture(FILES));
    let workspace = Workspace::new(files, Mode::Direct, Shared::new(TickingClock::default()));
    let world = World { workspace: Shared::new(workspace), ..World::new(Mode::Direct) };
    assert_eq!(world.shell("ls"), "unsupported: a shell (the files are in memory only) is not available here");
}
