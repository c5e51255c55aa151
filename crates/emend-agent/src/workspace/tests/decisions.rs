//! Decisions of the user: rejecting everything, the words that a hunk marks, and undo and redo.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::covers;

#[test]
fn rejecting_everything_keeps_the_lines_that_the_user_typed_inside() {
    covers("review.user_lines");
    let world = World::new("//- a.txt\none\ntwo\n//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("one\nA\nB\ntwo\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    world.user("a.txt", "one\nA\nmine\nB\ntwo\n");
    let a = FilePath::clean("a.txt").unwrap();
    let review = block_on(world.workspace.reject_all(Some(&a))).unwrap();
    assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some("one\nmine\ntwo\n"), some("one\nmine\ntwo\n")));
    assert_eq!(review.files.len(), 1, "the other file waits for its own decision");
    assert_eq!(world.visible("b.txt"), some("BEE\n"));
    let review = block_on(world.workspace.reject_all(None)).unwrap();
    assert_eq!((review.files.len(), world.visible("b.txt")), (0, some("bee\n")));
    assert_eq!(world.visible("a.txt"), some("one\nmine\ntwo\n"));
}

/// Replaces the only line of a file; returns the marked words of the old line and of the new one.
fn marked_words(old: &str, new: &str) -> [Vec<String>; 2] {
    let world = World::new(&format!("//- a.txt\n{old}\n"), Mode::Staged);
    world.agent("a.txt", Some(&format!("{new}\n"))).unwrap();
    let hunk = world.workspace.review().files.remove(0).hunks.remove(0);
    let words = |index: usize| {
        let line = &hunk.lines[index];
        let units: Vec<u16> = line.text.encode_utf16().collect();
        line.spans.iter().map(|&(from, to)| String::from_utf16(&units[from..to]).unwrap()).collect()
    };
    [words(0), words(1)]
}

#[test]
fn changed_words_are_marked_in_utf16_code_units() {
    covers("review.words");
    assert_eq!(marked_words("say one", "say two"), [["one"], ["two"]]);
    assert_eq!(marked_words("é one", "é two"), [["one"], ["two"]]);
    assert_eq!(marked_words("😀😀 one 😀", "😀😀 two 😀"), [["one"], ["two"]]);
}

/// Undoes a decision on `a.txt`, lets the user act, and returns the outcome of a redo with the disk text of `a.txt`.
fn redo_after(action: impl Fn(&World)) -> (Result<(), Code>, Option<String>) {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    world.accept(0);
    block_on(world.workspace.undo()).unwrap();
    action(&world);
    let outcome = block_on(world.workspace.redo());
    (outcome.map(|_| ()).map_err(|error| error.code()), world.disk("a.txt"))
}

#[test]
fn an_edit_or_a_decision_after_an_undo_ends_the_redo() {
    covers("review.undo");
    assert_eq!(redo_after(|_| {}), (Ok(()), some("ONE\n")));
    let ended = (Err(Code::NotFound), some("one\n"));
    assert_eq!(redo_after(|world| world.user("b.txt", "BEE\nmine\n")), ended, "an edit of another file");
    assert_eq!(redo_after(|world| world.accept(1)), ended, "a decision on another file");
    assert_eq!(redo_after(|world| world.reject(1).map(|_| ()).unwrap()), ended, "a rejection on another file");
}

#[test]
fn a_line_typed_beside_a_pending_deletion_leaves_the_deleted_lines_on_disk() {
    covers("review.user_lines");
    let world = World::new("//- a.txt\none\ntwo\nthree\n", Mode::Staged);
    world.agent("a.txt", Some("one\n")).unwrap();
    world.user("a.txt", "one\nmine\n");
    assert_eq!(world.disk("a.txt"), some("one\ntwo\nthree\nmine\n"), "the deletion is still pending");
    assert!(!world.workspace.review().files[0].hunks[0].kept_by_user);
    world.reject(0).unwrap();
    let restored = some("one\ntwo\nthree\nmine\n");
    assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (restored.clone(), restored));
    block_on(world.workspace.undo()).unwrap();
    world.accept(0);
    assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some("one\nmine\n"), some("one\nmine\n")));
}

/// Accepts all edits of a file, lets the user restore a text, and checks that nothing brings the edits back.
#[track_caller]
fn check_restored(restore: impl Fn(&World, &str), text: &str, after_undo: &str) {
    let base = "one\ntwo\nthree\nfour\n";
    let world = World::new(&format!("//- a.txt\n{base}"), Mode::Staged);
    world.agent("a.txt", Some("ONE\ntwo\nthree\nFOUR\n")).unwrap();
    block_on(world.workspace.accept_all(None)).unwrap();
    restore(&world, text);
    assert_eq!((world.visible("a.txt"), world.ids()), (some(text), Vec::new()));
    block_on(world.workspace.accept_all(None)).unwrap();
    assert_eq!(world.disk("a.txt"), some(text));
    let undone = block_on(world.workspace.undo()).is_ok();
    assert_eq!((undone, world.disk("a.txt")), (after_undo != text, some(after_undo)));
    if undone {
        block_on(world.workspace.redo()).unwrap();
        assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some(text), some(text)));
    }
}

#[test]
fn an_accepted_edit_that_the_user_restores_is_rejected_and_never_comes_back() {
    covers("review.user_lines review.undo");
    let outside = |world: &World, text: &str| world.files.insert("a.txt", text).unwrap();
    let inside = |world: &World, text: &str| world.user("a.txt", text);
    let (base, accepted) = ("one\ntwo\nthree\nfour\n", "ONE\ntwo\nthree\nFOUR\n");
    // Nothing of the acceptance is left to undo; the user's own edit can be undone.
    check_restored(outside, base, base);
    check_restored(inside, base, accepted);
    let one = "one\ntwo\nthree\nFOUR\n";
    check_restored(outside, one, base);
    check_restored(inside, one, accepted);
    let mine = "one\nmine\nthree\nfour\n";
    check_restored(inside, mine, accepted);
}

#[test]
fn a_bulk_acceptance_leaves_hunks_pending_that_a_change_on_the_disk_contests() {
    covers("review.user_lines");
    let world = World::new("//- a.txt\none\ntwo\n//- b.txt\none\n//- c.txt\none\n", Mode::Staged);
    for (path, text) in [("a.txt", "ONE\ntwo\n"), ("b.txt", "ONE\n"), ("c.txt", "ONE\n")] {
        world.agent(path, Some(text)).unwrap();
    }
    world.files.insert("a.txt", "theirs\ntwo\n").unwrap();
    world.files.insert("c.txt", "theirs\n").unwrap();
    let review = block_on(world.workspace.accept_all(None)).unwrap();
    let left: Vec<_> = review.files.iter().map(|file| (file.path.as_str(), file.hunks[0].contested)).collect();
    assert_eq!(left, [("a.txt", true), ("c.txt", true)]);
    assert_eq!(
        ["a.txt", "b.txt", "c.txt"].map(|path| world.disk(path)),
        [some("theirs\ntwo\n"), some("ONE\n"), some("theirs\n")]
    );
    // An acceptance by id says that the hunk is contested.
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Staged);
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    let id = world.ids().remove(0);
    world.files.insert("a.txt", "theirs\ntwo\n").unwrap();
    let refused = block_on(world.workspace.accept(&[id])).map(|_| ()).map_err(|error| error.code());
    assert_eq!(refused, Err(Code::Conflict));
}

#[test]
fn an_undo_of_a_restored_edit_goes_on_to_the_step_before_it() {
    let world = World::new("//- a.txt\none\ntwo\nthree\n", Mode::Staged);
    world.user("a.txt", "one\ntwo\nmine\n");
    world.agent("a.txt", Some("ONE\ntwo\nmine\n")).unwrap();
    world.accept(0);
    world.files.insert("a.txt", "one\ntwo\nmine\n").unwrap();
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(world.disk("a.txt"), some("one\ntwo\nthree\n"));
    assert_eq!(block_on(world.workspace.undo()).map_err(|error| error.code()).map(|_| ()), Err(Code::NotFound));
    block_on(world.workspace.redo()).unwrap();
    assert_eq!((world.disk("a.txt"), world.ids()), (some("one\ntwo\nmine\n"), Vec::new()));
}

#[test]
fn an_edit_of_the_user_leaves_edits_of_neighbouring_lines_alone() {
    let merged = |base, ours, theirs| crate::workspace::merge::favouring_ours(base, ours, theirs, &mut Vec::new());
    for (base, user, agent, expected) in [
        ("mid\ncolour\n", "midT\ncolour\n", "mid\ncolor\n", "midT\ncolor\n"),
        ("colour\nmid\ncolour\n", "colour\nmidT\ncolour\n", "color\nmid\ncolor\n", "color\nmidT\ncolor\n"),
        // On a line that both changed, the user's stays.
        ("a\nb\nc\n", "a\nB\nc\n", "x\ny\nz\n", "x\nB\nz\n"),
        // Lines that were added or removed leave no line to compare with.
        ("a\nb\n", "A\nb\n", "a\nb1\nb2\n", "A\nb\n"),
        ("a\nb\n", "a\nb\n\nc\n", "x\nb\n", "x\nb\n\nc\n"),
        // Lines that both inserted at one place stay, and those beside a line that the other one replaced.
        ("a\nb\n", "a\nb\nmine\n", "a\nb\ntheirs\n", "a\nb\ntheirs\nmine\n"),
        ("a\nb", "a\nb\nmine", "a\nb\ntheirs", "a\nb\ntheirs\nmine"),
        ("", "mine\n", "theirs\n", "theirs\nmine\n"),
        ("a\nb\nc\n", "a\nmine\nc\n", "a\nb\ntheirs\nc\n", "a\nmine\ntheirs\nc\n"),
        ("a\nb\nc\n", "a\nb\nmine\nc\n", "a\ntheirs\nc\n", "a\ntheirs\nmine\nc\n"),
        // Lines that one side has in common with the other are there once.
        ("a\n", "a\nb\nc\n", "a\nb\n", "a\nb\nc\n"),
        ("a\n", "a\nc\n", "a\nb\nc\n", "a\nb\nc\n"),
    ] {
        assert_eq!(merged(base, user, agent), expected, "{base:?} {user:?} {agent:?}");
    }
}

#[test]
fn lines_of_others_that_an_edit_of_the_user_replaces_are_told() {
    for (base, user, other, expected) in [
        ("a\nb\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n", vec![(2, "theirs\n")]),
        // Each line by itself, and only lines that both changed.
        ("a\nb\nc\n", "A\nmine\nc\n", "a\ntheirs\nC\n", vec![(2, "theirs\n")]),
        ("a\nb\n", "A\nB\n", "x\ny\n", vec![(1, "x\n"), (2, "y\n")]),
        // Both made the same change.
        ("a\nb\n", "a\nB\n", "a\nB\n", vec![]),
        // The other one has more lines.
        ("a\nb\nc\n", "a\nmine\nc\n", "a\ny1\ny2\nc\n", vec![(2, "y1\ny2\n")]),
        // Lines that both inserted stay.
        ("a\n", "a\nmine\n", "a\ntheirs\n", vec![]),
        ("a\nb\nc\n", "a\nmine\nc\n", "a\nb\ntheirs\nc\n", vec![]),
        // A deleted line has no text that could be lost.
        ("a\nb\nc\n", "a\nmine\nc\n", "a\nc\n", vec![]),
        ("a\nb\nc\n", "a\nc\n", "a\ntheirs\nc\n", vec![(2, "theirs\n")]),
        ("a", "mine", "theirs", vec![(1, "theirs")]),
    ] {
        let world = World::new("", Mode::Staged);
        world.files.insert("a.txt", other).unwrap();
        let edited = block_on(world.workspace.user_edit_over("a.txt", Some(user), Some(base)));
        let replaced: Vec<_> = edited.unwrap().1.into_iter().map(|each| (each.line, each.text)).collect();
        let expected: Vec<_> = expected.into_iter().map(|(line, text)| (line, text.to_owned())).collect();
        assert_eq!(replaced, expected, "{base:?} {user:?} {other:?}");
    }
}

#[test]
fn decisions_on_runs_are_those_on_their_edits_and_in_their_files() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n//- c.txt\nsea\n", Mode::Staged);
    world.agent("a.txt", Some("ONE\n")).unwrap();
    let first = world.workspace.last_run();
    world.workspace.begin_run();
    world.agent("b.txt", Some("BEE\n")).unwrap();
    let second = world.workspace.last_run();
    world.user("c.txt", "sea\nmine\n");
    world.user("b.txt", "BEE\nmine\n");
    block_on(world.workspace.reject_all(None)).unwrap();
    let files = |told: Option<String>| -> Vec<String> {
        let lines = told.iter().flat_map(|told| told.lines()).filter(|line| line.contains(".txt: "));
        lines.map(str::to_owned).collect()
    };
    let on_runs = |runs: &[u64]| files(world.workspace.decisions_on_runs_since(0, runs));
    let (a, b) =
        ("a.txt: rejected 1 edit", "b.txt: rejected 1 edit, edited lines by hand (+1 -0), read the file again");
    let c = "c.txt: edited lines by hand (+1 -0), read the file again";
    assert_eq!(on_runs(&[first]), [a]);
    assert_eq!(on_runs(&[second]), [b]);
    assert_eq!(on_runs(&[first, second]), [a, b]);
    assert_eq!(world.workspace.decisions_on_runs_since(0, &[]), None);
    assert_eq!(files(world.workspace.decisions_since(0)), [a, b, c]);
}

#[test]
fn hunks_share_changes_if_one_is_a_part_of_the_other() {
    let world = World::new("//- a.txt\none\ntwo\nthree\nfour\nfive\n//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("ONE\ntwo\nthree\nfour\nFIVE\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    let of_first_run = world.workspace.last_run();
    world.workspace.begin_run();
    world.agent("a.txt", Some("ONE\nTWO\nthree\nfour\nFIVE\n")).unwrap();
    let [both, fifth, other] = world.ids().try_into().unwrap();
    let part = world.workspace.review_of(Some(&[of_first_run])).files[0].hunks[0].id.clone();
    assert_ne!(part, both);
    let share =
        |one: &str, two: &str| [world.workspace.share_changes(one, two), world.workspace.share_changes(two, one)];
    assert_eq!(share(&both, &both), [true, true]);
    assert_eq!(share(&both, &part), [true, true]);
    assert_eq!(share(&fifth, &part), [false, false]);
    // The first changes of two files have the same number.
    assert_eq!(share(&other, &part), [false, false]);
    assert_eq!(share(&both, "unknown"), [false, false]);
}
