//! Paths that become something else: a file becomes a directory, a directory becomes a file or a link. Tools and commands
//! both do it, in one run or in several.

use std::fs;

use emend_agent::workspace::{RollbackMode, RollbackRequest, UndoneRun};
use futures::executor::block_on;
use serde_json::{Value, json};

use super::{Open, Project, difference};

type Call = (&'static str, Value);

fn shell(command: &str) -> Call {
    ("shell", json!({ "command": command, "timeout_ms": 60_000 }))
}

fn moved(from: &str, to: &str) -> Call {
    ("move_file", json!({ "from": from, "to": to }))
}

fn edited(path: &str, old: &str, new: &str) -> Call {
    ("edit_file", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

fn deleted(path: &str) -> Call {
    ("apply_patch", json!({ "patch": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch") }))
}

fn project() -> Project {
    let project = Project::usual();
    fs::write(project.path("out/text"), "one\ntwo\n").unwrap();
    project
}

#[track_caller]
fn call(open: &Open, (tool, arguments): &Call) {
    if let Some(path) = arguments.get("file_path") {
        let _ = open.call("read_file", json!({ "file_path": path }));
    }
    let done = open.call(tool, arguments.clone());
    assert!(done.is_ok(), "{tool} {arguments}: {:?}", done.err().map(|error| error.message));
}

fn runs(open: &Open) -> Vec<u64> {
    open.workspace.runs().into_iter().map(|run| run.run_id).collect()
}

/// Ends the process and starts another one with what was saved.
fn again(project: &Project, open: Open) -> Open {
    let saved = open.workspace.snapshot();
    drop(open);
    let open = project.open();
    open.workspace.restore(saved).unwrap();
    open
}

/// Makes the calls, undoes them together in the same process or in a later one, redoes and undoes them again.
#[track_caller]
fn check(calls: &[Call]) {
    check_ways(&[(false, false), (true, false), (false, true)], calls);
}

/// Checks undos in the same process or a later one, and hard rollbacks instead of undos.
#[track_caller]
fn check_ways(ways: &[(bool, bool)], calls: &[Call]) {
    for &(is_later, is_hard) in ways {
        let project = project();
        let before = project.tree();
        let mut open = project.open();
        calls.iter().for_each(|one| call(&open, one));
        let after = project.tree();
        let undo = |open: &Open, what: &str| {
            let runs = runs(open);
            let left = if is_hard {
                let request = RollbackRequest { mode: RollbackMode::HardAll, runs, ..RollbackRequest::default() };
                let done = block_on(open.workspace.rollback(&request)).unwrap();
                let refused = done.files.into_iter().filter(|file| file.refused).map(|file| file.file_path);
                refused.chain(done.kept).collect::<Vec<_>>()
            } else {
                let undone = block_on(open.workspace.undo_runs(&runs)).unwrap();
                [undone.kept, undone.blocked, undone.refused].concat()
            };
            let found = difference(&before, &project.tree());
            assert_eq!((found, left), (None, vec![]), "{what} of {calls:?}, hard: {is_hard}");
            let on: Vec<_> = open.workspace.runs().into_iter().filter(|run| run.is_on).collect();
            assert!(on.is_empty(), "{what} of {calls:?} is not recorded of {on:?}, hard: {is_hard}");
        };
        undo(&open, "undo");
        if is_later {
            open = again(&project, open);
        }
        // Texts and other files of one undo may be redone apart.
        (0..calls.len()).for_each(|_| drop(block_on(open.workspace.redo_runs())));
        assert_eq!(difference(&after, &project.tree()), None, "redo of {calls:?}, hard: {is_hard}");
        undo(&open, "undo again");
    }
}

#[test]
fn a_file_that_tools_or_commands_replace_by_a_directory_comes_back() {
    check(&[moved("a.txt", "tmp"), moved("tmp", "a.txt/index")]);
    check(&[deleted("a.txt"), ("write_file", json!({ "file_path": "a.txt/in/new", "content": "new\n" }))]);
    check(&[shell("rm a.txt"), shell("mkdir a.txt; echo in > a.txt/in")]);
    check(&[shell("echo x >> a.txt"), shell("rm a.txt"), shell("mkdir -p a.txt/b; echo in > a.txt/b/in")]);
    check(&[moved("a.txt", "g"), shell("mkdir a.txt; echo in > a.txt/in; printf '\\0' > a.txt/bin")]);
    check(&[shell("mv a.txt tmp"), shell("mkdir a.txt"), shell("mv tmp a.txt/index")]);
}

#[test]
fn a_text_that_was_moved_and_made_binary_in_turn_comes_back() {
    let binary = |path: &str| shell(&format!("rm -rf {path}; printf '9\\0' > {path}"));
    for (from, to, text) in [("a.txt", "new", "two"), ("deep/er/c.txt", "new", "sea")] {
        let [there, back] = [shell(&format!("mv -T {from} {to}")), shell(&format!("mv -T {to} {from}"))];
        check(&[there.clone(), binary(from), back.clone(), edited(from, text, "agent")]);
        check(&[there, back, binary(from)]);
        let [there, back] = [moved(from, to), moved(to, from)];
        check(&[there.clone(), binary(from), shell(&format!("mv -T {to} {from}")), edited(from, text, "agent")]);
        check(&[there, back, binary(from)]);
    }
    check(&[
        shell("rm -rf a.txt"),
        ("write_file", json!({ "file_path": "a.txt/in", "content": "in\n" })),
        binary("a.txt"),
    ]);
}

#[test]
fn a_file_that_runs_wrote_and_changed_by_a_command_goes_with_a_scoped_rollback() {
    let project = project();
    let before = project.tree();
    let open = project.open();
    call(&open, &("write_file", json!({ "file_path": "new.txt", "content": "one\n" })));
    call(&open, &shell("sed -i s/one/two/ new.txt"));
    let request = RollbackRequest { runs: runs(&open), ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    assert_eq!(difference(&before, &project.tree()), None);
}

#[test]
fn a_directory_that_commands_replace_by_a_file_comes_back() {
    check(&[shell("mv deep shallow"), shell("mv a.txt deep")]);
    check(&[shell("echo x >> deep/er/c.txt"), shell("rm -r deep"), shell("echo file > deep")]);
    check(&[shell("chmod 700 deep; printf '\\0' > deep/bin"), shell("rm -r deep"), shell("echo file > deep")]);
}

#[test]
fn an_empty_file_below_a_directory_that_was_a_file_meanwhile_comes_back() {
    check(&[
        shell("mkdir d; echo c > d/c.txt; : > d/empty"),
        shell("rm -r d; echo file > d"),
        shell("rm d; mkdir d; : > d/empty"),
    ]);
    let project = project();
    fs::create_dir(project.path("d")).unwrap();
    fs::write(project.path("d/empty"), "").unwrap();
    let before = project.tree();
    let open = project.open();
    call(&open, &shell("rm -r d; echo file > d"));
    call(&open, &shell("rm d; mkdir d; : > d/empty"));
    let undone = block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
    assert_eq!(difference(&before, &project.tree()), None, "{undone:?}");
    assert_eq!((undone.kept, undone.blocked), (vec![], vec![]));
}

#[test]
fn a_line_of_the_user_in_a_file_in_the_place_of_a_directory_is_named_at_the_undo() {
    for last in ["rm deep", "mv deep elsewhere", "true"] {
        let project = project();
        let before = project.tree();
        let open = project.open();
        call(&open, &shell("rm -r deep; echo file > deep"));
        fs::write(project.path("deep"), "file\nmine\n").unwrap();
        call(&open, &shell(last));
        let undone = block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
        let named = [undone.kept.clone(), undone.blocked.clone()].concat();
        assert!(named.iter().any(|path| path.as_str() == "deep"), "{last}: {undone:?}");
        if last == "true" {
            assert_eq!(fs::read_to_string(project.path("deep")).unwrap(), "file\nmine\n");
        } else {
            assert_eq!(difference(&before, &project.tree()), None, "{last}");
        }
    }
}

#[test]
fn a_preview_shows_the_texts_of_a_directory_in_whose_place_a_file_is() {
    let project = project();
    let before = project.tree();
    let open = project.open();
    call(&open, &shell("rm -r deep; echo file > deep"));
    let preview = block_on(open.workspace.preview_undo_runs(&runs(&open))).unwrap();
    let texts = block_on(open.workspace.texts_of_runs(&runs(&open), None)).unwrap();
    let shown: Vec<_> = texts.iter().map(|text| (text.path.as_str(), text.before.as_deref(), &text.after)).collect();
    assert_eq!(shown, [("deep/er/c.txt", Some("sea\n"), &None)]);
    let undone = block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
    assert_eq!(difference(&before, &project.tree()), None);
    let found = |undone: &UndoneRun| undone.restored.iter().any(|path| path.as_str() == "deep/er/c.txt");
    assert!(found(&preview) && found(&undone), "{preview:?} {undone:?}");
    assert_eq!((preview.kept, preview.blocked), (undone.kept, undone.blocked));
}

#[test]
fn a_text_below_a_replaced_directory_comes_back_at_a_hard_rollback() {
    let project = project();
    let before = project.tree();
    let open = project.open();
    for one in ["rm -r deep; echo 7 > deep", "chmod 755 deep", "rm -rf deep; echo 14 > deep"] {
        call(&open, &shell(one));
    }
    let after = project.tree();
    let request = RollbackRequest { mode: RollbackMode::HardAll, runs: runs(&open), ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    assert_eq!(difference(&before, &project.tree()), None);
    block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!(difference(&after, &project.tree()), None);
}

#[test]
fn commands_and_edits_of_one_path_are_undone_in_turns() {
    let written = |path: &str, text: &str| ("write_file", json!({ "file_path": path, "content": text }));
    // The text of the command is there again, by a later edit.
    check(&[
        shell("rm a.txt; ln -s other a.txt"),
        shell("rm a.txt; echo x > a.txt"),
        deleted("a.txt"),
        written("a.txt", "x\n"),
    ]);
    // A file with a second name has no line log.
    check(&[shell("echo x >> a.txt"), shell("ln -f deep/er/c.txt a.txt"), deleted("a.txt")]);
    check(&[shell("ln deep/er/c.txt new.txt"), deleted("new.txt")]);
}

#[test]
fn a_directory_that_was_moved_twice_leaves_nothing_behind() {
    let calls =
        [shell("mv deep/er moved; mkdir deep/er; mv moved deep/er/in"), shell("mv deep other; ln -s other deep")];
    check(&calls);
    check(&[shell("mkdir -p new/in; echo in > new/in/text"), shell("mv new/in b.txt; rmdir new")]);
}

#[test]
fn a_directory_comes_back_although_a_text_was_in_its_place_meanwhile() {
    check(&[shell("rm -r deep/er; echo file > deep/er"), shell("rm deep/er")]);
    check(&[shell("rm -r deep/er; echo file > deep/er"), shell("rm -rf ./*")]);
    check(&[shell("echo y >> deep/er/c.txt"), shell("rm -r deep; echo file > deep"), shell("rm -rf ./*")]);
}

#[test]
fn a_directory_comes_back_with_its_texts_although_the_text_in_its_place_was_changed() {
    let replaced = || shell("rm -r deep/er; echo file > deep/er");
    check(&[replaced(), shell("echo more >> deep/er")]);
    check(&[replaced(), shell("mv -T a.txt deep/er")]);
    check(&[replaced(), edited("deep/er", "file", "FILE")]);
    check(&[replaced(), shell("echo more >> deep/er"), shell("mv deep/er moved; ln -s moved deep/er")]);
    check(&[shell("rm -r deep"), moved("a.txt", "deep/er")]);
}

#[test]
fn a_text_comes_back_although_a_directory_and_another_text_were_in_its_place() {
    let directory = || shell("mv a.txt moved; mkdir a.txt; mv moved a.txt/in");
    check(&[directory(), shell("rm -r a.txt; echo file > a.txt"), moved("a.txt", "other")]);
}

#[test]
fn a_file_in_the_place_of_a_directory_that_went_with_its_last_text_is_redone() {
    let binary = || shell("rm -r new; printf '\\0' > new");
    check(&[("write_file", json!({ "file_path": "new/in", "content": "new\n" })), binary()]);
}

#[test]
fn a_text_whose_directory_gave_way_to_a_file_in_the_undo_is_redone() {
    let binary = || shell("rm -r new; printf '\\0' > new");
    check(&[shell("mkdir new; echo x > new/in"), binary(), shell("rm new; mkdir new; echo y > new/in")]);
}

#[test]
fn texts_before_and_after_directories_in_their_place_are_redone() {
    check(&[
        moved("deep/er/c.txt", "new"),
        shell("mkdir deep/er/c.txt; echo in > deep/er/c.txt/in"),
        shell("rm -r deep; mkdir deep; echo in > deep/in"),
        shell("echo file > deep/er"),
    ]);
}

#[test]
fn a_moved_text_comes_back_although_commands_put_another_file_there_and_the_text_again() {
    let back = || shell("rm run.sh; printf '#!/bin/sh\\n' > run.sh");
    check(&[moved("run.sh", "other"), shell("cp -a b.bin run.sh"), back()]);
}

#[test]
fn an_edit_that_follows_a_link_in_the_place_of_the_text_is_redone() {
    let edit = || ("write_file", json!({ "file_path": "a.txt", "content": "new\n" }));
    check(&[shell("mv a.txt moved; ln -s moved a.txt"), shell("rm a.txt"), edit()]);
}

#[test]
fn mode_bits_of_files_that_edits_exchanged_are_undone_and_redone() {
    check(&[moved("run.sh", "old"), moved("a.txt", "run.sh")]);
    check(&[moved("run.sh", "old"), moved("a.txt", "run.sh"), moved("old", "a.txt")]);
    check(&[moved("run.sh", "old"), moved("a.txt", "run.sh"), shell("chmod 600 run.sh")]);
}

#[test]
fn texts_of_a_directory_that_a_command_moved_and_linked_come_back() {
    check(&[shell("mv deep dd; ln -s dd deep; echo y >> deep/er/c.txt")]);
    check(&[edited("deep/er/c.txt", "sea", "SEA"), shell("mv deep dd; ln -s dd deep")]);
}

#[test]
fn a_text_in_an_ignored_directory_is_undone_after_an_edit_and_a_command() {
    for command in ["sed -i s/one/1/ out/text", "echo x >> out/text", "rm out/text", "rm -r out"] {
        check(&[edited("out/text", "two", "TWO"), shell(command)]);
    }
    check(&[shell("echo gen > out/gen"), edited("out/gen", "gen", "GEN"), shell("echo gen2 > out/gen")]);
}

#[test]
fn an_edited_text_that_a_command_replaces_is_undone_and_recorded_as_undone() {
    check(&[deleted("a.txt"), shell("ln -s run.sh a.txt")]);
    check(&[moved("a.txt", "g"), shell("head -c 100 /dev/zero > a.txt")]);
    check(&[edited("a.txt", "two", "TWO"), shell("ln -sf g a.txt")]);
    check(&[edited("a.txt", "two", "TWO"), shell("head -c 100 /dev/zero > a.txt")]);
}

#[test]
fn a_directory_with_a_file_of_the_user_does_not_give_way() {
    for calls in [
        [moved("a.txt", "tmp"), moved("tmp", "a.txt/index")],
        [shell("rm a.txt"), shell("mkdir a.txt; echo in > a.txt/index")],
    ] {
        let project = project();
        let open = project.open();
        calls.iter().for_each(|one| call(&open, one));
        fs::write(project.path("a.txt/mine"), "mine\n").unwrap();
        let undone = block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
        let kept: Vec<&str> = undone.kept.iter().map(|path| path.as_str()).collect();
        assert_eq!(kept, ["a.txt"], "{calls:?}");
        assert!(!project.path("a.txt/index").exists(), "{calls:?}");
        assert_eq!(fs::read_to_string(project.path("a.txt/mine")).unwrap(), "mine\n");
        // When the user has moved it away, the rest of the undo is possible.
        fs::remove_dir_all(project.path("a.txt")).unwrap();
        block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
        assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), "one\ntwo\n", "{calls:?}");
    }
}

#[test]
fn a_text_comes_back_in_the_place_of_a_directory_in_which_a_text_was_edited() {
    let directory = || shell("rm a.txt; mkdir a.txt; printf 'in\\nx\\n' > a.txt/in");
    for calls in [
        vec![directory(), edited("a.txt/in", "in", "IN")],
        vec![edited("a.txt", "two", "TWO"), directory(), edited("a.txt/in", "in", "IN")],
        vec![edited("a.txt", "two", "TWO"), directory(), edited("a.txt/in", "in", "IN"), moved("a.txt/in", "a.txt/on")],
    ] {
        let project = project();
        let before = project.tree();
        let open = project.open();
        calls.iter().for_each(|one| call(&open, one));
        let after = project.tree();
        let undone = block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
        assert_eq!([undone.kept, undone.blocked, undone.refused].concat(), [], "{calls:?}");
        assert_eq!(difference(&before, &project.tree()), None, "{calls:?}");
        assert_eq!(block_on(open.workspace.redo_runs()).unwrap().kept, [], "{calls:?}");
        assert_eq!(difference(&after, &project.tree()), None, "{calls:?}");
    }
}

#[test]
fn a_file_of_the_user_in_the_place_of_a_directory_stays() {
    let project = project();
    let open = project.open();
    call(&open, &shell("rm -r deep"));
    fs::write(project.path("deep"), "mine\n").unwrap();
    let undone = block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
    assert!(undone.kept.iter().any(|path| path.as_str() == "deep/er/c.txt"), "{undone:?}");
    assert_eq!(fs::read_to_string(project.path("deep")).unwrap(), "mine\n");
}

#[test]
fn moved_files_get_their_mode_bits_back_although_a_later_command_on_them_was_undone() {
    let project = project();
    let before = project.tree();
    let open = project.open();
    call(&open, &moved("key", "old-key"));
    call(&open, &moved("a.txt", "key"));
    let edits = runs(&open);
    call(&open, &shell("rm key; mkdir key; echo in > key/in"));
    block_on(open.workspace.undo_runs(&[open.workspace.last_run()])).unwrap();
    block_on(open.workspace.undo_runs(&edits)).unwrap();
    assert_eq!(difference(&before, &project.tree()), None);
}

#[test]
fn a_file_gets_its_mode_bits_back_although_a_later_edit_in_its_place_was_undone_before() {
    let project = project();
    let before = project.tree();
    let open = project.open();
    call(&open, &moved("run.sh", "old"));
    call(&open, &moved("a.txt", "run.sh"));
    for run in runs(&open).into_iter().rev() {
        block_on(open.workspace.undo_runs(&[run])).unwrap();
    }
    assert_eq!(difference(&before, &project.tree()), None);
}

#[test]
fn a_directory_made_for_a_text_goes_with_a_directory_that_a_command_moved_into_it() {
    let project = project();
    fs::create_dir(project.path("sub")).unwrap();
    fs::write(project.path("sub/text"), "text\n").unwrap();
    let before = project.tree();
    let open = project.open();
    call(&open, &("write_file", json!({ "file_path": "new/in", "content": "new\n" })));
    call(&open, &shell("mv sub new/"));
    block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
    assert_eq!(difference(&before, &project.tree()), None);
}

#[test]
fn a_redo_in_the_place_of_a_directory_redoes_no_older_undo() {
    let project = project();
    let open = project.open();
    let mut trees = vec![project.tree()];
    for one in [shell("rm -r deep/er; echo file > deep/er; echo more >> deep/er"), shell("chmod 600 run.sh; rm b.bin")]
    {
        call(&open, &one);
        trees.push(project.tree());
    }
    for run in runs(&open).into_iter().rev() {
        block_on(open.workspace.undo_runs(&[run])).unwrap();
    }
    assert_eq!(difference(&trees[0], &project.tree()), None);
    for tree in &trees[1..] {
        block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!(difference(tree, &project.tree()), None);
    }
}

#[test]
fn an_edit_in_the_place_of_a_directory_is_redone_without_an_older_undo() {
    let project = project();
    let open = project.open();
    call(&open, &shell("rm -r deep/er; echo file > deep/er"));
    call(&open, &edited("deep/er", "file", "FILE"));
    let first = runs(&open);
    let middle = project.tree();
    call(&open, &shell("rm b.bin"));
    let last = project.tree();
    block_on(open.workspace.undo_runs(&[open.workspace.last_run()])).unwrap();
    block_on(open.workspace.undo_runs(&first)).unwrap();
    for tree in [&middle, &last] {
        block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!(difference(tree, &project.tree()), None);
    }
}

#[test]
fn a_redo_leaves_texts_that_went_with_their_directory_and_came_back_with_it() {
    for between in ["echo f > deep/er", "printf 'f\\0' > deep/er", "ln -s ../a.txt deep/er", "ln -s nowhere deep/er"] {
        let project = project();
        let before = project.tree();
        let open = project.open();
        open.shell(&format!("rm -r deep/er; {between}"));
        open.shell("rm deep/er; mkdir deep/er; echo sea > deep/er/c.txt; echo b > a.txt");
        let after = project.tree();
        let undone = block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
        let left = [undone.kept, undone.blocked, undone.refused].concat();
        assert_eq!((difference(&before, &project.tree()), left), (None, vec![]), "{between}");
        let redone = block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!((difference(&after, &project.tree()), redone.kept), (None, vec![]), "{between}");
    }
}

/// Undoes the last run with an effect until none has one, as repeated `emend undo` do.
fn undo_one_by_one(open: &Open) {
    for run in runs(open).into_iter().rev() {
        block_on(open.workspace.undo_runs(&[run])).unwrap();
    }
}

#[test]
fn texts_below_a_directory_that_a_file_of_the_user_keeps_come_back_run_by_run() {
    let later = [
        "rm deep/er; mkdir deep/er; : > deep/er/empty; echo new > deep/er/new",
        "rm deep/er; mkdir deep/er; echo sea > deep/er/c.txt",
        "rm deep/er; mkdir deep/er; echo sea > deep/er/c.txt; : > deep/er/empty; echo b > a.txt",
    ];
    for (second, is_later) in later.iter().flat_map(|second| [(second, false), (second, true)]) {
        let project = project();
        fs::write(project.path("deep/er/empty"), "").unwrap();
        let before = project.tree();
        let mut open = project.open();
        open.shell("rm -r deep/er; echo file > deep/er");
        open.shell(second);
        fs::write(project.path("deep/er/mine"), "mine\n").unwrap();
        undo_one_by_one(&open);
        if is_later {
            open = again(&project, open);
        }
        // The later run still has an effect on the directory, and on no text.
        undo_one_by_one(&open);
        assert_eq!(fs::read_to_string(project.path("deep/er/mine")).unwrap(), "mine\n", "{second}");
        fs::remove_file(project.path("deep/er/mine")).unwrap();
        assert_eq!(difference(&before, &project.tree()), None, "{second}");
    }
}
