//! Which test shows which item of the client's checklist: writes `docs/llm-conformance.md` from `covers("…")` calls.
//!
//! A tick says that tests name the item, not that they pass; that is for the run to say. `UPDATE_EXPECT=1` writes the
//! page anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

/// Says which items of the checklist the running test shows.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}

/// The providers of the parity section, in the order of its columns.
const PROVIDERS: [&str; 3] = ["openai", "anthropic", "gemini"];

const HEADER: &str = "\
# What the LLM client is checked for

Written by `tests/it/llm_conformance.rs` from the tests that say `covers(\"…\")`; change those. An item holds while its
tests pass. Those that need a provider's key are run by hand. What stands behind the items is in
`tests/it/llm_checklist.txt`: U8 numbers are those of the unified client's specification, C numbers go beyond it.
";

fn root() -> &'static Path {
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

/// Returns the tests that name each item.
fn tests_by_item() -> BTreeMap<String, Vec<String>> {
    let mut files = Vec::new();
    sources(&root().join("crates/emend-llm/src"), &mut files);
    sources(&root().join("tests/it"), &mut files);
    sources(&root().join("tests/http/native"), &mut files);
    let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let module = file.strip_prefix(root()).expect("a file of the workspace");
        let module = module.to_string_lossy().replace('\\', "/");
        let module = module.trim_start_matches("crates/emend-llm/src/").trim_end_matches(".rs");
        let module =
            module.trim_end_matches("/tests").replace("tests/it/", "it/").replace("tests/http/native/", "http/");
        let module = module.replace('/', "::");
        let mut name = "";
        for line in text.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("fn ") {
                name = rest.split('(').next().unwrap_or_default();
            }
            let items = line.strip_prefix("covers(\"").and_then(|rest| rest.strip_suffix("\");"));
            for item in items.into_iter().flat_map(str::split_whitespace) {
                tests.entry(item.to_owned()).or_default().push(format!("`{module}::{name}`"));
            }
        }
    }
    tests
}

fn tick(tests: &[String]) -> &'static str {
    if tests.is_empty() { "☐" } else { "☑" }
}

fn page(tests: &mut BTreeMap<String, Vec<String>>) -> String {
    let mut page = HEADER.to_owned();
    let (mut n_shown, mut n_items) = (0, 0);
    let checklist = include_str!("llm_checklist.txt");
    for line in checklist.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        if let Some(title) = line.strip_prefix("## ") {
            let columns = if title == "Parity" {
                "| | OpenAI | Anthropic | Gemini | shown by |\n|---|---|---|---|---|"
            } else {
                "| | | shown by |\n|---|---|---|"
            };
            write!(page, "\n## {title}\n\n{columns}\n").expect("a string");
            continue;
        }
        let (item, asked) = line.split_once(' ').expect("an item and what it asks");
        let cells: Vec<Vec<String>> = if item.starts_with("U8.9.") {
            PROVIDERS.iter().map(|provider| tests.remove(&format!("{item}.{provider}")).unwrap_or_default()).collect()
        } else {
            vec![tests.remove(item).unwrap_or_default()]
        };
        n_items += cells.len();
        n_shown += cells.iter().filter(|tests| !tests.is_empty()).count();
        let ticks: Vec<&str> = cells.iter().map(|tests| tick(tests)).collect();
        let mut names = cells.concat();
        names.sort();
        names.dedup();
        if ticks.len() == 1 {
            writeln!(page, "| {} {item} | {asked} | {} |", ticks[0], names.join(", ")).expect("a string");
        } else {
            writeln!(page, "| {item} {asked} | {} | {} |", ticks.join(" | "), names.join(", ")).expect("a string");
        }
    }
    write!(page, "\n{n_shown} of {n_items} are shown by tests.\n").expect("a string");
    page
}

#[test]
fn every_item_is_ticked_by_the_tests_that_show_it() {
    let mut tests = tests_by_item();
    let page = page(&mut tests);
    assert!(tests.is_empty(), "not on the checklist: {tests:?}");
    println!("{}", page.lines().last().unwrap_or_default());
    expect_file!["../../docs/llm-conformance.md"].assert_eq(&page);
}

/// Each planted fault of the client says which item it unticks; the test that notices it must be one of those that
/// show the item. `cargo xtask test --all` plants them.
#[test]
fn every_planted_fault_unticks_an_item_of_the_test_that_notices_it() {
    let tests = tests_by_item();
    let mut n_faults = 0;
    for entry in std::fs::read_dir(root().join("tests/mutants")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("llm-") {
            continue;
        }
        let patch = std::fs::read_to_string(&path).expect("a patch");
        let field = |key: &str| patch.lines().find_map(|line| line.strip_prefix(key)).expect("a line of the header");
        let killer = field("Killed-by: emend-llm ").rsplit("::").next().unwrap_or_default();
        let shown = tests.get(field("Unticks: ")).into_iter().flatten();
        let by_killer = shown.into_iter().any(|test| test.trim_end_matches('`').ends_with(&format!("::{killer}")));
        assert!(by_killer, "{name}: {killer} does not show {}", field("Unticks: "));
        n_faults += 1;
    }
    println!("{n_faults} planted faults");
    assert!(n_faults >= 20, "only {n_faults} planted faults");
}
