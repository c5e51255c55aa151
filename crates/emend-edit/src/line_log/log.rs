//! The line log: one file's text under review, with every change to it and what was decided about each.
//!
//! A **token** is one line with its own ending. It remembers which change inserted it and which changes deleted it,
//! and is never removed. A change is *on* unless it was rejected or rolled back. A token shows if the change that
//! inserted it is on and none that deleted it is; so any change can be switched off or on at any time, in any order,
//! and nothing is ever rebased. Three texts are views of the same tokens: **visible** (what agent and user see),
//! **disk** (what a save writes) and **base** (what there was before the first change).
//!
//! **Disk rule.** The disk shows the changes that are on and not pending, and those pending ones that a change on the
//! disk stands on: a line the user typed inside a proposal takes the part of the proposal it stands on with it. Without
//! this a saved file would hold a line beside its own replacement.
//!
//! **Standing on.** A change depends on another if it deleted a line of it, inserted between two of its lines, or
//! inserted where it had deleted. These are the cases in which switching the other off leaves lines behind that were
//! written for a text that is no longer there; so rejecting asks first ([`DependentsPolicy`]).
//!
//! **Endings.** A line without an ending that is not the last of a view is shown with the file's ending: that of the
//! first line that has one.
//!
//! The log knows no files, paths' contents, sessions or clocks, and makes no diff between two files; a workspace owns
//! one log per file and tells it the time.

mod decide;
mod history;
mod ingest;
mod review;
mod save;
mod sequence;
mod split;
mod types;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use history::{Action, Entry, StatusChange};
pub use review::{Hunk, HunkQuery};
pub use save::LoadError;
pub use types::{
    Applied, Change, ChangeId, ChangeMeta, ChangeOp, CheckpointId, DecisionError, DependentsPolicy, HunkId, LineEdit,
    Origin, Status,
};

use history::History;
use sequence::{Sequence, TokenIx};

use crate::text::{first_eol, split_lines};

/// Index of a change in the log; 0 stands for the base text, which is always on.
type ChangeIx = u32;

/// The pseudo-change that inserted the lines of the base text.
const BASE: ChangeIx = 0;

/// A way to look at the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// All changes that are on.
    Visible,
    /// Those the disk rule puts on the disk.
    Disk,
    /// Those that are on and not pending.
    Settled,
    /// None.
    Base,
}

/// What the log keeps about a change.
#[derive(Clone, Debug)]
struct ChangeState {
    /// The write it came with, an index into `LineLog::writes`.
    write: u32,
    op: ChangeOp,
    status: Status,
    inserted: Vec<TokenIx>,
    deleted: Vec<TokenIx>,
    /// The changes it directly stands on, in order.
    deps: Vec<ChangeIx>,
    /// The changes that directly stand on it, in order.
    dependents: Vec<ChangeIx>,
    /// The change between whose lines it inserted, or [`BASE`]; and how deep it is nested that way.
    parent: ChangeIx,
    depth: u32,
    /// How many of `dependents` are on the disk.
    n_disk_dependents: u32,
    on_disk: bool,
    /// The changes this one was split into; it is nothing but another name for them then.
    parts: Vec<ChangeIx>,
}

/// What the changes of one write have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Write {
    origin: Origin,
    meta: ChangeMeta,
    base_revision: u64,
}

/// One existence of the file: it can be created and deleted more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Incarnation {
    /// It exists if any of these is on; none for the file that was there from the start.
    created_by: Vec<ChangeIx>,
    deleted_by: Vec<ChangeIx>,
}

/// One file's text with all changes made to it and the decisions about them.
///
/// # Examples
///
/// ```
/// use emend_edit::log::{ChangeMeta, DependentsPolicy, HunkQuery, LineLog, Origin, Status};
///
/// let mut log = LineLog::new(Some("one\ntwo\nthree\n"));
/// log.write(Origin::Agent, ChangeMeta::default(), "one\n2\nthree\n", Status::Pending);
/// log.write(Origin::User, ChangeMeta::default(), "one\n2\nthree\nfour\n", Status::Accepted);
/// assert_eq!(log.disk_text().as_deref(), Some("one\ntwo\nthree\nfour\n"));
///
/// let hunk = &log.hunks(HunkQuery::default())[0];
/// log.reject(&hunk.change_ids, DependentsPolicy::Refuse, Origin::User, 0)?;
/// assert_eq!(log.visible_text().as_deref(), Some("one\ntwo\nthree\nfour\n"));
/// # Ok::<(), emend_edit::log::DecisionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LineLog {
    sequence: Sequence,
    incarnations: Vec<Incarnation>,
    /// The path the file had been renamed to when the log was last compacted.
    base_path: Option<String>,
    /// The ending of lines that have none; set by the base or else by the first write, for good.
    eol: Option<String>,
    /// All changes by index; the first is the base.
    changes: Vec<ChangeState>,
    /// What to add to an index to get an id; grows when the log is compacted.
    id_offset: u64,
    writes: Vec<Write>,
    history: History,
    checkpoints: BTreeMap<CheckpointId, u64>,
    next_checkpoint: u64,
    revision: u64,
    /// The tokens on the disk when it was last known, or none if that is the base; and whether the file was there.
    saved: Option<Saved>,
}

/// The text that is known to be on the disk, as tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Saved {
    exists: bool,
    tokens: Vec<TokenIx>,
}

impl LineLog {
    /// Starts a log for a file with this text; `None` if the file does not exist.
    #[must_use]
    pub fn new(base: Option<&str>) -> Self {
        let mut sequence = Sequence::new();
        sequence.insert_after(None, &split_lines(base.unwrap_or_default()), BASE);
        Self {
            sequence,
            incarnations: base.iter().map(|_| Incarnation::default()).collect(),
            base_path: None,
            eol: base.and_then(first_eol).map(str::to_owned),
            changes: vec![ChangeState::base()],
            id_offset: 0,
            writes: Vec::new(),
            history: History::default(),
            checkpoints: BTreeMap::new(),
            next_checkpoint: 1,
            revision: 0,
            saved: None,
        }
    }

    /// Returns the text agent and user see: everything that is on. `None` if the file does not exist in it.
    #[must_use]
    pub fn visible_text(&self) -> Option<String> {
        self.text_in(View::Visible)
    }

    /// Returns the text a save writes, by the disk rule. `None` if there is to be no file.
    #[must_use]
    pub fn disk_text(&self) -> Option<String> {
        self.text_in(View::Disk)
    }

    /// Returns the text with every pending change off, without the disk rule's exception: the old side of the review.
    #[must_use]
    pub fn settled_text(&self) -> Option<String> {
        self.text_in(View::Settled)
    }

    /// Returns the text the log started with.
    #[must_use]
    pub fn base_text(&self) -> Option<String> {
        self.text_in(View::Base)
    }

    /// Returns the text that was last known to be on the disk: see [`LineLog::mark_saved`].
    #[must_use]
    pub fn saved_text(&self) -> Option<String> {
        match &self.saved {
            None => self.base_text(),
            Some(saved) => saved.exists.then(|| self.render(saved.tokens.iter().copied())),
        }
    }

    /// Returns the path the file was renamed to in the visible state, if it was renamed.
    #[must_use]
    pub fn visible_path(&self) -> Option<&str> {
        self.path_in(View::Visible)
    }

    /// Returns the path the file was renamed to in the state that is to be saved, if it was renamed.
    #[must_use]
    pub fn disk_path(&self) -> Option<&str> {
        self.path_in(View::Disk)
    }

    /// Returns a number that grows with everything that enters the log.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns how many lines the visible text has.
    #[must_use]
    pub fn visible_lines(&self) -> usize {
        self.sequence.n_visible()
    }

    /// Returns one change; a change that was split is no longer one.
    #[must_use]
    pub fn change(&self, id: ChangeId) -> Option<Change> {
        let ix = self.index_of(id)?;
        self.changes[ix as usize].parts.is_empty().then(|| self.describe(ix))
    }

    /// Returns all changes in the order they were made.
    pub fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.live_indexes().map(|ix| self.describe(ix))
    }

    /// Returns the pending changes that the disk rule puts on the disk.
    #[must_use]
    pub fn kept_on_disk(&self) -> Vec<ChangeId> {
        let kept = |ix: &ChangeIx| {
            let change = &self.changes[*ix as usize];
            change.on_disk && change.status == Status::Pending
        };
        self.live_indexes().filter(kept).map(|ix| self.id_of(ix)).collect()
    }

    /// Returns the changes that wait for a decision.
    #[must_use]
    pub fn pending(&self) -> Vec<ChangeId> {
        self.pending_indexes().map(|ix| self.id_of(ix)).collect()
    }

    fn pending_indexes(&self) -> impl Iterator<Item = ChangeIx> + '_ {
        self.live_indexes().filter(|&ix| self.changes[ix as usize].status == Status::Pending)
    }

    /// Indexes of the changes that are not mere names of their parts.
    fn live_indexes(&self) -> impl Iterator<Item = ChangeIx> + '_ {
        (1..self.changes.len() as ChangeIx).filter(|&ix| self.changes[ix as usize].parts.is_empty())
    }

    fn id_of(&self, ix: ChangeIx) -> ChangeId {
        ChangeId(self.id_offset + u64::from(ix))
    }

    fn index_of(&self, id: ChangeId) -> Option<ChangeIx> {
        let ix = ChangeIx::try_from(id.0.checked_sub(self.id_offset)?).ok()?;
        (ix != BASE && (ix as usize) < self.changes.len()).then_some(ix)
    }

    fn write_of(&self, ix: ChangeIx) -> &Write {
        &self.writes[self.changes[ix as usize].write as usize]
    }

    fn describe(&self, ix: ChangeIx) -> Change {
        let (change, write) = (&self.changes[ix as usize], self.write_of(ix));
        Change {
            id: self.id_of(ix),
            origin: write.origin,
            meta: write.meta.clone(),
            base_revision: write.base_revision,
            op: change.op.clone(),
            status: change.status,
            inserted_lines: change.inserted.len(),
            deleted_lines: change.deleted.len(),
            deps: change.deps.iter().map(|&dep| self.id_of(dep)).collect(),
            on_disk: change.on_disk,
        }
    }

    /// Returns whether a change has its effect in a view.
    fn is_on(&self, ix: ChangeIx, view: View) -> bool {
        let change = &self.changes[ix as usize];
        match view {
            View::Visible => change.status.is_on(),
            View::Disk => change.on_disk,
            View::Settled => change.status == Status::Accepted,
            View::Base => ix == BASE,
        }
    }

    /// Returns whether a token shows, given which changes are on.
    fn shows(&self, token: TokenIx, is_on: impl Fn(ChangeIx) -> bool) -> bool {
        let token = self.sequence.token(token);
        is_on(token.inserted_by) && !token.deleted_by.iter().any(|&ix| is_on(ix))
    }

    fn shows_in(&self, token: TokenIx, view: View) -> bool {
        match view {
            View::Visible => self.sequence.is_visible(token),
            _ => self.shows(token, |ix| self.is_on(ix, view)),
        }
    }

    /// The tokens of a view in text order.
    fn tokens_in(&self, view: View) -> impl Iterator<Item = TokenIx> + '_ {
        self.sequence.iter().filter(move |&token| self.shows_in(token, view))
    }

    fn exists_in(&self, view: View) -> bool {
        let is_on = |&ix: &ChangeIx| self.is_on(ix, view);
        let shows = |inc: &Incarnation| {
            (inc.created_by.is_empty() || inc.created_by.iter().any(is_on)) && !inc.deleted_by.iter().any(is_on)
        };
        // A file with a line in it is there, whatever became of the change that created it: no line is lost that way.
        self.incarnations.iter().any(shows) || self.tokens_in(view).next().is_some()
    }

    fn text_in(&self, view: View) -> Option<String> {
        self.exists_in(view).then(|| self.render(self.tokens_in(view)))
    }

    fn path_in(&self, view: View) -> Option<&str> {
        self.live_indexes()
            .filter(|&ix| self.is_on(ix, view))
            .filter_map(|ix| self.renamed_to(ix))
            .last()
            .or(self.base_path.as_deref())
    }

    fn renamed_to(&self, ix: ChangeIx) -> Option<&str> {
        match &self.changes[ix as usize].op {
            ChangeOp::Rename { to } => Some(to),
            _ => None,
        }
    }

    /// Joins lines to a text; all but the last get an ending if they have none.
    fn render(&self, tokens: impl Iterator<Item = TokenIx>) -> String {
        let mut text = String::new();
        let mut is_bare = false;
        for token in tokens {
            if is_bare {
                text.push_str(self.eol());
            }
            let line = self.sequence.text(token);
            text.push_str(line);
            is_bare = !line.ends_with(['\n', '\r']);
        }
        text
    }

    fn eol(&self) -> &str {
        self.eol.as_deref().unwrap_or("\n")
    }
}

impl ChangeState {
    fn base() -> Self {
        Self::new(0, ChangeOp::Create, Status::Accepted)
    }

    fn new(write: u32, op: ChangeOp, status: Status) -> Self {
        Self {
            write,
            op,
            status,
            inserted: Vec::new(),
            deleted: Vec::new(),
            deps: Vec::new(),
            dependents: Vec::new(),
            parent: BASE,
            depth: 0,
            n_disk_dependents: 0,
            on_disk: status == Status::Accepted,
            parts: Vec::new(),
        }
    }
}
