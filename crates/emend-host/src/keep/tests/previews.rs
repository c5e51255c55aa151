//! The preview of an undo and of a rollback says what each then does.

use std::collections::BTreeSet;

use emend_agent::environment::{FilePath, KeptPreview, KeptState, KeptStateKind};
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

const EDIT_SCRIPT: Step = Edit("run.sh", "sh", "bash");

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
    &[User("ln a.txt hard.txt"), Shell("echo more >> a.txt")],
    &[Shell("echo more >> a.txt"), User("ln a.txt hard.txt")],
    &[Shell("ln a.txt hard.txt"), User("echo mine >> a.txt")],
    &[Shell("printf 'b\\0' > b.bin"), User("printf 'c\\0' > b.bin"), Shell("printf 'd\\0' > b.bin")],
    &[Shell("printf 'b\\0' > n.bin"), User("printf 'c\\0' > n.bin"), Shell("rm n.bin")],
    &[Shell("ln -sfn b.bin link"), User("ln -sfn key link"), Shell("ln -sfn run.sh link")],
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
    &[Shell("mv deep moved; ln -s moved deep")],
    &[EDIT, Shell("mv deep moved; ln -s moved deep")],
    &[Edit("deep/er/c.txt", "sea", "C"), User("mv deep moved; ln -s moved deep")],
    &[Edit("deep/er/c.txt", "sea", "C"), Shell("mv deep moved; ln -s moved deep"), User("echo mine >> deep/er/c.txt")],
    &[Shell("mv deep/er/c.txt c.txt; mkdir deep/er/c.txt")],
    &[Shell("rm -r deep/er; echo f > deep/er"), Shell("rm deep/er; mkdir deep/er; echo n > deep/er/in")],
    &[Shell("rm -r deep/er; echo f > deep/er"), User("true"), Shell("rm deep/er; mkdir deep/er; echo n > deep/er/in")],
    &[Shell("rm -r deep; mkdir deep; echo n > deep/in"), Shell("mkdir -p deep/er/c.txt; echo m > deep/er/c.txt/in")],
    &[Shell("mv deep moved; ln -s moved deep"), Shell("mv deep/er m; mkdir deep/er; mv m deep/er/in")],
    &[Shell("mv deep moved; ln -s moved deep"), EDIT],
    &[Shell("mv deep moved; ln -s moved deep"), Shell("mkdir new; echo n > new/in"), EDIT],
    &[EDIT, Shell("rm a.txt"), Shell("printf 'b\\0' > a.txt")],
    &[EDIT, User("mv -T run.sh a.txt"), Shell("rm a.txt; mkdir a.txt; echo in > a.txt/in")],
    &[Shell("rm .env"), User("echo MINE=1 > .env")],
];

/// The paths whose state differs and that are not `named`, without ignored ones: a preview names their directory with the
/// number of changes. A directory goes and comes with what is in it.
fn unnamed(before: &Tree, after: &Tree, named: &BTreeSet<String>) -> BTreeSet<String> {
    let is_other = |path: &&String| {
        let states = [before.get(*path), after.get(*path)];
        let is_above = named.iter().any(|named| named.starts_with(&format!("{path}/")));
        let is_directory = states.into_iter().flatten().all(|(_, content)| content == "directory");
        let is_named = is_ignored(path) || named.contains(*path) || is_directory && is_above;
        states[0] != states[1] && !is_named
    };
    before.keys().chain(after.keys()).filter(is_other).cloned().collect()
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

/// Returns the content of a file, also if it is not a text.
fn text_of(tree: &Tree, path: &str) -> Option<String> {
    let content = tree.get(path).map(|(_, content)| content.clone());
    content.filter(|content| content != "directory" && !content.starts_with("link to "))
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
            // A preview shows mode bits only if nothing else changes.
            let changes_mode = change.after.as_ref().is_some_and(|after| after.kind == state.kind);
            is_kind && (!changes_mode || *mode == state.mode)
        }
    }
}

/// Undoes all runs after a preview. Returns what the preview does not say as it is.
pub(in super::super) fn undo_as_previewed(project: &Project, open: &Open) -> Vec<String> {
    let mut wrong = Vec::new();
    let before = project.tree();
    let runs = runs(open);
    let previewed = block_on(open.workspace.preview_undo_runs(&runs)).unwrap();
    let others = block_on(open.workspace.other_changes_of_runs(&runs)).unwrap();
    let texts = block_on(open.workspace.texts_of_runs(&runs, None)).unwrap();
    check_same(&before, &project.tree());
    let done = match block_on(open.workspace.undo_runs(&runs)) {
        Ok(done) => done,
        Err(error) => return vec![error.to_string()],
    };
    let after = project.tree();
    for text in texts.iter().filter(|text| done.restored.contains(&text.path)) {
        if text.before != text.after && text.before != text_of(&after, text.path.as_str()) {
            wrong.push(format!("text {text:?} is {:?}", after.get(text.path.as_str())));
        }
    }
    // A text that is restored in part counts as restored.
    let sets = |undone: UndoneRun| {
        let kept = [undone.kept, undone.blocked].concat();
        let kept = kept.into_iter().filter(|path| !undone.restored.contains(path)).collect::<Vec<_>>();
        // A directory that was something else in between is there before and after.
        let is_same = |path: &String| {
            before.get(path) == after.get(path) && before.get(path).is_some_and(|(_, content)| content == "directory")
        };
        let restored = set(&undone.restored).into_iter().filter(|path| !is_same(path)).collect();
        [restored, set(&kept), set(&undone.refused)]
    };
    let (previewed, done) = (sets(previewed), sets(done));
    if previewed != done {
        wrong.push(format!("preview {previewed:?}, undo {done:?}"));
    }
    let unnamed = unnamed(&before, &after, &previewed[0]);
    if !unnamed.is_empty() {
        wrong.push(format!("preview {previewed:?}, also changed {unnamed:?}"));
    }
    for change in others.iter().filter(|change| !has_state(&after, change)) {
        wrong.push(format!("other {change:?} is {:?}", after.get(change.path.as_str())));
    }
    wrong
}

/// Rolls all runs back after a preview. Returns what the preview does not say as it is.
pub(in super::super) fn roll_back_as_previewed(project: &Project, open: &Open, mode: RollbackMode) -> Vec<String> {
    let mut wrong = Vec::new();
    let before = project.tree();
    let request = RollbackRequest { mode, runs: runs(open), ..RollbackRequest::default() };
    let is_hard = mode == RollbackMode::HardAll;
    let others = match is_hard {
        true => block_on(open.workspace.other_changes(&request.runs, true)).unwrap(),
        false => Vec::new(),
    };
    let preview = RollbackRequest { preview: true, ..request.clone() };
    let previewed = block_on(open.workspace.rollback(&preview)).unwrap();
    check_same(&before, &project.tree());
    let done = match block_on(open.workspace.rollback(&request)) {
        Ok(done) => done,
        Err(error) => return vec![error.to_string()],
    };
    let after = project.tree();
    for file in &previewed.files {
        let path = file.file_path.as_str();
        let text = |tree: &Tree| text_of(tree, path);
        let is_right = match file.refused {
            true => text(&before) == text(&after),
            false => file.texts.before == file.texts.after || text(&after) == file.texts.after,
        };
        let refused = done.files.iter().any(|done| done.file_path == file.file_path && done.refused);
        if !is_right || (refused && !file.refused) {
            wrong.push(format!("preview {file:?}, refused {refused}, is {:?}", text(&after)));
        }
    }
    for change in &others {
        let path = change.path.as_str();
        let has_later = || others.iter().any(|other| other.path == change.path && !other.is_blocked);
        let is_right = match change.is_blocked {
            true => before.get(path) == after.get(path) || has_later(),
            false => has_state(&after, change),
        };
        if !is_right {
            wrong.push(format!("other {change:?} is {:?}", after.get(path)));
        }
    }
    let texts = previewed.files.iter().filter(|file| !file.refused).map(|file| file.file_path.to_string());
    let named: BTreeSet<String> = texts.chain(others.iter().map(|change| change.path.to_string())).collect();
    let unnamed = unnamed(&before, &after, &named);
    if is_hard && !unnamed.is_empty() {
        wrong.push(format!("named {named:?}, also changed {unnamed:?}"));
    }
    wrong
}

#[test]
fn the_preview_of_an_undo_names_the_paths_that_it_restores_and_keeps() {
    for steps in CASES {
        let (project, open) = changed_project(steps);
        assert_eq!(undo_as_previewed(&project, &open), [""; 0], "{steps:?}");
    }
}

#[test]
fn the_preview_of_a_rollback_shows_the_texts_that_it_leaves() {
    for mode in [RollbackMode::HardAll, RollbackMode::ScopedSelected] {
        for steps in CASES {
            let (project, open) = changed_project(steps);
            assert_eq!(roll_back_as_previewed(&project, &open, mode), [""; 0], "{mode:?} {steps:?}");
        }
    }
}

#[test]
fn other_changes_end_with_the_text_that_was_edited_first() {
    let size = |state: &Option<KeptState>| state.as_ref().map(|state| state.kind.clone());
    let text = |size| Some(KeptStateKind::File { size, is_text: true });
    for (steps, before) in [
        (&[EDIT, Shell("rm a.txt; printf 'b\\0' > a.txt")][..], text(8)),
        (&[Shell("rm a.txt; printf 'b\\0' > a.txt"), EDIT_SCRIPT], text(8)),
        (&[EDIT_SCRIPT, Shell("rm a.txt; printf 'b\\0' > a.txt")], text(8)),
    ] {
        let (_project, open) = changed_project(steps);
        for others in [
            block_on(open.workspace.other_changes_of_runs(&runs(&open))).unwrap(),
            block_on(open.workspace.other_changes(&runs(&open), true)).unwrap(),
        ] {
            let found: Vec<_> = others.iter().map(|change| (change.path.as_str(), size(&change.before))).collect();
            assert_eq!(found, [("a.txt", before.clone())], "{steps:?}");
        }
    }
}

#[test]
fn a_redo_shows_the_texts_that_it_brings_back() {
    let path = |name: &str| FilePath::clean(name).unwrap();
    for others in [&[][..], &[Shell("printf 'b\\0' > b.bin")]] {
        let (_project, open) = changed_project(&[&[EDIT][..], others].concat());
        let shown = |name: &str| {
            let texts = block_on(open.workspace.texts_of_redo(&path(name))).unwrap();
            texts.map(|text| (text.before, text.after))
        };
        assert_eq!(shown("a.txt"), None, "{others:?}");
        block_on(open.workspace.undo_runs(&runs(&open))).unwrap();
        let (before, after) = (Some("one\ntwo\n".to_owned()), Some("1\ntwo\n".to_owned()));
        assert_eq!(shown("a.txt"), Some((before, after)), "{others:?}");
        assert_eq!(shown("deep/er/c.txt"), None, "{others:?}");
        block_on(open.workspace.redo_runs()).unwrap();
        assert_eq!(shown("a.txt"), None, "{others:?}");
    }
}
