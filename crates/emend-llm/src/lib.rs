//! One client over the wire formats of the model providers.
//!
//! Messages go in, stream events come out. The adapters do no I/O: they turn a [`Request`] into an [`HttpRequest`] and
//! bytes back into [`StreamEvent`]s. The host owns sockets, clocks and randomness; it supplies a [`Transport`], a
//! [`Clock`] and a [`Random`].
#![forbid(unsafe_code)]

pub mod cassette;
pub mod generate;
pub mod partial_json;
pub mod runtime;

mod catalog;
mod client;
mod error;
mod model;
#[cfg(test)]
mod parity;
mod provider;
mod providers;
mod secrets;
#[cfg(test)]
mod testing;
mod transport;

pub use catalog::{ModelInfo, get_latest_model, get_model_info, list_models};
pub use client::{
    Client, HttpProvider, Middleware, Next, Observe, RetryObserver, RetryPolicy, StreamAccumulator, collect,
    constrained, retry, retry_stream, router,
};
pub use error::{ErrorKind, LlmError};
pub use generate::default_generator::{default_client, default_client_or_set, set_default_client};
pub use generate::{object, tool};
pub use model::*;
pub use provider::{Adapter, Decoder, EventStream, Provider};
pub use providers::{Api, Config, PROVIDERS, ProviderInfo, anthropic, gemini, openai_chat, openai_responses, sse};
pub use runtime::{BoxFuture, BoxStream, CancelToken, Clock, MaybeSend, MaybeSync, Random, Shared};
pub use transport::{
    Headers, HttpRequest, HttpResponse, Transport, TransportError, is_harmless_header, public_address,
};
