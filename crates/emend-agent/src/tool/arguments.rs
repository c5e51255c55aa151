//! Tidies tool arguments before they are checked against the tool's schema by `emend_llm::schema`.

use serde_json::{Map, Value};

/// Drops optional properties that are null or, where the schema wants a string, empty: some models fill in every key.
pub fn drop_empty_optionals(schema: &Value, arguments: &mut Map<String, Value>) {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)))
    };
    arguments.retain(|name, value| required(name) || !(value.is_null() || value.as_str() == Some("")));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn empty_optional_keys_count_as_absent() {
        let schema = json!({"type": "object", "required": ["file_path"]});
        let mut arguments = json!({"file_path": "", "offset": null, "mode": ""}).as_object().cloned().unwrap();
        drop_empty_optionals(&schema, &mut arguments);
        assert_eq!(Value::Object(arguments), json!({"file_path": ""}));
    }
}
