//! The types of the API in TypeScript, made from the OpenAPI document.

use std::fmt::Write as _;

use serde_json::Value;

const HEAD: &str = "// Written by a test of `emend-server` from its OpenAPI document: \
`UPDATE_EXPECT=1 cargo test -p emend-server --lib`.\n";

/// Length of a line at which the formatter breaks it.
const LINE_MAX: usize = 120;

/// Returns a module with an interface or type for each schema, and the table of operations.
#[must_use]
pub fn typescript() -> String {
    let document: Value = serde_json::from_str(&crate::openapi::document()).unwrap_or_default();
    let mut text = HEAD.to_owned();
    for (name, schema) in fields(&document["components"]["schemas"]) {
        text.push('\n');
        comment(&mut text, "", schema);
        match schema["properties"].as_object() {
            Some(_) => line(&mut text, &format!("export interface {name} {}", object(schema, ""))),
            None => line(&mut text, &alias(name, &type_of(schema, ""))),
        }
    }
    text.push_str("\n/** Each operation: method, path, body and reply. A stream replies with events of the type. */\n");
    text.push_str("export interface Operations {\n");
    for (path, methods) in fields(&document["paths"]) {
        for (method, operation) in fields(methods) {
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            let body = if body.is_null() { "null".to_owned() } else { type_of(body, "  ") };
            let replies = fields(&operation["responses"]).find(|(status, _)| status.starts_with('2'));
            let reply = replies.and_then(|(_, reply)| Some(&reply["content"].as_object()?.values().next()?["schema"]));
            let reply = reply.map_or_else(|| "unknown".to_owned(), |schema| type_of(schema, "  "));
            let (name, method) = (operation["operationId"].as_str().unwrap_or_default(), method.to_uppercase());
            let _ = write!(text, "  {name}: {{\n    method: \"{method}\";\n    path: \"{path}\";\n");
            let _ = write!(text, "    body: {body};\n    reply: {reply};\n  }};\n");
        }
    }
    text.push_str("}\n");
    text
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Returns a named type. A long union has one line for each part.
fn alias(name: &str, meaning: &str) -> String {
    let short = format!("export type {name} = {meaning};");
    if short.len() <= LINE_MAX || meaning.contains('\n') {
        return short;
    }
    format!("export type {name} =\n  | {};", meaning.replace(" | ", "\n  | "))
}

fn comment(text: &mut String, indent: &str, schema: &Value) {
    if let Some(description) = schema["description"].as_str() {
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        line(text, &format!("{indent}/** {description} */"));
    }
}

fn object(schema: &Value, indent: &str) -> String {
    let mut text = "{\n".to_owned();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let inner = format!("{indent}  ");
    for (name, property) in fields(&schema["properties"]) {
        comment(&mut text, &inner, property);
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        line(&mut text, &format!("{inner}{name}{mark}: {};", type_of(property, &inner)));
    }
    text + indent + "}"
}

fn type_of(schema: &Value, indent: &str) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or("unknown").to_owned();
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    let joined = |parts: &Value, with: &str| {
        let mut parts: Vec<String> = parts.as_array().into_iter().flatten().map(|part| type_of(part, indent)).collect();
        // `null` last, as people write it.
        parts.sort_by_key(|part| part == "null");
        parts.join(with)
    };
    if schema["enum"].is_array() {
        let names = schema["enum"].as_array().into_iter().flatten().map(Value::to_string);
        return names.collect::<Vec<_>>().join(" | ");
    }
    for kind in ["oneOf", "anyOf"] {
        if schema[kind].is_array() {
            return joined(&schema[kind], " | ");
        }
    }
    if schema["allOf"].is_array() {
        return joined(&schema["allOf"], " & ");
    }
    match &schema["type"] {
        Value::Array(types) => {
            let one = |name: &Value| {
                let mut single = schema.clone();
                single["type"] = name.clone();
                type_of(&single, indent)
            };
            types.iter().map(one).collect::<Vec<_>>().join(" | ")
        }
        Value::String(name) => match name.as_str() {
            "integer" | "number" => "number".to_owned(),
            "array" => {
                let item = type_of(&schema["items"], indent);
                if item.contains(" | ") || item.contains(" & ") { format!("({item})[]") } else { format!("{item}[]") }
            }
            "object" if schema["properties"].is_object() => object(schema, indent),
            "object" => "Record<string, unknown>".to_owned(),
            "string" | "boolean" | "null" => name.clone(),
            _ => "unknown".to_owned(),
        },
        _ => "unknown".to_owned(),
    }
}
