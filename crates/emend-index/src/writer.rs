//! Writes a segment from the first byte to the last, with memory for its trigrams but not for their postings.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::segment::{Document, HEADER_BYTES, Header};
use crate::trigram::Trigram;
use crate::varint::Ascending;

/// A segment that is being written. Postings come first, then documents.
pub(crate) struct SegmentWriter {
    file: BufWriter<File>,
    checksum: crc32fast::Hasher,
    header: Header,
    /// The entries of the trigrams so far, as they stand in the file.
    entries: Vec<u8>,
}

impl SegmentWriter {
    /// Starts a file at `path`. Of `header` only the scope and the ids count.
    pub(crate) fn create(path: &Path, header: Header) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 18, File::create(path)?);
        file.write_all(&[0; HEADER_BYTES])?;
        let header = Header { scope: header.scope, id: header.id, parent: header.parent, ..Header::default() };
        Ok(Self { file, checksum: crc32fast::Hasher::new(), header, entries: Vec::new() })
    }

    /// Appends the documents of a trigram. Trigrams ascend.
    pub(crate) fn push(&mut self, trigram: Trigram, documents: &Ascending) -> io::Result<()> {
        self.entries.extend(trigram.to_le_bytes());
        self.entries.extend(documents.n_numbers().to_le_bytes());
        self.entries.extend(self.header.postings_bytes.to_le_bytes());
        self.header.n_trigrams += 1;
        self.header.postings_bytes += documents.bytes().len() as u64;
        self.write(documents.bytes())
    }

    /// Writes the documents, which are sorted by path, and the header.
    pub(crate) fn finish<'a>(mut self, documents: impl Iterator<Item = (&'a str, Document)>) -> io::Result<()> {
        let entries = std::mem::take(&mut self.entries);
        self.write(&entries)?;
        drop(entries);
        let mut paths = String::new();
        for (path, document) in documents {
            paths.push_str(path);
            let end = u32::try_from(paths.len()).map_err(io::Error::other)?;
            self.write(&end.to_le_bytes())?;
            self.write(&document.stamp.to_bytes())?;
            self.write(&document.hash)?;
            self.write(&[document.kind as u8, 0, 0, 0])?;
            self.header.n_documents += 1;
        }
        self.header.paths_bytes = paths.len() as u64;
        self.write(paths.as_bytes())?;
        self.header.body_checksum = self.checksum.finalize();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&self.header.to_bytes())?;
        self.file.flush()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.file.write_all(bytes)
    }
}
