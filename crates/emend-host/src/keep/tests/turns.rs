//! Rollbacks and undos of texts that commands and edits changed in turn, and of a part of what commands changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use emend_agent::environment::FilePath;
use emend_agent::workspace::{Rollback, RollbackMode, RollbackRequest, UndoneRun};
use futures::executor::block_on;
use serde_json::json;

use super::{Open, Project, check_same, difference};
use crate::test_support::as_nobody;

fn edit(open: &Open, path: &str, old: &str, new: &str) {
    open.call("read_file", json!({ "file_path": path })).unwrap();
    open.call("edit_file", json!({ "file_path": path, "old_string": old, "new_string": new })).unwrap();
}

fn write(open: &Open, path: &str, text: &str) {
    let _ = open.call("read_file", json!({ "file_path": path }));
    open.call("write_file", json!({ "file_path": path, "content": text })).unwrap();
}

fn mv(open: &Open, from: &str, to: &str) {
    open.call("read_file", json!({ "file_path": from })).unwrap();
    open.call("move_file", json!({ "from": from, "to": to })).unwrap();
}

fn runs(open: &Open) -> Vec<u64> {
    open.workspace.runs().into_iter().map(|run| run.run_id).collect()
}

fn roll_back(open: &Open, request: RollbackRequest) -> Rollback {
    block_on(open.workspace.rollback(&request)).unwrap()
}

fn hard(open: &Open) -> Rollback {
    roll_back(open, RollbackRequest { mode: RollbackMode::HardAll, runs: runs(open), ..RollbackRequest::default() })
}

fn scoped(open: &Open) -> RollbackRequest {
    RollbackRequest { runs: runs(open), ..RollbackRequest::default() }
}

fn undo(open: &Open) -> UndoneRun {
    block_on(open.workspace.undo_runs(&runs(open))).unwrap()
}

fn paths(names: &[&str]) -> Vec<FilePath> {
    names.iter().map(|name| FilePath::clean(name).unwrap()).collect()
}

/// Returns the number of changes of the agent that a rollback took back in a file, and whether it left the file alone.
#[track_caller]
fn effect_on(rollback: &Rollback, path: &str) -> (usize, bool) {
    let file = rollback.files.iter().find(|file| file.file_path.as_str() == path);
    file.map(|file| (file.reverted, file.refused)).unwrap_or_else(|| panic!("{path} is not in {rollback:?}"))
}

fn text(project: &Project, path: &str) -> String {
    fs::read_to_string(project.path(path)).unwrap()
}

#[test]
fn a_line_of_the_user_stays_at_a_scoped_rollback_after_the_keeper_restored_another_text() {
    let project = Project::usual();
    let open = project.open();
    edit(&open, "a.txt", "one", "1");
    edit(&open, "deep/er/c.txt", "sea", "SEA");
    open.shell("printf 'bin\\0' > a.txt");
    open.shell("printf '1\\ntwo\\n' > a.txt");
    fs::write(project.path("deep/er/c.txt"), "SEA\nmine\n").unwrap();
    let request = scoped(&open);
    let done = roll_back(&open, request);
    assert_eq!(done.kept, []);
    assert_eq!(text(&project, "a.txt"), "one\ntwo\n");
    assert_eq!(text(&project, "deep/er/c.txt"), "sea\nmine\n");
}

/// Ends the process and starts another one with what was saved.
fn again(project: &Project, open: Open) -> Open {
    let saved = serde_json::to_string(&open.workspace.snapshot()).unwrap();
    drop(open);
    let open = project.open();
    open.workspace.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    open
}

#[test]
fn a_hard_rollback_of_named_files_takes_no_command_back() {
    let project = Project::usual();
    let open = project.open();
    edit(&open, "a.txt", "one", "1");
    open.shell("printf 'bin\\0' > a.txt; rm b.bin");
    let after = project.tree();
    let done = roll_back(
        &open,
        RollbackRequest {
            mode: RollbackMode::HardAll,
            runs: runs(&open),
            files: Some(paths(&["a.txt"])),
            ..RollbackRequest::default()
        },
    );
    assert_eq!(effect_on(&done, "a.txt"), (0, true), "{done:?}");
    check_same(&after, &project.tree());
}

#[test]
fn a_scoped_rollback_of_a_part_leaves_the_rest_of_the_command() {
    // By hunks, by files, with a conflict, and with saves that wait.
    for way in ["hunks", "files", "deferred"] {
        let project = Project::usual();
        let open = project.open();
        open.shell("echo x >> a.txt; echo x >> deep/er/c.txt");
        let mut request = scoped(&open);
        let done = match way {
            "hunks" => {
                let checkpoint = open.workspace.checkpoint(request.runs[0]).unwrap();
                let file = checkpoint.files.iter().find(|file| file.file_path.as_str() == "a.txt").unwrap();
                request.hunk_ids = file.hunks.iter().map(|hunk| hunk.hunk_id.clone()).collect();
                roll_back(&open, request)
            }
            "files" => {
                request.files = Some(paths(&["a.txt"]));
                roll_back(&open, request)
            }
            _ => block_on(open.workspace.deferring_saves().rollback(&request)).unwrap(),
        };
        assert_eq!((effect_on(&done, "a.txt"), &done.kept), ((1, false), &vec![]), "{way}");
        let expected = if way == "deferred" { "one\ntwo\nx\n" } else { "one\ntwo\n" };
        assert_eq!(
            (text(&project, "a.txt"), text(&project, "deep/er/c.txt")),
            (expected.to_owned(), "sea\nx\n".to_owned()),
            "{way}"
        );
        assert!(way == "deferred" || open.workspace.runs()[0].is_on, "{way}");
    }
}

#[test]
fn a_scoped_rollback_with_a_conflict_leaves_the_command_in_effect() {
    let project = Project::usual();
    let open = project.open();
    open.shell("printf 'x\\ny\\nz\\n' >> a.txt; echo x >> deep/er/c.txt");
    fs::write(project.path("a.txt"), "one\ntwo\nx\nmine\nz\n").unwrap();
    let request = scoped(&open);
    let done = roll_back(&open, request);
    assert_eq!(done.kept, []);
    assert!(done.files.iter().any(|file| !file.conflicts.is_empty()), "{done:?}");
    assert!(open.workspace.runs()[0].is_on);
    assert_eq!(text(&project, "deep/er/c.txt"), "sea\n");
}

#[test]
fn a_hard_rollback_names_a_text_in_the_place_of_a_directory_that_was_a_text_before() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    edit(&open, "a.txt", "one", "1");
    open.shell("rm a.txt; mkdir a.txt; echo in > a.txt/in");
    open.shell("rm -r a.txt; echo file > a.txt");
    edit(&open, "a.txt", "file", "FILE");
    let done = hard(&open);
    assert_eq!(effect_on(&done, "a.txt"), (2, false), "{done:?}");
    check_same(&before, &project.tree());
}

#[test]
fn a_hard_rollback_names_the_edit_in_a_directory_that_a_command_closed() {
    as_nobody(|| {
        let project = Project::usual();
        let before = project.tree();
        let open = project.open();
        edit(&open, "deep/er/c.txt", "sea", "SEA");
        open.shell("chmod 000 deep/er");
        let done = hard(&open);
        assert_eq!((effect_on(&done, "deep/er/c.txt"), &done.kept), ((1, false), &vec![]), "{done:?}");
        check_same(&before, &project.tree());
    });
}

/// A step of the agent at `a.txt`.
enum Turn {
    Command(&'static str),
    Edit(&'static str, &'static str),
    Write(&'static str),
}
use Turn::{Command, Edit, Write};

#[test]
fn a_hard_rollback_takes_edits_and_commands_of_one_path_back_in_turns() {
    let (link, binary) = ("rm a.txt; ln -s run.sh a.txt", "printf 'b\\0' > a.txt");
    let directory = "rm a.txt; mkdir a.txt";
    let text = || [Command("rm a.txt; echo x > a.txt"), Edit("x", "y")];
    let first = || Edit("one", "1");
    for (case, turns) in [
        vec![first(), Command(link)],
        vec![first(), Command(link), Command("rm a.txt"), Command(binary)],
        [first(), Command(link)].into_iter().chain(text()).chain([Command("rm a.txt; ln -s key a.txt")]).collect(),
        [first(), Command(binary)].into_iter().chain(text()).chain([Command(binary)]).collect(),
        vec![first(), Command(directory), Command("rmdir a.txt"), Write("y\n"), Command(directory)],
        vec![Command(link), Command("rm a.txt"), Write("y\n")],
    ]
    .into_iter()
    .enumerate()
    {
        let project = Project::usual();
        let before = project.tree();
        let open = project.open();
        for turn in turns {
            match turn {
                Command(command) => drop(open.shell(command)),
                Edit(old, new) => edit(&open, "a.txt", old, new),
                Write(text) => write(&open, "a.txt", text),
            }
        }
        let done = hard(&open);
        assert_eq!(difference(&before, &project.tree()), None, "case {case}: {done:?}");
        assert_eq!((&done.kept, effect_on(&done, "a.txt").1), (&vec![], false), "case {case}: {done:?}");
        assert!(open.workspace.runs().iter().all(|run| !run.is_on), "case {case}");
    }
}

#[test]
fn an_undo_in_turns_names_each_path_that_it_restored() {
    let project = Project::usual();
    fs::create_dir(project.path("bin")).unwrap();
    fs::write(project.path("bin/in"), b"b\0").unwrap();
    let before = project.tree();
    let open = project.open();
    edit(&open, "a.txt", "one", "1");
    open.shell("rm -r a.txt bin; ln -s run.sh a.txt; ln -s out bin");
    open.shell("rm a.txt bin; echo x > a.txt; echo x > bin");
    edit(&open, "a.txt", "x", "y");
    edit(&open, "bin", "x", "y");
    let undone = undo(&open);
    assert_eq!(undone.restored, paths(&["a.txt", "bin", "bin/in"]));
    check_same(&before, &project.tree());
}

#[test]
fn an_undo_in_turns_keeps_the_line_of_the_user_and_names_the_text() {
    for replaced in ["rm key; ln -s a.txt key", "printf 'b\\0' > key", "rm key; mkdir key"] {
        let project = Project::usual();
        fs::write(project.path("key"), "1\n2\n3\n4\n5\n6\n").unwrap();
        let open = project.open();
        edit(&open, "key", "1", "one");
        edit(&open, "key", "6", "six");
        fs::write(project.path("key"), "mine\n2\n3\n4\n5\nsix\n").unwrap();
        open.call("read_file", json!({ "file_path": "key" })).unwrap();
        open.shell(replaced);
        open.shell("rm -r key; echo x > key");
        edit(&open, "key", "x", "y");
        let undone = undo(&open);
        assert_eq!(
            (undone.restored, undone.kept, undone.blocked),
            (paths(&["key"]), paths(&["key"]), vec![]),
            "{replaced}"
        );
        assert_eq!(text(&project, "key"), "mine\n2\n3\n4\n5\n6\n", "{replaced}");
    }
}

#[test]
fn an_undo_names_a_text_that_it_restored_in_part_beside_a_line_of_the_user() {
    let project = Project::usual();
    fs::write(project.path("key"), "1\n2\n3\n4\n5\n6\n").unwrap();
    let open = project.open();
    edit(&open, "key", "1", "one");
    edit(&open, "key", "6", "six");
    fs::write(project.path("key"), "mine\n2\n3\n4\n5\nsix\n").unwrap();
    open.shell("rm key; ln -s a.txt key");
    let undone = undo(&open);
    assert_eq!(text(&project, "key"), "mine\n2\n3\n4\n5\n6\n");
    assert_eq!((undone.restored, undone.kept), (paths(&["key"]), paths(&["key"])));
}

#[test]
fn an_undone_edit_after_a_command_does_not_delay_its_undo() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    edit(&open, "deep/er/c.txt", "sea", "SEA");
    open.shell("rm -r deep; ln -s out deep");
    open.shell("rm deep; echo x > deep");
    edit(&open, "deep", "x", "y");
    block_on(open.workspace.undo_runs(&[open.workspace.last_run()])).unwrap();
    let undone = undo(&open);
    assert_eq!((undone.kept, undone.blocked), (vec![], vec![]));
    check_same(&before, &project.tree());
}

#[test]
fn a_hard_rollback_puts_a_directory_back_in_the_place_of_an_edited_text() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.shell("rm -r deep; echo file > deep");
    edit(&open, "deep", "file", "FILE");
    let done = hard(&open);
    assert_eq!(done.kept, []);
    check_same(&before, &project.tree());
}

#[test]
fn a_hard_rollback_takes_an_edit_back_after_a_directory_in_its_place_has_lost_its_edited_text() {
    let project = Project::usual();
    fs::set_permissions(project.path("a.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    let before = project.tree();
    let open = project.open();
    mv(&open, "a.txt", "old");
    mv(&open, "run.sh", "a.txt");
    edit(&open, "a.txt", "sh", "SH");
    open.shell("rm a.txt; mkdir a.txt; echo in > a.txt/in");
    edit(&open, "a.txt/in", "in", "IN");
    // A later process does not know the mode bits of the files that were removed.
    let open = again(&project, open);
    let done = hard(&open);
    check_same(&before, &project.tree());
    assert_eq!(done.kept, []);
}

#[test]
fn edits_before_and_after_commands_that_made_the_text_something_else_are_undone() {
    let delete = json!({ "patch": "*** Begin Patch\n*** Delete File: key\n*** End Patch" });
    for between in ["printf 'b\\0' > key", "rm key; ln -s a.txt key", "rm key; mkdir key"] {
        for has_last in [true, false] {
            let project = Project::usual();
            let before = project.tree();
            let open = project.open();
            open.call("read_file", json!({ "file_path": "key" })).unwrap();
            open.call("apply_patch", delete.clone()).unwrap();
            write(&open, "key", "new\n");
            open.shell(between);
            open.shell("rm -r key; echo x > key");
            if has_last {
                edit(&open, "key", "x", "y");
            }
            let changed = project.tree();
            let undone = undo(&open);
            assert_eq!((undone.kept, undone.blocked), (vec![], vec![]), "{between} {has_last}");
            check_same(&before, &project.tree());
            block_on(open.workspace.redo_runs()).unwrap();
            check_same(&changed, &project.tree());
        }
    }
}

#[test]
fn an_edit_in_a_directory_is_undone_after_an_edit_of_the_file_in_its_place() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    edit(&open, "deep/er/c.txt", "sea", "SEA");
    open.shell("rm -r deep; echo x > deep");
    edit(&open, "deep", "x", "y");
    let changed = project.tree();
    let undone = undo(&open);
    assert_eq!((undone.kept, undone.blocked), (vec![], vec![]));
    check_same(&before, &project.tree());
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&changed, &project.tree());
}
