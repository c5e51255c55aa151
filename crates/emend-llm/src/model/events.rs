//! The events of a response while it arrives.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::ToolCall;
use super::response::Response;

/// One event of a response. `Finish` comes last, exactly once, unless the stream fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The response began.
    StreamStart {
        /// The provider's id of the response.
        id: String,
        /// The model that responds.
        model: String,
    },
    /// A text block began.
    TextStart {
        /// Id of the block, unique within the response.
        text_id: String,
    },
    /// A text block grew.
    TextDelta {
        /// Id of the block.
        text_id: String,
        /// The added text.
        delta: String,
    },
    /// A text block ended.
    TextEnd {
        /// Id of the block.
        text_id: String,
    },
    /// Reasoning began.
    ReasoningStart,
    /// Reasoning grew.
    ReasoningDelta {
        /// The added text.
        delta: String,
    },
    /// Reasoning ended.
    ReasoningEnd,
    /// A tool call began.
    ToolCallStart {
        /// The call's id.
        id: String,
        /// Exposed name of the tool.
        name: String,
    },
    /// The arguments of a tool call grew.
    ToolCallDelta {
        /// The call's id.
        id: String,
        /// The next piece of the arguments' JSON.
        delta: String,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// The whole call, with parsed arguments.
        tool_call: ToolCall,
    },
    /// An event that only its provider knows.
    ProviderEvent {
        /// The event as received.
        raw: Value,
    },
    /// The response is complete.
    Finish {
        /// The whole response.
        response: Response,
    },
}

impl StreamEvent {
    /// Joins each run of deltas of one text, of the reasoning or of one tool call to a single delta.
    ///
    /// ```
    /// use emend_llm::StreamEvent;
    /// let delta = |text: &str| StreamEvent::ReasoningDelta { delta: text.to_owned() };
    /// let mut events = vec![delta("a"), delta("b"), StreamEvent::ReasoningEnd];
    /// StreamEvent::join_deltas(&mut events);
    /// assert_eq!(events, [delta("ab"), StreamEvent::ReasoningEnd]);
    /// ```
    pub fn join_deltas(events: &mut Vec<Self>) {
        events.dedup_by(|next, last| match (last, next) {
            (Self::TextDelta { text_id, delta }, Self::TextDelta { text_id: id, delta: more }) if text_id == id => {
                delta.push_str(more);
                true
            }
            (Self::ToolCallDelta { id, delta }, Self::ToolCallDelta { id: other, delta: more }) if id == other => {
                delta.push_str(more);
                true
            }
            (Self::ReasoningDelta { delta }, Self::ReasoningDelta { delta: more }) => {
                delta.push_str(more);
                true
            }
            _ => false,
        });
    }
}
