//! A script of 200 calls and their results as text: environments with the same tree give the same bytes.

use std::fmt::Write as _;

use super::{rendered, rendered_lines};
use crate::environment::{Access, EnvError, ExecutionEnvironment, FilePath, GrepQuery};
use crate::search::Matcher;

/// Number of calls of the script.
pub const CALLS: usize = 200;

const PATHS: &[&str] = &[
    "README.md",
    "src",
    "src/main.rs",
    "src/new/deep.rs",
    ".",
    "links/inner",
    "links/directory/lib.rs",
    "data",
    "missing",
    "data/schön 文.txt",
    "links/absolute",
    "../outside",
    "src/../Makefile",
    "build",
    "{root}/a/c.txt",
    "links/gone",
    "a-b/c.txt",
    "new.txt",
    "new.txt/below",
    "data/blob.bin",
];
const TEXTS: &[&str] =
    &["", "needle\n", "one\r\ntwo needle\r\n", "ü 文\nno end", "x\0y", "*.txt\n", "a\n\n\nneedle needle\n"];
const GLOBS: &[&str] = &["**", "*.rs", "**/*.{rs,md}", "src/**", "[a-d]*/**", "**/new*", "["];
const PATTERNS: &[&str] = &["needle", "^\\w+", "ä|ü", "n..dle$", "fn (main|other)"];

/// Runs the script, without writing calls if `writes` is false; returns a line for each call and its result, with
/// `{root}` in place of the root.
pub async fn transcript(environment: &dyn ExecutionEnvironment, writes: bool) -> String {
    let root = environment.working_directory();
    let mut transcript = String::new();
    for number in 0..CALLS {
        // Strides without a common divisor with the lengths of the lists, so that combinations do not repeat.
        let path = PATHS[number * 7 % PATHS.len()].replace("{root}", &root);
        let (text, glob) = (TEXTS[number * 3 % TEXTS.len()], GLOBS[number / 3 % GLOBS.len()]);
        let pattern = PATTERNS[number / 2 % PATTERNS.len()];
        let (name, answer) = match number % 9 {
            0 | 4 if writes => ("write", write(environment, &path, text).await),
            0 | 1 => ("read", read(environment, &path).await),
            2 => ("list", list(environment, &path, number % 4).await),
            3 => ("glob", glob_of(environment, &path, glob).await),
            4 | 5 => ("grep", grep(environment, &path, pattern, number).await),
            6 => ("metadata", metadata(environment, &path).await),
            7 if writes && number % 2 == 1 => ("remove", remove(environment, &path).await),
            7 => ("resolve", resolve(environment, &path, Access::List).await.map(|path| path.to_string())),
            _ => ("grep", grep(environment, ".", pattern, number).await),
        };
        let answer = answer.unwrap_or_else(|error| format!("{}: {error}", error.code().as_str()));
        // Writing to a string cannot fail.
        let _ = writeln!(transcript, "{number} {name} {path}: {answer:?}");
    }
    transcript.replace(&root, "{root}")
}

async fn resolve(environment: &dyn ExecutionEnvironment, path: &str, access: Access) -> Result<FilePath, EnvError> {
    environment.resolve(path, access).await
}

async fn write(environment: &dyn ExecutionEnvironment, path: &str, text: &str) -> Result<String, EnvError> {
    let path = resolve(environment, path, Access::Write).await?;
    environment.write(&path, text.as_bytes()).await.map(|()| path.to_string())
}

async fn read(environment: &dyn ExecutionEnvironment, path: &str) -> Result<String, EnvError> {
    let content = environment.read(&resolve(environment, path, Access::Read).await?).await?;
    Ok(String::from_utf8_lossy(&content).into_owned())
}

async fn remove(environment: &dyn ExecutionEnvironment, path: &str) -> Result<String, EnvError> {
    let path = resolve(environment, path, Access::Write).await?;
    environment.remove(&path).await.map(|()| path.to_string())
}

async fn metadata(environment: &dyn ExecutionEnvironment, path: &str) -> Result<String, EnvError> {
    let path = resolve(environment, path, Access::Write).await?;
    let found = environment.metadata(&path).await?;
    Ok(found.map_or_else(|| "nothing".to_owned(), |found| format!("{:?} of {}", found.kind, found.size)))
}

async fn list(environment: &dyn ExecutionEnvironment, path: &str, depth: usize) -> Result<String, EnvError> {
    let path = resolve(environment, path, Access::List).await?;
    Ok(rendered(&environment.list(&path, depth).await?).join(", "))
}

async fn glob_of(environment: &dyn ExecutionEnvironment, path: &str, glob: &str) -> Result<String, EnvError> {
    let path = resolve(environment, path, Access::Read).await?;
    Ok(rendered(&environment.glob(&path, glob).await?).join(", "))
}

async fn grep(
    environment: &dyn ExecutionEnvironment,
    path: &str,
    pattern: &str,
    number: usize,
) -> Result<String, EnvError> {
    let invalid = |error: crate::search::PatternError| EnvError::InvalidPath {
        path: pattern.to_owned(),
        reason: error.to_string(),
    };
    let query = GrepQuery {
        matcher: Matcher::new(pattern, number.is_multiple_of(2)).map_err(invalid)?,
        path: resolve(environment, path, Access::Read).await?,
        glob: number.is_multiple_of(5).then(|| "*.rs".to_owned()),
        exclude: Vec::new(),
        max_results: 1 + number % 17,
        context_lines: number % 3,
    };
    Ok(rendered_lines(&environment.grep(&query).await?).join("|"))
}
