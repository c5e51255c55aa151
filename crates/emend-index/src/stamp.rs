//! The stamp of a file: values of the file system that change with its content.

/// How long after a change another change may leave the same stamp, in nanoseconds. The coarsest file system in use, FAT,
/// stores times in steps of two seconds.
const GRANULE_NS: i64 = 2_000_000_000;

/// The values by which a changed file is noticed without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Modification time in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Time of the last change of the inode, in nanoseconds since 1970. Programs cannot set it back; 0 if the system has
    /// none.
    pub changed_ns: i64,
    /// Size in bytes.
    pub size: u64,
    /// Number of the inode; 0 if the system has none.
    pub inode: u64,
}

/// Bytes of a stamp in an index.
pub(crate) const STAMP_BYTES: usize = 32;

impl Stamp {
    /// Returns whether a change after `now_ns` can leave this stamp as it is, because the file changed just before.
    #[must_use]
    pub fn is_racy(&self, now_ns: i64) -> bool {
        self.modified_ns.max(self.changed_ns) > now_ns.saturating_sub(GRANULE_NS)
    }

    pub(crate) fn to_bytes(self) -> [u8; STAMP_BYTES] {
        let mut bytes = [0; STAMP_BYTES];
        let fields = [
            self.modified_ns.to_le_bytes(),
            self.changed_ns.to_le_bytes(),
            self.size.to_le_bytes(),
            self.inode.to_le_bytes(),
        ];
        bytes.copy_from_slice(fields.as_flattened());
        bytes
    }

    pub(crate) fn of_bytes(bytes: &[u8; STAMP_BYTES]) -> Self {
        let [modified, changed, size, inode] = match bytes.as_chunks::<8>().0 {
            [a, b, c, d] => [*a, *b, *c, *d],
            _ => [[0; 8]; 4],
        };
        Self {
            modified_ns: i64::from_le_bytes(modified),
            changed_ns: i64::from_le_bytes(changed),
            size: u64::from_le_bytes(size),
            inode: u64::from_le_bytes(inode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_survives_encoding() {
        let stamp = Stamp { modified_ns: -1, changed_ns: i64::MAX, size: 1 << 40, inode: u64::MAX };
        assert_eq!(Stamp::of_bytes(&stamp.to_bytes()), stamp);
    }

    #[test]
    fn a_file_that_changed_in_the_last_two_seconds_is_racy() {
        let now = 1_000_000_000_000;
        for (before, expected) in [(0, true), (1_999_999_999, true), (2_000_000_000, false), (-5, true)] {
            let recent = now - before;
            assert_eq!(Stamp { modified_ns: recent, ..Stamp::default() }.is_racy(now), expected, "modified {before}");
            assert_eq!(Stamp { changed_ns: recent, ..Stamp::default() }.is_racy(now), expected, "changed {before}");
        }
    }
}
