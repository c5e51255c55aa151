//! Saved sessions as files: one file per document, in a directory that only this user can read.
//!
//! `emend-agent` defines the content of documents. A store that has loaded or written a document knows its length, and
//! appends to no other: another process has continued the conversation then.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use emend_agent::store::{Store, StoreError, check_name};
use emend_llm::BoxFuture;

use crate::file_lock::{self, LockedFile, is_same};

/// A store of sessions in a directory.
#[derive(Debug)]
pub struct FileStore {
    directory: PathBuf,
    /// The length of each document in bytes, as this store has loaded or written it.
    lengths: Mutex<BTreeMap<String, u64>>,
}

/// Extension of a document's file.
const EXTENSION: &str = ".jsonl";

impl FileStore {
    /// Opens the store in `directory`, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The error of the system if the directory cannot be created.
    pub fn open(directory: &Path) -> io::Result<Self> {
        crate::state::create_private(directory)?;
        Ok(Self { directory: directory.to_owned(), lengths: Mutex::default() })
    }

    fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        check_name(name)?;
        Ok(self.directory.join(format!("{name}{EXTENSION}")))
    }

    async fn append_in_turn(&self, name: &str, lines: &str) -> Result<(), StoreError> {
        let path = self.path(name)?;
        // Two processes must not both find the length that they know. A file system without locks is used without.
        let wanted = LockedFile { path: &path, open, replace, is_stopped };
        let file = match wanted.lock().await {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => open(&path),
            locked => locked,
        };
        let mut file = file.map_err(failed(name))?;
        let mut lengths = self.lengths();
        match append(&mut file, lines.as_bytes(), lengths.get(name).copied()).map_err(failed(name))? {
            Some(length) if is_same(&file, &path) => drop(lengths.insert(name.to_owned(), length)),
            // This process may have stood still, and its text is in no document then.
            _ => return Err(StoreError::Conflict { name: name.to_owned() }),
        }
        Ok(())
    }

    fn lengths(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.lengths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load_now(&self, name: &str) -> Result<Option<String>, StoreError> {
        match fs::read(self.path(name)?) {
            // A crash may leave an incomplete character at the end. The reader skips the whole line.
            Ok(content) => {
                self.lengths().insert(name.to_owned(), content.len() as u64);
                Ok(Some(String::from_utf8_lossy(&content).into_owned()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(name)(error)),
        }
    }

    fn names_now(&self) -> Result<Vec<String>, StoreError> {
        let entries = fs::read_dir(&self.directory).map_err(failed("sessions"))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(EXTENSION).map(str::to_owned)).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn remove_now(&self, name: &str) -> Result<bool, StoreError> {
        self.lengths().remove(name);
        match fs::remove_file(self.path(name)?) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(name)(error)),
        }
    }
}

fn failed(name: &str) -> impl FnOnce(io::Error) -> StoreError {
    let name = name.to_owned();
    |error| StoreError::Io { name, reason: error.to_string() }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Copies what a stopped process has written of a document.
fn replace(path: &Path, mut new: &File) -> io::Result<()> {
    io::copy(&mut File::open(path)?, &mut new)?;
    new.sync_data()
}

fn is_stopped(path: &Path) -> bool {
    file_lock::is_holder_stopped(path).unwrap_or(false)
}

/// Appends to a locked file that has the length `known`, if one is given. Returns the new length; `None` if the file has
/// another one. If the write fails, the file is truncated to its former length.
fn append(file: &mut File, lines: &[u8], known: Option<u64>) -> io::Result<Option<u64>> {
    let end = file.seek(SeekFrom::End(0))?;
    if known.is_some_and(|known| known != end) {
        return Ok(None);
    }
    if let Err(error) = write_at_end(file, end, lines) {
        // The first failure is the one to report.
        let _ = file.set_len(end);
        return Err(error);
    }
    file.stream_position().map(Some)
}

fn write_at_end(file: &mut File, end: u64, lines: &[u8]) -> io::Result<()> {
    if end > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(end - 1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    file.write_all(lines)?;
    file.sync_data()
}

impl Store for FileStore {
    fn append<'a>(&'a self, name: &'a str, lines: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.append_in_turn(name, lines))
    }

    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async { self.load_now(name) })
    }

    fn names(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(async { self.names_now() })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async { self.remove_now(name) })
    }
}

#[cfg(test)]
mod tests {
    use emend_agent::store::MemStore;
    use futures::executor::block_on;
    use tempfile::TempDir;

    use super::*;

    fn opened() -> (TempDir, FileStore) {
        let around = TempDir::new().unwrap();
        let store = FileStore::open(&around.path().join("a/sessions")).unwrap();
        (around, store)
    }

    /// Checks the contract of a store.
    fn check(store: &dyn Store) {
        assert_eq!(block_on(store.load("one")), Ok(None));
        block_on(store.append("one", "first\n")).unwrap();
        block_on(store.append("one", "second\nthi")).unwrap();
        block_on(store.append("one", "fourth\n")).unwrap();
        assert_eq!(block_on(store.load("one")), Ok(Some("first\nsecond\nthi\nfourth\n".to_owned())));
        block_on(store.append("one.out-1", "x")).unwrap();
        assert_eq!(block_on(store.names()).unwrap(), ["one", "one.out-1"]);
        assert_eq!(block_on(store.remove("one")), Ok(true));
        assert_eq!(block_on(store.remove("one")), Ok(false));
        for name in ["", "../x", "a/b", ".hidden", "ä"] {
            let refused = StoreError::BadName { name: name.to_owned() };
            assert_eq!(block_on(store.append(name, "x\n")), Err(refused.clone()), "{name:?}");
            assert_eq!(block_on(store.load(name)), Err(refused.clone()), "{name:?}");
            assert_eq!(block_on(store.remove(name)), Err(refused), "{name:?}");
        }
    }

    #[test]
    fn files_and_memory_behave_the_same() {
        check(&MemStore::new());
        check(&opened().1);
    }

    #[test]
    fn a_store_appends_only_to_what_it_knows() {
        let (_around, store) = opened();
        block_on(store.append("one", "first\n")).unwrap();
        let other = FileStore::open(&store.directory).unwrap();
        block_on(other.load("one")).unwrap();
        block_on(other.append("one", "second\n")).unwrap();
        assert_eq!(block_on(store.append("one", "late\n")), Err(StoreError::Conflict { name: "one".to_owned() }));
        assert_eq!(block_on(other.load("one")).unwrap().as_deref(), Some("first\nsecond\n"));
        // After it has read the rest, it goes on.
        block_on(store.load("one")).unwrap();
        block_on(store.append("one", "third\n")).unwrap();
        assert!(block_on(other.append("one", "late\n")).is_err());
    }

    #[test]
    fn another_process_finds_the_lines_after_an_incomplete_character() {
        let (_around, store) = opened();
        block_on(store.append("one", "first\n")).unwrap();
        fs::write(store.directory.join("one.jsonl"), b"first\n\xc3").unwrap();
        let again = FileStore::open(&store.directory).unwrap();
        block_on(again.append("one", "second\n")).unwrap();
        assert_eq!(block_on(again.load("one")), Ok(Some("first\n\u{fffd}\nsecond\n".to_owned())));
        fs::create_dir(store.directory.join("two.jsonl")).unwrap();
        let refused = block_on(again.append("two", "x\n")).unwrap_err();
        assert_eq!(refused.code().as_str(), "io_error");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_stopped_process_keeps_no_other_one_from_a_session() {
        use std::io::Write as _;
        use std::time::Duration;

        use crate::file_lock::holder::Holder;

        let (_around, store) = opened();
        block_on(store.append("one", "first\n")).unwrap();
        let path = store.directory.join("one.jsonl");
        let mut late = OpenOptions::new().append(true).open(&path).unwrap();
        let other = Holder::of(&path);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let append = |lines: &'static str| {
            let appended =
                async { tokio::time::timeout(Duration::from_millis(2_500), store.append("one", lines)).await };
            runtime.block_on(appended).map_err(drop)
        };
        assert_eq!(append("second\n"), Err(()), "a living process keeps its lock");
        // The process was stopped in the middle of a line, and goes on after others have appended.
        late.write_all(b"la").unwrap();
        other.stop();
        block_on(store.load("one")).unwrap();
        assert_eq!(append("second\n"), Ok(Ok(())));
        drop(other);
        late.write_all(b"te\n").unwrap();
        assert_eq!(append("third\n"), Ok(Ok(())));
        assert_eq!(block_on(store.load("one")).unwrap().unwrap(), "first\nla\nsecond\nthird\n");
        assert_eq!(block_on(store.names()).unwrap(), ["one"]);
    }

    #[cfg(unix)]
    #[test]
    fn other_users_cannot_read_the_sessions() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_around, store) = opened();
        block_on(store.append("one", "first\n")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&store.directory), mode(&store.directory.join("one.jsonl"))), (0o700, 0o600));
    }
}
