//! Where tools run: the [`ExecutionEnvironment`] trait and the paths it deals in.
//!
//! An environment reads and writes whole files under one root and decides which paths stay inside it. It knows nothing
//! of versions, pending edits or tools: the workspace stands between (S2 §4.1, S0 §4).

pub mod command;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod gitignore;
pub mod layers;
pub mod memory;
pub mod repository;
pub mod resolve;
pub mod walk;

use std::fmt;

use emend_edit::ContentHash;
use emend_edit::size::compact_sort::sort_by;
use emend_llm::{BoxFuture, CancelToken, MaybeSend, MaybeSync, Shared};
use serde::{Deserialize, Serialize};

use crate::error_code::Code;
use crate::search::{FileMatches, Matcher};
use command::{Command, ExecResult, FileStamp, OutputSink};
use repository::GitSnapshot;

/// A path inside the root: relative, `/`-separated, without `.`, `..` or links. The root itself is the empty path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    /// Returns the root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Cleans `path` by text alone: drops empty segments and `.`, resolves `..`.
    ///
    /// Returns `None` if it leaves the root. An absolute path is taken as relative to the root: strip the root first.
    #[must_use]
    pub fn clean(path: &str) -> Option<Self> {
        let mut segments: Vec<&str> = Vec::new();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => {
                    segments.pop()?;
                }
                segment => segments.push(segment),
            }
        }
        Some(Self(segments.join("/")))
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the last segment; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the directory that holds this path; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned())))
    }

    /// Returns `name` inside this directory. `name` is one or more clean segments.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let mut path = self.clone();
        path.push(name);
        path
    }

    /// Makes this the path of `name` inside it.
    pub(crate) fn push(&mut self, name: &str) {
        if !self.is_root() {
            self.0.push('/');
        }
        self.0.push_str(name);
    }

    /// Makes this again the path that had this length before names were pushed to it.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns whether this path is `directory` or lies below it.
    #[must_use]
    pub fn is_under(&self, directory: &Self) -> bool {
        directory.is_root()
            || self.0 == directory.0
            || self.0.strip_prefix(&directory.0).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

/// What a path shall be used for. A path to write need not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read a file.
    Read,
    /// Write or create a file.
    Write,
    /// List a directory.
    List,
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// What is known of a path without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// File or directory.
    pub kind: EntryKind,
    /// Bytes; 0 for a directory.
    pub size: u64,
    /// Milliseconds since 1970, 0 if unknown. For ordering only, never for verification.
    pub modified_ms: u64,
}

/// One entry of a listing or a walk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirEntry {
    /// Where it is.
    pub path: FilePath,
    /// What it is.
    #[serde(flatten)]
    pub metadata: Metadata,
}

/// Puts entries into the order of their paths, one for each path.
#[must_use]
pub fn in_order(mut entries: Vec<DirEntry>) -> Vec<DirEntry> {
    sort_by(&mut entries, |a, b| a.path.cmp(&b.path));
    entries.dedup_by(|a, b| a.path == b.path);
    entries
}

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file, as [`resolve`](ExecutionEnvironment::resolve) returned it.
    pub path: FilePath,
    /// The hash of what it holds now; `None` if there is no such file.
    pub before: Option<ContentHash>,
    /// What it is to hold; `None` to remove it.
    pub after: Option<Vec<u8>>,
    /// The file whose mode bits a new file takes, if it is one that moves.
    pub mode_of: Option<FilePath>,
    /// Whether it can be run as a program afterwards; `None` if that stays as it is. Where files have no such bit, it is
    /// ignored.
    pub executable: Option<bool>,
}

/// Why an environment refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// Nothing is there.
    #[error("{path} does not exist")]
    NotFound {
        /// The path as it was given.
        path: String,
        /// Names in the same directory that come close, best first, at most three.
        suggestions: Vec<String>,
    },
    /// The path is empty, or is not what the operation needs (a directory to read, say).
    #[error("{path:?}: {reason}")]
    InvalidPath {
        /// The path as it was given.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The path leads to a directory, and the operation needs a file.
    #[error("{path:?}: this is a directory; name a file in it")]
    IsDirectory {
        /// The path relative to the root.
        path: String,
    },
    /// The path leads out of the root.
    #[error("{path} is outside the project root")]
    OutsideRoot {
        /// The path as it was given.
        path: String,
        /// For `--debug`: the root, the cleaned path and the path relative to the root that was refused.
        decision: SandboxDecision,
    },
    /// The system or a wrapper refuses.
    #[error("{path}: {reason}")]
    PermissionDenied {
        /// The path as it was given.
        path: String,
        /// Who refused and why.
        reason: String,
    },
    /// A file does not hold what a change of it was made for.
    #[error("{path} was changed meanwhile; read it again")]
    Changed {
        /// The path.
        path: String,
    },
    /// Reading or writing failed.
    #[error("{path}: {reason}")]
    Io {
        /// The path as it was given.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// There is no room for it.
    #[error("{path}: this would be more than the {limit} {what} that may be held here")]
    QuotaExceeded {
        /// The path as it was given.
        path: String,
        /// What there would be too much of: `bytes` or `files`.
        what: &'static str,
        /// How much there may be.
        limit: u64,
    },
    /// There is no room for it, and nobody knows how much there is.
    #[error("{path}: {reason}")]
    NoSpace {
        /// The path as it was given.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// This environment cannot do it.
    #[error("{what} is not available here")]
    Unsupported {
        /// The operation.
        what: &'static str,
    },
}

/// How a path was found to leave the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SandboxDecision {
    /// The root.
    pub root: String,
    /// The path after cleaning and after following links.
    pub cleaned: String,
    /// The same, relative to the root.
    pub rel: String,
}

impl EnvError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code::NotFound,
            Self::InvalidPath { .. } | Self::IsDirectory { .. } => Code::InvalidArgument,
            Self::OutsideRoot { .. } | Self::PermissionDenied { .. } => Code::PermissionDenied,
            Self::Changed { .. } => Code::Stale,
            Self::Io { .. } => Code::IoError,
            Self::QuotaExceeded { .. } | Self::NoSpace { .. } => Code::LimitReached,
            Self::Unsupported { .. } => Code::Unsupported,
        }
    }

    /// Returns what to try instead, best first.
    #[must_use]
    pub fn suggestions(&self) -> Vec<String> {
        match self {
            Self::NotFound { suggestions, .. } => suggestions.clone(),
            Self::OutsideRoot { .. } => vec!["use a path relative to the project root, e.g. \".\"".to_owned()],
            _ => Vec::new(),
        }
    }
}

/// What to search and where.
#[derive(Clone, Debug)]
pub struct GrepQuery {
    /// The compiled pattern.
    pub matcher: Matcher,
    /// The file or directory to search.
    pub path: FilePath,
    /// Only files whose path relative to `path`, or whose name, matches this glob.
    pub glob: Option<String>,
    /// Files to leave out: the workspace searches those itself, because it holds newer text.
    pub exclude: Vec<FilePath>,
    /// Stop after so many matching lines.
    pub max_results: usize,
    /// Lines of context before and after each match.
    pub context_lines: usize,
}

/// Runs tools' effects under one root. All methods take paths that [`resolve`](Self::resolve) returned.
///
/// Implementations never follow a link out of the root, write atomically (a reader sees the old bytes or the new
/// ones), create missing parents, and keep mode bits.
pub trait ExecutionEnvironment: MaybeSend + MaybeSync {
    /// Gets ready; the workspace calls it before the first message is dealt with, and again only if it failed.
    fn initialize(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async { Ok(()) })
    }

    /// Releases what [`initialize`](Self::initialize) took; whoever made the environment calls it at the end.
    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Turns a path as a model or a user wrote it into a path inside the root.
    ///
    /// Accepts relative paths, and absolute ones under the root; follows links that stay inside.
    ///
    /// # Errors
    ///
    /// `InvalidPath` for an empty path, `OutsideRoot` for one that leaves the root, `NotFound` (with suggestions) if
    /// `access` needs it to exist and it does not.
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>>;

    /// Returns what a path names, `None` if nothing.
    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>>;

    /// Reads a whole file.
    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>>;

    /// Writes a whole file, atomically; creates it and its parents if need be.
    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Removes a file.
    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Changes several files: all of them, or none.
    ///
    /// Refuses with [`EnvError::Changed`] if a file does not hold what its change was made for. Environments whose
    /// files outlive the process see to it that it is all or none even if the process does not live to the end.
    /// [`change_one_by_one`] does it by the other methods.
    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Lists a directory down to `depth` levels (1 = its own entries), sorted by path, ignored and hidden entries
    /// included except `.git`.
    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>>;

    /// Returns the files under `path` whose path relative to it matches `glob`, sorted by path. Honours `.gitignore`
    /// files; skips `.git` and hidden entries.
    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>>;

    /// Returns the paths of what [`glob`](Self::glob) finds. Environments that have to ask for sizes and times file by
    /// file are spared that.
    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        Box::pin(async move {
            let found = self.glob(path, glob).await?;
            Ok(found.into_iter().map(|entry| entry.path).collect())
        })
    }

    /// Returns matching lines, sorted by path then line. Walks like [`glob`](Self::glob); skips binary files.
    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>>;

    /// Returns whether commands can be run here. Without it the model is offered no shell.
    fn has_shell(&self) -> bool {
        false
    }

    /// Runs a command in the environment's shell until it ends, its time is up or `cancel` is cancelled, and shows what
    /// it prints to `output` meanwhile. When this returns, nothing that the command started is left; if it is dropped,
    /// that is seen to all the same.
    ///
    /// # Errors
    ///
    /// `Unsupported` if there is no shell, `PermissionDenied` if it may not be used, `Io` if it cannot be started. A
    /// command that fails is no error.
    fn exec_command<'a>(
        &'a self,
        _command: &'a Command,
        _output: &'a dyn OutputSink,
        _cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        Box::pin(std::future::ready(Err(EnvError::Unsupported { what: "a shell" })))
    }

    /// Returns the files in which the changes of commands are looked for, sorted by path: all but `.git` and what
    /// `.gitignore` excludes. Environments that cannot look at hidden files leave those out too.
    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        Box::pin(async {
            let files = self.glob(&FilePath::root(), "**").await?;
            let stamp = |file: DirEntry| {
                let marks = [file.metadata.modified_ms, 0, 0];
                FileStamp { path: file.path, size: file.metadata.size, marks }
            };
            Ok(files.into_iter().map(stamp).collect())
        })
    }

    /// Returns the files as they are now, to be read later, if that costs next to nothing. Commands are undone from it;
    /// without it what texts there are is read before the first one.
    fn snapshot(&self) -> Option<Shared<dyn ExecutionEnvironment>> {
        None
    }

    /// Returns a copy of this environment that holds `overlay` in place of its own files, or their absence. What
    /// happens in it does not happen here; directories that `.gitignore` excludes may be shared.
    ///
    /// # Errors
    ///
    /// `Unsupported` if it cannot be copied, or as [`write`](Self::write).
    fn scratch<'a>(
        &'a self,
        _overlay: &'a [(FilePath, Option<Vec<u8>>)],
    ) -> BoxFuture<'a, Result<Shared<dyn ExecutionEnvironment>, EnvError>> {
        Box::pin(std::future::ready(Err(EnvError::Unsupported { what: "a copy to run commands in" })))
    }

    /// Returns the root as users know it, e.g. `/home/me/project`.
    fn working_directory(&self) -> String;

    /// Returns the state of the repository the root is in, where the environment can ask git. Repositories that are
    /// only files are looked at by the caller.
    fn git(&self) -> BoxFuture<'_, Option<GitSnapshot>> {
        Box::pin(std::future::ready(None))
    }

    /// Returns `linux`, `darwin`, `windows` or `wasm`.
    fn platform(&self) -> &'static str;

    /// Returns a human-readable version of the operating system.
    fn os_version(&self) -> String;
}

/// Changes files one after the other. If one cannot be changed, all are made what they were, that one too: a host whose
/// writes are not atomic may have left half of it. Files that move get the mode bits of any new file.
///
/// # Errors
///
/// As [`change`](ExecutionEnvironment::change); `Io` naming the files that could not be put back, with the cause.
#[must_use]
pub fn change_one_by_one<'a>(
    environment: &'a dyn ExecutionEnvironment,
    changes: &'a [FileChange],
) -> BoxFuture<'a, Result<(), EnvError>> {
    Box::pin(change_all(environment, changes))
}

async fn change_all(environment: &dyn ExecutionEnvironment, changes: &[FileChange]) -> Result<(), EnvError> {
    let mut olds: Vec<Option<Vec<u8>>> = Vec::new();
    for (n_done, change) in changes.iter().enumerate() {
        let outcome = match current(environment, &change.path).await {
            Ok(old) if old.as_deref().map(ContentHash::of) != change.before => {
                Err(EnvError::Changed { path: change.path.to_string() })
            }
            Ok(old) => {
                olds.push(old);
                put(environment, &change.path, change.after.as_deref()).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            return Err(put_back(environment, changes, &olds, n_done, error).await);
        }
    }
    Ok(())
}

/// Makes the files of the first `changes` what they were, `n_done` of which were written whole. Returns what is to be told.
async fn put_back(
    environment: &dyn ExecutionEnvironment,
    changes: &[FileChange],
    olds: &[Option<Vec<u8>>],
    n_done: usize,
    error: EnvError,
) -> EnvError {
    let mut stuck = Vec::new();
    for (place, (change, old)) in changes.iter().zip(olds).enumerate().rev() {
        match current(environment, &change.path).await {
            Ok(now) if now == *old => continue,
            // Someone else has written it since.
            Ok(now) if place < n_done && now != change.after => continue,
            _ => {}
        }
        if put(environment, &change.path, old.as_deref()).await.is_err() {
            stuck.push(change.path.as_str());
        }
    }
    if stuck.is_empty() {
        return error;
    }
    EnvError::Io { path: stuck.join(", "), reason: format!("could not be put back as it was, after: {error}") }
}

/// Returns what a file holds, `None` if there is none.
async fn current(environment: &dyn ExecutionEnvironment, path: &FilePath) -> Result<Option<Vec<u8>>, EnvError> {
    match environment.metadata(path).await? {
        Some(_) => environment.read(path).await.map(Some),
        None => Ok(None),
    }
}

async fn put(environment: &dyn ExecutionEnvironment, path: &FilePath, content: Option<&[u8]>) -> Result<(), EnvError> {
    match content {
        Some(content) => environment.write(path, content).await,
        None => environment.remove(path).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        assert_eq!(FilePath::clean(path).as_ref().map(FilePath::as_str), expected);
    }

    #[test]
    fn paths_are_cleaned_by_text_alone() {
        check("a/./b//c", Some("a/b/c"));
        check("a/../b", Some("b"));
        check(".", Some(""));
        check("..", None);
        check("a/../../b", None);
        assert!(FilePath::clean("a/b").unwrap().is_under(&FilePath::clean("a").unwrap()));
        assert!(!FilePath::clean("ab").unwrap().is_under(&FilePath::clean("a").unwrap()));
    }
}
