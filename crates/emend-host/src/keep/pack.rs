//! The store of contents: one file to which small contents are appended, and a file for each large one.
//!
//! Contents are found by their hash, so that each is stored once. One file for all small contents needs one sync.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use emend_edit::ContentHash;

use super::node::Blob;
use crate::files::SyncContent as _;

/// Contents up to this size are appended to the pack.
const PACKED_BYTES_MAX: u64 = 8 << 20;
/// Maximum size of a content that is copied.
const COPIED_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of a content that is shared with the file by reference, where the file system supports it.
const SHARED_BYTES_MAX: u64 = 256 << 20;
/// Maximum size of the pack and all copies together.
const STORE_BYTES_MAX: u64 = 2 << 30;
/// Appended contents are written in pieces of this size.
const BUFFER_BYTES: usize = 4 << 20;

/// The open store.
#[derive(Debug)]
pub(super) struct Pack {
    directory: PathBuf,
    file: File,
    /// Length with the buffered part.
    len: u64,
    buffer: Vec<u8>,
    /// Bytes of all large contents.
    n_large: u64,
    known: HashMap<ContentHash, Blob>,
    is_dirty: bool,
}

impl Pack {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).append(true).create(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(directory.join("pack"))?;
        let len = file.metadata()?.len();
        let large = fs::read_dir(directory)?.flatten();
        let large = large.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"large-"));
        let n_large = large.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
        Ok(Self {
            directory: directory.to_owned(),
            file,
            len,
            buffer: Vec::new(),
            n_large,
            known: HashMap::new(),
            is_dirty: false,
        })
    }

    /// Remembers a stored content, so that it is not stored again.
    pub(super) fn know(&mut self, blob: Blob) {
        self.known.insert(blob.hash, blob);
    }

    /// Stores a content; `None` if it exceeds the budget.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub(super) fn add(&mut self, content: &[u8]) -> io::Result<Option<Blob>> {
        let (hash, len) = (ContentHash::of(content), content.len() as u64);
        if let Some(blob) = self.known.get(&hash) {
            return Ok(Some(*blob));
        }
        if self.len + self.n_large + len > STORE_BYTES_MAX {
            return Ok(None);
        }
        let blob = Blob { hash, at: Some(self.len), len };
        self.buffer.extend_from_slice(content);
        self.len += len;
        self.is_dirty = true;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        self.know(blob);
        Ok(Some(blob))
    }

    /// Stores the content of an open file of `len` bytes; `None` if it exceeds the budget or cannot be read. Also returns
    /// the content if it was read.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub(super) fn add_file(&mut self, mut file: File, len: u64) -> io::Result<Option<(Blob, Option<Vec<u8>>)>> {
        if len <= PACKED_BYTES_MAX {
            let mut content = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
            // A file that grows meanwhile is read up to its size at the opening.
            if (&mut file).take(len).read_to_end(&mut content).is_err() {
                return Ok(None);
            }
            return Ok(self.add(&content)?.map(|blob| (blob, Some(content))));
        }
        if len > SHARED_BYTES_MAX {
            return Ok(None);
        }
        let temporary = self.directory.join("large.new");
        let mut copy = File::options().read(true).write(true).create(true).truncate(true).open(&temporary)?;
        if !is_shared(&copy, &file) {
            if len > COPIED_BYTES_MAX || self.len + self.n_large + len > STORE_BYTES_MAX {
                fs::remove_file(&temporary)?;
                return Ok(None);
            }
            io::copy(&mut file.take(len), &mut copy)?;
            copy.seek(SeekFrom::Start(0))?;
        }
        let mut content = Vec::new();
        copy.read_to_end(&mut content)?;
        let blob = Blob { hash: ContentHash::of(&content), at: None, len: content.len() as u64 };
        if self.known.contains_key(&blob.hash) {
            fs::remove_file(&temporary)?;
            return Ok(Some((blob, None)));
        }
        copy.sync_content()?;
        fs::rename(&temporary, self.large(&blob))?;
        self.n_large += blob.len;
        self.is_dirty = true;
        self.know(blob);
        Ok(Some((blob, None)))
    }

    fn large(&self, blob: &Blob) -> PathBuf {
        self.directory.join(format!("large-{}", blob.hash.hex()))
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
        File::open(&self.directory)?.sync_all()
    }

    /// Returns a stored content.
    ///
    /// # Errors
    ///
    /// The content cannot be read, or is damaged.
    pub(super) fn read(&mut self, blob: &Blob) -> io::Result<Vec<u8>> {
        let content = match blob.at {
            Some(at) => {
                self.flush()?;
                let mut content = vec![0; usize::try_from(blob.len).map_err(io::Error::other)?];
                std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut content, at)?;
                content
            }
            None => fs::read(self.large(blob))?,
        };
        match ContentHash::of(&content) == blob.hash {
            true => Ok(content),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "a kept content is damaged")),
        }
    }
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
