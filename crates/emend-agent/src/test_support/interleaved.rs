//! Files in memory whose operations wait, and during which a test acts.
//!
//! `MemFs` answers at once, so no other code ever runs between two of its operations. A disk, a browser's file handles
//! and the files of an editor do wait.

use std::sync::Mutex;
use std::task::Poll;

use emend_llm::{BoxFuture, CancelToken, MaybeSend, MaybeSync, Shared};

use crate::approval::CommandLine;
use crate::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use crate::environment::memory::MemFs;
use crate::environment::{
    Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FileMatches, FilePath, GrepQuery, Metadata,
    change_one_by_one,
};

/// An action of a test.
pub(crate) trait Action: MaybeSend + MaybeSync {
    fn happen(&self);
}

impl<F: Fn() + MaybeSend + MaybeSync> Action for F {
    fn happen(&self) {
        self();
    }
}

/// Files in memory with two points in each operation: one before it takes effect and one after.
///
/// At each point the operation yields, runs the action that a test scheduled for the point, and yields again. A change
/// of several files consists of single reads and writes, with points of their own.
pub(crate) struct Interleaved {
    files: MemFs,
    /// Number of yields before and after each action.
    n_yields: usize,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// The operations of the points so far.
    passed: Vec<&'static str>,
    action: Option<(usize, Box<dyn Action>)>,
}

impl Interleaved {
    /// Returns an environment over `files` without an action.
    pub(crate) fn new(files: &MemFs, n_yields: usize) -> Shared<Self> {
        Shared::new(Self { files: files.handle(), n_yields, progress: Mutex::default() })
    }

    /// Schedules an action at a point, counted from 0 and from this call.
    pub(crate) fn at(&self, point: usize, action: impl Action + 'static) {
        *self.progress.lock().unwrap() = Progress { passed: Vec::new(), action: Some((point, Box::new(action))) };
    }

    /// Returns the operations of the points so far, in order.
    pub(crate) fn passed(&self) -> Vec<&'static str> {
        self.progress.lock().unwrap().passed.clone()
    }

    /// Returns whether the scheduled action has happened.
    pub(crate) fn has_acted(&self) -> bool {
        self.progress.lock().unwrap().action.is_none()
    }

    async fn point(&self, operation: &'static str) {
        wait(self.n_yields).await;
        let due = {
            let mut progress = self.progress.lock().unwrap();
            let point = progress.passed.len();
            progress.passed.push(operation);
            progress.action.take_if(|(at, _)| *at == point)
        };
        if let Some((_, action)) = due {
            action.happen();
        }
        wait(self.n_yields).await;
    }

    fn around<'a, T: MaybeSend + 'a>(
        &'a self,
        name: &'static str,
        operation: impl FnOnce() -> BoxFuture<'a, T> + MaybeSend + 'a,
    ) -> BoxFuture<'a, T> {
        Box::pin(async move {
            self.point(name).await;
            let result = operation().await;
            self.point(name).await;
            result
        })
    }
}

/// Yields `n` times.
pub(crate) async fn wait(mut n: usize) {
    std::future::poll_fn(|context| {
        if n == 0 {
            return Poll::Ready(());
        }
        n -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl ExecutionEnvironment for Interleaved {
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        self.around("resolve", move || self.files.resolve(path, access))
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        self.around("metadata", move || self.files.metadata(path))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        self.around("read", move || self.files.read(path))
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        self.around("write", move || self.files.write(path, content))
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        self.around("remove", move || self.files.remove(path))
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        self.around("change", move || change_one_by_one(self, changes))
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.around("list", move || self.files.list(path, depth))
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.around("glob", move || self.files.glob(path, glob))
    }

    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        self.around("glob", move || self.files.glob_paths(path, glob))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        self.around("grep", move || self.files.grep(query))
    }

    fn has_shell(&self) -> bool {
        self.files.has_shell()
    }

    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        self.around("exec_command", move || self.files.exec_command(command, output, cancel))
    }

    fn read_command<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        self.files.read_command(line)
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        self.around("manifest", move || self.files.manifest())
    }

    fn working_directory(&self) -> String {
        self.files.working_directory()
    }

    fn platform(&self) -> &'static str {
        self.files.platform()
    }

    fn os_version(&self) -> String {
        self.files.os_version()
    }
}
