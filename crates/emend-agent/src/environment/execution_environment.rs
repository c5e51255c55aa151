//! The trait that every environment implements: files and commands under one root.
//!
//! The provided methods describe an environment without a shell, snapshots, copies and git.

use emend_llm::{BoxFuture, CancelToken, MaybeSend, MaybeSync, Shared};

use super::change::FileChange;
#[cfg(not(target_family = "wasm"))]
use super::change::FirstStep;
use super::command::{Command, ExecResult, FileStamp, OutputSink};
use super::entry::{Access, DirEntry, EntryKind, Metadata};
use super::error::EnvError;
use super::file_keeper::{CopyKeeper, FileKeeper};
use super::grep::{FileMatches, GrepQuery};
use super::path::FilePath;
use super::repository::GitSnapshot;
use crate::approval::{CommandLine, Hidden};

/// Files and commands under one root. All methods take paths that [`resolve`](Self::resolve) returned.
///
/// Implementations never follow a link out of the root, write atomically (a reader sees the old bytes or the new ones),
/// create missing parents, and keep mode bits.
///
/// This environment wraps another one and rejects the path of a secret. Searches of the inner environment still see it.
///
/// ```
/// use emend_agent::environment::memory::MemFs;
/// use emend_agent::environment::{
///     Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FileMatches, FilePath, GrepQuery, Metadata,
/// };
/// use emend_llm::BoxFuture;
///
/// type Outcome<'a, T> = BoxFuture<'a, Result<T, EnvError>>;
///
/// struct ProtectsSecrets(MemFs);
///
/// impl ExecutionEnvironment for ProtectsSecrets {
///     fn resolve<'a>(&'a self, path: &'a str, access: Access) -> Outcome<'a, FilePath> {
///         Box::pin(async move {
///             let file = self.0.resolve(path, access).await?;
///             if file.name() == ".env" {
///                 let (path, reason) = (path.to_owned(), "this file is secret".to_owned());
///                 return Err(EnvError::PermissionDenied { path, reason });
///             }
///             Ok(file)
///         })
///     }
///     fn metadata<'a>(&'a self, path: &'a FilePath) -> Outcome<'a, Option<Metadata>> {
///         self.0.metadata(path)
///     }
///     fn read<'a>(&'a self, path: &'a FilePath) -> Outcome<'a, Vec<u8>> {
///         self.0.read(path)
///     }
///     fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> Outcome<'a, ()> {
///         self.0.write(path, content)
///     }
///     fn remove<'a>(&'a self, path: &'a FilePath) -> Outcome<'a, ()> {
///         self.0.remove(path)
///     }
///     fn change<'a>(&'a self, changes: &'a [FileChange]) -> Outcome<'a, ()> {
///         self.0.change(changes)
///     }
///     fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> Outcome<'a, Vec<DirEntry>> {
///         self.0.list(path, depth)
///     }
///     fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> Outcome<'a, Vec<DirEntry>> {
///         self.0.glob(path, glob)
///     }
///     fn grep<'a>(&'a self, query: &'a GrepQuery) -> Outcome<'a, Vec<FileMatches>> {
///         self.0.grep(query)
///     }
///     fn working_directory(&self) -> String {
///         self.0.working_directory()
///     }
///     fn platform(&self) -> &'static str {
///         self.0.platform()
///     }
///     fn os_version(&self) -> String {
///         self.0.os_version()
///     }
/// }
///
/// let environment = ProtectsSecrets(MemFs::from_fixture("//- .env\nKEY=1\n"));
/// let refused = futures::executor::block_on(environment.resolve(".env", Access::Read));
/// assert_eq!(refused.unwrap_err().to_string(), ".env: this file is secret");
/// ```
pub trait ExecutionEnvironment: MaybeSend + MaybeSync {
    /// Prepares the environment. The workspace calls it before the first run, and again only after a failure.
    ///
    /// # Errors
    ///
    /// Returns the reason why the environment cannot be used. The run ends with this error; the next run tries again.
    fn initialize(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async { Ok(()) })
    }

    /// Releases the resources of [`initialize`](Self::initialize). The creator of the environment calls it at the end.
    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Resolves a path from a model or a user to a path inside the root.
    ///
    /// Accepts relative paths and absolute paths under the root. Follows links that stay inside the root.
    ///
    /// # Errors
    ///
    /// `InvalidPath` for an empty path, `OutsideRoot` for a path outside the root, `NotFound` (with suggestions) if
    /// `access` needs an existing entry.
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>>;

    /// Returns the metadata of a path; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` if the system or a layer rejects the path, `Io` if the entry cannot be examined. A missing
    /// entry is not an error.
    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>>;

    /// Reads a whole file.
    ///
    /// # Errors
    ///
    /// `NotFound` if the file does not exist, `InvalidPath` if the path is not a file, `LimitReached` if the file is too
    /// large, `PermissionDenied`, or `Io`.
    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>>;

    /// Reads a whole file; `None` if nothing exists at `path`. An environment that needs a round trip for each call can
    /// answer with one.
    ///
    /// # Errors
    ///
    /// `IsDirectory` if the path is a directory, otherwise as [`read`](Self::read).
    fn read_existing<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Vec<u8>>, EnvError>> {
        Box::pin(async move {
            match self.metadata(path).await? {
                None => Ok(None),
                Some(found) if found.kind == EntryKind::Directory => {
                    Err(EnvError::IsDirectory { path: path.to_string() })
                }
                Some(_) => self.read(path).await.map(Some),
            }
        })
    }

    /// Writes a whole file atomically; creates the file and its parents.
    ///
    /// # Errors
    ///
    /// `InvalidPath` if the path is not a file, `PermissionDenied`, `QuotaExceeded` or `LimitReached` if the content does
    /// not fit, or `Io`. The old content is intact then.
    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// `NotFound` if the file does not exist, `InvalidPath` if the path is not a file, `PermissionDenied`, or `Io`.
    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Changes several files: all of them or none.
    ///
    /// Returns [`EnvError::Changed`] if a file does not have the expected content. An environment whose files outlive
    /// the process keeps the guarantee if the process is killed. [`change_one_by_one`](super::change_one_by_one())
    /// implements it by the other methods, without that guarantee.
    ///
    /// # Errors
    ///
    /// `Changed` if a file does not have the expected content, or as [`write`](Self::write) and
    /// [`remove`](Self::remove). No file is changed then.
    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Changes files as [`change`](Self::change) does, after `first` has succeeded. An environment can prepare the new
    /// contents while `first` runs, but no file changes before its end. Absent in a browser, where no such step exists.
    ///
    /// # Errors
    ///
    /// The error of `first`, or as [`change`](Self::change). No file is changed then.
    #[cfg(not(target_family = "wasm"))]
    fn change_after<'a>(
        &'a self,
        first: &'a dyn FirstStep,
        changes: &'a [FileChange],
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            first.run()?;
            self.change(changes).await
        })
    }

    /// Lists a directory down to `depth` levels (1 = its own entries), sorted by path. Includes ignored and hidden
    /// entries, but not `.git`.
    ///
    /// # Errors
    ///
    /// `NotFound` if the directory does not exist, `InvalidPath` if the path is not a directory, `PermissionDenied`, or
    /// `Io`.
    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>>;

    /// Returns the files under `path` whose path relative to it matches `glob`, sorted by path. Obeys `.gitignore`
    /// files; skips `.git` and hidden entries.
    ///
    /// # Errors
    ///
    /// `InvalidPath` if the glob is malformed, otherwise as [`list`](Self::list).
    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>>;

    /// Returns the paths of [`glob`](Self::glob). An environment that reads sizes and times file by file can skip that
    /// here.
    ///
    /// # Errors
    ///
    /// As [`glob`](Self::glob).
    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        Box::pin(async move {
            let found = self.glob(path, glob).await?;
            Ok(found.into_iter().map(|entry| entry.path).collect())
        })
    }

    /// Returns matching lines, sorted by path and line. Walks like [`glob`](Self::glob); skips binary files.
    ///
    /// # Errors
    ///
    /// `InvalidPath` if the glob of the query is malformed, otherwise as [`list`](Self::list). A file that cannot be
    /// read is skipped.
    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>>;

    /// Returns whether commands are available. Without them, the model gets no shell tool.
    fn has_shell(&self) -> bool {
        false
    }

    /// Runs a command in the environment's shell until it ends, its timeout expires or `cancel` is cancelled. Its
    /// output goes to `output` as it comes. No process of the command is left when this returns; a dropped future ends
    /// them too.
    ///
    /// # Errors
    ///
    /// `Unsupported` without a shell, `PermissionDenied` if the shell may not be used, `Io` if the command cannot be
    /// started. A non-zero exit status is not an error.
    fn exec_command<'a>(
        &'a self,
        _command: &'a Command,
        _output: &'a dyn OutputSink,
        _cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        Box::pin(std::future::ready(Err(EnvError::Unsupported { what: "a shell" })))
    }

    /// Returns the commands of a line as the environment's shell reads it, for rules about commands. Returns `None` if the
    /// line could run other commands than those; no rule with a pattern allows it then.
    fn read_command<'a>(&'a self, _line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        Box::pin(std::future::ready(None))
    }

    /// Returns a view of the files for commands, in which the paths of `hidden` do not exist and cannot be created.
    /// Returns `None` if a command could reach them all the same, because it runs on the system's own files.
    fn view(&self, _hidden: &Hidden) -> Option<Shared<dyn ExecutionEnvironment>> {
        None
    }

    /// Returns whether names that differ only in the case of letters name the same file. Rules about paths then match in
    /// every case.
    fn ignores_case(&self) -> bool {
        matches!(self.platform(), "darwin" | "windows")
    }

    /// Returns whether this environment hides `path`.
    fn hides(&self, _path: &FilePath) -> bool {
        false
    }

    /// Returns the files that are checked for changes by commands, sorted by path: all but `.git` and ignored files. An
    /// environment that cannot read hidden files leaves those out too.
    ///
    /// # Errors
    ///
    /// As [`glob`](Self::glob).
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

    /// Returns the present files for later reads, if that is nearly free. Changes of commands are undone from it.
    /// Without a snapshot, all text files are read before the first command.
    fn snapshot(&self) -> Option<Shared<dyn ExecutionEnvironment>> {
        None
    }

    /// Returns the keeper of files, if the environment has one. It replaces manifest and snapshot.
    fn keeper(&self) -> Option<&dyn FileKeeper> {
        None
    }

    /// Returns the keeper of this environment, if it is a copy that has one.
    fn copy_keeper(&self) -> Option<&dyn CopyKeeper> {
        None
    }

    /// Returns a copy of this environment in which `overlay` replaces or removes files. Changes of the copy do not
    /// affect the original; ignored directories may be shared. Changes of those are kept for undo, if the copy has a
    /// [`copy_keeper`](Self::copy_keeper).
    ///
    /// # Errors
    ///
    /// `Unsupported` if no copy can be made, or as [`write`](Self::write).
    fn scratch<'a>(
        &'a self,
        _overlay: &'a [(FilePath, Option<Vec<u8>>)],
    ) -> BoxFuture<'a, Result<Shared<dyn ExecutionEnvironment>, EnvError>> {
        Box::pin(std::future::ready(Err(EnvError::Unsupported { what: "a copy to run commands in" })))
    }

    /// Returns the root as users know it, for example `/home/me/project`.
    fn working_directory(&self) -> String;

    /// Returns the state of the repository of the root, if the environment can run git. The caller reads repositories
    /// that are only files.
    fn git(&self) -> BoxFuture<'_, Option<GitSnapshot>> {
        Box::pin(std::future::ready(None))
    }

    /// Returns `linux`, `darwin`, `windows` or `wasm`.
    fn platform(&self) -> &'static str;

    /// Returns a human-readable version of the operating system.
    fn os_version(&self) -> String;
}
