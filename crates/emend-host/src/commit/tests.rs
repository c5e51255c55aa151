//! Stops a commit, or makes it fail, at each of its system calls. The next run must find all changes or none.

#[cfg(target_os = "linux")]
mod errors;
#[cfg(target_os = "linux")]
mod obstructed;
#[cfg(target_os = "linux")]
mod refusals;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use emend_agent::environment::ExecutionEnvironment as _;
use tempfile::TempDir;

use super::*;
use crate::local::LocalEnvironment;

/// Every file and directory of a project, with mode bits and content.
type Tree = BTreeMap<String, (u32, Option<Vec<u8>>)>;

fn tree_of(root: &Path) -> Tree {
    fn collect(root: &Path, directory: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = found.is_file().then(|| fs::read(&path).unwrap());
            tree.insert(name, (found.permissions().mode() & 0o7777, content));
            if found.is_dir() {
                collect(root, &path, tree);
            }
        }
    }
    let mut tree = Tree::new();
    collect(root, root, &mut tree);
    tree
}

/// A project with its state, and changes of it: two updates, two files in new directories, a move, a removal.
struct Project {
    around: TempDir,
}

impl Project {
    fn new(files: &[(&str, u32, &str)]) -> Self {
        // In memory if possible: these tests sync thousands of times and do not simulate power cuts.
        let around = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let project = Self { around };
        fs::create_dir(project.root()).unwrap();
        for (path, mode, text) in files {
            let path = project.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        project
    }

    fn usual() -> Self {
        Self::new(&[
            ("a.txt", 0o640, "one\r\n"),
            ("sub/b.txt", 0o644, "two\n"),
            ("keep.txt", 0o600, "kept\n"),
            ("gone.txt", 0o644, "gone\n"),
            ("old/tool.sh", 0o755, "#!/bin/sh\n"),
            ("run.sh", 0o640, "run\n"),
        ])
    }

    fn root(&self) -> std::path::PathBuf {
        self.around.path().join("project")
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    fn state(&self) -> StateDir {
        StateDir::open_in(&self.around.path().join("state"), &self.root()).unwrap()
    }

    fn environment(&self) -> LocalEnvironment {
        LocalEnvironment::new(self.root()).unwrap()
    }

    fn commit(&self, changes: &[FileChange], observe: &mut Observer<'_>) -> Result<(), CommitError> {
        self.environment().commit(&self.state(), changes, observe)
    }

    /// Commits with the stored notes of directories that earlier commits made.
    fn commit_as_program(&self, changes: &[FileChange], observe: &mut Observer<'_>) -> Result<(), CommitError> {
        let state = std::sync::Arc::new(self.state());
        self.environment().with_journal(std::sync::Arc::clone(&state)).commit(&state, changes, observe)
    }

    /// Commits and stops, as if killed, before step `stop`. Returns whether there is such a step.
    fn commit_until(&self, changes: &[FileChange], stop: usize) -> bool {
        stopped_at(stop, |observe| drop(self.commit(changes, observe)))
    }

    fn recover(&self) -> Option<Recovered> {
        self.environment().recover(&self.state(), &mut |_| Ok(())).unwrap()
    }

    fn tree(&self) -> Tree {
        tree_of(&self.root())
    }

    /// Returns whether a journal is in the state directory.
    fn has_journal(&self) -> bool {
        self.state().names().unwrap().contains(&"commit".to_owned())
    }
}

/// Runs `work` until step `stop`, where it unwinds. This simulates a kill because no part of a commit cleans up on drop.
fn stopped_at(stop: usize, work: impl FnOnce(&mut Observer<'_>)) -> bool {
    struct Stopped;
    let mut n_steps = 0;
    let run = AssertUnwindSafe(|| {
        work(&mut |_| {
            if n_steps == stop {
                resume_unwind(Box::new(Stopped));
            }
            n_steps += 1;
            Ok(())
        });
    });
    catch_unwind(run).is_err_and(|panic| panic.is::<Stopped>() || resume_unwind(panic))
}

fn path(path: &str) -> FilePath {
    FilePath::clean(path).unwrap()
}

fn change(at: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        path: path(at),
        before: before.map(|text| text.as_bytes().to_vec()),
        after: after.map(|text| text.as_bytes().to_vec()),
        mode_of: None,
        executable: None,
        over_read_only: false,
    }
}

fn usual_changes() -> Vec<FileChange> {
    vec![
        change("gone.txt", Some("gone\n"), None),
        change("a.txt", Some("one\r\n"), Some("ONE\r\n")),
        change("sub/b.txt", Some("two\n"), Some("TWO\n")),
        change("new/deep/fresh.txt", None, Some("fresh\n")),
        FileChange { mode_of: Some(path("old/tool.sh")), ..change("new/tool.sh", None, Some("#!/bin/bash\n")) },
        change("old/tool.sh", Some("#!/bin/sh\n"), None),
        change("keep.txt", Some("kept\n"), Some("kept\n")),
        FileChange { executable: Some(true), ..change("run.sh", Some("run\n"), Some("run\n")) },
        FileChange { executable: Some(true), ..change("new/run.sh", None, Some("run\n")) },
    ]
}

/// Returns a project with directories that an earlier commit made, and its commits know that.
fn project_of_kinds() -> Project {
    let project = Project::new(&[("file", 0o640, "file\n"), ("mine/own", 0o644, "own\n")]);
    let made = [change("d/in/x", None, Some("x\n")), change("d/y", None, Some("y\n"))];
    project.commit_as_program(&made, &mut |_| Ok(())).unwrap();
    project
}

/// A directory becomes a file, and a file becomes a directory.
fn changes_of_kinds() -> Vec<FileChange> {
    vec![
        change("d", None, Some("now a file\n")),
        change("d/in/x", Some("x\n"), None),
        change("d/y", Some("y\n"), None),
        change("file", Some("file\n"), None),
        change("file/in/z", None, Some("z\n")),
    ]
}

#[test]
fn stopped_while_paths_change_their_kind_the_next_run_finds_all_or_nothing() {
    let changes = changes_of_kinds();
    let (project, mut steps) = (project_of_kinds(), Vec::new());
    let mut observe = |step: Step<'_>| {
        steps.push((step.kind, step.path.to_owned()));
        Ok(())
    };
    project.commit_as_program(&changes, &mut observe).unwrap();
    let new = project.tree();
    let files: Vec<&str> = new.keys().map(String::as_str).collect();
    assert_eq!(files, ["d", "file", "file/in", "file/in/z", "mine", "mine/own"]);
    let no_return = point_of_no_return(&steps);
    for (stop, (kind, at)) in steps.iter().enumerate() {
        let project = project_of_kinds();
        let old = project.tree();
        assert!(stopped_at(stop, |observe| drop(project.commit_as_program(&changes, observe))));
        let recovered = project.recover();
        let expected = if stop < no_return { &old } else { &new };
        assert_eq!(&project.tree(), expected, "stopped before step {stop}, {kind:?} {at}");
        assert!(recovered.is_none_or(|recovered| recovered.left_alone.is_empty()), "{stop}");
        assert!(!project.has_journal());
    }
}

#[test]
fn a_directory_with_anything_else_or_of_the_user_gives_way_to_no_file() {
    for own in ["d/mine", "d/in/mine"] {
        let project = project_of_kinds();
        fs::write(project.root().join(own), "mine\n").unwrap();
        let old = project.tree();
        assert!(project.commit_as_program(&changes_of_kinds(), &mut |_| Ok(())).is_err(), "{own}");
        assert_eq!(project.tree(), old, "{own}");
    }
    let project = project_of_kinds();
    let old = project.tree();
    let changes = [change("mine", None, Some("file\n")), change("mine/own", Some("own\n"), None)];
    assert!(project.commit_as_program(&changes, &mut |_| Ok(())).is_err());
    assert_eq!(project.tree(), old);
}

/// Returns the steps of an uninterrupted commit and the resulting tree.
fn whole(changes: &[FileChange], project: &Project) -> (Vec<(StepKind, String)>, Tree) {
    let mut steps = Vec::new();
    let mut observe = |step: Step<'_>| {
        steps.push((step.kind, step.path.to_owned()));
        Ok(())
    };
    project.commit(changes, &mut observe).unwrap();
    (steps, project.tree())
}

/// Returns the first step at which recovery completes the commit instead of rolling it back.
fn point_of_no_return(steps: &[(StepKind, String)]) -> usize {
    let saved = steps.iter().enumerate().filter(|(_, (kind, _))| *kind == StepKind::RenameJournal);
    let saved: Vec<usize> = saved.map(|(index, _)| index).collect();
    assert_eq!(saved.len(), 2, "the journal is written twice");
    saved[1] + 1
}

#[test]
fn all_changes_are_made_with_their_mode_bits() {
    let project = Project::usual();
    let (steps, tree) = whole(&usual_changes(), &project);
    let files: Vec<(&str, u32, &[u8])> =
        tree.iter().filter_map(|(path, (mode, content))| Some((path.as_str(), *mode, content.as_deref()?))).collect();
    let usual = tree["new/deep/fresh.txt"].0;
    assert_eq!(
        files,
        [
            ("a.txt", 0o640, "ONE\r\n".as_bytes()),
            ("keep.txt", 0o600, b"kept\n"),
            ("new/deep/fresh.txt", usual, b"fresh\n"),
            // Everyone who may read the file may run it.
            ("new/run.sh", usual | (usual & 0o444) >> 2, b"run\n"),
            ("new/tool.sh", 0o755, b"#!/bin/bash\n"),
            ("run.sh", 0o750, b"run\n"),
            ("sub/b.txt", 0o644, b"TWO\n"),
        ]
    );
    assert!(!project.has_journal());
    assert!(!steps.iter().any(|(_, path)| path == "keep.txt"), "an unchanged file is not touched");
}

#[test]
fn stopped_at_any_step_the_next_run_finds_all_or_nothing() {
    let changes = usual_changes();
    let (steps, new) = whole(&changes, &Project::usual());
    let no_return = point_of_no_return(&steps);
    let mut by_kind: BTreeMap<StepKind, usize> = BTreeMap::new();
    for (stop, (kind, at)) in steps.iter().enumerate() {
        let project = Project::usual();
        let old = project.tree();
        assert!(project.commit_until(&changes, stop));
        let moved = ["old/tool.sh", "new/tool.sh"].iter().any(|name| project.root().join(name).exists());
        assert!(moved, "a moved file does not exist before step {stop}, {kind:?} {at}");
        let recovered = project.recover();
        let expected = if stop < no_return { &old } else { &new };
        assert_eq!(&project.tree(), expected, "stopped before step {stop}, {kind:?} {at}");
        assert!(!project.has_journal(), "stopped before step {stop}, {kind:?} {at}");
        assert!(recovered.is_none_or(|recovered| recovered.left_alone.is_empty()));
        assert_eq!(project.recover(), None);
        if stop < no_return {
            project.commit(&changes, &mut |_| Ok(())).unwrap();
            assert_eq!(project.tree(), new);
        }
        *by_kind.entry(*kind).or_default() += 1;
    }
    assert!(!Project::usual().commit_until(&changes, steps.len()));
    println!(
        "stopped before each of {} steps, {} of them past the point of no return: {by_kind:?}",
        steps.len(),
        steps.len() - no_return
    );
}

#[test]
fn a_failure_at_any_step_changes_nothing_or_is_completed_by_the_next_run() {
    let changes = usual_changes();
    let (steps, new) = whole(&changes, &Project::usual());
    let no_return = point_of_no_return(&steps);
    let (mut refused, mut unfinished) = (0, 0);
    for (stop, (kind, at)) in steps.iter().enumerate() {
        let project = Project::usual();
        let old = project.tree();
        let mut n_steps = 0;
        let outcome = project.commit(&changes, &mut |_| {
            n_steps += 1;
            if n_steps == stop + 1 { Err(io::Error::other("the disk fails")) } else { Ok(()) }
        });
        let shown = format!("step {stop}, {kind:?} {at}: {outcome:?}");
        match outcome {
            // A failure to remove abandoned files is ignored.
            Ok(()) => assert_eq!((project.tree(), *kind), (new.clone(), StepKind::List), "{shown}"),
            Err(CommitError::Unfinished { .. }) => {
                assert!(stop >= no_return, "{shown}");
                project.recover();
                assert_eq!(project.tree(), new, "{shown}");
                unfinished += 1;
            }
            Err(CommitError::Refused(error)) => {
                assert_eq!((project.tree(), project.has_journal()), (old, false), "{shown}");
                assert!(error.to_string().contains("the disk fails"), "{shown}");
                refused += 1;
            }
            Err(_) => panic!("{shown}"),
        }
    }
    println!("failed at each of {} steps: {refused} refused, {unfinished} completed by the next run", steps.len());
}

#[test]
fn an_interrupted_recovery_is_continued_by_the_next_one() {
    let files = [("a", 0o644, "a"), ("b", 0o644, "b")];
    let changes = [change("a", Some("a"), Some("A")), change("d/c", None, Some("b")), change("b", Some("b"), None)];
    let (steps, new) = whole(&changes, &Project::new(&files));
    let no_return = point_of_no_return(&steps);
    let mut n_pairs = 0;
    for stop in 0..steps.len() {
        let before_first = steps[stop..].iter().all(|(kind, _)| *kind != StepKind::RenameJournal);
        for stop_again in 0.. {
            let project = Project::new(&files);
            let old = project.tree();
            project.commit_until(&changes, stop);
            let is_stopped = stopped_at(stop_again, |observe| {
                drop(project.environment().recover(&project.state(), observe));
            });
            if !is_stopped {
                break;
            }
            project.recover();
            assert_eq!(project.tree(), if before_first { new.clone() } else { old }, "{stop}, {stop_again}");
            assert!(!project.has_journal());
            assert_eq!(before_first, stop >= no_return);
            n_pairs += 1;
        }
    }
    println!("stopped twice at {n_pairs} pairs of steps");
}

/// Stops the usual commit before the first step of `kind` at `at`, and returns the project.
fn stopped_before(kind: StepKind, at: &str) -> Project {
    let (steps, _) = whole(&usual_changes(), &Project::usual());
    let stop = steps.iter().position(|step| *step == (kind, at.to_owned())).unwrap();
    let project = Project::usual();
    assert!(project.commit_until(&usual_changes(), stop));
    project
}

#[test]
fn files_changed_by_others_after_a_crash_are_left_alone() {
    let project = stopped_before(StepKind::Rename, "new/deep/fresh.txt");
    assert_eq!((project.read("a.txt").as_str(), project.read("sub/b.txt").as_str()), ("ONE\r\n", "TWO\n"));
    fs::write(project.root().join("a.txt"), "mine\n").unwrap();
    fs::write(project.root().join("gone.txt"), "mine too\n").unwrap();
    fs::create_dir_all(project.root().join("new")).unwrap();
    fs::write(project.root().join("new/tool.sh"), "mine as well\n").unwrap();
    let recovered = project.recover().unwrap();
    assert!(recovered.completed);
    assert_eq!(recovered.left_alone, [path("a.txt"), path("new/tool.sh"), path("gone.txt")]);
    assert_eq!(project.read("a.txt"), "mine\n");
    assert_eq!(project.read("gone.txt"), "mine too\n");
    assert_eq!(project.read("new/tool.sh"), "mine as well\n");
    assert_eq!(project.read("new/deep/fresh.txt"), "fresh\n");
    assert!(!project.tree().keys().any(|name| name.ends_with(".emend-new")) && !project.has_journal());
}

#[test]
fn one_impossible_change_rolls_back_a_commit_that_changed_nothing() {
    for spoil in [
        |project: &Project| fs::write(project.root().join("sub/b.txt"), "mine\n").unwrap(),
        |project: &Project| {
            let is_temporary = |name: &&String| name.ends_with(".emend-new") && name.contains("b.txt");
            fs::remove_file(project.root().join(project.tree().keys().find(is_temporary).unwrap())).unwrap();
        },
    ] {
        let project = stopped_before(StepKind::Rename, "a.txt");
        spoil(&project);
        let mut expected = project.tree();
        expected.retain(|name, _| !name.ends_with(".emend-new") && !name.starts_with("new"));
        let recovered = project.recover().unwrap();
        assert_eq!((recovered.completed, recovered.left_alone), (false, vec![path("sub/b.txt")]));
        assert_eq!(project.tree(), expected);
        assert!(!project.has_journal());
    }
}

#[test]
fn a_file_that_changes_while_others_are_prepared_is_noticed() {
    let project = Project::usual();
    let old = project.tree();
    let root = project.root();
    let outcome = project.commit(&usual_changes(), &mut |step| {
        // The last file is being prepared, so the check of all files is over.
        if step.kind == StepKind::Create && step.path.starts_with("new/.tool.sh") {
            fs::write(root.join("a.txt"), "mine\n")?;
        }
        Ok(())
    });
    assert_eq!(outcome.unwrap_err().code().as_str(), "stale");
    let mut expected = old;
    expected.insert("a.txt".to_owned(), (0o640, Some(b"mine\n".to_vec())));
    assert_eq!(project.tree(), expected);
}

#[test]
fn a_file_becomes_executable_for_those_who_may_read_it() {
    for (mode, executable, expected) in [
        (0o644, Some(true), 0o755),
        (0o744, Some(true), 0o755),
        (0o755, Some(true), 0o755),
        (0o640, Some(true), 0o750),
        (0o755, Some(false), 0o644),
        (0o644, Some(false), 0o644),
        (0o640, None, 0o640),
    ] {
        let project = Project::new(&[("a.sh", mode, "a\n")]);
        project
            .commit(&[FileChange { executable, ..change("a.sh", Some("a\n"), Some("b\n")) }], &mut |_| Ok(()))
            .unwrap();
        assert_eq!(project.tree()["a.sh"], (expected, Some(b"b\n".to_vec())), "{mode:o} {executable:?}");
    }
}

#[test]
fn mode_bits_that_change_after_a_crash_are_kept() {
    let project = stopped_before(StepKind::Rename, "a.txt");
    fs::set_permissions(project.root().join("a.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(project.recover().unwrap().completed);
    assert_eq!(project.tree()["a.txt"], (0o600, Some(b"ONE\r\n".to_vec())));
}

#[test]
fn files_of_other_users_keep_their_owner() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let project = Project::usual();
    let file = |name: &str| project.root().join(name);
    if chown(file("a.txt"), Some(65_534), Some(65_533)).is_err() {
        println!("skipped: 3 cases (only root may give files away)");
        return;
    }
    chown(file("old/tool.sh"), Some(65_534), None).unwrap();
    chown(file("keep.txt"), Some(65_534), None).unwrap();
    let group = fs::metadata(file("keep.txt")).unwrap().gid();
    project.commit(&usual_changes(), &mut |_| Ok(())).unwrap();
    let (environment, keep) = (project.environment(), path("keep.txt"));
    futures::executor::block_on(environment.write(&keep, b"new\n")).unwrap();
    for (name, owner, mode) in [
        ("a.txt", (65_534, 65_533), 0o640),
        ("new/tool.sh", (65_534, group), 0o755),
        ("keep.txt", (65_534, group), 0o600),
    ] {
        let found = fs::metadata(file(name)).unwrap();
        assert_eq!(((found.uid(), found.gid()), found.mode() & 0o7777), (owner, mode), "{name}");
    }
}

#[test]
fn a_commit_is_rejected_while_another_is_unfinished() {
    let project = stopped_before(StepKind::Rename, "sub/b.txt");
    let error = project.commit(&usual_changes(), &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.code().as_str(), "busy");
    assert!(project.recover().unwrap().completed);
}

#[track_caller]
fn check_refused(project: &Project, changes: &[FileChange], code: &str, words: &str) {
    let before = project.tree();
    for outcome in [project.environment().check_commit(changes), project.commit(changes, &mut |_| Ok(()))] {
        let error = outcome.unwrap_err();
        assert_eq!(error.code().as_str(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(project.tree(), before);
        assert!(!project.has_journal());
    }
}

#[test]
fn files_that_must_not_be_replaced_are_rejected_before_any_write() {
    let project = Project::usual();
    let root = project.root();
    fs::hard_link(root.join("gone.txt"), root.join("twin.txt")).unwrap();
    symlink("a.txt", root.join("link.txt")).unwrap();
    fs::set_permissions(root.join("sub/b.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    let good = change("a.txt", Some("one\r\n"), Some("ONE\r\n"));
    let refused = |bad: FileChange, code, words| check_refused(&project, &[good.clone(), bad], code, words);
    refused(change("gone.txt", Some("gone\n"), Some("x")), "permission_denied", "2 hard links");
    refused(change("twin.txt", Some("gone\n"), None), "permission_denied", "2 hard links");
    refused(change("sub/b.txt", Some("two\n"), Some("x")), "permission_denied", "read-only");
    refused(change("link.txt", Some("one\r\n"), Some("x")), "invalid_argument", "it is a link");
    refused(change("sub", None, Some("x")), "invalid_argument", "this is a directory");
    refused(change("a.txt/x", None, Some("x")), "invalid_argument", "it must be a directory");
    refused(change("keep.txt", Some("other"), Some("x")), "stale", "keep.txt has changed");
    refused(change("keep.txt", None, Some("x")), "stale", "keep.txt has changed");
    refused(change("absent.txt", Some("x"), None), "stale", "absent.txt has changed");
    refused(change("a.txt", Some("one\r\n"), None), "conflict", "the same file");
}

#[test]
fn only_files_of_dead_processes_are_removed() {
    let mine = format!(".a.txt.{}-7.emend-tmp", std::process::id());
    let dead = ".a.txt.2000000000-7.emend-tmp";
    let files = [
        dead,
        "elsewhere/.b.2000000000-0.emend-tmp",
        mine.as_str(),
        ".a.txt.2000000000.emend-tmp",
        ".a.2000000000-0.emend-new",
    ];
    let files: Vec<(&str, u32, &str)> = files.iter().map(|name| (*name, 0o644, "left")).collect();
    let project = Project::new(&files);
    let mut expected = project.tree();
    project.commit(&[change("a.txt", None, Some("a"))], &mut |_| Ok(())).unwrap();
    expected.remove(dead);
    let mut tree = project.tree();
    tree.remove("a.txt");
    assert_eq!(tree, expected);
}

#[test]
fn new_contents_are_on_the_disk_before_the_journal_says_so() {
    let project = Project::usual();
    let mut steps: Vec<(StepKind, String)> = Vec::new();
    let mut observe = |step: Step<'_>| {
        steps.push((step.kind, step.path.to_owned()));
        Ok(())
    };
    project.commit(&usual_changes(), &mut observe).unwrap();
    // The journal is written twice before files change: when the work begins, and when all contents are complete.
    let renamed = |nth: usize| {
        let all = steps.iter().enumerate().filter(|(_, (kind, _))| *kind == StepKind::RenameJournal);
        all.map(|(at, _)| at).nth(nth).unwrap()
    };
    let prepared = &steps[renamed(0)..renamed(1)];
    let created: Vec<&String> =
        prepared.iter().filter(|(kind, _)| *kind == StepKind::Create).map(|(_, path)| path).collect();
    assert!(created.len() > 2);
    for path in created {
        let at = |kind| prepared.iter().position(|step| *step == (kind, path.clone()));
        assert!(at(StepKind::Write) < at(StepKind::Sync), "{path}: {prepared:?}");
    }
}
