//! Approval of a validated call: the decision of the policy, and of the user if the policy requires it.

use emend_llm::{CancelToken, Shared, ToolCall};
use futures::future::{Either, select};
use serde_json::{Map, Value};

use super::tool_call::SharedLeaseHolder;
use crate::HAS_SERVICE;
use crate::approval::{Action, Approval, ApprovalRequest, Decision, Grant, Target};
use crate::canvas::Ticket;
use crate::environment::Access;
#[cfg(not(target_family = "wasm"))]
use crate::environment::FilePath;
use crate::error_code::Code;
use crate::event::EventKind;
use crate::session::core::Core;
use crate::session::options::SessionConfig;
use crate::tool::{Preview, Tool, ToolContext, ToolError};

/// The rights of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Approved {
    ToRun,
    /// The call runs only to produce its error message: the user was not asked whether it may write.
    ToFail,
}

/// Returns the rights of a call, or an error for the model with the reason why the call may not run.
pub(in crate::session) async fn approve(
    core: &Core,
    config: &SessionConfig,
    call: &ToolCall,
    tool: &Shared<dyn Tool>,
    arguments: &Map<String, Value>,
    context: &ToolContext,
    lease_holder: &SharedLeaseHolder<'_, '_>,
) -> Result<Approved, ToolError> {
    let policy = core.policy(&config.policy);
    if policy.rules.is_empty() && policy.otherwise == Action::Allow {
        return Ok(Approved::ToRun);
    }
    let mut target = resolved(core, tool.target(arguments)).await;
    let names = [&call.name, tool.canonical_name().unwrap_or(&call.name)];
    if let Some(line) = &target.command
        && policy.reads_commands(&names, tool.effect())
    {
        let reading = core.workspace.environment().read_command(line).await;
        target.reading = reading;
    }
    let verdict = policy.decide(&names, tool.effect(), &target);
    let reached = if target.command.is_some() { reachable_hidden(core) } else { None };
    let action = if reached.is_some() { verdict.action.max(Action::Ask) } else { verdict.action };
    match action {
        Action::Allow => Ok(Approved::ToRun),
        Action::Deny => {
            let rule = verdict.rule.map(|rule| format!(" (deny {rule})")).unwrap_or_default();
            let message = format!("The user's rules do not allow this call of {}{rule}. It did not run.", call.name);
            Err(ToolError::new(Code::PermissionDenied, message))
        }
        Action::Ask => {
            let tool_name = target.tool.map_or(names[1], |(tool, _)| tool).to_owned();
            let is_about_paths = verdict.is_about_some() && !target.paths.is_empty();
            let mut scope = if is_about_paths { Value::from(target.paths) } else { Value::Null };
            let mut preview = tool.preview(arguments, context).await;
            if let Preview::Detail(Value::Object(detail)) = &mut preview {
                if let Some(rule) = reached {
                    detail.insert("reachesHidden".to_owned(), Value::from(rule));
                }
                #[cfg(not(target_family = "wasm"))]
                if target.command.is_some()
                    && let unkept @ [_, ..] = &*core.workspace.unkept_directories().await
                {
                    let unkept: Vec<&str> = unkept.iter().map(FilePath::as_str).collect();
                    detail.insert("notUndoable".to_owned(), Value::from(unkept));
                }
                if is_about_paths {
                    detail.insert("paths".to_owned(), scope.clone());
                } else if let Some(working_dir) = detail.get("workingDir") {
                    scope = working_dir.clone();
                }
            }
            let grant = Grant { tool: tool_name, command: target.command, scope };
            ask(core, config, call, grant, preview, &context.cancel, lease_holder).await
        }
    }
}

/// Resolves paths, because rules are about files and not about spellings of their names.
async fn resolved(core: &Core, mut target: Target) -> Target {
    for path in &mut target.paths {
        // A path that cannot be resolved is rejected by the tool itself.
        if let Ok(file) = core.workspace.environment().resolve(path, Access::Write).await {
            file.as_str().clone_into(path);
        }
    }
    target
}

/// Returns the rule whose hidden files a command can read all the same, because it runs on the system's own files.
fn reachable_hidden(core: &Core) -> Option<String> {
    let hidden = core.hidden();
    let rule = hidden.first_rule()?;
    core.workspace.environment().view(&hidden).is_none().then_some(rule)
}

async fn ask(
    core: &Core,
    config: &SessionConfig,
    call: &ToolCall,
    grant: Grant,
    preview: Preview,
    cancel: &CancelToken,
    lease_holder: &SharedLeaseHolder<'_, '_>,
) -> Result<Approved, ToolError> {
    let approvals = &core.approvals;
    let detail = match preview {
        Preview::Plain => Value::Null,
        Preview::Detail(detail) => detail,
        Preview::Futile if approvals.is_granted(&grant) => return Ok(Approved::ToRun),
        Preview::Futile => return Ok(Approved::ToFail),
    };
    // One question at a time, although calls may run concurrently.
    let Some(_asking) = unless_cancelled(approvals.asking.lock(), cancel).await else { return Err(aborted()) };
    if approvals.is_granted(&grant) {
        return Ok(Approved::ToRun);
    }
    let (call_id, tool_name, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
    let request = ApprovalRequest { call_id, tool_name, arguments, detail };
    let paused = pause_lease(lease_holder);
    #[cfg(not(target_family = "wasm"))]
    let paused = record_pause(core, call, lease_holder, paused).await;
    core.emitter.emit(EventKind::ApprovalRequested(request.clone()));
    // Readers of the events get the request before its answer is awaited.
    core.emitter.yield_to_readers().await;
    let answer = match &config.approver {
        // Only terminals stop it, which keeps the modules for browsers small.
        Some(approver) if cfg!(not(target_family = "wasm")) && approver.stops_the_clock() => {
            approvals.begin_wait(core.clock.now_ms());
            let answer = unless_cancelled(approver.approve(&request), cancel).await;
            approvals.end_wait(core.clock.now_ms());
            answer
        }
        Some(approver) => unless_cancelled(approver.approve(&request), cancel).await,
        None => Some(Approval::Deny { reason: Some(NOBODY.to_owned()) }),
    };
    if HAS_SERVICE && let Some(ticket) = paused {
        #[cfg(not(target_family = "wasm"))]
        let _turn = core.workspace.canvas_turn().await;
        if let Some(mut holder) = lease_holder.try_lock() {
            holder.resume(ticket);
        }
    }
    let (decision, reason) = match answer {
        Some(Approval::Allow) => (Decision::Allowed, None),
        Some(Approval::AllowAlways) => {
            approvals.add(grant);
            (Decision::AllowedAlways, None)
        }
        Some(Approval::Deny { reason }) => (Decision::Denied, reason),
        None => (Decision::Aborted, None),
    };
    core.emitter.emit(EventKind::ApprovalResolved { call_id: request.call_id, decision, reason: reason.clone() });
    match decision {
        Decision::Allowed | Decision::AllowedAlways => Ok(Approved::ToRun),
        Decision::Denied => {
            let mut message = "This call was not allowed and did not run.".to_owned();
            if let Some(reason) = reason {
                message += " Reason: ";
                message += &reason;
            }
            Err(ToolError::new(Code::PermissionDenied, message))
        }
        Decision::Aborted => Err(aborted()),
    }
}

/// Pauses the lease of the run. A call that has the holder takes the lease at this moment, which then stays in force.
fn pause_lease(lease_holder: &SharedLeaseHolder<'_, '_>) -> Option<Ticket> {
    if HAS_SERVICE { lease_holder.try_lock()?.pause() } else { None }
}

/// Tells the other processes of a shared root about the pause, and the process that goes on after the decision. Returns the lease
/// to take again, which an earlier process may have recorded.
#[cfg(not(target_family = "wasm"))]
async fn record_pause(
    core: &Core,
    call: &ToolCall,
    lease_holder: &SharedLeaseHolder<'_, '_>,
    paused: Option<Ticket>,
) -> Option<Ticket> {
    if !core.workspace.is_shared() || core.workspace.canvas().path().is_none() {
        return paused;
    }
    if let Some(ticket) = core.steps.lease_of(call) {
        return Some(ticket);
    }
    core.workspace.share_canvas().await;
    let epoch = lease_holder.lock().await.epoch();
    core.steps.record_lease(call, paused.unwrap_or(Ticket { lease_id: 0, epoch })).await;
    paused
}

/// Reason of a refusal if the host has no approver.
const NOBODY: &str = "there is nobody here to ask.";

fn aborted() -> ToolError {
    ToolError::new(Code::Aborted, "The user cancelled before this call was allowed. Nothing was changed by it.")
}

/// Waits for the answer, which is ignored after a cancellation.
async fn unless_cancelled<T>(answer: impl Future<Output = T>, cancel: &CancelToken) -> Option<T> {
    match select(std::pin::pin!(answer), cancel.cancelled()).await {
        Either::Left((answer, _)) => Some(answer),
        Either::Right(_) => None,
    }
}
