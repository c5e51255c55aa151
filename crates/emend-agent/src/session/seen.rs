//! The files that a conversation shows: the next process can go on with edits of lines that the model has read.

use emend_edit::ContentHash;
use emend_llm::ContentPart;

use super::Session;
use crate::environment::FilePath;
use crate::history::{HistoryEntry, HistoryEntryKind};

/// The line above a text, as tools show it: `[PATH | version N | sha256:HASH | lines A-B of N]`.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    path: FilePath,
    version: u64,
    hash: ContentHash,
    /// Lines from 0, the last one excluded.
    lines: (usize, usize),
}

impl Session {
    /// Takes the lines that the conversation shows as lines that this session has read, so that the model need not read them
    /// again.
    ///
    /// A file that has changed since has another hash, so an edit of it is still refused as `stale`.
    pub fn restore_reads(&self) {
        for head in heads(self.core.history().entries()) {
            self.core.reads.restore(&head.path, head.hash, head.lines, head.version);
        }
    }
}

/// Returns the heads in results of tools and in messages of the user, which show mentioned files. The model's own words show
/// nothing.
fn heads(entries: &[HistoryEntry]) -> impl Iterator<Item = Head> {
    let shown = entries.iter().filter(|entry| entry.kind != HistoryEntryKind::Assistant);
    let texts = shown.flat_map(|entry| &entry.message.content).filter_map(|part| match part {
        ContentPart::ToolResult(result) => result.content.as_str(),
        ContentPart::Text { text } => Some(text),
        _ => None,
    });
    texts.flat_map(str::lines).filter_map(head)
}

fn head(line: &str) -> Option<Head> {
    let (name, rest) = line.split_once(" | version ")?;
    let path = match name.strip_prefix('[') {
        Some(path) => path,
        // `Created PATH (7 bytes) | version …`
        None => name.split_once(' ')?.1.rsplit_once(" (")?.0,
    };
    let mut fields = rest.strip_suffix(']').unwrap_or(rest).split(" | ");
    let version = fields.next()?.parse().ok()?;
    let hash = fields.next()?.parse().ok()?;
    let lines = match fields.next() {
        Some("empty file") => (0, 0),
        Some(range) if range.starts_with("lines ") => {
            let (first, last) = range["lines ".len()..].split_once(' ')?.0.split_once('-')?;
            (first.parse::<usize>().ok()?.checked_sub(1)?, last.parse().ok()?)
        }
        // An image has no lines.
        Some(other) if other.ends_with(" bytes") || other.contains('/') => (0, 0),
        _ => (0, usize::MAX),
    };
    Some(Head { path: FilePath::clean(path)?, version, hash, lines })
}

#[cfg(test)]
mod tests {
    use emend_llm::Message;

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_words_of_the_model_show_no_file() {
        let line = format!("Look:\n[a | version 2 | {}]\n", ContentHash::of(b"one\n"));
        let n_heads = |message| heads(&[HistoryEntry::of_message(message)]).count();
        assert_eq!((n_heads(Message::user(line.as_str())), n_heads(Message::assistant(line.as_str()))), (1, 0));
    }

    #[test]
    fn heads_of_tools_are_read() {
        let hash = ContentHash::of(b"one\n");
        let check = |line: &str, expected: Option<(&str, u64, (usize, usize))>| {
            let line = line.replace('#', &hash.to_string());
            let expected = expected.map(|(path, version, lines)| {
                let path = FilePath::clean(path).unwrap();
                Head { path, version, hash, lines }
            });
            assert_eq!(head(&line), expected, "{line}");
        };
        check("[src/a b.rs | version 3 | # | lines 2-9 of 20]", Some(("src/a b.rs", 3, (1, 9))));
        check("[a | version 1 | # | lines 1-1 of 1 | no newline at the end]", Some(("a", 1, (0, 1))));
        check("[a | version 1 | # | lines 1-5 of 9; read on from line 6]", Some(("a", 1, (0, 5))));
        check("[a | version 12 | # | empty file]", Some(("a", 12, (0, 0))));
        check("[a | version 2 | #]", Some(("a", 2, (0, usize::MAX))));
        check("[a | version 2 | # | no newline at the end]", Some(("a", 2, (0, usize::MAX))));
        check("[a.png | version 2 | # | image/png, 12 bytes]", Some(("a.png", 2, (0, 0))));
        check("Created new.txt (4 bytes) | version 7 | #", Some(("new.txt", 7, (0, usize::MAX))));
        for other in
            ["[a | version x | #]", "[a | version 1 | sha256:12]", "[a | version 1]", "text", " | version 1 | #"]
        {
            check(other, None);
        }
    }
}
