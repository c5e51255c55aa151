//! Tests of the service: requests and replies over files in memory and the offline model.

mod bench_host;
#[cfg(feature = "canvas")]
mod canvas;
mod decided;
#[cfg(feature = "canvas")]
mod drafts;
mod ended;
mod files;
mod held;
#[cfg(not(target_family = "wasm"))]
mod host_tests;
mod jobs;
mod permissions;
mod questions;
mod races;
mod resuming;
mod review;
mod rewind;
mod saving;
mod scenario;
mod shapes;
mod unwritten;
mod yielding;

use bench_host::Bench;

/// A build without the canvas: its operations are refused, and a session that asks for the tools talks as any other.
#[cfg(not(feature = "canvas"))]
#[test]
fn without_the_canvas_its_operations_are_unsupported_and_chat_is_the_same() {
    use futures::executor::block_on;
    use serde_json::{Value, json};

    use crate::session::tests::Answer;
    block_on(async {
        let mut sent = Vec::new();
        for canvas in [json!({}), json!({ "canvas": { "tools": false } })] {
            let bench = Bench::new("//- notes.md\none\ntwo\n");
            let wanted = json!({ "model": "script", "canvas": { "tools": true } });
            let (status, body) = bench.post("/api/agent/sessions", wanted).await;
            assert_eq!((status, &body["error"]["code"]), (400, &json!("configuration")), "{body}");
            let mut wanted = json!({ "model": "script" });
            wanted.as_object_mut().unwrap().extend(canvas.as_object().unwrap().clone());
            let session = bench.session(wanted).await;
            let path = format!("/api/agent/sessions/{session}/canvas");
            let (status, body) = bench.post(&format!("{path}/open"), json!({ "file_path": "notes.md" })).await;
            assert_eq!((status, &body["error"]["code"]), (422, &json!("unsupported")), "{body}");
            let (_, body) = bench.get(&path).await;
            assert_eq!(body["error"]["code"], "unsupported", "{body}");
            let (_, body) = bench.post(&format!("{path}/check_out"), Value::Null).await;
            assert_eq!(body["error"]["code"], "unsupported", "{body}");
            let edit = ("edit_file", json!({ "file_path": "notes.md", "old_string": "two", "new_string": "2" }));
            bench.script().push([Answer::Call(vec![edit]), Answer::Say("Done.")]);
            bench.run(&session, "edit").await;
            bench.work().await;
            let requests: Vec<String> =
                bench.script().requests().iter().map(|request| serde_json::to_string(request).unwrap()).collect();
            assert_eq!(requests.len(), 2);
            sent.push(requests);
        }
        assert_eq!(sent[0], sent[1]);
    });
}
