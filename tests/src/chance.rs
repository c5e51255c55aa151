//! Test clocks without real waiting, and reproducible random numbers.

use std::future::ready;
use std::sync::{Mutex, PoisonError};

use emend_llm::{BoxFuture, Clock, Random};

/// A clock and a source of numbers that advance by one with every call. Sleeps return at once.
#[derive(Default)]
pub struct Ticks(Mutex<u64>);

impl Clock for Ticks {
    fn now_ms(&self) -> u64 {
        let mut now_ms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now_ms += 1;
        *now_ms
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(ready(()))
    }
}

impl Random for Ticks {
    fn next_u64(&self) -> u64 {
        self.now_ms()
    }
}

/// A clock that does not advance. Sleeps return at once and are recorded.
#[derive(Default)]
pub struct Sleeps(Mutex<Vec<u64>>);

impl Sleeps {
    /// Returns the sleeps so far, in milliseconds.
    pub fn slept(&self) -> Vec<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Clock for Sleeps {
    fn now_ms(&self) -> u64 {
        0
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ms);
        Box::pin(ready(()))
    }
}

/// Random numbers that are always the middle of the range.
pub struct Middle;

impl Random for Middle {
    fn next_u64(&self) -> u64 {
        1 << 63
    }
}
