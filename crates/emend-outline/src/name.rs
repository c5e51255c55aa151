//! Finds the names of nodes.

use tree_sitter::Node;

use crate::kind::Kind;
use crate::rules::{Naming, Place, Rule};

/// The most characters of a name. Only the type of an `impl` is often longer.
const CHARS_MAX: usize = 120;

/// The bytes of a node that are read for its name. Damaged text can put half a file into a name.
const BYTES_READ_MAX: usize = 1_024;

/// The most declarators around a name. Code has two or three; damaged text can have any number.
const DECLARATORS_MAX: usize = 32;

/// Returns the names that a node defines, with their kind. Most nodes define one.
pub(crate) fn names(node: Node<'_>, rule: Rule, place: Place, text: &[u8]) -> Vec<(Kind, String)> {
    let field = |name| node.child_by_field_name(name);
    let of = |found: Option<Node<'_>>| found.and_then(|found| cleaned(found, text));
    let name = match rule.naming {
        Naming::Field(name) => of(field(name)),
        Naming::WithBody => field("body").and_then(|_| of(field("name"))),
        Naming::WithValue => field("value").and_then(|_| of(field("name"))),
        Naming::FunctionIn(name) => field(value_field(node)).filter(is_function).and_then(|_| of(field(name))),
        Naming::Identifier(name) => of(field(name).filter(is_identifier)),
        Naming::Declarator => of(declared(node).map(|(name, _)| name)),
        Naming::Prototype => of(declared(node).filter(|(_, is_function)| *is_function).map(|(name, _)| name)),
        Naming::Impl => impl_name(node, text),
        Naming::Receiver => receiver_name(node, text),
        Naming::Binding => return binding(node, place, text).into_iter().collect(),
        Naming::Each => {
            let mut cursor = node.walk();
            let each = node.children_by_field_name("name", &mut cursor).filter(is_identifier);
            return each.filter_map(|name| Some((rule.kind, cleaned(name, text)?))).collect();
        }
    };
    let kind = if rule.kind == Kind::Type { kind_of_type(node) } else { rule.kind };
    name.map(|name| (kind, name)).into_iter().collect()
}

fn is_identifier(node: &Node<'_>) -> bool {
    node.kind() == "identifier"
}

fn is_function(node: &Node<'_>) -> bool {
    ["arrow_function", "function_expression", "generator_function"].contains(&node.kind())
}

fn value_field(node: Node<'_>) -> &'static str {
    if node.kind() == "assignment_expression" { "right" } else { "value" }
}

/// Returns the text of a node on one line; `None` if it has no letter, as in damaged text.
fn cleaned(node: Node<'_>, text: &[u8]) -> Option<String> {
    let bytes = text.get(node.byte_range())?;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(BYTES_READ_MAX)]);
    let mut name = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = name.char_indices().nth(CHARS_MAX) {
        name.truncate(end);
        name.push('…');
    }
    name.contains(|c: char| c.is_alphabetic() || c == '_' || c == '$').then_some(name)
}

/// Returns the kind of a type of Go.
fn kind_of_type(node: Node<'_>) -> Kind {
    match node.child_by_field_name("type").map(|found| found.kind()) {
        Some("struct_type") => Kind::Struct,
        Some("interface_type") => Kind::Interface,
        _ => Kind::Type,
    }
}

/// Returns the variable of JavaScript that a node declares.
fn binding(node: Node<'_>, place: Place, text: &[u8]) -> Option<(Kind, String)> {
    let name = cleaned(node.child_by_field_name("name").filter(is_identifier)?, text)?;
    match node.child_by_field_name("value") {
        Some(value) if is_function(&value) => Some((Kind::Function, name)),
        Some(value) if value.kind() == "class" => Some((Kind::Class, name)),
        _ => (place == Place::TopLevel).then_some((Kind::Const, name)),
    }
}

/// Returns the name in the declarators of a node of C, and whether it is that of a function.
fn declared(node: Node<'_>) -> Option<(Node<'_>, bool)> {
    let mut inner = node.child_by_field_name("declarator")?;
    let mut is_function = false;
    for _ in 0..DECLARATORS_MAX {
        let next = match inner.kind() {
            // The declarator of a reference has no field.
            "reference_declarator" | "parenthesized_declarator" => inner.named_child(0),
            _ => inner.child_by_field_name("declarator"),
        };
        let Some(next) = next else { return Some((inner, is_function)) };
        // The parentheses in `int (*f)(int)` declare a variable.
        is_function |= inner.kind() == "function_declarator" && next.kind() != "parenthesized_declarator";
        inner = next;
    }
    None
}

fn impl_name(node: Node<'_>, text: &[u8]) -> Option<String> {
    let of_type = cleaned(node.child_by_field_name("type")?, text)?;
    let of_trait = node.child_by_field_name("trait").and_then(|found| cleaned(found, text));
    Some(of_trait.map_or_else(|| of_type.clone(), |of_trait| format!("{of_trait} for {of_type}")))
}

/// Returns `Type.Method` of a method `func (t *Type[T]) Method()`.
fn receiver_name(node: Node<'_>, text: &[u8]) -> Option<String> {
    let name = cleaned(node.child_by_field_name("name")?, text)?;
    let receiver = node.child_by_field_name("receiver").and_then(|found| cleaned(found, text)).unwrap_or_default();
    let of_type = receiver.split('[').next().unwrap_or_default().trim_matches(['(', ')', ' ']);
    let of_type = of_type.rsplit([' ', '*']).next().unwrap_or_default();
    Some(if of_type.is_empty() { name } else { format!("{of_type}.{name}") })
}
