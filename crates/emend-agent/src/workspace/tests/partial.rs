//! Decisions on parts of the pending edits: split hunks, single lines, chosen runs; and their previews.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::covers;

/// Decides on lines of the first hunk.
fn decide_lines(world: &World, lines: &[usize], decision: HunkDecision) -> Result<Review, Code> {
    let lines = [HunkLines { hunk_id: world.ids()[0].clone(), lines: lines.to_vec() }];
    block_on(world.workspace.decide_lines(&lines, decision)).map_err(|error| error.code())
}

fn decide(world: &World, selection: Selection, decision: HunkDecision) -> Result<Review, Code> {
    block_on(world.workspace.decide(selection, decision)).map_err(|error| error.code())
}

const REJECT: HunkDecision = HunkDecision::Reject(DependentsPolicy::Refuse);

fn four() -> World {
    let world = World::new("//- a.txt\na\nb\nc\n", Mode::Staged);
    world.agent("a.txt", Some("A\nB\nc\n")).unwrap();
    world
}

#[test]
fn a_split_hunk_is_decided_in_parts_and_joined_by_an_undo() {
    covers("review.split");
    let world = four();
    let id = world.ids().remove(0);
    let revision = world.workspace.revision();
    let review = block_on(world.workspace.split(&id, 2)).unwrap();
    assert_eq!(review.files[0].hunks.len(), 2);
    assert_eq!(world.workspace.changes_since(revision).len(), 1, "the editor hears of it");
    assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some("A\nB\nc\n"), some("a\nb\nc\n")));
    world.accept(0);
    assert_eq!(world.disk("a.txt"), some("c\n"), "the removed lines are a part of their own");
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(world.ids().len(), 2);
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((world.ids().len(), world.disk("a.txt")), (1, some("a\nb\nc\n")));
    block_on(world.workspace.redo()).unwrap();
    assert_eq!(world.ids().len(), 2);
    block_on(world.workspace.accept(&[id])).unwrap();
    assert_eq!(world.disk("a.txt"), some("A\nB\nc\n"), "the old id means both parts");
}

#[test]
fn a_review_since_a_revision_lists_the_files_that_changed_alone() {
    let world = World::new("//- a.txt\na\n//- b.txt\nb\n", Mode::Staged);
    world.agent("a.txt", Some("A\n")).unwrap();
    let first = world.workspace.revision();
    world.agent("b.txt", Some("B\n")).unwrap();
    let since = |revision| {
        let files = world.workspace.review_since(revision).files.into_iter();
        files.map(|file| (file.path.as_str().to_owned(), file.hunks.len())).collect::<Vec<_>>()
    };
    assert_eq!(since(0), [("a.txt".to_owned(), 1), ("b.txt".to_owned(), 1)]);
    assert_eq!(since(first), [("b.txt".to_owned(), 1)]);
    let second = world.workspace.revision();
    assert_eq!(since(second), []);
    world.accept(0);
    assert_eq!(since(second), [("a.txt".to_owned(), 0)]);
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(world.workspace.review_since(0), world.workspace.review());
}

#[test]
fn a_hunk_is_not_split_where_a_part_would_be_empty() {
    for (line, expected) in
        [(0, Err(Code::InvalidArgument)), (1, Ok(2)), (4, Err(Code::InvalidArgument)), (9, Err(Code::InvalidArgument))]
    {
        let world = four();
        let split = block_on(world.workspace.split(&world.ids()[0], line));
        let n_hunks = split.map(|review| review.files[0].hunks.len()).map_err(|error| error.code());
        assert_eq!(n_hunks, expected, "{line}");
        assert_eq!(block_on(world.workspace.undo()).is_ok(), expected.is_ok(), "{line}");
    }
    let world = four();
    let unknown = |id: &str| block_on(world.workspace.split(id, 1)).map_err(|error| error.code()).unwrap_err();
    assert_eq!(["f1:h9", "f9:h1", "x"].map(unknown), [Code::NotFound; 3]);
}

/// Decides on lines of the hunk `-a -b +A +B`; returns the visible text and the disk.
#[track_caller]
fn check_lines(picked: &[usize], decision: HunkDecision, visible: &str, disk: &str) {
    let world = four();
    let before = world.ids();
    decide_lines(&world, picked, decision).unwrap();
    assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some(visible), some(disk)), "{picked:?}");
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some("A\nB\nc\n"), some("a\nb\nc\n")), "{picked:?}");
    assert_eq!(world.ids().len(), before.len(), "one undo joins the hunk");
    assert!(block_on(world.workspace.undo()).is_err(), "it was one step");
    block_on(world.workspace.redo()).unwrap();
    assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some(visible), some(disk)), "{picked:?}");
}

#[test]
fn some_lines_of_a_hunk_are_accepted_or_rejected_in_one_step() {
    covers("review.lines");
    check_lines(&[0, 2], HunkDecision::Accept, "A\nB\nc\n", "b\nA\nc\n");
    check_lines(&[3], HunkDecision::Accept, "A\nB\nc\n", "a\nb\nB\nc\n");
    check_lines(&[0, 1, 2, 3], HunkDecision::Accept, "A\nB\nc\n", "A\nB\nc\n");
    check_lines(&[1, 3], REJECT, "b\nA\nc\n", "a\nb\nc\n");
    check_lines(&[1, 3, 4], REJECT, "b\nA\nc\n", "a\nb\nc\n");
    let world = four();
    for picked in [&[][..], &[4], &[7], &[0, 7]] {
        let refused = decide_lines(&world, picked, REJECT);
        assert_eq!(refused, Err(Code::InvalidArgument), "{picked:?}");
    }
    assert_eq!(world.visible("a.txt"), some("A\nB\nc\n"));
}

#[test]
fn a_review_of_a_run_leaves_the_changes_of_other_runs() {
    covers("review.run");
    let world = World::new(&format!("//- a.txt\n{TEN}//- b.txt\nbee\n"), Mode::Staged);
    world.agent_all(&[("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    let last = world.workspace.begin_run();
    world.agent("a.txt", Some("zero\nONE\n2\n3\n4\n5\n6\n7\n8\nnine\n")).unwrap();
    assert_eq!(world.ids().len(), 3, "touching changes of both runs are one hunk");
    let review = world.workspace.review_of(Some(&[last]));
    assert_eq!(review.files.iter().map(|file| file.hunks.len()).collect::<Vec<_>>(), [2]);
    assert_eq!(world.workspace.review_of(Some(&[])).files, []);
    let hunk = review.files[0].hunks[0].id.clone();
    block_on(world.workspace.accept(&[hunk])).unwrap();
    assert_eq!(world.disk("a.txt"), some("0\nONE\n2\n3\n4\n5\n6\n7\n8\n9\n"));
    decide(&world, Selection::Runs(vec![last]), REJECT).unwrap();
    assert_eq!(world.visible("a.txt"), some("zero\nONE\n2\n3\n4\n5\n6\n7\n8\n9\n"), "what was accepted stays");
    decide(&world, Selection::Runs(vec![1]), HunkDecision::Accept).unwrap();
    assert_eq!(world.disk("a.txt"), some("zero\nONE\n2\n3\n4\n5\n6\n7\n8\n9\n"));
    assert_eq!(world.disk("b.txt"), some("BEE\n"));
}

/// Returns for each file: hunks, contested, dependents from the user, lines of the user that go.
fn previewed(world: &World, selection: Selection, decision: HunkDecision) -> Vec<(&'static str, [usize; 4])> {
    let before = (world.visible("a.txt"), world.disk("a.txt"), world.workspace.review());
    let touched = block_on(world.workspace.preview(selection, decision)).unwrap();
    assert_eq!((world.visible("a.txt"), world.disk("a.txt"), world.workspace.review()), before, "a preview");
    let counts = touched.files.into_iter().map(|file| {
        let name = if file.path.as_str() == "a.txt" { "a" } else { "b" };
        (name, [file.hunks, file.contested, file.dependents_from_user, file.removes_user_lines])
    });
    counts.collect()
}

#[test]
fn a_preview_counts_the_users_lines_at_stake() {
    covers("review.preview");
    let world = World::new("//- a.txt\none\ntwo\n//- b.txt\nbee\n1\n2\n3\n4\n5\n6\n7\nzed\n", Mode::Staged);
    world.user("b.txt", "bee\n1\n2\n3\n4\n5\n6\n7\nmine\n");
    world.agent_all(&[("a.txt", Some("one\nA\nB\ntwo\n")), ("b.txt", Some("BEE\n1\n2\n3\n4\n5\n6\n7\n"))]).unwrap();
    world.user("a.txt", "one\nA\nmine\nB\ntwo\n");
    let all = || Selection::All(None);
    let with = HunkDecision::Reject(DependentsPolicy::WithDependents);
    let only = HunkDecision::Reject(DependentsPolicy::OnlyThese);
    assert_eq!(previewed(&world, all(), HunkDecision::Accept), [("a", [1, 0, 1, 0]), ("b", [2, 0, 0, 1])]);
    assert_eq!(previewed(&world, all(), only), [("a", [1, 0, 1, 0]), ("b", [2, 0, 0, 0])]);
    assert_eq!(previewed(&world, all(), with), [("a", [1, 0, 1, 1]), ("b", [2, 0, 0, 0])]);
    assert_eq!(previewed(&world, all(), REJECT), [("a", [1, 0, 1, 0]), ("b", [2, 0, 0, 0])]);
    let a = FilePath::clean("a.txt").unwrap();
    assert_eq!(previewed(&world, Selection::All(Some(a)), with), [("a", [1, 0, 1, 1])]);
    assert_eq!(previewed(&world, Selection::Runs(vec![9]), with), []);
    world.files.insert("b.txt", "wasp\n1\n2\n3\n4\n5\n6\n7\nmine\n").unwrap();
    world.visible("b.txt");
    assert_eq!(previewed(&world, all(), HunkDecision::Accept)[1], ("b", [2, 1, 0, 1]));
    assert!(block_on(world.workspace.preview(Selection::Hunks(vec!["f9:h1".to_owned()]), only)).is_err());
}

/// A file in which the user has changed a line of the first hunk on the disk, and added one among those of the second. The third
/// has a later change of the agent inside. `b.txt` has a hunk that nothing stands against.
fn at_stake() -> World {
    let rows = |first: &str, fourth: &str, seventh: &str| {
        format!("{first}\n1\n2\n3\n4\n5\n6\n7\n8\n{fourth}\n1\n2\n3\n4\n5\n6\n7\n8\n{seventh}\n")
    };
    let world = World::new(&format!("//- a.txt\n{}//- b.txt\nbee\n", rows("a", "d", "g")), Mode::Staged);
    world.agent_all(&[("a.txt", Some(&rows("A", "D\nDD", "G\nGG"))), ("b.txt", Some("BEE\n"))]).unwrap();
    world.workspace.begin_run();
    world.agent("a.txt", Some(&rows("A", "D\nDD", "G\nnew\nGG"))).unwrap();
    world.user("a.txt", &rows("A", "D\nmine\nDD", "G\nnew\nGG"));
    world.files.insert("a.txt", rows("other", "d", "g")).unwrap();
    world
}

/// Selects hunks of a world.
type Select<'a> = &'a dyn Fn(&World) -> Selection;

#[test]
fn a_preview_says_whether_the_decision_would_be_refused() {
    covers("review.preview");
    let hunk = |n: usize| move |world: &World| Selection::Hunks(vec![world.ids()[n].clone()]);
    let all = |_: &World| Selection::All(None);
    let first_run = |_: &World| Selection::Runs(vec![1]);
    let selections: [(&str, Select<'_>); 6] = [
        ("contested", &hunk(0)),
        ("user inside", &hunk(1)),
        ("agent inside", &hunk(2)),
        ("free", &hunk(3)),
        ("all", &all),
        ("first run", &first_run),
    ];
    let reject = HunkDecision::Reject;
    let decisions = [
        ("accept", HunkDecision::Accept),
        ("over", HunkDecision::AcceptOver),
        ("refuse", REJECT),
        ("only", reject(DependentsPolicy::OnlyThese)),
        ("with", reject(DependentsPolicy::WithDependents)),
    ];
    let mut refusals = Vec::new();
    for (what, selection) in selections {
        for (how, decision) in decisions {
            let world = at_stake();
            world.visible("a.txt");
            let touched = block_on(world.workspace.preview(selection(&world), decision)).unwrap();
            let is_refused = touched.files.iter().any(|file| file.refused);
            let decided = block_on(world.workspace.decide(selection(&world), decision));
            assert_eq!(is_refused, decided.is_err(), "{how} {what}: {decided:?}");
            if is_refused {
                refusals.push(format!("{how} {what}"));
                assert!(touched.files.iter().all(|file| !file.refused || file.removes_user_lines == 0), "{how} {what}");
            }
        }
    }
    assert_eq!(refusals, ["accept contested", "refuse user inside", "refuse all", "refuse first run"]);
}
