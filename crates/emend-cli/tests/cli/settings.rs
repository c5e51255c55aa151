//! Settings: precedence of the sources, limits of project files, and errors.

use crate::support::{Outcome, Project};

fn project(own: &str, of_project: &str) -> Project {
    Project::new(&[
        ("a.txt", b"alpha\n"),
        ("config/emend/config.toml", own.as_bytes()),
        (".emend.toml", of_project.as_bytes()),
    ])
}

fn run(project: &Project, args: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let mut command = project.command(args);
    command.env("XDG_CONFIG_HOME", project.path("config")).envs(variables.iter().copied());
    Outcome::of(command.output().unwrap())
}

#[test]
fn flags_win_over_the_environment_over_the_project_over_the_user() {
    let project = project(
        "model = \"anthropic:from-file\"\neffort = \"low\"\nprofile = \"gemini\"\nallow = [\"shell:cargo *\"]\nweb = true\n",
        "effort = \"high\"\nprofile = \"openai\"\nreview = true\nask = [\"write_file\"]\ndeny = [\"shell:rm *\"]\n",
    );
    let outcome = run(&project, &["config", "--profile", "none", "--deny", "web_fetch"], &[("EMEND_EFFORT", "max")]);
    let shown = outcome.assert_ok().stdout.replace(project.root.path().to_str().unwrap(), "ROOT");
    expect_test::expect![[r#"
        model          anthropic:from-file  ROOT/config/emend/config.toml
        effort         max                  EMEND_EFFORT
        profile        none                 --profile
        edits          -                    default
        subagents      false                default
        review         true                 ./.emend.toml
        allow          shell:cargo *        ROOT/config/emend/config.toml
        ask            write_file           ./.emend.toml
        deny           shell:rm *           ./.emend.toml
        deny           web_fetch            --deny
        sandbox        false                default
        web            true                 ROOT/config/emend/config.toml

        your file     ROOT/config/emend/config.toml
        project file  ./.emend.toml
    "#]]
    .assert_eq(&shown);
    let outcome = run(&project, &["config", "--json"], &[("EMEND_WEB", "0"), ("EMEND_ALLOW", "shell:a\nshell:b")]);
    let lines: Vec<serde_json::Value> =
        outcome.assert_ok().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| lines.iter().filter(|line| line["name"] == name).collect::<Vec<_>>();
    assert_eq!((&of("web")[0]["value"], of("web")[0]["source"].as_str()), (&false.into(), Some("EMEND_WEB")));
    assert_eq!(of("allow").len(), 3);
}

#[test]
fn a_project_file_can_restrict_the_agent_and_not_give_it_more_rights() {
    let project = project("", "deny = [\"edit_file\"]\n");
    let outcome = run(&project, &["run", "rename alpha to omega", "--allow", "edit_file"], &[]);
    assert!(outcome.assert_ok().stdout.contains("The user's rules do not allow"), "{}", outcome.stdout);
    assert_eq!(project.read("a.txt"), "alpha\n");
    for text in ["allow = [\"shell\"]", "model = \"anthropic:m\"", "web = true", "review = false"] {
        std::fs::write(project.path(".emend.toml"), text).unwrap();
        let outcome = run(&project, &["run", "run touch x"], &[]);
        assert_eq!(outcome.status, 3, "{text}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(".emend.toml: a project file can"), "{text}: {}", outcome.stderr);
        assert!(!project.path("x").exists());
    }
}

#[test]
fn errors_name_unknown_settings_and_invalid_values() {
    #[track_caller]
    fn check(own: &str, variables: &[(&str, &str)], expected: &str) {
        let outcome = run(&project(own, ""), &["config"], variables);
        assert_eq!((outcome.status, outcome.stderr.contains(expected)), (3, true), "{}", outcome.stderr);
    }
    check("modle = \"offline\"", &[], "unknown setting \"modle\"; did you mean \"model\"?");
    check("openai_api_key = \"sk\"", &[], "API keys are read from environment variables only");
    check("model = \"nobody:m\"", &[], "model: unknown provider \"nobody\"");
    check("model = ", &[], "config.toml: TOML parse error at line 1");
    check("", &[("EMEND_REVIEW", "perhaps")], "EMEND_REVIEW: review: expected true or false, not \"perhaps\"");
}

#[cfg(unix)]
#[test]
fn a_fifo_as_settings_file_is_refused_without_blocking() {
    let project = Project::new(&[("a.txt", b"alpha\n")]);
    let pipe = project.path(".emend.toml");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let outcome = run(&project, &["run", "rename alpha to omega"], &[]);
    assert_eq!((outcome.status, outcome.stderr.contains("not a regular file")), (3, true), "{}", outcome.stderr);
}
