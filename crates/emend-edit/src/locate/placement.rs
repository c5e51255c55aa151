//! Decides where hunks that find their own place belong: in file order, and only where no other place is as good.
//!
//! Hunks are first placed as early as possible. A second placement of all hunks exists exactly if some hunk can also
//! stand later without passing the hunk after it, so two passes over the file settle whether the places are the only
//! ones. What is said to the author when they are not is left to [`crate::mismatch`].

use std::cell::RefCell;
use std::collections::HashMap;

use crate::locate::leniency::{LENIENCIES, Leniency};
use crate::locate::line_table::LineTable;

/// What a hunk asks for.
pub(crate) struct HunkPattern<'a> {
    /// Lines that stand above the hunk, outermost first.
    pub(crate) anchors: Vec<&'a str>,
    /// The lines the hunk must find; none if it only inserts.
    pub(crate) old: Vec<&'a str>,
    /// How many lines at the end of `old` are blank context, which may be the patch's own spacing.
    pub(crate) n_droppable: usize,
    /// Whether the last line must be the file's last.
    pub(crate) end_of_file: bool,
    /// Whether the hunk changes anything; if not, any place will do.
    pub(crate) changes: bool,
    /// The line the hunk says it starts at, from 0. It settles which of several places is meant.
    pub(crate) stated: Option<usize>,
}

/// Where a hunk belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The first line, from 0.
    pub(crate) start: usize,
    /// How many lines of the file it covers.
    pub(crate) len: usize,
    /// How many lines at the end of `old` were dropped.
    pub(crate) dropped: usize,
    /// How its lines were compared.
    pub(crate) matched: Leniency,
}

/// Why a hunk has no place. Lines are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlacementError {
    /// A line named after `@@` is not there.
    AnchorAbsent { anchor: String },
    /// The lines are nowhere.
    Absent,
    /// The lines are there, but only before the end of the hunk before, or above the anchor.
    TooEarly { start: usize },
    /// The hunk ends the file, but the lines stand further up.
    NotAtEnd { start: usize },
    /// The lines stand in several places, none better than the others.
    Ambiguous { starts: Vec<usize> },
    /// The hunk only inserts and says nowhere in which place.
    Unanchored,
}

/// Which of the passes a format allows, and what it makes of a hunk that names no line.
#[derive(Clone, Copy)]
pub(crate) struct PlacementRules {
    /// The most forgiving pass.
    pub(crate) most: Leniency,
    /// Whether a hunk without old lines and anchors goes to the end of the file.
    pub(crate) append: bool,
}

/// Finds the places of all of a file's hunks, or the number (from 0) of the first hunk that has none.
pub(crate) fn place_all(
    table: &LineTable<'_>,
    wanted: &[HunkPattern<'_>],
    rules: PlacementRules,
) -> Result<Vec<Placement>, (usize, PlacementError)> {
    let absent = RefCell::default();
    let finder = |hunk, cursor| Finder { table, hunk, rules, cursor, absent: &absent };
    let mut cursor = 0;
    let mut found = Vec::with_capacity(wanted.len());
    for (number, hunk) in wanted.iter().enumerate() {
        let finder = finder(hunk, cursor);
        let spot = finder.first().map_err(|why| (number, why))?;
        if !spot.appends_at_end {
            cursor = spot.place.start + spot.place.len;
        }
        found.push((finder, spot));
    }
    let mut below: Option<&(Finder<'_>, Candidate)> = None;
    for (number, placed) in found.iter().enumerate().rev().filter(|(_, (_, spot))| !spot.appends_at_end) {
        let (finder, spot) = placed;
        let n_lines = spot.place.len;
        let limit = below.map_or(table.len(), |(_, spot)| spot.place.start);
        if finder.hunk.changes
            && !spot.settled
            && let Some(other) = finder.another(spot, limit)
            && below.is_none_or(|(finder, spot)| finder.still_belongs(spot, other + n_lines))
        {
            return Err((number, PlacementError::Ambiguous { starts: finder.all(spot) }));
        }
        below = Some(placed);
    }
    Ok(found.iter().map(|(_, spot)| spot.place).collect())
}

/// A place and how it was reached.
struct Candidate {
    place: Placement,
    /// Where each anchor was found, and under which pass.
    anchors: Vec<(usize, Leniency)>,
    /// Whether the hunk itself says that no other place will do.
    settled: bool,
    /// Whether it is at the end of the file without having been searched for; hunks after it may stand before it.
    appends_at_end: bool,
}

struct Finder<'a> {
    table: &'a LineTable<'a>,
    hunk: &'a HunkPattern<'a>,
    rules: PlacementRules,
    /// The first line after the hunk before.
    cursor: usize,
    /// From which line on an anchor is known to be absent, so that many hunks can name one that is further up.
    absent: &'a RefCell<HashMap<&'a str, usize>>,
}

impl Finder<'_> {
    /// Returns the first place that the hunk can have.
    fn first(&self) -> Result<Candidate, PlacementError> {
        let anchors = self.anchors(self.cursor).or_else(|why| match self.hunk.old.is_empty() {
            // An anchor that an earlier hunk lies below already still holds for this one.
            false => self.anchors(0),
            true => Err(why),
        })?;
        let from = anchors.last().map_or(0, |&(line, _)| line + 1).max(self.cursor);
        let end = self.table.len();
        let spot =
            |place, settled, appends_at_end| Candidate { place, anchors: anchors.clone(), settled, appends_at_end };
        if self.hunk.old.is_empty() {
            let place = |start| Placement { start, len: 0, dropped: 0, matched: Leniency::Exact };
            return match () {
                () if self.hunk.end_of_file => Ok(spot(place(end), true, true)),
                () if !anchors.is_empty() => Ok(spot(place(from), false, false)),
                () if self.rules.append || end == 0 => Ok(spot(place(end), true, true)),
                () => Err(PlacementError::Unanchored),
            };
        }
        for dropped in 0..=self.hunk.n_droppable {
            let old = &self.hunk.old[..self.hunk.old.len() - dropped];
            let place = |start, matched| Placement { start, len: old.len(), dropped, matched };
            if old.is_empty() {
                return Ok(spot(place(from, Leniency::Exact), true, false));
            }
            if let Some(start) = self.hunk.stated.filter(|&start| start >= from)
                && self.table.leniency_at(old, start) == Some(Leniency::Exact)
            {
                return Ok(spot(place(start, Leniency::Exact), true, false));
            }
            let range = if self.hunk.end_of_file { end.saturating_sub(old.len()).max(from)..end } else { from..end };
            let hit = self.passes().find_map(|pass| Some((self.table.find(old, pass, range.clone())?, pass)));
            if let Some((start, pass)) = hit {
                return Ok(spot(place(start, pass), self.hunk.end_of_file, false));
            }
        }
        Err(self.why_absent(from))
    }

    fn passes(&self) -> impl Iterator<Item = Leniency> + use<> {
        let most = self.rules.most;
        LENIENCIES.into_iter().take_while(move |&pass| pass <= most)
    }

    /// Finds each anchor below the one before, the first at or below line `from`.
    fn anchors(&self, from: usize) -> Result<Vec<(usize, Leniency)>, PlacementError> {
        let mut from = from;
        let mut found = Vec::with_capacity(self.hunk.anchors.len());
        for &anchor in &self.hunk.anchors {
            let is_absent = self.absent.borrow().get(anchor).is_some_and(|&line| line <= from);
            let hit = |pass| Some((self.table.find(&[anchor], pass, from..self.table.len())?, pass));
            let Some(hit) = self.passes().filter(|_| !is_absent).find_map(hit) else {
                self.absent.borrow_mut().entry(anchor).or_insert(from);
                return Err(PlacementError::AnchorAbsent { anchor: anchor.to_owned() });
            };
            from = hit.0 + 1;
            found.push(hit);
        }
        Ok(found)
    }

    fn why_absent(&self, from: usize) -> PlacementError {
        let old = &self.hunk.old;
        let anywhere =
            |range: std::ops::Range<usize>| self.passes().find_map(|pass| self.table.find(old, pass, range.clone()));
        match anywhere(0..self.table.len()) {
            Some(start) if start < from => PlacementError::TooEarly { start },
            Some(start) if self.hunk.end_of_file => PlacementError::NotAtEnd { start },
            _ => PlacementError::Absent,
        }
    }

    /// Returns whether the hunk is the first below its anchor, and not below hunks that are themselves below it.
    ///
    /// Only then is the nearest match the one that is meant.
    fn is_below_anchor(&self, spot: &Candidate) -> bool {
        spot.anchors.first().is_some_and(|&(line, _)| line >= self.cursor)
    }

    /// Returns a place as good as `spot` that starts later and ends by line `limit`.
    fn another(&self, spot: &Candidate, limit: usize) -> Option<usize> {
        let Placement { start, len, matched, .. } = spot.place;
        let old = &self.hunk.old[..len];
        if !self.is_below_anchor(spot) {
            return self.table.find(old, matched, start + 1..limit);
        }
        // Where each anchor was last seen; searching from below that gives the same line until it is passed.
        let mut seen: Vec<usize> = spot.anchors.iter().map(|&(line, _)| line).collect();
        let mut from = seen[0] + 1;
        loop {
            for (index, &(_, pass)) in spot.anchors.iter().enumerate() {
                if index == 0 || from > seen[index] {
                    seen[index] = self.table.find(&[self.hunk.anchors[index]], pass, from..limit)?;
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
            // Any first anchor above the second one found leads to the same place.
            from = seen.get(1).copied().unwrap_or(start).max(seen[0] + 1);
        }
    }

    /// Returns whether the hunk would still belong at `spot` if the hunk above it ended before line `end`.
    fn still_belongs(&self, spot: &Candidate, end: usize) -> bool {
        if !self.is_below_anchor(spot) {
            return true;
        }
        // The lowest anchors that lead to the same place.
        let mut lowest = spot.place.start;
        for (&anchor, &(line, pass)) in self.hunk.anchors.iter().zip(&spot.anchors).rev() {
            lowest = self.table.matches(&[anchor], pass, line..lowest).last().unwrap_or(line);
        }
        // Without any further down, they hold for this hunk even if the one above covers them.
        end <= lowest || (!self.hunk.old.is_empty() && self.anchors(lowest + 1).is_err())
    }

    /// Returns every place as good as `spot`, whether or not the other hunks leave room for it.
    fn all(&self, spot: &Candidate) -> Vec<usize> {
        let Placement { len, matched, .. } = spot.place;
        match spot.anchors.last() {
            Some(&(_, pass)) if len == 0 => {
                let anchor = self.hunk.anchors[spot.anchors.len() - 1];
                self.table.matches(&[anchor], pass, 0..self.table.len()).map(|line| line + 1).collect()
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

    const RULES: PlacementRules = PlacementRules { most: Leniency::UnicodeConfusables, append: true };

    fn wanted<'a>(anchors: &'a [String], old: &'a [String]) -> HunkPattern<'a> {
        HunkPattern {
            anchors: anchors.iter().map(String::as_str).collect(),
            old: old.iter().map(String::as_str).collect(),
            n_droppable: 0,
            end_of_file: false,
            changes: true,
            stated: None,
        }
    }

    /// Every place that the hunk can have below line `cursor`: for each line its first anchor can be, the first place
    /// below the anchors that follow. If `lenient`, and without an anchor below `cursor`, every place below one above.
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
        fn only_the_only_placement_is_accepted(
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
            let wanted: Vec<HunkPattern<'_>> = hunks.iter().map(|(anchors, old)| wanted(anchors, old)).collect();
            let table = LineTable::new(&text);
            let file: Vec<&str> = table.contents().collect();
            let (strict, lenient) = (placements(&file, &wanted, 0, false), placements(&file, &wanted, 0, true));
            let actual = place_all(&table, &wanted, RULES);
            let is_ambiguous = matches!(actual, Err((_, PlacementError::Ambiguous { .. })));
            let starts = actual.map(|places| places.iter().map(|place| place.start).collect::<Vec<_>>());
            match (strict.as_slice(), lenient.as_slice()) {
                ([], []) => prop_assert!(starts.is_err() && !is_ambiguous),
                ([_], [only]) => prop_assert_eq!(starts, Ok(only.clone())),
                // Leniency may be refused, but never picks among several ways.
                ([], [only]) => prop_assert!(starts.is_err() || starts == Ok(only.clone())),
                ([], _) => prop_assert!(starts.is_err()),
                ([only], _) => prop_assert!(is_ambiguous || starts == Ok(only.clone())),
                _ => prop_assert!(is_ambiguous, "{:?} {:?} {:?}", starts, strict, lenient),
            }
        }
    }

    #[test]
    fn a_stated_line_settles_what_is_meant() {
        let old = vec!["x".to_owned()];
        let table = LineTable::new("x\nx\nx\n");
        let at = |stated| HunkPattern { stated: Some(stated), ..wanted(&[], &old) };
        assert_eq!(place_all(&table, &[at(1)], RULES).unwrap()[0].start, 1);
        assert!(matches!(place_all(&table, &[at(7)], RULES), Err((0, PlacementError::Ambiguous { .. }))));
        // The first hunk has no room left but the line above the stated one.
        let places = place_all(&table, &[wanted(&[], &old), at(1)], RULES).unwrap();
        assert_eq!([places[0].start, places[1].start], [0, 1]);
    }
}
