//! Places in a project and beside it that make its files obeyed.

use std::os::unix::fs::symlink;
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

use super::*;

#[test]
fn a_look_sees_what_changed_since_the_last_one() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for directory in [".git/hooks", ".git/info", "a/.vscode"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    let config = root.join(".git/config");
    fs::write(&config, "[core]\n").unwrap();
    let files = ObeyedFiles::of(&root, |name| name == ".vscode", Vec::new()).unwrap();
    let check = |expected: bool| {
        // The directories and settings are old enough for the cache, so the second look reads none of them.
        sleep(Duration::from_millis(120));
        assert_eq!([(); 2].map(|()| files.contains("a/tool.sh")), [expected; 2]);
    };
    check(false);
    for link in [".git/hooks/pre-commit", ".git/info/attributes", "a/.vscode/tasks.json"] {
        symlink(root.join("a/tool.sh"), root.join(link)).unwrap();
        assert!(files.contains("a/tool.sh"), "{link}");
        check(true);
        fs::remove_file(root.join(link)).unwrap();
        assert!(!files.contains("a/tool.sh"), "{link}");
        check(false);
    }
    fs::write(&config, "[core]\nfsmonitor = a/tool.sh\n").unwrap();
    assert!(files.contains("a/tool.sh"));
    check(true);
    // The link of a directory on the way is followed at each look.
    fs::write(&config, "[core]\nhooksPath = b/hooks\n").unwrap();
    fs::create_dir(root.join("b")).unwrap();
    check(false);
    symlink("../a", root.join("b/hooks")).unwrap();
    assert!(files.contains("a/tool.sh"));
    check(true);
}

/// A project and a user's directory beside it.
struct Around {
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Around {
    fn new() -> Self {
        let around = Self { folder: TempDir::new().unwrap(), variables: Vec::new() };
        for directory in ["home", "project"] {
            fs::create_dir(around.path(directory)).unwrap();
        }
        around
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn link(&self, name: &str, target: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        symlink(self.path(target), self.path(name)).unwrap();
    }

    fn files(&self) -> ObeyedFiles {
        let variable = |name: &str| self.variables.iter().find(|(other, _)| *other == name);
        let user = UserPlaces::of(Some(&self.path("home")), |name| variable(name).map(|(_, value)| value.clone()));
        let is_known = |name: &str| matches!(name, ".bashrc" | ".vscode");
        let below = vec![".config/emend", ".config/nvim", ".local/state/emend"];
        ObeyedFiles::with_user(&self.path("project"), is_known, below, user).unwrap()
    }

    #[track_caller]
    fn check(&self, obeyed: &[&str], others: &[&str]) {
        let files = self.files();
        for path in obeyed {
            assert!(files.contains(path), "{path}");
        }
        for path in others {
            assert!(!files.contains(path), "{path}");
        }
    }
}

#[test]
fn settings_of_the_user_are_read_at_each_look() {
    let around = Around::new();
    fs::create_dir(around.path("project/.git")).unwrap();
    let files = around.files();
    for path in ["gh/pre-commit", "x/fsm", "conf/common"] {
        assert!(!files.contains(path), "{path}");
    }
    around.write(
        "home/.gitconfig",
        "[core]\nhooksPath = gh\nfsmonitor = x/fsm\n[include]\npath = ../project/conf/common\n",
    );
    for path in ["gh/pre-commit", "x/fsm", "conf/common"] {
        assert!(files.contains(path), "{path}");
    }
    assert!(!files.contains("x/a"));
}

#[test]
fn files_to_which_links_of_the_user_lead_are_obeyed() {
    let around = Around::new();
    around.link("home/.gitconfig", "project/gitconfig");
    around.link("home/.bashrc", "project/shell/bashrc");
    around.link("home/.config/nvim", "project/editor");
    around.link("home/notes", "project/notes");
    around.check(&["gitconfig", "shell/bashrc", "editor/init.lua"], &["notes", "shell/a", "a"]);
}

#[test]
fn settings_of_the_agent_in_the_project_are_obeyed_under_any_name() {
    let mut around = Around::new();
    around.link("home/.config/emend", "project/emd");
    around.check(&["emd/config.toml"], &["emend/config.toml"]);
    around.write("project/own/emend/config.toml", "");
    around.write("project/kept/emend/x", "");
    for (name, directory) in [("XDG_CONFIG_HOME", "project/own"), ("XDG_STATE_HOME", "project/kept")] {
        around.variables.push((name, around.path(directory).to_str().unwrap().to_owned()));
    }
    around.check(&["own/emend/config.toml", "kept/emend/x"], &["own/a", "kept/a"]);
}

#[test]
fn programs_in_variables_are_obeyed() {
    let mut around = Around::new();
    around.variables = vec![
        ("GIT_SSH_COMMAND", "ssh -F k/conf".to_owned()),
        ("BASH_ENV", "k/env".to_owned()),
        ("GIT_CONFIG_GLOBAL", "k/global".to_owned()),
    ];
    around.check(&["k/conf", "k/env", "k/global"], &["k/a"]);
}

#[test]
fn hooks_of_worktrees_and_submodules_are_obeyed() {
    let around = Around::new();
    around.write("project/.git/worktrees/wt/gitdir", &format!("{}\n", around.path("project/wt/.git").display()));
    around.write("project/.git/worktrees/wt/config.worktree", "[core]\nhooksPath = ../hk\n");
    around.write("project/.gitmodules", "[submodule \"s\"]\npath = s\n[submodule \"t\"]\npath = ../outside\n");
    around.write("project/s/.git", "gitdir: ../.git/modules/s\n");
    around.write("project/.git/modules/s/config", "[core]\nhooksPath = ../t/s\n");
    around.check(&["hk/pre-commit", "t/s/pre-commit"], &["t/a", "s/a", "wt/a"]);
}

#[test]
fn many_submodules_hide_no_repository_above_the_file() {
    let around = Around::new();
    fs::create_dir(around.path("project/.git")).unwrap();
    let modules = (0..2 * SUBMODULES_MAX).map(|number| format!("[submodule \"{number}\"]\npath = m{number}\n"));
    around.write("project/.gitmodules", &modules.collect::<String>());
    around.write("project/sub/.git/config", "[core]\nhooksPath = nh\n");
    around.check(&["sub/nh/pre-commit"], &["sub/a"]);
    // A submodule that names itself.
    around.write("project/sub/.gitmodules", "[submodule \"s\"]\npath = .\n");
    around.check(&["sub/nh/pre-commit"], &["sub/a"]);
}

#[test]
fn a_directory_with_a_head_is_a_repository_that_lacks_empty_directories() {
    let around = Around::new();
    let hash = "0123456789abcdef0123456789abcdef01234567";
    for (name, head) in [("a", "ref: refs/heads/main\n"), ("b", hash), ("c", "a chapter\n"), ("d", &hash[1..])] {
        around.write(&format!("project/{name}/HEAD"), head);
    }
    symlink("refs/heads/main", around.path("project/d/HEAD2")).unwrap();
    fs::create_dir(around.path("project/e")).unwrap();
    symlink("refs/heads/main", around.path("project/e/HEAD")).unwrap();
    around.check(&["a/config", "b/hooks/x", "e/config"], &["c/config", "d/config"]);
}

#[test]
fn more_settings_name_programs() {
    let around = Around::new();
    let settings = "[core]\nhooksPath = ~root/../tmp/none\nattributesFile = %(prefix)/x\n[tar \"z\"]\ncommand = k/rc\n\
                    [gc]\nrecentObjectsHook = k/gc\n[imap]\ntunnel = k/im\n[guitool \"x\"]\ncmd = k/gui\n\
                    [hook \"x\"]\ncommand = k/hook\n[remote \"o\"]\nurl = ext::sh k/ac\n\
                    [alias]\na = \"!cd k && ./af\"\nb = -c core.pager=k/ap log\nc = k/none\n";
    around.write("project/.git/config", settings);
    let obeyed = ["k/rc", "k/gc", "k/im", "k/gui", "k/hook", "k/ac", "k/af", "k/ap"];
    around.check(&obeyed, &["k/none", "k/a"]);
    assert_eq!(expanded("%(prefix)/a"), Path::new("/usr/a"));
    // Any user of this machine.
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    if let Some([name, .., home, _]) = users.lines().next().map(|user| user.split(':').collect::<Vec<_>>()).as_deref() {
        assert_eq!(expanded(&format!("~{name}/a")), Path::new(home).join("a"));
    }
    assert_eq!(expanded("~nobody-of-this-name/a"), Path::new("~nobody-of-this-name/a"));
}
