//! The export of the offline model's module: a response for each request.
//!
//! The core sends requests here as it sends others to a network. The JavaScript layer decides when the pieces of the
//! response arrive.

use emend_llm::{Headers, HttpRequest};
use emend_offline::respond;
use serde_json::json;
use wasm_bindgen::prelude::*;

/// Returns the response to a request as JSON text: `status`, content `type`, and the texts `chunks`. Keeps no state.
#[wasm_bindgen(js_name = answerOffline)]
pub fn answer_offline(method: &str, url: &str, body: Vec<u8>) -> String {
    // The model distinguishes only these two methods.
    let method = if method == "POST" { "POST" } else { "GET" };
    let response = respond(&HttpRequest { method, url: url.to_owned(), headers: Headers::default(), body });
    json!({ "status": response.status, "type": response.content_type, "chunks": response.chunks }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_request_is_answered_in_pieces_and_anything_else_is_rejected() {
        let body = json!({ "messages": [{ "role": "user", "content": "hello" }], "stream": true }).to_string();
        let ask = |method, url| -> Value {
            serde_json::from_str(&answer_offline(method, url, body.clone().into_bytes())).unwrap()
        };
        let answer = ask("POST", "http://offline.invalid/v1/messages");
        assert_eq!((&answer["status"], &answer["type"]), (&json!(200), &json!("text/event-stream; charset=utf-8")));
        assert!(answer["chunks"].as_array().unwrap().len() > 3, "{answer}");
        for (method, url) in [("GET", "http://offline.invalid/v1/messages"), ("POST", "http://offline.invalid/")] {
            let refused = ask(method, url);
            assert_eq!((&refused["status"], &refused["type"]), (&json!(404), &json!("application/json")));
        }
    }
}
