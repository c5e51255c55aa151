//! Steps of a run that a host records, so that another process goes on after a crash.
//!
//! The steps are the responses of the model (`llm:<n>`, counted within a job) and the results of tool calls
//! (`tool:<call_id>`). A command is announced before it starts (`begin:<call_id>`): a second process does not run it
//! again, because it may have had effects. Edits are recognised by the line logs of the workspace. A subagent ends with its
//! process, and the model is told so. Where processes share a root, a call that the user is asked about keeps its canvas lease
//! (`lease:<call_id>`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use emend_llm::{BoxFuture, FinishKind, MaybeSend, MaybeSync, Response, Shared, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::core::{Core, LOST};
#[cfg(not(target_family = "wasm"))]
use crate::canvas::Ticket;
use crate::error_code::Code;
use crate::tool::{ToolError, ToolOutput};

/// Whether steps can be recorded. In a browser they are not, and the constant keeps the code out of the module: also the
/// futures below are boxed for that.
pub(in crate::session) const MAY_RECORD: bool = cfg!(not(target_family = "wasm"));

/// Keeps the steps of a job.
pub trait StepKeeper: MaybeSend + MaybeSync {
    /// Returns the recorded result of a step.
    fn recorded(&self, step: &str) -> Option<Value>;

    /// Records a step. Resolves when the step is durable, and never if this process has lost the job: the host then drops
    /// the run.
    fn record(&self, step: String, result: Value) -> BoxFuture<'_, ()>;
}

/// The steps of the present run.
#[derive(Default)]
pub(in crate::session) struct Steps {
    keeper: Mutex<Option<Shared<dyn StepKeeper>>>,
    /// Number of responses that are recorded and in the history.
    n_responses: AtomicU64,
}

/// A call with its result.
pub(in crate::session) struct Done {
    pub(in crate::session) result: ToolResult,
    /// Whether the call asked the user, whose answer ends the wait of the session.
    pub(in crate::session) asked: bool,
    /// Whether the arguments did not match the schema of the tool.
    pub(in crate::session) misfits: bool,
}

/// A recorded response.
#[derive(Serialize, Deserialize)]
struct RecordedResponse {
    response: Response,
    /// Number of history entries before it.
    n_entries: usize,
}

/// A recorded result of a call.
#[derive(Serialize, Deserialize)]
struct RecordedCall {
    result: ToolResult,
    asked: bool,
    misfits: bool,
}

/// The calls of the last response in the history, with the reason why that response ended.
pub(in crate::session) struct OpenResponse {
    pub(in crate::session) finish: FinishKind,
    pub(in crate::session) text: String,
    pub(in crate::session) calls: Vec<ToolCall>,
}

impl Steps {
    /// Returns the keeper, if the host records steps.
    fn keeper(&self) -> Option<Shared<dyn StepKeeper>> {
        if !MAY_RECORD {
            return None;
        }
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the steps of the next run in `keeper`, which may have steps of a process that was killed.
    pub(in crate::session) fn keep(&self, core: &Core, keeper: Option<Shared<dyn StepKeeper>>) {
        let n_recorded = keeper.as_ref().map_or(0, |keeper| {
            let is_recorded = |n: &u64| keeper.recorded(&name_of(*n)).is_some();
            (1..).take_while(is_recorded).count() as u64
        });
        let last = keeper.as_ref().and_then(|keeper| response_of(&**keeper, n_recorded));
        let is_in_history = last.is_none_or(|last| {
            let history = core.history();
            let entries = history.entries();
            // A compaction may have shortened the history.
            match entries.get(last.n_entries) {
                Some(entry) => entry.message == last.response.message,
                None => {
                    entries.len() < last.n_entries
                        && entries.iter().rev().any(|entry| entry.message == last.response.message)
                }
            }
        });
        self.n_responses.store(n_recorded - u64::from(!is_in_history), Ordering::Relaxed);
        *self.keeper.lock().unwrap_or_else(PoisonError::into_inner) = keeper;
    }

    /// Returns the next response, if it is recorded.
    pub(in crate::session) fn next_response(&self) -> Option<Response> {
        let found = response_of(&*self.keeper()?, self.n_responses.load(Ordering::Relaxed) + 1)?;
        self.n_responses.fetch_add(1, Ordering::Relaxed);
        Some(found.response)
    }

    /// Records a response of the model.
    pub(in crate::session) fn record_response<'a>(
        &'a self,
        core: &'a Core,
        response: &'a Response,
    ) -> BoxFuture<'a, ()> {
        if !MAY_RECORD {
            return Box::pin(std::future::ready(()));
        }
        Box::pin(async move {
            let Some(keeper) = self.keeper() else { return };
            let n = self.n_responses.fetch_add(1, Ordering::Relaxed) + 1;
            let value = RecordedResponse { response: response.clone(), n_entries: core.history().entries().len() };
            keeper.record(name_of(n), serde_json::to_value(&value).unwrap_or_default()).await;
        })
    }

    /// Returns the result of a call, if it is recorded.
    pub(in crate::session) fn done(&self, call: &ToolCall) -> Option<Done> {
        let value = self.keeper()?.recorded(&format!("tool:{}", call.id))?;
        let RecordedCall { result, asked, misfits } = serde_json::from_value(value).ok()?;
        Some(Done { result, asked, misfits })
    }

    /// Records the result of a call.
    pub(in crate::session) fn record_call<'a>(&'a self, done: &'a Done) -> BoxFuture<'a, ()> {
        if !MAY_RECORD {
            return Box::pin(std::future::ready(()));
        }
        Box::pin(async move {
            let Some(keeper) = self.keeper() else { return };
            let Done { result, asked, misfits } = done;
            let value = RecordedCall { result: result.clone(), asked: *asked, misfits: *misfits };
            let step = format!("tool:{}", result.tool_call_id);
            keeper.record(step, serde_json::to_value(&value).unwrap_or_default()).await;
        })
    }

    /// Returns the outcome of a call that a killed process has begun, or may have carried out already. The user is not asked
    /// about such a call again.
    pub(in crate::session) fn outcome_of_killed<'a>(
        &'a self,
        core: &'a Core,
        run_id: u64,
        call: &'a ToolCall,
        is_command: bool,
    ) -> BoxFuture<'a, Option<Result<ToolOutput, ToolError>>> {
        if !MAY_RECORD {
            return Box::pin(std::future::ready(None));
        }
        Box::pin(async move {
            let keeper = self.keeper()?;
            if !is_command {
                return edit_of(core, run_id, call).await;
            }
            let is_begun = keeper.recorded(&name_of_begin(call)).is_some();
            is_begun.then(|| Err(ToolError::new(Code::Aborted, LOST)))
        })
    }

    /// Returns the error of a call about a subagent that worked in a killed process. `error` is that of this process, which
    /// does not know the subagent.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::session) fn about_lost_subagent(&self, core: &Core, call: &ToolCall, error: ToolError) -> ToolError {
        use emend_llm::ContentPart;

        use crate::tool::ToolEffect;

        let settings = core.settings();
        let delegates = settings.tools.get(&call.name).is_some_and(|(_, tool)| tool.effect() == ToolEffect::Delegates);
        let id = call.arguments["agent_id"].as_str().filter(|_| delegates && error.code == Code::NotFound);
        let Some(id) = id.filter(|_| self.keeper().is_some()) else { return error };
        // As `spawn_agent` tells it.
        let started = format!("{id} is running.");
        let is_told = |part: &ContentPart| match part {
            ContentPart::ToolResult(result) => result.content.to_string().contains(&started),
            _ => false,
        };
        let history = core.history();
        if !history.entries().iter().any(|entry| entry.message.content.iter().any(is_told)) {
            return error;
        }
        let message = format!(
            "{id} ended when the server was replaced, and its result is lost. Its edits so far stay. Look at the files before \
             you give the rest of its task to another subagent."
        );
        ToolError::new(Code::Aborted, message)
    }

    /// Announces a command: a process that finds it announced does not run it again.
    pub(in crate::session) fn announce<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ()> {
        if !MAY_RECORD {
            return Box::pin(std::future::ready(()));
        }
        Box::pin(async move {
            if let Some(keeper) = self.keeper() {
                keeper.record(name_of_begin(call), Value::Bool(true)).await;
            }
        })
    }

    /// Records the lease of a call that the user decides about: the process that goes on then takes it again. A lease with the
    /// number 0 stands for none, and only tells the epoch.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::session) async fn record_lease(&self, call: &ToolCall, lease: Ticket) {
        if let Some(keeper) = self.keeper() {
            keeper.record(name_of_lease(call), serde_json::to_value(lease).unwrap_or_default()).await;
        }
    }

    /// Returns the recorded lease of a call that the user decides about.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::session) fn lease_of(&self, call: &ToolCall) -> Option<Ticket> {
        let lease = self.keeper()?.recorded(&name_of_lease(call))?;
        let number = |name: &str| lease[name].as_u64();
        Some(Ticket { lease_id: number("lease_id")?, epoch: number("epoch")? })
    }

    /// Returns the epoch of the canvas in a run that goes on after the user's decision about a call.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::session) fn epoch_of_wait(&self, core: &Core) -> Option<u64> {
        let open = self.open_response(core)?;
        open.calls.iter().find_map(|call| self.lease_of(call)).map(|lease| lease.epoch)
    }

    /// Returns the last response of the history if it is the newest recorded one.
    pub(in crate::session) fn open_response(&self, core: &Core) -> Option<OpenResponse> {
        let last = core.history().entries().last().map(|entry| entry.message.clone())?;
        let n = self.n_responses.load(Ordering::Relaxed);
        let recorded = response_of(&*self.keeper()?, n).filter(|found| found.response.message == last)?;
        Some(OpenResponse {
            finish: recorded.response.finish_reason.reason,
            text: last.text(),
            calls: last.tool_calls().into_iter().cloned().collect(),
        })
    }
}

#[cfg(not(target_family = "wasm"))]
fn name_of_lease(call: &ToolCall) -> String {
    format!("lease:{}", call.id)
}

fn name_of_begin(call: &ToolCall) -> String {
    format!("begin:{}", call.id)
}

/// Returns the outcome of a call whose edit another process has made.
async fn edit_of(core: &Core, run_id: u64, call: &ToolCall) -> Option<Result<ToolOutput, ToolError>> {
    // The line logs of the killed process are known only after they are read.
    if let Err(error) = core.workspace.refresh().await {
        return Some(Err(error.into()));
    }
    let files = core.workspace.files_of_call(run_id, &call.id);
    if files.is_empty() {
        return None;
    }
    let names: Vec<String> = files.iter().map(ToString::to_string).collect();
    let text = format!("Done: {}. The server was replaced during this call; the edit is complete.", names.join(", "));
    Some(Ok(ToolOutput::new(text, json!({ "files": names }))))
}

fn name_of(n: u64) -> String {
    format!("llm:{n}")
}

fn response_of(keeper: &dyn StepKeeper, n: u64) -> Option<RecordedResponse> {
    serde_json::from_value(keeper.recorded(&name_of(n))?).ok()
}
