//! Approvals: which calls run, which are refused, and which need the consent of the user.
//!
//! A [`Policy`] decides between validation and execution of a call. The host's [`Approver`] asks the user. A refused
//! call is an error result with the code `permission_denied` and the reason, and the model continues from there.
//! Approvals do not confine an allowed command.

mod command_line;
mod command_match;
mod effect;
mod hidden;
mod policy;

use emend_llm::{BoxFuture, MaybeSend, MaybeSync};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use command_line::{CommandLine, OPEN, SimpleCommand};
pub use effect::ToolEffect;
pub use hidden::{DEFAULT_HIDDEN, DEFAULT_SHOWN, Hidden};
#[cfg(not(target_family = "wasm"))]
pub use policy::PathTest;
pub use policy::{Action, Policy, Rule, RuleError, Verdict, is_command_tool};

/// Canonical name of the tool whose rules decide which files may be read.
pub(crate) const READ_FILE: &str = "read_file";

/// The subject of a call, for rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Canonical name and effect of the tool that does the work, if it is not the called one: a patch that was sent to the
    /// shell.
    pub tool: Option<(&'static str, ToolEffect)>,
    /// Command line that the call runs.
    pub command: Option<String>,
    /// The commands of that line, as the environment reads it; `None` if the line is opaque.
    pub reading: Option<CommandLine>,
    /// Paths that the call reads or writes: as the model wrote them, or resolved when a [`Policy`] decides.
    pub paths: Vec<String>,
}

/// A call that waits for approval; as JSON, the data of `APPROVAL_REQUESTED`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalRequest {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool as the model knows it.
    pub tool_name: String,
    /// Arguments of the call.
    pub arguments: Value,
    /// The tool's preview: a command with its directory, or a diff. Fields may be added; null if the arguments say
    /// everything.
    pub detail: Value,
}

/// The user's decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The call may run.
    Allow,
    /// The call may run, and for the rest of the session so may similar calls: the same command in the same directory;
    /// calls of the same tool on the same files, if the rule that asked is about some files; or any call of the tool.
    AllowAlways,
    /// The call may not run.
    Deny {
        /// Reason in the user's words, for the model.
        reason: Option<String>,
    },
}

/// A permission for the rest of a session: for a command in a directory, for a tool on some files, or for all calls of a
/// tool without commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Canonical name of the tool.
    pub tool: String,
    /// The command line, if the tool runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory of the command; or the files, if the rule that asks is about some files only: the user saw these and
    /// no others.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub scope: Value,
}

impl Grant {
    /// Returns an id: equal permissions have equal ones.
    #[must_use]
    pub fn id(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        // FNV-1a. A session has few permissions, so two of them hardly ever share an id.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        format!("perm_{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
    }
}

/// The outcome of an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call runs.
    Allowed,
    /// The call runs, and so will similar ones.
    AllowedAlways,
    /// The call does not run.
    Denied,
    /// The run was cancelled before a decision.
    Aborted,
}

/// Asks the user. Requests come one at a time. The run waits and can be cancelled meanwhile, which drops the answer.
///
/// ```
/// use emend_agent::approval::{Approval, ApprovalRequest, Approver};
/// use emend_llm::BoxFuture;
///
/// /// Allows searches and nothing else.
/// struct OnlySearches;
///
/// impl Approver for OnlySearches {
///     fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval> {
///         let approval = match request.tool_name.as_str() {
///             "grep" | "glob" => Approval::Allow,
///             _ => Approval::Deny { reason: Some("only searches are allowed".to_owned()) },
///         };
///         Box::pin(std::future::ready(approval))
///     }
/// }
/// ```
pub trait Approver: MaybeSend + MaybeSync {
    /// Returns the user's decision on a call.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Approval>;

    /// Returns whether the time limit of a run leaves out the time in which an answer is awaited. The default counts it,
    /// because an approver may be a program.
    fn stops_the_clock(&self) -> bool {
        false
    }
}

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod host_tests;
#[cfg(test)]
mod tests;
