//! Shared parts of the page tests: a provider over fetch, and a host with the page's promises and timers.

use emend_llm::{Api, Config, HttpProvider, Provider, Shared};
use emend_wasm::test_host::connect_test_host;
use emend_wasm::{FetchTimeouts, FetchTransport};
use js_sys::Function;

/// Returns the provider for the wire format `api` and the server at `url`.
pub(crate) fn provider(api: Api, url: &str, key: &str) -> Shared<dyn Provider> {
    connect_test_host();
    let fetch = Function::new_with_args("url, options", "return fetch(url, options);");
    let transport = Shared::new(FetchTransport::new(fetch, FetchTimeouts::default()));
    let config = Config { api_key: key.to_owned(), base_url: Some(url.to_owned()), browser: true, ..Config::default() };
    Shared::new(HttpProvider::new(api.adapter(config), transport))
}
