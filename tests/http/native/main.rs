//! The client over HTTP against third-party servers, natively. `cargo xtask test` runs it as the step `http`; a plain
//! `cargo test` does not run it, because the servers need a set-up.

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod aimock;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
#[path = "../cases.rs"]
mod cases;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod llama;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
#[path = "../llama_cases.rs"]
mod llama_cases;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
#[path = "../../it/parity/mod.rs"]
mod parity;
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod support;
