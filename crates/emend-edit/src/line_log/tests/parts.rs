//! Worked examples of the parts of a split change, and of the numbers that go on after a compaction.

#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{check_texts, meta, propose, type_in};
use crate::line_log::{ChangeId, DependentsPolicy, HunkId, HunkQuery, LineLog, Origin, Status};

fn reject(log: &mut LineLog, ids: &[ChangeId]) {
    log.reject(ids, DependentsPolicy::OnlyThese, Origin::User, 1).unwrap();
}

fn edit(log: &mut LineLog, text: &str) -> Vec<ChangeId> {
    log.write(Origin::Agent, meta("other"), text, Status::Pending)
}

#[test]
fn a_part_that_starts_a_hunk_does_so_after_another_split() {
    let mut log = LineLog::new(Some("top\n"));
    let ids = propose(&mut log, "top\n1\n2\n3\n4\n");
    assert!(log.split_hunk(&ids, 1, 0, Origin::User, 1).unwrap());
    let n_lines = |log: &LineLog| -> Vec<usize> {
        log.hunks(HunkQuery { context: 0, ..HunkQuery::default() }).iter().map(|hunk| hunk.lines.len()).collect()
    };
    assert_eq!(n_lines(&log), [1, 3]);
    let second = log.hunks(HunkQuery::default())[1].change_ids.clone();
    log.split(second[0], 1).unwrap().unwrap();
    assert_eq!(n_lines(&log), [1, 3], "only the user's cut separates hunks");
}

#[test]
fn a_change_on_the_disk_needs_another_one_until_its_last_part_is_off() {
    let mut log = LineLog::new(Some("top\n"));
    let around = propose(&mut log, "top\n1\n2\n");
    let inner = edit(&mut log, "top\n1\nm\nn\n2\n");
    assert_eq!(log.dependents(&around), inner);
    log.accept(&inner, Origin::User, 1).unwrap();
    assert_eq!(log.kept_on_disk(), around);
    let parts = log.split(inner[0], 1).unwrap().unwrap();
    assert_eq!(log.dependents(&around), parts);
    reject(&mut log, &parts[..1]);
    assert_eq!(log.kept_on_disk(), around);
    check_texts(&log, "top\n1\nn\n2\n", "top\n1\nn\n2\n");
    reject(&mut log, &parts[1..]);
    assert_eq!(log.kept_on_disk(), []);
    check_texts(&log, "top\n1\n2\n", "top\n");
}

#[test]
fn lines_in_a_change_depend_on_the_part_around_them() {
    #[track_caller]
    fn check(typed: &str, n_dependents: [usize; 2]) {
        let mut log = LineLog::new(Some("top\n"));
        let whole = propose(&mut log, "top\n1\n2\n3\n4\n");
        let ids = type_in(&mut log, typed);
        assert_eq!(log.dependents(&whole), ids, "{typed}");
        let parts = log.split(whole[0], 2).unwrap().unwrap();
        assert_eq!(parts.map(|part| log.dependents(&[part]).len()), n_dependents, "{typed}");
        let kept: Vec<ChangeId> = (0..2).filter(|&at| n_dependents[at] > 0).map(|at| parts[at]).collect();
        assert_eq!(log.kept_on_disk(), kept, "{typed}");
    }
    check("top\n1\nmine\n2\n3\n4\n", [1, 0]);
    check("top\n1\n2\n3\nmine\n4\n", [0, 1]);
    check("top\n1\n2\nmine\n3\n4\n", [0, 0]);
    check("top\n1\n2\n3\nfour\n", [0, 1]);
    check("top\n1\ntwo\n3\n4\n", [1, 0]);
}

#[test]
fn an_insertion_of_the_agent_depends_on_the_part_that_deleted_there() {
    let mut log = LineLog::new(Some("top\na\nb\nend\n"));
    let whole = propose(&mut log, "top\nend\n");
    let ids = edit(&mut log, "top\nnew\nend\n");
    assert_eq!(log.dependents(&whole), ids);
    let parts = log.split(whole[0], 1).unwrap().unwrap();
    assert_eq!(parts.map(|part| log.dependents(&[part])), [ids.clone(), ids]);
}

#[test]
fn numbers_go_on_without_a_gap_after_a_compaction() {
    let mut log = LineLog::new(Some("0\n"));
    let (mut last_id, mut last_entry) = (0, 0);
    for round in 1..=3 {
        let revision = log.revision();
        let ids = propose(&mut log, &format!("{round}\n"));
        assert_eq!(ids, [ChangeId(last_id + 1)]);
        assert!(log.revision() > revision);
        let checkpoint = log.checkpoint();
        assert_eq!(log.changes_since(checkpoint).unwrap(), []);
        let later = type_in(&mut log, &format!("{round}\nmine\n"));
        assert_eq!(log.changes_since(checkpoint).unwrap(), later);
        log.rollback_to(checkpoint, Origin::User, 1).unwrap();
        assert_eq!(log.visible_text(), Some(format!("{round}\n")));
        assert_eq!(log.changes_since(checkpoint).unwrap(), []);
        log.release(checkpoint);
        log.accept(&ids, Origin::User, 1).unwrap();
        let numbers: Vec<u64> = log.entries().iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, (last_entry + 1..=last_entry + 4).collect::<Vec<u64>>());
        (last_id, last_entry) = (later[later.len() - 1].0, last_entry + 4);
        log.mark_saved();
        let revision = log.revision();
        assert!(log.compact() && log.revision() > revision);
    }
}

#[test]
fn hunk_ids_are_shown_as_text_and_name_a_limited_number_of_changes() {
    let id = HunkId::of(&[ChangeId(3), ChangeId(4)]);
    assert_eq!(format!("{id}"), id.as_str());
    let n_ids = |text: &str| HunkId::from(text).changes().map(|ids| ids.len());
    assert_eq!(n_ids("h1-1000000"), Some(1_000_000));
    assert_eq!(n_ids("h1-1000000.2000000"), Some(1_000_001));
    assert_eq!(n_ids("h1-1000000.2000000.3000000"), None);
    assert_eq!(n_ids("h1-1000001"), None);
}
