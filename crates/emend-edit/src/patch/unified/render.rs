//! Writes hunks as a unified diff.

use crate::patch::unified::model::UnifiedHunk;

/// Returns hunks that state their lines as unified diff text, without file headers.
///
/// Given [`UnifiedResult::corrected`](crate::patch::unified::UnifiedResult::corrected), this is the diff as it was
/// applied, for display and for other tools.
#[must_use]
pub fn render(hunks: &[UnifiedHunk]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let mut n_gained = 0;
    for hunk in hunks {
        let (n_old, n_new) = (hunk.n_old(), hunk.lines.new_lines().count());
        let start = hunk.stated().unwrap_or_default();
        // A side without lines states the line above it.
        let first = |start: usize, n_lines: usize| start + usize::from(n_lines > 0);
        let new_start = first(start.saturating_add_signed(n_gained), n_new);
        let _ = writeln!(text, "@@ -{},{n_old} +{new_start},{n_new} @@", first(start, n_old));
        for (kind, line) in hunk.lines.iter() {
            text.extend([kind.marker()]);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
        n_gained += n_new.cast_signed() - n_old.cast_signed();
    }
    text
}
