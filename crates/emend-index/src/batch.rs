//! Documents in memory that become a segment together.

use std::io;
use std::path::Path;

use crate::segment::{Document, Header};
use crate::trigram::{Extractor, N_TRIGRAMS, Trigram};
use crate::varint::Ascending;
use crate::writer::SegmentWriter;

/// Documents in the order of their paths, and the postings of their trigrams.
pub(crate) struct Batch {
    extractor: Extractor,
    documents: Vec<(String, Document)>,
    /// For each trigram 1 + the place of its list. Only pages of trigrams that occur take memory.
    places: Vec<u32>,
    lists: Vec<(Trigram, Ascending)>,
    postings_bytes: usize,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self {
            extractor: Extractor::new(),
            documents: Vec::new(),
            places: vec![0; N_TRIGRAMS],
            lists: Vec::new(),
            postings_bytes: 0,
        }
    }

    /// Adds a document, whose path is behind all before, with the trigrams of `text`.
    pub(crate) fn push(&mut self, path: String, document: Document, text: &[u8]) {
        let number = self.documents.len() as u32;
        self.documents.push((path, document));
        for &trigram in self.extractor.distinct(text) {
            let place = &mut self.places[trigram as usize];
            if *place == 0 {
                self.lists.push((trigram, Ascending::new()));
                *place = self.lists.len() as u32;
            }
            let list = &mut self.lists[*place as usize - 1].1;
            let before = list.bytes().len();
            list.push(number);
            self.postings_bytes += list.bytes().len() - before;
        }
    }

    pub(crate) fn n_documents(&self) -> u32 {
        self.documents.len() as u32
    }

    pub(crate) fn postings_bytes(&self) -> usize {
        self.postings_bytes
    }

    /// Writes the documents to a segment at `path` and starts anew.
    pub(crate) fn write(&mut self, path: &Path, header: Header) -> io::Result<()> {
        let mut lists = std::mem::take(&mut self.lists);
        lists.sort_unstable_by_key(|(trigram, _)| *trigram);
        let mut writer = SegmentWriter::create(path, header)?;
        for (trigram, list) in &lists {
            self.places[*trigram as usize] = 0;
            writer.push(*trigram, list)?;
        }
        self.postings_bytes = 0;
        let documents = std::mem::take(&mut self.documents);
        writer.finish(documents.iter().map(|(path, document)| (path.as_str(), *document)))
    }
}
