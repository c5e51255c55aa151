//! Opens and lists a directory, for walks: by its name in the parent directory, with the names and types of its entries.
//!
//! No link is followed. On Linux one call opens a directory for reading and few calls list it, because a walk of many
//! directories spends most of its time here.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::{Dir, FileType};

/// The kind of an entry, as far as walks distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// A link, a FIFO, a socket or a device.
    Other,
}

/// Returns whether opening a directory failed for lack of file descriptors or memory. Skipping the directory would make
/// the result incomplete.
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

/// Lists directories, reusing one buffer.
#[derive(Default)]
pub(crate) struct Reader {
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
}

#[cfg(target_os = "linux")]
impl Reader {
    /// Enough for the entries of most directories.
    const BUFFER_BYTES: usize = 64 * 1024;

    /// Opens the directory `name` of `parent`. Returns it with its readable entries, in no order. Names that are not UTF-8
    /// are skipped.
    ///
    /// # Errors
    ///
    /// The error of the system if `name` is not a directory or cannot be read.
    pub(crate) fn enter(&mut self, parent: &Dir, name: &str) -> io::Result<(Dir, Vec<(String, Kind)>)> {
        self.enter_as(parent, OsStr::new(name), |name| str::from_utf8(name).ok().map(str::to_owned))
    }

    /// As [`enter`](Self::enter), with entries whose names are the texts that `text_of` returns.
    pub(crate) fn enter_as(
        &mut self,
        parent: &Dir,
        name: &OsStr,
        text_of: impl Fn(&[u8]) -> Option<String>,
    ) -> io::Result<(Dir, Vec<(String, Kind)>)> {
        use rustix::fs::{Mode, OFlags, RawDir, openat};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(parent, name, flags, Mode::empty())?;
        self.buffer.reserve(Self::BUFFER_BYTES);
        let mut reading = RawDir::new(&directory, self.buffer.spare_capacity_mut());
        let mut entries = Vec::new();
        while let Some(Ok(entry)) = reading.next() {
            let name = entry.file_name();
            if let Some(text) = text_of(name.to_bytes()).filter(|text| !matches!(text.as_str(), "." | "..")) {
                entries.push((text, kind(&directory, name, entry.file_type())));
            }
        }
        Ok((Dir::from_std_file(directory.into()), entries))
    }
}

#[cfg(target_os = "linux")]
fn kind(directory: &impl std::os::fd::AsFd, name: impl rustix::path::Arg, found: rustix::fs::FileType) -> Kind {
    use rustix::fs::{AtFlags, FileType, statat};
    match found {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        // Some file systems do not report types in listings.
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
    /// Opens the directory `name` of `parent`. Returns it with its readable entries, in no order. Names that are not UTF-8
    /// are skipped.
    ///
    /// # Errors
    ///
    /// The error of the system if `name` is not a directory or cannot be read.
    pub(crate) fn enter(&mut self, parent: &Dir, name: &str) -> io::Result<(Dir, Vec<(String, Kind)>)> {
        self.enter_as(parent, OsStr::new(name), |name| str::from_utf8(name).ok().map(str::to_owned))
    }

    /// As [`enter`](Self::enter), with entries whose names are the texts that `text_of` returns.
    pub(crate) fn enter_as(
        &mut self,
        parent: &Dir,
        name: &OsStr,
        text_of: impl Fn(&[u8]) -> Option<String>,
    ) -> io::Result<(Dir, Vec<(String, Kind)>)> {
        let directory = parent.open_dir(name)?;
        let kind = |found: FileType| match found {
            found if found.is_file() => Kind::File,
            found if found.is_dir() => Kind::Directory,
            _ => Kind::Other,
        };
        let found = directory.entries().into_iter().flatten().flatten();
        let entries = found.filter_map(|entry| {
            let name = entry.file_name();
            Some((text_of(name.as_encoded_bytes())?, kind(entry.file_type().ok()?)))
        });
        let entries = entries.collect();
        Ok((directory, entries))
    }
}

/// Returns the names and types of a directory's readable entries, in no order.
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

    /// Returns a directory that contains `in`, a directory with one entry of each kind, and its handle.
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
                "{name}, with a type that the listing does not report"
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
    fn one_reader_lists_directories_of_any_size() {
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
