//! The staged files of a git index. Git also writes the index when it only looks at files: then their times change, and what is
//! staged does not.

/// A staged file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Staged {
    name: Vec<u8>,
    mode: u32,
    id: Vec<u8>,
    /// The stage of a conflict and other marks, without the length of the name.
    flags: u16,
    more_flags: u16,
}

/// The bytes of times, device, inode, mode, owner and size before the id.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;

/// Returns the staged files of an index of version 2, 3 or 4. `None` for any other content, and for an index that shares files
/// with another one.
pub(super) fn staged(index: &[u8]) -> Option<Vec<Staged>> {
    // Repositories of SHA-1 and SHA-256.
    [20, 32].into_iter().find_map(|n_id| staged_with(index, n_id))
}

fn staged_with(index: &[u8], n_id: usize) -> Option<Vec<Staged>> {
    let (version, n_entries) = (number(index, 4)?, number(index, 8)?);
    if index.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut found: Vec<Staged> = Vec::new();
    let mut at = 12;
    for _ in 0..n_entries {
        let begin = at;
        let mode = number(index, at + MODE_AT)?;
        at += STAT_BYTES;
        let id = index.get(at..at + n_id)?.to_vec();
        at += n_id;
        let flags = short(index, at)?;
        at += 2;
        let mut more_flags = 0;
        if version >= 3 && flags & EXTENDED != 0 {
            more_flags = short(index, at)?;
            at += 2;
        }
        let mut name = Vec::new();
        if version == 4 {
            let last = found.last().map_or(&[][..], |last| &last.name);
            let n_dropped = offset(index, &mut at)?;
            name.extend_from_slice(last.get(..last.len().checked_sub(n_dropped)?)?);
        }
        let n_rest = index.get(at..)?.iter().position(|&byte| byte == 0)?;
        name.extend_from_slice(index.get(at..at + n_rest)?);
        at += n_rest + 1;
        if version < 4 {
            // At least one zero, up to a multiple of eight.
            at = begin + (at - begin).next_multiple_of(8);
        }
        found.push(Staged { name, mode, id, flags: flags & !NAME_LENGTH, more_flags });
    }
    let end = index.len().checked_sub(n_id)?;
    while at < end {
        if index.get(at..at + 4)? == b"link" {
            return None;
        }
        at = at.checked_add(8)?.checked_add(usize::try_from(number(index, at + 4)?).ok()?)?;
    }
    (at == end).then_some(found)
}

/// Returns the number of bytes of the last name that the next one does not share, as version 4 writes it.
fn offset(index: &[u8], at: &mut usize) -> Option<usize> {
    let mut byte = *index.get(*at)?;
    *at += 1;
    let mut offset = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *index.get(*at)?;
        *at += 1;
        offset = offset.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some(offset)
}

fn number(index: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?))
}

fn short(index: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(index.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(root: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let done = command.output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Returns what git itself says is staged, in the form of `git ls-files --stage -z`.
    fn listed(root: &Path) -> Vec<u8> {
        Command::new("git").args(["ls-files", "--stage", "-z"]).current_dir(root).output().unwrap().stdout
    }

    fn hex(id: &[u8]) -> String {
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn indexes_of_all_versions_and_formats_are_read_as_git_reads_them() {
        for (format, version) in [("sha1", "2"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")] {
            let root = tempfile::tempdir().unwrap();
            let root = root.path();
            git(root, &["init", "-q", "--object-format", format]);
            fs::create_dir_all(root.join("deep/er")).unwrap();
            for name in ["a", "deep/er/one", "deep/er/two", "deep/other", "z z", "r\u{e4}der"] {
                fs::write(root.join(name), name).unwrap();
            }
            git(root, &["add", "."]);
            // An entry with further flags makes version 2 a version 3.
            fs::write(root.join("later"), "").unwrap();
            git(root, &["add", "--intent-to-add", "later"]);
            git(root, &["update-index", "--index-version", version]);
            let files = staged(&fs::read(root.join(".git/index")).unwrap()).unwrap();
            let lines = files.iter().flat_map(|file| {
                let stage = file.flags >> 12 & 3;
                let line = format!("{:06o} {} {stage}\t", file.mode, hex(&file.id));
                [line.as_bytes(), &file.name, b"\0"].concat()
            });
            assert_eq!(lines.collect::<Vec<u8>>(), listed(root), "{format} {version}");
            assert_eq!(files.len(), 7);
        }
    }

    #[test]
    fn a_look_at_files_stages_nothing_and_damaged_indexes_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        git(root, &["init", "-q"]);
        fs::write(root.join("a"), "a").unwrap();
        git(root, &["add", "a"]);
        let read = || fs::read(root.join(".git/index")).unwrap();
        let before = read();
        let later = std::time::SystemTime::now() - std::time::Duration::from_secs(99);
        fs::File::options().write(true).open(root.join("a")).unwrap().set_modified(later).unwrap();
        git(root, &["status"]);
        assert_ne!(before, read());
        assert_eq!(staged(&before), staged(&read()));
        git(root, &["update-index", "--chmod=+x", "a"]);
        assert_ne!(staged(&before), staged(&read()));
        for n in 0..before.len() {
            assert_eq!(staged(&before[..n]), None, "{n} of {} bytes", before.len());
        }
        git(root, &["update-index", "--split-index"]);
        assert_eq!(staged(&read()), None, "it shares files with another one");
    }
}
