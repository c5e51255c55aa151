//! `emend patch` with commits as git prints them: the mail of `git format-patch` and the output of `git show`.

use std::process::{Command, Output};

use crate::patch::patch;
use crate::support::Project;

/// Runs git without settings of the user who runs the tests.
fn git(project: &Project, args: &[&str]) -> std::io::Result<Output> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false"]).args(args);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", project.path("no settings"));
    command.current_dir(project.path(".")).output()
}

/// Runs git and returns its output.
#[track_caller]
fn done(project: &Project, args: &[&str]) -> Vec<u8> {
    let output = git(project, args).unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

const MESSAGE: &str = "Rename, add and remove

The first paragraph.

-removed words
--- a note about a.txt
@@ the place
diff of the day
";

#[test]
fn commits_as_git_prints_them_are_applied() {
    let files: [(&str, &[u8]); 4] = [
        ("a.txt", b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"),
        ("windows.txt", b"one\r\ntwo\r\nthree"),
        ("old name.txt", b"1\n2\n3\n4\n5\n6\n"),
        ("gone.txt", b"gone\n"),
    ];
    let origin = Project::new(&files);
    if git(&origin, &["init", "-q"]).is_err() {
        println!("skipped: 1 cases (there is no git command)");
        return;
    }
    done(&origin, &["add", "."]);
    done(&origin, &["commit", "-qm", "Begin"]);
    let write = |path: &str, content: &[u8]| {
        std::fs::create_dir_all(origin.path(path).parent().unwrap()).unwrap();
        std::fs::write(origin.path(path), content).unwrap();
    };
    write("a.txt", b"one\n2\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n");
    write("windows.txt", b"one\r\n2\r\nthree\r\nfour");
    done(&origin, &["mv", "old name.txt", "new name.txt"]);
    write("new name.txt", b"1\n2\nIII\n4\n5\n6\n");
    std::fs::remove_file(origin.path("gone.txt")).unwrap();
    // A signature in the format of mail, and no line feed at the end.
    write("deep/er/new.txt", b"new\n-- \n2.47.3");
    done(&origin, &["add", "-A"]);
    done(&origin, &["commit", "-qm", MESSAGE]);
    let wanted = done(&origin, &["rev-parse", "HEAD^{tree}"]);

    for args in [&["format-patch", "-1", "--stdout"][..], &["show"], &["show", "--stat", "-p"]] {
        let printed = done(&origin, args);
        let text = String::from_utf8_lossy(&printed);
        for line in ["--- a note about a.txt\n", "rename to new name.txt", "new file mode", "deleted file mode"] {
            assert!(text.contains(line), "{args:?}: {line} is missing:\n{text}");
        }
        for options in [&["--format", "unified"][..], &[]] {
            let copy = Project::new(&[]);
            let from = origin.root.path().to_str().unwrap();
            done(&copy, &["clone", "-q", from, "."]);
            done(&copy, &["reset", "-q", "--hard", "HEAD^"]);
            let outcome = patch(&copy, options, &printed);
            assert_eq!(outcome.status, 0, "{args:?} {options:?}: {}\n{text}", outcome.stderr);
            done(&copy, &["add", "-A"]);
            let tree = done(&copy, &["write-tree"]);
            let difference = done(&copy, &["diff", "--cached", "origin/HEAD"]);
            assert_eq!(tree, wanted, "{args:?} {options:?}:\n{}", String::from_utf8_lossy(&difference));
        }
    }
}
