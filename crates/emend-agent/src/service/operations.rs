//! The table of operations: the source of the routes and of the OpenAPI document.

use super::api::Method;
use crate::error_code::Code;

/// One operation of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationInfo {
    /// The operation.
    pub operation: Operation,
    /// Method.
    pub method: Method,
    /// Path with parameters in braces.
    pub path: &'static str,
    /// Its effect, in one sentence.
    pub summary: &'static str,
    /// Name of the schema of the body, if it has one.
    pub request: Option<&'static str>,
    /// Status of success, and the name of the schema of the reply.
    pub reply: (u16, &'static str),
    /// Query parameters: name, whether it is a number, description.
    pub query: &'static [(&'static str, bool, &'static str)],
    /// Codes that the operation returns besides `invalid_argument`.
    pub errors: &'static [Code],
    /// Whether the reply is a stream of server-sent events, which a transport makes from [`EventReader`](super::EventReader).
    pub is_stream: bool,
}

macro_rules! operations {
    ($($(#[doc = $doc:literal])* $variant:ident: $method:ident $path:literal, $request:expr, $reply:expr, [$($query:expr),*], [$($error:ident),*], $stream:literal;)*) => {
        /// Names of the operations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Operation {
            $($(#[doc = $doc])* $variant,)*
        }

        /// Every operation.
        pub const OPERATIONS: &[OperationInfo] = &[$(OperationInfo {
            operation: Operation::$variant,
            method: Method::$method,
            path: $path,
            summary: concat!($($doc),*),
            request: $request,
            reply: $reply,
            query: &[$($query),*],
            errors: &[$(Code::$error),*],
            is_stream: $stream,
        },)*];

        impl Operation {
            /// Returns the name in the OpenAPI document.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                }
            }
        }
    };
}

const CURSOR: (&str, bool, &str) = ("cursor", true, "Cursor of the last event that the client has.");
const AFTER: (&str, bool, &str) = ("after", true, "Number of the last event that the client has; as `Last-Event-ID`.");
const EVENT_LIMIT: (&str, bool, &str) =
    ("limit", true, "Maximum number of events; 500 by default. A number above 5,000 counts as 5,000.");
const SESSION_LIMIT: (&str, bool, &str) =
    ("limit", true, "Maximum number of sessions; 50 by default. A number above 500 counts as 500.");
const FILE_LIMIT: (&str, bool, &str) =
    ("limit", true, "Maximum number of files; 1,000 by default. A number above 10,000 counts as 10,000.");
const SEARCH_LIMIT: (&str, bool, &str) = (
    "limit",
    true,
    "Maximum number of results; `max_search_results_default` by default, at most `max_search_results_cap`.",
);

operations! {
    /// Creates a session.
    CreateSession: Post "/api/agent/sessions", Some("CreateSession"), (201, "SessionRecord"), [], [LimitReached, Configuration], false;
    /// Lists or searches sessions, newest change first.
    ListSessions: Get "/api/agent/sessions", None, (200, "SessionList"), [("query", false, "Text in the title or the conversation."), ("status", false, "`active` or `archived`."), SESSION_LIMIT, ("after", false, "The `next` of the page before.")], [], false;
    /// Returns a session with its conversation and its review.
    GetSession: Get "/api/agent/sessions/{session_id}", None, (200, "SessionSnapshot"), [("hidden", false, "`true` for the messages to the model that a conversation does not show, too. `false` by default.")], [NotFound], false;
    /// Changes the title, the status, the mode, the canvas, the budgets or the context rows of a session.
    UpdateSession: Patch "/api/agent/sessions/{session_id}", Some("UpdateSession"), (200, "SessionRecord"), [], [NotFound, Busy, Configuration], false;
    /// Removes a session with its jobs, events and conversation. Files are not changed, and its pending edits stay in the review. Streams that began before its last event read the state again.
    DeleteSession: Delete "/api/agent/sessions/{session_id}", None, (200, "Done"), [], [NotFound, Busy], false;
    /// Starts a job for an instruction.
    Run: Post "/api/agent/run", Some("RunRequest"), (202, "RunReply"), [], [NotFound, Busy, Conflict, Stale, LimitReached], false;
    /// Returns a job, with its diff bundle while it awaits review.
    GetJob: Get "/api/agent/jobs/{job_id}", None, (200, "JobState"), [], [NotFound], false;
    /// Lists the jobs of a session, oldest first.
    ListJobs: Get "/api/agent/sessions/{session_id}/jobs", None, (200, "JobList"), [], [NotFound], false;
    /// Returns the events of a job after a cursor.
    JobEvents: Get "/api/agent/jobs/{job_id}/events", None, (200, "JobEvents"), [CURSOR, EVENT_LIMIT], [NotFound, ResyncRequired], false;
    /// Streams the events of a job after a cursor.
    JobStream: Get "/api/agent/jobs/{job_id}/events/stream", None, (200, "EventRecord"), [AFTER], [NotFound], true;
    /// Returns the events of all sessions after a number.
    AllEvents: Get "/api/agent/events", None, (200, "EventList"), [AFTER, EVENT_LIMIT], [ResyncRequired], false;
    /// Streams the events of all sessions after a number.
    AllStream: Get "/api/agent/stream", None, (200, "EventRecord"), [AFTER], [], true;
    /// Answers the question of a job.
    Clarify: Post "/api/agent/jobs/{job_id}/clarify", Some("ClarifyRequest"), (200, "JobRecord"), [], [NotFound, Conflict], false;
    /// Decides on a tool call that waits for approval.
    Approve: Post "/api/agent/jobs/{job_id}/approve", Some("ApproveRequest"), (200, "JobRecord"), [], [NotFound, Conflict], false;
    /// Cancels a job, and returns it as it is after its end or after five seconds. Its edits stay in review, and queued instructions wait until one is sent or another job ends.
    Cancel: Post "/api/agent/jobs/{job_id}/cancel", None, (200, "JobRecord"), [], [NotFound, Conflict], false;
    /// Gives a running job another message.
    Steer: Post "/api/agent/jobs/{job_id}/steer", Some("TextRequest"), (200, "Done"), [], [NotFound, Conflict], false;
    /// Returns the trace of a job: its events without text deltas, with durations.
    JobTrace: Get "/api/agent/jobs/{job_id}/trace", None, (200, "JobTrace"), [], [NotFound], false;
    /// Returns the output of a tool call, which `tool.call.completed` names by `output_ref`. Of each stream of a command, the first and the last 512 KiB are kept; a line between them has the number of the other bytes.
    GetOutput: Get "/api/agent/jobs/{job_id}/outputs/{output_ref}", None, (200, "OutputBody"), [], [NotFound], false;
    /// Accepts hunks of a job, rejects its others, and writes the accepted ones to the disk.
    Apply: Post "/api/agent/apply", Some("ApplyRequest"), (200, "ApplyReply"), [], [NotFound, Conflict, Stale, Unsupported], false;
    /// Returns the pending hunks of all files, or of some jobs.
    GetReview: Get "/api/agent/review", None, (200, "ReviewBody"), [("job_id", false, "Only hunks of this job."), ("session_id", false, "Only hunks of this session.")], [NotFound], false;
    /// Accepts or rejects hunks, lines, files or everything; says first, on request, what that touches.
    Decide: Post "/api/agent/decisions", Some("DecideRequest"), (200, "ReviewBody"), [], [NotFound, Conflict, Unsupported], false;
    /// Returns the effect that a decision would have; changes nothing.
    PreviewDecision: Post "/api/agent/decisions/preview", Some("DecideRequest"), (200, "TouchedBody"), [], [NotFound, Conflict, Unsupported], false;
    /// Splits a hunk before one of its lines.
    Split: Post "/api/agent/split", Some("SplitRequest"), (200, "ReviewBody"), [], [NotFound, Conflict, Unsupported], false;
    /// Replaces the lines that a hunk adds by text of the user, which counts as accepted.
    EditHunk: Post "/api/agent/edit_hunk", Some("EditHunkRequest"), (200, "ReviewBody"), [], [NotFound, Conflict, Unsupported], false;
    /// Returns the changes of all files, or of one, by the agent and by the user.
    ChangeLog: Get "/api/agent/change_log", None, (200, "ChangeLogBody"), [("file_path", false, "Only changes of this file.")], [], false;
    /// Undoes the user's last edit or decision.
    Undo: Post "/api/agent/undo", Some("StepRequest"), (200, "ReviewBody"), [], [NotFound, Conflict, Unsupported], false;
    /// Redoes the last undo.
    Redo: Post "/api/agent/redo", Some("StepRequest"), (200, "ReviewBody"), [], [NotFound, Conflict, Unsupported], false;
    /// Lists files by path, with pending edits. Hidden files and files that `.gitignore` excludes are left out.
    ListFiles: Get "/api/agent/files", None, (200, "FileList"), [("prefix", false, "Beginning of the path, for example `src/`."), ("glob", false, "Only files whose path or name matches, for example `*.md`."), FILE_LIMIT, ("after", false, "The `next` of the page before.")], [], false;
    /// Searches paths and texts for words, best results first, as the tool `search_project` does.
    SearchFiles: Get "/api/agent/search", None, (200, "SearchReply"), [("query", false, "Words, separated by spaces, at most 64. Case matters only if one has an upper-case letter."), ("glob", false, "Only files whose path or name matches, for example `*.md`."), SEARCH_LIMIT], [], false;
    /// Returns the text of a file: visible with pending edits, and on disk.
    GetBuffer: Get "/api/agent/buffer", None, (200, "Buffer"), [("file_path", false, "Path of the file.")], [NotFound, PermissionDenied, Unsupported], false;
    /// Replaces the text of a file for the user. Edits since `base` are merged.
    UserEdit: Post "/api/agent/user_edit", Some("UserEditRequest"), (200, "Buffer"), [], [PermissionDenied, Unsupported], false;
    /// Writes the files with unsaved edits to the disk, without pending edits of the agent.
    Save: Post "/api/agent/save", Some("SaveRequest"), (200, "SaveReply"), [], [NotFound, Conflict, PermissionDenied, Unsupported], false;
    /// Lists the instructions that wait for the end of the current job.
    ListFollowUps: Get "/api/agent/sessions/{session_id}/follow_ups", None, (200, "FollowUpList"), [], [NotFound], false;
    /// Queues an instruction. An idle session starts it at once.
    AddFollowUp: Post "/api/agent/sessions/{session_id}/follow_ups", Some("TextRequest"), (201, "FollowUpList"), [], [NotFound, Conflict, LimitReached], false;
    /// Changes a queued instruction.
    EditFollowUp: Patch "/api/agent/sessions/{session_id}/follow_ups/{follow_up_id}", Some("TextRequest"), (200, "FollowUpList"), [], [NotFound], false;
    /// Withdraws a queued instruction.
    WithdrawFollowUp: Delete "/api/agent/sessions/{session_id}/follow_ups/{follow_up_id}", None, (200, "FollowUpList"), [], [NotFound], false;
    /// Gives a queued instruction to the running job at once.
    SendFollowUp: Post "/api/agent/sessions/{session_id}/follow_ups/{follow_up_id}/send", None, (200, "FollowUpList"), [], [NotFound, Busy, Conflict, LimitReached], false;
    /// Lists the permissions that the user gave in a session with `allow_always`, oldest first.
    ListPermissions: Get "/api/agent/sessions/{session_id}/permissions", None, (200, "PermissionList"), [], [NotFound], false;
    /// Withdraws a permission: the next such call asks again.
    WithdrawPermission: Delete "/api/agent/sessions/{session_id}/permissions/{permission_id}", None, (200, "PermissionList"), [], [NotFound, Busy], false;
    /// Adds a comment on lines of a file.
    AddComment: Post "/api/agent/sessions/{session_id}/comments", Some("CommentRequest"), (201, "CommentList"), [], [NotFound, PermissionDenied, Unsupported], false;
    /// Lists the comments of a session; comments on lines that changed are stale.
    ListComments: Get "/api/agent/sessions/{session_id}/comments", None, (200, "CommentList"), [], [NotFound], false;
    /// Removes a comment.
    RemoveComment: Delete "/api/agent/sessions/{session_id}/comments/{comment_id}", None, (200, "CommentList"), [], [NotFound], false;
    /// Sends all unsent comments as one instruction.
    SendComments: Post "/api/agent/sessions/{session_id}/comments/send", None, (202, "RunReply"), [], [NotFound, Busy, Conflict, LimitReached], false;
    /// Lists the checkpoints: the states before each job.
    ListCheckpoints: Get "/api/agent/checkpoints", None, (200, "CheckpointList"), [("session_id", false, "Only checkpoints of this session.")], [NotFound], false;
    /// Returns a checkpoint with its files, hunks and reverse patches.
    GetCheckpoint: Get "/api/agent/checkpoints/{checkpoint_id}", None, (200, "CheckpointBody"), [], [NotFound], false;
    /// Compares a file now, before the job, and as the agent proposed it.
    Diff3: Get "/api/agent/checkpoints/{checkpoint_id}/diff3", None, (200, "Diff3Body"), [("file_path", false, "Path of the file.")], [NotFound, Unsupported], false;
    /// Rolls files back to a checkpoint, in one step that can be undone.
    RollBack: Post "/api/agent/checkpoints/{checkpoint_id}/rollback", Some("RollbackBody"), (200, "RollbackReply"), [], [NotFound, Conflict, Unsupported], false;
    /// Takes a session back to before a job: the conversation, the files, or both. Returns the instruction for the input.
    Rewind: Post "/api/agent/sessions/{session_id}/rewind", Some("RewindRequest"), (200, "RewindReply"), [], [NotFound, Busy, Conflict, Unsupported], false;
    /// Undoes the last rewind, unless a job of the session came after it. It is refused if edits or decisions came after the rewind; the conversation alone can still be restored.
    UndoRewind: Post "/api/agent/sessions/{session_id}/rewind/undo", Some("UnwindRequest"), (200, "UnwindReply"), [], [NotFound, Busy, Conflict, Unsupported], false;
    /// Returns the canvas: the file that the editor shows, its revision, and its lease.
    GetCanvas: Get "/api/agent/sessions/{session_id}/canvas", None, (200, "CanvasBody"), [], [NotFound, Unsupported], false;
    /// Shows a file in the canvas, or none.
    CanvasOpen: Post "/api/agent/sessions/{session_id}/canvas/open", Some("CanvasOpenRequest"), (200, "CanvasBody"), [], [NotFound, PermissionDenied, Unsupported], false;
    /// Takes the lease of the canvas.
    CanvasCheckOut: Post "/api/agent/sessions/{session_id}/canvas/check_out", None, (200, "CheckOut"), [], [NotFound, LockNotAvailable, Unsupported], false;
    /// Renews the lease.
    CanvasRenewLease: Post "/api/agent/sessions/{session_id}/canvas/renew_lease", Some("CanvasLeaseRequest"), (200, "Renewed"), [], [NotFound, LockNotOwned, LeaseExpired, StaleEpoch, Unsupported], false;
    /// Releases the lease.
    CanvasCheckIn: Post "/api/agent/sessions/{session_id}/canvas/check_in", Some("CanvasLeaseRequest"), (200, "CheckedIn"), [], [NotFound, LockNotOwned, Unsupported], false;
    /// Finds lines of the canvas.
    CanvasGrep: Post "/api/agent/sessions/{session_id}/canvas/grep", Some("CanvasGrepRequest"), (200, "CanvasMatches"), [], [NotFound, LockNotOwned, LeaseExpired, StaleEpoch, Unsupported], false;
    /// Reads lines or a section of the canvas.
    CanvasReadLines: Post "/api/agent/sessions/{session_id}/canvas/read_lines", Some("CanvasReadRequest"), (200, "CanvasLines"), [], [NotFound, LockNotOwned, LeaseExpired, StaleEpoch, Unsupported], false;
    /// Reads the whole canvas.
    CanvasReadAll: Post "/api/agent/sessions/{session_id}/canvas/read_all", Some("CanvasLeaseRequest"), (200, "CanvasLines"), [], [NotFound, LockNotOwned, LeaseExpired, StaleEpoch, Unsupported], false;
    /// Applies a unified diff to the canvas, all hunks or none. The edit waits for review.
    CanvasApplyPatch: Post "/api/agent/sessions/{session_id}/canvas/apply_patch", Some("CanvasPatchRequest"), (200, "CanvasEdited"), [], [NotFound, LockNotOwned, LeaseExpired, StaleEpoch, Stale, PatchRejected, Unsupported], false;
    /// Edits lines of the canvas, all or none. The edit waits for review.
    CanvasEditLines: Post "/api/agent/sessions/{session_id}/canvas/edit_lines", Some("CanvasEditRequest"), (200, "CanvasEdited"), [], [NotFound, LockNotOwned, LeaseExpired, StaleEpoch, Stale, PatchRejected, Unsupported], false;
    /// Gives the canvas back to the user: every lease ends at once.
    CanvasTakeBack: Post "/api/agent/sessions/{session_id}/canvas/take_back", None, (200, "CanvasBody"), [], [NotFound, Unsupported], false;
    /// Replaces the text of the canvas for the user, who takes the canvas back by it.
    CanvasUserEdit: Post "/api/agent/sessions/{session_id}/canvas/user_edit", Some("CanvasUserEdit"), (200, "CanvasBody"), [], [NotFound, PermissionDenied, Unsupported], false;
    /// Saves the draft of the canvas that the user saw, without pending edits of the agent.
    CanvasPromote: Post "/api/agent/sessions/{session_id}/canvas/promote", Some("CanvasPromoteRequest"), (200, "CanvasBody"), [], [NotFound, LockNotAvailable, Stale, PermissionDenied, Unsupported], false;
    /// Returns the limits of the service.
    GetSettings: Get "/api/agent/settings", None, (200, "ServiceLimits"), [], [], false;
}
