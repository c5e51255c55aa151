//! Reading of schemas and validated arguments, shared by the tools.

use emend_edit::ContentHash;
use emend_edit::text::ParseHashError;
use serde_json::{Map, Value};

use crate::error_code::Code;
use crate::tool::{Target, ToolError};

/// Returns `count` with the singular or plural of `noun`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with("ch") || noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// Returns the subject of a search: the path that it searches.
pub(super) fn target_of_search(arguments: &Map<String, Value>) -> Target {
    let path = arguments.get("path").and_then(Value::as_str).map(str::to_owned);
    Target { paths: path.into_iter().collect(), ..Target::default() }
}

pub(super) fn text_argument<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number_argument(arguments: &Map<String, Value>, name: &str) -> Option<usize> {
    let number = arguments.get(name)?;
    // Models write 3.0 for 3. Validation has rejected fractions.
    let whole = number.as_u64().or_else(|| number.as_f64().map(|number| number as u64))?;
    usize::try_from(whole).ok()
}

pub(super) fn flag_argument(arguments: &Map<String, Value>, name: &str) -> bool {
    arguments.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the hash in an argument, with or without `sha256:`.
pub(super) fn hash_argument(arguments: &Map<String, Value>, name: &str) -> Result<Option<ContentHash>, ToolError> {
    let Some(text) = arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|error: ParseHashError| {
        ToolError::new(Code::InvalidArgument, format!("{name}: {error}. Omit it to use the version shown last."))
    })
}

/// Parses a tool's schema. It is written as text because code that builds the same value is three times as large in the
/// browser core.
pub(super) fn schema(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
