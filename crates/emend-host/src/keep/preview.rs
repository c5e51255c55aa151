//! The changes of commands that an undo would take back, without changing anything.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use emend_agent::environment::{FilePath, KeptPreview, KeptState, KeptStateKind, KeptUndo};
use emend_agent::search::is_binary;
use emend_edit::ContentHash;
use emend_edit::text::decode;

use super::aside::{ASIDE, Aside};
use super::merge::can_take_back;
use super::node::{Blob, Change, Content, Node};
use super::pack::read_beside;
use super::record::Record;
use super::restore::{Places, Switch, Switched};
use super::{Keeper, Loaded, names};
use crate::files::RootFiles;

impl Keeper {
    /// Returns the changes that an undo would take back or leave alone now, without those in ignored directories. Of these,
    /// only texts with line logs are among them.
    pub(crate) fn preview(&mut self, files: &RootFiles, undo: &KeptUndo) -> io::Result<Vec<KeptPreview>> {
        if !self.directory.exists() {
            return Ok(Vec::new());
        }
        match self.only_reads {
            true => {
                let (record, aside) = (Record::read(&self.directory)?.0, Aside(self.directory.join(ASIDE)));
                preview(&record, files, &aside, undo, &mut |blob| read_beside(&self.directory, blob))
            }
            false => self.with(files, |Loaded { record, aside, pack, .. }| {
                preview(record, files, aside, undo, &mut |blob| pack.read(blob).map(Some))
            }),
        }
    }
}

/// The changes of one path by the commands of an undo.
struct Span<'a> {
    /// The state before the first command that changed the path.
    before: Option<&'a Node>,
    /// The state after the last one.
    after: Option<&'a Node>,
    /// Whether no line log holds one of the changes.
    is_unlogged: bool,
    /// The state before the first of the last changes between which nothing else changed the path. Older ones stay.
    before_last: Option<Option<&'a Node>>,
}

/// Returns whether two states have the same content.
fn is_same(a: Option<&Node>, b: Option<&Node>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.content == b.content,
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Returns the changes of each path by commands.
fn spans<'a>(record: &'a Record, commands: &[usize], undo: &KeptUndo) -> BTreeMap<&'a FilePath, Span<'a>> {
    let mut spans: BTreeMap<&FilePath, Span<'_>> = BTreeMap::new();
    for &number in commands {
        let Some(recorded) = record.commands.get(number) else { continue };
        let is_shown = |change: &&Change| {
            let is_logged = change.is_text() && undo.logged.contains(&change.path);
            // Objects stay, because a later commit may need them.
            let is_switched = !names::is_object(&change.path);
            recorded.is_live(&change.path) && (!change.is_product() || is_logged) && is_switched
        };
        for change in recorded.changes.iter().filter(is_shown) {
            let (before, after) = (change.before.as_ref(), change.after.as_ref());
            let is_unlogged = !change.keeps_content() && !recorded.is_in_log(change, &undo.logged);
            match spans.entry(&change.path) {
                Entry::Vacant(entry) => {
                    entry.insert(Span { before, after, is_unlogged, before_last: None });
                }
                Entry::Occupied(entry) => {
                    let span = entry.into_mut();
                    // Between edits of the runs, the log says what stays.
                    if span.before_last.is_none() && !is_same(after, span.before) && !undo.logged.contains(&change.path)
                    {
                        span.before_last = Some(span.before);
                    }
                    span.before = before;
                    span.is_unlogged |= is_unlogged;
                }
            }
        }
    }
    spans
}

fn preview(
    record: &Record,
    files: &RootFiles,
    aside: &Aside,
    undo: &KeptUndo,
    read: &mut dyn FnMut(&Blob) -> io::Result<Option<Vec<u8>>>,
) -> io::Result<Vec<KeptPreview>> {
    let commands = record.live_commands(&undo.runs);
    let mut places = Places::of(files, aside).restoring_deleted(undo.restores_deleted);
    let (mut previews, mut repositories) = (Vec::new(), BTreeMap::new());
    // Changes that stay beside later ones of the same path that are undone.
    let mut older = Vec::new();
    for (path, Span { before: oldest, after, is_unlogged, before_last }) in spans(record, &commands, undo) {
        let before = before_last.unwrap_or(oldest);
        let switch = Switch { path, from: after, to: before };
        let keeps_mode = |places: &mut Places<'_>| {
            let modes = before.zip(after).map(|(before, after)| (before.mode, after.mode));
            let changed = modes.filter(|(before, after)| before != after);
            changed.map_or(Ok(None), |(_, after)| Ok::<_, io::Error>(Some(places.mode(path)? == Some(after))))
        };
        let is_blocked = match places.look(&switch)? {
            Switched::Done => false,
            // The log restores the text, and the keeper the mode bits.
            Switched::LeftAlone if !is_unlogged && undo.logged.contains(path) => keeps_mode(&mut places)? != Some(true),
            Switched::LeftAlone
                if is_unlogged
                    && !undo.restores_deleted
                    && !record.is_changed_later(&commands, path)
                    && can_take_back(files, path, (before, after), &mut |blob| read(blob).ok().flatten()) =>
            {
                false
            }
            Switched::LeftAlone => !is_left_by_edits(record, &commands, path, undo),
            Switched::Before if record.is_changed_later(&commands, path) => true,
            // The contents are the same. The mode bits may differ.
            Switched::Before if keeps_mode(&mut places)? == Some(true) => false,
            Switched::Before => continue,
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
        let text = match before.map(|before| &before.content) {
            Some(Content::File { blob: Some(blob), is_text: true }) if is_unlogged && undo.logged.contains(path) => {
                // A content that is damaged is named by the undo.
                read(blob).ok().flatten().and_then(|content| Some(decode(&content).ok()?.to_owned()))
            }
            _ => None,
        };
        let (before, after) = (before.map(state), after.map(state));
        if before_last.is_some() && !is_blocked {
            let (path, before, after, text) = (names::shown(path), oldest.map(state), before.clone(), None);
            older.push(KeptPreview { path, before, after, is_blocked: true, is_unlogged, text });
        }
        previews.push(KeptPreview { path: names::shown(path), before, after, is_blocked, is_unlogged, text });
    }
    for (path, (states, is_blocked)) in repositories {
        let directory = || Some(KeptState { kind: KeptStateKind::Directory, mode: 0o755 });
        let (before, after) = states.unwrap_or_else(|| (directory(), directory()));
        previews.push(KeptPreview { path, before, after, is_blocked, is_unlogged: true, text: None });
    }
    previews.sort_by(|a, b| a.path.cmp(&b.path));
    let is_undone_by_log = |path: &FilePath| {
        undo.restores_deleted && undo.logged.contains(path) && files.read(path).is_ok_and(|now| !is_binary(&now))
    };
    let goes = |path: &FilePath| undo.logged.contains(path) || is_made(record, &commands, path);
    block_filled(files, &mut previews, &goes, &is_undone_by_log);
    block_below_others(files, &mut previews);
    previews.append(&mut older);
    previews.sort_by(|a, b| (&a.path, a.is_blocked).cmp(&(&b.path, b.is_blocked)));
    Ok(previews)
}

/// Returns whether the undo of edits leaves the text that the last command before them had put there.
fn is_left_by_edits(record: &Record, commands: &[usize], path: &FilePath, undo: &KeptUndo) -> bool {
    undo.bases.get(path).zip(undo.first_edits.get(path)).is_some_and(|(base, first)| {
        let recorded = commands.iter().filter_map(|&number| record.commands.get(number));
        let mut before = recorded.filter(|recorded| (recorded.run, recorded.at_ms) < *first);
        let last = before.find_map(|recorded| recorded.change_of(path));
        match last.and_then(|change| change.after.as_ref()).map(|after| &after.content) {
            Some(Content::File { blob: Some(blob), .. }) => blob.hash == ContentHash::of(base.as_bytes()),
            _ => false,
        }
    })
}

/// Returns whether the first of these commands that changed a path has made it.
fn is_made(record: &Record, commands: &[usize], path: &FilePath) -> bool {
    let recorded = commands.iter().rev().filter_map(|&number| record.commands.get(number));
    let mut changes = recorded.filter_map(|recorded| recorded.change_of(path));
    changes.next().is_some_and(|change| change.before.is_none())
}

/// Blocks the directories that stay, because something is in them that does not go.
fn block_filled(
    files: &RootFiles,
    previews: &mut [KeptPreview],
    goes: &dyn Fn(&FilePath) -> bool,
    is_undone_by_log: &dyn Fn(&FilePath) -> bool,
) {
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
        if change.is_blocked && !is_undone_by_log(&change.path) {
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
