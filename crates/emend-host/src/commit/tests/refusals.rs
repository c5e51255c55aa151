//! Commits that are refused or rolled back while they are prepared, and kills during the rollback.

use super::*;
use crate::test_support::as_nobody;

fn allow(project: &Project, directory: &str, mode: u32) {
    fs::set_permissions(project.root().join(directory), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_rollback_that_is_killed_is_not_completed_as_a_commit() {
    // The last of these files is prepared after the check of all files.
    let spoiled = |project: &Project, step: Step<'_>| {
        if step.kind == StepKind::Create && step.path.starts_with("new/.tool.sh") {
            fs::write(project.root().join("a.txt"), "mine\n")?;
        }
        Ok(())
    };
    let mut kinds = Vec::new();
    let project = Project::usual();
    let mut observe = |step: Step<'_>| {
        kinds.push(step.kind);
        spoiled(&project, step)
    };
    project.commit(&usual_changes(), &mut observe).unwrap_err();
    let renamed: Vec<usize> = (0..kinds.len()).filter(|&at| kinds[at] == StepKind::RenameJournal).collect();
    assert_eq!(renamed.len(), 3, "the journal is written again before a rollback: {kinds:?}");
    for stop in renamed[2] + 1..kinds.len() {
        let project = Project::usual();
        let old = project.tree();
        assert!(stopped_at(stop, |observe| {
            let mut both = |step: Step<'_>| {
                spoiled(&project, step)?;
                observe(step)
            };
            drop(project.commit(&usual_changes(), &mut both));
        }));
        // All files have their old content again, so the rejected commit would be possible.
        fs::write(project.root().join("a.txt"), "one\r\n").unwrap();
        if let Some(recovered) = project.recover() {
            assert!(!recovered.completed, "killed before step {stop}");
        }
        assert_eq!((project.tree(), project.has_journal()), (old, false), "killed before step {stop}");
    }
}

#[test]
fn a_file_whose_mode_alone_was_to_change_may_be_changed_by_another_program() {
    let project = stopped_before(StepKind::Rename, "a.txt");
    fs::write(project.root().join("run.sh"), "mine\n").unwrap();
    let recovered = project.recover().unwrap();
    assert_eq!((recovered.completed, recovered.left_alone), (false, vec![path("run.sh")]));
    assert_eq!((project.read("run.sh").as_str(), project.read("a.txt").as_str()), ("mine\n", "one\r\n"));
}

#[test]
fn a_file_that_has_its_mode_already_is_not_written() {
    for (mode, executable) in [(0o755, true), (0o750, true), (0o644, false), (0o4755, true)] {
        let project = Project::new(&[("a.sh", mode, "a\n")]);
        let changes = [FileChange { executable: Some(executable), ..change("a.sh", Some("a\n"), Some("a\n")) }];
        let (steps, _) = whole(&changes, &project);
        assert!(steps.iter().all(|(kind, _)| *kind != StepKind::Create), "{mode:o} {executable}: {steps:?}");
    }
}

#[test]
fn a_directory_without_write_permission_is_noticed_before_any_write() {
    as_nobody(|| {
        let project = Project::usual();
        let new = change("sub/new.txt", None, Some("new\n"));
        for changes in [[change("sub/b.txt", Some("two\n"), None)], [new]] {
            for mode in [0o555, 0o444] {
                allow(&project, "sub", mode);
                let refused = project.environment().check_commit(&changes).map_err(|error| error.code());
                allow(&project, "sub", 0o755);
                assert_eq!(refused.unwrap_err().as_str(), "permission_denied", "{changes:?} {mode:o}");
            }
            project.environment().check_commit(&changes).unwrap();
        }
    });
}

#[test]
fn a_directory_that_cannot_be_made_fails_the_commit_with_the_reason() {
    as_nobody(|| {
        let project = Project::usual();
        let before = project.tree();
        let mut observe = |step: Step<'_>| {
            allow(&project, "sub", if step.kind == StepKind::MakeDirectory { 0o555 } else { 0o755 });
            Ok(())
        };
        let error = project.commit(&[change("sub/new/a.txt", None, Some("a\n"))], &mut observe).unwrap_err();
        assert_eq!(error.code().as_str(), "permission_denied", "{error}");
        assert_eq!((project.tree(), project.has_journal()), (before, false));
    });
}

#[test]
fn a_commit_fails_if_the_directory_of_its_journal_cannot_be_synced() {
    let project = Project::usual();
    let before = project.tree();
    let state = project.state();
    let (here, away) = (state.directory().to_owned(), project.around.path().join("away"));
    let mut is_done = false;
    let mut observe = |step: Step<'_>| {
        if away.exists() {
            fs::rename(&away, &here)?;
        } else if step.kind == StepKind::SyncState && !is_done {
            is_done = true;
            fs::rename(&here, &away)?;
        }
        Ok(())
    };
    let error = project.environment().commit(&state, &usual_changes(), &mut observe).unwrap_err();
    assert!(matches!(error, CommitError::Refused(_)), "{error}");
    drop(state);
    assert_eq!((project.tree(), project.has_journal()), (before, false));
}
