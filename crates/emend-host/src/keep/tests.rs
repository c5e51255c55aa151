//! Changes of commands on disk are undone whole: contents, links, directories, mode bits, and ignored files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use emend_agent::environment::{ExecutionEnvironment as _, FilePath, KeptUndo, UndoStep};
use emend_agent::session::call_tool;
use emend_agent::tool::{ToolError, ToolOutput};
use emend_agent::tools::core_tools;
use emend_agent::workspace::{Mode, UndoneRun, Workspace};
use emend_llm::Shared;
use futures::executor::block_on;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Keeper;
use super::record::Step;
use super::storm::Numbers;
use crate::clock::SystemClock;
use crate::files::{RootFiles, synced};
use crate::local::LocalEnvironment;
use crate::state::StateDir;
use crate::test_support::covers;

mod accepted;
mod alone;
#[cfg(target_os = "linux")]
mod apart;
mod hard;
mod killed;
mod kinds;
pub(super) mod previews;
#[cfg(target_os = "linux")]
mod processes;
mod redone;
mod retried;
#[cfg(target_os = "linux")]
mod staged;
mod turns;
mod undone;
#[cfg(target_os = "linux")]
mod unkept;
#[cfg(target_os = "linux")]
mod unseen;

/// Every path of a tree with its mode bits and its content or target.
pub(super) type Tree = BTreeMap<String, (u32, String)>;

fn tree_of(root: &Path) -> Tree {
    fn collect(root: &Path, directory: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = if found.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if found.is_dir() {
                collect(root, &path, tree);
                "directory".to_owned()
            } else if found.file_type().is_fifo() {
                "pipe".to_owned()
            } else {
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            tree.insert(name, (found.permissions().mode() & 0o7777, content));
        }
    }
    let mut tree = Tree::new();
    collect(root, root, &mut tree);
    tree
}

/// Returns the first difference of two trees in words.
pub(super) fn difference(expected: &Tree, found: &Tree) -> Option<String> {
    let paths = expected.keys().chain(found.keys());
    paths.into_iter().find(|path| expected.get(*path) != found.get(*path)).map(|path| {
        let cut = |side: Option<&(u32, String)>| side.map(|(mode, text)| format!("{mode:o} {text:.60?}"));
        format!("{path}: {:?} instead of {:?}", cut(found.get(path)), cut(expected.get(path)))
    })
}

#[track_caller]
fn check_same(expected: &Tree, found: &Tree) {
    assert_eq!(difference(expected, found), None);
}

pub(super) struct Project {
    around: TempDir,
}

impl Project {
    fn new() -> Self {
        let around = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        fs::create_dir(around.path().join("project")).unwrap();
        Self { around }
    }

    /// Returns a project with one path of each kind.
    pub(super) fn usual() -> Self {
        let project = Self::new();
        let write = |path: &str, content: &[u8], mode: u32| {
            let path = project.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        write("a.txt", b"one\ntwo\n", 0o644);
        write("run.sh", b"#!/bin/sh\n", 0o755);
        write("key", b"secret\n", 0o600);
        write("b.bin", b"a\0b\xff", 0o640);
        write(".gitignore", b".env\nout/\n", 0o644);
        write(".env", b"TOKEN=1\n", 0o600);
        write("out/made.o", b"old\0", 0o644);
        write("deep/er/c.txt", b"sea\n", 0o644);
        fs::create_dir(project.path("empty")).unwrap();
        symlink("a.txt", project.path("link")).unwrap();
        symlink("/nowhere", project.path("dangling")).unwrap();
        project
    }

    fn root(&self) -> PathBuf {
        self.around.path().join("project")
    }

    fn files(&self) -> RootFiles {
        RootFiles::open(&self.root()).unwrap()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Returns the directory of the keeper.
    fn kept(&self) -> PathBuf {
        let states = fs::read_dir(self.around.path().join("state")).unwrap().flatten();
        states.map(|state| state.path().join("kept")).find(|kept| kept.is_dir()).unwrap()
    }

    pub(super) fn tree(&self) -> Tree {
        tree_of(&self.root())
    }

    /// Opens the project as a new process does.
    pub(super) fn open(&self) -> Open {
        self.open_in(Mode::Direct)
    }

    pub(super) fn open_in(&self, mode: Mode) -> Open {
        let state = Arc::new(StateDir::open_in(&self.around.path().join("state"), &self.root()).unwrap());
        let environment = Arc::new(LocalEnvironment::new(self.root()).unwrap().with_journal(state));
        let clock = Shared::new(SystemClock);
        let workspace = Shared::new(Workspace::new(Arc::clone(&environment) as _, mode, clock));
        Open { environment, workspace }
    }
}

pub(super) struct Open {
    environment: Arc<LocalEnvironment>,
    pub(super) workspace: Shared<Workspace>,
}

impl Open {
    pub(super) fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        block_on(call_tool(&core_tools(), &self.workspace, name, arguments))
    }

    #[track_caller]
    fn shell(&self, command: &str) -> Value {
        let output = self.call("shell", json!({ "command": command, "timeout_ms": 600_000 })).unwrap();
        assert_eq!(output.data["exit_code"], 0, "{}", output.text);
        output.data
    }

    fn undo(&self) -> UndoneRun {
        block_on(self.workspace.undo_runs(&[self.workspace.last_run()])).unwrap()
    }
}

/// Runs a command, undoes it in the same process or in a later one, and redoes it.
#[track_caller]
fn check_undone(command: &str) {
    check_undone_in(Project::usual, command);
}

/// As [`check_undone`], in a project that `make` returns.
#[track_caller]
fn check_undone_in(make: impl Fn() -> Project, command: &str) {
    for is_later in [false, true] {
        let project = make();
        let before = project.tree();
        let mut open = project.open();
        let data = open.shell(command);
        assert_eq!(data["left_out"], json!([]), "{command}");
        let after = project.tree();
        assert_ne!(before, after, "{command}");
        if is_later {
            // Without the line logs, which the program saves, the keeper alone restores everything.
            drop(open);
            open = project.open();
        }
        let undone = open.undo();
        assert_eq!((undone.kept, undone.blocked), (vec![], vec![]), "{command}");
        assert_eq!(difference(&before, &project.tree()), None, "{command}");
        block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!(difference(&after, &project.tree()), None, "redo of {command}");
        open.undo();
        assert_eq!(difference(&before, &project.tree()), None, "undo again of {command}");
    }
}

#[test]
fn whatever_a_command_changes_is_undone() {
    covers("command.review");
    for command in [
        "sed -i s/two/TWO/ a.txt; rm deep/er/c.txt; echo new > new.txt",
        "printf 'c\\0d' > b.bin",
        "rm b.bin; printf '\\0' > new.bin; mkdir -p new/dirs/in",
        "rm link dangling; ln -s b.bin other",
        "ln -sfn run.sh link; rm a.txt; ln -s run.sh a.txt",
        "chmod 600 run.sh; chmod 644 key; chmod +x a.txt; chmod 700 deep",
        "rm run.sh key",
        "mv run.sh tool.sh; mv deep shallow",
        "rm .env; echo changed > out/made.o",
        "chmod 644 .env",
        "rmdir empty; rm -r deep",
        "rm a.txt; mkdir a.txt; echo in > a.txt/in",
        "rm -r deep; echo file > deep",
        "rm -r deep; ln -s out deep",
        "rm b.bin; mkdir b.bin; mv a.txt b.bin/",
        "printf 'a\\0' > a.txt; chmod 755 a.txt",
        "rm -rf -- * .env",
        "chmod 500 deep/er; chmod 500 deep",
    ] {
        check_undone(command);
    }
}

#[test]
fn build_products_are_undone_but_not_shown() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    let data = open.shell("echo product > out/new.o; mkdir out/sub; echo x > a.txt; echo x > .env");
    assert_eq!(data["changed"], json!([".env", "a.txt"]));
    open.undo();
    check_same(&before, &project.tree());
}

#[test]
fn ignored_directories_that_a_copy_shares_are_undone() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open_in(Mode::Staged);
    // The text of the user, who works on while the command runs, is not the command's.
    let user = format!("echo mine > $(dirname {}/x)/a.txt", project.root().display().to_string().replace('e', "''e"));
    let data = open.shell(&format!("echo x > out/made.o; mkdir out/sub; echo y > out/sub/new; echo z > b.bin; {user}"));
    let list = |name: &str| data[name].clone();
    assert_eq!((list("at_once"), list("discarded"), list("changed")), (json!(["out"]), json!(["b.bin"]), json!([])));
    assert_eq!(open.workspace.runs().len(), 1);
    open.undo();
    fs::write(project.path("a.txt"), "one\ntwo\n").unwrap();
    check_same(&before, &project.tree());
}

#[test]
fn a_large_ignored_directory_that_a_command_creates_stays_and_is_named() {
    let project = Project::usual();
    let open = project.open();
    open.shell("rm -r out");
    let data = open.shell("mkdir -p out/many; touch $(seq -f out/many/%g 2000); echo x > a.txt");
    assert_eq!((&data["changed"], &data["left_out"]), (&json!(["a.txt"]), &json!(["out"])));
    assert_eq!(open.undo().lost.iter().map(FilePath::as_str).collect::<Vec<_>>(), ["out"]);
    assert_eq!(fs::read_to_string(project.path("a.txt")).unwrap(), "one\ntwo\n");
    assert!(project.path("out/many/7").exists());
}

#[test]
fn restored_build_products_are_as_old_as_before() {
    let project = Project::usual();
    let time = |path: &str| fs::metadata(project.path(path)).unwrap().modified().unwrap();
    let (made, text) = (time("out/made.o"), time("b.bin"));
    let open = project.open();
    open.shell("sleep 0.01; echo x > out/made.o; echo x > b.bin");
    open.undo();
    assert_eq!(time("out/made.o"), made);
    // Build tools have to see that a source is not the one they used.
    assert!(time("b.bin") > text);
}

#[test]
fn thousands_of_files_are_undone_whole() {
    let project = Project::new();
    for number in 0..5_000 {
        let directory = project.path(&format!("d{}", number % 50));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("f{number}.txt")), format!("text of {number}\n")).unwrap();
    }
    let before = project.tree();
    let open = project.open();
    let began = Instant::now();
    let data = open.shell("rm -rf d*");
    assert_eq!((data["changed"].as_array().unwrap().len(), &data["left_out"]), (5_050, &json!([])));
    println!("command: {:?}", began.elapsed());
    let began = Instant::now();
    assert_eq!(open.undo().restored.len(), 5_050);
    println!("undo: {:?}", began.elapsed());
    check_same(&before, &project.tree());
    open.shell("find . -name '*.txt' -exec sed -i s/text/TEXT/ {} +");
    open.undo();
    check_same(&before, &project.tree());
}

#[test]
fn what_was_not_kept_is_named() {
    let project = Project::usual();
    fs::create_dir(project.path("out/many")).unwrap();
    for number in 0..super::scan::CROWD {
        fs::write(project.path(&format!("out/many/{number}")), "x").unwrap();
    }
    // Larger than any content that is copied or shared.
    fs::File::create(project.path("huge.bin")).unwrap().set_len(300 << 20).unwrap();
    let open = project.open();
    let data = open.shell("echo x > a.txt; echo small > huge.bin; rm -r out");
    assert_eq!((&data["changed"], &data["left_out"]), (&json!(["a.txt"]), &json!(["huge.bin", "out"])));
    assert_eq!(data["not_undoable"], json!(["huge.bin", "out"]));
    let runs = open.workspace.runs();
    let lost: Vec<&str> = runs.last().unwrap().lost.iter().map(|path| path.as_str()).collect();
    assert_eq!(lost, ["huge.bin", "out"]);
    let undone = open.undo();
    assert_eq!(undone.restored.iter().map(|path| path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    assert_eq!(undone.lost.iter().map(|path| path.as_str()).collect::<Vec<_>>(), ["huge.bin", "out"]);
}

#[test]
fn a_large_ignored_directory_is_not_taken_for_new_when_its_rule_goes() {
    let project = Project::usual();
    for number in 0..=super::scan::CROWD {
        fs::write(project.path(&format!("out/{number}")), "x").unwrap();
    }
    let open = project.open();
    open.shell("rm .gitignore; echo x > a.txt");
    open.undo();
    assert!(project.path("out/5").exists() && project.path(".gitignore").exists());
}

#[test]
fn what_the_user_changed_since_stays() {
    let project = Project::usual();
    let open = project.open();
    open.shell("printf 'c\\0' > b.bin; rm link; mkdir made; echo x > made/by-command");
    fs::write(project.path("b.bin"), b"mine\0").unwrap();
    fs::write(project.path("made/mine"), "mine\n").unwrap();
    symlink("mine", project.path("link")).unwrap();
    let undone = open.undo();
    let kept: Vec<&str> = undone.blocked.iter().map(|path| path.as_str()).collect();
    assert_eq!(kept, ["b.bin", "link", "made"]);
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), b"mine\0");
    assert!(project.path("made/mine").exists() && !project.path("made/by-command").exists());
}

#[test]
fn what_a_command_may_change_is_on_the_disk_before_it_starts() {
    let project = Project::usual();
    let open = project.open();
    block_on(open.environment.keeper().unwrap().keep(1)).unwrap();
    let kept = project.kept();
    for name in ["pack-0", "index-0", super::tree::TREE, super::RUNNING] {
        synced::check(&kept.join(name));
    }
    fs::remove_file(project.path("b.bin")).unwrap();
    block_on(open.environment.keeper().unwrap().record(&BTreeSet::new(), &BTreeSet::new())).unwrap();
    synced::check(&kept.join(super::record::CHANGES));
    assert!(!kept.join(super::RUNNING).exists());
}

#[test]
fn a_full_store_forgets_the_oldest_commands_and_says_so() {
    let project = Project::usual();
    let open = project.open();
    for number in 1..=4 {
        open.shell(&format!("head -c 20000 /dev/zero | tr '\\0' {number} > b.bin; printf '\\0' >> b.bin"));
    }
    let after = |number: usize| [number.to_string().repeat(20_000).into_bytes(), vec![0]].concat();
    drop(open);
    let files = RootFiles::open(&project.root()).unwrap();
    let mut keeper = Keeper::new(project.kept().parent().unwrap());
    keeper.with(&files, |loaded| loaded.tidy(50_000)).unwrap();
    drop(keeper);
    let names: Vec<String> =
        fs::read_dir(project.kept()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.contains(&"pack-1".to_owned()) && !names.contains(&"pack-0".to_owned()), "{names:?}");
    assert!(fs::metadata(project.kept().join("pack-1")).unwrap().len() < 50_000);
    let open = project.open();
    let runs = open.workspace.runs();
    let lost: Vec<(u64, usize)> = runs.iter().map(|run| (run.run_id, run.lost.len())).collect();
    assert_eq!(lost, [(1, 1), (2, 1), (3, 1), (4, 0)]);
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), after(4));
    block_on(open.workspace.undo_runs(&[4])).unwrap();
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), after(3));
    let undone = block_on(open.workspace.undo_runs(&[3])).unwrap();
    assert_eq!((undone.restored.len(), undone.lost.len()), (0, 1));
    block_on(open.workspace.redo_runs()).unwrap();
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), after(4));
}

#[test]
fn a_redo_after_the_undo_of_an_edit_restores_the_edit_only() {
    let project = Project::usual();
    let open = project.open();
    open.shell("rm a.txt b.bin; echo new > new.txt");
    open.undo();
    let before = project.tree();
    open.call("write_file", json!({ "file_path": "later.txt", "content": "later\n" })).unwrap();
    let after = project.tree();
    open.undo();
    check_same(&before, &project.tree());
    block_on(open.workspace.redo_runs()).unwrap();
    check_same(&after, &project.tree());
}

#[test]
fn a_full_store_keeps_the_mode_bits_that_were_noted_after_the_last_command() {
    let project = Project::usual();
    let open = project.open();
    for number in 1..=2 {
        open.shell(&format!("head -c 20000 /dev/zero | tr '\\0' {number} > b.bin; printf '\\0' >> b.bin"));
    }
    let edit = |path: &str| {
        open.call("edit_file", json!({ "file_path": path, "old_string": "o", "new_string": "O", "replace_all": true }))
            .unwrap();
    };
    let patch = "*** Begin Patch\n*** Delete File: key\n*** End Patch";
    open.call("apply_patch", json!({ "patch": patch })).unwrap();
    edit("a.txt");
    drop(open);
    let files = RootFiles::open(&project.root()).unwrap();
    let noted = || {
        let mut keeper = Keeper::new(project.kept().parent().unwrap());
        keeper.with(&files, |loaded| Ok((loaded.record.order.clone(), loaded.record.noted.clone()))).unwrap()
    };
    let before = noted();
    let is_after_both = matches!(before.0[..], [Step::Command(0), Step::Command(1), Step::Edit(_), ..]);
    assert!(is_after_both, "{before:?}");
    let mut keeper = Keeper::new(project.kept().parent().unwrap());
    keeper.with(&files, |loaded| loaded.tidy(30_000)).unwrap();
    assert_eq!(format!("{before:?}"), format!("{:?}", noted()));
}

#[test]
fn a_broken_last_line_of_the_record_is_dropped() {
    let project = Project::usual();
    let open = project.open();
    open.shell("rm b.bin");
    drop(open);
    let record = project.kept().join(super::record::CHANGES);
    let whole = fs::read(&record).unwrap();
    fs::write(&record, [&whole[..], b"{\"command\":{\"run\":9"].concat()).unwrap();
    let open = project.open();
    assert_eq!(open.workspace.last_run(), 1);
    open.undo();
    assert!(project.path("b.bin").exists());
}

#[test]
fn a_broken_last_entry_of_the_index_is_dropped() {
    let project = Project::usual();
    project.open().shell("rm b.bin");
    let index = project.kept().join("index-0");
    let whole = fs::read(&index).unwrap();
    fs::write(&index, [&whole[..], &[7; 20]].concat()).unwrap();
    let before = project.tree();
    // The former contents of this command come after the broken entry.
    project.open().shell("printf 'new\\0' > b.bin; echo x > a.txt");
    project.open().shell("printf 'newer\\0' > b.bin; echo y > a.txt");
    let open = project.open();
    let runs: Vec<u64> = open.workspace.runs().into_iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs[1..])).unwrap();
    check_same(&before, &project.tree());
}

#[test]
fn files_deleted_by_edits_come_back_with_their_modes_in_a_later_process() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    let patch = "*** Begin Patch\n*** Delete File: key\n*** Update File: run.sh\n*** Move to: tool.sh\n*** End Patch";
    open.call("apply_patch", json!({ "patch": patch })).unwrap();
    assert_eq!(project.tree()["tool.sh"].0, 0o755);
    let saved = serde_json::to_string(&open.workspace.snapshot()).unwrap();
    drop(open);
    let open = project.open();
    open.workspace.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    open.undo();
    check_same(&before, &project.tree());
}

#[test]
fn edits_and_commands_of_one_run_are_undone_together() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open();
    let edit = |old: &str, new: &str| {
        open.call("edit_file", json!({ "file_path": "a.txt", "old_string": old, "new_string": new })).unwrap();
    };
    edit("one", "1");
    open.shell("printf 'bin\\0' > a.txt; chmod 700 a.txt");
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs)).unwrap();
    check_same(&before, &project.tree());
    edit("two", "2");
    open.shell("sed -i s/one/ONE/ a.txt; rm b.bin");
    edit("ONE", "One");
    let runs: Vec<u64> = open.workspace.runs().iter().map(|run| run.run_id).collect();
    block_on(open.workspace.undo_runs(&runs)).unwrap();
    check_same(&before, &project.tree());
}

#[test]
fn a_file_that_a_command_left_read_only_is_undone_and_redone() {
    let read_only = |project: &Project| {
        fs::set_permissions(project.path("a.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    };
    for command in [
        "sed -i s/one/ONE/ a.txt run.sh",
        "rm -f a.txt run.sh",
        "rm -f a.txt; echo new > a.txt; chmod 444 a.txt; echo >> run.sh",
        "chmod 644 a.txt; echo x >> a.txt; chmod 444 a.txt",
    ] {
        let project = Project::usual();
        read_only(&project);
        let before = project.tree();
        let open = project.open();
        open.shell(command);
        let after = project.tree();
        assert_ne!(difference(&before, &after), None);
        for _ in 0..2 {
            block_on(open.workspace.undo_runs(&[1])).unwrap();
            check_same(&before, &project.tree());
            block_on(open.workspace.redo_runs()).unwrap();
            check_same(&after, &project.tree());
        }
    }
    // The agent's edits do not replace such a file.
    let project = Project::usual();
    read_only(&project);
    let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "1" });
    assert!(project.open().call("edit_file", edit).is_err());
}

#[test]
fn storms_of_commands_are_undone_one_by_one() {
    let (mut n_commands, mut n_files) = (0, 0);
    for seed in 1..=40 {
        let mut numbers = Numbers(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let project = Project::usual();
        let mut open = project.open();
        let mut undo = Vec::new();
        let mut scripts = Vec::new();
        for _ in 0..4 {
            let commands: Vec<String> = (0..=numbers.below(8)).map(|_| numbers.command()).collect();
            scripts.push(commands.join("\n"));
            n_commands += commands.len();
            let before = project.tree();
            let data = open.shell(&format!("({}) 2>/dev/null; true", commands.join("\n")));
            assert_eq!(data["left_out"], json!([]), "seed {seed}: {scripts:#?}");
            n_files += data["changed"].as_array().unwrap().len();
            // A command that changed nothing starts no run that a later process knows.
            if project.tree() != before {
                undo.push((open.workspace.last_run(), before));
            }
            if numbers.below(4) == 0 {
                // The process is killed, without saved line logs.
                drop(open);
                open = project.open();
            }
        }
        for (run, expected) in undo.into_iter().rev() {
            block_on(open.workspace.undo_runs(&[run])).unwrap();
            let found = project.tree();
            assert_eq!(difference(&expected, &found), None, "seed {seed}, run {run}: {scripts:#?}");
        }
    }
    println!("40 seeds, {n_commands} commands, {n_files} changed paths");
}
