//! Streams of events as server-sent events.
//!
//! A stream holds a number and at most one page of events. A slow client slows its own stream down and costs no memory.
//! Heartbeats are data, because clients do not see comments.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::http::{HeaderMap, Response, StatusCode};
use emend_agent::service::store::EventScope;
use emend_agent::service::{ApiResult, OperationInfo};
use emend_agent::service::{EventReader, Reading, Timestamp, number_of};
use futures::stream;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use crate::reply::{self, set, too_many, with_body};
use crate::state::ServerState;

/// Maximum number of events in one read.
const PAGE: usize = 128;

/// Seconds after which a refused client may try again.
const RETRY_SECONDS: u64 = 2;

/// Answers a request for a stream. `Last-Event-ID` and `?after=` mean the same; the header is newer, because a browser
/// that reconnects repeats the URL.
pub(crate) async fn answer(
    state: &ServerState,
    info: &OperationInfo,
    ids: &[String],
    query: &[(String, String)],
    headers: &HeaderMap,
) -> Response<Body> {
    // A path without a parameter is the stream of all sessions.
    let scope = match ids.first() {
        None => EventScope::All,
        Some(id) if info.path.contains("{job_id}") => EventScope::Job(id.clone()),
        Some(id) => EventScope::Session(id.clone()),
    };
    let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let given = header.or_else(|| query.iter().find(|(name, _)| name == "after").map(|(_, value)| value.as_str()));
    // A malformed number is answered like one that is no longer kept.
    let after = given.map_or(0, |given| given.trim().parse().unwrap_or(u64::MAX));
    let Ok(permit) = state.inner.streams.clone().try_acquire_owned() else {
        return too_many("too many streams are open", RETRY_SECONDS);
    };
    match open(state, scope, after, header.is_some(), permit).await {
        Ok(response) => response,
        Err(error) => reply::json(&error.response()),
    }
}

async fn open(
    state: &ServerState,
    scope: EventScope,
    after: u64,
    is_reconnect: bool,
    permit: OwnedSemaphorePermit,
) -> ApiResult<Response<Body>> {
    let service = &state.inner.service;
    let reader = service.events(scope.clone(), after).await?;
    if is_reconnect && is_over(state, &scope, after).await? {
        // A browser reconnects after the end of a stream; this status stops it.
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    }
    let attached = service.attached(&scope).await?;
    let first = Bytes::from(format!("retry: 1000\n{}", message(None, &attached)));
    let source = Source { state: state.clone(), reader, first: Some(first), is_over: false, _permit: permit };
    let body = stream::unfold(source, |mut source| async move {
        let bytes = source.next().await?;
        Some((Ok::<_, Infallible>(bytes), source))
    });
    let mut response = with_body(StatusCode::OK, "text/event-stream", Body::from_stream(body));
    set(response.headers_mut(), header::CACHE_CONTROL, "no-store, no-transform");
    // Proxies with a buffer would hold events back.
    set(response.headers_mut(), header::HeaderName::from_static("x-accel-buffering"), "no");
    Ok(response)
}

/// Returns whether the client has the last event of an ended job.
async fn is_over(state: &ServerState, scope: &EventScope, after: u64) -> ApiResult<bool> {
    let EventScope::Job(id) = scope else { return Ok(false) };
    let job = state.inner.service.store().job(id).await?;
    Ok(job.is_some_and(|job| job.status.is_terminal() && job.cursor == after))
}

struct Source {
    state: ServerState,
    reader: EventReader,
    first: Option<Bytes>,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
}

impl Source {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.is_over {
            return None;
        }
        let heartbeat: Duration = self.state.inner.config.limits.heartbeat;
        // Dropping the read loses nothing: the reader moves on only when it returns events.
        let Ok(reading) = tokio::time::timeout(heartbeat, self.reader.next(PAGE)).await else {
            return Some(self.heartbeat());
        };
        match reading {
            Ok(Reading::Events(events)) => {
                self.state.inner.metrics.sent(events.len());
                let scope = self.reader.scope();
                let texts = events.iter().filter_map(|event| {
                    let value = serde_json::to_value(event).ok()?;
                    Some(message(Some(number_of(scope, event)), &value))
                });
                Some(Bytes::from(texts.collect::<String>()))
            }
            Ok(Reading::Resync(error)) => {
                let position = self.reader.position();
                let value = json!({"type": "resync_required", "ts": self.now(), "last": position, "error": error});
                Some(Bytes::from(message(Some(position), &value)))
            }
            Ok(Reading::Changed(state)) => {
                let value = json!({"type": "state.changed", "ts": self.now(), "state": state});
                Some(Bytes::from(message(None, &value)))
            }
            Ok(Reading::End) => None,
            Err(error) => {
                self.is_over = true;
                Some(Bytes::from(message(None, &json!({"type": "error", "ts": self.now(), "error": error.body()}))))
            }
        }
    }

    fn heartbeat(&self) -> Bytes {
        let value = json!({"type": "heartbeat", "ts": self.now(), "last": self.reader.position()});
        Bytes::from(message(None, &value))
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.state.inner.clock.now_ms())
    }
}

/// Returns one message. JSON contains no line break, so it fits into one line.
fn message(id: Option<u64>, value: &Value) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}data: {value}\n\n")
}
