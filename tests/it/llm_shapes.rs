//! Responses with a value of the wrong type in some place, as after a change of a provider or a proxy. The decoder must
//! return a response or an error; in a browser a panic would end every session.

use std::path::PathBuf;

use emend_llm::{Api, StreamEvent};
use serde_json::{Value, json};

use crate::llm_faults::answers::answer;
use crate::wire::load;

/// Values to put in a wrong place.
fn strangers() -> [Value; 9] {
    [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1.5),
        json!(""),
        json!([]),
        json!({}),
        json!([null]),
        json!({"type": "text", "index": 7}),
    ]
}

/// Xorshift: equal seeds give equal numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

/// Returns the paths of all values in a document, its root first.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                places(inner, &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, inner)| places(inner, &format!("{here}/{index}"), found));
        }
        _ => {}
    }
}

/// A body split into its JSON documents and the text between them.
fn documents(body: &str) -> Vec<Result<Value, String>> {
    if let Ok(whole) = serde_json::from_str(body) {
        return vec![Ok(whole)];
    }
    body.split_inclusive('\n')
        .map(|line| {
            let data = line.strip_prefix("data:").and_then(|data| serde_json::from_str(data).ok());
            data.ok_or_else(|| line.to_owned())
        })
        .collect()
}

/// Decodes `body` with a wrong value in `n_rolls` random places, one at a time.
fn check(name: &str, api: Api, body: &str, n_rolls: usize) {
    let mut documents = documents(body);
    let is_stream = documents.len() > 1;
    let indices: Vec<usize> = (0..documents.len()).filter(|index| documents[*index].is_ok()).collect();
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for _ in 0..n_rolls {
        let Some(index) = indices.get(dice.roll(indices.len())) else { return };
        let Ok(original) = documents[*index].clone() else { return };
        let mut found = Vec::new();
        places(&original, "", &mut found);
        let (place, stranger) = (found.swap_remove(dice.roll(found.len())), strangers()[dice.roll(9)].clone());
        // Shown after a panic.
        println!("{name} {}: {stranger} at {place:?} of document {index}", api.name());
        let mut changed = original.clone();
        *changed.pointer_mut(&place).unwrap() = stranger;
        documents[*index] = Ok(changed);
        let shown = documents.iter().map(|document| match document {
            Ok(value) if is_stream => format!("data: {value}\n"),
            Ok(value) => value.to_string(),
            Err(line) => line.clone(),
        });
        let (events, outcome) = api.decode(200, &emend_llm::Headers::default(), [shown.collect::<String>().as_bytes()]);
        let finished = matches!(events.last(), Some(StreamEvent::Finish { .. }));
        assert_eq!(finished, outcome.is_ok(), "{outcome:?}");
        documents[*index] = Ok(original);
    }
}

#[test]
fn a_value_of_the_wrong_type_never_panics() {
    for api in Api::ALL {
        check("stream", api, &answer(api).stream(), 4000);
        check("whole", api, &answer(api).whole, 2000);
        for stranger in strangers() {
            check("alone", api, &stranger.to_string(), 10);
            check("in a stream", api, &format!("data: {stranger}\n\n"), 10);
        }
    }
}

#[test]
fn a_value_of_the_wrong_type_in_recorded_responses_never_panics() {
    let Some(wire) = std::env::var_os("EMEND_WIRE").map(PathBuf::from) else {
        println!("skipped: 308 recorded answers (set EMEND_WIRE to their directory)");
        return;
    };
    for case in load(&wire).iter().filter(|case| case.status == 200) {
        check(&case.id, case.api, &String::from_utf8_lossy(&case.body), 100);
    }
}
