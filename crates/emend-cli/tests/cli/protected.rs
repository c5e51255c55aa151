//! Files that git and other programs run or obey by themselves.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::Project;

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({ "file_path": path, "content": content }))
}

fn git(project: &Project, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(project.path("")).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(git.status().unwrap().success(), "{arguments:?}");
}

#[test]
fn a_command_of_git_obeys_no_repository_that_an_agent_wrote() {
    let project = Project::new(&[("a.txt", b"a\n")]);
    let ran = project.path("ran");
    let settings = format!(
        "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = \"touch {}\"\n",
        ran.display()
    );
    let status = ("shell", json!({ "command": "git status", "working_dir": "t" }));
    let parts = [("HEAD", "ref: refs/heads/m\n"), ("config", &settings), ("objects/a", ""), ("refs/a", "")];
    let calls: Vec<_> = parts.iter().map(|(name, content)| write(&format!("t/{name}"), content)).collect();
    let outcome = project.run_calls(&[calls, vec![status.clone()]].concat(), &["--allow", "shell:git status"]);
    assert_eq!(outcome.status, 1, "a write was asked about: {}", outcome.stdout);
    assert!(!project.path("t/HEAD").exists() && project.path("t/config").exists());
    // Another program may have left such a directory.
    fs::write(project.path("t/HEAD"), parts[0].1).unwrap();
    let outcome = project.run_calls(&[status], &["--allow", "shell:git status"]);
    assert!(outcome.stdout.contains("safe.bareRepository"), "{}", outcome.stdout);
    assert!(!ran.exists());
    // Positive control: outside of Emend, git runs the program.
    git(&project, &["-C", "t", "status"]);
    assert!(ran.exists());
}

#[test]
fn the_directories_of_hooks_and_settings_of_a_project_are_protected() {
    let project = Project::new(&[("a.txt", b"a\n")]);
    git(&project, &["init"]);
    git(&project, &["config", "core.hooksPath", "tools/hooks"]);
    git(&project, &["init", "--separate-git-dir", "data"]);
    for path in ["tools/hooks/pre-commit", "data/hooks/post-commit", ".vscode/mcp.json"] {
        let outcome = project.run_calls(&[write(path, "x\n")], &[]);
        assert_eq!(outcome.status, 1, "{path}");
        assert!(outcome.stdout.contains("programs (git, editors, shells) run or obey it"), "{}", outcome.stdout);
        let allow = format!("--allow 'write_file:{path}'");
        assert!(outcome.stdout.contains(&allow), "{}", outcome.stdout);
    }
    project.run_calls(&[write("tools/a", "x\n")], &[]).assert_ok();
    project.run_calls(&[write("./tools/x/../hooks/a", "x\n")], &["--allow", "write_file:tools/hooks/a"]).assert_ok();
}

/// The help of `--sandbox` says so.
#[test]
fn a_confined_command_can_commit_and_write_hooks_and_undo_restores_these() {
    let project = Project::new(&[("a.txt", b"a\n")]);
    git(&project, &["init"]);
    let settings = project.read(".git/config");
    let commit = "git add a.txt && git -c user.name=a -c user.email=a@b.c commit -qm one";
    let plant =
        "echo 'touch ran' > .git/hooks/post-commit && git config core.pager x && echo x | tee .envrc > .emend.toml";
    let task = format!("run {commit} && {plant}");
    // The project is not below the directory for temporary files, which is writable in any case.
    let elsewhere = [("TMPDIR", project.state().to_str().unwrap())];
    let outcome = project.run_with(&["run", &task, "--allow", "shell", "--sandbox"], &elsewhere);
    if outcome.stderr.contains("is not available here") {
        println!("skipped: this kernel cannot confine commands");
        return;
    }
    outcome.assert_ok();
    let planted = [".git/hooks/post-commit", ".envrc", ".emend.toml"].map(|path| project.path(path));
    assert!(planted.iter().all(|path| path.exists()) && project.read(".git/config") != settings, "{}", outcome.stderr);
    git(&project, &["rev-parse", "HEAD:a.txt"]);
    let help = project.run(&["run", "--help"]).assert_ok().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("such as .git/hooks, .git/config, .envrc and .emend.toml"), "{help}");
    let undone = project.run(&["undo"]).assert_ok().stdout.clone();
    assert!(undone.contains("restored .git/config\nremoved .git/hooks/post-commit\n"), "{undone}");
    assert!(planted.iter().all(|path| !path.exists()));
    assert_eq!(project.read(".git/config"), settings);
}

#[test]
fn a_start_runs_no_filter_of_the_project() {
    let project = Project::new(&[("a.txt", b"a\n"), (".gitattributes", b"*.txt filter=x\n")]);
    git(&project, &["init"]);
    git(&project, &["add", "."]);
    let ran = project.path("ran");
    git(&project, &["config", "filter.x.clean", &format!("touch {}; cat", ran.display())]);
    fs::write(project.path("a.txt"), "b\n").unwrap();
    project.run(&["run", "--model", "offline", "--read-only", "hello"]).assert_ok();
    assert!(!ran.exists());
    git(&project, &["status"]);
    assert!(ran.exists(), "positive control");
}
