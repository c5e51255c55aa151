//! Tests of the decisions of rules.

use super::policy::COMMAND_TOOLS;
use super::*;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

pub(super) fn policy(rules: &[(Action, &str)], otherwise: Action) -> Policy {
    let rules = rules.iter().map(|(action, text)| Rule::parse(*action, text).unwrap()).collect();
    Policy { rules, otherwise }
}

/// Returns the target of a command without quotes and operators.
fn command(text: &str) -> Target {
    let words = text.split(' ').map(str::to_owned).collect();
    let command = SimpleCommand { text: text.to_owned(), runs: vec![words], is_plain: true, hides: false };
    let reading = Some(CommandLine { commands: vec![command] });
    Target { command: Some(text.to_owned()), reading, ..Target::default() }
}

pub(super) fn paths(paths: &[&str]) -> Target {
    Target { paths: paths.iter().map(|path| (*path).to_owned()).collect(), ..Target::default() }
}

use Action::{Allow, Ask, Deny};

#[test]
fn a_reading_is_decoded() {
    let check = |text: &str, expected: &[(&str, &[&[&str]], bool, bool)]| {
        let commands = expected.iter().map(|(text, runs, is_plain, hides)| SimpleCommand {
            text: (*text).to_owned(),
            runs: runs.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect(),
            is_plain: *is_plain,
            hides: *hides,
        });
        assert_eq!(CommandLine::decode(text), Some(CommandLine { commands: commands.collect() }), "{text:?}");
    };
    check("", &[]);
    check("p\u{1f}git 'log'\u{1f}git\u{1f}log", &[("git 'log'", &[&["git", "log"]], true, false)]);
    check(
        "h\u{1f}sh -c a\u{1f}sh\u{1f}-c\u{1f}a\u{1d}a\u{1e}\u{1f}> b\u{1f}\u{1e}ph\u{1f}c\u{1f}c",
        &[
            ("sh -c a", &[&["sh", "-c", "a"], &["a"]], false, true),
            ("> b", &[&[""]], false, false),
            ("c", &[&["c"]], true, true),
        ],
    );
    assert_eq!(CommandLine::decode("p"), None);
    assert_eq!(CommandLine::decode("p\u{1f}a"), None);
}

#[test]
fn an_opaque_line_is_stopped_by_every_rule_that_stops_commands() {
    let opaque = |line: &str| Target { command: Some(line.to_owned()), ..Target::default() };
    let policy = |rule: &str, action| policy(&[(action, rule), (Allow, "shell:*"), (Allow, "shell")], Ask);
    for (line, expected) in
        [("git log", Ask), ("git push", Deny), ("gi't' \\\npu\"sh\"", Deny), ("(git -C a push)", Deny)]
    {
        check(&policy("shell:git push *", Deny), &["shell"], &opaque(line), expected);
    }
    check(&policy("shell:git push *", Ask), &["shell"], &opaque("ls"), Ask);
    // A rule for another tool, and one without a pattern.
    check(&policy("edit_file:a", Deny), &["shell"], &opaque("ls"), Allow);
    check(&policy("edit_file", Deny), &["shell"], &opaque("ls"), Allow);
    check(&super::tests::policy(&[(Allow, "shell:*")], Ask), &["shell"], &opaque("ls"), Ask);
    check(&super::tests::policy(&[(Allow, "shell:*")], Ask), &["shell"], &command("ls"), Allow);
    // A line without commands.
    let nothing = Target { reading: Some(CommandLine::default()), ..opaque("# a") };
    check(&super::tests::policy(&[(Allow, "shell:*")], Ask), &["shell"], &nothing, Ask);
}

#[test]
fn a_line_is_read_only_for_rules_with_patterns() {
    let reads = |rules: &[(Action, &str)]| policy(rules, Allow).reads_commands(&["Bash", "shell"], ToolEffect::Runs);
    assert!(reads(&[(Deny, "Bash:a")]) && reads(&[(Allow, "*:a")]) && reads(&[(Ask, "shell"), (Allow, "shell:a")]));
    assert!(!reads(&[]) && !reads(&[(Ask, "shell"), (Deny, "*"), (Deny, "edit_file:a")]));
}

#[test]
fn a_question_mark_is_one_character() {
    for (pattern, line, is_match) in [
        ("g?t", "git", true),
        ("g?t", "güt", true),
        ("g?t", "gt", false),
        ("?it ?", "git a", true),
        ("g?t", "giit", false),
        ("*?b", "ab", true),
        ("*?b", "b", false),
        ("a*b*c", "abbc", true),
        ("a*b*c", "acb", false),
    ] {
        assert_eq!(super::command_match::covers(pattern, line), is_match, "{pattern} {line}");
    }
}

#[track_caller]
pub(super) fn check(policy: &Policy, names: &[&str], target: &Target, expected: Action) {
    assert_eq!(policy.decide(names, ToolEffect::Writes, target).action, expected, "{target:?}");
}

#[test]
fn the_first_rule_wins_and_the_strictest_part() {
    covers("approval.policy");
    let policy = policy(
        &[(Deny, "*:secrets/**"), (Deny, "*:.env"), (Allow, "edit_file:src/**"), (Ask, "edit_file"), (Allow, "*")],
        Deny,
    );
    check(&policy, &["edit_file"], &paths(&["src/a.rs"]), Allow);
    check(&policy, &["edit_file"], &paths(&["docs/a.md"]), Ask);
    check(&policy, &["edit_file"], &paths(&["src/a.rs", "docs/a.md"]), Ask);
    check(&policy, &["edit_file"], &paths(&["src/a.rs", "secrets/key"]), Deny);
    check(&policy, &["read_file"], &paths(&["deep/.env"]), Deny);
    check(&policy, &["clarify_user"], &Target::default(), Allow);
    let verdict = policy.decide(&["read_file"], ToolEffect::Reads, &paths(&["secrets/a"]));
    assert_eq!(verdict, Verdict { action: Deny, rule: Some("*:secrets/**".to_owned()) });
    let verdict = Policy::default().decide(&["shell"], ToolEffect::Runs, &command("rm"));
    assert_eq!(verdict, Verdict { action: Allow, rule: None });
}

#[test]
fn tools_go_by_any_of_their_names_and_patches_by_what_they_are() {
    let policy = policy(&[(Deny, "apply_patch"), (Allow, "Bash")], Ask);
    check(&policy, &["Bash", "shell"], &command("ls"), Allow);
    let patch = Target { tool: Some(("apply_patch", ToolEffect::Writes)), ..paths(&["a"]) };
    check(&policy, &["Bash", "shell"], &patch, Deny);
}

#[test]
fn a_rule_may_name_an_effect_in_the_place_of_a_tool() {
    covers("approval.policy");
    let policy = policy(&[(Deny, "edit:docs/*"), (Deny, "read:.env"), (Ask, "run")], Allow);
    let decide = |tool: &str, effect, target: &Target| policy.decide(&[tool], effect, target).action;
    for tool in ["edit_file", "write_file", "apply_patch", "move_file", "edit_lines", "an embedder's"] {
        assert_eq!(decide(tool, ToolEffect::Writes, &paths(&["docs/a.md"])), Deny, "{tool}");
        assert_eq!(decide(tool, ToolEffect::Writes, &paths(&["docs/sub/a.md"])), Deny, "{tool}");
        assert_eq!(decide(tool, ToolEffect::Writes, &paths(&["src/a.rs"])), Allow, "{tool}");
    }
    // A move out of the directory or into it.
    assert_eq!(decide("move_file", ToolEffect::Writes, &paths(&["docs/a.md", "b.md"])), Deny);
    assert_eq!(decide("move_file", ToolEffect::Writes, &paths(&["b.md", "docs/a.md"])), Deny);
    assert_eq!(decide("read_file", ToolEffect::Reads, &paths(&["docs/a.md"])), Allow);
    assert_eq!(decide("shell", ToolEffect::Runs, &command("make")), Ask);
    assert!(policy.hidden("Read").hides(".env") && !policy.hidden("Read").hides("docs/a.md"));
    assert_eq!(policy.hidden("Read").first_rule().as_deref(), Some("read:.env"));
    // An embedder's own tool may have such a name.
    assert_eq!(decide("edit", ToolEffect::Reads, &paths(&["docs/a.md"])), Deny);
}

#[test]
fn a_rule_is_for_a_tool_or_for_an_effect() {
    for (text, is_for_effect) in
        [("edit", true), ("edit:docs/", true), ("edit_file", false), ("shell:edit", false), ("*", false)]
    {
        assert_eq!(Rule::parse(Allow, text).unwrap().is_for_effect(), is_for_effect, "{text}");
    }
}

#[test]
fn a_line_without_commands_is_decided_like_one_that_cannot_be_read() {
    for reading in [None, Some(CommandLine { commands: Vec::new() })] {
        let line = Target { command: Some("# make".to_owned()), reading, ..Target::default() };
        for otherwise in [Ask, Deny] {
            let policy = policy(&[(Allow, "shell:make *")], otherwise);
            assert_eq!(policy.decide(&["shell"], ToolEffect::Runs, &line).action, otherwise);
        }
    }
}

#[test]
fn malformed_rules_are_refused() {
    for (text, expected) in [("", "names no tool"), (":x", "names no tool"), ("shell:", "has an empty pattern")] {
        let error = Rule::parse(Allow, text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let error = Rule::parse(Deny, "*:[[").unwrap_err();
    assert_eq!((error.code().as_str(), error.to_string().contains("can never match")), ("invalid_argument", true));
    for tool in COMMAND_TOOLS {
        assert!(Rule::new(Deny, tool, Some("test [[")).is_ok());
    }
    assert_eq!(Rule::parse(Allow, "shell:curl http://x").unwrap().text(), "shell:curl http://x");
}

#[test]
fn rules_that_deny_a_path_hide_it() {
    covers("approval.hidden");
    let check = |rules: &[(Action, &str)], hidden: &[&str], shown: &[&str]| {
        let found = policy(rules, Allow).hidden("Read");
        let hides = |paths: &[&str]| paths.iter().map(|path| found.hides(path)).collect::<Vec<_>>();
        assert_eq!((hides(hidden), hides(shown)), (vec![true; hidden.len()], vec![false; shown.len()]), "{rules:?}");
        assert!(hidden.is_empty() || !found.is_empty(), "{rules:?}");
    };
    check(&[(Deny, "*:secrets/**")], &["secrets/a", "secrets/b/c"], &["a", "src/secrets/a", ""]);
    check(&[(Deny, "*:secrets")], &["secrets", "secrets/a", "src/secrets/a/b"], &["secrets.txt", "a/b"]);
    check(&[(Deny, "*:secrets/")], &["secrets/a"], &["a"]);
    check(&[(Deny, "read_file:*.pem")], &["a.pem", "src/b.pem"], &["a.rs"]);
    check(&[(Deny, "Read:.env")], &[".env", "a/.env"], &["env"]);
    check(&[(Deny, "*:!src/**")], &["a"], &["src/a"]);
    check(&[(Allow, "read_file:s/a"), (Deny, "*:s/**")], &["s/b"], &["s/a"]);
    check(&[(Allow, "read_file"), (Deny, "*:s/**")], &[], &["s/b"]);
    // Rules about other tools, about calls, and about commands hide nothing.
    check(&[(Deny, "edit_file:a"), (Deny, "read_file"), (Ask, "*:a"), (Deny, "shell:a")], &[], &["a"]);
    check(&[(Deny, "read_file"), (Deny, "*:a")], &["a"], &["b"]);
    assert!(policy(&[(Deny, "edit_file:a"), (Deny, "read_file"), (Ask, "*:a")], Allow).hidden("Read").is_empty());
}

#[test]
fn names_without_case_match_in_every_case() {
    covers("approval.hidden");
    let rules = [(Deny, "*:Secrets/**"), (Allow, "edit_file:docs/Ä.md"), (Ask, "edit_file"), (Deny, "shell:Rm *")];
    let exact = policy(&rules, Allow);
    let folded = exact.ignoring_case();
    for (path, in_exact, in_folded) in
        [("Secrets/a", Deny, Deny), ("sECRETS/A", Ask, Deny), ("DOCS/ä.MD", Ask, Allow), ("docs/b.md", Ask, Ask)]
    {
        check(&exact, &["edit_file"], &paths(&[path]), in_exact);
        check(&folded, &["edit_file"], &paths(&[path]), in_folded);
        assert_eq!(folded.hidden("Read").hides(path), in_folded == Deny, "{path}");
    }
    // Commands have a case, and a rule is shown as it was written.
    check(&folded, &["shell"], &command("rm a"), Allow);
    check(&folded, &["shell"], &command("Rm a"), Deny);
    assert_eq!(folded.rules[0].text(), "*:Secrets/**");
}

#[test]
fn files_with_secrets_are_hidden_unless_a_rule_shows_them() {
    #[track_caller]
    fn check(rules: &[(Action, &str)], path: &str, is_hidden: bool) {
        let rules = rules.iter().map(|(action, text)| Rule::parse(*action, text).unwrap()).collect();
        let policy = Policy { rules, otherwise: Action::Allow }.hiding_secrets();
        let hidden = policy.hidden("Read");
        assert_eq!(hidden.hides(path), is_hidden, "{path}");
        let target = Target { paths: vec![path.to_owned()], ..Target::default() };
        let action = policy.decide(&["read_file", "Read"], ToolEffect::Reads, &target).action;
        assert_eq!(action == Action::Deny, is_hidden, "{path}");
    }
    for path in [
        ".env",
        "web/.env",
        ".env.local",
        "a/.env.production",
        ".envrc",
        "cert.pem",
        "a/server.key",
        "x.p12",
        "x.pfx",
        ".ssh/id_rsa",
        "id_rsa.pub",
        "id_ed25519",
        ".netrc",
        ".pgpass",
        ".git-credentials",
        ".aws/credentials",
        "home/.aws/credentials",
        ".docker/config.json",
        "home/.kube/config",
    ] {
        check(&[], path, true);
    }
    for path in [
        ".env.example",
        "web/.env.sample",
        ".env.template",
        "env",
        "src/env.rs",
        "environment.md",
        "pem.md",
        "keys.txt",
        "credentials",
        "config.json",
        "netrc.md",
        "my_id_rsa_notes.md",
    ] {
        check(&[], path, false);
    }
    check(&[(Action::Allow, "read_file:.env")], ".env", false);
    check(&[(Action::Allow, "read_file:.env")], ".env.local", true);
    check(&[(Action::Deny, "shell"), (Action::Allow, "read_file:.env")], ".env", false);
    check(&[(Action::Allow, "*")], ".env", true);
    check(&[(Action::Deny, "*:.env.example")], ".env.example", true);
}

#[test]
fn an_example_of_variables_can_be_read_but_is_not_allowed_to_be_written_by_that() {
    let policy = Policy { rules: Vec::new(), otherwise: Action::Ask }.hiding_secrets();
    let target = Target { paths: vec![".env.example".to_owned()], ..Target::default() };
    assert_eq!(policy.decide(&["read_file"], ToolEffect::Reads, &target).action, Action::Allow);
    assert_eq!(policy.decide(&["write_file"], ToolEffect::Writes, &target).action, Action::Ask);
}
