//! Cases for reading, writing, listing and searching.

use super::{Outcome, expect, expect_code, glob, grep, list, names, own, query, read, resolve, succeed, write};
use crate::environment::{Access, EntryKind, ExecutionEnvironment, FileChange, FilePath};

pub(super) async fn names_itself(environment: &dyn ExecutionEnvironment) -> Outcome {
    let platforms = ["linux", "darwin", "windows", "wasm"];
    expect("platform is a known one", platforms.contains(&environment.platform()), true)?;
    expect("os_version is empty", environment.os_version().is_empty(), false)?;
    let root = environment.working_directory();
    expect("working_directory leads to the root", resolve(environment, &root, Access::List).await?.is_root(), true)
}

pub(super) async fn reads_bytes_as_they_are(environment: &dyn ExecutionEnvironment) -> Outcome {
    for (path, content) in [
        ("README.md", "# Project\n\nA needle in the readme.\n"),
        ("src/lib.rs", "pub fn crlf() {}\r\n// needle\r\n"),
        ("src/old.rs", "old\rneedle\rmac\r\n"),
        ("data/blob.bin", "needle\0needle\n"),
        ("data/empty.txt", ""),
        ("data/no-end.txt", "needle"),
        ("data/schön 文.txt", "Nädle\n"),
    ] {
        expect(format!("content of {path}"), read(environment, path).await?, content.as_bytes().to_vec())?;
    }
    Ok(())
}

pub(super) async fn reads_no_directories(environment: &dyn ExecutionEnvironment) -> Outcome {
    for path in [".", "src", "links/directory"] {
        let path = resolve(environment, path, Access::Read).await?;
        expect_code(format!("read {path}"), environment.read(&path).await, "invalid_argument")?;
    }
    let missing = FilePath::root().join("missing.txt");
    expect_code("read a missing file", environment.read(&missing).await, "not_found")?;
    let missing = FilePath::root().join("missing").join("file.txt");
    expect_code("read below a missing directory", environment.read(&missing).await, "not_found")
}

pub(super) async fn knows_what_paths_are(environment: &dyn ExecutionEnvironment) -> Outcome {
    for (path, expected) in [
        ("", Some((EntryKind::Directory, 0))),
        ("src", Some((EntryKind::Directory, 0))),
        ("src/lib.rs", Some((EntryKind::File, 29))),
        ("data/empty.txt", Some((EntryKind::File, 0))),
        ("links/inner", Some((EntryKind::File, 58))),
        ("links/absolute", Some((EntryKind::Directory, 0))),
        ("links/etc", None),
        ("links/gone", None),
        ("links/loop", None),
        ("missing", None),
        ("missing/below", None),
        ("src/lib.rs/below", None),
    ] {
        let path = FilePath::clean(path).unwrap_or_default();
        let found = succeed(format!("metadata of {path}"), environment.metadata(&path).await)?;
        let found = found.map(|metadata| (metadata.kind, metadata.size));
        expect(format!("metadata of {path}"), found, expected)?;
    }
    Ok(())
}

pub(super) async fn writes_and_creates_parents(environment: &dyn ExecutionEnvironment) -> Outcome {
    for (path, content) in [
        ("README.md", &b"new"[..]),
        ("README.md", b""),
        ("new.txt", b"\xff\x00\r\n"),
        ("new/deep/er/file.txt", b"x"),
        ("src/../beside.txt", b"y"),
        ("data/schön neu.txt", "ü".as_bytes()),
    ] {
        write(environment, path, content).await?;
        expect(format!("content of {path}"), read(environment, path).await?, content.to_vec())?;
    }
    let big = vec![b'x'; 3 << 20];
    write(environment, "big.txt", &big).await?;
    expect("content of a large file", read(environment, "big.txt").await? == big, true)?;
    // No temporary file is left behind.
    let found = succeed("list", environment.list(&FilePath::root().join("new"), 9).await)?;
    expect("what stands below new", names(&found), own(&["new/deep", "new/deep/er", "new/deep/er/file.txt"]))
}

pub(super) async fn writes_through_links(environment: &dyn ExecutionEnvironment) -> Outcome {
    for (link, target) in [
        ("links/inner", "src/main.rs"),
        ("links/chain", "src/main.rs"),
        ("links/directory/lib.rs", "src/lib.rs"),
        ("links/absolute/made/by.rs", "src/made/by.rs"),
        ("links/new", "src/new.rs"),
    ] {
        write(environment, link, link.as_bytes()).await?;
        for path in [link, target] {
            expect(format!("content of {path}"), read(environment, path).await?, link.as_bytes().to_vec())?;
        }
        let leads_to = resolve(environment, link, Access::Write).await?;
        expect(format!("{link} still leads to"), leads_to.as_str(), target)?;
    }
    Ok(())
}

pub(super) async fn writes_only_files(environment: &dyn ExecutionEnvironment) -> Outcome {
    for path in ["", "src", "README.md/below", "README.md/below/deeper"] {
        let path = FilePath::clean(path).unwrap_or_default();
        expect_code(format!("write {path}"), environment.write(&path, b"x").await, "invalid_argument")?;
    }
    expect("README.md is as before", read(environment, "README.md").await?.len(), 35)
}

pub(super) async fn removes_only_files(environment: &dyn ExecutionEnvironment) -> Outcome {
    for path in ["README.md", "src/deep/er/generated.rs", "links/inner"] {
        let path = resolve(environment, path, Access::Write).await?;
        succeed(format!("remove {path}"), environment.remove(&path).await)?;
        expect(format!("metadata of {path}"), environment.metadata(&path).await, Ok(None))?;
        expect_code(format!("remove {path} again"), environment.remove(&path).await, "not_found")?;
    }
    for path in ["", "src", "src/deep/er"] {
        let path = FilePath::clean(path).unwrap_or_default();
        expect_code(format!("remove {path}"), environment.remove(&path).await, "invalid_argument")?;
    }
    expect("a directory stays when its last file goes", glob(environment, "src/deep/er", "*").await?, Vec::new())
}

pub(super) fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        path: FilePath::clean(path).unwrap_or_default(),
        before: before.map(|text| text.as_bytes().to_vec()),
        after: after.map(|text| text.as_bytes().to_vec()),
        mode_of: None,
        executable: None,
        over_read_only: false,
    }
}

pub(super) async fn reads_what_may_not_exist(environment: &dyn ExecutionEnvironment) -> Outcome {
    for (path, content) in [
        ("data/no-end.txt", Some("needle")),
        ("data/empty.txt", Some("")),
        ("data/missing.txt", None),
        ("missing/missing.txt", None),
    ] {
        let found = environment.read_existing(&FilePath::clean(path).unwrap_or_default()).await;
        let expected = content.map(|text| text.as_bytes().to_vec());
        expect(format!("content of {path}"), succeed("read_existing", found)?, expected)?;
    }
    let directory = FilePath::root().join("data");
    expect_code("read_existing of a directory", environment.read_existing(&directory).await, "invalid_argument")
}

pub(super) async fn changes_all_files_or_none(environment: &dyn ExecutionEnvironment) -> Outcome {
    let before = list(environment, "data", 9).await?;
    let good = [
        change("data/no-end.txt", Some("needle"), Some("thread")),
        change("fresh/deep/new.txt", None, Some("new")),
        change("data/empty.txt", Some(""), None),
    ];
    for (bad, code) in [
        (change("README.md", Some("something else"), Some("x")), "stale"),
        (change("README.md", None, Some("x")), "stale"),
        (change("missing.txt", Some("x"), Some("y")), "stale"),
        (change("missing.txt", Some("x"), None), "stale"),
        (change("data", None, Some("x")), "invalid_argument"),
        (change("README.md/below", None, Some("x")), "invalid_argument"),
    ] {
        let what = format!("change of {} beside others", bad.path);
        let changes: Vec<FileChange> = good.iter().cloned().chain([bad]).collect();
        expect_code(&what, environment.change(&changes).await, code)?;
        expect(format!("files after a refused {what}"), list(environment, "data", 9).await?, before.clone())?;
        let new = succeed("metadata", environment.metadata(&good[1].path).await)?;
        expect(format!("a new file after a refused {what}"), new.is_some(), false)?;
        expect(
            format!("content after a refused {what}"),
            read(environment, "data/no-end.txt").await?,
            b"needle".to_vec(),
        )?;
    }
    succeed("change of three files", environment.change(&good).await)?;
    expect("the changed file", read(environment, "data/no-end.txt").await?, b"thread".to_vec())?;
    expect("the new file", read(environment, "fresh/deep/new.txt").await?, b"new".to_vec())?;
    let removed = succeed("metadata", environment.metadata(&good[2].path).await)?;
    expect("the removed file", removed.is_some(), false)?;
    succeed("a change of nothing", environment.change(&[]).await)
}

pub(super) async fn lists_sorted_to_a_depth(environment: &dyn ExecutionEnvironment) -> Outcome {
    let top = [
        ".env 7",
        ".github/",
        ".gitignore 21",
        "Makefile 13",
        "README.md 35",
        "a/",
        "a-b/",
        "build/",
        "data/",
        "links/",
        "src/",
        "vendor/",
    ];
    expect("list . 1", list(environment, ".", 1).await?, own(&top))?;
    expect("list . 0", list(environment, ".", 0).await?, Vec::new())?;
    let two = [
        "src/.gitignore 24",
        "src/debug.log 7",
        "src/deep/",
        "src/deep/er/",
        "src/generated.rs 7",
        "src/keep.log 7",
        "src/lib.rs 29",
        "src/main.rs 58",
        "src/old.rs 16",
    ];
    expect("list src 2", list(environment, "src", 2).await?, own(&two))?;
    expect("list through a link", list(environment, "links/absolute", 2).await?, own(&two))?;
    // Links count as their targets and are not descended into; broken links and links to the outside are left out.
    let links =
        ["links/absolute/", "links/chain 58", "links/directory/", "links/hidden 7", "links/inner 58", "links/up/"];
    expect("list links 3", list(environment, "links", 3).await?, own(&links))
}

pub(super) async fn lists_only_directories(environment: &dyn ExecutionEnvironment) -> Outcome {
    let file = FilePath::root().join("README.md");
    expect_code("list a file", environment.list(&file, 1).await, "invalid_argument")?;
    let missing = FilePath::root().join("missing");
    expect_code("list a missing directory", environment.list(&missing, 1).await, "not_found")
}

pub(super) async fn globs_what_a_walk_finds(environment: &dyn ExecutionEnvironment) -> Outcome {
    let every = [
        "Makefile",
        "README.md",
        "a-b/c.txt",
        "a/c.txt",
        "data/blob.bin",
        "data/empty.txt",
        "data/no-end.txt",
        "data/schön 文.txt",
        "src/deep/er/generated.rs",
        "src/keep.log",
        "src/lib.rs",
        "src/main.rs",
        "src/old.rs",
    ];
    for (pattern, expected) in [
        ("**", &every[..]),
        ("**/*.rs", &["src/deep/er/generated.rs", "src/lib.rs", "src/main.rs", "src/old.rs"]),
        ("*.md", &["README.md"]),
        ("{a,a-b}/*", &["a-b/c.txt", "a/c.txt"]),
        ("data/sch?n ?.txt", &["data/schön 文.txt"]),
        ("src/[l-m]*.rs", &["src/lib.rs", "src/main.rs"]),
        ("**/.env", &[]),
        (".github/*", &[]),
        ("build/*", &[]),
        ("links/*", &[]),
        ("src", &[]),
    ] {
        expect(format!("glob {pattern}"), glob(environment, ".", pattern).await?, own(expected))?;
    }
    expect_code("a malformed glob", environment.glob(&FilePath::root(), "a[").await, "invalid_argument")?;
    expect_code("its paths", environment.glob_paths(&FilePath::root(), "a[").await, "invalid_argument")
}

pub(super) async fn globs_from_anywhere(environment: &dyn ExecutionEnvironment) -> Outcome {
    for (path, pattern, expected) in [
        ("src", "*.rs", &["src/lib.rs", "src/main.rs", "src/old.rs"][..]),
        ("links/directory", "*.rs", &["src/lib.rs", "src/main.rs", "src/old.rs"]),
        ("src/deep", "**", &["src/deep/er/generated.rs"]),
        // A named start is walked even if it is ignored.
        ("build", "*", &["build/out.rs"]),
        (".github", "*", &[".github/ci.yml"]),
        ("src/debug.log", "*", &["src/debug.log"]),
        ("src/main.rs", "*.rs", &["src/main.rs"]),
        ("src/main.rs", "*.md", &[]),
    ] {
        expect(format!("glob {pattern} in {path}"), glob(environment, path, pattern).await?, own(expected))?;
    }
    let missing = FilePath::root().join("missing");
    expect_code("glob in a missing directory", environment.glob(&missing, "*").await, "not_found")?;
    expect_code("paths in a missing directory", environment.glob_paths(&missing, "*").await, "not_found")
}

pub(super) async fn greps_lines_with_their_numbers(environment: &dyn ExecutionEnvironment) -> Outcome {
    let every = [
        "Makefile:2:\tneedle",
        "README.md:3:A needle in the readme.",
        "a-b/c.txt:1:needle",
        "a/c.txt:1:needle",
        "data/no-end.txt:1:needle",
        "src/deep/er/generated.rs:1:a needle, far down",
        "src/keep.log:1:needle",
        "src/lib.rs:2:// needle",
        "src/main.rs:2:    needle();",
        "src/main.rs:6:    needle();",
        "src/old.rs:2:needle",
    ];
    expect("grep needle", grep(environment, &query("needle")?).await?, own(&every))?;
    let found = grep(environment, &query("^N\\wdle$")?).await?;
    expect("grep a word", found, own(&["data/schön 文.txt:1:Nädle"]))?;
    expect("grep what is not there", grep(environment, &query("haystack")?).await?, Vec::new())
}

pub(super) async fn greps_within_limits(environment: &dyn ExecutionEnvironment) -> Outcome {
    let mut query = query("needle")?;
    query.glob = Some("*.rs".to_owned());
    query.context_lines = 1;
    query.max_results = 3;
    let expected = [
        "src/deep/er/generated.rs:1:a needle, far down",
        "src/lib.rs-1-pub fn crlf() {}",
        "src/lib.rs:2:// needle",
        "src/main.rs-1-fn main() {",
        "src/main.rs:2:    needle();",
        "src/main.rs-3-}",
    ];
    expect("the first three", grep(environment, &query).await?, own(&expected))?;
    query.max_results = 0;
    expect("none", grep(environment, &query).await?, Vec::new())
}

pub(super) async fn greps_what_is_asked_for(environment: &dyn ExecutionEnvironment) -> Outcome {
    let mut query = query("needle")?;
    query.exclude = ["src/main.rs", "a/c.txt", "README.md"].into_iter().filter_map(FilePath::clean).collect();
    query.glob = Some("!*.{log,txt}".to_owned());
    let expected = [
        "Makefile:2:\tneedle",
        "src/deep/er/generated.rs:1:a needle, far down",
        "src/lib.rs:2:// needle",
        "src/old.rs:2:needle",
    ];
    expect("grep with exclusions", grep(environment, &query).await?, own(&expected))?;
    for (path, glob, expected) in [
        ("build", None, &["build/out.rs:1:needle"][..]),
        (".env", None, &[".env:1:needle"]),
        ("data/blob.bin", None, &[]),
        ("src/deep", Some("er/*"), &["src/deep/er/generated.rs:1:a needle, far down"]),
        ("src/deep", Some("src/**"), &[]),
    ] {
        query.path = FilePath::clean(path).unwrap_or_default();
        query.glob = glob.map(str::to_owned);
        expect(format!("grep in {path}"), grep(environment, &query).await?, own(expected))?;
    }
    query.path = FilePath::root().join("missing");
    expect_code("grep in a missing directory", environment.grep(&query).await, "not_found")?;
    query.path = FilePath::root();
    query.glob = Some("{".to_owned());
    expect_code("grep with a malformed glob", environment.grep(&query).await, "invalid_argument")
}

pub(super) async fn sees_changes_at_once(environment: &dyn ExecutionEnvironment) -> Outcome {
    write(environment, "fresh/one.txt", b"fresh\n").await?;
    write(environment, "fresh/two.txt", b"fresh\n").await?;
    expect("glob", glob(environment, ".", "fresh/*").await?, own(&["fresh/one.txt", "fresh/two.txt"]))?;
    write(environment, "fresh/.gitignore", b"one.*\n").await?;
    expect("glob after .gitignore", glob(environment, ".", "fresh/*").await?, own(&["fresh/two.txt"]))?;
    let found = grep(environment, &query("^fresh$")?).await?;
    expect("grep after .gitignore", found, own(&["fresh/two.txt:1:fresh"]))?;
    let path = resolve(environment, "fresh/.gitignore", Access::Write).await?;
    succeed("remove .gitignore", environment.remove(&path).await)?;
    expect("glob", glob(environment, ".", "fresh/*").await?, own(&["fresh/one.txt", "fresh/two.txt"]))
}
