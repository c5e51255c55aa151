//! Random histories: steps that agent, user, disk and reviewer may take, and how a log takes them.

use proptest::collection::vec;
use proptest::prelude::*;

use super::meta;
use crate::line_log::{ChangeId, DependentsPolicy, Hunk, HunkQuery, LineLog, Origin, Status};
use crate::text::{split_eol, split_lines};

/// One splice of a text. Positions are taken modulo the number of lines.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    at: u8,
    n_deleted: u8,
    inserted: Vec<String>,
}

/// One step of the history of a file.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A local edit, possibly in several places.
    Edit {
        origin: Origin,
        spots: Vec<Spot>,
        bare_end: bool,
    },
    /// A rewritten text: some of its lines, in any order, among new ones.
    Rewrite {
        origin: Origin,
        picks: Vec<(Option<u8>, String)>,
        bare_end: bool,
    },
    Decide {
        pick: u8,
        n: u8,
        to: Decision,
    },
    Undo {
        by: Origin,
    },
    Redo {
        by: Origin,
    },
    Save,
    External {
        spots: Vec<Spot>,
        bare_end: bool,
    },
    DeleteFile {
        origin: Origin,
    },
    Rename {
        origin: Origin,
        to: u8,
    },
    Split {
        pick: u8,
        line: u8,
    },
    SplitHunk {
        pick: u8,
        line: u8,
    },
    SplitLines {
        pick: u8,
        lines: Vec<usize>,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Decision {
    Accept,
    Reject(DependentsPolicy),
    RollBack(DependentsPolicy),
    Reopen,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// The written text, and the changes that the log recorded.
    Wrote {
        text: String,
        ids: Vec<ChangeId>,
        is_rewrite: bool,
    },
    Other,
}

pub(super) fn line() -> impl Strategy<Value = String> {
    let content = prop_oneof![2 => Just(""), 4 => Just("a"), 4 => Just("b"), 3 => Just("c"), 1 => Just("d.")];
    let eol = prop_oneof![8 => Just("\n"), 3 => Just("\r\n"), 1 => Just("\r")];
    (content, eol).prop_map(|(content, eol)| format!("{content}{eol}"))
}

/// Returns a text, or `None` for no file.
pub(super) fn base() -> impl Strategy<Value = Option<String>> {
    let text = (vec(line(), 0..10), prop::bool::weighted(0.4)).prop_map(|(lines, bare_end)| text_of(&lines, bare_end));
    prop_oneof![1 => Just(None), 9 => text.prop_map(Some)]
}

fn author() -> impl Strategy<Value = Origin> {
    prop_oneof![3 => Just(Origin::Agent), 2 => Just(Origin::User)]
}

fn caller() -> impl Strategy<Value = Origin> {
    prop_oneof![1 => Just(Origin::Agent), 4 => Just(Origin::User)]
}

fn spots() -> impl Strategy<Value = Vec<Spot>> {
    let spot = (any::<u8>(), 0..4_u8, vec(line(), 0..4)).prop_map(|(at, n_deleted, inserted)| Spot {
        at,
        n_deleted,
        inserted,
    });
    vec(spot, 1..4)
}

fn decision() -> impl Strategy<Value = Decision> {
    let policy = prop_oneof![
        Just(DependentsPolicy::Refuse),
        Just(DependentsPolicy::OnlyThese),
        Just(DependentsPolicy::WithDependents)
    ];
    prop_oneof![
        3 => Just(Decision::Accept),
        3 => policy.clone().prop_map(Decision::Reject),
        1 => policy.prop_map(Decision::RollBack),
        1 => Just(Decision::Reopen),
    ]
}

pub(super) fn edit() -> impl Strategy<Value = Step> {
    let local = (author(), spots(), prop::bool::weighted(0.35)).prop_map(|(origin, spots, bare_end)| Step::Edit {
        origin,
        spots,
        bare_end,
    });
    let picks = vec((prop::option::weighted(0.7, any::<u8>()), line()), 0..10);
    let rewrite = (author(), picks, prop::bool::weighted(0.35)).prop_map(|(origin, picks, bare_end)| Step::Rewrite {
        origin,
        picks,
        bare_end,
    });
    prop_oneof![7 => local, 3 => rewrite]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let external = (spots(), any::<bool>()).prop_map(|(spots, bare_end)| Step::External { spots, bare_end });
    prop_oneof![
        10 => edit(),
        5 => (any::<u8>(), 1..4_u8, decision()).prop_map(|(pick, n, to)| Step::Decide { pick, n, to }),
        1 => caller().prop_map(|by| Step::Undo { by }),
        1 => caller().prop_map(|by| Step::Redo { by }),
        1 => Just(Step::Save),
        1 => external,
        1 => (author(), prop::bool::weighted(0.5)).prop_map(|(origin, delete)| match delete {
            true => Step::DeleteFile { origin },
            false => Step::Rename { origin, to: origin as u8 },
        }),
        1 => (any::<u8>(), 0..6_u8).prop_map(|(pick, line)| Step::Split { pick, line }),
        1 => (any::<u8>(), 0..10_u8).prop_map(|(pick, line)| Step::SplitHunk { pick, line }),
        1 => (any::<u8>(), vec(0..10_usize, 1..4)).prop_map(|(pick, lines)| Step::SplitLines { pick, lines }),
    ]
}

pub(super) fn history() -> impl Strategy<Value = (Option<String>, Vec<Step>)> {
    (base(), vec(step(), 1..12))
}

/// Plays a whole history.
pub(super) fn play(base: Option<&str>, steps: &[Step]) -> LineLog {
    let mut log = LineLog::new(base);
    steps.iter().for_each(|step| drop(take(&mut log, step)));
    log
}

/// Applies one step to a log.
pub(super) fn take(log: &mut LineLog, step: &Step) -> Outcome {
    match step {
        Step::Edit { origin, spots, bare_end } => {
            let text = splice(&log.visible_text().unwrap_or_default(), spots, *bare_end);
            let ids = write(log, *origin, &text);
            Outcome::Wrote { text, ids, is_rewrite: false }
        }
        Step::Rewrite { origin, picks, bare_end } => {
            let text = rewrite(&log.visible_text().unwrap_or_default(), picks, *bare_end);
            let ids = write(log, *origin, &text);
            Outcome::Wrote { text, ids, is_rewrite: true }
        }
        Step::External { spots, bare_end } => {
            let text = splice(&log.saved_text().unwrap_or_default(), spots, *bare_end);
            log.external(Some(&text), meta("disk"));
            Outcome::Other
        }
        other => {
            take_decision(log, other);
            Outcome::Other
        }
    }
}

fn take_decision(log: &mut LineLog, step: &Step) {
    match step {
        Step::Decide { pick, n, to } => {
            let ids: Vec<ChangeId> = log.changes().map(|change| change.id).collect();
            if !ids.is_empty() {
                let from = *pick as usize % ids.len();
                decide(log, &ids[from..ids.len().min(from + *n as usize)], *to);
            }
        }
        Step::Undo { by } => drop(log.undo(*by, 0)),
        Step::Redo { by } => drop(log.redo(*by, 0)),
        Step::Save => log.mark_saved(),
        Step::DeleteFile { origin } => drop(log.delete(*origin, meta("delete"), Status::Pending)),
        Step::Rename { origin, to } => {
            log.rename(*origin, meta("rename"), &format!("{to}.md"), Status::Pending);
        }
        Step::Split { pick, line } => {
            let ids: Vec<ChangeId> = log.changes().map(|change| change.id).collect();
            if !ids.is_empty() {
                log.split(ids[*pick as usize % ids.len()], *line as usize).unwrap();
            }
        }
        Step::SplitHunk { pick, line } => {
            if let Some(hunk) = picked_hunk(log, *pick) {
                log.split_hunk(&hunk.change_ids, *line as usize, 3, Origin::User, 0).unwrap();
            }
        }
        Step::SplitLines { pick, lines } => {
            if let Some(hunk) = picked_hunk(log, *pick) {
                log.split_lines(&hunk.change_ids, lines, 3).unwrap();
            }
        }
        _ => {}
    }
}

/// Returns a pending hunk of the agent with lines, if there is one.
fn picked_hunk(log: &LineLog, pick: u8) -> Option<Hunk> {
    let mut hunks = log.hunks(HunkQuery::default());
    hunks.retain(|hunk| !hunk.lines.is_empty());
    (!hunks.is_empty()).then(|| hunks.swap_remove(pick as usize % hunks.len()))
}

/// Makes a decision. A rejection because of dependents counts as no decision.
pub(super) fn decide(log: &mut LineLog, ids: &[ChangeId], to: Decision) {
    match to {
        Decision::Accept => drop(log.accept(ids, Origin::User, 0).unwrap()),
        Decision::Reject(policy) => drop(log.reject(ids, policy, Origin::User, 0)),
        Decision::RollBack(policy) => drop(log.rollback(ids, policy, Origin::User, 0)),
        Decision::Reopen => drop(log.reopen(ids, Origin::User, 0).unwrap()),
    }
}

/// Applies every other agent write directly, as in a terminal session.
fn write(log: &mut LineLog, origin: Origin, text: &str) -> Vec<ChangeId> {
    let status = if log.revision() % 5 == 4 { Status::Accepted } else { Status::Pending };
    log.write(origin, meta("write"), text, status)
}

fn splice(text: &str, spots: &[Spot], bare_end: bool) -> String {
    let mut lines: Vec<String> = split_lines(text).into_iter().map(str::to_owned).collect();
    for spot in spots {
        let at = spot.at as usize % (lines.len() + 1);
        let end = lines.len().min(at + spot.n_deleted as usize);
        lines.splice(at..end, spot.inserted.iter().cloned());
    }
    text_of(&lines, bare_end)
}

fn rewrite(text: &str, picks: &[(Option<u8>, String)], bare_end: bool) -> String {
    let old = split_lines(text);
    let pick = |(from, fresh): &(Option<u8>, String)| match from {
        Some(index) if !old.is_empty() => old[*index as usize % old.len()].to_owned(),
        _ => fresh.clone(),
    };
    text_of(&picks.iter().map(pick).collect::<Vec<_>>(), bare_end)
}

/// Joins lines, gives each but the last a line ending, and removes the last one's if asked.
fn text_of(lines: &[String], bare_end: bool) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let is_last = index + 1 == lines.len();
        let (content, eol) = split_eol(line);
        text.push_str(content);
        text.push_str(match (is_last, eol) {
            (true, _) if bare_end => "",
            (false, "") => "\n",
            _ => eol,
        });
    }
    text
}
