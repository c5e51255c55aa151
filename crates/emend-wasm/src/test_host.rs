//! A host for tests that run without the JavaScript layer.

use std::cell::RefCell;

#[cfg(all(feature = "agent", feature = "shell"))]
use js_sys::Function;
use wasm_bindgen::prelude::*;

use crate::host::{Host, connect, settle};
#[cfg(all(feature = "agent", feature = "shell"))]
use crate::{js::JsShell, shell::ScriptHandle};

#[wasm_bindgen(inline_js = r#"
export function makeHost(settle) {
    const timers = new Map();
    const tasks = new Map();
    return {
        tasks,
        wake(task) {
            if (tasks.has(task)) queueMicrotask(tasks.get(task));
        },
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

export function makeStart(host, newScript) {
    return (settings, files) => {
        const script = newScript();
        const told = [];
        let end, failure, waiting;
        const answer = () => {
            if (waiting === undefined) return;
            const text = told.length > 0 ? told.shift() : end;
            if (text === undefined && failure === undefined) return;
            if (text === undefined) waiting.reject(failure);
            else waiting.resolve(text);
            waiting = undefined;
        };
        const [root, workingDir, timeoutMs, nVars, ...rest] = settings.split("\0");
        const envVars = {};
        for (let left = Number(nVars); left > 0; left -= 1) {
            const [name, value] = rest.splice(0, 2);
            envVars[name] = value;
        }
        const given = { root, workingDir, timeoutMs: Number(timeoutMs), envVars, text: rest.join("\0") };
        const task = script.run(JSON.stringify(given), files, (number, bytes) => {
            told.push(number + new TextDecoder().decode(bytes));
            answer();
        });
        const poll = () => {
            if (!host.tasks.has(task.id)) return;
            try {
                const given = task.poll();
                if (given !== undefined) {
                    const { exitCode, timedOut, cancelled } = JSON.parse(given);
                    end = (timedOut ? "t" : cancelled ? "c" : "e") + exitCode;
                }
            } catch (thrown) {
                failure = String(thrown.message);
            }
            if (end !== undefined || failure !== undefined) host.tasks.delete(task.id);
            answer();
        };
        host.tasks.set(task.id, poll);
        queueMicrotask(poll);
        return {
            next: () => new Promise((resolve, reject) => {
                waiting = { resolve, reject };
                answer();
            }),
            cancel: () => queueMicrotask(() => script.cancel()),
        };
    };
}
"#)]
extern "C" {
    #[wasm_bindgen(js_name = makeHost)]
    fn make_host(settle: &JsValue) -> Host;

    #[cfg(all(feature = "agent", feature = "shell"))]
    #[wasm_bindgen(js_name = makeStart)]
    fn make_start(host: &Host, new_script: &JsValue) -> Function;
}

thread_local! {
    static CONNECTED: RefCell<Option<JsValue>> = const { RefCell::new(None) };
}

/// Connects a host with real promises and timers on the first call, and returns it.
pub fn connect_test_host() -> Host {
    let host = CONNECTED.with(|slot| {
        let make = || {
            let settle = Closure::<dyn Fn(u32, bool, JsValue)>::new(settle).into_js_value();
            let host = JsValue::from(make_host(&settle));
            connect(host.clone().unchecked_into());
            host
        };
        slot.borrow_mut().get_or_insert_with(make).clone()
    });
    host.unchecked_into()
}

/// Returns the emulated shell, connected to the core as the JavaScript layer connects them, but in one module.
#[cfg(all(feature = "agent", feature = "shell"))]
#[must_use]
pub fn test_shell() -> JsShell {
    let new_script = Closure::<dyn Fn() -> JsValue>::new(|| ScriptHandle::new().into()).into_js_value();
    JsShell::new(make_start(&connect_test_host(), &new_script))
}
