//! The matrix as one HTML page with plots. It needs no script and loads nothing.

use std::fmt::Write as _;

use super::{number, table, tier};
use crate::score::{HARNESS, Matrix, Row, TaskResult};
use crate::statistics::Share;
use crate::task::Kind;

/// Width of a plot, in pixels.
const WIDTH: f64 = 860.0;

/// Width of the labels on the left of a plot.
const LABELS: f64 = 190.0;

/// Height of one bar with its gap.
const BAR: f64 = 26.0;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem;color:#1d2129;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}table{border-collapse:collapse}\
th,td{padding:.25rem .7rem;border-bottom:1px solid #d9dde3;text-align:right}th:first-child,td:first-child{text-align:left}\
.scroll{overflow-x:auto}td{white-space:nowrap}svg{max-width:100%;min-width:40rem;height:auto}svg text{font:13px system-ui,sans-serif;fill:currentColor}\
.first{fill:#2f9e6b}.second{fill:#a9d8c1}.wrong{fill:#e0726a}.open{fill:#d9dde3}.whisker{stroke:#1d2129;stroke-width:2}\
.grid td{padding:0;border:2px solid #fff;width:1.5rem;height:1.4rem;text-align:center;color:#fff}.grid th{border:0}\
.grid .first{background:#1f6f4a}.grid .second{background:#79b99b;color:#1d2129}.grid .wrong{background:#b3261e}\
.grid .open{background:#d9dde3;color:#1d2129}\
@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#16181c}th,td{border-color:#3a3f47}\
.grid td{border-color:#16181c}.whisker{stroke:#e6e8eb}}";

/// Returns the page.
#[must_use]
pub fn page(matrix: &Matrix) -> String {
    let rows = matrix.rows();
    let mut html = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let title = format!("emend eval {}", matrix.set);
    let _ = write!(html, "<title>{}</title><style>{STYLE}</style></head>\n<body>\n<h1>{0}</h1>\n", escaped(&title));
    let n_tasks = rows.first().map_or(0, |row| row.solved.total);
    let _ = writeln!(
        html,
        "<p>emend {HARNESS}, set {} with digest {}, {}, {}. {}</p>",
        escaped(&matrix.set),
        escaped(&matrix.digest),
        number(n_tasks, "task"),
        number(matrix.attempts_max, "attempt"),
        escaped(&tier(matrix))
    );
    html.push_str(
        "<h2>Solved</h2>\n<p>Dark: at the first attempt. Light: at the second. The line is the interval of 95 %.</p>\n",
    );
    html.push_str(&solved_plot(&rows));
    html.push_str(
        "<h2>Silently wrong</h2>\n<p>Files that differ from the expected ones while the agent claims success.</p>\n",
    );
    html.push_str(&wrong_plot(&rows));
    html.push_str("<h2>Solved by kind</h2>\n");
    html.push_str(&kinds_plot(&rows));
    html.push_str("<h2>All measures</h2>\n");
    html.push_str(&measures(matrix, &rows));
    html.push_str("<h2>Tasks</h2>\n<p>1 and 2: solved at that attempt. !: silently wrong. –: not solved.</p>\n");
    html.push_str(&tasks(matrix));
    html.push_str("</body></html>\n");
    html
}

/// Returns a plot with one bar for each row.
fn bars(title: &str, labels: &[String], bar: impl Fn(usize, f64) -> String) -> String {
    let height = BAR * labels.len() as f64 + 24.0;
    let mut svg = format!(
        "<div class=\"scroll\"><svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">",
        escaped(title)
    );
    for (index, label) in labels.iter().enumerate() {
        let top = BAR * index as f64;
        let _ = write!(svg, "<text x=\"0\" y=\"{}\">{}</text>{}", top + 16.0, escaped(label), bar(index, top));
    }
    for percent in [0, 25, 50, 75, 100] {
        let x = at(f64::from(percent) / 100.0);
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{percent} %</text>", height - 4.0);
    }
    svg + "</svg></div>\n"
}

/// Returns the horizontal position of a share.
fn at(share: f64) -> f64 {
    LABELS + share * (WIDTH - LABELS - 40.0)
}

fn bar(class: &str, from: f64, to: f64, top: f64, title: &str) -> String {
    let (x, width) = (at(from), at(to) - at(from));
    format!(
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"18\"><title>{}</title></rect>",
        top + 3.0,
        escaped(title)
    )
}

fn whisker(share: Share, top: f64) -> String {
    let (low, high) = share.wilson();
    let y = top + 12.0;
    format!("<line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>", at(low), at(high))
}

fn names(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.contestant.to_string()).collect()
}

fn counted(share: Share) -> String {
    format!("{} of {}", share.hits, share.total)
}

fn solved_plot(rows: &[Row]) -> String {
    bars("Share of solved tasks for each agent", &names(rows), |index, top| {
        let (first, both) = (rows[index].solved_first, rows[index].solved);
        let (end_first, end) = (first.value().unwrap_or(0.0), both.value().unwrap_or(0.0));
        bar("open", 0.0, 1.0, top, &counted(both))
            + &bar("first", 0.0, end_first, top, &counted(first))
            + &bar("second", end_first, end, top, &counted(both))
            + &whisker(both, top)
    })
}

fn wrong_plot(rows: &[Row]) -> String {
    bars("Share of silently wrong tasks for each agent", &names(rows), |index, top| {
        let share = rows[index].silently_wrong;
        bar("open", 0.0, 1.0, top, &counted(share))
            + &bar("wrong", 0.0, share.value().unwrap_or(0.0), top, &counted(share))
            + &whisker(share, top)
    })
}

fn kinds_plot(rows: &[Row]) -> String {
    let lines: Vec<(String, Share)> = rows
        .iter()
        .flat_map(|row| {
            let of_kind = |kind: Kind| Some((format!("{}: {}", row.contestant, kind.name()), *row.by_kind.get(&kind)?));
            Kind::ALL.into_iter().filter_map(of_kind)
        })
        .collect();
    let labels: Vec<String> = lines.iter().map(|(label, _)| label.clone()).collect();
    bars("Share of solved tasks by kind", &labels, |index, top| {
        let share = lines[index].1;
        bar("open", 0.0, 1.0, top, &counted(share))
            + &bar("first", 0.0, share.value().unwrap_or(0.0), top, &counted(share))
    })
}

fn measures(matrix: &Matrix, rows: &[Row]) -> String {
    let mut html = String::from("<div class=\"scroll\"><table><tr><th></th>");
    for row in rows {
        let _ = write!(html, "<th>{}</th>", escaped(&row.contestant.to_string()));
    }
    html.push_str("</tr>\n");
    for (name, value) in table::measures(matrix) {
        let _ = write!(html, "<tr><td>{name}</td>");
        for row in rows {
            let _ = write!(html, "<td>{}</td>", escaped(&value(row)));
        }
        html.push_str("</tr>\n");
    }
    html + "</table></div>\n"
}

fn tasks(matrix: &Matrix) -> String {
    let contestants = matrix.contestants();
    let mut html = String::from("<div class=\"scroll\"><table class=\"grid\"><tr><th>task</th>");
    for contestant in &contestants {
        let _ = write!(html, "<th>{}</th>", escaped(&contestant.to_string()));
    }
    html.push_str("</tr>\n");
    let columns: Vec<Vec<&TaskResult>> = contestants.iter().map(|contestant| matrix.results_of(contestant)).collect();
    for result in columns.first().into_iter().flatten() {
        let _ = write!(html, "<tr><th>{}</th>", escaped(&result.task));
        for column in &columns {
            let cell = column.iter().find(|other| other.task == result.task).map(|found| cell(found));
            html.push_str(&cell.unwrap_or_else(|| "<td></td>".to_owned()));
        }
        html.push_str("</tr>\n");
    }
    html + "</table></div>\n"
}

fn cell(result: &TaskResult) -> String {
    let (class, mark) = match result.solved_at() {
        Some(1) => ("first", "1"),
        Some(_) => ("second", "2"),
        None if result.is_silently_wrong() => ("wrong", "!"),
        None => ("open", "–"),
    };
    let answer = result.attempts.last().map(|attempt| attempt.answer.as_str()).unwrap_or_default();
    format!("<td class=\"{class}\" title=\"{}\">{mark}</td>", escaped(answer))
}

/// Replaces the characters that have a meaning in HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Verdict;
    use crate::run_log::RunLog;
    use crate::score::{Attempt, Contestant};
    use crate::tree::Tree;

    #[test]
    fn a_page_shows_each_agent_and_needs_no_script() {
        let contestant = Contestant { model: "<script>".to_owned(), ..Contestant::default() };
        let log = RunLog { reason: "natural".to_owned(), text: "\"done\" & over".to_owned(), ..RunLog::default() };
        let result = |task: &str, solved: bool, silently_wrong: bool| {
            let verdict = Verdict { solved, silently_wrong, hunks: None, problem: None };
            let attempts = vec![Attempt::new(&log, verdict, &Tree::default(), "m", 3)];
            TaskResult { contestant: contestant.clone(), task: task.to_owned(), kind: Kind::SingleFile, attempts }
        };
        let results = vec![result("a", true, false), result("b", false, true), result("c", false, false)];
        let (set, digest) = ("core".to_owned(), "abc".to_owned());
        let html =
            page(&Matrix { set, digest, attempts_max: 2, is_replay: true, n_expected: results.len() + 1, results });
        assert!(!html.contains("<script") && html.contains("&lt;script&gt;") && !html.contains("http"));
        assert_eq!(html.matches("<svg").count(), 3);
        for (class, mark) in [("first", "1"), ("wrong", "!"), ("open", "–")] {
            let cell = format!("<td class=\"{class}\" title=\"&quot;done&quot; &amp; over\">{mark}</td>");
            assert_eq!(html.matches(&cell).count(), 1, "{class}");
        }
        assert!(html.contains("3 tasks, 2 attempts") && html.contains("Only 3 of 4 results are there"));
        assert!(html.contains("33 % (6–79)") && html.contains("measures the harness, not a model"));
    }
}
