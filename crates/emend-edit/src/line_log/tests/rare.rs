//! Worked examples of cases that random logs rarely reach.

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn the_text_on_the_disk_is_known() {
    #[track_caller]
    fn check(log: &LineLog, saved: Option<&str>, others: &[Option<&str>]) {
        assert!(log.is_saved_text(saved), "{saved:?}");
        others.iter().for_each(|other| assert!(!log.is_saved_text(*other), "{other:?}"));
    }
    check(&LineLog::new(None), None, &[Some(""), Some("a\n")]);
    check(&LineLog::new(Some("")), Some(""), &[None, Some("a\n")]);
    let mut log = LineLog::new(Some("a\nb\n"));
    check(&log, Some("a\nb\n"), &[None, Some("a\n"), Some("a\nb\nc\n"), Some("")]);
    type_in(&mut log, "a\nmine\n");
    check(&log, Some("a\nb\n"), &[None, Some("a\nmine\n")]);
    log.mark_saved();
    check(&log, Some("a\nmine\n"), &[None, Some("a\nb\n"), Some("")]);
    log.external(None, meta("rm"));
    check(&log, None, &[Some(""), Some("a\nmine\n")]);
}

#[test]
fn a_write_of_the_same_text_leaves_the_line_ending_open() {
    let mut log = LineLog::new(Some("a"));
    assert_eq!(propose(&mut log, "a"), []);
    let ids = propose(&mut log, "a\r\nb");
    let change = log.change(ids[0]).unwrap();
    assert_eq!((ids.len(), change.deleted_lines, change.inserted_lines), (1, 0, 1));
    check_texts(&log, "a\r\nb", "a");
}

#[test]
fn only_a_change_of_the_whole_file_has_an_entry() {
    let entries = |log: &LineLog| -> Vec<Option<ChangeOp>> {
        log.hunks(HunkQuery::default()).into_iter().map(|hunk| hunk.entry).collect()
    };
    let mut edited = LineLog::new(Some("a\n"));
    propose(&mut edited, "b\n");
    assert_eq!(entries(&edited), [None]);
    let mut created = LineLog::new(None);
    propose(&mut created, "b\n");
    assert_eq!(entries(&created), [Some(ChangeOp::Create)]);
}

#[test]
fn a_line_inside_one_part_of_a_split_change_depends_on_that_part_only() {
    for (typed, n_first) in [("a\nmine\nb\nc\nd\n", 0), ("a\nb\nc\nmine\nd\n", 1)] {
        let mut log = LineLog::new(Some("top\nbottom\n"));
        let ids = propose(&mut log, "top\na\nb\nc\nd\nbottom\n");
        type_in(&mut log, &format!("top\n{typed}bottom\n"));
        let parts = log.split(ids[0], 2).unwrap().unwrap();
        let (needed, other) = (parts[n_first], parts[1 - n_first]);
        assert_eq!(log.kept_on_disk(), [needed], "{typed:?}");
        let refused = log.reject(&[needed], DependentsPolicy::Refuse, Origin::User, 1);
        assert!(matches!(refused, Err(DecisionError::HasDependents { from_user: 1, .. })), "{typed:?}");
        log.reject(&[other], DependentsPolicy::Refuse, Origin::User, 1).unwrap();
    }
}
