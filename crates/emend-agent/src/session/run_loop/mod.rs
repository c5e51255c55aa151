//! The run loop: call the model, run its tools, send the results, and repeat until the model calls no tool.

mod alarm;
pub(in crate::session) mod approvals;
pub(in crate::session) mod canvas_lease;
pub(in crate::session) mod compaction;
mod loop_detector;
mod model_call;
pub(in crate::session) mod running;
pub(in crate::session) mod tool_call;

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use emend_llm::{
    BoxFuture, CancelToken, ContentPart, ErrorKind, FinishKind, LlmError, Message, Response, Shared, ToolCall,
    ToolChoice, Usage, get_model_info,
};

use crate::error_code::{Code, SessionEffect};
use crate::event::{BudgetKind, EndReason, ErrorInfo, EventKind};
use crate::fixed_texts;
use crate::history::{HistoryEntry, HistoryEntryKind};
use crate::session::core::{CANCELLED, Core, EditScope, LOST, Start};
use crate::session::input::mentions::with_mentions;
use crate::session::input::steering::inject_steering;
use crate::session::input::system_prompt;
use crate::session::steps::{MAY_RECORD, OpenResponse};
use crate::workspace::WorkspaceError;
use alarm::Alarm;
use canvas_lease::LeaseHolder;
use loop_detector::LoopDetector;
use model_call::call_model;
use running::Running;
use tool_call::SharedLeaseHolder;

/// Runs one message and the waiting follow-ups to the end. Every exit emits `PROCESSING_END` and leaves a valid
/// history: each tool call is followed by exactly one result.
pub(in crate::session) async fn drive(running: Running, start: Start, cancel: CancelToken) {
    let core = Shared::clone(&running.core);
    let is_child = core.is_child();
    if !is_child {
        core.spending.reset();
        core.approvals.begin_run();
    }
    let settings = core.settings();
    let is_priced = || get_model_info(&settings.model).is_some_and(|info| info.input_cost_per_million.is_some());
    if !is_child && settings.config.run_budget.cost_usd > 0.0 && !settings.offline && !is_priced() {
        let message = "The price of this model is unknown, so the limit on the cost has no effect. Limit the tokens.";
        core.emitter.emit(EventKind::Warning { code: "price_unknown", message: message.to_owned() });
    }
    // The alarm of the parent stops its subagents too.
    let limit_ms = if is_child { 0 } else { settings.config.run_budget.duration_ms };
    let mut alarm = (limit_ms > 0).then(|| Alarm::new(&core, limit_ms));
    let mut is_late = false;
    let preemption = Preemption { core: &core, cancel: &cancel, is_done: AtomicBool::new(is_child) };
    let (reason, usage) = {
        let mut work = std::pin::pin!(work(&core, start, &cancel, &preemption));
        std::future::poll_fn(|context| {
            if alarm.as_mut().is_some_and(|alarm| alarm.rings(context)) {
                alarm = None;
                is_late = !cancel.is_cancelled();
                cancel.cancel();
            }
            preemption.preempt_if_cancelled();
            // Children first: a call that waits for a child sees in the same poll that the child has ended.
            core.subagents.poll(context);
            work.as_mut().poll(context)
        })
        .await
    };
    let reason = if is_late && reason == EndReason::Aborted {
        let (budget, limit) = (BudgetKind::DurationMs, limit_ms as f64);
        core.emitter.emit(EventKind::BudgetExceeded { budget, limit, used: limit });
        EndReason::Budget
    } else {
        reason
    };
    if cancel.is_cancelled() {
        core.subagents.abort().await;
    } else {
        core.subagents.pause();
    }
    running.end(reason, usage);
}

/// A user who cancels takes the canvas back, once: a write that is under way then fails.
struct Preemption<'a> {
    core: &'a Core,
    cancel: &'a CancelToken,
    is_done: AtomicBool,
}

impl Preemption<'_> {
    fn preempt_if_cancelled(&self) {
        if self.cancel.is_cancelled() && !self.is_done.swap(true, Ordering::Relaxed) {
            self.core.workspace.canvas().take_back();
        }
    }
}

/// The run without its subagents.
async fn work(core: &Core, start: Start, cancel: &CancelToken, preemption: &Preemption<'_>) -> (EndReason, Usage) {
    let mut usage = Usage::default();
    let mut next = Some(start);
    let mut reason = EndReason::Natural;
    while let Some(start) = next.take() {
        reason = process(core, start, &mut usage, cancel, preemption).await;
        if !core.save().await {
            report_conflict(core);
            reason = EndReason::Error;
        }
        let dealt_with = matches!(reason, EndReason::Natural | EndReason::TurnLimit);
        if dealt_with && !cancel.is_cancelled() && !is_turn_limit_reached(core) {
            next = core.queues().follow_ups.pop_front().map(Start::Message);
        }
    }
    (reason, usage)
}

/// Processes one user message, or the rest of one.
async fn process(
    core: &Core,
    mut start: Start,
    usage: &mut Usage,
    cancel: &CancelToken,
    preemption: &Preemption<'_>,
) -> EndReason {
    // Until the run begins, nothing may be taken for a part of the run before it.
    core.status().run_id = match &start {
        Start::Message(_) => 0,
        Start::Again { run_id } => *run_id,
    };
    if let Start::Message(message) = &start {
        core.emitter.emit(EventKind::UserInput { content: message.text.clone() });
    }
    if let Err(error) = core.workspace.initialize().await {
        return cannot_begin(core, error.into(), cancel);
    }
    if let Start::Message(message) = &mut start {
        let message = with_mentions(core, &message.text, std::mem::take(&mut message.images)).await;
        if MAY_RECORD {
            // A run that ended without its process may have left calls without a result.
            core.answer_calls(LOST);
        }
        core.record(HistoryEntryKind::User, message);
        inject_steering(core).await;
    }
    system_prompt::refresh_prompt_context(core).await;
    let edit_scope = match begin_run(core, &start).await {
        Ok(edit_scope) => edit_scope,
        Err(error) => return cannot_begin(core, error, cancel),
    };
    core.status().run_id = edit_scope.run_id;
    core.subagents.begin_run(edit_scope);
    let EditScope { run_id, epoch } = edit_scope;
    let mut lease_holder = LeaseHolder::new(&core.workspace, Shared::clone(&core.clock), &core.emitter, epoch);
    let open = match start {
        Start::Message(_) => None,
        Start::Again { .. } => core.steps.open_response(core),
    };
    let reason = rounds(core, run_id, open, &mut lease_holder, usage, cancel).await;
    preemption.preempt_if_cancelled();
    lease_holder.release();
    #[cfg(not(target_family = "wasm"))]
    core.workspace.share_canvas().await;
    reason
}

/// Ends a run whose workspace is not ready.
fn cannot_begin(core: &Core, error: WorkspaceError, cancel: &CancelToken) -> EndReason {
    if cancel.is_cancelled() {
        return EndReason::Aborted;
    }
    let suggestions = match &error {
        WorkspaceError::Environment(error) => error.suggestions(),
        _ => Vec::new(),
    };
    let (code, message) = (error.code().as_str(), error.to_string());
    core.emitter.emit(EventKind::Error(ErrorInfo { code, message, suggestions, data: None }));
    EndReason::Error
}

/// Starts a run of edits. A user message preempts the canvas lease of earlier runs; the edits of a subagent belong to
/// its parent's run.
async fn begin_run(core: &Core, start: &Start) -> Result<EditScope, WorkspaceError> {
    let inherited = *core.edit_scope.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(inherited) = inherited {
        return Ok(inherited);
    }
    let run_id = match start {
        Start::Message(_) => core.workspace.begin_shared_run().await?,
        Start::Again { run_id } => *run_id,
    };
    #[cfg(not(target_family = "wasm"))]
    let _turn = core.workspace.canvas_turn().await?;
    // A user who typed before a decision keeps the canvas until the next message.
    #[cfg(not(target_family = "wasm"))]
    if matches!(start, Start::Again { .. })
        && let Some(epoch) = core.steps.epoch_of_wait(core)
    {
        return Ok(EditScope { run_id, epoch });
    }
    Ok(EditScope { run_id, epoch: core.workspace.canvas().take_back() })
}

/// Maximum number of consecutive responses that the provider paused and that are sent back.
const PAUSES_MAX: u32 = 8;

async fn rounds(
    core: &Core,
    run_id: u64,
    mut open: Option<OpenResponse>,
    lease_holder: &mut LeaseHolder<'_>,
    usage: &mut Usage,
    cancel: &CancelToken,
) -> EndReason {
    let (mut n_rounds, mut n_pauses, mut n_misfits) = (0, 0, 0);
    let mut loops = LoopDetector::default();
    loop {
        if let Some(reason) = stop(core, n_rounds, cancel) {
            return reason;
        }
        let used_up = core.spending.exceeded_tool_calls(core.settings().config.max_tool_calls);
        let is_last = used_up.is_some();
        if let Some(event) = used_up {
            core.emitter.emit(event);
        }
        let tool_choice = is_last.then_some(ToolChoice::None);
        let answered = match open.take() {
            // It is in the history already.
            Some(open) => open,
            None => match respond(core, lease_holder, usage, tool_choice, cancel).await {
                Ok(response) => taken_into_history(core, response),
                Err(reason) => return reason,
            },
        };
        let OpenResponse { finish, text, calls } = answered;
        if is_last {
            core.answer_calls(tool_call::NO_CALLS_LEFT);
            return EndReason::Budget;
        }
        if calls.is_empty() {
            if finish == FinishKind::Pause && n_pauses < PAUSES_MAX {
                n_pauses += 1;
            } else if cancel.is_cancelled() && !core.queues().steering.is_empty() {
                return EndReason::Aborted;
            } else if !take_messages(core, run_id, lease_holder).await {
                return finish_without_calls(core, finish, &text);
            }
            continue;
        }
        if !core.save().await {
            core.answer_calls(CANCELLED);
            return EndReason::Error;
        }
        (n_rounds, n_pauses) = (n_rounds + 1, 0);
        let done = match finish {
            FinishKind::Length | FinishKind::ContentFilter | FinishKind::Error => {
                tool_call::refuse_cut(core, &calls, finish);
                RoundOutcome::default()
            }
            _ => run_calls(core, run_id, lease_holder, &calls, cancel).await,
        };
        core.answer_calls(CANCELLED);
        n_misfits = if done.misfits { n_misfits + 1 } else { 0 };
        match (cancel.is_cancelled(), done.asked, finish) {
            (true, ..) => return EndReason::Aborted,
            (_, true, _) => return EndReason::AwaitingInput,
            (.., FinishKind::ContentFilter | FinishKind::Error) => return finish_without_calls(core, finish, ""),
            _ if gives_up(core, n_misfits, &calls) => return EndReason::Error,
            _ => {}
        }
        take_messages(core, run_id, lease_holder).await;
        warn_about_loop(core, &mut loops, &calls);
    }
}

/// Appends the waiting messages to the history. Those of the user give the canvas back to the agent. Returns whether there
/// were any.
async fn take_messages(core: &Core, run_id: u64, lease_holder: &mut LeaseHolder<'_>) -> bool {
    let any = !core.queues().steering.is_empty();
    // Before the wait: a user who types meanwhile has the canvas.
    if any && !core.is_child() {
        let epoch = lease_holder.begin_epoch();
        core.subagents.begin_run(EditScope { run_id, epoch });
    }
    inject_steering(core).await
}

/// Appends a response to the history.
fn taken_into_history(core: &Core, response: Response) -> OpenResponse {
    let finish = response.finish_reason.reason;
    let calls: Vec<ToolCall> = response.message.tool_calls().into_iter().cloned().collect();
    OpenResponse { finish, text: record_response(core, response), calls }
}

/// Calls the model. Its response has unique ids of calls and arguments that are parsed. A response that was recorded by a
/// process that was killed is not asked for again.
async fn respond(
    core: &Core,
    lease_holder: &mut LeaseHolder<'_>,
    usage: &mut Usage,
    tool_choice: Option<ToolChoice>,
    cancel: &CancelToken,
) -> Result<Response, EndReason> {
    compaction::compact_if_needed(core).await;
    if !core.save().await {
        return Err(EndReason::Error);
    }
    if let Some(response) = core.steps.next_response() {
        core.spending.add(&core.settings().model, &response.usage);
        return Ok(response);
    }
    let mut response = match call_model(core, lease_holder, tool_choice, cancel).await {
        Ok(response) => response,
        Err(error) if error.kind == ErrorKind::Abort => return Err(EndReason::Aborted),
        Err(error) => return Err(fail(core, &error)),
    };
    core.spending.add(&core.settings().model, &response.usage);
    *usage = std::mem::take(usage) + response.usage.clone();
    make_call_ids_unique(core, &mut response.message);
    if response.finish_reason.reason != FinishKind::Length {
        tool_call::read_calls(&core.settings().tools, &mut response.message);
    }
    core.steps.record_response(core, &response).await;
    Ok(response)
}

/// Returns whether the run ends because the model's arguments failed the schema in too many rounds.
fn gives_up(core: &Core, n_misfits: u64, calls: &[ToolCall]) -> bool {
    let max = core.settings().config.max_schema_retries;
    if max == 0 || n_misfits <= max {
        return false;
    }
    let tool = calls.last().map_or("", |call| &call.name);
    core.emitter.emit(EventKind::Error(ErrorInfo {
        code: Code::LimitReached.as_str(),
        message: format!(
            "The model's tool calls did not match their schemas {n_misfits} times in a row, the last one of {tool}. Try \
             another model, or describe the task differently."
        ),
        suggestions: Vec::new(),
        data: None,
    }));
    true
}

/// The outcome of the calls of one response.
#[derive(Default)]
struct RoundOutcome {
    /// Whether a call asked the user.
    asked: bool,
    /// Whether the arguments of every call failed the schema.
    misfits: bool,
}

/// Gives a call with a duplicate id a new one, because providers reject duplicate ids.
fn make_call_ids_unique(core: &Core, message: &mut Message) {
    let history = core.history();
    let mut known: Vec<String> = Vec::new();
    for index in 0..message.content.len() {
        let ContentPart::ToolCall(call) = &message.content[index] else { continue };
        let mut id = call.id.clone();
        while known.contains(&id) || history.has_call(&id) {
            id.push('_');
        }
        if id != call.id
            && let ContentPart::ToolCall(call) = &mut message.content[index]
        {
            call.id.clone_from(&id);
        }
        known.push(id);
    }
}

/// Returns the reason why the run must end, if there is one.
fn stop(core: &Core, n_rounds: u64, cancel: &CancelToken) -> Option<EndReason> {
    let limit = core.settings().config.max_tool_rounds_per_input;
    if (limit > 0 && n_rounds >= limit) || is_turn_limit_reached(core) {
        let total_turns = core.history().n_responses();
        core.emitter.emit(EventKind::TurnLimit { round: n_rounds, total_turns });
        return Some(EndReason::TurnLimit);
    }
    if let Some(event) = core.spending.exceeded(&core.settings().config.run_budget) {
        core.emitter.emit(event);
        return Some(EndReason::Budget);
    }
    cancel.is_cancelled().then_some(EndReason::Aborted)
}

fn is_turn_limit_reached(core: &Core) -> bool {
    let max_turns = core.settings().config.max_turns;
    max_turns > 0 && core.history().n_responses() >= max_turns
}

/// Appends a response to the history and returns its text. An empty response is skipped, because providers reject it in
/// the next request.
fn record_response(core: &Core, response: Response) -> String {
    let text = response.message.text();
    let says = |part: &ContentPart| match part {
        ContentPart::Text { text } => !text.trim().is_empty(),
        ContentPart::Thinking(_) | ContentPart::RedactedThinking(_) => false,
        _ => true,
    };
    if response.message.content.iter().any(says) {
        let turn = HistoryEntry::new(HistoryEntryKind::Assistant, core.clock.now_ms(), response.message);
        core.history().push(HistoryEntry { usage: Some(response.usage), response_id: Some(response.id), ..turn });
    }
    text
}

/// Runs all calls of a message until the run is cancelled. Consecutive concurrent calls run at the same time; other
/// calls wait for those before them.
async fn run_calls(
    core: &Core,
    run_id: u64,
    lease_holder: &mut LeaseHolder<'_>,
    calls: &[ToolCall],
    cancel: &CancelToken,
) -> RoundOutcome {
    let settings = core.settings();
    let parallel = settings.config.parallel_tool_calls;
    let concurrent = |call: &ToolCall| settings.tools.get(&call.name).is_some_and(|(_, tool)| tool.concurrent());
    let lease_holder = SharedLeaseHolder::new(lease_holder);
    core.reads.begin_message();
    let mut round = RoundOutcome { asked: false, misfits: true };
    for group in calls.chunk_by(|a, b| parallel && concurrent(a) && concurrent(b)) {
        if cancel.is_cancelled() {
            break;
        }
        let revision = core.workspace.revision();
        // A call that asks is never concurrent.
        let has_question = round.asked;
        let all = group.iter().map(|call| -> BoxFuture<'_, _> {
            Box::pin(tool_call::execute(core, run_id, &lease_holder, call, has_question, cancel))
        });
        for done in all_in_order(all.collect()).await {
            round.asked |= done.asked;
            round.misfits &= done.misfits;
            core.results().push(done.result);
        }
        tool_call::report_changes(core, revision);
        core.emitter.yield_to_readers().await;
    }
    round
}

/// Runs futures concurrently and returns their outputs in order. They are few, so each wake polls all unfinished ones.
async fn all_in_order<T>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, slot) in futures.iter_mut().zip(&mut done).filter(|(_, slot)| slot.is_none()) {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                *slot = Some(value);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

fn warn_about_loop(core: &Core, loops: &mut LoopDetector, calls: &[ToolCall]) {
    let config = core.settings().config;
    if config.enable_loop_detection && loops.note(calls, config.loop_detection_window) {
        let message = fixed_texts::loop_detected(config.loop_detection_window);
        core.record(HistoryEntryKind::Steering, Message::user(message.clone()));
        core.emitter.emit(EventKind::LoopDetection { message });
    }
}

/// Ends a run after a response without calls. A shortened response causes a warning.
fn finish_without_calls(core: &Core, finish: FinishKind, text: &str) -> EndReason {
    let (code, message) = match finish {
        FinishKind::Length => ("output_limit", "The answer was cut off by the output limit."),
        FinishKind::ContentFilter => {
            ("content_filter", "The provider's filter blocked the answer, or the model refused.")
        }
        FinishKind::Error => ("answer_failed", "The provider reported that the answer failed."),
        FinishKind::Pause => ("paused", "The provider paused the answer again and again; say \"go on\" to resume it."),
        _ if text.trim().is_empty() => {
            ("empty_answer", "The model answered nothing; say \"go on\" or ask differently.")
        }
        _ if core.settings().config.detect_questions && is_question(text) => return EndReason::AwaitingInput,
        _ => return EndReason::Natural,
    };
    core.emitter.emit(EventKind::Warning { code, message: message.to_owned() });
    EndReason::Natural
}

/// Returns whether a text ends with a question, apart from quotes and Markdown after it.
fn is_question(text: &str) -> bool {
    text.trim_end_matches(|char: char| char.is_whitespace() || "*_`\"')]”’»".contains(char)).ends_with(['?', '？'])
}

/// Reports that another writer has continued the session's document, which ends the run.
fn report_conflict(core: &Core) {
    let message = "Another agent has continued this saved session, so the last messages here were not saved. Resume the \
                   session to continue from its present end, or fork it.";
    core.emitter.emit(EventKind::Error(ErrorInfo {
        code: Code::Conflict.as_str(),
        message: message.to_owned(),
        suggestions: Vec::new(),
        data: None,
    }));
}

fn fail(core: &Core, error: &LlmError) -> EndReason {
    let code = Code::of_llm(error.kind);
    if error.kind == ErrorKind::ContextLength {
        let message = format!(
            "The conversation no longer fits the model ({}). Compact it, or start a new session.",
            error.message.trim_end_matches('.')
        );
        core.emitter.emit(EventKind::Warning { code: "context_length", message });
        return EndReason::ContextLength;
    }
    // A temporary failure does not close the session: the user can send another message.
    if code.row().session == SessionEffect::Closes && !error.retryable {
        let mut status = core.status();
        // A host that closes the session meanwhile wants it to stay closed.
        status.failed = !std::mem::replace(&mut status.closing, true);
    }
    let data = error.status_code.map(|status| serde_json::json!({ "status": status, "kind": error.kind.code() }));
    // Longer waits than the policy allows are left to the user.
    let message = match error.retry_after_ms {
        Some(ms) => {
            format!("{}. The provider asks to wait {} s.", error.message.trim_end_matches('.'), ms.div_ceil(1000))
        }
        None => error.message.clone(),
    };
    core.emitter.emit(EventKind::Error(ErrorInfo {
        code: code.as_str(),
        message,
        suggestions: Vec::new(),
        data: data.or_else(|| Some(serde_json::json!({ "kind": error.kind.code() }))),
    }));
    EndReason::Error
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_closing_question_is_told_from_other_texts() {
        for question in ["Which one?", "Done. Shall I go on?\n", "**Really?**", "Is it \"a\" or \"b?\"", "どれ？"] {
            assert!(is_question(question), "{question}");
        }
        for other in ["", "Why? Because.", "a?b", "Done."] {
            assert!(!is_question(other), "{other}");
        }
    }
}
