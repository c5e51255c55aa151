//! The difference between two states of a log, in saved form.
//!
//! A host that keeps a log on a disk writes the whole once, then a delta for each edit. So an edit of a large file costs
//! what it changes. A log that was compacted has other lines; then there is no delta, and the whole is saved again.

use std::collections::BTreeMap;
use std::mem;

use serde::{Deserialize, Serialize};

use crate::line_log::history::LogEntry;
use crate::line_log::log::{ChangeState, LineLog};
use crate::line_log::save::{
    LoadError, SavedChange, SavedDisk, SavedIncarnation, SavedLine, SavedLog, SavedWrite, VERSION, ensure,
};
use crate::line_log::types::{BASE, ChangeIx, CheckpointId};

/// The changes that turn one saved state of a log into a later one: see [`LineLog::delta_since`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogDelta {
    version: u32,
    /// The revision of the earlier state.
    from: u64,
    revision: u64,
    eol: Option<String>,
    lines: Vec<LineStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    incarnations: Option<Patch<SavedIncarnation>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    writes: Option<Patch<SavedWrite>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changes: Option<Patch<SavedChange>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entries: Option<Patch<LogEntry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoints: Option<BTreeMap<CheckpointId, u64>>,
    next_checkpoint: u64,
    /// Whether the file exists on the disk. Its lines there are in `lines`. Absent if the disk has the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exists: Option<bool>,
}

/// Lines of the later state, in text order. The flag says whether the disk has the line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum LineStep {
    /// This many lines as they were.
    Kept(u32),
    /// The next line of the earlier state, with other changes.
    Touched(ChangeIx, Vec<ChangeIx>, bool),
    /// A new line.
    New(String, ChangeIx, Vec<ChangeIx>, bool),
}

/// The elements of a list that differ, by index. Later ones are appended in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Patch<T> {
    /// The number of elements afterwards.
    n: usize,
    set: Vec<(usize, T)>,
}

impl<T> Patch<T> {
    /// Returns `None` if the lists are equal.
    fn between<S>(before: &[S], after: &[S], same: impl Fn(&S, &S) -> bool, saved: impl Fn(&S) -> T) -> Option<Self> {
        let differs = |&(index, element): &(usize, &S)| !before.get(index).is_some_and(|old| same(old, element));
        let set: Vec<(usize, T)> =
            after.iter().enumerate().filter(differs).map(|(index, element)| (index, saved(element))).collect();
        (!set.is_empty() || before.len() != after.len()).then_some(Self { n: after.len(), set })
    }

    fn apply(patch: Option<Self>, list: &mut Vec<T>) -> Result<(), LoadError> {
        let Some(Self { n, set }) = patch else { return Ok(()) };
        list.truncate(n);
        for (index, element) in set {
            match list.get_mut(index) {
                Some(old) => *old = element,
                None => {
                    ensure(index == list.len() && index < n, "element of a delta")?;
                    list.push(element);
                }
            }
        }
        ensure(list.len() == n, "number of elements in a delta")
    }
}

impl LineLog {
    /// Returns the changes since `before`, an earlier state of this log. `None` if the log must be saved as a whole: it was
    /// compacted, or `before` is another log.
    #[must_use]
    pub fn delta_since(&self, before: &Self) -> Option<LogDelta> {
        let continues = self.id_offset == before.id_offset
            && self.base_path == before.base_path
            && self.history.n_dropped == before.history.n_dropped
            && self.sequence.continues(&before.sequence);
        if !continues {
            return None;
        }
        Some(LogDelta {
            version: VERSION,
            from: before.revision,
            revision: self.revision,
            eol: self.eol.clone(),
            lines: self.lines_since(before)?,
            incarnations: Patch::between(&before.incarnations, &self.incarnations, PartialEq::eq, SavedIncarnation::of),
            writes: Patch::between(&before.writes, &self.writes, PartialEq::eq, SavedWrite::of),
            changes: Patch::between(
                &before.changes[1..],
                &self.changes[1..],
                ChangeState::is_saved_as,
                SavedChange::of,
            ),
            entries: Patch::between(&before.history.entries, &self.history.entries, PartialEq::eq, LogEntry::clone),
            checkpoints: (self.checkpoints != before.checkpoints).then(|| self.checkpoints.clone()),
            next_checkpoint: self.next_checkpoint,
            exists: self.saved.as_ref().map(|saved| saved.exists),
        })
    }

    fn lines_since(&self, before: &Self) -> Option<Vec<LineStep>> {
        let (was_on_disk, is_on_disk) = (before.tokens_on_disk(), self.tokens_on_disk());
        let mut earlier = before.sequence.iter();
        let (mut steps, mut n_kept) = (Vec::new(), 0);
        for token in self.sequence.iter() {
            let at = token as usize;
            let inserted_by = self.sequence.token(token).inserted_by;
            let deleted_by = self.sequence.deleted_by(token);
            let is_new = at >= was_on_disk.len();
            if !is_new {
                if earlier.next() != Some(token) {
                    return None;
                }
                let is_same = inserted_by == before.sequence.token(token).inserted_by
                    && deleted_by == before.sequence.deleted_by(token)
                    && is_on_disk[at] == was_on_disk[at];
                if is_same {
                    n_kept += 1;
                    continue;
                }
            }
            steps.extend((n_kept > 0).then_some(LineStep::Kept(n_kept)));
            n_kept = 0;
            let deleted_by = deleted_by.to_vec();
            steps.push(match is_new {
                true => LineStep::New(self.sequence.text(token).to_owned(), inserted_by, deleted_by, is_on_disk[at]),
                false => LineStep::Touched(inserted_by, deleted_by, is_on_disk[at]),
            });
        }
        steps.extend((n_kept > 0).then_some(LineStep::Kept(n_kept)));
        earlier.next().is_none().then_some(steps)
    }

    /// Returns for each token whether the disk has it.
    fn tokens_on_disk(&self) -> Vec<bool> {
        let Some(saved) = &self.saved else {
            return (0..self.sequence.len() as u32)
                .map(|token| self.sequence.token(token).inserted_by == BASE)
                .collect();
        };
        let mut on_disk = vec![false; self.sequence.len()];
        saved.tokens.iter().for_each(|&token| on_disk[token as usize] = true);
        on_disk
    }
}

impl SavedLog {
    /// Returns the saved form of a log.
    #[must_use]
    pub fn of(log: &LineLog) -> Self {
        log.to_saved()
    }

    /// Returns the log.
    ///
    /// # Errors
    ///
    /// [`LoadError::Version`] if a later version saved it, [`LoadError::Damaged`] if it contradicts itself.
    pub fn into_log(self) -> Result<LineLog, LoadError> {
        LineLog::from_saved(self)
    }

    /// Applies the changes that [`LineLog::delta_since`] returned for the state that this is the saved form of.
    ///
    /// # Errors
    ///
    /// [`LoadError::Damaged`] if the delta is of another state, [`LoadError::Version`] if a later version wrote it. This
    /// log is unusable then.
    pub fn apply(&mut self, delta: LogDelta) -> Result<(), LoadError> {
        if delta.version != VERSION {
            return Err(LoadError::Version { found: delta.version });
        }
        ensure(delta.from == self.revision, "revision of a delta")?;
        let on_disk = self.lines_on_disk()?;
        let mut earlier = mem::take(&mut self.lines).into_iter().zip(on_disk);
        let mut disk = Vec::new();
        let mut push = |lines: &mut Vec<SavedLine>, line: SavedLine, is_on_disk: bool| {
            disk.extend(is_on_disk.then_some(lines.len() as u32));
            lines.push(line);
        };
        self.lines.reserve(earlier.len() + delta.lines.len());
        for step in delta.lines {
            match step {
                LineStep::Kept(n) => {
                    ensure(n as usize <= earlier.len(), "number of lines in a delta")?;
                    earlier.by_ref().take(n as usize).for_each(|(line, on_disk)| push(&mut self.lines, line, on_disk));
                }
                LineStep::Touched(inserted_by, deleted_by, on_disk) => {
                    let (SavedLine(text, ..), _) = earlier.next().ok_or(NO_LINE)?;
                    push(&mut self.lines, SavedLine(text, inserted_by, deleted_by), on_disk);
                }
                LineStep::New(text, inserted_by, deleted_by, on_disk) => {
                    push(&mut self.lines, SavedLine(text, inserted_by, deleted_by), on_disk);
                }
            }
        }
        ensure(earlier.len() == 0, "number of lines in a delta")?;
        self.saved = delta.exists.map(|exists| SavedDisk { exists, lines: disk });
        Patch::apply(delta.incarnations, &mut self.incarnations)?;
        Patch::apply(delta.writes, &mut self.writes)?;
        Patch::apply(delta.changes, &mut self.changes)?;
        Patch::apply(delta.entries, &mut self.entries)?;
        if let Some(checkpoints) = delta.checkpoints {
            self.checkpoints = checkpoints;
        }
        (self.revision, self.eol, self.next_checkpoint) = (delta.revision, delta.eol, delta.next_checkpoint);
        Ok(())
    }

    /// Returns for each line whether the disk has it.
    fn lines_on_disk(&self) -> Result<Vec<bool>, LoadError> {
        let Some(saved) = &self.saved else {
            return Ok(self.lines.iter().map(|SavedLine(_, inserted_by, _)| *inserted_by == BASE).collect());
        };
        let mut on_disk = vec![false; self.lines.len()];
        for &line in &saved.lines {
            *on_disk.get_mut(line as usize).ok_or(LoadError::Damaged { what: "line on the disk" })? = true;
        }
        Ok(on_disk)
    }
}

/// A delta of a log with more lines.
const NO_LINE: LoadError = LoadError::Damaged { what: "number of lines in a delta" };
