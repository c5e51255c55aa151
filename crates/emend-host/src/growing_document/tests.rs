//! Documents that are cut at any byte, alone and under a workspace that saves its line logs.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use emend_agent::environment::memory::{MemFs, Quota};
use emend_agent::environment::{EnvError, ExecutionEnvironment};
use emend_agent::workspace::{
    FileWrite, Mode, ReadTracker, SaveSnapshot, Snapshot, Workspace, WorkspaceError, WriteContext,
};
use emend_llm::CancelToken;
use futures::executor::block_on;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngSeed};
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::SystemClock;

type Numbers = BTreeMap<String, u64>;

fn numbers(numbers: &[(&str, u64)]) -> Numbers {
    numbers.iter().map(|&(name, number)| (name.to_owned(), number)).collect()
}

fn open() -> (TempDir, Arc<StateDir>, PathBuf) {
    let around = TempDir::new().unwrap();
    let root = around.path().join("project");
    fs::create_dir(&root).unwrap();
    let state = Arc::new(StateDir::open_in(&around.path().join("home"), &root).unwrap());
    let path = state.directory().join("numbers.json");
    (around, state, path)
}

fn load(state: &Arc<StateDir>) -> Result<Option<Numbers>, StateError> {
    let document = GrowingDocument::new(Arc::clone(state), "numbers");
    document.load(|all: &mut Numbers, mut later| {
        all.append(&mut later);
        Ok::<_, Infallible>(())
    })
}

#[test]
fn changes_are_appended_to_the_whole() {
    let (_around, state, path) = open();
    let document = GrowingDocument::new(Arc::clone(&state), "numbers");
    assert_eq!(load(&state).unwrap(), None);
    assert!(!document.append(&numbers(&[("a", 1)])).unwrap());
    assert!(!path.exists());
    document.replace(&numbers(&[("a", 1), ("b", 2)])).unwrap();
    assert!(document.append(&numbers(&[("b", 3)])).unwrap());
    assert!(document.append(&numbers(&[("c", 4)])).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":1,\"b\":2}\n{\"b\":3}\n{\"c\":4}\n");
    assert_eq!(load(&state).unwrap(), Some(numbers(&[("a", 1), ("b", 3), ("c", 4)])));
    document.replace(&numbers(&[("d", 5)])).unwrap();
    assert_eq!(load(&state).unwrap(), Some(numbers(&[("d", 5)])));
}

#[test]
fn a_document_of_an_earlier_version_is_replaced_before_it_grows() {
    let (_around, state, path) = open();
    fs::write(&path, "{\"a\":1}").unwrap();
    assert_eq!(load(&state).unwrap(), Some(numbers(&[("a", 1)])));
    let document = GrowingDocument::new(Arc::clone(&state), "numbers");
    assert!(!document.append(&numbers(&[("b", 2)])).unwrap());
    document.replace(&numbers(&[("a", 1)])).unwrap();
    assert!(document.append(&numbers(&[("b", 2)])).unwrap());
    assert_eq!(load(&state).unwrap(), Some(numbers(&[("a", 1), ("b", 2)])));
}

#[test]
fn a_document_that_was_cut_at_any_byte_has_its_complete_changes() {
    let (_around, state, path) = open();
    let lines = ["{\"a\":1,\"b\":2}\n", "{\"b\":30}\n", "{\"c\":4}\n", "{\"a\":5,\"c\":6}\n"];
    let texts = [
        numbers(&[("a", 1), ("b", 2)]),
        numbers(&[("a", 1), ("b", 30)]),
        numbers(&[("a", 1), ("b", 30), ("c", 4)]),
        numbers(&[("a", 5), ("b", 30), ("c", 6)]),
    ];
    let whole = lines.concat();
    for cut in lines[0].len()..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let n_complete = whole[..cut].matches('\n').count();
        assert_eq!(load(&state).unwrap().as_ref(), Some(&texts[n_complete - 1]), "{cut}");
        // The blocks of the last line that did not reach the disk read as zeros.
        let mut holed = whole.as_bytes()[..cut].to_vec();
        holed.resize(cut + 8, 0);
        fs::write(&path, holed).unwrap();
        assert_eq!(load(&state).unwrap().as_ref(), Some(&texts[n_complete - 1]), "{cut}");
    }
}

#[test]
fn a_broken_line_before_the_last_one_is_reported() {
    let (_around, state, path) = open();
    for text in ["", "{\"a\":", "{\"a\":\n{\"b\":2}\n", "{\"a\":1}\n{\"b\":\n{\"c\":2}\n"] {
        fs::write(&path, text).unwrap();
        assert!(matches!(load(&state), Err(StateError::Corrupt { .. })), "{text:?}");
    }
}

#[test]
fn a_document_whose_changes_outweigh_it_is_replaced() {
    let (_around, state, _) = open();
    let document = GrowingDocument::new(Arc::clone(&state), "numbers");
    let big = "x".repeat(1 << 20);
    document.replace(&numbers(&[("a", 1)])).unwrap();
    for _ in 0..3 {
        assert!(document.append(&numbers(&[(&big, 1)])).unwrap());
    }
    assert!(!document.append(&numbers(&[(&big, 1)])).unwrap());
    assert!(document.append(&numbers(&[("b", 2)])).unwrap());
}

#[test]
fn a_document_of_many_changes_is_replaced() {
    let (_around, state, _) = open();
    let document = GrowingDocument::new(Arc::clone(&state), "numbers");
    let n_appended = |whole: &Numbers| {
        document.replace(whole).unwrap();
        (0..2_000).take_while(|&number| document.append(&numbers(&[("a", number)])).unwrap()).count()
    };
    assert_eq!(n_appended(&numbers(&[("a", 1)])), 1_000);
    // Each change of a document of 4 MiB is applied to all of it.
    assert_eq!(n_appended(&numbers(&[(&"x".repeat(4 << 20), 1)])), 511);
}

#[test]
#[cfg(unix)]
fn whole_and_changes_are_on_the_disk_when_the_call_returns() {
    let (_around, state, path) = open();
    let document = GrowingDocument::new(Arc::clone(&state), "numbers");
    document.replace(&numbers(&[("a", 1)])).unwrap();
    crate::files::synced::check(&path);
    document.append(&numbers(&[("b", 2)])).unwrap();
    crate::files::synced::check(&path);
}

/// Saves a workspace, and remembers what each line of the document stands for.
struct Saver {
    document: GrowingDocument,
    path: PathBuf,
    fails: AtomicBool,
    /// The size of the document after each line, and the whole state then.
    lines: Mutex<Vec<(usize, Value)>>,
}

impl SaveSnapshot for Saver {
    fn save(&self, changes: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), EnvError> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(EnvError::Io { path: "state".to_owned(), reason: "full".to_owned() });
        }
        let mut lines = self.lines.lock().unwrap();
        if !self.document.append(changes).unwrap() {
            self.document.replace(&whole()).unwrap();
            lines.clear();
        }
        lines.push((fs::metadata(&self.path).unwrap().len() as usize, serde_json::to_value(whole()).unwrap()));
        Ok(())
    }
}

/// Fails after a number of saves.
struct Failing {
    saver: Saver,
    n_left: AtomicUsize,
}

impl SaveSnapshot for Failing {
    fn save(&self, changes: &Snapshot, whole: &dyn Fn() -> Snapshot) -> Result<(), EnvError> {
        let fails = self.n_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err();
        self.saver.fails.store(fails, Ordering::Relaxed);
        self.saver.save(changes, whole)
    }
}

#[test]
fn a_log_that_was_saved_for_a_failed_write_is_saved_again() {
    let (_around, state, path) = open();
    let document = GrowingDocument::new(Arc::clone(&state), "numbers");
    let saver = Saver { document, path, fails: AtomicBool::new(false), lines: Mutex::default() };
    let saver = Arc::new(Failing { saver, n_left: AtomicUsize::new(usize::MAX) });
    let files = MemFs::from_fixture("//- a.txt\none\n").with_quota(Quota { bytes: Some(10), files: None });
    let environment = Arc::new(files) as Arc<dyn ExecutionEnvironment>;
    let workspace =
        Workspace::new(environment, Mode::Staged, Arc::new(SystemClock)).with_saver(Arc::clone(&saver) as _);
    let (reads, cancel) = (ReadTracker::default(), CancelToken::new());
    let run_id = workspace.begin_run();
    let context =
        WriteContext { run_id, call_id: "call", lease: None, may_write: true, reads: &reads, cancel: &cancel };
    let (path, text) = ("a.txt".to_owned(), Some("one\nan edit that is too large\n".to_owned()));
    let file = FileWrite { path, text, moved_from: None, steps: Vec::new() };
    let planned = |_: &emend_agent::workspace::Texts| Ok::<_, WorkspaceError>((vec![file], ()));
    block_on(workspace.write(&context, &["a.txt".to_owned()], planned)).unwrap();
    workspace.persist().unwrap();
    // The log of the acceptance is saved, the disk is full, and so is that of the state.
    saver.n_left.store(1, Ordering::Relaxed);
    assert!(block_on(workspace.accept_all(None)).is_err());
    assert_eq!(saver.n_left.load(Ordering::Relaxed), 0);
    saver.n_left.store(usize::MAX, Ordering::Relaxed);
    // A rejection changes no file.
    block_on(workspace.reject_all(None)).unwrap();
    workspace.persist().unwrap();
    let loaded = GrowingDocument::new(state, "numbers").load(Snapshot::apply).unwrap().unwrap();
    assert_eq!(serde_json::to_value(loaded).unwrap(), serde_json::to_value(workspace.snapshot()).unwrap());
}

#[derive(Clone, Debug)]
enum Step {
    Agent { files: Vec<(Index, Index, u8)>, saves: bool },
    Delete { file: Index },
    User { file: Index, line: Index, text: u8 },
    OtherProgram { file: Index, text: u8 },
    Decide { accepts: bool },
    Undo,
    Redo,
    Save,
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (any::<Index>(), any::<Index>(), any::<u8>());
    prop_oneof![
        8 => (proptest::collection::vec(place(), 1..3), proptest::bool::weighted(0.9))
            .prop_map(|(files, saves)| Step::Agent { files, saves }),
        1 => any::<Index>().prop_map(|file| Step::Delete { file }),
        2 => place().prop_map(|(file, line, text)| Step::User { file, line, text }),
        2 => (any::<Index>(), any::<u8>()).prop_map(|(file, text)| Step::OtherProgram { file, text }),
        1 => any::<bool>().prop_map(|accepts| Step::Decide { accepts }),
        1 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => Just(Step::Save),
    ]
}

const PATHS: [&str; 4] = ["a.txt", "b.txt", "c.txt", "new.txt"];

/// The line to replace and the number in the new one; `None` deletes the file.
type Edit = Option<(Index, u8)>;

/// Returns a text with one line replaced.
fn edited(text: &str, line: Index, with: u8) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match lines.len() {
        0 => lines.push(with.to_string()),
        n => lines[line.index(n)] = format!("line {with}"),
    }
    lines.join("\n") + "\n"
}

fn take(step: &Step, files: &MemFs, workspace: &Workspace, saver: &Saver, reads: &ReadTracker) {
    let cancel = CancelToken::new();
    let write = |edits: &[(Index, Edit)]| {
        let run_id = workspace.begin_run();
        let context = WriteContext { run_id, call_id: "call", lease: None, may_write: true, reads, cancel: &cancel };
        let mut paths: Vec<String> = edits.iter().map(|(file, _)| PATHS[file.index(PATHS.len())].to_owned()).collect();
        paths.dedup();
        let planned = |texts: &emend_agent::workspace::Texts| {
            let write = |(path, (_, edit)): (&String, &(Index, Edit))| FileWrite {
                path: path.clone(),
                text: edit.map(|(line, with)| edited(texts[path].as_deref().unwrap_or_default(), line, with)),
                moved_from: None,
                steps: Vec::new(),
            };
            Ok::<_, WorkspaceError>((paths.iter().zip(edits).map(write).collect(), ()))
        };
        // An edit may be refused because the state is not saved, or because the files are full.
        drop(block_on(workspace.write(&context, &paths, planned)));
    };
    match step {
        Step::Agent { files, saves } => {
            saver.fails.store(!saves, Ordering::Relaxed);
            write(&files.iter().map(|&(file, line, with)| (file, Some((line, with)))).collect::<Vec<_>>());
            saver.fails.store(false, Ordering::Relaxed);
        }
        Step::Delete { file } => write(&[(*file, None)]),
        Step::User { file, line, text } => {
            let path = PATHS[file.index(PATHS.len())];
            let before = block_on(workspace.text(path)).unwrap().unwrap_or_default();
            drop(block_on(workspace.user_edit(path, Some(&edited(&before, *line, *text)), None)));
        }
        Step::OtherProgram { file, text } => {
            let _ = files.insert(PATHS[file.index(PATHS.len())], format!("other {text}\n"));
        }
        Step::Decide { accepts: true } => drop(block_on(workspace.accept_all(None))),
        Step::Decide { accepts: false } => drop(block_on(workspace.reject_all(None))),
        Step::Undo => drop(block_on(workspace.undo_runs(&[workspace.last_run()]))),
        Step::Redo => drop(block_on(workspace.redo_runs())),
        Step::Save => workspace.persist().unwrap(),
    }
}

fn config() -> Config {
    let n_cases = if option_env!("EMEND_FEW_CASES").is_some() { 10 } else { 60 };
    Config {
        cases: n_cases,
        rng_seed: RngSeed::Fixed(0x656d_656e_6400),
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_workspace_that_was_cut_at_any_byte_has_its_last_complete_save(
        steps in proptest::collection::vec(step(), 1..30),
        is_staged: bool,
        quota in prop_oneof![Just(1_000_000), 60_u64..200],
        changes_bytes_min in prop_oneof![Just(2_000), Just(CHANGES_BYTES_MIN)],
        cuts in proptest::collection::vec(any::<Index>(), 4),
    ) {
        let (_around, state, path) = open();
        let document = || GrowingDocument { changes_bytes_min, ..GrowingDocument::new(Arc::clone(&state), "numbers") };
        let (fails, lines) = (AtomicBool::new(false), Mutex::default());
        let saver = Arc::new(Saver { document: document(), path: path.clone(), fails, lines });
        let files = Arc::new(MemFs::from_fixture("//- a.txt\none\ntwo\nthree\n//- b.txt\nbee\n//- c.txt\n").with_quota(Quota { bytes: Some(quota), files: None }));
        let mode = if is_staged { Mode::Staged } else { Mode::Direct };
        let environment = Arc::clone(&files) as Arc<dyn ExecutionEnvironment>;
        let workspace = Workspace::new(environment, mode, Arc::new(SystemClock)).with_saver(Arc::clone(&saver) as _);
        let reads = ReadTracker::default();
        for step in &steps {
            take(step, &files, &workspace, &saver, &reads);
        }
        workspace.persist().unwrap();
        let lines = saver.lines.lock().unwrap();
        let whole = fs::read(&path).unwrap();
        prop_assert_eq!(lines.last().unwrap().0, whole.len());
        prop_assert_eq!(&lines.last().unwrap().1, &serde_json::to_value(workspace.snapshot()).unwrap());
        let first = lines[0].0;
        let cuts = cuts.iter().map(|cut| first + cut.index(whole.len() - first + 1));
        // All cuts at line ends and beside them.
        let ends = lines.iter().flat_map(|(end, _)| [end - 1, *end, end + 1]).filter(|&at| at >= first && at <= whole.len());
        for cut in cuts.chain(ends) {
            fs::write(&path, &whole[..cut]).unwrap();
            let loaded = document().load(Snapshot::apply).unwrap().unwrap();
            let expected = &lines.iter().rev().find(|(end, _)| *end <= cut).unwrap().1;
            prop_assert_eq!(&serde_json::to_value(&loaded).unwrap(), expected, "cut at {} of {}", cut, whole.len());
            let next = Workspace::new(Arc::clone(&files) as _, mode, Arc::new(SystemClock));
            prop_assert!(next.restore(loaded).is_ok());
        }
    }
}
