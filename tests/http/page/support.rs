//! A page's way to the server: fetch, and a host whose promises and timers are the page's own.

use std::cell::Cell;

use emend_llm::{Api, Config, HttpProvider, Provider, Shared};
use emend_wasm::host::{Host, connect, settle};
use emend_wasm::{FetchTimeouts, FetchTransport};
use js_sys::Function;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(inline_js = r#"
export function makeHost(settle) {
    const timers = new Map();
    return {
        wake() {},
        watch(promise, ticket) {
            promise.then((value) => settle(ticket, true, value), (reason) => settle(ticket, false, reason));
        },
        startTimer(ms, ticket) {
            timers.set(ticket, setTimeout(() => settle(ticket, true, undefined), ms));
        },
        stopTimer(ticket) {
            clearTimeout(timers.get(ticket));
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

/// Returns the provider that speaks `api` to the server at `url`.
pub(crate) fn provider(api: Api, url: &str, key: &str) -> Shared<dyn Provider> {
    if !CONNECTED.replace(true) {
        let settle = Closure::<dyn Fn(u32, bool, JsValue)>::new(settle).into_js_value();
        connect(make_host(&settle));
    }
    let fetch = Function::new_with_args("url, options", "return fetch(url, options);");
    let transport = Shared::new(FetchTransport::new(fetch, FetchTimeouts::default()));
    let config = Config { api_key: key.to_owned(), base_url: Some(url.to_owned()), browser: true, ..Config::default() };
    Shared::new(HttpProvider::new(api.adapter(config), transport))
}
