//! Worked examples of decisions on changes that meet others: doubled and contested changes, and joint decisions.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{check_texts, meta, propose, type_in};
use crate::line_log::{ChangeId, ChangeMeta, DependentsPolicy, HunkQuery, LineLog, Origin, Status};

fn reject(log: &mut LineLog, ids: &[ChangeId]) {
    log.reject(ids, DependentsPolicy::OnlyThese, Origin::User, 1).unwrap();
}

#[test]
fn changes_are_doubled_while_both_replace_one_line() {
    let mut log = LineLog::new(Some("a\n"));
    let first = propose(&mut log, "b\n");
    reject(&mut log, &first);
    let second = propose(&mut log, "c\n");
    // A change that is off doubles none, and is none that is doubled.
    assert_eq!((log.doubled(&first), log.doubled(&second)), (vec![], vec![]));
    log.accept(&first, Origin::User, 2).unwrap();
    assert_eq!((log.doubled(&first), log.doubled(&second)), (first.clone(), second.clone()));
    assert_eq!(log.doubled(&[first.clone(), second.clone()].concat()), []);
    reject(&mut log, &second);
    assert_eq!(log.doubled(&first), []);
}

#[test]
fn changes_are_accepted_and_rejected_in_one_entry() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    let ids = propose(&mut log, "A\nb\nC\n");
    log.settle(&ids[..1], &ids, Origin::User, 7).unwrap();
    check_texts(&log, "A\nb\nc\n", "A\nb\nc\n");
    assert_eq!(log.entries().last().map(|entry| (entry.set.len(), entry.at_ms)), Some((2, 7)));
    log.undo(Origin::User, 8).unwrap();
    check_texts(&log, "A\nb\nC\n", "a\nb\nc\n");
}

#[test]
fn a_replacement_of_rival_lines_has_their_line_ending_if_both_have_one() {
    #[track_caller]
    fn check(base: &str, proposed: &str, found: &str, expected: &str) {
        let mut log = LineLog::new(Some(base));
        let ids = propose(&mut log, proposed);
        log.external(Some(found), meta("disk"));
        assert_eq!(log.contested(&ids), ids);
        log.accept_over(&ids, Origin::User, 7).unwrap();
        check_texts(&log, expected, expected);
        assert_eq!(log.changes().last().map(|change| change.meta.at_ms), Some(7));
    }
    check("a\n", "b\n", "c\r\n", "b\r\n");
    check("a\n", "b\n", "c", "b\n");
    check("a", "b", "c\n", "b");
}

#[test]
fn a_deleted_file_contests_an_insertion_until_it_exists_again() {
    let mut log = LineLog::new(Some("a\n"));
    let ids = propose(&mut log, "a\nb\n");
    assert_eq!(log.contested(&ids), []);
    log.external(None, meta("disk"));
    assert_eq!(log.contested(&ids), ids);
    log.external(Some("z\n"), meta("disk"));
    assert_eq!(log.contested(&ids), []);
}

#[test]
fn several_undone_edits_are_redone_and_undone_again() {
    let mut log = LineLog::new(Some("a\n"));
    let texts = ["a\n", "a\nb\n", "a\nb\nc\n", "a\nb\nc\nd\n"];
    texts[1..].iter().for_each(|text| drop(type_in(&mut log, text)));
    for _ in 0..2 {
        for text in texts[..3].iter().rev() {
            log.undo(Origin::User, 1).unwrap();
            assert_eq!(log.visible_text().as_deref(), Some(*text));
        }
        assert_eq!(log.undo(Origin::User, 1), None);
        for text in &texts[1..] {
            log.redo(Origin::User, 1).unwrap();
            assert_eq!(log.visible_text().as_deref(), Some(*text));
        }
        assert_eq!(log.redo(Origin::User, 1), None);
    }
}

#[test]
fn the_users_lines_that_a_later_state_lacks_are_counted() {
    let mut log = LineLog::new(Some("a\n"));
    let ids = propose(&mut log, "a\nagent's\n");
    log.accept(&ids, Origin::User, 1).unwrap();
    type_in(&mut log, "a\nagent's\nmine\nmine too\n");
    assert_eq!(log.user_lines_lost(&log), 0);
    let mut after = log.clone();
    type_in(&mut after, "a\nmine too\n");
    assert_eq!(log.user_lines_lost(&after), 1);
    type_in(&mut after, "");
    assert_eq!(log.user_lines_lost(&after), 2);
}

#[test]
fn a_change_names_its_lines_and_the_log_its_state_on_the_disk() {
    let mut log = LineLog::new(Some("a\nb\n"));
    assert!(log.is_disk_saved() && log.was_on_disk());
    let ids = propose(&mut log, "A\nb\n");
    assert_eq!(log.lines_of_change(ids[0]), (vec!["a\n"], vec!["A\n"]));
    assert_eq!(log.lines_of_change(ChangeId(9)), (vec![], vec![]));
    assert!(log.is_disk_saved(), "a pending change is not on the disk");
    log.accept(&ids, Origin::User, 1).unwrap();
    assert!(!log.is_disk_saved());
    log.mark_saved();
    assert!(log.is_disk_saved());
    log.delete(Origin::User, meta("delete"), Status::Accepted).unwrap();
    assert!(!log.is_disk_saved() && log.was_on_disk());
    log.mark_saved();
    assert!(log.is_disk_saved() && !log.was_on_disk());
    let new = LineLog::new(None);
    assert!(new.is_disk_saved() && !new.was_on_disk());
}

#[test]
fn a_file_with_the_same_lines_may_have_another_state_on_the_disk() {
    // An empty file is not the same as none, although both have no lines.
    let mut log = LineLog::new(None);
    log.write(Origin::User, ChangeMeta::default(), "", Status::Accepted);
    assert!(!log.is_disk_saved());
    log.mark_saved();
    assert!(log.is_disk_saved());
}

#[test]
fn a_renamed_file_is_moved_back_only_by_another_rename() {
    let mut log = LineLog::new(Some("a\n"));
    let rename = |log: &mut LineLog, to: &str| log.rename(Origin::Agent, meta("move"), to, Status::Pending);
    assert!(rename(&mut log, "b.md").is_some());
    assert_eq!((log.visible_path(), log.disk_path()), (Some("b.md"), None));
    assert_eq!(rename(&mut log, "b.md"), None, "the file is there already");
    assert!(rename(&mut log, "c.md").is_some());
    assert_eq!(log.visible_path(), Some("c.md"));
}

#[test]
fn an_entry_without_effect_on_the_disk_is_taken_back() {
    let mut log = LineLog::new(Some("a\nb\n"));
    let ids = propose(&mut log, "A\nb\n");
    let before = log.clone();
    // A pending change is not on the disk, so the file does not show whether its rejection was saved.
    reject(&mut log, &ids);
    assert!(log.take_back_without_effect(2));
    assert_eq!((log.visible_text(), log.pending()), (before.visible_text(), ids.clone()));
    log.accept(&ids, Origin::User, 3).unwrap();
    assert!(!log.take_back_without_effect(4), "the file would change");
    check_texts(&log, "A\nb\n", "A\nb\n");
}

#[test]
fn undone_and_redone_entries_that_a_crash_lost_are_taken_back() {
    let mut log = LineLog::new(Some("a\n"));
    type_in(&mut log, "a\nb\n");
    log.mark_saved();
    log.undo(Origin::User, 1).unwrap();
    log.mark_saved();
    // The undo did not reach the disk, so the edit can be undone again.
    log.after_crash(Some("a\nb\n"), meta("disk"));
    check_texts(&log, "a\nb\n", "a\nb\n");
    log.undo(Origin::User, 2).unwrap();
    log.mark_saved();
    assert_eq!(log.undo(Origin::User, 3), None);
    log.redo(Origin::User, 4).unwrap();
    log.mark_saved();
    // Neither did the redo, so the edit can be redone again.
    log.after_crash(Some("a\n"), meta("disk"));
    check_texts(&log, "a\n", "a\n");
    log.redo(Origin::User, 5).unwrap();
    check_texts(&log, "a\nb\n", "a\nb\n");
}

#[test]
fn a_decision_that_a_crash_lost_leaves_the_redo_of_earlier_ones() {
    let mut log = LineLog::new(Some("a\nb\n"));
    let first = propose(&mut log, "A\nb\n");
    let both = [first.clone(), propose(&mut log, "A\nB\n")].concat();
    log.accept(&both, Origin::User, 1).unwrap();
    log.mark_saved();
    log.undo(Origin::User, 2).unwrap();
    log.mark_saved();
    log.accept(&first, Origin::User, 3).unwrap();
    log.mark_saved();
    log.after_crash(Some("a\nb\n"), meta("disk"));
    assert_eq!(log.pending(), both);
    // Also for the next process.
    let saved = serde_json::to_value(&log).unwrap();
    let mut log: LineLog = serde_json::from_value(saved).unwrap();
    log.redo(Origin::User, 4).unwrap();
    check_texts(&log, "A\nB\n", "A\nB\n");
    assert_eq!(log.redo(Origin::User, 5), None);
    log.undo(Origin::User, 6).unwrap();
    assert_eq!((log.pending(), log.undo(Origin::User, 7)), (both, None));
}

#[test]
fn a_redo_that_a_crash_lost_leaves_nothing_to_undo() {
    let mut log = LineLog::new(Some("a\n"));
    let ids = propose(&mut log, "b\n");
    log.accept(&ids, Origin::User, 1).unwrap();
    log.undo(Origin::User, 2).unwrap();
    log.mark_saved();
    log.redo(Origin::User, 3).unwrap();
    log.mark_saved();
    log.after_crash(Some("a\n"), meta("disk"));
    assert_eq!(log.pending(), ids);
    // Another program accepts the change by writing its text, and that is not a step of the user.
    log.external(Some("b\n"), meta("disk"));
    assert_eq!((log.pending(), log.undo(Origin::User, 4)), (vec![], None));
    check_texts(&log, "b\n", "b\n");
}

#[test]
fn an_acceptance_whose_undo_a_crash_lost_can_be_undone_again() {
    let mut log = LineLog::new(Some("a\n"));
    let ids = propose(&mut log, "b\n");
    log.accept(&ids, Origin::User, 1).unwrap();
    log.mark_saved();
    log.undo(Origin::User, 2).unwrap();
    log.mark_saved();
    log.after_crash(Some("b\n"), meta("disk"));
    assert_eq!((log.change(ids[0]).unwrap().status, log.kept_on_disk()), (Status::Accepted, vec![]));
    log.undo(Origin::User, 3).unwrap();
    check_texts(&log, "b\n", "a\n");
    assert_eq!(log.pending(), ids);
}

#[test]
fn the_users_text_in_the_place_of_a_hunk_is_one_entry() {
    #[track_caller]
    fn check(base: &str, proposed: &str, text: &str, expected: &str) {
        let mut log = LineLog::new(Some(base));
        let ids = propose(&mut log, proposed);
        let n_entries = log.entries().len();
        log.edit_hunk(&ids, text, ChangeMeta { at_ms: 5, ..meta("edit") }).unwrap();
        check_texts(&log, expected, expected);
        assert_eq!(log.entries().len(), n_entries + 1);
        assert_eq!(log.hunks(HunkQuery::default()), []);
        log.undo(Origin::User, 6).unwrap();
        check_texts(&log, proposed, base);
        log.redo(Origin::User, 7).unwrap();
        check_texts(&log, expected, expected);
    }
    check("a\nb\nc\n", "a\nB\nc\n", "mine\n", "a\nmine\nc\n");
    check("a\nb\nc\n", "a\nB\nc\n", "", "a\nc\n");
    check("a\nb\nc\n", "a\nB\nB2\nc\n", "B\nmine\n", "a\nB\nmine\nc\n");
    // Only the last line of a file may be without a line ending, and it stays so if the text is.
    check("a\nb\nc\n", "a\nB\nc\n", "mine", "a\nmine\nc\n");
    check("a\nb\n", "a\nB\n", "mine", "a\nmine");
    check("a\nb", "a\nB", "mine\n", "a\nmine\n");
    check("a\r\nb\r\n", "a\r\nB\r\n", "mine\nmore\n", "a\r\nmine\r\nmore\r\n");
    check("a\nb", "A\nb", "mine\n", "mine\nb");
}

#[test]
fn an_edit_before_the_users_text_in_the_place_of_a_hunk_is_undone_after_it() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    type_in(&mut log, "a\nb\nmine\n");
    let ids = propose(&mut log, "A\nb\nmine\n");
    log.edit_hunk(&ids, "my A\n", meta("edit")).unwrap();
    check_texts(&log, "my A\nb\nmine\n", "my A\nb\nmine\n");
    for _ in 0..2 {
        log.undo(Origin::User, 1).unwrap();
        check_texts(&log, "A\nb\nmine\n", "a\nb\nmine\n");
        log.undo(Origin::User, 1).unwrap();
        check_texts(&log, "A\nb\nc\n", "a\nb\nc\n");
        assert_eq!(log.undo(Origin::User, 1), None);
        log.redo(Origin::User, 1).unwrap();
        log.redo(Origin::User, 1).unwrap();
        check_texts(&log, "my A\nb\nmine\n", "my A\nb\nmine\n");
    }
}

#[test]
fn an_edited_file_is_one_whose_deletion_did_not_reach_the_disk() {
    let check = |made: &str, found: &str, is_deleted: bool| {
        let mut log = LineLog::new(None);
        let ids = log.write(Origin::Agent, meta("make"), made, Status::Accepted);
        log.mark_saved();
        log.rollback(&ids, DependentsPolicy::WithDependents, Origin::User, 1).unwrap();
        log.mark_saved();
        log.after_crash(Some(found), meta("disk"));
        assert_eq!(log.visible_text().as_deref(), Some(found), "{found:?}");
        let status = log.change(ids[0]).map(|change| change.status);
        assert_eq!(status, Some(if is_deleted { Status::RolledBack } else { Status::Accepted }), "{found:?}");
    };
    check("new\nsecond\n", "mine new\nsecond\n", false);
    check("new\n", "mine new\n", false);
    check("new\nsecond\n", "new\nsecond\nmine\n", false);
    // Another file.
    check("new\nsecond\n", "mine\n", true);
    check("one\ntwo\nthree\n", "a\nb\nc\n", true);
}
