//! The events of a response while it arrives.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::ToolCall;
use super::response::Response;

/// One step of an answer as it arrives. `finish` comes last, exactly once, unless the stream fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The answer began.
    StreamStart {
        /// The provider's id for the answer.
        id: String,
        /// The model that answers.
        model: String,
    },
    /// A text block began.
    TextStart {
        /// Tells blocks of one answer apart.
        text_id: String,
    },
    /// More text.
    TextDelta {
        /// The block.
        text_id: String,
        /// The new text.
        delta: String,
    },
    /// A text block ended.
    TextEnd {
        /// The block.
        text_id: String,
    },
    /// Reasoning began.
    ReasoningStart,
    /// More reasoning.
    ReasoningDelta {
        /// The new text.
        delta: String,
    },
    /// Reasoning ended.
    ReasoningEnd,
    /// A tool call began.
    ToolCallStart {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments.
    ToolCallDelta {
        /// The call's id.
        id: String,
        /// The next piece of the argument JSON.
        delta: String,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// The call.
        tool_call: ToolCall,
    },
    /// The provider's own event, not mapped.
    ProviderEvent {
        /// As received.
        raw: Value,
    },
    /// The answer is complete.
    Finish {
        /// All of it.
        response: Response,
    },
}
