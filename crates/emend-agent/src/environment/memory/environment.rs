//! `ExecutionEnvironment` for files in memory.

use std::future::ready;

use emend_llm::{BoxFuture, CancelToken, Shared};

use super::MemFs;
use crate::approval::{CommandLine, Hidden};
use crate::environment::FileMatches;
use crate::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use crate::environment::resolve;
use crate::environment::{
    Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FilePath, GrepQuery, Metadata, change_one_by_one,
};

impl ExecutionEnvironment for MemFs {
    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        Box::pin(ready(resolve::resolve(self, path, access)))
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        Box::pin(ready(Ok(self.find(path).and_then(|entry| self.describe(path, &entry)))))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        Box::pin(ready(self.file(path).map(|file| file.content.clone())))
    }

    fn read_existing<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Vec<u8>>, EnvError>> {
        Box::pin(ready(self.existing(path).map(|file| file.map(|file| file.content.clone()))))
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(ready(self.write_now(path, content)))
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(ready(self.file(path).map(|_| {
            self.delete(path.as_str());
        })))
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        match changes {
            // Without copies of the old content, which may be large.
            [change] => Box::pin(ready(self.change_file(change))),
            _ => change_one_by_one(self, changes),
        }
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        Box::pin(ready(self.list_now(path, depth)))
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        Box::pin(ready(self.glob_now(path, glob)))
    }

    fn glob_paths<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<FilePath>, EnvError>> {
        Box::pin(ready(self.glob_paths_now(path, glob)))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        Box::pin(ready(self.grep_now(query)))
    }

    fn has_shell(&self) -> bool {
        self.shell.is_some()
    }

    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        match &self.shell {
            Some(shell) => shell.run(self.handle(), command, output, cancel),
            None => Box::pin(ready(Err(EnvError::Unsupported { what: "a shell (the files are in memory only)" }))),
        }
    }

    fn read_command<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        match &self.shell {
            Some(shell) => shell.read(line),
            None => Box::pin(ready(None)),
        }
    }

    fn view(&self, hidden: &Hidden) -> Option<Shared<dyn ExecutionEnvironment>> {
        Some(Shared::new(Self { hidden: hidden.clone(), ..self.handle() }))
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        Box::pin(ready(self.manifest_now()))
    }

    fn snapshot(&self) -> Option<Shared<dyn ExecutionEnvironment>> {
        Some(Shared::new(self.fork()))
    }

    fn scratch<'a>(
        &'a self,
        overlay: &'a [(FilePath, Option<Vec<u8>>)],
    ) -> BoxFuture<'a, Result<Shared<dyn ExecutionEnvironment>, EnvError>> {
        let copy = self.fork();
        let laid_over = overlay.iter().try_for_each(|(path, content)| match content {
            Some(content) => copy.write_now(path, content),
            None => {
                copy.take(path);
                Ok(())
            }
        });
        Box::pin(ready(laid_over.map(|()| Shared::new(copy) as Shared<dyn ExecutionEnvironment>)))
    }

    fn working_directory(&self) -> String {
        self.roots[0].clone()
    }

    fn platform(&self) -> &'static str {
        "wasm"
    }

    fn os_version(&self) -> String {
        "in-memory file system".to_owned()
    }
}
