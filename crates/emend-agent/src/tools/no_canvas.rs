//! The canvas tools of a build without the feature `canvas`: none.

use std::collections::BTreeMap;

use emend_llm::Shared;

use crate::tool::Tool;
use crate::workspace::Workspace;

/// No part of the system prompt.
pub const CANVAS_INSTRUCTIONS: &str = "";

/// Returns no tools.
#[must_use]
pub fn canvas_tools(_workspace: &Shared<Workspace>, _enforced: bool) -> Vec<Shared<dyn Tool>> {
    Vec::new()
}

/// No notes: no conversation is told about a canvas.
#[derive(Debug, Default)]
pub struct CanvasNotes;

impl CanvasNotes {
    /// Returns no notes.
    #[must_use]
    pub fn knowing(_known: BTreeMap<String, String>) -> Self {
        Self
    }

    /// Returns that the conversation knows no text.
    #[must_use]
    pub fn known(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Forgets nothing.
    pub fn forget(&self) {}

    /// Returns no message.
    pub async fn update(&self, _workspace: &Workspace) -> Option<String> {
        None
    }
}
