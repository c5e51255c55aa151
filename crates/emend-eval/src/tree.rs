//! The files of a task: a tree of paths and contents, as text in one literal, and as a directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use emend_edit::ContentHash;

/// Begins a file in the literal form of a tree; the path follows.
const MARK: &str = "//- ";

/// The content of a file. Trees of one repository share the contents of equal files.
pub type Content = Arc<[u8]>;

/// Files by path. Paths are relative and separated by `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<String, Content>);

/// The reason why a text or directory is not a tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// Text before the first mark.
    #[error("the text before the first line `{MARK}PATH` belongs to no file: {text:?}")]
    Stray {
        /// The text.
        text: String,
    },
    /// A path is absolute, empty, or leaves the tree.
    #[error("{path:?} is not a path inside the tree; use names separated by `/`")]
    BadPath {
        /// The path.
        path: String,
    },
    /// Two files have one path.
    #[error("the tree has two files {path:?}")]
    Twice {
        /// The path.
        path: String,
    },
    /// Reading or writing failed.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl Tree {
    /// Reads a tree from one text: a line `//- PATH` begins each file, and its content follows up to the next such line.
    ///
    /// # Errors
    ///
    /// [`TreeError`] for text before the first mark, and for wrong or repeated paths.
    pub fn parse(text: &str) -> Result<Self, TreeError> {
        let mut files = BTreeMap::new();
        let mut current: Option<(String, String)> = None;
        let mut add = |file: Option<(String, String)>| match file {
            Some((path, content)) => match files.insert(path.clone(), content.into_bytes().into()) {
                None => Ok(()),
                Some(_) => Err(TreeError::Twice { path }),
            },
            None => Ok(()),
        };
        for line in text.split_inclusive('\n') {
            if let Some(path) = line.strip_prefix(MARK) {
                let path = path.trim();
                check_path(path)?;
                add(current.replace((path.to_owned(), String::new())))?;
            } else if let Some((_, content)) = &mut current {
                content.push_str(line);
            } else if !line.trim().is_empty() {
                return Err(TreeError::Stray { text: line.trim().to_owned() });
            }
        }
        add(current)?;
        Ok(Self(files))
    }

    /// Returns the text of a file, `None` if it does not exist or is not UTF-8.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.0.get(path)?).ok()
    }

    /// Returns a tree with one file.
    #[must_use]
    pub fn of(path: &str, text: &str) -> Self {
        Self(BTreeMap::from([(path.to_owned(), text.as_bytes().into())]))
    }

    /// Returns this tree with the files of `other` added or replaced.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let mut files = self.0.clone();
        files.extend(other.0.iter().map(|(path, content)| (path.clone(), content.clone())));
        Self(files)
    }

    /// Returns the paths whose contents differ between the two trees, in order.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let paths: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        paths.into_iter().filter(|path| self.0.get(*path) != other.0.get(*path)).cloned().collect()
    }

    /// Returns a digest of all paths and contents, `sha256:` and hex digits.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut bytes = Vec::new();
        for (path, content) in &self.0 {
            // Lengths keep a path and its content apart.
            bytes.extend_from_slice(format!("{} {} {path}", path.len(), content.len()).as_bytes());
            bytes.extend_from_slice(content);
        }
        format!("sha256:{}", ContentHash::of(&bytes).hex())
    }

    /// Reads a directory. Entries with a name for which `skips` is true are left out, and so are links.
    ///
    /// # Errors
    ///
    /// [`TreeError::Io`].
    pub fn read(root: &Path, skips: &dyn Fn(&str) -> bool) -> Result<Self, TreeError> {
        let mut files = BTreeMap::new();
        read_into(&mut files, root, "", skips)?;
        Ok(Self(files))
    }

    /// Writes all files below `root`, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// [`TreeError::Io`].
    pub fn write(&self, root: &Path) -> Result<(), TreeError> {
        fs::create_dir_all(root).map_err(failed(root))?;
        for (path, content) in &self.0 {
            let file = root.join(path);
            if let Some(directory) = file.parent() {
                fs::create_dir_all(directory).map_err(failed(directory))?;
            }
            fs::write(&file, content).map_err(failed(&file))?;
        }
        Ok(())
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> TreeError {
    let path = path.display().to_string();
    move |source| TreeError::Io { path, source }
}

/// Checks that a path stays inside a tree.
fn check_path(path: &str) -> Result<(), TreeError> {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\\', '\0', ':']);
    if path.split('/').all(is_name) { Ok(()) } else { Err(TreeError::BadPath { path: path.to_owned() }) }
}

fn read_into(
    files: &mut BTreeMap<String, Content>,
    directory: &Path,
    below: &str,
    skips: &dyn Fn(&str) -> bool,
) -> Result<(), TreeError> {
    for entry in fs::read_dir(directory).map_err(failed(directory))? {
        let entry = entry.map_err(failed(directory))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if skips(&name) {
            continue;
        }
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(failed(&entry.path()))?;
        if kind.is_dir() {
            read_into(files, &entry.path(), &path, skips)?;
        } else if kind.is_file() {
            files.insert(path, fs::read(entry.path()).map_err(failed(&entry.path()))?.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_files() {
        let tree = Tree::parse("//- a.txt\none\n\ntwo\n//- b/c.txt\n//- d\nno end").unwrap();
        let texts: Vec<_> = tree.0.keys().map(|path| (path.as_str(), tree.text(path).unwrap())).collect();
        assert_eq!(texts, [("a.txt", "one\n\ntwo\n"), ("b/c.txt", ""), ("d", "no end")]);
    }

    #[test]
    fn wrong_texts_are_rejected() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(Tree::parse(text).unwrap_err().to_string(), expected);
        }
        check("stray\n//- a\n", "the text before the first line `//- PATH` belongs to no file: \"stray\"");
        check("//- ../a\n", "\"../a\" is not a path inside the tree; use names separated by `/`");
        check("//- /a\n", "\"/a\" is not a path inside the tree; use names separated by `/`");
        check("//- a\n//- a\n", "the tree has two files \"a\"");
    }

    #[test]
    fn a_tree_is_written_and_read_back() {
        let tree = Tree::parse("//- a.txt\none\n//- b/c.txt\r\ntwo\r\n//- target/d\n").unwrap();
        let directory = tempfile::tempdir().unwrap();
        tree.write(directory.path()).unwrap();
        assert_eq!(Tree::read(directory.path(), &|_| false).unwrap(), tree);
        let read = Tree::read(directory.path(), &|name| name == "target").unwrap();
        assert_eq!(read.differences(&tree), ["target/d"]);
        assert_ne!(read.digest(), tree.digest());
        assert_eq!(tree.digest(), tree.clone().digest());
    }
}
