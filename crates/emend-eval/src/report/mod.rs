//! Reports: a table for the terminal, JSON lines for programs, and one page with plots.

mod page;
mod table;

pub use page::page;
pub use table::table;

use crate::score::Matrix;

/// Returns the matrix as JSON lines: the head, each task, each row.
#[must_use]
pub fn json_lines(matrix: &Matrix) -> String {
    let mut lines = vec![matrix.head().to_string()];
    for result in &matrix.results {
        let mut value = serde_json::json!(result);
        if let Some(fields) = value.as_object_mut() {
            fields.shift_insert(0, "type".to_owned(), "task".into());
            fields.insert("solved_at".to_owned(), serde_json::json!(result.solved_at()));
        }
        lines.push(value.to_string());
    }
    lines.extend(matrix.rows().iter().map(|row| row.to_value().to_string()));
    lines.join("\n") + "\n"
}

/// Returns a share as `70 % (55–82)`, with its interval, or `–` without cases.
fn percent(share: crate::statistics::Share) -> String {
    let Some(value) = share.value() else { return "–".to_owned() };
    let (low, high) = share.wilson();
    format!("{:.0} % ({:.0}–{:.0})", 100.0 * value, 100.0 * low, 100.0 * high)
}

/// Returns a share as a percentage without its interval.
fn plain_percent(share: crate::statistics::Share) -> String {
    share.value().map_or_else(|| "–".to_owned(), |value| format!("{:.0} %", 100.0 * value))
}

/// Returns a number with its noun, e.g. `1 task` or `2 tasks`.
fn number(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Returns a duration in milliseconds or seconds.
fn duration(ms: u64) -> String {
    if ms < 10_000 { format!("{ms} ms") } else { format!("{:.0} s", ms as f64 / 1000.0) }
}

/// Returns the sentences on the tier of a matrix, and on results that are missing.
fn tier(matrix: &Matrix) -> String {
    let (found, expected) = (matrix.results.len(), matrix.n_expected);
    let missing = if found < expected {
        format!(" Only {found} of {expected} results are there, and the shares are of these.")
    } else {
        String::new()
    };
    tier_alone(matrix).to_owned() + &missing
}

fn tier_alone(matrix: &Matrix) -> &'static str {
    if matrix.is_replay {
        "The responses come from recordings, so this report measures the harness, not a model. Durations are those of the \
         recording."
    } else {
        "The intervals are Wilson's of 95 %. Durations include the waits for the provider."
    }
}
