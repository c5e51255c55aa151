//! The records of the service: sessions, jobs and events. Stores keep them, and replies contain them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::budget::{Budget, Spent};
use super::canvas_bodies::CanvasFlags;
pub use super::going_back::{PurgedJob, Rewinding, Rewound, RollingBack};
use super::time::Timestamp;
use crate::approval::Grant;

/// Whether a session is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// The session accepts jobs.
    #[default]
    Active,
    /// The session is kept for reading. It accepts no jobs until it is active again.
    Archived,
}

/// How the edits of a session reach the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkMode {
    /// Each edit needs the user's approval before it is written to the disk.
    Ask,
    /// Edits are pending until the user decides at the end of the job.
    #[default]
    Review,
    /// Edits are written to the disk at once and can be undone.
    Direct,
}

/// The choice between the model of a session and the second model of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentMode {
    /// Always the model of the session.
    Local,
    /// Always the second model.
    Remote,
    /// The model of the session first, then the second model if the first one fails.
    HybridAuto,
}

impl From<AgentMode> for emend_llm::router::AgentMode {
    fn from(mode: AgentMode) -> Self {
        match mode {
            AgentMode::Local => Self::Local,
            AgentMode::Remote => Self::Remote,
            AgentMode::HybridAuto => Self::HybridAuto,
        }
    }
}

/// The tools of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolSet {
    /// The tools of the model's family, as in every other session.
    #[default]
    Profile,
    /// `search_project`, `read_file`, `list_files`, `clarify_user` and `propose_edits` only.
    Project,
}

/// A block of context that the user pins to a session. Its text goes with each instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ContextRow {
    /// Id within the session.
    pub id: String,
    /// Origin of the text.
    pub kind: ContextKind,
    /// Path of the file, if the text comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// First line of the text in the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// Last line of the text in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// The text. If it is absent, the service reads the lines from the file when the job starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// The origin of a context row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// Lines that the user selected.
    Selection,
    /// A whole file.
    File,
    /// Other text.
    Note,
}

/// An instruction that waits for the end of the current job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FollowUp {
    /// Id within the session.
    pub follow_up_id: String,
    /// The instruction.
    pub text: String,
    /// Time of the request.
    pub created_at: Timestamp,
}

/// A comment of the user on lines of a file, for the next instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comment {
    /// Id within the session.
    pub comment_id: String,
    /// Path of the file.
    pub file_path: String,
    /// First line, from 1, in the visible text. It moves with the lines.
    pub start_line: u64,
    /// Last line.
    pub end_line: u64,
    /// The lines when the comment was made.
    pub snippet: String,
    /// The comment.
    pub text: String,
    /// Whether the comment was sent to the agent.
    pub sent: bool,
    /// Whether the file no longer has the lines of the snippet, one after another. The line numbers are then those at the
    /// time of the comment.
    #[serde(default)]
    pub stale: bool,
    /// Time of the comment.
    pub created_at: Timestamp,
}

/// A session: one conversation with its jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionRecord {
    /// Id: a UUID.
    pub session_id: String,
    /// Whether the session is in use.
    pub status: SessionStatus,
    /// Title; the first line of the first instruction unless the user sets another.
    pub title: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// How edits reach the disk.
    pub mode: WorkMode,
    /// Tools of the agent.
    #[serde(default)]
    pub tools: ToolSet,
    /// The canvas.
    #[serde(default)]
    pub canvas: CanvasFlags,
    /// Model, as the host names it.
    pub model: String,
    /// Choice between this model and the second model of the host. Absent: the setting of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<AgentMode>,
    /// Whether the first edit of each job needs the user's confirmation.
    pub confirm_before_edits: bool,
    /// Pinned context.
    pub context_rows: Vec<ContextRow>,
    /// Id of the newest job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_job_id: Option<String>,
    /// Number of jobs so far, purged ones included.
    pub n_jobs: u64,
    /// Instructions that wait for the end of the current job.
    pub follow_ups: Vec<FollowUp>,
    /// Comments on lines.
    pub comments: Vec<Comment>,
    /// Limits on all jobs of the session together.
    pub budget: Budget,
    /// Limits on each job.
    pub job_budget: Budget,
    /// Use of models by all jobs.
    pub spent: Spent,
    /// Cursor of the newest event of the session.
    pub cursor: u64,
    /// Workspace runs of edits of the canvas by requests, whose hunks are in the review of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canvas_runs: Vec<u64>,
    /// Purged jobs that changed files: their checkpoints stay as long as the project knows their runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub purged: Vec<PurgedJob>,
    /// Workspace revision up to which the model was told the user's decisions; absent before the first job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_revision: Option<u64>,
    /// Text of the canvas that the model was told last, by its path; empty before the first job with canvas tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub told_canvas: BTreeMap<String, String>,
    /// Permissions that the user gave for the rest of the session. Another server, or the next process, reads it here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub grants: Vec<Grant>,
    /// The last rewind, as long as it can be undone: until the next job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewound: Option<Rewound>,
    /// The rewind, or the undo of one, that is being carried out. If the process is killed, the next one completes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub rewinding: Option<Rewinding>,
    /// The rollback that is being carried out. If the process is killed, the next one tells whether it took place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub rolling_back: Option<RollingBack>,
}

impl SessionRecord {
    /// Returns the record without what is only for the service, as replies show it.
    #[must_use]
    pub fn shown(self) -> Self {
        let (purged, grants) = (Vec::new(), Vec::new());
        Self { purged, told_canvas: BTreeMap::new(), grants, rewinding: None, rolling_back: None, ..self }
    }

    /// Returns the workspace runs of the session that belong to no job of the store.
    #[must_use]
    pub fn runs_without_job(&self) -> Vec<u64> {
        let of_purged = self.purged.iter().flat_map(|job| &job.runs);
        self.canvas_runs.iter().chain(of_purged).copied().collect()
    }
}

impl SessionRecord {
    /// Notes the checkpoints of jobs that are purged. `known` has the workspace runs that changed files.
    pub(super) fn keep_checkpoints<'a>(&mut self, jobs: impl Iterator<Item = &'a JobRecord>, known: &BTreeSet<u64>) {
        self.purged.retain(|job| job.runs.iter().any(|run| known.contains(run)));
        self.purged.extend(jobs.filter_map(|job| PurgedJob::of(job, known)));
    }
}

/// The state of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// The job waits for its start.
    #[default]
    Queued,
    /// The agent works.
    Running,
    /// A question or an approval request waits for the user.
    WaitingForUser,
    /// The agent is done, and edits wait for the user's decision.
    AwaitingReview,
    /// The job is done, and none of its edits is pending.
    Completed,
    /// The job ended with an error.
    Failed,
    /// The user cancelled the job.
    Cancelled,
}

impl JobStatus {
    /// Returns whether the job has ended: its terminal event is in the log.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns whether the job holds the run slot of its session.
    #[must_use]
    pub fn holds_slot(self) -> bool {
        matches!(self, Self::Queued | Self::Running | Self::WaitingForUser)
    }

    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::WaitingForUser => "waiting_for_user",
            Self::AwaitingReview => "awaiting_review",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A question of the agent. A job has at most one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Question {
    /// Id within the job.
    pub question_id: String,
    /// The question.
    pub question: String,
    /// Likely answers, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Fields of a question with several parts, as the tool defines them.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub fields: Value,
}

/// A tool call that waits for the user's approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OpenApproval {
    /// Id of the tool call.
    pub tool_call_id: String,
    /// Name of the tool as the model knows it.
    pub tool: String,
    /// Arguments of the call.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub arguments: Value,
    /// Preview: a command with its directory (`command`, `workingDir`), or a diff (`fileDiff`). `reachesHidden` is there
    /// if the command could read files that a rule hides from the agent: the text is the pattern of that rule. No rule
    /// can allow such a command, but the answer `allow_always` can. `notUndoable` names ignored directories in which an undo
    /// takes back no change of the command. `paths` names the files that the answer `allow_always` covers. Without it, the
    /// answer covers the same command in the same directory, or every call of the tool, until the session is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub detail: Value,
}

/// A failure in JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// Stable code.
    pub code: String,
    /// The problem and the next step.
    pub message: String,
    /// Suggestions, best first.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// Details.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub data: Value,
}

/// A job: the work on one instruction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobRecord {
    /// Id.
    pub job_id: String,
    /// Id of the session.
    pub session_id: String,
    /// State.
    pub status: JobStatus,
    /// The instruction.
    pub instruction: String,
    /// Time of the request.
    pub created_at: Timestamp,
    /// Time of the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Time of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// Cursor of the newest event of the job.
    pub cursor: u64,
    /// Id of the checkpoint: the state before the job. Absent until the job starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
    /// Workspace runs of the job. A re-run and the answer to a question start another run.
    #[serde(default)]
    pub runs: Vec<u64>,
    /// Number of messages in the conversation before the job.
    #[serde(default)]
    pub n_messages_before: u64,
    /// Workspace revision when the job entered `awaiting_review`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_revision: Option<u64>,
    /// Time at which the job entered `awaiting_review`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_at: Option<Timestamp>,
    /// Reasons that the model gave for its edits, by the id of the edit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rationales: BTreeMap<String, String>,
    /// The open question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Number of questions so far.
    #[serde(default)]
    pub n_questions: u64,
    /// Open approval requests.
    #[serde(default)]
    pub approvals: Vec<OpenApproval>,
    /// Maximum number of tool calls; 0 means unlimited.
    #[serde(default)]
    pub max_tool_calls: u64,
    /// Number of tool calls so far.
    #[serde(default)]
    pub n_tool_calls: u64,
    /// Number of tool calls before the last re-run, which starts with a limit of its own.
    #[serde(default)]
    pub n_tool_calls_before: u64,
    /// Number of re-runs after a conflict.
    #[serde(default)]
    pub n_reruns: u64,
    /// Whether a re-run is in progress.
    #[serde(default)]
    pub is_rerunning: bool,
    /// Text of the last answer.
    #[serde(default)]
    pub answer: String,
    /// Use of models.
    #[serde(default)]
    pub usage: Spent,
    /// Reason of the failure, or of a cancellation by the end of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Requests for the server that runs the job. Replies do not have it.
    #[serde(default, skip_serializing_if = "JobControl::is_empty")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub control: JobControl,
}

/// Requests of the user for the server that runs a job, which may be another one than the server that was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobControl {
    /// The next message for the agent: the instruction, or the answer to a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Whether the user cancelled the job.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cancelled: bool,
    /// Messages of the user during the job, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steering: Vec<String>,
    /// Decisions on tool calls by the id of the call.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub decisions: BTreeMap<String, JobDecision>,
    /// Name of the answer for which the job waits while no server works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Number of such waits so far.
    #[serde(skip_serializing_if = "is_zero")]
    pub n_waits: u64,
    /// An application of the review that has begun, until its end is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applying: Option<Applying>,
    /// Files with a conflict whose edits the agent is to propose anew, until the re-run is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun: Option<Vec<String>>,
    /// Whether the terminal event is in the log. A job that an undo reopened has no second one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_ended: bool,
}

/// The pending hunks of a job when an application of its review began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applying {
    /// The hunks to accept.
    pub accepted: Vec<String>,
    /// The other hunks.
    pub others: Vec<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl JobControl {
    /// Returns whether there are no requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A decision of the user on a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobDecision {
    /// The call may run.
    Allow,
    /// The call and later ones like it may run.
    AllowAlways,
    /// The call may not run.
    Deny(Option<String>),
}

impl JobRecord {
    /// Returns the record without the requests of the user, as replies show it.
    #[must_use]
    pub fn shown(self) -> Self {
        Self { control: JobControl::default(), ..self }
    }
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventRecord {
    /// Position in the session: starts at 1 and increases by 1 without gaps.
    pub cursor: u64,
    /// Position among the events of all sessions: increases, starts at 1, without gaps except those of deleted sessions.
    pub seq: u64,
    /// Type, for example `tool.call.completed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time.
    pub ts: Timestamp,
    /// Id of the session.
    pub session_id: String,
    /// Id of the job, if the event belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// Data of the type.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub data: Value,
}
