//! Malformed tool arguments recorded from models: repaired if they have exactly one reading, rejected otherwise.
//!
//! The rows are not part of the repository: `EMEND_CASES` names their directory, and without it they are skipped.

use emend_agent::tool::{read_arguments, tidy};
use serde_json::{Map, Value, json};

use crate::patch_cases::read_cases;

/// Ids of rows that are not a valid call as recorded; true if the arguments are repaired.
const EXPECTED: &[(&str, bool)] = &[
    ("bare-newline-escape", true),
    ("unquoted-win-path", false),
    ("unquoted-path", false),
    ("edits-as-string", true),
    ("edits-as-string-raw-newline", false),
    ("edits-as-string-hashline", true),
    ("raw-newline-in-string", true),
    ("raw-newline-in-edits", true),
    ("raw-tab-newline", true),
    ("concat-same", true),
    ("concat-different", false),
    ("empty-then-object", true),
    ("double-args", true),
    // Reading does not check for required arguments; the tool's schema does.
    ("empty-string", true),
    ("null-args", false),
    ("truncated-array", false),
    ("truncated-string", false),
    ("fenced-json", true),
    ("backtick-string", false),
    ("doubled-quote-single-quotes", false),
    ("unescaped-inner-quotes", false),
    ("double-encoded", true),
    ("tool-tag-inside", true),
    ("client-truncated", false),
    ("win-escape", false),
    ("over-escaped-newlines", true),
];

/// The part of the tools' schemas that matters for these rows: the types of lists.
fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["command", "path"],
        "properties": {
            "edits": {"type": "array", "items": {"type": "object"}},
            "view_range": {"type": "array", "items": {"type": "integer"}},
            "insert_line": {"type": "integer", "minimum": 1},
        },
    })
}

fn read(raw: &str) -> Result<Map<String, Value>, String> {
    let mut arguments = read_arguments(raw, &schema())?;
    tidy(&schema(), &mut arguments);
    match arguments.get("edits") {
        Some(Value::String(_)) => Err("edits: expected array, got string".to_owned()),
        _ => Ok(arguments),
    }
}

#[test]
fn malformed_arguments_are_read_in_one_way_or_refused() {
    let Some(cases) = read_cases("malformed_arguments.json", 38) else { return };
    let cases: Value = serde_json::from_str(&cases).expect("cases");
    let rows = cases["entries"].as_array().expect("entries");
    let mut n_read = 0;
    for row in rows {
        let (id, raw) = (row["id"].as_str().expect("an id"), row["arguments"].as_str().expect("arguments"));
        let outcome = read(raw);
        // Rows that are not listed are valid JSON with unusual values.
        let expected = EXPECTED.iter().find(|(known, _)| *known == id).is_none_or(|(_, is_read)| *is_read);
        assert_eq!(outcome.is_ok(), expected, "{id}: {outcome:?}");
        n_read += usize::from(outcome.is_ok());
        if let (Ok(arguments), Ok(Value::Object(plain))) = (&outcome, serde_json::from_str::<Value>(raw)) {
            // Empty optional keys are dropped; every other value is as the model wrote it.
            for (name, value) in arguments.iter().filter(|(name, _)| *name != "edits") {
                assert_eq!(Some(value), plain.get(name), "{id}: {name}");
            }
        }
        if id.starts_with("iso-all-keys") {
            let arguments = outcome.expect("a call");
            assert!(!arguments.values().any(|value| *value == "" || *value == 0), "{id}: {arguments:?}");
        }
    }
    println!("{} rows: {n_read} read, {} refused", rows.len(), rows.len() - n_read);
    assert_eq!(rows.len(), 38);
}
