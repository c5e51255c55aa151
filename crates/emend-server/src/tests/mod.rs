//! Tests over HTTP: routes, access, limits, streams, and documents that must be current.

mod bench;
mod host_tests;
