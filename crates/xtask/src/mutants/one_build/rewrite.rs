//! A file with all its mutants, each behind its switch.
//!
//! Only one switch is on at a time. So the operands of a changed operator are the original ones, and the text grows
//! little where operators nest. A changed operator keeps its operands, while cargo-mutants replaces the text of the
//! operator alone: another precedence may give other operands there.

use std::cmp::Reverse;

use super::places::{Bytes, Form, Place};

/// The name of the module with the switches.
pub(super) const MODULE: &str = "emend_mutant";

/// The mutants of one place, each with its number and replacement.
pub(super) struct Edit<'a> {
    pub(super) place: &'a Place,
    pub(super) mutants: Vec<(u32, &'a str)>,
}

/// A text with switches, and where they are in it.
#[derive(Default)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// The code that runs only with the switch of a mutant.
    branches: Vec<(Bytes, u32)>,
    /// The places, each with all of its mutants.
    places: Vec<(Bytes, Vec<u32>)>,
}

/// The mutants that an error of the compiler concerns.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Blamed {
    /// The code of one mutant does not compile.
    Mutant(u32),
    /// The place of these mutants does not compile with a switch.
    Place(Vec<u32>),
}

impl Rewritten {
    /// Returns the mutants to drop because of an error at these bytes of the text.
    pub(super) fn blame(&self, error: &Bytes) -> Option<Blamed> {
        let is_around = |range: &Bytes| range.start <= error.start && error.start < range.end;
        let branch = self.branches.iter().filter(|(range, _)| is_around(range)).min_by_key(|(range, _)| range.len());
        if let Some((_, number)) = branch {
            return Some(Blamed::Mutant(*number));
        }
        let place = self.places.iter().filter(|(range, _)| is_around(range)).min_by_key(|(range, _)| range.len());
        place.map(|(_, numbers)| Blamed::Place(numbers.clone()))
    }
}

/// Returns `text` with the edits, which nest or are apart.
pub(super) fn rewrite(text: &str, mut edits: Vec<Edit<'_>>) -> Rewritten {
    edits.sort_by_key(|edit| {
        let Bytes { start, end } = edit.place.range;
        // A guard can be an operator as a whole, and is outside it then.
        (start, start != end, Reverse(end), edit.place.form != Form::Guard)
    });
    let mut writer = Writer { source: text, to: Rewritten::default() };
    writer.copy(0..text.len(), &edits);
    writer.to
}

struct Writer<'a> {
    source: &'a str,
    to: Rewritten,
}

impl Writer<'_> {
    /// Copies bytes of the source with the edits in them.
    fn copy(&mut self, range: Bytes, mut edits: &[Edit<'_>]) {
        let mut at = range.start;
        while let Some((edit, rest)) = edits.split_first() {
            let Bytes { start, end } = edit.place.range;
            let inner = rest.iter().take_while(|inner| inner.place.range.start < end).count();
            let (inner, after) = rest.split_at(inner);
            self.to.text.push_str(&self.source[at..start]);
            self.switch(edit, inner);
            at = end;
            edits = after;
        }
        self.to.text.push_str(&self.source[at..range.end]);
    }

    fn switch(&mut self, edit: &Edit<'_>, inner: &[Edit<'_>]) {
        let Place { range, form, .. } = edit.place;
        let begin = self.to.text.len();
        let source = self.source;
        match form {
            Form::Return => {
                for &(number, value) in &edit.mutants {
                    let is_on = is_on(number);
                    self.branch(number, &format!("if {is_on} {{ return {value}; }} "));
                }
            }
            Form::Arm => {
                for &(number, _) in &edit.mutants {
                    self.branch(number, &format!(" if !{}", is_on(number)));
                }
            }
            Form::Guard | Form::Binary(..) | Form::Unary(_) => {
                self.to.text.push('(');
                for &(number, replacement) in &edit.mutants {
                    let changed = match form {
                        Form::Binary(left, right) => {
                            let (left, right) = (&source[left.clone()], &source[right.clone()]);
                            format!("(({left}) {replacement} ({right}))")
                        }
                        Form::Unary(operand) => format!("({})", &source[operand.clone()]),
                        _ => replacement.to_owned(),
                    };
                    self.to.text.push_str(&format!("if {} {{ ", is_on(number)));
                    self.branch(number, &changed);
                    self.to.text.push_str(" } else ");
                }
                self.to.text.push_str("{ (");
                self.copy(range.clone(), inner);
                self.to.text.push_str(") })");
            }
        }
        let numbers = edit.mutants.iter().map(|(number, _)| *number).collect();
        self.to.places.push((begin..self.to.text.len(), numbers));
    }

    fn branch(&mut self, number: u32, code: &str) {
        let begin = self.to.text.len();
        self.to.text.push_str(code);
        self.to.branches.push((begin..self.to.text.len(), number));
    }
}

fn is_on(number: u32) -> String {
    format!("crate::{MODULE}::is_on({number})")
}

#[cfg(test)]
mod tests {
    use super::super::listed::Genre;
    use super::super::places::places;
    use super::*;

    /// Rewrites with one mutant, or with these, at each place of these kinds; `on N` is the condition of a switch.
    fn rewritten(text: &str, replacements: &[(Genre, &[&str])]) -> Rewritten {
        let places = places(text).unwrap();
        let mut numbers = 1..;
        let edits = places.iter().filter_map(|((genre, _), place)| {
            let (_, with) = replacements.iter().find(|(of, _)| of == genre)?;
            let mutants = with.iter().map(|with| (numbers.next().unwrap(), *with)).collect();
            Some(Edit { place, mutants })
        });
        rewrite(text, edits.collect())
    }

    fn shown(text: &str, replacements: &[(Genre, &[&str])]) -> String {
        let text = rewritten(text, replacements).text;
        syn::parse_file(&text).unwrap();
        text.replace("crate::emend_mutant::is_on(", "on(")
    }

    #[test]
    fn a_function_returns_early() {
        assert_eq!(
            shown("fn f() -> u8 { g(); 1 }", &[(Genre::FnValue, &["0", "1"])]),
            "fn f() -> u8 { if on(1) { return 0; } if on(2) { return 1; } g(); 1 }"
        );
        let text = "fn f() { #[cfg(unix)] g(); }";
        assert_eq!(shown(text, &[(Genre::FnValue, &["()"])]), "fn f() { if on(1) { return (); } #[cfg(unix)] g(); }");
    }

    #[test]
    fn an_operator_keeps_its_operands() {
        assert_eq!(
            shown("fn f() { g(a + b, c) }", &[(Genre::BinaryOperator, &["-", "*"])]),
            "fn f() { g((if on(1) { ((a) - (b)) } else if on(2) { ((a) * (b)) } else { (a + b) }), c) }"
        );
        assert_eq!(
            shown("fn f() { if !a {} }", &[(Genre::UnaryOperator, &[""])]),
            "fn f() { if (if on(1) { (a) } else { (!a) }) {} }"
        );
    }

    #[test]
    fn nested_operators_are_switched_one_at_a_time() {
        assert_eq!(
            shown("fn f() { a == b && !c }", &[(Genre::BinaryOperator, &["||"]), (Genre::UnaryOperator, &[""])]),
            "fn f() { (if on(2) { ((a == b) || (!c)) } else { ((if on(1) { ((a) || (b)) } else { (a == b) }) && \
             (if on(3) { (c) } else { (!c) })) }) }"
        );
    }

    #[test]
    fn an_arm_gets_a_guard_and_a_guard_a_value() {
        let text = "fn f() { match a { 1 | 2 => b, c if c == d => e, _ => g } }";
        let kinds: [(Genre, &[&str]); 3] =
            [(Genre::MatchArm, &[""]), (Genre::MatchArmGuard, &["true", "false"]), (Genre::BinaryOperator, &["!="])];
        let shown = shown(text, &kinds);
        let guard =
            "c if (if on(4) { true } else if on(5) { false } else { ((if on(1) { ((c) != (d)) } else { (c == d) })) })";
        assert_eq!(shown, format!("fn f() {{ match a {{ 1 | 2 if !on(2) => b, {guard} => e, _ if !on(3) => g }} }}"));
    }

    #[test]
    fn an_error_blames_the_mutant_or_else_the_place() {
        let text = "fn f() { h(a + b == c); i() }";
        let rewritten = rewritten(text, &[(Genre::BinaryOperator, &["-", "*"]), (Genre::FnValue, &["0"])]);
        let blamed = |part: &str| {
            let at = rewritten.text.find(part).unwrap();
            rewritten.blame(&(at..at + 1))
        };
        assert_eq!(blamed("return 0"), Some(Blamed::Mutant(1)));
        assert_eq!(blamed("(a) * (b)"), Some(Blamed::Mutant(3)));
        assert_eq!(blamed("(a + b) - (c)"), Some(Blamed::Mutant(4)));
        // The operator inside is the nearest one.
        assert_eq!(blamed("a + b) })"), Some(Blamed::Place(vec![2, 3])));
        assert_eq!(blamed("c) }));"), Some(Blamed::Place(vec![4, 5])));
        assert_eq!(blamed("i()"), None);
    }
}
