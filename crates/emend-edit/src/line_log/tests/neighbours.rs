//! Lines that the user types beside pending edits: they depend on none of them.

use std::cell::Cell;

use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{check_texts, propose, type_in};
use crate::line_log::{DependentsPolicy, HunkQuery, LineLog, Origin};

/// Types into a proposal, and checks the texts on the disk and after a rejection.
#[track_caller]
fn check(base: &str, proposed: &str, typed: &str, disk: &str) {
    let mut log = LineLog::new(Some(base));
    let ids = propose(&mut log, proposed);
    let mine = type_in(&mut log, typed);
    check_texts(&log, typed, disk);
    assert_eq!(log.kept_on_disk(), []);
    assert!(log.hunks(HunkQuery::default()).iter().all(|hunk| !hunk.kept_by_user && !hunk.contested));
    // Every decision gives a defined text, and can be undone and redone.
    let mut rejected = log.clone();
    rejected.reject(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    check_texts(&rejected, disk, disk);
    rejected.undo(Origin::User, 2).unwrap();
    check_texts(&rejected, typed, disk);
    rejected.redo(Origin::User, 3).unwrap();
    check_texts(&rejected, disk, disk);
    let mut accepted = log.clone();
    accepted.accept(&ids, Origin::User, 1).unwrap();
    check_texts(&accepted, typed, typed);
    // Without the typed lines, the proposal is as before.
    log.reject(&mine, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    check_texts(&log, proposed, base);
}

#[test]
fn a_line_typed_beside_a_pending_deletion_keeps_the_deleted_lines_on_the_disk() {
    // Between, after and before the deleted lines. The typed line follows them.
    check("a\nX\nb\n", "a\nb\n", "a\nu\nb\n", "a\nX\nu\nb\n");
    check("a\nX\nY\nb\n", "a\nb\n", "a\nu\nv\nb\n", "a\nX\nY\nu\nv\nb\n");
    check("a\nX\nb\nc\n", "a\nb\nc\n", "a\nb\nu\nc\n", "a\nX\nb\nu\nc\n");
    check("a\nb\nX\nc\n", "a\nb\nc\n", "a\nu\nb\nc\n", "a\nu\nb\nX\nc\n");
    // At the start and the end of the file.
    check("X\nb\n", "b\n", "u\nb\n", "X\nu\nb\n");
    check("a\nX\n", "a\n", "a\nu\n", "a\nX\nu\n");
    check("X\nY\n", "", "u\n", "X\nY\nu\n");
    // Without a final newline.
    check("a\nX", "a\n", "a\nu\n", "a\nX\nu\n");
    check("a\nX", "a\n", "a\nu", "a\nX\nu");
    check("a\nX", "a", "a\nu", "a\nX\nu");
    check("a\nX\nb", "a\nb", "a\nu\nb", "a\nX\nu\nb");
    // CRLF.
    check("a\r\nX\r\nb\r\n", "a\r\nb\r\n", "a\r\nu\r\nb\r\n", "a\r\nX\r\nu\r\nb\r\n");
    check("a\r\nX", "a", "a\r\nu", "a\r\nX\r\nu");
}

#[test]
fn a_line_changed_beside_a_pending_deletion_keeps_the_deleted_lines_on_the_disk() {
    check("a\nX\nb\n", "a\nb\n", "A\nb\n", "A\nX\nb\n");
    check("a\nX\nb\n", "a\nb\n", "a\nB\n", "a\nX\nB\n");
    check("a\nX\nb\n", "a\nb\n", "b\n", "X\nb\n");
    check("a\nX\nb\n", "a\nb\n", "a\n", "a\nX\n");
    check("a\nX\nb\n", "a\nb\n", "A\nB\n", "A\nX\nB\n");
    check("a\nX\nb\n", "a\nb\n", "A\nB\nC\n", "A\nX\nB\nC\n");
    check("a\nX\nb\n", "a\nb\n", "A\n", "A\nX\n");
    check("a\nX\nb\n", "a\nb\n", "", "X\n");
    check("a\nX\nb\nY\nc\n", "a\nb\nc\n", "A\nB\nC\n", "A\nX\nB\nY\nC\n");
}

#[test]
fn a_line_typed_beside_a_pending_replacement_leaves_the_replaced_lines_on_the_disk() {
    check("a\nX\nb\n", "a\nY\nb\n", "a\nu\nY\nb\n", "a\nu\nX\nb\n");
    check("a\nX\nb\n", "a\nY\nb\n", "a\nY\nu\nb\n", "a\nX\nu\nb\n");
    check("a\nX\nb\n", "a\nY\nZ\nb\n", "u\na\nY\nZ\nb\n", "u\na\nX\nb\n");
    check("X\n", "Y\n", "u\nY\n", "u\nX\n");
    check("X\n", "Y\n", "Y\nu\n", "X\nu\n");
    check("X", "Y", "Y\nu", "X\nu");
    check("X", "Y", "u\nY", "u\nX");
    check("a\r\nX\r\n", "a\r\nY\r\n", "a\r\nY\r\nu\r\n", "a\r\nX\r\nu\r\n");
    check("a\r\nX\r\n", "a\r\nY\r\n", "a\r\nu\r\nY\r\n", "a\r\nu\r\nX\r\n");
    check("a\nX\nZ\nb\n", "a\nY\nb\n", "a\nY\nu\nb\n", "a\nX\nZ\nu\nb\n");
    check("a\nX\nb\nZ\nc\n", "a\nY\nb\nc\n", "a\nY\nb\nu\nc\n", "a\nX\nb\nZ\nu\nc\n");
}

#[test]
fn a_line_typed_beside_a_pending_insertion_leaves_it_off_the_disk() {
    check("a\nb\n", "a\nI\nb\n", "a\nu\nI\nb\n", "a\nu\nb\n");
    check("a\nb\n", "a\nI\nb\n", "a\nI\nu\nb\n", "a\nu\nb\n");
    check("a\nb\n", "I\na\nb\n", "u\nI\na\nb\n", "u\na\nb\n");
    check("a\n", "a\nI\n", "a\nI\nu\n", "a\nu\n");
    check("a", "a\nI", "a\nI\nu", "a\nu");
}

#[test]
fn only_a_line_typed_inside_a_pending_edit_keeps_it_on_the_disk() {
    for (base, proposed, typed) in [
        ("a\nb\n", "a\nI\nJ\nb\n", "a\nI\nu\nJ\nb\n"),
        ("a\nb\n", "a\nI\nJ\nb\n", "a\nI!\nJ\nb\n"),
        ("a\nX\nb\n", "a\nY\nZ\nb\n", "a\nY\nu\nZ\nb\n"),
        ("a\nX\nb\n", "a\nY\nb\n", "a\nY!\nb\n"),
    ] {
        let mut log = LineLog::new(Some(base));
        let ids = propose(&mut log, proposed);
        type_in(&mut log, typed);
        check_texts(&log, typed, typed);
        assert_eq!(log.kept_on_disk(), ids);
    }
}

#[test]
fn lines_typed_one_after_another_beside_a_pending_deletion_stay_together() {
    for steps in [["a\nu\nb\n", "a\nu\nv\nb\n"], ["a\nv\nb\n", "a\nu\nv\nb\n"]] {
        let mut log = LineLog::new(Some("a\nX\nb\n"));
        let ids = propose(&mut log, "a\nb\n");
        steps.iter().for_each(|text| drop(type_in(&mut log, text)));
        check_texts(&log, "a\nu\nv\nb\n", "a\nX\nu\nv\nb\n");
        log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
        check_texts(&log, "a\nX\nu\nv\nb\n", "a\nX\nu\nv\nb\n");
    }
}

/// One pending edit of the agent in the line `at` of a file, and a line that the user types beside it.
#[derive(Clone, Debug)]
struct Case {
    n_lines: usize,
    at: usize,
    n_deleted: usize,
    n_inserted: usize,
    /// Lines between the edit and the typed line; the line is typed above the edit, or below it.
    distance: usize,
    is_above: bool,
    is_crlf: bool,
    is_bare: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let edit = (1..9_usize, any::<prop::sample::Index>(), 0..4_usize, 0..4_usize);
    let line = (0..3_usize, any::<bool>(), any::<bool>(), any::<bool>());
    (edit, line).prop_map(|((n_lines, at, n_deleted, n_inserted), (distance, is_above, is_crlf, is_bare))| {
        let at = at.index(n_lines + 1);
        let n_deleted = n_deleted.min(n_lines - at);
        Case { n_lines, at, n_deleted, n_inserted, distance, is_above, is_crlf, is_bare }
    })
}

impl Case {
    fn text(&self, lines: &[String]) -> String {
        let eol = if self.is_crlf { "\r\n" } else { "\n" };
        let text = lines.join(eol);
        if self.is_bare || lines.is_empty() { text } else { format!("{text}{eol}") }
    }

    /// Returns the base, the proposal, the text with the typed line, and the text that the disk must have.
    fn texts(&self) -> [String; 4] {
        let base: Vec<String> = (0..self.n_lines).map(|index| format!("base {index}")).collect();
        let new: Vec<String> = (0..self.n_inserted).map(|index| format!("new {index}")).collect();
        let end = self.at + self.n_deleted;
        let spliced = |above: &[String], below: &[String], middle: &[String]| [above, middle, below].concat();
        let [mut above, mut below] = [base[..self.at].to_vec(), base[end..].to_vec()];
        let proposal = spliced(&above, &below, &new);
        let typed = "typed".to_owned();
        // Directly beside lines that are gone without replacement there is only one place, and it is below them.
        if self.is_above && (self.distance.min(self.at) > 0 || self.n_inserted > 0) {
            above.insert(self.at.saturating_sub(self.distance), typed);
        } else {
            below.insert(below.len().min(self.distance), typed);
        }
        let disk = spliced(&above, &below, &base[self.at..end]);
        [&base, &proposal, &spliced(&above, &below, &new), &disk].map(|lines| self.text(lines))
    }
}

#[test]
fn a_line_typed_beside_any_pending_edit_reaches_the_disk_alone() {
    let n_beside = Cell::new(0);
    super::properties::check(case(), |case| {
        let [base, proposal, typed, disk] = case.texts();
        // A last line without a newline is replaced if a line is added after it: then the typed line may be inside.
        let touches_end = case.is_bare && case.at + case.n_deleted == case.n_lines;
        if base == proposal || touches_end {
            return;
        }
        super::properties::count(&n_beside, case.distance == 0);
        check(&base, &proposal, &typed, &disk);
    });
    assert!(n_beside.get() > 0);
}
