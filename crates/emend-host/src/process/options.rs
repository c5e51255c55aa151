//! The settings that a command is started with.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::sandbox::Sandbox;

/// The settings that a command is started with.
pub(crate) struct SpawnOptions<'a> {
    /// Root of the project. Working directories are relative to it.
    pub(crate) root: &'a Path,
    /// The inherited environment variables. A command's own variables override them.
    pub(crate) variables: BTreeMap<OsString, OsString>,
    /// A word that all processes of the command carry in the variable of marks, if any.
    #[cfg(unix)]
    pub(crate) mark: Option<&'a str>,
    /// Confinement of writes, if any.
    pub(crate) sandbox: Option<&'a Sandbox>,
}
