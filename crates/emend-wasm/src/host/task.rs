//! Futures that JavaScript polls.
//!
//! The JavaScript layer polls a task inside a `try`. A Rust executor would poll from a microtask, where a trap ends a Node
//! process; a trap inside a guarded call is an error that the caller can catch.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use emend_llm::BoxFuture;
#[cfg(any(feature = "agent", feature = "llm"))]
use emend_llm::BoxStream;
#[cfg(any(feature = "agent", feature = "llm"))]
use futures::Stream;
use wasm_bindgen::prelude::*;

use super::bridge::wake;
use crate::failure::Failure;

static LAST_TASK: AtomicU32 = AtomicU32::new(0);

/// Wakes one task through the host.
struct TaskWaker {
    task: u32,
}

impl TaskWaker {
    /// Returns a new task id and its waker.
    fn create() -> (u32, Waker) {
        let task = LAST_TASK.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        (task, Waker::from(Arc::new(Self { task })))
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        wake(self.task);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        wake(self.task);
    }
}

/// One asynchronous operation. It advances only while it is polled.
#[wasm_bindgen]
pub struct Task {
    id: u32,
    waker: Waker,
    future: RefCell<Option<BoxFuture<'static, Result<String, Failure>>>>,
}

#[cfg(any(feature = "agent", feature = "shell"))]
impl Task {
    pub(crate) fn new(future: impl std::future::Future<Output = Result<String, Failure>> + 'static) -> Self {
        let (id, waker) = TaskWaker::create();
        Self { id, waker, future: RefCell::new(Some(Box::pin(future))) }
    }
}

#[wasm_bindgen]
impl Task {
    /// The task id that `Host.wake` is called with.
    #[wasm_bindgen(getter)]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Advances as far as possible. Returns the result as JSON text, or `undefined` while it is pending.
    pub fn poll(&self) -> Result<Option<String>, JsValue> {
        let mut slot = self.future.borrow_mut();
        let Some(future) = slot.as_mut() else { return Ok(None) };
        match future.as_mut().poll(&mut Context::from_waker(&self.waker)) {
            Poll::Pending => Ok(None),
            Poll::Ready(outcome) => {
                *slot = None;
                outcome.map(Some).map_err(Failure::into_js)
            }
        }
    }
}

/// A sequence of JSON texts, polled like a task.
#[cfg(any(feature = "agent", feature = "llm"))]
pub(crate) struct Feed {
    id: u32,
    waker: Waker,
    items: RefCell<Option<BoxStream<'static, String>>>,
}

#[cfg(any(feature = "agent", feature = "llm"))]
impl Feed {
    pub(crate) fn new(items: impl Stream<Item = String> + 'static) -> Self {
        let (id, waker) = TaskWaker::create();
        Self { id, waker, items: RefCell::new(Some(Box::pin(items))) }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Returns the next item, an empty text at the end, or `None` while there is none.
    pub(crate) fn poll(&self) -> Option<String> {
        let mut slot = self.items.borrow_mut();
        let Some(items) = slot.as_mut() else { return Some(String::new()) };
        match items.as_mut().poll_next(&mut Context::from_waker(&self.waker)) {
            Poll::Pending => None,
            Poll::Ready(Some(item)) => Some(item),
            Poll::Ready(None) => {
                *slot = None;
                Some(String::new())
            }
        }
    }
}
