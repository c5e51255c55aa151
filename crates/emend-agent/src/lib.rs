//! The agent: its loop, its tools, the workspace between tools and files, and the canvas.
//!
//! Everything here runs natively and in a browser tab. Files, processes, the network, time and randomness come from
//! the host through [`env::ExecutionEnvironment`], `emend_llm::Transport`, `emend_llm::Clock` and
//! `emend_llm::Random`.
#![forbid(unsafe_code)]

pub mod approval;
pub mod canvas;
pub mod code;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod env;
pub mod event;
pub mod exec;
pub mod fixed;
pub mod gitignore;
pub mod glob;
pub mod memfs;
pub mod profile;
pub mod prompt;
pub mod resolve;
pub mod search;
pub mod session;
pub mod store;
pub mod sub_root;
pub mod suggest;
pub mod tool;
pub mod tools;
pub mod walk;
pub mod web;
pub mod workspace;
pub mod wrappers;

#[cfg(test)]
mod test_support;
