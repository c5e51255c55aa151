//! Shared by the tests of this crate: the number of cases of a property, and random edits with a known result.

use proptest::collection::vec;
use proptest::prelude::*;

/// The run has fewer cases of each property: in a browser, and where `cargo xtask mutants` builds the tests.
pub(crate) const FEW_CASES: bool = cfg!(target_family = "wasm") || option_env!("EMEND_FEW_CASES").is_some();

/// Returns the settings of a property test: `native` cases, or at most 200 with [`FEW_CASES`].
///
/// The seed is fixed, so that a failure on one machine is a failure on all.
pub(crate) fn cases(native: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if FEW_CASES { native.min(200) } else { native },
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x656d_656e_6400),
        ..ProptestConfig::default()
    }
}

/// A line of a text, and its part in an edit.
#[derive(Clone, Debug)]
pub(crate) struct ScriptLine {
    pub(crate) content: String,
    pub(crate) eol: &'static str,
    pub(crate) deleted: bool,
    /// The lines inserted before it.
    pub(crate) inserted: Vec<String>,
}

/// A text and an edit of it, line by line.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) bom: bool,
    pub(crate) lines: Vec<ScriptLine>,
    /// The lines inserted after the last line.
    pub(crate) appended: Vec<String>,
    /// Number of context lines that each hunk shows.
    pub(crate) n_context: usize,
}

/// One hunk of a script: its lines with their markers, and its start.
#[derive(Clone, Debug)]
pub(crate) struct ScriptHunk {
    /// The first line it covers, from 0.
    pub(crate) old_start: usize,
    /// Marker and content of each line, and the index of the old line, if it is one.
    pub(crate) lines: Vec<(char, String, Option<usize>)>,
}

impl Script {
    /// Returns the text before the edit.
    pub(crate) fn before(&self) -> String {
        let lines = self.lines.iter().flat_map(|line| [line.content.as_str(), line.eol]);
        std::iter::once(self.bom()).chain(lines).collect()
    }

    pub(crate) fn bom(&self) -> &'static str {
        if self.bom { "\u{feff}" } else { "" }
    }

    /// Returns the hunks of the edit with their context. Hunks that touch are joined.
    pub(crate) fn hunks(&self) -> Vec<ScriptHunk> {
        let n_lines = self.lines.len();
        let inserted = |index: usize| self.lines.get(index).map_or(&self.appended, |line| &line.inserted);
        let is_changed =
            |index: usize| !inserted(index).is_empty() || self.lines.get(index).is_some_and(|line| line.deleted);
        // The old lines that each change needs around it, with overlapping ranges merged.
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for index in (0..=n_lines).filter(|&index| is_changed(index)) {
            let deleted = self.lines.get(index).is_some_and(|line| line.deleted);
            let from = index.saturating_sub(self.n_context);
            let to = (index + usize::from(deleted) + self.n_context).min(n_lines);
            match ranges.last_mut() {
                Some(last) if from <= last.1 => last.1 = to.max(last.1),
                _ => ranges.push((from, to)),
            }
        }
        let hunk = |&(from, to): &(usize, usize)| {
            let mut lines = Vec::new();
            for index in from..=to {
                let is_inside = index < to || index == n_lines;
                lines.extend(inserted(index).iter().filter(|_| is_inside).map(|text| ('+', text.clone(), None)));
                if index < to {
                    let marker = if self.lines[index].deleted { '-' } else { ' ' };
                    lines.push((marker, self.lines[index].content.clone(), Some(index)));
                }
            }
            ScriptHunk { old_start: from, lines }
        };
        ranges.iter().map(hunk).collect()
    }
}

/// Returns scripts over few distinct lines, so that hunks repeat and compete. `eols` are the line endings to draw
/// from. The last line may have none.
pub(crate) fn scripts(eols: &'static [&'static str]) -> impl Strategy<Value = Script> {
    let content = prop_oneof![8 => "[ab]", 1 => "[a-c]{2}", 1 => Just(String::new()), 1 => "[ab] {1,2}", 1 => "\t[ab]"];
    let line = (content, any::<prop::sample::Index>(), prop::bool::weighted(0.15), inserted(0.15));
    let lines = vec(line, 0..16);
    (lines, inserted(0.2), 1..3_usize, any::<bool>(), prop::bool::weighted(0.1)).prop_map(
        move |(lines, appended, n_context, open_end, bom)| {
            let mut lines: Vec<ScriptLine> = lines
                .into_iter()
                .map(|(content, eol, deleted, inserted)| ScriptLine {
                    content,
                    eol: eols[eol.index(eols.len())],
                    deleted,
                    inserted,
                })
                .collect();
            // A last line needs content or a line ending.
            if let Some(last) = lines.last_mut().filter(|last| open_end && !last.content.is_empty()) {
                last.eol = "";
            }
            // An empty line that ends in LF, after a line that ends in CR, would be the second half of a CRLF.
            for index in 1..lines.len() {
                if lines[index - 1].eol == "\r" && lines[index].content.is_empty() && lines[index].eol == "\n" {
                    lines[index].eol = "\r\n";
                }
            }
            Script { bom, lines, appended, n_context }
        },
    )
}

fn inserted(probability: f64) -> impl Strategy<Value = Vec<String>> {
    prop::bool::weighted(probability)
        .prop_flat_map(|some| if some { vec("[abx]{0,2}", 1..3).boxed() } else { Just(Vec::new()).boxed() })
}

/// Returns texts made of pieces that matter to the parsers, so that random texts get far into them.
pub(crate) fn pieces(pieces: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    let piece = prop_oneof![8 => prop::sample::select(pieces).prop_map(str::to_owned), 1 => ".{0,3}"];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Prints which items of `tests/it/agent_checklist.txt` the running test covers.
pub(crate) fn covers(items: &str) {
    println!("covers: {items}");
}
