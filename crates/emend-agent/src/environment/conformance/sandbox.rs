//! Cases for the sandbox: attempts to leave the root, and paths that must work as a control.

use super::{Outcome, Violation, expect, expect_code, own, query, resolve};
use crate::environment::{Access, EnvError, ExecutionEnvironment, FilePath};

/// Paths that stay inside, with their targets.
const INSIDE: [(&str, &str); 18] = [
    ("README.md", "README.md"),
    ("./src//lib.rs", "src/lib.rs"),
    ("src/deep/../lib.rs", "src/lib.rs"),
    ("src/deep/er/../../../README.md", "README.md"),
    ("missing/../README.md", "README.md"),
    ("{root}", ""),
    ("{root}/", ""),
    ("{root}/src/lib.rs", "src/lib.rs"),
    ("{root}/src/../README.md", "README.md"),
    ("/not-there/..{root}/README.md", "README.md"),
    ("../{name}/README.md", "README.md"),
    ("links/inner", "src/main.rs"),
    ("links/directory/lib.rs", "src/lib.rs"),
    ("links/absolute/lib.rs", "src/lib.rs"),
    ("links/chain", "src/main.rs"),
    ("links/up/README.md", "README.md"),
    ("links/up/links/up/src", "src"),
    (".git/config", ".git/config"),
];

/// Paths that lead outside, each in another way.
const OUTSIDE: [&str; 35] = [
    "..",
    "../",
    "../outside.txt",
    "../../etc/passwd",
    "../../../../../../../../../../etc/passwd",
    "./../outside.txt",
    "src/../../outside.txt",
    "src/deep/er/../../../../outside.txt",
    "missing/../../outside.txt",
    "links/../../outside.txt",
    "/",
    "//",
    "/..",
    "/etc/passwd",
    "//etc/passwd",
    "/./etc/../etc/passwd",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/../outside.txt",
    "/dev/null",
    "{root}/..",
    "{root}/../outside.txt",
    "{root}-sibling/file.txt",
    "{root}/src/../../outside.txt",
    "links/up_up",
    "links/up_up/outside.txt",
    "links/up/../../..",
    "links/up/links/up_up/outside.txt",
    "links/root",
    "links/root/etc/passwd",
    "links/etc/passwd",
    "links/passwd",
    "links/proc/etc/passwd",
    "links/out_chain/passwd",
    "links/late",
    "links/out_new",
];

/// Inserts the root, its name, and the text after a root of `/`.
fn fill(environment: &dyn ExecutionEnvironment, path: &str) -> String {
    let root = environment.working_directory();
    let name = root.rsplit('/').next().unwrap_or_default();
    path.replace("{root}", &root).replace("{name}", name)
}

pub(super) async fn finds_paths_inside(environment: &dyn ExecutionEnvironment) -> Outcome {
    for (path, expected) in INSIDE {
        let path = fill(environment, path);
        for access in [Access::Read, Access::Write, Access::List] {
            let found = resolve(environment, &path, access).await?;
            expect(format!("resolve {path:?} for {access:?}"), found.as_str(), expected)?;
        }
    }
    for (path, expected) in [("new/deep/file", "new/deep/file"), ("links/new", "src/new.rs"), ("links/up/new", "new")] {
        let found = resolve(environment, path, Access::Write).await?;
        expect(format!("resolve {path:?} to write"), found.as_str(), expected)?;
    }
    Ok(())
}

pub(super) async fn refuses_paths_outside(environment: &dyn ExecutionEnvironment) -> Outcome {
    for path in OUTSIDE {
        let path = fill(environment, path);
        for access in [Access::Read, Access::Write, Access::List] {
            let what = format!("resolve {path:?} for {access:?}");
            match environment.resolve(&path, access).await {
                Err(EnvError::OutsideRoot { path: given, decision }) => {
                    expect(format!("{what}: the path named"), &given, &path)?;
                    expect(format!("{what}: the root named"), decision.root, environment.working_directory())?;
                    expect(format!("{what}: {} climbs", decision.rel), decision.rel.starts_with(".."), true)?;
                }
                found => {
                    let (found, expected) = (format!("{found:?}"), "OutsideRoot".to_owned());
                    return Err(Violation { what, found, expected });
                }
            }
        }
    }
    Ok(())
}

pub(super) async fn refuses_malformed_paths(environment: &dyn ExecutionEnvironment) -> Outcome {
    for path in
        ["", " ", "\t\n", "a\0b", "../a\0", "README.md/below", "links/inner/below", "links/loop", "links/loop/x"]
    {
        for access in [Access::Read, Access::Write, Access::List] {
            let found = environment.resolve(path, access).await;
            expect_code(format!("resolve {path:?} for {access:?}"), found, "invalid_argument")?;
        }
    }
    Ok(())
}

pub(super) async fn suggests_names(environment: &dyn ExecutionEnvironment) -> Outcome {
    for (path, expected) in [
        ("readme", &["README.md"][..]),
        ("src/mian.rs", &["main.rs"]),
        ("scr/main.rs", &["src"]),
        ("links/directory/maim.rs", &["main.rs"]),
        ("zzzzzz", &[]),
    ] {
        for access in [Access::Read, Access::List] {
            let found = environment.resolve(path, access).await;
            let suggestions = found.as_ref().err().map(EnvError::suggestions);
            expect_code(format!("resolve {path:?}"), found, "not_found")?;
            expect(format!("suggestions for {path:?}"), suggestions, Some(own(expected)))?;
        }
    }
    Ok(())
}

/// A path that was not resolved may fail or succeed, but must neither read nor write outside.
pub(super) async fn follows_no_link_unresolved(environment: &dyn ExecutionEnvironment) -> Outcome {
    let links =
        ["links/up_up", "links/root", "links/etc", "links/passwd", "links/proc", "links/out_chain", "links/late"];
    for link in links {
        for path in [link.to_owned(), format!("{link}/passwd"), format!("{link}/etc/passwd")] {
            let path = FilePath::clean(&path).unwrap_or_default();
            let metadata = environment.metadata(&path).await;
            expect(format!("metadata of {path} is known"), matches!(metadata, Ok(Some(_))), false)?;
            expect(format!("read {path} succeeds"), environment.read(&path).await.is_ok(), false)?;
            expect(format!("write {path} succeeds"), environment.write(&path, b"x").await.is_ok(), false)?;
            expect(format!("remove {path} succeeds"), environment.remove(&path).await.is_ok(), false)?;
            expect(format!("list {path} succeeds"), environment.list(&path, 1).await.is_ok(), false)?;
            let found = environment.glob(&path, "**").await;
            expect(format!("glob {path} finds something"), found.is_ok_and(|found| !found.is_empty()), false)?;
            let found = environment.glob_paths(&path, "**").await;
            expect(format!("paths in {path} are found"), found.is_ok_and(|found| !found.is_empty()), false)?;
            let mut everything = query("")?;
            everything.path = path.clone();
            let found = environment.grep(&everything).await;
            expect(format!("grep {path} finds something"), found.is_ok_and(|found| !found.is_empty()), false)?;
        }
    }
    Ok(())
}
