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

/// Asserts that a write to each of the paths is asked about, and to each of the others is not.
#[track_caller]
fn check(prepare: &dyn Fn(&Project), asked: &[&str], free: &[&str]) {
    let project = Project::new(&[("a.txt", b"a\n")]);
    git(&project, &["init"]);
    prepare(&project);
    // A file that exists is read before a write.
    let read = |path: &&&str| project.path(path).exists();
    let read = asked.iter().filter(read).map(|path| ("read_file", json!({ "file_path": path })));
    let calls: Vec<_> = read.chain(asked.iter().map(|path| write(path, "x\n"))).collect();
    let outcome = project.run_calls(&calls, &["--allow", "edit", "--allow", "edit:**"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stdout);
    for path in asked {
        let reason =
            format!("run or obey it by themselves. To allow this call, run emend with --allow 'write_file:{path}'");
        assert!(outcome.stdout.contains(&reason), "{path}: {}", outcome.stdout);
        assert!(!fs::read_to_string(project.path(path)).is_ok_and(|text| text == "x\n"), "{path}");
    }
    let writes: Vec<_> = free.iter().map(|path| write(path, "x\n")).collect();
    project.run_calls(&writes, &[]).assert_ok();
    // A rule that names the file allows it.
    let new: Vec<_> = asked.iter().filter(|path| !project.path(path).exists()).collect();
    let writes: Vec<_> = new.iter().map(|path| write(path, "x\n")).collect();
    let rules: Vec<String> = new.iter().map(|path| format!("write_file:{path}")).collect();
    let options: Vec<&str> = rules.iter().flat_map(|rule| ["--allow", rule]).collect();
    project.run_calls(&writes, &options).assert_ok();
}

#[test]
fn files_that_settings_of_git_include_are_protected_as_the_settings_are() {
    let settings = |project: &Project| {
        for (key, value) in [("include.path", "../gitcfg"), ("includeIf.onbranch:x.path", "../later.cfg")] {
            git(project, &["config", key, value]);
        }
        let text =
            "[core]\n\tfsmonitor = ./tools/fs -x\n[Include] path = deep/more.cfg # x\n[include]\npath = gitcfg\n";
        fs::write(project.path("gitcfg"), text).unwrap();
        fs::create_dir(project.path("deep")).unwrap();
        let text = "[core]\nhooksPath = \"hk\"\nattributesFile = conf/attr\nsshCommand = X=1 sh 'tools/ssh.sh' y\n\
                    editor = tools/ed\n[alias]\nb = \"!true && ./tools/b\"\nc = tools/c\n[filter \"p\"]\nclean = f/clean\n";
        fs::write(project.path("deep/more.cfg"), text).unwrap();
    };
    let asked = ["gitcfg", "later.cfg", "tools/fs", "deep/more.cfg", "hk/pre-commit", "conf/attr", "tools/ssh.sh"];
    let more = ["tools/ed", "tools/b", "f/clean"];
    check(&settings, &[&asked[..], &more].concat(), &["tools/c", "deep/x", "conf/a", "tools/fs2", "true"]);
}

#[test]
fn programs_of_a_nested_repository_are_protected() {
    let nested = |project: &Project| {
        git(project, &["config", "core.fsmonitor", "./tools/fs"]);
        git(project, &["init", "sub"]);
        git(project, &["-C", "sub", "config", "core.hooksPath", "nh"]);
        git(project, &["-C", "sub", "config", "core.sshCommand", "./s/ssh"]);
        git(project, &["-C", "sub", "config", "include.path", "../c/own"]);
    };
    check(
        &nested,
        &["tools/fs", "sub/nh/pre-commit", "sub/s/ssh", "sub/c/own"],
        &["nh/a", "sub/a/nh", "s/ssh", "sub/s/a"],
    );
}

#[test]
fn a_repository_under_any_name_is_protected() {
    let named = |project: &Project| {
        git(project, &["init", "--bare", "mirror"]);
        fs::create_dir(project.path("data")).unwrap();
        git(project, &["init", "--separate-git-dir", "data/store", "sub"]);
        git(project, &["init", "--separate-git-dir", "sub/own", "sub/deep"]);
        fs::create_dir_all(project.path("tree")).unwrap();
        fs::write(project.path("tree/.git"), "gitdir: state/x\n").unwrap();
    };
    let asked = ["mirror/hooks/post-update", "data/store/hooks/pre-commit", "sub/own/info/new", "tree/state/x/config"];
    check(&named, &asked, &["data/a", "tree/state/y", "tree/x", "sub/x"]);
}

#[cfg(unix)]
#[test]
fn the_target_of_a_link_that_programs_obey_is_protected() {
    use std::os::unix::fs::symlink;

    let links = |project: &Project| {
        let link = |target: &str, path: &str| {
            fs::create_dir_all(project.path(path).parent().unwrap()).unwrap();
            symlink(target, project.path(path)).unwrap();
        };
        fs::remove_dir_all(project.path(".git/hooks")).unwrap();
        fs::create_dir_all(project.path("hk")).unwrap();
        link("../hk", ".git/hooks");
        link("../scripts/pre", "hk/pre-commit");
        link("shared", ".envrc");
        link("../sub/b", "sub/.envrc");
        link("c", "sub/b");
        link("../conf/tasks.json", ".vscode/tasks.json");
        link("conf", ".config");
        link("far", "a/.envrc");
    };
    let asked = ["hk/post-commit", "scripts/pre", "shared", "sub/c", "conf/tasks.json", "conf/git/config", "a/far"];
    check(&links, &asked, &["scripts/a", "sub/d", "far", "conf/a", "b/c"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_settings_is_not_waited_for() {
    let project = Project::new(&[("a.txt", b"a\n")]);
    git(&project, &["init", "sub"]);
    fs::remove_file(project.path("sub/.git/config")).unwrap();
    fs::create_dir(project.path("tree")).unwrap();
    for path in ["sub/.git/config", "tree/.git"] {
        assert!(Command::new("mkfifo").arg(project.path(path)).status().unwrap().success());
    }
    project.run_calls(&[write("sub/a", "x\n"), write("tree/a", "x\n")], &[]).assert_ok();
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
