//! Saving, resuming and forking of sessions.
//!
//! New history entries are appended to the store after each user message, each response and each round of results. A
//! host without a store links none of this code.

use std::sync::{Mutex, PoisonError};

use emend_llm::{BoxFuture, Shared};

use super::Session;
use super::core::{Core, LOST, Save};
use super::options::SessionOptions;
use crate::error_code::Code;
use crate::event::EventKind;
use crate::history::{History, is_valid, repaired};
use crate::store::{ForkedFrom, Header, ReadError, Record, Store, StoreError, VERSION, read_document, write_records};

/// Outputs with more bytes are saved as documents of their own.
const KEPT_OUTPUT_BYTES: usize = 64 << 10;

/// Why a session could not be resumed or forked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The store has no session with this id.
    #[error("there is no saved session {id:?}")]
    NotFound {
        /// The id.
        id: String,
    },
    /// The document cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ResumeError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code::NotFound,
            Self::Read(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }
}

/// Saves one session.
struct Saver {
    store: Shared<dyn Store>,
    /// The state that the next save starts from.
    saved: Mutex<Saved>,
}

#[derive(Clone, Default)]
struct Saved {
    header: Option<Header>,
    n_turns: usize,
    /// Generation of the history; a different one means that entries were replaced.
    generation: u64,
    failing: bool,
    /// Whether another writer has continued the document. This session then never writes to it again.
    taken: bool,
}

impl Saver {
    fn unsaved(&self, core: &Core, saved: &mut Saved) -> Vec<Record> {
        let history = core.history();
        let mut records: Vec<Record> = saved.header.take().map(Record::Session).into_iter().collect();
        if history.generation() == saved.generation {
            let new = history.entries().iter().enumerate().skip(saved.n_turns);
            records.extend(new.map(|(index, entry)| Record::Entry { index, entry: entry.clone() }));
        } else {
            records.push(Record::History { entries: history.entries().to_vec() });
        }
        (saved.n_turns, saved.generation) = (history.entries().len(), history.generation());
        records
    }
}

impl Save for Saver {
    fn save<'a>(&'a self, core: &'a Core) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let before = self.saved.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if before.taken {
                return false;
            }
            let mut after = Saved { failing: false, ..before.clone() };
            let records = self.unsaved(core, &mut after);
            if records.is_empty() {
                return true;
            }
            let outcome = match write_records(&records) {
                Ok(lines) => self.store.append(&core.id, &lines).await,
                Err(error) => Err(StoreError::Io { name: core.id.clone(), reason: error.to_string() }),
            };
            if let Err(error) = outcome {
                if matches!(error, StoreError::Conflict { .. }) {
                    self.saved.lock().unwrap_or_else(PoisonError::into_inner).taken = true;
                    return false;
                }
                // Reported once; the next save writes everything again.
                if !before.failing {
                    let message = format!("The conversation could not be saved ({error}); it goes on unsaved.");
                    core.emitter.emit(EventKind::Warning { code: "not_saved", message });
                }
                after = Saved { failing: true, ..before };
            }
            *self.saved.lock().unwrap_or_else(PoisonError::into_inner) = after;
            true
        })
    }

    fn keep_output<'a>(&'a self, core: &'a Core, output: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if output.len() <= KEPT_OUTPUT_BYTES {
                return None;
            }
            let name = format!("{}.{:016x}", core.id, core.random.next_u64());
            self.store.append(&name, output).await.is_ok().then_some(name)
        })
    }

    fn output<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        self.store.load(name)
    }
}

impl Session {
    /// Saves the conversation in `store` from now on, under the session's [`id`](Self::id). Has no effect on a session
    /// with a store.
    #[must_use]
    pub fn with_store(self, store: Shared<dyn Store>) -> Self {
        let header = self.header(None);
        self.keep(store, Saved { header: Some(header), ..Saved::default() })
    }

    fn header(&self, forked_from: Option<ForkedFrom>) -> Header {
        let settings = self.core.settings();
        Header {
            version: VERSION,
            id: self.core.id.clone(),
            at_ms: self.core.clock.now_ms(),
            provider: settings.provider.name().to_owned(),
            model: settings.model,
            forked_from,
        }
    }

    fn keep(self, store: Shared<dyn Store>, saved: Saved) -> Self {
        // A second store would lack the entries that the first one has.
        let _ = self.core.saver.set(Box::new(Saver { store, saved: Mutex::new(saved) }));
        self
    }

    /// Resumes a saved session and continues to save it. A call whose result was lost in a crash gets an error result
    /// that says so.
    ///
    /// # Errors
    ///
    /// Returns a [`ResumeError`].
    pub async fn resume(options: SessionOptions, store: Shared<dyn Store>, id: &str) -> Result<Self, ResumeError> {
        Self::reopen(options, store, id, false).await
    }

    /// Resumes a saved session as [`resume`](Self::resume) does, and leaves calls of the last response without a result
    /// for [`continue_run`](Self::continue_run).
    ///
    /// # Errors
    ///
    /// Returns a [`ResumeError`].
    pub async fn resume_run(options: SessionOptions, store: Shared<dyn Store>, id: &str) -> Result<Self, ResumeError> {
        Self::reopen(options, store, id, true).await
    }

    async fn reopen(
        options: SessionOptions,
        store: Shared<dyn Store>,
        id: &str,
        goes_on: bool,
    ) -> Result<Self, ResumeError> {
        let document = load(&*store, id).await?;
        let n_saved = document.entries.len();
        let mut entries = repaired(document.entries.clone(), LOST, options.config.result_form);
        let is_open = document.entries.last().is_some_and(|last| !last.message.tool_calls().is_empty());
        if goes_on && is_open && entries.len() == n_saved + 1 {
            entries.pop();
        }
        let session = Self::build(options, id.to_owned(), Shared::default(), Shared::default());
        let unchanged = entries[..n_saved.min(entries.len())] == document.entries;
        *session.core.history() = History::new(entries);
        if document.n_damaged > 0 {
            let message =
                format!("{} lines of the saved session could not be read and were skipped.", document.n_damaged);
            session.core.emitter.emit(EventKind::Warning { code: "session_damaged", message });
        }
        // If more than the last entry was repaired, the next save writes everything.
        let generation = if unchanged { session.core.history().generation() } else { u64::MAX };
        Ok(session.keep(store, Saved { n_turns: n_saved, generation, ..Saved::default() }))
    }

    /// Starts a new session with the first `n_turns` entries of a saved one, or with all of them. The saved session
    /// stays unchanged.
    ///
    /// # Errors
    ///
    /// Returns a [`ResumeError`].
    pub async fn fork(
        options: SessionOptions,
        store: Shared<dyn Store>,
        id: &str,
        n_turns: Option<usize>,
    ) -> Result<Self, ResumeError> {
        let mut entries = repaired(load(&*store, id).await?.entries, LOST, options.config.result_form);
        entries.truncate(n_turns.unwrap_or(usize::MAX));
        while !is_valid(&entries) {
            // Between a call and its results, the fork is cut before the call.
            entries.pop();
        }
        let forked_from = Some(ForkedFrom { id: id.to_owned(), n_turns: entries.len() });
        let session = Self::new(options);
        *session.core.history() = History::new(entries);
        let header = session.header(forked_from);
        let session = session.keep(store, Saved { header: Some(header), ..Saved::default() });
        session.core.save().await;
        Ok(session)
    }

    /// Saves new entries of the conversation now. A run saves them by itself.
    pub(crate) fn save(&self) -> impl Future<Output = bool> {
        self.core.save()
    }

    /// Returns the output that a `TOOL_CALL_END` names by `output_ref`; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns the error of the store.
    pub async fn output(&self, output_ref: &str) -> Result<Option<String>, StoreError> {
        match self.core.saver.get() {
            Some(saver) => saver.output(output_ref).await,
            None => Ok(None),
        }
    }
}

async fn load(store: &dyn Store, id: &str) -> Result<crate::store::Document, ResumeError> {
    let text = store.load(id).await?.ok_or_else(|| ResumeError::NotFound { id: id.to_owned() })?;
    Ok(read_document(&text)?)
}

impl Core {
    /// Saves new entries, if there is a store. Returns false if another writer has continued the document.
    pub(super) async fn save(&self) -> bool {
        match self.saver.get() {
            Some(saver) => saver.save(self).await,
            None => true,
        }
    }
}
