//! Changes that wait for an explicit save: until then the text in memory is ahead of the disk.
//!
//! A file waits from the first change of the user that defers its save until [`Workspace::save`]. Meanwhile decisions,
//! undo and pending edits of the agent change its text in memory only. An edit of the agent in
//! [`Mode::Direct`](super::Mode::Direct) saves the files that it edits, because its commands read them from the disk.

use emend_edit::line_log::ChangeMeta;

use super::error::WorkspaceError;
use super::review::ReviewError;
use super::state::Workspace;
use super::write::Staged;
use crate::environment::FilePath;

/// A file that [`Workspace::save`] wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFile {
    /// Path relative to the root.
    pub path: FilePath,
    /// Workspace revision of the saved text.
    pub revision: u64,
}

impl Workspace {
    /// Returns a view of this workspace in which changes of the user wait for [`save`](Self::save): edits, decisions,
    /// rollbacks, undo and redo.
    #[must_use]
    pub fn deferring_saves(&self) -> Self {
        Self { defers_saves: true, ..self.in_mode(self.mode) }
    }

    /// Returns whether the disk keeps the text of a file until the user saves.
    pub(super) fn waits(&self, path: &FilePath) -> bool {
        self.state().files.get(path).is_some_and(|entry| entry.waits)
    }

    /// Lets files whose text is ahead of the disk wait for a save, as they did in the process that left them so.
    pub fn keep_waiting(&self) {
        for entry in self.state().files.values_mut() {
            entry.waits = !entry.log.is_disk_saved();
        }
    }

    /// Returns the files whose text waits for a save, by path.
    #[must_use]
    pub fn unsaved(&self) -> Vec<FilePath> {
        let state = self.state();
        let files = state.files.iter().filter(|(_, entry)| entry.waits && !entry.log.is_disk_saved());
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Saves the files that wait for it, or only those among `paths`: all of them or none. Pending edits of the agent
    /// stay off the disk. This is not a step of the user that can be undone.
    ///
    /// # Errors
    ///
    /// [`ReviewError::Conflict`] if another program has changed a file since it was last read or written; nothing is
    /// written then. Its changes are merged into the text in memory, for the user to see, and the next save writes that.
    /// With `rebase`, only changes of the same lines are a conflict. Or the error of the disk.
    pub async fn save(&self, paths: Option<&[FilePath]>, rebase: bool) -> Result<Vec<SavedFile>, ReviewError> {
        let _writing = self.enter().await?;
        let is_wanted = |path: &FilePath| paths.is_none_or(|paths| paths.contains(path));
        let wanted: Vec<FilePath> = self.unsaved().into_iter().filter(is_wanted).collect();
        let mut changed = Vec::new();
        for path in &wanted {
            if let Some(overlaps) = self.merge_disk(path).await?
                && (overlaps || !rebase)
            {
                changed.push(path.clone());
            }
        }
        if !changed.is_empty() {
            return Err(ReviewError::Conflict { files: changed });
        }
        let mut staged = Vec::with_capacity(wanted.len());
        for path in &wanted {
            staged.push(Staged::of_log(path.clone(), self.log_of(path).await?, false));
        }
        self.save_staged(staged, false, None).await?;
        let saved = |path: FilePath| SavedFile { revision: self.revision_of(&path), path };
        Ok(wanted.into_iter().map(saved).collect())
    }

    /// Merges what another program has written to a file. Returns whether that changed lines that the user has changed,
    /// too; `None` if nothing was written.
    async fn merge_disk(&self, path: &FilePath) -> Result<Option<bool>, WorkspaceError> {
        let text = self.disk_text(path).await?;
        // The log as it is: reading the file would take in the change before it is compared.
        let mut log = self.log_after(path, text.as_deref());
        if log.is_saved_text(text.as_deref()) {
            return Ok(None);
        }
        let meta = ChangeMeta { at_ms: self.clock.now_ms(), ..ChangeMeta::default() };
        let ids = log.external(text.as_deref(), meta);
        let overlaps = !log.doubled(&ids).is_empty();
        self.state().install_found(path.clone(), log);
        Ok((!ids.is_empty()).then_some(overlaps))
    }
}
