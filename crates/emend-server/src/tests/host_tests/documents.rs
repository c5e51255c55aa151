//! Generated documents are current.

use std::collections::BTreeMap;

use emend_agent::event::{Event, EventKind};
use emend_agent::history::HistoryEntry;
use emend_agent::session::Compaction;
use emend_llm::{ModelInfo, Request, StreamEvent};
use expect_test::expect_file;
use serde_json::{Value, json};
use utoipa::{PartialSchema, ToSchema};

#[test]
fn the_openapi_document_is_current() {
    expect_file!["../../../../../docs/openapi.json"].assert_eq(&crate::document());
}

#[test]
fn the_page_of_the_api_is_current() {
    expect_file!["../../../../../docs/http-api.md"].assert_eq(&crate::reference());
}

/// `pkg/test/agent-types.mjs` makes the types and the table of names in `pkg/src` from this document.
#[test]
fn the_schemas_for_the_javascript_package_are_current() {
    let mut schemas = BTreeMap::new();
    add::<Event>(&mut schemas);
    add::<EventKind>(&mut schemas);
    add::<HistoryEntry>(&mut schemas);
    add::<Compaction>(&mut schemas);
    add::<Request>(&mut schemas);
    add::<StreamEvent>(&mut schemas);
    add::<ModelInfo>(&mut schemas);
    // Serialised, but not a field.
    let total = json!({ "type": "integer", "description": "Sum of input and output tokens." });
    schemas.get_mut("Usage").unwrap()["properties"]["total_tokens"] = total;
    expect_file!["../../../../../docs/agent-types.json"].assert_eq(&format!("{:#}\n", json!(schemas)));
}

fn add<T: PartialSchema + ToSchema>(schemas: &mut BTreeMap<String, Value>) {
    let mut found = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut found);
    schemas.extend(found.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap())));
}
