//! Changes of Markdown texts: a table of contents, a sorted list, a new section.
//!
//! A text is a list of lines. `outline` parses their structure, `inline` the markup inside a line.

mod change;
mod contents;
mod inline;
mod list;
mod outline;
mod section;
#[cfg(test)]
mod testing;

pub(crate) use change::{Change, LineEdit};
pub(crate) use contents::contents;
pub(crate) use inline::plain;
pub(crate) use list::sort_list;
pub(crate) use section::{NewSection, add_section};

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::testing::made;
    use super::*;
    use crate::testing::config;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Makes `change` in random texts of `lines`, twice: the second change must have no effect. Then calls `check`.
    fn check_twice(
        lines: Vec<&'static str>,
        change: impl Fn(&[&str]) -> Result<Change, String>,
        check: impl Fn(&str, &str) -> Result<(), TestCaseError>,
    ) {
        let changed = Cell::new(0);
        let lines = prop::collection::vec(prop::sample::select(lines), 0..14);
        proptest!(config(2_000), |(lines in lines)| {
            let text = format!("# H\n{}", lines.join("\n"));
            let once = made(&text, &change);
            if once != "unchanged" && !once.starts_with("error") {
                prop_assert_eq!(made(&once, &change), "unchanged", "{}", once);
                check(&text, &once)?;
                changed.set(changed.get() + 1);
            }
        });
        assert!(changed.get() >= config(2_000).cases / 20, "{changed:?} cases changed anything");
    }

    #[test]
    fn a_table_of_contents_leaves_the_rest_alone() {
        let lines = vec![
            "# T",
            "## A",
            "## a",
            "### `b`",
            "H",
            "---",
            "- y",
            "text",
            "",
            "```",
            "<!-- toc -->",
            "<!-- tocstop -->",
            "<!--",
            "-->",
        ];
        check_twice(lines, contents, |text, with_table| {
            // All lines outside of the table are unchanged and in order.
            let mut rest = with_table.lines();
            let in_order = |line: &str| rest.any(|other| other == line);
            let begin = text.find("<!-- toc -->").unwrap_or(text.len());
            prop_assert!(text[..begin].lines().all(in_order), "{}", with_table);
            Ok(())
        });
    }

    #[test]
    fn sorting_loses_no_line() {
        let lines = vec!["- y", "- X", "  - z", "  text", "lazy", "", "- a", "```", "## B", "1. q"];
        let sort = |lines: &[&str]| sort_list(lines, "h");
        check_twice(lines, sort, |text, sorted| {
            let all = |text: &str| {
                let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
                lines.sort();
                lines
            };
            prop_assert_eq!(all(sorted), all(text));
            Ok(())
        });
    }
}
