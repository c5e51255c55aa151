//! Undo of entries that no copy of a text holds.
//!
//! They are files over the size limit, names that are not UTF-8, repositories, hard links, pipes, directories without write
//! permission, and mode bits beside edits.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use emend_agent::workspace::{RollbackMode, RollbackRequest};

use super::super::pack::BYTES_MAX;
use super::*;
use crate::test_support::as_nobody;

/// Returns a project with a file whose content is not stored. Applies to this thread, thus to this test.
fn with_large_file() -> Project {
    BYTES_MAX.set(Some(1_000));
    let project = Project::usual();
    fs::create_dir(project.path("data")).unwrap();
    fs::write(project.path("data/model.bin"), [b'm'; 5_000]).unwrap();
    project
}

#[test]
fn a_file_without_a_copy_survives_undo_and_redo() {
    for command in [
        "mv data/model.bin data/m2.bin",
        "mv data moved",
        "head -c 9000 /dev/zero > big.new",
        "head -c 7000 /dev/zero > b.bin",
        "mv data/model.bin a.txt",
        "mv data/model.bin b.bin; mkdir data/model.bin",
        "chmod 600 data/model.bin; head -c 3000 /dev/zero > .env",
        "ln data/model.bin one; ln data/model.bin two; rm data/model.bin one",
    ] {
        check_undone_in(with_large_file, command);
    }
}

#[test]
fn an_undo_moves_the_only_copy_aside_rather_than_deleting_it() {
    let project = with_large_file();
    let open = project.open();
    open.shell("tr m n < data/model.bin > only.bin");
    open.undo();
    assert!(!project.path("only.bin").exists());
    // Nothing can redo that run any more. The bytes are still there.
    open.shell("echo x > a.txt");
    let aside = fs::read_dir(project.kept().join("aside")).unwrap().flatten();
    let contents: Vec<Vec<u8>> = aside.map(|file| fs::read(file.path()).unwrap()).collect();
    assert_eq!(contents, [vec![b'n'; 5_000]]);
}

#[test]
fn a_file_without_a_copy_that_the_user_changed_since_stays() {
    let project = with_large_file();
    let open = project.open();
    open.shell("mv data/model.bin data/m2.bin");
    fs::write(project.path("data/m2.bin"), [b'u'; 5_000]).unwrap();
    let undone = open.undo();
    assert_eq!(fs::read(project.path("data/m2.bin")).unwrap(), [b'u'; 5_000]);
    assert!(undone.blocked.iter().any(|path| path.as_str() == "data/m2.bin"), "{undone:?}");
}

#[test]
fn a_run_whose_only_change_is_lost_is_still_the_last_run() {
    let project = with_large_file();
    let open = project.open();
    open.shell("echo x > a.txt");
    let data = open.shell(": > data/model.bin");
    assert_eq!(data["not_undoable"], json!(["data/model.bin"]));
    let is_on = || open.workspace.runs().iter().map(|run| run.is_on).collect::<Vec<_>>();
    assert_eq!(is_on(), [true, true]);
    let undone = open.undo();
    assert_eq!((undone.restored.len(), undone.lost.len()), (0, 1));
    assert_eq!(is_on(), [true, true]);
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs)).unwrap();
    assert_eq!(
        (is_on(), fs::read_to_string(project.path("a.txt")).unwrap()),
        (vec![false; 2], "one\ntwo\n".to_owned())
    );
}

fn with_odd_names() -> Project {
    let project = Project::usual();
    fs::write(project.root().join(OsStr::from_bytes(b"caf\xe9.txt")), "coffee\n").unwrap();
    let directory = project.root().join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("in"), "inside\n").unwrap();
    symlink(OsStr::from_bytes(b"caf\xe9.txt"), project.path("to-coffee")).unwrap();
    project
}

#[test]
fn names_that_are_not_utf8_are_undone() {
    for command in [
        "rm *.txt",
        "mv caf* x.txt; echo y > $'caf\\xe9.txt'",
        "rm -r d?*",
        "chmod 600 caf*; rm to-coffee",
        "mkdir $'n\\xe9'; echo new > $'n\\xe9/\\xff'; ln -sfn $'n\\xe9' to-coffee",
    ] {
        check_undone_in(with_odd_names, command);
    }
    let project = with_odd_names();
    let open = project.open();
    assert_eq!(open.shell("rm caf*")["changed"], json!(["caf\\xe9.txt"]));
    assert_eq!(open.undo().restored, [emend_agent::environment::FilePath::clean("caf\\xe9.txt").unwrap()]);
}

/// Returns a project with a repository at the root and one below it.
fn with_repositories() -> Project {
    let project = Project::usual();
    for root in ["", "sub/"] {
        for (path, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            ("config", "[core]\n"),
            ("refs/heads/main", "c0\n"),
            ("objects/c0/1", "object\n"),
            ("hooks/sample", "#\n"),
            ("index", "DIRC"),
            ("logs/HEAD", "c0\n"),
        ] {
            let path = project.path(&format!("{root}.git/{path}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    project
}

#[test]
fn what_a_command_changes_in_repositories_is_undone() {
    for command in [
        "rm -rf .git",
        "rm -rf sub",
        "echo evil > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
        "echo evil >> .git/config; echo x > a.txt",
        "rm .git/refs/heads/main .git/objects/c0/1 .git/index",
        "echo c1 > .git/refs/heads/main; echo DIRX > .git/index",
        "mkdir -p new/.git/objects/aa new/.git/refs/heads; echo o > new/.git/objects/aa/bb; echo x > new/.git/HEAD",
    ] {
        check_undone_in(with_repositories, command);
    }
    let data = with_repositories().open().shell("echo 1 > .git/refs/heads/x; echo h > .git/hooks/h; rm -r sub/.git");
    assert_eq!(data["changed"], json!([".git", ".git/hooks/h", "sub/.git"]));
}

#[test]
fn a_command_that_only_looks_at_a_repository_changes_nothing() {
    let project = with_repositories();
    let open = project.open();
    let data = open.shell("echo DIRC2 > .git/index; echo x > .git/FETCH_HEAD");
    assert_eq!(data["changed"], json!([]));
    assert!(open.workspace.runs().is_empty());
}

#[test]
fn a_commit_of_the_user_keeps_the_objects_and_branches_of_a_command() {
    let commit =
        "mkdir .git/objects/c1; echo o > .git/objects/c1/2; echo c1 > .git/refs/heads/main; echo I > .git/index";
    let project = with_repositories();
    let open = project.open();
    open.shell(&format!("{commit}; echo evil > .git/hooks/h; echo x > b.bin"));
    fs::write(project.path(".git/refs/heads/main"), "c2, which needs c1\n").unwrap();
    let undone = open.undo();
    for (path, expected) in [
        (".git/refs/heads/main", Some("c2, which needs c1\n")),
        (".git/objects/c1/2", Some("o\n")),
        (".git/index", Some("I\n")),
        (".git/hooks/h", None),
    ] {
        assert_eq!(fs::read_to_string(project.path(path)).ok().as_deref(), expected, "{path}");
    }
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), b"a\0b\xff");
    assert!(undone.blocked.iter().any(|path| path.as_str() == ".git/refs/heads/main"), "{undone:?}");
    // A repository that a command made stays whole, once the user has a branch in it.
    open.shell(
        "mkdir -p new/.git/objects/aa new/.git/refs/heads; echo o > new/.git/objects/aa/bb; echo x > new/.git/HEAD",
    );
    fs::write(project.path("new/.git/refs/heads/main"), "aa\n").unwrap();
    open.undo();
    assert!(project.path("new/.git/HEAD").exists() && project.path("new/.git/objects/aa/bb").exists());
}

#[test]
fn staged_changes_of_a_repository_are_named_as_discarded() {
    let project = with_repositories();
    let open = project.open_in(Mode::Staged);
    let data = open.shell("echo h > .git/hooks/h; echo DIRC2 > .git/index; rm -f nothing; rm $'caf\\xe9.txt' || true");
    assert_eq!(data["discarded"], json!([".git/hooks/h"]));
    let odd = with_odd_names();
    assert_eq!(odd.open_in(Mode::Staged).shell("rm caf*")["discarded"], json!(["caf\\xe9.txt"]));
}

#[test]
fn a_file_with_hard_links_is_restored_through_them() {
    let project = Project::usual();
    let twin = project.around.path().join("twin");
    fs::hard_link(project.path("a.txt"), &twin).unwrap();
    let before = project.tree();
    let open = project.open();
    open.shell("echo x >> a.txt; rm b.bin; echo more >> run.sh");
    assert_eq!(open.undo().kept, []);
    check_same(&before, &project.tree());
    assert_eq!(fs::read_to_string(&twin).unwrap(), "one\ntwo\n");
    assert_eq!(fs::metadata(&twin).unwrap().nlink(), 2);
}

#[test]
fn the_users_lines_before_and_after_a_hard_link_in_the_place_of_a_text_stay_at_an_undo() {
    for command in ["ln -f ../outside a.txt", "ln -f key a.txt"] {
        let project = Project::usual();
        fs::write(project.path("../outside"), "outside\n").unwrap();
        let open = project.open();
        open.call("edit_file", json!({ "file_path": "a.txt", "old_string": "two", "new_string": "zwei" })).unwrap();
        fs::write(project.path("a.txt"), "one\nzwei\nmine\n").unwrap();
        open.shell(command);
        let linked = fs::read_to_string(project.path("a.txt")).unwrap();
        // Through the link.
        fs::write(project.path("a.txt"), format!("{linked}later\n")).unwrap();
        let undone = open.undo();
        assert_eq!((undone.kept, undone.blocked, undone.refused), (vec![], vec![], vec![]), "{command}");
        let text = fs::read_to_string(project.path("a.txt")).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["later", "mine", "one", "zwei"], "{command}");
        let other = command.split(' ').nth(2).unwrap();
        assert_eq!(fs::read_to_string(project.path(other)).unwrap(), format!("{linked}later\n"), "{command}");
        block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), format!("{linked}later\n"), "{command}");
    }
}

#[test]
fn a_file_with_hard_links_that_moved_away_and_back_is_there_after_a_hard_rollback_and_its_redo() {
    let project = Project::usual();
    fs::write(project.path("../outside"), "outside\n").unwrap();
    let open = project.open();
    open.shell("ln -f ../outside run.sh");
    let before = project.tree();
    open.shell("mv run.sh away");
    open.shell("mv away run.sh");
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).skip(1).collect();
    let request = RollbackRequest { mode: RollbackMode::HardAll, runs, ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    check_same(&before, &project.tree());
    // Nothing was changed, so there may be nothing to redo.
    let _ = block_on(open.workspace.redo_runs());
    check_same(&before, &project.tree());
}

#[test]
fn mode_bits_noted_for_a_refused_edit_do_not_stay() {
    let project = Project::usual();
    let before = project.tree();
    fs::write(project.path("../outside"), "outside\n").unwrap();
    fs::set_permissions(project.path("../outside"), fs::Permissions::from_mode(0o600)).unwrap();
    let open = project.open();
    let patch = "*** Begin Patch\n*** Delete File: run.sh\n*** End Patch";
    open.call("apply_patch", json!({ "patch": patch })).unwrap();
    open.shell("ln -f ../outside run.sh");
    let moved = json!({ "from": "run.sh", "to": "a.txt", "overwrite": true });
    open.call("move_file", moved).unwrap_err();
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs)).unwrap();
    check_same(&before, &project.tree());
}

#[test]
fn a_change_that_a_later_command_put_back_is_undone_with_that_command() {
    for (first, second) in [("rm b.bin", "cp -p ../saved b.bin"), ("printf '1\\0' > b.bin", "cp -p ../saved b.bin")] {
        let project = Project::usual();
        let before = project.tree();
        fs::copy(project.path("b.bin"), project.path("../saved")).unwrap();
        let open = project.open();
        open.shell(first);
        let run = open.workspace.last_run();
        open.shell(second);
        let later = open.workspace.last_run();
        let preview = block_on(open.workspace.preview_undo_runs(&[run])).unwrap();
        let blocked: Vec<&str> = preview.blocked.iter().map(FilePath::as_str).collect();
        assert_eq!((blocked, preview.restored), (vec!["b.bin"], vec![]), "{first}");
        let request = RollbackRequest { runs: vec![run], ..RollbackRequest::default() };
        block_on(open.workspace.rollback(&request)).unwrap();
        check_same(&before, &project.tree());
        // Takes away what the second command had put back.
        block_on(open.workspace.undo_runs(&[later])).unwrap();
        assert_ne!(difference(&before, &project.tree()), None, "{first}");
        let undone = block_on(open.workspace.undo_runs(&[run])).unwrap();
        let restored: Vec<&str> = undone.restored.iter().map(FilePath::as_str).collect();
        assert_eq!(restored, ["b.bin"], "{first}");
        check_same(&before, &project.tree());
    }
}

#[test]
fn a_moved_file_that_comes_back_has_its_own_mode_bits() {
    let project = Project::usual();
    let open = project.open();
    let moved = |from: &str, to: &str| {
        open.call("move_file", json!({ "from": from, "to": to, "overwrite": true })).unwrap();
        open.workspace.last_run()
    };
    let first = moved("deep/er/c.txt", "new.txt");
    moved("run.sh", "deep/er/c.txt");
    let before = project.tree();
    let request = RollbackRequest { runs: vec![first], ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap();
    assert_ne!(difference(&before, &project.tree()), None);
    block_on(open.workspace.undo_whole()).unwrap();
    check_same(&before, &project.tree());
}

#[test]
fn an_edited_file_that_got_a_hard_link_blocks_only_itself() {
    for is_scoped in [false, true] {
        let project = Project::usual();
        let open = project.open();
        for path in ["a.txt", "run.sh"] {
            let old = fs::read_to_string(project.path(path)).unwrap();
            let arguments = json!({ "file_path": path, "old_string": old, "new_string": "agent\n" });
            open.call("edit_file", arguments).unwrap();
        }
        fs::hard_link(project.path("a.txt"), project.path("twin")).unwrap();
        let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
        if is_scoped {
            let request = RollbackRequest { runs, ..RollbackRequest::default() };
            let files = block_on(open.workspace.rollback(&request)).unwrap().files;
            let found: Vec<(&str, bool)> = files.iter().map(|file| (file.file_path.as_str(), file.refused)).collect();
            assert_eq!(found, [("a.txt", true), ("run.sh", false)]);
        } else {
            let undone = block_on(open.workspace.undo_runs(&runs)).unwrap();
            assert_eq!((undone.restored.len(), undone.refused[0].as_str()), (1, "a.txt"));
        }
        assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), "agent\n");
        assert_eq!(fs::read_to_string(project.path("run.sh")).unwrap(), "#!/bin/sh\n");
    }
}

#[test]
fn pipes_are_undone_and_sockets_are_named() {
    let with_pipe = || {
        let project = Project::usual();
        assert!(std::process::Command::new("mkfifo").arg(project.path("pipe")).status().unwrap().success());
        project
    };
    for command in ["mkfifo other", "rm pipe", "rm pipe; echo x > pipe", "rm a.txt; mkfifo a.txt", "chmod 600 pipe"] {
        check_undone_in(with_pipe, command);
    }
    let project = Project::usual();
    let open = project.open();
    let _socket = std::os::unix::net::UnixListener::bind(project.path("socket")).unwrap();
    assert_eq!(open.shell("rm socket")["not_undoable"], json!(["socket"]));
}

#[test]
fn a_directory_without_write_permission_does_not_block_an_undo() {
    for (prepare, command) in [
        ("", "rm deep/er/c.txt; chmod 555 deep/er"),
        ("", "mv b.bin deep/er; chmod 555 deep/er deep"),
        ("", "echo x > deep/er/c.txt; echo y > deep/er/new; chmod 555 deep/er"),
        ("chmod 555 deep/er", "chmod 755 deep/er; rm deep/er/c.txt; chmod 555 deep/er"),
        ("mv b.bin deep/er; chmod 555 deep/er", "chmod 755 deep/er; rm deep/er/*; touch deep/er/n; chmod 555 deep/er"),
    ] {
        as_nobody(|| {
            let project = Project::usual();
            let prepared = std::process::Command::new("sh").args(["-c", prepare]).current_dir(project.root()).status();
            assert!(prepared.unwrap().success());
            let before = project.tree();
            let open = project.open();
            open.shell(command);
            assert_eq!(open.undo().kept, [], "{command}");
            assert_eq!(difference(&before, &project.tree()), None, "{command}");
            fs::set_permissions(project.path("deep/er"), fs::Permissions::from_mode(0o755)).unwrap();
        });
    }
}

#[test]
fn mode_bits_are_undone_and_redone_beside_later_edits() {
    let mode = |project: &Project| fs::metadata(project.path("a.txt")).unwrap().permissions().mode() & 0o777;
    for by_user in [false, true] {
        let project = Project::usual();
        let open = project.open();
        open.shell("chmod 755 a.txt");
        if by_user {
            fs::write(project.path("a.txt"), "mine\n").unwrap();
        } else {
            open.call("read_file", json!({ "file_path": "a.txt" })).unwrap();
            open.call("edit_file", json!({ "file_path": "a.txt", "old_string": "one", "new_string": "1" })).unwrap();
        }
        let after = project.tree();
        let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
        let undone = block_on(open.workspace.undo_runs(&runs)).unwrap();
        assert_eq!((undone.kept.len() + undone.blocked.len(), mode(&project)), (0, 0o644), "{by_user}");
        // Two runs may need two redos.
        while block_on(open.workspace.redo_runs()).is_ok() {}
        check_same(&after, &project.tree());
    }
}

#[test]
fn an_interrupted_undo_or_redo_is_completed_by_the_next_process() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.shell("printf 'c\\0' > b.bin; rm -r link deep; chmod 700 run.sh; echo x > a.txt");
    let after = project.tree();
    let saved = serde_json::to_string(&open.workspace.snapshot()).unwrap();
    let undo = KeptUndo { runs: vec![open.workspace.last_run()], ..KeptUndo::default() };
    let keeper = open.environment.keeper().unwrap();
    block_on(keeper.undo(&undo, UndoStep::BeforeLogs)).unwrap();
    drop(open);
    let open = project.open();
    open.workspace.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    assert!(block_on(open.workspace.catch_up()).is_some());
    check_same(&before, &project.tree());
    assert_eq!(block_on(open.workspace.catch_up()), None);
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}
