//! The form in which the model sees results: text, or the object that some families are trained on.

use serde_json::{Map, Value, json};

use super::error::ToolError;

/// The form of the results that the model sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultForm {
    /// The text of the tool, or `Tool error (NAME): [CODE] MESSAGE`.
    #[default]
    Text,
    /// `{"ok": true, "data": {"output"}}` or `{"ok": false, "error": {"code", "message", "suggestions"}}`.
    Envelope,
}

impl ResultForm {
    /// Returns the result of a call that worked. `text` is truncated already.
    #[must_use]
    pub fn done(self, text: String) -> Value {
        match self {
            Self::Text => Value::String(text),
            Self::Envelope => json!({ "ok": true, "data": { "output": text } }),
        }
    }

    /// Returns the result of a call that failed. `shorten` truncates a text.
    #[must_use]
    pub fn failed(self, tool: &str, error: &ToolError, shorten: impl FnOnce(&str) -> String) -> Value {
        let code = error.code.as_str();
        match self {
            Self::Text => Value::String(shorten(&format!("Tool error ({tool}): [{code}] {}", error.text()))),
            Self::Envelope => json!({
                "ok": false,
                "error": { "code": code, "message": shorten(&error.text()), "suggestions": error.suggestions },
            }),
        }
    }
}

/// Returns the text of a result in either form, or `None` for an object of another shape.
#[must_use]
pub fn result_text(content: &Value) -> Option<&str> {
    let envelope = || content.pointer("/data/output").or_else(|| content.pointer("/error/message"));
    content.as_str().or_else(|| content.get("ok").and_then(|_| envelope())?.as_str())
}

/// Replaces the text of a result, which keeps its form.
pub(crate) fn replace_result_text(content: &mut Value, text: String) {
    for (outer, inner) in [("data", "output"), ("error", "message")] {
        let object = content.get_mut(outer).and_then(Value::as_object_mut);
        if let Some(slot) = object.and_then(|object: &mut Map<String, Value>| object.get_mut(inner)) {
            *slot = Value::String(text);
            return;
        }
    }
    *content = Value::String(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_code::Code;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn results_have_the_form_that_is_asked_for_and_keep_it() {
        covers("debug.suggestion");
        let error = ToolError::new(Code::NotFound, "no a.md").with_suggestions(vec!["b.md".to_owned()]);
        #[track_caller]
        fn check(mut content: Value, json: &Value, text: &str) {
            assert_eq!((&content, result_text(&content)), (json, Some(text)));
            replace_result_text(&mut content, "gone".to_owned());
            assert_eq!(result_text(&content), Some("gone"));
            assert_eq!((content.is_string(), content.get("ok")), (json.is_string(), json.get("ok")));
        }
        let same = |text: &str| text.to_owned();
        let (text, envelope) = (ResultForm::Text, ResultForm::Envelope);
        check(text.done("one".to_owned()), &json!("one"), "one");
        check(envelope.done("one".to_owned()), &json!({ "ok": true, "data": { "output": "one" } }), "one");
        let message = "no a.md\nDid you mean b.md?";
        let shown = format!("Tool error (read): [not_found] {message}");
        check(text.failed("read", &error, same), &json!(shown), &shown);
        let expected =
            json!({ "ok": false, "error": { "code": "not_found", "message": message, "suggestions": ["b.md"] } });
        check(envelope.failed("read", &error, same), &expected, message);
        assert_eq!(result_text(&json!({ "data": { "output": "a tool's own object" } })), None);
    }
}
