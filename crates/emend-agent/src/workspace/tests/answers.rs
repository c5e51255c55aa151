//! Questions of hosts and tools about files, revisions and read lines.

use emend_edit::ContentHash;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::workspace::check_precondition;

const FILES: &str = "//- a.txt\none\n//- b.txt\ntwo\n//- d/c.md\nthree\n";

fn path(text: &str) -> FilePath {
    FilePath::clean(text).unwrap()
}

#[test]
fn a_file_is_found_as_the_agent_sees_it() {
    let world = World::new(FILES, Mode::Staged);
    let check = |name: &str, expected: bool| {
        assert_eq!(block_on(world.workspace.file_at(name)), expected.then(|| path(name)), "{name}");
        assert_eq!(block_on(world.workspace.resolve_for_lease(name)), Some(path(name)), "{name}");
    };
    check("a.txt", true);
    check("d/c.md", true);
    check("d", false);
    check("none.txt", false);
    world.agent("none.txt", Some("new\n")).unwrap();
    block_on(world.workspace.read(&world.reads, "a.txt", 0, 100)).unwrap();
    world.agent("a.txt", None).unwrap();
    check("none.txt", true);
    check("a.txt", false);
    assert_eq!(block_on(world.workspace.resolve_for_lease("../a.txt")), None);
}

#[test]
fn the_disk_keeps_its_text_until_a_hunk_is_accepted() {
    let world = World::new(FILES, Mode::Staged);
    world.agent("a.txt", Some("ONE\n")).unwrap();
    assert_eq!(block_on(world.workspace.saved_text("a.txt")).unwrap(), some("one\n"));
    assert_eq!(block_on(world.workspace.saved_text("none.txt")).unwrap(), None);
    assert_eq!(block_on(world.workspace.read_bytes("a.txt")).unwrap(), (path("a.txt"), b"one\n".to_vec()));
    let read = |lines| block_on(world.workspace.read_if(&world.reads, "a.txt", |_| lines)).unwrap();
    assert_eq!(read(Some(0..1)).map(|view| view.text), some("ONE\n"));
    assert_eq!(read(None).map(|view| view.text), None);
}

#[test]
fn revisions_tell_which_files_changed() {
    let world = World::new(&format!("//- a.txt\n{TEN}//- b.txt\ntwo\n"), Mode::Staged);
    let changes = |since: u64| -> Vec<(String, u64, usize)> {
        let changed = world.workspace.changes_since(since).into_iter();
        changed.map(|file| (file.path.to_string(), file.revision, file.pending_hunks)).collect()
    };
    let start = world.workspace.revision();
    world.agent("b.txt", Some("TWO\n")).unwrap();
    let middle = world.workspace.revision();
    world.agent("a.txt", Some("zero\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n")).unwrap();
    let end = world.workspace.revision();
    assert!(start < middle && middle < end, "{start} {middle} {end}");
    assert_eq!(changes(start), [("a.txt".to_owned(), end, 2), ("b.txt".to_owned(), middle, 1)]);
    assert_eq!(changes(middle), [("a.txt".to_owned(), end, 2)]);
    assert_eq!(changes(end), []);
    let revision_of = |name: &str| world.workspace.revision_of(&path(name));
    assert_eq!((revision_of("a.txt"), revision_of("b.txt"), revision_of("none")), (end, middle, 0));
    assert_eq!(world.workspace.snapshot().revision(), end);
}

#[test]
fn pending_files_are_found_by_globs_that_match_them() {
    let world = World::new(FILES, Mode::Staged);
    world.agent("new.txt", Some("new\n")).unwrap();
    world.agent("new.md", Some("new\n")).unwrap();
    block_on(world.workspace.read(&world.reads, "b.txt", 0, 100)).unwrap();
    world.agent("b.txt", None).unwrap();
    world.agent("d/c.md", Some("THREE\n")).unwrap();
    let paths = |directory: &str, glob: &str| -> Vec<String> {
        let found = block_on(world.workspace.glob_paths(directory, glob)).unwrap();
        found.iter().map(ToString::to_string).collect()
    };
    assert_eq!(paths(".", "*.txt"), ["a.txt", "new.txt"]);
    assert_eq!(paths(".", "**/*.md"), ["d/c.md", "new.md"]);
    assert_eq!(paths("d", "*"), ["d/c.md"]);
    let entries = |glob: &str| -> Vec<String> {
        let found = block_on(world.workspace.glob(".", glob)).unwrap();
        found.iter().map(|entry| entry.path.to_string()).collect()
    };
    assert_eq!(entries("*.txt"), ["a.txt", "new.txt"]);
    assert_eq!(entries("n*"), ["new.md", "new.txt"]);
}

#[test]
fn read_lines_are_remembered_for_one_text() {
    let reads = ReadTracker::default();
    let (file, other) = (path("a.txt"), path("b.txt"));
    let (hash, changed) = (ContentHash::of(b"one"), ContentHash::of(b"two"));
    let first = reads.note(&file, hash, 0, 2);
    reads.note(&file, hash, 5, 7);
    assert_eq!(reads.ranges_of(&file, hash), [(0, 2), (5, 7)]);
    assert!(reads.has_range(&file, hash, 5, 7) && !reads.has_range(&file, hash, 1, 6));
    reads.note(&file, hash, 2, 5);
    assert_eq!(reads.ranges_of(&file, hash), [(0, 7)]);
    assert_eq!(reads.ranges_of(&file, changed), []);
    assert_eq!(reads.note_move(&other, hash, vec![(1, 3)]), first + 3);
    assert_eq!(reads.ranges_of(&other, hash), [(1, 3)]);
    assert_eq!(reads.note(&other, hash, 0, 1), first + 4);
}

#[test]
fn a_file_is_verified_after_it_was_read() {
    let world = World::new(FILES, Mode::Direct);
    let is_verified =
        |name: &str| block_on(world.workspace.is_verified(&world.reads, name, &Precondition::Whole(None)));
    assert!(!is_verified("a.txt") && is_verified("none.txt"));
    block_on(world.workspace.read(&world.reads, "a.txt", 0, 100)).unwrap();
    assert!(is_verified("a.txt"));
    world.files.insert("a.txt", b"changed\n".to_vec()).unwrap();
    assert!(!is_verified("a.txt"));
    for (text, expected) in [(None, "no longer exists"), (Some("other\n"), "has changed since it was read")] {
        let stale = check_precondition(&world.reads, &path("a.txt"), text, &Precondition::Whole(None)).unwrap_err();
        assert!(stale.to_string().contains(expected), "{stale}");
    }
}
