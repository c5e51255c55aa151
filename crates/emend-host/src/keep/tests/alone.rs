//! A path that cannot be undone blocks only itself, and says so once.

use std::fs;
use std::os::unix::fs::symlink;

use emend_agent::environment::FilePath;
use emend_agent::workspace::{Rollback, RollbackMode, RollbackRequest};
use futures::executor::block_on;

use super::{Open, Project, check_same};

fn paths(names: &[&str]) -> Vec<FilePath> {
    names.iter().map(|name| FilePath::clean(name).unwrap()).collect()
}

/// Returns a project in which a command has changed two texts, and the user has put a link that leads outside in the place
/// of the directory of one.
fn linked_outside() -> Project {
    let project = Project::usual();
    fs::write(project.around.path().join("c.txt"), "outside\n").unwrap();
    project
}

#[test]
fn a_link_that_leads_outside_blocks_only_the_paths_below_it() {
    for is_hard in [false, true] {
        let project = linked_outside();
        let open = project.open();
        open.shell("echo x >> a.txt; echo x >> deep/er/c.txt; printf 'c\\0' > b.bin");
        fs::remove_dir_all(project.path("deep")).unwrap();
        fs::create_dir(project.path("deep")).unwrap();
        symlink(project.around.path(), project.path("deep/er")).unwrap();
        if is_hard {
            let runs = vec![open.workspace.last_run()];
            let request = RollbackRequest { mode: RollbackMode::HardAll, runs, ..RollbackRequest::default() };
            let done = block_on(open.workspace.rollback(&request)).unwrap();
            let refused = done.files.iter().filter(|file| file.refused).map(|file| file.file_path.clone());
            assert_eq!(refused.collect::<Vec<_>>(), paths(&["deep/er/c.txt"]));
        } else {
            let undone = open.undo();
            assert_eq!((undone.restored, undone.kept), (paths(&["a.txt", "b.bin"]), paths(&["deep/er/c.txt"])));
        }
        assert_eq!(fs::read(project.path("a.txt")).unwrap(), b"one\ntwo\n");
        assert_eq!(fs::read(project.path("b.bin")).unwrap(), b"a\0b\xff");
        assert_eq!(fs::read(project.around.path().join("c.txt")).unwrap(), b"outside\n");
    }
}

#[test]
fn a_file_that_became_a_directory_is_undone_whole() {
    for is_later in [false, true] {
        let project = Project::usual();
        let before = project.tree();
        let mut open = project.open();
        open.shell("rm a.txt; mkdir a.txt; echo in > a.txt/in");
        let after = project.tree();
        if is_later {
            // Without the line logs, which the program saves, the keeper alone restores everything.
            drop(open);
            open = project.open();
        }
        let undone = open.undo();
        assert_eq!((undone.kept, undone.blocked), (vec![], vec![]));
        check_same(&before, &project.tree());
        assert!(open.workspace.runs().iter().all(|run| !run.is_on), "{:?}", open.workspace.runs());
        block_on(open.workspace.redo_runs()).unwrap();
        check_same(&after, &project.tree());
        assert!(open.workspace.runs().iter().all(|run| run.is_on), "{:?}", open.workspace.runs());
    }
}

fn rollback(open: &Open, mode: RollbackMode) -> Rollback {
    let request = RollbackRequest { mode, runs: vec![1], ..RollbackRequest::default() };
    block_on(open.workspace.rollback(&request)).unwrap()
}

#[test]
fn a_hard_rollback_and_its_redo_pass_a_file_that_became_a_directory() {
    for edited in [None, Some("a.txt/in"), Some("deep/er/c.txt")] {
        let project = Project::usual();
        let before = project.tree();
        let open = project.open();
        open.shell("rm a.txt; mkdir a.txt; echo in > a.txt/in; echo x >> deep/er/c.txt");
        if let Some(path) = edited {
            let text = fs::read_to_string(project.path(path)).unwrap();
            fs::write(project.path(path), text + "mine\n").unwrap();
        }
        let after = project.tree();
        for _ in 0..2 {
            let done = rollback(&open, RollbackMode::HardAll);
            assert_eq!(done.kept, vec![], "{edited:?}");
            let n_own: usize = done.files.iter().map(|file| file.reverted_from_user).sum();
            assert!(done.files.iter().all(|file| !file.refused && file.reverted > 0), "{edited:?}: {done:?}");
            assert_eq!(n_own, usize::from(edited.is_some()));
            check_same(&before, &project.tree());
            block_on(open.workspace.redo_runs()).unwrap();
            check_same(&after, &project.tree());
        }
    }
}

#[test]
fn a_file_of_the_user_in_the_place_of_a_directory_blocks_only_the_texts_below_it() {
    for mode in [RollbackMode::HardAll, RollbackMode::ScopedSelected] {
        let project = Project::usual();
        let open = project.open();
        open.shell("rm -r deep; echo file > deep; echo x >> a.txt");
        fs::write(project.path("deep"), "file\nmine\n").unwrap();
        let after = project.tree();
        let done = rollback(&open, mode);
        let refused = done.files.iter().filter(|file| file.refused).map(|file| file.file_path.clone());
        assert_eq!(refused.collect::<Vec<_>>(), paths(&["deep/er/c.txt"]), "{mode:?}");
        assert_eq!(fs::read(project.path("deep")).unwrap(), b"file\nmine\n");
        assert_eq!(fs::read(project.path("a.txt")).unwrap(), b"one\ntwo\n");
        block_on(open.workspace.redo_runs()).unwrap();
        check_same(&after, &project.tree());
    }
}

#[test]
fn mode_bits_that_several_runs_changed_go_back_at_once() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    for command in ["chmod 600 a.txt", "chmod 640 a.txt", "chmod 755 a.txt"] {
        open.shell(command);
    }
    let undone = block_on(open.workspace.undo_runs(&[1, 2, 3])).unwrap();
    assert_eq!((undone.restored, undone.blocked), (paths(&["a.txt"]), vec![]));
    check_same(&before, &project.tree());
    assert!(open.workspace.runs().iter().all(|run| !run.is_on));
}

#[test]
fn a_content_that_is_left_alone_is_named_although_its_mode_goes_back() {
    for commands in [["chmod 600 b.bin", "printf 'c\\0' > b.bin"], ["printf 'c\\0' > b.bin", "chmod 600 b.bin"]] {
        let project = Project::usual();
        let open = project.open();
        for command in commands {
            open.shell(command);
        }
        fs::write(project.path("b.bin"), b"mine\0").unwrap();
        let undone = block_on(open.workspace.undo_runs(&[1, 2])).unwrap();
        assert_eq!((undone.restored, undone.blocked), (vec![], paths(&["b.bin"])), "{commands:?}");
        assert_eq!(fs::read(project.path("b.bin")).unwrap(), b"mine\0");
    }
}

#[test]
fn changes_in_ignored_directories_are_counted() {
    let project = Project::usual();
    let open = project.open();
    open.shell("echo product > out/new.o; mkdir out/sub; echo x > a.txt");
    open.shell("rm out/made.o");
    let counted = |runs: &[u64], only_live| {
        let counted = open.workspace.ignored_changes(runs, only_live).into_iter();
        counted.map(|(path, n_changes)| (path.to_string(), n_changes)).collect::<Vec<_>>()
    };
    assert_eq!(counted(&[1], true), [("out".to_owned(), 2)]);
    assert_eq!(counted(&[1, 2], true), [("out".to_owned(), 3)]);
    block_on(open.workspace.undo_runs(&[2])).unwrap();
    assert_eq!((counted(&[2], true), counted(&[2], false)), (vec![], vec![("out".to_owned(), 1)]));
}
