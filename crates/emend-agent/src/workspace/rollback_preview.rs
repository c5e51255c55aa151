//! The part of a rollback's preview that depends on the changes of commands, where commands are kept.
//!
//! A plan of line logs does not know which paths the keeper restores. These rules tell it beforehand, and change nothing.

use emend_edit::line_log::LineLog;
use emend_edit::size::compact_sort::set_of;

use super::error::WorkspaceError;
use super::review::ReviewError;
use super::rollback::RolledBackFile;
use super::state::Workspace;
use crate::environment::{FilePath, KeptUndo};

impl Workspace {
    /// Corrects the files of a preview by the changes of commands. With `restores_kept`, the rollback also undoes those.
    pub(super) async fn add_to_preview(
        &self,
        files: &mut [RolledBackFile],
        logs: &[(FilePath, LineLog)],
        runs: &[u64],
        restores_kept: bool,
    ) -> Result<(), ReviewError> {
        self.refuse_filled(files, logs, runs).await?;
        let Some(keeper) = self.keeper() else { return Ok(()) };
        let is_written = |file: &&mut RolledBackFile| !file.refused && file.texts.before != file.texts.after;
        let written: Vec<FilePath> = files.iter_mut().filter(is_written).map(|file| file.file_path.clone()).collect();
        let linked = keeper.linked(&written);
        for file in files.iter_mut().filter(|file| linked.contains(&file.file_path)) {
            *file = RolledBackFile { refused: true, ..RolledBackFile::untouched(file.file_path.clone()) };
        }
        if !restores_kept {
            return Ok(());
        }
        let undo = KeptUndo { runs: runs.to_vec(), logged: self.logged(runs), ..KeptUndo::default() };
        let undo = self.with_first_edits(KeptUndo { restores_deleted: true, ..undo });
        let (changes, unlogged) =
            (keeper.preview(&undo).await.map_err(WorkspaceError::from)?, keeper.first_unlogged(runs));
        for file in files.iter_mut() {
            let Some(change) = changes.iter().find(|change| change.path == file.file_path && !change.is_blocked) else {
                continue;
            };
            // A command put something else in the place of the text, and its undo puts it back.
            file.refused &= linked.contains(&file.file_path);
            let (command, edit) = (unlogged.get(&file.file_path), undo.first_edits.get(&file.file_path));
            if !file.refused && command.zip(edit).is_some_and(|(command, edit)| command < edit) {
                // The log begins with what a command put there.
                file.texts.after.clone_from(&change.text);
            }
        }
        Ok(())
    }

    /// Marks the texts of a preview that would come back in the place of a directory in which something stays.
    async fn refuse_filled(
        &self,
        files: &mut [RolledBackFile],
        logs: &[(FilePath, LineLog)],
        runs: &[u64],
    ) -> Result<(), ReviewError> {
        let goes = |path: &FilePath| logs.iter().any(|(known, log)| known == path && log.is_visible_text(None));
        for file in files.iter_mut().filter(|file| file.texts.before.is_none() && file.texts.after.is_some()) {
            // Fails for a path that is not a directory.
            let inside = self.environment().list(&file.file_path, usize::MAX).await.unwrap_or_default();
            let mut left = set_of(inside.into_iter().map(|entry| entry.path).filter(|path| !goes(path)));
            let changes = if left.is_empty() { Vec::new() } else { self.other_changes(runs, true).await? };
            for change in changes.iter().filter(|change| change.before.is_none() && !change.is_blocked) {
                left.remove(&change.path);
            }
            if !left.is_empty() {
                *file = RolledBackFile { refused: true, ..RolledBackFile::untouched(file.file_path.clone()) };
            }
        }
        Ok(())
    }
}
