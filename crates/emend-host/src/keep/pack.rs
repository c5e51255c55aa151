//! The store of contents: one file to which small contents are appended, and a file for each large one.
//!
//! Contents are found by their hash, so that each is stored once. One file for all small contents needs one sync. An
//! index of it saves reading it at the start.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use emend_edit::ContentHash;
use emend_edit::text::decode;
use rustix::fs::fstat;

use super::names::{self, on_disk};
use super::node::{Blob, Content, Entry, Stamp};
use super::scan::stamp;
use crate::files::{RootFiles, SyncContent as _, reading};

/// Contents up to this size are appended to the pack.
const PACKED_BYTES_MAX: u64 = 8 << 20;
/// Maximum size of a content that is copied.
const COPIED_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of a content that is shared with the file by reference, where the file system supports it.
const SHARED_BYTES_MAX: u64 = 256 << 20;

thread_local! {
    /// The same in storms, whose files are small. Tests of other threads keep the real sizes.
    #[cfg(test)]
    pub(super) static BYTES_MAX: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
    /// Number of files of the project that were read in this thread.
    #[cfg(test)]
    pub(super) static N_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
/// Maximum size of the pack and all copies together.
pub(super) const STORE_BYTES_MAX: u64 = 2 << 30;
/// Appended contents are written in pieces of this size.
const BUFFER_BYTES: usize = 4 << 20;

/// Texts up to this size get a line log.
const LOGGED_BYTES_MAX: u64 = 1 << 20;

/// A file that other programs write meanwhile is read so often at most.
const READS_MAX: usize = 3;

/// Bytes of an entry of the index: hash, position, length.
const INDEX_ENTRY_BYTES: usize = 48;

/// The open store.
///
/// The pack and its index have a number. A new pack replaces the old one when its index gets its name.
#[derive(Debug)]
pub(super) struct Pack {
    directory: PathBuf,
    number: u64,
    file: File,
    /// Length with the buffered part.
    len: u64,
    buffer: Vec<u8>,
    /// Bytes of all large contents.
    n_large: u64,
    /// The positions of contents in the pack; none for a content with a file of its own.
    known: HashMap<ContentHash, Option<u64>>,
    /// Entries of the index that are not written yet.
    unwritten: Vec<u8>,
    is_dirty: bool,
}

impl Pack {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let names = || {
            let names = fs::read_dir(directory).map(|entries| entries.flatten().map(|entry| entry.file_name()));
            names.map(|names| names.filter_map(|name| name.into_string().ok()))
        };
        let number = newest(names()?);
        let file = open_private(&directory.join(format!("pack-{number}")))?;
        let mut pack = Self {
            directory: directory.to_owned(),
            number,
            len: file.metadata()?.len(),
            file,
            buffer: Vec::new(),
            n_large: 0,
            known: HashMap::new(),
            unwritten: Vec::new(),
            is_dirty: false,
        };
        for name in names()? {
            let is_other = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest != number.to_string());
            if is_other("pack-") || is_other("index-") {
                // Left by a process that was killed while it replaced the pack.
                fs::remove_file(directory.join(&name))?;
            } else if let Some(hash) = name.strip_prefix("large-").and_then(|hash| hash.parse().ok()) {
                pack.n_large += fs::metadata(directory.join(&name))?.len();
                pack.known.insert(hash, None);
            }
        }
        let index = match fs::read(pack.index()) {
            Ok(index) => index,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let rest = index.len() % INDEX_ENTRY_BYTES;
        if rest > 0 {
            // A process was killed, or the disk was full, while an entry was written. Later ones must not follow the rest.
            open_private(&pack.index())?.set_len((index.len() - rest) as u64)?;
        }
        pack.known.reserve(index.len() / INDEX_ENTRY_BYTES);
        for (hash, at, len) in entries_of(&index) {
            // The pack is synced first, so this is never needed after a crash.
            if at + len <= pack.len {
                pack.known.insert(hash, Some(at));
            }
        }
        Ok(pack)
    }

    fn index(&self) -> PathBuf {
        self.directory.join(format!("index-{}", self.number))
    }

    /// Returns the size of the store in bytes.
    pub(super) fn size(&self) -> u64 {
        self.len + self.n_large
    }

    /// Removes all contents but `live`.
    ///
    /// # Errors
    ///
    /// The disk fails. The store must be opened again then; it holds `live` in any case.
    pub(super) fn retain(&mut self, live: &BTreeSet<Blob>) -> io::Result<()> {
        self.sync()?;
        let number = self.number + 1;
        let mut smaller = Self {
            directory: self.directory.clone(),
            number,
            file: open_private(&self.directory.join(format!("pack-{number}")))?,
            len: 0,
            buffer: Vec::new(),
            n_large: 0,
            known: HashMap::new(),
            unwritten: Vec::new(),
            is_dirty: false,
        };
        let hashes: BTreeSet<ContentHash> = live.iter().map(|blob| blob.hash).collect();
        for blob in live {
            match self.known.get(&blob.hash) {
                Some(Some(_)) => drop(smaller.add(&self.read(blob)?)?),
                Some(None) => {
                    smaller.n_large += blob.len;
                    smaller.known.insert(blob.hash, None);
                }
                None => {}
            }
        }
        smaller.flush()?;
        smaller.file.sync_content()?;
        // The new pack counts from the moment when its index has its name.
        let unnamed = self.directory.join(format!("index-{number}.new"));
        let mut index = open_private(&unnamed)?;
        index.write_all(&smaller.unwritten)?;
        index.sync_content()?;
        smaller.unwritten.clear();
        smaller.is_dirty = false;
        fs::rename(&unnamed, smaller.index())?;
        File::open(&self.directory)?.sync_all()?;
        for (hash, _) in self.known.iter().filter(|(hash, at)| at.is_none() && !hashes.contains(hash)) {
            fs::remove_file(self.large(*hash))?;
        }
        fs::remove_file(self.index()).or_else(absent_is_fine)?;
        fs::remove_file(self.directory.join(format!("pack-{}", self.number)))?;
        *self = smaller;
        Ok(())
    }

    /// Stores a content; `None` if it exceeds the budget.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub(super) fn add(&mut self, content: &[u8]) -> io::Result<Option<Blob>> {
        let (hash, len) = (ContentHash::of(content), content.len() as u64);
        let blob = Blob { hash, len };
        if self.known.contains_key(&hash) {
            return Ok(Some(blob));
        }
        if self.size() + len > STORE_BYTES_MAX {
            return Ok(None);
        }
        self.known.insert(hash, Some(self.len));
        self.unwritten.extend_from_slice(&hash.to_bytes());
        self.unwritten.extend_from_slice(&self.len.to_le_bytes());
        self.unwritten.extend_from_slice(&len.to_le_bytes());
        self.buffer.extend_from_slice(content);
        self.len += len;
        self.is_dirty = true;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(Some(blob))
    }

    /// Stores the content of an open file of `len` bytes; `None` if it exceeds the budget or cannot be read. Also returns
    /// the content if it was read.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub(super) fn add_file(&mut self, mut file: &File, len: u64) -> io::Result<Option<(Blob, Option<Vec<u8>>)>> {
        if len <= limited(PACKED_BYTES_MAX) {
            let mut content = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
            // A file that grows meanwhile is read up to its size at the opening.
            if (&mut file).take(len).read_to_end(&mut content).is_err() {
                return Ok(None);
            }
            return Ok(self.add(&content)?.map(|blob| (blob, Some(content))));
        }
        if len > limited(SHARED_BYTES_MAX) {
            return Ok(None);
        }
        let temporary = self.directory.join("large.new");
        let mut copy = File::options().read(true).write(true).create(true).truncate(true).open(&temporary)?;
        if !is_shared(&copy, file) {
            if len > limited(COPIED_BYTES_MAX) || self.size() + len > STORE_BYTES_MAX {
                fs::remove_file(&temporary)?;
                return Ok(None);
            }
            io::copy(&mut file.take(len), &mut copy)?;
            copy.seek(SeekFrom::Start(0))?;
        }
        let mut content = Vec::new();
        copy.read_to_end(&mut content)?;
        let blob = Blob { hash: ContentHash::of(&content), len: content.len() as u64 };
        if self.known.contains_key(&blob.hash) {
            fs::remove_file(&temporary)?;
            return Ok(Some((blob, None)));
        }
        copy.sync_content()?;
        fs::rename(&temporary, self.large(blob.hash))?;
        self.n_large += blob.len;
        self.is_dirty = true;
        self.known.insert(blob.hash, None);
        Ok(Some((blob, None)))
    }

    /// Stores the content of a file, unless the file is `known` and unchanged.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub(super) fn add_entry(&mut self, files: &RootFiles, entry: &mut Entry, known: Option<&Entry>) -> io::Result<()> {
        let Content::File { blob, is_text } = &mut entry.content else { return Ok(()) };
        if let Some(known) = known
            && known.stamp == entry.stamp
            && known.stamp.changed != 0
            && let Content::File { blob: Some(same), is_text: was_text } = known.content
        {
            (*blob, *is_text) = (Some(same), was_text);
            return Ok(());
        }
        for _ in 0..READS_MAX {
            // A file that cannot be read is one that cannot be restored.
            let Ok(file) = files.directory().open_with(&*on_disk(entry.path.as_str()), &reading()) else {
                return Ok(());
            };
            #[cfg(test)]
            N_READ.set(N_READ.get() + 1);
            let file = file.into_std();
            let began = stamp(&fstat(&file)?);
            let Some((stored, content)) = self.add_file(&file, began.size)? else { return Ok(()) };
            let text = content.filter(|_| stored.len <= LOGGED_BYTES_MAX);
            // A line log opens only paths that are texts.
            let may_be = names::is_text(&entry.path) && names::repository(&entry.path).is_none();
            (*blob, *is_text) = (Some(stored), may_be && text.is_some_and(|text| decode(&text).is_ok()));
            let unsettled = Stamp { changed: 0, ..began };
            if unsettled != (Stamp { changed: 0, ..entry.stamp }) {
                // Another program has written the file since the walk.
                entry.stamp = unsettled;
            }
            if stamp(&fstat(&file)?) == began {
                break;
            }
        }
        Ok(())
    }

    fn large(&self, hash: ContentHash) -> PathBuf {
        self.directory.join(format!("large-{}", hash.hex()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Makes all stored contents durable.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_dirty) {
            return Ok(());
        }
        self.flush()?;
        self.file.sync_content()?;
        // The index comes after the contents, so it never names one that is not there.
        let mut index = open_private(&self.index())?;
        index.write_all(&self.unwritten)?;
        index.sync_content()?;
        self.unwritten.clear();
        File::open(&self.directory)?.sync_all()
    }

    /// Returns a stored content.
    ///
    /// # Errors
    ///
    /// The content cannot be read, or is damaged.
    pub(super) fn read(&mut self, blob: &Blob) -> io::Result<Vec<u8>> {
        let content = match self.known.get(&blob.hash).copied() {
            Some(Some(at)) => {
                self.flush()?;
                let mut content = vec![0; usize::try_from(blob.len).map_err(io::Error::other)?];
                std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut content, at)?;
                content
            }
            _ => fs::read(self.large(blob.hash))?,
        };
        match ContentHash::of(&content) == blob.hash {
            true => Ok(content),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "a kept content is damaged")),
        }
    }
}

/// Reads a content of the store in `directory`, which another process may use meanwhile; `None` if it is not there.
pub(super) fn read_beside(directory: &Path, blob: &Blob) -> io::Result<Option<Vec<u8>>> {
    let names = fs::read_dir(directory)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let number = newest(names);
    let found = match fs::read(directory.join(format!("large-{}", blob.hash.hex()))) {
        Ok(content) => Some(content),
        Err(_) => {
            let index = fs::read(directory.join(format!("index-{number}")))?;
            let Some((_, at, _)) = entries_of(&index).find(|(hash, ..)| *hash == blob.hash) else { return Ok(None) };
            let pack = File::open(directory.join(format!("pack-{number}")))?;
            let mut content = vec![0; usize::try_from(blob.len).map_err(io::Error::other)?];
            std::os::unix::fs::FileExt::read_exact_at(&pack, &mut content, at)?;
            Some(content)
        }
    };
    Ok(found.filter(|content| ContentHash::of(content) == blob.hash))
}

/// Returns the number of the newest index.
fn newest(names: impl Iterator<Item = String>) -> u64 {
    let number = |name: String| name.strip_prefix("index-").and_then(|number| number.parse::<u64>().ok());
    names.filter_map(number).max().unwrap_or_default()
}

/// Returns hash, position and length of the entries of an index.
fn entries_of(index: &[u8]) -> impl Iterator<Item = (ContentHash, u64, u64)> {
    index.chunks_exact(INDEX_ENTRY_BYTES).filter_map(|entry| {
        let (hash, rest) = entry.split_first_chunk()?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Some((ContentHash::from_bytes(*hash), number(&rest[..8]), number(&rest[8..])))
    })
}

/// Returns a limit of sizes. Storms set a lower one.
fn limited(n_bytes: u64) -> u64 {
    #[cfg(test)]
    if let Some(bytes_max) = BYTES_MAX.get() {
        return n_bytes.min(bytes_max);
    }
    n_bytes
}

/// Opens a file for reading and appending that only this user may read.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true).create(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn absent_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Makes `copy` share the content of `file`. Returns whether the file system supports that.
fn is_shared(copy: &File, file: &File) -> bool {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::ioctl_ficlone(copy, file).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (copy, file);
        false
    }
}
