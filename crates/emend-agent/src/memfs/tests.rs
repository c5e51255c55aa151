//! Tests of what is special about a file system in memory. What it shares with all environments is tested by the
//! conformance suite.

use futures::executor::block_on;

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn paths(files: &MemFs) -> Vec<String> {
    files.paths().iter().map(|path| path.as_str().to_owned()).collect()
}

#[track_caller]
fn check_fixture(fixture: &str, expected: &[(&str, &str)]) {
    let files = MemFs::from_fixture(fixture);
    let found: Vec<(String, String)> = paths(&files)
        .into_iter()
        .map(|path| (path.clone(), String::from_utf8(files.get(&path).unwrap()).unwrap()))
        .collect();
    let expected: Vec<(String, String)> =
        expected.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    assert_eq!(found, expected, "{fixture:?}");
}

#[test]
fn fixtures_become_files() {
    check_fixture("", &[]);
    check_fixture("//- a.rs\nfn main() {}\n//- b/c.md\nhello\n", &[("a.rs", "fn main() {}\n"), ("b/c.md", "hello\n")]);
    check_fixture("//- a\nno end", &[("a", "no end")]);
    check_fixture("//- a\n//- b\n\n//- c\n\n\n", &[("a", ""), ("b", "\n"), ("c", "\n\n")]);
    check_fixture("//- b\nx\n//- a\nx\n", &[("a", "x\n"), ("b", "x\n")]);
    check_fixture("not in a file\n//- a\nx\n//- ../out\ny\n", &[("a", "x\n")]);
    check_fixture("//- a\r\nx\r\n", &[("a", "x\r\n")]);
    let files = MemFs::from_fixture("//- a/b\nx\n//- link -> a/b\n");
    assert_eq!(files.get("link").as_deref(), Some(&b"x\n"[..]));
    assert_eq!(paths(&files), ["a/b"]);
}

#[test]
fn forks_do_not_see_each_others_changes() {
    let files = MemFs::from_fixture("//- a/b\n1\n//- a/c\n2\n");
    let fork = files.fork();
    fork.insert("a/b", "changed").unwrap();
    fork.insert("new/d", "3").unwrap();
    assert!(fork.delete("a/c"));
    files.insert("a/e", "4").unwrap();
    assert_eq!(paths(&files), ["a/b", "a/c", "a/e"]);
    assert_eq!(paths(&fork), ["a/b", "new/d"]);
    assert_eq!(files.get("a/b").as_deref(), Some(&b"1\n"[..]));
}

#[test]
fn a_fork_shares_what_does_not_change() {
    let files = MemFs::from_fixture("//- a/b\n1\n//- c/d\n2\n");
    let fork = files.fork();
    fork.insert("a/b", "changed").unwrap();
    let shared = |path: &str| {
        let path = FilePath::clean(path).unwrap();
        match (files.find(&path), fork.find(&path)) {
            (Some(Entry::Directory(a)), Some(Entry::Directory(b))) => Shared::ptr_eq(&a, &b),
            other => panic!("{other:?}"),
        }
    };
    assert!(shared("c") && !shared("a"));
}

#[test]
fn entries_are_deleted_by_their_own_name() {
    let files = MemFs::from_fixture("//- a/b\n1\n//- a/c/d\n2\n//- link -> a/b\n");
    assert!(files.delete("link") && files.get("link").is_none() && files.get("a/b").is_some());
    assert!(files.delete("a/c") && !files.delete("a/c") && !files.delete("../x") && !files.delete(""));
    assert_eq!(paths(&files), ["a/b"]);
}

#[test]
fn nothing_is_put_below_a_file_or_over_a_directory() {
    let files = MemFs::from_fixture("//- a/b\n1\n");
    let code = |result: Result<(), EnvError>| result.unwrap_err().code().as_str();
    assert_eq!(code(files.insert("a", "x")), "invalid_argument");
    assert_eq!(code(files.insert("a/b/c", "x")), "invalid_argument");
    assert_eq!(code(files.insert("", "x")), "invalid_argument");
    assert_eq!(code(files.insert(".", "x")), "invalid_argument");
    assert_eq!(code(files.insert("../x", "x")), "permission_denied");
    assert_eq!(code(files.insert_link("a/b", "x")), "invalid_argument");
    assert_eq!(code(files.insert_directory("a/b")), "invalid_argument");
    // Paths that were never resolved are refused too.
    let below = FilePath::clean("a/b/c").unwrap();
    assert_eq!(code(block_on(files.write(&below, b"x"))), "invalid_argument");
    assert_eq!(paths(&files), ["a/b"]);
    files.insert_directory("a/new").unwrap();
    files.insert_directory("a").unwrap();
}

struct Now(u64);

impl Clock for Now {
    fn now_ms(&self) -> u64 {
        self.0
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(ready(()))
    }
}

#[test]
fn times_are_those_of_the_clock_or_count_changes() {
    let modified = |files: &MemFs, path: &str| {
        let path = FilePath::clean(path).unwrap();
        block_on(files.metadata(&path)).unwrap().unwrap().modified_ms
    };
    let files = MemFs::from_fixture("//- a/b\n1\n//- c\n2\n");
    assert!(modified(&files, "a/b") < modified(&files, "c"));
    files.insert("a/b", "2").unwrap();
    assert!(modified(&files, "a/b") > modified(&files, "c"));
    assert_eq!(modified(&files, "a/b"), modified(&files, "a"));
    let files = MemFs::new().with_clock(Shared::new(Now(1_700_000_000_000)));
    files.insert("a", "").unwrap();
    assert_eq!(modified(&files, "a"), 1_700_000_000_000);
}

#[test]
fn the_root_can_be_named() {
    let files = MemFs::from_fixture("//- a\n1\n").with_root("/home/me/notes");
    assert_eq!(files.working_directory(), "/home/me/notes");
    assert!(files.get("/home/me/notes/a").is_some() && files.get("/workspace/a").is_none());
    let files = files.with_root("/");
    assert!(files.get("/a").is_some());
}
