//! Validates values against a subset of JSON Schema, with the same result on every host.
//!
//! The subset: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `anyOf`, `oneOf`,
//! `allOf`, `$ref` into the schema itself, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `minLength`,
//! `maxLength`, `minItems`, `maxItems`. Other keywords are ignored; [`unsupported_keywords`] lists them.

use serde_json::{Map, Value};

/// One violation of a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", if path.is_empty() { "value" } else { path })]
pub struct Violation {
    /// JSON pointer to the value, e.g. `/edits/2/line`; empty for the root.
    pub path: String,
    /// The expected and the actual value.
    pub problem: String,
}

impl Violation {
    /// Returns the stable code. Codes never change.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "schema_violation"
    }
}

/// The keywords that are validated.
const CHECKED: [&str; 20] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "$defs",
];
/// Keywords that describe and do not constrain.
const DESCRIBING: [&str; 9] =
    ["description", "title", "default", "examples", "$schema", "$id", "$comment", "definitions", "format"];
/// The deepest nesting that is followed, so that a recursive schema cannot exhaust the stack.
const DEPTH_MAX: usize = 100;

/// Returns the first violation of `schema` in `value`.
///
/// # Errors
///
/// [`Violation`], which names the place, the expected and the actual value.
pub fn validate(schema: &Value, value: &Value) -> Result<(), Violation> {
    Checker { root: schema }.check(schema, value, "", 0)
}

/// Returns the keywords of `schema` that [`validate`] ignores, sorted.
#[must_use]
pub fn unsupported_keywords(schema: &Value) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    each_schema(schema, &mut |keywords| {
        let unknown = |keyword: &&String| {
            let keyword = keyword.as_str();
            !CHECKED.contains(&keyword) && !DESCRIBING.contains(&keyword)
        };
        for keyword in keywords.keys().filter(unknown) {
            if let Err(at) = found.binary_search(keyword) {
                found.insert(at, keyword.clone());
            }
        }
    });
    found
}

/// Returns whether providers with strict enforcement accept the schema: every object lists all its properties as
/// required and allows no others.
#[must_use]
pub fn is_strict(schema: &Value) -> bool {
    let mut strict = schema["type"] == "object";
    each_schema(schema, &mut |keywords| {
        if let Some(properties) = keywords.get("properties").and_then(Value::as_object) {
            let required = keywords.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let all = properties.keys().all(|name| required.iter().any(|required| required == name.as_str()));
            strict &= all && keywords.get("additionalProperties") == Some(&Value::Bool(false));
        } else if keywords.get("type").is_some_and(|name| name == "object") {
            strict = false;
        }
    });
    strict
}

fn each_schema(schema: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    let Some(keywords) = schema.as_object() else { return };
    visit(keywords);
    for key in ["properties", "$defs", "definitions"] {
        if let Some(schemas) = keywords.get(key).and_then(Value::as_object) {
            schemas.values().for_each(|schema| each_schema(schema, visit));
        }
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for schema in keywords.get(key).and_then(Value::as_array).into_iter().flatten() {
            each_schema(schema, visit);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(schema) = keywords.get(key) {
            each_schema(schema, visit);
        }
    }
}

struct Checker<'a> {
    root: &'a Value,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, path: &str, depth: usize) -> Result<(), Violation> {
        if depth > DEPTH_MAX {
            return Err(violation(path, "nested too deeply".to_owned()));
        }
        if schema == &Value::Bool(false) {
            return Err(violation(path, "nothing is allowed here".to_owned()));
        }
        if let Some(target) = schema["$ref"].as_str() {
            let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            let target = target.ok_or_else(|| violation(path, format!("the schema refers to {}", schema["$ref"])))?;
            self.check(target, value, path, depth + 1)?;
        }
        check_type(schema, value, path)?;
        check_options(schema, value, path)?;
        check_ranges(schema, value, path)?;
        self.check_combinations(schema, value, path, depth)?;
        if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
            for (index, item) in items.iter().enumerate() {
                self.check(schema, item, &format!("{path}/{index}"), depth + 1)?;
            }
        }
        match value.as_object() {
            Some(object) => self.check_object(schema, object, path, depth),
            None => Ok(()),
        }
    }

    fn check_combinations(&self, schema: &Value, value: &Value, path: &str, depth: usize) -> Result<(), Violation> {
        for schema in schema["allOf"].as_array().into_iter().flatten() {
            self.check(schema, value, path, depth + 1)?;
        }
        for (key, exactly_one) in [("anyOf", false), ("oneOf", true)] {
            let Some(schemas) = schema[key].as_array() else { continue };
            let outcomes: Vec<Result<(), Violation>> =
                schemas.iter().map(|schema| self.check(schema, value, path, depth + 1)).collect();
            let n_matching = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            if exactly_one && n_matching > 1 {
                return Err(violation(path, format!("matches {n_matching} of the alternatives instead of one")));
            }
            if n_matching == 0 {
                // The alternative that fails deepest is the intended one.
                let meant = outcomes.into_iter().filter_map(Result::err).max_by_key(|error| error.path.len());
                return Err(meant.unwrap_or_else(|| violation(path, "no alternative is allowed".to_owned())));
            }
        }
        Ok(())
    }

    fn check_object(
        &self,
        schema: &Value,
        object: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Result<(), Violation> {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                let keys: Vec<&str> = object.keys().map(String::as_str).collect();
                let received = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
                return Err(violation(&child(path, name), format!("required but missing; received {received}")));
            }
        }
        for (name, value) in object {
            let path = child(path, name);
            match (schema["properties"].get(name), schema.get("additionalProperties")) {
                (Some(property), _) => self.check(property, value, &path, depth + 1)?,
                (None, Some(Value::Bool(false))) => {
                    let known = schema["properties"].as_object().into_iter().flat_map(Map::keys);
                    let known: Vec<&str> = known.map(String::as_str).collect();
                    return Err(violation(&path, format!("no such property; there are {}", known.join(", "))));
                }
                (None, Some(additional)) => self.check(additional, value, &path, depth + 1)?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

fn check_type(schema: &Value, value: &Value, path: &str) -> Result<(), Violation> {
    let expected: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let matches = expected.iter().any(|name| match *name {
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        name => name == type_name(value),
    });
    if matches {
        Ok(())
    } else {
        Err(violation(path, format!("expected {}, got {}", expected.join(" or "), shown(value))))
    }
}

fn check_options(schema: &Value, value: &Value, path: &str) -> Result<(), Violation> {
    if let Some(options) = schema["enum"].as_array().filter(|options| !options.contains(value)) {
        let options: Vec<String> = options.iter().map(Value::to_string).collect();
        return Err(violation(path, format!("expected one of {}, got {}", options.join(", "), shown(value))));
    }
    match schema.get("const") {
        Some(expected) if expected != value => {
            Err(violation(path, format!("expected {}, got {}", shown(expected), shown(value))))
        }
        _ => Ok(()),
    }
}

fn check_ranges(schema: &Value, value: &Value, path: &str) -> Result<(), Violation> {
    let (size, least, most, unit) = match value {
        Value::Number(number) => (number.as_f64(), "minimum", "maximum", ""),
        Value::String(text) => (Some(text.chars().count() as f64), "minLength", "maxLength", " characters"),
        Value::Array(items) => (Some(items.len() as f64), "minItems", "maxItems", " items"),
        _ => return Ok(()),
    };
    let Some(size) = size else { return Ok(()) };
    if let Some(least) = schema[least].as_f64().filter(|least| size < *least) {
        return Err(violation(path, format!("expected at least {}{unit}, got {}", plain(least), plain(size))));
    }
    if let Some(most) = schema[most].as_f64().filter(|most| size > *most) {
        return Err(violation(path, format!("expected at most {}{unit}, got {}", plain(most), plain(size))));
    }
    if value.is_number() {
        if let Some(bound) = schema["exclusiveMinimum"].as_f64().filter(|bound| size <= *bound) {
            return Err(violation(path, format!("expected more than {}, got {}", plain(bound), plain(size))));
        }
        if let Some(bound) = schema["exclusiveMaximum"].as_f64().filter(|bound| size >= *bound) {
            return Err(violation(path, format!("expected less than {}, got {}", plain(bound), plain(size))));
        }
    }
    Ok(())
}

/// Writes `10.0` as `10`. The JSON writer formats numbers, because it is part of the module anyway: the formatting of
/// the standard library would add 12 kB to the browser's module.
fn plain(number: f64) -> String {
    let text = Value::from(number).to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

fn child(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn violation(path: &str, problem: String) -> Violation {
    Violation { path: path.to_owned(), problem }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns `value` short enough for an error message.
fn shown(value: &Value) -> String {
    const CHARS_MAX: usize = 60;
    let text = value.to_string();
    let start: String = text.chars().take(CHARS_MAX).collect();
    let dots = if start.len() < text.len() { "…" } else { "" };
    format!("{} {start}{dots}", type_name(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(schema: Value, value: Value, expected: &str) {
        let found = validate(&schema, &value).map_or_else(|violation| violation.to_string(), |()| "ok".to_owned());
        assert_eq!(found, expected);
    }

    fn person() -> Value {
        json!({
            "type": "object", "required": ["name"], "additionalProperties": false,
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 5},
                "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 200},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
                "friend": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
            }
        })
    }

    #[test]
    fn violations_name_the_place_and_the_problem() {
        check(
            person(),
            json!({"name": "Al", "age": 3.0, "tags": ["a"], "friend": {"name": "Bo", "friend": null}}),
            "ok",
        );
        check(person(), json!("x"), "value: expected object, got string \"x\"");
        check(person(), json!({}), "/name: required but missing; received nothing");
        check(person(), json!({"name": ""}), "/name: expected at least 1 characters, got 0");
        check(person(), json!({"name": "Alfred"}), "/name: expected at most 5 characters, got 6");
        check(person(), json!({"name": "Al", "age": 1.5}), "/age: expected integer, got number 1.5");
        check(person(), json!({"name": "Al", "age": -1}), "/age: expected at least 0, got -1");
        check(person(), json!({"name": "Al", "age": 200}), "/age: expected less than 200, got 200");
        check(
            person(),
            json!({"name": "Al", "tags": ["c"]}),
            "/tags/0: expected one of \"a\", \"b\", got string \"c\"",
        );
        check(person(), json!({"name": "Al", "tags": ["a", "a", "a"]}), "/tags: expected at most 2 items, got 3");
        check(person(), json!({"name": "Al", "x": 1}), "/x: no such property; there are name, age, tags, friend");
        check(person(), json!({"name": "Al", "friend": {"name": 1}}), "/friend/name: expected string, got number 1");
    }

    #[test]
    fn combinations_and_constants_are_checked() {
        let one = json!({"oneOf": [{"type": "integer"}, {"minimum": 5}]});
        check(one.clone(), json!(3), "ok");
        check(one, json!(7), "value: matches 2 of the alternatives instead of one");
        check(json!({"allOf": [{"type": "integer"}, {"minimum": 5}]}), json!(3), "value: expected at least 5, got 3");
        check(json!({"const": "a"}), json!("b"), "value: expected string \"a\", got string \"b\"");
        check(
            json!({"additionalProperties": {"type": "string"}}),
            json!({"a": 1}),
            "/a: expected string, got number 1",
        );
        check(json!({"$ref": "#/$defs/none"}), json!(1), "value: the schema refers to \"#/$defs/none\"");
        check(json!({"$ref": "#"}), json!(1), "value: nested too deeply");
    }

    #[test]
    fn unsupported_keywords_are_listed() {
        let schema = json!({"type": "object", "not": {}, "properties": {"a": {"pattern": "x", "title": "t"}}});
        assert_eq!(unsupported_keywords(&schema), ["not", "pattern"]);
    }

    #[test]
    fn strictness_needs_all_properties_and_no_others() {
        assert!(!is_strict(&person()));
        let nested = json!({"type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "array", "items": {"type": "object"}}}});
        assert!(!is_strict(&nested));
        let strict = json!({"type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "string"}}});
        assert!(is_strict(&strict));
    }
}
