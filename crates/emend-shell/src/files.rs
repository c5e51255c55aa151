//! The interface to the files, and its adapter to the interpreter's storage.
//!
//! The interpreter follows links and checks kinds itself; a tree only stores entries. Paths outside the tree (`/tmp`, `/bin`,
//! `/dev/null`) belong to the interpreter, and their content is lost after each command.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bashkit::time::UNIX_EPOCH;
use bashkit::{DirEntry, FileType, FsBackend, Metadata, async_trait};

/// The kind of an entry, without following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// An entry of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Kind of the entry itself: a link is not followed.
    pub kind: Kind,
    /// Size in bytes; for a link, of its target's path; 0 for a directory.
    pub size: u64,
    /// Modification time in milliseconds since 1970.
    pub modified_ms: u64,
}

/// The reason why an operation of a tree failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilesError {
    /// The path does not exist.
    NotFound,
    /// An entry prevents the operation: it exists already, has the wrong kind, or is not empty. With the reason.
    InTheWay(String),
    /// The tree is full. With the reason.
    Full(String),
    /// Any other failure, with the reason.
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

/// A tree of files that commands work on.
///
/// Paths are relative to its root, separated by `/`, and clean (no empty component, `.` or `..`); the root is the empty path.
/// No method follows a link. A method that fails must have changed nothing.
#[async_trait]
pub trait Files: Send + Sync {
    /// Returns the entry at `path`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// `Failed` if the tree cannot be read.
    async fn entry(&self, path: &str) -> Result<Option<Entry>, FilesError>;

    /// Returns the names and entries of a directory, sorted by name.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InTheWay` if `path` is not a directory.
    async fn entries(&self, path: &str) -> Result<Vec<(String, Entry)>, FilesError>;

    /// Returns the content of a file.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InTheWay` if `path` is not a file.
    async fn read(&self, path: &str) -> Result<Vec<u8>, FilesError>;

    /// Writes a file at `path`, replacing a file or link there. The parent directory exists.
    ///
    /// # Errors
    ///
    /// `InTheWay` if `path` is a directory; `Full`.
    async fn write(&self, path: &str, content: &[u8]) -> Result<(), FilesError>;

    /// Creates a directory at `path`, which does not exist. The parent directory exists.
    ///
    /// # Errors
    ///
    /// `InTheWay` if `path` exists; `Full`.
    async fn make_directory(&self, path: &str) -> Result<(), FilesError>;

    /// Creates a link to `target` at `path`, which does not exist.
    ///
    /// # Errors
    ///
    /// `InTheWay` if `path` exists; `Full`.
    async fn make_link(&self, path: &str, target: &str) -> Result<(), FilesError>;

    /// Returns the target of a link.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `Failed` if `path` is not a link.
    async fn read_link(&self, path: &str) -> Result<String, FilesError>;

    /// Removes a file, a link or a directory. A directory that is not empty is removed only if `recursive`.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InTheWay` for a directory that is not empty.
    async fn remove(&self, path: &str, recursive: bool) -> Result<(), FilesError>;

    /// Moves the entry at `from` to `to`, replacing a file, a link or an empty directory there.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InTheWay` if `to` cannot be replaced.
    async fn rename(&self, from: &str, to: &str) -> Result<(), FilesError>;
}

/// A tree as the interpreter's storage. Files have no mode bits: all can be read, written and run.
pub(crate) struct TreeBackend<F>(pub(crate) F);

/// The mode bits that `stat` reports for every entry.
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

/// Returns a path relative to the root. The interpreter creates only UTF-8 names.
fn relative(path: &Path) -> &str {
    path.to_str().unwrap_or_default().trim_matches('/')
}

impl<F: Files> TreeBackend<F> {
    async fn found(&self, path: &Path) -> bashkit::Result<Entry> {
        Ok(self.0.entry(relative(path)).await?.ok_or(FilesError::NotFound)?)
    }
}

#[async_trait]
impl<F: Files> FsBackend for TreeBackend<F> {
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

    /// Does nothing, because there are no mode bits. It succeeds so that a script can mark its files as executable.
    async fn chmod(&self, path: &Path, _mode: u32) -> bashkit::Result<()> {
        self.found(path).await.map(drop)
    }

    /// Does nothing but check that the path exists: times are those of the last change. So `touch` only creates files.
    async fn set_modified_time(&self, path: &Path, _time: bashkit::time::SystemTime) -> bashkit::Result<()> {
        self.found(path).await.map(drop)
    }
}
