//! Redacts secrets and the project's path in recordings, and removes values that change from run to run.
//!
//! A provider streams texts in pieces, so a secret may be split across several events. The pieces of one text are
//! therefore searched as one text.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{ROOT_ALIAS, api_of};
use crate::secrets::{Secrets, credentials_of};
use crate::transport::{HttpRequest, public_address};

const REDACTED: &str = "[redacted]";

/// The placeholder of the root inside JSON that is itself a text, where the root is escaped twice.
const ROOT_ALIAS_IN_JSON: &str = "{{root|json}}";

/// Prompt lines with facts about the machine or the day.
const VOLATILE_LINES: [&str; 5] =
    ["Today's date:", "OS version:", "Platform:", "Working directory:", "Is git repository:"];

/// Prompt lines that appear only in a Git repository.
const REPOSITORY_LINES: [&str; 3] = ["Git branch:", "Git status:", "Recent commits:"];

/// Fields of a body that do not influence the response.
const VOLATILE_FIELDS: [&str; 4] = ["metadata", "prompt_cache_key", "safety_identifier", "user"];

/// The field of a tool result with the time at which a lease of the canvas ends.
const VOLATILE_TIME: &str = "expires_at";

/// The shortest value that is redacted, in bytes. Shorter values would hide ordinary words.
const SECRET_BYTES_MIN: usize = 8;

/// Returns the values of environment variables whose names mark them as secret.
pub fn secrets_of_environment(variables: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    const MARKS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];
    let is_secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        name.split('_').any(|word| MARKS.iter().any(|mark| word == *mark || word.strip_suffix('S') == Some(*mark)))
    };
    let secrets = variables.into_iter().filter(|(name, value)| value.len() >= SECRET_BYTES_MIN && is_secret(name));
    secrets.map(|(_, value)| value).collect()
}

/// A request in the form in which requests are compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NormalRequest {
    pub(super) api: String,
    pub(super) url: String,
    pub(super) body: Map<String, Value>,
}

impl NormalRequest {
    /// Returns the digest of the body, independent of the order of its keys.
    pub(super) fn digest(&self) -> String {
        let canonical = sorted(&Value::Object(self.body.clone())).to_string();
        let hash = Sha256::digest(canonical.as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{hex}")
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> = fields.iter().collect();
            fields.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// The values that must not be recorded.
#[derive(Clone)]
pub(super) struct Scrubber {
    /// Each value as it is, and as it is escaped in a JSON text.
    secrets: Vec<String>,
    root: String,
    by_look: Secrets,
}

impl Scrubber {
    /// `root` is the project's absolute path.
    pub(super) fn new(root: &str, secrets: impl IntoIterator<Item = String>) -> Self {
        let root = root.trim_end_matches(['/', '\\']).to_owned();
        let none = Self { secrets: Vec::new(), root, by_look: Secrets::default() };
        none.with(secrets)
    }

    fn with(&self, secrets: impl IntoIterator<Item = String>) -> Self {
        let mut all = self.secrets.clone();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= SECRET_BYTES_MIN) {
            // The requests of a conversation carry the same credentials.
            if !all.contains(&secret) {
                all.extend(forms(&secret));
            }
        }
        Self { by_look: Secrets::new(all.clone()), secrets: all, root: self.root.clone() }
    }

    /// Returns this scrubber with the credentials of `request` added.
    pub(super) fn with_credentials(&self, request: &HttpRequest) -> Self {
        self.with(credentials_of(&request.headers, &request.url))
    }

    /// Returns `request` in the form in which requests are recorded and compared.
    pub(super) fn request(&self, request: &HttpRequest) -> NormalRequest {
        let scrubber = self.with_credentials(request);
        let mut body = match serde_json::from_slice(&request.body) {
            Ok(Value::Object(fields)) => fields,
            Ok(other) => Map::from_iter([("body".to_owned(), other)]),
            Err(_) => Map::from_iter([("body".to_owned(), String::from_utf8_lossy(&request.body).into())]),
        };
        body.retain(|field, _| !VOLATILE_FIELDS.contains(&field.as_str()));
        let body = body.into_iter().map(|(field, value)| (field, scrubber.request_value(value))).collect();
        NormalRequest { api: api_of(request), url: self.text(&public_address(&request.url)), body }
    }

    fn request_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(without_volatile_lines(&without_times(&self.text(&text)))),
            Value::Array(items) => items.into_iter().map(|item| self.request_value(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                // Cache marks move from request to request.
                .filter(|(key, _)| key != "cache_control")
                .map(|(key, value)| match &value {
                    Value::Number(_) if key == VOLATILE_TIME => (key, Value::from(0)),
                    _ => (self.text(&key), self.request_value(value)),
                })
                .collect(),
            other => other,
        }
    }

    /// Returns `text` without secrets and with the placeholder of the root.
    pub(super) fn text(&self, text: &str) -> String {
        let mut scrubbed = String::with_capacity(text.len());
        let mut at = 0;
        for (range, replacement) in self.matches(text, &[]) {
            scrubbed.push_str(&text[at..range.start]);
            scrubbed.push_str(replacement);
            at = range.end;
        }
        scrubbed.push_str(&text[at..]);
        self.by_look.redact(&scrubbed)
    }

    /// Returns the body of a response as the texts to record: one for each server-sent event, else one.
    pub(super) fn body(&self, body: &str) -> Vec<String> {
        if let Ok(value) = serde_json::from_str::<Value>(body) {
            return vec![self.leaves(value).to_string()];
        }
        let mut events: Vec<Event> = split_events(body).into_iter().map(Event::parse).collect();
        self.scrub_events(&mut events);
        events.into_iter().map(|event| event.into_text(self)).filter(|text| !text.is_empty()).collect()
    }

    fn leaves(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.leaves(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(key, value)| (self.text(&key), self.leaves(value))).collect()
            }
            other => other,
        }
    }

    /// Redacts the texts that the events stream piece by piece.
    fn scrub_events(&self, events: &mut [Event]) {
        let mut texts: BTreeMap<String, Vec<Piece>> = BTreeMap::new();
        for (index, event) in events.iter().enumerate() {
            if let Some(data) = &event.data {
                collect_pieces(data, index, &mut String::new(), &mut String::new(), &mut texts);
            }
        }
        for pieces in texts.values() {
            let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
            let found: Vec<String> = self.by_look.credentials(&whole).into_iter().map(str::to_owned).collect();
            let matches = self.matches(&whole, &found);
            if matches.is_empty() {
                continue;
            }
            let mut start = 0;
            for piece in pieces {
                let span = start..start + piece.text.len();
                start = span.end;
                let event = &mut events[piece.event];
                if let Some(new) = rewritten(&whole, &span, &matches)
                    && let Some(leaf) = event.data.as_mut().and_then(|data| data.pointer_mut(&piece.pointer))
                {
                    *leaf = Value::String(new);
                    event.changed = true;
                }
            }
        }
    }

    /// Returns the positions of secrets and of the root in `text`, in order, with their replacements.
    fn matches<'a>(&self, text: &str, more_secrets: &'a [String]) -> Vec<(Range<usize>, &'a str)> {
        let mut found: Vec<(Range<usize>, &str)> = Vec::new();
        for secret in self.secrets.iter().chain(more_secrets) {
            found.extend(text.match_indices(secret).map(|(at, _)| (at..at + secret.len(), REDACTED)));
        }
        if self.root.len() > 1 {
            for (form, alias) in forms(&self.root).into_iter().zip([ROOT_ALIAS, ROOT_ALIAS_IN_JSON]) {
                let ends = |at: usize| !text[at..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
                let places = text.match_indices(&form).map(|(at, _)| at..at + form.len());
                found.extend(places.filter(|range| ends(range.end)).map(|range| (range, alias)));
            }
        }
        found.sort_by_key(|(range, _)| (range.start, usize::MAX - range.end));
        let mut end = 0;
        found.retain(|(range, _)| {
            let free = range.start >= end;
            end = if free { range.end } else { end };
            free
        });
        found
    }

    /// Restores the root in a recorded text, which is JSON or contains JSON.
    pub(super) fn restore(&self, text: &str) -> String {
        if !text.contains("{{root") {
            return text.to_owned();
        }
        let once = escaped(&self.root);
        text.replace(ROOT_ALIAS, &once).replace(ROOT_ALIAS_IN_JSON, &escaped(&once))
    }
}

/// Returns `text` as it is, and as it is escaped in a JSON text if that differs.
fn forms(text: &str) -> Vec<String> {
    let escaped = escaped(text);
    if escaped == text { vec![escaped] } else { vec![text.to_owned(), escaped] }
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns `text` with 0 as the time in each field of JSON in it that has one.
fn without_times(text: &str) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(VOLATILE_TIME) {
        let (before, value) = rest.split_at(at + VOLATILE_TIME.len());
        let mark = value.len() - value.trim_start_matches(['\\', '"', ':', ' ']).len();
        let (mark, value) = value.split_at(mark);
        rest = value.trim_start_matches(|c: char| c.is_ascii_digit());
        changed.push_str(before);
        changed.push_str(mark);
        if mark.contains(':') && rest.len() < value.len() {
            changed.push('0');
        } else {
            rest = value;
        }
    }
    changed + rest
}

fn without_volatile_lines(text: &str) -> String {
    if !VOLATILE_LINES.iter().chain(&REPOSITORY_LINES).any(|start| text.contains(start)) {
        return text.to_owned();
    }
    let lines = text.split_inclusive('\n').filter(|line| !REPOSITORY_LINES.iter().any(|start| line.starts_with(start)));
    let lines = lines.map(|line| match VOLATILE_LINES.iter().find(|start| line.starts_with(*start)) {
        Some(start) => format!("{start} …{}", if line.ends_with('\n') { "\n" } else { "" }),
        None => line.to_owned(),
    });
    lines.collect()
}

/// One server-sent event.
struct Event {
    /// The event as received, with its blank line.
    text: String,
    /// The data of the event, if that is one line of JSON.
    data: Option<Value>,
    changed: bool,
}

impl Event {
    fn parse(text: &str) -> Self {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let data = lines.next().and_then(|data| serde_json::from_str(data).ok());
        Self { text: text.to_owned(), data: data.filter(|_| lines.next().is_none()), changed: false }
    }

    fn into_text(self, scrubber: &Scrubber) -> String {
        match self.data {
            None => scrubber.text(&self.text),
            Some(_) if !self.changed => self.text,
            Some(data) => {
                let lines = self.text.split_inclusive('\n').map(|line| {
                    let end = &line[line.trim_end_matches(['\r', '\n']).len()..];
                    if line.starts_with("data:") { format!("data: {data}{end}") } else { line.to_owned() }
                });
                lines.collect()
            }
        }
    }
}

/// Splits a body after each blank line.
fn split_events(body: &str) -> Vec<&str> {
    let mut events = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        at += line.len();
        if line.trim_end_matches(['\r', '\n']).is_empty() {
            events.push(&body[start..at]);
            start = at;
        }
    }
    events.push(&body[start..]);
    events
}

/// A text in an event that may continue in later events.
struct Piece {
    event: usize,
    pointer: String,
    text: String,
}

/// Groups the texts of an event by their position: the same position in a later event continues the same text.
fn collect_pieces(
    value: &Value,
    event: usize,
    pointer: &mut String,
    place: &mut String,
    texts: &mut BTreeMap<String, Vec<Piece>>,
) {
    let (pointer_length, place_length) = (pointer.len(), place.len());
    match value {
        Value::String(text) => {
            let piece = Piece { event, pointer: pointer.clone(), text: text.clone() };
            texts.entry(place.clone()).or_default().push(piece);
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                place.push_str(&format!("/{index}"));
                collect_pieces(item, event, pointer, place, texts);
                pointer.truncate(pointer_length);
                place.truncate(place_length);
            }
        }
        Value::Object(fields) => {
            // Fields that distinguish parallel texts in the four wire formats.
            for field in ["index", "output_index", "content_index", "item_id"] {
                if let Some(value) = fields.get(field) {
                    place.push_str(&format!("[{field}={value}]"));
                }
            }
            let place_length = place.len();
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointer.push_str(&format!("/{key}"));
                place.push_str(&format!("/{key}"));
                collect_pieces(value, event, pointer, place, texts);
                pointer.truncate(pointer_length);
                place.truncate(place_length);
            }
        }
        _ => {}
    }
    place.truncate(place_length);
}

/// Returns the part `span` of `whole` with the matches replaced, `None` if no match touches it. The replacement is
/// inserted where the match begins.
fn rewritten(whole: &str, span: &Range<usize>, matches: &[(Range<usize>, &str)]) -> Option<String> {
    let touching = matches.iter().filter(|(range, _)| range.start < span.end && range.end > span.start);
    let mut new = None;
    let mut at = span.start;
    for (range, replacement) in touching {
        let new = new.get_or_insert_with(String::new);
        if range.start >= span.start {
            new.push_str(&whole[at..range.start]);
            new.push_str(replacement);
        }
        at = range.end.min(span.end);
    }
    new.map(|new: String| new + &whole[at..span.end])
}
