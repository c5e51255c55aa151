//! The list of mutants that cargo-mutants makes of an area.

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::process::{command, stdout_of};
use crate::repo::Repo;

/// The kinds of changes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Genre {
    /// The body of a function becomes a fixed value.
    FnValue,
    BinaryOperator,
    UnaryOperator,
    /// A match arm is deleted.
    MatchArm,
    /// The guard of a match arm becomes a fixed value.
    MatchArmGuard,
    #[serde(other)]
    Other,
}

/// One change to one file.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mutant {
    /// The path below the checkout.
    pub(super) file: String,
    pub(super) genre: Genre,
    /// The file, the place and the change, for people.
    pub(super) name: String,
    pub(super) package: String,
    pub(super) replacement: String,
    span: Span,
}

#[derive(Clone, Debug, Deserialize)]
struct Span {
    start: Position,
}

/// A line and a column in characters, both from 1.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Mutant {
    /// Returns where the text that is replaced begins.
    pub(super) fn position(&self) -> Position {
        self.span.start
    }
}

/// Lists the mutants of the files that `globs` match, or of the lines of `diff` in them.
pub(super) fn list(repo: &Repo, globs: &[String], diff: Option<&str>) -> Result<Vec<Mutant>> {
    let mut cargo = command(repo.tools().join("bin/cargo-mutants"), repo.root());
    cargo.args(["mutants", "--workspace", "--list", "--json", "--colors", "never"]);
    cargo.args(globs.iter().flat_map(|glob| ["--file", glob]));
    if let Some(diff) = diff {
        let file = repo.path("target/mutants/change.diff");
        std::fs::create_dir_all(repo.path("target/mutants"))?;
        std::fs::write(&file, diff)?;
        cargo.arg("--in-diff").arg(file);
    }
    read(&stdout_of(&mut cargo)?)
}

/// Reads the list, which is empty text if a diff leaves none.
fn read(text: &str) -> Result<Vec<Mutant>> {
    // Without a file that matches, the text is a note instead of a list.
    if !text.trim_start().starts_with('[') {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).context("the list of cargo-mutants")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_may_be_empty_and_may_have_unknown_kinds() {
        assert!(read("").unwrap().is_empty());
        assert!(read(" INFO No mutants to filter\n").unwrap().is_empty());
        let of = |genre: &str| {
            format!(
                r#"{{"file": "a.rs", "genre": "{genre}", "name": "a.rs:2:5: replace f", "package": "a",
                "replacement": "0", "function": null, "span": {{"start": {{"line": 2, "column": 5}}, "end": {{"line": 2, "column": 6}}}}}}"#
            )
        };
        let read = read(&format!("[{}, {}]", of("FnValue"), of("StructField"))).unwrap();
        assert_eq!(read.iter().map(|mutant| mutant.genre).collect::<Vec<_>>(), [Genre::FnValue, Genre::Other]);
        assert_eq!(read[0].position(), Position { line: 2, column: 5 });
    }
}
