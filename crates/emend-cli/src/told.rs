//! Telling the model of a conversation the net effect of the user's decisions and undos since its last message.
//!
//! Without it, the model takes a rejected or undone edit for a part of the file. The decisions may also be those of another
//! command, such as `emend review` or `emend undo` in a shell between two messages. Only edits of the conversation itself
//! count.

use std::collections::{BTreeMap, BTreeSet};

use emend_agent::workspace::RunChanges;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::project::Project;
use crate::setup::Setup;

/// Name of the document about the last message of each conversation, by session ID.
const DOCUMENT: &str = "told";

/// The state at the last message of a conversation.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Told {
    /// Revision of the workspace.
    revision: u64,
    /// The runs of the conversation that were undone.
    undone: BTreeSet<u64>,
    /// The runs of the conversation from which this one was forked.
    inherited: BTreeSet<u64>,
}

impl Setup {
    /// Tells the model the user's decisions, undos and redos since its last message.
    ///
    /// Nothing is told before the first message of a conversation: the model has made no edit in it.
    pub(crate) fn tell_decisions(&self) -> Result<(), Failure> {
        let mut all: BTreeMap<String, Told> = self.project.document(DOCUMENT)?;
        let id = self.session.id();
        let own = runs_of(&self.project, id)?;
        let mut known = all.get(id).cloned();
        // A fork knows what its origin knows.
        if known.is_none()
            && let Some(origin) = &self.origin
            && let Some(told) = all.get(origin)
        {
            let inherited = runs_of(&self.project, origin)?.union(&told.inherited).copied().collect();
            known = Some(Told { inherited, ..told.clone() });
        }
        let inherited = known.as_ref().map(|known| known.inherited.clone()).unwrap_or_default();
        let own: BTreeSet<u64> = own.union(&inherited).copied().collect();
        let runs: Vec<RunChanges> =
            self.project.workspace.runs().into_iter().filter(|run| own.contains(&run.run_id)).collect();
        if let Some(known) = known
            && let Some(text) = self.news(&known, &runs)
        {
            self.session.note(&text)?;
        }
        let undone = runs.iter().filter(|run| !run.is_on).map(|run| run.run_id).collect();
        all.insert(id.to_owned(), Told { revision: self.project.workspace.revision(), undone, inherited });
        self.project.save_document(DOCUMENT, &all)
    }

    /// Returns what the user has decided since the last message; `None` if nothing.
    fn news(&self, known: &Told, runs: &[RunChanges]) -> Option<String> {
        let ids: Vec<u64> = runs.iter().map(|run| run.run_id).collect();
        let decisions = self.project.workspace.decisions_on_runs_since(known.revision, &ids);
        let is_named = |path: &str| {
            let names = |line: &str| line.strip_prefix(path).is_some_and(|rest| rest.starts_with(": "));
            decisions.as_deref().is_some_and(|text| text.lines().any(names))
        };
        let mut others = BTreeSet::new();
        for run in runs.iter().filter(|run| run.is_on == known.undone.contains(&run.run_id)) {
            let verb = if run.is_on { "redid" } else { "undid" };
            let files = run.files.iter().filter(|path| !is_named(path.as_str()));
            others.extend(files.map(|path| format!("{path}: {verb} your change\n")));
        }
        let others: String = others.into_iter().collect();
        match (decisions, others.is_empty()) {
            (decisions, true) => decisions,
            (Some(decisions), false) => Some(decisions + &others),
            (None, false) => Some(format!("Since your last edit, the user undid or redid changes of yours.\n{others}")),
        }
    }
}

/// Returns the runs of a conversation that changed files.
fn runs_of(project: &Project, session: &str) -> Result<BTreeSet<u64>, Failure> {
    let notes = project.run_notes()?;
    Ok(notes.into_iter().filter(|note| note.session == session).map(|note| note.run).collect())
}

/// Forgets a deleted conversation.
pub(crate) fn forget(state: &emend_host::StateDir, session: &str) -> Result<(), Failure> {
    let mut told: BTreeMap<String, Told> = state.load(DOCUMENT)?.unwrap_or_default();
    match told.remove(session) {
        Some(_) => state.save(DOCUMENT, &told).map_err(Failure::from),
        None => Ok(()),
    }
}
