//! Requests to a model: conversation, tools, format and parameters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::message::Message;

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolDefinition {
    /// Unique name: letters, digits, `_` and `-`, at most 64 characters.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments; the root is an object.
    pub parameters: Value,
}

/// Whether the model must call a tool, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called.
    None,
    /// The model must call some tool.
    Required,
    /// The model must call this tool.
    Named {
        /// Name of the tool.
        tool_name: String,
    },
}

/// The format of the response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Free text.
    Text,
    /// Any JSON value.
    Json,
    /// JSON that matches a schema.
    JsonSchema {
        /// The JSON Schema.
        json_schema: Value,
        /// Whether the provider must enforce it.
        #[serde(default)]
        strict: bool,
    },
}

/// The input of [`Client::complete`](crate::Client::complete) and [`Client::stream`](crate::Client::stream).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Request {
    /// The provider's id of the model.
    pub model: String,
    /// The conversation, oldest message first.
    pub messages: Vec<Message>,
    /// Name of the provider; the client's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Tools that the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// Whether the model must call a tool; the provider's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The format of the response; free text if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// Sampling temperature; the provider's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling threshold, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Output limit in tokens; the model's own limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Texts at which the model stops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; the provider's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Key-value pairs for the provider's logs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Parameters that only one provider knows, by provider name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub provider_options: Map<String, Value>,
}
