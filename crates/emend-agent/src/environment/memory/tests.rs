//! Tests of the properties of the file system in memory only. The conformance suite tests those of all environments.

use futures::executor::block_on;

use super::*;
use crate::approval::{Action, Policy, Rule};
use crate::environment::ExecutionEnvironment as _;
use crate::test_support::{Standstill, covers};
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
fn files_are_taken_over_whole_or_refused() {
    let files = MemFs::from_fixture("//- a/b\n1\n//- a/c\n2\n");
    let other = MemFs::from_fixture("//- old\nx\n");
    other.adopt(&files).unwrap();
    other.insert("a/d", "3").unwrap();
    files.insert("a/b", "changed").unwrap();
    assert_eq!(paths(&files), ["a/b", "a/c"]);
    assert_eq!(paths(&other), ["a/b", "a/c", "a/d"]);
    assert_eq!(other.get("a/b").as_deref(), Some(&b"1\n"[..]));
    // The handle that the shell gets does not block other handles.
    other.adopt(&other.handle()).unwrap();
    assert_eq!(paths(&other), ["a/b", "a/c", "a/d"]);

    let small = MemFs::new().with_quota(Quota { bytes: Some(4), files: None });
    small.insert("kept", "1").unwrap();
    let refused = small.adopt(&other).unwrap_err();
    assert_eq!(refused.to_string(), ".: this would be more than the 4 bytes that may be held here");
    assert_eq!(paths(&small), ["kept"]);
    // Adopted content counts against the quota.
    let roomy = MemFs::new().with_quota(Quota { bytes: Some(6), files: None });
    roomy.adopt(&other).unwrap();
    assert!(roomy.insert("more", "12").is_err() && roomy.insert("more", "1").is_ok());
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
fn a_walk_is_in_the_order_of_paths() {
    let files = MemFs::from_fixture("//- a/b/c\nx\n//- a/b.c\nx\n//- a-b\nx\n//- a.b/c\nx\n//- a0\nx\n//- ab\nx\n");
    files.insert_directory("a!").unwrap();
    files.insert_directory("none/below").unwrap();
    let found = block_on(files.glob(&FilePath::root(), "**")).unwrap();
    let found: Vec<&str> = found.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(found, ["a-b", "a.b/c", "a/b.c", "a/b/c", "a0", "ab"]);
    assert_eq!(paths(&files), found);
}

#[test]
fn everything_is_shown_with_directories_that_hold_nothing() {
    let files = MemFs::from_fixture("//- a/b\nx\n//- .git/c\ny\n//- link -> a/b\n");
    files.insert_directory("a/none/below").unwrap();
    let mut shown = Vec::new();
    files.visit(&mut |path, content| shown.push((path.to_string(), content.map(<[u8]>::to_vec))));
    shown.sort();
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    let expected = [(".git/c", bytes("y\n")), ("a/b", bytes("x\n")), ("a/none/below", None)];
    assert_eq!(shown, expected.map(|(path, content)| (path.to_owned(), content)));
    MemFs::new().visit(&mut |path, _| panic!("{path}"));
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
    // Unresolved paths are rejected too.
    let below = FilePath::clean("a/b/c").unwrap();
    assert_eq!(code(block_on(files.write(&below, b"x"))), "invalid_argument");
    assert_eq!(paths(&files), ["a/b"]);
    files.insert_directory("a/new").unwrap();
    files.insert_directory("a").unwrap();
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
    let files = MemFs::new().with_clock(Shared::new(Standstill(1_700_000_000_000)));
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

fn path(path: &str) -> FilePath {
    FilePath::clean(path).unwrap()
}

#[test]
fn a_fork_takes_as_many_steps_whatever_there_is() {
    // Checked by sharing, not by time, which says nothing on a busy machine.
    for n_files in [1, 10_000] {
        let files = MemFs::new();
        for number in 0..n_files {
            files.insert(&format!("{}/{number}.txt", number % 100), "x").unwrap();
        }
        let fork = files.fork();
        assert!(Shared::ptr_eq(&files.top(), &fork.top()));
        fork.insert("0/new.txt", "x").unwrap();
        let shared = (1..100).filter(|number| {
            match (files.find(&path(&number.to_string())), fork.find(&path(&number.to_string()))) {
                (Some(Entry::Directory(a)), Some(Entry::Directory(b))) => Shared::ptr_eq(&a, &b),
                (a, b) => a.is_none() && b.is_none(),
            }
        });
        assert_eq!(shared.count(), 99, "only the way to what changed is copied");
    }
}

#[test]
fn a_quota_holds_and_names_itself() {
    let files = MemFs::new().with_quota(Quota { bytes: Some(10), files: Some(3) });
    files.insert("a", "12345").unwrap();
    files.insert("d/b", "12345").unwrap();
    let refused = files.insert("c", "1").unwrap_err();
    assert_eq!(refused.code().as_str(), "limit_reached");
    assert_eq!(refused.to_string(), "c: this would be more than the 10 bytes that may be held here");
    assert_eq!(files.get("c"), None);
    // Replaced by shorter content, and after a removal.
    files.insert("a", "54321").unwrap();
    files.insert("a", "1").unwrap();
    files.insert_link("link", "a").unwrap();
    let refused = files.insert("e", "").unwrap_err();
    assert_eq!(refused.to_string(), "e: this would be more than the 3 files that may be held here");
    assert!(files.delete("d"));
    files.insert("e", "123456789").unwrap();
    assert!(files.insert("f", "").is_err());
    // A fork starts with the same usage and counts separately.
    let fork = files.fork();
    assert!(fork.insert("g", "").is_err() && fork.delete("e"));
    fork.insert("g", "123456789").unwrap();
    assert!(files.insert("g", "").is_err());
    // A move needs no space.
    files.raw_rename(&path("e"), &path("h")).unwrap();
    assert_eq!(files.get("h").as_deref(), Some(&b"123456789"[..]));
}

#[test]
fn files_above_a_quota_may_shrink_but_not_grow() {
    let files = MemFs::from_fixture("//- a\n123456789\n//- b\n12345\n");
    let files = files.with_quota(Quota { bytes: Some(10), files: Some(1) });
    let limit = |outcome: Result<(), EnvError>| outcome.map_err(|error| error.code().as_str());
    assert_eq!(limit(files.insert("b", "1234567")), Err("limit_reached"));
    assert_eq!(limit(files.insert("c", "")), Err("limit_reached"));
    assert_eq!(limit(files.insert("a", "12345678")), Ok(()), "14 bytes are still too many, but fewer than before");
    assert_eq!(limit(files.insert("a", "87654321")), Ok(()), "as many as before");
    assert_eq!(limit(files.insert("a", "123456789")), Err("limit_reached"));
    assert!(files.delete("b"));
    assert_eq!(limit(files.insert("a", "1234567890")), Ok(()));
    assert_eq!(limit(files.insert("a", "12345678901")), Err("limit_reached"));
}

#[track_caller]
fn check_rename(from: &str, to: &str, expected: Result<&[&str], &str>) {
    let files = MemFs::from_fixture("//- a\n1\n//- d/b\n2\n//- d/deep/c\n3\n//- e\n4\n//- link -> a\n");
    files.insert_directory("empty").unwrap();
    let before = paths(&files);
    let found = match files.raw_rename(&path(from), &path(to)) {
        Ok(()) => Ok(paths(&files)),
        Err(error) => {
            assert_eq!(paths(&files), before, "nothing changed");
            Err(error.code().as_str())
        }
    };
    let expected = expected.map(|paths| paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>());
    assert_eq!(found, expected, "{from} to {to}");
}

#[test]
fn entries_move_with_all_they_hold() {
    check_rename("a", "x", Ok(&["d/b", "d/deep/c", "e", "x"]));
    check_rename("a", "e", Ok(&["d/b", "d/deep/c", "e"]));
    check_rename("a", "d/b", Ok(&["d/b", "d/deep/c", "e"]));
    check_rename("d", "empty", Ok(&["a", "e", "empty/b", "empty/deep/c"]));
    check_rename("d/deep", "moved", Ok(&["a", "d/b", "e", "moved/c"]));
    check_rename("a", "a", Ok(&["a", "d/b", "d/deep/c", "e"]));
    check_rename("a", "d", Err("invalid_argument"));
    check_rename("d", "a", Err("invalid_argument"));
    check_rename("empty", "d", Err("invalid_argument"));
    check_rename("d", "d/deep/e", Err("invalid_argument"));
    check_rename("a", "missing/x", Err("invalid_argument"));
    check_rename("a", "e/x", Err("invalid_argument"));
    check_rename("missing", "x", Err("not_found"));
    check_rename("", "x", Err("invalid_argument"));
}

#[test]
fn raw_entries_are_the_links_themselves() {
    let files = MemFs::from_fixture("//- a\n12\n//- .git/config\nx\n//- link -> a\n");
    let entry = |name: &str| files.raw_entry(&path(name)).map(|entry| (entry.node, entry.size));
    assert_eq!(entry("link"), Some((Node::Link("a".to_owned()), 1)));
    assert_eq!(entry("a"), Some((Node::File, 3)));
    assert_eq!(entry("link/x"), None);
    let names: Vec<String> = files.raw_entries(&FilePath::root()).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [".git", "a", "link"]);
    files.raw_make(&path("new"), None).unwrap();
    files.raw_make(&path("new/link"), Some("../a")).unwrap();
    assert_eq!(files.get("new/link").as_deref(), Some(&b"12\n"[..]));
    for (what, code) in [
        (files.raw_make(&path("link"), None), "invalid_argument"),
        (files.raw_remove(&path("new"), false), "invalid_argument"),
        (files.raw_remove(&path("missing"), true), "not_found"),
        (files.raw_entries(&path("a")).map(drop), "invalid_argument"),
    ] {
        assert_eq!(what.unwrap_err().code().as_str(), code);
    }
    files.raw_remove(&path("link"), false).unwrap();
    files.raw_remove(&path("new"), true).unwrap();
    files.raw_remove(&FilePath::root(), true).unwrap();
    assert_eq!(paths(&files), Vec::<String>::new());
}

#[test]
fn a_manifest_tells_every_write_apart_and_names_hidden_files() {
    let files = MemFs::from_fixture("//- a\n1\n//- .env\nx\n//- .git/config\nx\n//- .gitignore\nout\n//- out/x\nx\n");
    let stamps = || block_on(files.manifest()).unwrap();
    let before = stamps();
    let named: Vec<&str> = before.iter().map(|stamp| stamp.path.as_str()).collect();
    assert_eq!(named, [".env", ".gitignore", "a"]);
    files.insert("a", "2\n").unwrap();
    assert_ne!(stamps()[2], before[2]);
    assert_eq!(stamps()[..2], before[..2]);
}

#[test]
fn a_view_for_commands_has_no_hidden_path() {
    covers("approval.hidden");
    let rule = Rule::parse(Action::Deny, "*:secrets/**").unwrap();
    let hidden = Policy { rules: vec![rule], otherwise: Action::Allow }.hidden("read_file");
    let files = MemFs::from_fixture("//- secrets/key\nhunter2\n//- a.txt\na\n//- link -> secrets/key\n");
    let view = MemFs { hidden, ..files.handle() };
    let path = |path: &str| FilePath::clean(path).unwrap();
    let key = path("secrets/key");
    assert_eq!(view.raw_entry(&key), None);
    assert_eq!(view.raw_entries(&path("secrets")).unwrap(), []);
    assert_eq!(block_on(view.read(&key)).unwrap_err().code().as_str(), "not_found");
    for (operation, refused) in [
        ("write", block_on(view.write(&path("secrets/new"), b"x"))),
        ("make", view.raw_make(&path("secrets/new"), None)),
        ("remove", view.raw_remove(&path("secrets"), true)),
        ("remove all", view.raw_remove(&FilePath::root(), true)),
        ("move the directory", view.raw_rename(&path("secrets"), &path("public"))),
        ("move into", view.raw_rename(&path("a.txt"), &path("secrets/a.txt"))),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.code().as_str(), "permission_denied", "{operation}");
        assert!(!error.to_string().contains("key"), "{operation}: {error}");
    }
    let below = files.handle();
    below.raw_make(&path("top"), None).unwrap();
    below.raw_rename(&path("secrets"), &path("top/secrets")).unwrap();
    let rule = Rule::parse(Action::Deny, "*:top/secrets/**").unwrap();
    let hidden = Policy { rules: vec![rule], otherwise: Action::Allow }.hidden("read_file");
    let error = MemFs { hidden, ..files.handle() }.raw_remove(&path("top"), true).unwrap_err();
    assert_eq!(error.to_string(), "top: the user's rules hide paths in it");
    below.raw_rename(&path("top/secrets"), &path("secrets")).unwrap();
    below.raw_remove(&path("top"), true).unwrap();
    assert_eq!(paths(&files), ["a.txt", "secrets/key"]);
    // Other operations work, and the files themselves hide nothing.
    view.raw_rename(&path("a.txt"), &path("b.txt")).unwrap();
    assert_eq!(files.get("secrets/key").as_deref(), Some(&b"hunter2\n"[..]));
}
