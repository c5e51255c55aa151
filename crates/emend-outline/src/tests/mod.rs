//! Outlines of texts in each language, of damaged texts and of very large ones.

mod damaged;
mod languages;

use crate::{Language, Limits, outline};

/// Returns the lines of the outline of a text.
fn lines(language: Language, text: &str) -> Vec<String> {
    let found = outline(language, text, &Limits::default()).unwrap();
    assert!(!found.truncated);
    found.symbols.iter().map(ToString::to_string).collect()
}

/// A text in each language, with the word `inner` as the name of its innermost definition.
fn sample(language: Language) -> &'static str {
    match language {
        Language::C => "struct outer {\n  int a;\n};\nint inner(void) {\n  return 1;\n}\n",
        Language::Cpp => "namespace outer {\nclass A {\n  int inner() { return 1; }\n};\n}\n",
        Language::Go => "package outer\n\nfunc inner() int {\n\treturn 1\n}\n",
        Language::Java => "class Outer {\n  int inner() { return 1; }\n}\n",
        Language::JavaScript => "class Outer {\n  inner() { return <p>1</p>; }\n}\n",
        Language::Python => "class Outer:\n    def inner(self):\n        return 1\n",
        Language::Rust => "mod outer {\n    fn inner() -> u8 {\n        1\n    }\n}\n",
        Language::Tsx => "class Outer {\n  inner(): Node { return <p>1</p>; }\n}\n",
        Language::TypeScript => "class Outer {\n  inner(): number { return <number>1; }\n}\n",
    }
}
