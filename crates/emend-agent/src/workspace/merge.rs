//! Merges an edit of the user with what others have written since the text that the user edited.

use emend_edit::diff::{RegionKind, compare3};
use emend_edit::text::{first_eol, split_lines};

/// Returns the lines of both sides, if one of them has only inserted lines after those of `before`: no line of one side is
/// then in the way of the other. Inserted lines that both sides have are not repeated.
fn with_insertions<'a>(before: &[&str], our: &[&'a str], their: &[&'a str]) -> Option<Vec<&'a str>> {
    // The last line of a text may lack its line ending.
    let is_same = |a: &str, b: &str| a.trim_end_matches(['\n', '\r']) == b.trim_end_matches(['\n', '\r']);
    let is_kept = |side: &[&str]| side.len() >= before.len() && side.iter().zip(before).all(|(a, b)| is_same(a, b));
    let has = |lines: &[&str], part: &[&str]| lines.windows(part.len().max(1)).any(|found| found == part);
    let n = before.len();
    match (is_kept(our), is_kept(their)) {
        (true, true) if has(&their[n..], &our[n..]) => Some(their.to_vec()),
        (true, true) if has(&our[n..], &their[n..]) => None,
        (true, _) => Some([their, &our[n..]].concat()),
        (false, true) => Some([our, &their[n..]].concat()),
        (false, false) => None,
    }
}

/// Merges the changes of `ours` and `theirs` to `base`. On conflicting lines, those of `ours` stay, and lines that one side
/// has only inserted beside them.
///
/// Changes of neighbouring lines are one region for the comparison. If neither side changed the number of lines, each line
/// is merged by itself, so that typing in a line leaves an edit of the next line alone.
pub(super) fn favouring_ours(base: &str, ours: &str, theirs: &str) -> String {
    let (base_lines, our_lines, their_lines) = (split_lines(base), split_lines(ours), split_lines(theirs));
    let eol = first_eol(ours).or_else(|| first_eol(theirs)).unwrap_or("\n");
    let mut merged = String::with_capacity(ours.len().max(theirs.len()));
    for region in compare3(base, ours, theirs) {
        let (before, our, their) = (&base_lines[region.base], &our_lines[region.ours], &their_lines[region.theirs]);
        let both;
        let lines = match region.kind {
            RegionKind::Theirs => their,
            RegionKind::Conflict => {
                both = with_insertions(before, our, their);
                both.as_deref().unwrap_or(our)
            }
            _ => our,
        };
        let is_by_line =
            region.kind == RegionKind::Conflict && before.len() == our.len() && before.len() == their.len();
        for (at, line) in lines.iter().enumerate() {
            let line = if is_by_line && *line == before[at] { &their[at] } else { line };
            if !merged.is_empty() && !merged.ends_with(['\n', '\r']) {
                merged.push_str(eol);
            }
            merged.push_str(line);
        }
    }
    merged
}
