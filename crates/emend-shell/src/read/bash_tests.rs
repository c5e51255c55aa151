//! Random command lines, read by us and by bash.
//!
//! Bash prints the body of a function as it has read it, one command per line. Our reading of the line must have the same
//! commands, with the same words, as our reading of bash's print. A separator, quote or comment that only one side sees
//! would make the readings differ.

use std::fs;
use std::process::{Command, Stdio};

use super::read_command_line;

const N_LINES: usize = 3_000;

/// Pieces of command lines.
const PIECES: &[&str] = &[
    "a",
    "b",
    "c",
    "a b",
    "'x y'",
    "'x;y'",
    "\"q $v\"",
    "\"a;b\"",
    "$v",
    "${v}",
    "${v:-b}",
    "${#v}",
    "$(a)",
    "$(a; b)",
    "\"$(b 'c')\"",
    "$(echo \"$(a)\")",
    "<(a)",
    "\\ ",
    "\\;",
    "\\\\",
    "\\'",
    "#c",
    " #",
    "# x\n",
    "*",
    "?b",
    "[a]",
    "{x,y}",
    "{}",
    "~",
    "if a;",
    "then",
    "else",
    "elif b;",
    "fi",
    "for v in a b;",
    "for v in",
    "do",
    "done",
    "while a;",
    "until b;",
    "case a in",
    "a)",
    "*)",
    "(b)",
    ";;",
    ";&",
    "esac",
    "(",
    ")",
    "{",
    "}",
    "[[ a ]]",
    "[[ a == b ]]",
    "[[ a < b ]]",
    "((1))",
    "((n = 1))",
    "$((1 + 2))",
    "&&",
    "||",
    "|",
    ";",
    "&",
    "\n",
    ">/dev/null",
    "> x",
    "2>&1",
    ">&2",
    "&> x",
    "<<< a",
    "<<E\nx $v\nE\n",
    "<<'E'\n$(x\nE\n",
    "<<-E\n\tx\n\tE\n",
    "<< E;",
    "!",
    "time",
    "coproc",
    "coproc p",
    "function f",
    "f()",
    "f",
    "v=1",
    "v+=1",
    "v=",
    "w=$(a)",
    "a=(x y)",
    "a=(",
    "a[0]=1",
    "\\\n",
    "\t",
    "-x",
    "--x=y",
    "=",
    ",",
    "2",
    "'",
    "\"",
    "$",
    "`",
    "]]",
    "[[",
    "((",
    "))",
    "in",
    "1>x",
    "a=b",
    "x\\\ny",
    "$'a'",
    "é",
];

/// A generator of numbers (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((number ^ (number >> 31)) % limit as u64).unwrap()
    }
}

fn line(numbers: &mut Numbers) -> String {
    let n_pieces = 1 + numbers.below(9);
    let mut line = String::new();
    for _ in 0..n_pieces {
        line += PIECES[numbers.below(PIECES.len())];
        line += ["", " ", " ", "; "][numbers.below(4)];
    }
    line
}

/// Returns the words of the commands of a line.
fn runs(line: &str) -> Option<Vec<Vec<Vec<String>>>> {
    Some(read_command_line(line)?.commands.into_iter().map(|command| command.runs).collect())
}

/// Returns the bodies that bash prints for functions with these lines; `None` for a line that bash rejects.
fn printed<T>(lines: &[(String, T)]) -> Vec<Option<String>> {
    let scratch = tempfile::tempdir().unwrap();
    for (index, (line, _)) in lines.iter().enumerate() {
        fs::write(scratch.path().join(index.to_string()), format!("f() {{\n{line}\n}}")).unwrap();
    }
    // The function is only defined. If a line ended it, nothing that follows could be found.
    let script =
        "for ((i = 0; i < $1; i++)); do unset -f f; eval \"$(<$i)\" 2>/dev/null && declare -f f; printf '\\0'; done";
    let mut command = Command::new("/bin/bash");
    command.args(["-c", script, "bash", &lines.len().to_string()]).current_dir(scratch.path()).env_clear();
    let output = command.env("PATH", "/nowhere").stdin(Stdio::null()).stderr(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let body = |text: &str| {
        let body = text.trim_end().strip_prefix("f () \n{")?.strip_suffix('}')?;
        // Bash prints the usual name of a coprocess, which is then a word of its command.
        Some(body.replace("coproc COPROC ", "coproc "))
    };
    text.split_terminator('\0').map(body).collect()
}

#[test]
fn bash_reads_the_same_commands() {
    let mut numbers = Numbers(13);
    let lines = (0..N_LINES).map(|_| line(&mut numbers));
    let read: Vec<_> = lines.filter_map(|line| runs(&line).map(|found| (line, found))).collect();
    let printed = printed(&read);
    assert_eq!(printed.len(), read.len());
    let (mut n_same, mut n_rejected, mut n_unread, mut different) = (0, 0, 0, Vec::new());
    for ((line, expected), printed) in read.iter().zip(&printed) {
        let Some(printed) = printed else {
            n_rejected += 1;
            continue;
        };
        match runs(printed) {
            None => n_unread += 1,
            Some(found) if found == *expected => n_same += 1,
            Some(found) => different.push(format!("{line:?} is for bash {printed:?}: {found:?}, not {expected:?}")),
        }
    }
    println!(
        "{N_LINES} random lines: {} have a reading; bash's is the same for {n_same}; bash rejects {n_rejected}; its print has \
         no reading for {n_unread}",
        read.len()
    );
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(n_same >= 400 && n_unread * 10 < n_same);
}
