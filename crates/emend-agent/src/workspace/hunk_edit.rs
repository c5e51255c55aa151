//! The user's own text in the place of a hunk.

use emend_edit::line_log::ChangeMeta;

use super::decisions::refused;
use super::review::{Review, ReviewError};
use super::state::Workspace;

impl Workspace {
    /// Accepts a hunk with the user's `text` in its place, as one step.
    ///
    /// The text replaces the visible lines from the first changed line of the hunk to the last one. Lines that it shares
    /// with the hunk stay the agent's and are accepted; the others are lines of the user. So nothing of the hunk waits for
    /// review any more, and the disk gets the text at once. [`undo`](Self::undo) makes the hunk pending again.
    ///
    /// For an edit that leaves the hunk pending, use [`user_edit`](Self::user_edit).
    ///
    /// # Errors
    ///
    /// [`ReviewError::UnknownHunk`]; [`ReviewError::Contested`] if the user or another program has changed the same lines
    /// since; or the error of the disk. Nothing changes then.
    pub async fn edit_hunk(&self, hunk_id: &str, text: &str) -> Result<Review, ReviewError> {
        let (path, changes) = self.changes_of(hunk_id)?;
        if self.canvas.path().as_ref() == Some(&path) {
            self.canvas.take_back();
        }
        let _writing = self.enter().await?;
        let mut log = self.log_of(&path).await?;
        let n_places = log.contested(&changes).len();
        if n_places > 0 {
            return Err(ReviewError::Contested { path, n_places });
        }
        let meta = ChangeMeta { run: self.last_run().to_string(), edit: "user".to_owned(), at_ms: self.clock.now_ms() };
        log.edit_hunk(&changes, text, meta).map_err(|error| refused(&path, error))?;
        self.commit_step(vec![(path, log)]).await
    }
}
