//! Walks through a syntax tree and collects its definitions.
//!
//! The walk has no recursion, because the depth of a tree is that of the brackets in the text.

use tree_sitter::{Node, Tree, TreeCursor};

use crate::kind::Kind;
use crate::language::Language;
use crate::name;
use crate::rules::{self, Place};
use crate::symbol::{Outline, Symbol};

/// Number of nodes between two looks at the clock.
const NODES_AT_ONCE: usize = 1_024;

/// Returns the definitions of a tree, at most `symbols_max`; `None` if `has_time` is false before the end.
pub(crate) fn symbols(
    tree: &Tree,
    language: Language,
    text: &[u8],
    symbols_max: usize,
    has_time: impl Fn() -> bool,
) -> Option<Outline> {
    let mut walk = Walk { language, text, depth: 0, around: Vec::new(), function: None, found: Outline::default() };
    let mut cursor = tree.walk();
    for n_nodes in 1_usize.. {
        if n_nodes.is_multiple_of(NODES_AT_ONCE) && !has_time() {
            return None;
        }
        walk.visit(cursor.node());
        if walk.found.symbols.len() > symbols_max {
            walk.found.symbols.truncate(symbols_max);
            walk.found.truncated = true;
            break;
        }
        if !walk.advance(&mut cursor) {
            break;
        }
    }
    Some(walk.found)
}

struct Walk<'a> {
    language: Language,
    text: &'a [u8],
    /// Number of nodes around the present one. The cursor would count them anew each time.
    depth: usize,
    /// The depths of the symbols around the present node.
    around: Vec<usize>,
    /// The depth of the outermost function around the present node.
    function: Option<usize>,
    found: Outline,
}

impl Walk<'_> {
    /// Moves to the next node in the order of the text. Returns false after the last one.
    fn advance(&mut self, cursor: &mut TreeCursor<'_>) -> bool {
        if cursor.goto_first_child() {
            self.depth += 1;
            return true;
        }
        loop {
            self.leave();
            if cursor.goto_next_sibling() {
                return true;
            }
            if !cursor.goto_parent() {
                return false;
            }
            self.depth -= 1;
        }
    }

    /// Forgets the present node as one that is around others.
    fn leave(&mut self) {
        if self.around.last() == Some(&self.depth) {
            self.around.pop();
        }
        if self.function == Some(self.depth) {
            self.function = None;
        }
    }

    fn visit(&mut self, node: Node<'_>) {
        if !node.is_named() {
            return;
        }
        let node_kind = node.kind();
        if rules::is_nameless_function(node_kind) {
            self.function.get_or_insert(self.depth);
        }
        let place = match (self.function, self.around.is_empty()) {
            (Some(_), _) => Place::Anywhere,
            (None, false) => Place::OutsideFunctions,
            (None, true) => Place::TopLevel,
        };
        let is_here = |rule: &rules::Rule| match rule.place {
            Place::Anywhere => true,
            Place::OutsideFunctions => place != Place::Anywhere,
            Place::TopLevel => place == Place::TopLevel,
        };
        let Some(rule) = rules::rule(self.language, node_kind).filter(is_here) else { return };
        let names = name::names(node, rule, place, self.text);
        let Some((kind, _)) = names.first() else { return };
        let kind = *kind;
        let depth = self.around.len();
        let (first_line, last_line) = lines(node);
        let symbol = |(kind, name)| Symbol { name, kind, first_line, last_line, depth };
        self.found.symbols.extend(names.into_iter().map(symbol));
        self.around.push(self.depth);
        if kind == Kind::Function {
            self.function.get_or_insert(self.depth);
        }
    }
}

/// Returns the first and the last line of a node, from 1.
fn lines(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position(), node.end_position());
    // The end of some nodes is the start of the next line.
    let last_row = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    (start.row + 1, last_row + 1)
}
