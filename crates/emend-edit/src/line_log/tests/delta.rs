//! Deltas: a saved log that grows by them equals the log that is saved as a whole.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::properties::{check, check_share, count};
use super::steps::{history, take};
use super::{meta, propose, type_in};
use crate::line_log::{HunkQuery, LineLog, LoadError, LogDelta, Origin, SavedLog, Status};

fn json_of(log: &LineLog) -> Value {
    serde_json::to_value(SavedLog::of(log)).unwrap()
}

/// Returns a delta as it is read from a disk.
fn read(delta: &LogDelta) -> LogDelta {
    serde_json::from_str(&serde_json::to_string(delta).unwrap()).unwrap()
}

#[test]
fn a_saved_log_grows_by_deltas() {
    let (n_saves, n_deltas) = (Cell::new(0), Cell::new(0));
    check((history(), vec(any::<bool>(), 12), any::<bool>()), |((base, steps), saves, loads)| {
        let mut log = LineLog::new(base.as_deref());
        let (mut before, mut saved) = (log.clone(), SavedLog::of(&log));
        for (step, is_saved) in steps.iter().zip(&saves) {
            take(&mut log, step);
            if !is_saved {
                continue;
            }
            log.mark_saved();
            let delta = log.delta_since(&before);
            match &delta {
                Some(delta) => saved.apply(read(delta)).unwrap(),
                None => saved = SavedLog::of(&log),
            }
            count(&n_saves, true);
            count(&n_deltas, delta.is_some());
            assert_eq!(serde_json::to_value(&saved).unwrap(), json_of(&log));
            let loaded = saved.clone().into_log().unwrap();
            assert_eq!(loaded.saved_text(), log.saved_text());
            if loads {
                // Another process goes on with the log that it has loaded.
                log = loaded;
            }
            before = log.clone();
        }
    });
    check_share("saves with a delta", &n_deltas, &n_saves, 95);
}

#[test]
fn a_delta_is_as_large_as_the_change() {
    let text: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
    let mut log = LineLog::new(Some(&text));
    for line in [10, 9_000, 5_000] {
        let before = log.clone();
        let now = log.visible_text().unwrap().replace(&format!("line {line}\n"), "other\n");
        log.write(Origin::Agent, meta("write"), &now, Status::Accepted);
        log.mark_saved();
        let delta = serde_json::to_string(&log.delta_since(&before).unwrap()).unwrap();
        assert!(delta.len() < 600, "{delta}");
    }
}

#[test]
fn a_split_that_moves_lines_has_no_delta() {
    let mut log = LineLog::new(Some("a\nb\n"));
    propose(&mut log, "A\nB\n");
    let before = log.clone();
    let ids = log.hunks(HunkQuery::default())[0].change_ids.clone();
    assert!(log.split_hunk(&ids, 3, 3, Origin::User, 1).unwrap());
    assert!(log.delta_since(&before).is_none());
    assert!(log.delta_since(&log.clone()).is_some());
}

#[test]
fn a_log_that_does_not_continue_another_has_no_delta() {
    let mut log = LineLog::new(Some("a\nb\n"));
    let empty = log.clone();
    propose(&mut log, "a\nB\n");
    log.mark_saved();
    let pending = log.clone();
    assert!(pending.delta_since(&empty).is_some());
    assert!(empty.delta_since(&pending).is_none(), "it is earlier");
    for other in ["A\nb\n", "ab\n\n", "a\nb\nc\n", "b\n"] {
        assert!(pending.delta_since(&LineLog::new(Some(other))).is_none(), "{other:?}");
    }
    // The log of a text with which this one begins may be continued: the result is the same.
    let other = LineLog::new(Some("a\n"));
    let mut saved = SavedLog::of(&other);
    saved.apply(pending.delta_since(&other).unwrap()).unwrap();
    assert_eq!(serde_json::to_value(&saved).unwrap(), json_of(&pending));
    log.accept(&pending.pending(), Origin::User, 1).unwrap();
    log.mark_saved();
    let accepted = log.clone();
    assert!(log.compact());
    log.mark_saved();
    assert!(log.delta_since(&accepted).is_none(), "it was compacted");
}

/// Returns the log with a line of the user, the saved form of the log before it, and the delta.
fn grown() -> (LineLog, SavedLog, Value) {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    propose(&mut log, "a\nB\nc\n");
    log.mark_saved();
    let before = log.clone();
    type_in(&mut log, "a\nB\nmine\nc\n");
    log.mark_saved();
    let delta = log.delta_since(&before).unwrap();
    (log, SavedLog::of(&before), serde_json::to_value(delta).unwrap())
}

#[test]
fn a_delta_of_another_state_is_damage() {
    let (log, before, delta) = grown();
    let applied = |delta: &Value| {
        let mut saved = before.clone();
        saved.apply(serde_json::from_value(delta.clone()).unwrap())?;
        saved.into_log()
    };
    assert_eq!(json_of(&applied(&delta).unwrap()), json_of(&log));
    let lines = &delta["lines"];
    let n_changes = delta["changes"]["n"].as_u64().unwrap();
    let damaged = |what| LoadError::Damaged { what };
    let edits = [
        ("/version", json!(2), LoadError::Version { found: 2 }),
        ("/from", json!(7), damaged("revision of a delta")),
        ("/lines", json!([]), damaged("number of lines in a delta")),
        ("/lines", json!([lines[0], lines[1]]), damaged("number of lines in a delta")),
        ("/lines", json!([5]), damaged("number of lines in a delta")),
        ("/lines", json!([4, [0, [], true]]), damaged("number of lines in a delta")),
        ("/lines/1/0", json!("two\nlines\n"), damaged("line")),
        ("/changes/n", json!(n_changes + 1), damaged("number of elements in a delta")),
        ("/changes/set/0/0", json!(n_changes), damaged("element of a delta")),
        ("/entries/set/0/1/number", json!(9), damaged("history entry")),
    ];
    for (pointer, value, expected) in edits {
        let mut changed = delta.clone();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} in {delta}")) = value.clone();
        assert_eq!(applied(&changed).map(|log| json_of(&log)), Err(expected), "{pointer} {value}");
    }
}
