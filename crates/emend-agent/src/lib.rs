//! The agent: its loop, its tools, the workspace between tools and files, and the canvas.
//!
//! The crate runs natively and in a browser. Hosts provide files, processes, the network, time and randomness through
//! [`environment::ExecutionEnvironment`], `emend_llm::Transport`, `emend_llm::Clock` and `emend_llm::Random`.
#![forbid(unsafe_code)]

pub mod approval;
pub mod canvas;
pub mod environment;
pub mod error_code;
pub mod event;
pub mod fixed_texts;
pub mod history;
pub mod profile;
pub mod prompt;
pub mod search;
pub mod session;
pub mod store;
pub mod suggest;
pub mod tool;
pub mod tools;
pub mod web;
pub mod workspace;

#[cfg(test)]
mod test_support;
