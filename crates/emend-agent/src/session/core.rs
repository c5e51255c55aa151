//! The core of a session: the state that its handle, its run and its subagents share.
//!
//! Subagents and the store are trait objects here: subagents are sessions themselves, and a store saves this state.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Context;

use emend_llm::{BoxFuture, CancelToken, Clock, MaybeSend, MaybeSync, MediaData, Message, Random, Shared, ToolResult};

use super::budget::Spending;
use super::grants::Approvals;
use super::options::Settings;
use super::steps::Steps;
use crate::approval::{Hidden, Policy, READ_FILE};
use crate::event::{Emitter, EventKind, SessionState};
use crate::history::{self, History, HistoryEntry, HistoryEntryKind};
use crate::prompt::{Facts, ProjectDocument};
use crate::store::StoreError;
use crate::tool::SubagentHost;
use crate::workspace::{ReadTracker, Workspace};

/// Result of a call that a cancelled run did not reach.
pub(in crate::session) const CANCELLED: &str = "The user cancelled before this call ran. Nothing was changed by it.";
/// Result of a call whose result is unknown after a crash.
pub(in crate::session) const LOST: &str =
    "The result of this call was lost when the session was interrupted. Look at the files before you repeat it.";

/// The state of a session, shared by its handle and its run.
pub(in crate::session) struct Core {
    pub(in crate::session) id: String,
    /// The workspace as the user sees it. Tools get [`Core::visible_workspace`].
    pub(in crate::session) workspace: Shared<Workspace>,
    pub(in crate::session) clock: Shared<dyn Clock>,
    pub(in crate::session) random: Shared<dyn Random>,
    pub(in crate::session) reads: Shared<ReadTracker>,
    pub(in crate::session) emitter: Shared<Emitter>,
    pub(in crate::session) settings: Mutex<Settings>,
    pub(in crate::session) history: Mutex<History>,
    /// Results of those calls of the last message that have run.
    pub(in crate::session) results: Mutex<Vec<ToolResult>>,
    pub(in crate::session) queues: Mutex<Queues>,
    pub(in crate::session) status: Mutex<Status>,
    pub(in crate::session) prompt_context: Mutex<PromptContext>,
    /// The tokens and money that the current run has used.
    pub(in crate::session) spending: Shared<Spending>,
    pub(in crate::session) approvals: Shared<Approvals>,
    pub(in crate::session) saver: OnceLock<Box<dyn Save>>,
    /// Recorded steps, if the host records them.
    pub(in crate::session) steps: Steps,
    pub(in crate::session) subagents: Shared<dyn Children>,
    /// For a subagent: the run and epoch of its parent.
    pub(in crate::session) edit_scope: Mutex<Option<EditScope>>,
}

impl Core {
    /// Returns whether this is the session of a subagent.
    pub(in crate::session) fn is_child(&self) -> bool {
        self.edit_scope.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// The beginning of a run.
pub(in crate::session) enum Start {
    /// A message of the user.
    Message(UserMessage),
    /// The run with this number goes on after the process that ran it was killed.
    Again { run_id: u64 },
}

/// A message of the user as it was given, before its mentions are read.
pub(in crate::session) struct UserMessage {
    pub(in crate::session) text: String,
    /// The images that came with it.
    pub(in crate::session) images: Vec<MediaData>,
}

/// Messages of the user that arrived during a run.
#[derive(Default)]
pub(in crate::session) struct Queues {
    /// Images for the next message of the user.
    pub(in crate::session) images: Vec<MediaData>,
    /// Messages for the conversation after the current round.
    pub(in crate::session) steering: Vec<UserMessage>,
    /// Messages for the conversation after the current one is answered.
    pub(in crate::session) follow_ups: VecDeque<UserMessage>,
}

/// Whether a run is in progress, and how it ends.
pub(in crate::session) struct Status {
    pub(in crate::session) state: SessionState,
    /// Whether the session closes at the end of the run.
    pub(in crate::session) closing: bool,
    /// Whether that, or its end, follows a failure, after which it can be reopened.
    pub(in crate::session) failed: bool,
    /// Cancels the run.
    pub(in crate::session) cancel: Option<CancelToken>,
    /// The last reported step of context usage, in units of five percent.
    pub(in crate::session) context_step: u64,
    /// Number of the newest run in the workspace; 0 before the first.
    pub(in crate::session) run_id: u64,
}

/// The run that edits belong to, and the canvas epoch in which they are valid.
#[derive(Clone, Copy, Debug)]
pub(in crate::session) struct EditScope {
    pub(in crate::session) run_id: u64,
    pub(in crate::session) epoch: u64,
}

/// Parts of the system prompt that stay the same during a run.
#[derive(Clone, Default)]
pub(in crate::session) struct PromptContext {
    /// Collected once: the start of the prompt must stay the same for the prompt cache of providers.
    pub(in crate::session) facts: Option<Facts>,
    pub(in crate::session) documents: Vec<ProjectDocument>,
}

/// The subagents of a session, as its run uses them.
pub(in crate::session) trait Children: MaybeSend + MaybeSync {
    /// Starts a run of the parent.
    fn begin_run(&self, edit_scope: EditScope);
    /// Polls every working child for one event. Returns whether a child still works.
    fn poll(&self, context: &mut Context<'_>) -> bool;
    /// Cancels all children and resolves when their runs have ended.
    fn abort(&self) -> BoxFuture<'_, ()>;
    /// Reports the children that pause until the next run of the parent.
    fn pause(&self);
    /// Ends all children without polling them again.
    fn drop_all(&self);
    /// Returns the workspace revisions that were reported since the last call.
    fn take_reported(&self) -> Vec<u64>;
    /// Returns whether a child works, also one that waits for the user.
    #[cfg(not(target_family = "wasm"))]
    fn has_working(&self) -> bool;
    /// Returns the children as tools use them, under these settings of the parent.
    fn host(self: Shared<Self>, settings: Settings) -> Shared<dyn SubagentHost>;
}

/// Saves a session in its store.
pub(in crate::session) trait Save: MaybeSend + MaybeSync {
    /// Saves new history entries. Returns false if another writer has continued the document.
    fn save<'a>(&'a self, core: &'a Core) -> BoxFuture<'a, bool>;
    /// Saves a large output and returns its name.
    fn keep_output<'a>(&'a self, core: &'a Core, output: &'a str) -> BoxFuture<'a, Option<String>>;
    /// Returns a saved output.
    fn output<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;
}

impl Core {
    pub(in crate::session) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::session) fn results(&self) -> MutexGuard<'_, Vec<ToolResult>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::session) fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::session) fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::session) fn prompt_context(&self) -> MutexGuard<'_, PromptContext> {
        self.prompt_context.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::session) fn settings_mut(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the present settings.
    pub(in crate::session) fn settings(&self) -> Settings {
        self.settings_mut().clone()
    }

    /// Returns the paths that the rules hide from the agent.
    pub(in crate::session) fn hidden(&self) -> Hidden {
        let settings = self.settings();
        self.policy(&settings.config.policy).hidden(settings.tools.tool_names().tool(READ_FILE))
    }

    /// Returns a policy as it holds for the names of the environment's files.
    pub(in crate::session) fn policy<'a>(&self, policy: &'a Policy) -> Cow<'a, Policy> {
        match self.workspace.environment().ignores_case() {
            true => Cow::Owned(policy.ignoring_case()),
            false => Cow::Borrowed(policy),
        }
    }

    /// Returns the workspace as the agent sees it: without hidden paths.
    pub(in crate::session) fn visible_workspace(&self) -> Shared<Workspace> {
        let hidden = self.hidden();
        if hidden.is_empty() { Shared::clone(&self.workspace) } else { Shared::new(self.workspace.hiding(hidden)) }
    }

    /// Appends an entry to the history.
    pub(in crate::session) fn record(&self, kind: HistoryEntryKind, message: Message) {
        let entry = HistoryEntry::new(kind, self.clock.now_ms(), message);
        self.history().push(entry);
    }

    /// Appends the results of all calls of the last message. A call that did not run gets `why_not_run` as its result,
    /// because providers reject a history with an unanswered call.
    pub(in crate::session) fn answer_calls(&self, why_not_run: &str) {
        let mut results = std::mem::take(&mut *self.results());
        {
            let form = self.settings().config.result_form;
            let history = self.history();
            let calls = history.entries().last().map(|entry| entry.message.tool_calls()).unwrap_or_default();
            results.extend(calls.iter().skip(results.len()).map(|call| history::refusal(call, why_not_run, form)));
        }
        if !results.is_empty() {
            self.record(HistoryEntryKind::ToolResults, Message::tool_results(results));
        }
    }

    /// Closes the session and emits `SESSION_END`.
    pub(in crate::session) fn end(&self) {
        self.subagents.drop_all();
        self.emitter.emit(EventKind::SessionEnd { state: SessionState::Closed });
        let is_final = {
            let mut status = self.status();
            status.state = SessionState::Closed;
            !status.failed
        };
        if is_final {
            self.emitter.end();
        }
    }
}

impl Drop for Core {
    /// Ends the event streams: no handle is left that could emit.
    fn drop(&mut self) {
        self.emitter.end();
    }
}
