//! An environment over the local machine's files, confined to one directory.
//!
//! `emend_agent::environment::resolve` resolves paths, as it does for files in memory. Files are opened through the
//! directory's handle, so a directory that is swapped for a link between resolving and opening leads nowhere. FIFOs,
//! sockets and devices are never opened. Names that are not UTF-8 are skipped, because a path is text here.
//!
//! Commands run in that directory. Only [`LocalEnvironment::with_sandbox`] confines what they write: otherwise approval
//! rules decide which commands run.

mod commit;
#[cfg(unix)]
mod index;
#[cfg(unix)]
mod keeper;
#[cfg(unix)]
mod path_list;
#[cfg(unix)]
mod scratch;
mod search;

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "shell")]
use emend_agent::approval::CommandLine;
use emend_agent::environment::FileMatches;
use emend_agent::environment::GitSnapshot;
use emend_agent::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use emend_agent::environment::resolve::{self, Node, Tree as _};
use emend_agent::environment::{
    Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FilePath, FirstStep, GrepQuery, Metadata,
    change_one_by_one,
};
#[cfg(unix)]
use emend_agent::environment::{CopyKeeper, FileKeeper};
#[cfg(unix)]
use emend_llm::Shared;
use emend_llm::{BoxFuture, CancelToken};

#[cfg(unix)]
pub use index::IndexFigures;
#[cfg(unix)]
use index::{LocalIndex, Prefilter, ProjectIndex};
#[cfg(unix)]
use keeper::{LocalCopyKeeper, LocalKeeper};
#[cfg(unix)]
use scratch::Scratch;

use crate::commit::CommitError;
use crate::files::{Opened, RootFiles, with_slashes};
use crate::git_config;
#[cfg(unix)]
use crate::keep::Keeper;
use crate::process::{self, EnvPolicy, Processes, Sandbox, SpawnOptions};
use crate::state::StateDir;
use crate::under_way::UnderWay;

/// The files below one directory of this machine, and commands in it.
///
/// Inside a tokio runtime, file operations run on its blocking threads; elsewhere on the caller's thread.
///
/// ```
/// use emend_agent::environment::{Access, ExecutionEnvironment as _};
/// use emend_host::LocalEnvironment;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let root = tempfile::tempdir()?;
/// std::fs::write(root.path().join("notes.md"), "hello\n")?;
/// let environment = LocalEnvironment::new(root.path())?;
/// futures::executor::block_on(async {
///     let path = environment.resolve("./notes.md", Access::Read).await?;
///     assert_eq!(environment.read(&path).await?, b"hello\n");
///     // Paths outside the root are rejected.
///     assert!(environment.resolve("../other.md", Access::Read).await.is_err());
///     Ok(())
/// })
/// # }
/// ```
pub struct LocalEnvironment {
    files: Arc<RootFiles>,
    /// Holds the journal of changes of several files.
    journal: Option<Arc<StateDir>>,
    /// Keeps the files before commands, if their changes can be stored.
    #[cfg(unix)]
    keeper: Option<LocalKeeper>,
    /// Finds the changes in this environment that end with it, if it is a copy.
    #[cfg(unix)]
    copy_keeper: Option<LocalCopyKeeper>,
    /// Tells searches which files they can leave out.
    #[cfg(unix)]
    index: Option<LocalIndex>,
    /// The environment variables that commands inherit.
    variables: EnvPolicy,
    /// The paths that commands may write to, if they are confined.
    sandbox: Option<Sandbox>,
    /// The running commands.
    processes: Processes,
    /// The changes of files that are under way.
    under_way: UnderWay,
    /// The files of which this environment is a copy.
    #[cfg(unix)]
    original: Option<Arc<RootFiles>>,
    /// The copy's directory, if this environment is a copy. Dropped after the commands.
    #[cfg(unix)]
    scratch: Option<Scratch>,
}

impl LocalEnvironment {
    /// Number of files from which on an index pays. Without one, a search of fewer files takes some milliseconds.
    pub const INDEXED_FILES_MIN: usize = 2_000;

    /// Opens `root`, an existing directory. The environment keeps using that directory even if it is moved.
    ///
    /// # Errors
    ///
    /// `NotFound` or `InvalidPath` if `root` is not a directory, `Io` or `PermissionDenied` if it cannot be opened, and
    /// `InvalidPath` if its path is not UTF-8.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, EnvError> {
        Ok(Self {
            files: Arc::new(RootFiles::open(root.as_ref())?),
            journal: None,
            #[cfg(unix)]
            keeper: None,
            #[cfg(unix)]
            copy_keeper: None,
            #[cfg(unix)]
            index: None,
            variables: EnvPolicy::default(),
            sandbox: None,
            processes: Processes::default(),
            under_way: UnderWay::default(),
            #[cfg(unix)]
            original: None,
            #[cfg(unix)]
            scratch: None,
        })
    }

    /// Stores the journal of changes of several files in `state`, the state of this root, and the files that are kept
    /// before commands.
    ///
    /// With a journal such a change is all or none even if the process dies. Without it, a failed change is rolled back only
    /// while the process lives.
    #[must_use]
    pub fn with_journal(self, state: Arc<StateDir>) -> Self {
        self.files.store_notes(state.directory());
        if !state.is_for_reading() {
            self.files.sweep_written(state.directory());
        }
        #[cfg(unix)]
        let keeper = match state.is_for_reading() {
            true => Keeper::for_reading(state.directory()),
            false => Keeper::new(state.directory()),
        };
        #[cfg(unix)]
        let keeper = LocalKeeper::new(Arc::clone(&self.files), keeper);
        Self {
            journal: Some(state),
            #[cfg(unix)]
            keeper: Some(keeper),
            ..self
        }
    }

    /// Speeds up searches with an index in `state`, if the project has at least `files_min` files. The index never
    /// changes the result of a search.
    ///
    /// The first search starts a thread that builds the index, and no search waits for it. `state` must have been opened
    /// for writing.
    #[cfg(unix)]
    #[must_use]
    pub fn with_index(self, state: &StateDir, files_min: usize) -> Self {
        let index = LocalIndex::new(ProjectIndex::new(Arc::clone(&self.files), state, files_min));
        Self { index: Some(index), ..self }
    }

    /// Brings the index up to date and waits for it. Without an index nothing happens.
    ///
    /// # Errors
    ///
    /// `Io` if another process is at it, or if the index cannot be written. Searches work all the same.
    #[cfg(unix)]
    pub fn update_index(&self) -> Result<IndexFigures, EnvError> {
        self.index.as_ref().map_or_else(|| Ok(IndexFigures::default()), |index| index.shared().update())
    }

    /// Sets the environment variables that commands inherit.
    #[must_use]
    pub fn with_variables(self, policy: EnvPolicy) -> Self {
        Self { variables: policy, ..self }
    }

    /// Confines commands: they write only in the root and at the paths in `sandbox`.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system cannot confine commands.
    pub fn with_sandbox(self, sandbox: Sandbox) -> Result<Self, EnvError> {
        Sandbox::check()?;
        Ok(Self { sandbox: Some(sandbox), ..self })
    }

    /// Returns the root with all links followed.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.files.real_root()
    }

    /// Returns whether `path` itself is a link. Links in its parent directories are followed.
    ///
    /// # Errors
    ///
    /// As [`resolve`](ExecutionEnvironment::resolve), for the parent directory.
    pub fn is_link(&self, path: &str) -> Result<bool, EnvError> {
        let path = with_slashes(path);
        let (above, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or((".", &path));
        let above = resolve::resolve(&*self.files, if above.is_empty() { "/" } else { above }, Access::Write)?;
        Ok(matches!(self.files.look(&above.join(name))?, Node::Link(_)))
    }

    /// Returns the changes of files that are under way. A caller that holds a lock for them must not give it back earlier,
    /// also if it no longer waits for their end.
    #[must_use]
    pub fn under_way(&self) -> UnderWay {
        self.under_way.clone()
    }

    /// As [`run`](Self::run), for work that changes files.
    fn run_change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&RootFiles) -> Result<T, EnvError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, EnvError>> {
        let change = self.under_way.begin();
        self.run(move |files| {
            let _change = change;
            work(files)
        })
    }

    /// Runs work that takes less time than its way to a blocking thread and back.
    fn look<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&RootFiles) -> Result<T, EnvError> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, EnvError>> {
        Box::pin(async move { work(&self.files) })
    }

    /// Reads an open file: a small one at once, another on a blocking thread.
    async fn read_opened(&self, path: &FilePath, opened: Opened) -> Result<Vec<u8>, EnvError> {
        if opened.is_small() {
            return opened.read(path);
        }
        let path = path.clone();
        self.run(move |_| opened.read(&path)).await
    }

    /// Runs `work` on a blocking thread of the runtime, or at once without a runtime.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&RootFiles) -> Result<T, EnvError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, EnvError>> {
        run_blocking(&self.files, work)
    }
}

/// Returns the commands of a line as this machine's shell reads it, for rules about commands.
///
/// Returns `None` also for lines that bash and the shell here read differently.
#[cfg(feature = "shell")]
#[must_use]
pub fn read_command(line: &str) -> Option<CommandLine> {
    if process::reads_as_bash(line) { crate::shell::read_as_bash(line) } else { None }
}

/// Runs `work` on a blocking thread of the runtime, or at once without a runtime.
fn run_blocking<T: Send + 'static>(
    files: &Arc<RootFiles>,
    work: impl FnOnce(&RootFiles) -> Result<T, EnvError> + Send + 'static,
) -> BoxFuture<'static, Result<T, EnvError>> {
    let files = Arc::clone(files);
    Box::pin(async move {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work(&files) };
        joined(runtime.spawn_blocking(move || work(&files)).await)
    })
}

/// Returns the result of a blocking thread, or continues its panic.
pub(crate) fn joined<T>(done: Result<Result<T, EnvError>, tokio::task::JoinError>) -> Result<T, EnvError> {
    match done.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Err(EnvError::Io { path: ".".to_owned(), reason: "the runtime is shutting down".to_owned() }),
    }
}

impl ExecutionEnvironment for LocalEnvironment {
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        self.look(move |files| resolve::resolve(files, &with_slashes(path), access))
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        self.look(|files| files.metadata(path))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        Box::pin(async move { self.read_opened(path, self.files.open_to_read(path)?).await })
    }

    fn read_existing<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Vec<u8>>, EnvError>> {
        Box::pin(async move {
            match self.files.open_existing(path)? {
                Some(opened) => self.read_opened(path, opened).await.map(Some),
                None => Ok(None),
            }
        })
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        let (path, content) = (path.clone(), content.to_vec());
        self.run_change(move |files| files.write(&path, &content))
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        let path = path.clone();
        self.run_change(move |files| files.remove(&path))
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        match &self.journal {
            // A single file is written atomically anyway.
            Some(state) if changes.len() > 1 || changes.iter().any(|change| change.over_read_only) => {
                let (state, changes) = (Arc::clone(state), changes.to_vec());
                self.run_change(move |files| {
                    let done = crate::commit::commit(files, &state, &changes, &mut |_| Ok(()));
                    done.map_err(CommitError::into_env_error)
                })
            }
            _ => match changes {
                [change] => {
                    let change = change.clone();
                    self.run_change(move |files| files.change(&change, || true))
                }
                _ => Box::pin(async move {
                    let moves =
                        changes.iter().filter_map(|change| Some((change.mode_of.clone()?, change.path.clone())));
                    let moves: Vec<_> = moves.collect();
                    if !moves.is_empty() {
                        let note = move |files: &RootFiles| {
                            moves.into_iter().for_each(|(from, to)| files.note_moved(&from, to));
                            Ok(())
                        };
                        self.run(note).await?;
                    }
                    change_one_by_one(self, changes).await
                }),
            },
        }
    }

    fn change_after<'a>(
        &'a self,
        first: &'a dyn FirstStep,
        changes: &'a [FileChange],
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            let runtime = tokio::runtime::Handle::try_current();
            let ([change @ FileChange { over_read_only: false, .. }], Ok(runtime)) = (changes, runtime) else {
                first.run()?;
                return self.change(changes).await;
            };
            let (files, change) = (Arc::clone(&self.files), change.clone());
            // The file waits for the end of `first`, and its content is written and synced meanwhile.
            let (go, may_go) = std::sync::mpsc::sync_channel(1);
            let under_way = self.under_way.begin();
            let changing = runtime.spawn_blocking(move || {
                let _under_way = under_way;
                files.change(&change, || may_go.recv().is_ok())
            });
            let done = first.run();
            match &done {
                Ok(()) => drop(go.send(())),
                Err(_) => drop(go),
            }
            let changed = joined(changing.await);
            done.and(changed)
        })
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        let path = path.clone();
        self.run(move |files| files.list(&path, depth))
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        let (path, glob) = (path.clone(), glob.to_owned());
        self.run(move |files| search::glob(files, &path, &glob))
    }

    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        let (path, glob) = (path.clone(), glob.to_owned());
        #[cfg(unix)]
        if let Some(index) = self.index.as_ref().map(LocalIndex::shared)
            && path.is_root()
            && glob == "**"
        {
            return self.run(move |files| match index.paths() {
                Some(paths) => Ok(paths),
                None => search::glob_paths(files, &path, &glob),
            });
        }
        self.run(move |files| search::glob_paths(files, &path, &glob))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        let query = query.clone();
        #[cfg(unix)]
        if let Some(index) = self.index.as_ref().map(LocalIndex::shared) {
            return self.run(move |files| match Prefilter::of(&index, &query.matcher) {
                Some(prefilter) => {
                    let found =
                        search::grep(files, &query, &|directory, name, path| prefilter.keeps(directory, name, path));
                    prefilter.finish();
                    found
                }
                None => search::grep(files, &query, &|_, _, _| true),
            });
        }
        self.run(move |files| search::grep(files, &query, &|_, _, _| true))
    }

    fn has_shell(&self) -> bool {
        true
    }

    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        #[cfg(unix)]
        let shared = self.copy_keeper.as_ref().and_then(LocalCopyKeeper::shared);
        let mut variables = self.variables.of(std::env::vars_os());
        git_config::add_for_commands(&mut variables);
        let options = SpawnOptions {
            root: self.files.real_root(),
            variables,
            #[cfg(unix)]
            mark: self.keeper.as_ref().or(shared).map(LocalKeeper::mark),
            sandbox: self.sandbox.as_ref(),
        };
        // The command of a copy names the copy's directory.
        #[cfg(unix)]
        if let Some((scratch, original)) = self.scratch.as_ref().zip(self.original.as_ref()) {
            let mut here = command.clone();
            for root in [original.root(), &original.real_root().to_string_lossy()] {
                here.command = scratch.command(root, &here.command);
            }
            return Box::pin(async move { process::exec(&self.processes, options, &here, output, cancel).await });
        }
        Box::pin(process::exec(&self.processes, options, command, output, cancel))
    }

    #[cfg(feature = "shell")]
    fn read_command<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        let line = line.to_owned();
        let reading = self.run(move |_| Ok(read_command(&line)));
        Box::pin(async move { reading.await.ok().flatten() })
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        self.run(search::manifest)
    }

    #[cfg(unix)]
    fn keeper(&self) -> Option<&dyn FileKeeper> {
        self.keeper.as_ref().map(|keeper| keeper as &dyn FileKeeper)
    }

    #[cfg(unix)]
    fn copy_keeper(&self) -> Option<&dyn CopyKeeper> {
        self.copy_keeper.as_ref().map(|keeper| keeper as &dyn CopyKeeper)
    }

    #[cfg(unix)]
    fn scratch<'a>(
        &'a self,
        overlay: &'a [(FilePath, Option<Vec<u8>>)],
    ) -> BoxFuture<'a, Result<Shared<dyn ExecutionEnvironment>, EnvError>> {
        let (state, overlay) = (self.journal.clone(), overlay.to_vec());
        let (variables, sandbox) = (self.variables.clone().in_copy(), self.sandbox.clone());
        let (original, shared) = (Arc::clone(&self.files), self.keeper.clone());
        let copied = self.run(move |files| {
            let written: Vec<FilePath> = overlay.iter().map(|(path, _)| path.clone()).collect();
            let scratch = Scratch::of(files, state.as_deref(), &written)?;
            let copy = Self::new(scratch.root())?.with_variables(variables);
            for (path, content) in &overlay {
                match content {
                    Some(content) => copy.files.write(path, content)?,
                    None => copy.files.remove(path)?,
                }
            }
            // Linked directories are written to at their original place.
            let sandbox = sandbox.map(|mut sandbox| {
                sandbox.writable.extend_from_slice(scratch.linked());
                sandbox
            });
            let copy_keeper = LocalCopyKeeper::new(Arc::clone(&original), Arc::clone(&copy.files), shared);
            let (original, scratch, copy_keeper) = (Some(original), Some(scratch), Some(copy_keeper));
            Ok(Self { original, scratch, sandbox, copy_keeper, ..copy })
        });
        Box::pin(async { Ok(Arc::new(copied.await?) as Shared<dyn ExecutionEnvironment>) })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        let ended = self.processes.ended();
        let wait = self.run(|_| {
            ended();
            Ok(())
        });
        Box::pin(async { wait.await.unwrap_or_default() })
    }

    fn working_directory(&self) -> String {
        self.files.root().to_owned()
    }

    fn git(&self) -> BoxFuture<'_, Option<GitSnapshot>> {
        let look = self.run(|files| Ok(crate::git::snapshot(files.real_root())));
        Box::pin(async { look.await.ok().flatten() })
    }

    fn platform(&self) -> &'static str {
        match std::env::consts::OS {
            "macos" => "darwin",
            "windows" => "windows",
            _ => "linux",
        }
    }

    fn os_version(&self) -> String {
        os_version()
    }
}

#[cfg(unix)]
fn os_version() -> String {
    let system = rustix::system::uname();
    format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy())
}

#[cfg(not(unix))]
fn os_version() -> String {
    std::env::consts::OS.to_owned()
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod tests;
