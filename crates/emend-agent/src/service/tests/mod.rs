//! Tests of the service: requests and replies over files in memory and the offline model.

mod bench_host;
mod canvas;
mod decided;
mod drafts;
mod ended;
mod files;
mod held;
#[cfg(not(target_family = "wasm"))]
mod host_tests;
mod jobs;
mod questions;
mod races;
mod resuming;
mod review;
mod rewind;
mod saving;
mod scenario;
mod shapes;
mod unwritten;
mod yielding;

use bench_host::Bench;
