//! The list and a walk find the same paths while files and directories change, and the list is faster.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::*;
use crate::local::search::glob_paths;

/// Longer than the steps of the clock that stamps directories, which are at most 10 ms.
const STEP_OF_CLOCK: Duration = Duration::from_millis(25);

const LATER_NS: i64 = 10_000_000_000;

/// Files, directories, and names that are now the one and now the other.
const NAMES: [&str; 9] =
    ["a.txt", "b.log", "src", "src/a.txt", "src/deep", "src/deep/c.txt", "src/deep/d.log", "docs/e/f.md", ".hidden"];

/// A change of the project.
#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    Directory(usize),
    Remove(usize),
    Rename(usize, usize),
    /// Puts a link to a directory in place of a name.
    Link(usize),
    Ignore(usize, &'static str),
    /// Takes the right to read a directory, or gives it back.
    Close(usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES.len();
    let rules = prop::sample::select(vec!["", "*.log\n", "a.txt\n", "/src/\n", "deep/\n!d.log\n"]);
    prop_oneof![
        6 => name().prop_map(Step::Write),
        3 => name().prop_map(Step::Directory),
        3 => name().prop_map(Step::Remove),
        3 => (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => name().prop_map(Step::Link),
        3 => (0..3_usize, rules).prop_map(|(place, rules)| Step::Ignore(place, rules)),
        1 => (name(), any::<bool>()).prop_map(|(name, is_open)| Step::Close(name, is_open)),
    ]
}

/// Carries out a step. A step that does not fit the files does nothing.
fn take(root: &Path, step: &Step) {
    let at = |name: usize| root.join(NAMES[name]);
    let remove = |path: &Path| {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    };
    match step {
        Step::Write(name) => {
            let _ = fs::create_dir_all(at(*name).parent().unwrap());
            let _ = fs::write(at(*name), "text");
        }
        Step::Directory(name) => drop(fs::create_dir_all(at(*name))),
        Step::Remove(name) => remove(&at(*name)),
        Step::Rename(from, to) => drop(fs::rename(at(*from), at(*to))),
        Step::Link(name) => {
            remove(&at(*name));
            let _ = symlink(root.join("docs"), at(*name));
        }
        Step::Ignore(place, rules) => {
            drop(fs::write(root.join(["", "src", "src/deep"][*place]).join(".gitignore"), rules));
        }
        Step::Close(name, is_open) => {
            let mode = if *is_open { 0o755 } else { 0o311 };
            if fs::symlink_metadata(at(*name)).is_ok_and(|found| found.is_dir()) {
                fs::set_permissions(at(*name), fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}

fn walk(files: &RootFiles) -> Vec<FilePath> {
    glob_paths(files, &FilePath::root(), "**").unwrap()
}

#[test]
fn the_list_has_the_paths_of_a_walk_while_files_change() {
    let seed = std::env::var("EMEND_STORM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x18);
    let rounds = prop::collection::vec((prop::collection::vec(step(), 1..5), any::<bool>()), 1..12);
    let config = Config { cases: 60, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let (n_looks, n_kept) = (Cell::new(0), Cell::new(0));
    let run = TestRunner::new(config).run(&rounds, |rounds| {
        let directory = tempfile::tempdir().unwrap();
        let files = RootFiles::open(directory.path()).unwrap();
        let list = PathList::default();
        for (steps, is_later) in rounds {
            steps.iter().for_each(|step| take(directory.path(), step));
            // Either all changes are long ago, or each may repeat its stamp.
            let now = if is_later { now_ns() + LATER_NS } else { now_ns() };
            let (paths, n_listed) = list.update(&files, now).unwrap();
            prop_assert_eq!(&paths, &walk(&files), "{:?}", steps);
            n_looks.set(n_looks.get() + 1);
            let n_directories = list.0.lock().unwrap().len();
            n_kept.set(n_kept.get() + n_directories - n_listed);
            thread::sleep(STEP_OF_CLOCK);
        }
        Ok(())
    });
    println!("seed {seed}: {} looks, {} directories were not listed again", n_looks.get(), n_kept.get());
    run.unwrap();
    assert!(n_looks.get() > 200 && n_kept.get() > 100, "both outcomes occur often");
}

#[test]
fn a_change_within_a_step_of_the_clock_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let files = RootFiles::open(directory.path()).unwrap();
    let list = PathList::default();
    for number in 0..200 {
        fs::write(directory.path().join(format!("{number}.txt")), "").unwrap();
        assert_eq!(list.paths(&files).unwrap().len(), number + 1);
    }
}

#[test]
fn a_look_lists_only_the_directories_that_changed() {
    // Measured with 10,000: EMEND_PATHS_DIRECTORIES=1000.
    let n_directories = std::env::var("EMEND_PATHS_DIRECTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let directory = tempfile::tempdir().unwrap();
    for number in 0..n_directories {
        let inner = directory.path().join(format!("src/part{}/module{number}", number % 20));
        fs::create_dir_all(&inner).unwrap();
        for file in 0..10 {
            fs::write(inner.join(format!("file{file}.rs")), "").unwrap();
        }
    }
    let files = RootFiles::open(directory.path()).unwrap();
    let list = PathList::default();
    let all = list.update(&files, now_ns() + LATER_NS).unwrap();
    assert_eq!(all.0.len(), n_directories * 10);
    thread::sleep(STEP_OF_CLOCK);
    fs::write(directory.path().join("src/part1/module1/new.rs"), "").unwrap();
    let (paths, n_listed) = list.update(&files, now_ns() + LATER_NS).unwrap();
    assert_eq!((paths, n_listed), (walk(&files), 1));
    let median = |work: &dyn Fn()| {
        let mut times: Vec<Duration> = (0..15)
            .map(|_| {
                let begun = Instant::now();
                work();
                begun.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let of_list = median(&|| drop(list.update(&files, now_ns() + LATER_NS)));
    let of_walk = median(&|| drop(walk(&files)));
    println!("{} files: {of_list:.1?} with the list, {of_walk:.1?} with a walk (p50 of 15)", n_directories * 10);
}
