//! The definitions of a source file, as an outline: which functions, types and modules it has, and on which lines.
//!
//! [`language_of`] names the language of a path, and [`outline`] parses a text with the grammar of that language. A
//! grammar of tree-sitter accepts every text: damaged parts become error nodes, and the definitions around them stay.
//! So an outline is a help for reading. It proves nothing about the text.
//!
//! The crate opens no files. For a browser it is built once for each language, as a wasm module that exports [`outline`]
//! as plain functions.
//!
//! ```
//! use emend_outline::{Limits, language_of, outline};
//! let language = language_of("src/lib.rs").ok_or("unknown")?;
//! let found = outline(language, "struct A;\n\nimpl A {\n    fn new() -> A { A }\n}\n", &Limits::default())?;
//! let lines: Vec<String> = found.symbols.iter().map(ToString::to_string).collect();
//! assert_eq!(lines, ["1-1 struct A", "3-5 impl A", "  4-4 fn new"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod kind;
mod language;
mod name;
mod parse;
mod rules;
mod symbol;
mod walk;
#[cfg(target_family = "wasm")]
mod wasm;

pub use kind::Kind;
pub use language::{Language, language_of};
pub use parse::{Limits, OutlineError, outline};
pub use symbol::{Outline, Symbol};

#[cfg(test)]
mod tests;
