//! Undo and redo of runs beside later edits, files that cannot be read, and what the model and the review are told.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

fn path(name: &str) -> FilePath {
    FilePath::clean(name).unwrap()
}

/// A clock whose time stands still, as for edits and decisions within one millisecond.
struct Frozen;

impl emend_llm::Clock for Frozen {
    fn now_ms(&self) -> u64 {
        7
    }

    fn sleep(&self, _ms: u64) -> emend_llm::BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

fn frozen(fixture: &str) -> World {
    let mut world = World::new(fixture, Mode::Direct);
    let files = Shared::clone(&world.files) as Shared<dyn ExecutionEnvironment>;
    world.workspace = Shared::new(Workspace::new(files, Mode::Direct, Shared::new(Frozen)));
    world.workspace.begin_run();
    world
}

fn undo(world: &World, runs: &[u64]) -> UndoneRun {
    block_on(world.workspace.undo_runs(runs)).unwrap()
}

/// Redoes the last undo of runs. Returns the number of restored files.
fn redo(world: &World) -> Result<usize, Code> {
    let redone = block_on(world.workspace.redo_runs());
    redone.map(|redone| redone.restored.len()).map_err(|error| error.code())
}

#[test]
fn an_undo_is_redone_unless_the_agent_has_edited_since() {
    for world in [World::new("//- a.txt\none\ntwo\n", Mode::Direct), frozen("//- a.txt\none\ntwo\n")] {
        world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
        undo(&world, &[1]);
        assert_eq!(world.workspace.runs_to_redo().into_iter().collect::<Vec<u64>>(), [1]);
        assert_eq!((redo(&world), world.disk("a.txt")), (Ok(1), some("ONE\ntwo\n")));
        assert_eq!((redo(&world), world.workspace.runs_to_redo().len()), (Err(Code::NotFound), 0));
        undo(&world, &[1]);
        // A change of another program elsewhere in the file does not end the redo.
        world.files.insert("a.txt", "one\ntwo\nthree\n").unwrap();
        assert_eq!(world.visible("a.txt"), some("one\ntwo\nthree\n"));
        assert_eq!((redo(&world), world.disk("a.txt")), (Ok(1), some("ONE\ntwo\nthree\n")));
        undo(&world, &[1]);
        world.workspace.begin_run();
        world.agent("a.txt", Some("one\n2\nthree\n")).unwrap();
        assert_eq!((redo(&world), world.workspace.runs_to_redo().len()), (Err(Code::NotFound), 0));
        assert_eq!(world.disk("a.txt"), some("one\n2\nthree\n"));
    }
}

#[test]
fn an_undo_that_was_undone_as_a_decision_is_not_redone_twice() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Direct);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    undo(&world, &[1]);
    for _ in 0..2 {
        block_on(world.workspace.undo()).unwrap();
        assert_eq!((world.disk("a.txt"), redo(&world)), (some("ONE\n"), Err(Code::NotFound)));
        block_on(world.workspace.redo()).unwrap();
        assert_eq!(world.disk("a.txt"), some("one\n"));
    }
    assert_eq!((redo(&world), world.disk("b.txt")), (Ok(2), some("BEE\n")));
}

#[test]
fn a_redo_after_an_undo_was_taken_back_reverts_no_earlier_edit_of_the_user() {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    world.user("a.txt", "mine\ntwo\n");
    world.agent("a.txt", Some("mine\nTWO\n")).unwrap();
    undo(&world, &[1]);
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((redo(&world), world.disk("a.txt")), (Err(Code::NotFound), some("mine\nTWO\n")));
}

#[test]
fn a_redo_reaches_no_undo_before_a_later_edit() {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    undo(&world, &[1]);
    world.workspace.begin_run();
    world.agent("a.txt", Some("one\nTWO\n")).unwrap();
    undo(&world, &[2]);
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((redo(&world), world.disk("a.txt")), (Err(Code::NotFound), some("one\nTWO\n")));
}

/// Returns a world in which the agent has edited one file, its edit was rolled back, and the user may have edited a file since.
fn rolled_back(mode: RollbackMode, edited: Option<&str>) -> World {
    let world = World::new("//- a.txt\none\ntwo\n//- b.txt\nbee\n", Mode::Direct);
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    block_on(world.workspace.rollback(&RollbackRequest { mode, runs: vec![1], ..RollbackRequest::default() })).unwrap();
    if let Some(edited) = edited {
        let text = world.visible(edited).unwrap();
        world.user(edited, &format!("{text}mine\n"));
    }
    world
}

#[test]
fn steps_that_were_undone_before_a_rollback_are_redone_after_it() {
    covers("review.undo");
    for mode in [RollbackMode::HardAll, RollbackMode::ScopedSelected] {
        for edited in ["a.txt", "b.txt"] {
            let world = rolled_back(mode, Some(edited));
            let texts = || (world.disk("a.txt"), world.disk("b.txt"));
            let last = texts();
            for _ in 0..3 {
                block_on(world.workspace.undo_whole()).unwrap();
                assert_eq!(texts(), (some("one\ntwo\n"), some("bee\n")), "{mode:?} {edited}");
                block_on(world.workspace.undo_whole()).unwrap();
                assert_eq!(texts(), (some("ONE\ntwo\n"), some("bee\n")), "{mode:?} {edited}");
                block_on(world.workspace.redo_whole()).unwrap();
                assert_eq!(texts(), (some("one\ntwo\n"), some("bee\n")), "{mode:?} {edited}");
                block_on(world.workspace.redo_whole()).unwrap();
                assert_eq!(texts(), last, "{mode:?} {edited}");
            }
        }
    }
}

#[test]
fn an_undone_rollback_is_not_redone_behind_a_later_step() {
    covers("review.undo");
    for mode in [RollbackMode::HardAll, RollbackMode::ScopedSelected] {
        let world = rolled_back(mode, None);
        block_on(world.workspace.undo_whole()).unwrap();
        // After it, as many steps are done and undone as after the undo of the rollback.
        world.user("b.txt", "bee\nlater\n");
        assert!(block_on(world.workspace.redo_whole()).is_err(), "{mode:?}");
        block_on(world.workspace.undo_whole()).unwrap();
        block_on(world.workspace.redo_whole()).unwrap();
        let texts = (world.disk("a.txt"), world.disk("b.txt"));
        assert_eq!(texts, (some("ONE\ntwo\n"), some("bee\nlater\n")), "{mode:?}");
    }
}

#[test]
fn without_a_step_of_the_user_an_undo_names_itself_as_impossible() {
    let world = World::new("//- a.txt\none\n", Mode::Direct);
    let check = || {
        let error = block_on(world.workspace.undo_whole()).unwrap_err();
        assert!(matches!(error, ReviewError::Nothing { action: "undo" }), "{error}");
    };
    check();
    world.agent("a.txt", Some("ONE\n")).unwrap();
    check();
}

#[test]
fn a_created_file_with_a_directory_in_its_place_is_kept_until_the_directory_goes() {
    let world = World::new("//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("one\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    world.files.insert("a.txt/inner.txt", "inner\n").unwrap();
    let undone = undo(&world, &[1]);
    assert_eq!((undone.restored, undone.kept), (vec![path("b.txt")], vec![path("a.txt")]));
    world.files.raw_remove(&path("a.txt"), true).unwrap();
    let undone = undo(&world, &[1]);
    assert_eq!((undone.restored, undone.kept), (vec![path("a.txt")], vec![]));
}

#[test]
fn a_file_that_became_binary_is_kept_and_the_others_are_undone() {
    let texts = "//- a.txt\none\n//- b.txt\nbee\n//- c.txt\nsea\n";
    let world = World::new(texts, Mode::Direct);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    world.workspace.begin_run();
    world.agent("c.txt", Some("SEA\n")).unwrap();
    let binary = b"\0\xff\xfe";
    world.files.insert("a.txt", binary).unwrap();
    world.files.insert("c.txt", binary).unwrap();
    let request = |mode| RollbackRequest { mode, runs: vec![1], preview: true, ..RollbackRequest::default() };
    for mode in [RollbackMode::HardAll, RollbackMode::ScopedSelected] {
        let files = block_on(world.workspace.rollback(&request(mode))).unwrap().files;
        let effects: Vec<_> = files.iter().map(|file| (file.file_path.as_str(), file.refused, file.reverted)).collect();
        assert_eq!(effects, [("a.txt", true, 0), ("b.txt", false, 1)], "{mode:?}");
    }
    let undone = undo(&world, &[1]);
    // The file of the other run is not even read.
    assert_eq!((undone.restored, undone.kept), (vec![path("b.txt")], vec![path("a.txt")]));
    assert_eq!(world.disk("b.txt"), some("bee\n"));
    assert_eq!(world.files.get("a.txt").as_deref(), Some(&binary[..]));
}

/// A page has no commands, which put a file in the place of a directory.
#[cfg(not(target_family = "wasm"))]
mod host_tests {
    use super::*;

    #[test]
    fn a_text_comes_back_with_its_directory_if_the_file_in_its_place_is_of_the_same_run() {
        let world = World::new("//- d/x.txt\none\n", Mode::Direct);
        world.agent("d/x.txt", None).unwrap();
        world.files.raw_remove(&path("d"), true).unwrap();
        world.agent("d", Some("mine\n")).unwrap();
        let undone = block_on(world.workspace.preview_undo_runs(&[1])).unwrap();
        assert_eq!((undone.restored, undone.kept), (vec![path("d"), path("d/x.txt")], vec![]));
    }

    #[test]
    fn a_text_below_a_file_that_replaced_its_directory_stays_gone() {
        for mode in [None, Some(RollbackMode::HardAll), Some(RollbackMode::ScopedSelected)] {
            let world = World::new("//- d/x.txt\none\n//- b.txt\nbee\n", Mode::Direct);
            world.agent_all(&[("d/x.txt", None), ("b.txt", Some("BEE\n"))]).unwrap();
            world.files.raw_remove(&path("d"), true).unwrap();
            world.files.insert("d", "mine\n").unwrap();
            assert_eq!(block_on(world.workspace.file_above(&path("d/x.txt"))), Some(path("d")));
            assert_eq!(block_on(world.workspace.file_above(&path("b.txt"))), None);
            if let Some(mode) = mode {
                let request = RollbackRequest { mode, runs: vec![1], ..RollbackRequest::default() };
                let files = block_on(world.workspace.rollback(&request)).unwrap().files;
                let effects: Vec<_> =
                    files.iter().map(|file| (file.file_path.as_str(), file.refused, file.reverted)).collect();
                assert_eq!(effects, [("b.txt", false, 1), ("d/x.txt", true, 0)], "{mode:?}");
            } else {
                let undone = undo(&world, &[1]);
                assert_eq!((undone.restored, undone.kept), (vec![path("b.txt")], vec![path("d/x.txt")]));
            }
            assert_eq!((world.disk("d"), world.disk("b.txt")), (some("mine\n"), some("bee\n")), "{mode:?}");
        }
    }
}

/// Two runs that changed one file.
fn two_runs() -> World {
    let world = World::new(&format!("//- a.txt\n{TEN}"), Mode::Staged);
    world.agent("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")).unwrap();
    world.workspace.begin_run();
    world.agent("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\nnine\nten\n")).unwrap();
    world
}

#[test]
fn a_checkpoint_and_a_scoped_rollback_are_of_their_run_alone() {
    let world = two_runs();
    let n_hunks = |run| world.workspace.checkpoint(run).unwrap().files[0].hunks.len();
    assert_eq!((n_hunks(1), n_hunks(2)), (1, 1));
    let request = RollbackRequest { runs: vec![2], ..RollbackRequest::default() };
    let files = block_on(world.workspace.rollback(&request)).unwrap().files;
    assert_eq!((files[0].reverted, files[0].kept), (1, 0));
    assert_eq!(world.visible("a.txt"), some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"));
    // A hunk of another run is unknown to a rollback, and so are files that are not wanted.
    let id = world.ids().remove(0);
    let request = RollbackRequest { runs: vec![2], hunk_ids: vec![id], ..RollbackRequest::default() };
    assert_eq!(block_on(world.workspace.rollback(&request)).unwrap_err().code(), Code::NotFound);
    let none = Some(vec![path("b.txt")]);
    let request =
        RollbackRequest { runs: vec![1], files: none, mode: RollbackMode::HardAll, ..RollbackRequest::default() };
    assert_eq!(block_on(world.workspace.rollback(&request)).unwrap().files, []);
    assert_eq!(world.visible("a.txt"), some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"));
}

#[test]
fn a_review_counts_the_lines_of_each_file() {
    let world = two_runs();
    let review = world.workspace.review();
    assert_eq!((review.files[0].added, review.files[0].removed), (3, 2));
    let review = world.workspace.review_of(Some(&[1]));
    assert_eq!((review.files[0].added, review.files[0].removed), (1, 1));
}

#[test]
fn the_model_is_told_what_was_reopened_and_the_first_rejected_lines() {
    let lines = |name: &str| (0..30).map(|line| format!("{name} {line}\n")).collect::<String>();
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some(&format!("one\n{}", lines("a")))), ("b.txt", Some("BEE\n"))]).unwrap();
    let told = |since| world.workspace.decisions_since(since);
    let start = world.workspace.revision();
    block_on(world.workspace.reject_all(Some(&path("a.txt")))).unwrap();
    let text = told(start).unwrap();
    let quoted: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(text.contains("a.txt: rejected 1 edit\n") && !text.contains("b.txt"), "{text}");
    assert_eq!((quoted[0], quoted.last()), ("  +a 0", Some(&"  …")));
    assert_eq!(quoted.len(), 20 + 1, "{text}");
    let rejected = world.workspace.revision();
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(told(start), None);
    assert!(told(rejected).unwrap().ends_with("a.txt: reopened 1 edit\n"), "{:?}", told(rejected));
    assert_eq!(told(world.workspace.revision()), None);
}

#[test]
fn an_undo_of_a_pending_edit_that_the_user_contests_is_redone() {
    for is_accepted in [false, true] {
        let text = |two: &str, eight: &str| format!("1\n{two}\n3\n4\n5\n6\n7\n{eight}\n9\n");
        let world = World::new(&format!("//- a.txt\n{}", text("2", "8")), Mode::Staged);
        world.agent("a.txt", Some(&text("two", "eight"))).unwrap();
        if is_accepted {
            world.accept(0);
        }
        let two = if is_accepted { "two" } else { "2" };
        world.files.insert("a.txt", text(two, "8 mine")).unwrap();
        let before = (world.visible("a.txt"), world.disk("a.txt"));
        undo(&world, &[1]);
        assert_eq!(world.disk("a.txt"), some(&text("2", "8 mine")));
        assert_eq!(redo(&world), Ok(1), "accepted: {is_accepted}");
        assert_eq!((world.visible("a.txt"), world.disk("a.txt")), before);
        // The same line has another text since the undo.
        undo(&world, &[1]);
        world.files.insert("a.txt", text("2", "8 again")).unwrap();
        assert_eq!(redo(&world), Err(Code::Conflict), "accepted: {is_accepted}");
        assert_eq!(world.disk("a.txt"), some(&text("2", "8 again")));
    }
}
