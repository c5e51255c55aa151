//! What the agent needs of the web: which addresses it may fetch, and what a page says.
//!
//! Nothing here sends anything; that is a [`Transport`](emend_llm::Transport)'s, and
//! [`WebFetch`](crate::tools::WebFetch) puts both together.

mod address;
mod html;

pub use address::{Address, AddressError, is_public};
pub use html::to_text;
