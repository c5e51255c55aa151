//! Bodies of requests and replies that are not records, except for those of the review.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canvas_bodies::CanvasFlags;
use super::records::{
    AgentMode, Budget, Comment, ContextRow, EventRecord, FollowUp, JobRecord, JobStatus, SessionRecord, SessionStatus,
    ToolSet, WorkMode,
};
use super::time::Timestamp;
use crate::approval::Grant;

/// Body of `POST /api/agent/sessions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CreateSession {
    /// Title; the first line of the first instruction if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How edits reach the disk; `review` if absent.
    pub mode: WorkMode,
    /// Tools of the agent; those of the model's family if absent.
    pub tools: ToolSet,
    /// The canvas; without canvas tools if absent.
    pub canvas: CanvasFlags,
    /// Model, as the host names it; its default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Choice between this model and the second model of the host; the setting of the host if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<AgentMode>,
    /// Whether the first edit of each job needs the user's confirmation.
    pub confirm_before_edits: bool,
    /// Limits on all jobs together.
    pub budget: Budget,
    /// Limits on each job.
    pub job_budget: Budget,
    /// Pinned context.
    pub context_rows: Vec<ContextRow>,
}

/// Body of `PATCH /api/agent/sessions/{session_id}`. Absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct UpdateSession {
    /// Title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// How edits reach the disk, from the next job on. Another mode ends the permissions that `allow_always` gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<WorkMode>,
    /// The canvas, from the next job on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canvas: Option<CanvasFlags>,
    /// Model, from the next job on, as the host names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Choice between this model and the second model of the host, from the next job on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<AgentMode>,
    /// Whether the first edit of each job needs the user's confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm_before_edits: Option<bool>,
    /// Limits on all jobs together, from the next job on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Limits on each job, from the next one on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_budget: Option<Budget>,
    /// Pinned context, in place of the present rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_rows: Option<Vec<ContextRow>>,
}

/// One message of a conversation, as a client shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChatMessage {
    /// `user`, `assistant`, `steering`, `tool`, or, if the request asks for hidden messages, `hidden`.
    pub role: String,
    /// Text; for `tool`, a summary of the calls and results.
    pub text: String,
    /// Time.
    pub at: Timestamp,
    /// Names of the tools that an assistant's message calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// A session with its conversation and its review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionSnapshot {
    /// The session.
    #[serde(flatten)]
    pub session: SessionRecord,
    /// Conversation.
    pub chat: Vec<ChatMessage>,
    /// The newest job, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobRecord>,
    /// Pending hunks of the session; absent if there are none.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = super::bundle_bodies::PendingReviewBody))]
    pub pending_review: Value,
    /// Number of the newest event of all sessions: a stream of all sessions continues after it.
    pub seq: u64,
}

/// A page of sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionList {
    /// Sessions, newest change first.
    pub sessions: Vec<SessionRecord>,
    /// Value of `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Number of sessions on all pages.
    pub total: u64,
}

/// Body of `POST /api/agent/run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// Id of the session.
    pub session_id: String,
    /// The instruction.
    pub instruction: String,
    /// Context for this instruction. The rows stay pinned to the session.
    #[serde(default)]
    pub context_rows: Vec<ContextRow>,
    /// Settings of this job.
    #[serde(default)]
    pub tool_config: ToolConfig,
    /// Hash of the canvas's draft that the user saw. The message takes the canvas back and saves the draft, without pending
    /// edits of the agent. Another draft is `stale`, and the message is not sent then. Absent: nothing is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_hash: Option<String>,
}

/// Settings of one job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ToolConfig {
    /// Maximum number of tool calls; the limit of the service if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u64>,
}

/// Reply of `POST /api/agent/run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunReply {
    /// Id of the job.
    pub job_id: String,
    /// State of the job.
    pub status: JobStatus,
    /// Cursor of the session before the job's first event.
    pub cursor: u64,
}

/// A job with its review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobState {
    /// The job.
    #[serde(flatten)]
    pub job: JobRecord,
    /// Edits of the job, whatever tool made them.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<super::bundle_bodies::ProposedEditBody>))]
    pub proposed_edits: Value,
    /// Hunks of the job while edits of it wait for review, also after a failure or a cancellation; else null.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<super::bundle_bodies::DiffBundleBody>))]
    pub diff_bundle: Value,
}

/// The jobs of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobList {
    /// Jobs, oldest first.
    pub jobs: Vec<JobRecord>,
}

/// Events of a job after a cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobEvents {
    /// Id of the job.
    pub job_id: String,
    /// State of the job.
    pub status: JobStatus,
    /// Cursor for the next request.
    pub next_cursor: u64,
    /// Events in order.
    pub events: Vec<EventRecord>,
}

/// Events of all sessions after a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventList {
    /// Value of `after` for the next request.
    pub next: u64,
    /// Events in order.
    pub events: Vec<EventRecord>,
}

/// Body of `POST /api/agent/jobs/{job_id}/clarify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClarifyRequest {
    /// Id of the question.
    pub question_id: String,
    /// The answer. `no_user_answer` skips the question.
    pub answer: String,
}

/// Body of `POST /api/agent/jobs/{job_id}/approve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApproveRequest {
    /// Id of the tool call.
    pub tool_call_id: String,
    /// The decision.
    pub decision: ApproveDecision,
    /// Reason of a denial, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A decision on a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApproveDecision {
    /// The call runs.
    Allow,
    /// The call runs, and so will similar ones in this session.
    AllowAlways,
    /// The call does not run.
    Deny,
}

/// Body of requests with one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TextRequest {
    /// The text.
    pub text: String,
}

/// Reply of operations without result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Done {
    /// True.
    pub ok: bool,
}

/// The trace of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobTrace {
    /// Id of the job.
    pub job_id: String,
    /// Steps in order.
    pub steps: Vec<TraceStep>,
}

/// One step of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TraceStep {
    /// Cursor of the event.
    pub cursor: u64,
    /// Type of the event.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time.
    pub ts: Timestamp,
    /// Milliseconds since the first step.
    pub at_ms: u64,
    /// Summary of the data.
    pub summary: String,
}

/// The whole output of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OutputBody {
    /// Name of the output.
    pub output_ref: String,
    /// Text.
    pub output: String,
}

/// Queued instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FollowUpList {
    /// Instructions in order.
    pub follow_ups: Vec<FollowUp>,
    /// Job that was started, if the session was idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_job_id: Option<String>,
}

/// A permission of the user for the rest of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Permission {
    /// Id of the permission: equal permissions have equal ids.
    pub permission_id: String,
    /// Canonical name of the tool.
    pub tool: String,
    /// The command line, if the tool runs one. Only this command is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory of the command, if it is not that of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The files, if the permission is for these files only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Permission {
    /// Returns the permission as clients see it.
    #[must_use]
    pub fn of(grant: &Grant) -> Self {
        let files = grant.scope.as_array().into_iter().flatten().filter_map(Value::as_str);
        Self {
            permission_id: grant.id(),
            tool: grant.tool.clone(),
            command: grant.command.clone(),
            working_dir: grant.scope.as_str().filter(|directory| !["", "."].contains(directory)).map(str::to_owned),
            files: files.map(str::to_owned).collect(),
        }
    }
}

/// Permissions of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PermissionList {
    /// Permissions, oldest first.
    pub permissions: Vec<Permission>,
}

/// Body of `POST /api/agent/sessions/{session_id}/comments`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CommentRequest {
    /// Path of the file.
    pub file_path: String,
    /// First line in the visible text, from 1.
    pub start_line: u64,
    /// Last line.
    pub end_line: u64,
    /// The comment.
    pub text: String,
}

/// The comments of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommentList {
    /// Comments, oldest first.
    pub comments: Vec<Comment>,
    /// Number of comments that were not sent.
    pub unsent: u64,
}

/// Files by path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileList {
    /// Files, sorted by path.
    pub files: Vec<FileEntry>,
    /// Path to give as `after` for the next page. Null on the last page.
    pub next: Option<String>,
}

/// A file of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileEntry {
    /// Path.
    pub file_path: String,
    /// Size of the visible text in UTF-8, or of the file that is not text.
    pub n_bytes: u64,
}

/// Results of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchReply {
    /// Results, best first.
    pub results: Vec<SearchHit>,
    /// Whether there are more results than the limit.
    pub truncated: bool,
}

/// A result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchHit {
    /// Path of the file.
    pub file_path: String,
    /// First line of the snippet, from 1.
    pub start_line: u64,
    /// Last line. A file of which only the path matches, and whose text cannot be shown, has 0.
    pub end_line: u64,
    /// The lines.
    pub snippet: String,
}

/// One checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckpointSummary {
    /// Id.
    pub checkpoint_id: String,
    /// Id of the session.
    pub session_id: String,
    /// Id of the job.
    pub job_id: String,
    /// Time of the first change.
    pub created_at: Timestamp,
    /// Paths of the changed files.
    pub affected_files: Vec<String>,
    /// Whether a change of the job is in effect.
    pub is_on: bool,
}

/// Checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckpointList {
    /// Checkpoints, oldest first.
    pub checkpoints: Vec<CheckpointSummary>,
}

/// Body of `POST /api/agent/sessions/{session_id}/rewind`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RewindRequest {
    /// Id of the first job to take back.
    pub job_id: String,
    /// Whether the conversation goes back to before the job.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = json!(true)))]
    pub conversation: bool,
    /// Whether the edits of this job and of later jobs of the session are undone. Lines of the user stay.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(default = json!(false)))]
    pub files: bool,
    /// Whether the effect is only returned, and nothing changes.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(default = json!(false)))]
    pub preview: bool,
}

pub(super) fn yes() -> bool {
    true
}

/// Reply of `POST /api/agent/sessions/{session_id}/rewind`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RewindReply {
    /// Instruction of the job, for the input of the user.
    pub instruction: String,
    /// Number of messages that were removed from the conversation.
    pub removed_messages: u64,
    /// Files that were changed back.
    pub restored: Vec<String>,
    /// Files that keep a part of the edits, because the user has edited it since.
    pub kept: Vec<String>,
    /// Files that a command changed and whose former state was not kept.
    pub lost: Vec<String>,
}

/// Body of `POST /api/agent/sessions/{session_id}/rewind/undo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UnwindRequest {
    /// Whether the files get their edits again, if the rewind took them back.
    #[serde(default = "yes")]
    #[cfg_attr(feature = "openapi", schema(default = json!(true)))]
    pub files: bool,
}

/// Reply of `POST /api/agent/sessions/{session_id}/rewind/undo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UnwindReply {
    /// Number of messages that the conversation has again.
    pub restored_messages: u64,
    /// Files that have the edits again.
    pub restored: Vec<String>,
    /// Files that stay as they are, because they have another state than the rewind left.
    pub kept: Vec<String>,
}
