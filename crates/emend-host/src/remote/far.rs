//! The interface to the far side: single steps on files, many at a time because each step is a round trip, and the
//! program that starts a shell there.
//!
//! The steps follow no rule of the sandbox; [`super::tree`] applies the rules. An implementation checks only that the
//! directory of a path it opens is the one named, as far as its protocol allows.

use emend_agent::environment::{EntryKind, EnvError, FilePath, Metadata};

/// Why a step on the far side failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FarError {
    /// Nothing exists at the path.
    Missing,
    /// The user there may not do this.
    Denied,
    /// A file where a directory is needed, a directory where a file is needed, or a name that is too long.
    Unfit(String),
    /// The disk there is full.
    Full(String),
    /// The connection was lost, or could not be made.
    Lost(String),
    /// The far side lacks a program or an extension.
    Unsupported(&'static str),
    /// Any other failure, as the far side describes it.
    Other(String),
}

impl FarError {
    /// Converts the error to that of an environment.
    pub(super) fn at(self, path: &FilePath) -> EnvError {
        let path = path.to_string();
        match self {
            Self::Missing => EnvError::NotFound { path, suggestions: Vec::new() },
            Self::Denied => EnvError::PermissionDenied { path, reason: "the user there has no permission".to_owned() },
            Self::Unfit(reason) => EnvError::InvalidPath { path, reason },
            Self::Full(reason) => EnvError::LimitReached { path, reason },
            Self::Lost(reason) | Self::Other(reason) => EnvError::Io { path, reason },
            Self::Unsupported(what) => EnvError::Unsupported { what },
        }
    }
}

/// The kind of an entry; links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    /// A link with its target; without it if the target was not read, or is not UTF-8.
    Link(Option<String>),
    /// A device, a socket or a FIFO.
    Special,
}

/// An entry on the far side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) size: u64,
    /// Seconds since 1970.
    pub(super) modified_s: u64,
    /// Permission bits.
    pub(super) mode: u32,
    /// User and group.
    pub(super) owner: Option<(u32, u32)>,
    /// Number of hard links, if the protocol tells it.
    pub(super) n_links: Option<u64>,
}

impl Found {
    /// Returns the entry from the mode word of `stat`.
    pub(super) fn of_mode(mode: u32, size: u64, modified_s: u64) -> Self {
        let kind = match mode & 0o170_000 {
            0o100_000 => Kind::File,
            0o040_000 => Kind::Directory,
            0o120_000 => Kind::Link(None),
            _ => Kind::Special,
        };
        Self { kind, size, modified_s, mode: mode & 0o7777, owner: None, n_links: None }
    }

    /// Returns the metadata of a file or directory; `None` for other kinds.
    pub(super) fn metadata(&self) -> Option<Metadata> {
        let (kind, size) = match self.kind {
            Kind::File => (EntryKind::File, self.size),
            Kind::Directory => (EntryKind::Directory, 0),
            _ => return None,
        };
        Some(Metadata { kind, size, modified_ms: self.modified_s.saturating_mul(1000) })
    }
}

/// The content of one directory: its names with their entries. `None` if it cannot be read.
pub(super) type Listed = Option<Vec<(String, Found)>>;

/// The attributes of a written file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// Permission bits; `None` for those of a new file.
    pub(super) mode: Option<u32>,
    /// User and group, kept as far as permitted.
    pub(super) owner: Option<(u32, u32)>,
    /// Whether the file exists and its permissions must allow the write.
    pub(super) replaces: bool,
}

/// Steps on the files of the far side. Paths are relative to the root.
pub(super) trait Far: Send + Sync {
    /// Returns the entries at `paths`, without following a link as the last component.
    fn look(&self, paths: &[FilePath]) -> Vec<Result<Option<Found>, FarError>>;

    /// Returns the entries of directories. A lost connection is an error, an unreadable directory is not.
    fn list(&self, directories: &[FilePath]) -> Result<Vec<Listed>, FarError>;

    /// Reads regular files, at most the size that they have when they are opened, and at most `n_bytes_max` each. Never
    /// follows a link as the last component.
    fn read(&self, paths: &[FilePath], n_bytes_max: u64) -> Vec<Result<Vec<u8>, FarError>>;

    /// Writes a file whose directory exists: a reader sees all old or all new bytes, also if the connection is lost.
    fn put(&self, path: &FilePath, content: &[u8], attributes: Attributes) -> Result<(), FarError>;

    /// Creates one directory. An existing one is not an error.
    fn make_directory(&self, path: &FilePath) -> Result<(), FarError>;

    /// Removes a file.
    fn remove_file(&self, path: &FilePath) -> Result<(), FarError>;

    /// Removes an empty directory.
    fn remove_directory(&self, path: &FilePath) -> Result<(), FarError>;
}

/// Starts the shell of the far side.
pub(super) trait Runner: Send + Sync {
    /// Returns the local program that runs [`BOOTSTRAP`](super::script::BOOTSTRAP) with `sh` on the far side, and passes
    /// its standard streams. A lost connection is made again before.
    fn shell(&self) -> Result<std::process::Command, FarError>;

    /// Returns the name of the far side for messages, e.g. `ssh host`.
    fn name(&self) -> String;
}

/// Returns a name for a temporary file beside `name`, as the files of this machine have them.
pub(super) fn temporary_name(name: &str, run: u64) -> String {
    use crate::files::temp_files;
    // The number of a process means nothing on another machine, so a random number stands for it.
    let plain = temp_files::temporary_name(name, "");
    format!("{plain}-{run:016x}{}", temp_files::UNFINISHED)
}
