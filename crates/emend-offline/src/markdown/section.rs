//! Adds a heading with a text.

use super::change::{Change, LineEdit};
use super::inline::plain;
use super::outline::Outline;

/// A heading to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewSection {
    /// The heading's text.
    pub(crate) title: String,
    /// Text under the heading; may be empty.
    pub(crate) text: String,
    /// Level, 1 to 6. If absent, 2 or the level of the heading before it.
    pub(crate) level: Option<usize>,
    /// Heading after whose section it is inserted; if absent, the end of the file.
    pub(crate) after: Option<String>,
}

/// Returns the change that inserts `section` before the next heading of its level or above.
pub(crate) fn add_section(lines: &[&str], section: &NewSection) -> Result<Change, String> {
    let outline = Outline::of(lines);
    let after = section.after.as_deref().map(|name| outline.heading(name)).transpose()?;
    let level = section.level.unwrap_or_else(|| after.map_or(2, |heading| heading.level.max(2)));
    let new_text: Vec<&str> = section.text.trim_matches('\n').lines().collect();
    let mut added = vec![format!("{} {}", "#".repeat(level), section.title)];
    if !new_text.is_empty() {
        added.push(String::new());
        added.extend(new_text.iter().map(|line| (*line).to_owned()));
    }
    let exists = outline.headings.iter().any(|heading| {
        let end = (heading.lines.start + added.len()).min(lines.len());
        heading.level == level && lines[heading.lines.start..end] == added
    });
    let name = plain(&section.title);
    if exists {
        return Ok(Change {
            edit: None,
            summary: format!("The heading \"{name}\" with this text is in FILE already; nothing was changed."),
        });
    }
    let next = after.and_then(|after| {
        outline.headings.iter().find(|heading| heading.lines.start >= after.lines.end && heading.level <= level)
    });
    let place = match next {
        Some(next) => {
            added.push(String::new());
            next.lines.start
        }
        None => lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1),
    };
    if place > 0 && !lines[place - 1].trim().is_empty() {
        added.insert(0, String::new());
    }
    let edit = LineEdit { range: place..place, lines: added };
    Ok(Change { edit: Some(edit), summary: format!("Added the heading \"{name}\" to FILE.") })
}

#[cfg(test)]
mod tests {
    use super::super::testing::made;
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(text: &str, level: Option<usize>, after: Option<&str>, expected: &str) {
        let section = NewSection { title: "N".into(), text: "t".into(), level, after: after.map(str::to_owned) };
        assert_eq!(made(text, |lines| add_section(lines, &section)), expected);
    }

    #[test]
    fn a_section_goes_to_the_end() {
        check("", None, None, "## N\n\nt");
        check("a", None, None, "a\n\n## N\n\nt");
        check("a\n\n\n", Some(3), None, "a\n\n### N\n\nt\n\n\n");
    }

    #[test]
    fn a_section_is_inserted_after_another_with_its_subsections() {
        check("# A\n## B\n### C\n## D", None, Some("b"), "# A\n## B\n### C\n\n## N\n\nt\n\n## D");
        check("# A\n\n## B\n### C\n", None, Some("A"), "# A\n\n## N\n\nt\n\n## B\n### C\n");
        check("## B\n\n### C\n", Some(3), Some("B"), "## B\n\n### N\n\nt\n\n### C\n");
        check("## B\ntext\n", None, Some("## B"), "## B\ntext\n\n## N\n\nt\n");
        check("# A", None, Some("X"), "error: FILE has no heading \"X\"; it has \"A\".");
    }

    #[test]
    fn an_existing_section_is_not_added_again() {
        check("# A\n\n## N\n\nt\n", None, None, "unchanged");
        check("# A\n\n## N\n\nother\n", None, None, "# A\n\n## N\n\nother\n\n## N\n\nt\n");
    }
}
