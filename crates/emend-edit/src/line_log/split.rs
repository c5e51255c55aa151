//! Splitting a change by hand, when it is too large to decide on as a whole.

use std::ops::Range;

use crate::line_log::log::{ChangeState, LineLog};
use crate::line_log::types::{BASE, ChangeId, ChangeIx, ChangeOp, DecisionError, Origin};

impl LineLog {
    /// Splits a change in two. The first part gets the first `line` of its removed and added lines, in the order in
    /// which a hunk of this change alone shows them (removed ones first).
    ///
    /// The old id then stands for both parts. Returns the ids of the parts; `None` if one would be empty.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`], also for a change that was split before.
    pub fn split(&mut self, id: ChangeId, line: usize) -> Result<Option<[ChangeId; 2]>, DecisionError> {
        let whole = self.index_of(id).filter(|&ix| self.changes[ix as usize].parts.is_empty());
        let whole = whole.ok_or(DecisionError::UnknownChange { id })?;
        let n_deleted = self.changes[whole as usize].deleted.len();
        let n_inserted = self.changes[whole as usize].inserted.len();
        if line == 0 || line >= n_deleted + n_inserted || self.changes[whole as usize].op == ChangeOp::Delete {
            return Ok(None);
        }
        let first_deleted = line.min(n_deleted);
        let ixs = [self.split_off(whole, 0..first_deleted, 0..line - first_deleted), {
            self.split_off(whole, first_deleted..n_deleted, line - first_deleted..n_inserted)
        }];
        self.move_relations_to_parts(whole, ixs);
        Ok(Some(ixs.map(|ix| self.id_of(ix))))
    }

    /// Makes a new change of some lines of `whole`.
    fn split_off(&mut self, whole: ChangeIx, deleted: Range<usize>, inserted: Range<usize>) -> ChangeIx {
        let ix = self.changes.len() as ChangeIx;
        let old = &self.changes[whole as usize];
        let part = ChangeState {
            // The first part keeps the place of the whole in its hunk.
            starts_hunk: old.starts_hunk && deleted.start == 0 && inserted.start == 0,
            inserted: old.inserted[inserted].to_vec(),
            deleted: old.deleted[deleted].to_vec(),
            dependents: Vec::new(),
            n_disk_dependents: 0,
            ..old.clone()
        };
        for &token in &part.inserted {
            self.sequence.token_mut(token).inserted_by = ix;
        }
        for &token in &part.deleted {
            let by = self.sequence.deleted_by_mut(token);
            by.iter_mut().filter(|by| **by == whole).for_each(|by| *by = ix);
        }
        self.changes.push(part);
        ix
    }

    /// Moves the relations of `whole` to its parts, and makes its id a name for them.
    fn move_relations_to_parts(&mut self, whole: ChangeIx, parts: [ChangeIx; 2]) {
        self.move_nested_to_parts(whole, parts);
        let old = &mut self.changes[whole as usize];
        let (deps, dependents) = (std::mem::take(&mut old.deps), std::mem::take(&mut old.dependents));
        old.parts = parts.to_vec();
        (old.inserted, old.deleted) = (Vec::new(), Vec::new());
        let was_on_disk = old.on_disk;
        for dep in deps {
            let dep = &mut self.changes[dep as usize];
            dep.dependents.retain(|&ix| ix != whole);
            dep.dependents.extend(parts);
            // One dependent on the disk has become two.
            dep.n_disk_dependents += u32::from(was_on_disk);
        }
        for dependent in dependents {
            self.changes[dependent as usize].deps.retain(|&ix| ix != whole);
            let on_disk = self.changes[dependent as usize].on_disk;
            for part in parts {
                if self.may_depend_on(dependent, part) {
                    self.changes[dependent as usize].deps.push(part);
                    self.changes[part as usize].dependents.push(dependent);
                    self.changes[part as usize].n_disk_dependents += u32::from(on_disk);
                }
            }
        }
        for incarnation in &mut self.incarnations {
            if incarnation.created_by.contains(&whole) {
                incarnation.created_by.retain(|&ix| ix != whole);
                incarnation.created_by.extend(parts);
            }
        }
        // A pending part leaves the disk if no change on the disk depends on it any more.
        parts.into_iter().for_each(|part| self.settle_on_disk(part));
        self.revision += 1;
    }

    /// Returns whether a change that depended on the whole may depend on this part of it.
    ///
    /// It does if it deleted a line of the part or is between its lines. The log no longer knows whether a change of the
    /// agent was inserted where the part deleted, so every part that deletes counts for it.
    fn may_depend_on(&self, dependent: ChangeIx, part: ChangeIx) -> bool {
        let change = &self.changes[dependent as usize];
        let deleted_from_part = change.deleted.iter().any(|&token| self.sequence.token(token).inserted_by == part);
        let mut around = change.parent;
        while around != BASE && around != part {
            around = self.changes[around as usize].parent;
        }
        let is_agents = self.write_of(dependent).origin == Origin::Agent;
        let in_its_gap = is_agents && !self.changes[part as usize].deleted.is_empty();
        deleted_from_part || around == part || in_its_gap
    }

    /// Decides for each change nested in `whole` whether it is in one of the parts or between them.
    fn move_nested_to_parts(&mut self, whole: ChangeIx, parts: [ChangeIx; 2]) {
        let around = self.changes[whole as usize].parent;
        let last_of_first = self.changes[parts[0] as usize].inserted.last().map(|&token| self.sequence.place(token));
        let first_of_second = self.changes[parts[1] as usize].inserted.first().map(|&token| self.sequence.place(token));
        for ix in 1..self.changes.len() {
            let Some(&token) = self.changes[ix].inserted.first().filter(|_| self.changes[ix].parent == whole) else {
                continue;
            };
            let place = Some(self.sequence.place(token));
            // `None` is less than every place: nothing is nested in a part without lines.
            let parent = if place < last_of_first {
                parts[0]
            } else if first_of_second.is_some() && place > first_of_second {
                parts[1]
            } else {
                around
            };
            self.changes[ix].parent = parent;
        }
    }
}
