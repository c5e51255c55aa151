//! The events of a service as JSON texts.

use emend_agent::error_code::Code;
use emend_agent::service::store::EventScope;
use emend_agent::service::{ApiError, EventReader, EventRecord, OperationInfo, Reading, Service, Timestamp, number_of};
use emend_llm::Clock as _;
use futures::{Stream, stream};
use serde_json::{Value, json};

use crate::agent::json_fields::Fields;
use crate::failure::Failure;
use crate::host::BrowserClock;

/// Maximum number of events of one read.
const EVENTS_PER_READ: usize = 256;

/// Reads a scope: an object with `session` or `job`, or with neither.
///
/// # Errors
///
/// An `invalid_argument` failure if the text is not such an object.
pub(super) fn scope_of_text(json: &str) -> Result<EventScope, Failure> {
    let wrong = |problem: String| Failure::new(Code::InvalidArgument, format!("the scope is wrong: {problem}"));
    let value: Value = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
    let fields = Fields::of("scope", &value).map_err(wrong)?;
    match (fields.text("session").map_err(wrong)?, fields.text("job").map_err(wrong)?) {
        (None, None) => Ok(EventScope::All),
        (Some(session), None) => Ok(EventScope::Session(session)),
        (None, Some(job)) => Ok(EventScope::Job(job)),
        (Some(_), Some(_)) => Err(wrong("give `session` or `job`, not both".to_owned())),
    }
}

/// Returns the text that [`scope_of_text`] reads.
pub(super) fn text_of_scope(scope: &EventScope) -> String {
    match scope {
        EventScope::All => json!({}),
        EventScope::Session(session) => json!({ "session": session }),
        EventScope::Job(job) => json!({ "job": job }),
    }
    .to_string()
}

/// Returns the scope of the events of a stream operation: that of the first parameter of its path.
pub(super) fn scope_of_request(info: &OperationInfo, ids: &[String]) -> EventScope {
    match ids.first() {
        Some(id) if info.path.contains("{job_id}") => EventScope::Job(id.clone()),
        Some(id) => EventScope::Session(id.clone()),
        None => EventScope::All,
    }
}

/// The state of a feed between two reads.
enum State {
    Unopened,
    Open(Box<EventReader>),
    Over,
}

/// Returns the events of a scope after a number. An error of the store ends them.
pub(super) fn readings(service: Service, scope: EventScope, after: u64) -> impl Stream<Item = String> {
    let texts = stream::unfold(State::Unopened, move |state| {
        let (service, scope) = (service.clone(), scope.clone());
        async move {
            let mut reader = match state {
                State::Open(reader) => reader,
                State::Over => return None,
                State::Unopened => match service.events(scope.clone(), after).await {
                    Ok(reader) => Box::new(reader),
                    Err(error) => return Some((vec![failed(&error)], State::Over)),
                },
            };
            match reader.next(EVENTS_PER_READ).await {
                Ok(Reading::Events(events)) => {
                    let texts = events.iter().map(|event| text_of_event(&scope, event)).collect();
                    Some((texts, State::Open(reader)))
                }
                Ok(Reading::Resync(error)) => {
                    let last = reader.position();
                    let value = json!({ "type": "resync_required", "ts": now(), "last": last, "error": error });
                    Some((vec![message(Some(last), &value)], State::Open(reader)))
                }
                Ok(Reading::Changed(state)) => {
                    let value = json!({ "type": "state.changed", "ts": now(), "state": state });
                    Some((vec![message(None, &value)], State::Open(reader)))
                }
                Ok(Reading::End) => None,
                Err(error) => Some((vec![failed(&error)], State::Over)),
            }
        }
    });
    futures::StreamExt::flat_map(texts, stream::iter)
}

fn text_of_event(scope: &EventScope, event: &EventRecord) -> String {
    message(Some(number_of(scope, event)), &serde_json::to_value(event).unwrap_or_default())
}

fn failed(error: &ApiError) -> String {
    message(None, &json!({ "type": "error", "ts": now(), "error": error.body() }))
}

fn now() -> Timestamp {
    Timestamp(BrowserClock.now_ms())
}

/// Returns a message of a stream: its number, if it has one, and its JSON text.
fn message(id: Option<u64>, value: &Value) -> String {
    json!({ "id": id, "data": value.to_string() }).to_string()
}
