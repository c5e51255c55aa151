//! A store of the service, and the line logs of its workspace, in documents of a [`Store`]: for hosts without a database.
//!
//! The first access opens it, because a host may have to create the service before it can wait. The line logs are saved
//! before each commit, and after each change of the user, so that a review survives with the jobs that await it.

use emend_llm::{BoxFuture, Shared};
use futures::lock::Mutex;

use super::{
    Commit, Committed, DocumentJournal, EventPage, EventScope, Journal, JournalServiceStore, ServiceStore, SessionPage,
    SessionQuery,
};
use crate::service::records::{JobRecord, SessionRecord};
use crate::store::{Store, StoreError};
use crate::workspace::{Snapshot, Workspace};

/// Names of the journals. The dot makes them other documents than conversations.
const SERVICE: &str = "service.jobs";
const LINE_LOGS: &str = "service.edits";

/// Size in bytes up to which changed line logs are not worth a replacement.
const CHANGES_MIN: usize = 262_144;

/// A store that keeps everything in memory, and in documents.
pub struct KeptServiceStore {
    documents: Shared<dyn Store>,
    workspace: Shared<Workspace>,
    opened: Mutex<Option<Shared<Opened>>>,
}

struct Opened {
    service: JournalServiceStore,
    line_logs: LineLogs,
}

/// The line logs as they are saved.
struct LineLogs {
    journal: DocumentJournal,
    saved: Mutex<Saved>,
}

#[derive(Default)]
struct Saved {
    /// Revision of the workspace.
    revision: u64,
    /// Size of the changes since the last replacement in bytes.
    changes_bytes: usize,
}

impl KeptServiceStore {
    /// Returns the store in `documents`. The first access replaces the state of `workspace` by the saved one, if there is
    /// one.
    #[must_use]
    pub fn new(documents: Shared<dyn Store>, workspace: Shared<Workspace>) -> Self {
        Self { documents, workspace, opened: Mutex::default() }
    }

    async fn opened(&self) -> Result<Shared<Opened>, StoreError> {
        let mut opened = self.opened.lock().await;
        if let Some(opened) = &*opened {
            return Ok(Shared::clone(opened));
        }
        let journal = |name| DocumentJournal::new(Shared::clone(&self.documents), name);
        let service = JournalServiceStore::open(Shared::new(journal(SERVICE))).await?;
        let line_logs = LineLogs { journal: journal(LINE_LOGS), saved: Mutex::default() };
        line_logs.restore(&self.workspace).await?;
        let new = Shared::new(Opened { service, line_logs });
        *opened = Some(Shared::clone(&new));
        Ok(new)
    }
}

fn failed(reason: String) -> StoreError {
    StoreError::Io { name: LINE_LOGS.to_owned(), reason }
}

impl LineLogs {
    async fn restore(&self, workspace: &Workspace) -> Result<(), StoreError> {
        let mut whole: Option<Snapshot> = None;
        let mut saved = Saved::default();
        let records = self.journal.load().await?;
        for (index, record) in records.iter().enumerate() {
            let snapshot: Snapshot = match serde_json::from_str(record) {
                Ok(snapshot) => snapshot,
                // A crash cut it off, so the change that it belongs to did not happen.
                Err(_) if index + 1 == records.len() => break,
                Err(error) => return Err(failed(format!("record {} cannot be read: {error}", index + 1))),
            };
            saved.changes_bytes += record.len();
            match &mut whole {
                Some(whole) => whole.apply(snapshot).map_err(|error| failed(error.to_string()))?,
                None => whole = Some(snapshot),
            }
        }
        if let Some(whole) = whole {
            saved.revision = whole.revision();
            workspace.restore(whole).map_err(|error| failed(error.to_string()))?;
            workspace.catch_up().await;
            workspace.keep_waiting();
        }
        *self.saved.lock().await = saved;
        Ok(())
    }

    /// Saves the line logs that changed since the last time.
    async fn save(&self, workspace: &Workspace) -> Result<(), StoreError> {
        let mut saved = self.saved.lock().await;
        if workspace.revision() == saved.revision {
            return Ok(());
        }
        let record = |snapshot: &Snapshot| serde_json::to_string(snapshot).map_err(|error| failed(error.to_string()));
        let changes = workspace.snapshot_since(saved.revision);
        let text = record(&changes)?;
        if saved.changes_bytes + text.len() > CHANGES_MIN {
            let whole = workspace.snapshot();
            let text = record(&whole)?;
            self.journal.replace(&[text]).await?;
            // A large whole must not be replaced by each change.
            *saved = Saved { revision: whole.revision(), changes_bytes: 0 };
            return Ok(());
        }
        self.journal.append(&text).await?;
        saved.revision = changes.revision();
        saved.changes_bytes += text.len();
        Ok(())
    }
}

impl ServiceStore for KeptServiceStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            let opened = self.opened().await?;
            opened.line_logs.save(&self.workspace).await?;
            opened.service.commit(commit).await
        })
    }

    fn save_edits(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.opened().await?.line_logs.save(&self.workspace).await })
    }

    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        Box::pin(async move { self.opened().await?.service.session(id).await })
    }

    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>> {
        Box::pin(async move { self.opened().await?.service.sessions(query).await })
    }

    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.opened().await?.service.remove_session(id).await })
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>> {
        Box::pin(async move { self.opened().await?.service.job(id).await })
    }

    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        Box::pin(async move { self.opened().await?.service.jobs(session_id).await })
    }

    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>> {
        Box::pin(async move { self.opened().await?.service.open_jobs().await })
    }

    fn jobs_of_runs<'a>(&'a self, runs: &'a [u64]) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        Box::pin(async move { self.opened().await?.service.jobs_of_runs(runs).await })
    }

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        Box::pin(async move { self.opened().await?.service.events(scope, after, limit).await })
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::environment::ExecutionEnvironment;
    use crate::environment::memory::MemFs;
    use crate::service::store::conformance;
    use crate::store::MemStore;
    use crate::test_support::{Standstill, covers};
    use crate::workspace::Mode;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn workspace(files: &Shared<MemFs>) -> Shared<Workspace> {
        let environment = Shared::clone(files) as Shared<dyn ExecutionEnvironment>;
        Shared::new(Workspace::new(environment, Mode::Staged, Shared::new(Standstill(7))))
    }

    #[test]
    fn the_store_in_documents_passes_the_suite() {
        covers("service.kept");
        block_on(conformance::check(|| async {
            let files = Shared::new(MemFs::new());
            Shared::new(KeptServiceStore::new(Shared::new(MemStore::new()), workspace(&files)))
        }));
    }

    #[test]
    fn the_next_process_has_the_unsaved_edits() {
        covers("service.kept");
        block_on(async {
            let files = Shared::new(MemFs::from_fixture("//- a.md\none\n"));
            let documents: Shared<dyn Store> = Shared::new(MemStore::new());
            let first = workspace(&files);
            let store = KeptServiceStore::new(Shared::clone(&documents), Shared::clone(&first));
            store.open_jobs().await.unwrap();
            // Larger than the limit, so that the journal is replaced in between.
            for n in 0..40 {
                let text = format!("{n}\n{}", "a line of text\n".repeat(1_000));
                first.deferring_saves().user_edit("a.md", Some(&text), None).await.unwrap();
                store.save_edits().await.unwrap();
            }
            let second = workspace(&files);
            let store = KeptServiceStore::new(documents, Shared::clone(&second));
            store.open_jobs().await.unwrap();
            assert_eq!(second.text("a.md").await, first.text("a.md").await);
            assert_eq!(second.unsaved(), first.unsaved());
            assert_eq!(second.unsaved().len(), 1);
            second.undo().await.unwrap();
            assert!(second.text("a.md").await.unwrap().unwrap().starts_with("38\n"));
        });
    }
}
