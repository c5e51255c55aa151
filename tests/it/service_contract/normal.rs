//! Replies without the parts that differ between runs: ids, times, durations, tokens and costs. Of a long text only the
//! start and the length are kept.

use serde_json::{Value, json};

/// Names of numbers that differ between runs and hosts.
const MEASURES: [&str; 10] = [
    "at_ms",
    "cost_usd",
    "duration_ms",
    "expires_at",
    "input_tokens",
    "latency_ms",
    "ms",
    "output_tokens",
    "total_tokens",
    "reasoning_tokens",
];

/// Maximum number of characters of a text that is kept as a whole, and of the start of a longer one.
const LONG: usize = 2_000;
const START: usize = 100;

/// Numbers ids by the order of their first appearance.
#[derive(Default)]
pub(super) struct Normal {
    ids: Vec<String>,
}

impl Normal {
    /// Returns the value with placeholders. Fields are visited in alphabetical order, so that every runner counts alike.
    pub(super) fn of(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.of(item)).collect(),
            Value::Object(fields) => {
                let mut names: Vec<&String> = fields.keys().collect();
                names.sort();
                let field = |name: &String| {
                    let is_measure = MEASURES.contains(&name.as_str()) && fields[name].is_number();
                    (name.clone(), if is_measure { json!(0) } else { self.of(&fields[name]) })
                };
                names.into_iter().map(field).collect()
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let text = without_measures(&self.without_ids(text));
        let n_chars = text.chars().count();
        if n_chars <= LONG {
            return text;
        }
        let start: String = text.chars().take(START).collect();
        format!("{start}… <{n_chars} characters>")
    }

    fn without_ids(&mut self, text: &str) -> String {
        let (mut normal, mut rest) = (String::new(), text);
        while let Some(first) = rest.chars().next() {
            if let Some(id) = matched(rest, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
                let at = self.ids.iter().position(|known| known == id).unwrap_or_else(|| {
                    self.ids.push(id.to_owned());
                    self.ids.len() - 1
                });
                normal += &format!("<{}>", at + 1);
                rest = &rest[id.len()..];
            } else if let Some(time) = matched(rest, "0000-00-00T00:00:00.000Z") {
                normal += "<time>";
                rest = &rest[time.len()..];
            } else if let Some(random) = matched(rest, ".xxxxxxxxxxxxxxxx") {
                // The last part of the name of an output.
                normal += ".<random>";
                rest = &rest[random.len()..];
            } else {
                normal.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        normal
    }
}

/// Returns a text with 0 for each number of milliseconds or tokens: summaries contain fields as text.
fn without_measures(text: &str) -> String {
    let (mut normal, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(|found: char| found.is_ascii_digit()) {
        normal += &rest[..start];
        let length = rest[start..].find(|found: char| !found.is_ascii_digit()).unwrap_or(rest.len() - start);
        let (number, after) = rest[start..].split_at(length);
        let before = ["_ms=", "_ms\":", "_tokens=", "_tokens\":"];
        let is_measure = before.iter().any(|name| normal.ends_with(name)) || after.starts_with(" ms");
        normal += if is_measure { "0" } else { number };
        rest = after;
    }
    normal + rest
}

/// Returns the start of a text that has a form: `x` stands for a hexadecimal digit and `0` for a decimal digit.
fn matched<'a>(text: &'a str, form: &str) -> Option<&'a str> {
    let start = text.get(..form.len())?;
    let fits = |(found, wanted): (char, char)| match wanted {
        'x' => found.is_ascii_hexdigit(),
        '0' => found.is_ascii_digit(),
        other => found == other,
    };
    start.chars().zip(form.chars()).all(fits).then_some(start)
}
