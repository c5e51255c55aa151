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
