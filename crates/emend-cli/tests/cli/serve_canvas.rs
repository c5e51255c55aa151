//! The canvas of `emend serve` as a program.

use serde_json::json;

use crate::serve::{Server, project};

#[test]
fn a_canvas_in_git_mode_has_no_tools_and_says_so() {
    let project = project();
    for (options, is_refused) in [(&["--canvas", "git"][..], true), (&[], false)] {
        let server = Server::start(&project, options);
        let wanted = json!({ "canvas": { "tools": true } });
        let (status, reply) = server.send("POST", "/api/agent/sessions", &wanted);
        assert_eq!(status >= 400, is_refused, "{reply}");
        let session = server.ok("POST", "/api/agent/sessions", &json!({}));
        let path = format!("/api/agent/sessions/{}/canvas/open", session["session_id"].as_str().unwrap());
        let (status, opened) = server.send("POST", &path, &json!({ "file_path": "notes.md" }));
        assert_eq!(status >= 400, is_refused, "{opened}");
        for reply in [reply, opened].iter().filter(|_| is_refused) {
            let message = reply["error"]["message"].as_str().unwrap();
            assert!(message.contains("Git mode") && message.contains("--canvas git"), "{reply}");
        }
    }
}
