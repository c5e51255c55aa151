//! The JavaScript host as Rust sees it: promises, timers, wake-ups and the report of a panic.
//!
//! A future that has to wait takes a ticket and passes it to the host with a promise or a timer. The host answers with
//! [`settle`]. The module `task` polls futures after they were woken.

use std::cell::RefCell;
use std::future::Future;
use std::panic::PanicHookInfo;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The JavaScript layer. Its methods never call back into wasm before they return.
    pub type Host;

    /// Requests that a task be polled soon.
    #[wasm_bindgen(method)]
    fn wake(this: &Host, task: u32);

    /// Settles `ticket` with the outcome of `promise`.
    #[wasm_bindgen(method)]
    fn watch(this: &Host, promise: &JsValue, ticket: u32);

    /// Settles `ticket` after `ms` milliseconds.
    #[wasm_bindgen(method, js_name = startTimer)]
    fn start_timer(this: &Host, ms: f64, ticket: u32);

    /// Cancels the timer of `ticket`.
    #[wasm_bindgen(method, js_name = stopTimer)]
    fn stop_timer(this: &Host, ticket: u32);

    /// Reports a panic. Nothing may call into this instance afterwards.
    #[wasm_bindgen(method)]
    fn panicked(this: &Host, message: &str);
}

thread_local! {
    static HOST: RefCell<Option<Host>> = const { RefCell::new(None) };
    static SLOTS: RefCell<Slots> = RefCell::new(Slots::default());
}

/// Sets the host. Must be called once, before any other function.
#[wasm_bindgen]
pub fn connect(host: Host) {
    HOST.with(|slot| *slot.borrow_mut() = Some(host));
    std::panic::set_hook(Box::new(report_panic));
}

/// Replaces the instance at the next call from JavaScript.
///
/// A panic does this itself. After a stack overflow, which ends an instance without a panic, the JavaScript layer calls
/// this function.
#[wasm_bindgen]
pub fn restart() {
    wasm_bindgen::handler::schedule_reinit();
}

/// Panics, for tests of the effect on callers.
#[wasm_bindgen(js_name = panicNow)]
#[expect(clippy::panic, reason = "panicking is the purpose of this function")]
pub fn panic_now(message: &str) {
    panic!("{message}");
}

/// Settles `ticket`. A ticket whose future was dropped is ignored.
#[wasm_bindgen]
pub fn settle(ticket: u32, ok: bool, value: JsValue) {
    let waker = SLOTS.with(|slots| {
        let mut slots = slots.borrow_mut();
        let slot = slots.slot(ticket)?;
        slot.outcome = Some(if ok { Ok(value) } else { Err(value) });
        slot.waker.take()
    });
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Requests that the host poll `task` soon.
#[cfg(any(feature = "agent", feature = "llm", feature = "shell"))]
pub(crate) fn wake(task: u32) {
    with_host(|host| host.wake(task));
}

fn with_host(act: impl FnOnce(&Host)) {
    HOST.with(|host| {
        if let Some(host) = host.borrow().as_ref() {
            act(host);
        }
    });
}

/// Reports the message before the panic aborts: afterwards no code of this instance runs. The next call from JavaScript
/// uses a new instance.
fn report_panic(info: &PanicHookInfo<'_>) {
    with_host(|host| host.panicked(&info.to_string()));
    restart();
}

#[derive(Default)]
struct Slots {
    last_ticket: u32,
    /// Few, so that a list is enough.
    waiting: Vec<(u32, Slot)>,
}

#[derive(Default)]
struct Slot {
    waker: Option<Waker>,
    outcome: Option<Result<JsValue, JsValue>>,
}

impl Slots {
    fn take_ticket(&mut self) -> u32 {
        loop {
            self.last_ticket = self.last_ticket.wrapping_add(1);
            if self.slot(self.last_ticket).is_none() {
                self.waiting.push((self.last_ticket, Slot::default()));
                return self.last_ticket;
            }
        }
    }

    fn slot(&mut self, ticket: u32) -> Option<&mut Slot> {
        self.waiting.iter_mut().find(|(known, _)| *known == ticket).map(|(_, slot)| slot)
    }
}

/// Resolves once its ticket is settled. Dropping it releases the ticket.
#[derive(Debug)]
pub(crate) struct Settled {
    ticket: u32,
}

impl Settled {
    fn new() -> Self {
        Self { ticket: SLOTS.with(|slots| slots.borrow_mut().take_ticket()) }
    }
}

impl Future for Settled {
    type Output = Result<JsValue, JsValue>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        SLOTS.with(|slots| {
            let mut slots = slots.borrow_mut();
            let Some(slot) = slots.slot(self.ticket) else { return Poll::Pending };
            match slot.outcome.take() {
                Some(outcome) => Poll::Ready(outcome),
                None => {
                    slot.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
    }
}

impl Drop for Settled {
    fn drop(&mut self) {
        // The slot is dropped after the borrow.
        SLOTS.with(|slots| {
            let waiting = &mut slots.borrow_mut().waiting;
            let at = waiting.iter().position(|(known, _)| *known == self.ticket)?;
            Some(waiting.swap_remove(at))
        });
    }
}

/// Resolves with the outcome of `promise`. A value that is not a promise resolves at once.
#[cfg(any(feature = "agent", feature = "llm"))]
pub(crate) fn promise(promise: &JsValue) -> Settled {
    let settled = Settled::new();
    with_host(|host| host.watch(promise, settled.ticket));
    settled
}

/// Resolves after `ms` milliseconds. Dropping it clears the timer, so that it does not keep a Node process alive.
#[derive(Debug)]
pub(crate) struct Timer {
    settled: Settled,
}

impl Timer {
    pub(crate) fn new(ms: u64) -> Self {
        let settled = Settled::new();
        with_host(|host| host.start_timer(ms as f64, settled.ticket));
        Self { settled }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.settled).poll(context).map(|_| ())
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        with_host(|host| host.stop_timer(self.settled.ticket));
    }
}
