//! Brings an index up to date: reads the files whose stamp changed and writes a new delta, or a new base.
//!
//! A new file of the index is written beside the old one and renamed over it. Nothing is synced to the disk: a file that
//! a power failure damages fails its checksum and is built again.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::batch::Batch;
use crate::index::{Index, Known, Origin, Scope, base_path, delta_path, half_hash};
use crate::merge::{Merged, merge};
use crate::segment::{Document, HASH_BYTES, Header, Kind, Segment};
use crate::stamp::Stamp;

/// Size of the largest file whose text is indexed. Larger files are searched each time.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Most files of an index. A project with more has none.
pub const FILES_MAX: usize = 1_000_000;

/// The sizes at which an update changes its ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of the index after which the texts of further files are not indexed. During an update the index exists twice.
    index_bytes_max: u64,
    /// Bytes of postings in memory.
    batch_bytes_max: usize,
    /// Files in a delta, up to which it is written again at each update. Beyond these, and beyond a quarter of the base,
    /// a new base is written.
    delta_files_max: usize,
}

impl Limits {
    const USUAL: Self = Self { index_bytes_max: 512 << 20, batch_bytes_max: 48 << 20, delta_files_max: 1_000 };
}

/// The content of a file, as the index needs it.
#[derive(Debug)]
pub enum Content {
    /// The bytes that a search looks at.
    Text(Vec<u8>),
    /// A file that every search skips.
    Binary,
}

/// A file that was read.
#[derive(Debug)]
pub struct Reading {
    /// The stamp, which was the same before and after reading.
    pub stamp: Stamp,
    /// Its content.
    pub content: Content,
}

/// The files of a project. The update asks for the content of those that changed.
pub trait Files {
    /// The paths of all files, sorted by their bytes, without duplicates, with the present stamps.
    fn list(&self) -> &[(String, Stamp)];

    /// Returns whether the update should end early, without a result.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Reads a file; `None` if it is unreadable, larger than [`TEXT_BYTES_MAX`], or changed meanwhile. Each search then
    /// reads it.
    fn read(&self, path: &str) -> Option<Reading>;
}

/// The result of an update.
#[derive(Debug)]
pub struct Updated {
    /// The index of the present files.
    pub index: Index,
    /// Files that were read.
    pub n_read: usize,
    /// Files that changed so recently that an edit could be missed. An update some seconds later reads them.
    pub n_racy: usize,
}

/// Brings the index in `directory` up to date, or builds it. `now_ns` is the time before the files were listed.
///
/// # Errors
///
/// `WouldBlock` if another process updates the same index; `InvalidInput` if there are more than [`FILES_MAX`] files;
/// `Interrupted` if the update was stopped; otherwise the error of the system. The old index stays. The directory above
/// `directory` must exist.
pub fn update(directory: &Path, scope: &Scope, now_ns: i64, files: &dyn Files) -> io::Result<Updated> {
    update_within(Limits::USUAL, directory, scope, now_ns, files)
}

fn update_within(
    limits: Limits,
    directory: &Path,
    scope: &Scope,
    now_ns: i64,
    files: &dyn Files,
) -> io::Result<Updated> {
    if files.list().len() > FILES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many files for an index"));
    }
    if let Err(error) = fs::create_dir(directory)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    let _lock = UpdateLock::take(&directory.join("lock"))?;
    let old = Index::open(directory, scope);
    let mut update = Update::new(limits, directory, scope, now_ns, old.as_ref());
    let written = update.read_all(files).and_then(|()| update.write());
    update.remove_batches();
    written?;
    let (n_read, n_racy) = (update.n_read, update.n_racy);
    let index = Index::open(directory, scope).ok_or_else(|| io::Error::other("the new index cannot be read"))?;
    Ok(Updated { index, n_read, n_racy })
}

/// Keeps a second update out while it lives.
struct UpdateLock(File);

impl UpdateLock {
    /// # Errors
    ///
    /// `WouldBlock` if another update holds the lock; otherwise the error of the system.
    fn take(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::from(io::ErrorKind::WouldBlock),
            TryLockError::Error(error) => error,
        })?;
        Ok(Self(file))
    }
}

impl Drop for UpdateLock {
    fn drop(&mut self) {
        // A process that is being started has a copy of the open file for a moment, which would keep the lock.
        let _ = self.0.unlock();
    }
}

/// A file of the project on its way into the index.
struct Entry {
    path: String,
    document: Document,
    from: From,
    is_as_in_base: bool,
}

/// The place of the postings of a file.
#[derive(Clone, Copy)]
enum From {
    Old(Origin),
    Batch(usize, u32),
}

struct Update<'a> {
    limits: Limits,
    directory: &'a Path,
    scope: &'a Scope,
    now_ns: i64,
    old: Option<&'a Index>,
    entries: Vec<Entry>,
    /// The texts that were read and are not written yet. Created for the first one, because it takes much memory.
    batch: Option<Batch>,
    batches: Vec<PathBuf>,
    index_bytes: u64,
    /// Whether a file differs from what the old index says about it.
    is_changed: bool,
    n_read: usize,
    n_racy: usize,
}

impl<'a> Update<'a> {
    fn new(limits: Limits, directory: &'a Path, scope: &'a Scope, now_ns: i64, old: Option<&'a Index>) -> Self {
        let old_bytes = old.map_or(0, Index::n_bytes);
        Self {
            limits,
            directory,
            scope,
            now_ns,
            old,
            entries: Vec::new(),
            batch: None,
            batches: Vec::new(),
            index_bytes: old_bytes,
            is_changed: false,
            n_read: 0,
            n_racy: 0,
        }
    }

    /// Decides about each file and reads those that changed.
    fn read_all(&mut self, files: &dyn Files) -> io::Result<()> {
        for (path, stamp) in files.list() {
            if files.is_stopped() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let known = self.old.and_then(|old| old.known(path));
            let is_unchanged = |known: &Known| known.document.stamp == *stamp && known.document.kind != Kind::Racy;
            match known.filter(is_unchanged) {
                Some(Known { document, origin, is_as_in_base }) => {
                    self.entries.push(Entry { path: path.clone(), document, from: From::Old(origin), is_as_in_base });
                }
                None => self.read(path, *stamp, known, files)?,
            }
        }
        self.write_batch()
    }

    fn read(&mut self, path: &str, stamp: Stamp, known: Option<Known>, files: &dyn Files) -> io::Result<()> {
        let is_racy = stamp.is_racy(self.now_ns);
        let reading = if is_racy || stamp.size > TEXT_BYTES_MAX { None } else { files.read(path) };
        self.n_read += usize::from(reading.is_some());
        let document = |kind, stamp, hash| Document { stamp, hash, kind };
        let without_text = |kind, stamp| (document(kind, stamp, [0; HASH_BYTES]), From::Old(Origin::None));
        let (document, from) = match reading {
            None if is_racy => without_text(Kind::Racy, stamp),
            None => without_text(Kind::Unknown, stamp),
            Some(Reading { stamp, .. }) if stamp.is_racy(self.now_ns) => without_text(Kind::Racy, stamp),
            Some(Reading { stamp, content: Content::Binary }) => without_text(Kind::Binary, stamp),
            Some(Reading { stamp, content: Content::Text(text) }) => {
                let document = document(Kind::Text, stamp, half_hash(&text));
                let is_same = |known: &Known| known.document.kind == Kind::Text && known.document.hash == document.hash;
                match known.filter(is_same) {
                    Some(known) => (document, From::Old(known.origin)),
                    None if self.index_bytes >= self.limits.index_bytes_max => without_text(Kind::Unknown, stamp),
                    None => (document, self.add(path, document, &text)?),
                }
            }
        };
        self.n_racy += usize::from(document.kind == Kind::Racy);
        self.is_changed |= known.is_none_or(|known| known.document != document);
        self.entries.push(Entry { path: path.to_owned(), document, from, is_as_in_base: false });
        Ok(())
    }

    /// Adds a text to the batch.
    fn add(&mut self, path: &str, document: Document, text: &[u8]) -> io::Result<From> {
        let batch = self.batch.get_or_insert_with(Batch::new);
        let before = batch.postings_bytes();
        let from = From::Batch(self.batches.len(), batch.n_documents());
        batch.push(path.to_owned(), document, text);
        self.index_bytes += (batch.postings_bytes() - before) as u64;
        if batch.postings_bytes() >= self.limits.batch_bytes_max {
            self.write_batch()?;
        }
        Ok(from)
    }

    fn write_batch(&mut self) -> io::Result<()> {
        let header = self.header(0);
        let Some(batch) = self.batch.as_mut().filter(|batch| batch.n_documents() > 0) else { return Ok(()) };
        let path = self.directory.join(format!("batch-{}", self.batches.len()));
        self.batches.push(path.clone());
        batch.write(&path, header)
    }

    fn remove_batches(&self) {
        for batch in &self.batches {
            // One that stays is overwritten by the next update.
            let _ = fs::remove_file(batch);
        }
    }

    fn header(&self, parent: u64) -> Header {
        Header { scope: self.scope.0, id: self.now_ns.cast_unsigned(), parent, ..Header::default() }
    }

    /// Writes the new delta or base, unless nothing changed.
    fn write(&mut self) -> io::Result<()> {
        self.batch = None;
        let removed = self.removed();
        let n_changed = self.entries.iter().filter(|entry| !entry.is_as_in_base).count();
        if self.is_as_old(n_changed, removed.len()) {
            return Ok(());
        }
        let batches = self.batches.iter().map(|path| Segment::open(path, &self.scope.0));
        let batches: Option<Vec<Segment>> = batches.collect();
        let batches = batches.ok_or_else(|| io::Error::other("a part of the new index cannot be read"))?;
        let n_in_delta = n_changed + removed.len();
        let with_delta =
            self.old.filter(|old| n_in_delta <= self.limits.delta_files_max.max(old.base.n_documents() as usize / 4));
        let target = self.directory.join("new");
        let old_delta = self.old.and_then(|old| old.delta.as_ref());
        if let Some(old) = with_delta {
            let sources: Vec<&Segment> = old_delta.into_iter().chain(&batches).collect();
            let first_batch = sources.len() - batches.len();
            let mut documents: Vec<Merged> = self.in_delta(first_batch).chain(removed).collect();
            documents.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            merge(&sources, &documents, &target, self.header(old.base.header().id))?;
            return fs::rename(target, delta_path(self.directory));
        }
        // An old delta names the old base as its parent and is ignored from now on.
        let base = self.old.map(|old| &old.base);
        let sources: Vec<&Segment> = base.into_iter().chain(old_delta).chain(&batches).collect();
        let documents: Vec<Merged> = self.in_base(sources.len() - batches.len()).collect();
        merge(&sources, &documents, &target, self.header(0))?;
        fs::rename(target, base_path(self.directory))
    }

    /// Returns whether the old index describes the present files.
    fn is_as_old(&self, n_changed: usize, n_removed: usize) -> bool {
        let Some(old) = self.old.filter(|_| !self.is_changed) else { return false };
        let kinds = old.delta.iter().flat_map(|delta| {
            (0..delta.n_documents()).filter_map(|number| Some(delta.document(number)?.kind == Kind::Removed))
        });
        let (removed, others): (Vec<bool>, Vec<bool>) = kinds.partition(|is_removed| *is_removed);
        (others.len(), removed.len()) == (n_changed, n_removed)
    }

    /// Returns marks for the files of the base that exist no more.
    fn removed(&self) -> Vec<Merged> {
        let Some(old) = self.old else { return Vec::new() };
        let paths = (0..old.base.n_documents()).filter_map(|number| old.base.path(number));
        let is_absent = |path: &&str| self.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).is_err();
        let document = Document { stamp: Stamp::default(), hash: [0; HASH_BYTES], kind: Kind::Removed };
        paths.filter(is_absent).map(|path| Merged { path: path.to_owned(), document, from: None }).collect()
    }

    /// Returns the documents of the new delta that exist. Its sources are the old delta, if there is one, and from
    /// `first_batch` on the batches.
    fn in_delta(&self, first_batch: usize) -> impl Iterator<Item = Merged> {
        self.entries.iter().filter(|entry| !entry.is_as_in_base).map(move |entry| {
            let (kind, from) = match entry.from {
                From::Old(Origin::Base(_)) => (Kind::AsBefore, None),
                From::Old(Origin::Delta(number)) => (entry.document.kind, Some((0, number))),
                From::Old(Origin::None) => (entry.document.kind, None),
                From::Batch(batch, number) => (entry.document.kind, Some((first_batch + batch, number))),
            };
            Merged { path: entry.path.clone(), document: Document { kind, ..entry.document }, from }
        })
    }

    /// Returns all documents. The sources are base and delta, as far as there are old ones, and from `first_batch` on
    /// the batches.
    fn in_base(&self, first_batch: usize) -> impl Iterator<Item = Merged> {
        self.entries.iter().map(move |entry| {
            let from = match entry.from {
                From::Old(Origin::Base(number)) => Some((0, number)),
                From::Old(Origin::Delta(number)) => Some((1, number)),
                From::Old(Origin::None) => None,
                From::Batch(batch, number) => Some((first_batch + batch, number)),
            };
            Merged { path: entry.path.clone(), document: entry.document, from }
        })
    }
}

#[cfg(test)]
mod tests;
