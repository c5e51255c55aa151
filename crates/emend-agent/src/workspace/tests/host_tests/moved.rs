//! Undo of moves beside files that the user makes at the former path.

use super::*;

/// Moves `a.txt` to `c.txt`, lets the user act, undoes the run as its preview says, and returns both texts.
fn undone(user: impl Fn(&World)) -> [Option<String>; 2] {
    let world = World::new("//- a.txt\none\ntwo\n", Mode::Direct);
    let paths = ["a.txt", "c.txt"].map(str::to_owned);
    let write = |path: &str, text: Option<&str>, from: Option<&str>| FileWrite {
        path: path.to_owned(),
        text: text.map(str::to_owned),
        moved_from: from.map(str::to_owned),
        steps: Vec::new(),
    };
    let writes = vec![write("a.txt", None, None), write("c.txt", Some("one\ntwo\n"), Some("a.txt"))];
    let context = world.context();
    let written: Result<_, WorkspaceError> =
        block_on(world.workspace.write(&context.write(), &paths, |_| Ok((writes, ()))));
    written.unwrap();
    user(&world);
    let preview = block_on(world.workspace.preview_undo_runs(&[1])).unwrap();
    let undone = block_on(world.workspace.undo_runs(&[1])).unwrap();
    assert_eq!((preview.restored, preview.kept), (undone.restored, undone.kept));
    ["a.txt", "c.txt"].map(|path| world.disk(path))
}

#[test]
fn an_undo_never_takes_a_moved_text_off_both_paths() {
    covers("rollback.rewritten");
    assert_eq!(undone(|_| ()), [some("one\ntwo\n"), None]);
    let makes_a = |world: &World| {
        world.files.insert("a.txt", "mine\n").unwrap();
    };
    let adds_to_c = |world: &World| {
        world.files.insert("c.txt", "one\ntwo\nmore\n").unwrap();
    };
    // The user's line stays, and the text returns to its former path.
    assert_eq!(undone(adds_to_c), [some("one\ntwo\n"), some("more\n")]);
    assert_eq!(undone(makes_a), [some("mine\n"), some("one\ntwo\n")]);
    let both = |world: &World| {
        makes_a(world);
        adds_to_c(world);
    };
    assert_eq!(undone(both), [some("mine\n"), some("one\ntwo\nmore\n")]);
}
