//! Command lines whose effect bash shows, against the rules that should stop them.
//!
//! Each line runs in a directory of its own. No line with the effect may pass the rules without a question.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use emend_agent::approval::{Action, Policy, Rule, Target, ToolEffect};

/// A program that records a call with the subcommand `push`.
const RECORDER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    -C|-c) shift 2 ;;
    -*) shift ;;
    push) touch "$PUSHED"; exit ;;
    *) exit ;;
  esac
done
"#;

/// Returns the paragraphs of a corpus, without its introduction.
fn paragraphs(corpus: &str) -> Vec<String> {
    corpus.split("\n\n").skip(1).map(|text| text.trim_end_matches('\n').to_owned()).collect()
}

fn policy(rules: &[(Action, &str)]) -> Policy {
    let rules = rules.iter().map(|(action, text)| Rule::parse(*action, text).unwrap());
    Policy { rules: rules.collect(), otherwise: Action::Ask }
}

fn verdict(policy: &Policy, line: &str) -> Action {
    let target = Target { command: Some(line.to_owned()), ..Target::default() };
    policy.decide(&["shell"], ToolEffect::Runs, &target).action
}

/// Runs a line with bash, and returns whether it made `pwn` and whether it pushed.
fn effects(programs: &Path, line: &str) -> (bool, bool) {
    let scratch = tempfile::tempdir().unwrap();
    // The names that patterns of file names can turn into.
    for name in ["push", "a.txt"] {
        fs::write(scratch.path().join(name), "").unwrap();
    }
    let pushed = scratch.path().join(".pushed");
    let mut command = Command::new("timeout");
    command.args(["10", "bash", "-c", line]).current_dir(scratch.path()).env_clear();
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).env("PUSHED", &pushed);
    command.env("HOME", scratch.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap();
    (scratch.path().join("pwn").exists(), pushed.exists())
}

fn programs() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["git", "cargo"] {
        let path = directory.path().join(name);
        fs::write(&path, RECORDER).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

#[test]
fn no_command_has_an_effect_that_the_rules_should_stop() {
    let programs = programs();
    let allowed = ["echo *", "printf *", "git log *", "cargo *", "ls *"].map(|pattern| format!("shell:{pattern}"));
    let narrow: Vec<(Action, &str)> = allowed.iter().map(|rule| (Action::Allow, rule.as_str())).collect();
    let narrow = policy(&narrow);
    let guarded = policy(&[(Action::Deny, "shell:git push *"), (Action::Allow, "shell")]);
    let (mut n_lines, mut counts) = (0, BTreeMap::new());
    let mut count = |what: &'static str| *counts.entry(what).or_insert(0) += 1;

    for form in paragraphs(include_str!("effects.txt")) {
        for carrier in ["echo", "printf", "ls"] {
            let line = form.replace("CMD", carrier);
            let (is_allowed, (has_effect, _)) =
                (verdict(&narrow, &line) == Action::Allow, effects(programs.path(), &line));
            assert!(!(is_allowed && has_effect), "runs unasked and makes the file: {line:?}");
            n_lines += 1;
            count(if has_effect { "effect, stopped" } else { "no effect, of the hidden forms" });
        }
    }
    for line in paragraphs(include_str!("pushes.txt")) {
        let (decided, (_, has_pushed)) = (verdict(&guarded, &line), effects(programs.path(), &line));
        assert!(decided != Action::Allow || !has_pushed, "pushes unasked: {line:?}");
        n_lines += 1;
        count(match (has_pushed, decided) {
            (true, Action::Deny) => "push, refused",
            (true, _) => "push, asked about",
            (false, _) => "no push, of the hidden forms",
        });
    }
    for line in include_str!("harmless.txt").lines().filter(|line| !line.starts_with('#')) {
        assert_eq!(effects(programs.path(), line), (false, false), "{line:?}");
        assert_eq!(verdict(&narrow, line), Action::Allow, "{line:?}");
        assert_eq!(
            verdict(&policy(&[(Action::Deny, "shell:rm *"), (Action::Allow, "shell")]), line),
            Action::Allow,
            "{line:?}"
        );
        n_lines += 1;
        count("harmless, unasked");
    }
    println!("{n_lines} command lines: {counts:?}");
    assert!(n_lines >= 300 && counts["harmless, unasked"] >= 60 && counts["effect, stopped"] >= 200, "{counts:?}");
    assert!(counts["push, refused"] >= 50, "{counts:?}");
}
