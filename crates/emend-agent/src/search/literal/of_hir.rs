//! The longest literal of a parsed pattern.

use regex_syntax::hir::{Class, Hir, HirKind, Literal};

use super::{Either, Required};

impl Required {
    /// Returns the longest literal that every match of `hir` contains; `None` if there is none.
    pub(in crate::search) fn of(hir: &Hir) -> Option<Self> {
        let mut found = Found { longest: Vec::new(), run: Vec::new(), n_runs: 0, is_whole: true };
        found.take(hir);
        found.end_run();
        Self::new(found.longest, found.is_whole && found.n_runs == 1)
    }
}

/// State of the walk over a pattern.
struct Found {
    longest: Vec<Either>,
    /// The literal that ends at the current position of the walk.
    run: Vec<Either>,
    n_runs: usize,
    /// Whether the walk has met only literal bytes.
    is_whole: bool,
}

impl Found {
    /// Recursion is as deep as the nest limit of the parser.
    fn take(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Literal(Literal(bytes)) => self.run.extend(bytes.iter().map(|&bits| Either { bits, mask: 0 })),
            HirKind::Class(class) => match either_of(class) {
                Some(either) => self.run.push(either),
                None => self.interrupt(),
            },
            HirKind::Capture(capture) => self.take(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.take(part)),
            // Literals on both sides of an empty match are adjacent.
            HirKind::Look(_) => self.is_whole = false,
            HirKind::Repetition(repetition) if repetition.min > 0 => {
                self.interrupt();
                self.take(&repetition.sub);
                self.interrupt();
            }
            HirKind::Repetition(_) | HirKind::Alternation(_) => self.interrupt(),
            HirKind::Empty => {}
        }
    }

    fn interrupt(&mut self) {
        self.is_whole = false;
        self.end_run();
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.n_runs += usize::from(!run.is_empty());
        if run.len() > self.longest.len() {
            self.longest = run;
        }
    }
}

/// Returns both bytes of a class of two ASCII characters that differ in one bit.
fn either_of(class: &Class) -> Option<Either> {
    let Class::Unicode(class) = class else { return None };
    let [one, other] = class.ranges() else { return None };
    if one.start() != one.end() || other.start() != other.end() {
        return None;
    }
    let (one, other) = (u8::try_from(one.start()).ok()?, u8::try_from(other.start()).ok()?);
    let either = Either { bits: one | other, mask: one ^ other };
    (either.mask.is_power_of_two() && either.bits.is_ascii()).then_some(either)
}
