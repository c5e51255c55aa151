//! Keeping of files, so that the changes of commands can be undone.
//!
//! A keeper knows every file below the root before a command runs, with its content as far as a budget allows. It
//! compares the files after the command and records the differences durably: contents, links, directories and mode
//! bits. The workspace records changes of text in line logs as well; undo by a line log keeps later lines of the user.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use emend_edit::ContentHash;
use emend_llm::{BoxFuture, MaybeSend, MaybeSync};

use super::error::EnvError;
use super::path::FilePath;

/// One path that a command changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptChange {
    /// Path relative to the root.
    pub path: FilePath,
    /// The kind of the change.
    pub kind: KeptChangeKind,
}

/// The kind of a change by a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptChangeKind {
    /// Text was changed, created or deleted, and gets a line log: both texts are small enough, and there are not too many.
    Text,
    /// Any other change that can be undone, such as of binary or large files, links, directories or mode bits.
    Other,
    /// The former state was not kept, so the change cannot be undone.
    Lost,
}

/// The recorded changes of commands in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRun {
    /// Number of the run.
    pub run_id: u64,
    /// Time of the first command in milliseconds since 1970.
    pub at_ms: u64,
    /// Paths that can be restored, sorted.
    pub files: Vec<FilePath>,
    /// Paths that cannot be restored, sorted.
    pub lost: Vec<FilePath>,
    /// Whether the changes are in effect.
    pub is_on: bool,
}

/// The result of restoring paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptRestored {
    /// Paths that were changed.
    pub restored: Vec<FilePath>,
    /// Paths that have changed since and were left alone.
    pub kept: Vec<FilePath>,
}

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptState {
    /// The kind of entry.
    pub kind: KeptStateKind,
    /// Mode bits.
    pub mode: u32,
}

/// The entry at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptStateKind {
    /// A regular file.
    File {
        /// Size in bytes.
        size: u64,
        /// Whether it is a text that is small enough for a line log.
        is_text: bool,
    },
    /// A symbolic link with its target.
    Link(String),
    /// A directory.
    Directory,
    /// A pipe, a socket or a device.
    Special,
}

impl KeptStateKind {
    /// Returns whether the entry is a text that is small enough for a line log.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self, Self::File { is_text: true, .. })
    }
}

/// A recorded change in effect, and the effect of an undo on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPreview {
    /// Path relative to the root.
    pub path: FilePath,
    /// The state that the undo restores; `None` if nothing was there.
    pub before: Option<KeptState>,
    /// The state after the last command that changed the path.
    pub after: Option<KeptState>,
    /// Whether the path has another state by now, so that the undo leaves it alone.
    pub is_blocked: bool,
    /// Whether no line log holds one of the changes.
    pub is_unlogged: bool,
    /// The text that the undo restores at a path with a line log, if it is a text that was kept.
    pub text: Option<String>,
}

/// An undo of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptUndo {
    /// The runs.
    pub runs: Vec<u64>,
    /// The texts that line logs undo.
    pub logged: BTreeSet<FilePath>,
    /// Run and time, in milliseconds since 1970, of the last of these changes of each.
    pub last_edits: BTreeMap<FilePath, (u64, u64)>,
    /// Runs whose changes of each text its line log holds, undone ones included. Known in the last step: mode bits may have
    /// been noted for an edit that was then refused.
    #[cfg(not(target_family = "wasm"))]
    pub edited: BTreeMap<FilePath, BTreeSet<u64>>,
    /// Run and time, in milliseconds since 1970, of the first edit of each file by the runs, also of one that no log undoes.
    /// Known in the last step, and for a preview.
    #[cfg(not(target_family = "wasm"))]
    pub first_edits: BTreeMap<FilePath, (u64, u64)>,
    /// The texts from before the first of these edits of those files that commands of the runs changed, too, in ways that
    /// no line log holds. Known in the last step; for a preview, the texts that the logs leave.
    #[cfg(not(target_family = "wasm"))]
    pub bases: BTreeMap<FilePath, String>,
    /// Those of them that the line logs left as they are. Known after the first step.
    pub left: BTreeSet<FilePath>,
    /// Whether a path that was deleted after the runs comes back.
    pub restores_deleted: bool,
    /// The number of the user's steps. Those since the start of the undo belong to it.
    pub n_steps: usize,
}

/// An undo or redo of commands that is not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptInterrupted {
    /// The undo of these runs.
    Undo(Vec<u64>),
    /// A redo.
    Redo,
}

/// Directories that commands replaced, each with the hash of the file that came into its place, if one did.
pub type ReplacedDirectories = BTreeMap<FilePath, Option<ContentHash>>;

/// The steps of an undo. The workspace does the part of its line logs between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoStep {
    /// Restores all paths but texts with a line log, unless a log holds a later change of the path.
    BeforeLogs,
    /// Restores what could not be restored before, so that line logs can undo earlier changes of the same paths.
    BetweenLogs,
    /// Restores texts with a line log, as far as the log did not, and mode bits. Completes the undo.
    AfterLogs,
}

/// Keeps files before commands and restores them.
pub trait FileKeeper: MaybeSend + MaybeSync {
    /// Keeps the present state of all files, durably, because a command of `run_id` starts.
    ///
    /// # Errors
    ///
    /// The files cannot be read, or their contents cannot be stored. The command must not run then.
    fn keep(&self, run_id: u64) -> BoxFuture<'_, Result<(), EnvError>>;

    /// Returns the ignored directories that are too large to be kept: an undo takes back no change in them.
    ///
    /// # Errors
    ///
    /// The files or the data cannot be read.
    fn unkept(&self) -> BoxFuture<'_, Result<Vec<FilePath>, EnvError>>;

    /// Records the changes since [`keep`](Self::keep), durably, and returns them sorted by path. `skip` are files that
    /// other callers changed meanwhile. `logged` are the files with line logs. The changes of kind
    /// [`Text`](KeptChangeKind::Text) must get into line logs.
    ///
    /// # Errors
    ///
    /// The files cannot be read, or the changes cannot be recorded. A later call of any method tries again.
    fn record<'a>(
        &'a self,
        skip: &'a BTreeSet<FilePath>,
        logged: &'a BTreeSet<FilePath>,
    ) -> BoxFuture<'a, Result<Vec<KeptChange>, EnvError>>;

    /// Notes, durably, the mode bits of files that an edit of `run_id` is about to create, delete or replace, so that
    /// [`undo`](Self::undo) can restore them.
    ///
    /// # Errors
    ///
    /// They cannot be stored. The edit must not be made then.
    fn note_edit(&self, run_id: u64, paths: Vec<FilePath>) -> BoxFuture<'_, Result<(), EnvError>>;

    /// Returns the text of a changed file before the last recorded command; `None` if there was no file.
    ///
    /// # Errors
    ///
    /// The kept content cannot be read.
    fn text_before<'a>(&'a self, path: &'a FilePath) -> BoxFuture<'a, Result<Option<String>, EnvError>>;

    /// Returns the runs with recorded changes, oldest first.
    fn runs(&self) -> Vec<KeptRun>;

    /// Returns the paths that were directories before the first command of `runs` that changed them, each with the hash of the
    /// file that this command put in its place, if it put one there.
    fn directories_before(&self, runs: &[u64]) -> ReplacedDirectories;

    /// Returns run and time, in milliseconds since 1970, of the first change of each path by a command of `runs` that no line
    /// log holds, also if it is undone. The text of a log that begins later is not the one of before the runs.
    #[cfg(not(target_family = "wasm"))]
    fn first_unlogged(&self, runs: &[u64]) -> BTreeMap<FilePath, (u64, u64)>;

    /// Returns run and time, in milliseconds since 1970, of the last change of each path in `undo.logged` that has made a text of
    /// something else, such as a link, and that the undo has not taken back yet. No line log holds it. Edits before it are
    /// undone after it.
    fn last_unlogged(&self, undo: &KeptUndo) -> BTreeMap<FilePath, (u64, u64)>;

    /// Returns the files among `paths` that have several hard links, which a changed text would separate.
    #[cfg(not(target_family = "wasm"))]
    fn linked(&self, paths: &[FilePath]) -> BTreeSet<FilePath>;

    /// Returns whether a directory was created for a file, so that it gives way to a file when the files in it go.
    #[cfg(not(target_family = "wasm"))]
    fn gives_way(&self, directory: &FilePath) -> bool;

    /// Returns the number of recorded changes in each ignored directory by commands of `runs`; with `only_live`, only by
    /// commands that are in effect. [`runs`](Self::runs) and [`preview`](Self::preview) do not name these paths.
    fn ignored(&self, runs: &[u64], only_live: bool) -> BTreeMap<FilePath, usize>;

    /// Begins an undo of runs, durably: notes the states of all paths that it may change, among them `texts`, for its redo.
    /// `n_steps` is the number of the user's steps before it. An undo that was interrupted keeps its first states and number.
    ///
    /// # Errors
    ///
    /// The states cannot be read or stored. Nothing may change then.
    fn begin_undo<'a>(
        &'a self,
        runs: &'a [u64],
        n_steps: usize,
        texts: &'a BTreeSet<FilePath>,
    ) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Does one step of an undo.
    ///
    /// A path whose present state is not the one that the command left stays as it is, and its change stays in effect: a
    /// later undo tries it again. An interrupted undo can be repeated.
    ///
    /// # Errors
    ///
    /// The disk fails; some paths may be restored.
    fn undo<'a>(&'a self, undo: &'a KeptUndo, step: UndoStep) -> BoxFuture<'a, Result<KeptRestored, EnvError>>;

    /// Returns the changes in effect that an undo would take back or leave alone now, sorted by path. Changes nothing.
    /// The undo's `logged` are not looked at.
    ///
    /// # Errors
    ///
    /// The record or the files cannot be read.
    fn preview<'a>(&'a self, undo: &'a KeptUndo) -> BoxFuture<'a, Result<Vec<KeptPreview>, EnvError>>;

    /// Returns the undo or redo of commands that was interrupted, such as by the end of the process.
    fn interrupted(&self) -> Option<KeptInterrupted>;

    /// Returns the runs that [`redo`](Self::redo) would redo.
    fn undone(&self) -> Vec<u64>;

    /// Returns the time of the undo that [`redo`](Self::redo) would redo, in milliseconds since 1970, if it is known.
    fn undone_at(&self) -> Option<u64>;

    /// Returns the user's steps that line logs took in the undo that [`redo`](Self::redo) would redo, by number.
    fn undone_steps(&self) -> Range<usize>;

    /// Gives files whose edits line logs have redone the mode bits from before the undo of these edits. Needed for a redo
    /// without [`redo`](Self::redo).
    ///
    /// # Errors
    ///
    /// The mode bits cannot be changed or recorded.
    fn redo_modes<'a>(&'a self, redone: &'a BTreeSet<FilePath>) -> BoxFuture<'a, Result<(), EnvError>>;

    /// Returns the paths that [`redo`](Self::redo) would restore, or that have the states from before the undo already.
    ///
    /// # Errors
    ///
    /// The files cannot be read.
    fn preview_redo(&self) -> BoxFuture<'_, Result<BTreeSet<FilePath>, EnvError>>;

    /// Restores the states from before the last undo that is not redone yet, texts with line logs included. There are none
    /// if commands ran since. A path that has another state than the undo left stays as it is, and a later redo tries it
    /// again. An interrupted redo can be repeated. Returns the paths that have these states now.
    ///
    /// # Errors
    ///
    /// The disk fails; some paths may be changed.
    fn redo(&self) -> BoxFuture<'_, Result<BTreeSet<FilePath>, EnvError>>;

    /// Completes a redo, after the line logs have done their part. `merged` are the texts that [`redo`](Self::redo) left alone
    /// and that line logs have changed, and `by_logs` all texts whose line logs were changed. Returns the effect of the
    /// whole redo.
    ///
    /// # Errors
    ///
    /// The disk fails; some mode bits may be changed.
    fn complete_redo<'a>(
        &'a self,
        merged: &'a BTreeSet<FilePath>,
        by_logs: &'a BTreeSet<FilePath>,
    ) -> BoxFuture<'a, Result<KeptRestored, EnvError>>;
}

/// A change that a command in a copy made and that does not wait for review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyChange {
    /// Path relative to the root.
    pub path: FilePath,
    /// The effect on the original.
    pub kind: CopyChangeKind,
}

/// The effect on the original of a change in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyChangeKind {
    /// None: the change ends with the copy.
    Discarded,
    /// The copy shares this ignored directory with the original, so the change was made at once. It can be undone.
    AtOnce,
    /// The same, but the former state was not kept, so the change cannot be undone.
    Lost,
}

/// Finds the changes of a command in a copy that are not texts, and keeps the directories that the copy shares with the
/// original.
pub trait CopyKeeper: MaybeSend + MaybeSync {
    /// Keeps the present state, because a command of `run_id` starts in the copy.
    ///
    /// # Errors
    ///
    /// As [`FileKeeper::keep`].
    fn keep(&self, run_id: u64) -> BoxFuture<'_, Result<(), EnvError>>;

    /// Records the changes of shared directories since [`keep`](Self::keep), durably, and returns all changes. `texts` are
    /// files whose text the caller holds for review; of these, only the mode bits are compared.
    ///
    /// # Errors
    ///
    /// As [`FileKeeper::record`].
    fn record<'a>(&'a self, texts: &'a BTreeSet<FilePath>) -> BoxFuture<'a, Result<Vec<CopyChange>, EnvError>>;
}
