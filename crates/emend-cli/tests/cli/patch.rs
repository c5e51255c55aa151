//! `emend patch` with patches that apply: formats, output, and bytes that must not change.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Outcome, Project};

/// Runs the command with `patch` on standard input.
pub(crate) fn patch(project: &Project, args: &[&str], patch: &[u8]) -> Outcome {
    let args: Vec<&str> = std::iter::once("patch").chain(args.iter().copied()).collect();
    let mut command = project.command(&args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // With an invalid command line the program ends before it reads the patch.
    let _ = child.stdin.take().unwrap().write_all(patch);
    Outcome::of(child.wait_with_output().unwrap())
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn sha256(text: &str) -> String {
    emend_edit::ContentHash::of(text.as_bytes()).hex()
}

/// Applies `text` to one file, with and without --format, and compares the file.
#[track_caller]
fn check(format: &str, before: &str, text: &str, after: &str) {
    for args in [&["--format", format][..], &[]] {
        let project = Project::new(&[("a.txt", before.as_bytes()), ("other.txt", b"other\n")]);
        let outcome = patch(&project, args, text.as_bytes());
        outcome.assert_ok();
        assert_eq!(project.read("a.txt"), after, "{args:?}");
        assert_eq!(project.tree().len(), 2, "{args:?}: {:?}", project.tree());
        assert!(outcome.stdout.starts_with("updated a.txt\n  hunk 1: @@ -"), "{args:?}: {}", outcome.stdout);
    }
}

#[test]
fn every_format_is_applied_and_detected() {
    let before = "one\ntwo\nthree\n";
    let after = "one\n2\nthree\n";
    let hash = sha256(before);
    check("v4a", before, "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n", after);
    check("unified", before, "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", after);
    let located = "--- a/a.txt\n+++ b/a.txt\n@@ -7,2 +7,2 @@\n-two\n+2\n three\n";
    let safe = json!({"file_path": "a.txt", "unified_diff": located, "base_content_sha256": hash});
    check("safe", before, &safe.to_string(), after);
    let replace = json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"});
    check("replace", before, &replace.to_string(), after);
    let replace = json!({"file_path": "a.txt", "old_string": "t", "new_string": "T", "replace_all": true});
    check("replace", before, &replace.to_string(), "one\nTwo\nThree\n");
    let edit = json!({"operation": "replace", "start_line": 2, "new_text": "2", "expected_hash": hash});
    check("lines", before, &json!({"file_path": "a.txt", "edits": [edit]}).to_string(), after);
    let edits = json!([
        {"operation": "insert", "start_line": 4, "new_text": "four"},
        {"operation": "delete", "start_line": 1, "end_line": 2},
    ]);
    let lines = json!({"file_path": "a.txt", "edits": edits, "expected_hash": format!("sha256:{hash}")});
    check("lines", before, &lines.to_string(), "three\nfour\n");
}

#[test]
fn bytes_outside_of_edits_do_not_change() {
    let v4a = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n";
    check("v4a", "\u{feff}one\r\ntwo\r\nthree", v4a, "\u{feff}one\r\n2\r\nthree");
    let replace = r#"{"file_path": "a.txt", "old_string": "one\ntwo", "new_string": "1\n2"}"#;
    check("replace", "\u{feff}one\r\ntwo\r\nthree  \n", replace, "\u{feff}1\r\n2\r\nthree  \n");
    let lines = r#"{"file_path": "a.txt", "edits": [{"operation": "replace", "start_line": 2, "new_text": "2"}]}"#;
    check("lines", "\u{feff}one\r\ntwo\r\nthree", lines, "\u{feff}one\r\n2\r\nthree");
    let strict = "--- a/a.txt\n+++ b/a.txt\n@@ -2,2 +2,2 @@\n-two\r\n+2\r\n three\n\\ No newline at end of file\n";
    check("unified", "one\r\ntwo\r\nthree", strict, "one\r\n2\r\nthree");
    let windows = v4a.replace('\n', "\r\n");
    check("v4a", "one\ntwo\nthree\n", &format!("\u{feff}{windows}"), "one\n2\nthree\n");
}

const SEVERAL: &str = "*** Begin Patch
*** Update File: src/main.rs
@@ fn main() {
-    old();
+    new();
@@ fn other() {
-    old();
+    new();
*** Add File: docs/deep/notes.md
+hello
*** Delete File: gone.txt
*** Update File: tool.sh
*** Move to: bin/tool
@@
-#!/bin/sh
+#!/bin/bash
*** End Patch
";

fn several() -> Project {
    let main = b"fn main() {\n    old();\n}\nfn other() {\n    old();\n}\n";
    Project::new(&[("src/main.rs", main), ("gone.txt", b"gone\n"), ("tool.sh", b"#!/bin/sh\n"), ("keep", b"k\n")])
}

#[test]
fn several_files_are_created_updated_deleted_and_moved() {
    let project = several();
    fs::write(project.path("p.patch"), SEVERAL).unwrap();
    let outcome = project.run(&["patch", "p.patch"]);
    outcome.assert_ok();
    assert_eq!(
        outcome.stdout,
        "updated src/main.rs\n  hunk 1: @@ -2 +2 @@\n  hunk 2: @@ -5 +5 @@\n\
         created docs/deep/notes.md\ndeleted gone.txt\nmoved tool.sh to bin/tool\n  hunk 1: @@ -1 +1 @@\n"
    );
    let names: Vec<String> = project.tree().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["bin/tool", "docs/deep/notes.md", "keep", "p.patch", "src/main.rs"]);
    assert_eq!(project.read("src/main.rs"), "fn main() {\n    new();\n}\nfn other() {\n    new();\n}\n");
    assert_eq!(project.read("bin/tool"), "#!/bin/bash\n");
}

#[test]
fn json_names_files_operations_and_hunks() {
    let project = several();
    let outcome = patch(&project, &["--json", "-"], SEVERAL.as_bytes());
    outcome.assert_ok();
    let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let hunk = |number: usize, line: usize| {
        json!({"number": number, "old_start": line, "old_lines": 1, "new_start": line, "new_lines": 1,
               "matched": "exact"})
    };
    assert_eq!(
        printed,
        json!({
            "ok": true,
            "files": [
                {"path": "src/main.rs", "operation": "update", "hunks": [hunk(1, 2), hunk(2, 5)]},
                {"path": "docs/deep/notes.md", "operation": "create", "hunks": []},
                {"path": "gone.txt", "operation": "delete", "hunks": []},
                {"path": "bin/tool", "operation": "rename", "hunks": [hunk(1, 1)], "from": "tool.sh"},
            ],
            "diagnostics": [],
        })
    );
}

#[test]
fn accepted_mistakes_are_reported() {
    let project = Project::new(&[("a.txt", b"one  \n")]);
    let text = "```\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n```\n";
    let outcome = patch(&project, &["--json"], text.as_bytes());
    let printed: Value = serde_json::from_str(&outcome.assert_ok().stdout).unwrap();
    let codes: Vec<(&str, &Value)> = printed["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| (note["code"].as_str().unwrap(), &note["path"]))
        .collect();
    assert_eq!(codes, [("fenced", &Value::Null), ("loose_match", &json!("a.txt"))]);
    let project = Project::new(&[("a.txt", b"one  \n")]);
    let outcome = patch(&project, &[], text.as_bytes());
    assert!(outcome.stdout.contains("\nnote: a.txt: hunk 1 matches at line 1 except for"), "{}", outcome.stdout);
}

#[test]
fn check_reports_the_same_and_writes_nothing() {
    let project = several();
    let before = project.tree();
    let outcome = patch(&project, &["--check"], SEVERAL.as_bytes());
    outcome.assert_ok();
    assert!(outcome.stdout.starts_with("would update src/main.rs\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with("nothing was written\n"), "{}", outcome.stdout);
    let checked = patch(&project, &["--check", "--json"], SEVERAL.as_bytes());
    assert_eq!(project.tree(), before);
    assert!(project.state_is_untouched(), "nor does it lock or keep anything");
    let done = patch(&project, &["--json"], SEVERAL.as_bytes());
    assert_eq!(checked.assert_ok().stdout, done.assert_ok().stdout);
}

#[test]
fn paths_are_relative_to_the_root() {
    let project = Project::new(&[("inner/a.txt", b"one\n"), ("a.txt", b"one\n")]);
    let text = r#"{"file_path": "a.txt", "old_string": "one", "new_string": "1"}"#;
    patch(&project, &["--root", "inner"], text.as_bytes()).assert_ok();
    assert_eq!((project.read("inner/a.txt").as_str(), project.read("a.txt").as_str()), ("1\n", "one\n"));
    let absolute = project.path("inner/../a.txt");
    let text = json!({"file_path": absolute, "old_string": "one", "new_string": "1"});
    patch(&project, &[], text.to_string().as_bytes()).assert_ok();
    assert_eq!(project.read("a.txt"), "1\n");
}

#[test]
fn edits_of_one_file_under_several_names_are_combined() {
    let project = Project::new(&[("a.txt", b"one\ntwo\nthree\n")]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("a.txt", project.path("link.txt")).unwrap();
    let third = if cfg!(unix) { "link.txt" } else { "sub/../a.txt" };
    let text = format!(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: ./a.txt\n@@\n-two\n+2\n\
         *** Update File: {third}\n@@\n-three\n+3\n*** End Patch\n"
    );
    let outcome = patch(&project, &[], text.as_bytes());
    outcome.assert_ok();
    assert_eq!(project.read("a.txt"), "1\n2\n3\n");
    assert_eq!(outcome.stdout.lines().filter(|line| line.starts_with("updated")).count(), 1);
}

#[test]
fn another_file_can_take_the_path_of_a_moved_file() {
    let project = Project::new(&[("a.txt", b"old\n")]);
    let text = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-old\n+moved\n\
                *** Add File: a.txt\n+new\n*** End Patch\n";
    patch(&project, &[], text.as_bytes()).assert_ok();
    assert_eq!((project.read("a.txt").as_str(), project.read("b.txt").as_str()), ("new\n", "moved\n"));
}

/// The tool of the agent writes through its workspace, with the same result.
#[test]
fn the_tool_of_the_agent_has_the_same_result() {
    let replaced = "*** Begin Patch\n*** Update File: tool.sh\n*** Move to: b\n@@\n-#!/bin/sh\n+moved\n\
                    *** Add File: tool.sh\n+new\n*** End Patch\n";
    for text in [SEVERAL, replaced] {
        let (by_hand, by_tool) = (several(), several());
        #[cfg(unix)]
        for project in [&by_hand, &by_tool] {
            set_mode(&project.path("tool.sh"), 0o750);
        }
        patch(&by_hand, &[], text.as_bytes()).assert_ok();
        by_tool.run(&["tools", "call", "apply_patch", &json!({"patch": text}).to_string()]).assert_ok();
        assert_eq!(by_tool.tree(), by_hand.tree());
        #[cfg(unix)]
        for project in [&by_hand, &by_tool] {
            let moved = ["bin/tool", "b"].map(|name| project.path(name)).into_iter().find(|path| path.exists());
            assert_eq!(mode(&moved.unwrap()), 0o750);
        }
        by_tool.run(&["undo"]).assert_ok();
        assert_eq!(by_tool.tree(), several().tree());
    }
}

#[test]
fn a_safe_patch_returns_the_latest_state() {
    let project = Project::new(&[("a.txt", b"one\ntwo\n")]);
    let state = |version: u64, content: &str| json!({"file_path": "a.txt", "version": version, "sha256": sha256(content), "content": content});
    let safe = |hash: &str, diff: &str| {
        let text = json!({"file_path": "a.txt", "unified_diff": diff, "base_content_sha256": hash});
        let outcome = patch(&project, &["--json"], text.to_string().as_bytes());
        (outcome.status, serde_json::from_str::<Value>(&outcome.stdout).unwrap())
    };
    let diff = "@@ -9 +9 @@\n-two\n+2\n";
    let (status, printed) = safe(&sha256("something else"), diff);
    assert_eq!((status, &printed["ok"], &printed["error"]["code"]), (1, &json!(false), &json!("stale")));
    assert_eq!(printed["error"]["message"], "State Mismatch: File has changed on disk since it was last read.");
    assert_eq!(printed["latest_file_state"], state(1, "one\ntwo\n"));
    let (status, printed) = safe(&sha256("one\ntwo\n"), "@@ -2 +2 @@\n-three\n+3\n");
    assert_eq!((status, &printed["error"]["code"]), (1, &json!("conflict")));
    let message = printed["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "Invalid Diff: The provided diff content does not match the file's content. The context or lines to be \
             removed may be incorrect.\na.txt: hunk 1 of 1"
        ),
        "{message}"
    );
    assert_eq!(printed["latest_file_state"], state(1, "one\ntwo\n"));
    assert_eq!(project.read("a.txt"), "one\ntwo\n");
    let (status, printed) = safe(&sha256("one\ntwo\n"), diff);
    assert_eq!((status, &printed["message"]), (0, &json!("Patch applied successfully.")));
    assert_eq!(printed["latest_file_state"], state(2, "one\n2\n"));
    assert_eq!(printed["diagnostics"][0]["code"], "wrong_line");
}

#[test]
fn a_safe_patch_creates_a_file_from_the_hash_of_nothing() {
    let project = Project::new(&[]);
    let diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";
    let text = json!({"file_path": "d/new.txt", "unified_diff": diff, "base_content_sha256": sha256("")});
    patch(&project, &[], text.to_string().as_bytes()).assert_ok();
    assert_eq!(project.tree(), [("d/new.txt".to_owned(), b"hello\n".to_vec())]);
}

#[test]
fn a_file_is_created_by_an_empty_old_string() {
    let project = Project::new(&[]);
    patch(&project, &[], br#"{"file_path": "a/b.txt", "old_string": "", "new_string": "x\n"}"#).assert_ok();
    assert_eq!(project.read("a/b.txt"), "x\n");
}

/// File modes in diffs of git are applied as `git apply` does.
#[cfg(unix)]
#[test]
fn mode_lines_of_git_diffs_are_applied() {
    let before: [(&str, &[u8]); 4] =
        [("on.sh", b"on\n"), ("off.sh", b"off\n"), ("edit.sh", b"one\n"), ("old.sh", b"1\n2\n3\n")];
    let after: [(&str, &[u8], u32); 6] = [
        ("on.sh", b"on\n", 0o755),
        ("off.sh", b"off\n", 0o644),
        ("edit.sh", b"ONE\n", 0o755),
        ("new.sh", b"new\n", 0o755),
        ("plain.txt", b"plain\n", 0o644),
        ("moved.sh", b"1\n2\n3\n", 0o755),
    ];
    let project = Project::new(&before);
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.fileMode=true"]).args(args);
        command.current_dir(project.path(".")).output()
    };
    if git(&["init", "-q"]).is_err() {
        println!("skipped: 1 cases (there is no git command)");
        return;
    }
    set_mode(&project.path("off.sh"), 0o755);
    for args in [&["add", "."][..], &["commit", "-qm", "before"]] {
        assert!(git(args).unwrap().status.success(), "{args:?}");
    }
    fs::remove_file(project.path("old.sh")).unwrap();
    for (path, content, mode) in after {
        fs::write(project.path(path), content).unwrap();
        set_mode(&project.path(path), mode);
    }
    assert!(git(&["add", "."]).unwrap().status.success());
    let diff = git(&["diff", "--cached", "-M"]).unwrap().stdout;
    let text = String::from_utf8_lossy(&diff);
    for line in ["new mode 100755", "new mode 100644", "new file mode 100755", "rename to moved.sh"] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
    assert!(git(&["reset", "-q", "--hard"]).unwrap().status.success());

    let checked = patch(&project, &["--format", "unified", "--check", "--json"], &diff);
    checked.assert_ok();
    assert_eq!(mode(&project.path("on.sh")) & 0o111, 0, "only checked");
    let outcome = patch(&project, &["--format", "unified", "--json"], &diff);
    outcome.assert_ok();
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let said = |path: &str| {
        let files = report["files"].as_array().unwrap();
        files.iter().find(|file| file["path"] == path).unwrap()["executable"].clone()
    };
    assert_eq!((said("on.sh"), said("off.sh"), said("plain.txt")), (json!(true), json!(false), Value::Null));
    for (path, content, mode_after) in after {
        assert_eq!(fs::read(project.path(path)).unwrap(), content, "{path}");
        assert_eq!(mode(&project.path(path)) & 0o111 != 0, mode_after & 0o111 != 0, "{path}");
    }
    assert!(!project.path("old.sh").exists());
    // Git sees no further change, so the modes equal those of `git apply`.
    assert!(git(&["add", "."]).unwrap().status.success());
    assert_eq!(git(&["diff", "--cached", "-M"]).unwrap().stdout, diff);

    // Everyone with read permission gets execute permission. Other bits do not change.
    set_mode(&project.path("on.sh"), 0o640);
    let again = b"diff --git a/on.sh b/on.sh\nold mode 100644\nnew mode 100755\n";
    let outcome = patch(&project, &["--format", "unified"], again);
    outcome.assert_ok();
    assert_eq!((mode(&project.path("on.sh")), outcome.stdout.as_str()), (0o750, "updated on.sh\n  mode: executable\n"));
    let link = b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+on.sh\n\\ No newline at end of file\n";
    let refused = patch(&project, &["--format", "unified"], link);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("mode 120000"), "{}", refused.stderr);
}

#[cfg(unix)]
#[test]
fn mode_bits_and_links_stay() {
    use std::os::unix::fs::symlink;
    let project = Project::new(&[("run.sh", b"one\n"), ("secret", b"one\n"), ("sub/target", b"one\n")]);
    set_mode(&project.path("run.sh"), 0o755);
    set_mode(&project.path("secret"), 0o600);
    symlink("sub/target", project.path("link")).unwrap();
    symlink("sub", project.path("directory")).unwrap();
    let update = |path: &str| format!("*** Update File: {path}\n@@\n-one\n+1\n");
    let text = format!(
        "*** Begin Patch\n{}{}*** Move to: moved\n@@\n-one\n+1\n{}*** Add File: directory/new\n+x\n*** End Patch\n",
        update("run.sh"),
        "*** Update File: secret\n",
        update("link"),
    );
    patch(&project, &[], text.as_bytes()).assert_ok();
    assert_eq!((mode(&project.path("run.sh")), mode(&project.path("moved"))), (0o755, 0o600));
    assert_eq!(project.read("sub/target"), "1\n");
    assert_eq!(fs::read_link(project.path("link")).unwrap(), Path::new("sub/target"));
    assert_eq!(fs::read_to_string(project.path("sub/new")).unwrap(), "x\n");
    assert!(!project.path("secret").exists());
}

#[test]
fn a_reversed_diff_of_git_is_applied() {
    let project = Project::new(&[("a.txt", b"omega\n")]);
    let patch = "diff --git b/a.txt a/a.txt\nindex 12..34 100644\n--- b/a.txt\n+++ a/a.txt\n@@ -1 +1 @@\n-omega\n+alpha\n\
                 diff --git b/n.txt a/n.txt\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ a/n.txt\n@@ -0,0 +1 @@\n+x\n";
    std::fs::write(project.path("r.patch"), patch).unwrap();
    let checked = project.run(&["patch", "--check", "r.patch"]);
    let expected =
        "would update a.txt\n  hunk 1: @@ -1 +1 @@\nwould create n.txt\n  hunk 1: @@ -0,0 +1 @@\nnothing was written\n";
    assert_eq!(checked.assert_ok().stdout, expected);
    project.run(&["patch", "r.patch"]).assert_ok();
    assert_eq!((project.read("a.txt"), project.read("n.txt")), ("alpha\n".to_owned(), "x\n".to_owned()));
}
