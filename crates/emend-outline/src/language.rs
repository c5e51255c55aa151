//! The languages, the endings of their files, and their grammars.

/// A language with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// C.
    C,
    /// C++, and headers, which may be of C or of C++.
    Cpp,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript with JSX.
    JavaScript,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TypeScript with JSX.
    Tsx,
    /// TypeScript.
    TypeScript,
}

/// Returns the language of a file by the ending of its name.
#[must_use]
pub fn language_of(path: &str) -> Option<Language> {
    let name = path.rsplit(['/', '\\']).next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    Some(match ending.to_ascii_lowercase().as_str() {
        "c" => Language::C,
        // The grammar of C++ reads nearly all headers of C. That of C reads no class.
        "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" => Language::Cpp,
        "go" => Language::Go,
        "java" => Language::Java,
        "cjs" | "js" | "jsx" | "mjs" => Language::JavaScript,
        "py" | "pyi" => Language::Python,
        "rs" => Language::Rust,
        "tsx" => Language::Tsx,
        "cts" | "mts" | "ts" => Language::TypeScript,
        _ => return None,
    })
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 9] = [
        Self::C,
        Self::Cpp,
        Self::Go,
        Self::Java,
        Self::JavaScript,
        Self::Python,
        Self::Rust,
        Self::Tsx,
        Self::TypeScript,
    ];

    /// Returns the grammar; `None` if this build lacks the feature of the language.
    pub(crate) fn grammar(self) -> Option<tree_sitter::Language> {
        let grammar = match self {
            #[cfg(feature = "c")]
            Self::C => tree_sitter_c::LANGUAGE,
            #[cfg(feature = "cpp")]
            Self::Cpp => tree_sitter_cpp::LANGUAGE,
            #[cfg(feature = "go")]
            Self::Go => tree_sitter_go::LANGUAGE,
            #[cfg(feature = "java")]
            Self::Java => tree_sitter_java::LANGUAGE,
            #[cfg(feature = "javascript")]
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            #[cfg(feature = "python")]
            Self::Python => tree_sitter_python::LANGUAGE,
            #[cfg(feature = "rust")]
            Self::Rust => tree_sitter_rust::LANGUAGE,
            #[cfg(feature = "tsx")]
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            #[cfg(feature = "typescript")]
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            #[expect(clippy::allow_attributes, reason = "whether the arm is reachable depends on the features")]
            #[allow(unreachable_patterns, reason = "an arm for builds without some languages")]
            _ => return None,
        };
        Some(grammar.into())
    }
}
