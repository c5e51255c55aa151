//! Names of temporary files, and the removal of files that killed processes left.
//!
//! A process that is killed while it writes a single file leaves a temporary file. Later processes look for such files
//! where they write: a commit in its directories, a single write in a directory that the process has not written to
//! before, and beside the files that the killed process was about to write, if it saved which these are. The temporary files of a commit have another suffix and are never removed here: they are in a journal, possibly
//! the journal of another root around this one.

use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, Metadata};

/// Suffix of a file while it is written. Useless once its process is dead.
pub(crate) const UNFINISHED: &str = ".emend-tmp";

/// Suffix of a temporary file of a commit. Needed as long as the journal exists.
pub(crate) const PREPARED: &str = ".emend-new";

/// Returns a name for a new temporary file beside `name`. No other process uses the name at the same time.
pub(crate) fn temporary_name(name: &str, suffix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // File names have at most 255 bytes on common file systems.
    let mut end = name.len().min(200);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!(".{}.{}-{count}{suffix}", &name[..end], std::process::id())
}

/// Returns whether the name is that of a temporary file of a dead process.
pub(crate) fn has_name(name: &str) -> bool {
    owner(name).is_some_and(is_dead)
}

/// Removes temporary files that dead processes of this user left in a directory. Files that cannot be removed stay: they
/// do no harm.
pub(super) fn sweep(directory: &Dir) {
    for entry in directory.entries().into_iter().flatten().flatten() {
        let is_leftover = entry.file_name().to_str().is_some_and(has_name);
        if is_leftover && entry.metadata().is_ok_and(|found| is_mine(&found)) {
            let _ = directory.remove_file(entry.file_name());
        }
    }
}

/// Returns the id of the process in a temporary file's name.
fn owner(name: &str) -> Option<i32> {
    let (_, numbers) = name.strip_prefix('.')?.strip_suffix(UNFINISHED)?.rsplit_once('.')?;
    let (process, count) = numbers.split_once('-')?;
    count.parse::<u64>().ok()?;
    process.parse().ok().filter(|&process| process > 0)
}

#[cfg(unix)]
fn is_dead(process: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let found = Pid::from_raw(process).map(test_kill_process);
    matches!(found, Some(Err(rustix::io::Errno::SRCH)))
}

#[cfg(not(unix))]
fn is_dead(_process: i32) -> bool {
    false
}

/// Returns whether the file is a regular file of this user.
#[cfg(unix)]
pub(crate) fn is_mine(found: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    found.is_file() && found.uid() == rustix::process::geteuid().as_raw()
}

/// Returns whether the file is a regular file of this user: unknown here, so false.
#[cfg(not(unix))]
pub(crate) fn is_mine(_found: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_the_id_of_their_process() {
        for (name, expected) in [
            (".a.txt.123-0.emend-tmp", Some(123)),
            (".a.5-1.b.77-12.emend-tmp", Some(77)),
            ("a.txt.123-0.emend-tmp", None),
            (".a.txt.123.emend-tmp", None),
            (".a.txt.0-1.emend-tmp", None),
            (".a.txt.-5-1.emend-tmp", None),
            (".a.txt.x-1.emend-tmp", None),
            (".a.txt.1-x.emend-tmp", None),
            (".a.txt.123-0.tmp", None),
            (".a.txt.123-0.emend-new", None),
        ] {
            assert_eq!(owner(name), expected, "{name}");
        }
    }
}
