//! An environment written in JavaScript: an editor's files, a directory the user picked, a server.
//!
//! The JavaScript layer checks what the host gives, maps what it throws, and runs nothing of it before a call returns. The
//! rules of paths, walks and searches are the core's: it asks for one entry, one directory, one file at a time, and
//! follows links by itself. Entries cross as fields with a NUL between them, which is in no name.

mod asking;

use std::cell::Cell;
use std::future::ready;
use std::str::Split;

use emend_agent::environment::command::{Command, ExecResult, FileStamp, OutputSink};
use emend_agent::environment::gitignore::IgnoreRules;
use emend_agent::environment::resolve::{self, Node, Tree};
use emend_agent::environment::walk::{self, Filter};
use emend_agent::environment::{
    Access, DirEntry, EntryKind, EnvError, ExecutionEnvironment, FileChange, FilePath, GrepQuery, Metadata,
    change_one_by_one, in_order,
};
use emend_agent::error_code::Code;
use emend_agent::search::{FileMatches, SearchLimits};
use emend_agent::tool::ToolError;
use emend_llm::{BoxFuture, CancelToken};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::js_shell::{JsCommand, run_to_end, settings};
use crate::js_tool::{JsCall, failure};
use asking::{Known, asking};

/// How many files of a search are asked for at a time.
const FILES_AT_ONCE: usize = 16;

/// What a host may say it is.
const PLATFORMS: [&str; 4] = ["wasm", "linux", "darwin", "windows"];

#[wasm_bindgen]
extern "C" {
    /// What the JavaScript layer makes of a host's environment. Nothing of the host's runs before a method returns.
    pub type HostEnvironment;

    #[wasm_bindgen(method, getter)]
    fn root(this: &HostEnvironment) -> String;

    /// Its place in [`PLATFORMS`].
    #[wasm_bindgen(method, getter)]
    fn platform(this: &HostEnvironment) -> usize;

    #[wasm_bindgen(method, getter, js_name = osVersion)]
    fn os_version(this: &HostEnvironment) -> String;

    /// Whether the host has a method that it may leave out.
    #[wasm_bindgen(method)]
    fn has(this: &HostEnvironment, method: &str) -> bool;

    /// Starts an operation; its result is
    ///
    /// | operation | beside the path | result |
    /// | --- | --- | --- |
    /// | `stat` | | the fields of an entry, `undefined` if nothing is there |
    /// | `list` | paths of directories | of each: nothing, the number of entries, their names and fields |
    /// | `walk` | paths of directories | of each: its `.gitignore`, the number of entries, their names and fields |
    /// | `rules` | | the directory's `.gitignore` |
    /// | `read` | | bytes |
    /// | `contents` | paths of files | an array of bytes, `undefined` for a file that cannot be read |
    /// | `write` | bytes | |
    /// | `remove` | | |
    /// | `glob` | the pattern | the names (paths from the root) and fields of entries |
    /// | `grep` | the pattern, `i` or nothing, the glob | the same |
    /// | `initialize` | | |
    ///
    /// Wherever there are several texts, a NUL is between them. The fields of an entry are its kind (`f`, `d`, `o` for
    /// anything else, `l` and what the link says), bytes, and milliseconds since 1970 or 0.
    #[wasm_bindgen(method)]
    fn call(this: &HostEnvironment, operation: &str, path: &str, given: &JsValue) -> JsCall;

    /// Starts a command.
    #[wasm_bindgen(method)]
    fn exec(this: &HostEnvironment, settings: &str) -> JsCommand;
}

/// Files, and perhaps a shell, behind a [`HostEnvironment`].
pub(crate) struct JsEnvironment {
    host: HostEnvironment,
    roots: Vec<String>,
    /// Tells apart files of which nobody knows when they were changed.
    n_stamps: Cell<u64>,
}

/// What a host says of an entry.
struct Found {
    node: Node,
    /// What it is if it is a file or a directory itself.
    metadata: Option<Metadata>,
}

impl Found {
    /// Takes the fields of an entry. What is missing makes it none.
    fn take(fields: &mut Split<'_, char>) -> Self {
        let kind = fields.next().unwrap_or_default();
        let (size, modified_ms) = (number(fields), number(fields));
        let metadata = |kind, size| Some(Metadata { kind, size, modified_ms });
        let (node, metadata) = match kind.split_at_checked(1) {
            Some(("f", _)) => (Node::File, metadata(EntryKind::File, size)),
            Some(("d", _)) => (Node::Directory, metadata(EntryKind::Directory, 0)),
            Some(("l", target)) => (Node::Link(target.to_owned()), None),
            Some(_) => (Node::Special, None),
            None => (Node::Missing, None),
        };
        Self { node, metadata }
    }
}

fn number(fields: &mut Split<'_, char>) -> u64 {
    fields.next().and_then(|field| field.parse().ok()).unwrap_or_default()
}

fn joined<'a>(paths: impl Iterator<Item = &'a FilePath>) -> JsValue {
    paths.map(FilePath::as_str).collect::<Vec<_>>().join("\0").into()
}

impl JsEnvironment {
    pub(crate) fn new(host: HostEnvironment) -> Self {
        Self { roots: vec![host.root()], host, n_stamps: Cell::new(0) }
    }

    /// Cleans a path by its text alone.
    pub(crate) fn clean(&self, path: &str) -> Result<FilePath, EnvError> {
        resolve::resolve(&Known::new(self, true), path, Access::Write)
    }

    fn stamp(&self, DirEntry { path, metadata }: DirEntry) -> FileStamp {
        let mut marks = [metadata.modified_ms, 0, 0];
        if metadata.modified_ms == 0 {
            // It may be another each time: only its text tells.
            self.n_stamps.set(self.n_stamps.get() + 1);
            marks[1] = self.n_stamps.get();
        }
        FileStamp { path, size: metadata.size, marks }
    }
}

/// Which entries a walk finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entries {
    /// All, directories and what links lead to among them.
    All,
    /// Files, but what is ignored or hidden.
    Shown,
    /// Files, but what is ignored.
    Kept,
}

impl Known<'_> {
    fn text(&self, operation: &'static str, path: &FilePath, given: &JsValue) -> Result<String, EnvError> {
        Ok(self.ask(operation, path, given)?.as_string().unwrap_or_default())
    }

    fn stat(&self, path: &FilePath) -> Result<Found, EnvError> {
        let given = match path.is_root() {
            true => "d".to_owned(),
            false if self.by_text => String::new(),
            false => self.text("stat", path, &JsValue::UNDEFINED)?,
        };
        Ok(Found::take(&mut given.split('\0')))
    }

    fn metadata(&self, path: &FilePath) -> Result<Option<Metadata>, EnvError> {
        let found = self.stat(path)?;
        if !matches!(found.node, Node::Link(_)) {
            return Ok(found.metadata);
        }
        let target = resolve::resolve(self, path.as_str(), Access::Read);
        target.map_or(Ok(None), |target| Ok(self.stat(&target)?.metadata))
    }

    /// Returns what is at or below `path`, down to `depth` levels. A host that finds files by itself is asked for them
    /// by `finder`, an operation and what it is given.
    fn find(
        &self,
        path: &FilePath,
        entries: Entries,
        depth: usize,
        finder: Option<(&'static str, &JsValue)>,
    ) -> Result<Vec<DirEntry>, EnvError> {
        let start = self.stat(path)?;
        let mut found = Vec::new();
        match (start.node, start.metadata) {
            (Node::Directory, _) => match finder.filter(|(operation, _)| self.environment.host.has(operation)) {
                Some((operation, given)) => {
                    let listed = self.text(operation, path, given)?;
                    let mut fields = listed.split('\0');
                    while let Some(name) = fields.next() {
                        let (at, entry) = (FilePath::clean(name), Found::take(&mut fields));
                        let at = at.filter(|at| entry.node == Node::File && at.is_under(path));
                        found.extend(at.zip(entry.metadata).map(|(path, metadata)| DirEntry { path, metadata }));
                    }
                }
                None => self.walk(path, entries, depth, &mut found)?,
            },
            (Node::Missing, _) => {
                return Err(EnvError::NotFound { path: path.as_str().to_owned(), suggestions: Vec::new() });
            }
            (_, Some(metadata)) if entries != Entries::All => found.push(DirEntry { path: path.clone(), metadata }),
            _ => {
                let reason = "it is not a directory".to_owned();
                return Err(EnvError::InvalidPath { path: path.as_str().to_owned(), reason });
            }
        }
        Ok(in_order(found))
    }

    fn walk(&self, path: &FilePath, entries: Entries, depth: usize, found: &mut Vec<DirEntry>) -> Result<(), EnvError> {
        let (is_all, mut rules) = (entries == Entries::All, IgnoreRules::default());
        for directory in walk::above(path) {
            if !is_all {
                let ignored = self.text("rules", &directory, &JsValue::UNDEFINED)?;
                rules = rules.enter(&directory, Some(ignored.as_bytes()));
            }
        }
        let mut level = vec![(path.clone(), rules)];
        for _ in 0..depth {
            if level.is_empty() {
                break;
            }
            let directories = joined(level.iter().map(|(path, _)| path));
            let listed = self.text(if is_all { "list" } else { "walk" }, path, &directories)?;
            let mut fields = listed.split('\0');
            for (directory, above) in std::mem::take(&mut level) {
                let rules = above.enter(&directory, fields.next().map(str::as_bytes));
                for _ in 0..number(&mut fields) {
                    let name = fields.next().unwrap_or_default();
                    let (path, entry) = (directory.join(name), Found::take(&mut fields));
                    let is_directory = entry.node == Node::Directory;
                    let is_skipped = match entries {
                        Entries::All => false,
                        Entries::Shown => rules.skips(&path, is_directory),
                        Entries::Kept => rules.ignores(&path, is_directory),
                    };
                    if is_skipped || name == ".git" {
                        continue;
                    }
                    let metadata = match is_all && matches!(entry.node, Node::Link(_)) {
                        true => self.metadata(&path).unwrap_or_default(),
                        false => entry.metadata.filter(|_| is_all || !is_directory),
                    };
                    if is_directory {
                        level.push((path.clone(), rules.clone()));
                    }
                    found.extend(metadata.map(|metadata| DirEntry { path, metadata }));
                }
            }
        }
        Ok(())
    }
}

/// A search under way.
struct Search<'a> {
    query: &'a GrepQuery,
    asked: JsValue,
    /// The files that are still to be searched, the last first; not known at the beginning.
    ahead: Option<Vec<FilePath>>,
    limits: SearchLimits,
    found: Vec<FileMatches>,
}

impl<'a> Search<'a> {
    fn new(query: &'a GrepQuery) -> Self {
        let case = if query.matcher.is_case_insensitive() { "i" } else { "" };
        let asked = [query.matcher.pattern(), case, query.glob.as_deref().unwrap_or_default()].join("\0").into();
        Self { query, asked, ahead: None, limits: SearchLimits::of(query), found: Vec::new() }
    }

    /// Goes on as far as what is known allows.
    fn step(&mut self, known: &Known<'_>) -> Result<Vec<FileMatches>, EnvError> {
        let path = &self.query.path;
        let ahead = match &mut self.ahead {
            Some(ahead) => ahead,
            unknown => {
                let filter = Filter::of_grep(self.query)?;
                let files = known.find(path, Entries::Shown, usize::MAX, Some(("grep", &self.asked)))?;
                let wanted = files.into_iter().rev().map(|file| file.path).filter(|path| filter.accepts(path));
                unknown.insert(wanted.collect())
            }
        };
        while self.limits.max_matches > 0 && !ahead.is_empty() {
            let from = ahead.len().saturating_sub(FILES_AT_ONCE);
            let contents = Array::from(&known.ask("contents", path, &joined(ahead[from..].iter()))?);
            for (path, content) in ahead.drain(from..).rev().zip(contents.reverse().iter()) {
                if content.is_undefined() || self.limits.max_matches == 0 {
                    continue;
                }
                let lines = self.query.matcher.search(&Uint8Array::new(&content).to_vec(), self.limits);
                let matches = FileMatches { path, lines };
                self.limits.max_matches -= matches.match_count();
                if !matches.lines.is_empty() {
                    self.found.push(matches);
                }
            }
        }
        Ok(std::mem::take(&mut self.found))
    }
}

/// What it threw, which the JavaScript layer has given one of our codes.
fn refused(path: String, thrown: &JsValue) -> EnvError {
    let ToolError { code, message: reason, .. } = failure(thrown);
    match code {
        Code::NotFound => EnvError::NotFound { path, suggestions: Vec::new() },
        Code::InvalidArgument => EnvError::InvalidPath { path, reason },
        Code::PermissionDenied => EnvError::PermissionDenied { path, reason },
        Code::LimitReached => EnvError::NoSpace { path, reason },
        _ => EnvError::Io { path, reason },
    }
}

impl Tree for Known<'_> {
    fn roots(&self) -> &[String] {
        &self.environment.roots
    }

    fn look(&self, path: &FilePath) -> Result<Node, EnvError> {
        self.stat(path).map(|found| found.node)
    }

    fn names(&self, directory: &FilePath) -> Vec<String> {
        let listed = self.text("list", directory, &directory.as_str().into()).unwrap_or_default();
        listed.split('\0').skip(2).step_by(4).map(str::to_owned).collect()
    }
}

impl ExecutionEnvironment for JsEnvironment {
    fn initialize(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        asking(self, Box::new(|known| known.tell("initialize", &FilePath::root(), &JsValue::UNDEFINED)))
    }

    fn resolve<'a>(&'a self, path: &'a str, access: Access) -> BoxFuture<'a, Result<FilePath, EnvError>> {
        asking(self, Box::new(move |known| resolve::resolve(known, path, access)))
    }

    fn metadata<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<Metadata>, EnvError>> {
        asking(self, Box::new(|known| known.metadata(path)))
    }

    fn read<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        asking(self, Box::new(|known| Ok(Uint8Array::new(&known.ask("read", path, &JsValue::UNDEFINED)?).to_vec())))
    }

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        let content = JsValue::from(Uint8Array::from(content));
        asking(self, Box::new(move |known| known.tell("write", path, &content)))
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        asking(self, Box::new(|known| known.tell("remove", path, &JsValue::UNDEFINED)))
    }

    fn change<'a>(&'a self, changes: &'a [FileChange]) -> BoxFuture<'a, Result<(), EnvError>> {
        change_one_by_one(self, changes)
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        asking(self, Box::new(move |known| known.find(path, Entries::All, depth, None)))
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        let asked = JsValue::from(glob);
        let work = move |known: &Known<'_>| {
            let filter = Filter::of_glob(path, glob)?;
            let mut files = known.find(path, Entries::Shown, usize::MAX, Some(("glob", &asked)))?;
            files.retain(|file| filter.accepts(&file.path));
            Ok(files)
        };
        asking(self, Box::new(work))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        let mut search = Search::new(query);
        asking(self, Box::new(move |known| search.step(known)))
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
            true => run_to_end(self.host.exec(&settings(command, &self.roots[0])), output, cancel),
            false => Box::pin(ready(Err(EnvError::Unsupported { what: "a shell" }))),
        }
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Vec<FileStamp>, EnvError>> {
        let work = |known: &Known<'_>| {
            let files = known.find(&FilePath::root(), Entries::Kept, usize::MAX, None)?;
            Ok(files.into_iter().map(|file| self.stamp(file)).collect())
        };
        asking(self, Box::new(work))
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
