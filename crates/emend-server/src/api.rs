//! Requests to the API: turns a request into an `ApiRequest`, and the reply into JSON.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use emend_agent::error_code::Code;
use emend_agent::service::api::{check_query, methods_of, parse_query, route, without_method};
use emend_agent::service::{ApiRequest, Method, OperationInfo};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::Value;

use crate::path::decoded;
use crate::reply::{Answer, error, json, set_text};
use crate::state::ServerState;
use crate::stream;
use crate::surrogates::without_lone_surrogates;

/// Answers a request that has a valid token.
pub(crate) async fn answer(state: &ServerState, request: Request<Body>) -> Answer {
    let Some(path) = decoded(request.uri().path()) else {
        return Answer::new("Unknown", error(StatusCode::NOT_FOUND, Code::NotFound, "the path is not valid"));
    };
    let (info, ids) = match operation(request.method().as_str(), &path) {
        Ok(found) => found,
        Err(response) => return Answer::new("Unknown", response),
    };
    let operation = info.operation.name();
    let query = parse_query(request.uri().query().unwrap_or_default());
    if info.is_stream {
        // Browsers give the token of an `EventSource` as a parameter.
        if let Err(refused) = check_query(info, &query, &["token"]) {
            return Answer::new(operation, json(&refused.response()));
        }
        return Answer::new(operation, stream::answer(state, info, &ids, &query, request.headers()).await);
    }
    let (parts, body) = request.into_parts();
    let limits = &state.inner.config.limits;
    let body = match read_body(&parts.headers, body, limits.body_bytes_max, limits.body_timeout).await {
        Ok(body) => body,
        Err(response) => return Answer::new(operation, response),
    };
    let request = ApiRequest { method: info.method, path, query, body };
    // A client that disconnects must not stop a change in the middle, so the operation is a task of its own.
    let service = state.inner.service.clone();
    let reply = tokio::spawn(async move { service.handle(request).await }).await;
    Answer::new(
        operation,
        match reply {
            Ok(reply) => json(&reply),
            Err(_) => {
                error(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, "the operation failed; see the server's log")
            }
        },
    )
}

/// Returns whether a path is that of a stream.
pub(crate) fn is_stream(path: &str) -> bool {
    decoded(path).is_some_and(|path| route(Method::Get, &path).is_ok_and(|(info, _)| info.is_stream))
}

fn operation(method: &str, path: &str) -> Result<(&'static OperationInfo, Vec<String>), Response<Body>> {
    let found = Method::from_name(method).map(|method| route(method, path));
    let refused = match found {
        Some(Ok(found)) => return Ok(found),
        Some(Err(refused)) => refused,
        None => without_method(method, path),
    };
    let mut response = json(&refused.response());
    if refused.code == Code::MethodNotAllowed {
        set_text(response.headers_mut(), header::ALLOW, &methods_of(path).join(", "));
    }
    Err(response)
}

/// Reads the body as JSON; an empty one is null.
async fn read_body(headers: &HeaderMap, body: Body, max: usize, timeout: Duration) -> Result<Value, Response<Body>> {
    let too_large = || {
        let message = format!("the body has more than {max} bytes");
        error(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidArgument, message)
    };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > max as u64) {
        return Err(too_large());
    }
    let read = tokio::time::timeout(timeout, Limited::new(body, max).collect()).await;
    let bytes = match read {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(failure)) if failure.is::<LengthLimitError>() => return Err(too_large()),
        Ok(Err(_)) => return Err(invalid("the body is incomplete")),
        Err(_) => return Err(error(StatusCode::REQUEST_TIMEOUT, Code::Timeout, "the body did not arrive in time")),
    };
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    // Pages can send other types to any server without asking first.
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let message = "the body is JSON; send the header Content-Type: application/json";
        return Err(error(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::InvalidArgument, message));
    }
    let parsed = serde_json::from_slice(&bytes).or_else(|failure| {
        let replaced = without_lone_surrogates(&bytes).ok_or(failure)?;
        serde_json::from_slice(&replaced)
    });
    let value: Value = parsed.map_err(|failure| invalid(&format!("the body is not JSON: {failure}")))?;
    // The service takes null for an absent body; a client that writes it has made a mistake.
    if value.is_null() { Err(invalid("the body is not an object")) } else { Ok(value) }
}

fn invalid(message: &str) -> Response<Body> {
    error(StatusCode::BAD_REQUEST, Code::InvalidArgument, message)
}
