//! The failures that the design documents name, and what each is here: its code, whether the model is told of an error,
//! and what becomes of the session (S0 spec 5, S2 appendix B, S3 §5).
//!
//! `docs/errors.md` is written from this table, and a test drives a session into every row of it.

use super::Code;
use crate::session::SessionState;

/// Where a failure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In the call's result, which the model reads; the loop goes on.
    ErrorResult,
    /// In the call's result, which is no error.
    Result,
    /// As an `ERROR` event; the turn ends.
    Error,
    /// As a `WARNING` event; the turn ends.
    Warning,
    /// As a `TURN_LIMIT` event; the turn ends.
    TurnLimit,
    /// In the reason of `PROCESSING_END`.
    End,
}

/// One failure.
#[derive(Clone, Copy, Debug)]
pub struct Documented {
    /// The document that names it.
    pub source: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What happened.
    pub example: &'static str,
    /// Its code here; none if it is no error.
    pub code: Option<Code>,
    /// Where it shows.
    pub shown: Shown,
    /// The session afterwards.
    pub state: SessionState,
    /// Whether it is tried again before it counts.
    pub retried: bool,
}

const fn call(source: &'static str, name: &'static str, example: &'static str, code: Code) -> Documented {
    let (shown, state) = (Shown::ErrorResult, SessionState::Idle);
    Documented { source, name, example, code: Some(code), shown, state, retried: false }
}

const fn session(
    name: &'static str,
    example: &'static str,
    code: Code,
    shown: Shown,
    state: SessionState,
) -> Documented {
    Documented { source: "S2 B", name, example, code: Some(code), shown, state, retried: false }
}

const fn retried(row: Documented) -> Documented {
    Documented { retried: true, ..row }
}

/// Every failure that the documents name, or that follows from them.
pub const DOCUMENTED: &[Documented] = &[
    call("S2 B", "FileNotFound", "read_file of a path that does not exist", Code::NotFound),
    call("S2 B", "EditConflict", "old_string is not in the file", Code::Conflict),
    call("S2 B", "EditConflict, several places", "old_string is in the file twice", Code::Ambiguous),
    Documented {
        code: None,
        shown: Shown::Result,
        ..call("S2 B", "ShellExitError", "a command ends with status 2", Code::Conflict)
    },
    call("S2 B", "ShellTimeout", "a command takes longer than timeout_ms", Code::Timeout),
    call("S2 B", "PermissionDenied", "a path outside of the root", Code::PermissionDenied),
    call("S2 B", "ValidationError", "a required argument is missing", Code::InvalidArgument),
    call("S2 B", "UnknownTool", "a tool that there is not", Code::UnknownTool),
    call("S0 5", "io_error", "the system cannot read the file", Code::IoError),
    call("S3 5", "State Mismatch", "base_content_sha256 is not that of the file", Code::Stale),
    call("S3 5", "Invalid Diff", "context or removed lines are not in the file", Code::Conflict),
    call("S2 3.3", "file was never read", "write_file over a file that was never shown", Code::Stale),
    call("S2 3.3", "file exists", "apply_patch adds a file that is there", Code::AlreadyExists),
    call("S2 3.3", "binary file", "read_file of bytes that are no text", Code::Unsupported),
    call("S4", "STALE_EPOCH", "the user took the open file back", Code::StaleEpoch),
    call("S2 2.5", "cut call", "the output limit cut the call off", Code::LimitReached),
    retried(session("ProviderError (429)", "too many requests", Code::Provider, Shown::Error, SessionState::Idle)),
    retried(session(
        "ProviderError (500-503)",
        "the provider failed",
        Code::Provider,
        Shown::Error,
        SessionState::Idle,
    )),
    retried(session("NetworkError", "no connection", Code::Network, Shown::Error, SessionState::Idle)),
    session("AuthenticationError", "the key was refused", Code::Authentication, Shown::Error, SessionState::Closed),
    session(
        "ContextLengthError",
        "the conversation is too long",
        Code::ContextLength,
        Shown::Warning,
        SessionState::Idle,
    ),
    session("TurnLimitExceeded", "max_tool_rounds_per_input", Code::LimitReached, Shown::TurnLimit, SessionState::Idle),
    session("abort signal", "the user cancels", Code::Aborted, Shown::End, SessionState::Idle),
    session("broken stream", "the answer breaks off", Code::Stream, Shown::Error, SessionState::Idle),
    session("invalid request", "the provider refuses the request", Code::Provider, Shown::Error, SessionState::Closed),
    session("configuration", "the client is set up wrongly", Code::Configuration, Shown::Error, SessionState::Closed),
];

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod host_tests {
    use std::fmt::Write;

    use expect_test::expect_file;

    use super::*;

    fn state(state: SessionState) -> String {
        serde_json::to_value(state).unwrap().as_str().unwrap().to_owned()
    }

    #[test]
    fn the_page_of_errors_says_what_the_tables_say() {
        let mut page = "# Errors\n\nWritten by a test from `crates/emend-agent/src/error_code/mod.rs` and `documented.rs`; do not edit it \
                        by hand.\n\nA code never changes, a message may. A tool's failure is a result that the model reads: \
                        it says what was wrong and what to try, and the loop goes on. Only failures of the session end a \
                        turn, and only those that no later message can mend close the session.\n\n## What the design \
                        documents name\n\n| document | failure | for example | code | shown as | session afterwards |\n|---|---|---|---|---|---|\n"
            .to_owned();
        for row in DOCUMENTED {
            let shown = match row.shown {
                Shown::ErrorResult => "result, `is_error`",
                Shown::Result => "result, no error",
                Shown::Error => "`ERROR`",
                Shown::Warning => "`WARNING`",
                Shown::TurnLimit => "`TURN_LIMIT`",
                Shown::End => "`PROCESSING_END`",
            };
            let retried = if row.retried { " after retries" } else { "" };
            let Documented { source, name, example, code, .. } = row;
            let code = code.map_or_else(|| "none".to_owned(), |code| format!("`{}`", code.as_str()));
            let state = state(row.state);
            writeln!(page, "| {source} | {name} | {example} | {code} | {shown}{retried} | {state} |").unwrap();
        }
        page.push_str(
            "\n## Codes\n\n| code | meaning | HTTP | exit | JavaScript | session |\n|---|---|---|---|---|---|\n",
        );
        for code in Code::ALL {
            let row = code.row();
            let session = match row.session {
                super::super::SessionEffect::Continues => "goes on",
                super::super::SessionEffect::TurnEnds => "the turn ends",
                super::super::SessionEffect::Closes => "closes, unless trying again may help",
            };
            let (meaning, http, exit, class) = (code.meaning(), row.http_status, row.exit_status, row.js_class);
            writeln!(page, "| `{}` | {meaning} | {http} | {exit} | `{class}` | {session} |", row.name).unwrap();
        }
        page.push_str("\nIn a tool's result no code ends anything: the last column is for failures of the session.\n");
        expect_file!["../../../../docs/errors.md"].assert_eq(&page);
    }
}
