//! The clock of a JavaScript host: `Date.now` and its timers.

use emend_llm::{BoxFuture, Clock};

use super::bridge::Timer;

/// The host's clock. A timer may fire late in a background tab, never early.
#[derive(Clone, Copy, Debug, Default)]
pub struct BrowserClock;

impl Clock for BrowserClock {
    fn now_ms(&self) -> u64 {
        js_sys::Date::now() as u64
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(Timer::new(ms))
    }
}
