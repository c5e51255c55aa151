//! Undo of a command's lines in a text that the user has edited since, where no line log holds the change.
//!
//! A line log is made for the moment: from the text before the command to the one after it, and from there to the present
//! text. It then takes the lines of the command back, as the log of a command that ended normally does.

use std::collections::BTreeSet;
use std::io;

use cap_std::fs::MetadataExt as _;
use emend_agent::environment::FilePath;
use emend_edit::line_log::{ChangeId, ChangeMeta, DependentsPolicy, LineLog, Origin};
use emend_edit::text::decode;

use super::aside::Aside;
use super::node::{Blob, Change, Content, Node};
use super::pack::Pack;
use super::record::State;
use super::restore::{Places, Switch, Switched, partly, restore};
use super::scan::entry_at;
use crate::files::{RootFiles, on_disk};

/// Returns the present text without the lines that led from `before` to `after`; `None` if the user has changed these lines,
/// or nothing else.
pub(super) fn without_change(before: &str, after: &str, now: &str) -> Option<String> {
    let mut log = LineLog::new(Some(before));
    log.found_on_disk(Origin::Agent, Some(after), ChangeMeta::default());
    log.found_on_disk(Origin::External, Some(now), ChangeMeta::default());
    if log.visible_text().as_deref() != Some(now) {
        return None;
    }
    let is_commands = |origin| origin == Origin::Agent;
    let ids: BTreeSet<ChangeId> =
        log.changes().filter(|change| is_commands(change.origin)).map(|change| change.id).collect();
    let overwrites = log.changes().any(|change| {
        !is_commands(change.origin) && change.deleted_lines > 0 && change.deps.iter().any(|id| ids.contains(id))
    });
    if overwrites {
        return None;
    }
    let ids: Vec<ChangeId> = ids.into_iter().collect();
    log.rollback(&ids, DependentsPolicy::OnlyThese, Origin::User, 0).ok()?;
    log.visible_text().filter(|text| text != now)
}

/// Reads a stored content; `None` if it is damaged.
type Read<'a> = &'a mut dyn FnMut(&Blob) -> Option<Vec<u8>>;

/// Returns the text of a state; `None` for anything else.
fn text_of(node: &Node, read: Read<'_>) -> Option<String> {
    match &node.content {
        Content::File { blob: Some(blob), is_text: true } => Some(decode(&read(blob)?).ok()?.to_owned()),
        _ => None,
    }
}

/// Returns the texts before and after a change of a text; `None` for any other change.
fn texts_of((before, after): (Option<&Node>, Option<&Node>), read: Read<'_>) -> Option<(String, String)> {
    let (before, after) = (text_of(before?, read)?, text_of(after?, read)?);
    (before != after).then_some((before, after))
}

/// Returns whether an undo can take the lines of a change back in a text that the user has edited since.
pub(super) fn can_take_back(
    files: &RootFiles,
    path: &FilePath,
    change: (Option<&Node>, Option<&Node>),
    read: Read<'_>,
) -> bool {
    let found = files.directory().symlink_metadata(on_disk(path));
    if !found.is_ok_and(|found| found.is_file() && found.nlink() <= 1) {
        return false;
    }
    let Some((before, after)) = texts_of(change, read) else { return false };
    let now = files.read(path).ok();
    now.is_some_and(|now| decode(&now).is_ok_and(|now| without_change(&before, &after, now).is_some()))
}

/// A change of a text that no line log holds, and the states at the start of its undo.
pub(super) struct Unlogged<'a> {
    pub(super) change: &'a Change,
    pub(super) begun: &'a [State],
}

impl Unlogged<'_> {
    /// Takes the lines of the change back in a text that the user has edited since. A killed process may have done this already.
    pub(super) fn take_back(
        &self,
        (files, aside): (&RootFiles, &Aside),
        pack: &mut Pack,
        state: (u64, u64),
    ) -> io::Result<Switched> {
        let path = &self.change.path;
        let nodes = (self.change.before.as_ref(), self.change.after.as_ref());
        let Some((before, after)) = texts_of(nodes, &mut |blob| pack.read(blob).ok()) else {
            return Ok(Switched::LeftAlone);
        };
        let Ok(Some(mut entry)) = entry_at(files, state, path, false) else { return Ok(Switched::LeftAlone) };
        pack.add_entry(files, &mut entry, None)?;
        let found = Node::from(&entry);
        let Some(now) = text_of(&found, &mut |blob| pack.read(blob).ok()).filter(|_| found.links <= 1) else {
            return Ok(Switched::LeftAlone);
        };
        let at_start = self.begun.iter().find(|(known, _)| known == path).and_then(|(_, node)| node.as_ref());
        let at_start = at_start.and_then(|node| text_of(node, &mut |blob| pack.read(blob).ok()));
        let by_killed = at_start.filter(|text| *text != now).and_then(|text| without_change(&before, &after, &text));
        if by_killed.is_some_and(|text| text == now) {
            return Ok(Switched::Before);
        }
        let Some(merged) = without_change(&before, &after, &now) else { return Ok(Switched::LeftAlone) };
        let Some(blob) = pack.add(merged.as_bytes())? else { return Ok(Switched::LeftAlone) };
        let mut to = Node::of_text(blob, &found);
        if let (Some(before), Some(after)) = nodes
            && found.mode == after.mode
        {
            to.mode = before.mode;
        }
        let switch = [Switch { path, from: Some(&found), to: Some(&to) }];
        let done = restore(Places::of(files, aside), pack, &switch).map_err(|error| partly(&error, "undo"))?;
        Ok(done.first().copied().unwrap_or(Switched::LeftAlone))
    }
}
