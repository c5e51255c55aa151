//! Compares the tree before a command with the tree after it.

use std::cmp::Ordering;

use emend_agent::environment::FilePath;

use super::node::{Change, Content, Entry, Node};

/// The differences of two trees, in order of their paths.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Changes that can be undone.
    pub(super) changes: Vec<Change>,
    /// Changed paths whose former content was not kept.
    pub(super) lost: Vec<FilePath>,
}

/// Compares two trees in order of their paths. `exists` is asked about paths that a walk no longer reaches.
pub(super) fn compare(before: &[Entry], after: &[Entry], exists: impl Fn(&FilePath) -> bool) -> Differences {
    let mut found = Differences::default();
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    // The last crowd of each side: paths below it are unknown there.
    let (mut old_crowd, mut new_crowd): (Option<&FilePath>, Option<&FilePath>) = (None, None);
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return found,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.path.cmp(&new.path),
        };
        let before = if order == Ordering::Greater { None } else { old.next() };
        let after = if order == Ordering::Less { None } else { new.next() };
        for (entry, crowd) in [(before, &mut old_crowd), (after, &mut new_crowd)] {
            if let Some(entry) = entry.filter(|entry| entry.content == Content::Crowd) {
                *crowd = Some(&entry.path);
            }
        }
        let is_below = |crowd: Option<&FilePath>, path: &FilePath| crowd.is_some_and(|crowd| path.is_under(crowd));
        match (before, after) {
            (Some(before), Some(after)) => found.both(before, after),
            (Some(before), None) if is_below(new_crowd, &before.path) && exists(&before.path) => {}
            (Some(before), None) => found.removed(before),
            (None, Some(after)) if after.content == Content::Crowd || is_below(old_crowd, &after.path) => {}
            (None, Some(after)) => {
                found.changes.push(Change { path: after.path.clone(), before: None, after: Some(after.into()) });
            }
            (None, None) => return found,
        }
    }
}

impl Differences {
    fn both(&mut self, before: &Entry, after: &Entry) {
        let is_same = match (&before.content, &after.content) {
            (Content::File { blob: Some(old), .. }, Content::File { blob: Some(new), .. }) => old.hash == new.hash,
            (Content::File { .. }, Content::File { .. }) => {
                let marks = |entry: &Entry| (entry.stamp.size, entry.stamp.modified, entry.stamp.inode);
                marks(before) == marks(after)
            }
            (Content::Crowd | Content::Directory, Content::Crowd | Content::Directory) => {
                let is_known = before.content == Content::Directory;
                // A crowd that has lost entries or was replaced.
                if !is_known && (before.stamp.inode != after.stamp.inode || before.stamp.size > after.stamp.size) {
                    self.lost.push(before.path.clone());
                    return;
                }
                true
            }
            (old, new) => old == new,
        };
        let is_link = matches!(before.content, Content::Link(_));
        if is_same && (before.stamp.mode == after.stamp.mode || is_link) {
            return;
        }
        if is_lost(before) && !is_same {
            self.lost.push(before.path.clone());
            return;
        }
        let mut change =
            Change { path: before.path.clone(), before: Some(Node::from(before)), after: Some(Node::from(after)) };
        if is_same && let (Some(before), Some(after)) = (&mut change.before, &change.after) {
            before.content = after.content.clone();
        }
        self.changes.push(change);
    }

    fn removed(&mut self, before: &Entry) {
        if is_lost(before) {
            self.lost.push(before.path.clone());
        } else {
            self.changes.push(Change { path: before.path.clone(), before: Some(before.into()), after: None });
        }
    }
}

/// Returns whether the content of an entry was not kept.
fn is_lost(entry: &Entry) -> bool {
    matches!(entry.content, Content::Crowd | Content::File { blob: None, .. })
}
