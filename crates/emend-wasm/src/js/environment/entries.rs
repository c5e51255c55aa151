//! Entries of a host's files as they cross: fields with a NUL between them, which no name contains.

use std::str::Split;

use emend_agent::environment::resolve::Node;
use emend_agent::environment::{EntryKind, FilePath, Metadata};
use wasm_bindgen::JsValue;

/// What a host says of an entry.
pub(super) struct HostEntry {
    pub(super) node: Node,
    /// What it is if it is a file or a directory itself.
    pub(super) metadata: Option<Metadata>,
}

impl HostEntry {
    /// Takes the fields of an entry. What is missing makes it none.
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

pub(super) fn number(fields: &mut Split<'_, char>) -> u64 {
    fields.next().and_then(|field| field.parse().ok()).unwrap_or_default()
}

pub(super) fn joined<'a>(paths: impl Iterator<Item = &'a FilePath>) -> JsValue {
    paths.map(FilePath::as_str).collect::<Vec<_>>().join("\0").into()
}
