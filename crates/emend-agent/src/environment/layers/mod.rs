//! Environments around another environment: read-only, logging, and confined to one directory.

mod confined;
mod logging;
mod read_only;

pub use confined::Confined;
pub use logging::{Log, LogEvent, Logging};
pub use read_only::ReadOnly;
