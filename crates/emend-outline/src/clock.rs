//! The time since a moment. In a browser the host tells it.

use std::time::Duration;

/// The moment at which work began.
#[cfg(not(target_family = "wasm"))]
pub(crate) struct Clock(std::time::Instant);

#[cfg(not(target_family = "wasm"))]
impl Clock {
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The moment at which work began, in milliseconds of the host's clock.
#[cfg(target_family = "wasm")]
pub(crate) struct Clock(f64);

#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "an import has no safe declaration; the function takes and returns numbers")]
#[link(wasm_import_module = "emend")]
unsafe extern "C" {
    safe fn now_ms() -> f64;
}

#[cfg(target_family = "wasm")]
impl Clock {
    pub(crate) fn start() -> Self {
        Self(now_ms())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::try_from_secs_f64((now_ms() - self.0) / 1_000.0).unwrap_or_default()
    }
}
