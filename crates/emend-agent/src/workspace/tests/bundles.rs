//! Bundles and proposed edits of a run, and decisions that take further hunks along.

use emend_edit::line_log::Origin;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

fn path(name: &str) -> FilePath {
    FilePath::clean(name).unwrap()
}

/// Moves a file of the agent, and writes `anew` to the old path.
fn rename(world: &World, from: &str, to: &str, text: &str, anew: Option<&str>) {
    let write = |path: &str, text: Option<&str>, moved_from: Option<&str>| FileWrite {
        path: path.to_owned(),
        text: text.map(str::to_owned),
        moved_from: moved_from.map(str::to_owned),
        steps: Vec::new(),
    };
    let writes = vec![write(from, anew, None), write(to, Some(text), Some(from))];
    let (context, paths) = (world.context(), [from.to_owned(), to.to_owned()]);
    let written: Result<_, WorkspaceError> =
        block_on(world.workspace.write(&context.write(), &paths, |_| Ok((writes, ()))));
    written.unwrap();
}

fn edits(world: &World, runs: &[u64]) -> Vec<(String, &'static str, Option<FilePath>, u64)> {
    let edits = world.workspace.proposed_edits(runs).into_iter();
    edits.map(|edit| (edit.file_path.to_string(), edit.operation, edit.new_path, edit.run_id)).collect()
}

fn row(
    path: &str,
    operation: &'static str,
    new_path: Option<&str>,
    run: u64,
) -> (String, &'static str, Option<FilePath>, u64) {
    (path.to_owned(), operation, new_path.map(self::path), run)
}

#[test]
fn a_moved_file_is_one_edit_with_both_paths() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    world.agent("b.txt", Some("BEE\n")).unwrap();
    world.workspace.begin_run();
    rename(&world, "a.txt", "d.txt", "one\n", None);
    assert_eq!(edits(&world, &[2]), [row("a.txt", "rename", Some("d.txt"), 2)]);
    assert_eq!(edits(&world, &[1]), [row("b.txt", "replace", None, 1)]);
    // Both halves of the move are this edit.
    let bundle = world.workspace.bundle(&[2]);
    let ids: Vec<&[String]> = bundle.files.iter().flat_map(|file| &file.hunks).map(|hunk| &*hunk.edit_ids).collect();
    assert_eq!(
        ids,
        vec![
            &world.workspace.proposed_edits(&[2])[..1].iter().map(|edit| edit.edit_id.clone()).collect::<Vec<_>>()[..];
            2
        ]
    );
}

#[test]
fn a_file_in_the_place_of_a_moved_one_is_not_gone() {
    let world = World::new("//- a.txt\none\n", Mode::Staged);
    rename(&world, "a.txt", "d.txt", "one\n", Some("anew\n"));
    assert_eq!(edits(&world, &[1]), [row("a.txt", "replace", None, 1), row("d.txt", "create", None, 1)]);
}

#[test]
fn lines_are_replaced_deleted_or_inserted() {
    let world = World::new(&format!("//- a.txt\n{TEN}"), Mode::Staged);
    world.workspace.begin_run();
    world.agent("a.txt", Some("zero\n1\n2\n4\n5\n6\n7\n8\nnew\n9\n")).unwrap();
    let (replace, delete, insert) = ("replace", "delete", "insert");
    assert_eq!(edits(&world, &[2]), [replace, delete, insert].map(|operation| row("a.txt", operation, None, 2)));
    let lines: Vec<_> =
        world.workspace.proposed_edits(&[2]).iter().map(|edit| (edit.start_line, edit.end_line)).collect();
    assert_eq!(lines, [(Some(1), Some(1)), (Some(4), Some(4)), (Some(10), None)]);
}

#[test]
fn a_bundle_has_the_hunks_of_its_runs_and_the_users() {
    let world = World::new(&format!("//- a.txt\n{TEN}"), Mode::Staged);
    world.agent("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")).unwrap();
    world.workspace.begin_run();
    world.agent("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n")).unwrap();
    world.user("a.txt", "zero\n1\n2\n3\nmine\n5\n6\n7\n8\nnine\n");
    let changed = |runs: &[u64], origin: Origin| -> Vec<String> {
        let hunks = world.workspace.bundle(runs).files.into_iter().flat_map(|file| file.hunks);
        let patches = hunks.filter(|hunk| hunk.origin == origin).map(|hunk| hunk.patch);
        patches.map(|patch| patch.lines().filter(|line| line.starts_with('+')).collect::<String>()).collect()
    };
    assert_eq!(changed(&[1], Origin::Agent), ["+zero"]);
    assert_eq!(changed(&[2], Origin::Agent), ["+nine"]);
    assert_eq!(changed(&[1, 2], Origin::Agent), ["+zero", "+nine"]);
    // The user's edit was made while run 2 was the last one.
    assert_eq!(changed(&[2], Origin::User), ["+mine"]);
}

#[test]
fn a_decision_on_one_half_of_a_move_takes_the_other_half_along() {
    for (half, decision, a, d) in [
        ("a.txt", HunkDecision::Accept, None, some("one\n")),
        ("d.txt", HunkDecision::Accept, None, some("one\n")),
        ("a.txt", HunkDecision::Reject(DependentsPolicy::Refuse), some("one\n"), None),
        ("d.txt", HunkDecision::Reject(DependentsPolicy::Refuse), some("one\n"), None),
    ] {
        let world = World::new("//- a.txt\none\n//- b.txt\nbee\n//- 1.txt\n1\n", Mode::Staged);
        world.agent_all(&[("0.txt", Some("0\n")), ("1.txt", None), ("b.txt", Some("BEE\n"))]).unwrap();
        rename(&world, "a.txt", "d.txt", "one\n", None);
        let review = world.workspace.review();
        let file = review.files.iter().find(|file| file.path == path(half)).unwrap();
        let ids: Vec<String> = file.hunks.iter().map(|hunk| hunk.id.clone()).collect();
        let left = block_on(world.workspace.decide(Selection::Hunks(ids), decision)).unwrap();
        assert_eq!((world.disk("a.txt"), world.disk("d.txt")), (a, d), "{half} {decision:?}");
        let left: Vec<&str> = left.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(left, ["0.txt", "1.txt", "b.txt"], "{half} {decision:?}");
    }
}

#[test]
fn an_accepted_line_takes_the_pending_lines_along_that_it_needs() {
    let world = World::new("//- a.txt\ntop\n", Mode::Staged);
    world.agent("a.txt", Some("top\n1\n2\n")).unwrap();
    world.workspace.begin_run();
    world.agent("a.txt", Some("top\n1\nm\n2\n")).unwrap();
    world.workspace.begin_run();
    world.agent("a.txt", Some("top\n1\nm!\n2\n")).unwrap();
    block_on(world.workspace.decide(Selection::Runs(vec![3]), HunkDecision::Accept)).unwrap();
    assert_eq!((world.disk("a.txt"), world.ids().len()), (some("top\n1\nm!\n2\n"), 0));
    // A rejected line is not taken along.
    let world = World::new("//- a.txt\ntop\n", Mode::Staged);
    world.agent("a.txt", Some("top\n1\n2\n")).unwrap();
    world.user("a.txt", "top\n1\nmine\n2\n");
    world.workspace.begin_run();
    world.agent("a.txt", Some("top\n1\nmine\nm\n2\n")).unwrap();
    let first =
        world.workspace.review_of(Some(&[1])).files[0].hunks.iter().map(|hunk| hunk.id.clone()).collect::<Vec<_>>();
    block_on(world.workspace.reject(&first, DependentsPolicy::OnlyThese)).unwrap();
    block_on(world.workspace.accept_all(None)).unwrap();
    assert_eq!(world.disk("a.txt"), some("top\nmine\nm\n"));
}

#[test]
fn a_bulk_decision_reads_files_only_to_find_contested_hunks() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    world.files.insert("a.txt", "uno\n").unwrap();
    let decide = |selection, decision| block_on(world.workspace.decide(selection, decision)).unwrap().files.len();
    // The change on the disk contests the first file alone.
    assert_eq!(decide(Selection::All(Some(path("b.txt"))), HunkDecision::Accept), 1);
    assert_eq!(decide(Selection::All(None), HunkDecision::Accept), 1);
    assert_eq!((world.disk("a.txt"), world.disk("b.txt")), (some("uno\n"), some("BEE\n")));
    let review = world.workspace.review();
    assert!(review.files[0].hunks[0].contested);
    let error = block_on(world.workspace.edit_hunk(&review.files[0].hunks[0].id, "mine\n")).unwrap_err();
    assert!(matches!(error, ReviewError::Contested { n_places: 1, .. }), "{error}");
    assert_eq!(decide(Selection::All(None), HunkDecision::AcceptOver), 0);
    assert_eq!(world.disk("a.txt"), some("ONE\n"));
}

#[test]
fn a_decision_without_effect_is_no_step_to_undo() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    let ids = world.ids();
    block_on(world.workspace.accept(&ids[..1])).unwrap();
    block_on(world.workspace.accept(&ids)).unwrap();
    assert_eq!((world.disk("a.txt"), world.disk("b.txt")), (some("ONE\n"), some("BEE\n")));
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((world.disk("a.txt"), world.disk("b.txt")), (some("ONE\n"), some("bee\n")));
    block_on(world.workspace.undo()).unwrap();
    assert_eq!((world.disk("a.txt"), world.disk("b.txt")), (some("one\n"), some("bee\n")));
}

#[test]
fn the_runs_of_files_that_changed_since_a_revision_are_named() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    let runs = |since: u64| world.workspace.runs_changed_since(since).into_iter().collect::<Vec<u64>>();
    world.workspace.begin_run();
    world.agent("a.txt", Some("ONE\n")).unwrap();
    let first = world.workspace.revision();
    world.workspace.begin_run();
    world.agent("b.txt", Some("BEE\n")).unwrap();
    assert_eq!((runs(0), runs(first), runs(world.workspace.revision())), (vec![2, 3], vec![3], vec![]));
}
