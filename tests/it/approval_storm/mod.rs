//! Command lines whose effect bash shows, against the rules that should stop them.
//!
//! Each line runs in a directory of its own. No line with the effect may pass the rules without a question.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use emend_agent::approval::{Action, Policy, Rule, Target, ToolEffect};
use emend_host::read_command;

/// A program that records a call with the subcommand `push`. The real git expands other subcommands of `git`.
const RECORDER: &str = r#"#!/bin/sh
pushes() {
  while [ $# -gt 0 ]; do
    case "$1" in
      -C|-c) shift 2 ;;
      -*) shift ;;
      push) return ;;
      *) return 1 ;;
    esac
  done
  return 1
}
if pushes "$@"; then touch "$PUSHED"
else case "$0" in *git) /usr/bin/git init -q .; GIT_TRACE="$PUSHED.trace" exec /usr/bin/git "$@" ;; esac
fi
"#;

/// A program in place of `ssh` and `docker exec`: it runs the command line, or else its standard input, as the other
/// machine would.
const OTHER_MACHINE: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ] || [ "$1" = exec ]; do
  case "$1" in -p|-o|-l) shift ;; esac
  shift
done
shift
if [ $# -gt 0 ]; then exec sh -c "$*"; else exec sh; fi
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
    let target = Target { command: Some(line.to_owned()), reading: read_command(line), ..Target::default() };
    policy.decide(&["shell"], ToolEffect::Runs, &target).action
}

/// Effects of a line.
#[derive(Debug, Default, PartialEq)]
struct Effects {
    /// Whether it made the file `pwn`.
    has_made: bool,
    /// Whether it called `git push`.
    has_pushed: bool,
    /// Whether it removed the directory `d`.
    has_removed: bool,
}

/// Runs a line with bash.
fn effects(programs: &Path, line: &str) -> Effects {
    let scratch = tempfile::tempdir().unwrap();
    // The names that patterns of file names can turn into.
    for name in ["push", "a.txt"] {
        fs::write(scratch.path().join(name), "").unwrap();
    }
    let removed = scratch.path().join("d");
    fs::create_dir(&removed).unwrap();
    let pushed = scratch.path().join(".pushed");
    let mut command = Command::new("timeout");
    command.args(["10", "bash", "-c", line]).current_dir(scratch.path()).env_clear();
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).env("PUSHED", &pushed);
    command.env("HOME", scratch.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap();
    let trace = fs::read_to_string(scratch.path().join(".pushed.trace")).unwrap_or_default();
    Effects {
        has_made: scratch.path().join("pwn").exists(),
        has_pushed: pushed.exists() || trace.contains("built-in: git push"),
        has_removed: !removed.exists(),
    }
}

fn programs() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, program) in [("git", RECORDER), ("cargo", RECORDER), ("ssh", OTHER_MACHINE), ("docker", OTHER_MACHINE)] {
        let path = directory.path().join(name);
        fs::write(&path, program).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

/// Checks that a line with the guarded effect does not pass a rule against it, and returns the name of the outcome.
fn guard(pattern: &str, line: &str, has_effect: bool) -> &'static str {
    let decided = verdict(&policy(&[(Action::Deny, &format!("shell:{pattern}")), (Action::Allow, "shell")]), line);
    assert!(decided != Action::Allow || !has_effect, "passes the rule `{pattern}` unasked: {line:?}");
    match (has_effect, decided) {
        (true, Action::Deny) => "guarded, refused",
        (true, _) => "guarded, asked about",
        (false, _) => "guarded, no effect, of the hidden forms",
    }
}

#[test]
fn no_command_has_an_effect_that_the_rules_should_stop() {
    let programs = programs();
    let allowed = ["echo *", "printf *", "git log *", "cargo *", "ls *"].map(|pattern| format!("shell:{pattern}"));
    let narrow: Vec<(Action, &str)> = allowed.iter().map(|rule| (Action::Allow, rule.as_str())).collect();
    let narrow = policy(&narrow);
    let (mut n_lines, mut counts) = (0, BTreeMap::new());
    let mut count = |what: &'static str| *counts.entry(what).or_insert(0) += 1;

    for form in paragraphs(include_str!("effects.txt")) {
        for carrier in ["echo", "printf", "ls"] {
            let line = form.replace("CMD", carrier);
            let is_allowed = verdict(&narrow, &line) == Action::Allow;
            let has_effect = effects(programs.path(), &line).has_made;
            assert!(!(is_allowed && has_effect), "runs unasked and makes the file: {line:?}");
            n_lines += 1;
            count(if has_effect { "effect, stopped" } else { "no effect, of the hidden forms" });
        }
    }
    for line in paragraphs(include_str!("pushes.txt")) {
        n_lines += 1;
        count(guard("git push *", &line, effects(programs.path(), &line).has_pushed));
    }
    for line in paragraphs(include_str!("removals.txt")) {
        n_lines += 1;
        count(guard("rm -rf *", &line, effects(programs.path(), &line).has_removed));
    }
    for line in include_str!("harmless.txt").lines().filter(|line| !line.starts_with('#')) {
        assert_eq!(effects(programs.path(), line), Effects::default(), "{line:?}");
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
    assert!(counts["guarded, refused"] >= 80 && counts["guarded, asked about"] >= 30, "{counts:?}");
}

/// Rules under which a command that a line disguises would not be noticed.
fn innocent() -> Policy {
    let programs = "echo printf ls cat sleep test [ read x f".split(' ').map(|name| format!("shell:{name} *"));
    let rules: Vec<String> = programs.collect();
    policy(&rules.iter().map(|rule| (Action::Allow, rule.as_str())).collect::<Vec<_>>())
}

#[test]
fn each_command_of_a_line_that_can_be_read_is_decided() {
    let programs = programs();
    let no_push = policy(&[(Action::Deny, "shell:git push *"), (Action::Allow, "shell")]);
    let forms = paragraphs(include_str!("readable.txt"));
    for form in &forms {
        let with = |command: &str| form.replace("CMD", command);
        for harmless in ["echo hi", "ls -a"] {
            assert_eq!(effects(programs.path(), &with(harmless)), Effects::default(), "{form}");
            assert_eq!(verdict(&innocent(), &with(harmless)), Action::Allow, "{form}");
            assert_eq!(verdict(&no_push, &with(harmless)), Action::Allow, "{form}");
        }
        assert!(effects(programs.path(), &with("touch pwn")).has_made, "{form}");
        assert_ne!(verdict(&innocent(), &with("touch pwn")), Action::Allow, "{form}");
        assert!(effects(programs.path(), &with("git push")).has_pushed, "{form}");
        assert_eq!(verdict(&no_push, &with("git push")), Action::Deny, "{form}");
    }
    println!("{} forms of lines, with four commands each", forms.len());
    assert!(forms.len() >= 60);
}

#[test]
fn no_disguise_hides_a_command_from_the_rules() {
    let programs = programs();
    let (mut n_stopped, mut n_guarded, mut passed) = (0, 0, Vec::new());
    let forms = paragraphs(include_str!("attacks.txt"));
    for form in &forms {
        let line = form.replace("EVIL", "touch pwn");
        let has_effect = effects(programs.path(), &line).has_made;
        n_stopped += usize::from(has_effect);
        if has_effect && verdict(&innocent(), &line) == Action::Allow {
            passed.push(line);
        }
        let line = form.replace("EVIL", "git push");
        let no_push = policy(&[(Action::Deny, "shell:git push *"), (Action::Allow, "shell")]);
        let has_effect = effects(programs.path(), &line).has_pushed;
        n_guarded += usize::from(has_effect);
        if has_effect && verdict(&no_push, &line) == Action::Allow {
            passed.push(line);
        }
    }
    println!("{} disguises: {n_stopped} make a file and {n_guarded} push; {} pass", forms.len(), passed.len());
    assert!(passed.is_empty(), "{passed:#?}");
    assert!(n_stopped >= 100 && n_guarded >= 100);
}
