//! Changes of the index of a git repository alone.

use std::process::Command;

use serde_json::json;

use super::Project;

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
