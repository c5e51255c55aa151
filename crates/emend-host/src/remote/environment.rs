//! `ExecutionEnvironment` for a directory on another machine or in a container.

use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

#[cfg(feature = "shell")]
use emend_agent::approval::CommandLine;
use emend_agent::environment::FileMatches;
use emend_agent::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use emend_agent::environment::walk::Filter;
use emend_agent::environment::{
    Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FilePath, GrepQuery, Metadata, change_one_by_one,
};
use emend_llm::{BoxFuture, CancelToken, Random as _, Shared};

use super::command;
use super::exec::Container;
use super::exec_files::ExecFiles;
use super::far::{Far, FarError, Runner};
use super::place::{RemoteKind, RemotePlace};
use super::probe::{Probe, probe};
use super::search::{self, Hidden};
use super::sftp::SftpFiles;
use super::ssh::{Ssh, SshProgram};
use super::stamps::stamps;
use super::tree::{FarTree, SharedTree};
use crate::clock::OsRandom;
use crate::process::{Processes, supervise};

/// The programs that lead to the far side. Tests replace them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs {
    pub(crate) ssh: SshProgram,
    /// In place of `docker`, `podman` and `kubectl`.
    pub(crate) container: Option<OsString>,
}

/// The files below one directory of another machine or of a container, and commands in it.
///
/// The root is that of the project of the directory that the user names, as it is on this machine. File operations run on
/// the blocking threads of a tokio runtime if there is one, otherwise on the caller's thread.
///
/// The environment has no keeper of files and makes no copies: of what a command changes, only texts that are not
/// ignored can be undone.
pub struct RemoteEnvironment {
    // Dropped first, because running commands use the connection.
    processes: Processes,
    tree: SharedTree,
    runner: Arc<dyn Runner>,
    probe: Probe,
    /// The kind and the machine.
    machine: String,
    #[cfg(test)]
    pub(super) ssh: Option<Arc<Ssh>>,
}

impl RemoteEnvironment {
    /// Connects to the machine or container of `place`, and examines the directory there. It blocks.
    ///
    /// # Errors
    ///
    /// `Io` without a connection, `NotFound`, `InvalidPath` or `PermissionDenied` if the directory cannot be opened,
    /// `Unsupported` if the far side lacks what is needed.
    pub fn connect(place: &RemotePlace) -> Result<Self, EnvError> {
        Self::connect_by(place, Programs::default())
    }

    pub(crate) fn connect_by(place: &RemotePlace, programs: Programs) -> Result<Self, EnvError> {
        let at = |error: FarError| named(place, error);
        let ssh = match place.kind {
            RemoteKind::Ssh => Some(Arc::new(Ssh::new(programs.ssh, &place.host).map_err(at)?)),
            _ => None,
        };
        let (runner, machine): (Arc<dyn Runner>, String) = match &ssh {
            Some(ssh) => (Arc::clone(ssh) as _, ssh.address().map_err(at)?),
            None => {
                let container = Container::new(place, programs.container);
                let id = container.id().map_err(at)?;
                (Arc::new(container), id)
            }
        };
        let probe = probe(&*runner, &place.directory).map_err(at)?;
        let (prefix, run) = (probe.root.trim_end_matches('/').to_owned(), OsRandom.next_u64());
        let scripts = ExecFiles { runner: Arc::clone(&runner), prefix: prefix.clone(), run, new_mode: probe.new_mode };
        let far: Box<dyn Far> = match &ssh {
            Some(ssh) => Box::new(SftpFiles {
                ssh: Arc::clone(ssh),
                prefix,
                run,
                abandoned: Mutex::default(),
                scripts,
                needs_scripts: AtomicBool::default(),
            }),
            None => Box::new(scripts),
        };
        let given = if probe.root == probe.directory { place.directory.clone() } else { probe.root.clone() };
        Ok(Self {
            processes: Processes::default(),
            tree: Arc::new(FarTree::new(far, vec![given, probe.root.clone()])),
            runner,
            probe,
            machine: format!("{}:{machine}", place.kind.name()),
            #[cfg(test)]
            ssh,
        })
    }

    /// Returns the name of the project for its state: the machine by its address or the container by its id, and the root
    /// with all links followed. Two names of one directory have the same key.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}:{}", self.machine, self.probe.root)
    }

    /// Returns the directory that the user named, relative to the root of its project.
    #[must_use]
    pub fn start(&self) -> FilePath {
        let below = self.probe.directory.strip_prefix(self.probe.root.trim_end_matches('/')).unwrap_or_default();
        FilePath::clean(below).unwrap_or_default()
    }

    /// Runs `work` on a blocking thread of the runtime, or at once without a runtime.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FarTree) -> Result<T, EnvError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, EnvError>> {
        let tree = Arc::clone(&self.tree);
        Box::pin(async move {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work(&tree) };
            crate::local::joined(runtime.spawn_blocking(move || work(&tree)).await)
        })
    }
}

/// Converts the error of a place.
fn named(place: &RemotePlace, error: FarError) -> EnvError {
    let path = place.to_string();
    match error.at(&FilePath::root()) {
        EnvError::NotFound { suggestions, .. } => EnvError::NotFound { path, suggestions },
        EnvError::InvalidPath { reason, .. } => EnvError::InvalidPath { path, reason },
        EnvError::PermissionDenied { reason, .. } => EnvError::PermissionDenied { path, reason },
        EnvError::Io { reason, .. } => EnvError::Io { path, reason },
        error => error,
    }
}

impl ExecutionEnvironment for RemoteEnvironment {
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        let path = path.to_owned();
        self.run(move |tree| tree.resolve(&path, access))
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        let path = path.clone();
        self.run(move |tree| tree.metadata(&path))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        let path = path.clone();
        self.run(move |tree| tree.read(&path))
    }

    fn read_existing<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Vec<u8>>, EnvError>> {
        let path = path.clone();
        self.run(move |tree| tree.read_existing(&path))
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        let (path, content) = (path.clone(), content.to_vec());
        self.run(move |tree| tree.write(&path, &content))
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        let path = path.clone();
        self.run(move |tree| tree.remove(&path))
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        if let [change] = changes {
            let change = change.clone();
            return self.run(move |tree| tree.change(&change));
        }
        Box::pin(async move {
            let moves: Vec<_> =
                changes.iter().filter_map(|change| Some((change.mode_of.clone()?, change.path.clone()))).collect();
            if !moves.is_empty() {
                self.run(move |tree| moves.iter().try_for_each(|(from, to)| tree.note_moved(from, to))).await?;
            }
            change_one_by_one(self, changes).await
        })
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        let path = path.clone();
        self.run(move |tree| tree.list(&path, depth))
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        let (path, glob) = (path.clone(), glob.to_owned());
        self.run(move |tree| search::glob(tree, &path, &glob))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        let query = query.clone();
        self.run(move |tree| search::grep(tree, &query))
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
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Ok(ExecResult { cancelled: true, exit_code: 130, ..ExecResult::default() });
            }
            let (runner, root, wanted) = (Arc::clone(&self.runner), self.probe.root.clone(), command.clone());
            let (far, stop) = self.run(move |_| command::start(&*runner, &root, &wanted)).await?;
            supervise(&self.processes, move |channel| far.run(channel), stop, command, (output, cancel)).await
        })
    }

    #[cfg(feature = "shell")]
    fn read_command<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        let is_read = self.probe.is_bash || !emend_shell::differs_in_sh(line);
        let line = line.to_owned();
        let reading = self.run(move |_| Ok(if is_read { crate::shell::read_as_bash(&line) } else { None }));
        Box::pin(async move { reading.await.ok().flatten() })
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        let (runner, root, has_fine_times) =
            (Arc::clone(&self.runner), self.probe.root.clone(), self.probe.has_fine_times);
        self.run(move |tree| {
            let everything = FilePath::root();
            let files = search::files(tree, &everything, &Filter::of_glob(&everything, "**")?, Hidden::Found)?;
            stamps(&*runner, &root, has_fine_times, files).map_err(|error| error.at(&everything))
        })
    }

    fn scratch<'a>(
        &'a self,
        _overlay: &'a [(FilePath, Option<Vec<u8>>)],
    ) -> BoxFuture<'a, Result<Shared<dyn ExecutionEnvironment>, EnvError>> {
        let what = "a command while changes wait for review (the project is on another machine or in a container)";
        Box::pin(std::future::ready(Err(EnvError::Unsupported { what })))
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
        self.tree.root().to_owned()
    }

    fn platform(&self) -> &'static str {
        self.probe.platform
    }

    fn os_version(&self) -> String {
        self.probe.os_version.clone()
    }
}
