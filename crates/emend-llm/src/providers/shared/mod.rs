//! The parts that adapters share: settings, framing, error classes, the assembly of a response.

pub(crate) mod config;
pub(crate) mod encode_cache;
pub(crate) mod error_decoder;
pub(crate) mod framing;
pub(crate) mod index_map;
pub(crate) mod rate_limit;
pub(crate) mod request_head;
pub(crate) mod response_builder;
pub(crate) mod retry_after;
pub(crate) mod shared_encoding;
pub mod sse;
