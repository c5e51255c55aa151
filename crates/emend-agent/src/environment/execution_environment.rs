//! The trait that every environment implements: files and commands under one root.
//!
//! The provided methods describe an environment without a shell, snapshots, copies and git.

use emend_llm::{BoxFuture, CancelToken, MaybeSend, MaybeSync, Shared};

use super::change::FileChange;
use super::command::{Command, ExecResult, FileStamp, OutputSink};
use super::entry::{Access, DirEntry, Metadata};
use super::error::EnvError;
use super::grep::{FileMatches, GrepQuery};
use super::path::FilePath;
use super::repository::GitSnapshot;

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
    /// [`change_one_by_one`](super::change_one_by_one) does it by the other methods.
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
