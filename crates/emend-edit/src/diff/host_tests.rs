//! Unified diffs against independent programs: `git apply`, GNU `patch` and `git diff --minimal`.
//!
//! One call of each program handles many random pairs, as the files of one tree.

#![expect(clippy::disallowed_methods, reason = "these tests run on a host, with its files and programs")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::tests::text;
use super::{Names, diff_slices, unified};
use crate::test_support::cases;

const PAIRS: usize = 1_000;

fn random_pairs() -> Vec<(String, String)> {
    let mut runner = TestRunner::new(cases(1));
    let mut draw = || (text(), text()).new_tree(&mut runner).unwrap().current();
    (0..PAIRS).map(|_| draw()).collect()
}

fn run(dir: &Path, program: &str, args: &[&str]) -> Output {
    Command::new(program).args(args).current_dir(dir).output().unwrap_or_else(|e| panic!("{program}: {e}"))
}

/// Writes the old texts and one patch for all pairs, applies it with `program`, and compares every file.
fn check_applies(program: &str, args: &[&str], pairs: &[(String, String)]) {
    let dir = tempfile::tempdir().unwrap();
    let mut patch = String::new();
    for (index, (old, new)) in pairs.iter().enumerate() {
        fs::write(dir.path().join(format!("f{index}")), old).unwrap();
        let (a, b) = (format!("a/f{index}"), format!("b/f{index}"));
        patch.push_str(&unified(old, new, index % 4, Names { old: &a, new: &b }));
    }
    fs::write(dir.path().join("all.patch"), patch).unwrap();
    let output = run(dir.path(), program, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (index, (_, new)) in pairs.iter().enumerate() {
        let found = fs::read_to_string(dir.path().join(format!("f{index}"))).unwrap();
        assert_eq!(&found, new, "{program} on pair {index}");
    }
    println!("{program} applied {} diffs", pairs.len());
}

#[test]
fn git_and_patch_apply_our_diffs() {
    // Both programs treat a diff from or to an empty file as its creation or deletion.
    let mut pairs = random_pairs();
    pairs.retain(|(old, new)| !old.is_empty() && !new.is_empty());
    check_applies("patch", &["-p1", "--binary", "--fuzz=0", "-s", "-i", "all.patch"], &pairs);
    check_applies("git", &["apply", "--unidiff-zero", "--whitespace=nowarn", "all.patch"], &pairs);
}

#[test]
fn our_diffs_are_as_short_as_gits() {
    let dir = tempfile::tempdir().unwrap();
    let pairs = random_pairs();
    for (index, (old, new)) in pairs.iter().enumerate() {
        for (side, text) in [("old", old), ("new", new)] {
            fs::create_dir_all(dir.path().join(side)).unwrap();
            fs::write(dir.path().join(side).join(format!("f{index}")), text).unwrap();
        }
    }
    let args = ["diff", "--no-index", "--minimal", "--numstat", "-z", "--text", "--no-renames", "old", "new"];
    let output = run(dir.path(), "git", &args);
    let stat = String::from_utf8(output.stdout).unwrap();
    let (mut n_compared, mut n_shorter) = (0, 0);
    // For each pair that differs: the two numbers, then the two names.
    let fields: Vec<&str> = stat.split_terminator('\0').collect();
    for fields in fields.chunks(3) {
        if fields[0].starts_with('-') {
            continue; // A NUL makes git take a text for binary, and it counts nothing.
        }
        let gits: usize = fields[0].split_terminator('\t').map(|number| number.parse::<usize>().unwrap()).sum();
        let index: usize = fields[1].strip_prefix("old/f").unwrap().parse().unwrap();
        let (old, new) = &pairs[index];
        let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
        let ops = diff_slices(&lines(old), &lines(new));
        let ours: usize = ops.iter().map(|op| op.old.len() + op.new.len()).sum();
        // Even with `--minimal`, git skips lines that it finds confusing before it searches, so it sometimes misses
        // the shortest diff.
        assert!(ours <= gits, "{ours} against {gits}: {old:?} -> {new:?}");
        n_compared += 1;
        n_shorter += usize::from(ours < gits);
    }
    println!("compared {n_compared} diffs with git's: {n_shorter} are shorter, the others as short");
    assert!(n_compared > PAIRS / 2);
}
