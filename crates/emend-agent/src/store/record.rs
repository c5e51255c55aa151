//! What a session's document holds: one JSON object a line, the first a header with the version.
//!
//! Reading is lenient where a crash leaves its mark and strict where going on would be wrong: a line that broke off is
//! counted and skipped, another version is refused.

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::session::Turn;

/// The version that is written. A reader refuses any other: half-understood conversations are worse than none.
pub const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub version: u32,
    /// The session.
    pub id: String,
    /// When it began, in milliseconds since 1970.
    pub at_ms: u64,
    /// The provider it began with.
    pub provider: String,
    /// The model it began with.
    pub model: String,
    /// Where its beginning comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
}

/// The session that another one goes on from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The session.
    pub id: String,
    /// How many of its turns were taken over.
    pub n_turns: usize,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Record {
    /// The beginning.
    Session(Header),
    /// An entry of the conversation.
    Turn {
        /// Its place, from 0. A place that was written before is written anew: the first time may have failed.
        index: usize,
        /// The entry.
        #[serde(flatten)]
        turn: Turn,
    },
    /// All entries, after a context strategy replaced some.
    History {
        /// The entries.
        turns: Vec<Turn>,
    },
}

/// Why a document is no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It does not begin with a header.
    #[error("this is no saved session: it does not begin with a header")]
    NoHeader,
    /// It was written by another version.
    #[error("this session was saved in version {found} of the format; this program reads version {VERSION}")]
    Version {
        /// The version.
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

/// A document as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The header.
    pub header: Header,
    /// The entries, as they were saved: the last call may be without its result.
    pub turns: Vec<Turn>,
    /// How many lines made no sense.
    pub n_damaged: usize,
}

/// Writes records as lines.
///
/// # Errors
///
/// What the serialiser says; plain data always serialises.
pub fn write_records(records: &[Record]) -> Result<String, serde_json::Error> {
    let mut lines = String::new();
    for record in records {
        lines.push_str(&serde_json::to_string(record)?);
        lines.push('\n');
    }
    Ok(lines)
}

/// Reads a document.
///
/// # Errors
///
/// [`ReadError`].
pub fn read_document(text: &str) -> Result<Document, ReadError> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let found = serde_json::from_str::<Version>(first).map_err(|_| ReadError::NoHeader)?.version;
    if found != VERSION {
        return Err(ReadError::Version { found });
    }
    let Ok(Record::Session(header)) = serde_json::from_str(first) else { return Err(ReadError::NoHeader) };
    let mut document = Document { header, turns: Vec::new(), n_damaged: 0 };
    for line in lines {
        match serde_json::from_str(line) {
            Ok(Record::Turn { index, turn }) => {
                document.turns.truncate(index);
                document.turns.push(turn);
            }
            Ok(Record::History { turns }) => document.turns = turns,
            Ok(Record::Session(_)) | Err(_) => document.n_damaged += 1,
        }
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use emend_llm::Message;

    use super::*;
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

    fn turn(index: usize, text: &str) -> Record {
        Record::Turn { index, turn: Turn::of_message(Message::user(text)) }
    }

    /// Reads these records and returns the texts of the entries and the number of damaged lines.
    fn check(text: &str) -> (Vec<String>, usize) {
        let document = read_document(text).unwrap();
        (document.turns.iter().map(|turn| turn.message.text()).collect(), document.n_damaged)
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn lines_are_what_people_can_read() {
        let text = write_records(&[Record::Session(header()), turn(0, "hi")]).unwrap();
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
        let again = [Record::Session(header()), turn(0, "a"), turn(1, "b"), turn(1, "b"), turn(2, "c")];
        assert_eq!(check(&write_records(&again).unwrap()), (owned(&["a", "b", "c"]), 0));
        let text = write_records(&again[..2]).unwrap()
            + "{\"type\":\"tu\n"
            + &write_records(&again[2..3]).unwrap()
            + "{\"type\":";
        assert_eq!(check(&text), (owned(&["a", "b"]), 2));
        let Record::Turn { turn: only, .. } = turn(0, "x") else { unreachable!() };
        let compacted = [Record::Session(header()), turn(0, "a"), Record::History { turns: vec![only] }, turn(1, "y")];
        assert_eq!(check(&write_records(&compacted).unwrap()), (owned(&["x", "y"]), 0));
    }

    #[test]
    fn other_things_and_other_versions_are_refused() {
        for text in ["", "\n", "hello", "{}", "{\"type\":\"turn\",\"index\":0}", "{\"version\":1}"] {
            assert_eq!(read_document(text), Err(ReadError::NoHeader), "{text:?}");
        }
        let newer = write_records(&[Record::Session(Header { version: 2, ..header() })]).unwrap();
        let refused = read_document(&newer).unwrap_err();
        assert_eq!((&refused, refused.code().as_str()), (&ReadError::Version { found: 2 }, "unsupported"));
    }
}
