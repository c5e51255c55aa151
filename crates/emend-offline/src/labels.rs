//! The names under which the offline model introduces itself.

/// Name of the model.
pub const MODEL: &str = "offline";

/// Prefix of the first text of every run.
pub const LABEL: &str = "Offline stand-in model (no AI):";
