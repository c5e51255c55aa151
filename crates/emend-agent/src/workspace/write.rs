//! Writing: edits of the agent, verified and all-or-nothing, and edits of the user, which always succeed over them.

use std::collections::{BTreeMap, BTreeSet};

use emend_edit::ContentHash;
use emend_edit::line_log::{ChangeMeta, LineLog, Origin, Status};

use super::context::WriteContext;
use super::error::WorkspaceError;
use super::merge::{ReplacedLines, favouring_ours};
use super::snapshot::{Expected, ExpectedLog, MAY_SAVE};
use super::state::{Mode, Workspace};
use super::steps::Step;
use crate::HAS_SERVICE;
#[cfg(not(target_family = "wasm"))]
use crate::environment::EntryKind;
use crate::environment::{Access, EnvError, FileChange, FilePath};

/// Number of times that an edit of the user begins anew because another program has written to the file meanwhile.
#[cfg(not(target_family = "wasm"))]
const RACES_MAX: usize = 3;

/// The new text of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWrite {
    /// The path as the caller gave it.
    pub path: String,
    /// The whole new text; `None` deletes the file.
    pub text: Option<String>,
    /// For a moved file: its old path. The file keeps its mode bits.
    pub moved_from: Option<String>,
    /// The named edits that lead to the text, in the order in which they are recorded; empty for a single edit. A review
    /// shows each as hunks of its own.
    pub steps: Vec<EditStep>,
}

/// One named edit of a [`FileWrite`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditStep {
    /// Name of the edit within its call. The `edit` of its changes is `CALL/NAME`.
    pub name: String,
    /// The whole text after the edit; `None` if it deletes the file.
    pub text: Option<String>,
}

/// The result of a write for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Path relative to the root.
    pub path: FilePath,
    /// Whether the write created the file.
    pub created: bool,
    /// Whether the write deleted the file.
    pub deleted: bool,
    /// Version counter of the session after the write.
    pub version: u64,
    /// Hash of the new text.
    pub hash: ContentHash,
}

/// The visible texts of files by the paths that the caller gave; `None` for a file that does not exist.
pub type Texts = BTreeMap<String, Option<String>>;

/// The log of a file after a write, before it replaces the old one.
pub(super) struct Staged {
    path: FilePath,
    log: LineLog,
    /// Whether the file existed before the write.
    existed: bool,
    after: Option<String>,
    moved_from: Option<FilePath>,
    /// For a file that was moved without a change: the lines of it that the session has read.
    known_lines: Option<Vec<(usize, usize)>>,
    /// Whether the disk keeps its text until the user saves.
    waits: bool,
}

impl Staged {
    /// Returns a changed log without a write of the agent.
    pub(super) fn of_log(path: FilePath, log: LineLog, waits: bool) -> Self {
        Self { path, log, existed: false, after: None, moved_from: None, known_lines: None, waits }
    }
}

impl Workspace {
    /// Edits `paths` for the agent. All files are written or none.
    ///
    /// `plan` gets the visible texts, keyed by `paths` as given, and returns the new ones with a result of its own. It may
    /// write only files among `paths`, and must not call the workspace, which is locked meanwhile.
    ///
    /// # Errors
    ///
    /// Returns the error of `plan`, of a path that cannot be resolved or is not text, of the canvas lease if a file is
    /// the canvas and `context` does not hold the lease, of a `context` that may not write, or of the disk. Nothing
    /// changes then.
    pub async fn write<R, E: From<WorkspaceError>>(
        &self,
        context: &WriteContext<'_>,
        paths: &[String],
        plan: impl FnOnce(&Texts) -> Result<(Vec<FileWrite>, R), E>,
    ) -> Result<(Vec<WrittenFile>, R), E> {
        let _writing = self.lock_writes(context.cancel).await?;
        let (texts, resolved) = self.read_all(paths).await?;
        let (writes, result) = plan(&texts)?;
        Ok((self.commit_writes(context, &texts, &resolved, writes).await?, result))
    }

    pub(super) async fn read_all(
        &self,
        paths: &[String],
    ) -> Result<(Texts, BTreeMap<String, FilePath>), WorkspaceError> {
        let (mut texts, mut resolved) = (BTreeMap::new(), BTreeMap::new());
        for path in paths {
            let file = self.environment.resolve(path, Access::Write).await?;
            texts.insert(path.clone(), self.visible(&file).await?);
            resolved.insert(path.clone(), file);
        }
        Ok((texts, resolved))
    }

    /// Writes the planned texts.
    pub(super) async fn commit_writes(
        &self,
        context: &WriteContext<'_>,
        texts: &Texts,
        resolved: &BTreeMap<String, FilePath>,
        writes: Vec<FileWrite>,
    ) -> Result<Vec<WrittenFile>, WorkspaceError> {
        reject_unapproved(context)?;
        let meta = ChangeMeta {
            run: context.run_id.to_string(),
            edit: context.call_id.to_owned(),
            at_ms: self.clock.now_ms(),
        };
        let status = if self.mode == Mode::Staged { Status::Pending } else { Status::Accepted };
        let mut staged = Vec::new();
        for write in writes {
            let Some(path) = resolved.get(&write.path) else {
                let reason = format!("{} was not read before it was written", write.path);
                return Err(WorkspaceError::Internal { reason });
            };
            let before = texts.get(&write.path).and_then(Option::as_deref);
            let known = self.state().files.get(path).map(|entry| entry.log.clone());
            if known.as_ref().is_some_and(|log| !log.is_visible_text(before)) {
                return Err(EnvError::Changed { path: path.to_string() }.into());
            }
            // Saving compares a new log with the disk.
            let mut log = known.unwrap_or_else(|| self.state().new_log(before));
            #[cfg(not(target_family = "wasm"))]
            let unwritten = (status == Status::Accepted && !log.pending().is_empty()).then(|| log.clone());
            record_write(&mut log, &meta, &write, status);
            // In a browser, all agents of a root are in one mode.
            #[cfg(not(target_family = "wasm"))]
            let status = match unwritten {
                // An edit inside edits that wait for review waits with them: the disk has no pending edit of another agent.
                Some(unwritten) if has_more_on_disk(&log, &unwritten) => {
                    log = unwritten;
                    record_write(&mut log, &meta, &write, Status::Pending);
                    Status::Pending
                }
                _ => status,
            };
            let origin = write.moved_from.as_ref();
            let moved_from = origin.and_then(|from| resolved.get(from).cloned());
            let is_unchanged = origin.is_some_and(|from| texts.get(from) == Some(&write.text));
            let known_lines = moved_from.as_ref().zip(write.text.as_ref()).filter(|_| is_unchanged);
            let known_lines = known_lines.map(|(from, text)| context.reads.ranges_of(from, context.reads.hash(text)));
            staged.push(Staged {
                path: path.clone(),
                log,
                existed: before.is_some(),
                after: write.text,
                moved_from,
                known_lines,
                // A direct edit puts on the disk what the agent sees, unless it is one of the canvas's draft.
                waits: HAS_SERVICE && self.defers_saves || status == Status::Pending && self.waits(path),
            });
        }
        self.verify_lease(context, &staged)?;
        if let Some(keeper) = self.keeper().filter(|_| self.mode == Mode::Direct) {
            let changes_mode = |file: &&Staged| !file.existed || file.after.is_none() || file.moved_from.is_some();
            let paths: Vec<FilePath> = staged.iter().filter(changes_mode).map(|file| file.path.clone()).collect();
            if !paths.is_empty() {
                keeper.note_edit(context.run_id, paths).await?;
            }
        }
        let saved = self.save_all(&staged, false, None).await?;
        // The user may have preempted the canvas during the disk access. From here to the end the code does not wait,
        // so a lease that is valid now is valid when the edit takes effect.
        let mut failure: Option<EnvError> = None;
        if let Err(error) = self.verify_lease(context, &staged) {
            let back: Vec<FileChange> = saved.into_iter().map(reversed).collect();
            // An edit that cannot be taken back is recorded, so that the user can undo it.
            failure = self.environment.change(&back).await.err();
            if failure.is_none() {
                self.save_refused(&staged)?;
                return Err(error);
            }
        }
        let has_waited = self.has_waited(&staged);
        let mut state = self.state();
        let mut applied = Vec::with_capacity(staged.len());
        for file in staged {
            let text = file.after.as_deref().unwrap_or_default();
            let hash = context.reads.hash(text);
            applied.push(WrittenFile {
                version: match file.known_lines {
                    Some(lines) => context.reads.note_move(&file.path, hash, lines),
                    None => context.reads.note_write(&file.path, hash, file.log.visible_lines()),
                },
                created: !file.existed && file.after.is_some(),
                deleted: file.after.is_none(),
                path: file.path.clone(),
                hash,
            });
            state.install(file.path.clone(), file.log, file.waits);
            if let (Some(from), Some(entry)) = (file.moved_from, state.files.get_mut(&file.path)) {
                entry.moved_from = Some(from);
            }
        }
        drop(state);
        self.confirm(has_waited);
        self.share()?;
        failure.map_or(Ok(applied), |failure| Err(failure.into()))
    }

    /// Returns whether one of these files waits for a save until now. Its log was saved with the text that the disk had
    /// before this write.
    fn has_waited(&self, staged: &[Staged]) -> bool {
        MAY_SAVE && staged.iter().any(|file| !file.waits && self.waits(&file.path))
    }

    /// Saves the logs again after a write of files that had waited, with the text that the disk has now. Without that, the
    /// next process would merge a later change of another program with a text that the disk no longer has.
    fn confirm(&self, has_waited: bool) {
        if MAY_SAVE && has_waited {
            // The files are written. The next save tries again.
            let _ = self.persist();
        }
    }

    fn verify_lease(&self, context: &WriteContext<'_>, staged: &[Staged]) -> Result<(), WorkspaceError> {
        let Some(canvas) = self.canvas.path() else { return Ok(()) };
        if !staged.iter().any(|file| file.path == canvas) {
            return Ok(());
        }
        let Some(lease) = context.lease else { return Err(WorkspaceError::NoLease { canvas }) };
        let now_ms = self.clock.now_ms();
        self.canvas
            .with_lease(|held| held.verify(lease, now_ms))
            .map_err(|error| WorkspaceError::Lease { canvas, error })
    }

    /// Writes a file for the user. The edit always succeeds, preempts the canvas lease, and needs no acceptance.
    ///
    /// `base` is the visible text that the user edited, if known. Changes since then are merged: inserted lines stay; on lines
    /// that both changed, those of the edit stay. The edit also saves earlier edits of the file that wait for
    /// [`save`](Self::save), unless it waits itself.
    ///
    /// # Errors
    ///
    /// The path leaves the root, the file is not text, or the disk fails; the edit is not recorded then.
    pub async fn user_edit(
        &self,
        path: &str,
        text: Option<&str>,
        base: Option<&str>,
    ) -> Result<FilePath, WorkspaceError> {
        self.user_edit_over(path, text, base).await.map(|(file, _)| file)
    }

    /// As [`user_edit`](Self::user_edit). Also returns the lines of others that the edit replaced, which the user has not
    /// seen; empty in the core of a browser.
    ///
    /// # Errors
    /// As for `user_edit`.
    pub async fn user_edit_over(
        &self,
        path: &str,
        text: Option<&str>,
        base: Option<&str>,
    ) -> Result<(FilePath, Vec<ReplacedLines>), WorkspaceError> {
        let file = self.environment.resolve(path, Access::Write).await?;
        if self.canvas.path().as_ref() == Some(&file) {
            self.canvas.take_back();
        }
        #[cfg(not(target_family = "wasm"))]
        for _ in 0..RACES_MAX {
            match self.edit_as_user(&file, text, base).await {
                // Another program has written to the file at this moment: the edit is merged with its text, too.
                Err(WorkspaceError::Environment(EnvError::Changed { .. })) => {}
                done => return done.map(|replaced| (file, replaced)),
            }
        }
        let replaced = self.edit_as_user(&file, text, base).await?;
        Ok((file, replaced))
    }

    async fn edit_as_user(
        &self,
        file: &FilePath,
        text: Option<&str>,
        base: Option<&str>,
    ) -> Result<Vec<ReplacedLines>, WorkspaceError> {
        let _writing = self.enter().await?;
        let current = self.visible(file).await?;
        let mut replaced = Vec::new();
        let text = match (text, base, &current) {
            (Some(text), Some(base), Some(now)) if base != now => Some(favouring_ours(base, text, now, &mut replaced)),
            (text, _, _) => text.map(str::to_owned),
        };
        let is_edited = text != current;
        if !is_edited && (self.defers_saves || !self.waits(file)) {
            return Ok(replaced);
        }
        let mut log = self.log_after(file, current.as_deref());
        let mut step = None;
        if is_edited {
            let (run, at_ms) = (self.last_run().to_string(), self.clock.now_ms());
            let meta = ChangeMeta { run, edit: "user".to_owned(), at_ms };
            record(&mut log, Origin::User, meta, text.as_deref(), Status::Accepted);
            step = Some(Step::new(vec![file.clone()]));
        }
        let staged = Staged::of_log(file.clone(), log, self.defers_saves);
        self.save_staged(vec![staged], false, step).await?;
        Ok(replaced)
    }

    /// Returns a copy of a file's log, after recording changes on disk since the last access; for a file without edits, a
    /// new log of the text on disk.
    pub(super) async fn log_of(&self, path: &FilePath) -> Result<LineLog, WorkspaceError> {
        let visible = self.visible(path).await?;
        Ok(self.log_after(path, visible.as_deref()))
    }

    /// As [`log_of`](Self::log_of), for an undo or redo: for a file that the log has deleted, a directory in its place counts as
    /// nothing, and so does a file behind a link in the place of a directory above. Whether these give way is known when the
    /// file is written.
    #[cfg(not(target_family = "wasm"))]
    pub(super) async fn log_to_switch(&self, path: &FilePath) -> Result<LineLog, WorkspaceError> {
        let known = || self.state().files.get(path).map(|entry| entry.log.clone());
        let is_gone = |log: &LineLog| log.is_visible_text(None) && log.is_saved_text(None);
        if let Some(log) = known().filter(is_gone)
            && (self.is_elsewhere(path).await || self.is_directory(path).await)
        {
            return Ok(log);
        }
        self.log_of(path).await
    }

    /// As [`log_of`](Self::log_of): in a browser, no command puts a directory or a link in the place of a file.
    #[cfg(target_family = "wasm")]
    pub(super) fn log_to_switch<'a>(
        &'a self,
        path: &'a FilePath,
    ) -> impl Future<Output = Result<LineLog, WorkspaceError>> + 'a {
        self.log_of(path)
    }

    #[cfg(not(target_family = "wasm"))]
    async fn is_directory(&self, path: &FilePath) -> bool {
        let found = self.whole.metadata(path).await;
        found.is_ok_and(|found| found.is_some_and(|found| found.kind == EntryKind::Directory))
    }

    /// Returns whether a path leads to another one, over a link.
    #[cfg(not(target_family = "wasm"))]
    pub(super) async fn is_elsewhere(&self, path: &FilePath) -> bool {
        let found = self.whole.resolve(path.as_str(), Access::Write).await;
        found.map_or_else(|error| matches!(error, EnvError::OutsideRoot { .. }), |found| found != *path)
    }

    /// As [`log_of`](Self::log_of), for a file whose visible text has just been read.
    pub(super) fn log_after(&self, path: &FilePath, visible: Option<&str>) -> LineLog {
        let state = self.state();
        // Without a log, the visible text is the one on disk.
        state.files.get(path).map_or_else(|| state.new_log(visible), |entry| entry.log.clone())
    }

    /// Writes new logs to the disk before they take effect. If a file cannot be written, the others are restored, so
    /// that all change or none.
    ///
    /// `over_read_only` is for undo and redo: a command can change a read-only file, so these must, too. `step` is what the
    /// change is in the list of the user's steps.
    pub(super) async fn save_logs(
        &self,
        logs: Vec<(FilePath, LineLog)>,
        over_read_only: bool,
        step: Option<Step>,
    ) -> Result<(), WorkspaceError> {
        let waits = |path: &FilePath| self.defers_saves || self.waits(path);
        let staged = logs.into_iter().map(|(path, log)| {
            let waits = waits(&path);
            Staged::of_log(path, log, waits)
        });
        self.save_staged(staged.collect(), over_read_only, step).await
    }

    /// Like [`save_logs`](Self::save_logs), where each log says whether its file waits for a save.
    pub(super) async fn save_staged(
        &self,
        staged: Vec<Staged>,
        over_read_only: bool,
        step: Option<Step>,
    ) -> Result<(), WorkspaceError> {
        self.save_all(&staged, over_read_only, step.as_ref()).await?;
        let has_waited = self.has_waited(&staged);
        let mut state = self.state();
        for file in staged {
            state.install(file.path, file.log, file.waits);
        }
        if let Some(step) = step {
            state.take_step(step);
        }
        drop(state);
        self.confirm(has_waited);
        self.share()
    }

    /// As [`save_logs`](Self::save_logs), without the files that cannot be written: the system does not permit it, as for one
    /// with several hard links, or a directory is in the place of a file or a file in the place of a directory. Returns these.
    pub(super) async fn save_permitted(
        &self,
        mut logs: Vec<(FilePath, LineLog)>,
        over_read_only: bool,
        mut step: Step,
    ) -> Result<BTreeSet<FilePath>, WorkspaceError> {
        let mut refused = BTreeSet::new();
        if cfg!(target_family = "wasm") {
            return self.save_logs(logs, over_read_only, Some(step)).await.map(|()| refused);
        }
        loop {
            let error = match self.save_logs(logs.clone(), over_read_only, Some(step.clone())).await {
                Err(error) => error,
                Ok(()) => return Ok(refused),
            };
            let denied = match &error {
                WorkspaceError::Environment(
                    EnvError::PermissionDenied { path, .. }
                    | EnvError::InvalidPath { path, .. }
                    | EnvError::IsDirectory { path },
                ) => FilePath::clean(path),
                _ => None,
            };
            // All files or none were written. A directory without write permission, or a file in its place, stands for its
            // files, and that file can be written. A directory in the place of a file does not concern the files in it.
            let is_alone = matches!(&error, WorkspaceError::Environment(EnvError::IsDirectory { .. }));
            let is_at_or_below = |path: &&FilePath| denied.as_ref().is_some_and(|denied| path.is_under(denied));
            let paths = logs.iter().map(|(path, _)| path).filter(is_at_or_below).cloned();
            let (at, below): (BTreeSet<_>, BTreeSet<_>) = paths.partition(|path| denied.as_ref() == Some(path));
            let denied = if is_alone || below.is_empty() { at } else { below };
            if denied.is_empty() {
                return Err(error);
            }
            refused.extend(denied);
            logs.retain(|(path, _)| !refused.contains(path));
            step.paths.retain(|path| !refused.contains(path));
        }
    }

    /// Writes the disk texts of the new logs, all files or none; returns the changes.
    async fn save_all(
        &self,
        staged: &[Staged],
        over_read_only: bool,
        step: Option<&Step>,
    ) -> Result<Vec<FileChange>, WorkspaceError> {
        let mut there = Vec::new();
        for file in staged {
            self.state().note_begun(&file.path);
            if file.waits {
                continue;
            }
            let old = match self.disk_content(&file.path).await {
                // The environment refuses the change unless the directory gives way to the file.
                Err(WorkspaceError::Environment(EnvError::IsDirectory { .. })) if MAY_SAVE => None,
                old => old?,
            };
            // The disk may have changed since it was read; unknown content must not be overwritten.
            if !file.log.is_saved_content(old.as_deref()) {
                return Err(EnvError::Changed { path: file.path.to_string() }.into());
            }
            let new = if file.log.is_disk_saved() { None } else { Some(file.log.disk_text().map(String::into_bytes)) };
            if let Some(new) = new.filter(|new| *new != old) {
                // A staged move reaches the disk when it is accepted.
                let was_moved = || self.state().files.get(&file.path).and_then(|entry| entry.moved_from.clone());
                // Otherwise another file may be at the old path by now, and a file that comes back has its own mode bits.
                #[cfg(not(target_family = "wasm"))]
                let was_moved = || was_moved().filter(|from| staged.iter().any(|file| file.path == *from));
                let mode_of = file.moved_from.clone().or_else(was_moved);
                there.push(FileChange {
                    path: file.path.clone(),
                    before: old,
                    after: new,
                    mode_of,
                    executable: None,
                    over_read_only,
                });
            }
        }
        let logs = staged.iter().map(|file| {
            let Staged { path, log, moved_from, waits, .. } = file;
            ExpectedLog { path, log, moved_from: moved_from.as_ref(), waits: *waits }
        });
        let expected = Expected { logs: logs.collect(), step };
        if there.is_empty() {
            // Text that waits for a save is nowhere else.
            if staged.iter().any(|file| file.waits) {
                self.save_expecting(&expected)?;
            }
            return Ok(there);
        }
        // The logs come first: after a crash, an edit on disk can be undone. A log of an edit that did not reach the disk
        // is harmless, because the disk is compared with the log at the next access.
        if let Err(error) = self.save_and_change(&expected, &there).await {
            // The error of the disk is the one to report.
            let _ = self.save_refused(staged);
            return Err(error.into());
        }
        Ok(there)
    }
}

impl Workspace {
    /// Saves the logs as they are, after a write that was refused although its logs were saved.
    fn save_refused(&self, staged: &[Staged]) -> Result<(), WorkspaceError> {
        if MAY_SAVE {
            let mut state = self.state();
            #[cfg(not(target_family = "wasm"))]
            state.forget_in_flight();
            for Staged { path, log, .. } in staged {
                // A file without a log would keep the saved one, with the write.
                if !state.files.contains_key(path) {
                    let log = state.new_log(log.base_text().as_deref());
                    state.install_found(path.clone(), log);
                }
            }
        }
        self.persist()
    }

    /// Saves the logs, and changes the files when that is done.
    #[cfg(not(target_family = "wasm"))]
    async fn save_and_change(&self, expected: &Expected<'_>, changes: &[FileChange]) -> Result<(), EnvError> {
        self.state().is_changing = true;
        let outcome = self.environment.change_after(&|| self.save_expecting(expected), changes).await;
        self.state().is_changing = false;
        outcome
    }

    /// Changes the files. No host of a browser keeps the logs.
    #[cfg(target_family = "wasm")]
    async fn save_and_change(&self, _expected: &Expected<'_>, changes: &[FileChange]) -> Result<(), EnvError> {
        self.environment.change(changes).await
    }
}

/// Rejects the write of a call without approval: its preview predicted a failure, and its file has changed since.
pub(super) fn reject_unapproved(context: &WriteContext<'_>) -> Result<(), WorkspaceError> {
    match context.may_write {
        true => Ok(()),
        false => Err(WorkspaceError::Unapproved),
    }
}

/// Returns the change that undoes `change`.
fn reversed(change: FileChange) -> FileChange {
    FileChange { before: change.after, after: change.before, mode_of: None, over_read_only: false, ..change }
}

/// Returns whether the disk gets pending changes that it did not have before a write.
#[cfg(not(target_family = "wasm"))]
fn has_more_on_disk(after: &LineLog, before: &LineLog) -> bool {
    let known = before.kept_on_disk();
    after.kept_on_disk().iter().any(|id| !known.contains(id))
}

/// Records a write of the agent in a log.
#[cfg_attr(target_family = "wasm", inline(always))]
fn record_write(log: &mut LineLog, meta: &ChangeMeta, write: &FileWrite, status: Status) {
    // A log of which several entries are not on the disk is not recognized after a crash.
    for step in write.steps.iter().filter(|_| status == Status::Pending) {
        let meta = ChangeMeta { edit: format!("{}/{}", meta.edit, step.name), ..meta.clone() };
        record(log, Origin::Agent, meta, step.text.as_deref(), status);
    }
    record(log, Origin::Agent, meta.clone(), write.text.as_deref(), status);
}

/// Records a new text in a log: the whole text, or the deletion of the file.
pub(super) fn record(log: &mut LineLog, origin: Origin, meta: ChangeMeta, text: Option<&str>, status: Status) {
    match text {
        Some(text) => {
            log.write(origin, meta, text, status);
        }
        None => {
            log.delete(origin, meta, status);
        }
    }
}
