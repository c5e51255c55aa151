//! The canvas over requests: a lease, edits, and the user who wins.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::service::store::EventScope;
use crate::service::{Method, Reading};
use crate::session::tests::Answer;
use crate::test_support::covers;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn a_caller_edits_under_a_lease_until_the_user_types() {
    block_on(async {
        let bench = Bench::new("//- notes.md\n# Notes\none\ntwo\n");
        let session = bench.session(json!({})).await;
        let path = |action: &str| format!("/api/agent/sessions/{session}/canvas/{action}");
        let (status, body) = bench.post(&path("check_out"), Value::Null).await;
        assert_eq!((status, &body["error"]["code"]), (404, &json!("not_found")));
        let (status, body) = bench.post(&path("open"), json!({ "file_path": "none.md" })).await;
        assert_eq!(status, 404, "{body}");
        let (_, canvas) = bench.post(&path("open"), json!({ "file_path": "notes.md" })).await;
        let (status, out) = bench.post(&path("check_out"), Value::Null).await;
        assert_eq!((status, &out["revision_id"]), (200, &canvas["revision_id"]));
        let (status, body) = bench.post(&path("check_out"), Value::Null).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("LOCK_NOT_AVAILABLE")));
        assert_eq!(body["error"]["data"]["revision_id"], canvas["revision_id"]);
        let lease = out["lease_id"].clone();
        let (_, found) = bench.post(&path("grep"), json!({ "lease_id": lease, "query": "two" })).await;
        assert_eq!(found["matches"], json!([{ "line": 3, "text": "two" }]));
        let edits = json!([{ "operation": "replace", "start_line": 3, "new_text": "2\n" }]);
        let mut request = json!({ "lease_id": lease, "base_revision_id": out["revision_id"], "edits": edits });
        let (status, done) = bench.post(&path("edit_lines"), request.clone()).await;
        assert_eq!((status, &done["ok"]), (200, &json!(true)), "{done}");
        let (status, body) = bench.post(&path("edit_lines"), request.clone()).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("stale")));
        assert_eq!(body["error"]["data"]["revision_id"], done["new_revision_id"]);
        // The edit waits for review.
        assert_eq!(bench.disk("notes.md"), "# Notes\none\ntwo\n");
        let content = "# Notes\none\n2\nmine\n";
        let (_, after) = bench.post(&path("user_edit"), json!({ "content": content })).await;
        assert_eq!((&after["held"], &after["epoch"]), (&json!(false), &json!(canvas["epoch"].as_u64().unwrap() + 1)));
        request["base_revision_id"] = after["revision_id"].clone();
        let (status, body) = bench.post(&path("edit_lines"), request).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("STALE_EPOCH")));
        assert_eq!(body["error"]["data"]["revision_id"], after["revision_id"]);
        let (_, buffer) = bench.get("/api/agent/buffer?file_path=notes.md").await;
        assert_eq!(buffer["content"], content);
        let (status, body) = bench.post(&path("check_in"), json!({ "lease_id": lease })).await;
        assert_eq!((status, &body["released"]), (200, &json!(false)));
    });
}

#[test]
fn the_model_is_told_changes_of_the_canvas_once() {
    covers("canvas.hidden_updates");
    block_on(async {
        let bench = Bench::new("//- notes.md\none\ntwo\n");
        let canvas = json!({ "tools": true, "enforce_lease": true });
        let session = bench.session(json!({ "model": "script", "canvas": canvas })).await;
        bench.post(&format!("/api/agent/sessions/{session}/canvas/open"), json!({ "file_path": "notes.md" })).await;
        let edit = |content: &'static str| json!({ "file_path": "notes.md", "content": content });
        bench.script().push([Answer::Say("Hello.")]);
        bench.run(&session, "hello").await;
        bench.work().await;
        for content in ["1\ntwo\n", "1\n2\n"] {
            bench.post("/api/agent/user_edit", edit(content)).await;
        }
        let check_out = Answer::Call(vec![("canvas_check_out", json!({}))]);
        bench.script().push([check_out, Answer::Say("Seen.")]);
        let job = bench.run(&session, "look").await;
        bench.work().await;
        let texts = bench.script().last_user_texts();
        let hidden: Vec<&String> = texts.iter().filter(|text| text.starts_with("Canvas update")).collect();
        assert_eq!(hidden.len(), 1, "{texts:?}");
        assert!(hidden[0].contains("-one\n-two\n+1\n+2\n"), "{hidden:?}");
        assert!(
            texts.iter().position(|text| text.starts_with("Canvas update"))
                < texts.iter().position(|text| text.ends_with("look"))
        );
        let (_, state) = bench.get(&format!("/api/agent/sessions/{session}")).await;
        assert!(!state["chat"].to_string().contains("Canvas update"), "hidden messages are not shown");
        let kinds = bench.kinds(&job).await;
        assert_eq!(kinds.iter().filter(|kind| *kind == "canvas.lease").count(), 2, "held and released: {kinds:?}");
        let (_, canvas) = bench.get(&format!("/api/agent/sessions/{session}/canvas")).await;
        assert_eq!(canvas["held"], false, "the lease ends with the run");
    });
}

/// Returns a session with the canvas tools, and opens the canvas.
async fn with_canvas(bench: &Bench) -> String {
    let canvas = json!({ "tools": true, "enforce_lease": true });
    let session = bench.session(json!({ "model": "script", "canvas": canvas })).await;
    open(bench, &session).await;
    session
}

async fn open(bench: &Bench, session: &str) {
    let path = format!("/api/agent/sessions/{session}/canvas/open");
    assert_eq!(bench.post(&path, json!({ "file_path": "notes.md" })).await.0, 200);
}

/// Opens a service in a new process, whose editor shows the file again.
async fn restart(bench: &Bench, session: &str) -> Bench {
    let next = bench.reload().await;
    open(&next, session).await;
    next
}

/// Returns the hidden messages that the model has.
fn hidden(bench: &Bench) -> Vec<String> {
    let mut texts = bench.script().last_user_texts();
    texts.retain(|text| text.starts_with("Canvas update"));
    texts
}

/// Runs a job whose model says one word.
async fn talk(bench: &Bench, session: &str) -> String {
    bench.script().push([Answer::Say("Yes.")]);
    let job = bench.run(session, "hello").await;
    bench.work().await;
    job
}

async fn type_text(bench: &Bench, content: &str) {
    let (status, body) =
        bench.post("/api/agent/user_edit", json!({ "file_path": "notes.md", "content": content })).await;
    assert_eq!(status, 200, "{body}");
}

#[test]
fn the_model_of_the_next_process_is_told_changes_of_the_canvas_once() {
    covers("canvas.hidden_updates");
    block_on(async {
        for is_recorded in [false, true] {
            let files = "//- notes.md\none\ntwo\n";
            let bench = if is_recorded { Bench::recording(files) } else { Bench::new(files) };
            let session = with_canvas(&bench).await;
            talk(&bench, &session).await;
            type_text(&bench, "1\ntwo\n").await;
            let bench = restart(&bench, &session).await;
            talk(&bench, &session).await;
            assert_eq!(hidden(&bench).len(), 1);
            assert!(hidden(&bench)[0].contains("-one\n+1\n two\n"), "{:?}", hidden(&bench));
            let bench = restart(&bench, &session).await;
            talk(&bench, &session).await;
            assert_eq!(hidden(&bench).len(), 1, "once");
            // An agent that is opened again in the same process knows it, too.
            type_text(&bench, "1\n2\n").await;
            bench.send(Method::Patch, &format!("/api/agent/sessions/{session}"), json!({ "mode": "direct" })).await;
            talk(&bench, &session).await;
            assert_eq!(hidden(&bench).len(), 2);
            assert!(hidden(&bench)[1].contains(" 1\n-two\n+2\n"), "{:?}", hidden(&bench));
            let (_, shown) = bench.get(&format!("/api/agent/sessions/{session}")).await;
            assert!(!shown.to_string().contains("told_canvas"), "{shown}");
        }
    });
}

#[test]
fn an_edit_of_the_agent_is_told_to_the_next_process_once() {
    block_on(async {
        let bench = Bench::new("//- notes.md\none\ntwo\n");
        let session = with_canvas(&bench).await;
        let edit = json!({ "file_path": "notes.md", "old_string": "one", "new_string": "1" });
        bench.script().push([Answer::Call(vec![("edit_file", edit)])]);
        talk(&bench, &session).await;
        let bench = restart(&bench, &session).await;
        for _ in 0..2 {
            talk(&bench, &session).await;
            assert_eq!(hidden(&bench).len(), 1);
            assert!(hidden(&bench)[0].contains("-one\n+1\n two\n"), "{:?}", hidden(&bench));
        }
    });
}

#[test]
fn a_session_that_was_told_a_change_can_be_rewound() {
    block_on(async {
        let bench = Bench::new("//- notes.md\none\ntwo\n");
        let session = with_canvas(&bench).await;
        talk(&bench, &session).await;
        type_text(&bench, "1\ntwo\n").await;
        let second = talk(&bench, &session).await;
        let path = format!("/api/agent/sessions/{session}/rewind");
        let (status, body) = bench.post(&path, json!({ "job_id": second, "conversation": true })).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["removed_messages"], 2);
        // The text that the conversation knows is uncertain then, so the model reads it again.
        type_text(&bench, "1\n2\n").await;
        talk(&bench, &session).await;
        assert_eq!(hidden(&bench).len(), 1, "{:?}", hidden(&bench));
        type_text(&bench, "1\n2\n3\n").await;
        talk(&bench, &session).await;
        assert!(hidden(&bench)[1].contains(" 2\n+3\n"), "{:?}", hidden(&bench));
    });
}

#[test]
fn the_user_sees_hidden_messages_on_request() {
    block_on(async {
        let bench = Bench::new("//- notes.md\none\ntwo\n");
        let session = with_canvas(&bench).await;
        talk(&bench, &session).await;
        type_text(&bench, "1\ntwo\n").await;
        talk(&bench, &session).await;
        let roles = async |query: &str| {
            let (status, body) = bench.get(&format!("/api/agent/sessions/{session}{query}")).await;
            let chat = body["chat"].as_array().cloned().unwrap_or_default();
            let roles: Vec<String> = chat.iter().map(|entry| entry["role"].as_str().unwrap().to_owned()).collect();
            (status, roles.join(" "), chat.iter().any(|entry| entry["text"].as_str().unwrap().contains("\n+1\n")))
        };
        let shown = "user assistant user assistant".to_owned();
        for query in ["", "?hidden=false"] {
            assert_eq!(roles(query).await, (200, shown.clone(), false), "{query}");
        }
        let all = "user assistant hidden user assistant".to_owned();
        assert_eq!(roles("?hidden=true").await, (200, all, true));
        assert_eq!(roles("?hidden=1").await.0, 400);
    });
}

#[test]
fn the_canvas_tools_are_switched_on_and_off_between_jobs() {
    covers("canvas.flag");
    block_on(async {
        let bench = Bench::new("//- notes.md\none\n");
        let session = bench.session(json!({ "model": "script" })).await;
        let path = format!("/api/agent/sessions/{session}");
        bench.post(&format!("{path}/canvas/open"), json!({ "file_path": "notes.md" })).await;
        for (has_tools, enforced) in [(true, true), (true, false), (false, false)] {
            let canvas = json!({ "tools": has_tools, "enforce_lease": enforced });
            let (status, body) = bench.send(Method::Patch, &path, json!({ "canvas": canvas })).await;
            assert_eq!((status, &body["canvas"]), (200, &canvas), "{body}");
            talk(&bench, &session).await;
            let requests = bench.script().requests();
            let tools = &requests.last().unwrap().tools;
            let grep = tools.iter().find(|tool| tool.name == "canvas_grep");
            let required = grep.map(|tool| tool.parameters["required"].to_string().contains("lease_id"));
            assert_eq!(required, has_tools.then_some(enforced));
        }
        let job = bench.run(&session, "wait").await;
        let (status, body) = bench.send(Method::Patch, &path, json!({ "canvas": { "tools": true } })).await;
        assert_eq!((status, &body["error"]["code"]), (409, &json!("busy")), "job {job} has begun");
    });
}

#[test]
fn without_enforcement_an_edit_may_name_any_lease() {
    covers("canvas.flag");
    block_on(async {
        for lease in ["lease_9_9", "lease_1_1", "none"] {
            let bench = Bench::new("//- notes.md\none\ntwo\n");
            let session = bench.session(json!({ "model": "script", "canvas": { "tools": true } })).await;
            let path = format!("/api/agent/sessions/{session}/canvas/open");
            let (_, canvas) = bench.post(&path, json!({ "file_path": "notes.md" })).await;
            let named = |mut arguments: Value| {
                arguments["lease_id"] = json!(lease);
                arguments
            };
            let edits = json!([{ "operation": "replace", "start_line": 1, "new_text": "1\n" }]);
            let edit = json!({ "base_revision_id": canvas["revision_id"], "edits": edits });
            bench.script().push([Answer::Call(vec![
                ("canvas_grep", named(json!({ "query": "one" }))),
                ("canvas_edit_lines", named(edit)),
            ])]);
            let job = talk(&bench, &session).await;
            let (_, body) = bench.get(&format!("/api/agent/jobs/{job}/events")).await;
            let events = body["events"].as_array().unwrap();
            let done = events.iter().filter(|event| event["type"] == "tool.call.completed");
            assert!(
                done.clone().count() == 2 && done.clone().all(|event| event["data"]["ok"] == true),
                "{lease}: {body}"
            );
            let (_, buffer) = bench.get("/api/agent/buffer?file_path=notes.md").await;
            assert_eq!(buffer["content"], "1\ntwo\n", "{lease}");
        }
    });
}

#[test]
fn the_first_message_of_a_stream_tells_of_changes_without_events() {
    block_on(async {
        let bench = Bench::new("//- notes.md\none\n");
        let attached = async || bench.service.attached(&EventScope::All).await.unwrap();
        let before = attached().await;
        assert_eq!(before["state"]["n_deleted_sessions"], 0);
        type_text(&bench, "1\n").await;
        let after = attached().await;
        assert_eq!(after["last"], before["last"], "no event tells of the edit");
        assert!(after["state"]["revision"].as_u64() > before["state"]["revision"].as_u64(), "{before} {after}");
        let mut reader = bench.service.events(EventScope::All, 0).await.unwrap();
        type_text(&bench, "2\n").await;
        let Reading::Changed(state) = reader.next(1).await.unwrap() else { panic!("a change") };
        assert_eq!(json!(state), attached().await["state"], "the messages of a stream tell the same");
    });
}

#[test]
fn instructions_and_tools_of_the_canvas_are_those_of_a_session_with_the_flag() {
    covers("canvas.instructions canvas.flag");
    block_on(async {
        for has_tools in [true, false] {
            let bench = Bench::new("//- notes.md\none\n");
            let session = bench.session(json!({ "model": "script", "canvas": { "tools": has_tools } })).await;
            bench.post(&format!("/api/agent/sessions/{session}/canvas/open"), json!({ "file_path": "notes.md" })).await;
            bench.script().push([Answer::Say("Hello.")]);
            bench.run(&session, "hello").await;
            bench.work().await;
            let requests = bench.script().requests();
            let request = requests.last().unwrap();
            let system = request.messages[0].text();
            let names: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
            assert_eq!(names.contains(&"canvas_edit_lines"), has_tools, "{names:?}");
            for point in [
                "canvas_check_out, canvas_renew_lease",
                "Every other canvas tool needs the lease_id",
                "Always locate before you edit",
                "Do not retype",
                "unified diff",
                "Line numbers change with every edit",
                "STALE_EPOCH",
            ] {
                assert_eq!(system.contains(point), has_tools, "{point}: {system}");
            }
        }
    });
}

#[test]
fn without_the_flag_the_model_gets_the_same_bytes_as_without_a_canvas() {
    covers("canvas.flag");
    block_on(async {
        let mut sent = Vec::new();
        for has_canvas in [false, true] {
            let bench = Bench::new("//- notes.md\none\ntwo\n");
            let session = bench.session(json!({ "model": "script", "canvas": { "enforce_lease": true } })).await;
            let path = format!("/api/agent/sessions/{session}/canvas");
            if has_canvas {
                let (status, body) = bench.post(&format!("{path}/open"), json!({ "file_path": "notes.md" })).await;
                assert_eq!(status, 200, "{body}");
            }
            let read = ("read_file", json!({ "file_path": "notes.md" }));
            let edit = ("edit_file", json!({ "file_path": "notes.md", "old_string": "two", "new_string": "zwei" }));
            let fails = ("edit_file", json!({ "file_path": "notes.md", "old_string": "none", "new_string": "x" }));
            bench.script().push([Answer::Call(vec![read, edit]), Answer::Call(vec![fails]), Answer::Say("Done.")]);
            bench.run(&session, "translate").await;
            bench.work().await;
            let typed = json!({ "content": "one\nzwei\nmine\n" });
            let (status, body) = match has_canvas {
                true => bench.post(&format!("{path}/user_edit"), typed).await,
                false => {
                    bench
                        .post("/api/agent/user_edit", json!({ "file_path": "notes.md", "content": typed["content"] }))
                        .await
                }
            };
            assert_eq!(status, 200, "{body}");
            talk(&bench, &session).await;
            let requests: Vec<String> =
                bench.script().requests().iter().map(|request| serde_json::to_string(request).unwrap()).collect();
            assert_eq!(requests.len(), 4);
            sent.push(requests);
        }
        // Every session is told which file the editor shows.
        let without_open_file = |request: &String| request.replacen(r"\nOpen file: notes.md\n", "", 1);
        let with_canvas: Vec<String> = sent[1].iter().map(without_open_file).collect();
        assert_ne!(with_canvas, sent[1]);
        assert_eq!(with_canvas, sent[0]);
    });
}

#[test]
fn edits_of_the_canvas_are_in_the_review_of_the_session_that_made_them() {
    block_on(async {
        let bench = Bench::new("//- notes.md\none\ntwo\n");
        let (mine, other) = (bench.session(json!({})).await, bench.session(json!({})).await);
        let path = |action: &str| format!("/api/agent/sessions/{mine}/canvas/{action}");
        bench.post(&path("open"), json!({ "file_path": "notes.md" })).await;
        let (_, out) = bench.post(&path("check_out"), Value::Null).await;
        let mut base = out["revision_id"].clone();
        for (line, text) in [(1, "ONE\n"), (2, "TWO\n")] {
            let edits = json!([{ "operation": "replace", "start_line": line, "new_text": text }]);
            let request = json!({ "lease_id": out["lease_id"], "base_revision_id": base, "edits": edits });
            let (status, done) = bench.post(&path("edit_lines"), request).await;
            assert_eq!(status, 200, "{done}");
            base = done["new_revision_id"].clone();
        }
        let review = async |session: &str| bench.get(&format!("/api/agent/review?session_id={session}")).await.1;
        assert_eq!(review(&other).await["files"], json!([]));
        let found = review(&mine).await;
        assert_eq!((&found["files"][0]["file_path"], &found["files"][0]["added"]), (&json!("notes.md"), &json!(2)));
        let hunk = found["files"][0]["hunks"][0]["hunk_id"].clone();
        let (status, body) =
            bench.post("/api/agent/decisions", json!({ "decision": "accept", "hunk_ids": [hunk] })).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(bench.disk("notes.md"), "ONE\nTWO\n");
        let (_, log) = bench.get("/api/agent/change_log?file_path=notes.md").await;
        assert_eq!(log["changes"][0]["status"], "accepted", "{log}");
    });
}
