//! Benchmarks of files in memory: importing ten thousand files, forking, and searching.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Result, ensure};
use emend_agent::environment::memory::MemFs;
use emend_agent::environment::{ExecutionEnvironment as _, FilePath, GrepQuery};
use emend_agent::search::Matcher;
use futures::executor::block_on;

use crate::measure::{Row, alone, millis};

const N_FILES: usize = 10_000;
/// Number of forks that are timed together, because one is too short to be timed.
const N_FORKS: usize = 1000;

pub(crate) fn rows() -> Result<Vec<Row>> {
    let files = tree(N_FILES);
    let few = memory(&files[..10])?;
    let many = memory(&files)?;
    let n_bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    let import = alone(|| memory(&files).is_ok());
    let forks = |files: &MemFs| {
        let taken = alone(|| (0..N_FORKS).for_each(|_| drop(black_box(files.fork()))));
        millis(taken) * 1000.0 / N_FORKS as f64
    };
    let mut rows = vec![
        Row::alone(format!("import of {N_FILES} files, {} KB", n_bytes / 1000), millis(import), "ms"),
        Row::alone("fork of 10 files".to_owned(), forks(&few), "us"),
        Row::alone(format!("fork of {N_FILES} files"), forks(&many), "us"),
    ];
    for (name, pattern) in [("a literal", "needle_7777"), ("a prefixed pattern", "fn needle_77\\d+")] {
        let query = GrepQuery {
            matcher: Matcher::new(pattern, false)?,
            path: FilePath::root(),
            glob: None,
            exclude: Vec::new(),
            max_results: usize::MAX,
            context_lines: 0,
        };
        ensure!(!block_on(many.grep(&query))?.is_empty(), "{pattern} is found");
        let taken = alone(|| block_on(many.grep(&query)).map(|found| found.len()));
        rows.push(Row::alone(format!("grep of {name} over {N_FILES} files"), millis(taken), "ms"));
    }
    Ok(rows)
}

fn memory(files: &[(String, Arc<str>)]) -> Result<MemFs> {
    let memory = MemFs::new();
    for (path, text) in files {
        memory.insert(path, &text[..])?;
    }
    Ok(memory)
}

/// Returns files like those of a project: in a hundred directories, each with about forty lines of its own.
fn tree(n_files: usize) -> Vec<(String, Arc<str>)> {
    let file = |number: usize| {
        let lines =
            (0..40).map(|line| format!("    let value_{line} = compute({number}, {line}, \"text of line {line}\");\n"));
        let body: String = lines.collect();
        let text = format!("//! File {number}.\n\nfn needle_{number}() {{\n{body}}}\n");
        (format!("src/part_{}/file_{number}.rs", number % 100), Arc::from(text))
    };
    (0..n_files).map(file).collect()
}
