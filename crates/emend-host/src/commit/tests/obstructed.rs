//! Other programs put something in the place of a file, between the check of a commit and its changes.

use super::*;

/// Commits with a disturbance before the first step of a kind at a path.
fn disturbed(
    project: &Project,
    changes: &[FileChange],
    (kind, at): (StepKind, &str),
    disturb: impl Fn(&Path) -> io::Result<()>,
) -> Result<(), CommitError> {
    let mut is_done = false;
    let outcome = project.commit_as_program(changes, &mut |step| {
        if !is_done && step.kind == kind && step.path == at {
            is_done = true;
            disturb(&project.root())?;
        }
        Ok(())
    });
    assert!(is_done, "no step {kind:?} {at}");
    outcome
}

#[track_caller]
fn check_left_alone(project: &Project, outcome: Result<(), CommitError>, left: &[&str]) {
    match outcome {
        Err(CommitError::LeftAlone { paths }) => {
            assert_eq!(paths.iter().map(FilePath::as_str).collect::<Vec<_>>(), left);
        }
        other => panic!("{other:?}"),
    }
    assert!(!project.has_journal());
    assert!(!project.tree().keys().any(|name| name.ends_with(".emend-new")), "{:?}", project.tree());
}

#[test]
fn a_directory_that_another_program_makes_in_the_place_of_a_new_file_stays() {
    let project = Project::usual();
    let mut expected = project.tree();
    let changes = [change("a.txt", Some("one\r\n"), Some("ONE\r\n")), change("new.txt", None, Some("new\n"))];
    let outcome =
        disturbed(&project, &changes, (StepKind::RenameJournal, ""), |root| fs::create_dir(root.join("new.txt")));
    assert_eq!(outcome.unwrap_err().code().as_str(), "stale");
    let tree = project.tree();
    expected.insert("new.txt".to_owned(), tree["new.txt"].clone());
    assert_eq!((tree, project.has_journal()), (expected, false));
}

#[test]
fn a_file_of_another_program_in_a_directory_that_gives_way_stays() {
    let project = project_of_kinds();
    let outcome = disturbed(&project, &changes_of_kinds(), (StepKind::Remove, "d/y"), |root| {
        fs::write(root.join("d/mine"), "mine\n")
    });
    check_left_alone(&project, outcome, &["d"]);
    assert_eq!((project.read("d/mine").as_str(), project.read("file/in/z").as_str()), ("mine\n", "z\n"));
}

#[test]
fn a_file_of_another_program_in_the_place_of_a_new_directory_stays() {
    let project = project_of_kinds();
    // The file is removed, and the directories are not made yet.
    let outcome = disturbed(&project, &changes_of_kinds(), (StepKind::RemoveDirectory, "d"), |root| {
        assert!(!root.join("file").exists());
        fs::write(root.join("file"), "mine\n")
    });
    check_left_alone(&project, outcome, &["file/in/z"]);
    assert_eq!((project.read("file").as_str(), project.read("d").as_str()), ("mine\n", "now a file\n"));
}
