//! Globs and `.gitignore` rules compared with `globset`, `ignore` and git itself.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use emend_agent::environment::{ExecutionEnvironment as _, FilePath};
use emend_agent::search::glob::GlobPattern;
use futures::executor::block_on;
use proptest::prelude::*;

use super::{Disk, cases};

fn joined(pieces: &'static [&'static str], lengths: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), lengths).prop_map(|pieces| pieces.concat())
}

#[test]
fn globs_match_as_globset_does() {
    let pieces =
        &["a", "b", ".a", "*", "**", "/", "/", "?", "[ab]", "[!a]", "[a-c]", "{a,b}", "{a,b/c}", "**/", "/**", r"\*"];
    let segment = || joined(&["a", "b", "ab", "x.a", "c", "*"], 1..3);
    let path = prop::collection::vec(segment(), 1..4).prop_map(|segments| segments.join("/"));
    let (compared, matched) = (Cell::new(0), Cell::new(0));
    proptest!(cases(4_000), |(glob in joined(pieces, 1..6), paths in prop::collection::vec(path, 20))| {
        // A trailing slash means a directory, which this test does not include. Three stars equal two, as in git; globset
        // treats them as one.
        if glob.ends_with('/') || glob.contains("***") {
            return Ok(());
        }
        let Ok(theirs) = globset::GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build() else {
            return Ok(());
        };
        let (theirs, ours) = (theirs.compile_matcher(), GlobPattern::new(&glob).unwrap());
        for path in paths {
            // No class matches a slash, as in git. In globset negated classes do.
            if glob.contains("[!") && path.contains('/') {
                continue;
            }
            let expected = theirs.is_match(&path);
            compared.set(compared.get() + 1);
            matched.set(matched.get() + u32::from(expected));
            prop_assert_eq!(ours.is_match(&path), expected, "{} against {}", glob, path);
        }
    });
    println!("{} paths compared, {} of them matched", compared.get(), matched.get());
    assert!(compared.get() > 20_000 && matched.get() > 2_000);
}

/// A tree in which short patterns often match something.
fn tree() -> String {
    let mut fixture = String::new();
    for directory in ["", "a/", "b/", "ab/", "a/a/", "a/b/", "a/b/a/", "b/a.x/"] {
        for name in ["a.x/f", "b.x", "x", "{a,b}", "#a", "!b", "c d", "c "] {
            fixture.push_str(&format!("//- {directory}{name}\n"));
        }
    }
    fixture
}

fn rule() -> impl Strategy<Value = String> {
    let pieces = &[
        "a", "b", ".x", "x", "*", "*", "/", "/", "?", "[ab]", "[!a]", "{a,b}", "**/", "/**", r"\#a", r"\!b", "#",
        "c d", "c", r"\ ", " ",
    ];
    let end = prop::sample::select(vec!["", "", "", "/", "  ", "\r"]);
    let start = prop::sample::select(vec!["", "", "/", "!", "!/", "!"]);
    (start, joined(pieces, 1..4), end).prop_map(|(start, middle, end)| format!("{start}{middle}{end}"))
}

fn sorted(paths: impl Iterator<Item = String>) -> BTreeSet<String> {
    paths.filter(|path| !path.split('/').any(|segment| segment.starts_with('.'))).collect()
}

fn ours(disk: &Disk) -> BTreeSet<String> {
    let found = block_on(disk.environment().glob(&FilePath::root(), "**")).unwrap();
    sorted(found.into_iter().map(|entry| entry.path.as_str().to_owned()))
}

fn of_ignore(root: &Path) -> BTreeSet<String> {
    let mut walk = ignore::WalkBuilder::new(root);
    walk.standard_filters(false).git_ignore(true).require_git(false).hidden(true);
    let files = walk.build().map(Result::unwrap).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    sorted(files.map(|entry| entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned()))
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["-c", "core.excludesFile=/dev/null"]).args(arguments).stderr(Stdio::null());
    let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Returns whether several stars are next to other characters in a segment, as in `a**`.
///
/// Git's manual says that they equal one star, but git 2.47 does not always follow it, and three stars are undocumented.
fn has_glued_stars(rules: &str) -> bool {
    rules.split(['/', '\n', '!']).any(|segment| segment.contains("**") && segment.trim_end() != "**")
}

/// Repeatedly writes two `.gitignore` files into a tree and passes them to `check` with the result of our walk.
fn walks(count: u32, check: impl Fn(&Disk, &str, BTreeSet<String>) -> Result<(), TestCaseError>) {
    let disk = Disk::new(|_| tree());
    let all = ours(&disk).len();
    let ignored = Cell::new(0);
    let rules = || prop::collection::vec(rule(), 0..4).prop_map(|rules| rules.join("\n"));
    proptest!(cases(count), |(top in rules(), inner in rules())| {
        if has_glued_stars(&top) || has_glued_stars(&inner) {
            return Ok(());
        }
        fs::write(disk.root().join(".gitignore"), &top).unwrap();
        fs::write(disk.root().join("a/.gitignore"), &inner).unwrap();
        let ours = ours(&disk);
        ignored.set(ignored.get() + u32::from(ours.len() < all));
        check(&disk, &format!("{top}\n{inner}"), ours)?;
    });
    println!("{} of {count} pairs of files ignored something", ignored.get());
    assert!(ignored.get() > count / 5);
}

#[test]
fn gitignore_matches_as_git_does() {
    walks(400, |disk, rules, ours| {
        if !disk.root().join(".git").exists() && git(&disk.root(), &["init", "-q"]).is_none() {
            println!("git is not installed: a case is skipped");
            return Ok(());
        }
        let theirs = git(&disk.root(), &["ls-files", "-z", "--others", "--exclude-standard"]).unwrap();
        let theirs = sorted(theirs.split_terminator('\0').map(str::to_owned));
        prop_assert_eq!(ours, theirs, "{}", rules);
        Ok(())
    });
}

#[test]
fn gitignore_matches_as_ripgrep_does() {
    let compared = Cell::new(0);
    walks(1_200, |disk, rules, ours| {
        // On differences between the two, git decides: braces are literal, an empty pattern or segment matches nothing, and an escaped
        // trailing space is kept.
        let says_nothing = |line: &str| !line.is_empty() && line.trim_matches(['!', '/', ' ']).is_empty();
        if ["{", "//", r"\ "].iter().any(|odd| rules.contains(odd)) || rules.lines().any(says_nothing) {
            return Ok(());
        }
        compared.set(compared.get() + 1);
        prop_assert_eq!(ours, of_ignore(&disk.root()), "{}", rules);
        Ok(())
    });
    println!("{} pairs compared", compared.get());
    assert!(compared.get() > 300);
}
