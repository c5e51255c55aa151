//! Undos and redos that leave a path alone: the command says why, changes nothing else, and works after a repair.

use std::fs;

use crate::support::{Outcome, Project};

const BEFORE: &[u8] = b"a\0b";
const COMMAND: &str = "run printf 'c\\0d' > b.bin; echo two > a.txt";

/// Returns a project in which a command has changed a text and a binary file.
fn project() -> Project {
    let project = Project::new(&[("a.txt", b"one\n"), ("b.bin", BEFORE)]);
    project.run(&["run", COMMAND, "--allow", "shell"]).assert_ok();
    project
}

#[track_caller]
fn check_refused(outcome: &Outcome, code: &str, parts: &[&str]) {
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains(&format!("error [{code}]")), "{}", outcome.stderr);
    parts.iter().for_each(|part| assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr));
}

#[test]
fn files_that_were_moved_away_are_undone_after_they_came_back() {
    let project = project();
    for path in ["a.txt", "b.bin"] {
        fs::rename(project.path(path), project.path("aside").with_extension(path)).unwrap();
    }
    let parts = ["a.txt is no longer there", "b.bin is no longer there"];
    check_refused(&project.run(&["undo"]), "conflict", &parts);
    check_refused(&project.run(&["rollback", "1"]), "conflict", &parts);
    let listed = project.run(&["checkpoints", "--json"]).assert_ok().stdout.clone();
    assert!(listed.contains("\"undone\":false"), "{listed}");
    for path in ["a.txt", "b.bin"] {
        fs::rename(project.path("aside").with_extension(path), project.path(path)).unwrap();
    }
    project.run(&["undo"]).assert_ok();
    assert_eq!((project.read("a.txt").as_str(), fs::read(project.path("b.bin")).unwrap()), ("one\n", BEFORE.to_vec()));
    check_refused(&project.run(&["undo"]), "not_found", &["nothing to undo"]);
}

#[test]
fn a_binary_file_that_the_user_changed_is_named_and_its_original_stays_within_reach() {
    let project = project();
    fs::write(project.path("b.bin"), b"mine\0").unwrap();
    let undone = project.run(&["undo"]);
    assert!(undone.assert_ok().stdout.contains("kept b.bin: it was changed since"), "{}", undone.stdout);
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), b"mine\0");
    check_refused(&project.run(&["undo"]), "conflict", &["b.bin was changed since"]);
    check_refused(
        &project.run(&["rollback", "1", "--hard", "--yes"]),
        "conflict",
        &["b.bin was changed since", "moved away"],
    );
    // The check fails as the rollback does.
    check_refused(&project.run(&["rollback", "1", "--check"]), "conflict", &["b.bin was changed since"]);
    fs::rename(project.path("b.bin"), project.path("mine.bin")).unwrap();
    check_refused(&project.run(&["undo"]), "conflict", &["b.bin is no longer there"]);
    let hard = project.run(&["rollback", "1", "--hard", "--yes"]);
    assert!(hard.assert_ok().stdout.contains("took back"), "{}", hard.stdout);
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), BEFORE);
    assert_eq!(fs::read(project.path("mine.bin")).unwrap(), b"mine\0");
}

#[test]
fn a_redo_names_what_it_leaves_alone_and_is_repeated() {
    let project = project();
    project.run(&["undo"]).assert_ok();
    fs::write(project.path("b.bin"), b"mine\0").unwrap();
    let redone = project.run(&["redo"]);
    let said = &redone.assert_ok().stdout;
    assert!(said.contains("reapplied a.txt") && said.contains("kept b.bin: it was changed since"), "{said}");
    check_refused(&project.run(&["redo"]), "conflict", &["nothing was redone", "b.bin was changed since"]);
    fs::write(project.path("b.bin"), BEFORE).unwrap();
    let redone = project.run(&["redo"]);
    assert!(redone.assert_ok().stdout.starts_with("redid run 1"), "{}", redone.stdout);
    assert_eq!(fs::read(project.path("b.bin")).unwrap(), b"c\0d");
    check_refused(&project.run(&["redo"]), "not_found", &["nothing to redo"]);
}

#[test]
fn a_text_that_an_undo_left_alone_is_no_matter_of_the_redo() {
    let project = Project::new(&[("a.txt", b"a1\n"), ("b.txt", b"b1\n")]);
    project.run(&["run", "run echo a2 > a.txt; echo b2 > b.txt", "--allow", "shell"]).assert_ok();
    fs::write(project.path("b.txt"), "b3\n").unwrap();
    let undone = project.run(&["rollback", "1"]);
    assert!(undone.assert_ok().stdout.contains("kept your later edits in b.txt"), "{}", undone.stdout);
    let redone = project.run(&["redo"]);
    // The first line has the name of the run.
    assert_eq!(redone.assert_ok().stdout.lines().skip(1).collect::<Vec<_>>(), ["reapplied a.txt"]);
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("a2\n".to_owned(), "b3\n".to_owned()));
    check_refused(&project.run(&["redo"]), "not_found", &["nothing to redo"]);
}

#[test]
fn a_redo_names_a_run_of_which_the_undo_had_left_a_part() {
    let project = project();
    fs::write(project.path("b.bin"), b"mine\0").unwrap();
    project.run(&["undo"]).assert_ok();
    let redone = project.run(&["redo"]);
    assert!(redone.assert_ok().stdout.starts_with("redid run 1"), "{}", redone.stdout);
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn a_hard_rollback_of_undone_runs_says_what_it_takes_back() {
    let project = Project::new(&[("a.txt", b"one\n")]);
    for text in ["two", "three"] {
        project.run(&["run", &format!("run echo {text} > a.txt"), "--allow", "shell"]).assert_ok();
    }
    project.run(&["undo"]).assert_ok();
    project.run(&["undo"]).assert_ok();
    let hard = project.run(&["rollback", "2", "--hard", "--yes"]);
    assert!(hard.assert_ok().stdout.contains("took back a.txt: its present text\n"), "{}", hard.stdout);
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn a_path_below_a_file_of_the_user_is_kept_and_not_taken_back() {
    let project = Project::new(&[("a.txt", b"one\n"), ("d/b.bin", b"\0"), ("d/t.txt", b"tee\n")]);
    let command = "run printf '\\0x' > d/b.bin; rm d/t.txt; echo two > a.txt";
    project.run(&["run", command, "--allow", "shell"]).assert_ok();
    fs::remove_dir_all(project.path("d")).unwrap();
    fs::write(project.path("d"), "mine\n").unwrap();
    for arguments in [["rollback", "1", "--hard", "--check"], ["rollback", "1", "--hard", "--yes"]] {
        let hard = project.run(&arguments);
        hard.assert_ok();
        let shown = |path: &str| hard.stdout.lines().filter(|line| line.contains(path)).collect::<Vec<_>>();
        let named = shown("d/b.bin");
        assert!(matches!(*named, [line] if line.starts_with("kept d/b.bin: ")), "{}", hard.stdout);
    }
    assert_eq!((project.read("a.txt"), project.read("d")), ("one\n".to_owned(), "mine\n".to_owned()));
    let again = project.run(&["rollback", "1", "--hard", "--yes"]);
    check_refused(&again, "conflict", &["d/b.bin", "d/t.txt"]);
}

#[test]
fn a_redo_does_not_join_a_created_text_with_one_of_the_user() {
    let project = Project::new(&[("a.txt", b"one\n")]);
    project.run(&["run", "run echo theirs > new.txt", "--allow", "shell"]).assert_ok();
    project.run(&["undo"]).assert_ok();
    fs::write(project.path("new.txt"), "mine\n").unwrap();
    check_refused(&project.run(&["redo"]), "conflict", &["nothing was redone", "new.txt was changed"]);
    assert_eq!(project.read("new.txt"), "mine\n");
}

#[test]
fn mode_bits_that_the_user_changed_are_named() {
    let project = Project::new(&[("a.sh", b"echo\n")]);
    let set = |mode: &str| project.run(&["run", &format!("run chmod {mode} a.sh"), "--allow", "shell"]);
    set("600").assert_ok();
    let by_user = |mode: u32| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(project.path("a.sh"), permissions).unwrap();
    };
    by_user(0o755);
    check_refused(&project.run(&["undo"]), "conflict", &["a.sh was changed since"]);
    by_user(0o600);
    project.run(&["undo"]).assert_ok();
}

#[test]
fn a_scoped_rollback_names_what_it_does_not_undo() {
    let project = project();
    for more in [&["--check"][..], &[]] {
        let scoped = project.run(&[&["rollback", "1", "--scoped"][..], more].concat());
        let line = "kept the changes that are not of texts: b.bin; to undo that and all later runs: emend rollback 1";
        assert!(scoped.assert_ok().stdout.contains(line), "{more:?}: {}", scoped.stdout);
    }
    assert_eq!((project.read("a.txt").as_str(), fs::read(project.path("b.bin")).unwrap()), ("one\n", b"c\0d".to_vec()));
}

#[test]
fn a_preview_names_a_repository_and_a_scoped_rollback_an_ignored_directory() {
    let project = Project::new(&[("a.txt", b"one\n"), (".gitignore", b"out/\n"), ("out/x", b"x\n")]);
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(arguments).current_dir(project.path("."));
        let done = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    let before = git(&["log", "--format=%H"]);
    let command = "run git -c user.name=n -c user.email=e commit --allow-empty -qm two; echo y >> out/x";
    project.run(&["run", command, "--allow", "shell"]).assert_ok();
    for more in [&["--check"][..], &["--hard", "--check"]] {
        let shown = project.run(&[&["rollback", "1"][..], more].concat()).assert_ok().stdout.clone();
        assert!(shown.contains(".git: repository, changed\n"), "{more:?}: {shown}");
    }
    let scoped = project.run(&["rollback", "1", "--scoped"]);
    assert_eq!(scoped.status, 2, "{}", scoped.stderr);
    assert!(scoped.stderr.contains("--scoped undoes texts alone: .git, out;"), "{}", scoped.stderr);
    project.run(&["rollback", "1", "--hard", "--yes"]).assert_ok();
    assert_eq!(git(&["log", "--format=%H"]), before);
    assert_eq!(project.read("out/x"), "x\n");
}
