//! Checklists and the tests that show their items: reads `covers("…")` calls and writes pages of ticks.
//!
//! A tick says that tests name the item, not that they pass; that is for the run to say.

use std::collections::BTreeMap;
use std::fmt::Write as _;
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
fn tick(tests: &[String]) -> &'static str {
    if tests.is_empty() { "☐" } else { "☑" }
}

/// The providers of a section that has a column for each, in their order.
const PROVIDERS: [&str; 3] = ["openai", "anthropic", "gemini"];

/// Returns a page of ticks: a header, and a table for each section of a checklist, with the tests that show its items.
/// Tests are taken out of `shown`; what is left there is on no list. A section whose title ends in `by provider` has an
/// item `ITEM.PROVIDER` for each provider.
pub(crate) fn page(header: &str, checklist: &str, shown: &mut Shown) -> String {
    let mut page = header.to_owned();
    let (mut n_shown, mut n_items) = (0, 0);
    let mut by_provider = false;
    for line in checklist.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        if let Some(title) = line.strip_prefix("## ") {
            by_provider = title.ends_with(" by provider");
            let columns = if by_provider {
                "| | OpenAI | Anthropic | Gemini | shown by |\n|---|---|---|---|---|"
            } else {
                "| | | shown by |\n|---|---|---|"
            };
            write!(page, "\n## {title}\n\n{columns}\n").expect("a string");
            continue;
        }
        let (item, asked) = line.split_once(' ').expect("an item and what it asks");
        let cells: Vec<Vec<String>> = if by_provider {
            PROVIDERS.iter().map(|provider| shown.remove(&format!("{item}.{provider}")).unwrap_or_default()).collect()
        } else {
            vec![shown.remove(item).unwrap_or_default()]
        };
        n_items += cells.len();
        n_shown += cells.iter().filter(|tests| !tests.is_empty()).count();
        let ticks: Vec<&str> = cells.iter().map(|tests| tick(tests)).collect();
        let mut names = cells.concat();
        names.sort();
        names.dedup();
        if by_provider {
            writeln!(page, "| {item} {asked} | {} | {} |", ticks.join(" | "), names.join(", ")).expect("a string");
        } else {
            writeln!(page, "| {} {item} | {asked} | {} |", ticks.concat(), names.join(", ")).expect("a string");
        }
    }
    write!(page, "\n{n_shown} of {n_items} are shown by tests.\n").expect("a string");
    page
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
