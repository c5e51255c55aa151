//! The wire formats of the providers, one [`Adapter`](crate::Adapter) each, and the registry of providers.

pub mod anthropic;
#[cfg(test)]
mod content_tests;
pub mod gemini;
pub mod openai_chat;
pub mod openai_responses;
pub(crate) mod registry;
pub(crate) mod shared;

pub use registry::{Api, PROVIDERS, ProviderInfo};
pub use shared::config::Config;
pub use shared::sse;
