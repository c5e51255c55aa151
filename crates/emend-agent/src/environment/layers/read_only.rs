//! An environment that allows reads and rejects every change.

use std::future::ready;

use emend_llm::{BoxFuture, CancelToken, Shared};

use crate::environment::FileMatches;
use crate::environment::GitSnapshot;
use crate::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use crate::environment::{Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FilePath, GrepQuery, Metadata};

/// Allows every read and rejects every change.
pub struct ReadOnly {
    inner: Shared<dyn ExecutionEnvironment>,
}

impl ReadOnly {
    /// The message of every rejection.
    pub const REASON: &str = "Write operations are disabled in read-only mode";

    /// Wraps `inner`.
    #[must_use]
    pub fn new(inner: Shared<dyn ExecutionEnvironment>) -> Self {
        Self { inner }
    }
}

fn refuse(path: &FilePath) -> BoxFuture<'static, Result<(), EnvError>> {
    let (path, reason) = (path.as_str().to_owned(), ReadOnly::REASON.to_owned());
    Box::pin(ready(Err(EnvError::PermissionDenied { path, reason })))
}

impl ExecutionEnvironment for ReadOnly {
    fn initialize(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        self.inner.initialize()
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        self.inner.cleanup()
    }

    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        self.inner.resolve(path, access)
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        self.inner.metadata(path)
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        self.inner.read(path)
    }

    fn read_existing<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Vec<u8>>, EnvError>> {
        self.inner.read_existing(path)
    }

    fn write<'a>(&'a self, path: &'a FilePath, _content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        refuse(path)
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        refuse(path)
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        changes.first().map_or_else(|| Box::pin(ready(Ok(()))) as BoxFuture<'_, _>, |change| refuse(&change.path))
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.inner.list(path, depth)
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.inner.glob(path, glob)
    }

    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        self.inner.glob_paths(path, glob)
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        self.inner.grep(query)
    }

    fn has_shell(&self) -> bool {
        false
    }

    /// Rejects every command, because its changes cannot be known in advance.
    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        _output: &'a dyn OutputSink,
        _cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        let (path, reason) = (command.command.clone(), Self::REASON.to_owned());
        Box::pin(ready(Err(EnvError::PermissionDenied { path, reason })))
    }

    fn hides(&self, path: &FilePath) -> bool {
        self.inner.hides(path)
    }

    fn ignores_case(&self) -> bool {
        self.inner.ignores_case()
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        self.inner.manifest()
    }

    fn snapshot(&self) -> Option<Shared<dyn ExecutionEnvironment>> {
        self.inner.snapshot()
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
    use futures::executor::block_on;

    use super::*;
    use crate::environment::conformance::{CASES, fixture};
    use crate::environment::memory::MemFs;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn files() -> Shared<MemFs> {
        Shared::new(MemFs::from_fixture(&fixture("/workspace")))
    }

    #[test]
    fn a_read_only_environment_reads_like_the_one_inside() {
        let changes = |name: &str| ["writes", "removes", "changes"].iter().any(|word| name.contains(word));
        for case in CASES.iter().filter(|case| !changes(case.name)) {
            if case.name != "sees_changes_at_once" {
                assert_eq!(block_on(case.run(&ReadOnly::new(files()))), Ok(()), "{}", case.name);
            }
        }
    }

    #[test]
    fn a_read_only_environment_changes_nothing() {
        let inner = files();
        let before = inner.paths();
        let environment = ReadOnly::new(Shared::clone(&inner) as Shared<dyn ExecutionEnvironment>);
        let file = block_on(environment.resolve("Makefile", Access::Write)).unwrap();
        let change = FileChange {
            path: file.clone(),
            before: None,
            after: None,
            mode_of: None,
            executable: None,
            over_read_only: false,
        };
        for refused in [
            block_on(environment.write(&file, b"x")),
            block_on(environment.remove(&file)),
            block_on(environment.change(&[change])),
        ] {
            let error = refused.unwrap_err();
            assert_eq!(error.code().as_str(), "permission_denied");
            assert_eq!(error.to_string(), "Makefile: Write operations are disabled in read-only mode");
        }
        let command = Command { command: "ls".to_owned(), ..Command::default() };
        let refused = block_on(environment.exec_command(&command, &|_, _: &str| {}, &CancelToken::new())).unwrap_err();
        assert_eq!(refused.to_string(), "ls: Write operations are disabled in read-only mode");
        assert_eq!(inner.paths(), before);
        assert_eq!(inner.get("Makefile").unwrap().len(), 13);
    }
}
