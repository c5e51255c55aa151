//! Compares the tree before a command with the tree after it.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io;
use std::iter::successors;
use std::time::{SystemTime, UNIX_EPOCH};

use emend_agent::environment::FilePath;

use super::names;
use super::node::{Change, Content, Entry, Marks, Node};

/// The differences of two trees, in order of their paths.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Changes that can be undone.
    pub(super) changes: Vec<Change>,
    /// Changed paths whose former content was not kept.
    pub(super) lost: Vec<FilePath>,
    /// Changes of files whose former content was not kept, but which may only have been moved.
    gone: Vec<Change>,
}

/// The present state of a path.
pub(super) enum Seen {
    Entry(Box<Entry>),
    Nothing,
    /// The path, or a directory above it, cannot be read.
    Unreadable,
}

/// Compares two trees in order of their paths. `look` returns the present state of a path that the second walk did not
/// reach; `None` if there is no such path.
///
/// # Errors
///
/// Returns an error of `look`.
pub(super) fn compare(
    before: &[Entry],
    after: &[Entry],
    mut look: impl FnMut(&Entry) -> io::Result<Seen>,
) -> io::Result<Differences> {
    let mut found = Differences::default();
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    // Paths below a crowd are unknown on its side. Crowds come before all paths below them.
    let (mut old_crowds, mut new_crowds): (BTreeSet<&FilePath>, BTreeSet<&FilePath>) = Default::default();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return Ok(found.settled()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.path.cmp(&new.path),
        };
        let before = if order == Ordering::Greater { None } else { old.next() };
        let after = if order == Ordering::Less { None } else { new.next() };
        for (entry, crowds) in [(before, &mut old_crowds), (after, &mut new_crowds)] {
            crowds.extend(entry.filter(|entry| entry.content == Content::Crowd).map(|entry| &entry.path));
        }
        let is_below = |crowds: &BTreeSet<&FilePath>, path: &FilePath| {
            !crowds.is_empty() && successors(path.parent(), FilePath::parent).any(|above| crowds.contains(&above))
        };
        match (before, after) {
            (Some(before), Some(after)) => found.both(before, after),
            (Some(before), None) if is_below(&new_crowds, &before.path) => match look(before)? {
                Seen::Entry(after) => found.both(before, &after),
                Seen::Nothing => found.removed(before),
                Seen::Unreadable => found.hidden(before, &new_crowds),
            },
            (Some(before), None) => found.removed(before),
            (None, Some(after)) if after.content == Content::Crowd || is_below(&old_crowds, &after.path) => {}
            (None, Some(after)) if after.content == Content::Special => found.lost.push(after.path.clone()),
            (None, Some(after)) => {
                found.changes.push(Change { path: after.path.clone(), before: None, after: Some(after.into()) });
            }
            (None, None) => return Ok(found.settled()),
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
                // A crowd that has lost entries or was replaced. An unreadable directory is known by its inode only.
                let is_replaced = before.stamp.inode != after.stamp.inode;
                let has_lost = before.stamp.size > after.stamp.size || is_crowd_no_longer(before, after);
                if !is_known && (is_replaced || has_lost) {
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
        if !is_same && after.content == Content::Special || is_lost(before) && !is_same && !is_file(before) {
            self.lost.push(before.path.clone());
            return;
        }
        let mut change =
            Change { path: before.path.clone(), before: Some(Node::from(before)), after: Some(Node::from(after)) };
        if is_lost(before) && !is_same {
            self.gone.push(change);
            return;
        }
        if is_same && let (Some(before), Some(after)) = (&mut change.before, &change.after) {
            before.content = after.content.clone();
        }
        self.changes.push(change);
    }

    /// Takes a path that can no longer be seen: it may have been changed before. The unreadable directory stands for it.
    fn hidden(&mut self, before: &Entry, crowds: &BTreeSet<&FilePath>) {
        let above = successors(before.path.parent(), FilePath::parent).find(|above| crowds.contains(above));
        self.lost.extend(above.filter(|above| self.lost.last() != Some(above)));
    }

    fn removed(&mut self, before: &Entry) {
        let change = || Change { path: before.path.clone(), before: Some(before.into()), after: None };
        match is_lost(before) {
            true if is_file(before) => self.gone.push(change()),
            true => self.lost.push(before.path.clone()),
            false => self.changes.push(change()),
        }
    }

    /// Tells files that were moved from those that are lost: a moved file is at another path now.
    fn settled(mut self) -> Self {
        if self.gone.is_empty() {
            return self;
        }
        let marks = |node: &Option<Node>| node.as_ref().and_then(Node::marks);
        let mut there: BTreeSet<Marks> =
            self.changes.iter().chain(&self.gone).filter_map(|change| marks(&change.after)).collect();
        for change in std::mem::take(&mut self.gone) {
            // Of several hard links, one takes the content back.
            match marks(&change.before).is_some_and(|marks| there.remove(&marks)) {
                true => self.changes.push(change),
                false => self.lost.push(change.path),
            }
        }
        self.changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.lost.sort_unstable();
        self
    }
}

/// Returns whether a crowd has so few entries now that all of them are known, although it is still ignored.
fn is_crowd_no_longer(before: &Entry, after: &Entry) -> bool {
    let was_read = before.content == Content::Crowd && before.stamp.size > 0;
    was_read && after.content == Content::Directory && after.is_product
}

/// Returns whether the content of an entry was not kept.
fn is_lost(entry: &Entry) -> bool {
    matches!(entry.content, Content::Crowd | Content::Special | Content::File { blob: None, .. })
}

fn is_file(entry: &Entry) -> bool {
    matches!(entry.content, Content::File { .. })
}

/// Drops the changes of repositories in which programs only looked, such as `git status`. `stages` tells whether a change is
/// that of what is staged.
///
/// # Errors
///
/// Returns an error of `stages`.
pub(super) fn forget_looks(
    changes: &mut Vec<Change>,
    mut stages: impl FnMut(&Change) -> io::Result<bool>,
) -> io::Result<()> {
    let directory = |change: &Change| names::repository(&change.path).map(|(directory, _)| directory.to_owned());
    let mut changed = BTreeSet::new();
    for change in &*changes {
        let is_look = names::is_note(&change.path) && change.after.is_some() && !stages(change)?;
        changed.extend(directory(change).filter(|_| !is_look));
    }
    changes.retain(|change| directory(change).is_none_or(|directory| changed.contains(&directory)));
    Ok(())
}

/// Returns whether a file changed after `end`. Then the part of a command in its content is not known.
pub(super) fn is_later(tree: &[Entry], change: &Change, end: i64) -> bool {
    let found = tree.binary_search_by(|entry| entry.path.cmp(&change.path)).ok().and_then(|at| tree.get(at));
    found.is_some_and(|entry| match entry.stamp.changed {
        _ if entry.content == Content::Directory => false,
        // It changed just before this comparison.
        0 => now_ns() > end,
        changed => changed > end,
    })
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
