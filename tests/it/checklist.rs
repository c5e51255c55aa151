//! Checklists and the tests that cover their items: reads `covers("…")` calls and writes pages of ticks.
//!
//! A tick means that at least one test names the item. Whether the test passes is shown by the test run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Item ids, each with the tests that name it.
pub(crate) type Shown = BTreeMap<String, Vec<String>>;

/// Names the checklist items that the running test covers.
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

/// Returns the tests below `folders` by the items that they name. Each folder comes with the prefix of its module paths.
/// `ITEM.*` names the item of each provider.
pub(crate) fn tests_by_item(folders: &[(&str, &str)]) -> Shown {
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
                    let items = match item.strip_suffix(".*") {
                        Some(stem) => PROVIDERS.iter().map(|provider| format!("{stem}.{provider}")).collect(),
                        None => vec![item.to_owned()],
                    };
                    for item in items {
                        shown.entry(item).or_default().push(format!("`{module}::{name}`"));
                    }
                }
            }
        }
    }
    shown
}

/// Returns the ids on `checklist`, a section `by provider` expanded. Fails on an id that is listed twice.
fn ids(checklist: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut by_provider = false;
    for line in checklist.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        if let Some(title) = line.strip_prefix("## ") {
            by_provider = title.ends_with(" by provider");
            continue;
        }
        let id = line.split(' ').next().unwrap_or_default();
        let expanded: Vec<String> = if by_provider {
            PROVIDERS.iter().map(|provider| format!("{id}.{provider}")).collect()
        } else {
            vec![id.to_owned()]
        };
        for id in expanded {
            assert!(ids.insert(id.clone()), "{id} is listed twice");
        }
    }
    ids
}

/// Splits `shown` by `checklist`: returns the tests of its items and the tests of all other items.
pub(crate) fn split(shown: Shown, checklist: &str) -> (Shown, Shown) {
    let ids = ids(checklist);
    shown.into_iter().partition(|(item, _)| ids.contains(item))
}

/// Returns the tick of an item that `tests` cover.
fn tick(tests: &[String]) -> &'static str {
    if tests.is_empty() { "☐" } else { "☑" }
}

/// The columns of a section `by provider`, in order.
const PROVIDERS: [&str; 3] = ["openai", "anthropic", "gemini"];

/// Returns a page of ticks: a header, and a table for each section of a checklist, with the tests that cover its items.
/// A section whose title ends in `by provider` has an item `ITEM.PROVIDER` for each provider.
///
/// Fails on an item without a test, unless its text ends in `(needs keys)` or `(by hand)`.
pub(crate) fn page(header: &str, checklist: &str, shown: &Shown) -> String {
    let mut page = header.to_owned();
    let (mut n_shown, mut n_items) = (0, 0);
    let mut by_provider = false;
    for line in checklist.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        if let Some(title) = line.strip_prefix("## ") {
            by_provider = title.ends_with(" by provider");
            let columns = if by_provider {
                "| | OpenAI | Anthropic | Gemini | covered by |\n|---|---|---|---|---|"
            } else {
                "| | | covered by |\n|---|---|---|"
            };
            write!(page, "\n## {title}\n\n{columns}\n").expect("a string");
            continue;
        }
        let (item, requirement) = line.split_once(' ').expect("an id and a requirement");
        let tests = |item: &str| shown.get(item).cloned().unwrap_or_default();
        let cells: Vec<Vec<String>> = if by_provider {
            PROVIDERS.iter().map(|provider| tests(&format!("{item}.{provider}"))).collect()
        } else {
            vec![tests(item)]
        };
        let manual = requirement.ends_with("(needs keys)") || requirement.ends_with("(by hand)");
        assert!(manual || cells.iter().all(|tests| !tests.is_empty()), "no test covers {item}");
        n_items += cells.len();
        n_shown += cells.iter().filter(|tests| !tests.is_empty()).count();
        let ticks: Vec<&str> = cells.iter().map(|tests| tick(tests)).collect();
        let mut names = cells.concat();
        names.sort();
        names.dedup();
        if by_provider {
            writeln!(page, "| `{item}` {requirement} | {} | {} |", ticks.join(" | "), names.join(", "))
                .expect("a string");
        } else {
            writeln!(page, "| {} `{item}` | {requirement} | {} |", ticks.concat(), names.join(", ")).expect("a string");
        }
    }
    write!(page, "\n{n_shown} of {n_items} are covered by tests.\n").expect("a string");
    page
}

/// Checks the patches of planted faults whose names begin with `prefix`: each names a checklist item (`Unticks:`), and
/// the test of `package` that detects the fault (`Killed-by:`) covers this item. Returns the number of patches.
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
        let item = field("Unticks: ").unwrap_or_else(|| panic!("{name} has no line Unticks"));
        let tests = shown.get(item).into_iter().flatten();
        let by_killer = tests.into_iter().any(|test| test.trim_end_matches('`').ends_with(&format!("::{killer}")));
        assert!(by_killer, "{name}: {killer} does not cover {item}");
        n_faults += 1;
    }
    println!("{n_faults} planted faults");
    n_faults
}
