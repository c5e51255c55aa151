//! The unified data model: messages, tools, requests, responses and stream events.
//!
//! Names follow the unified client's specification (S2 companion, section 3). Every type is plain data that
//! serialises to the JSON a JavaScript caller sees; translating to a provider's wire format is the adapters' job.

use std::collections::BTreeMap;
use std::ops::Add;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::parts::Parts;

/// Who produced a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// High-level instructions, typically first.
    System,
    /// Human input.
    User,
    /// Model output.
    Assistant,
    /// Results of tool calls.
    Tool,
    /// Privileged instructions from the application.
    Developer,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who produced it.
    pub role: Role,
    /// Its parts, in order. Copies of a message share them.
    pub content: Parts,
    /// A name for attribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    /// Returns a message of `role` with one text part.
    pub fn text_of(role: Role, text: impl Into<String>) -> Self {
        Self { role, content: vec![ContentPart::Text { text: text.into() }].into(), name: None }
    }

    /// Returns a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::text_of(Role::System, text)
    }

    /// Returns a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::text_of(Role::User, text)
    }

    /// Returns an assistant message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text_of(Role::Assistant, text)
    }

    /// Returns one tool message that carries all `results`, in call order.
    #[must_use]
    pub fn tool_results(results: Vec<ToolResult>) -> Self {
        Self { role: Role::Tool, content: results.into_iter().map(ContentPart::ToolResult).collect(), name: None }
    }

    /// Returns the concatenation of all text parts.
    #[must_use]
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|part| if let ContentPart::Text { text } = part { Some(text.as_str()) } else { None })
            .collect()
    }

    /// Returns the tool calls in order.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<&ToolCall> {
        self.content
            .iter()
            .filter_map(|part| if let ContentPart::ToolCall(call) = part { Some(call) } else { None })
            .collect()
    }

    /// Returns the concatenated reasoning text, if there is any.
    #[must_use]
    pub fn reasoning(&self) -> Option<String> {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(
                |part| if let ContentPart::Thinking(thinking) = part { Some(thinking.text.as_str()) } else { None },
            )
            .collect();
        (!texts.is_empty()).then(|| texts.concat())
    }
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ContentPart {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// An image by URL or by data.
    Image(MediaData),
    /// Audio by URL or by data.
    Audio(MediaData),
    /// A document (PDF and such) by URL or by data.
    Document(MediaData),
    /// A call the model wants made.
    ToolCall(ToolCall),
    /// What a call gave.
    ToolResult(ToolResult),
    /// The model's reasoning, with the signature that lets it be echoed.
    Thinking(ThinkingData),
    /// Reasoning that only the provider can read, kept verbatim.
    RedactedThinking(ThinkingData),
    /// A provider's own block, kept verbatim and echoed to the same provider only. One whose data is
    /// `{"annotates": {..}}` holds fields that belong to the text part before it, e.g. citations or a signature.
    Provider {
        /// The adapter it came from.
        provider: String,
        /// The block as received.
        data: Value,
    },
}

/// The key under which a [`ContentPart::Provider`] holds fields of the part before it.
const ANNOTATES: &str = "annotates";

impl ContentPart {
    /// Returns a part that holds `fields` of the text part before it, which only `provider` knows.
    pub(crate) fn annotation(provider: &str, fields: Map<String, Value>) -> Self {
        let data = Value::Object(Map::from_iter([(ANNOTATES.to_owned(), Value::Object(fields))]));
        Self::Provider { provider: provider.to_owned(), data }
    }

    /// Returns the fields of the part before it, if this is an annotation by `provider`.
    pub(crate) fn annotation_by(&self, provider: &str) -> Option<&Map<String, Value>> {
        match self {
            Self::Provider { provider: own, data } if own == provider => data.get(ANNOTATES)?.as_object(),
            _ => None,
        }
    }
}

/// An image, audio clip or document. Exactly one of `url` and `data` is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediaData {
    /// Where it can be fetched, or a local path that the host reads first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The bytes, base64-encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The MIME type, e.g. `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Processing fidelity: `auto`, `low` or `high`. Images only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// A display name. Documents only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
}

/// A tool call as the model made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, or a made-up one where the provider gives none.
    pub id: String,
    /// The tool's wire name.
    pub name: String,
    /// The parsed arguments; a string when they did not parse or the tool takes free text.
    pub arguments: Value,
    /// The arguments as received, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<String>,
    /// Whether the arguments are free text (`custom`) instead of JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub custom: bool,
    /// The provider's own fields that must be echoed, e.g. a thought signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_data: Option<Value>,
}

/// What a tool call gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call this answers.
    pub tool_call_id: String,
    /// The tool's name; some providers match by name.
    pub name: String,
    /// Text, or a structured value.
    pub content: Value,
    /// Whether the call failed.
    pub is_error: bool,
    /// An image the tool returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<MediaData>,
}

/// Reasoning text and the opaque data that lets a provider accept it back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThinkingData {
    /// The reasoning text; may be empty while the signature is not.
    pub text: String,
    /// The provider's signature or encrypted content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The provider it is valid for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's whole item where text and signature are not enough to echo it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_data: Option<Value>,
}

/// A tool the model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Unique name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema; the root is an object.
    pub parameters: Value,
}

/// Whether and which tool the model must call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Named {
        /// The tool's name.
        tool_name: String,
    },
}

/// The form the answer must take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Free text.
    Text,
    /// Any JSON.
    Json,
    /// JSON that a schema describes.
    JsonSchema {
        /// The schema.
        json_schema: Value,
        /// Whether the provider must enforce it.
        #[serde(default)]
        strict: bool,
    },
}

/// The input of `complete` and `stream`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The provider's own model id.
    pub model: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Which provider; the client's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Tools the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Whether it must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The form of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Output limit in tokens; the model's own limit when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; the provider's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Arbitrary pairs for the provider's logs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Parameters that only one provider knows, keyed by provider name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub provider_options: Map<String, Value>,
}

/// Why generation ended, unified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishKind {
    /// The model was done.
    #[default]
    Stop,
    /// The output limit was reached.
    Length,
    /// The model wants tools called.
    ToolCalls,
    /// A filter blocked the answer.
    ContentFilter,
    /// Generation failed.
    Error,
    /// The provider paused the turn; sending it back unchanged goes on.
    Pause,
    /// The provider's own reason, not mapped.
    Other,
}

/// Why generation ended: the unified reason and the provider's word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishReason {
    /// The unified reason.
    pub reason: FinishKind,
    /// The provider's own string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Token counts. `input_tokens` includes cached ones, whatever the provider's own counting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens in the prompt, cached ones included.
    pub input_tokens: u64,
    /// Tokens generated, reasoning included.
    pub output_tokens: u64,
    /// Tokens spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Prompt tokens served from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The provider's own numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

impl Usage {
    /// Returns input plus output.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        Usage {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
            cache_read_tokens: sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: sum(self.cache_write_tokens, other.cache_write_tokens),
            raw: None,
        }
    }
}

/// Something worth knowing that did not stop the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What happened.
    pub message: String,
    /// A stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// What the provider said of its rate limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateLimitInfo {
    /// Requests left in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_remaining: Option<u64>,
    /// Requests per window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_limit: Option<u64>,
    /// Tokens left in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_remaining: Option<u64>,
    /// Tokens per window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_limit: Option<u64>,
    /// When the window resets, as the provider wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_at: Option<String>,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The provider's id.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// The provider that answered.
    pub provider: String,
    /// The answer; its role is assistant.
    pub message: Message,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Token counts.
    pub usage: Usage,
    /// What is worth knowing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Rate limits, from the headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimitInfo>,
}

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
