//! The part of a rollback's preview that depends on the changes of commands, where commands are kept.
//!
//! A plan of line logs does not know which paths the keeper restores. These rules tell it beforehand, and change nothing.

use emend_edit::line_log::LineLog;
use emend_edit::size::compact_sort::set_of;

use super::review::ReviewError;
use super::rollback::RolledBackFile;
use super::state::Workspace;
use crate::environment::FilePath;

impl Workspace {
    /// Corrects the files of a preview by the changes of commands. With `restores_kept`, the rollback also undoes those.
    pub(super) async fn add_to_preview(
        &self,
        files: &mut [RolledBackFile],
        logs: &[(FilePath, LineLog)],
        runs: &[u64],
        restores_kept: bool,
    ) -> Result<(), ReviewError> {
        self.refuse_filled(files, logs, runs, restores_kept).await?;
        let Some(keeper) = self.keeper() else { return Ok(()) };
        let is_written = |file: &&mut RolledBackFile| !file.refused && file.texts.before != file.texts.after;
        let written: Vec<FilePath> = files.iter_mut().filter(is_written).map(|file| file.file_path.clone()).collect();
        let effect = match restores_kept {
            true => self.kept_effect(runs, None, true).await?,
            false => None,
        };
        let knows = |path: &FilePath| effect.as_ref().is_some_and(|(effect, _)| effect.knows(path));
        let linked: Vec<FilePath> = keeper.linked(&written).into_iter().filter(|path| !knows(path)).collect();
        for file in files.iter_mut().filter(|file| linked.contains(&file.file_path)) {
            *file = RolledBackFile { refused: true, ..RolledBackFile::untouched(file.file_path.clone()) };
        }
        let Some((effect, _)) = effect else { return Ok(()) };
        for file in files.iter_mut().filter(|file| !linked.contains(&file.file_path)) {
            // A command put something else in the place of the text, and its undo puts it back.
            file.refused &= effect.of(&file.file_path).is_none();
            if let Some(text) = effect.text(&file.file_path).filter(|_| !file.refused) {
                file.texts.after = text.map(str::to_owned);
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
        restores_kept: bool,
    ) -> Result<(), ReviewError> {
        let goes = |path: &FilePath| logs.iter().any(|(known, log)| known == path && log.is_visible_text(None));
        for file in files.iter_mut().filter(|file| file.texts.before.is_none() && file.texts.after.is_some()) {
            // Fails for a path that is not a directory.
            let Ok(inside) = self.environment().list(&file.file_path, usize::MAX).await else { continue };
            // Only the keeper removes a directory that a command made.
            let gives_way = restores_kept || self.keeper().is_some_and(|keeper| keeper.gives_way(&file.file_path));
            let mut left = set_of(inside.into_iter().map(|entry| entry.path).filter(|path| !goes(path)));
            let changes =
                if left.is_empty() || !restores_kept { Vec::new() } else { self.other_changes(runs, true).await? };
            for change in changes.iter().filter(|change| change.before.is_none() && !change.is_blocked) {
                left.remove(&change.path);
            }
            if !gives_way || !left.is_empty() {
                *file = RolledBackFile { refused: true, ..RolledBackFile::untouched(file.file_path.clone()) };
            }
        }
        Ok(())
    }
}
