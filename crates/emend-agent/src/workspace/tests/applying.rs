//! Bundles, applying them, checkpoints and rollbacks, and what the model is told.

use std::collections::BTreeMap;

use emend_edit::ContentHash;
use emend_edit::line_log::{Origin, Status};
use emend_edit::text::split_lines;
use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::test_support::covers;

fn path(name: &str) -> FilePath {
    FilePath::clean(name).unwrap()
}

/// A workspace with two hunks in `a.txt`, and the deletion of `b.txt`, a new `c.txt`.
fn proposed() -> World {
    let world = World::new(&format!("//- a.txt\n{TEN}//- b.txt\nbee\n"), Mode::Staged);
    let a = "zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n";
    world.agent_all(&[("a.txt", Some(a)), ("b.txt", None), ("c.txt", Some("sea\n"))]).unwrap();
    world
}

fn ids_in(world: &World, file: &str) -> Vec<String> {
    let bundle = world.workspace.bundle(&[1]);
    let file = bundle.files.into_iter().find(|known| known.file_path == path(file)).unwrap();
    file.hunks.into_iter().map(|hunk| hunk.hunk_id).collect()
}

#[test]
fn a_bundle_has_patches_hashes_and_the_edits_behind_them() {
    covers("review.bundle");
    let world = proposed();
    let bundle = world.workspace.bundle(&[1]);
    let names: Vec<&str> = bundle.files.iter().map(|file| file.file_path.as_str()).collect();
    assert_eq!(names, ["a.txt", "b.txt", "c.txt"]);
    let hash = |text: &str| ContentHash::of(text.as_bytes());
    assert_eq!(bundle.files[0].base_file_hash, hash(TEN));
    assert_eq!(bundle.files[2].base_file_hash, ContentHash::EMPTY);
    let patches: Vec<&str> = bundle.files[0].hunks.iter().map(|hunk| hunk.patch.as_str()).collect();
    assert_eq!(patches, ["@@ -1,4 +1,4 @@\n-0\n+zero\n 1\n 2\n 3\n", "@@ -8,3 +8,4 @@\n 7\n 8\n 9\n+ten\n"]);
    let edits = world.workspace.proposed_edits(&[1]);
    let rows: Vec<_> = edits
        .iter()
        .map(|edit| (edit.file_path.as_str(), edit.operation, edit.start_line, edit.end_line, edit.new_text.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("a.txt", "replace", Some(1), Some(1), "zero\n"),
            ("a.txt", "insert", Some(11), None, "ten\n"),
            ("b.txt", "delete_file", None, None, ""),
            ("c.txt", "create", None, None, "sea\n"),
        ]
    );
    assert_eq!([edits[0].expected_hash, edits[2].expected_hash], [hash("0\n"), hash("bee\n")]);
    let behind: Vec<&[String]> =
        bundle.files.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.edit_ids.as_slice()).collect();
    assert_eq!(behind, edits.iter().map(|edit| std::slice::from_ref(&edit.edit_id)).collect::<Vec<_>>());
    world.accept(0);
    world.user("a.txt", "zero\n1\n2\nmine\n4\n5\n6\n7\n8\n9\nten\n");
    let hunks = &world.workspace.bundle(&[1]).files[0].hunks;
    let decided: Vec<_> = hunks.iter().map(|hunk| (hunk.accepted, hunk.origin)).collect();
    assert_eq!(decided, [(Some(true), Origin::Agent), (None, Origin::Agent), (Some(true), Origin::User)]);
    assert_eq!(
        world.workspace.proposed_edits(&[1]),
        edits,
        "decisions and the user's edits do not change the proposal"
    );
    assert_eq!((world.workspace.bundle(&[2]).files, world.workspace.proposed_edits(&[2])), (vec![], vec![]));
}

#[test]
fn an_application_is_one_step() {
    covers("review.apply");
    let world = proposed();
    let accepted = [ids_in(&world, "a.txt").remove(1), ids_in(&world, "c.txt").remove(0)];
    let applied = block_on(world.workspace.apply(&[1], &accepted, &ApplyOptions::default())).unwrap();
    let counts: Vec<_> = applied.files.iter().map(|file| (file.applied_hunks, file.rejected_hunks)).collect();
    assert_eq!(counts, [(1, 1), (0, 1), (1, 0)]);
    let after = (some("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"), some("bee\n"), some("sea\n"));
    let disk = |world: &World| (world.disk("a.txt"), world.disk("b.txt"), world.disk("c.txt"));
    assert_eq!((disk(&world), world.ids().len()), (after, 0));
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((disk(&world), world.ids().len()), ((some(TEN), some("bee\n"), None), 4));
    assert!(block_on(world.workspace.undo()).is_err());
}

/// Applies the first hunk of `a.txt` after another program has written `text`.
fn apply_after(text: &str, rebase: bool) -> (Result<Vec<usize>, Code>, Option<String>, Option<String>, usize) {
    let world = proposed();
    let accepted = [ids_in(&world, "a.txt").remove(0)];
    let base_hashes = BTreeMap::from([(path("a.txt"), ContentHash::of(TEN.as_bytes()))]);
    world.files.insert("a.txt", text.as_bytes()).unwrap();
    let applied = block_on(world.workspace.apply(&[1], &accepted, &ApplyOptions { base_hashes, rebase }));
    let files = |applied: Applied| applied.files.iter().map(|file| file.conflicts.len()).collect();
    (applied.map(files).map_err(|error| error.code()), world.disk("a.txt"), world.disk("b.txt"), world.ids().len())
}

#[test]
fn a_file_that_changed_since_is_a_conflict_and_nothing_is_applied() {
    covers("review.apply");
    let elsewhere = "0\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
    let same_line = "nil\n1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    for text in [elsewhere, same_line] {
        let (outcome, a, b, n_pending) = apply_after(text, false);
        assert_eq!((outcome, a, b, n_pending), (Err(Code::Conflict), some(text), some("bee\n"), 4));
    }
    let (outcome, a, b, n_pending) = apply_after(elsewhere, true);
    let merged = some("zero\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
    assert_eq!((outcome, a, b, n_pending), (Ok(vec![0, 0, 0]), merged, some("bee\n"), 0));
    let (outcome, a, b, n_pending) = apply_after(same_line, true);
    assert_eq!((outcome, a, b, n_pending), (Ok(vec![1, 0, 0]), some(same_line), some("bee\n"), 1));
    let (outcome, a, ..) = apply_after(TEN, false);
    assert_eq!((outcome, a), (Ok(vec![0, 0, 0]), some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")), "the positive control");
}

#[test]
fn an_application_never_takes_the_users_lines() {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Staged);
    world.agent("a.txt", Some("one\nA\nB\ntwo\n")).unwrap();
    world.user("a.txt", "one\nA\nmine\nB\ntwo\n");
    block_on(world.workspace.apply(&[1], &[], &ApplyOptions::default())).unwrap();
    assert_eq!(world.disk("a.txt"), some("one\nmine\ntwo\n"));
}

/// Edits the hunk of `a b c` changed to `proposed`, and checks the texts, and that one undo reverts it.
#[track_caller]
fn check_edit(base: &str, proposed: &str, text: &str, expected: &str) {
    let world = World::new(&format!("//- a.txt\n{base}"), Mode::Staged);
    world.agent("a.txt", Some(proposed)).unwrap();
    let review = block_on(world.workspace.edit_hunk(&world.ids()[0], text)).unwrap();
    assert_eq!((world.visible("a.txt"), world.disk("a.txt"), review.files.len()), (some(expected), some(expected), 0));
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((world.visible("a.txt"), world.disk("a.txt"), world.ids().len()), (some(proposed), some(base), 1));
    assert!(block_on(world.workspace.undo()).is_err(), "it was one step");
    block_on(world.workspace.redo()).unwrap();
    assert_eq!(world.disk("a.txt"), some(expected));
}

#[test]
fn a_hunk_is_accepted_with_the_users_text_in_its_place() {
    covers("review.edit");
    check_edit("a\nb\nc\n", "a\nB\nc\n", "bee\n", "a\nbee\nc\n");
    check_edit("a\nb\nc\n", "a\nB\nC\nc\n", "B\nmine\n", "a\nB\nmine\nc\n");
    check_edit("a\nb\nc\n", "a\nB\nc\n", "B\n", "a\nB\nc\n");
    check_edit("a\nb\nc\n", "a\nB\nc\n", "", "a\nc\n");
    check_edit("a\nb\nc\n", "a\nc\n", "bee", "a\nbee\nc\n");
    check_edit("a\r\nb\r\n", "a\r\nB\r\n", "bee\nsea\n", "a\r\nbee\r\nsea\r\n");
    let world = proposed();
    assert_eq!(block_on(world.workspace.edit_hunk("f1:h9", "x")).unwrap_err().code(), Code::NotFound);
}

fn rolled(world: &World, mode: RollbackMode, hunk_ids: &[String], preview: bool) -> Vec<(usize, usize, usize, usize)> {
    let request = RollbackRequest { mode, runs: vec![1], hunk_ids: hunk_ids.to_vec(), preview, files: None };
    let files = block_on(world.workspace.rollback(&request)).unwrap().files;
    files.iter().map(|file| (file.reverted, file.reverted_from_user, file.kept, file.conflicts.len())).collect()
}

#[test]
fn a_hard_rollback_takes_later_edits_along_and_can_be_undone() {
    covers("rollback.hard");
    let world = World::new("//- a.txt\na\nb\n//- b.txt\nbee\n", Mode::Staged);
    world.user("a.txt", "a\nb\nbefore\n");
    world.agent("a.txt", Some("A\nb\nbefore\n")).unwrap();
    world.accept(0);
    world.user("a.txt", "A\nb\nafter\n");
    world.user("b.txt", "mine\n");
    for (preview, disk) in [(true, "A\nb\nafter\n"), (false, "a\nb\nbefore\n")] {
        assert_eq!(rolled(&world, RollbackMode::HardAll, &[], preview), [(1, 1, 0, 0)]);
        assert_eq!((world.disk("a.txt"), world.disk("b.txt")), (some(disk), some("mine\n")));
    }
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((world.visible("a.txt"), world.disk("a.txt")), (some("A\nb\nafter\n"), some("A\nb\nafter\n")));
    block_on(world.workspace.redo()).unwrap();
    assert_eq!(world.disk("a.txt"), some("a\nb\nbefore\n"));
}

#[test]
fn a_scoped_rollback_keeps_newer_edits_and_names_conflicts() {
    covers("rollback.scoped");
    let world = proposed();
    block_on(world.workspace.accept_all(None)).unwrap();
    world.user("a.txt", "ZERO\n1\n2\n3\n4\n5\n6\n7\n8\n9\nten\nmine\n");
    let all = (some("ZERO\n1\n2\n3\n4\n5\n6\n7\n8\n9\nten\nmine\n"), None, some("sea\n"));
    let disk = |world: &World| (world.disk("a.txt"), world.disk("b.txt"), world.disk("c.txt"));
    assert_eq!(rolled(&world, RollbackMode::ScopedSelected, &[], true), [(1, 0, 3, 1), (1, 0, 0, 0), (1, 0, 0, 0)]);
    assert_eq!(disk(&world), all);
    let created = ids_in(&world, "c.txt");
    assert_eq!(rolled(&world, RollbackMode::ScopedSelected, &created, false), [(1, 0, 0, 0)]);
    assert_eq!(disk(&world), (all.0.clone(), None, None));
    rolled(&world, RollbackMode::ScopedSelected, &[], false);
    assert_eq!(disk(&world), (some("ZERO\n1\n2\n3\n4\n5\n6\n7\n8\n9\nmine\n"), some("bee\n"), None));
    block_on(world.workspace.undo()).unwrap();
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(disk(&world), all);
}

#[test]
fn a_checkpoint_names_files_hunks_and_reverse_patches() {
    covers("rollback.checkpoint");
    let world = proposed();
    let checkpoint = world.workspace.checkpoint(1).unwrap();
    assert_eq!(checkpoint.affected_files, ["a.txt", "b.txt", "c.txt"].map(path));
    let a = &checkpoint.files[0];
    assert_eq!(a.base_snapshot_hash, ContentHash::of(TEN.as_bytes()));
    let rows: Vec<_> = a.hunks.iter().map(|hunk| (hunk.status, hunk.reverse_patch.as_str())).collect();
    assert_eq!(
        rows,
        [
            (Status::Pending, "@@ -1,4 +1,4 @@\n-zero\n+0\n 1\n 2\n 3\n"),
            (Status::Pending, "@@ -8,4 +8,3 @@\n 7\n 8\n 9\n-ten\n"),
        ]
    );
    world.reject(0).unwrap();
    world.user("a.txt", "0\nmine\n2\n3\n4\n5\n6\n7\n8\n9\nten\n");
    let texts = block_on(world.workspace.diff3(&[1], &path("a.txt"))).unwrap();
    assert_eq!(texts.current_file, some("0\nmine\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"));
    assert_eq!(texts.checkpoint_base, some(TEN));
    assert_eq!(texts.agent_proposed, some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"));
    assert_eq!(world.workspace.checkpoint(7).unwrap_err().code(), Code::NotFound);
    assert_eq!(block_on(world.workspace.diff3(&[7], &path("a.txt"))).unwrap_err().code(), Code::NotFound);
}

#[test]
fn the_model_is_told_the_net_effect_of_the_review() {
    covers("review.told");
    let world = proposed();
    let revision = world.workspace.revision();
    assert_eq!(world.workspace.decisions_since(revision), None);
    let a = ids_in(&world, "a.txt");
    block_on(world.workspace.reject(&a[..1], DependentsPolicy::Refuse)).unwrap();
    block_on(world.workspace.accept(&a[1..])).unwrap();
    world.user("a.txt", "0\n1\nmine\n3\n4\n5\n6\n7\n8\n9\nten\n");
    let told = world.workspace.decisions_since(revision).unwrap();
    let lines: Vec<&str> = told.lines().skip(1).collect();
    let expected = "a.txt: accepted 1 edit, rejected 1 edit, edited lines by hand (+1 -1), read the file again";
    assert_eq!(lines, [expected, "  -0", "  +zero"]);
    let saved = serde_json::to_string(&world.workspace.snapshot()).unwrap();
    let other = World::new("//- a.txt\n", Mode::Staged);
    other.workspace.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    assert_eq!(other.workspace.decisions_since(revision), Some(told), "a saved workspace knows it, too");
    (0..3).for_each(|_| drop(block_on(world.workspace.undo()).unwrap()));
    assert_eq!(world.workspace.decisions_since(revision), None, "what was undone is not told");
    assert_eq!(world.workspace.decisions_since(world.workspace.revision()), None);
}

/// Applies edits to the text that their line numbers count.
fn edited(base: &str, edits: &[ProposedEdit]) -> String {
    let mut lines: Vec<String> = split_lines(base).into_iter().map(str::to_owned).collect();
    for edit in edits.iter().rev() {
        let start = edit.start_line.unwrap() - 1;
        let end = edit.end_line.unwrap_or(start);
        let removed = lines.splice(start..end, [edit.new_text.clone()]).collect::<String>();
        assert_eq!(ContentHash::of(removed.as_bytes()), edit.expected_hash);
    }
    lines.concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_application_is_that_of_the_chosen_patches(
        base in prop::collection::vec("[a-c]\n", 1..14),
        new in prop::collection::vec("[a-c]\n", 1..14),
        chosen in prop::collection::vec(any::<bool>(), 8),
    ) {
        let world = World::new(&format!("//- a.txt\n{}", base.concat()), Mode::Staged);
        world.agent("a.txt", Some(&new.concat())).unwrap();
        let edits = world.workspace.proposed_edits(&[1]);
        prop_assert_eq!(edited(&base.concat(), &edits), new.concat());
        let bundle = world.workspace.bundle(&[1]);
        let Some(file) = bundle.files.first() else { return Ok(()) };
        let accepted: Vec<&BundleHunk> =
            file.hunks.iter().enumerate().filter(|(at, _)| chosen[at % 8]).map(|(_, hunk)| hunk).collect();
        // The chosen hunks as edits of the base.
        let of_chosen: Vec<ProposedEdit> =
            edits.iter().filter(|edit| accepted.iter().any(|hunk| hunk.edit_ids.contains(&edit.edit_id))).cloned().collect();
        let ids: Vec<String> = accepted.iter().map(|hunk| hunk.hunk_id.clone()).collect();
        block_on(world.workspace.apply(&[1], &ids, &ApplyOptions::default())).unwrap();
        let expected = edited(&base.concat(), &of_chosen);
        prop_assert_eq!((world.disk("a.txt"), world.visible("a.txt")), (Some(expected.clone()), Some(expected)));
        prop_assert!(world.ids().is_empty());
        block_on(world.workspace.undo()).unwrap();
        prop_assert_eq!((world.disk("a.txt"), world.visible("a.txt")), (Some(base.concat()), Some(new.concat())));
    }
}
