//! Approvals: which calls run, which are refused, and which the user is asked about (S2 §8).
//!
//! A [`Policy`] decides between a call's validation and its execution. What it says is to be asked goes to the host's
//! [`Approver`]. A call that may not run is an error result, `permission_denied`, that says why; the model goes on from
//! there. This keeps a model from what the user does not want. It does not confine what an allowed command does.

mod command_line;
mod policy;

use emend_llm::{BoxFuture, MaybeSend, MaybeSync};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use policy::{Action, Policy, Rule, RuleError, Verdict};

/// What a call is about, for rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The tool whose work the call really is, by its canonical name, where that is another: a patch that was sent to
    /// the shell.
    pub tool: Option<&'static str>,
    /// The command it runs.
    pub command: Option<String>,
    /// The paths it reads or writes: as the model wrote them, or resolved, where a [`Policy`] is asked.
    pub paths: Vec<String>,
}

/// A call that waits for the user's word. As JSON it is what `APPROVAL_REQUESTED` carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApprovalRequest {
    /// The call.
    pub call_id: String,
    /// The tool, by the name the model knows.
    pub tool_name: String,
    /// Its arguments.
    pub arguments: Value,
    /// What the tool shows of what it would do: a command and where it runs, a diff. Fields may be added; null if it
    /// shows nothing beside its arguments.
    pub detail: Value,
}

/// The user's word on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It may run.
    Allow,
    /// It may run, and so may, for the rest of the session, the same command or any call of the same tool.
    AllowAlways,
    /// It may not.
    Deny {
        /// What the model is told beside that, in the user's words.
        reason: Option<String>,
    },
}

/// What was decided on a call that the user was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Allowed,
    /// It runs, and others like it will.
    AllowedAlways,
    /// It does not.
    Denied,
    /// The turn was cancelled first.
    Aborted,
}

/// Asks the user. Questions come one at a time; the turn waits, and can be cancelled meanwhile, which drops the answer.
pub trait Approver: MaybeSend + MaybeSync {
    /// Returns the user's word on a call.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval>;
}

#[cfg(test)]
mod tests;
