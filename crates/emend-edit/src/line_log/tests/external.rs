//! Changes on the disk, and saved logs that are loaded, damaged ones included.

use std::cell::Cell;

use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::plain::Plain;
use super::properties::{check, count};
use super::steps::{base, history, play};
use super::{check_texts, meta, propose, type_in};
use crate::line_log::history::StatusChange;
use crate::line_log::{Action, ChangeId, ChangeMeta, DependentsPolicy, HunkQuery, LineLog, LoadError, Origin, Status};
use crate::test_support::FEW_CASES;

#[test]
fn after_an_external_change_the_disk_is_as_it_was_found() {
    let (n_external, n_as_saved, n_lost, n_restored) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let n_back = Cell::new(0);
    check((history(), base(), any::<bool>(), any::<bool>()), |((start, steps), found, save, crashed)| {
        let mut log = play(start.as_deref(), &steps);
        if save {
            log.mark_saved();
        }
        let is_all_saved = log.saved_text() == log.disk_text();
        let before = Plain::of(&log);
        let is_news = log.saved_text() != found;
        let n_entries = log.entries().len();
        let record = if crashed { LineLog::after_crash } else { LineLog::external };
        let ids = record(&mut log, found.as_deref(), meta("disk"));
        assert_eq!(log.saved_text(), found);
        count(&n_external, !ids.is_empty());
        count(&n_as_saved, is_news && ids.is_empty());
        if is_all_saved {
            assert_eq!(log.disk_text(), found);
            assert_eq!(log.external(found.as_deref(), meta("again")), []);
        }
        for id in &ids {
            let change = log.change(*id).unwrap();
            assert_eq!((change.origin, change.status), (Origin::External, Status::Accepted));
        }
        let news = &log.entries()[n_entries..];
        if news.iter().any(|entry| matches!(entry.action, Action::Undo { .. } | Action::Redo { .. })) {
            assert_eq!(log.disk_text(), found);
            // After a crash, another program may have changed the text that the last entry had not reached.
            assert!(ids.is_empty() || crashed, "{ids:?}");
            // The last entry had not reached the disk, or the last changes of other programs were taken back.
            let is_back = news.iter().all(|entry| entry.by == Origin::External);
            assert!(crashed || is_back && is_all_saved);
            count(&n_back, is_back);
            return count(&n_lost, !is_back);
        }
        let is_back = |set: &StatusChange| set.from.is_on() && set.to == Status::Rejected;
        if news.iter().any(|entry| entry.set.iter().any(is_back)) {
            // Lines of the agent were taken back.
            assert_eq!(log.disk_text(), found);
            return count(&n_restored, true);
        }
        // Only lines that the other program deleted are hidden by it.
        let after = Plain::of(&log);
        let ours = after.lines.iter().filter(|line| !ids.contains(&log.id_of(line.by)));
        for (was, is) in before.lines.iter().zip(ours) {
            let is_deleted = is.deleted_by.iter().any(|&by| ids.contains(&log.id_of(by)));
            assert_eq!(before.is_visible(was) && !is_deleted, after.is_visible(is));
        }
    });
    let (n_external, n_as_saved, n_lost) = (n_external.get(), n_as_saved.get(), n_lost.get());
    let n_restored = n_restored.get();
    println!("external changes: {n_external}, unrecorded saves: {n_as_saved}, lost: {n_lost}, restored: {n_restored}");
    // Unrecorded saves and lost entries are rare: few cases may have none. The tests below have their own.
    assert!(n_external > 0 && (n_as_saved > 0 && n_lost > 0 || FEW_CASES));
}

/// Checks that an entry that did not reach the disk is taken back, so that it can be done again and leaves no line twice.
#[track_caller]
fn check_lost(prepare: impl Fn(&mut LineLog), step: impl Fn(&mut LineLog)) {
    let mut log = LineLog::new(Some("one\ntwo\nthree\n"));
    prepare(&mut log);
    log.mark_saved();
    let before = (log.visible_text(), log.disk_text());
    step(&mut log);
    let after = log.disk_text();
    assert_ne!(before.1, after);
    // The log was saved, and the process was killed before it wrote the file.
    log.mark_saved();
    let mut log: LineLog = serde_json::from_str(&serde_json::to_string(&log).unwrap()).unwrap();
    assert_eq!(log.after_crash(before.1.as_deref(), meta("disk")), []);
    assert_eq!((log.visible_text(), log.disk_text()), before);
    let pending = log.pending();
    log.reject(&pending, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
    let ids: Vec<_> = log.changes().map(|change| change.id).collect();
    log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
    assert_eq!(log.visible_text().as_deref(), Some("one\ntwo\nthree\n"));
}

#[test]
fn an_entry_that_did_not_reach_the_disk_is_taken_back() {
    let write = |text: &'static str| {
        move |log: &mut LineLog| drop(log.write(Origin::Agent, meta("agent"), text, Status::Accepted))
    };
    let undo = |log: &mut LineLog| {
        let ids: Vec<_> = log.changes().map(|change| change.id).collect();
        log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
    };
    let nothing = |_: &mut LineLog| {};
    check_lost(nothing, write("one\nnew\n"));
    check_lost(nothing, write("one\ntwo\nthree\none\ntwo\nthree\n"));
    check_lost(nothing, |log| {
        log.delete(Origin::Agent, meta("agent"), Status::Accepted);
    });
    check_lost(write("new\n"), write("newer\n"));
    check_lost(write("new\n"), undo);
    check_lost(
        |log| {
            write("new\n")(log);
            undo(log);
        },
        |log| drop(log.undo(Origin::User, 0)),
    );
    check_lost(
        |log| drop(propose(log, "ONE\ntwo\nthree\n")),
        |log| {
            let pending = log.pending();
            log.accept(&pending, Origin::User, 0).unwrap();
        },
    );
}

/// Checks that `found` on the disk, after the acceptance of a proposal, counts as a rejection by the user.
#[track_caller]
fn check_restored(base: &str, proposed: &str, found: &str, after_undo: &str) {
    let mut log = LineLog::new(Some(base));
    let ids = propose(&mut log, proposed);
    log.accept(&ids, Origin::User, 1).unwrap();
    log.mark_saved();
    log.external(Some(found), meta("disk"));
    assert_eq!((log.visible_text().as_deref(), log.disk_text().as_deref()), (Some(found), Some(found)));
    assert!(log.is_disk_saved());
    assert_eq!(log.pending(), []);
    assert!(ids.iter().any(|&id| log.change(id).unwrap().status == Status::Rejected));
    // The acceptance can no longer be undone as far as it was taken back.
    log.undo(Origin::User, 2);
    assert_eq!(log.disk_text().as_deref(), Some(after_undo));
}

#[test]
fn an_accepted_change_that_is_restored_on_the_disk_is_rejected() {
    let base = "one\ntwo\nthree\nfour\n";
    check_restored(base, "one\nTWO\nthree\nfour\n", base, base);
    check_restored(base, "one\ntwo\nnew\nthree\nfour\n", base, base);
    check_restored(base, "one\nfour\n", base, base);
    check_restored(base, "ONE\ntwo\nthree\nFOUR\n", base, base);
    check_restored("one\r\ntwo", "one\r\nTWO", "one\r\ntwo", "one\r\ntwo");
    // One of two places, and beside another edit of the user.
    check_restored(base, "ONE\ntwo\nthree\nFOUR\n", "one\ntwo\nthree\nFOUR\n", base);
    let mine = "one\ntwo\nthree\nmine\n";
    check_restored(base, "one\nTWO\nthree\nfour\n", mine, mine);
}

#[test]
fn the_last_change_alone_is_rejected_if_the_lines_of_the_one_before_are_restored() {
    let mut log = LineLog::new(Some("zero\n"));
    for (run, text) in [("1", "one\n"), ("2", "two\n")] {
        let meta = ChangeMeta { run: run.to_owned(), ..ChangeMeta::default() };
        log.write(Origin::Agent, meta, text, Status::Accepted);
        log.mark_saved();
    }
    log.external(Some("one\n"), ChangeMeta::default());
    let on: Vec<String> = log.changes().filter(|change| change.status.is_on()).map(|change| change.meta.run).collect();
    assert_eq!(on, ["1"]);
    let ids: Vec<ChangeId> = log.changes().filter(|change| change.status.is_on()).map(|change| change.id).collect();
    log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
    assert_eq!(log.visible_text().as_deref(), Some("zero\n"));
}

#[test]
fn lines_of_a_pending_change_stay_on_the_disk_if_another_program_restores_them() {
    let mut log = LineLog::new(Some("one\n"));
    propose(&mut log, "two\n");
    log.write(Origin::Agent, meta("direct"), "three\n", Status::Accepted);
    log.mark_saved();
    check_texts(&log, "three\n", "three\n");
    log.external(Some("two\n"), meta("disk"));
    check_texts(&log, "two\n", "two\n");
}

#[test]
fn a_proposal_over_another_one_is_taken_back_alone_if_the_user_restores_its_lines() {
    let mut log = LineLog::new(Some("one\n"));
    let first = propose(&mut log, "two\n");
    propose(&mut log, "three\n");
    type_in(&mut log, "two\n");
    assert_eq!(log.pending(), first);
    check_texts(&log, "two\n", "one\n");
}

#[test]
fn the_text_of_a_file_that_was_deleted_and_made_anew_is_restored_once() {
    let mut log = LineLog::new(Some("sea\n"));
    let mut ids = vec![log.delete(Origin::Agent, meta("delete"), Status::Pending).unwrap()];
    ids.extend(propose(&mut log, ""));
    log.accept(&ids, Origin::User, 1).unwrap();
    log.mark_saved();
    log.external(Some("sea\n"), meta("disk"));
    assert!(ids.iter().all(|&id| log.change(id).unwrap().status == Status::Rejected));
    log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, 2).unwrap();
    assert_eq!(log.disk_text().as_deref(), Some("sea\n"));
}

#[test]
fn an_unrecorded_save_is_not_a_change() {
    let mut log = LineLog::new(Some("a\nb\n"));
    type_in(&mut log, "a\nb\nmine\n");
    propose(&mut log, "A\nb\nmine\n");
    assert_eq!(log.external(Some("a\nb\nmine\n"), meta("disk")), []);
    assert_eq!(log.saved_text().as_deref(), Some("a\nb\nmine\n"));
    assert_eq!(log.pending().len(), 1);
    // The proposal itself is on the disk, so it counts as accepted.
    assert_eq!(log.external(Some("A\nb\nmine\n"), meta("disk")), []);
    assert_eq!(log.pending(), []);
    assert_eq!(log.disk_text().as_deref(), Some("A\nb\nmine\n"));
}

#[test]
fn a_file_deleted_on_the_disk_keeps_pending_changes() {
    let mut log = LineLog::new(Some("a\nb\n"));
    propose(&mut log, "a\nB\nc\n");
    log.external(None, meta("disk"));
    assert_eq!(log.disk_text(), None);
    assert_eq!(log.visible_text().as_deref(), Some("B\nc\n"));
}

/// Checks the text after `found` was found on the disk beside a pending proposal, and the proposal was accepted.
#[track_caller]
fn check_accepted(base: &str, proposed: &str, found: &str, expected: &str) {
    let mut log = LineLog::new(Some(base));
    let ids = propose(&mut log, proposed);
    log.external(Some(found), meta("disk"));
    assert_eq!(log.disk_text().as_deref(), Some(found));
    log.accept(&ids, Origin::User, 1).unwrap();
    assert_eq!(log.disk_text().as_deref(), Some(expected));
}

#[test]
fn a_line_typed_after_a_pending_line_stays_after_it() {
    check_accepted("x\nalpha 1\ny\n", "x\nomega 1\ny\n", "x\nalpha 1\nMINE\ny\n", "x\nomega 1\nMINE\ny\n");
    check_accepted("x\nalpha 1\ny\n", "x\nomega 1\ny\n", "x\nMINE\nalpha 1\ny\n", "x\nMINE\nomega 1\ny\n");
    check_accepted("a 1\na 2\ny\n", "o 1\no 2\ny\n", "a 1\na 2\nMINE\ny\n", "o 1\no 2\nMINE\ny\n");
    check_accepted("x\nalpha 1\n", "x\nomega 1\n", "x\nalpha 1\nMINE\n", "x\nomega 1\nMINE\n");
    check_accepted("x\nalpha 1\ny\n", "x\no 1\no 2\no 3\ny\n", "x\nalpha 1\nMINE\ny\n", "x\no 1\no 2\no 3\nMINE\ny\n");
    // A second proposal that rewrites the first one.
    let mut log = LineLog::new(Some("x\nalpha\ny\n"));
    let mut ids = propose(&mut log, "x\nomega\ny\n");
    ids.extend(propose(&mut log, "x\nOMEGA\ny\n"));
    log.external(Some("x\nalpha\nMINE\ny\n"), meta("disk"));
    log.accept(&ids, Origin::User, 1).unwrap();
    assert_eq!(log.disk_text().as_deref(), Some("x\nOMEGA\nMINE\ny\n"));
}

#[test]
fn a_line_typed_while_a_change_is_undone_stays_after_it() {
    let mut log = LineLog::new(Some("x\nalpha\ny\n"));
    let ids = log.write(Origin::Agent, meta("e"), "x\nomega\ny\n", Status::Accepted);
    log.rollback(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    type_in(&mut log, "x\nalpha\nMINE\ny\n");
    log.accept(&ids, Origin::User, 2).unwrap();
    assert_eq!(log.disk_text().as_deref(), Some("x\nomega\nMINE\ny\n"));
}

/// Checks the rival lines of a pending proposal after `found` was found on the disk; `None` if it is not contested. Then
/// checks the text after accepting it over them, and that undo restores the conflict.
#[track_caller]
fn check_contested(base: &str, proposed: &str, found: Option<&str>, expected: Option<(&[&str], &str)>) {
    let mut log = LineLog::new(Some(base));
    let ids = propose(&mut log, proposed);
    assert_eq!(log.contested(&ids), []);
    log.external(found, meta("disk"));
    let contested = log.contested(&ids);
    assert_eq!(
        (!contested.is_empty()).then(|| log.rival_lines(&ids)).as_deref(),
        expected
            .map(|(rivals, _)| rivals)
            .map(|r| r.iter().map(|&line| line.to_owned()).collect::<Vec<_>>())
            .as_deref()
    );
    let Some((rivals, after)) = expected else { return };
    log.accept_over(&ids, Origin::User, 1).unwrap();
    assert_eq!((log.disk_text().as_deref(), log.visible_text().as_deref()), (Some(after), Some(after)));
    log.undo(Origin::User, 2).unwrap();
    assert_eq!((log.disk_text().as_deref(), log.contested(&ids)), (found, contested));
    assert_eq!(log.rival_lines(&ids), rivals);
    log.redo(Origin::User, 3).unwrap();
    assert_eq!(log.disk_text().as_deref(), Some(after));
    let json = serde_json::to_string(&log).unwrap();
    let loaded: LineLog = serde_json::from_str(&json).unwrap();
    assert_eq!(loaded.disk_text().as_deref(), Some(after));
}

#[test]
fn a_place_that_both_sides_changed_is_contested() {
    let base = "x\ncall(a)\ny\n";
    let proposed = "x\ncall(b)\ny\n";
    check_contested(base, proposed, Some("x\ncall(a, 2)\ny\n"), Some((&["call(a, 2)\n"], proposed)));
    check_contested(base, proposed, Some("x\ny\n"), Some((&[], proposed)));
    check_contested(base, proposed, Some("X\ncall(a)\ny\n"), None);
    check_contested(base, proposed, Some("x\ncall(a)\nMINE\ny\n"), None);
    check_contested(base, proposed, None, Some((&[], "call(b)\n")));
    check_contested(base, "x\ncall(a)\nnew\ny\n", None, Some((&[], "new\n")));
    let crlf = "x\r\ncall(a)\r\ny\r\n";
    check_contested(base, proposed, Some(crlf), Some((&["call(a)\r\n"], "x\r\ncall(b)\r\ny\r\n")));
}

#[test]
fn only_changes_made_while_it_was_off_contest_a_change() {
    let mut log = LineLog::new(Some("a\nb\n"));
    let ids = log.write(Origin::Agent, meta("e"), "A\nb\n", Status::Accepted);
    log.mark_saved();
    log.rollback(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    assert_eq!(log.contested(&ids), []);
    type_in(&mut log, "mine\nb\n");
    assert_eq!(log.contested(&ids), ids);
    // A change that was accepted where the user had deleted a line, rolled back and accepted again: nothing is new.
    let mut log = LineLog::new(Some("a\nb\n"));
    let ids = propose(&mut log, "A\nb\n");
    log.external(Some("b\n"), meta("disk"));
    log.accept_over(&ids, Origin::User, 2).unwrap();
    log.rollback(&ids, DependentsPolicy::Refuse, Origin::User, 3).unwrap();
    assert_eq!((log.visible_text().as_deref(), log.contested(&ids)), (Some("b\n"), Vec::new()));
    // A rejected proposal stays contested.
    let mut log = LineLog::new(Some("a\nb\n"));
    let ids = propose(&mut log, "A\nb\n");
    log.external(Some("mine\nb\n"), meta("disk"));
    log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    assert_eq!(log.contested(&ids), ids);
}

#[test]
fn compaction_keeps_the_text_and_continues_the_numbering() {
    let mut log = LineLog::new(Some("a\nb"));
    let first = propose(&mut log, "a\nB\nc\n");
    assert!(!log.compact(), "a change is pending");
    log.accept(&first, Origin::User, 1).unwrap();
    assert!(!log.compact(), "the disk does not have it yet");
    log.mark_saved();
    let checkpoint = log.checkpoint();
    assert!(!log.compact(), "a checkpoint may need it");
    assert!(log.release(checkpoint));
    let revision = log.revision();
    assert!(log.compact());
    assert_eq!(log.base_text().as_deref(), Some("a\nB\nc\n"));
    assert_eq!((log.saved_text(), log.visible_text()), (log.base_text(), log.base_text()));
    assert!(log.revision() > revision);
    let next = propose(&mut log, "a\nB\nC\n");
    assert!(next[0] > first[first.len() - 1]);
    assert_eq!(log.change(first[0]), None);
    assert!(log.undo(Origin::User, 2).is_none());
    let json = serde_json::to_string(&log).unwrap();
    let loaded: LineLog = serde_json::from_str(&json).unwrap();
    assert_eq!(loaded.hunks(HunkQuery::default()), log.hunks(HunkQuery::default()));
}

#[test]
fn no_number_is_used_twice_however_often_a_log_is_compacted() {
    let mut log = LineLog::new(Some("0\n"));
    let (mut ids, mut entries, mut checkpoints) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=4 {
        ids.extend(propose(&mut log, &format!("{round}\n")));
        checkpoints.push(log.checkpoint());
        assert!(log.release(checkpoints[checkpoints.len() - 1]));
        log.accept(&ids[ids.len() - 1..], Origin::User, 1).unwrap();
        entries.extend(log.entries().iter().map(|entry| entry.number));
        log.mark_saved();
        assert!(log.compact());
    }
    assert_eq!((ids.len(), entries.len()), (4, 8));
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    assert!(entries.is_sorted_by(|a, b| a < b), "{entries:?}");
    assert!(checkpoints.is_sorted_by(|a, b| a < b), "{checkpoints:?}");
}

#[track_caller]
fn check_damaged(json: &serde_json::Value, expected: &LoadError) {
    let error = serde_json::from_value::<LineLog>(json.clone()).unwrap_err();
    assert!(error.to_string().contains(&expected.to_string()), "{error}, expected {expected}");
}

#[test]
fn a_damaged_log_is_rejected() {
    let mut log = LineLog::new(Some("a\nb\n"));
    propose(&mut log, "a\nB\n");
    type_in(&mut log, "a\nB!\n");
    log.mark_saved();
    log.checkpoint();
    let good = serde_json::to_value(&log).unwrap();
    let edits: &[(&str, serde_json::Value, LoadError)] = &[
        ("/version", 2.into(), LoadError::Version { found: 2 }),
        ("/revision", u64::MAX.into(), LoadError::Damaged { what: "counter" }),
        ("/eol", "x".into(), LoadError::Damaged { what: "line ending" }),
        ("/lines/0/0", "a\nb\n".into(), LoadError::Damaged { what: "line" }),
        ("/lines/0/1", 9.into(), LoadError::Damaged { what: "line's change" }),
        ("/lines/1/2/0", 0.into(), LoadError::Damaged { what: "line's change" }),
        ("/changes/0/write", 7.into(), LoadError::Damaged { what: "write of a change" }),
        ("/changes/1/deps/0", 2.into(), LoadError::Damaged { what: "dependency" }),
        ("/changes/1/parent", 2.into(), LoadError::Damaged { what: "nesting of changes" }),
        ("/changes/1/parts", serde_json::json!([1]), LoadError::Damaged { what: "part of a change" }),
        ("/changes/1/parts", serde_json::json!([2]), LoadError::Damaged { what: "part of a change" }),
        ("/changes/0/parts", serde_json::json!([3]), LoadError::Damaged { what: "part of a change" }),
        ("/entries/0/number", 5.into(), LoadError::Damaged { what: "history entry" }),
        ("/entries/0/set/0/change", 50.into(), LoadError::Damaged { what: "change in the history" }),
        ("/checkpoints/1", 50.into(), LoadError::Damaged { what: "checkpoint" }),
        ("/saved/lines/0", 50.into(), LoadError::Damaged { what: "line on the disk" }),
    ];
    for (pointer, value, expected) in edits {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer} in {good}")) = value.clone();
        check_damaged(&bad, expected);
    }
}

#[test]
fn damage_of_any_kind_never_panics() {
    let n_loaded = Cell::new(0);
    check((history(), any::<u16>(), 0..40_u64), |((start, steps), pick, value)| {
        let log = play(start.as_deref(), &steps);
        let mut json = serde_json::to_value(&log).unwrap();
        let mut numbers = Vec::new();
        collect_numbers(&mut json, &mut numbers);
        let n = numbers.len();
        *numbers[pick as usize % n] = value.into();
        let Ok(mut loaded) = serde_json::from_value::<LineLog>(json) else { return };
        count(&n_loaded, true);
        // A log that loads must work, however its file was damaged.
        let _ = (loaded.visible_text(), loaded.disk_text(), loaded.hunks(HunkQuery::default()));
        propose(&mut loaded, "a\nx\n");
        assert_eq!(loaded.visible_text().as_deref(), Some("a\nx\n"));
        loaded.external(Some("b\n"), meta("disk"));
        let _ = loaded.reject(&loaded.pending(), crate::line_log::DependentsPolicy::WithDependents, Origin::User, 0);
        while loaded.undo(Origin::User, 0).is_some() {}
    });
    assert!(n_loaded.get() > 0);
}

fn collect_numbers<'a>(value: &'a mut serde_json::Value, numbers: &mut Vec<&'a mut serde_json::Value>) {
    match value {
        serde_json::Value::Number(_) => numbers.push(value),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| collect_numbers(item, numbers)),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(|item| collect_numbers(item, numbers)),
        _ => {}
    }
}

/// Records a text as found on the disk.
fn found(log: &mut LineLog, text: Option<&str>) {
    log.external(text, meta("disk"));
}

#[test]
fn a_text_that_another_program_puts_back_is_no_change() {
    // The texts on the disk after the agent's edit, one after the other; the last one is that of the edit.
    for texts in [
        &[None, Some("one\n2\n")][..],
        &[Some("one\nzwei\n"), Some("one\n2\n")],
        &[Some("one\n2\nthree\n"), Some("zero\none\n2\nthree\n"), None, Some("one\n2\n")],
        // The text from before the edit, which takes it back.
        &[Some("one\ntwo\n"), Some("one\n2\n")],
        &[Some("one\ntwo\n"), None, Some("one\ntwo\n"), Some("one\n2\n")],
    ] {
        let mut log = LineLog::new(Some("one\ntwo\n"));
        let ids = log.write(Origin::Agent, meta("edit"), "one\n2\n", Status::Accepted);
        log.mark_saved();
        texts.iter().for_each(|text| found(&mut log, *text));
        assert_eq!(log.visible_text().as_deref(), Some("one\n2\n"));
        let live = log.changes().filter(|change| change.origin == Origin::External && change.status.is_on());
        assert_eq!(live.count(), 0, "{texts:?}");
        // The edit can be undone as if nothing had happened.
        log.rollback(&ids, DependentsPolicy::Refuse, Origin::User, 0).unwrap();
        assert_eq!(log.visible_text().as_deref(), Some("one\ntwo\n"));
    }
}

#[test]
fn a_created_file_is_contested_by_one_that_another_program_made_since() {
    let mut log = LineLog::new(None);
    let ids = log.write(Origin::Agent, meta("edit"), "theirs\n", Status::Accepted);
    log.mark_saved();
    assert_eq!(log.contested(&ids), []);
    log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
    log.mark_saved();
    assert_eq!(log.contested(&ids), []);
    found(&mut log, Some("mine\n"));
    assert_eq!((log.contested(&ids), log.rival_lines(&ids)), (ids.clone(), vec!["mine\n".to_owned()]));
    // Over the rival: the agent's file takes the place of the other one.
    let mut over = log.clone();
    over.accept_over(&ids, Origin::User, 0).unwrap();
    assert_eq!(over.visible_text().as_deref(), Some("theirs\n"));
    over.undo(Origin::User, 0).unwrap();
    assert_eq!(over.visible_text().as_deref(), Some("mine\n"));
    // Without the rival the file is free again.
    found(&mut log, None);
    assert_eq!(log.contested(&ids), []);
}
