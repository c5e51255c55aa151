//! Results of writes, searches and errors, and the edits that the model is told of.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;

#[test]
fn a_write_tells_which_files_it_created_or_deleted() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Direct);
    let written = world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", None), ("c.txt", Some("sea\n"))]).unwrap();
    let flags: Vec<_> = written.iter().map(|file| (file.path.as_str(), file.created, file.deleted)).collect();
    assert_eq!(flags, [("a.txt", false, false), ("b.txt", false, true), ("c.txt", true, false)]);
}

#[test]
fn pending_files_are_searched_if_the_glob_matches_them() {
    let world = World::new("//- d/a.txt\nalpha\n//- d/b.md\nalpha\n", Mode::Staged);
    world
        .agent_all(&[("d/c.txt", Some("alpha\n")), ("d/c.md", Some("alpha\n")), ("d/0.txt", Some("alpha\n"))])
        .unwrap();
    let found = |directory: &str, glob: Option<&str>| -> Vec<String> {
        let matcher = crate::search::Matcher::new("alpha", false).unwrap();
        let found = block_on(world.workspace.grep(matcher, directory, glob, 0, 100)).unwrap();
        found.iter().map(|file| file.path.to_string()).collect()
    };
    assert_eq!(found(".", Some("*.txt")), ["d/0.txt", "d/a.txt", "d/c.txt"]);
    assert_eq!(found("d", Some("c.*")), ["d/c.md", "d/c.txt"]);
    assert_eq!(found("d", None), ["d/0.txt", "d/a.txt", "d/b.md", "d/c.md", "d/c.txt"]);
    world.agent("d/a.txt", Some("alpha\nbeta\n")).unwrap();
    assert_eq!(found("d/a.txt", Some("*.txt")), ["d/a.txt"]);
}

#[test]
fn an_edit_that_the_user_has_undone_is_not_told() {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Staged);
    world.agent("a.txt", Some("ONE\ntwo\n")).unwrap();
    world.user("a.txt", "ONE\nmine\n");
    let after = world.workspace.revision();
    block_on(world.workspace.undo()).unwrap();
    assert_eq!(world.workspace.decisions_since(after), None);
    block_on(world.workspace.redo()).unwrap();
    assert_eq!(world.workspace.decisions_since(after), None);
}

#[test]
fn an_application_to_a_changed_file_names_it() {
    let world = World::new("//- a.txt\none\n//- b.txt\nbee\n", Mode::Staged);
    world.agent_all(&[("a.txt", Some("ONE\n")), ("b.txt", Some("BEE\n"))]).unwrap();
    let base_hashes = ["a.txt", "b.txt"].map(|name| (FilePath::clean(name).unwrap(), emend_edit::ContentHash::EMPTY));
    let options = ApplyOptions { base_hashes: base_hashes.into(), rebase: false };
    let error = block_on(world.workspace.apply(&[1], &world.ids(), &options)).unwrap_err();
    assert_eq!(error.code(), Code::Conflict);
    assert!(error.to_string().contains("a.txt, b.txt"), "{error}");
}
