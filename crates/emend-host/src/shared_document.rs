//! A growing document that several servers write in turn: each reads what the others have appended before it appends.
//!
//! The format is that of [`GrowingDocument`](crate::GrowingDocument), so a command that runs after the servers reads it,
//! too. Every call needs the lock of changes.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files::SyncContent as _;
use crate::state::{StateDir, StateError, failed, replace_if};

/// Size in bytes that all changes together may have in any document.
const CHANGES_BYTES_MIN: u64 = 4 << 20;

/// A document of a state directory that several servers change.
#[derive(Debug)]
pub struct SharedDocument {
    state: Arc<StateDir>,
    name: &'static str,
    place: Mutex<Option<Place>>,
}

/// The part of the document that this server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Device and inode: a replaced document is another file.
    file: (u64, u64),
    n_bytes: u64,
    /// The size at which the document is replaced.
    n_bytes_max: u64,
}

/// A document as far as a server has not read it.
#[derive(Debug, PartialEq, Eq)]
pub struct Unread<T> {
    /// The whole, in place of the part that the server knows.
    pub whole: Option<T>,
    /// Later changes, oldest first.
    pub later: Vec<T>,
}

fn place_of(file: &File, n_bytes: u64, n_bytes_whole: u64) -> io::Result<Place> {
    let metadata = file.metadata()?;
    let n_bytes_max = n_bytes_whole + CHANGES_BYTES_MIN.max(2 * n_bytes_whole);
    Ok(Place { file: (metadata.dev(), metadata.ino()), n_bytes, n_bytes_max })
}

impl SharedDocument {
    /// Returns the document `name` of `state`.
    #[must_use]
    pub fn new(state: Arc<StateDir>, name: &'static str) -> Self {
        Self { state, name, place: Mutex::default() }
    }

    /// Reads what other servers have written since the last call, or everything.
    ///
    /// # Errors
    ///
    /// [`StateError::Corrupt`] or [`StateError::Io`].
    pub fn read<T: DeserializeOwned>(&self, everything: bool) -> Result<Unread<T>, StateError> {
        let path = self.state.path(self.name)?;
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Unread { whole: None, later: Vec::new() });
            }
            Err(source) => return Err(StateError::Io { path, source }),
        };
        let found = place_of(&file, 0, 0).map_err(failed(&path))?;
        let known = place.filter(|place| place.file == found.file && !everything);
        let from = known.map_or(0, |place| place.n_bytes);
        let mut content = Vec::new();
        file.seek(SeekFrom::Start(from)).and_then(|_| file.read_to_end(&mut content)).map_err(failed(&path))?;
        // A killed server leaves a broken last line. The next one to write removes it.
        let n_complete = content.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = content[..n_complete].split_inclusive(|&byte| byte == b'\n');
        let parsed = |line: &[u8]| {
            serde_json::from_slice::<T>(line).map_err(|source| StateError::Corrupt { path: path.clone(), source })
        };
        let mut n_bytes_whole = 0;
        let whole = match known {
            Some(_) => None,
            None => {
                let first = lines.next();
                n_bytes_whole = first.map_or(0, |first| first.len() as u64);
                first.map(parsed).transpose()?
            }
        };
        let later = lines.map(parsed).collect::<Result<_, _>>()?;
        let n_bytes = from + n_complete as u64;
        *place = Some(match known {
            Some(known) => Place { n_bytes, ..known },
            None => place_of(&file, n_bytes, n_bytes_whole).map_err(failed(&path))?,
        });
        Ok(Unread { whole, later })
    }

    /// Appends a change durably, or replaces the document by `whole` if there is none or its changes have become too large.
    /// The caller has read everything. `may` is asked directly before: a process can lose its turn while it stands still. If it
    /// refuses, the document is as before and the result is `false`.
    ///
    /// # Errors
    ///
    /// [`StateError::Io`]; the document is as before.
    pub fn append<T: Serialize>(
        &self,
        change: &T,
        whole: impl FnOnce() -> T,
        may: impl FnOnce() -> bool,
    ) -> Result<bool, StateError> {
        let path = self.state.path(self.name)?;
        let mut known = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let line = line_of(change).map_err(failed(&path))?;
        let fits = |place: &&mut Place| place.n_bytes > 0 && place.n_bytes + line.len() as u64 <= place.n_bytes_max;
        if let Some(place) = known.as_mut().filter(fits) {
            let mut file = File::options().append(true).open(&path).map_err(failed(&path))?;
            let n_bytes = file.metadata().map_err(failed(&path))?.len();
            if !may() {
                return Ok(false);
            }
            // Only the part of a line that a killed server left is removed, never a line of another one.
            let cut = if n_bytes > place.n_bytes { file.set_len(place.n_bytes) } else { Ok(()) };
            let appended = cut.and_then(|()| file.write_all(&line)).and_then(|()| file.sync_content());
            if let Err(source) = appended {
                // If this fails, too, the next server to write removes the part.
                let _ = file.set_len(place.n_bytes);
                return Err(StateError::Io { path, source });
            }
            place.n_bytes += line.len() as u64;
            if file.metadata().map_err(failed(&path))?.len() != place.n_bytes {
                // Others have appended since the question: the next turn reads everything.
                *known = None;
            }
            return Ok(true);
        }
        let line = line_of(&whole()).map_err(failed(&path))?;
        if !replace_if(&path, &line, may).map_err(failed(&path))? {
            return Ok(false);
        }
        File::open(self.state.directory()).and_then(|directory| directory.sync_all()).map_err(failed(&path))?;
        let n_bytes = line.len() as u64;
        let opened = File::open(&path).and_then(|file| place_of(&file, n_bytes, n_bytes));
        *known = Some(opened.map_err(failed(&path))?);
        Ok(true)
    }

    /// Returns the size of the document in bytes, for tests and figures.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.state.path(self.name).ok().and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len())
    }
}

fn line_of<T: Serialize>(document: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn text(unread: Unread<String>) -> (Option<String>, Vec<String>) {
        (unread.whole, unread.later)
    }

    #[test]
    fn servers_read_what_others_have_appended() {
        let around = TempDir::new().unwrap();
        let root = around.path().join("project");
        fs::create_dir(&root).unwrap();
        let open = || Arc::new(StateDir::open_as(&around.path().join("home"), &root, true).unwrap());
        let (a, b) = (SharedDocument::new(open(), "logs"), SharedDocument::new(open(), "logs"));
        let word = |word: &str| word.to_owned();
        assert_eq!(text(a.read(false).unwrap()), (None, vec![]));
        a.append(&word("1"), || word("0 1"), || true).unwrap();
        assert_eq!(text(b.read(false).unwrap()), (Some(word("0 1")), vec![]));
        b.append(&word("2"), || unreachable!(), || true).unwrap();
        b.append(&word("3"), || unreachable!(), || true).unwrap();
        assert_eq!(text(a.read(false).unwrap()), (None, vec![word("2"), word("3")]));
        assert_eq!(text(a.read(false).unwrap()), (None, vec![]));
        assert_eq!(text(a.read(true).unwrap()), (Some(word("0 1")), vec![word("2"), word("3")]));
        // A server that is killed during its append leaves a part of a line.
        let path = open().path("logs").unwrap();
        File::options().append(true).open(&path).unwrap().write_all(b"\"bro").unwrap();
        assert_eq!(text(b.read(false).unwrap()), (None, vec![]));
        b.append(&word("4"), || unreachable!(), || true).unwrap();
        assert_eq!(text(a.read(false).unwrap()), (None, vec![word("4")]));
        // A large change makes the document anew; the other server reads the whole.
        a.append(&"x".repeat(5 << 20), || word("all"), || true).unwrap();
        assert_eq!(text(b.read(false).unwrap()), (Some(word("all")), vec![]));
        assert_eq!(fs::read_to_string(&path).unwrap(), "\"all\"\n");
    }

    #[test]
    fn a_server_that_stood_still_takes_nothing_from_others() {
        let around = TempDir::new().unwrap();
        let root = around.path().join("project");
        fs::create_dir(&root).unwrap();
        let open = || Arc::new(StateDir::open_as(&around.path().join("home"), &root, true).unwrap());
        let (a, b) = (SharedDocument::new(open(), "logs"), SharedDocument::new(open(), "logs"));
        let word = |word: &str| word.to_owned();
        let other = |text: &str| {
            b.read::<String>(false).unwrap();
            assert!(b.append(&word(text), || word(text), || true).unwrap());
        };
        let all = || text(SharedDocument::new(open(), "logs").read(true).unwrap());
        // Before there is a document.
        let refused = a.append(
            &word("late"),
            || word("late"),
            || {
                other("1");
                false
            },
        );
        assert!(!refused.unwrap());
        assert_eq!(all(), (Some(word("1")), vec![]));
        a.read::<String>(false).unwrap();
        let refused = a.append(
            &word("late"),
            || unreachable!(),
            || {
                other("2");
                false
            },
        );
        assert!(!refused.unwrap());
        assert_eq!(all(), (Some(word("1")), vec![word("2")]));
        // Nothing can be asked between the last question and the write.
        a.read::<String>(false).unwrap();
        let written = a.append(
            &word("4"),
            || unreachable!(),
            || {
                other("3");
                true
            },
        );
        assert!(written.unwrap());
        assert_eq!(all(), (Some(word("1")), vec![word("2"), word("3"), word("4")]));
        assert_eq!(text(a.read(false).unwrap()), all());
    }
}
