//! The parts that all requests share.

use std::sync::Arc;

use emend_agent::service::Service;
use emend_llm::{Clock, Random, Shared};
use tokio::sync::Semaphore;

use crate::config::{ServerConfig, Token};
use crate::metrics::Metrics;
use crate::rate::Rates;

/// The parts of a server.
pub struct ServerParts {
    /// The service.
    pub service: Service,
    /// Source of the time of heartbeats.
    pub clock: Shared<dyn Clock>,
    /// Source of request ids.
    pub random: Shared<dyn Random>,
    /// Settings.
    pub config: ServerConfig,
}

/// The state of a server. Clones share it.
#[derive(Clone)]
pub struct ServerState {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) service: Service,
    pub(crate) clock: Shared<dyn Clock>,
    pub(crate) random: Shared<dyn Random>,
    pub(crate) config: ServerConfig,
    /// Value of the cookie of pages. It is not the token, which no page can read.
    pub(crate) page_key: Token,
    pub(crate) metrics: Metrics,
    pub(crate) rates: Rates,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) openapi: String,
}

impl ServerState {
    /// Returns the state of a server before its first request.
    #[must_use]
    pub fn new(parts: ServerParts) -> Self {
        let ServerParts { service, clock, random, config } = parts;
        let limits = &config.limits;
        let inner = Inner {
            service,
            clock,
            page_key: config.token.of_pages(),
            random,
            metrics: Metrics::default(),
            rates: Rates::new(limits.requests_per_second, limits.requests_at_once),
            streams: Arc::new(Semaphore::new(limits.streams_max)),
            openapi: crate::openapi::document(),
            config,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the service.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.inner.service
    }

    /// Returns the settings.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        &self.inner.config
    }
}
