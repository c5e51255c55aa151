//! Types that differ between a threaded host and a browser tab: shared pointers, thread bounds, boxed futures,
//! cancellation.
//!
//! Natively a session may move between threads, so shared values are `Send + Sync`. A browser tab has one thread, so
//! they are not. This module neither waits for time nor draws randomness: hosts pass those in.

use std::future::Future;
use std::pin::Pin;
pub use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use event_listener::Event;
use futures::Stream;

/// A shared pointer: `Arc` natively, `Rc` in a browser.
#[cfg(not(target_family = "wasm"))]
pub type Shared<T> = std::sync::Arc<T>;
/// A shared pointer: `Arc` natively, `Rc` in a browser.
#[cfg(target_family = "wasm")]
pub type Shared<T> = std::rc::Rc<T>;

/// `Send` natively, nothing in a browser.
#[cfg(not(target_family = "wasm"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_family = "wasm"))]
impl<T: Send + ?Sized> MaybeSend for T {}
/// `Send` natively, nothing in a browser.
#[cfg(target_family = "wasm")]
pub trait MaybeSend {}
#[cfg(target_family = "wasm")]
impl<T: ?Sized> MaybeSend for T {}

/// `Sync` natively, nothing in a browser.
#[cfg(not(target_family = "wasm"))]
pub trait MaybeSync: Sync {}
#[cfg(not(target_family = "wasm"))]
impl<T: Sync + ?Sized> MaybeSync for T {}
/// `Sync` natively, nothing in a browser.
#[cfg(target_family = "wasm")]
pub trait MaybeSync {}
#[cfg(target_family = "wasm")]
impl<T: ?Sized> MaybeSync for T {}

/// A mutex whose lock ignores poisoning.
///
/// A panic ends the task that holds the lock. The other holders continue with the value as it is: every step under a
/// lock leaves it valid.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Returns a mutex around `value`.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A boxed future, `Send` where the host needs it.
#[cfg(not(target_family = "wasm"))]
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// A boxed future, `Send` where the host needs it.
#[cfg(target_family = "wasm")]
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A boxed stream, `Send` where the host needs it.
#[cfg(not(target_family = "wasm"))]
pub type BoxStream<'a, T> = Pin<Box<dyn Stream<Item = T> + Send + 'a>>;
/// A boxed stream, `Send` where the host needs it.
#[cfg(target_family = "wasm")]
pub type BoxStream<'a, T> = Pin<Box<dyn Stream<Item = T> + 'a>>;

/// Tells the time and waits. The host supplies it, because the core has no clock.
pub trait Clock: MaybeSend + MaybeSync {
    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;
    /// Resolves after `ms` milliseconds.
    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()>;
}

/// Draws random numbers. The host supplies it, so that a seeded generator makes a run repeatable.
pub trait Random: MaybeSend + MaybeSync {
    /// Returns the next 64 random bits.
    fn next_u64(&self) -> u64;
}

/// Cancels everything that holds a clone of it. A cancellation is final.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    inner: Shared<CancelState>,
}

#[derive(Debug, Default)]
struct CancelState {
    cancelled: AtomicBool,
    event: Event,
}

impl CancelToken {
    /// Returns a token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels this token and every clone of it. A second call does nothing.
    pub fn cancel(&self) {
        self.inner.cancelled.store(true, Ordering::SeqCst);
        self.inner.event.notify(usize::MAX);
    }

    /// Returns whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancelled.load(Ordering::SeqCst)
    }

    /// Resolves once the token is cancelled, at once if it already is.
    pub fn cancelled(&self) -> BoxFuture<'static, ()> {
        let inner = Shared::clone(&self.inner);
        Box::pin(async move {
            loop {
                let listener = inner.event.listen();
                if inner.cancelled.load(Ordering::SeqCst) {
                    return;
                }
                listener.await;
            }
        })
    }
}
