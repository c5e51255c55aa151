//! `emend diff` and `emend truncate`: exact output and exit status.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::patch::patch;
use crate::support::{Outcome, Project};

fn project() -> Project {
    Project::new(&[
        ("a.txt", b"one\ntwo\nthree\nfour\nfive\nsix\n"),
        ("b.txt", b"one\ntwo\nthree\n4\nfive\nsix"),
        ("bin", b"a\0b"),
        ("latin1", b"caf\xe9"),
    ])
}

#[track_caller]
fn check_diff(args: &[&str], status: i32, stdout: &str, stderr: &str) {
    let outcome = project().run(&[&["diff"], args].concat());
    assert_eq!((outcome.status, outcome.stdout.as_str()), (status, stdout), "{args:?}: {}", outcome.stderr);
    assert!(outcome.stderr.contains(stderr), "{args:?}: {}", outcome.stderr);
}

#[test]
fn files_are_the_same_or_differ_or_cannot_be_compared() {
    check_diff(&["a.txt", "a.txt"], 0, "", "");
    check_diff(
        &["a.txt", "b.txt", "-U", "1"],
        1,
        "--- a.txt\n+++ b.txt\n@@ -3,4 +3,4 @@\n three\n-four\n+4\n five\n-six\n+six\n\\ No newline at end of file\n",
        "",
    );
    check_diff(
        &["a.txt", "b.txt", "--unified", "0"],
        1,
        "--- a.txt\n+++ b.txt\n@@ -4 +4 @@\n-four\n+4\n@@ -6 +6 @@\n-six\n+six\n\\ No newline at end of file\n",
        "",
    );
    check_diff(&["a.txt", "absent"], 2, "", "absent");
    check_diff(&["bin", "a.txt"], 2, "", "bin: the file is binary");
    check_diff(&["a.txt", "latin1"], 2, "", "latin1: the file is not UTF-8");
    check_diff(&["a.txt"], 2, "", "required");
}

#[test]
fn emend_patch_applies_the_output_of_emend_diff() {
    let project = project();
    let printed = project.run(&["diff", "a.txt", "b.txt"]).stdout.replace("+++ b.txt", "+++ a.txt");
    patch(&project, &["--format", "unified"], printed.as_bytes()).assert_ok();
    assert_eq!(project.read("a.txt"), project.read("b.txt"));
}

/// Compares with `diff -u`, except for the times after the file names.
#[test]
fn the_output_equals_that_of_diff() {
    let project = project();
    let Ok(output) = Command::new("diff").args(["-u", "a.txt", "b.txt"]).current_dir(project.path(".")).output() else {
        println!("skipped: 1 cases (there is no diff command)");
        return;
    };
    let theirs = String::from_utf8(output.stdout).unwrap();
    let ours = project.run(&["diff", "a.txt", "b.txt"]).stdout;
    let hunks = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(hunks(&ours), hunks(&theirs));
    assert!(!hunks(&ours).is_empty());
}

fn truncate(tool: &str, text: &[u8]) -> Outcome {
    let project = Project::new(&[]);
    let mut command = project.command(&["truncate", "--tool", tool]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = text.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&text).unwrap());
    let outcome = Outcome::of(child.wait_with_output().unwrap());
    writer.join().unwrap();
    outcome
}

#[test]
fn truncate_prints_what_the_model_would_see() {
    assert_eq!(truncate("shell", b"short\r\nno newline").assert_ok().stdout, "short\r\nno newline");
    let lines: String = (1..=300).map(|n| format!("{n}\n")).collect();
    let head: String = (1..=128).map(|n| format!("{n}\n")).collect();
    let tail: String = (174..=300).map(|n| format!("{n}\n")).collect();
    let seen = truncate("shell", lines.as_bytes()).assert_ok().stdout.clone();
    assert_eq!(seen, format!("{head}[... 45 lines omitted ...]\n{tail}"));
    let seen = truncate("write_file", "é".repeat(1_005).as_bytes()).assert_ok().stdout.clone();
    assert_eq!(
        seen,
        format!(
            "[WARNING: Tool output was truncated. First 5 characters were removed. The full output is available in \
             the event stream.]\n\n{}",
            "é".repeat(1_000)
        )
    );
    let other = "x".repeat(30_001);
    assert!(truncate("some_tool", other.as_bytes()).stdout.contains("1 characters were removed from the middle"));
}

#[test]
fn truncate_reads_only_text() {
    let outcome = truncate("shell", b"ab\xff");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""));
    assert!(outcome.stderr.contains("[unsupported]") && outcome.stderr.contains("offset 2"), "{}", outcome.stderr);
    let outcome = Project::new(&[]).run(&["truncate"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("--tool"), "{}", outcome.stderr);
}
