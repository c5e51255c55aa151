//! A host for tests, which run without the JavaScript layer.

use std::cell::Cell;

use wasm_bindgen::prelude::*;

use crate::host::{Host, connect, settle};

#[wasm_bindgen(inline_js = r#"
export function makeHost(settle) {
    const timers = new Map();
    return {
        wake() {},
        watch(promise, ticket) {
            Promise.resolve(promise).then(
                (value) => settle(ticket, true, value),
                (reason) => settle(ticket, false, reason),
            );
        },
        startTimer(ms, ticket) {
            timers.set(ticket, setTimeout(() => settle(ticket, true, undefined), ms));
        },
        stopTimer(ticket) {
            clearTimeout(timers.get(ticket));
            timers.delete(ticket);
        },
        panicked(message) {
            console.error(message);
        },
    };
}
"#)]
extern "C" {
    #[wasm_bindgen(js_name = makeHost)]
    fn make_host(settle: &JsValue) -> Host;
}

thread_local! {
    static CONNECTED: Cell<bool> = const { Cell::new(false) };
}

/// Connects a host whose promises and timers are real, once.
pub(crate) fn connect_test_host() {
    if !CONNECTED.replace(true) {
        let settle = Closure::<dyn Fn(u32, bool, JsValue)>::new(settle).into_js_value();
        connect(make_host(&settle));
    }
}
