//! What a walk sees of a directory: opened by its name in the one above, with the names and types in it.
//!
//! A name is opened as it is, so no link is followed, and for reading at once: a walk of many directories is made of
//! little else than these calls.

use std::io;

use cap_std::fs::{Dir, FileType};

/// What an entry is, as far as a walk cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// A link, a FIFO, a socket or a device.
    Other,
}

/// Returns whether a directory was not opened because this process or the system has too much open, so that going on
/// without it would find less than there is.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
    }
    #[cfg(not(unix))]
    {
        error.kind() == io::ErrorKind::OutOfMemory
    }
}

/// Reads directories, one after the other.
#[derive(Default)]
pub(crate) struct Reader {
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
}

#[cfg(target_os = "linux")]
impl Reader {
    /// Takes the entries of all but huge directories at once.
    const BUFFER_BYTES: usize = 64 * 1024;

    /// Opens the directory `name` of `parent`. Returns it with its entries in no order, as far as they can be read;
    /// names that are not UTF-8 are passed over.
    ///
    /// # Errors
    ///
    /// It is no directory, or may not be read.
    pub(crate) fn enter(&mut self, parent: &Dir, name: &str) -> io::Result<(Dir, Vec<(String, Kind)>)> {
        use rustix::fs::{Mode, OFlags, RawDir, openat};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(parent, name, flags, Mode::empty())?;
        self.buffer.reserve(Self::BUFFER_BYTES);
        let mut reading = RawDir::new(&directory, self.buffer.spare_capacity_mut());
        let mut entries = Vec::new();
        while let Some(Ok(entry)) = reading.next() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !matches!(name, "." | "..") {
                entries.push((name.to_owned(), kind(&directory, name, entry.file_type())));
            }
        }
        Ok((Dir::from_std_file(directory.into()), entries))
    }
}

#[cfg(target_os = "linux")]
fn kind(directory: &impl std::os::fd::AsFd, name: &str, found: rustix::fs::FileType) -> Kind {
    use rustix::fs::{AtFlags, FileType, statat};
    match found {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        // Some file systems do not say it in a listing.
        FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Directory,
                _ => Kind::Other,
            },
            Err(_) => Kind::Other,
        },
        _ => Kind::Other,
    }
}

#[cfg(not(target_os = "linux"))]
impl Reader {
    /// Opens the directory `name` of `parent`. Returns it with its entries in no order, as far as they can be read;
    /// names that are not UTF-8 are passed over.
    ///
    /// # Errors
    ///
    /// It is no directory, or may not be read.
    pub(crate) fn enter(&mut self, parent: &Dir, name: &str) -> io::Result<(Dir, Vec<(String, Kind)>)> {
        let directory = parent.open_dir(name)?;
        let kind = |found: FileType| match found {
            found if found.is_file() => Kind::File,
            found if found.is_dir() => Kind::Directory,
            _ => Kind::Other,
        };
        let entries = entries(&directory).map(|(name, found)| (name, kind(found))).collect();
        Ok((directory, entries))
    }
}

/// Returns the names and types in a directory, in no order, as far as they can be read.
pub(super) fn entries(directory: &Dir) -> impl Iterator<Item = (String, FileType)> {
    let entries = directory.entries().into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?)))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    /// A directory `in` with one entry of each kind, and its parent's handle.
    fn zoo() -> (tempfile::TempDir, Dir) {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("in");
        std::fs::create_dir_all(inside.join("dir")).unwrap();
        std::fs::write(inside.join("file"), "x").unwrap();
        std::fs::write(inside.join(OsStr::from_bytes(b"not \xff UTF-8")), "x").unwrap();
        std::os::unix::fs::symlink("dir", inside.join("link")).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, inside.join("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let parent = Dir::open_ambient_dir(root.path(), cap_std::ambient_authority()).unwrap();
        (root, parent)
    }

    const KINDS: [(&str, Kind); 4] =
        [("dir", Kind::Directory), ("fifo", Kind::Other), ("file", Kind::File), ("link", Kind::Other)];

    #[test]
    fn a_directory_is_read_with_the_kinds_of_its_entries() {
        let (_root, parent) = zoo();
        let (directory, mut entries) = Reader::default().enter(&parent, "in").unwrap();
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(entries, KINDS.map(|(name, kind)| (name.to_owned(), kind)));
        for (name, expected) in KINDS {
            assert_eq!(
                kind(&directory, name, rustix::fs::FileType::Unknown),
                expected,
                "{name}, not said by the listing"
            );
        }
    }

    #[test]
    fn only_a_directory_is_entered() {
        let (_root, parent) = zoo();
        let mut reader = Reader::default();
        let (inside, _) = reader.enter(&parent, "in").unwrap();
        for (name, _) in KINDS {
            assert_eq!(reader.enter(&inside, name).is_ok(), name == "dir", "{name}");
        }
    }

    #[test]
    fn one_reader_takes_directories_of_any_size_one_after_the_other() {
        let (root, parent) = zoo();
        let name = |number: usize| format!("{number:0>200}");
        (0..2_000).for_each(|number| std::fs::write(root.path().join("in/dir").join(name(number)), "").unwrap());
        let mut reader = Reader::default();
        let (inside, few) = reader.enter(&parent, "in").unwrap();
        let (_, mut many) = reader.enter(&inside, "dir").unwrap();
        many.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        assert_eq!((few.len(), many), (4, (0..2_000).map(|number| (name(number), Kind::File)).collect()));
    }
}
