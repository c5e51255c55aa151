//! The failure of a command: its message on standard error and its exit status.

use std::io::Write;
use std::process::ExitCode;

use emend_agent::approval::RuleError;
use emend_agent::error_code::Code;
use emend_agent::event::ErrorInfo;
use emend_agent::profile::EditsError;
use emend_agent::session::{ResumeError, SubmitError};
use emend_agent::store::{ReadError, StoreError};
use emend_agent::tool::ToolError;
use emend_agent::workspace::{ReviewError, WorkspaceError};
use emend_host::{CommitError, StateError};

use crate::visible;

/// A failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    /// Printed to standard error unless it is empty.
    pub(crate) message: String,
    pub(crate) suggestions: Vec<String>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), suggestions: Vec::new() }
    }

    /// Returns the failure of a run, from its error event.
    pub(crate) fn of_event(error: ErrorInfo) -> Self {
        let code = Code::from_name(error.code).unwrap_or(Code::Internal);
        Self { code, message: error.message, suggestions: error.suggestions }
    }

    /// Returns the failure as one line.
    pub(crate) fn line(&self) -> String {
        format!("error [{}]: {}", self.code.as_str(), self.message)
    }

    /// Prints the failure to standard error and returns the exit status of its code.
    pub(crate) fn report(&self) -> ExitCode {
        let mut stderr = visible::stderr();
        if self.message.is_empty() {
            return ExitCode::from(self.code.row().exit_status);
        }
        // If standard error is closed the exit status still reports the failure.
        let _ = writeln!(stderr, "emend: {}", self.line());
        for suggestion in &self.suggestions {
            let _ = writeln!(stderr, "  try: {suggestion}");
        }
        ExitCode::from(self.code.row().exit_status)
    }
}

/// Makes failures of errors that have a code and no suggestions.
macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(error.code(), error.to_string())
            }
        })*
    };
}

from_errors!(
    CommitError,
    EditsError,
    ReadError,
    ResumeError,
    ReviewError,
    RuleError,
    StateError,
    StoreError,
    SubmitError
);

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self { code: error.code, message: error.message, suggestions: error.suggestions }
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        ToolError::from(error).into()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        // The reader of the output has closed it (`| head`), so nothing more is printed.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::new(Code::IoError, "");
        }
        Self::new(Code::IoError, error.to_string())
    }
}
