//! A file of the index: documents sorted by path, and for each trigram the documents that contain it.
//!
//! The file is read through a memory map. Its checksum is compared before any other byte is believed, and each access
//! after that is checked for bounds, so damaged bytes cause a new index and never a panic.
//!
//! | part | content |
//! |---|---|
//! | header | [`HEADER_BYTES`]: magic, version, scope, ids, lengths of the parts, checksums |
//! | postings | for each trigram its documents ([`crate::varint`]) |
//! | trigrams | [`ENTRY_BYTES`] each, ascending: trigram, number of documents, position of its postings |
//! | documents | [`DOCUMENT_BYTES`] each: end of the path, stamp, content hash, kind |
//! | paths | one after the other |

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

use crate::bits::Bits;
use crate::stamp::{STAMP_BYTES, Stamp};
use crate::trigram::Trigram;
use crate::varint;

pub(crate) const HEADER_BYTES: usize = 80;
pub(crate) const ENTRY_BYTES: usize = 16;
pub(crate) const DOCUMENT_BYTES: usize = 4 + STAMP_BYTES + HASH_BYTES + 4;
pub(crate) const HASH_BYTES: usize = 16;

/// The first bytes of a file of the index. The last one is the version of the format.
const MAGIC: [u8; 8] = *b"emendix\x01";

/// Names the project of an index, so that the index of another one is not taken for it.
pub(crate) type ScopeBytes = [u8; 16];

/// A file of the project, as of the time when it was indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) stamp: Stamp,
    /// The first half of the content's SHA-256, or zeros for a file without trigrams.
    pub(crate) hash: [u8; HASH_BYTES],
    pub(crate) kind: Kind,
}

/// The knowledge of the index about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its trigrams are in this segment.
    Text = 0,
    /// It is binary, and searches skip those.
    Binary = 1,
    /// Nothing: it is too large or unreadable. Each search reads it.
    Unknown = 2,
    /// Nothing yet: it changed just before. Each search reads it, and so does the next update.
    Racy = 3,
    /// Its content is that of the older segment, with another stamp.
    AsBefore = 4,
    /// It was removed since the older segment.
    Removed = 5,
}

impl Kind {
    fn of_byte(byte: u8) -> Option<Self> {
        [Self::Text, Self::Binary, Self::Unknown, Self::Racy, Self::AsBefore, Self::Removed]
            .get(usize::from(byte))
            .copied()
    }
}

/// The fixed part at the start of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) scope: ScopeBytes,
    /// Distinguishes this segment from its predecessors.
    pub(crate) id: u64,
    /// The id of the segment that this one changes; 0 for one that stands alone.
    pub(crate) parent: u64,
    pub(crate) n_trigrams: u32,
    pub(crate) n_documents: u32,
    pub(crate) postings_bytes: u64,
    pub(crate) paths_bytes: u64,
    /// Checksum of all bytes after the header.
    pub(crate) body_checksum: u32,
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(self.scope);
        [self.id, self.parent].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        [self.n_trigrams, self.n_documents].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        [self.postings_bytes, self.paths_bytes].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(self.body_checksum.to_le_bytes());
        bytes.resize(HEADER_BYTES - 4, 0);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        let mut header = [0; HEADER_BYTES];
        header.copy_from_slice(&bytes);
        header
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let header = Self {
            scope: bytes.get(8..24)?.try_into().ok()?,
            id: u64_at(bytes, 24)?,
            parent: u64_at(bytes, 32)?,
            n_trigrams: u32_at(bytes, 40)?,
            n_documents: u32_at(bytes, 44)?,
            postings_bytes: u64_at(bytes, 48)?,
            paths_bytes: u64_at(bytes, 56)?,
            body_checksum: u32_at(bytes, 64)?,
        };
        // Encoding it again checks magic, version, padding and checksum.
        (header.to_bytes() == bytes.get(..HEADER_BYTES)?).then_some(header)
    }
}

/// A file of the index, mapped into memory.
#[derive(Debug)]
pub(crate) struct Segment {
    bytes: Mmap,
    header: Header,
    entries: Range<usize>,
    documents: Range<usize>,
    paths: Range<usize>,
}

/// The documents of a trigram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting<'a> {
    pub(crate) trigram: Trigram,
    pub(crate) n_documents: u32,
    pub(crate) bytes: &'a [u8],
}

impl Segment {
    /// Opens a segment of `scope`; `None` unless it is complete and undamaged.
    pub(crate) fn open(path: &Path, scope: &ScopeBytes) -> Option<Self> {
        let file = File::open(path).ok()?;
        // An empty file cannot be mapped.
        if file.metadata().ok()?.len() < HEADER_BYTES as u64 {
            return None;
        }
        // SAFETY: The map must not change while it is in use. Emend never writes to a finished segment: a new one is
        // renamed over it, which leaves the mapped bytes as they are. The directory belongs to the user alone.
        #[expect(
            unsafe_code,
            reason = "a map of a file has no safe interface, because other programs could truncate it"
        )]
        let bytes = unsafe { Mmap::map(&file) }.ok()?;
        Self::of_bytes(bytes, scope)
    }

    fn of_bytes(bytes: Mmap, scope: &ScopeBytes) -> Option<Self> {
        let header = Header::of_bytes(&bytes)?;
        let mut end = HEADER_BYTES;
        let mut part = |length: usize| {
            let start = end;
            end = start.checked_add(length)?;
            Some(start..end)
        };
        part(usize::try_from(header.postings_bytes).ok()?)?;
        let entries = part((header.n_trigrams as usize).checked_mul(ENTRY_BYTES)?)?;
        let documents = part((header.n_documents as usize).checked_mul(DOCUMENT_BYTES)?)?;
        let paths = part(usize::try_from(header.paths_bytes).ok()?)?;
        let is_whole = end == bytes.len() && crc32fast::hash(bytes.get(HEADER_BYTES..)?) == header.body_checksum;
        (is_whole && header.scope == *scope).then_some(Self { bytes, header, entries, documents, paths })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn n_documents(&self) -> u32 {
        self.header.n_documents
    }

    /// Returns the size of the file in bytes.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn document(&self, number: u32) -> Option<Document> {
        let bytes = self.document_bytes(number)?;
        let (stamp, rest) = bytes.get(4..)?.split_first_chunk::<STAMP_BYTES>()?;
        let (hash, rest) = rest.split_first_chunk::<HASH_BYTES>()?;
        Some(Document { stamp: Stamp::of_bytes(stamp), hash: *hash, kind: Kind::of_byte(*rest.first()?)? })
    }

    pub(crate) fn path(&self, number: u32) -> Option<&str> {
        let end_of = |number: u32| Some(u32_at(self.document_bytes(number)?, 0)? as usize);
        let start = if number == 0 { 0 } else { end_of(number - 1)? };
        let paths = self.bytes.get(self.paths.clone())?;
        str::from_utf8(paths.get(start..end_of(number)?)?).ok()
    }

    /// Returns the number of the document at `path`.
    pub(crate) fn find(&self, path: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.n_documents());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.path(middle)?.cmp(path) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns the trigram with this place in the ascending order.
    pub(crate) fn posting_at(&self, place: u32) -> Option<Posting<'_>> {
        let entry = self.entry(place)?;
        let start = usize::try_from(u64_at(entry, 8)?).ok()?;
        let end = match self.entry(place + 1) {
            Some(next) => usize::try_from(u64_at(next, 8)?).ok()?,
            None => usize::try_from(self.header.postings_bytes).ok()?,
        };
        let postings = self.bytes.get(HEADER_BYTES..self.entries.start)?;
        let bytes = postings.get(start..end)?;
        Some(Posting { trigram: u32_at(entry, 0)?, n_documents: u32_at(entry, 4)?, bytes })
    }

    pub(crate) fn posting(&self, trigram: Trigram) -> Option<Posting<'_>> {
        let (mut low, mut high) = (0, self.header.n_trigrams);
        while low < high {
            let middle = low + (high - low) / 2;
            match u32_at(self.entry(middle)?, 0)?.cmp(&trigram) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return self.posting_at(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn entry(&self, place: u32) -> Option<&[u8]> {
        self.bytes.get(self.entries.clone())?.chunks_exact(ENTRY_BYTES).nth(place as usize)
    }

    fn document_bytes(&self, number: u32) -> Option<&[u8]> {
        self.bytes.get(self.documents.clone())?.chunks_exact(DOCUMENT_BYTES).nth(number as usize)
    }
}

impl Posting<'_> {
    pub(crate) fn documents(&self) -> impl Iterator<Item = u32> {
        varint::numbers(self.bytes)
    }

    /// Returns the documents as a set of numbers below `bound`.
    pub(crate) fn to_bits(self, bound: usize) -> Bits {
        let mut found = Bits::none(bound);
        self.documents().for_each(|number| found.insert(number));
        found
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
