//! Differences between requests: between neighbours, so that recordings are short, and between a recorded and an actual
//! request, for error messages.

use serde_json::{Map, Value};

use super::scrub::NormalRequest;
use super::{Cassette, Exchange, History, RecordedRequest};

/// The fields that hold conversations, in all wire formats.
const HISTORY_FIELDS: [&str; 3] = ["messages", "input", "contents"];

/// The most characters shown of a text that differs.
const SHOWN_CHARS_MAX: usize = 80;

/// Returns `request` as the difference from `before`, the previous request in the same wire format.
pub(super) fn shorten(request: &NormalRequest, before: Option<&NormalRequest>) -> RecordedRequest {
    let mut recorded = RecordedRequest {
        url: request.url.clone(),
        digest: request.digest(),
        unchanged: Vec::new(),
        body: Map::new(),
        history: None,
    };
    for (field, value) in &request.body {
        let known = before.and_then(|before| before.body.get(field));
        match value {
            Value::Array(messages) if HISTORY_FIELDS.contains(&field.as_str()) => {
                let known = known.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let kept = messages.iter().zip(known).take_while(|(new, old)| new == old).count();
                recorded.history = Some(History { field: field.clone(), kept, added: messages[kept..].to_vec() });
            }
            value if known == Some(value) => recorded.unchanged.push(field.clone()),
            value => {
                recorded.body.insert(field.clone(), value.clone());
            }
        }
    }
    recorded
}

/// Returns the whole body of the request of `exchange`.
pub(super) fn whole_body(cassette: &Cassette, exchange: &Exchange) -> Map<String, Value> {
    let mut body = Map::new();
    let chain =
        cassette.exchanges.iter().filter(|other| other.api == exchange.api && other.ordinal <= exchange.ordinal);
    for Exchange { request, .. } in chain {
        let mut next = Map::new();
        for field in &request.unchanged {
            if let Some(value) = body.get(field) {
                next.insert(field.clone(), value.clone());
            }
        }
        next.extend(request.body.clone());
        if let Some(history) = &request.history {
            let before = body.get(&history.field).and_then(Value::as_array);
            let kept = before.into_iter().flatten().take(history.kept);
            next.insert(history.field.clone(), kept.chain(&history.added).cloned().collect());
        }
        body = next;
    }
    body
}

/// The first place where two values differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Path, e.g. `messages[2].content`.
    pub(super) path: String,
    /// The recorded value, shortened.
    pub(super) recorded: String,
    /// The actual value, shortened.
    pub(super) now: String,
}

/// Returns the first difference between two bodies, `None` if they are equal.
pub(super) fn first_difference(recorded: &Map<String, Value>, now: &Map<String, Value>) -> Option<Difference> {
    in_fields(String::new(), recorded, now)
}

fn in_values(path: String, recorded: &Value, now: &Value) -> Option<Difference> {
    match (recorded, now) {
        (Value::Object(recorded), Value::Object(now)) => in_fields(path, recorded, now),
        (Value::Array(recorded), Value::Array(now)) => {
            let longest = recorded.len().max(now.len());
            (0..longest).find_map(|index| in_places(format!("{path}[{index}]"), recorded.get(index), now.get(index)))
        }
        (Value::String(recorded), Value::String(now)) if recorded != now => Some(in_texts(path, recorded, now)),
        (recorded, now) if recorded == now => None,
        (recorded, now) => Some(Difference { path, recorded: show(Some(recorded)), now: show(Some(now)) }),
    }
}

fn in_fields(path: String, recorded: &Map<String, Value>, now: &Map<String, Value>) -> Option<Difference> {
    let fields = recorded.keys().chain(now.keys().filter(|field| !recorded.contains_key(*field)));
    let dot = if path.is_empty() { "" } else { "." };
    fields.into_iter().find_map(|field| in_places(format!("{path}{dot}{field}"), recorded.get(field), now.get(field)))
}

fn in_places(path: String, recorded: Option<&Value>, now: Option<&Value>) -> Option<Difference> {
    match (recorded, now) {
        (Some(recorded), Some(now)) => in_values(path, recorded, now),
        (recorded, now) => Some(Difference { path, recorded: show(recorded), now: show(now) }),
    }
}

/// Returns two texts from shortly before the first character in which they differ.
fn in_texts(path: String, recorded: &str, now: &str) -> Difference {
    let same = recorded.chars().zip(now.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(SHOWN_CHARS_MAX / 4);
    let part = |text: &str| {
        let part: String = text.chars().skip(from).take(SHOWN_CHARS_MAX).collect();
        let start = if from > 0 { "…" } else { "" };
        let end = if text.chars().count() > from + SHOWN_CHARS_MAX { "…" } else { "" };
        format!("{:?}", format!("{start}{part}{end}"))
    };
    Difference { path: format!("{path}, character {}", same + 1), recorded: part(recorded), now: part(now) }
}

fn show(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    if text.chars().count() <= SHOWN_CHARS_MAX {
        return text;
    }
    text.chars().take(SHOWN_CHARS_MAX).chain(['…']).collect()
}
