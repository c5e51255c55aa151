//! The OpenAPI document: paths from the table of operations, schemas from the types of the bodies.

use std::collections::BTreeMap;

use emend_agent::error_code::Code;
use emend_agent::service::{self, OPERATIONS, Operation, OperationInfo};
use emend_agent::tools;
use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::openapi_links::links;

type Schemas = BTreeMap<String, Value>;

/// Returns the document as JSON.
#[must_use]
pub fn document() -> String {
    let schemas = schemas();
    let mut paths: Map<String, Value> = Map::new();
    for info in OPERATIONS {
        let path = paths.entry(info.path).or_insert_with(|| json!({}));
        path[info.method.name().to_lowercase()] = operation(info, &schemas);
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Emend review service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sessions, jobs, events and review of an Emend agent.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    });
    // `Display` of a value with indentation cannot fail.
    format!("{document:#}\n")
}

fn operation(info: &OperationInfo, schemas: &Schemas) -> Value {
    let summary = info.summary.trim();
    let mut operation =
        json!({ "operationId": info.operation.name(), "summary": summary, "responses": responses(info, schemas) });
    let parameters: Vec<Value> = path_parameters(info.path).chain(query_parameters(info)).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(name) = info.request {
        let content = json!({ "application/json": { "schema": reference(name) } });
        // An absent body stands for an empty object.
        let is_required = schemas.get(name).is_some_and(|schema| schema["required"].is_array());
        operation["requestBody"] = json!({ "required": is_required, "content": content });
    }
    operation
}

fn path_parameters(path: &str) -> impl Iterator<Item = Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| {
        let schema = json!({ "type": "string", "minLength": 1 });
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    })
}

fn query_parameters(info: &OperationInfo) -> impl Iterator<Item = Value> {
    info.query.iter().map(|(name, is_number, description)| {
        // Every other parameter chooses among the results of an operation.
        let is_required = match info.operation {
            Operation::GetBuffer | Operation::Diff3 => *name == "file_path",
            Operation::SearchFiles => *name == "query",
            _ => false,
        };
        let schema = match (is_number, *name) {
            (true, "limit") => json!({ "type": "integer", "minimum": 1 }),
            (true, _) => json!({ "type": "integer", "minimum": 0 }),
            (false, _) if is_required => json!({ "type": "string", "minLength": 1 }),
            (false, "hidden") => json!({ "type": "string", "enum": ["true", "false"] }),
            (false, "status") => json!({ "type": "string", "enum": ["active", "archived"] }),
            (false, _) => json!({ "type": "string" }),
        };
        json!({ "name": name, "in": "query", "required": is_required, "description": description, "schema": schema })
    })
}

fn responses(info: &OperationInfo, schemas: &Schemas) -> Value {
    let (status, name) = info.reply;
    let kind = if info.is_stream { "text/event-stream" } else { "application/json" };
    let mut responses = Map::new();
    let description = if info.is_stream { "Events; `data:` of each message has the schema." } else { "Success." };
    let content = json!({ kind: { "schema": reference(name) } });
    let mut success = json!({ "description": description, "content": content });
    let links = links(info.operation, schemas);
    if !links.is_empty() {
        success["links"] = links.into();
    }
    responses.insert(status.to_string(), success);
    let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    // Every operation also answers a wrong argument, a wrong token, a foreign page, a large body and a busy client.
    let always =
        [(400, "invalid_argument"), (401, "permission_denied"), (403, "permission_denied"), (429, "limit_reached")];
    let with_body = [(413, "invalid_argument"), (415, "invalid_argument")];
    let with_body = with_body.into_iter().filter(|_| info.request.is_some());
    let own = info.errors.iter().map(|code: &Code| (code.row().http_status, code.as_str()));
    for (status, code) in always.into_iter().chain(with_body).chain(own) {
        let known = codes.entry(status).or_default();
        if !known.contains(&code) {
            known.push(code);
        }
    }
    for (status, codes) in codes {
        let content = json!({ "application/json": { "schema": reference("Failure") } });
        let description = format!("Error with the code {}.", codes.join(" or "));
        responses.insert(status.to_string(), json!({ "description": description, "content": content }));
    }
    Value::Object(responses)
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Texts of requests that must have a character other than white space, by schema and field.
const NOT_BLANK: [(&str, &str); 3] =
    [("CommentRequest", "text"), ("RunRequest", "instruction"), ("TextRequest", "text")];

/// Texts of requests that must not be empty.
const NOT_EMPTY: [(&str, &str); 4] = [
    ("CanvasOpenRequest", "file_path"),
    ("CommentRequest", "file_path"),
    ("DecideRequest", "file_path"),
    ("UserEditRequest", "file_path"),
];

/// Numbers of requests with the smallest value.
const AT_LEAST: [(&str, &str, u64); 3] =
    [("Budget", "cost_usd", 0), ("CommentRequest", "start_line", 1), ("CommentRequest", "end_line", 1)];

/// Replies of canvas operations to which the service adds the hashes of draft and artefact.
const CANVAS_REPLIES: [&str; 6] = ["CanvasEdited", "CanvasLines", "CanvasMatches", "CheckOut", "CheckedIn", "Renewed"];

/// Adds the rules that the types of the bodies do not state. A rule about several fields is in their descriptions only.
fn add_rules(schemas: &mut Schemas) {
    let rules = NOT_BLANK.iter().map(|(name, field)| (*name, *field, "pattern", json!("\\S")));
    let rules = rules.chain(NOT_EMPTY.iter().map(|(name, field)| (*name, *field, "minLength", json!(1))));
    let rules = rules.chain(AT_LEAST.iter().map(|(name, field, min)| (*name, *field, "minimum", json!(min))));
    for (name, field, rule, value) in rules {
        if let Some(schema) = schemas.get_mut(name) {
            schema["properties"][field][rule] = value;
        }
    }
    for name in CANVAS_REPLIES {
        for field in ["draft_hash", "artefact_hash"] {
            let found = schemas["CanvasBody"]["properties"][field].clone();
            if let Some(schema) = schemas.get_mut(name) {
                schema["properties"][field] = found;
            }
        }
    }
    if let Some(schema) = schemas.get_mut("SaveRequest") {
        schema["properties"]["file_paths"]["items"]["minLength"] = json!(1);
    }
}

fn add<T: PartialSchema + ToSchema>(schemas: &mut Schemas) {
    let mut found: Vec<(String, RefOr<Schema>)> = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut found);
    for (name, schema) in found {
        // A schema of strings and numbers is always JSON.
        schemas.insert(name, serde_json::to_value(schema).unwrap_or_default());
    }
}

macro_rules! add_all {
    ($schemas:ident, $module:ident: $($name:ident),*) => {
        $(add::<$module::$name>(&mut $schemas);)*
    };
}

fn schemas() -> Schemas {
    let mut schemas = Schemas::new();
    add_all!(
        schemas, service: ApplyReply, ApplyRequest, ApproveRequest, Buffer, CanvasBody, CanvasEditRequest,
        CanvasGrepRequest, CanvasLeaseRequest, CanvasOpenRequest, CanvasPatchRequest, CanvasPromoteRequest,
        CanvasReadRequest, CanvasUserEdit, ChangeLogBody, CheckpointBody, CheckpointList, ClarifyRequest, CommentList, CommentRequest,
        CreateSession, DecideRequest, Diff3Body, Done, EditHunkRequest, ErrorBody, EventList, EventRecord,
        FileList, FollowUpList, JobEvents, JobList, JobRecord, JobState, JobTrace, OutputBody, PermissionList, ReviewBody, RewindReply, RewindRequest, UnwindReply, UnwindRequest,
        RollbackBody, RollbackReply, RunReply, RunRequest, SaveReply, SaveRequest, SearchReply, ServiceLimits, SessionList, SessionRecord, SessionSnapshot,
        SplitRequest, StepRequest, TextRequest, TouchedBody, UpdateSession, UserEditRequest
    );
    add_all!(
        schemas, tools: CanvasEdited, CanvasLines, CanvasMatches, CheckOut, CheckedIn, Renewed
    );
    let failure = json!({
        "type": "object",
        "description": "Reply of a request that failed.",
        "required": ["ok", "error"],
        "properties": { "ok": { "const": false }, "error": reference("ErrorBody") },
    });
    schemas.insert("Failure".to_owned(), failure);
    add_rules(&mut schemas);
    schemas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_schema() {
        let document: Value = serde_json::from_str(&document()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 100, "{}", references.len());
        for reference in references {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            assert!(schemas.contains_key(name), "{name} has no schema; add it to the list in openapi.rs");
        }
        for info in OPERATIONS {
            let operation = &document["paths"][info.path][info.method.name().to_lowercase()];
            assert_eq!(operation["operationId"], info.operation.name());
        }
    }

    #[test]
    fn every_rule_is_about_a_field_that_exists() {
        let schemas = schemas();
        let texts = NOT_BLANK.iter().chain(&NOT_EMPTY).map(|(name, field)| (*name, *field, "string"));
        let lines = AT_LEAST.iter().map(|(name, field, _)| (*name, *field, "integer"));
        for (name, field, kind) in texts.chain(lines) {
            let found = &schemas[name]["properties"][field]["type"];
            let kind = if field == "cost_usd" { "number" } else { kind };
            assert!(found == kind || *found == json!([kind, "null"]), "{name}.{field}: {found}");
        }
        assert_eq!(schemas["SaveRequest"]["properties"]["file_paths"]["items"]["type"], "string");
    }

    fn collect(value: &Value, references: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                references.extend(fields.get("$ref").and_then(|reference| Some(reference.as_str()?.to_owned())));
                fields.values().for_each(|value| collect(value, references));
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
            _ => {}
        }
    }
}
