//! Writing: the agent's edits, verified and all-or-nothing, and the user's, which always win.

use std::collections::BTreeMap;

use emend_edit::ContentHash;
use emend_edit::diff::{RegionKind, compare3};
use emend_edit::line_log::{ChangeMeta, LineLog, Origin, Status};
use emend_edit::text::{first_eol, split_lines};

use super::context::WriteContext;
use super::error::WorkspaceError;
use super::state::{Entry, Mode, State, Workspace};
use crate::environment::{Access, EnvError, FileChange, FilePath};

/// One file as a tool wants it to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWrite {
    /// The file, as the tool's arguments name it.
    pub path: String,
    /// Its whole new text; `None` deletes it.
    pub text: Option<String>,
    /// The file it was before, if it is one that moves: it keeps that one's mode bits.
    pub moved_from: Option<String>,
}

/// What a write did to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// The file.
    pub path: FilePath,
    /// Whether there was no file before.
    pub created: bool,
    /// Whether there is none now.
    pub deleted: bool,
    /// The session's version after the write.
    pub version: u64,
    /// The hash of the new text.
    pub hash: ContentHash,
}

/// The visible texts of files by the paths that the caller gave; `None` for a file that does not exist.
pub type Texts = BTreeMap<String, Option<String>>;

/// A file's log after a write, not yet in force.
struct Staged {
    path: FilePath,
    log: LineLog,
    before: Option<String>,
    after: Option<String>,
    moved_from: Option<FilePath>,
}

impl Workspace {
    /// Carries out an edit of `paths` by the agent. All files are written or none.
    ///
    /// `plan` gets the visible texts, keyed by `paths` as given, and returns the new ones with a result of its own. It may
    /// write only files among `paths`, and must not call the workspace, which is locked meanwhile.
    ///
    /// # Errors
    ///
    /// The error of `plan`; or a path that does not resolve or is not text; the canvas lease if one of the files is the
    /// canvas and `context` does not hold it; a `context` that may not write; a disk error. Nothing changed then.
    pub async fn write<R, E: From<WorkspaceError>>(
        &self,
        context: &WriteContext<'_>,
        paths: &[String],
        plan: impl FnOnce(&Texts) -> Result<(Vec<FileWrite>, R), E>,
    ) -> Result<(Vec<WrittenFile>, R), E> {
        let _writing = self.writing.lock().await;
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

    /// Writes what was planned for `texts`.
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
            let mut log = self.log_of(path).await?;
            let before = log.visible_text();
            if texts.get(&write.path) != Some(&before) {
                return Err(EnvError::Changed { path: path.to_string() }.into());
            }
            record(&mut log, Origin::Agent, meta.clone(), write.text.as_deref(), status);
            let moved_from = write.moved_from.and_then(|from| resolved.get(&from).cloned());
            staged.push(Staged { path: path.clone(), log, before, after: write.text, moved_from });
        }
        self.verify_lease(context, &staged)?;
        let back = self.save_all(&staged).await?;
        // The user may have taken the canvas back while the disk was read and written. From here to the end nothing
        // waits, so a lease that holds now holds when the edit lands.
        if let Err(error) = self.verify_lease(context, &staged) {
            self.environment.change(&back).await?;
            return Err(error);
        }
        let mut state = self.state();
        let mut applied = Vec::with_capacity(staged.len());
        for file in staged {
            let text = file.after.as_deref().unwrap_or_default();
            let hash = ContentHash::of(text.as_bytes());
            applied.push(WrittenFile {
                version: context.reads.note_write(&file.path, hash, split_lines(text).len()),
                created: file.before.is_none() && file.after.is_some(),
                deleted: file.after.is_none(),
                path: file.path.clone(),
                hash,
            });
            state.install(file.path.clone(), file.log);
            if let (Some(from), Some(entry)) = (file.moved_from, state.files.get_mut(&file.path)) {
                entry.moved_from = Some(from);
            }
        }
        Ok(applied)
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

    /// Writes a file as the user: their text always lands, takes the canvas back, and needs no acceptance.
    ///
    /// `base` is the visible text the user's text was made from, if the caller knows it: what the agent changed since
    /// is kept beside the user's edit, and where both changed the same lines the user's stand.
    ///
    /// # Errors
    ///
    /// The path leaves the root or is not text, or the disk refuses; the user's text is not in the log then.
    pub async fn user_edit(
        &self,
        path: &str,
        text: Option<&str>,
        base: Option<&str>,
    ) -> Result<FilePath, WorkspaceError> {
        let file = self.environment.resolve(path, Access::Write).await?;
        if self.canvas.path().as_ref() == Some(&file) {
            self.canvas.take_back();
        }
        let _writing = self.writing.lock().await;
        let current = self.visible(&file).await?;
        let text = match (text, base, &current) {
            (Some(text), Some(base), Some(current)) if base != current => Some(favouring_ours(base, text, current)),
            (text, _, _) => text.map(str::to_owned),
        };
        if text == current {
            return Ok(file);
        }
        let mut log = self.log_of(&file).await?;
        let meta = ChangeMeta { run: self.last_run().to_string(), edit: "user".to_owned(), at_ms: self.clock.now_ms() };
        record(&mut log, Origin::User, meta, text.as_deref(), Status::Accepted);
        let staged = [Staged { path: file.clone(), log, before: current, after: text, moved_from: None }];
        self.save_all(&staged).await?;
        let mut state = self.state();
        let [Staged { log, .. }] = staged;
        state.install(file.clone(), log);
        state.done.push(vec![file.clone()]);
        state.undone.clear();
        Ok(file)
    }

    /// Returns a copy of a file's log, made from what is on disk if the file was never edited.
    pub(super) async fn log_of(&self, path: &FilePath) -> Result<LineLog, WorkspaceError> {
        if let Some(entry) = self.state().files.get(path) {
            return Ok(entry.log.clone());
        }
        Ok(LineLog::new(self.disk_text(path).await?.as_deref()))
    }

    /// Brings the disk in step with new logs before they come into force. If one file cannot be written, those that
    /// were are put back, so that either all change or none.
    pub(super) async fn save_logs(&self, logs: Vec<(FilePath, LineLog)>) -> Result<(), WorkspaceError> {
        let staged: Vec<Staged> = logs
            .into_iter()
            .map(|(path, log)| Staged { path, log, before: None, after: None, moved_from: None })
            .collect();
        self.save_all(&staged).await?;
        let mut state = self.state();
        for file in staged {
            state.install(file.path, file.log);
        }
        Ok(())
    }

    /// Writes what the new logs say belongs on disk, all files or none, and returns what undoes it.
    async fn save_all(&self, staged: &[Staged]) -> Result<Vec<FileChange>, WorkspaceError> {
        let (mut there, mut back) = (Vec::new(), Vec::new());
        for file in staged {
            let (old, new) = (self.disk_text(&file.path).await?, file.log.disk_text());
            // Reading takes time: what a log does not know of must not be written over.
            let hash = |text: Option<String>| text.map(|text| ContentHash::of(text.as_bytes()));
            let entered = self.state().files.get(&file.path).map(|entry| entry.disk);
            if entered.unwrap_or_else(|| hash(file.log.base_text())) != hash(old.clone()) {
                return Err(EnvError::Changed { path: file.path.to_string() }.into());
            }
            if old != new {
                let change_to = change(&file.path, old.as_deref(), new.as_deref());
                // What was staged as a move comes onto the disk when it is accepted.
                let was_moved = || self.state().files.get(&file.path).and_then(|entry| entry.moved_from.clone());
                there.push(FileChange { mode_of: file.moved_from.clone().or_else(was_moved), ..change_to });
                back.push(change(&file.path, new.as_deref(), old.as_deref()));
            }
        }
        self.environment.change(&there).await?;
        Ok(back)
    }
}

/// Refuses to write for a call that was only let run because it would be refused: what it works on has changed since.
pub(super) fn reject_unapproved(context: &WriteContext<'_>) -> Result<(), WorkspaceError> {
    match context.may_write {
        true => Ok(()),
        false => Err(WorkspaceError::Unapproved),
    }
}

fn change(path: &FilePath, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        path: path.clone(),
        before: before.map(|text| ContentHash::of(text.as_bytes())),
        after: after.map(|text| text.as_bytes().to_vec()),
        mode_of: None,
        executable: None,
    }
}

/// Enters a new text into a log: the whole of it, or the deletion of the file.
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

/// Merges what `ours` and `theirs` made of `base`; where both changed the same lines ours stand.
pub(super) fn favouring_ours(base: &str, ours: &str, theirs: &str) -> String {
    let (our_lines, their_lines) = (split_lines(ours), split_lines(theirs));
    let eol = first_eol(ours).or_else(|| first_eol(theirs)).unwrap_or("\n");
    let mut merged = String::with_capacity(ours.len().max(theirs.len()));
    for region in compare3(base, ours, theirs) {
        let lines = match region.kind {
            RegionKind::Theirs => &their_lines[region.theirs],
            _ => &our_lines[region.ours],
        };
        for line in lines {
            if !merged.is_empty() && !merged.ends_with(['\n', '\r']) {
                merged.push_str(eol);
            }
            merged.push_str(line);
        }
    }
    merged
}

impl State {
    /// Puts a log in force. The disk already holds what it says.
    fn install(&mut self, path: FilePath, mut log: LineLog) {
        log.mark_saved();
        let disk = log.disk_text().map(|text| ContentHash::of(text.as_bytes()));
        self.install_found(path, log, disk);
    }

    /// Puts a log in force of a file that was found on the disk with this hash.
    pub(super) fn install_found(&mut self, path: FilePath, log: LineLog, disk: Option<ContentHash>) {
        self.revision += 1;
        let known = self.files.get(&path).map(|entry| (entry.number, entry.moved_from.clone()));
        let (number, moved_from) = known.unwrap_or_else(|| {
            self.n_entries += 1;
            (self.n_entries, None)
        });
        self.files.insert(path, Entry { number, log, disk, moved_from, changed_at: self.revision });
    }
}
