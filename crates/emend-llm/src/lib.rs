//! One client over the wire formats of the model providers.
//!
//! Messages go in, stream events come out. The adapters are sans-IO: they turn a [`Request`] into an
//! [`HttpRequest`] and bytes back into [`StreamEvent`]s. Sockets, clocks and randomness belong to the host, which
//! supplies a [`Transport`], a [`Clock`] and a [`Random`].
#![forbid(unsafe_code)]

pub mod anthropic;
pub mod cassette;
pub mod constrained;
pub mod gemini;
pub mod generate;
pub mod object;
pub mod offline;
pub mod openai_chat;
pub mod openai_responses;
pub mod partial_json;
mod parts;
pub mod router;
pub mod runtime;
pub mod schema;
pub mod sse;
pub mod tool;

mod accumulate;
mod answer;
mod api;
mod body;
mod by_index;
mod catalog;
mod client;
mod config;
mod default_client;
mod error;
mod failure;
mod media;
mod options;
#[cfg(test)]
mod parity;
mod provider;
mod rate_limit;
mod retry;
mod retry_after;
mod secrets;
mod segments;
#[cfg(test)]
mod testing;
mod transport;
mod types;

pub use accumulate::{StreamAccumulator, collect};
pub use api::Api;
pub use catalog::{ModelInfo, get_latest_model, get_model_info, list_models};
pub use client::{Client, Middleware, Next, Observe};
pub use config::Config;

pub use default_client::{default_client, default_client_or_set, set_default_client};
pub use error::{ErrorKind, LlmError};
pub use media::is_local_path;
pub use parts::Parts;
pub use provider::{Adapter, Decoder, EventStream, HttpProvider, Provider};
pub use retry::{RetryObserver, RetryPolicy, retry, retry_stream};
pub use runtime::{BoxFuture, BoxStream, CancelToken, Clock, MaybeSend, MaybeSync, Random, Shared};
pub use transport::{
    Headers, HttpRequest, HttpResponse, Transport, TransportError, is_harmless_header, public_address,
};
pub use types::*;
