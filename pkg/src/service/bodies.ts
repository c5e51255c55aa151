/**
 * The bodies of all requests and replies, and the table of operations. Over 600 lines: one document describes them.
 *
 * Generated from docs/openapi.json by `UPDATE_EXPECT=1 node --test pkg/test/service-bodies.test.mjs`; do not edit this
 * file by hand.
 */

/** The choice between the model of a session and the second model of the host. */
export type AgentMode = "local" | "remote" | "hybrid_auto";

/** The decided hunks of one file. */
export interface AppliedFileBody {
  /** Number of accepted hunks. */
  applied_hunks: number;
  /** Accepted hunks that overlap with a change on disk. They stay pending. */
  conflicts?: string[] | undefined;
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
  /** Files with unsaved edits: their accepted hunks wait for `POST /api/agent/save`, too. */
  unsaved?: string[] | undefined;
}

/** Body of `POST /api/agent/apply`. */
export interface ApplyRequest {
  /** Hunks to accept. The job's other pending hunks are rejected. */
  accepted_hunk_ids: string[];
  /** Id of the job. */
  job_id: string;
  /** Whether hunks that do not overlap with a change on disk are applied in spite of it. */
  rebase?: boolean | undefined;
  /** Whether the agent proposes the edits anew after a conflict. */
  rerun?: boolean | undefined;
  /** Revision of the review that the user saw. If a file of the job has changed since, the application is refused. Absent: not checked; the ids of hunks name the same edits at any revision. */
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
  /** Maximum duration in milliseconds. The wait for a decision on a tool call counts, that for an answer to a question does not. */
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
  /** In the reply to `POST /api/agent/user_edit`: lines that others wrote since `base`, and that the edit replaced. An undo of the edit brings them back. */
  replaced?: ReplacedLinesBody[] | undefined;
  /** Workspace revision of the last change. */
  revision: number;
  /** Text on disk; null if the file does not exist. */
  saved_content?: string | null | undefined;
  /** Whether the file has edits that wait for `POST /api/agent/save`. */
  unsaved: boolean;
}

/** The hunks of one file of a job. */
export interface BundleFileBody {
  /** Hash of the file on disk, which the patches of pending hunks change; that of the empty content if there was no file. */
  base_file_hash: string;
  /** Path of the file. */
  file_path: string;
  /** The agent's hunks in file order, and then those of the user. */
  hunks: BundleHunkBody[];
}

/** One hunk of a job. */
export interface BundleHunkBody {
  /** Whether the user accepted it; null while it is pending. */
  accepted?: boolean | null | undefined;
  /** Whether the user or another program has changed the same lines since. */
  contested: boolean;
  /** Ids of the proposed edits that made it. Empty for the user's own hunks. */
  edit_ids: string[];
  /** Id for decisions. */
  hunk_id: string;
  /** Whether the disk holds it although it is pending, because the user edited inside it. */
  kept_by_user: boolean;
  /** Hunks of other jobs that are accepted with this one, at least in part. Absent if there are none. */
  needs?: string[] | undefined;
  /** `agent`, or `user` for the user's own edits during the job. */
  origin: string;
  /** Whether it exceeds the size of a hunk: split it, or accept it as one. */
  oversized_hunk: boolean;
  /** The hunk in unified format, with its `@@` line and three lines of context. */
  patch: string;
  /** Whether it deletes a line that the user wrote. */
  removes_user_lines: boolean;
}

/** The canvas and its lease. */
export interface CanvasBody {
  /** Hash of the artefact, which is the text on disk; null without a file there. */
  artefact_hash?: string | null | undefined;
  /** Hash of the draft, which is the text with pending edits: the same as `revision_id`. */
  draft_hash?: string | null | undefined;
  /** Generation counter: it grows when the user takes the canvas back. */
  epoch: number;
  /** Expiry of the lease without renewal, in milliseconds since 1970. */
  expires_at?: number | null | undefined;
  /** Path of the open file; null if none is open. */
  file_path?: string | null | undefined;
  /** Whether an agent holds the lease. */
  held: boolean;
  /** Revision of the text: its SHA-256; null if no file is open. */
  revision_id?: string | null | undefined;
  /** Whether the draft has edits that wait for a promotion. Edits that wait for review do not count. */
  unsaved: boolean;
}

/** Body of `POST …/canvas/edit_lines`. */
export interface CanvasEditRequest {
  /** Revision whose lines the edits number. */
  base_revision_id: string;
  /** Edits: all are applied, or none. */
  edits: CanvasLineEdit[];
  /** Id of the lease. */
  lease_id: string;
}

/** An applied edit. */
export interface CanvasEdited {
  /** Number of changed places. */
  applied_hunks: number;
  /** Number of lines of the canvas after the edit. */
  n_lines: number;
  /** Revision of the canvas after the edit. */
  new_revision_id: string;
  /** True. */
  ok: boolean;
  /** The same revision, as in every reply. */
  revision_id: string;
  /** Hash of the draft, which is the text with pending edits: the same as `revision_id`. */
  draft_hash?: string | null | undefined;
  /** Hash of the artefact, which is the text on disk; null without a file there. */
  artefact_hash?: string | null | undefined;
}

/** The canvas in a session. */
export interface CanvasFlags {
  /** Whether every canvas tool needs a lease. */
  enforce_lease?: boolean | undefined;
  /** Whether the agent has the canvas tools, and is told about changes of the canvas. */
  tools?: boolean | undefined;
}

/** Body of `POST …/canvas/grep`. */
export interface CanvasGrepRequest {
  /** Id of the lease. */
  lease_id: string;
  /** Text or regular expression. */
  query: string;
  /** Whether the query is a regular expression. */
  regex?: boolean | undefined;
}

/** Body of canvas operations that need a lease only. */
export interface CanvasLeaseRequest {
  /** Id of the lease. */
  lease_id?: string | undefined;
}

/** An edit of lines of the canvas. */
export interface CanvasLineEdit {
  /** Last line; `start_line` if absent. */
  end_line?: number | null | undefined;
  /** New lines; empty for a deletion. */
  new_text?: string | undefined;
  /** The operation. */
  operation: CanvasLineOperation;
  /** First line, from 1. An insert goes before this line. */
  start_line: number;
}

/** An operation on lines. */
export type CanvasLineOperation = "replace" | "insert" | "delete";

/** Lines of the canvas. */
export interface CanvasLines {
  /** Last line; less than `start_line` if the canvas is empty. */
  end_line: number;
  /** Number of lines of the canvas. */
  n_lines: number;
  /** Revision of the canvas. */
  revision_id: string;
  /** First line, from 1. */
  start_line: number;
  /** The lines. */
  text: string;
  /** Hash of the draft, which is the text with pending edits: the same as `revision_id`. */
  draft_hash?: string | null | undefined;
  /** Hash of the artefact, which is the text on disk; null without a file there. */
  artefact_hash?: string | null | undefined;
}

/** A matching line. */
export interface CanvasMatch {
  /** Line number, from 1. */
  line: number;
  /** Text without its line ending. */
  text: string;
}

/** The matches of a search. */
export interface CanvasMatches {
  /** Matching lines in order. */
  matches: CanvasMatch[];
  /** Revision of the canvas. */
  revision_id: string;
  /** Whether there are more. */
  truncated: boolean;
  /** Hash of the draft, which is the text with pending edits: the same as `revision_id`. */
  draft_hash?: string | null | undefined;
  /** Hash of the artefact, which is the text on disk; null without a file there. */
  artefact_hash?: string | null | undefined;
}

/** Body of `POST …/canvas/open`. */
export interface CanvasOpenRequest {
  /** Path of the file to show; null closes the canvas. */
  file_path?: string | null | undefined;
}

/** Body of `POST …/canvas/apply_patch`. */
export interface CanvasPatchRequest {
  /** Revision that the patch was made for. */
  base_revision_id: string;
  /** Id of the lease. */
  lease_id: string;
  /** Unified diff whose hunks stand exactly at their lines. */
  patch: string;
}

/** Body of `POST …/canvas/promote`. */
export interface CanvasPromoteRequest {
  /** Hash of the draft that the user saw. */
  draft_hash: string;
}

/** Body of `POST …/canvas/read_lines`: lines by number, or a section. */
export interface CanvasReadRequest {
  /** Last line; `start_line` if absent. */
  end_line?: number | null | undefined;
  /** Number of a list item of the section, from 1. */
  item?: number | null | undefined;
  /** Id of the lease. */
  lease_id: string;
  /** A heading as in the text, for example `## Plan`. */
  section?: string | null | undefined;
  /** First line, from 1. */
  start_line?: number | null | undefined;
}

/** Body of `POST …/canvas/user_edit`. */
export interface CanvasUserEdit {
  /** Text that the user edited. Absent: the present text. */
  base?: string | null | undefined;
  /** New text of the canvas. */
  content: string;
  /** Whether the disk gets the file at once. Otherwise the text waits for `POST /api/agent/save`. */
  save?: boolean | undefined;
}

/** The changes of files, by the agent and by the user. */
export interface ChangeLogBody {
  /** Changes, by file and place. */
  changes: ChangeLogEntry[];
}

/** One change. */
export interface ChangeLogEntry {
  /** SHA-256 of the file on disk before the pending changes, as `sha256:…`. */
  file_hash_before: string;
  /** Path of the file. */
  file_path: string;
  /** Patch that makes the change. */
  forward_patch: string;
  /** Id of the hunk. */
  id: string;
  /** `agent` or `user`. */
  origin: string;
  /** Patch that takes it back. */
  reverse_patch: string;
  /** `pending`, `accepted` or `rejected`. */
  status: string;
}

/** One message of a conversation, as a client shows it. */
export interface ChatMessage {
  /** Time. */
  at: string;
  /** `user`, `assistant`, `steering`, `tool`, or, if the request asks for hidden messages, `hidden`. */
  role: string;
  /** Text; for `tool`, a summary of the calls and results. */
  text: string;
  /** Names of the tools that an assistant's message calls. */
  tools?: string[] | undefined;
}

/** A check-out. */
export interface CheckOut {
  /** Generation counter: the user increments it by taking the canvas back. */
  canvas_epoch: number;
  /** Expiry of the lease without renewal, in milliseconds since 1970. */
  expires_at: number;
  /** Path of the canvas. */
  file_path: string;
  /** Id of the lease, for all other operations. */
  lease_id: string;
  /** Number of lines. */
  n_lines: number;
  /** Revision of the canvas. */
  revision_id: string;
  /** The same revision, by its name in the contract. */
  revision_id_at_checkout: string;
  /** Hash of the draft, which is the text with pending edits: the same as `revision_id`. */
  draft_hash?: string | null | undefined;
  /** Hash of the artefact, which is the text on disk; null without a file there. */
  artefact_hash?: string | null | undefined;
}

/** A released lease. */
export interface CheckedIn {
  /** Whether the lease was still held. A second release has no effect. */
  released: boolean;
  /** Revision of the canvas. */
  revision_id: string;
  /** Hash of the draft, which is the text with pending edits: the same as `revision_id`. */
  draft_hash?: string | null | undefined;
  /** Hash of the artefact, which is the text on disk; null without a file there. */
  artefact_hash?: string | null | undefined;
}

/** A checkpoint: the state of the files before a job. */
export interface CheckpointBody {
  /** Paths of the changed files. */
  affected_files: string[];
  /** Id. */
  checkpoint_id: string;
  /** Time of the start of the job. */
  created_at: string;
  /** The text files among them. */
  files: CheckpointFileBody[];
  /** Id of the job. */
  job_id: string;
  /** Files that commands changed and whose former state was not kept. */
  not_undoable: string[];
  /** Id of the session. */
  session_id: string;
}

/** One file of a checkpoint. */
export interface CheckpointFileBody {
  /** SHA-256 of the text before the job, as `sha256:…`; that of the empty content if there was no file. */
  base_snapshot_hash: string;
  /** Path of the file. */
  file_path: string;
  /** Hunks of the job. */
  hunks: CheckpointHunkBody[];
}

/** One hunk of a checkpoint. */
export interface CheckpointHunkBody {
  /** Id for decisions and rollbacks. */
  hunk_id: string;
  /** Patch that takes the hunk back. */
  reverse_patch: string;
  /** `pending`, `accepted`, `rejected` or `rolled_back`. */
  status: string;
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
  /** Whether the file no longer has the lines of the snippet, one after another. The line numbers are then those at the time of the comment. */
  stale?: boolean | undefined;
  /** First line, from 1, in the visible text. It moves with the lines. */
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
  agent_mode?: AgentMode | null | undefined;
  budget?: Budget | undefined;
  canvas?: CanvasFlags | undefined;
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
  tools?: ToolSet | undefined;
}

/** Body of `POST /api/agent/decisions` and `POST /api/agent/decisions/preview`. It names exactly one of `hunk_ids`, `lines`, `file_path`, `job_id` and `all`. */
export interface DecideRequest {
  /** Whether to decide on all pending hunks. A hunk above the size limits is accepted as one; a preview counts such hunks. */
  all?: boolean | undefined;
  /** The decision. A hunk of `hunk_ids` that was decided before is decided anew. */
  decision: DecisionName;
  /** Treatment of later changes that depend on a rejected hunk. */
  dependents?: DependentsName | undefined;
  /** File with the hunks to decide on. */
  file_path?: string | null | undefined;
  /** Hunks to decide on. */
  hunk_ids?: string[] | null | undefined;
  /** Job with the hunks to decide on. */
  job_id?: string | null | undefined;
  /** Lines of hunks to decide on. The other lines stay as they are. */
  lines?: HunkLinesBody[] | null | undefined;
  /** Whether the disk gets the result at once. Otherwise it waits for `POST /api/agent/save`, as does every change of a file that has unsaved edits. */
  save?: boolean | undefined;
}

/** A decision on hunks. */
export type DecisionName = "accept" | "accept_over" | "reject";

/** The treatment of dependent changes. */
export type DependentsName = "refuse" | "only" | "with";

/** Three texts of one file; null if there is no file in that state. */
export interface Diff3Body {
  /** Text as the agent proposed it. */
  agent_proposed?: string | null | undefined;
  /** Text before the job. */
  checkpoint_base?: string | null | undefined;
  /** Text now, with pending edits. */
  current_file?: string | null | undefined;
  /** Path of the file. */
  file_path: string;
}

/** The hunks of a job, decided ones included. */
export interface DiffBundleBody {
  /** Files that the job changed, by path. */
  files: BundleFileBody[];
  /** Id of the job. */
  job_id: string;
  /** Workspace revision when the job entered review; null before. */
  review_revision?: number | null | undefined;
}

/** Reply of operations without result. */
export interface Done {
  /** True. */
  ok: boolean;
}

/** Body of `POST /api/agent/edit_hunk`. */
export interface EditHunkRequest {
  /** Id of the hunk. */
  hunk_id: string;
  /** Whether the disk gets the result at once. Otherwise it waits for `POST /api/agent/save`, as does every change of a file that has unsaved edits. */
  save?: boolean | undefined;
  /** Text in place of the lines that the hunk adds. */
  text: string;
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
  /** Position among the events of all sessions: increases, starts at 1, without gaps except those of deleted sessions. */
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

/** A file of a list. */
export interface FileEntry {
  /** Path. */
  file_path: string;
  /** Size of the visible text in UTF-8, or of the file that is not text. */
  n_bytes: number;
}

/** Files by path. */
export interface FileList {
  /** Files, sorted by path. */
  files: FileEntry[];
  /** Path to give as `after` for the next page. Null on the last page. */
  next?: string | null | undefined;
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

/** Lines of a hunk. */
export interface HunkLinesBody {
  /** Id of the hunk. */
  hunk_id: string;
  /** Positions in `lines` of the hunk, from 0. */
  lines: number[];
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
  /** Whether a re-run is in progress. */
  is_rerunning?: boolean | undefined;
  /** Id. */
  job_id: string;
  /** Maximum number of tool calls; 0 means unlimited. */
  max_tool_calls?: number | undefined;
  /** Number of messages in the conversation before the job. */
  n_messages_before?: number | undefined;
  /** Number of questions so far. */
  n_questions?: number | undefined;
  /** Number of re-runs after a conflict. */
  n_reruns?: number | undefined;
  /** Number of tool calls so far. */
  n_tool_calls?: number | undefined;
  /** Number of tool calls before the last re-run, which starts with a limit of its own. */
  n_tool_calls_before?: number | undefined;
  question?: Question | null | undefined;
  /** Reasons that the model gave for its edits, by the id of the edit. */
  rationales?: Record<string, string> | undefined;
  /** Workspace revision when the job entered `awaiting_review`. */
  review_revision?: number | null | undefined;
  reviewed_at?: string | null | undefined;
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
  diff_bundle?: DiffBundleBody | null | undefined;
  /** Edits of the job, whatever tool made them. */
  proposed_edits: ProposedEditBody[];
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
  /** Preview: a command with its directory (`command`, `workingDir`), or a diff (`fileDiff`). `reachesHidden` is there if the command could read files that a rule hides from the agent: the text is the pattern of that rule. No rule can allow such a command, but the answer `allow_always` can. `notUndoable` names ignored directories in which an undo takes back no change of the command. `paths` names the files that the answer `allow_always` covers. Without it, the answer covers the same command in the same directory, or every call of the tool, until the session is deleted. */
  detail: Record<string, unknown>;
  /** Name of the tool as the model knows it. */
  tool: string;
  /** Id of the tool call. */
  tool_call_id: string;
}

/** The effect of a rollback on a path that has no hunks: a binary file, a link, a directory, mode bits, or a text that cannot be read or written. */
export interface OtherFileBody {
  /** The path. */
  file_path: string;
  /** Whether it has the state from before the job. */
  restored: boolean;
}

/** The whole output of a tool call. */
export interface OutputBody {
  /** Text. */
  output: string;
  /** Name of the output. */
  output_ref: string;
}

/** The files of a session with pending hunks. */
export interface PendingReviewBody {
  /** Paths of the files. */
  files: string[];
  /** Workspace revision. */
  revision: number;
}

/** A permission of the user for the rest of a session. */
export interface Permission {
  /** The command line, if the tool runs one. Only this command is allowed. */
  command?: string | null | undefined;
  /** The files, if the permission is for these files only. */
  files?: string[] | undefined;
  /** Id of the permission: equal permissions have equal ids. */
  permission_id: string;
  /** Canonical name of the tool. */
  tool: string;
  /** The directory of the command, if it is not that of the project. */
  working_dir?: string | null | undefined;
}

/** Permissions of a session. */
export interface PermissionList {
  /** Permissions, oldest first. */
  permissions: Permission[];
}

/** One edit of a job, whatever tool made it. Line numbers count the lines of the file before the job, from 1. */
export interface ProposedEditBody {
  /** Id of the edit. */
  edit_id: string;
  /** Last line, inclusive. */
  end_line?: number | null | undefined;
  /** Hash of the replaced or deleted lines; for `delete_file` and `rename`, of the file; otherwise that of the empty content. */
  expected_hash: string;
  /** Path of the file; for `rename`, the old path. */
  file_path: string;
  /** The new path of a `rename`. Absent otherwise. */
  new_path?: string | null | undefined;
  /** The new lines; for `create` and `rename`, the whole new text. */
  new_text: string;
  /** `replace`, `insert`, `delete`, `create`, `delete_file` or `rename`. */
  operation: string;
  /** The reason of the edit, if the model gave one. */
  rationale?: string | null | undefined;
  /** Number of the run. */
  run_id: number;
  /** First line. An `insert` goes before this line; one past the last line appends. */
  start_line?: number | null | undefined;
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

/** A renewed lease. */
export interface Renewed {
  /** Expiry of the lease without renewal, in milliseconds since 1970. */
  expires_at: number;
  /** Revision of the canvas. */
  revision_id: string;
  /** Hash of the draft, which is the text with pending edits: the same as `revision_id`. */
  draft_hash?: string | null | undefined;
  /** Hash of the artefact, which is the text on disk; null without a file there. */
  artefact_hash?: string | null | undefined;
}

/** Lines of others that an edit of the user replaced. */
export interface ReplacedLinesBody {
  /** Line of `content` that stands in their place, from 1. */
  line: number;
  /** The replaced lines, with their line endings. */
  text: string;
}

/** Pending hunks of all files, or of some runs. */
export interface ReviewBody {
  /** Files with pending hunks, by path. */
  files: ReviewFileBody[];
  /** Workspace revision of this review. */
  revision: number;
  /** After a decision on all hunks of a file, of a job or of the project: contested hunks that it left pending. */
  skipped_hunk_ids?: string[] | undefined;
  /** Files with edits that wait for `POST /api/agent/save`, by path. */
  unsaved?: string[] | undefined;
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

/** Reply of `POST /api/agent/sessions/{session_id}/rewind`. */
export interface RewindReply {
  /** Instruction of the job, for the input of the user. */
  instruction: string;
  /** Files that keep a part of the edits, because the user has edited it since. */
  kept: string[];
  /** Files that a command changed and whose former state was not kept. */
  lost: string[];
  /** Number of messages that were removed from the conversation. */
  removed_messages: number;
  /** Files that were changed back. */
  restored: string[];
}

/** Body of `POST /api/agent/sessions/{session_id}/rewind`. */
export interface RewindRequest {
  /** Whether the conversation goes back to before the job. */
  conversation?: boolean | undefined;
  /** Whether the edits of this job and of later jobs of the session are undone. Lines of the user stay. */
  files?: boolean | undefined;
  /** Id of the first job to take back. */
  job_id: string;
  /** Whether the effect is only returned, and nothing changes. */
  preview?: boolean | undefined;
}

/** A rewind of a session. */
export interface Rewound {
  /** Whether files were changed back. */
  files: boolean;
  /** Id of the first job that was taken back. */
  job_id: string;
  /** Number of messages that were removed from the conversation. */
  removed_messages: number;
  /** Workspace runs that were taken back. */
  runs?: number[] | undefined;
}

/** Body of `POST /api/agent/checkpoints/{checkpoint_id}/rollback`. */
export interface RollbackBody {
  /** Only these files, if given. */
  file_paths?: string[] | null | undefined;
  /** For `scoped_selected`: the hunks; all hunks of the job if empty. */
  hunk_ids?: string[] | undefined;
  /** The extent. */
  mode: RollbackModeName;
  /** Whether the reply says what a rollback would do, and nothing changes. */
  preview?: boolean | undefined;
  /** Whether the disk gets the result at once. Otherwise it waits for `POST /api/agent/save`, as does every change of a file that has unsaved edits. */
  save?: boolean | undefined;
}

/** The extent of a rollback. */
export type RollbackModeName = "hard_all" | "scoped_selected";

/** Reply of a rollback. */
export interface RollbackReply {
  /** Affected files, by path. */
  files: RolledBackFileBody[];
  /** Paths beside texts, and texts that cannot be read or written. Only `hard_all` with `save` restores the former. */
  other_files?: OtherFileBody[] | undefined;
  /** `completed`; `conflict` if hunks stay for a decision by hand; `preview`. */
  status: string;
  /** Whether the rollback is a step that `POST /api/agent/undo` reverts. False for a preview, and for a rollback that changed nothing: an undo then reverts the step before it. */
  undoable: boolean;
  /** Files whose text waits for `POST /api/agent/save`. */
  unsaved?: string[] | undefined;
}

/** The effect of a rollback on one file. */
export interface RolledBackFileBody {
  /** Hunks that stay because later changes depend on them. */
  conflicts: string[];
  /** Path of the file. */
  file_path: string;
  /** Number of changes since the job that stay. */
  kept: number;
  /** Number of changes of the agent that are taken back. */
  reverted: number;
  /** Number of changes of the user that are taken back; 0 unless the mode is `hard_all`. */
  reverted_from_user: number;
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
  /** Hash of the canvas's draft that the user saw. The message takes the canvas back and saves the draft, without pending edits of the agent. Another draft is `stale`, and the message is not sent then. Absent: nothing is saved. */
  draft_hash?: string | null | undefined;
  /** The instruction. */
  instruction: string;
  /** Id of the session. */
  session_id: string;
  /** Settings of this job. */
  tool_config?: ToolConfig | undefined;
}

/** Reply of `POST /api/agent/save`. */
export interface SaveReply {
  /** Files that were written, by path. */
  saved: SavedFileBody[];
  /** Files that still have unsaved edits, by path. */
  unsaved: string[];
}

/** Body of `POST /api/agent/save`. */
export interface SaveRequest {
  /** Files to save; all files with unsaved edits if absent. */
  file_paths?: string[] | null | undefined;
  /** Whether a file that another program has changed is saved, too, if that changed other lines. */
  rebase?: boolean | undefined;
}

/** A file that was written. */
export interface SavedFileBody {
  /** Path of the file. */
  file_path: string;
  /** Workspace revision of the text. */
  revision: number;
}

/** A result of a search. */
export interface SearchHit {
  /** Last line. A file of which only the path matches, and whose text cannot be shown, has 0. */
  end_line: number;
  /** Path of the file. */
  file_path: string;
  /** The lines. */
  snippet: string;
  /** First line of the snippet, from 1. */
  start_line: number;
}

/** Results of a search. */
export interface SearchReply {
  /** Results, best first. */
  results: SearchHit[];
  /** Whether there are more results than the limit. */
  truncated: boolean;
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
  /** Number of times that the model may try again after tool calls that do not match their schema. */
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
  agent_mode?: AgentMode | null | undefined;
  /** Limits on all jobs of the session together. */
  budget: Budget;
  /** The canvas. */
  canvas?: CanvasFlags | undefined;
  /** Workspace runs of edits of the canvas by requests, whose hunks are in the review of the session. */
  canvas_runs?: number[] | undefined;
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
  rewound?: Rewound | null | undefined;
  /** Id: a UUID. */
  session_id: string;
  /** Use of models by all jobs. */
  spent: Spent;
  /** Whether the session is in use. */
  status: SessionStatus;
  /** Title; the first line of the first instruction unless the user sets another. */
  title: string;
  /** Workspace revision up to which the model was told the user's decisions; absent before the first job. */
  told_revision?: number | null | undefined;
  /** Tools of the agent. */
  tools?: ToolSet | undefined;
  /** Time of the last change. */
  updated_at: string;
}

/** A session with its conversation and its review. */
export type SessionSnapshot = SessionRecord & {
  /** Conversation. */
  chat: ChatMessage[];
  job?: JobRecord | null | undefined;
  /** Pending hunks of the session; absent if there are none. */
  pending_review?: PendingReviewBody | undefined;
  /** Number of the newest event of all sessions: a stream of all sessions continues after it. */
  seq: number;
};

/** Whether a session is in use. */
export type SessionStatus = "active" | "archived";

/** The use of models so far. */
export interface Spent {
  /** Cost in US dollars at list price. Responses of models without a known price add nothing. */
  cost_usd?: number | undefined;
  /** Duration of the runs in milliseconds, waits for a decision on a tool call included. */
  duration_ms?: number | undefined;
  /** Tokens of requests. */
  input_tokens?: number | undefined;
  /** Tokens of responses. */
  output_tokens?: number | undefined;
  /** Sum of both. */
  total_tokens?: number | undefined;
}

/** Body of `POST /api/agent/split`. */
export interface SplitRequest {
  /** Id of the hunk. */
  hunk_id: string;
  /** Position in `lines` of the hunk, from 0, of the first line of the second part. */
  line: number;
}

/** Body of `POST /api/agent/undo` and `POST /api/agent/redo`. */
export interface StepRequest {
  /** Whether the disk gets the result at once. Otherwise it waits for `POST /api/agent/save`, as does every change of a file that has unsaved edits. */
  save?: boolean | undefined;
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

/** The tools of a session. */
export type ToolSet = "profile" | "project";

/** The effect that a decision would have. */
export interface TouchedBody {
  /** Files by path. */
  files: TouchedFileBody[];
}

/** The effect that a decision would have on one file. */
export interface TouchedFileBody {
  /** Number of further pending changes of the agent that would be accepted, because the selected hunks need them. */
  also_accepted: number;
  /** Number of these that are contested. */
  contested: number;
  /** Number of live changes of the user that depend on the selected hunks. */
  dependents_from_user: number;
  /** Path of the file. */
  file_path: string;
  /** Number of selected hunks. */
  hunks: number;
  /** Number of these that exceed the size of a hunk. A decision takes each as one; `POST /api/agent/split` cuts it. */
  oversized: number;
  /** Whether the decision would be refused with `conflict` because of this file: a hunk that it names is contested, or later changes depend on a rejected one. A decision that is refused for one file changes none. */
  refused: boolean;
  /** Number of lines of the user that would leave the disk. */
  removes_user_lines: number;
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

/** Reply of `POST /api/agent/sessions/{session_id}/rewind/undo`. */
export interface UnwindReply {
  /** Files that stay as they are, because they have another state than the rewind left. */
  kept: string[];
  /** Files that have the edits again. */
  restored: string[];
  /** Number of messages that the conversation has again. */
  restored_messages: number;
}

/** Body of `POST /api/agent/sessions/{session_id}/rewind/undo`. */
export interface UnwindRequest {
  /** Whether the files get their edits again, if the rewind took them back. */
  files?: boolean | undefined;
}

/** Body of `PATCH /api/agent/sessions/{session_id}`. Absent fields stay. */
export interface UpdateSession {
  agent_mode?: AgentMode | null | undefined;
  budget?: Budget | null | undefined;
  canvas?: CanvasFlags | null | undefined;
  /** Whether the first edit of each job needs the user's confirmation. */
  confirm_before_edits?: boolean | null | undefined;
  /** Pinned context, in place of the present rows. */
  context_rows?: ContextRow[] | null | undefined;
  job_budget?: Budget | null | undefined;
  mode?: WorkMode | null | undefined;
  /** Model, from the next job on, as the host names it. */
  model?: string | null | undefined;
  status?: SessionStatus | null | undefined;
  /** Title. */
  title?: string | null | undefined;
}

/** Body of `POST /api/agent/user_edit`. */
export interface UserEditRequest {
  /** Whether a file in a directory `.git` may be edited. Git runs programs that such files name. */
  allow_git?: boolean | undefined;
  /** Text that the user edited. Edits since then are merged: lines that were added stay, also at the same place, and a line that was changed twice gets this text, and the reply tells the replaced one. Absent: the present text. */
  base?: string | null | undefined;
  /** New text; null deletes the file. */
  content: string | null;
  /** Path of the file. */
  file_path: string;
  /** Whether the disk gets the file at once, with its earlier unsaved edits. Otherwise the text waits for `POST /api/agent/save`. */
  save?: boolean | undefined;
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
      status?: "active" | "archived" | undefined;
      limit?: number | undefined;
      after?: string | undefined;
    };
    reply: SessionList;
  };
  /** Returns a session with its conversation and its review. */
  GetSession: { input: { session_id: string; hidden?: "true" | "false" | undefined }; reply: SessionSnapshot };
  /** Changes the title, the status, the mode, the canvas, the budgets or the context rows of a session. */
  UpdateSession: { input: { session_id: string; body?: UpdateSession | undefined }; reply: SessionRecord };
  /** Removes a session with its jobs, events and conversation. Files are not changed, and its pending edits stay in the review. Streams that began before its last event read the state again. */
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
  /** Cancels a job, and returns it as it is after its end or after five seconds. Its edits stay in review, and queued instructions wait until one is sent or another job ends. */
  Cancel: { input: { job_id: string }; reply: JobRecord };
  /** Gives a running job another message. */
  Steer: { input: { job_id: string; body: TextRequest }; reply: Done };
  /** Returns the trace of a job: its events without text deltas, with durations. */
  JobTrace: { input: { job_id: string }; reply: JobTrace };
  /** Returns the output of a tool call, which `tool.call.completed` names by `output_ref`. Of each stream of a command, the first and the last 512 KiB are kept; a line between them has the number of the other bytes. */
  GetOutput: { input: { job_id: string; output_ref: string }; reply: OutputBody };
  /** Accepts hunks of a job, rejects its others, and writes the accepted ones to the disk. */
  Apply: { input: { body: ApplyRequest }; reply: ApplyReply };
  /** Returns the pending hunks of all files, or of some jobs. */
  GetReview: { input: { job_id?: string | undefined; session_id?: string | undefined }; reply: ReviewBody };
  /** Accepts or rejects hunks, lines, files or everything; says first, on request, what that touches. */
  Decide: { input: { body: DecideRequest }; reply: ReviewBody };
  /** Returns the effect that a decision would have; changes nothing. */
  PreviewDecision: { input: { body: DecideRequest }; reply: TouchedBody };
  /** Splits a hunk before one of its lines. */
  Split: { input: { body: SplitRequest }; reply: ReviewBody };
  /** Replaces the lines that a hunk adds by text of the user, which counts as accepted. */
  EditHunk: { input: { body: EditHunkRequest }; reply: ReviewBody };
  /** Returns the changes of all files, or of one, by the agent and by the user. */
  ChangeLog: { input: { file_path?: string | undefined }; reply: ChangeLogBody };
  /** Undoes the user's last edit or decision. */
  Undo: { input: { body?: StepRequest | undefined }; reply: ReviewBody };
  /** Redoes the last undo. */
  Redo: { input: { body?: StepRequest | undefined }; reply: ReviewBody };
  /** Lists files by path, with pending edits. Hidden files and files that `.gitignore` excludes are left out. */
  ListFiles: {
    input: {
      prefix?: string | undefined;
      glob?: string | undefined;
      limit?: number | undefined;
      after?: string | undefined;
    };
    reply: FileList;
  };
  /** Searches paths and texts for words, best results first, as the tool `search_project` does. */
  SearchFiles: { input: { query: string; glob?: string | undefined; limit?: number | undefined }; reply: SearchReply };
  /** Returns the text of a file: visible with pending edits, and on disk. */
  GetBuffer: { input: { file_path: string }; reply: Buffer };
  /** Replaces the text of a file for the user. Edits since `base` are merged. */
  UserEdit: { input: { body: UserEditRequest }; reply: Buffer };
  /** Writes the files with unsaved edits to the disk, without pending edits of the agent. */
  Save: { input: { body?: SaveRequest | undefined }; reply: SaveReply };
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
  /** Lists the permissions that the user gave in a session with `allow_always`, oldest first. */
  ListPermissions: { input: { session_id: string }; reply: PermissionList };
  /** Withdraws a permission: the next such call asks again. */
  WithdrawPermission: { input: { session_id: string; permission_id: string }; reply: PermissionList };
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
  /** Returns a checkpoint with its files, hunks and reverse patches. */
  GetCheckpoint: { input: { checkpoint_id: string }; reply: CheckpointBody };
  /** Compares a file now, before the job, and as the agent proposed it. */
  Diff3: { input: { checkpoint_id: string; file_path: string }; reply: Diff3Body };
  /** Rolls files back to a checkpoint, in one step that can be undone. */
  RollBack: { input: { checkpoint_id: string; body: RollbackBody }; reply: RollbackReply };
  /** Takes a session back to before a job: the conversation, the files, or both. Returns the instruction for the input. */
  Rewind: { input: { session_id: string; body: RewindRequest }; reply: RewindReply };
  /** Undoes the last rewind, unless a job of the session came after it. It is refused if edits or decisions came after the rewind; the conversation alone can still be restored. */
  UndoRewind: { input: { session_id: string; body?: UnwindRequest | undefined }; reply: UnwindReply };
  /** Returns the canvas: the file that the editor shows, its revision, and its lease. */
  GetCanvas: { input: { session_id: string }; reply: CanvasBody };
  /** Shows a file in the canvas, or none. */
  CanvasOpen: { input: { session_id: string; body?: CanvasOpenRequest | undefined }; reply: CanvasBody };
  /** Takes the lease of the canvas. */
  CanvasCheckOut: { input: { session_id: string }; reply: CheckOut };
  /** Renews the lease. */
  CanvasRenewLease: { input: { session_id: string; body?: CanvasLeaseRequest | undefined }; reply: Renewed };
  /** Releases the lease. */
  CanvasCheckIn: { input: { session_id: string; body?: CanvasLeaseRequest | undefined }; reply: CheckedIn };
  /** Finds lines of the canvas. */
  CanvasGrep: { input: { session_id: string; body: CanvasGrepRequest }; reply: CanvasMatches };
  /** Reads lines or a section of the canvas. */
  CanvasReadLines: { input: { session_id: string; body: CanvasReadRequest }; reply: CanvasLines };
  /** Reads the whole canvas. */
  CanvasReadAll: { input: { session_id: string; body?: CanvasLeaseRequest | undefined }; reply: CanvasLines };
  /** Applies a unified diff to the canvas, all hunks or none. The edit waits for review. */
  CanvasApplyPatch: { input: { session_id: string; body: CanvasPatchRequest }; reply: CanvasEdited };
  /** Edits lines of the canvas, all or none. The edit waits for review. */
  CanvasEditLines: { input: { session_id: string; body: CanvasEditRequest }; reply: CanvasEdited };
  /** Gives the canvas back to the user: every lease ends at once. */
  CanvasTakeBack: { input: { session_id: string }; reply: CanvasBody };
  /** Replaces the text of the canvas for the user, who takes the canvas back by it. */
  CanvasUserEdit: { input: { session_id: string; body: CanvasUserEdit }; reply: CanvasBody };
  /** Saves the draft of the canvas that the user saw, without pending edits of the agent. */
  CanvasPromote: { input: { session_id: string; body: CanvasPromoteRequest }; reply: CanvasBody };
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
  GetOutput: "GET /api/agent/jobs/{job_id}/outputs/{output_ref}",
  Apply: "POST /api/agent/apply",
  GetReview: "GET /api/agent/review",
  Decide: "POST /api/agent/decisions",
  PreviewDecision: "POST /api/agent/decisions/preview",
  Split: "POST /api/agent/split",
  EditHunk: "POST /api/agent/edit_hunk",
  ChangeLog: "GET /api/agent/change_log",
  Undo: "POST /api/agent/undo",
  Redo: "POST /api/agent/redo",
  ListFiles: "GET /api/agent/files",
  SearchFiles: "GET /api/agent/search",
  GetBuffer: "GET /api/agent/buffer",
  UserEdit: "POST /api/agent/user_edit",
  Save: "POST /api/agent/save",
  ListFollowUps: "GET /api/agent/sessions/{session_id}/follow_ups",
  AddFollowUp: "POST /api/agent/sessions/{session_id}/follow_ups",
  EditFollowUp: "PATCH /api/agent/sessions/{session_id}/follow_ups/{follow_up_id}",
  WithdrawFollowUp: "DELETE /api/agent/sessions/{session_id}/follow_ups/{follow_up_id}",
  SendFollowUp: "POST /api/agent/sessions/{session_id}/follow_ups/{follow_up_id}/send",
  ListPermissions: "GET /api/agent/sessions/{session_id}/permissions",
  WithdrawPermission: "DELETE /api/agent/sessions/{session_id}/permissions/{permission_id}",
  AddComment: "POST /api/agent/sessions/{session_id}/comments",
  ListComments: "GET /api/agent/sessions/{session_id}/comments",
  RemoveComment: "DELETE /api/agent/sessions/{session_id}/comments/{comment_id}",
  SendComments: "POST /api/agent/sessions/{session_id}/comments/send",
  ListCheckpoints: "GET /api/agent/checkpoints",
  GetCheckpoint: "GET /api/agent/checkpoints/{checkpoint_id}",
  Diff3: "GET /api/agent/checkpoints/{checkpoint_id}/diff3",
  RollBack: "POST /api/agent/checkpoints/{checkpoint_id}/rollback",
  Rewind: "POST /api/agent/sessions/{session_id}/rewind",
  UndoRewind: "POST /api/agent/sessions/{session_id}/rewind/undo",
  GetCanvas: "GET /api/agent/sessions/{session_id}/canvas",
  CanvasOpen: "POST /api/agent/sessions/{session_id}/canvas/open",
  CanvasCheckOut: "POST /api/agent/sessions/{session_id}/canvas/check_out",
  CanvasRenewLease: "POST /api/agent/sessions/{session_id}/canvas/renew_lease",
  CanvasCheckIn: "POST /api/agent/sessions/{session_id}/canvas/check_in",
  CanvasGrep: "POST /api/agent/sessions/{session_id}/canvas/grep",
  CanvasReadLines: "POST /api/agent/sessions/{session_id}/canvas/read_lines",
  CanvasReadAll: "POST /api/agent/sessions/{session_id}/canvas/read_all",
  CanvasApplyPatch: "POST /api/agent/sessions/{session_id}/canvas/apply_patch",
  CanvasEditLines: "POST /api/agent/sessions/{session_id}/canvas/edit_lines",
  CanvasTakeBack: "POST /api/agent/sessions/{session_id}/canvas/take_back",
  CanvasUserEdit: "POST /api/agent/sessions/{session_id}/canvas/user_edit",
  CanvasPromote: "POST /api/agent/sessions/{session_id}/canvas/promote",
  GetSettings: "GET /api/agent/settings",
};
