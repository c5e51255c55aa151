//! The user restores what a command changed, outside of emend, and a later command changes it again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::review::answer;
use crate::support::{Outcome, Project};

const TEXT: &str = "win\n";

fn project() -> Project {
    Project::new(&[("a.txt", TEXT.as_bytes()), ("b.txt", b"bee\n")])
}

#[track_caller]
fn command(project: &Project, command: &str) -> Outcome {
    let outcome = project.run(&["run", &format!("run {command}"), "--allow", "shell"]);
    outcome.assert_ok();
    outcome
}

/// Returns the runs of `emend checkpoints`, the last one first: whether each is undone.
fn undone(project: &Project) -> Vec<bool> {
    let listed = project.run(&["checkpoints", "--json"]).assert_ok().stdout.clone();
    listed.lines().map(|line| line.contains("\"undone\":true")).collect()
}

/// Commands that change `a.txt`, and what the user puts there afterwards.
const STEPS: [(&str, &str); 3] = [("rm a.txt", TEXT), ("rm a.txt", "brand new\n"), ("sed -i s/win/won/ a.txt", TEXT)];

#[test]
fn a_command_in_a_copy_may_delete_again_what_the_user_restored() {
    for answers in ["y\n", ""] {
        let project = project();
        answer(&project, &["run", "run rm a.txt", "--review", "--allow", "shell"], "").assert_ok();
        answer(&project, &["review"], answers).assert_ok();
        fs::write(project.path("a.txt"), TEXT).unwrap();
        let task = "run rm -f a.txt; echo two >> b.txt";
        let outcome = answer(&project, &["run", task, "--review", "--allow", "shell"], "");
        assert!(!outcome.assert_ok().stderr.contains("failed"), "{answers:?}: {}", outcome.stderr);
        assert_eq!((project.read("a.txt"), project.read("b.txt")), (TEXT.to_owned(), "bee\n".to_owned()));
        answer(&project, &["review"], "y\ny\n").assert_ok();
        assert!(!project.path("a.txt").exists(), "{answers:?}");
        assert_eq!(project.read("b.txt"), "bee\ntwo\n");
        project.run(&["undo"]).assert_ok();
        assert_eq!(project.read("b.txt"), "bee\n");
        // Before the review nothing was on the disk, so both deletions are one.
        assert_eq!(project.path("a.txt").exists(), answers == "y\n");
    }
}

#[test]
fn a_command_that_deleted_a_file_in_the_project_does_not_block_the_next_one_in_a_copy() {
    let project = project();
    command(&project, "rm a.txt");
    fs::write(project.path("a.txt"), TEXT).unwrap();
    let task = "run rm a.txt; echo two >> b.txt";
    let outcome = answer(&project, &["run", task, "--review", "--allow", "shell"], "");
    assert!(!outcome.assert_ok().stderr.contains("failed"), "{}", outcome.stderr);
    let outcome = answer(&project, &["review"], "y\ny\n");
    assert!(outcome.assert_ok().stdout.contains("2 hunks written, 0 rejected"), "{}", outcome.stdout);
    assert!(!project.path("a.txt").exists() && project.read("b.txt") == "bee\ntwo\n");
}

#[test]
fn every_way_back_knows_the_second_change() {
    for (change, text) in STEPS {
        let project = project();
        command(&project, change);
        fs::write(project.path("a.txt"), text).unwrap();
        let task = change.replace("win", "w");
        command(&project, &task);
        let after = project.tree();
        for mode in [&[][..], &["--scoped"], &["--hard"]] {
            let preview = project.run(&[&["rollback", "2", "--check"][..], mode].concat());
            assert!(preview.assert_ok().stdout.contains("a.txt"), "{change} {mode:?}: {}", preview.stdout);
        }
        project.run(&["rollback", "2", "--hard", "--yes"]).assert_ok();
        assert_eq!(project.read("a.txt"), text, "{change}");
        project.run(&["redo"]).assert_ok();
        assert_eq!(project.tree(), after, "{change}");
        project.run(&["undo"]).assert_ok();
        assert_eq!(project.read("a.txt"), text, "{change}");
    }
}

#[test]
fn an_undo_names_the_files_that_it_removes_from_an_ignored_directory() {
    let project = Project::new(&[(".gitignore", b"out/\n"), ("out/o", b"o\n")]);
    // Another program makes `out/mine` meanwhile.
    command(&project, "echo x >> out/o; echo mine > out/mine");
    let undone = project.run(&["undo"]);
    assert!(!project.path("out/mine").exists());
    for line in ["restored out/o\n", "removed out/mine\n", "If another program made one of these changes"] {
        assert!(undone.assert_ok().stdout.contains(line), "{line}: {}", undone.stdout);
    }
    project.run(&["redo"]).assert_ok();
    assert_eq!(project.read("out/mine"), "mine\n");
    project.run(&["undo"]).assert_ok();
    // Those of a large build are counted.
    command(&project, "for i in $(seq 10 49); do echo $i > out/$i; done");
    let undone = project.run(&["undo"]);
    let n_named = undone.assert_ok().stdout.lines().filter(|line| line.starts_with("removed out/")).count();
    assert_eq!(n_named, 10, "{}", undone.stdout);
    assert!(undone.stdout.contains("removed 30 more paths in out\n"), "{}", undone.stdout);
    assert_eq!(fs::read_dir(project.path("out")).unwrap().count(), 1);
}

#[test]
fn a_check_says_of_a_replaced_text_as_the_rollback_does() {
    for (replaced, rest) in [
        ("printf 'x\\0' > a.txt", &["mine"][..]),
        ("rm a.txt; mkdir a.txt; echo q > a.txt/q", &["mine"]),
        ("mv a.txt c.txt; ln -s c.txt a.txt", &[]),
    ] {
        let project = project();
        project.run(&["run", "rename win to won in a.txt"]).assert_ok();
        let expected: String = [TEXT.trim()].iter().chain(rest).map(|line| format!("{line}\n")).collect();
        let text = project.read("a.txt");
        fs::write(project.path("a.txt"), text + &rest.iter().map(|line| format!("{line}\n")).collect::<String>())
            .unwrap();
        command(&project, replaced);
        for hard in [&[][..], &["--hard"]] {
            let checked = project.run(&[&["rollback", "1", "--check"], hard].concat());
            let said = &checked.assert_ok().stdout;
            assert!(!said.contains("kept") && !said.contains("did not restore"), "{replaced} {hard:?}: {said}");
            assert!(said.contains("a.txt: "), "{replaced} {hard:?}: {said}");
        }
        let done = project.run(&["rollback", "1"]);
        assert!(!done.assert_ok().stdout.contains("kept"), "{replaced}: {}", done.stdout);
        assert_eq!(project.read("a.txt"), expected, "{replaced}");
    }
}

#[test]
fn a_check_names_a_directory_of_the_user_that_stays() {
    // The command made the directory, or the user did.
    for (made, at) in [("rm a.txt; mkdir a.txt", "a.txt/mine"), ("rm a.txt", "a.txt/mine"), ("mkdir new", "new/mine")] {
        let project = project();
        command(&project, made);
        fs::create_dir_all(project.path(at).parent().unwrap()).unwrap();
        fs::write(project.path(at), "mine\n").unwrap();
        command(&project, "echo two >> b.txt");
        let directory = at.split('/').next().unwrap();
        for hard in [&[][..], &["--hard"]] {
            let checked = project.run(&[&["rollback", "1", "--check"], hard].concat());
            let said = &checked.assert_ok().stdout;
            let kept = said.lines().filter(|line| line.starts_with("kept ") || line.starts_with("did not restore"));
            assert!(kept.clone().any(|line| line.contains(directory)), "{made} {hard:?}: {said}");
            assert!(!said.contains(&format!("+++ b/{directory}")), "{made} {hard:?}: {said}");
        }
        project.run(&["rollback", "1", "--hard", "--yes"]).assert_ok();
        assert_eq!(project.read(at), "mine\n");
    }
}

#[test]
fn undone_runs_are_redone_one_by_one() {
    let project = Project::new(&[("a.txt", b"win\n"), ("b.bin", b"a\0b")]);
    let changes = ["sed -i s/win/won/ a.txt", "rm b.bin; printf 'x\\0' > c.bin", "echo more >> a.txt", "rm c.bin"];
    let mut trees = vec![project.tree()];
    for change in changes {
        command(&project, change);
        trees.push(project.tree());
    }
    for tree in trees.iter().rev().skip(1) {
        project.run(&["undo"]).assert_ok();
        assert!(project.tree() == *tree);
    }
    assert_eq!(undone(&project), [true; 4]);
    for (index, tree) in trees.iter().enumerate().skip(1) {
        let outcome = project.run(&["redo"]);
        assert!(outcome.assert_ok().stdout.contains(&format!("redid run {index}")), "{index}: {}", outcome.stdout);
        assert!(project.tree() == *tree, "redo {index}");
    }
    assert_eq!(undone(&project), [false; 4]);
    assert_eq!(project.run(&["redo"]).status, 1);
}

#[test]
fn a_run_after_the_user_restored_a_file_is_redone_by_its_name() {
    for (change, text) in STEPS {
        let project = project();
        command(&project, change);
        fs::write(project.path("a.txt"), text).unwrap();
        command(&project, &change.replace("win", "w"));
        let after = project.tree();
        project.run(&["undo"]).assert_ok();
        assert_eq!(undone(&project), [true, false], "{change}");
        let redone = project.run(&["redo"]).assert_ok().stdout.clone();
        assert!(redone.starts_with("redid run 2"), "{change}: {redone}");
        assert_eq!((project.tree(), undone(&project)), (after, vec![false, false]), "{change}");
    }
}

#[test]
fn a_redo_leaves_a_file_that_the_user_restored_before_the_undo() {
    for (change, text) in STEPS {
        let project = Project::new(&[("a.txt", TEXT.as_bytes()), ("b.bin", b"a\0b"), ("c.txt", b"see\n")]);
        command(&project, &format!("{change}; rm b.bin; echo more >> c.txt"));
        fs::write(project.path("a.txt"), text).unwrap();
        project.run(&["undo"]).assert_ok();
        assert_eq!(project.read("a.txt"), text, "{change}");
        let redone = project.run(&["redo"]);
        assert_eq!(project.read("a.txt"), text, "{change}: {}", redone.stdout);
        let others = (project.path("b.bin").exists(), project.read("c.txt"));
        assert_eq!(others, (false, "see\nmore\n".to_owned()), "{change}: {}{}", redone.stdout, redone.stderr);
        project.run(&["undo"]).assert_ok();
        let tree = (project.read("a.txt"), project.path("b.bin").exists(), project.read("c.txt"));
        assert_eq!(tree, (text.to_owned(), true, "see\n".to_owned()), "{change}");
    }
}

#[test]
fn an_undo_puts_no_deleted_text_beside_a_file_that_the_user_wrote_anew() {
    let project = project();
    command(&project, "rm a.txt");
    fs::write(project.path("a.txt"), "brand new\n").unwrap();
    let undone = project.run(&["undo"]);
    assert_eq!(undone.status, 1, "{}", undone.stdout);
    assert!(undone.stderr.contains("a.txt was changed at the same lines since"), "{}", undone.stderr);
    assert_eq!(project.read("a.txt"), "brand new\n");
}

#[test]
fn a_rollback_of_an_older_run_puts_no_old_text_beside_a_file_that_the_user_wrote_anew() {
    let project = project();
    project.run(&["run", "rename win to won"]).assert_ok();
    command(&project, "rm a.txt");
    fs::write(project.path("a.txt"), "brand new\n").unwrap();
    project.run(&["rollback", "1"]);
    assert_eq!(project.read("a.txt"), "brand new\n");
}

#[test]
fn previews_name_what_is_not_text() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let project = Project::new(&[("a.txt", b"win\n"), ("b.bin", b"a\0b"), ("run.sh", b"#!/bin/sh\n")]);
    fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    symlink("a.txt", project.path("link")).unwrap();
    command(&project, "rm b.bin; chmod 755 run.sh; ln -sfn run.sh link; printf 'x\\0' > new.bin; echo more >> a.txt");
    for mode in [&[][..], &["--hard"]] {
        let preview = project.run(&[&["rollback", "1", "--check"][..], mode].concat()).assert_ok().stdout.clone();
        for line in [
            "-more\n",
            "b.bin: nothing → binary file of 3 bytes\n",
            "link: link to run.sh → link to a.txt\n",
            "new.bin: binary file of 2 bytes → nothing\n",
            "run.sh: mode 755 → mode 644\n",
        ] {
            assert!(preview.contains(line), "{mode:?} {line}: {preview}");
        }
    }
    // Paths that the user has changed since do not come back, so no preview promises it.
    fs::write(project.path("new.bin"), b"mine\0").unwrap();
    let preview = project.run(&["rollback", "1", "--check"]).assert_ok().stdout.clone();
    let kept = "kept new.bin: it was changed since\n";
    assert!(!preview.contains("new.bin: binary") && preview.contains(kept), "{preview}");
    assert!(project.run(&["rollback", "1"]).assert_ok().stdout.contains(kept));
    // Nothing is left that a rollback would undo: the check fails as the rollback does, and names the reason.
    for arguments in [&["rollback", "1", "--check"][..], &["rollback", "1"]] {
        let refused = project.run(arguments);
        let reason = "error [conflict]: run 1 and later runs have nothing left to undo: new.bin was changed since\n";
        assert_eq!((refused.status, &*refused.stdout), (1, ""), "{arguments:?}");
        assert!(refused.stderr.ends_with(reason), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn a_run_without_texts_is_rolled_back_hard_and_not_called_unchanged() {
    let project = Project::new(&[("b.bin", b"a\0b")]);
    command(&project, "rm b.bin");
    let scoped = project.run(&["rollback", "1", "--scoped"]);
    assert_eq!(scoped.status, 2, "{}", scoped.stderr);
    assert!(scoped.stderr.contains("--scoped undoes texts alone: b.bin"), "{}", scoped.stderr);
    let done = project.run(&["rollback", "1", "--hard", "--yes"]).assert_ok().stdout.clone();
    assert!(done.contains("took back b.bin: nothing → binary file of 3 bytes"), "{done}");
    assert!(project.path("b.bin").exists());
}

#[test]
fn a_text_below_a_file_of_the_user_is_kept_with_that_reason() {
    let make = || {
        let project = Project::new(&[("a.txt", b"a\n")]);
        fs::create_dir(project.path("D")).unwrap();
        fs::write(project.path("D/x"), "x\n").unwrap();
        command(&project, "rm -r D; echo file > D; echo more >> a.txt");
        fs::write(project.path("D"), "file\nmine\n").unwrap();
        project
    };
    let kept = "kept D/x: the file D is in the place of its directory\n";
    for options in [&["--scoped"][..], &["--hard", "--yes"]] {
        let project = make();
        let done = project.run(&[&["rollback", "1"][..], options].concat()).assert_ok().stdout.clone();
        assert_eq!(done.matches("kept D/x").count(), 1, "{done}");
        assert!(done.contains(kept), "{done}");
        assert_eq!((project.read("a.txt"), project.read("D")), ("a\n".to_owned(), "file\nmine\n".to_owned()));
    }
    let preview = make().run(&["rollback", "1", "--preview"]).assert_ok().stdout.clone();
    assert!(preview.contains(kept), "{preview}");
}

#[test]
fn a_rolled_back_file_that_the_run_had_made_is_called_removed() {
    let project = Project::new(&[("a.txt", b"a\n")]);
    command(&project, "echo new > new.txt");
    let done = project.run(&["rollback", "1", "--scoped"]).assert_ok().stdout.clone();
    assert_eq!(done, "removed new.txt\n");
}

#[test]
fn a_scoped_rollback_restores_a_file_that_cannot_be_written_as_undo_does() {
    for words in [&["undo"][..], &["rollback", "1", "--scoped"]] {
        let project = Project::new(&[("a.txt", b"a\n")]);
        command(&project, "echo more >> a.txt; chmod 444 a.txt");
        let done = project.run(words).assert_ok().stdout.clone();
        assert!(done.contains("restored a.txt\n") && !done.contains("kept a.txt:"), "{words:?}: {done}");
        assert_eq!(project.read("a.txt"), "a\n", "{words:?}");
    }
}

#[test]
fn a_path_of_which_the_later_change_alone_is_undone_is_named_as_restored_and_as_kept() {
    for mode in [&[][..], &["--hard", "--yes"]] {
        let project = Project::new(&[("k.bin", b"\0old")]);
        command(&project, "printf '\\0N1' > k.bin");
        fs::write(project.path("k.bin"), b"\0MINEK").unwrap();
        command(&project, "printf '\\0N2' > k.bin");
        let check = [&["rollback", "1", "--check"][..], &mode[..mode.len().min(1)]].concat();
        let check = project.run(&check).assert_ok().stdout.clone();
        assert!(check.contains("k.bin: binary file of 3 bytes → binary file of 6 bytes"), "{mode:?}: {check}");
        assert!(check.contains("kept k.bin: it was changed since"), "{mode:?}: {check}");
        let done = project.run(&[&["rollback", "1"][..], mode].concat()).assert_ok().stdout.clone();
        assert_eq!(fs::read(project.path("k.bin")).unwrap(), b"\0MINEK", "{mode:?}");
        assert!(done.contains("restored k.bin") || done.contains("took back k.bin"), "{mode:?}: {done}");
        assert!(done.contains("kept k.bin: it was changed since"), "{mode:?}: {done}");
    }
}

/// Returns the path of the file with the contents that commands replaced.
fn pack(directory: &Path) -> Option<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).find_map(|path| match path.is_dir() {
        true => pack(&path),
        false => path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pack-")).then_some(path),
    })
}

#[test]
fn an_undo_that_fails_half_way_says_so_and_is_completed_by_the_next_one() {
    let project = Project::new(&[("a.bin", b"\0\x01\x02")]);
    command(&project, "sh -c 'rm a.bin; printf new > new.bin'");
    let pack = pack(project.state()).unwrap();
    let whole = fs::read(&pack).unwrap();
    fs::write(&pack, whole.iter().map(|byte| byte ^ 0x55).collect::<Vec<u8>>()).unwrap();
    let outcome = project.run(&["undo"]);
    assert_ne!(outcome.status, 0, "{}", outcome.stdout);
    let stderr = outcome.stderr;
    assert!(stderr.contains("some files may be changed back already; repeat the undo to complete it"), "{stderr}");
    fs::write(&pack, whole).unwrap();
    project.run(&["undo"]).assert_ok();
    assert_eq!(fs::read(project.path("a.bin")).unwrap(), b"\0\x01\x02");
    assert!(!project.path("new.bin").exists());
}

#[test]
fn a_command_after_an_undone_edit_is_undone_and_redone() {
    for change in ["printf '\\000' > b.bin", "chmod 600 b.txt", "ln -s a.txt link"] {
        let project = project();
        project.run(&["run", "rename win to won"]).assert_ok();
        project.run(&["undo"]).assert_ok();
        let start = project.tree();
        command(&project, change);
        let after = (project.tree(), project.run(&["checkpoints"]).stdout);
        project.run(&["undo"]).assert_ok();
        assert_eq!(project.tree(), start, "{change}");
        project.run(&["redo"]).assert_ok();
        assert_eq!((project.tree(), project.run(&["checkpoints"]).stdout), after, "{change}");
        // The command ended the redo of the edit.
        let outcome = project.run(&["redo"]);
        assert_eq!((outcome.status, project.read("a.txt").as_str()), (1, TEXT), "{change}: {}", outcome.stderr);
    }
}

#[test]
fn a_redo_restores_edits_and_commands_of_one_rollback_and_names_those_of_another() {
    let project = project();
    project.run(&["run", "rename win to won"]).assert_ok();
    command(&project, "ln -s a.txt link");
    let after = project.tree();
    project.run(&["rollback", "1"]).assert_ok();
    let redone = project.run(&["redo"]);
    assert!(!redone.assert_ok().stdout.contains("still undone"), "{}", redone.stdout);
    assert_eq!(project.tree(), after);
    project.run(&["undo"]).assert_ok();
    project.run(&["undo"]).assert_ok();
    let first = project.run(&["redo"]);
    assert!(first.assert_ok().stdout.contains("to redo more, repeat: emend redo"), "{}", first.stdout);
    let second = project.run(&["redo"]);
    assert!(!second.assert_ok().stdout.contains("still undone"), "{}", second.stdout);
    assert_eq!(project.tree(), after);
}

#[test]
fn an_undo_says_removed_only_of_what_it_has_removed() {
    let project = Project::new(&[("a.txt", b"one\n")]);
    std::os::unix::fs::symlink("nowhere", project.path("link")).unwrap();
    project.run(&["run", "run rm link; echo text > link; mkfifo pipe", "--allow", "shell"]).assert_ok();
    let undone = project.run(&["undo"]).assert_ok().stdout.clone();
    assert!(undone.contains("restored link\n") && undone.contains("removed pipe\n"), "{undone}");
    for command in ["echo x > new.txt; echo two > a.txt", "rm new.txt"] {
        project.run(&["run", &format!("run {command}"), "--allow", "shell"]).assert_ok();
    }
    let runs = project.run(&["checkpoints", "--json"]).assert_ok().stdout.clone();
    let ids = runs.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_u64().unwrap());
    let first = ids.filter(|id| *id > 1).min().unwrap().to_string();
    let undone = project.run(&["rollback", &first]).assert_ok().stdout.clone();
    assert!(undone.contains("restored a.txt\n") && !undone.contains("removed new.txt"), "{undone}");
}

#[test]
fn a_check_shows_the_other_texts_beside_one_in_whose_place_a_directory_is() {
    let project = Project::new(&[("x", b"1\n"), ("y", b"1\n")]);
    project.run(&["run", "run rm x; echo 2 > y", "--allow", "shell"]).assert_ok();
    fs::create_dir(project.path("x")).unwrap();
    let check = project.run(&["rollback", "1", "--check"]);
    assert!(check.assert_ok().stdout.contains("-2\n+1\n"), "{}", check.stdout);
    project.run(&["undo"]).assert_ok();
    assert_eq!((project.read("y").as_str(), project.path("x").is_dir()), ("1\n", true));
}

#[test]
fn a_task_of_several_lines_is_named_by_the_first_with_a_mark() {
    let project = Project::new(&[("a.txt", b"one\n")]);
    project.run(&["run", "run echo two > a.txt\nAnd say that it is done.", "--allow", "shell"]).assert_ok();
    let listed = project.run(&["checkpoints"]).assert_ok().stdout.clone();
    assert!(listed.contains("run echo two > a.txt …\n"), "{listed}");
    let undone = project.run(&["undo"]).assert_ok().stdout.clone();
    assert!(undone.contains("undid run 1 (run echo two > a.txt …)\n"), "{undone}");
    assert!(undone.contains("changed while the command ran: a.txt\n"), "{undone}");
}
