//! Tests of the service: requests and replies over files in memory and the offline model.

mod bench_host;
mod canvas;
mod jobs;
mod questions;

use bench_host::Bench;
