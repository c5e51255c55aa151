//! Knows the temporary files that processes left which were killed while they wrote a single file.
//!
//! Such a process tells nobody, so they are looked for where the next one works: by a commit in its directories, by a
//! single write in a directory that this process has not written to yet. What a commit prepares has another name and is
//! never taken for one: it is in a journal, which may be that of another root around this one.

use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, Metadata};

/// What ends the name of a file while it is written; worth nothing once its process is dead.
pub(crate) const UNFINISHED: &str = ".emend-tmp";

/// What ends the name of a file that a commit has prepared; worth keeping for as long as there is a journal of it.
pub(crate) const PREPARED: &str = ".emend-new";

/// Returns a name for a new sibling of `name` that nobody else uses at the same time.
pub(crate) fn temporary_name(name: &str, suffix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // A name has at most 255 bytes on the usual file systems.
    let mut end = name.len().min(200);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!(".{}.{}-{count}{suffix}", &name[..end], std::process::id())
}

/// Returns whether a file of this name was left by a process that is dead.
pub(crate) fn has_name(name: &str) -> bool {
    owner(name).is_some_and(is_dead)
}

/// Removes what dead processes of this user left in a directory. That some of it stays does no harm.
pub(super) fn sweep(directory: &Dir) {
    for entry in directory.entries().into_iter().flatten().flatten() {
        let is_leftover = entry.file_name().to_str().is_some_and(has_name);
        if is_leftover && entry.metadata().is_ok_and(|found| is_mine(&found)) {
            let _ = directory.remove_file(entry.file_name());
        }
    }
}

/// Returns the process that gave a temporary file its name.
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

/// Returns whether this user made the file.
#[cfg(unix)]
pub(crate) fn is_mine(found: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    found.is_file() && found.uid() == rustix::process::geteuid().as_raw()
}

/// Returns whether this user made the file.
#[cfg(not(unix))]
pub(crate) fn is_mine(_found: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_whose_they_are() {
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
