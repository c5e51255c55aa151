//! The preview of an undo and of a rollback says what each then does.

use std::collections::BTreeSet;

use emend_agent::environment::{FilePath, KeptPreview, KeptStateKind};
use emend_agent::workspace::{RollbackMode, RollbackRequest, UndoneRun};
use futures::executor::block_on;
use serde_json::json;

use super::{Open, Project, Tree, check_same};

/// A step before the undo.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The agent replaces the first text by the second one in a file.
    Edit(&'static str, &'static str, &'static str),
    /// A command of the agent.
    Shell(&'static str),
    /// A command of the user.
    User(&'static str),
}
use Step::{Edit, Shell, User};

const EDIT: Step = Edit("a.txt", "one", "1");

const CASES: &[&[Step]] = &[
    &[EDIT],
    &[EDIT, Shell("echo more >> a.txt; chmod 600 run.sh; rm b.bin")],
    &[Shell("rm -r deep; echo file > deep")],
    &[Shell("rm -r deep; echo file > deep"), User("echo mine >> deep")],
    &[Edit("deep/er/c.txt", "sea", "C"), Shell("rm -r deep; ln -s run.sh deep")],
    &[Edit("deep/er/c.txt", "sea", "C"), Shell("rm -r deep; ln -s run.sh deep"), User("rm deep; echo mine > deep")],
    &[EDIT, Shell("printf 'b\\0' > a.txt")],
    &[EDIT, Shell("printf 'b\\0' > a.txt"), User("printf 'c\\0' > a.txt")],
    &[EDIT, Shell("rm a.txt; mkdir a.txt; echo in > a.txt/in")],
    &[EDIT, Shell("rm a.txt; mkdir a.txt; echo in > a.txt/in"), User("echo mine > a.txt/mine")],
    &[EDIT, Shell("rm a.txt; mkdir a.txt"), User("echo mine > a.txt/mine")],
    &[EDIT, Shell("rm a.txt; ln -s run.sh a.txt")],
    &[Shell("rm a.txt; ln -s run.sh a.txt"), User("rm a.txt; echo mine > a.txt")],
    &[EDIT, User("echo mine >> a.txt")],
    &[EDIT, User("rm a.txt")],
    &[EDIT, User("rm a.txt; mkdir a.txt; echo mine > a.txt/mine")],
    &[Shell("mkdir made; echo in > made/in; printf 'x\\0' > made/bin")],
    &[Shell("mkdir made; echo in > made/in; printf 'x\\0' > made/bin"), User("echo mine > made/mine")],
    &[Shell("mkdir made; echo in > made/in"), User("rm made/in")],
    &[Shell("chmod 600 run.sh"), User("chmod 700 run.sh")],
    &[Shell("chmod 600 run.sh; echo more >> run.sh"), User("echo mine >> run.sh")],
    &[Shell("mv a.txt b.txt; mv b.bin c.bin"), User("rm c.bin")],
    &[Shell("echo t > out/t.txt"), Edit("out/t.txt", "t", "u")],
    &[Shell("mkdir out/sub; echo t > out/sub/t.txt"), Edit("out/sub/t.txt", "t", "u")],
    &[Shell("mkdir out/sub; echo t > out/sub/t.txt"), Edit("out/sub/t.txt", "t", "u"), User("echo v >> out/sub/t.txt")],
    &[Shell("mkdir out/sub; echo t > out/sub/t.txt"), User("echo v > out/sub/v.txt")],
    &[Shell("rm -r out")],
    &[Shell("rm -r out"), User("mkdir out; echo mine > out/mine")],
    &[Shell("rm -r out; echo t > out"), Edit("out", "t", "u")],
    &[Shell("echo t > new.txt; chmod 755 new.txt"), Edit("new.txt", "t", "u"), User("echo mine >> new.txt")],
    &[Shell("echo t > new.txt"), Shell("rm new.txt; mkdir new.txt"), Shell("rmdir new.txt; echo x > new.txt")],
    &[EDIT, Shell("mv a.txt b.txt"), Edit("b.txt", "two", "2"), Shell("mv b.txt a.txt")],
    &[EDIT, Shell("mv a.txt b.txt"), User("echo mine >> b.txt")],
    &[EDIT, Shell("mv a.txt b.txt"), User("mv b.txt c.txt")],
    &[EDIT, Shell("chmod 444 a.txt")],
    &[EDIT, User("chmod 444 a.txt")],
    &[EDIT, User("ln a.txt hard.txt")],
    &[Shell("rm a.txt"), User("echo mine > a.txt")],
    &[Shell("rm -r deep"), User("mkdir deep; echo mine > deep/er")],
    &[Shell("rm -r deep"), User("echo mine > deep")],
    &[Shell("rm b.bin"), User("mkdir b.bin; echo mine > b.bin/mine")],
    &[Edit("deep/er/c.txt", "sea", "C"), Shell("mv deep shallow")],
    &[Edit("deep/er/c.txt", "sea", "C"), Shell("mv deep shallow"), User("echo mine >> shallow/er/c.txt")],
    &[Shell("mkdir -p new/dirs; echo t > new/dirs/t.txt"), Edit("new/dirs/t.txt", "t", "u"), User("rm -r new")],
    &[Shell("rm link; echo t > link"), Edit("link", "t", "u")],
    &[Shell("rm link; mkdir link; echo t > link/t"), User("echo mine > link/mine")],
    &[Shell("printf 'x\\0' > run.sh"), Shell("printf 'x\\n' > run.sh"), Edit("run.sh", "x", "y")],
    &[Shell("rm .env; echo NEW=1 > .env")],
    &[Shell("rm .env"), User("echo MINE=1 > .env")],
];

/// The paths whose state differs, without ignored ones: a preview names their directory with the number of changes.
fn changed(before: &Tree, after: &Tree) -> BTreeSet<String> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path) && !is_ignored(path)).cloned().collect()
}

fn set(paths: &[FilePath]) -> BTreeSet<String> {
    paths.iter().map(ToString::to_string).filter(|path| !is_ignored(path)).collect()
}

fn is_ignored(path: &str) -> bool {
    path == "out" || path.starts_with("out/")
}

/// Returns a project in which the steps were taken.
fn changed_project(steps: &[Step]) -> (Project, Open) {
    let project = Project::usual();
    let open = project.open();
    for step in steps {
        match step {
            Edit(path, old, new) => {
                open.call("read_file", json!({ "file_path": path })).unwrap();
                let edit = json!({ "file_path": path, "old_string": old, "new_string": new });
                open.call("edit_file", edit).unwrap();
            }
            Shell(command) => _ = open.shell(command),
            User(command) => {
                let done = std::process::Command::new("sh").args(["-c", command]).current_dir(project.root()).status();
                assert!(done.unwrap().success(), "{command}");
            }
        }
    }
    (project, open)
}

fn runs(open: &Open) -> Vec<u64> {
    open.workspace.runs().iter().map(|run| run.run_id).collect()
}

/// Returns whether a tree has the state of a preview at a path.
fn has_state(tree: &Tree, change: &KeptPreview) -> bool {
    match (&change.before, tree.get(change.path.as_str())) {
        (None, found) => found.is_none(),
        (Some(_), None) => false,
        (Some(state), Some((mode, content))) => {
            let is_kind = match &state.kind {
                KeptStateKind::Directory => content == "directory",
                KeptStateKind::Link(target) => *content == format!("link to {target}"),
                KeptStateKind::File { .. } => content != "directory" && !content.starts_with("link to "),
                KeptStateKind::Special => content == "pipe",
            };
            is_kind && (content.starts_with("link to ") || *mode == state.mode)
        }
    }
}

#[test]
fn the_preview_of_an_undo_names_the_paths_that_it_restores_and_keeps() {
    let mut wrong = Vec::new();
    for steps in CASES {
        let (project, open) = changed_project(steps);
        let before = project.tree();
        let runs = runs(&open);
        let previewed = block_on(open.workspace.preview_undo_runs(&runs)).unwrap();
        let others = block_on(open.workspace.other_changes_of_runs(&runs)).unwrap();
        check_same(&before, &project.tree());
        let done = block_on(open.workspace.undo_runs(&runs)).unwrap();
        let after = project.tree();
        let sets = |undone: UndoneRun| {
            [set(&undone.restored), set(&[undone.kept, undone.blocked].concat()), set(&undone.refused)]
        };
        let (previewed, done) = (sets(previewed), sets(done));
        if previewed != done {
            wrong.push(format!("{steps:?}\n  preview {previewed:?}\n  undo    {done:?}"));
        }
        let changed = changed(&before, &after);
        if !changed.iter().all(|path| previewed[0].contains(path)) {
            wrong.push(format!("{steps:?}\n  preview {previewed:?}\n  changed {changed:?}"));
        }
        for change in others.iter().filter(|change| !has_state(&after, change)) {
            wrong.push(format!("{steps:?}\n  other {change:?}\n  is {:?}", after.get(change.path.as_str())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_preview_of_a_rollback_shows_the_texts_that_it_leaves() {
    let mut wrong = Vec::new();
    for mode in [RollbackMode::HardAll, RollbackMode::ScopedSelected] {
        for steps in CASES {
            let (project, open) = changed_project(steps);
            let before = project.tree();
            let request = RollbackRequest { mode, runs: runs(&open), ..RollbackRequest::default() };
            let others = block_on(open.workspace.other_changes(&request.runs, true)).unwrap();
            let preview = RollbackRequest { preview: true, ..request.clone() };
            let previewed = block_on(open.workspace.rollback(&preview)).unwrap();
            check_same(&before, &project.tree());
            let done = block_on(open.workspace.rollback(&request)).unwrap();
            let after = project.tree();
            for file in &previewed.files {
                let path = file.file_path.as_str();
                let text = |tree: &Tree| {
                    let found = tree.get(path).map(|(_, text)| text.clone());
                    found.filter(|text| text != "directory" && !text.starts_with("link to "))
                };
                let is_right = match file.refused {
                    true => text(&before) == text(&after),
                    false => file.texts.before == file.texts.after || text(&after) == file.texts.after,
                };
                let refused = done.files.iter().any(|done| done.file_path == file.file_path && done.refused);
                if !is_right || refused != file.refused {
                    let found = text(&after);
                    wrong.push(format!("{mode:?} {steps:?}\n  {file:?}\n  refused {refused}, is {found:?}"));
                }
            }
            let is_hard = mode == RollbackMode::HardAll;
            for change in others.iter().filter(|change| is_hard && !change.is_blocked && !has_state(&after, change)) {
                wrong.push(format!("{steps:?}\n  other {change:?}\n  is {:?}", after.get(change.path.as_str())));
            }
            for change in others.iter().filter(|change| is_hard && change.is_blocked) {
                if before.get(change.path.as_str()) != after.get(change.path.as_str()) {
                    wrong.push(format!("{steps:?}\n  blocked {change:?}\n  is {:?}", after.get(change.path.as_str())));
                }
            }
            let texts = previewed.files.iter().filter(|file| !file.refused).map(|file| file.file_path.to_string());
            let named: BTreeSet<String> = texts.chain(others.iter().map(|change| change.path.to_string())).collect();
            let changed = changed(&before, &after);
            if !changed.is_subset(&named) {
                wrong.push(format!("{mode:?} {steps:?}\n  named {named:?}\n  changed {changed:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
