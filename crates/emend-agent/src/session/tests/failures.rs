//! The table of failures of tools and sessions: code, report, and state of the session afterwards.
//!
//! `docs/errors.md` is generated from this table, and a test drives a session into every row.

use crate::error_code::Code;
use crate::event::SessionState;

/// The report of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// In the result of the call, which the model reads; the loop continues.
    ErrorResult,
    /// In the result of the call, which is not an error.
    Result,
    /// As an `ERROR` event; the run ends.
    Error,
    /// As a `WARNING` event; the run ends.
    Warning,
    /// As a `TURN_LIMIT` event; the run ends.
    TurnLimit,
    /// As a `BUDGET_EXCEEDED` event; the run ends.
    Budget,
    /// In the reason of `PROCESSING_END`.
    End,
}

/// One failure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Documented {
    /// Usual name of the failure.
    pub(super) name: &'static str,
    /// Cause of the failure.
    #[cfg_attr(
        target_family = "wasm",
        expect(dead_code, reason = "the host test that writes docs/errors.md reads it")
    )]
    pub(super) example: &'static str,
    /// Error code; none if the result is not an error.
    pub(super) code: Option<Code>,
    /// Report.
    pub(super) shown: Shown,
    /// State of the session afterwards.
    pub(super) state: SessionState,
    /// Whether the call is retried first.
    pub(super) retried: bool,
}

const fn call(name: &'static str, example: &'static str, code: Code) -> Documented {
    let (shown, state) = (Shown::ErrorResult, SessionState::Idle);
    Documented { name, example, code: Some(code), shown, state, retried: false }
}

const fn session(
    name: &'static str,
    example: &'static str,
    code: Code,
    shown: Shown,
    state: SessionState,
) -> Documented {
    Documented { name, example, code: Some(code), shown, state, retried: false }
}

const fn retried(row: Documented) -> Documented {
    Documented { retried: true, ..row }
}

/// Every failure that `docs/errors.md` lists.
pub(super) const DOCUMENTED: &[Documented] = &[
    call("FileNotFound", "read_file of a path that does not exist", Code::NotFound),
    call("EditConflict", "old_string is not in the file", Code::Conflict),
    call("EditConflict, several places", "old_string is in the file twice", Code::Ambiguous),
    Documented {
        code: None,
        shown: Shown::Result,
        ..call("ShellExitError", "a command ends with status 2", Code::Conflict)
    },
    call("ShellTimeout", "a command takes longer than timeout_ms", Code::Timeout),
    call("PermissionDenied", "a path outside the root", Code::PermissionDenied),
    call("ValidationError", "a required argument is missing", Code::InvalidArgument),
    call("UnknownTool", "a tool that does not exist", Code::UnknownTool),
    call("io_error", "the system cannot read the file", Code::IoError),
    call("State Mismatch", "base_content_sha256 is not the file's hash", Code::Stale),
    call("Invalid Diff", "context or removed lines are not in the file", Code::Conflict),
    call("file was never read", "write_file over a file that was not read", Code::Stale),
    call("file exists", "apply_patch adds a file that exists", Code::AlreadyExists),
    call("binary file", "read_file of a binary file", Code::Unsupported),
    call("STALE_EPOCH", "the user took the open file back", Code::StaleEpoch),
    call("cut call", "the output limit truncated the call", Code::LimitReached),
    retried(session("ProviderError (429)", "too many requests", Code::Provider, Shown::Error, SessionState::Idle)),
    retried(session(
        "ProviderError (500-503)",
        "the provider failed",
        Code::Provider,
        Shown::Error,
        SessionState::Idle,
    )),
    retried(session("NetworkError", "no connection", Code::Network, Shown::Error, SessionState::Idle)),
    session("AuthenticationError", "the key was rejected", Code::Authentication, Shown::Error, SessionState::Closed),
    session(
        "ContextLengthError",
        "the conversation is too long",
        Code::ContextLength,
        Shown::Warning,
        SessionState::Idle,
    ),
    session("TurnLimitExceeded", "max_tool_rounds_per_input", Code::LimitReached, Shown::TurnLimit, SessionState::Idle),
    session("BudgetExceeded", "run_budget", Code::LimitReached, Shown::Budget, SessionState::Idle),
    session("abort signal", "the user cancels", Code::Aborted, Shown::End, SessionState::Idle),
    session("broken stream", "the response ends early", Code::Stream, Shown::Error, SessionState::Idle),
    session("invalid request", "the provider rejects the request", Code::Provider, Shown::Error, SessionState::Closed),
    session(
        "configuration",
        "the client's configuration is invalid",
        Code::Configuration,
        Shown::Error,
        SessionState::Closed,
    ),
];

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod host_tests {
    use std::fmt::Write;

    use expect_test::expect_file;

    use super::*;

    const EXIT_STATUSES: &str = "
## Exit statuses

A command ends with 0 if it succeeds, and otherwise with the status of its error code. `emend run` also uses them for the \
end of the run:

| status | meaning |
|---|---|
| 0 | success; the model answered, also if its answer says that the task is not finished or that a rule denied a call |
| 1 | the task failed, or a call was refused because nobody could be asked |
| 2 | the command line is invalid, or the input is not what the command takes |
| 3 | the setup is invalid: API key missing or rejected, project directory or setting invalid |
| 4 | the provider or the network failed, or the conversation does not fit the model |
| 5 | a limit stopped the run: `--max-turns`, `--max-tokens`, `--max-cost`, `--max-time` or one of `--session-max-*` |
| 130 | Ctrl-C interrupted the command |
| 128 + N | signal N ended the command, e.g. 143 for SIGTERM and 129 for SIGHUP |

Three commands differ. `emend diff` ends with 1 if the files differ and with 2 on any failure, as `diff` does. `emend tools \
call` ends with 1 if the tool failed, whatever the code. `emend patch` ends with 1 if the patch was rejected, and with 2 \
if the patch file or the directory cannot be opened, whatever the code.
";

    fn state(state: SessionState) -> String {
        serde_json::to_value(state).unwrap().as_str().unwrap().to_owned()
    }

    #[test]
    fn the_page_of_errors_says_what_the_tables_say() {
        let mut page = "# Errors\n\nGenerated by a test from `crates/emend-agent/src/error_code/mod.rs` and `src/session/tests/failures.rs`; do \
                        not edit this page by hand.\n\nError codes never change; messages may. The failure of a tool is a \
                        result that the model reads: it says what was wrong and what to try, and the loop continues. A \
                        failure of the session ends the run. It closes the session only if no later message can \
                        succeed.\n\n## Failures\n\n| failure | example | code | reported as | session afterwards \
                        |\n|---|---|---|---|---|\n"
            .to_owned();
        for row in DOCUMENTED {
            let shown = match row.shown {
                Shown::ErrorResult => "result, `is_error`",
                Shown::Result => "result, no error",
                Shown::Error => "`ERROR`",
                Shown::Warning => "`WARNING`",
                Shown::TurnLimit => "`TURN_LIMIT`",
                Shown::Budget => "`BUDGET_EXCEEDED`",
                Shown::End => "`PROCESSING_END`",
            };
            let retried = if row.retried { " after retries" } else { "" };
            let Documented { name, example, code, .. } = row;
            let code = code.map_or_else(|| "none".to_owned(), |code| format!("`{}`", code.as_str()));
            let state = state(row.state);
            writeln!(page, "| {name} | {example} | {code} | {shown}{retried} | {state} |").unwrap();
        }
        page.push_str(
            "\n## Codes\n\n| code | meaning | HTTP | exit | JavaScript | session |\n|---|---|---|---|---|---|\n",
        );
        for code in Code::ALL {
            let row = code.row();
            let session = match row.session {
                crate::error_code::SessionEffect::Continues => "continues",
                crate::error_code::SessionEffect::TurnEnds => "run ends",
                crate::error_code::SessionEffect::Closes => "closes, unless a retry may help",
            };
            let (meaning, http, exit, class) = (code.meaning(), row.http_status, row.exit_status, row.js_class);
            writeln!(page, "| `{}` | {meaning} | {http} | {exit} | `{class}` | {session} |", row.name).unwrap();
        }
        page.push_str(
            "\nThe last column applies to failures of the session; a code in a tool's result ends nothing.\n",
        );
        page.push_str(EXIT_STATUSES);
        expect_file!["../../../../../docs/errors.md"].assert_eq(&page);
    }
}
