//! For each language the nodes of its grammar that are definitions.

use crate::kind::Kind;
use crate::language::Language;

/// How a node becomes a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) kind: Kind,
    pub(crate) naming: Naming,
    pub(crate) place: Place,
}

/// How the name of a node is found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Naming {
    /// By a field.
    Field(&'static str),
    /// By each child in the field `name`.
    Each,
    /// By a field, if the node has a body.
    WithBody,
    /// By a field, if the node has a value.
    WithValue,
    /// By one field, if the other is a function.
    FunctionIn(&'static str),
    /// By the field `name`: a function or a class if the value is one, otherwise a constant outside of functions.
    Binding,
    /// By a field that is a plain identifier.
    Identifier(&'static str),
    /// By the innermost of the nested declarators of C.
    Declarator,
    /// As [`Declarator`](Self::Declarator), if one of them is a function's.
    Prototype,
    /// By the trait and the type of a block of Rust.
    Impl,
    /// By the type of the receiver and the field `name`, in Go.
    Receiver,
}

/// The places at which a node is a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Anywhere,
    /// Not in the body of a function.
    OutsideFunctions,
    /// Neither in a function nor in a type.
    TopLevel,
}

const NAME: Naming = Naming::Field("name");

/// Returns the rule for a kind of node; `None` if it is not a definition.
pub(crate) fn rule(language: Language, node: &str) -> Option<Rule> {
    match language {
        Language::C | Language::Cpp => c(node),
        Language::Go => go(node),
        Language::Java => java(node),
        Language::JavaScript | Language::Tsx | Language::TypeScript => javascript(node),
        Language::Python => python(node),
        Language::Rust => rust(node),
    }
}

/// Returns whether a node without a name is a function. Variables in it are not symbols.
pub(crate) fn is_nameless_function(node: &str) -> bool {
    let of_c = ["lambda_expression"];
    let of_others = ["arrow_function", "closure_expression", "func_literal", "function_expression", "lambda"];
    of_c.contains(&node) || of_others.contains(&node)
}

fn anywhere(kind: Kind, naming: Naming) -> Option<Rule> {
    Some(Rule { kind, naming, place: Place::Anywhere })
}

fn outside_functions(kind: Kind, naming: Naming) -> Option<Rule> {
    Some(Rule { kind, naming, place: Place::OutsideFunctions })
}

fn at_top(kind: Kind, naming: Naming) -> Option<Rule> {
    Some(Rule { kind, naming, place: Place::TopLevel })
}

fn c(node: &str) -> Option<Rule> {
    match node {
        "function_definition" => anywhere(Kind::Function, Naming::Declarator),
        "declaration" | "field_declaration" => outside_functions(Kind::Declaration, Naming::Prototype),
        "struct_specifier" => anywhere(Kind::Struct, Naming::WithBody),
        "union_specifier" => anywhere(Kind::Union, Naming::WithBody),
        "enum_specifier" => anywhere(Kind::Enum, Naming::WithBody),
        "class_specifier" => anywhere(Kind::Class, Naming::WithBody),
        "type_definition" => anywhere(Kind::Type, Naming::Declarator),
        "alias_declaration" | "concept_definition" => outside_functions(Kind::Type, NAME),
        "namespace_definition" => anywhere(Kind::Module, NAME),
        "preproc_function_def" => anywhere(Kind::Macro, NAME),
        // A macro without a value guards a header against a second inclusion.
        "preproc_def" => anywhere(Kind::Macro, Naming::WithValue),
        _ => None,
    }
}

fn go(node: &str) -> Option<Rule> {
    match node {
        "function_declaration" => anywhere(Kind::Function, NAME),
        "method_declaration" => anywhere(Kind::Function, Naming::Receiver),
        "type_spec" | "type_alias" => anywhere(Kind::Type, NAME),
        "const_spec" => outside_functions(Kind::Const, Naming::Each),
        "var_spec" => outside_functions(Kind::Variable, Naming::Each),
        _ => None,
    }
}

fn java(node: &str) -> Option<Rule> {
    match node {
        "class_declaration" | "record_declaration" => anywhere(Kind::Class, NAME),
        "interface_declaration" | "annotation_type_declaration" => anywhere(Kind::Interface, NAME),
        "enum_declaration" => anywhere(Kind::Enum, NAME),
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            anywhere(Kind::Function, NAME)
        }
        _ => None,
    }
}

fn javascript(node: &str) -> Option<Rule> {
    match node {
        "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "method_definition"
        | "method_signature"
        | "abstract_method_signature" => anywhere(Kind::Function, NAME),
        "class_declaration" | "abstract_class_declaration" => anywhere(Kind::Class, NAME),
        "interface_declaration" => anywhere(Kind::Interface, NAME),
        "enum_declaration" => anywhere(Kind::Enum, NAME),
        "type_alias_declaration" => outside_functions(Kind::Type, NAME),
        "internal_module" | "module" => anywhere(Kind::Module, NAME),
        "variable_declarator" => anywhere(Kind::Const, Naming::Binding),
        "public_field_definition" => anywhere(Kind::Function, Naming::FunctionIn("name")),
        "field_definition" => anywhere(Kind::Function, Naming::FunctionIn("property")),
        "pair" => anywhere(Kind::Function, Naming::FunctionIn("key")),
        "assignment_expression" => anywhere(Kind::Function, Naming::FunctionIn("left")),
        _ => None,
    }
}

fn python(node: &str) -> Option<Rule> {
    match node {
        "function_definition" => anywhere(Kind::Function, NAME),
        "class_definition" => anywhere(Kind::Class, NAME),
        "type_alias_statement" => outside_functions(Kind::Type, Naming::Field("left")),
        "assignment" => at_top(Kind::Variable, Naming::Identifier("left")),
        _ => None,
    }
}

fn rust(node: &str) -> Option<Rule> {
    match node {
        "function_item" | "function_signature_item" => anywhere(Kind::Function, NAME),
        "struct_item" => anywhere(Kind::Struct, NAME),
        "enum_item" => anywhere(Kind::Enum, NAME),
        "union_item" => anywhere(Kind::Union, NAME),
        "trait_item" => anywhere(Kind::Trait, NAME),
        "impl_item" => anywhere(Kind::Impl, Naming::Impl),
        "type_item" | "associated_type" => outside_functions(Kind::Type, NAME),
        "const_item" => outside_functions(Kind::Const, NAME),
        "static_item" => outside_functions(Kind::Variable, NAME),
        "mod_item" => anywhere(Kind::Module, NAME),
        "macro_definition" => anywhere(Kind::Macro, NAME),
        _ => None,
    }
}
