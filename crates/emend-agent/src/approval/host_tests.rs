//! Tests of the decisions of rules on command lines, as the reader of command lines reads them.

use super::Action::{Allow, Ask, Deny};
use super::policy::is_command_tool;
use super::tests::{check, paths, policy};
use super::*;
use crate::test_support::covers;

fn command(text: &str) -> Target {
    let reading = emend_shell::read_command_line(text).and_then(|line| CommandLine::decode(&line.encoded()));
    Target { command: Some(text.to_owned()), reading, ..Target::default() }
}

#[test]
fn of_equally_strict_rules_the_first_command_s_is_named() {
    let policy = policy(&[(Deny, "shell:b"), (Deny, "shell:a")], Allow);
    let verdict = policy.decide(&["shell"], ToolEffect::Runs, &command("a && b"));
    assert_eq!((verdict.action, verdict.rule.as_deref()), (Deny, Some("shell:a")));
    assert!(is_command_tool("Bash") && !is_command_tool("read_file"));
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
        // A text that is printed, which another program can run, and variables and options that name a program.
        "echo git push",
        "echo 'git push' | ssh host",
        "echo 'os.system(\"git push\")' | python3",
        "printf 'git push\\n' > notes",
        "git log -1 --format='git push' | ssh host",
        "GIT_EDITOR='git push' git commit",
        "GIT_EDITOR='git push' git tag -a v1",
        "git grep -O'git push' x",
        "grep -H --label 'git push' x | ssh host",
        "git commit -m 'git push' > log",
        // Commands inside of a text.
        "echo $(git push)",
        "echo \"$(git push)\"",
        "printf '%s' \"$(git  push)\"",
        "git commit -m \"$(git push)\"",
        "grep x $(git push o)",
        "echo a; git push",
        // The program of a subcommand has a name of its own.
        "git-push",
        "/usr/lib/git-core/git-push o HEAD:x",
        "$(git --exec-path)/git-push o HEAD:x",
        "\"$(git --exec-path)\"/git-push",
        "env PATH=/usr/lib/git-core git-push o x",
        "sh -c 'cd /usr/lib/git-core; ./git-push o x'",
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
        "echo `date`",
        "git pus{h,}",
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
        // A file name or a line of the input stands for the program.
        "find /usr/bin -name 'gi[t]' -exec {} push \\;",
        "find . -type f -execdir env A=1 {} push o +",
        "find . -exec sh -c '{} push' \\;",
        "ls /usr/bin/gi* | xargs -I{} {} push",
        "ls /usr/bin/gi* | xargs -I % nice % push",
        "ls /usr/bin/gi* | xargs -i sh -c '{} push'",
        "ls /usr/bin/gi* | xargs -I% sh -c '% push'",
        "ls /usr/bin/gi* | xargs --replace=X X push",
        "ls /usr/bin/gi* | xargs --replace {} push",
        // The program may stand behind the operands of one that runs it.
        "timeout 5 $p",
        "nice -n 5 $p",
        "flock lock $p",
        "taskset 1 $p",
        "timeout 5 $(cat full)",
        "find . -maxdepth 0 -exec $(cat full) \\;",
        "find . -maxdepth 0 -exec nice $p \\;",
        "cat full | xargs env",
        "cat full | xargs -r timeout 5",
        // A shell that reads its input.
        "cat full | bash -eo pipefail",
        "cat full | bash -s -- a",
        "cat full | bash /dev/stdin",
        "cat full | bash -O extglob +o posix",
        "cat full | bash --rcfile f",
        "cat full | source /dev/stdin",
        "cat full | sh -",
        // A shell on another machine or in a container that reads its input.
        "cat full | ssh host",
        "ssh -p 22 -l me host < full",
        "ssh host sh < full",
        "ssh host sudo bash -s < full",
        "cat full | docker exec -i box sh",
        "kubectl exec -i pod -- bash -s < full",
    ] {
        check(&policy, &["shell"], &command(line), Ask);
    }
    for line in [
        "git status",
        "git pushy",
        "git-pushy",
        // A mention of the program is not a run of it.
        "echo git-push",
        "which git-push",
        "man git-push",
        "git commit -m 'describe git-push'",
        "cat docs/git-push",
        "find . -name '*.rs' -exec wc -l {} +",
        "ls | xargs -I{} mv {} old/",
        "ls | xargs -I % cp % old/%",
        // A text that is only searched for or stored does not run.
        "git commit -m 'git push later'",
        "git tag -m 'git push' v1",
        "grep -rn 'git push' .",
        "timeout 5 cargo test",
        "timeout 5 echo a \"$HOME\"",
        "bash -o pipefail build.sh",
        "bash -eo pipefail -c 'ls | wc -l'",
        "bash <<< 'ls'",
        "ssh host uptime",
        "ssh -p 22 -o A=b host <<< 'ls'",
        "docker exec -i box sh <<< 'ls'",
        "docker exec box ls",
        "kubectl get pods",
        "which bash",
        "git-status",
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
        "echo $(date)",
        "cat <<EOF\nx\nEOF",
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
fn a_rule_for_another_tool_stops_no_hidden_command() {
    let policy = policy(&[(Deny, "edit_file:git push *"), (Allow, "shell")], Ask);
    check(&policy, &["shell"], &command("git $verb"), Allow);
    check(&policy, &["shell"], &command("git push"), Allow);
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
