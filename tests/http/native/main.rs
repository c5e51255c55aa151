//! The client over HTTP against servers that others wrote, natively. `cargo xtask test` runs it as the step `http`;
//! it is no part of a plain `cargo test`, because the servers have to be set up first.

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
