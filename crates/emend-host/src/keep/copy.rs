//! Changes that a command makes in a copy of the root and that end with the copy.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};

use emend_agent::environment::FilePath;

use super::names;
use super::node::{Content, Entry};
use super::scan::scan;
use crate::files::{RootFiles, reading};

/// All paths of a copy at one time.
#[derive(Debug)]
pub(crate) struct CopyTree(Vec<Entry>);

impl CopyTree {
    /// Walks a copy.
    pub(crate) fn of(copy: &RootFiles) -> io::Result<Self> {
        // A copy holds no state directory.
        scan(copy, (0, 0)).map(Self)
    }

    /// Returns the paths that differ in `later`, the same copy after a command. An ignored directory stands for all
    /// its paths. Of `texts`, whose text is held elsewhere, the mode bits alone are compared. A file that has only a new
    /// time, as its content in `original` shows, does not differ.
    pub(crate) fn discarded(
        &self,
        later: &Self,
        (original, copy): (&RootFiles, &RootFiles),
        texts: &BTreeSet<FilePath>,
    ) -> BTreeSet<FilePath> {
        let by_path = |tree: &Self| tree.0.iter().map(|entry| (entry.path.clone(), entry.clone())).collect();
        let (old, new): (BTreeMap<FilePath, Entry>, BTreeMap<FilePath, Entry>) = (by_path(self), by_path(later));
        let paths: BTreeSet<&FilePath> = old.keys().chain(new.keys()).collect();
        let differs = |path: &&FilePath| match (old.get(path), new.get(path)) {
            (Some(before), Some(after)) if texts.contains(path) => is_file(before) && before.mode_differs(after),
            (None, Some(after)) if texts.contains(path) => after.stamp.mode & 0o111 != 0,
            _ if texts.contains(path) => false,
            (Some(before), Some(after)) => {
                let is_same = || match (&before.content, &after.content) {
                    (Content::File { .. }, Content::File { .. }) => {
                        before.is_marked_like(after)
                            || before.stamp.size == after.stamp.size && have_same_content(original, copy, path)
                    }
                    (Content::Crowd | Content::Directory, Content::Crowd | Content::Directory) => true,
                    (before, after) => before == after,
                };
                !matches!(before.content, Content::Link(_)) && before.mode_differs(after) || !is_same()
            }
            // A directory with entries differs by these.
            (Some(entry), None) => !has_entries(&self.0, entry),
            (None, Some(entry)) => !has_entries(&later.0, entry),
            (None, None) => false,
        };
        let named = |path: &FilePath| {
            let top = [self, later].into_iter().find_map(|tree| top_product(&tree.0, path));
            names::shown(top.unwrap_or(path))
        };
        // Programs that only look at a repository change its index.
        let is_look = |path: &FilePath| names::is_note(path);
        paths.into_iter().filter(|path| !is_look(path)).filter(differs).map(named).collect()
    }
}

fn is_file(entry: &Entry) -> bool {
    matches!(entry.content, Content::File { .. })
}

impl Entry {
    fn mode_differs(&self, other: &Self) -> bool {
        self.content.is_like(&other.content) && self.stamp.mode != other.stamp.mode
    }

    fn is_marked_like(&self, other: &Self) -> bool {
        let marks = |entry: &Self| (entry.stamp.size, entry.stamp.modified, entry.stamp.inode);
        marks(self) == marks(other)
    }
}

/// Returns the ignored directory that is `path` or above it, the highest one.
pub(super) fn top_product<'a>(tree: &'a [Entry], path: &FilePath) -> Option<&'a FilePath> {
    let above = std::iter::successors(Some(path.clone()), FilePath::parent);
    let entries =
        above.filter_map(|path| tree.binary_search_by(|entry| entry.path.cmp(&path)).ok().and_then(|at| tree.get(at)));
    entries.filter(|entry| entry.is_product).last().map(|entry| &entry.path)
}

fn has_entries(tree: &[Entry], directory: &Entry) -> bool {
    let at = tree.partition_point(|entry| entry.path <= directory.path);
    directory.content == Content::Directory && tree.get(at).is_some_and(|next| next.path.is_under(&directory.path))
}

fn have_same_content(one: &RootFiles, other: &RootFiles, path: &FilePath) -> bool {
    let open = |files: &RootFiles| files.directory().open_with(&*names::on_disk(path.as_str()), &reading());
    let (Ok(mut one), Ok(mut other)) = (open(one), open(other)) else { return false };
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let (Ok(n_left), Ok(n_right)) = (fill(&mut one, &mut left), fill(&mut other, &mut right)) else { return false };
        if n_left != n_right || left.get(..n_left) != right.get(..n_right) {
            return false;
        }
        if n_left == 0 {
            return true;
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut cap_std::fs::File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut n_read = 0;
    while let Some(rest) = buffer.get_mut(n_read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            n => n_read += n,
        }
    }
    Ok(n_read)
}
