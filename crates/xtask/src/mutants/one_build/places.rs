//! The places of a file that a switch can change at run time.
//!
//! They are found as cargo-mutants finds them, so that the start of a mutant identifies its place.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Result;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, Meta, Signature, Type};

use super::listed::{Genre, Position};

/// Bytes of a file.
pub(super) type Bytes = Range<usize>;

/// A place that mutants change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Place {
    /// The text that the switch replaces; empty where it is inserted.
    pub(super) range: Bytes,
    pub(super) form: Form,
    /// The reason why a switch cannot be here.
    pub(super) refused: Option<&'static str>,
}

/// The form of a switch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// The function returns early.
    Return,
    /// The operands of the operator.
    Binary(Bytes, Bytes),
    /// The operand of the operator.
    Unary(Bytes),
    /// The arm gets a guard.
    Arm,
    Guard,
}

/// Returns the places of a file by the kind and the start of their mutants.
pub(super) fn places(text: &str) -> Result<BTreeMap<(Genre, Position), Place>> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder { places: BTreeMap::new(), refused: None };
    finder.visit_file(&file);
    Ok(finder.places)
}

const CONSTANT: &str = "a constant";
const ELSEWHERE: &str = "not compiled on this system";
const LET: &str = "a condition with `let`";
const OPAQUE: &str = "the function returns `impl`";
const PARTIAL: &str = "a match whose `_` has a guard";

struct Finder {
    places: BTreeMap<(Genre, Position), Place>,
    /// The reason for everything that is visited now.
    refused: Option<&'static str>,
}

impl Finder {
    fn within(&mut self, refused: Option<&'static str>, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.refused, refused);
        visit(self);
        self.refused = before;
    }

    /// Visits what has these attributes.
    fn with(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        let refused = if is_elsewhere(attributes) { Some(ELSEWHERE) } else { self.refused };
        self.within(refused, visit);
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        self.within(self.refused.or(Some(CONSTANT)), visit);
    }

    fn add(&mut self, genre: Genre, at: proc_macro2::Span, range: Bytes, form: Form, refused: Option<&'static str>) {
        let start = at.start();
        let position = Position { line: start.line, column: start.column + 1 };
        self.places.insert((genre, position), Place { range, form, refused: self.refused.or(refused) });
    }

    fn function(&mut self, signature: &Signature, block: &Block, visit: impl FnOnce(&mut Self)) {
        let constant = signature.constness.map(|_| CONSTANT);
        let inherited = self.refused.filter(|refused| *refused == ELSEWHERE);
        self.within(inherited.or(constant), |finder| {
            if let Some(first) = block.stmts.first() {
                let at = first.span();
                let start = at.byte_range().start;
                finder.add(Genre::FnValue, at, start..start, Form::Return, is_opaque(signature).then_some(OPAQUE));
            }
            visit(finder);
        });
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.with(&item.attrs, |finder| {
            finder.function(&item.sig, &item.block, |finder| visit::visit_item_fn(finder, item));
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.with(&item.attrs, |finder| {
            finder.function(&item.sig, &item.block, |finder| visit::visit_impl_item_fn(finder, item));
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.with(&item.attrs, |finder| {
                finder.function(&item.sig, block, |finder| visit::visit_trait_item_fn(finder, item));
            });
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.with(&item.attrs, |finder| visit::visit_item_impl(finder, item));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.with(&item.attrs, |finder| visit::visit_item_mod(finder, item));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        self.with(&local.attrs, |finder| visit::visit_local(finder, local));
    }

    fn visit_expr_if(&mut self, expr: &'ast syn::ExprIf) {
        self.with(&expr.attrs, |finder| visit::visit_expr_if(finder, expr));
    }

    fn visit_expr_block(&mut self, expr: &'ast syn::ExprBlock) {
        self.with(&expr.attrs, |finder| visit::visit_expr_block(finder, expr));
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        let (left, right) = (expr.left.span().byte_range(), expr.right.span().byte_range());
        let refused = (has_let(&expr.left) || has_let(&expr.right)).then_some(LET);
        self.add(Genre::BinaryOperator, expr.op.span(), left.start..right.end, Form::Binary(left, right), refused);
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        let (operator, operand) = (expr.op.span(), expr.expr.span().byte_range());
        let range = operator.byte_range().start..operand.end;
        self.add(Genre::UnaryOperator, operator, range, Form::Unary(operand), None);
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        let is_whole = expr.arms.iter().any(|arm| matches!(arm.pat, syn::Pat::Wild(_)));
        for arm in expr.arms.iter().filter(|arm| !matches!(arm.pat, syn::Pat::Guard(_))) {
            let end = arm.pat.span().byte_range().end;
            self.with(&arm.attrs, |finder| {
                finder.add(Genre::MatchArm, arm.span(), end..end, Form::Arm, (!is_whole).then_some(PARTIAL));
            });
        }
        visit::visit_expr_match(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.with(&arm.attrs, |finder| visit::visit_arm(finder, arm));
    }

    fn visit_pat_guard(&mut self, pattern: &'ast syn::PatGuard) {
        let at = pattern.guard.span();
        self.add(Genre::MatchArmGuard, at, at.byte_range(), Form::Guard, has_let(&pattern.guard).then_some(LET));
        visit::visit_pat_guard(self, pattern);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        // The closure of a constant runs later.
        let refused = self.refused.filter(|refused| *refused != CONSTANT);
        self.within(refused, |finder| visit::visit_expr_closure(finder, closure));
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(|finder| visit::visit_item_const(finder, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(|finder| visit::visit_item_static(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(|finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.constant(|finder| visit::visit_trait_item_const(finder, item));
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.constant(|finder| visit::visit_variant(finder, variant));
    }

    fn visit_type_array(&mut self, array: &'ast syn::TypeArray) {
        self.constant(|finder| visit::visit_type_array(finder, array));
    }

    fn visit_generic_argument(&mut self, argument: &'ast syn::GenericArgument) {
        self.constant(|finder| visit::visit_generic_argument(finder, argument));
    }

    fn visit_expr_const(&mut self, block: &'ast syn::ExprConst) {
        self.constant(|finder| visit::visit_expr_const(finder, block));
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
        self.constant(|finder| finder.visit_expr(&repeat.len));
    }

    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        match pattern {
            syn::Pat::Range(_) => self.constant(|finder| visit::visit_pat(finder, pattern)),
            _ => visit::visit_pat(self, pattern),
        }
    }
}

/// Returns whether a condition binds names by `let`.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Returns whether a function returns a type without a name, which a fixed value of another type cannot be.
fn is_opaque(signature: &Signature) -> bool {
    struct Found(bool);
    impl Visit<'_> for Found {
        fn visit_type(&mut self, of: &Type) {
            self.0 |= matches!(of, Type::ImplTrait(_));
            visit::visit_type(self, of);
        }
    }
    let mut found = Found(false);
    found.visit_return_type(&signature.output);
    found.0
}

/// Returns whether attributes leave an item out on this system.
fn is_elsewhere(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let conditions = conditions.filter_map(|attribute| attribute.parse_args::<Meta>().ok());
    conditions.into_iter().any(|condition| holds(&condition) == Some(false))
}

/// Returns whether a condition of `cfg` holds for the tests here; `None` if that is not known.
fn holds(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::Path(path) if path.is_ident("test") => Some(true),
        Meta::Path(path) if path.is_ident("unix") => Some(cfg!(unix)),
        Meta::Path(path) if path.is_ident("windows") => Some(cfg!(windows)),
        Meta::NameValue(pair) => {
            let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(value), .. }) = &pair.value else { return None };
            let is_target = |name, here: &str| pair.path.is_ident(name).then(|| value.value() == here);
            is_target("target_os", std::env::consts::OS)
                .or_else(|| is_target("target_family", std::env::consts::FAMILY))
                .or_else(|| is_target("target_arch", std::env::consts::ARCH))
        }
        Meta::List(list) => {
            let parser = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
            let parts: Vec<Option<bool>> = list.parse_args_with(parser).ok()?.iter().map(holds).collect();
            match () {
                () if list.path.is_ident("not") => parts.first().copied()?.map(|holds| !holds),
                () if list.path.is_ident("all") && parts.contains(&Some(false)) => Some(false),
                () if list.path.is_ident("any") && parts.contains(&Some(true)) => Some(true),
                () if parts.contains(&None) => None,
                () => Some(list.path.is_ident("all")),
            }
        }
        Meta::Path(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the replaced text and the reason of each place.
    fn found(text: &str) -> Vec<(Genre, String, Option<&'static str>)> {
        let places = places(text).unwrap();
        places.into_iter().map(|((genre, _), place)| (genre, text[place.range].to_owned(), place.refused)).collect()
    }

    #[test]
    fn places_are_found_by_kind_and_start() {
        let text = "fn f(é: bool) -> bool {\n    // é\n    !é && match é { true if é => é, false => é, _ => é }\n}\n";
        let places = places(text).unwrap();
        let at = |genre, line, column| {
            let place = &places[&(genre, Position { line, column })];
            (&text[place.range.clone()], place.refused)
        };
        assert_eq!(at(Genre::FnValue, 3, 5), ("", None));
        assert_eq!(at(Genre::UnaryOperator, 3, 5), ("!é", None));
        assert!(at(Genre::BinaryOperator, 3, 8).0.starts_with("!é && match"));
        assert_eq!(at(Genre::MatchArmGuard, 3, 29), ("é", None));
        assert_eq!(at(Genre::MatchArm, 3, 37), ("", None));
    }

    #[test]
    fn constants_and_bindings_have_no_switch() {
        let refused = |text: &str| found(text).into_iter().map(|(_, _, refused)| refused).collect::<Vec<_>>();
        assert_eq!(refused("const A: usize = 1 + 2;"), [Some(CONSTANT)]);
        assert_eq!(refused("static A: L = L::new(|| 1 + 2);"), [None]);
        assert_eq!(refused("const fn f() -> u8 { 1 + 2 }"), [Some(CONSTANT); 2]);
        assert_eq!(refused("fn f() { g::<{ 1 + 2 }>([0; 3 + 4]); }"), [None, Some(CONSTANT), Some(CONSTANT)]);
        assert_eq!(refused("fn f() { if let A = a && b {} }"), [None, Some(LET)]);
        assert_eq!(refused("fn f() { match a { 1 => b, _ if c => d } }"), [None, Some(PARTIAL), None]);
        assert_eq!(refused("fn f() -> Option<impl A> { g() }"), [Some(OPAQUE)]);
    }

    #[test]
    fn code_for_other_systems_has_no_switch() {
        let refused = |cfg: &str| found(&format!("#[cfg({cfg})] fn f() {{ g() }}"))[0].2;
        assert_eq!(refused("target_family = \"wasm\""), Some(ELSEWHERE));
        assert_eq!(refused("not(target_family = \"wasm\")"), None);
        assert_eq!(refused("all(test, target_os = \"none\")"), Some(ELSEWHERE));
        assert_eq!(refused("any(feature = \"a\", target_os = \"none\")"), None);
    }
}
