//! What the stand-in model's module exports: an answer for each request, which the core sends here as others go to a
//! network. When its pieces arrive is the JavaScript layer's business.

use emend_llm::{Headers, HttpRequest};
use emend_offline::respond;
use serde_json::json;
use wasm_bindgen::prelude::*;

/// Returns the answer to a request as JSON text: `status`, `type` and the texts `chunks`. It keeps nothing.
#[wasm_bindgen(js_name = answerOffline)]
pub fn answer_offline(method: &str, url: &str, body: Vec<u8>) -> String {
    // It knows no other method.
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
    fn a_request_is_answered_in_pieces_and_anything_else_refused() {
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
