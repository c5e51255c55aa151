//! Removes temporary files that processes left which were killed while they wrote a single file.
//!
//! What a commit prepares has another name and is never touched here: it is in a journal, which may be that of another
//! root around this one. Only directories that are worked on anyway are looked through.

use emend_agent::env::FilePath;

use super::disk::Disk;
use crate::local::files::UNFINISHED;

/// Removes what dead processes of this user left in `directories`. That some of it stays does no harm.
pub(super) fn sweep(disk: &mut Disk<'_>, directories: &[FilePath]) {
    for directory in directories {
        let names = disk.list(directory).unwrap_or_default();
        for name in names.iter().filter(|name| owner(name).is_some_and(is_dead)) {
            let path = directory.join(name);
            if is_mine(disk, &path) {
                let _ = disk.remove_if_there(&path);
            }
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

#[cfg(unix)]
fn is_mine(disk: &mut Disk<'_>, path: &FilePath) -> bool {
    use cap_std::fs::MetadataExt as _;
    let found = disk.look(path).ok().flatten();
    found.is_some_and(|found| found.is_file() && found.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn is_mine(_disk: &mut Disk<'_>, _path: &FilePath) -> bool {
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
