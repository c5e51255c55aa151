//! Expands the Unicode parts of a pattern: `\w`, `\d`, `\s` and `(?i)` become plain classes before translation.
//!
//! Of `\p{…}` only decimal digits are supported, because `\d` needs them; the parser rejects all others.

use regex_syntax::ast::{
    self, Ast, ClassAsciiKind, ClassBracketed, ClassPerlKind, ClassSet, ClassSetItem, ClassSetRange, ClassSetUnion,
    ClassUnicodeKind, Flag, FlagsItemKind, GroupKind, Literal, LiteralKind, Span,
};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, Hir};

use super::{Numbers, add_other_cases, tables};

/// Returns `pattern` parsed with all flags resolved. `^` and `$` match at the edges of lines, which end at LF or CRLF.
pub(in crate::search) fn parse(pattern: &str, case_insensitive: bool) -> Result<Hir, regex_syntax::Error> {
    let mut ast = ast::parse::Parser::new().parse(pattern)?;
    Flags { case_insensitive, unicode: true }.write_out(&mut ast);
    Ok(TranslatorBuilder::new().utf8(false).multi_line(true).crlf(true).build().translate(pattern, &ast)?)
}

/// The flags that affect the current position of the pattern.
#[derive(Clone, Copy)]
struct Flags {
    case_insensitive: bool,
    unicode: bool,
}

impl Flags {
    /// Expands classes and literals. Recursion is as deep as the nest limit of the parser.
    fn write_out(&mut self, ast: &mut Ast) {
        let mut item = match ast {
            Ast::Empty(_) | Ast::Dot(_) | Ast::Assertion(_) => return,
            Ast::Flags(set) => return self.take(&mut set.flags),
            Ast::ClassBracketed(class) => return self.write_out_class(&mut class.kind),
            Ast::Repetition(repetition) => return self.write_out(&mut repetition.ast),
            Ast::Group(group) => {
                let outside = *self;
                if let GroupKind::NonCapturing(flags) = &mut group.kind {
                    self.take(flags);
                }
                self.write_out(&mut group.ast);
                *self = outside;
                return;
            }
            // Flags set in a branch also apply to later branches.
            Ast::Alternation(alternation) => return alternation.asts.iter_mut().for_each(|ast| self.write_out(ast)),
            Ast::Concat(concat) => return concat.asts.iter_mut().for_each(|ast| self.write_out(ast)),
            Ast::Literal(literal) => ClassSetItem::Literal((**literal).clone()),
            Ast::ClassPerl(class) => ClassSetItem::Perl((**class).clone()),
            Ast::ClassUnicode(class) => ClassSetItem::Unicode((**class).clone()),
        };
        self.write_out_item(&mut item);
        if let ClassSetItem::Bracketed(class) = item {
            *ast = Ast::ClassBracketed(class);
        }
    }

    /// Applies `flags`. Removes `i`, so that the translation never folds case itself.
    fn take(&mut self, flags: &mut ast::Flags) {
        self.case_insensitive = flags.flag_state(Flag::CaseInsensitive).unwrap_or(self.case_insensitive);
        self.unicode = flags.flag_state(Flag::Unicode).unwrap_or(self.unicode);
        flags.items.retain(|item| item.kind != FlagsItemKind::Flag(Flag::CaseInsensitive));
    }

    fn write_out_class(self, class: &mut ClassSet) {
        match class {
            ClassSet::Item(item) => self.write_out_item(item),
            ClassSet::BinaryOp(op) => {
                self.write_out_class(&mut op.lhs);
                self.write_out_class(&mut op.rhs);
            }
        }
    }

    /// Adds the other cases to each part of a class. Unions of such parts then contain their other cases, and so do
    /// complements: characters that differ only in case are all in the class or all outside it.
    fn write_out_item(self, item: &mut ClassSetItem) {
        let span = *item.span();
        let (negated, mut items) = match item {
            ClassSetItem::Empty(_) => return,
            ClassSetItem::Bracketed(class) => return self.write_out_class(&mut class.kind),
            ClassSetItem::Union(union) => return union.items.iter_mut().for_each(|item| self.write_out_item(item)),
            ClassSetItem::Perl(class) if self.unicode => {
                let table = match class.kind {
                    ClassPerlKind::Digit => tables::DIGIT,
                    ClassPerlKind::Space => tables::SPACE,
                    ClassPerlKind::Word => tables::WORD,
                };
                (class.negated, spelled_out(span, &ranges(table)))
            }
            ClassSetItem::Unicode(class) if self.unicode && is_digit(&class.kind) => {
                (class.is_negated(), spelled_out(span, &ranges(tables::DIGIT)))
            }
            ClassSetItem::Perl(_) | ClassSetItem::Unicode(_) => return,
            ClassSetItem::Literal(literal) => (false, self.other_cases(span, literal.c, literal.c)),
            ClassSetItem::Range(range) => (false, self.other_cases(span, range.start.c, range.end.c)),
            ClassSetItem::Ascii(class) => {
                let (first, last) = match class.kind {
                    ClassAsciiKind::Upper => ('A', 'Z'),
                    ClassAsciiKind::Lower
                    | ClassAsciiKind::Alnum
                    | ClassAsciiKind::Alpha
                    | ClassAsciiKind::Ascii
                    | ClassAsciiKind::Graph
                    | ClassAsciiKind::Print
                    | ClassAsciiKind::Word => ('a', 'z'),
                    // Classes without letters, or `xdigit`, which contains both cases.
                    _ => return,
                };
                let items = self.other_cases(span, first, last);
                let negated = !items.is_empty() && std::mem::take(&mut class.negated);
                (negated, items)
            }
        };
        if items.is_empty() {
            return;
        }
        if !matches!(item, ClassSetItem::Perl(_) | ClassSetItem::Unicode(_)) {
            items.push(std::mem::replace(item, ClassSetItem::Empty(span)));
        }
        *item = bracketed(span, negated, items);
    }

    /// Returns the characters that differ only in case from the range and lie outside it.
    fn other_cases(self, span: Span, first: char, last: char) -> Vec<ClassSetItem> {
        if !self.case_insensitive {
            return Vec::new();
        }
        let own = ClassUnicode::new([ClassUnicodeRange::new(first, last)]);
        let mut all = vec![(u32::from(first), u32::from(last))];
        add_other_cases(&mut all, self.unicode);
        let chars = |(first, last)| Some(ClassUnicodeRange::new(char::from_u32(first)?, char::from_u32(last)?));
        let mut all = ClassUnicode::new(all.into_iter().filter_map(chars));
        all.difference(&own);
        spelled_out(span, all.ranges())
    }
}

/// Returns the ranges of a table of gaps and lengths.
fn ranges(table: &'static [u8]) -> Vec<ClassUnicodeRange> {
    let mut ranges = Vec::new();
    let mut numbers = Numbers(table);
    let mut at = 0;
    while let (Some(gap), Some(extent)) = (numbers.next(), numbers.next()) {
        let (start, end) = (at + gap, at + gap + extent);
        if let (Some(start), Some(end)) = (char::from_u32(start), char::from_u32(end)) {
            ranges.push(ClassUnicodeRange::new(start, end));
        }
        at = end + 1;
    }
    ranges
}

/// Returns whether a property is the decimal digits, the property behind `\d`. Names are compared by rule UAX44-LM3.
fn is_digit(kind: &ClassUnicodeKind) -> bool {
    let is = |given: &str, names: &[&str]| {
        let has_prefix = given.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("is"));
        let given = if has_prefix { &given[2..] } else { given };
        let mut letters = given.to_ascii_lowercase();
        letters.retain(|char| char.is_ascii() && !matches!(char, ' ' | '_' | '-'));
        names.contains(&letters.as_str())
    };
    let is_value = |value: &str| is(value, &["nd", "digit", "decimalnumber"]);
    match kind {
        ClassUnicodeKind::OneLetter(_) => false,
        ClassUnicodeKind::Named(name) => is_value(name),
        ClassUnicodeKind::NamedValue { name, value, .. } => is(name, &["gc", "generalcategory"]) && is_value(value),
    }
}

/// Returns `ranges` as nested parts of a class. They are nested because translation takes quadratic time in the parts
/// of one level.
fn spelled_out(span: Span, ranges: &[ClassUnicodeRange]) -> Vec<ClassSetItem> {
    let literal = |c| Literal { span, kind: LiteralKind::Verbatim, c };
    let item = |range: &ClassUnicodeRange| {
        ClassSetItem::Range(ClassSetRange { span, start: literal(range.start()), end: literal(range.end()) })
    };
    ranges.chunks(32).map(|chunk| bracketed(span, false, chunk.iter().map(item).collect())).collect()
}

fn bracketed(span: Span, negated: bool, items: Vec<ClassSetItem>) -> ClassSetItem {
    let kind = ClassSet::union(ClassSetUnion { span, items });
    ClassSetItem::Bracketed(Box::new(ClassBracketed { span, negated, kind }))
}
