//! Times two implementations alternately, so that a noisy machine disturbs both alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

/// One measurement beside a peer's. The fields are the columns of `cargo xtask bench`.
#[derive(Serialize)]
pub(crate) struct Row {
    name: String,
    ours: f64,
    peer_name: Option<String>,
    peer: Option<f64>,
    ratio: Option<f64>,
    unit: &'static str,
}

impl Row {
    pub(crate) fn beside(name: String, (ours, peer): (Duration, Duration), peer_name: &str) -> Self {
        let (ours, peer) = (millis(ours), millis(peer));
        Self {
            name,
            ours,
            peer_name: Some(peer_name.to_owned()),
            peer: Some(peer),
            ratio: Some(ours / peer),
            unit: "ms",
        }
    }

    pub(crate) fn alone(name: String, ours: f64, unit: &'static str) -> Self {
        Self { name, ours, peer_name: None, peer: None, ratio: None, unit }
    }
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Time limit for a pair; at least three rounds are measured.
const BUDGET: Duration = Duration::from_secs(2);

/// Runs both alternately and returns the shortest time of each.
pub(crate) fn pair<A, B>(mut ours: impl FnMut() -> A, mut peer: impl FnMut() -> B) -> (Duration, Duration) {
    let begun = Instant::now();
    let mut best = (Duration::MAX, Duration::MAX);
    let mut rounds = 0;
    while rounds < 3 || (begun.elapsed() < BUDGET && rounds < 200) {
        best = (best.0.min(time(&mut ours)), best.1.min(time(&mut peer)));
        rounds += 1;
    }
    best
}

/// Returns the shortest time of several runs.
pub(crate) fn alone<A>(mut ours: impl FnMut() -> A) -> Duration {
    pair(&mut ours, || ()).0
}

fn time<T>(run: &mut impl FnMut() -> T) -> Duration {
    let begun = Instant::now();
    let result = run();
    let taken = begun.elapsed();
    black_box(result);
    taken
}
