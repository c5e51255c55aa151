//! The client over HTTP against third-party servers, from a page through fetch: the same cases as natively.
//! `cargo xtask test` starts the servers and compiles their URLs in, because a page has no environment variables.

#[cfg(test)]
#[cfg(target_family = "wasm")]
mod aimock;
#[cfg(test)]
#[cfg(target_family = "wasm")]
#[path = "../cases.rs"]
mod cases;
#[cfg(test)]
#[cfg(target_family = "wasm")]
mod llama;
#[cfg(test)]
#[cfg(target_family = "wasm")]
#[path = "../llama_cases.rs"]
mod llama_cases;
#[cfg(test)]
#[cfg(target_family = "wasm")]
mod support;

#[cfg(test)]
#[cfg(target_family = "wasm")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
