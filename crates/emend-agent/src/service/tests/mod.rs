//! Tests of the service: requests and replies over files in memory and the offline model.

mod bench_host;
mod canvas;
#[cfg(not(target_family = "wasm"))]
mod host_tests;
mod jobs;
mod questions;
mod resuming;
mod review;
mod saving;
mod scenario;

use bench_host::Bench;
