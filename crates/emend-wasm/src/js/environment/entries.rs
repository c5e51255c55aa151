//! Entries of a host's files as text: fields separated by NUL, which no file name contains.
//!
//! `docs/protocols.md` describes the format.

use std::str::Split;

use emend_agent::environment::resolve::Node;
use emend_agent::environment::{EntryKind, Metadata};
use wasm_bindgen::JsValue;

/// An entry as a host describes it.
#[cfg_attr(test, derive(Clone, Debug, PartialEq))]
pub(super) struct HostEntry {
    pub(super) node: Node,
    /// Present for files and directories; absent for links, other kinds and missing entries.
    pub(super) metadata: Option<Metadata>,
}

impl HostEntry {
    /// Reads the next three fields. An empty kind stands for a missing entry.
    pub(super) fn take(fields: &mut Split<'_, char>) -> Self {
        let kind = fields.next().unwrap_or_default();
        let (size, modified_ms) = (number(fields), number(fields));
        let metadata = |kind, size| Some(Metadata { kind, size, modified_ms });
        let (node, metadata) = match kind.split_at_checked(1) {
            Some(("f", _)) => (Node::File, metadata(EntryKind::File, size)),
            Some(("d", _)) => (Node::Directory, metadata(EntryKind::Directory, 0)),
            Some(("l", target)) => (Node::Link(target.to_owned()), None),
            Some(_) => (Node::Special, None),
            None => (Node::Missing, None),
        };
        Self { node, metadata }
    }
}

/// Reads the next field as a number; 0 if it is not one.
pub(super) fn number(fields: &mut Split<'_, char>) -> u64 {
    fields.next().and_then(|field| field.parse().ok()).unwrap_or_default()
}

/// Joins the fields of an operation that takes several.
pub(super) fn joined<'a>(fields: impl Iterator<Item = &'a str>) -> JsValue {
    fields.collect::<Vec<_>>().join("\0").into()
}

#[cfg(test)]
mod tests {
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Returns the fields of an entry as `pkg/src/host/environment.ts` joins them.
    fn fields(entry: &HostEntry) -> String {
        let kind = match &entry.node {
            Node::File => "f".to_owned(),
            Node::Directory => "d".to_owned(),
            Node::Link(target) => format!("l{target}"),
            Node::Special => "o".to_owned(),
            Node::Missing => String::new(),
        };
        let (size, modified_ms) = entry.metadata.as_ref().map_or((0, 0), |found| (found.size, found.modified_ms));
        format!("{kind}\0{size}\0{modified_ms}")
    }

    fn entry(node: Node, kind: Option<EntryKind>, size: u64) -> HostEntry {
        HostEntry { node, metadata: kind.map(|kind| Metadata { kind, size, modified_ms: 1_700_000_000_000 }) }
    }

    #[test]
    fn every_kind_of_entry_survives_the_round_trip() {
        let entries = [
            entry(Node::File, Some(EntryKind::File), 9_007_199_254_740_991),
            entry(Node::Directory, Some(EntryKind::Directory), 0),
            entry(Node::Link("../länk\n".to_owned()), None, 0),
            entry(Node::Special, None, 0),
            entry(Node::Missing, None, 0),
        ];
        let text = entries.iter().map(fields).collect::<Vec<_>>().join("\0");
        let mut rest = text.split('\0');
        assert_eq!(entries.clone().map(|_| HostEntry::take(&mut rest)), entries);
        assert_eq!(rest.next(), None);
    }

    #[test]
    fn an_empty_text_is_a_missing_entry_and_a_field_that_is_not_a_number_is_zero() {
        assert_eq!(HostEntry::take(&mut "".split('\0')), entry(Node::Missing, None, 0));
        let odd = HostEntry::take(&mut "f\0many\0".split('\0'));
        assert_eq!(odd.metadata, Some(Metadata { kind: EntryKind::File, size: 0, modified_ms: 0 }));
    }
}
