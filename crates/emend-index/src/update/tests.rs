//! Tests of the index as a whole: searches with it and without it find the same, whatever changes and whatever breaks.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use regex_syntax::hir::Hir;

use super::*;
use crate::index::Verdict;
use crate::plan::Plan;

/// Small sizes, so that few files reach every branch.
const SMALL: Limits = Limits { index_bytes_max: u64::MAX, batch_bytes_max: 200, delta_files_max: 3 };

/// The time of the first update, in nanoseconds.
const NOW: i64 = 1_000_000_000_000;
const SECOND: i64 = 1_000_000_000;

/// Files in memory, with the stamps that a file system would give them.
#[derive(Clone, Debug, Default)]
struct Project {
    files: BTreeMap<String, (Stamp, Vec<u8>)>,
    n_inodes: u64,
    now_ns: i64,
}

/// A project and its files as a list.
struct Listed<'a>(&'a Project, Vec<(String, Stamp)>);

impl Files for Listed<'_> {
    fn list(&self) -> &[(String, Stamp)] {
        &self.1
    }

    fn read(&self, path: &str) -> Option<Reading> {
        let (stamp, content) = self.0.files.get(path)?;
        let content = if content.contains(&0) { Content::Binary } else { Content::Text(content.clone()) };
        Some(Reading { stamp: *stamp, content })
    }
}

impl Project {
    fn of(files: &[(&str, &str)]) -> Self {
        let mut project = Self { now_ns: NOW - 100 * SECOND, ..Self::default() };
        files.iter().for_each(|(path, content)| project.write(path, content));
        project.now_ns = NOW;
        project
    }

    /// Writes a file in place, so that it keeps its inode.
    fn write(&mut self, path: &str, content: &str) {
        let inode = self.files.get(path).map_or(self.n_inodes + 1, |(stamp, _)| stamp.inode);
        self.n_inodes = self.n_inodes.max(inode);
        let size = content.len() as u64;
        let stamp = Stamp { modified_ns: self.now_ns, changed_ns: self.now_ns, size, inode };
        self.files.insert(path.to_owned(), (stamp, content.as_bytes().to_vec()));
    }

    fn touch(&mut self, path: &str) {
        if let Some((stamp, _)) = self.files.get_mut(path) {
            stamp.changed_ns = self.now_ns;
        }
    }

    fn update_in(&self, directory: &Path, limits: Limits) -> Updated {
        let list = self.files.iter().map(|(path, (stamp, _))| (path.clone(), *stamp)).collect();
        update_within(limits, directory, &scope(), self.now_ns, &Listed(self, list)).unwrap()
    }

    /// Returns the files that contain `text` as a search with `index` finds them, and how many it read.
    fn search(&self, index: &Index, text: &str) -> (Vec<&str>, usize) {
        let selection = index.select(&Plan::new(&Hir::literal(text.as_bytes())));
        let is_read = |path: &str, stamp: Stamp| match index.verdict(&selection, path) {
            Verdict::Unknown | Verdict::MayMatch => true,
            Verdict::SkipIfStill(expected) => expected != stamp,
        };
        let read: Vec<_> = self.files.iter().filter(|(path, (stamp, _))| is_read(path, *stamp)).collect();
        let found = read.iter().filter(|(_, (_, content))| has(content, text)).map(|(path, _)| path.as_str());
        (found.collect(), read.len())
    }

    fn search_all(&self, text: &str) -> Vec<&str> {
        self.files.iter().filter(|(_, (_, content))| has(content, text)).map(|(path, _)| path.as_str()).collect()
    }
}

fn scope() -> Scope {
    Scope::of("/project")
}

/// Returns whether a file that is not binary contains `text`.
fn has(content: &[u8], text: &str) -> bool {
    !content.contains(&0) && content.windows(text.len().max(1)).any(|window| window == text.as_bytes())
}

const FILES: [(&str, &str); 4] =
    [("a.rs", "fn alpha() {}\n"), ("b.rs", "fn Beta() {}\n"), ("c/d.txt", "delta\r\nalpha\n"), ("e.png", "alpha\0")];

#[test]
fn a_search_reads_only_files_that_can_match() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::of(&FILES);
    let updated = project.update_in(folder.path(), SMALL);
    assert_eq!((updated.n_read, updated.n_racy, updated.index.n_files()), (4, 0, 4));
    assert_eq!(project.search(&updated.index, "alpha"), (vec!["a.rs", "c/d.txt"], 2));
    assert_eq!(project.search(&updated.index, "beta"), (vec![], 1));
    assert_eq!(project.search(&updated.index, "omega"), (vec![], 0));
    assert_eq!(project.search(&updated.index, "al"), (vec!["a.rs", "c/d.txt"], 3), "too short: all texts are read");
}

#[test]
fn an_update_reads_only_files_whose_stamp_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut project = Project::of(&FILES);
    project.update_in(folder.path(), SMALL);
    let read = |project: &mut Project| {
        project.now_ns += 10 * SECOND;
        let updated = project.update_in(folder.path(), SMALL);
        (updated.n_read, updated.index.delta.as_ref().map_or(0, Segment::n_documents))
    };
    assert_eq!(read(&mut project), (0, 0), "nothing changed");
    project.write("b.rs", "fn gamma() {}\n");
    assert_eq!(read(&mut project), (1, 1), "one file changed");
    project.touch("a.rs");
    assert_eq!(read(&mut project), (1, 2), "a file with a new stamp has its old content");
    assert_eq!(read(&mut project), (0, 2), "nothing changed since");
    project.files.remove("c/d.txt");
    assert_eq!(read(&mut project), (0, 3), "a file was removed");
    let index = Index::open(folder.path(), &scope()).unwrap();
    let mut paths = Vec::new();
    index.each_path(|path| paths.push(path.to_owned()));
    paths.sort();
    assert_eq!(paths, ["a.rs", "b.rs", "e.png"]);
    assert_eq!(project.search(&index, "alpha"), (vec!["a.rs"], 1));
    assert_eq!(project.search(&index, "gamma"), (vec!["b.rs"], 1));
    project.write("f.rs", "alpha");
    project.write("g.rs", "");
    assert_eq!(read(&mut project), (2, 0), "a large delta becomes a new base");
}

#[test]
fn a_file_that_changed_just_before_the_update_is_searched() {
    let folder = tempfile::tempdir().unwrap();
    let mut project = Project::of(&FILES);
    project.write("a.rs", "fn omega() {}\n");
    let updated = project.update_in(folder.path(), SMALL);
    assert_eq!(updated.n_racy, 1);
    // An edit of the same length in the same granule of the clock leaves the stamp as it is.
    project.write("a.rs", "fn sigma() {}\n");
    assert_eq!(project.search(&updated.index, "sigma").0, ["a.rs"]);
    project.now_ns += 10 * SECOND;
    let updated = project.update_in(folder.path(), SMALL);
    assert_eq!((updated.n_read, updated.n_racy), (1, 0));
    assert_eq!(project.search(&updated.index, "sigma"), (vec!["a.rs"], 1));
}

#[test]
fn files_that_cannot_be_indexed_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let mut project = Project::of(&FILES);
    project.now_ns -= 50 * SECOND;
    project.write("large", &"x".repeat(TEXT_BYTES_MAX as usize + 1));
    project.now_ns = NOW;
    let index = project.update_in(folder.path(), SMALL).index;
    assert_eq!(project.search(&index, "xxxx"), (vec!["large"], 1));
    let full = project.update_in(tempfile::tempdir().unwrap().path(), Limits { index_bytes_max: 1, ..SMALL }).index;
    assert_eq!(project.search(&full, "beta").1, 3, "only the first text is indexed, and the binary file is known");
}

#[test]
fn an_index_of_another_project_or_format_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::of(&FILES);
    assert!(Index::open(folder.path(), &scope()).is_none());
    project.update_in(folder.path(), SMALL);
    assert!(Index::open(folder.path(), &scope()).is_some());
    assert!(Index::open(folder.path(), &Scope::of("/other")).is_none());
    let base = base_path(folder.path());
    let mut bytes = fs::read(&base).unwrap();
    bytes[7] += 1;
    fs::write(&base, bytes).unwrap();
    assert!(Index::open(folder.path(), &scope()).is_none(), "another version");
}

#[test]
fn a_second_process_does_not_update_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let lock = File::create(folder.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let project = Project::of(&FILES);
    let refused = update(folder.path(), &scope(), NOW, &Listed(&project, Vec::new()));
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_copy_of_the_open_file_does_not_keep_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let lock = UpdateLock::take(&path).unwrap();
    // As a process that is being started has one until its program is loaded.
    let _copy = lock.0.try_clone().unwrap();
    assert_eq!(UpdateLock::take(&path).err().unwrap().kind(), io::ErrorKind::WouldBlock);
    drop(lock);
    assert!(UpdateLock::take(&path).is_ok());
}

/// Writes an index with a delta and returns the project and the bytes of both files.
fn with_delta(folder: &Path) -> (Project, [Vec<u8>; 2]) {
    let mut project = Project::of(&FILES);
    project.update_in(folder, SMALL);
    project.write("b.rs", "fn gamma() {}\n");
    project.touch("a.rs");
    project.files.remove("c/d.txt");
    project.now_ns += 10 * SECOND;
    project.update_in(folder, SMALL);
    let bytes = [base_path(folder), delta_path(folder)].map(|path| fs::read(path).unwrap());
    (project, bytes)
}

/// Asks everything of an index whose bytes are damaged. It may answer wrongly and must not panic.
fn ask_all(project: &Project, index: &Index) {
    for text in ["alpha", "gamma", "x"] {
        project.search(index, text);
    }
    index.each_path(|_| ());
}

#[test]
fn damaged_files_are_never_believed() {
    let folder = tempfile::tempdir().unwrap();
    let (project, whole) = with_delta(folder.path());
    for (place, path) in [base_path(folder.path()), delta_path(folder.path())].iter().enumerate() {
        let bytes = &whole[place];
        let damaged = (0..bytes.len()).flat_map(|at| [1, 0x80].map(|bit| (at, bit))).map(|(at, bit)| {
            let mut damaged = bytes.clone();
            damaged[at] ^= bit;
            damaged
        });
        let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
        for damaged in damaged.chain(cut).chain([[bytes.as_slice(), b"x"].concat()]) {
            // Written beside and renamed, because an index may be mapped.
            let beside = folder.path().join("damaged");
            fs::write(&beside, damaged).unwrap();
            fs::rename(&beside, path).unwrap();
            let index = Index::open(folder.path(), &scope());
            match place {
                0 => assert!(index.is_none(), "a damaged base"),
                _ => assert!(index.is_some_and(|index| index.delta.is_none()), "a damaged delta"),
            }
        }
        let updated = project.update_in(folder.path(), SMALL);
        assert_eq!(project.search(&updated.index, "gamma"), (vec!["b.rs"], 1), "it is built again");
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn damage_with_a_valid_checksum_causes_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (project, whole) = with_delta(folder.path());
    let (mut n_opened, other) = (0, tempfile::tempdir().unwrap());
    for (place, path) in [base_path, delta_path].iter().enumerate() {
        for at in 8..whole[place].len() {
            for value in [0, 0x7f, 0xff] {
                let mut damaged = whole[place].clone();
                damaged[at] = value;
                let body = crc32fast::hash(&damaged[crate::segment::HEADER_BYTES..]);
                damaged[64..68].copy_from_slice(&body.to_le_bytes());
                let head = crc32fast::hash(&damaged[..76]);
                damaged[76..80].copy_from_slice(&head.to_le_bytes());
                fs::write(base_path(other.path()), if place == 0 { &damaged } else { &whole[0] }).unwrap();
                fs::write(delta_path(other.path()), if place == 1 { &damaged } else { &whole[1] }).unwrap();
                if let Some(index) = Index::open(other.path(), &scope()) {
                    n_opened += 1;
                    ask_all(&project, &index);
                    drop(index);
                    // Also merging reads all parts.
                    drop(project.update_in(other.path(), Limits { delta_files_max: 0, ..SMALL }));
                }
                let _ = path;
            }
        }
    }
    assert!(n_opened > 1_000, "the damage reached the readers {n_opened} times");
}

/// A change of a project.
#[derive(Clone, Debug)]
enum Step {
    Write(u8, String),
    Touch(u8),
    Remove(u8),
    Rename(u8, u8),
    Wait(i64),
    Update,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..12_u8, "[abAB\n]{0,12}").prop_map(|(file, text)| Step::Write(file, text)),
        1 => (0..12_u8).prop_map(Step::Touch),
        1 => (0..12_u8).prop_map(Step::Remove),
        1 => (0..12_u8, 0..12_u8).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (0..4 * SECOND).prop_map(Step::Wait),
        2 => Just(Step::Update),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn searches_with_and_without_the_index_agree(steps in steps(), texts in prop::collection::vec("[abAB]{1,5}", 4)) {
        let folder = tempfile::tempdir().unwrap();
        let mut project = Project { now_ns: NOW, ..Project::default() };
        let mut index = None;
        let name = |file: u8| format!("{}{file}", if file.is_multiple_of(2) { "" } else { "dir/" });
        for step in steps {
            // A clock with steps of a second: many edits leave the time as it is.
            let now_ns = project.now_ns;
            project.now_ns = now_ns / SECOND * SECOND;
            match step.clone() {
                Step::Write(file, text) => project.write(&name(file), &text),
                Step::Touch(file) => project.touch(&name(file)),
                Step::Remove(file) => drop(project.files.remove(&name(file))),
                Step::Rename(from, to) => {
                    if let Some(file) = project.files.remove(&name(from)) {
                        project.files.insert(name(to), file);
                    }
                }
                Step::Wait(_) | Step::Update => {}
            }
            project.now_ns = if let Step::Wait(time) = step { now_ns + time } else { now_ns };
            if let Step::Update = step {
                index = Some(project.update_in(folder.path(), SMALL).index);
            }
            if let Some(index) = &index {
                for text in &texts {
                    prop_assert_eq!(project.search(index, text).0, project.search_all(text));
                }
            }
        }
    }
}
