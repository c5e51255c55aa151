//! Tools that a model may call: the [`Tool`] trait, the [`ToolRegistry`] of a session, and the context, the arguments and the
//! result of a call.
//!
//! The built-in tools are in [`crate::tools`]. The session runs the calls: it looks a tool up, validates the arguments,
//! asks for approval, calls the tool and truncates the output.

mod arguments;
mod context;
mod error;
mod names;
mod output;
mod preview;
mod progress;
mod registry;
mod result_format;
mod subagents;
mod tool_trait;

pub use arguments::{example, meant, read_arguments, tidy};
pub use context::{CommandLimits, ToolContext};
pub use error::ToolError;
pub use names::{ExposedNames, Rename, ToolNames};
pub use output::{ToolOutput, envelope};
pub use preview::Preview;
pub use progress::Progress;
pub use registry::ToolRegistry;
pub(crate) use result_format::replace_result_text;
pub use result_format::{ResultForm, result_text};
pub use subagents::{SubagentHost, SubagentReport, SubagentTask};
pub use tool_trait::Tool;

pub use crate::approval::{Target, ToolEffect};
