//! Token buckets: each client may send some requests at once, and as many per second in the long run.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use emend_llm::runtime::Mutex;

/// Number of clients after which full buckets are forgotten.
const CLIENTS_MAX: usize = 1_000;

/// The address of a client, and whether it has the token.
pub(crate) type Caller = (IpAddr, bool);

/// The buckets of all clients.
pub(crate) struct Rates {
    per_second: f64,
    at_once: f64,
    buckets: Mutex<HashMap<Caller, Bucket>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Rates {
    /// Returns full buckets; `per_second` of 0 means unlimited.
    pub(crate) fn new(per_second: u32, at_once: u32) -> Self {
        Self { per_second: f64::from(per_second), at_once: f64::from(at_once.max(1)), buckets: Mutex::default() }
    }

    /// Takes a token of a client. Without one, returns the seconds until the next.
    pub(crate) fn take(&self, client: Caller, now: Instant) -> Result<(), u64> {
        if self.per_second == 0.0 {
            return Ok(());
        }
        let mut buckets = self.buckets.lock();
        if buckets.len() >= CLIENTS_MAX {
            buckets.retain(|_, bucket| self.refilled(*bucket, now).tokens < self.at_once);
        }
        let full = Bucket { tokens: self.at_once, at: now };
        let bucket = buckets.entry(client).or_insert(full);
        *bucket = self.refilled(*bucket, now);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(((1.0 - bucket.tokens) / self.per_second).ceil().max(1.0) as u64)
    }

    fn refilled(&self, bucket: Bucket, now: Instant) -> Bucket {
        let seconds = now.saturating_duration_since(bucket.at).as_secs_f64();
        Bucket { tokens: (bucket.tokens + seconds * self.per_second).min(self.at_once), at: now }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_empties_and_refills_for_each_client_apart() {
        let rates = Rates::new(2, 3);
        let one = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), true);
        let two = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), true);
        let start = Instant::now();
        let taken = |client, ms| rates.take(client, start + Duration::from_millis(ms));
        assert_eq!([taken(one, 0), taken(one, 0), taken(one, 0)], [Ok(()); 3]);
        assert_eq!(taken(one, 0), Err(1));
        assert_eq!(taken(two, 0), Ok(()));
        assert_eq!(taken(one, 400), Err(1));
        assert_eq!(taken(one, 500), Ok(()));
        assert_eq!(taken(one, 500), Err(1));
        // A long pause does not fill the bucket beyond its size.
        assert_eq!([taken(one, 60_000), taken(one, 60_000), taken(one, 60_000)], [Ok(()); 3]);
        assert_eq!(taken(one, 60_000), Err(1));
    }

    #[test]
    fn no_rate_means_no_limit() {
        let rates = Rates::new(0, 1);
        let client = (IpAddr::V4(Ipv4Addr::LOCALHOST), false);
        assert!((0..100).all(|_| rates.take(client, Instant::now()).is_ok()));
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let rates = Rates::new(1, 1);
        let start = Instant::now();
        for n in 0..5_000_u32 {
            let client = (IpAddr::V4(Ipv4Addr::from(n)), false);
            assert_eq!(rates.take(client, start + Duration::from_secs(u64::from(n))), Ok(()));
        }
        assert!(rates.buckets.lock().len() <= CLIENTS_MAX);
    }
}
