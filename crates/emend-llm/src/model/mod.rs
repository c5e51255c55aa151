//! The unified data model: messages, tools, requests, responses and stream events.
//!
//! Every type is plain data that serialises to JSON. JavaScript callers see the same fields in camelCase. The adapters translate it to the wire
//! formats of the providers.

pub(crate) mod base64;
mod content;
mod events;
pub(crate) mod media;
mod message;
mod parts;
mod request;
mod response;
pub mod schema;

pub use content::{ContentPart, MediaData, ThinkingData, ToolCall, ToolResult};
pub(crate) use content::{LOCAL_ID_PREFIX, is_local_id};
pub use events::StreamEvent;
pub use media::is_local_path;
pub use message::{Message, Role};
pub use parts::Parts;
pub use request::{Request, ResponseFormat, ToolChoice, ToolDefinition};
pub use response::{FinishKind, FinishReason, RateLimitInfo, Response, Usage, Warning};
