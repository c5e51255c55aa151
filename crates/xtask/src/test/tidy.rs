//! House rules that no compiler knows. CONTRIBUTING.md gives the reason for each.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::context::Context;
use super::counts::Counts;
use super::{planted_faults, prose};
use crate::metadata::Metadata;
use crate::progress::say;
use crate::repo::Repo;
use crate::settings::Settings;

/// Lines that a source file may have without giving a reason.
const FILE_LINES_MAX: usize = 600;

/// Maximum length of ARCHITECTURE.md; newcomers read it in one sitting.
const ARCHITECTURE_LINES_MAX: usize = 200;

/// Files that every visitor looks for.
const TOP_FILES: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "rustfmt.toml"];

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let repo = context.repo;
    let sources = read_sources(repo)?;
    let each = |rule: fn(&str) -> Option<String>| -> Vec<String> {
        let found = sources.iter().filter_map(|(file, text)| Some((file, rule(text)?)));
        found.map(|(file, problem)| format!("{}: {problem}", file.display())).collect()
    };
    Ok(report(vec![
        ("every file says what it does".to_owned(), each(header)),
        ("long files give a reason".to_owned(), each(length)),
        ("nothing is left undone".to_owned(), each(undone)),
        ("exceptions to lints give a reason".to_owned(), each(bare_allow)),
        ("sentences are easy to read".to_owned(), prose::problems(repo)?),
        ("every planted fault fits the sources".to_owned(), planted_faults::stale(repo)?),
        ("the top-level files are there".to_owned(), missing_top_files(repo)),
        (format!("ARCHITECTURE.md has at most {ARCHITECTURE_LINES_MAX} lines"), architecture(repo)),
        ("docs/dependencies.md names every dependency".to_owned(), undocumented_dependencies(repo)?),
        ("wasm-pack's metadata is in step with wasm-pack.toml".to_owned(), wasm_pack_metadata(repo)?),
    ]))
}

/// Prints the problems of each check and counts the checks.
pub(super) fn report(checks: Vec<(String, Vec<String>)>) -> Counts {
    let mut counts = Counts::default();
    for (name, problems) in checks {
        if problems.is_empty() {
            counts = counts + Counts::passed(1);
            continue;
        }
        say!("not so: {name}");
        for problem in problems {
            say!("  {problem}");
        }
        counts = counts + Counts::failed(1);
    }
    counts
}

fn read_sources(repo: &Repo) -> Result<Vec<(PathBuf, String)>> {
    let files = repo.files()?.into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files
        .map(|file| {
            let text = std::fs::read_to_string(repo.root().join(&file)).with_context(|| file.display().to_string())?;
            Ok((file, text))
        })
        .collect()
}

fn header(text: &str) -> Option<String> {
    (!text.starts_with("//! ")).then(|| "does not begin with a `//!` header".to_owned())
}

fn length(text: &str) -> Option<String> {
    let lines = text.lines().count();
    let reason = text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.contains("600 lines"));
    (lines > FILE_LINES_MAX && !reason)
        .then(|| format!("{lines} lines, and the header does not say why it is over 600 lines"))
}

fn undone(text: &str) -> Option<String> {
    // Put together here, so that this file does not contain what it looks for.
    let marks = [["todo", "!("], ["unimplemented", "!("], ["#[", "ignore"]].map(|parts| parts.concat());
    text.lines().enumerate().find_map(|(index, line)| {
        let code = line.split("//").next().unwrap_or_default();
        let mark = marks.iter().find(|mark| code.contains(mark.as_str()))?;
        Some(format!("line {} has {mark}", index + 1))
    })
}

fn bare_allow(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if !line.starts_with("#[allow(") && !line.starts_with("#![allow(") {
            continue;
        }
        let mut attribute = line.to_owned();
        while !attribute.contains(")]") {
            attribute.push_str(lines.next()?);
        }
        if !attribute.contains("reason") {
            return Some(format!("{attribute} gives no reason"));
        }
    }
    None
}

fn missing_top_files(repo: &Repo) -> Vec<String> {
    let missing = TOP_FILES.into_iter().filter(|name| !repo.path(name).is_file());
    missing.map(|name| format!("{name} is missing")).collect()
}

fn architecture(repo: &Repo) -> Vec<String> {
    let text = std::fs::read_to_string(repo.path("ARCHITECTURE.md")).unwrap_or_default();
    let lines = text.lines().count();
    (lines > ARCHITECTURE_LINES_MAX).then(|| format!("it has {lines} lines")).into_iter().collect()
}

fn undocumented_dependencies(repo: &Repo) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(repo.path("docs/dependencies.md")).unwrap_or_default();
    let metadata = Metadata::read(repo)?;
    let names: std::collections::BTreeSet<&str> =
        metadata.members().flat_map(|package| package.foreign_dependencies()).collect();
    let missing = names.into_iter().filter(|name| !names_package(&text, name));
    Ok(missing.map(|name| format!("the purpose of {name} is missing")).collect())
}

/// `text` has `name` as a word of its own; `serde` is not named by `serde_json`.
fn names_package(text: &str, name: &str) -> bool {
    let part_of_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    text.split(|character: char| !part_of_name(character)).any(|word| word == name)
}

/// `wasm-pack build` reads the crate's manifest only, so the flags stand there once more.
fn wasm_pack_metadata(repo: &Repo) -> Result<Vec<String>> {
    let core = Settings::read(repo)?.core;
    let metadata = Metadata::read(repo)?;
    let wasm_pack = &metadata.member(&core.package)?.metadata["wasm-pack"];
    // Without a profile of its own, wasm-pack builds with cargo's release profile and reads that part.
    let profiles = [("release", &wasm_pack["profile"]["release"]), ("custom", &wasm_pack["profile"]["custom"])];
    let problems = profiles.into_iter().flat_map(|(name, profile)| {
        let flags = profile["wasm-opt"] == Value::from(core.wasm_opt.clone());
        let path = profile["wasm-bindgen"]["omit-default-module-path"] == Value::Bool(true);
        let here = format!("[package.metadata.wasm-pack.profile.{name}] of {}", core.package);
        [
            (!flags).then(|| format!("{here}: wasm-opt differs from wasm-pack.toml")),
            (!path).then(|| format!("{here}: wasm-bindgen.omit-default-module-path is not true")),
        ]
    });
    Ok(problems.flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_first() {
        assert_eq!(header("//! Says what it does.\nfn f() {}\n"), None);
        assert!(header("fn f() {}\n").is_some());
        assert!(header("// Not a header.\n").is_some());
    }

    #[test]
    fn a_long_file_has_to_say_why() {
        let body = "fn f() {}\n".repeat(FILE_LINES_MAX);
        assert_eq!(length(&body), None);
        assert!(length(&format!("//! A table.\n{body}")).is_some());
        assert_eq!(length(&format!("//! Over 600 lines: one table, and parts of it mean nothing.\n{body}")), None);
    }

    #[test]
    fn undone_work_is_found_in_code_only() {
        let call = ["todo", "!()"].concat();
        assert_eq!(undone(&format!("fn f() {{}}\n{call}")), Some(["line 2 has todo", "!("].concat()));
        assert_eq!(undone(&format!("// no {call} here\n")), None);
        assert!(undone(&["    #[", "ignore]\n"].concat()).is_some());
    }

    #[test]
    fn an_exception_to_a_lint_needs_a_reason() {
        assert!(bare_allow("#[allow(dead_code)]\nfn f() {}\n").is_some());
        assert!(bare_allow("    #![allow(\n  dead_code\n)]\n").is_some());
        assert_eq!(bare_allow("#[allow(\n  dead_code,\n  reason = \"kept for the host\"\n)]\n"), None);
        assert_eq!(bare_allow("let text = \"#[allow(dead_code)]\";\n"), None);
    }

    #[test]
    fn a_package_is_named_by_a_whole_word() {
        assert!(names_package("parses with `serde_json`.", "serde_json"));
        assert!(!names_package("parses with `serde_json`.", "serde"));
        assert!(!names_package("cap-std", "cap"));
    }
}
