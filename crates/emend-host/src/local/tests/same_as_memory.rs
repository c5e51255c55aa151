//! Runs random scripts of calls in memory and on disk. Every answer must be the same.

use std::cell::Cell;
use std::collections::BTreeMap;

use emend_agent::environment::memory::MemFs;
use emend_agent::environment::{Access, EnvError, ExecutionEnvironment, FilePath, GrepQuery};
use emend_agent::search::Matcher;
use futures::executor::block_on;
use proptest::prelude::*;

use super::{Disk, cases};

#[derive(Clone, Debug)]
enum Call {
    Resolve(String, Access),
    Read(String),
    Metadata(String),
    Write(String, String),
    Remove(String),
    List(String, usize),
    Glob(String, String),
    Grep { path: String, pattern: &'static str, glob: Option<String>, max_results: usize, context_lines: usize },
}

fn some_path() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec![
        "a",
        "b",
        "c.txt",
        "d.log",
        "..",
        ".",
        "to_a",
        "to_file",
        "to_root",
        "out",
        "gone",
        ".hidden",
        ".gitignore",
        "new",
    ]);
    let start = prop::sample::select(vec!["", "", "", "", "{root}/", "/", "{root}/../project/"]);
    (start, prop::collection::vec(segment, 0..4)).prop_map(|(start, segments)| format!("{start}{}", segments.join("/")))
}

fn some_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "x",
        "needle",
        "\n",
        "\r\n",
        "\r",
        "é",
        " ",
        "*.log\n",
        "c.txt\n",
        "\0",
        "/b\n!d.log\n",
    ]);
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn some_call() -> impl Strategy<Value = Call> {
    let access = prop::sample::select(vec![Access::Read, Access::Write, Access::List]);
    let glob = prop::sample::select(vec!["**", "*", "*.txt", "a/**", "**/b", "!*.log", "[", "{a,b}/*"])
        .prop_map(str::to_owned);
    let pattern = prop::sample::select(vec!["needle", "x", "^", "é|x$"]);
    prop_oneof![
        2 => (some_path(), access).prop_map(|(path, access)| Call::Resolve(path, access)),
        2 => some_path().prop_map(Call::Read),
        1 => some_path().prop_map(Call::Metadata),
        4 => (some_path(), some_text()).prop_map(|(path, text)| Call::Write(path, text)),
        1 => some_path().prop_map(Call::Remove),
        2 => (some_path(), 0..4_usize).prop_map(|(path, depth)| Call::List(path, depth)),
        2 => (some_path(), glob.clone()).prop_map(|(path, glob)| Call::Glob(path, glob)),
        3 => (some_path(), pattern, prop::option::of(glob), 0..6_usize, 0..3_usize).prop_map(
            |(path, pattern, glob, max_results, context_lines)| Call::Grep { path, pattern, glob, max_results, context_lines }
        ),
    ]
}

/// Makes a call as a tool does: resolves the path, then acts on the result.
fn answer(environment: &dyn ExecutionEnvironment, call: &Call) -> Result<String, EnvError> {
    let resolve = |path: &str, access| {
        block_on(environment.resolve(&path.replace("{root}", &environment.working_directory()), access))
    };
    let list = |entries: Vec<emend_agent::environment::DirEntry>| {
        entries
            .iter()
            .map(|entry| format!("{} {:?} {}", entry.path, entry.metadata.kind, entry.metadata.size))
            .collect::<Vec<_>>()
    };
    Ok(match call {
        Call::Resolve(path, access) => format!("{}", resolve(path, *access)?),
        Call::Read(path) => format!("{:?}", block_on(environment.read(&resolve(path, Access::Read)?))?),
        Call::Metadata(path) => {
            let found = block_on(environment.metadata(&resolve(path, Access::Write)?))?;
            format!("{:?}", found.map(|found| (found.kind, found.size)))
        }
        Call::Write(path, text) => {
            format!("{:?}", block_on(environment.write(&resolve(path, Access::Write)?, text.as_bytes()))?)
        }
        Call::Remove(path) => format!("{:?}", block_on(environment.remove(&resolve(path, Access::Write)?))?),
        Call::List(path, depth) => {
            format!("{:?}", list(block_on(environment.list(&resolve(path, Access::List)?, *depth))?))
        }
        Call::Glob(path, glob) => {
            format!("{:?}", list(block_on(environment.glob(&resolve(path, Access::Read)?, glob))?))
        }
        Call::Grep { path, pattern, glob, max_results, context_lines } => {
            let query = GrepQuery {
                matcher: Matcher::new(pattern, false).unwrap(),
                path: resolve(path, Access::Read)?,
                glob: glob.clone(),
                exclude: vec![FilePath::root().join("a").join("c.txt")],
                max_results: *max_results,
                context_lines: *context_lines,
            };
            format!("{:?}", block_on(environment.grep(&query))?)
        }
    })
}

/// Removes the root's name from an answer.
fn without_root(environment: &dyn ExecutionEnvironment, answer: Result<String, EnvError>) -> String {
    let root = environment.working_directory();
    match answer {
        Ok(answer) => answer,
        // The depth of the root decides how far up a path leads, so only the fact that it leads out is compared.
        Err(EnvError::OutsideRoot { path, .. }) => format!("outside: {}", path.replace(&root, "{root}")),
        Err(error) => {
            format!("{}: {} {:?}", error.code().as_str(), error, error.suggestions()).replace(&root, "{root}")
        }
    }
}

#[test]
fn every_answer_is_the_same_in_memory_and_on_disk() {
    let fixture = "//- a/c.txt\nneedle\n//- a/b/c.txt\nx\nneedle\n//- d.log\nneedle\n//- .gitignore\n*.log\n//- to_a -> a\n\
        //- to_file -> {root}/a/c.txt\n//- a/to_root -> ..\n//- out -> ../../etc\n//- gone -> a/new/file\n";
    let answers = Cell::new(BTreeMap::<String, u32>::new());
    proptest!(cases(150), |(calls in prop::collection::vec(some_call(), 40))| {
        let disk = Disk::new(|root| fixture.replace("{root}", root));
        let local = disk.environment();
        let memory = MemFs::from_fixture(&fixture.replace("{root}", "/home/project")).with_root("/home/project");
        let mut counts = answers.take();
        for call in &calls {
            let (found, expected) = (answer(&local, call), answer(&memory, call));
            let kind = format!("{call:?}").split(['(', ' ']).next().unwrap_or_default().to_owned();
            let outcome = expected.as_ref().map_or_else(|error| error.code().as_str(), |_| "ok");
            *counts.entry(format!("{kind} {outcome}")).or_default() += 1;
            prop_assert_eq!(without_root(&local, found), without_root(&memory, expected), "{:?}", call);
        }
        answers.set(counts);
        disk.check_outside();
    });
    let answers = answers.take();
    println!("{answers:#?}");
    for kind in ["Resolve", "Read", "Metadata", "Write", "Remove", "List", "Glob", "Grep"] {
        assert!(answers.get(&format!("{kind} ok")).is_some_and(|&count| count >= 30), "{kind} hardly ever succeeded");
    }
}
