//! Repairs tool arguments before `emend_llm::schema` validates them, and gives an example of valid arguments.
//!
//! Mistakes with only one reading are repaired: raw control characters in strings, a code fence, arguments that were encoded
//! twice or sent twice. Truncated arguments are never completed, because half of an edit looks like a whole one. A call with
//! truncated or ambiguous arguments is rejected.

use serde_json::{Map, Value};

/// Parses the arguments of a call that arrived as text. `schema` is the schema of the tool.
///
/// # Errors
///
/// Returns a sentence for the model: what is wrong, where, and the next step.
pub fn read_arguments(raw: &str, schema: &Value) -> Result<Map<String, Value>, String> {
    if let Some(patch) = as_patch(raw, schema) {
        return Ok(patch);
    }
    let text = inside_fence(raw).unwrap_or(raw).trim();
    let text = escaped(text);
    let mut objects: Vec<Map<String, Value>> = Vec::new();
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        match value {
            Ok(Value::Object(object)) => objects.push(object),
            Ok(Value::String(inner)) if objects.is_empty() => match serde_json::from_str(&escaped(&inner)) {
                Ok(Value::Object(object)) => objects.push(object),
                _ => return Err("The arguments are a JSON string. Send one JSON object.".to_owned()),
            },
            Ok(_) => return Err("The arguments are not a JSON object. Send one JSON object.".to_owned()),
            Err(error) => return Err(broken(&text, &error)),
        }
    }
    let mut distinct = objects.iter().filter(|object| !object.is_empty());
    let Some(first) = distinct.next() else { return Ok(Map::new()) };
    if distinct.any(|object| object != first) {
        return Err(format!("The arguments are {} different JSON objects. Make one call for each.", objects.len()));
    }
    Ok(first.clone())
}

/// Returns a bare patch as the only required text of the tool. Models know the patch format well and forget to wrap it.
fn as_patch(raw: &str, schema: &Value) -> Option<Map<String, Value>> {
    let required = schema["required"].as_array().filter(|names| names.len() == 1)?;
    let name = required.first().and_then(Value::as_str)?;
    let is_text = schema["properties"][name]["type"] == "string";
    (is_text && raw.trim_start().starts_with("*** Begin Patch"))
        .then(|| Map::from_iter([(name.to_owned(), Value::from(raw))]))
}

/// Returns the content of the only code fence, or `None` if the text starts like JSON.
fn inside_fence(raw: &str) -> Option<&str> {
    if raw.trim_start().starts_with(['{', '"']) {
        return None;
    }
    let (_, rest) = raw.split_once("```")?;
    let (_, rest) = rest.split_once('\n')?;
    let (inside, after) = rest.split_once("\n```")?;
    (!after.contains("```")).then_some(inside)
}

/// Escapes raw control characters in strings, and unescapes line breaks between tokens.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut in_string, mut after_backslash) = (false, false);
    for char in text.chars() {
        let was_backslash = std::mem::replace(&mut after_backslash, false);
        match char {
            '"' if in_string && was_backslash => out.push('"'),
            '"' => {
                in_string = !in_string;
                out.push('"');
            }
            '\\' if !was_backslash => {
                after_backslash = true;
                out.push('\\');
            }
            'n' | 'r' | 't' if was_backslash && !in_string => {
                out.pop();
                out.push(' ');
            }
            '\n' if in_string => out.push_str("\\n"),
            '\r' if in_string => out.push_str("\\r"),
            '\t' if in_string => out.push_str("\\t"),
            char => out.push(char),
        }
    }
    out
}

/// Returns the error for text that is not JSON, with the text before the fault.
fn broken(text: &str, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "The JSON of the arguments is truncated. The call did not run. Send it again, in smaller pieces."
            .to_owned();
    }
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before: String = line.chars().take(error.column()).collect();
    let near: String = before.chars().skip(before.chars().count().saturating_sub(30)).collect();
    format!(
        "The arguments are not valid JSON: {error}, after `{near}`. Quote every value, and write \\\" for a quote and \\\\ \
         for a backslash inside a string."
    )
}

/// Repairs mistakes that the schema reveals.
///
/// Optional properties that are null, empty, or zero below a minimum are removed, because some models fill in every key. A
/// list or an object that arrived as JSON text is parsed.
pub fn tidy(schema: &Value, arguments: &mut Map<String, Value>) {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    arguments.retain(|name, value| {
        let is_empty = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Number(number) => {
                number.as_f64() == Some(0.0)
                    && schema["properties"][&**name]["minimum"].as_f64().is_some_and(|least| least > 0.0)
            }
            Value::Bool(_) | Value::Object(_) => false,
        };
        !is_empty || required.iter().any(|required| required == name.as_str())
    });
    for (name, value) in arguments {
        let schema = &schema["properties"][&**name];
        let wanted = schema["type"].as_str().filter(|wanted| matches!(*wanted, "array" | "object"));
        if let (Some(wanted), Value::String(text)) = (wanted, &*value)
            && let Ok(inner) = serde_json::from_str::<Value>(&escaped(text))
            && (inner.is_array() && wanted == "array" || inner.is_object() && wanted == "object")
        {
            *value = inner;
        }
        match value {
            Value::Object(object) => tidy(schema, object),
            Value::Array(items) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(|item| tidy(&schema["items"], item));
            }
            _ => {}
        }
    }
}

/// Returns arguments that fit a schema: the required properties, with values that show their types.
#[must_use]
pub fn example(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required
        .map(|name| (name.to_owned(), example_value(name, &schema["properties"][name])))
        .collect::<Map<_, _>>()
        .into()
}

fn example_value(name: &str, schema: &Value) -> Value {
    if let Some(value) = schema["examples"].get(0).or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    match schema["type"].as_str().unwrap_or_default() {
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| Value::from(1)),
        "boolean" => Value::Bool(true),
        "array" => Value::Array(vec![example_value(name, &schema["items"])]),
        "object" => example(schema),
        _ if name.ends_with("path") => Value::from("src/main.rs"),
        _ => Value::from("..."),
    }
}

/// Returns suggestions for unknown keys, each with the closest property that the call does not use yet.
#[must_use]
pub fn meant(schema: &Value, arguments: &Map<String, Value>) -> Vec<String> {
    let Some(known) = schema["properties"].as_object() else { return Vec::new() };
    let free = || known.keys().map(String::as_str).filter(|name| !arguments.contains_key(*name));
    let unknown = arguments.keys().filter(|name| !known.contains_key(*name));
    let questions = unknown.filter_map(|name| {
        let close = crate::suggest::closest(name, free(), 1);
        close.first().map(|close| format!("{close} instead of {name}"))
    });
    questions.take(3).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["file_path", "edits"],
            "properties": {
                "file_path": {"type": "string"},
                "edits": {"type": "array", "items": {
                    "type": "object", "required": ["start_line", "kind"],
                    "properties": {
                        "start_line": {"type": "integer", "minimum": 1}, "end_line": {"type": "integer", "minimum": 1},
                        "kind": {"enum": ["insert", "delete"]}, "text": {"type": "string"}
                    }
                }},
                "offset": {"type": "integer", "minimum": 1},
                "indent": {"type": "integer", "minimum": 0},
                "mode": {"type": "string"},
                "options": {"type": "object"}
            }
        })
    }

    #[track_caller]
    fn check(raw: &str, expected: Value) {
        let found = read_arguments(raw, &schema()).map_or_else(Value::String, Value::Object);
        match (&found, &expected) {
            (Value::String(found), Value::String(part)) => assert!(found.contains(&**part), "{raw}: {found}"),
            _ => assert_eq!(found, expected, "{raw}"),
        }
    }

    #[test]
    fn what_can_be_read_in_one_way_only_is_read() {
        check(r#"{"a": 1}"#, json!({"a": 1}));
        check("{\"a\": \"x\n\ty\r\"}", json!({"a": "x\n\ty\r"}));
        check(r#"{"a": "say \"hi\"\\", "b": 2}"#, json!({"a": "say \"hi\"\\", "b": 2}));
        check(r#"{"a": \n[1, 2]\n\n}"#, json!({"a": [1, 2]}));
        check("Here it is:\n```json\n{\"a\": \"```\"}\n```\n", json!({"a": "```"}));
        check("Here it is:\n```json\n{\"a\": 1}\n```\nDone.", json!({"a": 1}));
        check(r#""{\"a\": \"x\"}""#, json!({"a": "x"}));
        check(r#"{"a":1}{"a":1}"#, json!({"a": 1}));
        check(r#"{}{"a":1}"#, json!({"a": 1}));
        check("", json!({}));
    }

    #[test]
    fn what_was_cut_or_can_be_read_in_two_ways_is_refused() {
        check(r#"{"path":"a.ts","content":"export function f() {\n  retu"#, json!("is truncated"));
        check(r#"{"commands": ["npm install", "npm test""#, json!("is truncated"));
        check(r#"{"a":1}{"a":2}"#, json!("2 different JSON objects"));
        check(r#"{"files": E:\Folder\report.md}"#, json!("after `{\"files\": E`"));
        check(r#"{"path": "C:\Users\x"}"#, json!("invalid escape"));
        check(r#"{"a": "print("hello")"}"#, json!("after `{\"a\": \"print(\"h`"));
        check("{\"edits\": [`const a = 1;`]}", json!("not valid JSON"));
        check("{\"\"paths\": ['app.py']}", json!("not valid JSON"));
        check("[1]", json!("not a JSON object"));
        check("null", json!("not a JSON object"));
        check("\"text\"", json!("JSON string"));
        check("one -> 1", json!("not valid JSON"));
    }

    #[test]
    fn a_bare_patch_is_taken_by_a_tool_that_wants_one_text() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
        let one = json!({"required": ["patch"], "properties": {"patch": {"type": "string"}}});
        assert_eq!(Value::from(read_arguments(patch, &one).unwrap()), json!({ "patch": patch }));
        assert!(read_arguments(patch, &schema()).is_err());
    }

    #[test]
    fn keys_that_say_nothing_count_as_absent() {
        let mut arguments = json!({
            "file_path": "", "offset": 0, "indent": 0, "mode": "", "options": null,
            "edits": [{"start_line": 0, "end_line": 0, "kind": null, "text": ""}]
        });
        tidy(&schema(), arguments.as_object_mut().unwrap());
        let kept = json!({"file_path": "", "indent": 0, "edits": [{"start_line": 0, "kind": null}]});
        assert_eq!(arguments, kept);
    }

    #[test]
    fn lists_and_objects_that_came_as_text_are_read() {
        let tidied = |value: Value| {
            let mut arguments = value;
            tidy(&schema(), arguments.as_object_mut().unwrap());
            arguments
        };
        let edits =
            tidied(json!({"edits": "[{\"start_line\": 1, \"text\": \"a\nb\"}]", "options": "{}", "mode": "[1]"}));
        assert_eq!(edits, json!({"edits": [{"start_line": 1, "text": "a\nb"}], "options": {}, "mode": "[1]"}));
        assert_eq!(tidied(json!({"edits": "[{", "options": "[]"})), json!({"edits": "[{", "options": "[]"}));
    }

    #[test]
    fn an_example_fits_its_schema() {
        let example = example(&schema());
        assert_eq!(example, json!({"file_path": "src/main.rs", "edits": [{"start_line": 1, "kind": "insert"}]}));
        assert_eq!(emend_llm::schema::validate(&schema(), &example), Ok(()));
    }

    #[test]
    fn unknown_keys_are_taken_for_the_closest_free_one() {
        let arguments = |value: Value| value.as_object().cloned().unwrap();
        assert_eq!(meant(&schema(), &arguments(json!({"path": "a"}))), ["file_path instead of path"]);
        assert_eq!(meant(&schema(), &arguments(json!({"file": "a", "modes": "x"}))).len(), 2);
        assert_eq!(meant(&schema(), &arguments(json!({"file_path": "a", "zzz": 1}))), [""; 0]);
    }
}
