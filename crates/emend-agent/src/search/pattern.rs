//! Rewrites a pattern so that each match stays within one line.
//!
//! Line endings are removed from every class, `\A` and `\z` become the edges of a line, and parts that cannot match any
//! more are dropped. The result, matched against a whole file, finds exactly the lines that match one by one.

use regex_syntax::hir::{
    Capture, Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Literal, Look,
    Repetition,
};

use super::{PatternError, unicode};

/// Returns `pattern` parsed and rewritten, with all flags resolved.
pub(super) fn within_lines(pattern: &str, case_insensitive: bool) -> Result<Hir, PatternError> {
    let hir = unicode::parse(pattern, case_insensitive).map_err(|error| PatternError { reason: error.to_string() })?;
    rewrite(hir).ok_or_else(|| PatternError {
        reason: "it can match nothing within one line; lines are searched one at a time, without their endings"
            .to_owned(),
    })
}

/// Returns `None` if the expression cannot match within one line. Recursion is as deep as the nest limit of the parser.
fn rewrite(hir: Hir) -> Option<Hir> {
    Some(match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(Literal(bytes)) => {
            if bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
                return None;
            }
            Hir::literal(bytes)
        }
        HirKind::Class(class) => Hir::class(without_line_endings(class)?),
        HirKind::Look(look) => Hir::look(match look {
            Look::Start | Look::StartLF | Look::StartCRLF => Look::StartCRLF,
            Look::End | Look::EndLF | Look::EndCRLF => Look::EndCRLF,
            other => other,
        }),
        HirKind::Repetition(Repetition { min, max, greedy, sub }) => match rewrite(*sub) {
            Some(sub) => Hir::repetition(Repetition { min, max, greedy, sub: Box::new(sub) }),
            None if min == 0 => Hir::empty(),
            None => return None,
        },
        HirKind::Capture(Capture { index, name, sub }) => {
            Hir::capture(Capture { index, name, sub: Box::new(rewrite(*sub)?) })
        }
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(rewrite).collect::<Option<_>>()?),
        HirKind::Alternation(branches) => {
            let branches: Vec<Hir> = branches.into_iter().filter_map(rewrite).collect();
            if branches.is_empty() {
                return None;
            }
            Hir::alternation(branches)
        }
    })
}

fn without_line_endings(class: Class) -> Option<Class> {
    match class {
        Class::Unicode(mut class) => {
            let endings = ['\n', '\r'].map(|end| ClassUnicodeRange::new(end, end));
            class.difference(&ClassUnicode::new(endings));
            (!class.ranges().is_empty()).then_some(Class::Unicode(class))
        }
        Class::Bytes(mut class) => {
            let endings = [b'\n', b'\r'].map(|end| ClassBytesRange::new(end, end));
            class.difference(&ClassBytes::new(endings));
            (!class.ranges().is_empty()).then_some(Class::Bytes(class))
        }
    }
}
