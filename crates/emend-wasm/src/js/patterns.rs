//! Patterns that the module of the regex engine runs. The JavaScript layer loads it on the first one.

use emend_agent::search::MatcherError;
use emend_agent::search::elsewhere::{Pattern, Patterns};
use emend_llm::BoxFuture;
use js_sys::Function;
use wasm_bindgen::prelude::*;

use super::call::thrown_error;
use crate::host::promise;

#[wasm_bindgen]
extern "C" {
    /// A compiled pattern on the JavaScript side. Exceptions are JSON text that has `message` and `code`.
    pub type JsPattern;

    /// Returns the position of the first match of each matching line. `content` is copied.
    #[wasm_bindgen(method, catch, js_name = matchStarts)]
    fn match_starts(this: &JsPattern, content: &[u8], max: usize) -> Result<Vec<u32>, JsValue>;

    /// Reports that the pattern is no longer needed.
    #[wasm_bindgen(method)]
    fn free(this: &JsPattern);
}

/// Releases the pattern when it is dropped.
struct OpenPattern(JsPattern);

impl Drop for OpenPattern {
    fn drop(&mut self) {
        self.0.free();
    }
}

/// A function that compiles patterns. It gets the pattern and whether case is ignored, and returns a promise of a
/// [`JsPattern`].
pub(crate) struct JsPatterns(pub(crate) Function);

impl Patterns for JsPatterns {
    fn load(
        &self,
        pattern: &str,
        case_insensitive: bool,
    ) -> BoxFuture<'static, Result<Box<dyn Pattern>, MatcherError>> {
        let called = self.0.call2(&JsValue::UNDEFINED, &pattern.into(), &case_insensitive.into());
        Box::pin(async move {
            let settled = match called {
                Ok(loading) => promise(&loading).await,
                Err(thrown) => Err(thrown),
            };
            let loaded = settled.map_err(|thrown| failed(&thrown))?;
            Ok(Box::new(OpenPattern(loaded.unchecked_into())) as Box<dyn Pattern>)
        })
    }
}

impl Pattern for OpenPattern {
    fn match_starts(&self, content: &[u8], max: usize) -> Result<Vec<usize>, MatcherError> {
        let starts = self.0.match_starts(content, max).map_err(|thrown| failed(&thrown))?;
        Ok(starts.into_iter().map(|start| start as usize).collect())
    }
}

fn failed(thrown: &JsValue) -> MatcherError {
    let error = thrown_error(thrown);
    MatcherError { code: error.code, message: error.message }
}
