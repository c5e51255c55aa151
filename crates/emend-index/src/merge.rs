//! Writes a segment with documents of other segments: postings are copied under new numbers, and no file is read.

use std::io;
use std::path::Path;

use crate::segment::{Document, Header, Posting, Segment};
use crate::varint::Ascending;
use crate::writer::SegmentWriter;

/// A document of the new segment.
pub(crate) struct Merged {
    pub(crate) path: String,
    pub(crate) document: Document,
    /// The segment and the document there from which the postings come.
    pub(crate) from: Option<(usize, u32)>,
}

/// Mark of a document that is left out.
const LEFT_OUT: u32 = u32::MAX;

/// Writes `documents`, which are sorted by path, to a segment at `path`.
pub(crate) fn merge(sources: &[&Segment], documents: &[Merged], path: &Path, header: Header) -> io::Result<()> {
    let mut numbers: Vec<Vec<u32>> =
        sources.iter().map(|source| vec![LEFT_OUT; source.n_documents() as usize]).collect();
    for (number, merged) in documents.iter().enumerate() {
        if let Some((source, before)) = merged.from
            && let Some(place) = numbers.get_mut(source).and_then(|numbers| numbers.get_mut(before as usize))
        {
            *place = number as u32;
        }
    }
    let mut writer = SegmentWriter::create(path, header)?;
    let mut places = vec![0_u32; sources.len()];
    let (mut found, mut list) = (Vec::new(), Ascending::new());
    loop {
        let postings: Vec<Option<Posting<'_>>> =
            sources.iter().zip(&places).map(|(source, place)| source.posting_at(*place)).collect();
        let Some(trigram) = postings.iter().flatten().map(|posting| posting.trigram).min() else { break };
        found.clear();
        for (source, posting) in postings.iter().enumerate() {
            let Some(posting) = posting.filter(|posting| posting.trigram == trigram) else { continue };
            places[source] += 1;
            let new = |before: u32| numbers[source].get(before as usize).copied().filter(|number| *number != LEFT_OUT);
            found.extend(posting.documents().filter_map(new));
        }
        // Each source is sorted already, which makes sorting fast.
        found.sort();
        list.clear();
        found.iter().for_each(|&number| list.push(number));
        if list.n_numbers() > 0 {
            writer.push(trigram, &list)?;
        }
    }
    writer.finish(documents.iter().map(|merged| (merged.path.as_str(), merged.document)))
}
