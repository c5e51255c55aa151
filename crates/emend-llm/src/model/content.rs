//! The parts of a message: text, media, tool calls, tool results, reasoning.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ContentPart {
    /// Plain text.
    Text {
        /// May be empty.
        text: String,
    },
    /// An image, as a URL or as data.
    Image(MediaData),
    /// Audio, as a URL or as data.
    Audio(MediaData),
    /// A document, e.g. a PDF, as a URL or as data.
    Document(MediaData),
    /// A tool call that the model requests.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// The model's reasoning, with the signature that lets the provider accept it back.
    Thinking(ThinkingData),
    /// Reasoning that only the provider can read, kept verbatim.
    RedactedThinking(ThinkingData),
    /// A block that only its provider knows, kept verbatim and echoed to the same provider only. Data of the form
    /// `{"annotates": {..}}` holds fields of the preceding text part, e.g. citations or a signature.
    Provider {
        /// Name of the provider.
        provider: String,
        /// The block as received.
        data: Value,
    },
}

/// The key under which a [`ContentPart::Provider`] holds fields of the preceding part.
const ANNOTATES: &str = "annotates";

impl ContentPart {
    /// Returns a part that holds `fields` of the preceding text part, which only `provider` knows.
    pub(crate) fn annotation(provider: &str, fields: Map<String, Value>) -> Self {
        let data = Value::Object(Map::from_iter([(ANNOTATES.to_owned(), Value::Object(fields))]));
        Self::Provider { provider: provider.to_owned(), data }
    }

    /// Returns the fields of the preceding part, if this is an annotation of `provider`.
    pub(crate) fn annotation_by(&self, provider: &str) -> Option<&Map<String, Value>> {
        match self {
            Self::Provider { provider: own, data } if own == provider => data.get(ANNOTATES)?.as_object(),
            _ => None,
        }
    }
}

/// An image, audio clip or document. Exactly one of `url` and `data` is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MediaData {
    /// The URL, or a local path that the host reads first.
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
    /// Name to show. Documents only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
}

/// A tool call, as the model requested it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCall {
    /// The provider's id, or a local id where the provider gives none.
    pub id: String,
    /// The exposed name of the tool.
    pub name: String,
    /// The parsed arguments. A string if they are not JSON or the tool takes free text.
    pub arguments: Value,
    /// The arguments as received, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<String>,
    /// Whether the arguments are free text (`custom`) instead of JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub custom: bool,
    /// Fields of the provider that must be echoed, e.g. a thought signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_data: Option<Value>,
}

/// Prefix of call ids that were made up because the provider gave none.
pub(crate) const LOCAL_ID_PREFIX: &str = "local_";

impl ToolCall {
    /// Returns whether the id was made up because the provider gave none. Such an id is not sent back to a provider
    /// that matches calls by their position.
    #[must_use]
    pub fn has_local_id(&self) -> bool {
        is_local_id(&self.id)
    }
}

/// Returns whether `id` was made up because the provider gave none.
pub(crate) fn is_local_id(id: &str) -> bool {
    id.starts_with(LOCAL_ID_PREFIX)
}

/// The result of one tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolResult {
    /// The id of the call.
    pub tool_call_id: String,
    /// The exposed name of the tool; some providers match by name.
    pub name: String,
    /// A text, or a structured value.
    pub content: Value,
    /// Whether the call failed.
    pub is_error: bool,
    /// An image the tool returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<MediaData>,
}

/// Reasoning text, and the opaque data that lets the provider accept it back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ThinkingData {
    /// The text; may be empty while the signature is not.
    pub text: String,
    /// The provider's signature or encrypted content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The provider for which the signature is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The provider's whole item, where text and signature are not enough to echo it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_data: Option<Value>,
}
