//! The review service over HTTP: [`app`] turns requests into [`ApiRequest`](emend_agent::service::ApiRequest)s, and the
//! replies and events of the service into JSON and server-sent events.
//!
//! Routes come from the table of operations alone. The crate reads the files of the web app and nothing else, starts no
//! process, and leaves the choice of models, stores and settings to its host.

mod access;
mod api;
mod config;
mod entry;
mod files;
mod metrics;
mod openapi;
mod openapi_links;
mod path;
mod rate;
mod reference;
mod reply;
mod serve;
mod state;
mod stream;
mod surrogates;

pub use config::{ServerConfig, ServerLimits, Token};
pub use entry::app;
pub use openapi::document;
pub use reference::reference;
pub use serve::{Stop, serve};
pub use state::{ServerParts, ServerState};

#[cfg(test)]
mod tests;
