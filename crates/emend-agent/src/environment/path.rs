//! Paths inside a root, always normalised and without links.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A path inside the root: relative, with `/` separators, without `.`, `..` or links. The root is the empty path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    /// Returns the root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Normalises `path` as text: drops empty segments and `.`, resolves `..`.
    ///
    /// Returns `None` if the path leaves the root. An absolute path counts as relative to the root: remove the root
    /// first.
    #[must_use]
    pub fn clean(path: &str) -> Option<Self> {
        let mut segments: Vec<&str> = Vec::new();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => {
                    segments.pop()?;
                }
                segment => segments.push(segment),
            }
        }
        Some(Self(segments.join("/")))
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the last segment; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the parent directory; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned())))
    }

    /// Returns `name`, one or more normalised segments, inside this directory.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let mut path = self.clone();
        path.push(name);
        path
    }

    /// Appends `name` to the path.
    pub(crate) fn push(&mut self, name: &str) {
        if !self.is_root() {
            self.0.push('/');
        }
        self.0.push_str(name);
    }

    /// Truncates the path to an earlier length, from before segments were appended.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns whether this path equals `directory` or lies below it.
    #[must_use]
    pub fn is_under(&self, directory: &Self) -> bool {
        directory.is_root()
            || self.0 == directory.0
            || self.0.strip_prefix(&directory.0).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        assert_eq!(FilePath::clean(path).as_ref().map(FilePath::as_str), expected);
    }

    #[test]
    fn paths_are_cleaned_by_text_alone() {
        check("a/./b//c", Some("a/b/c"));
        check("a/../b", Some("b"));
        check(".", Some(""));
        check("..", None);
        check("a/../../b", None);
        assert!(FilePath::clean("a/b").unwrap().is_under(&FilePath::clean("a").unwrap()));
        assert!(!FilePath::clean("ab").unwrap().is_under(&FilePath::clean("a").unwrap()));
    }
}
