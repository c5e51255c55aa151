//! The matrix as text.

use super::{duration, number, percent, plain_percent, tier};
use crate::score::{HARNESS, Matrix, Row};
use crate::task::Kind;

/// Returns the matrix as a table: a line for each measure, a column for each agent.
#[must_use]
pub fn table(matrix: &Matrix) -> String {
    let rows = matrix.rows();
    let n_tasks = rows.first().map_or(0, |row| row.solved.total);
    let head = format!(
        "emend {HARNESS}, set {} {}, {}, {}\n{}\n\n",
        matrix.set,
        matrix.digest,
        number(n_tasks, "task"),
        number(matrix.attempts_max, "attempt"),
        tier(matrix)
    );
    let mut lines = vec![("".to_owned(), rows.iter().map(|row| row.contestant.to_string()).collect::<Vec<_>>())];
    for (name, value) in measures(matrix) {
        lines.push((name.to_owned(), rows.iter().map(value).collect()));
    }
    for kind in Kind::ALL {
        if rows.iter().any(|row| row.by_kind.contains_key(&kind)) {
            let solved = |row: &Row| match row.by_kind.get(&kind) {
                Some(share) => format!("{} of {}", share.hits, share.total),
                None => "–".to_owned(),
            };
            lines.push((format!("solved: {}", kind.name()), rows.iter().map(solved).collect()));
        }
    }
    head + &aligned(&lines)
}

type Measure = (&'static str, fn(&Row) -> String);

/// Returns the measures in the order of reports.
pub(super) fn measures(matrix: &Matrix) -> impl Iterator<Item = Measure> {
    let has_second = matrix.attempts_max > 1;
    ALL.into_iter().filter(move |(name, _)| has_second || *name != SECOND)
}

const SECOND: &str = "solved at second attempt";

const ALL: [Measure; 19] = [
    ("solved at first attempt", |row| percent(row.solved_first)),
    (SECOND, |row| percent(row.solved)),
    ("silently wrong", |row| percent(row.silently_wrong)),
    ("valid calls", |row| percent(row.valid_calls)),
    ("well-formed edits", |row| plain_percent(row.well_formed)),
    ("located edits", |row| plain_percent(row.located)),
    ("refused edits", |row| plain_percent(row.refused)),
    ("accepted hunks", |row| plain_percent(row.accepted_hunks)),
    ("tasks with conflicts", |row| plain_percent(row.conflicts)),
    ("tasks with a question", |row| plain_percent(row.asked)),
    ("tasks with an error", |row| plain_percent(row.errors)),
    ("tool calls", |row| row.calls.to_string()),
    ("calls per solved task", |row| row.calls_per_solved().map_or_else(dash, |calls| format!("{calls:.1}"))),
    ("input tokens", |row| row.input_tokens.to_string()),
    ("output tokens", |row| row.output_tokens.to_string()),
    ("output tokens per second", |row| row.tokens_per_second().map_or_else(dash, |tokens| format!("{tokens:.1}"))),
    ("price", |row| row.cost_usd.map_or_else(dash, |cost| format!("${cost:.4}"))),
    ("duration, p50", |row| row.wall_p50_ms.map_or_else(dash, duration)),
    ("duration, p95", |row| row.wall_p95_ms.map_or_else(dash, duration)),
];

fn dash() -> String {
    "–".to_owned()
}

fn aligned(lines: &[(String, Vec<String>)]) -> String {
    let width = |text: &str| text.chars().count();
    let first = lines.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let n_columns = lines.first().map_or(0, |(_, cells)| cells.len());
    let column = |index: usize| lines.iter().filter_map(|(_, cells)| cells.get(index)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..n_columns).map(|index| column(index).unwrap_or(0)).collect();
    let line = |(name, cells): &(String, Vec<String>)| {
        let mut text = format!("{name}{}", " ".repeat(first - width(name)));
        for (cell, wanted) in cells.iter().zip(&widths) {
            text.push_str(&format!("  {}{cell}", " ".repeat(wanted - width(cell))));
        }
        text.trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}
