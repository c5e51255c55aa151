//! Proposals: the edits of runs, by line numbers of the text before them.

use std::cell::Cell;

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::properties::{check, check_share, count};
use super::steps::{history, play};
use super::{meta, propose};
use crate::line_log::{ChangeMeta, LineLog, Origin, Status};
use crate::test_support::covers;
use crate::text::split_lines;

#[test]
fn edits_of_a_proposal_make_the_base_the_proposed_text() {
    covers("review.bundle");
    let (n_cases, n_several) = (Cell::new(0), Cell::new(0));
    check(history(), |(base, steps)| {
        let log = play(base.as_deref(), &steps);
        let Some(proposal) = log.proposal(&["run".to_owned()]) else { return };
        // A line that ends in CR and one that is only LF read as one line in a text, but stay two in the log.
        let written = log.changes().map(|change| change.id).collect::<Vec<_>>();
        let mut lines = written.iter().flat_map(|&id| log.lines_of_change(id).1);
        let base_lines = split_lines(base.as_deref().unwrap_or_default());
        if lines.any(|line| line.ends_with('\r')) || base_lines.iter().any(|line| line.ends_with('\r')) {
            return;
        }
        count(&n_cases, true);
        count(&n_several, proposal.edits.len() > 1);
        let old = proposal.base.clone().unwrap_or_default();
        let mut lines: Vec<String> = split_lines(&old).into_iter().map(str::to_owned).collect();
        for edit in proposal.edits.iter().rev() {
            let removed = lines.splice(edit.line..edit.line + edit.n_removed, [edit.inserted.clone()]);
            assert_eq!(removed.collect::<String>(), edit.removed);
        }
        assert_eq!(lines.concat(), proposal.proposed.unwrap_or_default());
        assert!(proposal.edits.windows(2).all(|pair| pair[0].line + pair[0].n_removed <= pair[1].line));
        let mut before = log.clone();
        before.rollback_before(&["run".to_owned()], Origin::User, 0).unwrap();
        assert_eq!(before.visible_text(), proposal.base);
    });
    check_share("proposals with several edits", &n_several, &n_cases, 30);
}

#[test]
fn a_proposal_is_that_of_its_runs_only() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    let of = |run: &str| ChangeMeta { run: run.to_owned(), ..meta("e") };
    log.write(Origin::Agent, of("1"), "A\nb\nc\n", Status::Pending);
    log.write(Origin::User, of("1"), "A\nbee\nc\n", Status::Accepted);
    log.write(Origin::Agent, of("2"), "A\nbee\nC\n", Status::Pending);
    let texts = |runs: &[&str]| {
        let runs: Vec<String> = runs.iter().map(|run| (*run).to_owned()).collect();
        log.proposal(&runs).map(|proposal| (proposal.base.unwrap(), proposal.proposed.unwrap()))
    };
    let pair = |base: &str, proposed: &str| Some((base.to_owned(), proposed.to_owned()));
    assert_eq!(texts(&["1"]), pair("a\nb\nc\n", "A\nb\nc\n"));
    assert_eq!(texts(&["2"]), pair("A\nbee\nc\n", "A\nbee\nC\n"));
    assert_eq!(texts(&["1", "2"]), pair("a\nb\nc\n", "A\nb\nC\n"));
    assert_eq!(texts(&["3"]), None);
}

#[test]
fn each_change_is_one_replacement_of_lines() {
    #[track_caller]
    fn check_edits(texts: &[&str], expected: &[(usize, usize, &str, &str)]) {
        let mut log = LineLog::new(Some("a\nb\nc\nd\n"));
        texts.iter().for_each(|text| drop(propose(&mut log, text)));
        let edits = log.proposal(&["run".to_owned()]).unwrap().edits;
        let rows: Vec<(usize, usize, &str, &str)> =
            edits.iter().map(|edit| (edit.line, edit.n_removed, &*edit.removed, &*edit.inserted)).collect();
        assert_eq!(rows, expected);
    }
    check_edits(&["A\nB\nc\nd\n"], &[(0, 2, "a\nb\n", "A\nB\n")]);
    check_edits(&["A\nb\nc\nd\n", "A\nB\nc\nd\n"], &[(0, 1, "a\n", "A\n"), (1, 1, "b\n", "B\n")]);
    check_edits(&["A\nb\nC\nd\n"], &[(0, 1, "a\n", "A\n"), (2, 1, "c\n", "C\n")]);
    check_edits(&["a\nb\n1\n2\nc\nd\n"], &[(2, 0, "", "1\n2\n")]);
    check_edits(&["a\nd\n"], &[(1, 2, "b\nc\n", "")]);
    check_edits(&["a\nb\nc\nd\ne\n", "a\nb\nc\nD\ne\n"], &[(3, 1, "d\n", "D\n"), (4, 0, "", "e\n")]);
}
