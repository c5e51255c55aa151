//! Web pages for the agent: the addresses that it may fetch, and HTML as text.
//!
//! This module sends no requests; a [`Transport`](emend_llm::Transport) does. [`WebFetch`](crate::tools::WebFetch)
//! combines both.

mod address;
mod html;

pub use address::{Address, AddressError, is_public};
pub use html::to_text;
