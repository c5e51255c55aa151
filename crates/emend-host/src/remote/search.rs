//! Walks the tree of the far side level by level and searches its files here, with the rules of every environment.
//!
//! The contents of the searched files come over the connection. Files larger than the limit for whole files are left out
//! of a search.

use emend_agent::environment::FileMatches;
use emend_agent::environment::gitignore::IgnoreRules;
use emend_agent::environment::walk::{self, Filter};
use emend_agent::environment::{DirEntry, EnvError, FilePath, GrepQuery};
use emend_agent::search::is_binary;

use super::far::{FarError, Found, Kind};
use super::tree::{Entry, FarTree};
use crate::files::{WHOLE_FILE_BYTES_MAX, invalid};

const GITIGNORE: &str = ".gitignore";

/// Files of one step of a search.
const FILES_AT_ONCE: usize = 64;
/// Bytes of one step of a search, unless one file is larger.
const BYTES_AT_ONCE: u64 = 16 << 20;

/// Treatment of hidden files in a walk. The `.git` directory is always skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    Skipped,
    Found,
}

/// Returns the files that a glob matches at or below `path`, sorted by path.
pub(super) fn glob(tree: &FarTree, path: &FilePath, glob: &str) -> Result<Vec<DirEntry>, EnvError> {
    let filter = Filter::of_glob(path, glob)?;
    let found = files(tree, path, &filter, Hidden::Skipped)?;
    let entry = |(path, found): (FilePath, Found)| Some(DirEntry { metadata: found.metadata()?, path });
    Ok(found.into_iter().filter_map(entry).collect())
}

/// Searches files and returns the matches in order of their paths.
pub(super) fn grep(tree: &FarTree, query: &GrepQuery) -> Result<Vec<FileMatches>, EnvError> {
    let filter = Filter::of_grep(query)?;
    let mut ahead = files(tree, &query.path, &filter, Hidden::Skipped)?;
    ahead.retain(|(_, found)| found.size <= WHOLE_FILE_BYTES_MAX);
    let mut limits = query.limits();
    let mut matched = Vec::new();
    let mut ahead = ahead.as_slice();
    while limits.max_matches > 0 && !ahead.is_empty() {
        let (some, rest) = ahead.split_at(n_at_once(ahead));
        ahead = rest;
        let paths: Vec<FilePath> = some.iter().map(|(path, _)| path.clone()).collect();
        for (path, content) in paths.iter().zip(tree.far.read(&paths, WHOLE_FILE_BYTES_MAX)) {
            let content = match content {
                Ok(content) => content,
                Err(error @ FarError::Lost(_)) => return Err(error.at(path)),
                Err(_) => continue,
            };
            if limits.max_matches == 0 || is_binary(&content) {
                continue;
            }
            let lines = query.matcher.search(&content, limits);
            if !lines.is_empty() {
                let matches = FileMatches { path: path.clone(), lines };
                limits.max_matches -= matches.match_count();
                matched.push(matches);
            }
        }
    }
    Ok(matched)
}

/// Returns the number of files for the next step.
fn n_at_once(ahead: &[(FilePath, Found)]) -> usize {
    let mut n_bytes = 0;
    let within = ahead.iter().take(FILES_AT_ONCE).take_while(|(_, found)| {
        n_bytes += found.size;
        n_bytes <= BYTES_AT_ONCE
    });
    within.count().max(1)
}

/// Returns the files that `filter` accepts at or below `path`, sorted by path.
pub(super) fn files(
    tree: &FarTree,
    path: &FilePath,
    filter: &Filter,
    hidden: Hidden,
) -> Result<Vec<(FilePath, Found)>, EnvError> {
    match tree.find(path)? {
        None => return Err(tree.missing(path)),
        Some(found) if found.kind == Kind::File => {
            return Ok(if filter.accepts(path) { vec![(path.clone(), found)] } else { Vec::new() });
        }
        Some(found) if found.kind == Kind::Directory => {}
        Some(_) => return Err(invalid(path.as_str(), "it is not a directory")),
    }
    let mut rules = IgnoreRules::default();
    for directory in walk::above(path) {
        let gitignore = tree.read(&directory.join(GITIGNORE)).ok();
        rules = rules.enter(&directory, gitignore.as_deref());
    }
    let mut found = Vec::new();
    let mut level = vec![(path.clone(), rules)];
    while !level.is_empty() {
        let directories: Vec<FilePath> = level.iter().map(|(path, _)| path.clone()).collect();
        let entries = tree.entries(&directories)?;
        let mut below = Vec::new();
        let rules = rules_of(tree, level, &entries)?;
        let mut rules = rules.iter().peekable();
        for (directory, (name, entry)) in entries {
            // Both are in the order of the directories.
            while rules.next_if(|(path, _)| *path != directory).is_some() {}
            let Some((_, rules)) = rules.peek() else { break };
            let (path, is_directory) = (directory.join(&name), entry.kind == Kind::Directory);
            let is_skipped = match hidden {
                Hidden::Skipped => rules.skips(&path, is_directory),
                Hidden::Found => name == ".git" || rules.ignores(&path, is_directory),
            };
            if is_skipped {
                continue;
            }
            match entry.kind {
                Kind::Directory => below.push((path, rules.clone())),
                Kind::File if filter.accepts(&path) => found.push((path, entry)),
                _ => {}
            }
        }
        level = below;
    }
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Adds the rules of each directory itself to those above it.
fn rules_of(
    tree: &FarTree,
    level: Vec<(FilePath, IgnoreRules)>,
    entries: &[Entry],
) -> Result<Vec<(FilePath, IgnoreRules)>, EnvError> {
    let with_rules: Vec<FilePath> = entries
        .iter()
        .filter(|(_, (name, found))| name == GITIGNORE && found.kind == Kind::File)
        .map(|(directory, _)| directory.clone())
        .collect();
    let paths: Vec<FilePath> = with_rules.iter().map(|directory| directory.join(GITIGNORE)).collect();
    let mut contents = std::collections::BTreeMap::new();
    if !paths.is_empty() {
        for (directory, content) in with_rules.into_iter().zip(tree.far.read(&paths, WHOLE_FILE_BYTES_MAX)) {
            match content {
                Ok(content) if !is_binary(&content) => drop(contents.insert(directory, content)),
                Err(error @ FarError::Lost(_)) => return Err(error.at(&directory)),
                _ => {}
            }
        }
    }
    let enter = |(directory, above): (FilePath, IgnoreRules)| {
        let rules = above.enter(&directory, contents.get(&directory).map(Vec::as_slice));
        (directory, rules)
    };
    Ok(level.into_iter().map(enter).collect())
}
