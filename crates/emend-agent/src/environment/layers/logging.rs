//! An environment that logs every file operation.

use emend_llm::{BoxFuture, CancelToken, Clock, MaybeSend, MaybeSync, Shared};

use crate::approval::{CommandLine, Hidden};
use crate::environment::FileMatches;
#[cfg(not(target_family = "wasm"))]
use crate::environment::FirstStep;
use crate::environment::GitSnapshot;
use crate::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use crate::environment::{
    Access, CopyKeeper, DirEntry, EnvError, ExecutionEnvironment, FileChange, FilePath, GrepQuery, Metadata,
};

/// An event of [`Logging`] about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEvent<'a> {
    /// A call starts.
    Started {
        /// Name of the method.
        operation: &'static str,
        /// The path of the call, or the first of several; empty for the root. For a command, the command line.
        path: &'a str,
    },
    /// A call has ended.
    Finished {
        /// Name of the method.
        operation: &'static str,
        /// The path of the call; empty for the root. For a command, the command line.
        path: &'a str,
        /// Bytes read or written, number of entries or files found, or exit status of a command; or the error.
        outcome: Result<usize, &'a EnvError>,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
}

/// Receives the events of [`Logging`]. Any function of a [`LogEvent`] implements it.
pub trait Log: MaybeSend + MaybeSync {
    /// Receives one event; events arrive in order. Must not panic and should return quickly.
    fn log(&self, event: &LogEvent<'_>);
}

impl<F: Fn(&LogEvent<'_>) + MaybeSend + MaybeSync> Log for F {
    fn log(&self, event: &LogEvent<'_>) {
        self(event);
    }
}

/// Logs every call that touches files. Offers no snapshot, so that reads before a command are logged too.
pub struct Logging {
    inner: Shared<dyn ExecutionEnvironment>,
    clock: Shared<dyn Clock>,
    log: Shared<dyn Log>,
}

impl Logging {
    /// Wraps `inner`; events go to `log`, with durations measured by `clock`.
    #[must_use]
    pub fn new(inner: Shared<dyn ExecutionEnvironment>, clock: Shared<dyn Clock>, log: Shared<dyn Log>) -> Self {
        Self { inner, clock, log }
    }

    /// Logs `call`; `count` derives the number for its result.
    fn tell<'a, T: MaybeSend + 'a>(
        &'a self,
        operation: &'static str,
        path: &'a str,
        call: BoxFuture<'a, Result<T, EnvError>>,
        count: fn(&T) -> usize,
    ) -> BoxFuture<'a, Result<T, EnvError>> {
        Box::pin(async move {
            self.log.log(&LogEvent::Started { operation, path });
            let begun = self.clock.now_ms();
            let answer = call.await;
            let duration_ms = self.clock.now_ms().saturating_sub(begun);
            let outcome = answer.as_ref().map(count);
            self.log.log(&LogEvent::Finished { operation, path, outcome, duration_ms });
            answer
        })
    }
}

impl ExecutionEnvironment for Logging {
    fn initialize(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        self.tell("initialize", "", self.inner.initialize(), |()| 0)
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        let cleanup = Box::pin(async {
            self.inner.cleanup().await;
            Ok(())
        });
        let told = self.tell("cleanup", "", cleanup, |()| 0);
        Box::pin(async move { drop(told.await) })
    }

    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        self.tell("resolve", path, self.inner.resolve(path, access), |_| 1)
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        self.tell("metadata", path.as_str(), self.inner.metadata(path), |found| usize::from(found.is_some()))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        self.tell("read", path.as_str(), self.inner.read(path), Vec::len)
    }

    fn read_existing<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Vec<u8>>, EnvError>> {
        let n_bytes = |found: &Option<Vec<u8>>| found.as_ref().map_or(0, Vec::len);
        self.tell("read", path.as_str(), self.inner.read_existing(path), n_bytes)
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        let write = async move { self.inner.write(path, content).await.map(|()| content.len()) };
        let told = self.tell("write", path.as_str(), Box::pin(write), |bytes| *bytes);
        Box::pin(async move { told.await.map(|_| ()) })
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        self.tell("remove", path.as_str(), self.inner.remove(path), |()| 1)
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        let path = changes.first().map_or("", |change| change.path.as_str());
        let change = async move { self.inner.change(changes).await.map(|()| changes.len()) };
        let told = self.tell("change", path, Box::pin(change), |n_files| *n_files);
        Box::pin(async move { told.await.map(|_| ()) })
    }

    #[cfg(not(target_family = "wasm"))]
    fn change_after<'a>(
        &'a self,
        first: &'a dyn FirstStep,
        changes: &'a [FileChange],
    ) -> BoxFuture<'a, Result<(), EnvError>> {
        let path = changes.first().map_or("", |change| change.path.as_str());
        let change = async move { self.inner.change_after(first, changes).await.map(|()| changes.len()) };
        let told = self.tell("change", path, Box::pin(change), |n_files| *n_files);
        Box::pin(async move { told.await.map(|_| ()) })
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.tell("list", path.as_str(), self.inner.list(path, depth), Vec::len)
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.tell("glob", path.as_str(), self.inner.glob(path, glob), Vec::len)
    }

    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        self.tell("glob_paths", path.as_str(), self.inner.glob_paths(path, glob), Vec::len)
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        self.tell("grep", query.path.as_str(), self.inner.grep(query), Vec::len)
    }

    fn has_shell(&self) -> bool {
        self.inner.has_shell()
    }

    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        let run = self.inner.exec_command(command, output, cancel);
        self.tell("exec_command", &command.command, run, |result| {
            usize::try_from(result.exit_code).unwrap_or(usize::MAX)
        })
    }

    fn read_command<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        self.inner.read_command(line)
    }

    fn view(&self, hidden: &Hidden) -> Option<Shared<dyn ExecutionEnvironment>> {
        let inner = self.inner.view(hidden)?;
        Some(Shared::new(Self::new(inner, Shared::clone(&self.clock), Shared::clone(&self.log))))
    }

    fn hides(&self, path: &FilePath) -> bool {
        self.inner.hides(path)
    }

    fn ignores_case(&self) -> bool {
        self.inner.ignores_case()
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        self.tell("manifest", "", self.inner.manifest(), Vec::len)
    }

    fn copy_keeper(&self) -> Option<&dyn CopyKeeper> {
        self.inner.copy_keeper()
    }

    fn scratch<'a>(
        &'a self,
        overlay: &'a [(FilePath, Option<Vec<u8>>)],
    ) -> BoxFuture<'a, Result<Shared<dyn ExecutionEnvironment>, EnvError>> {
        Box::pin(async move {
            let copying = self.inner.scratch(overlay);
            let inner = self.tell("scratch", "", copying, |_| 1).await?;
            let (clock, log) = (Shared::clone(&self.clock), Shared::clone(&self.log));
            Ok(Shared::new(Self { inner, clock, log }) as Shared<dyn ExecutionEnvironment>)
        })
    }

    fn working_directory(&self) -> String {
        self.inner.working_directory()
    }

    fn git(&self) -> BoxFuture<'_, Option<GitSnapshot>> {
        self.inner.git()
    }

    fn platform(&self) -> &'static str {
        self.inner.platform()
    }

    fn os_version(&self) -> String {
        self.inner.os_version()
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    use futures::executor::block_on;

    use super::*;
    use crate::environment::conformance::{CASES, fixture};
    use crate::environment::memory::MemFs;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn files() -> Shared<MemFs> {
        Shared::new(MemFs::from_fixture(&fixture("/workspace")))
    }

    /// A clock that advances by 5 ms on each query.
    #[derive(Default)]
    struct Ticking(AtomicU64);

    impl Clock for Ticking {
        fn now_ms(&self) -> u64 {
            self.0.fetch_add(5, Ordering::Relaxed)
        }

        fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
            Box::pin(ready(()))
        }
    }

    fn logging(inner: Shared<dyn ExecutionEnvironment>) -> (Logging, Arc<Mutex<Vec<String>>>) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let log = move |event: &LogEvent<'_>| {
            let line = match event {
                LogEvent::Started { operation, path } => format!("{operation} {path}"),
                LogEvent::Finished { operation, outcome, duration_ms, .. } => {
                    let outcome =
                        outcome.map_or_else(|error| error.code().as_str().to_owned(), |count| count.to_string());
                    format!("{operation}: {outcome} in {duration_ms} ms")
                }
            };
            sink.lock().unwrap().push(line);
        };
        (Logging::new(inner, Shared::new(Ticking::default()), Shared::new(log)), lines)
    }

    #[test]
    fn a_logging_environment_conforms() {
        covers("environment.custom");
        for case in CASES {
            let (environment, lines) = logging(files());
            assert_eq!(block_on(case.run(&environment)), Ok(()), "{}", case.name);
            let lines = lines.lock().unwrap();
            assert_eq!(lines.iter().filter(|line| line.ends_with(" in 5 ms")).count() * 2, lines.len());
        }
    }

    #[test]
    fn calls_are_told_in_order_with_what_came_of_them() {
        let (environment, lines) = logging(files());
        let (file, missing) = (FilePath::clean("Makefile").unwrap(), FilePath::clean("missing").unwrap());
        block_on(environment.read(&file)).unwrap();
        block_on(environment.write(&file, b"12")).unwrap();
        block_on(environment.remove(&missing)).unwrap_err();
        block_on(environment.list(&FilePath::root(), 1)).unwrap();
        let expected = [
            "read Makefile",
            "read: 13 in 5 ms",
            "write Makefile",
            "write: 2 in 5 ms",
            "remove missing",
            "remove: not_found in 5 ms",
            "list ",
            "list: 12 in 5 ms",
        ];
        assert_eq!(*lines.lock().unwrap(), expected);
    }
}
