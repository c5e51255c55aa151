//! Telling the model about the user's decisions.
//!
//! Without it, the model takes a rejected edit for a part of the file, and repeats or builds on it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use emend_edit::line_log::{ChangeId, LineLog, LoggedChange, Origin, Status};

use super::state::Workspace;

/// Maximum number of lines of rejected edits that are quoted for one file.
const QUOTED_LINES_MAX: usize = 20;

/// Maximum length of the text in bytes. Further files are only named.
const TEXT_BYTES_MAX: usize = 4_000;

/// The net effect of the user's steps in one file.
#[derive(Default)]
struct Decisions {
    accepted: usize,
    rejected: Vec<ChangeId>,
    reopened: usize,
    /// Number of lines that the user added and removed.
    edited: (usize, usize),
}

impl Workspace {
    /// Returns the user's decisions and edits since a [`revision`](Self::revision), as a text for the model; `None` if
    /// there are none.
    ///
    /// The text names the net effect: a decision that was undone is not in it. The first lines of rejected edits are
    /// quoted, because they are no longer in the files.
    #[must_use]
    pub fn decisions_since(&self, revision: u64) -> Option<String> {
        self.told(revision, None)
    }

    /// As [`decisions_since`](Self::decisions_since), about edits of these runs and the user's lines in the files of them.
    #[must_use]
    pub fn decisions_on_runs_since(&self, revision: u64, runs: &[u64]) -> Option<String> {
        self.told(revision, Some(&super::review::run_names(runs)))
    }

    fn told(&self, revision: u64, runs: Option<&[String]>) -> Option<String> {
        let state = self.state();
        let mut text = String::new();
        for (path, entry) in state.files.iter().filter(|(_, entry)| entry.changed_at > revision) {
            let known = entry.marks.iter().rev().find(|(at, _)| *at <= revision);
            let decisions = Decisions::since(&entry.log, known.map_or(0, |(_, n_entries)| *n_entries), runs);
            let Some(line) = decisions.line() else { continue };
            let _ = writeln!(text, "{path}: {line}");
            if text.len() < TEXT_BYTES_MAX {
                quote(&mut text, &entry.log, &decisions.rejected);
            }
        }
        let head = "Since your last edit, the user reviewed your edits. Rejected edits are not in the files; do not repeat \
                    them unless the user asks for it.";
        (!text.is_empty()).then(|| format!("{head}\n{text}"))
    }
}

impl Decisions {
    fn since(log: &LineLog, n_entries: usize, runs: Option<&[String]>) -> Self {
        let is_meant = |change: &LoggedChange| {
            change.origin != Origin::Agent || runs.is_none_or(|runs| runs.contains(&change.meta.run))
        };
        let is_edited = log.changes().any(|change| change.origin == Origin::Agent && is_meant(&change));
        let mut decisions = Self::default();
        if !is_edited && runs.is_some() {
            return decisions;
        }
        let mut before: BTreeMap<ChangeId, Status> = BTreeMap::new();
        for entry in log.entries().iter().skip(n_entries).filter(|entry| entry.by != Origin::Agent) {
            for set in &entry.set {
                before.entry(set.change).or_insert(set.from);
            }
        }
        for (id, before) in before {
            // A change that was split has the parts' statuses.
            let parts = log.changes_of(&emend_edit::line_log::HunkId::of(&[id])).unwrap_or_default();
            let changes = parts.into_iter().filter_map(|id| log.change(id));
            for change in changes.filter(|change| change.status != before && is_meant(change)) {
                match (change.origin, change.status) {
                    (Origin::Agent, Status::Accepted) => decisions.accepted += 1,
                    (Origin::Agent, Status::Pending) => decisions.reopened += 1,
                    (Origin::Agent, _) => decisions.rejected.push(change.id),
                    (Origin::User, status) if status.is_on() => {
                        decisions.edited.0 += change.inserted_lines;
                        decisions.edited.1 += change.deleted_lines;
                    }
                    _ => {}
                }
            }
        }
        decisions
    }

    fn line(&self) -> Option<String> {
        let of_edits = |n: usize| if n == 1 { "1 edit".to_owned() } else { format!("{n} edits") };
        let mut parts = Vec::new();
        for (verb, n) in [("accepted", self.accepted), ("rejected", self.rejected.len()), ("reopened", self.reopened)] {
            if n > 0 {
                parts.push(format!("{verb} {}", of_edits(n)));
            }
        }
        if self.edited != (0, 0) {
            parts.push(format!("edited lines by hand (+{} -{}), read the file again", self.edited.0, self.edited.1));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// Quotes the first lines of rejected changes.
fn quote(text: &mut String, log: &LineLog, rejected: &[ChangeId]) {
    let mut n_left = QUOTED_LINES_MAX;
    for &id in rejected {
        let (removed, added) = log.lines_of_change(id);
        let marked = removed.iter().map(|line| ('-', line)).chain(added.iter().map(|line| ('+', line)));
        for (mark, line) in marked {
            if n_left == 0 {
                text.push_str("  …\n");
                return;
            }
            n_left -= 1;
            let _ = writeln!(text, "  {mark}{}", line.trim_end_matches(['\r', '\n']));
        }
    }
}
