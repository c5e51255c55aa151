//! The abilities that a JavaScript host lends the core: promises, timers, a clock, randomness and a network.

mod bridge;
mod clock;
#[cfg(any(feature = "agent", feature = "llm"))]
mod fetch;
#[cfg(any(feature = "agent", feature = "llm"))]
mod random;
#[cfg(any(feature = "agent", feature = "llm", feature = "shell"))]
pub mod task;

#[cfg(feature = "agent")]
pub(crate) use bridge::Settled;
pub use bridge::{Host, connect, panic_now, restart, settle};
#[cfg(any(feature = "agent", feature = "llm"))]
pub(crate) use bridge::{Timer, promise};
pub use clock::BrowserClock;
#[cfg(any(feature = "agent", feature = "llm"))]
pub use fetch::{FetchTimeouts, FetchTransport};
#[cfg(any(feature = "agent", feature = "llm"))]
pub use random::JsRandom;
