//! Checklists and the tests that show their items: reads `covers("…")` calls and writes pages of ticks.
//!
//! A tick says that tests name the item, not that they pass; that is for the run to say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tests that name each item.
pub(crate) type Shown = BTreeMap<String, Vec<String>>;

/// Says which items of a checklist the running test shows.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Returns the Rust files below `folder`, sorted.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the tests below `folders` that name items which begin with one of `prefixes`. Each folder comes with what
/// the names of its modules begin with.
pub(crate) fn tests_by_item(folders: &[(&str, &str)], prefixes: &[&str]) -> Shown {
    let mut shown = Shown::new();
    for (folder, prefix) in folders {
        let mut files = Vec::new();
        sources(&root().join(folder), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source file");
            let module = file.strip_prefix(root().join(folder)).expect("a file of the folder");
            let module = module.to_string_lossy().replace('\\', "/");
            let module = module.trim_end_matches(".rs").trim_end_matches("/tests").trim_end_matches("/mod");
            let module = format!("{prefix}{}", module.replace('/', "::"));
            let mut name = "";
            for line in text.lines().map(str::trim) {
                let function = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "));
                if let Some(rest) = function {
                    name = rest.split('(').next().unwrap_or_default();
                }
                let items = line.strip_prefix("covers(\"").and_then(|rest| rest.strip_suffix("\");"));
                for item in items.into_iter().flat_map(str::split_whitespace) {
                    if prefixes.iter().any(|prefix| item.starts_with(prefix)) {
                        shown.entry(item.to_owned()).or_default().push(format!("`{module}::{name}`"));
                    }
                }
            }
        }
    }
    shown
}

/// Returns the tick of an item that `tests` show.
pub(crate) fn tick(tests: &[String]) -> &'static str {
    if tests.is_empty() { "☐" } else { "☑" }
}

/// Checks that the patches of planted faults whose names begin with `prefix` say which item they untick, and that the
/// test of `package` which notices each is one of those that show the item. Returns how many there are.
pub(crate) fn check_planted_faults(shown: &Shown, prefix: &str, package: &str) -> usize {
    let mut n_faults = 0;
    for entry in std::fs::read_dir(root().join("tests/mutants")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(prefix) {
            continue;
        }
        let patch = std::fs::read_to_string(&path).expect("a patch");
        let field = |key: &str| patch.lines().find_map(|line| line.strip_prefix(key));
        let killer = field(&format!("Killed-by: {package} ")).unwrap_or_default();
        let killer = killer.rsplit("::").next().unwrap_or_default();
        let item = field("Unticks: ").unwrap_or_else(|| panic!("{name} unticks nothing"));
        let tests = shown.get(item).into_iter().flatten();
        let by_killer = tests.into_iter().any(|test| test.trim_end_matches('`').ends_with(&format!("::{killer}")));
        assert!(by_killer, "{name}: {killer} does not show {item}");
        n_faults += 1;
    }
    println!("{n_faults} planted faults");
    n_faults
}
