//! Files that a decision does not read, saves without an edit, and revisions of changes on the disk.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use emend_llm::runtime::Mutex;

use super::*;
use crate::environment::layers::{LogEvent, Logging};

#[test]
fn a_decision_passes_files_that_it_does_not_concern_and_that_became_binary() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n//- c.txt\nsea\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", Some("BEE\n")), ("c.txt", Some("SEA\n"))]).unwrap();
    let (a, c) = (FilePath::clean("a.txt").unwrap(), FilePath::clean("c.txt").unwrap());
    block_on(world.workspace.accept_all(Some(&c))).unwrap();
    world.files.insert("c.txt", b"\0\xff").unwrap();
    // No edit of this file waits for a decision.
    let review = block_on(world.workspace.accept_all(Some(&a))).unwrap();
    assert_eq!((review.files.len(), world.disk("a.txt")), (1, some("ONE\n")));
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    world.files.insert("b.txt", b"\0\xff").unwrap();
    block_on(world.workspace.accept(&world.ids()[..1])).unwrap();
    assert_eq!(world.disk("a.txt"), some("ONE\ntwo\n"));
    world.agent("a.txt", Some("ONE\ntwo\nthree\n")).unwrap();
    block_on(world.workspace.accept_all(Some(&a))).unwrap();
    assert_eq!(world.disk("a.txt"), some("ONE\ntwo\nthree\n"));
    assert!(block_on(world.workspace.accept_all(None)).is_err(), "it waits for a decision and cannot be read");
}

#[test]
fn accepting_everything_passes_a_decided_file_that_became_binary() {
    let world = World::new("//- a.txt\none\n//- c.txt\nsea\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("c.txt", Some("SEA\n"))]).unwrap();
    block_on(world.workspace.accept_all(Some(&FilePath::clean("c.txt").unwrap()))).unwrap();
    world.files.insert("c.txt", b"\0\xff").unwrap();
    block_on(world.workspace.accept_all(None)).unwrap();
    assert_eq!(world.disk("a.txt"), some("ONE\n"));
}

#[test]
fn an_edit_to_the_same_text_saves_a_file_that_waits_and_nothing_else() {
    let world = World::new("//- a.txt\none\n", Mode::Staged);
    let deferring = world.workspace.deferring_saves();
    let edit = |workspace: &Workspace| block_on(workspace.user_edit("a.txt", Some("mine\n"), None)).unwrap();
    edit(&deferring);
    assert_eq!((world.disk("a.txt"), world.workspace.unsaved().len()), (some("one\n"), 1));
    let revision = world.workspace.revision();
    edit(&deferring);
    assert_eq!((world.disk("a.txt"), world.workspace.revision()), (some("one\n"), revision));
    edit(&world.workspace);
    assert_eq!((world.disk("a.txt"), world.workspace.unsaved().len()), (some("mine\n"), 0));
    let revision = world.workspace.revision();
    edit(&world.workspace);
    assert_eq!(world.workspace.revision(), revision);
}

#[test]
fn a_change_on_the_disk_is_a_new_revision_of_the_file() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    let revision = world.workspace.revision();
    world.files.insert("a.txt", "one\ntwo\n").unwrap();
    assert_eq!(world.workspace.changes_since(revision), []);
    assert_eq!(world.visible("a.txt"), some("ONE\ntwo\n"));
    let changed = world.workspace.changes_since(revision);
    assert_eq!(changed.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    assert!(world.workspace.revision() > revision);
}

#[test]
fn a_snapshot_since_a_revision_has_the_later_files_alone() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    let files = |since: u64| -> Vec<String> {
        let snapshot = serde_json::to_value(world.workspace.snapshot_since(since)).unwrap();
        snapshot["files"].as_object().unwrap().keys().cloned().collect()
    };
    world.agent("a.txt", Some("ONE\n")).unwrap();
    let revision = world.workspace.revision();
    world.agent("b.txt", Some("BEE\n")).unwrap();
    assert_eq!(files(0), ["a.txt", "b.txt"]);
    assert_eq!(files(revision), ["b.txt"]);
    assert_eq!(files(world.workspace.revision()), Vec::<String>::new());
}

#[test]
fn a_reserved_number_of_a_run_is_not_used() {
    let world = World::new("//- a.txt\none\n", Mode::Staged);
    world.workspace.reserve_runs(7);
    assert_eq!((world.workspace.last_run(), world.workspace.begin_run()), (7, 8));
    world.workspace.reserve_runs(3);
    assert_eq!(world.workspace.begin_run(), 9);
}

#[test]
fn a_root_is_made_ready_once() {
    let files = Shared::new(MemFs::from_fixture("//- a.txt\none\n"));
    let calls: Shared<Mutex<usize>> = Shared::default();
    let count = Shared::clone(&calls);
    let log = move |event: &LogEvent<'_>| {
        *count.lock() += usize::from(matches!(event, LogEvent::Finished { operation: "initialize", .. }));
    };
    let (inner, clock) =
        (Shared::clone(&files) as Shared<dyn ExecutionEnvironment>, Shared::new(TickingClock::default()));
    let world = World::over(files, Shared::new(Logging::new(inner, clock, Shared::new(log))), Mode::Direct);
    assert_eq!(*calls.lock(), 0);
    for _ in 0..2 {
        block_on(world.workspace.initialize()).unwrap();
        assert_eq!(*calls.lock(), 1);
    }
}

#[test]
fn a_change_that_a_save_merges_has_the_time_of_the_save() {
    let world = World::new(&format!("//- a.txt\n{TEN}"), Mode::Staged);
    let typed = TEN.replace('0', "zero");
    block_on(world.workspace.deferring_saves().user_edit("a.txt", Some(&typed), None)).unwrap();
    world.files.insert("a.txt", TEN.replace('9', "nine")).unwrap();
    let a = FilePath::clean("a.txt").unwrap();
    assert!(!world.workspace.has_external_change(&a, 1));
    block_on(world.workspace.save(None, true)).unwrap();
    assert!(world.workspace.has_external_change(&a, 1));
    assert_eq!(world.disk("a.txt"), some(&typed.replace('9', "nine")));
}

#[test]
fn a_decision_on_lines_is_previewed() {
    let world = World::new("//- a.txt\na\nb\nc\n", Mode::Staged);
    world.agent("a.txt", Some("A\nB\nc\n")).unwrap();
    let lines = [HunkLines { hunk_id: world.ids()[0].clone(), lines: vec![0] }];
    let touched = block_on(world.workspace.preview_lines(&lines, HunkDecision::Accept)).unwrap();
    assert_eq!(touched.files.iter().map(|file| (file.path.as_str(), file.hunks)).collect::<Vec<_>>(), [("a.txt", 1)]);
    assert_eq!((world.ids().len(), world.disk("a.txt")), (1, some("a\nb\nc\n")));
}
