//! One tool call: look up the tool, validate the arguments, ask for approval, acquire the canvas lease if needed, run the
//! tool, truncate the output, emit the events.
//!
//! Every call gets exactly one result, also if it fails.

use emend_edit::truncate::{OutputLimits, truncate_output};
use emend_llm::schema::validate;
use emend_llm::{CancelToken, ContentPart, FinishKind, Message, Shared, ToolCall, ToolResult};
use futures::future::{Either, select};
use serde_json::{Map, Value, json};

use super::approvals::{self, Approved};
use super::canvas_lease::LeaseHolder;
use crate::canvas::Ticket;
use crate::error_code::Code;
use crate::event::EventKind;
use crate::history::result;
use crate::session::core::{CANCELLED, Core};
use crate::session::options::SessionConfig;
use crate::session::steps::{Done, MAY_RECORD};
use crate::tool::{
    CommandLimits, Progress, Tool, ToolContext, ToolEffect, ToolError, ToolOutput, ToolRegistry, example, meant,
    read_arguments, tidy,
};
use crate::workspace::{ReadTracker, Workspace};

/// The lease holder of the run, shared by calls that run at the same time.
pub(in crate::session) type SharedLeaseHolder<'k, 'a> = futures::lock::Mutex<&'k mut LeaseHolder<'a>>;

/// Result of a call beyond the limit on tool calls.
pub(in crate::session) const NO_CALLS_LEFT: &str =
    "The tool calls of this task are used up, so this call was not run. Answer now, without tools.";

/// Key of the example in the data of an error about arguments.
const EXAMPLE: &str = "example";

/// Runs one call and emits its events. A failure is a result, too. While a question to the user is open, the call asks no
/// other one.
pub(in crate::session) async fn execute(
    core: &Core,
    run_id: u64,
    lease_holder: &SharedLeaseHolder<'_, '_>,
    call: &ToolCall,
    has_question: bool,
    cancel: &CancelToken,
) -> Done {
    if let Some(done) = core.steps.done(call) {
        return done;
    }
    begin(core, call);
    // A reader of the events can cancel a call when it sees the call begin.
    core.emitter.yield_to_readers().await;
    let began_at = core.clock.now_ms();
    let asks = core.settings().tools.get(&call.name).is_some_and(|(_, tool)| tool.effect() == ToolEffect::Asks);
    let outcome = if cancel.is_cancelled() {
        Err(ToolError::new(Code::Aborted, CANCELLED))
    } else if !core.spending.take_tool_call(core.settings().config.max_tool_calls) {
        Err(ToolError::new(Code::LimitReached, NO_CALLS_LEFT))
    } else if has_question && asks {
        Err(ToolError::new(Code::Conflict, "Another question is open. Ask one question at a time."))
    } else {
        attempt(core, run_id, lease_holder, call, cancel).await
    };
    #[cfg(not(target_family = "wasm"))]
    let outcome = outcome.map_err(|error| core.steps.about_lost_subagent(core, call, error));
    let duration_ms = core.clock.now_ms().saturating_sub(began_at);
    let output_ref = match (&outcome, core.saver.get()) {
        (Ok(output), Some(saver)) => saver.keep_output(core, &output.text).await,
        _ => None,
    };
    end(core, call, &outcome, output_ref, duration_ms);
    let asked = outcome.is_ok() && asks;
    // Only a rejection of arguments shows an example.
    let misfits = matches!(&outcome, Err(ToolError { data: Some(data), .. }) if data.get(EXAMPLE).is_some());
    let done = Done { result: result_for_model(core, call, outcome), asked, misfits };
    core.steps.record_call(&done).await;
    done
}

/// Emits the files that changed since `revision`, except changes by subagents, which were emitted as they happened.
pub(in crate::session) fn report_changes(core: &Core, revision: u64) {
    let told = core.subagents.take_reported();
    for change in core.workspace.changes_since(revision).into_iter().filter(|change| !told.contains(&change.revision)) {
        core.emitter.emit(EventKind::FileChanged {
            path: change.path,
            revision: change.revision,
            pending_hunks: change.pending_hunks,
        });
    }
}

fn begin(core: &Core, call: &ToolCall) {
    core.emitter.emit(EventKind::ToolCallStart {
        call_id: call.id.clone(),
        tool_name: call.name.clone(),
        arguments: call.arguments.clone(),
    });
}

fn end(
    core: &Core,
    call: &ToolCall,
    outcome: &Result<ToolOutput, ToolError>,
    output_ref: Option<String>,
    duration_ms: u64,
) {
    let (output, data, error_info) = match outcome {
        Ok(output) => (output.text.clone(), output.data.clone(), None),
        Err(error) => (error.text(), Value::Null, Some(error.info())),
    };
    core.emitter.emit(EventKind::ToolCallEnd {
        call_id: call.id.clone(),
        tool_name: call.name.clone(),
        ok: outcome.is_ok(),
        output,
        output_ref,
        output_cut: false,
        data,
        error: error_info.as_ref().map(|error| error.message.clone()),
        error_info,
        duration_ms,
    });
    let data = match outcome {
        Ok(output) => Some(&output.data),
        Err(error) => error.data.as_ref(),
    };
    for (code, what) in UNREVIEWED {
        if let Some(Value::Array(paths)) = data.and_then(|data| data.get(code))
            && !paths.is_empty()
        {
            let named: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
            let message = format!("{what}: {}", named.join(", "));
            core.emitter.emit(EventKind::Warning { code, message });
        }
    }
}

/// Lists of changed paths in a tool's data that the user has to know, with the words of the warning.
const UNREVIEWED: [(&str, &str); 3] = [
    ("discarded", "cannot wait for review, so discarded"),
    ("at_once", "ignored by git, so not held back; undo restores it"),
    ("not_undoable", "cannot be undone"),
];

/// Rejects the calls of an incomplete response: a truncated call may look complete and do harm.
pub(in crate::session) fn refuse_cut(core: &Core, calls: &[ToolCall], finish: FinishKind) {
    for call in calls {
        begin(core, call);
        let why = match finish {
            FinishKind::Length => "This call was cut off by the output limit and was not run.",
            _ => "The answer broke off, so this call was not run.",
        };
        let message = format!("{why} {} Repeat it in smaller pieces.", what_arrived(call));
        let outcome = Err(ToolError::new(Code::LimitReached, message));
        end(core, call, &outcome, None, 0);
        let result = result_for_model(core, call, outcome);
        core.results().push(result);
    }
}

/// The most characters that are quoted from each end of a call's arguments.
const QUOTE_CHARS: usize = 200;

/// Quotes the arguments of a truncated call.
fn what_arrived(call: &ToolCall) -> String {
    let text = match (&call.raw_arguments, &call.arguments) {
        (Some(raw), _) => raw.clone(),
        (None, Value::String(text)) => text.clone(),
        (None, arguments) => arguments.to_string(),
    };
    let n_chars = text.chars().count();
    if n_chars <= 2 * QUOTE_CHARS {
        return format!("Its arguments so far: {text}");
    }
    let head: String = text.chars().take(QUOTE_CHARS).collect();
    let tail: String = text.chars().skip(n_chars - QUOTE_CHARS).collect();
    format!("{n_chars} characters of its arguments were received, from {head} to {tail}")
}

async fn attempt(
    core: &Core,
    run_id: u64,
    lease_holder: &SharedLeaseHolder<'_, '_>,
    call: &ToolCall,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let settings = core.settings();
    let (tool, arguments) = prepare(&settings.tools, &call.name, call.arguments.clone())?;
    let workspace = core.visible_workspace();
    // A preview gets a context of its own, without the right to write.
    let context_with = |lease: Option<Ticket>, may_write: bool| ToolContext {
        workspace: Shared::clone(&workspace),
        reads: Shared::clone(&core.reads),
        run_id,
        call_id: call.id.clone(),
        lease,
        may_write,
        cancel: cancel.clone(),
        limits: settings.config.command_limits(),
        output_limits: output_limits(&settings.config, &call.name, &**tool),
        progress: progress(core, &call.id),
        clock: Shared::clone(&core.clock),
        names: Shared::clone(settings.tools.tool_names()),
        subagents: Some(Shared::clone(&core.subagents).host(settings.clone())),
    };
    if MAY_RECORD && let effect @ (ToolEffect::Writes | ToolEffect::Runs) = tool.effect() {
        let known = core.steps.outcome_of_killed(core, run_id, call, effect == ToolEffect::Runs).await;
        if let Some(known) = known {
            return known.map_err(|error| error.naming(core.settings().tools.tool_names()));
        }
    }
    let approved =
        approvals::approve(core, &settings.config, call, tool, &arguments, &context_with(None, false), lease_holder)
            .await?;
    let lease = lease_holder.lock().await.acquire_for_tool(&tool.paths(&arguments)).await?;
    let context = context_with(lease, approved == Approved::ToRun);
    if MAY_RECORD && tool.effect() == ToolEffect::Runs {
        core.steps.announce(call).await;
    }
    let call = tool.call(&arguments, &context);
    let outcome = if tool.interruptible() {
        match select(call, cancel.cancelled()).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => Err(ToolError::new(Code::Aborted, "The user cancelled while this call ran.")),
        }
    } else {
        // Dropping a call that writes could leave half of a change.
        call.await
    };
    if context.lease.is_some() {
        lease_holder.lock().await.end_guard();
    }
    outcome.map_err(|error| error.naming(&context.names))
}

/// Returns the receiver of the text that a call prints while it runs.
fn progress(core: &Core, call_id: &str) -> Progress {
    let (emitter, call_id) = (Shared::clone(&core.emitter), call_id.to_owned());
    Progress::new(move |delta: &str| {
        emitter.emit(EventKind::ToolCallOutputDelta { call_id: call_id.clone(), delta: delta.to_owned() });
    })
}

/// Runs one call outside of a session, as `emend tools call` does. The lookup and the validation are the same; no file
/// counts as read before the call.
///
/// # Errors
///
/// Returns the error that a model would see.
pub async fn call_tool(
    tools: &ToolRegistry,
    workspace: &Shared<Workspace>,
    name: &str,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let (tool, arguments) = prepare(tools, name, arguments)?;
    let context = ToolContext {
        workspace: Shared::clone(workspace),
        reads: Shared::new(ReadTracker::default()),
        run_id: workspace.begin_run(),
        call_id: "call".to_owned(),
        lease: None,
        may_write: true,
        cancel: CancelToken::new(),
        limits: CommandLimits::default(),
        output_limits: tool.output_limits(),
        progress: Progress::default(),
        clock: workspace.clock(),
        names: Shared::clone(tools.tool_names()),
        subagents: None,
    };
    tool.call(&arguments, &context).await.map_err(|error| error.naming(&context.names))
}

/// A tool and arguments it accepts.
pub(in crate::session) type Prepared<'a> = (&'a Shared<dyn Tool>, Map<String, Value>);

/// Finds the tool and validates the arguments. The errors name the received keys, so that the model can correct the call.
pub(in crate::session) fn prepare<'a>(
    tools: &'a ToolRegistry,
    name: &str,
    arguments: Value,
) -> Result<Prepared<'a>, ToolError> {
    let Some((definition, tool)) = tools.get(name) else {
        let names: Vec<&str> = tools.names().collect();
        return Err(ToolError::new(
            Code::UnknownTool,
            format!("Unknown tool: {name}. The tools are {}.", names.join(", ")),
        )
        .with_suggestions(crate::suggest::closest(name, names.iter().copied(), 3)));
    };
    let schema = &definition.parameters;
    let refused = |why: String, meant: Vec<String>| {
        let example = example(schema);
        let message = format!("Invalid arguments for tool: {name}: {why} Example: {example} Schema: {schema}");
        ToolError { data: Some(json!({ EXAMPLE: example })), ..ToolError::new(Code::InvalidArgument, message) }
            .with_suggestions(meant)
    };
    let mut arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::String(raw) => read_arguments(&raw, schema).map_err(|why| refused(why, Vec::new()))?,
        _ => return Err(refused("The arguments are not a JSON object. Send one JSON object.".to_owned(), Vec::new())),
    };
    tidy(schema, &mut arguments);
    let checked = Value::Object(arguments);
    let verdict = validate(schema, &checked);
    let Value::Object(arguments) = checked else {
        return Err(ToolError::new(Code::Internal, "validated arguments are no longer an object"));
    };
    verdict.map_err(|violation| refused(format!("{violation}."), meant(schema, &arguments)))?;
    Ok((tool, arguments))
}

/// Parses the arguments of calls that arrived as text, so that the history holds the arguments that run. Text that cannot
/// be parsed stays.
pub(in crate::session) fn read_calls(tools: &ToolRegistry, message: &mut Message) {
    let is_text =
        |part: &ContentPart| matches!(part, ContentPart::ToolCall(call) if call.arguments.is_string() && !call.custom);
    if !message.content.iter().any(is_text) {
        return;
    }
    let read = |part: &ContentPart| match part {
        ContentPart::ToolCall(call) if is_text(part) => {
            let raw = call.arguments.as_str().unwrap_or_default();
            let schema = tools.get(&call.name).map(|(definition, _)| &definition.parameters);
            match schema.and_then(|schema| read_arguments(raw, schema).ok()) {
                Some(arguments) => {
                    ContentPart::ToolCall(ToolCall { arguments: arguments.into(), raw_arguments: None, ..call.clone() })
                }
                None => part.clone(),
            }
        }
        part => part.clone(),
    };
    message.content = message.content.iter().map(read).collect();
}

fn result_for_model(core: &Core, call: &ToolCall, outcome: Result<ToolOutput, ToolError>) -> ToolResult {
    let settings = core.settings();
    let limits = match settings.tools.get(&call.name) {
        Some((_, tool)) => output_limits(&settings.config, &call.name, &**tool),
        None => OutputLimits::default(),
    };
    let shorten = |text: &str| truncate_output(text, limits).text;
    let form = settings.config.result_form;
    match outcome {
        Ok(output) => ToolResult { image: output.image, ..result(call, form.done(shorten(&output.text)), false) },
        Err(error) => result(call, form.failed(&call.name, &error, shorten), true),
    }
}

fn output_limits(config: &SessionConfig, name: &str, tool: &dyn Tool) -> OutputLimits {
    config.output_limits(tool.canonical_name().unwrap_or(name), tool.output_limits())
}
