//! `emend patch` is killed while it changes 50 files. After the next command all files are old or all are new.
//!
//! The command prints its next system call and waits (see `patch/steps.rs`), so each kill falls between two known calls
//! and does not depend on timing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _};
use std::process::Stdio;

use crate::support::Project;

const N_FILES: usize = 50;

const N_LINES: usize = 20;

/// Number of kills between the first rename and the removal of the journal.
const N_KILLS: usize = 120;

/// A printed step: the kind of call and the file.
type Printed = (String, String);

fn name(number: usize) -> String {
    format!("d{}/f{number:02}.txt", number % 5)
}

fn text(number: usize, word: &str) -> String {
    (0..N_LINES).map(|line| format!("file {number} line {line} {word}\n")).collect()
}

fn tree(word: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = (0..N_FILES).map(|number| (name(number), text(number, word).into_bytes())).collect();
    files.push(("the.patch".to_owned(), patch().into_bytes()));
    files.sort();
    files
}

fn patch() -> String {
    let hunks = (0..N_FILES).map(|number| {
        let lines: String = (0..N_LINES)
            .map(|line| format!("-file {number} line {line} old\n+file {number} line {line} new\n"))
            .collect();
        format!("*** Update File: {}\n@@\n{lines}", name(number))
    });
    format!("*** Begin Patch\n{}*** End Patch\n", hunks.collect::<String>())
}

fn project() -> Project {
    let files = tree("old");
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
    Project::in_memory(&files)
}

fn printed(line: &str) -> Printed {
    let mut words = line.split_whitespace().skip(2).map(str::to_owned);
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

/// Returns the steps of a patch that is not killed.
fn steps() -> Vec<Printed> {
    let project = project();
    let mut command = project.command(&["patch", "the.patch"]);
    let output = command.env("EMEND_STEPS", "all").output().unwrap();
    assert!(output.status.success());
    assert!(project.tree() == tree("new"));
    let errors = String::from_utf8(output.stderr).unwrap();
    errors.lines().filter(|line| line.starts_with("step ")).map(printed).collect()
}

/// Kills the command just before step `number`, counted from 1.
fn kill_before(project: &Project, number: usize, expected: &Printed) {
    let mut command = project.command(&["patch", "the.patch"]);
    command.env("EMEND_STEPS", number.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with(&format!("step {number}: ")), "{line}");
    // Names of temporary files contain the process ID, so their steps are not compared.
    let (kind, path) = printed(&line);
    assert_eq!(kind, expected.0, "{line}");
    assert!(path == expected.1 || path.ends_with(".emend-new"), "{line}");
    child.kill().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (None, ""), "killed, and before it was done");
}

/// Runs a command that opens the project for writing, and checks that it reports the recovery.
fn next_run(project: &Project, turn: usize, expects: &str) {
    let commands: [&[&str]; 4] = [
        &["undo"],
        &["review"],
        &["tools", "call", "read_file", r#"{"file_path": "d0/f00.txt"}"#],
        &["run", "list the files"],
    ];
    let outcome = project.run(commands[turn % commands.len()]);
    let notes = format!("emend: an earlier change of 50 files was interrupted and is now {expects}\n");
    assert!(outcome.stderr.starts_with(&notes), "{:?}: {}", commands[turn % commands.len()], outcome.stderr);
    assert!(!outcome.stderr.contains("left unchanged"), "{}", outcome.stderr);
}

#[test]
fn killed_in_the_middle_the_next_run_finds_all_old_or_all_new() {
    if !cfg!(debug_assertions) {
        println!("skipped: {N_KILLS} cases (release builds do not stop to be killed)");
        return;
    }
    let steps = steps();
    let first_rename = steps.iter().position(|(kind, _)| kind == "Rename").unwrap();
    let removal = steps.iter().position(|(kind, _)| kind == "RemoveJournal").unwrap();
    assert_eq!(steps[first_rename..removal].iter().filter(|(kind, _)| kind == "Rename").count(), N_FILES);
    let window = first_rename + 1..=removal;
    let n_steps = removal - first_rename;
    let (old, new) = (tree("old"), tree("new"));
    let (mut by_kind, mut by_renamed) = (BTreeMap::<&str, usize>::new(), BTreeMap::<usize, usize>::new());
    for kill in 0..N_KILLS {
        let step = first_rename + 1 + kill * (n_steps - 1) / (N_KILLS - 1);
        assert!(window.contains(&step));
        let project = project();
        kill_before(&project, step + 1, &steps[step]);
        let between = project.tree();
        let n_new = new.iter().filter(|file| between.contains(file) && !old.contains(file)).count();
        let n_renamed = steps[..step].iter().filter(|(kind, _)| kind == "Rename").count();
        assert_eq!(n_new, n_renamed, "{:?}", steps[step]);
        assert!(n_renamed >= 1 && project.has_journal());
        next_run(&project, kill, "completed");
        assert!(project.tree() == new, "killed before step {step}, {:?}", steps[step]);
        assert!(!project.has_journal());
        *by_kind.entry(&steps[step].0).or_default() += 1;
        *by_renamed.entry(n_renamed / 10 * 10).or_default() += 1;
    }
    println!(
        "{N_KILLS} kills after the first rename and before the journal was removed, by the next step: {by_kind:?}"
    );
    println!("and by how many of 50 files were renamed, in tens: {by_renamed:?}");
}

#[test]
fn killed_before_the_first_file_changes_the_next_run_reverts_all() {
    if !cfg!(debug_assertions) {
        println!("skipped: 20 cases (release builds do not stop to be killed)");
        return;
    }
    let steps = steps();
    let begun = steps.iter().position(|(kind, _)| kind == "SyncState").unwrap() + 1;
    let prepared = steps.iter().rposition(|(kind, _)| kind == "RenameJournal").unwrap();
    let old = tree("old");
    for kill in 0..20 {
        let step = begun + kill * (prepared - begun) / 19;
        let project = project();
        kill_before(&project, step + 1, &steps[step]);
        next_run(&project, kill, "reverted");
        assert!(project.tree() == old, "killed before step {step}, {:?}", steps[step]);
        assert!(!project.has_journal());
    }
}

#[test]
fn a_patch_completes_an_interrupted_one_first_and_a_check_refuses() {
    if !cfg!(debug_assertions) {
        println!("skipped: 2 cases (release builds do not stop to be killed)");
        return;
    }
    let steps = steps();
    let rename = steps.iter().position(|(kind, path)| kind == "Rename" && *path == name(20)).unwrap();
    let project = project();
    kill_before(&project, rename + 1, &steps[rename]);
    let between = project.tree();
    let edit = r#"{"file_path": "d1/f41.txt", "old_string": "line 7 new", "new_string": "line 7 newer"}"#;
    let checked = crate::patch::patch(&project, &["--check"], edit.as_bytes());
    assert!(checked.status == 1 && checked.stderr.contains("[busy]"), "{}", checked.stderr);
    assert!(project.tree() == between, "checking completes nothing");
    crate::patch::patch(&project, &[], edit.as_bytes()).assert_ok();
    assert!(project.read("d1/f41.txt").contains("line 7 newer\n"));
    assert_eq!(project.read("d4/f49.txt"), text(49, "new"));
}
