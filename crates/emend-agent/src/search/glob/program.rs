//! A small matcher of globs: all ways to read a path at once, character by character.
//!
//! It accepts the globs that the regex engine accepts, except for those of more than 100,000 characters.

use super::parts::{Item, Part};
use crate::search::unicode;

/// A glob as steps. Reading a path starts at the first step, and has succeeded behind the last one at its end.
#[derive(Clone, Debug)]
pub(super) struct Program {
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    /// Reads one character that is in a range.
    Range(char, char),
    /// Reads one character of a segment that is in one of the ranges, or is in none.
    Ranges { is_negated: bool, ranges: Vec<(u32, u32)> },
    /// Goes on both with the next step and with another one.
    Fork(usize),
    /// Goes on with another step.
    Jump(usize),
}

/// Maximum number of steps.
const STEPS_MAX: usize = 300_000;

/// Maximum nesting of the regular expression that stands for a glob, as in `regex-syntax`.
const NESTING_MAX: usize = 250;

impl Program {
    /// Returns `None` if the glob is too large.
    pub(super) fn new(parts: &[Part], ignores_case: bool) -> Option<Self> {
        if nesting(parts) > NESTING_MAX {
            return None;
        }
        let mut steps: Vec<Step> = Vec::new();
        // For each open brace: the fork before its latest alternative, and the jumps to its end.
        let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
        for part in parts {
            let at = steps.len();
            match part {
                Part::Char(char) => steps.push(step(vec![(*char, *char)], ignores_case)),
                Part::One => steps.push(one()),
                Part::Star => steps.extend([Step::Fork(at + 3), one(), Step::Jump(at)]),
                // The fork goes back for more, or on.
                Part::Rest => steps.extend([any(), Step::Fork(at + 3), Step::Jump(at)]),
                Part::Folders => steps.extend([
                    Step::Fork(at + 5),
                    Step::Fork(at + 4),
                    any(),
                    Step::Jump(at + 1),
                    Step::Range('/', '/'),
                ]),
                Part::Class { is_negated, items } => {
                    let mut ranges = Vec::new();
                    for item in items {
                        match *item {
                            Item::Range(first, last) => ranges.push((first, last)),
                            Item::Named(name) => ranges.extend_from_slice(named(name)),
                        }
                    }
                    steps.push(class(*is_negated, ranges, ignores_case));
                }
                Part::Open => {
                    open.push((at, Vec::new()));
                    steps.push(Step::Fork(0));
                }
                Part::Or => {
                    if let Some((fork, ends)) = open.last_mut() {
                        steps.extend([Step::Jump(0), Step::Fork(0)]);
                        steps[*fork] = Step::Fork(at + 1);
                        ends.push(at);
                        *fork = at + 1;
                    }
                }
                Part::Close => {
                    if let Some((fork, ends)) = open.pop() {
                        // No alternative is left.
                        steps[fork] = Step::Fork(fork + 1);
                        for end in ends {
                            steps[end] = Step::Jump(at);
                        }
                    }
                }
            }
        }
        (steps.len() <= STEPS_MAX).then_some(Self { steps })
    }

    pub(super) fn is_match(&self, path: &str) -> bool {
        let mut here = Reached::new(self.steps.len());
        let mut next = here.clone();
        self.reach(&mut here, 0);
        for char in path.chars() {
            for &at in &here.list {
                let reads = match &self.steps[at] {
                    Step::Range(first, last) => (*first..=*last).contains(&char),
                    Step::Ranges { is_negated, ranges } => {
                        let is_in = |&(first, last): &(u32, u32)| (first..=last).contains(&u32::from(char));
                        char != '/' && ranges.iter().any(is_in) != *is_negated
                    }
                    _ => false,
                };
                if reads {
                    self.reach(&mut next, at + 1);
                }
            }
            here.clear();
            std::mem::swap(&mut here, &mut next);
            if here.list.is_empty() && !here.is_in[self.steps.len()] {
                return false;
            }
        }
        here.is_in[self.steps.len()]
    }

    /// Adds a step and those that it leads to without reading.
    fn reach(&self, reached: &mut Reached, step: usize) {
        let mut at = step;
        loop {
            let is_new = !std::mem::replace(&mut reached.is_in[at], true);
            if is_new {
                reached.seen.push(at);
            }
            match self.steps.get(at).filter(|_| is_new) {
                Some(Step::Fork(other)) => {
                    reached.ahead.push(*other);
                    at += 1;
                    continue;
                }
                Some(Step::Jump(other)) => {
                    at = *other;
                    continue;
                }
                Some(_) => reached.list.push(at),
                None => {}
            }
            match reached.ahead.pop() {
                Some(next) => at = next,
                None => return,
            }
        }
    }
}

/// The steps that some way to read the path has reached. The end counts as a step.
#[derive(Clone)]
struct Reached {
    /// Those that read a character.
    list: Vec<usize>,
    /// All.
    seen: Vec<usize>,
    is_in: Vec<bool>,
    /// Steps that are still to be followed.
    ahead: Vec<usize>,
}

impl Reached {
    fn new(n_steps: usize) -> Self {
        Self { list: Vec::new(), seen: Vec::new(), is_in: vec![false; n_steps + 1], ahead: Vec::new() }
    }

    fn clear(&mut self) {
        self.list.clear();
        for at in self.seen.drain(..) {
            self.is_in[at] = false;
        }
    }
}

/// Reads one character of a segment.
fn one() -> Step {
    Step::Ranges { is_negated: true, ranges: Vec::new() }
}

/// Reads one character.
fn any() -> Step {
    Step::Range('\0', char::MAX)
}

/// Returns the step for a character.
fn step(ranges: Vec<(char, char)>, ignores_case: bool) -> Step {
    match (ignores_case, ranges.as_slice()) {
        (false, &[(first, last)]) => Step::Range(first, last),
        (true, &[('/', _)]) => Step::Range('/', '/'),
        _ => class(false, ranges, ignores_case),
    }
}

fn class(is_negated: bool, ranges: Vec<(char, char)>, ignores_case: bool) -> Step {
    let mut ranges: Vec<(u32, u32)> =
        ranges.into_iter().map(|(first, last)| (u32::from(first), u32::from(last))).collect();
    if ignores_case {
        unicode::add_other_cases(&mut ranges, true);
    }
    Step::Ranges { is_negated, ranges }
}

/// Returns the ranges of a POSIX class.
fn named(name: &str) -> &'static [(char, char)] {
    match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => &[],
    }
}

/// Returns the nesting of the regular expression that stands for the glob, as `regex-syntax` counts it.
fn nesting(parts: &[Part]) -> usize {
    /// An open brace, or the whole glob.
    #[derive(Default)]
    struct Level {
        /// Nesting of the deepest alternative that has ended.
        deepest: usize,
        n_ended: usize,
        /// Nesting and number of the parts of the latest alternative.
        latest: usize,
        n_parts: usize,
    }
    impl Level {
        fn add(&mut self, nesting: usize) {
            self.latest = self.latest.max(nesting);
            self.n_parts += 1;
        }
        fn end_alternative(&mut self) {
            self.deepest = self.deepest.max(self.latest + usize::from(self.n_parts > 1));
            (self.latest, self.n_parts) = (0, 0);
            self.n_ended += 1;
        }
        /// Returns the nesting of the whole group.
        fn end(mut self) -> usize {
            self.end_alternative();
            1 + self.deepest + usize::from(self.n_ended > 1)
        }
    }
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::default();
    for part in parts {
        match part {
            Part::Char(_) => level.add(0),
            Part::One | Part::Rest => level.add(1),
            Part::Star => level.add(2),
            Part::Folders => level.add(4),
            Part::Class { items, .. } => level.add(3 + usize::from(items.len() > 1)),
            Part::Open => outer.push(std::mem::take(&mut level)),
            Part::Or => level.end_alternative(),
            Part::Close => {
                let ended = std::mem::replace(&mut level, outer.pop().unwrap_or_default());
                level.add(ended.end());
            }
        }
    }
    // The list of the edges of the text and the group between them.
    1 + level.end()
}

#[cfg(test)]
mod tests;
