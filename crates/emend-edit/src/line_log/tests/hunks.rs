//! Hunks: they are the difference between the settled and the visible text, cut small, with lasting ids.

use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::plain::{Plain, PlainLine};
use super::properties::{check, count};
use super::steps::{history, play, step, take};
use super::{meta, propose, type_in};
use crate::diff::LineKind;
use crate::error_code::ErrorCode;
use crate::line_log::hunk_size::{HUNK_BYTES_MAX, HUNK_LINES_MAX};
use crate::line_log::{ChangeId, DependentsPolicy, Hunk, HunkId, HunkQuery, LineLog, Origin, Status};
use crate::test_support::covers;
use crate::text::split_eol;

fn side(hunk: &Hunk, without: LineKind) -> Vec<String> {
    hunk.lines.iter().filter(|line| line.kind != without).map(|line| line.text.clone()).collect()
}

/// Returns the lines of the settled and of the visible text.
fn texts(plain: &Plain) -> (Vec<String>, Vec<String>) {
    let is_settled = |index: &usize| plain.shows(&plain.lines[*index], |ix| plain.is_settled(ix));
    let settled: Vec<usize> = (0..plain.lines.len()).filter(is_settled).collect();
    (plain.render(&settled), plain.visible_lines())
}

/// Returns a range of lines as an index range, undoing the rule that an empty range has the number of the line before.
fn range(start: usize, lines: usize) -> std::ops::Range<usize> {
    let from = start - usize::from(lines > 0);
    from..from + lines
}

#[test]
fn pending_hunks_are_the_difference_between_settled_and_visible() {
    let n_hunks = Cell::new(0);
    check((history(), 0..4_usize), |((base, steps), context)| {
        let log = play(base.as_deref(), &steps);
        let (settled, visible) = texts(&Plain::of(&log));
        assert_eq!(log.settled_text().unwrap_or_default(), settled.concat());
        let mut patched = settled.clone();
        let hunks = log.hunks(HunkQuery { context, ..HunkQuery::default() });
        for hunk in hunks.iter().rev() {
            count(&n_hunks, true);
            for line in &hunk.lines {
                assert_eq!(line.old.map(|number| &settled[number - 1]), line.old.map(|_| &line.text), "{hunk:?}");
                assert_eq!(line.new.map(|number| &visible[number - 1]), line.new.map(|_| &line.text), "{hunk:?}");
            }
            assert_eq!(side(hunk, LineKind::Added), settled[range(hunk.old_start, hunk.old_lines)]);
            assert_eq!(side(hunk, LineKind::Removed), visible[range(hunk.new_start, hunk.new_lines)]);
            patched.splice(range(hunk.old_start, hunk.old_lines), side(hunk, LineKind::Removed));
        }
        assert_eq!(patched, visible);
    });
    assert!(n_hunks.get() > 0);
}

#[test]
fn every_pending_change_with_an_effect_is_in_one_hunk() {
    check(history(), |(base, steps)| {
        let mut log = play(base.as_deref(), &steps);
        let hunks = log.hunks(HunkQuery::default());
        let mut listed: Vec<ChangeId> = hunks.iter().flat_map(|hunk| hunk.change_ids.clone()).collect();
        listed.sort_unstable();
        let distinct: BTreeSet<ChangeId> = listed.iter().copied().collect();
        assert_eq!(listed.len(), distinct.len(), "a change in two hunks");
        let pending = log.pending();
        assert!(distinct.iter().all(|id| pending.contains(id)));
        let others: Vec<ChangeId> = pending.into_iter().filter(|id| !distinct.contains(id)).collect();
        // After the hunks are decided, deciding on the remaining changes has no effect, whichever way it goes.
        log.reject(&listed, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
        let before = log.visible_text();
        log.reject(&others, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
        assert_eq!(log.visible_text().unwrap_or_default(), before.unwrap_or_default());
    });
}

#[test]
fn switching_a_hunk_has_the_effect_it_shows() {
    covers("review.hunk");
    let n_switched = Cell::new(0);
    let statuses = prop_oneof![Just(Status::Pending), Just(Status::Accepted), Just(Status::Rejected)];
    check((history(), any::<u8>(), statuses), |((base, steps), pick, status)| {
        let mut log = play(base.as_deref(), &steps);
        let query = HunkQuery { statuses: &[status], ..HunkQuery::default() };
        let hunks = log.hunks(query.clone());
        assert_eq!(log.n_hunks(&query), hunks.len());
        if hunks.is_empty() {
            return;
        }
        let hunk = &hunks[pick as usize % hunks.len()];
        let content = |lines: Vec<String>| -> Vec<String> {
            lines.into_iter().map(|line| split_eol(&line).0.to_owned()).collect()
        };
        let mut lines = content(Plain::of(&log).visible_lines());
        let from = range(hunk.new_start, hunk.new_lines).start;
        let (n_lines, result) = match status.is_on() {
            true => (hunk.new_lines, side(hunk, LineKind::Added)),
            false => (hunk.old_lines, side(hunk, LineKind::Removed)),
        };
        lines.splice(from..from + n_lines, content(result));
        match status.is_on() {
            true => log.reject(&hunk.change_ids, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap(),
            false => log.accept(&hunk.change_ids, Origin::User, 0).unwrap(),
        };
        assert_eq!(content(Plain::of(&log).visible_lines()), lines, "{hunk:?}");
        count(&n_switched, true);
    });
    println!("hunks switched: {}", n_switched.get());
    assert!(n_switched.get() > 0);
}

#[test]
fn a_hunk_id_keeps_its_meaning() {
    check((history(), prop::collection::vec(step(), 1..6)), |((base, steps), more)| {
        let mut log = play(base.as_deref(), &steps);
        let issued: Vec<(HunkId, [Vec<String>; 2])> =
            log.hunks(HunkQuery::default()).iter().map(|hunk| (hunk.id.clone(), lines_of(&log, &hunk.id))).collect();
        more.iter().for_each(|step| drop(take(&mut log, step)));
        for (id, lines) in issued {
            assert_eq!(lines_of(&log, &id), lines, "{id}");
        }
    });
}

/// Returns the lines that the changes of a hunk insert, and those that they delete, wherever they are shown. A split of the hunk
/// may put a line before one that it replaces.
fn lines_of(log: &LineLog, id: &HunkId) -> [Vec<String>; 2] {
    let ixs: BTreeSet<_> = log.changes_of(id).unwrap().iter().filter_map(|&id| log.index_of(id)).collect();
    let plain = Plain::of(log);
    let (inserted, others): (Vec<_>, Vec<_>) = plain.lines.iter().partition(|line| ixs.contains(&line.by));
    let deleted = others.into_iter().filter(|line| !line.deleted_by.is_disjoint(&ixs));
    let texts = |line: &PlainLine| line.text.clone();
    [inserted.into_iter().map(texts).collect(), deleted.map(texts).collect()]
}

#[test]
fn hunk_ids_name_their_changes() {
    let ids = |ids: &[u64]| ids.iter().map(|&id| ChangeId(id)).collect::<Vec<_>>();
    assert_eq!(HunkId::of(&ids(&[3])).as_str(), "h3");
    assert_eq!(HunkId::of(&ids(&[9, 4, 5, 7, 6])).as_str(), "h4-7.9");
    assert_eq!(HunkId::from("h4-7.9").changes(), Some(ids(&[4, 5, 6, 7, 9])));
    // A made-up range is rejected by its length and not by its numbers.
    assert_eq!(HunkId::from("h700000-700001").changes(), Some(ids(&[700_000, 700_001])));
    for bad in ["", "h", "4", "h4-", "h7-4", "h4..5", "hx", "h1-99999999999", "h2-1000002", "h-1"] {
        assert_eq!(HunkId::from(bad).changes(), None, "{bad}");
    }
    let log = LineLog::new(Some("a\n"));
    assert_eq!(log.changes_of(&"h1".into()).unwrap_err().code(), ErrorCode::NotFound);
    assert_eq!(log.changes_of(&"x".into()).unwrap_err().code(), ErrorCode::NotFound);
}

fn sizes(hunk: &Hunk) -> (usize, usize) {
    let changed = hunk.lines.iter().filter(|line| line.kind != LineKind::Context);
    changed.fold((0, 0), |(lines, bytes), line| (lines + 1, bytes + line.text.len()))
}

#[track_caller]
fn check_within_limits(hunks: &[Hunk]) {
    for hunk in hunks {
        let (lines, bytes) = sizes(hunk);
        assert!(lines <= HUNK_LINES_MAX && bytes <= HUNK_BYTES_MAX, "{lines} lines, {bytes} bytes");
        assert!(!hunk.oversized);
    }
}

#[test]
fn large_prose_is_cut_at_paragraphs_and_sentences() {
    covers("review.hunk_size");
    assert_eq!((HUNK_LINES_MAX, HUNK_BYTES_MAX), (80, 8_192));
    let mut log = LineLog::new(None);
    let paragraph = "This is a line of prose.\n".repeat(9) + "\n";
    propose(&mut log, &paragraph.repeat(30));
    let hunks = log.hunks(HunkQuery::default());
    check_within_limits(&hunks);
    assert_eq!(hunks.len(), 4, "eight paragraphs of ten lines to a hunk");
    assert_eq!(hunks[0].lines.last().map(|line| line.text.as_str()), Some("\n"));

    let mut log = LineLog::new(Some("old\n"));
    propose(&mut log, &("A sentence that ends here.\n".repeat(300) + "old\n"));
    check_within_limits(&log.hunks(HunkQuery::default()));

    // A replacement is cut on both sides.
    let mut log = LineLog::new(Some(&"An old sentence.\n".repeat(150)));
    propose(&mut log, &"A new sentence.\n".repeat(200));
    let hunks = log.hunks(HunkQuery::default());
    check_within_limits(&hunks);
    assert!(hunks.iter().all(|hunk| sizes(hunk).0 > 20), "{:?}", hunks.iter().map(sizes).collect::<Vec<_>>());
    log.reject(&hunks[1].change_ids, DependentsPolicy::Refuse, Origin::User, 0).unwrap();
}

#[test]
fn touching_edits_are_cut_between_edits_first() {
    covers("review.hunk_size");
    let base: String = (0..120).map(|index| format!("line {index}\n")).collect();
    let mut log = LineLog::new(Some(&base));
    let mut lines: Vec<String> = base.split_inclusive('\n').map(str::to_owned).collect();
    for edit in 0..3 {
        for line in &mut lines[edit * 25..(edit + 1) * 25] {
            *line = format!("new {line}");
        }
        log.write(Origin::Agent, meta(&format!("edit {edit}")), &lines.concat(), Status::Pending);
    }
    let hunks = log.hunks(HunkQuery::default());
    check_within_limits(&hunks);
    assert_eq!(hunks.iter().map(|hunk| sizes(hunk).0).collect::<Vec<_>>(), [50, 50, 50]);
}

#[test]
fn a_large_change_that_cannot_be_cut_is_marked_and_can_be_split() {
    covers("review.hunk_size");
    let mut log = LineLog::new(Some("top\nbottom\n"));
    let code: String = (0..200).map(|index| format!("call({index})\n")).collect();
    propose(&mut log, &format!("top\n{code}bottom\n"));
    let hunks = log.hunks(HunkQuery::default());
    assert_eq!(hunks.len(), 1);
    assert!(hunks[0].oversized);

    let [first, second] = log.split(hunks[0].change_ids[0], 70).unwrap().unwrap();
    assert_eq!(log.change(first).unwrap().inserted_lines, 70);
    assert_eq!(log.changes_of(&hunks[0].id).unwrap(), [first, second]);
    assert_eq!(log.change(hunks[0].change_ids[0]), None);
    let [second, third] = log.split(second, 60).unwrap().unwrap();
    let split = log.hunks(HunkQuery::default());
    check_within_limits(&split);
    assert_eq!(split.iter().map(|hunk| hunk.change_ids.clone()).collect::<Vec<_>>(), [[first], [second], [third]]);
    // A line typed into the last part depends on that part alone.
    type_in(&mut log, &format!("top\n{}mine\n{}bottom\n", &code[..code.len() - 30], &code[code.len() - 30..]));
    assert_eq!(log.kept_on_disk(), [third]);
    log.reject(&[first, second], DependentsPolicy::Refuse, Origin::User, 0).unwrap();
    assert_eq!(log.split(first, 0).unwrap(), None);
}

#[test]
fn a_change_of_the_file_entry_is_a_hunk_without_lines() {
    let mut log = LineLog::new(None);
    propose(&mut log, "");
    log.rename(Origin::Agent, meta("move"), "other.md", Status::Pending);
    let hunks = log.hunks(HunkQuery::default());
    assert_eq!(hunks.iter().map(|hunk| hunk.lines.len()).collect::<Vec<_>>(), [0, 0]);
    assert_eq!(log.visible_text().as_deref(), Some(""));
    assert_eq!((log.disk_text(), log.disk_path()), (None, None));
    log.accept(&log.pending(), Origin::User, 0).unwrap();
    assert_eq!((log.disk_text().as_deref(), log.disk_path()), (Some(""), Some("other.md")));
}

#[test]
fn a_deleted_file_is_one_hunk_whatever_its_size() {
    let mut log = LineLog::new(Some(&"a\n\n".repeat(100)));
    log.delete(Origin::Agent, meta("delete"), Status::Pending).unwrap();
    let hunks = log.hunks(HunkQuery::default());
    assert_eq!((hunks.len(), hunks[0].oversized, hunks[0].old_lines), (1, false, 200));
    assert_eq!(log.visible_text(), None);
    assert_eq!(log.disk_text(), Some("a\n\n".repeat(100)));
}

#[test]
fn a_line_also_changed_on_the_disk_makes_a_hunk_contested() {
    let mut log = LineLog::new(Some("a\nb\nc\n"));
    propose(&mut log, "a\nB\nc\n");
    assert!(!log.hunks(HunkQuery::default())[0].contested);
    log.external(Some("a\nbee\nc\n"), meta("disk"));
    assert!(log.hunks(HunkQuery::default())[0].contested);
}
