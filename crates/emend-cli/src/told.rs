//! Telling the model of a conversation the user's decisions and undos since its last message.
//!
//! Without it, the model takes a rejected or undone edit for a part of the file. The decisions may also be those of another
//! command, such as `emend review` or `emend undo` in a shell between two messages.

use std::collections::BTreeMap;

use crate::failure::Failure;
use crate::project::Project;
use crate::setup::Setup;

/// Name of the document with the revision of the workspace at the last message of each conversation.
const DOCUMENT: &str = "told";

impl Setup {
    /// Tells the model the user's decisions since its last message.
    ///
    /// Nothing is told before the first message of a conversation: the model has made no edit in it.
    pub(crate) fn tell_decisions(&self) -> Result<(), Failure> {
        let told = told(&self.project)?;
        // A fork knows what its origin knows.
        let known = told.get(self.session.id()).or_else(|| told.get(self.origin.as_ref()?)).copied();
        if let Some(decisions) = known.and_then(|known| self.project.workspace.decisions_since(known)) {
            self.session.note(&decisions)?;
        }
        self.note_told()
    }

    /// Notes that the model knows all decisions so far.
    pub(crate) fn note_told(&self) -> Result<(), Failure> {
        let mut told = told(&self.project)?;
        told.insert(self.session.id().to_owned(), self.project.workspace.revision());
        self.project.save_document(DOCUMENT, &told)
    }
}

/// Returns the revision of the workspace up to which the model of each conversation knows the decisions, by session ID.
fn told(project: &Project) -> Result<BTreeMap<String, u64>, Failure> {
    project.document(DOCUMENT)
}

/// Forgets a deleted conversation.
pub(crate) fn forget(state: &emend_host::StateDir, session: &str) -> Result<(), Failure> {
    let mut told: BTreeMap<String, u64> = state.load(DOCUMENT)?.unwrap_or_default();
    match told.remove(session) {
        Some(_) => state.save(DOCUMENT, &told).map_err(Failure::from),
        None => Ok(()),
    }
}
