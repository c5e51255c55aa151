//! A deterministic model that needs no key and no network, for demos and tests.
//!
//! It responds to Anthropic Messages requests as a [`Transport`]: it reads the conversation, decides on one step (a
//! text, some tool calls) and streams it as a provider would, so that adapters, loop and tools run as with a real
//! model. It is not an AI: it carries out a few fixed instructions ([`EXAMPLES`]) and says so. It keeps no state
//! between requests, and it accesses files only through the tools that the request offers.
#![forbid(unsafe_code)]

mod current_run;
mod instruction;
mod markdown;
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

use emend_llm::anthropic::{Anthropic, Config};
use emend_llm::{HttpProvider, Shared, Transport};

pub use instruction::{EXAMPLES, Example};
pub use respond::respond;
pub use response::WireResponse;
pub use transport::{OfflineTransport, Options};

/// Name of the model.
pub const MODEL: &str = "offline";

/// Prefix of the first text of every run.
pub const LABEL: &str = "Offline stand-in model (no AI):";

/// Returns a provider named [`MODEL`] that sends requests to the offline model through the Anthropic adapter.
#[must_use]
pub fn provider(options: Options) -> HttpProvider {
    provider_over(Shared::new(OfflineTransport::new(options)))
}

/// As [`provider`], but the offline model is behind `transport`, in another module.
#[must_use]
pub fn provider_over(transport: Shared<dyn Transport>) -> HttpProvider {
    let config = Config {
        // No request is sent to this URL. With a base URL the adapter requires no key.
        base_url: Some("http://offline.invalid".to_owned()),
        name: Some(MODEL.to_owned()),
        ..Config::default()
    };
    HttpProvider::new(Shared::new(Anthropic::new(config)), transport)
}
