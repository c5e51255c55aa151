//! The list of what the user always allows in a session, and withdrawals.

use futures::executor::block_on;
use serde_json::{Value, json};

use super::Bench;
use crate::session::tests::Answer;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn edit(from: &'static str, to: &'static str) -> (&'static str, Value) {
    ("edit_file", json!({ "file_path": "notes.md", "old_string": from, "new_string": to }))
}

async fn job(bench: &Bench, id: &str) -> Value {
    bench.get(&format!("/api/agent/jobs/{id}")).await.1
}

#[test]
fn a_permission_is_listed_and_asked_about_again_once_it_is_withdrawn() {
    block_on(async {
        let bench = Bench::new("//- notes.md\none\ntwo\n");
        let asking = bench.session(json!({ "mode": "ask", "model": "script" })).await;
        let path = format!("/api/agent/sessions/{asking}/permissions");
        assert_eq!(bench.get(&path).await, (200, json!({ "permissions": [] })));
        bench.script().push([Answer::Call(vec![edit("one", "1")]), Answer::Say("Done.")]);
        let id = bench.run(&asking, "edit").await;
        bench.work_a_little(40).await;
        let call = job(&bench, &id).await["approvals"][0]["tool_call_id"].clone();
        let body = json!({ "tool_call_id": call, "decision": "allow_always" });
        bench.post(&format!("/api/agent/jobs/{id}/approve"), body).await;
        bench.work().await;
        let (status, list) = bench.get(&path).await;
        let found = list["permissions"].as_array().unwrap();
        assert_eq!((status, found.len(), &found[0]["tool"]), (200, 1, &json!("edit_file")), "{list}");
        let own = format!("{path}/{}", found[0]["permission_id"].as_str().unwrap());
        assert_eq!(bench.delete(&format!("{path}/perm_0")).await.0, 404);
        // The open agent forgets it, too: it does not store it again with the events of the next job.
        assert_eq!(bench.delete(&own).await, (200, json!({ "permissions": [] })));
        assert_eq!(bench.delete(&own).await.0, 404);
        bench.script().push([Answer::Call(vec![edit("two", "2")]), Answer::Say("Done.")]);
        let id = bench.run(&asking, "edit again").await;
        bench.work_a_little(40).await;
        let state = job(&bench, &id).await;
        assert_eq!(state["status"], "waiting_for_user", "{state}");
        assert_eq!(bench.disk("notes.md"), "1\ntwo\n");
        assert_eq!(bench.get(&path).await.1, json!({ "permissions": [] }));
    });
}
