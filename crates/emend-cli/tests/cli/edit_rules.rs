//! Rules for all tools that change files, warnings about rules for one of them, and refusals without a terminal.

use std::fs;

use serde_json::{Value, json};

use crate::support::Project;

fn project() -> Project {
    Project::new(&[("docs/a.md", b"alpha\n"), ("src/b.md", b"beta\n")])
}

/// Calls of every editing tool that change `docs`.
fn edits() -> Vec<(&'static str, Value)> {
    let patch = |text: &str| json!({ "patch": format!("*** Begin Patch\n{text}\n*** End Patch") });
    vec![
        ("read_file", json!({"file_path": "docs/a.md"})),
        ("read_file", json!({"file_path": "src/b.md"})),
        ("edit_file", json!({"file_path": "docs/a.md", "old_string": "alpha", "new_string": "X"})),
        ("write_file", json!({"file_path": "docs/a.md", "content": "X\n"})),
        ("write_file", json!({"file_path": "docs/new/c.md", "content": "X\n"})),
        ("apply_patch", patch("*** Update File: docs/a.md\n@@\n-alpha\n+X")),
        ("apply_patch", patch("*** Delete File: docs/a.md")),
        ("move_file", json!({"from": "docs/a.md", "to": "src/a.md"})),
        ("move_file", json!({"from": "src/b.md", "to": "docs/b.md"})),
    ]
}

#[test]
fn a_rule_for_edits_holds_for_every_tool_that_changes_files() {
    for rule in ["edit:docs/*", "edit:docs/**", "edit:docs/", "edit"] {
        let project = project();
        let before = project.tree();
        let outcome = project.run_calls(&edits(), &["--deny", rule]);
        assert_eq!(project.tree(), before, "{rule}: {}", outcome.stdout);
        assert!(outcome.stdout.contains("alpha"), "reading is allowed: {}", outcome.stdout);
        assert!(!outcome.stderr.contains("is about"), "{}", outcome.stderr);
    }
    for call in &edits()[2..] {
        let project = project();
        let before = project.tree();
        let reads = edits().into_iter().take(2);
        let calls: Vec<_> = reads.chain([call.clone()]).collect();
        project.run_calls(&calls, &[]);
        assert_ne!(project.tree(), before, "without the rule {call:?} changes files");
    }
}

#[test]
fn a_rule_for_one_editing_tool_names_the_rule_for_all() {
    let project = project();
    let warned = |args: &[&str]| project.run(&[&["run", "rename x to y"][..], args].concat()).stderr;
    let stderr = warned(&["--deny", "edit_file:docs/*"]);
    let warning = "--deny: the rule `deny edit_file:docs/*` is about edit_file alone; other tools can change docs/*. For \
                   all of them: --deny 'edit:docs/*'";
    assert!(stderr.contains(warning), "{stderr}");
    assert!(warned(&["--ask", "write_file"]).contains("For all of them: --ask 'edit'"));
    assert!(warned(&["--deny", "Edit:a"]).contains("is about Edit alone"), "a name of one model family");
    for args in [
        &["--deny", "edit:docs/*"][..],
        &["--deny", "edit_file:docs/*", "--deny", "edit:docs/*"],
        &["--deny", "edit_file:docs/*", "--deny", "edit"],
        &["--deny", "edit_file:docs/*", "--deny", "*:docs/*"],
        &["--deny", "read_file:docs/*"],
        &["--deny", "shell:rm *"],
        &["--allow", "edit_file:docs/*"],
    ] {
        assert!(!warned(args).contains("alone"), "{args:?}: {}", warned(args));
    }
    fs::write(project.path(".emend.toml"), "deny = [\"move_file:docs/**\"]\n").unwrap();
    let stderr = warned(&[]);
    assert!(stderr.contains(".emend.toml: the rule `deny move_file:docs/**` is about move_file alone"), "{stderr}");
}

#[test]
fn a_rule_with_the_name_of_one_profile_holds_in_every_profile() {
    for profile in ["none", "openai", "anthropic", "gemini"] {
        for tool in ["shell", "Bash", "exec_command", "run_shell_command"] {
            let project = Project::new(&[(".env", b"KEY=hunter2\n")]);
            let rule = format!("{tool}:touch *");
            let args = ["run", "--profile", profile, "--allow", "shell", "--deny", &rule, "run touch made"];
            let outcome = project.run(&args);
            assert!(!project.path("made").exists(), "{profile} {rule}: {}", outcome.stderr);
        }
        for (tool, is_read) in [("read_file", false), ("Read", false), ("write_file", true)] {
            let project = Project::new(&[("secret.txt", b"hunter\n")]);
            let rule = format!("{tool}:secret.txt");
            let outcome = project.run(&["run", "--profile", profile, "--deny", &rule, "rename hunter to found"]);
            assert_eq!(project.read("secret.txt") == "found\n", is_read, "{profile} {rule}: {}", outcome.stderr);
        }
    }
}

#[test]
fn a_project_that_is_read_only_says_where_that_is_set() {
    let project = project();
    fs::write(project.path(".emend.toml"), "read_only = true\n").unwrap();
    let outcome = project.run(&["run", "rename alpha to omega"]);
    let note = ".emend.toml: read_only is set, so the agent cannot edit files or run commands";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    let answer = "I cannot do that without edit_file, which this session does not offer.";
    assert!(outcome.stdout.contains(answer), "{}", outcome.stdout);
}

#[test]
fn a_call_that_was_refused_because_nobody_could_be_asked_is_a_failure() {
    let project = project();
    for output in ["text", "json", "stream-json"] {
        assert_eq!(project.run(&["run", "run echo hi", "--output", output]).status, 1, "{output}");
        project.run(&["run", "run echo hi", "--output", output, "--allow", "shell"]).assert_ok();
        // The user decided before, so nothing is left to ask.
        project.run(&["run", "run echo hi", "--output", output, "--deny", "shell"]).assert_ok();
    }
    assert_eq!(project.run(&["run", "rename alpha to omega", "--ask", "edit"]).status, 1);
    assert_eq!(project.read("docs/a.md"), "alpha\n");
}
