//! The state of an open conversation.

use std::io::Stdout;

use emend_agent::session::Session;
use emend_llm::Shared;

use super::prompt::Prompt;
use super::screen::Screen;
use crate::failure::Failure;
use crate::settings::Model;
use crate::setup::Setup;

/// An open conversation.
pub(super) struct Chat {
    pub(super) setup: Setup,
    /// The current model, as `/model` takes it.
    pub(super) model: Model,
    pub(super) screen: Screen<Stdout>,
    pub(super) prompt: Prompt,
}

impl Chat {
    /// Replaces the open session by a saved one.
    pub(super) async fn reopen(&mut self, id: &str) -> Result<(), Failure> {
        let options = self.setup.options(&self.setup.selected)?;
        self.setup.session = Session::resume(options, Shared::clone(&self.setup.store), id).await?;
        self.setup.session.restore_reads();
        Ok(())
    }
}
