//! Changes that commands make to real files, directly and in a copy.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use emend_agent::environment::FilePath;
use emend_agent::session::call_tool;
use emend_agent::tool::{ToolError, ToolOutput};
use emend_agent::tools::{SafePatch, core_tools};
use emend_agent::workspace::{Mode, Workspace};
use emend_edit::ContentHash;
use emend_llm::Shared;
use serde_json::{Value, json};

use super::*;
use crate::clock::SystemClock;

struct Project {
    disk: Disk,
    workspace: Shared<Workspace>,
}

const FILES: &str =
    "//- a.txt\none\ntwo\n//- b.txt\nbee\n//- .gitignore\nout/\n*.log\n//- out/made.txt\nold\n//- .hidden/c.txt\nsea\n";

impl Project {
    fn new(mode: Mode) -> Self {
        let disk = Disk::new(|_| FILES.to_owned());
        let workspace = Workspace::new(Arc::new(disk.environment()), mode, Shared::new(SystemClock));
        Self { disk, workspace: Shared::new(workspace) }
    }

    fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let mut tools = core_tools();
        tools.register(Shared::new(SafePatch));
        block_on(call_tool(&tools, &self.workspace, name, arguments))
    }

    /// Runs a command that must succeed, and returns its data about changes.
    #[track_caller]
    fn shell(&self, command: &str) -> Value {
        let output = self.call("shell", json!({ "command": command, "timeout_ms": 600_000 })).unwrap();
        assert_eq!(output.data["exit_code"], 0, "{}", output.text);
        output.data
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.disk.root().join(path)).ok()
    }

    fn undo(&self) {
        for run in (1..=self.workspace.last_run()).rev() {
            block_on(self.workspace.undo_runs(&[run])).unwrap();
        }
    }
}

#[test]
fn changes_of_a_command_are_undone_byte_by_byte() {
    let project = Project::new(Mode::Direct);
    let data = project.shell(
        "sed -i s/two/TWO/ a.txt; rm b.txt; printf 'new\\r\\n' > new.txt; echo more >> .hidden/c.txt; echo x > out/made.txt
         echo x > a.log; mv .gitignore moved; printf 'a\\0b' > image.bin",
    );
    // Without the rules, the excluded file is visible; it was not captured before.
    assert_eq!(
        data["changed"],
        json!([".gitignore", ".hidden/c.txt", "a.log", "a.txt", "b.txt", "moved", "new.txt", "out/made.txt"])
    );
    assert_eq!(data["left_out"], json!(["image.bin"]));
    project.undo();
    assert_eq!(project.read("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(project.read("b.txt").as_deref(), Some("bee\n"));
    assert_eq!(project.read(".hidden/c.txt").as_deref(), Some("sea\n"));
    assert_eq!(project.read(".gitignore").as_deref(), Some("out/\n*.log\n"));
    assert_eq!((project.read("new.txt"), project.read("moved")), (None, None));
}

#[test]
fn a_change_is_found_regardless_of_file_times() {
    let project = Project::new(Mode::Direct);
    project.shell("true");
    let path = project.disk.root().join("a.txt");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    // A new time alone is not a change.
    let data = project.shell("touch b.txt");
    assert_eq!((&data["changed"], &data["left_out"]), (&json!([]), &json!([])));
    // The same size and time as before.
    let data = project.shell("printf 'ONE\\ntwo\\n' > a.txt; touch -d @1000000000 a.txt");
    assert_eq!(data["changed"], json!(["a.txt"]));
    project.undo();
    assert_eq!(project.read("a.txt").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn a_file_replaced_by_a_directory_or_a_link_is_a_change() {
    let command = "rm a.txt; mkdir a.txt; echo in > a.txt/in; mv b.txt c.txt; ln -s c.txt b.txt";
    let project = Project::new(Mode::Direct);
    let data = project.shell(command);
    assert_eq!(data["changed"], json!(["a.txt", "a.txt/in", "c.txt"]));
    assert_eq!(data["left_out"], json!(["b.txt"]), "a link is not restored");
    // The command's directory blocks only the file in its place. Without a keeper its origin is unknown, so it stays.
    let run = project.workspace.last_run();
    let undo = || {
        let undone = block_on(project.workspace.undo_runs(&[run])).unwrap();
        let names = |paths: Vec<FilePath>| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(undone.kept, [], "no edit of the user");
        (names(undone.restored), names(undone.refused))
    };
    assert_eq!(undo(), (vec!["a.txt/in".to_owned(), "c.txt".to_owned()], vec!["a.txt".to_owned()]));
    assert_eq!((project.read("a.txt/in"), project.read("c.txt")), (None, None));
    fs::remove_dir(project.disk.root().join("a.txt")).unwrap();
    assert_eq!(undo(), (vec!["a.txt".to_owned()], Vec::new()));
    assert_eq!(project.read("a.txt").as_deref(), Some("one\ntwo\n"));

    let data = Project::new(Mode::Staged).shell(command);
    assert_eq!((&data["changed"], &data["left_out"]), (&json!(["a.txt", "a.txt/in", "c.txt"]), &json!(["b.txt"])));
}

#[test]
fn a_file_that_a_command_made_executable_stays_executable() {
    let project = Project::new(Mode::Direct);
    project.shell("chmod +x a.txt; echo three >> a.txt");
    project.undo();
    assert_eq!(project.read("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(fs::metadata(project.disk.root().join("a.txt")).unwrap().permissions().mode() & 0o111, 0o111);
}

#[test]
fn staged_commands_change_no_file_of_the_project() {
    let project = Project::new(Mode::Staged);
    project.call("edit_file", json!({"file_path": "a.txt", "old_string": "one", "new_string": "1"})).unwrap();
    project.call("write_file", json!({"file_path": "deep/er/new.txt", "content": "pending\n"})).unwrap();
    let data =
        project.shell("pwd; cat a.txt deep/er/new.txt; sed -i s/two/2/ a.txt; rm b.txt; echo x > out/shared.txt");
    let root = project.disk.root().canonicalize().unwrap();
    assert_eq!(data["stdout"], format!("{}\n1\ntwo\npending\n", root.display()));
    assert_eq!(data["changed"], json!(["a.txt", "b.txt"]));
    assert_eq!(project.read("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(project.read("b.txt").as_deref(), Some("bee\n"));
    assert_eq!(project.read("out/shared.txt").as_deref(), Some("x\n"), "ignored directories are shared");
    block_on(project.workspace.accept_all(None)).unwrap();
    assert_eq!(project.read("a.txt").as_deref(), Some("1\n2\n"));
    assert_eq!(project.read("b.txt"), None);
}

#[test]
fn changes_in_a_copy_that_cannot_wait_for_review_are_named() {
    let outcome = |command: &str| {
        let project = Project::new(Mode::Staged);
        fs::write(project.disk.root().join("image.bin"), b"a\0b").unwrap();
        fs::write(project.disk.root().join("own.log"), "own\n").unwrap();
        let before = project.read("own.log");
        let data = project.shell(command);
        assert_eq!(project.read("own.log"), before, "{command}");
        (data["changed"].clone(), data["discarded"].clone())
    };
    for (command, changed, discarded) in [
        ("printf 'c\\0d' > image.bin", json!([]), json!(["image.bin"])),
        ("rm image.bin", json!([]), json!(["image.bin"])),
        ("mv image.bin logo.bin", json!([]), json!(["image.bin", "logo.bin"])),
        ("touch image.bin a.txt own.log", json!([]), json!([])),
        ("ln -s a.txt link", json!([]), json!(["link"])),
        ("chmod +x a.txt", json!([]), json!(["a.txt"])),
        ("printf 'x\\n' > run.sh; chmod +x run.sh", json!(["run.sh"]), json!(["run.sh"])),
        ("mkdir -p new/empty; mkdir full; echo x > full/f.txt", json!(["full/f.txt"]), json!(["new/empty"])),
        ("echo x > own.log; echo y > new.log", json!([]), json!(["new.log", "own.log"])),
        ("rm -rf out", json!([]), json!(["out"])),
        ("rm -rf out; mkdir -p out/deep; echo x > out/deep/a; echo y > out/b", json!([]), json!(["out"])),
    ] {
        assert_eq!(outcome(command), (changed, discarded), "{command}");
    }
}

#[test]
fn the_absolute_path_of_the_root_leads_a_command_into_the_copy() {
    let project = Project::new(Mode::Staged);
    let root = project.disk.root();
    let root = root.display();
    let data =
        project.shell(&format!("cd {root} && echo x >> '{root}/a.txt'; ls {root}-other || echo {root} {root}/b.txt"));
    let changed = (data["changed"].clone(), data["stdout"].as_str().unwrap().to_owned());
    assert_eq!(changed, (json!(["a.txt"]), format!("{root} {root}/b.txt\n")));
    assert!(data["stderr"].as_str().unwrap().contains(&format!("{root}-other")));
    assert_eq!(project.read("a.txt").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn a_copy_has_a_repository_of_its_own_and_is_removed_afterwards() {
    let project = Project::new(Mode::Staged);
    let root = project.disk.root();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(&root).args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]);
        let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--initial-branch=trunk"]);
    git(&["add", "."]);
    git(&["commit", "-m", "Begin"]);
    let before = git(&["rev-parse", "HEAD"]);
    let data = project.shell(
        "git log --format=%s; echo x >> a.txt; git add .; git -c user.name=a -c user.email=a@b commit -qm Next
         git log --format=%s; echo \"$PWD\" > out/where",
    );
    assert_eq!(data["stdout"], "Begin\nNext\nBegin\n");
    assert_eq!(data["changed"], json!(["a.txt"]));
    assert_eq!((git(&["rev-parse", "HEAD"]), git(&["status", "--porcelain"])), (before, String::new()));
    git(&["fsck", "--strict"]);
    let copy = PathBuf::from(project.read("out/where").unwrap().trim());
    assert_eq!(copy.file_name(), root.file_name());
    assert!(copy != root && !copy.exists(), "{}", copy.display());
}

#[test]
fn copies_of_dead_processes_are_removed() {
    let disk = Disk::new(|_| FILES.to_owned());
    let home = TempDir::new().unwrap();
    let state = Arc::new(StateDir::open_in(home.path(), &disk.root()).unwrap());
    let left = state.directory().join("scratch/emend-0-0/project");
    fs::create_dir_all(&left).unwrap();
    let environment = disk.environment().with_journal(Arc::clone(&state));
    let copy = block_on(environment.scratch(&[])).unwrap();
    assert!(!left.exists());
    assert!(PathBuf::from(copy.working_directory()).starts_with(state.directory().canonicalize().unwrap()));
    assert_eq!(block_on(copy.read(&path("a.txt"))).unwrap(), b"one\ntwo\n");
    drop(copy);
    assert_eq!(fs::read_dir(state.directory().join("scratch")).unwrap().count(), 0);
}

#[test]
fn links_in_a_copy_lead_to_the_corresponding_targets() {
    let disk = Disk::new(|root| {
        format!(
            "//- a.txt\none\n//- sub/in.txt -> ../a.txt\n//- sub/absolute.txt -> {root}/a.txt\n\
             //- sub/out.txt -> ../../outside.txt\n//- broken -> nowhere\n"
        )
    });
    let copy = block_on(disk.environment().scratch(&[])).unwrap();
    fs::write(PathBuf::from(copy.working_directory()).join("a.txt"), "two\n").unwrap();
    let read = |path: &str| fs::read_to_string(PathBuf::from(copy.working_directory()).join(path)).ok();
    assert_eq!(read("sub/in.txt").as_deref(), Some("two\n"));
    assert_eq!(read("sub/absolute.txt").as_deref(), Some("two\n"));
    assert_eq!(read("sub/out.txt").as_deref(), Some("secret\n"));
    assert_eq!(read("broken"), None);
}

#[test]
fn a_copy_does_not_reuse_an_existing_directory() {
    let disk = Disk::new(|_| FILES.to_owned());
    let home = TempDir::new().unwrap();
    let state = Arc::new(StateDir::open_in(home.path(), &disk.root()).unwrap());
    let environment = disk.environment().with_journal(Arc::clone(&state));
    let scratch = state.directory().join("scratch");
    let own = format!("emend-{}-", std::process::id());
    // More names than the copies of all other tests take.
    let n_taken = 1_000;
    for number in (0..n_taken).step_by(2) {
        fs::create_dir_all(scratch.join(format!("{own}{number}/project"))).unwrap();
        symlink(disk.outside(), scratch.join(format!("{own}{}", number + 1))).unwrap();
    }
    let copy = block_on(environment.scratch(&[])).unwrap();
    assert_eq!(block_on(copy.read(&path("a.txt"))).unwrap(), b"one\ntwo\n");
    let around = PathBuf::from(copy.working_directory()).parent().unwrap().to_owned();
    let number = around.file_name().unwrap().to_str().unwrap().strip_prefix(&own).unwrap();
    assert!(number.parse::<u64>().unwrap() >= n_taken, "{number}");
    assert_eq!(fs::metadata(&around).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn moved_and_restored_files_keep_their_mode_bits() {
    for mode in [Mode::Direct, Mode::Staged] {
        let project = Project::new(mode);
        let bits = |path: &str| {
            let found = fs::metadata(project.disk.root().join(path));
            found.ok().map(|found| found.permissions().mode() & 0o777)
        };
        for (path, bits) in [("a.txt", 0o750), ("b.txt", 0o604), (".hidden/c.txt", 0o711)] {
            fs::set_permissions(project.disk.root().join(path), fs::Permissions::from_mode(bits)).unwrap();
        }
        let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: moved.txt\n@@\n-one\n+1\n\
                     *** Delete File: b.txt\n*** End Patch";
        project.call("apply_patch", json!({ "patch": patch })).unwrap();
        if mode == Mode::Staged {
            // File by file, the old path first, so the source of the mode bits is gone.
            assert_eq!((bits("a.txt"), bits("moved.txt")), (Some(0o750), None));
            for path in ["a.txt", "moved.txt", "b.txt"] {
                block_on(project.workspace.accept_all(FilePath::clean(path).as_ref())).unwrap();
            }
        }
        assert_eq!((bits("a.txt"), bits("moved.txt"), bits("b.txt")), (None, Some(0o750), None), "{mode:?}");
        project
            .call("apply_patch", json!({ "patch": "*** Begin Patch\n*** Delete File: .hidden/c.txt\n*** End Patch" }))
            .unwrap();
        block_on(project.workspace.accept_all(None)).unwrap();
        assert_eq!(bits(".hidden/c.txt"), None);
        project.undo();
        assert_eq!((bits("a.txt"), bits("moved.txt")), (Some(0o750), None), "{mode:?}");
        assert_eq!((bits("b.txt"), bits(".hidden/c.txt")), (Some(0o604), Some(0o711)), "{mode:?}");
        assert_eq!(project.read("a.txt").as_deref(), Some("one\ntwo\n"));
    }
}

#[test]
fn a_moved_file_keeps_its_mode_bits_and_gets_them_back() {
    let project = Project::new(Mode::Direct);
    let bits = |path: &str| {
        let found = fs::metadata(project.disk.root().join(path));
        found.ok().map(|found| found.permissions().mode() & 0o777)
    };
    fs::set_permissions(project.disk.root().join("a.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(project.disk.root().join("b.txt"), fs::Permissions::from_mode(0o604)).unwrap();
    let call = |to: &str, overwrite: bool| {
        project.call("move_file", json!({"from": "a.txt", "to": to, "overwrite": overwrite}))
    };
    call("new/dir/a.sh", false).unwrap();
    assert_eq!((bits("a.txt"), bits("new/dir/a.sh")), (None, Some(0o750)));
    project.undo();
    assert_eq!((bits("a.txt"), bits("new/dir/a.sh")), (Some(0o750), None));
    call("b.txt", true).unwrap();
    assert_eq!((bits("a.txt"), bits("b.txt")), (None, Some(0o604)), "undo could not restore bits that were replaced");
    project.undo();
    assert_eq!((bits("a.txt"), project.read("a.txt").as_deref()), (Some(0o750), Some("one\ntwo\n")));
    assert_eq!((bits("b.txt"), project.read("b.txt").as_deref()), (Some(0o604), Some("bee\n")));
    let error = call(".hidden", false).unwrap_err();
    assert_eq!((error.code.as_str(), bits("a.txt")), ("invalid_argument", Some(0o750)));
}

#[test]
fn a_move_staged_before_a_restart_keeps_its_mode_bits() {
    let project = Project::new(Mode::Staged);
    fs::set_permissions(project.disk.root().join("a.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: moved.txt\n*** End Patch";
    project.call("apply_patch", json!({ "patch": patch })).unwrap();
    let saved = serde_json::to_string(&project.workspace.snapshot()).unwrap();
    let later = Workspace::new(Arc::new(project.disk.environment()), Mode::Staged, Shared::new(SystemClock));
    later.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    block_on(later.accept_all(None)).unwrap();
    let moved = fs::metadata(project.disk.root().join("moved.txt")).unwrap();
    assert_eq!((moved.permissions().mode() & 0o777, project.read("a.txt")), (0o750, None));
}

#[test]
fn a_diff_that_changes_a_mode_is_rejected() {
    let project = Project::new(Mode::Direct);
    let hash = ContentHash::of(b"one\ntwo\n").to_string();
    let call = |header: &str| {
        let diff = format!("{header}--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n");
        project.call("safe_patch", json!({"file_path": "a.txt", "unified_diff": diff, "base_content_sha256": hash}))
    };
    let error = call("diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n").unwrap_err();
    assert_eq!(error.code.as_str(), "unsupported");
    assert!(error.message.contains("Omit the lines with a mode"), "{}", error.message);
    assert_eq!(project.read("a.txt").as_deref(), Some("one\ntwo\n"));
    call("diff --git a/a.txt b/a.txt\n").unwrap();
    assert_eq!(project.read("a.txt").as_deref(), Some("1\ntwo\n"));
}
