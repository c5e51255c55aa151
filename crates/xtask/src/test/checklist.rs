//! Checklists (`tests/it/*_checklist.txt`) and the pages of ticks that are made from them.
//!
//! A line `## TITLE` begins a section and `# …` is a comment; every other line is an item: its id, then the requirement.
//! A section whose title ends in `by provider` has an item `ITEM.PROVIDER` for each provider.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The columns of a section `by provider`, in order.
const PROVIDERS: [&str; 3] = ["openai", "anthropic", "gemini"];

/// Item ids, each with the tests that cover it.
pub(super) type Covered = BTreeMap<String, BTreeSet<String>>;

/// Returns the items that a `covers("…")` call names; `ITEM.*` names the item of each provider.
pub(super) fn named(items: &str) -> impl Iterator<Item = String> + '_ {
    items.split_whitespace().flat_map(|item| match item.strip_suffix(".*") {
        Some(stem) => by_provider(stem),
        None => vec![item.to_owned()],
    })
}

fn by_provider(item: &str) -> Vec<String> {
    PROVIDERS.iter().map(|provider| format!("{item}.{provider}")).collect()
}

/// One line of a checklist.
struct Item<'a> {
    id: &'a str,
    requirement: &'a str,
    /// Ids of the item's cells: one, or one for each provider.
    cells: Vec<String>,
}

impl Item<'_> {
    /// No test is expected: the item is checked by hand, or not implemented yet.
    fn expects_no_test(&self) -> bool {
        self.requirement.ends_with("(needs keys)") || self.requirement.ends_with("(by hand)") || self.is_open()
    }

    fn is_open(&self) -> bool {
        self.requirement.ends_with("(open)")
    }
}

/// Returns the sections of a checklist with their titles.
fn sections(checklist: &str) -> Vec<(&str, Vec<Item<'_>>)> {
    let mut sections = Vec::new();
    for line in checklist.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push((title, Vec::new()));
        } else if let Some((title, items)) = sections.last_mut() {
            let (id, requirement) = line.split_once(' ').unwrap_or((line, ""));
            let cells = if title.ends_with(" by provider") { by_provider(id) } else { vec![id.to_owned()] };
            items.push(Item { id, requirement, cells });
        }
    }
    sections
}

/// Returns the ids on `checklist`.
pub(super) fn ids(checklist: &str) -> Vec<String> {
    sections(checklist).into_iter().flat_map(|(_, items)| items).flat_map(|item| item.cells).collect()
}

/// A page of ticks, and the lines that contradict its checklist.
pub(super) struct Page {
    pub(super) text: String,
    /// Each wrong item, as its line on the page, and the fault.
    pub(super) faults: Vec<(String, String)>,
}

/// Makes the page: a header, and a table for each section with the tests that cover its items.
pub(super) fn page(header: &str, checklist: &str, covered: &Covered) -> Page {
    let mut page = Page { text: header.to_owned(), faults: Vec::new() };
    let (mut n_covered, mut n_items) = (0, 0);
    for (title, items) in sections(checklist) {
        let columns = if title.ends_with(" by provider") {
            "| | OpenAI | Anthropic | Gemini | covered by |\n|---|---|---|---|---|"
        } else {
            "| | | covered by |\n|---|---|---|"
        };
        let _ = write!(page.text, "\n## {title}\n\n{columns}\n");
        for item in items {
            let tests: Vec<Option<&BTreeSet<String>>> = item.cells.iter().map(|cell| covered.get(cell)).collect();
            let line = row(&item, &tests);
            if item.is_open() && tests.iter().any(Option::is_some) {
                page.faults.push((line.clone(), format!("{}: a test covers an item that is listed as open", item.id)));
            } else if !item.expects_no_test() && tests.iter().any(Option::is_none) {
                page.faults.push((line.clone(), format!("{}: no test that ran and passed covers this item", item.id)));
            }
            n_items += tests.len();
            n_covered += tests.iter().flatten().count();
            page.text.push_str(&line);
            page.text.push('\n');
        }
    }
    let _ = write!(page.text, "\n{n_covered} of {n_items} are covered by tests.\n");
    page
}

fn row(item: &Item<'_>, tests: &[Option<&BTreeSet<String>>]) -> String {
    let ticks: Vec<&str> = tests.iter().map(|tests| if tests.is_some() { "☑" } else { "☐" }).collect();
    let names: BTreeSet<&String> = tests.iter().copied().flatten().flatten().collect();
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let (id, requirement, names) = (item.id, item.requirement, names.join(", "));
    match ticks.as_slice() {
        [tick] => format!("| {tick} `{id}` | {requirement} | {names} |"),
        ticks => format!("| `{id}` {requirement} | {} | {names} |", ticks.join(" | ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKLIST: &str = "# A comment.\n## Files\nfile.read Files are read\nfile.sign Files are signed (open)\n\
                             ## Parity by provider\nparity.text Text\n";

    fn covered(items: &[(&str, &str)]) -> Covered {
        let mut covered = Covered::new();
        for (item, test) in items {
            covered.entry((*item).to_owned()).or_default().insert((*test).to_owned());
        }
        covered
    }

    #[test]
    fn a_page_ticks_the_items_that_tests_cover() {
        let by_all: Vec<(String, &str)> = named("file.read parity.text.*").map(|item| (item, "x::t")).collect();
        let by_all: Vec<(&str, &str)> = by_all.iter().map(|(item, test)| (item.as_str(), *test)).collect();
        let Page { text, faults } = page("# P\n", CHECKLIST, &covered(&by_all));
        assert_eq!(faults, []);
        assert_eq!(
            text,
            "# P\n\n## Files\n\n| | | covered by |\n|---|---|---|\n| ☑ `file.read` | Files are read | `x::t` |\n\
             | ☐ `file.sign` | Files are signed (open) |  |\n\n## Parity by provider\n\n\
             | | OpenAI | Anthropic | Gemini | covered by |\n|---|---|---|---|---|\n\
             | `parity.text` Text | ☑ | ☑ | ☑ | `x::t` |\n\n4 of 5 are covered by tests.\n"
        );
    }

    #[test]
    fn an_item_without_a_test_is_a_fault_unless_it_is_open() {
        let faults = |items: &[(&str, &str)]| -> Vec<String> {
            page("", CHECKLIST, &covered(items)).faults.into_iter().map(|(_, fault)| fault).collect()
        };
        let parity = [("parity.text.openai", "t"), ("parity.text.anthropic", "t"), ("parity.text.gemini", "t")];
        let open = "file.sign: a test covers an item that is listed as open";
        assert_eq!(faults(&[&parity[..], &[("file.read", "t"), ("file.sign", "t")]].concat()), [open]);
        assert_eq!(faults(&parity), ["file.read: no test that ran and passed covers this item"]);
        let missing = "parity.text: no test that ran and passed covers this item";
        assert_eq!(faults(&[&parity[1..], &[("file.read", "t")]].concat()), [missing]);
    }

    #[test]
    fn ids_are_expanded_by_provider() {
        let ids = ids(CHECKLIST);
        assert_eq!(ids[..3], ["file.read", "file.sign", "parity.text.openai"]);
        assert_eq!(ids.len(), 5);
    }
}
