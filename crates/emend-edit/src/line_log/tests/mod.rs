//! Tests of the line log: worked examples here, and the properties L1 to L12 in `properties` and `unique`.

mod contests;
mod damage;
mod delta;
mod external;
mod grouping;
mod hunks;
mod neighbours;
mod parts;
mod plain;
mod properties;
mod proposal;
mod rare;
mod split;
mod steps;
mod unique;

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn meta(edit: &str) -> ChangeMeta {
    ChangeMeta { run: "run".to_owned(), edit: edit.to_owned(), at_ms: 0 }
}

fn propose(log: &mut LineLog, text: &str) -> Vec<ChangeId> {
    log.write(Origin::Agent, meta("e"), text, Status::Pending)
}

fn type_in(log: &mut LineLog, text: &str) -> Vec<ChangeId> {
    log.write(Origin::User, meta("typing"), text, Status::Accepted)
}

#[track_caller]
fn check_texts(log: &LineLog, visible: &str, disk: &str) {
    assert_eq!(log.visible_text().as_deref(), Some(visible), "visible");
    assert_eq!(log.disk_text().as_deref(), Some(disk), "disk");
}

#[test]
fn a_proposal_is_visible_but_not_on_the_disk() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    let ids = propose(&mut log, "a\nB\nc\n");
    check_texts(&log, "a\nB\nc\n", "a\nb\nc\n");
    log.accept(&ids, Origin::User, 1).unwrap();
    check_texts(&log, "a\nB\nc\n", "a\nB\nc\n");
    let applied = log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 2).unwrap();
    assert_eq!(applied.edits, [VisibleEdit { line: 1, removed: 1, inserted: vec!["b\n".to_owned()] }]);
    check_texts(&log, "a\nb\nc\n", "a\nb\nc\n");
}

#[test]
fn editing_inside_a_proposal_keeps_that_part_on_the_disk() {
    let mut log = LineLog::new(Some("a\nb\nc\nd\n"));
    let ids = propose(&mut log, "a\nB\nc\nD\n");
    type_in(&mut log, "a\nB!\nc\nD\n");
    check_texts(&log, "a\nB!\nc\nD\n", "a\nB!\nc\nd\n");
    assert_eq!(log.kept_on_disk(), ids[..1]);
    let hunks = log.hunks(HunkQuery::default());
    assert_eq!(hunks.iter().map(|hunk| hunk.kept_by_user).collect::<Vec<_>>(), [true, false]);
    let refused = log.reject(&ids[..1], DependentsPolicy::Refuse, Origin::User, 1);
    assert!(matches!(refused, Err(DecisionError::HasDependents { from_user: 1, .. })));
    log.reject(&ids[..1], DependentsPolicy::WithDependents, Origin::User, 1).unwrap();
    check_texts(&log, "a\nb\nc\nD\n", "a\nb\nc\nd\n");
}

#[test]
fn undo_keeps_later_decisions() {
    let mut log = LineLog::new(Some("a\n"));
    let ids = propose(&mut log, "b\n");
    log.accept(&ids, Origin::User, 1).unwrap();
    log.reject(&ids, DependentsPolicy::Refuse, Origin::Agent, 2).unwrap();
    assert_eq!(log.undo(Origin::User, 3), None, "the acceptance is no longer in force");
    check_texts(&log, "a\n", "a\n");
    // The positive control: an edit without later decisions is undone.
    log.accept(&ids, Origin::User, 4).unwrap();
    assert!(log.undo(Origin::User, 5).is_some());
    check_texts(&log, "a\n", "a\n");
}

#[test]
fn an_edit_or_a_decision_after_an_undo_ends_the_redo_of_its_origin_only() {
    #[track_caller]
    fn check(action: impl Fn(&mut LineLog), can_redo: bool) {
        let mut log = LineLog::new(Some("a\nb\nc\n"));
        let ids = propose(&mut log, "A\nb\nC\n");
        type_in(&mut log, "A\nmine\nC\n");
        assert!(log.undo(Origin::User, 1).is_some());
        action(&mut log);
        let before = log.visible_text();
        assert_eq!(log.redo(Origin::User, 2).is_some(), can_redo);
        assert_eq!(log.visible_text() != before, can_redo);
        assert!(log.change(ids[0]).is_some());
    }
    check(|_| {}, true);
    check(|log| drop(type_in(log, "A\nb\nC\nd\n")), false);
    check(|log| drop(log.accept(&log.pending(), Origin::User, 3).unwrap()), false);
    check(|log| drop(propose(log, "A\nb\nC\nd\n")), true);
}

#[test]
fn a_line_without_line_ending_gets_one_only_when_it_is_not_last() {
    let mut log = LineLog::new(Some("a\r\nb"));
    let ids = propose(&mut log, "a\r\nb\r\nc");
    assert_eq!(ids.len(), 1);
    assert_eq!(log.change(ids[0]).unwrap().deleted_lines, 0);
    let applied = log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    assert_eq!(applied.edits, [VisibleEdit { line: 1, removed: 2, inserted: vec!["b".to_owned()] }]);
    check_texts(&log, "a\r\nb", "a\r\nb");
}

#[test]
fn a_created_file_is_gone_once_all_of_it_is_rejected() {
    let mut log = LineLog::new(None);
    assert_eq!(log.visible_text(), None);
    let ids = propose(&mut log, "a\n\nb\n");
    assert_eq!(log.disk_text(), None);
    log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    assert_eq!(log.visible_text(), None);
    assert!(log.undo(Origin::User, 2).is_some());
    assert_eq!(log.visible_text().as_deref(), Some("a\n\nb\n"));
    type_in(&mut log, "a\nmine\n\nb\n");
    log.reject(&ids, DependentsPolicy::OnlyThese, Origin::User, 3).unwrap();
    assert_eq!(log.visible_text().as_deref(), Some("mine\n"));
}

#[test]
fn a_rollback_reverts_everything_and_can_be_undone() {
    let mut log = LineLog::new(Some("a\nb\n"));
    let kept = propose(&mut log, "a\nB\n");
    let checkpoint = log.checkpoint();
    propose(&mut log, "A\nB\n");
    type_in(&mut log, "A\nB\nmine\n");
    log.reject(&kept, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    log.rollback_to(checkpoint, Origin::User, 2).unwrap();
    assert_eq!(log.visible_text().as_deref(), Some("a\nB\n"));
    log.undo(Origin::User, 3).unwrap();
    assert_eq!(log.visible_text().as_deref(), Some("A\nb\nmine\n"));
}

#[test]
fn an_external_change_enters_between_pending_ones() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    propose(&mut log, "a\nB\nc\n");
    log.external(Some("a\nb\nc\nd\n"), meta("disk"));
    check_texts(&log, "a\nB\nc\nd\n", "a\nb\nc\nd\n");
    assert_eq!(log.saved_text(), log.disk_text());
}

#[test]
fn a_saved_log_loads() {
    let mut log = LineLog::new(Some("a\nb\nc"));
    propose(&mut log, "a\nB\nc\nd");
    type_in(&mut log, "a\nB!\nc\nd");
    let json = serde_json::to_string(&log).unwrap();
    let loaded: LineLog = serde_json::from_str(&json).unwrap();
    assert_eq!(loaded.visible_text(), log.visible_text());
    assert_eq!(loaded.disk_text(), log.disk_text());
    assert_eq!(serde_json::to_string(&loaded).unwrap(), json);
}

#[test]
fn a_loaded_log_continues_the_numbering_of_checkpoints() {
    let mut log = LineLog::new(Some("a\n"));
    let old = log.checkpoint();
    propose(&mut log, "b\n");
    let mut loaded: LineLog = serde_json::from_str(&serde_json::to_string(&log).unwrap()).unwrap();
    let new = loaded.checkpoint();
    assert!(new > old);
    propose(&mut loaded, "c\n");
    loaded.rollback_to(new, Origin::User, 1).unwrap();
    assert_eq!(loaded.visible_text().as_deref(), Some("b\n"));
    loaded.rollback_to(old, Origin::User, 2).unwrap();
    assert_eq!(loaded.visible_text().as_deref(), Some("a\n"));
}

/// Checks that lines restored by hand leave no hunk, and appear once after every decision.
#[track_caller]
fn check_restored(proposed: &str, typed: &str, rest: usize) {
    let base = "one\ntwo\nthree\nfour\nfive\n";
    let mut log = LineLog::new(Some(base));
    propose(&mut log, proposed);
    let before = log.pending();
    type_in(&mut log, typed);
    assert_eq!((log.visible_text().as_deref(), log.pending().len()), (Some(typed), rest));
    let mut rejected = log.clone();
    rejected.reject(&log.pending(), DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
    let text = rejected.disk_text().unwrap();
    for line in ["one\n", "two\n", "three\n", "four\n", "five\n", "mine\n"] {
        assert_eq!(text.matches(line).count(), usize::from(line != "mine\n" || typed.contains(line)), "{text}");
    }
    // The user's undo brings the hunk back.
    log.undo(Origin::User, 0).unwrap();
    assert_eq!((log.visible_text().as_deref(), log.pending()), (Some(proposed), before));
}

#[test]
fn lines_restored_by_hand_take_the_change_back() {
    let base = "one\ntwo\nthree\nfour\nfive\n";
    check_restored("one\ntwo\nTHREE\nfour\nfive\n", base, 0);
    check_restored("one\nfour\nfive\n", base, 0);
    check_restored("new\n", base, 0);
    check_restored("one\nTWO\nthree\nFOUR\nfive\n", base, 0);
    check_restored("one\nTWO\nthree\nFOUR\nfive\n", "one\ntwo\nthree\nFOUR\nfive\n", 1);
    check_restored("one\nTWO\nthree\nFOUR\nfive\n", "one\nTWO\nthree\nfour\nfive\nmine\n", 1);
    check_restored("one\nTWO\nTHREE\nfour\nfive\n", "mine\none\ntwo\nthree\nfour\nfive\n", 0);
}
