//! Shared parts of the native tests: a provider over reqwest, and a runtime.

use std::sync::Arc;

use emend_host::{ReqwestTransport, Timeouts};
use emend_llm::{Api, Config, HttpProvider, Provider};

/// Names the checklist items (`docs/llm-conformance.md`) that the running test covers.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Returns the provider for the wire format `api` and the server at `url`.
pub(crate) fn provider(api: Api, url: &str, key: &str) -> Arc<dyn Provider> {
    let config = Config { api_key: key.to_owned(), base_url: Some(url.to_owned()), ..Config::default() };
    Arc::new(HttpProvider::new(api.adapter(config), Arc::new(ReqwestTransport::new(Timeouts::default()))))
}
