//! Applies `.gitignore` rules to a walk, as git does.
//!
//! A [`Gitignore`] is one file. [`IgnoreRules`] are the files of a directory and of all directories above it, nearest
//! first. Environments read the files and walk the tree. As in git, a rule cannot bring back a path below an ignored
//! directory, because a walk never gets there. Only `.gitignore` counts: no global file, no `.ignore`.

use emend_llm::Shared;

use crate::environment::FilePath;
use crate::search::glob::GlobPattern;

/// One parsed `.gitignore`.
#[derive(Clone, Debug, Default)]
pub struct Gitignore {
    // In file order: the last matching rule decides.
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    brings_back: bool,
    only_directories: bool,
    pattern: Pattern,
}

/// The frequent forms are compared directly; only the others need a glob.
#[derive(Clone, Debug)]
enum Pattern {
    /// A name at any depth.
    Name(String),
    /// The end of a name at any depth, as in `*.log`.
    NameEnd(String),
    /// A glob for a name at any depth.
    NameGlob(GlobPattern),
    /// A path relative to the directory of the file.
    Path(String),
    /// A glob for a path relative to the directory of the file.
    PathGlob(GlobPattern),
}

impl Gitignore {
    /// Parses the content of a `.gitignore`. A malformed line matches nothing, as in git.
    #[must_use]
    pub fn parse(content: &[u8]) -> Self {
        let content = String::from_utf8_lossy(content);
        let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
        let lines = content.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        Self { rules: lines.filter_map(Rule::parse).collect() }
    }

    /// Returns whether there is a rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns whether `path`, relative to the directory of the file, is ignored; `None` if no rule matches.
    #[must_use]
    pub fn verdict(&self, path: &str, is_directory: bool) -> Option<bool> {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.rules
            .iter()
            .rev()
            .find(|rule| (is_directory || !rule.only_directories) && rule.pattern.is_match(path, name))
            .map(|rule| !rule.brings_back)
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        let line = trim_unescaped_spaces(line);
        if line.starts_with('#') {
            return None;
        }
        let (brings_back, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (only_directories, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let is_path = line.contains('/');
        let line = line.strip_prefix('/').unwrap_or(line);
        if line.is_empty() {
            return None;
        }
        Some(Self { brings_back, only_directories, pattern: Pattern::parse(line, is_path)? })
    }
}

/// Removes trailing spaces of a line, except one that a backslash escapes.
fn trim_unescaped_spaces(line: &str) -> &str {
    let trimmed = line.trim_end_matches(' ');
    let backslashes = trimmed.len() - trimmed.trim_end_matches('\\').len();
    if backslashes % 2 == 1 && trimmed.len() < line.len() { &line[..=trimmed.len()] } else { trimmed }
}

impl Pattern {
    fn parse(text: &str, is_path: bool) -> Option<Self> {
        let is_plain = |text: &str| !text.contains(['*', '?', '[', '\\']);
        Some(match (is_path, text.strip_prefix('*')) {
            (true, _) if is_plain(text) => Self::Path(text.to_owned()),
            (true, _) => Self::PathGlob(GlobPattern::of_gitignore(text).ok()?),
            (false, Some(end)) if is_plain(end) => Self::NameEnd(end.to_owned()),
            (false, _) if is_plain(text) => Self::Name(text.to_owned()),
            (false, _) => Self::NameGlob(GlobPattern::of_gitignore(text).ok()?),
        })
    }

    fn is_match(&self, path: &str, name: &str) -> bool {
        match self {
            Self::Name(text) => name == text,
            Self::NameEnd(text) => name.ends_with(text.as_str()),
            Self::NameGlob(glob) => glob.is_match(name),
            Self::Path(text) => path == text,
            Self::PathGlob(glob) => glob.is_match(path),
        }
    }
}

/// The rules that apply inside a directory. A clone is cheap.
#[derive(Clone, Debug, Default)]
pub struct IgnoreRules {
    nearest: Option<Shared<Layer>>,
}

#[derive(Debug)]
struct Layer {
    directory: FilePath,
    rules: Gitignore,
    above: IgnoreRules,
}

impl IgnoreRules {
    /// Returns the rules inside `directory`, given the content of its `.gitignore`, if it has one.
    #[must_use]
    pub fn enter(&self, directory: &FilePath, content: Option<&[u8]>) -> Self {
        let rules = content.map(Gitignore::parse).unwrap_or_default();
        if rules.is_empty() {
            return self.clone();
        }
        Self { nearest: Some(Shared::new(Layer { directory: directory.clone(), rules, above: self.clone() })) }
    }

    /// Returns whether a walk skips `path`, an entry of this directory, because it is hidden or ignored.
    #[must_use]
    pub fn skips(&self, path: &FilePath, is_directory: bool) -> bool {
        path.name().starts_with('.') || self.ignores(path, is_directory)
    }

    /// Returns whether a rule ignores `path`, an entry of this directory.
    #[must_use]
    pub fn ignores(&self, path: &FilePath, is_directory: bool) -> bool {
        let mut next = self;
        while let Some(layer) = &next.nearest {
            let relative = path.as_str().strip_prefix(layer.directory.as_str()).unwrap_or(path.as_str());
            if let Some(verdict) = layer.rules.verdict(relative.trim_start_matches('/'), is_directory) {
                return verdict;
            }
            next = &layer.above;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Checks paths against one file; a trailing `/` marks a directory.
    #[track_caller]
    fn check(content: &str, ignored: &[&str], kept: &[&str]) {
        let rules = IgnoreRules::default().enter(&FilePath::root(), Some(content.as_bytes()));
        for (path, expected) in ignored.iter().map(|path| (path, true)).chain(kept.iter().map(|path| (path, false))) {
            let found = rules.ignores(&FilePath::clean(path).unwrap(), path.ends_with('/'));
            assert_eq!(found, expected, "{path:?} under {content:?}");
        }
    }

    #[test]
    fn a_name_matches_at_any_depth_and_a_path_from_its_directory() {
        check("a", &["a", "b/a", "b/c/a/"], &["ab", "ba"]);
        check("/a", &["a"], &["b/a"]);
        check("a/b", &["a/b"], &["c/a/b"]);
        check("**/a/b", &["a/b", "c/a/b"], &["a/c/b"]);
        check("a/**", &["a/b", "a/b/c"], &["a/"]);
        check("a/**/b", &["a/b", "a/c/d/b"], &["b"]);
        check("/*", &["a", "b/"], &["b/a"]);
    }

    #[test]
    fn a_trailing_slash_means_directories_only() {
        check("target/", &["target/", "a/target/"], &["target", "a/target"]);
        check("/target/", &["target/"], &["a/target/", "target"]);
    }

    #[test]
    fn the_last_rule_that_matches_decides() {
        check("*.log\n!keep.log\n", &["a.log", "b/a.log"], &["keep.log", "b/keep.log"]);
        check("!keep.log\n*.log\n", &["keep.log"], &[]);
    }

    #[test]
    fn comments_blanks_and_escapes() {
        check("#a\n\\#b\n\\!c\n\n!\n/\n", &["#b", "!c"], &["#a", "a", "c", "!"]);
        check("a  \nb\\ \nc\\\\ \n", &["a", "b ", "c\\"], &["b", "a  "]);
        check("\u{feff}a\r\nb\r\n", &["a", "b"], &["b\r"]);
        check("\\a\\*", &["a*"], &["ab"]);
        check("[ab", &[], &["[ab", "a"]);
        check("[[:digit:]]?", &["1x"], &["x1"]);
        check("*.{a,b}", &["x.{a,b}"], &["x.a"]);
    }

    #[test]
    fn a_nearer_file_overrules_one_above() {
        let top = IgnoreRules::default().enter(&FilePath::root(), Some(b"*.log\n/x/y\n"));
        let inner = top.enter(&FilePath::clean("x").unwrap(), Some(b"!a.log\n/z\n"));
        let skips = |path: &str| inner.skips(&FilePath::clean(path).unwrap(), false);
        assert!(!skips("x/a.log") && skips("x/b.log") && skips("x/y") && skips("x/z") && !skips("x/w/z"));
        assert!(skips("x/.hidden"));
    }
}
