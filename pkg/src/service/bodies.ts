/**
 * The bodies of all requests and replies, and the table of operations.
 *
 * Generated from docs/openapi.json by `UPDATE_EXPECT=1 node --test pkg/test/service-bodies.test.mjs`; do not edit this
 * file by hand.
 */

/** The decided hunks of one file. */
export interface AppliedFileBody {
  /** Number of accepted hunks. */
  applied_hunks: number;
  /** Path of the file. */
  file_path: string;
  /** Number of rejected hunks. */
  rejected_hunks: number;
}

/** Reply of `POST /api/agent/apply`. */
export interface ApplyReply {
  /** Files with decided hunks. */
  applied_files: AppliedFileBody[];
  /** State of the job. */
  status: JobStatus;
}

/** Body of `POST /api/agent/apply`. */
export interface ApplyRequest {
  /** Hunks to accept. The job's other pending hunks are rejected. */
  accepted_hunk_ids: string[];
  /** Id of the job. */
  job_id: string;
  /** Whether hunks that do not overlap with a change on disk are applied in spite of it. */
  rebase?: boolean | undefined;
  /** Revision of the review that the user saw; that at the end of the job if absent. */
  review_revision?: number | null | undefined;
  /** Id of the session. */
  session_id: string;
}

/** A decision on a tool call. */
export type ApproveDecision = "allow" | "allow_always" | "deny";

/** Body of `POST /api/agent/jobs/{job_id}/approve`. */
export interface ApproveRequest {
  /** The decision. */
  decision: ApproveDecision;
  /** Reason of a denial, for the model. */
  reason?: string | null | undefined;
  /** Id of the tool call. */
  tool_call_id: string;
}

/** Limits on the use of models. A limit of 0 means unlimited. */
export interface Budget {
  /** Maximum cost in US dollars at list price. */
  cost_usd?: number | undefined;
  /** Maximum duration in milliseconds. */
  duration_ms?: number | undefined;
  /** Maximum tokens of requests and responses. */
  tokens?: number | undefined;
}

/** The text of a file. */
export interface Buffer {
  /** Text with pending edits; null if the file does not exist then. */
  content?: string | null | undefined;
  /** Path of the file. */
  file_path: string;
  /** Number of pending hunks. */
  pending_hunks: number;
  /** Workspace revision of the last change. */
  revision: number;
  /** Text on disk; null if the file does not exist. */
  saved_content?: string | null | undefined;
}

/** One message of a conversation, as a client shows it. */
export interface ChatMessage {
  /** Time. */
  at: string;
  /** `user`, `assistant`, `steering` or `tool`. */
  role: string;
  /** Text; for `tool`, a summary of the calls and results. */
  text: string;
  /** Names of the tools that an assistant's message calls. */
  tools?: string[] | undefined;
}

/** Checkpoints. */
export interface CheckpointList {
  /** Checkpoints, oldest first. */
  checkpoints: CheckpointSummary[];
}

/** One checkpoint. */
export interface CheckpointSummary {
  /** Paths of the changed files. */
  affected_files: string[];
  /** Id. */
  checkpoint_id: string;
  /** Time of the first change. */
  created_at: string;
  /** Whether a change of the job is in effect. */
  is_on: boolean;
  /** Id of the job. */
  job_id: string;
  /** Id of the session. */
  session_id: string;
}

/** Body of `POST /api/agent/jobs/{job_id}/clarify`. */
export interface ClarifyRequest {
  /** The answer. `no_user_answer` skips the question. */
  answer: string;
  /** Id of the question. */
  question_id: string;
}

/** A comment of the user on lines of a file, for the next instruction. */
export interface Comment {
  /** Id within the session. */
  comment_id: string;
  /** Time of the comment. */
  created_at: string;
  /** Last line. */
  end_line: number;
  /** Path of the file. */
  file_path: string;
  /** Whether the comment was sent to the agent. */
  sent: boolean;
  /** The lines when the comment was made. */
  snippet: string;
  /** Whether the lines of the snippet are no longer in the file. */
  stale?: boolean | undefined;
  /** First line, from 1, in the visible text when the comment was made. */
  start_line: number;
  /** The comment. */
  text: string;
}

/** The comments of a session. */
export interface CommentList {
  /** Comments, oldest first. */
  comments: Comment[];
  /** Number of comments that were not sent. */
  unsent: number;
}

/** Body of `POST /api/agent/sessions/{session_id}/comments`. */
export interface CommentRequest {
  /** Last line. */
  end_line: number;
  /** Path of the file. */
  file_path: string;
  /** First line in the visible text, from 1. */
  start_line: number;
  /** The comment. */
  text: string;
}

/** The origin of a context row. */
export type ContextKind = "selection" | "file" | "note";

/** A block of context that the user pins to a session. Its text goes with each instruction. */
export interface ContextRow {
  /** The text. If it is absent, the service reads the lines from the file when the job starts. */
  content?: string | null | undefined;
  /** Last line of the text in the file. */
  end_line?: number | null | undefined;
  /** Path of the file, if the text comes from one. */
  file_path?: string | null | undefined;
  /** Id within the session. */
  id: string;
  /** Origin of the text. */
  kind: ContextKind;
  /** First line of the text in the file, from 1. */
  start_line?: number | null | undefined;
}

/** Body of `POST /api/agent/sessions`. */
export interface CreateSession {
  budget?: Budget | undefined;
  /** Whether the first edit of each job needs the user's confirmation. */
  confirm_before_edits?: boolean | undefined;
  /** Pinned context. */
  context_rows?: ContextRow[] | undefined;
  job_budget?: Budget | undefined;
  mode?: WorkMode | undefined;
  /** Model, as the host names it; its default if absent. */
  model?: string | null | undefined;
  /** Title; the first line of the first instruction if absent. */
  title?: string | null | undefined;
}

/** Body of `POST /api/agent/decisions`. */
export interface DecideRequest {
  /** Whether to decide on all pending hunks. */
  all?: boolean | undefined;
  /** The decision. */
  decision: DecisionName;
  /** Treatment of later changes that depend on a rejected hunk. */
  dependents?: DependentsName | undefined;
  /** File with the hunks to decide on. */
  file_path?: string | null | undefined;
  /** Hunks to decide on. */
  hunk_ids?: string[] | null | undefined;
}

/** A decision on hunks. */
export type DecisionName = "accept" | "accept_over" | "reject";

/** The treatment of dependent changes. */
export type DependentsName = "refuse" | "only" | "with";

/** Reply of operations without result. */
export interface Done {
  /** True. */
  ok: boolean;
}

/** A failure in JSON. */
export interface ErrorBody {
  /** Stable code. */
  code: string;
  /** Details. */
  data?: Record<string, unknown> | undefined;
  /** The problem and the next step. */
  message: string;
  /** Suggestions, best first. */
  suggestions?: string[] | undefined;
}

/** Events of all sessions after a number. */
export interface EventList {
  /** Events in order. */
  events: EventRecord[];
  /** Value of `after` for the next request. */
  next: number;
}

/** An event of a session. */
export interface EventRecord {
  /** Position in the session: starts at 1 and increases by 1 without gaps. */
  cursor: number;
  /** Data of the type. */
  data: Record<string, unknown>;
  /** Id of the job, if the event belongs to one. */
  job_id?: string | null | undefined;
  /** Position among the events of all sessions: increases, starts at 1, without gaps. */
  seq: number;
  /** Id of the session. */
  session_id: string;
  /** Time. */
  ts: string;
  /** Type, for example `tool.call.completed`. */
  type: string;
}

/** Reply of a request that failed. */
export interface Failure {
  ok: false;
  error: ErrorBody;
}

/** An instruction that waits for the end of the current job. */
export interface FollowUp {
  /** Time of the request. */
  created_at: string;
  /** Id within the session. */
  follow_up_id: string;
  /** The instruction. */
  text: string;
}

/** Queued instructions. */
export interface FollowUpList {
  /** Instructions in order. */
  follow_ups: FollowUp[];
  /** Job that was started, if the session was idle. */
  started_job_id?: string | null | undefined;
}

/** Events of a job after a cursor. */
export interface JobEvents {
  /** Events in order. */
  events: EventRecord[];
  /** Id of the job. */
  job_id: string;
  /** Cursor for the next request. */
  next_cursor: number;
  /** State of the job. */
  status: JobStatus;
}

/** The jobs of a session. */
export interface JobList {
  /** Jobs, oldest first. */
  jobs: JobRecord[];
}

/** A job: the work on one instruction. */
export interface JobRecord {
  /** Text of the last answer. */
  answer?: string | undefined;
  /** Open approval requests. */
  approvals?: OpenApproval[] | undefined;
  /** Id of the checkpoint: the state before the job. Absent until the job starts. */
  checkpoint_id?: string | null | undefined;
  /** Time of the request. */
  created_at: string;
  /** Cursor of the newest event of the job. */
  cursor: number;
  error?: ErrorBody | null | undefined;
  finished_at?: string | null | undefined;
  /** The instruction. */
  instruction: string;
  /** Id. */
  job_id: string;
  /** Maximum number of tool calls; 0 means unlimited. */
  max_tool_calls?: number | undefined;
  /** Number of questions so far. */
  n_questions?: number | undefined;
  /** Number of re-runs after a conflict. */
  n_reruns?: number | undefined;
  /** Number of tool calls so far. */
  n_tool_calls?: number | undefined;
  question?: Question | null | undefined;
  /** Workspace revision when the job entered `awaiting_review`. */
  review_revision?: number | null | undefined;
  /** Workspace runs of the job. A re-run and the answer to a question start another run. */
  runs?: number[] | undefined;
  /** Id of the session. */
  session_id: string;
  started_at?: string | null | undefined;
  /** State. */
  status: JobStatus;
  /** Use of models. */
  usage?: Spent | undefined;
}

/** A job with its review. */
export type JobState = JobRecord & {
  /** Hunks of the job, while it awaits review; else null. */
  diff_bundle: Record<string, unknown>;
  /** Edits of the job, whatever tool made them. */
  proposed_edits: Record<string, unknown>[];
};

/** The state of a job. */
export type JobStatus =
  | "queued"
  | "running"
  | "waiting_for_user"
  | "awaiting_review"
  | "completed"
  | "failed"
  | "cancelled";

/** The trace of a job. */
export interface JobTrace {
  /** Id of the job. */
  job_id: string;
  /** Steps in order. */
  steps: TraceStep[];
}

/** A tool call that waits for the user's approval. */
export interface OpenApproval {
  /** Arguments of the call. */
  arguments: Record<string, unknown>;
  /** Preview: a command with its directory, or a diff. */
  detail: Record<string, unknown>;
  /** Name of the tool as the model knows it. */
  tool: string;
  /** Id of the tool call. */
  tool_call_id: string;
}

/** A question of the agent. A job has at most one. */
export interface Question {
  /** Fields of a question with several parts, as the tool defines them. */
  fields?: Record<string, unknown> | undefined;
  /** Likely answers, best first. */
  options?: string[] | undefined;
  /** The question. */
  question: string;
  /** Id within the job. */
  question_id: string;
}

/** Pending hunks of all files, or of some runs. */
export interface ReviewBody {
  /** Files with pending hunks, by path. */
  files: ReviewFileBody[];
  /** Workspace revision of this review. */
  revision: number;
}

/** The pending hunks of one file. */
export interface ReviewFileBody {
  /** Number of lines that the hunks add. */
  added: number;
  /** Path of the file. */
  file_path: string;
  /** Hunks in file order. */
  hunks: ReviewHunkBody[];
  /** `create`, `update` or `delete`. */
  operation: string;
  /** Number of lines that the hunks remove. */
  removed: number;
}

/** A pending hunk. */
export interface ReviewHunkBody {
  /** Whether the user or another program has changed the same lines since. */
  contested: boolean;
  /** Number of later changes that depend on it. */
  dependents: number;
  /** Id for decisions. */
  hunk_id: string;
  /** Whether the disk holds the hunk although it is pending, because the user edited inside it. */
  kept_by_user: boolean;
  /** Lines of the hunk and its context. */
  lines: ReviewLineBody[];
  /** Number of lines in the visible text. */
  new_lines: number;
  /** First line in the visible text, from 1. */
  new_start: number;
  /** Number of lines in the text without the hunk. */
  old_lines: number;
  /** First line in the text without the hunk, from 1. */
  old_start: number;
  /** Whether it exceeds the size of a hunk and cannot be cut automatically. */
  oversized_hunk: boolean;
  /** Whether it deletes a line that the user wrote. */
  removes_user_lines: boolean;
  /** Lines that the user or another program put in its place, if it is contested. */
  yours?: string[] | undefined;
}

/** One line of a hunk. */
export interface ReviewLineBody {
  /** `context`, `added` or `removed`. */
  kind: string;
  /** Line number in the visible text, from 1. */
  new_number?: number | null | undefined;
  /** Line number without the hunk, from 1. */
  old_number?: number | null | undefined;
  /** Changed words, as ranges of UTF-16 code units, if one line replaces another. */
  spans?: [number, number][] | undefined;
  /** Text with its line ending. */
  text: string;
}

/** Reply of `POST /api/agent/run`. */
export interface RunReply {
  /** Cursor of the session before the job's first event. */
  cursor: number;
  /** Id of the job. */
  job_id: string;
  /** State of the job. */
  status: JobStatus;
}

/** Body of `POST /api/agent/run`. */
export interface RunRequest {
  /** Context for this instruction. The rows stay pinned to the session. */
  context_rows?: ContextRow[] | undefined;
  /** The instruction. */
  instruction: string;
  /** Id of the session. */
  session_id: string;
  /** Settings of this job. */
  tool_config?: ToolConfig | undefined;
}

/** Limits of a service. 0 means unlimited. */
export interface ServiceLimits {
  /** Time in hours for which a job is kept after its end. */
  completed_ttl_hours?: number | undefined;
  /** Maximum number of events that are kept for each job. */
  max_events_per_job?: number | undefined;
  /** Maximum number of follow-ups that wait in a session. */
  max_follow_ups?: number | undefined;
  /** Maximum number of bytes of a hunk before it is split. */
  max_hunk_bytes?: number | undefined;
  /** Maximum number of lines of a hunk before it is split. */
  max_hunk_lines?: number | undefined;
  /** Maximum number of jobs that are kept for each session. */
  max_jobs_per_session?: number | undefined;
  /** Number of bytes that a read returns if the call names none. */
  max_read_bytes_default?: number | undefined;
  /** Number of lines that a read returns if the call names none. */
  max_read_lines_default?: number | undefined;
  /** Maximum number of re-runs of a job after conflicts. */
  max_reruns?: number | undefined;
  /** Maximum number of jobs that run at the same time in all sessions. */
  max_running_jobs?: number | undefined;
  /** Maximum number of consecutive tool calls that do not match their schema. */
  max_schema_retries?: number | undefined;
  /** Maximum number of search results. */
  max_search_results_cap?: number | undefined;
  /** Number of search results if a call names none. */
  max_search_results_default?: number | undefined;
  /** Maximum number of lines of a search result. */
  max_search_snippet_lines?: number | undefined;
  /** Maximum number of active sessions. */
  max_sessions?: number | undefined;
  /** Maximum length of an instruction or another text of a request in bytes. */
  max_text_bytes?: number | undefined;
  /** Maximum number of tool calls of a job. */
  max_tool_calls_per_job?: number | undefined;
  /** Time between two polls of a client in milliseconds. */
  poll_interval_ms?: number | undefined;
}

/** A page of sessions. */
export interface SessionList {
  /** Value of `after` for the next page; absent on the last page. */
  next?: string | null | undefined;
  /** Sessions, newest change first. */
  sessions: SessionRecord[];
  /** Number of sessions on all pages. */
  total: number;
}

/** A session: one conversation with its jobs. */
export interface SessionRecord {
  /** Limits on all jobs of the session together. */
  budget: Budget;
  /** Comments on lines. */
  comments: Comment[];
  /** Whether the first edit of each job needs the user's confirmation. */
  confirm_before_edits: boolean;
  /** Pinned context. */
  context_rows: ContextRow[];
  /** Time of creation. */
  created_at: string;
  /** Cursor of the newest event of the session. */
  cursor: number;
  /** Instructions that wait for the end of the current job. */
  follow_ups: FollowUp[];
  /** Limits on each job. */
  job_budget: Budget;
  /** Id of the newest job. */
  last_job_id?: string | null | undefined;
  /** How edits reach the disk. */
  mode: WorkMode;
  /** Model, as the host names it. */
  model: string;
  /** Number of jobs so far, purged ones included. */
  n_jobs: number;
  /** Id: a UUID. */
  session_id: string;
  /** Use of models by all jobs. */
  spent: Spent;
  /** Whether the session is in use. */
  status: SessionStatus;
  /** Title; the first line of the first instruction unless the user sets another. */
  title: string;
  /** Workspace revision up to which the model was told the user's decisions. */
  told_revision?: number | undefined;
  /** Time of the last change. */
  updated_at: string;
}

/** A session with its conversation and its review. */
export type SessionSnapshot = SessionRecord & {
  /** Conversation. */
  chat: ChatMessage[];
  job?: JobRecord | null | undefined;
  /** Pending hunks of the session; absent if there are none. */
  pending_review?: Record<string, unknown> | undefined;
  /** Number of the newest event of all sessions: a stream of all sessions continues after it. */
  seq: number;
};

/** Whether a session is in use. */
export type SessionStatus = "active" | "archived";

/** The use of models so far. */
export interface Spent {
  /** Cost in US dollars at list price. Responses of models without a known price add nothing. */
  cost_usd?: number | undefined;
  /** Duration of the runs in milliseconds, waits for the user included. */
  duration_ms?: number | undefined;
  /** Tokens of requests. */
  input_tokens?: number | undefined;
  /** Tokens of responses. */
  output_tokens?: number | undefined;
  /** Sum of both. */
  total_tokens?: number | undefined;
}

/** Body of requests with one text. */
export interface TextRequest {
  /** The text. */
  text: string;
}

/** Settings of one job. */
export interface ToolConfig {
  /** Maximum number of tool calls; the limit of the service if absent. */
  max_tool_calls?: number | null | undefined;
}

/** One step of a trace. */
export interface TraceStep {
  /** Milliseconds since the first step. */
  at_ms: number;
  /** Cursor of the event. */
  cursor: number;
  /** Summary of the data. */
  summary: string;
  /** Time. */
  ts: string;
  /** Type of the event. */
  type: string;
}

/** Body of `PATCH /api/agent/sessions/{session_id}`. Absent fields stay. */
export interface UpdateSession {
  budget?: Budget | null | undefined;
  /** Whether the first edit of each job needs the user's confirmation. */
  confirm_before_edits?: boolean | null | undefined;
  /** Pinned context, in place of the present rows. */
  context_rows?: ContextRow[] | null | undefined;
  job_budget?: Budget | null | undefined;
  mode?: WorkMode | null | undefined;
  status?: SessionStatus | null | undefined;
  /** Title. */
  title?: string | null | undefined;
}

/** Body of `POST /api/agent/user_edit`. */
export interface UserEditRequest {
  /** Text that the user edited. Edits of the agent since then are merged. Absent: the present text. */
  base?: string | null | undefined;
  /** New text; null deletes the file. */
  content?: string | null | undefined;
  /** Path of the file. */
  file_path: string;
}

/** How the edits of a session reach the disk. */
export type WorkMode = "ask" | "review" | "direct";

/** The input of an operation that takes none. */
export type NoInput = Record<never, never>;

/** The input and the reply of each operation without stream. Parameters of the path and the query are fields. */
export interface Operations {
  /** Creates a session. */
  CreateSession: { input: { body?: CreateSession | undefined }; reply: SessionRecord };
  /** Lists or searches sessions, newest change first. */
  ListSessions: {
    input: {
      query?: string | undefined;
      status?: string | undefined;
      limit?: number | undefined;
      after?: string | undefined;
    };
    reply: SessionList;
  };
  /** Returns a session with its conversation and its review. */
  GetSession: { input: { session_id: string }; reply: SessionSnapshot };
  /** Changes the title, the status, the mode, the budgets or the context rows of a session. */
  UpdateSession: { input: { session_id: string; body?: UpdateSession | undefined }; reply: SessionRecord };
  /** Removes a session with its jobs, events and conversation. Files are not changed. */
  DeleteSession: { input: { session_id: string }; reply: Done };
  /** Starts a job for an instruction. */
  Run: { input: { body: RunRequest }; reply: RunReply };
  /** Returns a job, with its diff bundle while it awaits review. */
  GetJob: { input: { job_id: string }; reply: JobState };
  /** Lists the jobs of a session, oldest first. */
  ListJobs: { input: { session_id: string }; reply: JobList };
  /** Returns the events of a job after a cursor. */
  JobEvents: { input: { job_id: string; cursor?: number | undefined; limit?: number | undefined }; reply: JobEvents };
  /** Returns the events of all sessions after a number. */
  AllEvents: { input: { after?: number | undefined; limit?: number | undefined }; reply: EventList };
  /** Answers the question of a job. */
  Clarify: { input: { job_id: string; body: ClarifyRequest }; reply: JobRecord };
  /** Decides on a tool call that waits for approval. */
  Approve: { input: { job_id: string; body: ApproveRequest }; reply: JobRecord };
  /** Cancels a job. Its edits stay in review. */
  Cancel: { input: { job_id: string }; reply: JobRecord };
  /** Gives a running job another message. */
  Steer: { input: { job_id: string; body: TextRequest }; reply: Done };
  /** Returns the trace of a job: its events without text deltas, with durations. */
  JobTrace: { input: { job_id: string }; reply: JobTrace };
  /** Accepts hunks of a job, rejects its others, and writes the accepted ones to the disk. */
  Apply: { input: { body: ApplyRequest }; reply: ApplyReply };
  /** Returns the pending hunks of all files, or of some jobs. */
  GetReview: { input: { job_id?: string | undefined; session_id?: string | undefined }; reply: ReviewBody };
  /** Accepts or rejects hunks, lines, files or everything; says first, on request, what that touches. */
  Decide: { input: { body: DecideRequest }; reply: ReviewBody };
  /** Undoes the user's last edit or decision. */
  Undo: { input: NoInput; reply: ReviewBody };
  /** Redoes the last undo. */
  Redo: { input: NoInput; reply: ReviewBody };
  /** Returns the text of a file: visible with pending edits, and on disk. */
  GetBuffer: { input: { file_path?: string | undefined }; reply: Buffer };
  /** Replaces the text of a file for the user. Pending edits of the agent since `base` are merged. */
  UserEdit: { input: { body: UserEditRequest }; reply: Buffer };
  /** Lists the instructions that wait for the end of the current job. */
  ListFollowUps: { input: { session_id: string }; reply: FollowUpList };
  /** Queues an instruction. An idle session starts it at once. */
  AddFollowUp: { input: { session_id: string; body: TextRequest }; reply: FollowUpList };
  /** Changes a queued instruction. */
  EditFollowUp: { input: { session_id: string; follow_up_id: string; body: TextRequest }; reply: FollowUpList };
  /** Withdraws a queued instruction. */
  WithdrawFollowUp: { input: { session_id: string; follow_up_id: string }; reply: FollowUpList };
  /** Gives a queued instruction to the running job at once. */
  SendFollowUp: { input: { session_id: string; follow_up_id: string }; reply: FollowUpList };
  /** Adds a comment on lines of a file. */
  AddComment: { input: { session_id: string; body: CommentRequest }; reply: CommentList };
  /** Lists the comments of a session; comments on lines that changed are stale. */
  ListComments: { input: { session_id: string }; reply: CommentList };
  /** Removes a comment. */
  RemoveComment: { input: { session_id: string; comment_id: string }; reply: CommentList };
  /** Sends all unsent comments as one instruction. */
  SendComments: { input: { session_id: string }; reply: RunReply };
  /** Lists the checkpoints: the states before each job. */
  ListCheckpoints: { input: { session_id?: string | undefined }; reply: CheckpointList };
  /** Returns the limits of the service. */
  GetSettings: { input: NoInput; reply: ServiceLimits };
}

/** Method and path of each operation without stream. */
export const OPERATIONS: Readonly<Record<keyof Operations, string>> = {
  CreateSession: "POST /api/agent/sessions",
  ListSessions: "GET /api/agent/sessions",
  GetSession: "GET /api/agent/sessions/{session_id}",
  UpdateSession: "PATCH /api/agent/sessions/{session_id}",
  DeleteSession: "DELETE /api/agent/sessions/{session_id}",
  Run: "POST /api/agent/run",
  GetJob: "GET /api/agent/jobs/{job_id}",
  ListJobs: "GET /api/agent/sessions/{session_id}/jobs",
  JobEvents: "GET /api/agent/jobs/{job_id}/events",
  AllEvents: "GET /api/agent/events",
  Clarify: "POST /api/agent/jobs/{job_id}/clarify",
  Approve: "POST /api/agent/jobs/{job_id}/approve",
  Cancel: "POST /api/agent/jobs/{job_id}/cancel",
  Steer: "POST /api/agent/jobs/{job_id}/steer",
  JobTrace: "GET /api/agent/jobs/{job_id}/trace",
  Apply: "POST /api/agent/apply",
  GetReview: "GET /api/agent/review",
  Decide: "POST /api/agent/decisions",
  Undo: "POST /api/agent/undo",
  Redo: "POST /api/agent/redo",
  GetBuffer: "GET /api/agent/buffer",
  UserEdit: "POST /api/agent/user_edit",
  ListFollowUps: "GET /api/agent/sessions/{session_id}/follow_ups",
  AddFollowUp: "POST /api/agent/sessions/{session_id}/follow_ups",
  EditFollowUp: "PATCH /api/agent/sessions/{session_id}/follow_ups/{follow_up_id}",
  WithdrawFollowUp: "DELETE /api/agent/sessions/{session_id}/follow_ups/{follow_up_id}",
  SendFollowUp: "POST /api/agent/sessions/{session_id}/follow_ups/{follow_up_id}/send",
  AddComment: "POST /api/agent/sessions/{session_id}/comments",
  ListComments: "GET /api/agent/sessions/{session_id}/comments",
  RemoveComment: "DELETE /api/agent/sessions/{session_id}/comments/{comment_id}",
  SendComments: "POST /api/agent/sessions/{session_id}/comments/send",
  ListCheckpoints: "GET /api/agent/checkpoints",
  GetSettings: "GET /api/agent/settings",
};
