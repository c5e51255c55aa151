//! L8 and L11 over histories in which every line is different, so that there is only one minimal diff.
//!
//! The log is compared with independent models: a plain restatement of its rules that gets the edits themselves, and a
//! three-way merge.

use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::meta;
use super::plain::{Plain, PlainChange};
use super::properties::{check, check_share, count};
use crate::diff::merge3;
use crate::line_log::types::ChangeIx;
use crate::line_log::{ChangeId, DependentsPolicy, LineLog, Origin, Status};

/// A splice (position, number of lines deleted and inserted), or a decision about an earlier change.
#[derive(Clone, Debug)]
enum Step {
    Splice { by_user: bool, at: u8, n_deleted: u8, n_inserted: u8 },
    Decide { pick: u8, to: Status },
}

fn splice() -> impl Strategy<Value = Step> {
    (any::<bool>(), any::<u8>(), 0..4_u8, 0..4_u8).prop_map(|(by_user, at, n_deleted, n_inserted)| Step::Splice {
        by_user,
        at,
        n_deleted,
        n_inserted,
    })
}

fn decision() -> impl Strategy<Value = Step> {
    let to = prop_oneof![Just(Status::Accepted), Just(Status::Rejected), Just(Status::RolledBack)];
    (any::<u8>(), to).prop_map(|(pick, to)| Step::Decide { pick, to })
}

/// A log, and the plain model with the same history.
struct Pair {
    log: LineLog,
    plain: Plain,
    n_steps: usize,
}

/// The changes of one splice, and the visible texts directly before and after it.
struct Made {
    ixs: BTreeSet<ChangeIx>,
    before: String,
    after: String,
}

impl Pair {
    fn new(n_lines: usize) -> Self {
        let base: Vec<String> = (0..n_lines).map(|index| format!("base {index}\n")).collect();
        Self { log: LineLog::new(Some(&base.concat())), plain: Plain::new(&base), n_steps: 0 }
    }

    fn take(&mut self, step: &Step) -> Option<Made> {
        self.n_steps += 1;
        match *step {
            Step::Splice { by_user, at, n_deleted, n_inserted } => self.splice(by_user, at, n_deleted, n_inserted),
            Step::Decide { pick, to } => {
                let ixs: Vec<ChangeIx> = self.plain.changes.keys().copied().collect();
                if let Some(&ix) = ixs.get(pick as usize % ixs.len().max(1)) {
                    self.set(ix, to);
                }
                None
            }
        }
    }

    fn splice(&mut self, by_user: bool, at: u8, n_deleted: u8, n_inserted: u8) -> Option<Made> {
        let mut lines = self.plain.visible_lines();
        let at = at as usize % (lines.len() + 1);
        let n_deleted = (n_deleted as usize).min(lines.len() - at);
        let new: Vec<String> = (0..n_inserted).map(|index| format!("step {} line {index}\n", self.n_steps)).collect();
        if n_deleted == 0 && new.is_empty() {
            return None;
        }
        let before = lines.concat();
        lines.splice(at..at + n_deleted, new.iter().cloned());
        let after = lines.concat();
        let (origin, status) =
            if by_user { (Origin::User, Status::Accepted) } else { (Origin::Agent, Status::Pending) };
        let ids = self.log.write(origin, meta("splice"), &after, status);
        let parts = match by_user {
            true => self.plain.cut(at, n_deleted, new.len()),
            false => vec![(at, n_deleted, 0..new.len())],
        };
        assert_eq!(ids.len(), parts.len(), "one splice is one change, unless lines are hidden in it");
        let ixs: BTreeSet<ChangeIx> = ids.iter().filter_map(|&id| self.log.index_of(id)).collect();
        for (&ix, (at, n_deleted, range)) in ixs.iter().rev().zip(parts) {
            self.plain.edit(ix, PlainChange { origin, status, deps: BTreeSet::new() }, at, n_deleted, &new[range]);
        }
        Some(Made { ixs, before, after })
    }

    fn set(&mut self, ix: ChangeIx, to: Status) {
        let ids = [self.id(ix)];
        match to {
            Status::Accepted => self.log.accept(&ids, Origin::User, 0),
            Status::Rejected => self.log.reject(&ids, DependentsPolicy::OnlyThese, Origin::User, 0),
            _ => self.log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, 0),
        }
        .unwrap();
        self.plain.changes.get_mut(&ix).unwrap().status = to;
    }

    fn id(&self, ix: ChangeIx) -> ChangeId {
        self.log.id_of(ix)
    }
}

#[test]
fn the_log_agrees_with_a_plain_model() {
    let steps = prop::collection::vec(prop_oneof![3 => splice(), 1 => decision()], 1..14);
    check((0..12_usize, steps), |(n_lines, steps)| {
        let mut pair = Pair::new(n_lines);
        for step in &steps {
            pair.take(step);
            assert_eq!(Plain::of(&pair.log), pair.plain);
            assert_eq!(pair.log.visible_text(), Some(pair.plain.visible_text()));
            assert_eq!(pair.log.disk_text(), Some(pair.plain.disk_text()));
        }
    });
}

#[test]
fn l8_without_dependents_a_rejection_is_a_three_way_merge() {
    let (n_cases, n_dependent, n_equal, n_conflicts) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    check((3..16_usize, prop::collection::vec(splice(), 3..11), any::<u8>()), |(n_lines, steps, pick)| {
        let mut pair = Pair::new(n_lines);
        let made: Vec<Made> = steps.iter().filter_map(|step| pair.take(step)).collect();
        if made.is_empty() {
            return;
        }
        let chosen = &made[pick as usize % made.len()];
        count(&n_cases, true);
        if !pair.plain.dependents(&chosen.ixs).is_empty() {
            count(&n_dependent, true);
            return;
        }
        // Reverting the change in the later text is a merge: its result is the base, its input the other side.
        let now = pair.log.visible_text().unwrap_or_default();
        let merged = merge3(&chosen.after, &now, &chosen.before);
        if merged.conflicts > 0 {
            count(&n_conflicts, true);
            return;
        }
        count(&n_equal, true);
        let ids: Vec<ChangeId> = chosen.ixs.iter().map(|&ix| pair.id(ix)).collect();
        pair.log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 0).unwrap();
        assert_eq!(pair.log.visible_text(), Some(merged.text));
    });
    println!("without dependents, but a conflict to the merge: {} of {}", n_conflicts.get(), n_cases.get());
    check_share("with dependents", &n_dependent, &n_cases, 30);
    check_share("equal to the merge", &n_equal, &n_cases, 40);
}

#[test]
fn l11_dependents_are_complete() {
    let n_found = Cell::new(0);
    let steps = prop::collection::vec(prop_oneof![6 => splice(), 1 => decision()], 2..10);
    check((1..12_usize, steps), |(n_lines, steps)| {
        let mut pair = Pair::new(n_lines);
        for step in &steps {
            let before = pair.plain.clone();
            let Some(made) = pair.take(step) else { continue };
            for ix in made.ixs {
                for k in needed(&before, &pair.plain, ix) {
                    count(&n_found, true);
                    assert!(pair.log.dependents(&[pair.id(k)]).contains(&pair.id(ix)), "{ix} on {k}");
                }
            }
        }
    });
    println!("dependencies that had to be found: {}", n_found.get());
    assert!(n_found.get() > 0);
}

/// Returns the changes on which change `ix` depends, judged by the texts before and after it.
fn needed(before: &Plain, after: &Plain, ix: ChangeIx) -> BTreeSet<ChangeIx> {
    let visible = before.visible();
    let is_gone = |index: &usize| {
        let line = &before.lines[*index];
        after.lines.iter().any(|other| other.text == line.text && other.deleted_by.contains(&ix))
    };
    let gone: Vec<usize> = visible.iter().copied().filter(is_gone).collect();
    // It deleted a line of k.
    let mut needed: BTreeSet<ChangeIx> = gone.iter().map(|&index| before.lines[index].by).collect();
    let own: Vec<usize> = (0..after.lines.len()).filter(|&index| after.lines[index].by == ix).collect();
    if let (Some(&first), Some(&last)) = (own.first(), own.last()) {
        let shown = |index: &usize| after.is_visible(&after.lines[*index]);
        let left = (0..first).rev().find(shown);
        let right = (last + 1..after.lines.len()).find(shown);
        // It inserted between two visible lines of k.
        if let (Some(left), Some(right)) = (left, right)
            && after.lines[left].by == after.lines[right].by
        {
            needed.insert(after.lines[left].by);
        }
        // The agent inserted, without replacing, where k had deleted without replacing.
        if gone.is_empty() && after.changes[&ix].origin == Origin::Agent {
            let gap = left.map_or(0, |left| left + 1)..right.unwrap_or(after.lines.len());
            let hidden = after.lines[gap].iter().filter(|line| line.by != ix);
            let deleters: BTreeSet<ChangeIx> = hidden.flat_map(|line| line.deleted_by.iter().copied()).collect();
            let put_nothing = |k: &ChangeIx| !after.lines.iter().any(|line| line.by == *k);
            needed.extend(deleters.into_iter().filter(|k| before.is_on(*k) && put_nothing(k)));
        }
    }
    needed.remove(&crate::line_log::types::BASE);
    needed
}
