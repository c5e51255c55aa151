//! What a command that failed prints, and with which status it exits.

use std::io::Write;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::event::ErrorInfo;
use emend_agent::tool::ToolError;

/// A command that could not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    /// What is printed; nothing is if it is empty.
    pub(crate) message: String,
    pub(crate) suggestions: Vec<String>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), suggestions: Vec::new() }
    }

    /// Returns what an event says a turn failed with.
    pub(crate) fn of_event(error: ErrorInfo) -> Self {
        let code = Code::from_name(error.code).unwrap_or(Code::Internal);
        Self { code, message: error.message, suggestions: error.suggestions }
    }

    /// Returns the failure in a line.
    pub(crate) fn line(&self) -> String {
        format!("error [{}]: {}", self.code.as_str(), self.message)
    }

    /// Prints the failure to standard error and returns the exit status of its code.
    pub(crate) fn report(&self) -> ExitCode {
        let mut stderr = std::io::stderr().lock();
        if self.message.is_empty() {
            return ExitCode::from(self.code.row().exit_status);
        }
        // A standard error that is closed leaves only the exit status to speak.
        let _ = writeln!(stderr, "emend: {}", self.line());
        for suggestion in &self.suggestions {
            let _ = writeln!(stderr, "  try: {suggestion}");
        }
        ExitCode::from(self.code.row().exit_status)
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self { code: error.code, message: error.message, suggestions: error.suggestions }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        // Whoever reads the output has seen enough (`| head`); there is nobody to tell.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::new(Code::IoError, "");
        }
        Self::new(Code::IoError, error.to_string())
    }
}
