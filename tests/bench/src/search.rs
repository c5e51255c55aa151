//! Minimal programs that search files on disk, to be timed against `rg` and `fd`, and the tree that they search.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use emend_agent::environment::{ExecutionEnvironment as _, FilePath, GrepQuery};
use emend_agent::search::Matcher;
use emend_host::LocalEnvironment;
use futures::executor::block_on;

/// Returns a search of a whole tree without limits.
pub(crate) fn query(pattern: &str, case_insensitive: bool) -> Result<GrepQuery> {
    Ok(GrepQuery {
        matcher: Matcher::new(pattern, case_insensitive)?,
        path: FilePath::root(),
        glob: None,
        exclude: Vec::new(),
        max_results: usize::MAX,
        context_lines: 0,
    })
}

/// Prints the lines below `root` that match, as `path:number:text`.
pub(crate) fn grep(pattern: &str, case_insensitive: bool, root: &Path) -> Result<()> {
    let found = block_on(LocalEnvironment::new(root)?.grep(&query(pattern, case_insensitive)?))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for file in found {
        for line in file.lines {
            writeln!(out, "{}:{}:{}", file.path, line.line, line.text)?;
        }
    }
    Ok(out.flush()?)
}

/// Prints the files below `root` that match. With `with_times` their metadata is read too.
pub(crate) fn glob(glob: &str, root: &Path, with_times: bool) -> Result<()> {
    let (environment, top) = (LocalEnvironment::new(root)?, FilePath::root());
    let paths = if with_times {
        block_on(environment.glob(&top, glob))?.into_iter().map(|file| file.path).collect()
    } else {
        block_on(environment.glob_paths(&top, glob))?
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    for path in paths {
        writeln!(out, "{path}")?;
    }
    Ok(out.flush()?)
}

/// Creates the tree to search, unless it exists: `n_files` source files, 50 per directory. Two of a hundred directories are
/// ignored, and one of a hundred files is binary.
pub(crate) fn make_tree(root: &Path, n_files: usize) -> Result<()> {
    let complete = root.join(".complete");
    if fs::read_to_string(&complete).is_ok_and(|found| found == n_files.to_string()) {
        return Ok(());
    }
    if root.exists() {
        fs::remove_dir_all(root).with_context(|| root.display().to_string())?;
    }
    // An empty `.git`: `rg` and `fd` apply `.gitignore` only inside a repository, and do not search above it.
    fs::create_dir_all(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "ignored_*/\n*.log\n")?;
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    for number in 0..n_files {
        let directory = number / 50;
        let name = if directory % 50 == 49 { "ignored" } else { "module" };
        let directory = root.join(format!("part_{}/{name}_{directory}", directory % 20));
        if number % 50 == 0 {
            fs::create_dir_all(&directory)?;
        }
        let extension = ["rs", "ts", "md", "json", "log"][number % 5];
        let mut content = source(number, &mut seed);
        if number % 100 == 37 {
            content.insert(3, '\0');
        }
        fs::write(directory.join(format!("file_{number}.{extension}")), content)?;
    }
    fs::write(&complete, n_files.to_string())?;
    Ok(())
}

/// Returns 20 to 120 lines that share words with every other file.
fn source(number: usize, seed: &mut u64) -> String {
    let mut next = |bound: u64| {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed % bound
    };
    let words = ["buffer", "Session", "request", "parse_line", "offset", "handle", "Über", "result", "value", "index"];
    let mut text = format!("// file {number}\n");
    for line in 0..20 + next(100) {
        let mut word = || words[usize::try_from(next(10)).unwrap_or(0)];
        let (a, b, c) = (word(), word(), word());
        let _ = writeln!(text, "    let {a}_{line} = {b}.{c}(&self.{a}, {line})?;");
    }
    if number % 1000 == 1 {
        text.push_str("// needle in the haystack\n");
    }
    text
}
