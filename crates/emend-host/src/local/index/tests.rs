//! Searches with and without the index give the same results while files change underneath.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use emend_agent::environment::{ExecutionEnvironment as _, FileMatches, GrepQuery};
use futures::executor::block_on;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::super::LocalEnvironment;
use super::super::tests::Disk;
use super::*;

/// A time after which no update of these tests happens by itself.
const FAR: Duration = Duration::from_secs(100_000);

/// Longer than the steps of the clock that stamps files, which are at most 10 ms.
const STEP_OF_CLOCK: Duration = Duration::from_millis(25);

/// An environment with an index, and the same without one.
struct Pair {
    with: LocalEnvironment,
    without: LocalEnvironment,
    index: Arc<ProjectIndex>,
    disk: Disk,
    /// Holds the index.
    _state: StateDir,
    _home: tempfile::TempDir,
}

impl Pair {
    fn new(fixture: &str, files_min: usize) -> Self {
        let disk = Disk::new(|_| fixture.to_owned());
        let home = tempfile::tempdir().unwrap();
        let state = StateDir::open_in(home.path(), &disk.root()).unwrap();
        let with = LocalEnvironment::new(disk.root()).unwrap().with_index(&state, files_min);
        let index = with.index.as_ref().unwrap().shared();
        index.lock().next = Some(Instant::now() + FAR);
        let without = LocalEnvironment::new(disk.root()).unwrap();
        Self { with, without, index, disk, _state: state, _home: home }
    }

    /// Brings the index up to date, as if all changes were long ago.
    fn update_later(&self) -> IndexFigures {
        let done = self.index.update_as_of(now_ns() + 10_000_000_000).unwrap();
        // From here on a change leaves another stamp, as it would after two seconds.
        thread::sleep(STEP_OF_CLOCK);
        done
    }

    fn grep(&self, pattern: &str) -> Vec<FileMatches> {
        block_on(self.with.grep(&query(pattern, false))).unwrap()
    }

    /// Returns how many files a search for `pattern` reads.
    fn n_read(&self, pattern: &str) -> usize {
        let matcher = Matcher::new(pattern, false).unwrap();
        let prefilter = Prefilter::of(&self.index, &matcher).unwrap();
        let filter = Filter::of_glob(&FilePath::root(), "**").unwrap();
        let keep = |directory: &Dir, name: &str, path: FilePath| prefilter.keeps(directory, name, &path).then_some(());
        find(&self.index.files, &FilePath::root(), &filter, Hidden::Skipped, &keep).unwrap().len()
    }
}

fn query(pattern: &str, case_insensitive: bool) -> GrepQuery {
    GrepQuery {
        matcher: Matcher::new(pattern, case_insensitive).unwrap(),
        path: FilePath::root(),
        glob: None,
        exclude: Vec::new(),
        max_results: 1_000,
        context_lines: 0,
    }
}

fn paths(found: &[FileMatches]) -> Vec<&str> {
    found.iter().map(|file| file.path.as_str()).collect()
}

const FIXTURE: &str = "//- a.txt\nneedle\n//- b.txt\nhay\n//- src/c.txt\nNeedle\n//- src/d.txt\nhay\n";

#[test]
fn a_search_reads_few_files_and_finds_what_it_finds_without() {
    let pair = Pair::new(FIXTURE, 1);
    assert_eq!(paths(&pair.grep("needle")), ["a.txt"], "before there is an index");
    assert_eq!(pair.update_later().n_files, 4);
    assert_eq!((paths(&pair.grep("needle")), pair.n_read("needle")), (vec!["a.txt"], 2));
    assert_eq!((paths(&pair.grep("(?i)NEEDLE")), pair.n_read("(?i)NEEDLE")), (vec!["a.txt", "src/c.txt"], 2));
    assert_eq!((pair.grep("absent").len(), pair.n_read("absent")), (0, 0));
}

#[test]
fn a_file_that_changed_since_is_read() {
    let pair = Pair::new(FIXTURE, 1);
    pair.update_later();
    fs::write(pair.disk.root().join("b.txt"), "now with a needle\n").unwrap();
    fs::write(pair.disk.root().join("new.txt"), "needle\n").unwrap();
    fs::rename(pair.disk.root().join("a.txt"), pair.disk.root().join("src/d.txt")).unwrap();
    assert_eq!(paths(&pair.grep("needle")), ["b.txt", "new.txt", "src/d.txt"]);
}

#[test]
fn a_modification_time_that_was_set_back_does_not_hide_a_change() {
    let pair = Pair::new(FIXTURE, 1);
    pair.update_later();
    let path = pair.disk.root().join("b.txt");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "hey\n").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    assert_eq!(paths(&pair.grep("hey")), ["b.txt"]);
}

#[test]
fn a_project_with_few_files_has_no_index() {
    let pair = Pair::new(FIXTURE, 5);
    assert_eq!(pair.update_later(), IndexFigures::default());
    fs::write(pair.disk.root().join("new.txt"), "needle\n").unwrap();
    assert_eq!(pair.update_later().n_files, 5);
}

#[test]
fn the_first_search_starts_the_work_and_a_dropped_environment_ends_it() {
    let pair = Pair::new(FIXTURE, 1);
    pair.index.lock().next = None;
    pair.grep("needle");
    let begun = Instant::now();
    while pair.index.lock().ready.is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the index is never ready");
        thread::sleep(Duration::from_millis(5));
    }
    let index = Arc::clone(&pair.index);
    drop(pair);
    let begun = Instant::now();
    while index.lock().is_updating {
        assert!(begun.elapsed() < Duration::from_secs(20), "the thread does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A change of the project, or an update of the index.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, String),
    /// Changes letters, so that the size stays the same.
    Replace(usize),
    /// As `Replace`, and sets the modification time back.
    ReplaceSecretly(usize),
    Remove(usize),
    Rename(usize, usize),
    Ignore(usize, &'static str),
    /// An update at once: all changes of the last seconds can repeat their stamps.
    Update,
    UpdateLater,
}

/// A search.
#[derive(Clone, Debug)]
struct Search {
    pattern: String,
    case_insensitive: bool,
    path: &'static str,
    glob: Option<&'static str>,
    max_results: usize,
    context_lines: usize,
}

const PATHS: [&str; 10] = [
    "a.txt",
    "b.rs",
    "src/a.txt",
    "src/b.rs",
    "src/deep/c.txt",
    "src/deep/d.log",
    "docs/e.md",
    "docs/f.txt",
    "g.log",
    "docs/.hidden",
];

const PIECES: [&str; 20] = [
    "needle",
    "Needle",
    "NEEDFUL",
    "noodle",
    "stra\u{df}e",
    "STRASSE",
    "\u{212a}elvin",
    "kelvin",
    "\u{17f}and",
    "sand",
    "\u{fc}ber",
    "\u{dc}BER",
    "\u{4e16}\u{754c}",
    "\n",
    "\n",
    "\r\n",
    "\r",
    " ",
    "abc",
    "\0",
];

const PATTERNS: [&str; 24] = [
    "needle",
    "NEEDLE",
    "need(le|ful)",
    "n(ee|oo)dle",
    "[nm]eedle|sand",
    "stra\u{df}e",
    "strasse",
    "kelvin",
    "k.lvin",
    "sand",
    "s[ab]nd",
    "\u{fc}ber",
    "\u{fc}ber|kelvin",
    "\u{4e16}\u{754c}",
    "(needle|abc)+",
    "need.*abc",
    "^abc",
    "abc$",
    r"\babc\b",
    "[^n]eedle",
    "(abc){2}",
    "a?bc",
    ".",
    "absent",
];

fn step() -> impl Strategy<Value = Step> {
    let text =
        || prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..12).prop_map(|pieces| pieces.concat());
    let file = || 0..PATHS.len();
    prop_oneof![
        6 => (file(), text()).prop_map(|(file, text)| Step::Write(file, text)),
        4 => file().prop_map(Step::Replace),
        2 => file().prop_map(Step::ReplaceSecretly),
        2 => file().prop_map(Step::Remove),
        2 => (file(), file()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (0..2_usize, prop::sample::select(vec!["", "*.log\n", "a.txt\n", "/src/\n", "deep/\n!d.log\n"]))
            .prop_map(|(place, rules)| Step::Ignore(place, rules)),
        3 => Just(Step::Update),
        2 => Just(Step::UpdateLater),
    ]
}

fn search() -> impl Strategy<Value = Search> {
    let pattern = prop_oneof![
        3 => prop::sample::select(PATTERNS.to_vec()).prop_map(str::to_owned),
        1 => prop::collection::vec(prop::sample::select(PATTERNS.to_vec()), 2).prop_map(|both| both.join("|")),
        1 => prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..3)
            .prop_map(|pieces| pieces.concat().replace(['\r', '\n', '\0'], " ")),
    ];
    let glob = prop::sample::select(vec![None, None, Some("*.txt"), Some("src/**"), Some("*.{rs,log}")]);
    let place = prop::sample::select(vec!["", "", "src", "docs"]);
    (pattern, any::<bool>(), place, glob, prop::sample::select(vec![1, 3, 1_000]), 0..2_usize).prop_map(
        |(pattern, case_insensitive, path, glob, max_results, context_lines)| Search {
            pattern,
            case_insensitive,
            path,
            glob,
            max_results,
            context_lines,
        },
    )
}

/// Carries out a step. Steps that need an absent file do nothing.
fn take(pair: &Pair, step: &Step) {
    let at = |file: usize| pair.disk.root().join(PATHS[file]);
    let replace = |path: &Path| {
        if let Ok(text) = fs::read_to_string(path) {
            let swap = |char| match char {
                'e' => 'o',
                'o' => 'e',
                other => other,
            };
            fs::write(path, text.chars().map(swap).collect::<String>()).unwrap();
        }
    };
    match step {
        Step::Write(file, text) => fs::write(at(*file), text).unwrap(),
        Step::Replace(file) => replace(&at(*file)),
        Step::ReplaceSecretly(file) => {
            let Ok(before) = fs::metadata(at(*file)).and_then(|found| found.modified()) else { return };
            replace(&at(*file));
            fs::File::options().write(true).open(at(*file)).unwrap().set_modified(before).unwrap();
        }
        Step::Remove(file) => drop(fs::remove_file(at(*file))),
        Step::Rename(from, to) => drop(fs::rename(at(*from), at(*to))),
        Step::Ignore(place, rules) => {
            fs::write(pair.disk.root().join(["", "src"][*place]).join(".gitignore"), rules).unwrap();
        }
        Step::Update => drop(pair.index.update().unwrap()),
        Step::UpdateLater => drop(pair.update_later()),
    }
}

#[test]
fn searches_with_and_without_the_index_agree_while_files_change() {
    let seed = std::env::var("EMEND_STORM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x17);
    let rounds =
        prop::collection::vec((prop::collection::vec(step(), 1..6), prop::collection::vec(search(), 3)), 1..12);
    let config = Config { cases: 60, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let (n_searches, n_found, n_left_out) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let add = |count: &Cell<usize>, more: usize| count.set(count.get() + more);
    let run = TestRunner::new(config).run(&rounds, |rounds| {
        let pair = Pair::new("//- src/deep/c.txt\nneedle\n//- docs/e.md\nkelvin\n", 1);
        pair.update_later();
        for (steps, searches) in rounds {
            steps.iter().for_each(|step| take(&pair, step));
            let paths = |environment: &LocalEnvironment| block_on(environment.glob_paths(&FilePath::root(), "**"));
            prop_assert_eq!(paths(&pair.with).unwrap(), paths(&pair.without).unwrap(), "{:?}", steps);
            for search in searches {
                let Ok(matcher) = Matcher::new(&search.pattern, search.case_insensitive) else { continue };
                let query = GrepQuery {
                    matcher,
                    path: FilePath::clean(search.path).unwrap(),
                    glob: search.glob.map(str::to_owned),
                    exclude: Vec::new(),
                    max_results: search.max_results,
                    context_lines: search.context_lines,
                };
                let with = block_on(pair.with.grep(&query)).unwrap();
                let without = block_on(pair.without.grep(&query)).unwrap();
                prop_assert_eq!(&with, &without, "{:?}", search);
                let all = pair.index.list().unwrap().len();
                add(&n_searches, 1);
                add(&n_found, with.len());
                add(&n_left_out, all - pair.n_read(&search.pattern));
            }
        }
        Ok(())
    });
    println!(
        "seed {seed}: {} searches, {} files found, {} left out",
        n_searches.get(),
        n_found.get(),
        n_left_out.get()
    );
    run.unwrap();
    assert!(n_searches.get() >= 1_000 && n_found.get() > 200 && n_left_out.get() > 1_000, "both outcomes occur often");
}
