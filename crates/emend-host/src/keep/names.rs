//! Names that are not UTF-8 as texts, and the paths of repositories.
//!
//! Paths are texts everywhere, but a file system permits any bytes. The keeper writes a byte that is not UTF-8 as one
//! character of a private range, so that it can keep and restore such files. Outside the keeper, they are named with
//! escapes, such as `caf\xe9.txt`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStringExt as _;

use emend_agent::environment::FilePath;

/// The character for byte 0. A byte that is not UTF-8 is 0x80 at least, so a name never gains a slash or a dot.
const BYTES: u32 = 0x0010_fe00;

/// Returns the text for a name. A name that holds characters of the private range is written byte by byte, so that no
/// two names have the same text.
pub(crate) fn text_of(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for char in chunk.valid().chars() {
            match byte_of(char) {
                None => text.push(char),
                Some(_) => char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| text.push(char_of(byte))),
            }
        }
        chunk.invalid().iter().for_each(|&byte| text.push(char_of(byte)));
    }
    text
}

/// Returns the name or path with this text as the system needs it; the root is `.`.
pub(super) fn on_disk(text: &str) -> Cow<'_, OsStr> {
    if text.is_empty() {
        return Cow::Borrowed(OsStr::new("."));
    }
    if !text.chars().any(|char| byte_of(char).is_some()) {
        return Cow::Borrowed(OsStr::new(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match byte_of(char) {
            None => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Some(byte) => bytes.push(byte),
        }
    }
    Cow::Owned(std::ffi::OsString::from_vec(bytes))
}

/// Returns whether other parts of the program can open this path.
pub(super) fn is_text(path: &FilePath) -> bool {
    path.as_str().chars().all(|char| byte_of(char).is_none())
}

/// The most files of repositories that are named one by one when they are left alone.
const LEFT_MAX: usize = 3;

/// Returns a path as it is named outside the keeper. Most of a repository is named as a whole.
pub(super) fn shown(path: &FilePath) -> FilePath {
    let named = match repository(path) {
        Some((directory, _)) if !is_named_alone(path) => directory,
        _ => path.as_str(),
    };
    escaped(named).unwrap_or_else(|| path.clone())
}

/// Returns a name with its odd bytes escaped.
fn escaped(named: &str) -> Option<FilePath> {
    let mut text = String::with_capacity(named.len());
    for char in named.chars() {
        match byte_of(char) {
            None => text.push(char),
            Some(byte) => text.extend(byte.escape_ascii().map(char::from)),
        }
    }
    FilePath::clean(&text)
}

/// Returns paths that were left alone as they are named outside the keeper, each once: a few files of repositories by their
/// own names, because the user has to know which part of a repository is another one now.
pub(super) fn left_shown<'a>(paths: impl Iterator<Item = &'a FilePath> + Clone) -> BTreeSet<FilePath> {
    let is_file = |path: &&FilePath| repository(path).is_some_and(|(_, inner)| !inner.is_empty());
    if paths.clone().filter(is_file).count() > LEFT_MAX {
        return all_shown(paths);
    }
    paths.map(|path| escaped(path.as_str()).unwrap_or_else(|| path.clone())).collect()
}

/// Returns paths as they are named outside the keeper, each once.
pub(super) fn all_shown<'a>(paths: impl IntoIterator<Item = &'a FilePath>) -> BTreeSet<FilePath> {
    let paths: Vec<&FilePath> = paths.into_iter().collect();
    // A repository that was made or removed whole stands for its configuration.
    let is_whole = |path: &&&FilePath| repository(path).is_some_and(|(_, inner)| inner.is_empty());
    let whole: BTreeSet<&str> = paths.iter().filter(is_whole).map(|path| path.as_str()).collect();
    let named = |path: &&FilePath| match repository(path) {
        Some((directory, _)) if whole.contains(directory) => FilePath::clean(directory).map(|top| shown(&top)),
        _ => None,
    };
    paths.iter().map(|path| named(path).unwrap_or_else(|| shown(path))).collect()
}

/// Returns the `.git` of a path in a repository's directory, or of that directory, and the path in it.
pub(super) fn repository(path: &FilePath) -> Option<(&str, &str)> {
    let path = path.as_str();
    let mut at = 0;
    for name in path.split('/') {
        let end = at + name.len();
        if name == ".git" {
            return Some((path.get(..end)?, path.get(end + 1..).unwrap_or_default()));
        }
        at = end + 1;
    }
    None
}

/// Returns whether a path is named itself: in a repository, what decides which programs run or how they behave.
pub(super) fn is_named_alone(path: &FilePath) -> bool {
    repository(path).is_none_or(|(_, inner)| {
        let is_settings = matches!(inner, "config" | "config.worktree");
        is_settings || inner.starts_with("hooks/") || inner.starts_with("info/")
    })
}

/// Returns whether a path is an object of a repository, or the directory of the objects. Objects never change, and
/// nothing shows whether a later commit of the user needs them.
pub(super) fn is_object(path: &FilePath) -> bool {
    let mut names = repository(path).map_or("", |(_, inner)| inner).split('/');
    names.any(|name| matches!(name, "objects" | "lfs" | "annex"))
}

/// Returns whether a path says what a branch is, or which one is checked out.
pub(super) fn is_branch(path: &FilePath) -> bool {
    repository(path)
        .is_some_and(|(_, inner)| matches!(inner, "HEAD" | "packed-refs") || inner.starts_with("refs/heads/"))
}

/// Returns whether a path in a repository also changes when programs only look at it: the index, as `git status` writes
/// it, and notes of the last operation.
pub(super) fn is_note(path: &FilePath) -> bool {
    let Some((_, inner)) = repository(path) else { return false };
    let names = ["index", "FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "gc.log", "logs"];
    names.contains(&inner) || inner.starts_with("logs/")
}

/// Returns whether a path is the index of a repository, or of a submodule or work tree of it.
pub(super) fn is_index(path: &FilePath) -> bool {
    repository(path).is_some_and(|(_, inner)| inner == "index" || inner.ends_with("/index"))
}

fn char_of(byte: u8) -> char {
    char::from_u32(BYTES + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte_of(char: char) -> Option<u8> {
    u32::from(char).checked_sub(BYTES).and_then(|byte| u8::try_from(byte).ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn every_name_has_a_text_of_its_own() {
        for (name, expected) in [
            (&b"caf\xe9.txt"[..], "caf\\xe9.txt"),
            (b"plain", "plain"),
            ("gr\u{fc}n".as_bytes(), "gr\u{fc}n"),
            (b"\xff\xfe", "\\xff\\xfe"),
            ("\u{10fee9}".as_bytes(), "\\xf4\\x8f\\xbb\\xa9"),
        ] {
            let text = text_of(name);
            assert_eq!(on_disk(&text).as_bytes(), name, "{expected}");
            assert_eq!(shown(&FilePath::root().join(&text)).as_str(), expected);
        }
        assert_ne!(text_of(b"\xe9"), text_of("\u{10fee9}".as_bytes()));
    }

    #[test]
    fn paths_in_repositories_are_told_apart() {
        for (path, expected) in [
            ("a/b", "a/b"),
            (".git", ".git"),
            (".git/HEAD", ".git"),
            ("sub/.git/refs/heads/main", "sub/.git"),
            (".git/hooks/pre-commit", ".git/hooks/pre-commit"),
            (".git/config", ".git/config"),
            (".github/x", ".github/x"),
            ("a.git/x", "a.git/x"),
        ] {
            assert_eq!(shown(&FilePath::clean(path).unwrap()).as_str(), expected);
        }
        let is = |test: fn(&FilePath) -> bool, path: &str| test(&FilePath::clean(path).unwrap());
        assert!(is(is_object, ".git/objects/ab/cd") && is(is_object, "s/.git/modules/x/objects/ab"));
        assert!(!is(is_object, "objects/ab") && !is(is_object, ".git/refs/heads/objects-b"));
        assert!(is(is_branch, ".git/refs/heads/x/y") && !is(is_branch, ".git/refs/tags/x"));
        assert!(is(is_note, ".git/index") && is(is_note, ".git/logs/HEAD") && !is(is_note, ".git/config"));
    }
}
