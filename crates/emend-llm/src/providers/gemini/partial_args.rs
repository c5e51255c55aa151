//! Assembles arguments that arrive in pieces, each with its path: `$.recipe.steps[0]`.

use serde_json::{Map, Value};

/// The arguments of one call, as far as they arrived.
#[derive(Default)]
pub(super) struct PartialArgs {
    root: Map<String, Value>,
    /// The path of the text that the next piece continues.
    continued: Option<String>,
}

/// The largest index that a path may contain. A larger index would only serve to exhaust the memory.
const INDEX_MAX: usize = 100_000;

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl PartialArgs {
    /// Adds `{"jsonPath": .., "stringValue" | "numberValue" | "boolValue" | "nullValue": .., "willContinue": ..}`. A
    /// piece with an invalid path is discarded.
    pub(super) fn add(&mut self, piece: &Value) {
        let Some(path) = piece["jsonPath"].as_str() else { return };
        let value = ["stringValue", "numberValue", "boolValue"].iter().find_map(|key| piece.get(*key));
        let continues = self.continued.as_deref() == Some(path);
        self.continued = (piece["willContinue"] == true).then(|| path.to_owned());
        let Some(place) = steps(path).and_then(|steps| self.place(&steps)) else { return };
        match (value, place) {
            (Some(Value::String(more)), Value::String(text)) if continues => text.push_str(more),
            (Some(value), place) => *place = value.clone(),
            (None, place) => {
                if piece.get("nullValue").is_some() {
                    *place = Value::Null;
                }
            }
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.root)
    }

    fn place(&mut self, steps: &[Step<'_>]) -> Option<&mut Value> {
        let (Step::Key(first), rest) = steps.split_first()? else { return None };
        let mut place = self.root.entry(*first).or_insert(Value::Null);
        for step in rest {
            place = match step {
                Step::Key(key) => {
                    if !place.is_object() {
                        *place = Value::Object(Map::new());
                    }
                    place.as_object_mut()?.entry(*key).or_insert(Value::Null)
                }
                Step::Index(index) => {
                    if !place.is_array() {
                        *place = Value::Array(Vec::new());
                    }
                    let items = place.as_array_mut()?;
                    if items.len() <= *index {
                        items.resize(index + 1, Value::Null);
                    }
                    &mut items[*index]
                }
            };
        }
        Some(place)
    }
}

/// Parses `$.a.b[0]['c']`.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            steps.push(Step::Key(&after[..end]));
            rest = &after[end..];
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            let quoted = inside.strip_prefix(['\'', '"']).and_then(|inside| inside.strip_suffix(['\'', '"']));
            steps.push(match quoted {
                Some(key) => Step::Key(key),
                None => Step::Index(inside.parse().ok().filter(|index| *index <= INDEX_MAX)?),
            });
            rest = after;
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(pieces: &[Value], expected: Value) {
        let mut args = PartialArgs::default();
        for piece in pieces {
            args.add(piece);
        }
        assert_eq!(args.into_value(), expected);
    }

    #[test]
    fn pieces_are_placed_and_texts_grow_while_they_continue() {
        check(
            &[
                json!({"jsonPath": "$.city", "stringValue": "Bos", "willContinue": true}),
                json!({"jsonPath": "$.city", "stringValue": "ton"}),
                json!({"jsonPath": "$.days[1].hot", "boolValue": true}),
                json!({"jsonPath": "$['n']", "numberValue": 3}),
                json!({"jsonPath": "$.n", "numberValue": 4}),
                json!({"jsonPath": "$.none", "nullValue": "NULL_VALUE"}),
            ],
            json!({"city": "Boston", "days": [null, {"hot": true}], "n": 4, "none": null}),
        );
    }

    #[test]
    fn pieces_with_invalid_paths_are_discarded() {
        check(
            &[
                json!({"jsonPath": "city", "stringValue": "x"}),
                json!({"jsonPath": "$[0]", "stringValue": "x"}),
                json!({"jsonPath": "$.a[100001]", "stringValue": "x"}),
                json!({"jsonPath": "$.a[9999999999]", "stringValue": "x"}),
                json!({"jsonPath": "$.a[", "stringValue": "x"}),
                json!({"stringValue": "x"}),
            ],
            json!({}),
        );
    }
}
