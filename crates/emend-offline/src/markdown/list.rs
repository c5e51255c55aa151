//! Sorts the items of a list; nested lines move with their item.

use std::ops::Range;

use super::change::{Change, LineEdit};
use super::inline::plain;
use super::outline::{Outline, item_marker};

/// Returns the change that sorts the first list under the heading `name`, without regard to case.
///
/// Blank lines and numbers keep their positions; equal items keep their order.
pub(crate) fn sort_list(lines: &[&str], name: &str) -> Result<Change, String> {
    let outline = Outline::of(lines);
    let heading = outline.heading(name)?;
    let next = outline.headings.iter().find(|other| other.lines.start >= heading.lines.end);
    let section = heading.lines.end..next.map_or(lines.len(), |next| next.lines.start);
    let title = plain(&heading.text);
    let items = items(lines, &outline, section);
    let (Some(first), Some(last)) = (items.first(), items.last()) else {
        return Err(format!("There is no list under \"{title}\" in FILE."));
    };
    let range = first.start..last.end;
    let mut order: Vec<&Range<usize>> = items.iter().collect();
    order.sort_by_cached_key(|item| sort_key(lines[item.start]));
    let mut sorted: Vec<String> = Vec::new();
    for (place, item) in order.iter().enumerate() {
        sorted.extend(moved(&lines[(*item).clone()], lines[items[place].start]));
        if let Some(next) = items.get(place + 1) {
            sorted.extend(lines[items[place].end..next.start].iter().map(|line| (*line).to_owned()));
        }
    }
    if lines[range.clone()] == sorted {
        let summary = format!("The list under \"{title}\" in FILE is in order already; nothing was changed.");
        return Ok(Change { edit: None, summary });
    }
    let summary = format!("Sorted the list under \"{title}\" in FILE: {} items.", items.len());
    Ok(Change { edit: Some(LineEdit { range, lines: sorted }), summary })
}

/// Returns the lines of each item of the first list in `section`, without trailing blank lines.
fn items(lines: &[&str], outline: &Outline, section: Range<usize>) -> Vec<Range<usize>> {
    let marker_at = |index: usize| if outline.opaque[index] { None } else { item_marker(lines[index]) };
    let mut items: Vec<Range<usize>> = Vec::new();
    let Some(start) = section.clone().find(|&index| marker_at(index).is_some()) else { return items };
    let Some(first) = marker_at(start) else { return items };
    let mut after_blank = false;
    for (index, line) in lines.iter().enumerate().take(section.end).skip(start) {
        if line.trim().is_empty() {
            after_blank = true;
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        match marker_at(index) {
            Some(marker) if marker.indent > first.indent + 1 => {}
            Some(marker) if marker.kind() == first.kind() && marker.is_ordered() == first.is_ordered() => {
                items.push(index..index + 1);
            }
            Some(_) => break,
            // Inside the code block of an item the indentation is irrelevant.
            None if outline.opaque[index] && outline.opaque[index - 1] => {}
            None if indent > first.indent => {}
            // A line without indentation continues the paragraph before it, unless it begins another block.
            None if after_blank || outline.opaque[index] || line.starts_with(['>', '|', '<']) => break,
            None => {}
        }
        if let Some(item) = items.last_mut() {
            item.end = index + 1;
        }
        after_blank = false;
    }
    items
}

/// Returns the sort key of an item: the visible text of its first line.
fn sort_key(line: &str) -> String {
    let mark = item_marker(line).map_or(0, |marker| marker.indent + marker.mark.len());
    let text = line[mark..].trim();
    let text = ["[ ]", "[x]", "[X]"].iter().find_map(|task| text.strip_prefix(task)).unwrap_or(text);
    plain(text).to_lowercase()
}

/// Returns the lines of an item at the position of another item, whose first line is `place`: the number stays with the
/// position.
fn moved(item: &[&str], place: &str) -> Vec<String> {
    let unchanged = || item.iter().map(|line| (*line).to_owned()).collect();
    let (Some(own), Some(new)) = (item_marker(item[0]), item_marker(place)) else { return unchanged() };
    if !own.is_ordered() {
        return unchanged();
    }
    let rest = &item[0][own.indent + own.mark.len()..];
    let mut lines = vec![format!("{}{}{rest}", " ".repeat(own.indent), new.mark)];
    for line in &item[1..] {
        // Nested lines follow the width of the number.
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let wanted = (spaces + new.mark.len()).saturating_sub(own.mark.len());
        let is_nested = spaces > own.indent && !line.trim().is_empty();
        lines.push(if is_nested { format!("{}{}", " ".repeat(wanted), &line[spaces..]) } else { (*line).to_owned() });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::testing::made;
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let sorted = made(&format!("# H\n{text}"), |lines| sort_list(lines, "h"));
        assert_eq!(sorted.strip_prefix("# H\n").unwrap_or(&sorted), expected);
    }

    #[test]
    fn items_are_sorted_with_their_nested_lines() {
        check("- b\n- A\n- c", "- A\n- b\n- c");
        check("- b\n  - z\n  - y\n- a\n  text\n", "- a\n  text\n- b\n  - z\n  - y\n");
        check("- b\n\n  more\n- a\n\nafter", "- a\n- b\n\n  more\n\nafter");
        check("- b\nlazy\n- a\n", "- a\n- b\nlazy\n");
        check("- b\n  ```\n- x\n\nend\n  ```\n- a", "- a\n- b\n  ```\n- x\n\nend\n  ```");
        check("- [x] b\n- [ ] *a*\n- `C`\n", "- [ ] *a*\n- [x] b\n- `C`\n");
        check("- b 1\n- a\n- B 1\n", "- a\n- b 1\n- B 1\n");
    }

    #[test]
    fn blank_lines_and_numbers_stay_in_their_places() {
        check("- b\n\n- a\n- c\n", "- a\n\n- b\n- c\n");
        check("2. b\n3. a\n", "2. a\n3. b\n");
        check("9. b\n   x\n10. a\n    y", "9. a\n   y\n10. b\n    x");
    }

    #[test]
    fn only_the_first_list_is_sorted() {
        check("intro\n\n- b\n- a\n\ntext\n- 0\n", "intro\n\n- a\n- b\n\ntext\n- 0\n");
        check("- b\n- a\n* 0", "- a\n- b\n* 0");
        check("- b\n- a\n## I\n- 0", "- a\n- b\n## I\n- 0");
    }

    #[test]
    fn unsortable_lists_are_reported() {
        check("- a\n- b\n", "unchanged");
        check("- a\n", "unchanged");
        check("text\n## I\n- b\n- a", "error: There is no list under \"H\" in FILE.");
        let missing = made("# A\n## `b`", |lines| sort_list(lines, "C"));
        assert_eq!(missing, "error: FILE has no heading \"C\"; it has \"A\", \"b\".");
    }
}
