//! Undo data is complete and durable: after full disks, kills, and commands that change anything.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Outcome, Project, covers};

/// Returns the program, started by a shell that runs `before` first.
fn in_shell(project: &Project, before: &str, args: &[&str]) -> Command {
    let emend = project.command(args);
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("{before}\nexec \"$@\"")).arg("bash").arg(emend.get_program()).args(emend.get_args());
    for (name, value) in emend.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.current_dir(project.root.path());
    shell
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} never came");
        thread::sleep(Duration::from_millis(1));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_command_can_change_anything_and_undo_brings_it_back() {
    covers("command.review");
    let project = Project::in_memory(&[
        ("a.txt", b"one\n"),
        ("b.bin", b"a\0b"),
        ("run.sh", b"#!/bin/sh\n"),
        ("key", b"secret\n"),
        (".env", b"TOKEN=1\n"),
        (".gitignore", b".env\n"),
    ]);
    fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(project.path("key"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(project.path("empty")).unwrap();
    symlink("a.txt", project.path("link")).unwrap();
    let before = project.tree();
    let task = "run rm -r run.sh key link .env empty && printf 'x\\0' > b.bin && echo two >> a.txt && chmod 700 a.txt";
    let outcome = project.run(&["run", task, "--allow", "shell"]);
    outcome.assert_ok();
    assert!(!outcome.stderr.contains("cannot be undone"), "{}", outcome.stderr);
    project.run(&["undo"]).assert_ok();
    assert_eq!(project.tree(), before);
    let modes = ["run.sh", "key", "a.txt"].map(|path| mode(&project.path(path)));
    assert_eq!(modes, [0o755, 0o600, 0o644]);
    assert_eq!(fs::read_link(project.path("link")).unwrap(), Path::new("a.txt"));
    assert!(project.path("empty").is_dir());
    project.run(&["redo"]).assert_ok();
    assert!(!project.path("key").exists() && !project.path("empty").exists());
    assert_eq!((project.read("b.bin"), mode(&project.path("a.txt"))), ("x\0".to_owned(), 0o700));
}

#[test]
fn what_cannot_be_undone_is_said() {
    let project = Project::in_memory(&[("a.txt", b"one\n"), (".gitignore", b"deps/\n")]);
    fs::create_dir(project.path("deps")).unwrap();
    (0..2_100).for_each(|number| fs::write(project.path(&format!("deps/{number}")), "x").unwrap());
    fs::File::create(project.path("huge.bin")).unwrap().set_len(300 << 20).unwrap();
    let task = ["run", "run rm -r deps huge.bin; echo two >> a.txt", "--allow", "shell"];
    let outcome = Outcome::of(project.command(&task).env("CLICOLOR_FORCE", "1").output().unwrap());
    let yellow = "\u{1b}[33m  warning: cannot be undone: deps, huge.bin\u{1b}[0m\n";
    assert!(outcome.stderr.contains(yellow), "{:?}", outcome.stderr);
    let before = "[changes in deps cannot be undone: too many ignored files]";
    assert!(outcome.stderr.split(yellow).next().unwrap().contains(before), "{:?}", outcome.stderr);
    let listed = project.run(&["checkpoints"]);
    assert!(listed.stdout.contains("a.txt\n      cannot be undone: deps, huge.bin\n"), "{}", listed.stdout);
    let undone = project.run(&["undo"]);
    let name = "undid run 1 (run rm -r deps huge.bin; echo two >> a.txt)";
    let restored = "restored a.txt\n";
    let note = "If another program made one of these changes, it was undone, too; `emend redo` restores all.\n";
    let lost = "cannot be undone: deps, huge.bin\n";
    let expected = format!("{name}\n{restored}{lost}changed while the command ran: a.txt\n{note}");
    assert_eq!(undone.assert_ok().stdout, expected);
}

#[test]
fn a_directory_without_undo_is_named_before_a_command_can_change_it() {
    let project = Project::in_memory(&[("a.txt", b"one\n"), (".gitignore", b"deps/\n")]);
    fs::create_dir(project.path("deps")).unwrap();
    (0..2_100).for_each(|number| fs::write(project.path(&format!("deps/{number}")), "x").unwrap());
    let remove = [("shell", json!({"command": "rm -r deps"}))];
    let outcome = project.run_calls(&remove, &[]);
    assert_eq!(outcome.status, 1, "nobody could be asked: {}", outcome.stderr);
    assert!(outcome.stdout.contains("\"notUndoable\":[\"deps\"]"), "{}", outcome.stdout);
    assert!(project.path("deps/1").exists());
    // Once for all commands of a run.
    let look = [("shell", json!({"command": "true"})), ("shell", json!({"command": "true "}))];
    let outcome = project.run_calls(&look, &["--allow", "shell"]);
    let told = "[changes in deps cannot be undone: too many ignored files]";
    let outputs = outcome.assert_ok().stdout.lines().filter(|line| line.contains("TOOL_CALL_OUTPUT_DELTA"));
    let outputs: Vec<&str> = outputs.filter(|line| line.contains(told)).collect();
    assert_eq!(outputs.len(), 1, "{}", outcome.stdout);
}

#[test]
fn thousands_of_files_are_undone() {
    let project = Project::in_memory(&[]);
    for number in 0..5_000 {
        let directory = project.path(&format!("d{}", number % 40));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("{number}.txt")), format!("text of {number}\n")).unwrap();
    }
    let before = project.tree();
    let began = Instant::now();
    project.run(&["run", "run rm -rf d*", "--allow", "shell"]).assert_ok();
    assert_eq!(project.tree().len(), 0);
    println!("run: {:?}", began.elapsed());
    let began = Instant::now();
    project.run(&["undo"]).assert_ok();
    println!("undo: {:?}", began.elapsed());
    assert!(project.tree() == before);
}

#[test]
fn a_reader_beside_a_running_command_leaves_its_undo_whole() {
    let project = Project::in_memory(&[("a.txt", b"one\n"), ("b.bin", b"a\0b")]);
    let before = project.tree();
    let task = "run echo x > a.txt; until [ -e seen ]; do sleep 0.01; done; rm b.bin";
    let mut emend = project.command(&["run", task, "--allow", "shell"]);
    let mut child = emend.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the command", || project.read("a.txt") == "x\n");
    project.run(&["checkpoints"]).assert_ok();
    project.run(&["tools", "call", "read_file", r#"{"file_path": "a.txt"}"#]).assert_ok();
    fs::write(project.path("seen"), "").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!project.path("b.bin").exists());
    project.run(&["undo"]).assert_ok();
    assert!(project.tree() == before);
}

#[test]
fn an_edit_that_could_not_be_undone_is_refused() {
    let text = "alpha 1\n".repeat(3_000);
    let project = Project::in_memory(&[("a.txt", text.as_bytes())]);
    // The file fits into the limit, the data for undo does not.
    let full = "trap '' XFSZ; ulimit -f 30";
    let outcome = Outcome::of(in_shell(&project, full, &["run", "rename alpha to omega"]).output().unwrap());
    assert!(outcome.stderr.contains("nothing was changed"), "{}{}", outcome.stdout, outcome.stderr);
    assert!(project.read("a.txt") == text);
}

#[test]
fn a_command_whose_changes_could_not_be_undone_does_not_run() {
    let project = Project::in_memory(&[("b.bin", &[0; 100_000])]);
    let full = "trap '' XFSZ; ulimit -f 30";
    let outcome = in_shell(&project, full, &["run", "run rm b.bin", "--allow", "shell"]).output().unwrap();
    let outcome = Outcome::of(outcome);
    assert!(outcome.stderr.contains("keeping the files before the command"), "{}{}", outcome.stdout, outcome.stderr);
    assert!(project.path("b.bin").exists());
}

#[test]
fn an_edit_is_undoable_from_the_moment_it_is_on_the_disk() {
    // Large enough that the data for undo takes longer to save than the file.
    let text = format!("alpha\n{}", format!("{}\n", "beta ".repeat(40)).repeat(40_000));
    let edit = r#"{"file_path": "a.txt", "old_string": "alpha", "new_string": "omega"}"#;
    for turn in 0..4 {
        let project = Project::in_memory(&[("a.txt", text.as_bytes())]);
        let mut emend = project.command(&["tools", "call", "edit_file", edit]);
        let mut child = emend.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_changed = || fs::read(project.path("a.txt")).unwrap() != text.as_bytes();
        wait_until("the edit", || child_is_over(child.id()) || is_changed());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_changed(), "turn {turn}");
        project.run(&["undo"]).assert_ok();
        assert!(!is_changed(), "turn {turn}");
    }
}

fn child_is_over(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_program_takes_its_command_with_it() {
    covers("error.shutdown");
    for signal in ["-KILL", "-QUIT"] {
        let project = Project::in_memory(&[("a.txt", b"one\n")]);
        let command = "(setsid bash -c 'trap \"\" TERM HUP; echo $$ > id; mv id ids; while :; do sleep 1; done' &)
            echo $BASHPID > own; while :; do sleep 1; done";
        let task = format!("run {}", command.replace('\n', ";").replace("&);", "&)\n"));
        let arguments = serde_json::json!({ "command": command }).to_string();
        let mut emend = in_shell(&project, "ulimit -c 0", &["tools", "call", "shell", &arguments]);
        let mut child = emend.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until(&task, || project.path("ids").exists() && project.path("own").exists());
        let ids: Vec<u32> = ["ids", "own"].map(|name| project.read(name).trim().parse().unwrap()).to_vec();
        assert!(ids.iter().all(|id| !child_is_over(*id)));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap();
        wait_until("the end of the command", || ids.iter().all(|id| child_is_over(*id)));
    }
}

#[test]
fn a_command_killed_with_the_program_can_be_undone() {
    let project = Project::in_memory(&[("a.txt", b"one\n"), ("b.bin", b"a\0b")]);
    let before = project.tree();
    let task = "run rm b.bin; echo two > a.txt; mkdir gone; while :; do sleep 1; done";
    let mut emend = project.command(&["run", task, "--allow", "shell"]);
    let mut child = emend.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the change", || project.path("gone").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = project.run(&["checkpoints"]);
    assert!(listed.stdout.contains("run rm b.bin; echo two > a.txt"), "{}", listed.stdout);
    assert!(listed.stderr.starts_with("emend: run 1 was killed while its command ran; "), "{}", listed.stderr);
    let said = listed.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("until two seconds later") && said.contains("deletions, moves and new directories until now")
    );
    let undone = project.run(&["undo"]);
    assert_eq!(undone.assert_ok().stderr, "", "said once");
    assert_eq!(project.tree(), before);
    assert!(!project.path("gone").exists());
}

/// Runs a command that changes `a.txt` and kills the program. Returns when the processes of the command have ended.
#[cfg(target_os = "linux")]
fn killed_in_a_command(command: &str) -> Project {
    let project = Project::in_memory(&[("a.txt", b"one\ntwo\nthree\n")]);
    let task = format!("run {command}; echo $$ > id; mv id own; while :; do sleep 1; done");
    let mut emend = project.command(&["run", &task, "--allow", "shell"]);
    let mut child = emend.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the change", || project.path("own").exists());
    let id: u32 = project.read("own").trim().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of the command", || child_is_over(id));
    project
}

/// Returns the paths below a directory.
#[cfg(target_os = "linux")]
fn paths_below(directory: &Path) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { paths_below(&path) } else { vec![path] }).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_rollback_names_the_texts_that_changed_again_after_a_kill() {
    let project = killed_in_a_command("sed -i s/two/TWO/ a.txt");
    // The kill was a minute ago.
    let state = paths_below(project.state());
    let alive = state.iter().find(|path| path.ends_with("kept/alive")).unwrap();
    let alive = fs::File::options().write(true).open(alive).unwrap();
    alive.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
    fs::write(project.path("a.txt"), project.read("a.txt") + "mine\n").unwrap();
    // The processes of the command are gone, also those that end it.
    thread::sleep(Duration::from_millis(500));
    for mode in [&["--hard", "--yes"][..], &["--hard", "--check"], &["--scoped"], &["--scoped", "--check"], &[]] {
        let failed = project.run(&[&["rollback", "1"], mode].concat());
        assert!(failed.stderr.contains("error [conflict]"), "{mode:?}: {}", failed.stderr);
        assert!(failed.stderr.contains("a.txt, own cannot be restored"), "{mode:?}: {}", failed.stderr);
    }
    assert_eq!(project.read("a.txt"), "one\nTWO\nthree\nmine\n");
}

#[test]
#[cfg(target_os = "linux")]
fn an_undo_after_a_kill_keeps_the_lines_of_the_user() {
    let project = killed_in_a_command("sed -i s/two/TWO/ a.txt");
    project.run(&["checkpoints"]).assert_ok();
    fs::write(project.path("a.txt"), project.read("a.txt") + "mine\n").unwrap();
    let checked = project.run(&["rollback", "1", "--check"]);
    assert!(!checked.assert_ok().stdout.contains("kept"), "{}", checked.stdout);
    let undone = project.run(&["undo"]);
    assert!(undone.assert_ok().stdout.contains("restored a.txt\n"), "{}", undone.stdout);
    assert_eq!((project.read("a.txt").as_str(), project.path("own").exists()), ("one\ntwo\nthree\nmine\n", false));
    project.run(&["redo"]).assert_ok();
    assert_eq!(project.read("a.txt"), "one\nTWO\nthree\nmine\n");
}

#[test]
fn kills_at_any_moment_lose_nothing() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let text = "alpha\n".repeat(2_000);
    let (mut n_changed, n_turns) = (0, 24);
    for turn in 0..n_turns {
        let project = Project::in_memory(&[("a.txt", text.as_bytes()), ("b.bin", b"a\0b"), ("c/d.txt", b"sea\n")]);
        let before = project.tree();
        let task = match turn % 2 {
            0 => "rename alpha to omega",
            _ => "run rm -r b.bin c; sed -i s/alpha/omega/ a.txt; for i in $(seq 300); do echo $i > n$i; done",
        };
        let mut emend = project.command(&["run", task, "--allow", "shell"]);
        let mut child = emend.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(below(400)));
        child.kill().unwrap();
        child.wait().unwrap();
        n_changed += usize::from(project.tree() != before);
        // The helper that ends the command needs a moment, for which the next process waits. A reader comes first at times.
        if turn % 3 == 0 {
            project.run(&["checkpoints"]).assert_ok();
        }
        let undone = project.run(&["undo"]);
        assert!(project.tree() == before, "turn {turn}: {}{}", undone.stdout, undone.stderr);
    }
    println!("{n_turns} kills, {n_changed} of them after a change, nothing lost");
}
