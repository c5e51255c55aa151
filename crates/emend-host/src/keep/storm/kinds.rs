//! Storms in which paths change their kind: tools and commands both make files, directories and links of one another. Nothing
//! of the user is in the way, so an undo or a hard rollback of all runs leaves nothing behind, and a redo leaves nothing undone.

use std::collections::BTreeSet;
use std::fs;

use emend_agent::workspace::{RollbackMode, RollbackRequest};
use futures::executor::block_on;
use serde_json::{Value, json};

use super::super::tests::{Open, Project, Tree, difference};
use super::{Numbers, SEEDS, SEEDS_OF_STORM, shortest};

const PATHS: [&str; 8] = ["a.txt", "run.sh", "deep", "deep/er", "deep/er/c.txt", "a.txt/in", "new", "new/in"];

/// Paths other than directories. An edit that deletes a text of a command in the place of a directory is
/// undone, but its redo restores that text.
const NO_DIRECTORIES: [&str; 6] = ["a.txt", "run.sh", "deep/er/c.txt", "a.txt/in", "new", "new/in"];

/// Few paths, so that most calls meet the effects of calls before.
const FEW: [&[&str]; 3] = [&["a.txt", "run.sh"], &["a.txt", "a.txt/in"], &["deep/er", "deep/er/c.txt", "new"]];

/// Returns the paths that a seed changes.
pub(super) fn paths_of(seed: u64, of_few: bool) -> &'static [&'static str] {
    match (of_few, seed % 3) {
        (false, _) => &PATHS,
        (true, family) => FEW[family as usize],
    }
}

impl Numbers {
    /// Returns a call that changes the kind of one of these paths, or a path above or below it. It may fail.
    pub(super) fn kind_change(&mut self, paths: &[&'static str]) -> (&'static str, Value) {
        let (one, other) = (self.pick(paths), self.pick(paths));
        let number = self.below(1000);
        let command = match self.below(12) {
            0 | 1 => {
                let from = self.no_directory(paths);
                return ("move_file", json!({ "from": from, "to": other, "overwrite": true }));
            }
            2 => return ("write_file", json!({ "file_path": one, "content": format!("agent {number}\n") })),
            3 => {
                let path = self.no_directory(paths);
                let patch = format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch");
                return ("apply_patch", json!({ "patch": patch }));
            }
            4 => format!("rm -rf {one}; mkdir -p {one}; echo {number} > {one}/in"),
            5 => format!("rm -rf {one}; echo {number} > {one}"),
            6 => format!("mv {one} moved; mkdir {one}; mv moved {one}/in"),
            7 => format!("mv -T {one} {other}"),
            8 => format!("rm -rf {one}; printf '{number}\\0' > {one}"),
            9 => format!("rm -rf {one}"),
            10 => format!("echo {number} >> {one}"),
            _ => format!("mv {one} moved-{number}; ln -s moved-{number} {one}"),
        };
        ("shell", json!({ "command": format!("({command}) 2>/dev/null; true"), "timeout_ms": 60_000 }))
    }
}

impl Numbers {
    fn no_directory(&mut self, paths: &[&'static str]) -> &'static str {
        let found: Vec<&str> = NO_DIRECTORIES.into_iter().filter(|path| paths.contains(path)).collect();
        self.pick(&found)
    }
}

/// Returns an edit of the whole text in the place of a call that would write a file that was not read.
pub(super) fn replacing(project: &Project, (tool, arguments): (&'static str, Value)) -> (&'static str, Value) {
    let path = arguments["file_path"].as_str().filter(|_| tool == "write_file");
    let text = path.and_then(|path| fs::read_to_string(project.path(path)).ok()).filter(|text| !text.is_empty());
    match (path, text) {
        (Some(path), Some(text)) => {
            let new = &arguments["content"];
            ("edit_file", json!({ "file_path": path, "old_string": text, "new_string": new }))
        }
        _ => (tool, arguments),
    }
}

/// Returns a tree without mode bits and without empty directories, which a redo of edits may not restore.
fn without_modes(tree: Tree) -> Tree {
    let paths: BTreeSet<String> = tree.keys().cloned().collect();
    let is_empty = |path: &str| !paths.iter().any(|below| below.starts_with(&format!("{path}/")));
    let kept = tree.into_iter().filter(|(path, (_, text))| text != "directory" || !is_empty(path));
    kept.map(|(path, (_, text))| (path, (0, text))).collect()
}

/// Undoes all runs, or rolls them back. Returns what is left, or the error; empty if all is undone.
fn undo(open: &Open, is_hard: bool) -> String {
    let runs: Vec<u64> = open.workspace.runs().into_iter().map(|run| run.run_id).collect();
    let left = if is_hard {
        let request = RollbackRequest { mode: RollbackMode::HardAll, runs, ..RollbackRequest::default() };
        block_on(open.workspace.rollback(&request)).map_err(|error| error.to_string()).map(|done| {
            let refused = done.files.into_iter().filter(|file| file.refused).map(|file| file.file_path);
            refused.chain(done.kept).collect()
        })
    } else {
        let undone = block_on(open.workspace.undo_runs(&runs)).map_err(|error| error.to_string());
        undone.map(|undone| [undone.kept, undone.blocked, undone.refused].concat())
    };
    let on: Vec<u64> = open.workspace.runs().into_iter().filter(|run| run.is_on).map(|run| run.run_id).collect();
    match left {
        Ok(left) if left.is_empty() && on.is_empty() => String::new(),
        Ok(left) => format!("left {left:?}, in effect {on:?}"),
        Err(error) => error,
    }
}

#[test]
fn whatever_kind_a_path_becomes_all_is_undone_and_redone() {
    check(false, false);
}

#[test]
fn whatever_kind_one_of_few_paths_becomes_all_is_undone_and_redone() {
    check(false, true);
}

#[test]
fn whatever_kind_a_path_becomes_all_is_rolled_back_and_redone() {
    check(true, false);
}

#[test]
fn whatever_kind_one_of_few_paths_becomes_all_is_rolled_back_and_redone() {
    check(true, true);
}

fn check(is_hard: bool, of_few: bool) {
    let n_seeds = if std::env::var_os("EMEND_STORM").is_some() { SEEDS_OF_STORM } else { SEEDS };
    let only: Option<u64> = std::env::var("EMEND_SEED").ok().and_then(|n| n.parse().ok());
    let mut failures = Vec::new();
    let (mut n_calls, mut n_done) = (0, 0);
    for seed in only.map_or(1..=n_seeds, |seed| seed..=seed) {
        let paths = paths_of(seed, of_few);
        let project = Project::usual();
        let open = project.open();
        let mut numbers = Numbers((seed + 77).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let before = project.tree();
        let mut steps = Vec::new();
        for _ in 0..2 + numbers.below(4) {
            let (tool, arguments) = replacing(&project, numbers.kind_change(paths));
            let is_done = open.call(tool, arguments.clone()).is_ok();
            steps.push(format!("{}{tool} {arguments}", if is_done { "" } else { "(failed) " }));
            (n_calls, n_done) = (n_calls + 1, n_done + usize::from(is_done));
        }
        let after = project.tree();
        let mut fail = |what: &str, detail: String| failures.push(format!("seed {seed}: {what}: {detail}\n{steps:#?}"));
        for what in ["undo", "undo again"] {
            let left = undo(&open, is_hard);
            let found = difference(&before, &project.tree());
            if found.is_some() || !left.is_empty() {
                fail(what, format!("{} {left}", found.unwrap_or_default()));
                break;
            }
            if is_hard && what == "undo again" {
                // There is nothing left to take back.
                let left = undo(&open, is_hard);
                let found = difference(&before, &project.tree());
                if found.is_some() || !left.is_empty() {
                    fail("a second rollback", format!("{} {left}", found.unwrap_or_default()));
                    break;
                }
            }
            // Texts and other files of one undo may be redone apart.
            let redone: Vec<String> = steps
                .iter()
                .filter_map(|_| block_on(open.workspace.redo_runs()).err().map(|error| error.to_string()))
                .collect();
            if let Some(found) = difference(&without_modes(after.clone()), &without_modes(project.tree())) {
                fail("redo", format!("{found}, {redone:?}"));
                break;
            }
        }
    }
    println!("{n_seeds} seeds, few paths: {of_few}: {n_done} of {n_calls} calls were made");
    for failure in &failures {
        println!("{}", failure.lines().next().unwrap_or_default());
    }
    assert!(failures.is_empty(), "{} failures, the shortest:\n{}", failures.len(), shortest(&failures));
}
