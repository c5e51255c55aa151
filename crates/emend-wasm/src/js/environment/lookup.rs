//! Entries, links and walks of a host's files, computed from an [`AnswerCache`].
//!
//! Every method may return a placeholder error while an answer is missing; `replay` then calls it again.

use emend_agent::environment::gitignore::IgnoreRules;
use emend_agent::environment::resolve::{self, Node, Tree};
use emend_agent::environment::walk;
use emend_agent::environment::{Access, DirEntry, EnvError, FilePath, Metadata, in_order};
use wasm_bindgen::JsValue;

use super::entries::{HostEntry, joined, number};
use super::replay::AnswerCache;

/// The entries that a walk returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Entries {
    /// All entries, including directories and the targets of links.
    All,
    /// Files that are neither ignored nor hidden.
    Shown,
    /// Files that are not ignored.
    Kept,
}

impl AnswerCache<'_> {
    fn text(&self, operation: &'static str, path: &FilePath, argument: &JsValue) -> Result<String, EnvError> {
        Ok(self.ask(operation, path, argument)?.as_string().unwrap_or_default())
    }

    fn stat(&self, path: &FilePath) -> Result<HostEntry, EnvError> {
        let fields = match path.is_root() {
            true => "d".to_owned(),
            false if self.by_text => String::new(),
            false => self.text("stat", path, &JsValue::UNDEFINED)?,
        };
        Ok(HostEntry::take(&mut fields.split('\0')))
    }

    pub(super) fn metadata(&self, path: &FilePath) -> Result<Option<Metadata>, EnvError> {
        let found = self.stat(path)?;
        if !matches!(found.node, Node::Link(_)) {
            return Ok(found.metadata);
        }
        let target = resolve::resolve(self, path.as_str(), Access::Read);
        target.map_or(Ok(None), |target| Ok(self.stat(&target)?.metadata))
    }

    /// Returns the entries at or below `path`, down to `depth` levels, in order of their paths.
    ///
    /// `finder` is an operation and its argument. A host that has this operation finds the files itself.
    pub(super) fn find(
        &self,
        path: &FilePath,
        entries: Entries,
        depth: usize,
        finder: Option<(&'static str, &JsValue)>,
    ) -> Result<Vec<DirEntry>, EnvError> {
        let start = self.stat(path)?;
        let mut found = Vec::new();
        match (start.node, start.metadata) {
            (Node::Directory, _) => match finder.filter(|(operation, _)| self.host.has(operation)) {
                Some((operation, argument)) => {
                    let listed = self.text(operation, path, argument)?;
                    let mut fields = listed.split('\0');
                    while let Some(name) = fields.next() {
                        let (at, entry) = (FilePath::clean(name), HostEntry::take(&mut fields));
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
            let directories = joined(level.iter().map(|(path, _)| path.as_str()));
            let listed = self.text(if is_all { "list" } else { "walk" }, path, &directories)?;
            let mut fields = listed.split('\0');
            for (directory, above) in std::mem::take(&mut level) {
                let rules = above.enter(&directory, fields.next().map(str::as_bytes));
                for _ in 0..number(&mut fields) {
                    let name = fields.next().unwrap_or_default();
                    let (path, entry) = (directory.join(name), HostEntry::take(&mut fields));
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

impl Tree for AnswerCache<'_> {
    fn roots(&self) -> &[String] {
        self.roots
    }

    fn look(&self, path: &FilePath) -> Result<Node, EnvError> {
        self.stat(path).map(|found| found.node)
    }

    fn names(&self, directory: &FilePath) -> Vec<String> {
        let listed = self.text("list", directory, &directory.as_str().into()).unwrap_or_default();
        listed.split('\0').skip(2).step_by(4).map(str::to_owned).collect()
    }
}
