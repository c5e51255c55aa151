//! A deterministic model that needs no key and no network, for demos and tests.
//!
//! It responds to Anthropic Messages requests as a [`Transport`](emend_llm::Transport): it reads the conversation, decides on one step (a
//! text, some tool calls) and streams it as a provider would, so that adapters, loop and tools run as with a real
//! model. It is not an AI: it carries out a few fixed instructions ([`EXAMPLES`]) and says so. It keeps no state
//! between requests, and it accesses files only through the tools that the request offers.
#![forbid(unsafe_code)]

mod current_run;
mod instruction;
mod labels;
mod markdown;
mod provider;
mod request;
mod respond;
mod response;
mod step;
mod tasks;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod tool_names;
mod transport;

pub use instruction::{EXAMPLES, Example};
pub use labels::{LABEL, MODEL};
pub use provider::{provider, provider_over};
pub use respond::respond;
pub use response::WireResponse;
pub use transport::{OfflineTransport, Options};
