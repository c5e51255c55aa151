//! Tests of the reading of command lines.

use super::*;

#[track_caller]
fn check(line: &str, expected: &[&str]) {
    let found = read_command_line(line).map(|found| found.commands.into_iter().map(|c| c.text).collect::<Vec<_>>());
    assert_eq!(found.as_deref(), Some(&expected.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>()[..]), "{line}");
}

#[test]
fn commands_of_compound_commands_are_found() {
    check("git status", &["git status"]);
    check("a && b || c; d | e & f\ng", &["a", "b", "c", "d", "e", "f", "g"]);
    check("echo 'a; b' \"c && d\" e\\;f", &["echo 'a; b' \"c && d\" e\\;f"]);
    check("a 2>&1 | b > /dev/null; c &>/dev/null", &["a 2>&1", "b > /dev/null", "c &>/dev/null"]);
    check("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    check("for f in a b; do wc -l \"$f\"; done", &["wc -l \"$f\""]);
    check("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]);
    check("case \"$x\" in a|b) c;; *) d;; esac", &["c", "d"]);
    check("(a; b) && { c; }", &["a", "b", "c"]);
    check("f() { a; b; }; f x", &["a", "b"]);
    check("function f { a; }; f", &["a"]);
    check("echo $(a) \"$(b)\"", &["a", "b", "echo $(a) \"$(b)\""]);
    check("diff <(a) <(b)", &["a", "b", "diff <(a) <(b)"]);
    check("cat <<EOF\n$(a)\nEOF\nb", &["a", "cat <<EOF", "b"]);
    check("cat <<'EOF' | c\n$(a) `\nEOF\nb", &["cat <<'EOF'", "c", "b"]);
    check("cat <<-EOF\n\tx\n\tEOF", &["cat <<-EOF"]);
    check("echo $((1 + 2))", &["echo $((1 + 2))"]);
    check("for ((i = 0; i < 3; i++)); do echo $((i * 2)); done", &["echo $((i * 2))"]);
    check("i=0; while ((i < 3)); do echo $i; i=$((i + 1)); done", &["echo $i"]);
    check("[[ -f a && $x == b* ]] && c", &["c"]);
    check("coproc a", &["a"]);
    check("coproc p { a; }", &["a"]);
    check("a=(x y); ls \"${a[@]}\"", &["ls \"${a[@]}\""]);
    check("time -p a | b", &["a", "b"]);
    check("! a", &["a"]);
    check("a # b; c\nd", &["a", "d"]);
    check("git \\\n push", &["git \\\n push"]);
    check("a <<< \"x $y\"", &["a <<< \"x $y\""]);
    check("x=1 a", &["x=1 a"]);
    check("PATH=1", &["PATH=1"]);
    check("a > b", &["a > b"]);
    check("2>&1 >/dev/null a b 2>&1", &["a b 2>&1"]);
}

#[test]
fn lines_that_cmd_exe_reads_differently_are_known() {
    for line in
        ["echo '& del x'", r"echo \& del x", r#"echo "\" & del x""#, "git lo^g", "git %X%", "git log\ndel x", r"dir a\"]
    {
        assert!(differs_in_cmd(line), "{line}");
    }
    for line in ["for f in a; do del $f", "echo a # b", "{ a", "a }", "echo `b`", "a; b", "echo $(b)"] {
        assert!(differs_in_cmd(line), "{line}");
    }
    for line in ["git status", r"type src\main.rs", r#"git commit -m "a b" && cargo test"#, r"dir src\*.rs"] {
        assert!(!differs_in_cmd(line), "{line}");
    }
}

#[test]
fn lines_that_are_not_posix_are_known() {
    for line in
        ["((rm x))", "[[ a > b ]]", "a &> b", "a <(b)", "a <<< b", "{a,b}", "coproc a", "time a", "alias a=b", "a+=b"]
    {
        assert!(differs_in_sh(line), "{line}");
    }
    for line in ["a && b; (c) | d", "for f in a b; do c; done", "a 2>&1 < /dev/null", "cat <<E\na\nE"] {
        assert!(!differs_in_sh(line), "{line}");
    }
}

#[test]
fn lines_without_a_reading() {
    for line in [
        "a `b`",
        "a $[b]",
        "a $'b'",
        "a $\"b\"",
        "echo \"${x@P}\"",
        "echo ${!x}",
        "echo ${x:=y}",
        "echo ${x:-$(y)}",
        "echo ${x:$y}",
        "echo ${a[i]}",
        "echo $((x))",
        "x=$(y); echo $((x))",
        "for x in 'a[$(b)]'; do echo $((x)); done",
        "read i; i=1; echo $((i))",
        "i=1; read i; echo $((i))",
        "((PATH = 1))",
        "echo $((a[1]))",
        "[[ $x -eq 1 ]]",
        "[[ -v a[1] ]]",
        "[[ a =~ (b|c) ]]",
        "a=([x]=1)",
        "a[$x]=1",
        "a {fd}> b",
        "a |& b",
        "a &>> b",
        "a 'open",
        "a \"open",
        "a \\",
        "(a",
        "a)",
        "if a; then b",
        "a; }; b; {",
        "} a",
        "a ;; b",
        "cat <<A <<B\nA\nB",
        "cat <<EOF\nx",
        "cat <<EOF\n`x`\nEOF",
        "cat <<EOF\nx\\\nEOF",
        "cat <<$x\n$x",
        "echo $(cat <<EOF\nx\nEOF\n)",
        "echo $(a # b)\n)",
        "select x in a b; do c; done",
        ">/dev/null time a",
        "2>&1 coproc a",
        "echo !(a)",
        "a+(b)",
        "a\r",
        "a\u{a0}b",
        "a\u{2028}b",
        "a\0b",
        "a\u{1a}",
        "a\u{202e}b",
    ] {
        assert_eq!(read_command_line(line), None, "{line:?}");
    }
    assert_eq!(read_command_line(&"a ".repeat(40_000)), None);
    assert_eq!(read_command_line(&format!("echo {}{}", "\"$(echo ".repeat(5_000), ")\"".repeat(5_000))), None);
    assert_eq!(read_command_line(&format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000))), None);
}

/// Checks what a command runs, and its flags: `p` plain, `h` hides others.
#[track_caller]
fn check_last(line: &str, flags: &str, runs: &[&[&str]]) {
    let found = read_command_line(line).unwrap_or_else(|| panic!("{line} has no reading"));
    let last = found.commands.last().unwrap();
    let has = |is_set: bool, flag: &str| is_set == flags.contains(flag);
    assert!(has(last.is_plain, "p") && has(last.hides, "h"), "{line}: {last:?}");
    assert_eq!(last.runs, runs, "{line}");
}

#[test]
fn words_are_read_without_quotes_and_with_their_unknown_parts() {
    let check = |line: &str, words: &[&str]| check_last(line, "p", &[words]);
    check("git 'lo'\"g\" \\-\\-all", &["git", "log", "--all"]);
    check("a b\\\nc 'd\\' \"e\\f\\\"\"", &["a", "bc", "d\\", "e\\f\""]);
    check("a x$y\"${z}\"w", &["a", "x\u{1a}\u{1a}w"]);
    check("a *.rs x?z [ab]c {a,b}c {} ] \"*\"", &["a", "\u{1a}.rs", "x\u{1a}z", "\u{1a}", "\u{1a}", "{}", "]", "*"]);
    check("a ~/b ~ c~d", &["a", "~/b", "\u{1a}", "c~d"]);
    check("a $? ${#x} ${x[@]} ${x#*/} ${x:1:2} ${x:-y} $((1)) $(b)", &[&["a"][..], &["\u{1a}"; 8]].concat());
    check("2>&1 a >/dev/null b", &["a", "b"]);
    check("A=1 a", &["a"]);
    check("a $ \"$\" $/", &["a", "$", "$", "$/"]);
}

#[test]
fn commands_that_hide_others_are_known() {
    let open = "\u{1a}";
    check_last("$x a", "ph", &[&[open, "a"]]);
    check_last("sudo -u me $x", "p", &[&["sudo", "-u", "me", open]]);
    check_last("nice $x", "ph", &[&["nice", open]]);
    check_last("sh", "ph", &[&["sh"]]);
    check_last("sh a.sh", "p", &[&["sh", "a.sh"], &["a.sh"]]);
    check_last("sh -c 'a; b c'", "p", &[&["sh", "-c", "a; b c"], &["a"], &["b", "c"]]);
    check_last("sh -c 'a `b`'", "ph", &[&["sh", "-c", "a `b`"]]);
    check_last("sh -c \"$x\"", "ph", &[&["sh", "-c", open]]);
    check_last("timeout 5 sh -c \"$x\"", "ph", &[&["timeout", "5", "sh", "-c", open]]);
    check_last("find . -exec sh -c 'a' \\;", "p", &[&["find", ".", "-exec", "sh", "-c", "a", ";"], &["a"]]);
    check_last("find . -exec sh -c '$0' \\;", "ph", &[&["find", ".", "-exec", "sh", "-c", "$0", ";"], &[open]]);
    check_last("eval a b", "p", &[&["eval", "a", "b"], &["a", "b"]]);
    check_last("eval \"$x\"", "h", &[&["eval", open]]);
    check_last("xargs git", "p", &[&["xargs", "git", open]]);
    check_last("xargs sh -c '$0'", "ph", &[&["xargs", "sh", "-c", "$0", open], &[open]]);
    check_last("bash <<E\na\nE", "p", &[&["bash"], &["a"]]);
    check_last("bash <<E\n$a\nE", "ph", &[&["bash"]]);
    check_last("env -S 'a b'", "ph", &[&["env", "-S", "a b"]]);
    check_last("alias a=b", "ph", &[&["alias", "a=b"]]);
    check_last("declare 'a[$(b)]=1'", "h", &[&["declare", "a[$(b)]=1"]]);
    check_last("printf -v 'a[$(b)]' c", "h", &[&["printf", "-v", "a[$(b)]", "c"]]);
    check_last("test -v \"$x\"", "h", &[&["test", "-v", open]]);
    check_last("test \"$a\" = b", "p", &[&["test", open, "=", "b"]]);
    check_last("[ -f $x ]", "p", &[&["[", "-f", open, "]"]]);
    check_last("for x in a; do [ -f $x ]; done", "h", &[&["[", "-f", open, "]"]]);
    check_last("for x in a; do [ \"$x\" \"$x\" ]; done", "h", &[&["[", open, open, "]"]]);
    check_last("for x in a; do [ \"$x\" = b ]; done", "p", &[&["[", open, "=", "b", "]"]]);
    check_last("for x in a; do printf $x; done", "h", &[&["printf", open]]);
    check_last("for x in a; do printf %s $x; done", "p", &[&["printf", "%s", open]]);
    check_last("PS4='$(a)'", "ph", &[]);
    check_last("BASH_ENV=$x bash a", "ph", &[&["bash", "a"], &["a"]]);
    check_last("let x", "h", &[&["let", "x"]]);
    check_last("declare -i x", "h", &[&["declare", "-i", "x"]]);
    check_last("local -rn x", "h", &[&["local", "-rn", "x"]]);
    check_last("declare -r x", "p", &[&["declare", "-r", "x"]]);
    check_last("git -c alias.a=b a", "ph", &[&["git", "-c", "alias.a=b", "a"]]);
}

#[test]
fn functions_and_builtins_without_effects_are_left_out() {
    check("f() { a; }; f; g", &["a", "g"]);
    check("f; f() { a; }", &["f", "a"]);
    check("f() { a; }; unset -f f; f", &["a", "unset -f f", "f"]);
    check("(f() { a; }); f", &["a", "f"]);
    check("x && f() { a; }; f", &["x", "a", "f"]);
    check("f() { a; } & f", &["a", "f"]);
    check("f() { a; }; x=1 f", &["a", "x=1 f"]);
    check("f() { a; }; f > b", &["a", "f > b"]);
    check("while true; do a; break; done", &["a"]);
    check("true", &["true"]);
    check("x=1; a", &["a"]);
    check("x=$(a); y=1", &["a"]);
    check("X=1; a", &["X=1", "a"]);
    check("http_proxy=1; a", &["http_proxy=1", "a"]);
    check("for PATH in x; do a; done", &["for PATH in x", "a"]);
    check("for f in x; do a; done > b", &["a", "for f in x; do a; done > b"]);
    check("> a", &["> a"]);
    check("x=1 > a", &["x=1 > a"]);
}

#[test]
fn a_reading_is_encoded() {
    let line = read_command_line("sh -c 'a b' && eval \"$x\"").unwrap();
    let expected =
        "p\u{1f}sh -c 'a b'\u{1f}sh\u{1f}-c\u{1f}a b\u{1d}a\u{1f}b\u{1e}h\u{1f}eval \"$x\"\u{1f}eval\u{1f}\u{1a}";
    assert_eq!(line.encoded(), expected);
}
