//! Removes temporary files of killed processes from the directories of a commit.

use emend_agent::environment::FilePath;

use super::disk::Disk;
use crate::files::temp_files::{has_name, is_mine};

/// Removes temporary files that dead processes of this user left in `directories`. Files that cannot be removed stay: they
/// do no harm.
pub(super) fn remove_abandoned(disk: &mut Disk<'_>, directories: &[FilePath]) {
    for directory in directories {
        let names = disk.list(directory).unwrap_or_default();
        for name in names.iter().filter(|name| has_name(name)) {
            let path = directory.join(name);
            if disk.look(&path).ok().flatten().is_some_and(|found| is_mine(&found)) {
                let _ = disk.remove_if_there(&path);
            }
        }
    }
}
