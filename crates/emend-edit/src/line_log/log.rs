//! The state of a line log, and the texts that are views of it.

use std::collections::BTreeMap;

use crate::line_log::history::History;
use crate::line_log::hunk_size::HunkLimits;
use crate::line_log::sequence::{Sequence, TokenIx};
use crate::line_log::types::{
    BASE, ChangeId, ChangeIx, ChangeMeta, ChangeOp, CheckpointId, LoggedChange, Origin, Status,
};
use crate::text::{first_eol, same_bytes};

/// A view of the tokens: which changes count as on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// All changes that are on.
    Visible,
    /// The changes that the disk rule puts on the disk.
    Disk,
    /// The changes that are on and not pending.
    Settled,
    /// No change.
    Base,
}

/// The state of one change.
#[derive(Clone, Debug)]
pub(super) struct ChangeState {
    /// Index into `LineLog::writes` of the write that made it.
    pub(super) write: u32,
    pub(super) op: ChangeOp,
    pub(super) status: Status,
    pub(super) inserted: Vec<TokenIx>,
    pub(super) deleted: Vec<TokenIx>,
    /// The changes on which it directly depends, in order.
    pub(super) deps: Vec<ChangeIx>,
    /// The changes that directly depend on it, in order.
    pub(super) dependents: Vec<ChangeIx>,
    /// The change between whose lines it inserted, or [`BASE`]; and the nesting depth.
    pub(super) parent: ChangeIx,
    pub(super) depth: u32,
    /// Number of `dependents` that are on the disk.
    pub(super) n_disk_dependents: u32,
    pub(super) on_disk: bool,
    /// The changes into which it was split. It is then only another name for them.
    pub(super) parts: Vec<ChangeIx>,
    /// Whether a hunk was split before it, so that no hunk has lines on both sides.
    pub(super) starts_hunk: bool,
}

/// The data that all changes of one write share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) origin: Origin,
    pub(super) meta: ChangeMeta,
    pub(super) base_revision: u64,
}

/// One lifetime of the file, which can be created and deleted more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Incarnation {
    /// The file exists if any of these is on. Empty for the file that existed from the start.
    pub(super) created_by: Vec<ChangeIx>,
    pub(super) deleted_by: Vec<ChangeIx>,
}

/// The text of one file, with all changes made to it and the decisions about them.
///
/// # Examples
///
/// ```
/// use emend_edit::line_log::{ChangeMeta, DependentsPolicy, HunkQuery, LineLog, Origin, Status};
///
/// let mut log = LineLog::new(Some("one\ntwo\nthree\n"));
/// log.write(Origin::Agent, ChangeMeta::default(), "one\n2\nthree\n", Status::Pending);
/// log.write(Origin::User, ChangeMeta::default(), "one\n2\nthree\nfour\n", Status::Accepted);
/// assert_eq!(log.disk_text().as_deref(), Some("one\ntwo\nthree\nfour\n"));
///
/// let hunk = &log.hunks(HunkQuery::default())[0];
/// log.reject(&hunk.change_ids, DependentsPolicy::Refuse, Origin::User, 0)?;
/// assert_eq!(log.visible_text().as_deref(), Some("one\ntwo\nthree\nfour\n"));
/// # Ok::<(), emend_edit::line_log::DecisionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LineLog {
    pub(super) sequence: Sequence,
    pub(super) incarnations: Vec<Incarnation>,
    /// The path of the file when the log was last compacted, if it was renamed before.
    pub(super) base_path: Option<String>,
    /// The line ending for lines that have none. The base sets it, or else the first write; then it stays.
    pub(super) eol: Option<String>,
    /// All changes by index. The first is the base.
    pub(super) changes: Vec<ChangeState>,
    /// The difference between the id and the index of a change. It grows when the log is compacted.
    pub(super) id_offset: u64,
    pub(super) writes: Vec<Write>,
    pub(super) history: History,
    pub(super) checkpoints: BTreeMap<CheckpointId, u64>,
    pub(super) next_checkpoint: u64,
    pub(super) revision: u64,
    /// The last known text on the disk; `None` if that is the base.
    pub(super) saved: Option<Saved>,
    /// The size above which changes are cut. It is not saved.
    pub(super) hunk_limits: HunkLimits,
}

/// A text on the disk, as tokens, and whether the file exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Saved {
    pub(super) exists: bool,
    pub(super) tokens: Vec<TokenIx>,
}

impl LineLog {
    /// Starts a log for a file with this text; `None` if the file does not exist.
    #[must_use]
    pub fn new(base: Option<&str>) -> Self {
        Self {
            sequence: Sequence::of_text(base.unwrap_or_default()),
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
            hunk_limits: HunkLimits::default(),
        }
    }

    /// Sets the size above which later changes are cut, and hunks are marked as oversized.
    pub fn set_hunk_limits(&mut self, limits: HunkLimits) {
        self.hunk_limits = limits;
    }

    /// Returns the text that agent and user see: all changes that are on. `None` if the file does not exist.
    #[must_use]
    pub fn visible_text(&self) -> Option<String> {
        self.text_in(View::Visible)
    }

    /// Returns the text that a save writes, by the disk rule. `None` if there must be no file.
    #[must_use]
    pub fn disk_text(&self) -> Option<String> {
        self.text_in(View::Disk)
    }

    /// Returns the text with every pending change off, ignoring the disk rule: the old side of the review.
    #[must_use]
    pub fn settled_text(&self) -> Option<String> {
        self.text_in(View::Settled)
    }

    /// Returns the text with which the log started.
    #[must_use]
    pub fn base_text(&self) -> Option<String> {
        self.text_in(View::Base)
    }

    /// Returns the text that was last known to be on the disk: see [`LineLog::mark_saved`].
    #[must_use]
    pub fn saved_text(&self) -> Option<String> {
        match &self.saved {
            None => self.base_text(),
            Some(saved) => saved.exists.then(|| self.render(&saved.tokens)),
        }
    }

    /// Returns whether `text` is the visible text, without building that.
    #[must_use]
    pub fn is_visible_text(&self, text: Option<&str>) -> bool {
        self.is_text_in(View::Visible, text.map(str::as_bytes))
    }

    /// Returns whether `text` is the text that a save writes, without building that.
    #[must_use]
    pub fn is_disk_text(&self, text: Option<&str>) -> bool {
        self.is_text_in(View::Disk, text.map(str::as_bytes))
    }

    /// Returns whether `text` was last known to be on the disk, without building that text.
    #[must_use]
    pub fn is_saved_text(&self, text: Option<&str>) -> bool {
        self.is_saved_content(text.map(str::as_bytes))
    }

    /// Returns whether a file with this content has the text that was last known to be on the disk.
    #[must_use]
    pub fn is_saved_content(&self, content: Option<&[u8]>) -> bool {
        match &self.saved {
            None => self.is_text_in(View::Base, content),
            Some(saved) => match content {
                Some(content) => saved.exists && self.reads_as(&saved.tokens, content),
                None => !saved.exists,
            },
        }
    }

    /// Returns whether the disk has the lines that a save writes.
    #[must_use]
    pub fn is_disk_saved(&self) -> bool {
        let saved = match &self.saved {
            None if !self.has_changes_on_disk() => return true,
            None => &self.saved_in(View::Base),
            Some(saved) => saved,
        };
        saved.exists == self.exists_in(View::Disk) && self.tokens_in(View::Disk) == saved.tokens
    }

    /// Returns whether the disk view differs from the base.
    pub(super) fn has_changes_on_disk(&self) -> bool {
        self.changes[1..].iter().any(|change| change.on_disk)
    }

    pub(super) fn saved_in(&self, view: View) -> Saved {
        Saved { exists: self.exists_in(view), tokens: self.tokens_in(view) }
    }

    /// Returns whether the file was last known to be on the disk.
    #[must_use]
    pub fn was_on_disk(&self) -> bool {
        self.saved.as_ref().map_or_else(|| self.exists_in(View::Base), |saved| saved.exists)
    }

    fn is_text_in(&self, view: View, text: Option<&[u8]>) -> bool {
        match text {
            Some(text) if let (View::Base, Some(base)) = (view, self.sequence.base()) => {
                base.len() == text.len() && same_bytes(base.as_bytes(), text)
            }
            Some(text) => self.exists_in(view) && self.reads_as(&self.tokens_in(view), text),
            None => !self.exists_in(view),
        }
    }

    /// Returns the path in the visible state, if the file was renamed.
    #[must_use]
    pub fn visible_path(&self) -> Option<&str> {
        self.path_in(View::Visible)
    }

    /// Returns the path in the state that a save writes, if the file was renamed.
    #[must_use]
    pub fn disk_path(&self) -> Option<&str> {
        self.path_in(View::Disk)
    }

    /// Returns the number of lines of the user that are on the disk in this state and not in `after`, a later state of
    /// this log.
    #[must_use]
    pub fn user_lines_lost(&self, after: &Self) -> usize {
        let is_users = |token: &TokenIx| {
            let ix = self.sequence.token(*token).inserted_by;
            ix != BASE && self.write_of(ix).origin == Origin::User
        };
        self.tokens_in(View::Disk)
            .into_iter()
            .filter(is_users)
            .filter(|&token| !after.shows_in(token, View::Disk))
            .count()
    }

    /// Returns the revision, a number that grows with every entry of the log.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the number of lines of the visible text.
    #[must_use]
    pub fn visible_lines(&self) -> usize {
        self.sequence.n_visible()
    }

    /// Returns one change. `None` if the log does not have it or it was split.
    #[must_use]
    pub fn change(&self, id: ChangeId) -> Option<LoggedChange> {
        let ix = self.index_of(id)?;
        self.changes[ix as usize].parts.is_empty().then(|| self.describe(ix))
    }

    /// Returns the lines that a change removes and those that it adds. None for an unknown or split change.
    #[must_use]
    pub fn lines_of_change(&self, id: ChangeId) -> (Vec<&str>, Vec<&str>) {
        let Some(change) = self.index_of(id).map(|ix| &self.changes[ix as usize]) else { return Default::default() };
        let texts = |tokens: &[TokenIx]| tokens.iter().map(|&token| self.sequence.text(token)).collect();
        (texts(&change.deleted), texts(&change.inserted))
    }

    /// Returns all changes in the order in which they were made.
    pub fn changes(&self) -> impl Iterator<Item = LoggedChange> + '_ {
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

    /// Returns the pending changes.
    #[must_use]
    pub fn pending(&self) -> Vec<ChangeId> {
        self.pending_indexes().map(|ix| self.id_of(ix)).collect()
    }

    pub(super) fn pending_indexes(&self) -> impl Iterator<Item = ChangeIx> + '_ {
        self.live_indexes().filter(|&ix| self.changes[ix as usize].status == Status::Pending)
    }

    /// Returns the indexes of all changes except those that were split.
    pub(super) fn live_indexes(&self) -> impl Iterator<Item = ChangeIx> + '_ {
        (1..self.changes.len() as ChangeIx).filter(|&ix| self.changes[ix as usize].parts.is_empty())
    }

    pub(super) fn id_of(&self, ix: ChangeIx) -> ChangeId {
        ChangeId(self.id_offset + u64::from(ix))
    }

    pub(super) fn index_of(&self, id: ChangeId) -> Option<ChangeIx> {
        let ix = ChangeIx::try_from(id.0.checked_sub(self.id_offset)?).ok()?;
        (ix != BASE && (ix as usize) < self.changes.len()).then_some(ix)
    }

    pub(super) fn write_of(&self, ix: ChangeIx) -> &Write {
        &self.writes[self.changes[ix as usize].write as usize]
    }

    pub(super) fn describe(&self, ix: ChangeIx) -> LoggedChange {
        let (change, write) = (&self.changes[ix as usize], self.write_of(ix));
        LoggedChange {
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

    /// Returns whether a change counts as on in a view.
    pub(super) fn is_on(&self, ix: ChangeIx, view: View) -> bool {
        let change = &self.changes[ix as usize];
        match view {
            View::Visible => change.status.is_on(),
            View::Disk => change.on_disk,
            View::Settled => change.status == Status::Accepted,
            View::Base => ix == BASE,
        }
    }

    /// Returns whether a token is shown, given which changes are on.
    pub(super) fn shows(&self, token: TokenIx, is_on: impl Fn(ChangeIx) -> bool) -> bool {
        is_on(self.sequence.token(token).inserted_by) && !self.sequence.deleted_by(token).iter().any(|&ix| is_on(ix))
    }

    pub(super) fn shows_in(&self, token: TokenIx, view: View) -> bool {
        match view {
            View::Visible => self.sequence.is_visible(token),
            _ => self.sequence.token(token).is_untouched() || self.shows(token, |ix| self.is_on(ix, view)),
        }
    }

    /// Returns the tokens of a view in text order.
    pub(super) fn tokens_in(&self, view: View) -> Vec<TokenIx> {
        self.sequence.tokens_shown(&|token| self.shows_in(token, view))
    }

    pub(super) fn exists_in(&self, view: View) -> bool {
        let is_on = |&ix: &ChangeIx| self.is_on(ix, view);
        let shows = |inc: &Incarnation| {
            (inc.created_by.is_empty() || inc.created_by.iter().any(is_on)) && !inc.deleted_by.iter().any(is_on)
        };
        // A file with a line in it exists, even if the change that created it is off. So no line is lost.
        self.incarnations.iter().any(shows) || !self.tokens_in(view).is_empty()
    }

    pub(super) fn text_in(&self, view: View) -> Option<String> {
        self.exists_in(view).then(|| self.render(&self.tokens_in(view)))
    }

    pub(super) fn path_in(&self, view: View) -> Option<&str> {
        self.live_indexes()
            .filter(|&ix| self.is_on(ix, view))
            .filter_map(|ix| self.renamed_to(ix))
            .last()
            .or(self.base_path.as_deref())
    }

    pub(super) fn renamed_to(&self, ix: ChangeIx) -> Option<&str> {
        match &self.changes[ix as usize].op {
            ChangeOp::Rename { to } => Some(to),
            _ => None,
        }
    }

    /// Joins lines to a text. All but the last get a line ending if they have none.
    pub(super) fn render(&self, tokens: &[TokenIx]) -> String {
        let mut text = String::with_capacity(self.sequence.size());
        self.each_piece(tokens, &mut |piece| {
            text.push_str(piece);
            true
        });
        text
    }

    /// Returns whether the lines, joined, are `text`.
    fn reads_as(&self, tokens: &[TokenIx], text: &[u8]) -> bool {
        let mut rest = text;
        let fits = self.each_piece(tokens, &mut |piece| match rest.split_at_checked(piece.len()) {
            Some((start, after)) => {
                rest = after;
                same_bytes(start, piece.as_bytes())
            }
            None => false,
        });
        fits && rest.is_empty()
    }

    /// Calls `take` with the pieces of the joined lines, until it returns `false`. Returns whether it never did.
    ///
    /// Lines that are next to each other in the sequence's text are one piece: a large file has few pieces.
    fn each_piece(&self, tokens: &[TokenIx], take: &mut dyn FnMut(&str) -> bool) -> bool {
        let mut run = 0..0;
        for &token in tokens {
            let line = self.sequence.range(token);
            let is_bare = !run.is_empty() && self.sequence.is_bare_at(run.end);
            if line.start == run.end && !is_bare {
                run.end = line.end;
                continue;
            }
            if !take(self.sequence.slice(run)) || is_bare && !take(self.eol()) {
                return false;
            }
            run = line;
        }
        take(self.sequence.slice(run))
    }

    pub(super) fn eol(&self) -> &str {
        self.eol.as_deref().unwrap_or("\n")
    }
}

impl ChangeState {
    /// Returns whether the saved forms are equal. The rest is derived from other changes.
    #[cfg(any(not(target_family = "wasm"), test))]
    pub(super) fn is_saved_as(&self, other: &Self) -> bool {
        let saved = |change: &Self| (change.write, change.status, change.parent, change.starts_hunk);
        saved(self) == saved(other) && self.op == other.op && self.deps == other.deps && self.parts == other.parts
    }

    pub(super) fn base() -> Self {
        Self::new(0, ChangeOp::Create, Status::Accepted)
    }

    pub(super) fn new(write: u32, op: ChangeOp, status: Status) -> Self {
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
            starts_hunk: false,
        }
    }
}
