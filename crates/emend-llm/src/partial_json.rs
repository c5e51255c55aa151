//! Reads JSON while it arrives: the arguments of a tool call can be shown while the model still writes them.
//!
//! The cost is linear in the text however it is cut, because the value grows in place: nothing is parsed again and
//! nothing is copied. Only an incomplete end is accepted; a syntax error before the end is an error.

use serde_json::{Map, Value};

/// A syntax error in a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no JSON at byte {at}")]
pub struct PartialJsonError {
    /// Position in bytes from the start of the text. Inside a malformed number or word it may be any byte of it.
    pub at: usize,
}

impl PartialJsonError {
    /// Returns the stable code. Codes never change.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "invalid_json"
    }
}

/// The deepest accepted nesting.
const DEPTH_MAX: usize = 128;

/// An incremental reader of one JSON value.
#[derive(Clone, Debug, Default)]
pub struct PartialJson {
    root: Value,
    /// The open containers, outermost first: true for an object.
    open: Vec<bool>,
    state: State,
    /// An incomplete key, number or word, or the digits of an escape.
    token: String,
    /// The first half of a character that JSON escapes as a surrogate pair.
    surrogate: Option<u16>,
    n_bytes: usize,
    error: Option<PartialJsonError>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Expects a value; true where the container may also end.
    #[default]
    Value,
    FirstItem,
    /// Expects a key.
    Key,
    FirstKey,
    InKey,
    Colon,
    InString,
    /// After a backslash, in a key (true) or a string.
    Escape(bool),
    /// In the digits after `\u`.
    Unicode(bool),
    /// In a number or one of the words `true`, `false`, `null`.
    InWord,
    AfterValue,
    Done,
}

impl PartialJson {
    /// Returns a reader without input.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value so far. A string may be incomplete; a number, word or key appears once it is complete.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.root
    }

    /// Returns whether the value is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state == State::Done
    }

    /// Reads the next piece of text.
    ///
    /// # Errors
    ///
    /// [`PartialJsonError`] at the first byte that is not valid JSON. Every later call returns the same error.
    pub fn push(&mut self, text: &str) -> Result<(), PartialJsonError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut rest = text;
        while !rest.is_empty() {
            let Some(read) = self.step(rest) else {
                let error = PartialJsonError { at: self.n_bytes + (text.len() - rest.len()) };
                self.error = Some(error);
                return Err(error);
            };
            rest = &rest[read..];
        }
        self.n_bytes += text.len();
        Ok(())
    }

    /// Reads the start of `text` and returns the number of bytes read, at least one. Returns `None` if the text is not
    /// JSON.
    fn step(&mut self, text: &str) -> Option<usize> {
        match self.state {
            State::InString | State::InKey => return self.in_text(text),
            State::InWord => {
                let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-')));
                self.token.push_str(&text[..end.unwrap_or(text.len())]);
                let Some(end) = end else { return Some(text.len()) };
                let word = std::mem::take(&mut self.token);
                let value = serde_json::from_str(&word).ok()?;
                self.put(value);
                self.end_value();
                if end > 0 {
                    return Some(end);
                }
                return self.step(text);
            }
            _ => {}
        }
        let first = text.chars().next()?;
        let blank = matches!(first, ' ' | '\t' | '\n' | '\r');
        match self.state {
            State::Escape(in_key) => self.escape(first, in_key)?,
            State::Unicode(in_key) => self.unicode(first, in_key)?,
            _ if blank => {}
            State::Value | State::FirstItem => self.begin_value(first)?,
            State::Key | State::FirstKey => match first {
                '"' => self.state = State::InKey,
                '}' if self.state == State::FirstKey => self.close(true)?,
                _ => return None,
            },
            State::Colon if first == ':' => self.state = State::Value,
            State::AfterValue => match (first, self.open.last()?) {
                (',', true) => self.state = State::Key,
                (',', false) => {
                    self.state = State::Value;
                }
                ('}', true) => self.close(true)?,
                (']', false) => self.close(false)?,
                _ => return None,
            },
            _ => return None,
        }
        Some(first.len_utf8())
    }

    /// Reads a string or key up to its end, an escape or the end of the text.
    fn in_text(&mut self, text: &str) -> Option<usize> {
        let in_key = self.state == State::InKey;
        let end = text.bytes().position(|byte| matches!(byte, b'"' | b'\\') || byte < 0x20).unwrap_or(text.len());
        if end > 0 {
            if self.surrogate.is_some() {
                return None;
            }
            self.append(&text[..end], in_key);
            return Some(end);
        }
        match text.as_bytes()[0] {
            b'\\' => self.state = State::Escape(in_key),
            b'"' if self.surrogate.is_some() => return None,
            b'"' if in_key => {
                let key = std::mem::take(&mut self.token);
                let fields = self.current()?.as_object_mut()?;
                // The last of equal keys wins, and the value being read must be the last child.
                fields.shift_remove(&key);
                fields.insert(key, Value::Null);
                self.state = State::Colon;
            }
            b'"' => self.end_value(),
            _ => return None,
        }
        Some(1)
    }

    fn append(&mut self, text: &str, in_key: bool) {
        if in_key {
            self.token.push_str(text);
        } else if let Some(Value::String(string)) = self.place() {
            string.push_str(text);
        }
    }

    fn escape(&mut self, first: char, in_key: bool) -> Option<()> {
        let character = match first {
            'u' => {
                // The digits of the escape follow the key that is being read.
                self.state = State::Unicode(in_key);
                self.token.push('\0');
                return Some(());
            }
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '"' | '\\' | '/' => first,
            _ => return None,
        };
        if self.surrogate.is_some() {
            return None;
        }
        self.append(character.encode_utf8(&mut [0; 4]), in_key);
        self.state = if in_key { State::InKey } else { State::InString };
        Some(())
    }

    fn unicode(&mut self, first: char, in_key: bool) -> Option<()> {
        first.is_ascii_hexdigit().then_some(())?;
        self.token.push(first);
        let start = self.token.rfind('\0')?;
        if self.token.len() - start <= 4 {
            return Some(());
        }
        let unit = u16::from_str_radix(&self.token[start + 1..], 16).ok()?;
        self.token.truncate(start);
        self.state = if in_key { State::InKey } else { State::InString };
        let units = match self.surrogate.take() {
            Some(high) => [high, unit],
            None if (0xD800..0xDC00).contains(&unit) => {
                self.surrogate = Some(unit);
                return Some(());
            }
            None => [unit, 0],
        };
        let n_units = if units[0] == unit { 1 } else { 2 };
        let text = String::from_utf16(&units[..n_units]).ok()?;
        self.append(&text, in_key);
        Some(())
    }

    fn begin_value(&mut self, first: char) -> Option<()> {
        match first {
            '"' => {
                self.put(Value::String(String::new()));
                self.state = State::InString;
            }
            '{' | '[' => {
                if self.open.len() >= DEPTH_MAX {
                    return None;
                }
                let object = first == '{';
                self.put(if object { Value::Object(Map::new()) } else { Value::Array(Vec::new()) });
                self.open.push(object);
                self.state = if object { State::FirstKey } else { State::FirstItem };
            }
            ']' if self.state == State::FirstItem => self.close(false)?,
            '-' | '0'..='9' | 't' | 'f' | 'n' => {
                self.token.push(first);
                self.state = State::InWord;
            }
            _ => return None,
        }
        Some(())
    }

    /// Inserts a new value at the expected place: the root, the last key, or the end of the array.
    fn put(&mut self, value: Value) {
        match self.current() {
            None => self.root = value,
            Some(Value::Array(items)) => items.push(value),
            Some(Value::Object(fields)) => {
                if let Some(place) = fields.values_mut().next_back() {
                    *place = value;
                }
            }
            Some(_) => {}
        }
    }

    fn end_value(&mut self) {
        self.state = if self.open.is_empty() { State::Done } else { State::AfterValue };
    }

    fn close(&mut self, object: bool) -> Option<()> {
        (self.open.pop()? == object).then_some(())?;
        self.end_value();
        Some(())
    }

    /// Returns the innermost open container.
    fn current(&mut self) -> Option<&mut Value> {
        last_at(&mut self.root, self.open.len().checked_sub(1)?)
    }

    /// Returns the value that is being read, inside the innermost open container.
    fn place(&mut self) -> Option<&mut Value> {
        last_at(&mut self.root, self.open.len())
    }
}

/// Follows the last child `depth` times. The value being read is always at the end.
fn last_at(root: &mut Value, depth: usize) -> Option<&mut Value> {
    let mut value = root;
    for _ in 0..depth {
        value = match value {
            Value::Array(items) => items.last_mut()?,
            Value::Object(fields) => fields.values_mut().next_back()?,
            _ => return None,
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::testing::{config, covers};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn read(pieces: &[&str]) -> Result<PartialJson, PartialJsonError> {
        let mut reader = PartialJson::new();
        for piece in pieces {
            reader.push(piece)?;
        }
        Ok(reader)
    }

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(*read(&[text]).unwrap().value(), expected);
    }

    #[test]
    fn the_value_so_far_is_available_at_any_time() {
        covers("stream.partial_json");
        check("", Value::Null);
        check("{", json!({}));
        check("{\"pa", json!({}));
        check("{\"path\"", json!({"path": null}));
        check("{\"path\": \"a/b", json!({"path": "a/b"}));
        check("{\"path\": \"a\\n\\u00", json!({"path": "a\n"}));
        check("{\"n\": 12", json!({"n": null}));
        check("{\"n\": 12, \"list\": [1, {\"x\": true}, [", json!({"n": 12, "list": [1, {"x": true}, []]}));
        check("{\"a\": 1, \"b\": 2, \"a\": \"x", json!({"b": 2, "a": "x"}));
    }

    #[test]
    fn errors_have_the_position_of_the_first_invalid_byte() {
        #[track_caller]
        fn check(text: &str, at: usize) {
            let mut reader = PartialJson::new();
            assert_eq!(reader.push(text), Err(PartialJsonError { at }));
            assert_eq!(reader.push("1"), Err(PartialJsonError { at }), "the error stays");
        }
        check("{x", 1);
        check("{\"a\" 1", 5);
        check("[1,]", 3);
        check("[1 2", 3);
        check("[nul]", 2);
        check("[01]", 2);
        check("{\"a\":1]", 6);
        check("\"a\nb\"", 2);
        check("\"\\ud800x", 7);
        check("{} {", 3);
        check(&"[".repeat(DEPTH_MAX + 1), DEPTH_MAX);
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
            "[a-c\\n\"\\\\é🦀\u{7f}]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[ab\\né🦀]{0,2}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Escapes every other character as JSON allows.
    fn escaped(text: &str) -> String {
        let mut units = [0; 2];
        text.chars()
            .enumerate()
            .flat_map(|(index, c)| {
                if c.is_ascii() || index % 2 == 0 {
                    return c.to_string().chars().collect::<Vec<_>>();
                }
                let escapes = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
                escapes.collect::<String>().chars().collect()
            })
            .collect()
    }

    fn cut<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut start = 0;
        for cut in cuts {
            let end = (start + cut).min(text.len());
            let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap();
            pieces.push(&text[start..end]);
            start = end;
        }
        pieces.push(&text[start..]);
        pieces
    }

    #[test]
    fn any_json_in_any_pieces_reads_as_the_whole() {
        covers("stream.partial_json");
        let inputs = (json_value(), any::<bool>(), prop::collection::vec(1_usize..9, 0..12));
        proptest!(config(2_000), |((value, pretty, cuts) in inputs)| {
            // In an array, because a number at the root has no end.
            let value = json!([value]);
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = escaped(&text.unwrap());
            let expected: Value = serde_json::from_str(&text).unwrap();
            let reader = read(&cut(&text, &cuts)).unwrap();
            prop_assert!(reader.is_complete());
            prop_assert_eq!(reader.value(), &expected);
        });
    }

    #[test]
    fn a_text_is_complete_exactly_if_it_is_json() {
        let inputs = "[\\[\\]{}:,\"a1\\\\u0 tre-]{0,12}";
        proptest!(config(2_000), |(inside in inputs)| {
            let text = format!("[{inside}]");
            let expected = serde_json::from_str::<Value>(&text).ok();
            let found = read(&[&text]).ok().filter(PartialJson::is_complete).map(|reader| reader.value().clone());
            // Except for duplicate keys, which both accept.
            prop_assert_eq!(found, expected, "{}", text);
        });
    }
}
