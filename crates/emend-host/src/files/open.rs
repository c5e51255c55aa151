//! How files are opened and read: without following links, without waiting, and never without end.

use std::ffi::OsStr;
use std::io::{self, Read};

use cap_std::fs::{Dir, File, OpenOptions};
use emend_agent::environment::FilePath;

pub(crate) fn on_disk(path: &FilePath) -> &OsStr {
    OsStr::new(if path.is_root() { "." } else { path.as_str() })
}

/// Reads the file `name` of `directory` if it is a regular one, not a link.
pub(crate) fn read_entry(directory: &Dir, name: &str) -> Option<Vec<u8>> {
    let file = directory.open_with(name, &reading()).ok()?;
    let mut buffer = Vec::new();
    let filled = read_text(&file, &mut buffer)?;
    buffer.truncate(filled);
    Some(buffer)
}

/// Returns how much is read of a file of `len` bytes: what it had when it was opened. A log may grow faster than it is
/// read, and would never come to its end. Files that the kernel makes up say that they are empty.
pub(super) fn bytes_to_read(len: u64) -> u64 {
    if len == 0 { 1 << 20 } else { len }
}

pub(super) fn read_up_to(file: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(bytes_max).read_to_end(&mut content)?;
    Ok(content)
}

pub(super) fn read_text(file: &File, buffer: &mut Vec<u8>) -> Option<usize> {
    let found = file.metadata().ok().filter(cap_std::fs::Metadata::is_file)?;
    fill_with_text(file, usize::try_from(bytes_to_read(found.len())).ok()?, buffer)
}

/// Fills `buffer` with up to `bytes_max` bytes unless they are binary. Returns how many are filled.
fn fill_with_text(mut file: impl Read, bytes_max: usize, buffer: &mut Vec<u8>) -> Option<usize> {
    let mut filled = 0;
    while filled < bytes_max {
        // The first read stops where binary files are told apart, so that large ones are not read for nothing.
        let until = if filled == 0 { bytes_max.min(emend_agent::search::BINARY_PROBE_BYTES) } else { bytes_max };
        if buffer.len() < until {
            buffer.resize(until, 0);
        }
        match file.read(&mut buffer[filled..until]) {
            Ok(0) => return Some(filled),
            Ok(count) if filled == 0 && emend_agent::search::is_binary(&buffer[..count]) => return None,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(filled)
}

/// Returns how a file is opened to be read: a FIFO does not block, and a link in the last place is not followed.
pub(crate) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_faster_than_it_is_read_is_what_it_was() {
        for (len, expected) in [(5, 5), (0, 1 << 20)] {
            assert_eq!(read_up_to(io::repeat(b'x'), bytes_to_read(len)).unwrap().len(), expected, "{len}");
        }
        let mut buffer = vec![b'?'; 3];
        for (bytes_max, expected) in [(5, 5), (100_000, 100_000), (2, 2)] {
            assert_eq!(fill_with_text(io::repeat(b'x'), bytes_max, &mut buffer), Some(expected));
            assert!(buffer[..expected].iter().all(|&byte| byte == b'x'), "{bytes_max}");
        }
        assert_eq!(fill_with_text(&b"short"[..], 100_000, &mut buffer), Some(5));
        assert_eq!(fill_with_text(&b"a\0b"[..], 3, &mut buffer), None);
    }
}
