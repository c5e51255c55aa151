//! The types of events, with the event of the session from which each comes. `docs/events.md` shows the table.

/// One type of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventType {
    /// The type, as events name it.
    pub name: &'static str,
    /// Kind of the session's event, or `service` if the service makes the event.
    pub source: &'static str,
    /// Meaning, and the fields of `data`.
    pub meaning: &'static str,
}

const fn row(name: &'static str, source: &'static str, meaning: &'static str) -> EventType {
    EventType { name, source, meaning }
}

/// Every type of event.
pub const EVENT_TYPES: &[EventType] = &[
    row("session.created", "service", "The session exists. `title`, `mode`."),
    row("session.updated", "service", "The user changed the session. `title`, `status`, `mode`."),
    row(
        "session.rewound",
        "service",
        "The session went back to before a job. `job_id`, `conversation`, `files`, `removed_messages`.",
    ),
    row("session.rewind_undone", "service", "The last rewind was undone. `job_id`, `restored_messages`, `restored`."),
    row("jobs.purged", "service", "Ended jobs were removed. `job_ids`."),
    row("job.queued", "service", "The job exists. `instruction`."),
    row("job.started", "USER_INPUT", "The agent works. `instruction`."),
    row(
        "job.resumed",
        "service",
        "Another process goes on with the job, from the last recorded step. A message that was not complete begins anew. `attempt`.",
    ),
    row(
        "job.completed",
        "PROCESSING_END",
        "The job is done, and none of its edits is pending. The last event of the job, unless an undo reopens it. `usage`, `answer`.",
    ),
    row(
        "job.reopened",
        "service",
        "An undo or a redo made edits of a completed job pending again, and the job awaits review. `by`, `files`, `review_revision`.",
    ),
    row(
        "job.settled",
        "service",
        "A reopened job has ended again, mostly because its edits are all decided. `status`, `usage`, `answer`, `error`.",
    ),
    row(
        "job.failed",
        "PROCESSING_END",
        "The job ended with an error. The last event of the job. `error`, `usage`, `answer`.",
    ),
    row(
        "job.cancelled",
        "PROCESSING_END",
        "The user cancelled the job, or the service shut down (`error` says so). The last event of the job. `usage`, `answer`.",
    ),
    row("job.warning", "WARNING, LOOP_DETECTION", "A problem that did not stop the job. `code`, `message`."),
    row(
        "job.error",
        "ERROR",
        "The reason of the failure that `job.failed` reports, or for which a router chose its second model. `code`, `message`, `suggestions`, `data`.",
    ),
    row("checkpoint.created", "service", "The state before the job can be restored. `checkpoint_id`."),
    row("checkpoint.rollback.started", "service", "A rollback begins. `checkpoint_id`, `mode`."),
    row("checkpoint.rollback.completed", "service", "A rollback is done. `checkpoint_id`, `mode`, `files`."),
    row("checkpoint.rollback.failed", "service", "A rollback changed nothing. `checkpoint_id`, `mode`, `error`."),
    row("message.started", "ASSISTANT_TEXT_START", "The model begins to write."),
    row("message.delta", "ASSISTANT_TEXT_DELTA", "More text. `delta`."),
    row("message.completed", "ASSISTANT_TEXT_END", "The text is complete. `text`."),
    row("message.steered", "STEERING_INJECTED", "A message of the user reached the model during the job. `text`."),
    row(
        "message.returned",
        "STEERING_RETURNED",
        "The job ended before a message of the user reached the model. `text`.",
    ),
    row("reasoning.started", "REASONING_START", "The model begins to reason."),
    row("reasoning.delta", "REASONING_DELTA", "More reasoning. `delta`."),
    row("reasoning.completed", "REASONING_END", "The reasoning is complete. `text`."),
    row(
        "provider.selected",
        "service",
        "A request goes to a provider: each choice of a router, or the first request of a run without one (`reason` is `mode`). `provider`, `local`, `reason`, `attempt`, `detail`.",
    ),
    row(
        "provider.step",
        "service",
        "A model call ended. `stop_reason`, `tool_calls`, `n_proposed_edits` (of all calls that write), `raw_usage`.",
    ),
    row(
        "tool.call.requested",
        "TOOL_CALL_START",
        "A tool call begins. `tool_call_id`, `name`, `tool` (the same name), `arguments`.",
    ),
    row("tool.call.output", "TOOL_CALL_OUTPUT_DELTA", "A running tool printed text. `tool_call_id`, `delta`."),
    row(
        "tool.call.completed",
        "TOOL_CALL_END",
        "A tool call ended. `tool_call_id`, `name`, `tool` (the same name), `ok`, `result`, `error`, `output` (whole up to 64 KiB; of a longer one the first 4,000 characters, `output_cut` is true, `output_bytes` has the length, and `output_ref` names the whole), `result_cut` (true if long texts or lists of `result` are cut), `duration_ms`.",
    ),
    row(
        "approval.requested",
        "APPROVAL_REQUESTED",
        "A tool call waits for the user. `tool_call_id`, `tool`, `arguments`, `detail`.",
    ),
    row(
        "approval.resolved",
        "APPROVAL_RESOLVED",
        "The user decided on a tool call, or the job was cancelled. `tool_call_id`, `decision`, `reason`.",
    ),
    row(
        "clarification.requested",
        "service",
        "The agent asks the user. `question_id`, `question`, `options`, `fields`.",
    ),
    row("clarification.received", "service", "The user answered. `question_id`, `answer`."),
    row("edits.proposed", "service", "The agent is done, and edits wait for review. `files`."),
    row("diff.generated", "service", "The diff bundle of the job is ready. `files`, `review_revision`."),
    row(
        "review.updated",
        "FILE_CHANGED",
        "The pending edits changed: by the agent (`file_path`, `revision`, `pending_hunks`) or by the user (`by`, `revision`). For a job that has ended it is an event of the session, with `job_id`.",
    ),
    row("apply.started", "service", "The user applies hunks. `accepted_hunk_ids`."),
    row(
        "apply.completed",
        "service",
        "The accepted hunks are on disk, except in the files of `unsaved`, which wait for a save. `applied_files`, `unsaved`.",
    ),
    row("apply.failed", "service", "Nothing was applied, for another reason than a conflict. `error`."),
    row(
        "conflict.detected",
        "service",
        "Files changed on disk since the edits were proposed; nothing was written. `files`.",
    ),
    row("rerun.started", "service", "The agent proposes the edits of a conflict anew. `n_reruns`, `files`."),
    row("rerun.completed", "service", "The edits are proposed anew. `n_reruns`."),
    row("limit.reached", "TURN_LIMIT, BUDGET_EXCEEDED", "A limit stops the job. `limit`, `max`, `used`."),
    row("subagent.started", "SUBAGENT_START", "A subagent works. `agent_id`, `task`, `model`, `working_dir`."),
    row("subagent.event", "SUBAGENT_EVENT", "An event of a subagent. `agent_id`, `type`, `data`."),
    row("subagent.completed", "SUBAGENT_END", "A subagent is done. `agent_id`, `status`, `output`, `turns_used`."),
    row("canvas.lease", "CANVAS_LEASE", "The lease of the canvas changed in a job. `file_path`, `state`, `epoch`."),
    row("canvas.updated", "service", "A request changed the canvas or its lease. `by`, `canvas`."),
    row("follow_up.queued", "service", "An instruction waits. `follow_up`."),
    row("follow_up.changed", "service", "A waiting instruction changed. `follow_up`."),
    row("permission.withdrawn", "service", "The user withdrew a permission. `permission_id`."),
    row("follow_up.withdrawn", "service", "A waiting instruction was removed. `follow_up_id`."),
    row("follow_up.sent", "service", "A waiting instruction went to the running job, or started one. `follow_up_id`."),
    row("follow_up.started", "service", "A waiting instruction became a job. `follow_up_id`, `job_id`."),
    row("follow_up.failed", "service", "The next waiting instruction could not start. It still waits. `error`."),
    row("comment.added", "service", "A comment exists. `comment`."),
    row("comment.removed", "service", "A comment was removed. `comment_id`."),
    row("comments.sent", "service", "Comments became a job. `comment_ids`, `job_id`."),
];

/// Returns whether a type of event is in the table.
pub(super) fn is_known(name: &str) -> bool {
    EVENT_TYPES.iter().any(|known| known.name == name)
}
