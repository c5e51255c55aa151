//! The documented table of endpoints, in Markdown.

use std::fmt::Write as _;

use emend_agent::service::{LIMITS, OPERATIONS};

const HEAD: &str = "# HTTP API

This page is written by a test from the table of operations; `UPDATE_EXPECT=1 cargo test -p emend-server --lib` renews it.
[openapi.json](openapi.json) has the schemas of all bodies. [How to serve](how-to/serve.md) has examples.

Every path except `/health` and the files of the web app needs `Authorization: Bearer TOKEN`. Bodies are JSON. A failure is
`{\"ok\": false, \"error\": {\"code\", \"message\", \"suggestions\", \"data\"}}`, and its status follows from the code.
Besides the listed codes, every operation returns `invalid_argument` (400, 413 for a large body, 415 for another media
type), `permission_denied` (401 without a valid token, 403 for a foreign `Host` or `Origin`) and `limit_reached` (429 with
`Retry-After`).

## Operations

| request | effect | parameters | body | reply | codes |
|---|---|---|---|---|---|
";

const STREAMS: &str = "
## Streams

A stream is `text/event-stream`. Each message has one `data:` line with a JSON object whose `type` tells its kind.

| `type` | `id:` | meaning |
|---|---|---|
| `attached` | none | the first message: the open questions and approval requests, the number of the newest event, and the `state` of `state.changed` now |
| a [type of event](events.md) | number of the event | an event, as the operations without stream return it |
| `heartbeat` | none | nothing has happened for some seconds; `last` is the number of the last event that was sent |
| `state.changed` | none | the user changed files or deleted a session, for which there is no event; `state` has the workspace `revision` and `n_deleted_sessions` |
| `resync_required` | number of the newest event | events after the client's number are gone; the client reads the state again and goes on from the new number |
| `error` | none | the server cannot read the events; the stream ends |

`Last-Event-ID` and `?after=` mean the same; the header is used if both are there. A malformed number gets
`resync_required`. The stream of a job ends after its terminal event; a reconnect after that gets the status 204. A stream
also takes `?token=`, because an `EventSource` cannot send headers.

## Other paths

| request | effect |
|---|---|
| `GET /health` | `{\"ok\": true}`; needs no token |
| `GET /metrics` | metrics in the text format of Prometheus |
| `GET /api/openapi.json` | the OpenAPI document of this server |
| `GET /?token=TOKEN` | sets the cookie of the web app and redirects to the page |

## Limits

`[service]` in a settings file sets them by name, and the variable overrides the file. A project's file only lowers them. 0
means unlimited.

| name | variable | default | meaning |
|---|---|---|---|
";

/// Returns the page.
#[must_use]
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    for info in OPERATIONS {
        let parameters: Vec<String> = info.query.iter().map(|(name, ..)| format!("`{name}`")).collect();
        let codes: Vec<String> = info.errors.iter().map(|code| format!("`{}`", code.as_str())).collect();
        let body = info.request.map(|name| format!("`{name}`")).unwrap_or_default();
        let (status, reply) = info.reply;
        let reply =
            if info.is_stream { format!("{status}, stream of `{reply}`") } else { format!("{status} `{reply}`") };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| `{} {}` | {} | {} | {body} | {reply} | {} |",
            info.method.name(),
            info.path,
            info.summary.trim(),
            parameters.join(", "),
            codes.join(", ")
        );
    }
    text.push_str(STREAMS);
    for limit in LIMITS {
        let meaning = limit.meaning.trim();
        let _ = writeln!(text, "| `{}` | `{}` | {} | {meaning} |", limit.name, limit.variable, limit.default);
    }
    text
}
