//! Changes of the index of a git repository alone, and texts of commands that run in a copy.

use std::process::Command;

use emend_agent::workspace::Mode;
use serde_json::json;

use super::{Project, check_same};

#[test]
fn what_a_command_stages_alone_is_undone() {
    let git = "git -c user.name=n -c user.email=e";
    for command in [
        "git rm -q --cached a.txt",
        "git mv a.txt moved.txt",
        "git rm -q run.sh",
        "git checkout -q HEAD~1 -- a.txt",
        "git reset -q --hard",
        "git update-index --chmod=+x a.txt",
    ] {
        let project = Project::usual();
        let prepare = format!(
            "git init -q; git add -A; {git} commit -qm one; echo second > a.txt; {git} commit -qam two; \
             echo staged > deep/er/c.txt; git add deep; echo more >> deep/er/c.txt"
        );
        let done = Command::new("sh").args(["-ec", &prepare]).current_dir(project.root()).status().unwrap();
        assert!(done.success());
        let status = || {
            let found =
                Command::new("git").args(["status", "--porcelain"]).current_dir(project.root()).output().unwrap();
            String::from_utf8(found.stdout).unwrap()
        };
        let before = status();
        let open = project.open();
        // A look at the files is not a change.
        assert_eq!(open.shell("touch a.txt; git status")["changed"], json!([]));
        open.shell(command);
        assert_ne!(status(), before, "{command}");
        // The user's look at the files does not keep the index from being restored.
        let undone = open.undo();
        assert_eq!((undone.blocked, undone.kept), (vec![], vec![]), "{command}");
        assert_eq!(status(), before, "{command}");
    }
}

#[test]
fn a_text_that_a_command_aside_writes_in_the_place_of_a_directory_is_discarded() {
    let project = Project::usual();
    let before = project.tree();
    let open = project.open_in(Mode::Staged);
    let data = open.shell("rm -r deep; echo file > deep; echo x >> a.txt");
    assert_eq!(data["changed"], json!(["a.txt", "deep/er/c.txt"]));
    assert_eq!(data["discarded"], json!(["deep"]));
    check_same(&before, &project.tree());
}

#[test]
fn a_command_aside_fails_if_the_user_has_put_a_file_in_the_place_of_its_text_that_is_too_large() {
    let project = Project::usual();
    let open = project.open_in(Mode::Staged);
    // The path of the project, in a form that is not replaced by that of the copy.
    let root = project.root().display().to_string().replace('e', "''e");
    let command = format!("truncate -s 100M $(dirname {root}/x)/new.txt; echo file > new.txt");
    let error = open.call("shell", json!({ "command": command, "timeout_ms": 60_000 })).unwrap_err();
    assert_eq!(error.code.as_str(), "limit_reached", "{}", error.message);
}
