//! Appending whole lines to a record, durably.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::SyncContent as _;

/// Appends `lines`, whole lines with their ends, durably. The file is created for this user alone if it does not exist.
///
/// The half line of a process that was killed while it appended is removed first.
pub(crate) fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let n_bytes = file.metadata()?.len();
    let n_whole = whole_lines(&mut file, n_bytes)?;
    if n_whole < n_bytes {
        file.set_len(n_whole)?;
    }
    file.write_all(lines)?;
    file.sync_content()?;
    #[cfg(unix)]
    if n_bytes == 0 {
        // The name of a new file is part of the directory.
        File::open(path.parent().unwrap_or(path))?.sync_all()?;
    }
    Ok(())
}

/// Returns the size of the whole lines in the first `n_bytes` bytes of a file.
fn whole_lines(file: &mut File, n_bytes: u64) -> io::Result<u64> {
    const STEP: u64 = 4096;
    let mut end = n_bytes;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let mut block = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        Read::by_ref(file).take(end - start).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn appended_lines_replace_the_half_line_of_a_killed_process() {
        let root = TempDir::new().unwrap();
        let path = root.path().join("lines");
        let long = "x".repeat(10_000);
        for (before, after) in [
            ("", "new\n".to_owned()),
            ("half", "new\n".to_owned()),
            ("a\n", "a\nnew\n".to_owned()),
            ("a\nhalf", "a\nnew\n".to_owned()),
            (&long, "new\n".to_owned()),
            (&format!("a\n{long}"), "a\nnew\n".to_owned()),
            (&format!("{long}\n{long}"), format!("{long}\nnew\n")),
        ] {
            fs::write(&path, before).unwrap();
            append(&path, b"new\n").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:.20?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_appended_file_is_private_and_on_the_disk() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = TempDir::new().unwrap();
        let path = root.path().join("lines");
        append(&path, b"one\n").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        crate::files::synced::check(&path);
    }
}
