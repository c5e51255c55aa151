//! Counts requests, and writes the metrics as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use emend_agent::service::Service;
use emend_agent::service::api::ApiResult;
use emend_agent::service::store::EventScope;
use emend_llm::runtime::Mutex;

/// Upper bounds of the buckets of latencies in seconds.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// Counters of a server.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    latencies: Mutex<BTreeMap<&'static str, Latency>>,
    /// Number of events that streams have sent.
    sent: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct Latency {
    /// Number of requests in each bucket, without those of smaller bounds.
    counts: [u64; BOUNDS.len()],
    n: u64,
    seconds: f64,
}

impl Metrics {
    /// Counts a request.
    pub(crate) fn request(&self, operation: &'static str, status: u16, time: Duration) {
        *self.requests.lock().entry((operation, status)).or_default() += 1;
        let mut latencies = self.latencies.lock();
        let latency = latencies.entry(operation).or_default();
        let seconds = time.as_secs_f64();
        if let Some(at) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            latency.counts[at] += 1;
        }
        latency.n += 1;
        latency.seconds += seconds;
    }

    /// Counts events of a stream.
    pub(crate) fn sent(&self, n_events: usize) {
        self.sent.fetch_add(n_events as u64, Ordering::Relaxed);
    }

    fn write_requests(&self, text: &mut String) {
        head(text, "emend_http_requests_total", "counter", "Requests by operation and status.");
        for ((operation, status), n) in self.requests.lock().iter() {
            line(text, &format!("emend_http_requests_total{{operation=\"{operation}\",status=\"{status}\"}} {n}"));
        }
        let name = "emend_http_request_duration_seconds";
        head(text, name, "histogram", "Time until the head of the response, by operation.");
        for (operation, latency) in self.latencies.lock().iter() {
            let mut n = 0;
            for (bound, count) in BOUNDS.iter().zip(latency.counts) {
                n += count;
                line(text, &format!("{name}_bucket{{operation=\"{operation}\",le=\"{bound}\"}} {n}"));
            }
            line(text, &format!("{name}_bucket{{operation=\"{operation}\",le=\"+Inf\"}} {}", latency.n));
            line(text, &format!("{name}_sum{{operation=\"{operation}\"}} {}", latency.seconds));
            line(text, &format!("{name}_count{{operation=\"{operation}\"}} {}", latency.n));
        }
    }
}

/// Returns all metrics.
///
/// # Errors
///
/// The store cannot be read.
pub(crate) async fn text(metrics: &Metrics, service: &Service, n_streams: usize) -> ApiResult<String> {
    let mut text = String::new();
    metrics.write_requests(&mut text);
    let store = service.store();
    let n_running = store.open_jobs().await?.iter().filter(|job| job.status.holds_slot()).count();
    let n_events = store.events(&EventScope::All, u64::MAX, 0).await?.last;
    let sent = metrics.sent.load(Ordering::Relaxed);
    let single = [
        ("emend_open_streams", "gauge", "Open streams of events.", n_streams as u64),
        ("emend_running_jobs", "gauge", "Jobs that hold the run slot of their session.", n_running as u64),
        ("emend_events_total", "counter", "Events of all sessions since the store exists.", n_events),
        ("emend_stream_events_total", "counter", "Events that streams have sent.", sent),
    ];
    for (name, kind, help, value) in single {
        head(&mut text, name, kind, help);
        line(&mut text, &format!("{name} {value}"));
    }
    Ok(text)
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, &format!("# HELP {name} {help}\n# TYPE {name} {kind}"));
}

fn line(text: &mut String, line: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_all_requests_up_to_their_bound() {
        let metrics = Metrics::default();
        for ms in [1, 4, 400, 60_000] {
            metrics.request("Run", 202, Duration::from_millis(ms));
        }
        metrics.request("Run", 409, Duration::from_millis(2));
        let mut text = String::new();
        metrics.write_requests(&mut text);
        for line in [
            "emend_http_requests_total{operation=\"Run\",status=\"202\"} 4",
            "emend_http_requests_total{operation=\"Run\",status=\"409\"} 1",
            "emend_http_request_duration_seconds_bucket{operation=\"Run\",le=\"0.001\"} 1",
            "emend_http_request_duration_seconds_bucket{operation=\"Run\",le=\"0.005\"} 3",
            "emend_http_request_duration_seconds_bucket{operation=\"Run\",le=\"10\"} 4",
            "emend_http_request_duration_seconds_bucket{operation=\"Run\",le=\"+Inf\"} 5",
            "emend_http_request_duration_seconds_count{operation=\"Run\"} 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
        }
    }
}
