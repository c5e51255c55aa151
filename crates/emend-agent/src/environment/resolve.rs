//! Resolves a path from a model or a user to a path inside the root: the sandbox rules of all environments.
//!
//! The path is joined to the root and normalised as text, so `..` may pass through the root's own name but not end
//! outside. Then each segment is checked for links, which are followed here and not by the system: absolute links
//! inside the root work, and nothing outside the root is read. Environments implement [`Tree`] and open the resolved
//! path safely.

use crate::environment::{Access, EnvError, FilePath, SandboxDecision};
use crate::suggest::closest;

/// Maximum number of links on one path, as on Linux.
const LINKS_MAX: usize = 40;

/// Maximum number of names that an error suggests.
const SUGGESTIONS_MAX: usize = 3;

/// The kind of the entry at a path; links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// No entry.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Link(String),
    /// A device, a socket or a FIFO.
    Special,
}

/// A tree of files, as [`resolve`] needs it.
pub trait Tree {
    /// Returns the absolute names of the root with `/` separators: first the name that users know, last the real one.
    fn roots(&self) -> &[String];

    /// Returns the kind of the entry at `path`. All its parents are known to be directories.
    ///
    /// # Errors
    ///
    /// Any [`EnvError`] of the lookup, which ends the resolution.
    fn look(&self, path: &FilePath) -> Result<Node, EnvError>;

    /// Returns the names in `directory` for suggestions; none if the directory cannot be read.
    fn names(&self, directory: &FilePath) -> Vec<String>;
}

/// Returns the path inside `tree` that `given` leads to.
///
/// With [`Access::Write`], the path and its parents need not exist.
///
/// # Errors
///
/// See [`ExecutionEnvironment::resolve`](crate::environment::ExecutionEnvironment::resolve).
pub fn resolve(tree: &dyn Tree, given: &str, access: Access) -> Result<FilePath, EnvError> {
    if given.trim().is_empty() {
        return Err(invalid(given, "the path is empty; name a path under the project root"));
    }
    if given.contains('\0') {
        return Err(invalid(given, "the path holds a NUL character"));
    }
    let start = inside(tree, given, given)?;
    Walk { tree, given, access, links: 0, reached: Vec::new(), ahead: Vec::new() }.run(&start)
}

/// Returns an error for `path` with a reason.
pub(crate) fn invalid(path: &str, reason: impl Into<String>) -> EnvError {
    EnvError::InvalidPath { path: path.to_owned(), reason: reason.into() }
}

/// Returns an error for `path` because `name` is not among `names`, with similar names as suggestions.
pub(crate) fn not_found(path: &str, name: &str, names: &[String]) -> EnvError {
    let suggestions = closest(name, names.iter().map(String::as_str), SUGGESTIONS_MAX);
    EnvError::NotFound { path: path.to_owned(), suggestions }
}

/// Normalises `path` as text and removes the root.
fn inside(tree: &dyn Tree, path: &str, given: &str) -> Result<FilePath, EnvError> {
    let root = tree.roots().first().map_or("/", String::as_str);
    // An absolute path cannot lead above `/`, so its normalisation always succeeds.
    let absolute = if is_absolute(path) { path.to_owned() } else { format!("{root}/{path}") };
    let cleaned = clean_absolute(&absolute);
    let below = |root: &String| strip_root(&cleaned, root);
    tree.roots().iter().find_map(below).ok_or_else(|| outside(tree, &cleaned, given))
}

/// Returns whether `path` is absolute: `/…`, or `C:/…` if roots have drives.
fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || (cfg!(windows) && path.get(1..3) == Some(":/"))
}

/// Resolves `.` and `..` as text; `..` at the top has no effect.
fn clean_absolute(path: &str) -> FilePath {
    let mut cleaned = FilePath::root();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => cleaned = cleaned.parent().unwrap_or_default(),
            segment => cleaned = cleaned.join(segment),
        }
    }
    cleaned
}

fn strip_root(cleaned: &FilePath, root: &str) -> Option<FilePath> {
    let root = clean_absolute(root);
    if !cleaned.is_under(&root) {
        return None;
    }
    FilePath::clean(&cleaned.as_str()[root.as_str().len()..])
}

fn outside(tree: &dyn Tree, cleaned: &FilePath, given: &str) -> EnvError {
    let root = tree.roots().first().cloned().unwrap_or_default();
    let top = clean_absolute(&root);
    let slash = if root.starts_with('/') { "/" } else { "" };
    let decision =
        SandboxDecision { cleaned: format!("{slash}{}", cleaned.as_str()), rel: relative(&top, cleaned), root };
    EnvError::OutsideRoot { path: given.to_owned(), decision }
}

/// Returns the relative path from `from` to `to`, both relative to the top: `../../etc/passwd`.
fn relative(from: &FilePath, to: &FilePath) -> String {
    let segments = |path: &FilePath| -> Vec<String> { path.as_str().split('/').map(str::to_owned).collect() };
    let (from, to) = (segments(from), segments(to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[shared..].iter().filter(|segment| !segment.is_empty()).map(|_| "..");
    up.chain(to[shared..].iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// The state while a path is followed segment by segment.
struct Walk<'a> {
    tree: &'a dyn Tree,
    given: &'a str,
    access: Access,
    links: usize,
    /// Paths that are known to be directories.
    reached: Vec<String>,
    /// Segments that are still to be followed, the next one last.
    ahead: Vec<String>,
}

impl Walk<'_> {
    fn run(mut self, start: &FilePath) -> Result<FilePath, EnvError> {
        self.push(start.as_str());
        while let Some(segment) = self.ahead.pop() {
            match segment.as_str() {
                "" | "." => continue,
                ".." => {
                    if self.reached.pop().is_none() {
                        self.climb_out()?;
                    }
                    continue;
                }
                _ => {}
            }
            let here = self.here();
            let path = here.join(&segment);
            match self.tree.look(&path)? {
                Node::Directory => self.reached.push(segment),
                Node::File if self.is_done() => return Ok(path),
                Node::File => return Err(invalid(self.given, format!("{path} is a file, not a directory"))),
                Node::Special => return Err(invalid(self.given, "not a regular file")),
                Node::Link(target) => self.follow(&target)?,
                Node::Missing => return self.missing(&here, path),
            }
        }
        Ok(self.here())
    }

    fn here(&self) -> FilePath {
        self.reached.iter().fold(FilePath::root(), |path, segment| path.join(segment))
    }

    fn push(&mut self, path: &str) {
        self.ahead.extend(path.split('/').rev().map(str::to_owned));
    }

    fn is_done(&self) -> bool {
        self.ahead.iter().all(|segment| matches!(segment.as_str(), "" | "."))
    }

    fn follow(&mut self, target: &str) -> Result<(), EnvError> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(invalid(self.given, "too many symbolic links"));
        }
        if is_absolute(target) {
            let start = inside(self.tree, target, self.given)
                .map_err(|_| outside(self.tree, &clean_absolute(&self.then_ahead(target)), self.given))?;
            self.reached.clear();
            self.push(start.as_str());
        } else {
            self.push(target);
        }
        Ok(())
    }

    /// Continues above the root after a `..` of a link target: the path may return through the root's own name.
    fn climb_out(&mut self) -> Result<(), EnvError> {
        // The real root, because the system resolves `..` there and not in a link to the root.
        let root = self.tree.roots().last().map_or("", String::as_str);
        let start = inside(self.tree, &self.then_ahead(&format!("{root}/..")), self.given)?;
        self.ahead.clear();
        self.push(start.as_str());
        Ok(())
    }

    /// Returns `path` with the remaining segments.
    fn then_ahead(&self, path: &str) -> String {
        self.ahead.iter().rev().fold(path.to_owned(), |path, segment| format!("{path}/{segment}"))
    }

    /// Ends at `path`, which does not exist in the directory `here`.
    fn missing(&self, here: &FilePath, path: FilePath) -> Result<FilePath, EnvError> {
        if self.access != Access::Write || self.ahead.iter().any(|segment| segment == "..") {
            return Err(not_found(self.given, path.name(), &self.tree.names(here)));
        }
        let rest = self.ahead.iter().rev().filter(|segment| !matches!(segment.as_str(), "" | "."));
        Ok(rest.fold(path, |path, segment| path.join(segment)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    struct Fixture {
        roots: Vec<String>,
        nodes: BTreeMap<&'static str, Node>,
    }

    impl Tree for Fixture {
        fn roots(&self) -> &[String] {
            &self.roots
        }

        fn look(&self, path: &FilePath) -> Result<Node, EnvError> {
            Ok(self.nodes.get(path.as_str()).cloned().unwrap_or(Node::Missing))
        }

        fn names(&self, directory: &FilePath) -> Vec<String> {
            let paths = self.nodes.keys().map(|path| FilePath::clean(path).unwrap());
            paths.filter(|path| path.parent().as_ref() == Some(directory)).map(|path| path.name().to_owned()).collect()
        }
    }

    fn fixture() -> Fixture {
        let link = |target: &str| Node::Link(target.to_owned());
        Fixture {
            roots: vec!["/home/me/project".to_owned(), "/data/project".to_owned()],
            nodes: BTreeMap::from([
                ("src", Node::Directory),
                ("src/main.rs", Node::File),
                ("src/inner", Node::Directory),
                ("pipe", Node::Special),
                ("to_src", link("src")),
                ("src/up", link("../notes.md")),
                ("notes.md", Node::File),
                ("absolute", link("/home/me/project/src/main.rs")),
                ("canonical", link("/data/project/src")),
                ("out", link("../../home/me/secret")),
                ("out_absolute", link("/etc")),
                ("out_and_back", link("../../data/project/src")),
                ("out_late", link("src/inner/../../../x/y")),
                ("round", link("round")),
                ("dangling", link("src/new.rs")),
                ("dangling_up", link("nowhere/../src")),
            ]),
        }
    }

    #[track_caller]
    fn check(given: &str, access: Access, expected: &str) {
        assert_eq!(resolve(&fixture(), given, access).unwrap().as_str(), expected, "{given}");
    }

    #[track_caller]
    fn check_outside(given: &str, cleaned: &str, rel: &str) {
        for access in [Access::Read, Access::Write, Access::List] {
            let error = resolve(&fixture(), given, access).unwrap_err();
            let EnvError::OutsideRoot { path, decision } = error else { panic!("{given}: {error}") };
            assert_eq!((path.as_str(), decision.cleaned.as_str(), decision.rel.as_str()), (given, cleaned, rel));
            assert_eq!(decision.root, "/home/me/project");
        }
    }

    #[test]
    fn paths_inside_are_found() {
        check("src/main.rs", Access::Read, "src/main.rs");
        check("./src//main.rs", Access::Read, "src/main.rs");
        check(".", Access::List, "");
        check("src/../notes.md", Access::Read, "notes.md");
        check("../project/notes.md", Access::Read, "notes.md");
        check("/home/me/project/src", Access::List, "src");
        check("/data/project/src", Access::List, "src");
        check("/etc/../home/me/project", Access::List, "");
        check("nowhere/../notes.md", Access::Read, "notes.md");
    }

    #[test]
    fn links_inside_are_followed() {
        check("to_src/main.rs", Access::Read, "src/main.rs");
        check("src/up", Access::Read, "notes.md");
        check("to_src/up", Access::Read, "notes.md");
        check("absolute", Access::Read, "src/main.rs");
        check("canonical/up", Access::Write, "notes.md");
        check("out_and_back/up", Access::Read, "notes.md");
    }

    #[test]
    fn paths_to_write_need_not_exist() {
        check("new/deep/a.rs", Access::Write, "new/deep/a.rs");
        check("to_src/a.rs", Access::Write, "src/a.rs");
        check("dangling", Access::Write, "src/new.rs");
        check("src/main.rs", Access::Write, "src/main.rs");
    }

    #[test]
    fn paths_that_leave_are_refused_with_the_decision() {
        covers("confinement.path confinement.listing");
        check_outside("..", "/home/me", "..");
        check_outside("../secret", "/home/me/secret", "../secret");
        check_outside("/etc/passwd", "/etc/passwd", "../../../etc/passwd");
        check_outside("/home/me/projects", "/home/me/projects", "../projects");
        check_outside("src/../../x", "/home/me/x", "../x");
        check_outside("out", "/home/me/secret", "../secret");
        check_outside("out/deep", "/home/me/secret/deep", "../secret/deep");
        check_outside("out_absolute/passwd", "/etc/passwd", "../../../etc/passwd");
        check_outside("out_late", "/data/x/y", "../../../data/x/y");
    }

    #[test]
    fn malformed_paths_are_refused() {
        for given in ["", " \t", "a\0b", "src/main.rs/x", "pipe", "round"] {
            let error = resolve(&fixture(), given, Access::Write).unwrap_err();
            assert_eq!(error.code(), crate::error_code::Code::InvalidArgument, "{given:?}: {error}");
        }
    }

    #[test]
    fn missing_paths_bring_suggestions() {
        let suggestions = |given: &str| resolve(&fixture(), given, Access::Read).unwrap_err().suggestions();
        assert_eq!(suggestions("src/mian.rs"), ["main.rs"]);
        assert_eq!(suggestions("scr/main.rs"), ["src"]);
        assert_eq!(suggestions("dangling"), [""; 0]);
        assert!(matches!(resolve(&fixture(), "dangling_up", Access::Write), Err(EnvError::NotFound { .. })));
    }
}
