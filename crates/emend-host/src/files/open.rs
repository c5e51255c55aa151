//! Opens and reads files without following links, without blocking on FIFOs, and up to a fixed size.

use std::ffi::OsStr;
use std::io::{self, Read};

use cap_std::fs::{Dir, File, OpenOptions};
use emend_agent::environment::{EnvError, FilePath};

use super::error::{WHOLE_FILE_BYTES_MAX, describe, too_large};

/// Returns a path as the system needs it; the root is `.`.
pub(crate) fn on_disk(path: &FilePath) -> &OsStr {
    OsStr::new(if path.is_root() { "." } else { path.as_str() })
}

/// Reads the file `name` of `directory`; `None` unless it is a regular text file.
pub(crate) fn read_entry(directory: &Dir, name: &str) -> Option<Vec<u8>> {
    let file = directory.open_with(name, &reading()).ok()?;
    let mut buffer = Vec::new();
    let filled = read_text(&file, &mut buffer)?;
    buffer.truncate(filled);
    Some(buffer)
}

/// Returns the number of bytes to read from a file of `len` bytes.
///
/// Only the size at the time of opening is read, because a log may grow faster than it is read. Files of the kernel (in
/// `/proc`) report a size of 0, so up to 1 MiB is read from them.
pub(crate) fn bytes_to_read(len: u64) -> u64 {
    if len == 0 { UNKNOWN_BYTES } else { len }
}

/// Number of bytes to read from a file that reports a size of 0.
const UNKNOWN_BYTES: u64 = 1 << 20;

/// An open file of at most [`WHOLE_FILE_BYTES_MAX`] bytes.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    n_bytes: u64,
}

/// Largest file whose content a local disk delivers in less time than the way to a blocking thread and back takes.
const SMALL_BYTES_MAX: u64 = 64 << 10;

impl Opened {
    /// Looks at the size of an open file.
    pub(super) fn new(path: &FilePath, file: File) -> Result<Self, EnvError> {
        let n_bytes = file.metadata().map_err(|error| describe(path.as_str(), &error))?.len();
        if n_bytes > WHOLE_FILE_BYTES_MAX {
            return Err(too_large(path.as_str(), n_bytes));
        }
        Ok(Self { file, n_bytes })
    }

    /// Whether the content can be read on a thread that must not wait. A file of the kernel, which has no size, is not
    /// small.
    pub(crate) fn is_small(&self) -> bool {
        (1..=SMALL_BYTES_MAX).contains(&self.n_bytes)
    }

    /// Reads the content, as large as it was at the time of opening.
    pub(crate) fn read(&self, path: &FilePath) -> Result<Vec<u8>, EnvError> {
        read_up_to(&self.file, bytes_to_read(self.n_bytes)).map_err(|error| describe(path.as_str(), &error))
    }
}

/// Reads at most `bytes_max` bytes.
fn read_up_to(mut file: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    // A file of the kernel, whose size is unknown, is usually small.
    if bytes_max == UNKNOWN_BYTES {
        file.take(bytes_max).read_to_end(&mut content)?;
        return Ok(content);
    }
    // A growing buffer would need several reads of a file.
    content.resize(usize::try_from(bytes_max).map_err(io::Error::other)?, 0);
    let mut filled = 0;
    while filled < content.len() {
        match file.read(&mut content[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    content.truncate(filled);
    Ok(content)
}

/// Fills `buffer` with a file's content unless it is binary. Returns the number of bytes.
pub(crate) fn read_text(file: &File, buffer: &mut Vec<u8>) -> Option<usize> {
    let found = file.metadata().ok().filter(cap_std::fs::Metadata::is_file)?;
    fill_with_text(file, usize::try_from(bytes_to_read(found.len())).ok()?, buffer)
}

/// Fills `buffer` with up to `bytes_max` bytes unless they are binary. Returns the number of bytes.
fn fill_with_text(mut file: impl Read, bytes_max: usize, buffer: &mut Vec<u8>) -> Option<usize> {
    let mut filled = 0;
    while filled < bytes_max {
        // The first read ends after the bytes that reveal a binary file, so that large binary files are not read.
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

/// Returns the options to open a file for reading. A FIFO does not block, and a link as the last component is not followed.
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
    fn a_file_that_grows_while_it_is_read_has_the_size_at_opening() {
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
