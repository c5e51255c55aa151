//! The workspace and its dependencies, as `cargo metadata` reports them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process::{command, stdout_of};
use crate::repo::Repo;
use crate::toolchain::TARGET;

/// The packages of the workspace, their dependencies, and the edges between them.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

/// A package of the workspace or of a registry.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// Path of its Cargo.toml.
    pub(crate) manifest_path: std::path::PathBuf,
    /// The `[package.metadata]` table.
    #[serde(default)]
    pub(crate) metadata: serde_json::Value,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Absent for packages of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    /// Absent for a normal dependency.
    kind: Option<String>,
}

impl Metadata {
    /// Reads the metadata for every platform.
    ///
    /// # Errors
    /// Cargo refuses a manifest, or Cargo.lock is not what the manifests ask for.
    pub(crate) fn read(repo: &Repo) -> Result<Self> {
        Self::read_with(repo, &[])
    }

    /// Reads the metadata with the dependencies of a wasm32 build only.
    pub(crate) fn read_for_wasm(repo: &Repo) -> Result<Self> {
        Self::read_with(repo, &["--filter-platform", TARGET])
    }

    fn read_with(repo: &Repo, options: &[&str]) -> Result<Self> {
        let mut cargo = command("cargo", repo.root());
        let json = stdout_of(cargo.args(["metadata", "--locked", "--format-version", "1"]).args(options))?;
        serde_json::from_str(&json).context("cargo metadata")
    }

    /// Returns the packages of the workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Returns the package of the workspace with that name.
    pub(crate) fn member(&self, name: &str) -> Result<&Package> {
        self.members().find(|package| package.name == name).with_context(|| format!("the workspace has no {name}"))
    }

    /// Returns the names of the packages that depend on a package of that name, in any version.
    pub(crate) fn users_of(&self, name: &str) -> Vec<String> {
        let called = |id: &str| self.packages.iter().find(|package| package.id == id).map(|package| &package.name);
        let uses = |node: &&Node| node.deps.iter().any(|edge| called(&edge.pkg).is_some_and(|used| used == name));
        self.resolve.nodes.iter().filter(uses).filter_map(|node| called(&node.id).cloned()).collect()
    }

    /// Returns every package that is linked into `package`: its normal dependencies and, transitively, theirs.
    ///
    /// Macros and build scripts, which only run in the compiler, are left out.
    pub(crate) fn linked_into(&self, package: &Package) -> Vec<&Package> {
        let nodes: BTreeMap<&str, &Node> = self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let packages: BTreeMap<&str, &Package> =
            self.packages.iter().map(|package| (package.id.as_str(), package)).collect();
        let mut found = BTreeSet::new();
        let mut open = vec![package.id.as_str()];
        while let Some(id) = open.pop() {
            let edges = nodes.get(id).map_or(&[][..], |node| &node.deps);
            let normal = edges.iter().filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            for edge in normal {
                let linked = packages.get(edge.pkg.as_str()).is_some_and(|package| !package.is_macro());
                if linked && found.insert(edge.pkg.as_str()) {
                    open.push(&edge.pkg);
                }
            }
        }
        found.into_iter().filter_map(|id| packages.get(id).copied()).collect()
    }
}

impl Package {
    /// Returns the direct dependencies inside the workspace, of any kind.
    pub(crate) fn own_dependencies(&self) -> impl Iterator<Item = &str> {
        self.dependencies.iter().filter(|found| found.source.is_none()).map(|found| found.name.as_str())
    }

    /// Tells whether `dependency` is a direct dependency, of any kind and for any platform.
    pub(crate) fn depends_on(&self, dependency: &str) -> bool {
        self.dependencies.iter().any(|found| found.name == dependency)
    }

    /// Returns the direct dependencies from registries.
    pub(crate) fn foreign_dependencies(&self) -> impl Iterator<Item = &str> {
        self.dependencies.iter().filter(|found| found.source.is_some()).map(|found| found.name.as_str())
    }

    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }
}
