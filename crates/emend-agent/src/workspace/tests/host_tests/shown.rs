//! The acceptance of a bundle writes the patches that the bundle shows, byte for byte, in random sessions.

use std::collections::BTreeMap;

use emend_edit::line_log::{Origin, Status};

use super::*;

/// Sessions of each test.
const SESSIONS: u64 = 400;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// Replaces some lines of a text by new ones, which no other edit has.
fn changed(dice: &mut Dice, text: &str, name: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let start = dice.below(lines.len() + 1);
    let end = (start + dice.below(3)).min(lines.len());
    let eol = if dice.below(4) == 0 { "\r\n" } else { "\n" };
    let new: Vec<String> = (0..dice.below(4)).map(|at| format!("{name}.{at}{eol}")).collect();
    if start > 0 && !new.is_empty() && !lines[start - 1].ends_with('\n') {
        lines[start - 1].push('\n');
    }
    lines.splice(start..end, new);
    let mut text = lines.concat();
    if dice.below(6) == 0 {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    text
}

/// A session with edits of several runs and of the user, and with decisions between them.
fn session(dice: &mut Dice, has_user: bool) -> World {
    let world = World::new(&format!("//- a.txt\n{TEN}"), Mode::Staged);
    for step in 0..3 + dice.below(6) {
        let text = world.visible("a.txt").unwrap_or_default();
        match dice.below(8) {
            0 => drop(world.workspace.begin_run()),
            1 if has_user => world.user("a.txt", &changed(dice, &text, &format!("user {step}"))),
            2 if !world.ids().is_empty() => {
                let id = world.ids().remove(dice.below(world.ids().len()));
                let decision = match dice.below(2) {
                    0 => HunkDecision::Accept,
                    _ => HunkDecision::Reject(DependentsPolicy::OnlyThese),
                };
                // A refused decision changes nothing.
                drop(block_on(world.workspace.decide(Selection::Hunks(vec![id]), decision)));
            }
            _ => drop(world.agent("a.txt", Some(&changed(dice, &text, &format!("agent {step}")))).unwrap()),
        }
    }
    world
}

/// Applies patches in file order, without a search for their places; `None` if they do not fit.
fn patched(base: &str, patches: &[&str]) -> Option<String> {
    let base: Vec<&str> = base.split_inclusive('\n').collect();
    let (mut text, mut at) = (String::new(), 0);
    for patch in patches {
        let (head, body) = patch.split_once('\n').unwrap();
        let (start, n_old) = head.split(['-', ' ']).nth(2).unwrap().split_once(',').unwrap();
        let start: usize = start.parse().unwrap();
        let mut line_at = if n_old == "0" { start } else { start - 1 };
        text.extend(base.get(at..line_at.max(at))?.iter().copied());
        at = at.max(line_at);
        let mut lines = body.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let is_cut = lines.next_if(|next| next.starts_with('\\')).is_some();
            let (mark, line) = line.split_at(1);
            let line = if is_cut { line.strip_suffix('\n').unwrap() } else { line };
            if mark == "+" {
                text += line;
                continue;
            }
            if *base.get(line_at)? != line {
                return None;
            }
            // The context of neighbours overlaps.
            if mark == " " && line_at >= at {
                text += line;
            } else if mark == "-" && line_at < at {
                return None;
            }
            line_at += 1;
            at = at.max(line_at);
        }
    }
    text.extend(base[at..].iter().copied());
    Some(text)
}

/// Returns the pending hunks of the only file: id and patch.
fn shown(bundle: &DiffBundle) -> Vec<(String, String)> {
    let hunks = bundle.files.iter().flat_map(|file| &file.hunks);
    let pending = hunks.filter(|hunk| hunk.origin == Origin::Agent && hunk.accepted.is_none());
    pending.map(|hunk| (hunk.hunk_id.clone(), hunk.patch.clone())).collect()
}

#[test]
fn accepting_all_that_a_bundle_shows_writes_its_patches() {
    let (mut n_compared, mut n_hunks, mut n_stale) = (0, 0, 0);
    for seed in 0..SESSIONS {
        let mut dice = Dice(seed);
        let world = session(&mut dice, false);
        let runs: Vec<u64> = world.workspace.runs_with_pending().into_iter().collect();
        let hunks = shown(&world.workspace.bundle(&runs));
        if hunks.is_empty() {
            continue;
        }
        let base = world.disk("a.txt").unwrap_or_default();
        let patches: Vec<&str> = hunks.iter().map(|(_, patch)| patch.as_str()).collect();
        // A run whose lines a later run has replaced has no hunk of its own, and the patch of the later one removes them.
        let Some(expected) = patched(&base, &patches) else {
            n_stale += 1;
            continue;
        };
        let ids: Vec<String> = hunks.iter().map(|(id, _)| id.clone()).collect();
        let applied = block_on(world.workspace.apply(&runs, &ids, &ApplyOptions::default()));
        assert!(applied.is_ok(), "seed {seed}: {applied:?}");
        assert_eq!(world.disk("a.txt"), Some(expected), "seed {seed}: {base:?} {hunks:#?}");
        (n_compared, n_hunks) = (n_compared + 1, n_hunks + hunks.len());
    }
    println!("{n_compared} bundles with {n_hunks} hunks, {n_stale} others with lines of replaced edits");
    assert!(n_compared > SESSIONS / 2 && n_stale < SESSIONS / 20);
}

#[test]
fn accepting_a_part_of_a_bundle_writes_the_patches_of_that_part() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..SESSIONS {
        let mut dice = Dice(seed);
        let world = session(&mut dice, true);
        let runs: Vec<u64> = world.workspace.runs_with_pending().into_iter().collect();
        let bundle = world.workspace.bundle(&runs);
        let hunks = shown(&bundle);
        let is_kept = bundle.files.iter().flat_map(|file| &file.hunks).any(|hunk| hunk.kept_by_user || hunk.contested);
        let wanted: Vec<String> = hunks.iter().filter(|_| dice.below(2) == 0).map(|(id, _)| id.clone()).collect();
        if wanted.is_empty() || is_kept {
            *counts.entry("without a comparison").or_default() += 1;
            continue;
        }
        let base = world.disk("a.txt").unwrap_or_default();
        if block_on(world.workspace.apply(&runs, &wanted, &ApplyOptions::default())).is_err() {
            assert_eq!(world.disk("a.txt").unwrap_or_default(), base, "seed {seed}");
            *counts.entry("refused").or_default() += 1;
            continue;
        }
        // Hunks that the wanted ones need are accepted, too: `Some(false)` if only a part of one is.
        let is_accepted = |id: &str| {
            let (path, changes) = world.workspace.changes_of(id).unwrap();
            let state = world.workspace.state();
            let log = &state.files[&path].log;
            let accepted = changes.iter().filter(|&&id| log.change(id).unwrap().status == Status::Accepted).count();
            (accepted > 0).then_some(accepted == changes.len())
        };
        let taken: Vec<(&str, Option<bool>)> =
            hunks.iter().map(|(id, patch)| (patch.as_str(), is_accepted(id))).collect();
        if taken.iter().any(|(_, whole)| *whole == Some(false)) {
            *counts.entry("a part of a needed hunk").or_default() += 1;
            continue;
        }
        let patches: Vec<&str> = taken.iter().filter(|(_, whole)| whole.is_some()).map(|(patch, _)| *patch).collect();
        let expected = patched(&base, &patches);
        assert_eq!(world.disk("a.txt"), expected, "seed {seed}: {base:?} {hunks:#?} {wanted:?}");
        *counts.entry("compared").or_default() += 1;
    }
    println!("{counts:?}");
    assert!(counts["compared"] > SESSIONS / 5, "{counts:?}");
}

#[test]
fn a_hunk_of_one_run_names_what_is_accepted_with_it() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..SESSIONS {
        let mut dice = Dice(seed);
        let world = session(&mut dice, false);
        let runs: Vec<u64> = world.workspace.runs_with_pending().into_iter().collect();
        let Some(run) = runs.get(dice.below(runs.len().max(1))) else { continue };
        let bundle = world.workspace.bundle(&[*run]);
        let hunks: Vec<_> = bundle.files[0].hunks.iter().filter(|hunk| hunk.accepted.is_none()).collect();
        let hunk = hunks[dice.below(hunks.len())];
        let changes = |id: &str| world.workspace.changes_of(id).unwrap().1;
        let pending = || world.workspace.state().files[&FilePath::clean("a.txt").unwrap()].log.pending();
        let own = changes(&hunk.hunk_id);
        let needed: Vec<_> = hunk.needs.iter().flat_map(|id| changes(id)).collect();
        let before = pending();
        let chosen = Selection::Hunks(vec![hunk.hunk_id.clone()]);
        block_on(world.workspace.decide(chosen, HunkDecision::Accept)).unwrap();
        let after = pending();
        let others: Vec<_> = before.iter().filter(|id| !after.contains(id) && !own.contains(id)).collect();
        assert!(others.iter().all(|id| needed.contains(id)), "seed {seed}: {others:?} {hunk:#?}");
        assert_eq!(others.is_empty(), hunk.needs.is_empty(), "seed {seed}: {hunk:#?}");
        *counts.entry(if others.is_empty() { "alone" } else { "with others" }).or_default() += 1;
    }
    println!("{counts:?}");
    assert!(counts["alone"] > 20 && counts["with others"] > 5, "{counts:?}");
}
