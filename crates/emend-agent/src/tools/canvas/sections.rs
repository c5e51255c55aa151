//! Addresses of Markdown sections: headings, and list items within a section.
//!
//! An address is one or more headings with `>` between them: `## Plan`, `# Notes > ## Plan`, `## Plan [2]` for the second
//! heading with this text. Each heading is looked for inside the section of the one before it. A section ends before the
//! next heading of the same or a higher level. Lines inside code fences are neither headings nor list items.

use std::ops::Range;

/// Why an address names no lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AddressError {
    #[error("{text:?} is not a heading; write it as in the text, for example `## Plan`")]
    NotAHeading { text: String },
    #[error("the canvas has no section {text:?}; its headings are: {headings}")]
    NoSection { text: String, headings: String },
    #[error("{n} sections are called {text:?}; name one as `{text} [1]` to `{text} [{n}]`")]
    Ambiguous { text: String, n: usize },
    #[error("the section has {n} list items; there is no item {item}")]
    NoItem { item: usize, n: usize },
}

/// A heading of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Heading {
    /// Line, from 0.
    line: usize,
    level: usize,
    text: String,
}

/// Returns level and text of a heading line.
fn heading_of(line: &str) -> Option<(usize, &str)> {
    let trimmed = line.trim_end();
    let indent = trimmed.len() - trimmed.trim_start_matches(' ').len();
    let rest = trimmed.trim_start_matches(' ');
    let level = rest.bytes().take_while(|byte| *byte == b'#').count();
    if indent > 3 || !(1..=6).contains(&level) {
        return None;
    }
    let text = rest[level..].strip_prefix([' ', '\t']).or_else(|| rest[level..].is_empty().then_some(""))?;
    let text = text.trim();
    // A closing sequence of `#` is not part of the text.
    let open = text.trim_end_matches('#');
    let is_closed = open.len() < text.len() && (open.is_empty() || open.ends_with([' ', '\t']));
    Some((level, if is_closed { open.trim_end() } else { text }))
}

/// Says for each line whether it is inside a code fence, the fences included.
fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut fence: Option<(u8, usize)> = None;
    let mut marks = Vec::with_capacity(lines.len());
    for line in lines {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let mark = trimmed.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'));
        let width = mark.map_or(0, |mark| trimmed.bytes().take_while(|byte| *byte == mark).count());
        match (fence, mark) {
            (Some((open, length)), Some(mark))
                if mark == open && width >= length && trimmed[width..].trim().is_empty() && indent <= 3 =>
            {
                fence = None;
                marks.push(true);
            }
            (None, Some(mark)) if width >= 3 && indent <= 3 => {
                fence = Some((mark, width));
                marks.push(true);
            }
            _ => marks.push(fence.is_some()),
        }
    }
    marks
}

fn headings(lines: &[&str], fenced: &[bool]) -> Vec<Heading> {
    let is_open = |(line, text): (usize, &&str)| {
        let (level, text) = if fenced[line] { return None } else { heading_of(text)? };
        Some(Heading { line, level, text: text.to_owned() })
    };
    lines.iter().enumerate().filter_map(is_open).collect()
}

/// Returns the lines (from 0) of the section that an address names, its heading included.
pub(super) fn section(lines: &[&str], address: &str) -> Result<Range<usize>, AddressError> {
    let fenced = fenced(lines);
    let headings = headings(lines, &fenced);
    let mut within = 0..lines.len();
    for part in address.split(" > ") {
        let part = part.trim();
        let (text, number) = match part.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")) {
            Some((text, number)) => (text, number.parse::<usize>().ok()),
            None => (part, None),
        };
        let (level, wanted) = heading_of(text).ok_or_else(|| AddressError::NotAHeading { text: part.to_owned() })?;
        let is_wanted =
            |heading: &&Heading| within.contains(&heading.line) && heading.level == level && heading.text == wanted;
        let found: Vec<&Heading> = headings.iter().filter(is_wanted).collect();
        let chosen = match (found.len(), number) {
            (0, _) => None,
            (1, None) => Some(found[0]),
            (n, None) => return Err(AddressError::Ambiguous { text: text.to_owned(), n }),
            (_, Some(number)) => number.checked_sub(1).and_then(|at| found.get(at).copied()),
        };
        let heading =
            chosen.ok_or_else(|| AddressError::NoSection { text: part.to_owned(), headings: listed(&headings) })?;
        let ends = |other: &&Heading| other.line > heading.line && other.level <= heading.level;
        let end = headings.iter().find(ends).map_or(lines.len(), |next| next.line);
        within = heading.line..end.min(within.end);
    }
    Ok(within)
}

/// Returns the headings as an error shows them.
fn listed(headings: &[Heading]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> =
        headings.iter().take(SHOWN).map(|heading| format!("{} {}", "#".repeat(heading.level), heading.text)).collect();
    match headings.len() {
        0 => "none".to_owned(),
        n if n > SHOWN => format!("{} and {} more", shown.join(", "), n - SHOWN),
        _ => shown.join(", "),
    }
}

/// Returns the lines (from 0) of a list item of a section, counted from 1 among the items of the outermost lists.
pub(super) fn item(lines: &[&str], section: Range<usize>, item: usize) -> Result<Range<usize>, AddressError> {
    let fenced = fenced(lines);
    let marker = |line: usize| if fenced[line] { None } else { list_marker(lines[line]) };
    let mut items: Vec<(usize, usize)> = Vec::new();
    for line in section.clone() {
        let Some(indent) = marker(line) else { continue };
        match items.last() {
            // An item that is indented further belongs to the one before it.
            Some((_, outer)) if indent > *outer + 1 && !is_parted(lines, items[items.len() - 1].0, line, *outer) => {}
            _ => items.push((line, indent)),
        }
    }
    let at = item.checked_sub(1).filter(|at| *at < items.len());
    let at = at.ok_or(AddressError::NoItem { item, n: items.len() })?;
    let (start, indent) = items[at];
    let next = items.get(at + 1).map_or(section.end, |(line, _)| *line);
    let mut end = start + 1;
    let mut is_inside_fence = false;
    for line in start + 1..next {
        let text = lines[line];
        let is_blank = text.trim().is_empty();
        let is_indented = text.len() - text.trim_start().len() > indent;
        // A fence belongs to the item if its first line is indented.
        is_inside_fence = fenced[line] && (is_inside_fence || is_indented);
        let is_inside = is_indented || is_inside_fence;
        // A line without indentation after a blank one ends the item; directly after the item it continues it.
        if is_blank {
            continue;
        }
        if !is_inside && (end < line || fenced[line] || heading_of(text).is_some()) {
            break;
        }
        end = line + 1;
    }
    Ok(start..end)
}

/// Returns whether a line of text between two markers ends the list of the first.
fn is_parted(lines: &[&str], from: usize, to: usize, indent: usize) -> bool {
    lines[from + 1..to].windows(2).any(|pair| {
        let text = pair[1];
        pair[0].trim().is_empty() && !text.trim().is_empty() && text.len() - text.trim_start().len() <= indent
    })
}

/// Returns the indentation of a list item: `-`, `*` or `+`, or a number with `.` or `)`.
fn list_marker(line: &str) -> Option<usize> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let after = match digits {
        0 => trimmed.strip_prefix(['-', '*', '+'])?,
        1..=9 => trimmed[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    (after.is_empty() || after.starts_with([' ', '\t', '\n', '\r'])).then_some(indent)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const TEXT: &str = "\
# Notes
intro
## Plan
- one
  - inner
  more
- two

text
## Plan
1. first
2) second
```
## not a heading
- not an item
```
### Deep ###
x
# End
";

    fn check(address: &str, wanted_item: Option<usize>, expected: Result<Range<usize>, &str>) {
        let lines: Vec<&str> = TEXT.split_inclusive('\n').collect();
        let found = section(&lines, address).and_then(|section| match wanted_item {
            Some(number) => item(&lines, section, number),
            None => Ok(section),
        });
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{address} {wanted_item:?}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{address}: {error}"),
            (found, expected) => panic!("{address} {wanted_item:?}: {found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn addresses_name_lines() {
        check("# Notes", None, Ok(0..18));
        check("# End", None, Ok(18..19));
        check("## Plan [1]", None, Ok(2..9));
        check("# Notes > ## Plan [2]", None, Ok(9..18));
        check("## Plan [2] > ### Deep", None, Ok(16..18));
        check("## Plan [1]", Some(1), Ok(3..6));
        check("## Plan [1]", Some(2), Ok(6..7));
        check("## Plan [2]", Some(1), Ok(10..11));
        check("## Plan [2]", Some(2), Ok(11..12));
    }

    #[test]
    fn wrong_addresses_say_what_exists() {
        check("## Plan", None, Err("2 sections"));
        check("## not a heading", None, Err("# Notes, ## Plan, ## Plan, ### Deep, # End"));
        check("### Plan", None, Err("no section"));
        check("# End > ## Plan [1]", None, Err("no section"));
        check("## Plan [3]", None, Err("no section"));
        check("Plan", None, Err("not a heading"));
        check("## Plan [1]", Some(3), Err("2 list items"));
        check("## Plan [1]", Some(0), Err("no item 0"));
    }
}
