//! A deterministic stand-in model that needs no key and no network.
//!
//! It answers Anthropic Messages requests as a [`Transport`]: it reads the conversation, decides one step (a text, some
//! tool calls) and streams it back the way a provider does, so that adapters, loop and tools run as in earnest. It is
//! no AI: it carries out a handful of instructions ([`EXAMPLES`]) and says so. It keeps nothing between requests, and
//! it touches files only through the tools that the request offers.
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

/// The name the model goes by.
pub const MODEL: &str = "offline";

/// What the first text of every turn begins with.
pub const LABEL: &str = "Offline stand-in model (no AI):";

/// Returns a provider named [`MODEL`] that speaks to the stand-in through the Anthropic adapter.
#[must_use]
pub fn provider(options: Options) -> HttpProvider {
    provider_over(Shared::new(OfflineTransport::new(options)))
}

/// As [`provider`], but the stand-in is behind `transport`, in another module.
#[must_use]
pub fn provider_over(transport: Shared<dyn Transport>) -> HttpProvider {
    let config = Config {
        // Nothing is sent there; an address is what tells the adapter that no key is needed.
        base_url: Some("http://offline.invalid".to_owned()),
        name: Some(MODEL.to_owned()),
        ..Config::default()
    };
    HttpProvider::new(Shared::new(Anthropic::new(config)), transport)
}
