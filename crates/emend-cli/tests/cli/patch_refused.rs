//! `emend patch` with patches that are rejected: error code, exit status, advice, and no changed byte.

use std::fs;

use serde_json::{Value, json};

use crate::patch::{patch, sha256};
use crate::support::Project;

fn project() -> Project {
    Project::new(&[
        ("src/main.rs", b"fn main() {\n    one();\n}\n\nfn two() {\n    one();\n}\n"),
        ("notes.md", b"# Notes\n\nalpha\nbeta\n"),
        ("logo.bin", b"a\0b"),
        ("latin1.txt", b"caf\xe9\n"),
    ])
}

/// Expects exit status 1, `code` and `words` in the output: as text, as JSON, and with --check.
#[track_caller]
fn check_in(project: &Project, args: &[&str], text: &[u8], code: &str, words: &[&str]) {
    let before = project.tree();
    for more in [&[][..], &["--check"], &["--json"], &["--check", "--json"]] {
        let outcome = patch(project, &[args, more].concat(), text);
        let said = if more.contains(&"--json") {
            let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
            assert_eq!((&printed["ok"], &printed["error"]["code"]), (&json!(false), &json!(code)), "{printed}");
            let suggestions = printed["error"]["suggestions"].as_array().unwrap().iter();
            let texts = suggestions.chain([&printed["error"]["message"]]).map(|text| text.as_str().unwrap());
            texts.collect::<Vec<_>>().join("\n")
        } else {
            assert_eq!(outcome.stdout, "");
            assert!(outcome.stderr.starts_with(&format!("emend: error [{code}]: ")), "{}", outcome.stderr);
            outcome.stderr
        };
        assert_eq!(outcome.status, 1, "{more:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{more:?}: {word:?} in {said}");
        }
        assert_eq!(project.tree(), before, "{more:?}: {said}");
    }
}

#[track_caller]
fn check(args: &[&str], text: &str, code: &str, words: &[&str]) {
    check_in(&project(), args, text.as_bytes(), code, words);
}

fn v4a(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: notes.md\n@@\n-alpha\n+ALPHA\n{body}*** End Patch\n")
}

#[test]
fn a_patch_with_one_mismatch_changes_nothing() {
    check(
        &[],
        &v4a("*** Update File: src/main.rs\n@@\n-fn main() {\n-    one(1);\n+    three();\n"),
        "conflict",
        &["src/main.rs: hunk 1 of 1 (patch line 7)", "nearest place starts at line 1", "differs at line 2", "one();"],
    );
    check(
        &[],
        &v4a("*** Update File: src/main.rs\n@@\n-    one();\n+    x();\n"),
        "ambiguous",
        &["lines 2, 6", "`@@`"],
    );
    check(&[], &v4a("*** Add File: src/main.rs\n+x\n"), "already_exists", &["src/main.rs", "update it"]);
    check(&[], &v4a("*** Delete File: absent.md\n"), "not_found", &["absent.md", "no such file to delete"]);
    check(&[], &v4a("*** Update File: note.md\n@@\n-a\n+b\n"), "not_found", &["note.md", "notes.md"]);
    check(&[], &v4a("*** Update File: logo.bin\n@@\n-a\n+b\n"), "unsupported", &["logo.bin", "binary"]);
    check(&[], &v4a("*** Update File: latin1.txt\n@@\n-a\n+b\n"), "unsupported", &["latin1.txt", "UTF-8"]);
    check(&[], &v4a("*** Add File: src\n+x\n"), "invalid_argument", &["src", "directory"]);
    check(&[], &v4a("*** Add File: notes.md/x\n+x\n"), "invalid_argument", &["notes.md", "file"]);
    check(
        &[],
        &v4a("*** Add File: ../out.txt\n+x\n"),
        "permission_denied",
        &["outside", "relative to the project root"],
    );
    check(&[], &v4a("*** Add File: /etc/emend-test\n+x\n"), "permission_denied", &["outside"]);
    check(&[], &v4a("*** Add File: src/main.rs/../../../x\n+x\n"), "permission_denied", &["outside"]);
}

#[test]
fn a_patch_changes_no_file_of_git() {
    let words = ["is a file of git, which a patch cannot change"];
    for path in [".git/hooks/pre-commit", "a/../.git/config", ".GIT/config", "sub/.git"] {
        let create = format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n");
        check(&[], &create, "invalid_argument", &words);
        let moved =
            format!("*** Begin Patch\n*** Update File: notes.md\n*** Move to: {path}\n@@\n-alpha\n+x\n*** End Patch\n");
        check(&[], &moved, "invalid_argument", &words);
        let diff = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
        check(&[], &diff, "invalid_argument", &words);
    }
    let project = project();
    fs::create_dir(project.path(".git")).unwrap();
    std::os::unix::fs::symlink(".git", project.path("link")).unwrap();
    let create = "*** Begin Patch\n*** Add File: link/config\n+x\n*** End Patch\n";
    check_in(&project, &[], create.as_bytes(), "invalid_argument", &words);
}

#[test]
fn invalid_patches_are_refused() {
    check(&[], "", "invalid_argument", &["empty"]);
    check(&[], " \n\n", "invalid_argument", &["empty"]);
    check(&[], "\u{feff}", "invalid_argument", &["empty"]);
    check(&[], "hello\n", "invalid_argument", &["--format v4a, unified, safe, replace or lines"]);
    check(&[], "{}", "invalid_argument", &["--format"]);
    check(&["--format", "v4a"], "hello\n", "invalid_argument", &["*** Begin Patch"]);
    check(&["--format", "unified"], "hello\n", "invalid_argument", &["hello"]);
    check(&[], "*** Begin Patch\n*** End Patch\n", "invalid_argument", &["No files were modified"]);
    check(&[], "*** Begin Patch\n*** Update File: notes.md\n@@\n-alpha\n", "invalid_argument", &["*** End Patch"]);
    check(&["--format", "replace"], "[1]", "invalid_argument", &["`replace`", "old_string"]);
    check(&[], r#"{"old_string": "a", "new_string": "b"}"#, "invalid_argument", &["file_path"]);
    let misspelt = r#"{"file_path": "notes.md", "old_string": "a", "new_string": "b", "all": true}"#;
    check(&[], misspelt, "invalid_argument", &["`all`", "replace_all"]);
    check(&["--format", "safe"], r#"{"file_path": "a"}"#, "invalid_argument", &["unified_diff"]);
    let hash = r#"{"file_path": "notes.md", "unified_diff": "@@", "base_content_sha256": "123"}"#;
    check(&[], hash, "invalid_argument", &["64 hexadecimal digits"]);
    check_in(&project(), &[], b"*** Begin Patch\n\xff\n", "invalid_argument", &["not UTF-8", "offset 16"]);
    check_in(&project(), &[], b"*** Begin Patch\n\0\n", "invalid_argument", &["NUL", "offset 16"]);
}

#[test]
fn a_strict_diff_must_match_at_its_stated_lines() {
    let diff = |line: usize| format!("--- a/notes.md\n+++ b/notes.md\n@@ -{line} +{line} @@\n-alpha\n+ALPHA\n");
    check(
        &[],
        &diff(2),
        "conflict",
        &["notes.md: hunk 1 of 1", "does not match at line 2", "\"alpha", "found at line 3"],
    );
    check(&[], &diff(9), "conflict", &["notes.md: hunk 1 of 1"]);
    check(&[], "--- a/notes.md\n+++ b/notes.md\n@@ -3,2 +3 @@\n-alpha\n+A\n", "invalid_argument", &["old lines"]);
    check(&[], "@@ -3 +3 @@\n-alpha\n+ALPHA\n", "invalid_argument", &["--- a/path"]);
    let two = format!("{}{}", diff(3), "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-x\n+y\n");
    check(&[], &two, "conflict", &["src/main.rs: hunk 1 of 1"]);
    let binary = "diff --git a/logo.bin b/logo.bin\nBinary files a/logo.bin and b/logo.bin differ\n";
    check(&[], binary, "unsupported", &["binary"]);
}

#[test]
fn replacements_are_unique_or_refused() {
    let replace =
        |path: &str, old: &str, new: &str| json!({"file_path": path, "old_string": old, "new_string": new}).to_string();
    check(&[], &replace("src/main.rs", "one()", "x()"), "ambiguous", &["2 times", "lines 2, 6", "fn two() {"]);
    check(&[], &replace("notes.md", "# Notes\n\nalpah\n", "x"), "conflict", &["not in the file", "line 3"]);
    check(&[], &replace("notes.md", "alpha", "alpha"), "invalid_argument", &["nothing to change"]);
    check(&[], &replace("notes.md", "", "x"), "invalid_argument", &["only creates new files"]);
    check(&[], &replace("main.rs", "a", "b"), "not_found", &["main.rs"]);
    check(&[], &replace("", "a", "b"), "invalid_argument", &["path is empty"]);
    check(&[], &replace("notes.md", "alpha", "A\n... rest of the file unchanged ..."), "invalid_argument", &["omits"]);
}

#[test]
fn line_edits_need_existing_lines_and_the_current_hash() {
    let lines = |edit: Value| json!({"file_path": "notes.md", "edits": [edit]}).to_string();
    let replace = |line: usize| json!({"operation": "replace", "start_line": line, "new_text": "x"});
    check(&[], &lines(replace(5)), "invalid_argument", &["names line 5", "4 lines"]);
    check(&[], &lines(json!({"operation": "move", "start_line": 1})), "invalid_argument", &["`move`", "`replace`"]);
    check(&[], r#"{"file_path": "notes.md", "edits": []}"#, "invalid_argument", &["empty"]);
    let mut stale = replace(3);
    stale["expected_hash"] = json!(sha256("gamma\n"));
    check(&[], &lines(stale), "stale", &["read it again"]);
}

#[test]
fn usage_errors_exit_with_2() {
    let project = project();
    for (args, words) in [
        (&["no-such.patch"][..], "cannot read the patch no-such.patch"),
        (&["src"], "cannot read the patch src"),
        (&["--format", "diff"], "possible values: v4a, unified, safe, replace, lines"),
        (&["--root", "absent"], "give a directory with --root"),
        (&["--root", "notes.md"], "give a directory with --root"),
        (&["--frobnicate"], "unexpected argument"),
        (&["a.patch", "b.patch"], "unexpected argument"),
    ] {
        let outcome = patch(&project, args, v4a("").as_bytes());
        assert_eq!(outcome.status, 2, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{args:?}: {}", outcome.stderr);
    }
    let outcome = patch(&project, &["--json", "--root", "absent"], v4a("").as_bytes());
    let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.status, &printed["error"]["code"]), (2, &json!("configuration")));
}

#[cfg(unix)]
#[test]
fn linked_and_read_only_files_are_refused() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let project = project();
    fs::hard_link(project.path("notes.md"), project.path("twin.md")).unwrap();
    check_in(&project, &[], v4a("").as_bytes(), "permission_denied", &["notes.md", "2 hard links"]);
    fs::remove_file(project.path("twin.md")).unwrap();
    fs::set_permissions(project.path("notes.md"), fs::Permissions::from_mode(0o444)).unwrap();
    check_in(&project, &[], v4a("").as_bytes(), "permission_denied", &["notes.md", "read-only"]);
    fs::set_permissions(project.path("notes.md"), fs::Permissions::from_mode(0o644)).unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x"), "alpha\n").unwrap();
    symlink(outside.path().join("x"), project.path("out")).unwrap();
    symlink(outside.path(), project.path("away")).unwrap();
    symlink("src/main.rs", project.path("link")).unwrap();
    let update = |path: &str| v4a(&format!("*** Update File: {path}\n@@\n-alpha\n+x\n"));
    check_in(&project, &[], update("out").as_bytes(), "permission_denied", &["outside the project root"]);
    check_in(&project, &[], update("away/x").as_bytes(), "permission_denied", &["outside the project root"]);
    check_in(&project, &[], v4a("*** Add File: away/y\n+x\n").as_bytes(), "permission_denied", &["outside"]);
    let delete = v4a("*** Delete File: link\n");
    check_in(&project, &[], delete.as_bytes(), "unsupported", &["link is a symbolic link", "src/main.rs"]);
    let rename = "diff --git a/link b/moved\nrename from link\nrename to moved\n";
    check_in(&project, &[], rename.as_bytes(), "unsupported", &["link is a symbolic link", "move"]);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(outside.path().join("x")).unwrap(), "alpha\n");
}

#[cfg(unix)]
#[test]
fn a_directory_that_may_not_be_written_to() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut project = project();
    fs::set_permissions(project.path("src"), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(project.path("src/probe"), "").is_ok() {
        // Root can write anywhere, so another user runs the command.
        fs::remove_file(project.path("src/probe")).unwrap();
        if !project.give_to_nobody() {
            println!("skipped: 4 cases (root may write anywhere, and others may not run the command)");
            return;
        }
    }
    for body in [
        "*** Add File: src/new.rs\n+x\n",
        "*** Add File: src/deep/new.rs\n+x\n",
        "*** Delete File: src/main.rs\n",
        "*** Update File: src/main.rs\n@@ fn main() {\n-    one();\n+    x();\n",
    ] {
        check_in(&project, &[], v4a(body).as_bytes(), "permission_denied", &["src"]);
    }
    fs::set_permissions(project.path("src"), fs::Permissions::from_mode(0o755)).unwrap();
    patch(&project, &[], v4a("*** Delete File: src/main.rs\n").as_bytes()).assert_ok();
}

#[test]
fn one_command_at_a_time_on_one_root() {
    let project = project();
    let lock = project.lock();
    let outcome = patch(&project, &[], v4a("").as_bytes());
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("[busy]") && outcome.stderr.contains("another emend process"),
        "{}",
        outcome.stderr
    );
    drop(lock);
    patch(&project, &[], v4a("").as_bytes()).assert_ok();
}
