//! Plain data about kept paths: contents by reference, marks for comparison, and changes.

use emend_agent::environment::FilePath;
use emend_edit::ContentHash;
use serde::{Deserialize, Serialize};

/// A reference to a stored content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Blob {
    #[serde(with = "hash_form")]
    pub(super) hash: ContentHash,
    pub(super) len: u64,
}

/// The form of a hash: a text in JSON, its bytes in a binary format.
mod hash_form {
    use emend_edit::ContentHash;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(hash: &ContentHash, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => hash.serialize(serializer),
            false => hash.to_bytes().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ContentHash, D::Error> {
        match deserializer.is_human_readable() {
            true => ContentHash::deserialize(deserializer),
            false => <[u8; 32]>::deserialize(deserializer).map(ContentHash::from_bytes),
        }
    }
}

/// The kind and the content of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Content {
    /// A regular file.
    File {
        /// Its content; absent if it was not stored.
        blob: Option<Blob>,
        /// Whether the content is a text that is small enough for a line log.
        is_text: bool,
    },
    /// A symbolic link with its target.
    Link(String),
    Directory,
    /// An ignored directory that is too large to look into.
    Crowd,
    /// A pipe with a name.
    Fifo,
    /// A socket or a device, which cannot be made again.
    Special,
}

impl Content {
    /// Returns whether this is a text that is small enough for a line log.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::File { is_text: true, .. })
    }

    /// Returns whether both are of the same kind.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Marks of a path. If no mark has changed, its content has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) mode: u32,
    /// Size in bytes; of a directory, the number of entries.
    pub(super) size: u64,
    /// Modification time in nanoseconds since 1970.
    pub(super) modified: i64,
    /// Change time, which programs cannot set; 0 if the file may change again within the clock's precision.
    pub(super) changed: i64,
    pub(super) inode: u64,
    /// Number of hard links; of a directory, 0.
    #[serde(default)]
    pub(super) links: u64,
}

/// One path below the root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) path: FilePath,
    pub(super) stamp: Stamp,
    /// Whether it is an ignored directory or in one, as build products are.
    pub(super) is_product: bool,
    pub(super) content: Content,
}

/// The state of a path before or after a command, for restoring it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Node {
    pub(super) content: Content,
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) modified: i64,
    #[serde(default)]
    pub(super) inode: u64,
    /// Number of hard links; 0 if that is not known.
    #[serde(default)]
    pub(super) links: u64,
    /// Whether it is in an ignored directory. Build tools compare the times of such files, so they are restored.
    pub(super) is_product: bool,
}

impl From<&Entry> for Node {
    fn from(entry: &Entry) -> Self {
        let Stamp { mode, size, modified, inode, links, .. } = entry.stamp;
        Self { content: entry.content.clone(), mode, size, modified, inode, links, is_product: entry.is_product }
    }
}

/// Inode, size and modification time of a file: it keeps them when it is moved.
pub(super) type Marks = (u64, u64, i64);

impl Node {
    /// Returns the state of a text at a path that had the state `known`, with its mode bits.
    pub(super) fn of_text(blob: Blob, known: &Self) -> Self {
        let mode = if matches!(known.content, Content::Link(_)) { 0o644 } else { known.mode };
        let content = Content::File { blob: Some(blob), is_text: true };
        // Its time is the present one, as after an edit.
        Self { content, mode, size: blob.len, modified: 0, inode: 0, links: 0, is_product: false }
    }

    /// Returns the marks of a file whose content is not stored; `None` for everything else.
    pub(super) fn marks(&self) -> Option<Marks> {
        let is_apart = matches!(self.content, Content::File { blob: None, .. });
        is_apart.then_some((self.inode, self.size, self.modified))
    }

    /// Returns whether both states have the same content, as far as it is stored.
    pub(super) fn has_same_content(&self, other: &Self) -> bool {
        (&self.content, self.marks()) == (&other.content, other.marks())
    }
}

/// A change of one path by a command. At least one side is present.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) path: FilePath,
    pub(super) before: Option<Node>,
    pub(super) after: Option<Node>,
}

impl Change {
    /// Returns whether only small texts were changed, created or deleted, so that a line log can hold the change.
    pub(super) fn is_text(&self) -> bool {
        let is_text = |node: &Option<Node>| node.as_ref().is_none_or(|node| node.content.is_text());
        is_text(&self.before) && is_text(&self.after)
    }

    /// Returns whether the path is in an ignored directory.
    pub(super) fn is_product(&self) -> bool {
        self.before.iter().chain(&self.after).all(|node| node.is_product)
    }

    /// Returns whether only a directory was created or removed.
    pub(super) fn is_of_directory_alone(&self) -> bool {
        let is_directory = |node: &Option<Node>| node.as_ref().is_none_or(|node| is_directory(Some(node)));
        is_directory(&self.before) && is_directory(&self.after)
    }

    /// Returns the change of the mode bits alone, with the content after the change on both sides.
    pub(super) fn of_mode_alone(&self) -> Self {
        let mut change = self.clone();
        if let (Some(before), Some(after)) = (&mut change.before, &change.after) {
            before.content.clone_from(&after.content);
        }
        change
    }

    /// Returns whether the contents of two files are the same, so that only their modes differ.
    pub(super) fn keeps_content(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before.content == after.content,
            _ => false,
        }
    }
}

/// Returns the inode of the file in a state; `None` if it is something else.
pub(super) fn inode_of(node: Option<&Node>) -> Option<u64> {
    node.filter(|node| matches!(node.content, Content::File { .. })).map(|node| node.inode)
}

/// Returns whether a state is that of a directory.
pub(super) fn is_directory(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.content == Content::Directory)
}
