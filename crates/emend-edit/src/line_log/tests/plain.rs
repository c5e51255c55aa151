//! The plain model: the definitions of the line log, restated without its bookkeeping.
//!
//! `Plain::of` reads the facts of a log and answers every question from the definitions, by looking at everything.
//! `Plain::edit` also takes edits itself, so that a log can be compared with an independent model.

use std::collections::{BTreeMap, BTreeSet};

use crate::line_log::types::{BASE, ChangeIx};
use crate::line_log::{LineLog, Origin, Status};

/// One line that the file ever had, in text order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlainLine {
    pub(super) text: String,
    pub(super) by: ChangeIx,
    pub(super) deleted_by: BTreeSet<ChangeIx>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlainChange {
    pub(super) origin: Origin,
    pub(super) status: Status,
    pub(super) deps: BTreeSet<ChangeIx>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plain {
    pub(super) lines: Vec<PlainLine>,
    pub(super) changes: BTreeMap<ChangeIx, PlainChange>,
    pub(super) eol: String,
}

impl Plain {
    /// Reads the facts of a log: its tokens in order, and the status and direct dependencies of each change.
    pub(super) fn of(log: &LineLog) -> Self {
        let line = |token| PlainLine {
            text: log.sequence.text(token).to_owned(),
            by: log.sequence.token(token).inserted_by,
            deleted_by: log.sequence.deleted_by(token).iter().copied().collect(),
        };
        let change = |ix: ChangeIx| {
            let state = &log.changes[ix as usize];
            let deps = state.deps.iter().copied().collect();
            (ix, PlainChange { origin: log.write_of(ix).origin, status: state.status, deps })
        };
        Self {
            lines: log.sequence.iter().map(line).collect(),
            changes: log.live_indexes().map(change).collect(),
            eol: log.eol().to_owned(),
        }
    }

    /// Starts a model with base lines that all have line endings.
    pub(super) fn new(base: &[String]) -> Self {
        let line = |text: &String| PlainLine { text: text.clone(), by: BASE, deleted_by: BTreeSet::new() };
        Self { lines: base.iter().map(line).collect(), changes: BTreeMap::new(), eol: "\n".to_owned() }
    }

    pub(super) fn is_on(&self, ix: ChangeIx) -> bool {
        ix == BASE || self.changes[&ix].status.is_on()
    }

    pub(super) fn is_settled(&self, ix: ChangeIx) -> bool {
        ix == BASE || self.changes[&ix].status == Status::Accepted
    }

    /// Applies the disk rule: on and not pending, or pending with a change on the disk that depends on it.
    pub(super) fn is_on_disk(&self, ix: ChangeIx) -> bool {
        ix == BASE
            || match self.changes[&ix].status {
                Status::Accepted => true,
                Status::Pending => self.dependents(&BTreeSet::from([ix])).iter().any(|&by| self.is_settled(by)),
                _ => false,
            }
    }

    pub(super) fn shows(&self, line: &PlainLine, is_on: impl Fn(ChangeIx) -> bool) -> bool {
        is_on(line.by) && !line.deleted_by.iter().any(|&by| is_on(by))
    }

    pub(super) fn is_visible(&self, line: &PlainLine) -> bool {
        self.shows(line, |ix| self.is_on(ix))
    }

    /// Returns the indexes of the lines that the visible text shows.
    pub(super) fn visible(&self) -> Vec<usize> {
        (0..self.lines.len()).filter(|&index| self.is_visible(&self.lines[index])).collect()
    }

    /// Returns the indexes of the lines on the disk.
    pub(super) fn on_disk(&self) -> Vec<usize> {
        let on: BTreeSet<ChangeIx> = self.changes.keys().copied().filter(|&ix| self.is_on_disk(ix)).collect();
        let shows = |line| self.shows(line, |ix| ix == BASE || on.contains(&ix));
        (0..self.lines.len()).filter(|&index| shows(&self.lines[index])).collect()
    }

    /// Returns the lines at these indexes as a text shows them: all but the last get a line ending if they have none.
    pub(super) fn render(&self, indexes: &[usize]) -> Vec<String> {
        let mut lines: Vec<String> = indexes.iter().map(|&index| self.lines[index].text.clone()).collect();
        let n = lines.len();
        for line in lines.iter_mut().take(n.saturating_sub(1)) {
            if !line.ends_with(['\n', '\r']) {
                line.push_str(&self.eol);
            }
        }
        lines
    }

    pub(super) fn visible_lines(&self) -> Vec<String> {
        self.render(&self.visible())
    }

    pub(super) fn visible_text(&self) -> String {
        self.visible_lines().concat()
    }

    pub(super) fn disk_text(&self) -> String {
        self.render(&self.on_disk()).concat()
    }

    /// Returns the changes that are on and lead to one of `ids` through changes that are on.
    pub(super) fn dependents(&self, ids: &BTreeSet<ChangeIx>) -> BTreeSet<ChangeIx> {
        let mut reached: BTreeSet<ChangeIx> = ids.iter().copied().filter(|&ix| self.is_on(ix)).collect();
        loop {
            let on = self.changes.iter().filter(|(ix, _)| self.is_on(**ix));
            let next: Vec<ChangeIx> = on
                .filter(|(ix, change)| !reached.contains(ix) && !change.deps.is_disjoint(&reached))
                .map(|(&ix, _)| ix)
                .collect();
            if next.is_empty() {
                return reached.difference(ids).copied().collect();
            }
            reached.extend(next);
        }
    }

    /// Replaces the visible lines `at .. at + n_deleted` by `new`, as change `ix`, by the rules of the line log.
    pub(super) fn edit(&mut self, ix: ChangeIx, change: PlainChange, at: usize, n_deleted: usize, new: &[String]) {
        let visible = self.visible();
        let left = at.checked_sub(1).map(|before| visible[before]);
        let right = visible.get(at + n_deleted).copied();
        let mut deps = BTreeSet::new();
        let by_agent = change.origin == Origin::Agent;
        for &index in &visible[at..at + n_deleted] {
            deps.insert(self.lines[index].by);
            self.lines[index].deleted_by.insert(ix);
        }
        // The insertion point: after the last line replaced, or else after the visible line before, its replacement, and
        // the lines deleted in this place.
        let seam = match n_deleted {
            0 => {
                let end = right.unwrap_or(self.lines.len());
                let behind_left = left.map_or(0, |left| self.end_of_replacement(left, end) + 1);
                behind_left.max(self.end_of_deleted(left.map_or(0, |left| left + 1)..end, right))
            }
            _ => visible[at + n_deleted - 1] + 1,
        };
        if !new.is_empty() {
            let gap = match n_deleted {
                0 => left.map_or(0, |left| left + 1)..right.unwrap_or(self.lines.len()),
                _ => visible[at]..seam,
            };
            if by_agent {
                deps.extend(self.deleters_in(gap, ix, if n_deleted == 0 { right } else { None }));
            }
            deps.extend(self.blocks_around(seam));
            let line = |text: &String| PlainLine { text: text.clone(), by: ix, deleted_by: BTreeSet::new() };
            self.lines.splice(seam..seam, new.iter().map(line));
        }
        deps.remove(&BASE);
        self.changes.insert(ix, PlainChange { deps, ..change });
    }

    /// Returns how a user's splice of visible lines is cut, from the end: before the visible lines that follow a line which
    /// only the disk shows. Each part is the position, the number of lines deleted, and the range of new lines.
    pub(super) fn cut(&self, at: usize, n_deleted: usize, n_new: usize) -> Vec<(usize, usize, std::ops::Range<usize>)> {
        let (visible, on_disk) = (self.visible(), self.on_disk());
        let (mut end, mut new_end, mut parts) = (at + n_deleted, n_new, Vec::new());
        for cut in (at + 1..at + n_deleted).rev() {
            if on_disk.iter().any(|&index| visible[cut - 1] < index && index < visible[cut]) {
                let new = new_end.min(cut - at);
                parts.push((cut, end - cut, new..new_end));
                (end, new_end) = (cut, new);
            }
        }
        parts.push((at, end - at, 0..new_end));
        parts
    }

    /// Returns the index of the last line before `end` that replaces the line at `from`, directly or through others.
    fn end_of_replacement(&self, from: usize, end: usize) -> usize {
        let (mut last, mut replaced_by) = (from, self.lines[from].deleted_by.clone());
        for index in from + 1..end {
            if replaced_by.contains(&self.lines[index].by) {
                last = index;
                replaced_by.extend(&self.lines[index].deleted_by);
            }
        }
        last
    }

    /// Returns the index behind the last line in `gap` that would be shown without the changes that deleted it, unless
    /// `right` replaces that line.
    fn end_of_deleted(&self, gap: std::ops::Range<usize>, right: Option<usize>) -> usize {
        let replaced_by = self.replaced_by(gap.clone(), right);
        let is_deleted = |line: &PlainLine| self.is_on(line.by) && line.deleted_by.is_disjoint(&replaced_by);
        gap.rev().find(|&index| is_deleted(&self.lines[index])).map_or(0, |index| index + 1)
    }

    /// Returns the changes whose lines `right` replaces, and that of `right`.
    fn replaced_by(&self, gap: std::ops::Range<usize>, right: Option<usize>) -> BTreeSet<ChangeIx> {
        let mut replaced_by: BTreeSet<ChangeIx> = right.iter().map(|&right| self.lines[right].by).collect();
        loop {
            let replaced = self.lines[gap.clone()].iter().filter(|line| !line.deleted_by.is_disjoint(&replaced_by));
            let before = replaced_by.len();
            replaced_by.extend(replaced.map(|line| line.by).collect::<Vec<_>>());
            if replaced_by.len() == before {
                return replaced_by;
            }
        }
    }

    /// Returns the changes that are on and deleted a hidden line in `gap`, unless `right` replaces that line: it comes
    /// from the deleter, or replaced a line that does, and so on.
    fn deleters_in(&self, gap: std::ops::Range<usize>, ix: ChangeIx, right: Option<usize>) -> BTreeSet<ChangeIx> {
        let mut found = BTreeSet::new();
        for line in &self.lines[gap.clone()] {
            found.extend(line.deleted_by.iter().copied().filter(|&by| by != ix && self.is_on(by)));
        }
        found.difference(&self.replaced_by(gap, right)).copied().collect()
    }

    /// Returns the changes that are on and have lines, shown or not, on both sides of `seam`.
    fn blocks_around(&self, seam: usize) -> BTreeSet<ChangeIx> {
        let authors = |lines: &[PlainLine]| -> BTreeSet<ChangeIx> { lines.iter().map(|line| line.by).collect() };
        let (before, behind) = (authors(&self.lines[..seam]), authors(&self.lines[seam..]));
        before.intersection(&behind).copied().filter(|&by| self.is_on(by)).collect()
    }
}
