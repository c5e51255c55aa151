//! Caches the encoded messages of a conversation, so that a request costs only its new messages.
//!
//! A session sends its whole history with every model call. Encoding all of it would make every call more expensive
//! than the last. Comparing the messages with those of the last call and copying bytes costs a fraction, and needs no
//! promise of callers: a changed message is encoded again.

use serde_json::{Map, Value};

use crate::error::LlmError;
use crate::model::Message;
use crate::providers::shared::shared_encoding;
use crate::runtime::Mutex;

/// The number of cached conversations: a session and a few subagents that share its adapter.
const CONVERSATIONS_MAX: usize = 4;

/// The encoded messages of recent conversations. `S` is the encoding of one message.
pub(crate) struct EncodeCache<S> {
    /// The most recent conversation is last.
    conversations: Mutex<Vec<Vec<(Message, S)>>>,
}

impl<S> Default for EncodeCache<S> {
    fn default() -> Self {
        Self { conversations: Mutex::default() }
    }
}

impl<S> EncodeCache<S> {
    /// Calls `assemble` with the encoding of each of `messages`. `encode` is called, by index, for messages that
    /// changed since the last call. It may read earlier messages, but no later ones.
    pub(crate) fn with<R>(
        &self,
        messages: &[Message],
        encode: impl Fn(usize) -> Result<S, LlmError>,
        assemble: impl FnOnce(&[(Message, S)]) -> R,
    ) -> Result<R, LlmError> {
        let mut conversations = self.conversations.lock();
        let mut conversation = take_best(&mut conversations, messages);
        for (index, message) in messages.iter().enumerate().skip(conversation.len()) {
            conversation.push((message.clone(), encode(index)?));
        }
        let result = assemble(&conversation);
        conversations.push(conversation);
        Ok(result)
    }
}

/// Removes and returns the cached conversation that shares the most messages with `messages`, truncated to the shared
/// ones. If none shares a message, the oldest is discarded once there are too many.
fn take_best<S>(conversations: &mut Vec<Vec<(Message, S)>>, messages: &[Message]) -> Vec<(Message, S)> {
    let mut best = (0, None);
    for (index, conversation) in conversations.iter().enumerate().rev() {
        let shared = conversation.iter().zip(messages).take_while(|((known, _), message)| known == *message).count();
        if shared > best.0 {
            best = (shared, Some(index));
        }
        if shared > 0 && shared == conversation.len() {
            break;
        }
    }
    match best {
        (shared, Some(index)) => {
            let mut conversation = conversations.remove(index);
            conversation.truncate(shared);
            conversation
        }
        (_, None) => {
            if conversations.len() >= CONVERSATIONS_MAX {
                conversations.remove(0);
            }
            Vec::new()
        }
    }
}

/// Serialises a body with one more field, `key`, whose value is the array of `items`, each already JSON. A field `key`
/// of the body wins.
pub(crate) fn splice<'a>(
    body: &Map<String, Value>,
    key: &str,
    items: impl Iterator<Item = &'a str>,
) -> Result<Vec<u8>, LlmError> {
    let rest = shared_encoding::to_bytes(body)?;
    if body.contains_key(key) {
        return Ok(rest);
    }
    let items: Vec<&str> = items.filter(|item| !item.is_empty()).collect();
    let size: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut bytes = Vec::with_capacity(size + rest.len() + key.len() + 8);
    bytes.extend_from_slice(b"{\"");
    bytes.extend_from_slice(key.as_bytes());
    bytes.extend_from_slice(b"\":[");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            bytes.push(b',');
        }
        bytes.extend_from_slice(item.as_bytes());
    }
    bytes.push(b']');
    if !body.is_empty() {
        bytes.push(b',');
    }
    bytes.extend_from_slice(&rest[1..]);
    Ok(bytes)
}

/// Joins values with commas, as items of a JSON array.
pub(crate) fn join(values: &[Value]) -> String {
    let mut joined = String::new();
    for value in values {
        if !joined.is_empty() {
            joined.push(',');
        }
        joined.push_str(&value.to_string());
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;
    use crate::testing::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Encodes texts. Returns the joined encodings and the indexes of the messages that were encoded.
    fn run(segments: &EncodeCache<String>, texts: &[&str]) -> (String, Vec<usize>) {
        let messages: Vec<Message> = texts.iter().map(|text| Message::user(*text)).collect();
        let encoded = RefCell::new(Vec::new());
        let encode = |index: usize| {
            encoded.borrow_mut().push(index);
            Ok(messages[index].text().to_uppercase())
        };
        let joined = segments.with(&messages, encode, |segments| {
            segments.iter().map(|(_, segment)| segment.as_str()).collect::<String>()
        });
        (joined.unwrap(), encoded.into_inner())
    }

    #[test]
    fn only_new_messages_are_encoded() {
        covers("encode.incremental");
        let segments = EncodeCache::default();
        assert_eq!(run(&segments, &["a", "b"]), ("AB".into(), vec![0, 1]));
        assert_eq!(run(&segments, &["a", "b", "c"]), ("ABC".into(), vec![2]));
        assert_eq!(run(&segments, &["a", "b", "c"]), ("ABC".into(), vec![]));
        assert_eq!(run(&segments, &["a", "x", "c"]), ("AXC".into(), vec![1, 2]), "a changed message");
        assert_eq!(run(&segments, &["a"]), ("A".into(), vec![]), "a shorter conversation");
    }

    #[test]
    fn a_few_conversations_are_kept_apart() {
        let segments = EncodeCache::default();
        for name in ["p", "q", "r", "s"] {
            assert_eq!(run(&segments, &[name, "1"]).1, [0, 1]);
        }
        for name in ["p", "q", "r", "s"] {
            assert_eq!(run(&segments, &[name, "1", "2"]).1, [2]);
        }
        assert_eq!(run(&segments, &["t"]).1, [0]);
        assert_eq!(run(&segments, &["p", "1", "2"]).1, [0, 1, 2], "the oldest made room");
        assert_eq!(run(&segments, &["s", "1", "2"]).1, [0; 0]);
    }

    #[test]
    fn an_array_is_spliced_into_a_body() {
        let splice = |body: Value, items: &[&str]| {
            let bytes = splice(body.as_object().unwrap(), "m", items.iter().copied()).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(splice(json!({"a": 1}), &["1", "", "{}"]), r#"{"m":[1,{}],"a":1}"#);
        assert_eq!(splice(json!({}), &[]), r#"{"m":[]}"#);
        assert_eq!(splice(json!({"m": 2}), &["1"]), r#"{"m":2}"#);
        assert_eq!(join(&[json!(1), json!("a,b")]), r#"1,"a,b""#);
    }
}
