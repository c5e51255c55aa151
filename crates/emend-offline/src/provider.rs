//! Providers that send requests to the offline model through the Anthropic adapter.

use emend_llm::anthropic::{Anthropic, Config};
use emend_llm::{HttpProvider, Shared, Transport};

use crate::labels::MODEL;
use crate::transport::{OfflineTransport, Options};

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
