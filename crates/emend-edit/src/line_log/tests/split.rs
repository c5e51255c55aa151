//! Splitting hunks at a line, and into chosen lines.

use std::cell::Cell;

use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::properties::{check, check_share, count};
use super::steps::{Step, history, play};
use super::{meta, propose};
use crate::diff::LineKind;
use crate::line_log::{DependentsPolicy, Hunk, HunkQuery, LineLog, Origin, Status};
use crate::test_support::covers;
use crate::text::split_lines;

fn hunks(log: &LineLog) -> Vec<Hunk> {
    log.hunks(HunkQuery::default())
}

/// Returns the changed lines of each hunk, such as `-a +b`.
fn shown(log: &LineLog) -> Vec<String> {
    let mark = |kind| if kind == LineKind::Added { '+' } else { '-' };
    let lines_of = |hunk: &Hunk| {
        let changed = hunk.lines.iter().filter(|line| line.kind != LineKind::Context);
        let lines: Vec<String> = changed.map(|line| format!("{}{}", mark(line.kind), line.text.trim_end())).collect();
        lines.join(" ")
    };
    hunks(log).iter().map(lines_of).collect()
}

/// Splits the only hunk before its changed line number `at`, counted from 0.
#[track_caller]
fn check_split(base: &str, proposed: &[&str], at: usize, expected: &[&str]) {
    let mut log = LineLog::new(Some(base));
    proposed.iter().for_each(|text| drop(propose(&mut log, text)));
    let before = shown(&log);
    let hunk = hunks(&log).remove(0);
    let changed = (0..hunk.lines.len()).filter(|&line| hunk.lines[line].kind != LineKind::Context);
    let line = changed.clone().nth(at).unwrap_or(hunk.lines.len());
    let was_split = log.split_hunk(&hunk.change_ids, line, 3, Origin::User, 0).unwrap();
    assert_eq!(was_split, expected.len() > 1);
    assert_eq!(shown(&log), expected);
    assert_eq!(log.undo(Origin::User, 1).is_some(), was_split);
    assert_eq!(shown(&log), before);
    assert_eq!(log.redo(Origin::User, 2).is_some(), was_split);
    assert_eq!(shown(&log), expected);
}

#[test]
fn a_removed_line_stays_with_the_added_line_that_replaces_it() {
    let (base, proposed) =
        ("let one = 1;\nlet two = 2;\nlet three = 3;\n", "let one = 10;\nlet two = 20;\nlet three = 30;\n");
    let pairs = |from: usize, to: usize| {
        let lines = |text: &str, mark: char| -> Vec<String> {
            text.lines().skip(from).take(to - from).map(|line| format!("{mark}{line}")).collect()
        };
        [lines(base, '-'), lines(proposed, '+')].concat().join(" ")
    };
    // -one -two -three +ONE +TWO +THREE
    for (at, second) in [(1, 1), (2, 2), (4, 1), (5, 2)] {
        check_split(base, &[proposed], at, &[&pairs(0, second), &pairs(second, 3)]);
    }
}

#[test]
fn a_hunk_is_split_before_a_line_and_joined_by_an_undo() {
    covers("review.split");
    let cases: &[(usize, &[&str])] = &[
        (0, &["-a -b +A +B"]),
        (1, &["-a +A", "-b +B"]),
        (2, &["-a -b", "+A +B"]),
        (3, &["-a +A", "-b +B"]),
        (4, &["-a -b +A +B"]),
    ];
    for &(at, expected) in cases {
        check_split("a\nb\nc\n", &["A\nB\nc\n"], at, expected);
    }
    // Edits that touch each other are shown as one hunk; a split keeps each line beside the one that it replaces.
    check_split("a\nb\n", &["A\nb\n", "A\nB\n"], 1, &["-a +A", "-b +B"]);
    // A line that was added and replaced goes with its replacement.
    check_split("top\n", &["top\nx\n", "top\ny\nz\n"], 0, &["+y +z"]);
    check_split("top\n", &["top\nx\n", "top\ny\nz\n"], 1, &["+y", "+z"]);
    // Lines between those of another change split that one, too.
    check_split("top\n", &["top\n1\n2\n", "top\n1\nm\n2\n"], 1, &["+1", "+m +2"]);
}

#[test]
fn the_deletion_of_a_file_is_not_split() {
    let mut log = LineLog::new(Some("a\nb\n"));
    log.delete(Origin::Agent, meta("delete"), Status::Pending).unwrap();
    let ids = hunks(&log)[0].change_ids.clone();
    assert!(!log.split_hunk(&ids, 1, 3, Origin::User, 0).unwrap());
    assert_eq!(log.split_lines(&ids, &[1], 3).unwrap(), None);
    assert_eq!(log.split_lines(&ids, &[0, 1], 3).unwrap(), Some(ids), "all lines need no split");
}

#[test]
fn changes_that_are_no_longer_one_hunk_are_unknown() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    let ids = propose(&mut log, "A\nb\nC\n");
    assert!(log.split_hunk(&ids, 0, 3, Origin::User, 0).is_err(), "two hunks");
    assert!(log.split_lines(&[], &[0], 3).is_err());
    assert_eq!(log.split_lines(&ids[..1], &[9], 3).unwrap(), None, "the hunk has fewer lines");
    assert_eq!(log.split_lines(&ids[..1], &[2], 3).unwrap(), None, "an unchanged line");
    assert!(log.split_lines(&ids[..1], &[0], 3).unwrap().is_some());
}

#[test]
fn a_split_changes_no_text_and_an_undo_joins_the_hunk() {
    let (n_cases, n_split) = (Cell::new(0), Cell::new(0));
    let index = any::<prop::sample::Index>;
    check((history(), any::<bool>(), index(), index()), |((base, mut steps), agent_alone, pick, line)| {
        if agent_alone {
            let by_agent = |origin: &Origin| *origin == Origin::Agent;
            steps.retain(
                |step| matches!(step, Step::Edit { origin, .. } | Step::Rewrite { origin, .. } if by_agent(origin)),
            );
        }
        let mut log = play(base.as_deref(), &steps);
        let before = hunks(&log);
        let with_lines: Vec<&Hunk> = before.iter().filter(|hunk| !hunk.lines.is_empty()).collect();
        let Some(hunk) = (!with_lines.is_empty()).then(|| with_lines[pick.index(with_lines.len())]) else { return };
        let line = line.index(hunk.lines.len());
        let texts = |log: &LineLog| (log.visible_text(), log.settled_text());
        let then = texts(&log);
        let was_split = log.split_hunk(&hunk.change_ids, line, 3, Origin::User, 0).unwrap();
        count(&n_cases, true);
        count(&n_split, was_split);
        assert_eq!(texts(&log), then);
        let after = hunks(&log);
        // An earlier split that a later change joined again becomes visible.
        let was_split_before = steps.iter().any(|step| matches!(step, Step::SplitHunk { .. }));
        assert!(was_split_before || (after.len() > before.len()) == was_split, "{before:?} {after:?}");
        if was_split {
            let loaded: LineLog = serde_json::from_str(&serde_json::to_string(&log).unwrap()).unwrap();
            assert_eq!(hunks(&loaded), after);
            log.undo(Origin::User, 0).unwrap();
        }
        let kinds: Vec<LineKind> = hunk.lines.iter().map(|line| line.kind).collect();
        let mut runs = kinds.split(|kind| *kind == LineKind::Context).filter(|run| !run.is_empty());
        // A change around lines of others is in two places once it is split.
        if agent_alone && runs.nth(1).is_none() {
            let lines = |hunks: &[Hunk]| hunks.iter().map(|hunk| hunk.lines.clone()).collect::<Vec<_>>();
            assert_eq!(lines(&hunks(&log)), lines(&before));
        }
    });
    check_share("splits", &n_split, &n_cases, 20);
}

#[test]
fn a_decision_on_lines_is_that_of_a_list_of_lines() {
    covers("review.lines");
    let line = || prop::sample::select(vec!["a\n", "b\n", "c\n", "\n"]);
    let text = || prop::collection::vec(line(), 0..12).prop_map(|lines| lines.concat());
    let chosen = prop::collection::vec(any::<bool>(), 16);
    check((text(), text(), any::<prop::sample::Index>(), chosen), |(base, new, pick, chosen)| {
        let mut log = LineLog::new(Some(&base));
        propose(&mut log, &new);
        let all = hunks(&log);
        if all.is_empty() {
            return;
        }
        let at = pick.index(all.len());
        let is_chosen = |line: usize| chosen[line % chosen.len()];
        let picked: Vec<usize> = (0..all[at].lines.len()).filter(|&line| is_chosen(line)).collect();
        let Some(ids) = log.split_lines(&all[at].change_ids, &picked, 3).unwrap() else { return };
        assert_eq!(shown(&log), {
            let mut unsplit = LineLog::new(Some(&base));
            propose(&mut unsplit, &new);
            shown(&unsplit)
        });
        let rows = rows(&base, &all, at, &is_chosen);
        let plain = |kind_if_chosen| -> String {
            let shows = |&&(chosen, kind, _): &&(bool, LineKind, &str)| {
                kind == LineKind::Context || chosen == (kind == kind_if_chosen)
            };
            rows.iter().filter(shows).map(|(.., text)| *text).collect()
        };
        let mut accepted = log.clone();
        accepted.accept(&ids, Origin::User, 0).unwrap();
        assert_eq!(accepted.disk_text(), Some(plain(LineKind::Added)));
        assert_eq!(accepted.visible_text(), Some(new));
        log.reject(&ids, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
        assert_eq!(log.visible_text(), Some(plain(LineKind::Removed)));
        assert_eq!(log.disk_text(), Some(base));
    });
}

/// Returns all lines of the old and the new text in order, and whether each is among the chosen ones of hunk `at`.
fn rows<'a>(
    base: &'a str,
    all: &'a [Hunk],
    at: usize,
    is_chosen: &dyn Fn(usize) -> bool,
) -> Vec<(bool, LineKind, &'a str)> {
    let old = split_lines(base);
    let (mut rows, mut old_at) = (Vec::new(), 0);
    for (number, hunk) in all.iter().enumerate() {
        let n_lead = hunk.lines.iter().take_while(|line| line.kind == LineKind::Context).count();
        let start = hunk.old_start - usize::from(hunk.old_lines > 0) + n_lead;
        rows.extend(old[old_at..start].iter().map(|&text| (false, LineKind::Context, text)));
        old_at = start;
        for (index, line) in hunk.lines.iter().enumerate().filter(|(_, line)| line.kind != LineKind::Context) {
            rows.push((number == at && is_chosen(index), line.kind, line.text.as_str()));
            old_at += usize::from(line.kind == LineKind::Removed);
        }
    }
    rows.extend(old[old_at..].iter().map(|&text| (false, LineKind::Context, text)));
    rows
}
