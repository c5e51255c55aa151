//! The bridge to the files: what a tree has to offer, and how the interpreter sees it.
//!
//! The interpreter follows links and checks kinds by itself; a tree only stores. What lies outside of it (`/tmp`, `/bin`,
//! `/dev/null`) is the interpreter's own and gone after each command.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bashkit::time::UNIX_EPOCH;
use bashkit::{DirEntry, FileType, FsBackend, Metadata, async_trait};

/// What stands at a path, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// What is known of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Bytes; of a link, of what it says; 0 for a directory.
    pub size: u64,
    /// Milliseconds since 1970.
    pub modified_ms: u64,
}

/// Why a tree refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilesError {
    /// Nothing is there.
    NotFound,
    /// Something is in the way: there already, of the wrong kind, not empty.
    InTheWay(String),
    /// There is no room.
    Full(String),
    /// Anything else, in words.
    Failed(String),
}

impl From<FilesError> for bashkit::Error {
    fn from(error: FilesError) -> Self {
        let (kind, text) = match error {
            FilesError::NotFound => (io::ErrorKind::NotFound, "No such file or directory".to_owned()),
            FilesError::InTheWay(text) => (io::ErrorKind::AlreadyExists, text),
            FilesError::Full(text) => (io::ErrorKind::StorageFull, text),
            FilesError::Failed(text) => (io::ErrorKind::Other, text),
        };
        io::Error::new(kind, text).into()
    }
}

/// A tree of files that commands work on. Paths are relative to its root, `/`-separated and clean; the root is the empty
/// path. No method follows a link, and one that fails has changed nothing.
#[async_trait]
pub trait Files: Send + Sync {
    /// Returns what stands at `path`, `None` if nothing.
    async fn entry(&self, path: &str) -> Result<Option<Entry>, FilesError>;

    /// Returns the names in a directory and what they stand for, by name.
    async fn entries(&self, path: &str) -> Result<Vec<(String, Entry)>, FilesError>;

    /// Returns the content of a file.
    async fn read(&self, path: &str) -> Result<Vec<u8>, FilesError>;

    /// Puts a file at `path`, in place of a file or link there. What is above is there.
    async fn write(&self, path: &str, content: &[u8]) -> Result<(), FilesError>;

    /// Makes a directory; what is above is there, and nothing stands at `path`.
    async fn make_directory(&self, path: &str) -> Result<(), FilesError>;

    /// Makes a link at `path` that says `target`; nothing stands there.
    async fn make_link(&self, path: &str, target: &str) -> Result<(), FilesError>;

    /// Returns what a link says.
    async fn read_link(&self, path: &str) -> Result<String, FilesError>;

    /// Takes away a file or link, or a directory; one that holds anything only if `recursive`.
    async fn remove(&self, path: &str, recursive: bool) -> Result<(), FilesError>;

    /// Moves what stands at `from` to `to`, in place of what may be replaced there.
    async fn rename(&self, from: &str, to: &str) -> Result<(), FilesError>;
}

/// A tree as the interpreter's storage. Files have no mode bits here: all may be read, written and run.
pub(crate) struct Bridge<F>(pub(crate) F);

/// What `stat` says of every entry.
const MODE: u32 = 0o755;

fn metadata(entry: Entry) -> Metadata {
    let file_type = match entry.kind {
        Kind::File => FileType::File,
        Kind::Directory => FileType::Directory,
        Kind::Link => FileType::Symlink,
    };
    let modified = UNIX_EPOCH + Duration::from_millis(entry.modified_ms);
    Metadata { file_type, size: entry.size, mode: MODE, modified, created: modified }
}

/// Names are UTF-8: the interpreter makes none that are not.
fn relative(path: &Path) -> &str {
    path.to_str().unwrap_or_default().trim_matches('/')
}

impl<F: Files> Bridge<F> {
    async fn found(&self, path: &Path) -> bashkit::Result<Entry> {
        Ok(self.0.entry(relative(path)).await?.ok_or(FilesError::NotFound)?)
    }
}

#[async_trait]
impl<F: Files> FsBackend for Bridge<F> {
    async fn read(&self, path: &Path) -> bashkit::Result<Vec<u8>> {
        Ok(self.0.read(relative(path)).await?)
    }

    async fn write(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        Ok(self.0.write(relative(path), content).await?)
    }

    async fn append(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        let path = relative(path);
        let mut whole = match self.0.entry(path).await? {
            Some(_) => self.0.read(path).await?,
            None => Vec::new(),
        };
        whole.extend_from_slice(content);
        Ok(self.0.write(path, &whole).await?)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        let path = relative(path);
        if !recursive {
            return Ok(self.0.make_directory(path).await?);
        }
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            if self.0.entry(&path[..end]).await?.is_none() {
                self.0.make_directory(&path[..end]).await?;
            }
        }
        Ok(())
    }

    async fn remove(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        Ok(self.0.remove(relative(path), recursive).await?)
    }

    async fn stat(&self, path: &Path) -> bashkit::Result<Metadata> {
        Ok(metadata(self.found(path).await?))
    }

    async fn read_dir(&self, path: &Path) -> bashkit::Result<Vec<DirEntry>> {
        let entries = self.0.entries(relative(path)).await?;
        Ok(entries.into_iter().map(|(name, entry)| DirEntry { name, metadata: metadata(entry) }).collect())
    }

    async fn exists(&self, path: &Path) -> bashkit::Result<bool> {
        Ok(self.0.entry(relative(path)).await?.is_some())
    }

    async fn rename(&self, from: &Path, to: &Path) -> bashkit::Result<()> {
        Ok(self.0.rename(relative(from), relative(to)).await?)
    }

    async fn copy(&self, from: &Path, to: &Path) -> bashkit::Result<()> {
        let content = self.0.read(relative(from)).await?;
        Ok(self.0.write(relative(to), &content).await?)
    }

    async fn symlink(&self, target: &Path, link: &Path) -> bashkit::Result<()> {
        Ok(self.0.make_link(relative(link), target.to_str().unwrap_or_default()).await?)
    }

    async fn read_link(&self, path: &Path) -> bashkit::Result<PathBuf> {
        Ok(self.0.read_link(relative(path)).await?.into())
    }

    /// Does nothing: there are no mode bits. A script that marks what it made as a program goes on.
    async fn chmod(&self, path: &Path, _mode: u32) -> bashkit::Result<()> {
        self.found(path).await.map(drop)
    }

    /// Does nothing but look: times are those of the last change. So `touch` makes files and is no change otherwise.
    async fn set_modified_time(&self, path: &Path, _time: bashkit::time::SystemTime) -> bashkit::Result<()> {
        self.found(path).await.map(drop)
    }
}
