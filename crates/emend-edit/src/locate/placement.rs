//! Decides where hunks belong that are found by their lines: in file order, and only where no other placement is as
//! good.
//!
//! Hunks are first placed as early as possible. A second placement of all hunks exists exactly if some hunk can also
//! be placed later without passing the hunk after it. So two passes over the file decide whether the placement is
//! unique. [`crate::locate::hunk_error`] explains to the author why a placement failed.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::locate::leniency::{LENIENCIES, Leniency};
use crate::locate::line_table::LineTable;

/// The lines of a hunk that must be found in the file.
pub(crate) struct HunkPattern<'a> {
    /// Lines somewhere above the hunk, outermost first.
    pub(crate) anchors: Vec<&'a str>,
    /// The context and deleted lines; empty if the hunk only inserts.
    pub(crate) old: Vec<&'a str>,
    /// Number of empty context lines at the end of `old`. They may be the spacing of the patch itself, so they may be
    /// dropped.
    pub(crate) n_droppable: usize,
    /// Whether the last line must be the last line of the file.
    pub(crate) end_of_file: bool,
    /// Whether the hunk changes anything. A hunk that changes nothing may be placed anywhere.
    pub(crate) changes: bool,
    /// The line that the hunk states, from 0. It decides which of several places is meant.
    pub(crate) stated_line: Option<usize>,
}

/// The place of a hunk in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The first line, from 0.
    pub(crate) start: usize,
    /// Number of lines of the file it covers.
    pub(crate) len: usize,
    /// Number of lines at the end of `old` that were dropped.
    pub(crate) dropped: usize,
    /// How loosely its lines matched.
    pub(crate) matched: Leniency,
}

/// Why a hunk cannot be placed. Lines count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlacementError {
    /// A line named after `@@` is not in the file.
    AnchorNotFound { anchor: String },
    /// The lines are not in the file.
    NotFound,
    /// The lines are only found before the end of the hunk before, or above the anchor.
    OutOfOrder { start: usize },
    /// The hunk is marked as the end of the file, but the lines are found further up.
    NotAtEnd { start: usize },
    /// The lines are found in several places that are equally good.
    Ambiguous { starts: Vec<usize> },
    /// The hunk only inserts lines and has no context.
    NoContext,
}

/// The rules by which a patch format places its hunks.
#[derive(Clone, Copy)]
pub(crate) struct PlacementRules {
    /// The most lenient level.
    pub(crate) max_leniency: Leniency,
    /// Whether a hunk without old lines and anchors is placed at the end of the file.
    pub(crate) append_unanchored: bool,
}

/// Places all hunks of a file.
///
/// # Errors
/// Fails with the index (from 0) of the first hunk that cannot be placed, and the reason.
pub(crate) fn place_all(
    table: &LineTable<'_>,
    patterns: &[HunkPattern<'_>],
    rules: PlacementRules,
) -> Result<Vec<Placement>, (usize, PlacementError)> {
    let absent = RefCell::default();
    let finder = |hunk, cursor| Finder { table, hunk, rules, cursor, absent: &absent };
    let mut cursor = 0;
    let mut found = Vec::with_capacity(patterns.len());
    for (number, hunk) in patterns.iter().enumerate() {
        let finder = finder(hunk, cursor);
        let candidate = finder.first_candidate().map_err(|why| (number, why))?;
        if !candidate.appends_at_end {
            cursor = candidate.place.start + candidate.place.len;
        }
        found.push((finder, candidate));
    }
    let mut below: Option<&(Finder<'_>, Candidate)> = None;
    for (number, placed) in found.iter().enumerate().rev().filter(|(_, (_, candidate))| !candidate.appends_at_end) {
        let (finder, candidate) = placed;
        let n_lines = candidate.place.len;
        let limit = below.map_or(table.len(), |(_, candidate)| candidate.place.start);
        if finder.hunk.changes
            && !candidate.is_only
            && let Some(other) = finder.later_place(candidate, limit)
            && below.is_none_or(|(finder, candidate)| finder.still_belongs(candidate, other + n_lines))
        {
            return Err((number, PlacementError::Ambiguous { starts: finder.all_places(candidate) }));
        }
        below = Some(placed);
    }
    Ok(found.iter().map(|(_, candidate)| candidate.place).collect())
}

/// A placement and how it was found.
struct Candidate {
    place: Placement,
    /// The line of each anchor, and how loosely it matched.
    anchors: Vec<(usize, Leniency)>,
    /// Whether the hunk itself rules out any other place.
    is_only: bool,
    /// Whether it is at the end of the file without a search. Hunks after it may be placed before it.
    appends_at_end: bool,
}

struct Finder<'a> {
    table: &'a LineTable<'a>,
    hunk: &'a HunkPattern<'a>,
    rules: PlacementRules,
    /// The first line after the hunk before.
    cursor: usize,
    /// The lines from which on anchors are known to be absent. It keeps the search linear if many hunks name an anchor
    /// that is only further up.
    absent: &'a RefCell<HashMap<&'a str, usize>>,
}

impl Finder<'_> {
    /// Returns the first placement that is possible for the hunk.
    fn first_candidate(&self) -> Result<Candidate, PlacementError> {
        let anchors = self.anchors(self.cursor).or_else(|why| match self.hunk.old.is_empty() {
            // An anchor above an earlier hunk also holds for this hunk.
            false => self.anchors(0),
            true => Err(why),
        })?;
        let from = anchors.last().map_or(0, |&(line, _)| line + 1).max(self.cursor);
        let end = self.table.len();
        let candidate =
            |place, is_only, appends_at_end| Candidate { place, anchors: anchors.clone(), is_only, appends_at_end };
        if self.hunk.old.is_empty() {
            let place = |start| Placement { start, len: 0, dropped: 0, matched: Leniency::Exact };
            return match () {
                () if self.hunk.end_of_file => Ok(candidate(place(end), true, true)),
                () if !anchors.is_empty() => Ok(candidate(place(from), false, false)),
                () if self.rules.append_unanchored || end == 0 => Ok(candidate(place(end), true, true)),
                () => Err(PlacementError::NoContext),
            };
        }
        for dropped in 0..=self.hunk.n_droppable {
            let old = &self.hunk.old[..self.hunk.old.len() - dropped];
            let place = |start, matched| Placement { start, len: old.len(), dropped, matched };
            if old.is_empty() {
                return Ok(candidate(place(from, Leniency::Exact), true, false));
            }
            if let Some(start) = self.hunk.stated_line.filter(|&start| start >= from)
                && self.table.leniency_at(old, start) == Some(Leniency::Exact)
            {
                return Ok(candidate(place(start, Leniency::Exact), true, false));
            }
            let range = if self.hunk.end_of_file { end.saturating_sub(old.len()).max(from)..end } else { from..end };
            let hit =
                self.leniencies().find_map(|leniency| Some((self.table.find(old, leniency, range.clone())?, leniency)));
            if let Some((start, leniency)) = hit {
                return Ok(candidate(place(start, leniency), self.hunk.end_of_file, false));
            }
        }
        Err(self.why_not_found(from))
    }

    fn leniencies(&self) -> impl Iterator<Item = Leniency> + use<> {
        let max_leniency = self.rules.max_leniency;
        LENIENCIES.into_iter().take_while(move |&leniency| leniency <= max_leniency)
    }

    /// Finds each anchor below the one before it, the first at or below line `from`.
    fn anchors(&self, from: usize) -> Result<Vec<(usize, Leniency)>, PlacementError> {
        let mut from = from;
        let mut found = Vec::with_capacity(self.hunk.anchors.len());
        for &anchor in &self.hunk.anchors {
            let is_absent = self.absent.borrow().get(anchor).is_some_and(|&line| line <= from);
            let hit = |leniency| Some((self.table.find(&[anchor], leniency, from..self.table.len())?, leniency));
            let Some(hit) = self.leniencies().filter(|_| !is_absent).find_map(hit) else {
                self.absent.borrow_mut().entry(anchor).or_insert(from);
                return Err(PlacementError::AnchorNotFound { anchor: anchor.to_owned() });
            };
            from = hit.0 + 1;
            found.push(hit);
        }
        Ok(found)
    }

    fn why_not_found(&self, from: usize) -> PlacementError {
        let old = &self.hunk.old;
        let anywhere = |range: std::ops::Range<usize>| {
            self.leniencies().find_map(|leniency| self.table.find(old, leniency, range.clone()))
        };
        match anywhere(0..self.table.len()) {
            Some(start) if start < from => PlacementError::OutOfOrder { start },
            Some(start) if self.hunk.end_of_file => PlacementError::NotAtEnd { start },
            _ => PlacementError::NotFound,
        }
    }

    /// Returns whether the hunk is the first one below its anchor, and the anchor is not above an earlier hunk.
    ///
    /// Only then is the nearest match the intended one.
    fn is_below_anchor(&self, candidate: &Candidate) -> bool {
        candidate.anchors.first().is_some_and(|&(line, _)| line >= self.cursor)
    }

    /// Returns a place as good as `candidate` that starts later and ends by line `limit`.
    fn later_place(&self, candidate: &Candidate, limit: usize) -> Option<usize> {
        let Placement { start, len, matched, .. } = candidate.place;
        let old = &self.hunk.old[..len];
        if !self.is_below_anchor(candidate) {
            return self.table.find(old, matched, start + 1..limit);
        }
        // The last known line of each anchor. Until the search passes that line, searching again would find the same
        // one.
        let mut seen: Vec<usize> = candidate.anchors.iter().map(|&(line, _)| line).collect();
        let mut from = seen[0] + 1;
        loop {
            for (index, &(_, leniency)) in candidate.anchors.iter().enumerate() {
                if index == 0 || from > seen[index] {
                    seen[index] = self.table.find(&[self.hunk.anchors[index]], leniency, from..limit)?;
                }
                from = seen[index] + 1;
            }
            let below = from.max(self.cursor);
            let other = match () {
                () if old.is_empty() => below,
                () if below <= start => start,
                () => self.table.find(old, matched, below..limit)?,
            };
            if other != start {
                return Some(other);
            }
            // Every first anchor above the second one that was found leads to the same place.
            from = seen.get(1).copied().unwrap_or(start).max(seen[0] + 1);
        }
    }

    /// Returns whether the hunk would still belong at `candidate` if the hunk above it ended before line `end`.
    fn still_belongs(&self, candidate: &Candidate, end: usize) -> bool {
        if !self.is_below_anchor(candidate) {
            return true;
        }
        // The lowest anchors that lead to the same place.
        let mut lowest = candidate.place.start;
        for (&anchor, &(line, leniency)) in self.hunk.anchors.iter().zip(&candidate.anchors).rev() {
            lowest = self.table.matches(&[anchor], leniency, line..lowest).last().unwrap_or(line);
        }
        // Without an anchor further down, they hold for this hunk even if the hunk above covers them.
        end <= lowest || (!self.hunk.old.is_empty() && self.anchors(lowest + 1).is_err())
    }

    /// Returns every place as good as `candidate`, whether or not the other hunks leave room for it.
    fn all_places(&self, candidate: &Candidate) -> Vec<usize> {
        let Placement { len, matched, .. } = candidate.place;
        match candidate.anchors.last() {
            Some(&(_, leniency)) if len == 0 => {
                let anchor = self.hunk.anchors[candidate.anchors.len() - 1];
                self.table.matches(&[anchor], leniency, 0..self.table.len()).map(|line| line + 1).collect()
            }
            _ => self.table.matches(&self.hunk.old[..len], matched, 0..self.table.len()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::cases;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const RULES: PlacementRules =
        PlacementRules { max_leniency: Leniency::UnicodeConfusables, append_unanchored: true };

    fn patterns<'a>(anchors: &'a [String], old: &'a [String]) -> HunkPattern<'a> {
        HunkPattern {
            anchors: anchors.iter().map(String::as_str).collect(),
            old: old.iter().map(String::as_str).collect(),
            n_droppable: 0,
            end_of_file: false,
            changes: true,
            stated_line: None,
        }
    }

    /// Returns every place that the hunk can have below line `cursor`: for each line that its first anchor can match,
    /// the first place below the anchors that follow. If `lenient` and no anchor is below `cursor`, returns every
    /// place below an anchor above it.
    fn candidates(file: &[&str], hunk: &HunkPattern<'_>, cursor: usize, lenient: bool) -> Vec<usize> {
        let find = |pattern: &[&str], from: usize| {
            (from..(file.len() + 1).saturating_sub(pattern.len())).find(|&at| file[at..].starts_with(pattern))
        };
        let all_from = |from: usize| (from..=file.len()).filter(|&at| file[at..].starts_with(&hunk.old)).collect();
        if hunk.anchors.is_empty() {
            return all_from(cursor);
        }
        let below_anchors = |first: usize| {
            let mut below = first + 1;
            for anchor in &hunk.anchors[1..] {
                below = find(&[anchor], below)? + 1;
            }
            Some(below)
        };
        let chains =
            |from: usize| (from..file.len()).filter(|&first| file[first] == hunk.anchors[0]).filter_map(below_anchors);
        if chains(cursor).next().is_none() && lenient && !hunk.old.is_empty() {
            return chains(0).next().map_or(Vec::new(), |below| all_from(below.max(cursor)));
        }
        let place = |below| if hunk.old.is_empty() { Some(below) } else { find(&hunk.old, below) };
        let mut places: Vec<usize> = chains(cursor).filter_map(place).collect();
        places.dedup();
        places
    }

    /// Returns every way to place all hunks in order.
    fn placements(file: &[&str], hunks: &[HunkPattern<'_>], cursor: usize, lenient: bool) -> Vec<Vec<usize>> {
        let Some((hunk, rest)) = hunks.split_first() else { return vec![Vec::new()] };
        let with = |place: usize| {
            let others = placements(file, rest, place + hunk.old.len(), lenient);
            others.into_iter().map(move |others| std::iter::once(place).chain(others).collect())
        };
        candidates(file, hunk, cursor, lenient).into_iter().flat_map(with).collect()
    }

    proptest! {
        #![proptest_config(cases(20_000))]

        #[test]
        fn only_a_unique_placement_is_accepted(
            lines in "[abc]{0,10}",
            hunks in vec(("[abc]{0,2}", "[abc]{0,3}"), 1..4),
        ) {
            let of = |text: &str| text.chars().map(String::from).collect::<Vec<String>>();
            let text: String = lines.chars().map(|c| format!("{c}\n")).collect();
            let hunks: Vec<(Vec<String>, Vec<String>)> = hunks
                .iter()
                .map(|(anchors, old)| (of(anchors), of(old)))
                .filter(|(anchors, old)| !anchors.is_empty() || !old.is_empty())
                .collect();
            let patterns: Vec<HunkPattern<'_>> = hunks.iter().map(|(anchors, old)| patterns(anchors, old)).collect();
            let table = LineTable::new(&text);
            let file: Vec<&str> = table.contents().collect();
            let (strict, lenient) = (placements(&file, &patterns, 0, false), placements(&file, &patterns, 0, true));
            let actual = place_all(&table, &patterns, RULES);
            let is_ambiguous = matches!(actual, Err((_, PlacementError::Ambiguous { .. })));
            let starts = actual.map(|places| places.iter().map(|place| place.start).collect::<Vec<_>>());
            match (strict.as_slice(), lenient.as_slice()) {
                ([], []) => prop_assert!(starts.is_err() && !is_ambiguous),
                ([_], [only]) => prop_assert_eq!(starts, Ok(only.clone())),
                // The lenient placement may be rejected, but the search never picks one of several.
                ([], [only]) => prop_assert!(starts.is_err() || starts == Ok(only.clone())),
                ([], _) => prop_assert!(starts.is_err()),
                ([only], _) => prop_assert!(is_ambiguous || starts == Ok(only.clone())),
                _ => prop_assert!(is_ambiguous, "{:?} {:?} {:?}", starts, strict, lenient),
            }
        }
    }

    #[test]
    fn a_stated_line_decides_which_place_is_meant() {
        let old = vec!["x".to_owned()];
        let table = LineTable::new("x\nx\nx\n");
        let at = |stated_line| HunkPattern { stated_line: Some(stated_line), ..patterns(&[], &old) };
        assert_eq!(place_all(&table, &[at(1)], RULES).unwrap()[0].start, 1);
        assert!(matches!(place_all(&table, &[at(7)], RULES), Err((0, PlacementError::Ambiguous { .. }))));
        // The only line left for the first hunk is the one above the stated_line line.
        let places = place_all(&table, &[patterns(&[], &old), at(1)], RULES).unwrap();
        assert_eq!([places[0].start, places[1].start], [0, 1]);
    }
}
