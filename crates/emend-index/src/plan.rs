//! From a pattern to a condition on trigrams that every file with a match meets.
//!
//! The analysis follows Russ Cox, "Regular Expression Matching with a Trigram Index". Each part of a pattern gets the
//! sets of texts with which its matches begin and end, and a condition. Joined parts join these texts, so trigrams
//! across parts count. A set that grows too large is shortened, which weakens the condition and never makes it wrong.
//!
//! All texts are bytes with ASCII letters in lower case, as in the index. A pattern that ignores case arrives with the
//! cases of its letters written out as classes, so a class of a few characters is a set of texts.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::bits::Bits;
use crate::segment::Segment;
use crate::trigram::{Trigram, fold, of_folded};

/// Most texts of a set with all matches of a part.
const EXACT_MAX: usize = 16;
/// Most beginnings or ends of the matches of a part.
const EDGES_MAX: usize = 20;
/// Most texts of a class that is not treated as any character.
const CLASS_MAX: usize = 16;
/// Most characters of a class that is examined.
const CLASS_CHARS_MAX: u32 = 128;
/// Repetitions that are written out.
const REPEATS_MAX: u32 = 6;
/// Most trigrams of a conjunction whose postings are read; the rarest come first.
const TRIGRAMS_MAX: usize = 16;

/// A condition on the trigrams of a file, which every file with a match of a pattern meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan(Condition);

/// A condition on the trigrams of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Condition {
    /// Every file meets it.
    Any,
    Has(Trigram),
    All(Vec<Condition>),
    One(Vec<Condition>),
}

impl Plan {
    /// Returns the condition of a pattern. No match of it may contain a line ending.
    #[must_use]
    pub fn new(pattern: &Hir) -> Self {
        Self(Part::of(pattern).into_condition())
    }

    /// Returns the documents of a segment that meet the condition; `None` if all do.
    pub(crate) fn select(&self, segment: &Segment) -> Option<Bits> {
        self.0.select(segment)
    }
}

impl Condition {
    /// Returns the condition that both conditions hold.
    fn and(self, other: Self) -> Self {
        let parts = [self, other].into_iter().flat_map(|side| match side {
            Self::Any => Vec::new(),
            Self::All(parts) => parts,
            part => vec![part],
        });
        Self::all(parts.collect())
    }

    /// Returns the condition that all of `parts` hold.
    fn all(parts: BTreeSet<Self>) -> Self {
        let mut parts: Vec<Self> = parts.into_iter().filter(|part| *part != Self::Any).collect();
        match (parts.len(), parts.pop()) {
            (_, None) => Self::Any,
            (1, Some(part)) => part,
            (_, Some(part)) => {
                parts.push(part);
                Self::All(parts)
            }
        }
    }

    /// Returns the condition that one of the conditions holds.
    fn or(self, other: Self) -> Self {
        if self == Self::Any || other == Self::Any {
            return Self::Any;
        }
        let parts: BTreeSet<Self> = [self, other]
            .into_iter()
            .flat_map(|side| match side {
                Self::One(parts) => parts,
                part => vec![part],
            })
            .collect();
        let mut parts: Vec<Self> = parts.into_iter().collect();
        if parts.len() == 1 { parts.remove(0) } else { Self::One(parts) }
    }

    /// Returns the condition that a file contains one of the texts.
    fn of_texts(texts: &BTreeSet<Vec<u8>>) -> Self {
        let of_text = |text: &Vec<u8>| Self::all(of_folded(text).map(Self::Has).collect());
        texts.iter().map(of_text).reduce(Self::or).unwrap_or(Self::Any)
    }

    fn select(&self, segment: &Segment) -> Option<Bits> {
        let bound = segment.n_documents() as usize;
        match self {
            Self::Any => None,
            Self::Has(trigram) => {
                Some(segment.posting(*trigram).map_or_else(|| Bits::none(bound), |posting| posting.to_bits(bound)))
            }
            Self::One(parts) => {
                let mut found = Bits::none(bound);
                for part in parts {
                    found.extend(&part.select(segment)?);
                }
                Some(found)
            }
            Self::All(parts) => Self::select_all(parts, segment),
        }
    }

    fn select_all(parts: &[Self], segment: &Segment) -> Option<Bits> {
        let bound = segment.n_documents() as usize;
        let mut postings = Vec::new();
        for part in parts {
            if let Self::Has(trigram) = part {
                let Some(posting) = segment.posting(*trigram) else { return Some(Bits::none(bound)) };
                postings.push(posting);
            }
        }
        postings.sort_unstable_by_key(|posting| posting.n_documents);
        let of_postings = postings.into_iter().take(TRIGRAMS_MAX).map(|posting| posting.to_bits(bound));
        let others = parts.iter().filter(|part| !matches!(part, Self::Has(_)));
        of_postings.chain(others.filter_map(|part| part.select(segment))).reduce(|mut found, more| {
            found.retain(&more);
            found
        })
    }
}

/// Facts about the matches of a part of a pattern.
#[derive(Clone, Debug)]
struct Part {
    /// All matches, if they are few.
    exact: Option<BTreeSet<Vec<u8>>>,
    /// Every match begins with one of these. Not used if `exact` is known.
    begins: BTreeSet<Vec<u8>>,
    /// Every match ends with one of these. Not used if `exact` is known.
    ends: BTreeSet<Vec<u8>>,
    /// Holds for every file with a match. Says nothing about `exact`.
    condition: Condition,
}

impl Part {
    /// Analyses a part. Recursion is as deep as the nest limit of the parser.
    fn of(pattern: &Hir) -> Self {
        let part = match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::exactly([Vec::new()]),
            HirKind::Literal(literal) => Self::exactly([literal.0.iter().copied().map(fold).collect()]),
            HirKind::Class(class) => few_texts(class).map_or_else(Self::any, Self::exactly),
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Concat(parts) => {
                parts.iter().fold(Self::exactly([Vec::new()]), |before, part| before.then(Self::of(part)))
            }
            HirKind::Alternation(branches) => branches.iter().map(Self::of).reduce(Self::or).unwrap_or_else(Self::any),
            HirKind::Repetition(repetition) => Self::repeated(repetition),
        };
        part.shortened()
    }

    fn exactly(texts: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let exact = Some(texts.into_iter().collect());
        Self { exact, begins: BTreeSet::new(), ends: BTreeSet::new(), condition: Condition::Any }
    }

    /// A part of which nothing is known.
    fn any() -> Self {
        let edge = BTreeSet::from([Vec::new()]);
        Self { exact: None, begins: edge.clone(), ends: edge, condition: Condition::Any }
    }

    fn repeated(repetition: &Repetition) -> Self {
        let part = Self::of(&repetition.sub);
        let (min, max) = (repetition.min, repetition.max);
        if min == 0 {
            return if max == Some(1) { part.or(Self::exactly([Vec::new()])) } else { Self::any() };
        }
        let mut whole = part.clone();
        for _ in 1..min.min(REPEATS_MAX) {
            whole = whole.then(part.clone()).shortened();
        }
        if max == Some(min) && min <= REPEATS_MAX { whole } else { whole.inexact() }
    }

    fn begins(&self) -> &BTreeSet<Vec<u8>> {
        self.exact.as_ref().unwrap_or(&self.begins)
    }

    fn ends(&self) -> &BTreeSet<Vec<u8>> {
        self.exact.as_ref().unwrap_or(&self.ends)
    }

    /// Moves all knowledge about `exact` to the other fields.
    fn inexact(mut self) -> Self {
        if let Some(exact) = self.exact.take() {
            self.condition = self.condition.and(Condition::of_texts(&exact));
            (self.begins, self.ends) = (exact.clone(), exact);
        }
        self
    }

    fn into_condition(self) -> Condition {
        self.inexact().condition
    }

    /// Returns the part that matches a match of this one followed by a match of `next`.
    fn then(self, next: Self) -> Self {
        if let (Some(exact), Some(more)) = (&self.exact, &next.exact)
            && exact.len() * more.len() <= EXACT_MAX
        {
            let exact = Some(pairs(exact, more));
            let condition = self.condition.and(next.condition);
            return Self { exact, begins: BTreeSet::new(), ends: BTreeSet::new(), condition };
        }
        let joined = |a: &BTreeSet<Vec<u8>>, b: &BTreeSet<Vec<u8>>| {
            (a.len() * b.len() <= EDGES_MAX * EDGES_MAX).then(|| pairs(a, b))
        };
        let begins = self.exact.as_ref().and_then(|exact| joined(exact, next.begins()));
        let ends = next.exact.as_ref().and_then(|exact| joined(self.ends(), exact));
        let across = joined(self.ends(), next.begins());
        let (before, after) = (self.inexact(), next.inexact());
        let mut condition = before.condition.and(after.condition);
        if let Some(across) = across {
            condition = condition.and(Condition::of_texts(&across));
        }
        Self { exact: None, begins: begins.unwrap_or(before.begins), ends: ends.unwrap_or(after.ends), condition }
    }

    /// Returns the part that matches the matches of both.
    fn or(self, other: Self) -> Self {
        match (self.exact, other.exact) {
            (Some(mut exact), Some(more)) if exact.len() + more.len() <= 2 * EXACT_MAX => {
                exact.extend(more);
                let condition = self.condition.or(other.condition);
                Self { exact: Some(exact), begins: BTreeSet::new(), ends: BTreeSet::new(), condition }
            }
            (exact, more) => {
                let (one, other) = (Self { exact, ..self }.inexact(), Self { exact: more, ..other }.inexact());
                let both = |a: BTreeSet<Vec<u8>>, b| a.into_iter().chain(b).collect();
                let condition = one.condition.or(other.condition);
                Self {
                    exact: None,
                    begins: both(one.begins, other.begins),
                    ends: both(one.ends, other.ends),
                    condition,
                }
            }
        }
    }

    /// Returns the same part with fewer and shorter texts.
    fn shortened(mut self) -> Self {
        if let Some(exact) = &self.exact {
            let shortest = exact.iter().map(Vec::len).min().unwrap_or(0);
            let longest = exact.iter().map(Vec::len).max().unwrap_or(0);
            if exact.len() <= EXACT_MAX && shortest < 4 && longest <= 32 {
                return self;
            }
            self = self.inexact();
        }
        self.begins = fewer(self.begins, |text, length| text[..length].to_vec());
        self.ends = fewer(self.ends, |text, length| text[text.len() - length..].to_vec());
        self
    }
}

/// Returns every text of `a` followed by every text of `b`.
fn pairs(a: &BTreeSet<Vec<u8>>, b: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    a.iter().flat_map(|before| b.iter().map(move |after| [before.as_slice(), after].concat())).collect()
}

/// Shortens texts to the two bytes that the next trigram can share, and further until they are few.
fn fewer(mut texts: BTreeSet<Vec<u8>>, part: impl Fn(&[u8], usize) -> Vec<u8>) -> BTreeSet<Vec<u8>> {
    for length in (0..=2).rev() {
        texts = texts.iter().map(|text| part(text, text.len().min(length))).collect();
        if texts.len() <= EDGES_MAX {
            break;
        }
    }
    texts
}

/// Returns the folded texts that a class matches, if they are few.
fn few_texts(class: &Class) -> Option<BTreeSet<Vec<u8>>> {
    let texts: BTreeSet<Vec<u8>> = match class {
        Class::Unicode(class) => {
            let n_chars = class.ranges().iter().map(|range| u32::from(range.end()) - u32::from(range.start()) + 1);
            if n_chars.fold(0_u32, u32::saturating_add) > CLASS_CHARS_MAX {
                return None;
            }
            let chars = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            chars.map(|char| char.to_string().bytes().map(fold).collect()).collect()
        }
        Class::Bytes(class) => {
            let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            bytes.map(|byte| vec![fold(byte)]).collect()
        }
    };
    (!texts.is_empty() && texts.len() <= CLASS_MAX).then_some(texts)
}

#[cfg(test)]
mod tests;
