//! The order of modules: `layers.toml` lists each crate's modules bottom up, and no module uses one above it.
//!
//! Inside a module, files may not use each other in a circle of more than two. Circles are found over the names that
//! code uses, with re-exports followed to the file that defines them. Tests are left out. The same reading of the
//! sources finds public types that share a name.

mod graph;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use self::source::Crate;
use super::context::Context;
use super::counts::Counts;
use crate::repo::Repo;

/// Most files of one crate that may use each other in a circle.
const CIRCLE_FILES_MAX: usize = 2;

/// `layers.toml`: one table a crate.
#[derive(Deserialize)]
struct Layers(BTreeMap<String, Layer>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Layer {
    /// Top-level modules, bottom up: each may use those before it.
    order: Vec<String>,
    /// Names that two public types may share, each with the reason.
    #[serde(default)]
    shared_names: BTreeMap<String, String>,
}

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let layers = Layers::read(context.repo)?;
    let mut checks = vec![("every crate has its order of modules".to_owned(), missing(context.repo, &layers)?)];
    for (name, layer) in &layers.0 {
        let sources = Crate::read(context.repo, name)?;
        checks.push((format!("{name}: modules use those below them"), against_order(&sources, &layer.order)));
        checks.push((format!("{name}: no circle of files"), circles(&sources)));
        checks.push((format!("{name}: public types have names of their own"), shared_names(&sources, layer)));
    }
    Ok(super::tidy::report(checks))
}

impl Layers {
    fn read(repo: &Repo) -> Result<Self> {
        let text = std::fs::read_to_string(repo.path("crates/xtask/layers.toml")).context("layers.toml")?;
        toml::from_str(&text).context("layers.toml")
    }
}

fn missing(repo: &Repo, layers: &Layers) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for entry in std::fs::read_dir(repo.path("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !layers.0.contains_key(&name) {
            problems.push(format!("layers.toml has no table for {name}"));
        }
    }
    Ok(problems)
}

fn against_order(sources: &Crate, order: &[String]) -> Vec<String> {
    let rank: BTreeMap<&str, usize> = order.iter().enumerate().map(|(rank, name)| (name.as_str(), rank)).collect();
    let modules = sources.top_level_modules();
    let unlisted = modules.iter().filter(|name| !rank.contains_key(name.as_str()));
    let mut problems: Vec<String> = unlisted.map(|name| format!("layers.toml does not list `{name}`")).collect();
    let gone = order.iter().filter(|name| !modules.contains(*name));
    problems.extend(gone.map(|name| format!("layers.toml lists `{name}`, which does not exist")));
    for edge in sources.edges() {
        let (from, to) = (sources.top_level_of(edge.from), sources.top_level_of(edge.to));
        if let (Some(from_rank), Some(to_rank)) = (rank.get(from), rank.get(to))
            && from_rank < to_rank
        {
            let file = sources.file(edge.from);
            problems.push(format!("{file} uses {} of `{to}`, which is above `{from}`", edge.name));
        }
    }
    problems
}

fn circles(sources: &Crate) -> Vec<String> {
    let edges: Vec<(usize, usize)> = sources.edges().iter().map(|edge| (edge.from, edge.to)).collect();
    let found = graph::circles(sources.file_count(), &edges);
    let too_large = found.into_iter().filter(|circle| circle.len() > CIRCLE_FILES_MAX);
    too_large.map(|circle| describe(sources, &circle)).collect()
}

/// Names the files of a circle and one use for each arrow between them.
fn describe(sources: &Crate, circle: &[usize]) -> String {
    let members: BTreeSet<usize> = circle.iter().copied().collect();
    let inside = sources.edges().iter().filter(|edge| members.contains(&edge.from) && members.contains(&edge.to));
    let mut arrows: BTreeMap<(usize, usize), BTreeSet<&str>> = BTreeMap::new();
    for edge in inside {
        arrows.entry((edge.from, edge.to)).or_default().insert(&edge.name);
    }
    let mut text = format!("{} files use each other:", circle.len());
    for ((from, to), names) in arrows {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        text.push_str(&format!("\n      {} uses {names} of {}", sources.file(from), sources.file(to)));
    }
    text
}

fn shared_names(sources: &Crate, layer: &Layer) -> Vec<String> {
    // Two types of one file are one type under different conditions: the compiler rejects others.
    let mut places: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, file) in sources.public_types() {
        places.entry(name).or_default().insert(file);
    }
    let shared: BTreeMap<&str, BTreeSet<&str>> = places.into_iter().filter(|(_, files)| files.len() > 1).collect();
    let unlisted = shared.iter().filter(|(name, _)| !layer.shared_names.contains_key(**name));
    let mut problems: Vec<String> =
        unlisted.map(|(name, files)| format!("`{name}` is a public type of {}", joined(files))).collect();
    let gone = layer.shared_names.keys().filter(|name| !shared.contains_key(name.as_str()));
    problems.extend(gone.map(|name| format!("layers.toml allows `{name}` twice, which is there once at most")));
    problems
}

fn joined(files: &BTreeSet<&str>) -> String {
    files.iter().copied().collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(order: &[&str]) -> Vec<String> {
        order.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_arrow_up_and_an_unlisted_module_are_found() {
        let files = [
            ("lib.rs", "mod low; mod high;"),
            ("low.rs", "use crate::high::Roof; pub(crate) struct Ground(Roof);"),
            ("high.rs", "pub(crate) struct Roof;"),
        ];
        let sources = Crate::of_texts(&files);
        assert_eq!(
            against_order(&sources, &layer(&["low", "high"])),
            ["low.rs uses Roof of `high`, which is above `low`"]
        );
        assert_eq!(against_order(&sources, &layer(&["high", "low"])), Vec::<String>::new());
        assert_eq!(against_order(&sources, &layer(&["low"])), ["layers.toml does not list `high`"]);
        assert_eq!(
            against_order(&sources, &layer(&["high", "low", "sky"])),
            ["layers.toml lists `sky`, which does not exist"]
        );
    }

    #[test]
    fn a_circle_of_three_files_is_found_and_of_two_allowed() {
        let two = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; struct A;"),
            ("b.rs", "use crate::a::A; struct B;"),
        ];
        assert_eq!(circles(&Crate::of_texts(&two)), Vec::<String>::new());
        let three = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; struct A;"),
            ("b.rs", "fn f() { crate::c::run() } struct B;"),
            ("c.rs", "fn run() { let _ = vec![super::a::A]; }"),
        ];
        let found = circles(&Crate::of_texts(&three));
        assert!(found.len() == 1 && found[0].starts_with("3 files use each other"), "{found:?}");
    }

    #[test]
    fn a_name_of_two_public_types_needs_a_reason() {
        let files = [
            ("lib.rs", "pub mod a; pub mod b;"),
            ("a.rs", "pub struct Place; struct Inner;"),
            ("b.rs", "pub enum Place {} struct Inner; #[cfg(test)] mod tests { pub struct Place; }"),
        ];
        let sources = Crate::of_texts(&files);
        let without = Layer { order: Vec::new(), shared_names: BTreeMap::new() };
        assert_eq!(shared_names(&sources, &without), ["`Place` is a public type of a.rs and b.rs"]);
        let reasons = [("Place".to_owned(), "two hosts".to_owned()), ("Gone".to_owned(), "old".to_owned())];
        let with = Layer { shared_names: reasons.into(), ..without };
        assert_eq!(shared_names(&sources, &with), ["layers.toml allows `Gone` twice, which is there once at most"]);
    }
}
