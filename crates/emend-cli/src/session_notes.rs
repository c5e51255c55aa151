//! Titles that the user gave to saved conversations, and the archive: one JSON file beside the conversations.
//!
//! An archived conversation stays complete. Lists and `--continue` leave it out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use emend_agent::error_code::Code;
use emend_agent::store::{Store, Summary, read_document, summaries};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Name of the file in the state directory.
const FILE: &str = "session_notes.json";

/// Notes of the user about conversations, by their IDs.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionNotes {
    pub(crate) titles: BTreeMap<String, String>,
    pub(crate) archived: BTreeSet<String>,
}

impl SessionNotes {
    /// Reads the notes of a state directory.
    pub(crate) fn load(directory: &Path) -> Result<Self, Failure> {
        let file = directory.join(FILE);
        let failed = |what: String| Failure::new(Code::IoError, format!("cannot read {}: {what}", file.display()));
        match std::fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Writes the notes. The caller holds the project.
    pub(crate) fn save(&self, directory: &Path) -> Result<(), Failure> {
        let (file, new) = (directory.join(FILE), directory.join(format!("{FILE}.new")));
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        // A crash leaves the old notes or the new ones.
        let written = std::fs::write(&new, text + "\n").and_then(|()| std::fs::rename(&new, &file));
        written.map_err(|error| Failure::new(Code::IoError, format!("cannot write {}: {error}", file.display())))
    }

    /// Returns the summaries of all conversations with the titles of the user.
    pub(crate) async fn all(&self, store: &dyn Store) -> Result<Vec<Summary>, Failure> {
        let mut saved = summaries(store).await?;
        for summary in &mut saved {
            if let Some(title) = self.titles.get(&summary.id) {
                summary.title.clone_from(title);
            }
        }
        Ok(saved)
    }

    /// Returns the summaries of the conversations that are not archived.
    pub(crate) async fn active(&self, store: &dyn Store) -> Result<Vec<Summary>, Failure> {
        let mut saved = self.all(store).await?;
        saved.retain(|summary| !self.archived.contains(&summary.id));
        Ok(saved)
    }
}

/// Keeps the conversations with a text in the title or in a message, in upper or lower case.
pub(crate) async fn search(store: &dyn Store, saved: Vec<Summary>, text: &str) -> Result<Vec<Summary>, Failure> {
    let wanted = text.to_lowercase();
    let mut found = Vec::new();
    for summary in saved {
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let mut is_found = has(&summary.title);
        if !is_found && let Some(text) = store.load(&summary.id).await? {
            // A damaged conversation is found by its title only.
            let entries = read_document(&text).map(|document| document.entries).unwrap_or_default();
            is_found = entries.iter().any(|entry| has(&entry.message.text()));
        }
        if is_found {
            found.push(summary);
        }
    }
    Ok(found)
}
