//! Checks the documents: every relative link and every path in backticks names an existing file or folder.
//!
//! Paths count if they begin with a top-level folder of the repository. A path with a placeholder (`NAME`, `*`) is skipped.

use std::path::{Path, PathBuf};

use crate::checklist::root;

/// Top-level folders; a text in backticks that begins with one of them is a path.
const FOLDERS: [&str; 5] = ["crates/", "docs/", "pkg/", "tests/", "web/"];

/// Folders that exist only after a build.
const BUILT: [&str; 2] = ["pkg/dist", "web/dist"];

/// Returns the documents: top-level pages, and `docs/` with its folders.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("docs")];
    let markdown = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
    for entry in std::fs::read_dir(root()).expect("the root") {
        found.extend(Some(entry.expect("an entry").path()).filter(|path| markdown(path)));
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if markdown(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the texts in backticks that are paths.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let is_path = |text: &&str| FOLDERS.iter().any(|folder| text.starts_with(folder)) && !text.contains(' ');
    let has_placeholder =
        |text: &str| text.contains(['*', '{', '<', '…']) || text.contains("NAME") || text.contains("NNNN");
    quoted.filter(is_path).filter(|path| !has_placeholder(path)).collect()
}

/// Returns the targets of relative links, without fragments.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.map(|target| target.split('#').next().unwrap_or_default());
    targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' ')).collect()
}

/// Returns the broken references of one document.
fn broken(document: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(document).expect("a document");
    let folder = document.parent().expect("its folder");
    let links = links(&text).into_iter().filter(|link| !folder.join(link).exists());
    let is_built = |path: &str| BUILT.iter().any(|folder| path.starts_with(folder));
    let paths = paths(&text).into_iter().filter(|path| {
        let path = path.split(':').next().unwrap_or_default();
        !is_built(path) && !root().join(path).exists()
    });
    let name = document.strip_prefix(root()).expect("a file of the repository").display();
    links.chain(paths).map(|target| format!("{name}: {target} does not exist")).collect()
}

#[test]
fn every_path_and_link_in_the_documents_exists() {
    let documents = documents();
    assert!(documents.len() > 20, "only {} documents", documents.len());
    let broken: Vec<String> = documents.iter().flat_map(|document| broken(document)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn paths_and_links_are_recognized() {
    let text = "See `crates/x/src/lib.rs` and `cargo`, `docs/NNNN-x.md`, [a](docs/a.md#part), [b](https://b.c/d).\n";
    assert_eq!(paths(text), ["crates/x/src/lib.rs"]);
    assert_eq!(links(text), ["docs/a.md"]);
    assert!(paths("```\n`crates/none.rs`\n```\n").is_empty());
}
