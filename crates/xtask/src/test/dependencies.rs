//! Dependencies: the pure crates link only listed packages, and the policy of `deny.toml` holds.
//!
//! `cargo deny check` reads the same file; this step needs no further tool.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::context::Context;
use super::counts::Counts;
use super::licence;
use crate::metadata::{Metadata, Package};
use crate::process::{command, stdout_of};
use crate::progress::say;
use crate::repo::{PURE_CRATES, Repo};

/// Maximum number of packages in Cargo.lock. A change that needs more raises the number, where a reviewer sees it.
const LOCKED_PACKAGES_MAX: usize = 416;

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let policy = Policy::read(context.repo)?;
    let metadata = Metadata::read(context.repo)?;
    let wasm = Metadata::read_for_wasm(context.repo)?;
    let lists = Lists::read(context.repo)?;
    let mut checks: Vec<(String, Vec<String>)> = Vec::new();
    for name in PURE_CRATES {
        let package = wasm.member(name)?;
        checks.push((format!("{name} links only what is listed"), differences(package, &wasm, &lists)));
    }
    let known = metadata.member("emend-shell")?.own_dependencies().map(|own| format!("emend-shell names {own}"));
    // Two wasm modules share no memory: the browser would load a shared crate twice.
    checks.push(("emend-shell knows no other crate of ours".to_owned(), known.collect()));
    let server = metadata.linked_into(metadata.member("emend-server")?);
    let server = server.iter().map(|linked| linked.name.as_str()).filter(|name| ["clap", "emend-host"].contains(name));
    let server: Vec<String> = server.map(|name| format!("emend-server links {name}")).collect();
    // It leaves options and processes to the command line.
    checks.push(("emend-server links neither clap nor emend-host".to_owned(), server));
    checks.push(("licences".to_owned(), forbidden_licences(&metadata, &policy)));
    checks.push(("bans".to_owned(), banned(&metadata, &policy)));
    checks.push(("duplicates".to_owned(), duplicates(context.repo, &policy)?));
    checks.push(("number of packages".to_owned(), too_many(&metadata)));
    Ok(super::tidy::report(checks))
}

/// Compares in both directions: a listed package that is not linked is a problem too.
fn differences(package: &Package, metadata: &Metadata, lists: &Lists) -> Vec<String> {
    let name = &package.name;
    let linked: BTreeSet<&str> = metadata.linked_into(package).into_iter().map(|linked| linked.name.as_str()).collect();
    let unlisted = linked.difference(&lists.of(name)).map(|found| format!("{name} links {found}")).collect::<Vec<_>>();
    let unused = lists.own(name).iter().filter(|listed| !linked.contains(listed.as_str()));
    unlisted.into_iter().chain(unused.map(|listed| format!("{name} does not link {listed}, which is listed"))).collect()
}

/// `pure-links.toml`: the packages that may be linked into each pure crate.
#[derive(Deserialize)]
struct Lists(BTreeMap<String, List>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// Pure crates whose lists are included.
    #[serde(default)]
    above: Vec<String>,
    links: Vec<String>,
}

impl Lists {
    fn read(repo: &Repo) -> Result<Self> {
        let text = std::fs::read_to_string(repo.path("crates/xtask/pure-links.toml")).context("pure-links.toml")?;
        toml::from_str(&text).context("pure-links.toml")
    }

    /// Returns the packages of the list itself, without included lists.
    fn own(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], |list| &list.links)
    }

    fn of(&self, name: &str) -> BTreeSet<&str> {
        let Some(list) = self.0.get(name) else {
            return BTreeSet::new();
        };
        let inherited = list.above.iter().flat_map(|name| self.of(name).into_iter().chain([name.as_str()]));
        list.links.iter().map(String::as_str).chain(inherited).collect()
    }
}

/// The parts of `deny.toml` that are enforced here.
#[derive(Deserialize)]
struct Policy {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
    skip: Vec<Named>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    /// Packages that may use it nevertheless.
    #[serde(default)]
    wrappers: Vec<String>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "crate")]
    name: String,
}

impl Policy {
    fn read(repo: &Repo) -> Result<Self> {
        let text = std::fs::read_to_string(repo.path("deny.toml")).context("deny.toml")?;
        toml::from_str(&text).context("deny.toml")
    }
}

fn forbidden_licences(metadata: &Metadata, policy: &Policy) -> Vec<String> {
    let problem = |package: &Package| match &package.license {
        Some(expression) if licence::permits(expression, &policy.licenses.allow) => None,
        expression => Some(format!("{} {} is under {expression:?}", package.name, package.version)),
    };
    metadata.packages.iter().filter_map(problem).collect()
}

fn banned(metadata: &Metadata, policy: &Policy) -> Vec<String> {
    let uses = |ban: &Ban| {
        let users = metadata.users_of(&ban.name);
        let users = users.into_iter().filter(|user| !ban.wrappers.contains(user));
        users.map(|user| format!("{} is banned, and {user} uses it", ban.name)).collect::<Vec<_>>()
    };
    policy.bans.deny.iter().flat_map(uses).collect()
}

/// Returns packages of which a build for one platform links two versions.
fn duplicates(repo: &Repo, policy: &Policy) -> Result<Vec<String>> {
    let mut found = BTreeSet::new();
    for target in &policy.graph.targets {
        let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut tree = command("cargo", repo.root());
        tree.args(["tree", "--locked", "--workspace", "--target", target, "--prefix", "none", "--format", "{p}"]);
        for line in stdout_of(&mut tree)?.lines() {
            if let Some((name, rest)) = line.split_once(' ') {
                let version = rest.split(' ').next().unwrap_or_default();
                versions.entry(name.to_owned()).or_default().insert(version.to_owned());
            }
        }
        let skipped = |name: &str| policy.bans.skip.iter().any(|skip| skip.name == name);
        for (name, versions) in versions.into_iter().filter(|(name, versions)| versions.len() > 1 && !skipped(name)) {
            let versions = versions.into_iter().collect::<Vec<_>>().join(" and ");
            found.insert(format!("{name} is there as {versions} for {target}"));
        }
    }
    Ok(found.into_iter().collect())
}

fn too_many(metadata: &Metadata) -> Vec<String> {
    let number = metadata.packages.len();
    say!("{number} packages in Cargo.lock, {LOCKED_PACKAGES_MAX} allowed");
    if number > LOCKED_PACKAGES_MAX {
        return vec![format!("Cargo.lock names {number} packages; {LOCKED_PACKAGES_MAX} are allowed")];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_those_of_the_crates_above_it() {
        let lists = "[low]\nlinks = [\"a\"]\n[high]\nabove = [\"low\"]\nlinks = [\"b\"]\n";
        let lists: Lists = toml::from_str(lists).unwrap();
        assert_eq!(lists.of("low").into_iter().collect::<Vec<_>>(), ["a"]);
        assert_eq!(lists.of("high").into_iter().collect::<Vec<_>>(), ["a", "b", "low"]);
        assert!(lists.of("unknown").is_empty());
    }
}
