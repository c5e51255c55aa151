//! Builds the tests of the changed crates, without the mutants that do not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use super::listed::Mutant;
use super::places::{Bytes, Place};
use super::rewrite::{Blamed, Edit, MODULE, Rewritten, rewrite};
use super::switch;
use crate::process::command;
use crate::progress::say;
use crate::repo::Repo;

/// Most builds until all the mutants that are left compile.
const BUILDS_MAX: usize = 20;

/// The copy of the checkout that has the switches.
pub(super) struct Tree {
    folder: PathBuf,
    target: PathBuf,
    /// The files of the checkout that are changed, each with its text and its places by mutant.
    files: BTreeMap<String, Source>,
    /// The files of libraries that declare the module with the switches, and the text of that module.
    roots: BTreeSet<String>,
    module: String,
}

/// A file with mutants.
struct Source {
    text: String,
    mutants: Vec<(u32, String, Place)>,
}

/// The result of the builds.
pub(super) struct Built {
    /// The test program of each crate.
    pub(super) programs: BTreeMap<String, PathBuf>,
    /// Mutants that do not compile.
    pub(super) unviable: BTreeSet<u32>,
    /// Mutants at places where a switch does not compile.
    pub(super) refused: BTreeSet<u32>,
}

impl Tree {
    /// Prepares the copy. Mutants have their index as number, and those without a place are left out.
    pub(super) fn new(repo: &Repo, mutants: &[Mutant], places: &[Option<Place>]) -> Result<Self> {
        let folder = repo.path("target/mutants/one-build");
        let target = std::env::var_os("CARGO_TARGET_DIR");
        let target = target.map_or_else(|| repo.path("target/mutants/one-build-target"), |path| repo.root().join(path));
        let mut files: BTreeMap<String, Source> = BTreeMap::new();
        let mut roots = BTreeSet::new();
        for (number, (mutant, place)) in (0..).zip(mutants.iter().zip(places)) {
            let Some(place) = place else { continue };
            if !files.contains_key(&mutant.file) {
                let text = std::fs::read_to_string(repo.path(&mutant.file)).context(mutant.file.clone())?;
                files.insert(mutant.file.clone(), Source { text, mutants: Vec::new() });
                roots.insert(format!("crates/{}/src/lib.rs", mutant.package));
            }
            let replacement = (number, mutant.replacement.clone(), place.clone());
            files.entry(mutant.file.clone()).and_modify(|source| source.mutants.push(replacement));
        }
        Ok(Self { folder, target, files, roots, module: switch::module(u32::try_from(mutants.len())?) })
    }

    /// The folder of the copy.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Builds until all mutants that are left compile.
    pub(super) fn build(&self, repo: &Repo, packages: &BTreeSet<&str>) -> Result<Built> {
        let (mut unviable, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for build in 1..=BUILDS_MAX {
            let dropped: BTreeSet<u32> = unviable.union(&refused).copied().collect();
            let rewritten = self.write(repo, &dropped)?;
            say!("  build {build}, without {} mutants", dropped.len());
            let output = self.cargo(packages)?;
            if output.errors.is_empty() {
                return Ok(Built { programs: output.programs(packages)?, unviable, refused });
            }
            for error in &output.errors {
                let spots = error.spans.iter().filter_map(|spot| {
                    rewritten.get(&spot.file)?.blame(&spot.bytes).map(|blamed| (!spot.is_primary, blamed))
                });
                match spots.min_by_key(|(is_beside, _)| *is_beside) {
                    Some((_, Blamed::Mutant(number))) => unviable.extend([number]),
                    Some((_, Blamed::Place(numbers))) => refused.extend(numbers),
                    // An error can follow from others.
                    None => {}
                }
            }
            let is_progress = unviable.union(&refused).count() > dropped.len();
            ensure!(is_progress, "the build fails outside of mutants:\n{}", output.errors[0].rendered);
        }
        bail!("{BUILDS_MAX} builds did not suffice")
    }

    /// Writes the files that differ from those of the copy, so that cargo builds changed crates only.
    fn write(&self, repo: &Repo, dropped: &BTreeSet<u32>) -> Result<BTreeMap<String, Rewritten>> {
        let mut rewritten = BTreeMap::new();
        for (file, source) in &self.files {
            rewritten.insert(file.clone(), rewrite(&source.text, source.edits(dropped)));
        }
        let mut present = BTreeSet::new();
        for path in repo.files()? {
            let file = path.to_string_lossy().replace('\\', "/");
            let mut bytes = match rewritten.get(&file) {
                Some(rewritten) => rewritten.text.clone().into_bytes(),
                None => std::fs::read(repo.path(&file)).context(file.clone())?,
            };
            if self.roots.contains(&file) {
                bytes.extend(format!("\nmod {MODULE};\n").bytes());
                let module = Path::new(&file).with_file_name(format!("{MODULE}.rs"));
                write_if_changed(&self.folder.join(&module), self.module.as_bytes())?;
                present.insert(module);
            }
            write_if_changed(&self.folder.join(&path), &bytes)?;
            present.insert(path);
        }
        remove_others(&self.folder, Path::new(""), &present)?;
        Ok(rewritten)
    }

    fn cargo(&self, packages: &BTreeSet<&str>) -> Result<Output> {
        let mut cargo = command("cargo", &self.folder);
        cargo.args(["test", "--no-run", "--lib", "--profile", "mutants", "--message-format", "json", "--quiet"]);
        cargo.args(packages.iter().flat_map(|package| ["-p", package]));
        cargo.env("CARGO_TARGET_DIR", &self.target).env("CARGO_INCREMENTAL", "1").env("EMEND_FEW_CASES", "1");
        let output = cargo.output().context("cargo")?;
        let read = Output::read(&String::from_utf8_lossy(&output.stdout));
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() || !read.errors.is_empty(), "cargo: {}", stderr.trim());
        Ok(read)
    }
}

impl Source {
    /// Returns the mutants that are left, by place.
    fn edits(&self, dropped: &BTreeSet<u32>) -> Vec<Edit<'_>> {
        let mut edits: Vec<Edit<'_>> = Vec::new();
        for (number, replacement, place) in self.mutants.iter().filter(|(number, ..)| !dropped.contains(number)) {
            match edits.iter_mut().find(|edit| edit.place == place) {
                Some(edit) => edit.mutants.push((*number, replacement)),
                None => edits.push(Edit { place, mutants: vec![(*number, replacement)] }),
            }
        }
        edits
    }
}

fn write_if_changed(file: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(file).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, bytes).with_context(|| file.display().to_string())
}

/// Removes files that are not in `present`, which an earlier run has copied.
fn remove_others(tree: &Path, below: &Path, present: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(tree.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            remove_others(tree, &path, present)?;
        } else if !present.contains(&path) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The messages of cargo.
#[derive(Default)]
struct Output {
    errors: Vec<CompileError>,
    /// Each crate with its test program.
    tests: BTreeMap<String, PathBuf>,
}

/// An error of the compiler.
struct CompileError {
    rendered: String,
    spans: Vec<Spot>,
}

/// Bytes of a file that an error is about.
#[derive(Debug, Eq, PartialEq)]
struct Spot {
    file: String,
    bytes: Bytes,
    is_primary: bool,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    #[serde(default)]
    rendered: Option<String>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Output {
    fn read(text: &str) -> Self {
        let mut output = Self::default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            if let (Some(target), Some(program)) = (line.target, line.executable) {
                output.tests.insert(target.name.replace('_', "-"), program);
            }
            if let Some(message) = line.message.filter(|message| message.level == "error") {
                let spans = message.spans.into_iter().flat_map(spots).collect();
                // The last message counts the errors, and has no place.
                if !message.rendered.as_deref().is_some_and(|text| text.starts_with("error: aborting")) {
                    output.errors.push(CompileError { rendered: message.rendered.unwrap_or_default(), spans });
                }
            }
        }
        output
    }

    fn programs(self, packages: &BTreeSet<&str>) -> Result<BTreeMap<String, PathBuf>> {
        let missing = packages.iter().find(|package| !self.tests.contains_key(**package));
        ensure!(missing.is_none(), "cargo names no tests of {}", missing.unwrap_or(&""));
        Ok(self.tests)
    }
}

/// Returns the places of a span: its own, and those of the macro calls that it comes from.
fn spots(span: Span) -> Vec<Spot> {
    let bytes = span.byte_start..span.byte_end;
    let file = span.file_name.replace('\\', "/");
    let outer = span.expansion.map(|expansion| spots(Span { is_primary: span.is_primary, ..expansion.span }));
    std::iter::once(Spot { file, bytes, is_primary: span.is_primary }).chain(outer.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_errors_and_programs() {
        let text = r#"{"reason": "compiler-artifact", "target": {"name": "emend_edit"}, "executable": "/t/emend_edit-1"}
            {"reason": "compiler-artifact", "target": {"name": "emend_llm"}, "executable": null}
            {"reason": "compiler-message", "message": {"level": "warning", "spans": []}}
            {"reason": "compiler-message", "message": {"level": "error", "rendered": "error: a", "spans": [
            {"file_name": "/std.rs", "byte_start": 1, "byte_end": 2, "is_primary": true, "expansion": {"span":
            {"file_name": "a.rs", "byte_start": 7, "byte_end": 9, "is_primary": false, "expansion": null}}}]}}
            {"reason": "compiler-message", "message": {"level": "error", "rendered": "error: aborting", "spans": []}}
            {"reason": "build-finished", "success": false}"#;
        let joined = text.replace("\n            {\"file_name", "{\"file_name");
        let output = Output::read(&joined);
        assert_eq!(output.errors.len(), 1);
        let spot = |file: &str, bytes| Spot { file: file.to_owned(), bytes, is_primary: true };
        assert_eq!(output.errors[0].spans, [spot("/std.rs", 1..2), spot("a.rs", 7..9)]);
        assert!(output.errors[0].rendered == "error: a");
        let built = BTreeMap::from([("emend-edit".to_owned(), PathBuf::from("/t/emend_edit-1"))]);
        assert_eq!(output.programs(&BTreeSet::from(["emend-edit"])).unwrap(), built);
        assert!(Output::read(&joined).programs(&BTreeSet::from(["emend-llm"])).is_err());
    }

    #[test]
    fn a_copy_keeps_equal_files_and_loses_others() {
        let tree = tempfile::tempdir().unwrap();
        let (kept, gone) = (tree.path().join("a/kept"), tree.path().join("a/gone"));
        write_if_changed(&kept, b"1").unwrap();
        write_if_changed(&gone, b"2").unwrap();
        let before = kept.metadata().unwrap().modified().unwrap();
        write_if_changed(&kept, b"1").unwrap();
        assert_eq!(kept.metadata().unwrap().modified().unwrap(), before);
        remove_others(tree.path(), Path::new(""), &BTreeSet::from([PathBuf::from("a/kept")])).unwrap();
        assert!(kept.exists() && !gone.exists());
    }
}
