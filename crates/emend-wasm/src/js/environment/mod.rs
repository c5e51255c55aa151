//! An environment written in JavaScript: an editor's files, a directory that the user picked, a server.
//!
//! The JavaScript layer checks the host's results and maps its exceptions. Paths, walks and searches follow the core's
//! rules: the core asks for single entries, directories and files, and follows links itself.

mod entries;
mod host_environment;
mod lookup;
mod replay;
mod search;

use std::cell::Cell;
use std::future::ready;

use emend_agent::approval::CommandLine;
use emend_agent::environment::FileMatches;
use emend_agent::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use emend_agent::environment::resolve;
use emend_agent::environment::walk::Filter;
use emend_agent::environment::{
    Access, DirEntry, EnvError, ExecutionEnvironment, FileChange, FilePath, GrepQuery, Metadata, change_one_by_one,
};
use emend_llm::{BoxFuture, CancelToken};
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

pub(crate) use host_environment::HostEnvironment;

use self::host_environment::PLATFORMS;
use self::lookup::Entries;
use self::replay::{AnswerCache, Work, replay};
use self::search::Search;
use super::command::{command_fields, reading, reading_fields, run_to_end};

/// Files, and possibly a shell, behind a [`HostEnvironment`].
pub(crate) struct JsEnvironment {
    host: HostEnvironment,
    roots: Vec<String>,
    /// Counter for stamps of files whose modification time is unknown.
    n_stamps: Cell<u64>,
}

impl JsEnvironment {
    pub(crate) fn new(host: HostEnvironment) -> Self {
        Self { roots: vec![host.root()], host, n_stamps: Cell::new(0) }
    }

    /// Resolves a path by its text alone, without asking the host where links lead.
    pub(crate) fn clean(&self, path: &str) -> Result<FilePath, EnvError> {
        resolve::resolve(&AnswerCache::new(&self.host, &self.roots, true), path, Access::Write)
    }

    /// Calls `work` until the host has answered everything it needs.
    fn replay<'a, T: 'a>(&'a self, work: Work<'a, T>) -> BoxFuture<'a, Result<T, EnvError>> {
        replay(&self.host, &self.roots, work)
    }

    fn stamp(&self, DirEntry { path, metadata }: DirEntry) -> FileStamp {
        let mut marks = [metadata.modified_ms, 0, 0];
        if metadata.modified_ms == 0 {
            // Without a time every stamp differs, so that the file's text is compared.
            self.n_stamps.set(self.n_stamps.get() + 1);
            marks[1] = self.n_stamps.get();
        }
        FileStamp { path, size: metadata.size, marks }
    }
}

impl ExecutionEnvironment for JsEnvironment {
    fn initialize(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        self.replay(Box::new(|cache| cache.tell("initialize", &FilePath::root(), &JsValue::UNDEFINED)))
    }

    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        self.replay(Box::new(move |cache| resolve::resolve(cache, path, access)))
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        self.replay(Box::new(|cache| cache.metadata(path)))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        self.replay(Box::new(|cache| Ok(Uint8Array::new(&cache.ask("read", path, &JsValue::UNDEFINED)?).to_vec())))
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        let content = JsValue::from(Uint8Array::from(content));
        self.replay(Box::new(move |cache| cache.tell("write", path, &content)))
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        self.replay(Box::new(|cache| cache.tell("remove", path, &JsValue::UNDEFINED)))
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        change_one_by_one(self, changes)
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        self.replay(Box::new(move |cache| cache.find(path, Entries::All, depth, None)))
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        let argument = JsValue::from(glob);
        let work = move |cache: &AnswerCache<'_>| {
            let filter = Filter::of_glob(path, glob)?;
            let mut files = cache.find(path, Entries::Shown, usize::MAX, Some(("glob", &argument)))?;
            files.retain(|file| filter.accepts(&file.path));
            Ok(files)
        };
        self.replay(Box::new(work))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        let mut search = Search::new(query);
        self.replay(Box::new(move |cache| search.step(cache)))
    }

    fn has_shell(&self) -> bool {
        self.host.has("exec")
    }

    fn exec_command<'a>(
        &'a self,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        match self.has_shell() {
            true => run_to_end(self.host.exec(&command_fields(command, &self.roots[0])), output, cancel),
            false => Box::pin(ready(Err(EnvError::Unsupported { what: "a shell" }))),
        }
    }

    fn read_command<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        Box::pin(reading(self.host.exec(&reading_fields(line))))
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        let work = |cache: &AnswerCache<'_>| {
            let files = cache.find(&FilePath::root(), Entries::Kept, usize::MAX, None)?;
            Ok(files.into_iter().map(|file| self.stamp(file)).collect())
        };
        self.replay(Box::new(work))
    }

    fn working_directory(&self) -> String {
        self.roots[0].clone()
    }

    fn platform(&self) -> &'static str {
        PLATFORMS.get(self.host.platform()).unwrap_or(&"wasm")
    }

    fn os_version(&self) -> String {
        self.host.os_version()
    }
}

#[cfg(test)]
mod tests;
