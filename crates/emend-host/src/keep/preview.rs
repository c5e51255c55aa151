//! The changes of commands that an undo would take back, without changing anything.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use emend_agent::environment::{FilePath, KeptPreview, KeptState, KeptStateKind, KeptUndo};

use super::Keeper;
use super::aside::{ASIDE, Aside};
use super::names;
use super::node::{Change, Content, Node};
use super::record::Record;
use super::restore::{Places, Switch, Switched};
use crate::files::RootFiles;

impl Keeper {
    /// Returns the changes that an undo would take back or leave alone now, without those in ignored directories.
    pub(crate) fn preview(&mut self, files: &RootFiles, undo: &KeptUndo) -> io::Result<Vec<KeptPreview>> {
        if !self.directory.exists() {
            return Ok(Vec::new());
        }
        match self.only_reads {
            true => {
                let aside = Aside(self.directory.join(ASIDE));
                preview(&Record::read(&self.directory)?.0, files, &aside, undo)
            }
            false => self.with(files, |loaded| preview(&loaded.record, files, &loaded.aside, undo)),
        }
    }
}

fn preview(record: &Record, files: &RootFiles, aside: &Aside, undo: &KeptUndo) -> io::Result<Vec<KeptPreview>> {
    // The state before the first command that changed a path, and the one after the last.
    let mut changes: BTreeMap<&FilePath, (Option<&Node>, Option<&Node>)> = BTreeMap::new();
    let commands = record.live_commands(&undo.runs);
    for &number in &commands {
        let Some(recorded) = record.commands.get(number) else { continue };
        let is_shown = |change: &&Change| {
            // Objects stay, because a later commit may need them.
            let is_switched = !names::is_object(&change.path);
            recorded.is_live(&change.path) && !change.is_product() && is_switched
        };
        for change in recorded.changes.iter().filter(is_shown) {
            let (before, after) = (change.before.as_ref(), change.after.as_ref());
            changes.entry(&change.path).and_modify(|known| known.0 = before).or_insert((before, after));
        }
    }
    let mut places = Places::of(files, aside).restoring_deleted(undo.restores_deleted);
    let (mut previews, mut repositories) = (Vec::new(), BTreeMap::new());
    for (path, (before, after)) in changes {
        let switch = Switch { path, from: after, to: before };
        let is_blocked = match places.look(&switch)? {
            Switched::Done => false,
            Switched::LeftAlone => true,
            Switched::Before if record.is_changed_later(&commands, path) => true,
            // The contents are the same. The mode bits may differ.
            Switched::Before => match (before, after) {
                (Some(before), Some(after)) if before.mode != after.mode && places.mode(path)? == Some(after.mode) => {
                    false
                }
                _ => continue,
            },
        };
        if !names::is_named_alone(path) {
            // A repository is named as a whole, also if only a part of it can be restored.
            let is_whole = names::repository(path).is_some_and(|(_, inner)| inner.is_empty());
            let known = repositories.entry(names::shown(path)).or_insert((None, true));
            known.1 &= is_blocked;
            if is_whole {
                known.0 = Some((before.map(state), after.map(state)));
            }
            continue;
        }
        let (before, after) = (before.map(state), after.map(state));
        previews.push(KeptPreview { path: names::shown(path), before, after, is_blocked });
    }
    for (path, (states, is_blocked)) in repositories {
        let directory = || Some(KeptState { kind: KeptStateKind::Directory, mode: 0o755 });
        let (before, after) = states.unwrap_or_else(|| (directory(), directory()));
        previews.push(KeptPreview { path, before, after, is_blocked });
    }
    previews.sort_by(|a, b| a.path.cmp(&b.path));
    block_filled(files, &mut previews, &|path| undo.logged.contains(path) || is_made(record, &commands, path));
    block_below_others(files, &mut previews);
    Ok(previews)
}

/// Returns whether the first of these commands that changed a path has made it.
fn is_made(record: &Record, commands: &[usize], path: &FilePath) -> bool {
    let recorded = commands.iter().rev().filter_map(|&number| record.commands.get(number));
    let mut changes = recorded.filter_map(|recorded| {
        let found = recorded.changes.binary_search_by(|change| change.path.cmp(path)).ok()?;
        recorded.changes.get(found)
    });
    changes.next().is_some_and(|change| change.before.is_none())
}

/// Blocks the directories that stay, because something is in them that does not go.
fn block_filled(files: &RootFiles, previews: &mut [KeptPreview], goes: &dyn Fn(&FilePath) -> bool) {
    let is_directory =
        |state: &Option<KeptState>| state.as_ref().is_some_and(|state| state.kind == KeptStateKind::Directory);
    let mut blocked: BTreeSet<FilePath> = BTreeSet::new();
    // The directories in a directory come before it.
    for change in previews.iter_mut().rev() {
        // Git changes a repository at any time. The undo looks at its branches.
        let is_kept_apart = names::repository(&change.path).is_some();
        if !change.is_blocked && !is_kept_apart && is_directory(&change.after) && !is_directory(&change.before) {
            let entries = files.directory().read_dir(&*names::on_disk(change.path.as_str()));
            let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
            let mut inside = names.map(|name| change.path.join(&names::text_of(name.as_encoded_bytes())));
            change.is_blocked = inside.any(|path| blocked.contains(&path) || !goes(&path));
        }
        if change.is_blocked {
            blocked.insert(change.path.clone());
        }
    }
}

/// Blocks the paths that cannot come back, because something else is in the place of a directory above them and stays.
fn block_below_others(files: &RootFiles, previews: &mut [KeptPreview]) {
    let becomes_directory = |change: &&KeptPreview| {
        !change.is_blocked && change.before.as_ref().is_some_and(|before| before.kind == KeptStateKind::Directory)
    };
    let directories: BTreeSet<FilePath> =
        previews.iter().filter(becomes_directory).map(|change| change.path.clone()).collect();
    let mut known: BTreeMap<FilePath, bool> = BTreeMap::new();
    for change in previews.iter_mut().filter(|change| !change.is_blocked && change.before.is_some()) {
        let mut above = std::iter::successors(change.path.parent(), FilePath::parent).filter(|path| !path.is_root());
        change.is_blocked = above.any(|path| {
            let stays = |path: &FilePath| {
                let found = files.directory().symlink_metadata(&*names::on_disk(path.as_str()));
                found.is_ok_and(|found| !found.is_dir()) && !directories.contains(path)
            };
            *known.entry(path.clone()).or_insert_with(|| stays(&path))
        });
    }
}

fn state(node: &Node) -> KeptState {
    let kind = match &node.content {
        Content::File { is_text, .. } => KeptStateKind::File { size: node.size, is_text: *is_text },
        Content::Link(target) => KeptStateKind::Link(target.clone()),
        Content::Directory | Content::Crowd => KeptStateKind::Directory,
        Content::Fifo | Content::Special => KeptStateKind::Special,
    };
    KeptState { kind, mode: node.mode }
}
