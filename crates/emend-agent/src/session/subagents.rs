//! Subagents: sessions that a session's model starts for parts of its task.
//!
//! The run of the parent drives its children: each poll of the run polls every working child for one event, then the
//! parent. Children pause between two runs of the parent and continue with the next one. A cancelled run cancels its
//! children and waits for their end, so that no write is interrupted; a closed session closes them. A child has its own
//! history and its own read state. It shares files, pending edits and review with the parent, and its edits belong to
//! the parent's run.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use emend_llm::{BoxFuture, CancelToken, Clock, Random, Shared};
use futures::Stream;

use super::Session;
use super::budget::Spending;
use super::core::{Children, EditScope};
use super::grants::Approvals;
use super::options::{SessionConfig, SessionOptions, Settings, SubmitError};
use super::run::Run;
use crate::error_code::Code;
use crate::event::{AgentStatus, Emitter, EndReason, Event, EventKind};
use crate::tool::{SubagentHost, SubagentReport, SubagentTask, ToolEffect, ToolError, ToolRegistry};
use crate::workspace::Workspace;

/// Instructions of a child in addition to its task.
const INSTRUCTIONS: &str = "You work on one task for another agent, which sees nothing of your work but your last \
                            message. Say there what you found or changed, with paths; if you could not finish, say why. \
                            There is nobody to ask.";

/// The children of one session.
pub(super) struct Subagents {
    workspace: Shared<Workspace>,
    clock: Shared<dyn Clock>,
    random: Shared<dyn Random>,
    emitter: Shared<Emitter>,
    approvals: Shared<Approvals>,
    spending: Shared<Spending>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    n_started: u64,
    children: Vec<Child>,
    /// Scope of the current run.
    edit_scope: Option<EditScope>,
    /// Workspace revisions of file changes that the parent's readers have received.
    told: Vec<u64>,
}

struct Child {
    id: String,
    session: Session,
    cancel: CancelToken,
    status: AgentStatus,
    /// `None` while the run is polled and after its end.
    run: Option<Run>,
    /// The last text, or the reason of a failure.
    output: String,
}

/// The children of a session, as its tools use them.
#[derive(Clone)]
struct Agents {
    subagents: Shared<Subagents>,
    settings: Settings,
}

impl Agents {
    async fn start(&self, task: SubagentTask<'_>) -> Result<String, ToolError> {
        let config = &self.settings.config;
        if config.max_subagent_depth == 0 {
            return Err(ToolError::new(Code::LimitReached, "A subagent starts no others; do this part yourself."));
        }
        self.refuse_if_full()?;
        let workspace = match task.working_dir {
            Some(path) => Shared::new(self.subagents.workspace.within(path).await?),
            None => Shared::clone(&self.subagents.workspace),
        };
        let instructions = match &config.instructions {
            Some(own) => format!("{own}\n\n{INSTRUCTIONS}"),
            None => INSTRUCTIONS.to_owned(),
        };
        let model = task.model.unwrap_or(&self.settings.model).to_owned();
        let options = SessionOptions {
            provider: Shared::clone(&self.settings.provider),
            model: model.clone(),
            offline: self.settings.offline,
            tools: tools_of_child(&self.settings.tools, config.max_subagent_depth > 1),
            workspace,
            clock: Shared::clone(&self.subagents.clock),
            random: Shared::clone(&self.subagents.random),
            config: SessionConfig {
                max_turns: task.max_turns,
                max_subagent_depth: config.max_subagent_depth - 1,
                detect_questions: false,
                instructions: Some(instructions),
                // A configured context window belongs to the parent's model.
                context_window: config.context_window.filter(|_| task.model.is_none()),
                ..(**config).clone()
            },
        };
        let (approvals, spending) = (&self.subagents.approvals, &self.subagents.spending);
        let session = Session::of_parent(options, Shared::clone(approvals), Shared::clone(spending));
        // Checked again: another call of the same message may have started a child while paths were resolved.
        self.refuse_if_full()?;
        let mut state = self.subagents.state();
        state.n_started += 1;
        let id = format!("agent_{}", state.n_started);
        let mut child = Child {
            id: id.clone(),
            session,
            cancel: CancelToken::new(),
            status: AgentStatus::Running,
            run: None,
            output: String::new(),
        };
        child.start(task.task, state.edit_scope).map_err(|error| ToolError::new(error.code(), error.to_string()))?;
        state.children.push(child);
        drop(state);
        let working_dir = task.working_dir.map(str::to_owned);
        let task = task.task.to_owned();
        self.subagents.emitter.emit(EventKind::SubagentStart { agent_id: id.clone(), task, model, working_dir });
        Ok(id)
    }

    fn refuse_if_full(&self) -> Result<(), ToolError> {
        let max = self.settings.config.max_subagents;
        let state = self.subagents.state();
        let running = state.children.iter().filter(|child| child.status == AgentStatus::Running);
        let ids: Vec<&str> = running.map(|child| child.id.as_str()).collect();
        if ids.len() < max {
            return Ok(());
        }
        let message = format!("{} subagents work already ({}); wait for one first, or close one.", max, ids.join(", "));
        Err(ToolError::new(Code::LimitReached, message))
    }
}

impl SubagentHost for Agents {
    fn spawn<'a>(&'a self, task: SubagentTask<'a>) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(self.start(task))
    }

    fn send(&self, id: &str, message: &str) -> Result<bool, ToolError> {
        if self.subagents.report(id)?.status != AgentStatus::Running {
            self.refuse_if_full()?;
        }
        let mut state = self.subagents.state();
        let edit_scope = state.edit_scope;
        let child = state.children.iter_mut().find(|child| child.id == id);
        let child = child.ok_or_else(|| ToolError::new(Code::NotFound, "it is gone"))?;
        let refused = |error: SubmitError| ToolError::new(error.code(), error.to_string());
        if child.status == AgentStatus::Running {
            return child.session.steer(message).map(|()| true).map_err(refused);
        }
        child.start(message, edit_scope).map(|()| false).map_err(refused)
    }

    fn report(&self, id: &str) -> Result<SubagentReport, ToolError> {
        self.subagents.report(id)
    }

    fn done<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<SubagentReport, ToolError>> {
        // The child makes progress, because the waiting call is part of the parent's run: each poll of the run polls the
        // children first.
        Box::pin(std::future::poll_fn(move |_| match self.subagents.report(id) {
            Ok(report) if report.status == AgentStatus::Running => Poll::Pending,
            outcome => Poll::Ready(outcome),
        }))
    }

    fn close<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<SubagentReport, ToolError>> {
        Box::pin(async move {
            self.subagents.cancel(|child| child.id == id);
            let report = self.done(id).await?;
            self.subagents.state().children.retain(|child| child.id != id);
            Ok(report)
        })
    }
}

/// Returns the parent's tools without those that ask the user and, unless the child may nest, without those for
/// subagents.
fn tools_of_child(tools: &ToolRegistry, nests: bool) -> ToolRegistry {
    tools.filtered(|tool| match tool.effect() {
        ToolEffect::Asks => false,
        ToolEffect::Delegates => nests,
        ToolEffect::Reads | ToolEffect::Writes | ToolEffect::Runs => true,
    })
}

impl Child {
    fn start(&mut self, task: &str, edit_scope: Option<EditScope>) -> Result<(), SubmitError> {
        self.session.inherit(edit_scope);
        self.cancel = CancelToken::new();
        self.run = Some(self.session.submit(task, self.cancel.clone())?);
        self.status = AgentStatus::Running;
        self.output.clear();
        Ok(())
    }

    fn report(&self) -> SubagentReport {
        SubagentReport { status: self.status, output: self.output.clone(), turns_used: self.session.n_responses() }
    }
}

impl Subagents {
    pub(super) fn new(
        workspace: Shared<Workspace>,
        clock: Shared<dyn Clock>,
        random: Shared<dyn Random>,
        emitter: Shared<Emitter>,
        approvals: Shared<Approvals>,
        spending: Shared<Spending>,
    ) -> Self {
        Self { workspace, clock, random, emitter, approvals, spending, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, id: &str) -> Result<SubagentReport, ToolError> {
        let state = self.state();
        let ids = || state.children.iter().map(|child| child.id.as_str());
        state.children.iter().find(|child| child.id == id).map(Child::report).ok_or_else(|| {
            ToolError::new(Code::NotFound, format!("There is no subagent {id}."))
                .with_suggestions(crate::suggest::closest(id, ids(), 3))
        })
    }

    /// Polls every working child for one event. Returns whether a child still works.
    fn poll_children(&self, context: &mut Context<'_>) -> bool {
        let working: Vec<String> = {
            let state = self.state();
            state.children.iter().filter(|child| child.run.is_some()).map(|child| child.id.clone()).collect()
        };
        for id in &working {
            // The run is taken out, because the lock must be free while a child is polled.
            let run = self.child(id, |child| child.run.take());
            let Some(mut run) = run.flatten() else { continue };
            match Pin::new(&mut run).poll_next(context) {
                Poll::Pending => {
                    self.child(id, |child| child.run = Some(run));
                }
                Poll::Ready(Some(event)) => {
                    self.child(id, |child| {
                        child.note(&event.kind);
                        child.run = Some(run);
                    });
                    self.forward(id, event);
                    // There may be more events; the parent's readers get this one first.
                    context.waker().wake_by_ref();
                }
                Poll::Ready(None) => self.end(id),
            }
        }
        self.state().children.iter().any(|child| child.run.is_some())
    }

    fn child<T>(&self, id: &str, work: impl FnOnce(&mut Child) -> T) -> Option<T> {
        self.state().children.iter_mut().find(|child| child.id == id).map(work)
    }

    /// Forwards an event to the parent's readers. Text deltas are left out, because the whole text follows.
    fn forward(&self, id: &str, event: Event) {
        match event.kind {
            kind if kind.delta().is_some() => {}
            // Files are shared, so their changes are events of the parent.
            EventKind::FileChanged { revision, .. } => {
                self.state().told.push(revision);
                self.emitter.emit(event.kind);
            }
            EventKind::SessionStart { .. } | EventKind::SessionEnd { .. } => {}
            kind => self.emitter.emit(EventKind::SubagentEvent { agent_id: id.to_owned(), event: Box::new(kind) }),
        }
    }

    fn end(&self, id: &str) {
        let Some(report) = self.child(id, |child| child.report()) else { return };
        self.emitter.emit(EventKind::SubagentEnd {
            agent_id: id.to_owned(),
            status: report.status,
            output: report.output,
            turns_used: report.turns_used,
        });
    }

    fn cancel(&self, which: impl Fn(&Child) -> bool) {
        let tokens: Vec<CancelToken> = {
            let state = self.state();
            state.children.iter().filter(|child| which(child)).map(|child| child.cancel.clone()).collect()
        };
        tokens.iter().for_each(CancelToken::cancel);
    }

    /// Cancels all children and resolves when their runs have ended.
    async fn abort_children(&self) {
        self.cancel(|_| true);
        std::future::poll_fn(|context| if self.poll_children(context) { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

impl Children for Subagents {
    fn take_reported(&self) -> Vec<u64> {
        std::mem::take(&mut self.state().told)
    }

    fn begin_run(&self, edit_scope: EditScope) {
        self.state().edit_scope = Some(edit_scope);
    }

    fn pause(&self) {
        let ids: Vec<String> = {
            let state = self.state();
            state.children.iter().filter(|child| child.run.is_some()).map(|child| child.id.clone()).collect()
        };
        if !ids.is_empty() {
            let message = format!("{} not done and will go on with your next message.", ids.join(", "));
            self.emitter.emit(EventKind::Warning { code: "subagents_paused", message });
        }
    }

    fn drop_all(&self) {
        self.cancel(|_| true);
        let working: Vec<Child> = {
            let mut state = self.state();
            let (working, done) =
                std::mem::take(&mut state.children).into_iter().partition(|child| child.status == AgentStatus::Running);
            state.children = done;
            working
        };
        for mut child in working {
            child.run = None;
            (child.status, child.output) = (AgentStatus::Failed, "It was aborted.".to_owned());
            let id = child.id.clone();
            self.state().children.push(child);
            self.end(&id);
        }
    }

    fn poll(&self, context: &mut Context<'_>) -> bool {
        self.poll_children(context)
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.abort_children())
    }

    #[cfg(not(target_family = "wasm"))]
    fn has_working(&self) -> bool {
        self.state().children.iter().any(|child| child.status == AgentStatus::Running)
    }

    fn host(self: Shared<Self>, settings: Settings) -> Shared<dyn SubagentHost> {
        Shared::new(Agents { subagents: self, settings })
    }
}

impl Child {
    /// Collects the output of the result.
    fn note(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ToolCallStart { .. } | EventKind::SteeringInjected { .. } => self.output.clear(),
            EventKind::AssistantTextEnd { text, .. } => self.output.push_str(text),
            EventKind::Error(error) => self.output.clone_from(&error.message),
            EventKind::ProcessingEnd { reason, .. } => {
                let why = match reason {
                    EndReason::Natural => None,
                    EndReason::AwaitingInput => Some("It asked something instead of finishing."),
                    EndReason::TurnLimit => Some("It reached its limit of turns."),
                    EndReason::Budget => Some("The budget of the run is used up."),
                    EndReason::Aborted => Some("It was aborted."),
                    EndReason::ContextLength => Some("Its conversation no longer fits the model."),
                    EndReason::Error => Some("Its call to the model failed."),
                };
                self.status = if why.is_none() { AgentStatus::Completed } else { AgentStatus::Failed };
                if let Some(why) = why {
                    self.output = format!("{why} {}", self.output).trim_end().to_owned();
                }
            }
            _ => {}
        }
    }
}
