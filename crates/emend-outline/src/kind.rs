//! The kinds of definitions, in one vocabulary for all languages.

/// The kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A class or a record.
    Class,
    /// A constant outside of functions.
    Const,
    /// A function of C or C++ without its body. The definition is elsewhere.
    Declaration,
    /// An enumeration.
    Enum,
    /// A function or a method.
    Function,
    /// A block of methods of a type, in Rust.
    Impl,
    /// An interface or an annotation.
    Interface,
    /// A macro.
    Macro,
    /// A module or a namespace.
    Module,
    /// A struct.
    Struct,
    /// A trait.
    Trait,
    /// A named type that is none of the others.
    Type,
    /// A union of C, C++ or Rust.
    Union,
    /// A variable outside of functions.
    Variable,
}

impl Kind {
    /// Returns the word that stands for the kind in an outline.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Const => "const",
            Self::Declaration => "declaration",
            Self::Enum => "enum",
            Self::Function => "fn",
            Self::Impl => "impl",
            Self::Interface => "interface",
            Self::Macro => "macro",
            Self::Module => "mod",
            Self::Struct => "struct",
            Self::Trait => "trait",
            Self::Type => "type",
            Self::Union => "union",
            Self::Variable => "var",
        }
    }
}
