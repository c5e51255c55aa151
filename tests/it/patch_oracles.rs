//! Compares diffs with GNU `patch`, `git apply` and `git diff`, for hunks at their stated line.
//!
//! These tools shift all other hunks, so they are not an oracle for them. Random trees come from a fixed seed; this
//! repository's history gives real ones. A tool that is not installed is printed as skipped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use emend_edit::diff::{Names, unified};
use emend_edit::patch::plan;
use emend_edit::patch::unified::{DiffMode, UnifiedEdit, apply_located, apply_strict, parse, parse_for, render};
use emend_edit::patch::{Change, Patch};

use crate::patch_cases::{Tree, apply_v4a};

/// A small random number generator (xorshift), so that every run uses the same trees.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn line(&mut self) -> String {
        const WORDS: &[&str] =
            &["a", "b", "fn f() {", "}", "", "    x", "\tx", "x  ", "é–“”", "--- a", "+++ b", "@@ -1 +1 @@", "\u{c}"];
        WORDS[self.below(WORDS.len())].to_owned()
    }

    fn text(&mut self, eol: &str, n_lines: usize) -> Vec<String> {
        (0..n_lines).map(|_| self.line() + eol).collect()
    }

    /// Returns two texts, the second an edit of the first.
    fn pair(&mut self) -> (String, String) {
        let eol = ["\n", "\n", "\r\n"][self.below(3)];
        let n_lines = 1 + self.below(40);
        let mut lines = self.text(eol, n_lines);
        let before = self.finish(&lines);
        for _ in 0..1 + self.below(5) {
            let at = self.below(lines.len() + 1);
            let end = (at + self.below(4)).min(lines.len());
            let n_new = self.below(4);
            let new = self.text(eol, n_new);
            lines.splice(at..end, new);
        }
        let after = self.finish(&lines);
        (before, after)
    }

    fn finish(&mut self, lines: &[String]) -> String {
        let text = lines.concat();
        if self.below(4) == 0 { text.trim_end_matches(['\r', '\n']).to_owned() } else { text }
    }
}

fn is_installed(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        println!("skipped: `{tool}` is not installed");
    }
    found
}

fn write(dir: &Path, tree: &Tree) {
    std::fs::create_dir_all(dir).expect("a directory");
    for (name, text) in tree {
        std::fs::write(dir.join(name), text).expect("a file");
    }
}

fn read(dir: &Path) -> Tree {
    let entries = std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    entries.map(|path| (name(&path), std::fs::read_to_string(&path).expect("UTF-8"))).collect()
}

/// Runs a tool in `dir` with `input`, and returns what it printed.
fn run(dir: &Path, program: &str, arguments: &[&str], input: &str) -> (bool, String) {
    std::fs::write(dir.join("../input"), input).expect("a file");
    let output = Command::new(program)
        .args(arguments)
        .current_dir(dir)
        .stdin(std::fs::File::open(dir.join("../input")).expect("a file"))
        .output()
        .expect("the tool runs");
    (output.status.success(), String::from_utf8(output.stdout).expect("UTF-8"))
}

/// Returns the result of each tool for `diff` on `before`.
fn by_tools(before: &Tree, diff: &str) -> Vec<(&'static str, Tree)> {
    let tools: [(&str, &[&str]); 2] = [
        ("patch", &["-p1", "--binary", "--quiet", "--fuzz=0", "--no-backup-if-mismatch"]),
        ("git", &["apply", "--whitespace=nowarn", "-p1", "-"]),
    ];
    let mut results = Vec::new();
    for (tool, arguments) in tools.into_iter().filter(|(tool, _)| is_installed(tool)) {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("tree");
        write(&dir, before);
        let (ok, printed) = run(&dir, tool, arguments, diff);
        assert!(ok, "{tool}: {printed}\n{diff}");
        results.push((tool, read(&dir)));
    }
    results
}

fn here(before: &Tree, diff: &str) -> Tree {
    let (patch, diagnostics) = parse(diff, DiffMode::Strict).unwrap_or_else(|error| panic!("{error}\n{diff}"));
    assert!(diagnostics.is_empty());
    let files = patch.paths().into_iter().map(|path| (path.to_owned(), before.get(path).cloned())).collect();
    let planned = plan(&patch, &files).unwrap_or_else(|error| panic!("{error}\n{diff}"));
    let mut after = before.clone();
    for file in planned {
        after.insert(file.path, file.after.expect("a text"));
    }
    after
}

fn random_trees(seed: u64) -> (Tree, Tree) {
    let mut random = Random(seed);
    let pairs: BTreeMap<String, (String, String)> = (0..60)
        .map(|index| (format!("f{index:02}.txt"), random.pair()))
        // GNU patch removes a file that becomes empty, and git reports nothing for equal files.
        .filter(|(_, (before, after))| before != after && !before.is_empty() && !after.is_empty())
        .collect();
    pairs.into_iter().map(|(name, (before, after))| ((name.clone(), before), (name, after))).unzip()
}

fn diff_of(before: &Tree, after: &Tree, context: usize) -> String {
    let diff = |(name, text): (&String, &String)| {
        unified(text, &after[name], context, Names { old: &format!("a/{name}"), new: &format!("b/{name}") })
    };
    before.iter().map(diff).collect()
}

#[test]
fn the_tools_apply_our_diffs() {
    let mut n_files = 0;
    for seed in 1..=12 {
        let (before, after) = random_trees(seed * 7919);
        let diff = diff_of(&before, &after, 1 + seed as usize % 4);
        assert_eq!(here(&before, &diff), after);
        for (tool, tree) in by_tools(&before, &diff) {
            assert_eq!(tree, after, "{tool}");
        }
        n_files += before.len();
    }
    println!("{n_files} random pairs");
    assert!(n_files > 500);
}

#[test]
fn we_apply_the_tools_diffs() {
    if !is_installed("git") {
        return;
    }
    for seed in 1..=12 {
        let (before, after) = random_trees(seed * 104_729);
        let root = tempfile::tempdir().expect("a directory");
        write(&root.path().join("a"), &before);
        write(&root.path().join("b"), &after);
        let context = format!("-U{}", seed % 5);
        let arguments = ["-c", "core.autocrlf=false", "diff", "--no-index", "--no-prefix", &context, "a", "b"];
        let (_, diff) = run(&root.path().join("a/.."), "git", &arguments, "");
        assert_eq!(here(&before, &diff), after);
    }
}

// Locating a diff yields corrected hunks; the tools must accept them at their stated line.
#[test]
fn the_tools_apply_our_corrections() {
    let (before, after) = random_trees(15_485_863);
    let (mut corrected, mut expected) = (String::new(), before.clone());
    let mut n_corrected = 0;
    for (name, text) in &before {
        let diff = unified(text, &after[name], 3, Names { old: "f", new: "f" });
        // Every stated line number is wrong by at least a thousand.
        let wrong = diff.replace("\n@@ -", "\n@@ -1000");
        let (patch, _) = parse_for(name, &wrong, DiffMode::Located).expect("a diff");
        let Change::Unified(UnifiedEdit { hunks, .. }) = &patch.edits[0].change else { panic!("{patch:?}") };
        if let Ok(applied) = apply_located(text, hunks) {
            assert_eq!(applied.text, after[name], "{wrong}");
            assert_eq!(apply_strict(text, &applied.corrected).map(|applied| applied.text), Ok(applied.text.clone()));
            corrected.push_str(&format!("--- a/{name}\n+++ b/{name}\n{}", render(&applied.corrected)));
            expected.insert(name.clone(), applied.text);
            n_corrected += 1;
        }
    }
    for (tool, tree) in by_tools(&before, &corrected) {
        assert_eq!(tree, expected, "{tool}");
    }
    println!("{n_corrected} of {} diffs corrected", before.len());
    assert!(n_corrected > before.len() / 2);
}

/// Runs git in this repository; `None` without git or without a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Formats the hunks of a diff as a v4a patch, without line numbers.
fn as_v4a(path: &str, edit: &UnifiedEdit) -> String {
    let mut text = format!("*** Begin Patch\n*** Update File: {path}\n");
    for hunk in &edit.hunks {
        text.push_str("@@\n");
        for (kind, line) in hunk.lines.iter() {
            text.push(kind.marker());
            text.push_str(line.trim_end_matches('\n'));
            text.push('\n');
        }
    }
    text + "*** End Patch\n"
}

#[test]
fn this_repositorys_history_applies() {
    let Some(commits) =
        git(&["log", "--no-merges", "-n", "30", "--format=%H", "--diff-filter=M", "--", "*.rs", "*.md"])
    else {
        println!("skipped: the history (there is no git repository here)");
        return;
    };
    let (mut n_files, mut n_v4a, mut n_ambiguous) = (0, 0, 0);
    for commit in commits.lines() {
        let arguments = ["diff-tree", "-p", "--diff-filter=M", "--root", "-U3", commit, "--", "*.rs", "*.md"];
        let diff = git(&arguments).expect("a diff");
        let (_, diff) = diff.split_once('\n').expect("the commit's name");
        let Ok((patch, _)) = parse(diff, DiffMode::Strict) else { continue };
        for edit in &patch.edits {
            let Change::Unified(unified) = &edit.change else { panic!("{edit:?}") };
            let text = |revision: &str| git(&["show", &format!("{revision}:{}", edit.path)]).expect("a file");
            let (before, after) = (text(&format!("{commit}^")), text(commit));
            let files = [(edit.path.clone(), Some(before.clone()))].into();
            let planned = plan(&Patch { edits: vec![edit.clone()], overwrite: false }, &files);
            assert_eq!(planned.map(|files| files[0].after.clone()), Ok(Some(after.clone())), "{commit} {}", edit.path);
            n_files += 1;
            let tree: Tree = [(edit.path.clone(), before)].into();
            match apply_v4a(&tree, &as_v4a(&edit.path, unified)) {
                Ok(tree) => assert_eq!(tree[&edit.path], after, "{commit} {}", edit.path),
                Err((code, message)) => {
                    assert_eq!(code, "ambiguous", "{commit} {message}");
                    n_ambiguous += 1;
                }
            }
            n_v4a += 1;
        }
    }
    println!("{n_files} files of the history strictly, {n_v4a} as v4a ({n_ambiguous} ambiguous)");
    assert!(commits.is_empty() || n_files > 0);
}
