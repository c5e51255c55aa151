//! Files whose content is not stored, moved out of the project while a change is undone.
//!
//! Such a file is moved rather than deleted, so its bytes are never lost: a redo moves it back. Between file systems it is
//! copied first. Files here are never deleted, also when nothing can redo the change any more.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, statat};
use rustix::io::Errno;

use super::node::{Marks, Node};
use super::scan::stamp;
use crate::files::SyncContent as _;
use crate::files::temp_files::{UNFINISHED, temporary_name};
use crate::state::create_private;

/// The name of the directory in that of the keeper.
pub(super) const ASIDE: &str = "aside";

/// The directory of these files.
#[derive(Debug)]
pub(super) struct Aside(pub(super) PathBuf);

impl Aside {
    /// Returns the place of a file; `None` if its content is stored.
    fn place(&self, node: &Node) -> Option<PathBuf> {
        let (inode, size, modified): Marks = node.marks()?;
        Some(self.0.join(format!("{inode:x}-{size:x}-{modified:x}")))
    }

    /// Returns whether a file is here.
    pub(super) fn has(&self, node: &Node) -> bool {
        self.place(node).is_some_and(|place| place.exists())
    }

    /// Moves the file `name` of `parent` here. Returns false if that is not possible; the file stays then.
    ///
    /// # Errors
    ///
    /// The disk fails; the file stays.
    pub(super) fn take(&self, parent: &Dir, name: &OsStr, node: &Node) -> io::Result<bool> {
        let Some(place) = self.place(node) else { return Ok(false) };
        if let Ok(known) = fs::symlink_metadata(&place) {
            let found = stamp(&statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?);
            // Another name of the same file.
            let is_same = found.inode == std::os::unix::fs::MetadataExt::ino(&known);
            return if is_same { parent.remove_file(name).map(|()| true) } else { Ok(false) };
        }
        create_private(&self.0)?;
        match renameat(parent, name, CWD, &place) {
            Err(Errno::XDEV) => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut original = File::from(openat(parent, name, flags, Mode::empty())?);
                let unfinished = self.0.join("unfinished");
                copy(&mut original, &mut File::create(&unfinished)?, node)?;
                fs::rename(&unfinished, &place)?;
                File::open(&self.0)?.sync_all()?;
                parent.remove_file(name)?;
            }
            done => done?,
        }
        File::open(&self.0)?.sync_all()?;
        Ok(true)
    }

    /// Moves a file back to `name` of `parent`, over what is there. Returns false if the file is not here.
    ///
    /// # Errors
    ///
    /// The disk fails; the file stays here.
    pub(super) fn give(&self, parent: &Dir, name: &OsStr, node: &Node) -> io::Result<bool> {
        let Some(place) = self.place(node).filter(|place| place.exists()) else { return Ok(false) };
        match renameat(CWD, &place, parent, name) {
            Err(Errno::XDEV) => {
                let temporary = temporary_name("kept", UNFINISHED);
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let made = openat(parent, &*temporary, flags, Mode::RUSR | Mode::WUSR)?;
                let copied = copy(&mut File::open(&place)?, &mut File::from(made), node)
                    .and_then(|()| parent.rename(&temporary, parent, name));
                if copied.is_err() {
                    let _ = parent.remove_file(&temporary);
                }
                copied?;
                fs::remove_file(&place)?;
            }
            done => done?,
        }
        Ok(true)
    }
}

/// Copies a file with its mode bits and its modification time, by which it is known.
fn copy(from: &mut File, to: &mut File, node: &Node) -> io::Result<()> {
    io::copy(from, to)?;
    to.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(node.mode))?;
    let since = Duration::from_nanos(u64::try_from(node.modified).unwrap_or_default());
    to.set_modified(UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH))?;
    to.sync_content()
}
