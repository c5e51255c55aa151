//! Promotion of the canvas: its draft, which is the text that the user sees, becomes its saved text.
//!
//! Pending edits of the agent are in the draft and stay off the disk: the user accepts them first. The rule for which
//! text the disk gets is that of every save.

use emend_edit::ContentHash;

use super::error::WorkspaceError;
use super::state::Workspace;
use super::write::Staged;

/// The outcome of a promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// The saved text is the draft without pending edits.
    Done {
        /// Whether it was another text before.
        wrote: bool,
    },
    /// The draft has another hash than the caller saw. Nothing was saved.
    OtherDraft,
    /// An agent holds the lease. Nothing was saved.
    Held,
    /// No file is open in the canvas.
    Closed,
}

impl Workspace {
    /// Saves the canvas, if its draft has the hash that the caller saw. The lease, the draft and the save are one step:
    /// no write of an agent or of another server comes between.
    ///
    /// With `takes_back`, the user preempts the lease, unless the draft is another one. Otherwise a held lease keeps the
    /// draft from being saved.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written. Nothing was saved.
    pub async fn promote_canvas(&self, draft_hash: &str, takes_back: bool) -> Result<Promotion, WorkspaceError> {
        let _writing = self.enter().await?;
        let Some(path) = self.canvas.path() else { return Ok(Promotion::Closed) };
        if !takes_back && self.canvas.state(self.clock.now_ms()).held {
            return Ok(Promotion::Held);
        }
        // Takes in what another program has written, which the caller may not have seen.
        let draft = self.visible(&path).await?;
        let hash = ContentHash::of(draft.as_deref().unwrap_or_default().as_bytes());
        if draft_hash.parse() != Ok(hash) {
            return Ok(Promotion::OtherDraft);
        }
        if takes_back {
            self.canvas.take_back();
        }
        if !self.unsaved().contains(&path) {
            return Ok(Promotion::Done { wrote: false });
        }
        let log = self.log_after(&path, draft.as_deref());
        self.save_staged(vec![Staged::of_log(path, log, false)], false, None).await?;
        Ok(Promotion::Done { wrote: true })
    }
}
