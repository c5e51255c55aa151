//! A session: one conversation with one model over one workspace.
//!
//! [`Session::submit`] starts a run and returns it as a stream of events. Polling the stream drives the run, so the
//! same code works under any executor, and dropping the stream stops it. The creator of the session selects the tools
//! and the workspace.

mod budget;
mod builder;
mod core;
mod edit_gate;
mod grants;
mod input;
mod options;
mod persistence;
mod run;
mod run_loop;
mod seen;
mod steps;
mod subagents;

use std::sync::{Mutex, OnceLock, PoisonError};

use emend_llm::{CancelToken, Message, Provider, Random, Shared};

pub use budget::RunBudget;
pub use builder::{ProfileChoice, SessionBuilder};
pub use edit_gate::EditGate;
pub use options::{SessionConfig, SessionOptions, SubmitError};
pub use persistence::ResumeError;

pub use run::Run;
pub use run_loop::compaction::Compaction;
pub use run_loop::tool_call::call_tool;
pub use steps::StepKeeper;

use self::core::{Core, EditScope, LOST, Queues, Start, Status, UserMessage};
use crate::approval::Grant;
use crate::event::{Emitter, Event, ResyncRequired, SessionState, Subscription};
use crate::history::{ContextUse, History, HistoryEntry, HistoryEntryKind, is_valid, repaired};
use crate::tool::{ToolError, ToolRegistry};
use crate::workspace::{ReadTracker, Workspace};
use budget::Spending;
use grants::Approvals;
use options::Settings;
use subagents::Subagents;

/// One conversation. Clones share it; at most one run is in progress.
///
/// ```
/// # use emend_agent::environment::memory::MemFs;
/// # use emend_agent::event::EventKind;
/// # use emend_agent::session::SessionBuilder;
/// # use emend_agent::workspace::{Mode, Workspace};
/// # use emend_llm::{BoxFuture, CancelToken, Clock, Random, Shared};
/// # use futures::StreamExt;
/// # struct Stopped;
/// # impl Clock for Stopped {
/// #     fn now_ms(&self) -> u64 {
/// #         0
/// #     }
/// #     fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
/// #         Box::pin(std::future::ready(()))
/// #     }
/// # }
/// # impl Random for Stopped {
/// #     fn next_u64(&self) -> u64 {
/// #         1
/// #     }
/// # }
/// # futures::executor::block_on(async {
/// let files = Shared::new(MemFs::from_fixture("//- a.md\nalpha\n"));
/// let workspace = Shared::new(Workspace::new(files, Mode::Direct, Shared::new(Stopped)));
/// let provider = Shared::new(emend_offline::provider(emend_offline::Options::default()));
/// let session = SessionBuilder::new(provider, emend_offline::MODEL, workspace, Shared::new(Stopped)).build()?;
/// let mut run = session.submit("rename alpha to beta in a.md", CancelToken::new())?;
/// let mut calls = Vec::new();
/// while let Some(event) = run.next().await {
///     if let EventKind::ToolCallStart { tool_name, .. } = event.kind {
///         calls.push(tool_name);
///     }
/// }
/// assert!(calls.contains(&"edit_file".to_owned()), "{calls:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })
/// # .unwrap();
/// ```
#[derive(Clone)]
pub struct Session {
    core: Shared<Core>,
}

impl Session {
    /// Returns a session that waits for its first message.
    #[must_use]
    pub fn new(options: SessionOptions) -> Self {
        let id = random_uuid(&*options.random);
        Self::with_id(options, id)
    }

    /// Returns a session with this id, which must name no other session of its store.
    #[must_use]
    pub fn with_id(options: SessionOptions, id: String) -> Self {
        Self::build(options, id, Shared::default(), Shared::default())
    }

    /// Returns a session that shares the queue of approval requests and the budget with its parent.
    fn of_parent(options: SessionOptions, approvals: Shared<Approvals>, spending: Shared<Spending>) -> Self {
        let id = random_uuid(&*options.random);
        Self::build(options, id, approvals, spending)
    }

    fn build(options: SessionOptions, id: String, approvals: Shared<Approvals>, spending: Shared<Spending>) -> Self {
        let SessionOptions { provider, model, offline, tools, workspace, clock, random, config } = options;
        let tools = usable(tools, &workspace);
        let emitter = Shared::new(Emitter::new(id.clone(), Shared::clone(&clock), config.event_bytes_max));
        let settings = Settings { provider, model, offline, tools: Shared::new(tools), config: Shared::new(config) };
        emitter.emit(settings.session_start());
        let subagents = Shared::new(Subagents::new(
            Shared::clone(&workspace),
            Shared::clone(&clock),
            Shared::clone(&random),
            Shared::clone(&emitter),
            Shared::clone(&approvals),
            Shared::clone(&spending),
        ));
        let status = Status {
            state: SessionState::Idle,
            closing: false,
            failed: false,
            cancel: None,
            context_step: 0,
            run_id: 0,
        };
        Self {
            core: Shared::new(Core {
                id,
                workspace,
                clock,
                random,
                reads: Shared::new(ReadTracker::default()),
                emitter,
                settings: Mutex::new(settings),
                history: Mutex::default(),
                results: Mutex::default(),
                queues: Mutex::default(),
                status: Mutex::new(status),
                prompt_context: Mutex::default(),
                spending,
                approvals,
                saver: OnceLock::new(),
                steps: steps::Steps::default(),
                subagents,
                edit_scope: Mutex::default(),
            }),
        }
    }

    /// Assigns the next edits of a subagent to a run of its parent.
    fn inherit(&self, edit_scope: Option<EditScope>) {
        *self.core.edit_scope.lock().unwrap_or_else(PoisonError::into_inner) = edit_scope;
    }

    /// Returns the number of model responses of the whole session.
    fn n_responses(&self) -> u64 {
        self.core.history().n_responses()
    }

    /// Adopts the conversation of an earlier session, as returned by [`history`](Self::history), and continues it.
    #[must_use]
    pub fn with_history(self, history: Vec<Message>) -> Self {
        let turns = history.into_iter().map(HistoryEntry::of_message).collect();
        let turns = repaired(turns, LOST, self.core.settings().config.result_form);
        *self.core.history() = History::new(turns);
        self
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.core.id
    }

    /// Returns the state of the session.
    #[must_use]
    pub fn state(&self) -> SessionState {
        self.core.status().state
    }

    /// Returns whether the session is closed and rejects messages.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state() == SessionState::Closed
    }

    /// Returns the conversation so far, as messages for the model.
    #[must_use]
    pub fn history(&self) -> Vec<Message> {
        self.core.history().entries().iter().map(|turn| turn.message.clone()).collect()
    }

    /// Returns the conversation so far, as history entries.
    #[must_use]
    pub fn entries(&self) -> Vec<HistoryEntry> {
        self.core.history().entries().to_vec()
    }

    /// Returns the model of the next call, as the provider names it.
    #[must_use]
    pub fn model(&self) -> String {
        self.core.settings().model
    }

    /// Returns the tokens of the present or last run with its subagents, and their cost in US dollars: each response at the
    /// price of the model that gave it.
    #[must_use]
    pub fn used(&self) -> (u64, f64) {
        self.core.spending.used()
    }

    /// Returns the number that the present or last run has in the workspace, to which its edits belong; 0 before it has one.
    #[must_use]
    pub fn last_run(&self) -> u64 {
        self.core.status().run_id
    }

    /// Returns whether a subagent works, also one that waits for the user. It ends with this process.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn has_working_subagents(&self) -> bool {
        self.core.subagents.has_working()
    }

    /// Returns the usage of the model's context window.
    #[must_use]
    pub fn context_use(&self) -> ContextUse {
        self.core.context_use()
    }

    /// Returns the present limits and settings.
    #[must_use]
    pub fn config(&self) -> SessionConfig {
        (*self.core.settings().config).clone()
    }

    /// Changes limits and settings. A run in progress uses them from its next model call on.
    pub fn configure(&self, change: impl FnOnce(&mut SessionConfig)) {
        let mut config = self.config();
        change(&mut config);
        self.core.settings_mut().config = Shared::new(config);
    }

    /// Switches to another model, of the same provider or of another, from the next call on. The new model gets the
    /// conversation so far.
    pub fn set_model(&self, provider: Shared<dyn Provider>, model: String, offline: bool) {
        let mut settings = self.core.settings_mut();
        (settings.provider, settings.model, settings.offline) = (provider, model, offline);
    }

    /// Replaces the tools from the next model call on. Calls use the tools that exist when they run.
    pub fn set_tools(&self, tools: ToolRegistry) {
        self.core.settings_mut().tools = Shared::new(usable(tools, &self.core.workspace));
    }

    /// Starts a run for a user message. Nothing happens until the returned stream is polled. Dropping it, or `cancel`,
    /// ends the run. A new message preempts the canvas lease of earlier runs.
    /// Images that were [attached](Self::attach_image) before go with it.
    ///
    /// # Errors
    ///
    /// Returns a [`SubmitError`]; nothing changes then, but the attached images are dropped.
    pub fn submit(&self, text: &str, cancel: CancelToken) -> Result<Run, SubmitError> {
        let message = self.message(text)?;
        self.begin(&cancel)?;
        Ok(Run::start(&self.core, Start::Message(message), cancel))
    }

    /// Goes on with a run during which another process was killed: with the calls of the last response that have no
    /// result, or with the next response. `run_id` is the number that the run had in the workspace.
    ///
    /// # Errors
    ///
    /// Returns [`SubmitError::Busy`] or [`SubmitError::Closed`].
    pub fn continue_run(&self, run_id: u64, cancel: CancelToken) -> Result<Run, SubmitError> {
        self.begin(&cancel)?;
        Ok(Run::start(&self.core, Start::Again { run_id }, cancel))
    }

    /// Records the steps of later runs in `keeper`. Steps that it has already are not carried out again.
    pub fn keep_steps(&self, keeper: Option<Shared<dyn StepKeeper>>) {
        self.core.steps.keep(&self.core, keeper);
    }

    fn begin(&self, cancel: &CancelToken) -> Result<(), SubmitError> {
        let mut status = self.core.status();
        match status.state {
            SessionState::Processing => return Err(SubmitError::Busy),
            SessionState::Closed => return Err(SubmitError::Closed),
            _ if status.closing => return Err(SubmitError::Closed),
            SessionState::Idle | SessionState::AwaitingInput => {}
        }
        status.state = SessionState::Processing;
        status.cancel = Some(cancel.clone());
        Ok(())
    }

    /// Adds a message during a run: the model gets it after the current round of tools, or after the response that it
    /// is writing. In an idle session the message goes with the next one. The message of a user preempts the canvas lease.
    ///
    /// # Errors
    ///
    /// Returns [`SubmitError::Empty`] or [`SubmitError::Closed`].
    pub fn steer(&self, text: &str) -> Result<(), SubmitError> {
        self.queue(text, |queues, message| queues.steering.push(message))?;
        let canvas = self.core.workspace.canvas();
        // A subagent gets the messages of a model.
        if !self.core.is_child() && canvas.state(self.core.clock.now_ms()).held {
            canvas.take_back();
        }
        Ok(())
    }

    /// Queues a message for the end of the current one. It is processed in the same run, as if it were submitted.
    ///
    /// # Errors
    ///
    /// Returns [`SubmitError::Empty`] or [`SubmitError::Closed`].
    pub fn follow_up(&self, text: &str) -> Result<(), SubmitError> {
        self.queue(text, |queues, message| queues.follow_ups.push_back(message))
    }

    fn queue(&self, text: &str, put: fn(&mut Queues, UserMessage)) -> Result<(), SubmitError> {
        let message = self.message(text)?;
        if self.is_closed() {
            return Err(SubmitError::Closed);
        }
        put(&mut self.core.queues(), message);
        Ok(())
    }

    /// Returns a message with the images that were attached for it.
    fn message(&self, text: &str) -> Result<UserMessage, SubmitError> {
        let images = std::mem::take(&mut self.core.queues().images);
        if text.trim().is_empty() {
            return Err(SubmitError::Empty);
        }
        Ok(UserMessage { text: text.to_owned(), images })
    }

    /// Attaches an image to the next message of the user, as the mention of an image file does. `name` names it to the
    /// model. The contents decide on its type.
    ///
    /// # Errors
    ///
    /// Code `unsupported` if it is not an image, is too large or one too many, or if the model takes no images. Then the
    /// images that were attached before it are dropped, too.
    pub fn attach_image(&self, name: &str, bytes: &[u8]) -> Result<(), ToolError> {
        let mut others = std::mem::take(&mut self.core.queues().images);
        let image = input::mentions::attached_image(&self.core, &others, name, bytes)?;
        others.push(image);
        self.core.queues().images = others;
        Ok(())
    }

    /// Adds a message for the model that hosts do not show, between two runs.
    ///
    /// # Errors
    ///
    /// Returns [`SubmitError::Busy`] during a run, and [`SubmitError::Closed`] after the end of the session.
    pub fn note(&self, text: &str) -> Result<(), SubmitError> {
        match self.state() {
            SessionState::Processing => Err(SubmitError::Busy),
            SessionState::Closed => Err(SubmitError::Closed),
            SessionState::Idle | SessionState::AwaitingInput => {
                self.core.record(HistoryEntryKind::Hidden, Message::user(text));
                Ok(())
            }
        }
    }

    /// Subscribes to the session's events after a cursor, present and future, independently of the stream that drives
    /// the run. Any number of readers may subscribe; cursor 0 is the beginning.
    ///
    /// # Errors
    ///
    /// Returns [`ResyncRequired`] if events after the cursor have been dropped.
    pub fn subscribe(&self, after: u64) -> Result<Subscription, ResyncRequired> {
        Subscription::new(&self.core.emitter, after)
    }

    /// Returns up to `n_max` present events after a cursor. Continue with the cursor of the last one.
    ///
    /// # Errors
    ///
    /// Returns [`ResyncRequired`] if events after the cursor have been dropped.
    pub fn poll_events(&self, after: u64, n_max: usize) -> Result<Vec<Event>, ResyncRequired> {
        self.core.emitter.read(after, n_max)
    }

    /// Returns the cursor of the newest event.
    #[must_use]
    pub fn cursor(&self) -> u64 {
        self.core.emitter.cursor()
    }

    /// Cuts the conversation back to its first `n_entries` entries and saves it. A cut between a call and its results
    /// moves before the call. Returns the removed entries.
    ///
    /// # Errors
    ///
    /// Returns [`SubmitError::Busy`] during a run, and [`SubmitError::Closed`] after the end of the session.
    pub async fn rewind(&self, n_entries: usize) -> Result<Vec<HistoryEntry>, SubmitError> {
        match self.state() {
            SessionState::Processing => return Err(SubmitError::Busy),
            SessionState::Closed => return Err(SubmitError::Closed),
            SessionState::Idle | SessionState::AwaitingInput => {}
        }
        let removed = {
            let mut history = self.core.history();
            let mut kept = history.entries().to_vec();
            kept.truncate(n_entries);
            while !is_valid(&kept) {
                kept.pop();
            }
            let removed = history.entries()[kept.len()..].to_vec();
            history.replace(kept);
            removed
        };
        self.core.save().await;
        Ok(removed)
    }

    /// Puts the conversation back to what it was before a [`rewind`](Self::rewind), and saves it. `entries` is all of it.
    ///
    /// # Errors
    ///
    /// As [`rewind`](Self::rewind), and [`SubmitError::Busy`] if the conversation has gone on since.
    pub async fn unwind(&self, entries: Vec<HistoryEntry>) -> Result<(), SubmitError> {
        match self.state() {
            SessionState::Processing => return Err(SubmitError::Busy),
            SessionState::Closed => return Err(SubmitError::Closed),
            SessionState::Idle | SessionState::AwaitingInput => {}
        }
        {
            let mut history = self.core.history();
            if !entries.starts_with(history.entries()) {
                return Err(SubmitError::Busy);
            }
            history.replace(entries);
        }
        self.core.save().await;
        Ok(())
    }

    /// Compacts the history now, by the session's [`ContextStrategy`](crate::history::ContextStrategy).
    ///
    /// # Errors
    ///
    /// Returns [`SubmitError::Busy`] during a run, and [`SubmitError::Closed`] after the end of the session.
    pub async fn compact(&self) -> Result<Compaction, SubmitError> {
        match self.state() {
            SessionState::Processing => Err(SubmitError::Busy),
            SessionState::Closed => Err(SubmitError::Closed),
            SessionState::Idle | SessionState::AwaitingInput => Ok(run_loop::compaction::compact(&self.core).await),
        }
    }

    /// Opens the session again if a failure of the provider has closed it. Its id, conversation and cursors go on, and
    /// subscriptions get the next events. A session that was closed by [`close`](Self::close) stays closed.
    pub fn open_again(&self) {
        {
            let mut status = self.core.status();
            if status.state != SessionState::Closed || !status.failed {
                return;
            }
            (status.state, status.closing, status.failed) = (SessionState::Idle, false, false);
        }
        self.core.emitter.emit(self.core.settings().session_start());
    }

    /// Closes the session. A run in progress is cancelled and still reports its end; the last event is `SESSION_END`, after
    /// which subscriptions end. A closed session stays closed.
    pub fn close(&self) {
        let cancel = {
            let mut status = self.core.status();
            let has_failed = std::mem::take(&mut status.failed);
            if has_failed && status.state == SessionState::Closed {
                drop(status);
                return self.core.emitter.end();
            }
            if std::mem::replace(&mut status.closing, true) && status.state != SessionState::Processing {
                return;
            }
            status.cancel.clone()
        };
        match cancel {
            Some(cancel) => cancel.cancel(),
            None => self.core.end(),
        }
    }
}

/// For hosts that keep a session in a store of their own.
impl Session {
    /// Returns the permissions that the user gave for the rest of the session, oldest first.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant> {
        self.core.approvals.grants().clone()
    }

    /// Takes a permission back, so that the next such call asks again. Returns whether the session had it.
    pub fn withdraw_grant(&self, id: &str) -> bool {
        let mut grants = self.core.approvals.grants();
        let before = grants.len();
        grants.retain(|grant| grant.id() != id);
        grants.len() < before
    }

    /// Gives the session the permissions that the user gave to it in another process.
    pub fn restore_grants(&self, known: Vec<Grant>) {
        *self.core.approvals.grants() = known;
    }
}

/// Returns a random UUID (version 4).
pub(crate) fn random_uuid(random: &dyn Random) -> String {
    let (high, low) = (random.next_u64(), random.next_u64());
    let (time, middle, version) = (high >> 32, high >> 16 & 0xffff, high & 0x0fff);
    let (variant, node) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!("{time:08x}-{middle:04x}-4{version:03x}-{variant:04x}-{node:012x}")
}

/// Removes tools that can only fail in this workspace, because the model would spend a call to find out.
fn usable(tools: ToolRegistry, workspace: &Workspace) -> ToolRegistry {
    if workspace.environment().has_shell() { tools } else { tools.filtered(|tool| !tool.needs_shell()) }
}

#[cfg(test)]
pub(crate) mod tests;
