//! The export of the regex engine's module: patterns that are searched for in bytes.

use emend_agent::error_code::Code;
use emend_agent::search::Matcher;
use wasm_bindgen::prelude::*;

use crate::failure::Failure;

/// A compiled pattern.
#[wasm_bindgen]
pub struct PatternHandle(Matcher);

#[wasm_bindgen]
impl PatternHandle {
    /// Compiles a pattern.
    #[wasm_bindgen(constructor)]
    pub fn new(pattern: &str, ignore_case: bool) -> Result<PatternHandle, JsValue> {
        let matcher = Matcher::new(pattern, ignore_case);
        matcher.map(Self).map_err(|error| Failure::new(Code::InvalidArgument, error.to_string()).into_js())
    }

    /// Returns the position of the first match of each of the first `max` matching lines.
    #[wasm_bindgen(js_name = matchStarts)]
    pub fn match_starts(&self, content: &[u8], max: usize) -> Vec<usize> {
        self.0.match_starts(content, max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_pattern_is_found_in_each_line_or_refused() {
        let pattern = PatternHandle::new("b+", true).unwrap();
        assert_eq!(pattern.match_starts(b"ab bb\n\nB", 10), [1, 7]);
        assert_eq!(pattern.match_starts(b"ab bb\n\nB", 1), [1]);
        let refused = PatternHandle::new("(", false).map(|_| ()).unwrap_err();
        let field = |name: &str| js_sys::Reflect::get(&refused, &name.into()).unwrap().as_string();
        assert_eq!(field("code").as_deref(), Some("invalid_argument"));
        assert!(field("message").is_some_and(|message| message.contains("unclosed group")));
    }
}
