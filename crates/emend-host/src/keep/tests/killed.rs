//! Processes that are killed during a command, an undo or a redo: the next process finds everything undoable.

use emend_agent::workspace::{FinishedStep, RollbackRequest};

use super::*;

#[test]
fn a_process_that_is_killed_during_a_command_leaves_it_undoable() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    let run = open.workspace.begin_run();
    block_on(open.environment.keeper().unwrap().keep(run)).unwrap();
    fs::write(project.path("a.txt"), "half\n").unwrap();
    fs::remove_file(project.path("b.bin")).unwrap();
    drop(open);
    let open = project.open();
    assert_eq!(open.workspace.last_run(), run);
    open.undo();
    check_same(&before, &project.tree());
    assert_eq!(open.workspace.begin_run(), run + 1);
}

#[test]
fn a_text_that_an_earlier_command_of_the_same_run_changed_is_undone_whole_after_a_kill() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.shell("echo first >> a.txt");
    let saved = open.workspace.snapshot();
    let run = open.workspace.last_run();
    block_on(open.environment.keeper().unwrap().keep(run)).unwrap();
    fs::write(project.path("a.txt"), "one\ntwo\nfirst\nsecond\n").unwrap();
    drop(open);
    let after = project.tree();
    let open = project.open();
    open.workspace.restore(saved).unwrap();
    let undone = open.undo();
    assert_eq!((undone.kept, undone.blocked), (vec![], vec![]));
    check_same(&before, &project.tree());
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}

#[test]
fn a_process_that_is_killed_during_a_command_in_a_copy_leaves_shared_directories_undoable() {
    let project = Project::usual();
    let open = project.open_in(Mode::Staged);
    let run = open.workspace.begin_run();
    let copy = block_on(open.environment.scratch(&[])).unwrap();
    block_on(copy.copy_keeper().unwrap().keep(run)).unwrap();
    fs::write(project.path("a.txt"), "mine\n").unwrap();
    fs::remove_file(project.path("out/made.o")).unwrap();
    drop((copy, open));
    let open = project.open();
    assert_eq!(open.workspace.last_run(), run);
    open.undo();
    assert_eq!(fs::read(project.path("out/made.o")).unwrap(), b"old\0");
    assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), "mine\n");
}

#[test]
fn a_process_that_is_killed_during_an_undo_or_redo_leaves_both_possible() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.shell("printf 'c\\0' > b.bin; rm link; chmod 700 run.sh");
    let after = project.tree();
    let undo = KeptUndo { runs: vec![open.workspace.last_run()], ..KeptUndo::default() };
    let half = |open: &Open| {
        let keeper = open.environment.keeper().unwrap();
        block_on(keeper.undo(&undo, UndoStep::BeforeLogs)).unwrap();
    };
    half(&open);
    drop(open);
    let open = project.open();
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
    half(&open);
    drop(open);
    let open = project.open();
    open.undo();
    check_same(&before, &project.tree());
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}

/// The log has kept the user's line, so the text has neither the state from before the command nor the one after it.
#[test]
fn a_text_that_the_log_of_a_killed_undo_had_changed_is_undone() {
    let project = Project::usual();
    let open = project.open();
    open.shell("echo command >> a.txt; rm key");
    fs::write(project.path("a.txt"), "mine\none\ntwo\ncommand\n").unwrap();
    let after = project.tree();
    let (run, path) = (open.workspace.last_run(), FilePath::clean("a.txt").unwrap());
    block_on(open.environment.keeper().unwrap().begin_undo(&[run], 0, &BTreeSet::from([path.clone()]))).unwrap();
    let of_log = RollbackRequest { runs: vec![run], files: Some(vec![path]), ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&of_log)).unwrap();
    let saved = open.workspace.snapshot();
    drop(open);
    let open = project.open();
    open.workspace.restore(saved).unwrap();
    assert_eq!(block_on(open.workspace.catch_up()), Some(FinishedStep::RunsUndone(vec![run])));
    assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), "mine\none\ntwo\n");
    assert!(project.path("key").exists() && !open.workspace.runs().last().unwrap().is_on);
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}

/// Files that become links or directories are removed before these are made.
#[test]
fn files_that_a_killed_undo_or_redo_had_removed_come_back() {
    for is_on in [false, true] {
        let project = Project::usual();
        let before = project.tree();
        let open = project.open();
        open.shell("rm a.txt b.bin link; ln -s key a.txt; mkdir b.bin; echo file > link");
        let after = project.tree();
        if is_on {
            open.undo();
            let line = "{\"switching\":{\"commands\":[0],\"is_on\":true}}\n";
            let record = File::options().append(true).open(project.kept().join("changes.jsonl"));
            std::io::Write::write_all(&mut record.unwrap(), line.as_bytes()).unwrap();
        } else {
            let runs = [open.workspace.last_run()];
            block_on(open.environment.keeper().unwrap().begin_undo(&runs, 0, &BTreeSet::new())).unwrap();
        }
        drop(open);
        for name in ["a.txt", "b.bin", "link"] {
            let path = project.path(name);
            fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
        }
        let open = project.open();
        assert!(block_on(open.workspace.catch_up()).is_some());
        check_same(if is_on { &after } else { &before }, &project.tree());
        if is_on {
            open.undo();
        } else {
            block_on(open.workspace.redo_runs()).unwrap();
        }
        check_same(if is_on { &before } else { &after }, &project.tree());
    }
}

#[test]
fn files_that_change_after_a_process_is_killed_are_the_users() {
    let project = Project::usual();
    let open = project.open();
    let run = open.workspace.begin_run();
    block_on(open.environment.keeper().unwrap().keep(run)).unwrap();
    fs::write(project.path("run.sh"), "half\n").unwrap();
    drop(open);
    // The process was killed long ago, before the user's edits.
    let alive = File::options().write(true).open(project.kept().join("alive")).unwrap();
    alive.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    fs::write(project.path("a.txt"), "mine\n").unwrap();
    fs::write(project.path("new.txt"), "mine\n").unwrap();
    let open = project.open();
    let undone = open.undo();
    assert_eq!(fs::read(project.path("a.txt")).unwrap(), b"mine\n");
    assert_eq!(fs::read(project.path("new.txt")).unwrap(), b"mine\n");
    let named: Vec<&str> = undone.lost.iter().map(|path| path.as_str()).collect();
    assert_eq!(named, ["a.txt", "new.txt", "run.sh"], "the command's part is not known");
}

#[test]
fn lines_of_a_command_in_a_killed_process_are_taken_back_beside_those_of_the_user() {
    // The user adds a line, or replaces that of the command.
    for (text, expected) in [("one\nTWO\nmine\n", Some("one\ntwo\nmine\n")), ("one\nmy two\n", None)] {
        let project = Project::usual();
        let open = project.open();
        let run = open.workspace.begin_run();
        block_on(open.environment.keeper().unwrap().keep(run)).unwrap();
        fs::write(project.path("a.txt"), "one\nTWO\n").unwrap();
        drop(open);
        let open = project.open();
        assert_eq!(open.workspace.runs().last().unwrap().run_id, run);
        fs::write(project.path("a.txt"), text).unwrap();
        let after = project.tree();
        let preview = block_on(open.workspace.preview_undo_runs(&[run])).unwrap();
        let undone = open.undo();
        assert_eq!((preview.restored, preview.blocked), (undone.restored.clone(), undone.blocked.clone()));
        let changed = if expected.is_some() { undone.restored } else { undone.blocked };
        assert_eq!(changed, [FilePath::clean("a.txt").unwrap()]);
        assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), expected.unwrap_or(text));
        assert_eq!(open.workspace.runs().last().unwrap().is_on, expected.is_none());
        if expected.is_some() {
            block_on(open.workspace.redo_runs()).unwrap();
            check_same(&after, &project.tree());
        }
    }
}
