//! The records of a session document: one JSON object per line, the first a header with the version.
//!
//! The reader tolerates the marks of a crash and rejects everything that would corrupt a conversation: a truncated line
//! is counted and skipped, another version is rejected.

use serde::Serialize;
use serde_json::{Map, Value};

use super::read;
use crate::error_code::Code;
use crate::history::HistoryEntry;

/// The version of written documents. A reader rejects other versions: a conversation that is half understood is worse
/// than an error.
pub const VERSION: u32 = 1;

/// The first record of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Version of the format.
    pub version: u32,
    /// Id of the session.
    pub id: String,
    /// Start of the session in milliseconds since 1970.
    pub at_ms: u64,
    /// Provider at the start.
    pub provider: String,
    /// Model at the start.
    pub model: String,
    /// Origin of the first entries, if the session is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
}

/// The session that a fork was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForkedFrom {
    /// Id of that session.
    pub id: String,
    /// Number of entries that were copied.
    pub n_turns: usize,
}

/// One line of a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Record {
    /// The header.
    Session(Header),
    /// A history entry.
    #[serde(rename = "turn")]
    Entry {
        /// Index from 0. A repeated index replaces the earlier entry, whose write may have failed.
        index: usize,
        /// The entry.
        #[serde(flatten)]
        entry: HistoryEntry,
    },
    /// All entries, after a context strategy replaced them.
    History {
        /// The entries.
        #[serde(rename = "turns")]
        entries: Vec<HistoryEntry>,
    },
}

/// Why a document cannot be read as a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The first line is not a header.
    #[error("this is no saved session: it does not begin with a header")]
    NoHeader,
    /// Another version wrote the document.
    #[error("this session was saved in version {found} of the format; this program reads version {VERSION}")]
    Version {
        /// That version.
        found: u32,
    },
}

impl ReadError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NoHeader => Code::InvalidArgument,
            Self::Version { .. } => Code::Unsupported,
        }
    }
}

/// The content of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The header.
    pub header: Header,
    /// The entries as saved; the last call may lack its result.
    pub entries: Vec<HistoryEntry>,
    /// Number of unreadable lines.
    pub n_damaged: usize,
}

/// Serialises records as lines.
///
/// # Errors
///
/// An error of the serialiser; plain data never causes one.
pub fn write_records(records: &[Record]) -> Result<String, serde_json::Error> {
    let mut lines = String::new();
    for record in records {
        lines.push_str(&serde_json::to_string(record)?);
        lines.push('\n');
    }
    Ok(lines)
}

/// Returns the fields of a record; `None` if the line is not an object.
fn fields_of(line: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

/// Parses a document.
///
/// # Errors
///
/// Returns a [`ReadError`] if the document has no header of this version.
pub fn read_document(text: &str) -> Result<Document, ReadError> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).map(fields_of);
    // A crash may have cut the first header off. The next save wrote it again.
    let mut n_damaged = 0;
    let first = loop {
        match lines.next().ok_or(ReadError::NoHeader)? {
            Some(first) => break first,
            None => n_damaged += 1,
        }
    };
    let found = first.get("version").and_then(Value::as_u64).and_then(|version| u32::try_from(version).ok());
    let found = found.ok_or(ReadError::NoHeader)?;
    if found != VERSION {
        return Err(ReadError::Version { found });
    }
    if kind_of(&first) != "session" {
        return Err(ReadError::NoHeader);
    }
    let header = read::header(first).ok_or(ReadError::NoHeader)?;
    let mut document = Document { header, entries: Vec::new(), n_damaged };
    for line in lines {
        if line.and_then(|fields| take(&mut document.entries, fields)).is_none() {
            document.n_damaged += 1;
        }
    }
    Ok(document)
}

fn kind_of(fields: &Map<String, Value>) -> &str {
    fields.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Applies a line to the conversation; `None` if the line is invalid at this point.
fn take(entries: &mut Vec<HistoryEntry>, mut fields: Map<String, Value>) -> Option<()> {
    match kind_of(&fields) {
        "turn" => {
            let index = usize::try_from(fields.get("index")?.as_u64()?).ok()?;
            let entry = read::entry(fields)?;
            entries.truncate(index);
            entries.push(entry);
        }
        "history" => *entries = read::entries(fields.remove("turns"))?,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use emend_llm::Message;

    use super::*;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn header() -> Header {
        Header {
            version: VERSION,
            id: "sess_1".to_owned(),
            at_ms: 5,
            provider: "p".to_owned(),
            model: "m".to_owned(),
            forked_from: None,
        }
    }

    fn entry(index: usize, text: &str) -> Record {
        Record::Entry { index, entry: HistoryEntry::of_message(Message::user(text)) }
    }

    /// Reads these records; returns the texts of the entries and the number of unreadable lines.
    fn check(text: &str) -> (Vec<String>, usize) {
        let document = read_document(text).unwrap();
        (document.entries.iter().map(|entry| entry.message.text()).collect(), document.n_damaged)
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn lines_are_what_people_can_read() {
        let text = write_records(&[Record::Session(header()), entry(0, "hi")]).unwrap();
        assert_eq!(
            text,
            "{\"type\":\"session\",\"version\":1,\"id\":\"sess_1\",\"at_ms\":5,\"provider\":\"p\",\"model\":\"m\"}\n\
             {\"type\":\"turn\",\"index\":0,\"kind\":\"user\",\"at_ms\":0,\"message\":{\"role\":\"user\",\"content\":\
             [{\"kind\":\"text\",\"text\":\"hi\"}]}}\n"
        );
        assert_eq!(check(&text), (owned(&["hi"]), 0));
    }

    #[test]
    fn what_was_written_again_counts_once_and_what_broke_off_is_skipped() {
        covers("session.saved");
        let again = [Record::Session(header()), entry(0, "a"), entry(1, "b"), entry(1, "b"), entry(2, "c")];
        assert_eq!(check(&write_records(&again).unwrap()), (owned(&["a", "b", "c"]), 0));
        let text = write_records(&again[..2]).unwrap()
            + "{\"type\":\"tu\n"
            + &write_records(&again[2..3]).unwrap()
            + "{\"type\":";
        assert_eq!(check(&text), (owned(&["a", "b"]), 2));
        let Record::Entry { entry: only, .. } = entry(0, "x") else { unreachable!() };
        let compacted =
            [Record::Session(header()), entry(0, "a"), Record::History { entries: vec![only] }, entry(1, "y")];
        assert_eq!(check(&write_records(&compacted).unwrap()), (owned(&["x", "y"]), 0));
    }

    #[test]
    fn other_things_and_other_versions_are_refused() {
        for text in ["", "\n", "hello", "{}", "{\"type\":\"turn\",\"index\":0}", "{\"version\":1}"] {
            assert_eq!(read_document(text), Err(ReadError::NoHeader), "{text:?}");
        }
        let whole = write_records(&[Record::Session(header())]).unwrap();
        let cut = format!("{}\n{whole}", &whole[..20]);
        assert_eq!(read_document(&cut).map(|document| (document.header, document.n_damaged)), Ok((header(), 1)));
        let newer = write_records(&[Record::Session(Header { version: 2, ..header() })]).unwrap();
        let refused = read_document(&newer).unwrap_err();
        assert_eq!((&refused, refused.code().as_str()), (&ReadError::Version { found: 2 }, "unsupported"));
    }
}
