//! Tests that run natively: the tables in the documents are those in the code, and jobs of killed processes go on.

mod killed;
mod rewinding;
mod routing;
mod settling;

use expect_test::expect_file;

use crate::service::{EVENT_TYPES, LIMITS};

#[test]
fn the_table_of_events_is_current() {
    let mut page = String::from(
        "# Events of the review service\n\n\
         An event is `{cursor, seq, type, ts, session_id, job_id, data}`. `cursor` counts the events of its session, and\n\
         `seq` counts those of all sessions; both start at 1. A stream continues after the number in `Last-Event-ID` or\n\
         `?after=`. If those events are gone, the reply is `resync_required`: read the state again and continue after\n\
         its `cursor` or `seq`.\n\n\
         Some messages of a stream are not events and have no number. `attached` is the first: the open questions and\n\
         approval requests, and the `state` as in `state.changed`, so that a client that was away learns of such changes.\n\
         `heartbeat` says that the stream lives. `state.changed` says that the user changed files or deleted a session without\n\
         an event: read again what you show. Its `state` has the workspace `revision` and `n_deleted_sessions` since the start\n\
         of the service; several changes become one message.\n\n\
         The second column names the event of the session ([how events of a session look](../pkg/README.md)) from which\n\
         the event comes. `service` marks events that the service makes.\n\n\
         | type | from | meaning and `data` |\n|---|---|---|\n",
    );
    for event in EVENT_TYPES {
        let sources: Vec<String> = event.source.split(", ").map(|kind| format!("`{kind}`")).collect();
        page += &format!("| `{}` | {} | {} |\n", event.name, sources.join(", "), event.meaning);
    }
    page += "\n# Limits of the review service\n\n\
             0 means unlimited. `emend serve` reads the variables; in JavaScript, `limits` has the same names.\n\n\
             | name | default | variable | meaning |\n|---|---|---|---|\n";
    for limit in LIMITS {
        let meaning = limit.meaning.trim();
        page += &format!("| `{}` | {} | `{}` | {meaning} |\n", limit.name, limit.default, limit.variable);
    }
    expect_file!["../../../../../docs/events.md"].assert_eq(&page);
}
