//! A JSON document that grows: one line with the whole, then a line for each change of it.
//!
//! A change costs its own size, not that of the document. When the changes outweigh the whole, or loading them would take
//! long, the document is replaced.
//! A process that is killed while it appends leaves a broken last line, which the next one ignores.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};

use crate::files::SyncContent as _;
use crate::state::{StateDir, StateError, failed, replace};

/// See [`GrowingDocument::changes_bytes_min`].
const CHANGES_BYTES_MIN: u64 = 4 << 20;

/// The number of bytes of the document that its changes may go through when they are applied on loading, each through
/// all of it.
const APPLIED_BYTES: u64 = 2 << 30;
/// The number of changes of any document.
const CHANGES_MIN: u64 = 16;
const CHANGES_MAX: u64 = 1_000;

/// A document of a state directory that can be changed by appending to it.
#[derive(Debug)]
pub struct GrowingDocument {
    state: Arc<StateDir>,
    name: &'static str,
    /// Size in bytes that all changes together may have in any document.
    changes_bytes_min: u64,
    end: Mutex<Option<End>>,
}

/// The end of a document whose lines are all complete.
#[derive(Debug)]
struct End {
    file: File,
    /// The last line that was appended. The next one uses its memory again.
    line: Vec<u8>,
    n_bytes: u64,
    /// The size at which the document is replaced.
    n_bytes_max: u64,
    /// The number of changes until the document is replaced.
    n_changes_left: u64,
}

impl GrowingDocument {
    /// Returns the document `name` of `state`, which only this value may write.
    #[must_use]
    pub fn new(state: Arc<StateDir>, name: &'static str) -> Self {
        Self { state, name, changes_bytes_min: CHANGES_BYTES_MIN, end: Mutex::default() }
    }

    /// Returns the document with all complete changes, which `change` applies in order; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`StateError::Corrupt`] if a line before the last one is not JSON of type `T`, or a change cannot be applied;
    /// [`StateError::Io`].
    pub fn load<T: DeserializeOwned, E: Display>(
        &self,
        mut change: impl FnMut(&mut T, T) -> Result<(), E>,
    ) -> Result<Option<T>, StateError> {
        let path = self.state.path(self.name)?;
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StateError::Io { path, source }),
        };
        // Earlier versions wrote the whole without a line ending.
        let mut lines = content.split_inclusive(|&byte| byte == b'\n').peekable();
        let parsed = |line: &[u8]| serde_json::from_slice::<T>(line);
        let corrupt = |source| StateError::Corrupt { path: path.clone(), source };
        let mut document = parsed(lines.next().unwrap_or_default()).map_err(corrupt)?;
        while let Some(line) = lines.next() {
            match parsed(line) {
                Ok(later) if line.ends_with(b"\n") => {
                    change(&mut document, later).map_err(|error| corrupt(serde_json::Error::custom(error)))?;
                }
                Ok(_) => {}
                // After a power cut, blocks of the last line may be missing.
                Err(_) if lines.peek().is_none() => {}
                Err(source) => return Err(corrupt(source)),
            }
        }
        Ok(Some(document))
    }

    /// Replaces the document, durably. After a crash the old or the new one is there.
    ///
    /// # Errors
    ///
    /// [`StateError::Io`], which includes a document that cannot be encoded as JSON; the old one is intact.
    pub fn replace<T: Serialize>(&self, document: &T) -> Result<(), StateError> {
        let path = self.state.path(self.name)?;
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        *end = None;
        let mut line = Vec::new();
        write_line(document, &mut line).map_err(failed(&path))?;
        replace(&path, &line).map_err(failed(&path))?;
        #[cfg(unix)]
        File::open(self.state.directory()).and_then(|directory| directory.sync_all()).map_err(failed(&path))?;
        let file = File::options().append(true).open(&path).map_err(failed(&path))?;
        let n_bytes = line.len() as u64;
        let n_bytes_max = n_bytes + self.changes_bytes_min.max(2 * n_bytes);
        // The line of the whole may be large.
        let n_changes_left = (APPLIED_BYTES / n_bytes).clamp(CHANGES_MIN, CHANGES_MAX);
        *end = Some(End { file, line: Vec::new(), n_bytes, n_bytes_max, n_changes_left });
        Ok(())
    }

    /// Appends a change, durably. Returns `false` and changes nothing if the document must be replaced instead: at the
    /// first change by this value, and when its changes have become too large.
    ///
    /// # Errors
    ///
    /// [`StateError::Io`], which includes a change that cannot be encoded as JSON; the document is as before.
    pub fn append<T: Serialize>(&self, change: &T) -> Result<bool, StateError> {
        let path = self.state.path(self.name)?;
        let mut open = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(end) = &mut *open else { return Ok(false) };
        if end.n_changes_left == 0 {
            return Ok(false);
        }
        let End { file, line, .. } = end;
        write_line(change, line).map_err(failed(&path))?;
        let n_bytes = end.n_bytes + line.len() as u64;
        if n_bytes > end.n_bytes_max {
            return Ok(false);
        }
        if let Err(error) = file.write_all(line).and_then(|()| file.sync_content()) {
            // If the written part of the line cannot be removed, the document is replaced.
            if file.set_len(end.n_bytes).is_err() {
                *open = None;
            }
            return Err(StateError::Io { path, source: error });
        }
        end.n_bytes = n_bytes;
        end.n_changes_left -= 1;
        Ok(true)
    }
}

/// Writes the document as one line, in the place of `line`.
fn write_line<T: Serialize>(document: &T, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    serde_json::to_writer(&mut *line, document)?;
    line.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests;
