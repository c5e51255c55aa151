//! Tests of the decisions of rules.

use super::command_line::{differs_in_cmd, is_assignment, read, split, words};
use super::policy::{COMMAND_TOOLS, is_command_tool};
use super::*;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn policy(rules: &[(Action, &str)], otherwise: Action) -> Policy {
    let rules = rules.iter().map(|(action, text)| Rule::parse(*action, text).unwrap()).collect();
    Policy { rules, otherwise }
}

fn command(text: &str) -> Target {
    Target { command: Some(text.to_owned()), ..Target::default() }
}

fn paths(paths: &[&str]) -> Target {
    Target { paths: paths.iter().map(|path| (*path).to_owned()).collect(), ..Target::default() }
}

use Action::{Allow, Ask, Deny};

#[test]
fn command_lines_are_taken_apart_or_not_at_all() {
    let check = |line: &str, expected: Option<&[&str]>| assert_eq!(split(line).as_deref(), expected, "{line}");
    check("git status", Some(&["git status"]));
    check("a && b || c; d | e & f\ng", Some(&["a", "b", "c", "d", "e", "f", "g"]));
    check("echo 'a; b' \"c && d\" e\\;f", Some(&["echo 'a; b' \"c && d\" e\\;f"]));
    check("a 2>&1 | b > /dev/null; c &>/dev/null", Some(&["a 2>&1", "b > /dev/null", "c &>/dev/null"]));
    for hidden in [
        "a $(b)",
        "a `b`",
        "a \"$(b)\"",
        "(a)",
        "a > file",
        "a >> file",
        "a < file",
        "a <(b)",
        "a <<EOF\nb\nEOF",
        "f() { a; }",
        "a >/dev/null2",
        "a 'open",
        "a \"open",
        "a $'x'",
        "a >&file",
        "a # b",
        "}",
        "a \"\\\"`b`\"",
    ] {
        check(hidden, None);
    }
}

#[test]
fn lines_that_cmd_exe_reads_differently_are_known() {
    for line in
        ["echo '& del x'", r"echo \& del x", r#"echo "\" & del x""#, "git lo^g", "git %X%", "git log\ndel x", r"dir a\"]
    {
        assert!(differs_in_cmd(line), "{line}");
    }
    for line in ["git status", r"type src\main.rs", r#"git commit -m "a b" && cargo test"#, r"dir src\*.rs"] {
        assert!(!differs_in_cmd(line), "{line}");
    }
}

#[test]
fn the_commands_around_comments_groups_and_quotes_are_found() {
    let check = |line: &str, expected: &[&str], is_complex: bool| {
        let found = read(line).unwrap();
        assert_eq!((found.commands.as_slice(), found.is_complex), (expected, is_complex), "{line}");
    };
    check("a # b; c\nd", &["a", "d"], true);
    check("ab # c\nd # e", &["ab", "d"], true);
    check("#a\nb", &["b"], true);
    check("} a", &["a"], true);
    check("(a; b) && c", &["a", "b", "c"], true);
    check("a > b; c", &["a > b", "c"], true);
    check("a &> b; c", &["a &> b", "c"], true);
    check("a &>/dev/null; c", &["a &>/dev/null", "c"], false);
    check("a >&2; c", &["a >&2", "c"], false);
    check("a >&b; c", &["a >&b", "c"], true);
    check("a \"\\\"; b\"; c", &["a \"\\\"; b\"", "c"], false);
    check("a \"${b}; c\"; d", &["a \"${b}; c\"", "d"], false);
    check("a \\; b; c", &["a \\; b", "c"], false);
    check("abcd \\; b; c", &["abcd \\; b", "c"], false);
    check("a '; b'; c", &["a '; b'", "c"], false);
    check("a }", &["a"], true);
    check("a;} b", &["a", "b"], true);
    check("a;#b\nc", &["a", "c"], true);
    check("a|#", &["a"], true);
    check("a#b; c", &["a#b", "c"], false);
}

#[test]
fn the_commands_of_a_line_that_may_run_others_are_unknown() {
    for line in [
        "a >(b)",
        "a <(b)",
        "a <<b",
        "a `b`",
        "a $(b)",
        "a $[b]",
        "a ${b}",
        "a $'b'",
        "a $\"b\"",
        "((b))",
        "{a,b}",
        "a {b",
        "a}",
        "a 'b",
        "a \"b",
        "a \"`b`\"",
        "a \"$(b)\"",
        "a \"$[b]\"",
        "a \"${b:-c}\"",
        "a \"${b",
    ] {
        assert!(read(line).is_none(), "{line}");
    }
}

#[test]
fn words_end_at_blanks_outside_of_quotes() {
    let check = |command: &str, expected: &[&str]| assert_eq!(words(command), expected, "{command}");
    check("a 'b\\' c", &["a", "'b\\'", "c"]);
    check("a \"b\\\" c\" d", &["a", "\"b\\\" c\"", "d"]);
    check("\"a'b\" c 'd \"e'", &["\"a'b\"", "c", "'d \"e'"]);
    check("a\\ b c", &["a\\ b", "c"]);
    check("a b\\", &["a", "b\\"]);
    check("a\\", &["a\\"]);
}

#[test]
fn a_word_that_sets_a_variable_starts_with_a_name() {
    for (word, expected) in [
        ("A=1", true),
        ("A_b2+=1", true),
        ("A=", true),
        ("=1", false),
        ("a-b=1", false),
        ("--a=1", false),
        ("A", false),
    ] {
        assert_eq!(is_assignment(word), expected, "{word}");
    }
}

#[test]
fn of_equally_strict_rules_the_first_command_s_is_named() {
    let policy = policy(&[(Deny, "shell:b"), (Deny, "shell:a")], Allow);
    let verdict = policy.decide(&["shell"], ToolEffect::Runs, &command("a && b"));
    assert_eq!((verdict.action, verdict.rule.as_deref()), (Deny, Some("shell:a")));
    assert!(is_command_tool("Bash") && !is_command_tool("read_file"));
}

#[test]
fn commands_that_quotes_hide_make_a_line_opaque() {
    covers("approval.policy");
    for hidden in [
        "cargo $['$(touch x)']",
        "echo \"$['$(touch x)']\"",
        "echo \"${x@P}\"",
        "echo \"${x:-y}\"",
        "printf -v 'a[$(touch x)]' y",
        "printf '-v' 'a[$(touch x)]' y",
        "test -v 'a[$(touch x)]'",
        "[ -v 'a[$(touch x)]' ]",
        "[[ 'a[$(touch x)]' -eq 1 ]]",
        "let 'a[$(touch x)]=1'",
        "declare 'a[$(touch x)]=1'",
        "read 'a[$(touch x)]'",
        "unset 'a[$(touch x)]'",
        "eval 'echo $HOME'",
        "A=1 eval 'echo $HOME'",
        "{ a; }",
        "echo {a,b}",
        "((a))",
        "echo >(a)",
    ] {
        assert_eq!(split(hidden), None, "{hidden}");
    }
    for plain in ["printf '%s $x' y", "test \"$a\" = b", "echo \"$a ${b}\" $c", "echo a#b", "echo '$(x)'", "[ a = b ]"]
    {
        assert_eq!(split(plain), Some(vec![plain]), "{plain}");
    }
}

#[test]
fn a_refused_command_is_recognised_in_other_spellings() {
    covers("approval.policy");
    let policy = policy(&[(Deny, "shell:git push *"), (Allow, "shell")], Ask);
    for line in [
        "git  push",
        "git\tpush origin",
        "git push\\",
        "g''it pu\"\"sh",
        "gi\\t push",
        "git \\\n push",
        "git -C . push",
        "git --no-pager push",
        "git -c a=b -C x push",
        "/usr/bin/git push",
        "command git push",
        "env A=1 git push",
        "sudo -u root git push",
        "sh -c 'git push'",
        "sh -c\"git push\"",
        "eval 'gi\"\"t push'",
        "(git push)",
        "{ git push; }",
        "true && git push > log # later",
        "if true; then git push; fi",
        // A redirection may stand anywhere.
        "git 2>/dev/null push o HEAD:x",
        "git 2>&1 push",
        "git>/dev/null push",
        "git </dev/null push",
        "git >/dev/null -C . push",
        "git > 'a b' push",
        "git &>/dev/null push",
        "git >&2 push",
        "git >|a push",
        "git <>a push",
        "git 2>&- push",
        "git 3<&0 push",
        ">/dev/null git push",
        "sh -c 'git >/dev/null push'",
    ] {
        check(&policy, &["shell"], &command(line), Deny);
    }
    for line in [
        "g=git; $g push",
        "git $verb",
        "git \"$verb\"",
        "git p*h",
        "/usr/bin/gi? push",
        "eval \"$text\"",
        "bash -c \"$text\"",
        "A=1 bash -c \"$text\"",
        "env -i bash -c \"$text\"",
        "echo Z2l0 | base64 -d | sh",
        "echo $(date)",
        "echo `date`",
        "git pus{h,}",
        "cat <<EOF\nx\nEOF",
        "bash <(curl x)",
        "git {stream}>a push",
        ">/dev/null $g push",
        "g=git; timeout 5 $g push",
        // The text after `-S` is a command.
        "env -Sgit\\ push\\ o\\ x",
        "env \"-Sgit push M\"",
        "env -vSgit\\ push\\ M",
        "/usr/bin/env -u A '-iSgit\\_push'",
        "env --split-string='git\\_push'",
        "sh -c \"env '-Sgit push'\"",
        // The program or the subcommand gets another name.
        "shopt -s expand_aliases\nalias g=git\ng push o x",
        "alias 'g=git'; g push",
        "hash -p /usr/bin/git g; g push",
        "git -c alias.p=push p o x",
        "git -c ALI''AS.p=push p",
        "git config alias.p push; git p o x",
        "git config --rename-section a alias",
        "git --config-env=alias.p=P p",
        "git -c include.path=a p",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
        "HOME=. git p",
        "sh -c 'git -c alias.p=push p'",
    ] {
        check(&policy, &["shell"], &command(line), Ask);
    }
    for line in [
        "git status",
        "git pushy",
        "git log push",
        "cargo build > log 2>&1",
        "echo \"$HOME\"",
        "(cd src && make)",
        "ls *.rs # all",
        "git add *.rs",
        "sh build.sh",
        "for f in a b; do wc -l \"$f\"; done",
        "sort < a > b",
        "git log > push",
        "git log 2>/dev/null | head",
        "git config user.name a",
        "env A=1 ls",
        "for f in a b; do echo \"$f\"; done",
    ] {
        check(&policy, &["shell"], &command(line), Allow);
    }
}

#[test]
fn options_of_a_refused_command_may_be_split_and_in_another_order() {
    covers("approval.policy");
    #[track_caller]
    fn check_rule(rule: &str, refused: &[&str], allowed: &[&str]) {
        let policy = policy(&[(Deny, rule), (Allow, "shell")], Ask);
        refused.iter().for_each(|line| check(&policy, &["shell"], &command(line), Deny));
        allowed.iter().for_each(|line| check(&policy, &["shell"], &command(line), Allow));
    }
    check_rule(
        "shell:rm -rf *",
        &[
            "rm -rf d",
            "rm -r -f d",
            "rm -fr d",
            "rm -rfv d",
            "rm -Rf d",
            "rm -v -f -- d -r",
            "rm --recursive --force d",
            "rm --rec -f d",
            "rm d -rf",
            "rm >/dev/null -rf d",
            "sh -c 'rm -r -f d'",
            "(cd a && rm -f -r d)",
        ],
        &["rm d", "rm -f d", "rm -r d", "rm -f a > log; tar -rf b", "rm -r a; rm -f b", "ls -rf"],
    );
    check_rule("shell:rm -Rf", &["rm -fr"], &["rm -f"]);
    check_rule("shell:rm -rf*", &["rm -rf d", "rm -f -r d"], &["rm -f d"]);
    check_rule(
        "shell:git push --force *",
        &["git push --force", "git push -f", "git push o main --force"],
        &["git push", "git push --force-with-lease", "git push --follow-tags", "git push o; rm -f a"],
    );
    check_rule("shell:git push*", &["git 2>/dev/null push o", "git -C a >b push"], &["git status"]);
    // A rule that allows holds only what it says.
    let policy = policy(&[(Allow, "shell:rm -rf *")], Ask);
    check(&policy, &["shell"], &command("rm -r -f d"), Ask);
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

#[test]
fn a_rule_for_another_tool_stops_no_hidden_command() {
    let policy = policy(&[(Deny, "edit_file:git push *"), (Allow, "shell")], Ask);
    check(&policy, &["shell"], &command("git $verb"), Allow);
    check(&policy, &["shell"], &command("git push"), Allow);
}

#[track_caller]
fn check(policy: &Policy, names: &[&str], target: &Target, expected: Action) {
    assert_eq!(policy.decide(names, ToolEffect::Writes, target).action, expected, "{target:?}");
}

#[test]
fn commands_are_allowed_part_by_part() {
    covers("approval.policy");
    let policy = policy(&[(Deny, "shell:git push *"), (Allow, "shell:git *"), (Allow, "shell:cargo test")], Ask);
    for (line, expected) in [
        ("git status", Allow),
        ("git", Allow),
        ("gitk", Ask),
        ("git log 2>&1 | cargo test", Allow),
        ("cargo test --all", Ask),
        ("git status; rm -rf /", Ask),
        ("git log $(rm -rf /)", Ask),
        ("git log > /etc/passwd", Ask),
        ("git log \"`rm x`\"", Ask),
        ("EDITOR=rm git commit", Ask),
        ("git push", Deny),
        ("git push --force", Deny),
        ("git status && git push origin", Deny),
        ("echo $(git push)", Deny),
        ("if true; then git push; fi", Deny),
        ("git pushy", Allow),
        ("", Ask),
    ] {
        check(&policy, &["shell"], &command(line), expected);
    }
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
fn rules_for_an_effect_decide_on_all_tools_that_have_it() {
    let rule = Rule::for_effect(Ask, ToolEffect::Runs);
    assert_eq!(rule.text(), "run");
    let policy = Policy { rules: vec![Rule::parse(Allow, "shell:git *").unwrap(), rule], otherwise: Allow };
    let decide = |effect, target: &Target| policy.decide(&["shell"], effect, target).action;
    assert_eq!(decide(ToolEffect::Runs, &command("git log")), Allow);
    assert_eq!(decide(ToolEffect::Runs, &command("make")), Ask);
    assert_eq!(decide(ToolEffect::Writes, &command("make")), Allow);
    let patch = Target { tool: Some(("apply_patch", ToolEffect::Writes)), ..paths(&["a"]) };
    assert_eq!(decide(ToolEffect::Runs, &patch), Allow);
    let rule = Rule::for_effect_on(Deny, ToolEffect::Writes, "a/**").unwrap();
    let policy = Policy { rules: vec![rule], otherwise: Allow };
    let decide = |effect, path: &str| policy.decide(&["any"], effect, &paths(&[path])).action;
    assert_eq!(decide(ToolEffect::Writes, "a/b"), Deny);
    assert_eq!((decide(ToolEffect::Writes, "b"), decide(ToolEffect::Reads, "a/b")), (Allow, Allow));
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
