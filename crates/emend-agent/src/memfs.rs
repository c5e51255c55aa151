//! A file system in memory: the browser's environment, and the one tests run in.
//!
//! A fork costs nothing: both sides share the tree and copy only the directories on the way to what they change.
//! Nothing here waits; every future is ready at once. Commands are not run here.

mod tree;

use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use emend_edit::order::sort_by;
use emend_llm::{BoxFuture, CancelToken, Clock, Shared};

use crate::env::{Access, DirEntry, EnvError, ExecutionEnvironment, FilePath, GrepQuery, Metadata};
use crate::exec::{Command, ExecResult, OutputSink};
use crate::gitignore::IgnoreRules;
use crate::resolve::{self, Node, Tree, invalid, not_found};
use crate::search::{FileMatches, SearchLimits};
use crate::walk::{self, Filter};
use tree::{Directory, Entry, File};

/// The name of the root where nobody chose one.
const ROOT: &str = "/workspace";

/// A tree of files in memory, with links.
///
/// ```
/// use emend_agent::memfs::MemFs;
///
/// let files = MemFs::from_fixture("//- src/a.rs\nfn main() {}\n//- notes.md\nhello\n");
/// let scratch = files.fork();
/// scratch.insert("notes.md", "changed").unwrap();
/// assert_eq!(files.get("notes.md").as_deref(), Some(&b"hello\n"[..]));
/// ```
pub struct MemFs {
    state: Mutex<State>,
    roots: Vec<String>,
    clock: Option<Shared<dyn Clock>>,
}

#[derive(Clone, Default)]
struct State {
    top: Shared<Directory>,
    /// Counts changes; stands in for the time where there is no clock.
    ticks: u64,
}

impl Default for MemFs {
    fn default() -> Self {
        Self::new()
    }
}

impl MemFs {
    /// Returns an empty file system, rooted at `/workspace`, whose times count its changes.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Mutex::default(), roots: vec![ROOT.to_owned()], clock: None }
    }

    /// Takes `root`, an absolute path, as the name of the root.
    #[must_use]
    pub fn with_root(mut self, root: &str) -> Self {
        self.roots = vec![root.to_owned()];
        self
    }

    /// Takes the times of changes from `clock`.
    #[must_use]
    pub fn with_clock(mut self, clock: Shared<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Builds a file system from text: `//- path` starts a file, what follows up to the next such line is its
    /// content. `//- path -> target` is a link. Text before the first file, and paths that cannot be made, are left
    /// out.
    #[must_use]
    pub fn from_fixture(fixture: &str) -> Self {
        let files = Self::new();
        for (path, content) in parse_fixture(fixture) {
            // Left out if it cannot be made, as promised.
            let _ = match content {
                FixtureContent::File(text) => files.insert(path, text),
                FixtureContent::Link(target) => files.insert_link(path, target),
            };
        }
        files
    }

    /// Returns a file system with the same content, root and clock; changes to one do not show in the other. O(1).
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { state: Mutex::new(self.state().clone()), roots: self.roots.clone(), clock: self.clock.clone() }
    }

    /// Puts a file at `path`, in place of what is there; creates its parents.
    ///
    /// # Errors
    ///
    /// As [`ExecutionEnvironment::resolve`] and [`ExecutionEnvironment::write`].
    pub fn insert(&self, path: &str, content: impl Into<Vec<u8>>) -> Result<(), EnvError> {
        let path = resolve::resolve(self, path, Access::Write)?;
        self.put(&path, |modified_ms| Entry::File(Shared::new(File { content: content.into(), modified_ms })))
    }

    /// Puts a link at `path` that says `target`, which need not exist; creates parents.
    ///
    /// # Errors
    ///
    /// `InvalidPath` if something else is there, else as [`Self::insert`].
    pub fn insert_link(&self, path: &str, target: &str) -> Result<(), EnvError> {
        let path = resolve::resolve(self, path, Access::Write)?;
        if self.find(&path).is_some() {
            return Err(invalid(path.as_str(), "it exists already"));
        }
        self.put(&path, |_| Entry::Link(target.into()))
    }

    /// Makes an empty directory at `path`, and its parents; does nothing if there is one.
    ///
    /// # Errors
    ///
    /// As [`Self::insert`].
    pub fn insert_directory(&self, path: &str) -> Result<(), EnvError> {
        let path = resolve::resolve(self, path, Access::Write)?;
        match self.find(&path) {
            Some(Entry::Directory(_)) => Ok(()),
            Some(_) => Err(invalid(path.as_str(), "it exists already")),
            None => self.put(&path, |modified_ms| Entry::Directory(Shared::new(Directory::new(modified_ms)))),
        }
    }

    /// Takes away what stands at `path`, which is cleaned by text alone: a file, a link itself, or a directory with
    /// all it holds. Returns whether there was anything.
    pub fn delete(&self, path: &str) -> bool {
        let Some(path) = FilePath::clean(path) else { return false };
        let mut state = self.state();
        let now = self.now(&mut state);
        Directory::remove(&mut state.top, &path, now).is_some()
    }

    /// Returns the content of the file that `path` leads to, `None` if it leads to none.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        let path = resolve::resolve(self, path, Access::Read).ok()?;
        Some(self.find(&path)?.as_file()?.content.clone())
    }

    /// Returns the paths of all files, hidden and ignored ones included, sorted. Links are left out.
    #[must_use]
    pub fn paths(&self) -> Vec<FilePath> {
        let mut found = Vec::new();
        let mut ahead = vec![(FilePath::root(), self.top())];
        while let Some((path, directory)) = ahead.pop() {
            for (name, entry) in directory.entries() {
                match entry {
                    Entry::File(_) => found.push(path.join(name)),
                    Entry::Directory(directory) => ahead.push((path.join(name), Shared::clone(directory))),
                    Entry::Link(_) => {}
                }
            }
        }
        sort_by(&mut found, FilePath::cmp);
        found
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held leaves the tree as it was: entries are replaced whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tree as it is now; later changes do not show in it.
    fn top(&self) -> Shared<Directory> {
        Shared::clone(&self.state().top)
    }

    fn find(&self, path: &FilePath) -> Option<Entry> {
        Directory::find(&self.top(), path)
    }

    fn now(&self, state: &mut State) -> u64 {
        state.ticks += 1;
        self.clock.as_ref().map_or(state.ticks, |clock| clock.now_ms())
    }

    fn put(&self, path: &FilePath, entry: impl FnOnce(u64) -> Entry) -> Result<(), EnvError> {
        let mut state = self.state();
        let now = self.now(&mut state);
        Directory::put(&mut state.top, path, entry(now), now)
    }

    fn file(&self, path: &FilePath) -> Result<Shared<File>, EnvError> {
        match self.find(path) {
            Some(Entry::File(file)) => Ok(file),
            Some(Entry::Directory(_)) => Err(invalid(path.as_str(), "it is a directory")),
            Some(Entry::Link(_)) => Err(invalid(path.as_str(), "it is a link")),
            None => Err(self.missing(path)),
        }
    }

    fn directory(&self, path: &FilePath) -> Result<Shared<Directory>, EnvError> {
        match self.find(path) {
            Some(Entry::Directory(directory)) => Ok(directory),
            Some(_) => Err(invalid(path.as_str(), "it is not a directory")),
            None => Err(self.missing(path)),
        }
    }

    fn missing(&self, path: &FilePath) -> EnvError {
        not_found(path.as_str(), path.name(), &self.names(&path.parent().unwrap_or_default()))
    }

    fn list_now(&self, path: &FilePath, depth: usize) -> Result<Vec<DirEntry>, EnvError> {
        let mut found = Vec::new();
        let mut ahead = vec![(path.clone(), self.directory(path)?, depth)];
        while let Some((directory_path, directory, depth)) = ahead.pop() {
            if depth == 0 {
                continue;
            }
            for (name, entry) in directory.entries().filter(|(name, _)| *name != ".git") {
                let path = directory_path.join(name);
                let Some(metadata) = self.describe(&path, entry) else { continue };
                if let Entry::Directory(directory) = entry {
                    ahead.push((path.clone(), Shared::clone(directory), depth - 1));
                }
                found.push(DirEntry { path, metadata });
            }
        }
        sort_by(&mut found, |a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Returns what `entry` is; for a link, what it leads to, `None` if that is nothing or outside.
    fn describe(&self, path: &FilePath, entry: &Entry) -> Option<Metadata> {
        match entry {
            Entry::File(_) | Entry::Directory(_) => entry.metadata(),
            Entry::Link(_) => {
                let target = resolve::resolve(self, path.as_str(), Access::Read).ok()?;
                self.find(&target)?.metadata()
            }
        }
    }

    /// Returns the files that a walk from `path` passes, sorted by path.
    fn walk(&self, path: &FilePath) -> Result<Vec<(FilePath, Shared<File>)>, EnvError> {
        let top = self.top();
        let start = match Directory::find(&top, path) {
            Some(Entry::File(file)) => return Ok(vec![(path.clone(), file)]),
            Some(Entry::Directory(directory)) => directory,
            _ => return Err(self.missing(path)),
        };
        let mut found = Vec::new();
        // Where the walk starts is walked even if it is ignored, but the rules above it hold for what it finds.
        let above = walk::above(path).iter().fold(IgnoreRules::default(), |rules, directory| {
            let gitignore = Directory::find(&top, &directory.join(".gitignore"));
            rules.enter(directory, gitignore.as_ref().and_then(Entry::as_file).map(|file| &file.content[..]))
        });
        let mut ahead = vec![(path.clone(), start, above)];
        while let Some((directory_path, directory, above)) = ahead.pop() {
            let gitignore = directory.get(".gitignore").and_then(Entry::as_file);
            let rules = above.enter(&directory_path, gitignore.map(|file| &file.content[..]));
            for (name, entry) in directory.entries() {
                let path = directory_path.join(name);
                match entry {
                    _ if rules.skips(&path, matches!(entry, Entry::Directory(_))) => {}
                    Entry::File(file) => found.push((path, Shared::clone(file))),
                    Entry::Directory(directory) => ahead.push((path, Shared::clone(directory), rules.clone())),
                    Entry::Link(_) => {}
                }
            }
        }
        sort_by(&mut found, |(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    fn write_now(&self, path: &FilePath, content: &[u8]) -> Result<(), EnvError> {
        if matches!(self.find(path), Some(Entry::Link(_))) {
            return Err(invalid(path.as_str(), "it is a link"));
        }
        self.put(path, |modified_ms| Entry::File(Shared::new(File { content: content.to_vec(), modified_ms })))
    }

    fn glob_now(&self, path: &FilePath, glob: &str) -> Result<Vec<DirEntry>, EnvError> {
        let filter = Filter::of_glob(path, glob)?;
        let files = self.walk(path)?.into_iter().filter(|(path, _)| filter.accepts(path));
        Ok(files.map(|(path, file)| DirEntry { path, metadata: file.metadata() }).collect())
    }

    fn grep_now(&self, query: &GrepQuery) -> Result<Vec<FileMatches>, EnvError> {
        let filter = Filter::of_grep(query)?;
        let mut limits = SearchLimits::of(query);
        let mut found = Vec::new();
        for (path, file) in self.walk(&query.path)?.into_iter().filter(|(path, _)| filter.accepts(path)) {
            let matches = FileMatches { path, lines: query.matcher.search(&file.content, limits) };
            limits.max_matches -= matches.match_count();
            if !matches.lines.is_empty() {
                found.push(matches);
            }
            if limits.max_matches == 0 {
                break;
            }
        }
        Ok(found)
    }
}

/// What a fixture puts at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FixtureContent<'a> {
    /// A file of this text.
    File(String),
    /// A link that says this.
    Link(&'a str),
}

/// Returns the paths of a fixture as [`MemFs::from_fixture`] describes it, for those who make it elsewhere.
#[must_use]
pub fn parse_fixture(fixture: &str) -> Vec<(&str, FixtureContent<'_>)> {
    let mut sections: Vec<(&str, FixtureContent<'_>)> = Vec::new();
    for line in fixture.split_inclusive('\n') {
        if let Some(head) = line.strip_prefix("//- ") {
            let head = head.trim_end_matches(['\r', '\n']);
            sections.push(match head.split_once(" -> ") {
                Some((path, target)) => (path, FixtureContent::Link(target)),
                None => (head, FixtureContent::File(String::new())),
            });
        } else if let Some((_, FixtureContent::File(text))) = sections.last_mut() {
            text.push_str(line);
        }
    }
    sections
}

impl Tree for MemFs {
    fn roots(&self) -> &[String] {
        &self.roots
    }

    fn look(&self, path: &FilePath) -> Result<Node, EnvError> {
        Ok(match self.find(path) {
            None => Node::Missing,
            Some(Entry::File(_)) => Node::File,
            Some(Entry::Directory(_)) => Node::Directory,
            Some(Entry::Link(target)) => Node::Link(target.as_ref().to_owned()),
        })
    }

    fn names(&self, directory: &FilePath) -> Vec<String> {
        let Some(Entry::Directory(directory)) = self.find(directory) else { return Vec::new() };
        directory.entries().map(|(name, _)| name.to_owned()).collect()
    }
}

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

    fn write<'a>(&'a self, path: &'a FilePath, content: &'a [u8]) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(ready(self.write_now(path, content)))
    }

    fn remove<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(ready(self.file(path).map(|_| {
            self.delete(path.as_str());
        })))
    }

    fn list<'a>(&'a self, path: &'a FilePath, depth: usize) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        Box::pin(ready(self.list_now(path, depth)))
    }

    fn glob<'a>(&'a self, path: &'a FilePath, glob: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, EnvError>> {
        Box::pin(ready(self.glob_now(path, glob)))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery) -> BoxFuture<'a, Result<Vec<FileMatches>, EnvError>> {
        Box::pin(ready(self.grep_now(query)))
    }

    fn exec_command<'a>(
        &'a self,
        _command: &'a Command,
        _output: &'a dyn OutputSink,
        _cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        Box::pin(ready(Err(EnvError::Unsupported { what: "a shell (the files are in memory only)" })))
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

#[cfg(test)]
mod tests;
