//! L1 to L7, L9, L10 and L12 over dense histories: few distinct lines, mixed line endings, missing trailing newlines,
//! rewrites.
//!
//! The facts (tokens, statuses, dependencies) are read from the log, and everything derived from them is computed
//! anew.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::plain::{Plain, PlainLine};
use super::steps::{Outcome, Step, edit, history, play, step, take};
use crate::line_log::types::{BASE, ChangeIx};
use crate::line_log::{ChangeId, DecisionOutcome, DependentsPolicy, HunkQuery, LineLog, Origin, Status};
use crate::test_support::{cases, covers};
use crate::text::split_lines;

pub(super) const CASES: u32 = 20_000;

/// Runs a property. A panic in it is a failure, and its input is shrunk.
pub(super) fn check<S: Strategy>(strategy: S, property: impl Fn(S::Value)) {
    let result = TestRunner::new(cases(CASES)).run(&strategy, |value| {
        property(value);
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// Prints how often something happened, and fails if it was too rare to trust the property.
pub(super) fn check_share(what: &str, part: &Cell<u32>, whole: &Cell<u32>, percent_min: u32) {
    let percent = 100.0 * f64::from(part.get()) / f64::from(whole.get().max(1));
    println!("{what}: {} of {} ({percent:.1} %)", part.get(), whole.get());
    assert!(percent >= f64::from(percent_min), "{what}: {percent:.1} %, wanted {percent_min} %");
}

pub(super) fn count(cell: &Cell<u32>, holds: bool) {
    cell.set(cell.get() + u32::from(holds));
}

fn ids_of(log: &LineLog) -> Vec<ChangeId> {
    log.changes().map(|change| change.id).collect()
}

fn ids_from(log: &LineLog, origin: Origin) -> Vec<ChangeId> {
    log.changes().filter(|change| change.origin == origin).map(|change| change.id).collect()
}

/// Returns everything that a caller can see of the state.
fn views(log: &LineLog) -> (Option<String>, Option<String>, Vec<Status>, Option<String>) {
    let statuses = log.changes().map(|change| change.status).collect();
    (log.visible_text(), log.disk_text(), statuses, log.visible_path().map(str::to_owned))
}

fn set_status(log: &mut LineLog, id: ChangeId, status: Status) -> DecisionOutcome {
    let (by, policy) = (Origin::User, DependentsPolicy::OnlyThese);
    match status {
        Status::Accepted => log.accept(&[id], by, 0),
        Status::Rejected => log.reject(&[id], policy, by, 0),
        Status::RolledBack => log.rollback(&[id], policy, by, 0),
        Status::Pending => log.reopen(&[id], by, 0),
    }
    .unwrap()
}

/// Applies the edits of a result to lines, from the end so that line numbers stay valid.
fn patched(mut lines: Vec<String>, applied: &DecisionOutcome) -> Vec<String> {
    for edit in applied.edits.iter().rev() {
        lines.splice(edit.line..edit.line + edit.removed, edit.inserted.iter().cloned());
    }
    lines
}

#[test]
fn the_views_follow_the_definitions() {
    covers("review.log");
    check(history(), |(base, steps)| {
        let mut log = LineLog::new(base.as_deref());
        for step in &steps {
            take(&mut log, step);
            let plain = Plain::of(&log);
            assert_eq!(log.visible_text().unwrap_or_default(), plain.visible_text());
            assert_eq!(log.disk_text().unwrap_or_default(), plain.disk_text());
            assert_eq!(log.visible_lines(), plain.visible().len());
            for (&ix, change) in &plain.changes {
                let kept = change.status == Status::Pending && plain.is_on_disk(ix);
                assert_eq!(log.kept_on_disk().contains(&log.id_of(ix)), kept);
                let expected: Vec<_> = plain.dependents(&BTreeSet::from([ix])).iter().map(|&d| log.id_of(d)).collect();
                assert_eq!(log.dependents(&[log.id_of(ix)]), expected);
            }
        }
    });
}

/// Returns the length of a longest common subsequence of the visible lines and those of a new text.
///
/// A line without a line ending must read like the new line at its place.
fn longest_common(seen: &[String], eol: &str, new: &[&str]) -> usize {
    let reads_as = |old: &str, at: usize| {
        let is_bare = !old.ends_with(['\n', '\r']);
        if is_bare && at + 1 < new.len() { format!("{old}{eol}") == new[at] } else { old == new[at] }
    };
    let mut best = vec![0; new.len() + 1];
    for old in seen {
        let mut diagonal = 0;
        for at in 0..new.len() {
            let above = best[at + 1];
            best[at + 1] = if reads_as(old, at) { diagonal + 1 } else { above.max(best[at]) };
            diagonal = above;
        }
    }
    best[new.len()]
}

#[test]
fn l1_an_edit_changes_the_visible_text_by_exactly_that_edit() {
    let (n_writes, n_rewrites, n_bare) = (Cell::new(0), Cell::new(0), Cell::new(0));
    check(history(), |(base, steps)| {
        let mut log = LineLog::new(base.as_deref());
        for step in &steps {
            let before = Plain::of(&log);
            let Outcome::Wrote { text, ids, is_rewrite } = take(&mut log, step) else { continue };
            assert_eq!(log.visible_text().as_ref(), Some(&text));
            let after = Plain::of(&log);
            let new = split_lines(&text);
            let seen: Vec<String> = before.visible().iter().map(|&index| before.lines[index].text.clone()).collect();
            let is_new = |line: &&PlainLine| line.by != BASE && ids.contains(&log.id_of(line.by));
            let n_inserted = after.lines.iter().filter(is_new).count();
            // The user's edit may have switched a change off that it takes back.
            let old = after.lines.iter().filter(|line| !is_new(line));
            let n_flipped =
                before.lines.iter().zip(old).filter(|(was, is)| before.is_visible(was) != after.is_visible(is)).count();
            let cost = n_inserted + n_flipped;
            let common = longest_common(&seen, &after.eol, &new);
            assert_eq!(cost, seen.len() + new.len() - 2 * common, "the diff is not minimal");
            // No other token is touched.
            let others = after.lines.into_iter().filter(|line| !ids.contains(&log.id_of(line.by)) || line.by == BASE);
            let others = others.map(|mut line| {
                line.deleted_by.retain(|&by| !ids.contains(&log.id_of(by)));
                line
            });
            assert_eq!(others.collect::<Vec<PlainLine>>(), before.lines);
            count(&n_writes, true);
            count(&n_rewrites, is_rewrite);
            count(&n_bare, !text.is_empty() && !text.ends_with(['\n', '\r']));
        }
    });
    check_share("writes that are whole-file rewrites", &n_rewrites, &n_writes, 20);
    check_share("writes without a last ending", &n_bare, &n_writes, 20);
}

#[test]
fn l2_with_all_changes_off_the_text_is_the_base() {
    check(history(), |(base, steps)| {
        let mut log = play(base.as_deref(), &steps);
        assert_eq!(log.base_text(), base);
        log.reject(&ids_of(&log), DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
        assert_eq!(log.visible_text(), base);
        assert_eq!(log.disk_text(), base);
        assert_eq!(log.visible_path(), None);
    });
}

#[test]
fn l3_off_then_on_is_identity() {
    check((history(), any::<u8>()), |((base, steps), pick)| {
        let mut log = play(base.as_deref(), &steps);
        let changes: Vec<_> = log.changes().filter(|change| change.status.is_on()).collect();
        if changes.is_empty() {
            return;
        }
        let change = &changes[pick as usize % changes.len()];
        let before = views(&log);
        set_status(&mut log, change.id, Status::Rejected);
        set_status(&mut log, change.id, change.status);
        assert_eq!(views(&log), before);
    });
}

#[test]
fn l4_decisions_commute() {
    let statuses = prop::collection::btree_map(any::<u8>(), 0..4_u8, 1..6);
    check((history(), statuses), |((base, steps), decisions)| {
        let log = play(base.as_deref(), &steps);
        let ids = ids_of(&log);
        if ids.is_empty() {
            return;
        }
        let statuses = [Status::Pending, Status::Accepted, Status::Rejected, Status::RolledBack];
        let decisions: BTreeMap<ChangeId, Status> =
            decisions.into_iter().map(|(pick, to)| (ids[pick as usize % ids.len()], statuses[to as usize])).collect();
        let (mut forwards, mut backwards) = (log.clone(), log);
        decisions.iter().for_each(|(&id, &to)| drop(set_status(&mut forwards, id, to)));
        decisions.iter().rev().for_each(|(&id, &to)| drop(set_status(&mut backwards, id, to)));
        assert_eq!(views(&forwards), views(&backwards));
        assert_eq!(forwards.hunks(HunkQuery::default()), backwards.hunks(HunkQuery::default()));
    });
}

#[test]
fn l5_turning_agent_changes_off_never_hides_a_user_line() {
    covers("review.user_change");
    let n_flagged = Cell::new(0);
    check((history(), any::<u8>(), any::<bool>()), |((base, steps), pick, all)| {
        let mut log = play(base.as_deref(), &steps);
        let before = Plain::of(&log);
        let is_users = |line: &PlainLine| line.by != BASE && before.changes[&line.by].origin == Origin::User;

        for hunk in log.hunks(HunkQuery::default()) {
            let ixs: BTreeSet<ChangeIx> = hunk.change_ids.iter().filter_map(|&id| log.index_of(id)).collect();
            let removes = before.lines.iter().any(|line| is_users(line) && !line.deleted_by.is_disjoint(&ixs));
            assert_eq!(hunk.removes_user_lines, removes, "{hunk:?}");
            count(&n_flagged, removes);
        }
        let mut agents = ids_from(&log, Origin::Agent);
        if !all && !agents.is_empty() {
            agents = vec![agents[pick as usize % agents.len()]];
        }
        log.reject(&agents, DependentsPolicy::OnlyThese, Origin::User, 0).unwrap();
        let after = Plain::of(&log);
        for (was, is) in before.lines.iter().zip(&after.lines) {
            assert!(!is_users(was) || !before.is_visible(was) || after.is_visible(is), "lost {was:?}");
        }
        // A user's line that no other change deletes is visible now, and so it is on the disk.
        let on_disk = after.on_disk();
        for index in after.visible() {
            assert!(!is_users(&after.lines[index]) || on_disk.contains(&index), "not saved: {:?}", after.lines[index]);
        }
    });
    println!("pending hunks that delete a user line: {}", n_flagged.get());
    assert!(n_flagged.get() > 0);
}

#[test]
fn l6_a_decision_touches_only_its_own_lines() {
    check((history(), any::<u8>()), |((base, steps), pick)| {
        let mut log = play(base.as_deref(), &steps);
        let ids = ids_of(&log);
        if ids.is_empty() {
            return;
        }
        let id = ids[pick as usize % ids.len()];
        let ix = log.index_of(id).unwrap();
        set_status(&mut log, id, Status::Accepted);
        let before = Plain::of(&log);
        set_status(&mut log, id, Status::Rejected);
        let after = Plain::of(&log);
        assert_eq!(before.lines, after.lines);
        for line in &before.lines {
            match (before.is_visible(line), after.is_visible(line)) {
                (true, false) => assert_eq!(line.by, ix),
                (false, true) => assert!(line.deleted_by.contains(&ix)),
                _ => {}
            }
        }
        assert_eq!(log.visible_text().unwrap_or_default(), after.visible_text());
    });
}

#[test]
fn l7_the_returned_edits_give_the_new_text() {
    let n_edits = Cell::new(0);
    check((history(), any::<u8>(), 1..5_u8, 0..4_u8), |((base, steps), pick, n, kind)| {
        let mut log = play(base.as_deref(), &steps);
        let ids = ids_of(&log);
        if ids.is_empty() {
            return;
        }
        let from = pick as usize % ids.len();
        let chosen = &ids[from..ids.len().min(from + n as usize)];
        let before = Plain::of(&log).visible_lines();
        let policy = DependentsPolicy::WithDependents;
        let applied = match kind {
            0 => log.accept(chosen, Origin::User, 0).unwrap(),
            1 => log.undo(Origin::User, 0).unwrap_or_default(),
            _ => log.reject(chosen, policy, Origin::User, 0).unwrap(),
        };
        count(&n_edits, !applied.edits.is_empty());
        let after = Plain::of(&log).visible_lines();
        assert_eq!(patched(before.clone(), &applied), after);
        for pair in applied.edits.windows(2) {
            assert!(pair[0].line + pair[0].removed < pair[1].line, "edits touch: {:?}", applied.edits);
        }
        if kind > 1 {
            let back = log.undo(Origin::User, 0);
            if let Some(back) = back.filter(|_| !applied.changed.is_empty()) {
                assert_eq!(patched(after, &back), before);
            }
        }
    });
    println!("status changes that changed the text: {}", n_edits.get());
    assert!(n_edits.get() > 0);
}

#[test]
fn l9_a_loaded_log_behaves_like_the_saved_one() {
    check((history(), prop::collection::vec(step(), 0..5)), |((base, steps), more)| {
        let mut log = play(base.as_deref(), &steps);
        let json = serde_json::to_string(&log).unwrap();
        let mut loaded: LineLog = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&loaded).unwrap(), json);
        assert_eq!(views(&loaded), views(&log));
        for step in &more {
            assert_eq!(take(&mut loaded, step), take(&mut log, step));
            assert_eq!(views(&loaded), views(&log));
            assert_eq!(loaded.hunks(HunkQuery::default()), log.hunks(HunkQuery::default()));
        }
    });
}

#[test]
fn l10_a_rollback_restores_the_checkpoint_and_can_be_undone() {
    covers("rollback.run");
    let (n_cases, n_moved) = (Cell::new(0), Cell::new(0));
    check((history(), prop::collection::vec(step(), 1..8)), |((base, steps), more)| {
        let mut log = play(base.as_deref(), &steps);
        let checkpoint = log.checkpoint();
        let then = (log.visible_text(), log.disk_text(), log.visible_path().map(str::to_owned));
        more.iter().for_each(|step| drop(take(&mut log, step)));
        let before = views(&log);
        let since = log.changes_since(checkpoint).unwrap();
        let applied = log.rollback_to(checkpoint, Origin::User, 0).unwrap();
        assert_eq!((log.visible_text(), log.visible_path().map(str::to_owned)), (then.0.clone(), then.2));
        // A split stays, and makes the disk rule finer: untouched parts are no longer kept.
        if !more
            .iter()
            .any(|step| matches!(step, Step::Split { .. } | Step::SplitHunk { .. } | Step::SplitLines { .. }))
        {
            assert_eq!(log.disk_text(), then.1);
        }
        assert!(since.iter().all(|id| applied.changed.contains(id)));
        assert_eq!(log.changes_since(checkpoint).unwrap(), []);
        count(&n_cases, true);
        count(&n_moved, before.0 != then.0);
        if !applied.changed.is_empty() {
            log.undo(Origin::User, 0).unwrap();
            assert_eq!(views(&log), before);
            log.redo(Origin::User, 0).unwrap();
            assert_eq!(log.visible_text(), then.0);
        }
    });
    check_share("rollbacks that change the text", &n_moved, &n_cases, 50);
}

/// Returns pairs of a line and its replacement: deleted and inserted by one change, directly or through others.
fn replacements(plain: &Plain) -> Vec<(usize, usize, BTreeSet<ChangeIx>)> {
    let n = plain.lines.len();
    let direct = |a: usize, b: usize| {
        let by = plain.lines[b].by;
        (by != BASE && plain.lines[a].deleted_by.contains(&by)).then_some(by)
    };
    let mut found = Vec::new();
    for start in 0..n {
        let mut open = vec![(start, BTreeSet::new())];
        while let Some((at, over)) = open.pop() {
            for next in 0..n {
                if let Some(by) = direct(at, next).filter(|by| !over.contains(by)) {
                    let over: BTreeSet<ChangeIx> = over.iter().copied().chain([by]).collect();
                    found.push((start, next, over.clone()));
                    open.push((next, over));
                }
            }
        }
    }
    found
}

#[test]
fn l12_the_disk_never_has_a_line_beside_its_replacement() {
    let n_pairs = Cell::new(0);
    // Short histories, because chains are searched by brute force.
    let steps = prop::collection::vec(prop_oneof![3 => edit(), 1 => step()], 1..7);
    check((super::steps::base(), steps), |(base, steps): (Option<String>, Vec<Step>)| {
        let log = play(base.as_deref(), &steps);
        let plain = Plain::of(&log);
        let on_disk: BTreeSet<usize> = disk_lines(&log, &plain);
        for (line, replacement, over) in replacements(&plain) {
            // Rejecting a change on which others depend may leave both lines; the reviewer was warned.
            if over.iter().all(|&ix| plain.is_on(ix)) {
                let both = on_disk.contains(&line) && on_disk.contains(&replacement);
                assert!(!both, "{:?} beside {:?}", plain.lines[line], plain.lines[replacement]);
                count(&n_pairs, on_disk.contains(&replacement));
            }
        }
    });
    println!("replacements found on the disk: {}", n_pairs.get());
    assert!(n_pairs.get() > 0);
}

/// Returns the positions of the lines that the log itself puts on the disk.
fn disk_lines(log: &LineLog, plain: &Plain) -> BTreeSet<usize> {
    let tokens: BTreeMap<u32, usize> = log.sequence.iter().enumerate().map(|(at, token)| (token, at)).collect();
    let shown: BTreeSet<usize> =
        log.tokens_in(crate::line_log::log::View::Disk).into_iter().map(|token| tokens[&token]).collect();
    assert!(shown.len() <= plain.lines.len());
    shown
}
