//! Benchmarks of the patch engines and the line log, each over 1k, 10k and 100k lines, so that growth shows.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use emend_edit::diff;
use emend_edit::line_log::{ChangeMeta, DependentsPolicy, LineLog, Origin, Status};
use emend_edit::patch::{Change, v4a};
use emend_edit::truncate::{Mode, OutputLimits, truncate_output};

use crate::measure::{self, Row};
use crate::{codex, heap};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Number of lines per hunk.
const LINES_PER_HUNK: usize = 100;

pub(crate) fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for n_lines in SIZES {
        patches(n_lines, &mut rows)?;
    }
    for n_lines in SIZES {
        streamed(n_lines, &mut rows)?;
    }
    for n_lines in SIZES {
        diffs(n_lines, &mut rows)?;
    }
    for n_lines in SIZES {
        decisions(n_lines, &mut rows)?;
    }
    for megabytes in [1, 10] {
        let text = "x".repeat(megabytes * 1_000_000);
        let limits = OutputLimits { chars_max: 30_000, mode: Mode::HeadTail, lines_max: Some(256) };
        let taken = measure::alone(|| truncate_output(&text, limits));
        rows.push(Row::alone(format!("truncate, one line of {megabytes} MB"), measure::millis(taken), "ms"));
    }
    Ok(rows)
}

/// Returns text like source code: functions of ten lines whose bodies repeat, so that a hunk needs its context or its
/// `@@` line.
fn source(n_lines: usize) -> String {
    let mut text = String::new();
    for number in 0..n_lines {
        let _ = match number % 10 {
            0 => writeln!(text, "pub fn item_{number}(input: &str) -> Option<usize> {{"),
            9 => writeln!(text, "}}"),
            8 => writeln!(text, "    total.checked_add({})", number % 70),
            step => writeln!(text, "    let step_{step} = input.find(\"step {step}\")?; // the {step} of ten"),
        };
    }
    text
}

/// How a hunk is located.
#[derive(Clone, Copy)]
enum Aim {
    /// By five lines of context above, the first line of the function among them, and one below.
    Context,
    /// By the function's name after `@@` and one line of context.
    Anchor,
    /// Like `Context`, but with wrong whitespace at the ends of lines, so that the exact pass fails.
    LooseContext,
}

fn patch(source: &str, aim: Aim) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut patch = "*** Begin Patch\n*** Update File: a.rs\n".to_owned();
    for first in (0..lines.len()).step_by(LINES_PER_HUNK) {
        let blank = if matches!(aim, Aim::LooseContext) { " " } else { "" };
        let mut line = |marker: char, text: &str| {
            let _ = writeln!(patch, "{marker}{text}{blank}");
        };
        if matches!(aim, Aim::Anchor) {
            line('@', &format!("@ {}", lines[first]));
            line(' ', lines[first + 4]);
        } else {
            line('@', "@");
            (first..first + 5).for_each(|index| line(' ', lines[index]));
        }
        line('-', lines[first + 5]);
        line('+', "    let changed = true;");
        line('+', "    let more = false;");
        line(' ', lines[first + 6]);
    }
    patch.push_str("*** End Patch\n");
    patch
}

fn hunks_of(patch: &str) -> Result<Vec<v4a::V4aHunk>> {
    let (patch, _) = v4a::parse(patch)?;
    let edit = patch.edits.into_iter().next().context("the patch is empty")?;
    let Change::Update { hunks, .. } = edit.change else { anyhow::bail!("the patch updates nothing") };
    Ok(hunks)
}

fn patches(n_lines: usize, rows: &mut Vec<Row>) -> Result<()> {
    let before = source(n_lines);
    for (aim, name) in [
        (Aim::Context, "v4a apply, by context"),
        (Aim::Anchor, "v4a apply, by @@ line"),
        (Aim::LooseContext, "v4a apply, wrong whitespace"),
    ] {
        let hunks = hunks_of(&patch(&before, aim))?;
        let ours = v4a::apply(&before, &hunks)?.text;
        let peer = codex::apply(&before, &hunks).context("the peer cannot apply the patch")?;
        if matches!(aim, Aim::LooseContext) {
            // Here the results differ by design: the peer writes the patch's wrong whitespace into context lines.
            ensure!(ours.lines().map(str::trim_end).eq(peer.lines().map(str::trim_end)), "{name}: results differ");
        } else {
            ensure!(ours == peer, "{name}: results differ");
        }
        let times = measure::pair(|| v4a::apply(&before, &hunks), || codex::apply(&before, &hunks));
        let name = format!("{name}, {n_lines} lines, {} hunks", hunks.len());
        rows.push(Row::beside(name, times, "codex's algorithm, restated"));
    }
    Ok(())
}

/// Measures a patch that arrives in small pieces. The edits so far are read after each piece.
fn streamed(n_lines: usize, rows: &mut Vec<Row>) -> Result<()> {
    let text = patch(&source(n_lines), Aim::Context);
    let pieces: Vec<&str> = text.as_bytes().chunks(24).map(std::str::from_utf8).collect::<Result<_, _>>()?;
    let stream = || {
        let mut parser = v4a::Parser::new();
        let mut seen = 0;
        for piece in &pieces {
            parser.push(piece)?;
            seen += parser.edits().len();
        }
        parser.finish().map(|(patch, _)| (patch, seen))
    };
    ensure!(stream()?.0 == v4a::parse(&text)?.0, "the pieces parse to another patch");
    let taken = measure::millis(measure::alone(stream));
    rows.push(Row::alone(format!("v4a parser in 24-byte pieces, {} KB", text.len() / 1000), taken, "ms"));
    Ok(())
}

fn diffs(n_lines: usize, rows: &mut Vec<Row>) -> Result<()> {
    let before = source(n_lines);
    let after = v4a::apply(&before, &hunks_of(&patch(&before, Aim::Context))?)?.text;
    let ops = diff::diff_lines(&before, &after);
    ensure!(!ops.is_empty(), "no difference found");
    let taken = measure::millis(measure::alone(|| diff::hunks(&before, &after, 3)));
    rows.push(Row::alone(format!("diff to hunks, {n_lines} lines, {} edits", n_lines / LINES_PER_HUNK), taken, "ms"));
    Ok(())
}

/// Measures decisions on a log with one change for every ten lines: rejecting and accepting changes here and there.
fn decisions(n_lines: usize, rows: &mut Vec<Row>) -> Result<()> {
    let before = source(n_lines);
    let at_first = heap::in_use();
    let mut log = LineLog::new(Some(&before));
    let after: String = before
        .split_inclusive('\n')
        .enumerate()
        .map(|(index, line)| if index % 10 == 5 { format!("    changed({index});\n") } else { line.to_owned() })
        .collect();
    let ids = log.write(Origin::Agent, ChangeMeta::default(), &after, Status::Pending);
    ensure!(ids.len() == n_lines / 10, "{} changes instead of {}", ids.len(), n_lines / 10);
    let weight = (heap::in_use() - at_first - after.capacity()) as f64 / n_lines as f64;
    let mut total = Duration::ZERO;
    let rounds = 1000;
    for round in 0..rounds {
        let id = ids[round * 7919 % ids.len()];
        let begun = Instant::now();
        if round % 2 == 0 {
            log.reject(&[id], DependentsPolicy::Refuse, Origin::User, 0)?;
        } else {
            log.accept(&[id], Origin::User, 0)?;
        }
        total += begun.elapsed();
    }
    let each = measure::millis(total) / rounds as f64;
    rows.push(Row::alone(format!("line log, one decision, {n_lines} lines, {} changes", ids.len()), each, "ms"));
    rows.push(Row::alone(format!("line log, memory, {n_lines} lines"), weight, "B/line"));
    Ok(())
}
