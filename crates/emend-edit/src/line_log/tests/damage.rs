//! Saved logs with a number that is one too large.

use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{meta, propose, type_in};
use crate::line_log::{DependentsPolicy, HunkQuery, LineLog, Origin};

/// Returns a saved log with nested, split and rejected changes, an undone edit and a checkpoint.
fn saved() -> Value {
    let mut log = LineLog::new(None);
    let created = propose(&mut log, "a\nb\nc\n");
    log.split(created[0], 1).unwrap().unwrap();
    type_in(&mut log, "a\nb\nmine\nc\n");
    let ids = propose(&mut log, "a\nb\nmine\nc\nd\n");
    log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    log.external(Some("a\nb\nmine\nc\ndisk\n"), meta("disk"));
    log.checkpoint();
    serde_json::to_value(&log).unwrap()
}

fn load(saved: &Value) -> Result<LineLog, serde_json::Error> {
    serde_json::from_value(saved.clone())
}

/// Checks that a log with a number at `pointer` is loaded with `good` and refused with `bad`.
#[track_caller]
fn check(pointer: &str, good: &Value, bad: &Value) {
    for (value, is_good) in [(good, true), (bad, false)] {
        let mut changed = saved();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} in {}", saved())) = value.clone();
        let loaded = load(&changed);
        assert_eq!(loaded.is_ok(), is_good, "{pointer} {value}: {:?}", loaded.err());
    }
}

#[test]
fn a_number_that_is_one_too_large_is_damage() {
    let whole = saved();
    assert!(load(&whole).is_ok());
    let n = |list: &str| whole[list].as_array().unwrap().len();
    let (n_changes, n_lines, n_writes) = (n("changes"), n("lines"), n("writes"));
    check("/changes/3/write", &json!(n_writes - 1), &json!(n_writes));
    check("/changes/4/deps", &json!([1]), &json!([n_changes + 1]));
    check("/changes/4/deps", &json!([]), &json!([5]));
    check("/changes/0/parent", &json!(0), &json!(n_changes + 1));
    check("/changes/0/parts", &json!([n_changes - 1, n_changes]), &json!([n_changes - 1, n_changes + 1]));
    check("/changes/0/parts", &json!([]), &json!([1]));
    check("/lines/0/1", &json!(n_changes), &json!(n_changes + 1));
    check("/lines/0/2", &json!([n_changes]), &json!([n_changes + 1]));
    check("/incarnations/0/created_by", &json!([n_changes]), &json!([n_changes + 1]));
    check("/incarnations/0/deleted_by", &json!([n_changes]), &json!([n_changes + 1]));
    check("/saved/lines", &json!([n_lines - 1]), &json!([n_lines]));
    check("/saved/lines", &json!([0, 1]), &json!([1, 1]));
    check("/revision", &json!((1_u64 << 53) - 1), &json!(1_u64 << 53));
    let number = n("entries") + 1;
    check("/checkpoints", &json!({"1": 1}), &json!({"1": 0}));
    check("/checkpoints", &json!({"1": number}), &json!({"1": number + 1}));
}

#[test]
fn checkpoints_are_among_the_entries_that_are_left() {
    let mut changed = saved();
    let n_entries = changed["entries"].as_array().unwrap().len() as u64;
    let n_dropped = 10;
    for entry in changed["entries"].as_array_mut().unwrap() {
        entry["number"] = json!(entry["number"].as_u64().unwrap() + n_dropped);
    }
    changed["n_dropped"] = json!(n_dropped);
    for (number, is_good) in [
        (n_dropped, false),
        (n_dropped + 1, true),
        (n_dropped + n_entries + 1, true),
        (n_dropped + n_entries + 2, false),
    ] {
        changed["checkpoints"] = json!({ "1": number });
        assert_eq!(load(&changed).is_ok(), is_good, "{number}");
    }
}

#[test]
fn changes_that_are_nested_in_each_other_are_damage() {
    let mut changed = saved();
    changed["changes"][1]["parent"] = json!(3);
    changed["changes"][2]["parent"] = json!(2);
    assert!(load(&changed).is_err());
    // Nested in a later change only, each depth is known in time.
    changed["changes"][1]["parent"] = json!(3);
    changed["changes"][2]["parent"] = json!(0);
    let loaded = load(&changed).unwrap();
    assert_eq!(
        loaded.hunks(HunkQuery::default()).is_empty(),
        load(&saved()).unwrap().hunks(HunkQuery::default()).is_empty()
    );
}
