//! Redo of undone commands beside edits of the user, and in the same millisecond as other changes.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use emend_agent::environment::{ExecutionEnvironment as _, FilePath};
use emend_agent::workspace::{Mode, RollbackMode, RollbackRequest, Workspace};
use emend_llm::{BoxFuture, Clock, Shared};
use futures::executor::block_on;
use serde_json::json;

use super::super::pack::{BYTES_MAX, N_READ};
use super::{Open, Project, check_same};
use crate::state::StateDir;

/// A clock that shows the time that the test sets.
#[derive(Clone)]
struct SetClock(Arc<AtomicU64>);

impl Clock for SetClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep(&self, _: u64) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

impl SetClock {
    fn at(ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(ms)))
    }

    fn set(&self, ms: u64) {
        self.0.store(ms, Ordering::SeqCst);
    }

    /// Opens a project in which the workspace has this clock. The keeper has that of the system.
    fn open(&self, project: &Project) -> Open {
        let state = Arc::new(StateDir::open_in(&project.around.path().join("state"), &project.root()).unwrap());
        let environment = Arc::new(crate::local::LocalEnvironment::new(project.root()).unwrap().with_journal(state));
        let workspace =
            Shared::new(Workspace::new(Arc::clone(&environment) as _, Mode::Direct, Shared::new(self.clone())));
        Open { environment, workspace }
    }
}

fn edit(open: &Open, path: &str, old: &str, new: &str) {
    open.call("read_file", json!({ "file_path": path })).unwrap();
    open.call("edit_file", json!({ "file_path": path, "old_string": old, "new_string": new })).unwrap();
}

fn runs(open: &Open) -> Vec<u64> {
    open.workspace.runs().into_iter().map(|run| run.run_id).collect()
}

fn paths(names: &[&str]) -> Vec<FilePath> {
    names.iter().map(|name| FilePath::clean(name).unwrap()).collect()
}

fn mode_of(project: &Project, path: &str) -> u32 {
    project.tree()[path].0
}

fn text(project: &Project, path: &str) -> String {
    fs::read_to_string(project.path(path)).unwrap()
}

#[test]
fn an_undo_of_an_edit_in_the_millisecond_of_an_earlier_command_is_redone() {
    let project = Project::usual();
    let clock = SetClock::at(1);
    let open = clock.open(&project);
    open.shell("rm b.bin");
    clock.set(open.environment.keeper().unwrap().runs()[0].at_ms);
    edit(&open, "a.txt", "one", "1");
    let after = project.tree();
    open.undo();
    assert_eq!(text(&project, "a.txt"), "one\ntwo\n");
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}

#[test]
fn a_command_that_was_undone_in_the_millisecond_of_an_earlier_edit_is_redone() {
    const MARK: u64 = 1_234_567_891;
    let project = Project::usual();
    let open = SetClock::at(MARK).open(&project);
    edit(&open, "a.txt", "one", "1");
    open.shell("rm b.bin");
    let after = project.tree();
    open.undo();
    let undone_at = open.environment.keeper().unwrap().undone_at().unwrap();
    let saved = serde_json::to_string(&open.workspace.snapshot()).unwrap();
    drop(open);
    // The undo was in the same millisecond.
    let saved = saved.replace(&MARK.to_string(), &undone_at.to_string());
    let open = SetClock::at(undone_at).open(&project);
    open.workspace.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}

#[test]
fn an_undone_command_is_redone_beside_a_later_edit_of_the_user() {
    let project = Project::usual();
    let open = project.open();
    open.shell("printf 'c\\0' > b.bin; echo x >> a.txt");
    let binary = fs::read(project.path("b.bin")).unwrap();
    open.undo();
    block_on(open.workspace.user_edit("mine.txt", Some("mine\n"), None)).unwrap();
    let redone = block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!((redone.restored, redone.kept), (paths(&["a.txt", "b.bin"]), vec![]));
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), binary);
    assert_eq!(text(&project, "mine.txt"), "mine\n");
}

#[test]
fn a_redo_of_a_command_takes_back_no_edit_of_the_user_in_the_place_of_its_undo() {
    let project = Project::usual();
    let open = project.open();
    open.shell("printf 'c\\0' > b.bin; echo x >> a.txt");
    let binary = fs::read(project.path("b.bin")).unwrap();
    open.undo();
    // The text alone comes back, and the edit is the user's last step.
    block_on(open.workspace.undo()).unwrap();
    assert_eq!(text(&project, "a.txt"), "one\ntwo\nx\n");
    block_on(open.workspace.user_edit("mine.txt", Some("mine\n"), None)).unwrap();
    let redone = block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!((redone.restored, redone.kept), (paths(&["b.bin"]), vec![]));
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), binary);
    assert_eq!(
        (text(&project, "mine.txt"), text(&project, "a.txt")),
        ("mine\n".to_owned(), "one\ntwo\nx\n".to_owned())
    );
}

#[test]
fn undo_whole_redoes_the_mode_bits_of_an_undone_edit() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    open.call("read_file", json!({ "file_path": "run.sh" })).unwrap();
    open.call("read_file", json!({ "file_path": "a.txt" })).unwrap();
    open.call("move_file", json!({ "from": "a.txt", "to": "run.sh", "overwrite": true })).unwrap();
    let after = project.tree();
    open.undo();
    check_same(&before, &project.tree());
    block_on(open.workspace.undo_whole()).unwrap();
    check_same(&after, &project.tree());
}

#[test]
fn undo_whole_redoes_an_undone_command_without_texts() {
    let project = Project::usual();
    let open = project.open();
    open.shell("rm b.bin; chmod 600 run.sh");
    let after = project.tree();
    open.undo();
    block_on(open.workspace.undo_whole()).unwrap();
    check_same(&after, &project.tree());
}

#[test]
fn a_redo_after_the_undo_of_a_hard_rollback_repeats_it_whole() {
    // With a text of the command, and without one.
    for (command, is_later) in [("printf 'c\\0' > b.bin; echo x >> a.txt", false), ("rm b.bin; chmod 600 run.sh", true)]
    {
        let project = Project::usual();
        let before = project.tree();
        let mut open = project.open();
        open.shell(command);
        let after = project.tree();
        let runs = vec![open.workspace.last_run()];
        let request = RollbackRequest { mode: RollbackMode::HardAll, runs, ..RollbackRequest::default() };
        block_on(open.workspace.rollback(&request)).unwrap();
        for _ in 0..2 {
            check_same(&before, &project.tree());
            block_on(open.workspace.undo_whole()).unwrap();
            check_same(&after, &project.tree());
            if is_later {
                let saved = open.workspace.snapshot();
                drop(open);
                open = project.open();
                open.workspace.restore(saved).unwrap();
            }
            block_on(open.workspace.redo_whole()).unwrap();
        }
        check_same(&before, &project.tree());
        // A later edit ends the redo.
        block_on(open.workspace.undo_whole()).unwrap();
        block_on(open.workspace.user_edit("mine.txt", Some("mine\n"), None)).unwrap();
        let edited = project.tree();
        assert!(block_on(open.workspace.redo_whole()).is_err(), "{command}");
        check_same(&edited, &project.tree());
    }
}

#[test]
fn edits_after_a_hard_rollback_of_a_command_are_redone_after_it() {
    for command in ["printf 'c\\0' > b.bin; echo x >> a.txt", "rm b.bin; chmod 600 run.sh"] {
        for edited in ["a.txt", "mine.txt"] {
            let project = Project::usual();
            let open = project.open();
            let mut trees = Vec::new();
            open.shell(command);
            trees.push(project.tree());
            let runs = vec![open.workspace.last_run()];
            let request = RollbackRequest { mode: RollbackMode::HardAll, runs, ..RollbackRequest::default() };
            block_on(open.workspace.rollback(&request)).unwrap();
            trees.push(project.tree());
            block_on(open.workspace.user_edit(edited, Some("mine\n"), None)).unwrap();
            trees.push(project.tree());
            for _ in 0..2 {
                for before in trees[..2].iter().rev() {
                    block_on(open.workspace.undo_whole()).unwrap();
                    check_same(before, &project.tree());
                }
                for after in &trees[1..] {
                    block_on(open.workspace.redo_whole()).unwrap();
                    check_same(after, &project.tree());
                }
            }
        }
    }
}

#[test]
fn a_command_reads_the_files_that_have_changed_since_the_last_one_alone() {
    let project = Project::usual();
    fs::create_dir(project.path("many")).unwrap();
    for number in 0..500 {
        fs::write(project.path(&format!("many/{number}.txt")), format!("{number}\n")).unwrap();
    }
    let open = project.open();
    let n_read = |command: &str| {
        // Until then, a further change could get the same time.
        std::thread::sleep(std::time::Duration::from_millis(200));
        N_READ.set(0);
        open.shell(command);
        N_READ.get()
    };
    assert!(n_read("true") > 500);
    assert_eq!(n_read("true"), 0);
    fs::write(project.path("many/7.txt"), "mine\n").unwrap();
    assert_eq!(n_read("true"), 1);
}

#[test]
fn a_redo_names_a_text_that_it_may_not_write() {
    let project = Project::usual();
    let open = project.open();
    open.shell("printf 'c\\0' > b.bin; sed -i s/one/1/ a.txt");
    open.undo();
    fs::write(project.path("a.txt"), "one\ntwo\nmine\n").unwrap();
    fs::hard_link(project.path("a.txt"), project.path("twin")).unwrap();
    let redone = block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!((redone.restored, redone.kept), (paths(&["b.bin"]), paths(&["a.txt"])));
    assert_eq!(text(&project, "a.txt"), "one\ntwo\nmine\n");
}

#[test]
fn a_redo_into_a_text_that_the_user_has_edited_sets_its_mode_bits() {
    let project = Project::usual();
    let open = project.open();
    open.shell("sed -i s/one/1/ a.txt; chmod 755 a.txt; printf 'c\\0' > b.bin");
    open.undo();
    fs::write(project.path("a.txt"), "one\ntwo\nmine\n").unwrap();
    let redone = block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!((redone.restored, redone.kept), (paths(&["a.txt", "b.bin"]), vec![]));
    assert_eq!((text(&project, "a.txt").as_str(), mode_of(&project, "a.txt")), ("1\ntwo\nmine\n", 0o755));
}

#[test]
fn a_redo_passes_a_text_that_the_user_has_restored() {
    // The keeper does not store the text, and does not know that it is the same.
    BYTES_MAX.set(Some(1_000));
    let long = "x\n".repeat(1_000);
    let project = Project::usual();
    let open = project.open();
    open.call("write_file", json!({ "file_path": "new.txt", "content": long })).unwrap();
    open.shell("rm b.bin");
    let after = project.tree();
    block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
    assert!(!project.path("new.txt").exists());
    fs::write(project.path("new.txt"), &long).unwrap();
    let redone = block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!(redone.kept, []);
    check_same(&after, &project.tree());
    assert!(open.workspace.runs().iter().all(|run| run.is_on));
}
