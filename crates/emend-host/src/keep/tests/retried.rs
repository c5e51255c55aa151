//! Undos and redos that leave a path alone: the change stays possible, and is carried out once the path is as before.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use emend_agent::workspace::{RollbackMode, RollbackRequest};
use futures::executor::block_on;

use super::*;

const COMMAND: &str = "printf 'c\\0' > b.bin; printf 'm\\0' > made.bin; chmod 700 run.sh; echo 2 > a.txt; rm key";

/// A way in which the user changes a path after the command.
struct ByUser {
    path: &'static str,
    change: fn(&Project, &str),
}

const CHANGES: [ByUser; 6] = [
    ByUser { path: "b.bin", change: |project, path| fs::remove_file(project.path(path)).unwrap() },
    ByUser { path: "b.bin", change: |project, path| fs::write(project.path(path), b"mine\0").unwrap() },
    ByUser { path: "made.bin", change: |project, path| fs::write(project.path(path), b"mine\0").unwrap() },
    ByUser { path: "run.sh", change: |project, path| set_mode(project, path, 0o750) },
    ByUser { path: "a.txt", change: |project, path| fs::remove_file(project.path(path)).unwrap() },
    ByUser { path: "a.txt", change: |project, path| fs::write(project.path(path), "mine\n").unwrap() },
];

fn set_mode(project: &Project, path: &str, mode: u32) {
    fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// Puts a path back as it was in a tree.
fn put_back(project: &Project, path: &str, tree: &Tree, content: &[u8]) {
    fs::write(project.path(path), content).unwrap();
    set_mode(project, path, tree[path].0 & 0o7777);
}

/// Returns the paths that an undo leaves alone, and whether the run is in effect after it.
fn refused(open: &Open) -> (Vec<String>, bool) {
    let undone = open.undo();
    let left = undone.kept.iter().chain(&undone.blocked).map(ToString::to_string).collect();
    (left, open.workspace.runs().last().unwrap().is_on)
}

/// Saves the logs, and opens the project as a later process does.
fn reopened(project: &Project, open: Open) -> Open {
    let saved = serde_json::to_string(&open.workspace.snapshot()).unwrap();
    drop(open);
    let open = project.open();
    open.workspace.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    open
}

#[test]
fn an_undo_that_left_a_path_alone_restores_it_later() {
    for (case, ByUser { path, change }) in CHANGES.iter().enumerate() {
        for is_reopened in [false, true] {
            let project = Project::usual();
            let before = project.tree();
            let mut open = project.open();
            open.shell(COMMAND);
            let (after, content) = (project.tree(), fs::read(project.path(path)).unwrap());
            change(&project, path);
            let by_user = project.tree();
            let name = format!("case {case}, {path}, reopened: {is_reopened}");
            assert_eq!(refused(&open), (vec![(*path).to_owned()], true), "{name}");
            assert_eq!(project.tree().get(*path), by_user.get(*path), "the user's state stays: {name}");
            if is_reopened {
                open = reopened(&project, open);
            }
            // Nothing changes as long as the path is not put back.
            assert_eq!(refused(&open), (vec![(*path).to_owned()], true), "{name}");
            put_back(&project, path, &after, &content);
            assert_eq!(refused(&open), (vec![], false), "{name}");
            check_same(&before, &project.tree());
            // Each undo is redone, the last one first.
            while block_on(open.workspace.redo_runs()).is_ok() {}
            check_same(&after, &project.tree());
            assert!(open.workspace.runs().last().unwrap().is_on, "{name}");
        }
    }
}

#[test]
fn a_redo_that_left_a_path_alone_restores_it_later() {
    for is_reopened in [false, true] {
        let project = Project::usual();
        let mut open = project.open();
        open.shell(COMMAND);
        let after = project.tree();
        open.undo();
        let binary = fs::read(project.path("b.bin")).unwrap();
        fs::write(project.path("b.bin"), b"mine\0").unwrap();
        fs::write(project.path("made.bin"), b"mine too\0").unwrap();
        let redone = block_on(open.workspace.redo_runs()).unwrap();
        let kept: Vec<&str> = redone.kept.iter().map(|path| path.as_str()).collect();
        assert_eq!(kept, ["b.bin", "made.bin"]);
        assert_eq!(fs::read(project.path("b.bin")).unwrap(), b"mine\0");
        if is_reopened {
            open = reopened(&project, open);
        }
        let again = block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!((again.restored.len(), again.kept.len()), (0, 2));
        fs::write(project.path("b.bin"), &binary).unwrap();
        fs::remove_file(project.path("made.bin")).unwrap();
        assert_eq!(block_on(open.workspace.redo_runs()).unwrap().kept, []);
        check_same(&after, &project.tree());
        assert!(block_on(open.workspace.redo_runs()).is_err(), "nothing is left to redo");
    }
}

#[test]
fn a_redo_of_a_created_text_is_refused_beside_one_that_the_user_made() {
    let project = Project::usual();
    let open = project.open();
    open.shell("echo theirs > new.txt");
    open.undo();
    fs::write(project.path("new.txt"), "mine\n").unwrap();
    let refused = block_on(open.workspace.redo_runs()).unwrap_err();
    assert_eq!(refused.code().as_str(), "conflict");
    assert_eq!(fs::read_to_string(project.path("new.txt")).unwrap(), "mine\n");
    fs::remove_file(project.path("new.txt")).unwrap();
    block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!(fs::read_to_string(project.path("new.txt")).unwrap(), "theirs\n");
}

#[test]
fn a_hard_rollback_restores_what_the_user_deleted_and_names_what_the_user_changed() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.shell("printf 'c\\0' > b.bin; printf 'd\\0' > made.bin; rm key");
    let run = open.workspace.last_run();
    fs::remove_file(project.path("b.bin")).unwrap();
    fs::write(project.path("made.bin"), b"mine\0").unwrap();
    assert_eq!(refused(&open), (vec!["b.bin".to_owned(), "made.bin".to_owned()], true));
    let request = RollbackRequest { mode: RollbackMode::HardAll, runs: vec![run], ..RollbackRequest::default() };
    let blocked = |open: &Open| {
        let others = block_on(open.workspace.other_changes(&[run], true)).unwrap();
        others.into_iter().map(|other| (other.path.to_string(), other.is_blocked)).collect::<Vec<_>>()
    };
    assert_eq!(blocked(&open), [("b.bin".to_owned(), false), ("made.bin".to_owned(), true)]);
    let kept = block_on(open.workspace.rollback(&request)).unwrap().kept;
    assert_eq!(kept.iter().map(|path| path.as_str()).collect::<Vec<_>>(), ["made.bin"]);
    assert_eq!(fs::read(project.path("made.bin")).unwrap(), b"mine\0");
    fs::remove_file(project.path("made.bin")).unwrap();
    check_same(&before, &project.tree());
    assert_eq!(block_on(open.workspace.rollback(&request)).unwrap().kept, []);
    assert_eq!(blocked(&open), []);
}

#[test]
fn a_full_store_still_knows_which_changes_an_undo_left_in_effect() {
    let project = Project::usual();
    fs::write(project.path("big.bin"), vec![0; 20_000]).unwrap();
    let open = project.open();
    open.shell("rm big.bin");
    let before = project.tree();
    open.shell("printf 'c\\0' > b.bin; printf 'm\\0' > made.bin; rm key");
    let content = fs::read(project.path("made.bin")).unwrap();
    fs::write(project.path("made.bin"), b"mine\0").unwrap();
    assert_eq!(refused(&open), (vec!["made.bin".to_owned()], true));
    drop(open);
    let mut keeper = Keeper::new(project.kept().parent().unwrap());
    keeper.with(&project.files(), |loaded| loaded.tidy(10_000)).unwrap();
    drop(keeper);
    let open = project.open();
    let lost: Vec<usize> = open.workspace.runs().iter().map(|run| run.lost.len()).collect();
    assert_eq!(lost, [1, 0], "the first command was dropped, and the record was written anew");
    // A later undo is about the rest alone: the user may delete again what the first one restored.
    fs::remove_file(project.path("key")).unwrap();
    assert_eq!(refused(&open), (vec!["made.bin".to_owned()], true));
    assert!(!project.path("key").exists());
    put_back(&project, "key", &before, b"secret\n");
    fs::write(project.path("made.bin"), content).unwrap();
    assert_eq!(refused(&open), (vec![], false));
    check_same(&before, &project.tree());
}

#[test]
fn redos_of_several_runs_pass_a_text_that_the_user_has_edited_elsewhere() {
    let project = Project::usual();
    let lines: String = (1..=20).map(|number| format!("{number}\n")).collect();
    fs::write(project.path("n"), &lines).unwrap();
    let open = project.open();
    for command in ["sed -i s/^2$/two/ n; chmod 700 n", "sed -i s/^8$/eight/ n; printf 'x\\0' > b.bin", "rm key"] {
        open.shell(command);
    }
    let text = fs::read_to_string(project.path("n")).unwrap();
    fs::write(project.path("n"), format!("{text}mine\n")).unwrap();
    let after = project.tree();
    for run in [3, 2, 1] {
        block_on(open.workspace.undo_runs(&[run])).unwrap();
    }
    assert_eq!(fs::read_to_string(project.path("n")).unwrap(), format!("{lines}mine\n"));
    for run in 1..=3 {
        let redone = block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!(redone.kept, [], "redo of run {run}");
    }
    check_same(&after, &project.tree());
    assert!(block_on(open.workspace.redo_runs()).is_err());
}

#[test]
fn a_later_command_ends_every_redo() {
    for later in ["printf y >> b.bin", "echo more >> a.txt"] {
        let project = Project::usual();
        let open = project.open();
        open.shell("echo m >> a.txt; printf x >> b.bin");
        std::thread::sleep(Duration::from_millis(2));
        open.undo();
        std::thread::sleep(Duration::from_millis(2));
        open.shell(later);
        let before = project.tree();
        assert!(block_on(open.workspace.redo_runs()).is_err(), "half of the run would come back: {later}");
        check_same(&before, &project.tree());
    }
}

#[test]
fn an_undo_keeps_mode_bits_that_the_user_has_set() {
    for (path, is_refused) in [("b.bin", false), ("a.txt", false), ("a.txt", true)] {
        let project = Project::usual();
        let open = project.open();
        open.shell("printf x >> b.bin; echo more >> a.txt; chmod 755 a.txt b.bin");
        set_mode(&project, path, 0o600);
        if is_refused {
            fs::write(project.path(path), "mine\n").unwrap();
        }
        open.undo();
        assert_eq!(project.tree()[path].0 & 0o7777, 0o600, "{path}, refused: {is_refused}");
        block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!(project.tree()[path].0 & 0o7777, 0o600, "{path} after the redo, refused: {is_refused}");
    }
    // Without a change by the user, a refused undo of the text leaves the mode bits as well.
    let project = Project::usual();
    let open = project.open();
    open.shell("chmod 755 a.txt; echo 2 > a.txt");
    fs::write(project.path("a.txt"), "mine\n").unwrap();
    assert_eq!(refused(&open).0, ["a.txt"]);
    assert_eq!(project.tree()["a.txt"].0 & 0o7777, 0o755);
}

#[test]
fn a_change_that_no_log_holds_is_undone_with_a_later_edit_of_its_file() {
    let project = Project::usual();
    fs::create_dir(project.path("many")).unwrap();
    (0..1_100).for_each(|at| fs::write(project.path(&format!("many/f{at:04}")), "one\ntwo\n").unwrap());
    let before = project.tree();
    let open = project.open();
    open.shell("sed -i s/one/uno/ many/*");
    // The first file has a log since the command, the last one since its edit.
    for path in ["many/f0001", "many/f1099"] {
        open.call("read_file", json!({ "file_path": path })).unwrap();
        open.call("edit_file", json!({ "file_path": path, "old_string": "two", "new_string": "zwei" })).unwrap();
    }
    open.shell("rm many/f1099");
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    let undone = block_on(open.workspace.undo_runs(&runs)).unwrap();
    assert_eq!((undone.kept, undone.blocked), (vec![], vec![]));
    check_same(&before, &project.tree());
}

#[test]
fn a_preview_names_a_text_that_a_hard_link_replaces_again_after_the_user_restored_it() {
    for command in ["ln -f key run.sh", "ln -f .env new", "cp key run.sh"] {
        let path = command.rsplit(' ').next().unwrap();
        let project = Project::usual();
        let open = project.open();
        let before = project.tree();
        open.shell(command);
        // As git does, with a new file.
        fs::remove_file(project.path(path)).unwrap();
        if let Some((mode, text)) = before.get(path) {
            fs::write(project.path(path), text).unwrap();
            set_mode(&project, path, *mode & 0o7777);
        }
        open.shell(command);
        let last = [open.workspace.last_run()];
        let texts = block_on(open.workspace.texts_of_runs(&last, None)).unwrap();
        let others = block_on(open.workspace.other_changes_of_runs(&last)).unwrap();
        let texts = texts.iter().map(|text| text.path.as_str());
        // The text may also have other mode bits.
        let named: BTreeSet<&str> = texts.chain(others.iter().map(|other| other.path.as_str())).collect();
        assert_eq!(named, BTreeSet::from([path]), "{command}");
    }
}

#[test]
fn a_text_that_the_user_restored_once_is_undone_below_later_hard_links() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.shell("echo 279 > key");
    let restored = fs::read(project.path("key")).unwrap();
    open.shell("sed -i 's/[0-9]/x/' key");
    fs::remove_file(project.path("key")).unwrap();
    fs::write(project.path("key"), restored).unwrap();
    set_mode(&project, "key", 0o600);
    open.shell("sed -i 's/[0-9]/x/' key");
    for name in ["one", "two"] {
        fs::write(project.path(&format!("../{name}")), format!("{name}\n")).unwrap();
        open.shell(&format!("ln -f ../{name} key"));
    }
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs)).unwrap();
    check_same(&before, &project.tree());
}
