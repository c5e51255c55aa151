//! Three-way merge against `git merge-file`.

#![expect(clippy::disallowed_methods, reason = "these tests run on a host, with its files and programs")]

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::merge3;
use super::tests::sides;
use crate::test_support::cases;

const TRIPLES: usize = 600;

/// Merges with git. Returns the text, or `None` if there is a conflict.
fn gits_merge(dir: &Path, base: &str, ours: &str, theirs: &str) -> Option<String> {
    for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        fs::write(dir.join(name), text).unwrap();
    }
    let args = ["merge-file", "-p", "-q", "ours", "base", "theirs"];
    let output = Command::new("git").args(args).current_dir(dir).output().unwrap();
    let code = output.status.code().unwrap();
    assert!(code < 128, "{}", String::from_utf8_lossy(&output.stderr));
    (code == 0).then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_merge_without_conflict_equals_gits() {
    let dir = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::new(cases(1));
    let (n_clean, n_conflicts) = (Cell::new(0), Cell::new(0));
    for _ in 0..TRIPLES {
        let (base, ours, theirs) = sides().new_tree(&mut runner).unwrap().current();
        let merged = merge3(&base, &ours, &theirs);
        let gits = gits_merge(dir.path(), &base, &ours, &theirs);
        assert_eq!(gits.is_some(), merged.conflicts == 0, "{base:?} {ours:?} {theirs:?}: {merged:?}");
        match gits {
            Some(text) => {
                n_clean.set(n_clean.get() + 1);
                assert_eq!(merged.text, text, "{base:?} {ours:?} {theirs:?}");
            }
            None => n_conflicts.set(n_conflicts.get() + 1),
        }
    }
    println!("merged as git: {} clean, {} with conflicts", n_clean.get(), n_conflicts.get());
    assert!(n_clean.get() > TRIPLES / 4 && n_conflicts.get() > TRIPLES / 10);
}
