//! Files and directories below one root, each opened through the root's handle.
//!
//! [`RootFiles`] reads and writes single files and decides nothing about paths: callers resolve them first. A directory
//! that is swapped for a link between the decision and the opening leads nowhere, because no link is followed here.

mod append;
mod attributes;
pub(crate) mod directory;
mod error;
mod late_sync;
mod made_directories;
mod open;
mod root;
mod sync;
pub(crate) mod temp_files;

#[cfg(unix)]
pub(crate) use append::append;
pub(crate) use attributes::Attributes;
#[cfg(unix)]
pub(crate) use error::{WHOLE_FILE_BYTES_MAX, too_large};
pub(crate) use error::{describe, invalid, is_absence};
#[cfg(unix)]
pub(crate) use late_sync::sync_directory;
#[cfg(unix)]
pub(crate) use open::bytes_to_read;
#[cfg(unix)]
pub(crate) use open::read_text;
pub(crate) use open::{Opened, on_disk, read_entry, reading};
pub(crate) use root::{RootFiles, entry_metadata, keep_owner, refuse_unless_replaceable, with_slashes};
pub(crate) use sync::SyncContent;
#[cfg(test)]
#[cfg(unix)]
pub(crate) use sync::synced;
