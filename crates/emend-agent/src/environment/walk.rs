//! Shared parts of the walks of all environments: the directories with rules, and the filter of files.

use std::collections::BTreeSet;

use emend_edit::size::compact_sort::set_of;

use crate::environment::resolve::invalid;
use crate::environment::{EnvError, FilePath, GrepQuery};
use crate::search::glob::GlobPattern;

/// Returns the parents of `path`, the root first. Their `.gitignore` files apply to a walk that starts at `path`, but
/// never exclude `path` itself.
#[must_use]
pub fn above(path: &FilePath) -> Vec<FilePath> {
    let mut directories: Vec<FilePath> = std::iter::successors(path.parent(), FilePath::parent).collect();
    directories.reverse();
    directories
}

/// Selects files of a walk.
#[derive(Clone, Debug)]
pub struct Filter {
    base: FilePath,
    glob: Option<GlobPattern>,
    /// Whether a match of the file name suffices.
    by_name: bool,
    exclude: BTreeSet<FilePath>,
}

impl Filter {
    /// Returns the filter of [`glob`](crate::environment::ExecutionEnvironment::glob).
    ///
    /// # Errors
    ///
    /// `InvalidPath` if the glob is malformed.
    pub fn of_glob(base: &FilePath, glob: &str) -> Result<Self, EnvError> {
        Ok(Self { base: base.clone(), glob: Some(compile(glob)?), by_name: false, exclude: BTreeSet::new() })
    }

    /// Returns the filter of [`grep`](crate::environment::ExecutionEnvironment::grep).
    ///
    /// # Errors
    ///
    /// `InvalidPath` if the glob is malformed.
    pub fn of_grep(query: &GrepQuery) -> Result<Self, EnvError> {
        Ok(Self {
            base: query.path.clone(),
            glob: query.glob.as_deref().map(compile).transpose()?,
            by_name: true,
            exclude: set_of(query.exclude.iter().cloned()),
        })
    }

    /// Returns whether `path`, a file at or below the base, is selected.
    #[must_use]
    pub fn accepts(&self, path: &FilePath) -> bool {
        if self.exclude.contains(path) {
            return false;
        }
        let Some(glob) = &self.glob else { return true };
        let relative = match path.as_str().strip_prefix(self.base.as_str()) {
            Some("") | None => path.name(),
            Some(rest) => rest.trim_start_matches('/'),
        };
        if self.by_name { glob.is_match_or_name(relative) } else { glob.is_match(relative) }
    }
}

fn compile(glob: &str) -> Result<GlobPattern, EnvError> {
    GlobPattern::new(glob).map_err(|error| invalid(glob, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Matcher;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn path(path: &str) -> FilePath {
        FilePath::clean(path).unwrap()
    }

    #[test]
    fn above_starts_at_the_root() {
        assert_eq!(above(&path("a/b/c")), [path(""), path("a"), path("a/b")]);
        assert_eq!(above(&path("a")), [path("")]);
        assert_eq!(above(&path("")), []);
    }

    #[test]
    fn globs_see_paths_relative_to_the_base() {
        let filter = Filter::of_glob(&path("src"), "*.rs").unwrap();
        assert!(filter.accepts(&path("src/a.rs")) && !filter.accepts(&path("src/b/a.rs")));
        assert!(Filter::of_glob(&path("src/a.rs"), "*.rs").unwrap().accepts(&path("src/a.rs")));
        assert_eq!(Filter::of_glob(&path(""), "[").unwrap_err().code().as_str(), "invalid_argument");
    }

    #[test]
    fn grep_takes_a_name_for_a_path_and_leaves_out_what_is_excluded() {
        let query = GrepQuery {
            matcher: Matcher::new("x", false).unwrap(),
            path: path("src"),
            glob: Some("*.rs".to_owned()),
            exclude: vec![path("src/b.rs")],
            max_results: 1,
            context_lines: 0,
        };
        let filter = Filter::of_grep(&query).unwrap();
        assert!(filter.accepts(&path("src/deep/a.rs")) && !filter.accepts(&path("src/a.md")));
        assert!(!filter.accepts(&path("src/b.rs")));
    }
}
