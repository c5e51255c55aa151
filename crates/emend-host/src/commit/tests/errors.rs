//! Errors of the disk other than that a path does not exist, and commits of one process one after the other.

use super::*;
use crate::test_support::as_nobody;

#[test]
fn an_unreadable_journal_is_not_a_missing_one() {
    let project = Project::usual();
    let before = project.tree();
    fs::create_dir(project.state().directory().join("commit.json")).unwrap();
    assert!(project.environment().recover(&project.state(), &mut |_| Ok(())).is_err());
    assert!(project.commit(&usual_changes(), &mut |_| Ok(())).is_err());
    assert_eq!(project.tree(), before);
}

#[test]
fn a_directory_that_another_program_makes_first_is_used() {
    let project = Project::usual();
    let mut n_made = 0;
    let mut observe = |step: Step<'_>| {
        if step.kind == StepKind::MakeDirectory {
            fs::create_dir(project.root().join(step.path))?;
            n_made += 1;
        }
        Ok(())
    };
    project.commit(&usual_changes(), &mut observe).unwrap();
    assert_eq!((project.read("new/deep/fresh.txt").as_str(), n_made), ("fresh\n", 2));
}

#[test]
fn a_path_that_cannot_be_looked_at_does_not_count_as_missing() {
    as_nobody(|| {
        let project = Project::usual();
        let allow = |mode| fs::set_permissions(project.root().join("sub"), fs::Permissions::from_mode(mode)).unwrap();
        for at in ["sub/b.txt", "sub/new.txt"] {
            allow(0o000);
            let refused = project.commit(&[change(at, Some("two\n"), Some("TWO\n"))], &mut |_| Ok(())).unwrap_err();
            allow(0o755);
            assert_eq!(refused.code().as_str(), "permission_denied", "{at}: {refused}");
        }
    });
}

#[test]
fn a_recovery_names_the_files_of_the_commit() {
    for (kind, completed) in [(StepKind::RenameJournal, false), (StepKind::Rename, true)] {
        let project = stopped_before(kind, if completed { "a.txt" } else { "" });
        let Some(recovered) = project.recover() else {
            assert!(!completed, "nothing was recovered");
            continue;
        };
        let mut expected: Vec<FilePath> = usual_changes().into_iter().map(|change| change.path).collect();
        let mut found = recovered.files;
        expected.sort_unstable();
        found.sort_unstable();
        // A file whose text and mode bits stay is not part of the commit.
        expected.retain(|path| path.as_str() != "keep.txt" || found.contains(path));
        assert_eq!((found, recovered.completed), (expected, completed));
    }
    let error = CommitError::LeftAlone { paths: vec![path("a.txt"), path("b.txt")] };
    assert!(error.to_string().starts_with("another program changed a.txt, b.txt during the commit"), "{error}");
}

#[test]
fn a_later_commit_of_the_same_process_knows_what_an_earlier_one_removed() {
    let project = Project::usual();
    let (environment, state) = (project.environment(), project.state());
    let commit = |change| environment.commit(&state, &[change], &mut |_| Ok(())).unwrap();
    commit(change("old/tool.sh", Some("#!/bin/sh\n"), None));
    commit(change("old/tool.sh", None, Some("#!/bin/sh\n")));
    assert_eq!(project.tree()["old/tool.sh"].0, 0o755);
    commit(change("fresh/deep/a.txt", None, Some("a\n")));
    commit(change("fresh/deep/a.txt", Some("a\n"), None));
    assert!(!project.root().join("fresh").exists());
}

#[test]
fn a_directory_in_place_of_a_prepared_file_is_left_alone() {
    let project = stopped_before(StepKind::Rename, "a.txt");
    fs::remove_file(project.root().join("a.txt")).unwrap();
    fs::create_dir(project.root().join("a.txt")).unwrap();
    let recovered = project.recover().unwrap();
    assert!(recovered.left_alone.contains(&path("a.txt")), "{recovered:?}");
    assert!(project.root().join("a.txt").is_dir());
}

#[test]
fn a_file_that_this_user_may_not_write_is_not_replaced() {
    as_nobody(|| {
        let project = Project::usual();
        let allow = |mode| fs::set_permissions(project.root().join("a.txt"), fs::Permissions::from_mode(mode)).unwrap();
        let commit = || project.commit(&[change("a.txt", Some("one\r\n"), Some("ONE\r\n"))], &mut |_| Ok(()));
        // The group may write to it, but not the owner.
        allow(0o424);
        let refused = commit().unwrap_err();
        assert_eq!((refused.code().as_str(), project.read("a.txt").as_str()), ("permission_denied", "one\r\n"));
        allow(0o624);
        commit().unwrap();
        assert_eq!(project.read("a.txt"), "ONE\r\n");
    });
}

#[test]
fn a_commit_whose_directory_cannot_be_synced_changes_nothing() {
    as_nobody(|| {
        let project = Project::usual();
        let before = project.tree();
        let mut observe = |step: Step<'_>| {
            let is_sync = step.kind == StepKind::SyncDirectory;
            let mode = fs::Permissions::from_mode(if is_sync { 0o000 } else { 0o755 });
            fs::set_permissions(project.root().join("sub"), mode)
        };
        let error = project.commit(&usual_changes(), &mut observe).unwrap_err();
        fs::set_permissions(project.root().join("sub"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(error.code().as_str(), "permission_denied", "{error}");
        assert_eq!((project.tree(), project.has_journal()), (before, false));
    });
}

#[test]
fn a_directory_that_another_program_removes_needs_no_sync() {
    let project = Project::usual();
    let mut observe = |step: Step<'_>| {
        if step.kind == StepKind::SyncDirectory && step.path == "old" {
            // Fails while the directory has entries, which is at the first sync.
            let _ = fs::remove_dir(project.root().join(step.path));
        }
        Ok(())
    };
    project.commit(&usual_changes(), &mut observe).unwrap();
    assert!(!project.root().join("old").exists() && !project.has_journal());
}

#[test]
fn a_journal_that_cannot_be_removed_is_an_error() {
    let project = Project::usual();
    let journal = project.state().directory().join("commit.json");
    let mut observe = |step: Step<'_>| {
        if step.kind == StepKind::RemoveJournal {
            fs::remove_file(&journal)?;
            fs::create_dir(&journal)?;
        }
        Ok(())
    };
    let error = project.commit(&usual_changes(), &mut observe).unwrap_err();
    assert!(matches!(error, CommitError::Unfinished { .. }), "{error}");
}

#[test]
fn temporary_files_that_a_rollback_cannot_remove_are_removed_by_the_next_command() {
    let project = Project::usual();
    let before = project.tree();
    let mut failed = Vec::new();
    let mut observe = |step: Step<'_>| {
        if matches!(step.kind, StepKind::SyncDirectory | StepKind::Remove) && !failed.contains(&step.kind) {
            failed.push(step.kind);
            return Err(io::Error::other("the disk is broken"));
        }
        Ok(())
    };
    let error = project.commit(&usual_changes(), &mut observe).unwrap_err();
    assert!(matches!(error, CommitError::Leftover { .. }), "{error}");
    assert!(project.has_journal());
    assert!(!project.recover().unwrap().completed);
    assert_eq!((project.tree(), project.has_journal()), (before, false));
}

#[test]
fn directories_and_the_journal_are_synced_after_each_change() {
    let project = Project::usual();
    let (steps, _) = whole(&usual_changes(), &project);
    let last = |kind: StepKind| steps.iter().rposition(|step| step.0 == kind).unwrap();
    let removed = last(StepKind::RemoveJournal);
    let changed = last(StepKind::Rename).max(last(StepKind::Remove));
    for directory in ["", "sub", "old", "new", "new/deep"] {
        let at = steps.iter().rposition(|step| *step == (StepKind::SyncDirectory, directory.to_owned()));
        assert!(at.is_some_and(|at| changed < at && at < removed), "{directory}: {at:?} of {steps:?}");
    }
    for (at, (kind, _)) in steps.iter().enumerate() {
        if matches!(kind, StepKind::RenameJournal | StepKind::RemoveJournal) {
            assert_eq!(steps.get(at + 1).map(|step| step.0), Some(StepKind::SyncState));
        }
    }
}

#[test]
fn stopped_while_it_removes_files_the_next_run_removes_the_directories_that_were_made_for_them() {
    let project = || {
        let project = Project::usual();
        let start = project.tree();
        let made = [change("new/deep/x", None, Some("x\n")), change("new/y", None, Some("y\n"))];
        project.commit_as_program(&made, &mut |_| Ok(())).unwrap();
        (project, start)
    };
    let removed = [change("new/deep/x", Some("x\n"), None), change("new/y", Some("y\n"), None)];
    let (mut n_stops, mut n_completed) = (0, 0);
    loop {
        let (project, start) = project();
        let old = project.tree();
        if !stopped_at(n_stops, |observe| drop(project.commit_as_program(&removed, observe))) {
            break;
        }
        project.recover();
        let found = project.tree();
        assert!(found == old || found == start, "stopped before step {n_stops}: {found:?}");
        n_completed += usize::from(found == start);
        n_stops += 1;
    }
    assert!(n_completed > 3 && n_completed < n_stops, "{n_completed} of {n_stops}");
}
